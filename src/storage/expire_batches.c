/* Logs, metrics, audit: by the day in their keys, and by size. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/sweep_internal.h"

/* A batch is as old as the end of its day or hour. */
struct batch_walk {
    struct sweep *sweep;
    enum store_kind kind;
    size_t prefix_length;
    char keep_from[STORE_DAY_BYTES + STORE_HOUR_BYTES]; /* the first day (and hour) that stays */
    struct key_list {
        const char **keys;
        uint64_t *bytes;
        uint32_t count, key_capacity, bytes_capacity;
    } list;
    struct arena *arena;
    uint64_t total;
};

static enum status batch_visit(void *context, const char *key, const struct object_info *info, bool *stop, struct error *err)
{
    (void)stop;
    struct batch_walk *self = context;
    struct key_list *list = &self->list;
    TRY_ALLOC(list->keys, arena_grow(self->arena, list->keys, &list->key_capacity, list->count + 1, sizeof *list->keys), err);
    TRY_ALLOC(list->bytes, arena_grow(self->arena, list->bytes, &list->bytes_capacity, list->count + 1, sizeof *list->bytes), err);
    TRY_ALLOC(list->keys[list->count], arena_text(self->arena, key, strlen(key)), err);
    list->bytes[list->count++] = info->bytes;
    self->total += info->bytes;
    return STATUS_OK;
}

/* Oldest first, since keys begin with the day. */
static enum status walk_expire(struct batch_walk *self, uint64_t max_bytes, struct error *err)
{
    for (uint32_t i = 0; i < self->list.count; i++) {
        const char *day = self->list.keys[i] + self->prefix_length;
        bool old = self->keep_from[0] != '\0' && strncmp(day, self->keep_from, strlen(self->keep_from)) < 0;
        if (!old && (max_bytes == 0 || self->total <= max_bytes)) {
            return STATUS_OK;
        }
        self->total -= self->list.bytes[i];
        TRY(sweep_expire(self->sweep, self->kind, self->list.keys[i], self->list.bytes[i], err));
    }
    return STATUS_OK;
}

static enum status batches_expire(struct sweep *sweep, enum store_kind kind, const char *prefix, bool by_hour, int64_t retain_us,
                                  struct error *err)
{
    struct batch_walk walk = {.sweep = sweep, .kind = kind, .prefix_length = strlen(prefix), .arena = arena_create(NULL, "batches")};
    struct object_store *store = storage_objects(sweep->storage, kind);
    char day[STORE_DAY_BYTES], hour[STORE_HOUR_BYTES];
    TRY_ALLOC(walk.arena, walk.arena, err);
    if (retain_us > 0) {
        store_day(sweep->now_us - retain_us, day, hour);
        snprintf(walk.keep_from, sizeof walk.keep_from, by_hour ? "%s/%s" : "%s", day, hour); /* NOLINT: two formats of this line */
    }
    enum status status = store->driver->list(store, prefix, NULL, batch_visit, &walk, err);
    if (status == STATUS_OK) {
        status = walk_expire(&walk, sweep->limits->kinds[kind].max_bytes.bytes, err);
    }
    arena_destroy(walk.arena);
    return status;
}

enum status sweep_expire_batches(struct sweep *sweep, const char *job, struct error *err)
{
    const struct {
        const char *resolution;
        int64_t retain_us;
    } metrics[] = {{"15s", sweep->limits->kinds[STORE_METRICS].retain.us},
                   {"1m", sweep->limits->metrics_retain_1m.us},
                   {"1h", sweep->limits->metrics_retain_1h.us}};
    char prefix[OBJECT_KEY_MAX + 1];
    TRY(store_key(prefix, err, "jobs", job, "logs", "", NULL));
    TRY(batches_expire(sweep, STORE_LOGS, prefix, true, sweep->limits->kinds[STORE_LOGS].retain.us, err));
    for (size_t i = 0; i < ARRAY_LENGTH(metrics); i++) {
        TRY(store_key(prefix, err, "jobs", job, "metrics", metrics[i].resolution, "", NULL));
        TRY(batches_expire(sweep, STORE_METRICS, prefix, false, metrics[i].retain_us, err));
    }
    return STATUS_OK;
}

enum status sweep_expire_audit(struct sweep *sweep, struct error *err)
{
    return batches_expire(sweep, STORE_AUDIT, "v1/audit/", false, sweep->limits->kinds[STORE_AUDIT].retain.us, err);
}
