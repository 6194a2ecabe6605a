#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "cluster/leader_internal.h"

enum { FLAPPING_FREE = 2 /* returns that cost nothing */, FLAPPING_MAX_S = 600, FLAPPING_FORGOTTEN_S = 600 };

static struct silence *find_silence(const struct leader *self, const char *id)
{
    for (uint32_t i = 0; i < self->silence_count; i++) {
        if (strcmp(self->silences[i].id, id) == 0) {
            return &self->silences[i];
        }
    }
    return NULL;
}

const struct cluster_member_view *members_view(const struct leader *self, const char *id)
{
    for (uint32_t low = 0, high = self->member_count; low < high;) {
        uint32_t middle = (low + high) / 2;
        int order = strcmp(self->members[middle].id, id);
        if (order == 0) {
            return &self->members[middle];
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}

static void note_one(struct leader *self, const struct cluster_member_view *view, const struct cluster_event *event, int64_t now_us)
{
    struct silence *silence = find_silence(self, view->id);
    if (silence == NULL) {
        if (!growing_array_reserve(&self->silences, &self->silence_capacity, self->silence_count + 1, sizeof *self->silences)) {
            return; /* not counted: nobody is evicted for it */
        }
        silence = &self->silences[self->silence_count++];
        memset(silence, 0, sizeof *silence);
        snprintf(silence->id, sizeof silence->id, "%s", view->id);
    }
    bool same = silence->member != NULL && strcmp(silence->version.token, view->version.token) == 0;
    bool broken = event->sent_us - silence->sent_us > self->timing->lease_ttl.us / 3;
    if (!same || broken) {
        silence->since_us = now_us;
    }
    if (!same) {
        member_unref(silence->member);
        silence->member = member_ref(view->member);
        silence->version = view->version;
        silence->incarnation = view->member->life.incarnation;
    }
    silence->sent_us = event->sent_us;
}

/* The count of a register's silence begins when its last change had been read, and goes on only while reading does. */
void members_note(struct leader *self, const struct cluster_event *event, int64_t now_us)
{
    for (uint32_t i = 0; i < event->member_count; i++) {
        if (event->members[i].status == STATUS_OK) {
            note_one(self, &event->members[i], event, now_us);
        }
    }
    for (uint32_t i = 0; i < self->silence_count;) { /* registers that are gone */
        if (members_view(self, self->silences[i].id) == NULL) {
            member_unref(self->silences[i].member);
            self->silences[i] = self->silences[--self->silence_count];
        } else {
            i++;
        }
    }
}

static bool is_silent(const struct leader *self, const char *id)
{
    const struct silence *silence = find_silence(self, id);
    return silence != NULL && silence->sent_us == self->members_sent_us &&
           silence->sent_us - silence->since_us >= self->timing->lease_ttl.us;
}

enum verdict members_judge(const struct leader *self, struct life life, const char **why)
{
    const struct cluster_member_view *view = members_view(self, life.id);
    if (view == NULL) {
        *why = "its register is gone";
        return VERDICT_DEAD;
    }
    if (view->status != STATUS_OK) {
        return VERDICT_ALIVE; /* nothing is known: an error is never taken for absence */
    }
    if (view->member->life.incarnation != life.incarnation) {
        *why = "it came back as another life";
        return VERDICT_DEAD;
    }
    if (view->member->state != MEMBER_ACTIVE && view->member->held_count == 0) {
        *why = view->member->state == MEMBER_RESTARTING ? "it restarts" : "it left";
        return VERDICT_LEFT;
    }
    if (view->gone) {
        *why = "its process ended";
        return VERDICT_DEAD;
    }
    *why = "silent";
    return is_silent(self, life.id) ? VERDICT_DEAD : VERDICT_ALIVE;
}

const struct member *members_last(const struct leader *self, struct life life)
{
    const struct silence *silence = find_silence(self, life.id);
    return silence != NULL && silence->incarnation == life.incarnation ? silence->member : NULL;
}

bool members_released(const struct leader *self, const struct model_task *task)
{
    if (task->from.id == NULL) {
        return true;
    }
    const struct cluster_member_view *view = task->evicted ? NULL : members_view(self, task->from.id);
    return view != NULL && view->status == STATUS_OK && view->member->life.incarnation == task->from.incarnation &&
           view->member->seen_version >= task->epoch && !member_holds(view->member, task->task);
}

static struct fenced_life *find_fenced(struct leader *self, struct life life)
{
    for (uint32_t i = 0; i < self->fenced_count; i++) {
        if (self->fenced[i].incarnation == life.incarnation) {
            return &self->fenced[i];
        }
    }
    return NULL;
}

/* The eviction was in the model before the members were read. A register that is silent at such a read stays so until its life has read the
 * model again: only that ends its suspension. Of a life that ended, writes may still be on their way, for stop.bound. */
bool members_stopped(struct leader *self, struct life life, int64_t now_us)
{
    const struct cluster_member_view *view = members_view(self, life.id);
    struct fenced_life *fenced = find_fenced(self, life);
    bool ended = view == NULL || (view->status == STATUS_OK && (view->gone || view->member->life.incarnation != life.incarnation));
    if (!ended || fenced == NULL) {
        return view != NULL && view->status == STATUS_OK && is_silent(self, life.id);
    }
    fenced->ended_us = fenced->ended_us == 0 ? now_us : fenced->ended_us;
    return now_us - fenced->ended_us > self->timing->stop_bound.us + self->timing->stop_bound.us / 32;
}

static struct flapping *find_flapping(const struct leader *self, const char *id)
{
    for (uint32_t i = 0; i < self->flapping_count; i++) {
        if (strcmp(self->flappings[i].id, id) == 0) {
            return &self->flappings[i];
        }
    }
    return NULL;
}

void members_note_eviction(struct leader *self, struct life life, int64_t now_us)
{
    struct flapping *flapping = find_flapping(self, life.id);
    if (flapping == NULL) {
        if (!growing_array_reserve(&self->flappings, &self->flapping_capacity, self->flapping_count + 1, sizeof *self->flappings)) {
            return;
        }
        flapping = &self->flappings[self->flapping_count++];
        memset(flapping, 0, sizeof *flapping);
        snprintf(flapping->id, sizeof flapping->id, "%s", life.id);
    }
    if (flapping->incarnation == life.incarnation) {
        return;
    }
    flapping->incarnation = life.incarnation;
    bool forgotten = now_us - flapping->last_us > (int64_t)FLAPPING_FORGOTTEN_S * 1000000 && flapping->last_us != 0;
    flapping->count = forgotten ? 1 : flapping->count + 1;
    flapping->last_us = now_us;
}

/* From now until it may be admitted: doubled by each eviction. */
int64_t members_flapping_delay_us(const struct leader *self, const char *id, int64_t now_us)
{
    const struct flapping *flapping = find_flapping(self, id);
    if (flapping == NULL || flapping->count <= FLAPPING_FREE) {
        return 0;
    }
    int64_t delay_us = self->timing->debounce.us, max_us = (int64_t)FLAPPING_MAX_S * 1000000;
    for (uint32_t i = FLAPPING_FREE; i < flapping->count && delay_us < max_us; i++) {
        delay_us *= 2;
    }
    delay_us = delay_us > max_us ? max_us : delay_us;
    return flapping->last_us + delay_us > now_us ? flapping->last_us + delay_us - now_us : 0;
}

int64_t leader_flapping_delay_us(const struct leader *leader)
{
    int64_t longest = 0;
    for (uint32_t i = 0; i < leader->flapping_count; i++) {
        int64_t delay = members_flapping_delay_us(leader, leader->flappings[i].id, leader->flappings[i].last_us);
        longest = delay > longest ? delay : longest;
    }
    return longest;
}

static bool fits(const struct leader *self, const struct member *member)
{
    for (uint32_t i = 0; i < self->config.verb_count; i++) {
        if (!member_knows(member, self->config.verbs[i])) {
            return false;
        }
    }
    return true;
}

static bool is_newcomer(const struct turn *turn, const struct cluster_member_view *view)
{
    const struct leader *self = turn->leader;
    return view->status == STATUS_OK && view->member->state == MEMBER_ACTIVE && !view->gone && !is_silent(self, view->id) &&
           fits(self, view->member) && model_find_member(turn->draft, view->id) == NULL && !model_evicts(turn->draft, view->member->life) &&
           !model_lists(self->base, view->member->life) && members_flapping_delay_us(self, view->id, turn->now_us) == 0;
}

static uint32_t free_seat(const struct model *model)
{
    for (uint32_t seat = 0;; seat++) {
        bool taken = false;
        for (uint32_t i = 0; i < model->member_count; i++) {
            taken |= model->members[i].seat == seat;
        }
        for (uint32_t i = 0; i < model->dirty_count; i++) {
            taken |= model->dirty[i].seat == seat;
        }
        if (!taken) {
            return seat;
        }
    }
}

static void admit(struct turn *turn, const struct cluster_member_view *view)
{
    struct model *draft = turn->draft;
    struct model_member *members = arena_alloc(draft->arena, (draft->member_count + 1) * sizeof *members);
    struct life life;
    if (members == NULL || !life_keep(view->member->life, draft->arena, &life)) {
        turn->failed = true;
        return;
    }
    uint32_t place = 0;
    while (place < draft->member_count && strcmp(draft->members[place].life.id, life.id) < 0) {
        place++;
    }
    uint32_t seat = free_seat(draft);
    memcpy(members, draft->members, place * sizeof *members);
    memcpy(members + place + 1, draft->members + place, (draft->member_count - place) * sizeof *members);
    members[place] = (struct model_member){life, seat};
    draft->members = members;
    draft->member_count++;
    for (uint32_t i = 0; i < draft->task_count; i++) {
        draft->tasks[i].owner += draft->tasks[i].owner != MODEL_NONE && draft->tasks[i].owner >= place;
    }
    if (seat > turn->leader->wanted_seat_high) {
        turn->leader->wanted_seat_high = seat;
    }
    turn_bump(turn, "%s joined", life.id);
}

/* One that was here a moment ago needs no debounce: nothing would be gained by waiting for others. */
static bool is_back(const struct turn *turn, const struct cluster_member_view *view)
{
    return model_find_member(turn->leader->base, view->id) != NULL || leader_has_reserved(turn->leader, view->id);
}

void turn_admit(struct turn *turn)
{
    struct leader *self = turn->leader;
    uint64_t hash = 0;
    for (uint32_t i = 0; i < self->member_count; i++) {
        if (is_newcomer(turn, &self->members[i])) {
            hash += hash_uint64(self->members[i].member->life.incarnation);
        }
    }
    if (hash == 0) {
        self->pending_hash = 0;
        self->pending_since_us = 0;
        return;
    }
    if (hash != self->pending_hash) {
        self->pending_hash = hash;
        self->pending_changed_us = turn->now_us;
        self->pending_since_us = self->pending_since_us == 0 ? turn->now_us : self->pending_since_us;
    }
    bool due = turn->now_us - self->pending_changed_us >= self->timing->debounce.us ||
               turn->now_us - self->pending_since_us >= self->timing->debounce_max.us;
    for (uint32_t i = 0; i < self->member_count; i++) {
        const struct cluster_member_view *view = &self->members[i];
        if (is_newcomer(turn, view) && (due || is_back(turn, view))) {
            admit(turn, view);
            leader_end_reservations(self, view->id, turn->now_us);
        }
    }
}
