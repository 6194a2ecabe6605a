/* Claims of locks and elections: their leases are renewed here, and registers are written with their fences. */
#include <stdlib.h>
#include <string.h>

#include "api/coordination_handle.h"

enum status kept_open(struct spate_coordinator *owner, struct kept_claim *kept, enum tenure_kind kind, const char *folder, const char *name,
                      struct error *err)
{
    struct text_builder text = {0};
    text_append_format(&text, "%s/%s", folder, name);
    if (text.failed) {
        text_builder_close(&text);
        return error_set(err, ERROR_BUDGET_SPENT, "no room for a claim");
    }
    enum status status = cluster_name_check(text.bytes, err);
    if (status != STATUS_OK) {
        text_builder_close(&text);
        return status;
    }
    kept->owner = owner;
    kept->lease_name = text.bytes;
    kept->claim = (struct claim){.session = owner->session, .clock = &clock_boot, .name = text.bytes, .holder = owner->name};
    claim_open(&kept->claim, kind, &owner->timing);
    pthread_mutex_init(&kept->writes, NULL);
    return STATUS_OK;
}

void kept_free(struct kept_claim *kept)
{
    pthread_mutex_destroy(&kept->writes);
    free(kept->lease_name);
}

void kept_list(struct kept_claim *kept)
{
    struct spate_coordinator *owner = kept->owner;
    pthread_mutex_lock(&owner->mutex);
    kept->next = owner->claims;
    owner->claims = kept;
    pthread_cond_broadcast(&owner->changed);
    pthread_mutex_unlock(&owner->mutex);
}

void kept_unlist(struct spate_coordinator *owner, struct kept_claim *kept)
{
    for (struct kept_claim **at = &owner->claims; *at != NULL; at = &(*at)->next) {
        if (*at == kept) {
            *at = kept->next;
            return;
        }
    }
}

/* Waits for the call on the lease that runs, then lets none begin until kept_let. */
static void kept_take(struct kept_claim *kept)
{
    while (kept->busy) {
        coordination_wait(kept->owner, INT64_MAX);
    }
    kept->busy = true;
}

static void kept_let(struct kept_claim *kept)
{
    kept->busy = false;
    pthread_cond_broadcast(&kept->owner->changed);
}

enum status kept_end(struct kept_claim *kept, struct error *err)
{
    struct spate_coordinator *owner = kept->owner;
    pthread_mutex_lock(&owner->mutex);
    tenure_release(&kept->claim.tenure);
    pthread_cond_broadcast(&owner->changed);
    kept_take(kept);
    pthread_mutex_unlock(&owner->mutex);
    enum status status = claim_end(&kept->claim, err);
    pthread_mutex_lock(&owner->mutex);
    kept_let(kept);
    pthread_mutex_unlock(&owner->mutex);
    return status;
}

enum tenure_state kept_state(const struct kept_claim *kept, uint64_t *fence)
{
    const struct tenure *tenure = &kept->claim.tenure;
    *fence = tenure->fence;
    return tenure_state_at(tenure, coordination_now());
}

/* ---- the keeper ---- */

static bool has_calls(const struct tenure *tenure)
{
    return tenure->state == TENURE_SEEKING || tenure->state == TENURE_HELD;
}

/* The claim whose call is due first; NULL: none will be. */
static struct kept_claim *find_next(const struct spate_coordinator *coordinator)
{
    struct kept_claim *next = NULL;
    for (struct kept_claim *kept = coordinator->claims; kept != NULL; kept = kept->next) {
        bool due = !kept->busy && has_calls(&kept->claim.tenure);
        next = due && (next == NULL || kept->claim.tenure.due_us < next->claim.tenure.due_us) ? kept : next;
    }
    return next;
}

static void keep_one(struct kept_claim *kept)
{
    struct claim_call call;
    claim_begin(&kept->claim, &call);
    if (call.call == TENURE_WAIT) {
        coordination_wait(kept->owner, kept->claim.tenure.due_us);
        return;
    }
    kept->busy = true;
    pthread_mutex_unlock(&kept->owner->mutex);
    claim_perform(&kept->claim, &call);
    pthread_mutex_lock(&kept->owner->mutex);
    claim_finish(&kept->claim, &call);
    kept_let(kept);
}

void *coordination_keep(void *coordinator)
{
    struct spate_coordinator *self = coordinator;
    pthread_mutex_lock(&self->mutex);
    while (!self->ending) {
        struct kept_claim *next = find_next(self);
        if (next == NULL) {
            coordination_wait(self, INT64_MAX);
        } else {
            keep_one(next);
        }
    }
    pthread_mutex_unlock(&self->mutex);
    return NULL;
}

/* ---- guarded registers ---- */

static const int outcomes[] = {[GUARDED_OK] = SPATE_OUTCOME_DONE,
                               [GUARDED_ABSENT] = SPATE_OUTCOME_ABSENT,
                               [GUARDED_OUTDATED] = SPATE_OUTCOME_OUTDATED,
                               [GUARDED_UNKNOWN] = SPATE_OUTCOME_UNKNOWN};

/* Is there a grant that has not been lost for good, as far as is known? A suspended one may try: its fence decides. */
static bool has_grant(struct kept_claim *kept, uint64_t *fence)
{
    pthread_mutex_lock(&kept->owner->mutex);
    enum tenure_state state = kept_state(kept, fence);
    pthread_mutex_unlock(&kept->owner->mutex);
    return state == TENURE_HELD || state == TENURE_SUSPENDED;
}

static enum status read_guarded(struct kept_claim *kept, const char *name, void *bytes, size_t capacity, size_t *length, int *outcome,
                                struct error *err)
{
    const struct guarded guarded = {kept->owner->session, &kept->owner->random, name};
    struct guarded_value value = {.fence = 0};
    enum guarded_result result = GUARDED_OUTDATED;
    struct call_arena call;
    uint64_t fence;
    enum status status;
    TRY(coordination_name_check(name, err));
    TRY_GOTO(done, status, call_arena_open(&call, err));
    if (has_grant(kept, &fence)) {
        TRY_GOTO(done, status, guarded_read(&guarded, fence, call.arena, &result, &value, err));
    }
    *outcome = outcomes[result];
    if (result == GUARDED_OK) {
        status = coordination_give(value.bytes, bytes, capacity, length, err);
    }
done:
    call_arena_close(&call);
    return status;
}

int kept_read(struct kept_claim *kept, const char *name, void *bytes, size_t capacity, size_t *length, int *outcome,
              struct spate_error *error)
{
    *length = 0;
    pthread_mutex_lock(&kept->writes);
    enum status status = read_guarded(kept, name, bytes, capacity, length, outcome, coordination_error());
    pthread_mutex_unlock(&kept->writes);
    return coordination_finish(status, error);
}

int kept_update(struct kept_claim *kept, const char *name, const void *bytes, size_t length, int *outcome, struct spate_error *error)
{
    struct error *err = coordination_error();
    const struct guarded guarded = {kept->owner->session, &kept->owner->random, name};
    enum guarded_result result = GUARDED_OUTDATED;
    uint64_t fence;
    pthread_mutex_lock(&kept->writes);
    enum status status = coordination_name_check(name, err);
    if (status == STATUS_OK && has_grant(kept, &fence)) {
        status = guarded_update(&guarded, fence, (struct text){length == 0 ? "" : bytes, length}, &result, err);
    }
    pthread_mutex_unlock(&kept->writes);
    if (status == STATUS_OK) {
        *outcome = outcomes[result];
    }
    return coordination_finish(status, error);
}
