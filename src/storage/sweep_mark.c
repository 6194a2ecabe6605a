#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "storage/sweep_internal.h"

enum { DOCUMENT_FORM = 1, HASH_DIGITS = 64 };

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), wanted = strlen(ending);
    return length >= wanted && strcmp(text + length - wanted, ending) == 0;
}

enum sweep_class sweep_classify(const char *key)
{
    static const struct {
        const char *kind, *inner, *ending; /* inner: of the part after the next one */
        enum sweep_class class;
    } classes[] = {
        {"checkpoints", "", ".manifest.json", SWEEP_MANIFEST},
        {"savepoints", "savepoint.json", "/savepoint.json", SWEEP_SAVEPOINT},
        {"savepoints", "files/", "", SWEEP_SAVEPOINT_FILE},
        {"state", "", "", SWEEP_STATE_FILE},
        {"artifacts", "", ".json", SWEEP_DOCUMENT},
        {"config", "", ".json", SWEEP_DOCUMENT},
    };
    if (strncmp(key, "v1/blobs/", 9) == 0) {
        return SWEEP_BLOB;
    }
    if (strncmp(key, "v1/config/", 10) == 0) {
        return SWEEP_DOCUMENT;
    }
    const char *kind = strncmp(key, "v1/jobs/", 8) == 0 ? strchr(key + 8, '/') : NULL;
    if (kind == NULL) {
        return SWEEP_OTHER;
    }
    kind++;
    size_t length = strcspn(kind, "/");
    const char *next = kind[length] == '/' ? strchr(kind + length + 1, '/') : NULL;
    for (size_t i = 0; i < ARRAY_LENGTH(classes); i++) {
        bool same = strlen(classes[i].kind) == length && memcmp(classes[i].kind, kind, length) == 0;
        bool inner = classes[i].inner[0] == '\0' || (next != NULL && strncmp(next + 1, classes[i].inner, strlen(classes[i].inner)) == 0);
        if (same && inner && ends_with(key, classes[i].ending)) {
            return classes[i].class;
        }
    }
    return strcmp(kind, "job.json") == 0 ? SWEEP_DOCUMENT : SWEEP_OTHER;
}

void sweep_places_find(const struct storage *storage, struct sweep_places *places)
{
    places->count = 0;
    for (uint32_t kind = 0; kind < STORE_KIND_COUNT; kind++) {
        bool seen = false;
        for (uint32_t i = 0; i < places->count && !seen; i++) {
            seen = storage_objects(storage, places->kinds[i]) == storage_objects(storage, (enum store_kind)kind);
        }
        if (!seen) {
            places->kinds[places->count++] = (enum store_kind)kind;
        }
    }
}

enum status sweep_marks_open(struct sweep_marks *marks, struct error *err)
{
    *marks = (struct sweep_marks){0};
    TRY_ALLOC(marks->arena, arena_create(NULL, "marks of a sweep"), err);
    marks->files.arena = marks->hashes.arena = marks->arena;
    return STATUS_OK;
}

void sweep_marks_close(struct sweep_marks *marks)
{
    arena_destroy(marks->arena);
}

/* ---- what a document names ---- */

static enum status mark_hashes(struct sweep_marks *marks, struct text text, struct error *err)
{
    size_t run = 0;
    for (size_t i = 0; i <= text.length; i++) {
        if (i < text.length && isxdigit((unsigned char)text.bytes[i])) {
            run++;
            continue;
        }
        if (run == HASH_DIGITS) {
            TRY(key_set_add(&marks->hashes, text.bytes + i - HASH_DIGITS, HASH_DIGITS, err));
        }
        run = 0;
    }
    return STATUS_OK;
}

static enum status mark_files(struct sweep_marks *marks, const struct checkpoint_manifest *manifest, const char *prefix, struct error *err)
{
    for (uint32_t i = 0; i < manifest->table_count; i++) {
        for (uint32_t j = 0; j < manifest->tables[i].file_count; j++) {
            char key[2 * OBJECT_KEY_MAX];
            int length = snprintf(key, sizeof key, "%s%s", prefix, manifest->tables[i].files[j].key);
            TRY(key_set_add(&marks->files, key, (size_t)length < sizeof key ? (size_t)length : sizeof key - 1, err));
        }
    }
    return STATUS_OK;
}

/* ---- which checkpoints count ---- */

static struct sweep_task *find_task(const struct sweep_marks *marks, const char *key)
{
    size_t length = (size_t)(strrchr(key, '/') - key) + 1;
    for (uint32_t i = marks->task_count; i > 0; i--) { /* listings are in order: it is the last, or new */
        const char *folder = marks->tasks[i - 1].folder;
        if (strncmp(folder, key, length) == 0 && folder[length] == '\0') {
            return &marks->tasks[i - 1];
        }
    }
    return NULL;
}

static enum status add_task(struct sweep_marks *marks, const char *key, struct sweep_task **task, struct error *err)
{
    TRY_ALLOC(marks->tasks, arena_grow(marks->arena, marks->tasks, &marks->task_capacity, marks->task_count + 1, sizeof *marks->tasks),
              err);
    *task = &marks->tasks[marks->task_count];
    **task = (struct sweep_task){0};
    TRY_ALLOC((*task)->folder, arena_text(marks->arena, key, (size_t)(strrchr(key, '/') - key) + 1), err);
    marks->task_count++;
    return STATUS_OK;
}

