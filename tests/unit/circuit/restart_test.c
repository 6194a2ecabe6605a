#include "../support/restarts.h"

/* What stops, is restored and goes on shows the same changes, tick by tick, as what never stopped. */
enum { SEEDS = RESTART_SEEDS(25), PLANS = 4, EVERY = (1 << RESTART_COLUMNS) - 1 };
enum { TTL = 1 << 20 }; /* of a variant: state has a time-to-live */

static int64_t ttl_of(const struct restart_case *test)
{
    return (test->variant & TTL) != 0 ? 9 * RESTART_SECOND : 0;
}

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
                                          .output = (test->variant & RANKED) != 0 ? &ranked : &restart_schema,
                                          .ttl_us = ttl_of(test)};
    require(deduplicate_create(circuit, COPY(spec), inputs[0], &node, &err), &err);
    return node;
}

static void deduplicate_goes_on(void **state)
{
    (void)state;
    const struct restart_feed by_k = {.keys = by_key, .key_count = 1}, ordered = {.ordered = true, .keys = by_key_and_text, .key_count = 2},
                              by_both = {.keys = by_key_and_text, .key_count = 2};
    const struct restart_case tests[] = {
        {"the first by time", {by_k}, 1, EVERY, make_deduplicate, RANKED, .spills = true},
        {"the last by time", {by_k}, 1, EVERY, make_deduplicate, KEEP_LAST, .spills = true},
        {"the first by time, ordered", {ordered}, 1, EVERY, make_deduplicate, 0, .spills = true},
        {"the last by time, ordered", {ordered}, 1, EVERY, make_deduplicate, KEEP_LAST | RANKED, .spills = true},
        {"the first to come", {by_both}, 1, EVERY, make_deduplicate, BY_CLOCK, .spills = true},
        {"the last to come", {by_both}, 1, EVERY, make_deduplicate, KEEP_LAST | BY_CLOCK, .spills = true},
        {"the last to come, ordered", {ordered}, 1, EVERY, make_deduplicate, KEEP_LAST | BY_CLOCK, .spills = true},
        {"the last of an array", {{.keys = by_array, .key_count = 1}}, 1, EVERY, make_deduplicate, KEEP_LAST, .spills = true},
        {"the last by time with a time-to-live", {by_k}, 1, EVERY, make_deduplicate, KEEP_LAST | TTL, .spills = true},
        {"the first by time with a time-to-live", {ordered}, 1, EVERY, make_deduplicate, TTL},
        {"the first to come with a time-to-live", {by_both}, 1, EVERY, make_deduplicate, BY_CLOCK | TTL, .spills = true},
        {"the last to come with a time-to-live", {ordered}, 1, EVERY, make_deduplicate, KEEP_LAST | BY_CLOCK | TTL, .spills = true},
    };
    check(tests, ARRAY_LENGTH(tests));
}

/* ---- INTERSECT, EXCEPT ---- */

static struct node *make_set(struct circuit *circuit, const struct restart_case *test, struct node *const *inputs)
{
    struct node *node;
    struct error err;
    const struct set_spec spec = {.left = restart_input(test, 0),
                                  .right = restart_input(test, 1),
                                  .except = test->variant % 2 == 1,
                                  .all = (test->variant & 2) != 0,
                                  .ttl_us = ttl_of(test)};
    require(set_node_create(circuit, COPY(spec), inputs[0], inputs[1], &node, &err), &err);
    return node;
}

