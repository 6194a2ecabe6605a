#include "../support/batches.h"

#include "state/row_store.h"

static const struct type *const types[] = {&type_bigint, &type_string, &type_double, &type_boolean, &type_int};
enum { COLUMNS = 5, ROWS = 500 };

static void make_rows(struct budget *budget, uint64_t seed, struct batch *batch, uint32_t used)
{
    static int64_t columns[COLUMNS][ROWS];
    const int64_t *pointers[COLUMNS];
    for (uint32_t c = 0; c < COLUMNS; c++) {
        for (uint32_t i = 0; i < ROWS; i++) {
            uint64_t random = next_random(&seed);
            columns[c][i] = random % 11 == 0 ? NULL_VALUE : (int64_t)(random % 5) - 2;
        }
        pointers[c] = columns[c];
    }
    fill_batch(budget, types, pointers, used, ROWS, batch);
}

static bool rows_equal(const struct batch *batch, uint32_t left, uint32_t right)
{
    for (uint32_t c = 0; c < batch->column_count; c++) {
        if (!vector_rows_equal(&batch->columns[c], left, &batch->columns[c], right)) {
            return false;
        }
    }
    return true;
}

static void check_rows(bool hashed, uint32_t columns)
{
    struct budget budget;
    budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
    struct error err;
    struct row_store *store;
    struct batch batch;
    static row_handle handles[ROWS + 1];
    require(row_store_create(&budget, types, columns, &store, &err), &err);
    if (!hashed) {
        row_store_omit_hashes(store);
    }
    for (uint64_t seed = 1; seed < 10; seed++) {
        make_rows(&budget, seed, &batch, columns);
        require(row_store_add(store, &batch, handles, &err), &err);
        handles[ROWS] = 0;
        struct vector vectors[COLUMNS] = {0};
        require(row_store_gather(store, handles, ROWS + 1, NULL, 0, vectors, &err), &err);
        for (uint32_t c = 0; c < columns; c++) {
            for (uint32_t i = 0; i < ROWS; i++) {
                assert_true(vector_rows_equal(&vectors[c], i, &batch.columns[c], i));
            }
            assert_false(vector_is_valid(&vectors[c], ROWS));
            vector_release(&vectors[c]);
        }
        for (uint32_t i = 0; i < ROWS; i++) {
            uint32_t other = (i * 7 + 3) % ROWS;
            bool equal = rows_equal(&batch, i, other);
            assert_int_equal(row_store_equal(store, handles[i], handles[other]), equal);
            assert_int_equal(row_store_equals_row(store, handles[i], &batch, other), equal);
            if (equal && hashed) {
                assert_int_equal(row_store_hash(store, handles[i]), row_store_hash(store, handles[other]));
            }
        }
        for (uint32_t i = 0; i < ROWS; i++) {
            row_store_free(store, handles[i]);
        }
        batch_release(&batch);
    }
    row_store_destroy(store);
    assert_int_equal(budget.used_bytes, 0);
}

static void row_store_gives_back_the_rows_it_was_given(void **state)
{
    (void)state;
    for (uint32_t columns = 0; columns <= COLUMNS; columns++) {
        check_rows(true, columns);
        check_rows(false, columns);
    }
}

static void rows_of_two_numbers_take_24_bytes_where_no_one_asks_for_hashes(void **state)
{
    (void)state;
    enum { MANY = 100000 };
    static const struct type *const numbers[] = {&type_bigint, &type_bigint};
    struct budget budget;
    budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
    struct error err;
    struct row_store *store;
    struct batch batch;
    static int64_t values[ROWS];
    const int64_t *pointers[] = {values, values};
    row_handle handles[ROWS];
    require(row_store_create(&budget, numbers, 2, &store, &err), &err);
    row_store_omit_hashes(store);
    fill_batch(&budget, numbers, pointers, 2, ROWS, &batch);
    for (uint32_t stored = 0; stored < MANY; stored += ROWS) {
        require(row_store_add(store, &batch, handles, &err), &err);
    }
    assert_true(row_store_bytes(store) < (size_t)MANY * 24 + (3 << 20)); /* the last page may be empty */
    batch_release(&batch);
    row_store_destroy(store);
    assert_int_equal(budget.used_bytes, 0);
}

static void row_store_orders_rows_as_vectors_are_ordered(void **state)
{
    (void)state;
    struct budget budget;
    budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
    struct error err;
    struct row_store *store;
    struct batch batch;
    static row_handle handles[ROWS];
    require(row_store_create(&budget, types, COLUMNS, &store, &err), &err);
    make_rows(&budget, 99, &batch, COLUMNS);
    require(row_store_add(store, &batch, handles, &err), &err);
    for (uint32_t c = 0; c < COLUMNS; c++) {
        for (uint32_t i = 0; i < ROWS; i++) {
            for (int flags = 0; flags < 4; flags++) {
                const struct sort_key key = {.column = c, .descending = (flags & 1) != 0, .nulls_first = (flags & 2) != 0};
                uint32_t other = (i * 11 + 5) % ROWS;
                int order = row_store_compare(store, &key, 1, handles[i], handles[other]);
                assert_int_equal(order, -row_store_compare(store, &key, 1, handles[other], handles[i]));
                assert_int_equal(order, sort_keys_compare(&key, 1, batch.columns, i, batch.columns, other));
            }
        }
    }
    batch_release(&batch);
    row_store_destroy(store);
    assert_int_equal(budget.used_bytes, 0);
}

static void row_store_past_the_budget_stores_nothing(void **state)
{
    (void)state;
    struct budget roomy, budget;
    budget_init(&roomy, NULL, "roomy", BUDGET_UNLIMITED);
    budget_init(&budget, NULL, "test", 20000);
    struct error err;
    struct row_store *store;
    struct batch batch;
    static row_handle handles[ROWS];
    require(row_store_create(&budget, types, COLUMNS, &store, &err), &err);
    make_rows(&roomy, 5, &batch, COLUMNS);
    assert_int_equal(row_store_add(store, &batch, handles, &err), STATUS_NO_MEMORY);
    batch_release(&batch);
    row_store_destroy(store);
    assert_int_equal(budget.used_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(row_store_gives_back_the_rows_it_was_given),
        cmocka_unit_test(rows_of_two_numbers_take_24_bytes_where_no_one_asks_for_hashes),
        cmocka_unit_test(row_store_orders_rows_as_vectors_are_ordered),
        cmocka_unit_test(row_store_past_the_budget_stores_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
