#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/arena.h"

static void count_up(void *owned)
{
    int **next = owned;
    **next = 1 + *(*next - 1);
    (*next)++;
}

static void arena_runs_cleanups_at_reset_and_gives_the_budget_back(void **state)
{
    (void)state;
    struct budget budget;
    budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
    struct arena *arena = arena_create(&budget, "test");
    int marks[3] = {0, 0, 0};
    int *next = &marks[1];
    assert_true(arena_on_reset(arena, count_up, &next));
    assert_true(arena_on_reset(arena, count_up, &next));
    char *block = arena_alloc(arena, 100000);
    assert_non_null(block);
    assert_int_equal(block[99999], 0);
    arena_reset(arena);
    assert_int_equal(marks[2], 2);
    arena_destroy(arena);
    assert_int_equal(budget.used_bytes, 0);
}

static void arena_alloc_past_the_budget_returns_null(void **state)
{
    (void)state;
    struct budget budget;
    budget_init(&budget, NULL, "test", 64 * 1024);
    struct arena *arena = arena_create(&budget, "test");
    assert_non_null(arena_alloc(arena, 1000));
    assert_null(arena_alloc(arena, 1000000));
    assert_non_null(arena_alloc(arena, 1000));
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arena_runs_cleanups_at_reset_and_gives_the_budget_back),
        cmocka_unit_test(arena_alloc_past_the_budget_returns_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
