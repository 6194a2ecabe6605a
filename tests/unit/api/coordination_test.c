#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "spate/coordination.h"

/* The public calls, over registers in this process: short times. */
static const char *const options[] = {"cluster.lease.ttl=600 ms",
                                      "cluster.lease.margin=150 ms",
                                      "cluster.stop.bound=100 ms",
                                      "cluster.heartbeat=100 ms",
                                      "cluster.lease.retry=20 ms",
                                      "cluster.poll=20 ms",
                                      NULL};
static spate_coordinator *one, *two;
static struct spate_error error;

static int open_both(void **state)
{
    (void)state;
    return spate_coordinator_open("local:coordination", options, &one, &error) != SPATE_OK ||
           spate_coordinator_open("local:coordination", options, &two, &error) != SPATE_OK;
}

static int close_both(void **state)
{
    (void)state;
    spate_coordinator_close(one);
    spate_coordinator_close(two);
    return 0;
}

static int acquire(spate_coordinator *coordinator, int64_t timeout_ms, spate_lock **lock)
{
    int outcome = -1;
    assert_int_equal(spate_lock_acquire(coordinator, "stock", timeout_ms, lock, &outcome, &error), SPATE_OK);
    return outcome;
}

static int update(spate_lock *lock, const char *value)
{
    int outcome = -1;
    assert_int_equal(spate_lock_update(lock, "stock", value, strlen(value), &outcome, &error), SPATE_OK);
    return outcome;
}

static void what_cannot_be_opened_says_why(void **state)
{
    (void)state;
    static const char *const of_jobs[] = {"cluster.warmup.max=3", NULL};
    static const char *const unknown[] = {"cluster.lease.tll=1 s", NULL}, *const bad[] = {"cluster.poll=5 s", NULL},
                             *const none[] = {"poll", NULL};
    spate_coordinator *coordinator;
    assert_int_equal(spate_coordinator_open("nowhere://a", NULL, &coordinator, &error), SPATE_ERROR_SQL);
    assert_null(coordinator);
    assert_non_null(strstr(error.text, "nowhere"));
    assert_int_equal(spate_coordinator_open("local:a", unknown, &coordinator, &error), SPATE_ERROR_SQL);
    assert_non_null(strstr(error.text, "cluster.lease.ttl"));
    assert_int_equal(spate_coordinator_open("local:a", of_jobs, &coordinator, &error), SPATE_ERROR_SQL);
    assert_non_null(strstr(error.text, "has no option 'cluster.warmup.max'"));
    assert_int_equal(spate_coordinator_open("local:a", bad, &coordinator, &error), SPATE_ERROR_SQL);
    assert_non_null(strstr(error.text, "lease.ttl / 4"));
    assert_int_equal(spate_coordinator_open("local:a", none, &coordinator, NULL), SPATE_ERROR_SQL);
    spate_coordinator_close(NULL);
}

static void registers_are_compared_and_set(void **state)
{
    (void)state;
    struct spate_register_version version, stale;
    char bytes[8];
    size_t length;
    int outcome;
    assert_int_equal(spate_register_get(one, "r/a", bytes, sizeof bytes, &length, &version, &outcome, &error), SPATE_OK);
    assert_int_equal(outcome, SPATE_OUTCOME_ABSENT);
    assert_int_equal(spate_register_put(one, "r/a", "12345678", 8, NULL, &stale, &outcome, &error), SPATE_OK);
    assert_int_equal(outcome, SPATE_OUTCOME_DONE);
    assert_int_equal(spate_register_put(two, "r/a", "x", 1, NULL, NULL, &outcome, &error), SPATE_OK);
    assert_int_equal(outcome, SPATE_OUTCOME_CONFLICT);
    assert_int_equal(spate_register_put(two, "r/a", "123456789", 9, &stale, &version, &outcome, &error), SPATE_OK);
    assert_int_equal(outcome, SPATE_OUTCOME_DONE);
    assert_int_equal(spate_register_get(one, "r/a", bytes, sizeof bytes, &length, &version, &outcome, &error), SPATE_ERROR_LIMIT);
    assert_int_equal(length, 9);
    assert_int_equal(spate_register_delete(one, "r/a", &stale, &outcome, &error), SPATE_OK);
    assert_int_equal(outcome, SPATE_OUTCOME_CONFLICT);
    assert_int_equal(spate_register_delete(one, "r/a", &version, &outcome, &error), SPATE_OK);
    assert_int_equal(outcome, SPATE_OUTCOME_DONE);
    assert_int_equal(spate_register_put(one, "locks/a", "x", 1, NULL, NULL, &outcome, &error), SPATE_ERROR_SQL);
    assert_int_equal(spate_register_put(one, "a//b", "x", 1, NULL, NULL, &outcome, &error), SPATE_ERROR_SQL);
}

