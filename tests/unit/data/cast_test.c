#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "data/calendar.h"
#include "data/cast.h"
#include "data/cell_text.h"

static struct budget budget;
static struct arena *arena;
static struct error err;
static const struct time_zone *zone;

static int open_arena(void **state)
{
    (void)state;
    budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
    arena = arena_create(&budget, "test");
    zone = time_zone_utc;
    return arena == NULL;
}

static int close_arena(void **state)
{
    (void)state;
    arena_destroy(arena);
    assert_int_equal(budget.used_bytes, 0);
    return 0;
}

static const struct type *type_of(enum type_kind kind, int32_t precision, int32_t scale)
{
    return type_make(arena, kind, precision, scale, true);
}

static void count_failure(void *owner, uint32_t row, enum error_code code, const char *text)
{
    (void)row;
    assert_int_equal(code, ERROR_INVALID_CAST);
    assert_non_null(strstr(text, "cannot cast"));
    ++*(int *)owner;
}

static void run_cast(const struct type *to, bool try_cast, struct vector *value, int *failures)
{
    const struct cast *cast;
    struct vector result;
    assert_int_equal(cast_create(arena, value->type, to, try_cast, &cast, &err), STATUS_OK);
    struct cast_context context = {.budget = &budget, .zone = zone, .fail = count_failure, .owner = failures};
    struct selection all = {NULL, value->count};
    assert_int_equal(cast_run(cast, &context, value, all, &result, &err), STATUS_OK);
    vector_release(value);
    *value = result;
}

/* A text of one row through the given types; the last one as text. `types` ends with NULL. */
static void assert_chain(const char *text, const struct type *const *types, bool try_cast, const char *expected)
{
    struct vector value;
    int failures = 0;
    assert_int_equal(vector_create(&budget, &type_string, 1, &value, &err), STATUS_OK);
    vector_strings(&value)[0] = string_view_make(text, strlen(text));
    for (; *types != NULL; types++) {
        run_cast(*types, try_cast, &value, &failures);
    }
    struct text_builder out = {0};
    cell_text_append(&value, 0, zone, CELL_TEXT_HEX, &out);
    assert_string_equal(failures > 0 ? "failed" : out.bytes == NULL ? "" : out.bytes, expected);
    text_builder_close(&out);
    vector_release(&value);
}
#define CHAIN(text, expected, ...)     assert_chain(text, (const struct type *const[]){__VA_ARGS__, NULL}, false, expected)
#define TRY_CHAIN(text, expected, ...) assert_chain(text, (const struct type *const[]){__VA_ARGS__, NULL}, true, expected)

static void integers_wrap_and_floats_saturate(void **state)
{
    (void)state;
    CHAIN("5000000000", "705032704", &type_bigint, &type_int);
    CHAIN("5000000000", "0", &type_bigint, &type_tinyint);
    CHAIN("128.75", "-128", &type_double, &type_tinyint);
    CHAIN("1e300", "-1", &type_double, &type_smallint);
    CHAIN("1e300", "9223372036854775807", &type_double, &type_bigint);
    CHAIN("-Infinity", "-2147483648", &type_double, &type_int);
    CHAIN("NaN", "0", &type_float, &type_bigint);
    CHAIN("NaN", "TRUE", &type_double, &type_boolean);
    CHAIN("0.1", "0.10000000149011612", &type_float, &type_double);
    CHAIN("t", "1.0", &type_boolean, &type_double);
}

