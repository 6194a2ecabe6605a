/* What a proposal to the leader meets in the model, and when its edit is done. */
#include <inttypes.h>
#include <string.h>

#include "cluster/control/leading_internal.h"

const struct member *leading_member(const struct control_view *view, struct life life)
{
    for (uint32_t i = 0; i < view->member_count; i++) {
        const struct cluster_member_view *member = &view->members[i];
        if (strcmp(member->id, life.id) == 0) {
            return member->status == STATUS_OK && life_equal(member->member->life, life) ? member->member : NULL;
        }
    }
    return NULL;
}

const struct member_failure *leading_failure(const struct member *member, uint64_t task)
{
    for (uint32_t i = 0; member != NULL && i < member->failed_count; i++) {
        if (member->failed[i].task == task) {
            return &member->failed[i];
        }
    }
    return NULL;
}

/* ---- proposals ---- */

static enum status check_task(const struct control_view *view, const json_t *args, const struct model_task **task, struct error *err)
{
    *task = model_find_task(view->model, leading_task(args));
    return *task != NULL && !(*task)->retired ? STATUS_OK
                                              : error_set(err, ERROR_CTL_BAD_ARGUMENTS, "this job has no task '%s'; it has %" PRIu32,
                                                          leading_text(args, "task"), view->model->task_count);
}

/* A member of the model, by index. */
static enum status check_processor(const struct control_view *view, const char *id, uint32_t *index, struct error *err)
{
    struct text_builder names = {0};
    const struct model_member *member = model_find_member(view->model, id);
    if (member != NULL) {
        *index = (uint32_t)(member - view->model->members);
        return STATUS_OK;
    }
    for (uint32_t i = 0; i < view->model->member_count; i++) {
        text_append_format(&names, "%s'%s'", i == 0 ? "" : ", ", view->model->members[i].life.id);
    }
    enum status status = error_set(err, ERROR_CTL_BAD_ARGUMENTS, "no processor '%.100s'; there are %.600s", id,
                                   names.length == 0 || names.failed ? "none" : names.bytes);
    text_builder_close(&names);
    return status;
}

static enum status check_move(const struct leading_turn *turn, const json_t *args, struct error *err)
{
    const struct control_view *view = turn->view;
    const char *to = leading_text(args, "to");
    const struct model_task *task;
    uint32_t index, owned = 0;
    bool *drained;
    TRY(check_task(view, args, &task, err));
    TRY(check_processor(view, to, &index, err));
    TRY(leading_find_drained(view, &drained, err));
    if (drained[index]) {
        return error_set(err, ERROR_CTL_NO_GROUND, "processor '%s' gets no tasks: it is drained, or beyond the bound of core.capacity.set",
                         to);
    }
    const struct member *member = leading_member(view, view->model->members[index].life);
    for (uint32_t i = 0; i < view->model->task_count; i++) {
        owned += view->model->tasks[i].owner == index && &view->model->tasks[i] != task;
    }
    if (member != NULL && member->host.task_max != 0 && owned >= member->host.task_max) {
        return error_set(err, ERROR_CTL_NO_GROUND, "processor '%s' is full: it has %" PRIu32 " tasks, and takes no more", to, owned);
    }
    return STATUS_OK;
}

static enum status check_restart(const struct leading_turn *turn, const json_t *args, struct error *err)
{
    const struct model_task *task;
    return check_task(turn->view, args, &task, err);
}

static enum status check_drain(const struct leading_turn *turn, const json_t *args, struct error *err)
{
    const struct control_view *view = turn->view;
    const char *id = leading_text(args, "processor");
    uint32_t index, others = 0;
    bool *drained;
    TRY(check_processor(view, id, &index, err));
    TRY(leading_find_drained(view, &drained, err));
    for (uint32_t i = 0; i < view->model->member_count; i++) {
        others += i != index && !drained[i];
    }
    return others > 0 ? STATUS_OK : error_set(err, ERROR_CTL_NO_GROUND, "no other processor could take the tasks of '%s'", id);
}

static enum status check_capacity(const struct leading_turn *turn, const json_t *args, struct error *err)
{
    (void)turn;
    if (json_object_get(args, "min") != NULL || json_object_get(args, "stages") != NULL) {
        return error_set(err, ERROR_CTL_NO_GROUND, "core.capacity.set: nothing here could start processes, so only \"max\" can be kept");
    }
    return json_object_get(args, "max") != NULL ? STATUS_OK
                                                : error_set(err, ERROR_CTL_BAD_ARGUMENTS, "core.capacity.set: \"max\" is missing");
}

/* ---- progress ---- */

static const char *failure_text(const struct control_view *view, const char *id, const struct member_failure *failure)
{
    return arena_format(view->arena, "'%s' cannot start it: %s %.600s", id, failure->code == NULL ? "" : failure->code,
                        failure->message == NULL ? "" : failure->message);
}

