#include "state/saved_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "state/cold_files.h"
#include "storage/checkpoint_extra.h"

enum status job_find(struct storage *storage, const char *job, struct arena *arena, struct job_record *record, struct error *err)
{
    enum object_result result = OBJECT_ABSENT;
    char id[JOB_ID_MAX + 1] = {0};
    size_t length = strlen(job);
    if (length > 0 && length <= JOB_NAME_MAX) {
        TRY(job_record_find(storage, job, &result, id, err));
    }
    if (result != OBJECT_OK && length > 0 && length <= JOB_ID_MAX) {
        memcpy(id, job, length + 1);
    }
    if (id[0] != '\0') {
        TRY(job_record_read(storage, id, arena, &result, record, err));
    }
    if (result != OBJECT_OK) {
        return error_set(err, ERROR_UNKNOWN_JOB, "there is no job '%s' in '%s'", job, storage_uri(storage, STORE_JOBS));
    }
    return STATUS_OK;
}

/* The latest of one task, into *manifest. */
static enum status read_latest(struct storage *storage, const char *id, const char *task, struct arena *arena, enum object_result *result,
                               struct checkpoint_manifest *manifest, struct error *err)
{
    const struct checkpoint_choice choice = {.may_fall_back = true};
    const char *skipped;
    return checkpoint_find_valid(storage, id, task, &choice, arena, result, manifest, &skipped, err);
}

enum status saved_state_of_job(struct storage *storage, const char *id, struct arena *arena, enum object_result *result,
                               struct saved_state *state, struct error *err)
{
    const char *const *tasks;
    struct checkpoint_manifest *manifests;
    uint32_t count;
    *state = (struct saved_state){.storage = storage, .job = id};
    TRY(checkpoint_tasks(storage, id, arena, &tasks, &count, err));
    TRY_ALLOC(manifests, arena_alloc(arena, (count + 1) * sizeof *manifests), err);
    for (uint32_t i = 0; i < count; i++) {
        TRY(read_latest(storage, id, tasks[i], arena, result, &manifests[state->count], err));
        state->count += *result == OBJECT_OK;
    }
    state->manifests = manifests;
    *result = state->count > 0 ? OBJECT_OK : OBJECT_ABSENT;
    return STATUS_OK;
}

static enum status open_savepoint(struct storage *storage, const char *place, struct arena *arena, struct saved_state *state,
                                  struct error *err)
{
    enum object_result result;
    *state = (struct saved_state){.storage = storage, .is_savepoint = true};
    TRY(savepoint_open(storage, NULL, place, arena, &result, &state->savepoint, err));
    if (result != OBJECT_OK || state->savepoint.count == 0) {
        savepoint_close(&state->savepoint);
        return error_set(err, ERROR_STORE_MISSING, "there is no complete savepoint at '%s'", place);
    }
    state->manifests = state->savepoint.manifests;
    state->count = state->savepoint.count;
    return STATUS_OK;
}

/* What stands behind the last '@': where it is, or NULL. */
static const char *last_part(const char *of, size_t length)
{
    while (length > 0 && of[length - 1] != '@') {
        length--;
    }
    return length > 1 ? of + length : NULL;
}

/* "orders@7", "orders@s0.3", "orders@s0.3@7". */
struct parts {
    const char *job, *task;
    uint64_t number; /* 0: the latest */
};

/* "all", "s0.3" */
static bool is_task(const char *text)
{
    static const char digits[] = "0123456789";
    size_t stage = text[0] == 's' ? strspn(text + 1, digits) : 0;
    const char *point = text + 1 + stage;
    return strcmp(text, CHECKPOINT_TASK) == 0 ||
           (stage > 0 && *point == '.' && point[1] != '\0' && strspn(point + 1, digits) == strlen(point + 1));
}

