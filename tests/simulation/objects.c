/* The simulated object store: the real stores of storage/ run over it. Its clock is the world's wall clock, which runs fast: a day in seconds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/hash.h"
#include "objects.h"

/* ---- the service's side ---- */

static struct simulated_object *find_object(struct world *world, const char *key, bool make)
{
    uint32_t hash = (uint32_t)hash_bytes(key, strlen(key)), hole = UINT32_MAX;
    for (uint32_t i = 0; i < world->object_count; i++) {
        if (world->objects[i].key == NULL) {
            hole = i;
        } else if (world->objects[i].hash == hash && strcmp(world->objects[i].key, key) == 0) {
            return &world->objects[i];
        }
    }
    if (!make) {
        return NULL;
    }
    if (hole == UINT32_MAX) {
        if (world->object_count == world->object_capacity) {
            world->object_capacity = world->object_capacity == 0 ? 64 : 2 * world->object_capacity;
            world->objects = realloc(world->objects, world->object_capacity * sizeof *world->objects);
        }
        hole = world->object_count++;
    }
    world->objects[hole] = (struct simulated_object){.key = strdup(key), .hash = hash};
    return &world->objects[hole];
}

static void drop_object(struct simulated_object *object)
{
    free(object->key);
    free(object->bytes);
    *object = (struct simulated_object){0};
}

const struct simulated_object *objects_find(struct world *world, const char *key)
{
    return find_object(world, key, false);
}

static struct object_info info_of(const struct simulated_object *object)
{
    struct object_info info = {.bytes = object->length, .modified_us = object->modified_us, .has_crc32c = true};
    struct cluster_version etag = services_version(object->version);
    snprintf(info.etag, sizeof info.etag, "%s", etag.token);
    info.crc32c = crc32c_extend(0, object->bytes, object->length);
    return info;
}

/* The description, then the bytes. */
static void give(struct operation *operation, const struct simulated_object *object, bool whole)
{
    struct object_info info = info_of(object);
    operation->answer = malloc(sizeof info + object->length);
    memcpy(operation->answer, &info, sizeof info);
    operation->answer_length = sizeof info;
    if (whole) {
        memcpy(operation->answer + sizeof info, object->bytes, object->length);
        operation->answer_length += object->length;
    }
}

static void get(struct world *world, struct operation *operation)
{
    const struct simulated_object *object = find_object(world, operation->name, false);
    if (services_read_fails(world)) {
        operation->status = STATUS_UNAVAILABLE;
    } else if (object == NULL) {
        operation->result = CLUSTER_ABSENT;
    } else {
        give(operation, object, operation->call == CALL_OBJECT_GET);
    }
}

static bool condition_holds(const struct operation *operation, const struct simulated_object *object)
{
    if (operation->create) {
        return object == NULL;
    }
    return operation->version.token[0] == '\0' || (object != NULL && services_same_version(&operation->version, object->version));
}

static void put(struct world *world, struct operation *operation)
{
    struct simulated_object *object = find_object(world, operation->name, false);
    if (!condition_holds(operation, object)) {
        operation->result = CLUSTER_CONFLICT;
        return;
    }
    object = find_object(world, operation->name, true);
    free(object->bytes);
    object->bytes = operation->bytes;
    object->length = operation->length;
    object->modified_us = world_store_us(world);
    object->version = ++world->order;
    operation->bytes = NULL;
    give(operation, object, false);
}

static void drop(struct world *world, struct operation *operation)
{
    struct simulated_object *object = find_object(world, operation->name, false);
    if (object == NULL) {
        operation->result = CLUSTER_ABSENT;
    } else if (!condition_holds(operation, object)) {
        operation->result = CLUSTER_CONFLICT;
    } else {
        checks_object_removed(world, operation);
        drop_object(object);
    }
}

static int compare_objects(const void *left, const void *right)
{
    return strcmp((*(const struct simulated_object *const *)left)->key, (*(const struct simulated_object *const *)right)->key);
}

