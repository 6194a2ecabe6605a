/* Elections, and the thread that tells them what has become of them. */
#include <stdlib.h>
#include <string.h>

#include "api/coordination_handle.h"

/* What the program was told last. */
enum told { TOLD_NOTHING, TOLD_ELECTED, TOLD_SUSPENDED };
struct spate_election {
    struct kept_claim kept;
    struct spate_election_callbacks callbacks;
    void *context;
    enum told told;
    uint64_t told_fence;
    bool calling, closed; /* closed: from within its own callback, which frees it when it returns */
};

static struct spate_election *election_of(struct kept_claim *kept)
{
    return kept->claim.tenure.kind == TENURE_AGAIN ? (struct spate_election *)kept : NULL;
}

/* ---- callbacks ---- */

/* What is to be told next: the same as `told` when nothing is. */
static enum told next_told(const struct spate_election *election, uint64_t *fence)
{
    enum tenure_state state = kept_state(&election->kept, fence);
    bool same_grant = election->told == TOLD_NOTHING || *fence == election->told_fence;
    if (!same_grant) {
        return TOLD_NOTHING;
    }
    if (state == TENURE_SUSPENDED) {
        return election->told == TOLD_ELECTED ? TOLD_SUSPENDED : election->told;
    }
    return state == TENURE_HELD ? TOLD_ELECTED : TOLD_NOTHING;
}

static void call_back(const struct spate_election *election, enum told told, uint64_t fence)
{
    const struct spate_election_callbacks *callbacks = &election->callbacks;
    if (told == TOLD_ELECTED && callbacks->elected != NULL) {
        callbacks->elected(election->context, fence);
    }
    if (told == TOLD_SUSPENDED && callbacks->suspended != NULL) {
        callbacks->suspended(election->context);
    }
    if (told == TOLD_NOTHING && callbacks->deposed != NULL) {
        callbacks->deposed(election->context);
    }
}

/* Under the mutex. */
static void free_election(struct spate_coordinator *owner, struct spate_election *election)
{
    kept_unlist(owner, &election->kept); /* unless it was closed from within its callback: then it is not listed any more */
    kept_free(&election->kept);
    free(election);
}

static void tell(struct spate_coordinator *owner, struct spate_election *election, enum told told, uint64_t fence)
{
    election->calling = true;
    pthread_mutex_unlock(&owner->mutex);
    call_back(election, told, fence);
    pthread_mutex_lock(&owner->mutex);
    election->calling = false;
    election->told = told;
    election->told_fence = fence;
    if (election->closed) {
        free_election(owner, election);
    }
    pthread_cond_broadcast(&owner->changed);
}

/* Tells one election what it does not know; false: all know. *wake_us: when one will be suspended if nothing is heard. */
static bool tell_one(struct spate_coordinator *self, int64_t *wake_us)
{
    *wake_us = INT64_MAX;
    for (struct kept_claim *kept = self->claims; kept != NULL; kept = kept->next) {
        struct spate_election *election = election_of(kept);
        uint64_t fence;
        if (election == NULL) {
            continue;
        }
        enum told told = next_told(election, &fence);
        if (told != election->told) {
            tell(self, election, told, fence);
            return true;
        }
        int64_t until_us = tenure_held_until(&kept->claim.tenure);
        *wake_us = told == TOLD_ELECTED && until_us < *wake_us ? until_us : *wake_us;
    }
    return false;
}

void *coordination_call(void *coordinator)
{
    struct spate_coordinator *self = coordinator;
    int64_t wake_us;
    pthread_mutex_lock(&self->mutex);
    while (!self->ending) {
        if (!tell_one(self, &wake_us)) {
            coordination_wait(self, wake_us);
        }
    }
    pthread_mutex_unlock(&self->mutex);
    return NULL;
}

/* ---- the calls ---- */

static enum status run(struct spate_coordinator *coordinator, const char *name, const struct spate_election_callbacks *callbacks,
                       void *context, struct spate_election **election, struct error *err)
{
    struct spate_election *self;
    TRY_ALLOC(self, calloc(1, sizeof *self), err);
    if (callbacks != NULL) {
        memcpy(&self->callbacks, callbacks, callbacks->size < sizeof *callbacks ? callbacks->size : sizeof *callbacks);
    }
    self->context = context;
    enum status status = kept_open(coordinator, &self->kept, TENURE_AGAIN, "elections", name, err);
    if (status != STATUS_OK) {
        free(self);
        return status;
    }
    *election = self; /* before a callback can want it */
    kept_list(&self->kept);
    return STATUS_OK;
}

int spate_election_run(spate_coordinator *coordinator, const char *name, const struct spate_election_callbacks *callbacks, void *context,
                       spate_election **election, struct spate_error *error)
{
    *election = NULL;
    return coordination_finish(run(coordinator, name, callbacks, context, election, coordination_error()), error);
}

bool spate_election_is_leader(spate_election *election, uint64_t *fence)
{
    uint64_t granted;
    pthread_mutex_lock(&election->kept.owner->mutex);
    bool leads = kept_state(&election->kept, &granted) == TENURE_HELD;
    pthread_mutex_unlock(&election->kept.owner->mutex);
    if (leads && fence != NULL) {
        *fence = granted;
    }
    return leads;
}

int spate_election_read(spate_election *election, const char *name, void *bytes, size_t capacity, size_t *length, int *outcome,
                        struct spate_error *error)
{
    return kept_read(&election->kept, name, bytes, capacity, length, outcome, error);
}

int spate_election_update(spate_election *election, const char *name, const void *bytes, size_t length, int *outcome,
                          struct spate_error *error)
{
    return kept_update(&election->kept, name, bytes, length, outcome, error);
}

int spate_election_resign(spate_election *election, struct spate_error *error)
{
    return coordination_finish(kept_end(&election->kept, coordination_error()), error);
}

void spate_election_close(spate_election *election)
{
    struct error ignored; /* others wait for the ttl */
    if (election == NULL) {
        return;
    }
    struct spate_coordinator *owner = election->kept.owner;
    bool within = pthread_equal(pthread_self(), owner->caller) != 0;
    (void)kept_end(&election->kept, &ignored);
    pthread_mutex_lock(&owner->mutex);
    while (!within && (election->calling || election->told != TOLD_NOTHING)) {
        coordination_wait(owner, INT64_MAX);
    }
    election->closed = true;
    if (election->calling) {
        kept_unlist(owner, &election->kept);
    } else {
        free_election(owner, election);
    }
    pthread_mutex_unlock(&owner->mutex);
}

void coordination_close_claims(struct spate_coordinator *coordinator)
{
    for (;;) {
        pthread_mutex_lock(&coordinator->mutex);
        struct kept_claim *kept = coordinator->claims;
        pthread_mutex_unlock(&coordinator->mutex);
        if (kept == NULL) {
            return;
        }
        if (election_of(kept) != NULL) {
            spate_election_close(election_of(kept));
        } else {
            spate_lock_close((spate_lock *)kept);
        }
    }
}
