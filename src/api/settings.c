#include "api/settings.h"

#include <string.h>

#include "storage/config_store.h"

static const char *const enabled_disabled[] = {"disabled", "enabled", NULL};
static const char *const overflow_modes[] = {"error", "wrap", NULL};
static const char *const not_null_modes[] = {"ERROR", "DROP", NULL};
static const char *const checkpoint_modes[] = {"EXACTLY_ONCE", "AT_LEAST_ONCE", NULL};
static const char *const externalized_modes[] = {"RETAIN_ON_CANCELLATION", "DELETE_ON_CANCELLATION", "NO_EXTERNALIZED_CHECKPOINTS", NULL};
static const char *const checkpoint_storages[] = {"filesystem", "jobmanager", NULL};
static const char *const claim_modes[] = {"NO_CLAIM", "CLAIM", "LEGACY", NULL};
static const char *const sync_modes[] = {"auto", "true", "false", NULL};

static const char *const restart_types[] = {"default",    "none",         "off",         "disable",           "fixed-delay",
                                            "fixeddelay", "failure-rate", "failurerate", "exponential-delay", "exponentialdelay",
                                            NULL};

static const char *check_parallelism(const void *value)
{
    int64_t parallelism = *(const int64_t *)value;
    return parallelism >= 1 && parallelism <= 256 ? NULL : "it must be from 1 to 256";
}

static const char *check_max_parallelism(const void *value)
{
    int64_t parallelism = *(const int64_t *)value;
    return parallelism >= 1 && parallelism <= 32768 ? NULL : "it must be from 1 to 32768";
}

static const char *check_tick_rows(const void *value)
{
    int64_t rows = *(const int64_t *)value;
    return rows >= -1 ? NULL : "it must be a number of rows, 0 (adaptive) or -1 (all there is)";
}

static const char *check_chunk_rows(const void *value)
{
    int64_t rows = *(const int64_t *)value;
    return rows >= 1 && rows <= CHUNK_ROWS ? NULL : "it must be from 1 to 4096";
}

static const char *check_restart_every(const void *value)
{
    return *(const int64_t *)value >= 0 ? NULL : "it must be a number of ticks, or 0 for never";
}

static const char *check_restart_parallelism(const void *value)
{
    int64_t parallelism = *(const int64_t *)value;
    return parallelism >= 0 && parallelism <= 256 ? NULL : "it must be from 1 to 256, or 0 for parallelism.default";
}

static const char *check_retained(const void *value)
{
    int64_t retained = *(const int64_t *)value;
    return retained >= 1 && retained <= 60 ? NULL : "it must be from 1 to 60";
}

static const char *check_tolerable(const void *value)
{
    return *(const int64_t *)value >= 0 ? NULL : "it must not be negative";
}

static const char *check_checkpoint_mode(const void *value)
{
    return *(const int32_t *)value == 0 ? NULL : "checkpoints here are always exactly once, at no cost over AT_LEAST_ONCE";
}

static const char *check_checkpoint_storage(const void *value)
{
    return *(const int32_t *)value == 0 ? NULL : "a checkpoint outlives the process: it cannot be in its memory";
}

static const char *check_claim_mode(const void *value)
{
    return *(const int32_t *)value == 0 ? NULL : "a savepoint is always left as it is: its files are its own";
}

static const char *check_failures(const void *value)
{
    int64_t failures = *(const int64_t *)value;
    return failures >= 1 && failures < RESTART_FAILURES_MAX ? NULL : "it must be from 1 to 99";
}

static const char *check_multiplier(const void *value)
{
    return *(const double *)value >= 1 ? NULL : "it must be 1 or more";
}

static const char *check_jitter(const void *value)
{
    double jitter = *(const double *)value;
    return jitter >= 0 && jitter <= 1 ? NULL : "it must be from 0 to 1";
}

static const char *check_delay(const void *value)
{
    return ((const struct duration *)value)->us > 0 ? NULL : "it must be more than 0";
}

