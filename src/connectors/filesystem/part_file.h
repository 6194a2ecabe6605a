/* connectors/filesystem/part_file.h: one file that a sink writes.
 *
 * For         filesystem_sink.c (rows), filesystem_commit.c (checkpoints).
 * States
 *      open --part_file_end--> ended --part_file_show--> shown      hidden name: .part-ID.inprogress; shown: part-ID
 *       +-------------------- part_file_show ----------------^
 *
 *             A file is shown by a rename, after its bytes are synced and before its folder is: a reader sees all of it or nothing, also after
 *             a power cut. part_file_sync makes what was written so far, and the hidden name, survive one.
 * Names       ID in a job with checkpoints: OWNER-LINEAGE-SAVED-ATTEMPT-WORKER-NUMBER, else ATTEMPT-WORKER-NUMBER. OWNER: 16 digits, the
 *             INSERT of the job; of one of several tasks with a point and the task. LINEAGE: another each time the job begins anew. SAVED: the newest checkpoint when the file was opened;
 *             the file is in none up to that. So whoever restores knows what other attempts left, and, when a newer checkpoint is
 *             damaged and an older one is restored, which files were shown by the newer.
 * Ownership   part_file_show and part_file_abandon end it.
 */
#ifndef SPATE_CONNECTORS_FILESYSTEM_PART_FILE_H
#define SPATE_CONNECTORS_FILESYSTEM_PART_FILE_H

#include "base/error.h"
#include "base/text.h"
#include "storage/file_system.h"

#define PART_PREFIX "part-"

struct part_file;
/* Makes the folder, too. */
enum status part_file_open(const struct file_system *files, const char *folder, const char *id, struct part_file **file, struct error *err);
struct text_builder *part_file_text(struct part_file *file); /* append records here */
/* Writes what was appended when it is much (or `all` of it). */
enum status part_file_flush(struct part_file *file, bool all, struct error *err);
uint64_t part_file_bytes(const struct part_file *file);
const char *part_file_id(const struct part_file *file);
enum status part_file_sync(struct part_file *file, struct error *err);
enum status part_file_end(struct part_file *file, struct error *err);
/* `shared`: a later owner may have shown it, which is no longer to be found under its hidden name: FENCED. */
enum status part_file_show(struct part_file *file, bool shared, struct error *err);
/* Removes it, unless a checkpoint may list it (part_file_sync was called): then it stays, hidden, for a restart. */
void part_file_abandon(struct part_file *file);
/* Shows the first `bytes` bytes of a file that another process synced; done before: nothing happens. `open`: it had not ended, and may be
 * longer, also when a later checkpoint, damaged now, has shown it. `may_be_gone`: one that is not there under either name was shown, and
 * then taken away by whoever reads it (shown_mark.h); else it is lost. */
struct saved_part {
    const char *folder, *id;
    uint64_t bytes;
    bool open, may_be_gone;
};
enum status part_file_recover(const struct file_system *files, const struct saved_part *part, struct error *err);
/* Could it be shown? Changes nothing. */
enum status part_file_check(const struct file_system *files, const struct saved_part *part, struct error *err);

/* part_folder.c */
enum status folder_create(const struct file_system *files, const char *path, struct error *err); /* mkdir -p; refuses a file there */
/* Removes the files directly in the folder that are not hidden and whose name does not begin with `keep_prefix`. */
enum status folder_remove_files(const struct file_system *files, const char *path, const char *keep_prefix, struct error *err);
/* In the folder and below. */
struct part_leftovers {
    const char *owner, *attempt; /* hidden files whose name begins with owner (".part-...") and does not have the attempt ("-...-") */
    const char *lineage;         /* with `shown`: files whose name begins so ("part-OWNER-LINEAGE-"), then SAVED >= after */
    bool shown;
    uint64_t after;
    uint64_t end;      /* of both kinds: only with SAVED < end */
    const char *marks; /* files whose name begins so: marks (shown_mark.h) */
    /* Of owners whose numbers end before this; UINT64_MAX: all, of a job that begins anew; 0: none, they are still needed. */
    uint64_t marks_end;
};
enum status folder_remove_leftovers(const struct file_system *files, const char *path, const struct part_leftovers *leftovers,
                                    struct error *err);
enum status folder_put_file(const struct file_system *files, const char *folder, const char *name,
                            struct error *err); /* an empty one; nothing if the folder is gone */

#endif
