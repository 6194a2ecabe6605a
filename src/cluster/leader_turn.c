/* The decision of a turn, in this order: members that are gone are evicted; fences that are done are noted; what the control log wants; an
 * overdue barrier evicts who holds it up; newcomers are admitted; tasks without an owner, or unevenly spread, move; what is released opens.
 *
 * R2. A task changes hands only as closed, then released by its former holder or that one evicted and fenced, then open. `from` names the
 * former holder from the first to the last of these, however often the owner changes in between. */
#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/leader_internal.h"

void turn_bump(struct turn *turn, const char *format, ...)
{
    struct model *draft = turn->draft;
    char why[200];
    va_list arguments;
    turn->changed = true;
    if (turn->bumped) {
        return;
    }
    turn->bumped = true;
    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    draft->version++;
    if (draft->round.opened) {
        draft->round.kind = MODEL_INCREMENTAL;
    }
    draft->round.opened = false;
    draft->round.since_rev = turn->leader->base->rev + 1;
    draft->round.why = arena_text(draft->arena, why, strlen(why));
    turn->failed |= draft->round.why == NULL;
    for (uint32_t i = 0; draft->round.kind == MODEL_STOP_ALL && i < draft->task_count; i++) {
        draft->tasks[i].epoch = draft->version; /* a stop-all round in progress stays one */
    }
}

static void close_task(struct turn *turn, struct model_task *task)
{
    if (task->open) {
        task->from = model_owner(turn->draft, task);
        task->evicted = false;
        task->open = false;
    }
}

void turn_move(struct turn *turn, struct model_task *task, uint32_t owner)
{
    char text[TASK_TEXT_BYTES];
    turn_bump(turn, "%s moves", task_text(task->task, text));
    close_task(turn, task);
    task->owner = owner;
    task->epoch = turn->draft->version;
}

static bool add_dirty(struct turn *turn, struct model_member member)
{
    struct model *draft = turn->draft;
    struct model_seat *dirty = arena_alloc(draft->arena, (draft->dirty_count + 1) * sizeof *dirty);
    uint32_t place = 0;
    if (dirty == NULL) {
        return false;
    }
    while (place < draft->dirty_count && draft->dirty[place].seat < member.seat) {
        place++;
    }
    memcpy(dirty, draft->dirty, place * sizeof *dirty);
    memcpy(dirty + place + 1, draft->dirty + place, (draft->dirty_count - place) * sizeof *dirty);
    dirty[place] = (struct model_seat){member.seat, member.life};
    draft->dirty = dirty;
    draft->dirty_count++;
    struct life *evicted = arena_alloc(draft->arena, (draft->evicted_count + 1) * sizeof *evicted);
    if (evicted == NULL) {
        return false;
    }
    memcpy(evicted, draft->evicted, draft->evicted_count * sizeof *evicted);
    evicted[draft->evicted_count++] = member.life;
    draft->evicted = evicted;
    return true;
}

/* `clean`: it has released all and said so; there is nothing to fence. */
static void evict(struct turn *turn, uint32_t index, bool clean, bool reserve, const char *why)
{
    struct model *draft = turn->draft;
    struct model_member member = draft->members[index];
    turn_bump(turn, "%s evicted: %s", member.life.id, why);
    if (!clean) {
        turn->failed |= !add_dirty(turn, member);
        members_note_eviction(turn->leader, member.life, turn->now_us);
    }
    for (uint32_t i = 0; i < draft->task_count; i++) {
        struct model_task *task = &draft->tasks[i];
        if (task->owner == index) {
            turn_move(turn, task, MODEL_NONE);
            if (reserve) {
                leader_reserve(turn, member.life.id, task->task);
            }
        } else if (task->owner != MODEL_NONE && task->owner > index) {
            task->owner--;
        }
        if (life_equal(task->from, member.life)) {
            task->evicted = !clean;
            task->from = clean ? (struct life){0} : task->from;
        }
    }
    memmove(&draft->members[index], &draft->members[index + 1], (draft->member_count - index - 1) * sizeof *draft->members);
    draft->member_count--;
}

static void evict_the_gone(struct turn *turn)
{
    for (uint32_t i = 0; i < turn->draft->member_count;) {
        const char *why = "";
        struct life life = turn->draft->members[i].life;
        enum verdict verdict = members_judge(turn->leader, life, &why);
        if (verdict == VERDICT_ALIVE) {
            i++;
            continue;
        }
        const struct cluster_member_view *view = members_view(turn->leader, life.id);
        bool restarts = verdict == VERDICT_LEFT && view->member->state == MEMBER_RESTARTING;
        evict(turn, i, verdict == VERDICT_LEFT, restarts, why);
    }
}

