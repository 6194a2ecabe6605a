/* job/job_lock.h: one process runs a job; others can ask it for a savepoint, or to end it.
 *
 * For         checkpointer.h (the lock), and whoever looks at jobs from outside.
 * Layout      <jobs' folder>/locks/<id>           locked (flock) as long as a process runs the job; says which: "process 4711"
 *             <jobs' folder>/locks/<id>.ticks.N   tick_stream.h
 *             <jobs' folder>/locks/<id>.request   token, what is asked for, a savepoint's place (with SIGUSR1)
 *             <jobs' folder>/locks/<id>.reply     token, "ok" or "error", then the place or the reason
 *             elsewhere: jobs/<id>/messages/request and reply (storage/job_messages.h), which the process that runs the job looks for now
 *             and then (checkpointer_is_asked)
 * Limits      Storage in a folder. Elsewhere there is no lock: manifests alone fence, and nobody can tell whether the job runs.
 * Threads     Any; a lock belongs to whoever took it.
 */
#ifndef SPATE_JOB_JOB_LOCK_H
#define SPATE_JOB_JOB_LOCK_H

#include <stdatomic.h>

#include "storage/stores.h"

struct job_lock_wait {
    void (*told)(void *context, const char *owner); /* once, when a standby begins to wait; owner: "process 123", or ""; NULL: nobody is */
    void *context;
};
struct job_lock_wish {
    const char *job;              /* name, for messages */
    bool standby;                 /* wait until the other process has gone */
    const atomic_bool *cancelled; /* NULL: nobody cancels */
    struct job_lock_wait wait;
};
/* *lock: to be closed by the caller; -1: the storage has no locks. JOB_TAKEN: another process runs the job. */
enum status job_lock_take(struct storage *storage, const char *id, const struct job_lock_wish *wish, int *lock, struct error *err);

/* Without waiting. *lock -1: another process has it. NOT_SUPPORTED: the storage has no locks. */
enum status job_lock_try(struct storage *storage, const char *id, int *lock, struct error *err);
/* Takes it from a process that has it and is silent. That will find out: job_lock_was_broken. */
enum status job_lock_break(struct storage *storage, const char *id, int *lock, struct error *err);
bool job_lock_is_possible(const struct storage *storage);
bool job_lock_was_broken(struct storage *storage, const char *id, int lock);
/* The path of the lock, for files beside it. */
void job_lock_name(const struct storage *storage, const char *id, char *path, size_t size);

enum job_running { JOB_RUNNING_UNKNOWN, JOB_RUNNING_NOWHERE, JOB_RUNNING_HERE /* on this machine, or one that shares the folder */ };
/* *pid: of the process, 0 when not known. */
enum job_running job_lock_look(struct storage *storage, const char *id, int *pid);

#define JOB_ASK_LIST(X)                                                                                                                    \
    X(SAVEPOINT, "savepoint")           /* the job goes on */                                                                              \
    X(STOP, "stop")                     /* as SIGTERM does, for this job */                                                                \
    X(STOP_SAVEPOINT, "stop-savepoint") /* the savepoint, then stop */                                                                     \
    X(KILL, "kill")                     /* at once, without a last checkpoint */
#define X(ask, name) JOB_ASK_##ask,
enum job_ask { JOB_ASK_LIST(X) JOB_ASK_COUNT };
#undef X
/* Asks the process that runs the job, and waits until it has done so; when the job was to end, also until it has let go of it (where that
 * can be seen). *where: the
 * savepoint's place, in the arena; "": none was asked for. */
enum status job_request_send(struct storage *storage, const char *id, enum job_ask ask, const char *place, int64_t timeout_us,
                             struct arena *arena, const char **where, struct error *err);
/* Without a folder: does somebody ask? Reads the storage. */
bool job_request_is_there(struct storage *storage, const char *id);
/* The process's side: is there a request? Its place and token are in the arena. */
struct job_request {
    enum job_ask ask;
    const char *token, *place; /* place "": choose one */
};
bool job_request_find(struct storage *storage, const char *id, struct arena *arena, struct job_request *request);
/* failure NULL: it is done. What cannot be written is given up: the asking process hears nothing and says so. */
void job_request_answer(struct storage *storage, const char *id, const struct job_request *request, const char *where, const char *failure);
/* Of a job that is removed: nothing of its lock and messages is left. The lock is held by the caller. */
void job_lock_forget(struct storage *storage, const char *id);

#endif
