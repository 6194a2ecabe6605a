/* job/job_metrics.h: the figures of a job: their names, what they count, and how they are read.
 *
 * For         the journal of a job (job/journal.h), `spate metrics`.
 * Names       As Prometheus wants them: base units, "_total" for what only grows.
 * Threads     Read by the job's thread, between ticks.
 */
#ifndef SPATE_JOB_JOB_METRICS_H
#define SPATE_JOB_JOB_METRICS_H

#include "job/job.h"

/* field, name, what it is */
#define JOB_METRIC_LIST(X)                                                                                                                 \
    X(RECORDS_READ, "spate_records_read_total", "records that sources have read since the process started")                                \
    X(BYTES_READ, "spate_bytes_read_total", "bytes that sources have read")                                                                \
    X(RECORDS_LATE, "spate_records_late_total", "records that came after their window or version was closed")                              \
    X(RECORDS_NULL_TIME, "spate_records_null_time_total", "records without event time")                                                    \
    X(RECORDS_FAILED, "spate_records_failed_total", "records that could not be read")                                                      \
    X(RECORDS_DROPPED, "spate_records_dropped_total", "records that the error policy 'skip' left out")                                     \
    X(RECORDS_DEAD, "spate_records_dead_lettered_total", "records that went to a dead-letter table")                                       \
    X(WATERMARK, "spate_watermark_seconds", "the lowest watermark of the job's tables, since 1970 (absent before there is one)")           \
    X(TICKS, "spate_ticks_total", "ticks that had rows")                                                                                   \
    X(RESTARTS, "spate_restarts_total", "restarts within the process")                                                                     \
    X(MEMORY, "spate_memory_bytes", "memory that is charged to the budget of the process")                                                 \
    X(CHECKPOINTS, "spate_checkpoints_total", "checkpoints that were completed")                                                           \
    X(CHECKPOINTS_FAILED, "spate_checkpoints_failed_total", "checkpoints that were given up")                                              \
    X(CHECKPOINT_DURATION, "spate_checkpoint_duration_seconds", "how long the last checkpoint took")                                       \
    X(CHECKPOINT_STALL, "spate_checkpoint_stall_seconds", "the longest time that ticks waited for it at once")                             \
    X(CHECKPOINT_BYTES, "spate_checkpoint_bytes", "what it wrote")                                                                         \
    X(OPERATOR_ROWS_IN, "spate_operator_rows_in_total", "rows that an operator got (label operator: its id)")                              \
    X(OPERATOR_ROWS_OUT, "spate_operator_rows_out_total", "rows that it gave")                                                             \
    X(OPERATOR_STATE_KEYS, "spate_operator_state_keys", "keys in its state")                                                               \
    X(OPERATOR_STATE_BYTES, "spate_operator_state_bytes", "memory of its state")                                                           \
    X(OPERATOR_COLD_KEYS, "spate_operator_state_cold_keys", "keys that are in the database only (state.backend.type)")                     \
    X(OPERATOR_HITS, "spate_operator_state_hits_total", "rows whose key was in memory")                                                    \
    X(OPERATOR_MISSES, "spate_operator_state_misses_total", "keys that were looked for in the database")                                   \
    X(OPERATOR_ABSENT, "spate_operator_state_absent_total", "keys that need not be looked for: the filter knows that they are not there")  \
    X(OPERATOR_SPILLED, "spate_operator_state_spilled_total", "keys that were written to the database")                                    \
    X(OPERATOR_SPILLED_BYTES, "spate_operator_state_spilled_bytes_total", "their bytes")
#define X(field, name, summary) JOB_METRIC_##field,
enum job_metric { JOB_METRIC_LIST(X) JOB_METRIC_COUNT };
#undef X
const char *job_metric_name(enum job_metric metric);
const char *job_metric_summary(enum job_metric metric);

/* An operator with state, its figures added up over the workers. false: there are no more. */
struct job_operator {
    const char *id;
    struct node_metrics metrics;
};
bool job_operator_read(const struct job *job, uint32_t *position, struct job_operator *read); /* *position: 0 at first */

#endif
