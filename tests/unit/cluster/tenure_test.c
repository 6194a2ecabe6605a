#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cluster/claim.h"
#include "cluster/timing.h"

/* A clock that stands until a test moves it. */
struct still_clock {
    struct clock base;
    int64_t now_us;
};
static int64_t still_now(const struct clock *clock)
{
    return ((const struct still_clock *)clock)->now_us;
}
static struct still_clock still = {{still_now, still_now}, 1000000};

enum { TTL_US = 3000000, MARGIN_US = 750000, RENEW_US = 500000, RETRY_US = 500000 }; /* the defaults of local */
static struct error err;
static struct cluster_session *one, *two;
static struct cluster_timing timing;
static const struct cluster_driver *driver;
static struct cluster_driver slow_driver; /* the same, with what a test puts in between */

static int open_sessions(void **state)
{
    (void)state;
    const struct cluster_environment environment = {.clock = &still.base, .random_seed = 7};
    const struct cluster_environment other = {.clock = &still.base, .random_seed = 8};
    bool failed = timing_read(TIMING_LOCAL, NULL, 0, &timing, &err) != STATUS_OK ||
                  cluster_open("local:tenure", NULL, 0, &environment, &one, &err) != STATUS_OK ||
                  cluster_open("local:tenure", NULL, 0, &other, &two, &err) != STATUS_OK;
    driver = failed ? NULL : one->driver;
    return failed;
}

static int close_sessions(void **state)
{
    (void)state;
    one->driver = driver;
    cluster_close(one, true);
    cluster_close(two, true);
    return 0;
}

static struct claim claim_of(struct cluster_session *session, enum tenure_kind kind, const char *holder)
{
    struct claim claim = {.session = session, .clock = &still.base, .name = "locks/a", .holder = holder};
    claim_open(&claim, kind, &timing);
    return claim;
}

/* The call that is due. */
static struct claim_call turn(struct claim *claim)
{
    struct claim_call call;
    claim_begin(claim, &call);
    if (call.call != TENURE_WAIT) {
        claim_perform(claim, &call);
        claim_finish(claim, &call);
    }
    return call;
}

static enum tenure_state state_of(const struct claim *claim)
{
    return tenure_state_at(&claim->tenure, claim_now(claim));
}

static void claim_is_renewed_each_heartbeat_and_not_before(void **state)
{
    (void)state;
    struct claim holder = claim_of(one, TENURE_ONCE, "w1");
    assert_int_equal(turn(&holder).call, TENURE_ACQUIRE);
    assert_int_equal(state_of(&holder), TENURE_HELD);
    assert_true(holder.tenure.fence > 0);
    still.now_us += RENEW_US - 1;
    assert_int_equal(turn(&holder).call, TENURE_WAIT);
    still.now_us += 1;
    assert_int_equal(turn(&holder).call, TENURE_RENEW);
    still.now_us += TTL_US - MARGIN_US - 1;
    assert_int_equal(state_of(&holder), TENURE_HELD);
    assert_int_equal(claim_end(&holder, &err), STATUS_OK);
}

static void claim_that_was_frozen_is_suspended_before_others_can_have_it_and_then_lost(void **state)
{
    (void)state;
    struct claim frozen = claim_of(one, TENURE_ONCE, "w1"), rival = claim_of(two, TENURE_ONCE, "w2");
    (void)turn(&frozen);
    uint64_t fence = frozen.tenure.fence;
    assert_int_equal(turn(&rival).answer, TENURE_NO);
    for (int64_t at_us = RETRY_US; at_us <= TTL_US; at_us += RETRY_US) {
        still.now_us += RETRY_US;
        assert_int_equal(state_of(&frozen), at_us < TTL_US - MARGIN_US ? TENURE_HELD : TENURE_SUSPENDED);
        assert_int_equal(turn(&rival).answer, at_us < TTL_US ? TENURE_NO : TENURE_YES);
    }
    assert_true(rival.tenure.fence > fence);
    assert_int_equal(state_of(&frozen), TENURE_SUSPENDED); /* it cannot know */
    assert_int_equal(turn(&frozen).answer, TENURE_NO);
    assert_int_equal(state_of(&frozen), TENURE_LOST);
    still.now_us += 10 * TTL_US;
    assert_int_equal(turn(&frozen).call, TENURE_WAIT); /* for good */
    assert_int_equal(claim_end(&rival, &err), STATUS_OK);
}

static void claim_that_was_frozen_keeps_its_fence_when_nobody_took_it(void **state)
{
    (void)state;
    struct claim frozen = claim_of(one, TENURE_ONCE, "w1");
    (void)turn(&frozen);
    uint64_t fence = frozen.tenure.fence;
    still.now_us += 5 * TTL_US;
    assert_int_equal(state_of(&frozen), TENURE_SUSPENDED);
    assert_int_equal(turn(&frozen).answer, TENURE_YES);
    assert_int_equal(state_of(&frozen), TENURE_HELD);
    assert_int_equal(frozen.tenure.fence, fence);
    assert_int_equal(claim_end(&frozen, &err), STATUS_OK);
}

