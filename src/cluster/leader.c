#include "cluster/leader.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/leader_internal.h"

#define X(name, text) [LEADER_##name] = (text),
static const char *const states[] = {LEADER_STATE_LIST(X)};
#undef X

const char *leader_state_text(enum leader_state state)
{
    assert(state < LEADER_STATE_COUNT);
    return states[state];
}

enum leader_state leader_state(const struct leader *leader)
{
    return leader->state;
}

uint64_t leader_term(const struct leader *leader)
{
    return leader->term;
}

enum status leader_create(const struct leader_config *config, struct leader **leader, struct error *err)
{
    struct leader *self;
    TRY_ALLOC(self, calloc(1, sizeof *self), err);
    self->config = *config;
    self->timing = config->timing;
    self->requests = 1;
    random_open(&self->random, config->random_seed);
    self->arena = arena_create(config->budget, "leader's turn");
    if (self->arena == NULL) {
        leader_destroy(self);
        return error_set(err, ERROR_BUDGET_SPENT, "no room for a leader");
    }
    *leader = self;
    return STATUS_OK;
}

static void end_turn(struct leader *self)
{
    for (uint32_t i = 0; i < self->member_count; i++) {
        member_unref(self->members[i].member);
    }
    model_unref(self->base);
    model_unref(self->draft);
    self->base = NULL;
    self->draft = NULL;
    self->members = NULL;
    self->fences = NULL;
    self->control = NULL;
    self->records = 0;
    self->member_count = self->fence_count = 0;
    self->turn_request = 0;
    self->phase = TURN_NONE;
    arena_reset(self->arena);
}

void leader_destroy(struct leader *leader)
{
    if (leader == NULL) {
        return;
    }
    if (leader->arena != NULL) {
        end_turn(leader);
        arena_destroy(leader->arena);
    }
    for (uint32_t i = 0; i < leader->silence_count; i++) {
        member_unref(leader->silences[i].member);
    }
    free(leader->silences);
    free(leader->flappings);
    free(leader->reservations);
    free(leader->warmths);
    free(leader->fenced);
    free(leader);
}

static struct cluster_action *ask(struct leader *self, struct cluster_actions *actions, enum step step)
{
    struct cluster_action *action = actions_add(actions, step);
    if (action != NULL) {
        action->request = self->requests += 2;
    }
    return action;
}

static void begin_turn(struct leader *self, struct cluster_actions *actions)
{
    struct cluster_action *action = ask(self, actions, STEP_READ_MODEL);
    end_turn(self);
    self->again = false;
    self->phase = TURN_MODEL;
    self->turn_request = action == NULL ? 0 : action->request;
}

static void step_down(struct leader *self, const char *why, int64_t now_us, struct cluster_actions *actions)
{
    actions_report(actions, "coord.resigned term=%llu why=%s", (unsigned long long)self->term, why);
    end_turn(self);
    if (self->holding) {
        (void)actions_add(actions, STEP_LEASE_RELEASE);
    }
    self->holding = false;
    self->state = LEADER_FOLLOWER;
    self->lease_request = 0;
    self->lease_due_us = now_us + self->timing->lease_retry.us;
}

static void lease_done(struct leader *self, const struct cluster_event *event, int64_t now_us, struct cluster_actions *actions)
{
    if (event->request != self->lease_request) {
        if (event->step == STEP_LEASE_ACQUIRE && event->status == STATUS_OK && event->result == CLUSTER_OK && !self->holding) {
            (void)actions_add(actions, STEP_LEASE_RELEASE); /* granted after it was given up */
        }
        return;
    }
    self->lease_request = 0;
    bool good = event->status == STATUS_OK && event->result == CLUSTER_OK;
    if (good) {
        self->lease_confirmed_us = event->sent_us;
        self->lease_due_us = event->sent_us + self->timing->heartbeat.us;
    } else {
        self->lease_due_us = now_us + (self->holding ? self->timing->heartbeat.us / 2 : self->timing->lease_retry.us);
    }
    if (event->step == STEP_LEASE_RENEW) {
        if (event->status == STATUS_OK && event->result == CLUSTER_CONFLICT) {
            self->holding = false;
            step_down(self, "the lease is another's", now_us, actions);
        }
    } else if (good) {
        self->holding = true;
        self->state = LEADER_SEALING;
        begin_turn(self, actions);
    }
}

/* SEALING, the model read: the floor first, then the model. */
static void seal_raise(struct leader *self, struct cluster_actions *actions)
{
    uint64_t above = self->base->term > self->term_floor ? self->base->term : self->term_floor;
    struct cluster_action *action = ask(self, actions, STEP_RAISE_RECORD);
    self->term = above + 1;
    self->phase = TURN_RECORD;
    if (action != NULL) {
        self->turn_request = action->request;
        action->term_floor = self->term;
    }
}

