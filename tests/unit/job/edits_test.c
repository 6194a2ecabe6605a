#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <unistd.h>

#include "cluster/control/log_register.h"
#include "cluster/task_id.h"
#include "job/edits.h"
#include "job/edits_group.h"

/* A job that hears of edits, and somebody who proposes them, over registers in this process. */
static struct budget budget;
static struct arena *arena;
static struct error err;
static struct random_source chance;
static struct cluster_session *session;
static struct control_log *outside;

static struct edits *open_job(bool goes_on, uint64_t applied)
{
    const struct edits_spec spec = {.uri = "local:edits", .job_id = "orders-1", .budget = &budget, .goes_on = goes_on, .applied = applied};
    struct edits *edits;
    assert_int_equal(edits_open(&spec, &edits, &err), STATUS_OK);
    return edits;
}

static uint64_t propose(const char *verb, const char *args)
{
    struct control_record record = {.kind = CONTROL_PROPOSE, .propose = {.verb = verb, .actor = "user:ann"}};
    uint64_t index;
    bool counted;
    assert_int_equal(control_args_make(args, arena, &record.propose.args, record.propose.args_sha256, &err), STATUS_OK);
    assert_int_equal(control_log_append(outside, &record, &index, &counted, &err), STATUS_OK);
    return index;
}

static const struct control_entry *entry(uint64_t index)
{
    assert_int_equal(control_log_read(outside, &err), STATUS_OK);
    return control_fold_find(control_log_fold(outside), index);
}

static void wait_for(uint64_t index, enum control_state state)
{
    for (int i = 0; i < 3000 && entry(index)->state != state; i++) {
        usleep(10000);
    }
    assert_string_equal(control_state_text(entry(index)->state), control_state_text(state));
}

static struct edit take(struct edits *edits)
{
    struct edit edit = {0};
    for (int i = 0; i < 3000 && !edits_take(edits, &edit); i++) {
        usleep(10000);
    }
    assert_non_null(edit.verb);
    return edit;
}

/* R14: not when it was applied, but when a checkpoint that holds it is stored. */
static void an_edit_is_acknowledged_only_when_it_is_committed(void **state)
{
    struct edits *edits = open_job(false, 0);
    uint64_t index = propose("core.checkpoint", "{}");
    struct edit edit = take(edits);
    assert_int_equal(edit.rank, 1);
    assert_int_equal(edit.index, index);
    assert_string_equal(edit.verb, "core.checkpoint");
    edits_applied(edits, 1, NULL, NULL);
    assert_int_equal(edits_rank(edits), 1);
    usleep(700000); /* several looks of its thread */
    assert_int_equal(entry(index)->state, CONTROL_STATE_ACCEPTED);
    assert_int_equal(control_fold_acked(control_log_fold(outside), TASK_ALL), 0);
    edits_committed(edits, 1);
    wait_for(index, CONTROL_STATE_DONE);
    edits_close(edits);
}

static void edits_come_one_by_one_in_their_order(void **state)
{
    struct edits *edits = open_job(false, 0);
    uint64_t first = propose("core.job.pause", "{}"), bad = propose("core.job.jump", "{}"),
             second = propose("core.savepoint", "{\"name\":\"a\"}");
    struct edit edit = take(edits), next;
    assert_string_equal(edit.verb, "core.job.pause");
    usleep(400000);
    assert_false(edits_take(edits, &next)); /* not before the first is applied */
    edits_applied(edits, 1, NULL, NULL);
    edit = take(edits);
    assert_int_equal(edit.index, second);
    assert_string_equal(edit_text(&edit, "name", arena), "a");
    assert_null(edit_text(&edit, "drain", arena));
    (void)error_set(&err, ERROR_STORE_FULL, "the disk is full");
    edits_applied(edits, 2, NULL, &err);
    edits_committed(edits, 2);
    edits_close(edits); /* says what is committed before it ends */
    assert_int_equal(entry(first)->state, CONTROL_STATE_DONE);
    assert_int_equal(entry(bad)->state, CONTROL_STATE_REJECTED);
    assert_int_equal(entry(second)->state, CONTROL_STATE_FAILED);
    assert_string_equal(entry(second)->failures[0].reason, "the disk is full");
}

