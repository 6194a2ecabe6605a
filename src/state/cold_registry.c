#include "state/cold_registry.h"

#include <string.h>

#include "base/module.h"

/* Each is a module of its name. */
static const char *const drivers[] = {"rocksdb"};

enum status cold_driver_find(const char *name, const struct cold_driver **driver, struct error *err)
{
    const struct module *module;
    size_t at = 0;
    while (at < ARRAY_LENGTH(drivers) && strcmp(drivers[at], name) != 0) {
        at++;
    }
    if (at == ARRAY_LENGTH(drivers)) {
        return error_set(err, ERROR_STATE_UNSUPPORTED, "this version knows no database '%s' for state", name);
    }
    TRY(module_load(name, &module, err));
    const void *const *types = module->types[MODULE_STATE_BACKENDS];
    *driver = types == NULL ? NULL : types[0];
    if (*driver == NULL || (*driver)->abi != COLD_DRIVER_ABI) {
        return error_set(err, ERROR_MODULE_REFUSED, "the module '%s' has no database for state of this version", name);
    }
    return STATUS_OK;
}
