#include "memory_store.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"

struct memory_object {
    char key[OBJECT_KEY_MAX + 1];
    uint8_t *bytes;
    struct object_info info;
};
struct memory_store {
    struct object_store base;
    const struct clock *clock;
    pthread_mutex_t mutex;
    struct memory_object *objects; /* in the order of keys */
    uint32_t count, capacity;
    uint64_t puts, calls, fail_at;
    enum memory_fault fault;
    bool lasting;
    struct { /* a put that is still on its way */
        char key[OBJECT_KEY_MAX + 1], etag[OBJECT_ETAG_MAX];
        uint8_t *bytes; /* NULL: none */
        uint64_t length;
        enum put_condition condition;
    } late;
};

static enum memory_fault fault_now(struct memory_store *self)
{
    uint64_t call = ++self->calls;
    bool hit = self->fail_at > 0 && (call == self->fail_at || (self->lasting && call > self->fail_at));
    return hit ? self->fault : MEMORY_FAULT_NONE;
}

static enum status no_answer(const char *key, struct error *err)
{
    return error_set(err, ERROR_STORE_UNAVAILABLE, "fault: no answer about '%s'", key);
}

/* The first object whose key is not below. */
static uint32_t position(const struct memory_store *self, const char *key, bool *there)
{
    uint32_t i = 0;
    while (i < self->count && strcmp(self->objects[i].key, key) < 0) {
        i++;
    }
    *there = i < self->count && strcmp(self->objects[i].key, key) == 0;
    return i;
}

static void erase(struct memory_store *self, uint32_t at)
{
    free(self->objects[at].bytes);
    self->count--;
    memmove(self->objects + at, self->objects + at + 1, (self->count - at) * sizeof *self->objects);
}

static enum status read_all(const struct object_source *source, uint8_t **bytes, struct error *err)
{
    *bytes = malloc(source->bytes + 1);
    for (uint64_t at = 0; at < source->bytes;) {
        /* small pieces, so that sources are read in more than one go */
        size_t got, want = source->bytes - at < 1000 ? (size_t)(source->bytes - at) : 1000;
        enum status status = source->read(source->context, at, *bytes + at, want, &got, err);
        if (status != STATUS_OK || got == 0) {
            free(*bytes);
            return status != STATUS_OK ? status : error_set(err, ERROR_STORE_CORRUPT, "a source ended early");
        }
        at += got;
    }
    return STATUS_OK;
}

static void keep_bytes(struct memory_store *self, const char *key, uint8_t *bytes, uint64_t length, struct object_info *info)
{
    bool there;
    uint32_t at = position(self, key, &there);
    if (there) {
        free(self->objects[at].bytes);
    } else {
        if (self->count == self->capacity) {
            self->capacity = self->capacity * 2 + 16;
            self->objects = realloc(self->objects, self->capacity * sizeof *self->objects);
        }
        memmove(self->objects + at + 1, self->objects + at, (self->count - at) * sizeof *self->objects);
        self->count++;
        snprintf(self->objects[at].key, sizeof self->objects[at].key, "%s", key);
    }
    struct memory_object *object = &self->objects[at];
    object->bytes = bytes;
    object->info = (struct object_info){.bytes = length, .modified_us = self->clock->wall_us(self->clock), .has_crc32c = true};
    object->info.crc32c = crc32c_extend(0, bytes, length);
    snprintf(object->info.etag, sizeof object->info.etag, "e%llu", (unsigned long long)++self->puts);
    *info = object->info;
}

static void put_locked(struct memory_store *self, const char *key, uint8_t *bytes, uint64_t length, enum put_condition condition,
                       const char *etag, enum object_result *result, struct object_info *info)
{
    bool there;
    uint32_t at = position(self, key, &there);
    bool met = condition == PUT_ANY || (condition == PUT_IF_ABSENT && !there) ||
               (condition == PUT_IF_MATCH && there && strcmp(self->objects[at].info.etag, etag) == 0);
    *result = met ? OBJECT_OK : OBJECT_CONFLICT;
    if (met) {
        keep_bytes(self, key, bytes, length, info);
    } else {
        free(bytes);
    }
}

