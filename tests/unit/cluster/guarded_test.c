#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "cluster/guarded.h"
#include "memory_session.h"

static struct memory_session *session;
static struct random_source random_numbers;
static struct budget budget;
static struct arena *arena;
static struct error err;
static struct guarded guarded;

static int open_session(void **state)
{
    (void)state;
    session = memory_session_create();
    random_open(&random_numbers, 3);
    budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
    arena = arena_create(&budget, "test");
    guarded = (struct guarded){memory_session_of(session), &random_numbers, "stock"};
    return session == NULL || arena == NULL;
}

static int close_session(void **state)
{
    (void)state;
    arena_destroy(arena);
    memory_session_destroy(session);
    return 0;
}

static enum guarded_result update(uint64_t fence, const char *value)
{
    enum guarded_result result;
    assert_int_equal(guarded_update(&guarded, fence, text_from(value), &result, &err), STATUS_OK);
    return result;
}

static enum guarded_result read_as(uint64_t fence, struct guarded_value *value)
{
    enum guarded_result result;
    assert_int_equal(guarded_read(&guarded, fence, arena, &result, value, &err), STATUS_OK);
    return result;
}

static uint64_t assert_value(const char *expected)
{
    enum guarded_result result;
    struct guarded_value value;
    assert_int_equal(guarded_look(&guarded, arena, &result, &value, &err), STATUS_OK);
    assert_int_equal(result, GUARDED_OK);
    assert_int_equal(value.bytes.length, strlen(expected));
    assert_memory_equal(value.bytes.bytes, expected, strlen(expected));
    return value.fence;
}

static void assert_there(const char *expected, uint64_t fence)
{
    assert_int_equal(assert_value(expected), fence);
}

static void update_by_an_old_holder_is_refused_once_a_later_one_wrote(void **state)
{
    (void)state;
    assert_int_equal(update(5, "a"), GUARDED_OK);
    assert_int_equal(update(5, "b"), GUARDED_OK);
    assert_int_equal(update(6, "c"), GUARDED_OK);
    assert_int_equal(update(5, "d"), GUARDED_OUTDATED);
    assert_there("c", 6);
}

static void update_by_an_old_holder_is_refused_once_a_later_one_read(void **state)
{
    (void)state;
    struct guarded_value value;
    assert_int_equal(update(5, "a"), GUARDED_OK);
    assert_int_equal(read_as(6, &value), GUARDED_OK);
    assert_int_equal(value.bytes.length, 1);
    assert_int_equal(update(5, "b"), GUARDED_OUTDATED);
    assert_int_equal(read_as(5, &value), GUARDED_OUTDATED);
    assert_there("a", 6);
}

static void read_of_a_register_that_nobody_wrote_keeps_old_holders_out_too(void **state)
{
    (void)state;
    enum guarded_result result;
    struct guarded_value value;
    assert_int_equal(guarded_look(&guarded, arena, &result, &value, &err), STATUS_OK);
    assert_int_equal(result, GUARDED_ABSENT);
    assert_int_equal(read_as(6, &value), GUARDED_ABSENT);
    assert_int_equal(update(5, "b"), GUARDED_OUTDATED);
    assert_int_equal(read_as(6, &value), GUARDED_ABSENT);
    assert_int_equal(update(6, ""), GUARDED_OK);
    assert_there("", 6); /* an empty value is one */
}

static void values_of_any_bytes_come_back(void **state)
{
    (void)state;
    char bytes[300];
    enum guarded_result result;
    struct guarded_value value;
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (char)(i * 7);
    }
    for (size_t length = 0; length <= sizeof bytes; length += 13) {
        assert_int_equal(guarded_update(&guarded, 1, (struct text){bytes, length}, &result, &err), STATUS_OK);
        assert_int_equal(read_as(1, &value), GUARDED_OK);
        assert_int_equal(value.bytes.length, length);
        assert_memory_equal(value.bytes.bytes, bytes, length);
    }
}

