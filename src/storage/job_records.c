#include "storage/job_records.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "storage/document.h"
#include "storage/stores_internal.h"

enum { RECORD_VERSION = 1, NONCE_LETTERS = 16, IDS_DRAWN = 8 };

#define X(desired, name) [DESIRED_##desired] = name,
static const char *const desired_names[] = {JOB_DESIRED_LIST(X)};
#undef X
/* The members that are JSON of any form, by name. */
static const struct {
    const char *name;
    size_t offset;
} json_members[] = {
    {"plans", offsetof(struct job_record, plans)},     {"artifacts", offsetof(struct job_record, artifacts)},
    {"control", offsetof(struct job_record, control)}, {"last_complete", offsetof(struct job_record, last_complete)},
    {"history", offsetof(struct job_record, history)}, {"extra", offsetof(struct job_record, extra)},
};

const char *job_desired_name(enum job_desired desired)
{
    return desired_names[desired];
}

static enum status name_check(const char *name, struct error *err)
{
    size_t length = strlen(name);
    if (length == 0 || length > JOB_NAME_MAX || utf8_valid_length(name, length) != length) {
        return error_set(err, ERROR_INVALID_OPTION, "'%.100s' cannot be a job's name: it has to be UTF-8 of 1 to %d bytes", name,
                         JOB_NAME_MAX);
    }
    return STATUS_OK;
}

static enum status record_key(const char *id, char key[OBJECT_KEY_MAX + 1], struct error *err)
{
    return store_key(key, err, "jobs", id, "job.json", NULL);
}

/* ---- the record as JSON ---- */

static const char **json_member(struct job_record *record, size_t i)
{
    return (const char **)((char *)record + json_members[i].offset);
}

static enum status record_set_json(const struct job_record *record, json_t *object, struct error *err)
{
    for (size_t i = 0; i < ARRAY_LENGTH(json_members); i++) {
        TRY(document_set_json(object, json_members[i].name, *json_member((struct job_record *)record, i), err));
    }
    return STATUS_OK;
}

static enum status record_text(struct storage *storage, const struct job_record *record, struct arena *arena, struct text *text,
                               struct error *err)
{
    char nonce[NONCE_LETTERS + 1];
    storage_random_text(storage, nonce, NONCE_LETTERS);
    json_t *object = record->document == NULL ? json_object() : json_loads(record->document, 0, NULL);
    json_t *known =
        json_pack("{s:i, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:s*, s:s*, s:I, s:I, s:s}", "v", RECORD_VERSION, "id", record->id, "name",
                  record->name, "desired", job_desired_name(record->desired), "term_floor", (json_int_t)record->term_floor, "seat_high",
                  (json_int_t)record->seat_high, "plan", (json_int_t)record->plan, "config", (json_int_t)record->config, "commit_store",
                  record->commit_store, "submitted_by", record->submitted_by, "created_us", (json_int_t)record->created_us, "changed_us",
                  (json_int_t)record->changed_us, "nonce", nonce);
    enum status status = STATUS_OK;
    if (object == NULL || known == NULL || json_object_update(object, known) != 0) {
        status = error_set(err, ERROR_INVALID_OPTION, "the record of job '%s' cannot be written: a text in it is not UTF-8", record->id);
    } else {
        status = record_set_json(record, object, err);
    }
    json_decref(known);
    if (status != STATUS_OK) {
        json_decref(object);
        return status;
    }
    return document_write(object, arena, text, err);
}

static void desired_read(struct document *document, struct job_record *record)
{
    const char *name = document_text(document, document->root, "desired", DOCUMENT_REQUIRED);
    for (uint32_t i = 0; i < DESIRED_COUNT && name != NULL; i++) {
        if (strcmp(name, desired_names[i]) == 0) {
            record->desired = (enum job_desired)i;
            return;
        }
    }
    document_complain(document, "desired", "is none of running, paused, stopped, killed");
}

static void record_parse(struct document *document, const char *id, struct job_record *record)
{
    const json_t *root = document->root;
    const char *stored_id = document_text(document, root, "id", DOCUMENT_REQUIRED);
    if (stored_id != NULL && strcmp(stored_id, id) != 0) {
        document_complain(document, "id", "is another job's: the object was moved or copied");
    }
    record->name = document_text(document, root, "name", DOCUMENT_REQUIRED);
    record->term_floor = document_int(document, root, "term_floor", DOCUMENT_OPTIONAL, 0);
    record->seat_high = document_int(document, root, "seat_high", DOCUMENT_OPTIONAL, 0);
    record->plan = document_int(document, root, "plan", DOCUMENT_OPTIONAL, 0);
    record->config = document_int(document, root, "config", DOCUMENT_OPTIONAL, 0);
    record->commit_store = document_text(document, root, "commit_store", DOCUMENT_OPTIONAL);
    record->submitted_by = document_text(document, root, "submitted_by", DOCUMENT_OPTIONAL);
    record->created_us = document_int(document, root, "created_us", DOCUMENT_OPTIONAL, 0);
    record->changed_us = document_int(document, root, "changed_us", DOCUMENT_OPTIONAL, 0);
    desired_read(document, record);
    for (size_t i = 0; i < ARRAY_LENGTH(json_members); i++) {
        *json_member(record, i) = document_json(document, root, json_members[i].name);
    }
}

