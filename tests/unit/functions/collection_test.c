#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "data/cell_text.h"
#include "functions/function.h"
#include "functions/program.h"

static struct budget budget;
static struct arena *arena;
static struct evaluation evaluation;
static struct error err;
typedef const struct expression *value;

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

static value call_list(const char *name, uint32_t count, const value *args)
{
    value result;
    OK(function_call_named(arena, &evaluation, name, args, count, &result, &err));
    return result;
}
#define CALL(name, ...) call_list(name, sizeof((value[]){__VA_ARGS__}) / sizeof(value), (value[]){__VA_ARGS__})
#define N(number)       expression_int32(arena, number)
#define S(text)         expression_string(arena, TEXT(text))
#define NULL_INT        expression_null(arena, &type_int)
#define ARRAY(...)      CALL("ARRAY", __VA_ARGS__)

static const char *text_of(value expression)
{
    const struct vector *result;
    OK(program_evaluate_constant(arena, &evaluation, expression, &result, &err));
    struct text_builder builder = {0};
    cell_text_append(result, 0, time_zone_utc, CELL_TEXT_HEX, &builder);
    const char *text = arena_text(arena, builder.bytes, builder.length);
    text_builder_close(&builder);
    return text;
}

static void constructors_take_the_common_type(void **state)
{
    (void)state;
    assert_string_equal(text_of(ARRAY(N(1), NULL_INT, expression_int64(arena, 3))), "[1, NULL, 3]");
    assert_string_equal(type_to_text(arena, ARRAY(S("a"), S("bcd"))->type), "ARRAY<VARCHAR(3) NOT NULL> NOT NULL");
    assert_string_equal(text_of(CALL("MAP", S("a"), N(1), S("b"), N(2), S("a"), N(3))), "{b=2, a=3}");
    assert_string_equal(text_of(CALL("ROW", N(1), S("x"), NULL_INT, ARRAY(N(1)))), "(1, x, NULL, [1])");
    assert_string_equal(type_to_text(arena, CALL("ROW", N(1), S("a"))->type),
                        "ROW<`EXPR$0` INT NOT NULL, `EXPR$1` CHAR(1) NOT NULL> NOT NULL");
}

static void elements_outside_are_null(void **state)
{
    (void)state;
    value numbers = ARRAY(N(5), N(6)), result;
    assert_string_equal(text_of(CALL("ITEM", numbers, N(2))), "6");
    assert_string_equal(text_of(CALL("ITEM", numbers, N(3))), "NULL");
    assert_string_equal(text_of(CALL("ITEM", CALL("MAP", S("a"), N(1)), S("b"))), "NULL");
    assert_string_equal(text_of(CALL("ITEM", CALL("MAP", S("a"), N(1)), S("a"))), "1");
    assert_string_equal(text_of(CALL("ITEM", ARRAY(numbers, ARRAY(N(7))), N(2))), "[7]");
    assert_string_equal(text_of(CALL("CARDINALITY", numbers)), "2");
    assert_string_equal(text_of(CALL("ELEMENT", ARRAY(N(7)))), "7");
    value args[] = {numbers, N(0)};
    assert_int_equal(function_call_named(arena, &evaluation, "ITEM", args, 2, &result, &err), STATUS_INVALID_SQL);
    const struct vector *constant;
    assert_int_equal(program_evaluate_constant(arena, &evaluation, CALL("ELEMENT", numbers), &constant, &err), STATUS_BAD_VALUE);
}

static void set_functions_keep_the_first_order(void **state)
{
    (void)state;
    value a = ARRAY(N(3), N(1), N(2), N(1)), b = ARRAY(N(1), N(7)), nulls = ARRAY(N(1), N(1), NULL_INT, N(2), NULL_INT);
    assert_string_equal(text_of(CALL("ARRAY_UNION", a, b)), "[3, 1, 2, 7]");
    assert_string_equal(text_of(CALL("ARRAY_EXCEPT", a, b)), "[3, 2]");
    assert_string_equal(text_of(CALL("ARRAY_INTERSECT", a, b)), "[1]");
    assert_string_equal(text_of(CALL("ARRAY_DISTINCT", nulls)), "[1, NULL, 2]");
    assert_string_equal(text_of(CALL("ARRAY_REMOVE", nulls, NULL_INT)), "[1, 1, 2]");
    assert_string_equal(text_of(CALL("ARRAY_CONTAINS", nulls, NULL_INT)), "TRUE");
    assert_string_equal(text_of(CALL("ARRAY_POSITION", nulls, NULL_INT)), "NULL");
    assert_string_equal(text_of(CALL("ARRAY_POSITION", a, N(2))), "3");
    assert_string_equal(text_of(CALL("ARRAY_CONCAT", a, b, b)), "[3, 1, 2, 1, 1, 7, 1, 7]");
    assert_string_equal(text_of(CALL("ARRAY_CONTAINS", ARRAY(CALL("ROW", N(1), S("a"))), CALL("ROW", N(1), S("a")))), "TRUE");
}

