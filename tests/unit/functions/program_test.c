#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "functions/function.h"
#include "functions/program.h"

/* One input batch: column 0 BIGINT a = row - 5 (NULL in every 64th row), 1 BIGINT b = row % 7, 2 STRING, 3 DECIMAL(10,2). */
struct fixture {
    struct budget budget;
    struct arena *arena;
    struct evaluation evaluation;
    struct batch batch;
    struct error err;
};
static struct fixture fix;

#define OK(call)                                                                                                                           \
    do {                                                                                                                                   \
        if ((call) != STATUS_OK) {                                                                                                         \
            fail_msg("%s", fix.err.text);                                                                                                  \
        }                                                                                                                                  \
    } while (0)

static void fill(uint32_t rows)
{
    static const struct type decimal = {.kind = TYPE_DECIMAL, .precision = 10, .scale = 2, .nullable = true};
    const struct type *types[] = {&type_bigint, &type_bigint, &type_string, &decimal};
    OK(batch_init(&fix.batch, 4, &fix.err));
    fix.batch.count = rows;
    for (uint32_t c = 0; c < 4; c++) {
        OK(vector_create(&fix.budget, types[c], rows, &fix.batch.columns[c], &fix.err));
    }
    OK(vector_need_validity(&fix.budget, &fix.batch.columns[0], rows, &fix.err));
    static char texts[CHUNK_ROWS][32];
    for (uint32_t i = 0; i < rows; i++) {
        vector_int64(&fix.batch.columns[0])[i] = (int64_t)i - 5;
        if (i % 64 == 63) {
            vector_set_null(&fix.batch.columns[0], i);
        }
        vector_int64(&fix.batch.columns[1])[i] = i % 7;
        snprintf(texts[i], sizeof texts[i], "a text with number %u", i % 3);
        vector_strings(&fix.batch.columns[2])[i] = string_view_make(texts[i], strlen(texts[i]));
        vector_int64(&fix.batch.columns[3])[i] = (int64_t)i * 100 + 25;
    }
}

static int setup(void **state)
{
    (void)state;
    budget_init(&fix.budget, NULL, "test", BUDGET_UNLIMITED);
    fix.arena = arena_create(&fix.budget, "test");
    fix.evaluation = (struct evaluation){.budget = &fix.budget, .zone = time_zone_utc};
    fill(CHUNK_ROWS);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    batch_release(&fix.batch);
    arena_destroy(fix.arena);
    assert_int_equal(fix.budget.used_bytes, 0);
    return 0;
}

static const struct expression *column(uint32_t index)
{
    return expression_column(fix.arena, index, fix.batch.columns[index].type);
}
static const struct expression *number(int64_t value)
{
    return expression_int64(fix.arena, value);
}
static const struct expression *call2(const char *name, const struct expression *left, const struct expression *right)
{
    const struct expression *args[] = {left, right}, *result;
    OK(function_call_named(fix.arena, &fix.evaluation, name, args, 2, &result, &fix.err));
    return result;
}

static struct row_failures failures;

static struct program *run(const struct expression *expression)
{
    struct program *program;
    OK(program_create(fix.arena, &fix.evaluation, &expression, 1, &program, &fix.err));
    OK(program_run(program, &fix.batch, &failures, &fix.err));
    return program;
}

static void arithmetic_runs_over_a_full_chunk_and_keeps_nulls(void **state)
{
    (void)state;
    struct program *program = run(call2("+", call2("*", column(0), number(3)), column(1)));
    const struct vector *sum = program_result(program, 0);
    assert_int_equal(sum->count, CHUNK_ROWS);
    for (uint32_t i = 0; i < CHUNK_ROWS; i++) {
        assert_int_equal(vector_is_valid(sum, i), i % 64 != 63);
        if (i % 64 != 63) {
            assert_int_equal(vector_int64(sum)[i], ((int64_t)i - 5) * 3 + i % 7);
        }
    }
    program_destroy(program);
}

