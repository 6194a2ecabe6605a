/* The keys of a session: one table, from which SET, checks, help and the reference come. */
#include "api/settings.h"

static const char *const enabled_disabled[] = {"disabled", "enabled", NULL};
static const char *const overflow_modes[] = {"error", "wrap", NULL};
static const char *const not_null_modes[] = {"ERROR", "DROP", NULL};
static const char *const checkpoint_modes[] = {"EXACTLY_ONCE", "AT_LEAST_ONCE", NULL};
static const char *const externalized_modes[] = {"RETAIN_ON_CANCELLATION", "DELETE_ON_CANCELLATION", "NO_EXTERNALIZED_CHECKPOINTS", NULL};
static const char *const checkpoint_storages[] = {"filesystem", "jobmanager", NULL};
static const char *const claim_modes[] = {"NO_CLAIM", "CLAIM", "LEGACY", NULL}; /* enum claim_mode */
static const char *const backends[] = {"hashmap", "rocksdb", NULL};             /* enum state_backend */
static const char *const compressions[] = {"lz4", "zstd", "none", NULL};        /* enum cold_compression */
static const char *const sync_modes[] = {"auto", "true", "false", NULL};

static const char *const restart_types[] = {"default",    "none",         "off",         "disable",           "fixed-delay",
                                            "fixeddelay", "failure-rate", "failurerate", "exponential-delay", "exponentialdelay",
                                            NULL};

static const char *const availability_policies[] = {"passive", "none", "upstream-backup", "active", NULL};

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

static const char *check_local_folder(const void *value)
{
    const char *folder = *(const char *const *)value;
    return folder == NULL || strstr(folder, "://") == NULL ? NULL : "it must be the path of a folder on local disk";
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
    return *(const int32_t *)value == CLAIM_MODE_LEGACY ? "Flink has dropped it; it is NO_CLAIM or CLAIM" : NULL;
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

static const char *check_fraction(const void *value)
{
    double fraction = *(const double *)value;
    return fraction > 0 && fraction <= 0.9 ? NULL : "it must be above 0 and at most 0.9";
}

static const char *check_delay(const void *value)
{
    return ((const struct duration *)value)->us > 0 ? NULL : "it must be more than 0";
}

const struct option_def session_options[] = {
    {.name = "azure.*",
     OPTION_TEXT(struct session_settings, storage_other),
     .flags = OPTION_PREFIX,
     .summary = "Credentials and endpoint of storage and coordination on Azure Blob (docs/storage.md, docs/cluster.md)."},
    {.name = "cluster.*",
     OPTION_TEXT(struct session_settings, storage_other),
     .flags = OPTION_PREFIX,
     .summary = "How long things take among the processes of a job: of workers, and of what looks at them (docs/cluster.md)."},
    {.name = "coordinator.uri",
     OPTION_TEXT(struct session_settings, coordinator_uri),
     .summary = "The coordination service; jobs with checkpoints obey their control log there (docs/control-log.md)."},
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
    {.name = "debug.spill-all",
     OPTION_BOOL(struct session_settings, spill_all),
     .initial = "false",
     .summary = "For tests: with the backend rocksdb, after each tick no key stays in memory that can be in the database."},
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
     .summary =
         "Who owns the savepoint that a job starts from: with CLAIM the job, which removes it when checkpoints have taken its place."},
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
    {.name = "execution.until-end",
     OPTION_BOOL(struct session_settings, until_end),
     .initial = "false",
     .summary =
         "Unbounded sources are read up to what they have when the statement starts, and then end; those without an end are refused."},
    {.name = "file.*",
     OPTION_TEXT(struct session_settings, storage_other),
     .flags = OPTION_PREFIX,
     .summary = "How storage and coordination in a folder wait and clear up (docs/storage.md, docs/cluster.md)."},
    {.name = "high-availability.lease",
     OPTION_DURATION(struct session_settings, lease),
     .initial = "10 s",
     .summary =
         "With the policy active: a process that has not been heard of for so long is dead to its standby; 0: only one that has ended."},
    {.name = "high-availability.policy",
     OPTION_CHOICE(struct session_settings, availability, availability_policies),
     .initial = "passive",
     .summary =
         "What a job keeps to outlive its process (docs/operations.md): passive: its state, in checkpoints; none: places only, it goes "
         "on from the present of its sources; upstream-backup: places only, its state is made again from the input; active: state, and a "
         "process with --standby follows it, ready to go on."},
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
    {.name = "state.backend.rocksdb.compression",
     OPTION_CHOICE(struct session_settings, database_compression, compressions),
     .initial = "lz4",
     .summary = "How files of the backend rocksdb are compressed: lz4, zstd or none."},
    {.name = "state.backend.rocksdb.localdir",
     OPTION_TEXT(struct session_settings, database_folder),
     .check = check_local_folder,
     .summary = "The folder on local disk where jobs with the backend rocksdb have theirs while they run; not set: $TMPDIR or /var/tmp."},
    {.name = "state.backend.type",
     OPTION_CHOICE(struct session_settings, backend, backends),
     .initial = "hashmap",
     .summary = "Where state is: hashmap, in memory; rocksdb, in memory and, what does not fit, in a database on local disk."},
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
    {.name = "table.exec.state.ttl",
     OPTION_DURATION(struct session_settings, state_ttl),
     .initial = "0 ms",
     .summary = "How long state is kept that is not written (docs/time-to-live.md); 0: for ever."},
    {.name = "table.exec.sum-overflow",
     OPTION_CHOICE(struct session_settings, sum_overflow, overflow_modes),
     .initial = "error",
     .summary = "An integer SUM past its type's range: error, or wrap as Flink does."},
    {.name = "table.local-time-zone",
     OPTION_TEXT(struct session_settings, time_zone),
     .initial = "UTC",
     .summary = "The session's time zone: a name of the tz database or an offset."},
    {.name = "taskmanager.memory.managed.fraction",
     OPTION_DOUBLE(struct session_settings, managed_fraction),
     .initial = "0.4",
     .check = check_fraction,
     .summary = "The share of the memory budget that the databases of a job have, with the backend rocksdb: caches, buffers."},
    {.name = "taskmanager.memory.process.size",
     OPTION_BYTES(struct session_settings, process_memory),
     .initial = "0 b",
     .summary = "The memory budget of the process; 0: three quarters of what machine or cgroup allows."},
    {.name = "zookeeper.*",
     OPTION_TEXT(struct session_settings, storage_other),
     .flags = OPTION_PREFIX,
     .summary = "How coordination by ZooKeeper connects and waits (docs/cluster.md)."},
};
const uint32_t session_option_count = ARRAY_LENGTH(session_options);
