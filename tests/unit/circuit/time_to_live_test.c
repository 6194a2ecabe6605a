/* What operators forget, and when: by a clock that the test moves. What is expected follows from Flink's rules: an entry lives for the
 * time-to-live from its last write, reading does not count, and nothing is said when it goes. */
#include "circuit/circuit_cold.h"

#include "../support/circuits.h"
#include "../support/cold_memory.h"

#define SECOND INT64_C(1000000)
#define START  (INT64_C(1000) * SECOND)

enum { COLUMNS = 3 };
static const struct column columns[COLUMNS] = {{"k", &type_int, TIME_NONE}, {"v", &type_bigint, TIME_NONE}, {"s", &type_string, TIME_NONE}};
static const struct schema schema = {COLUMNS, columns};
static const uint32_t by_key[] = {0}, value_column[] = {1};

struct row {
    int64_t values[COLUMNS];
    int64_t weight;
};

static void set_time(struct harness *harness, int64_t seconds)
{
    harness->tick.now_us = harness->circuit->evaluation.now_us = START + seconds * SECOND;
}

static void open_at_zero(struct harness *harness)
{
    harness_open(harness);
    harness->tick.bounded = false;
    set_time(harness, 0);
}

static void push_to(struct node *feed, struct budget *budget, const struct row *rows, uint32_t count)
{
    int64_t values[COLUMNS][16], weights[16];
    const int64_t *pointers[COLUMNS];
    const struct type *types[COLUMNS];
    struct batch batch;
    struct error err;
    for (uint32_t c = 0; c < COLUMNS; c++) {
        for (uint32_t i = 0; i < count; i++) {
            values[c][i] = rows[i].values[c];
            weights[i] = rows[i].weight;
        }
        pointers[c] = values[c];
        types[c] = columns[c].type;
    }
    fill_batch(budget, types, pointers, COLUMNS, count, &batch);
    batch.weights = weights;
    require(feed_receive(feed, 0, &batch, &err), &err);
    batch.weights = NULL;
    batch_release(&batch);
}

/* A tick at a time with one row; weight 0: none. */
static void play(struct harness *harness, int64_t seconds, int64_t key, int64_t value, int64_t weight)
{
    struct error err;
    set_time(harness, seconds);
    const struct row row = {{key, value, value}, weight};
    if (weight != 0) {
        push_to(harness->feed, &harness->budget, &row, 1);
    }
    require(harness_finish(harness, 0, false, &err), &err);
}

/* What has come out since the last call: "+1 row" or "-1 row", sorted, a comma between. */
static const char *changes(struct harness *harness)
{
    static char text[4096];
    struct capture *capture = harness->capture;
    size_t length = 0;
    if (capture->count > 0) {
        qsort(capture->rows, capture->count, sizeof *capture->rows, compare_captured);
    }
    text[0] = '\0';
    for (uint32_t i = 0; i < capture->count; i++) {
        if (capture->rows[i].weight != 0) {
            length += (size_t)snprintf(text + length, sizeof text - length, "%s%+d %s", length > 0 ? ", " : "",
                                       (int)capture->rows[i].weight, capture->rows[i].text);
        }
        free(capture->rows[i].text);
    }
    free(capture->places);
    capture->places = NULL;
    capture->count = 0;
    return text;
}

/* ---- GROUP BY ---- */

static bool input_lossy;

