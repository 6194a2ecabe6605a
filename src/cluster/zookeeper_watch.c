#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/condition.h"
#include "cluster/zookeeper.h"

enum { DEPTH_MAX = 32, ARM_PAUSE_US = 20000, SERVICE_PAUSE_US = 3600 * INT64_C(1000000) };

void zk_hint(struct zk_session *self, enum cluster_hint hint)
{
    self->pending |= 1u << hint;
    pthread_cond_broadcast(&self->changed);
}

/* On the client's own thread. */
static void touch(zhandle_t *handle, int type, int state, const char *path, void *context)
{
    struct zk_session *self = context;
    if (type == ZOO_SESSION_EVENT) { /* every watch is told of those; the session's own watcher sees to it */
        return;
    }
    pthread_mutex_lock(&self->mutex);
    self->touched = true;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->mutex);
}

/* ---- the watches: children of every folder below the prefix, registers of the first ---- */

static int watch_folder(zhandle_t *handle, struct zk_session *self, const char *path, uint32_t depth);

/* NOLINTNEXTLINE(misc-no-recursion): DEPTH_MAX */
static int watch_child(zhandle_t *handle, struct zk_session *self, const char *path, const char *child, uint32_t depth)
{
    char below[ZK_PATH_MAX];
    size_t length = strlen(child);
    bool is_folder = length > 0 && child[length - 1] == '+';
    if (snprintf(below, sizeof below, "%s/%s", path, child) >= (int)sizeof below) {
        return ZOK;
    }
    if (is_folder) {
        return depth < DEPTH_MAX ? watch_folder(handle, self, below, depth + 1) : ZOK;
    }
    return depth == 0 ? zoo_wexists(handle, below, touch, self, NULL) : ZOK;
}

/* NOLINTNEXTLINE(misc-no-recursion) */
static int watch_folder(zhandle_t *handle, struct zk_session *self, const char *path, uint32_t depth)
{
    struct String_vector children = {0};
    int rc = zoo_wget_children(handle, path, touch, self, &children);
    if (rc == ZNONODE) {
        return zoo_wexists(handle, path, touch, self, NULL);
    }
    for (int32_t i = 0; rc == ZOK && i < children.count; i++) {
        rc = watch_child(handle, self, path, children.data[i], depth);
        rc = rc == ZNONODE ? ZOK : rc;
    }
    deallocate_String_vector(&children);
    return rc;
}

static int watch_prefix(zhandle_t *handle, struct zk_session *self, void *context)
{
    return watch_folder(handle, self, context, 0);
}

/* Sets all watches (again); what cannot be set is polled. */
static void arm(struct zk_session *self)
{
    char folder[ZK_PATH_MAX];
    struct error ignored;
    int rc;
    pthread_mutex_lock(&self->mutex);
    bool wanted = self->hint != NULL;
    memcpy(folder, self->watched, sizeof folder);
    pthread_mutex_unlock(&self->mutex);
    bool armed = wanted && zk_call(self, ZK_READ, watch_prefix, folder, &rc, &ignored) == STATUS_OK;
    pthread_mutex_lock(&self->mutex);
    self->armed_anew = armed; /* else it is tried again */
    pthread_mutex_unlock(&self->mutex);
}

/* ---- the service thread ---- */

/* Gives the hints that are due. With the mutex held. */
static void tell(struct zk_session *self)
{
    uint32_t pending = self->pending;
    cluster_hint_fn hint = self->hint;
    void *context = self->hint_context;
    self->pending = 0;
    if (hint == NULL || pending == 0) {
        return;
    }
    self->telling = true;
    pthread_mutex_unlock(&self->mutex);
    for (enum cluster_hint kind = CLUSTER_CHANGED; kind <= CLUSTER_EXPIRED; kind++) {
        if ((pending & 1u << kind) != 0) {
            hint(context, kind);
        }
    }
    pthread_mutex_lock(&self->mutex);
    self->telling = false;
    pthread_cond_broadcast(&self->changed);
}

/* Does the session lack its watches, and could have them? A session after another needs them anew. */
static bool must_arm(const struct zk_session *self)
{
    return self->hint != NULL && (self->touched || (!self->armed_anew && self->state == ZOO_CONNECTED_STATE));
}

/* How long the service thread may rest if nothing happens. With the mutex held. */
static int64_t rest_us(const struct zk_session *self)
{
    int64_t rest = zk_leases_pause_us(self);
    int64_t limit = self->state == ZOO_EXPIRED_SESSION_STATE ? self->call_timeout_us : SERVICE_PAUSE_US;
    return rest < limit ? rest : limit;
}

static void *service_run(void *argument)
{
    struct zk_session *self = argument;
    pthread_mutex_lock(&self->mutex);
    while (!self->stop) {
        bool rearm = must_arm(self), changed = self->touched;
        self->touched = false;
        if (rearm) {
            pthread_mutex_unlock(&self->mutex);
            struct timespec rest = {.tv_nsec = ARM_PAUSE_US * 1000L}; /* what comes together is told once */
            nanosleep(&rest, NULL);
            arm(self);
            pthread_mutex_lock(&self->mutex);
            self->pending |= changed || self->armed_anew ? 1u << CLUSTER_CHANGED : 0;
        }
        tell(self);
        zk_rescue(self);
        pthread_mutex_unlock(&self->mutex);
        zk_leases_expire(self);
        pthread_mutex_lock(&self->mutex);
        if (!self->stop && self->pending == 0 && !must_arm(self)) {
            condition_wait_us(&self->changed, &self->mutex, rest_us(self));
        }
    }
    pthread_mutex_unlock(&self->mutex);
    return NULL;
}

enum status zk_service_start(struct zk_session *self, struct error *err)
{
    return pthread_create(&self->service, NULL, service_run, self) == 0
               ? STATUS_OK
               : error_set(err, ERROR_THREAD, "no thread for the session with ZooKeeper");
}

void zk_service_stop(struct zk_session *self)
{
    pthread_mutex_lock(&self->mutex);
    self->stop = true;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->mutex);
    pthread_join(self->service, NULL);
}

enum status zk_watch(struct cluster_session *session, const char *prefix, cluster_hint_fn hint, void *context, struct error *err)
{
    struct zk_session *self = (struct zk_session *)session;
    const char *slash = strrchr(prefix, '/');
    size_t length = slash == NULL ? 0 : (size_t)(slash - prefix) + 1;
    if (length > CLUSTER_NAME_MAX) {
        return error_set(err, ERROR_CLUSTER_NAME, "no register is below '%.100s...'", prefix);
    }
    pthread_mutex_lock(&self->mutex);
    self->hint = NULL;
    while (self->telling) {
        pthread_cond_wait(&self->changed, &self->mutex);
    }
    self->hint = hint;
    self->hint_context = context;
    self->armed_anew = self->touched = false;
    self->pending = 0;
    zk_path_of_folder(self, prefix, length, self->watched);
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->mutex);
    return STATUS_OK;
}