static void decimals_round_half_up_and_overflow_to_null(void **state)
{
    (void)state;
    const struct type *six = type_of(TYPE_DECIMAL, 6, 3), *five = type_of(TYPE_DECIMAL, 5, 2), *wide = type_of(TYPE_DECIMAL, 38, 18);
    CHAIN("999.994", "999.99", six, five);
    CHAIN("999.995", "NULL", six, five);
    CHAIN("-0.005", "-0.01", six, five);
    CHAIN("999.995", "999", six, &type_int);
    CHAIN("999.995", "-25", six, &type_tinyint);
    CHAIN("99999999999999999999.999999999999999999", "7766279631452241919", wide, &type_bigint);
    CHAIN("127", "NULL", &type_tinyint, type_of(TYPE_DECIMAL, 2, 0));
    CHAIN("70000", "70000.00", &type_int, type_of(TYPE_DECIMAL, 12, 2));
    CHAIN("70000", "70000.000000000000000000", &type_int, wide);
    CHAIN("1.005", "1.01", &type_double, type_of(TYPE_DECIMAL, 3, 2));
    CHAIN("NaN", "failed", &type_double, five);
    TRY_CHAIN("NaN", "NULL", &type_double, five);
    CHAIN("1000", "NULL", type_of(TYPE_DECIMAL, 3, 0));
    CHAIN("t", "failed", type_of(TYPE_DECIMAL, 3, 0));
    CHAIN("1.000000000000000001", "1.0", wide, &type_double);
}

static void texts_that_are_no_numbers_fail_or_are_null(void **state)
{
    (void)state;
    static const char *const bad[] = {"",    " ",   "abc", "12abc", "0x1F", "-",          "1_000",
                                      "NaN", "1 5", "+-2", "\t9\n", "1e3",  "2147483648", "."};
    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
        CHAIN(bad[i], "failed", &type_int);
        TRY_CHAIN(bad[i], "NULL", &type_int);
    }
    CHAIN(" -3.99 ", "-3", &type_int);
    CHAIN(".5", "0", &type_int);
    CHAIN("-9223372036854775808", "-9223372036854775808", &type_bigint);
    CHAIN("9223372036854775808", "failed", &type_bigint);
    CHAIN("\t9\n", "9.0", &type_double);
    CHAIN("123456789012345678901234567890.123456789", "1.2345678901234568E29", &type_double);
    CHAIN("99999999999", "1.0E11", &type_float);
    CHAIN("-0", "-0.0", &type_double);
    CHAIN("0x1p3", "failed", &type_double);
    CHAIN(" TRUE", "failed", &type_boolean);
    CHAIN("tRuE", "TRUE", &type_boolean);
}

static void texts_become_dates_and_times(void **state)
{
    (void)state;
    const struct type *nanos = type_of(TYPE_TIMESTAMP, 9, 0), *seconds = type_of(TYPE_TIMESTAMP, 0, 0);
    CHAIN("2021", "2021-01-01", &type_date);
    CHAIN(" 2021-03-04 ", "2021-03-04", &type_date);
    CHAIN("2021-03-04 25:00", "2021-03-04", &type_date);
    CHAIN("2021-03-04T05:06:07", "failed", &type_date);
    CHAIN("2021-02-30", "failed", &type_date);
    CHAIN("2021-02-30", "2021-02-28 00:00:00.000000000", nanos);
    CHAIN("-0001-01-01", "failed", &type_date);
    CHAIN("5:6:7", "05:06:07", &type_time);
    CHAIN("24:00:00", "failed", &type_time);
    CHAIN("05:06:07.987654", "05:06:07.98", type_of(TYPE_TIME, 2, 0));
    CHAIN("1969-12-31 23:59:59.999999999", "1969-12-31 23:59:59.999999999", nanos);
    CHAIN("1969-12-31 23:59:59.999999999", "1969-12-31 23:59:59", seconds);
    CHAIN("2021-03-04 05:06:07.1234567891", "failed", nanos);
    CHAIN("2021-03-04 05:06", "failed", nanos);
    CHAIN("1969-12-31 23:59:59.999", "1969-12-31", &type_timestamp3, &type_date);
    CHAIN("1969-12-31 23:59:59.999", "23:59:59", &type_timestamp3, &type_time);
    CHAIN("0001-01-01 00:00:00.000000001", "0001-01-01 00:00:00", nanos, seconds);
    CHAIN("9999-12-31", "9999-12-31 00:00:00.000000000", &type_date, nanos);
}

static void instants_pass_through_the_zone(void **state)
{
    (void)state;
    assert_int_equal(time_zone_find(arena, "Europe/Berlin", &zone, &err), STATUS_OK);
    CHAIN("2020-03-29 02:30:00", "2020-03-29 03:30:00.000", &type_timestamp3, &type_timestamp_ltz3);
    CHAIN("2020-10-25 02:30:00", "2020-10-25 02:30:00.000", &type_timestamp_ltz3, &type_timestamp3);
    CHAIN("2020-07-01", "2020-07-01 00:00:00.000", &type_date, &type_timestamp_ltz3);
    zone = time_zone_utc;
}

