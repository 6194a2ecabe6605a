#include "../support/batches.h"

#include "state/row_log.h"

/* A log beside a plain array of its rows. */
static const struct type *const types[] = {&type_bigint, &type_string, &type_double, &type_timestamp3_not_null, &type_boolean, &type_int};
static const uint32_t keys[] = {0, 1};
enum { COLUMNS = 6, TIME_COLUMN = 3, BATCH_MAX = 3000, ROWS_MAX = 60000 };

struct model_row {
    int64_t values[COLUMNS], weight;
    bool waits, gone;
};
static struct model_row model[ROWS_MAX]; /* by number */
static uint32_t numbers[ROWS_MAX], number_count;

static int64_t random_value(uint64_t *seed, uint32_t column)
{
    uint64_t random = next_random(seed);
    if (column == TIME_COLUMN) {
        return 0;
    }
    return random % 11 == 0 ? NULL_VALUE : (int64_t)(random % 40) - 20;
}

static void make_rows(struct budget *budget, uint64_t *seed, int64_t now, uint32_t count, struct batch *batch, struct model_row *rows)
{
    static int64_t columns[COLUMNS][BATCH_MAX];
    const int64_t *pointers[COLUMNS];
    for (uint32_t c = 0; c < COLUMNS; c++) {
        for (uint32_t i = 0; i < count; i++) {
            columns[c][i] = c == TIME_COLUMN ? now + (int64_t)(next_random(seed) % 50) : random_value(seed, c);
            rows[i].values[c] = columns[c][i];
        }
        pointers[c] = columns[c];
    }
    fill_batch(budget, types, pointers, COLUMNS, count, batch);
}

/* Appends a batch, of which every second time only some rows are there, and every third time with weights. */
static void append_random(struct row_log *log, uint64_t *seed, int64_t now, bool linked)
{
    static struct model_row rows[BATCH_MAX];
    static uint16_t selected[BATCH_MAX];
    static uint64_t hashes[CHUNK_ROWS];
    static uint32_t added[BATCH_MAX];
    struct error err;
    struct batch batch;
    uint32_t count = 1 + (uint32_t)next_random(seed) % (next_random(seed) % 3 == 0 ? BATCH_MAX : 40);
    make_rows(log->budget, seed, now, count, &batch, rows);
    if (next_random(seed) % 2 == 0) {
        batch.selected = selected;
        for (uint32_t i = (uint32_t)next_random(seed) % 2; i < count; i += 1 + (uint32_t)next_random(seed) % 3) {
            selected[batch.selected_count++] = (uint16_t)i;
        }
    }
    int64_t *weights = NULL;
    if (next_random(seed) % 3 == 0) {
        require(batch_need_weights(log->budget, &batch, count, &weights, &err), &err);
    }
    for (uint32_t i = 0; i < count; i++) {
        rows[i].weight = weights == NULL ? 1 : 1 + (int64_t)(next_random(seed) % 5);
        if (weights != NULL) {
            weights[i] = rows[i].weight;
        }
    }
    batch_hash(&batch, keys, 2, hashes);
    require(row_log_append(log, &batch, hashes, linked, added, &err), &err);
    struct selection all = batch_selection(&batch);
    for (uint32_t k = 0; k < all.count; k++) {
        assert_in_range(added[k], 1, ROWS_MAX - 1);
        model[added[k]] = rows[selection_row(&all, k)];
        model[added[k]].waits = !linked;
        numbers[number_count++] = added[k];
    }
    batch.selected = NULL;
    batch_release(&batch);
}

/* Some numbers, and 0 between them, give the rows that were put in. */
static void check_gather(const struct row_log *log, uint64_t *seed)
{
    static uint64_t asked[BATCH_MAX];
    static int64_t columns[COLUMNS][BATCH_MAX];
    const int64_t *pointers[COLUMNS];
    struct vector vectors[COLUMNS] = {0};
    struct batch expected;
    struct error err;
    for (uint32_t i = 0; i < BATCH_MAX; i++) {
        asked[i] = number_count == 0 || next_random(seed) % 20 == 0 ? 0 : numbers[next_random(seed) % number_count];
        for (uint32_t c = 0; c < COLUMNS; c++) {
            columns[c][i] = asked[i] == 0 ? NULL_VALUE : model[asked[i]].values[c];
            pointers[c] = columns[c];
        }
        if (asked[i] != 0) {
            assert_int_equal(row_log_weight(log, (uint32_t)asked[i]), model[asked[i]].weight);
        }
    }
    fill_batch(log->budget, types, pointers, COLUMNS, BATCH_MAX, &expected);
    require(row_log_gather(log, asked, BATCH_MAX, NULL, COLUMNS, vectors, &err), &err);
    for (uint32_t c = 0; c < COLUMNS; c++) {
        for (uint32_t i = 0; i < BATCH_MAX; i++) {
            assert_true(vector_rows_equal(&vectors[c], i, &expected.columns[c], i));
        }
        vector_release(&vectors[c]);
    }
    batch_release(&expected);
}

