/* How a job finds itself: its record by name, its lock, the checkpoint or savepoint to go on from; and the restore. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "job/checkpointer_internal.h"
#include "job/job_lock.h"
#include "job/state_copies.h"
#include "job/tick_record.h"

/* ---- the record ---- */

static enum status find_record(struct checkpointer *self, struct error *err)
{
    enum object_result result;
    TRY(job_record_find(self->spec.storage, self->spec.job, &result, self->id, err));
    if (result == OBJECT_OK) {
        return STATUS_OK;
    }
    struct job_record record = {.name = self->spec.job, .desired = DESIRED_RUNNING};
    TRY(job_record_create(self->spec.storage, &record, self->arena, &result,
                          err)); /* CONFLICT: another was first; its id is in the record */
    memcpy(self->id, record.id, sizeof self->id);
    return STATUS_OK;
}

/* ---- the checkpoint ---- */

uint32_t checkpoint_new_lineage(const struct checkpointer *self)
{
    return (uint32_t)hash_bytes(self->incarnation, strlen(self->incarnation));
}

static enum status forget_one(void *context, uint64_t number, bool *stop, struct error *err)
{
    (void)stop;
    struct checkpointer *self = context;
    enum object_result result;
    self->next_number = number >= self->next_number ? number + 1 : self->next_number;
    return checkpoint_remove(self->spec.storage, self->id, self->task, number, &result, err);
}

static enum status read_extra(struct checkpointer *self, struct error *err)
{
    return checkpoint_extra_read(&self->found, self->found_arena, &self->found_extra, err);
}

/* What the checkpoint holds depends on the policy of the job that wrote it. Those before there were policies have none. */
enum status checkpoint_check_policy(struct checkpointer *self, struct error *err)
{
    const char *policy = self->found_extra.policy == NULL ? "passive" : self->found_extra.policy;
    const char *wanted = availability_kept_as(self->spec.settings.availability);
    if (strcmp(policy, wanted) == 0) {
        return STATUS_OK;
    }
    return error_set(err, ERROR_STATE_MISFIT,
                     "checkpoint %llu of job '%s' was written under another 'high-availability.policy' than '%s', which keeps other things",
                     (unsigned long long)self->found.seq, self->spec.job, wanted);
}

static enum status note_number(void *context, uint64_t number, bool *stop, struct error *err)
{
    (void)err;
    struct checkpointer *self = context;
    self->next_number = number >= self->next_number ? number + 1 : self->next_number;
    *stop = true; /* newest first */
    return STATUS_OK;
}

/* Numbers of the checkpoints up to the one that was found, so that they are removed in their turn. */
static enum status note_retained(void *context, uint64_t number, bool *stop, struct error *err)
{
    (void)stop;
    (void)err;
    struct checkpointer *self = context;
    if (number <= self->found.seq && self->retained_count < RETAINED_MAX) {
        memmove(self->retained + 1, self->retained, self->retained_count * sizeof *self->retained);
        self->retained[0] = number;
        self->retained_count++;
    }
    return STATUS_OK;
}

/* The files of the checkpoint that was found are the first generation: they go when no kept checkpoint names them. */
static enum status adopt_files(struct checkpointer *self, struct error *err)
{
    struct generation *generation = &self->generations[0];
    uint32_t count = checkpoint_chain_count(&self->found);
    TRY_ALLOC(generation->chains, calloc(count + 1, sizeof *generation->chains), err);
    generation->chain_count = count;
    generation->last_number = self->found.seq;
    for (uint32_t i = 0; i < count; i++) {
        const struct checkpoint_table *table = &self->found.tables[i];
        for (uint32_t f = 0; f < table->file_count && f < CHAIN_FILES; f++) {
            generation->chains[i].files[generation->chains[i].count++] = table->files[f];
        }
    }
    self->generation_count = 1;
    return checkpoint_adopt_databases(self, err);
}

static const char *const how_it_goes_on[] = {
    [AVAILABILITY_PASSIVE] = "",
    [AVAILABILITY_NONE] = ", without its state and with what comes from now on",
    [AVAILABILITY_ACTIVE] = "",
    [AVAILABILITY_UPSTREAM_BACKUP] = ", reading its input again to make its state",
};

enum status checkpoint_take_found(struct checkpointer *self, struct error *err)
{
    self->has_found = true;
    TRY(read_extra(self, err));
    self->lineage = self->found_extra.lineage;
    if (self->generation_count > 0) {
        checkpoint_generation_close(&self->generations[0]);
    }
    self->generation_count = self->retained_count = 0;
    self->edits = self->edits_committed = self->found_extra.edits;
    self->start = self->found_extra.ended ? START_FINISHED : START_RESUMED;
    return adopt_files(self, err);
}

