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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
