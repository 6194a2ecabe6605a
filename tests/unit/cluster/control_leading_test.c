#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "../support/arena.h"
#include "cluster/control/leading.h"

/* A log in memory, a model and its members by hand: w1 and w2 with two tasks each, w3 with none. */
enum { MEMBERS = 3, TASKS = 4 };
static struct random_source chance;
static struct control_fold *fold;
static struct leading *leading;
static struct model *model;
static struct member *members[MEMBERS];
static struct cluster_member_view views[MEMBERS];
static struct control_effect effect;
static const char *const obeyed[] = {"core.job.pause", "core.job.resume", "core.job.stop", "core.savepoint", NULL};
static const char *const ids[MEMBERS] = {"w1", "w2", "w3"};

static struct control_view view(void)
{
    return (struct control_view){.fold = fold,
                                 .model = model,
                                 .members = views,
                                 .member_count = model->member_count,
                                 .term = model->term,
                                 .leader = model->members[0].life,
                                 .wall_ms = 5000,
                                 .arena = arena};
}

static uint64_t add(struct control_record record)
{
    bool counted;
    control_id_make(&chance, 1, record.id);
    assert_int_equal(control_fold_record(fold, fold->through + 1, &record, &counted, &err), STATUS_OK);
    assert_true(counted);
    return fold->through;
}

static uint64_t propose(const char *verb, const char *args)
{
    struct control_record record = {.kind = CONTROL_PROPOSE, .at_ms = 1000, .propose = {.verb = verb, .actor = "user:ann"}};
    assert_int_equal(control_args_make(args, arena, &record.propose.args, record.propose.args_sha256, &err), STATUS_OK);
    return add(record);
}

/* What the leader's lane does with a record: it comes as a text. */
static bool append_next(void)
{
    const struct leader_control *control = leading_control(leading);
    struct control_view now = view();
    struct control_record record;
    const char *json = NULL;
    assert_int_equal(control->next(control->context, &now, &json, &err), STATUS_OK);
    if (json != NULL) {
        assert_int_equal(control_record_read("next", (struct text){json, strlen(json)}, arena, &record, &err), STATUS_OK);
        add(record);
    }
    return json != NULL;
}

/* A turn of the leader, whose write comes through. */
static void turn(void)
{
    const struct leader_control *control = leading_control(leading);
    while (append_next()) {
    }
    struct control_view now = view();
    effect = (struct control_effect){.ctl_rank = model->ctl_rank, .state = model->state, .plan = model->plan};
    assert_int_equal(control->turn(control->context, &now, &effect, &err), STATUS_OK);
    model->ctl_rank = effect.ctl_rank;
    model->state = effect.state;
}

static const struct control_entry *entry(uint64_t index)
{
    const struct control_entry *found = control_fold_find(fold, index);
    assert_non_null(found);
    return found;
}

static void assert_state(uint64_t index, enum control_state state)
{
    if (entry(index)->state != state) {
        fail_msg("#%d is %s, not %s: %s", (int)index, control_state_text(entry(index)->state), control_state_text(state),
                 entry(index)->reason == NULL ? "" : entry(index)->reason);
    }
}

static void assert_refused(const char *verb, const char *args, const char *code, const char *reason)
{
    uint64_t index = propose(verb, args);
    turn();
    assert_state(index, CONTROL_STATE_REJECTED);
    assert_string_equal(entry(index)->code, code);
    if (strstr(entry(index)->reason, reason) == NULL) {
        fail_msg("'%s' does not say '%s'", entry(index)->reason, reason);
    }
}

static void ack(uint64_t through)
{
    uint64_t tasks[TASKS];
    for (uint32_t i = 0; i < TASKS; i++) {
        tasks[i] = model->tasks[i].task;
    }
    add((struct control_record){.kind = CONTROL_ACK, .ack = {.by = "w1#1", .through = through, .tasks = tasks, .task_count = TASKS}});
}

