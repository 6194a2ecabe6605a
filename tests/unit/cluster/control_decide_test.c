#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "../support/arena.h"
#include "cluster/control/decide.h"
#include "cluster/task_id.h"

/* A log in memory, and a leader over it. */
static struct random_source chance;
static struct control_fold *fold;
static struct control_world world;
static struct control_ground ground;
static struct control_member members[3];
static uint64_t tasks[4];

static const char *const core_1[] = {"core/1", "app/1"};
static const char *const can[] = {"core.partitions.add", "core.capacity.set", "core.task.move",    "core.savepoint",
                                  "core.job.pause",      "core.config.set",   "core.config.unset", "app.*"};

static uint64_t add(struct control_record record)
{
    bool counted;
    control_id_make(&chance, 1, record.id);
    assert_int_equal(control_fold_record(fold, fold->through + 1, &record, &counted, &err), STATUS_OK);
    assert_true(counted);
    return fold->through;
}

static uint64_t propose_with(struct control_propose propose, const char *args)
{
    propose.actor = "user:ann";
    assert_int_equal(control_args_make(args, arena, &propose.args, propose.args_sha256, &err), STATUS_OK);
    return add((struct control_record){.kind = CONTROL_PROPOSE, .at_ms = 1000, .propose = propose});
}

static uint64_t propose(const char *verb, const char *args)
{
    return propose_with((struct control_propose){.verb = verb}, args);
}

static struct control_step next_step(void)
{
    struct control_step step;
    assert_int_equal(control_decide(fold, &world, arena, &step, &err), STATUS_OK);
    return step;
}

/* The leader's turn: until there is nothing to do. */
static void turn(void)
{
    for (struct control_step step = next_step(); step.kind != CONTROL_STEP_WAIT; step = next_step()) {
        add(step.record);
    }
}

static void ack(uint64_t through, uint32_t task_count)
{
    struct control_record record = {.kind = CONTROL_ACK};
    record.ack = (struct control_ack){.by = "w1#1", .through = through, .tasks = tasks, .task_count = task_count};
    add(record);
}

static const struct control_entry *entry(uint64_t index)
{
    const struct control_entry *found = control_fold_find(fold, index);
    assert_non_null(found);
    return found;
}

static void assert_refused(uint64_t index, const char *code, const char *reason)
{
    assert_string_equal(entry(index)->code, code);
    if (strstr(entry(index)->reason, reason) == NULL) {
        fail_msg("'%s' does not say '%s'", entry(index)->reason, reason);
    }
}

static void a_new_leader_announces_its_term_first(void **state)
{
    propose("core.job.pause", "{}");
    struct control_step step = next_step();
    assert_int_equal(step.record.kind, CONTROL_TERM);
    assert_int_equal(step.record.term, 7);
    turn();
    assert_int_equal(fold->term, 7);
    assert_string_equal(fold->leader, "w1#5f3a");
    world.term = 6;
    propose("core.job.pause", "{}");
    assert_int_equal(next_step().kind, CONTROL_STEP_WAIT); /* replaced: it has nothing to say */
}

static void an_edit_is_done_when_every_task_has_acknowledged(void **state)
{
    uint64_t index = propose("core.config.set", "{\"setting\":\"a\",\"value\":\"1\"}");
    turn();
    assert_int_equal(entry(index)->state, CONTROL_STATE_ACCEPTED);
    assert_int_equal(entry(index)->rank, 1);
    assert_int_equal(entry(index)->of, 4);
    assert_int_equal(entry(index)->version, 42);
    assert_non_null(control_fold_standing(fold, "config/a"));
    ack(1, 4);
    turn();
    assert_int_equal(entry(index)->state, CONTROL_STATE_ACCEPTED); /* not in the model yet */
    world.model_rank = 1;
    turn();
    assert_int_equal(entry(index)->state, CONTROL_STATE_DONE);
    assert_int_equal(entry(index)->applied, 4);
    propose("core.config.unset", "{\"setting\":\"a\"}");
    turn();
    assert_null(control_fold_standing(fold, "config/a"));
}

