#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "../support/arena.h"
#include "cluster/control/decide.h"
#include "cluster/control/log_register.h"
#include "memory_session.h"

#define PREFIX "jobs/orders-7k2d"

static struct random_source chance;
static struct memory_session *memory;
static struct control_ground ground;
static struct control_world world;

static struct control_log *open_log(void)
{
    struct control_log *log;
    assert_int_equal(control_log_open(memory_session_of(memory), PREFIX, &budget, NULL, &chance, &log, &err), STATUS_OK);
    return log;
}

static struct control_record proposal(const char *key)
{
    struct control_record record = {.kind = CONTROL_PROPOSE, .at_ms = world.wall_ms};
    record.propose = (struct control_propose){.key = key, .verb = "core.capacity.set", .actor = "user:ann"};
    assert_int_equal(control_args_make("{\"max\":4}", arena, &record.propose.args, record.propose.args_sha256, &err), STATUS_OK);
    return record;
}

static enum status try_propose(struct control_log *log, const char *key, uint64_t *index)
{
    struct control_record record = proposal(key);
    bool counted;
    return control_log_append(log, &record, index, &counted, &err);
}

static uint64_t propose(struct control_log *log, const char *key)
{
    uint64_t index;
    assert_int_equal(try_propose(log, key, &index), STATUS_OK);
    return index;
}

/* The leader's turn over the log; the first error ends it. */
static enum status lead(struct control_log *log)
{
    struct control_step step;
    bool counted;
    uint64_t index;
    do {
        TRY(control_log_read(log, &err));
        world.model_rank = control_log_fold(log)->rank;
        TRY(control_decide(control_log_fold(log), &world, arena, &step, &err));
        if (step.kind == CONTROL_STEP_APPEND) {
            TRY(control_log_append(log, &step.record, &index, &counted, &err));
        } else if (step.kind == CONTROL_STEP_SNAPSHOT) {
            TRY(control_log_snapshot(log, &step.record, &counted, &err));
        }
    } while (step.kind != CONTROL_STEP_WAIT);
    return STATUS_OK;
}

static void read_log(struct control_log *log)
{
    assert_int_equal(control_log_read(log, &err), STATUS_OK);
}

static const char *json_of(struct control_log *log)
{
    struct text json;
    read_log(log);
    assert_int_equal(control_fold_write(control_log_fold(log), arena, &json, &err), STATUS_OK);
    return json.bytes;
}

/* Everyone sees what somebody who comes now sees. */
static void assert_agrees(struct control_log *log)
{
    struct control_log *fresh = open_log();
    assert_string_equal(json_of(fresh), json_of(log));
    control_log_close(fresh);
}

static uint32_t count_key(struct control_log *log, const char *key)
{
    const struct control_fold *fold = control_log_fold(log);
    uint32_t count = 0;
    for (uint32_t i = 0; i < fold->entry_count; i++) {
        count += fold->entries[i].propose.key != NULL && strcmp(fold->entries[i].propose.key, key) == 0;
    }
    return count;
}

static void records_of_many_have_one_order(void **state)
{
    struct control_log *one = open_log(), *two = open_log();
    assert_int_equal(propose(one, "a"), 1);
    assert_int_equal(propose(two, "b"), 2);
    assert_int_equal(propose(one, "c"), 3);
    assert_string_equal(json_of(one), json_of(two));
    assert_agrees(one);
    assert_true(memory_session_has(memory, PREFIX "/ctl/00000000000000000003"));
    control_log_close(one);
    control_log_close(two);
}

static void append_other(void *context)
{
    propose(context, "other");
}

/* Before each call of an append somebody else appends. */
static void two_appends_at_once_both_count(void **state)
{
    struct control_log *one = open_log(), *two = open_log();
    for (uint64_t call = 1; call <= 8; call++) {
        uint64_t before = control_log_fold(one)->through, index;
        memory_session_interrupt(memory, call, append_other, two);
        assert_int_equal(try_propose(one, "mine", &index), STATUS_OK);
        memory_session_fail(memory, 0, SESSION_FAULT_NONE);
        read_log(one);
        read_log(two);
        assert_true(index > before);
        assert_true(control_log_fold(one)->through - before <= 3);
        assert_string_equal(control_fold_find(control_log_fold(two), index)->propose.key, "mine");
        assert_string_equal(json_of(one), json_of(two));
    }
    assert_int_equal(count_key(one, "mine"), 8);
    control_log_close(one);
    control_log_close(two);
}

