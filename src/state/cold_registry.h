/* state/cold_registry.h: the drivers of databases for state that does not fit in memory, by name.
 *
 * For         job/, which opens them; tests.
 * Errors      MODULE_MISSING, MODULE_REFUSED. A name that nobody has is a mistake of ours, or of a newer version's checkpoint.
 * Threads     Any.
 */
#ifndef SPATE_STATE_COLD_REGISTRY_H
#define SPATE_STATE_COLD_REGISTRY_H

#include "state/cold_db.h"

/* How a job keeps state that does not fit. */
struct cold_settings {
    const char *driver;  /* NULL: all state is in memory */
    const char *where;   /* the folder below which the job's is (state/cold_folder.h); NULL: its default */
    double memory_share; /* of what the account has left when the job starts */
    enum cold_compression compression;
    bool evict_all; /* for tests: after each tick nothing stays in memory that can go */
};
enum status cold_driver_find(const char *name, const struct cold_driver **driver, struct error *err);

#endif
