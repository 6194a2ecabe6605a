#include "../support/restarts.h"

/* What stops, is restored and goes on shows the same changes, tick by tick, as what never stopped. */
enum { SEEDS = 25, PLANS = 4, EVERY = (1 << RESTART_COLUMNS) - 1 };

static const uint32_t by_key[] = {COLUMN_K}, by_key_and_text[] = {COLUMN_K, COLUMN_S}, by_array[] = {COLUMN_A};
static const uint32_t all_columns[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};

/* In the arena of the circuit. */
#define COPY(value) arena_copy(circuit->arena, &(value), sizeof(value))

static void check(const struct restart_case *tests, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t lines = restart_check(&tests[i], SEEDS, PLANS);
        if (lines < SEEDS) {
            fail_msg("%s shows next to nothing after a restart", tests[i].name);
        }
    }
}

/* ---- deduplicate ---- */

enum { KEEP_LAST = 1, BY_CLOCK = 2, RANKED = 4 };
static struct node *make_deduplicate(struct circuit *circuit, const struct restart_case *test, struct node *const *inputs)
{
    struct node *node;
    struct error err;
    static struct column columns[RESTART_COLUMNS + 1];
    static const struct schema ranked = {RESTART_COLUMNS + 1, columns};
    memcpy(columns, restart_columns, sizeof restart_columns);
    columns[RESTART_COLUMNS] = (struct column){"n", &type_bigint_not_null, TIME_NONE};
    const struct deduplicate_spec spec = {.input = restart_input(test, 0),
                                          .keys = test->feeds[0].keys,
                                          .key_count = test->feeds[0].key_count,
                                          .time_column = COLUMN_T,
                                          .keep_last = (test->variant & KEEP_LAST) != 0,
                                          .processing_time = (test->variant & BY_CLOCK) != 0,
                                          .rank_column = (test->variant & RANKED) != 0,
                                          .output = (test->variant & RANKED) != 0 ? &ranked : &restart_schema};
    require(deduplicate_create(circuit, COPY(spec), inputs[0], &node, &err), &err);
    return node;
}

static void deduplicate_goes_on(void **state)
{
    (void)state;
    const struct restart_feed by_k = {.keys = by_key, .key_count = 1}, ordered = {.ordered = true, .keys = by_key_and_text, .key_count = 2},
                              by_both = {.keys = by_key_and_text, .key_count = 2};
    const struct restart_case tests[] = {
        {"the first by time", {by_k}, 1, EVERY, make_deduplicate, RANKED},
        {"the last by time", {by_k}, 1, EVERY, make_deduplicate, KEEP_LAST},
        {"the first by time, ordered", {ordered}, 1, EVERY, make_deduplicate, 0},
        {"the last by time, ordered", {ordered}, 1, EVERY, make_deduplicate, KEEP_LAST | RANKED},
        {"the first to come", {by_both}, 1, EVERY, make_deduplicate, BY_CLOCK},
        {"the last to come", {by_both}, 1, EVERY, make_deduplicate, KEEP_LAST | BY_CLOCK},
        {"the last to come, ordered", {ordered}, 1, EVERY, make_deduplicate, KEEP_LAST | BY_CLOCK},
        {"the last of an array", {{.keys = by_array, .key_count = 1}}, 1, EVERY, make_deduplicate, KEEP_LAST},
    };
    check(tests, ARRAY_LENGTH(tests));
}

/* ---- INTERSECT, EXCEPT ---- */

static struct node *make_set(struct circuit *circuit, const struct restart_case *test, struct node *const *inputs)
{
    struct node *node;
    struct error err;
    const struct set_spec spec = {
        .left = restart_input(test, 0), .right = restart_input(test, 1), .except = test->variant % 2 == 1, .all = test->variant >= 2};
    require(set_node_create(circuit, COPY(spec), inputs[0], inputs[1], &node, &err), &err);
    return node;
}