/* false: it does not end so, or is no name. */
static bool split(const char *of, struct arena *arena, struct parts *parts)
{
    size_t length = strlen(of);
    const char *part = last_part(of, length);
    *parts = (struct parts){.task = CHECKPOINT_TASK};
    if (part != NULL && *part != '\0' && strspn(part, "0123456789") == strlen(part)) {
        parts->number = strtoull(part, NULL, 10);
        length = (size_t)(part - of) - 1;
        part = last_part(of, length);
    }
    if (part != NULL) {
        char *task = arena_text(arena, part, length - (size_t)(part - of));
        if (task != NULL && is_task(task)) {
            parts->task = task;
            length = (size_t)(part - of) - 1;
        }
    }
    parts->job = length == strlen(of) ? NULL : arena_text(arena, of, length);
    return parts->job != NULL;
}

static enum status open_checkpoint(struct storage *storage, const struct parts *parts, struct arena *arena, struct saved_state *state,
                                   struct error *err)
{
    struct job_record record;
    struct checkpoint_manifest *manifest;
    enum object_result result;
    TRY(job_find(storage, parts->job, arena, &record, err));
    *state = (struct saved_state){.storage = storage, .count = 1, .job = arena_text(arena, record.id, strlen(record.id))};
    TRY_ALLOC(state->job, state->job, err);
    TRY_ALLOC(manifest, arena_alloc(arena, sizeof *manifest), err);
    state->manifests = manifest;
    TRY(parts->number > 0 ? checkpoint_read_manifest(storage, record.id, parts->task, parts->number, arena, &result, manifest, err)
                          : read_latest(storage, record.id, parts->task, arena, &result, manifest, err));
    if (result == OBJECT_OK) {
        return STATUS_OK;
    }
    char number[24] = "";
    snprintf(number, sizeof number, parts->number == 0 ? "" : " %" PRIu64, parts->number); /* NOLINT: two formats of this line */
    return error_set(err, ERROR_STORE_MISSING,
                     "task %s of job '%s' has no checkpoint%s; `spate storage ls --job` lists those that are kept", parts->task, parts->job,
                     number);
}

const char *saved_state_where(const struct saved_state *state, struct arena *arena)
{
    const struct checkpoint_manifest *first = state->manifests;
    const char *where = state->is_savepoint ? arena_format(arena, "the savepoint at '%s'", state->savepoint.place)
                        : state->count > 1  ? arena_format(arena, "the checkpoints of %u tasks of job '%s'", state->count, state->job)
                        : strcmp(first->task, CHECKPOINT_TASK) == 0
                            ? arena_format(arena, "checkpoint %" PRIu64 " of job '%s'", first->seq, first->job)
                            : arena_format(arena, "checkpoint %" PRIu64 " of task %s of job '%s'", first->seq, first->task, first->job);
    return where == NULL ? "the state" : where;
}

enum status saved_state_open(struct storage *storage, const char *of, struct arena *arena, struct saved_state *state, struct error *err)
{
    if (strpbrk(of, "/:") != NULL) {
        return open_savepoint(storage, of, arena, state, err);
    }
    struct job_record record;
    enum object_result result;
    struct parts parts;
    enum status status = job_find(storage, of, arena, &record, err);
    if (status != STATUS_OK && err->code == ERROR_UNKNOWN_JOB && split(of, arena, &parts)) {
        return open_checkpoint(storage, &parts, arena, state, err);
    }
    TRY(status);
    const char *id;
    TRY_ALLOC(id, arena_text(arena, record.id, strlen(record.id)), err);
    TRY(saved_state_of_job(storage, id, arena, &result, state, err));
    return result == OBJECT_OK ? STATUS_OK : error_set(err, ERROR_STORE_MISSING, "job '%s' has no checkpoint yet", of);
}

void saved_state_close(struct saved_state *state)
{
    if (state->is_savepoint) {
        savepoint_close(&state->savepoint);
    }
}

void saved_state_identity(const struct saved_state *state, uint64_t *checkpoint, int64_t *created_us)
{
    *checkpoint = 0;
    *created_us = 0;
    for (uint32_t i = 0; i < state->count; i++) {
        *checkpoint = (*checkpoint + state->manifests[i].seq) & INT64_MAX;
        *created_us = state->manifests[i].created_us > *created_us ? state->manifests[i].created_us : *created_us;
    }
}

