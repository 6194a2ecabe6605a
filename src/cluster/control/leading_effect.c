/* What stands in the log, as what the model should be. */
#include <string.h>

#include "cluster/control/leading_internal.h"

json_t *leading_args(const char *args)
{
    return args == NULL ? NULL : json_loads(args, 0, NULL);
}

const char *leading_text(const json_t *args, const char *name)
{
    return json_string_value(json_object_get(args, name));
}

uint64_t leading_task(const json_t *args)
{
    const char *text = leading_text(args, "task");
    uint64_t first = 0, last;
    return text != NULL && task_run_parse(text, &first, &last) ? first : 0;
}

static bool is_verb(const char *verb, const char *name)
{
    return strcmp(verb, name) == 0;
}

static uint32_t count_tasks(const struct model *model, uint32_t owner)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < model->task_count; i++) {
        count += model->tasks[i].owner == owner;
    }
    return count;
}

/* ---- who gets no tasks ---- */

static void drain_the_named(const struct control_view *view, bool *drained)
{
    for (uint32_t i = 0; i < view->fold->standing_count; i++) {
        const struct control_standing *standing = &view->fold->standing[i];
        if (!is_verb(standing->verb, "core.processor.drain")) {
            continue;
        }
        json_t *args = leading_args(standing->args);
        const struct model_member *member = model_find_member(view->model, leading_text(args, "processor"));
        if (member != NULL) {
            drained[member - view->model->members] = true;
        }
        json_decref(args);
    }
}

/* Of those with the fewest tasks the last: who has come last has none yet. */
static uint32_t find_surplus(const struct model *model, const bool *drained)
{
    uint32_t found = MODEL_NONE, least = 0;
    for (uint32_t i = 0; i < model->member_count; i++) {
        uint32_t count = drained[i] ? 0 : count_tasks(model, i);
        if (!drained[i] && (found == MODEL_NONE || count <= least)) {
            found = i;
            least = count;
        }
    }
    return found;
}

static void drain_the_surplus(const struct control_view *view, bool *drained)
{
    const struct control_standing *capacity = control_fold_standing(view->fold, "capacity");
    json_t *args = capacity == NULL ? NULL : leading_args(capacity->args);
    json_int_t max = json_integer_value(json_object_get(args, "max"));
    uint32_t in_use = 0;
    json_decref(args);
    for (uint32_t i = 0; i < view->model->member_count; i++) {
        in_use += !drained[i];
    }
    for (; max > 0 && in_use > max; in_use--) {
        drained[find_surplus(view->model, drained)] = true;
    }
}

enum status leading_find_drained(const struct control_view *view, bool **drained, struct error *err)
{
    uint32_t count = view->model->member_count, in_use = 0;
    TRY_ALLOC(*drained, arena_alloc(view->arena, count + 1), err);
    memset(*drained, 0, count + 1);
    drain_the_named(view, *drained);
    for (uint32_t i = 0; i < count; i++) {
        in_use += !(*drained)[i];
    }
    if (in_use == 0) { /* nobody would be left: rather there than nowhere */
        memset(*drained, 0, count + 1);
    }
    drain_the_surplus(view, *drained);
    return STATUS_OK;
}

static enum status fill_drained(const struct control_view *view, const bool *drained, struct control_effect *effect, struct error *err)
{
    const char **ids;
    TRY_ALLOC(ids, arena_alloc(view->arena, view->model->member_count * sizeof *ids + 1), err);
    for (uint32_t i = 0; i < view->model->member_count; i++) {
        if (drained[i]) {
            ids[effect->drained_count++] = view->model->members[i].life.id;
        }
    }
    effect->drained = ids;
    return STATUS_OK;
}

/* ---- where tasks go ---- */

/* Whoever else has the fewest tasks; NULL: nobody else. */
static const char *find_another(const struct model *model, const bool *drained, const char *id)
{
    const char *found = NULL;
    uint32_t least = 0;
    for (uint32_t i = 0; i < model->member_count; i++) {
        uint32_t count = count_tasks(model, i);
        if (!drained[i] && strcmp(model->members[i].life.id, id) != 0 && (found == NULL || count < least)) {
            found = model->members[i].life.id;
            least = count;
        }
    }
    return found;
}

static void add_pin(struct control_pin *pins, struct control_effect *effect, uint64_t task, const char *id)
{
    pins[effect->pin_count++] = (struct control_pin){task, id};
}

static void pin_the_moved(const struct control_view *view, const bool *drained, struct control_pin *pins, struct control_effect *effect)
{
    for (uint32_t i = 0; i < view->fold->standing_count; i++) {
        const struct control_standing *standing = &view->fold->standing[i];
        if (!is_verb(standing->verb, "core.task.move")) {
            continue;
        }
        json_t *args = leading_args(standing->args);
        const struct model_member *member = model_find_member(view->model, leading_text(args, "to"));
        if (member != NULL && !drained[member - view->model->members]) {
            add_pin(pins, effect, leading_task(args), member->life.id);
        }
        json_decref(args);
    }
}

