#include <stdio.h>
#include <string.h>

#include "cluster/assignment.h"
#include "cluster/leader_internal.h"

void leader_reserve(struct turn *turn, const char *id, uint64_t task)
{
    struct leader *self = turn->leader;
    for (uint32_t i = 0; i < self->reservation_count; i++) {
        if (self->reservations[i].task == task) {
            return; /* a write that failed is made again */
        }
    }
    if (growing_array_reserve(&self->reservations, &self->reservation_capacity, self->reservation_count + 1, sizeof *self->reservations)) {
        struct reservation *reservation = &self->reservations[self->reservation_count++];
        reservation->task = task;
        reservation->until_us = turn->now_us + self->timing->rejoin_grace.us;
        snprintf(reservation->id, sizeof reservation->id, "%s", id);
    }
}

bool leader_has_reserved(const struct leader *self, const char *id)
{
    for (uint32_t i = 0; i < self->reservation_count; i++) {
        if (strcmp(self->reservations[i].id, id) == 0) {
            return true;
        }
    }
    return false;
}

void leader_end_reservations(struct leader *self, const char *id, int64_t now_us)
{
    for (uint32_t i = 0; i < self->reservation_count;) {
        if (self->reservations[i].until_us <= now_us || (id != NULL && strcmp(self->reservations[i].id, id) == 0)) {
            self->reservations[i] = self->reservations[--self->reservation_count];
        } else {
            i++;
        }
    }
}

/* The input of assignment_plan: the draft's members, and those of its tasks that may have an owner now. */
struct planning {
    struct turn *turn;
    struct assignment_member *members;
    struct assignment_task *tasks;
    struct assignment_copy *copies, *standbys;
    uint32_t *places; /* index in the draft, by task of the input */
    uint32_t task_count, copy_count, standby_count;
};

static bool is_drained(const struct turn *turn, const char *id)
{
    for (uint32_t i = 0; i < turn->effect.drained_count; i++) {
        if (strcmp(turn->effect.drained[i], id) == 0) {
            return true;
        }
    }
    return false;
}

/* false: a member's capacity is not known, since its register could not be read yet. */
static bool take_members(struct planning *planning)
{
    const struct model *draft = planning->turn->draft;
    for (uint32_t i = 0; i < draft->member_count; i++) {
        const struct member *member = members_last(planning->turn->leader, draft->members[i].life);
        if (member == NULL) {
            return false;
        }
        planning->members[i] =
            (struct assignment_member){member->host.host, member->host.rack, member->host.weight, member->host.task_max,
                                       member->state != MEMBER_ACTIVE || is_drained(planning->turn, draft->members[i].life.id)};
    }
    return true;
}

static uint32_t index_of(const struct model *model, const char *id)
{
    const struct model_member *member = model_find_member(model, id);
    return member == NULL ? ASSIGNMENT_NONE : (uint32_t)(member - model->members);
}

static bool has_caught_up(const struct turn *turn, const struct life life, uint64_t task)
{
    const struct member *member = members_last(turn->leader, life);
    for (uint32_t i = 0; member != NULL && i < member->standby_count; i++) {
        if (member->standby[i].task == task) {
            return member->standby[i].lag_bytes <= turn->leader->timing->standby_max_lag.bytes;
        }
    }
    return false;
}

/* Kept for a member that restarts, unless somebody could go on with it at once. */
static bool is_reserved(const struct turn *turn, const struct model_task *task)
{
    const struct leader *self = turn->leader;
    for (uint32_t i = 0; i < self->reservation_count; i++) {
        if (self->reservations[i].task == task->task) {
            for (uint32_t k = 0; k < turn->draft->member_count; k++) {
                if (has_caught_up(turn, turn->draft->members[k].life, task->task)) {
                    return false;
                }
            }
            return true;
        }
    }
    return false;
}

static struct warmth *find_warmth(struct leader *self, uint64_t task, const char *id)
{
    for (uint32_t i = 0; i < self->warmth_count; i++) {
        if (self->warmths[i].task == task && strcmp(self->warmths[i].id, id) == 0) {
            return &self->warmths[i];
        }
    }
    return NULL;
}

static const char *warming_id(const struct model *model, uint64_t task)
{
    for (uint32_t i = 0; i < model->warming_count; i++) {
        if (model->warming[i].task == task) {
            return model->warming[i].id;
        }
    }
    return NULL;
}

