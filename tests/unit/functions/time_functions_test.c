#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "data/calendar.h"
#include "data/cell_text.h"
#include "functions/function.h"
#include "functions/program.h"
#include "functions/time_functions.h"
#include "functions/time_pattern.h"

static struct budget budget;
static struct arena *arena;
static struct evaluation evaluation;
static struct error err;

static int setup(void **state)
{
    (void)state;
    budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
    arena = arena_create(&budget, "test");
    evaluation = (struct evaluation){.budget = &budget, .zone = time_zone_utc};
    return arena == NULL;
}

static int teardown(void **state)
{
    (void)state;
    arena_destroy(arena);
    assert_int_equal(budget.used_bytes, 0);
    return 0;
}

static void use_zone(const char *name)
{
    assert_int_equal(time_zone_find(arena, name, &evaluation.zone, &err), STATUS_OK);
}

static const struct expression *text(const char *value)
{
    return expression_string(arena, text_from(value));
}

static const struct expression *typed(const char *value, const struct type *type)
{
    return expression_cast(arena, text(value), type, false);
}

static void assert_call(const char *name, const struct expression *const *args, uint32_t count, const char *expected)
{
    const struct expression *call;
    const struct vector *value;
    if (function_call_named(arena, &evaluation, name, args, count, &call, &err) != STATUS_OK) {
        assert_string_equal("refused", expected);
        return;
    }
    if (program_evaluate_constant(arena, &evaluation, call, &value, &err) != STATUS_OK) {
        assert_string_equal("failed", expected);
        return;
    }
    struct text_builder out = {0};
    cell_text_append(value, 0, evaluation.zone, CELL_TEXT_HEX, &out);
    assert_string_equal(out.bytes == NULL ? "" : out.bytes, expected);
    text_builder_close(&out);
}
#define CALL(name, expected, ...)                                                                                                          \
    do {                                                                                                                                   \
        const struct expression *const args_[] = {__VA_ARGS__};                                                                            \
        assert_call(name, args_, (uint32_t)(sizeof args_ / sizeof args_[0]), expected);                                                    \
    } while (0)

static void fields_before_1970_are_those_of_the_written_value(void **state)
{
    (void)state;
    const struct expression *time = typed("1969-12-31 23:59:59.999999", &type_timestamp6);
    CALL("YEAR", "1969", time);
    CALL("HOUR", "23", time);
    CALL("EXTRACT", "59", text("SECOND"), time);
    CALL("EXTRACT", "999999", text("microsecond"), time);
    CALL("EXTRACT", "-1", text("EPOCH"), time);
    CALL("EXTRACT", "4", text("DOW"), time);
    CALL("EXTRACT", "53", text("WEEK"), typed("2021-01-03", &type_date));
    CALL("EXTRACT", "21", text("CENTURY"), typed("2001-01-01", &type_date));
    CALL("EXTRACT", "1", text("MILLENNIUM"), typed("0001-01-01", &type_date));
    CALL("EXTRACT", "refused", text("NOPE"), time);
    CALL("EXTRACT", "refused", text("YEAR"), typed("12:00:00", &type_time));
    CALL("YEAR", "refused", text("2020-01-01"));
}

static void the_hour_of_an_instant_is_local(void **state)
{
    (void)state;
    use_zone("Asia/Kolkata");
    CALL("HOUR", "5", expression_cast(arena, typed("1970-01-01 05:30:00", &type_timestamp3), &type_timestamp_ltz3, false));
    use_zone("UTC");
}

static void units_are_added_and_counted_along_the_calendar(void **state)
{
    (void)state;
    CALL("TIMESTAMPADD", "2020-02-29", text("MONTH"), expression_int32(arena, 1), typed("2020-01-31", &type_date));
    CALL("TIMESTAMPADD", "2020-02-29 01:00:00.000000", text("HOUR"), expression_int32(arena, 1), typed("2020-02-29", &type_date));
    CALL("TIMESTAMPADD", "00:30:00", text("MINUTE"), expression_int32(arena, 90), typed("23:00:00", &type_time));
    CALL("TIMESTAMPDIFF", "1", text("MONTH"), typed("2020-01-31", &type_date), typed("2020-02-29", &type_date));
    CALL("TIMESTAMPDIFF", "-1", text("MONTH"), typed("2020-02-29", &type_date), typed("2020-01-31", &type_date));
    CALL("TIMESTAMPDIFF", "-600", text("MONTH"), typed("2020-01-01 00:00:00", &type_timestamp3),
         typed("1969-12-31 23:59:59.999", &type_timestamp3));
    CALL("TIMESTAMPDIFF", "60", text("SECOND"), typed("2020-01-01", &type_date), typed("2020-01-01 00:01:00", &type_timestamp3));
}

