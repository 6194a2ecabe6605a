/* The driver azure: registers are blobs, leases are leases of blobs; and the table of the module, which has the driver of stores, too.
 *
 * Lease    The blob of a lease holds what cluster/lease_register.h says, written under the lease: its fence is one more than the last one's,
 *          and nobody but the holder of the lease can have written it. A lease that expired may be renewed by its old holder as long as
 *          nobody else took it.
 * Hints    None: the service has no cheap ones. Whoever watches polls. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/module.h"
#include "build_id.h"
#include "cluster/lease_register.h"
#include "cluster/objects.h"
#include "storage/azure_store.h"

enum { TTL_MIN_S = 15, TTL_MAX_S = 60, ID_BYTES = 37, ATTEMPTS = 4 };

struct azure_session {
    struct cluster_session base;
    struct object_store *store;
    struct random_source random;
    pthread_mutex_t mutex; /* of the list */
    struct azure_lease *leases;
};
struct azure_lease {
    struct cluster_lease base;
    struct azure_lease *next;
    char *name;
    char id[ID_BYTES];
    struct lease_value value; /* as it was written */
    struct object_info info;
    bool lost;
};

/* ---- requests about leases ---- */

static enum status ask(struct azure_lease *lease, const char *action, enum object_result *verdict, struct error *err)
{
    struct http_store *store = (struct http_store *)((struct azure_session *)lease->base.session)->store;
    struct http_request request = {.method = "PUT"};
    struct http_response response = {0};
    bool acquires = strcmp(action, "acquire") == 0;
    http_store_object_path(store, lease->name, &request.path);
    http_query_add(&request, "comp", "lease");
    http_header_add(&request, "x-ms-lease-action", "%s", action);
    http_header_add(&request, acquires ? "x-ms-proposed-lease-id" : "x-ms-lease-id", "%s", lease->id);
    if (acquires) {
        http_header_add(&request, "x-ms-lease-duration", "%" PRId64, lease->value.ttl_us / 1000000);
    }
    enum status status = http_store_call(store, &request, &response, lease->name, verdict, err);
    if (status == STATUS_OK && *verdict == OBJECT_UNKNOWN) {
        status = error_set(err, ERROR_CLUSTER_UNAVAILABLE, "the service is busy with the lease '%.300s'", lease->name);
    }
    http_request_close(&request);
    http_response_close(&response);
    return status;
}

/* What the blob says; ABSENT: there is none. */
static enum status read_value(struct azure_lease *lease, enum object_result *found, struct lease_value *value, struct error *err)
{
    struct object_store *store = ((struct azure_session *)lease->base.session)->store;
    struct budget budget;
    struct arena *arena;
    char *bytes;
    size_t length;
    budget_init(&budget, NULL, "a lease", BUDGET_UNLIMITED);
    TRY(object_get_bytes(store, lease->name, CLUSTER_VALUE_MAX, found, &bytes, &length, &lease->info, err));
    if (*found != OBJECT_OK) {
        return STATUS_OK;
    }
    arena = arena_create(&budget, "a lease");
    enum status status = arena == NULL ? error_set(err, ERROR_BUDGET_SPENT, "no room for a lease")
                                       : lease_value_read(lease->name, (struct text){bytes, length}, arena, value, err);
    arena_destroy(arena);
    free(bytes);
    return status;
}

static enum status read_bytes(void *context, uint64_t offset, void *buffer, size_t capacity, size_t *length, struct error *err)
{
    const struct text *text = context;
    size_t left = offset >= text->length ? 0 : text->length - (size_t)offset;
    *length = left < capacity ? left : capacity;
    memcpy(buffer, text->bytes + offset, *length);
    return STATUS_OK;
}

/* Writes the value: under the lease, or (`first`) where there is none yet. */
static enum status write_value(struct azure_lease *lease, bool first, enum object_result *result, struct error *err)
{
    struct object_store *store = ((struct azure_session *)lease->base.session)->store;
    struct budget budget;
    struct arena *arena;
    struct text text;
    struct object_info info = {.etag = ""};
    budget_init(&budget, NULL, "a lease", BUDGET_UNLIMITED);
    TRY_ALLOC(arena, arena_create(&budget, "a lease"), err);
    enum status status = lease_value_write(&lease->value, arena, &text, err);
    if (status == STATUS_OK) {
        struct object_source source = {.bytes = text.length, .read = read_bytes, .context = &text};
        status = first ? http_store_put(store, lease->name, &source, PUT_IF_ABSENT, NULL, result, &info, err)
                       : http_store_put_leased(store, lease->name, &source, lease->info.etag, lease->id, result, &info, err);
    }
    if (status == STATUS_OK && *result == OBJECT_OK) {
        lease->info = info;
    }
    arena_destroy(arena);
    return status;
}

/* ---- acquire ---- */

static enum status make_blob(struct azure_lease *lease, struct error *err)
{
    struct lease_value kept = lease->value;
    enum object_result result;
    lease->value = (struct lease_value){.ttl_us = kept.ttl_us};
    enum status status = write_value(lease, true, &result, err); /* another may have made it */
    lease->value = kept;
    return status;
}

