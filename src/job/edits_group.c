#include "job/edits_group.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/condition.h"
#include "base/growing_array.h"
#include "job/edits_internal.h"

/* ---- a task's first look ---- */

/* The rank before the first edit that is still to be done. */
static uint64_t first_open_rank(const struct control_fold *fold)
{
    for (uint32_t i = 0; i < fold->entry_count; i++) {
        if (fold->entries[i].state == CONTROL_STATE_ACCEPTED && fold->entries[i].how != CONTROL_HOW_LEADER) {
            return fold->entries[i].rank - 1;
        }
    }
    return fold->rank;
}

static enum status keep_standing(struct edits *self, const struct control_fold *fold, struct error *err)
{
    TRY_ALLOC(self->standing, arena_alloc(self->begin_arena, fold->standing_count * sizeof *self->standing + 1), err);
    for (uint32_t i = 0; i < fold->standing_count; i++) {
        const struct control_standing *standing = &fold->standing[i];
        struct edit *kept = &self->standing[self->standing_count];
        if (standing->rank <= self->applied && standing->args != NULL) {
            *kept = (struct edit){.rank = standing->rank, .index = standing->index};
            TRY_ALLOC(kept->verb, arena_text(self->begin_arena, standing->verb, strlen(standing->verb)), err);
            TRY_ALLOC(kept->args, arena_text(self->begin_arena, standing->args, strlen(standing->args)), err);
            self->standing_count++;
        }
    }
    return STATUS_OK;
}

static bool has_to_stop(const struct control_fold *fold, uint64_t applied)
{
    for (uint32_t i = fold->open_from; i < fold->entry_count; i++) {
        const struct control_entry *entry = &fold->entries[i];
        if (entry->state == CONTROL_STATE_ACCEPTED && entry->rank <= applied && strcmp(entry->propose.verb, "core.job.stop") == 0) {
            return true;
        }
    }
    return false;
}

static enum status begin_task(struct edits *self, const struct control_fold *fold, struct error *err)
{
    bool goes_on = self->spec.goes_on && self->spec.applied <= fold->rank;
    self->applied = goes_on ? self->spec.applied : first_open_rank(fold);
    self->committed = self->applied;
    self->acknowledged = control_fold_acked(fold, self->spec.task);
    const struct control_standing *pause = control_fold_standing(fold, "pause");
    self->paused_at_start = pause != NULL && pause->rank <= self->applied;
    self->stopped_at_start = has_to_stop(fold, self->applied);
    return keep_standing(self, fold, err);
}

/* `trouble` NULL: the log has been read. */
static void begin_tasks(struct edits_group *group, const struct error *trouble)
{
    pthread_mutex_lock(&group->mutex);
    for (struct edits *self = group->first; self != NULL; self = self->next_of_group) {
        if (self->phase != EDITS_NEW) {
            continue;
        }
        enum status status = trouble == NULL ? begin_task(self, control_log_fold(group->log), &self->failure) : trouble->status;
        self->failure = trouble == NULL ? self->failure : *trouble;
        self->phase = status == STATUS_OK ? EDITS_READY : EDITS_REFUSED;
    }
    pthread_cond_broadcast(&group->settled);
    pthread_mutex_unlock(&group->mutex);
}

/* ---- acknowledging ---- */

struct owed { /* an acknowledgement: of one task */
    uint64_t task, through;
};
struct owing {
    struct owed *list;
    struct control_failure *failed;
    uint32_t count, failed_count;
    uint64_t ended_through; /* 0: ended tasks are not among them */
};

static enum status owe_failures(struct edits_group *group, const struct edits *self, struct owing *owing, struct error *err)
{
    for (uint32_t i = 0; i < self->reply_count; i++) {
        const struct reply *reply = &self->replies[i];
        if (!reply->failed || reply->rank > self->committed || reply->rank <= self->acknowledged) {
            continue;
        }
        struct control_failure *failure = &owing->failed[owing->failed_count++];
        *failure = (struct control_failure){.rank = reply->rank, .task = self->spec.task};
        TRY_ALLOC(failure->code, arena_text(group->arena, reply->code, strlen(reply->code)), err);
        TRY_ALLOC(failure->reason, arena_text(group->arena, reply->reason, strlen(reply->reason)), err);
    }
    return STATUS_OK;
}

