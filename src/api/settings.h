/* api/settings.h: the settings of a session: SET, the configuration, the reference of options.
 *
 * For         one table of keys, with Flink's names where Flink has them.
 * Shape       Values are kept as texts (what SET prints) and parsed into struct session_settings. Advisory keys tune what Spate does
 *             anyway (mini-batches, two-phase aggregation): they are accepted so that Flink scripts run, and SET says that they change
 *             nothing.
 * Errors      UNKNOWN_OPTION with a near key, INVALID_OPTION with the reason.
 */
#ifndef SPATE_API_SETTINGS_H
#define SPATE_API_SETTINGS_H

#include "base/option.h"
#include "cluster/driver.h"
#include "functions/evaluation.h"
#include "job/checkpointer.h"
#include "job/restart_strategy.h"
#include "plan/plan.h"

enum state_backend { BACKEND_HASHMAP, BACKEND_ROCKSDB };
enum claim_mode { CLAIM_MODE_NO_CLAIM, CLAIM_MODE_CLAIM, CLAIM_MODE_LEGACY };
struct session_settings {
    int64_t parallelism, max_parallelism;
    int64_t tick_rows, chunk_rows;
    int64_t restart_every, restart_parallelism;
    struct duration tick_target, watermark_interval, idle_timeout, state_ttl;
    struct byte_size ring, process_memory;
    const char *time_zone;
    int32_t backend, database_compression;
    const char *database_folder; /* NULL: not set */
    double managed_fraction;
    bool spill_all;
    int32_t legacy_cast, sum_overflow, not_null, dml_sync;
    /* jobs that outlive their process */
    const char *job_name; /* NULL: not set */
    struct duration checkpoint_interval, checkpoint_min_pause, checkpoint_timeout;
    int64_t checkpoints_retained, checkpoints_tolerable_failed;
    int32_t restart_type;
    int64_t restart_attempts, restart_failures, restart_backoffs;
    struct duration restart_delay, restart_interval, restart_rate_delay, restart_initial, restart_most, restart_reset;
    double restart_multiplier, restart_jitter;
    bool checkpoint_incremental, ignore_unclaimed, fresh, standby, until_end;
    int32_t availability; /* enum availability */
    struct duration lease;
    int32_t checkpoint_mode, checkpoint_storage, externalized, claim_mode;
    const char *coordinator_uri; /* NULL: not set */
    const char *checkpoint_dir, *savepoint_dir, *recovery_path, *storage_uri;
    const char *storage_other; /* the last of the keys below "storage.", "azure.", "zookeeper." ...; all are in service_options */
};
extern const struct option_def session_options[];
extern const uint32_t session_option_count;

struct service_options {
    struct object_option *list;
    uint32_t count, capacity;
};
struct settings {
    struct arena *arena; /* the session's: values live as long */
    struct session_settings values;
    const char **texts;                           /* by option: as set; NULL: the default holds */
    const char **advisory_texts;                  /* by key of Flink (settings_flink.h) */
    struct service_options storage, coordination; /* as set; their meaning is checked when the service is opened */
    struct service_options timing;                /* cluster.*: names are checked when they are set, values when all are there */
};
enum status settings_open(struct settings *settings, struct arena *arena, struct error *err);
/* *message: what to tell the user, NULL for nothing. */
enum status settings_set(struct settings *settings, const char *key, const char *value, const char **message, struct error *err);
enum status settings_reset(struct settings *settings, const char *key, struct error *err); /* NULL: all */
const char *settings_current_key(const char *key); /* of a key that Flink has renamed: its name of now */
/* Keys of services are by scheme: what only one of two drivers of a scheme takes is not the other's; what neither takes is for both, which
 * refuse it. */
bool settings_is_of_storage(const char *key);
bool settings_is_of_coordination(const char *key);
bool settings_is_of_timing(const char *key);
bool settings_has_option(const char *key); /* session_options has it, by this very name */
/* Calls back per key that is set; secrets come as ******. */
void settings_each(const struct settings *settings, void (*each)(void *context, const char *key, const char *value), void *context);
enum status settings_evaluation(const struct settings *settings, struct arena *arena, struct evaluation *evaluation, struct error *err);
struct plan_settings settings_plan(const struct settings *settings);
struct storage_settings settings_storage(const struct settings *settings); /* lent until a key is set */
/* For cluster_open, in the arena. */
enum status settings_coordination(const struct settings *settings, struct arena *arena, const struct cluster_option **options,
                                  size_t *count, struct error *err);
/* For timing_read, in the arena. */
enum status settings_timing(const struct settings *settings, struct arena *arena, const struct cluster_option **options, size_t *count,
                            struct error *err);
bool settings_are_durable(const struct settings *settings); /* INSERTs have checkpoints, or start from a savepoint */
struct restart_settings settings_restarts(const struct settings *settings);
struct checkpoint_settings settings_checkpoints(const struct settings *settings);
/* table.dml-sync: is an INSERT waited for before the next statement? */
bool settings_waits(const struct settings *settings, bool bounded);

#endif