static void late_arrive(struct memory_store *self)
{
    enum object_result result;
    struct object_info info;
    if (self->late.bytes != NULL) {
        put_locked(self, self->late.key, self->late.bytes, self->late.length, self->late.condition, self->late.etag, &result, &info);
        self->late.bytes = NULL;
    }
}

static void late_keep(struct memory_store *self, const char *key, uint8_t *bytes, uint64_t length, enum put_condition condition,
                      const char *etag)
{
    snprintf(self->late.key, sizeof self->late.key, "%s", key);
    snprintf(self->late.etag, sizeof self->late.etag, "%s", etag == NULL ? "" : etag);
    self->late.bytes = bytes;
    self->late.length = length;
    self->late.condition = condition;
}

static enum status memory_put(struct object_store *base, const char *key, const struct object_source *source, enum put_condition condition,
                              const char *etag, enum object_result *result, struct object_info *info, struct error *err)
{
    struct memory_store *self = (struct memory_store *)base;
    uint8_t *bytes;
    TRY(object_key_check(key, err));
    TRY(read_all(source, &bytes, err));
    if (source->expected_crc32c != NULL && *source->expected_crc32c != crc32c_extend(0, bytes, source->bytes)) {
        free(bytes);
        return error_set(err, ERROR_STORE_CORRUPT, "'%s' is not what was expected", key);
    }
    pthread_mutex_lock(&self->mutex);
    enum memory_fault fault = fault_now(self);
    late_arrive(self);
    if (fault == MEMORY_FAULT_UNAVAILABLE || fault == MEMORY_FAULT_UNKNOWN_LOST) {
        free(bytes);
    } else if (fault == MEMORY_FAULT_UNKNOWN_LATE) {
        late_keep(self, key, bytes, source->bytes, condition, etag);
    } else {
        put_locked(self, key, bytes, source->bytes, condition, etag, result, info);
    }
    if (fault != MEMORY_FAULT_NONE) {
        *result = OBJECT_UNKNOWN;
    }
    pthread_mutex_unlock(&self->mutex);
    return fault == MEMORY_FAULT_UNAVAILABLE ? no_answer(key, err) : STATUS_OK;
}

static enum status memory_get(struct object_store *base, const char *key, uint64_t offset, uint64_t length, const struct object_sink *sink,
                              enum object_result *result, struct object_info *info, struct error *err)
{
    struct memory_store *self = (struct memory_store *)base;
    bool there;
    pthread_mutex_lock(&self->mutex);
    enum status status = fault_now(self) != MEMORY_FAULT_NONE ? no_answer(key, err) : STATUS_OK;
    uint32_t at = position(self, key, &there);
    *result = there ? OBJECT_OK : OBJECT_ABSENT;
    if (status == STATUS_OK && there) {
        const struct memory_object *object = &self->objects[at];
        uint64_t left = offset < object->info.bytes ? object->info.bytes - offset : 0;
        *info = object->info;
        for (uint64_t end = left < length ? left : length, from = 0; from < end && status == STATUS_OK; from += 700) {
            status = sink->write(sink->context, object->bytes + offset + from, (size_t)(end - from < 700 ? end - from : 700), err);
        }
    }
    pthread_mutex_unlock(&self->mutex);
    return status;
}

static enum status memory_head(struct object_store *base, const char *key, enum object_result *result, struct object_info *info,
                               struct error *err)
{
    struct memory_store *self = (struct memory_store *)base;
    bool there;
    pthread_mutex_lock(&self->mutex);
    enum status status = fault_now(self) != MEMORY_FAULT_NONE ? no_answer(key, err) : STATUS_OK;
    uint32_t at = position(self, key, &there);
    *result = there ? OBJECT_OK : OBJECT_ABSENT;
    if (there) {
        *info = self->objects[at].info;
    }
    pthread_mutex_unlock(&self->mutex);
    return status;
}

