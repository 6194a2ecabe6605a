#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "cluster/driver.h"
#include "cluster/timing.h"

static struct error err;

static void timing_defaults_of_every_profile_keep_the_rules(void **state)
{
    (void)state;
    struct cluster_timing timing;
    for (enum timing_profile profile = 0; profile < TIMING_PROFILE_COUNT; profile++) {
        assert_int_equal(timing_read(profile, NULL, 0, &timing, &err), STATUS_OK);
        assert_true(timing.lease_ttl.us > 0 && timing.standby_max_lag.bytes == 16 << 20 && timing.warmup_max == 2);
    }
    assert_int_equal(timing_profile_of("local"), TIMING_LOCAL);
    assert_int_equal(timing_profile_of("zookeeper"), TIMING_PUSHED);
    assert_int_equal(timing_profile_of("azure"), TIMING_POLLED);
}

/* Each breaks one rule of the local profile; the message has both values. */
static void timing_refuses_each_broken_rule_with_both_values(void **state)
{
    (void)state;
    static const struct {
        enum timing_profile profile;
        struct cluster_option option;
        const char *first, *second;
    } cases[] = {
        {TIMING_LOCAL, {"cluster.heartbeat", "751 ms"}, "751 ms", "750 ms"},
        {TIMING_LOCAL, {"cluster.lease.margin", "559 ms"}, "559 ms", "560 ms"},
        {TIMING_LOCAL, {"cluster.stop.bound", "691 ms"}, "750 ms", "751 ms"},
        {TIMING_LOCAL, {"cluster.lease.retry", "3 s"}, "3 s", "2999999 us"},
        {TIMING_LOCAL, {"cluster.poll", "751 ms"}, "751 ms", "750 ms"},
        {TIMING_LOCAL, {"cluster.rebalance.debounce", "4 s"}, "4 s", "3 s"},
        {TIMING_LOCAL, {"cluster.barrier.timeout", "21 s"}, "21 s", "21500 ms"},
        {TIMING_POLLED, {"cluster.lease.ttl", "61 s"}, "61 s", "60 s"},
        {TIMING_POLLED, {"cluster.lease.ttl", "14 s"}, "14 s", "15 s"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct cluster_timing timing;
        assert_int_equal(timing_read(cases[i].profile, &cases[i].option, 1, &timing, &err), STATUS_INVALID_OPTION);
        if (strstr(err.text, cases[i].first) == NULL || strstr(err.text, cases[i].second) == NULL) {
            fail_msg("'%s': %s", cases[i].option.name, err.text);
        }
    }
}

static void timing_values_at_the_limits_are_taken(void **state)
{
    (void)state;
    static const struct cluster_option limits[] = {
        {"cluster.heartbeat", "750 ms"}, {"cluster.poll", "750 ms"}, {"cluster.stop.bound", "690 ms"}, {"cluster.barrier.timeout", "23 s"}};
    struct cluster_timing timing;
    assert_int_equal(timing_read(TIMING_LOCAL, limits, ARRAY_LENGTH(limits), &timing, &err), STATUS_OK);
    assert_int_equal(timing.heartbeat.us, 750000);
}

static void timing_suggests_for_an_unknown_option_and_refuses_zero(void **state)
{
    (void)state;
    struct cluster_timing timing;
    struct cluster_option option = {"cluster.lease.tll", "3 s"};
    assert_int_equal(timing_read(TIMING_LOCAL, &option, 1, &timing, &err), STATUS_INVALID_OPTION);
    assert_non_null(strstr(err.text, "cluster.lease.ttl"));
    option = (struct cluster_option){"cluster.poll", "0 s"};
    assert_int_equal(timing_read(TIMING_LOCAL, &option, 1, &timing, &err), STATUS_INVALID_OPTION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timing_defaults_of_every_profile_keep_the_rules),
        cmocka_unit_test(timing_refuses_each_broken_rule_with_both_values),
        cmocka_unit_test(timing_values_at_the_limits_are_taken),
        cmocka_unit_test(timing_suggests_for_an_unknown_option_and_refuses_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
