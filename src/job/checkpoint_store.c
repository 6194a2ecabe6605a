/* The thread that brings a checkpoint to the storage. The job's thread touches `pending` and the generations only while the thread is not
 * BUSY. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/condition.h"
#include "job/checkpointer_internal.h"
#include "job/job_lock.h"

enum { LISTEN_US = 5000000 };

void checkpoint_generation_close(struct generation *generation)
{
    if (generation->arena != NULL) {
        arena_destroy(generation->arena);
    }
    free(generation->chains);
    *generation = (struct generation){0};
}

enum status checkpoint_generation_open(struct checkpointer *self, uint32_t chain_count, struct error *err)
{
    struct generation opened = {.arena = arena_create(self->spec.budget, "checkpoint files"),
                                .chains = calloc(chain_count, sizeof *opened.chains),
                                .chain_count = chain_count};
    if (opened.arena == NULL || opened.chains == NULL || self->generation_count == GENERATIONS_MAX) {
        checkpoint_generation_close(&opened);
        return error_set(err, ERROR_BUDGET_SPENT, "no room for the files of a checkpoint");
    }
    self->generations[self->generation_count++] = opened;
    return STATUS_OK;
}

static enum status append_bytes(void *context, const void *bytes, size_t length, struct error *err)
{
    struct text_builder *file = context;
    text_append(file, bytes, length);
    return file->failed ? error_set(err, ERROR_BUDGET_SPENT, "no room for a file of state") : STATUS_OK;
}

/* Rows that were written to a temporary file as they came. */
static enum status store_stream(struct checkpointer *self, struct checkpoint_writer *writer, struct generation *generation, uint32_t worker,
                                struct error *err)
{
    struct pending *pending = &self->pending;
    struct chain *chain = &generation->chains[worker];
    FILE *stream = pending->streams[worker];
    uint64_t rows = snapshot_rows(pending->writers[worker]);
    TRY(snapshot_finish(pending->writers[worker], checkpoint_put_temporary, stream, err));
    if (fflush(stream) != 0) {
        return checkpoint_put_temporary(stream, "", 1, err);
    }
    const struct object_source source = {.bytes = (uint64_t)ftello(stream), .read = checkpoint_read_temporary, .context = stream};
    TRY(checkpoint_add_file(writer, &source, rows, generation->arena, &chain->files[chain->count], err));
    chain->count++;
    pending->rows += rows;
    pending->live += snapshot_live(pending->writers[worker]);
    pending->bytes += source.bytes;
    return STATUS_OK;
}

static enum status store_file(struct checkpointer *self, struct checkpoint_writer *writer, struct generation *generation, uint32_t worker,
                              struct error *err)
{
    struct pending *pending = &self->pending;
    struct chain *chain = &generation->chains[worker];
    struct text_builder file = {0};
    assert(chain->count < CHAIN_FILES);
    enum status status = snapshot_finish(pending->writers[worker], append_bytes, &file, err);
    uint64_t rows = snapshot_rows(pending->writers[worker]);
    if (status == STATUS_OK) {
        status = checkpoint_add_bytes(writer, file.bytes, file.length, rows, generation->arena, &chain->files[chain->count], err);
    }
    if (status == STATUS_OK) {
        chain->count++;
        pending->rows += rows;
        pending->live += snapshot_live(pending->writers[worker]);
        pending->bytes += file.length;
    }
    text_builder_close(&file);
    return status;
}

static enum status commit_in(struct checkpointer *self, struct checkpoint_writer *writer, const struct generation *generation,
                             struct arena *arena, struct error *err)
{
    const struct pending *pending = &self->pending;
    uint32_t table_count = generation->chain_count + pending->database_count;
    struct checkpoint_table *tables;
    const char *extra;
    TRY_ALLOC(tables, arena_alloc(arena, table_count * sizeof *tables), err);
    const struct checkpoint_extra noted = {.ended = pending->ended,
                                           .counted = self->commit.record.seq,
                                           .policy = availability_kept_as(self->spec.settings.availability),
                                           .lineage = self->lineage,
                                           .workers = generation->chain_count,
                                           .ticks = pending->ticks,
                                           .edits = pending->edits,
                                           .databases = pending->identity};
    TRY(checkpoint_extra_write(&noted, arena, &extra, err));
    for (uint32_t i = 0; i < generation->chain_count; i++) {
        const struct chain *chain = &generation->chains[i];
        tables[i] = (struct checkpoint_table){.name = arena_format(arena, "worker-%u", i),
                                              .kind = chain->count > 1 ? "delta" : "full",
                                              .files = chain->files,
                                              .file_count = chain->count};
    }
    TRY(checkpoint_store_databases(self, writer, arena, tables + generation->chain_count, err));
    const struct checkpoint_manifest manifest = {.seq = pending->number,
                                                 .epoch = self->commit.epoch,
                                                 .base = pending->full ? -1 : (int64_t)pending->number - 1,
                                                 .tables = tables,
                                                 .table_count = table_count,
                                                 .watermark_ms = INT64_MIN,
                                                 .build = SPATE_VERSION,
                                                 .extra = extra};
    enum object_result result = OBJECT_OK;
    TRY(checkpoint_commit(writer, &manifest, &result, err));
    if (result != OBJECT_OK) {
        return error_set(err, ERROR_JOB_TAKEN,
                         "checkpoint %llu of job '%s' was written by another process: this one no longer owns the job",
                         (unsigned long long)pending->number, self->spec.job);
    }
    return STATUS_OK;
}

