#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/module.h"
#include "base/option.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cluster/driver.h"
#include "cluster/local.h"
#include "cluster/plugin.h"
#include "storage/object.h"

static const struct cluster_driver *const built_in[] = {&local_memory_driver, &local_folder_driver};
/* Drivers that are modules, by scheme; the module has the scheme's name. */
static const char *const module_schemes[] = {"zookeeper", "azure"};
enum { DRIVERS_MAX = ARRAY_LENGTH(built_in) + ARRAY_LENGTH(module_schemes) };

/* A plain path is a folder. */
static struct text scheme_of(const char *uri)
{
    return strncmp(uri, "local:/", 7) == 0 ? TEXT("file") : object_scheme(uri);
}

/* Is it the scheme of one of our drivers? One of *driver and *module is set then. */
static bool is_known(struct text scheme, const struct cluster_driver **driver, const char **module)
{
    *driver = NULL;
    *module = NULL;
    for (size_t i = 0; i < ARRAY_LENGTH(built_in); i++) {
        *driver = text_equal(scheme, text_from(built_in[i]->scheme)) ? built_in[i] : *driver;
    }
    for (size_t i = 0; i < ARRAY_LENGTH(module_schemes); i++) {
        *module = text_equal(scheme, text_from(module_schemes[i])) ? module_schemes[i] : *module;
    }
    return *driver != NULL || *module != NULL;
}

_Static_assert(offsetof(struct cluster_driver, abi) == 0, "module_load_type");
static enum status load_driver(const char *name, const struct cluster_driver **driver, struct error *err)
{
    const void *type;
    TRY(module_load_type(name, MODULE_CLUSTER_DRIVERS, CLUSTER_DRIVER_ABI, "driver of coordination", &type, err));
    *driver = type;
    return STATUS_OK;
}

const struct cluster_driver *const *cluster_driver_list(uint32_t *count)
{
    static _Thread_local const struct cluster_driver *drivers[DRIVERS_MAX];
    *count = 0;
    for (size_t i = 0; i < ARRAY_LENGTH(built_in); i++) {
        drivers[(*count)++] = built_in[i];
    }
    for (size_t i = 0; i < ARRAY_LENGTH(module_schemes); i++) {
        struct error not_installed;
        if (load_driver(module_schemes[i], &drivers[*count], &not_installed) == STATUS_OK) {
            (*count)++;
        }
    }
    return drivers;
}

bool cluster_option_is_known(const char *name)
{
    const struct cluster_driver *driver;
    const char *module;
    struct error not_installed;
    if (!is_known((struct text){name, strcspn(name, ".")}, &driver, &module) ||
        (module != NULL && load_driver(module, &driver, &not_installed) != STATUS_OK)) {
        return false;
    }
    return option_is_among(driver->options, driver->option_count, name);
}

static enum status refuse_scheme(struct text scheme, const char *uri, struct error *err)
{
    struct text_builder names = {0};
    for (size_t i = 0; i < ARRAY_LENGTH(module_schemes); i++) {
        text_append_format(&names, ", %s", module_schemes[i]);
    }
    enum status status = error_set(err, ERROR_CLUSTER_URI,
                                   "there is no coordination for the scheme '%.*s' of '%.300s'; there is: %s, %s%s, and "
                                   "spate-driver-%.*s.so would be another",
                                   (int)scheme.length, scheme.bytes, uri, built_in[0]->scheme, built_in[1]->scheme,
                                   names.failed ? "" : names.bytes, (int)scheme.length, scheme.bytes);
    text_builder_close(&names);
    return status;
}

/* Is it an option of another driver? Then it is that one's to check. */
static bool belongs_to_another(const struct cluster_driver *driver, const char *name)
{
    const struct cluster_driver *other;
    const char *module;
    struct text owner = {name, strcspn(name, ".")};
    return !text_equal(owner, text_from(driver->scheme)) && is_known(owner, &other, &module);
}

static enum status read_options(const struct cluster_driver *driver, const struct cluster_option *options, size_t count, void *settings,
                                struct arena *arena, struct error *err)
{
    char what[64];
    snprintf(what, sizeof what, "coordination by '%s:'", driver->scheme);
    TRY(option_defaults(driver->options, driver->option_count, settings, arena, err));
    for (size_t i = 0; i < count; i++) {
        const struct option_def *def;
        if (!belongs_to_another(driver, options[i].name)) {
            TRY(option_find(driver->options, driver->option_count, what, options[i].name, &def, err));
            TRY(option_apply(def, options[i].value, settings, arena, err));
        }
    }
    return STATUS_OK;
}