/* A move that failed pins nothing, but the task would stay: nothing else moves what cannot start. */
static void move_the_failed_on(const struct control_view *view, const bool *drained, struct control_pin *pins,
                               struct control_effect *effect)
{
    for (uint32_t i = 0; i < view->fold->entry_count; i++) {
        const struct control_entry *entry = &view->fold->entries[i];
        if (entry->state != CONTROL_STATE_FAILED || !is_verb(entry->propose.verb, "core.task.move")) {
            continue;
        }
        json_t *args = leading_args(entry->propose.args);
        const struct model_task *task = model_find_task(view->model, leading_task(args));
        struct life owner = task == NULL ? (struct life){0} : model_owner(view->model, task);
        const char *to = leading_text(args, "to");
        if (owner.id != NULL && to != NULL && strcmp(owner.id, to) == 0 &&
            leading_failure(leading_member(view, owner), task->task) != NULL) {
            const char *other = find_another(view->model, drained, to);
            if (other != NULL) {
                add_pin(pins, effect, task->task, other);
            }
        }
        json_decref(args);
    }
}

static enum status fill_pins(const struct control_view *view, const bool *drained, struct control_effect *effect, struct error *err)
{
    struct control_pin *pins;
    TRY_ALLOC(pins, arena_alloc(view->arena, (view->fold->standing_count + view->fold->entry_count) * sizeof *pins + 1), err);
    pin_the_moved(view, drained, pins, effect);
    move_the_failed_on(view, drained, pins, effect);
    effect->pins = pins;
    return STATUS_OK;
}

/* Those that the model does not have yet: they are in it together with the rank. A move to where it is restarts it there. */
static enum status fill_restarts(const struct control_view *view, struct control_effect *effect, struct error *err)
{
    const struct control_fold *fold = view->fold;
    uint64_t *restarts;
    TRY_ALLOC(restarts, arena_alloc(view->arena, fold->entry_count * sizeof *restarts + 1), err);
    for (uint32_t i = 0; i < fold->entry_count; i++) {
        const struct control_entry *entry = &fold->entries[i];
        if (entry->rank <= (uint64_t)view->model->ctl_rank || entry->state != CONTROL_STATE_ACCEPTED) {
            continue;
        }
        json_t *args = leading_args(entry->propose.args);
        const struct model_task *task = model_find_task(view->model, leading_task(args));
        struct life owner = task == NULL ? (struct life){0} : model_owner(view->model, task);
        const char *to = leading_text(args, "to");
        bool stays = is_verb(entry->propose.verb, "core.task.move") && owner.id != NULL && to != NULL && strcmp(owner.id, to) == 0;
        if (task != NULL && (stays || is_verb(entry->propose.verb, "core.task.restart"))) {
            restarts[effect->restart_count++] = task->task;
        }
        json_decref(args);
    }
    effect->restarts = restarts;
    return STATUS_OK;
}

/* ---- the state of the job ---- */

/* Of edits that end the job. */
struct ends {
    const struct control_entry *last; /* accepted; NULL: there is none */
    bool open, is_new;                /* some stop is not done by all; some end is not in the model */
};

static struct ends find_ends(const struct control_view *view)
{
    struct ends ends = {0};
    for (uint32_t i = 0; i < view->fold->entry_count; i++) {
        const struct control_entry *entry = &view->fold->entries[i];
        bool stops = is_verb(entry->propose.verb, "core.job.stop");
        if (entry->rank != 0 && (stops || is_verb(entry->propose.verb, "core.job.cancel"))) {
            ends.last = entry;
            ends.open |= stops && entry->state == CONTROL_STATE_ACCEPTED;
            ends.is_new |= entry->rank > (uint64_t)view->model->ctl_rank;
        }
    }
    return ends;
}

/* STOPPING until the edit is closed: later nobody of the job is left to close it. */
static enum model_state end_state(const struct ends *ends)
{
    if (ends->last != NULL && is_verb(ends->last->propose.verb, "core.job.cancel")) {
        return ends->last->state == CONTROL_STATE_ACCEPTED ? MODEL_STOPPING : MODEL_KILLED;
    }
    return ends->open ? MODEL_STOPPING : MODEL_STOPPED;
}

static enum model_state find_state(const struct control_view *view)
{
    enum model_state state = view->model->state;
    struct ends ends = find_ends(view);
    if (state == MODEL_STOPPING) {
        return end_state(&ends);
    }
    if (state != MODEL_RUNNING && state != MODEL_PAUSED) {
        return state;
    }
    if (ends.is_new) {
        return MODEL_STOPPING;
    }
    return control_fold_standing(view->fold, "pause") != NULL ? MODEL_PAUSED : MODEL_RUNNING;
}

enum status leading_effect(void *context, const struct control_view *view, struct control_effect *effect, struct error *err)
{
    bool *drained;
    (void)context;
    TRY(leading_find_drained(view, &drained, err));
    TRY(fill_drained(view, drained, effect, err));
    TRY(fill_pins(view, drained, effect, err));
    TRY(fill_restarts(view, effect, err));
    effect->state = find_state(view);
    effect->ctl_rank = (int64_t)view->fold->rank > effect->ctl_rank ? (int64_t)view->fold->rank : effect->ctl_rank;
    return STATUS_OK;
}