static void open_group(struct harness *harness, const char *function, bool distinct, bool changing, int64_t ttl_us, struct node **node)
{
    static struct aggregate_spec_call calls[2];
    static struct group_aggregate_spec spec;
    struct error err;
    open_at_zero(harness);
    calls[0] = (struct aggregate_spec_call){.function = aggregate_find(TEXT("COUNT")), .filter = -1, .type = &type_bigint_not_null};
    calls[1] = (struct aggregate_spec_call){.function = aggregate_find(text_from(function)),
                                            .args = value_column,
                                            .arg_count = 1,
                                            .distinct = distinct,
                                            .filter = -1,
                                            .type = &type_bigint};
    spec = (struct group_aggregate_spec){.input = {.schema = &schema, .changes = changing, .lossy = input_lossy},
                                         .keys = by_key,
                                         .key_count = 1,
                                         .calls = calls,
                                         .call_count = 2,
                                         .ttl_us = ttl_us};
    require(group_aggregate_create(harness->circuit, &spec, harness->feed, node, &err), &err);
    harness_capture(harness, *node);
}

static void group_that_was_not_touched_for_so_long_begins_anew(void **state)
{
    (void)state;
    struct harness harness;
    struct node *node;
    open_group(&harness, "SUM", false, false, 10 * SECOND, &node);
    play(&harness, 0, 1, 5, 1);
    assert_string_equal(changes(&harness), "+1 1|1|5");
    play(&harness, 9, 1, 5, 1); /* in time: lives on for ten more seconds */
    assert_string_equal(changes(&harness), "-1 1|1|5, +1 1|2|10");
    play(&harness, 18, 2, 1, 1);
    assert_string_equal(changes(&harness), "+1 2|1|1");
    play(&harness, 19, 1, 7, 1); /* too late by nothing: the old row stays as it is */
    assert_string_equal(changes(&harness), "+1 1|1|7");
    play(&harness, 40, 3, 1, 1);
    assert_string_equal(changes(&harness), "+1 3|1|1");
    assert_int_equal(node->metrics.state_keys, 1); /* the others were swept */
    harness_close(&harness);
}

static void group_without_a_time_to_live_stays(void **state)
{
    (void)state;
    struct harness harness;
    struct node *node;
    open_group(&harness, "SUM", false, false, 0, &node);
    play(&harness, 0, 1, 5, 1);
    changes(&harness);
    play(&harness, 1000000, 1, 5, 1);
    assert_string_equal(changes(&harness), "-1 1|1|5, +1 1|2|10");
    harness_close(&harness);
}

/* A row of a group that is forgotten is withdrawn: no group with less than no rows, now or later. */
static void group_ignores_what_is_withdrawn_after_its_time(void **state)
{
    (void)state;
    struct harness harness;
    struct node *node;
    open_group(&harness, "SUM", false, true, 10 * SECOND, &node);
    play(&harness, 0, 1, 5, 1);
    changes(&harness);
    play(&harness, 10, 1, 5, -1);
    assert_string_equal(changes(&harness), "");
    assert_int_equal(node->metrics.state_keys, 0);
    play(&harness, 11, 1, 6, 1);
    assert_string_equal(changes(&harness), "+1 1|1|6");
    /* An update in one tick, the withdrawal first. */
    set_time(&harness, 30);
    push_to(harness.feed, &harness.budget, (struct row[]){{{1, 6, 6}, -1}, {{1, 8, 8}, 1}, {{1, 9, 9}, 1}}, 3);
    play(&harness, 30, 2, 1, 1);
    assert_string_equal(changes(&harness), "+1 1|1|11, +1 2|1|1");
    harness_close(&harness);
}

/* The values of a group that is forgotten are not those of a later one, of the same key or another in the same place. */
static void distinct_values_go_with_their_group(void **state)
{
    (void)state;
    for (int changing = 0; changing < 2; changing++) {
        struct harness harness;
        struct node *node;
        open_group(&harness, "COUNT", true, changing != 0, 10 * SECOND, &node);
        play(&harness, 0, 1, 5, 1);
        play(&harness, 5, 1, 6, 1);
        changes(&harness);
        play(&harness, 14, 1, 5, 1); /* the value is older than ten seconds, its group is not */
        assert_string_equal(changes(&harness), "-1 1|2|2, +1 1|3|2");
        play(&harness, 30, 1, 5, 1);
        assert_string_equal(changes(&harness), "+1 1|1|1");
        play(&harness, 50, 9, 1, 0);
        assert_int_equal(node->metrics.state_keys, 0);
        play(&harness, 51, 2, 5, 1); /* takes the slot that was free */
        play(&harness, 52, 2, 6, 1);
        assert_string_equal(changes(&harness), "+1 2|2|2");
        harness_close(&harness);
    }
}

