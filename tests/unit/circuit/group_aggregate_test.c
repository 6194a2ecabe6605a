#include "../support/circuits.h"

enum { ROWS_MAX = 4000, ARG_COLUMNS = 9 };
/* key, then arguments of many types, then two filters */
static const struct type decimal_small = {TYPE_DECIMAL, true, 10, 2, 0, NULL, NULL},
                         decimal_large = {TYPE_DECIMAL, true, 30, 4, 0, NULL, NULL};
static const struct column columns[] = {
    {"k", &type_int, TIME_NONE},      {"i", &type_int, TIME_NONE},      {"b", &type_bigint, TIME_NONE},   {"d", &type_double, TIME_NONE},
    {"f", &type_float, TIME_NONE},    {"m", &decimal_small, TIME_NONE}, {"w", &decimal_large, TIME_NONE}, {"s", &type_string, TIME_NONE},
    {"t", &type_smallint, TIME_NONE}, {"p", &type_boolean, TIME_NONE},  {"q", &type_boolean, TIME_NONE},
};
static const struct schema schema = {ARRAY_LENGTH(columns), columns};

struct model_row {
    int64_t values[ARRAY_LENGTH(columns)];
};
static struct model_row model[ROWS_MAX];
static uint32_t model_count;

static struct aggregate_spec_call calls[200];
static uint32_t args[200], call_count;

static void add_call(const char *name, uint32_t arg, bool distinct, int32_t filter)
{
    const struct aggregate_function *function = aggregate_find(text_from(name));
    assert_non_null(function);
    args[call_count] = arg;
    calls[call_count] = (struct aggregate_spec_call){
        .function = function, .args = &args[call_count], .arg_count = arg == 0 ? 0 : 1, .distinct = distinct, .filter = filter};
    call_count++;
}

/* DISTINCT keeps the place of a value's first row although that row may go: not compared where rows have an order. */
static void add_calls(bool ordered)
{
    static const char *const numeric[] = {"SUM", "AVG", "MIN", "MAX", "VAR_POP", "STDDEV_SAMP", "COUNT"};
    static const char *const any[] = {"MIN", "MAX", "COUNT", "FIRST_VALUE", "LAST_VALUE", "ARRAY_AGG", "APPROX_COUNT_DISTINCT"};
    call_count = 0;
    add_call("COUNT", 0, false, -1);
    for (uint32_t column = 1; column < ARG_COLUMNS; column++) {
        for (uint32_t i = 0; i < ARRAY_LENGTH(numeric) && columns[column].type != &type_string; i++) {
            add_call(numeric[i], column, false, i % 3 == 0 ? 9 : -1);
        }
        for (uint32_t i = 0; i < ARRAY_LENGTH(any); i++) {
            add_call(any[i], column, !ordered && i % 2 == 1, i % 3 == 1 ? 10 : -1);
        }
        add_call("COUNT", column, true, -1);
        add_call("COUNT", column, true, 9);
        add_call("COUNT", column, true, 10);
    }
    add_call("LISTAGG", 7, false, -1);
    add_call("LISTAGG", 7, !ordered, 9);
}

static void push(struct harness *harness, const struct model_row *rows, const int64_t *weights, const int64_t *ordinals, uint32_t count)
{
    static int64_t values[ARRAY_LENGTH(columns)][CHUNK_ROWS];
    const int64_t *pointers[ARRAY_LENGTH(columns)];
    const struct type *types[ARRAY_LENGTH(columns)];
    struct error err;
    for (uint32_t c = 0; c < ARRAY_LENGTH(columns); c++) {
        for (uint32_t i = 0; i < count; i++) {
            values[c][i] = rows[i].values[c];
        }
        pointers[c] = values[c];
        types[c] = columns[c].type;
    }
    struct batch batch;
    fill_batch(&harness->budget, types, pointers, ARRAY_LENGTH(columns), count, &batch);
    batch.weights = weights;
    batch.ordered = ordinals != NULL;
    batch.ordinals = ordinals;
    require(feed_receive(harness->feed, 0, &batch, &err), &err);
    batch.weights = batch.ordinals = NULL;
    batch_release(&batch);
}

/* In an ordered test all columns follow from one value: a withdrawal takes the earliest equal value, of whatever row. */
static struct model_row random_row(uint64_t *seed, bool one_value)
{
    struct model_row row;
    row.values[0] = (int64_t)(next_random(seed) % 6);
    for (uint32_t c = 1; c < ARRAY_LENGTH(columns); c++) {
        uint64_t random = next_random(seed);
        row.values[c] = random % 9 == 0 ? NULL_VALUE : (int64_t)(random % 13) - 6;
        row.values[c] = one_value && c > 1 ? row.values[1] : row.values[c];
    }
    return row;
}

static char *run_final(const struct group_aggregate_spec *changing)
{
    struct harness harness;
    struct error err;
    struct node *node;
    struct group_aggregate_spec spec = *changing;
    static int64_t ordinals[CHUNK_ROWS];
    spec.input.changes = false;
    harness_open(&harness);
    require(group_aggregate_create(harness.circuit, &spec, harness.feed, &node, &err), &err);
    harness_capture(&harness, node);
    for (uint32_t from = 0; from < model_count; from += 100) {
        uint32_t count = model_count - from < 100 ? model_count - from : 100;
        for (uint32_t i = 0; i < count; i++) {
            ordinals[i] = from + i;
        }
        push(&harness, model + from, NULL, spec.input.ordered ? ordinals : NULL, count);
    }
    require(harness_finish(&harness, 0, true, &err), &err);
    char *rows = harness_rows(&harness);
    harness_close(&harness);
    return rows;
}