/* Damaged files show when they are read (checkpointer_fall_back): to look at all of them here would read them twice. */
static enum status find_checkpoint(struct checkpointer *self, struct error *err)
{
    struct storage *storage = self->spec.storage;
    const struct checkpoint_choice choice = {.verify = false, .may_fall_back = true};
    const char *skipped = NULL;
    enum object_result result;
    TRY(checkpoint_list(storage, self->id, self->task, note_number, self, err));
    TRY(checkpoint_find_valid(storage, self->id, self->task, &choice, self->found_arena, &result, &self->found, &skipped, err));
    if (result != OBJECT_OK) {
        return STATUS_OK;
    }
    TRY(checkpoint_take_found(self, err));
    TRY(checkpoint_check_policy(self, err));
    TRY(checkpoint_list(storage, self->id, self->task, note_retained, self, err));
    const char *savepoint = self->spec.settings.restore_from;
    TRY_ALLOC(self->message,
              arena_format(self->arena, "job '%s' %s checkpoint %llu%s%s%s%s%s%s", self->spec.job,
                           self->start == START_FINISHED ? "has finished with" : "goes on from", (unsigned long long)self->found.seq,
                           self->start == START_FINISHED ? "" : how_it_goes_on[self->spec.settings.availability],
                           savepoint == NULL ? "" : ", not from the savepoint '", savepoint == NULL ? "" : savepoint,
                           savepoint == NULL ? "" : "' (--fresh does that)",
                           skipped == NULL ? "" : "; damaged: ", skipped == NULL ? "" : skipped),
              err);
    return STATUS_OK;
}

/* The savepoint of a job of several tasks has one for each. */
static enum status choose_manifest(struct checkpointer *self, const char *place, struct error *err)
{
    for (uint32_t i = 0; i < self->savepoint.count; i++) {
        if (strcmp(self->savepoint.manifests[i].task, self->task) == 0) {
            self->found = self->savepoint.manifests[i];
            return STATUS_OK;
        }
    }
    return error_set(err, ERROR_STATE_MISFIT, "the savepoint at '%s' is of a job with other tasks: it has nothing of task '%s'", place,
                     self->task);
}

enum status checkpoint_find_savepoint(struct checkpointer *self, struct error *err)
{
    const char *place = self->spec.settings.restore_from;
    enum object_result result;
    TRY(savepoint_open(self->spec.storage, self->id, place, self->found_arena, &result, &self->savepoint, err));
    if (result != OBJECT_OK) {
        return error_set(err, ERROR_STORE_MISSING, "there is no complete savepoint at '%s'", place);
    }
    self->from_savepoint = self->has_found = true;
    TRY(choose_manifest(self, place, err));
    self->start = START_FROM_SAVEPOINT;
    TRY(read_extra(self, err));
    TRY(checkpoint_check_policy(self, err));
    if (self->found.seq >= self->next_number) { /* sinks tell by the numbers what came after */
        self->next_number = self->found.seq + 1;
    }
    TRY_ALLOC(self->message,
              arena_format(self->arena, "job '%s' starts from the savepoint '%s'%s", self->spec.job, place,
                           self->spec.settings.claims ? ", which is removed when checkpoints have taken its place" : ""),
              err);
    return STATUS_OK;
}

enum status checkpoint_find(struct checkpointer *self, struct error *err)
{
    TRY(find_record(self, err));
    bool hot = self->spec.settings.availability == AVAILABILITY_ACTIVE && self->spec.settings.standby;
    if (hot && !self->spec.settings.savepoint_only) {
        TRY(checkpoint_follow_find(self, err));
    }
    const struct job_lock_wish wish = {self->spec.job, self->spec.settings.standby, self->spec.cancelled, self->spec.wait};
    if (!self->following && self->lock < 0) {
        TRY(job_lock_take(self->spec.storage, self->id, &wish, &self->lock, err));
    }
    self->start = START_NEW;
    self->lineage = checkpoint_new_lineage(self); /* unless a checkpoint has one */
    if (self->spec.settings.savepoint_only) {
        return checkpoint_list(self->spec.storage, self->id, self->task, note_number, self, err);
    }
    if (self->spec.settings.fresh && !self->following) {
        TRY(checkpoint_list(self->spec.storage, self->id, self->task, forget_one, self, err));
    } else {
        TRY(find_checkpoint(self, err));
    }
    if (self->following) {
        TRY_ALLOC(self->message,
                  arena_format(self->arena, "job '%s' is run by another process; this one follows it from checkpoint %llu and stands by",
                               self->spec.job, (unsigned long long)self->found.seq),
                  err);
    }
    return !self->has_found && self->spec.settings.restore_from != NULL ? checkpoint_find_savepoint(self, err) : STATUS_OK;
}

/* ---- a damaged one ---- */

struct older {
    uint64_t than, number;
    bool found;
};

static enum status note_older(void *context, uint64_t number, bool *stop, struct error *err)
{
    (void)err;
    struct older *older = context;
    if (number < older->than) {
        older->number = number;
        older->found = *stop = true;
    }
    return STATUS_OK;
}

static enum status go_back(struct checkpointer *self, bool *found, struct error *err)
{
    struct storage *storage = self->spec.storage;
    struct older older = {.than = self->found.seq};
    enum object_result result = OBJECT_ABSENT;
    while (result != OBJECT_OK) {
        older.found = false;
        TRY(checkpoint_list(storage, self->id, self->task, note_older, &older, err));
        if (!older.found) {
            return STATUS_OK;
        }
        older.than = older.number;
        struct error ignored;
        if (checkpoint_read_manifest(storage, self->id, self->task, older.number, self->found_arena, &result, &self->found, &ignored) !=
            STATUS_OK) {
            result = OBJECT_ABSENT; /* damaged too */
        }
    }
    *found = true;
    TRY(checkpoint_take_found(self, err));
    return checkpoint_list(storage, self->id, self->task, note_retained, self, err);
}