static void distinct_values_of_forgotten_groups_are_swept(void **state)
{
    (void)state;
    struct harness harness;
    struct node *node;
    open_group(&harness, "SUM", true, false, 10 * SECOND, &node);
    for (int64_t i = 0; i < 20000; i++) {
        play(&harness, i / 100, i, i, 1);
    }
    size_t full = node->metrics.state_bytes;
    assert_true(node->metrics.state_keys <= 1100);
    for (int64_t i = 0; i < 20000; i++) {
        play(&harness, 200 + i / 100, i, i, 1);
    }
    assert_true(node->metrics.state_bytes <= full); /* nothing grows */
    harness_close(&harness);
}

/* Of a group without a time-to-live rows may be withdrawn that an operator below has forgotten: what stays of its values is no other's. */
static void distinct_values_go_with_a_group_over_what_forgets(void **state)
{
    (void)state;
    struct harness harness;
    struct node *node;
    input_lossy = true;
    open_group(&harness, "COUNT", true, true, 0, &node);
    input_lossy = false;
    for (int64_t i = 0; i < 3000; i++) {
        play(&harness, i, i, 5, 1);
        play(&harness, i, i, 6, -1);
        assert_int_equal(node->metrics.state_keys, 0);
    }
    changes(&harness);
    size_t bytes = node->metrics.state_bytes;
    for (int64_t i = 0; i < 6000; i++) {
        play(&harness, i, i, 5, 1);
        play(&harness, i, i, 6, -1);
    }
    assert_true(node->metrics.state_bytes <= bytes);
    changes(&harness);
    play(&harness, 9000, 2, 5, 1);
    play(&harness, 9000, 2, 6, 1);
    assert_string_equal(changes(&harness), "+1 2|2|2");
    harness_close(&harness);
}

/* What does not change is sent, so that it lives on downstream: a difference of nothing. */
static void group_sends_what_has_not_changed(void **state)
{
    (void)state;
    struct harness harness;
    struct node *first, *second;
    static const struct aggregate_spec_call calls[] = {{.filter = -1}};
    struct aggregate_spec_call call = calls[0];
    struct error err;
    static struct group_aggregate_spec maximum, count;
    static const struct column made[] = {{"k", &type_int, TIME_NONE}, {"m", &type_bigint, TIME_NONE}};
    static const struct schema made_schema = {2, made};
    struct aggregate_spec_call maximum_call = {
        .function = aggregate_find(TEXT("MAX")), .args = value_column, .arg_count = 1, .filter = -1, .type = &type_bigint};
    open_at_zero(&harness);
    call.function = aggregate_find(TEXT("COUNT"));
    call.type = &type_bigint_not_null;
    maximum = (struct group_aggregate_spec){
        .input = {.schema = &schema}, .keys = by_key, .key_count = 1, .calls = &maximum_call, .call_count = 1, .ttl_us = 10 * SECOND};
    count = (struct group_aggregate_spec){.input = {.schema = &made_schema, .changes = true, .lossy = true},
                                          .keys = value_column,
                                          .key_count = 1,
                                          .calls = &call,
                                          .call_count = 1,
                                          .ttl_us = 10 * SECOND};
    require(group_aggregate_create(harness.circuit, &maximum, harness.feed, &first, &err), &err);
    require(group_aggregate_create(harness.circuit, &count, first, &second, &err), &err);
    harness_capture(&harness, second);
    play(&harness, 0, 1, 5, 1);
    play(&harness, 8, 1, 3, 1); /* the maximum is the same */
    play(&harness, 16, 2, 5, 1);
    assert_string_equal(changes(&harness), "+1 5|2");
    harness_close(&harness);
}

