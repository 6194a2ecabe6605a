#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/zookeeper.h"

enum { ATTEMPTS = 5 };

struct zk_lease {
    struct cluster_lease base;
    struct zk_lease *next;
    char *path;
    struct lease_value value; /* as it was written last */
    int32_t version;          /* of the znode */
    uint64_t generation;      /* of the session that made it */
    int64_t renewed_us;       /* from before the last renewal that was confirmed */
    bool lost, renewing;      /* renewing: a thread works with it; it is not freed meanwhile */
};

/* What a request is about. */
struct attempt {
    struct zk_session *session;
    struct zk_lease *lease;
    struct text bytes;
    struct budget budget;
    struct arena *arena;
    struct Stat stat;
    uint64_t generation;
    bool other_session;
};

static enum status attempt_open(struct attempt *attempt, struct zk_lease *lease, struct error *err)
{
    *attempt = (struct attempt){.session = (struct zk_session *)lease->base.session, .lease = lease};
    budget_init(&attempt->budget, NULL, "a lease", BUDGET_UNLIMITED);
    TRY_ALLOC(attempt->arena, arena_create(&attempt->budget, "a lease"), err);
    enum status status = lease_value_write(&lease->value, attempt->arena, &attempt->bytes, err);
    if (status != STATUS_OK) {
        arena_destroy(attempt->arena);
    }
    return status;
}

static uint64_t generation_now(struct zk_session *self)
{
    pthread_mutex_lock(&self->mutex);
    uint64_t generation = self->generation;
    pthread_mutex_unlock(&self->mutex);
    return generation;
}

/* ---- what is there ---- */

enum verdict { MINE, ANOTHERS, NOBODYS };

/* Looks at the znode; mine: its nonce is this grant's. What cannot be read as a lease is another's. */
static enum status look(struct zk_lease *lease, enum verdict *verdict, struct lease_value *there, struct error *err)
{
    struct zk_session *self = (struct zk_session *)lease->base.session;
    struct zk_read read = {.path = lease->path};
    struct budget budget;
    struct arena *arena;
    struct error foreign;
    int rc;
    budget_init(&budget, NULL, "a lease", BUDGET_UNLIMITED);
    TRY_ALLOC(arena, arena_create(&budget, "a lease"), err);
    enum status status = STATUS_OK;
    *there = (struct lease_value){.holder = ""};
    read.bytes = arena_alloc(arena, CLUSTER_VALUE_MAX + 1);
    status = read.bytes == NULL ? error_set(err, ERROR_BUDGET_SPENT, "no room for a lease") : zk_read_node(self, &read, &rc, err);
    if (status == STATUS_OK) {
        bool readable =
            rc == ZOK && lease_value_read(lease->path, (struct text){read.bytes, (size_t)read.length}, arena, there, &foreign) == STATUS_OK;
        *verdict = rc != ZOK ? NOBODYS : readable && strcmp(there->nonce, lease->value.nonce) == 0 ? MINE : ANOTHERS;
        lease->version = *verdict == MINE ? read.stat.version : lease->version;
        lease->base.fence = *verdict == MINE ? (uint64_t)read.stat.czxid : lease->base.fence;
    }
    arena_destroy(arena);
    return status;
}

/* ---- acquire ---- */

static int create_lease(zhandle_t *handle, struct zk_session *self, void *context)
{
    struct attempt *attempt = context;
    attempt->generation = generation_now(self); /* while this client is used it is not replaced */
    return zoo_create2(handle, attempt->lease->path, attempt->bytes.bytes, (int)attempt->bytes.length, self->acl, ZOO_EPHEMERAL, NULL, 0,
                       &attempt->stat);
}

static int make_parents(zhandle_t *handle, struct zk_session *self, void *context)
{
    return zk_make_parents(handle, self, ((const struct attempt *)context)->lease->path);
}

