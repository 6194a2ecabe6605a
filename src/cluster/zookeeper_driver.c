/* The driver zookeeper: its options, its URI, and the table. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/condition.h"
#include "base/module.h"
#include "base/option.h"
#include "build_id.h"
#include "cluster/zookeeper.h"

struct zk_settings {
    const char *auth;
    struct duration session_timeout, call_timeout;
};
static const struct option_def zk_options[] = {
    {.name = "zookeeper.session-timeout",
     OPTION_DURATION(struct zk_settings, session_timeout),
     .initial = "6 s",
     .summary = "How long the servers wait for a silent client. Leases have just this ttl; the servers must allow it."},
    {.name = "zookeeper.call-timeout",
     OPTION_DURATION(struct zk_settings, call_timeout),
     .initial = "5 s",
     .summary = "How long a call waits for a connection before the service counts as unavailable."},
    {.name = "zookeeper.auth",
     OPTION_TEXT(struct zk_settings, auth),
     .flags = OPTION_SECRET,
     .summary = "USER:PASSWORD of the scheme digest. What is made then belongs to that user alone; without it, to everybody."},
};

/* "zookeeper://host:2181,host2:2181/a/namespace" */
static enum status read_uri(struct zk_session *self, const char *uri, struct error *err)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    const char *hosts = strncmp(uri, "zookeeper://", 12) == 0 ? uri + 12 : "";
    size_t length = strcspn(hosts, "/");
    const char *path = hosts[length] == '/' && hosts[length + 1] != '\0' ? hosts + length : "/spate";
    size_t end = strlen(path);
    end -= end > 1 && path[end - 1] == '/';
    if (length == 0 || end >= sizeof self->root) {
        return error_set(err, ERROR_CLUSTER_URI, "'%.300s' is not like zookeeper://host:2181,host2:2181/namespace", uri);
    }
    for (const char *part = path; part < path + end;) {
        size_t bytes = strspn(part + 1, allowed);
        if (bytes == 0 || part[1] == '.' || (part + 1 + bytes < path + end && part[1 + bytes] != '/')) {
            return error_set(err, ERROR_CLUSTER_URI, "the namespace '%.300s' has other characters than letters, digits, '_', '-', '.'",
                             path);
        }
        part += 1 + bytes;
    }
    snprintf(self->root, sizeof self->root, "%.*s", (int)end, path);
    TRY_ALLOC(self->hosts, strndup(hosts, length), err);
    return STATUS_OK;
}

/* ---- the namespace ---- */

static int make_root(zhandle_t *handle, struct zk_session *self, void *context)
{
    return zk_make_parents(handle, self, context);
}

/* Makes a znode and removes it, all at once: may we? */
static int try_root(zhandle_t *handle, struct zk_session *self, void *context)
{
    const char *probe = context;
    zoo_op_t ops[2];
    zoo_op_result_t results[2];
    zoo_create_op_init(&ops[0], probe, "", 0, self->acl, 0, NULL, 0);
    zoo_delete_op_init(&ops[1], probe, -1);
    return zoo_multi(handle, 2, ops, results);
}

static enum status prepare_root(struct zk_session *self, struct error *err)
{
    char probe[ZK_NAMESPACE_MAX + 64], name[RANDOM_NAME_BYTES];
    int rc;
    random_name(&self->random, name);
    snprintf(probe, sizeof probe, "%s/~%s", self->root, name); /* no name of a register: '~' would be encoded */
    TRY(zk_call(self, ZK_READ, make_root, probe, &rc, err));
    if (rc != ZOK) {
        return zk_fail(self, rc, "make", self->root, err);
    }
    TRY(zk_call(self, ZK_READ, try_root, probe, &rc, err));
    return rc == ZOK ? STATUS_OK : zk_fail(self, rc, "write below", self->root, err);
}

/* ---- begin and end ---- */

static void session_free(struct zk_session *self)
{
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->mutex);
    free(self->hosts);
    free(self->auth);
    free(self);
}

static const struct cluster_driver zk_driver;

static enum status session_create(const struct zk_settings *settings, const struct cluster_environment *environment,
                                  struct zk_session **session, struct error *err)
{
    struct zk_session *self;
    TRY_ALLOC(self, calloc(1, sizeof *self), err);
    pthread_mutex_init(&self->mutex, NULL);
    condition_init(&self->changed);
    self->base.driver = &zk_driver;
    self->clock = environment->clock;
    self->call_timeout_us = settings->call_timeout.us;
    self->timeout_ms = (int)(settings->session_timeout.us / 1000);
    self->auth = settings->auth == NULL ? NULL : strdup(settings->auth);
    self->acl = settings->auth == NULL ? &ZOO_OPEN_ACL_UNSAFE : &ZOO_CREATOR_ALL_ACL;
    random_open(&self->random, environment->random_seed);
    *session = self;
    return STATUS_OK;
}

static enum status zk_open(const char *uri, const void *settings, const struct cluster_environment *environment,
                           struct cluster_session **opened, struct error *err)
{
    struct zk_session *self;
    enum status status;
    TRY(session_create(settings, environment, &self, err));
    TRY_GOTO(failed, status, read_uri(self, uri, err));
    TRY_GOTO(failed, status, zk_connect(self, err));
    TRY_GOTO(failed, status, prepare_root(self, err));
    TRY_GOTO(failed, status, zk_service_start(self, err));
    *opened = &self->base;
    return STATUS_OK;
failed:
    zk_disconnect(self, false);
    session_free(self);
    return status;
}

static void zk_close(struct cluster_session *session, bool release_leases)
{
    struct zk_session *self = (struct zk_session *)session;
    zk_service_stop(self);
    bool abandon = !release_leases && self->leases != NULL;
    zk_leases_close(self, release_leases);
    zk_disconnect(self, abandon);
    session_free(self);
}

static const struct cluster_driver zk_driver = {
    .abi = CLUSTER_DRIVER_ABI,
    .scheme = "zookeeper",
    .summary = "Apache ZooKeeper: zookeeper://host:2181,host2:2181/namespace.",
    .options = zk_options,
    .option_count = ARRAY_LENGTH(zk_options),
    .settings_bytes = sizeof(struct zk_settings),
    .open = zk_open,
    .close = zk_close,
    .get = zk_get,
    .put = zk_put,
    .del = zk_del,
    .list = zk_list,
    .watch = zk_watch,
    .lease_acquire = zk_lease_acquire,
    .lease_renew = zk_lease_renew,
    .lease_release = zk_lease_release,
};

static const void *const drivers[] = {&zk_driver, NULL};
static const struct module described = {.build_id = MODULE_BUILD_ID, .name = "zookeeper", .types = {[MODULE_CLUSTER_DRIVERS] = drivers}};

MODULE_EXPORT const struct module *module_describe(void)
{
    return &described;
}