/* ---- joins ---- */

struct join_harness {
    struct harness base;
    struct node *right;
    struct node *node;
};

static void open_join(struct join_harness *harness, enum join_kind kind, bool changing, int64_t left_us, int64_t right_us)
{
    static struct column both[2 * COLUMNS];
    static const struct schema pairs = {2 * COLUMNS, both};
    static struct join_spec spec;
    struct error err;
    open_at_zero(&harness->base);
    struct circuit *circuit = harness->base.circuit;
    harness->right = arena_alloc(circuit->arena, sizeof *harness->right);
    require(circuit_add(circuit, harness->right, &feed_type, "right", NULL, 0, &err), &err);
    memcpy(both, columns, sizeof columns);
    memcpy(both + COLUMNS, columns, sizeof columns);
    bool lone = kind == JOIN_SEMI || kind == JOIN_ANTI;
    spec = (struct join_spec){.left = {.schema = &schema, .changes = changing},
                              .right = {.schema = &schema, .changes = changing},
                              .kind = kind,
                              .left_keys = by_key,
                              .right_keys = by_key,
                              .key_count = 1,
                              .ttl_us = {left_us, right_us},
                              .output = lone ? &schema : &pairs};
    require(join_node_create(circuit, &spec, harness->base.feed, harness->right, &harness->node, &err), &err);
    harness_capture(&harness->base, harness->node);
}

static const char *left(struct join_harness *harness, int64_t seconds, int64_t key, int64_t value, int64_t weight)
{
    play(&harness->base, seconds, key, value, weight);
    return changes(&harness->base);
}

static const char *right(struct join_harness *harness, int64_t seconds, int64_t key, int64_t value, int64_t weight)
{
    const struct row row = {{key, value, value}, weight};
    set_time(&harness->base, seconds);
    push_to(harness->right, &harness->base.budget, &row, 1);
    return left(harness, seconds, 0, 0, 0);
}

static void join_sides_expire_each_by_its_own_time(void **state)
{
    (void)state;
    for (int changing = 0; changing < 2; changing++) {
        struct join_harness harness;
        open_join(&harness, JOIN_INNER, changing != 0, 10 * SECOND, 100 * SECOND);
        assert_string_equal(left(&harness, 0, 1, 5, 1), "");
        assert_string_equal(right(&harness, 1, 1, 7, 1), "+1 1|5|s5|1|7|s7");
        assert_string_equal(right(&harness, 9, 1, 8, 1), "+1 1|5|s5|1|8|s8"); /* a match is no write of an inner side */
        assert_string_equal(right(&harness, 10, 1, 9, 1), "");
        assert_string_equal(left(&harness, 99, 1, 6, 1),
                            "+1 1|6|s6 a longer text of its own|1|7|s7, +1 1|6|s6 a longer text of its own|1|8|s8, +1 1|6|s6 a longer "
                            "text of its own|1|9|s9 a longer text of its own");
        assert_string_equal(left(&harness, 101, 1, 4, 1), "+1 1|4|s4|1|8|s8, +1 1|4|s4|1|9|s9 a longer text of its own");
        assert_string_equal(left(&harness, 1000, 2, 4, 1), "");
        assert_int_equal(harness.node->metrics.state_keys, 1); /* the rest was swept */
        harness_close(&harness.base);
    }
}

static void join_side_without_a_time_to_live_stays(void **state)
{
    (void)state;
    struct join_harness harness;
    open_join(&harness, JOIN_INNER, false, 10 * SECOND, 0);
    right(&harness, 0, 1, 7, 1);
    assert_string_equal(left(&harness, 1000000, 1, 5, 1), "+1 1|5|s5|1|7|s7");
    assert_string_equal(right(&harness, 1000020, 1, 8, 1), "");
    harness_close(&harness.base);
}

