/* base/module.h: our own loadable modules: what needs a large third-party library, kept out of the program until it is used.
 *
 * For         connectors, formats, drivers of stores and of coordination, databases for state. (Users' plugins are another thing: public headers, a stable ABI.)
 * Shape       The module NAME is the file spate-NAME.so. It uses internal headers and defines module_describe; its undefined symbols are
 *             resolved in the program that loads it (the command, or the library in an embedder's program): modules/symbols.map lists
 *             what those export.
 * Search      The folders of SPATE_MODULE_PATH, separated by ':'; without it, folders beside the program (lib/spate, ../lib/spate, ...).
 * Invariants  A module is loaded once and never unloaded. It loads into the very build it was made with: the identities of the builds must
 *             be equal, else it is refused.
 * Errors      MODULE_MISSING (says where it was looked for, and what to install or build), MODULE_REFUSED.
 * Threads     Any.
 */
#ifndef SPATE_BASE_MODULE_H
#define SPATE_BASE_MODULE_H

#include <stdbool.h>

#include "base/error.h"

enum module_kind {
    MODULE_OBJECT_DRIVERS,  /* struct object_driver, storage/object.h */
    MODULE_STATE_BACKENDS,  /* struct cold_driver, state/cold_db.h */
    MODULE_CLUSTER_DRIVERS, /* struct cluster_driver, cluster/driver.h */
    MODULE_KIND_COUNT
};
struct module {
    const char *build_id, *name;
    const void *const *types[MODULE_KIND_COUNT]; /* per kind a list that ends with NULL; NULL: none of the kind */
};
/* What every module defines, with MODULE_EXPORT before it and .build_id = MODULE_BUILD_ID (build_id.h, generated) in it. */
#define MODULE_EXPORT __attribute__((visibility("default")))
const struct module *module_describe(void);

enum status module_load(const char *name, const struct module **module, struct error *err);
/* The module's first type of a kind. Types begin with a uint32_t, the version of their interface: another than `abi`, or none, is MODULE_REFUSED.
 * `what`: for the message ("driver of stores"). */
enum status module_load_type(const char *name, enum module_kind kind, uint32_t abi, const char *what, const void **type, struct error *err);

/* Of a user's shared object spate-NAME.so in the same folders, which need not be of this build: its symbol. *found false: there is none.
 * It stays loaded. */
enum status module_find_symbol(const char *name, const char *symbol, bool *found, void **address, struct error *err);

#endif
