#include "cluster/objects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const enum cluster_result results[] = {
    [OBJECT_OK] = CLUSTER_OK, [OBJECT_ABSENT] = CLUSTER_ABSENT, [OBJECT_CONFLICT] = CLUSTER_CONFLICT, [OBJECT_UNKNOWN] = CLUSTER_UNKNOWN};
_Static_assert((int)OBJECT_ETAG_MAX <= (int)CLUSTER_VERSION_MAX, "an etag is a version");

static void set_version(struct cluster_version *version, const struct object_info *info)
{
    snprintf(version->token, sizeof version->token, "%s", info->etag);
}

enum status cluster_objects_get(struct object_store *store, const char *name, struct arena *arena, enum cluster_result *result,
                                struct cluster_value *value, struct error *err)
{
    enum object_result found;
    struct object_info info;
    char *bytes;
    size_t length;
    TRY(cluster_name_check(name, err));
    enum status status = object_get_bytes(store, name, CLUSTER_VALUE_MAX, &found, &bytes, &length, &info, err);
    if (status == STATUS_LIMIT) {
        return error_set(err, ERROR_STORE_CORRUPT, "the register '%s' has more than %d bytes: it is not ours", name, CLUSTER_VALUE_MAX);
    }
    TRY(status);
    *result = results[found];
    if (found == OBJECT_OK) {
        value->bytes = (struct text){arena_text(arena, bytes, length), length};
        set_version(&value->version, &info);
        free(bytes);
        TRY_ALLOC(value->bytes.bytes, value->bytes.bytes, err);
    }
    return STATUS_OK;
}

enum status cluster_objects_put(struct object_store *store, const char *name, struct text value, const struct cluster_version *expect,
                                enum cluster_result *result, struct cluster_version *version, struct error *err)
{
    enum object_result done;
    struct object_info info = {.etag = ""};
    TRY(cluster_put_check(name, value, err));
    TRY(object_put_bytes(store, name, value.bytes, value.length, expect == NULL ? PUT_IF_ABSENT : PUT_IF_MATCH,
                         expect == NULL ? NULL : expect->token, &done, &info, err));
    *result = results[done];
    if (done == OBJECT_OK) {
        set_version(version, &info);
    }
    return STATUS_OK;
}

enum status cluster_objects_del(struct object_store *store, const char *name, const struct cluster_version *expect,
                                enum cluster_result *result, struct error *err)
{
    enum object_result done;
    TRY(cluster_name_check(name, err));
    TRY(store->driver->remove(store, name, expect->token, &done, err));
    *result = results[done];
    return STATUS_OK;
}

struct listing {
    struct arena *arena;
    struct cluster_names *names;
    uint32_t capacity;
};

static enum status add_name(void *context, const char *key, const struct object_info *info, bool *stop, struct error *err)
{
    struct listing *self = context;
    struct cluster_names *names = self->names;
    TRY_ALLOC(names->names, arena_grow(self->arena, names->names, &self->capacity, names->count + 1, sizeof *names->names), err);
    TRY_ALLOC(names->names[names->count], arena_text(self->arena, key, strlen(key)), err);
    names->count++;
    return STATUS_OK;
}

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

enum status cluster_objects_list(struct object_store *store, const char *prefix, struct arena *arena, struct cluster_names *names,
                                 struct error *err)
{
    struct listing listing = {.arena = arena, .names = names};
    *names = (struct cluster_names){0};
    TRY(store->driver->list(store, prefix, NULL, add_name, &listing, err));
    if (names->count > 1) { /* a service orders names as they are encoded for it */
        qsort(names->names, names->count, sizeof *names->names, compare_names);
    }
    return STATUS_OK;
}