const struct option_def session_options[] = {
    {.name = "azure.*",
     OPTION_TEXT(struct session_settings, storage_other),
     .flags = OPTION_PREFIX,
     .summary = "Credentials and endpoint of storage on Azure Blob (docs/storage.md)."},
    {.name = "debug.restart-every",
     OPTION_INT64(struct session_settings, restart_every),
     .initial = "0",
     .check = check_restart_every,
     .summary =
         "For tests: every so many ticks a statement's state is taken, its job ended, and a new job goes on from the state; 0: never."},
    {.name = "debug.restart-parallelism",
     OPTION_INT64(struct session_settings, restart_parallelism),
     .initial = "0",
     .check = check_restart_parallelism,
     .summary = "Workers of every other job that 'debug.restart-every' starts; 0: parallelism.default."},
    {.name = "execution.checkpointing.dir",
     OPTION_TEXT(struct session_settings, checkpoint_dir),
     .summary = "Where checkpoints go: a folder or URI; also the root of storage where 'storage.uri' is not set."},
    {.name = "execution.checkpointing.externalized-checkpoint-retention",
     OPTION_CHOICE(struct session_settings, externalized, externalized_modes),
     .initial = "RETAIN_ON_CANCELLATION",
     .summary = "Whether checkpoints stay when the job has ended; the other two remove them."},
    {.name = "execution.checkpointing.incremental",
     OPTION_BOOL(struct session_settings, checkpoint_incremental),
     .initial = "true",
     .summary = "Whether a checkpoint holds only what has changed since the last."},
    {.name = "execution.checkpointing.interval",
     OPTION_DURATION(struct session_settings, checkpoint_interval),
     .initial = "0 ms",
     .summary = "How often an INSERT's state is saved, so that it goes on from there when it is run again; 0: never."},
    {.name = "execution.checkpointing.min-pause",
     OPTION_DURATION(struct session_settings, checkpoint_min_pause),
     .initial = "0 ms",
     .summary = "The least time between the end of a checkpoint and the next."},
    {.name = "execution.checkpointing.mode",
     OPTION_CHOICE(struct session_settings, checkpoint_mode, checkpoint_modes),
     .initial = "EXACTLY_ONCE",
     .check = check_checkpoint_mode,
     .summary = "The guarantee: always EXACTLY_ONCE."},
    {.name = "execution.checkpointing.num-retained",
     OPTION_INT64(struct session_settings, checkpoints_retained),
     .initial = "3",
     .check = check_retained,
     .summary = "Checkpoints that are kept: an older one is used when the newest is damaged."},
    {.name = "execution.checkpointing.savepoint-dir",
     OPTION_TEXT(struct session_settings, savepoint_dir),
     .summary = "A folder or URI for savepoints that are given no place; not set: they stay with the job."},
    {.name = "execution.checkpointing.storage",
     OPTION_CHOICE(struct session_settings, checkpoint_storage, checkpoint_storages),
     .initial = "filesystem",
     .check = check_checkpoint_storage,
     .summary = "The kind of place of checkpoints: always filesystem, which 'storage.uri' names."},
    {.name = "execution.checkpointing.timeout",
     OPTION_DURATION(struct session_settings, checkpoint_timeout),
     .initial = "10 min",
     .summary = "A checkpoint that takes longer ends the job."},
    {.name = "execution.checkpointing.tolerable-failed-checkpoints",
     OPTION_INT64(struct session_settings, checkpoints_tolerable_failed),
     .initial = "0",
     .check = check_tolerable,
     .summary = "Checkpoints in a row that may fail before the job does."},
    {.name = "execution.state-recovery.claim-mode",
     OPTION_CHOICE(struct session_settings, claim_mode, claim_modes),
     .initial = "NO_CLAIM",
     .check = check_claim_mode,
     .summary = "Who owns the savepoint that a job starts from: always NO_CLAIM, its owner deletes it."},
    {.name = "execution.state-recovery.fresh",
     OPTION_BOOL(struct session_settings, fresh),
     .initial = "false",
     .summary = "Forget the job's checkpoints and start anew (--fresh)."},
    {.name = "execution.state-recovery.ignore-unclaimed-state",
     OPTION_BOOL(struct session_settings, ignore_unclaimed),
     .initial = "false",
     .summary = "Leave out state that fits no operator of the SQL, instead of refusing to start."},
    {.name = "execution.state-recovery.path",
     OPTION_TEXT(struct session_settings, recovery_path),
     .summary = "A savepoint to start from when the job has no checkpoint of its own (--from-savepoint)."},
    {.name = "high-availability.standby",
     OPTION_BOOL(struct session_settings, standby),
     .initial = "false",
     .summary = "When another process runs the job, wait until it has gone, then go on in its place (--standby)."},
    {.name = "parallelism.default",
     OPTION_INT64(struct session_settings, parallelism),
     .initial = "1",
     .check = check_parallelism,
     .summary = "Workers (threads) of a statement."},
    {.name = "pipeline.auto-watermark-interval",
     OPTION_DURATION(struct session_settings, watermark_interval),
     .initial = "200 ms",
     .summary = "The least step of a watermark, in event time."},
    {.name = "pipeline.chunk.rows",
     OPTION_INT64(struct session_settings, chunk_rows),
     .initial = "4096",
     .check = check_chunk_rows,
     .summary = "Rows that flow together; for tests and tuning."},
    {.name = "pipeline.max-parallelism",
     OPTION_INT64(struct session_settings, max_parallelism),
     .initial = "128",
     .check = check_max_parallelism,
     .summary = "Key groups: the most workers that state can be spread over."},
    {.name = "pipeline.name",
     OPTION_TEXT(struct session_settings, job_name),
     .summary = "The name under which a job with checkpoints is found again; not set: that of the SQL file."},
    {.name = "pipeline.source.ring",
     OPTION_BYTES(struct session_settings, ring),
     .initial = "4 mb",
     .summary = "Bytes that each source partition is decoded ahead."},
    {.name = "pipeline.tick.rows",
     OPTION_INT64(struct session_settings, tick_rows),
     .initial = "0",
     .check = check_tick_rows,
     .summary = "Rows taken from each source per tick; 0: adaptive, -1: all there is."},
    {.name = "pipeline.tick.target",
     OPTION_DURATION(struct session_settings, tick_target),
     .initial = "20 ms",
     .summary = "How long a tick lasts under load."},
    {.name = "restart-strategy.exponential-delay.attempts-before-reset-backoff",
     OPTION_INT64(struct session_settings, restart_backoffs),
     .initial = "2147483647",
     .check = option_check_positive,
     .summary = "exponential-delay: restarts without a calm time between them before the job has failed."},
    {.name = "restart-strategy.exponential-delay.backoff-multiplier",
     OPTION_DOUBLE(struct session_settings, restart_multiplier),
     .initial = "1.5",
     .check = check_multiplier,
     .summary = "exponential-delay: what each delay is of the one before."},
    {.name = "restart-strategy.exponential-delay.initial-backoff",
     OPTION_DURATION(struct session_settings, restart_initial),
     .initial = "1 s",
     .check = check_delay,
     .summary = "exponential-delay: the first delay."},
    {.name = "restart-strategy.exponential-delay.jitter-factor",
     OPTION_DOUBLE(struct session_settings, restart_jitter),
     .initial = "0.1",
     .check = check_jitter,
     .summary = "exponential-delay: the share of a delay by which it is made longer or shorter at random."},
    {.name = "restart-strategy.exponential-delay.max-backoff",
     OPTION_DURATION(struct session_settings, restart_most),
     .initial = "1 min",
     .check = check_delay,
     .summary = "exponential-delay: the longest delay."},
    {.name = "restart-strategy.exponential-delay.reset-backoff-threshold",
     OPTION_DURATION(struct session_settings, restart_reset),
     .initial = "1 h",
     .summary = "exponential-delay: after so long without a failure delays begin anew."},
    {.name = "restart-strategy.failure-rate.delay",
     OPTION_DURATION(struct session_settings, restart_rate_delay),
     .initial = "1 s",
     .summary = "failure-rate: the time between a failure and the restart."},
    {.name = "restart-strategy.failure-rate.failure-rate-interval",
     OPTION_DURATION(struct session_settings, restart_interval),
     .initial = "1 min",
     .check = check_delay,
     .summary = "failure-rate: the time within which failures are counted."},
    {.name = "restart-strategy.failure-rate.max-failures-per-interval",
     OPTION_INT64(struct session_settings, restart_failures),
     .initial = "1",
     .check = check_failures,
     .summary = "failure-rate: with more failures in the interval the job has failed."},
    {.name = "restart-strategy.fixed-delay.attempts",
     OPTION_INT64(struct session_settings, restart_attempts),
     .initial = "1",
     .check = option_check_not_negative,
     .summary = "fixed-delay: restarts before the job has failed."},
    {.name = "restart-strategy.fixed-delay.delay",
     OPTION_DURATION(struct session_settings, restart_delay),
     .initial = "1 s",
     .summary = "fixed-delay: the time between a failure and the restart."},
    {.name = "restart-strategy.type",
     OPTION_CHOICE(struct session_settings, restart_type, restart_types),
     .initial = "default",
     .summary = "How a job with checkpoints is started again when a file or peer failed it: none, fixed-delay, failure-rate, "
                "exponential-delay (the default). Jobs without checkpoints, and failures that would only come again, are not restarted."},
    {.name = "s3.*",
     OPTION_TEXT(struct session_settings, storage_other),
     .flags = OPTION_PREFIX,
     .summary = "Credentials and endpoint of storage on S3 (docs/storage.md)."},
    {.name = "storage.uri",
     OPTION_TEXT(struct session_settings, storage_uri),
     .summary = "The root of storage: a folder or URI; not set: $XDG_STATE_HOME/spate or ~/.local/state/spate."},
    {.name = "storage.*",
     OPTION_TEXT(struct session_settings, storage_other),
     .flags = OPTION_PREFIX,
     .summary = "Where and how storage keeps things, and for how long (docs/storage.md)."},
    {.name = "table.dml-sync",
     OPTION_CHOICE(struct session_settings, dml_sync, sync_modes),
     .initial = "auto",
     .summary = "Whether an INSERT is waited for before the next statement; auto: if its sources are bounded."},
    {.name = "table.exec.legacy-cast-behaviour",
     OPTION_CHOICE(struct session_settings, legacy_cast, enabled_disabled),
     .initial = "disabled",
     .summary = "enabled: a CAST that fails gives NULL, and CHAR(n) does not pad."},
    {.name = "table.exec.sink.not-null-enforcer",
     OPTION_CHOICE(struct session_settings, not_null, not_null_modes),
     .initial = "ERROR",
     .summary = "A NULL for a NOT NULL column of a sink: ERROR ends the job, DROP drops the row."},
    {.name = "table.exec.source.idle-timeout",
     OPTION_DURATION(struct session_settings, idle_timeout),
     .initial = "0 ms",
     .summary = "A source partition that is quiet for so long does not hold the watermark back; 0: never."},
    {.name = "table.exec.sum-overflow",
     OPTION_CHOICE(struct session_settings, sum_overflow, overflow_modes),
     .initial = "error",
     .summary = "An integer SUM past its type's range: error, or wrap as Flink does."},
    {.name = "table.local-time-zone",
     OPTION_TEXT(struct session_settings, time_zone),
     .initial = "UTC",
     .summary = "The session's time zone: a name of the tz database or an offset."},
    {.name = "taskmanager.memory.process.size",
     OPTION_BYTES(struct session_settings, process_memory),
     .initial = "0 b",
     .summary = "The memory budget of the process; 0: three quarters of what machine or cgroup allows."},
};
const uint32_t session_option_count = ARRAY_LENGTH(session_options);