static enum status collect(struct edits_group *group, struct owing *owing, struct error *err)
{
    uint32_t tasks = 0;
    uint64_t rank = control_log_fold(group->log)->rank;
    for (const struct edits *self = group->first; self != NULL; self = self->next_of_group) {
        tasks++;
    }
    TRY_ALLOC(owing->list, arena_alloc(group->arena, (tasks + group->ended_count) * sizeof *owing->list + 1), err);
    TRY_ALLOC(owing->failed, arena_alloc(group->arena, tasks * REPLIES_MAX * sizeof *owing->failed + 1), err);
    for (const struct edits *self = group->first; self != NULL; self = self->next_of_group) {
        if (self->phase == EDITS_READY && self->committed > self->acknowledged) {
            owing->list[owing->count++] = (struct owed){self->spec.task, self->committed};
            TRY(owe_failures(group, self, owing, err));
        }
    }
    for (uint32_t i = 0; group->ended_acknowledged < rank && i < group->ended_count; i++) {
        owing->list[owing->count++] = (struct owed){group->ended[i], rank};
        owing->ended_through = rank;
    }
    return STATUS_OK;
}

static int compare_owed(const void *left, const void *right)
{
    const struct owed *a = left, *b = right;
    return a->through != b->through ? (a->through > b->through) - (a->through < b->through) : (a->task > b->task) - (a->task < b->task);
}

/* One record for those from `first` on that have committed through the same rank; all of a process as a rule. Gives the first of the rest.
 * A task that ended here is noted as ended before its edits are closed: it may be in the list twice. */
static enum status append_ack(struct edits_group *group, const struct owing *owing, uint32_t first, uint32_t *next, struct error *err)
{
    struct control_record record = {.kind = CONTROL_ACK, .ack = {.by = group->life, .through = owing->list[first].through}};
    struct control_ack *ack = &record.ack;
    uint64_t index;
    bool counted;
    uint32_t end = first;
    TRY_ALLOC(ack->tasks, arena_alloc(group->arena, owing->count * sizeof *ack->tasks), err);
    for (; end < owing->count && owing->list[end].through == ack->through; end++) {
        if (ack->task_count == 0 || ack->tasks[ack->task_count - 1] != owing->list[end].task) {
            ack->tasks[ack->task_count++] = owing->list[end].task;
        }
    }
    TRY_ALLOC(ack->failed, arena_alloc(group->arena, owing->failed_count * sizeof *ack->failed + 1), err);
    for (uint32_t i = 0; i < owing->failed_count; i++) {
        bool is_in = false;
        for (uint32_t k = 0; k < ack->task_count; k++) {
            is_in |= ack->tasks[k] == owing->failed[i].task;
        }
        if (is_in) {
            ack->failed[ack->failed_count++] = owing->failed[i];
        }
    }
    *next = end;
    return control_log_append(group->log, &record, &index, &counted, err);
}

static void note_acknowledged(struct edits_group *group, const struct owed *owed)
{
    for (struct edits *self = group->first; self != NULL; self = self->next_of_group) {
        if (self->phase == EDITS_READY && self->spec.task == owed->task && owed->through > self->acknowledged) {
            self->acknowledged = owed->through;
        }
    }
}

