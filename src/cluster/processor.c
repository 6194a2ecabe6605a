#include "cluster/processor.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/processor_internal.h"

uint64_t processor_request(struct processor *self)
{
    return self->requests += 2;
}

static uint64_t random_incarnation(struct processor *self)
{
    uint64_t incarnation;
    do {
        incarnation = random_next(&self->random);
    } while (incarnation == 0);
    return incarnation;
}

enum status processor_create(const struct processor_config *config, struct processor **processor, struct error *err)
{
    struct processor *self;
    TRY_ALLOC(self, calloc(1, sizeof *self), err);
    self->config = *config;
    self->timing = config->timing;
    self->arena = arena_create(config->budget, "processor");
    if (self->arena == NULL || !member_host_keep(&config->host, self->arena, &self->config.host) ||
        (self->config.id = arena_text(self->arena, config->id, strlen(config->id))) == NULL) {
        processor_destroy(self);
        return error_set(err, ERROR_BUDGET_SPENT, "no room for a processor");
    }
    random_open(&self->random, config->random_seed);
    self->life = (struct life){self->config.id, random_incarnation(self)};
    *processor = self;
    return STATUS_OK;
}

void processor_destroy(struct processor *processor)
{
    if (processor == NULL) {
        return;
    }
    model_unref(processor->model);
    member_unref(processor->written);
    free(processor->tasks);
    free(processor->standby);
    free(processor->local);
    free(processor->follows);
    if (processor->arena != NULL) {
        arena_destroy(processor->arena);
    }
    free(processor);
}

bool processor_is_alive(const struct processor *self)
{
    return self->state == PROCESSOR_JOINING || self->state == PROCESSOR_LEAVING;
}

enum processor_state processor_state(const struct processor *processor)
{
    if (processor->state != PROCESSOR_JOINING) {
        return processor->state;
    }
    return processor->suspended        ? PROCESSOR_SUSPENDED
           : processor->task_count > 0 ? PROCESSOR_RUNNING
           : processor->listed         ? PROCESSOR_IDLE
                                       : PROCESSOR_JOINING;
}

#define X(name, text) [PROCESSOR_##name] = (text),
static const char *const states[] = {PROCESSOR_STATE_LIST(X)};
#undef X

const char *processor_state_text(enum processor_state state)
{
    assert(state < PROCESSOR_STATE_COUNT);
    return states[state];
}

struct life processor_life(const struct processor *processor)
{
    return processor->life;
}

const struct model *processor_model(const struct processor *processor)
{
    return processor->model;
}

bool processor_may_lead(const struct processor *processor)
{
    return processor->state == PROCESSOR_JOINING;
}

bool processor_may_write(const struct processor *processor, int64_t now_us)
{
    const struct cluster_timing *timing = processor->timing;
    return processor_is_alive(processor) && !processor->paused && !processor->suspended &&
           now_us < processor->confirmed_us + timing->lease_ttl.us - timing->lease_margin.us;
}

/* Abandons everything. What is in flight for the register no longer counts: its outcome meets another request number. */
void processor_fence(struct processor *self, const char *why, struct cluster_actions *actions)
{
    char life[LIFE_TEXT_BYTES];
    actions_report(actions, "coord.fenced life=%s why=%s", life_text(self->life, life), why);
    self->state = PROCESSOR_FENCED;
    self->task_count = self->follow_count = 0;
    self->put_request = self->read_request = self->seat_request = self->delete_request = 0;
    self->abandon_request = processor_request(self);
    struct cluster_action *action = actions_add(actions, STEP_ABANDON_ALL);
    if (action != NULL) {
        action->request = self->abandon_request;
    }
}

void processor_begin_life(struct processor *self)
{
    self->previous = self->life.incarnation;
    self->life.incarnation = random_incarnation(self);
    self->doubted = false;
}

static void exit_with(struct processor *self, int32_t code, struct cluster_actions *actions)
{
    struct cluster_action *action = actions_add(actions, STEP_EXIT);
    self->state = PROCESSOR_LEFT;
    if (action != NULL) {
        action->code = code;
    }
}

