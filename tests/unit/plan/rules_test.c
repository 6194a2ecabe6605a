/* Rules on relations made by hand: the tree before and after. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "data/time_zone.h"
#include "functions/aggregate.h"
#include "functions/function.h"
#include "plan/rules.h"
#include "sql/catalog.h"

static struct budget budget;
static struct arena *arena;
static struct evaluation evaluation;
static struct error error;

static int setup(void **state)
{
    (void)state;
    budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
    arena = arena_create(&budget, "test");
    evaluation = (struct evaluation){.budget = &budget};
    return arena == NULL;
}

static int teardown(void **state)
{
    (void)state;
    arena_destroy(arena);
    return 0;
}

/* A table with INT columns named by letters. */
static struct relation *table(const char *name, const char *letters)
{
    uint32_t count = (uint32_t)strlen(letters), *columns = arena_alloc(arena, 16 * sizeof *columns);
    struct catalog_table *made = arena_alloc(arena, sizeof *made);
    struct table_column *definitions = arena_alloc(arena, 16 * sizeof *definitions);
    struct relation *scan = relation_new(arena, RELATION_SCAN, count, 0);
    struct column *schema = (struct column *)scan->schema.columns;
    for (uint32_t i = 0; i < count; i++) {
        columns[i] = i;
        definitions[i] = (struct table_column){.name = arena_text(arena, letters + i, 1), .type = &type_int};
        schema[i] = (struct column){definitions[i].name, &type_int, TIME_NONE};
    }
    made->name = name;
    made->columns = definitions;
    made->column_count = count;
    scan->scan = (struct scan_relation){.table = made, .columns = columns, .column_count = count};
    return scan;
}

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

static struct relation *count_rows(struct relation *input)
{
    struct aggregate_call *calls = arena_alloc(arena, sizeof *calls);
    calls[0] = (struct aggregate_call){.function = aggregate_find(TEXT("COUNT")), .type = &type_bigint_not_null};
    return relation_aggregate(arena, input, NULL, 0, calls, 1);
}