/* It runs where it is owned, since after the decision. */
static enum control_progress judge_start(const struct control_view *view, const struct control_entry *entry, const struct model_task *task,
                                         const char **reason)
{
    struct life owner = model_owner(view->model, task);
    const struct member *member = owner.id == NULL ? NULL : leading_member(view, owner);
    const struct member_failure *failure = leading_failure(member, task->task);
    if (!task->open || task->epoch <= entry->version || member == NULL || member->seen_version < task->epoch) {
        return CONTROL_PENDING;
    }
    if (failure != NULL) {
        *reason = failure_text(view, owner.id, failure);
        return CONTROL_PROGRESS_FAILED;
    }
    return member_runs(member, task->task) ? CONTROL_PROGRESS_DONE : CONTROL_PENDING;
}

static enum control_progress move_progress(const struct control_view *view, const struct control_entry *entry, const json_t *args,
                                           const char **reason)
{
    const struct model_task *task = model_find_task(view->model, leading_task(args));
    const char *to = leading_text(args, "to");
    if (task == NULL) {
        *reason = "the job has no such task any more";
        return CONTROL_PROGRESS_FAILED;
    }
    if (model_find_member(view->model, to) == NULL) {
        *reason = arena_format(view->arena, "processor '%s' is gone", to);
        return CONTROL_PROGRESS_FAILED;
    }
    struct life owner = model_owner(view->model, task);
    return owner.id != NULL && strcmp(owner.id, to) == 0 ? judge_start(view, entry, task, reason) : CONTROL_PENDING;
}

static enum control_progress restart_progress(const struct control_view *view, const struct control_entry *entry, const json_t *args,
                                              const char **reason)
{
    const struct model_task *task = model_find_task(view->model, leading_task(args));
    if (task == NULL) {
        *reason = "the job has no such task any more";
        return CONTROL_PROGRESS_FAILED;
    }
    return judge_start(view, entry, task, reason);
}

/* Whether a member that gets no tasks still has one, or one that is not released yet. */
static enum control_progress drain_progress(const struct control_view *view, const struct control_entry *entry, const json_t *args,
                                            const char **reason)
{
    struct error ignored;
    bool *drained;
    (void)entry, (void)args, (void)reason;
    if (leading_find_drained(view, &drained, &ignored) != STATUS_OK) {
        return CONTROL_PENDING;
    }
    for (uint32_t i = 0; i < view->model->task_count; i++) {
        const struct model_task *task = &view->model->tasks[i];
        const struct model_member *from = task->from.id == NULL ? NULL : model_find_member(view->model, task->from.id);
        if ((task->owner != MODEL_NONE && drained[task->owner]) || (from != NULL && drained[from - view->model->members])) {
            return CONTROL_PENDING;
        }
    }
    return CONTROL_PROGRESS_DONE;
}

static const struct verb_of_leader {
    const char *verb;
    enum status (*check)(const struct leading_turn *turn, const json_t *args, struct error *err); /* NULL: nothing to check */
    /* NULL: done when the model has it */
    enum control_progress (*progress)(const struct control_view *view, const struct control_entry *entry, const json_t *args,
                                      const char **reason);
} table[] = {
    {"core.task.move", check_move, move_progress},         {"core.task.restart", check_restart, restart_progress},
    {"core.processor.drain", check_drain, drain_progress}, {"core.processor.undrain", NULL, NULL},
    {"core.capacity.set", check_capacity, drain_progress}, {"core.job.cancel", NULL, NULL},
};
const char *const leading_verbs[] = {
    "core.task.move", "core.task.restart", "core.processor.drain", "core.processor.undrain", "core.capacity.set", "core.job.cancel", NULL};

static const struct verb_of_leader *find(const char *verb)
{
    for (size_t i = 0; i < ARRAY_LENGTH(table); i++) {
        if (strcmp(table[i].verb, verb) == 0) {
            return &table[i];
        }
    }
    return NULL;
}

enum status leading_check(void *context, const struct control_fold *fold, const struct control_verb *verb,
                          const struct control_propose *propose, enum control_how *how, struct error *err)
{
    const struct leading_turn *turn = context;
    const struct leading_config *config = &turn->leading->config;
    const struct verb_of_leader *found = find(verb->name);
    (void)fold, (void)how;
    if (found == NULL) {
        return config->check == NULL ? STATUS_OK : config->check(config->context, verb, propose, err);
    }
    json_t *args = leading_args(propose->args);
    enum status status = found->check == NULL ? STATUS_OK : found->check(turn, args, err);
    json_decref(args);
    return status;
}

enum control_progress leading_progress(void *context, const struct control_entry *entry, const char **result, const char **reason)
{
    const struct leading_turn *turn = context;
    const struct leading_config *config = &turn->leading->config;
    const struct verb_of_leader *found = find(entry->propose.verb);
    if (found == NULL) {
        return config->progress == NULL ? CONTROL_PROGRESS_DONE
                                        : config->progress(config->context, entry, turn->view->arena, result, reason);
    }
    json_t *args = leading_args(entry->propose.args);
    enum control_progress progress = found->progress == NULL ? CONTROL_PROGRESS_DONE : found->progress(turn->view, entry, args, reason);
    json_decref(args);
    return progress;
}
