#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "data/calendar.h"

static void date_split_and_join_are_inverse_over_years_1_to_9999(void **state)
{
    (void)state;
    int32_t first = date_join(1, 1, 1), last = date_join(9999, 12, 31);
    assert_int_equal(first, -719162);
    assert_int_equal(last, 2932896);
    struct date_parts before = date_split(first - 1);
    assert_int_equal(before.year, 0);
    for (int32_t days = first; days <= last; days++) {
        struct date_parts parts = date_split(days);
        if (date_join(parts.year, parts.month, parts.day) != days) {
            fail_msg("day %d", days);
        }
        bool next_day = parts.day == before.day + 1;
        bool next_month = parts.day == 1 && (parts.month == before.month + 1 || (parts.month == 1 && parts.year == before.year + 1));
        if (!next_day && !next_month) {
            fail_msg("day %d does not follow the day before", days);
        }
        before = parts;
    }
}

static void date_join_takes_months_outside_the_year(void **state)
{
    (void)state;
    assert_int_equal(date_join(2020, 13, 1), date_join(2021, 1, 1));
    assert_int_equal(date_join(2020, 0, 1), date_join(2019, 12, 1));
    assert_int_equal(date_join(1970, -11, 1), date_join(1969, 1, 1));
}

static void date_add_months_keeps_the_last_day(void **state)
{
    (void)state;
    assert_int_equal(date_add_months(date_join(2020, 1, 31), 1), date_join(2020, 2, 29));
    assert_int_equal(date_add_months(date_join(2020, 2, 29), 12), date_join(2021, 2, 28));
    assert_int_equal(date_add_months(date_join(2020, 3, 31), -1), date_join(2020, 2, 29));
    assert_int_equal(date_add_months(date_join(1970, 1, 1), -1), date_join(1969, 12, 1));
}

static void weeks_belong_to_the_year_of_their_thursday(void **state)
{
    (void)state;
    int32_t year;
    assert_int_equal(date_weekday(0), 4);
    assert_int_equal(date_weekday(-1), 3);
    assert_int_equal(date_weekday(-4), 7);
    assert_int_equal(date_iso_week(date_join(2021, 1, 3), &year), 53);
    assert_int_equal(year, 2020);
    assert_int_equal(date_iso_week(date_join(2018, 12, 31), &year), 1);
    assert_int_equal(year, 2019);
    assert_int_equal(date_day_of_year(date_join(2020, 12, 31)), 366);
}

static void division_floors_below_zero(void **state)
{
    (void)state;
    assert_int_equal(floor_divide(-1, 1000), -1);
    assert_int_equal(floor_modulo(-1, 1000), 999);
    assert_int_equal(timestamp_days(-1), -1);
    assert_int_equal(timestamp_days(-US_PER_DAY), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(date_split_and_join_are_inverse_over_years_1_to_9999),
        cmocka_unit_test(date_join_takes_months_outside_the_year),
        cmocka_unit_test(date_add_months_keeps_the_last_day),
        cmocka_unit_test(weeks_belong_to_the_year_of_their_thursday),
        cmocka_unit_test(division_floors_below_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
