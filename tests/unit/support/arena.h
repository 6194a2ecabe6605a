/* tests/unit/support/arena.h: an arena, without a limit, for all tests of a program, and the error of the call at hand.
 *
 * For         cmocka_run_group_tests(tests, open_arena, close_arena).
 */
#ifndef SPATE_TESTS_SUPPORT_ARENA_H
#define SPATE_TESTS_SUPPORT_ARENA_H

#include "base/arena.h"
#include "base/error.h"

static struct budget budget;
static struct arena *arena;
static struct error err;

static int open_arena(void **state)
{
    (void)state;
    budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
    arena = arena_create(&budget, "test");
    return arena == NULL;
}

static int close_arena(void **state)
{
    (void)state;
    arena_destroy(arena);
    return 0;
}

#endif
