/* Plans over VALUES, run to their end with one worker and with three: the final rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data/cell_text.h"
#include "data/time_zone.h"
#include "formats/format.h"
#include "functions/aggregate.h"
#include "functions/function.h"
#include "job/job.h"
#include "plan/relations.h"

#define NONE INT32_MIN /* a NULL */

static struct budget budget;
static struct arena *arena;
static struct evaluation evaluation;
static struct error error;

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
    return 0;
}

/* Rows of INT columns. */
static struct relation *rows_of(uint32_t columns, const int32_t *values, uint32_t count)
{
    struct relation *relation = relation_new(arena, RELATION_VALUES, columns, 0);
    const struct expression *const **rows = arena_alloc(arena, (count + 1) * sizeof *rows);
    for (uint32_t c = 0; c < columns; c++) {
        ((struct column *)relation->schema.columns)[c] = (struct column){arena_format(arena, "c%u", c), &type_int, TIME_NONE};
    }
    for (uint32_t r = 0; r < count; r++) {
        const struct expression **row = arena_alloc(arena, (columns + 1) * sizeof *row);
        for (uint32_t c = 0; c < columns; c++) {
            int32_t value = values[r * columns + c];
            row[c] = value == NONE ? expression_null(arena, &type_int) : expression_int32(arena, value);
        }
        rows[r] = row;
    }
    relation->values.rows = rows;
    relation->values.row_count = count;
    return relation;
}
#define ROWS(columns, ...)                                                                                                                 \
    rows_of((columns), (const int32_t[]){__VA_ARGS__}, sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t) / (columns))

static const struct expression *column(uint32_t index)
{
    return expression_column(arena, index, &type_int);
}

static const struct expression *outer(uint32_t depth, uint32_t index)
{
    struct expression *node = arena_alloc(arena, sizeof *node);
    *node = (struct expression){.kind = EXPRESSION_OUTER, .type = &type_int, .depth = depth, .index = index};
    return node;
}

static const struct expression *call(const char *name, const struct expression *left, const struct expression *right)
{
    const struct expression **args = arena_alloc(arena, 2 * sizeof *args), *result = NULL;
    args[0] = left;
    args[1] = right;
    if (function_call_named(arena, &evaluation, name, args, right != NULL ? 2 : 1, &result, &error) != STATUS_OK) {
        fail_msg("%s: %s", name, error.text);
    }
    return result;
}

static const struct expression *subquery(enum subquery_kind kind, struct relation *relation, const struct expression *left)
{
    struct expression *node = arena_alloc(arena, sizeof *node);
    const struct expression **args = arena_alloc(arena, sizeof *args);
    args[0] = left;
    *node = (struct expression){.kind = EXPRESSION_SUBQUERY,
                                .type = kind == SUBQUERY_SCALAR ? relation->schema.columns[0].type : &type_boolean,
                                .subquery = kind,
                                .relation = relation,
                                .args = args,
                                .arg_count = left != NULL};
    return node;
}

static struct relation *project(struct relation *input, uint32_t count, const struct expression *const *expressions)
{
    const struct expression **list = arena_copy(arena, expressions, count * sizeof *list);
    struct column *columns = arena_alloc(arena, count * sizeof *columns);
    for (uint32_t i = 0; i < count; i++) {
        columns[i] = (struct column){arena_format(arena, "x%u", i), list[i]->type, TIME_NONE};
    }
    return relation_project(arena, input, count, list, columns);
}
#define PROJECT(input, ...)                                                                                                                \
    project((input), sizeof((const struct expression *[]){__VA_ARGS__}) / sizeof(void *), (const struct expression *[]){__VA_ARGS__})

static struct relation *filter(struct relation *input, const struct expression *condition)
{
    return relation_filter(arena, input, condition);
}

