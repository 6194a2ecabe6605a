#include "cluster/plugin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/module.h"
#include "cluster/lease_register.h"
#include "spate/driver.h"

enum { OPTIONS_MAX = 64 };
_Static_assert((int)SPATE_DRIVER_VERSION_BYTES == (int)CLUSTER_VERSION_MAX && (int)SPATE_DRIVER_VALUE_BYTES == (int)CLUSTER_VALUE_MAX &&
                   (int)SPATE_DRIVER_NAME_BYTES == CLUSTER_NAME_MAX + 1,
               "the limits of plugins are ours");

struct plugin_session {
    struct cluster_session base;
    const struct spate_driver *driver;
    void *session;
    struct lease_register leases;
    pthread_mutex_t mutex; /* of the watch */
    cluster_hint_fn hint;
    void *hint_context;
};

/* ---- results ---- */

static const enum error_code codes[] = {
    [SPATE_DRIVER_UNAVAILABLE] = ERROR_CLUSTER_UNAVAILABLE,
    [SPATE_DRIVER_DENIED] = ERROR_CLUSTER_DENIED,
    [SPATE_DRIVER_FULL] = ERROR_STORE_FULL,
    [SPATE_DRIVER_CORRUPT] = ERROR_STORE_CORRUPT,
    [SPATE_DRIVER_REFUSED] = ERROR_CLUSTER_URI,
};

/* The answer of a call, or its error. */
static enum status answer(const struct spate_driver *driver, int returned, char *message, enum cluster_result *result, struct error *err)
{
    static const enum cluster_result results[] = {CLUSTER_OK, CLUSTER_ABSENT, CLUSTER_CONFLICT, CLUSTER_UNKNOWN};
    message[SPATE_DRIVER_MESSAGE_BYTES - 1] = '\0';
    if (returned >= 0 && returned < (int)ARRAY_LENGTH(results)) {
        *result = results[returned];
        return STATUS_OK;
    }
    if (returned < 0 || returned >= (int)ARRAY_LENGTH(codes)) {
        return error_set(err, ERROR_MODULE_REFUSED, "the driver '%s' answers %d, which is no result", driver->scheme, returned);
    }
    return error_set(err, codes[returned], "%s: %s", driver->scheme, message[0] == '\0' ? "the driver does not say why" : message);
}

/* ---- registers ---- */

static enum status plugin_get(struct cluster_session *session, const char *name, struct arena *arena, enum cluster_result *result,
                              struct cluster_value *value, struct error *err)
{
    struct plugin_session *self = (struct plugin_session *)session;
    char message[SPATE_DRIVER_MESSAGE_BYTES] = "", *bytes;
    size_t length = 0;
    TRY(cluster_name_check(name, err));
    TRY_ALLOC(bytes, malloc(CLUSTER_VALUE_MAX), err);
    int returned = self->driver->get(self->session, name, bytes, &length, value->version.token, message);
    enum status status = answer(self->driver, returned, message, result, err);
    if (status == STATUS_OK && *result == CLUSTER_OK) {
        length = length <= CLUSTER_VALUE_MAX ? length : CLUSTER_VALUE_MAX;
        value->bytes = (struct text){arena_text(arena, bytes, length), length};
        value->version.token[CLUSTER_VERSION_MAX - 1] = '\0';
        status = value->bytes.bytes != NULL ? STATUS_OK : error_set(err, ERROR_BUDGET_SPENT, "no room for the register '%s'", name);
    }
    free(bytes);
    return status;
}

static enum status plugin_put(struct cluster_session *session, const char *name, struct text value, const struct cluster_version *expect,
                              enum cluster_result *result, struct cluster_version *version, struct error *err)
{
    struct plugin_session *self = (struct plugin_session *)session;
    char message[SPATE_DRIVER_MESSAGE_BYTES] = "";
    struct cluster_version written = {""};
    TRY(cluster_put_check(name, value, err));
    int returned = self->driver->put(self->session, name, value.length == 0 ? "" : value.bytes, value.length,
                                     expect == NULL ? NULL : expect->token, written.token, message);
    TRY(answer(self->driver, returned, message, result, err));
    if (*result == CLUSTER_OK) {
        written.token[CLUSTER_VERSION_MAX - 1] = '\0';
        *version = written;
    }
    return STATUS_OK;
}