static enum status commit(struct checkpointer *self, struct checkpoint_writer *writer, const struct generation *generation,
                          struct error *err)
{
    struct arena *arena;
    TRY_ALLOC(arena, arena_create(self->spec.budget, "manifest"), err);
    enum status status = commit_in(self, writer, generation, arena, err);
    arena_destroy(arena);
    return status;
}

/* After a failure the next checkpoint is full: the files that were stored stay unnamed. */
static enum status store(struct checkpointer *self, struct error *err)
{
    struct pending *pending = &self->pending;
    struct checkpoint_writer *writer;
    if (pending->full) {
        TRY(checkpoint_generation_open(self, pending->writer_count, err));
    }
    struct generation *generation = &self->generations[self->generation_count - 1];
    assert(generation->chain_count == pending->writer_count);
    TRY(checkpoint_begin(self->spec.storage, self->id, self->task, self->incarnation, &writer, err));
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < pending->writer_count && status == STATUS_OK; i++) {
        status = pending->streams != NULL ? store_stream(self, writer, generation, i, err) : store_file(self, writer, generation, i, err);
    }
    if (status == STATUS_OK) {
        status = commit(self, writer, generation, err);
    }
    if (status == STATUS_OK && checkpointer_is_task(self)) {
        status = checkpoint_task_count(self, err);
    }
    checkpoint_end(writer);
    checkpoint_drop_folder(self);
    checkpoint_settle_databases(self, status == STATUS_OK);
    if (status == STATUS_OK) {
        generation->last_number = pending->number;
    } else if (pending->full) {
        checkpoint_generation_close(&self->generations[--self->generation_count]);
    }
    return status;
}

static void checkpoint_listen(struct checkpointer *self)
{
    if (self->listens && !atomic_load(&self->asked) && job_request_is_there(self->spec.storage, self->id)) {
        atomic_store(&self->asked, true);
    }
}

bool checkpointer_is_asked(struct checkpointer *self)
{
    return atomic_exchange(&self->asked, false);
}

/* Called with the mutex. Waits until there is something to do; meanwhile looks every few seconds whether somebody asks for something. */
static void wait_for_work(struct checkpointer *self)
{
    while (self->writing != WRITING_BUSY && !self->leaving) {
        const struct timespec until = condition_deadline(LISTEN_US);
        if (!self->listens) {
            pthread_cond_wait(&self->changed, &self->mutex);
        } else if (!condition_wait(&self->changed, &self->mutex, &until)) {
            pthread_mutex_unlock(&self->mutex);
            checkpoint_listen(self);
            pthread_mutex_lock(&self->mutex);
        }
    }
}

/* Where there are fewer cores than threads, ticks come first. It still gets a third of what a worker does: a checkpoint takes longer, not for
 * ever. */
static void lower_priority(void)
{
    enum { STORING_NICE = 5 };
    (void)setpriority(PRIO_PROCESS, (id_t)gettid(), STORING_NICE); /* of this thread only; if not, it is as important as the others */
}

static enum status tidy(struct checkpointer *self, struct error *err)
{
    struct error ignored;
    TRY(checkpoint_prune(self, err));
    if (checkpoint_wants_merge(self)) {
        (void)!checkpoint_merge(self, &ignored); /* if not, the chains serve as they are */
    }
    return STATUS_OK;
}

static void *thread_main(void *context)
{
    struct checkpointer *self = context;
    lower_priority();
    pthread_mutex_lock(&self->mutex);
    for (;;) {
        wait_for_work(self);
        if (self->writing != WRITING_BUSY) {
            break;
        }
        pthread_mutex_unlock(&self->mutex);
        enum status status = store(self, &self->error);
        pthread_mutex_lock(&self->mutex);
        self->status = status;
        self->writing = status == STATUS_OK ? WRITING_DONE : WRITING_FAILED;
        self->tidying = status == STATUS_OK;
        pthread_cond_broadcast(&self->changed);
        pthread_mutex_unlock(&self->mutex);
        struct error ignored, error;
        status = status == STATUS_OK ? tidy(self, &error) : STATUS_OK;
        pthread_mutex_lock(&self->mutex);
        if (status != STATUS_OK) {
            self->tidy_status = status;
            self->tidy_error = error;
        }
        self->tidying = false;
        pthread_cond_broadcast(&self->changed);
        pthread_mutex_unlock(&self->mutex);
        if (self->sweeps) {
            (void)!storage_sweep_due(&self->sweeper, self->spec.storage, &ignored); /* if not, the next time */
        }
        checkpoint_listen(self);
        pthread_mutex_lock(&self->mutex);
    }
    pthread_mutex_unlock(&self->mutex);
    buffer_trim();
    return NULL;
}

enum status checkpoint_thread_start(struct checkpointer *self, struct error *err)
{
    int failed = pthread_create(&self->thread, NULL, thread_main, self);
    if (failed != 0) {
        return error_set(err, ERROR_THREAD, "cannot start the thread that stores checkpoints: %s", strerror(failed));
    }
    (void)pthread_setname_np(self->thread, "checkpoints");
    self->has_thread = true;
    return STATUS_OK;
}

void checkpoint_thread_stop(struct checkpointer *self)
{
    if (!self->has_thread) {
        return;
    }
    pthread_mutex_lock(&self->mutex);
    self->leaving = true;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->mutex);
    pthread_join(self->thread, NULL);
    self->has_thread = false;
}
