/* cluster/objects.h: registers that are objects of a store (storage/object.h): one object a register, its etag the version.
 *
 * For         the drivers that have a store below: local (a folder) and azure; a later s3.
 * Invariants  Those of the store: a put is whole or not at all, conditional, durable, its etag never returns for a key.
 * Errors      As cluster/driver.h says; what is no value of ours by its size is CORRUPT.
 * Threads     Any.
 */
#ifndef SPATE_CLUSTER_OBJECTS_H
#define SPATE_CLUSTER_OBJECTS_H

#include "cluster/driver.h"
#include "storage/object.h"

enum status cluster_objects_get(struct object_store *store, const char *name, struct arena *arena, enum cluster_result *result,
                                struct cluster_value *value, struct error *err);
enum status cluster_objects_put(struct object_store *store, const char *name, struct text value, const struct cluster_version *expect,
                                enum cluster_result *result, struct cluster_version *version, struct error *err);
enum status cluster_objects_del(struct object_store *store, const char *name, const struct cluster_version *expect,
                                enum cluster_result *result, struct error *err);
enum status cluster_objects_list(struct object_store *store, const char *prefix, struct arena *arena, struct cluster_names *names,
                                 struct error *err);

#endif
