#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/zookeeper.h"

enum { FOLDER_ATTEMPTS = 50 };

void zk_version_of(const struct Stat *stat, struct cluster_version *version)
{
    snprintf(version->token, sizeof version->token, "%" PRIx64 ".%" PRId32, (uint64_t)stat->czxid, stat->version);
}

/* ---- get ---- */

static int read_node(zhandle_t *handle, struct zk_session *self, void *context)
{
    struct zk_read *read = context;
    int rc = zk_sync(handle, self);
    if (rc != ZOK) {
        return rc;
    }
    read->length = CLUSTER_VALUE_MAX + 1;
    rc = zoo_get(handle, read->path, 0, read->bytes, &read->length, &read->stat);
    read->length = read->length < 0 ? 0 : read->length; /* -1: no data at all */
    return rc;
}

enum status zk_read_node(struct zk_session *self, struct zk_read *read, int *rc, struct error *err)
{
    TRY(zk_call(self, ZK_READ, read_node, read, rc, err));
    if (*rc != ZOK && *rc != ZNONODE) {
        return zk_fail(self, *rc, "read", read->path, err);
    }
    if (*rc == ZOK && (read->length > CLUSTER_VALUE_MAX || read->stat.dataLength > CLUSTER_VALUE_MAX)) {
        return error_set(err, ERROR_STORE_CORRUPT, "the register '%.300s' has %" PRId32 " bytes: it is not ours", read->path,
                         read->stat.dataLength);
    }
    return STATUS_OK;
}

enum status zk_get(struct cluster_session *session, const char *name, struct arena *arena, enum cluster_result *result,
                   struct cluster_value *value, struct error *err)
{
    struct zk_session *self = (struct zk_session *)session;
    char path[ZK_PATH_MAX];
    int rc;
    struct zk_read read = {.path = path};
    TRY(cluster_name_check(name, err));
    zk_path_of_name(self, name, path);
    TRY_ALLOC(read.bytes, malloc(CLUSTER_VALUE_MAX + 1), err);
    enum status status = zk_read_node(self, &read, &rc, err);
    if (status == STATUS_OK) {
        *result = rc == ZOK ? CLUSTER_OK : CLUSTER_ABSENT;
    }
    if (status == STATUS_OK && rc == ZOK) {
        value->bytes = (struct text){arena_text(arena, read.bytes, (size_t)read.length), (size_t)read.length};
        zk_version_of(&read.stat, &value->version);
        status = value->bytes.bytes != NULL ? STATUS_OK : error_set(err, ERROR_BUDGET_SPENT, "no room for the register '%s'", name);
    }
    free(read.bytes);
    return status;
}

/* ---- put: make ---- */

struct change {
    const char *path, *parent;
    struct text value;
    const struct cluster_version *expect;
    struct Stat stat, folder;
};

static int create_node(zhandle_t *handle, struct zk_session *self, void *context)
{
    struct change *change = context;
    return zoo_create2(handle, change->path, change->value.bytes, (int)change->value.length, self->acl, 0, NULL, 0, &change->stat);
}

static int make_parents(zhandle_t *handle, struct zk_session *self, void *context)
{
    return zk_make_parents(handle, self, ((const struct change *)context)->path);
}

static enum status put_new(struct zk_session *self, struct change *change, int *rc, struct error *err)
{
    TRY(zk_call(self, ZK_CHANGE, create_node, change, rc, err));
    if (*rc == ZNONODE) { /* its folder is missing; folders are never removed */
        int made;
        TRY(zk_call(self, ZK_READ, make_parents, change, &made, err));
        if (made != ZOK) {
            return zk_fail(self, made, "make the folder of", change->path, err);
        }
        TRY(zk_call(self, ZK_CHANGE, create_node, change, rc, err));
    }
    return STATUS_OK;
}

/* ---- put and delete what is there ---- */

/* The folder first, then the register: if the folder's version still stands when the change is made, nobody made the register anew since. */
static int look(zhandle_t *handle, struct zk_session *self, void *context)
{
    struct change *change = context;
    int rc = zoo_exists(handle, change->parent, 0, &change->folder);
    return rc != ZOK ? rc : zoo_exists(handle, change->path, 0, &change->stat);
}

static int look_after_sync(zhandle_t *handle, struct zk_session *self, void *context)
{
    int rc = zk_sync(handle, self);
    return rc != ZOK ? rc : look(handle, self, context);
}

static bool is_expected(const struct change *change)
{
    struct cluster_version version;
    zk_version_of(&change->stat, &version);
    return strcmp(version.token, change->expect->token) == 0;
}