static void count_name(void *context, const char *name)
{
    *(int *)context += strncmp(name, "list/", 5) == 0;
}

static void list_has_the_names_below_a_prefix(void **state)
{
    (void)state;
    static const char *const names[] = {"list/a", "list/b", "other"};
    int outcome, count = 0;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(spate_register_put(one, names[i], "", 0, NULL, NULL, &outcome, &error), SPATE_OK);
    }
    assert_int_equal(spate_register_list(two, "list/", count_name, &count, &error), SPATE_OK);
    assert_int_equal(count, 2);
}

static void lease_has_one_holder_whose_name_is_told(void **state)
{
    (void)state;
    spate_lease *lease, *other;
    char held_by[SPATE_HOLDER_BYTES];
    int outcome;
    assert_int_equal(spate_lease_acquire(one, "l", 60000, &lease, NULL, &outcome, &error), SPATE_OK);
    assert_int_equal(outcome, SPATE_OUTCOME_DONE);
    assert_int_equal(spate_lease_acquire(two, "l", 60000, &other, held_by, &outcome, &error), SPATE_OK);
    assert_int_equal(outcome, SPATE_OUTCOME_CONFLICT);
    assert_null(other);
    assert_string_equal(held_by, spate_coordinator_name(one));
    assert_int_equal(spate_lease_renew(lease, &outcome, &error), SPATE_OK);
    assert_int_equal(outcome, SPATE_OUTCOME_DONE);
    uint64_t fence = spate_lease_fence(lease);
    assert_int_equal(spate_lease_release(lease, &error), SPATE_OK);
    assert_int_equal(spate_lease_acquire(two, "l", 60000, &other, NULL, &outcome, &error), SPATE_OK);
    assert_true(spate_lease_fence(other) > fence);
    assert_int_equal(spate_lease_release(other, &error), SPATE_OK);
    assert_int_equal(spate_lease_acquire(one, "l", -5, &lease, NULL, &outcome, &error), SPATE_ERROR_SQL);
}

static void lock_is_renewed_times_out_for_others_and_leaves_nothing_behind(void **state)
{
    (void)state;
    spate_lock *lock, *other;
    assert_int_equal(acquire(one, 0, &lock), SPATE_OUTCOME_DONE);
    assert_int_equal(acquire(two, 1000, &other), SPATE_OUTCOME_TIMED_OUT); /* more than its ttl */
    assert_null(other);
    assert_int_equal(acquire(one, 0, &other), SPATE_OUTCOME_TIMED_OUT); /* not re-entrant */
    assert_int_equal(spate_lock_state(lock), SPATE_LOCK_HELD);
    assert_int_equal(spate_lock_release(lock, &error), SPATE_OK);
    assert_int_equal(spate_lock_state(lock), SPATE_LOCK_RELEASED);
    assert_int_equal(spate_lock_release(lock, &error), SPATE_OK);
    assert_int_equal(acquire(two, 0, &other), SPATE_OUTCOME_DONE);
    assert_true(spate_lock_fence(other) > spate_lock_fence(lock));
    spate_lock_close(lock);
    assert_int_equal(spate_lock_state(other), SPATE_LOCK_HELD); /* it was another grant's */
    spate_lock_close(other);
    spate_lock_close(NULL);
}

