#include "job/checkpointer.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "job/checkpointer_internal.h"
#include "base/condition.h"
#include "job/job_lock.h"
#include "storage/job_definition.h"

enum { COPY_US = 4000 }; /* so long may ticks wait while rows are copied, and a part more */

static const char *const availability_names[] = {[AVAILABILITY_PASSIVE] = "passive",
                                                 [AVAILABILITY_NONE] = "none",
                                                 [AVAILABILITY_UPSTREAM_BACKUP] = "upstream-backup",
                                                 [AVAILABILITY_ACTIVE] = "active"};

const char *availability_name(enum availability availability)
{
    return availability_names[availability];
}

const char *availability_kept_as(enum availability availability)
{
    return availability_name(availability == AVAILABILITY_ACTIVE ? AVAILABILITY_PASSIVE : availability);
}

bool availability_replays(enum availability availability)
{
    return availability == AVAILABILITY_UPSTREAM_BACKUP || availability == AVAILABILITY_ACTIVE;
}

static int64_t now_us(const struct checkpointer *self)
{
    return self->spec.clock->monotonic_us(self->spec.clock);
}

enum status checkpointer_open(const struct checkpointer_spec *spec, struct checkpointer **checkpointer, enum job_start *start,
                              const char **message, struct error *err)
{
    struct checkpointer *self = calloc(1, sizeof *self);
    if (self == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room for the checkpoints of a job");
    }
    *self =
        (struct checkpointer){.spec = *spec, .lock = -1, .stream = {.descriptor = -1}, .next_full = true, .next_number = 1, .message = ""};
    pthread_mutex_init(&self->mutex, NULL);
    condition_init(&self->changed);
    self->arena = arena_create(spec->budget, "checkpointer");
    self->found_arena = arena_create(spec->budget, "checkpoint");
    struct random_source random;
    random_open(&random, 0);
    random_name(&random, self->incarnation);
    self->task = CHECKPOINT_TASK;
    self->sweeps = true;
    enum status status = self->arena == NULL || self->found_arena == NULL
                             ? error_set(err, ERROR_BUDGET_SPENT, "no room for the checkpoints of a job")
                         : spec->task != NULL ? checkpoint_task_find(self, err)
                                              : checkpoint_find(self, err);
    self->last_started_us = self->last_ended_us = now_us(self);
    self->edits = self->edits_committed = self->start == START_RESUMED ? self->found_extra.edits : 0;
    self->listens = spec->task == NULL && !spec->settings.savepoint_only && !job_lock_is_possible(spec->storage);
    self->sweeper = (struct storage_sweeper){.ran = true, .last_us = self->last_started_us};
    if (status == STATUS_OK) {
        status = checkpoint_thread_start(self, err); /* from here on, it reads them */
    }
    if (status != STATUS_OK) {
        checkpointer_close(self);
        return status;
    }
    *checkpointer = self;
    *start = self->start;
    *message = self->message;
    return STATUS_OK;
}

static void pending_release(struct checkpointer *self)
{
    struct pending *pending = &self->pending;
    for (uint32_t i = 0; i < pending->writer_count; i++) {
        snapshot_writer_destroy(pending->writers[i]);
        if (pending->streams != NULL && pending->streams[i] != NULL) {
            fclose(pending->streams[i]);
        }
    }
    free(pending->writers);
    free(pending->streams);
    checkpoint_drop_folder(self);
    pending->writers = NULL;
    pending->streams = NULL;
    pending->writer_count = 0;
}

void checkpointer_close(struct checkpointer *self)
{
    if (self == NULL) {
        return;
    }
    checkpoint_thread_stop(self);
    pending_release(self);
    checkpoint_close_databases(self);
    for (uint32_t i = 0; i < self->generation_count; i++) {
        checkpoint_generation_close(&self->generations[i]);
    }
    if (self->from_savepoint) {
        savepoint_close(&self->savepoint);
    }
    checkpoint_follow_close(self);
    tick_stream_close(&self->stream);
    if (self->lock >= 0) {
        close(self->lock);
    }
    commit_store_close(&self->commit);
    arena_destroy(self->found_arena);
    arena_destroy(self->arena);
    pthread_mutex_destroy(&self->mutex);
    pthread_cond_destroy(&self->changed);
    free(self);
}

const char *checkpointer_job_id(const struct checkpointer *self)
{
    return self->id;
}

