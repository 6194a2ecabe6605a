/* storage/metric_store.h: figures over time, in three resolutions.
 *
 * Layout      jobs/<id>/metrics/<15s|1m|1h>/<day>/<processor>-<incarnation>-<seq>.cols; those of 1m and 1h are written by roll-up, as
 *             processor "rollup", one an hour (1m) or a day (1h)
 * Points      A series is a name and labels ("task=s1.0,operator=3", sorted by their writer). A raw point is a value at a time; a rolled-up
 *             one is count, sum, least, greatest and last of a step, at its start.
 * Roll-up     When an hour has ended (and METRICS_LATE has passed), its 15s points become 1m ones; when a day has, its 1m points become 1h
 *             ones. A point that comes later is in the 15s batches only.
 * Query       Takes for each hour the coarsest resolution that has it and is not coarser than the step; else the finest that has it, since
 *             fine ones expire first.
 * Form        "SPM1", then columns: series texts, and per point series, time (delta), count, sum, least, greatest, last; compressed.
 * Threads     A writer: one thread at a time.
 */
#ifndef SPATE_STORAGE_METRIC_STORE_H
#define SPATE_STORAGE_METRIC_STORE_H

#include "storage/stores.h"

#define METRICS_LATE_US (INT64_C(300) * 1000000)

struct metric_point {
    int64_t at_us;
    const char *name, *labels; /* labels NULL: none */
    double value;
};
struct metric_writer;
enum status metric_writer_open(struct storage *storage, const char *job, const char *processor, const char *incarnation,
                               struct metric_writer **writer, struct error *err);
/* One batch per day that the points touch; durable when it returns. */
enum status metrics_append(struct metric_writer *writer, const struct metric_point *points, uint32_t count, struct error *err);
void metric_writer_close(struct metric_writer *writer); /* NULL is allowed */

#define METRIC_AGGREGATE_LIST(X) X(AVG, "avg") X(MIN, "min") X(MAX, "max") X(SUM, "sum") X(COUNT, "count") X(LAST, "last")
#define X(aggregate, name)       METRIC_##aggregate,
enum metric_aggregate { METRIC_AGGREGATE_LIST(X) METRIC_AGGREGATE_COUNT };
#undef X
struct metric_query {
    const char *name;       /* NULL: all */
    const char *labels;     /* exactly these; NULL: each series of the name */
    int64_t from_us, to_us; /* to_us is not part of it */
    int64_t step_us;        /* steps start at multiples of it */
    enum metric_aggregate aggregate;
};
/* In the order of series (name, labels) and time; steps without points are left out. */
struct metric_value {
    const char *name, *labels;
    int64_t at_us; /* the step's start */
    double value;
};
typedef enum status (*metric_visit)(void *context, const struct metric_value *value, bool *stop, struct error *err);
enum status metrics_query(struct storage *storage, const char *job, const struct metric_query *query, metric_visit visit, void *context,
                          struct error *err);
/* What is due of the last `days` days; done once: what is there is not made again. *made: batches written. */
enum status metrics_roll_up(struct storage *storage, const char *job, uint32_t days, uint64_t *made, struct error *err);

#endif