/* The task is the member's from now on: first not open, then running. */
static void give(uint32_t task, uint32_t owner)
{
    model->version++;
    model->tasks[task].owner = owner;
    model->tasks[task].epoch = model->version;
    model->tasks[task].open = false;
}

static void drop(struct member *member, uint64_t task)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < member->running_count; i++) {
        member->running[kept] = member->running[i];
        kept += member->running[i] != task;
    }
    member->running_count = kept;
}

static void start(uint32_t task)
{
    struct member *member = members[model->tasks[task].owner];
    for (uint32_t i = 0; i < MEMBERS; i++) {
        drop(members[i], model->tasks[task].task);
    }
    model->tasks[task].open = true;
    member->seen_version = model->version;
    member->running[member->running_count++] = model->tasks[task].task; /* one is looked for below: order is of no weight */
}

static const char *pinned(uint32_t task)
{
    for (uint32_t i = 0; i < effect.pin_count; i++) {
        if (effect.pins[i].task == model->tasks[task].task) {
            return effect.pins[i].id;
        }
    }
    return "";
}

static bool is_drained(const char *id)
{
    for (uint32_t i = 0; i < effect.drained_count; i++) {
        if (strcmp(effect.drained[i], id) == 0) {
            return true;
        }
    }
    return false;
}

static void a_task_moves_and_stays_where_it_was_put(void **state)
{
    (void)state;
    uint64_t index = propose("core.task.move", "{\"task\":\"s0.1\",\"to\":\"w3\"}");
    turn();
    assert_int_equal(fold->term, 7); /* announced first */
    assert_state(index, CONTROL_STATE_ACCEPTED);
    assert_int_equal(model->ctl_rank, 1);
    assert_string_equal(pinned(1), "w3");
    give(1, 2);
    turn();
    assert_state(index, CONTROL_STATE_ACCEPTED); /* it does not run there yet */
    start(1);
    turn();
    assert_state(index, CONTROL_STATE_DONE);
    assert_string_equal(pinned(1), "w3");
    turn();
    assert_string_equal(pinned(1), "w3");
    assert_int_equal(effect.restart_count, 0);
}

static void a_move_to_where_it_is_restarts_it_once(void **state)
{
    (void)state;
    uint64_t index = propose("core.task.move", "{\"task\":\"s0.0\",\"to\":\"w1\"}");
    turn();
    assert_int_equal(effect.restart_count, 1);
    assert_int_equal(effect.restarts[0], model->tasks[0].task);
    give(0, 0);
    turn();
    assert_int_equal(effect.restart_count, 0); /* the model has the rank */
    assert_state(index, CONTROL_STATE_ACCEPTED);
    start(0);
    turn();
    assert_state(index, CONTROL_STATE_DONE);
    uint64_t restart = propose("core.task.restart", "{\"task\":\"s0.0\"}");
    turn();
    assert_int_equal(effect.restart_count, 1);
    assert_state(restart, CONTROL_STATE_ACCEPTED);
    give(0, 0);
    start(0);
    turn();
    assert_state(restart, CONTROL_STATE_DONE);
}

/* C44: the next leader finds a rank above the model's, and makes it so. */
static void a_leader_that_dies_before_its_write_leaves_it_to_the_next(void **state)
{
    (void)state;
    struct model before = *model;
    uint64_t restart = propose("core.task.restart", "{\"task\":\"s0.2\"}"), pause = propose("core.job.pause", "{}");
    turn();
    assert_int_equal(effect.restart_count, 1);
    assert_int_equal(model->state, MODEL_PAUSED);
    model->state = before.state;
    model->ctl_rank = before.ctl_rank; /* never written */
    model->term = 8;
    turn();
    assert_int_equal(fold->term, 8);
    assert_int_equal(effect.restart_count, 1);
    assert_int_equal(model->state, MODEL_PAUSED);
    assert_int_equal(model->ctl_rank, 2);
    turn();
    assert_int_equal(effect.restart_count, 0);
    assert_state(restart, CONTROL_STATE_ACCEPTED);
    assert_state(pause, CONTROL_STATE_ACCEPTED);
}