/* Keys that ask for what Spate does anyway, or for nothing that shows. */
static const struct {
    const char *key, *summary;
} advisory[] = {
    {"execution.checkpointing.aligned-checkpoint-timeout", "a checkpoint is taken between two ticks: nothing waits to be aligned"},
    {"execution.checkpointing.checkpoints-after-tasks-finish", "checkpoints go on when some sources have ended"},
    {"execution.checkpointing.create-subdir", "each job has folders of its own"},
    {"execution.checkpointing.data-inline-threshold", "the state of a worker is one file"},
    {"execution.checkpointing.file-merging.enabled", "the state of a worker is one file"},
    {"execution.checkpointing.file-merging.across-checkpoint-boundary", "the state of a worker is one file"},
    {"execution.checkpointing.file-merging.max-file-size", "the state of a worker is one file"},
    {"execution.checkpointing.max-concurrent-checkpoints", "one checkpoint is under way at a time"},
    {"execution.checkpointing.unaligned.enabled", "a checkpoint is taken between two ticks: no rows are on their way"},
    {"execution.checkpointing.unaligned.forced", "a checkpoint is taken between two ticks: no rows are on their way"},
    {"execution.checkpointing.write-buffer-size", "files of state are written whole"},
    {"state.backend.type", "state is in memory, and in checkpoints"},
    {"execution.runtime-mode", "the final rows of a query are the same in STREAMING and BATCH"},
    {"table.exec.mini-batch.allow-latency", "a tick is the batch, see pipeline.tick.target"},
    {"table.exec.mini-batch.enabled", "rows are always processed in batches, one per tick"},
    {"table.exec.mini-batch.size", "a tick is the batch, see pipeline.tick.rows"},
    {"table.optimizer.agg-phase-strategy", "equal keys of a tick are always combined first"},
    {"table.optimizer.distinct-agg.split.enabled", "the distinct values of a tick are always combined first"},
    {"table.optimizer.multi-join.enabled", "joins of several tables are always planned as one plan"},
    {"table.optimizer.reuse-sub-plan-enabled", "equal parts of a plan are always computed once"},
    {"table.optimizer.reuse-source-enabled", "a table that is read twice is always read once"},
};

