/* What has passed its limits, job by job. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/job_records.h"
#include "storage/savepoints.h"
#include "storage/sweep_internal.h"

enum status sweep_expire(struct sweep *sweep, enum store_kind kind, const char *key, uint64_t bytes, struct error *err)
{
    enum object_result result = OBJECT_OK;
    if (!sweep->request->dry_run) {
        TRY(store_remove(storage_objects(sweep->storage, kind), key, NULL, &result, err));
    }
    sweep->report->expired++;
    sweep_tell(sweep, SWEEP_EXPIRES, kind, key, bytes);
    return STATUS_OK;
}

/* ---- numbered objects: checkpoints, versions, records ---- */

struct numbered {
    const char *key;
    uint64_t number, bytes;
    int64_t modified_us;
};
struct numbered_list {
    struct arena *arena;
    const char *ending; /* of names that are a number and this */
    struct numbered *entries;
    uint32_t count, capacity;
};

static enum status numbered_visit(void *context, const char *key, const struct object_info *info, bool *stop, struct error *err)
{
    (void)stop;
    struct numbered_list *self = context;
    const char *name = strrchr(key, '/') + 1;
    size_t digits = strspn(name, "0123456789");
    if (digits == 0 || strcmp(name + digits, self->ending) != 0) {
        return STATUS_OK;
    }
    TRY_ALLOC(self->entries, arena_grow(self->arena, self->entries, &self->capacity, self->count + 1, sizeof *self->entries), err);
    struct numbered *entry = &self->entries[self->count++];
    *entry = (struct numbered){.number = strtoull(name, NULL, 10), .bytes = info->bytes, .modified_us = info->modified_us};
    TRY_ALLOC(entry->key, arena_text(self->arena, key, strlen(key)), err);
    return STATUS_OK;
}

static size_t folder_length(const char *key)
{
    return (size_t)(strrchr(key, '/') - key);
}

static int compare_numbered(const void *left, const void *right)
{
    const struct numbered *l = left, *r = right;
    size_t l_length = folder_length(l->key), r_length = folder_length(r->key), length = l_length < r_length ? l_length : r_length;
    int order = memcmp(l->key, r->key, length);
    if (order != 0 || l_length != r_length) {
        return order != 0 ? order : l_length < r_length ? -1 : 1;
    }
    return (l->number < r->number) - (l->number > r->number); /* newest first */
}

/* `pinned`: ends of keys that stay whatever their age. */
struct pins {
    const char **endings;
    uint32_t count, capacity;
};

static bool is_pinned(const struct pins *pins, const char *key)
{
    for (uint32_t i = 0; i < pins->count; i++) {
        size_t length = strlen(key), ending = strlen(pins->endings[i]);
        if (length >= ending && strcmp(key + length - ending, pins->endings[i]) == 0) {
            return true;
        }
    }
    return false;
}

static enum status expire_numbered(struct sweep *sweep, enum store_kind kind, const char *prefix, const char *ending,
                                   const struct pins *pins, struct error *err)
{
    struct object_store *store = storage_objects(sweep->storage, kind);
    const struct storage_limit *limit = &sweep->limits->kinds[kind];
    struct numbered_list list = {.arena = arena_create(NULL, "numbered objects"), .ending = ending};
    TRY_ALLOC(list.arena, list.arena, err);
    enum status status = store->driver->list(store, prefix, NULL, numbered_visit, &list, err);
    if (status == STATUS_OK && list.count > 0) {
        qsort(list.entries, list.count, sizeof *list.entries, compare_numbered);
    }
    int64_t place = 0;
    for (uint32_t i = 0; i < list.count && status == STATUS_OK; i++) {
        const struct numbered *entry = &list.entries[i];
        bool same = i > 0 && folder_length(entry->key) == folder_length(entry[-1].key) &&
                    memcmp(entry->key, entry[-1].key, folder_length(entry->key)) == 0;
        place = same ? place + 1 : 0;
        bool young = limit->retain.us > 0 && entry->modified_us > sweep->now_us - limit->retain.us;
        bool counts = kind == STORE_CHECKPOINTS && !sweep_is_superseded(sweep->marks, entry->key, entry->number);
        if (place >= limit->keep && !young && !counts && !is_pinned(pins, entry->key)) {
            status = sweep_expire(sweep, kind, entry->key, entry->bytes, err);
        }
    }
    arena_destroy(list.arena);
    return status;
}

/* ---- what a job's record names ---- */

static enum status pin(struct pins *pins, struct arena *arena, char *ending, struct error *err)
{
    TRY_ALLOC(ending, ending, err);
    TRY_ALLOC(pins->endings, arena_grow(arena, pins->endings, &pins->capacity, pins->count + 1, sizeof *pins->endings), err);
    pins->endings[pins->count++] = ending;
    return STATUS_OK;
}

/* last_complete: {"tasks": {"all": 17}} or {"tasks": {"all": {"seq": 17, ...}}}. */
static enum status pins_find(const struct job_record *record, struct arena *arena, struct pins *pins, struct error *err)
{
    json_t *complete = record->last_complete == NULL ? NULL : json_loads(record->last_complete, JSON_DECODE_ANY, NULL), *value;
    const char *task;
    enum status status = STATUS_OK;
    json_object_foreach(json_object_get(complete, "tasks"), task, value)
    {
        const json_t *seq = json_is_object(value) ? json_object_get(value, "seq") : value;
        if (json_is_integer(seq) && status == STATUS_OK) {
            status = pin(pins, arena, arena_format(arena, "/%020llu.manifest.json", (unsigned long long)json_integer_value(seq)), err);
        }
    }
    json_decref(complete);
    if (status == STATUS_OK && record->config > 0) {
        status = pin(pins, arena, arena_format(arena, "/config/job/%lld.json", (long long)record->config), err);
    }
    return status;
}

