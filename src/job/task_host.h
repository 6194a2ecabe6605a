/* job/task_host.h: the tasks of one job that run in this process: a thread each; what coordination asks of them, and what it hears back.
 *
 * For         workers (api/worker.c) and programs of the Task API: fills the runner's struct runner_tasks (cluster/runner.h).
 * Shape       A task_kind knows how to run a task; the host decides when. One run of a task is under one epoch:
 *
 *      start ──▶ STARTING ──task_run_started──▶ RUNNING ──input ended──▶ ENDED (keeps its place; nothing to do)
 *                    │                             │ stop: finish the tick, commit ──▶ released (outcome OK)
 *                    └── any error ──▶ FAILED ◀────┘ abandon: at once, no commit     ──▶ released
 *
 * Commits     A task's commits are ordered by its commit record (cluster/commit_record.h): once a run's thread has returned, whoever takes
 *             the record next finds either all of its last commit or nothing of it. So a stop is answered OK as soon as the thread is back,
 *             whatever its last commit met with; a run that was refused (FENCED) makes its whole process begin a new life.
 * Ownership   The kind, its context and the session are lent until task_host_close has returned.
 * Threads     The functions of task_run: the task's thread. Those of the host: any; task_host_close: one.
 */
#ifndef SPATE_JOB_TASK_HOST_H
#define SPATE_JOB_TASK_HOST_H

#include "cluster/runner.h"

enum task_wish {
    TASK_GO_ON,
    TASK_STOP,    /* finish the tick, commit, return */
    TASK_ABANDON, /* return at once, without a commit */
    TASK_SUSPEND, /* no tick and no write until it is something else */
};
struct task_host;
struct task_run {
    const char *job_id;
    uint64_t task, epoch;
    struct life life;
    uint32_t piece, pieces; /* of the source's partitions; pieces 0: all of them */
    struct cluster_session *session;
    const char *prefix; /* "jobs/<id>" */
    struct task_host *host;
};
/* Asked between ticks. */
enum task_wish task_run_wish(struct task_run *run);
/* Restored: it runs from now on. */
void task_run_started(struct task_run *run);
/* Before each write to a sink that cannot refuse an outdated writer. */
bool task_run_may_write(struct task_run *run);
/* `cancel` is called (from another thread) when the run is to be abandoned, to end a tick that takes long. NULL ends that. */
void task_run_on_abandon(struct task_run *run, void (*cancel)(void *context), void *context);

/* Runs a task in the thread of the call. OK with *ended: all input has ended, and that is committed. OK without: after TASK_STOP, or
 * TASK_ABANDON. FENCED: a commit was refused. Anything else: the task has failed, and coordination tries it again later. */
struct task_kind {
    void *context;
    enum status (*run)(void *context, struct task_run *run, bool *ended, struct error *err);
};
struct task_host_config {
    const struct task_kind *kind;
    const char *job_id, *prefix;
    struct cluster_session *session;
    uint32_t pieces;
    void *context; /* of those below */
    /* A copy of the task's state is wanted here, or not any more. NULL: none are kept. */
    void (*follow)(void *context, uint64_t task, bool follow);
    void (*report)(void *context, const char *text);
    void (*ended)(void *context, int32_t code); /* of the whole: see runner.h */
};
enum status task_host_open(const struct task_host_config *config, struct task_host **host, struct error *err);
const struct runner_tasks *task_host_tasks(struct task_host *host); /* for runner_config */
/* Right after runner_start: where outcomes go. */
void task_host_attach(struct task_host *host, struct runner *runner);
/* The job was killed: all runs end without a commit; the process still leaves in order. */
void task_host_kill(struct task_host *host);
/* How far a copy is: for the leader. known false: there is none any more. */
void task_host_tell_copy(struct task_host *host, uint64_t task, bool known, uint64_t lag_bytes, uint64_t seq);
/* Before runner_close: nothing is told to the runner any more, and what still runs is abandoned. */
void task_host_detach(struct task_host *host);
/* After runner_close: waits for what still runs. NULL is allowed. */
void task_host_close(struct task_host *host);

struct task_figures {
    uint32_t starting, running, ended;
};
void task_host_figures(struct task_host *host, struct task_figures *figures);

#endif