static enum status open_ours(const struct cluster_driver *driver, const char *uri, const struct cluster_option *options,
                             size_t option_count, const struct cluster_environment *environment, struct cluster_session **session,
                             struct error *err)
{
    struct budget budget;
    struct arena *arena;
    void *settings;
    budget_init(&budget, NULL, "options of coordination", BUDGET_UNLIMITED);
    TRY_ALLOC(arena, arena_create(&budget, "options of coordination"), err);
    settings = arena_alloc(arena, driver->settings_bytes + 1);
    enum status status = settings == NULL ? error_set(err, ERROR_BUDGET_SPENT, "no room for the options of coordination")
                                          : read_options(driver, options, option_count, settings, arena, err);
    if (status == STATUS_OK) {
        status = driver->open(uri, settings, environment, session, err);
    }
    arena_destroy(arena);
    return status;
}

static enum status open_by_scheme(const char *uri, const struct cluster_option *options, size_t option_count,
                                  const struct cluster_environment *environment, struct cluster_session **session, struct error *err)
{
    struct text scheme = scheme_of(uri);
    const struct cluster_driver *driver;
    const char *module;
    bool found;
    if (!is_known(scheme, &driver, &module)) {
        TRY(plugin_open(scheme, uri, options, option_count, environment, &found, session, err));
        return found ? STATUS_OK : refuse_scheme(scheme, uri, err);
    }
    if (module != NULL) {
        TRY(load_driver(module, &driver, err));
    }
    return open_ours(driver, uri, options, option_count, environment, session, err);
}

enum status cluster_open(const char *uri, const struct cluster_option *options, size_t option_count,
                         const struct cluster_environment *environment, struct cluster_session **session, struct error *err)
{
    struct cluster_environment actual = environment == NULL ? (struct cluster_environment){0} : *environment;
    actual.clock = actual.clock == NULL ? &clock_system : actual.clock;
    enum status status = open_by_scheme(uri, options, option_count, &actual, session, err);
    if (status != STATUS_OK) {
        error_add_context(err, "while opening the coordination '%.300s'", uri);
    }
    return status;
}

void cluster_close(struct cluster_session *session, bool release_leases)
{
    if (session != NULL) {
        session->driver->close(session, release_leases);
    }
}

/* ---- what every driver refuses before it sends anything ---- */

enum status cluster_name_check(const char *name, struct error *err)
{
    size_t length = strlen(name);
    if (length > CLUSTER_NAME_MAX) {
        return error_set(err, ERROR_CLUSTER_NAME, "'%.100s...' cannot be the name of a register: it has %zu bytes; %d are allowed", name,
                         length, CLUSTER_NAME_MAX);
    }
    return object_key_check(name, err) == STATUS_OK
               ? STATUS_OK
               : error_set(err, ERROR_CLUSTER_NAME,
                           "'%.200s' cannot be the name of a register: it is empty, not UTF-8, or has a part that "
                           "is empty, '.' or '..'",
                           name);
}

enum status cluster_put_check(const char *name, struct text value, struct error *err)
{
    TRY(cluster_name_check(name, err));
    return value.length <= CLUSTER_VALUE_MAX
               ? STATUS_OK
               : error_set(err, ERROR_CLUSTER_NAME, "a value of %zu bytes for the register '%.200s'; %d are allowed", value.length, name,
                           CLUSTER_VALUE_MAX);
}

enum status cluster_lease_check(const char *name, const char *holder, int64_t ttl_us, struct error *err)
{
    size_t length = strlen(holder);
    TRY(cluster_name_check(name, err));
    if (length == 0 || length >= CLUSTER_HOLDER_MAX || utf8_valid_length(holder, length) != length) {
        return error_set(err, ERROR_CLUSTER_NAME, "'%.100s' cannot hold a lease: a holder is UTF-8 of 1 to %d bytes", holder,
                         CLUSTER_HOLDER_MAX - 1);
    }
    return ttl_us > 0 ? STATUS_OK : error_set(err, ERROR_CLUSTER_LEASE, "a lease of %" PRId64 " microseconds", ttl_us);
}