static void lock_update_is_refused_to_who_released_and_to_earlier_fences(void **state)
{
    (void)state;
    spate_lock *lock, *other;
    char bytes[8];
    size_t length;
    uint64_t fence;
    int outcome;
    assert_int_equal(acquire(one, 0, &lock), SPATE_OUTCOME_DONE);
    assert_int_equal(update(lock, "1"), SPATE_OUTCOME_DONE);
    assert_int_equal(spate_lock_release(lock, &error), SPATE_OK);
    assert_int_equal(update(lock, "2"), SPATE_OUTCOME_OUTDATED);
    assert_int_equal(acquire(two, 0, &other), SPATE_OUTCOME_DONE);
    assert_int_equal(spate_lock_read(other, "stock", bytes, sizeof bytes, &length, &outcome, &error), SPATE_OK);
    assert_int_equal(outcome, SPATE_OUTCOME_DONE);
    assert_int_equal(length, 1);
    assert_memory_equal(bytes, "1", 1);
    assert_int_equal(update(other, "3"), SPATE_OUTCOME_DONE);
    assert_int_equal(spate_register_read(one, "stock", bytes, sizeof bytes, &length, &fence, &outcome, &error), SPATE_OK);
    assert_int_equal(fence, spate_lock_fence(other));
    assert_memory_equal(bytes, "3", 1);
    assert_int_equal(spate_lock_update(other, "jobs/x", "", 0, &outcome, &error), SPATE_ERROR_SQL);
    spate_lock_close(lock);
    spate_lock_close(other);
}

struct waiter {
    spate_lock *lock;
    int state;
};
static void *await_change(void *context)
{
    struct waiter *waiter = context;
    waiter->state = spate_lock_await(waiter->lock, SPATE_LOCK_HELD, -1);
    return NULL;
}

static void lock_await_sees_the_release_by_another_thread(void **state)
{
    (void)state;
    struct waiter waiter;
    pthread_t thread;
    assert_int_equal(acquire(one, 0, &waiter.lock), SPATE_OUTCOME_DONE);
    assert_int_equal(spate_lock_await(waiter.lock, SPATE_LOCK_HELD, 50), SPATE_LOCK_HELD);
    assert_int_equal(pthread_create(&thread, NULL, await_change, &waiter), 0);
    assert_int_equal(spate_lock_release(waiter.lock, &error), SPATE_OK);
    pthread_join(thread, NULL);
    assert_int_equal(waiter.state, SPATE_LOCK_RELEASED);
    spate_lock_close(waiter.lock);
}

/* ---- election ---- */

struct candidate {
    spate_election *election;
    _Atomic uint64_t fence; /* 0: does not lead */
    _Atomic int elected, deposed;
    bool closes_itself;
};
static void on_elected(void *context, uint64_t fence)
{
    struct candidate *candidate = context;
    candidate->fence = fence;
    candidate->elected++;
    if (candidate->closes_itself) {
        spate_election_close(candidate->election);
    }
}
static void on_deposed(void *context)
{
    struct candidate *candidate = context;
    candidate->fence = 0;
    candidate->deposed++;
}
static const struct spate_election_callbacks callbacks = {sizeof callbacks, on_elected, NULL, on_deposed};

static void run(spate_coordinator *coordinator, struct candidate *candidate)
{
    assert_int_equal(spate_election_run(coordinator, "boss", &callbacks, candidate, &candidate->election, &error), SPATE_OK);
}

static void wait_until_elected(struct candidate *candidate)
{
    for (int i = 0; i < 5000 && candidate->elected == 0; i++) {
        usleep(1000);
    }
    assert_int_equal(candidate->elected, 1);
}

