#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/commit_record.h"
#include "cluster/value.h"
#include "memory_session.h"

#define PREFIX "jobs/orders-7k2d"
#define NAME   PREFIX "/commit/s0.3"

static struct memory_session *session;
static struct arena *arena;
static struct error err;
static const struct life w1 = {"w1", 0x11}, w2 = {"w2", 0x22};
static uint64_t task;

static int open_session(void **state)
{
    (void)state;
    session = memory_session_create();
    arena = arena_create(NULL, "test");
    task = task_make(0, 3);
    return session == NULL || arena == NULL;
}

static int close_session(void **state)
{
    (void)state;
    arena_destroy(arena);
    memory_session_destroy(session);
    return 0;
}

static struct commit_store store_of(uint64_t epoch, struct life life)
{
    struct commit_store store;
    assert_int_equal(commit_store_open(&store, memory_session_of(session), PREFIX, task, epoch, life, &err), STATUS_OK);
    return store;
}

static struct commit_record take(struct commit_store *store, uint64_t listed)
{
    struct commit_record record = {0};
    assert_int_equal(commit_record_take(store, listed, &record, &err), STATUS_OK);
    return record;
}

static enum status put(struct commit_store *store, uint64_t seq)
{
    const struct commit_record next = {.seq = seq, .ctl_rank = seq * 2};
    return commit_record_put(store, &next, &err);
}

static enum status fence(uint64_t epoch)
{
    return commit_record_fence(memory_session_of(session), PREFIX, task, epoch, &err);
}

static struct commit_record look(void)
{
    bool found;
    struct commit_record record;
    assert_int_equal(commit_record_read(memory_session_of(session), PREFIX, task, arena, &found, &record, &err), STATUS_OK);
    assert_true(found);
    return record;
}

/* ---- owners ---- */

static void record_goes_from_owner_to_owner_with_what_counts(void **state)
{
    (void)state;
    struct commit_store first = store_of(40, w1), second = store_of(42, w2);
    struct commit_record record = take(&first, 0);
    assert_int_equal(record.seq, 0);
    assert_int_equal(record.generation, 0);
    assert_int_equal(put(&first, 16), STATUS_OK);
    const struct commit_record next = {.seq = 17, .ctl_rank = 33, .kept = {16}, .kept_count = 1, .ended = true};
    assert_int_equal(commit_record_put(&first, &next, &err), STATUS_OK);
    record = take(&second, 18);
    assert_int_equal(record.seq, 17);
    assert_int_equal(record.ctl_rank, 33);
    assert_int_equal(record.kept_count, 1);
    assert_int_equal(record.kept[0], 16);
    assert_true(record.ended);
    assert_int_equal(record.generation, 1);
    assert_int_equal(record.epoch, 42);
    assert_true(life_equal(look().life, w2));
    assert_int_equal(put(&first, 18), STATUS_FENCED);
    assert_non_null(strstr(err.text, "w2#22 since epoch 42"));
    assert_int_equal(look().seq, 17);
    commit_store_close(&first);
    commit_store_close(&second);
}

static void record_is_not_given_to_a_lower_epoch_nor_to_another_life_of_the_same(void **state)
{
    (void)state;
    struct commit_store owner = store_of(40, w1), lower = store_of(39, w1), other = store_of(40, w2);
    struct commit_record record;
    take(&owner, 0);
    assert_int_equal(commit_record_take(&lower, 0, &record, &err), STATUS_FENCED);
    assert_int_equal(commit_record_take(&other, 0, &record, &err), STATUS_FENCED);
    assert_int_equal(put(&owner, 1), STATUS_OK);
    commit_store_close(&owner);
    commit_store_close(&lower);
    commit_store_close(&other);
}

static void record_taken_again_by_the_same_life_refuses_what_it_began_before(void **state)
{
    (void)state;
    struct commit_store before = store_of(40, w1), now = store_of(40, w1);
    take(&before, 0);
    assert_int_equal(put(&before, 1), STATUS_OK);
    struct commit_record record = take(&now, 1);
    assert_int_equal(record.seq, 1);
    assert_int_equal(record.generation, 1);
    assert_int_equal(put(&before, 2), STATUS_FENCED);
    assert_int_equal(put(&now, commit_first_number(1)), STATUS_OK);
    commit_store_close(&before);
    commit_store_close(&now);
}

