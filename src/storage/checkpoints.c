#include "storage/checkpoints.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/content.h"
#include "storage/manifest.h"
#include "storage/stores_internal.h"

enum { MANIFEST_VERSION = 1, SEQ_DIGITS = 20, FILE_NAMES_TRIED = 40 };
#define MANIFEST_ENDING ".manifest.json"

struct checkpoint_writer {
    struct storage *storage;
    struct arena *arena;
    const char *job, *task, *incarnation;
};

static enum status manifest_key(const char *job, const char *task, uint64_t seq, char key[OBJECT_KEY_MAX + 1], struct error *err)
{
    char name[SEQ_DIGITS + sizeof MANIFEST_ENDING];
    snprintf(name, sizeof name, "%020" PRIu64 MANIFEST_ENDING, seq);
    return store_key(key, err, "jobs", job, "checkpoints", task, name, NULL);
}

uint32_t checkpoint_chain_count(const struct checkpoint_manifest *manifest)
{
    uint32_t count = 0;
    while (count < manifest->table_count && strcmp(manifest->tables[count].kind, "sst") != 0) {
        count++;
    }
    return count;
}

/* ---- writing ---- */

enum status checkpoint_begin(struct storage *storage, const char *job, const char *task, const char *incarnation,
                             struct checkpoint_writer **writer, struct error *err)
{
    *writer = NULL;
    TRY(storage_check(storage, ACCESS_CHECKPOINTS, ACCESS_APPEND, job, err));
    struct arena *arena = arena_create(NULL, "checkpoint writer");
    TRY_ALLOC(arena, arena, err);
    struct checkpoint_writer *self = arena_alloc(arena, sizeof *self);
    if (self != NULL) {
        *self = (struct checkpoint_writer){storage, arena, arena_text(arena, job, strlen(job)), arena_text(arena, task, strlen(task)),
                                           arena_text(arena, incarnation, strlen(incarnation))};
    }
    if (self == NULL || self->job == NULL || self->task == NULL || self->incarnation == NULL) {
        arena_destroy(arena);
        return error_set(err, ERROR_BUDGET_SPENT, "no room for a checkpoint's writer");
    }
    *writer = self;
    return STATUS_OK;
}

void checkpoint_end(struct checkpoint_writer *writer)
{
    if (writer != NULL) {
        arena_destroy(writer->arena);
    }
}

/* A name that this incarnation has used before (through a storage opened earlier) is passed over, in growing steps. */
static enum status file_put(struct checkpoint_writer *self, const struct object_source *source, char key[OBJECT_KEY_MAX + 1],
                            struct content *content, struct error *err)
{
    struct object_store *store = storage_objects(self->storage, STORE_CHECKPOINTS);
    for (uint32_t attempt = 0; attempt < FILE_NAMES_TRIED; attempt++) {
        char name[300];
        uint64_t number = atomic_fetch_add(&self->storage->core->next_file, UINT64_C(1) << attempt);
        snprintf(name, sizeof name, "%.250s-%" PRIu64, self->incarnation, number);
        TRY(store_key(key, err, "jobs", self->job, "state", self->task, name, NULL));
        enum object_result result;
        TRY(content_put(store, key, source, PUT_IF_ABSENT, &result, content, err));
        if (result == OBJECT_OK) {
            return STATUS_OK;
        }
    }
    return error_set(err, ERROR_STORE_CONFLICT, "another process writes files as incarnation '%s' of %s/%s", self->incarnation, self->job,
                     self->task);
}

enum status checkpoint_add_file(struct checkpoint_writer *writer, const struct object_source *source, uint64_t rows, struct arena *arena,
                                struct checkpoint_file *file, struct error *err)
{
    char key[OBJECT_KEY_MAX + 1];
    struct content content;
    enum status status = file_put(writer, source, key, &content, err);
    if (status != STATUS_OK) {
        error_add_context(err, "while writing state of %s/%s", writer->job, writer->task);
        return status;
    }
    const char *kept_key = key + STORAGE_PREFIX_BYTES;
    *file = (struct checkpoint_file){.bytes = content.bytes, .rows = rows, .crc32c = content.crc32c};
    TRY_ALLOC(file->key, arena_text(arena, kept_key, strlen(kept_key)), err);
    TRY_ALLOC(file->sha256, arena_text(arena, content.sha256, strlen(content.sha256)), err);
    return STATUS_OK;
}

struct span {
    const char *bytes;
    size_t length;
};

static enum status span_read(void *context, uint64_t offset, void *buffer, size_t capacity, size_t *length, struct error *err)
{
    (void)err;
    const struct span *span = context;
    size_t left = offset < span->length ? span->length - (size_t)offset : 0;
    *length = left < capacity ? left : capacity;
    memcpy(buffer, span->bytes + (span->length - left), *length);
    return STATUS_OK;
}

enum status checkpoint_add_bytes(struct checkpoint_writer *writer, const void *bytes, size_t length, uint64_t rows, struct arena *arena,
                                 struct checkpoint_file *file, struct error *err)
{
    struct span span = {length == 0 ? "" : bytes, length};
    struct object_source source = {.bytes = length, .read = span_read, .context = &span};
    return checkpoint_add_file(writer, &source, rows, arena, file, err);
}

