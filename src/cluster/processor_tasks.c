#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/processor_internal.h"

enum { RETRY_FIRST_MS = 1000, RETRY_MAX_MS = 60000, RETRY_CLEAN_S = 3600 };

static uint32_t place_of(const struct processor *self, uint64_t task)
{
    uint32_t low = 0, high = self->task_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (self->tasks[middle].task < task) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static struct processor_task *find(struct processor *self, uint64_t task)
{
    uint32_t place = place_of(self, task);
    return place < self->task_count && self->tasks[place].task == task ? &self->tasks[place] : NULL;
}

static void announce(struct processor *self, const struct model_task *task, struct cluster_actions *actions)
{
    uint32_t place = place_of(self, task->task);
    if (!growing_array_reserve(&self->tasks, &self->task_capacity, self->task_count + 1, sizeof *self->tasks)) {
        actions->failed = true;
        return;
    }
    memmove(&self->tasks[place + 1], &self->tasks[place], (self->task_count - place) * sizeof *self->tasks);
    self->tasks[place] = (struct processor_task){.task = task->task, .epoch = task->epoch, .phase = TASK_ANNOUNCED};
    self->task_count++;
    self->publish = true;
}

static void drop(struct processor *self, struct processor_task *task)
{
    uint32_t place = (uint32_t)(task - self->tasks);
    memmove(task, task + 1, (self->task_count - place - 1) * sizeof *self->tasks);
    self->task_count--;
    self->publish = true;
}

/* true: it has left the list, since it was never started. One that failed may have a commit whose outcome is not known: it is stopped as well. */
static bool stop(struct processor *self, struct processor_task *task, struct cluster_actions *actions)
{
    if (task->phase == TASK_STOPPING) {
        return false;
    }
    if (!task->started) {
        drop(self, task);
        return true;
    }
    struct cluster_action *action = actions_add(actions, STEP_STOP_TASK);
    task->phase = TASK_STOPPING;
    task->request = processor_request(self);
    if (action != NULL) {
        action->task = task->task;
        action->request = task->request;
    }
    return false;
}

void tasks_stop_all(struct processor *self, struct cluster_actions *actions)
{
    for (uint32_t i = 0; i < self->task_count;) {
        i += stop(self, &self->tasks[i], actions) ? 0 : 1;
    }
}

bool tasks_at_work(const struct processor *self)
{
    for (uint32_t i = 0; i < self->task_count; i++) {
        enum task_phase phase = self->tasks[i].phase;
        if (phase == TASK_STARTING || phase == TASK_RUNNING || phase == TASK_STOPPING) {
            return true;
        }
    }
    return false;
}

static bool is_mine(const struct processor *self, const struct model_task *task)
{
    return task != NULL && task->open && life_equal(model_owner(self->model, task), self->life);
}

static bool follows(const struct processor *self, uint64_t task)
{
    for (uint32_t i = 0; i < self->follow_count; i++) {
        if (self->follows[i] == task) {
            return true;
        }
    }
    return false;
}

static void follow_one(struct cluster_actions *actions, enum step step, uint64_t task)
{
    struct cluster_action *action = actions_add(actions, step);
    if (action != NULL) {
        action->task = task;
    }
}

/* Standbys and tasks that warm up here. */
static void follow_copies(struct processor *self, struct cluster_actions *actions)
{
    const struct model *model = self->model;
    uint32_t total = model->standby_count + model->warming_count, count = 0;
    uint64_t *wanted = malloc((total + 1) * sizeof *wanted);
    if (wanted == NULL) {
        actions->failed = true;
        return;
    }
    for (uint32_t i = 0; i < total; i++) {
        const struct model_copyist *copy = i < model->standby_count ? &model->standby[i] : &model->warming[i - model->standby_count];
        if (strcmp(copy->id, self->life.id) == 0) {
            wanted[count++] = copy->task;
        }
    }
    for (uint32_t i = 0; i < self->follow_count; i++) {
        bool kept = false;
        for (uint32_t k = 0; k < count; k++) {
            kept |= wanted[k] == self->follows[i];
        }
        if (!kept) {
            follow_one(actions, STEP_UNFOLLOW_TASK, self->follows[i]);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!follows(self, wanted[i])) {
            follow_one(actions, STEP_FOLLOW_TASK, wanted[i]);
        }
    }
    free(self->follows);
    self->follows = wanted;
    self->follow_count = count;
    self->follow_capacity = total + 1;
}

/* Its last word is on its way: the leader may have obeyed it before the answer is here. */
static bool says_farewell(const struct processor *self)
{
    return self->put_request != 0 && self->written->state != MEMBER_ACTIVE && self->written->held_count == 0;
}

void tasks_follow_model(struct processor *self, struct cluster_actions *actions)
{
    const struct model *model = self->model;
    const struct model_member *member = model_find_member(model, self->life.id);
    bool listed = member != NULL && member->life.incarnation == self->life.incarnation;
    if (self->state == PROCESSOR_LEAVING && (self->farewell || says_farewell(self))) {
        return; /* it has nothing left that could be taken away */
    }
    if (model_evicts(model, self->life) || (self->listed && !listed)) {
        processor_fence(self, "it was evicted", actions);
        return;
    }
    for (uint32_t i = 0; i < self->task_count;) {
        const struct model_task *task = model_find_task(model, self->tasks[i].task);
        bool keep = is_mine(self, task) && task->epoch == self->tasks[i].epoch && self->leave == LEAVE_NOT;
        i += keep || !stop(self, &self->tasks[i], actions) ? 1 : 0;
    }
    if (!listed) {
        return;
    }
    self->listed = true;
    self->seat = member->seat;
    for (uint32_t i = 0; i < model->task_count && self->leave == LEAVE_NOT; i++) {
        if (is_mine(self, &model->tasks[i]) && find(self, model->tasks[i].task) == NULL) {
            announce(self, &model->tasks[i], actions);
        }
    }
    follow_copies(self, actions);
}

void tasks_published(struct processor *self, const struct member *member)
{
    for (uint32_t i = 0; i < self->task_count; i++) {
        if (self->tasks[i].phase == TASK_ANNOUNCED && member_holds(member, self->tasks[i].task)) {
            self->tasks[i].phase = TASK_READY;
        }
    }
}

/* The seat is taken before the first task starts, and the model read after that. */
static void open_seat(struct processor *self, int64_t now_us, struct cluster_actions *actions)
{
    if (self->seat_phase == SEAT_OPENED && self->model_sent_us >= self->seat_opened_us) {
        self->seat_phase = SEAT_CONFIRMED;
    }
    if (self->seat_phase != SEAT_CLOSED || self->suspended) {
        return;
    }
    if (now_us < self->seat_due_us) {
        actions_wake(actions, self->seat_due_us);
        return;
    }
    struct cluster_action *action = actions_add(actions, STEP_OPEN_SEAT);
    self->seat_phase = SEAT_OPENING;
    self->seat_request = processor_request(self);
    if (action != NULL) {
        action->request = self->seat_request;
        action->seat = self->seat;
        action->life = self->life;
    }
}

static void start(struct processor *self, struct processor_task *task, int64_t now_us, struct cluster_actions *actions)
{
    struct cluster_action *action = actions_add(actions, STEP_START_TASK);
    task->phase = TASK_STARTING;
    task->request = processor_request(self);
    task->started_us = now_us;
    task->started = true;
    if (action != NULL) {
        action->request = task->request;
        action->task = task->task;
        action->epoch = task->epoch;
        action->seat = self->seat;
        action->life = self->life;
        action->model = model_ref(self->model);
    }
}

void tasks_advance(struct processor *self, int64_t now_us, struct cluster_actions *actions)
{
    bool needed = false;
    for (uint32_t i = 0; i < self->task_count; i++) {
        needed |= self->tasks[i].phase != TASK_ANNOUNCED;
    }
    if (needed) {
        open_seat(self, now_us, actions);
    }
    for (uint32_t i = 0; i < self->task_count; i++) {
        struct processor_task *task = &self->tasks[i];
        if (task->phase == TASK_WAITING && now_us >= task->retry_us) {
            task->phase = TASK_READY;
        }
        if (task->phase == TASK_READY && self->seat_phase == SEAT_CONFIRMED && !self->suspended) {
            start(self, task, now_us, actions);
        }
        actions_wake(actions, task->phase == TASK_WAITING ? task->retry_us : INT64_MAX);
    }
}

/* Restart in place: 1 s x 1.5 to 60 s, jitter 10 %, from the start again after an hour without a failure. */
static void failed(struct processor *self, struct processor_task *task, const struct cluster_event *event, int64_t now_us)
{
    if (now_us - task->started_us > (int64_t)RETRY_CLEAN_S * 1000000) {
        task->attempts = 0;
    }
    int64_t delay_ms = RETRY_FIRST_MS;
    for (uint32_t i = 0; i < task->attempts && delay_ms < RETRY_MAX_MS; i++) {
        delay_ms += delay_ms / 2;
    }
    delay_ms = delay_ms > RETRY_MAX_MS ? RETRY_MAX_MS : delay_ms;
    delay_ms += (int64_t)(random_next(&self->random) % (uint64_t)(delay_ms / 10)) - delay_ms / 20;
    task->phase = TASK_WAITING;
    task->attempts++;
    task->retry_us = now_us + delay_ms * 1000;
    snprintf(task->code, sizeof task->code, "%s", event->code == NULL ? "" : event->code);
    snprintf(task->message, sizeof task->message, "%s", event->text == NULL ? "" : event->text);
    self->publish = true;
}

static void seat_event(struct processor *self, const struct cluster_event *event, int64_t now_us, struct cluster_actions *actions)
{
    if (event->kind == EVENT_SEAT_LOST) {
        if (self->seat_phase != SEAT_OPENING) {
            self->seat_phase = SEAT_CLOSED;
        }
    } else if (event->request == self->seat_request && event->status == STATUS_OK && event->result == CLUSTER_OK) {
        self->seat_phase = SEAT_OPENED;
        self->seat_opened_us = self->poll_due_us = now_us;
    } else if (event->request == self->seat_request && event->status == STATUS_FENCED) {
        processor_fence(self, "its seat is another's", actions);
    } else if (event->request == self->seat_request) {
        self->seat_phase = SEAT_CLOSED;
        self->seat_due_us = now_us + self->timing->heartbeat.us / 2;
    }
}

void tasks_event(struct processor *self, const struct cluster_event *event, int64_t now_us, struct cluster_actions *actions)
{
    if (event->kind == EVENT_SEAT_LOST || event->step == STEP_OPEN_SEAT) {
        seat_event(self, event, now_us, actions);
        return;
    }
    struct processor_task *task = find(self, event->task);
    if (task == NULL) {
        return;
    }
    if (event->kind == EVENT_TASK_FAILED) {
        if (task->phase == TASK_RUNNING) {
            failed(self, task, event, now_us);
        }
    } else if (event->request != task->request) {
        return; /* of a start that was cancelled */
    } else if (event->step == STEP_START_TASK && event->status == STATUS_OK) {
        task->phase = TASK_RUNNING;
    } else if (event->step == STEP_START_TASK) {
        failed(self, task, event, now_us);
    } else if (event->step == STEP_STOP_TASK && event->status == STATUS_OK) {
        drop(self, task);
        if (self->leave == LEAVE_NOT && is_mine(self, model_find_task(self->model, event->task))) {
            announce(self, model_find_task(self->model, event->task), actions);
        }
    } else if (event->step == STEP_STOP_TASK) {
        processor_fence(self, "whether a task's last commit is final is not known", actions);
    }
}

static bool set_local(struct member_local **list, uint32_t *count, uint32_t *capacity, const struct cluster_event *event)
{
    uint32_t i = 0;
    while (i < *count && (*list)[i].task < event->task) {
        i++;
    }
    bool there = i < *count && (*list)[i].task == event->task;
    if (!event->known) {
        if (there) {
            memmove(&(*list)[i], &(*list)[i + 1], (*count - i - 1) * sizeof **list);
            (*count)--;
        }
        return true;
    }
    if (!there) {
        if (!growing_array_reserve(list, capacity, *count + 1, sizeof **list)) {
            return false;
        }
        memmove(&(*list)[i + 1], &(*list)[i], (*count - i) * sizeof **list);
        (*count)++;
    }
    (*list)[i] = (struct member_local){.task = event->task, .lag_bytes = event->lag_bytes, .seq = event->seq};
    return true;
}

/* Goes out with the next heartbeat. */
void tasks_local_state(struct processor *self, const struct cluster_event *event, struct cluster_actions *actions)
{
    bool good = event->standby ? set_local(&self->standby, &self->standby_count, &self->standby_capacity, event)
                               : set_local(&self->local, &self->local_count, &self->local_capacity, event);
    actions->failed |= !good;
}