static enum status memory_remove(struct object_store *base, const char *key, const char *etag, enum object_result *result,
                                 struct error *err)
{
    struct memory_store *self = (struct memory_store *)base;
    bool there;
    pthread_mutex_lock(&self->mutex);
    enum memory_fault fault = fault_now(self);
    uint32_t at = position(self, key, &there);
    bool met = there && (etag == NULL || strcmp(etag, self->objects[at].info.etag) == 0);
    *result = met ? OBJECT_OK : there ? OBJECT_CONFLICT : OBJECT_ABSENT;
    if (met && (fault == MEMORY_FAULT_NONE || fault == MEMORY_FAULT_UNKNOWN_DONE)) {
        erase(self, at);
    }
    if (fault != MEMORY_FAULT_NONE) {
        *result = OBJECT_UNKNOWN;
    }
    pthread_mutex_unlock(&self->mutex);
    return fault == MEMORY_FAULT_UNAVAILABLE ? no_answer(key, err) : STATUS_OK;
}

static enum status memory_list(struct object_store *base, const char *prefix, const char *after, object_visit visit, void *context,
                               struct error *err)
{
    struct memory_store *self = (struct memory_store *)base;
    bool stop = false;
    pthread_mutex_lock(&self->mutex);
    enum status status = fault_now(self) != MEMORY_FAULT_NONE ? no_answer(prefix, err) : STATUS_OK;
    pthread_mutex_unlock(&self->mutex);
    for (uint32_t i = 0; i < self->count && !stop && status == STATUS_OK; i++) {
        const struct memory_object *object = &self->objects[i];
        if (strncmp(object->key, prefix, strlen(prefix)) == 0 && (after == NULL || strcmp(object->key, after) > 0)) {
            status = visit(context, object->key, &object->info, &stop, err);
        }
    }
    return status;
}

static struct object_caps memory_caps(const struct object_store *base)
{
    (void)base;
    return (struct object_caps){.conditional_put = true};
}

static void memory_close(struct object_store *base)
{
    (void)base;
}

static const struct object_driver memory_driver = {
    .abi = OBJECT_DRIVER_ABI,
    .scheme = "mem",
    .put = memory_put,
    .get = memory_get,
    .head = memory_head,
    .remove = memory_remove,
    .list = memory_list,
    .caps = memory_caps,
    .close = memory_close,
};

struct memory_store *memory_store_create(const struct clock *clock)
{
    struct memory_store *self = calloc(1, sizeof *self);
    self->base.driver = &memory_driver;
    self->clock = clock;
    pthread_mutex_init(&self->mutex, NULL);
    return self;
}

struct object_store *memory_store_objects(struct memory_store *store)
{
    return &store->base;
}

void memory_store_destroy(struct memory_store *store)
{
    while (store->count > 0) {
        erase(store, store->count - 1);
    }
    free(store->late.bytes);
    free(store->objects);
    pthread_mutex_destroy(&store->mutex);
    free(store);
}

void memory_store_fail(struct memory_store *store, uint64_t call, enum memory_fault fault, bool lasting)
{
    store->calls = 0;
    store->fail_at = call;
    store->fault = fault;
    store->lasting = lasting;
}

uint64_t memory_store_calls(const struct memory_store *store)
{
    return store->calls;
}

uint64_t memory_store_count(const struct memory_store *store)
{
    return store->count;
}

bool memory_store_has(const struct memory_store *store, const char *key)
{
    bool there;
    position(store, key, &there);
    return there;
}

void memory_store_damage(struct memory_store *store, const char *key, size_t at)
{
    bool there;
    store->objects[position(store, key, &there)].bytes[at] ^= 4;
}

void memory_store_truncate(struct memory_store *store, const char *key, size_t length)
{
    bool there;
    store->objects[position(store, key, &there)].info.bytes = length;
}

bool memory_store_take(struct memory_store *store, const char *key)
{
    bool there;
    uint32_t at = position(store, key, &there);
    if (there) {
        erase(store, at);
    }
    return there;
}

const char *memory_store_find(const struct memory_store *store, const char *part, uint32_t nth)
{
    for (uint32_t i = 0; i < store->count; i++) {
        if (strstr(store->objects[i].key, part) != NULL && nth-- == 0) {
            return store->objects[i].key;
        }
    }
    return NULL;
}
