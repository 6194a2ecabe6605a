/* The options "storage.*": one table for parsing, refusal of what is unknown, and the reference. */
#include <string.h>

#include "storage/log_store.h"
#include "storage/retention.h"

static const char *check_grace(const void *value)
{
    /* what is looked at before it is used again is at most this old (artifacts.c) */
    return ((const struct duration *)value)->us < INT64_C(2) * 3600 * 1000000 ? "it has to be at least 2 h" : NULL;
}

static const char *check_interval(const void *value)
{
    return ((const struct duration *)value)->us <= 0 ? "it has to be more than 0" : NULL;
}

static const char *check_metrics_interval(const void *value)
{
    return ((const struct duration *)value)->us < 0 ? "it must not be negative" : NULL;
}

#define X(level, name) name,
static const char *const log_levels[] = {LOG_LEVEL_LIST(X) "off", NULL};
#undef X

#define PLACE           OPTION_TEXT(struct storage_limits, place)
#define KEEP(kind)      OPTION_INT64(struct storage_limits, kinds[STORE_##kind].keep), .check = option_check_positive
#define RETAIN(kind)    OPTION_DURATION(struct storage_limits, kinds[STORE_##kind].retain)
#define MAX_BYTES(kind) OPTION_BYTES(struct storage_limits, kinds[STORE_##kind].max_bytes)
static const struct option_def options[] = {
    {.name = "storage.uri",
     PLACE,
     .summary = "The root of all stores: a folder, file:///dir, azure://account/container/prefix, s3://bucket/prefix."},
    {.name = "storage.artifacts.uri", PLACE, .summary = "Where artifacts are, if not in the root."},
    {.name = "storage.config.uri", PLACE, .summary = "Where configuration and the access policy are, if not in the root."},
    {.name = "storage.logs.uri", PLACE, .summary = "Where logs are, if not in the root."},
    {.name = "storage.metrics.uri", PLACE, .summary = "Where metrics are, if not in the root."},
    {.name = "storage.offsets.uri", PLACE, .summary = "Where offsets are, if not in the root."},
    {.name = "storage.checkpoints.uri",
     PLACE,
     .summary = "Where checkpoints are, if not in the root; Flink's execution.checkpointing.dir."},
    {.name = "storage.savepoints.uri", PLACE, .summary = "Where savepoints are that have a name only, if not with the checkpoints."},
    {.name = "storage.jobs.uri", PLACE, .summary = "Where the records and names of jobs are, if not in the root."},
    {.name = "storage.audit.uri", PLACE, .summary = "Where the audit is, if not with the logs."},
    {.name = "storage.artifacts.cache", PLACE, .summary = "This machine's copies of artifacts; default $XDG_CACHE_HOME/spate/blobs."},
    {.name = "storage.gc.grace",
     OPTION_DURATION(struct storage_limits, gc_grace),
     .initial = "24 h",
     .check = check_grace,
     .summary = "How long what nothing names is kept before it is deleted."},
    {.name = "storage.gc.interval",
     OPTION_DURATION(struct storage_limits, gc_interval),
     .initial = "1 h",
     .check = check_interval,
     .summary = "How often the leader expires and sweeps."},
    {.name = "storage.config.keep", KEEP(CONFIG), .initial = "50", .summary = "Versions of a configuration that are kept."},
    {.name = "storage.config.retain", RETAIN(CONFIG), .initial = "0 s", .summary = "Older versions younger than this are kept too."},
    {.name = "storage.logs.retain", RETAIN(LOGS), .initial = "7 d", .summary = "How long logs are kept; 0: for ever."},
    {.name = "storage.logs.level",
     OPTION_CHOICE(struct storage_limits, logs_level, log_levels),
     .initial = "info",
     .summary = "What a running job writes into its log: lines of this level and above; off: none."},
    {.name = "storage.metrics.interval",
     OPTION_DURATION(struct storage_limits, metrics_interval),
     .initial = "15 s",
     .check = check_metrics_interval,
     .summary = "How often a running job writes its figures (spate metrics); 0: never."},
    {.name = "storage.logs.max-bytes",
     MAX_BYTES(LOGS),
     .initial = "0",
     .summary = "Logs of one job beyond this go, oldest first; 0: no limit."},
    {.name = "storage.metrics.retain", RETAIN(METRICS), .initial = "24 h", .summary = "How long metrics of 15 s are kept; 0: for ever."},
    {.name = "storage.metrics.retain-1m",
     OPTION_DURATION(struct storage_limits, metrics_retain_1m),
     .initial = "14 d",
     .summary = "How long metrics of 1 m are kept; 0: for ever."},
    {.name = "storage.metrics.retain-1h",
     OPTION_DURATION(struct storage_limits, metrics_retain_1h),
     .initial = "365 d",
     .summary = "How long metrics of 1 h are kept; 0: for ever."},
    {.name = "storage.metrics.max-bytes",
     MAX_BYTES(METRICS),
     .initial = "0",
     .summary = "Metrics of one job beyond this go, oldest first; 0: no limit."},
    {.name = "storage.offsets.keep",
     KEEP(OFFSETS),
     .initial = "3",
     .summary = "Records of offsets of a task that are kept before the newest."},
    {.name = "storage.offsets.retain", RETAIN(OFFSETS), .initial = "0 s", .summary = "Older records younger than this are kept too."},
    {.name = "storage.checkpoints.keep", KEEP(CHECKPOINTS), .initial = "3", .summary = "Checkpoints of a task that are kept."},
    {.name = "storage.checkpoints.retain",
     RETAIN(CHECKPOINTS),
     .initial = "0 s",
     .summary = "Older checkpoints younger than this are kept too."},
    {.name = "storage.savepoints.retain",
     RETAIN(SAVEPOINTS),
     .initial = "0 s",
     .summary = "How long savepoints are kept; 0: until they are deleted."},
    {.name = "storage.jobs.retain", RETAIN(JOBS), .initial = "90 d", .summary = "How long stopped jobs are kept; 0: for ever."},
    {.name = "storage.audit.retain", RETAIN(AUDIT), .initial = "365 d", .summary = "How long the audit is kept; 0: for ever."},
};

const struct option_def *storage_option_list(size_t *count)
{
    *count = ARRAY_LENGTH(options);
    return options;
}