/* One cumulative acknowledgement for all that is committed here and has not been said yet (R14). */
static enum status acknowledge(struct edits_group *group, struct error *err)
{
    struct owing owing = {0};
    pthread_mutex_lock(&group->mutex);
    enum status status = collect(group, &owing, err);
    pthread_mutex_unlock(&group->mutex);
    if (status == STATUS_OK && owing.count > 0) {
        qsort(owing.list, owing.count, sizeof *owing.list, compare_owed);
    }
    for (uint32_t first = 0, next; status == STATUS_OK && first < owing.count; first = next) {
        next = owing.count;
        status = append_ack(group, &owing, first, &next, err);
        pthread_mutex_lock(&group->mutex);
        for (; status == STATUS_OK && first < next; first++) {
            note_acknowledged(group, &owing.list[first]);
        }
        pthread_cond_broadcast(&group->settled);
        pthread_mutex_unlock(&group->mutex);
    }
    if (status == STATUS_OK && owing.ended_through > 0) {
        group->ended_acknowledged = owing.ended_through;
    }
    return status;
}

void edits_group_note_ended(struct edits_group *group, uint64_t task)
{
    uint32_t place = 0;
    pthread_mutex_lock(&group->mutex);
    while (place < group->ended_count && group->ended[place] < task) {
        place++;
    }
    bool is_new = place == group->ended_count || group->ended[place] != task;
    if (is_new && growing_array_reserve(&group->ended, &group->ended_capacity, group->ended_count + 1, sizeof *group->ended)) {
        memmove(&group->ended[place + 1], &group->ended[place], (group->ended_count - place) * sizeof *group->ended);
        group->ended[place] = task;
        group->ended_count++;
        group->ended_acknowledged = 0; /* this one has said nothing yet */
        pthread_cond_signal(&group->changed);
    }
    pthread_mutex_unlock(&group->mutex);
}

/* ---- handing over ---- */

/* Replies to what is in the log are not needed any more; where this process decides, until it is closed. */
static void forget_replies(const struct edits_group *group, struct edits *self)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < self->reply_count; i++) {
        uint64_t rank = self->replies[i].rank;
        const struct control_entry *entry = control_fold_after(control_log_fold(group->log), rank - 1);
        bool closed = entry == NULL || entry->rank != rank || control_state_is_final(entry->state);
        if (group->spec.decides ? closed : rank <= self->acknowledged) {
            free(self->replies[i].result);
        } else {
            self->replies[kept++] = self->replies[i];
        }
    }
    self->reply_count = kept;
}

static const struct control_entry *next_for_tasks(const struct control_fold *fold, uint64_t rank)
{
    const struct control_entry *entry = control_fold_after(fold, rank);
    while (entry != NULL && entry->how == CONTROL_HOW_LEADER) {
        entry = control_fold_after(fold, entry->rank);
    }
    return entry;
}

static enum status hand_over(struct edits_group *group, struct edits *self, struct error *err)
{
    bool is_free = self->phase == EDITS_READY && !self->has_next && !self->is_taken && self->reply_count < REPLIES_MAX;
    const struct control_entry *entry = is_free ? next_for_tasks(control_log_fold(group->log), self->applied) : NULL;
    if (entry == NULL) {
        return STATUS_OK;
    }
    if (entry->propose.args == NULL) {
        return error_set(err, ERROR_STORE_CORRUPT, "edit %" PRIu64 " of the control log is settled, but this job has not applied it",
                         entry->rank);
    }
    arena_reset(self->next_arena);
    struct edit next = {.rank = entry->rank, .index = entry->index};
    TRY_ALLOC(next.verb, arena_text(self->next_arena, entry->propose.verb, strlen(entry->propose.verb)), err);
    TRY_ALLOC(next.args, arena_text(self->next_arena, entry->propose.args, strlen(entry->propose.args)), err);
    self->next = next;
    self->has_next = true;
    return STATUS_OK;
}

static enum status serve_tasks(struct edits_group *group, struct error *err)
{
    enum status status = STATUS_OK;
    pthread_mutex_lock(&group->mutex);
    for (struct edits *self = group->first; self != NULL && status == STATUS_OK; self = self->next_of_group) {
        forget_replies(group, self);
        status = hand_over(group, self, err);
    }
    pthread_mutex_unlock(&group->mutex);
    return status;
}

/* ---- the thread ---- */