/* Nothing of the old life can have an effect any more: a new one begins, or the process ends. */
static void abandoned(struct processor *self, const struct cluster_event *event, struct cluster_actions *actions)
{
    if (event->request != self->abandon_request || self->state != PROCESSOR_FENCED) {
        return;
    }
    if (self->leave != LEAVE_NOT) {
        exit_with(self, 1, actions);
        return;
    }
    self->state = PROCESSOR_NEW;
    processor_begin_life(self);
    self->listed = self->unsure = self->suspended = self->resuming = self->paused = self->farewell = self->publish = false;
    self->watch.known = false;
    self->watch.changes = 0;
    self->seat_phase = SEAT_CLOSED;
    self->read_due_us = self->put_due_us = 0;
}

/* R4: an older model than the one adopted is not news. */
static void adopt(struct processor *self, const struct cluster_event *event, struct cluster_actions *actions)
{
    const struct model *model = event->model;
    if (self->model != NULL && (model->rev < self->model->rev || model->term < self->model->term)) {
        actions_report(actions, "coord.old-model rev=%llu adopted=%llu", (unsigned long long)model->rev,
                       (unsigned long long)self->model->rev);
        return;
    }
    if (event->sent_us > self->model_sent_us) {
        self->model_sent_us = event->sent_us;
    }
    if (self->model != NULL && model->rev == self->model->rev) {
        return;
    }
    self->publish |= self->model == NULL || self->model->version != model->version;
    model_unref(self->model);
    self->model = model_ref(model);
    if (processor_is_alive(self)) {
        tasks_follow_model(self, actions);
    }
}

static void model_read_done(struct processor *self, const struct cluster_event *event, int64_t now_us, struct cluster_actions *actions)
{
    if (event->request == self->poll_request) {
        self->poll_request = 0;
    }
    if (event->status == STATUS_OK && event->result == CLUSTER_OK) {
        self->poll_due_us = now_us + self->timing->poll.us;
        adopt(self, event, actions);
    } else if (event->status == STATUS_CORRUPT) {
        actions_report(actions, "coord.model-corrupt");
    }
}

static void outcome(struct processor *self, const struct cluster_event *event, int64_t now_us, struct cluster_actions *actions)
{
    switch (event->step) {
    case STEP_READ_MODEL:
        model_read_done(self, event, now_us, actions);
        break;
    case STEP_PUT_MEMBER:
        register_put_done(self, event, now_us, actions);
        break;
    case STEP_READ_MEMBER:
        register_read_done(self, event, now_us, actions);
        break;
    case STEP_DELETE_MEMBER:
        if (event->request == self->delete_request) {
            self->delete_request = 0;
            self->delete_due_us = now_us + self->timing->heartbeat.us / 2;
            if (event->status == STATUS_OK && event->result != CLUSTER_UNKNOWN) {
                exit_with(self, 0, actions);
            }
        }
        break;
    case STEP_ABANDON_ALL:
        abandoned(self, event, actions);
        break;
    default:
        if (processor_is_alive(self)) {
            tasks_event(self, event, now_us, actions);
        }
    }
}

/* From here on nothing is taken for confirmed that was not asked for after this. Looked at before any event is: an answer that comes late must
 * find out that it does. */
static void check_confirmation(struct processor *self, int64_t now_us)
{
    int64_t until = self->confirmed_us + self->timing->lease_ttl.us - self->timing->lease_margin.us;
    if (!processor_is_alive(self)) {
        return;
    }
    if (now_us >= until) {
        self->suspended = true;
        self->resuming = false;
    } else if (self->resuming && self->model_sent_us >= self->resumed_us) {
        self->suspended = self->resuming = false;
    }
}

static void leave(struct processor *self, enum leave_kind kind, int64_t now_us, struct cluster_actions *actions)
{
    if (self->leave != LEAVE_NOT || self->state == PROCESSOR_LEFT || self->state == PROCESSOR_REFUSED) {
        return;
    }
    self->leave = kind;
    self->leave_us = now_us;
    if (self->state == PROCESSOR_NEW) {
        exit_with(self, 0, actions);
    } else if (self->state == PROCESSOR_JOINING) {
        self->state = PROCESSOR_LEAVING;
        self->publish = true;
        tasks_stop_all(self, actions);
    }
}