static void set_operations_go_on(void **state)
{
    (void)state;
    const struct restart_feed feed = {.changes = true, .early = true, .keys = all_columns, .key_count = RESTART_COLUMNS};
    const uint32_t columns = 1U << COLUMN_K | 1U << COLUMN_A;
    const struct restart_case tests[] = {
        {"INTERSECT", {feed, feed}, 2, columns, make_set, 0, .spills = true},
        {"EXCEPT", {feed, feed}, 2, columns, make_set, 1, .spills = true},
        {"INTERSECT ALL", {feed, feed}, 2, columns, make_set, 2, .spills = true},
        {"EXCEPT ALL", {feed, feed}, 2, columns, make_set, 3, .spills = true},
        {"INTERSECT with a time-to-live", {feed, feed}, 2, columns, make_set, 0 | TTL, .spills = true},
        {"EXCEPT ALL with a time-to-live", {feed, feed}, 2, columns, make_set, 3 | TTL, .spills = true},
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

static const struct sort_key by_value[] = {{COLUMN_V, true, false}},
                             by_text_and_value[] = {{COLUMN_S, false, true}, {COLUMN_V, false, true}};

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
                                    .output = numbered ? &ranked : &restart_schema,
                                    .ttl_us = ttl_of(test)};
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
        {"ROW_NUMBER", {grows}, 1, EVERY, make_top_n, RANK_ROW_NUMBER | TOP_RANKED, .spills = true},
        {"ROW_NUMBER, ordered", {ordered}, 1, EVERY, make_top_n, RANK_ROW_NUMBER, .spills = true},
        {"RANK", {grows}, 1, EVERY, make_top_n, RANK_RANK | TOP_RANKED | TOP_BY_TEXT, .spills = true},
        {"DENSE_RANK, ordered", {ordered}, 1, EVERY, make_top_n, RANK_DENSE_RANK | TOP_RANKED, .spills = true},
        {"ROW_NUMBER of changes", {changes}, 1, EVERY, make_top_n, RANK_ROW_NUMBER | TOP_RANKED | TOP_BY_TEXT, .spills = true},
        {"ROW_NUMBER of equal rows", {early}, 1, few, make_top_n, RANK_ROW_NUMBER | TOP_DEEP, .spills = true},
        {"ROW_NUMBER of ordered equal rows", {early_ordered}, 1, few, make_top_n, RANK_ROW_NUMBER | TOP_RANKED, .spills = true},
        {"RANK of changes", {early}, 1, EVERY, make_top_n, RANK_RANK | TOP_RANKED, .spills = true},
        {"DENSE_RANK of changes", {early}, 1, few, make_top_n, RANK_DENSE_RANK | TOP_RANKED, .spills = true},
        {"ROW_NUMBER with a time-to-live", {grows}, 1, EVERY, make_top_n, RANK_ROW_NUMBER | TOP_RANKED | TTL, .spills = true},
        {"RANK, ordered, with a time-to-live", {ordered}, 1, EVERY, make_top_n, RANK_RANK | TTL, .spills = true},
        {"ROW_NUMBER of changes with a time-to-live", {early}, 1, few, make_top_n, RANK_ROW_NUMBER | TOP_DEEP | TTL, .spills = true},
        {"DENSE_RANK of changes with a time-to-live", {changes}, 1, EVERY, make_top_n, RANK_DENSE_RANK | TOP_RANKED | TTL, .spills = true},
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
    const struct restart_feed left = {.keys = by_key, .key_count = 1}, right = {.changes = true, .keys = by_key, .key_count = 1},
                              late = {.timed = true, .keys = by_key, .key_count = 1},
                              late_changes = {.timed = true, .changes = true, .keys = by_key, .key_count = 1};
    const struct restart_case tests[] = {
        {"INNER temporal join", {left, right}, 2, EVERY, make_temporal_join, JOIN_INNER, .spills = true},
        {"LEFT temporal join", {left, right}, 2, EVERY, make_temporal_join, JOIN_LEFT, .spills = true},
        {"LEFT temporal join of late rows", {late, late_changes}, 2, EVERY, make_temporal_join, JOIN_LEFT, .spills = true},
    };
    check(tests, ARRAY_LENGTH(tests));
}

/* ---- windows ---- */

struct call_text {
    const char *name;
    uint32_t arg; /* RESTART_COLUMNS: none */
    bool distinct;
    int32_t filter;
};
enum { CALLS_MAX = 16, NO_ARG = RESTART_COLUMNS };

static uint32_t make_calls(struct circuit *circuit, const struct call_text *texts, uint32_t count, struct aggregate_spec_call **calls)
{
    *calls = arena_alloc(circuit->arena, count * sizeof **calls);
    for (uint32_t i = 0; i < count; i++) {
        (*calls)[i] = (struct aggregate_spec_call){.function = aggregate_find(text_from(texts[i].name)),
                                                   .args = &texts[i].arg,
                                                   .arg_count = texts[i].arg != NO_ARG,
                                                   .distinct = texts[i].distinct,
                                                   .filter = texts[i].filter};
        assert_non_null((*calls)[i].function);
    }
    return count;
}

