/* spate/storage.h: the stores of Spate, for a C program and for `spate storage`.
 *
 * For         looking at and tending what jobs keep: records, checkpoints, savepoints, artifacts, configuration, offsets, logs, metrics,
 *             audit. Everything goes through the typed stores, so that their rules and rights hold.
 * Keys        "<kind>/<name>": jobs/orders; in a job (`job`: its name) checkpoints/all/17, savepoints/nightly, artifacts/udf.zip,
 *             config/job/3 (or config/job: the newest), offsets/all, logs/2026-11-30/09, metrics/rows; without one also config/access
 *             and audit/2026-11-30.
 * Ownership   What a callback is given is lent for the call.
 * Threads     A storage belongs to one thread at a time.
 * Errors      As in spate.h: 0 for success, else a SPATE_ERROR_CLASS; spate_storage_error says what.
 */
#ifndef SPATE_STORAGE_H
#define SPATE_STORAGE_H

#include "spate/spate.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spate_storage spate_storage;

/* `options`: "key=value" texts ("storage.uri=file:///data"; `spate options storage` lists them), NULL-terminated; may be NULL. `principal`:
 * in whose name ("user:ann"): rights are checked; NULL: the process's own, bounded by the backend alone. *storage is set also when it
 * fails, for its error; NULL when there is no memory. */
SPATE_API int spate_storage_open(const char *const *options, const char *principal, spate_storage **storage);
SPATE_API void spate_storage_close(spate_storage *storage);
SPATE_API const struct spate_error *spate_storage_error(const spate_storage *storage);

/* Keys that begin with `prefix` ("": all), with a line about each. `job` NULL: what is no job's. */
typedef void (*spate_storage_entry)(void *context, const char *key, const char *about);
SPATE_API int spate_storage_list(spate_storage *storage, const char *job, const char *prefix, spate_storage_entry entry, void *context);
/* The bytes in order. After an error throw away what came. */
typedef void (*spate_storage_bytes)(void *context, const void *bytes, size_t length);
SPATE_API int spate_storage_read(spate_storage *storage, const char *job, const char *key, spate_storage_bytes bytes, void *context);
/* A new version of it from a file: artifacts and configuration. `about` is told what was made. */
SPATE_API int spate_storage_write(spate_storage *storage, const char *job, const char *key, const char *path, spate_storage_entry about,
                                  void *context);
SPATE_API int spate_storage_remove(spate_storage *storage, const char *job, const char *key);

struct spate_storage_sweep {
    size_t size; /* sizeof(struct spate_storage_sweep), set by the caller */
    uint64_t expired, planned, deleted, deleted_bytes;
    int64_t plan_due_us; /* 0: nothing is planned */
};
/* Removes what has passed its limits, and in two steps what nothing names. `about` is "expires", "planned" or "deleted". */
SPATE_API int spate_storage_gc(spate_storage *storage, bool dry_run, spate_storage_entry entry, void *context,
                               struct spate_storage_sweep *report);
struct spate_storage_check {
    size_t size; /* sizeof(struct spate_storage_check), set by the caller */
    uint64_t documents, files, bytes, problems;
};
/* Reads everything that documents name; `about` is what is wrong with the key. */
SPATE_API int spate_storage_fsck(spate_storage *storage, const char *job, spate_storage_entry entry, void *context,
                                 struct spate_storage_check *report);

/* Adds (or with `revoke` takes back) a role on the jobs whose names fit the pattern. *changed false: it was so already. */
SPATE_API int spate_storage_grant(spate_storage *storage, const char *principal, const char *role, const char *jobs, bool revoke,
                                  bool *changed);
/* The grants, and `about` each its role and jobs. */
SPATE_API int spate_storage_grants(spate_storage *storage, spate_storage_entry entry, void *context);
/* Audit lines from a time on (microseconds since 1970): the key is the time, `about` the rest. */
SPATE_API int spate_storage_audit(spate_storage *storage, int64_t from_us, spate_storage_entry entry, void *context);
/* What rights the backend should give to whom, so that it mirrors the roles: the key is the role, `about` place and rights. */
SPATE_API int spate_storage_access_plan(spate_storage *storage, spate_storage_entry entry, void *context);

#ifdef __cplusplus
}
#endif
#endif
