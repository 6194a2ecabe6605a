/* Locks: DistributedLock. */
#include <stdlib.h>

#include "api/coordination_handle.h"

struct spate_lock {
    struct kept_claim kept; /* first: coordination_close_claims */
};

/* ---- acquiring, in the thread that wants it ---- */

/* One call, if it is due, and then a pause until the next or the deadline. */
static void try_once(struct claim *claim, const struct cluster_timing *timing, struct claim_call *call, int64_t deadline_us)
{
    if (claim->tenure.state == TENURE_LOST) { /* granted so late that it was gone again before it could be renewed */
        claim_open(claim, TENURE_ONCE, timing);
    }
    claim_begin(claim, call);
    if (call->call != TENURE_WAIT) {
        claim_perform(claim, call);
        claim_finish(claim, call);
    }
    int64_t due_us = claim->tenure.due_us;
    if (tenure_state_at(&claim->tenure, claim_now(claim)) == TENURE_SEEKING) {
        coordination_sleep(due_us < deadline_us ? due_us : deadline_us);
    }
}

/* Errors that trying again cannot mend end it at once. */
static bool is_final(const struct claim_call *call)
{
    return call->answer == TENURE_NO_ANSWER && call->status != STATUS_OK && call->status != STATUS_UNAVAILABLE;
}

static enum status acquire(struct claim *claim, const struct cluster_timing *timing, int64_t timeout_ms, int *outcome, struct error *err)
{
    int64_t deadline_us = coordination_deadline(timeout_ms);
    struct claim_call call = {.answer = TENURE_NO};
    enum tenure_state state;
    do {
        try_once(claim, timing, &call, deadline_us);
        state = tenure_state_at(&claim->tenure, claim_now(claim));
    } while (state != TENURE_HELD && !is_final(&call) && claim_now(claim) < deadline_us);
    *outcome = state == TENURE_HELD ? SPATE_OUTCOME_DONE : SPATE_OUTCOME_TIMED_OUT;
    if (state == TENURE_HELD) {
        return STATUS_OK;
    }
    struct error ignored; /* what was granted too late ends with its ttl at the latest */
    (void)claim_end(claim, &ignored);
    if (call.answer == TENURE_NO_ANSWER && call.status != STATUS_OK) {
        *err = call.error;
        return call.status;
    }
    return STATUS_OK;
}

static enum status open_lock(struct spate_coordinator *coordinator, const char *name, int64_t timeout_ms, struct spate_lock **lock,
                             int *outcome, struct error *err)
{
    struct spate_lock *self;
    TRY_ALLOC(self, calloc(1, sizeof *self), err);
    enum status status = kept_open(coordinator, &self->kept, TENURE_ONCE, "locks", name, err);
    if (status != STATUS_OK) {
        free(self);
        return status;
    }
    status = acquire(&self->kept.claim, &coordinator->timing, timeout_ms, outcome, err);
    if (status != STATUS_OK || *outcome != SPATE_OUTCOME_DONE) {
        kept_free(&self->kept);
        free(self);
        return status;
    }
    kept_list(&self->kept);
    *lock = self;
    return STATUS_OK;
}

int spate_lock_acquire(spate_coordinator *coordinator, const char *name, int64_t timeout_ms, spate_lock **lock, int *outcome,
                       struct spate_error *error)
{
    *lock = NULL;
    return coordination_finish(open_lock(coordinator, name, timeout_ms, lock, outcome, coordination_error()), error);
}

uint64_t spate_lock_fence(const spate_lock *lock)
{
    return lock->kept.claim.tenure.fence; /* set once, before the lock was given */
}

/* ---- holding ---- */

/* Under the mutex. */
static int state_of(const struct spate_lock *lock)
{
    static const int states[] = {[TENURE_SEEKING] = SPATE_LOCK_LOST, /* not of a lock that was given */
                                 [TENURE_HELD] = SPATE_LOCK_HELD,
                                 [TENURE_SUSPENDED] = SPATE_LOCK_SUSPENDED,
                                 [TENURE_LOST] = SPATE_LOCK_LOST,
                                 [TENURE_RELEASED] = SPATE_LOCK_RELEASED};
    uint64_t fence;
    return states[kept_state(&lock->kept, &fence)];
}

int spate_lock_await(spate_lock *lock, int seen, int64_t timeout_ms)
{
    struct spate_coordinator *owner = lock->kept.owner;
    int64_t deadline_us = coordination_deadline(timeout_ms);
    int state;
    pthread_mutex_lock(&owner->mutex);
    while ((state = state_of(lock)) == seen && coordination_now() < deadline_us) {
        int64_t suspended_us = state == SPATE_LOCK_HELD ? tenure_held_until(&lock->kept.claim.tenure) : INT64_MAX;
        coordination_wait(owner, suspended_us < deadline_us ? suspended_us : deadline_us);
    }
    pthread_mutex_unlock(&owner->mutex);
    return state;
}

int spate_lock_state(spate_lock *lock)
{
    return spate_lock_await(lock, -1, 0);
}

int spate_lock_read(spate_lock *lock, const char *name, void *bytes, size_t capacity, size_t *length, int *outcome,
                    struct spate_error *error)
{
    return kept_read(&lock->kept, name, bytes, capacity, length, outcome, error);
}

int spate_lock_update(spate_lock *lock, const char *name, const void *bytes, size_t length, int *outcome, struct spate_error *error)
{
    return kept_update(&lock->kept, name, bytes, length, outcome, error);
}

int spate_lock_release(spate_lock *lock, struct spate_error *error)
{
    return coordination_finish(kept_end(&lock->kept, coordination_error()), error);
}

void spate_lock_close(spate_lock *lock)
{
    struct error ignored; /* others wait for the ttl */
    if (lock == NULL) {
        return;
    }
    struct spate_coordinator *owner = lock->kept.owner;
    (void)kept_end(&lock->kept, &ignored);
    pthread_mutex_lock(&owner->mutex);
    kept_unlist(owner, &lock->kept);
    pthread_mutex_unlock(&owner->mutex);
    kept_free(&lock->kept);
    free(lock);
}