static struct relation *aggregate(struct relation *input, const char *name, const struct expression *argument, uint32_t key_count)
{
    struct aggregate_call *calls = arena_alloc(arena, sizeof *calls);
    const struct expression **args = arena_alloc(arena, sizeof *args);
    uint32_t *keys = arena_alloc(arena, 4 * sizeof *keys);
    args[0] = argument;
    calls[0] = (struct aggregate_call){.function = aggregate_find(text_from(name)), .args = args, .arg_count = argument != NULL};
    struct aggregate_binding binding = {
        .arena = arena, .evaluation = &evaluation, .function = calls[0].function, .args = args, .arg_count = calls[0].arg_count};
    assert_int_equal(calls[0].function->bind(&binding, &error), STATUS_OK);
    calls[0].type = binding.accumulator.result;
    for (uint32_t i = 0; i < key_count; i++) {
        keys[i] = i;
    }
    return relation_aggregate(arena, input, keys, key_count, calls, 1);
}

struct final {
    char *lines[64];
    int64_t weights[64];
    uint32_t count;
};

static void final_add(struct final *final, const char *line, int64_t weight)
{
    for (uint32_t i = 0; i < final->count; i++) {
        if (strcmp(final->lines[i], line) == 0) {
            final->weights[i] += weight;
            return;
        }
    }
    assert_true(final->count < 64);
    final->lines[final->count] = arena_text(arena, line, strlen(line));
    final->weights[final->count++] = weight;
}

static void take_rows(struct result_queue *queue, struct final *final)
{
    struct batch batch;
    struct buffer *kinds;
    while (result_queue_take(queue, &batch, &kinds)) {
        for (uint32_t row = 0; row < batch.count; row++) {
            struct text_builder line = {0};
            for (uint32_t c = 0; c < batch.column_count; c++) {
                text_append_text(&line, c > 0 ? "," : "");
                cell_text_append(&batch.columns[c], row, time_zone_utc, 0, &line);
            }
            uint8_t kind = kinds == NULL ? ROW_INSERT : buffer_bytes(kinds)[row];
            final_add(final, line.bytes, kind == ROW_DELETE || kind == ROW_UPDATE_BEFORE ? -1 : 1);
            text_builder_close(&line);
        }
        batch_release(&batch);
        buffer_unref(kinds);
    }
}