static void division_by_zero_marks_only_the_rows_that_fail(void **state)
{
    (void)state;
    struct program *program = run(call2("/", column(0), column(1)));
    for (uint32_t i = 0; i < CHUNK_ROWS; i++) {
        assert_int_equal(row_failures_has(&failures, i), i % 7 == 0 && i % 64 != 63);
    }
    assert_int_equal(failures.first_row, 0);
    assert_int_equal(failures.first.code, ERROR_DIVISION_BY_ZERO);
    program_destroy(program);
}

static void division_by_a_constant_equals_division(void **state)
{
    (void)state;
    static const int64_t divisors[] = {1, -1, 2, -2, 3, 7, 10, -10, 1000, 1000000007, INT64_MAX, INT64_MIN, INT64_MAX - 1};
    static const int64_t edges[] = {0, 1, -1, INT64_MAX, INT64_MIN, INT64_MIN + 1, 6, -6, 7, -7, 999, 1000, -1000, 123456789012345678};
    for (uint32_t i = 0; i < ARRAY_LENGTH(edges); i++) {
        vector_int64(&fix.batch.columns[0])[i] = edges[i];
    }
    for (uint32_t d = 0; d < ARRAY_LENGTH(divisors); d++) {
        struct program *quotients = run(call2("/", column(0), number(divisors[d])));
        struct program *rests = run(call2("%", column(0), number(divisors[d])));
        for (uint32_t i = 0; i < ARRAY_LENGTH(edges); i++) {
            bool wraps = divisors[d] == -1;
            int64_t quotient = wraps ? (int64_t)(0 - (uint64_t)edges[i]) : edges[i] / divisors[d];
            assert_int_equal(vector_int64(program_result(quotients, 0))[i], quotient);
            assert_int_equal(vector_int64(program_result(rests, 0))[i], wraps ? 0 : edges[i] % divisors[d]);
        }
        program_destroy(quotients);
        program_destroy(rests);
    }
}

static void case_does_not_evaluate_a_branch_that_a_row_does_not_take(void **state)
{
    (void)state;
    const struct expression *args[] = {call2("<>", column(1), number(0)), call2("/", column(0), column(1)), column(0)};
    struct program *program = run(expression_make(fix.arena, EXPRESSION_CASE, &type_bigint, args, 3));
    const struct vector *result = program_result(program, 0);
    assert_int_equal(failures.count, 0);
    for (uint32_t i = 0; i < CHUNK_ROWS; i++) {
        if (i % 64 == 63) {
            assert_false(vector_is_valid(result, i));
        } else {
            int64_t a = (int64_t)i - 5, b = i % 7;
            assert_true(vector_is_valid(result, i));
            assert_int_equal(vector_int64(result)[i], b == 0 ? a : a / b);
        }
    }
    program_destroy(program);
}

static void and_does_not_evaluate_what_the_left_side_decides(void **state)
{
    (void)state;
    const struct expression *sides[] = {call2("<>", column(1), number(0)), call2(">", call2("/", column(0), column(1)), number(10))};
    struct program *program = run(expression_make(fix.arena, EXPRESSION_AND, &type_boolean, sides, 2));
    assert_int_equal(failures.count, 0);
    uint16_t kept[CHUNK_ROWS];
    uint32_t count = 0, expected = 0;
    OK(program_filter(program, &fix.batch, kept, &count, &failures, &fix.err));
    assert_int_equal(failures.count, 0);
    OK(program_run(program, &fix.batch, &failures, &fix.err));
    for (uint32_t i = 0; i < CHUNK_ROWS; i++) {
        bool holds = i % 64 != 63 && i % 7 != 0 && ((int64_t)i - 5) / (int64_t)(i % 7) > 10;
        if (holds) {
            assert_int_equal(kept[expected++], i);
        }
        const struct vector *truth = program_result(program, 0);
        if (i % 64 == 63) {
            assert_int_equal(vector_is_valid(truth, i), i % 7 == 0);
        } else {
            assert_int_equal(vector_bool(truth)[i], holds);
        }
    }
    assert_int_equal(count, expected);
    program_destroy(program);
}

