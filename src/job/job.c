#include "job/job_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "circuit/held_errors.h"
#include "circuit/operators/history_node.h"

enum { TICK_ROWS_MIN = CHUNK_ROWS, TICK_ROWS_MAX = 64 * CHUNK_ROWS };

static int64_t job_now_us(const struct job *job)
{
    return job->clock->monotonic_us(job->clock) + job->clock_offset_us;
}

/* ---- one worker's share of a tick ---- */

static void worker_fail(struct worker *worker, enum status status)
{
    worker->status = status;
    plan_abort(worker->job->plan);
}

static void worker_run_tick(struct worker *worker)
{
    struct job *job = worker->job;
    enum pull_state pulled = PULL_IDLE;
    worker->status = circuit_pull(worker->circuit, &job->tick, &pulled, &worker->error);
    struct tick_votes mine = {
        .rows = pulled == PULL_ROWS || job->again || circuit_next_timer(worker->circuit) <= job->tick.now_us,
        .failed = worker->status != STATUS_OK,
        .ended = pulled == PULL_ENDED,
    };
    struct tick_votes agreed = tick_barrier_meet(&job->barrier, mine);
    if (worker->circuit->worker == 0) {
        job->agreed = agreed;
    }
    if (agreed.failed || (!agreed.rows && !agreed.ended)) {
        return;
    }
    struct tick tick = job->tick;
    tick.end = agreed.ended;
    enum status status = circuit_finish(worker->circuit, &tick, &worker->error);
    if (status != STATUS_OK) {
        worker_fail(worker, status);
    }
}

static void *worker_main(void *context)
{
    struct worker *worker = context;
    struct job *job = worker->job;
    for (uint64_t seen = 0;; seen++) {
        wakeup_wait_soon(&job->go, seen);
        if (atomic_load(&job->leaving)) {
            break;
        }
        worker_run_tick(worker);
        wakeup_signal(&job->done);
    }
    buffer_trim();
    return NULL;
}

/* ---- the job ---- */

static enum status job_start_threads(struct job *job, struct error *err)
{
    for (uint32_t i = 1; i < job->worker_count; i++) {
        int failed = pthread_create(&job->workers[i].thread, NULL, worker_main, &job->workers[i]);
        if (failed != 0) {
            return error_set(err, ERROR_THREAD, "cannot start worker %u of %u: %s", i, job->worker_count, strerror(failed));
        }
        job->workers[i].started = true;
    }
    return STATUS_OK;
}

/* Where there is no state but places, these are saved, and no tick has to be run again. */
static enum status job_keep_history(struct job *job, struct circuit *circuit, struct error *err)
{
    if (circuit->keeps != KEEPS_HISTORY) {
        return STATUS_OK;
    }
    if (!circuit_has_state(circuit)) {
        circuit->keeps = KEEPS_STATE;
        return STATUS_OK;
    }
    struct node *history;
    TRY(history_node_create(circuit, &history, err)); /* on all, so that all know its state; worker 0 has it */
    job->history = circuit->worker == 0 ? history : job->history;
    job->records = true;
    circuit->pull_mode = PULL_RECORDED;
    return STATUS_OK;
}

static enum status job_build(struct job *job, struct budget *budget, const struct evaluation *evaluation, struct error *err)
{
    if (job->worker_count > 1) {
        TRY(held_meeting_create(job->worker_count, &job->held_meeting, err));
    }
    for (uint32_t i = 0; i < job->worker_count; i++) {
        struct worker *worker = &job->workers[i];
        worker->job = job;
        TRY(circuit_create(budget, evaluation, job->clock, &job->settings.pipeline, &job->wakeup, i, job->worker_count, &worker->circuit,
                           err));
        worker->circuit->cancelled = &job->cancelled;
        worker->circuit->held_meeting = job->held_meeting;
        worker->circuit->evaluation.now_us = job_now_us(job);
        worker->circuit->spills = job->settings.cold.driver != NULL;
        TRY(plan_build(job->plan, worker->circuit, err));
        TRY(job_keep_history(job, worker->circuit, err));
        TRY(circuit_name_nodes(worker->circuit, err));
    }
    TRY(job_cold_open(job, err));
    return job_start_threads(job, err);
}

enum status job_create(struct plan *plan, struct budget *budget, const struct evaluation *evaluation, const struct clock *clock,
                       const struct plan_settings *settings, struct job **job, struct error *err)
{
    struct job *created = calloc(1, sizeof *created);
    struct worker *workers = calloc(settings->parallelism, sizeof *workers);
    if (created == NULL || workers == NULL) {
        free(created);
        free(workers);
        return error_set(err, ERROR_BUDGET_SPENT, "no room for a job of %u workers", settings->parallelism);
    }
    created->plan = plan;
    created->budget = budget;
    created->clock = clock;
    created->settings = *settings;
    created->workers = workers;
    created->worker_count = settings->parallelism;
    created->clock_offset_us = clock->wall_us(clock) - clock->monotonic_us(clock);
    created->tick.bounded = plan_is_bounded(plan);
    wakeup_init(&created->wakeup);
    tick_barrier_init(&created->barrier, created->worker_count);
    wakeup_init(&created->go);
    wakeup_init(&created->done);
    enum status status = job_build(created, budget, evaluation, err);
    if (status != STATUS_OK) {
        job_destroy(created);
        return status;
    }
    *job = created;
    return STATUS_OK;
}