static void set_operations_go_on(void **state)
{
    (void)state;
    const struct restart_feed feed = {.changes = true, .early = true, .keys = all_columns, .key_count = RESTART_COLUMNS};
    const uint32_t columns = 1U << COLUMN_K | 1U << COLUMN_A;
    const struct restart_case tests[] = {
        {"INTERSECT", {feed, feed}, 2, columns, make_set, 0},
        {"EXCEPT", {feed, feed}, 2, columns, make_set, 1},
        {"INTERSECT ALL", {feed, feed}, 2, columns, make_set, 2},
        {"EXCEPT ALL", {feed, feed}, 2, columns, make_set, 3},
    };
    check(tests, ARRAY_LENGTH(tests));
}

/* ---- LIMIT ---- */

static struct node *make_limit(struct circuit *circuit, const struct restart_case *test, struct node *const *inputs)
{
    struct node *node;
    struct error err;
    const struct limit_spec spec = {.input = restart_input(test, 0), .offset = test->variant, .fetch = 60};
    require(limit_node_create(circuit, COPY(spec), inputs[0], &node, &err), &err);
    return node;
}

static void limit_goes_on(void **state)
{
    (void)state;
    const struct restart_case tests[] = {
        {"LIMIT", {{0}}, 1, EVERY, make_limit, 0},
        {"LIMIT with OFFSET, ordered", {{.ordered = true}}, 1, EVERY, make_limit, 17},
    };
    check(tests, ARRAY_LENGTH(tests));
}

/* ---- Top-N, ORDER BY ---- */

static const struct sort_key by_value[] = {{COLUMN_V, true, false}}, by_text_and_value[] = {{COLUMN_S, false, true}, {COLUMN_V, false, true}};

enum { TOP_BY_TEXT = 4, TOP_RANKED = 8, TOP_DEEP = 16 };
static struct node *make_top_n(struct circuit *circuit, const struct restart_case *test, struct node *const *inputs)
{
    struct node *node;
    struct error err;
    static struct column columns[RESTART_COLUMNS + 1];
    static const struct schema ranked = {RESTART_COLUMNS + 1, columns};
    memcpy(columns, restart_columns, sizeof restart_columns);
    columns[RESTART_COLUMNS] = (struct column){"n", &type_bigint_not_null, TIME_NONE};
    bool by_text = (test->variant & TOP_BY_TEXT) != 0, numbered = (test->variant & TOP_RANKED) != 0;
    const struct top_n_spec spec = {.input = restart_input(test, 0),
                                    .function = (enum rank_function)(test->variant & 3),
                                    .partition = test->feeds[0].keys,
                                    .partition_count = test->feeds[0].key_count,
                                    .order = by_text ? by_text_and_value : by_value,
                                    .order_count = by_text ? 2 : 1,
                                    .first = (test->variant & TOP_DEEP) != 0 ? 3 : 1,
                                    .last = (test->variant & TOP_DEEP) != 0 ? 200 : 3,
                                    .rank_column = numbered,
                                    .output = numbered ? &ranked : &restart_schema};
    require(top_n_create(circuit, COPY(spec), inputs[0], &node, &err), &err);
    return node;
}

static void top_n_goes_on(void **state)
{
    (void)state;
    const struct restart_feed grows = {.keys = by_key, .key_count = 1}, ordered = {.ordered = true, .keys = by_key, .key_count = 1},
                              changes = {.changes = true, .keys = by_key, .key_count = 1},
                              early = {.changes = true, .early = true, .keys = by_key, .key_count = 1},
                              early_ordered = {.ordered = true, .changes = true, .early = true, .keys = by_key, .key_count = 1},
                              whole = {.changes = true};
    const uint32_t few = 1U << COLUMN_K | 1U << COLUMN_V;
    const struct restart_case tests[] = {
        {"ROW_NUMBER", {grows}, 1, EVERY, make_top_n, RANK_ROW_NUMBER | TOP_RANKED},
        {"ROW_NUMBER, ordered", {ordered}, 1, EVERY, make_top_n, RANK_ROW_NUMBER},
        {"RANK", {grows}, 1, EVERY, make_top_n, RANK_RANK | TOP_RANKED | TOP_BY_TEXT},
        {"DENSE_RANK, ordered", {ordered}, 1, EVERY, make_top_n, RANK_DENSE_RANK | TOP_RANKED},
        {"ROW_NUMBER of changes", {changes}, 1, EVERY, make_top_n, RANK_ROW_NUMBER | TOP_RANKED | TOP_BY_TEXT},
        {"ROW_NUMBER of equal rows", {early}, 1, few, make_top_n, RANK_ROW_NUMBER | TOP_DEEP},
        {"ROW_NUMBER of ordered equal rows", {early_ordered}, 1, few, make_top_n, RANK_ROW_NUMBER | TOP_RANKED},
        {"RANK of changes", {early}, 1, EVERY, make_top_n, RANK_RANK | TOP_RANKED},
        {"DENSE_RANK of changes", {early}, 1, few, make_top_n, RANK_DENSE_RANK | TOP_RANKED},
        {"the first rows of all", {whole}, 1, EVERY, make_top_n, RANK_ROW_NUMBER | TOP_DEEP},
    };
    check(tests, ARRAY_LENGTH(tests));
}

