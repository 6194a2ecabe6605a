/* The checkpoints of a task of a job on several processes: the commit record says which one counts, and whose the next one may be. A former
 * owner may still be at work: it can store manifests and files, under numbers and names of its own, but nothing makes the record name them. */
#include <string.h>

#include "base/condition.h"
#include "job/checkpointer_internal.h"

/* ---- opening ---- */

struct listing { /* numbers of manifests, newest first */
    struct arena *arena;
    uint64_t *numbers;
    uint32_t count, capacity;
};

static enum status note_listed(void *context, uint64_t number, bool *stop, struct error *err)
{
    (void)stop;
    struct listing *self = context;
    TRY_ALLOC(self->numbers, arena_grow(self->arena, self->numbers, &self->capacity, self->count + 1, sizeof *self->numbers), err);
    self->numbers[self->count++] = number;
    return STATUS_OK;
}

/* An id is looked for first: another job may have it as its name. */
static enum status find_record(struct checkpointer *self, struct error *err)
{
    const struct checkpoint_task *task = self->spec.task;
    const char *job = task->job != NULL ? task->job : self->spec.job;
    struct job_record record;
    enum object_result result = OBJECT_ABSENT;
    if (strlen(job) <= JOB_ID_MAX) {
        TRY(job_record_read(self->spec.storage, job, self->arena, &result, &record, err));
    }
    if (result != OBJECT_OK) {
        TRY(job_find(self->spec.storage, job, self->arena, &record, err));
    }
    memcpy(self->id, record.id, sizeof self->id);
    return STATUS_OK;
}

static enum status open_record(struct checkpointer *self, struct error *err)
{
    const struct checkpoint_task *task = self->spec.task;
    uint64_t first, last;
    if (!task_run_parse(task->name, &first, &last) || first != last) {
        return error_set(err, ERROR_INVALID_OPTION, "'%s' is no task: they are called all, s0.0, s0.1", task->name);
    }
    self->sweeps = first == TASK_ALL || (task_stage(first) == 0 && task_partition(first) == 0);
    return commit_store_open(&self->commit, task->session, task->prefix, first, task->epoch, task->life, err);
}

/* Settings that mean something else, or nothing, to one task of several. */
static void adapt_settings(struct checkpointer *self)
{
    struct checkpoint_settings *settings = &self->spec.settings;
    settings->availability = settings->availability == AVAILABILITY_ACTIVE ? AVAILABILITY_PASSIVE : settings->availability;
    settings->fresh = settings->standby = settings->savepoint_only = false;
    settings->claims = settings->claims && strcmp(self->task, CHECKPOINT_TASK) == 0;
}

static enum status read_counted(struct checkpointer *self, uint64_t number, struct error *err)
{
    enum object_result result;
    TRY(checkpoint_read_manifest(self->spec.storage, self->id, self->task, number, self->found_arena, &result, &self->found, err));
    if (result != OBJECT_OK) {
        return error_set(err, ERROR_STORE_MISSING,
                         "checkpoint %llu of task %s of job '%s' is not in the storage, but its commit record names it",
                         (unsigned long long)number, self->task, self->id);
    }
    return STATUS_OK;
}

/* What the record keeps goes in its turn. */
static void retain_kept(struct checkpointer *self)
{
    const struct commit_record *record = &self->commit.record;
    uint32_t skip = record->kept_count == RETAINED_MAX;
    self->retained_count = record->kept_count - skip;
    memcpy(self->retained, record->kept + skip, self->retained_count * sizeof *record->kept);
    self->retained[self->retained_count++] = record->seq;
}

static enum status go_on_from_found(struct checkpointer *self, struct error *err)
{
    TRY(checkpoint_take_found(self, err));
    TRY(checkpoint_check_policy(self, err));
    retain_kept(self);
    return STATUS_OK;
}

/* Damaged files show when they are read; a damaged manifest shows here. */
static enum status find_counted(struct checkpointer *self, const char **skipped, struct error *err)
{
    bool found = true;
    enum status status = read_counted(self, self->commit.record.seq, err);
    if (status == STATUS_CORRUPT) {
        struct error damage = *err;
        TRY(checkpoint_task_go_back(self, &found, err));
        *err = damage;
        TRY_ALLOC(*skipped, arena_text(self->arena, damage.text, strlen(damage.text)), err);
        return found ? checkpoint_check_policy(self, err) : status;
    }
    TRY(status);
    return go_on_from_found(self, err);
}