static bool is_warm(struct turn *turn, uint64_t task, const char *id)
{
    struct leader *self = turn->leader;
    struct warmth *warmth = find_warmth(self, task, id);
    if (warmth == NULL && growing_array_reserve(&self->warmths, &self->warmth_capacity, self->warmth_count + 1, sizeof *self->warmths)) {
        warmth = &self->warmths[self->warmth_count++];
        *warmth = (struct warmth){.task = task, .since_us = turn->now_us};
        snprintf(warmth->id, sizeof warmth->id, "%s", id);
    }
    return warmth != NULL && turn->now_us - warmth->since_us >= self->timing->warmup_timeout.us;
}

static void take_tasks(struct planning *planning)
{
    struct turn *turn = planning->turn;
    const struct model *draft = turn->draft;
    for (uint32_t i = 0; i < draft->task_count; i++) {
        const struct model_task *task = &draft->tasks[i];
        if (task->retired || (task->owner == MODEL_NONE && is_reserved(turn, task))) {
            continue;
        }
        const char *warming = draft->warming_count == 0 ? NULL : warming_id(draft, task->task);
        struct assignment_task *input = &planning->tasks[planning->task_count];
        *input = (struct assignment_task){.owner = task->owner, .pinned = ASSIGNMENT_NONE, .warming = ASSIGNMENT_NONE};
        input->pinned = turn->effect.hold && task->owner != MODEL_NONE ? task->owner : ASSIGNMENT_NONE;
        for (uint32_t k = 0; k < turn->effect.pin_count; k++) {
            if (turn->effect.pins[k].task == task->task) {
                input->pinned = index_of(draft, turn->effect.pins[k].id);
            }
        }
        if (warming != NULL) {
            input->warming = index_of(draft, warming);
            input->warmed = is_warm(turn, task->task, warming);
        }
        planning->places[planning->task_count++] = i;
    }
}