void checkpointer_names(const struct checkpointer *self, struct checkpoint_names *names)
{
    *names = (struct checkpoint_names){
        .task = strcmp(self->task, CHECKPOINT_TASK) == 0 ? NULL : self->task, .lineage = self->lineage, .saved = self->next_number - 1};
    if (checkpointer_is_task(self)) {
        names->saved_end = commit_first_number(self->commit.record.generation + 1) - 1;
    }
}

bool checkpointer_is_task(const struct checkpointer *self)
{
    return self->spec.task != NULL;
}

void checkpointer_figures(const struct checkpointer *self, struct checkpoint_figures *figures)
{
    *figures = self->figures;
}

void checkpointer_set_pace(struct checkpointer *self, const struct checkpoint_pace *pace)
{
    self->spec.settings.interval_us = pace->interval_us;
    self->spec.settings.min_pause_us = pace->min_pause_us;
    self->spec.settings.timeout_us = pace->timeout_us;
}

void checkpointer_request(struct checkpointer *self)
{
    self->requested = true;
}

void checkpointer_note_edits(struct checkpointer *self, uint64_t rank)
{
    self->edits = rank;
}

uint64_t checkpointer_edits(const struct checkpointer *self, bool *own)
{
    *own = self->start == START_RESUMED || self->edits_committed > 0;
    return self->edits_committed;
}

static enum writing writing_now(struct checkpointer *self)
{
    pthread_mutex_lock(&self->mutex);
    enum writing writing = self->writing;
    pthread_mutex_unlock(&self->mutex);
    return writing;
}

static bool tidies_now(struct checkpointer *self)
{
    pthread_mutex_lock(&self->mutex);
    bool tidying = self->tidying;
    pthread_mutex_unlock(&self->mutex);
    return tidying;
}

static struct journal *journal_of(const struct checkpointer *self)
{
    return self->spec.journal == NULL ? NULL : *self->spec.journal;
}

/* ---- one checkpoint ---- */

/* What a checkpoint shall be. */
struct wish {
    bool full, ended;
    bool canonical; /* all rows in the files of its chains, none in databases: for savepoints */
};

static bool must_be_full(const struct checkpointer *self, uint32_t workers)
{
    const struct generation *last = self->generation_count == 0 ? NULL : &self->generations[self->generation_count - 1];
    return self->next_full || !self->spec.settings.incremental || last == NULL || last->chain_count != workers ||
           last->chains[0].count == CHAIN_FILES;
}

/* State that does not fit in memory does not go there on its way to a savepoint, nor does the record of all ticks. */
static enum status open_streams(struct pending *pending, struct job *job, struct error *err)
{
    TRY_ALLOC(pending->streams, calloc(pending->writer_count, sizeof(FILE *)), err);
    bool databases = job_database_driver(job) != NULL;
    struct cold_folder *folder = databases ? job_share_folder(job) : NULL;
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < pending->writer_count && status == STATUS_OK; i++) {
        status = databases ? cold_folder_temporary(folder, &pending->streams[i], err) : cold_temporary(&pending->streams[i], err);
    }
    cold_folder_close(folder);
    return status;
}

static void set_writing(struct checkpointer *self, enum writing writing)
{
    pthread_mutex_lock(&self->mutex);
    self->writing = writing;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->mutex);
}

static void note_stall(struct checkpointer *self, int64_t since_us)
{
    struct checkpoint_figures *figures = &self->figures;
    int64_t stall_us = now_us(self) - since_us;
    self->pending.stall_us = stall_us > self->pending.stall_us ? stall_us : self->pending.stall_us;
    figures->longest_stall_us = stall_us > figures->longest_stall_us ? stall_us : figures->longest_stall_us;
}

/* Takes what the cut put off: a part, or all of it; then the checkpoint is the thread's. since_us: ticks have been waiting. */
static enum status copy_more(struct checkpointer *self, struct job *job, bool all, int64_t since_us, struct error *err)
{
    bool more;
    enum status status = job_save_more(job, self->pending.writers, all ? INT64_MAX : since_us + COPY_US, &more, err);
    note_stall(self, since_us);
    if (status != STATUS_OK) {
        pending_release(self);
        set_writing(self, WRITING_IDLE);
        return status;
    }
    if (!more) {
        self->figures.last_stall_us = self->pending.stall_us;
    }
    set_writing(self, more ? WRITING_COPYING : WRITING_BUSY);
    return STATUS_OK;
}

