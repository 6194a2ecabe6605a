#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "data/decimal.h"
#include "functions/function.h"
#include "functions/program.h"

static struct budget budget;
static struct arena *arena;
static struct evaluation evaluation;
static struct error err;

#define OK(call)                                                                                                                           \
    do {                                                                                                                                   \
        if ((call) != STATUS_OK) {                                                                                                         \
            fail_msg("%s", err.text);                                                                                                      \
        }                                                                                                                                  \
    } while (0)

static int setup(void **state)
{
    (void)state;
    budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
    arena = arena_create(&budget, "test");
    evaluation = (struct evaluation){.budget = &budget, .zone = time_zone_utc};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_destroy(arena);
    assert_int_equal(budget.used_bytes, 0);
    return 0;
}

static const struct expression *constant(const struct type *type, const void *value, size_t bytes)
{
    struct vector *vector = arena_alloc(arena, sizeof *vector);
    *vector = (struct vector){.type = type, .physical = type_physical(type), .count = 1, .values = arena_copy(arena, value, bytes)};
    return expression_constant(arena, vector);
}

static const struct expression *real(double value)
{
    return constant(&type_double, &value, sizeof value);
}

static const struct expression *decimal(int32_t precision, int32_t scale, int128_t unscaled)
{
    const struct type *type = type_decimal(arena, precision, scale, true);
    int64_t narrow = (int64_t)unscaled;
    return precision > 18 ? constant(type, &unscaled, sizeof unscaled) : constant(type, &narrow, sizeof narrow);
}

static const struct expression *call(const char *name, const struct expression *left, const struct expression *right)
{
    const struct expression *args[] = {left, right}, *result;
    OK(function_call_named(arena, &evaluation, name, args, 2, &result, &err));
    return result;
}

/* '0', '1' or 'N' */
static char truth(const char *name, const struct expression *left, const struct expression *right)
{
    const struct vector *result;
    OK(program_evaluate_constant(arena, &evaluation, call(name, left, right), &result, &err));
    return vector_is_valid(result, 0) ? (char)('0' + vector_bool(result)[0]) : 'N';
}

static const char *const names[] = {"=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"};

static void expect(const struct expression *left, const struct expression *right, const char *truths)
{
    for (uint32_t i = 0; i < 8; i++) {
        if (truth(names[i], left, right) != truths[i]) {
            fail_msg("%s is not %c", names[i], truths[i]);
        }
    }
}

static void nan_equals_itself_and_is_in_no_order(void **state)
{
    (void)state;
    expect(real(NAN), real(NAN), "10000001");
    expect(real(NAN), real(1), "01000010");
    expect(real(1), real(NAN), "01000010");
    expect(real(0.0), real(-0.0), "10010101");
}

static void null_makes_all_but_distinctness_null(void **state)
{
    (void)state;
    expect(real(1), expression_null(arena, &type_double), "NNNNNN10");
    expect(expression_null(arena, &type_null), real(1), "NNNNNN10");
    expect(expression_null(arena, &type_double), expression_null(arena, &type_double), "NNNNNN01");
}

static void decimals_compare_exactly_whatever_their_scales(void **state)
{
    (void)state;
    expect(decimal(3, 1, 15), decimal(5, 3, 1500), "10010101");
    expect(decimal(10, 2, 150), expression_int64(arena, 2), "01110010");
    int128_t large = decimal_power_of_ten(37);
    expect(decimal(38, 0, large), decimal(38, 38, large * 9), "01001110");
    expect(decimal(38, 0, 1), decimal(38, 37, large), "10010101");
    expect(decimal(38, 0, 1), decimal(38, 37, large + 1), "01110010");
    expect(decimal(38, 0, -1), decimal(38, 37, -large - 1), "01001110");
}

static void texts_compare_with_times_but_equal_no_numbers(void **state)
{
    (void)state;
    int32_t day = 18262;
    const struct expression *text = expression_string(arena, TEXT("2020-01-01")), *result;
    assert_int_equal(truth("=", constant(&type_date, &day, sizeof day), text), '1');
    const struct expression *args[] = {expression_int32(arena, 1), expression_string(arena, TEXT("1"))};
    assert_int_equal(function_call_named(arena, &evaluation, "=", args, 2, &result, &err), STATUS_INVALID_SQL);
    assert_int_equal(truth(">", expression_string(arena, TEXT("2")), expression_int32(arena, 1)), '1');
}