static uint32_t place_of(const struct planning *planning, uint64_t task)
{
    const struct model *draft = planning->turn->draft;
    const struct model_task *found = model_find_task(draft, task);
    for (uint32_t low = 0, high = planning->task_count; found != NULL && low < high;) {
        uint32_t middle = (low + high) / 2, place = (uint32_t)(found - draft->tasks);
        if (planning->places[middle] == place) {
            return middle;
        }
        if (planning->places[middle] < place) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return ASSIGNMENT_NONE;
}

static void take_copies(struct planning *planning, const struct member *member, uint32_t index)
{
    uint64_t max_lag = planning->turn->leader->timing->standby_max_lag.bytes;
    for (uint32_t i = 0; i < member->standby_count + member->local_count; i++) {
        bool standby = i < member->standby_count;
        const struct member_local *local = standby ? &member->standby[i] : &member->local[i - member->standby_count];
        uint32_t task = place_of(planning, local->task);
        if (task != ASSIGNMENT_NONE) {
            planning->copies[planning->copy_count++] =
                (struct assignment_copy){task, index, standby && local->lag_bytes <= max_lag ? ASSIGNMENT_STANDBY : ASSIGNMENT_LOCAL};
        }
    }
}

static bool take_all(struct planning *planning)
{
    struct turn *turn = planning->turn;
    const struct model *draft = turn->draft;
    struct arena *arena = turn->leader->arena;
    uint32_t copies = 0;
    planning->members = arena_alloc(arena, draft->member_count * sizeof *planning->members + 1);
    planning->tasks = arena_alloc(arena, draft->task_count * sizeof *planning->tasks + 1);
    planning->places = arena_alloc(arena, draft->task_count * sizeof *planning->places + 1);
    planning->standbys = arena_alloc(arena, draft->standby_count * sizeof *planning->standbys + 1);
    if (planning->members == NULL || planning->tasks == NULL || planning->places == NULL || planning->standbys == NULL) {
        turn->failed = true;
        return false;
    }
    if (!take_members(planning)) {
        return false;
    }
    take_tasks(planning);
    for (uint32_t i = 0; i < draft->member_count; i++) {
        const struct member *member = members_last(turn->leader, draft->members[i].life);
        copies += member->standby_count + member->local_count;
    }
    planning->copies = arena_alloc(arena, copies * sizeof *planning->copies + 1);
    turn->failed |= planning->copies == NULL;
    for (uint32_t i = 0; planning->copies != NULL && i < draft->member_count; i++) {
        take_copies(planning, members_last(turn->leader, draft->members[i].life), i);
    }
    for (uint32_t i = 0; i < draft->standby_count; i++) {
        uint32_t task = place_of(planning, draft->standby[i].task), member = index_of(draft, draft->standby[i].id);
        if (task != ASSIGNMENT_NONE && member != ASSIGNMENT_NONE) {
            planning->standbys[planning->standby_count++] = (struct assignment_copy){task, member, ASSIGNMENT_STANDBY};
        }
    }
    return !turn->failed;
}

static bool same_copyists(const struct model_copyist *left, uint32_t left_count, const struct model_copyist *right, uint32_t right_count)
{
    if (left_count != right_count) {
        return false;
    }
    for (uint32_t i = 0; i < left_count; i++) {
        if (left[i].task != right[i].task || strcmp(left[i].id, right[i].id) != 0) {
            return false;
        }
    }
    return true;
}

static void set_copyists(struct turn *turn, struct model_copyist **list, uint32_t *count, struct model_copyist *next, uint32_t next_count)
{
    if (!same_copyists(*list, *count, next, next_count)) {
        *list = next;
        *count = next_count;
        turn->changed = true;
    }
}

static void apply_copies(const struct planning *planning, const struct assignment *assignment)
{
    struct turn *turn = planning->turn;
    struct model *draft = turn->draft;
    struct model_copyist *standby = arena_alloc(draft->arena, assignment->standby_count * sizeof *standby + 1);
    struct model_copyist *warming = arena_alloc(draft->arena, planning->task_count * sizeof *warming + 1);
    uint32_t warming_count = 0;
    if (standby == NULL || warming == NULL) {
        turn->failed = true;
        return;
    }
    for (uint32_t i = 0; i < assignment->standby_count; i++) {
        const struct assignment_copy *copy = &assignment->standbys[i];
        standby[i] = (struct model_copyist){draft->tasks[planning->places[copy->task]].task, draft->members[copy->member].life.id};
    }
    for (uint32_t i = 0; i < planning->task_count; i++) {
        if (assignment->warming[i] != ASSIGNMENT_NONE) {
            const char *id = draft->members[assignment->warming[i]].life.id;
            warming[warming_count++] = (struct model_copyist){draft->tasks[planning->places[i]].task, id};
        }
    }
    set_copyists(turn, &draft->standby, &draft->standby_count, standby, assignment->standby_count);
    set_copyists(turn, &draft->warming, &draft->warming_count, warming, warming_count);
}

/* Times of warming that is over. */
static void forget_warmth(struct turn *turn)
{
    struct leader *self = turn->leader;
    for (uint32_t i = 0; i < self->warmth_count;) {
        const char *id = warming_id(turn->draft, self->warmths[i].task);
        if (id == NULL || strcmp(id, self->warmths[i].id) != 0) {
            self->warmths[i] = self->warmths[--self->warmth_count];
        } else {
            i++;
        }
    }
}

void turn_assign(struct turn *turn)
{
    struct leader *self = turn->leader;
    struct planning planning = {.turn = turn};
    struct assignment assignment;
    struct error ignored;
    leader_end_reservations(self, NULL, turn->now_us);
    if (turn->draft->member_count == 0 || turn->failed || !take_all(&planning)) {
        return;
    }
    struct assignment_input input = {.members = planning.members,
                                     .tasks = planning.tasks,
                                     .copies = planning.copies,
                                     .standbys = planning.standbys,
                                     .member_count = turn->draft->member_count,
                                     .task_count = planning.task_count,
                                     .copy_count = planning.copy_count,
                                     .standby_count = planning.standby_count,
                                     .stateful = turn->draft->stateful,
                                     .warmup_max = (uint32_t)self->timing->warmup_max,
                                     .standbys_wanted = self->config.standbys};
    if (assignment_plan(&input, self->arena, &assignment, &ignored) != STATUS_OK) {
        turn->failed = true;
        return;
    }
    for (uint32_t i = 0; i < planning.task_count; i++) {
        struct model_task *task = &turn->draft->tasks[planning.places[i]];
        if (assignment.owner[i] != ASSIGNMENT_NONE && assignment.owner[i] != task->owner) {
            turn_move(turn, task, assignment.owner[i]);
        }
    }
    apply_copies(&planning, &assignment);
    forget_warmth(turn);
}