static void outer_row_lives_on_with_its_matches(void **state)
{
    (void)state;
    struct join_harness harness;
    open_join(&harness, JOIN_LEFT, false, 10 * SECOND, 10 * SECOND);
    assert_string_equal(left(&harness, 0, 1, 5, 1), "+1 1|5|s5|NULL|NULL|NULL");
    assert_string_equal(right(&harness, 9, 1, 7, 1), "+1 1|5|s5|1|7|s7, -1 1|5|s5|NULL|NULL|NULL"); /* a write of the left row */
    assert_string_equal(right(&harness, 18, 1, 8, 1), "+1 1|5|s5|1|8|s8");
    assert_string_equal(right(&harness, 28, 1, 7, 1), ""); /* and nothing is padded again when matches go */
    harness_close(&harness.base);
}

static void join_takes_back_what_an_expired_row_had_made(void **state)
{
    (void)state;
    struct join_harness harness;
    open_join(&harness, JOIN_INNER, true, 10 * SECOND, 0);
    right(&harness, 0, 1, 7, 1);
    assert_string_equal(left(&harness, 1, 1, 5, 1), "+1 1|5|s5|1|7|s7");
    assert_string_equal(left(&harness, 20, 1, 5, -1), "-1 1|5|s5|1|7|s7"); /* the right row is still known */
    assert_string_equal(left(&harness, 21, 1, 5, 1), "+1 1|5|s5|1|7|s7");  /* no debt is left */
    assert_string_equal(right(&harness, 22, 1, 7, -1), "-1 1|5|s5|1|7|s7");
    harness_close(&harness.base);
}

static void expired_row_that_comes_again_is_a_new_one(void **state)
{
    (void)state;
    struct join_harness harness;
    open_join(&harness, JOIN_FULL, true, 10 * SECOND, 10 * SECOND);
    assert_string_equal(left(&harness, 0, 1, 5, 1), "+1 1|5|s5|NULL|NULL|NULL");
    /* The row's place is found by its value, and is expired, not swept: other rows were before it in the same tick. */
    set_time(&harness.base, 10);
    push_to(harness.base.feed, &harness.base.budget, (struct row[]){{{1, 5, 5}, 1}, {{1, 5, 5}, 1}}, 2);
    assert_string_equal(left(&harness, 10, 1, 5, 1), "+3 1|5|s5|NULL|NULL|NULL");
    assert_string_equal(right(&harness, 12, 1, 7, 1), "+3 1|5|s5|1|7|s7, -3 1|5|s5|NULL|NULL|NULL");
    harness_close(&harness.base);
}

static void semi_and_anti_forget_without_a_word(void **state)
{
    (void)state;
    struct join_harness semi, anti;
    open_join(&semi, JOIN_SEMI, true, 0, 10 * SECOND);
    assert_string_equal(right(&semi, 0, 1, 7, 1), "");
    assert_string_equal(left(&semi, 5, 1, 5, 1), "+1 1|5|s5");
    assert_string_equal(left(&semi, 30, 1, 8, 1), ""); /* the right row has expired: the first left row stays */
    assert_string_equal(right(&semi, 31, 1, 7, -1), "-1 1|5|s5");
    assert_string_equal(right(&semi, 32, 1, 9, 1), "+1 1|5|s5, +1 1|8|s8");
    harness_close(&semi.base);
    open_join(&anti, JOIN_ANTI, true, 0, 10 * SECOND);
    assert_string_equal(right(&anti, 0, 1, 7, 1), "");
    assert_string_equal(left(&anti, 5, 1, 5, 1), "");
    assert_string_equal(left(&anti, 30, 1, 8, 1), "+1 1|8|s8");
    assert_string_equal(right(&anti, 31, 1, 7, -1), "+1 1|5|s5"); /* the second had no match to lose */
    assert_string_equal(right(&anti, 32, 1, 9, 1), "-1 1|5|s5, -1 1|8|s8");
    harness_close(&anti.base);
}

