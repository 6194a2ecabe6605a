#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/module.h"
#include "base/option.h"
#include "base/text.h"
#include "storage/file_store.h"

/* Drivers that are modules, by scheme; the module has the scheme's name. */
static const char *const module_schemes[] = {"azure", "s3"};
enum { DRIVERS_MAX = 1 + ARRAY_LENGTH(module_schemes) };

struct text object_scheme(const char *uri)
{
    size_t length = strspn(uri, "abcdefghijklmnopqrstuvwxyz0123456789+");
    if (length > 0 && uri[length] == ':') {
        return (struct text){uri, length};
    }
    length = strcspn(uri, ":/");
    return strncmp(uri + length, "://", 3) == 0 ? (struct text){uri, length} : TEXT("file");
}

/* Is it the scheme of one of our drivers? *module: the module that has it, NULL for one that is built in. */
static bool is_known(struct text scheme, const char **module)
{
    *module = NULL;
    for (size_t i = 0; i < ARRAY_LENGTH(module_schemes) && *module == NULL; i++) {
        *module = text_equal(scheme, text_from(module_schemes[i])) ? module_schemes[i] : NULL;
    }
    return *module != NULL || text_equal(scheme, text_from(file_driver.scheme));
}

_Static_assert(offsetof(struct object_driver, abi) == 0, "module_load_type");
static enum status load_driver(const char *name, const struct object_driver **driver, struct error *err)
{
    const void *type;
    TRY(module_load_type(name, MODULE_OBJECT_DRIVERS, OBJECT_DRIVER_ABI, "driver of stores", &type, err));
    *driver = type;
    return STATUS_OK;
}

const struct object_driver *const *object_driver_list(uint32_t *count)
{
    static _Thread_local const struct object_driver *drivers[DRIVERS_MAX];
    drivers[0] = &file_driver;
    *count = 1;
    for (size_t i = 0; i < ARRAY_LENGTH(module_schemes); i++) {
        struct error not_installed;
        if (load_driver(module_schemes[i], &drivers[*count], &not_installed) == STATUS_OK) {
            (*count)++;
        }
    }
    return drivers;
}

bool object_option_is_known(const char *name)
{
    const struct object_driver *driver = &file_driver;
    const char *module;
    struct error not_installed;
    if (!is_known((struct text){name, strcspn(name, ".")}, &module) ||
        (module != NULL && load_driver(module, &driver, &not_installed) != STATUS_OK)) {
        return false;
    }
    return option_is_among(driver->options, driver->option_count, name);
}

static enum status find_driver(const char *uri, const struct object_driver **driver, struct error *err)
{
    struct text scheme = object_scheme(uri);
    const char *module;
    if (!is_known(scheme, &module)) {
        struct text_builder names = {0};
        for (size_t i = 0; i < ARRAY_LENGTH(module_schemes); i++) {
            text_append_format(&names, ", %s", module_schemes[i]);
        }
        enum status status = error_set(err, ERROR_STORE_URI, "there is no store for the scheme '%.*s' of '%.300s'; there is: %s%s",
                                       (int)scheme.length, scheme.bytes, uri, file_driver.scheme, names.failed ? "" : names.bytes);
        text_builder_close(&names);
        return status;
    }
    *driver = &file_driver;
    return module == NULL ? STATUS_OK : load_driver(module, driver, err);
}

/* Is it an option of another driver? Then it is that one's to check. */
static bool belongs_to_another(const struct object_driver *driver, const char *name)
{
    const char *module;
    struct text owner = {name, strcspn(name, ".")};
    return !text_equal(owner, text_from(driver->scheme)) && is_known(owner, &module);
}

static enum status read_options(const struct object_driver *driver, const struct object_option *options, size_t count, void *settings,
                                struct arena *arena, struct error *err)
{
    char what[64];
    snprintf(what, sizeof what, "the store '%s:'", driver->scheme);
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

enum status object_store_open(const char *uri, const struct object_option *options, size_t option_count,
                              const struct object_environment *environment, struct object_store **store, struct error *err)
{
    const struct object_driver *driver;
    struct object_environment actual = environment == NULL ? (struct object_environment){0} : *environment;
    struct budget budget;
    struct arena *arena;
    void *settings;
    enum status status;
    actual.clock = actual.clock == NULL ? &clock_system : actual.clock;
    TRY(find_driver(uri, &driver, err));
    budget_init(&budget, NULL, "options of a store", BUDGET_UNLIMITED);
    TRY_ALLOC(arena, arena_create(&budget, "options of a store"), err);
    if ((settings = arena_alloc(arena, driver->settings_bytes)) == NULL) {
        status = error_set(err, ERROR_BUDGET_SPENT, "no room for the options of a store");
        goto done;
    }
    TRY_GOTO(done, status, read_options(driver, options, option_count, settings, arena, err));
    status = driver->open(uri, settings, &actual, store, err);
done:
    if (status != STATUS_OK) {
        error_add_context(err, "while opening the store '%.300s'", uri);
    }
    arena_destroy(arena);
    return status;
}

void object_store_close(struct object_store *store)
{
    if (store != NULL) {
        store->driver->close(store);
    }
}
