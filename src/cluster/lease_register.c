#include "cluster/lease_register.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/value.h"
#include "storage/document.h"

enum { LEASE_FORM = 1, ATTEMPTS = 4 };

struct registered_lease {
    struct cluster_lease base;
    struct lease_register *owner;
    struct registered_lease *next;
    char *name;
    struct lease_value value; /* as it was written last */
    struct cluster_version version;
    bool lost;
};

/* ---- the value ---- */

enum status lease_value_write(const struct lease_value *lease, struct arena *arena, struct text *bytes, struct error *err)
{
    json_t *root = json_pack("{s:i, s:s, s:I, s:I, s:I, s:s}", "v", LEASE_FORM, "holder", lease->holder, "fence", (json_int_t)lease->fence,
                             "beat", (json_int_t)lease->beat, "ttl_us", (json_int_t)lease->ttl_us, "nonce", lease->nonce);
    char *text = root == NULL ? NULL : json_dumps(root, JSON_COMPACT);
    json_decref(root);
    enum status status =
        text == NULL ? error_set(err, ERROR_BUDGET_SPENT, "no room for a lease") : value_seal(text_from(text), arena, bytes, err);
    free(text);
    return status;
}

enum status lease_value_read(const char *name, struct text bytes, struct arena *arena, struct lease_value *lease, struct error *err)
{
    struct document document;
    struct text json;
    TRY(value_unseal(name, bytes, &json, err));
    TRY(document_open(name, json, LEASE_FORM, arena, &document, err));
    *lease = (struct lease_value){.fence = document_int(&document, document.root, "fence", DOCUMENT_REQUIRED, 0),
                                  .beat = document_int(&document, document.root, "beat", DOCUMENT_REQUIRED, 0),
                                  .ttl_us = document_int(&document, document.root, "ttl_us", DOCUMENT_REQUIRED, 0)};
    const char *holder = document_text(&document, document.root, "holder", DOCUMENT_REQUIRED);
    const char *nonce = document_text(&document, document.root, "nonce", DOCUMENT_REQUIRED);
    snprintf(lease->holder, sizeof lease->holder, "%s", holder == NULL ? "" : holder);
    snprintf(lease->nonce, sizeof lease->nonce, "%s", nonce == NULL ? "" : nonce);
    enum status status = document_status(&document);
    document_close(&document);
    return status;
}

/* ---- registers, with an arena for a call ---- */

struct scratch {
    struct budget budget;
    struct arena *arena;
};

static enum status scratch_open(struct scratch *scratch, struct error *err)
{
    budget_init(&scratch->budget, NULL, "a lease", BUDGET_UNLIMITED);
    TRY_ALLOC(scratch->arena, arena_create(&scratch->budget, "a lease"), err);
    return STATUS_OK;
}

static enum status read_register(struct lease_register *self, const char *name, enum cluster_result *result, struct lease_value *lease,
                                 struct cluster_version *version, struct error *err)
{
    struct scratch scratch;
    struct cluster_value value;
    TRY(scratch_open(&scratch, err));
    enum status status = self->session->driver->get(self->session, name, scratch.arena, result, &value, err);
    if (status == STATUS_OK && *result == CLUSTER_OK) {
        *version = value.version;
        status = lease_value_read(name, value.bytes, scratch.arena, lease, err);
    }
    arena_destroy(scratch.arena);
    return status;
}

static enum status write_register(struct lease_register *self, const char *name, const struct lease_value *lease,
                                  const struct cluster_version *expect, enum cluster_result *result, struct cluster_version *version,
                                  struct error *err)
{
    struct scratch scratch;
    struct text bytes;
    TRY(scratch_open(&scratch, err));
    enum status status = lease_value_write(lease, scratch.arena, &bytes, err);
    if (status == STATUS_OK) {
        status = self->session->driver->put(self->session, name, bytes, expect, result, version, err);
    }
    arena_destroy(scratch.arena);
    return status;
}

