#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "cluster/latch.h"
#include "memory_session.h"

static struct memory_session *session;
static struct error err;
static struct latch latch;

static int open_session(void **state)
{
    (void)state;
    session = memory_session_create();
    latch = (struct latch){memory_session_of(session), "latches/start"};
    return session == NULL;
}

static int close_session(void **state)
{
    (void)state;
    memory_session_destroy(session);
    return 0;
}

static struct latch_state look(void)
{
    struct latch_state state;
    assert_int_equal(latch_look(&latch, &state, &err), STATUS_OK);
    return state;
}

static void count_down(const char *participant)
{
    struct latch_state state;
    assert_int_equal(latch_count_down(&latch, participant, &state, &err), STATUS_OK);
}

static void latch_opens_when_all_have_counted_down_and_each_counts_once(void **state)
{
    (void)state;
    struct latch_state now;
    assert_true(look().absent);
    assert_int_equal(latch_open(&latch, 2, &now, &err), STATUS_OK);
    count_down("a");
    count_down("a");
    now = look();
    assert_false(latch_is_open(&now));
    assert_int_equal(now.arrived, 1);
    count_down("b");
    now = look();
    assert_true(latch_is_open(&now));
    count_down("c"); /* open already: it changes nothing */
    assert_int_equal(look().arrived, 2);
    assert_int_equal(latch_open(&latch, 2, &now, &err), STATUS_OK);
    assert_true(latch_is_open(&now)); /* found as it is */
}

static void latch_with_another_count_and_counts_that_cannot_be_are_refused(void **state)
{
    (void)state;
    struct latch_state now;
    assert_int_equal(latch_open(&latch, 0, &now, &err), STATUS_INVALID_OPTION);
    assert_int_equal(latch_open(&latch, LATCH_COUNT_MAX + 1, &now, &err), STATUS_INVALID_OPTION);
    assert_int_equal(latch_open(&latch, 3, &now, &err), STATUS_OK);
    assert_int_equal(latch_open(&latch, 2, &now, &err), STATUS_INVALID_OPTION);
    assert_non_null(strstr(err.text, "3 participants, not 2"));
    assert_int_equal(latch_count_down(&latch, "", &now, &err), STATUS_INVALID_OPTION);
    assert_int_equal(latch_count_down(&latch, "\xff", &now, &err), STATUS_INVALID_OPTION);
}

static void latch_of_most_participants_with_long_names_fits_a_register(void **state)
{
    (void)state;
    struct latch_state now;
    char name[CLUSTER_HOLDER_MAX];
    assert_int_equal(latch_open(&latch, LATCH_COUNT_MAX, &now, &err), STATUS_OK);
    for (uint32_t i = 0; i < LATCH_COUNT_MAX; i++) {
        memset(name, 'x', sizeof name - 1);
        name[sizeof name - 1] = '\0';
        name[snprintf(name, sizeof name, "%u", i)] = '.';
        count_down(name);
    }
    now = look();
    assert_true(latch_is_open(&now));
}

static void latch_that_is_removed_is_absent_and_begins_anew(void **state)
{
    (void)state;
    struct latch_state now;
    assert_int_equal(latch_open(&latch, 1, &now, &err), STATUS_OK);
    count_down("a");
    assert_int_equal(latch_remove(&latch, &err), STATUS_OK);
    assert_int_equal(latch_remove(&latch, &err), STATUS_OK);
    assert_int_equal(latch_count_down(&latch, "a", &now, &err), STATUS_OK);
    assert_true(now.absent);
    assert_int_equal(latch_open(&latch, 2, &now, &err), STATUS_OK);
    assert_int_equal(look().arrived, 0);
}

static void latch_counts_once_whichever_call_goes_wrong(void **state)
{
    static const enum session_fault faults[] = {SESSION_FAULT_UNAVAILABLE, SESSION_FAULT_UNKNOWN_DONE, SESSION_FAULT_UNKNOWN_LOST};
    (void)state;
    for (uint32_t f = 0; f < 3; f++) {
        for (uint64_t call = 1; call <= 4; call++) {
            struct latch_state now;
            memory_session_fail(session, call, faults[f]);
            if (latch_open(&latch, 2, &now, &err) != STATUS_OK) {
                assert_int_equal(err.status, STATUS_UNAVAILABLE);
                assert_int_equal(latch_open(&latch, 2, &now, &err), STATUS_OK);
            }
            memory_session_fail(session, call, faults[f]);
            while (latch_count_down(&latch, "a", &now, &err) != STATUS_OK) {
                assert_int_equal(err.status, STATUS_UNAVAILABLE);
            }
            memory_session_fail(session, 0, SESSION_FAULT_NONE);
            assert_int_equal(look().arrived, 1);
            memory_session_fail(session, call, faults[f]);
            while (latch_remove(&latch, &err) != STATUS_OK) {
                assert_int_equal(err.status, STATUS_UNAVAILABLE);
            }
            memory_session_fail(session, 0, SESSION_FAULT_NONE);
            assert_true(look().absent);
        }
    }
}

static void another_arrives(void *context)
{
    (void)context;
    count_down("b");
}

static void participants_that_arrive_at_the_same_time_are_all_counted(void **state)
{
    (void)state;
    struct latch_state now;
    assert_int_equal(latch_open(&latch, 2, &now, &err), STATUS_OK);
    memory_session_fail(session, 0, SESSION_FAULT_NONE);
    memory_session_interrupt(session, 2, another_arrives, NULL);
    count_down("a");
    now = look();
    assert_true(latch_is_open(&now));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_session, close_session)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(latch_opens_when_all_have_counted_down_and_each_counts_once),
        TEST(latch_with_another_count_and_counts_that_cannot_be_are_refused),
        TEST(latch_of_most_participants_with_long_names_fits_a_register),
        TEST(latch_that_is_removed_is_absent_and_begins_anew),
        TEST(latch_counts_once_whichever_call_goes_wrong),
        TEST(participants_that_arrive_at_the_same_time_are_all_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
