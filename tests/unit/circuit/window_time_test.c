#include "../support/batches.h"

#include "circuit/operators/window_time.h"
#include "data/calendar.h"

static struct budget budget;

static struct window_time open_time(const struct window_spec *spec, const char *zone_name, struct arena **arena)
{
    struct error err;
    const struct time_zone *zone;
    struct window_time time;
    budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
    *arena = arena_create(&budget, "test");
    require(time_zone_find(*arena, zone_name, &zone, &err), &err);
    window_time_open(&time, spec, &type_timestamp_ltz3, zone);
    return time;
}

/* 2021-11-07 in Los Angeles: 01:00 comes twice, at 08:00 and at 09:00 UTC. */
static void hour_that_comes_twice_is_one_window_that_closes_after_the_second(void **state)
{
    (void)state;
    struct arena *arena;
    const struct window_spec spec = {.kind = WINDOW_TUMBLE, .size_us = US_PER_HOUR};
    struct window_time time = open_time(&spec, "America/Los_Angeles", &arena);
    int64_t first = INT64_C(1636273800) * US_PER_SECOND, second = first + US_PER_HOUR; /* 08:30 and 09:30 UTC */
    int64_t slice = window_time_slice(&time, window_time_to_local(&time, first));
    assert_int_equal(slice, window_time_slice(&time, window_time_to_local(&time, second)));
    assert_int_equal(window_time_closes(&time, slice + US_PER_HOUR), second + US_PER_HOUR / 2 - US_PER_MS);
    arena_destroy(arena);
}

static void half_hours_in_the_repeated_hour_close_at_their_later_end(void **state)
{
    (void)state;
    struct arena *arena;
    const struct window_spec spec = {.kind = WINDOW_TUMBLE, .size_us = US_PER_HOUR / 2};
    struct window_time time = open_time(&spec, "America/Los_Angeles", &arena);
    int64_t second = INT64_C(1636275600) * US_PER_SECOND + 10 * US_PER_MINUTE; /* 09:10 UTC, 01:10 the second time */
    int64_t slice = window_time_slice(&time, window_time_to_local(&time, second));
    assert_int_equal(window_time_closes(&time, slice + US_PER_HOUR / 2), second + 20 * US_PER_MINUTE - US_PER_MS);
    arena_destroy(arena);
}

static void windows_before_1970_begin_at_a_floor(void **state)
{
    (void)state;
    const struct window_spec spec = {.kind = WINDOW_TUMBLE, .size_us = 5 * US_PER_SECOND};
    struct window_time time;
    window_time_open(&time, &spec, &type_timestamp3, time_zone_utc);
    assert_int_equal(window_time_slice(&time, -1), -5 * US_PER_SECOND);
    assert_int_equal(window_time_slice(&time, -5 * US_PER_SECOND), -5 * US_PER_SECOND);
    assert_int_equal(window_time_slice(&time, -5 * US_PER_SECOND - 1), -10 * US_PER_SECOND);
}

static void hop_with_a_slide_above_its_size_leaves_times_without_windows(void **state)
{
    (void)state;
    const struct window_spec spec = {.kind = WINDOW_HOP, .size_us = 2 * US_PER_SECOND, .slide_us = 5 * US_PER_SECOND};
    struct window_time time;
    struct window_bounds first, last;
    window_time_open(&time, &spec, &type_timestamp3, time_zone_utc);
    assert_true(window_time_windows(&time, window_time_slice(&time, 1 * US_PER_SECOND), &first, &last));
    assert_int_equal(first.start, 0);
    assert_int_equal(last.start, 0);
    assert_false(window_time_windows(&time, window_time_slice(&time, 3 * US_PER_SECOND), &first, &last));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hour_that_comes_twice_is_one_window_that_closes_after_the_second),
        cmocka_unit_test(half_hours_in_the_repeated_hour_close_at_their_later_end),
        cmocka_unit_test(windows_before_1970_begin_at_a_floor),
        cmocka_unit_test(hop_with_a_slide_above_its_size_leaves_times_without_windows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