static bool model_keys_equal(const struct model_row *left, const struct model_row *right)
{
    return left->values[0] == right->values[0] && left->values[1] == right->values[1];
}

/* A scan finds each waiting row with each row that asks for its keys, once. */
static void check_scan(const struct row_log *log, uint64_t *seed)
{
    enum { ASKING = 60 };
    static struct model_row rows[ASKING];
    static uint64_t hashes[CHUNK_ROWS];
    static struct row_probe probe;
    static uint16_t candidates[LOG_CHUNK_ROWS];
    static const uint16_t selected[] = {1, 2, 5, 8, 13, 21, 34, 55};
    struct batch batch;
    uint64_t found = 0, expected = 0;
    make_rows(log->budget, seed, 0, ASKING, &batch, rows);
    batch.selected = selected;
    batch.selected_count = ARRAY_LENGTH(selected);
    batch_hash(&batch, keys, 2, hashes);
    row_probe_set(&probe, &batch, keys, 2, hashes);
    for (uint32_t chunk = 0; chunk < log->chunk_count; chunk++) {
        uint32_t count = row_log_candidates(log, chunk, &probe, candidates);
        for (uint32_t i = 0; i < count; i++) {
            const struct model_row *row = &model[row_log_number(chunk, candidates[i])];
            assert_true(row->waits && !row->gone);
            uint32_t last = 0;
            for (uint32_t k = ROW_PROBE_END; (k = row_probe_match(&probe, log, chunk, candidates[i], k)) != ROW_PROBE_END; last = k + 1) {
                assert_true(k >= last && model_keys_equal(row, &rows[selected[k]]));
                found++;
            }
        }
    }
    for (uint32_t i = 0; i < number_count; i++) {
        for (uint32_t k = 0; k < ARRAY_LENGTH(selected) && model[numbers[i]].waits; k++) {
            expected += model_keys_equal(&model[numbers[i]], &rows[selected[k]]);
        }
    }
    assert_int_equal(found, expected);
    batch.selected = NULL;
    batch_release(&batch);
}

static void link_all(struct row_log *log)
{
    for (uint32_t chunk = 0; chunk < log->chunk_count; chunk++) {
        row_log_set_linked(log, chunk);
    }
    assert_int_equal(log->waiting, 0);
    for (uint32_t i = 0; i < number_count; i++) {
        model[numbers[i]].waits = false;
    }
}

/* Rows of a dropped chunk are at or below the bound, and none above it is lost. */
static void drop(struct row_log *log, int64_t bound)
{
    for (uint32_t chunk = 0; (chunk = row_log_find_droppable(log, chunk, bound)) < log->chunk_count; chunk++) {
        for (uint32_t row = 0; row < log->chunks[chunk].count; row++) {
            assert_true(model[row_log_number(chunk, row)].values[TIME_COLUMN] <= bound);
            model[row_log_number(chunk, row)].gone = true;
        }
        log->chunks[chunk].saved = log->chunks[chunk].count;
        row_log_drop(log, chunk);
        assert_int_equal(log->chunks[chunk].saved, 0); /* its numbers come again, for rows that are not saved */
    }
    row_log_note_dropped(log);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < number_count; i++) {
        numbers[kept] = numbers[i];
        kept += !model[numbers[i]].gone;
    }
    number_count = kept;
    assert_int_equal(log->rows, kept);
    assert_true(log->next_drop > bound);
}

