/* job/edits_internal.h: the inside of a group and of its tasks.
 *
 * For         edits_group.c (the thread), edits_lead.c (its decisions, where it is alone), edits.c (the task's side).
 * Threads     `mutex` guards the list of tasks and all that is marked so; log, lease, term and arenas are the thread's.
 */
#ifndef SPATE_JOB_EDITS_INTERNAL_H
#define SPATE_JOB_EDITS_INTERNAL_H

#include <pthread.h>

#include "cluster/control/log_register.h"
#include "cluster/task_id.h"
#include "job/edits.h"
#include "job/edits_group.h"

enum { REPLIES_MAX = 64, CLOSE_PATIENCE_MS = 5000, LEASE_US = 10000000 };

/* What the task said of an edit, until that is in the log. */
struct reply {
    uint64_t rank;
    char *result; /* JSON, or NULL */
    bool failed;
    char code[CONTROL_CODE_BYTES], reason[CONTROL_REASON_MAX];
};
enum edits_phase { EDITS_NEW /* waits for a first look at the log */, EDITS_READY, EDITS_REFUSED };
struct edits {
    struct edits_spec spec;
    struct edits_group *group;
    struct cluster_session *session; /* of a group of its own; NULL: it is another's */
    struct edits *next_of_group;
    struct arena *begin_arena; /* of what stands */
    struct arena *next_arena;  /* of the next edit */
    bool paused_at_start, stopped_at_start;
    struct edit *standing;
    uint32_t standing_count;
    char prefix[EDITS_PREFIX_BYTES];
    /* guarded */
    enum edits_phase phase;
    struct error failure; /* of the first look */
    bool has_next, is_taken, leaving;
    struct edit next;
    uint64_t applied, committed, acknowledged;
    struct reply replies[REPLIES_MAX];
    uint32_t reply_count;
    uint64_t trouble_seen;
};
struct edits_group {
    struct edits_group_spec spec;
    struct control_log *log;
    struct cluster_lease *lease;
    struct random_source random;
    struct arena *arena; /* of one pass */
    char life[LIFE_TEXT_BYTES];
    uint64_t term; /* 0: it does not decide */
    int64_t renewed_us;
    uint64_t ended_acknowledged;
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* for the thread */
    pthread_cond_t settled; /* for tasks that are opened or closed */
    /* guarded */
    bool leaving;
    struct edits *first;
    uint64_t *ended; /* tasks, sorted */
    uint32_t ended_count, ended_capacity;
    uint64_t trouble_count;
    struct error trouble;
};

/* edits_lead.c */
enum status edits_lead(struct edits_group *group, struct error *err); /* keeps the lease, decides and closes all that there is */
void edits_give_up_lead(struct edits_group *group);

#endif