static bool is_retained(const struct checkpointer *self, uint64_t number)
{
    for (uint32_t i = 0; i < self->retained_count; i++) {
        if (self->retained[i] == number) {
            return true;
        }
    }
    return false;
}

/* What former owners stored and the record does not name can never count any more, whenever they stored it. */
static enum status remove_uncounted(struct checkpointer *self, const struct listing *listed, struct error *err)
{
    uint64_t own = commit_first_number(self->commit.record.generation);
    for (uint32_t i = 0; i < listed->count; i++) {
        enum object_result result;
        if (listed->numbers[i] < own && !is_retained(self, listed->numbers[i])) {
            TRY(checkpoint_remove(self->spec.storage, self->id, self->task, listed->numbers[i], &result, err));
        }
    }
    return STATUS_OK;
}

static enum status tell_start(struct checkpointer *self, const char *skipped, struct error *err)
{
    if (self->start == START_NEW || self->start == START_FROM_SAVEPOINT) {
        return STATUS_OK;
    }
    TRY_ALLOC(self->message,
              arena_format(self->arena, "task %s of job '%s' %s checkpoint %llu%s%s", self->task, self->id,
                           self->start == START_FINISHED ? "has finished with" : "goes on from", (unsigned long long)self->found.seq,
                           skipped == NULL ? "" : ", for a newer one is damaged: ", skipped == NULL ? "" : skipped),
              err);
    return STATUS_OK;
}

static enum status take_record(struct checkpointer *self, uint64_t listed, struct error *err)
{
    struct commit_record record;
    TRY(commit_record_take(&self->commit, listed, &record, err));
    self->next_number = commit_first_number(record.generation);
    return STATUS_OK;
}

/* Its number may be of a later generation than this owner's, and sinks tell by numbers what came after it: then the task is taken again. */
static enum status begin_from_savepoint(struct checkpointer *self, struct error *err)
{
    TRY(checkpoint_find_savepoint(self, err));
    if (self->found.seq < commit_first_number(self->commit.record.generation)) {
        return STATUS_OK;
    }
    commit_store_close(&self->commit);
    TRY(open_record(self, err));
    return take_record(self, self->found.seq, err);
}

enum status checkpoint_task_find(struct checkpointer *self, struct error *err)
{
    struct listing listed = {.arena = self->found_arena};
    const char *skipped = NULL;
    TRY(find_record(self, err));
    TRY_ALLOC(self->task, arena_text(self->arena, self->spec.task->name, strlen(self->spec.task->name)), err);
    adapt_settings(self);
    TRY(open_record(self, err));
    TRY(checkpoint_list(self->spec.storage, self->id, self->task, note_listed, &listed, err));
    TRY(take_record(self, listed.count == 0 ? 0 : listed.numbers[0], err));
    self->start = START_NEW;
    self->lineage = checkpoint_new_lineage(self);
    if (self->commit.record.seq > 0) {
        TRY(find_counted(self, &skipped, err));
    } else if (self->spec.settings.restore_from != NULL) {
        TRY(begin_from_savepoint(self, err));
    }
    TRY(remove_uncounted(self, &listed, err));
    return tell_start(self, skipped, err);
}

/* ---- going back ---- */

/* Only to one that counted and is whole. The record says so before anything is done that the damaged one does not know of: whoever finds that
 * one good after all would take for shown what has been taken back. */
enum status checkpoint_task_go_back(struct checkpointer *self, bool *found, struct error *err)
{
    struct commit_record record = self->commit.record;
    struct error ignored;
    *found = false;
    while (record.kept_count > 0 && !*found) {
        record.seq = record.kept[--record.kept_count];
        enum status status = read_counted(self, record.seq, &ignored);
        if (status == STATUS_OK) {
            status = checkpoint_verify(self->spec.storage, &self->found, &ignored);
        }
        if (status != STATUS_OK && status != STATUS_CORRUPT) {
            *err = ignored;
            return status;
        }
        *found = status == STATUS_OK;
    }
    if (!*found) {
        return STATUS_OK;
    }
    TRY(checkpoint_take_found(self, err));
    record.ctl_rank = self->found_extra.edits;
    record.ended = self->found_extra.ended;
    TRY(commit_record_put(&self->commit, &record, err));
    retain_kept(self);
    return STATUS_OK;
}