static int set_node(zhandle_t *handle, struct zk_session *self, void *context)
{
    struct change *change = context;
    zoo_op_t ops[2];
    zoo_op_result_t results[2];
    struct Stat stat;
    zoo_check_op_init(&ops[0], change->parent, change->folder.version);
    zoo_set_op_init(&ops[1], change->path, change->value.bytes, (int)change->value.length, change->stat.version, &stat);
    int rc = zoo_multi(handle, 2, ops, results);
    if (rc == ZBADVERSION && results[0].err == ZBADVERSION) {
        return ZNOTHING; /* the folder changed: look again */
    }
    change->stat = rc == ZOK ? stat : change->stat;
    return rc;
}

static int delete_node(zhandle_t *handle, struct zk_session *self, void *context)
{
    struct change *change = context;
    zoo_op_t ops[2];
    zoo_op_result_t results[2];
    struct Stat stat;
    zoo_set_op_init(&ops[0], change->parent, "", 0, change->folder.version, &stat);
    zoo_delete_op_init(&ops[1], change->path, change->stat.version);
    int rc = zoo_multi(handle, 2, ops, results);
    return rc == ZBADVERSION && results[0].err == ZBADVERSION ? ZNOTHING : rc;
}

/* *rc: ZOK, ZNONODE, ZBADVERSION, ZCONNECTIONLOSS. */
static enum status change_existing(struct zk_session *self, struct change *change, zk_request request, int *rc, struct error *err)
{
    TRY(zk_call(self, ZK_READ, look, change, rc, err));
    for (uint32_t attempt = 0; attempt < FOLDER_ATTEMPTS; attempt++) {
        if ((*rc == ZOK && !is_expected(change)) || *rc == ZNONODE || attempt > 0) { /* this server may lag behind the caller */
            TRY(zk_call(self, ZK_READ, look_after_sync, change, rc, err));
        }
        if (*rc != ZOK) {
            return STATUS_OK;
        }
        if (!is_expected(change)) {
            *rc = ZBADVERSION;
            return STATUS_OK;
        }
        TRY(zk_call(self, ZK_CHANGE, request, change, rc, err));
        if (*rc != ZNOTHING) {
            return STATUS_OK;
        }
    }
    return error_set(err, ERROR_CLUSTER_UNAVAILABLE, "'%.300s' is busy: registers beside it are deleted all the time", change->path);
}

/* What the code means to a caller of put or del; false: an error. */
static bool result_of(int rc, enum cluster_result if_none, enum cluster_result *result)
{
    *result = rc == ZOK ? CLUSTER_OK : rc == ZNONODE ? if_none : rc == ZCONNECTIONLOSS ? CLUSTER_UNKNOWN : CLUSTER_CONFLICT;
    return rc == ZOK || rc == ZNONODE || rc == ZCONNECTIONLOSS || rc == ZBADVERSION || rc == ZNODEEXISTS;
}

enum status zk_put(struct cluster_session *session, const char *name, struct text value, const struct cluster_version *expect,
                   enum cluster_result *result, struct cluster_version *version, struct error *err)
{
    struct zk_session *self = (struct zk_session *)session;
    char path[ZK_PATH_MAX], parent[ZK_PATH_MAX];
    int rc;
    struct change change = {path, parent, {value.length == 0 ? "" : value.bytes, value.length}, expect, {0}, {0}};
    TRY(cluster_put_check(name, value, err));
    zk_path_of_name(self, name, path);
    zk_parent_of(path, parent);
    TRY(expect == NULL ? put_new(self, &change, &rc, err) : change_existing(self, &change, set_node, &rc, err));
    if (!result_of(rc, CLUSTER_CONFLICT, result)) {
        return zk_fail(self, rc, "write", path, err);
    }
    if (rc == ZOK) {
        zk_version_of(&change.stat, version);
    }
    return STATUS_OK;
}

enum status zk_del(struct cluster_session *session, const char *name, const struct cluster_version *expect, enum cluster_result *result,
                   struct error *err)
{
    struct zk_session *self = (struct zk_session *)session;
    char path[ZK_PATH_MAX], parent[ZK_PATH_MAX];
    int rc;
    struct change change = {.path = path, .parent = parent, .expect = expect};
    TRY(cluster_name_check(name, err));
    zk_path_of_name(self, name, path);
    zk_parent_of(path, parent);
    TRY(change_existing(self, &change, delete_node, &rc, err));
    return result_of(rc, CLUSTER_ABSENT, result) ? STATUS_OK : zk_fail(self, rc, "delete", path, err);
}
