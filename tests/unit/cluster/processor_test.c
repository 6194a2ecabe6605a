#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "cluster/processor.h"

/* What the simulator meets too seldom to rely on. Events by hand; one task, s1.0. */
static struct budget budget;
static struct arena *arena;
static struct error err;
static struct cluster_timing timing;
static struct cluster_actions actions;
static struct processor *processor;
static int64_t now_us;

static const struct cluster_action *find_action(enum step step)
{
    for (uint32_t i = 0; i < actions.count; i++) {
        if (actions.list[i].step == step) {
            return &actions.list[i];
        }
    }
    return NULL;
}

static void feed(struct cluster_event event)
{
    event.sent_us = now_us;
    now_us += 1000;
    actions_clear(&actions);
    processor_decide(processor, &event, now_us, &actions);
}

/* The outcome of the action that was just asked for. */
static void answer(enum step step, struct cluster_event event)
{
    const struct cluster_action *action = find_action(step);
    assert_non_null(action);
    event.kind = EVENT_OUTCOME;
    event.step = step;
    event.request = action->request;
    feed(event);
}

static struct model *model_of(uint64_t rev, uint64_t version, bool open)
{
    struct model *model = model_create(&budget, &err);
    model->rev = rev;
    model->version = version;
    model->member_count = model->task_count = 1;
    model->members = arena_alloc(model->arena, sizeof *model->members);
    model->tasks = arena_alloc(model->arena, sizeof *model->tasks);
    model->members[0] = (struct model_member){{"w1", processor_life(processor).incarnation}, 0};
    model->tasks[0] = (struct model_task){.task = task_make(1, 0), .epoch = version, .open = open};
    return model;
}

static void read_model(struct model *model)
{
    if (find_action(STEP_READ_MODEL) == NULL) {
        now_us += timing.poll.us;
        feed((struct cluster_event){.kind = EVENT_TIMER});
    }
    answer(STEP_READ_MODEL, (struct cluster_event){.model = model});
    model_unref(model);
}

/* Timers until it is asked for; not for ever. */
static void wait_for(enum step step)
{
    for (uint32_t i = 0; i < 20 && find_action(step) == NULL; i++) {
        now_us += timing.poll.us / 2;
        feed((struct cluster_event){.kind = EVENT_TIMER});
    }
    assert_non_null(find_action(step));
}

static void start_task(void)
{
    feed((struct cluster_event){.kind = EVENT_TIMER});
    answer(STEP_READ_MEMBER, (struct cluster_event){.result = CLUSTER_ABSENT});
    answer(STEP_PUT_MEMBER, (struct cluster_event){.version = {"1"}});
    read_model(model_of(2, 2, true));
    answer(STEP_PUT_MEMBER, (struct cluster_event){.version = {"2"}});
    assert_null(find_action(STEP_START_TASK));
    answer(STEP_OPEN_SEAT, (struct cluster_event){.kind = EVENT_OUTCOME});
    assert_null(find_action(STEP_START_TASK)); /* the model is to be read first */
    read_model(model_of(2, 2, true));
    answer(STEP_START_TASK, (struct cluster_event){.task = task_make(1, 0)});
    assert_int_equal(processor_state(processor), PROCESSOR_RUNNING);
}

static void processor_stops_a_failed_task_before_it_gives_it_away(void **state)
{
    (void)state;
    start_task();
    feed((struct cluster_event){.kind = EVENT_TASK_FAILED, .task = task_make(1, 0), .code = "T", .text = "t"});
    answer(STEP_PUT_MEMBER, (struct cluster_event){.version = {"3"}}); /* it tells of the failure */
    read_model(model_of(3, 3, false));
    const struct cluster_action *stop = find_action(STEP_STOP_TASK), *put = find_action(STEP_PUT_MEMBER);
    assert_non_null(stop);
    assert_true(put == NULL || member_holds(put->member, task_make(1, 0)));
    uint64_t request = stop->request;
    if (put != NULL) {
        answer(STEP_PUT_MEMBER, (struct cluster_event){.version = {"4"}});
    }
    feed((struct cluster_event){.kind = EVENT_OUTCOME, .step = STEP_STOP_TASK, .request = request, .task = task_make(1, 0)});
    wait_for(STEP_PUT_MEMBER);
    put = find_action(STEP_PUT_MEMBER);
    assert_int_equal(put->member->held_count, 0);
    assert_int_equal(put->member->seen_version, 3);
}

static void processor_holds_its_tasks_still_while_its_seat_is_in_doubt(void **state)
{
    (void)state;
    start_task();
    feed((struct cluster_event){.kind = EVENT_SEAT_LOST});
    assert_non_null(find_action(STEP_SUSPEND));
    answer(STEP_OPEN_SEAT, (struct cluster_event){.kind = EVENT_OUTCOME});
    assert_null(find_action(STEP_RESUME));
    read_model(model_of(2, 2, true));
    assert_non_null(find_action(STEP_RESUME));
}

