#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/condition.h"
#include "cluster/zookeeper.h"

enum { PAUSE_US = 50000, GOODBYE_ATTEMPTS = 400, TOO_LARGE = 1200000 /* jute.maxbuffer is 1 MiB */ };

static void session_event(zhandle_t *handle, int type, int state, const char *path, void *context)
{
    struct zk_session *self = context;
    if (type != ZOO_SESSION_EVENT) {
        return;
    }
    pthread_mutex_lock(&self->mutex);
    bool connected = state == ZOO_CONNECTED_STATE, was = self->state == ZOO_CONNECTED_STATE;
    self->state = state;
    self->expired_us = self->clock->monotonic_us(self->clock);
    if (connected || was || state == ZOO_EXPIRED_SESSION_STATE) {
        zk_hint(self, connected ? CLUSTER_CONNECTED : state == ZOO_EXPIRED_SESSION_STATE ? CLUSTER_EXPIRED : CLUSTER_DISCONNECTED);
    }
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->mutex);
}

static void say_nothing(const char *message)
{
}

/* Another client, with a session of its own. With the mutex held; it is left for a while. */
static enum status open_handle(struct zk_session *self, struct error *err)
{
    pthread_mutex_unlock(&self->mutex);
    zhandle_t *handle = zookeeper_init2(self->hosts, session_event, self->timeout_ms, NULL, self, 0, say_nothing);
    int failure = errno;
    if (handle != NULL && self->auth != NULL) {
        (void)zoo_add_auth(handle, "digest", self->auth, (int)strlen(self->auth), NULL, NULL); /* sent first, whenever it connects */
    }
    pthread_mutex_lock(&self->mutex);
    self->handle = handle;
    self->generation++;
    return handle != NULL
               ? STATUS_OK
               : error_set(err, ERROR_CLUSTER_UNAVAILABLE, "no client for ZooKeeper at '%.200s': %s", self->hosts, strerror(failure));
}

/* The session is over: when nobody uses its client any more, another takes its place. With the mutex held. */
static enum status replace_handle(struct zk_session *self, struct error *err)
{
    zhandle_t *old = self->handle;
    self->handle = NULL;
    self->replacing = true;
    pthread_mutex_unlock(&self->mutex);
    if (old != NULL) {
        (void)zookeeper_close(old);
    }
    pthread_mutex_lock(&self->mutex);
    self->state = ZOO_CONNECTING_STATE;
    enum status status = open_handle(self, err);
    self->replacing = false;
    self->armed_anew = false;
    pthread_cond_broadcast(&self->changed);
    return status;
}

void zk_rescue(struct zk_session *self)
{
    struct error ignored; /* the next call tries again */
    bool over = self->state == ZOO_EXPIRED_SESSION_STATE && !self->replacing && self->users > 0;
    if (over && self->clock->monotonic_us(self->clock) - self->expired_us > 2 * self->call_timeout_us) {
        (void)replace_handle(self, &ignored);
    }
}

/* The client, connected; it is the caller's until leave(). */
static enum status enter(struct zk_session *self, int64_t deadline_us, zhandle_t **handle, struct error *err)
{
    enum status status = STATUS_OK;
    pthread_mutex_lock(&self->mutex);
    while (self->replacing || self->handle == NULL || self->state != ZOO_CONNECTED_STATE) {
        int64_t left = deadline_us - self->clock->monotonic_us(self->clock);
        bool over = !self->replacing && self->users == 0 &&
                    (self->handle == NULL || self->state == ZOO_EXPIRED_SESSION_STATE || self->state == ZOO_AUTH_FAILED_STATE);
        if (left <= 0) {
            status = error_set(err, ERROR_CLUSTER_UNAVAILABLE, "ZooKeeper at '%.200s' does not answer", self->hosts);
            break;
        }
        if (over && (status = replace_handle(self, err)) != STATUS_OK) {
            break;
        }
        if (self->state != ZOO_CONNECTED_STATE) {
            condition_wait_us(&self->changed, &self->mutex, left < PAUSE_US ? left : PAUSE_US);
        }
    }
    if (status == STATUS_OK) {
        self->users++;
        *handle = self->handle;
    }
    pthread_mutex_unlock(&self->mutex);
    return status;
}

static void leave(struct zk_session *self)
{
    pthread_mutex_lock(&self->mutex);
    self->users--;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->mutex);
}

/* May the request have been done? */
static bool is_unclear(int rc)
{
    return rc == ZCONNECTIONLOSS || rc == ZOPERATIONTIMEOUT || rc == ZCLOSING;
}

/* It was surely not done, and may be sent again. */
static bool is_passing(int rc)
{
    return rc == ZINVALIDSTATE || rc == ZSESSIONEXPIRED || rc == ZSESSIONMOVED || rc == ZTHROTTLEDOP || rc == ZNOTREADONLY;
}