/* CAS; after UNKNOWN it looks whether it was done. *result is OK or CONFLICT, never UNKNOWN. */
static enum status swap(struct lease_register *self, const char *name, const struct lease_value *next, const struct cluster_version *expect,
                        enum cluster_result *result, struct cluster_version *version, struct error *err)
{
    struct lease_value now;
    TRY(write_register(self, name, next, expect, result, version, err));
    if (*result != CLUSTER_UNKNOWN) {
        return STATUS_OK;
    }
    TRY(read_register(self, name, result, &now, version, err));
    bool done = *result == CLUSTER_OK && strcmp(now.nonce, next->nonce) == 0 && now.beat == next->beat;
    *result = done ? CLUSTER_OK : CLUSTER_CONFLICT;
    return STATUS_OK;
}

/* ---- what others hold ---- */

static struct lease_sight *find_sight(struct lease_register *self, const char *name)
{
    for (uint32_t i = 0; i < self->sight_count; i++) {
        if (strcmp(self->sights[i].name, name) == 0) {
            return &self->sights[i];
        }
    }
    return NULL;
}

static void drop_sight(struct lease_register *self, uint32_t index)
{
    free(self->sights[index].name);
    self->sights[index] = self->sights[--self->sight_count];
}

/* A place for the name; the sight that is oldest gives way when there are too many. NULL: no memory. */
static struct lease_sight *add_sight(struct lease_register *self, const char *name)
{
    if (self->sight_count == LEASE_SIGHTS_MAX) {
        uint32_t oldest = 0;
        for (uint32_t i = 1; i < self->sight_count; i++) {
            oldest = self->sights[i].since_us < self->sights[oldest].since_us ? i : oldest;
        }
        drop_sight(self, oldest);
    }
    if (self->sights == NULL) {
        self->sights = calloc(LEASE_SIGHTS_MAX, sizeof *self->sights);
    }
    char *copy = strdup(name);
    if (self->sights == NULL || copy == NULL) {
        free(copy);
        return NULL;
    }
    struct lease_sight *sight = &self->sights[self->sight_count++];
    *sight = (struct lease_sight){.name = copy};
    return sight;
}

/* Has this session seen that version for the holder's ttl? `now_us`: from before it was read. */
static bool was_silent(struct lease_register *self, const char *name, const struct lease_value *lease,
                       const struct cluster_version *version, int64_t now_us)
{
    pthread_mutex_lock(&self->mutex);
    struct lease_sight *sight = find_sight(self, name);
    bool same = sight != NULL && strcmp(sight->version.token, version->token) == 0;
    bool silent = same && now_us - sight->since_us >= lease->ttl_us;
    if (sight == NULL) {
        sight = add_sight(self, name);
    }
    if (sight != NULL && !same) {
        sight->version = *version;
        sight->since_us = self->clock->monotonic_us(self->clock);
    }
    pthread_mutex_unlock(&self->mutex);
    return silent;
}

static bool may_take(struct lease_register *self, const char *name, const struct lease_value *lease, const struct cluster_version *version,
                     int64_t now_us)
{
    const struct cluster_driver *driver = self->session->driver;
    if (lease->holder[0] == '\0') {
        return true;
    }
    if (driver->gone != NULL && driver->gone(self->session, lease->holder) == CLUSTER_GONE) {
        return true;
    }
    return was_silent(self, name, lease, version, now_us);
}

/* ---- the calls ---- */

void lease_register_open(struct lease_register *self, struct cluster_session *session, const struct clock *clock, uint64_t random_seed)
{
    *self = (struct lease_register){.session = session, .clock = clock};
    random_open(&self->random, random_seed);
    pthread_mutex_init(&self->mutex, NULL);
}

static enum status grant(struct lease_register *self, const char *name, const struct lease_value *value,
                         const struct cluster_version *version, struct cluster_lease **lease, struct error *err)
{
    struct registered_lease *made = calloc(1, sizeof *made);
    char *copy = strdup(name);
    if (made == NULL || copy == NULL) {
        free(made);
        free(copy);
        return error_set(err, ERROR_BUDGET_SPENT, "no room for a lease");
    }
    *made = (struct registered_lease){.base = {self->session, (uint64_t)value->fence}, .owner = self, .name = copy, .value = *value};
    made->version = *version;
    pthread_mutex_lock(&self->mutex);
    made->next = self->held;
    self->held = made;
    pthread_mutex_unlock(&self->mutex);
    *lease = &made->base;
    return STATUS_OK;
}

