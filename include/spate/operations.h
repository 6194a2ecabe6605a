/* spate/operations.h: jobs from outside: what there is in a storage, their state, savepoints, what runs them again.
 *
 * For         tools; the command line's `job`, `savepoint` and `state` are made of it.
 * Storage     That of the session's settings ("storage.uri=..." in spate_session_open).
 * Results     SPATE_RESULT_ROWS: take their rows with spate_result_next or spate_result_next_text.
 * Threads     As in spate/spate.h.
 */
#ifndef SPATE_OPERATIONS_H
#define SPATE_OPERATIONS_H

#include "spate/spate.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The scripts that the session runs, as they are to be run again ("-- spate:script NAME" before each), the working folder and the
 * settings that were given ("key=value", NULL-terminated): stored with the jobs that the session starts. */
SPATE_API int spate_session_script(spate_session *session, const char *sql, const char *folder, const char *const *settings);

/* From now on INSERTs of this session are not run but submitted: written into the storage ("storage.uri") and the coordination service
 * ("coordinator.uri"), for workers (spate/worker.h) to run. The session must know its script. A name that is taken is an error, unless its job
 * has ended and has as many tasks: then it goes on with the new script. SPATE_SUBMIT_REPLACE: the other job is ended and forgotten first. */
enum spate_submit_flags { SPATE_SUBMIT_REPLACE = 1 };
SPATE_API int spate_session_submit(spate_session *session, uint32_t flags);

/* Name, id, status (RUNNING, FINISHED, STOPPED, DEAD: killed or crashed, UNKNOWN), process, latest checkpoint. */
SPATE_API int spate_job_list(spate_session *session, spate_result **result);
/* What is known of a job (its name or id): rows of key and value. */
SPATE_API int spate_job_show(spate_session *session, const char *job, spate_result **result);

struct spate_job_script {
    size_t size;        /* sizeof(struct spate_job_script), set by the caller */
    const char *name;   /* of the job */
    const char *sql;    /* as given to spate_session_script */
    const char *folder; /* where it was run */
    const char *const *settings;
    uint32_t setting_count;
    const char *const *missing; /* settings that were secrets: to be given again */
    uint32_t missing_count;
};
/* What runs the job again. A job that runs is an error. The texts live as long as the session. */
SPATE_API int spate_job_script(spate_session *session, const char *job, struct spate_job_script *script);
/* A savepoint by the process that runs the job; when none does, of its latest checkpoint. `place` as in spate_result_savepoint; the text
 * lives as long as the session. */
SPATE_API int spate_job_savepoint(spate_session *session, const char *job, const char *place, int64_t timeout_ms, const char **where);

/* Ends a job: the process that runs it finishes the tick, takes a last checkpoint, and its sinks show what there is; when none runs it, it is
 * marked as stopped. `savepoint`: NULL: none is taken before; "": at a place that is chosen; else there. *where: where it is, "": nowhere. */
SPATE_API int spate_job_stop(spate_session *session, const char *job, const char *savepoint, int64_t timeout_ms, const char **where);
/* Ends a job at once, without a last checkpoint. */
SPATE_API int spate_job_kill(spate_session *session, const char *job, int64_t timeout_ms);
/* A job that was submitted and was stopped or killed, whose processes have all died, or that the coordination service has lost: everybody who
 * had a part in it is fenced, and workers may take it up again, from its last commits. One with a living process is refused; whether there is
 * one is watched for as long as a silent process counts as alive. *shared 0: the job is of one process, and nothing
 * was done (spate_job_script). */
enum spate_restart_flags { SPATE_RESTART_TAKEOVER = 1 /* also from living processes */ };
SPATE_API int spate_job_restart(spate_session *session, const char *job, uint32_t flags, int *shared);
enum spate_remove_flags {
    SPATE_REMOVE_SAVEPOINTS = 1, /* also savepoints that are kept with the job; with any left nothing is removed */
    SPATE_REMOVE_UNSEEN = 2,     /* also when it cannot be told whether the job runs */
};
/* Deletes a job that does not run: its name, record, checkpoints, logs and the rest that is kept with it. */
SPATE_API int spate_job_remove(spate_session *session, const char *job, uint32_t flags);

/* The tables of a state: operator, table, columns, rows, bytes. `of`: a job (its latest checkpoint) or the path or URI of a savepoint. */
SPATE_API int spate_state_list(spate_session *session, const char *of, spate_result **result);
/* The rows of a table, with their own types; `table` NULL: the only one of the operator. */
SPATE_API int spate_state_rows(spate_session *session, const char *of, const char *operator_id, const char *table, spate_result **result);

/* ---- the group of processes that runs a job ---- */

/* Where they agree is the session's "coordinator.uri"; `job`: name or id; the id is enough where its storage is not at hand. Status and
 * members look at the members' registers for up to two heartbeats, to tell who lives: there is no time in them that could be compared. */
/* One row: state, term, version, leader, round, how many tasks are open, members, seats that are not fenced, lives that were evicted, edits
 * that are open. A model that is damaged is a state. */
SPATE_API int spate_coord_status(spate_session *session, const char *job, spate_result **result);
/* A row for each register of a member, and each member without one. */
SPATE_API int spate_coord_members(spate_session *session, const char *job, spate_result **result);
/* A row for each run of tasks that are alike, and what those that are not open wait for. */
SPATE_API int spate_coord_tasks(spate_session *session, const char *job, bool only_closed, spate_result **result);
/* The last 64 rounds, oldest first: when, why, what moved, how long. */
SPATE_API int spate_coord_history(spate_session *session, const char *job, spate_result **result);
/* The model as JSON; the text lives as long as the session. */
SPATE_API int spate_coord_model(spate_session *session, const char *job, const char **json);
/* Mends registers that are damaged, and nothing else. A model: all tasks are fenced, then it is made again from the job's record, under a higher
 * term and version; refused while members beat, for it takes their tasks from them for a moment, unless SPATE_REPAIR_ANYWAY. A member's register
 * and the history are removed: they are made anew. *done: a line for each, or that there was nothing; it lives as long as the session. */
enum spate_repair_flags { SPATE_REPAIR_ANYWAY = 1 };
SPATE_API int spate_coord_repair(spate_session *session, const char *job, uint32_t flags, const char **done);

#ifdef __cplusplus
}
#endif
#endif