/* R13: exactly the ranks above that of the checkpoint, whatever was applied after it. */
static void a_job_that_goes_on_applies_what_its_checkpoint_does_not_hold(void **state)
{
    struct edits *edits = open_job(false, 0);
    uint64_t first = propose("core.job.pause", "{}"), second = propose("core.job.resume", "{}"), third = propose("core.checkpoint", "{}");
    for (uint64_t rank = 1; rank <= 3; rank++) {
        assert_int_equal(take(edits).rank, rank);
        edits_applied(edits, rank, NULL, NULL);
    }
    edits_committed(edits, 1);
    wait_for(first, CONTROL_STATE_DONE);
    edits_close(edits); /* as if it had died: nothing more was committed */
    edits = open_job(true, 1);
    assert_true(!edits_begin_paused(edits)); /* what stands is the resume, not the pause that it took back */
    struct edit edit = take(edits);
    assert_int_equal(edit.index, second);
    edits_applied(edits, 2, NULL, NULL);
    assert_int_equal(take(edits).index, third);
    edits_applied(edits, 3, "{\"a\":1}", NULL);
    edits_committed(edits, 3);
    wait_for(third, CONTROL_STATE_DONE);
    assert_string_equal(entry(third)->result, "{\"a\":1}");
    edits_close(edits);
}

static void a_pause_stands_for_the_next_process(void **state)
{
    struct edits *edits = open_job(false, 0);
    uint64_t index = propose("core.job.pause", "{}");
    (void)take(edits);
    edits_applied(edits, 1, NULL, NULL);
    edits_committed(edits, 1);
    wait_for(index, CONTROL_STATE_DONE);
    edits_close(edits);
    edits = open_job(true, 1);
    assert_true(edits_begin_paused(edits));
    edits_close(edits);
    edits = open_job(false, 0); /* begins anew: what was done is not done again, what stands stands */
    assert_true(edits_begin_paused(edits));
    assert_int_equal(edits_rank(edits), 1);
    edits_close(edits);
}

static void a_service_that_is_not_there_is_named(void **state)
{
    struct edits *edits = NULL;
    const struct edits_spec spec = {.uri = "nowhere://x", .job_id = "orders-1", .budget = &budget};
    assert_int_not_equal(edits_open(&spec, &edits, &err), STATUS_OK);
    assert_non_null(strstr(err.text, "'nowhere://x' ('coordinator.uri')"));
}

/* ---- tasks of a worker: somebody else leads ---- */

static struct edits_group *open_group(void)
{
    const struct edits_group_spec spec = {.session = session, .prefix = "jobs/orders-1", .by = "w1", .poll_us = 20000, .budget = &budget};
    struct edits_group *group;
    assert_int_equal(edits_group_open(&spec, &group, &err), STATUS_OK);
    return group;
}

static struct edits *open_task(struct edits_group *group, uint64_t task, bool goes_on, uint64_t applied)
{
    const struct edits_spec spec = {.group = group, .task = task, .budget = &budget, .goes_on = goes_on, .applied = applied};
    struct edits *edits;
    assert_int_equal(edits_open(&spec, &edits, &err), STATUS_OK);
    return edits;
}

static void append(struct control_record record)
{
    uint64_t index;
    bool counted;
    record.term = 1;
    assert_int_equal(control_log_append(outside, &record, &index, &counted, &err), STATUS_OK);
    assert_true(counted);
}

static void accept(uint64_t index, uint64_t rank, enum control_how how, const char *slot)
{
    struct control_record record = {.kind = CONTROL_DECIDE};
    record.decide = (struct control_decide){.ref = index, .verdict = CONTROL_ACCEPT, .rank = rank, .how = how, .of = 3, .version = 1};
    record.decide.sets = &slot;
    record.decide.set_count = slot != NULL;
    append(record);
}

static void wait_for_ack(uint64_t task, uint64_t through)
{
    for (int i = 0; i < 3000; i++) {
        assert_int_equal(control_log_read(outside, &err), STATUS_OK);
        if (control_fold_acked(control_log_fold(outside), task) >= through) {
            break;
        }
        usleep(10000);
    }
    assert_int_equal(control_fold_acked(control_log_fold(outside), task), through);
}

