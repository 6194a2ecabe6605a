#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cluster/control/leading.h"
#include "cluster/control/log_register.h"
#include "cluster/history.h"
#include "cluster/runner.h"
#include "cluster/value.h"

/* Three processes of one job over the driver local, in memory; their tasks only say that they run. */
enum { RUNNERS = 3, TASKS = 6, WAIT_MS = 20000 };

struct member_process {
    uint32_t index;
    struct cluster_session *session;
    struct runner *runner;
    atomic_bool runs[TASKS];
    atomic_int ended; /* -1: not yet */
};
static struct budget budget;
static struct error err;
static struct cluster_timing timing;
static struct member_process processes[RUNNERS];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of the record */
static uint64_t term_floor;
static uint32_t seat_high;
static struct leading *leadings[RUNNERS];
static atomic_int doubles; /* starts of a task that another still ran */

static void done(struct member_process *process, enum step step, uint64_t request, uint64_t task)
{
    runner_post(process->runner, &(struct cluster_event){.kind = EVENT_OUTCOME, .step = step, .request = request, .task = task});
}

static void task_start(void *context, const struct cluster_action *action)
{
    struct member_process *process = context;
    uint32_t task = task_partition(action->task);
    for (uint32_t i = 0; i < RUNNERS; i++) {
        doubles += processes[i].runs[task] && processes[i].runner != NULL;
    }
    process->runs[task] = true;
    done(process, STEP_START_TASK, action->request, action->task);
}

static void task_stop(void *context, uint64_t request, uint64_t task)
{
    struct member_process *process = context;
    process->runs[task_partition(task)] = false;
    done(process, STEP_STOP_TASK, request, task);
}

static void abandon_all(void *context, uint64_t request)
{
    struct member_process *process = context;
    for (uint32_t i = 0; i < TASKS; i++) {
        process->runs[i] = false;
    }
    done(process, STEP_ABANDON_ALL, request, 0);
}

static void suspend(void *context, bool suspended)
{
    (void)context, (void)suspended;
}

static void follow(void *context, uint64_t task, bool follows)
{
    (void)context, (void)task, (void)follows;
}

static void report(void *context, const char *text)
{
    (void)context, (void)text;
}

static void ended(void *context, int32_t code)
{
    ((struct member_process *)context)->ended = code;
}

static enum status open_seat(void *context, uint32_t seat, struct life life, struct error *error)
{
    (void)context, (void)seat, (void)life, (void)error;
    return STATUS_OK;
}

static enum status fence_seat(void *context, uint32_t seat, struct life life, const struct model *model, struct error *error)
{
    (void)context, (void)seat, (void)life, (void)model, (void)error;
    return STATUS_OK;
}

static enum status raise_record(void *context, uint64_t *floor, uint32_t *seats, struct error *error)
{
    (void)context, (void)error;
    pthread_mutex_lock(&mutex);
    *floor = term_floor = *floor > term_floor ? *floor : term_floor;
    *seats = seat_high = *seats > seat_high ? *seats : seat_high;
    pthread_mutex_unlock(&mutex);
    return STATUS_OK;
}

static const struct runner_stores stores = {.open_seat = open_seat, .fence_seat = fence_seat, .raise_record = raise_record};
static struct runner_tasks tasks[RUNNERS];

static void open_session(struct cluster_session **session)
{
    if (cluster_open("local:runner-test", NULL, 0, NULL, session, &err) != STATUS_OK) {
        fail_msg("%s", err.text);
    }
}

static void submit(struct cluster_session *session)
{
    struct arena *arena = arena_create(&budget, "submit");
    struct model *model = model_create(&budget, &err);
    struct text json, body, value;
    char sha256[MODEL_SHA256_BYTES];
    enum cluster_result result;
    struct cluster_version version;
    model->rev = model->version = 1;
    model->job = "test";
    model->task_count = TASKS;
    model->tasks = arena_alloc(model->arena, TASKS * sizeof *model->tasks);
    for (uint32_t i = 0; i < TASKS; i++) {
        model->tasks[i] = (struct model_task){.task = task_make(1, i), .epoch = 1, .owner = MODEL_NONE};
    }
    assert_int_equal(model_write(model, arena, &json, &body, sha256, &err), STATUS_OK);
    assert_int_equal(value_seal(json, arena, &value, &err), STATUS_OK);
    assert_int_equal(session->driver->put(session, "jobs/test/model", value, NULL, &result, &version, &err), STATUS_OK);
    assert_int_equal(result, CLUSTER_OK);
    model_unref(model);
    arena_destroy(arena);
}

