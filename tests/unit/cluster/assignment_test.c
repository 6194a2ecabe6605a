#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../support/arena.h"
#include "base/random.h"
#include "cluster/assignment.h"

enum { MEMBERS = 64, TASKS = 5000, COPIES = 2000, ROUNDS = 3000, SEED = 20261130 };

static struct random_source random_numbers;
static struct assignment_member members[MEMBERS];
static struct assignment_task tasks[TASKS];
static struct assignment_copy copies[COPIES];
static struct assignment_input input;
static const char *const hosts[] = {"h0", "h1", "h2", "h3"};

static uint32_t below(uint32_t limit)
{
    return (uint32_t)(random_next(&random_numbers) % limit);
}

static struct assignment plan(void)
{
    struct assignment assignment;
    arena_reset(arena);
    assert_int_equal(assignment_plan(&input, arena, &assignment, &err), STATUS_OK);
    return assignment;
}

/* A case without copies, pins or state: what is left are balance and moves. */
static void make_plain(uint32_t member_count, uint32_t task_count, bool weighted)
{
    input = (struct assignment_input){
        .members = members, .tasks = tasks, .copies = copies, .member_count = member_count, .task_count = task_count, .warmup_max = 2};
    for (uint32_t i = 0; i < member_count; i++) {
        members[i] = (struct assignment_member){.weight = weighted ? 1 + below(3) : 1};
    }
    for (uint32_t i = 0; i < task_count; i++) {
        tasks[i] =
            (struct assignment_task){below(3) == 0 ? ASSIGNMENT_NONE : below(member_count), ASSIGNMENT_NONE, ASSIGNMENT_NONE, false, NULL};
    }
}

static uint32_t moves_of(const uint32_t *owners)
{
    uint32_t moves = 0;
    for (uint32_t i = 0; i < input.task_count; i++) {
        moves += tasks[i].owner != ASSIGNMENT_NONE && owners[i] != tasks[i].owner;
    }
    return moves;
}

static bool is_even(const uint32_t *owners)
{
    uint32_t load[MEMBERS] = {0};
    double weight = 0;
    for (uint32_t i = 0; i < input.task_count; i++) {
        load[owners[i]]++;
    }
    for (uint32_t i = 0; i < input.member_count; i++) {
        weight += members[i].weight;
    }
    for (uint32_t i = 0; i < input.member_count; i++) {
        double share = input.task_count * members[i].weight / weight;
        if (load[i] < floor(share) || load[i] > ceil(share)) {
            return false;
        }
    }
    return true;
}

/* Tries all assignments. */
static uint32_t fewest_moves(void)
{
    uint32_t owners[8], best = UINT32_MAX, total = 1;
    for (uint32_t i = 0; i < input.task_count; i++) {
        total *= input.member_count;
    }
    for (uint32_t code = 0; code < total; code++) {
        uint32_t rest = code;
        for (uint32_t i = 0; i < input.task_count; i++) {
            owners[i] = rest % input.member_count;
            rest /= input.member_count;
        }
        uint32_t moves = moves_of(owners);
        if (moves < best && is_even(owners)) {
            best = moves;
        }
    }
    return best;
}

static void assignment_is_even_with_the_fewest_moves_that_any_even_one_has(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        make_plain(1 + below(4), below(7), round % 2 == 1);
        struct assignment assignment = plan();
        assert_true(is_even(assignment.owner));
        assert_int_equal(moves_of(assignment.owner), fewest_moves());
    }
}

static void assignment_of_its_own_result_changes_nothing(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        make_plain(1 + below(MEMBERS - 1), below(300), round % 2 == 1);
        struct assignment first = plan();
        for (uint32_t i = 0; i < input.task_count; i++) {
            tasks[i].owner = first.owner[i];
        }
        struct assignment second = plan();
        assert_true(is_even(second.owner));
        assert_int_equal(moves_of(second.owner), 0);
    }
}

static void check_constraints(const struct assignment *assignment)
{
    uint32_t load[MEMBERS] = {0}, room = 0, unowned = 0, warming = 0;
    bool limited = false;
    for (uint32_t i = 0; i < input.task_count; i++) {
        uint32_t owner = assignment->owner[i];
        if (owner == ASSIGNMENT_NONE) {
            unowned++;
            continue;
        }
        load[owner]++;
        warming += assignment->warming[i] != ASSIGNMENT_NONE;
        if (tasks[i].pinned != ASSIGNMENT_NONE && !members[tasks[i].pinned].drained && members[tasks[i].pinned].task_max == 0) {
            assert_int_equal(owner, tasks[i].pinned);
        }
        assert_true(assignment->warming[i] == ASSIGNMENT_NONE || (owner == tasks[i].owner && assignment->warming[i] != owner));
        assert_true(input.stateful || !members[owner].drained);
    }
    assert_true(warming <= input.warmup_max);
    for (uint32_t i = 0; i < input.member_count; i++) {
        uint32_t limit = members[i].drained ? 0 : members[i].task_max;
        limited |= members[i].drained || limit != 0;
        /* One that waits for its tasks to warm up elsewhere may have more than it should. */
        assert_true(input.stateful || limit == 0 || load[i] <= limit);
        room += members[i].drained ? 0 : limit == 0 ? TASKS : limit;
    }
    if (!input.stateful) {
        assert_int_equal(unowned, input.task_count > room ? input.task_count - room : 0);
    }
    for (uint32_t i = 0; i < assignment->standby_count; i++) {
        const struct assignment_copy *copy = &assignment->standbys[i];
        const struct assignment_member *owner = &members[assignment->owner[copy->task]], *member = &members[copy->member];
        assert_ptr_not_equal(owner, member);
        assert_false(member->drained);
        assert_true(owner->host == NULL || member->host == NULL || strcmp(owner->host, member->host) != 0);
        assert_true(owner->rack == NULL || member->rack == NULL || strcmp(owner->rack, member->rack) != 0);
        assert_true(i == 0 || copy->task > copy[-1].task || copy->member > copy[-1].member);
    }
}