/* Keys of Flink's reference that would have to act and do not: refused with the reason. */
static const struct {
    const char *key, *reason;
} refused[] = {
    {"execution.checkpointing.during-recovery.enabled", "checkpoints begin when the state has been restored"},
    {"execution.checkpointing.interval-during-backlog", "sources do not tell backlog from the rest: set execution.checkpointing.interval"},
    {"execution.checkpointing.local-backup.dirs", "a checkpoint has one place, execution.checkpointing.dir"},
    {"execution.checkpointing.local-backup.enabled", "a checkpoint has one place, execution.checkpointing.dir"},
    {"execution.checkpointing.pause-sources-until-first-checkpoint", "sources begin at once"},
    {"execution.state-recovery.from-local", "state comes from the storage"},
    {"execution.state-recovery.without-channel-state.checkpoint-id", "checkpoints hold no rows that are on their way"},
};

/* Keys that Flink has renamed. */
static const struct {
    const char *old_key, *key;
} renamed[] = {
    {"execution.savepoint-restore-mode", "execution.state-recovery.claim-mode"},
    {"execution.savepoint.ignore-unclaimed-state", "execution.state-recovery.ignore-unclaimed-state"},
    {"execution.savepoint.path", "execution.state-recovery.path"},
    {"restart-strategy", "restart-strategy.type"},
    {"state.backend.incremental", "execution.checkpointing.incremental"},
    {"state.checkpoints.dir", "execution.checkpointing.dir"},
    {"state.checkpoints.num-retained", "execution.checkpointing.num-retained"},
    {"state.savepoints.dir", "execution.checkpointing.savepoint-dir"},
};

