#include "storage/savepoints.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/content.h"
#include "storage/file_name.h"
#include "storage/manifest.h"
#include "storage/stores_internal.h"

enum { SAVEPOINT_VERSION = 1, ATTEMPT_LETTERS = 8 };

struct savepoint_place {
    struct object_store *store;
    bool owned;
    char prefix[OBJECT_KEY_MAX + 1]; /* "" or ends in '/' */
};

static enum status place_open(struct storage *storage, const char *job, const char *place, struct savepoint_place *opened,
                              struct error *err)
{
    *opened = (struct savepoint_place){0};
    if (strpbrk(place, "/:") != NULL) {
        opened->owned = true;
        return storage_open_place(storage, place, &opened->store, err);
    }
    if (job == NULL || place[0] == '\0') {
        return error_set(err, ERROR_INVALID_OPTION, "'%s' is no savepoint's path or URI, and no job is given that it could be of", place);
    }
    opened->store = storage_objects(storage, STORE_SAVEPOINTS);
    return store_key(opened->prefix, err, "jobs", job, "savepoints", place, "", NULL);
}

static void place_close(struct savepoint_place *opened)
{
    if (opened->owned && opened->store != NULL) {
        opened->store->driver->close(opened->store);
    }
    opened->store = NULL;
}

static enum status place_key(const struct savepoint_place *place, const char *name, char key[OBJECT_KEY_MAX + 1], struct error *err)
{
    if (snprintf(key, OBJECT_KEY_MAX + 1, "%s%s", place->prefix, name) > OBJECT_KEY_MAX) {
        return error_set(err, ERROR_STORE_KEY, "the key of '%.100s' would be too long", name);
    }
    return STATUS_OK;
}

/* ---- creating ---- */

struct copier {
    struct storage *storage;
    struct savepoint_place *place;
    struct arena *arena;
    char attempt[ATTEMPT_LETTERS + 1];
    uint32_t next;
};

static enum status copy_file(struct copier *self, const struct checkpoint_file *from, struct checkpoint_file *to, struct error *err)
{
    char from_key[OBJECT_KEY_MAX + 1], to_key[OBJECT_KEY_MAX + 1];
    struct content content = {.bytes = from->bytes, .crc32c = from->crc32c};
    snprintf(content.sha256, sizeof content.sha256, "%s", from->sha256);
    *to = *from;
    TRY_ALLOC(to->key, arena_format(self->arena, "files/%s-%" PRIu32, self->attempt, self->next++), err);
    TRY(place_key(self->place, to->key, to_key, err));
    snprintf(from_key, sizeof from_key, "v1/%s", from->key);
    return content_copy(storage_objects(self->storage, STORE_CHECKPOINTS), from_key, from->key, &content, self->place->store, to_key, err);
}

static enum status copy_tables(struct copier *self, const struct checkpoint_manifest *from, struct checkpoint_manifest *to,
                               struct error *err)
{
    struct checkpoint_table *tables;
    TRY_ALLOC(tables, arena_alloc(self->arena, (from->table_count + 1) * sizeof *tables), err);
    *to = *from;
    to->tables = tables;
    to->base = -1;
    for (uint32_t i = 0; i < from->table_count; i++) {
        struct checkpoint_file *files;
        TRY_ALLOC(files, arena_alloc(self->arena, (from->tables[i].file_count + 1) * sizeof *files), err);
        tables[i] = from->tables[i];
        tables[i].files = files;
        for (uint32_t j = 0; j < tables[i].file_count; j++) {
            TRY(copy_file(self, &from->tables[i].files[j], &files[j], err));
        }
    }
    return STATUS_OK;
}

static enum status copy_all(struct copier *self, const struct checkpoint_manifest *manifests, uint32_t count, json_t *tasks,
                            struct error *err)
{
    for (uint32_t i = 0; i < count; i++) {
        struct checkpoint_manifest copy;
        json_t *object;
        TRY(copy_tables(self, &manifests[i], &copy, err));
        TRY(manifest_write(&copy, &object, err));
        if (json_array_append_new(tasks, object) != 0) {
            return error_set(err, ERROR_BUDGET_SPENT, "no room for a savepoint's document");
        }
    }
    return STATUS_OK;
}

