/* One owner of a task: a process in a thread. It has a session of its own that runs an INSERT as the task, a step when it is told to, and
 * a connection to the coordination service that can be cut, lose answers, or stop the owner in the middle of a write. */
#ifndef SPATE_TESTS_TASK_OWNER_H
#define SPATE_TESTS_TASK_OWNER_H

#include <stdbool.h>

#include "api/session.h"
#include "../cluster/memory_session.h"

/* What happens to the owner's next write of a commit record. */
enum owner_fault {
    OWNER_FINE,
    OWNER_FREEZES_BEFORE, /* it stands still until it is thawed, then writes */
    OWNER_FREEZES_AFTER,  /* it writes, then stands still before it hears so */
    OWNER_LOSES_DONE,     /* it is written, but the answer is lost */
    OWNER_LOSES_UNDONE,   /* it is not written, and the answer is lost */
    OWNER_IS_CUT_OFF,     /* the service does not answer, nor to the read after it */
    OWNER_FAULT_COUNT
};
enum { OWNERS_MAX = 16 };
struct task_owner;
struct task_world { /* the service that all owners share */
    struct memory_session *registers;
    struct task_owner *owners[OWNERS_MAX]; /* alive */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
};
enum owner_state { OWNER_READY, OWNER_FROZEN, OWNER_ENDED /* with status */ };

void task_world_open(struct task_world *world);
void task_world_close(struct task_world *world); /* kills all owners */
/* It has not begun to run: the first step opens its session. settings and sql are lent. */
struct task_owner *task_owner_create(struct task_world *world, const char *job, const char *task, uint64_t epoch,
                                     const char *const *settings, const char *sql);
void task_owner_fail_next(struct task_owner *owner, enum owner_fault fault);
/* Lets it take a step, or thaws it; returns when it has, stands still, or has ended. */
enum owner_state task_owner_step(struct task_owner *owner);
enum owner_state task_owner_state(const struct task_owner *owner);
enum status task_owner_status(const struct task_owner *owner, const char **text); /* of one that has ended; OK: all its input is done */
const char *task_owner_message(const struct task_owner *owner);                   /* what it began with */
/* As a process that dies: from now on it writes no record. */
void task_owner_kill(struct task_owner *owner);

#endif