static enum status save(struct checkpointer *self, struct job *job, const struct wish *wish, struct error *err)
{
    struct pending *pending = &self->pending;
    uint32_t count = job_worker_count(job);
    bool databases = job_database_driver(job) != NULL;
    TRY_ALLOC(pending->writers, calloc(count, sizeof *pending->writers), err);
    pending->writer_count = count;
    struct job_saving saving = {.checkpoint = pending->number, .full = pending->full, .databases = databases && !wish->canonical};
    saving.defers = true;
    if (saving.databases) {
        pending->database_count = count;
        pending->driver = job_database_driver(job);
        pending->folder = job_share_folder(job);
        pending->identity = job_database_identity(job);
    } else if (databases || (pending->full && self->spec.settings.availability == AVAILABILITY_UPSTREAM_BACKUP)) {
        pending->apart = databases;
        TRY(open_streams(pending, job, err));
        saving.defers = false;
        saving.put = checkpoint_put_temporary;
        saving.put_contexts = (void *const *)pending->streams;
    }
    enum status status = job_save(job, &saving, pending->writers, &databases, err);
    pending->database_count = status != STATUS_OK || databases ? pending->database_count : 0;
    return status;
}

static enum status start_checkpoint(struct checkpointer *self, struct job *job, const struct wish *wish, struct error *err)
{
    bool full = wish->full || wish->canonical || must_be_full(self, job_worker_count(job));
    self->pending = (struct pending){.number = self->next_number, .full = full, .ended = wish->ended, .started_us = now_us(self)};
    self->pending.ticks = job_ticks(job);
    self->pending.edits = self->edits;
    self->next_full = true; /* until this one is stored */
    if (self->lock >= 0 && job_lock_was_broken(self->spec.storage, self->id, self->lock)) {
        return error_set(err, ERROR_JOB_TAKEN, "job '%s' was taken over by its standby while this process was silent", self->spec.job);
    }
    enum status status = save(self, job, wish, err);
    if (status != STATUS_OK) {
        pending_release(self);
        return status;
    }
    self->last_started_us = self->pending.started_us;
    self->last_ticks = self->pending.ticks;
    self->requested = false;
    self->next_number++;
    status = checkpoint_lead_cut(self, job, self->pending.number, err);
    if (status != STATUS_OK) {
        pending_release(self);
        return status;
    }
    return copy_more(self, job, false, self->pending.started_us, err);
}

/* A stored checkpoint counts: the sinks are told before anything else may go wrong. */
static enum status settle_done(struct checkpointer *self, struct job *job, struct error *err)
{
    struct checkpoint_figures *figures = &self->figures;
    figures->completed++;
    figures->last_number = self->pending.number;
    figures->last_bytes = self->pending.bytes;
    figures->last_rows = self->pending.rows;
    figures->last_duration_us = now_us(self) - self->pending.started_us;
    self->next_full = self->pending.apart; /* what its files hold of the databases' rows must not be in the next one's */
    self->failed_in_a_row = 0;
    self->edits_committed = self->pending.edits;
    journal_event(journal_of(self), LOG_DEBUG, "checkpoint.complete", "checkpoint %llu: %llu rows, %llu bytes, %.3f s",
                  (unsigned long long)figures->last_number, (unsigned long long)figures->last_rows, (unsigned long long)figures->last_bytes,
                  (double)figures->last_duration_us / 1e6);
    pending_release(self);
    TRY(checkpoint_lead_done(self, self->pending.number, err));
    return job_committed(job, self->pending.number, err);
}

static enum status settle_failed(struct checkpointer *self, struct error *err)
{
    self->figures.failed++;
    self->failed_in_a_row++;
    self->requested = self->pending.edits > self->edits_committed; /* somebody waits for it */
    pending_release(self);
    journal_event(journal_of(self), LOG_WARN, "checkpoint.fail", "checkpoint %llu, %llu in a row: %s",
                  (unsigned long long)self->pending.number, (unsigned long long)self->failed_in_a_row, self->error.text);
    bool fatal = self->status == STATUS_FENCED || self->failed_in_a_row > (uint64_t)self->spec.settings.tolerable_failed;
    if (!fatal) {
        return STATUS_OK;
    }
    *err = self->error;
    error_add_context(err, "checkpoint %llu of job '%s' failed", (unsigned long long)self->pending.number, self->spec.job);
    return self->status;
}

