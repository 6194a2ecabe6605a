/* job/job.h: a running plan: workers, ticks, the end.
 *
 * For         api/: each statement that moves rows is a job.
 * Shape       With parallelism 1 job_step runs one tick in the caller's thread. With more, workers 1..P-1 run in threads of their own and
 *             worker 0 in the caller's; the caller leads: it starts each tick.
 *
 *      RUNNING --last tick--> ENDED        RUNNING --error--> FAILED        RUNNING --job_cancel--> CANCELLED
 *
 * Threads     All calls from one thread, except job_cancel (any).
 */
#ifndef SPATE_JOB_JOB_H
#define SPATE_JOB_JOB_H

#include "plan/plan.h"

enum job_state { JOB_RUNNING, JOB_ENDED, JOB_FAILED, JOB_CANCELLED };
struct job;
enum status job_create(struct plan *plan, struct budget *budget, const struct evaluation *evaluation, const struct clock *clock,
                       const struct plan_settings *settings, struct job **job, struct error *err);
/* Runs one tick; waits at most wait_us when there is nothing to do. An error ends the job (FAILED). */
enum status job_step(struct job *job, int64_t wait_us, enum job_state *state, struct error *err);
uint32_t job_worker_count(const struct job *job);
bool job_reached_end(const struct job *job); /* ENDED by the end of all input, not by job_finish_sources */
uint64_t job_ticks(const struct job *job);   /* that did something */
/* What operators have to tell the user, lines; the caller closes the text. */
void job_take_notices(struct job *job, struct text_builder *notices);
bool job_is_idle(const struct job *job); /* the last step found nothing to do */
void job_cancel(struct job *job);        /* the next or current job_step ends soon with JOB_CANCELLED */
void job_finish_sources(
    struct job *job); /* SIGTERM: sources stop reading; the job ends as at the end of input without firing open windows */
void job_destroy(struct job *job);

#endif
