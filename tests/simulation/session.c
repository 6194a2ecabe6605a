/* The simulated driver: registers of bytes and named leases. What comes back of a read may be an error, or bytes with a bit flipped. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "objects.h"

/* ---- the service's side ---- */

static uint32_t find_register(struct world *world, const char *name, bool make)
{
    uint32_t hash = (uint32_t)hash_bytes(name, strlen(name));
    for (uint32_t i = 0; i < world->register_count; i++) {
        if (world->registers[i].hash == hash && strcmp(world->registers[i].name, name) == 0) {
            return i;
        }
    }
    if (!make) {
        return UINT32_MAX;
    }
    if (world->register_count == world->register_capacity) {
        world->register_capacity = world->register_capacity == 0 ? 64 : 2 * world->register_capacity;
        world->registers = realloc(world->registers, world->register_capacity * sizeof *world->registers);
    }
    world->registers[world->register_count] = (struct simulated_register){.name = strdup(name), .hash = hash};
    return world->register_count++;
}

const struct simulated_register *services_register(struct world *world, const char *name)
{
    uint32_t place = find_register(world, name, false);
    return place == UINT32_MAX || world->registers[place].bytes == NULL ? NULL : &world->registers[place];
}

static void flip(struct world *world, struct operation *operation)
{
    operation->answer[world_below(world, (uint32_t)operation->answer_length)] ^= (char)(1 << world_below(world, 8));
    SOMETIMES(FLIPPED);
}

static void get(struct world *world, struct operation *operation)
{
    const struct simulated_register *found = services_register(world, operation->name);
    bool fails = services_read_fails(world), flipped = fails && found != NULL && found->length > 0 && world_chance(world, 50);
    if (fails && !flipped) {
        operation->status = STATUS_UNAVAILABLE;
        return;
    }
    if (found == NULL) {
        operation->result = CLUSTER_ABSENT;
        return;
    }
    operation->answer = malloc(found->length + 1);
    memcpy(operation->answer, found->bytes, found->length);
    operation->answer_length = found->length;
    operation->answer_version = services_version(found->version);
    if (flipped) {
        flip(world, operation);
    }
}

static void put(struct world *world, struct operation *operation)
{
    uint32_t place = find_register(world, operation->name, true);
    struct simulated_register *found = &world->registers[place];
    if (operation->create ? found->bytes != NULL : found->bytes == NULL || !services_same_version(&operation->version, found->version)) {
        operation->result = CLUSTER_CONFLICT;
        return;
    }
    checks_register_written(world, operation, found);
    free(found->bytes);
    found->bytes = operation->bytes;
    found->length = operation->length;
    operation->bytes = NULL;
    operation->answer_version = services_version(found->version = ++world->order); /* never used twice */
}

static void del(struct world *world, struct operation *operation)
{
    uint32_t place = find_register(world, operation->name, true);
    struct simulated_register *found = &world->registers[place];
    if (found->bytes == NULL) {
        operation->result = CLUSTER_ABSENT;
    } else if (!services_same_version(&operation->version, found->version)) {
        operation->result = CLUSTER_CONFLICT;
    } else {
        sometimes_hits[SOMETIMES_LOG_CUT] += strncmp(operation->name, "jobs/j/ctl/", 11) == 0;
        free(found->bytes);
        found->bytes = NULL;
    }
}

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* The names as texts behind each other. */
static void list(struct world *world, struct operation *operation)
{
    const char **names = malloc((world->register_count + 1) * sizeof *names);
    size_t bytes = 1, prefix = strlen(operation->name);
    uint32_t count = 0;
    for (uint32_t i = 0; i < world->register_count; i++) {
        if (world->registers[i].bytes != NULL && strncmp(world->registers[i].name, operation->name, prefix) == 0) {
            names[count++] = world->registers[i].name;
            bytes += strlen(world->registers[i].name) + 1;
        }
    }
    qsort(names, count, sizeof *names, compare_names);
    operation->answer = malloc(bytes);
    operation->answer_length = 0;
    for (uint32_t i = 0; i < count; i++) {
        size_t length = strlen(names[i]) + 1;
        memcpy(operation->answer + operation->answer_length, names[i], length);
        operation->answer_length += length;
    }
    operation->answer_count = count;
    free(names);
    if (services_read_fails(world)) {
        operation->status = STATUS_UNAVAILABLE;
    }
}

static struct named_lease *find_lease(struct world *world, const char *name)
{
    uint32_t i = 0;
    while (i < world->lease_count && strcmp(world->leases[i].name, name) != 0) {
        i++;
    }
    if (i == world->lease_count && i < NAMED_LEASE_MAX) {
        world->lease_count++;
        snprintf(world->leases[i].name, sizeof world->leases[i].name, "%s", name);
    }
    return &world->leases[i];
}