static void list(struct world *world, struct operation *operation)
{
    const struct simulated_object **found = malloc((world->object_count + 1) * sizeof *found);
    size_t bytes = 0, prefix = strlen(operation->name);
    uint32_t count = 0;
    for (uint32_t i = 0; i < world->object_count; i++) {
        if (world->objects[i].key != NULL && strncmp(world->objects[i].key, operation->name, prefix) == 0) {
            found[count++] = &world->objects[i];
            bytes += sizeof(struct object_info) + strlen(world->objects[i].key) + 1;
        }
    }
    qsort(found, count, sizeof *found, compare_objects);
    operation->answer = malloc(bytes + 1);
    operation->answer_count = count;
    char *at = operation->answer;
    for (uint32_t i = 0; i < count; i++) {
        struct object_info info = info_of(found[i]);
        memcpy(at, &info, sizeof info);
        memcpy(at + sizeof info, found[i]->key, strlen(found[i]->key) + 1);
        at += sizeof info + strlen(found[i]->key) + 1;
    }
    free(found);
    if (services_read_fails(world)) {
        operation->status = STATUS_UNAVAILABLE;
    }
}

void objects_execute(struct world *world, struct operation *operation)
{
    static void (*const calls[CALL_COUNT])(struct world *, struct operation *) = {
        [CALL_OBJECT_GET] = get, [CALL_OBJECT_HEAD] = get, [CALL_OBJECT_PUT] = put, [CALL_OBJECT_REMOVE] = drop, [CALL_OBJECT_LIST] = list};
    calls[operation->call](world, operation);
}

void objects_close(struct world *world)
{
    for (uint32_t i = 0; i < world->object_count; i++) {
        drop_object(&world->objects[i]);
    }
    free(world->objects);
}

/* ---- the driver ---- */

struct fiber_store {
    struct object_store base;
    struct fiber *fiber;
};

static struct operation *request(struct object_store *store, enum call call, const char *key)
{
    struct fiber *fiber = ((struct fiber_store *)store)->fiber;
    struct operation *operation = session_request(fiber, call, key);
    operation->service = SERVICE_STORAGE;
    return operation;
}

static enum status unavailable(const char *key, struct error *err)
{
    return error_set(err, ERROR_STORE_UNAVAILABLE, "no answer about '%s'", key);
}

/* `unknown`: a write, of which no answer says nothing. */
static enum status ask(struct object_store *store, struct operation *operation, bool unknown, enum object_result *result, struct error *err)
{
    static const enum object_result results[] = {
        [CLUSTER_OK] = OBJECT_OK, [CLUSTER_ABSENT] = OBJECT_ABSENT, [CLUSTER_CONFLICT] = OBJECT_CONFLICT};
    enum awaited awaited = fiber_await(((struct fiber_store *)store)->fiber, operation);
    if (awaited == AWAITED_NOTHING && unknown) {
        *result = OBJECT_UNKNOWN;
        return STATUS_OK;
    }
    if (awaited != AWAITED_ANSWER || operation->status != STATUS_OK) {
        return unavailable(operation->name, err);
    }
    *result = results[operation->result];
    return STATUS_OK;
}

static void take_info(const struct operation *operation, enum status status, enum object_result result, struct object_info *info)
{
    if (status == STATUS_OK && result == OBJECT_OK && info != NULL) {
        memcpy(info, operation->answer, sizeof *info);
    }
}

static enum status store_put_object(struct object_store *store, const char *key, const struct object_source *source,
                                    enum put_condition condition, const char *etag, enum object_result *result, struct object_info *info,
                                    struct error *err)
{
    size_t length = 1;
    struct operation *operation = request(store, CALL_OBJECT_PUT, key);
    operation->bytes = malloc(source->bytes + 1);
    operation->create = condition == PUT_IF_ABSENT;
    if (condition == PUT_IF_MATCH) {
        snprintf(operation->version.token, sizeof operation->version.token, "%s", etag);
    }
    enum status status = STATUS_OK;
    while (status == STATUS_OK && length > 0 && operation->length < source->bytes) {
        status = source->read(source->context, operation->length, operation->bytes + operation->length, source->bytes - operation->length,
                              &length, err);
        operation->length += status == STATUS_OK ? length : 0;
    }
    if (status == STATUS_OK) {
        status = ask(store, operation, true, result, err);
        take_info(operation, status, *result, info);
    } else {
        operation_unref(operation);
    }
    operation_unref(operation);
    return status;
}

