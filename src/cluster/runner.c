#include "cluster/runner.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/condition.h"
#include "cluster/runner_internal.h"

enum { WAIT_MAX_MS = 1000 /* a clock that ran on while the machine slept is looked at again so soon */ };

int64_t runner_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void posted_free(struct posted *posted)
{
    model_unref(posted->event.model);
    member_unref(posted->event.member);
    for (uint32_t i = 0; posted->members != NULL && i < posted->event.member_count; i++) {
        member_unref(posted->members[i].member);
        free((char *)(uintptr_t)posted->members[i].id);
    }
    free(posted->members);
    free(posted->text);
    free(posted->code);
    free(posted);
}

void runner_post_taking(struct runner *runner, const struct cluster_event *event, struct cluster_member_view *members)
{
    struct posted *posted = calloc(1, sizeof *posted);
    if (posted == NULL) {
        abort(); /* a lost outcome would leave the decisions waiting for ever */
    }
    posted->event = *event;
    posted->members = members;
    posted->event.members = members;
    posted->event.model = event->model == NULL ? NULL : model_ref(event->model);
    posted->event.member = event->member == NULL ? NULL : member_ref(event->member);
    posted->event.text = posted->text = event->text == NULL ? NULL : strdup(event->text);
    posted->event.code = posted->code = event->code == NULL ? NULL : strdup(event->code);
    pthread_mutex_lock(&runner->mutex);
    if (runner->last == NULL) {
        runner->first = posted;
    } else {
        runner->last->next = posted;
    }
    runner->last = posted;
    pthread_cond_signal(&runner->condition);
    pthread_mutex_unlock(&runner->mutex);
}

void runner_post(struct runner *runner, const struct cluster_event *event)
{
    struct cluster_event copy = *event;
    copy.members = NULL;
    copy.member_count = 0;
    runner_post_taking(runner, &copy, NULL);
}

static void send_errand(struct runner *runner, enum lane_kind kind, const struct cluster_action *action)
{
    struct lane *lane = &runner->lanes[kind];
    struct errand *errand = calloc(1, sizeof *errand);
    if (errand == NULL) {
        abort();
    }
    errand->action = *action;
    errand->action.model = action->model == NULL ? NULL : model_ref(action->model);
    errand->action.member = action->member == NULL ? NULL : member_ref(action->member);
    if (action->life.id != NULL) {
        strncpy(errand->life_id, action->life.id, sizeof errand->life_id - 1);
        errand->action.life.id = errand->life_id;
    }
    errand->action.text = errand->text = action->text == NULL ? NULL : strdup(action->text);
    if (action->text != NULL && errand->text == NULL) {
        abort();
    }
    pthread_mutex_lock(&runner->mutex);
    if (lane->last == NULL) {
        lane->first = errand;
    } else {
        lane->last->next = errand;
    }
    lane->last = errand;
    pthread_cond_signal(&lane->condition);
    pthread_mutex_unlock(&runner->mutex);
}

static void errand_free(struct errand *errand)
{
    model_unref(errand->action.model);
    member_unref(errand->action.member);
    free(errand->text);
    free(errand);
}

static void *lane_main(void *context)
{
    struct lane *lane = context;
    struct runner *runner = lane->runner;
    pthread_mutex_lock(&runner->mutex);
    while (!runner->stopping) {
        struct errand *errand = lane->first;
        if (errand == NULL) {
            pthread_cond_wait(&lane->condition, &runner->mutex);
            continue;
        }
        lane->first = errand->next;
        lane->last = lane->first == NULL ? NULL : lane->last;
        pthread_mutex_unlock(&runner->mutex);
        runner_call(lane, errand);
        errand_free(errand);
        arena_reset(lane->arena);
        pthread_mutex_lock(&runner->mutex);
    }
    pthread_mutex_unlock(&runner->mutex);
    return NULL;
}

/* Which lane makes the call; the leader's half numbers its requests oddly. */
static enum lane_kind lane_of(const struct cluster_action *action)
{
    switch (action->step) {
    case STEP_PUT_MEMBER:
    case STEP_READ_MEMBER:
    case STEP_DELETE_MEMBER:
        return LANE_MEMBER;
    case STEP_READ_MODEL:
        return action->request % 2 == 1 ? LANE_LEADER : LANE_MODEL;
    case STEP_LEASE_ACQUIRE:
    case STEP_LEASE_RENEW:
    case STEP_LEASE_RELEASE:
        return LANE_LEASE;
    case STEP_OPEN_SEAT:
        return LANE_SEAT;
    default:
        return LANE_LEADER;
    }
}

