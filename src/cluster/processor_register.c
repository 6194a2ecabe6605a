#include <stdlib.h>
#include <string.h>

#include "cluster/processor_internal.h"

static bool keep_failures(const struct processor *self, struct member *member)
{
    member->failed = arena_alloc(member->arena, self->task_count * sizeof *member->failed + 1);
    for (uint32_t i = 0; member->failed != NULL && i < self->task_count; i++) {
        const struct processor_task *task = &self->tasks[i];
        if (task->attempts > 0) {
            struct member_failure *failure = &member->failed[member->failed_count++];
            *failure = (struct member_failure){.task = task->task,
                                               .attempts = task->attempts,
                                               .code = arena_text(member->arena, task->code, strlen(task->code)),
                                               .message = arena_text(member->arena, task->message, strlen(task->message))};
        }
    }
    return member->failed != NULL;
}

static bool keep_tasks(const struct processor *self, struct member *member)
{
    size_t bytes = self->task_count * sizeof *member->held + 1;
    member->held = arena_alloc(member->arena, bytes);
    member->running = arena_alloc(member->arena, bytes);
    for (uint32_t i = 0; member->held != NULL && member->running != NULL && i < self->task_count; i++) {
        member->held[member->held_count++] = self->tasks[i].task;
        if (self->tasks[i].phase == TASK_RUNNING) {
            member->running[member->running_count++] = self->tasks[i].task;
        }
    }
    return member->held != NULL && member->running != NULL;
}

/* What is true now: see the head of cluster/member.h. */
static struct member *compose(struct processor *self)
{
    struct error ignored;
    struct member *member = member_create(self->config.budget, &ignored);
    if (member == NULL) {
        return NULL;
    }
    member->life = self->life;
    member->nonce = random_next(&self->random);
    member->beat = ++self->beat;
    member->state = self->leave == LEAVE_FOR_GOOD ? MEMBER_LEAVING : self->leave == LEAVE_TO_RESTART ? MEMBER_RESTARTING : MEMBER_ACTIVE;
    member->seen_rev = self->model == NULL ? 0 : self->model->rev;
    member->seen_version = self->model == NULL ? 0 : self->model->version;
    member->standby = arena_copy(member->arena, self->standby, self->standby_count * sizeof *self->standby);
    member->local = arena_copy(member->arena, self->local, self->local_count * sizeof *self->local);
    member->standby_count = self->standby_count;
    member->local_count = self->local_count;
    if (!keep_tasks(self, member) || member->standby == NULL || member->local == NULL || !keep_failures(self, member) ||
        !life_keep(self->life, member->arena, &member->life) || !member_host_keep(&self->config.host, member->arena, &member->host)) {
        member_unref(member);
        return NULL;
    }
    return member;
}

static void put(struct processor *self, const struct cluster_version *expect, int64_t now_us, struct cluster_actions *actions)
{
    struct cluster_action *action = actions_add(actions, STEP_PUT_MEMBER);
    struct member *member = action == NULL ? NULL : compose(self);
    if (member == NULL) {
        actions->failed = true;
        return;
    }
    member_unref(self->written);
    self->written = member;
    self->put_sent_us = now_us;
    self->put_request = processor_request(self);
    self->put_due_us = now_us + self->timing->heartbeat.us;
    self->publish = false;
    action->request = self->put_request;
    action->member = member_ref(member);
    action->create = expect == NULL;
    if (expect != NULL) {
        action->version = *expect;
    }
}

static void read_back(struct processor *self, struct cluster_actions *actions)
{
    struct cluster_action *action = actions_add(actions, STEP_READ_MEMBER);
    if (action != NULL) {
        action->request = self->read_request = processor_request(self);
    }
}

/* The put of `written`, sent at put_sent_us, has been done. */
static void confirmed(struct processor *self, const struct cluster_version *version, int64_t now_us)
{
    self->version = *version;
    self->unsure = self->doubted = false;
    self->confirmed_us = self->put_sent_us;
    if (self->suspended && !self->resuming) {
        self->resuming = true;
        self->resumed_us = self->poll_due_us = now_us;
    }
    if (self->state == PROCESSOR_NEW) {
        self->state = PROCESSOR_JOINING;
        self->suspended = self->resuming = false;
        self->poll_due_us = now_us;
    }
    tasks_published(self, self->written);
    self->farewell = self->written->state != MEMBER_ACTIVE && self->written->held_count == 0;
}

void register_put_done(struct processor *self, const struct cluster_event *event, int64_t now_us, struct cluster_actions *actions)
{
    if (event->request != self->put_request) {
        return;
    }
    self->put_request = 0;
    if (event->status == STATUS_OK && event->result == CLUSTER_OK) {
        confirmed(self, &event->version, now_us);
    } else if (event->status == STATUS_OK) {
        self->unsure = true;
        self->doubted |= event->result == CLUSTER_UNKNOWN;
        self->publish = true;
        self->read_due_us = now_us;
    } else {
        actions_report(actions, "coord.heartbeat-failed status=%d", (int)event->status);
        self->publish = true;
        self->retry_us = now_us + self->timing->heartbeat.us / 2;
    }
}