/* The lease is ours: the blob must say so, with a fence that was never before. *result CONFLICT: it was taken from us already. */
static enum status take_over(struct azure_lease *lease, enum object_result *result, struct error *err)
{
    struct lease_value there = {.holder = ""};
    TRY(read_value(lease, result, &there, err));
    if (*result != OBJECT_OK) {
        return STATUS_OK;
    }
    lease->value.fence = there.fence + 1;
    lease->value.beat = there.beat + 1;
    TRY(write_value(lease, false, result, err));
    if (*result == OBJECT_UNKNOWN) {
        TRY(read_value(lease, result, &there, err));
        *result = *result == OBJECT_OK && strcmp(there.nonce, lease->value.nonce) == 0 ? OBJECT_OK : OBJECT_CONFLICT;
    }
    lease->base.fence = (uint64_t)lease->value.fence;
    return STATUS_OK;
}

static void free_lease(struct azure_lease *lease)
{
    free(lease->name);
    free(lease);
}

/* *verdict: OK granted, CONFLICT another has it, ABSENT: try again. */
static enum status try_acquire(struct azure_lease *lease, enum object_result *verdict, char held_by[CLUSTER_HOLDER_MAX], struct error *err)
{
    struct lease_value there = {.holder = ""};
    enum object_result ignored;
    TRY(ask(lease, "acquire", verdict, err));
    if (*verdict == OBJECT_ABSENT) {
        return make_blob(lease, err);
    }
    if (*verdict == OBJECT_CONFLICT) {
        TRY(read_value(lease, &ignored, &there, err));
        snprintf(held_by, CLUSTER_HOLDER_MAX, "%s", there.holder);
        return STATUS_OK;
    }
    enum status status = take_over(lease, verdict, err);
    if (status != STATUS_OK || *verdict != OBJECT_OK) { /* nobody shall wait for us */
        struct error unsaid;
        (void)ask(lease, "release", &ignored, &unsaid);
    }
    return status;
}

static enum status create_lease(struct azure_session *self, const char *name, const char *holder, int64_t ttl_us,
                                struct azure_lease **lease, struct error *err)
{
    struct azure_lease *made = calloc(1, sizeof *made);
    char *copy = strdup(name);
    if (made == NULL || copy == NULL) {
        free(made);
        free(copy);
        return error_set(err, ERROR_BUDGET_SPENT, "no room for a lease");
    }
    *made = (struct azure_lease){.base.session = &self->base, .name = copy, .value.ttl_us = ttl_us};
    snprintf(made->value.holder, sizeof made->value.holder, "%s", holder);
    random_name(&self->random, made->value.nonce);
    const char *n = made->value.nonce; /* 32 hexadecimal digits: written as a GUID */
    snprintf(made->id, sizeof made->id, "%.8s-%.4s-%.4s-%.4s-%.12s", n, n + 8, n + 12, n + 16, n + 20);
    *lease = made;
    return STATUS_OK;
}

static enum status check_ttl(int64_t ttl_us, struct error *err)
{
    if (ttl_us % 1000000 == 0 && ttl_us >= TTL_MIN_S * INT64_C(1000000) && ttl_us <= TTL_MAX_S * INT64_C(1000000)) {
        return STATUS_OK;
    }
    return error_set(err, ERROR_CLUSTER_LEASE, "a lease of %" PRId64 " ms; Azure's are of %d to %d whole seconds", ttl_us / 1000, TTL_MIN_S,
                     TTL_MAX_S);
}

static enum status azure_lease_acquire(struct cluster_session *session, const char *name, const char *holder, int64_t ttl_us,
                                       enum cluster_result *result, struct cluster_lease **lease, char held_by[CLUSTER_HOLDER_MAX],
                                       struct error *err)
{
    struct azure_session *self = (struct azure_session *)session;
    struct azure_lease *made;
    enum object_result verdict = OBJECT_ABSENT;
    enum status status = STATUS_OK;
    TRY(cluster_lease_check(name, holder, ttl_us, err));
    TRY(check_ttl(ttl_us, err));
    TRY(create_lease(self, name, holder, ttl_us, &made, err));
    held_by[0] = '\0';
    for (uint32_t i = 0; i < ATTEMPTS && status == STATUS_OK && verdict == OBJECT_ABSENT; i++) {
        status = try_acquire(made, &verdict, held_by, err);
    }
    *result = verdict == OBJECT_OK ? CLUSTER_OK : CLUSTER_CONFLICT;
    if (status != STATUS_OK || verdict != OBJECT_OK) {
        free_lease(made);
        return status;
    }
    pthread_mutex_lock(&self->mutex);
    made->next = self->leases;
    self->leases = made;
    pthread_mutex_unlock(&self->mutex);
    *lease = &made->base;
    return STATUS_OK;
}

/* ---- renew, release ---- */

