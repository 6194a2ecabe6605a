#include "storage/body_store.h"

#include <stdlib.h>
#include <string.h>

#include "storage/content.h"
#include "storage/stores_internal.h"
#include "storage/sweep_internal.h"

enum status body_put(struct storage *storage, const char *job, const char *sha256, struct text body, struct error *err)
{
    char key[OBJECT_KEY_MAX + 1];
    enum object_result result;
    struct object_info info;
    TRY(store_key(key, err, "jobs", job, "bodies", sha256, NULL));
    return store_put(storage_objects(storage, STORE_JOBS), key, body.bytes, body.length, PUT_ANY, NULL, &result, &info, err);
}

enum status body_get(struct storage *storage, const char *job, const char *sha256, struct arena *arena, struct text *body,
                     struct error *err)
{
    char key[OBJECT_KEY_MAX + 1], found[SHA256_TEXT_BYTES];
    uint8_t digest[DIGEST_BYTES_MAX];
    enum object_result result;
    struct object_info info;
    TRY(store_key(key, err, "jobs", job, "bodies", sha256, NULL));
    TRY(store_get(storage_objects(storage, STORE_JOBS), key, arena, &result, body, &info, err));
    if (result != OBJECT_OK) {
        return error_set(err, ERROR_STORE_MISSING, "'%s' is not there", key);
    }
    digest_text(digest, digest_compute(DIGEST_SHA256, body->bytes, body->length, digest), found);
    return strcmp(found, sha256) == 0 ? STATUS_OK : error_set(err, ERROR_STORE_CORRUPT, "'%s' is not what its name says", key);
}

/* ---- expiry ---- */

struct stored_body {
    const char *key;
    uint64_t bytes;
    int64_t modified_us;
};
struct body_list {
    struct arena *arena;
    struct stored_body *bodies;
    uint32_t count, capacity;
};

static enum status note_body(void *context, const char *key, const struct object_info *info, bool *stop, struct error *err)
{
    (void)stop;
    struct body_list *self = context;
    TRY_ALLOC(self->bodies, arena_grow(self->arena, self->bodies, &self->capacity, self->count + 1, sizeof *self->bodies), err);
    struct stored_body *body = &self->bodies[self->count++];
    *body = (struct stored_body){.bytes = info->bytes, .modified_us = info->modified_us};
    TRY_ALLOC(body->key, arena_text(self->arena, key, strlen(key)), err);
    return STATUS_OK;
}

static int compare_bodies(const void *left, const void *right)
{
    const struct stored_body *l = left, *r = right;
    return (l->modified_us < r->modified_us) - (l->modified_us > r->modified_us); /* newest first */
}

enum status sweep_expire_bodies(struct sweep *sweep, const char *id, struct arena *arena, struct error *err)
{
    char prefix[OBJECT_KEY_MAX + 1];
    struct object_store *store = storage_objects(sweep->storage, STORE_JOBS);
    struct body_list list = {.arena = arena};
    TRY(store_key(prefix, err, "jobs", id, "bodies", "", NULL));
    TRY(store->driver->list(store, prefix, NULL, note_body, &list, err));
    if (list.count > BODIES_KEPT) {
        qsort(list.bodies, list.count, sizeof *list.bodies, compare_bodies);
    }
    for (uint32_t i = BODIES_KEPT; i < list.count; i++) {
        if (list.bodies[i].modified_us <= sweep->now_us - sweep->limits->gc_grace.us) {
            TRY(sweep_expire(sweep, STORE_JOBS, list.bodies[i].key, list.bodies[i].bytes, err));
        }
    }
    return STATUS_OK;
}
