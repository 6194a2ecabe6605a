#include "../support/batches.h"

#include <stdlib.h>

#include "state/key_table.h"

enum { MODEL_KEYS = 3000 };
static const uint32_t key_order[] = {0, 1, 2, 3};

static void compare_gathered(struct key_table *table, const struct batch *batch, const uint32_t *slots, uint32_t key_count)
{
    struct error err;
    for (uint32_t c = 0; c < key_count; c++) {
        static uint32_t found[CHUNK_ROWS];
        static uint32_t row_of[CHUNK_ROWS];
        uint32_t count = 0;
        for (uint32_t i = 0; i < batch->count; i++) {
            found[count] = slots[i];
            row_of[count] = i;
            count += slots[i] != SLOT_NONE;
        }
        if (count == 0) {
            continue;
        }
        struct vector gathered;
        require(key_table_gather(table, c, found, count, &gathered, &err), &err);
        for (uint32_t i = 0; i < count; i++) {
            assert_true(vector_rows_equal(&gathered, i, &batch->columns[c], row_of[i]));
        }
        vector_release(&gathered);
    }
}

/* Every row adds one to its key's count; the number of new keys. */
static uint32_t count_rows(struct key_table *table, const uint32_t *number, const uint32_t *slots, uint32_t *slot_of, int64_t *count_of,
                           uint32_t rows)
{
    uint32_t fresh = 0;
    for (uint32_t i = 0; i < rows; i++) {
        int64_t *counts = key_table_values(table, 0);
        uint8_t *wide = (uint8_t *)key_table_values(table, 1) + slots[i] * 24u;
        if (slot_of[number[i]] == SLOT_NONE) {
            assert_int_equal(counts[slots[i]], 0);
            assert_int_equal(wide[23], 0);
            slot_of[number[i]] = slots[i];
            fresh++;
        }
        assert_int_equal(slot_of[number[i]], slots[i]);
        assert_int_equal(counts[slots[i]], count_of[number[i]]);
        counts[slots[i]]++;
        wide[23] = 1;
        count_of[number[i]]++;
    }
    return fresh;
}

/* Random inserts, lookups and removals of one or two key columns, compared with an array indexed by the key's number. */
static void compare_with_model(const struct type *const *types, uint32_t key_count, bool collide, bool nulls)
{
    struct budget budget;
    budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
    struct error err;
    struct key_table *table;
    const uint32_t value_bytes[] = {8, 24};
    uint64_t seed = 7;
    static uint32_t slot_of[MODEL_KEYS];
    static int64_t count_of[MODEL_KEYS];
    for (uint32_t i = 0; i < MODEL_KEYS; i++) {
        slot_of[i] = SLOT_NONE;
        count_of[i] = 0;
    }
    uint32_t keys = collide ? 200 : MODEL_KEYS, live = 0;
    require(key_table_create(&budget, types, key_count, value_bytes, 2, &table, &err), &err);
    for (uint32_t round = 0; round < 60; round++) {
        static int64_t first[CHUNK_ROWS], second[CHUNK_ROWS];
        static uint32_t number[CHUNK_ROWS], slots[CHUNK_ROWS];
        static uint64_t hashes[CHUNK_ROWS];
        uint32_t rows = 1 + (uint32_t)next_random(&seed) % 700;
        for (uint32_t i = 0; i < rows; i++) {
            number[i] = (uint32_t)next_random(&seed) % keys;
            first[i] = nulls && number[i] % 50 == 7 ? NULL_VALUE : (int64_t)number[i] / (key_count == 2 ? 50 : 1) - 30;
            second[i] = number[i] % 50;
            if (nulls && number[i] % 50 == 7 && key_count == 1) {
                number[i] = 7;
            }
        }
        struct batch batch;
        const int64_t *columns[] = {first, second};
        fill_batch(&budget, types, columns, key_count, rows, &batch);
        batch_hash(&batch, key_order, key_count, hashes);
        for (uint32_t i = 0; collide && i < rows; i++) {
            hashes[i] = hashes[i] % 3 * 0x0100000000000080u;
        }
        if (nulls && key_count == 2) { /* NULLs of the first column fall together by the second */
            for (uint32_t i = 0; i < rows; i++) {
                number[i] = number[i] % 50 == 7 ? 7 : number[i];
            }
        }
        require(key_table_find_or_insert(table, &batch, key_order, hashes, slots, &err), &err);
        live += count_rows(table, number, slots, slot_of, count_of, rows);
        assert_int_equal(key_table_count(table), live);
        for (uint32_t i = 0; i < rows; i += 3) {
            if (slot_of[number[i]] != SLOT_NONE && next_random(&seed) % 2 == 0) {
                key_table_remove(table, slot_of[number[i]]);
                assert_false(key_table_has(table, slot_of[number[i]]));
                slot_of[number[i]] = SLOT_NONE;
                count_of[number[i]] = 0;
                live--;
            }
        }
        key_table_find(table, &batch, key_order, hashes, slots);
        for (uint32_t i = 0; i < rows; i++) {
            assert_int_equal(slots[i], slot_of[number[i]]);
        }
        compare_gathered(table, &batch, slots, key_count);
        batch_release(&batch);
    }
    key_table_destroy(table);
    assert_int_equal(budget.used_bytes, 0);
}