static enum status create_in(struct copier *self, const char *job, const struct checkpoint_manifest *manifests, uint32_t count,
                             enum object_result *result, struct error *err)
{
    char key[OBJECT_KEY_MAX + 1];
    struct object_info info;
    struct text text;
    const struct clock *clock = storage_clock(self->storage);
    TRY(place_key(self->place, "savepoint.json", key, err));
    TRY(self->place->store->driver->head(self->place->store, key, result, &info, err));
    if (*result == OBJECT_OK) {
        *result = OBJECT_CONFLICT; /* found before anything is copied; the put below decides */
        return STATUS_OK;
    }
    json_t *tasks = json_array();
    enum status status = copy_all(self, manifests, count, tasks, err);
    if (status != STATUS_OK) {
        json_decref(tasks);
        return status;
    }
    json_t *document = json_pack("{s:i, s:s, s:s, s:I, s:s, s:o}", "v", SAVEPOINT_VERSION, "kind", "savepoint", "job", job, "created_us",
                                 (json_int_t)clock->wall_us(clock), "attempt", self->attempt, "tasks", tasks);
    TRY(document_write(document, self->arena, &text, err));
    return store_put(self->place->store, key, text.bytes, text.length, PUT_IF_ABSENT, NULL, result, &info, err);
}

enum status savepoint_create(struct storage *storage, const char *job, const char *place, const struct checkpoint_manifest *manifests,
                             uint32_t count, enum object_result *result, struct error *err)
{
    struct savepoint_place opened;
    TRY(storage_check(storage, ACCESS_SAVEPOINTS, ACCESS_APPEND, job, err));
    struct copier copier = {.storage = storage, .place = &opened, .arena = arena_create(NULL, "savepoint")};
    TRY_ALLOC(copier.arena, copier.arena, err);
    storage_random_text(storage, copier.attempt, ATTEMPT_LETTERS);
    enum status status = place_open(storage, job, place, &opened, err);
    if (status == STATUS_OK) {
        status = create_in(&copier, job, manifests, count, result, err);
        place_close(&opened);
    }
    if (status != STATUS_OK) {
        error_add_context(err, "while writing savepoint '%s' of job %s", place, job);
    }
    arena_destroy(copier.arena);
    return status;
}

enum status savepoint_where(struct storage *storage, const char *job, const char *place, struct arena *arena, const char **where,
                            struct error *err)
{
    char key[OBJECT_KEY_MAX + 1];
    *where = place;
    if (strpbrk(place, "/:") != NULL) {
        return STATUS_OK;
    }
    const char *uri = storage_uri(storage, STORE_SAVEPOINTS);
    bool is_folder = strncmp(uri, "file://", 7) == 0 || strstr(uri, "://") == NULL;
    char path[FILE_KEY_PATH_MAX];
    TRY(store_key(key, err, "jobs", job, "savepoints", place, "", NULL));
    if (is_folder) {
        file_name_of_folder(key, strlen(key), path);
    } else {
        snprintf(path, sizeof path, "%s", key);
    }
    path[strlen(path) - 1] = '\0'; /* the last '/' */
    TRY_ALLOC(*where, arena_format(arena, "%s/%s", uri, path), err);
    return STATUS_OK;
}

/* ---- opening ---- */

static void manifests_read(struct document *document, struct savepoint *savepoint)
{
    const json_t *tasks = document_member(document, document->root, "tasks", JSON_ARRAY, DOCUMENT_REQUIRED);
    struct checkpoint_manifest *manifests = arena_alloc(document->arena, (json_array_size(tasks) + 1) * sizeof *manifests);
    savepoint->job = document_text(document, document->root, "job", DOCUMENT_REQUIRED);
    savepoint->created_us = document_int(document, document->root, "created_us", DOCUMENT_OPTIONAL, 0);
    savepoint->manifests = manifests;
    if (manifests == NULL) {
        document_complain(document, "tasks", "needs more memory than there is");
        return;
    }
    savepoint->count = (uint32_t)json_array_size(tasks);
    for (uint32_t i = 0; i < savepoint->count; i++) {
        manifest_read(document, json_array_get(tasks, i), &manifests[i]);
    }
}

