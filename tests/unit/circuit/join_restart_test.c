#include "../support/restarts.h"

#include "functions/function.h"

/* Joins that stop, are restored and go on show the same changes, tick by tick, as those that never stopped. */
enum { SEEDS = RESTART_SEEDS(8), PLANS = 3, EVERY = (1 << RESTART_COLUMNS) - 1, COLUMNS = RESTART_COLUMNS };

static const uint32_t by_key[] = {COLUMN_K}, by_key_and_text[] = {COLUMN_K, COLUMN_S}, by_array[] = {COLUMN_A};
static const uint32_t twice_by_key[] = {COLUMN_K, COLUMN_K};

/* A variant: the kind, and what else. */
enum {
    KINDS = 15,
    FITS = 16,  /* left.v >= right.v */
    FAILS = 32, /* left.v >= 12 / right.v */
    NULL_SAFE = 64,
    SINGLE = 128,
    NULL_AWARE = 256,
    FEW_READ = 512, /* left.v and right.s only */
    LATER = 1024,   /* left.t <= right.t, and the right forgets rows that nothing can meet */
    BY_CLOCK = 2048,
    OPEN_END = 4096, /* no bound on one side */
    TTL = 8192,      /* six seconds for the left, nine for the right */
    TTL_LEFT = 16384,
};

/* In the arena of the circuit. */
#define COPY(value) arena_copy(circuit->arena, &(value), sizeof(value))

static const struct expression *column(struct circuit *circuit, uint32_t side, uint32_t index)
{
    const struct expression expression = {.kind = EXPRESSION_COLUMN, .type = restart_columns[index].type, .index = side * COLUMNS + index};
    return COPY(expression);
}

static const struct expression *call(struct circuit *circuit, const char *name, const struct expression *left,
                                     const struct expression *right)
{
    struct error err;
    const struct expression *made, *args[] = {left, right};
    require(function_call_named(circuit->arena, &circuit->evaluation, name, args, 2, &made, &err), &err);
    return made;
}

static const struct expression *twelve(struct circuit *circuit)
{
    int64_t number = 12;
    struct vector *constant = arena_alloc(circuit->arena, sizeof *constant);
    *constant = (struct vector){.type = &type_bigint_not_null, .physical = PHYSICAL_INT64, .count = 1, .values = COPY(number)};
    const struct expression expression = {.kind = EXPRESSION_CONSTANT, .type = &type_bigint_not_null, .constant = constant};
    return COPY(expression);
}

static const struct expression *make_condition(struct circuit *circuit, int variant)
{
    const struct expression *left = column(circuit, 0, COLUMN_V), *right = column(circuit, 1, COLUMN_V);
    if ((variant & LATER) != 0) {
        return call(circuit, "<=", column(circuit, 0, COLUMN_T), column(circuit, 1, COLUMN_T));
    }
    if ((variant & FAILS) != 0) {
        return call(circuit, ">=", left, call(circuit, "/", twelve(circuit), right));
    }
    return (variant & FITS) != 0 ? call(circuit, ">=", left, right) : NULL;
}

static const struct schema *pair_schema(void)
{
    static struct column columns[2 * COLUMNS];
    static const struct schema both = {2 * COLUMNS, columns};
    memcpy(columns, restart_columns, sizeof restart_columns);
    memcpy(columns + COLUMNS, restart_columns, sizeof restart_columns);
    return &both;
}

