/* job/job_internal.h: a running job inside, for the files of its implementation. */
#ifndef SPATE_JOB_JOB_INTERNAL_H
#define SPATE_JOB_JOB_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/wakeup.h"
#include "job/job.h"
#include "job/tick_barrier.h"

struct worker {
    struct job *job;
    struct circuit *circuit;
    pthread_t thread;
    bool started;
    enum status status;
    struct error error;
};
struct job {
    struct plan *plan;
    const struct clock *clock;
    struct plan_settings settings;
    enum job_state state;
    atomic_bool cancelled, stopping;
    struct wakeup wakeup; /* sources, cancellation */
    struct worker *workers;
    uint32_t worker_count;
    struct held_meeting *held_meeting; /* with several workers */
    struct tick tick;
    uint64_t ticks_done; /* with rows, or the last */
    struct tick_votes agreed;
    int64_t clock_offset_us; /* job clock = monotonic + offset */
    struct tick_barrier barrier;
    struct wakeup go;   /* a tick may run, or the workers 1.. shall end */
    struct wakeup done; /* one of them has ended a tick */
    atomic_bool leaving;
};

#endif
