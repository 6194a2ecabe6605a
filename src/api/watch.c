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

static void note_operators(spate_result *result)
{
    struct job_operator operator;
    for (uint32_t position = 0; job_operator_read(result->job, &position, &operator);) {
        char labels[SNAPSHOT_ID_MAX + 16];
        snprintf(labels, sizeof labels, "operator=%s", operator.id);
        note(result, JOB_METRIC_OPERATOR_ROWS_IN, labels, (double)operator.metrics.rows_in);
        note(result, JOB_METRIC_OPERATOR_ROWS_OUT, labels, (double)operator.metrics.rows_out);
        note(result, JOB_METRIC_OPERATOR_STATE_KEYS, labels, (double)operator.metrics.state_keys);
        note(result, JOB_METRIC_OPERATOR_STATE_BYTES, labels, (double)operator.metrics.state_bytes);
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