static struct join_spec join_spec(struct circuit *circuit, const struct restart_case *test)
{
    static const bool null_safe[] = {true, false}, few[2 * COLUMNS] = {[COLUMN_V] = true, [COLUMNS + COLUMN_S] = true};
    int variant = test->variant;
    enum join_kind kind = (enum join_kind)(variant & KINDS);
    bool pairs = kind != JOIN_SEMI && kind != JOIN_ANTI;
    struct join_spec spec = {.left = restart_input(test, 0),
                             .right = restart_input(test, 1),
                             .kind = kind,
                             .left_keys = (variant & NULL_AWARE) != 0 ? by_key : test->feeds[0].keys,
                             .right_keys = (variant & NULL_AWARE) != 0 ? by_key : test->feeds[1].keys,
                             .null_safe = (variant & NULL_SAFE) != 0 ? null_safe : NULL,
                             .key_count = (variant & NULL_AWARE) != 0 ? 1 : test->feeds[0].key_count,
                             .condition = make_condition(circuit, variant),
                             .null_aware = (variant & NULL_AWARE) != 0,
                             .single = (variant & SINGLE) != 0,
                             .output = pairs ? pair_schema() : &restart_schema,
                             .read = (variant & FEW_READ) != 0 ? few : NULL};
    if ((variant & LATER) != 0) { /* rows are late by 4 seconds at most */
        spec.prune[1] = (struct join_prune){true, COLUMN_T, -4 * RESTART_SECOND - 1};
    }
    spec.ttl_us[0] = (variant & (TTL | TTL_LEFT)) != 0 ? 6 * RESTART_SECOND : 0;
    spec.ttl_us[1] = (variant & TTL) != 0 ? 9 * RESTART_SECOND : 0;
    return spec;
}

static struct node *make_join(struct circuit *circuit, const struct restart_case *test, struct node *const *inputs)
{
    struct node *node;
    struct error err;
    const struct join_spec spec = join_spec(circuit, test);
    require(join_node_create(circuit, COPY(spec), inputs[0], inputs[1], &node, &err), &err);
    return node;
}

static struct node *make_interval_join(struct circuit *circuit, const struct restart_case *test, struct node *const *inputs)
{
    struct node *node;
    struct error err;
    const struct interval_join_spec spec = {.join = join_spec(circuit, test),
                                            .left_time = COLUMN_T,
                                            .right_time = COLUMN_T,
                                            .low_us = -3 * RESTART_SECOND,
                                            .high_us = (test->variant & OPEN_END) != 0 ? INT64_MAX : 5 * RESTART_SECOND,
                                            .processing_time = (test->variant & BY_CLOCK) != 0};
    require(interval_join_create(circuit, COPY(spec), inputs[0], inputs[1], &node, &err), &err);
    return node;
}

static struct node *make_window_join(struct circuit *circuit, const struct restart_case *test, struct node *const *inputs)
{
    struct node *node;
    struct error err;
    const struct window_join_spec spec = {.join = join_spec(circuit, test),
                                          .left_start = COLUMN_START,
                                          .left_end = COLUMN_END,
                                          .right_start = COLUMN_START,
                                          .right_end = COLUMN_END};
    require(window_join_create(circuit, COPY(spec), inputs[0], inputs[1], &node, &err), &err);
    return node;
}

static struct node *make_lookup_join(struct circuit *circuit, const struct restart_case *test, struct node *const *inputs)
{
    struct node *node;
    struct error err;
    const struct lookup_join_spec spec = {.join = join_spec(circuit, test)};
    require(lookup_join_create(circuit, COPY(spec), inputs[0], inputs[1], &node, &err), &err);
    return node;
}

/* ---- cases ---- */

static const enum join_kind all_kinds[] = {JOIN_INNER, JOIN_LEFT, JOIN_RIGHT, JOIN_FULL, JOIN_SEMI, JOIN_ANTI};
static const char *const kind_names[] = {
    [JOIN_INNER] = "INNER", [JOIN_LEFT] = "LEFT", [JOIN_RIGHT] = "RIGHT", [JOIN_FULL] = "FULL", [JOIN_SEMI] = "SEMI", [JOIN_ANTI] = "ANTI"};

static const struct restart_feed grows = {.keys = by_key, .key_count = 1},
                                 changes = {.changes = true, .grows = true, .keys = by_key, .key_count = 1},
                                 mostly_gone = {.changes = true, .keys = by_key, .key_count = 1},
                                 early = {.changes = true, .early = true, .grows = true, .keys = by_key, .key_count = 1};

static void check(const struct restart_case *test)
{
    uint64_t lines = restart_check(test, SEEDS, PLANS);
    if (lines < SEEDS) {
        fail_msg("%s shows next to nothing after a restart", test->name);
    }
}

/* Joins of all kinds with these inputs. */
static void check_kinds(const char *name, struct restart_feed left, struct restart_feed right, uint32_t columns,
                        struct node *(*create)(struct circuit *, const struct restart_case *, struct node *const *), int variant)
{
    for (uint32_t i = 0; i < ARRAY_LENGTH(all_kinds); i++) {
        char full[100];
        snprintf(full, sizeof full, "%s %s", kind_names[all_kinds[i]], name);
        const struct restart_case test = {
            full, {left, right}, 2, columns, create, (int)all_kinds[i] | variant, .spills = create != make_lookup_join};
        check(&test);
    }
}