static const struct sort_key by_time[] = {{COLUMN_T, false, true}, {COLUMN_V, false, true}};

static struct node *make_sort(struct circuit *circuit, const struct restart_case *test, struct node *const *inputs)
{
    struct node *node;
    struct error err;
    const struct sort_spec spec = {.input = restart_input(test, 0),
                                   .keys = test->variant == 0 ? by_time : by_text_and_value,
                                   .key_count = 2,
                                   .temporal = test->variant == 0,
                                   .offset = test->variant == 1 ? 0 : 1,
                                   .fetch = test->variant == 1 ? -1 : 30};
    require(sort_node_create(circuit, COPY(spec), inputs[0], &node, &err), &err);
    return node;
}

static void sort_goes_on(void **state)
{
    (void)state;
    const struct restart_case tests[] = {
        {"ORDER BY time", {{.timed = true}}, 1, EVERY, make_sort, 0},
        {"ORDER BY time, ordered", {{.ordered = true, .timed = true}}, 1, EVERY, make_sort, 0},
        {"ORDER BY", {{.ordered = true}}, 1, EVERY, make_sort, 1},
        {"ORDER BY of changes", {{.changes = true}}, 1, EVERY, make_sort, 1},
        {"ORDER BY of equal rows with OFFSET", {{.changes = true}}, 1, 1U << COLUMN_S | 1U << COLUMN_V, make_sort, 2},
    };
    check(tests, ARRAY_LENGTH(tests));
}

/* ---- joins ---- */

static struct node *make_temporal_join(struct circuit *circuit, const struct restart_case *test, struct node *const *inputs)
{
    struct node *node;
    struct error err;
    static struct column columns[2 * RESTART_COLUMNS];
    static const struct schema both = {2 * RESTART_COLUMNS, columns};
    memcpy(columns, restart_columns, sizeof restart_columns);
    memcpy(columns + RESTART_COLUMNS, restart_columns, sizeof restart_columns);
    const struct temporal_join_spec spec = {.join = {.left = restart_input(test, 0),
                                                     .right = restart_input(test, 1),
                                                     .kind = (enum join_kind)test->variant,
                                                     .left_keys = by_key,
                                                     .right_keys = by_key,
                                                     .key_count = 1,
                                                     .output = &both},
                                            .left_time = COLUMN_T,
                                            .right_time = COLUMN_T};
    require(temporal_join_create(circuit, COPY(spec), inputs[0], inputs[1], &node, &err), &err);
    return node;
}

static void temporal_join_goes_on(void **state)
{
    (void)state;
    const struct restart_feed left = {.keys = by_key, .key_count = 1}, right = {.changes = true, .keys = by_key, .key_count = 1};
    const struct restart_case tests[] = {
        {"INNER temporal join", {left, right}, 2, EVERY, make_temporal_join, JOIN_INNER},
        {"LEFT temporal join", {left, right}, 2, EVERY, make_temporal_join, JOIN_LEFT},
    };
    check(tests, ARRAY_LENGTH(tests));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deduplicate_goes_on),
        cmocka_unit_test(set_operations_go_on),
        cmocka_unit_test(limit_goes_on),
        cmocka_unit_test(top_n_goes_on),
        cmocka_unit_test(sort_goes_on),
        cmocka_unit_test(temporal_join_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
