/* The figures of a running job, for its journal. */
#include <stdio.h>

#include "api/session.h"
#include "job/job_metrics.h"

static void note(spate_result *result, enum job_metric metric, const char *labels, double value)
{
    journal_figure(result->journal, job_metric_name(metric), labels, value);
}

static void note_progress(spate_result *result)
{
    struct plan_progress read = {.watermark_us = WATERMARK_NONE};
    plan_progress_read(result->plan, &read);
    note(result, JOB_METRIC_RECORDS_READ, NULL, (double)read.rows_read);
    note(result, JOB_METRIC_BYTES_READ, NULL, (double)read.bytes_read);
    note(result, JOB_METRIC_RECORDS_LATE, NULL, (double)read.late);
    note(result, JOB_METRIC_RECORDS_NULL_TIME, NULL, (double)read.null_time);
    note(result, JOB_METRIC_RECORDS_FAILED, NULL, (double)read.failed);
    note(result, JOB_METRIC_RECORDS_DROPPED, NULL, (double)read.dropped);
    note(result, JOB_METRIC_RECORDS_DEAD, NULL, (double)read.dead_lettered);
    if (read.watermark_us != WATERMARK_NONE && read.watermark_us != WATERMARK_END) {
        note(result, JOB_METRIC_WATERMARK, NULL, (double)read.watermark_us / 1e6);
    }
    note(result, JOB_METRIC_TICKS, NULL, (double)job_ticks(result->job));
    note(result, JOB_METRIC_RESTARTS, NULL, (double)result->recovery.failures);
    note(result, JOB_METRIC_MEMORY, NULL, (double)atomic_load(&result->session->budget.used_bytes));
}

static void note_checkpoints(spate_result *result)
{
    struct checkpoint_figures figures;
    checkpointer_figures(result->checkpointer, &figures);
    note(result, JOB_METRIC_CHECKPOINTS, NULL, (double)figures.completed);
    note(result, JOB_METRIC_CHECKPOINTS_FAILED, NULL, (double)figures.failed);
    if (figures.completed > 0) {
        note(result, JOB_METRIC_CHECKPOINT_DURATION, NULL, (double)figures.last_duration_us / 1e6);
        note(result, JOB_METRIC_CHECKPOINT_STALL, NULL, (double)figures.last_stall_us / 1e6);
        note(result, JOB_METRIC_CHECKPOINT_BYTES, NULL, (double)figures.last_bytes);
    }
}

static void note_operator(spate_result *result, const struct job_operator *read)
{
    const struct node_metrics *metrics = &read->metrics;
    const struct {
        enum job_metric metric;
        uint64_t value;
    } figures[] = {
        {JOB_METRIC_OPERATOR_ROWS_IN, metrics->rows_in},           {JOB_METRIC_OPERATOR_ROWS_OUT, metrics->rows_out},
        {JOB_METRIC_OPERATOR_STATE_KEYS, metrics->state_keys},     {JOB_METRIC_OPERATOR_STATE_BYTES, metrics->state_bytes},
        {JOB_METRIC_OPERATOR_COLD_KEYS, metrics->state_cold_keys}, {JOB_METRIC_OPERATOR_HITS, metrics->state_hits},
        {JOB_METRIC_OPERATOR_MISSES, metrics->state_misses},       {JOB_METRIC_OPERATOR_ABSENT, metrics->state_absent},
        {JOB_METRIC_OPERATOR_SPILLED, metrics->state_spilled},     {JOB_METRIC_OPERATOR_SPILLED_BYTES, metrics->state_spilled_bytes},
    };
    char labels[SNAPSHOT_ID_MAX + 16];
    snprintf(labels, sizeof labels, "operator=%s", read->id);
    for (size_t i = 0; i < ARRAY_LENGTH(figures); i++) {
        note(result, figures[i].metric, labels, (double)figures[i].value);
    }
}

static void note_operators(spate_result *result)
{
    struct job_operator read;
    for (uint32_t position = 0; job_operator_read(result->job, &position, &read);) {
        note_operator(result, &read);
    }
}

void watch_sample(spate_result *result)
{
    if (result->job != NULL && result->plan != NULL && result->checkpointer != NULL) {
        note_progress(result);
        note_checkpoints(result);
        note_operators(result);
    }
}
