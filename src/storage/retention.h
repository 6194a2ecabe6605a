/* storage/retention.h: what is kept how long, and how what is no longer needed goes away.
 *
 * Expiry      What a limit has passed is removed at once: manifests, old versions, batches of logs and metrics, stopped jobs. Limits:
 *             storage_options (`spate options storage`).
 * Order       All documents are read first; then what has expired goes; then the sweep, with the marks from before the expiry.
 * Sweep       Files of state, files of savepoints that never were, and blobs go when nothing names them, in two steps: mark, and write
 *             what is not marked into a plan (v1/gc/plan.json); when the plan is older than "storage.gc.grace" mark again, and delete
 *             what is in the plan, is still not marked, is still the same object, and is older than the grace. What is being written is
 *             younger. A checkpoint must not take longer than the grace.
 * Marks       Every manifest and savepoint names its files; any SHA-256 in any document of a job names a blob.
 * Invariants  A document that cannot be read stops the sweep before anything is deleted: what is unknown is not unreferenced.
 * Who         One process at a time: the leader, or a person. Two at once do no harm: both delete only what neither needs.
 */
#ifndef SPATE_STORAGE_RETENTION_H
#define SPATE_STORAGE_RETENTION_H

#include "base/option.h"
#include "storage/stores.h"

/* By kind; 0: no limit of this sort. */
struct storage_limit {
    int64_t keep; /* so many of the newest are kept whatever their age */
    struct duration retain;
    struct byte_size max_bytes;
};
struct storage_limits {
    struct duration gc_grace, gc_interval;
    struct storage_limit kinds[STORE_KIND_COUNT];
    struct duration metrics_retain_1m, metrics_retain_1h;
    int32_t logs_level;               /* enum log_level; LOG_LEVEL_COUNT: nothing is written */
    struct duration metrics_interval; /* 0: none are written */
    const char *place;                /* URIs and folders: read by storage_open */
};
const struct option_def *storage_option_list(size_t *count);
const struct storage_limits *storage_limits_of(const struct storage *storage);

enum sweep_action { SWEEP_EXPIRES, SWEEP_PLANS, SWEEP_DELETES };
struct sweep_request {
    bool dry_run; /* says what would be done; writes and deletes nothing */
    /* NULL, or called for each object */
    void (*visit)(void *context, enum sweep_action action, enum store_kind kind, const char *key, uint64_t bytes);
    void *context;
};
struct sweep_report {
    uint64_t expired, planned, deleted, deleted_bytes;
    int64_t plan_due_us; /* when what is planned may be deleted; 0: nothing is planned */
};
enum status storage_sweep(struct storage *storage, const struct sweep_request *request, struct sweep_report *report, struct error *err);

/* For whoever runs it in the background: rolls metrics up and sweeps when "storage.gc.interval" has passed since the last time (by the monotonic clock), else
 * returns at once. Start with zero bytes. */
struct storage_sweeper {
    int64_t last_us;
    bool ran;
    struct sweep_report report;
};
enum status storage_sweep_due(struct storage_sweeper *sweeper, struct storage *storage, struct error *err);

/* Reads everything that documents name, and says what is missing, damaged or unreadable; goes on after each. `job`: an id, or NULL: all. */
struct fsck_report {
    uint64_t documents, files, bytes, problems;
};
typedef void (*fsck_visit)(void *context, const char *key, const char *problem);
enum status storage_fsck(struct storage *storage, const char *job, fsck_visit visit, void *context, struct fsck_report *report,
                         struct error *err);

#endif
