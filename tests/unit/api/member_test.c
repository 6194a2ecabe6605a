#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "spate/coordination.h"

/* Members of a group, over registers in this process: some times are short. */
static const char *const options[] = {"cluster.lease.ttl=3 s",
                                      "cluster.lease.margin=750 ms",
                                      "cluster.stop.bound=500 ms",
                                      "cluster.heartbeat=100 ms",
                                      "cluster.lease.retry=20 ms",
                                      "cluster.poll=20 ms",
                                      "cluster.rebalance.debounce=50 ms",
                                      "cluster.rebalance.debounce.max=200 ms",
                                      NULL};
enum { TASKS = 6, WAIT_MS = 60000 };
struct process {
    spate_coordinator *coordinator;
    spate_member *member;
    atomic_ulong fences[TASKS]; /* 0: it does not run here */
    atomic_int stopped;         /* how; -1: not yet */
    atomic_int fenced;
};
static struct process processes[3];
static atomic_int doubles; /* a task that was at two at once */
static struct spate_error error;
static int outcome;

static void on_model(void *context, const struct spate_grant *grants, uint32_t count)
{
    struct process *process = context;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < 3; k++) {
            doubles += processes[k].fences[grants[i].task] != 0;
        }
        process->fences[grants[i].task] = grants[i].fence;
    }
}

static void on_model_expired(void *context, const uint32_t *tasks, uint32_t count)
{
    struct process *process = context;
    for (uint32_t i = 0; i < count; i++) {
        process->fences[tasks[i]] = 0;
    }
}

static void on_fenced(void *context)
{
    struct process *process = context;
    for (uint32_t i = 0; i < TASKS; i++) {
        process->fences[i] = 0;
    }
    process->fenced++;
}

static void on_stopped(void *context, int how)
{
    ((struct process *)context)->stopped = how;
}

static const struct spate_member_callbacks callbacks = {
    .size = sizeof callbacks, .on_model_expired = on_model_expired, .on_model = on_model, .on_fenced = on_fenced, .on_stopped = on_stopped};

static void join(uint32_t index, const char *group, const char *id)
{
    struct process *process = &processes[index];
    process->stopped = -1;
    process->fenced = 0;
    memset(process->fences, 0, sizeof process->fences);
    assert_int_equal(spate_coordinator_open("local:members", options, &process->coordinator, &error), SPATE_OK);
    if (spate_member_join(process->coordinator, group, id, TASKS, &callbacks, process, &process->member, &error) != SPATE_OK) {
        fail_msg("%s", error.text);
    }
}

static void end(uint32_t index)
{
    spate_member_close(processes[index].member);
    memset(processes[index].fences, 0, sizeof processes[index].fences);
    spate_coordinator_close(processes[index].coordinator);
}

static uint32_t count_of(uint32_t index)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < TASKS; i++) {
        count += processes[index].fences[i] != 0;
    }
    return count;
}

static void wait_for(uint32_t first, uint32_t second, uint32_t third)
{
    for (uint32_t i = 0; i < WAIT_MS / 10 && !(count_of(0) == first && count_of(1) == second && count_of(2) == third); i++) {
        usleep(10000);
    }
    assert_int_equal(count_of(0), first);
    assert_int_equal(count_of(1), second);
    assert_int_equal(count_of(2), third);
    assert_int_equal(doubles, 0);
}

struct seen {
    uint32_t members, tasks, leaders;
};
static void see(void *context, const struct spate_member_info *info)
{
    struct seen *seen = context;
    seen->members++;
    seen->tasks += info->task_count;
    seen->leaders += info->leads;
}

