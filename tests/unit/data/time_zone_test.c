#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../support/arena.h"
#include "data/calendar.h"
#include "data/time_zone.h"

static const struct time_zone *zone_of(const char *name)
{
    const struct time_zone *zone;
    assert_int_equal(time_zone_find(arena, name, &zone, &err), STATUS_OK);
    return zone;
}

static int64_t at(int32_t year, int32_t month, int32_t day, int32_t hour, int32_t minute)
{
    return date_join(year, month, day) * US_PER_DAY + hour * US_PER_HOUR + minute * US_PER_MINUTE;
}

static void a_gap_moves_forward_and_an_overlap_takes_the_earlier_instant(void **state)
{
    (void)state;
    const struct time_zone *berlin = zone_of("Europe/Berlin");
    assert_int_equal(time_zone_to_local(berlin, at(2020, 3, 29, 0, 59)), at(2020, 3, 29, 1, 59));
    assert_int_equal(time_zone_to_local(berlin, at(2020, 3, 29, 1, 0)), at(2020, 3, 29, 3, 0));
    int64_t gap = time_zone_to_utc(berlin, at(2020, 3, 29, 2, 30));
    assert_int_equal(time_zone_to_local(berlin, gap), at(2020, 3, 29, 3, 30));
    assert_int_equal(time_zone_to_utc(berlin, at(2020, 10, 25, 2, 30)), at(2020, 10, 25, 0, 30));
    assert_int_equal(time_zone_to_utc(berlin, at(2020, 10, 25, 3, 0)), at(2020, 10, 25, 2, 0));
    assert_int_equal(time_zone_to_utc(berlin, at(2020, 10, 25, 1, 59)), at(2020, 10, 24, 23, 59));
}

static void the_rule_of_the_footer_holds_to_the_year_9999(void **state)
{
    (void)state;
    const struct time_zone *york = zone_of("America/New_York");
    static const int32_t years[] = {2007, 2038, 2100, 2437, 2438, 2800, 9998};
    for (size_t i = 0; i < sizeof years / sizeof years[0]; i++) {
        assert_int_equal(time_zone_offset_seconds(york, at(years[i], 7, 1, 0, 0)), -4 * 3600);
        assert_int_equal(time_zone_offset_seconds(york, at(years[i], 1, 5, 0, 0)), -5 * 3600);
        assert_int_equal(time_zone_offset_seconds(york, at(years[i], 12, 24, 0, 0)), -5 * 3600);
        assert_int_equal(time_zone_to_utc(york, at(years[i], 7, 1, 0, 0)), at(years[i], 7, 1, 4, 0));
    }
    const struct time_zone *sydney = zone_of("Australia/Sydney");
    assert_int_equal(time_zone_offset_seconds(sydney, at(9999, 12, 31, 0, 0)), 11 * 3600);
    assert_int_equal(time_zone_offset_seconds(sydney, at(2500, 7, 1, 0, 0)), 10 * 3600);
}

static void every_hour_of_two_centuries_survives_the_round_trip(void **state)
{
    (void)state;
    static const char *const names[] = {"Europe/Dublin", "Australia/Lord_Howe", "Asia/Kathmandu", "Pacific/Apia", "America/Sao_Paulo"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct time_zone *zone = zone_of(names[i]);
        for (int64_t us = at(1900, 1, 1, 0, 0); us < at(2100, 1, 1, 0, 0); us += 3 * US_PER_HOUR) {
            int64_t back = time_zone_to_utc(zone, time_zone_to_local(zone, us));
            int64_t again = time_zone_to_local(zone, back);
            if (again != time_zone_to_local(zone, us) || back > us) {
                fail_msg("%s at %ld", names[i], (long)us);
            }
        }
    }
}

static void offsets_are_zones(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int32_t seconds;
    } cases[] = {{"UTC", 0},       {"Z", 0},          {"GMT+8", 28800},  {"GMT+08:00", 28800},
                 {"+01:00", 3600}, {"-0330", -12600}, {"UTC-3", -10800}, {"+05:30:15", 19815}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(time_zone_offset_seconds(zone_of(cases[i].name), 0), cases[i].seconds);
    }
    assert_true(time_zone_is_utc(zone_of("UTC")));
    assert_true(time_zone_is_utc(zone_of("GMT")));
    assert_false(time_zone_is_utc(zone_of("+01:00")));
}

static void unknown_names_and_paths_are_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"", "Mars/Olympus", "../../etc/passwd", "/etc/localtime", "+19:00", "GMT+", "Europe", "+01:60"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct time_zone *zone;
        assert_int_not_equal(time_zone_find(arena, names[i], &zone, &err), STATUS_OK);
    }
}

static void nanoseconds_before_1970_keep_their_fraction(void **state)
{
    (void)state;
    const struct time_zone *plus_one = zone_of("+01:00");
    assert_true(timestamp_to_local(plus_one, -1, 9) == (int128_t)US_PER_HOUR * 1000 - 1);
    assert_true(timestamp_to_utc(plus_one, -1, 9) == -(int128_t)US_PER_HOUR * 1000 - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gap_moves_forward_and_an_overlap_takes_the_earlier_instant),
        cmocka_unit_test(the_rule_of_the_footer_holds_to_the_year_9999),
        cmocka_unit_test(every_hour_of_two_centuries_survives_the_round_trip),
        cmocka_unit_test(offsets_are_zones),
        cmocka_unit_test(unknown_names_and_paths_are_refused),
        cmocka_unit_test(nanoseconds_before_1970_keep_their_fraction),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
