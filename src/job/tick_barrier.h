/* job/tick_barrier.h: where the workers of a job agree on a tick.
 *
 * For         after the sources were pulled: is there work, was that the last tick, has a worker failed?
 * Shape       All workers arrive with what they know; each gets the same answer. Waiting spins a few microseconds, then blocks.
 * Threads     One thread per worker.
 */
#ifndef SPATE_JOB_TICK_BARRIER_H
#define SPATE_JOB_TICK_BARRIER_H

#include <pthread.h>
#include <stdbool.h>

#include "base/wakeup.h"

struct tick_votes {
    bool rows;   /* any: sources gave rows, or a timer is due */
    bool failed; /* any */
    bool ended;  /* all: sources have ended */
};
struct tick_barrier {
    pthread_mutex_t mutex;
    struct wakeup all_arrived; /* its count is the number of the round */
    uint32_t worker_count, arrived;
    struct tick_votes gathering, agreed;
};
void tick_barrier_init(struct tick_barrier *barrier, uint32_t worker_count);
void tick_barrier_destroy(struct tick_barrier *barrier);
struct tick_votes tick_barrier_meet(struct tick_barrier *barrier, struct tick_votes mine);

#endif