static void write_draft(struct leader *self, struct cluster_actions *actions)
{
    struct cluster_action *action = ask(self, actions, STEP_PUT_MODEL);
    self->draft->rev = self->base->rev + 1;
    self->draft->nonce = self->nonce = random_next(&self->random);
    self->phase = TURN_WRITE;
    if (action != NULL) {
        self->turn_request = action->request;
        action->model = model_ref(self->draft);
        action->version = self->base_version;
    }
}

static void seal_write(struct leader *self, int64_t now_us, struct cluster_actions *actions)
{
    struct error ignored;
    self->draft = model_copy(self->base, self->config.budget, &ignored);
    if (self->draft == NULL || !life_keep(self->life, self->draft->arena, &self->draft->leader)) {
        step_down(self, "no room for a model", now_us, actions);
        return;
    }
    self->draft->term = self->term;
    write_draft(self, actions);
}

static void lead(struct leader *self, struct cluster_actions *actions)
{
    actions_report(actions, "coord.leading term=%llu", (unsigned long long)self->term);
    self->state = LEADER_LEADING;
    self->version_seen = self->pending_hash = 0;
    self->pending_since_us = 0;
    self->fenced_count = 0;
    begin_turn(self, actions);
}

/* The turn is over; the next begins at the next poll, or now if there is reason to. */
static void rest(struct leader *self, bool now, int64_t now_us, struct cluster_actions *actions)
{
    bool again = now || self->again;
    end_turn(self);
    self->turn_due_us = now_us + self->timing->poll.us;
    if (again) {
        begin_turn(self, actions);
    }
}

static void model_came(struct leader *self, const struct cluster_event *event, int64_t now_us, struct cluster_actions *actions)
{
    if (event->status != STATUS_OK) {
        rest(self, false, now_us, actions);
        return;
    }
    if (event->result == CLUSTER_ABSENT) {
        step_down(self, "there is no model", now_us, actions);
        return;
    }
    if (event->model->rev < self->rev_seen) { /* R4: a server that lags, or a coordinator that was set back */
        actions_report(actions, "coord.old-model rev=%llu seen=%llu", (unsigned long long)event->model->rev,
                       (unsigned long long)self->rev_seen);
        rest(self, false, now_us, actions);
        return;
    }
    self->rev_seen = event->model->rev;
    self->base = model_ref(event->model);
    self->base_version = event->version;
    self->base_sent_us = event->sent_us;
    bool mine = self->term > 0 && event->model->term == self->term && life_equal(event->model->leader, self->life);
    if (self->state == LEADER_SEALING && !(mine && event->model->nonce == self->nonce)) {
        seal_raise(self, actions);
    } else if (self->state == LEADER_SEALING) {
        lead(self, actions);
    } else if (!mine) {
        step_down(self, "another leader has sealed the model", now_us, actions);
    } else {
        struct cluster_action *action = ask(self, actions, STEP_READ_MEMBERS);
        self->phase = TURN_MEMBERS;
        self->turn_request = action == NULL ? 0 : action->request;
    }
}

static bool is_fenced(const struct leader *self, const struct model_seat *seat)
{
    for (uint32_t i = 0; i < self->fenced_count; i++) {
        if (self->fenced[i].seat == seat->seat && self->fenced[i].incarnation == seat->life.incarnation) {
            return true;
        }
    }
    return false;
}

/* Only for evictions that are in the register. One that was fenced before is not fenced again by the same leader. */
static void fence(struct leader *self, struct cluster_actions *actions)
{
    self->fences = arena_alloc(self->arena, self->base->dirty_count * sizeof *self->fences + 1);
    actions->failed |= self->fences == NULL;
    self->phase = TURN_FENCE;
    for (uint32_t i = 0; self->fences != NULL && i < self->base->dirty_count; i++) {
        struct fence *fence = &self->fences[self->fence_count++];
        fence->seat = self->base->dirty[i];
        if (is_fenced(self, &fence->seat)) {
            fence->done = fence->good = true;
            continue;
        }
        struct cluster_action *action = ask(self, actions, STEP_FENCE_SEAT);
        if (action != NULL) {
            fence->request = action->request;
            action->seat = fence->seat.seat;
            action->life = fence->seat.life;
            action->model = model_ref(self->base);
        }
    }
}

