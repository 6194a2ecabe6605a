/* connectors/filesystem/shown_mark.h: a hidden file that says how far a worker's files have been shown.
 *
 * For         a restart that finds neither the hidden nor the shown name of a file that its checkpoint lists. Was it shown, and taken away by
 *             whoever reads the output, or was it lost before?
 * Invariant   Says checkpoint N, durably, before the first file that N lists is shown; and never more than that. So while it says less, all
 *             files of N must be there; since it says N, one that is not was shown.
 * Names       .shown-OWNER-LINEAGE-WORKER in the table's folder, as in the ids of part files (part_file.h); of a task that changes owners
 *             .shown-OWNER-LINEAGE-END-WORKER, END being the end of the numbers of the owner whose files they are: a former owner that
 *             still writes its own cannot undo what a later one says. It holds a number. It stays when
 *             the job has ended: the job may be run again, and hears that there is nothing to do.
 */
#ifndef SPATE_CONNECTORS_FILESYSTEM_SHOWN_MARK_H
#define SPATE_CONNECTORS_FILESYSTEM_SHOWN_MARK_H

#include <inttypes.h>

#include "base/error.h"
#include "base/text.h"
#include "storage/file_system.h"

#define SHOWN_PREFIX    ".shown-"
#define MARK_END_FORMAT "%020" PRIu64 "-"

struct shown_mark {
    const struct file_system *files;
    const char *root;   /* the table's folder */
    struct text series; /* OWNER-LINEAGE-, or OWNER-LINEAGE-END- */
    int64_t worker;
    const char *attempt; /* of whoever writes it: for the name while it is written */
};
/* *checkpoint 0: nothing was shown yet. */
enum status shown_mark_read(const struct shown_mark *mark, uint64_t *checkpoint, struct error *err);
enum status shown_mark_write(const struct shown_mark *mark, uint64_t checkpoint, struct error *err);

#endif