/* Without the mutex: the job's side may post. */
static void perform(struct runner *runner, const struct cluster_action *action)
{
    const struct runner_tasks *tasks = runner->config.tasks;
    switch (action->step) {
    case STEP_START_TASK:
        tasks->start(tasks->context, action);
        break;
    case STEP_STOP_TASK:
        tasks->stop(tasks->context, action->request, action->task);
        break;
    case STEP_ABANDON_ALL:
        tasks->abandon_all(tasks->context, action->request);
        break;
    case STEP_SUSPEND:
    case STEP_RESUME:
        tasks->suspend(tasks->context, action->step == STEP_SUSPEND);
        break;
    case STEP_FOLLOW_TASK:
    case STEP_UNFOLLOW_TASK:
        tasks->follow(tasks->context, action->task, action->step == STEP_FOLLOW_TASK);
        break;
    case STEP_REPORT:
        tasks->report(tasks->context, action->text);
        break;
    case STEP_EXIT:
        runner->ended = true;
        tasks->ended(tasks->context, action->code);
        break;
    default:
        send_errand(runner, lane_of(action), action);
    }
}

/* Next event, or NULL at wake_us. With the mutex. */
static struct posted *wait_for_event(struct runner *runner, int64_t wake_us)
{
    while (runner->first == NULL && !runner->stopping) {
        int64_t wait_us = wake_us - runner_now_us(), most_us = (int64_t)WAIT_MAX_MS * 1000;
        if (wait_us <= 0) {
            return NULL;
        }
        wait_us = wait_us > most_us ? most_us : wait_us;
        condition_wait_us(&runner->condition, &runner->mutex, wait_us);
    }
    struct posted *posted = runner->stopping ? NULL : runner->first; /* what is left is the queue's, which is ended with the runner */
    if (posted != NULL) {
        runner->first = posted->next;
        runner->last = runner->first == NULL ? NULL : runner->last;
    }
    return posted;
}

static void *runner_main(void *context)
{
    static const struct cluster_event timer = {.kind = EVENT_TIMER};
    struct runner *runner = context;
    struct cluster_actions actions = {.arena = runner->arena};
    int64_t wake_us = 0; /* the first event of a process is a timer's */
    pthread_mutex_lock(&runner->mutex);
    while (!runner->stopping && !runner->ended) {
        struct posted *posted = wake_us == 0 ? NULL : wait_for_event(runner, wake_us);
        if (runner->stopping) {
            break;
        }
        const struct cluster_event *event = posted == NULL ? &timer : &posted->event;
        actions_clear(&actions);
        processor_decide(runner->processor, event, runner_now_us(), &actions);
        leader_decide(runner->leader, runner->processor, event, runner_now_us(), &actions);
        wake_us = actions.wake_us;
        pthread_mutex_unlock(&runner->mutex);
        for (uint32_t i = 0; i < actions.count && !runner->ended; i++) {
            perform(runner, &actions.list[i]);
        }
        if (actions.failed && !runner->ended) { /* what is left undone would be waited for for ever */
            runner->ended = true;
            runner->config.tasks->ended(runner->config.tasks->context, 1);
        }
        if (posted != NULL) {
            posted_free(posted);
        }
        actions_clear(&actions);
        arena_reset(runner->arena);
        pthread_mutex_lock(&runner->mutex);
    }
    pthread_mutex_unlock(&runner->mutex);
    return NULL;
}

static void hint(void *context, enum cluster_hint kind)
{
    (void)kind;
    runner_post(context, &(struct cluster_event){.kind = EVENT_HINT});
}

static enum status start_threads(struct runner *runner, struct error *err)
{
    for (uint32_t i = 0; i < LANE_COUNT; i++) {
        struct lane *lane = &runner->lanes[i];
        lane->started = pthread_create(&lane->thread, NULL, lane_main, lane) == 0;
        if (!lane->started) {
            return error_set(err, ERROR_THREAD, "a thread of coordination cannot be started");
        }
    }
    runner->started = pthread_create(&runner->thread, NULL, runner_main, runner) == 0;
    return runner->started ? STATUS_OK : error_set(err, ERROR_THREAD, "a thread of coordination cannot be started");
}

