#include "cluster/model.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The count is beside the model, so that a const model can be counted. */
struct counted {
    _Atomic uint32_t references;
    struct model model;
};

static struct counted *counted_of(const struct model *model)
{
    return (struct counted *)((char *)(uintptr_t)model - offsetof(struct counted, model));
}

struct model *model_create(struct budget *budget, struct error *err)
{
    struct arena *arena = arena_create(budget, "coordination model");
    struct counted *counted = arena == NULL ? NULL : arena_alloc(arena, sizeof *counted);
    if (counted == NULL) {
        if (arena != NULL) {
            arena_destroy(arena);
        }
        (void)error_set(err, ERROR_BUDGET_SPENT, "no room for a model");
        return NULL;
    }
    counted->references = 1;
    counted->model.arena = arena;
    counted->model.job = counted->model.round.why = "";
    return &counted->model;
}

struct model *model_ref(const struct model *model)
{
    counted_of(model)->references++;
    return &counted_of(model)->model;
}

void model_unref(const struct model *model)
{
    if (model != NULL && --counted_of(model)->references == 0) {
        arena_destroy(model->arena);
    }
}

static bool keep_text(const char **text, struct arena *arena)
{
    if (*text != NULL) {
        *text = arena_text(arena, *text, strlen(*text));
        return *text != NULL;
    }
    return true;
}

static bool keep_copyists(struct model_copyist **list, uint32_t count, struct arena *arena)
{
    bool good = (*list = arena_copy(arena, *list, count * sizeof **list)) != NULL;
    for (uint32_t i = 0; good && i < count; i++) {
        good = keep_text(&(*list)[i].id, arena);
    }
    return good;
}

/* Makes everything that `copy` points to its own. */
static bool keep_all(struct model *copy, struct arena *arena)
{
    bool good = keep_text(&copy->job, arena) && keep_text(&copy->round.why, arena) && keep_text(&copy->unknown, arena) &&
                life_keep(copy->leader, arena, &copy->leader) &&
                (copy->members = arena_copy(arena, copy->members, copy->member_count * sizeof *copy->members)) != NULL &&
                (copy->dirty = arena_copy(arena, copy->dirty, copy->dirty_count * sizeof *copy->dirty)) != NULL &&
                (copy->evicted = arena_copy(arena, copy->evicted, copy->evicted_count * sizeof *copy->evicted)) != NULL &&
                (copy->tasks = arena_copy(arena, copy->tasks, copy->task_count * sizeof *copy->tasks)) != NULL &&
                keep_copyists(&copy->standby, copy->standby_count, arena) && keep_copyists(&copy->warming, copy->warming_count, arena);
    for (uint32_t i = 0; good && i < copy->member_count; i++) {
        good = life_keep(copy->members[i].life, arena, &copy->members[i].life);
    }
    for (uint32_t i = 0; good && i < copy->dirty_count; i++) {
        good = life_keep(copy->dirty[i].life, arena, &copy->dirty[i].life);
    }
    for (uint32_t i = 0; good && i < copy->evicted_count; i++) {
        good = life_keep(copy->evicted[i], arena, &copy->evicted[i]);
    }
    for (uint32_t i = 0; good && i < copy->task_count; i++) {
        good = life_keep(copy->tasks[i].from, arena, &copy->tasks[i].from);
    }
    return good;
}

struct model *model_copy(const struct model *model, struct budget *budget, struct error *err)
{
    struct model *copy = model_create(budget, err);
    if (copy == NULL) {
        return NULL;
    }
    struct arena *arena = copy->arena;
    *copy = *model;
    copy->arena = arena;
    if (!keep_all(copy, arena)) {
        model_unref(copy);
        (void)error_set(err, ERROR_BUDGET_SPENT, "no room for a model");
        return NULL;
    }
    return copy;
}

const struct model_member *model_find_member(const struct model *model, const char *id)
{
    for (uint32_t low = 0, high = model->member_count; id != NULL && low < high;) {
        uint32_t middle = (low + high) / 2;
        int order = strcmp(model->members[middle].life.id, id);
        if (order == 0) {
            return &model->members[middle];
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}

bool model_lists(const struct model *model, struct life life)
{
    const struct model_member *member = model_find_member(model, life.id);
    return member != NULL && member->life.incarnation == life.incarnation;
}

bool model_evicts(const struct model *model, struct life life)
{
    for (uint32_t i = 0; i < model->evicted_count; i++) {
        if (life_equal(model->evicted[i], life)) {
            return true;
        }
    }
    return false;
}

const struct model_task *model_find_task(const struct model *model, uint64_t task)
{
    for (uint32_t low = 0, high = model->task_count; low < high;) {
        uint32_t middle = (low + high) / 2;
        if (model->tasks[middle].task == task) {
            return &model->tasks[middle];
        }
        if (model->tasks[middle].task < task) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}

struct life model_owner(const struct model *model, const struct model_task *task)
{
    return task->owner == MODEL_NONE ? (struct life){0} : model->members[task->owner].life;
}

#define X(name, text) [MODEL_##name] = (text),
static const char *const states[] = {MODEL_STATE_LIST(X)};
#undef X

const char *model_state_text(enum model_state state)
{
    assert(state < MODEL_STATE_COUNT);
    return states[state];
}
