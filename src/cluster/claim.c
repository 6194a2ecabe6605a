#include "cluster/claim.h"

#include "cluster/timing.h"

void claim_open(struct claim *claim, enum tenure_kind kind, const struct cluster_timing *timing)
{
    claim->lease = NULL;
    tenure_open(&claim->tenure, kind, timing, claim_now(claim));
}

int64_t claim_now(const struct claim *claim)
{
    return claim->clock->monotonic_us(claim->clock);
}

void claim_begin(const struct claim *claim, struct claim_call *call)
{
    call->sent_us = claim_now(claim);
    call->call = tenure_due(&claim->tenure, call->sent_us);
}

static enum status ask(struct claim *claim, struct claim_call *call, enum cluster_result *result)
{
    const struct cluster_driver *driver = claim->session->driver;
    if (call->call == TENURE_RENEW) {
        return driver->lease_renew(claim->lease, result, &call->error);
    }
    return driver->lease_acquire(claim->session, claim->name, claim->holder, claim->tenure.ttl_us, result, &claim->lease, call->held_by,
                                 &call->error);
}

void claim_perform(struct claim *claim, struct claim_call *call)
{
    enum cluster_result result = CLUSTER_UNKNOWN;
    call->held_by[0] = '\0';
    call->status = ask(claim, call, &result);
    if (call->status != STATUS_OK || result == CLUSTER_UNKNOWN) {
        call->answer = TENURE_NO_ANSWER;
        return;
    }
    call->answer = result == CLUSTER_OK ? TENURE_YES : TENURE_NO;
    if (call->call == TENURE_RENEW && call->answer == TENURE_NO) {
        struct error ignored; /* it is another's already */
        (void)claim_end(claim, &ignored);
    }
}

void claim_finish(struct claim *claim, const struct claim_call *call)
{
    uint64_t fence = call->answer == TENURE_YES ? claim->lease->fence : 0;
    tenure_answered(&claim->tenure, call->call, call->answer, fence, call->sent_us, claim_now(claim));
}

enum status claim_end(struct claim *claim, struct error *err)
{
    struct cluster_lease *lease = claim->lease;
    claim->lease = NULL;
    return lease == NULL ? STATUS_OK : lease->session->driver->lease_release(lease, err);
}
