/* Reads what documents name. Each complaint is told, and the next one looked for. */
#include <stdio.h>
#include <string.h>

#include "storage/artifacts.h"
#include "storage/checkpoints.h"
#include "storage/savepoints.h"
#include "storage/sweep_internal.h"

struct fsck {
    struct storage *storage;
    fsck_visit visit;
    void *context;
    struct fsck_report *report;
    struct sweep_marks marks; /* files that were read: shared ones are read once */
    enum store_kind kind;
};

static void complain(struct fsck *self, const char *key, const struct error *err)
{
    self->report->problems++;
    if (self->visit != NULL) {
        self->visit(self->context, key, err->text);
    }
}

/* What is wrong with the store itself ends it; what is wrong with an object is told. */
static enum status judge(struct fsck *self, const char *key, enum status status, struct error *err)
{
    if (status == STATUS_CORRUPT || status == STATUS_UNSUPPORTED) {
        complain(self, key, err);
        return STATUS_OK;
    }
    return status;
}

static enum status check_file(struct fsck *self, enum store_kind kind, const char *prefix, const struct checkpoint_file *file,
                              struct error *err)
{
    char key[2 * OBJECT_KEY_MAX];
    struct content content = {.bytes = file->bytes, .crc32c = file->crc32c};
    snprintf(content.sha256, sizeof content.sha256, "%s", file->sha256);
    snprintf(key, sizeof key, "%s%s", prefix, file->key);
    if (key_set_has(&self->marks.files, key, strlen(key))) {
        return STATUS_OK;
    }
    TRY(key_set_add(&self->marks.files, key, strlen(key), err));
    self->report->files++;
    self->report->bytes += file->bytes;
    return judge(self, key, content_get(storage_objects(self->storage, kind), key, key, &content, NULL, err), err);
}

static enum status check_manifest(struct fsck *self, enum store_kind kind, const char *prefix, const struct checkpoint_manifest *manifest,
                                  struct error *err)
{
    for (uint32_t i = 0; i < manifest->table_count; i++) {
        for (uint32_t j = 0; j < manifest->tables[i].file_count; j++) {
            TRY(check_file(self, kind, prefix, &manifest->tables[i].files[j], err));
        }
    }
    return STATUS_OK;
}

static enum status check_named(struct fsck *self, const char *key, enum sweep_class class, struct document *document, struct error *err)
{
    struct checkpoint_manifest manifest;
    char prefix[OBJECT_KEY_MAX + 1];
    if (class == SWEEP_MANIFEST) {
        manifest_read(document, document->root, &manifest);
        TRY(document_status(document));
        return check_manifest(self, STORE_CHECKPOINTS, "v1/", &manifest, err);
    }
    const json_t *tasks = json_object_get(document->root, "tasks");
    snprintf(prefix, sizeof prefix, "%.*s", (int)(strlen(key) - strlen("savepoint.json")), key);
    for (size_t i = 0; class == SWEEP_SAVEPOINT && i < json_array_size(tasks); i++) {
        manifest_read(document, json_array_get(tasks, i), &manifest);
        TRY(document_status(document));
        TRY(check_manifest(self, STORE_SAVEPOINTS, prefix, &manifest, err));
    }
    return STATUS_OK;
}

/* An artifact's document names its blob. */
static enum status check_artifact(struct fsck *self, const char *key, const struct document *document, struct error *err)
{
    const char *hash = json_string_value(json_object_get(document->root, "sha256"));
    struct content content = {.bytes = (uint64_t)json_integer_value(json_object_get(document->root, "size")), .any_crc32c = true};
    char blob[OBJECT_KEY_MAX + 1];
    if (strstr(key, "/artifacts/") == NULL || hash == NULL || strlen(hash) != 64) {
        return STATUS_OK;
    }
    snprintf(blob, sizeof blob, "v1/blobs/%.2s/%s", hash, hash);
    if (key_set_has(&self->marks.files, blob, strlen(blob))) {
        return STATUS_OK;
    }
    TRY(key_set_add(&self->marks.files, blob, strlen(blob), err));
    snprintf(content.sha256, sizeof content.sha256, "%s", hash);
    self->report->files++;
    self->report->bytes += content.bytes;
    return judge(self, blob, content_get(storage_objects(self->storage, STORE_ARTIFACTS), blob, blob, &content, NULL, err), err);
}

static enum status check_document(struct fsck *self, const char *key, enum sweep_class class, struct arena *arena, struct error *err)
{
    struct text text;
    struct document document;
    enum object_result result;
    enum status status = store_get(storage_objects(self->storage, self->kind), key, arena, &result, &text, NULL, err);
    if (status != STATUS_OK || result != OBJECT_OK) {
        return judge(self, key, status, err);
    }
    self->report->documents++;
    status = document_open(key, text, 1, arena, &document, err);
    if (status != STATUS_OK) {
        return judge(self, key, status, err);
    }
    status = check_named(self, key, class, &document, err);
    status = judge(self, key, status, err);
    if (status == STATUS_OK) {
        status = check_artifact(self, key, &document, err);
    }
    document_close(&document);
    return status;
}

static enum status document_visit(void *context, const char *key, const struct object_info *info, bool *stop, struct error *err)
{
    (void)info;
    (void)stop;
    struct fsck *self = context;
    enum sweep_class class = sweep_classify(key);
    if (class != SWEEP_MANIFEST && class != SWEEP_SAVEPOINT && class != SWEEP_DOCUMENT) {
        return STATUS_OK;
    }
    struct arena *arena = arena_create(NULL, "document");
    TRY_ALLOC(arena, arena, err);
    enum status status = check_document(self, key, class, arena, err);
    arena_destroy(arena);
    return status;
}

enum status storage_fsck(struct storage *storage, const char *job, fsck_visit visit, void *context, struct fsck_report *report,
                         struct error *err)
{
    struct fsck self = {.storage = storage, .visit = visit, .context = context, .report = report};
    char prefix[OBJECT_KEY_MAX + 1];
    struct sweep_places places;
    *report = (struct fsck_report){0};
    TRY(storage_check(storage, ACCESS_CHECKPOINTS, ACCESS_READ, job, err));
    TRY(storage_check(storage, ACCESS_ARTIFACTS, ACCESS_READ, job, err));
    TRY(job == NULL ? store_key(prefix, err, "", NULL) : store_key(prefix, err, "jobs", job, "", NULL));
    TRY(sweep_marks_open(&self.marks, err));
    sweep_places_find(storage, &places);
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < places.count && status == STATUS_OK; i++) {
        struct object_store *store = storage_objects(storage, places.kinds[i]);
        self.kind = places.kinds[i];
        status = store->driver->list(store, prefix, NULL, document_visit, &self, err);
    }
    sweep_marks_close(&self.marks);
    return status;
}