/* A life that was evicted is remembered only as long as its register shows it. */
static void forget_evicted(struct turn *turn)
{
    struct model *draft = turn->draft;
    for (uint32_t i = 0; i < draft->evicted_count;) {
        const struct cluster_member_view *view = members_view(turn->leader, draft->evicted[i].id);
        bool shown = view != NULL && (view->status != STATUS_OK || view->member->life.incarnation == draft->evicted[i].incarnation);
        bool dirty = false;
        for (uint32_t k = 0; k < draft->dirty_count; k++) {
            dirty |= life_equal(draft->dirty[k].life, draft->evicted[i]);
        }
        if (shown || dirty) {
            i++;
            continue;
        }
        memmove(&draft->evicted[i], &draft->evicted[i + 1], (draft->evicted_count - i - 1) * sizeof *draft->evicted);
        draft->evicted_count--;
        turn->changed = true;
    }
}

static void note_fences(struct turn *turn)
{
    struct model *draft = turn->draft;
    struct leader *self = turn->leader;
    for (uint32_t i = 0; i < self->fence_count; i++) {
        struct life life = self->fences[i].seat.life;
        if (!self->fences[i].good || (draft->unfenced && !members_stopped(self, life, turn->now_us))) {
            continue;
        }
        for (uint32_t k = 0; k < draft->dirty_count; k++) {
            if (draft->dirty[k].seat == self->fences[i].seat.seat) {
                memmove(&draft->dirty[k], &draft->dirty[k + 1], (draft->dirty_count - k - 1) * sizeof *draft->dirty);
                draft->dirty_count--;
                break;
            }
        }
        for (uint32_t k = 0; k < draft->task_count; k++) {
            if (life_equal(draft->tasks[k].from, life)) {
                draft->tasks[k].from = (struct life){0};
                draft->tasks[k].evicted = false;
            }
        }
        turn->changed = true;
    }
}

static int compare_tasks(const void *left, const void *right)
{
    const struct model_task *a = left, *b = right;
    return a->task < b->task ? -1 : a->task > b->task;
}

/* Those of the new plan, which keep their owners; and of the old ones those that somebody may still hold: the fence of a life covers what the
 * model says it may hold. */
static void replace_tasks(struct turn *turn)
{
    struct model *draft = turn->draft;
    const struct control_effect *effect = &turn->effect;
    struct model_task *tasks = arena_alloc(draft->arena, (effect->task_count + draft->task_count) * sizeof *tasks + 1);
    uint32_t count = 0;
    if (tasks == NULL) {
        turn->failed = true;
        return;
    }
    for (uint32_t i = 0; i < effect->task_count; i++) {
        const struct model_task *old = model_find_task(draft, effect->tasks[i]);
        tasks[count] = old != NULL ? *old : (struct model_task){.task = effect->tasks[i], .owner = MODEL_NONE, .epoch = draft->version};
        tasks[count++].retired = false;
    }
    qsort(tasks, count, sizeof *tasks, compare_tasks);
    for (uint32_t i = 0, kept = count; i < draft->task_count; i++) {
        const struct model_task *old = &draft->tasks[i];
        if (old->from.id != NULL && bsearch(old, tasks, kept, sizeof *tasks, compare_tasks) == NULL) {
            tasks[count] = *old;
            tasks[count].owner = MODEL_NONE;
            tasks[count++].retired = true;
        }
    }
    qsort(tasks, count, sizeof *tasks, compare_tasks);
    draft->tasks = tasks;
    draft->task_count = count;
}

static void stop_all(struct turn *turn)
{
    struct model *draft = turn->draft;
    const char *why = turn->effect.why == NULL ? "stop-all" : turn->effect.why;
    turn_bump(turn, "%s", why);
    draft->round.kind = MODEL_STOP_ALL;
    draft->plan = turn->effect.plan;
    for (uint32_t i = 0; i < draft->task_count; i++) {
        close_task(turn, &draft->tasks[i]);
        draft->tasks[i].epoch = draft->version;
    }
    if (turn->effect.tasks != NULL) {
        replace_tasks(turn);
    }
}

/* Its owner keeps it, once it has released it. */
static void restart_task(struct turn *turn, uint64_t task)
{
    char text[TASK_TEXT_BYTES];
    struct model_task *found = (struct model_task *)(uintptr_t)model_find_task(turn->draft, task);
    if (found != NULL && !found->retired) {
        turn_bump(turn, "%s restarts", task_text(task, text));
        close_task(turn, found);
        found->epoch = turn->draft->version;
    }
}

static void obey_control(struct turn *turn)
{
    const struct leader_control *control = turn->leader->config.control;
    struct model *draft = turn->draft;
    struct error err;
    struct control_effect as_it_is = {.ctl_rank = draft->ctl_rank, .state = draft->state, .plan = draft->plan};
    turn->effect = as_it_is;
    if (control != NULL) {
        struct control_view view = leader_control_view(turn->leader);
        turn->effect.hold = control->next != NULL && view.fold == NULL;
        if (!turn->effect.hold && control->turn(control->context, &view, &turn->effect, &err) != STATUS_OK) {
            actions_report(turn->actions, "coord.control-failed %.300s", err.text);
            turn->effect = as_it_is;
            turn->effect.hold = true;
        }
    }
    if (turn->effect.stop_all) {
        stop_all(turn);
    }
    for (uint32_t i = 0; i < turn->effect.restart_count; i++) {
        restart_task(turn, turn->effect.restarts[i]);
    }
    if (turn->effect.ctl_rank != draft->ctl_rank || turn->effect.state != draft->state) {
        draft->ctl_rank = turn->effect.ctl_rank;
        draft->state = turn->effect.state;
        turn->changed = true;
    }
}

