#include "cluster/tenure.h"

#include <assert.h>
#include <stddef.h>

#include "cluster/timing.h"

void tenure_open(struct tenure *tenure, enum tenure_kind kind, const struct cluster_timing *timing, int64_t now_us)
{
    *tenure = (struct tenure){.kind = kind,
                              .state = TENURE_SEEKING,
                              .ttl_us = timing->lease_ttl.us,
                              .margin_us = timing->lease_margin.us,
                              .renew_us = timing->heartbeat.us,
                              .retry_us = timing->lease_retry.us,
                              .due_us = now_us};
}

int64_t tenure_held_until(const struct tenure *tenure)
{
    return tenure->confirmed_us + tenure->ttl_us - tenure->margin_us;
}

enum tenure_state tenure_state_at(const struct tenure *tenure, int64_t now_us)
{
    return tenure->state == TENURE_HELD && now_us >= tenure_held_until(tenure) ? TENURE_SUSPENDED : tenure->state;
}

enum tenure_call tenure_due(const struct tenure *tenure, int64_t now_us)
{
    static const enum tenure_call calls[] = {
        [TENURE_SEEKING] = TENURE_ACQUIRE, [TENURE_HELD] = TENURE_RENEW, [TENURE_LOST] = TENURE_WAIT, [TENURE_RELEASED] = TENURE_WAIT};
    return now_us < tenure->due_us ? TENURE_WAIT : calls[tenure->state];
}

static void confirm(struct tenure *tenure, int64_t sent_us)
{
    tenure->state = TENURE_HELD;
    tenure->confirmed_us = sent_us;
    tenure->due_us = sent_us + tenure->renew_us;
}

void tenure_answered(struct tenure *tenure, enum tenure_call call, enum tenure_answer answer, uint64_t fence, int64_t sent_us,
                     int64_t now_us)
{
    assert(call != TENURE_WAIT);
    if (tenure->state == TENURE_RELEASED) {
        return; /* given up while the call was on its way */
    }
    if (answer == TENURE_YES) {
        tenure->fence = call == TENURE_ACQUIRE ? fence : tenure->fence;
        confirm(tenure, sent_us);
        return;
    }
    if (call == TENURE_RENEW && answer == TENURE_NO) {
        tenure->state = tenure->kind == TENURE_AGAIN ? TENURE_SEEKING : TENURE_LOST;
    }
    tenure->due_us = now_us + (call == TENURE_RENEW && answer == TENURE_NO_ANSWER ? tenure->renew_us : tenure->retry_us);
}

void tenure_release(struct tenure *tenure)
{
    tenure->state = TENURE_RELEASED;
}