/* *granted, or a holder's text in held_by. */
static enum status try_acquire(struct attempt *attempt, bool *granted, bool *held, char held_by[CLUSTER_HOLDER_MAX], struct error *err)
{
    struct zk_lease *lease = attempt->lease;
    struct lease_value there;
    enum verdict verdict;
    int rc, made;
    *granted = *held = false;
    TRY(zk_call(attempt->session, ZK_CHANGE, create_lease, attempt, &rc, err));
    if (rc == ZOK) {
        *granted = true;
        lease->version = 0;
        lease->base.fence = (uint64_t)attempt->stat.czxid;
        return STATUS_OK;
    }
    if (rc == ZNONODE) {
        TRY(zk_call(attempt->session, ZK_READ, make_parents, attempt, &made, err));
        return made == ZOK ? STATUS_OK : zk_fail(attempt->session, made, "make the folder of", lease->path, err);
    }
    if (rc != ZNODEEXISTS && rc != ZCONNECTIONLOSS) {
        return zk_fail(attempt->session, rc, "make", lease->path, err);
    }
    TRY(look(lease, &verdict, &there, err)); /* ours, perhaps, and only the answer was lost */
    *granted = verdict == MINE;
    *held = verdict == ANOTHERS;
    snprintf(held_by, CLUSTER_HOLDER_MAX, "%s", there.holder);
    return STATUS_OK;
}

static void keep(struct zk_lease *lease)
{
    struct zk_session *self = (struct zk_session *)lease->base.session;
    pthread_mutex_lock(&self->mutex);
    lease->next = self->leases;
    self->leases = lease;
    pthread_cond_broadcast(&self->changed); /* the service thread has something to look after */
    pthread_mutex_unlock(&self->mutex);
}

static void lease_free(struct zk_lease *lease)
{
    free(lease->path);
    free(lease);
}

static enum status create_record(struct zk_session *self, const char *name, const char *holder, int64_t ttl_us, struct zk_lease **lease,
                                 struct error *err)
{
    char path[ZK_PATH_MAX];
    zk_path_of_name(self, name, path);
    struct zk_lease *made = calloc(1, sizeof *made);
    char *copy = strdup(path);
    if (made == NULL || copy == NULL) {
        free(made);
        free(copy);
        return error_set(err, ERROR_BUDGET_SPENT, "no room for a lease");
    }
    *made = (struct zk_lease){.base.session = &self->base, .path = copy, .value = {.ttl_us = ttl_us, .beat = 1}};
    snprintf(made->value.holder, sizeof made->value.holder, "%s", holder);
    random_name(&self->random, made->value.nonce);
    *lease = made;
    return STATUS_OK;
}

/* The ttl is what the servers gave the session; another would be a promise that nobody keeps. */
static enum status check_ttl(struct zk_session *self, int64_t ttl_us, struct error *err)
{
    pthread_mutex_lock(&self->mutex);
    int given = self->handle != NULL && self->state == ZOO_CONNECTED_STATE ? zoo_recv_timeout(self->handle) : self->timeout_ms;
    pthread_mutex_unlock(&self->mutex);
    if (ttl_us == given * INT64_C(1000)) {
        return STATUS_OK;
    }
    return error_set(err, ERROR_CLUSTER_LEASE,
                     "a lease of %" PRId64
                     " ms, but the servers give this session %d ms (asked for: %d ms): set 'zookeeper.session-timeout' "
                     "to the lease's ttl, within the servers' minSessionTimeout and maxSessionTimeout",
                     ttl_us / 1000, given, self->timeout_ms);
}