static int compare_lines(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static const char *final_text(const struct final *final)
{
    const char *lines[64], *text = "";
    uint32_t count = 0;
    for (uint32_t i = 0; i < final->count; i++) {
        for (int64_t n = 0; n < final->weights[i]; n++) {
            lines[count++] = final->lines[i];
        }
        assert_true(final->weights[i] >= 0);
    }
    qsort(lines, count, sizeof *lines, compare_lines);
    for (uint32_t i = 0; i < count; i++) {
        text = arena_format(arena, "%s%s%s", text, i > 0 ? " " : "", lines[i]);
    }
    return text;
}

static const char *run(struct relation *relation, uint32_t parallelism)
{
    struct pipeline_settings pipeline = {.tick_rows = 2, .chunk_rows = 4096, .tick_target_us = 20000, .max_parallelism = 128};
    struct plan_context context = {.bind = {.arena = arena, .evaluation = &evaluation},
                                   .budget = &budget,
                                   .clock = &clock_system,
                                   .settings = {.parallelism = parallelism, .max_parallelism = 128, .pipeline = pipeline},
                                   .statement_id = "test"};
    struct result_queue *queue;
    struct plan *plan;
    struct job *job;
    struct final final = {0};
    enum job_state state = JOB_RUNNING;
    assert_int_equal(result_queue_create(&queue, &error), STATUS_OK);
    if (plan_make_query(&context, relation, queue, &plan, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(job_create(plan, &budget, &evaluation, &clock_system, &context.settings, &job, &error), STATUS_OK);
    while (state == JOB_RUNNING) {
        if (job_step(job, 1000, &state, &error) != STATUS_OK) {
            break;
        }
        take_rows(queue, &final);
    }
    take_rows(queue, &final);
    job_destroy(job);
    plan_close(plan);
    result_queue_destroy(queue);
    return state == JOB_ENDED ? final_text(&final) : error_info_find(error.code)->name;
}

static void check(struct relation *relation, const char *expected)
{
    assert_string_equal(run(relation, 1), expected);
    assert_string_equal(run(relation, 3), expected);
}

static struct relation *people(void) /* id, department, pay */
{
    return ROWS(3, 1, 10, 100, 2, 10, 300, 3, 20, 200, 4, NONE, 50, 5, 20, NONE);
}

static struct relation *departments(void) /* department, number */
{
    return ROWS(2, 10, 1, 20, 2, 30, 3);
}

static void rows_are_filtered_and_projected(void **state)
{
    (void)state;
    check(PROJECT(filter(people(), call(">", column(2), expression_int32(arena, 150))), column(0), call("+", column(2), column(1))),
          "2,310 3,220");
}

static void groups_are_aggregated_over_all_workers(void **state)
{
    (void)state;
    check(aggregate(PROJECT(people(), column(1), column(2)), "SUM", column(1), 1), "10,400 20,200 NULL,50");
}

static void an_aggregate_over_no_rows_has_a_row(void **state)
{
    (void)state;
    check(aggregate(filter(people(), call("<", column(0), expression_int32(arena, 0))), "COUNT", NULL, 0), "0");
}

static void tables_are_joined_by_equal_columns(void **state)
{
    (void)state;
    struct relation *join = relation_join(arena, JOIN_INNER, people(), departments(), NULL);
    check(PROJECT(filter(join, call("=", column(1), column(3))), column(0), column(4)), "1,1 2,1 3,2 5,2");
}

static void an_uncorrelated_value_is_joined_to_every_row(void **state)
{
    (void)state;
    struct relation *least = aggregate(PROJECT(people(), column(2)), "MIN", column(0), 0);
    check(PROJECT(people(), column(0), call("-", column(2), subquery(SUBQUERY_SCALAR, least, NULL))), "1,50 2,250 3,150 4,0 5,NULL");
}

static void a_correlated_count_is_zero_without_rows(void **state)
{
    (void)state;
    struct relation *count = aggregate(filter(people(), call("=", column(1), outer(1, 0))), "COUNT", NULL, 0);
    check(PROJECT(departments(), column(1), subquery(SUBQUERY_SCALAR, count, NULL)), "1,2 2,2 3,0");
}

static void a_correlated_count_by_less_than(void **state)
{
    (void)state;
    struct relation *count = aggregate(filter(people(), call(">", column(1), outer(1, 0))), "COUNT", NULL, 0);
    check(PROJECT(departments(), column(1), subquery(SUBQUERY_SCALAR, count, NULL)), "1,2 2,0 3,0");
}

static void a_correlated_count_with_a_having_is_null_where_it_fails(void **state)
{
    (void)state;
    struct relation *count = aggregate(filter(people(), call("=", column(1), outer(1, 0))), "COUNT", NULL, 0);
    struct relation *having = filter(count, call("=", expression_column(arena, 0, &type_bigint_not_null), expression_int64(arena, 0)));
    check(PROJECT(departments(), column(1), subquery(SUBQUERY_SCALAR, having, NULL)), "1,NULL 2,NULL 3,0");
}

static void in_and_not_in_know_nulls(void **state)
{
    (void)state;
    struct relation *some = PROJECT(ROWS(1, 100, NONE), column(0)), *plain = PROJECT(ROWS(1, 100, 300), column(0));
    check(PROJECT(filter(people(), subquery(SUBQUERY_IN, some, column(2))), column(0)), "1");
    check(PROJECT(filter(people(), call("NOT", subquery(SUBQUERY_IN, some, column(2)), NULL)), column(0)), "");
    check(PROJECT(filter(people(), call("NOT", subquery(SUBQUERY_IN, plain, column(2)), NULL)), column(0)), "3 4");
    check(PROJECT(people(), column(0), subquery(SUBQUERY_IN, some, column(2))), "1,TRUE 2,NULL 3,NULL 4,NULL 5,NULL");
    check(PROJECT(people(), column(0), subquery(SUBQUERY_IN, plain, column(2))), "1,TRUE 2,TRUE 3,FALSE 4,FALSE 5,NULL");
}

static void exists_and_not_exists(void **state)
{
    (void)state;
    struct relation *match = filter(departments(), call("=", column(0), outer(1, 1)));
    check(PROJECT(filter(people(), subquery(SUBQUERY_EXISTS, match, NULL)), column(0)), "1 2 3 5");
    check(PROJECT(filter(people(), call("NOT", subquery(SUBQUERY_EXISTS, match, NULL), NULL)), column(0)), "4");
    check(PROJECT(people(), column(0), subquery(SUBQUERY_EXISTS, match, NULL)), "1,TRUE 2,TRUE 3,TRUE 4,FALSE 5,TRUE");
}

static void a_value_of_two_rows_is_an_error(void **state)
{
    (void)state;
    check(PROJECT(people(), column(0), subquery(SUBQUERY_SCALAR, PROJECT(departments(), column(1)), NULL)), "CARDINALITY");
}

static void a_subquery_may_read_two_levels_out(void **state)
{
    (void)state;
    struct relation *deep = filter(people(), expression_and(arena, call("=", column(1), outer(2, 0)), call(">", column(2), outer(1, 2))));
    struct relation *middle =
        filter(people(), expression_and(arena, call("=", column(1), outer(1, 0)), subquery(SUBQUERY_EXISTS, deep, NULL)));
    check(PROJECT(filter(departments(), subquery(SUBQUERY_EXISTS, middle, NULL)), column(0)), "10");
}

static void a_lateral_subquery_sees_the_left_row(void **state)
{
    (void)state;
    struct relation *most = aggregate(PROJECT(filter(people(), call("=", column(1), outer(1, 0))), column(2)), "MAX", column(0), 0);
    struct relation *join = relation_join(arena, JOIN_INNER, departments(), most, NULL);
    join->join.lateral = true;
    check(join, "10,1,300 20,2,200 30,3,NULL");
}

static void ranks_become_a_top_n(void **state)
{
    (void)state;
    struct relation *over = relation_new(arena, RELATION_OVER, 4, 1);
    struct sort_key *order = arena_alloc(arena, sizeof *order);
    uint32_t *partition = arena_alloc(arena, sizeof *partition);
    struct over_call *calls = arena_alloc(arena, sizeof *calls);
    over->inputs[0] = people();
    memcpy((struct column *)over->schema.columns, over->inputs[0]->schema.columns, 3 * sizeof(struct column));
    ((struct column *)over->schema.columns)[3] = (struct column){"rn", &type_bigint_not_null, TIME_NONE};
    *order = (struct sort_key){2, true, false};
    *partition = 1;
    *calls = (struct over_call){.name = "ROW_NUMBER", .type = &type_bigint_not_null};
    over->over = (struct over_relation){.partition = partition,
                                        .partition_count = 1,
                                        .order = order,
                                        .order_count = 1,
                                        .preceding = FRAME_UNBOUNDED,
                                        .default_frame = true,
                                        .calls = calls,
                                        .call_count = 1};
    const struct expression *rank = expression_column(arena, 3, &type_bigint_not_null);
    check(PROJECT(filter(over, call("<=", rank, expression_int64(arena, 1))), column(0), column(1)), "2,10 3,20 4,NULL");
    check(PROJECT(filter(over, call("=", rank, expression_int64(arena, 2))), column(0), rank), "1,2 5,2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_are_filtered_and_projected, setup, teardown),
        cmocka_unit_test_setup_teardown(groups_are_aggregated_over_all_workers, setup, teardown),
        cmocka_unit_test_setup_teardown(an_aggregate_over_no_rows_has_a_row, setup, teardown),
        cmocka_unit_test_setup_teardown(tables_are_joined_by_equal_columns, setup, teardown),
        cmocka_unit_test_setup_teardown(an_uncorrelated_value_is_joined_to_every_row, setup, teardown),
        cmocka_unit_test_setup_teardown(a_correlated_count_is_zero_without_rows, setup, teardown),
        cmocka_unit_test_setup_teardown(a_correlated_count_by_less_than, setup, teardown),
        cmocka_unit_test_setup_teardown(a_correlated_count_with_a_having_is_null_where_it_fails, setup, teardown),
        cmocka_unit_test_setup_teardown(in_and_not_in_know_nulls, setup, teardown),
        cmocka_unit_test_setup_teardown(exists_and_not_exists, setup, teardown),
        cmocka_unit_test_setup_teardown(a_value_of_two_rows_is_an_error, setup, teardown),
        cmocka_unit_test_setup_teardown(a_subquery_may_read_two_levels_out, setup, teardown),
        cmocka_unit_test_setup_teardown(a_lateral_subquery_sees_the_left_row, setup, teardown),
        cmocka_unit_test_setup_teardown(ranks_become_a_top_n, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