/* ---- jobs ---- */

static enum status expire_savepoints(struct sweep *sweep, const char *id, struct arena *arena, struct error *err)
{
    int64_t retain_us = sweep->limits->kinds[STORE_SAVEPOINTS].retain.us;
    const char *const *names;
    uint32_t count;
    if (retain_us == 0) {
        return STATUS_OK;
    }
    TRY(savepoint_list(sweep->storage, id, arena, &names, &count, err));
    for (uint32_t i = 0; i < count; i++) {
        struct savepoint savepoint;
        enum object_result result;
        TRY(savepoint_open(sweep->storage, id, names[i], arena, &result, &savepoint, err));
        savepoint_close(&savepoint);
        if (result != OBJECT_OK || savepoint.created_us > sweep->now_us - retain_us) {
            continue;
        }
        sweep->report->expired++;
        sweep_tell(sweep, SWEEP_EXPIRES, STORE_SAVEPOINTS, names[i], 0);
        if (!sweep->request->dry_run) {
            TRY(savepoint_delete(sweep->storage, id, names[i], &result, err));
        }
    }
    return STATUS_OK;
}

/* Is it a record to which no name leads: of a creation that lost, or a removal that was cut short? */
static enum status is_nameless(struct sweep *sweep, const struct job_record *record, bool *nameless, struct error *err)
{
    char id[JOB_ID_MAX + 1];
    enum object_result result;
    TRY(job_record_find(sweep->storage, record->name, &result, id, err));
    *nameless = result != OBJECT_OK || strcmp(id, record->id) != 0;
    return STATUS_OK;
}

static enum status expire_job(struct sweep *sweep, const struct job_record *record, struct error *err)
{
    int64_t retain_us = sweep->limits->kinds[STORE_JOBS].retain.us;
    bool ended = record->desired == DESIRED_STOPPED || record->desired == DESIRED_KILLED, nameless;
    bool expired = ended && retain_us > 0 && record->changed_us <= sweep->now_us - retain_us;
    TRY(is_nameless(sweep, record, &nameless, err));
    if (!expired && !(nameless && record->changed_us <= sweep->now_us - sweep->limits->gc_grace.us)) {
        return STATUS_OK;
    }
    enum object_result result = OBJECT_OK;
    if (!sweep->request->dry_run) {
        TRY(job_record_remove(sweep->storage, record->id, false, &result, err));
    }
    if (result != OBJECT_CONFLICT) { /* its savepoints keep a job */
        sweep->report->expired++;
        sweep_tell(sweep, SWEEP_EXPIRES, STORE_JOBS, record->id, 0);
    }
    return STATUS_OK;
}

static enum status expire_in_job(struct sweep *sweep, const char *id, struct arena *arena, struct error *err)
{
    char checkpoints[OBJECT_KEY_MAX + 1], config[OBJECT_KEY_MAX + 1], offsets[OBJECT_KEY_MAX + 1];
    struct job_record record;
    struct pins pins = {0};
    enum object_result result;
    TRY(job_record_read(sweep->storage, id, arena, &result, &record, err));
    bool has_record = result == OBJECT_OK;
    if (has_record) {
        TRY(pins_find(&record, arena, &pins, err));
    }
    TRY(store_key(checkpoints, err, "jobs", id, "checkpoints", "", NULL));
    TRY(store_key(config, err, "jobs", id, "config", "", NULL));
    TRY(store_key(offsets, err, "jobs", id, "offsets", "", NULL));
    TRY(expire_numbered(sweep, STORE_CHECKPOINTS, checkpoints, ".manifest.json", &pins, err));
    TRY(expire_numbered(sweep, STORE_CONFIG, config, ".json", &pins, err));
    TRY(expire_numbered(sweep, STORE_OFFSETS, offsets, "", &pins, err));
    TRY(expire_savepoints(sweep, id, arena, err));
    TRY(sweep_expire_bodies(sweep, id, arena, err));
    TRY(sweep_expire_batches(sweep, id, err));
    return has_record ? expire_job(sweep, &record, err) : STATUS_OK;
}

enum status sweep_expire_all(struct sweep *sweep, struct error *err)
{
    static const struct pins no_pins;
    struct arena *arena = arena_create(NULL, "jobs to expire"), *each = arena_create(NULL, "job to expire");
    struct sweep_places places;
    enum status status = arena == NULL || each == NULL ? error_set(err, ERROR_BUDGET_SPENT, "no room for a sweep") : STATUS_OK;
    struct key_set ids = {.arena = arena};
    sweep_places_find(sweep->storage, &places);
    for (uint32_t i = 0; i < places.count && status == STATUS_OK; i++) {
        struct store_names names;
        status = store_list_names(storage_objects(sweep->storage, places.kinds[i]), "v1/jobs/", arena, &names, err);
        for (uint32_t j = 0; status == STATUS_OK && j < names.count; j++) {
            if (key_set_has(&ids, names.names[j], strlen(names.names[j]))) {
                continue;
            }
            arena_reset(each);
            status = key_set_add(&ids, names.names[j], strlen(names.names[j]), err);
            if (status == STATUS_OK) {
                status = expire_in_job(sweep, names.names[j], each, err);
            }
        }
    }
    if (status == STATUS_OK) {
        status = expire_numbered(sweep, STORE_CONFIG, "v1/config/", ".json", &no_pins, err);
    }
    if (status == STATUS_OK) {
        status = sweep_expire_audit(sweep, err);
    }
    arena_destroy(arena);
    arena_destroy(each);
    return status;
}
