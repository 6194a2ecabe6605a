#include "../support/circuits.h"

#include <math.h>

#include "functions/function.h"

/* Random inserts and withdrawals on both sides, cut into chunks and ticks at random, beside a join computed from the rows that stand. */
enum { COLUMNS = 4, SIDE_ROWS_MAX = 4000, CHUNK_MAX = 500, KEY = 0, TEXT = 1, VALUE = 2, TIME = 3 };
static const struct column columns[] = {
    {"k", &type_bigint, TIME_NONE}, {"s", &type_string, TIME_NONE}, {"v", &type_bigint, TIME_NONE}, {"t", &type_timestamp3, TIME_NONE}};
static const struct schema schema = {COLUMNS, columns};
static const struct column pair_columns[] = {
    {"k", &type_bigint, TIME_NONE},  {"s", &type_string, TIME_NONE},  {"v", &type_bigint, TIME_NONE},  {"t", &type_timestamp3, TIME_NONE},
    {"k2", &type_bigint, TIME_NONE}, {"s2", &type_string, TIME_NONE}, {"v2", &type_bigint, TIME_NONE}, {"t2", &type_timestamp3, TIME_NONE}};
static const struct schema pair_schema = {2 * COLUMNS, pair_columns};

struct model_row {
    int64_t values[COLUMNS];
};
struct model_side {
    struct model_row rows[SIDE_ROWS_MAX];
    uint32_t count;
};
static struct model_side model[2];

struct shape {
    enum join_kind kind;
    uint32_t key_count;
    bool null_safe, conditional, changes[2];
    uint32_t condition_column;
};
struct fixture {
    struct harness harness;
    struct node *feeds[2], *join;
    struct join_spec spec;
};
static const uint32_t keys[] = {KEY, TEXT};

/* left.c >= right.c */
static const struct expression *condition_make(struct harness *harness, uint32_t column)
{
    struct error err;
    struct arena *arena = harness->circuit->arena;
    const struct expression *condition, *args[] = {expression_column(arena, column, columns[column].type),
                                                   expression_column(arena, COLUMNS + column, columns[column].type)};
    require(function_call_named(arena, &harness->evaluation, ">=", args, 2, &condition, &err), &err);
    return condition;
}

static void fixture_open(struct fixture *fixture, const struct shape *shape, const struct join_prune *prune)
{
    static const bool null_safe[] = {true, true}, plain[] = {false, false};
    struct error err;
    struct harness *harness = &fixture->harness;
    harness_open(harness);
    fixture->feeds[0] = harness->feed;
    fixture->feeds[1] = arena_alloc(harness->circuit->arena, sizeof *harness->feed);
    require(circuit_add(harness->circuit, fixture->feeds[1], &feed_type, "feed", NULL, 0, &err), &err);
    bool pairs = shape->kind != JOIN_SEMI && shape->kind != JOIN_ANTI;
    fixture->spec = (struct join_spec){.left = {.schema = &schema, .changes = shape->changes[0]},
                                       .right = {.schema = &schema, .changes = shape->changes[1]},
                                       .kind = shape->kind,
                                       .left_keys = keys,
                                       .right_keys = keys,
                                       .null_safe = shape->null_safe ? null_safe : plain,
                                       .key_count = shape->key_count,
                                       .condition = shape->conditional ? condition_make(harness, shape->condition_column) : NULL,
                                       .output = pairs ? &pair_schema : &schema};
    if (prune != NULL) {
        fixture->spec.prune[0] = *prune;
    }
    require(join_node_create(harness->circuit, &fixture->spec, fixture->feeds[0], fixture->feeds[1], &fixture->join, &err), &err);
    harness_capture(harness, fixture->join);
}

static void push(struct fixture *fixture, uint32_t side, const struct model_row *rows, const int64_t *weights, uint32_t count)
{
    static int64_t values[COLUMNS][CHUNK_ROWS];
    const int64_t *pointers[COLUMNS];
    const struct type *types[COLUMNS];
    struct error err;
    for (uint32_t c = 0; c < COLUMNS; c++) {
        for (uint32_t i = 0; i < count; i++) {
            values[c][i] = rows[i].values[c];
        }
        pointers[c] = values[c];
        types[c] = columns[c].type;
    }
    struct batch batch;
    fill_batch(&fixture->harness.budget, types, pointers, COLUMNS, count, &batch);
    batch.weights = weights;
    require(node_emit(fixture->feeds[side], &batch, &err), &err);
    batch.weights = NULL;
    batch_release(&batch);
}

/* ---- the model ---- */

