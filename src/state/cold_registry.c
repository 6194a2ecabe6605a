#include "state/cold_registry.h"

#include <string.h>

#include "base/module.h"

/* Each is a module of its name. */
static const char *const drivers[] = {"rocksdb"};

_Static_assert(offsetof(struct cold_driver, abi) == 0, "module_load_type");
enum status cold_driver_find(const char *name, const struct cold_driver **driver, struct error *err)
{
    const void *type;
    size_t at = 0;
    while (at < ARRAY_LENGTH(drivers) && strcmp(drivers[at], name) != 0) {
        at++;
    }
    if (at == ARRAY_LENGTH(drivers)) {
        return error_set(err, ERROR_STATE_UNSUPPORTED, "this version knows no database '%s' for state", name);
    }
    TRY(module_load_type(name, MODULE_STATE_BACKENDS, COLD_DRIVER_ABI, "database for state", &type, err));
    *driver = type;
    return STATUS_OK;
}
