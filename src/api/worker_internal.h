/* api/worker_internal.h: a worker inside: its jobs, and how a task of SQL is run.
 *
 * For         worker.c (the process), worker_job.c (one job of it), worker_sql.c (one task), worker_savepoint.c (what its leader copies).
 * Threads     A worker and its jobs: the caller's. worker_sql_run: the task's own. worker_tell: any.
 */
#ifndef SPATE_API_WORKER_INTERNAL_H
#define SPATE_API_WORKER_INTERNAL_H

#include <stdatomic.h>

#include "api/cluster_job.h"
#include "cluster/control/leading.h"
#include "job/edits_group.h"
#include "job/standby.h"
#include "job/task_host.h"
#include "spate/task.h"
#include "spate/worker.h"
#include "storage/job_definition.h"

struct spate_worker {
    struct spate_worker_options options;
    const struct spate_task_spec *program; /* whose tasks it runs; NULL: those of SQL */
    struct arena *arena;                   /* of its settings */
    spate_session *session;                /* its settings, storage and budget; runs nothing itself */
    const char **settings;                 /* for the sessions of tasks; NULL-terminated */
    struct cluster_timing timing;
    char id[LIFE_ID_MAX + 1];
    char host[256], rack[256], boot[64], build[64];
    struct worker_job *jobs;
    struct cluster_session *looking; /* at jobs that it has not joined; NULL: not connected yet */
    char trouble[1000];              /* that was told last */
    int64_t looked_us, trouble_us;
    bool joined; /* a job, at some time */
    atomic_bool leaving;
    int outcome; /* enum spate_worker_state, the gravest of the jobs that it has left */
    pthread_mutex_t telling;
};
void worker_tell(struct spate_worker *worker, const char *format, ...) PRINTF_LIKE(2, 3);

/* ---- worker_savepoint.c: one at a time, in a thread of its own; asked by the leader until it is there ---- */

enum { SAVEPOINT_PLACE_BYTES = 1024 };
enum savepoint_phase { SAVEPOINT_NONE, SAVEPOINT_COPYING, SAVEPOINT_MADE, SAVEPOINT_FAILED };
struct worker_savepoint {
    struct worker_job *job;
    uint64_t rank; /* of the edit that asked; 0: none yet */
    char place[SAVEPOINT_PLACE_BYTES];
    pthread_t thread;
    bool has_thread;
    char *result; /* JSON; the thread's until it is MADE */
    char reason[CONTROL_REASON_MAX];
    pthread_mutex_t mutex; /* guards phase */
    enum savepoint_phase phase;
};
void worker_savepoint_open(struct worker_savepoint *savepoint, struct worker_job *job);
/* On the deciding thread: does not wait. Edits that ask for no savepoint are done. */
enum control_progress worker_savepoint_progress(struct worker_savepoint *savepoint, const struct control_entry *entry, struct arena *arena,
                                                const char **result, const char **reason);
void worker_savepoint_close(struct worker_savepoint *savepoint);

/* ---- worker_job.c ---- */

/* A task that fails again and again without a commit in between. */
struct worker_failure {
    uint64_t task, seq; /* of the last commit */
    uint32_t count;
};
struct worker_job {
    struct worker_job *next;
    struct spate_worker *worker;
    char id[JOB_ID_MAX + 1], name[JOB_NAME_MAX + 1];
    struct cluster_job link;
    struct cluster_job_facts facts;
    struct arena *arena; /* of the facts */
    struct task_kind kind;
    struct task_host *host;
    struct runner *runner;
    struct edits_group *edits;
    struct standby *standby; /* NULL: no folder could be made for copies */
    struct leading *leading;
    struct worker_savepoint savepoint;
    struct leader_control control; /* that of `leading`, and the end of a bounded job */
    atomic_bool finished;          /* all tasks have ended: told to the model by the leader */
    atomic_int code;               /* -1: at work; else how the runner has ended */
    bool leaves, killed;
    int64_t ends_looked_us;
    pthread_mutex_t failing; /* guards what follows up to failure_count */
    struct worker_failure *failures;
    uint32_t failure_count, failure_capacity;
    uint32_t ends_seen; /* tasks from the first on whose commit records say that they have ended */
};
enum status worker_job_join(struct spate_worker *worker, const struct job_record *record, const struct cluster_job_facts *facts,
                            struct worker_job **job, struct error *err);
/* What there is to do now. *over: it has left, and is to be closed. */
enum status worker_job_step(struct worker_job *job, bool *over, struct error *err);
void worker_job_leave(struct worker_job *job); /* in order */
void worker_job_close(struct worker_job *job);

/* ---- worker_failure.c ---- */

/* In the task's thread. The same task without a commit in between FAILURES_MAX times: no other process will fare better, the job has failed. */
void worker_job_note_failure(struct worker_job *job, uint64_t task, const struct error *failure);

/* ---- worker_sql.c: struct task_kind, also of programs; the context is the worker_job ---- */
enum status worker_sql_run(void *context, struct task_run *run, bool *ended, struct error *err);

#endif
