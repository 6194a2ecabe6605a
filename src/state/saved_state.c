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

enum status saved_state_of_job(struct storage *storage, const char *id, struct arena *arena, enum object_result *result,
                               struct saved_state *state, struct error *err)
{
    const struct checkpoint_choice choice = {.may_fall_back = true};
    const char *skipped;
    *state = (struct saved_state){.storage = storage};
    return checkpoint_find_valid(storage, id, CHECKPOINT_TASK, &choice, arena, result, &state->manifest, &skipped, err);
}

static enum status open_savepoint(struct storage *storage, const char *place, struct arena *arena, struct saved_state *state,
                                  struct error *err)
{
    enum object_result result;
    *state = (struct saved_state){.storage = storage, .is_savepoint = true};
    TRY(savepoint_open(storage, NULL, place, arena, &result, &state->savepoint, err));
    if (result != OBJECT_OK || state->savepoint.count != 1) {
        savepoint_close(&state->savepoint);
        return error_set(err, ERROR_STORE_MISSING, "there is no complete savepoint at '%s'", place);
    }
    state->manifest = state->savepoint.manifests[0];
    return STATUS_OK;
}

/* "orders@7": where the name of the job ends, and the number; false: it does not end so. */
static bool split_number(const char *of, size_t *length, uint64_t *number)
{
    const char *at = strrchr(of, '@');
    char *end;
    if (at == NULL || at == of || at[1] < '0' || at[1] > '9') {
        return false;
    }
    *number = strtoull(at + 1, &end, 10);
    *length = (size_t)(at - of);
    return *end == '\0';
}

static enum status open_checkpoint(struct storage *storage, const char *job, uint64_t number, struct arena *arena,
                                   struct saved_state *state, struct error *err)
{
    struct job_record record;
    enum object_result result;
    *state = (struct saved_state){.storage = storage};
    TRY(job_find(storage, job, arena, &record, err));
    TRY(checkpoint_read_manifest(storage, record.id, CHECKPOINT_TASK, number, arena, &result, &state->manifest, err));
    return result == OBJECT_OK
               ? STATUS_OK
               : error_set(err, ERROR_STORE_MISSING,
                           "job '%s' has no checkpoint %" PRIu64 "; `spate storage ls --job` lists those that are kept", job, number);
}

const char *saved_state_where(const struct saved_state *state, struct arena *arena)
{
    const char *where = state->is_savepoint
                            ? arena_format(arena, "the savepoint at '%s'", state->savepoint.place)
                            : arena_format(arena, "checkpoint %" PRIu64 " of job '%s'", state->manifest.seq, state->manifest.job);
    return where == NULL ? "the state" : where;
}

enum status saved_state_open(struct storage *storage, const char *of, struct arena *arena, struct saved_state *state, struct error *err)
{
    if (strpbrk(of, "/:") != NULL) {
        return open_savepoint(storage, of, arena, state, err);
    }
    struct job_record record;
    enum object_result result;
    uint64_t number;
    size_t length;
    enum status status = job_find(storage, of, arena, &record, err);
    if (status != STATUS_OK && err->code == ERROR_UNKNOWN_JOB && split_number(of, &length, &number)) {
        const char *job;
        TRY_ALLOC(job, arena_text(arena, of, length), err);
        return open_checkpoint(storage, job, number, arena, state, err);
    }
    TRY(status);
    TRY(saved_state_of_job(storage, record.id, arena, &result, state, err));
    return result == OBJECT_OK ? STATUS_OK : error_set(err, ERROR_STORE_MISSING, "job '%s' has no checkpoint yet", of);
}

void saved_state_close(struct saved_state *state)
{
    if (state->is_savepoint) {
        savepoint_close(&state->savepoint);
    }
}

enum status saved_state_has_ended(const struct saved_state *state, struct arena *arena, bool *ended, struct error *err)
{
    struct checkpoint_extra extra;
    TRY(checkpoint_extra_read(&state->manifest, arena, &extra, err));
    *ended = extra.ended;
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

enum status saved_state_read(const struct saved_state *state, const struct snapshot_target *target, const bool *enough, struct error *err)
{
    uint32_t chains = checkpoint_chain_count(&state->manifest);
    for (uint32_t chain = 0; chain < state->manifest.table_count && !*enough; chain++) {
        const struct checkpoint_table *table = &state->manifest.tables[chain];
        struct feed feed = {.enough = enough};
        TRY(snapshot_reader_create(target, chain, &feed.reader, err));
        enum status status =
            chain < chains ? read_chain(state, table, &feed, err) : read_database(state, table, &feed, target->budget, err);
        snapshot_reader_destroy(feed.reader);
        TRY(status);
    }
    return STATUS_OK;
}