/* ---- reading and writing ---- */

static enum status record_read(struct storage *storage, const char *id, struct arena *arena, enum object_result *result,
                               struct job_record *record, struct error *err)
{
    char key[OBJECT_KEY_MAX + 1];
    struct object_info info;
    struct text text;
    struct document document;
    TRY(record_key(id, key, err));
    TRY(store_get(storage_objects(storage, STORE_JOBS), key, arena, result, &text, &info, err));
    if (*result != OBJECT_OK) {
        return STATUS_OK;
    }
    TRY(document_open(key, text, RECORD_VERSION, arena, &document, err));
    struct job_record read = {.document = text.bytes}; /* `id` may be the record's */
    snprintf(read.id, sizeof read.id, "%s", id);
    memcpy(read.etag, info.etag, sizeof read.etag);
    record_parse(&document, id, &read);
    *record = read;
    document_close(&document);
    return document_status(&document);
}

enum status job_record_read(struct storage *storage, const char *id, struct arena *arena, enum object_result *result,
                            struct job_record *record, struct error *err)
{
    TRY(storage_check(storage, ACCESS_JOBS, ACCESS_READ, id, err));
    return record_read(storage, id, arena, result, record, err);
}

static enum status record_put(struct storage *storage, struct job_record *record, enum put_condition condition, struct arena *arena,
                              enum object_result *result, struct error *err)
{
    char key[OBJECT_KEY_MAX + 1];
    struct object_info info;
    struct text text;
    record->changed_us = storage_clock(storage)->wall_us(storage_clock(storage));
    TRY(record_key(record->id, key, err));
    TRY(record_text(storage, record, arena, &text, err));
    TRY(store_put(storage_objects(storage, STORE_JOBS), key, text.bytes, text.length, condition,
                  condition == PUT_IF_MATCH ? record->etag : NULL, result, &info, err));
    if (*result == OBJECT_OK) {
        memcpy(record->etag, info.etag, sizeof record->etag);
        record->document = text.bytes;
    }
    return STATUS_OK;
}

enum status job_record_write(struct storage *storage, struct job_record *record, struct arena *arena, enum object_result *result,
                             struct error *err)
{
    TRY(storage_check(storage, ACCESS_JOBS, ACCESS_WRITE, record->id, err));
    return record_put(storage, record, PUT_IF_MATCH, arena, result, err);
}

/* ---- names ---- */

/* Rights are on ids, whose names are what counts. */
static enum status storage_check_name(struct storage *storage, enum access_right right, const char *name, struct error *err)
{
    char id[JOB_ID_MAX + 1];
    TRY(name_check(name, err));
    snprintf(id, sizeof id, "%s-0000", name);
    return storage_check(storage, ACCESS_JOBS, right, id, err);
}

static enum status name_put(struct storage *storage, const struct job_record *record, struct arena *arena, enum object_result *result,
                            struct error *err)
{
    char key[OBJECT_KEY_MAX + 1];
    struct object_info info;
    struct text text;
    TRY(store_key(key, err, "names", record->name, NULL));
    TRY(document_write(json_pack("{s:i, s:s}", "v", RECORD_VERSION, "id", record->id), arena, &text, err));
    return store_put(storage_objects(storage, STORE_JOBS), key, text.bytes, text.length, PUT_IF_ABSENT, NULL, result, &info, err);
}

