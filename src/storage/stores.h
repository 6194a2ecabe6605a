/* storage/stores.h: the storage framework: typed stores over object drivers, of one root.
 *
 * For         whatever outlives a process: jobs, checkpoints, savepoints, artifacts, configuration, offsets, logs, metrics, audit. The
 *             stores are in headers of their own: job_records.h, checkpoints.h, savepoints.h, artifacts.h, config_store.h,
 *             offset_store.h, log_store.h, metric_store.h; who may do what in access.h; what is kept how long in retention.h.
 * Shape       Every kind lives in the root ("storage.uri") unless "storage.<kind>.uri" names another place, with credentials of its own
 *             if need be ("storage.<kind>.azure.sas-token"). The layout below "v1/" is the same everywhere; the headers give it.
 * Names       Names of jobs, tasks, artifacts, ... may hold any character: what is not a letter, digit, '.', '_', '-' is
 *             percent-encoded in keys, never dropped, so that two names never meet.
 * Results     ABSENT and CONFLICT are results. UNKNOWN is not seen by callers: a store reads back what became of its write; only when
 *             that cannot be told either is it an error (UNAVAILABLE). An error is never taken for absence.
 * Errors      STORE_CORRUPT and STORE_MISSING name the object and what is wrong with it; STORE_DENIED the missing `kind:right`.
 * Ownership   What a read returns is in the caller's arena. A storage is closed by whoever opened it, its views before it.
 * Threads     A storage and its views may be used by any threads at once, except close. Arenas are the callers'.
 */
#ifndef SPATE_STORAGE_STORES_H
#define SPATE_STORAGE_STORES_H

#include "base/arena.h"
#include "storage/object.h"

/* kind, name in keys, options and rights */
#define STORE_KIND_LIST(X)                                                                                                                 \
    X(ARTIFACTS, "artifacts")                                                                                                              \
    X(CONFIG, "config")                                                                                                                    \
    X(LOGS, "logs")                                                                                                                        \
    X(METRICS, "metrics")                                                                                                                  \
    X(OFFSETS, "offsets")                                                                                                                  \
    X(CHECKPOINTS, "checkpoints")                                                                                                          \
    X(SAVEPOINTS, "savepoints")                                                                                                            \
    X(JOBS, "jobs")                                                                                                                        \
    X(AUDIT, "audit")
#define X(kind, name) STORE_##kind,
enum store_kind { STORE_KIND_LIST(X) STORE_KIND_COUNT };
#undef X
const char *store_kind_name(enum store_kind kind);
bool store_kind_find(const char *name, size_t length, enum store_kind *kind);

/* How a test opens objects instead of object_store_open. */
typedef enum status (*storage_opener)(void *context, const char *uri, struct object_store **store, struct error *err);

struct storage_settings {
    /* "storage.*" and "execution.checkpointing.dir" (retention.h lists the rest); all others go to the drivers. */
    const struct object_option *options;
    size_t option_count;
    const struct object_environment *environment; /* NULL: the system's clock, files, randomness */
    storage_opener open;                          /* NULL: object_store_open */
    void *open_context;
};
struct storage;
/* The root: storage.uri, else execution.checkpointing.dir, else $XDG_STATE_HOME/spate, else ~/.local/state/spate. */
enum status storage_open(const struct storage_settings *settings, struct storage **storage, struct error *err);
void storage_close(struct storage *storage); /* NULL is allowed */
const char *storage_uri(const struct storage *storage, enum store_kind kind);
const struct clock *storage_clock(const struct storage *storage);

/* The last four characters of an id and the '-' before them are not the name's. */
enum { JOB_ID_TAIL = 5 };

#endif
