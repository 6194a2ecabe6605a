#include "api/settings.h"

#include <string.h>

#include "api/settings_flink.h"
#include "cluster/timing.h"
#include "storage/config_store.h"

bool settings_has_option(const char *key)
{
    for (uint32_t i = 0; i < session_option_count; i++) {
        if (strcmp(session_options[i].name, key) == 0) {
            return true;
        }
    }
    return false;
}

/* The entry of a key that is not a setting here; NULL: it may be one. */
static const struct flink_key *find_flink_key(const char *key)
{
    int found = settings_has_option(key) ? -1 : flink_key_find(key);
    return found < 0 ? NULL : &flink_keys[found];
}

const char *settings_current_key(const char *key)
{
    const struct flink_key *entry = find_flink_key(key);
    return entry != NULL && entry->kind == FLINK_KEY_RENAMED ? entry->text : key;
}

static enum status settings_check_refused(const char *key, struct error *err)
{
    const struct flink_key *entry = find_flink_key(key);
    return entry == NULL || entry->kind != FLINK_KEY_REFUSED
               ? STATUS_OK
               : error_set(err, ERROR_UNKNOWN_OPTION, "'%s' is not supported: %s", key, entry->text);
}

enum status settings_open(struct settings *settings, struct arena *arena, struct error *err)
{
    *settings = (struct settings){.arena = arena};
    TRY_ALLOC(settings->texts, arena_alloc(arena, session_option_count * sizeof(char *)), err);
    TRY_ALLOC(settings->advisory_texts, arena_alloc(arena, flink_key_count * sizeof(char *)), err);
    return option_defaults(session_options, session_option_count, &settings->values, arena, err);
}

static int settings_find_advisory(const char *key)
{
    const struct flink_key *entry = find_flink_key(key);
    return entry == NULL || entry->kind != FLINK_KEY_ADVISORY ? -1 : (int)(entry - flink_keys);
}

static enum status settings_check_zone(struct settings *settings, const char *key, const char *value, struct error *err)
{
    const struct time_zone *zone;
    return strcmp(key, "table.local-time-zone") == 0 ? time_zone_find(settings->arena, value, &zone, err) : STATUS_OK;
}

static bool has_prefix(const char *key, const char *const *prefixes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strncmp(key, prefixes[i], strlen(prefixes[i])) == 0) {
            return true;
        }
    }
    return false;
}

bool settings_is_of_storage(const char *key)
{
    static const char *const prefixes[] = {"storage.", "azure.", "file.", "s3.", "execution.checkpointing.dir"};
    return has_prefix(key, prefixes, ARRAY_LENGTH(prefixes)) && (object_option_is_known(key) || !cluster_option_is_known(key));
}

bool settings_is_of_coordination(const char *key)
{
    static const char *const prefixes[] = {"azure.", "file.", "zookeeper."};
    return has_prefix(key, prefixes, ARRAY_LENGTH(prefixes)) && (cluster_option_is_known(key) || !object_option_is_known(key));
}

bool settings_is_of_timing(const char *key)
{
    return strncmp(key, "cluster.", strlen("cluster.")) == 0;
}

static enum status check_timing_name(const char *key, struct error *err)
{
    uint32_t count;
    const struct option_def *def, *defs = timing_option_list(&count);
    return option_find(defs, count, "coordination", key, &def, err);
}

static enum status service_option_keep(struct settings *settings, struct service_options *options, const char *key, const char *value,
                                       struct error *err)
{
    struct object_option *kept;
    char *name;
    TRY_ALLOC(name, arena_text(settings->arena, key, strlen(key)), err);
    TRY_ALLOC(kept, arena_grow(settings->arena, options->list, &options->capacity, options->count + 1, sizeof *kept), err);
    options->list = kept;
    uint32_t at = 0;
    while (at < options->count && strcmp(kept[at].name, key) != 0) {
        at++;
    }
    kept[at] = (struct object_option){name, value};
    options->count += at == options->count;
    return STATUS_OK;
}