static void value_that_no_register_can_hold_is_refused_and_changes_nothing(void **state)
{
    (void)state;
    char *bytes = calloc(1, CLUSTER_VALUE_MAX);
    enum guarded_result result;
    assert_int_equal(update(1, "a"), GUARDED_OK);
    assert_int_equal(guarded_update(&guarded, 1, (struct text){bytes, CLUSTER_VALUE_MAX}, &result, &err), STATUS_LIMIT);
    assert_int_equal(guarded_update(&guarded, 1, (struct text){bytes, 44 << 10}, &result, &err), STATUS_OK); /* as the header says */
    assert_int_equal(update(1, "a"), GUARDED_OK);
    assert_there("a", 1);
    free(bytes);
}

static void foreign_value_is_corrupt_and_stays(void **state)
{
    (void)state;
    enum guarded_result result;
    struct guarded_value value;
    assert_int_equal(update(1, "a"), GUARDED_OK);
    memory_session_damage(session, "stock", 3);
    assert_int_equal(guarded_update(&guarded, 2, TEXT("b"), &result, &err), STATUS_CORRUPT);
    assert_int_equal(guarded_read(&guarded, 2, arena, &result, &value, &err), STATUS_CORRUPT);
}

/* ---- each call in turn goes wrong ---- */

static void update_and_read_are_right_whichever_call_goes_wrong(void **state)
{
    static const enum session_fault faults[] = {SESSION_FAULT_UNAVAILABLE, SESSION_FAULT_UNKNOWN_DONE, SESSION_FAULT_UNKNOWN_LOST};
    (void)state;
    uint64_t fence = 0;
    uint32_t failed = 0, done = 0;
    for (uint32_t f = 0; f < 3; f++) {
        for (uint64_t call = 1; call <= 4; call++) {
            struct guarded_value value;
            enum guarded_result result;
            assert_int_equal(update(++fence, "before"), GUARDED_OK);
            memory_session_fail(session, call, faults[f]);
            enum status status = guarded_read(&guarded, ++fence, arena, &result, &value, &err);
            if (status == STATUS_OK) {
                assert_int_equal(result, GUARDED_OK);
                assert_memory_equal(value.bytes.bytes, "before", 6);
            }
            memory_session_fail(session, call, faults[f]);
            status = guarded_update(&guarded, fence, TEXT("after"), &result, &err);
            memory_session_fail(session, 0, SESSION_FAULT_NONE);
            if (status == STATUS_OK) {
                assert_int_equal(result, GUARDED_OK);
                assert_there("after", fence);
            } else {
                assert_int_equal(status, STATUS_UNAVAILABLE);
                (void)assert_value("before"); /* an error: nothing was written */
            }
            failed += status != STATUS_OK;
            done += status == STATUS_OK;
        }
    }
    assert_true(failed >= 3 && done >= 6);
}

/* A session that loses the answer to its first write, which it did or did not do. Then it answers no more, or somebody else comes first. */
static struct cluster_driver dumb_driver;
static const struct cluster_driver *true_driver;
static bool is_dumb, does_it;
static void (*meanwhile)(void *context);

static enum status dumb_get(struct cluster_session *of, const char *name, struct arena *into, enum cluster_result *result,
                            struct cluster_value *value, struct error *error)
{
    return is_dumb ? error_set(error, ERROR_CLUSTER_UNAVAILABLE, "no answer") : true_driver->get(of, name, into, result, value, error);
}

static enum status dumb_put(struct cluster_session *of, const char *name, struct text value, const struct cluster_version *expect,
                            enum cluster_result *result, struct cluster_version *version, struct error *error)
{
    is_dumb = true;
    enum status status = does_it ? true_driver->put(of, name, value, expect, result, version, error) : STATUS_OK;
    *result = CLUSTER_UNKNOWN;
    if (meanwhile != NULL) {
        of->driver = true_driver;
        meanwhile(NULL);
    }
    return status;
}

static enum guarded_result update_dumbly(uint64_t fence, const char *value, bool done, void (*run)(void *context))
{
    is_dumb = false;
    does_it = done;
    meanwhile = run;
    true_driver = guarded.session->driver;
    dumb_driver = *true_driver;
    dumb_driver.get = dumb_get;
    dumb_driver.put = dumb_put;
    guarded.session->driver = &dumb_driver;
    enum guarded_result result = update(fence, value);
    guarded.session->driver = true_driver;
    return result;
}

