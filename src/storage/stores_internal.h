/* storage/stores_internal.h: what the typed stores share.
 *
 * For         the files of storage/ only.
 */
#ifndef SPATE_STORAGE_STORES_INTERNAL_H
#define SPATE_STORAGE_STORES_INTERNAL_H

#include <stdatomic.h>

#include "base/random.h"
#include "base/text.h"
#include "storage/access.h"
#include "storage/config_store.h"
#include "storage/retention.h"

enum {
    STORAGE_PREFIX_BYTES = 3,      /* "v1/" */
    DOCUMENT_BYTES_MAX = 64 << 20, /* a manifest of a million files */
    STORE_ATTEMPTS = 4,            /* of a write whose outcome is unknown */
};

/* What all views of an opened storage share. */
struct storage_core {
    struct arena *arena; /* settings, URIs */
    const struct clock *clock;
    struct object_environment environment;
    struct storage_limits limits;
    struct random_source random;
    struct object_store *stores[STORE_KIND_COUNT];
    const char *uris[STORE_KIND_COUNT];
    bool owned[STORE_KIND_COUNT]; /* the first of those that share a store closes it */
    const struct object_option *driver_options;
    size_t driver_option_count;
    const char *cache_dir; /* of artifacts; NULL: the user's */
    storage_opener open;
    void *open_context;
    atomic_uint_fast64_t next_file;
};
struct access_entry {
    access_rights rights;
    const char *jobs; /* a pattern of names */
};
struct storage {
    struct storage_core *core;
    struct arena *view_arena; /* NULL: the process's own, whose calls are not checked */
    const char *principal;
    struct access_entry *entries;
    uint32_t entry_count, entry_capacity;
};

/* One of the core's stores. */
struct object_store *storage_objects(const struct storage *storage, enum store_kind kind);
/* Another place, such as a savepoint's, with the root's options. */
enum status storage_open_place(const struct storage *storage, const char *uri, struct object_store **store, struct error *err);
/* Random letters and digits, and a NUL. */
void storage_random_text(struct storage *storage, char *text, size_t length);

/* As config_read, for the framework itself. */
enum status config_read_unchecked(struct storage *storage, const char *job, const char *scope, int64_t version, struct arena *arena,
                                  enum object_result *result, struct config_version *config, struct error *err);

/* "2026-11-30" and the hour "09", UTC. */
enum { STORE_DAY_BYTES = 11, STORE_HOUR_BYTES = 3 };
void store_day(int64_t at_us, char day[STORE_DAY_BYTES], char hour[STORE_HOUR_BYTES]);

/* "v1/" and the parts, encoded, joined by '/'. The parts end with NULL. A last part "" gives a prefix that ends in '/'. */
enum status store_key(char key[OBJECT_KEY_MAX + 1], struct error *err, ...) __attribute__((sentinel));
/* The name of which `bytes` (to the next '/' or the end) is the encoding; false: it is no encoding. */
bool store_name_decode(const char *bytes, size_t length, char *name, size_t capacity);
/* As the stores' headers want it: an outcome that is unknown is looked up. The body must tell its writer from others. */
enum status store_put(struct object_store *store, const char *key, const void *bytes, size_t length, enum put_condition condition,
                      const char *etag, enum object_result *result, struct object_info *info, struct error *err);
/* ABSENT is a result; the bytes are in the arena, NUL-terminated. */
enum status store_get(struct object_store *store, const char *key, struct arena *arena, enum object_result *result, struct text *text,
                      struct object_info *info, struct error *err);
/* The names right below a prefix that ends in '/', decoded, in the order of keys; objects and folders alike, each once. */
struct store_names {
    const char **names;
    uint32_t count, capacity;
};
enum status store_list_names(struct object_store *store, const char *prefix, struct arena *arena, struct store_names *names,
                             struct error *err);
/* Every object below a prefix, but not what is below `except` (NULL: nothing); *removed grows. */
enum status store_remove_below(struct object_store *store, const char *prefix, const char *except, uint64_t *removed, struct error *err);
enum status store_remove(struct object_store *store, const char *key, const char *etag, enum object_result *result, struct error *err);

#endif