static void assignment_keeps_constraints_whatever_it_is_given(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        make_plain(1 + below(9), below(40), true);
        input.stateful = below(2) == 0;
        input.standbys_wanted = below(3);
        input.copy_count = below(30) * (input.task_count > 0);
        for (uint32_t i = 0; i < input.member_count; i++) {
            members[i].host = below(4) == 0 ? NULL : hosts[below(4)];
            members[i].rack = below(2) == 0 ? NULL : hosts[below(3)];
            members[i].drained = below(6) == 0;
            members[i].task_max = below(5) == 0 ? 1 + below(8) : 0;
        }
        for (uint32_t i = 0; i < input.task_count; i++) {
            tasks[i].pinned = below(8) == 0 ? below(input.member_count) : ASSIGNMENT_NONE;
            tasks[i].warming = below(8) == 0 ? below(input.member_count) : ASSIGNMENT_NONE;
            tasks[i].warmed = below(3) == 0;
            tasks[i].host = below(2) == 0 ? NULL : hosts[below(4)];
        }
        for (uint32_t i = 0; i < input.copy_count; i++) {
            copies[i] = (struct assignment_copy){below(input.task_count), below(input.member_count), below(ASSIGNMENT_QUALITY_COUNT)};
        }
        struct assignment assignment = plan();
        check_constraints(&assignment);
    }
}

static void assignment_gives_an_orphan_to_its_standby_then_to_its_files_then_to_its_host(void **state)
{
    (void)state;
    make_plain(3, 3, false);
    for (uint32_t i = 0; i < 3; i++) {
        tasks[i].owner = ASSIGNMENT_NONE;
        members[i].host = hosts[i];
    }
    copies[0] = (struct assignment_copy){0, 2, ASSIGNMENT_LOCAL};
    copies[1] = (struct assignment_copy){0, 1, ASSIGNMENT_STANDBY};
    copies[2] = (struct assignment_copy){1, 2, ASSIGNMENT_LOCAL};
    input.copy_count = 3;
    tasks[2].host = "h0";
    struct assignment assignment = plan();
    assert_int_equal(assignment.owner[0], 1);
    assert_int_equal(assignment.owner[1], 2);
    assert_int_equal(assignment.owner[2], 0);
}

static void assignment_warms_up_before_a_task_with_state_moves(void **state)
{
    (void)state;
    make_plain(2, 6, false);
    input.stateful = true;
    for (uint32_t i = 0; i < 6; i++) {
        tasks[i].owner = 0;
    }
    struct assignment assignment = plan();
    assert_int_equal(moves_of(assignment.owner), 0);
    uint32_t warming = 0, last = 0;
    for (uint32_t i = 0; i < 6; i++) {
        tasks[i].warming = assignment.warming[i];
        if (assignment.warming[i] == 1) {
            warming++;
            last = i;
        }
    }
    assert_int_equal(warming, 2);
    copies[0] = (struct assignment_copy){last, 1, ASSIGNMENT_STANDBY};
    input.copy_count = 1;
    assignment = plan();
    assert_int_equal(assignment.owner[last], 1);
    assert_int_equal(moves_of(assignment.owner), 1);
}

static void assignment_of_5000_tasks_to_64_members_is_fast(void **state)
{
    (void)state;
    make_plain(MEMBERS, TASKS, false);
    input.standbys_wanted = 1;
    clock_t start = clock();
    for (uint32_t i = 0; i < 10; i++) {
        struct assignment assignment = plan();
        assert_true(is_even(assignment.owner));
    }
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 2); /* some 3 ms each without sanitizers */
}

static int open_all(void **state)
{
    random_open(&random_numbers, SEED);
    return open_arena(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(assignment_is_even_with_the_fewest_moves_that_any_even_one_has),
        cmocka_unit_test(assignment_of_its_own_result_changes_nothing),
        cmocka_unit_test(assignment_keeps_constraints_whatever_it_is_given),
        cmocka_unit_test(assignment_gives_an_orphan_to_its_standby_then_to_its_files_then_to_its_host),
        cmocka_unit_test(assignment_warms_up_before_a_task_with_state_moves),
        cmocka_unit_test(assignment_of_5000_tasks_to_64_members_is_fast),
    };
    return cmocka_run_group_tests(tests, open_all, close_arena);
}