/* What the thread could not remove when it was done with the last one. */
static enum status settle_tidying(struct checkpointer *self, struct error *err)
{
    pthread_mutex_lock(&self->mutex);
    enum status status = self->tidying ? STATUS_OK : self->tidy_status;
    if (status != STATUS_OK) {
        *err = self->tidy_error;
        self->tidy_status = STATUS_OK;
    }
    pthread_mutex_unlock(&self->mutex);
    return status;
}

static enum status settle(struct checkpointer *self, struct job *job, struct error *err)
{
    enum writing writing = writing_now(self);
    if (writing != WRITING_DONE && writing != WRITING_FAILED) {
        return settle_tidying(self, err);
    }
    set_writing(self, WRITING_IDLE);
    self->last_ended_us = now_us(self);
    TRY(writing == WRITING_DONE ? settle_done(self, job, err) : settle_failed(self, err));
    return settle_tidying(self, err);
}

static enum status wait_and_settle(struct checkpointer *self, struct job *job, struct error *err)
{
    if (writing_now(self) == WRITING_COPYING) {
        TRY(copy_more(self, job, true, now_us(self), err));
    }
    pthread_mutex_lock(&self->mutex);
    while (self->writing == WRITING_BUSY || self->tidying) {
        pthread_cond_wait(&self->changed, &self->mutex);
    }
    pthread_mutex_unlock(&self->mutex);
    return settle(self, job, err);
}

enum { RETRY_US = 1000000 }; /* of a requested checkpoint that failed */

enum status checkpointer_step(struct checkpointer *self, struct job *job, struct error *err)
{
    const struct checkpoint_settings *settings = &self->spec.settings;
    TRY(checkpoint_lead_tick(self, job, err));
    TRY(settle(self, job, err));
    enum writing writing = writing_now(self);
    int64_t now = now_us(self);
    if (writing == WRITING_COPYING) {
        return copy_more(self, job, false, now, err);
    }
    if (writing == WRITING_BUSY) {
        if (now - self->last_started_us > settings->timeout_us) {
            return error_set(err, ERROR_STORE_UNAVAILABLE, "checkpoint %llu of job '%s' took longer than execution.checkpointing.timeout",
                             (unsigned long long)self->pending.number, self->spec.job);
        }
        return STATUS_OK;
    }
    bool due = self->requested ? !tidies_now(self) && (self->failed_in_a_row == 0 || now - self->last_ended_us >= RETRY_US)
                               : settings->interval_us > 0 && !tidies_now(self) && now - self->last_started_us >= settings->interval_us &&
                                     now - self->last_ended_us >= settings->min_pause_us && job_ticks(job) != self->last_ticks;
    return due ? start_checkpoint(self, job, &(struct wish){0}, err) : STATUS_OK;
}

bool checkpointer_is_copying(struct checkpointer *self)
{
    return writing_now(self) == WRITING_COPYING;
}

/* A checkpoint that must succeed. */
static enum status checkpoint_now(struct checkpointer *self, struct job *job, const struct wish *wish, struct error *err)
{
    TRY(wait_and_settle(self, job, err));
    TRY(start_checkpoint(self, job, wish, err));
    uint64_t failed = self->figures.failed;
    TRY(wait_and_settle(self, job, err));
    if (self->figures.failed > failed) {
        *err = self->error;
        return self->status;
    }
    return STATUS_OK;
}

/* The last one is tried as often as failures are tolerated: without it the end would be lost with the storage's absence. */
static enum status last_checkpoint(struct checkpointer *self, struct job *job, bool ended, struct error *err)
{
    enum { PAUSE_US = 200000 };
    const atomic_bool *cancelled = self->spec.cancelled;
    for (;;) {
        uint64_t before = self->figures.failed;
        enum status status = checkpoint_now(self, job, &(struct wish){.ended = ended}, err);
        bool tolerated = self->figures.failed > before && status == self->status && status != STATUS_FENCED &&
                         self->failed_in_a_row <= (uint64_t)self->spec.settings.tolerable_failed;
        if (status == STATUS_OK || !tolerated || (cancelled != NULL && atomic_load(cancelled))) {
            return status;
        }
        usleep(PAUSE_US);
    }
}

enum status checkpoint_take(struct checkpointer *self, struct job *job, struct error *err)
{
    return checkpoint_now(self, job, &(struct wish){0}, err);
}