static bool model_matches(const struct shape *shape, const struct model_row *left, const struct model_row *right)
{
    for (uint32_t k = 0; k < shape->key_count; k++) {
        int64_t l = left->values[keys[k]], r = right->values[keys[k]];
        if (l != r || (l == NULL_VALUE && !shape->null_safe)) {
            return false;
        }
    }
    int64_t l = left->values[shape->condition_column], r = right->values[shape->condition_column];
    return !shape->conditional || (l != NULL_VALUE && r != NULL_VALUE && l >= r);
}

static void expect_row(struct budget *budget, struct capture *capture, const struct model_row *left, const struct model_row *right,
                       uint32_t column_count)
{
    static const struct model_row none = {{NULL_VALUE, NULL_VALUE, NULL_VALUE, NULL_VALUE}};
    const struct model_row *sides[] = {left == NULL ? &none : left, right == NULL ? &none : right};
    const int64_t *pointers[2 * COLUMNS];
    const struct type *types[2 * COLUMNS];
    struct batch batch;
    struct error err;
    for (uint32_t c = 0; c < column_count; c++) {
        pointers[c] = &sides[c / COLUMNS]->values[c % COLUMNS];
        types[c] = columns[c % COLUMNS].type;
    }
    fill_batch(budget, types, pointers, column_count, 1, &batch);
    require(capture_receive(&capture->node, 0, &batch, &err), &err);
    batch_release(&batch);
}

static char *expected_rows(const struct shape *shape)
{
    struct budget budget;
    struct capture capture = {0};
    struct harness harness = {.capture = &capture};
    enum join_kind kind = shape->kind;
    bool pairs = kind != JOIN_SEMI && kind != JOIN_ANTI;
    static bool right_matched[SIDE_ROWS_MAX];
    budget_init(&budget, NULL, "expected", BUDGET_UNLIMITED);
    memset(right_matched, 0, sizeof right_matched);
    for (uint32_t l = 0; l < model[0].count; l++) {
        bool matched = false;
        for (uint32_t r = 0; r < model[1].count; r++) {
            if (model_matches(shape, &model[0].rows[l], &model[1].rows[r])) {
                matched = right_matched[r] = true;
                if (pairs) {
                    expect_row(&budget, &capture, &model[0].rows[l], &model[1].rows[r], 2 * COLUMNS);
                }
            }
        }
        if (!pairs && matched == (kind == JOIN_SEMI)) {
            expect_row(&budget, &capture, &model[0].rows[l], NULL, COLUMNS);
        } else if (!matched && (kind == JOIN_LEFT || kind == JOIN_FULL)) {
            expect_row(&budget, &capture, &model[0].rows[l], NULL, 2 * COLUMNS);
        }
    }
    for (uint32_t r = 0; r < model[1].count && (kind == JOIN_RIGHT || kind == JOIN_FULL); r++) {
        if (!right_matched[r]) {
            expect_row(&budget, &capture, NULL, &model[1].rows[r], 2 * COLUMNS);
        }
    }
    char *rows = harness_rows(&harness);
    capture_close(&capture.node);
    return rows;
}

/* ---- random runs ---- */

static struct model_row random_row(uint64_t *seed)
{
    struct model_row row;
    for (uint32_t c = 0; c < COLUMNS; c++) {
        uint64_t random = next_random(seed), kinds = c == KEY ? 40 : c == TEXT ? 4 : 20;
        row.values[c] = random % 13 == 0 ? NULL_VALUE : (int64_t)(random % kinds) * (c == TIME ? 1000 : 1);
    }
    return row;
}

static void push_random(struct fixture *fixture, const struct shape *shape, uint32_t side, uint64_t *seed)
{
    static struct model_row rows[CHUNK_MAX];
    static int64_t weights[CHUNK_MAX];
    struct model_side *standing = &model[side];
    uint32_t count = 1 + (uint32_t)next_random(seed) % (shape->key_count > 0 && next_random(seed) % 8 == 0 ? 100 : 8);
    for (uint32_t i = 0; i < count; i++) {
        bool withdraws = shape->changes[side] && standing->count > 0 && next_random(seed) % 3 == 0;
        weights[i] = withdraws ? -1 : 1;
        if (withdraws) {
            uint32_t gone = (uint32_t)next_random(seed) % standing->count;
            rows[i] = standing->rows[gone];
            standing->rows[gone] = standing->rows[--standing->count];
        } else {
            rows[i] = random_row(seed);
            assert_true(standing->count < SIDE_ROWS_MAX);
            standing->rows[standing->count++] = rows[i];
        }
    }
    push(fixture, side, rows, shape->changes[side] ? weights : NULL, count);
}