static const char *current_key(const char *key)
{
    for (uint32_t i = 0; i < ARRAY_LENGTH(renamed); i++) {
        if (strcmp(renamed[i].old_key, key) == 0) {
            return renamed[i].key;
        }
    }
    return key;
}

static enum status settings_check_refused(const char *key, struct error *err)
{
    for (uint32_t i = 0; i < ARRAY_LENGTH(refused); i++) {
        if (strcmp(refused[i].key, key) == 0) {
            return error_set(err, ERROR_UNKNOWN_OPTION, "'%s' is not supported: %s", key, refused[i].reason);
        }
    }
    return STATUS_OK;
}

bool settings_advisory(uint32_t i, const char **key, const char **summary)
{
    if (i >= ARRAY_LENGTH(advisory)) {
        return false;
    }
    *key = advisory[i].key;
    *summary = advisory[i].summary;
    return true;
}

enum status settings_open(struct settings *settings, struct arena *arena, struct error *err)
{
    *settings = (struct settings){.arena = arena};
    TRY_ALLOC(settings->texts, arena_alloc(arena, sizeof session_options / sizeof session_options[0] * sizeof(char *)), err);
    TRY_ALLOC(settings->advisory_texts, arena_alloc(arena, sizeof advisory / sizeof advisory[0] * sizeof(char *)), err);
    return option_defaults(session_options, session_option_count, &settings->values, arena, err);
}