static void a_task_that_cannot_start_there_goes_elsewhere_and_the_move_has_failed(void **state)
{
    (void)state;
    struct member_failure failure = {.code = "SPATE-3007", .message = "no such file", .attempts = 1};
    uint64_t index = propose("core.task.move", "{\"task\":\"s0.1\",\"to\":\"w3\"}");
    turn();
    give(1, 2);
    model->tasks[1].open = true;
    failure.task = model->tasks[1].task;
    members[2]->seen_version = model->version;
    members[2]->failed = &failure;
    members[2]->failed_count = 1;
    turn();
    assert_state(index, CONTROL_STATE_FAILED);
    assert_non_null(strstr(entry(index)->reason, "SPATE-3007 no such file"));
    assert_int_equal(effect.pin_count, 1);
    assert_string_equal(pinned(1), "w1"); /* which has one task now */
    give(1, 0);
    members[2]->failed_count = 0;
    turn();
    assert_int_equal(effect.pin_count, 0); /* nothing stands */
}

static void a_move_to_a_processor_that_goes_has_failed(void **state)
{
    (void)state;
    uint64_t index = propose("core.task.move", "{\"task\":\"s0.1\",\"to\":\"w3\"}");
    turn();
    model->member_count = 2;
    turn();
    assert_state(index, CONTROL_STATE_FAILED);
    assert_string_equal(entry(index)->reason, "processor 'w3' is gone");
    assert_int_equal(effect.pin_count, 0);
}

static void a_drained_processor_gets_nothing_until_it_is_undrained(void **state)
{
    (void)state;
    uint64_t index = propose("core.processor.drain", "{\"processor\":\"w2\"}");
    turn();
    assert_true(is_drained("w2") && effect.drained_count == 1);
    assert_state(index, CONTROL_STATE_ACCEPTED);
    give(2, 2);
    give(3, 0);
    model->tasks[3].from = model->members[1].life; /* not released yet */
    turn();
    assert_state(index, CONTROL_STATE_ACCEPTED);
    model->tasks[3].from = (struct life){0};
    turn();
    assert_state(index, CONTROL_STATE_DONE);
    assert_true(is_drained("w2"));
    assert_refused("core.task.move", "{\"task\":\"s0.0\",\"to\":\"w2\"}", "CTL-NO-GROUND", "'w2' gets no tasks");
    model->member_count = 2; /* w3 goes, then w1: whoever is left takes all */
    assert_refused("core.processor.drain", "{\"processor\":\"w1\"}", "CTL-NO-GROUND", "no other processor");
    model->member_count = 1;
    model->members[0] = model->members[1];
    turn();
    assert_int_equal(effect.drained_count, 0);
    uint64_t undrain = propose("core.processor.undrain", "{\"processor\":\"w2\"}");
    turn();
    turn();
    assert_state(undrain, CONTROL_STATE_DONE);
    assert_null(control_fold_standing(fold, "drain/w2"));
}

static void a_bound_keeps_those_with_the_most_tasks(void **state)
{
    (void)state;
    give(3, 2); /* w1 two, w2 one, w3 one */
    uint64_t index = propose("core.capacity.set", "{\"max\":2}");
    turn();
    assert_true(is_drained("w3") && effect.drained_count == 1); /* the last of those with the fewest */
    assert_state(index, CONTROL_STATE_ACCEPTED);
    give(3, 1);
    turn();
    assert_state(index, CONTROL_STATE_DONE);
    propose("core.capacity.set", "{\"max\":1}");
    turn();
    assert_int_equal(effect.drained_count, 2);
    propose("core.capacity.set", "{\"max\":9}");
    turn();
    assert_int_equal(effect.drained_count, 0);
    assert_refused("core.capacity.set", "{\"min\":2}", "CTL-NO-GROUND", "only \"max\"");
    assert_refused("core.capacity.set", "{}", "CTL-BAD-ARGUMENTS", "\"max\" is missing");
}