enum status checkpointer_fall_back(struct checkpointer *self, const struct error *damage, bool *found, const char **message,
                                   struct error *err)
{
    *found = false;
    if (!self->from_savepoint) {
        TRY(checkpointer_is_task(self) ? checkpoint_task_go_back(self, found, err) : go_back(self, found, err));
    }
    if (!*found) {
        return STATUS_OK;
    }
    TRY_ALLOC(*message,
              arena_format(self->arena, "job '%s' goes on from checkpoint %llu, for a newer one is damaged: %.500s", self->spec.job,
                           (unsigned long long)self->found.seq, damage->text),
              err);
    return STATUS_OK;
}

/* ---- restore ---- */

static enum status read_stored(void *context, const struct checkpoint_file *file, const struct object_sink *sink, struct error *err)
{
    const struct checkpointer *self = context;
    enum status status;
    bool copies = !self->from_savepoint && self->spec.task != NULL && self->spec.task->copies != NULL;
    if (copies && state_copies_give(self->spec.task->copies, file, sink, &status, err)) {
        return status;
    }
    return self->from_savepoint ? savepoint_open_file(&self->savepoint, file, sink, err)
                                : checkpoint_open_file(self->spec.storage, file, sink, err);
}

static enum status read_file(void *context, uint32_t chain, uint32_t file, const struct object_sink *sink, struct error *err)
{
    const struct checkpointer *self = context;
    return read_stored(context, &self->found.tables[chain].files[file], sink, err);
}

static enum status name_chains(struct checkpointer *self, struct job_image *image, struct error *err)
{
    struct job_chain *chains;
    TRY_ALLOC(chains, arena_alloc(self->found_arena, (image->chain_count + 1) * sizeof *chains), err);
    for (uint32_t i = 0; i < image->chain_count; i++) {
        const struct checkpoint_table *table = &self->found.tables[i];
        const char **files;
        TRY_ALLOC(files, arena_alloc(self->found_arena, (table->file_count + 1) * sizeof *files), err);
        for (uint32_t f = 0; f < table->file_count; f++) {
            files[f] = table->files[f].key;
        }
        chains[i] = (struct job_chain){files, table->file_count};
    }
    image->chains = chains;
    return STATUS_OK;
}

static enum status name_databases(struct checkpointer *self, struct job_image *image, struct error *err)
{
    struct cold_source *sources;
    image->database_count = self->found.table_count - image->chain_count;
    image->database_identity = self->found_extra.databases;
    TRY_ALLOC(sources, arena_alloc(self->found_arena, (image->database_count + 1) * sizeof *sources), err);
    for (uint32_t i = 0; i < image->database_count; i++) {
        sources[i] = (struct cold_source){&self->found.tables[image->chain_count + i], read_stored, self};
    }
    image->databases = sources;
    return STATUS_OK;
}

enum status checkpointer_restore(struct checkpointer *self, struct job *job, struct error *err)
{
    TRY(checkpoint_note_operators(self, job, err));
    checkpoint_follow_prepare(self, job);
    if (!self->following) {
        checkpoint_lead_prepare(self, job);
        TRY(checkpoint_lead_begin(self, job, err));
    }
    if (!self->has_found) {
        return STATUS_OK;
    }
    struct job_image image = {.chain_count = checkpoint_chain_count(&self->found),
                              .read = read_file,
                              .context = self,
                              .ignore_unclaimed = self->spec.settings.ignore_unclaimed};
    bool adopted;
    TRY(name_chains(self, &image, err));
    TRY(name_databases(self, &image, err));
    TRY(job_restore(job, &image, &adopted, err));
    if (!adopted) {
        checkpoint_disown_databases(self);
    }
    /* The first checkpoint is full: not before the job has gone on for a while. */
    self->last_started_us = self->last_ended_us = self->spec.clock->monotonic_us(self->spec.clock);
    return self->start == START_FINISHED ? STATUS_OK : job_replay_begin(job, err);
}

/* ---- in the place of another process ---- */

enum status checkpoint_adopt(struct checkpointer *self, uint64_t number, bool *ended, struct error *err)
{
    enum object_result result;
    TRY(checkpoint_read_manifest(self->spec.storage, self->id, self->task, number, self->found_arena, &result, &self->found, err));
    if (result != OBJECT_OK) {
        return error_set(err, ERROR_STORE_MISSING, "checkpoint %llu has vanished", (unsigned long long)number);
    }
    TRY(read_extra(self, err));
    self->edits = self->edits_committed = self->found_extra.edits;
    *ended = self->found_extra.ended;
    self->next_number = number + 1;
    self->generations[0].last_number = number;
    self->retained_count = 0;
    return checkpoint_list(self->spec.storage, self->id, self->task, note_retained, self, err);
}
