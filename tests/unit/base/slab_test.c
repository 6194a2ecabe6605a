#include "../support/batches.h"

#include "base/slab.h"

static void check_blocks(size_t grain)
{
    enum { BLOCKS = 2000 };
    struct budget budget;
    struct slab slab;
    uint8_t *blocks[BLOCKS] = {NULL};
    size_t sizes[BLOCKS] = {0};
    uint64_t seed = 3;
    budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
    slab_open(&slab, &budget, grain);
    for (uint32_t step = 0; step < 40000; step++) {
        uint32_t at = (uint32_t)next_random(&seed) % BLOCKS;
        for (size_t i = 0; blocks[at] != NULL && i < sizes[at]; i += 7) {
            assert_int_equal(blocks[at][i], (uint8_t)at);
        }
        size_t bytes = next_random(&seed) % (step % 100 == 0 ? 100000 : 600);
        if (blocks[at] != NULL && step % 2 == 0) {
            size_t kept = bytes < sizes[at] ? bytes : sizes[at];
            blocks[at] = slab_resize(&slab, blocks[at], sizes[at], bytes);
            for (size_t i = 0; i < kept; i++) {
                assert_int_equal(blocks[at][i], (uint8_t)at);
            }
        } else {
            slab_free(&slab, blocks[at], sizes[at]);
            blocks[at] = slab_alloc(&slab, bytes);
        }
        assert_true((uintptr_t)blocks[at] % grain == 0 && slab_round(bytes) >= bytes);
        memset(blocks[at], (int)at, bytes);
        sizes[at] = bytes;
    }
    assert_true(budget.used_bytes < 40000000);
    slab_close(&slab);
    assert_int_equal(budget.used_bytes, 0);
}

static void slab_blocks_do_not_overlap_and_are_used_again(void **state)
{
    (void)state;
    check_blocks(SLAB_GRAIN);
    check_blocks(8);
}

static void a_fine_grain_packs_small_blocks(void **state)
{
    (void)state;
    struct budget budget;
    struct slab slab;
    budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
    slab_open(&slab, &budget, 8);
    uint8_t *first = slab_alloc(&slab, 17), *second = slab_alloc(&slab, 24), *third = slab_alloc(&slab, 0);
    assert_ptr_equal(second, first + 24);
    assert_ptr_equal(third, second + 24);
    slab_free(&slab, first, 17);
    assert_ptr_equal(slab_alloc(&slab, 20), first);
    slab_close(&slab);
}

static void slab_alloc_past_the_budget_returns_null(void **state)
{
    (void)state;
    struct budget budget;
    struct slab slab;
    budget_init(&budget, NULL, "test", 100000);
    slab_open(&slab, &budget, SLAB_GRAIN);
    assert_null(slab_alloc(&slab, 200000));
    assert_non_null(slab_alloc(&slab, 50000));
    uint32_t count = 0;
    while (slab_alloc(&slab, 1000) != NULL) {
        count++;
    }
    assert_true(count > 10 && count < 50);
    slab_close(&slab);
    assert_int_equal(budget.used_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slab_blocks_do_not_overlap_and_are_used_again),
        cmocka_unit_test(a_fine_grain_packs_small_blocks),
        cmocka_unit_test(slab_alloc_past_the_budget_returns_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