enum status zk_lease_acquire(struct cluster_session *session, const char *name, const char *holder, int64_t ttl_us,
                             enum cluster_result *result, struct cluster_lease **lease, char held_by[CLUSTER_HOLDER_MAX], struct error *err)
{
    struct zk_session *self = (struct zk_session *)session;
    struct zk_lease *made;
    struct attempt attempt;
    bool granted = false, held = false;
    TRY(cluster_lease_check(name, holder, ttl_us, err));
    TRY(check_ttl(self, ttl_us, err));
    TRY(create_record(self, name, holder, ttl_us, &made, err));
    enum status status = attempt_open(&attempt, made, err);
    if (status != STATUS_OK) {
        lease_free(made);
        return status;
    }
    held_by[0] = '\0';
    for (uint32_t i = 0; i < ATTEMPTS && status == STATUS_OK && !granted && !held; i++) {
        made->renewed_us = self->clock->monotonic_us(self->clock);
        status = try_acquire(&attempt, &granted, &held, held_by, err);
    }
    arena_destroy(attempt.arena);
    made->generation = attempt.generation;
    *result = granted ? CLUSTER_OK : CLUSTER_CONFLICT;
    if (status == STATUS_OK && granted) {
        made->value.fence = (int64_t)made->base.fence;
        *lease = &made->base;
        keep(made);
    } else {
        lease_free(made);
    }
    return status;
}

/* ---- renew ---- */

static int set_lease(zhandle_t *handle, struct zk_session *self, void *context)
{
    struct attempt *attempt = context;
    attempt->other_session = generation_now(self) != attempt->lease->generation;
    return attempt->other_session ? ZNONODE
                                  : zoo_set2(handle, attempt->lease->path, attempt->bytes.bytes, (int)attempt->bytes.length,
                                             attempt->lease->version, &attempt->stat);
}

/* One write of the next beat. *verdict NOBODYS: it must be tried again. */
static enum status try_renew(struct zk_lease *lease, enum verdict *verdict, struct error *err)
{
    struct attempt attempt;
    struct lease_value there;
    int rc;
    lease->value.beat++;
    TRY(attempt_open(&attempt, lease, err));
    enum status status = zk_call(attempt.session, ZK_CHANGE, set_lease, &attempt, &rc, err);
    arena_destroy(attempt.arena);
    TRY(status);
    if (rc == ZOK) {
        lease->version = attempt.stat.version;
        *verdict = MINE;
        return STATUS_OK;
    }
    if (attempt.other_session || rc == ZNONODE) {
        *verdict = ANOTHERS;
        return STATUS_OK;
    }
    if (rc != ZBADVERSION && rc != ZCONNECTIONLOSS) {
        return zk_fail(attempt.session, rc, "write", lease->path, err);
    }
    TRY(look(lease, verdict, &there, err));
    *verdict = *verdict != MINE ? ANOTHERS : there.beat == lease->value.beat ? MINE : NOBODYS;
    return STATUS_OK;
}

static enum status renew(struct zk_lease *lease, enum verdict *verdict, struct error *err)
{
    struct zk_session *self = (struct zk_session *)lease->base.session;
    int64_t start_us = self->clock->monotonic_us(self->clock);
    *verdict = NOBODYS;
    for (uint32_t i = 0; i < ATTEMPTS && *verdict == NOBODYS; i++) {
        start_us = self->clock->monotonic_us(self->clock);
        TRY(try_renew(lease, verdict, err));
    }
    if (*verdict == NOBODYS) {
        return error_set(err, ERROR_CLUSTER_UNAVAILABLE, "the lease '%.300s' is written by others all the time", lease->path);
    }
    lease->renewed_us = *verdict == MINE ? start_us : lease->renewed_us;
    return STATUS_OK;
}

enum status zk_lease_renew(struct cluster_lease *base, enum cluster_result *result, struct error *err)
{
    struct zk_lease *lease = (struct zk_lease *)base;
    struct zk_session *self = (struct zk_session *)base->session;
    enum verdict verdict = ANOTHERS;
    pthread_mutex_lock(&self->mutex);
    bool lost = lease->lost;
    lease->renewing = lease->renewing || !lost; /* of one that is lost it is the service thread's */
    pthread_mutex_unlock(&self->mutex);
    enum status status = lost ? STATUS_OK : renew(lease, &verdict, err);
    pthread_mutex_lock(&self->mutex);
    lease->renewing = lease->renewing && lost;
    lease->lost = lease->lost || (status == STATUS_OK && verdict != MINE);
    pthread_mutex_unlock(&self->mutex);
    *result = verdict == MINE ? CLUSTER_OK : CLUSTER_CONFLICT;
    return status;
}

/* ---- the end ---- */