static void poll_model(struct processor *self, int64_t now_us, struct cluster_actions *actions)
{
    if (self->poll_request == 0 && now_us >= self->poll_due_us) {
        struct cluster_action *action = actions_add(actions, STEP_READ_MODEL);
        if (action != NULL) {
            action->request = self->poll_request = processor_request(self);
        }
        self->poll_due_us = now_us + self->timing->poll.us;
    }
    actions_wake(actions, self->poll_request == 0 ? self->poll_due_us : INT64_MAX);
}

static void leave_advance(struct processor *self, int64_t now_us, struct cluster_actions *actions)
{
    register_leave(self, now_us, actions);
    if (self->state == PROCESSOR_LEAVING && self->farewell && self->leave == LEAVE_TO_RESTART) {
        exit_with(self, 0, actions);
    } else if (self->state == PROCESSOR_LEAVING && now_us >= self->leave_us + self->timing->stop_timeout.us) {
        if (self->task_count == 0) {
            exit_with(self, 0, actions);
        } else {
            processor_fence(self, "tasks did not stop in time", actions);
        }
    }
    actions_wake(actions, self->leave_us + self->timing->stop_timeout.us);
}

/* Tells tasks to hold still, or to go on. */
static void pause_or_resume(struct processor *self, struct cluster_actions *actions)
{
    bool must =
        (self->suspended && (self->model == NULL || self->model->unfenced)) || (self->seat_phase != SEAT_CONFIRMED && tasks_at_work(self));
    if (must != self->paused) {
        self->paused = must;
        (void)actions_add(actions, must ? STEP_SUSPEND : STEP_RESUME);
    }
}

static void advance(struct processor *self, int64_t now_us, struct cluster_actions *actions)
{
    if (self->state == PROCESSOR_FENCED || self->state == PROCESSOR_REFUSED || self->state == PROCESSOR_LEFT) {
        return;
    }
    check_confirmation(self, now_us);
    if (processor_is_alive(self)) {
        pause_or_resume(self, actions);
        tasks_advance(self, now_us, actions);
        pause_or_resume(self, actions);
    }
    if (processor_is_alive(self) || self->state == PROCESSOR_NEW) {
        register_advance(self, now_us, actions);
    }
    if (self->state == PROCESSOR_LEAVING) {
        leave_advance(self, now_us, actions);
    }
    if (processor_is_alive(self)) {
        poll_model(self, now_us, actions);
        actions_wake(actions,
                     self->suspended ? INT64_MAX : self->confirmed_us + self->timing->lease_ttl.us - self->timing->lease_margin.us);
    }
}

void processor_decide(struct processor *processor, const struct cluster_event *event, int64_t now_us, struct cluster_actions *actions)
{
    struct processor *self = processor;
    check_confirmation(self, now_us);
    switch (event->kind) {
    case EVENT_OUTCOME:
        outcome(self, event, now_us, actions);
        break;
    case EVENT_HINT:
        self->poll_due_us = now_us;
        break;
    case EVENT_LEAVE:
        leave(self, LEAVE_FOR_GOOD, now_us, actions);
        break;
    case EVENT_RESTART:
        leave(self, LEAVE_TO_RESTART, now_us, actions);
        break;
    case EVENT_LOCAL_STATE:
        tasks_local_state(self, event, actions);
        break;
    case EVENT_COMMIT_REFUSED:
        if (processor_is_alive(self)) {
            processor_fence(self, "a commit was refused", actions);
        }
        break;
    case EVENT_TASK_FAILED:
    case EVENT_SEAT_LOST:
        if (processor_is_alive(self)) {
            tasks_event(self, event, now_us, actions);
        }
        break;
    case EVENT_TIMER:
        break;
    }
    advance(self, now_us, actions);
}