static void candidate_that_lost_stands_again_with_a_greater_fence(void **state)
{
    (void)state;
    struct claim first = claim_of(one, TENURE_AGAIN, "w1"), second = claim_of(two, TENURE_AGAIN, "w2");
    (void)turn(&first);
    uint64_t fence = first.tenure.fence;
    (void)turn(&second);
    still.now_us += TTL_US;
    assert_int_equal(turn(&second).answer, TENURE_YES);
    assert_int_equal(turn(&first).answer, TENURE_NO);
    assert_int_equal(state_of(&first), TENURE_SEEKING);
    still.now_us += RETRY_US;
    assert_int_equal(turn(&first).answer, TENURE_NO);
    tenure_release(&second.tenure);
    assert_int_equal(claim_end(&second, &err), STATUS_OK);
    assert_int_equal(state_of(&second), TENURE_RELEASED);
    still.now_us += RETRY_US;
    assert_int_equal(turn(&first).answer, TENURE_YES);
    assert_true(first.tenure.fence > fence + 1);
    assert_int_equal(claim_end(&first, &err), STATUS_OK);
}

/* ---- a service that is slow, or does not answer ---- */

static int64_t delay_us;
static enum status slow_renew(struct cluster_lease *lease, enum cluster_result *result, struct error *error)
{
    enum status status = driver->lease_renew(lease, result, error);
    still.now_us += delay_us;
    return status;
}

static enum status deaf_renew(struct cluster_lease *lease, enum cluster_result *result, struct error *error)
{
    (void)lease;
    (void)result;
    return error_set(error, ERROR_CLUSTER_UNAVAILABLE, "no answer");
}

static enum status unknown_renew(struct cluster_lease *lease, enum cluster_result *result, struct error *error)
{
    (void)lease;
    (void)error;
    *result = CLUSTER_UNKNOWN;
    return STATUS_OK;
}

static void renew_by(enum status (*renew)(struct cluster_lease *, enum cluster_result *, struct error *))
{
    slow_driver = *driver;
    slow_driver.lease_renew = renew;
    one->driver = &slow_driver;
}

static void renewal_counts_from_when_it_was_sent(void **state)
{
    (void)state;
    struct claim holder = claim_of(one, TENURE_ONCE, "w1");
    (void)turn(&holder);
    renew_by(slow_renew);
    delay_us = TTL_US - MARGIN_US;
    still.now_us += RENEW_US;
    assert_int_equal(turn(&holder).answer, TENURE_YES);
    assert_int_equal(state_of(&holder), TENURE_SUSPENDED); /* confirmed, but of a time that is too long ago */
    delay_us = 1;
    assert_int_equal(turn(&holder).call, TENURE_RENEW); /* at once */
    assert_int_equal(state_of(&holder), TENURE_HELD);
    assert_int_equal(claim_end(&holder, &err), STATUS_OK);
    one->driver = driver;
}

static void errors_and_lost_answers_are_no_refusal_but_run_into_the_margin(void **state)
{
    (void)state;
    enum status (*const renews[])(struct cluster_lease *, enum cluster_result *, struct error *) = {deaf_renew, unknown_renew};
    for (uint32_t i = 0; i < 2; i++) {
        struct claim holder = claim_of(one, TENURE_ONCE, "w1");
        (void)turn(&holder);
        uint64_t fence = holder.tenure.fence;
        int64_t sent_us = still.now_us;
        renew_by(renews[i]);
        while (still.now_us < sent_us + TTL_US - MARGIN_US) {
            assert_int_equal(state_of(&holder), TENURE_HELD);
            still.now_us += RENEW_US / 2;
            (void)turn(&holder);
        }
        assert_int_equal(state_of(&holder), TENURE_SUSPENDED);
        one->driver = driver;
        still.now_us += RENEW_US;
        assert_int_equal(turn(&holder).answer, TENURE_YES);
        assert_int_equal(state_of(&holder), TENURE_HELD);
        assert_int_equal(holder.tenure.fence, fence);
        assert_int_equal(claim_end(&holder, &err), STATUS_OK);
    }
}

static void claim_that_is_released_while_its_call_is_on_its_way_stays_released(void **state)
{
    (void)state;
    struct claim claim = claim_of(one, TENURE_AGAIN, "w1");
    struct claim_call call;
    claim_begin(&claim, &call);
    claim_perform(&claim, &call);
    tenure_release(&claim.tenure);
    claim_finish(&claim, &call);
    assert_int_equal(call.answer, TENURE_YES);
    assert_int_equal(state_of(&claim), TENURE_RELEASED);
    assert_int_equal(claim_end(&claim, &err), STATUS_OK);
    struct claim next = claim_of(two, TENURE_ONCE, "w2");
    assert_int_equal(turn(&next).answer, TENURE_YES); /* nothing was left behind */
    assert_int_equal(claim_end(&next, &err), STATUS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claim_is_renewed_each_heartbeat_and_not_before),
        cmocka_unit_test(claim_that_was_frozen_is_suspended_before_others_can_have_it_and_then_lost),
        cmocka_unit_test(claim_that_was_frozen_keeps_its_fence_when_nobody_took_it),
        cmocka_unit_test(candidate_that_lost_stands_again_with_a_greater_fence),
        cmocka_unit_test(renewal_counts_from_when_it_was_sent),
        cmocka_unit_test(errors_and_lost_answers_are_no_refusal_but_run_into_the_margin),
        cmocka_unit_test(claim_that_is_released_while_its_call_is_on_its_way_stays_released),
    };
    return cmocka_run_group_tests(tests, open_sessions, close_sessions);
}