static void rounding_goes_to_the_start_of_the_unit_or_the_next(void **state)
{
    (void)state;
    assert_int_equal(time_floor(UNIT_WEEK, -1), -4 * US_PER_DAY);
    assert_int_equal(time_floor(UNIT_CENTURY, 0), date_join(1901, 1, 1) * US_PER_DAY);
    assert_int_equal(time_floor(UNIT_DECADE, 0), 0);
    assert_int_equal(time_floor(UNIT_QUARTER, -1), date_join(1969, 10, 1) * US_PER_DAY);
    assert_int_equal(time_next(UNIT_MONTH, date_join(2020, 12, 1) * US_PER_DAY), date_join(2021, 1, 1) * US_PER_DAY);
}

static void formats_follow_the_letters_of_java(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"yyyy-MM-dd HH:mm:ss.SSS", "2020-02-09 00:04:05.678"},
        {"yyyy-MM-dd'T'HH 'o''clock'", "2020-02-09T00 o'clock"},
        {"KK kk hh HH a", "00 24 12 00 AM"},
        {"E, EEEE MMM d MMMM y/M yy", "Sun, Sunday Feb 9 February 2020/2 20"},
        {"D DDD Q QQQ SSSSSS", "40 040 1 Q1 678901"},
        {"", ""},
        {"yyyy bbb", "refused"},
        {"'open", "refused"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CALL("DATE_FORMAT", cases[i][1], typed("2020-02-09 00:04:05.678901", &type_timestamp6), text(cases[i][0]));
    }
    CALL("DATE_FORMAT", "NULL", text("nonsense"), text("yyyy"));
}

static void texts_are_read_strictly_or_loosely(void **state)
{
    (void)state;
    CALL("TO_TIMESTAMP", "2020-02-29 12:34:56.000", text("20200229123456"), text("yyyyMMddHHmmss"));
    CALL("TO_TIMESTAMP", "2020-02-29 12:34:56.789", text("2020-02-29 12:34:56.789"), text("yyyy-MM-dd"));
    CALL("TO_TIMESTAMP", "NULL", text("2020-02-29x"), text("yyyy-MM-dd"));
    CALL("TO_DATE", "2020-01-02", text("2020-1-2 3:4:5"), text("yyyy-MM-dd HH:mm:ss"));
    CALL("TO_DATE", "2020-02-29", text("Feb 29, 2020"), text("MMM dd, yyyy"));
    CALL("TO_DATE", "NULL", text("2020-02-29"), text("dd/MM/yyyy"));
    CALL("UNIX_TIMESTAMP", "1", text("1970-01-01 08:00:01.001 +0800"), text("yyyy-MM-dd HH:mm:ss.SSS X"));
    CALL("UNIX_TIMESTAMP", "-9223372036854775808", text("nonsense"));
    CALL("CONVERT_TZ", "2020-10-25 01:30:00", text("2020-10-25 02:30:00"), text("Europe/Berlin"), text("UTC"));
    CALL("CONVERT_TZ", "2020-03-29 01:30:00", text("2020-03-29 02:30:00"), text("Europe/Berlin"), text("UTC"));
    CALL("CONVERT_TZ", "refused", text("2020-03-29 02:30:00"), text("Mars/Olympus"), text("UTC"));
}

static void numbers_become_instants_of_the_years_1_to_9999(void **state)
{
    (void)state;
    CALL("TO_TIMESTAMP_LTZ", "1969-12-31 23:59:59.999", expression_int64(arena, -1));
    CALL("TO_TIMESTAMP_LTZ", "9999-12-31 23:59:59.000", expression_int64(arena, 253402300799), expression_int32(arena, 0));
    CALL("TO_TIMESTAMP_LTZ", "NULL", expression_int64(arena, 253402300800), expression_int32(arena, 0));
    CALL("TO_TIMESTAMP_LTZ", "NULL", expression_int64(arena, INT64_MAX), expression_int32(arena, 0));
    CALL("TO_TIMESTAMP_LTZ", "1970-01-01 00:00:01.500", typed("1500.7", &type_double), expression_int32(arena, 3));
    CALL("TO_TIMESTAMP_LTZ", "failed", text("bad"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_before_1970_are_those_of_the_written_value),
        cmocka_unit_test(the_hour_of_an_instant_is_local),
        cmocka_unit_test(units_are_added_and_counted_along_the_calendar),
        cmocka_unit_test(rounding_goes_to_the_start_of_the_unit_or_the_next),
        cmocka_unit_test(formats_follow_the_letters_of_java),
        cmocka_unit_test(texts_are_read_strictly_or_loosely),
        cmocka_unit_test(numbers_become_instants_of_the_years_1_to_9999),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
