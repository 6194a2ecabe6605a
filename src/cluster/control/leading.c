#include "cluster/control/leading.h"

#include <stdlib.h>
#include <string.h>

#include "cluster/control/leading_internal.h"

/* Members that cannot be read say nothing against a verb; whoever comes later is admitted only with the verbs of the job. */
static enum status take_members(const struct leading_turn *turn, struct control_world *world, struct error *err)
{
    const struct control_view *view = turn->view;
    const struct leading_config *config = &turn->leading->config;
    struct control_member *members;
    TRY_ALLOC(members, arena_alloc(view->arena, view->model->member_count * sizeof *members + 1), err);
    world->members = members;
    for (uint32_t i = 0; i < view->model->member_count; i++) {
        const struct member *member = leading_member(view, view->model->members[i].life);
        if (member == NULL) {
            continue;
        }
        bool says = member->host.verb_count > 0;
        members[world->member_count++] = (struct control_member){member->life.id, says ? member->host.verbs : config->sets,
                                                                 says ? member->host.verb_count : config->set_count};
    }
    return STATUS_OK;
}

static enum status take_tasks(const struct control_view *view, struct control_world *world, struct error *err)
{
    uint64_t *tasks;
    TRY_ALLOC(tasks, arena_alloc(view->arena, view->model->task_count * sizeof *tasks + 1), err);
    world->tasks = tasks;
    for (uint32_t i = 0; i < view->model->task_count; i++) {
        if (!view->model->tasks[i].retired) {
            tasks[world->task_count++] = view->model->tasks[i].task;
        }
    }
    return STATUS_OK;
}

/* The record as the log's lane can read it: with an id, which is drawn anew when it is appended. */
static enum status write_record(struct leading *self, const struct control_view *view, struct control_record *record, const char **json,
                                struct error *err)
{
    struct text text;
    control_id_make(&self->random, view->wall_ms, record->id);
    if (record->kind == CONTROL_SNAPSHOT) {
        memset(record->snapshot.sha256, '0', sizeof record->snapshot.sha256 - 1);
    }
    TRY(control_record_write(record, view->arena, &text, err));
    TRY_ALLOC(*json, arena_text(view->arena, text.bytes, text.length), err);
    return STATUS_OK;
}

static enum status next_record(void *context, const struct control_view *view, const char **record, struct error *err)
{
    struct leading *self = context;
    struct leading_turn turn = {self, view};
    struct control_step step;
    char leader[LIFE_TEXT_BYTES];
    const struct control_ground ground = {.verbs = self->verbs,
                                          .verb_count = self->verb_count,
                                          .context = &turn,
                                          .check = leading_check,
                                          .permit = self->config.permit,
                                          .progress = leading_progress};
    struct control_world world = {.term = view->term,
                                  .leader = life_text(view->leader, leader),
                                  .version = view->model->version,
                                  .model_rank = (uint64_t)view->model->ctl_rank,
                                  .ground = &ground,
                                  .verbs = &control_verbs,
                                  .wall_ms = view->wall_ms,
                                  .snapshot_every = self->config.snapshot_every};
    TRY(take_members(&turn, &world, err));
    TRY(take_tasks(view, &world, err));
    TRY(control_decide(view->fold, &world, view->arena, &step, err));
    return step.kind == CONTROL_STEP_WAIT ? STATUS_OK : write_record(self, view, &step.record, record, err);
}

static void add_verbs(struct leading *self, const char *const *verbs)
{
    for (uint32_t i = 0; verbs != NULL && verbs[i] != NULL && self->verb_count < LEADING_VERBS_MAX; i++) {
        self->verbs[self->verb_count++] = verbs[i];
    }
}

enum status leading_create(const struct leading_config *config, struct leading **leading, struct error *err)
{
    struct leading *self;
    TRY_ALLOC(self, calloc(1, sizeof *self), err);
    self->config = *config;
    self->config.snapshot_every = config->snapshot_every == 0 ? CONTROL_SNAPSHOT_EVERY : config->snapshot_every;
    self->control = (struct leader_control){.context = self, .next = next_record, .turn = leading_effect};
    random_open(&self->random, config->random_seed);
    add_verbs(self, leading_verbs);
    add_verbs(self, config->verbs);
    *leading = self;
    return STATUS_OK;
}

void leading_destroy(struct leading *leading)
{
    free(leading);
}

const struct leader_control *leading_control(const struct leading *leading)
{
    return &leading->control;
}
