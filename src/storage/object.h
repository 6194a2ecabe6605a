/* storage/object.h: named byte objects in a store that outlives the process: the interface of the drivers.
 *
 * For         the typed stores of storage/stores.h and nothing else; users of a store never see a driver.
 * Keys        UTF-8, parts separated by '/', no empty part, no part "." or "..", at most 900 bytes. A prefix is any leading string of a key.
 * Invariants  A put is whole or not at all: a reader sees the old object or the new one, also after a crash in the middle. What put has
 *             returned OK for is durable. An etag changes with every put and is never reused for a key.
 * Results     What callers expect to happen is a result, not an error: ABSENT, CONFLICT (the condition failed, nothing was written),
 *             UNKNOWN (sent, but whether it was done is not known: read back). With any of them `err` is untouched. The rest are statuses
 *             with a message: DENIED (credentials or rights), UNAVAILABLE (no answer within the caller's deadline, after retries with
 *             backoff and jitter), CORRUPT (a checksum differs), FULL (no space or quota; the old object is intact), UNSUPPORTED (this
 *             store cannot hold such a key or body).
 * Checksums   CRC-32C of the whole object is computed while it is put, sent or kept by the driver, and checked on whole reads. An
 *             expected one given to put makes a differing body CORRUPT before it can be seen.
 * Ownership   Strings in results are the caller's struct. A store is closed by whoever opened it.
 * Threads     All calls of one store from any threads at once, except close. A process that forks opens its stores afterwards.
 */
#ifndef SPATE_STORAGE_OBJECT_H
#define SPATE_STORAGE_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"

struct file_system;
struct option_def;

enum { OBJECT_KEY_MAX = 900, OBJECT_ETAG_MAX = 96, OBJECT_PART_BYTES = 8 << 20 };

enum object_result { OBJECT_OK, OBJECT_ABSENT, OBJECT_CONFLICT, OBJECT_UNKNOWN };
enum put_condition { PUT_ANY, PUT_IF_ABSENT, PUT_IF_MATCH };

struct object_info {
    char etag[OBJECT_ETAG_MAX];
    uint64_t bytes;
    int64_t modified_us; /* wall time of the store */
    uint32_t crc32c;     /* valid when has_crc32c: of the whole object */
    bool has_crc32c;
};
/* The body of a put: read from the start, perhaps more than once (a retry rewinds). */
struct object_source {
    uint64_t bytes; /* known before */
    /* Fills up to `capacity` bytes from `offset`; *length 0 only at the end. Any thread, one at a time. */
    enum status (*read)(void *context, uint64_t offset, void *buffer, size_t capacity, size_t *length, struct error *err);
    void *context;
    const uint32_t *expected_crc32c; /* NULL: not known */
};
/* Where a get goes: called in order, never again for what was taken. */
struct object_sink {
    enum status (*write)(void *context, const void *bytes, size_t length, struct error *err);
    void *context;
};
struct object_caps {
    bool conditional_put; /* IF_ABSENT and IF_MATCH are atomic; probed at open, not assumed */
    bool append;          /* the backend has an append of its own */
};

struct object_option {
    const char *name, *value;
};
struct object_environment {          /* what a test replaces; NULL for it: all as the system has it */
    const struct clock *clock;       /* NULL: the system's */
    const struct file_system *files; /* storage/file_system.h; NULL: the real one */
    uint64_t random_seed;            /* 0: from the system */
};
struct object_store {
    const struct object_driver *driver; /* first member of every driver's store */
};
/* Called for each object of a listing, in the order of keys (bytes). *stop = true ends the listing. */
typedef enum status (*object_visit)(void *context, const char *key, const struct object_info *info, bool *stop, struct error *err);

struct object_driver {
    uint32_t abi; /* OBJECT_DRIVER_ABI */
    const char *scheme, *summary;
    const struct option_def *options; /* beside the URI: "azure.endpoint", ... */
    size_t option_count, settings_bytes;
    enum status (*open)(const char *uri, const void *settings, const struct object_environment *environment, struct object_store **store,
                        struct error *err);
    enum status (*put)(struct object_store *store, const char *key, const struct object_source *source, enum put_condition condition,
                       const char *etag, enum object_result *result, struct object_info *info, struct error *err);
    /* length UINT64_MAX: to the end. A range past the end gives what there is. */
    enum status (*get)(struct object_store *store, const char *key, uint64_t offset, uint64_t length, const struct object_sink *sink,
                       enum object_result *result, struct object_info *info, struct error *err);
    enum status (*head)(struct object_store *store, const char *key, enum object_result *result, struct object_info *info,
                        struct error *err);
    /* etag NULL: whatever is there, else CONFLICT when another one is. ABSENT when there was nothing. */
    enum status (*remove)(struct object_store *store, const char *key, const char *etag, enum object_result *result, struct error *err);
    /* Complete (paging inside): every object that was there during the whole call. `after`: keys above it only; NULL: all. An object
     * whose description cannot be read (get and head say CORRUPT) is listed with an empty etag. */
    enum status (*list)(struct object_store *store, const char *prefix, const char *after, object_visit visit, void *context,
                        struct error *err);
    struct object_caps (*caps)(const struct object_store *store);
    void (*close)(struct object_store *store);
};
enum { OBJECT_DRIVER_ABI = 1 };

/* storage/registry.c: opens by the URI's scheme ("file:///dir"; a plain path is a file URI). Drivers that are not built in come from a
 * loadable module; a missing one is an error that names the package. Options that no driver knows are refused with a suggestion. */
enum status object_store_open(const char *uri, const struct object_option *options, size_t option_count,
                              const struct object_environment *environment, struct object_store **store, struct error *err);
/* What is before "://", or lower case before ":"; of a path "file". */
struct text object_scheme(const char *uri);
void object_store_close(struct object_store *store); /* NULL is allowed */
/* All that can be had: those built in, and the modules that are installed. Lent until the thread's next call. */
const struct object_driver *const *object_driver_list(uint32_t *count);
bool object_option_is_known(const char *name); /* to the driver of its scheme, if that is here: "azure.timeout" */

/* Conveniences over the table, for small bodies. */
enum status object_put_bytes(struct object_store *store, const char *key, const void *bytes, size_t length, enum put_condition condition,
                             const char *etag, enum object_result *result, struct object_info *info, struct error *err);
/* *bytes is malloc'ed and NUL-terminated past its end; more than `limit` bytes is an error. */
enum status object_get_bytes(struct object_store *store, const char *key, size_t limit, enum object_result *result, char **bytes,
                             size_t *length, struct object_info *info, struct error *err);
/* Refuses what the head of this file does not allow. */
enum status object_key_check(const char *key, struct error *err);

#endif