static void a_selection_limits_what_is_evaluated(void **state)
{
    (void)state;
    uint16_t *rows;
    OK(batch_need_selection(&fix.budget, &fix.batch, &rows, &fix.err));
    for (uint32_t i = 1; i < CHUNK_ROWS; i++) {
        if (i % 7 != 0) {
            rows[fix.batch.selected_count++] = (uint16_t)i;
        }
    }
    struct program *program = run(call2("%", column(0), column(1)));
    assert_int_equal(failures.count, 0);
    const struct expression *condition = call2("=", column(2), expression_string(fix.arena, TEXT("a text with number 2")));
    struct program *filter;
    OK(program_create(fix.arena, &fix.evaluation, &condition, 1, &filter, &fix.err));
    uint16_t kept[CHUNK_ROWS];
    uint32_t count;
    OK(program_filter(filter, &fix.batch, kept, &count, &failures, &fix.err));
    for (uint32_t i = 0; i < count; i++) {
        assert_true(kept[i] % 3 == 2 && kept[i] % 7 != 0);
    }
    assert_true(count > 1000);
    program_destroy(program);
    program_destroy(filter);
}

static void a_result_that_is_kept_is_not_overwritten_by_the_next_run(void **state)
{
    (void)state;
    struct program *program = run(call2("+", column(0), number(1)));
    struct vector kept;
    OK(vector_ref(program_result(program, 0), &kept, &fix.err));
    vector_int64(&fix.batch.columns[0])[0] = 100;
    OK(program_run(program, &fix.batch, &failures, &fix.err));
    assert_int_equal(vector_int64(&kept)[0], -4);
    assert_int_equal(vector_int64(program_result(program, 0))[0], 101);
    vector_release(&kept);
    program_destroy(program);
}

static void decimal_times_bigint_is_exact(void **state)
{
    (void)state;
    static const struct type type = {.kind = TYPE_DECIMAL, .precision = 3, .scale = 3};
    int64_t rate = 908;
    struct vector constant = {.type = &type, .physical = PHYSICAL_INT64, .count = 1, .values = &rate};
    const struct expression *product = call2("*", expression_constant(fix.arena, &constant), column(0));
    assert_string_equal(type_to_text(fix.arena, product->type), "DECIMAL(23, 3)");
    vector_int64(&fix.batch.columns[0])[1] = INT64_MAX;
    struct program *program = run(product);
    assert_true(vector_int128(program_result(program, 0))[1] == (int128_t)INT64_MAX * 908);
    program_destroy(program);
}

static void constants_fold_unless_they_fail(void **state)
{
    (void)state;
    const struct expression *folded;
    OK(program_fold(fix.arena, &fix.evaluation, call2("+", number(2), call2("*", number(3), number(4))), &folded, &fix.err));
    int64_t value;
    assert_true(expression_constant_int64(folded, &value));
    assert_int_equal(value, 14);
    OK(program_fold(fix.arena, &fix.evaluation, call2("/", call2("+", number(1), number(2)), number(0)), &folded, &fix.err));
    assert_int_equal(folded->kind, EXPRESSION_CALL);
    assert_true(expression_constant_int64(folded->args[0], &value));
    assert_int_equal(value, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(arithmetic_runs_over_a_full_chunk_and_keeps_nulls, setup, teardown),
        cmocka_unit_test_setup_teardown(division_by_zero_marks_only_the_rows_that_fail, setup, teardown),
        cmocka_unit_test_setup_teardown(division_by_a_constant_equals_division, setup, teardown),
        cmocka_unit_test_setup_teardown(case_does_not_evaluate_a_branch_that_a_row_does_not_take, setup, teardown),
        cmocka_unit_test_setup_teardown(and_does_not_evaluate_what_the_left_side_decides, setup, teardown),
        cmocka_unit_test_setup_teardown(a_selection_limits_what_is_evaluated, setup, teardown),
        cmocka_unit_test_setup_teardown(a_result_that_is_kept_is_not_overwritten_by_the_next_run, setup, teardown),
        cmocka_unit_test_setup_teardown(decimal_times_bigint_is_exact, setup, teardown),
        cmocka_unit_test_setup_teardown(constants_fold_unless_they_fail, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