/* R13, R14: each takes what it has not, and those that commit together are acknowledged in one record. */
static void the_tasks_of_a_process_share_a_reader_and_an_acknowledgement(void **state)
{
    const uint64_t first = task_make(0, 0), second = task_make(0, 1), third = task_make(0, 2);
    append((struct control_record){.kind = CONTROL_TERM, .term_of = {"w9#1"}});
    accept(propose("core.job.pause", "{}"), 1, CONTROL_HOW_EACH, "pause");
    accept(propose("core.task.restart", "{\"task\":\"s0.0\"}"), 2, CONTROL_HOW_LEADER, NULL);
    accept(propose("core.checkpoint", "{}"), 3, CONTROL_HOW_EACH, NULL);
    struct edits_group *group = open_group();
    struct edits *a = open_task(group, first, false, 0), *b = open_task(group, second, true, 1);
    uint32_t standing;
    assert_false(edits_begin_paused(a)); /* it applies the pause first */
    assert_true(edits_begin_paused(b));
    assert_string_equal(edits_standing(b, &standing)->verb, "core.job.pause");
    assert_int_equal(standing, 1);
    assert_int_equal(take(a).rank, 1);
    edits_applied(a, 1, NULL, NULL);
    assert_int_equal(take(a).rank, 3); /* the leader's is not theirs */
    assert_int_equal(take(b).rank, 3);
    edits_applied(a, 3, NULL, NULL);
    (void)error_set(&err, ERROR_STORE_FULL, "the disk is full");
    edits_applied(b, 3, NULL, &err);
    edits_committed(a, 3);
    edits_committed(b, 3);
    wait_for_ack(first, 3);
    wait_for_ack(second, 3);
    assert_int_equal(control_fold_acked(control_log_fold(outside), third), 0);
    const struct control_entry *checkpoint = control_fold_after(control_log_fold(outside), 2);
    assert_int_equal(checkpoint->failure_count, 1);
    assert_int_equal(checkpoint->failures[0].task, second);
    edits_group_note_ended(group, third);
    wait_for_ack(third, 3);
    edits_close(a); /* it moves: what comes now, it applies elsewhere */
    accept(propose("core.job.stop", "{}"), 4, CONTROL_HOW_MARKED, NULL);
    wait_for_ack(third, 4);
    assert_int_equal(take(b).rank, 4);
    edits_applied(b, 4, NULL, NULL);
    edits_committed(b, 4);
    edits_close(b);
    wait_for_ack(second, 4);
    edits_group_close(group);
    group = open_group();
    b = open_task(group, second, true, 4);
    assert_true(edits_begin_stopped(b));
    a = open_task(group, first, true, 3);
    assert_false(edits_begin_stopped(a));
    assert_int_equal(take(a).rank, 4);
    edits_close(a);
    edits_close(b);
    edits_group_close(group);
}

/* The coordination service was lost with its log, the checkpoint was not. */
static void a_rank_that_the_log_does_not_have_is_of_another_log(void **state)
{
    struct edits_group *group = open_group();
    append((struct control_record){.kind = CONTROL_TERM, .term_of = {"w9#1"}});
    struct edits *edits = open_task(group, task_make(0, 0), true, 70);
    assert_int_equal(edits_rank(edits), 0);
    accept(propose("core.checkpoint", "{}"), 1, CONTROL_HOW_EACH, NULL);
    assert_int_equal(take(edits).rank, 1);
    edits_close(edits);
    edits_group_close(group);
}

static void a_log_that_cannot_be_read_keeps_no_task_waiting(void **state)
{
    struct text value = TEXT("no record");
    enum cluster_result result;
    struct cluster_version version;
    struct edits *edits;
    assert_int_equal(session->driver->put(session, "jobs/orders-1/ctl/00000000000000000001", value, NULL, &result, &version, &err),
                     STATUS_OK);
    struct edits_group *group = open_group();
    const struct edits_spec spec = {.group = group, .task = task_make(0, 0), .budget = &budget};
    assert_int_not_equal(edits_open(&spec, &edits, &err), STATUS_OK);
    assert_non_null(strstr(err.text, "ctl/00000000000000000001"));
    edits_group_close(group);
}

static int set_up(void **state)
{
    budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
    arena = arena_create(&budget, "test");
    random_open(&chance, 0);
    return arena == NULL || cluster_open("local:edits", NULL, 0, NULL, &session, &err) != STATUS_OK ||
           control_log_open(session, "jobs/orders-1", &budget, NULL, &chance, &outside, &err) != STATUS_OK;
}

static int tear_down(void **state)
{
    control_log_close(outside);
    cluster_close(session, true);
    arena_destroy(arena);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_edit_is_acknowledged_only_when_it_is_committed),
        TEST(edits_come_one_by_one_in_their_order),
        TEST(a_job_that_goes_on_applies_what_its_checkpoint_does_not_hold),
        TEST(a_pause_stands_for_the_next_process),
        TEST(a_service_that_is_not_there_is_named),
        TEST(the_tasks_of_a_process_share_a_reader_and_an_acknowledgement),
        TEST(a_rank_that_the_log_does_not_have_is_of_another_log),
        TEST(a_log_that_cannot_be_read_keeps_no_task_waiting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
