#include "../support/batches.h"

#include "functions/multiset.h"

enum { VALUES = 3000 };

/* Random additions and withdrawals of many values, compared with counts by value. */
static void compare_with_counts(const struct type *type, uint64_t seed)
{
    struct budget budget;
    struct error err;
    struct slab heap;
    static int64_t numbers[VALUES], counts[VALUES];
    struct multiset set = {0};
    const struct multiset_order order = {value_kind_of(type), false};
    struct vector column;
    budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
    slab_open(&heap, &budget, SLAB_GRAIN);
    for (uint32_t i = 0; i < VALUES; i++) {
        numbers[i] = i;
        counts[i] = 0;
    }
    fill_column(&budget, type, numbers, VALUES, &column);
    for (uint32_t step = 0; step < 20000; step++) {
        uint32_t at = (uint32_t)next_random(&seed) % VALUES;
        int64_t weight = step > 12000 && counts[at] > 0 ? -counts[at] : next_random(&seed) % 3 == 0 ? -1 : 1;
        struct stored value = stored_borrow(&order.kind, &column, at, NULL);
        require(multiset_add(&set, &order, &value, 0, weight, &heap, &err), &err);
        counts[at] += weight;
    }
    struct multiset_cursor cursor = {0};
    const struct multiset_entry *entry, *before = NULL;
    uint32_t entries = 0, wanted = 0;
    int64_t total = 0;
    while ((entry = multiset_next(&set, &cursor)) != NULL) {
        assert_true(before == NULL || stored_compare(&order.kind, &before->value, &entry->value) < 0);
        before = entry;
        entries++;
    }
    for (uint32_t i = 0; i < VALUES; i++) {
        struct stored value = stored_borrow(&order.kind, &column, i, NULL);
        entry = multiset_find_value(&set, &order, &value);
        assert_int_equal(entry == NULL ? 0 : entry->count, counts[i]);
        wanted += counts[i] != 0;
        total += counts[i];
    }
    assert_int_equal(entries, wanted);
    assert_int_equal(set.total, total);
    entry = multiset_first(&set);
    assert_true(entry == NULL || entry->count > 0);
    multiset_clear(&set, &order, &heap);
    vector_release(&column);
    slab_close(&heap);
    assert_int_equal(budget.used_bytes, 0);
}

static void multiset_of_many_values_agrees_with_counts(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 4; seed++) {
        compare_with_counts(&type_bigint, seed);
        compare_with_counts(&type_string, seed);
        compare_with_counts(&type_double, seed);
    }
}

static void multiset_by_ordinal_walks_in_the_order_of_ordinals(void **state)
{
    (void)state;
    struct budget budget;
    struct error err;
    struct slab heap;
    struct multiset set = {0};
    const struct multiset_order order = {value_kind_of(&type_bigint), true};
    budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
    slab_open(&heap, &budget, SLAB_GRAIN);
    for (int64_t i = 0; i < 1000; i++) {
        struct stored value = {.words = {(uint64_t)(i % 7), 0}};
        require(multiset_add(&set, &order, &value, i * 389 % 1000, 1, &heap, &err), &err);
    }
    struct multiset_cursor cursor = {0};
    for (int64_t i = 0; i < 1000; i++) {
        assert_int_equal(multiset_next(&set, &cursor)->ordinal, i);
    }
    assert_null(multiset_next(&set, &cursor));
    multiset_clear(&set, &order, &heap);
    slab_close(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(multiset_of_many_values_agrees_with_counts),
        cmocka_unit_test(multiset_by_ordinal_walks_in_the_order_of_ordinals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