static const uint32_t few_columns = 1U << COLUMN_K | 1U << COLUMN_V | 1U << COLUMN_T;

static void joins_go_on(void **state)
{
    (void)state;
    check_kinds("join", grows, grows, EVERY, make_join, 0);
    check_kinds("join of changes", changes, changes, EVERY, make_join, 0);
    check_kinds("join of changes on the left", changes, grows, EVERY, make_join, FITS);
    check_kinds("join of changes on the right", grows, early, EVERY, make_join, FITS);
    check_kinds("join of equal rows", early, early, few_columns, make_join, FITS);
    check_kinds("join that reads little", grows, grows, EVERY, make_join, FEW_READ);
    check_kinds("join of changes that reads little", changes, grows, EVERY, make_join, FEW_READ | FITS);
}

static void joins_on_other_keys_go_on(void **state)
{
    (void)state;
    const struct restart_feed both = {.keys = by_key_and_text, .key_count = 2}, array = {.keys = by_array, .key_count = 1},
                              array_changes = {.changes = true, .grows = true, .keys = by_array, .key_count = 1},
                              twice = {.keys = twice_by_key, .key_count = 2};
    check_kinds("join on two columns", both, both, EVERY, make_join, NULL_SAFE);
    check_kinds("join on an array", array, array, EVERY, make_join, FEW_READ);
    check_kinds("join on an array of changes", array_changes, array, EVERY, make_join, NULL_SAFE);
    check_kinds("join on the same column twice", twice, twice, 1U << COLUMN_K | 1U << COLUMN_V, make_join, FEW_READ);
}

static void joins_without_keys_go_on(void **state)
{
    (void)state;
    const struct restart_feed anywhere = {.anywhere = true}, everywhere = {.everywhere = true},
                              changes_anywhere = {.changes = true, .anywhere = true},
                              changes_everywhere = {.changes = true, .everywhere = true};
    const struct restart_case tests[] = {
        {"INNER join with all", {anywhere, everywhere}, 2, few_columns, make_join, JOIN_INNER | FITS},
        {"INNER join of all", {changes_everywhere, changes_anywhere}, 2, few_columns, make_join, JOIN_INNER | FITS},
        {"LEFT join with all", {changes_anywhere, changes_everywhere}, 2, few_columns, make_join, JOIN_LEFT | FITS},
        {"SEMI join with all", {anywhere, changes_everywhere}, 2, EVERY, make_join, JOIN_SEMI | FITS},
        {"ANTI join with all", {changes_anywhere, changes_everywhere}, 2, few_columns, make_join, JOIN_ANTI | FITS},
        {"RIGHT join with all", {everywhere, changes_anywhere}, 2, few_columns, make_join, JOIN_RIGHT | FITS},
        {"FULL join in one place", {{.changes = true}, {.changes = true}}, 2, few_columns, make_join, JOIN_FULL | FITS},
        {"NOT IN", {{.changes = true}, {.changes = true}}, 2, few_columns, make_join, JOIN_ANTI | NULL_AWARE},
        {"NOT IN what grows", {{.changes = true, .grows = true}, {.early = true}}, 2, 1U << COLUMN_K, make_join, JOIN_ANTI | NULL_AWARE},
    };
    for (uint32_t i = 0; i < ARRAY_LENGTH(tests); i++) {
        check(&tests[i]);
    }
}

static void joins_that_fail_go_on(void **state)
{
    (void)state;
    const struct restart_case single = {"a value", {mostly_gone, mostly_gone}, 2, EVERY, make_join, JOIN_LEFT | SINGLE};
    check_kinds("join that fails now and then", mostly_gone, mostly_gone, EVERY, make_join, FAILS);
    check(&single);
}

