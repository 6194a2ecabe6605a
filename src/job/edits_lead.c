/* The one process of a job is its log's leader, under a lease of the log's own. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "cluster/control/decide.h"
#include "job/edits_internal.h"

static const char *const known_sets[] = {"core/1", "app/1"};
static const uint64_t the_task[] = {TASK_ALL};

/* The lease is lost, or not sure: another may lead. What this process still writes under its term counts only if none does. */
void edits_give_up_lead(struct edits_group *group)
{
    struct error ignored;
    if (group->lease != NULL) {
        (void)!group->spec.session->driver->lease_release(group->lease, &ignored);
    }
    group->lease = NULL;
    group->term = 0;
}

static enum status keep_lead(struct edits_group *group, struct error *err)
{
    const struct cluster_driver *driver = group->spec.session->driver;
    char name[240], held_by[CLUSTER_HOLDER_MAX];
    enum cluster_result result;
    int64_t now_us = clock_system.monotonic_us(&clock_system);
    if (group->lease != NULL) {
        if (now_us - group->renewed_us < LEASE_US / 4) {
            return STATUS_OK;
        }
        TRY(driver->lease_renew(group->lease, &result, err));
        group->renewed_us = now_us;
        if (result == CLUSTER_CONFLICT) {
            edits_give_up_lead(group);
        }
        return STATUS_OK;
    }
    group->renewed_us = now_us;
    snprintf(name, sizeof name, "%s/ctl-leader", group->spec.prefix);
    TRY(driver->lease_acquire(group->spec.session, name, group->life, LEASE_US, &result, &group->lease, held_by, err));
    if (result != CLUSTER_OK) {
        group->lease = NULL;
        return STATUS_OK;
    }
    uint64_t last = control_log_fold(group->log)->term;
    group->term = group->lease->fence > last ? group->lease->fence : last + 1;
    return STATUS_OK;
}

static const struct reply *find_reply(const struct edits_group *group, uint64_t rank)
{
    for (uint32_t i = 0; group->first != NULL && i < group->first->reply_count; i++) {
        if (group->first->replies[i].rank == rank) {
            return &group->first->replies[i];
        }
    }
    return NULL;
}

static enum control_progress progress_of(void *context, const struct control_entry *entry, const char **result, const char **reason)
{
    struct edits_group *group = context;
    pthread_mutex_lock(&group->mutex);
    const struct reply *reply = find_reply(group, entry->rank);
    *result = reply == NULL || reply->result == NULL ? NULL : arena_text(group->arena, reply->result, strlen(reply->result));
    *reason = reply == NULL || !reply->failed ? NULL : arena_text(group->arena, reply->reason, strlen(reply->reason));
    pthread_mutex_unlock(&group->mutex);
    return CONTROL_PROGRESS_DONE;
}

static enum status check_edit(void *context, const struct control_fold *fold, const struct control_verb *verb,
                              const struct control_propose *propose, enum control_how *how, struct error *err)
{
    return edits_check(context, verb->name, propose->args, err);
}

/* Decides and closes until there is nothing to do. */
static enum status decide(struct edits_group *group, struct error *err)
{
    const char *const *verbs = group->spec.obeys_app ? edits_verbs_of_programs : edits_verbs;
    uint32_t verb_count = 0;
    while (verbs[verb_count] != NULL) {
        verb_count++;
    }
    const struct control_ground ground = {
        .verbs = verbs, .verb_count = verb_count, .context = group, .check = check_edit, .progress = progress_of};
    const struct control_member member = {group->life, known_sets, ARRAY_LENGTH(known_sets)};
    struct control_step step = {.kind = CONTROL_STEP_APPEND};
    while (group->term != 0 && step.kind != CONTROL_STEP_WAIT) {
        const struct control_fold *fold = control_log_fold(group->log);
        const struct control_world world = {.term = group->term,
                                            .leader = group->life,
                                            .version = group->term,
                                            .model_rank = fold->rank,
                                            .tasks = the_task,
                                            .task_count = 1,
                                            .members = &member,
                                            .member_count = 1,
                                            .ground = &ground,
                                            .verbs = &control_verbs,
                                            .wall_ms = clock_system.wall_us(&clock_system) / 1000,
                                            .snapshot_every = CONTROL_SNAPSHOT_EVERY};
        bool counted = true;
        uint64_t index;
        TRY(control_decide(fold, &world, group->arena, &step, err));
        if (step.kind == CONTROL_STEP_APPEND) {
            TRY(control_log_append(group->log, &step.record, &index, &counted, err));
        } else if (step.kind == CONTROL_STEP_SNAPSHOT) {
            TRY(control_log_snapshot(group->log, &step.record, &counted, err));
            counted = true; /* others have appended meanwhile, or a newer leader is there: its term ends this below */
        }
        if (!counted || control_log_fold(group->log)->term > group->term) {
            edits_give_up_lead(group);
        }
    }
    return STATUS_OK;
}

enum status edits_lead(struct edits_group *group, struct error *err)
{
    TRY(keep_lead(group, err));
    return decide(group, err);
}