static const struct call_text mergeable_calls[] = {
    {"COUNT", NO_ARG, false, -1}, {"SUM", COLUMN_V, false, -1},       {"MAX", COLUMN_V, false, COLUMN_P},
    {"MIN", COLUMN_S, false, -1}, {"AVG", COLUMN_D, false, COLUMN_P},
};
static const struct call_text sum_calls[] = {
    {"COUNT", NO_ARG, false, -1}, {"SUM", COLUMN_V, false, COLUMN_P}, {"AVG", COLUMN_D, false, -1}};
static const struct call_text distinct_calls[] = {
    {"COUNT", NO_ARG, false, -1},        {"COUNT", COLUMN_S, true, -1}, {"SUM", COLUMN_V, true, COLUMN_P},
    {"COUNT", COLUMN_S, true, COLUMN_P}, {"MAX", COLUMN_V, false, -1},
};
#define SECOND RESTART_SECOND

enum { WINDOW_DISTINCT = 16, WINDOW_CLOCK = 32, WINDOW_ATTACHED = 64, WINDOW_SUMS = 128, WINDOW_ROWS = 256, WINDOW_GROUPS = 512 };
static const enum window_column window_columns[] = {WINDOW_COLUMN_START, WINDOW_COLUMN_END, WINDOW_COLUMN_ROWTIME};

static struct window_aggregate_spec window_spec(struct circuit *circuit, const struct restart_case *test, const struct schema *output)
{
    struct aggregate_spec_call *calls;
    uint32_t count = (test->variant & WINDOW_DISTINCT) != 0 ? make_calls(circuit, distinct_calls, ARRAY_LENGTH(distinct_calls), &calls)
                     : (test->variant & WINDOW_SUMS) != 0   ? make_calls(circuit, sum_calls, ARRAY_LENGTH(sum_calls), &calls)
                                                            : make_calls(circuit, mergeable_calls, ARRAY_LENGTH(mergeable_calls), &calls);
    enum window_kind kind = (enum window_kind)(test->variant & 15);
    return (struct window_aggregate_spec){.input = restart_input(test, 0),
                                          .window = {.kind = kind,
                                                     .time_column = COLUMN_T,
                                                     .processing_time = (test->variant & WINDOW_CLOCK) != 0,
                                                     .size_us = kind == WINDOW_SESSION ? 2 * SECOND : 10 * SECOND,
                                                     .slide_us = 2 * SECOND,
                                                     .offset_us = SECOND,
                                                     .partition_count = 1},
                                          .attached = (test->variant & WINDOW_ATTACHED) != 0,
                                          .start_column = COLUMN_START,
                                          .end_column = COLUMN_END,
                                          .keys = by_key_and_text,
                                          .key_count = test->feeds[0].key_count + ((test->variant & WINDOW_GROUPS) != 0),
                                          .calls = calls,
                                          .call_count = count,
                                          .window_columns = window_columns,
                                          .window_column_count = ARRAY_LENGTH(window_columns),
                                          .output = output};
}

/* All columns that follow the calls are times. */
static struct column time_columns[CALLS_MAX + RESTART_COLUMNS];
static const struct schema times = {CALLS_MAX + RESTART_COLUMNS, time_columns};

static struct node *make_window(struct circuit *circuit, const struct restart_case *test, struct node *const *inputs)
{
    struct node *node;
    struct error err;
    for (uint32_t i = 0; i < times.count; i++) {
        time_columns[i].type = &type_timestamp3;
    }
    const struct window_aggregate_spec spec = window_spec(circuit, test, &times);
    require(window_aggregate_create(circuit, COPY(spec), inputs[0], &node, &err), &err);
    return node;
}

