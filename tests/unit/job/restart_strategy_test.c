/* Which failures are followed by a restart, and how long after. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "job/restart_strategy.h"

enum { SECOND = 1000000 };

static void none_never_restarts(void **test)
{
    (void)test;
    struct restart_state state = {0};
    const struct restart_settings settings = {.kind = RESTART_NONE};
    int64_t delay_us;
    assert_false(restart_strategy_next(&state, &settings, 0, 0.5, &delay_us));
}

static void fixed_delay_counts_all_failures(void **test)
{
    (void)test;
    struct restart_state state = {0};
    const struct restart_settings settings = {.kind = RESTART_FIXED_DELAY, .attempts = 2, .delay_us = 3 * SECOND};
    int64_t delay_us;
    assert_true(restart_strategy_next(&state, &settings, 0, 0.5, &delay_us));
    assert_int_equal(delay_us, 3 * SECOND);
    assert_true(restart_strategy_next(&state, &settings, INT64_C(86400) * SECOND, 0.5, &delay_us));
    assert_false(restart_strategy_next(&state, &settings, INT64_C(2) * 86400 * SECOND, 0.5, &delay_us));
}

static void failure_rate_looks_at_an_interval(void **test)
{
    (void)test;
    struct restart_state state = {0};
    const struct restart_settings settings = {
        .kind = RESTART_FAILURE_RATE, .failures = 2, .interval_us = 60 * SECOND, .rate_delay_us = SECOND};
    int64_t delay_us;
    for (int64_t minute = 0; minute < 500; minute++) { /* two a minute for ever */
        assert_true(restart_strategy_next(&state, &settings, minute * 60 * SECOND, 0.5, &delay_us));
        assert_true(restart_strategy_next(&state, &settings, minute * 60 * SECOND + SECOND, 0.5, &delay_us));
    }
    assert_int_equal(delay_us, SECOND);
    assert_false(restart_strategy_next(&state, &settings, INT64_C(499) * 60 * SECOND + 2 * SECOND, 0.5, &delay_us));
}

static void exponential_delay_grows_and_begins_anew(void **test)
{
    (void)test;
    struct restart_state state = {0};
    const struct restart_settings settings = {.kind = RESTART_EXPONENTIAL_DELAY,
                                              .initial_us = SECOND,
                                              .most_us = 3 * SECOND,
                                              .reset_us = 100 * SECOND,
                                              .backoffs = 4,
                                              .multiplier = 2,
                                              .jitter = 0.1};
    static const int64_t expected_us[] = {SECOND, 2 * SECOND, 3 * SECOND, 3 * SECOND};
    int64_t delay_us, now_us = 0;
    for (int i = 0; i < 4; i++) {
        now_us += 10 * SECOND;
        assert_true(restart_strategy_next(&state, &settings, now_us, 0.5, &delay_us));
        assert_int_equal(delay_us, expected_us[i]);
    }
    assert_false(restart_strategy_next(&state, &settings, now_us + 10 * SECOND, 0.5, &delay_us));
    now_us += 200 * SECOND; /* calm */
    assert_true(restart_strategy_next(&state, &settings, now_us, 0, &delay_us));
    assert_int_equal(delay_us, 900000); /* the jitter's least */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(none_never_restarts),
        cmocka_unit_test(fixed_delay_counts_all_failures),
        cmocka_unit_test(failure_rate_looks_at_an_interval),
        cmocka_unit_test(exponential_delay_grows_and_begins_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
