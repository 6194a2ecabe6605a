#include "../support/batches.h"

#include "base/hash.h"
#include "state/cold_filter.h"

enum { KEYS = 300000, KIB = 1024 };

static uint32_t count_known(const struct cold_filter *filter, uint64_t from, uint64_t to)
{
    uint32_t known = 0;
    for (uint64_t key = from; key < to; key++) {
        known += cold_filter_may_have(filter, hash_uint64(key));
    }
    return known;
}

static void knows_what_was_added(void **state)
{
    (void)state;
    struct budget budget;
    budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
    struct cold_filter filter = {.budget = &budget};
    assert_int_equal(count_known(&filter, 0, 1000), 0);
    for (uint64_t key = 0; key < KEYS; key++) {
        cold_filter_add(&filter, hash_uint64(key));
        cold_filter_add(&filter, hash_uint64(key / 2));
    }
    assert_int_equal(count_known(&filter, 0, KEYS), KEYS);
    uint32_t wrong = count_known(&filter, KEYS, 2 * (uint64_t)KEYS);
    if (wrong > KEYS / 25) {
        fail_msg("%u of %u unknown keys may be there", wrong, KEYS);
    }
    assert_true(filter.count > KEYS / 25 * 24 && filter.count <= KEYS);
    assert_int_equal(filter.bytes, budget.used_bytes);
    assert_true(filter.bytes < KEYS * 4);
    cold_filter_clear(&filter);
    assert_int_equal(budget.used_bytes, 0);
    assert_int_equal(count_known(&filter, 0, 1000), 0);
}

static void knows_less_with_little_memory(void **state)
{
    (void)state;
    struct budget budget;
    budget_init(&budget, NULL, "test", 1600 * KIB);
    struct cold_filter filter = {.budget = &budget};
    for (uint64_t key = 0; key < KEYS; key++) {
        cold_filter_add(&filter, hash_uint64(key));
    }
    assert_true(budget.used_bytes > 0 && budget.used_bytes <= 100 * KIB);
    assert_int_equal(count_known(&filter, 0, KEYS), KEYS);
    cold_filter_clear(&filter);
    budget_init(&budget, NULL, "test", KIB);
    cold_filter_add(&filter, 7);
    assert_true(cold_filter_may_have(&filter, 7) && cold_filter_may_have(&filter, 8));
    cold_filter_clear(&filter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(knows_what_was_added), cmocka_unit_test(knows_less_with_little_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