/* A random changelog in ticks and chunks of random size gives what its final rows give in one tick. */
static void compare_with_final_rows(uint64_t seed, bool ordered, bool global)
{
    static const uint32_t keys[] = {0};
    struct harness harness;
    struct error err;
    struct node *node;
    add_calls(ordered);
    const struct group_aggregate_spec spec = {
        .input = {.schema = &schema, .changes = true, .ordered = ordered},
        .keys = keys,
        .key_count = global ? 0 : 1,
        .calls = calls,
        .call_count = call_count,
        .emit_empty_row = global,
    };
    model_count = 0;
    harness_open(&harness);
    require(group_aggregate_create(harness.circuit, &spec, harness.feed, &node, &err), &err);
    harness_capture(&harness, node);
    int64_t ordinal = 0;
    for (uint32_t tick = 0; tick < 12; tick++) {
        uint32_t chunks = (uint32_t)next_random(&seed) % 4;
        for (uint32_t c = 0; c < chunks; c++) {
            struct model_row rows[40];
            int64_t weights[40], ordinals[40];
            uint32_t count = 1 + (uint32_t)next_random(&seed) % 39;
            for (uint32_t i = 0; i < count; i++) {
                ordinals[i] = ordinal++;
                if (model_count > 0 && next_random(&seed) % 5 < 2 + tick / 8) {
                    uint32_t gone = (uint32_t)next_random(&seed) % model_count;
                    rows[i] = model[gone];
                    weights[i] = -1;
                    for (gone = 0; memcmp(&model[gone], &rows[i], sizeof rows[i]) != 0; gone++) { /* the earliest equal row goes */
                    }
                    model_count--;
                    memmove(&model[gone], &model[gone + 1], (model_count - gone) * sizeof *model);
                } else {
                    rows[i] = random_row(&seed, ordered);
                    rows[i].values[0] = global ? 0 : rows[i].values[0];
                    weights[i] = 1;
                    model[model_count++] = rows[i];
                }
            }
            push(&harness, rows, weights, ordered ? ordinals : NULL, count);
        }
        require(harness_finish(&harness, 0, tick == 11, &err), &err);
    }
    char *changing = harness_rows(&harness), *final = run_final(&spec);
    assert_true(model_count == 0 || strlen(final) > 200);
    assert_rows_equal(changing, final);
    free(changing);
    free(final);
    harness_close(&harness);
}

static void group_aggregate_of_a_changelog_equals_that_of_its_final_rows(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        compare_with_final_rows(seed, false, seed % 4 == 0);
        compare_with_final_rows(seed, true, seed % 4 == 0);
    }
}

static void group_aggregate_without_rows_gives_one_row_when_global(void **state)
{
    (void)state;
    struct harness harness;
    struct error err;
    struct node *node;
    call_count = 0;
    add_call("COUNT", 0, false, -1);
    add_call("SUM", 1, false, -1);
    const struct group_aggregate_spec spec = {
        .input = {.schema = &schema, .changes = true}, .calls = calls, .call_count = call_count, .emit_empty_row = true};
    harness_open(&harness);
    require(group_aggregate_create(harness.circuit, &spec, harness.feed, &node, &err), &err);
    harness_capture(&harness, node);
    require(harness_finish(&harness, 0, false, &err), &err);
    char *rows = harness_rows(&harness);
    assert_string_equal(rows, "0|NULL\n");
    free(rows);
    harness_close(&harness);
}

static void sum_that_comes_back_into_range_is_exact_and_one_that_does_not_fails(void **state)
{
    (void)state;
    static const uint32_t keys[] = {0};
    for (int back = 0; back < 2; back++) {
        struct harness harness;
        struct error err;
        struct node *node;
        call_count = 0;
        add_call("SUM", 2, false, -1);
        const struct group_aggregate_spec spec = {
            .input = {.schema = &schema}, .keys = keys, .key_count = 1, .calls = calls, .call_count = call_count};
        harness_open(&harness);
        require(group_aggregate_create(harness.circuit, &spec, harness.feed, &node, &err), &err);
        harness_capture(&harness, node);
        struct model_row row = {{1, 0, INT64_MAX, 0, 0, 0, 0, 0, 0, 0, 0}};
        push(&harness, &row, NULL, NULL, 1);
        require(harness_finish(&harness, 0, false, &err), &err);
        row.values[2] = 5;
        push(&harness, &row, NULL, NULL, 1);
        require(harness_finish(&harness, 0, false, &err), &err);
        row.values[2] = back ? -7 : 1;
        push(&harness, &row, NULL, NULL, 1);
        enum status status = harness_finish(&harness, 0, true, &err);
        if (back) {
            char *rows = harness_rows(&harness);
            assert_string_equal(rows, "1|9223372036854775805\n");
            free(rows);
        } else {
            assert_int_equal(status, STATUS_BAD_VALUE);
            assert_non_null(strstr(err.text, "k = 1"));
        }
        harness_close(&harness);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(group_aggregate_of_a_changelog_equals_that_of_its_final_rows),
        cmocka_unit_test(group_aggregate_without_rows_gives_one_row_when_global),
        cmocka_unit_test(sum_that_comes_back_into_range_is_exact_and_one_that_does_not_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