static void decide(struct leader *self, int64_t now_us, struct cluster_actions *actions)
{
    self->wanted_seat_high = self->seat_high;
    leader_turn(self, now_us, actions);
    if (self->draft == NULL) {
        rest(self, false, now_us, actions);
    } else if (self->wanted_seat_high > self->seat_high) {
        struct cluster_action *action = ask(self, actions, STEP_RAISE_RECORD);
        self->phase = TURN_RECORD;
        if (action != NULL) {
            self->turn_request = action->request;
            action->term_floor = self->term;
            action->seat_high = self->wanted_seat_high;
        }
    } else {
        write_draft(self, actions);
    }
}

/* ---- the control log ---- */

struct control_view leader_control_view(const struct leader *self)
{
    return (struct control_view){.fold = self->control,
                                 .model = self->base,
                                 .members = self->members,
                                 .member_count = self->member_count,
                                 .term = self->term,
                                 .leader = self->life,
                                 .wall_ms = self->wall_ms,
                                 .arena = self->arena};
}

static void read_control(struct leader *self, int64_t now_us, struct cluster_actions *actions)
{
    if (self->config.control == NULL || self->config.control->next == NULL) {
        decide(self, now_us, actions);
        return;
    }
    struct cluster_action *action = ask(self, actions, STEP_READ_CONTROL);
    self->phase = TURN_CONTROL;
    self->turn_request = action == NULL ? 0 : action->request;
}

/* false: there is nothing to append now. */
static bool append_control(struct leader *self, struct cluster_actions *actions)
{
    const struct leader_control *control = self->config.control;
    struct control_view view = leader_control_view(self);
    struct error err;
    const char *record = NULL;
    if (self->records == CONTROL_RECORDS_MAX) {
        self->again = true;
        return false;
    }
    if (control->next(control->context, &view, &record, &err) != STATUS_OK) {
        actions_report(actions, "coord.control-failed %.300s", err.text);
        return false;
    }
    struct cluster_action *action = record == NULL ? NULL : ask(self, actions, STEP_APPEND_CONTROL);
    if (action != NULL) {
        self->records++;
        self->turn_request = action->request;
        action->text = arena_text(actions->arena, record, strlen(record));
        actions->failed |= action->text == NULL;
    }
    return action != NULL;
}

/* The log has been read, or a record appended: the next one, or the decision. */
static void control_came(struct leader *self, const struct cluster_event *event, int64_t now_us, struct cluster_actions *actions)
{
    bool good = event->status == STATUS_OK && event->control != NULL;
    self->control = good ? event->control : NULL;
    self->wall_ms = event->wall_ms;
    if (!good || !append_control(self, actions)) {
        decide(self, now_us, actions);
    }
}

static void decide_when_fenced(struct leader *self, int64_t now_us, struct cluster_actions *actions)
{
    for (uint32_t i = 0; i < self->fence_count; i++) {
        if (!self->fences[i].done) {
            return;
        }
    }
    read_control(self, now_us, actions);
}

static void members_came(struct leader *self, const struct cluster_event *event, int64_t now_us, struct cluster_actions *actions)
{
    if (event->status != STATUS_OK) {
        rest(self, false, now_us, actions);
        return;
    }
    self->members = arena_copy(self->arena, event->members, event->member_count * sizeof *event->members);
    if (self->members == NULL) {
        actions->failed = true;
        return;
    }
    self->member_count = event->member_count;
    self->members_sent_us = event->sent_us;
    for (uint32_t i = 0; i < event->member_count; i++) {
        self->members[i].id = arena_text(self->arena, event->members[i].id, strlen(event->members[i].id));
        self->members[i].member = event->members[i].member == NULL ? NULL : member_ref(event->members[i].member);
    }
    members_note(self, event, now_us);
    fence(self, actions);
    decide_when_fenced(self, now_us, actions);
}

static void fence_done(struct leader *self, const struct cluster_event *event, int64_t now_us, struct cluster_actions *actions)
{
    for (uint32_t i = 0; i < self->fence_count; i++) {
        struct fence *fence = &self->fences[i];
        if (fence->request != event->request || fence->done) {
            continue;
        }
        fence->done = true;
        fence->good = event->status == STATUS_OK && event->result == CLUSTER_OK;
        if (fence->good && growing_array_reserve(&self->fenced, &self->fenced_capacity, self->fenced_count + 1, sizeof *self->fenced)) {
            self->fenced[self->fenced_count++] = (struct fenced_life){fence->seat.seat, fence->seat.life.incarnation, 0};
        }
        decide_when_fenced(self, now_us, actions);
        return;
    }
}

static void record_raised(struct leader *self, const struct cluster_event *event, int64_t now_us, struct cluster_actions *actions)
{
    if (event->status != STATUS_OK || event->result != CLUSTER_OK) {
        rest(self, false, now_us, actions);
        return;
    }
    self->term_floor = event->term_floor;
    self->seat_high = event->seat_high;
    if (self->term_floor > self->term && self->state == LEADER_SEALING) {
        seal_raise(self, actions);
    } else if (self->term_floor > self->term) {
        step_down(self, "the job record has a higher term", now_us, actions);
    } else if (self->state == LEADER_SEALING) {
        seal_write(self, now_us, actions);
    } else {
        write_draft(self, actions);
    }
}