static enum status plugin_del(struct cluster_session *session, const char *name, const struct cluster_version *expect,
                              enum cluster_result *result, struct error *err)
{
    struct plugin_session *self = (struct plugin_session *)session;
    char message[SPATE_DRIVER_MESSAGE_BYTES] = "";
    TRY(cluster_name_check(name, err));
    return answer(self->driver, self->driver->del(self->session, name, expect->token, message), message, result, err);
}

struct listing {
    struct arena *arena;
    struct cluster_names *names;
    const char *prefix;
    uint32_t capacity;
    bool failed;
};

static void add_name(void *context, const char *name)
{
    struct listing *self = context;
    struct cluster_names *names = self->names;
    if (self->failed || strncmp(name, self->prefix, strlen(self->prefix)) != 0) {
        return;
    }
    const char **grown = arena_grow(self->arena, names->names, &self->capacity, names->count + 1, sizeof *grown);
    const char *copy = grown == NULL ? NULL : arena_text(self->arena, name, strlen(name));
    names->names = grown == NULL ? names->names : grown;
    self->failed = copy == NULL;
    if (copy != NULL) {
        names->names[names->count++] = copy;
    }
}

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static enum status plugin_list(struct cluster_session *session, const char *prefix, struct arena *arena, struct cluster_names *names,
                               struct error *err)
{
    struct plugin_session *self = (struct plugin_session *)session;
    char message[SPATE_DRIVER_MESSAGE_BYTES] = "";
    struct listing listing = {.arena = arena, .names = names, .prefix = prefix};
    enum cluster_result result;
    *names = (struct cluster_names){0};
    TRY(answer(self->driver, self->driver->list(self->session, prefix, add_name, &listing, message), message, &result, err));
    if (result != CLUSTER_OK || listing.failed) {
        return error_set(err, listing.failed ? ERROR_BUDGET_SPENT : ERROR_MODULE_REFUSED, "no whole list of registers below '%.200s'",
                         prefix);
    }
    if (names->count > 1) {
        qsort(names->names, names->count, sizeof *names->names, compare_names);
    }
    return STATUS_OK;
}

/* ---- hints, leases ---- */

static void give_hint(void *context)
{
    const struct plugin_session *self = context;
    self->hint(self->hint_context, CLUSTER_CHANGED);
}

static enum status plugin_watch(struct cluster_session *session, const char *prefix, cluster_hint_fn hint, void *context, struct error *err)
{
    struct plugin_session *self = (struct plugin_session *)session;
    char message[SPATE_DRIVER_MESSAGE_BYTES] = "";
    enum cluster_result result;
    if (self->driver->watch == NULL) {
        return STATUS_OK;
    }
    pthread_mutex_lock(&self->mutex);
    enum status status = answer(self->driver, self->driver->watch(self->session, prefix, NULL, NULL, message), message, &result, err);
    self->hint = hint;
    self->hint_context = context;
    if (status == STATUS_OK && hint != NULL) {
        status = answer(self->driver, self->driver->watch(self->session, prefix, give_hint, self, message), message, &result, err);
    }
    pthread_mutex_unlock(&self->mutex);
    return status;
}

static enum status plugin_lease_acquire(struct cluster_session *session, const char *name, const char *holder, int64_t ttl_us,
                                        enum cluster_result *result, struct cluster_lease **lease, char held_by[CLUSTER_HOLDER_MAX],
                                        struct error *err)
{
    return lease_register_acquire(&((struct plugin_session *)session)->leases, name, holder, ttl_us, result, lease, held_by, err);
}

/* ---- begin and end ---- */

static void plugin_close(struct cluster_session *session, bool release_leases)
{
    struct plugin_session *self = (struct plugin_session *)session;
    lease_register_close(&self->leases, release_leases);
    self->driver->close(self->session);
    pthread_mutex_destroy(&self->mutex);
    free(self);
}