static void tasks_are_shared_move_and_come_back(void **state)
{
    (void)state;
    struct seen seen = {0};
    join(0, "shop", "ann");
    wait_for(6, 0, 0);
    join(1, "shop", "bob");
    wait_for(3, 3, 0);
    join(2, "shop", "eve");
    wait_for(2, 2, 2);
    assert_int_equal(spate_member_list(processes[1].coordinator, "shop", see, &seen, &outcome, &error), SPATE_OK);
    assert_int_equal(outcome, SPATE_OUTCOME_DONE);
    assert_int_equal(seen.members, 3);
    assert_int_equal(seen.leaders, 1);
    assert_int_equal(spate_member_leave(processes[0].member, WAIT_MS, &outcome, &error), SPATE_OK);
    assert_int_equal(outcome, SPATE_OUTCOME_DONE);
    assert_int_equal(processes[0].stopped, SPATE_MEMBER_LEFT);
    wait_for(0, 3, 3);
    end(0);
    end(1); /* without leaving: as if it had died */
    wait_for(0, 0, 6);
    end(2);
}

static void what_is_written_for_a_task_is_refused_to_who_had_it_before(void **state)
{
    (void)state;
    char bytes[20];
    size_t length;
    uint64_t fence, later;
    join(0, "store", "ann");
    wait_for(6, 0, 0);
    assert_true(spate_member_may_write(processes[0].member, 4, &fence));
    assert_int_equal(spate_member_update(processes[0].member, 4, "store/4", "one", 3, &outcome, &error), SPATE_OK);
    assert_int_equal(outcome, SPATE_OUTCOME_DONE);
    assert_int_equal(spate_member_leave(processes[0].member, WAIT_MS, &outcome, &error), SPATE_OK);
    assert_false(spate_member_may_write(processes[0].member, 4, NULL));
    assert_int_equal(spate_member_update(processes[0].member, 4, "store/4", "two", 3, &outcome, &error), SPATE_OK);
    assert_int_equal(outcome, SPATE_OUTCOME_OUTDATED);
    join(1, "store", "bob");
    wait_for(0, 6, 0);
    assert_true(spate_member_may_write(processes[1].member, 4, &later));
    assert_true(later > fence);
    assert_int_equal(spate_member_read(processes[1].member, 4, "store/4", bytes, sizeof bytes, &length, &outcome, &error), SPATE_OK);
    assert_int_equal(outcome, SPATE_OUTCOME_DONE);
    assert_int_equal(length, 3);
    assert_memory_equal(bytes, "one", 3);
    assert_int_not_equal(spate_member_update(processes[1].member, 4, "groups/store/model", "x", 1, &outcome, &error), SPATE_OK);
    end(0);
    end(1);
}

static void an_id_that_lives_is_refused_and_a_group_keeps_its_size(void **state)
{
    (void)state;
    struct seen seen = {0};
    spate_member *member;
    join(0, "hall", "ann");
    wait_for(6, 0, 0);
    join(1, "hall", "ann");
    for (uint32_t i = 0; i < WAIT_MS / 10 && processes[1].stopped < 0; i++) {
        usleep(10000);
    }
    assert_int_equal(processes[1].stopped, SPATE_MEMBER_REFUSED);
    wait_for(6, 0, 0);
    assert_int_equal(processes[0].fenced, 0);
    assert_int_not_equal(spate_member_join(processes[0].coordinator, "hall", "bob", TASKS + 1, NULL, NULL, &member, &error), SPATE_OK);
    assert_non_null(strstr(error.text, "6 tasks, not 7"));
    assert_int_not_equal(spate_member_join(processes[0].coordinator, "hall", "a b", TASKS, NULL, NULL, &member, &error), SPATE_OK);
    assert_int_not_equal(spate_member_join(processes[0].coordinator, "hall", "bob", 0, NULL, NULL, &member, &error), SPATE_OK);
    assert_int_not_equal(spate_member_join(processes[0].coordinator, "../hall", "bob", TASKS, NULL, NULL, &member, &error), SPATE_OK);
    assert_int_equal(spate_member_list(processes[0].coordinator, "nobody", see, &seen, &outcome, &error), SPATE_OK);
    assert_int_equal(outcome, SPATE_OUTCOME_ABSENT);
    end(1);
    end(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_are_shared_move_and_come_back),
        cmocka_unit_test(what_is_written_for_a_task_is_refused_to_who_had_it_before),
        cmocka_unit_test(an_id_that_lives_is_refused_and_a_group_keeps_its_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