enum status lease_register_acquire(struct lease_register *self, const char *name, const char *holder, int64_t ttl_us,
                                   enum cluster_result *result, struct cluster_lease **lease, char held_by[CLUSTER_HOLDER_MAX],
                                   struct error *err)
{
    TRY(cluster_lease_check(name, holder, ttl_us, err));
    for (uint32_t attempt = 0; attempt < ATTEMPTS; attempt++) {
        struct lease_value now = {.holder = ""}, next = {.ttl_us = ttl_us};
        struct cluster_version version;
        int64_t now_us = self->clock->monotonic_us(self->clock);
        TRY(read_register(self, name, result, &now, &version, err));
        bool absent = *result == CLUSTER_ABSENT;
        snprintf(held_by, CLUSTER_HOLDER_MAX, "%s", now.holder);
        if (!absent && !may_take(self, name, &now, &version, now_us)) {
            break;
        }
        snprintf(next.holder, sizeof next.holder, "%s", holder);
        random_name(&self->random, next.nonce);
        next.fence = now.fence + 1;
        next.beat = now.beat + 1;
        TRY(swap(self, name, &next, absent ? NULL : &version, result, &version, err));
        if (*result == CLUSTER_OK) {
            return grant(self, name, &next, &version, lease, err);
        }
    }
    *result = CLUSTER_CONFLICT;
    return STATUS_OK;
}

/* Writes the lease with its next beat; a version that is not known any more, because an answer was lost, is looked up. */
static enum status rewrite(struct registered_lease *self, enum cluster_result *result, struct error *err)
{
    for (uint32_t attempt = 0; attempt < ATTEMPTS && !self->lost; attempt++) {
        struct lease_value now;
        struct cluster_version version;
        self->value.beat++;
        TRY(swap(self->owner, self->name, &self->value, &self->version, result, &version, err));
        if (*result != CLUSTER_OK) {
            TRY(read_register(self->owner, self->name, result, &now, &version, err));
            self->lost = *result != CLUSTER_OK || strcmp(now.nonce, self->value.nonce) != 0;
            *result = CLUSTER_CONFLICT;
        }
        if (!self->lost) {
            self->version = version;
        }
        if (*result == CLUSTER_OK) {
            return STATUS_OK;
        }
    }
    *result = CLUSTER_CONFLICT;
    return STATUS_OK;
}

enum status lease_register_renew(struct cluster_lease *lease, enum cluster_result *result, struct error *err)
{
    return rewrite((struct registered_lease *)lease, result, err);
}

static void forget(struct registered_lease *self)
{
    pthread_mutex_lock(&self->owner->mutex);
    for (struct registered_lease **at = &self->owner->held; *at != NULL; at = &(*at)->next) {
        if (*at == self) {
            *at = self->next;
            break;
        }
    }
    pthread_mutex_unlock(&self->owner->mutex);
    free(self->name);
    free(self);
}

enum status lease_register_release(struct cluster_lease *lease, struct error *err)
{
    struct registered_lease *self = (struct registered_lease *)lease;
    enum cluster_result result;
    self->value.holder[0] = '\0';
    enum status status = rewrite(self, &result, err); /* a lease that is lost needs no release */
    forget(self);
    return status;
}

void lease_register_close(struct lease_register *self, bool release_leases)
{
    while (self->held != NULL) {
        struct error ignored; /* others will wait for the ttl */
        if (release_leases) {
            (void)lease_register_release(&self->held->base, &ignored);
        } else {
            forget(self->held);
        }
    }
    while (self->sight_count > 0) {
        drop_sight(self, 0);
    }
    free(self->sights);
    pthread_mutex_destroy(&self->mutex);
}
