/* The savepoint of a job that several processes share: when every task has committed the edit that asked for it, the leader's process copies
 * the newest checkpoint of each that counts. Tasks share nothing, so any such set is a consistent cut. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/worker_internal.h"
#include "cluster/commit_record.h"
#include "storage/document.h"
#include "storage/savepoints.h"

enum { TRIES = 10 /* a task goes on, and removes the checkpoint that is being copied */ };

/* ---- the thread that copies ---- */

static enum status read_task(const struct worker_job *job, uint64_t task, struct arena *arena, struct checkpoint_manifest *manifest,
                             struct error *err)
{
    struct storage *storage = job->worker->session->storage;
    struct commit_record record;
    bool found;
    char text[TASK_TEXT_BYTES];
    enum object_result result = OBJECT_ABSENT;
    TRY(commit_record_read(job->link.coordinator, job->link.prefix, task, arena, &found, &record, err));
    if (found && record.begun && record.seq > 0) {
        TRY(checkpoint_read_manifest(storage, job->id, task_text(task, text), record.seq, arena, &result, manifest, err));
    }
    return result == OBJECT_OK
               ? STATUS_OK
               : error_set(err, ERROR_STORE_MISSING, "the checkpoint of task '%s' that counts is not there", task_text(task, text));
}

static enum status copy_once(struct worker_savepoint *self, struct arena *arena, enum object_result *result, struct error *err)
{
    const struct worker_job *job = self->job;
    uint32_t count = job->facts.pieces == 0 ? 1 : job->facts.pieces;
    struct checkpoint_manifest *manifests;
    TRY_ALLOC(manifests, arena_alloc(arena, count * sizeof *manifests), err);
    for (uint32_t i = 0; i < count; i++) {
        TRY(read_task(job, job->facts.pieces == 0 ? TASK_ALL : task_make(0, i), arena, &manifests[i], err));
    }
    return savepoint_create(job->worker->session->storage, job->id, self->place, manifests, count, result, err);
}

static enum status say_where(struct worker_savepoint *self, struct arena *arena, struct error *err)
{
    const struct worker_job *job = self->job;
    const char *where;
    struct text json;
    TRY(savepoint_where(job->worker->session->storage, job->id, self->place, arena, &where, err));
    TRY(document_write(json_pack("{ss}", "location", where), arena, &json, err));
    TRY_ALLOC(self->result, strndup(json.bytes, json.length), err);
    worker_tell(job->worker, "%s: savepoint: %s", job->name, where);
    return STATUS_OK;
}

static enum status make(struct worker_savepoint *self, struct error *err)
{
    enum object_result result = OBJECT_ABSENT;
    enum status status = STATUS_OK;
    for (int tries = 0; tries < TRIES; tries++) {
        struct arena *arena;
        TRY_ALLOC(arena, arena_create(&self->job->worker->session->budget, "savepoint"), err);
        status = copy_once(self, arena, &result, err);
        if (status == STATUS_OK && result == OBJECT_OK) {
            status = say_where(self, arena, err);
        }
        arena_destroy(arena);
        if (status == STATUS_OK || err->code != ERROR_STORE_MISSING) {
            break;
        }
    }
    if (status == STATUS_OK && result != OBJECT_OK) {
        return error_set(err, ERROR_ALREADY_EXISTS, "there is a savepoint at '%s' already", self->place);
    }
    return status;
}

static void *run(void *context)
{
    struct worker_savepoint *self = context;
    struct error err = {0};
    enum status status = make(self, &err);
    pthread_mutex_lock(&self->mutex);
    self->phase = status == STATUS_OK ? SAVEPOINT_MADE : SAVEPOINT_FAILED;
    if (status != STATUS_OK) {
        snprintf(self->reason, sizeof self->reason, "%s", err.text);
        worker_tell(self->job->worker, "%s: no savepoint: %s", self->job->name, err.text);
    }
    pthread_mutex_unlock(&self->mutex);
    return NULL;
}

/* ---- the leader's question ---- */

/* Where to, as the edit says; *wanted false: it asks for none. */
static void read_place(const struct control_entry *entry, bool *wanted, char place[SAVEPOINT_PLACE_BYTES])
{
    bool is_savepoint = strcmp(entry->propose.verb, "core.savepoint") == 0, is_stop = strcmp(entry->propose.verb, "core.job.stop") == 0;
    json_t *args = entry->propose.args == NULL ? NULL : json_loads(entry->propose.args, 0, NULL);
    const char *given = json_string_value(json_object_get(args, is_savepoint ? "name" : "savepoint"));
    *wanted = is_savepoint || (is_stop && given != NULL);
    if (given != NULL) {
        snprintf(place, SAVEPOINT_PLACE_BYTES, "%s", given);
    } else {
        snprintf(place, SAVEPOINT_PLACE_BYTES, "edit-%" PRIu64, entry->rank);
    }
    json_decref(args);
}

static void end_thread(struct worker_savepoint *self)
{
    if (self->has_thread) {
        pthread_join(self->thread, NULL);
    }
    self->has_thread = false;
    free(self->result);
    self->result = NULL;
}

static enum control_progress start(struct worker_savepoint *self, const struct control_entry *entry, const char *place)
{
    end_thread(self); /* it has said all that it had to say */
    self->rank = entry->rank;
    snprintf(self->place, sizeof self->place, "%s", place);
    self->phase = SAVEPOINT_COPYING;
    self->has_thread = pthread_create(&self->thread, NULL, run, self) == 0;
    if (!self->has_thread) {
        self->phase = SAVEPOINT_FAILED;
        snprintf(self->reason, sizeof self->reason, "there is no thread for it");
    }
    return CONTROL_PENDING;
}

enum control_progress worker_savepoint_progress(struct worker_savepoint *self, const struct control_entry *entry, struct arena *arena,
                                                const char **result, const char **reason)
{
    enum control_progress progress = CONTROL_PENDING;
    char place[SAVEPOINT_PLACE_BYTES];
    bool wanted;
    read_place(entry, &wanted, place);
    if (!wanted) {
        return CONTROL_PROGRESS_DONE;
    }
    pthread_mutex_lock(&self->mutex);
    enum savepoint_phase phase = self->phase;
    pthread_mutex_unlock(&self->mutex);
    if (phase == SAVEPOINT_COPYING) {
        return CONTROL_PENDING;
    }
    if (self->rank != entry->rank) {
        return start(self, entry, place);
    }
    if (phase == SAVEPOINT_MADE) {
        progress = CONTROL_PROGRESS_DONE;
        *result = arena_text(arena, self->result, strlen(self->result));
    } else {
        progress = CONTROL_PROGRESS_FAILED;
        *reason = arena_text(arena, self->reason, strlen(self->reason));
    }
    return progress;
}

void worker_savepoint_open(struct worker_savepoint *self, struct worker_job *job)
{
    *self = (struct worker_savepoint){.job = job};
    pthread_mutex_init(&self->mutex, NULL);
}

void worker_savepoint_close(struct worker_savepoint *self)
{
    end_thread(self);
    pthread_mutex_destroy(&self->mutex);
}
