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
    struct cold_db *cold; /* its database; NULL: all state is in memory */
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
    struct budget *budget;
    /* databases: job_cold.c */
    const struct cold_driver *cold_driver; /* NULL: none */
    struct cold_folder *cold_folder;
    size_t cold_bytes; /* charged */
    /* the ticks, for those who run them again: job/tick_record.h */
    bool records;
    struct text_builder record;
    struct node *history; /* of worker 0; NULL: the job does not keep its history */
    bool again;           /* the tick at hand is run again: it came about, whatever moves it here */
    bool replaying;
};
/* One tick, at this time of the job's clock. */
void job_run_tick(struct job *job, int64_t now_us);
/* The first error that is not a consequence of another worker's. */
enum status job_find_error(const struct job *job, struct error *err);
enum status job_replay_some(struct job *job, struct error *err); /* tick_record.c */
enum status job_note_tick(struct job *job, struct error *err);   /* tick_record.c: after a tick without an error */

/* job_cold.c: the databases of the workers. */
enum status job_cold_open(struct job *job, struct error *err);
/* Another folder in the place of the worker's: `path` is opened, what there was is removed. */
enum status job_cold_replace(struct job *job, uint32_t worker, uint64_t number, struct error *err);
void job_cold_close(struct job *job);

#endif