static const char *type_of(const char *name, const struct expression *left, const struct expression *right)
{
    return type_to_text(arena, type_with_nullable(arena, call(name, left, right)->type, true));
}

static void decimal_results_have_flinks_types(void **state)
{
    (void)state;
    const struct expression *a = decimal(38, 18, 1), *b = decimal(38, 18, 2), *c = decimal(20, 10, 1), *d = decimal(30, 5, 1);
    assert_string_equal(type_of("+", a, b), "DECIMAL(38, 17)");
    assert_string_equal(type_of("*", a, b), "DECIMAL(38, 6)");
    assert_string_equal(type_of("/", a, b), "DECIMAL(38, 6)");
    assert_string_equal(type_of("%", a, b), "DECIMAL(38, 18)");
    assert_string_equal(type_of("+", c, d), "DECIMAL(36, 10)");
    assert_string_equal(type_of("/", c, d), "DECIMAL(38, 23)");
    assert_string_equal(type_of("/", decimal(2, 1, 10), expression_int32(arena, 3)), "DECIMAL(13, 12)");
    assert_string_equal(type_of("%", decimal(10, 2, 1), expression_int32(arena, 3)), "DECIMAL(10, 2)");
}

static bool decimal_is(const char *name, const struct expression *left, const struct expression *right, int128_t unscaled)
{
    const struct vector *result;
    OK(program_evaluate_constant(arena, &evaluation, call(name, left, right), &result, &err));
    return vector_is_valid(result, 0) && vector_get_integer(result, 0) == unscaled;
}

static void decimal_sums_round_once_and_overflow_to_null(void **state)
{
    (void)state;
    int128_t most = decimal_power_of_ten(37) * 9 + (decimal_power_of_ten(37) - 1);
    const struct vector *result;
    OK(program_evaluate_constant(arena, &evaluation, call("+", decimal(38, 0, most), decimal(38, 0, 1)), &result, &err));
    assert_false(vector_is_valid(result, 0));
    assert_true(decimal_is("+", decimal(38, 0, most), decimal(38, 0, -most), 0));
    /* (38, 18) + (38, 18) is (38, 17) */
    assert_true(decimal_is("+", decimal(38, 18, 4), decimal(38, 18, 1), 1));
    assert_true(decimal_is("+", decimal(38, 18, 4), decimal(38, 18, 0), 0));
    assert_true(decimal_is("+", decimal(38, 18, -4), decimal(38, 18, -1), -1));
    assert_true(decimal_is("-", decimal(38, 18, 14), decimal(38, 18, 10), 0));
    assert_true(decimal_is("-", decimal(38, 18, 10), decimal(38, 18, 4), 1));
    assert_true(decimal_is("/", decimal(10, 2, 100), decimal(10, 2, 300), (int128_t)3333333333333));
    assert_true(decimal_is("/", decimal(2, 1, 20), expression_int32(arena, -3), -(int128_t)666666666667));
    assert_true(decimal_is("%", decimal(2, 1, -75), expression_int32(arena, 2), -15));
    assert_true(decimal_is("%", decimal(38, 0, 7), decimal(38, 38, decimal_power_of_ten(37) * 3), decimal_power_of_ten(37)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nan_equals_itself_and_is_in_no_order, setup, teardown),
        cmocka_unit_test_setup_teardown(null_makes_all_but_distinctness_null, setup, teardown),
        cmocka_unit_test_setup_teardown(decimals_compare_exactly_whatever_their_scales, setup, teardown),
        cmocka_unit_test_setup_teardown(texts_compare_with_times_but_equal_no_numbers, setup, teardown),
        cmocka_unit_test_setup_teardown(decimal_results_have_flinks_types, setup, teardown),
        cmocka_unit_test_setup_teardown(decimal_sums_round_once_and_overflow_to_null, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