static void start(uint32_t index)
{
    static const char *const ids[] = {"w0", "w1", "w2"};
    struct member_process *process = &processes[index];
    process->index = index;
    process->ended = -1;
    open_session(&process->session);
    tasks[index] = (struct runner_tasks){process, task_start, task_stop, abandon_all, suspend, follow, report, ended};
    static const char *const no_verbs[] = {NULL}, *const sets[] = {"core/1"};
    const struct leading_config leading = {.verbs = no_verbs, .sets = sets, .set_count = 1};
    assert_int_equal(leading_create(&leading, &leadings[index], &err), STATUS_OK);
    struct runner_config config = {.session = process->session,
                                   .prefix = "jobs/test",
                                   .processor = {.id = ids[index], .host = {.weight = 1}, .timing = &timing, .budget = &budget},
                                   .leader = {.timing = &timing, .budget = &budget, .control = leading_control(leadings[index])},
                                   .tasks = &tasks[index],
                                   .stores = &stores};
    if (runner_start(&config, &process->runner, &err) != STATUS_OK) {
        fail_msg("%s", err.text);
    }
}

/* As at the end of a process: nothing is released. */
static void stop(uint32_t index)
{
    struct member_process *process = &processes[index];
    runner_close(process->runner);
    process->runner = NULL;
    leading_destroy(leadings[index]);
    for (uint32_t i = 0; i < TASKS; i++) {
        process->runs[i] = false;
    }
    cluster_close(process->session, false);
    process->session = NULL;
}

/* Every task runs once, and each process that is there runs `share` of them. */
static bool is_even(uint32_t share)
{
    for (uint32_t task = 0; task < TASKS; task++) {
        uint32_t runs = 0;
        for (uint32_t i = 0; i < RUNNERS; i++) {
            runs += processes[i].runs[task];
        }
        if (runs != 1) {
            return false;
        }
    }
    for (uint32_t i = 0; i < RUNNERS; i++) {
        uint32_t runs = 0;
        for (uint32_t task = 0; task < TASKS; task++) {
            runs += processes[i].runs[task];
        }
        if (processes[i].runner != NULL && processes[i].ended < 0 && runs != share) {
            return false;
        }
    }
    return true;
}

static void wait_for_share(uint32_t share)
{
    for (uint32_t i = 0; i < WAIT_MS / 20 && !is_even(share); i++) {
        usleep(20000);
    }
    assert_true(is_even(share));
    assert_int_equal(doubles, 0);
}

/* The last round is written after its tasks run. */
static void wait_for_history(struct cluster_session *session, const char *why)
{
    struct arena *arena = arena_create(&budget, "history");
    struct history_round *rounds;
    uint32_t count = 0, found = 0;
    for (uint32_t i = 0; i < WAIT_MS / 20 && found == 0; i++) {
        assert_int_equal(history_read(session, "jobs/test", arena, &rounds, &count, &err), STATUS_OK);
        for (uint32_t k = 0; k < count; k++) {
            found += strncmp(rounds[k].why, why, strlen(why)) == 0;
        }
        usleep(20000);
    }
    assert_int_equal(found, 1);
    arena_destroy(arena);
}

static void runners_share_tasks_take_over_from_the_dead_and_hand_over_when_they_leave(void **state)
{
    (void)state;
    struct runner_status status;
    struct cluster_session *keeper;
    open_session(&keeper);
    submit(keeper);
    for (uint32_t i = 0; i < RUNNERS; i++) {
        start(i);
    }
    wait_for_share(TASKS / 3);
    stop(0);
    wait_for_share(TASKS / 2);
    start(0);
    wait_for_share(TASKS / 3);
    runner_post(processes[1].runner, &(struct cluster_event){.kind = EVENT_LEAVE});
    wait_for_share(TASKS / 2);
    for (uint32_t i = 0; i < WAIT_MS / 20 && processes[1].ended < 0; i++) {
        usleep(20000);
    }
    assert_int_equal(processes[1].ended, 0);
    runner_read_status(processes[2].runner, &status);
    assert_int_equal(status.processor, PROCESSOR_RUNNING);
    assert_true(status.version >= 4 && status.term >= 1);
    assert_true(runner_may_write(processes[2].runner));
    wait_for_history(keeper, "w1 evicted: ");
    for (uint32_t i = 0; i < RUNNERS; i++) {
        stop(i);
    }
    cluster_close(keeper, true);
    assert_int_equal(budget.used_bytes, 0);
}

/* ---- the control log ---- */

static struct random_source chance;
static struct control_log *log_of_job;

static uint64_t propose(const char *verb, const char *args, const char *key)
{
    struct arena *arena = arena_create(&budget, "propose");
    struct control_record record = {.kind = CONTROL_PROPOSE, .propose = {.verb = verb, .key = key, .actor = "user:ann"}};
    uint64_t index;
    bool counted;
    assert_int_equal(control_args_make(args, arena, &record.propose.args, record.propose.args_sha256, &err), STATUS_OK);
    if (control_log_append(log_of_job, &record, &index, &counted, &err) != STATUS_OK) {
        fail_msg("%s", err.text);
    }
    arena_destroy(arena);
    return index;
}