static void processor_abandons_all_when_its_register_is_gone(void **state)
{
    (void)state;
    uint64_t first = processor_life(processor).incarnation;
    start_task();
    wait_for(STEP_PUT_MEMBER);
    answer(STEP_PUT_MEMBER, (struct cluster_event){.result = CLUSTER_CONFLICT});
    answer(STEP_READ_MEMBER, (struct cluster_event){.result = CLUSTER_ABSENT});
    assert_int_equal(processor_state(processor), PROCESSOR_FENCED);
    assert_null(find_action(STEP_PUT_MEMBER));
    answer(STEP_ABANDON_ALL, (struct cluster_event){.kind = EVENT_OUTCOME});
    assert_int_equal(processor_state(processor), PROCESSOR_NEW);
    assert_true(processor_life(processor).incarnation != first);
}

/* Its register may have been made, seen by a leader, and removed by another of its id: then this life was evicted. */
static void processor_whose_register_was_perhaps_made_and_is_not_there_begins_anew(void **state)
{
    (void)state;
    uint64_t first = processor_life(processor).incarnation;
    feed((struct cluster_event){.kind = EVENT_TIMER});
    answer(STEP_READ_MEMBER, (struct cluster_event){.result = CLUSTER_ABSENT});
    answer(STEP_PUT_MEMBER, (struct cluster_event){.result = CLUSTER_UNKNOWN});
    answer(STEP_READ_MEMBER, (struct cluster_event){.result = CLUSTER_ABSENT});
    const struct cluster_action *put = find_action(STEP_PUT_MEMBER);
    assert_non_null(put);
    assert_true(put->create);
    assert_true(put->member->life.incarnation != first);
    assert_true(put->member->life.incarnation == processor_life(processor).incarnation);
}

/* The leader has read its last word, and has taken it off the list, before it has the answer itself. */
static void processor_that_leaves_is_not_fenced_when_its_last_word_is_obeyed_at_once(void **state)
{
    (void)state;
    start_task();
    feed((struct cluster_event){.kind = EVENT_LEAVE});
    const struct cluster_action *stop = find_action(STEP_STOP_TASK);
    assert_non_null(stop);
    uint64_t stopping = stop->request;
    if (find_action(STEP_PUT_MEMBER) != NULL) { /* that it leaves */
        answer(STEP_PUT_MEMBER, (struct cluster_event){.version = {"4"}});
    }
    feed((struct cluster_event){.kind = EVENT_OUTCOME, .step = STEP_STOP_TASK, .request = stopping, .task = task_make(1, 0)});
    wait_for(STEP_PUT_MEMBER);
    const struct cluster_action *put = find_action(STEP_PUT_MEMBER);
    assert_int_equal(put->member->held_count, 0);
    uint64_t last_word = put->request;
    struct model *without = model_of(3, 3, false);
    without->member_count = 0;
    without->tasks[0].owner = MODEL_NONE;
    read_model(without);
    assert_int_equal(processor_state(processor), PROCESSOR_LEAVING);
    feed((struct cluster_event){.kind = EVENT_OUTCOME, .step = STEP_PUT_MEMBER, .request = last_word, .version = {"5"}});
    wait_for(STEP_DELETE_MEMBER);
    answer(STEP_DELETE_MEMBER, (struct cluster_event){.kind = EVENT_OUTCOME});
    const struct cluster_action *exit = find_action(STEP_EXIT);
    assert_non_null(exit);
    assert_int_equal(exit->code, 0);
}

static int open_processor(void **state)
{
    (void)state;
    budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
    arena = arena_create(&budget, "test");
    actions = (struct cluster_actions){.arena = arena, .wake_us = INT64_MAX};
    now_us = 1000000;
    struct processor_config config = {.id = "w1", .host = {.weight = 1}, .timing = &timing, .random_seed = 7, .budget = &budget};
    return timing_read(TIMING_LOCAL, NULL, 0, &timing, &err) != STATUS_OK || processor_create(&config, &processor, &err) != STATUS_OK;
}

static int close_processor(void **state)
{
    (void)state;
    actions_clear(&actions);
    processor_destroy(processor);
    arena_destroy(arena);
    return budget.used_bytes != 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(processor_stops_a_failed_task_before_it_gives_it_away, open_processor, close_processor),
        cmocka_unit_test_setup_teardown(processor_holds_its_tasks_still_while_its_seat_is_in_doubt, open_processor, close_processor),
        cmocka_unit_test_setup_teardown(processor_abandons_all_when_its_register_is_gone, open_processor, close_processor),
        cmocka_unit_test_setup_teardown(processor_whose_register_was_perhaps_made_and_is_not_there_begins_anew, open_processor,
                                        close_processor),
        cmocka_unit_test_setup_teardown(processor_that_leaves_is_not_fenced_when_its_last_word_is_obeyed_at_once, open_processor,
                                        close_processor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