static void joins_that_forget_go_on(void **state)
{
    (void)state;
    const uint32_t no_values = (uint32_t)EVERY & ~(1U << COLUMN_V);
    const struct restart_case tests[] = {
        {"INNER join with later rows", {grows, grows}, 2, no_values, make_join, JOIN_INNER | LATER},
        {"LEFT join with later rows", {grows, grows}, 2, few_columns, make_join, JOIN_LEFT | LATER},
        {"LEFT join with later rows that reads little", {grows, grows}, 2, EVERY, make_join, JOIN_LEFT | LATER | FEW_READ},
    };
    for (uint32_t i = 0; i < ARRAY_LENGTH(tests); i++) {
        check(&tests[i]);
    }
}

static void joins_with_a_time_to_live_go_on(void **state)
{
    (void)state;
    const struct restart_feed array = {.keys = by_array, .key_count = 1}, all = {.changes = true};
    const struct restart_case tests[] = {
        {"NOT IN with a time-to-live", {{.changes = true}, {.changes = true}}, 2, few_columns, make_join, JOIN_ANTI | NULL_AWARE | TTL},
        {"FULL join in one place with a time-to-live", {all, all}, 2, few_columns, make_join, JOIN_FULL | FITS | TTL},
    };
    check_kinds("join with a time-to-live", grows, grows, EVERY, make_join, TTL);
    check_kinds("join with a time-to-live on the left", grows, grows, EVERY, make_join, TTL_LEFT);
    check_kinds("join of changes with a time-to-live", changes, changes, EVERY, make_join, FITS | TTL);
    check_kinds("join of equal rows with a time-to-live", early, early, few_columns, make_join, FITS | TTL);
    check_kinds("join of changes with a time-to-live on the left", mostly_gone, grows, EVERY, make_join, TTL_LEFT | FEW_READ);
    check_kinds("join on an array with a time-to-live", array, array, EVERY, make_join, FEW_READ | TTL);
    for (uint32_t i = 0; i < ARRAY_LENGTH(tests); i++) {
        check(&tests[i]);
    }
}

static void interval_joins_go_on(void **state)
{
    (void)state;
    check_kinds("interval join", grows, grows, EVERY, make_interval_join, FITS);
    check_kinds("interval join that reads little", grows, grows, EVERY, make_interval_join, FEW_READ);
    check_kinds("interval join with an open end", grows, grows, few_columns, make_interval_join, OPEN_END);
    check_kinds("interval join by the clock", grows, grows, EVERY, make_interval_join, BY_CLOCK | FITS);
}

static void window_joins_go_on(void **state)
{
    (void)state;
    const struct restart_feed late = {.timed = true, .keys = by_key, .key_count = 1};
    check_kinds("window join", grows, grows, EVERY, make_window_join, 0);
    check_kinds("window join with a condition", grows, late, EVERY, make_window_join, FITS);
    check_kinds("window join that reads little", late, late, EVERY, make_window_join, FEW_READ);
    check_kinds("window join of equal rows", late, late, few_columns, make_window_join, FITS);
}

/* The right ends with everything else: all rows wait. */
static void lookup_joins_go_on(void **state)
{
    (void)state;
    const struct restart_feed ordered = {.ordered = true, .timed = true, .keys = by_key, .key_count = 1};
    const struct restart_case tests[] = {
        {"INNER lookup join", {ordered, grows}, 2, EVERY, make_lookup_join, JOIN_INNER | FITS},
        {"LEFT lookup join", {changes, grows}, 2, few_columns, make_lookup_join, JOIN_LEFT},
        {"LEFT lookup join with all", {{.anywhere = true}, {.everywhere = true}}, 2, EVERY, make_lookup_join, JOIN_LEFT | FITS},
        {"INNER lookup join of all", {{.everywhere = true}, {.anywhere = true}}, 2, EVERY, make_lookup_join, JOIN_INNER | FITS},
    };
    for (uint32_t i = 0; i < ARRAY_LENGTH(tests); i++) {
        check(&tests[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joins_go_on),
        cmocka_unit_test(joins_on_other_keys_go_on),
        cmocka_unit_test(joins_without_keys_go_on),
        cmocka_unit_test(joins_that_fail_go_on),
        cmocka_unit_test(joins_that_forget_go_on),
        cmocka_unit_test(joins_with_a_time_to_live_go_on),
        cmocka_unit_test(interval_joins_go_on),
        cmocka_unit_test(window_joins_go_on),
        cmocka_unit_test(lookup_joins_go_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