static void what_the_job_does_not_have_is_refused_with_what_it_has(void **state)
{
    (void)state;
    assert_refused("core.task.move", "{\"task\":\"s0.9\",\"to\":\"w1\"}", "CTL-BAD-ARGUMENTS", "no task 's0.9'");
    assert_refused("core.task.move", "{\"task\":\"s0.1\",\"to\":\"w9\"}", "CTL-BAD-ARGUMENTS", "'w1', 'w2', 'w3'");
    assert_refused("core.processor.drain", "{\"processor\":\"w9\"}", "CTL-BAD-ARGUMENTS", "no processor 'w9'");
    assert_refused("core.rescale", "{}", "CTL-UNKNOWN-VERB", "no verb");
    assert_refused("core.offset.reset", "{\"source\":\"t\",\"to\":\"earliest\"}", "CTL-NO-GROUND", "nothing that could act on it");
    members[2]->host.task_max = 1;
    give(3, 2);
    assert_refused("core.task.move", "{\"task\":\"s0.0\",\"to\":\"w3\"}", "CTL-NO-GROUND", "'w3' is full");
}

/* C53: a verb that one member does not know. */
static void a_member_that_does_not_know_a_verb_is_named(void **state)
{
    (void)state;
    static const char *old[] = {"sql/1"};
    members[1]->host.verbs = old;
    members[1]->host.verb_count = 1;
    assert_refused("core.job.pause", "{}", "CTL-MEMBER-UNABLE", "'w2'");
    views[1].status = STATUS_UNAVAILABLE; /* it cannot be read: that says nothing against it */
    uint64_t index = propose("core.job.pause", "{}");
    turn();
    assert_state(index, CONTROL_STATE_ACCEPTED);
}

static void a_pause_holds_until_it_is_over_and_is_done_when_all_tasks_have_it(void **state)
{
    (void)state;
    uint64_t pause = propose("core.job.pause", "{}");
    turn();
    assert_int_equal(model->state, MODEL_PAUSED);
    assert_state(pause, CONTROL_STATE_ACCEPTED);
    assert_int_equal(entry(pause)->of, TASKS);
    ack(1);
    turn();
    assert_state(pause, CONTROL_STATE_DONE);
    assert_int_equal(entry(pause)->applied, TASKS);
    assert_int_equal(model->state, MODEL_PAUSED);
    propose("core.job.resume", "{}");
    turn();
    assert_int_equal(model->state, MODEL_RUNNING);
}

static void a_job_is_stopped_when_every_task_has_committed_it_and_can_run_again(void **state)
{
    (void)state;
    uint64_t stop = propose("core.job.stop", "{}");
    turn();
    assert_int_equal(model->state, MODEL_STOPPING);
    turn();
    assert_int_equal(model->state, MODEL_STOPPING);
    ack(1);
    turn();
    assert_state(stop, CONTROL_STATE_DONE);
    assert_int_equal(model->state, MODEL_STOPPED);
    turn();
    assert_int_equal(model->state, MODEL_STOPPED);
    model->state = MODEL_RUNNING; /* restarted by others */
    turn();
    assert_int_equal(model->state, MODEL_RUNNING);
}

static void a_job_is_cancelled_when_its_edit_is_closed(void **state)
{
    (void)state;
    uint64_t cancel = propose("core.job.cancel", "{}");
    turn();
    assert_int_equal(model->state, MODEL_STOPPING); /* nobody would be left to close it */
    assert_state(cancel, CONTROL_STATE_ACCEPTED);
    turn();
    assert_state(cancel, CONTROL_STATE_DONE);
    assert_int_equal(model->state, MODEL_KILLED);
    model->state = MODEL_RUNNING; /* restarted by others */
    propose("core.job.stop", "{}");
    turn();
    turn();
    assert_int_equal(model->state, MODEL_STOPPING);
    propose("core.job.cancel", "{}");
    turn();
    turn();
    assert_int_equal(model->state, MODEL_KILLED); /* it does not wait for tasks that cannot stop */
}