enum status saved_state_has_ended(const struct saved_state *state, struct arena *arena, bool *ended, struct error *err)
{
    *ended = true;
    for (uint32_t i = 0; i < state->count; i++) {
        struct checkpoint_extra extra;
        TRY(checkpoint_extra_read(&state->manifests[i], arena, &extra, err));
        *ended = *ended && extra.ended;
    }
    return STATUS_OK;
}

struct feed {
    struct snapshot_reader *reader;
    const bool *enough;
};

static enum status feed_reader(void *context, const void *bytes, size_t length, struct error *err)
{
    const struct feed *feed = context;
    TRY(snapshot_file_bytes(feed->reader, bytes, length, err));
    return *feed->enough ? error_set(err, ERROR_CANCELLED, "the rest of the file is not needed") : STATUS_OK;
}

static enum status open_file(const struct saved_state *state, const struct checkpoint_file *file, const struct object_sink *sink,
                             struct error *err)
{
    return state->is_savepoint ? savepoint_open_file(&state->savepoint, file, sink, err)
                               : checkpoint_open_file(state->storage, file, sink, err);
}

static enum status read_chain(const struct saved_state *state, const struct checkpoint_table *chain, struct feed *feed, struct error *err)
{
    const struct object_sink sink = {.write = feed_reader, .context = feed};
    for (uint32_t file = chain->file_count; file-- > 0;) {
        snapshot_file_begin(feed->reader, chain->files[file].key, file == 0);
        enum status status = open_file(state, &chain->files[file], &sink, err);
        if (*feed->enough) {
            return STATUS_OK;
        }
        TRY(status);
        TRY(snapshot_file_end(feed->reader, err));
    }
    return STATUS_OK;
}

static enum status read_file(void *context, const struct checkpoint_file *file, const struct object_sink *sink, struct error *err)
{
    return open_file(context, file, sink, err);
}

/* By way of a copy on local disk, and of a file of its rows. */
static enum status read_database(const struct saved_state *state, const struct checkpoint_table *table, struct feed *feed,
                                 struct budget *budget, struct error *err)
{
    const struct cold_source source = {table, read_file, (void *)state};
    const struct object_sink sink = {.write = feed_reader, .context = feed};
    struct cold_folder *folder;
    FILE *rows = NULL;
    TRY(cold_folder_open(NULL, &folder, err));
    enum status status = cold_files_export(&source, folder, 0, budget, &rows, err);
    if (status == STATUS_OK) {
        snapshot_file_begin(feed->reader, table->name, true);
        status = cold_rows_stream(rows, &sink, err);
        fclose(rows);
    }
    cold_folder_close(folder);
    if (*feed->enough) {
        return STATUS_OK;
    }
    TRY(status);
    return snapshot_file_end(feed->reader, err);
}

/* Chains are numbered from `first` on. */
static enum status read_manifest(const struct saved_state *state, const struct checkpoint_manifest *manifest, uint32_t first,
                                 const struct snapshot_target *target, const bool *enough, struct error *err)
{
    uint32_t chains = checkpoint_chain_count(manifest);
    for (uint32_t chain = 0; chain < manifest->table_count && !*enough; chain++) {
        const struct checkpoint_table *table = &manifest->tables[chain];
        struct feed feed = {.enough = enough};
        TRY(snapshot_reader_create(target, first + chain, &feed.reader, err));
        enum status status =
            chain < chains ? read_chain(state, table, &feed, err) : read_database(state, table, &feed, target->budget, err);
        snapshot_reader_destroy(feed.reader);
        TRY(status);
    }
    return STATUS_OK;
}

enum status saved_state_read(const struct saved_state *state, const struct snapshot_target *target, const bool *enough, struct error *err)
{
    uint32_t chains = 0;
    for (uint32_t i = 0; i < state->count && !*enough; i++) {
        TRY(read_manifest(state, &state->manifests[i], chains, target, enough, err));
        chains += state->manifests[i].table_count;
    }
    return STATUS_OK;
}