/* ---- fences ---- */

static void fence_refuses_the_former_owner_and_keeps_what_counts(void **state)
{
    (void)state;
    struct commit_store former = store_of(40, w1), late = store_of(41, w1), next = store_of(42, w2);
    struct commit_record record;
    take(&former, 0);
    assert_int_equal(put(&former, 5), STATUS_OK);
    assert_int_equal(fence(42), STATUS_OK);
    assert_int_equal(fence(42), STATUS_OK);
    assert_int_equal(fence(41), STATUS_OK);
    record = look();
    assert_int_equal(record.epoch, 42);
    assert_null(record.life.id);
    assert_int_equal(record.seq, 5);
    assert_int_equal(put(&former, 6), STATUS_FENCED);
    assert_int_equal(commit_record_take(&late, 5, &record, &err), STATUS_FENCED);
    assert_int_equal(take(&next, 6).seq, 5);
    assert_int_equal(fence(42), STATUS_OK); /* a leader that repeats a step does not take it from its new owner */
    assert_int_equal(put(&next, 7), STATUS_OK);
    commit_store_close(&former);
    commit_store_close(&late);
    commit_store_close(&next);
}

static void record_that_only_a_fence_made_counts_what_is_in_the_storage(void **state)
{
    (void)state;
    assert_int_equal(fence(7), STATUS_OK);
    assert_false(look().begun);
    struct commit_store store = store_of(7, w1), next = store_of(8, w2);
    struct commit_record record = take(&store, commit_first_number(3) + 4);
    assert_int_equal(record.seq, commit_first_number(3) + 4);
    assert_int_equal(record.generation, 4);
    assert_true(look().begun);
    assert_int_equal(take(&next, commit_first_number(4)).seq, commit_first_number(3) + 4); /* from now on the record says it */
    commit_store_close(&store);
    commit_store_close(&next);
}

static void record_that_is_gone_is_not_made_again_by_its_owner(void **state)
{
    (void)state;
    struct commit_store store = store_of(7, w1);
    struct cluster_session *driver = memory_session_of(session);
    struct cluster_value value;
    enum cluster_result result;
    take(&store, 0);
    assert_int_equal(driver->driver->get(driver, NAME, arena, &result, &value, &err), STATUS_OK);
    assert_int_equal(driver->driver->del(driver, NAME, &value.version, &result, &err), STATUS_OK);
    assert_int_equal(put(&store, 1), STATUS_FENCED);
    assert_non_null(strstr(err.text, "is gone"));
    assert_false(memory_session_has(session, NAME));
    commit_store_close(&store);
}

/* ---- answers that are lost, services that fail ---- */

static const enum session_fault faults[] = {SESSION_FAULT_UNAVAILABLE, SESSION_FAULT_UNKNOWN_DONE, SESSION_FAULT_UNKNOWN_LOST};

static void each_step_is_done_once_whichever_call_goes_wrong(void **state)
{
    (void)state;
    for (uint32_t f = 0; f < 3; f++) {
        for (uint64_t call = 1; call <= 4; call++) {
            const struct commit_record before = memory_session_has(session, NAME) ? look() : (struct commit_record){0};
            uint64_t epoch = before.epoch + 2;
            struct commit_record record;
            memory_session_fail(session, call, faults[f]);
            while (fence(epoch - 1) != STATUS_OK) {
                assert_int_equal(err.status, STATUS_UNAVAILABLE);
            }
            struct commit_store store = store_of(epoch, w1);
            memory_session_fail(session, call, faults[f]);
            while (commit_record_take(&store, 0, &record, &err) != STATUS_OK) {
                assert_int_equal(err.status, STATUS_UNAVAILABLE);
            }
            assert_int_equal(record.seq, before.seq);
            assert_int_equal(record.generation, before.generation + 1);
            memory_session_fail(session, call, faults[f]);
            while (put(&store, before.seq + 3) != STATUS_OK) {
                assert_int_equal(err.status, STATUS_UNAVAILABLE);
            }
            memory_session_fail(session, 0, SESSION_FAULT_NONE);
            assert_false(commit_record_is_doubtful(&store));
            assert_int_equal(look().seq, before.seq + 3);
            assert_int_equal(look().ctl_rank, (before.seq + 3) * 2);
            commit_store_close(&store);
        }
    }
}