static void compare_with_model(const struct shape *shape, uint64_t seed)
{
    struct fixture fixture;
    struct error err;
    model[0].count = model[1].count = 0;
    fixture_open(&fixture, shape, NULL);
    for (uint32_t tick = 0; tick < 8; tick++) {
        uint32_t chunks = (uint32_t)next_random(&seed) % 6, favoured = (uint32_t)next_random(&seed) % 2;
        for (uint32_t c = 0; c < chunks; c++) {
            push_random(&fixture, shape, next_random(&seed) % 4 == 0 ? 1 - favoured : favoured, &seed);
        }
        require(harness_finish(&fixture.harness, 0, tick == 7, &err), &err);
        if (tick % 4 == 3) {
            char *actual = harness_rows(&fixture.harness), *expected = expected_rows(shape);
            assert_rows_equal(actual, expected);
            free(actual);
            free(expected);
        }
    }
    harness_close(&fixture.harness);
}

static void join_of_random_changes_equals_that_of_the_rows_that_stand(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 120; seed++) {
        uint64_t random = seed * 77;
        struct shape shape = {.kind = (enum join_kind)(seed % 6),
                              .key_count = (uint32_t)next_random(&random) % 8 == 0 ? 0 : 1 + (uint32_t)next_random(&random) % 2,
                              .null_safe = next_random(&random) % 3 == 0,
                              .conditional = next_random(&random) % 2 == 0,
                              .condition_column = VALUE};
        shape.changes[0] = next_random(&random) % 2 == 0;
        shape.changes[1] = next_random(&random) % 2 == 0;
        compare_with_model(&shape, seed);
    }
}

static int64_t captured_weight(const struct harness *harness)
{
    int64_t weight = 0;
    for (uint32_t i = 0; i < harness->capture->count; i++) {
        weight += harness->capture->rows[i].weight;
    }
    return weight;
}

/* One side comes in bulk, the other now and then, then in bulk too: rows wait, are scanned, get into lists, and wait again. */
static void join_finds_rows_that_waited_and_rows_in_lists_alike(void **state)
{
    (void)state;
    enum { BULK = 40, KEYS = 100000 };
    static struct model_row rows[CHUNK_MAX];
    struct fixture fixture;
    struct error err;
    static const struct shape shape = {.kind = JOIN_INNER, .key_count = 1};
    static int64_t count_of_key[2][KEYS];
    int64_t expected = 0;
    uint64_t seed = 4;
    fixture_open(&fixture, &shape, NULL);
    for (uint32_t step = 0; step < 420; step++) {
        bool quiet = step < 40 || (step > 60 && step < 300);
        uint32_t side = quiet ? step % 20 == 19 && step < 100 : step % 2;
        uint32_t count = side == 1 && quiet ? 1 : CHUNK_MAX - (uint32_t)next_random(&seed) % BULK;
        for (uint32_t i = 0; i < count; i++) {
            rows[i] = (struct model_row){{(int64_t)(next_random(&seed) % KEYS), 0, 0, 0}};
            count_of_key[side][rows[i].values[0]]++;
            expected += count_of_key[1 - side][rows[i].values[0]];
        }
        push(&fixture, side, rows, NULL, count);
        require(harness_finish(&fixture.harness, 0, false, &err), &err);
        assert_int_equal(captured_weight(&fixture.harness), expected);
    }
    harness_close(&fixture.harness);
}

/* Right rows are above the right watermark, and a left row meets right rows up to its own time: it may go when the watermark passes it. */
static void join_with_dropped_rows_equals_that_of_all_rows(void **state)
{
    (void)state;
    static const enum join_kind kinds[] = {JOIN_INNER, JOIN_RIGHT};
    for (uint64_t round = 1; round <= 40; round++) {
        struct fixture fixture;
        struct error err;
        struct shape shape = {.kind = kinds[round % 2], .key_count = 1, .conditional = true, .condition_column = TIME};
        static const struct join_prune prune = {true, TIME, 0};
        uint64_t seed = round;
        int64_t watermark = WATERMARK_NONE;
        model[0].count = model[1].count = 0;
        fixture_open(&fixture, &shape, &prune);
        for (uint32_t tick = 0; tick < 60; tick++) {
            int64_t now = (int64_t)tick * 10000;
            bool eager = round % 3 == 0; /* so many right rows that the left ones get into lists */
            for (uint32_t chunk = 0; chunk < 4; chunk++) {
                struct model_row rows[CHUNK_MAX];
                uint32_t side = chunk % 2, count = side == 0 ? 1 + (uint32_t)next_random(&seed) % 20
                                                   : eager   ? (tick == 1 ? 400 : 20)
                                                             : tick % 5 == 0;
                for (uint32_t i = 0; i < count; i++) {
                    rows[i] = random_row(&seed);
                    rows[i].values[KEY] = (int64_t)(next_random(&seed) % (eager ? 300 : 10));
                    int64_t least = side == 0 || watermark == WATERMARK_NONE ? now - 30000 : watermark;
                    int64_t time = least + 1000 * (1 + (int64_t)(next_random(&seed) % 50));
                    rows[i].values[TIME] = side == 0 && next_random(&seed) % 10 == 0 ? NULL_VALUE : time;
                    model[side].rows[model[side].count++] = rows[i];
                }
                if (count > 0) {
                    push(&fixture, side, rows, NULL, count);
                }
            }
            watermark = now - 20000;
            fixture.feeds[1]->watermark = watermark;
            require(harness_finish(&fixture.harness, WATERMARK_NONE, false, &err), &err);
        }
        char *actual = harness_rows(&fixture.harness), *expected = expected_rows(&shape);
        assert_true(strlen(expected) > 1000);
        assert_rows_equal(actual, expected);
        free(actual);
        free(expected);
        harness_close(&fixture.harness);
    }
}

