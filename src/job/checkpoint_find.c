/* How a job finds itself: its record by name, its lock, the checkpoint or savepoint to go on from; and the restore. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "job/checkpointer_internal.h"
#include "storage/file_system.h"

/* A process that was killed holds its lock until the kernel has cleared it away: that is waited for. */
enum { LOCK_POLL_US = 20000, LOCK_PATIENCE_US = 2000000, PATH_BYTES = 4096 };

/* ---- the lock ---- */

/* The folder of a file store; NULL: another kind, where manifests alone fence. */
static const char *store_folder(const char *uri)
{
    if (strncmp(uri, "file://", 7) == 0) {
        return uri + 7;
    }
    return strstr(uri, "://") == NULL ? uri : NULL;
}

static enum status lock_refused(struct checkpointer *self, struct error *err)
{
    char owner[32] = {0};
    ssize_t length = pread(self->lock, owner, sizeof owner - 1, 0);
    return error_set(err, ERROR_JOB_TAKEN, "job '%s' is run by another process%s%s", self->spec.job, length > 0 ? ", " : "", owner);
}

enum status checkpoint_take_lock(struct checkpointer *self, struct error *err)
{
    const char *folder = store_folder(storage_uri(self->spec.storage, STORE_JOBS));
    char path[PATH_BYTES], owner[32];
    if (folder == NULL) {
        return STATUS_OK;
    }
    snprintf(path, sizeof path, "%s/locks", folder);
    if (!file_system_make_folders(&file_system_real, path)) {
        return error_set(err, ERROR_STORE_UNAVAILABLE, "cannot make the folder '%s': %s", path, strerror(errno));
    }
    snprintf(path, sizeof path, "%s/locks/%s", folder, self->id);
    self->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (self->lock < 0) {
        return error_set(err, ERROR_STORE_UNAVAILABLE, "cannot open the lock '%s': %s", path, strerror(errno));
    }
    for (int64_t waited_us = 0; flock(self->lock, LOCK_EX | LOCK_NB) != 0; waited_us += LOCK_POLL_US) {
        bool cancelled = self->spec.cancelled != NULL && atomic_load(self->spec.cancelled);
        if ((!self->spec.settings.standby && waited_us >= LOCK_PATIENCE_US) || cancelled) {
            return lock_refused(self, err);
        }
        usleep(LOCK_POLL_US);
    }
    int length = snprintf(owner, sizeof owner, "process %d", (int)getpid());
    if (ftruncate(self->lock, 0) != 0 || pwrite(self->lock, owner, (size_t)length, 0) != length) {
        return error_set(err, ERROR_STORE_UNAVAILABLE, "cannot write the lock '%s': %s", path, strerror(errno));
    }
    return STATUS_OK;
}

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

static enum status forget_one(void *context, uint64_t number, bool *stop, struct error *err)
{
    (void)stop;
    struct checkpointer *self = context;
    enum object_result result;
    self->next_number = number >= self->next_number ? number + 1 : self->next_number;
    return checkpoint_remove(self->spec.storage, self->id, CHECKPOINT_TASK, number, &result, err);
}

static bool manifest_has_ended(const struct checkpoint_manifest *manifest)
{
    return manifest->extra != NULL && strstr(manifest->extra, "\"ended\":true") != NULL;
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
    TRY_ALLOC(generation->chains, calloc(self->found.table_count + 1, sizeof *generation->chains), err);
    generation->chain_count = self->found.table_count;
    generation->last_number = self->found.seq;
    for (uint32_t i = 0; i < self->found.table_count; i++) {
        const struct checkpoint_table *table = &self->found.tables[i];
        for (uint32_t f = 0; f < table->file_count && f < CHAIN_FILES; f++) {
            generation->chains[i].files[generation->chains[i].count++] = table->files[f];
        }
    }
    self->generation_count = 1;
    return STATUS_OK;
}

