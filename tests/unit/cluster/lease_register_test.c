#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "cluster/driver.h"

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

enum { TTL_US = 3000000 };
static struct error err;
static struct cluster_session *one, *two;
static char held_by[CLUSTER_HOLDER_MAX];

static int open_sessions(void **state)
{
    (void)state;
    const struct cluster_environment environment = {.clock = &still.base, .random_seed = 7};
    const struct cluster_environment other = {.clock = &still.base, .random_seed = 8};
    return cluster_open("local:leases", NULL, 0, &environment, &one, &err) != STATUS_OK ||
           cluster_open("local:leases", NULL, 0, &other, &two, &err) != STATUS_OK;
}

static int close_sessions(void **state)
{
    (void)state;
    cluster_close(one, true);
    cluster_close(two, true);
    return 0;
}

static enum cluster_result acquire(struct cluster_session *session, const char *holder, struct cluster_lease **lease)
{
    enum cluster_result result;
    assert_int_equal(session->driver->lease_acquire(session, "leader", holder, TTL_US, &result, lease, held_by, &err), STATUS_OK);
    return result;
}

static enum cluster_result renew(struct cluster_lease *lease)
{
    enum cluster_result result;
    assert_int_equal(lease->session->driver->lease_renew(lease, &result, &err), STATUS_OK);
    return result;
}

static void lease_is_taken_over_when_its_holder_was_silent_for_its_ttl_and_not_before(void **state)
{
    (void)state;
    struct cluster_lease *first, *second;
    assert_int_equal(acquire(one, "w1#a", &first), CLUSTER_OK);
    still.now_us += 10 * TTL_US; /* nobody looked: that is no silence */
    assert_int_equal(acquire(two, "w2#b", &second), CLUSTER_CONFLICT);
    assert_string_equal(held_by, "w1#a");
    still.now_us += TTL_US - 1;
    assert_int_equal(acquire(two, "w2#b", &second), CLUSTER_CONFLICT);
    assert_int_equal(renew(first), CLUSTER_OK);
    still.now_us += 1;
    assert_int_equal(acquire(two, "w2#b", &second), CLUSTER_CONFLICT);
    still.now_us += TTL_US;
    assert_int_equal(acquire(two, "w2#b", &second), CLUSTER_OK);
    assert_true(second->fence > first->fence);
}

static void lease_that_is_lost_stays_lost_and_its_release_ends_nothing(void **state)
{
    (void)state;
    struct cluster_lease *first, *second, *third;
    assert_int_equal(acquire(one, "w1#a", &first), CLUSTER_OK);
    assert_int_equal(acquire(two, "w2#b", &second), CLUSTER_CONFLICT);
    still.now_us += TTL_US;
    assert_int_equal(acquire(two, "w2#b", &second), CLUSTER_OK);
    assert_int_equal(renew(first), CLUSTER_CONFLICT);
    assert_int_equal(renew(first), CLUSTER_CONFLICT);
    assert_int_equal(one->driver->lease_release(first, &err), STATUS_OK);
    assert_int_equal(renew(second), CLUSTER_OK);
    assert_int_equal(acquire(one, "w1#a", &third), CLUSTER_CONFLICT);
}

static void lease_of_an_expired_holder_is_its_own_again_if_nobody_took_it(void **state)
{
    (void)state;
    struct cluster_lease *first, *second;
    assert_int_equal(acquire(one, "w1#a", &first), CLUSTER_OK);
    still.now_us += 5 * TTL_US;
    assert_int_equal(renew(first), CLUSTER_OK);
    assert_int_equal(acquire(two, "w2#b", &second), CLUSTER_CONFLICT);
}

static void lease_fences_grow_over_releases_and_sessions(void **state)
{
    (void)state;
    uint64_t fence = 0;
    for (uint32_t round = 0; round < 10; round++) {
        struct cluster_lease *lease;
        assert_int_equal(acquire(round % 2 == 0 ? one : two, "w#x", &lease), CLUSTER_OK);
        assert_true(lease->fence > fence);
        fence = lease->fence;
        assert_int_equal(lease->session->driver->lease_release(lease, &err), STATUS_OK);
    }
}

static void lease_refuses_holders_and_ttls_that_cannot_be(void **state)
{
    (void)state;
    enum cluster_result result;
    struct cluster_lease *lease;
    char long_holder[CLUSTER_HOLDER_MAX + 1];
    memset(long_holder, 'h', CLUSTER_HOLDER_MAX);
    long_holder[CLUSTER_HOLDER_MAX] = '\0';
    const char *const holders[] = {"", "\xff", long_holder};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(one->driver->lease_acquire(one, "leader", holders[i], TTL_US, &result, &lease, held_by, &err),
                         STATUS_INVALID_OPTION);
    }
    assert_int_equal(one->driver->lease_acquire(one, "leader", "w1", 0, &result, &lease, held_by, &err), STATUS_INVALID_OPTION);
    assert_int_equal(one->driver->lease_acquire(one, "a//b", "w1", TTL_US, &result, &lease, held_by, &err), STATUS_INVALID_OPTION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lease_is_taken_over_when_its_holder_was_silent_for_its_ttl_and_not_before, open_sessions,
                                        close_sessions),
        cmocka_unit_test_setup_teardown(lease_that_is_lost_stays_lost_and_its_release_ends_nothing, open_sessions, close_sessions),
        cmocka_unit_test_setup_teardown(lease_of_an_expired_holder_is_its_own_again_if_nobody_took_it, open_sessions, close_sessions),
        cmocka_unit_test_setup_teardown(lease_fences_grow_over_releases_and_sessions, open_sessions, close_sessions),
        cmocka_unit_test_setup_teardown(lease_refuses_holders_and_ttls_that_cannot_be, open_sessions, close_sessions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
