/* Random expressions: a chunk, a chunk under a selection and each row alone must give the same values and the same failures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "data/order.h"
#include "functions/function.h"
#include "functions/program.h"

enum { ROWS = 200, EXPRESSIONS = 400, DEPTH = 4 };

static struct budget budget;
static struct arena *arena;
static struct evaluation evaluation;
static struct batch batch;
static struct error err;
static uint64_t seed;

#define OK(call)                                                                                                                           \
    do {                                                                                                                                   \
        if ((call) != STATUS_OK) {                                                                                                         \
            fail_msg("seed %llu: %s", (unsigned long long)seed, err.text);                                                                 \
        }                                                                                                                                  \
    } while (0)

static uint32_t draw(uint32_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % below;
}

enum shape { INTEGER, DECIMAL, TEXT_VALUE, BOOLEAN, SHAPES };

static void fill(void)
{
    static const struct type decimal = {.kind = TYPE_DECIMAL, .precision = 12, .scale = 3, .nullable = true};
    const struct type *types[] = {&type_bigint, &type_bigint, &decimal, &decimal, &type_string, &type_string, &type_boolean, &type_boolean};
    static char texts[2][ROWS][32];
    OK(batch_init(&batch, 8, &err));
    batch.count = ROWS;
    for (uint32_t c = 0; c < 8; c++) {
        struct vector *vector = &batch.columns[c];
        OK(vector_create(&budget, types[c], ROWS, vector, &err));
        if (c % 2 == 0) {
            OK(vector_need_validity(&budget, vector, ROWS, &err));
        }
        for (uint32_t i = 0; i < ROWS; i++) {
            bool null = c % 2 == 0 && draw(5) == 0;
            if (null) {
                vector_set_null(vector, i);
            }
            if (vector->physical == PHYSICAL_STRING) {
                snprintf(texts[c % 2][i], sizeof texts[0][0], "%s%u", draw(2) ? "a common prefix " : "p", draw(4));
                vector_strings(vector)[i] = null ? (struct string_view){0} : string_view_make(texts[c % 2][i], strlen(texts[c % 2][i]));
            } else if (vector->physical == PHYSICAL_BOOL) {
                vector_bool(vector)[i] = (uint8_t)draw(2);
            } else {
                vector_int64(vector)[i] = draw(20) == 0 ? INT64_MIN + draw(3) : (int64_t)draw(7) - 3;
                vector_int64(vector)[i] = c >= 2 ? vector_int64(vector)[i] % 1000000 : vector_int64(vector)[i];
            }
        }
    }
}

static const struct expression *grow(enum shape shape, uint32_t depth);

static const struct expression *leaf(enum shape shape)
{
    uint32_t index = 2 * shape + draw(2);
    if (draw(3) > 0) {
        return expression_column(arena, index, batch.columns[index].type);
    }
    uint16_t row = (uint16_t)draw(ROWS);
    struct vector *constant = arena_alloc(arena, sizeof *constant);
    const struct vector *column = &batch.columns[index];
    *constant = (struct vector){.type = column->type, .physical = column->physical, .count = 1};
    uint32_t width = physical_bytes(column->physical);
    constant->values = arena_copy(arena, (char *)column->values + (size_t)row * width, width);
    constant->validity = arena_alloc(arena, 8);
    *constant->validity = vector_is_valid(column, row);
    return expression_constant(arena, constant);
}

static const struct expression *call(const char *name, uint32_t count, const struct expression *const *args)
{
    const struct expression *result;
    OK(function_call_named(arena, &evaluation, name, args, count, &result, &err));
    return result;
}

static const struct expression *grow_junction(uint32_t depth)
{
    const struct expression *args[3];
    uint32_t count = 2 + draw(2);
    for (uint32_t i = 0; i < count; i++) {
        args[i] = grow(BOOLEAN, depth - 1);
    }
    return expression_make(arena, draw(2) ? EXPRESSION_AND : EXPRESSION_OR, &type_boolean, args, count);
}

static const struct expression *grow_boolean(uint32_t depth)
{
    static const char *const comparisons[] = {"=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"};
    static const char *const tests[] = {"NOT", "IS TRUE", "IS NOT TRUE", "IS FALSE", "IS NOT FALSE"};
    if (draw(3) == 0) {
        return grow_junction(depth);
    }
    if (draw(4) == 0) {
        const struct expression *arg = grow(BOOLEAN, depth - 1);
        return call(tests[draw(5)], 1, &arg);
    }
    enum shape shape = draw(SHAPES);
    const struct expression *args[] = {grow(shape, depth - 1), grow(shape, depth - 1)};
    return draw(8) == 0 ? call(draw(2) ? "IS NULL" : "IS NOT NULL", 1, args) : call(comparisons[draw(8)], 2, args);
}

static const struct expression *grow(enum shape shape, uint32_t depth)
{
    static const char *const signs[] = {"+", "-", "*", "/", "%"};
    if (depth == 0 || draw(6) == 0) {
        return leaf(shape);
    }
    if (draw(4) == 0) {
        const struct expression *args[] = {grow(BOOLEAN, depth - 1), grow(shape, depth - 1), grow(shape, depth - 1)};
        return call("IF", 3, args);
    }
    if (draw(6) == 0) {
        const struct expression *args[] = {grow(shape, depth - 1), grow(shape, depth - 1)};
        static const char *const names[] = {"COALESCE", "GREATEST", "LEAST", "NULLIF"};
        return call(names[draw(4)], 2, args);
    }
    if (shape == BOOLEAN) {
        return grow_boolean(depth);
    }
    if (shape == TEXT_VALUE) {
        return leaf(shape);
    }
    const struct expression *args[] = {grow(shape, depth - 1), grow(shape, depth - 1)};
    return call(signs[draw(5)], 2, args);
}

/* Results of one row evaluated alone, for all expressions. */
static void compare_row(struct program *alone, struct program *whole, const struct row_failures *failures, uint32_t row, uint32_t count)
{
    struct batch one;
    struct row_failures one_failures;
    uint16_t rows[] = {(uint16_t)row};
    OK(batch_gather(&budget, &batch, rows, 1, &one, &err));
    OK(program_run(alone, &one, &one_failures, &err));
    assert_int_equal(one_failures.count > 0, row_failures_has(failures, row));
    for (uint32_t i = 0; i < count && one_failures.count == 0; i++) {
        if (!vector_rows_equal(program_result(alone, i), 0, program_result(whole, i), row)) {
            fail_msg("seed %llu: expression %u differs in row %u", (unsigned long long)seed, i, row);
        }
    }
    batch_release(&one);
}