static bool in_stop_all(const struct model *model)
{
    return model->round.kind == MODEL_STOP_ALL && !model->round.opened;
}

static bool has_adopted(const struct turn *turn, struct life life)
{
    const struct cluster_member_view *view = members_view(turn->leader, life.id);
    return view != NULL && view->status == STATUS_OK && view->member->life.incarnation == life.incarnation &&
           view->member->seen_version >= turn->draft->version && view->member->held_count == 0;
}

/* Exactly those that keep something from opening. */
static bool holds_up(const struct turn *turn, struct life life)
{
    const struct model *draft = turn->draft;
    if (in_stop_all(draft)) {
        return !has_adopted(turn, life);
    }
    for (uint32_t i = 0; i < draft->task_count; i++) {
        const struct model_task *task = &draft->tasks[i];
        if (!task->open && !task->evicted && life_equal(task->from, life) && !members_released(turn->leader, task)) {
            return true;
        }
    }
    return false;
}

static void evict_the_overdue(struct turn *turn)
{
    struct leader *self = turn->leader;
    struct model *draft = turn->draft;
    if (self->base->version != self->version_seen) {
        self->version_seen = self->base->version;
        self->version_since_us = turn->now_us;
    }
    if (draft->round.opened || turn->bumped || turn->now_us - self->version_since_us < self->timing->barrier_timeout.us) {
        return;
    }
    struct life late[64];
    uint32_t count = 0;
    for (uint32_t i = 0; i < draft->member_count && count < ARRAY_LENGTH(late); i++) {
        if (holds_up(turn, draft->members[i].life)) {
            late[count++] = draft->members[i].life;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct model_member *member = model_find_member(draft, late[i].id);
        evict(turn, (uint32_t)(member - draft->members), false, false, "it held up a version for barrier.timeout");
    }
}

/* All tasks in one write. */
static void open_all(struct turn *turn)
{
    struct model *draft = turn->draft;
    if (turn->bumped || draft->dirty_count > 0) {
        return;
    }
    for (uint32_t i = 0; i < draft->member_count; i++) {
        if (!has_adopted(turn, draft->members[i].life)) {
            return;
        }
    }
    for (uint32_t i = 0; i < draft->task_count; i++) {
        const struct model_task *task = &draft->tasks[i];
        if ((task->owner == MODEL_NONE && !task->retired) || !members_released(turn->leader, task)) {
            return;
        }
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < draft->task_count; i++) {
        if (!draft->tasks[i].retired) {
            draft->tasks[count] = draft->tasks[i];
            draft->tasks[count].open = true;
            draft->tasks[count++].from = (struct life){0};
        }
    }
    draft->task_count = count;
    draft->round.opened = turn->changed = true;
}

static void open_released(struct turn *turn)
{
    struct model *draft = turn->draft;
    bool all = true;
    if (in_stop_all(draft)) {
        open_all(turn);
        return;
    }
    for (uint32_t i = 0; i < draft->task_count; i++) {
        struct model_task *task = &draft->tasks[i];
        if (!task->open && task->owner != MODEL_NONE && members_released(turn->leader, task)) {
            task->open = turn->changed = true;
            task->from = (struct life){0};
        }
        all &= task->open;
    }
    if (all != draft->round.opened) {
        draft->round.opened = all;
        turn->changed = true;
    }
}

static void check_draft(const struct model *draft)
{
    for (uint32_t i = 0; i < draft->task_count; i++) {
        const struct model_task *task = &draft->tasks[i];
        assert(task->owner == MODEL_NONE || task->owner < draft->member_count);
        assert(!task->open || (task->owner != MODEL_NONE && task->from.id == NULL));
        assert(task->epoch <= draft->version);
    }
}

void leader_turn(struct leader *self, int64_t now_us, struct cluster_actions *actions)
{
    struct error ignored;
    struct turn turn = {
        .leader = self, .now_us = now_us, .actions = actions, .draft = model_copy(self->base, self->config.budget, &ignored)};
    if (turn.draft == NULL) {
        actions->failed = true;
        return;
    }
    note_fences(&turn);
    evict_the_gone(&turn);
    obey_control(&turn);
    evict_the_overdue(&turn);
    forget_evicted(&turn);
    turn_admit(&turn);
    turn_assign(&turn);
    open_released(&turn);
    actions->failed |= turn.failed;
    check_draft(turn.draft);
    if (turn.changed && !turn.failed) {
        self->draft = turn.draft;
    } else {
        model_unref(turn.draft);
    }
}
