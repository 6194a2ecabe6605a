/* spate/worker.h: a process that takes part in jobs that several processes work on.
 *
 * For         `spate worker`, and programs that want to be one.
 * Shape       A worker looks for submitted jobs (spate_session_submit) in its storage and coordination service, joins each, and runs the
 *             tasks that it is given, in threads of its own. It is stepped by its caller, who may end it at any time:
 *
 *                 spate_worker_open(settings, &options, &worker, &error);
 *                 while (spate_worker_step(worker, 200, &state, &error) == SPATE_OK && state == SPATE_WORKER_AT_WORK) { }
 *                 spate_worker_close(worker);
 *
 * Settings    As those of a session: "storage.uri=..." and "coordinator.uri=..." at least; "cluster.*" (docs/cluster.md) are its timing.
 *             The others take the place of those that jobs were submitted with.
 * Threads     One at a time; spate_worker_leave: any.
 */
#ifndef SPATE_WORKER_H
#define SPATE_WORKER_H

#include "spate/spate.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spate_worker spate_worker;

struct spate_worker_options {
    size_t size;      /* sizeof(struct spate_worker_options), set by the caller */
    const char *id;   /* of this process in all its jobs; NULL: one is made of the host's name and the process's number */
    const char *jobs; /* pattern of names, '*' and '?'; NULL: all jobs */
    const char *host; /* NULL: the host's own name. A copy of a task's state is never on its own host, */
    const char *rack; /* nor, where racks are known, in its rack */
    int once;         /* 1: a coordination service that does not answer at the start is an error; else it is tried again and again */
    int until_ended;  /* 1: it ends when all the jobs that it has joined have ended, and it has joined one */
    spate_notice_function notice;
    void *notice_context;
};
enum spate_worker_state {
    SPATE_WORKER_AT_WORK,
    SPATE_WORKER_LEFT,    /* in order */
    SPATE_WORKER_UNCLEAN, /* some task could not end in order: what it did after its last commit is done again elsewhere */
    SPATE_WORKER_REFUSED, /* another living process has its id */
};
SPATE_API int spate_worker_open(const char *const *settings, const struct spate_worker_options *options, spate_worker **worker,
                                struct spate_error *error);
/* Joins jobs and leaves those that have ended; waits up to wait_ms. */
SPATE_API int spate_worker_step(spate_worker *worker, int64_t wait_ms, int *state, struct spate_error *error);
/* Leaves all jobs in order: each task finishes its tick and commits, then others take over. */
SPATE_API void spate_worker_leave(spate_worker *worker);
/* Without spate_worker_leave: at once, as if the process had died. NULL is allowed. */
SPATE_API void spate_worker_close(spate_worker *worker);

#ifdef __cplusplus
}
#endif
#endif