static void windows_go_on(void **state)
{
    (void)state;
    const struct restart_feed grows = {.timed = true, .keys = by_key, .key_count = 1},
                              changes = {.timed = true, .changes = true, .early = true, .keys = by_key, .key_count = 1},
                              ahead = {.timed = true, .ahead = true, .keys = by_key_and_text, .key_count = 2}, whole = {.timed = true};
    const struct restart_case tests[] = {
        {"TUMBLE", {grows}, 1, EVERY, make_window, WINDOW_TUMBLE, .spills = true},
        {"TUMBLE without watermarks of rows", {{.keys = by_key, .key_count = 1}}, 1, EVERY, make_window, WINDOW_TUMBLE, .spills = true},
        {"HOP", {grows}, 1, EVERY, make_window, WINDOW_HOP, .spills = true},
        {"CUMULATE", {grows}, 1, EVERY, make_window, WINDOW_CUMULATE, .spills = true},
        {"TUMBLE of changes", {changes}, 1, EVERY, make_window, WINDOW_TUMBLE, .spills = true},
        {"HOP by subtraction", {changes}, 1, EVERY, make_window, WINDOW_HOP | WINDOW_SUMS, .spills = true},
        {"HOP of changes", {changes}, 1, EVERY, make_window, WINDOW_HOP, .spills = true},
        {"CUMULATE of changes", {changes}, 1, EVERY, make_window, WINDOW_CUMULATE, .spills = true},
        {"HOP over all", {whole}, 1, EVERY, make_window, WINDOW_HOP | WINDOW_SUMS, .spills = true},
        {"HOP with DISTINCT", {ahead}, 1, EVERY, make_window, WINDOW_HOP | WINDOW_DISTINCT, .spills = true},
        {"TUMBLE with DISTINCT of changes", {changes}, 1, EVERY, make_window, WINDOW_TUMBLE | WINDOW_DISTINCT, .spills = true},
        {"CUMULATE with DISTINCT", {whole}, 1, EVERY, make_window, WINDOW_CUMULATE | WINDOW_DISTINCT, .spills = true},
        {"attached windows", {ahead}, 1, EVERY, make_window, WINDOW_TUMBLE | WINDOW_ATTACHED, .spills = true},
        {"attached windows with DISTINCT",
         {changes},
         1,
         EVERY,
         make_window,
         WINDOW_TUMBLE | WINDOW_ATTACHED | WINDOW_DISTINCT,
         .spills = true},
        {"HOP by the clock", {{.keys = by_key, .key_count = 1}}, 1, EVERY, make_window, WINDOW_HOP | WINDOW_CLOCK, .spills = true},
        {"TUMBLE by the clock", {{0}}, 1, EVERY, make_window, WINDOW_TUMBLE | WINDOW_CLOCK | WINDOW_DISTINCT, .spills = true},
    };
    check(tests, ARRAY_LENGTH(tests));
}

static struct node *make_session(struct circuit *circuit, const struct restart_case *test, struct node *const *inputs)
{
    struct node *node;
    struct error err;
    static struct column rows_columns[RESTART_COLUMNS + 3];
    static const struct schema rows_schema = {RESTART_COLUMNS + 3, rows_columns};
    for (uint32_t i = 0; i < times.count; i++) {
        time_columns[i].type = &type_timestamp3;
    }
    for (uint32_t i = 0; i < rows_schema.count; i++) {
        rows_columns[i] = i < RESTART_COLUMNS ? restart_columns[i] : (struct column){"w", &type_timestamp3, TIME_NONE};
    }
    bool keeps_rows = (test->variant & WINDOW_ROWS) != 0;
    const struct session_window_spec spec = {.base = window_spec(circuit, test, keeps_rows ? &rows_schema : &times), .rows = keeps_rows};
    require(session_window_create(circuit, COPY(spec), inputs[0], &node, &err), &err);
    return node;
}

static void sessions_go_on(void **state)
{
    (void)state;
    const struct restart_feed grows = {.timed = true, .keys = by_key, .key_count = 1},
                              changes = {.timed = true, .changes = true, .early = true, .keys = by_key, .key_count = 1},
                              ahead = {.timed = true, .ahead = true, .keys = by_key, .key_count = 1};
    const struct restart_case tests[] = {
        {"SESSION", {grows}, 1, EVERY, make_session, WINDOW_SESSION, .spills = true},
        {"SESSION without watermarks of rows", {{.keys = by_key, .key_count = 1}}, 1, EVERY, make_session, WINDOW_SESSION, .spills = true},
        {"SESSION of changes", {changes}, 1, EVERY, make_session, WINDOW_SESSION, .spills = true},
        {"SESSION with rows ahead", {ahead}, 1, EVERY, make_session, WINDOW_SESSION, .spills = true},
        {"SESSION by the clock", {{.keys = by_key, .key_count = 1}}, 1, EVERY, make_session, WINDOW_SESSION | WINDOW_CLOCK, .spills = true},
        {"SESSION as a table function", {grows}, 1, EVERY, make_session, WINDOW_SESSION | WINDOW_ROWS},
        {"SESSION as a table function, ahead", {ahead}, 1, EVERY, make_session, WINDOW_SESSION | WINDOW_ROWS},
        {"SESSION of changes as a table function", {changes}, 1, EVERY, make_session, WINDOW_SESSION | WINDOW_ROWS},
        {"SESSION with DISTINCT", {changes}, 1, EVERY, make_session, WINDOW_SESSION | WINDOW_DISTINCT},
        {"SESSION with more keys", {grows}, 1, EVERY, make_session, WINDOW_SESSION | WINDOW_GROUPS},
    };
    check(tests, ARRAY_LENGTH(tests));
}