static void a_snapshot_is_asked_for_when_it_is_due(void **state)
{
    (void)state;
    for (int i = 0; i < 40; i++) {
        propose("core.job.pause", "{}");
    }
    const struct leader_control *control = leading_control(leading);
    struct control_view now = view();
    for (int i = 0; i < 41; i++) {
        assert_true(append_next());
        now = view();
    }
    ack(40);
    model->ctl_rank = 40;
    for (int i = 0; i < 40; i++) {
        assert_true(append_next());
        now = view();
    }
    const char *json = NULL;
    struct control_record record;
    assert_int_equal(control->next(control->context, &now, &json, &err), STATUS_OK);
    assert_non_null(json);
    assert_int_equal(control_record_read("next", (struct text){json, strlen(json)}, arena, &record, &err), STATUS_OK);
    assert_int_equal(record.kind, CONTROL_SNAPSHOT);
    assert_int_equal(record.snapshot.through, fold->through);
}

static void make_member(uint32_t index)
{
    members[index] = member_create(&budget, &err);
    assert_non_null(members[index]);
    members[index]->life = (struct life){ids[index], index + 1};
    members[index]->running = arena_alloc(arena, 64 * sizeof(uint64_t));
    views[index] = (struct cluster_member_view){.id = ids[index], .member = members[index]};
    model->members[index] = (struct model_member){members[index]->life, index};
}

static int set_up(void **state)
{
    (void)state;
    static const char *const sets[] = {"core/1"};
    random_open(&chance, 7);
    fold = control_fold_create(&budget, &err);
    model = model_create(&budget, &err);
    model->version = 42;
    model->term = 7;
    model->member_count = MEMBERS;
    model->members = arena_alloc(arena, MEMBERS * sizeof *model->members);
    model->task_count = TASKS;
    model->tasks = arena_alloc(arena, TASKS * sizeof *model->tasks);
    for (uint32_t i = 0; i < MEMBERS; i++) {
        make_member(i);
    }
    for (uint32_t i = 0; i < TASKS; i++) {
        model->tasks[i] = (struct model_task){.task = task_make(0, i), .epoch = 42, .owner = i / 2};
        start(i);
    }
    struct leading_config config = {.random_seed = 1, .snapshot_every = 100, .verbs = obeyed, .sets = sets, .set_count = 1};
    return leading_create(&config, &leading, &err) != STATUS_OK;
}

static int tear_down(void **state)
{
    (void)state;
    leading_destroy(leading);
    control_fold_destroy(fold);
    for (uint32_t i = 0; i < MEMBERS; i++) {
        member_unref(members[i]);
    }
    model_unref(model);
    arena_reset(arena);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_task_moves_and_stays_where_it_was_put),
        TEST(a_move_to_where_it_is_restarts_it_once),
        TEST(a_leader_that_dies_before_its_write_leaves_it_to_the_next),
        TEST(a_task_that_cannot_start_there_goes_elsewhere_and_the_move_has_failed),
        TEST(a_move_to_a_processor_that_goes_has_failed),
        TEST(a_drained_processor_gets_nothing_until_it_is_undrained),
        TEST(a_bound_keeps_those_with_the_most_tasks),
        TEST(what_the_job_does_not_have_is_refused_with_what_it_has),
        TEST(a_member_that_does_not_know_a_verb_is_named),
        TEST(a_pause_holds_until_it_is_over_and_is_done_when_all_tasks_have_it),
        TEST(a_job_is_stopped_when_every_task_has_committed_it_and_can_run_again),
        TEST(a_job_is_cancelled_when_its_edit_is_closed),
        TEST(a_snapshot_is_asked_for_when_it_is_due),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