static enum status find_checkpoint(struct checkpointer *self, struct error *err)
{
    struct storage *storage = self->spec.storage;
    const struct checkpoint_choice choice = {.verify = true, .may_fall_back = true};
    const char *skipped = NULL;
    enum object_result result;
    TRY(checkpoint_list(storage, self->id, CHECKPOINT_TASK, note_number, self, err));
    TRY(checkpoint_find_valid(storage, self->id, CHECKPOINT_TASK, &choice, self->found_arena, &result, &self->found, &skipped, err));
    if (result != OBJECT_OK) {
        return STATUS_OK;
    }
    self->has_found = true;
    TRY(adopt_files(self, err));
    self->start = manifest_has_ended(&self->found) ? START_FINISHED : START_RESUMED;
    TRY(checkpoint_list(storage, self->id, CHECKPOINT_TASK, note_retained, self, err));
    TRY_ALLOC(self->message,
              arena_format(self->arena, "job '%s' %s checkpoint %llu%s%s", self->spec.job,
                           self->start == START_FINISHED ? "has finished with" : "goes on from", (unsigned long long)self->found.seq,
                           skipped == NULL ? "" : "; damaged: ", skipped == NULL ? "" : skipped),
              err);
    return STATUS_OK;
}

static enum status find_savepoint(struct checkpointer *self, struct error *err)
{
    const char *place = self->spec.settings.restore_from;
    enum object_result result;
    TRY(savepoint_open(self->spec.storage, self->id, place, self->found_arena, &result, &self->savepoint, err));
    if (result != OBJECT_OK || self->savepoint.count != 1) {
        return error_set(err, ERROR_STORE_MISSING, "there is no complete savepoint at '%s'", place);
    }
    self->from_savepoint = self->has_found = true;
    self->found = self->savepoint.manifests[0];
    self->start = START_FROM_SAVEPOINT;
    TRY_ALLOC(self->message, arena_format(self->arena, "job '%s' starts from the savepoint '%s'", self->spec.job, place), err);
    return STATUS_OK;
}

enum status checkpoint_find(struct checkpointer *self, struct error *err)
{
    TRY(find_record(self, err));
    TRY(checkpoint_take_lock(self, err));
    self->start = START_NEW;
    if (self->spec.settings.fresh) {
        TRY(checkpoint_list(self->spec.storage, self->id, CHECKPOINT_TASK, forget_one, self, err));
    } else {
        TRY(find_checkpoint(self, err));
    }
    return !self->has_found && self->spec.settings.restore_from != NULL ? find_savepoint(self, err) : STATUS_OK;
}

/* ---- restore ---- */

static enum status read_file(void *context, uint32_t chain, uint32_t file, const struct object_sink *sink, struct error *err)
{
    struct checkpointer *self = context;
    const struct checkpoint_file *found = &self->found.tables[chain].files[file];
    return self->from_savepoint ? savepoint_open_file(&self->savepoint, found, sink, err)
                                : checkpoint_open_file(self->spec.storage, found, sink, err);
}

enum status checkpointer_restore(struct checkpointer *self, struct job *job, struct error *err)
{
    TRY(checkpoint_note_operators(self, job, err));
    if (!self->has_found) {
        return STATUS_OK;
    }
    struct job_chain *chains;
    TRY_ALLOC(chains, arena_alloc(self->found_arena, (self->found.table_count + 1) * sizeof *chains), err);
    for (uint32_t i = 0; i < self->found.table_count; i++) {
        const struct checkpoint_table *table = &self->found.tables[i];
        const char **files;
        TRY_ALLOC(files, arena_alloc(self->found_arena, (table->file_count + 1) * sizeof *files), err);
        for (uint32_t f = 0; f < table->file_count; f++) {
            files[f] = table->files[f].key;
        }
        chains[i] = (struct job_chain){files, table->file_count};
    }
    const struct job_image image = {chains, self->found.table_count, read_file, self, self->spec.settings.ignore_unclaimed};
    return job_restore(job, &image, err);
}