/* ---- counting ---- */

enum { RETRY_US = 100000, RETRY_MAX_US = 2000000, LOOK_EVERY = 64 /* checkpoints */ };

/* false: the checkpointer is being closed, or the job was cancelled. */
static bool wait_to_retry(struct checkpointer *self, int64_t wait_us)
{
    const atomic_bool *cancelled = self->spec.cancelled;
    pthread_mutex_lock(&self->mutex);
    if (!self->leaving) {
        condition_wait_us(&self->changed, &self->mutex, wait_us);
    }
    bool leaving = self->leaving;
    pthread_mutex_unlock(&self->mutex);
    return !leaving && (cancelled == NULL || !atomic_load(cancelled));
}

static void next_record(const struct checkpointer *self, struct commit_record *next)
{
    const struct pending *pending = &self->pending;
    uint32_t keep = (uint32_t)self->spec.settings.retained - 1, skip = self->retained_count > keep ? self->retained_count - keep : 0;
    *next = (struct commit_record){.seq = pending->number, .ctl_rank = pending->edits, .ended = pending->ended};
    next->kept_count = self->retained_count - skip;
    memcpy(next->kept, self->retained + skip, next->kept_count * sizeof *next->kept);
}

static int64_t now_us(const struct checkpointer *self)
{
    return self->spec.clock->monotonic_us(self->spec.clock);
}

static bool may_pass(enum status status)
{
    return status == STATUS_UNAVAILABLE || status == STATUS_CORRUPT;
}

static void tell_wait(const struct checkpointer *self, const struct error *err)
{
    struct journal *journal = self->spec.journal == NULL ? NULL : *self->spec.journal;
    journal_event(journal, LOG_WARN, "commit.wait", "checkpoint %llu of task %s is stored and waits to count: %s",
                  (unsigned long long)self->pending.number, self->task, err->text);
}

/* The manifest is stored: a service that is away for a while costs nothing but time. */
enum status checkpoint_task_count(struct checkpointer *self, struct error *err)
{
    struct commit_record next;
    int64_t until_us = now_us(self) + self->spec.settings.timeout_us, wait_us = RETRY_US;
    next_record(self, &next);
    enum status status = commit_record_put(&self->commit, &next, err);
    if (may_pass(status)) {
        tell_wait(self, err);
    }
    while (may_pass(status) && now_us(self) < until_us && wait_to_retry(self, wait_us)) {
        wait_us = 2 * wait_us < RETRY_MAX_US ? 2 * wait_us : RETRY_MAX_US;
        status = commit_record_put(&self->commit, &next, err);
    }
    if (status != STATUS_OK && self->uncounted_count < UNCOUNTED_MAX) {
        self->uncounted[self->uncounted_count++] = self->pending.number; /* its put may yet be done: so nothing of it is removed now */
    }
    return status;
}

/* A former owner may have stored a manifest after this one had looked. */
static enum status look_for_leftovers(struct checkpointer *self, struct error *err)
{
    struct listing listed = {.arena = arena_create(self->spec.budget, "manifests")};
    TRY_ALLOC(listed.arena, listed.arena, err);
    enum status status = checkpoint_list(self->spec.storage, self->id, self->task, note_listed, &listed, err);
    if (status == STATUS_OK) {
        status = remove_uncounted(self, &listed, err);
    }
    arena_destroy(listed.arena);
    return status;
}

enum status checkpoint_task_prune(struct checkpointer *self, struct error *err)
{
    while (self->uncounted_count > 0) {
        enum object_result result;
        TRY(checkpoint_remove(self->spec.storage, self->id, self->task, self->uncounted[self->uncounted_count - 1], &result, err));
        self->uncounted_count--;
    }
    return self->pending.number % LOOK_EVERY == 2 ? look_for_leftovers(self, err) : STATUS_OK;
}