static int delete_lease(zhandle_t *handle, struct zk_session *self, void *context)
{
    struct attempt *attempt = context;
    if (generation_now(self) != attempt->lease->generation) {
        return ZNONODE; /* it went with its session */
    }
    return zoo_delete(handle, attempt->lease->path, attempt->lease->version);
}

/* Deletes the znode if it is this grant's. */
static enum status give_up(struct zk_lease *lease, struct error *err)
{
    struct zk_session *self = (struct zk_session *)lease->base.session;
    struct attempt attempt = {.session = self, .lease = lease};
    for (uint32_t i = 0; i < ATTEMPTS; i++) {
        struct lease_value there;
        enum verdict verdict;
        int rc;
        TRY(zk_call(self, ZK_CHANGE, delete_lease, &attempt, &rc, err));
        if (rc == ZOK || rc == ZNONODE) {
            return STATUS_OK;
        }
        if (rc != ZBADVERSION && rc != ZCONNECTIONLOSS) {
            return zk_fail(self, rc, "delete", lease->path, err);
        }
        TRY(look(lease, &verdict, &there, err));
        if (verdict != MINE) {
            return STATUS_OK;
        }
    }
    return error_set(err, ERROR_CLUSTER_UNAVAILABLE, "the lease '%.300s' is written by others all the time", lease->path);
}

static bool unlink_lease(struct zk_lease *lease)
{
    struct zk_session *self = (struct zk_session *)lease->base.session;
    pthread_mutex_lock(&self->mutex);
    for (struct zk_lease **at = &self->leases; *at != NULL; at = &(*at)->next) {
        if (*at == lease) {
            *at = lease->next;
            break;
        }
    }
    while (lease->renewing) { /* the service thread gives it up just now */
        pthread_cond_wait(&self->changed, &self->mutex);
    }
    bool lost = lease->lost;
    pthread_mutex_unlock(&self->mutex);
    return lost;
}

enum status zk_lease_release(struct cluster_lease *base, struct error *err)
{
    struct zk_lease *lease = (struct zk_lease *)base;
    enum status status = unlink_lease(lease) ? STATUS_OK : give_up(lease, err);
    lease_free(lease);
    return status;
}

void zk_leases_close(struct zk_session *self, bool release)
{
    while (self->leases != NULL) {
        struct error ignored; /* others will wait for the ttl */
        if (release) {
            (void)zk_lease_release(&self->leases->base, &ignored);
        } else {
            struct zk_lease *lease = self->leases;
            self->leases = lease->next;
            lease_free(lease);
        }
    }
}

int64_t zk_leases_pause_us(const struct zk_session *self)
{
    int64_t pause = INT64_MAX;
    for (const struct zk_lease *lease = self->leases; lease != NULL; lease = lease->next) {
        int64_t tenth = lease->value.ttl_us / 20;
        pause = lease->lost || tenth > pause ? pause : tenth;
    }
    return pause;
}

/* One that was silent for its ttl; it is lost from now on. */
static struct zk_lease *take_silent(struct zk_session *self)
{
    int64_t now_us = self->clock->monotonic_us(self->clock);
    struct zk_lease *found = NULL;
    pthread_mutex_lock(&self->mutex);
    for (struct zk_lease *lease = self->leases; lease != NULL && found == NULL; lease = lease->next) {
        found = !lease->lost && !lease->renewing && now_us - lease->renewed_us >= lease->value.ttl_us ? lease : NULL;
    }
    if (found != NULL) {
        found->lost = found->renewing = true;
    }
    pthread_mutex_unlock(&self->mutex);
    return found;
}

void zk_leases_expire(struct zk_session *self)
{
    for (struct zk_lease *lease; (lease = take_silent(self)) != NULL;) {
        struct error ignored; /* without a connection the servers end the session */
        (void)give_up(lease, &ignored);
        pthread_mutex_lock(&self->mutex);
        lease->renewing = false;
        pthread_cond_broadcast(&self->changed);
        pthread_mutex_unlock(&self->mutex);
    }
}