static enum status store_get_object(struct object_store *store, const char *key, uint64_t offset, uint64_t length,
                                    const struct object_sink *sink, enum object_result *result, struct object_info *info, struct error *err)
{
    struct operation *operation = request(store, CALL_OBJECT_GET, key);
    enum status status = ask(store, operation, false, result, err);
    take_info(operation, status, *result, info);
    if (status == STATUS_OK && *result == OBJECT_OK) {
        size_t all = operation->answer_length - sizeof *info, from = offset < all ? offset : all;
        size_t part = length < all - from ? length : all - from;
        status = sink->write(sink->context, operation->answer + sizeof *info + from, part, err);
    }
    operation_unref(operation);
    return status;
}

static enum status store_head_object(struct object_store *store, const char *key, enum object_result *result, struct object_info *info,
                                     struct error *err)
{
    struct operation *operation = request(store, CALL_OBJECT_HEAD, key);
    enum status status = ask(store, operation, false, result, err);
    take_info(operation, status, *result, info);
    operation_unref(operation);
    return status;
}

static enum status store_remove_object(struct object_store *store, const char *key, const char *etag, enum object_result *result,
                                       struct error *err)
{
    struct operation *operation = request(store, CALL_OBJECT_REMOVE, key);
    if (etag != NULL) {
        snprintf(operation->version.token, sizeof operation->version.token, "%s", etag);
    }
    enum status status = ask(store, operation, true, result, err);
    operation_unref(operation);
    return status;
}

static enum status store_list_objects(struct object_store *store, const char *prefix, const char *after, object_visit visit, void *context,
                                      struct error *err)
{
    struct operation *operation = request(store, CALL_OBJECT_LIST, prefix);
    enum object_result result;
    bool stop = false;
    enum status status = ask(store, operation, false, &result, err);
    const char *at = operation->answer;
    for (uint32_t i = 0; status == STATUS_OK && i < operation->answer_count && !stop; i++) {
        struct object_info info;
        memcpy(&info, at, sizeof info);
        const char *key = at + sizeof info;
        at = key + strlen(key) + 1;
        if (after == NULL || strcmp(key, after) > 0) {
            status = visit(context, key, &info, &stop, err);
        }
    }
    operation_unref(operation);
    return status;
}

static struct object_caps store_caps(const struct object_store *store)
{
    (void)store;
    return (struct object_caps){.conditional_put = true};
}

static void store_close(struct object_store *store)
{
    free(store);
}

static const struct object_driver simulated_objects = {.abi = OBJECT_DRIVER_ABI,
                                                       .scheme = "simulated",
                                                       .put = store_put_object,
                                                       .get = store_get_object,
                                                       .head = store_head_object,
                                                       .remove = store_remove_object,
                                                       .list = store_list_objects,
                                                       .caps = store_caps,
                                                       .close = store_close};

static enum status open_store(void *context, const char *uri, struct object_store **store, struct error *err)
{
    struct fiber_store *made = malloc(sizeof *made);
    (void)uri, (void)err;
    *made = (struct fiber_store){{&simulated_objects}, context};
    *store = &made->base;
    return STATUS_OK;
}

enum status objects_open_storage(struct fiber *fiber, struct storage **storage, struct error *err)
{
    char grace[40];
    snprintf(grace, sizeof grace, "%lld ms", (long long)(objects_grace_us(fiber->world) * WALL_RATE / 1000));
    const struct object_option options[] = {{"storage.uri", "simulated://objects"}, {"storage.gc.grace", grace}};
    const struct object_environment environment = {.clock = &fiber->clock.clock, .random_seed = world_random(fiber->world) | 1};
    const struct storage_settings settings = {
        .options = options, .option_count = 2, .environment = &environment, .open = open_store, .open_context = fiber};
    return storage_open(&settings, storage, err);
}

/* Longer than the longest freeze, and a checkpoint behind it, with patience to spare. */
int64_t objects_grace_us(const struct world *world)
{
    return 4 * world->timing.lease_ttl.us + 20 * SECOND;
}
