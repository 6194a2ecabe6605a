/* job/state_copies.h: local copies of the files that a task's newest checkpoint is made of, fetched before they are needed.
 *
 * For         standbys (job/standby.h), which fill a folder; the restore of a task (checkpoint_find.c), which looks there first.
 * Layout      <folder>/<name of the file>, the last part of its key, which no other file of the task has
 * Invariants  A copy appears whole, by rename. Whoever reads one checks its size and CRC-32C before anything of it is used; one that is wrong
 *             counts as missing. So a folder may be lost or damaged at any time: it only saves time.
 * Threads     One may fill a folder while another reads it.
 */
#ifndef SPATE_JOB_STATE_COPIES_H
#define SPATE_JOB_STATE_COPIES_H

#include "storage/checkpoints.h"

/* true: the copy was whole, and *status says what the sink made of it. false: there is none that is. */
bool state_copies_give(const char *folder, const struct checkpoint_file *file, const struct object_sink *sink, enum status *status,
                       struct error *err);
/* Bytes of the manifest's files that have no copy yet. */
uint64_t state_copies_missing(const char *folder, const struct checkpoint_manifest *manifest);
/* Fetches them, and removes copies that the manifest does not name. */
enum status state_copies_update(const char *folder, struct storage *storage, const struct checkpoint_manifest *manifest, struct error *err);
void state_copies_remove(const char *folder); /* all, and the folder */

#endif