static enum status prepare(struct runner *runner, struct error *err)
{
    pthread_mutex_init(&runner->mutex, NULL);
    condition_init(&runner->condition);
    for (uint32_t i = 0; i < LANE_COUNT; i++) {
        runner->lanes[i].runner = runner;
        runner->lanes[i].kind = i;
        pthread_cond_init(&runner->lanes[i].condition, NULL);
        random_open(&runner->lanes[i].random, 0);
    }
    for (uint32_t i = 0; i < LANE_COUNT; i++) {
        TRY_ALLOC(runner->lanes[i].arena, arena_create(runner->config.processor.budget, "coordination lane"), err);
    }
    TRY_ALLOC(runner->arena, arena_create(runner->config.processor.budget, "coordination actions"), err);
    TRY_ALLOC(runner->prefix, strdup(runner->config.prefix), err);
    TRY(processor_create(&runner->config.processor, &runner->processor, err));
    return leader_create(&runner->config.leader, &runner->leader, err);
}

enum status runner_start(const struct runner_config *config, struct runner **runner, struct error *err)
{
    struct runner *self;
    TRY_ALLOC(self, calloc(1, sizeof *self), err);
    self->config = *config;
    self->driver = config->session->driver;
    enum status status = prepare(self, err);
    if (status == STATUS_OK) {
        status = self->driver->watch(config->session, self->prefix, hint, self, err);
    }
    if (status == STATUS_OK) {
        *runner = self; /* before the first call of runner_tasks, which may post */
        status = start_threads(self, err);
    }
    if (status != STATUS_OK) {
        *runner = NULL;
        runner_close(self);
    }
    return status;
}

bool runner_may_write(struct runner *runner)
{
    pthread_mutex_lock(&runner->mutex);
    bool may = processor_may_write(runner->processor, runner_now_us());
    pthread_mutex_unlock(&runner->mutex);
    return may;
}

void runner_read_status(struct runner *runner, struct runner_status *status)
{
    pthread_mutex_lock(&runner->mutex);
    const struct model *model = processor_model(runner->processor);
    *status = (struct runner_status){.processor = processor_state(runner->processor),
                                     .leader = leader_state(runner->leader),
                                     .incarnation = processor_life(runner->processor).incarnation,
                                     .rev = model == NULL ? 0 : model->rev,
                                     .term = model == NULL ? 0 : model->term,
                                     .version = model == NULL ? 0 : model->version,
                                     .model = model == NULL ? MODEL_RUNNING : model->state};
    pthread_mutex_unlock(&runner->mutex);
}

static void stop_threads(struct runner *runner)
{
    pthread_mutex_lock(&runner->mutex);
    runner->stopping = true;
    pthread_cond_broadcast(&runner->condition);
    for (uint32_t i = 0; i < LANE_COUNT; i++) {
        pthread_cond_broadcast(&runner->lanes[i].condition);
    }
    pthread_mutex_unlock(&runner->mutex);
    if (runner->started) {
        pthread_join(runner->thread, NULL);
    }
    for (uint32_t i = 0; i < LANE_COUNT; i++) {
        if (runner->lanes[i].started) {
            pthread_join(runner->lanes[i].thread, NULL);
        }
    }
}

static void lane_close(struct lane *lane)
{
    while (lane->first != NULL) {
        struct errand *errand = lane->first;
        lane->first = errand->next;
        errand_free(errand);
    }
    runner_calls_close(lane);
    if (lane->arena != NULL) {
        arena_destroy(lane->arena);
    }
    pthread_cond_destroy(&lane->condition);
}

void runner_close(struct runner *runner)
{
    struct error ignored;
    if (runner == NULL) {
        return;
    }
    (void)!runner->driver->watch(runner->config.session, "", NULL, NULL, &ignored);
    stop_threads(runner);
    for (uint32_t i = 0; i < LANE_COUNT; i++) {
        lane_close(&runner->lanes[i]);
    }
    while (runner->first != NULL) {
        struct posted *posted = runner->first;
        runner->first = posted->next;
        posted_free(posted);
    }
    processor_destroy(runner->processor);
    leader_destroy(runner->leader);
    if (runner->arena != NULL) {
        arena_destroy(runner->arena);
    }
    pthread_cond_destroy(&runner->condition);
    pthread_mutex_destroy(&runner->mutex);
    free(runner->prefix);
    free(runner);
}