static void key_table_agrees_with_a_model_for_every_shape_of_key(void **state)
{
    (void)state;
    static const struct type *const kinds[] = {&type_bigint,   &type_int,   &type_string,    &type_double,
                                               &type_smallint, &type_float, &type_timestamp3};
    for (uint32_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        for (int nulls = 0; nulls < 2; nulls++) {
            compare_with_model((const struct type *const[]){kinds[i]}, 1, false, nulls != 0);
            compare_with_model((const struct type *const[]){kinds[i], &type_bigint}, 2, false, nulls != 0);
            compare_with_model((const struct type *const[]){kinds[i], &type_string}, 2, false, nulls != 0);
        }
    }
}

static void key_table_finds_keys_whose_hashes_collide(void **state)
{
    (void)state;
    compare_with_model((const struct type *const[]){&type_bigint}, 1, true, false);
    compare_with_model((const struct type *const[]){&type_string}, 1, true, true);
}

static void key_table_insert_past_the_budget_changes_nothing(void **state)
{
    (void)state;
    struct budget roomy, budget;
    budget_init(&roomy, NULL, "roomy", BUDGET_UNLIMITED);
    budget_init(&budget, NULL, "test", 100 * 1000);
    struct error err;
    struct key_table *table;
    const struct type *const types[] = {&type_string};
    const uint32_t value_bytes = 8;
    static int64_t values[CHUNK_ROWS];
    static uint64_t hashes[CHUNK_ROWS];
    static uint32_t slots[CHUNK_ROWS];
    require(key_table_create(&budget, types, 1, &value_bytes, 1, &table, &err), &err);
    bool failed = false;
    for (uint32_t round = 0; round < 10 && !failed; round++) {
        for (uint32_t i = 0; i < 1000; i++) {
            values[i] = (int64_t)(round * 1000 + i);
        }
        struct batch batch;
        const int64_t *columns[] = {values};
        fill_batch(&roomy, types, columns, 1, 1000, &batch);
        batch_hash(&batch, key_order, 1, hashes);
        uint32_t before = key_table_count(table);
        failed = key_table_find_or_insert(table, &batch, key_order, hashes, slots, &err) != STATUS_OK;
        assert_int_equal(key_table_count(table), failed ? before : before + 1000);
        batch_release(&batch);
    }
    assert_true(failed);
    assert_int_equal(err.status, STATUS_NO_MEMORY);
    key_table_destroy(table);
    assert_int_equal(budget.used_bytes, 0);
}

static void key_table_without_keys_has_one_slot(void **state)
{
    (void)state;
    struct budget budget;
    budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
    struct error err;
    struct key_table *table;
    const uint32_t value_bytes = 8;
    uint64_t hashes[2];
    uint32_t slots[2];
    struct batch batch = {.count = 2};
    require(key_table_create(&budget, NULL, 0, &value_bytes, 1, &table, &err), &err);
    batch_hash(&batch, NULL, 0, hashes);
    require(key_table_find_or_insert(table, &batch, NULL, hashes, slots, &err), &err);
    assert_int_equal(slots[0], slots[1]);
    assert_int_equal(key_table_count(table), 1);
    key_table_destroy(table);
}

static void key_table_takes_zeros_of_both_signs_and_all_nans_as_one_key(void **state)
{
    (void)state;
    struct budget budget;
    budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
    struct error err;
    struct key_table *table;
    const struct type *const types[] = {&type_double};
    uint64_t hashes[4];
    uint32_t slots[4];
    struct batch batch;
    static const int64_t zeros[] = {0, 0, 0, 0};
    const int64_t *columns[] = {zeros};
    fill_batch(&budget, types, columns, 1, 4, &batch);
    vector_double(&batch.columns[0])[1] = -0.0;
    vector_double(&batch.columns[0])[2] = strtod("nan", NULL);
    vector_double(&batch.columns[0])[3] = -strtod("nan(1)", NULL);
    require(key_table_create(&budget, types, 1, NULL, 0, &table, &err), &err);
    batch_hash(&batch, key_order, 1, hashes);
    require(key_table_find_or_insert(table, &batch, key_order, hashes, slots, &err), &err);
    assert_int_equal(slots[0], slots[1]);
    assert_int_equal(slots[2], slots[3]);
    assert_int_equal(key_table_count(table), 2);
    batch_release(&batch);
    key_table_destroy(table);
}

static void key_table_refuses_more_columns_than_it_has_room_for(void **state)
{
    (void)state;
    struct budget budget;
    budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
    struct error err;
    static const struct type bigint = {.kind = TYPE_BIGINT};
    static const struct type *types[2000];
    for (int i = 0; i < 2000; i++) {
        types[i] = &bigint;
    }
    struct key_table *table = NULL;
    assert_int_not_equal(key_table_create(&budget, types, 2000, NULL, 0, &table, &err), STATUS_OK);
    assert_int_equal(err.code, ERROR_TOO_MANY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(key_table_agrees_with_a_model_for_every_shape_of_key),
        cmocka_unit_test(key_table_finds_keys_whose_hashes_collide),
        cmocka_unit_test(key_table_insert_past_the_budget_changes_nothing),
        cmocka_unit_test(key_table_without_keys_has_one_slot),
        cmocka_unit_test(key_table_takes_zeros_of_both_signs_and_all_nans_as_one_key),
        cmocka_unit_test(key_table_refuses_more_columns_than_it_has_room_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