enum status checkpoint_commit(struct checkpoint_writer *writer, const struct checkpoint_manifest *manifest, enum object_result *result,
                              struct error *err)
{
    struct checkpoint_manifest whole = *manifest;
    char key[OBJECT_KEY_MAX + 1];
    struct object_info info;
    struct text text;
    json_t *object;
    whole.job = writer->job;
    whole.task = writer->task;
    whole.incarnation = writer->incarnation;
    whole.created_us = storage_clock(writer->storage)->wall_us(storage_clock(writer->storage));
    TRY(manifest_key(writer->job, writer->task, manifest->seq, key, err));
    TRY(manifest_write(&whole, &object, err));
    TRY(document_write(object, writer->arena, &text, err));
    enum status status = store_put(storage_objects(writer->storage, STORE_CHECKPOINTS), key, text.bytes, text.length, PUT_IF_ABSENT, NULL,
                                   result, &info, err);
    if (status != STATUS_OK) {
        error_add_context(err, "while committing checkpoint %" PRIu64 " of %s/%s", manifest->seq, writer->job, writer->task);
    }
    return status;
}

/* ---- finding ---- */

struct seq_list {
    struct arena *arena;
    size_t prefix_length;
    uint64_t *seqs;
    uint32_t count, capacity;
};

static enum status seq_visit(void *context, const char *key, const struct object_info *info, bool *stop, struct error *err)
{
    (void)info;
    (void)stop;
    struct seq_list *self = context;
    const char *name = key + self->prefix_length;
    if (strspn(name, "0123456789") != SEQ_DIGITS || strcmp(name + SEQ_DIGITS, MANIFEST_ENDING) != 0) {
        return STATUS_OK; /* not ours */
    }
    TRY_ALLOC(self->seqs, arena_grow(self->arena, self->seqs, &self->capacity, self->count + 1, sizeof *self->seqs), err);
    self->seqs[self->count++] = strtoull(name, NULL, 10);
    return STATUS_OK;
}

/* Oldest first, in the arena. */
static enum status seqs_list(struct storage *storage, const char *job, const char *task, struct arena *arena, struct seq_list *list,
                             struct error *err)
{
    struct object_store *store = storage_objects(storage, STORE_CHECKPOINTS);
    char prefix[OBJECT_KEY_MAX + 1];
    TRY(storage_check(storage, ACCESS_CHECKPOINTS, ACCESS_READ, job, err));
    TRY(store_key(prefix, err, "jobs", job, "checkpoints", task, "", NULL));
    *list = (struct seq_list){.arena = arena, .prefix_length = strlen(prefix)};
    return store->driver->list(store, prefix, NULL, seq_visit, list, err);
}

enum status checkpoint_list(struct storage *storage, const char *job, const char *task, checkpoint_visit visit, void *context,
                            struct error *err)
{
    struct arena *arena = arena_create(NULL, "checkpoint list");
    struct seq_list list;
    bool stop = false;
    TRY_ALLOC(arena, arena, err);
    enum status status = seqs_list(storage, job, task, arena, &list, err);
    for (uint32_t i = list.count; status == STATUS_OK && i > 0 && !stop; i--) {
        status = visit(context, list.seqs[i - 1], &stop, err);
    }
    arena_destroy(arena);
    return status;
}

enum status checkpoint_tasks(struct storage *storage, const char *job, struct arena *arena, const char *const **names, uint32_t *count,
                             struct error *err)
{
    struct store_names list;
    char prefix[OBJECT_KEY_MAX + 1];
    TRY(storage_check(storage, ACCESS_CHECKPOINTS, ACCESS_READ, job, err));
    TRY(store_key(prefix, err, "jobs", job, "checkpoints", "", NULL));
    TRY(store_list_names(storage_objects(storage, STORE_CHECKPOINTS), prefix, arena, &list, err));
    *names = list.names;
    *count = list.count;
    return STATUS_OK;
}

enum status checkpoint_read_manifest(struct storage *storage, const char *job, const char *task, uint64_t seq, struct arena *arena,
                                     enum object_result *result, struct checkpoint_manifest *manifest, struct error *err)
{
    char key[OBJECT_KEY_MAX + 1];
    struct text text;
    struct document document;
    TRY(storage_check(storage, ACCESS_CHECKPOINTS, ACCESS_READ, job, err));
    TRY(manifest_key(job, task, seq, key, err));
    TRY(store_get(storage_objects(storage, STORE_CHECKPOINTS), key, arena, result, &text, NULL, err));
    if (*result != OBJECT_OK) {
        return STATUS_OK;
    }
    const char *name = arena_text(arena, key, strlen(key));
    TRY_ALLOC(name, name, err);
    TRY(document_open(name, text, MANIFEST_VERSION, arena, &document, err));
    manifest_read(&document, document.root, manifest);
    if (!document.failed && (manifest->seq != seq || strcmp(manifest->job, job) != 0 || strcmp(manifest->task, task) != 0)) {
        document_complain(&document, "seq", "is another checkpoint's: the object was moved or copied");
    }
    document_close(&document);
    return document_status(&document);
}