/* C43: the acknowledgement came, the leader died before it closed; the next one closes. */
static void the_next_leader_closes_what_was_left(void **state)
{
    uint64_t index = propose("core.job.pause", "{}");
    turn();
    ack(1, 4);
    world.model_rank = 1;
    world.term = 8;
    turn();
    assert_int_equal(entry(index)->state, CONTROL_STATE_DONE);
    assert_int_equal(fold->term, 8);
}

static void a_task_that_is_gone_is_not_waited_for(void **state)
{
    uint64_t index = propose("core.job.pause", "{}");
    turn();
    world.model_rank = 1;
    ack(1, 3);
    turn();
    assert_int_equal(entry(index)->state, CONTROL_STATE_ACCEPTED);
    world.task_count = 3;
    turn();
    assert_int_equal(entry(index)->state, CONTROL_STATE_DONE);
    assert_int_equal(entry(index)->applied, 3);
}

static void a_task_that_could_not_makes_it_failed(void **state)
{
    struct control_failure failure = {.rank = 1, .task = tasks[2], .code = "SPATE-5001", .reason = "no room"};
    struct control_record record = {.kind = CONTROL_ACK};
    uint64_t index = propose("core.job.pause", "{}");
    turn();
    world.model_rank = 1;
    record.ack = (struct control_ack){.by = "w1#1", .through = 1, .tasks = tasks, .task_count = 4, .failed = &failure, .failed_count = 1};
    add(record);
    turn();
    assert_int_equal(entry(index)->state, CONTROL_STATE_FAILED);
    assert_int_equal(entry(index)->applied, 3);
    assert_int_equal(entry(index)->failure_count, 1);
}

/* C42 */
static void the_second_of_two_conflicting_edits_meets_the_first(void **state)
{
    struct control_propose move = {.verb = "core.task.move", .expects_version = true, .expect_version = 42};
    uint64_t first = propose_with(move, "{\"task\":\"s1.0\",\"to\":\"w2\"}"),
             second = propose_with(move, "{\"task\":\"s1.0\",\"to\":\"w3\"}");
    turn();
    assert_int_equal(entry(first)->state, CONTROL_STATE_ACCEPTED);
    assert_refused(second, "CTL-EXPECTED-OTHER", "an edit that was accepted before makes another");
    world.version = 43;
    world.model_rank = 1;
    uint64_t third = propose_with(move, "{\"task\":\"s1.0\",\"to\":\"w3\"}");
    turn();
    assert_int_equal(entry(first)->state, CONTROL_STATE_DONE);
    assert_refused(third, "CTL-EXPECTED-OTHER", "expected version 42 of the model, but it is 43");
    struct control_propose config = {.verb = "core.config.set", .expects_rank = true, .expect_rank = 1};
    uint64_t fourth = propose_with(config, "{\"setting\":\"a\",\"value\":\"1\"}"),
             fifth = propose_with(config, "{\"setting\":\"a\",\"value\":\"2\"}");
    turn();
    assert_int_equal(entry(fourth)->state, CONTROL_STATE_ACCEPTED);
    assert_refused(fifth, "CTL-EXPECTED-OTHER", "expected edit 1 to be the last, but it is 2");
}

/* C42, I15 */
static void a_key_stands_for_one_edit(void **state)
{
    struct control_propose keyed = {.verb = "core.config.set", .key = "deploy-88"};
    uint64_t first = propose_with(keyed, "{\"setting\":\"a\",\"value\":\"1\"}"),
             same = propose_with(keyed, "{ \"value\":\"1\", \"setting\":\"a\"}");
    uint64_t other = propose_with(keyed, "{\"setting\":\"a\",\"value\":\"2\"}");
    keyed.verb = "core.job.pause";
    uint64_t verb = propose_with(keyed, "{}");
    turn();
    assert_int_equal(entry(same)->state, CONTROL_STATE_DUPLICATE);
    assert_int_equal(entry(same)->duplicate_of, first);
    assert_refused(other, "CTL-KEY-REUSED", "deploy-88");
    assert_refused(verb, "CTL-KEY-REUSED", "core.config.set");
    assert_int_equal(fold->rank, 1);
}