static void answer_that_is_lost_and_cannot_be_looked_up_is_unknown_and_no_error(void **state)
{
    (void)state;
    for (uint32_t done = 0; done < 2; done++) {
        assert_int_equal(update(1, "a"), GUARDED_OK);
        assert_int_equal(update_dumbly(1, "b", done, NULL), GUARDED_UNKNOWN);
        assert_there(done ? "b" : "a", 1);
    }
}

/* ---- somebody else in between ---- */

static void take_over(void *context)
{
    (void)context;
    enum guarded_result result;
    struct guarded_value value;
    assert_int_equal(guarded_read(&guarded, 9, arena, &result, &value, &err), STATUS_OK);
}

static void take_nothing(void *context)
{
    (void)context;
}

static void write_over(void *context)
{
    (void)context;
    assert_int_equal(update(9, "later"), GUARDED_OK);
}

static void later_holder_that_comes_between_reading_and_writing_wins(void **state)
{
    (void)state;
    assert_int_equal(update(1, "a"), GUARDED_OK);
    memory_session_fail(session, 0, SESSION_FAULT_NONE);
    memory_session_interrupt(session, 2, take_over, NULL);
    assert_int_equal(update(2, "b"), GUARDED_OUTDATED);
    assert_there("a", 9);
}

static void write_whose_answer_was_lost_is_found_though_a_later_holder_has_read_it(void **state)
{
    (void)state;
    assert_int_equal(update(1, "a"), GUARDED_OK);
    assert_int_equal(update_dumbly(2, "b", true, take_over), GUARDED_OK);
    assert_there("b", 9);
    assert_int_equal(update_dumbly(9, "c", false, take_over), GUARDED_OK);
    assert_there("c", 9);
}

static void write_whose_answer_was_lost_and_that_a_later_holder_has_written_over_is_unknown(void **state)
{
    (void)state;
    for (uint32_t done = 0; done < 2; done++) {
        assert_int_equal(update_dumbly(8, "b", done, write_over), GUARDED_UNKNOWN);
        assert_there("later", 9);
        assert_int_equal(close_session(NULL) || open_session(NULL), 0);
    }
}

static void write_whose_answer_was_lost_is_tried_again_when_it_was_not_done(void **state)
{
    (void)state;
    for (uint32_t done = 0; done < 2; done++) {
        assert_int_equal(update_dumbly(1, done ? "x" : "y", done, take_nothing), GUARDED_OK);
        assert_there(done ? "x" : "y", 1);
    }
}

/* A write of the same holder whose answer was lost, and which is still on its way when the holder reads: it took it for not done. */
static void write_that_was_on_its_way_when_its_own_holder_read_comes_too_late(void **state)
{
    (void)state;
    struct cluster_session *registers = memory_session_of(session);
    enum cluster_result result;
    struct cluster_value before;
    struct cluster_version version;
    struct guarded_value value;
    assert_int_equal(update(5, "a"), GUARDED_OK);
    assert_int_equal(registers->driver->get(registers, "stock", arena, &result, &before, &err), STATUS_OK);
    assert_int_equal(read_as(5, &value), GUARDED_OK);
    assert_int_equal(value.fence, 5);
    assert_int_equal(registers->driver->put(registers, "stock", before.bytes, &before.version, &result, &version, &err), STATUS_OK);
    assert_int_equal(result, CLUSTER_CONFLICT);
    assert_there("a", 5);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_session, close_session)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(update_by_an_old_holder_is_refused_once_a_later_one_wrote),
        TEST(update_by_an_old_holder_is_refused_once_a_later_one_read),
        TEST(read_of_a_register_that_nobody_wrote_keeps_old_holders_out_too),
        TEST(values_of_any_bytes_come_back),
        TEST(value_that_no_register_can_hold_is_refused_and_changes_nothing),
        TEST(foreign_value_is_corrupt_and_stays),
        TEST(update_and_read_are_right_whichever_call_goes_wrong),
        TEST(answer_that_is_lost_and_cannot_be_looked_up_is_unknown_and_no_error),
        TEST(later_holder_that_comes_between_reading_and_writing_wins),
        TEST(write_whose_answer_was_lost_is_found_though_a_later_holder_has_read_it),
        TEST(write_that_was_on_its_way_when_its_own_holder_read_comes_too_late),
        TEST(write_whose_answer_was_lost_is_tried_again_when_it_was_not_done),
        TEST(write_whose_answer_was_lost_and_that_a_later_holder_has_written_over_is_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
