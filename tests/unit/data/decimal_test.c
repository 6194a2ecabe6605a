#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "data/decimal.h"
#include "data/number_text.h"

static int128_t number(const char *text)
{
    int128_t value;
    assert_true(decimal_parse(text_from(text), 38, 0, &value));
    return value;
}

static void assert_number(int128_t value, const char *expected)
{
    char text[NUMBER_TEXT_MAX + 1];
    text[decimal_write_text(value, 0, text)] = '\0';
    assert_string_equal(text, expected);
}

#define NINES "99999999999999999999999999999999999999"

static void rescaling_rounds_half_up_at_38_digits(void **state)
{
    (void)state;
    int128_t result;
    assert_true(decimal_rescale(number(NINES), 1, 0, &result));
    assert_number(result, "10000000000000000000000000000000000000");
    assert_false(decimal_rescale(number(NINES), 0, 1, &result));
    assert_true(decimal_rescale(-15, 1, 0, &result));
    assert_number(result, "-2");
    assert_true(decimal_rescale(5, 38, 0, &result));
    assert_number(result, "0");
    assert_true(decimal_rescale(0, 0, 38, &result));
    assert_number(result, "0");
}

static void products_go_through_256_bits(void **state)
{
    (void)state;
    int128_t result;
    assert_true(decimal_multiply(number(NINES), 38, number(NINES), 38, 38, &result));
    assert_number(result, "99999999999999999999999999999999999998");
    assert_false(decimal_multiply(number(NINES), 0, number(NINES), 0, 0, &result));
    assert_true(decimal_multiply(25, 1, -2, 0, 0, &result));
    assert_number(result, "-5");
    assert_true(decimal_multiply(15, 1, 3, 1, 1, &result)); /* 0.45 */
    assert_number(result, "5");
    assert_true(decimal_multiply(number(NINES), 38, number(NINES), 38, 0, &result));
    assert_number(result, "1");
}

static void quotients_round_half_up(void **state)
{
    (void)state;
    int128_t result;
    assert_true(decimal_divide(1, 0, 3, 0, 6, &result));
    assert_number(result, "333333");
    assert_true(decimal_divide(-2, 0, 3, 0, 6, &result));
    assert_number(result, "-666667");
    assert_true(decimal_divide(number(NINES), 0, number("12345678901234567890123456789"), 0, 28, &result));
    assert_number(result, "81000000729000006633900060368571549353");
    assert_true(decimal_divide(number("1"), 38, number(NINES), 0, 38, &result));
    assert_number(result, "0");
    assert_false(decimal_divide(number(NINES), 0, 1, 38, 38, &result));
}

static void texts_are_read_with_sign_fraction_and_exponent(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int32_t precision, scale;
        const char *expected;
    } cases[] = {
        {"12.345", 10, 2, "1235"},
        {" -1.005\t", 3, 2, "-101"},
        {"1e3", 10, 0, "1000"},
        {"1.5E-3", 10, 4, "15"},
        {".5", 1, 0, "1"},
        {"5.", 1, 0, "5"},
        {"0.0049", 3, 2, "0"},
        {"-0", 1, 0, "0"},
        {"000123", 3, 0, "123"},
        {"+7", 1, 0, "7"},
        {"1e-99999999999", 5, 2, "0"},
        {"0e999999999", 5, 2, "0"},
        {NINES, 38, 0, NINES},
        {"999.995", 5, 2, NULL},
        {"1e38", 38, 0, NULL},
        {"", 5, 2, NULL},
        {"-", 5, 2, NULL},
        {"1 5", 5, 2, NULL},
        {"+-2", 5, 2, NULL},
        {"1e", 5, 2, NULL},
        {"0.00000000000000000000000000000000000005", 38, 38, "5"},
        {"1.2.3", 5, 2, NULL},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        int128_t value;
        bool read = decimal_parse(text_from(cases[i].text), cases[i].precision, cases[i].scale, &value);
        assert_int_equal(read, cases[i].expected != NULL);
        if (read) {
            assert_number(value, cases[i].expected);
        }
    }
    assert_true(decimal_is_number(TEXT("1e999")));
    assert_false(decimal_is_number(TEXT("t")));
}

static void sums_that_leave_128_bits_come_back(void **state)
{
    (void)state;
    struct int256 sum = {{0}};
    int128_t result;
    for (int i = 0; i < 10; i++) {
        int256_add_product(&sum, number(NINES), INT64_MAX);
    }
    assert_false(int256_to_int128(&sum, &result));
    int256_add(&sum, -42);
    for (int i = 0; i < 10; i++) {
        int256_add_product(&sum, number(NINES), -INT64_MAX);
    }
    assert_true(int256_to_int128(&sum, &result));
    assert_number(result, "-42");
    struct int256 other = {{0}};
    int256_add(&other, -50);
    int256_subtract(&sum, &other);
    assert_true(int256_to_int128(&sum, &result));
    assert_number(result, "8");
}

static void averages_of_256_bit_sums_round_half_up(void **state)
{
    (void)state;
    struct int256 sum = {{0}};
    int128_t result;
    int256_add(&sum, -25);
    assert_true(int256_divide(&sum, 0, 10, 0, &result));
    assert_number(result, "-3");
    assert_true(int256_divide(&sum, 1, 3, 6, &result));
    assert_number(result, "-833333");
    assert_true(int256_divide(&sum, 1, 5, 0, &result)); /* -2.5 / 5 */
    assert_number(result, "-1");
    struct int256 wide = {{0}};
    for (int i = 0; i < 1000; i++) {
        int256_add(&wide, number(NINES));
    }
    assert_true(int256_divide(&wide, 0, 1000, 0, &result));
    assert_number(result, NINES);
}

static void decimals_become_the_nearest_double(void **state)
{
    (void)state;
    assert_true(decimal_to_double(1234, 2) == 12.34);
    assert_true(decimal_to_double(number("1000000000000000001"), 18) == 1.000000000000000001);
    assert_true(decimal_to_double(-25, 1) == -2.5);
    assert_true(decimal_to_double(number(NINES), 18) == 1e20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rescaling_rounds_half_up_at_38_digits),
        cmocka_unit_test(products_go_through_256_bits),
        cmocka_unit_test(quotients_round_half_up),
        cmocka_unit_test(texts_are_read_with_sign_fraction_and_exponent),
        cmocka_unit_test(sums_that_leave_128_bits_come_back),
        cmocka_unit_test(averages_of_256_bit_sums_round_half_up),
        cmocka_unit_test(decimals_become_the_nearest_double),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