static void the_key_of_a_refused_edit_is_free_again(void **state)
{
    struct control_propose keyed = {.verb = "core.job.paus", .key = "k"};
    uint64_t refused = propose_with(keyed, "{}");
    keyed.verb = "core.job.pause";
    uint64_t accepted = propose_with(keyed, "{}");
    turn();
    assert_refused(refused, "CTL-UNKNOWN-VERB", "did you mean 'core.job.pause'?");
    assert_int_equal(entry(accepted)->state, CONTROL_STATE_ACCEPTED);
}

static void a_deadline_passes_before_it_is_accepted_or_not_at_all(void **state)
{
    struct control_propose hasty = {.verb = "core.job.pause", .deadline_ms = 500};
    uint64_t at_limit = propose_with(hasty, "{}");
    world.wall_ms = 1500;
    turn();
    assert_int_equal(entry(at_limit)->state, CONTROL_STATE_ACCEPTED);
    uint64_t late = propose_with(hasty, "{}");
    world.wall_ms = 1501;
    turn();
    assert_int_equal(entry(late)->state, CONTROL_STATE_EXPIRED);
    assert_refused(late, "CTL-EXPIRED", "500 ms");
    world.wall_ms = 1 << 30;
    turn();
    assert_int_equal(entry(at_limit)->state, CONTROL_STATE_ACCEPTED); /* what is accepted has no deadline any more */
}

/* C53 */
static void what_cannot_be_done_is_refused_by_name(void **state)
{
    uint64_t unknown = propose("core.jump", "{}"), arguments = propose("core.task.move", "{\"task\":\"x\",\"two\":1}");
    uint64_t no_ground = propose("core.plan.replace", "{\"sql\":\"SELECT 1\"}");
    turn();
    assert_refused(unknown, "CTL-UNKNOWN-VERB", "no verb 'core.jump'");
    assert_refused(arguments, "CTL-BAD-ARGUMENTS", "\"to\" is missing");
    assert_refused(arguments, "CTL-BAD-ARGUMENTS", "\"task\" must be a task");
    assert_refused(arguments, "CTL-BAD-ARGUMENTS", "it takes no \"two\"");
    assert_refused(no_ground, "CTL-NO-GROUND", "core.plan.replace");
    members[1].set_count = 0;
    uint64_t old = propose("core.job.pause", "{}");
    turn();
    assert_refused(old, "CTL-MEMBER-UNABLE", "not known to 'w2'");
    assert_int_equal(fold->rank, 0);
}

static enum status permit_none(void *context, const char *actor, const struct control_verb *verb, struct error *error)
{
    return error_set(error, ERROR_CTL_NOT_PERMITTED, "'%s' may not %s", actor, verb->name);
}

static enum status check_source(void *context, const struct control_fold *folded, const struct control_verb *verb,
                                const struct control_propose *propose_, enum control_how *how, struct error *error)
{
    *how = CONTROL_HOW_STOP_ALL;
    return strstr(propose_->args, "order\"") == NULL ? STATUS_OK
                                                     : error_set(error, ERROR_UNKNOWN_TABLE, "no source 'order'; did you mean 'orders'?");
}

static enum status check_nothing_answers(void *context, const struct control_fold *folded, const struct control_verb *verb,
                                         const struct control_propose *propose_, enum control_how *how, struct error *error)
{
    return error_set(error, ERROR_STORE_UNAVAILABLE, "the storage does not answer");
}