static void join_that_drops_rows_does_not_grow(void **state)
{
    (void)state;
    static struct model_row rows[CHUNK_MAX];
    static const struct shape shape = {.kind = JOIN_INNER, .key_count = 1, .conditional = true, .condition_column = TIME};
    static const struct join_prune prune = {true, TIME, 0};
    struct fixture fixture;
    struct error err;
    uint64_t seed = 9, early = 0;
    fixture_open(&fixture, &shape, &prune);
    for (uint32_t tick = 0; tick < 400; tick++) {
        for (uint32_t i = 0; i < CHUNK_MAX; i++) {
            rows[i] = random_row(&seed);
            rows[i].values[TIME] = (int64_t)tick * 1000;
        }
        push(&fixture, 0, rows, NULL, CHUNK_MAX);
        fixture.feeds[1]->watermark = (int64_t)tick * 1000 - 5000;
        require(harness_finish(&fixture.harness, WATERMARK_NONE, false, &err), &err);
        early = tick == 40 ? fixture.join->metrics.state_bytes : early;
    }
    assert_true(fixture.join->metrics.state_bytes <= early * 3 / 2);
    harness_close(&fixture.harness);
}

/* 0.0 = -0.0 and NaN = NaN, whether a row waits or is in a list. */
static void join_on_doubles_follows_the_one_equality(void **state)
{
    (void)state;
    static const struct column one[] = {{"d", &type_double, TIME_NONE}},
                               two[] = {{"d", &type_double, TIME_NONE}, {"e", &type_double, TIME_NONE}};
    static const struct schema side = {1, one}, output = {2, two};
    static const uint32_t key[] = {0};
    static const bool plain[] = {false};
    static const double left[] = {0.0, -0.0, NAN, 1.0}, right[] = {-0.0, -NAN, 2.0};
    const struct join_spec spec = {.left = {.schema = &side},
                                   .right = {.schema = &side},
                                   .kind = JOIN_INNER,
                                   .left_keys = key,
                                   .right_keys = key,
                                   .null_safe = plain,
                                   .key_count = 1,
                                   .output = &output};
    for (uint32_t repeats = 1; repeats <= 64; repeats *= 64) {
        struct harness harness;
        struct error err;
        struct node *feeds[2], *join;
        harness_open(&harness);
        feeds[0] = harness.feed;
        feeds[1] = arena_alloc(harness.circuit->arena, sizeof *harness.feed);
        require(circuit_add(harness.circuit, feeds[1], &feed_type, "feed", NULL, 0, &err), &err);
        require(join_node_create(harness.circuit, &spec, feeds[0], feeds[1], &join, &err), &err);
        harness_capture(&harness, join);
        for (uint32_t i = 0; i < 1 + repeats; i++) {
            const double *values = i == 0 ? left : right;
            uint32_t count = i == 0 ? ARRAY_LENGTH(left) : ARRAY_LENGTH(right);
            struct vector vector = {.type = &type_double, .physical = PHYSICAL_DOUBLE, .count = count, .values = (void *)(uintptr_t)values};
            struct batch batch = {.count = count, .column_count = 1, .columns = &vector};
            require(node_emit(feeds[i > 0], &batch, &err), &err);
        }
        assert_int_equal(captured_weight(&harness), 3 * repeats);
        harness_close(&harness);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(join_of_random_changes_equals_that_of_the_rows_that_stand),
        cmocka_unit_test(join_finds_rows_that_waited_and_rows_in_lists_alike),
        cmocka_unit_test(join_with_dropped_rows_equals_that_of_all_rows),
        cmocka_unit_test(join_that_drops_rows_does_not_grow),
        cmocka_unit_test(join_on_doubles_follows_the_one_equality),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