static uint64_t read_counted(const struct checkpoint_manifest *manifest)
{
    json_t *extra = manifest->extra == NULL ? NULL : json_loads(manifest->extra, 0, NULL);
    json_int_t counted = json_integer_value(json_object_get(extra, "counted"));
    json_decref(extra);
    return counted < 0 ? 0 : (uint64_t)counted;
}

static enum status mark_counted(struct sweep_marks *marks, const char *key, const struct checkpoint_manifest *manifest, struct error *err)
{
    struct sweep_task *task = find_task(marks, key);
    const struct sweep_checkpoint checkpoint = {manifest->seq, read_counted(manifest)};
    if (task == NULL) {
        TRY(add_task(marks, key, &task, err));
    }
    TRY_ALLOC(
        task->checkpoints,
        arena_grow(marks->arena, task->checkpoints, &task->checkpoint_capacity, task->checkpoint_count + 1, sizeof *task->checkpoints),
        err);
    task->checkpoints[task->checkpoint_count++] = checkpoint;
    task->has_record |= manifest->epoch != 0;
    task->counted = checkpoint.counted > task->counted ? checkpoint.counted : task->counted;
    return STATUS_OK;
}

bool sweep_is_superseded(const struct sweep_marks *marks, const char *key, uint64_t seq)
{
    const struct sweep_task *task = find_task(marks, key);
    bool read = false, named = false;
    for (uint32_t i = 0; task != NULL && i < task->checkpoint_count; i++) {
        const struct sweep_checkpoint *checkpoint = &task->checkpoints[i];
        read |= checkpoint->seq == seq;
        named |= checkpoint->seq >= task->counted && checkpoint->counted == seq;
    }
    return read && (!task->has_record || (seq < task->counted && !named));
}

static enum status mark_manifests(struct document *document, const char *key, enum sweep_class class, struct sweep_marks *marks,
                                  struct error *err)
{
    struct checkpoint_manifest manifest;
    if (class == SWEEP_MANIFEST) {
        manifest_read(document, document->root, &manifest);
        TRY(document_status(document));
        TRY(mark_counted(marks, key, &manifest, err));
        return mark_files(marks, &manifest, "v1/", err);
    }
    char prefix[OBJECT_KEY_MAX + 1];
    const json_t *tasks = document_member(document, document->root, "tasks", JSON_ARRAY, DOCUMENT_REQUIRED);
    snprintf(prefix, sizeof prefix, "%.*s", (int)(strlen(key) - strlen("savepoint.json")), key);
    for (size_t i = 0; i < json_array_size(tasks); i++) {
        manifest_read(document, json_array_get(tasks, i), &manifest);
        TRY(document_status(document));
        TRY(mark_files(marks, &manifest, prefix, err));
    }
    return document_status(document);
}

enum status sweep_mark_document(struct storage *storage, enum store_kind kind, const char *key, enum sweep_class class,
                                struct sweep_marks *marks, struct error *err)
{
    struct arena *arena = arena_create(NULL, "document");
    enum object_result result;
    struct text text;
    struct document document;
    TRY_ALLOC(arena, arena, err);
    enum status status = store_get(storage_objects(storage, kind), key, arena, &result, &text, NULL, err);
    if (status == STATUS_OK && result == OBJECT_OK) {
        status = document_open(key, text, DOCUMENT_FORM, arena, &document, err);
        if (status == STATUS_OK) {
            status = class == SWEEP_DOCUMENT ? STATUS_OK : mark_manifests(&document, key, class, marks, err);
            document_close(&document);
        }
        if (status == STATUS_OK) {
            status = mark_hashes(marks, text, err);
            marks->documents++;
        }
    }
    arena_destroy(arena);
    return status;
}

/* ---- all of them ---- */

struct mark_walk {
    struct storage *storage;
    enum store_kind kind;
    struct sweep_marks *marks;
};

static enum status mark_visit(void *context, const char *key, const struct object_info *info, bool *stop, struct error *err)
{
    (void)info;
    (void)stop;
    struct mark_walk *self = context;
    enum sweep_class class = sweep_classify(key);
    if (class != SWEEP_MANIFEST && class != SWEEP_SAVEPOINT && class != SWEEP_DOCUMENT) {
        return STATUS_OK;
    }
    return sweep_mark_document(self->storage, self->kind, key, class, self->marks, err);
}

enum status sweep_mark_all(struct storage *storage, struct sweep_marks *marks, struct error *err)
{
    struct sweep_places places;
    sweep_places_find(storage, &places);
    for (uint32_t i = 0; i < places.count; i++) {
        struct mark_walk walk = {storage, places.kinds[i], marks};
        struct object_store *store = storage_objects(storage, places.kinds[i]);
        TRY(store->driver->list(store, "v1/jobs/", NULL, mark_visit, &walk, err));
        TRY(store->driver->list(store, "v1/config/", NULL, mark_visit, &walk, err));
    }
    return STATUS_OK;
}

bool sweep_is_marked(const struct sweep_marks *marks, enum sweep_class class, const char *key)
{
    if (class == SWEEP_BLOB) {
        const char *hash = strrchr(key, '/') + 1;
        return key_set_has(&marks->hashes, hash, strlen(hash));
    }
    return key_set_has(&marks->files, key, strlen(key));
}