/* ---- reading ---- */

/* A file's key is below its job's; a manifest must not lead anywhere else. */
static enum status file_check(struct storage *storage, const struct checkpoint_file *file, struct error *err)
{
    const char *id = strncmp(file->key, "jobs/", 5) == 0 ? file->key + 5 : NULL;
    size_t length = id == NULL ? 0 : strcspn(id, "/");
    char job[OBJECT_KEY_MAX + 1];
    if (length == 0 || strncmp(id + length, "/state/", 7) != 0 || !store_name_decode(id, length, job, sizeof job)) {
        return error_set(err, ERROR_STORE_CORRUPT, "'%s' is no file of a checkpoint", file->key);
    }
    return storage_check(storage, ACCESS_CHECKPOINTS, ACCESS_READ, job, err);
}

enum status checkpoint_open_file(struct storage *storage, const struct checkpoint_file *file, const struct object_sink *sink,
                                 struct error *err)
{
    char key[OBJECT_KEY_MAX + 1];
    struct content content = {.bytes = file->bytes, .crc32c = file->crc32c};
    snprintf(content.sha256, sizeof content.sha256, "%s", file->sha256);
    TRY(file_check(storage, file, err));
    snprintf(key, sizeof key, "v1/%s", file->key);
    return content_get(storage_objects(storage, STORE_CHECKPOINTS), key, file->key, &content, sink, err);
}

enum status checkpoint_verify(struct storage *storage, const struct checkpoint_manifest *manifest, struct error *err)
{
    for (uint32_t i = 0; i < manifest->table_count; i++) {
        const struct checkpoint_table *table = &manifest->tables[i];
        for (uint32_t j = 0; j < table->file_count; j++) {
            enum status status = checkpoint_open_file(storage, &table->files[j], NULL, err);
            if (status != STATUS_OK) {
                error_add_context(err, "in table '%s' of checkpoint %" PRIu64 " of %s/%s", table->name, manifest->seq, manifest->job,
                                  manifest->task);
                return status;
            }
        }
    }
    return STATUS_OK;
}

/* One candidate; a manifest that has been removed since it was listed is passed over. */
static enum status candidate_try(struct storage *storage, const char *job, const char *task, uint64_t seq, bool verify, struct arena *arena,
                                 enum object_result *result, struct checkpoint_manifest *manifest, struct error *err)
{
    TRY(checkpoint_read_manifest(storage, job, task, seq, arena, result, manifest, err));
    return verify && *result == OBJECT_OK ? checkpoint_verify(storage, manifest, err) : STATUS_OK;
}

enum status checkpoint_find_valid(struct storage *storage, const char *job, const char *task, const struct checkpoint_choice *choice,
                                  struct arena *arena, enum object_result *result, struct checkpoint_manifest *manifest,
                                  const char **skipped, struct error *err)
{
    struct seq_list list;
    struct error first;
    bool bad = false;
    *skipped = NULL;
    *result = OBJECT_ABSENT;
    TRY(seqs_list(storage, job, task, arena, &list, err));
    for (uint32_t i = list.count; i > 0; i--) {
        enum status status = candidate_try(storage, job, task, list.seqs[i - 1], choice->verify, arena, result, manifest, err);
        if (status == STATUS_OK && *result == OBJECT_OK) {
            return STATUS_OK;
        }
        /* only what is surely bad may be passed over: a store that does not answer says nothing about its objects */
        if (status != STATUS_OK && (!choice->may_fall_back || status != STATUS_CORRUPT)) {
            return status;
        }
        if (status != STATUS_OK) {
            const char *before = *skipped == NULL ? "" : *skipped, *line_end = *skipped == NULL ? "" : "\n";
            TRY_ALLOC(*skipped, arena_format(arena, "%s%scheckpoint %" PRIu64 ": %s", before, line_end, list.seqs[i - 1], err->text), err);
            if (!bad) {
                first = *err;
                bad = true;
            }
        }
    }
    if (bad) {
        *err = first;
        error_add_context(err, "no older checkpoint of %s/%s is good either", job, task);
        return err->status;
    }
    return STATUS_OK;
}

enum status checkpoint_remove_file(struct storage *storage, const char *job, const struct checkpoint_file *file, struct error *err)
{
    enum object_result result;
    char key[OBJECT_KEY_MAX + 1];
    TRY(storage_check(storage, ACCESS_CHECKPOINTS, ACCESS_DELETE, job, err));
    snprintf(key, sizeof key, "v1/%s", file->key);
    return store_remove(storage_objects(storage, STORE_CHECKPOINTS), key, NULL, &result, err);
}

enum status checkpoint_remove(struct storage *storage, const char *job, const char *task, uint64_t seq, enum object_result *result,
                              struct error *err)
{
    char key[OBJECT_KEY_MAX + 1];
    TRY(storage_check(storage, ACCESS_CHECKPOINTS, ACCESS_DELETE, job, err));
    TRY(manifest_key(job, task, seq, key, err));
    return store_remove(storage_objects(storage, STORE_CHECKPOINTS), key, NULL, result, err);
}