/* ---- GROUP BY ---- */

static const struct call_text all_calls[] = {
    {"COUNT", NO_ARG, false, -1},
    {"SUM", COLUMN_V, false, COLUMN_P},
    {"MIN", COLUMN_V, false, -1},
    {"MAX", COLUMN_S, false, COLUMN_P},
    {"MIN", COLUMN_A, false, -1},
    {"COUNT", COLUMN_S, true, -1},
    {"SUM", COLUMN_V, true, COLUMN_P},
    {"COUNT", COLUMN_S, true, COLUMN_P},
    {"LISTAGG", COLUMN_S, false, -1},
    {"ARRAY_AGG", COLUMN_V, false, -1},
    {"STDDEV_POP", COLUMN_D, false, -1},
    {"FIRST_VALUE", COLUMN_S, false, -1},
    {"LAST_VALUE", COLUMN_V, false, COLUMN_P},
    {"APPROX_COUNT_DISTINCT", COLUMN_S, false, -1},
};

enum { GROUP_GLOBAL = 1, GROUP_SETS = 2, GROUP_FAILS = 4, GROUP_PLAIN = 16 };
static struct node *make_group(struct circuit *circuit, const struct restart_case *test, struct node *const *inputs)
{
    struct node *node;
    struct error err;
    struct aggregate_spec_call *calls;
    bool plain = (test->variant & GROUP_PLAIN) != 0; /* no DISTINCT */
    uint32_t count = make_calls(circuit, all_calls, plain ? 4 : ARRAY_LENGTH(all_calls), &calls);
    bool sets = (test->variant & GROUP_SETS) != 0;
    const struct group_aggregate_spec spec = {
        .input = restart_input(test, 0),
        .keys = test->feeds[0].keys,
        .key_count = test->feeds[0].key_count,
        .calls = calls,
        .call_count = count,
        .ttl_us = ttl_of(test),
        .emit_empty_row = sets || ((test->variant & GROUP_GLOBAL) != 0 && circuit->worker == 0),
        .empty_row_by_hash = sets,
    };
    require(group_aggregate_create(circuit, COPY(spec), inputs[0], &node, &err), &err);
    return node;
}

static void group_by_goes_on(void **state)
{
    (void)state;
    const struct restart_feed grows = {.keys = by_key, .key_count = 1}, ordered = {.ordered = true, .keys = by_key, .key_count = 1},
                              changes = {.changes = true, .keys = by_key, .key_count = 1},
                              by_both = {.changes = true, .keys = by_key_and_text, .key_count = 2},
                              by_nested = {.changes = true, .keys = by_array, .key_count = 1};
    const struct restart_case tests[] = {
        {"GROUP BY", {grows}, 1, EVERY, make_group, 0, .spills = true},
        {"GROUP BY, ordered", {ordered}, 1, EVERY, make_group, 0, .spills = true},
        {"GROUP BY of changes", {changes}, 1, EVERY, make_group, 0, .spills = true},
        {"GROUP BY two columns", {by_both}, 1, EVERY, make_group, 0, .spills = true},
        {"GROUP BY an array", {by_nested}, 1, EVERY, make_group, 0, .spills = true},
        {"aggregates over all", {{.changes = true, .early = true}}, 1, EVERY, make_group, GROUP_GLOBAL, .spills = true},
        {"aggregates over all, growing", {{.ordered = true}}, 1, EVERY, make_group, GROUP_GLOBAL, .spills = true},
        {"GROUPING SETS with the empty one", {by_both}, 1, EVERY, make_group, GROUP_SETS, .spills = true},
        {"GROUP BY with a time-to-live", {grows}, 1, EVERY, make_group, TTL},
        {"GROUP BY of changes with a time-to-live", {by_both}, 1, EVERY, make_group, TTL},
        {"GROUP BY of changes with a time-to-live, spilled", {by_both}, 1, EVERY, make_group, TTL | GROUP_PLAIN, .spills = true},
        {"GROUPING SETS with a time-to-live", {by_both}, 1, EVERY, make_group, GROUP_SETS | TTL},
    };
    check(tests, ARRAY_LENGTH(tests));
}

