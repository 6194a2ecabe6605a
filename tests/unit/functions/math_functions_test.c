#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "data/cell_text.h"
#include "functions/function.h"

#include "functions/program.h"

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

static const struct expression *typed(const char *value, const struct type *type)
{
    return expression_cast(arena, expression_string(arena, text_from(value)), type, false);
}

static void assert_call(const char *name, const struct expression *const *args, uint32_t count, const char *expected)
{
    const struct expression *call;
    const struct vector *value;
    if (function_call_named(arena, &evaluation, name, args, count, &call, &err) != STATUS_OK) {
        assert_string_equal("refused", expected);
        return;
    }
    assert_int_equal(program_evaluate_constant(arena, &evaluation, call, &value, &err), STATUS_OK);
    struct text_builder out = {0};
    cell_text_append(value, 0, evaluation.zone, CELL_TEXT_HEX, &out);
    assert_string_equal(out.bytes, expected);
    text_builder_close(&out);
}
#define CALL(name, expected, ...)                                                                                                          \
    do {                                                                                                                                   \
        const struct expression *const args_[] = {__VA_ARGS__};                                                                            \
        assert_call(name, args_, (uint32_t)(sizeof args_ / sizeof args_[0]), expected);                                                    \
    } while (0)

static void doubles_round_by_their_shortest_text(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        int32_t digits;
        const char *rounded, *truncated;
    } cases[] = {
        {"1.005", 2, "1.01", "1.0"}, {"-2.75", 0, "-3.0", "-2.0"},       {"5", -1, "10.0", "0.0"},
        {"4.9", -1, "0.0", "0.0"},   {"999.96", 1, "1000.0", "999.9"},   {"-0.0", 0, "0.0", "0.0"},
        {"0.001", 2, "0.0", "0.0"},  {"1e300", 5, "1.0E300", "1.0E300"}, {"4.9E-324", 1, "0.0", "0.0"},
        {"-0.4", 0, "0.0", "0.0"},   {"9.5", 0, "10.0", "9.0"},          {"123456789.125", 2, "1.2345678913E8", "1.2345678912E8"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CALL("ROUND", cases[i].rounded, typed(cases[i].value, &type_double), expression_int32(arena, cases[i].digits));
        CALL("TRUNCATE", cases[i].truncated, typed(cases[i].value, &type_double), expression_int32(arena, cases[i].digits));
    }
}

static void exact_numbers_round_half_up_and_integers_wrap(void **state)
{
    (void)state;
    const struct type *decimal = type_decimal(arena, 10, 2, true);
    CALL("ROUND", "-12", typed("-12.35", decimal));
    CALL("ROUND", "-12.4", typed("-12.35", decimal), expression_int32(arena, 1));
    CALL("ROUND", "10", typed("9.99", decimal), expression_int32(arena, -1));
    CALL("TRUNCATE", "-12.3", typed("-12.35", decimal), expression_int32(arena, 1));
    CALL("ROUND", "-126", typed("127", &type_tinyint), expression_int32(arena, -1));
    CALL("ROUND", "-9223372036854775616", expression_int64(arena, INT64_MAX), expression_int32(arena, -3));
    CALL("FLOOR", "-13", typed("-12.35", decimal));
    CALL("CEIL", "-12", typed("-12.35", decimal));
    CALL("ABS", "-128", typed("-128", &type_tinyint));
    CALL("SIGN", "-1.00", typed("-12.35", decimal));
}

static void functions_of_doubles_follow_java_at_the_edges(void **state)
{
    (void)state;
    CALL("POWER", "NaN", typed("1", &type_double), typed("NaN", &type_double));
    CALL("POWER", "NaN", typed("-1", &type_double), typed("Infinity", &type_double));
    CALL("SQRT", "NaN", typed("-Infinity", &type_double));
    CALL("DEGREES", "180.0", typed("3.141592653589793", &type_double));
    CALL("SIGN", "-0.0", typed("-0.0", &type_double));
    CALL("SQRT", "refused", expression_string(arena, TEXT("4")));
    CALL("ABS", "refused", typed("true", &type_boolean));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doubles_round_by_their_shortest_text),
        cmocka_unit_test(exact_numbers_round_half_up_and_integers_wrap),
        cmocka_unit_test(functions_of_doubles_follow_java_at_the_edges),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
