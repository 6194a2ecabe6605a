#include "api/settings.h"

#include <string.h>

static const char *const enabled_disabled[] = {"disabled", "enabled", NULL};
static const char *const overflow_modes[] = {"error", "wrap", NULL};
static const char *const not_null_modes[] = {"ERROR", "DROP", NULL};
static const char *const sync_modes[] = {"auto", "true", "false", NULL};

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

const struct option_def session_options[] = {
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
    {"execution.runtime-mode", "the final rows of a query are the same in STREAMING and BATCH"},
    {"pipeline.name", "statements run in this session, where no one looks them up by name"},
    {"table.exec.mini-batch.allow-latency", "a tick is the batch, see pipeline.tick.target"},
    {"table.exec.mini-batch.enabled", "rows are always processed in batches, one per tick"},
    {"table.exec.mini-batch.size", "a tick is the batch, see pipeline.tick.rows"},
    {"table.optimizer.agg-phase-strategy", "equal keys of a tick are always combined first"},
    {"table.optimizer.distinct-agg.split.enabled", "the distinct values of a tick are always combined first"},
    {"table.optimizer.multi-join.enabled", "joins of several tables are always planned as one plan"},
    {"table.optimizer.reuse-sub-plan-enabled", "equal parts of a plan are always computed once"},
    {"table.optimizer.reuse-source-enabled", "a table that is read twice is always read once"},
};

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

enum status settings_set(struct settings *settings, const char *key, const char *value, const char **message, struct error *err)
{
    *message = NULL;
    char *copy;
    TRY_ALLOC(copy, arena_text(settings->arena, value, strlen(value)), err);
    int found = settings_find_advisory(key);
    if (found >= 0) {
        settings->advisory_texts[found] = copy;
        *message = arena_format(settings->arena, "'%s' changes nothing here: %s", key, advisory[found].summary);
        return STATUS_OK;
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
        int found = settings_find_advisory(key);
        if (found >= 0) {
            settings->advisory_texts[found] = NULL;
            return STATUS_OK;
        }
        const struct option_def *def;
        TRY(option_find(session_options, session_option_count, "the session", key, &def, err));
        return settings_reset_one(settings, def, err);
    }
    for (uint32_t i = 0; i < session_option_count; i++) {
        TRY(settings_reset_one(settings, &session_options[i], err));
    }
    for (uint32_t i = 0; i < ARRAY_LENGTH(advisory); i++) {
        settings->advisory_texts[i] = NULL;
    }
    return STATUS_OK;
}

void settings_each(const struct settings *settings, void (*each)(void *context, const char *key, const char *value), void *context)
{
    for (uint32_t i = 0; i < session_option_count; i++) {
        if (settings->texts[i] != NULL) {
            each(context, session_options[i].name, settings->texts[i]);
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