/* ---- OVER ---- */

struct over_text {
    const char *name; /* an aggregate or a window function */
    bool distinct;
    uint32_t arg;   /* NO_ARG: none */
    int64_t number; /* second argument; 0: none */
    const struct type *type;
};
static const struct over_text running_calls[] = {
    {"COUNT", false, NO_ARG, 0, &type_bigint},
    {"SUM", false, COLUMN_V, 0, &type_bigint},
    {"MIN", false, COLUMN_S, 0, &type_string},
    {"COUNT", true, COLUMN_S, 0, &type_bigint},
    {"ROW_NUMBER", false, NO_ARG, 0, &type_bigint_not_null},
    {"RANK", false, NO_ARG, 0, &type_bigint_not_null},
    {"DENSE_RANK", false, NO_ARG, 0, &type_bigint_not_null},
    {"LAG", false, COLUMN_S, 2, &type_string},
};
static const struct over_text plain_calls[] = {{"COUNT", false, NO_ARG, 0, &type_bigint},
                                               {"SUM", false, COLUMN_V, 0, &type_bigint},
                                               {"MIN", false, COLUMN_S, 0, &type_string},
                                               {"ROW_NUMBER", false, NO_ARG, 0, &type_bigint_not_null},
                                               {"DENSE_RANK", false, NO_ARG, 0, &type_bigint_not_null},
                                               {"LAG", false, COLUMN_S, 2, &type_string}};
static const struct over_text sum_texts[] = {
    {"COUNT", false, NO_ARG, 0, &type_bigint}, {"SUM", false, COLUMN_V, 0, &type_bigint}, {"MAX", false, COLUMN_S, 0, &type_string}};
static const struct over_text looking_calls[] = {{"LEAD", false, COLUMN_V, 1, &type_bigint},
                                                 {"NTILE", false, NO_ARG, 3, &type_bigint_not_null},
                                                 {"SUM", false, COLUMN_D, 0, &type_double}};

static const struct expression *over_column(struct circuit *circuit, uint32_t column)
{
    const struct expression expression = {.kind = EXPRESSION_COLUMN, .type = restart_columns[column].type, .index = column};
    return COPY(expression);
}

static const struct expression *over_number(struct circuit *circuit, int64_t number)
{
    struct vector *constant = arena_alloc(circuit->arena, sizeof *constant);
    *constant = (struct vector){.type = &type_bigint_not_null, .physical = PHYSICAL_INT64, .count = 1, .values = COPY(number)};
    const struct expression expression = {.kind = EXPRESSION_CONSTANT, .type = &type_bigint_not_null, .constant = constant};
    return COPY(expression);
}

static uint32_t over_calls(struct circuit *circuit, const struct over_text *texts, uint32_t count, struct over_call **calls,
                           struct schema *output)
{
    struct column *columns = arena_alloc(circuit->arena, (RESTART_COLUMNS + count) * sizeof *columns);
    memcpy(columns, restart_columns, sizeof restart_columns);
    *calls = arena_alloc(circuit->arena, count * sizeof **calls);
    for (uint32_t i = 0; i < count; i++) {
        const struct expression **args = arena_alloc(circuit->arena, 2 * sizeof *args);
        uint32_t arg_count = 0;
        if (texts[i].arg != NO_ARG) {
            args[arg_count++] = over_column(circuit, texts[i].arg);
        }
        if (texts[i].number != 0) {
            args[arg_count++] = over_number(circuit, texts[i].number);
        }
        (*calls)[i] = (struct over_call){.aggregate = aggregate_find(text_from(texts[i].name)),
                                         .name = texts[i].name,
                                         .args = args,
                                         .arg_count = arg_count,
                                         .distinct = texts[i].distinct,
                                         .type = texts[i].type};
        columns[RESTART_COLUMNS + i] = (struct column){texts[i].name, texts[i].type, TIME_NONE};
    }
    *output = (struct schema){RESTART_COLUMNS + count, columns};
    return count;
}