/* NEW: may the register be taken, and how? */
static void consider(struct processor *self, const struct cluster_event *event, int64_t now_us, struct cluster_actions *actions)
{
    const struct member *other = event->member;
    int64_t ttl = self->timing->lease_ttl.us;
    bool shown = event->result != CLUSTER_ABSENT && other->life.incarnation == self->life.incarnation;
    if (self->doubted && !shown) { /* it may have been seen, listed and evicted: an evicted life is never written again */
        processor_begin_life(self);
    }
    if (event->result == CLUSTER_ABSENT) {
        put(self, NULL, now_us, actions);
        return;
    }
    if (shown && self->written != NULL && other->nonce == self->written->nonce) {
        confirmed(self, &event->version, now_us);
        return;
    }
    bool same = self->watch.known && strcmp(self->watch.version.token, event->version.token) == 0;
    bool broken = self->watch.known && event->sent_us - self->watch.read_us > ttl / 3;
    bool mine = shown || other->life.incarnation == self->previous; /* written earlier, landed late */
    if (mine || event->gone || (same && !broken && event->sent_us - self->watch.since_us >= ttl)) {
        put(self, &event->version, now_us, actions);
        return;
    }
    if (self->watch.incarnation != other->life.incarnation) {
        self->watch.changes = 0;
        self->watch.incarnation = other->life.incarnation;
    } else {
        self->watch.changes += self->watch.known && !same && other->state == MEMBER_ACTIVE;
    }
    if (self->watch.changes >= 2) {
        actions_report(actions, "coord.refused id=%s host=%s pid=%lld started_ms=%lld", self->life.id,
                       other->host.host == NULL ? "-" : other->host.host, (long long)other->host.pid, (long long)other->host.started_ms);
        struct cluster_action *action = actions_add(actions, STEP_EXIT);
        if (action != NULL) {
            action->code = 3;
        }
        self->state = PROCESSOR_REFUSED;
        return;
    }
    if (!same || broken) {
        self->watch.since_us = now_us;
    }
    self->watch.known = true;
    self->watch.version = event->version;
    self->watch.read_us = now_us;
}

void register_read_done(struct processor *self, const struct cluster_event *event, int64_t now_us, struct cluster_actions *actions)
{
    if (event->request != self->read_request) {
        return;
    }
    self->read_request = 0;
    self->read_due_us = now_us + self->timing->heartbeat.us / 2;
    if (event->status != STATUS_OK) {
        actions_report(actions, "coord.register-unread status=%d", (int)event->status);
        return;
    }
    if (self->state == PROCESSOR_NEW) {
        self->unsure = false;
        consider(self, event, now_us, actions);
    } else if (event->result == CLUSTER_ABSENT || event->member->life.incarnation != self->life.incarnation) {
        processor_fence(self, event->result == CLUSTER_ABSENT ? "its register is gone" : "its register is another's", actions);
    } else if (event->member->nonce == self->written->nonce) {
        confirmed(self, &event->version, now_us);
    } else {
        self->version = event->version;
        self->unsure = false;
    }
}

void register_advance(struct processor *self, int64_t now_us, struct cluster_actions *actions)
{
    if (self->put_request != 0 || self->read_request != 0 || self->delete_request != 0) {
        return;
    }
    if (self->state == PROCESSOR_NEW || self->unsure) {
        if (now_us >= self->read_due_us) {
            read_back(self, actions);
        }
        actions_wake(actions, self->read_request == 0 ? self->read_due_us : INT64_MAX);
        return;
    }
    if (self->farewell && self->leave != LEAVE_NOT) {
        return;
    }
    int64_t due_us = self->publish ? now_us : self->put_due_us;
    due_us = due_us < self->retry_us ? self->retry_us : due_us;
    if (now_us >= due_us) {
        put(self, &self->version, now_us, actions);
    } else {
        actions_wake(actions, due_us);
    }
}

/* The last word is published: the register goes. */
void register_leave(struct processor *self, int64_t now_us, struct cluster_actions *actions)
{
    if (!self->farewell || self->leave != LEAVE_FOR_GOOD || self->delete_request != 0 || self->put_request != 0) {
        return;
    }
    if (now_us < self->delete_due_us) {
        actions_wake(actions, self->delete_due_us);
        return;
    }
    struct cluster_action *action = actions_add(actions, STEP_DELETE_MEMBER);
    if (action != NULL) {
        action->request = self->delete_request = processor_request(self);
        action->version = self->version;
    }
}