static const struct control_entry *wait_for_close(uint64_t index)
{
    for (uint32_t i = 0; i < WAIT_MS / 20; i++) {
        assert_int_equal(control_log_read(log_of_job, &err), STATUS_OK);
        const struct control_entry *entry = control_fold_find(control_log_fold(log_of_job), index);
        if (control_state_is_final(entry->state)) {
            return entry;
        }
        usleep(20000);
    }
    fail_msg("#%d is not closed", (int)index);
    return NULL;
}

static void assert_done(uint64_t index)
{
    const struct control_entry *entry = wait_for_close(index);
    if (entry->state != CONTROL_STATE_DONE) {
        fail_msg("#%d is %s: %s", (int)index, control_state_text(entry->state), entry->reason == NULL ? "" : entry->reason);
    }
}

static void the_leader_does_what_the_control_log_says(void **state)
{
    (void)state;
    struct cluster_session *keeper;
    random_open(&chance, 1);
    open_session(&keeper);
    submit(keeper);
    assert_int_equal(control_log_open(keeper, "jobs/test", &budget, NULL, &chance, &log_of_job, &err), STATUS_OK);
    for (uint32_t i = 0; i < RUNNERS; i++) {
        start(i);
    }
    wait_for_share(TASKS / 3);
    assert_done(propose("core.processor.drain", "{\"processor\":\"w2\"}", "a"));
    for (uint32_t i = 0; i < TASKS; i++) {
        assert_false(processes[2].runs[i]);
    }
    uint64_t index = propose("core.processor.drain", "{\"processor\":\"w2\"}", "a");
    assert_int_equal(wait_for_close(index)->state, CONTROL_STATE_DUPLICATE);
    assert_int_equal(wait_for_close(propose("core.job.pause", "{}", NULL))->state, CONTROL_STATE_REJECTED);
    stop(0); /* the leader, or not: what stands stands for the next one, too */
    assert_done(propose("core.processor.undrain", "{\"processor\":\"w2\"}", NULL));
    wait_for_share(TASKS / 2);
    uint32_t from = processes[1].runs[0] ? 1 : 2;
    assert_done(propose("core.task.move", from == 1 ? "{\"task\":\"s1.0\",\"to\":\"w2\"}" : "{\"task\":\"s1.0\",\"to\":\"w1\"}", NULL));
    assert_true(processes[3 - from].runs[0]);
    assert_done(propose("core.task.restart", "{\"task\":\"s1.0\"}", NULL));
    assert_true(processes[3 - from].runs[0]);
    assert_int_equal(doubles, 0);
    assert_int_equal(control_log_fold(log_of_job)->rank, 4);
    control_log_close(log_of_job);
    stop(1);
    stop(2);
    cluster_close(keeper, true);
    assert_int_equal(budget.used_bytes, 0);
}

/* What is pinned or drained is not known then: nothing moves that has an owner, but what the dead had is taken over. */
static void a_log_that_cannot_be_read_keeps_nobody_from_taking_over(void **state)
{
    (void)state;
    struct cluster_session *keeper;
    struct text damaged = TEXT("no record");
    enum cluster_result result;
    struct cluster_version version;
    struct runner_status status;
    open_session(&keeper);
    submit(keeper);
    assert_int_equal(keeper->driver->put(keeper, "jobs/test/ctl/00000000000000000001", damaged, NULL, &result, &version, &err), STATUS_OK);
    start(0);
    wait_for_share(TASKS);
    start(1);
    for (uint32_t i = 0; i < WAIT_MS / 20; i++) {
        runner_read_status(processes[1].runner, &status);
        if (status.processor == PROCESSOR_IDLE) {
            break; /* it is listed */
        }
        usleep(20000);
    }
    usleep(600000); /* some turns of the leader */
    for (uint32_t i = 0; i < TASKS; i++) {
        assert_true(processes[0].runs[i] && !processes[1].runs[i]);
    }
    stop(0);
    wait_for_share(TASKS);
    stop(1);
    cluster_close(keeper, true);
    assert_int_equal(budget.used_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests_of_runner[] = {
        cmocka_unit_test(runners_share_tasks_take_over_from_the_dead_and_hand_over_when_they_leave),
        cmocka_unit_test(the_leader_does_what_the_control_log_says),
        cmocka_unit_test(a_log_that_cannot_be_read_keeps_nobody_from_taking_over),
    };
    budget_init(&budget, NULL, "test", BUDGET_UNLIMITED);
    if (timing_read(TIMING_LOCAL, NULL, 0, &timing, &err) != STATUS_OK) {
        return 1;
    }
    return cmocka_run_group_tests(tests_of_runner, NULL, NULL);
}
