/* job/tick_record.h: the ticks of a job, so that they can be run again.
 *
 * For         'high-availability.policy': upstream-backup runs all ticks again, from the input, without output; the standby of active runs
 *             each tick that the other process has run.
 * Shape       A record is the time of the tick, then what each worker's sources gave (circuit/pull_record.h).
 * Again       A job of the same SQL whose circuits are where the other's were before the tick, and that is given its record, is where the other's
 *             were after it. With another number of workers that holds for what does not depend on the order between partitions.
 * Threads     The job's.
 * Errors      POSITION_LOST: the input is not what it was.
 */
#ifndef SPATE_JOB_TICK_RECORD_H
#define SPATE_JOB_TICK_RECORD_H

#include "base/text.h"
#include "job/job.h"

void job_record_ticks(struct job *job); /* from now on */
/* Of the tick that the last job_step ran, lent; empty: it ran none. */
struct text job_tick_record(const struct job *job);
enum status job_replay(struct job *job, struct text record, struct error *err);
/* A job that keeps its history and has just been restored: job_step runs the ticks of its earlier lives first, without output. */
enum status job_replay_begin(struct job *job, struct error *err);
bool job_is_replaying(const struct job *job);

#endif