static void acquire(struct world *world, struct operation *operation)
{
    struct named_lease *lease = find_lease(world, operation->name);
    bool stolen = world->faults[FAULT_STEAL_LEASE] && !world->calm && world_chance(world, 10);
    if (world->now_us < lease->until_us && !stolen) {
        operation->result = CLUSTER_CONFLICT;
        return;
    }
    lease->until_us = world->now_us + operation->ttl_us;
    operation->fence = ++lease->fence;
}

static void renew(struct world *world, struct operation *operation)
{
    struct named_lease *lease = find_lease(world, operation->name);
    if (lease->fence != operation->fence || lease->until_us == 0) {
        operation->result = CLUSTER_CONFLICT;
    } else {
        lease->until_us = world->now_us + operation->ttl_us;
    }
}

static void release(struct world *world, struct operation *operation)
{
    struct named_lease *lease = find_lease(world, operation->name);
    if (lease->fence == operation->fence) {
        lease->until_us = 0;
    }
}

static const char *const call_texts[CALL_COUNT] = {[CALL_GET] = "get",
                                                   [CALL_PUT] = "put",
                                                   [CALL_DEL] = "del",
                                                   [CALL_LIST] = "list",
                                                   [CALL_ACQUIRE] = "acquire",
                                                   [CALL_RENEW] = "renew",
                                                   [CALL_RELEASE] = "release",
                                                   [CALL_OBJECT_GET] = "object get",
                                                   [CALL_OBJECT_HEAD] = "object head",
                                                   [CALL_OBJECT_PUT] = "object put",
                                                   [CALL_OBJECT_REMOVE] = "object remove",
                                                   [CALL_OBJECT_LIST] = "object list",
                                                   [CALL_SHOW] = "show"};

void session_execute(struct world *world, struct operation *operation)
{
    static void (*const calls[CALL_COUNT])(struct world *, struct operation *) = {
        [CALL_GET] = get,         [CALL_PUT] = put,     [CALL_DEL] = del,        [CALL_LIST] = list,
        [CALL_ACQUIRE] = acquire, [CALL_RENEW] = renew, [CALL_RELEASE] = release};
    if (operation->call == CALL_SHOW) {
        commits_check_show(world, operation);
    } else if (calls[operation->call] != NULL) {
        calls[operation->call](world, operation);
    } else {
        objects_execute(world, operation);
    }
    world_log(world, "  %s %s %s: status %d, result %d%s %.*s", world->processes[operation->process].id, call_texts[operation->call],
              operation->name, (int)operation->status, (int)operation->result, operation->done ? ", late," : "",
              operation->call == CALL_GET ? (int)operation->answer_length : 0, operation->answer == NULL ? "" : operation->answer);
}

void session_close(struct world *world)
{
    for (uint32_t i = 0; i < world->register_count; i++) {
        free(world->registers[i].name);
        free(world->registers[i].bytes);
    }
    free(world->registers);
}

/* ---- the caller's side ---- */

struct operation *session_request(struct fiber *fiber, enum call call, const char *name)
{
    struct operation *operation = operation_new(fiber->world, fiber->process, fiber->service);
    operation->references++; /* the caller's */
    operation->call = call;
    operation->name = strdup(name);
    return operation;
}

enum status session_unavailable(struct error *err)
{
    return error_set(err, ERROR_CLUSTER_UNAVAILABLE, "the simulated service does not answer");
}

/* OK: there is a result. `unknown`: what no answer means. */
static enum status ask(struct fiber *fiber, struct operation *operation, bool unknown, enum cluster_result *result, struct error *err)
{
    enum awaited awaited = fiber_await(fiber, operation);
    if (awaited == AWAITED_NOTHING && unknown) {
        *result = CLUSTER_UNKNOWN;
        return STATUS_OK;
    }
    if (awaited != AWAITED_ANSWER || operation->status != STATUS_OK) {
        return session_unavailable(err);
    }
    *result = operation->result;
    return STATUS_OK;
}

static enum status session_get(struct cluster_session *session, const char *name, struct arena *arena, enum cluster_result *result,
                               struct cluster_value *value, struct error *err)
{
    struct operation *operation = session_request((struct fiber *)session, CALL_GET, name);
    enum status status = ask((struct fiber *)session, operation, false, result, err);
    if (status == STATUS_OK && *result == CLUSTER_OK) {
        value->bytes = (struct text){arena_text(arena, operation->answer, operation->answer_length), operation->answer_length};
        value->version = operation->answer_version;
    }
    operation_unref(operation);
    return status;
}