/* ---- Top-N, deduplication, set operations, OVER ---- */

static void open_deduplicate(struct harness *harness, bool keep_last)
{
    static struct deduplicate_spec spec;
    struct node *node;
    struct error err;
    open_at_zero(harness);
    spec = (struct deduplicate_spec){.input = {.schema = &schema},
                                     .keys = by_key,
                                     .key_count = 1,
                                     .time_column = 1,
                                     .keep_last = keep_last,
                                     .processing_time = true,
                                     .output = &schema,
                                     .ttl_us = 10 * SECOND};
    require(deduplicate_create(harness->circuit, &spec, harness->feed, &node, &err), &err);
    harness_capture(harness, node);
}

static void first_row_is_a_first_one_again_after_its_time(void **state)
{
    (void)state;
    struct harness harness;
    open_deduplicate(&harness, false);
    play(&harness, 0, 1, 5, 1);
    assert_string_equal(changes(&harness), "+1 1|5|s5");
    play(&harness, 9, 1, 7, 1); /* no write: the first row has won */
    assert_string_equal(changes(&harness), "");
    play(&harness, 10, 1, 8, 1);
    assert_string_equal(changes(&harness), "+1 1|8|s8");
    harness_close(&harness);
}

static void last_row_replaces_what_is_not_forgotten(void **state)
{
    (void)state;
    struct harness harness;
    open_deduplicate(&harness, true);
    play(&harness, 0, 1, 5, 1);
    play(&harness, 9, 1, 7, 1); /* a write */
    play(&harness, 18, 1, 8, 1);
    assert_string_equal(changes(&harness), "+1 1|8|s8");
    play(&harness, 28, 1, 4, 1);
    assert_string_equal(changes(&harness), "+1 1|4|s4");
    harness_close(&harness);
}

static void top_n_forgets_whole_partitions(void **state)
{
    (void)state;
    static const struct sort_key by_value[] = {{.column = 1, .descending = true}};
    static struct top_n_spec spec;
    struct harness harness;
    struct node *node;
    struct error err;
    open_at_zero(&harness);
    spec = (struct top_n_spec){.input = {.schema = &schema, .changes = true},
                               .partition = by_key,
                               .partition_count = 1,
                               .order = by_value,
                               .order_count = 1,
                               .first = 1,
                               .last = 1,
                               .output = &schema,
                               .ttl_us = 10 * SECOND};
    require(top_n_create(harness.circuit, &spec, harness.feed, &node, &err), &err);
    harness_capture(&harness, node);
    play(&harness, 0, 1, 5, 1);
    play(&harness, 9, 1, 4, 1); /* the partition lives on, with its first row */
    play(&harness, 18, 1, 2, 1);
    assert_string_equal(changes(&harness), "+1 1|5|s5");
    play(&harness, 28, 1, 4, -1); /* of a partition that is forgotten */
    assert_string_equal(changes(&harness), "");
    play(&harness, 29, 1, 4, 1); /* and no debt is left */
    assert_string_equal(changes(&harness), "+1 1|4|s4");
    play(&harness, 60, 2, 1, 1);
    assert_int_equal(node->metrics.state_keys, 1);
    harness_close(&harness);
}

