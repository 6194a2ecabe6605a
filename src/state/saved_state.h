/* state/saved_state.h: the state of a job that need not run, read without its SQL: the latest checkpoint, or a savepoint.
 *
 * For         looking into state (`spate state`, connector 'savepoint'), savepoints of jobs at rest.
 * Names       A job's name or id: its latest checkpoint; with '@' and a number that checkpoint; what has a '/' or ':' is the path or URI of a
 *             savepoint.
 * Errors      UNKNOWN_JOB; STORE_MISSING where there is no checkpoint or savepoint; STATE_CORRUPT.
 */
#ifndef SPATE_STATE_SAVED_STATE_H
#define SPATE_STATE_SAVED_STATE_H

#include "state/snapshot.h"
#include "storage/job_records.h"
#include "storage/savepoints.h"

/* All of a job's state is in checkpoints of one task. */
#define CHECKPOINT_TASK "all"

/* By name or id. */
enum status job_find(struct storage *storage, const char *job, struct arena *arena, struct job_record *record, struct error *err);

struct saved_state {
    struct storage *storage;
    bool is_savepoint;
    struct savepoint savepoint;
    struct checkpoint_manifest manifest;
};
/* ABSENT: the job has no checkpoint yet. */
enum status saved_state_of_job(struct storage *storage, const char *id, struct arena *arena, enum object_result *result,
                               struct saved_state *state, struct error *err);
/* By a name as above. */
enum status saved_state_open(struct storage *storage, const char *of, struct arena *arena, struct saved_state *state, struct error *err);
void saved_state_close(struct saved_state *state);
/* Was all input read to its end? */
enum status saved_state_has_ended(const struct saved_state *state, struct arena *arena, bool *ended, struct error *err);
/* Where the state is, for messages: "checkpoint 7 of job 'orders'". */
const char *saved_state_where(const struct saved_state *state, struct arena *arena);
/* Chain by chain; the target has `describe`. It ends early, and well, when *enough becomes true. */
enum status saved_state_read(const struct saved_state *state, const struct snapshot_target *target, const bool *enough, struct error *err);

#endif