static void the_ground_has_its_say(void **state)
{
    struct control_step step;
    ground.check = check_source;
    uint64_t wrong = propose("core.partitions.add", "{\"source\":\"order\",\"partitions\":[4]}");
    uint64_t right = propose("core.partitions.add", "{\"source\":\"orders\",\"partitions\":[4]}");
    turn();
    assert_refused(wrong, "SPATE-1040", "did you mean 'orders'?");
    assert_int_equal(entry(right)->how, CONTROL_HOW_STOP_ALL);
    ground.permit = permit_none;
    uint64_t forbidden = propose("core.job.pause", "{}");
    turn();
    assert_refused(forbidden, "CTL-NOT-PERMITTED", "'user:ann' may not core.job.pause");
    ground.permit = NULL;
    ground.check = check_nothing_answers; /* about us, not about the edit: it waits */
    uint64_t waits = propose("core.job.pause", "{}");
    assert_int_equal(control_decide(fold, &world, arena, &step, &err), STATUS_UNAVAILABLE);
    ground.check = NULL;
    turn();
    assert_int_equal(entry(waits)->state, CONTROL_STATE_ACCEPTED);
}

static void a_deprecated_verb_works_with_a_warning(void **state)
{
    static const struct control_verb verbs[] = {{.name = "core.job.pause",
                                                 .version = 1,
                                                 .how = CONTROL_HOW_EACH,
                                                 .since = "0.1.0",
                                                 .deprecated = "0.2.0",
                                                 .replaced_by = "core.job.halt",
                                                 .summary = "Pauses."}};
    static const struct verb_table table = {verbs, 1};
    world.verbs = &table;
    uint64_t index = propose("core.job.pause", "{}");
    turn();
    assert_int_equal(entry(index)->state, CONTROL_STATE_ACCEPTED);
    assert_string_equal(entry(index)->warning, "core.job.pause is deprecated since 0.2.0; use core.job.halt");
}

static void an_edit_that_waits_for_the_leader_can_be_replaced(void **state)
{
    uint64_t first = propose("core.task.move", "{\"task\":\"s1.0\",\"to\":\"w2\"}");
    uint64_t other = propose("core.task.move", "{\"task\":\"s1.1\",\"to\":\"w2\"}");
    turn();
    uint64_t second = propose("core.task.move", "{\"task\":\"s1.0\",\"to\":\"w3\"}");
    turn();
    assert_int_equal(entry(first)->state, CONTROL_STATE_SUPERSEDED);
    assert_int_equal(entry(first)->superseded_by, second);
    assert_int_equal(control_fold_after(fold, 0)->index, other);
    world.model_rank = 3;
    turn();
    assert_int_equal(entry(other)->state, CONTROL_STATE_DONE);
    assert_int_equal(entry(second)->state, CONTROL_STATE_DONE);
    uint64_t third = propose("core.task.move", "{\"task\":\"s1.0\",\"to\":\"w1\"}");
    turn();
    assert_int_equal(entry(second)->state, CONTROL_STATE_DONE); /* was done before it could be replaced */
    assert_int_equal(entry(third)->state, CONTROL_STATE_ACCEPTED);
}

static enum control_progress savepoint_progress(void *context, const struct control_entry *edit, const char **result, const char **reason)
{
    enum control_progress *now = context;
    *result = *now == CONTROL_PROGRESS_DONE ? "{\"location\":\"file:///s/nightly\"}" : NULL;
    *reason = *now == CONTROL_PROGRESS_FAILED ? "the disk is full" : NULL;
    return *now;
}

static void the_result_of_an_edit_is_in_its_close(void **state)
{
    enum control_progress now = CONTROL_PENDING;
    ground.progress = savepoint_progress;
    ground.context = &now;
    uint64_t good = propose("core.savepoint", "{\"name\":\"nightly\"}"), bad = propose("core.savepoint", "{}");
    turn();
    ack(2, 4);
    world.model_rank = 2;
    turn();
    assert_int_equal(entry(good)->state, CONTROL_STATE_ACCEPTED);
    now = CONTROL_PROGRESS_DONE;
    add(next_step().record);
    assert_int_equal(entry(good)->state, CONTROL_STATE_DONE);
    assert_string_equal(entry(good)->result, "{\"location\":\"file:///s/nightly\"}");
    now = CONTROL_PROGRESS_FAILED;
    turn();
    assert_int_equal(entry(bad)->state, CONTROL_STATE_FAILED);
    assert_string_equal(entry(bad)->reason, "the disk is full");
}