static enum status session_put(struct cluster_session *session, const char *name, struct text value, const struct cluster_version *expect,
                               enum cluster_result *result, struct cluster_version *version, struct error *err)
{
    TRY(cluster_put_check(name, value, err));
    struct operation *operation = session_request((struct fiber *)session, CALL_PUT, name);
    operation->create = expect == NULL;
    operation->version = expect == NULL ? (struct cluster_version){0} : *expect;
    operation->bytes = malloc(value.length + 1);
    memcpy(operation->bytes, value.bytes, value.length);
    operation->length = value.length;
    enum status status = ask((struct fiber *)session, operation, true, result, err);
    if (status == STATUS_OK && *result == CLUSTER_OK) {
        *version = operation->answer_version;
    }
    operation_unref(operation);
    return status;
}

static enum status session_del(struct cluster_session *session, const char *name, const struct cluster_version *expect,
                               enum cluster_result *result, struct error *err)
{
    struct operation *operation = session_request((struct fiber *)session, CALL_DEL, name);
    operation->version = *expect;
    enum status status = ask((struct fiber *)session, operation, true, result, err);
    operation_unref(operation);
    return status;
}

static enum status session_list(struct cluster_session *session, const char *prefix, struct arena *arena, struct cluster_names *names,
                                struct error *err)
{
    struct operation *operation = session_request((struct fiber *)session, CALL_LIST, prefix);
    enum cluster_result result;
    enum status status = ask((struct fiber *)session, operation, false, &result, err);
    if (status == STATUS_OK) {
        const char *at = arena_copy(arena, operation->answer, operation->answer_length);
        names->count = operation->answer_count;
        names->names = arena_alloc(arena, (names->count + 1) * sizeof *names->names);
        for (uint32_t i = 0; i < names->count; i++, at += strlen(at) + 1) {
            names->names[i] = at;
        }
    }
    operation_unref(operation);
    return status;
}

static enum status session_watch(struct cluster_session *session, const char *prefix, cluster_hint_fn hint, void *context,
                                 struct error *err)
{
    (void)session, (void)prefix, (void)hint, (void)context, (void)err; /* without hints */
    return STATUS_OK;
}

struct session_lease {
    struct cluster_lease base;
    int64_t ttl_us;
    char name[];
};

static enum status session_acquire(struct cluster_session *session, const char *name, const char *holder, int64_t ttl_us,
                                   enum cluster_result *result, struct cluster_lease **lease, char held_by[CLUSTER_HOLDER_MAX],
                                   struct error *err)
{
    struct fiber *fiber = (struct fiber *)session;
    if (fiber->leases_in_registers) {
        return lease_register_acquire(&fiber->leases, name, holder, ttl_us, result, lease, held_by, err);
    }
    struct operation *operation = session_request(fiber, CALL_ACQUIRE, name);
    operation->ttl_us = ttl_us;
    held_by[0] = '\0';
    enum status status = ask(fiber, operation, true, result, err);
    if (status == STATUS_OK && *result == CLUSTER_OK) {
        struct session_lease *made = malloc(sizeof *made + strlen(name) + 1);
        *made = (struct session_lease){{session, operation->fence}, ttl_us};
        memcpy(made->name, name, strlen(name) + 1);
        *lease = &made->base;
    }
    operation_unref(operation);
    return status;
}

static enum status session_renew(struct cluster_lease *lease, enum cluster_result *result, struct error *err)
{
    struct fiber *fiber = (struct fiber *)lease->session;
    const struct session_lease *own = (const struct session_lease *)lease;
    if (fiber->leases_in_registers) {
        return lease_register_renew(lease, result, err);
    }
    struct operation *operation = session_request(fiber, CALL_RENEW, own->name);
    operation->ttl_us = own->ttl_us;
    operation->fence = lease->fence;
    enum status status = ask(fiber, operation, true, result, err);
    operation_unref(operation);
    return status;
}

static enum status session_release(struct cluster_lease *lease, struct error *err)
{
    struct fiber *fiber = (struct fiber *)lease->session;
    enum cluster_result result;
    if (fiber->leases_in_registers) {
        return lease_register_release(lease, err);
    }
    struct operation *operation = session_request(fiber, CALL_RELEASE, ((const struct session_lease *)lease)->name);
    operation->fence = lease->fence;
    enum status status = ask(fiber, operation, true, &result, err);
    operation_unref(operation);
    free(lease);
    return status;
}

const struct cluster_driver simulated_driver = {.abi = CLUSTER_DRIVER_ABI,
                                                .scheme = "simulated",
                                                .get = session_get,
                                                .put = session_put,
                                                .del = session_del,
                                                .list = session_list,
                                                .watch = session_watch,
                                                .lease_acquire = session_acquire,
                                                .lease_renew = session_renew,
                                                .lease_release = session_release};