static void a_lost_reply_is_found_by_reading_back(void **state)
{
    static const enum session_fault faults[] = {SESSION_FAULT_UNAVAILABLE, SESSION_FAULT_UNKNOWN_DONE, SESSION_FAULT_UNKNOWN_LOST};
    struct control_log *log = open_log(), *other = open_log();
    uint32_t failed = 0, good = 0;
    for (size_t f = 0; f < ARRAY_LENGTH(faults); f++) {
        for (uint64_t call = 1; call <= 8; call++) {
            char key[40];
            uint64_t index;
            snprintf(key, sizeof key, "%zu/%d", f, (int)call);
            memory_session_fail(memory, call, faults[f]);
            enum status status = try_propose(log, key, &index);
            memory_session_fail(memory, 0, SESSION_FAULT_NONE);
            read_log(log);
            assert_true(status == STATUS_OK || status == STATUS_UNAVAILABLE);
            assert_true(count_key(log, key) <= 1 && (status != STATUS_OK || count_key(log, key) == 1));
            assert_string_equal(json_of(other), json_of(log));
            failed += status != STATUS_OK;
            good += status == STATUS_OK;
        }
    }
    assert_true(failed > 3 && good > 3);
    assert_agrees(log);
    control_log_close(log);
    control_log_close(other);
}

/* Edits that are old enough to be forgotten. */
static void fill(struct control_log *log, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        char key[40];
        snprintf(key, sizeof key, "fill %u at %d", i, (int)(world.wall_ms / CONTROL_KEYS_MS));
        propose(log, key);
        assert_int_equal(lead(log), STATUS_OK);
    }
    world.wall_ms += CONTROL_KEYS_MS;
}

static void who_is_behind_the_cut_begins_at_the_snapshot(void **state)
{
    struct control_log *leader = open_log(), *slow = open_log(), *reader = open_log();
    uint64_t index;
    read_log(reader);
    fill(leader, 3);
    read_log(reader); /* has read some of what goes */
    world.snapshot_every = 20;
    fill(leader, 10);
    fill(leader, 10);
    assert_true(control_log_cut(leader) > 9);
    assert_false(memory_session_has(memory, PREFIX "/ctl/00000000000000000001"));
    assert_string_equal(json_of(slow), json_of(leader));
    assert_string_equal(json_of(reader), json_of(leader));
    assert_int_equal(try_propose(slow, "late", &index), STATUS_OK);
    assert_agrees(leader);
    control_log_close(leader);
    control_log_close(slow);
    control_log_close(reader);
}

static void fill_and_cut(void *context)
{
    world.snapshot_every = 20;
    fill(context, 12);
    fill(context, 12);
    world.snapshot_every = CONTROL_SNAPSHOT_EVERY;
}

/* A writer that was frozen before any of its calls, while the log went on and its front was removed, writes at the end. */
static void a_writer_that_slept_through_a_cut_writes_at_the_end(void **state)
{
    for (uint64_t call = 1; call <= 6; call++) {
        struct control_log *leader = open_log(), *sleeper = open_log();
        uint64_t index;
        read_log(sleeper);
        memory_session_interrupt(memory, call, fill_and_cut, leader);
        assert_int_equal(try_propose(sleeper, "slept", &index), STATUS_OK);
        memory_session_fail(memory, 0, SESSION_FAULT_NONE);
        read_log(leader);
        assert_true(call > 5 || index > control_log_cut(leader));
        assert_int_equal(memory_session_count(memory, PREFIX "/ctl/"), control_log_fold(leader)->through - control_log_cut(leader));
        assert_string_equal(json_of(sleeper), json_of(leader));
        assert_agrees(leader);
        control_log_close(leader);
        control_log_close(sleeper);
    }
}

static void take_over(void *context)
{
    world.term++;
    assert_int_equal(lead(context), STATUS_OK);
    world.term--;
}

/* A leader that is replaced before any of its calls: what it says then counts for nothing, and it cuts nothing. */
static void a_leader_that_is_replaced_takes_no_snapshot(void **state)
{
    for (uint64_t call = 1;; call++) {
        struct control_log *leader = open_log(), *next = open_log();
        struct control_step step;
        bool counted;
        fill(leader, 8);
        world.snapshot_every = 1;
        read_log(leader);
        assert_int_equal(control_decide(control_log_fold(leader), &world, arena, &step, &err), STATUS_OK);
        assert_int_equal(step.kind, CONTROL_STEP_SNAPSHOT);
        world.snapshot_every = CONTROL_SNAPSHOT_EVERY;
        memory_session_interrupt(memory, call, take_over, next);
        assert_int_equal(control_log_snapshot(leader, &step.record, &counted, &err), STATUS_OK);
        bool was_interrupted = memory_session_calls(memory) >= call;
        memory_session_fail(memory, 0, SESSION_FAULT_NONE);
        assert_agrees(leader);
        assert_agrees(next);
        world.term += 2;
        control_log_close(leader);
        control_log_close(next);
        if (!was_interrupted) {
            assert_true(call > 8 && counted);
            break;
        }
    }
}