static void a_snapshot_settles_what_every_task_has_and_forgets_what_is_old(void **state)
{
    uint64_t old = propose("core.config.set", "{\"setting\":\"a\",\"value\":\"1\"}");
    turn();
    ack(1, 4);
    world.model_rank = 1;
    turn();
    world.wall_ms += CONTROL_KEYS_MS;
    uint64_t done = propose("core.job.pause", "{}"), moved = propose("core.task.move", "{\"task\":\"s1.0\",\"to\":\"w2\"}");
    turn();
    ack(2, 4); /* the move is none of theirs */
    world.model_rank = 3;
    uint64_t open = propose("core.config.set", "{\"setting\":\"b\",\"value\":\"1\"}");
    turn();
    world.snapshot_every = 5;
    struct control_step step = next_step();
    assert_int_equal(step.kind, CONTROL_STEP_SNAPSHOT);
    assert_int_equal(step.record.snapshot.through, fold->through);
    assert_int_equal(step.record.snapshot.settled, 3);
    assert_int_equal(step.record.snapshot.forget, old);
    memset(step.record.snapshot.sha256, '0', CONTROL_SHA256_BYTES - 1);
    add(step.record);
    assert_null(control_fold_find(fold, old));
    assert_null(entry(done)->propose.args);
    assert_null(entry(moved)->propose.args);
    assert_non_null(entry(open)->propose.args);
    assert_non_null(control_fold_standing(fold, "config/a"));
    assert_int_equal(next_step().kind, CONTROL_STEP_WAIT);
}

static int set_up(void **state)
{
    random_open(&chance, 1);
    fold = control_fold_create(&budget, &err);
    for (uint32_t i = 0; i < 4; i++) {
        tasks[i] = task_make(1, i);
    }
    for (uint32_t i = 0; i < 3; i++) {
        static const char *const ids[] = {"w1", "w2", "w3"};
        members[i] = (struct control_member){ids[i], core_1, 2};
    }
    ground = (struct control_ground){.verbs = can, .verb_count = ARRAY_LENGTH(can)};
    world = (struct control_world){.term = 7,
                                   .leader = "w1#5f3a",
                                   .version = 42,
                                   .tasks = tasks,
                                   .task_count = 4,
                                   .members = members,
                                   .member_count = 3,
                                   .ground = &ground,
                                   .verbs = &control_verbs,
                                   .wall_ms = 1000,
                                   .snapshot_every = CONTROL_SNAPSHOT_EVERY};
    return fold == NULL;
}

static int tear_down(void **state)
{
    control_fold_destroy(fold);
    arena_reset(arena);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_new_leader_announces_its_term_first),
        TEST(an_edit_is_done_when_every_task_has_acknowledged),
        TEST(the_next_leader_closes_what_was_left),
        TEST(a_task_that_is_gone_is_not_waited_for),
        TEST(a_task_that_could_not_makes_it_failed),
        TEST(the_second_of_two_conflicting_edits_meets_the_first),
        TEST(a_key_stands_for_one_edit),
        TEST(the_key_of_a_refused_edit_is_free_again),
        TEST(a_deadline_passes_before_it_is_accepted_or_not_at_all),
        TEST(what_cannot_be_done_is_refused_by_name),
        TEST(the_ground_has_its_say),
        TEST(a_deprecated_verb_works_with_a_warning),
        TEST(an_edit_that_waits_for_the_leader_can_be_replaced),
        TEST(the_result_of_an_edit_is_in_its_close),
        TEST(a_snapshot_settles_what_every_task_has_and_forgets_what_is_old),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