void job_run_tick(struct job *job, int64_t now_us)
{
    job->tick.now_us =
        now_us > job->tick.now_us ? now_us : job->tick.now_us; /* another process, whose ticks were run again, may be ahead */
    uint64_t done = wakeup_read(&job->done);
    uint64_t all_done = done + job->worker_count - 1;
    wakeup_signal(&job->go);
    worker_run_tick(&job->workers[0]);
    while ((done = wakeup_read(&job->done)) != all_done) {
        wakeup_wait_soon(&job->done, done);
    }
    job->tick.number++;
}

enum status job_find_error(const struct job *job, struct error *err)
{
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < job->worker_count; i++) {
        const struct worker *worker = &job->workers[i];
        if (worker->status != STATUS_OK && (status == STATUS_OK || status == STATUS_CANCELLED)) {
            status = worker->status;
            *err = worker->error;
        }
    }
    return status;
}

static void job_adapt(struct job *job, int64_t elapsed_us)
{
    int64_t target_us = job->settings.pipeline.tick_target_us;
    uint64_t rows = job->workers[0].circuit->tick_budget_rows;
    if (elapsed_us * 2 < target_us && rows < TICK_ROWS_MAX) {
        rows *= 2;
    } else if (elapsed_us > target_us * 2 && rows > TICK_ROWS_MIN) {
        rows /= 2;
    }
    for (uint32_t i = 0; i < job->worker_count; i++) {
        job->workers[i].circuit->tick_budget_rows = rows;
    }
}

static enum status job_stop(struct job *job, struct error *err)
{
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < job->worker_count && status == STATUS_OK; i++) {
        status = circuit_stop(job->workers[i].circuit, err);
    }
    job->state = status == STATUS_OK ? JOB_ENDED : JOB_FAILED;
    return status;
}

/* Waits for a source, a timer or cancellation. */
static void job_wait(struct job *job, uint64_t seen, int64_t wait_us)
{
    for (uint32_t i = 0; i < job->worker_count; i++) {
        int64_t next = circuit_next_timer(job->workers[i].circuit);
        if (next != INT64_MAX && next - job_now_us(job) < wait_us) {
            wait_us = next - job_now_us(job);
        }
    }
    if (wait_us > 0) {
        wakeup_wait(&job->wakeup, seen, wait_us);
    }
}

enum status job_step(struct job *job, int64_t wait_us, enum job_state *state, struct error *err)
{
    enum status status = STATUS_OK;
    if (job->state == JOB_RUNNING && atomic_load(&job->cancelled)) {
        job->state = JOB_CANCELLED;
    } else if (job->state == JOB_RUNNING && atomic_load(&job->stopping)) {
        status = job_stop(job, err);
    } else if (job->state == JOB_RUNNING && job->replaying) {
        status = job_replay_some(job, err);
        job->state = status == STATUS_OK ? JOB_RUNNING : JOB_FAILED;
    } else if (job->state == JOB_RUNNING) {
        uint64_t seen = wakeup_read(&job->wakeup);
        int64_t start_us = job->clock->monotonic_us(job->clock);
        job_run_tick(job, job_now_us(job));
        status = job_find_error(job, err);
        if (status == STATUS_OK) {
            status = job_note_tick(job, err);
        }
        if (status != STATUS_OK) {
            job->state = JOB_FAILED;
        } else if (job->agreed.ended) {
            job->ticks_done++;
            job->state = JOB_ENDED;
        } else if (job->agreed.rows) {
            job->ticks_done++;
            job_adapt(job, job->clock->monotonic_us(job->clock) - start_us);
        } else {
            job_wait(job, seen, wait_us);
        }
    }
    *state = job->state;
    return status;
}

void job_cancel(struct job *job)
{
    atomic_store(&job->cancelled, true);
    wakeup_signal(&job->wakeup);
}

void job_finish_sources(struct job *job)
{
    atomic_store(&job->stopping, true);
    wakeup_signal(&job->wakeup);
}

uint32_t job_worker_count(const struct job *job)
{
    return job->worker_count;
}

bool job_reached_end(const struct job *job)
{
    return job->state == JOB_ENDED && job->agreed.ended;
}

uint64_t job_ticks(const struct job *job)
{
    return job->ticks_done;
}

bool job_is_idle(const struct job *job)
{
    return job->state == JOB_RUNNING && !job->agreed.rows && !job->agreed.ended && !job->replaying;
}

void job_take_notices(struct job *job, struct text_builder *notices)
{
    for (uint32_t i = 0; i < job->worker_count; i++) {
        struct text_builder *of_worker = &job->workers[i].circuit->notices;
        text_append(notices, of_worker->bytes, of_worker->length);
        text_builder_clear(of_worker);
    }
}

void job_destroy(struct job *job)
{
    if (job == NULL) {
        return;
    }
    atomic_store(&job->leaving, true);
    wakeup_signal(&job->go);
    for (uint32_t i = 1; i < job->worker_count; i++) {
        if (job->workers[i].started) {
            pthread_join(job->workers[i].thread, NULL);
        }
    }
    for (uint32_t i = 0; i < job->worker_count; i++) {
        circuit_destroy(job->workers[i].circuit);
    }
    job_cold_close(job);
    held_meeting_destroy(job->held_meeting);
    text_builder_close(&job->record);
    wakeup_destroy(&job->go);
    wakeup_destroy(&job->done);
    tick_barrier_destroy(&job->barrier);
    wakeup_destroy(&job->wakeup);
    free(job->workers);
    free(job);
}