static void row_log_agrees_with_an_array_of_its_rows(void **state)
{
    (void)state;
    struct budget budget;
    budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
    for (uint64_t round = 1; round <= 20; round++) {
        struct error err;
        struct row_log *log;
        uint64_t seed = round;
        bool drops = round % 2 == 0, linked = false;
        number_count = 0;
        memset(model, 0, sizeof model);
        require(row_log_create(&budget, types, COLUMNS, keys, 2, drops ? TIME_COLUMN : ROW_LOG_NO_TIME, &log, &err), &err);
        for (uint32_t step = 0; step < 40; step++) {
            append_random(log, &seed, (int64_t)step * 20, linked);
            check_scan(log, &seed);
            if (next_random(&seed) % 6 == 0) {
                link_all(log);
                linked = next_random(&seed) % 2 == 0;
            }
            if (drops && next_random(&seed) % 3 == 0) {
                drop(log, (int64_t)step * 20 - 100);
            }
            check_gather(log, &seed);
        }
        assert_int_equal(row_log_bytes(log), budget.used_bytes + log->chunk_capacity * sizeof *log->chunks);
        row_log_destroy(log);
        assert_int_equal(budget.used_bytes, 0);
    }
}

static void row_log_takes_the_memory_of_dropped_rows_again(void **state)
{
    (void)state;
    struct budget budget;
    struct error err;
    struct row_log *log;
    uint64_t seed = 3;
    size_t early = 0;
    budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
    number_count = 0;
    require(row_log_create(&budget, types, COLUMNS, keys, 2, TIME_COLUMN, &log, &err), &err);
    for (uint32_t step = 0; step < 400; step++) {
        append_random(log, &seed, (int64_t)step * 60, false);
        drop(log, (int64_t)step * 60 - 120);
        early = step == 100 ? row_log_bytes(log) : early;
    }
    assert_true(row_log_bytes(log) <= early * 2);
    row_log_destroy(log);
    assert_int_equal(budget.used_bytes, 0);
}

static void row_log_keeps_strings_alive_that_were_fetched(void **state)
{
    (void)state;
    struct budget budget;
    struct error err;
    struct row_log *log;
    struct batch batch;
    static uint32_t added[1];
    const uint64_t asked[] = {1};
    const uint32_t columns[] = {1};
    const int64_t value = 3; /* a long text */
    const int64_t *const pointers[] = {&value, &value, &value, &value, &value, &value};
    struct vector fetched;
    budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
    fill_batch(&budget, types, pointers, COLUMNS, 1, &batch);
    require(row_log_create(&budget, types, COLUMNS, NULL, 0, ROW_LOG_NO_TIME, &log, &err), &err);
    require(row_log_append(log, &batch, NULL, true, added, &err), &err);
    require(row_log_gather(log, asked, 1, columns, 1, &fetched, &err), &err);
    row_log_destroy(log);
    assert_true(vector_rows_equal(&fetched, 0, &batch.columns[1], 0));
    vector_release(&fetched);
    batch_release(&batch);
    assert_int_equal(budget.used_bytes, 0);
}

static void row_log_past_the_budget_fails_and_can_be_closed(void **state)
{
    (void)state;
    struct budget roomy, budget;
    struct error err;
    struct row_log *log;
    struct batch batch;
    static struct model_row rows[BATCH_MAX];
    static uint64_t hashes[CHUNK_ROWS];
    static uint32_t added[BATCH_MAX];
    uint64_t seed = 5;
    budget_init(&roomy, NULL, "roomy", BUDGET_UNLIMITED);
    make_rows(&roomy, &seed, 0, BATCH_MAX, &batch, rows);
    batch_hash(&batch, keys, 2, hashes);
    for (size_t limit = 1000; limit < 200000; limit += 7000) {
        budget_init(&budget, NULL, "test", limit);
        require(row_log_create(&budget, types, COLUMNS, keys, 2, ROW_LOG_NO_TIME, &log, &err), &err);
        assert_int_equal(row_log_append(log, &batch, hashes, false, added, &err), STATUS_NO_MEMORY);
        row_log_destroy(log);
        assert_int_equal(budget.used_bytes, 0);
    }
    batch_release(&batch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(row_log_agrees_with_an_array_of_its_rows),
        cmocka_unit_test(row_log_takes_the_memory_of_dropped_rows_again),
        cmocka_unit_test(row_log_keeps_strings_alive_that_were_fetched),
        cmocka_unit_test(row_log_past_the_budget_fails_and_can_be_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