static enum status name_find(struct storage *storage, const char *name, enum object_result *result, char id[JOB_ID_MAX + 1],
                             struct error *err)
{
    char key[OBJECT_KEY_MAX + 1];
    struct text text;
    struct document document;
    struct arena *arena = arena_create(NULL, "name of a job");
    TRY_ALLOC(arena, arena, err);
    enum status status;
    TRY_GOTO(done, status, name_check(name, err));
    TRY_GOTO(done, status, store_key(key, err, "names", name, NULL));
    TRY_GOTO(done, status, store_get(storage_objects(storage, STORE_JOBS), key, arena, result, &text, NULL, err));
    if (*result == OBJECT_OK) {
        TRY_GOTO(done, status, document_open(key, text, RECORD_VERSION, arena, &document, err));
        const char *found = document_text(&document, document.root, "id", DOCUMENT_REQUIRED);
        if (found != NULL && strlen(found) > JOB_ID_MAX) {
            document_complain(&document, "id", "is too long");
        }
        snprintf(id, JOB_ID_MAX + 1, "%s", found == NULL ? "" : found);
        status = document_status(&document);
        document_close(&document);
    }
done:
    arena_destroy(arena);
    return status;
}

enum status job_record_find(struct storage *storage, const char *name, enum object_result *result, char id[JOB_ID_MAX + 1],
                            struct error *err)
{
    TRY(storage_check_name(storage, ACCESS_READ, name, err));
    TRY(name_find(storage, name, result, id, err));
    if (*result != OBJECT_OK) {
        id[0] = '\0';
    }
    return STATUS_OK;
}

/* The record comes before the name, so that a name always leads to a record; one that lost the race for its name goes again. */
enum status job_record_create(struct storage *storage, struct job_record *record, struct arena *arena, enum object_result *result,
                              struct error *err)
{
    char taken[JOB_ID_MAX + 1], key[OBJECT_KEY_MAX + 1];
    TRY(name_check(record->name, err));
    TRY(storage_check_name(storage, ACCESS_APPEND, record->name, err));
    TRY(name_find(storage, record->name, result, record->id, err));
    if (*result == OBJECT_OK) {
        *result = OBJECT_CONFLICT;
        return STATUS_OK;
    }
    record->document = NULL;
    record->created_us = storage_clock(storage)->wall_us(storage_clock(storage));
    *result = OBJECT_CONFLICT;
    for (uint32_t drawn = 0; *result == OBJECT_CONFLICT && drawn < IDS_DRAWN; drawn++) {
        char tail[JOB_ID_TAIL];
        storage_random_text(storage, tail, JOB_ID_TAIL - 1);
        snprintf(record->id, sizeof record->id, "%s-%s", record->name, tail);
        TRY(record_put(storage, record, PUT_IF_ABSENT, arena, result, err));
    }
    if (*result == OBJECT_CONFLICT) {
        return error_set(err, ERROR_STORE_CONFLICT, "no free id for a job '%s' after %d drawings", record->name, IDS_DRAWN);
    }
    TRY(name_put(storage, record, arena, result, err));
    if (*result != OBJECT_CONFLICT) {
        return STATUS_OK;
    }
    enum object_result removed;
    TRY(record_key(record->id, key, err));
    TRY(store_remove(storage_objects(storage, STORE_JOBS), key, record->etag, &removed, err));
    enum object_result found;
    TRY(name_find(storage, record->name, &found, taken, err));
    snprintf(record->id, sizeof record->id, "%s", found == OBJECT_OK ? taken : "");
    return STATUS_OK;
}

enum status job_record_list(struct storage *storage, const char *pattern, job_record_visit visit, void *context, struct error *err)
{
    struct arena *arena = arena_create(NULL, "list of jobs"), *each = arena_create(NULL, "record of a job");
    struct store_names names = {0};
    char prefix[OBJECT_KEY_MAX + 1];
    bool stop = false;
    enum status status = arena == NULL || each == NULL ? error_set(err, ERROR_BUDGET_SPENT, "no room for a list of jobs") : STATUS_OK;
    if (status == STATUS_OK && (status = store_key(prefix, err, "names", "", NULL)) == STATUS_OK) {
        status = store_list_names(storage_objects(storage, STORE_JOBS), prefix, arena, &names, err);
    }
    for (uint32_t i = 0; status == STATUS_OK && i < names.count && !stop; i++) {
        char id[JOB_ID_MAX + 1];
        struct job_record record;
        enum object_result result;
        if (pattern != NULL && fnmatch(pattern, names.names[i], 0) != 0) {
            continue;
        }
        arena_reset(each);
        TRY_GOTO(done, status, name_find(storage, names.names[i], &result, id, err));
        if (result == OBJECT_OK && !storage_may(storage, ACCESS_JOBS, ACCESS_READ, id)) {
            continue; /* a list shows what may be seen */
        }
        if (result == OBJECT_OK) {
            TRY_GOTO(done, status, record_read(storage, id, each, &result, &record, err));
        }
        if (result == OBJECT_OK) { /* else removed since it was listed */
            status = visit(context, &record, &stop, err);
        }
    }
done:
    arena_destroy(arena);
    arena_destroy(each);
    return status;
}