static enum status read_log(struct edits_group *group, struct error *err)
{
    const struct edits_group_spec *spec = &group->spec;
    if (group->log == NULL) {
        TRY(control_log_open(spec->session, spec->prefix, spec->budget, NULL, &group->random, &group->log, err));
    }
    return control_log_read(group->log, err);
}

static enum status one_pass(struct edits_group *group, struct error *err)
{
    arena_reset(group->arena);
    enum status status = read_log(group, err);
    begin_tasks(group, status == STATUS_OK ? NULL : err);
    if (status != STATUS_OK) {
        return status;
    }
    TRY(acknowledge(group, err));
    if (group->spec.decides) {
        TRY(edits_lead(group, err));
    }
    return serve_tasks(group, err);
}

/* The same again is no news, until something worked. */
static void note_outcome(struct edits_group *group, bool good, const struct error *trouble)
{
    pthread_mutex_lock(&group->mutex);
    if (good) {
        group->trouble.text[0] = '\0';
    } else if (strcmp(group->trouble.text, trouble->text) != 0) {
        group->trouble_count++;
        group->trouble = *trouble;
    }
    pthread_mutex_unlock(&group->mutex);
}

/* How long until the next look; with the mutex. */
static int64_t wait_us(const struct edits_group *group)
{
    for (const struct edits *self = group->first; self != NULL; self = self->next_of_group) {
        if (self->phase == EDITS_NEW) {
            return 0;
        }
        if (self->leaving && self->acknowledged < self->committed) {
            return group->spec.poll_us / 5;
        }
    }
    return group->spec.poll_us;
}

static void *run_thread(void *context)
{
    struct edits_group *group = context;
    pthread_mutex_lock(&group->mutex);
    while (!group->leaving) {
        if (group->first != NULL || group->ended_count > 0) {
            struct error err = {0};
            pthread_mutex_unlock(&group->mutex);
            bool good = one_pass(group, &err) == STATUS_OK;
            note_outcome(group, good, &err);
            pthread_mutex_lock(&group->mutex);
        }
        int64_t us = group->leaving ? 0 : wait_us(group);
        if (us > 0) {
            condition_wait_us(&group->changed, &group->mutex, us);
        }
    }
    pthread_mutex_unlock(&group->mutex);
    return NULL;
}

/* ---- open, close ---- */

enum status edits_group_open(const struct edits_group_spec *spec, struct edits_group **group, struct error *err)
{
    struct edits_group *self = calloc(1, sizeof *self);
    if (self == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room for the control log of a job");
    }
    self->spec = *spec;
    pthread_mutex_init(&self->mutex, NULL);
    condition_init(&self->changed);
    condition_init(&self->settled);
    random_open(&self->random, 0);
    (void)life_text((struct life){spec->by, random_next(&self->random)}, self->life);
    self->arena = arena_create(spec->budget, "control log");
    enum status status = STATUS_OK;
    if (self->arena == NULL) {
        status = error_set(err, ERROR_BUDGET_SPENT, "no room for the control log of a job");
    } else if (pthread_create(&self->thread, NULL, run_thread, self) != 0) {
        status = error_set(err, ERROR_THREAD, "no thread for the control log");
    }
    self->has_thread = status == STATUS_OK;
    if (status != STATUS_OK) {
        edits_group_close(self);
        return status;
    }
    *group = self;
    return STATUS_OK;
}

void edits_group_close(struct edits_group *group)
{
    if (group == NULL) {
        return;
    }
    if (group->has_thread) {
        pthread_mutex_lock(&group->mutex);
        group->leaving = true;
        pthread_cond_signal(&group->changed);
        pthread_mutex_unlock(&group->mutex);
        pthread_join(group->thread, NULL);
    }
    edits_give_up_lead(group);
    control_log_close(group->log);
    arena_destroy(group->arena);
    free(group->ended);
    pthread_mutex_destroy(&group->mutex);
    pthread_cond_destroy(&group->changed);
    pthread_cond_destroy(&group->settled);
    free(group);
}