static enum status open_in(struct savepoint_place *place, struct arena *arena, enum object_result *result, struct savepoint *savepoint,
                           struct error *err)
{
    char key[OBJECT_KEY_MAX + 1];
    struct text text;
    struct document document;
    TRY(place_key(place, "savepoint.json", key, err));
    TRY(store_get(place->store, key, arena, result, &text, NULL, err));
    if (*result != OBJECT_OK) {
        return STATUS_OK;
    }
    TRY(document_open(key, text, SAVEPOINT_VERSION, arena, &document, err));
    manifests_read(&document, savepoint);
    document_close(&document);
    return document_status(&document);
}

enum status savepoint_open(struct storage *storage, const char *job, const char *place, struct arena *arena, enum object_result *result,
                           struct savepoint *savepoint, struct error *err)
{
    struct savepoint_place *opened;
    *savepoint = (struct savepoint){0};
    TRY(storage_check(storage, ACCESS_SAVEPOINTS, ACCESS_READ, job, err));
    TRY_ALLOC(opened, malloc(sizeof *opened), err);
    enum status status = place_open(storage, job, place, opened, err);
    if (status == STATUS_OK) {
        savepoint->place = arena_text(arena, place, strlen(place));
        status = open_in(opened, arena, result, savepoint, err);
        if (status == STATUS_OK && *result == OBJECT_OK) {
            savepoint->opened = opened;
            return STATUS_OK;
        }
        place_close(opened);
    }
    free(opened);
    return status;
}

void savepoint_close(struct savepoint *savepoint)
{
    if (savepoint->opened != NULL) {
        place_close(savepoint->opened);
        free(savepoint->opened);
        savepoint->opened = NULL;
    }
}

enum status savepoint_open_file(const struct savepoint *savepoint, const struct checkpoint_file *file, const struct object_sink *sink,
                                struct error *err)
{
    char key[OBJECT_KEY_MAX + 1];
    struct content content = {.bytes = file->bytes, .crc32c = file->crc32c};
    snprintf(content.sha256, sizeof content.sha256, "%s", file->sha256);
    TRY(place_key(savepoint->opened, file->key, key, err));
    enum status status = content_get(savepoint->opened->store, key, file->key, &content, sink, err);
    if (status != STATUS_OK) {
        error_add_context(err, "in savepoint '%s'", savepoint->place);
    }
    return status;
}

enum status savepoint_verify(const struct savepoint *savepoint, struct error *err)
{
    for (uint32_t i = 0; i < savepoint->count; i++) {
        const struct checkpoint_manifest *manifest = &savepoint->manifests[i];
        for (uint32_t j = 0; j < manifest->table_count; j++) {
            for (uint32_t k = 0; k < manifest->tables[j].file_count; k++) {
                TRY(savepoint_open_file(savepoint, &manifest->tables[j].files[k], NULL, err));
            }
        }
    }
    return STATUS_OK;
}

/* ---- deleting and listing ---- */

enum status savepoint_delete(struct storage *storage, const char *job, const char *place, enum object_result *result, struct error *err)
{
    struct savepoint_place opened;
    char key[OBJECT_KEY_MAX + 1], files[OBJECT_KEY_MAX + 1];
    TRY(storage_check(storage, ACCESS_SAVEPOINTS, ACCESS_DELETE, job, err));
    TRY(place_open(storage, job, place, &opened, err));
    enum status status;
    TRY_GOTO(done, status, place_key(&opened, "savepoint.json", key, err));
    TRY_GOTO(done, status, place_key(&opened, "files/", files, err));
    TRY_GOTO(done, status, store_remove(opened.store, key, NULL, result, err));
    uint64_t removed = 0;
    TRY_GOTO(done, status, store_remove_below(opened.store, files, NULL, &removed, err));
    if (removed > 0) {
        *result = OBJECT_OK; /* what an earlier attempt left */
    }
done:
    place_close(&opened);
    return status;
}

enum status savepoint_list(struct storage *storage, const char *job, struct arena *arena, const char *const **names, uint32_t *count,
                           struct error *err)
{
    struct store_names list;
    char prefix[OBJECT_KEY_MAX + 1];
    TRY(storage_check(storage, ACCESS_SAVEPOINTS, ACCESS_READ, job, err));
    TRY(store_key(prefix, err, "jobs", job, "savepoints", "", NULL));
    TRY(store_list_names(storage_objects(storage, STORE_SAVEPOINTS), prefix, arena, &list, err));
    *names = list.names;
    *count = list.count;
    return STATUS_OK;
}