/* The leader dies at any call of a turn with a snapshot in it; the next one does the rest. */
static void a_snapshot_that_breaks_off_anywhere_is_finished_by_the_next(void **state)
{
    uint64_t breaks = 0;
    for (uint64_t call = 1, done = 0; done == 0; call++) {
        struct control_log *leader = open_log(), *next = open_log();
        world.snapshot_every = CONTROL_SNAPSHOT_EVERY;
        fill(leader, 8);
        world.snapshot_every = 10;
        memory_session_fail(memory, call, call % 2 == 0 ? SESSION_FAULT_UNAVAILABLE : SESSION_FAULT_UNKNOWN_DONE);
        done = lead(leader) == STATUS_OK && memory_session_calls(memory) < call;
        breaks += done == 0;
        memory_session_fail(memory, 0, SESSION_FAULT_NONE);
        assert_agrees(next);
        world.term++;
        propose(next, NULL);
        assert_int_equal(lead(next), STATUS_OK);
        assert_string_equal(json_of(next), json_of(leader));
        assert_agrees(next);
        control_log_close(leader);
        control_log_close(next);
    }
    assert_true(breaks > 20);
    assert_int_equal(memory_session_count(memory, PREFIX "/ctl-body/"), 1);
}

/* C54: the start reads the snapshot and the tail; keys are known. */
static void after_ten_thousand_edits_the_start_reads_a_snapshot_and_a_tail(void **state)
{
    enum { EDITS = 3400, ROUNDS = 3, PARTS = 60 };
    struct control_log *leader = open_log();
    world.snapshot_every = 1000;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        fill(leader, EDITS);
    }
    propose(leader, "last");
    assert_int_equal(lead(leader), STATUS_OK);
    uint64_t through = control_log_fold(leader)->through;
    assert_true(through > (uint64_t)EDITS * ROUNDS * 3);
    memory_session_fail(memory, 0, SESSION_FAULT_NONE);
    struct control_log *fresh = open_log();
    read_log(fresh);
    assert_true(memory_session_calls(memory) < 1010 + PARTS);
    assert_string_equal(json_of(fresh), json_of(leader));
    assert_int_equal(count_key(fresh, "last"), 1);
    assert_int_equal(count_key(fresh, "fill 3399 at 2"), 1);
    assert_int_equal(count_key(fresh, "fill 0 at 0"), 0); /* older than it must be kept */
    assert_true(control_log_cut(fresh) > (uint64_t)EDITS * 3);
    control_log_close(fresh);
    control_log_close(leader);
}

static void nothing_is_read_behind_a_damaged_record(void **state)
{
    struct control_log *log = open_log(), *other = open_log();
    propose(log, "a");
    propose(log, "b");
    propose(log, "c");
    memory_session_damage(memory, PREFIX "/ctl/00000000000000000002", 12);
    assert_int_equal(control_log_read(other, &err), STATUS_CORRUPT);
    assert_non_null(strstr(err.text, "ctl/00000000000000000002"));
    uint64_t index;
    assert_int_equal(try_propose(other, "d", &index), STATUS_CORRUPT);
    memory_session_damage(memory, PREFIX "/ctl/00000000000000000002", 12);
    assert_string_equal(json_of(other), json_of(log));
    control_log_close(log);
    control_log_close(other);
}

static void a_damaged_body_is_named(void **state)
{
    struct control_log *log = open_log(), *none;
    char name[200] = "";
    fill(log, 5);
    world.snapshot_every = 1;
    assert_int_equal(lead(log), STATUS_OK);
    struct cluster_names names;
    struct cluster_session *session = memory_session_of(memory);
    assert_int_equal(session->driver->list(session, PREFIX "/ctl-body/", arena, &names, &err), STATUS_OK);
    assert_int_equal(names.count, 1);
    snprintf(name, sizeof name, "%s", names.names[0]);
    memory_session_damage(memory, name, 30);
    assert_int_equal(control_log_open(session, PREFIX, &budget, NULL, &chance, &none, &err), STATUS_CORRUPT);
    assert_non_null(strstr(err.text, "ctl-body/"));
    control_log_close(log);
}

static int set_up(void **state)
{
    static const char *const can[] = {"core.capacity.set"};
    memory = memory_session_create();
    random_open(&chance, 3);
    ground = (struct control_ground){.verbs = can, .verb_count = 1};
    static const uint64_t one_task[] = {UINT64_MAX};
    world = (struct control_world){.term = 1,
                                   .leader = "w1#5f3a",
                                   .version = 1,
                                   .tasks = one_task,
                                   .task_count = 1,
                                   .ground = &ground,
                                   .verbs = &control_verbs,
                                   .wall_ms = CONTROL_KEYS_MS / 2,
                                   .snapshot_every = CONTROL_SNAPSHOT_EVERY};
    return 0;
}

static int tear_down(void **state)
{
    memory_session_destroy(memory);
    arena_reset(arena);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(records_of_many_have_one_order),
        TEST(two_appends_at_once_both_count),
        TEST(a_lost_reply_is_found_by_reading_back),
        TEST(who_is_behind_the_cut_begins_at_the_snapshot),
        TEST(a_writer_that_slept_through_a_cut_writes_at_the_end),
        TEST(a_leader_that_is_replaced_takes_no_snapshot),
        TEST(a_snapshot_that_breaks_off_anywhere_is_finished_by_the_next),
        TEST(after_ten_thousand_edits_the_start_reads_a_snapshot_and_a_tail),
        TEST(nothing_is_read_behind_a_damaged_record),
        TEST(a_damaged_body_is_named),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