static void put_whose_answer_cannot_be_looked_up_is_doubtful_and_the_next_one_finds_out(void **state)
{
    (void)state;
    struct commit_store store = store_of(3, w1);
    take(&store, 0);
    memory_session_fail(session, 1, SESSION_FAULT_UNAVAILABLE);
    assert_int_equal(put(&store, 1), STATUS_UNAVAILABLE);
    assert_false(commit_record_is_doubtful(&store)); /* surely not done */
    assert_int_equal(look().seq, 0);
    store.stale = true; /* as after a lost answer and a service that went away */
    assert_int_equal(put(&store, 2), STATUS_OK);
    assert_int_equal(look().seq, 2);
    commit_store_close(&store);
}

struct rival {
    struct commit_store *store;
    enum status status;
};

static void steal(void *context)
{
    struct rival *rival = context;
    struct commit_record record;
    rival->status = commit_record_take(rival->store, 0, &record, &err);
}

static void put_counts_or_is_refused_wherever_another_owner_comes_in(void **state)
{
    (void)state;
    for (uint64_t call = 1; call <= 3; call++) {
        struct commit_store store = store_of(call * 10, w1), other = store_of(call * 10 + 5, w2);
        struct rival rival = {&other, STATUS_UNAVAILABLE};
        uint64_t before = take(&store, 0).seq;
        store.stale = call > 1; /* so that it looks first */
        memory_session_interrupt(session, call, steal, &rival);
        enum status status = put(&store, before + 1);
        memory_session_fail(session, 0, SESSION_FAULT_NONE);
        assert_int_equal(look().seq, status == STATUS_OK ? before + 1 : before);
        if (rival.status == STATUS_OK) {
            assert_int_equal(status, STATUS_FENCED);
            assert_int_equal(other.record.seq, before);
            assert_int_equal(put(&other, before + 2), STATUS_OK);
        } else {
            assert_int_equal(call, 3); /* there was no such call */
        }
        commit_store_close(&store);
        commit_store_close(&other);
    }
}

/* ---- forms ---- */

static void damaged_record_is_named_and_never_overwritten(void **state)
{
    (void)state;
    struct commit_store store = store_of(3, w1), next = store_of(4, w2);
    struct commit_record record;
    bool found;
    take(&store, 0);
    assert_int_equal(put(&store, 1), STATUS_OK);
    for (size_t at = 0; at < 60; at += 7) {
        memory_session_damage(session, NAME, at);
        assert_int_equal(commit_record_take(&next, 1, &record, &err), STATUS_CORRUPT);
        assert_non_null(strstr(err.text, NAME));
        assert_int_equal(fence(9), STATUS_CORRUPT);
        assert_int_equal(commit_record_read(memory_session_of(session), PREFIX, task, arena, &found, &record, &err), STATUS_CORRUPT);
        store.stale = true;
        assert_int_equal(put(&store, 2), STATUS_CORRUPT);
        memory_session_damage(session, NAME, at); /* as it was */
    }
    assert_int_equal(look().seq, 1);
    assert_int_equal(put(&store, 2), STATUS_OK);
    commit_store_close(&store);
    commit_store_close(&next);
}

static void write_json(const char *json)
{
    struct cluster_session *driver = memory_session_of(session);
    struct cluster_value there = {0};
    struct cluster_version version;
    enum cluster_result result;
    struct text value;
    assert_int_equal(driver->driver->get(driver, NAME, arena, &result, &there, &err), STATUS_OK);
    bool absent = result == CLUSTER_ABSENT;
    assert_int_equal(value_seal(text_from(json), arena, &value, &err), STATUS_OK);
    assert_int_equal(driver->driver->put(driver, NAME, value, absent ? NULL : &there.version, &result, &version, &err), STATUS_OK);
    assert_int_equal(result, CLUSTER_OK);
}