static const struct cluster_driver plugin_driver = {
    .abi = CLUSTER_DRIVER_ABI,
    .scheme = "plugin",
    .summary = "A driver of a user.",
    .close = plugin_close,
    .get = plugin_get,
    .put = plugin_put,
    .del = plugin_del,
    .list = plugin_list,
    .watch = plugin_watch,
    .lease_acquire = plugin_lease_acquire,
    .lease_renew = lease_register_renew,
    .lease_release = lease_register_release,
};

/* The texts "scheme.name=value" of its own options, in the arena. */
static enum status own_options(struct text scheme, const struct cluster_option *options, size_t count, struct arena *arena,
                               const char **texts, struct error *err)
{
    size_t taken = 0;
    for (size_t i = 0; i < count; i++) {
        if (!text_equal(scheme, (struct text){options[i].name, strcspn(options[i].name, ".")})) {
            continue;
        }
        if (taken == OPTIONS_MAX) {
            return error_set(err, ERROR_TOO_MANY, "more than %d options of a driver", OPTIONS_MAX);
        }
        TRY_ALLOC(texts[taken], arena_format(arena, "%s=%s", options[i].name, options[i].value), err);
        taken++;
    }
    texts[taken] = NULL;
    return STATUS_OK;
}

static enum status find_plugin(struct text scheme, bool *found, const struct spate_driver **driver, struct error *err)
{
    char name[64];
    spate_driver_describe_function describe;
    snprintf(name, sizeof name, "driver-%.*s", (int)(scheme.length < 40 ? scheme.length : 40), scheme.bytes);
    TRY(module_find_symbol(name, "spate_driver_describe", found, (void **)&describe, err));
    if (!*found) {
        return STATUS_OK;
    }
    const struct spate_driver *told = describe();
    bool whole = told != NULL && told->abi == SPATE_DRIVER_ABI && told->size >= sizeof *told && told->scheme != NULL &&
                 text_equal(text_from(told->scheme), scheme) && told->open != NULL && told->close != NULL && told->get != NULL &&
                 told->put != NULL && told->del != NULL && told->list != NULL;
    *driver = told;
    return whole ? STATUS_OK
                 : error_set(err, ERROR_MODULE_REFUSED, "spate-%s.so is no driver '%.*s' of the interface %d (spate/driver.h)", name,
                             (int)scheme.length, scheme.bytes, SPATE_DRIVER_ABI);
}

static enum status open_session(const struct spate_driver *driver, const char *uri, const char *const *texts,
                                const struct cluster_environment *environment, struct cluster_session **session, struct error *err)
{
    struct plugin_session *self;
    char message[SPATE_DRIVER_MESSAGE_BYTES] = "";
    enum cluster_result result = CLUSTER_OK;
    TRY_ALLOC(self, calloc(1, sizeof *self), err);
    enum status status = answer(driver, driver->open(uri, texts, &self->session, message), message, &result, err);
    if (status == STATUS_OK && result != CLUSTER_OK) {
        status =
            error_set(err, ERROR_MODULE_REFUSED, "the driver '%s' answers %d to open, which is no result of it", driver->scheme, result);
    }
    if (status != STATUS_OK) {
        free(self);
        return status;
    }
    self->base.driver = &plugin_driver;
    self->driver = driver;
    pthread_mutex_init(&self->mutex, NULL);
    lease_register_open(&self->leases, &self->base, environment->clock, environment->random_seed);
    *session = &self->base;
    return STATUS_OK;
}

enum status plugin_open(struct text scheme, const char *uri, const struct cluster_option *options, size_t option_count,
                        const struct cluster_environment *environment, bool *found, struct cluster_session **session, struct error *err)
{
    const struct spate_driver *driver;
    const char *texts[OPTIONS_MAX + 1];
    struct budget budget;
    struct arena *arena;
    TRY(find_plugin(scheme, found, &driver, err));
    if (!*found) {
        return STATUS_OK;
    }
    budget_init(&budget, NULL, "options of a driver", BUDGET_UNLIMITED);
    TRY_ALLOC(arena, arena_create(&budget, "options of a driver"), err);
    enum status status = own_options(scheme, options, option_count, arena, texts, err);
    if (status == STATUS_OK) {
        status = open_session(driver, uri, texts, environment, session, err);
    }
    arena_destroy(arena);
    return status;
}