static void model_put(struct leader *self, const struct cluster_event *event, int64_t now_us, struct cluster_actions *actions)
{
    bool good = event->status == STATUS_OK && event->result == CLUSTER_OK;
    if (good) {
        self->rev_seen = self->draft->rev;
    }
    if (good && self->state == LEADER_SEALING) {
        lead(self, actions);
        return;
    }
    bool fences_left = false;
    for (uint32_t i = 0; good && i < self->draft->dirty_count; i++) {
        fences_left |= !is_fenced(self, &self->draft->dirty[i]);
    }
    rest(self, event->status == STATUS_OK && (!good || fences_left), now_us, actions);
}

static void outcome(struct leader *self, const struct cluster_event *event, int64_t now_us, struct cluster_actions *actions)
{
    static void (*const handlers[STEP_COUNT])(struct leader *, const struct cluster_event *, int64_t, struct cluster_actions *) = {
        [STEP_READ_MODEL] = model_came,     [STEP_READ_MEMBERS] = members_came,   [STEP_RAISE_RECORD] = record_raised,
        [STEP_READ_CONTROL] = control_came, [STEP_APPEND_CONTROL] = control_came, [STEP_PUT_MODEL] = model_put};
    if (event->step == STEP_LEASE_ACQUIRE || event->step == STEP_LEASE_RENEW) {
        lease_done(self, event, now_us, actions);
    } else if (event->step == STEP_FENCE_SEAT && self->phase == TURN_FENCE) {
        fence_done(self, event, now_us, actions);
    } else if (handlers[event->step] != NULL && event->request == self->turn_request && self->turn_request != 0) {
        self->turn_request = 0;
        handlers[event->step](self, event, now_us, actions);
    }
}

static void follow(struct leader *self, const struct processor *processor, int64_t now_us, struct cluster_actions *actions)
{
    if (self->lease_request != 0 || self->stopped || !processor_may_lead(processor)) {
        return;
    }
    if (now_us < self->lease_due_us) {
        actions_wake(actions, self->lease_due_us);
        return;
    }
    struct cluster_action *action = ask(self, actions, STEP_LEASE_ACQUIRE);
    self->life = processor_life(processor);
    if (action != NULL) {
        self->lease_request = action->request;
        action->life = self->life;
    }
}

static void renew(struct leader *self, int64_t now_us, struct cluster_actions *actions)
{
    if (self->lease_request == 0 && now_us >= self->lease_due_us) {
        struct cluster_action *action = ask(self, actions, STEP_LEASE_RENEW);
        self->lease_request = action == NULL ? 0 : action->request;
        self->lease_due_us = now_us + self->timing->heartbeat.us;
    }
    actions_wake(actions, self->lease_request == 0 ? self->lease_due_us : INT64_MAX);
    if (self->phase == TURN_NONE && now_us >= self->turn_due_us) {
        begin_turn(self, actions);
    }
    actions_wake(actions, self->phase == TURN_NONE ? self->turn_due_us : INT64_MAX);
}

static bool may_go_on(struct leader *self, const struct processor *processor, int64_t now_us, struct cluster_actions *actions)
{
    int64_t until = self->lease_confirmed_us + self->timing->lease_ttl.us - self->timing->lease_margin.us;
    if (self->state == LEADER_FOLLOWER) {
        return true;
    }
    if (self->stopped || !processor_may_lead(processor) || !life_equal(self->life, processor_life(processor))) {
        step_down(self, "its process is fenced or leaves", now_us, actions);
        return false;
    }
    if (now_us >= until) {
        step_down(self, "the lease was not confirmed in time", now_us, actions);
        return false;
    }
    actions_wake(actions, until);
    return true;
}

void leader_decide(struct leader *leader, const struct processor *processor, const struct cluster_event *event, int64_t now_us,
                   struct cluster_actions *actions)
{
    struct leader *self = leader;
    self->stopped |= event->kind == EVENT_LEAVE || event->kind == EVENT_RESTART;
    bool going = may_go_on(self, processor, now_us, actions);
    if (going && event->kind == EVENT_OUTCOME) {
        outcome(self, event, now_us, actions);
    } else if (event->kind == EVENT_HINT) {
        self->turn_due_us = now_us;
        self->again = true;
    }
    if (self->state == LEADER_FOLLOWER) {
        follow(self, processor, now_us, actions);
    } else {
        renew(self, now_us, actions);
    }
}