enum { OVER_ROWS = 1, OVER_RANGE = 2, OVER_BY_TIME = 4, OVER_CLOCK = 8, OVER_LOOKS = 16, OVER_ALL = 32, OVER_PLAIN = 64, OVER_SUMS = 128 };
static struct node *make_over(struct circuit *circuit, const struct restart_case *test, struct node *const *inputs)
{
    struct node *node;
    struct error err;
    struct over_call *calls;
    struct schema output;
    int variant = test->variant;
    uint32_t count = (variant & OVER_LOOKS) != 0   ? over_calls(circuit, looking_calls, ARRAY_LENGTH(looking_calls), &calls, &output)
                     : (variant & OVER_PLAIN) != 0 ? over_calls(circuit, plain_calls, ARRAY_LENGTH(plain_calls), &calls, &output)
                     : (variant & OVER_SUMS) != 0  ? over_calls(circuit, sum_texts, ARRAY_LENGTH(sum_texts), &calls, &output)
                                                   : over_calls(circuit, running_calls, ARRAY_LENGTH(running_calls), &calls, &output);
    bool unbounded = (variant & OVER_ALL) != 0, range = (variant & OVER_RANGE) != 0;
    const struct over_spec spec = {
        .input = restart_input(test, 0),
        .over = {.partition = test->feeds[0].keys,
                 .partition_count = test->feeds[0].key_count,
                 .order = (variant & OVER_BY_TIME) != 0 ? by_time : by_text_and_value,
                 .order_count = (variant & OVER_BY_TIME) != 0 ? 1 : 2,
                 .unit = range ? FRAME_RANGE : FRAME_ROWS,
                 .preceding = unbounded ? FRAME_UNBOUNDED
                              : range   ? 5 * SECOND
                                        : 3,
                 .following = 0,
                 .calls = calls,
                 .call_count = count},
        .ttl_us = ttl_of(test),
        .event_time = (variant & (OVER_BY_TIME | OVER_CLOCK)) == OVER_BY_TIME,
        .processing_time = (variant & OVER_CLOCK) != 0,
        .output = COPY(output),
    };
    require(over_node_create(circuit, COPY(spec), inputs[0], &node, &err), &err);
    return node;
}

