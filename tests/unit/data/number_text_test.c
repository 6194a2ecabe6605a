#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "data/calendar.h"
#include "data/number_text.h"

static void assert_double(double value, const char *expected)
{
    char text[NUMBER_TEXT_MAX + 1];
    text[double_write_text(value, text)] = '\0';
    assert_string_equal(text, expected);
}

static void assert_float(float value, const char *expected)
{
    char text[NUMBER_TEXT_MAX + 1];
    text[float_write_text(value, text)] = '\0';
    assert_string_equal(text, expected);
}

static void doubles_print_the_shortest_digits_in_the_notation_of_java(void **state)
{
    (void)state;
    assert_double(0.0, "0.0");
    assert_double(-0.0, "-0.0");
    assert_double(NAN, "NaN");
    assert_double(-INFINITY, "-Infinity");
    assert_double(1, "1.0");
    assert_double(100, "100.0");
    assert_double(9999999, "9999999.0");
    assert_double(1e7, "1.0E7");
    assert_double(12345678.9, "1.23456789E7");
    assert_double(0.001, "0.001");
    assert_double(0.000999, "9.99E-4");
    assert_double(0.1 + 0.2, "0.30000000000000004");
    assert_double(0.05, "0.05");
    assert_double(3.141592653589793, "3.141592653589793");
    assert_double(123456789012345680.0, "1.2345678901234568E17");
    assert_double(1e21, "1.0E21");
    assert_double(2e23, "2.0E23");
    assert_double(DBL_TRUE_MIN, "4.9E-324");
    assert_double(2 * DBL_TRUE_MIN, "9.9E-324");
    assert_double(DBL_MAX, "1.7976931348623157E308");
    assert_double(ldexp(1, -44), "5.684341886080802E-14");
    assert_double(1234567.125, "1234567.125");
    assert_double(-0.125, "-0.125");
}

static void floats_print_the_shortest_digits(void **state)
{
    (void)state;
    assert_float(0.1f, "0.1");
    assert_float(3.1415927f, "3.1415927");
    assert_float(2147483648.0f, "2.1474836E9");
    assert_float(99999999999.0f, "1.0E11");
    assert_float(123456789012345680.0f, "1.2345679E17");
    assert_float(FLT_MAX, "3.4028235E38");
    assert_float(FLT_TRUE_MIN, "1.4E-45");
    assert_float(16777216.0f, "1.6777216E7");
}

static void random_doubles_read_back(void **state)
{
    (void)state;
    uint64_t seed = 88172645463325252u;
    for (int i = 0; i < 20000; i++) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        double value, back;
        memcpy(&value, &seed, sizeof value);
        if (!isfinite(value)) {
            continue;
        }
        char text[NUMBER_TEXT_MAX + 1];
        size_t length = double_write_text(value, text);
        assert_true(length <= NUMBER_TEXT_MAX);
        assert_true(number_text_to_double((struct text){text, length}, &back));
        assert_true(value == back);
    }
}

static void times_print_before_1970_and_at_the_ends_of_the_calendar(void **state)
{
    (void)state;
    char text[NUMBER_TEXT_MAX + 1];
    text[timestamp_write_text(-1, 6, text)] = '\0';
    assert_string_equal(text, "1969-12-31 23:59:59.999999");
    text[timestamp_write_text(-1, 9, text)] = '\0';
    assert_string_equal(text, "1969-12-31 23:59:59.999999999");
    text[timestamp_write_text(-1, 0, text)] = '\0';
    assert_string_equal(text, "1969-12-31 23:59:59");
    text[timestamp_write_text((int128_t)date_join(9999, 12, 31) * US_PER_DAY * 1000 + 1, 9, text)] = '\0';
    assert_string_equal(text, "9999-12-31 00:00:00.000000001");
    text[timestamp_write_text(date_join(1, 1, 1) * US_PER_DAY, 3, text)] = '\0';
    assert_string_equal(text, "0001-01-01 00:00:00.000");
    text[date_write_text(date_join(10000, 1, 1), text)] = '\0';
    assert_string_equal(text, "10000-01-01");
    text[time_write_text(45296500, 3, text)] = '\0';
    assert_string_equal(text, "12:34:56.5");
    text[time_write_text(45296000, 3, text)] = '\0';
    assert_string_equal(text, "12:34:56.0");
    text[interval_month_write_text(-15, text)] = '\0';
    assert_string_equal(text, "-1-03");
    text[interval_day_write_text(-50 * US_PER_SECOND, text)] = '\0';
    assert_string_equal(text, "-0 00:00:50.000");
}

static void decimals_print_exactly_their_scale(void **state)
{
    (void)state;
    char text[NUMBER_TEXT_MAX + 1];
    text[decimal_write_text(-5, 3, text)] = '\0';
    assert_string_equal(text, "-0.005");
    text[decimal_write_text(0, 2, text)] = '\0';
    assert_string_equal(text, "0.00");
    text[decimal_write_text((int128_t)INT64_MAX * 1000000000, 9, text)] = '\0';
    assert_string_equal(text, "9223372036854775807.000000000");
    text[decimal_write_text((int128_t)1000000000000000000 * 1000000000000000000, 0, text)] = '\0';
    assert_string_equal(text, "1000000000000000000000000000000000000");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doubles_print_the_shortest_digits_in_the_notation_of_java),
        cmocka_unit_test(floats_print_the_shortest_digits),
        cmocka_unit_test(random_doubles_read_back),
        cmocka_unit_test(times_print_before_1970_and_at_the_ends_of_the_calendar),
        cmocka_unit_test(decimals_print_exactly_their_scale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