enum status checkpointer_finish(struct checkpointer *self, struct job *job, bool ended, struct error *err)
{
    TRY(checkpoint_lead_tick(self, job, err));
    TRY(last_checkpoint(self, job, ended, err));
    if (checkpointer_is_task(self)) {
        return STATUS_OK; /* what becomes of the job, all its tasks together decide */
    }
    if (ended) {
        checkpoint_lead_end(self);
    }
    if (ended && self->spec.settings.delete_at_end) {
        enum object_result result;
        return job_record_remove(self->spec.storage, self->id, false, &result, err);
    }
    return ended ? job_record_mark(self->spec.storage, self->id, DESIRED_STOPPED, err) : STATUS_OK; /* it expires with the stopped ones */
}

/* ---- savepoints ---- */

/* "20261130-101500", or that below the folder for savepoints, with the job's id. */
static enum status choose_place(struct checkpointer *self, const char **place, struct error *err)
{
    const char *folder = self->spec.settings.savepoint_dir;
    time_t seconds = (time_t)(self->spec.clock->wall_us(self->spec.clock) / 1000000);
    struct tm parts;
    char name[32];
    gmtime_r(&seconds, &parts);
    strftime(name, sizeof name, "%Y%m%d-%H%M%S", &parts);
    TRY_ALLOC(*place,
              folder == NULL ? arena_text(self->arena, name, strlen(name)) : arena_format(self->arena, "%s/%s-%s", folder, self->id, name),
              err);
    return STATUS_OK;
}

/* A name by time that is taken gets a number. */
static enum status create_savepoint(struct checkpointer *self, const struct checkpoint_manifest *manifest, const char *place,
                                    const char **where, struct error *err)
{
    const char *tried = place;
    enum object_result result = OBJECT_CONFLICT;
    if (place == NULL) {
        TRY(choose_place(self, &place, err));
        tried = place;
        for (uint32_t attempt = 2; result != OBJECT_OK && attempt < 100; attempt++) {
            TRY(savepoint_create(self->spec.storage, self->id, tried, manifest, 1, &result, err));
            if (result != OBJECT_OK) {
                TRY_ALLOC(tried, arena_format(self->arena, "%s-%u", place, attempt), err);
            }
        }
    } else {
        TRY(savepoint_create(self->spec.storage, self->id, place, manifest, 1, &result, err));
    }
    if (result != OBJECT_OK) {
        return error_set(err, ERROR_ALREADY_EXISTS, "there is a savepoint at '%s' already", tried);
    }
    return savepoint_where(self->spec.storage, self->id, tried, self->arena, where, err);
}

/* A job that leaves nothing but savepoints: the checkpoint was for the savepoint alone. What cannot be removed is swept later. */
static void forget_checkpoint(struct checkpointer *self, const struct checkpoint_manifest *manifest)
{
    struct error ignored;
    enum object_result result;
    (void)!checkpoint_remove(self->spec.storage, self->id, self->task, manifest->seq, &result, &ignored);
    for (uint32_t i = 0; i < manifest->table_count; i++) {
        for (uint32_t f = 0; f < manifest->tables[i].file_count; f++) {
            (void)!checkpoint_remove_file(self->spec.storage, self->id, &manifest->tables[i].files[f], &ignored);
        }
    }
    self->retained_count = 0;
}

static enum status savepoint_in(struct checkpointer *self, struct arena *arena, const char *place, const char **where, struct error *err)
{
    struct checkpoint_manifest manifest;
    enum object_result result;
    TRY(checkpoint_read_manifest(self->spec.storage, self->id, self->task, self->pending.number, arena, &result, &manifest, err));
    if (result != OBJECT_OK) {
        return error_set(err, ERROR_STORE_MISSING, "checkpoint %llu of job '%s' has vanished", (unsigned long long)self->pending.number,
                         self->spec.job);
    }
    enum status status = create_savepoint(self, &manifest, place, where, err);
    if (self->spec.settings.savepoint_only) {
        forget_checkpoint(self, &manifest);
    }
    return status;
}

enum status checkpointer_savepoint(struct checkpointer *self, struct job *job, const char *place, const char **where, struct error *err)
{
    if (strcmp(self->task, CHECKPOINT_TASK) != 0) {
        return error_set(err, ERROR_STATE_UNSUPPORTED,
                         "job '%s' has several tasks; a savepoint of all of them together cannot be taken yet", self->spec.job);
    }
    TRY(checkpoint_now(self, job, &(struct wish){.full = true, .canonical = true}, err));
    struct arena *arena;
    TRY_ALLOC(arena, arena_create(self->spec.budget, "savepoint"), err);
    enum status status = savepoint_in(self, arena, place, where, err);
    arena_destroy(arena);
    return status;
}