static void over_goes_on(void **state)
{
    (void)state;
    const struct restart_feed grows = {.timed = true, .keys = by_key, .key_count = 1}, whole = {.timed = true},
                              ordered = {.timed = true, .ordered = true, .keys = by_key, .key_count = 1},
                              changes = {.changes = true, .keys = by_key, .key_count = 1},
                              early = {.changes = true, .early = true, .keys = by_key, .key_count = 1},
                              clock = {.ordered = true, .keys = by_key, .key_count = 1};
    const uint32_t few = 1U << COLUMN_K | 1U << COLUMN_S | 1U << COLUMN_V;
    const struct restart_case tests[] = {
        {"OVER time, ROWS", {grows}, 1, EVERY, make_over, OVER_BY_TIME | OVER_ROWS},
        {"OVER time, RANGE", {grows}, 1, EVERY, make_over, OVER_BY_TIME | OVER_RANGE},
        {"OVER time, all before", {ordered}, 1, EVERY, make_over, OVER_BY_TIME | OVER_RANGE | OVER_ALL},
        {"OVER time, ordered", {ordered}, 1, EVERY, make_over, OVER_BY_TIME | OVER_ROWS},
        {"OVER time, no partitions", {whole}, 1, EVERY, make_over, OVER_BY_TIME | OVER_ROWS},
        {"OVER time, equal rows", {grows}, 1, few | 1U << COLUMN_T, make_over, OVER_BY_TIME | OVER_ROWS | OVER_ALL},
        {"OVER the clock", {clock}, 1, EVERY, make_over, OVER_BY_TIME | OVER_CLOCK | OVER_ROWS},
        {"OVER the clock, RANGE", {clock}, 1, EVERY, make_over, OVER_BY_TIME | OVER_CLOCK | OVER_RANGE},
        {"OVER changes, ROWS", {changes}, 1, EVERY, make_over, OVER_ROWS, .spills = true},
        {"OVER changes, all before", {early}, 1, few, make_over, OVER_RANGE | OVER_ALL, .spills = true},
        {"OVER changes, looking ahead", {early}, 1, few, make_over, OVER_ROWS | OVER_ALL | OVER_LOOKS, .spills = true},
        {"OVER time, ROWS, with a time-to-live", {grows}, 1, EVERY, make_over, OVER_BY_TIME | OVER_ROWS | TTL},
        {"OVER time, ROWS, ordered, with a time-to-live", {ordered}, 1, EVERY, make_over, OVER_BY_TIME | OVER_ROWS | TTL},
        {"OVER time, all before, with a time-to-live", {ordered}, 1, EVERY, make_over, OVER_BY_TIME | OVER_RANGE | OVER_ALL | TTL},
        {"OVER the clock with a time-to-live", {clock}, 1, EVERY, make_over, OVER_BY_TIME | OVER_CLOCK | OVER_ROWS | TTL},
        {"OVER the clock, all before, with a time-to-live",
         {clock},
         1,
         EVERY,
         make_over,
         OVER_BY_TIME | OVER_CLOCK | OVER_ROWS | OVER_ALL | TTL},
        {"OVER changes with a time-to-live", {changes}, 1, EVERY, make_over, OVER_ROWS | TTL, .spills = true},
        {"OVER changes, all before, with a time-to-live", {early}, 1, few, make_over, OVER_RANGE | OVER_ALL | TTL, .spills = true},
        {"OVER time, ROWS, spilled", {grows}, 1, EVERY, make_over, OVER_BY_TIME | OVER_ROWS | OVER_PLAIN, .spills = true},
        {"OVER time, ROWS, ordered, spilled", {ordered}, 1, EVERY, make_over, OVER_BY_TIME | OVER_ROWS | OVER_PLAIN, .spills = true},
        {"OVER time, all before, spilled",
         {ordered},
         1,
         EVERY,
         make_over,
         OVER_BY_TIME | OVER_RANGE | OVER_ALL | OVER_PLAIN,
         .spills = true},
        {"OVER time, RANGE, spilled", {grows}, 1, EVERY, make_over, OVER_BY_TIME | OVER_RANGE | OVER_PLAIN, .spills = true},
        {"OVER time, RANGE of sums", {grows}, 1, EVERY, make_over, OVER_BY_TIME | OVER_RANGE | OVER_SUMS, .spills = true},
        {"OVER time, RANGE of sums, ordered", {ordered}, 1, EVERY, make_over, OVER_BY_TIME | OVER_RANGE | OVER_SUMS, .spills = true},
        {"OVER time, equal rows, spilled",
         {grows},
         1,
         few | 1U << COLUMN_T,
         make_over,
         OVER_BY_TIME | OVER_ROWS | OVER_ALL | OVER_PLAIN,
         .spills = true},
        {"OVER the clock, spilled", {clock}, 1, EVERY, make_over, OVER_BY_TIME | OVER_CLOCK | OVER_ROWS | OVER_PLAIN, .spills = true},
        {"OVER the clock, RANGE of sums", {clock}, 1, EVERY, make_over, OVER_BY_TIME | OVER_CLOCK | OVER_RANGE | OVER_SUMS, .spills = true},
        {"OVER the clock with a time-to-live, spilled",
         {clock},
         1,
         EVERY,
         make_over,
         OVER_BY_TIME | OVER_CLOCK | OVER_ROWS | OVER_PLAIN | TTL,
         .spills = true},
        {"OVER changes, no partitions", {{.changes = true}}, 1, EVERY, make_over, OVER_ROWS},
    };
    check(tests, ARRAY_LENGTH(tests));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(group_by_goes_on),      cmocka_unit_test(deduplicate_goes_on), cmocka_unit_test(set_operations_go_on),
        cmocka_unit_test(limit_goes_on),         cmocka_unit_test(top_n_goes_on),       cmocka_unit_test(sort_goes_on),
        cmocka_unit_test(temporal_join_goes_on), cmocka_unit_test(windows_go_on),       cmocka_unit_test(sessions_go_on),
        cmocka_unit_test(over_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