static void texts_are_cut_and_padded_by_characters(void **state)
{
    (void)state;
    const struct type *padded = type_of(TYPE_CHAR, 15, 0);
    CHAIN("Gr\xC3\xBC\xC3\x9F"
          "e, you",
          "Gr\xC3\xBC\xC3\x9F", type_of(TYPE_VARCHAR, 4, 0));
    CHAIN("Gr\xC3\xBC\xC3\x9F"
          "e",
          "Gr\xC3\xBC\xC3\x9F"
          "e          ",
          padded);
    CHAIN("12345", "123", &type_int, type_of(TYPE_CHAR, 3, 0));
    CHAIN("hello", "x'68656c6c6f00'", type_of(TYPE_BINARY, 6, 0));
    CHAIN("hello", "x'6865'", &type_bytes, type_of(TYPE_VARBINARY, 2, 0));
    CHAIN("\xFF\x80", "\xEF\xBF\xBD\xEF\xBF\xBD", &type_bytes, &type_string);
}

static void elements_fail_with_their_array(void **state)
{
    (void)state;
    struct vector value;
    const struct type *texts = type_array(arena, &type_string, true), *numbers = type_array(arena, &type_int, true);
    assert_int_equal(vector_create(&budget, texts, 3, &value, &err), STATUS_OK);
    vector_release(&value.children[0]);
    assert_int_equal(vector_create(&budget, &type_string, 3, &value.children[0], &err), STATUS_OK);
    static const char *const elements[] = {"1", "x", "-2"};
    for (uint32_t i = 0; i < 3; i++) {
        vector_strings(&value.children[0])[i] = string_view_make(elements[i], strlen(elements[i]));
    }
    vector_spans(&value)[0] = (struct span){0, 1};
    vector_spans(&value)[1] = (struct span){1, 2};
    vector_spans(&value)[2] = (struct span){2, 0};
    int failures = 0;
    struct vector copy;
    assert_int_equal(vector_ref(&value, &copy, &err), STATUS_OK);
    run_cast(numbers, false, &copy, &failures);
    assert_int_equal(failures, 1);
    vector_release(&copy);
    run_cast(numbers, true, &value, &failures);
    static const char *const expected[] = {"[1]", "NULL", "[]"};
    for (uint32_t i = 0; i < 3; i++) {
        struct text_builder out = {0};
        cell_text_append(&value, i, zone, 0, &out);
        assert_string_equal(out.bytes, expected[i]);
        text_builder_close(&out);
    }
    vector_release(&value);
}

static void pairs_without_a_meaning_are_refused(void **state)
{
    (void)state;
    const struct cast *cast;
    assert_int_equal(cast_create(arena, &type_int, &type_date, false, &cast, &err), STATUS_INVALID_SQL);
    assert_int_equal(cast_create(arena, &type_date, &type_time, false, &cast, &err), STATUS_INVALID_SQL);
    assert_int_equal(cast_create(arena, &type_timestamp3, &type_double, true, &cast, &err), STATUS_INVALID_SQL);
    assert_int_equal(cast_create(arena, &type_int, type_array(arena, &type_int, true), true, &cast, &err), STATUS_INVALID_SQL);
    assert_int_equal(cast_find_rule(&type_tinyint, &type_int), CAST_IMPLICIT);
    assert_int_equal(cast_find_rule(&type_bigint, &type_int), CAST_EXPLICIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_wrap_and_floats_saturate),
        cmocka_unit_test(decimals_round_half_up_and_overflow_to_null),
        cmocka_unit_test(texts_that_are_no_numbers_fail_or_are_null),
        cmocka_unit_test(texts_become_dates_and_times),
        cmocka_unit_test(instants_pass_through_the_zone),
        cmocka_unit_test(texts_are_cut_and_padded_by_characters),
        cmocka_unit_test(elements_fail_with_their_array),
        cmocka_unit_test(pairs_without_a_meaning_are_refused),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
