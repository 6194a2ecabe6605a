/* state/saved_state.h: the state of a job that need not run, read without its SQL: the latest checkpoint, or a savepoint.
 *
 * For         looking into state (`spate state`, connector 'savepoint'), savepoints of jobs at rest.
 * Names       A job's name or id: its latest checkpoint; with '@' and a number that checkpoint; what has a '/' or ':' is the path or URI of a
 *             savepoint. A job that several processes share has checkpoints of each task: the name is the latest of all of them together;
 *             with '@' and a task that task's, with '@' and a number after that the task's checkpoint of that number.
 * Tasks       The latest checkpoint of a task is the one with the highest number. Whether it counts, or was stored and did not come to that,
 *             its commit record says (cluster/commit_record.h), which is not here: whoever goes on from it has to ask that.
 * Errors      UNKNOWN_JOB; STORE_MISSING where there is no checkpoint or savepoint; STATE_CORRUPT.
 */
#ifndef SPATE_STATE_SAVED_STATE_H
#define SPATE_STATE_SAVED_STATE_H

#include "state/snapshot.h"
#include "storage/job_records.h"
#include "storage/savepoints.h"

/* The task of a job that runs whole: all of its state is in checkpoints of that. */
#define CHECKPOINT_TASK "all"

/* By name or id. */
enum status job_find(struct storage *storage, const char *job, struct arena *arena, struct job_record *record, struct error *err);

struct saved_state {
    struct storage *storage;
    bool is_savepoint;
    struct savepoint savepoint;
    const struct checkpoint_manifest *manifests; /* one a task; at least one */
    uint32_t count;
    const char *job; /* id; NULL: a savepoint */
};
/* ABSENT: the job has no checkpoint yet. */
enum status saved_state_of_job(struct storage *storage, const char *id, struct arena *arena, enum object_result *result,
                               struct saved_state *state, struct error *err);
/* By a name as above. */
enum status saved_state_open(struct storage *storage, const char *of, struct arena *arena, struct saved_state *state, struct error *err);
void saved_state_close(struct saved_state *state);
/* Two numbers that are others when the state is another one: of a single checkpoint its number and time. */
void saved_state_identity(const struct saved_state *state, uint64_t *checkpoint, int64_t *created_us);
/* Was all input read to its end? */
enum status saved_state_has_ended(const struct saved_state *state, struct arena *arena, bool *ended, struct error *err);
/* Where the state is, for messages: "checkpoint 7 of job 'orders'". */
const char *saved_state_where(const struct saved_state *state, struct arena *arena);
/* Chain by chain; the target has `describe`. It ends early, and well, when *enough becomes true. */
enum status saved_state_read(const struct saved_state *state, const struct snapshot_target *target, const bool *enough, struct error *err);

#endif