static void check(struct relation *relation, const char *expected)
{
    struct rewrite rewrite = {arena, &evaluation, &relation, 1, true};
    struct text_builder out = {0};
    if (rules_apply(&rewrite, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    relations_print(&relation, 1, &out);
    assert_string_equal(out.bytes, expected);
    text_builder_close(&out);
}

static void a_condition_on_both_tables_of_a_list_becomes_the_join_and_the_rest_goes_down(void **state)
{
    (void)state;
    struct relation *join = relation_join(arena, JOIN_INNER, table("l", "ab"), table("r", "cd"), NULL);
    const struct expression *condition =
        expression_and(arena, call("=", column(0), column(2)), call(">", column(3), expression_int32(arena, 5)));
    const struct expression *all[] = {column(1), column(3)};
    check(project(relation_filter(arena, join, condition), 2, all), "PROJECT x0 = b, x1 = d\n"
                                                                    "  JOIN INNER on (a = c)\n"
                                                                    "    SCAN l (a, b)\n"
                                                                    "    FILTER (d > 5)\n"
                                                                    "      SCAN r (c, d)\n");
}

static void a_left_join_whose_padded_rows_are_rejected_becomes_an_inner_one(void **state)
{
    (void)state;
    struct relation *join = relation_join(arena, JOIN_LEFT, table("l", "ab"), table("r", "cd"), call("=", column(0), column(2)));
    check(relation_filter(arena, join, call(">", column(3), expression_int32(arena, 5))), "JOIN INNER on (a = c)\n"
                                                                                          "  SCAN l (a, b)\n"
                                                                                          "  FILTER (d > 5)\n"
                                                                                          "    SCAN r (c, d)\n");
}

static void is_null_on_the_padded_side_stays_above_the_join(void **state)
{
    (void)state;
    struct relation *join = relation_join(arena, JOIN_LEFT, table("l", "ab"), table("r", "cd"), call("=", column(0), column(2)));
    check(relation_filter(arena, join, call("IS NULL", column(2), NULL)), "FILTER c IS NULL\n"
                                                                          "  JOIN LEFT on (a = c)\n"
                                                                          "    SCAN l (a, b)\n"
                                                                          "    SCAN r (c, d)\n");
}

static void a_correlated_exists_becomes_a_semi_join(void **state)
{
    (void)state;
    struct relation *inner = relation_filter(arena, table("r", "cd"), call("=", column(0), outer(1, 0)));
    check(relation_filter(arena, table("l", "ab"), subquery(SUBQUERY_EXISTS, inner, NULL)), "JOIN SEMI on (c = a)\n"
                                                                                            "  SCAN l (a, b)\n"
                                                                                            "  SCAN r (c)\n");
}

static void not_in_becomes_a_null_aware_anti_join(void **state)
{
    (void)state;
    const struct expression *one[] = {column(0)};
    const struct expression *in = subquery(SUBQUERY_IN, project(table("r", "cd"), 1, one), column(0));
    check(relation_filter(arena, table("l", "ab"), call("NOT", in, NULL)), "JOIN ANTI null-aware on (a = c)\n"
                                                                           "  SCAN l (a, b)\n"
                                                                           "  SCAN r (c)\n");
}

static void a_correlated_count_is_zero_where_there_is_no_row(void **state)
{
    (void)state;
    struct relation *inner = relation_filter(arena, table("r", "cd"), call("=", column(0), outer(1, 0)));
    const struct expression *all[] = {column(1), subquery(SUBQUERY_SCALAR, count_rows(inner), NULL)};
    check(project(table("l", "ab"), 2, all), "PROJECT x0 = b, x1 = COALESCE(COUNT, 0)\n"
                                             "  JOIN LEFT on (key = a)\n"
                                             "    SCAN l (a, b)\n"
                                             "    PROJECT COUNT = COUNT, key = key\n"
                                             "      AGGREGATE by (c) calls COUNT()\n"
                                             "        SCAN r (c)\n");
}

static void a_correlated_count_by_another_comparison_is_computed_per_distinct_value(void **state)
{
    (void)state;
    struct relation *inner = relation_filter(arena, table("r", "cd"), call("<", column(0), outer(1, 0)));
    const struct expression *all[] = {column(1), subquery(SUBQUERY_SCALAR, count_rows(inner), NULL)};
    check(project(table("l", "ab"), 2, all), "PROJECT x0 = b, x1 = COUNT\n"
                                             "  JOIN LEFT on (a IS NOT DISTINCT FROM a)\n"
                                             "    #1 SCAN l (a, b)\n"
                                             "    PROJECT a = a, COUNT = COALESCE(COUNT, 0)\n"
                                             "      JOIN LEFT on (a IS NOT DISTINCT FROM a)\n"
                                             "        #2 AGGREGATE by (a)\n"
                                             "          PROJECT a = a\n"
                                             "            #1 (shared, above)\n"
                                             "        AGGREGATE by (a) calls COUNT()\n"
                                             "          PROJECT a = a\n"
                                             "            JOIN INNER on (c < a)\n"
                                             "              #2 (shared, above)\n"
                                             "              SCAN r (c)\n");
}

static void a_table_that_is_read_twice_is_one_relation_with_the_columns_of_both(void **state)
{
    (void)state;
    struct relation *left = table("t", "abc"), *right = relation_copy(arena, left);
    struct relation *join = relation_join(arena, JOIN_INNER, left, right, call("=", column(0), column(4)));
    const struct expression *all[] = {column(0), column(5)};
    check(project(join, 2, all), "PROJECT x0 = a, x1 = c\n"
                                 "  JOIN INNER on (a = b)\n"
                                 "    PROJECT a = a\n"
                                 "      #1 SCAN t (a, b, c)\n"
                                 "    PROJECT b = b, c = c\n"
                                 "      #1 (shared, above)\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_condition_on_both_tables_of_a_list_becomes_the_join_and_the_rest_goes_down, setup, teardown),
        cmocka_unit_test_setup_teardown(a_left_join_whose_padded_rows_are_rejected_becomes_an_inner_one, setup, teardown),
        cmocka_unit_test_setup_teardown(is_null_on_the_padded_side_stays_above_the_join, setup, teardown),
        cmocka_unit_test_setup_teardown(a_correlated_exists_becomes_a_semi_join, setup, teardown),
        cmocka_unit_test_setup_teardown(not_in_becomes_a_null_aware_anti_join, setup, teardown),
        cmocka_unit_test_setup_teardown(a_correlated_count_is_zero_where_there_is_no_row, setup, teardown),
        cmocka_unit_test_setup_teardown(a_correlated_count_by_another_comparison_is_computed_per_distinct_value, setup, teardown),
        cmocka_unit_test_setup_teardown(a_table_that_is_read_twice_is_one_relation_with_the_columns_of_both, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