static int settings_find_advisory(const char *key)
{
    for (uint32_t i = 0; i < ARRAY_LENGTH(advisory); i++) {
        if (strcmp(advisory[i].key, key) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static enum status settings_check_zone(struct settings *settings, const char *key, const char *value, struct error *err)
{
    const struct time_zone *zone;
    return strcmp(key, "table.local-time-zone") == 0 ? time_zone_find(settings->arena, value, &zone, err) : STATUS_OK;
}

static bool settings_is_of_storage(const char *key)
{
    static const char *const prefixes[] = {"storage.", "azure.", "s3.", "execution.checkpointing.dir"};
    for (uint32_t i = 0; i < ARRAY_LENGTH(prefixes); i++) {
        if (strncmp(key, prefixes[i], strlen(prefixes[i])) == 0) {
            return true;
        }
    }
    return false;
}

static enum status settings_keep_storage(struct settings *settings, const char *key, const char *value, struct error *err)
{
    struct object_option *kept;
    char *name;
    TRY_ALLOC(name, arena_text(settings->arena, key, strlen(key)), err);
    TRY_ALLOC(kept, arena_grow(settings->arena, settings->storage, &settings->storage_capacity, settings->storage_count + 1, sizeof *kept),
              err);
    settings->storage = kept;
    uint32_t at = 0;
    while (at < settings->storage_count && strcmp(kept[at].name, key) != 0) {
        at++;
    }
    kept[at] = (struct object_option){name, value};
    settings->storage_count += at == settings->storage_count;
    return STATUS_OK;
}

static void settings_forget_storage(struct settings *settings, const char *key)
{
    for (uint32_t i = 0; i < settings->storage_count; i++) {
        if (strcmp(settings->storage[i].name, key) == 0) {
            settings->storage[i] = settings->storage[--settings->storage_count];
            return;
        }
    }
}

struct restart_settings settings_restarts(const struct settings *settings)
{
    static const enum restart_kind kinds[] = {
        RESTART_EXPONENTIAL_DELAY,
        RESTART_NONE,
        RESTART_NONE,
        RESTART_NONE,
        RESTART_FIXED_DELAY,
        RESTART_FIXED_DELAY,
        RESTART_FAILURE_RATE,
        RESTART_FAILURE_RATE,
        RESTART_EXPONENTIAL_DELAY,
        RESTART_EXPONENTIAL_DELAY,
    };
    const struct session_settings *values = &settings->values;
    return (struct restart_settings){.kind = kinds[values->restart_type],
                                     .attempts = values->restart_attempts,
                                     .delay_us = values->restart_delay.us,
                                     .failures = values->restart_failures,
                                     .interval_us = values->restart_interval.us,
                                     .rate_delay_us = values->restart_rate_delay.us,
                                     .initial_us = values->restart_initial.us,
                                     .most_us = values->restart_most.us,
                                     .reset_us = values->restart_reset.us,
                                     .backoffs = values->restart_backoffs,
                                     .multiplier = values->restart_multiplier,
                                     .jitter = values->restart_jitter};
}

bool settings_are_durable(const struct settings *settings)
{
    return settings->values.checkpoint_interval.us > 0 || settings->values.recovery_path != NULL;
}

struct checkpoint_settings settings_checkpoints(const struct settings *settings)
{
    const struct session_settings *values = &settings->values;
    return (struct checkpoint_settings){.interval_us = values->checkpoint_interval.us,
                                        .min_pause_us = values->checkpoint_min_pause.us,
                                        .timeout_us = values->checkpoint_timeout.us,
                                        .retained = values->checkpoints_retained,
                                        .tolerable_failed = values->checkpoints_tolerable_failed,
                                        .incremental = values->checkpoint_incremental && values->checkpoint_interval.us > 0,
                                        .delete_at_end = values->externalized != 0,
                                        .ignore_unclaimed = values->ignore_unclaimed,
                                        .fresh = values->fresh,
                                        .standby = values->standby,
                                        .restore_from = values->recovery_path,
                                        .savepoint_dir = values->savepoint_dir};
}

enum status settings_set(struct settings *settings, const char *key, const char *value, const char **message, struct error *err)
{
    *message = NULL;
    char *copy;
    key = current_key(key);
    TRY(settings_check_refused(key, err));
    TRY_ALLOC(copy, arena_text(settings->arena, value, strlen(value)), err);
    int found = settings_find_advisory(key);
    if (found >= 0) {
        settings->advisory_texts[found] = copy;
        *message = arena_format(settings->arena, "'%s' changes nothing here: %s", key, advisory[found].summary);
        return STATUS_OK;
    }
    if (settings_is_of_storage(key)) {
        TRY(settings_keep_storage(settings, key, copy, err));
    }
    const struct option_def *def;
    TRY(option_find(session_options, session_option_count, "the session", key, &def, err));
    TRY(settings_check_zone(settings, key, value, err));
    TRY(option_apply(def, copy, &settings->values, settings->arena, err));
    settings->texts[def - session_options] = copy;
    return STATUS_OK;
}

static enum status settings_reset_one(struct settings *settings, const struct option_def *def, struct error *err)
{
    settings->texts[def - session_options] = NULL;
    if (def->initial == NULL) {
        *(const char **)((char *)&settings->values + def->offset) = NULL;
        return STATUS_OK;
    }
    return option_apply(def, def->initial, &settings->values, settings->arena, err);
}

enum status settings_reset(struct settings *settings, const char *key, struct error *err)
{
    if (key != NULL) {
        key = current_key(key);
        int found = settings_find_advisory(key);
        if (found >= 0) {
            settings->advisory_texts[found] = NULL;
            return STATUS_OK;
        }
        const struct option_def *def;
        TRY(option_find(session_options, session_option_count, "the session", key, &def, err));
        settings_forget_storage(settings, key);
        return settings_reset_one(settings, def, err);
    }
    for (uint32_t i = 0; i < session_option_count; i++) {
        TRY(settings_reset_one(settings, &session_options[i], err));
    }
    for (uint32_t i = 0; i < ARRAY_LENGTH(advisory); i++) {
        settings->advisory_texts[i] = NULL;
    }
    settings->storage_count = 0;
    return STATUS_OK;
}

static bool settings_has_own_option(const char *key)
{
    for (uint32_t i = 0; i < session_option_count; i++) {
        if (strcmp(session_options[i].name, key) == 0) {
            return true;
        }
    }
    return false;
}

void settings_each(const struct settings *settings, void (*each)(void *context, const char *key, const char *value), void *context)
{
    for (uint32_t i = 0; i < session_option_count; i++) {
        if (settings->texts[i] != NULL && (session_options[i].flags & OPTION_PREFIX) == 0) {
            each(context, session_options[i].name, settings->texts[i]);
        }
    }
    for (uint32_t i = 0; i < settings->storage_count; i++) {
        const struct object_option *option = &settings->storage[i];
        if (!settings_has_own_option(option->name)) {
            each(context, option->name, secret_is_name(option->name) ? "******" : option->value);
        }
    }
    for (uint32_t i = 0; i < ARRAY_LENGTH(advisory); i++) {
        if (settings->advisory_texts[i] != NULL) {
            each(context, advisory[i].key, settings->advisory_texts[i]);
        }
    }
}

enum status settings_evaluation(const struct settings *settings, struct arena *arena, struct evaluation *evaluation, struct error *err)
{
    evaluation->legacy_cast = settings->values.legacy_cast == 1;
    evaluation->sum_overflow_wraps = settings->values.sum_overflow == 1;
    return time_zone_find(arena, settings->values.time_zone, &evaluation->zone, err);
}

struct plan_settings settings_plan(const struct settings *settings)
{
    const struct session_settings *values = &settings->values;
    return (struct plan_settings){
        .parallelism = (uint32_t)values->parallelism,
        .max_parallelism = (uint32_t)values->max_parallelism,
        .pipeline =
            {
                .tick_rows = values->tick_rows,
                .chunk_rows = (uint32_t)values->chunk_rows,
                .tick_target_us = values->tick_target.us,
                .watermark_interval_us = values->watermark_interval.us,
                .ring_bytes = values->ring.bytes,
                .max_parallelism = (uint32_t)values->max_parallelism,
                .checkpointed = values->checkpoint_interval.us > 0,
                .incremental = values->checkpoint_interval.us > 0 && values->checkpoint_incremental,
            },
        .watermark_interval_us = values->watermark_interval.us,
        .idle_timeout_us = values->idle_timeout.us,
        .legacy_cast = values->legacy_cast == 1,
        .not_null_drop = values->not_null == 1,
    };
}

bool settings_waits(const struct settings *settings, bool bounded)
{
    enum { SYNC_AUTO, SYNC_TRUE, SYNC_FALSE };
    return settings->values.dml_sync == SYNC_AUTO ? bounded : settings->values.dml_sync == SYNC_TRUE;
}