static void record_keeps_members_of_newer_builds(void **state)
{
    (void)state;
    write_json("{\"v\":1,\"task\":\"s0.3\",\"epoch\":2,\"generation\":1,\"nonce\":\"x\",\"begun\":true,\"seq\":9,\"kept\":[4,8],"
               "\"ctl_rank\":1,\"ended\":false,\"later\":{\"a\":[1]}}");
    struct commit_store store = store_of(3, w1);
    struct commit_record record = take(&store, 0);
    assert_int_equal(record.kept_count, 2);
    assert_int_equal(put(&store, commit_first_number(2)), STATUS_OK);
    assert_int_equal(put(&store, commit_first_number(2) + 1), STATUS_OK);
    struct cluster_session *driver = memory_session_of(session);
    struct cluster_value value;
    enum cluster_result result;
    assert_int_equal(driver->driver->get(driver, NAME, arena, &result, &value, &err), STATUS_OK);
    assert_non_null(memmem(value.bytes.bytes, value.bytes.length, "\"later\":{\"a\":[1]}", 17));
    commit_store_close(&store);
}

static void record_of_another_task_or_with_impossible_members_is_damaged(void **state)
{
    static const char *const wrong[] = {
        "{\"v\":1,\"task\":\"s0.4\",\"epoch\":2,\"generation\":1,\"nonce\":\"x\",\"begun\":true,\"seq\":9,\"ctl_rank\":1,\"ended\":false}",
        "{\"v\":1,\"task\":\"s0.3\",\"epoch\":-2,\"generation\":1,\"nonce\":\"x\",\"begun\":true,\"seq\":9,\"ctl_rank\":1,\"ended\":false}",
        "{\"v\":1,\"task\":\"s0.3\",\"epoch\":2,\"generation\":1,\"begun\":true,\"seq\":9,\"ctl_rank\":1,\"ended\":false}",
        "{\"v\":1,\"task\":\"s0.3\",\"epoch\":2,\"generation\":1,\"nonce\":\"x\",\"begun\":true,\"seq\":9,\"kept\":[9],\"ctl_rank\":1}",
        "{\"v\":1,\"task\":\"s0.3\",\"epoch\":2,\"generation\":1,\"nonce\":\"x\",\"begun\":true,\"seq\":9,\"kept\":[4,3],\"ctl_rank\":1}"};
    (void)state;
    struct commit_store store = store_of(3, w1);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct commit_record record;
        write_json(wrong[i]);
        assert_int_equal(commit_record_take(&store, 0, &record, &err), STATUS_CORRUPT);
    }
    write_json("{\"v\":2,\"task\":\"s0.3\"}");
    struct commit_record record;
    assert_int_equal(commit_record_take(&store, 0, &record, &err), STATUS_UNSUPPORTED);
    commit_store_close(&store);
}

static void record_with_all_it_can_keep_fits_a_register(void **state)
{
    (void)state;
    struct commit_store store = store_of(INT64_MAX - 1, w1);
    struct commit_record next = {.seq = INT64_MAX, .ctl_rank = INT64_MAX, .kept_count = COMMIT_KEPT_MAX};
    for (uint32_t i = 0; i < COMMIT_KEPT_MAX; i++) {
        next.kept[i] = INT64_MAX - 100 + i;
    }
    take(&store, 0);
    assert_int_equal(commit_record_put(&store, &next, &err), STATUS_OK);
    assert_memory_equal(look().kept, next.kept, sizeof next.kept);
    commit_store_close(&store);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_session, close_session)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(record_goes_from_owner_to_owner_with_what_counts),
        TEST(record_is_not_given_to_a_lower_epoch_nor_to_another_life_of_the_same),
        TEST(record_taken_again_by_the_same_life_refuses_what_it_began_before),
        TEST(fence_refuses_the_former_owner_and_keeps_what_counts),
        TEST(record_that_only_a_fence_made_counts_what_is_in_the_storage),
        TEST(record_that_is_gone_is_not_made_again_by_its_owner),
        TEST(each_step_is_done_once_whichever_call_goes_wrong),
        TEST(put_whose_answer_cannot_be_looked_up_is_doubtful_and_the_next_one_finds_out),
        TEST(put_counts_or_is_refused_wherever_another_owner_comes_in),
        TEST(damaged_record_is_named_and_never_overwritten),
        TEST(record_keeps_members_of_newer_builds),
        TEST(record_of_another_task_or_with_impossible_members_is_damaged),
        TEST(record_with_all_it_can_keep_fits_a_register),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