static void election_has_one_leader_and_the_next_when_it_resigns(void **state)
{
    (void)state;
    struct candidate first = {0}, second = {0};
    uint64_t fence = 0;
    int outcome;
    run(one, &first);
    wait_until_elected(&first);
    run(two, &second);
    usleep(800 * 1000); /* more than the ttl: the leader is renewed */
    assert_true(spate_election_is_leader(first.election, &fence));
    assert_int_equal(fence, first.fence);
    assert_false(spate_election_is_leader(second.election, NULL));
    assert_int_equal(spate_election_update(first.election, "r", "1", 1, &outcome, &error), SPATE_OK);
    assert_int_equal(outcome, SPATE_OUTCOME_DONE);
    assert_int_equal(spate_election_update(second.election, "r", "2", 1, &outcome, &error), SPATE_OK);
    assert_int_equal(outcome, SPATE_OUTCOME_OUTDATED);
    assert_int_equal(spate_election_resign(first.election, &error), SPATE_OK);
    assert_false(spate_election_is_leader(first.election, NULL));
    wait_until_elected(&second);
    assert_true(second.fence > fence);
    spate_election_close(first.election);
    assert_int_equal(first.deposed, 1);
    spate_election_close(second.election);
    assert_int_equal(second.deposed, 1);
    spate_election_close(NULL);
}

static void election_can_be_closed_from_its_own_callback(void **state)
{
    (void)state;
    struct candidate first = {.closes_itself = true}, second = {0};
    run(one, &first);
    wait_until_elected(&first);
    run(two, &second);
    wait_until_elected(&second);
    spate_coordinator_close(two); /* with what is open */
    assert_int_equal(second.deposed, 1);
    assert_int_equal(spate_coordinator_open("local:coordination", options, &two, &error), SPATE_OK);
    assert_int_equal(first.elected, 1);
    assert_int_equal(first.deposed, 0);
}

static void latch_opens_for_all_who_wait(void **state)
{
    (void)state;
    spate_latch *mine, *theirs;
    uint32_t missing = 9;
    int outcome;
    assert_int_equal(spate_latch_open(one, "start", 2, &mine, &error), SPATE_OK);
    assert_int_equal(spate_latch_open(two, "start", 2, &theirs, &error), SPATE_OK);
    assert_int_equal(spate_latch_count_down(mine, "a", &outcome, &error), SPATE_OK);
    assert_int_equal(spate_latch_count_down(mine, "a", &outcome, &error), SPATE_OK);
    assert_int_equal(spate_latch_await(theirs, 60, &missing, &outcome, &error), SPATE_OK);
    assert_int_equal(outcome, SPATE_OUTCOME_TIMED_OUT);
    assert_int_equal(missing, 1);
    assert_int_equal(spate_latch_count_down(theirs, "b", &outcome, &error), SPATE_OK);
    assert_int_equal(spate_latch_await(mine, -1, &missing, &outcome, &error), SPATE_OK);
    assert_int_equal(outcome, SPATE_OUTCOME_DONE);
    assert_int_equal(missing, 0);
    spate_latch_close(theirs);
    assert_int_equal(spate_latch_open(two, "start", 3, &theirs, &error), SPATE_ERROR_SQL);
    assert_int_equal(spate_latch_remove(two, "start", &error), SPATE_OK);
    assert_int_equal(spate_latch_await(mine, -1, NULL, &outcome, &error), SPATE_OK);
    assert_int_equal(outcome, SPATE_OUTCOME_ABSENT);
    spate_latch_close(mine);
}

int main(void)
{
    alarm(60);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_cannot_be_opened_says_why),
        cmocka_unit_test(registers_are_compared_and_set),
        cmocka_unit_test(list_has_the_names_below_a_prefix),
        cmocka_unit_test(lease_has_one_holder_whose_name_is_told),
        cmocka_unit_test(lock_is_renewed_times_out_for_others_and_leaves_nothing_behind),
        cmocka_unit_test(lock_update_is_refused_to_who_released_and_to_earlier_fences),
        cmocka_unit_test(lock_await_sees_the_release_by_another_thread),
        cmocka_unit_test(election_has_one_leader_and_the_next_when_it_resigns),
        cmocka_unit_test(election_can_be_closed_from_its_own_callback),
        cmocka_unit_test(latch_opens_for_all_who_wait),
    };
    return cmocka_run_group_tests(tests, open_both, close_both);
}