enum status zk_call(struct zk_session *self, enum zk_kind kind, zk_request request, void *context, int *rc, struct error *err)
{
    int64_t deadline = self->clock->monotonic_us(self->clock) + self->call_timeout_us;
    for (;;) {
        zhandle_t *handle;
        TRY(enter(self, deadline, &handle, err));
        *rc = request(handle, self, context);
        leave(self);
        if (kind == ZK_CHANGE && is_unclear(*rc)) {
            *rc = ZCONNECTIONLOSS;
            return STATUS_OK;
        }
        if (!is_unclear(*rc) && !is_passing(*rc)) {
            return STATUS_OK;
        }
        if (self->clock->monotonic_us(self->clock) >= deadline) {
            return zk_fail(self, *rc, "answer", self->root, err);
        }
        struct timespec pause = {.tv_nsec = PAUSE_US * 1000L / 5};
        nanosleep(&pause, NULL);
    }
}

enum status zk_fail(const struct zk_session *self, int rc, const char *what, const char *path, struct error *err)
{
    if (rc == ZNOAUTH || rc == ZAUTHFAILED || rc == ZINVALIDACL) {
        return error_set(err, ERROR_CLUSTER_DENIED,
                         "ZooKeeper at '%.200s' does not let us %s '%.300s' (%s): check 'zookeeper.auth' and "
                         "the rights on the namespace",
                         self->hosts, what, path, zerror(rc));
    }
    return error_set(err, ERROR_CLUSTER_UNAVAILABLE, "ZooKeeper at '%.200s' does not %s '%.300s': %s (%d)", self->hosts, what, path,
                     zerror(rc), rc);
}

/* ---- sync ---- */

struct sync_wait {
    pthread_mutex_t mutex;
    pthread_cond_t done;
    bool over;
    int rc;
};

static void sync_done(int rc, const char *value, const void *data)
{
    struct sync_wait *wait = (struct sync_wait *)data;
    pthread_mutex_lock(&wait->mutex);
    wait->rc = rc;
    wait->over = true;
    pthread_cond_signal(&wait->done);
    pthread_mutex_unlock(&wait->mutex);
}

int zk_sync(zhandle_t *handle, const struct zk_session *self)
{
    struct sync_wait wait = {.mutex = PTHREAD_MUTEX_INITIALIZER, .done = PTHREAD_COND_INITIALIZER};
    int rc = zoo_async(handle, self->root, sync_done, &wait);
    if (rc != ZOK) {
        return rc;
    }
    pthread_mutex_lock(&wait.mutex);
    while (!wait.over) { /* the client completes every request, if only with an error */
        pthread_cond_wait(&wait.done, &wait.mutex);
    }
    pthread_mutex_unlock(&wait.mutex);
    pthread_mutex_destroy(&wait.mutex);
    pthread_cond_destroy(&wait.done);
    return wait.rc == ZNONODE ? ZOK : wait.rc;
}

/* ---- begin and end ---- */

enum status zk_connect(struct zk_session *self, struct error *err)
{
    zhandle_t *handle;
    zoo_set_debug_level((ZooLogLevel)0);
    pthread_mutex_lock(&self->mutex);
    self->state = ZOO_CONNECTING_STATE;
    enum status status = open_handle(self, err);
    pthread_mutex_unlock(&self->mutex);
    TRY(status);
    TRY(enter(self, self->clock->monotonic_us(self->clock) + self->call_timeout_us, &handle, err));
    leave(self);
    return STATUS_OK;
}

static void ignore_result(int rc, const struct Stat *stat, const void *data)
{
}

/* The client has no call for this: a close that is not told to the servers. It is given other servers, that are none, and then the one that it
 * is connected to is made to hang up, by a request larger than it takes; so it has no connection when it says goodbye. */
static void lose_connection(struct zk_session *self)
{
    char *bytes = calloc(1, TOO_LARGE);
    if (bytes == NULL || zoo_set_servers(self->handle, "127.0.0.1:1,127.0.0.1:2") != ZOK) {
        free(bytes);
        return;
    }
    (void)zoo_aset(self->handle, self->root, bytes, TOO_LARGE, INT32_MAX, ignore_result, NULL); /* a version that no znode has */
    for (uint32_t i = 0; i < GOODBYE_ATTEMPTS && zoo_state(self->handle) == ZOO_CONNECTED_STATE; i++) {
        struct timespec pause = {.tv_nsec = PAUSE_US * 100L};
        nanosleep(&pause, NULL);
    }
    free(bytes);
}

void zk_disconnect(struct zk_session *self, bool abandon)
{
    if (self->handle == NULL) {
        return;
    }
    if (abandon && zoo_state(self->handle) == ZOO_CONNECTED_STATE) {
        lose_connection(self);
    }
    (void)zookeeper_close(self->handle);
    self->handle = NULL;
}
