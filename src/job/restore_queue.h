/* job/restore_queue.h: rows of a checkpoint are read and decoded in one thread while another puts them into tables.
 *
 * For         job/job_state.c, once per worker.
 * Shape       A short queue of blocks of rows between the two, in the order in which they were read.
 * Errors      The first error of either side ends both: what the reader finds (damaged files), or what a table says of its rows.
 */
#ifndef SPATE_JOB_RESTORE_QUEUE_H
#define SPATE_JOB_RESTORE_QUEUE_H

#include "state/snapshot.h"

/* Reads all there is for the target that it is given. */
typedef enum status restore_read(void *context, const struct snapshot_target *target, struct error *err);
/* Runs `read` in a thread of its own; its rows are taken by `target` in this one. `find` and `describe` of the target are called from the
 * other. Returns when both have ended. */
enum status restore_ahead(const struct snapshot_target *target, restore_read *read, void *context, struct error *err);

#endif