static void sorting_puts_nulls_where_it_should(void **state)
{
    (void)state;
    value a = ARRAY(NULL_INT, N(5), NULL_INT, N(4)), yes = expression_boolean(arena, true), no = expression_boolean(arena, false);
    assert_string_equal(text_of(CALL("ARRAY_SORT", a)), "[NULL, NULL, 4, 5]");
    assert_string_equal(text_of(CALL("ARRAY_SORT", a, no)), "[5, 4, NULL, NULL]");
    assert_string_equal(text_of(CALL("ARRAY_SORT", a, yes, no)), "[4, 5, NULL, NULL]");
    assert_string_equal(text_of(CALL("ARRAY_SORT", a, no, yes)), "[NULL, NULL, 5, 4]");
    assert_string_equal(text_of(CALL("ARRAY_MAX", a)), "5");
    assert_string_equal(text_of(CALL("ARRAY_MIN", a)), "4");
}

static void slices_and_joins_cut_at_the_ends(void **state)
{
    (void)state;
    value a = ARRAY(N(1), N(2)), s = ARRAY(S("a"), expression_null(arena, &type_string), S("a text longer than twelve bytes"));
    assert_string_equal(text_of(CALL("ARRAY_SLICE", a, N(-3), N(-2))), "[1]");
    assert_string_equal(text_of(CALL("ARRAY_SLICE", a, N(0), N(9))), "[1, 2]");
    assert_string_equal(text_of(CALL("ARRAY_SLICE", a, N(2))), "[2]");
    assert_string_equal(text_of(CALL("ARRAY_SLICE", a, N(3), N(2))), "[]");
    assert_string_equal(text_of(CALL("ARRAY_JOIN", s, S("-"))), "a-a text longer than twelve bytes");
    assert_string_equal(text_of(CALL("ARRAY_JOIN", s, S("-"), S("?"))), "a-?-a text longer than twelve bytes");
    assert_string_equal(text_of(CALL("ARRAY_REVERSE", s)), "[a text longer than twelve bytes, NULL, a]");
    assert_string_equal(text_of(CALL("ARRAY_PREPEND", CALL("ARRAY_APPEND", a, NULL_INT), N(0))), "[0, 1, 2, NULL]");
}

static void of_equal_keys_the_last_counts(void **state)
{
    (void)state;
    value m = CALL("MAP", S("x"), N(1), S("y"), N(2)), other = CALL("MAP", S("x"), N(100), S("long key of a map"), N(3)), result;
    assert_string_equal(text_of(CALL("MAP_UNION", m, other)), "{y=2, x=100, long key of a map=3}");
    assert_string_equal(text_of(CALL("MAP_KEYS", m)), "[x, y]");
    assert_string_equal(text_of(CALL("MAP_VALUES", m)), "[1, 2]");
    assert_string_equal(text_of(CALL("MAP_ENTRIES", m)), "[(x, 1), (y, 2)]");
    assert_string_equal(text_of(CALL("MAP_FROM_ARRAYS", ARRAY(S("a"), S("a")), ARRAY(N(1), N(2)))), "{a=2}");
    value args[] = {ARRAY(N(1))};
    assert_int_equal(function_call_named(arena, &evaluation, "MAP_KEYS", args, 1, &result, &err), STATUS_INVALID_SQL);
}

static void case_over_nested_values_takes_rows_of_both_branches(void **state)
{
    (void)state;
    int32_t ids[] = {1, 2, 3, 4};
    struct vector column = {.type = &type_int, .physical = PHYSICAL_INT32, .count = 4, .values = ids};
    struct batch batch = {.count = 4, .column_count = 1, .columns = &column};
    value id = expression_column(arena, 0, &type_int), two = N(2);
    value branches[] = {CALL("=", CALL("%", id, two), N(0)), CALL("ROW", id, ARRAY(id, id)), CALL("ROW", N(0), ARRAY(N(9)))};
    value chosen = expression_make(arena, EXPRESSION_CASE, branches[1]->type, branches, 3);
    struct program *program;
    struct row_failures failures;
    OK(program_create(arena, &evaluation, &chosen, 1, &program, &err));
    OK(program_run(program, &batch, &failures, &err));
    static const char *const expected[] = {"(0, [9])", "(2, [2, 2])", "(0, [9])", "(4, [4, 4])"};
    for (uint32_t i = 0; i < 4; i++) {
        struct text_builder builder = {0};
        cell_text_append(program_result(program, 0), i, time_zone_utc, 0, &builder);
        assert_string_equal(builder.bytes, expected[i]);
        text_builder_close(&builder);
    }
    program_destroy(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(constructors_take_the_common_type, setup, teardown),
        cmocka_unit_test_setup_teardown(elements_outside_are_null, setup, teardown),
        cmocka_unit_test_setup_teardown(set_functions_keep_the_first_order, setup, teardown),
        cmocka_unit_test_setup_teardown(sorting_puts_nulls_where_it_should, setup, teardown),
        cmocka_unit_test_setup_teardown(slices_and_joins_cut_at_the_ends, setup, teardown),
        cmocka_unit_test_setup_teardown(of_equal_keys_the_last_counts, setup, teardown),
        cmocka_unit_test_setup_teardown(case_over_nested_values_takes_rows_of_both_branches, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