static enum status azure_lease_renew(struct cluster_lease *base, enum cluster_result *result, struct error *err)
{
    struct azure_lease *lease = (struct azure_lease *)base;
    enum object_result verdict = OBJECT_CONFLICT;
    if (!lease->lost) {
        TRY(ask(lease, "renew", &verdict, err));
    }
    lease->lost = verdict != OBJECT_OK;
    *result = lease->lost ? CLUSTER_CONFLICT : CLUSTER_OK;
    return STATUS_OK;
}

static void unlink_lease(struct azure_lease *lease)
{
    struct azure_session *self = (struct azure_session *)lease->base.session;
    pthread_mutex_lock(&self->mutex);
    for (struct azure_lease **at = &self->leases; *at != NULL; at = &(*at)->next) {
        if (*at == lease) {
            *at = lease->next;
            break;
        }
    }
    pthread_mutex_unlock(&self->mutex);
}

static enum status azure_lease_release(struct cluster_lease *base, struct error *err)
{
    struct azure_lease *lease = (struct azure_lease *)base;
    enum status status = STATUS_OK;
    unlink_lease(lease);
    if (!lease->lost) {
        enum object_result verdict;
        struct error unsaid; /* the name is for people: the release counts */
        lease->value.holder[0] = '\0';
        (void)write_value(lease, false, &verdict, &unsaid);
        status = ask(lease, "release", &verdict, err);
    }
    free_lease(lease);
    return status;
}

/* ---- registers ---- */

static enum status azure_get(struct cluster_session *session, const char *name, struct arena *arena, enum cluster_result *result,
                             struct cluster_value *value, struct error *err)
{
    return cluster_objects_get(((struct azure_session *)session)->store, name, arena, result, value, err);
}

static enum status azure_put(struct cluster_session *session, const char *name, struct text value, const struct cluster_version *expect,
                             enum cluster_result *result, struct cluster_version *version, struct error *err)
{
    return cluster_objects_put(((struct azure_session *)session)->store, name, value, expect, result, version, err);
}

static enum status azure_del(struct cluster_session *session, const char *name, const struct cluster_version *expect,
                             enum cluster_result *result, struct error *err)
{
    return cluster_objects_del(((struct azure_session *)session)->store, name, expect, result, err);
}

static enum status azure_list(struct cluster_session *session, const char *prefix, struct arena *arena, struct cluster_names *names,
                              struct error *err)
{
    return cluster_objects_list(((struct azure_session *)session)->store, prefix, arena, names, err);
}

static enum status azure_watch(struct cluster_session *session, const char *prefix, cluster_hint_fn hint, void *context, struct error *err)
{
    return STATUS_OK; /* who watches polls */
}

/* ---- begin and end ---- */

static void azure_close(struct cluster_session *session, bool release_leases)
{
    struct azure_session *self = (struct azure_session *)session;
    while (self->leases != NULL) {
        struct azure_lease *lease = self->leases;
        struct error unsaid; /* others will wait for the ttl */
        lease->lost = lease->lost || !release_leases;
        (void)azure_lease_release(&lease->base, &unsaid);
    }
    object_store_close(self->store);
    pthread_mutex_destroy(&self->mutex);
    free(self);
}

static const struct cluster_driver azure_driver;

static enum status azure_open(const char *uri, const void *settings, const struct cluster_environment *environment,
                              struct cluster_session **opened, struct error *err)
{
    const struct object_environment below = {environment->clock, environment->files, environment->random_seed};
    struct azure_session *self;
    TRY_ALLOC(self, calloc(1, sizeof *self), err);
    self->base.driver = &azure_driver;
    pthread_mutex_init(&self->mutex, NULL);
    random_open(&self->random, environment->random_seed);
    enum status status = azure_object_driver.open(uri, settings, &below, &self->store, err);
    if (status == STATUS_OK && !self->store->driver->caps(self->store).conditional_put) {
        status = error_set(err, ERROR_CLUSTER_UNFIT, "the service of '%.300s' does not keep conditions of puts, or may only be read", uri);
    }
    if (status != STATUS_OK) {
        azure_close(&self->base, false);
        return status;
    }
    *opened = &self->base;
    return STATUS_OK;
}

static const struct cluster_driver azure_driver = {
    .abi = CLUSTER_DRIVER_ABI,
    .scheme = "azure",
    .summary = "Blobs and their leases in Azure Blob Storage: azure://account/container/prefix.",
    .options = azure_options,
    .option_count = AZURE_STORE_ONLY,
    .settings_bytes = sizeof(struct azure_settings),
    .open = azure_open,
    .close = azure_close,
    .get = azure_get,
    .put = azure_put,
    .del = azure_del,
    .list = azure_list,
    .watch = azure_watch,
    .lease_acquire = azure_lease_acquire,
    .lease_renew = azure_lease_renew,
    .lease_release = azure_lease_release,
};

static const void *const object_drivers[] = {&azure_object_driver, NULL}, *const cluster_drivers[] = {&azure_driver, NULL};
static const struct module described = {.build_id = MODULE_BUILD_ID,
                                        .name = "azure",
                                        .types = {[MODULE_OBJECT_DRIVERS] = object_drivers, [MODULE_CLUSTER_DRIVERS] = cluster_drivers}};

MODULE_EXPORT const struct module *module_describe(void)
{
    return &described;
}