static void check_filter(const struct expression *condition)
{
    struct program *filter;
    struct row_failures failures, whole_failures;
    uint16_t kept[CHUNK_ROWS];
    uint32_t count, next = 0;
    OK(program_create(arena, &evaluation, &condition, 1, &filter, &err));
    OK(program_filter(filter, &batch, kept, &count, &failures, &err));
    OK(program_run(filter, &batch, &whole_failures, &err));
    struct selection rows = batch_selection(&batch);
    for (uint32_t i = 0; i < rows.count; i++) {
        uint32_t row = selection_row(&rows, i);
        const struct vector *truth = program_result(filter, 0);
        bool holds = !row_failures_has(&whole_failures, row) && vector_is_valid(truth, row) && vector_bool(truth)[row];
        bool is_kept = next < count && kept[next] == row;
        next += is_kept;
        if (holds != is_kept) {
            fail_msg("seed %llu: the filter is wrong in row %u", (unsigned long long)seed, row);
        }
    }
    assert_int_equal(next, count);
    program_destroy(filter);
}

static void chunks_selections_and_single_rows_agree(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < EXPRESSIONS; round++) {
        seed = round;
        budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
        arena = arena_create(&budget, "test");
        evaluation = (struct evaluation){.budget = &budget, .zone = time_zone_utc};
        fill();
        const struct expression *expressions[3] = {grow(draw(SHAPES), DEPTH), grow(draw(SHAPES), DEPTH), grow(BOOLEAN, DEPTH)};
        struct program *alone, *whole;
        struct row_failures failures;
        OK(program_create(arena, &evaluation, expressions, 3, &whole, &err));
        OK(program_create(arena, &evaluation, expressions, 3, &alone, &err));
        if (round % 2 == 1) {
            uint16_t *rows;
            OK(batch_need_selection(&budget, &batch, &rows, &err));
            for (uint32_t i = 0; i < ROWS; i++) {
                rows[batch.selected_count] = (uint16_t)i;
                batch.selected_count += draw(round % 4 == 1 ? 2 : 10) == 0;
            }
        }
        OK(program_run(whole, &batch, &failures, &err));
        struct selection rows = batch_selection(&batch);
        for (uint32_t i = 0; i < rows.count; i += 1 + draw(4)) {
            compare_row(alone, whole, &failures, selection_row(&rows, i), 3);
        }
        check_filter(expressions[2]);
        program_destroy(whole);
        program_destroy(alone);
        batch_release(&batch);
        arena_destroy(arena);
        assert_int_equal(budget.used_bytes, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(chunks_selections_and_single_rows_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