static void except_forgets_rows(void **state)
{
    (void)state;
    static struct set_spec spec;
    struct join_harness harness;
    struct error err;
    open_at_zero(&harness.base);
    struct circuit *circuit = harness.base.circuit;
    harness.right = arena_alloc(circuit->arena, sizeof *harness.right);
    require(circuit_add(circuit, harness.right, &feed_type, "right", NULL, 0, &err), &err);
    spec = (struct set_spec){
        .left = {.schema = &schema, .changes = true}, .right = {.schema = &schema, .changes = true}, .except = true, .ttl_us = 10 * SECOND};
    require(set_node_create(circuit, &spec, harness.base.feed, harness.right, &harness.node, &err), &err);
    harness_capture(&harness.base, harness.node);
    assert_string_equal(right(&harness, 0, 1, 5, 1), "");
    assert_string_equal(left(&harness, 9, 1, 5, 1), ""); /* both sides are written */
    assert_string_equal(right(&harness, 18, 1, 5, -1), "+1 1|5|s5");
    assert_string_equal(left(&harness, 28, 1, 5, -1), ""); /* forgotten: what was shown stays */
    assert_string_equal(left(&harness, 29, 1, 5, 1), "+1 1|5|s5");
    harness_close(&harness.base);
}

/* ---- keys in a database ---- */

static void use_database(struct harness *harness, struct memory_db *db)
{
    struct error err;
    harness->circuit->cold = &db->db;
    harness->circuit->spills = harness->circuit->cold_evict_all = true;
    require(circuit_name_nodes(harness->circuit, &err), &err);
    require(circuit_take_cold(harness->circuit, &err), &err);
}

static void expired_keys_leave_the_database_too(struct harness *harness, struct node *node)
{
    struct memory_db *db = memory_open();
    use_database(harness, db);
    for (int64_t key = 0; key < 50; key++) {
        play(harness, key / 25, key, key, 1);
    }
    play(harness, 9, 3, 1, 1); /* lives on */
    assert_int_equal(node_first_cold(node)->out, 50);
    play(harness, 15, 77, 1, 1);
    assert_int_equal(node_first_cold(node)->out, 2);
    play(harness, 18, 3, 1, 1);
    play(harness, 26, 77, 1, 1); /* anew */
    play(harness, 40, 78, 1, 1);
    assert_int_equal(node_first_cold(node)->out, 1);
    assert_in_range(db->count, 2, 3); /* the key, its time, perhaps one that came to nothing */
    changes(harness);
    harness_close(harness);
    memory_close(&db->db);
}

static void expired_groups_leave_the_database(void **state)
{
    (void)state;
    struct harness harness;
    struct node *node;
    open_group(&harness, "SUM", false, false, 10 * SECOND, &node);
    expired_keys_leave_the_database_too(&harness, node);
}

static void expired_keys_of_a_deduplication_leave_the_database(void **state)
{
    (void)state;
    struct harness harness;
    open_deduplicate(&harness, true);
    expired_keys_leave_the_database_too(&harness, harness.circuit->nodes[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expired_groups_leave_the_database),
        cmocka_unit_test(expired_keys_of_a_deduplication_leave_the_database),
        cmocka_unit_test(group_that_was_not_touched_for_so_long_begins_anew),
        cmocka_unit_test(group_without_a_time_to_live_stays),
        cmocka_unit_test(group_ignores_what_is_withdrawn_after_its_time),
        cmocka_unit_test(distinct_values_go_with_their_group),
        cmocka_unit_test(distinct_values_of_forgotten_groups_are_swept),
        cmocka_unit_test(distinct_values_go_with_a_group_over_what_forgets),
        cmocka_unit_test(group_sends_what_has_not_changed),
        cmocka_unit_test(join_sides_expire_each_by_its_own_time),
        cmocka_unit_test(join_side_without_a_time_to_live_stays),
        cmocka_unit_test(outer_row_lives_on_with_its_matches),
        cmocka_unit_test(join_takes_back_what_an_expired_row_had_made),
        cmocka_unit_test(expired_row_that_comes_again_is_a_new_one),
        cmocka_unit_test(semi_and_anti_forget_without_a_word),
        cmocka_unit_test(first_row_is_a_first_one_again_after_its_time),
        cmocka_unit_test(last_row_replaces_what_is_not_forgotten),
        cmocka_unit_test(top_n_forgets_whole_partitions),
        cmocka_unit_test(except_forgets_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