static void service_option_forget(struct service_options *options, const char *key)
{
    for (uint32_t i = 0; i < options->count; i++) {
        if (strcmp(options->list[i].name, key) == 0) {
            options->list[i] = options->list[--options->count];
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

struct storage_settings settings_storage(const struct settings *settings)
{
    return (struct storage_settings){.options = settings->storage.list, .option_count = settings->storage.count};
}

static enum status give_cluster_options(const struct service_options *set, struct arena *arena, const struct cluster_option **options,
                                        size_t *count, struct error *err)
{
    struct cluster_option *list;
    TRY_ALLOC(list, arena_alloc(arena, set->count * sizeof *list + 1), err);
    for (uint32_t i = 0; i < set->count; i++) {
        list[i] = (struct cluster_option){set->list[i].name, set->list[i].value};
    }
    *options = list;
    *count = set->count;
    return STATUS_OK;
}

enum status settings_coordination(const struct settings *settings, struct arena *arena, const struct cluster_option **options,
                                  size_t *count, struct error *err)
{
    return give_cluster_options(&settings->coordination, arena, options, count, err);
}

enum status settings_timing(const struct settings *settings, struct arena *arena, const struct cluster_option **options, size_t *count,
                            struct error *err)
{
    return give_cluster_options(&settings->timing, arena, options, count, err);
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
                                        .availability = (enum availability)values->availability,
                                        .lease_us = values->lease.us,
                                        .restore_from = values->recovery_path,
                                        .claims = values->claim_mode == CLAIM_MODE_CLAIM,
                                        .savepoint_dir = values->savepoint_dir};
}

enum status settings_set(struct settings *settings, const char *key, const char *value, const char **message, struct error *err)
{
    *message = NULL;
    char *copy;
    key = settings_current_key(key);
    TRY(settings_check_refused(key, err));
    TRY_ALLOC(copy, arena_text(settings->arena, value, strlen(value)), err);
    int found = settings_find_advisory(key);
    if (found >= 0) {
        settings->advisory_texts[found] = copy;
        *message = arena_format(settings->arena, "'%s' changes nothing here: %s", key, flink_keys[found].text);
        return STATUS_OK;
    }
    if (settings_is_of_storage(key)) {
        TRY(service_option_keep(settings, &settings->storage, key, copy, err));
    }
    if (settings_is_of_coordination(key)) {
        TRY(service_option_keep(settings, &settings->coordination, key, copy, err));
    }
    if (settings_is_of_timing(key)) {
        TRY(check_timing_name(key, err));
        TRY(service_option_keep(settings, &settings->timing, key, copy, err));
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
        key = settings_current_key(key);
        int found = settings_find_advisory(key);
        if (found >= 0) {
            settings->advisory_texts[found] = NULL;
            return STATUS_OK;
        }
        const struct option_def *def;
        TRY(option_find(session_options, session_option_count, "the session", key, &def, err));
        service_option_forget(&settings->storage, key);
        service_option_forget(&settings->coordination, key);
        service_option_forget(&settings->timing, key);
        return settings_reset_one(settings, def, err);
    }
    for (uint32_t i = 0; i < session_option_count; i++) {
        TRY(settings_reset_one(settings, &session_options[i], err));
    }
    for (uint32_t i = 0; i < flink_key_count; i++) {
        settings->advisory_texts[i] = NULL;
    }
    settings->storage.count = settings->coordination.count = settings->timing.count = 0;
    return STATUS_OK;
}

static void give_service_option(const struct object_option *option, void (*each)(void *context, const char *key, const char *value),
                                void *context)
{
    if (!settings_has_option(option->name)) {
        each(context, option->name, secret_is_name(option->name) ? "******" : option->value);
    }
}

void settings_each(const struct settings *settings, void (*each)(void *context, const char *key, const char *value), void *context)
{
    for (uint32_t i = 0; i < session_option_count; i++) {
        if (settings->texts[i] != NULL && (session_options[i].flags & OPTION_PREFIX) == 0) {
            each(context, session_options[i].name, settings->texts[i]);
        }
    }
    for (uint32_t i = 0; i < settings->storage.count; i++) {
        give_service_option(&settings->storage.list[i], each, context);
    }
    for (uint32_t i = 0; i < settings->coordination.count; i++) {
        if (!settings_is_of_storage(settings->coordination.list[i].name)) { /* else it was among those */
            give_service_option(&settings->coordination.list[i], each, context);
        }
    }
    for (uint32_t i = 0; i < settings->timing.count; i++) {
        give_service_option(&settings->timing.list[i], each, context);
    }
    for (uint32_t i = 0; i < flink_key_count; i++) {
        if (settings->advisory_texts[i] != NULL) {
            each(context, flink_keys[i].key, settings->advisory_texts[i]);
        }
    }
}

enum status settings_evaluation(const struct settings *settings, struct arena *arena, struct evaluation *evaluation, struct error *err)
{
    evaluation->legacy_cast = settings->values.legacy_cast == 1;
    evaluation->sum_overflow_wraps = settings->values.sum_overflow == 1;
    evaluation->same_again = availability_replays((enum availability)settings->values.availability)
                                 ? availability_name((enum availability)settings->values.availability)
                                 : NULL;
    return time_zone_find(arena, settings->values.time_zone, &evaluation->zone, err);
}

/* Without checkpoints nothing is kept, whatever the policy. */
static enum circuit_keeps settings_keeps(const struct session_settings *values)
{
    static const enum circuit_keeps keeps[] = {[AVAILABILITY_PASSIVE] = KEEPS_STATE,
                                               [AVAILABILITY_ACTIVE] = KEEPS_STATE,
                                               [AVAILABILITY_NONE] = KEEPS_PLACES,
                                               [AVAILABILITY_UPSTREAM_BACKUP] = KEEPS_HISTORY};
    return values->checkpoint_interval.us > 0 ? keeps[values->availability] : KEEPS_STATE;
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
                .incremental =
                    values->checkpoint_interval.us > 0 && values->checkpoint_incremental && settings_keeps(values) == KEEPS_STATE,
                .keeps = settings_keeps(values),
            },
        .watermark_interval_us = values->watermark_interval.us,
        .idle_timeout_us = values->idle_timeout.us,
        .until_end = values->until_end,
        .state_ttl_us = values->state_ttl.us,
        .cold =
            {
                .driver = values->backend == BACKEND_ROCKSDB ? "rocksdb" : NULL,
                .where = values->database_folder,
                .memory_share = values->managed_fraction,
                .compression = (enum cold_compression)values->database_compression,
                .evict_all = values->spill_all,
            },
        .legacy_cast = values->legacy_cast == 1,
        .not_null_drop = values->not_null == 1,
    };
}

bool settings_waits(const struct settings *settings, bool bounded)
{
    enum { SYNC_AUTO, SYNC_TRUE, SYNC_FALSE };
    return settings->values.dml_sync == SYNC_AUTO ? bounded : settings->values.dml_sync == SYNC_TRUE;
}
