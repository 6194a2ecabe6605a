#include "storage/offset_store.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "storage/document.h"
#include "storage/stores_internal.h"

enum { OFFSETS_FORM = 1, NONCE_LETTERS = 16, SEQ_DIGITS = 20 };

/* ---- one record ---- */

static enum status record_get(struct storage *storage, const char *key, struct arena *arena, enum object_result *result,
                              struct offset_record *record, struct text *text, struct object_info *info, struct error *err)
{
    struct document document;
    TRY(store_get(storage_objects(storage, STORE_OFFSETS), key, arena, result, text, info, err));
    if (*result != OBJECT_OK) {
        return STATUS_OK;
    }
    TRY(document_open(key, *text, OFFSETS_FORM, arena, &document, err));
    *record = (struct offset_record){.seq = (uint64_t)document_int(&document, document.root, "seq", DOCUMENT_REQUIRED, 0),
                                     .epoch = (uint64_t)document_int(&document, document.root, "epoch", DOCUMENT_REQUIRED, 0),
                                     .key = document_text(&document, document.root, "key", DOCUMENT_REQUIRED),
                                     .value = document_text(&document, document.root, "value", DOCUMENT_REQUIRED),
                                     .at_us = document_int(&document, document.root, "at_us", DOCUMENT_OPTIONAL, 0)};
    document_close(&document);
    return document_status(&document);
}

static enum status current_get(struct storage *storage, const char *job, const char *task, struct arena *arena, enum object_result *result,
                               struct offset_record *record, struct text *text, struct object_info *info, struct error *err)
{
    char key[OBJECT_KEY_MAX + 1];
    TRY(store_key(key, err, "jobs", job, "offsets", task, "current", NULL));
    return record_get(storage, key, arena, result, record, text, info, err);
}

static enum status seq_key(const char *job, const char *task, uint64_t seq, char key[OBJECT_KEY_MAX + 1], struct error *err)
{
    char name[SEQ_DIGITS + 1];
    snprintf(name, sizeof name, "%020" PRIu64, seq);
    return store_key(key, err, "jobs", job, "offsets", task, name, NULL);
}

/* ---- appending ---- */

/* Everyone who saw the record archives the same bytes: a conflict means that it is done. */
static enum status record_archive(struct storage *storage, const char *job, const char *task, const struct offset_record *record,
                                  struct text text, struct error *err)
{
    char key[OBJECT_KEY_MAX + 1];
    enum object_result result;
    struct object_info info;
    TRY(seq_key(job, task, record->seq, key, err));
    return store_put(storage_objects(storage, STORE_OFFSETS), key, text.bytes, text.length, PUT_IF_ABSENT, NULL, &result, &info, err);
}

static enum status record_put(struct storage *storage, const char *job, const char *task, const struct offset_record *record,
                              const char *etag, struct arena *arena, enum object_result *result, struct error *err)
{
    char key[OBJECT_KEY_MAX + 1], nonce[NONCE_LETTERS + 1];
    const struct clock *clock = storage_clock(storage);
    struct object_info info;
    struct text text;
    storage_random_text(storage, nonce, NONCE_LETTERS);
    TRY(store_key(key, err, "jobs", job, "offsets", task, "current", NULL));
    TRY(document_write(json_pack("{s:i, s:I, s:I, s:s, s:s, s:I, s:s}", "v", OFFSETS_FORM, "seq", (json_int_t)record->seq, "epoch",
                                 (json_int_t)record->epoch, "key", record->key, "value", record->value, "at_us",
                                 (json_int_t)clock->wall_us(clock), "nonce", nonce),
                       arena, &text, err));
    return store_put(storage_objects(storage, STORE_OFFSETS), key, text.bytes, text.length, etag == NULL ? PUT_IF_ABSENT : PUT_IF_MATCH,
                     etag, result, &info, err);
}

static enum status append_in(struct storage *storage, const char *job, const char *task, struct offset_record *record, struct arena *arena,
                             enum object_result *result, struct error *err)
{
    struct offset_record newest;
    struct object_info info;
    struct text text;
    TRY(current_get(storage, job, task, arena, result, &newest, &text, &info, err));
    record->seq = 1;
    if (*result == OBJECT_ABSENT) {
        return record_put(storage, job, task, record, NULL, arena, result, err);
    }
    if (newest.epoch > record->epoch) {
        *result = OBJECT_CONFLICT;
        return STATUS_OK;
    }
    TRY(record_archive(storage, job, task, &newest, text, err));
    record->seq = newest.seq + 1;
    return record_put(storage, job, task, record, info.etag, arena, result, err);
}

enum status offsets_append(struct storage *storage, const char *job, const char *task, const char *key, const char *value, uint64_t epoch,
                           enum object_result *result, struct error *err)
{
    struct offset_record record = {.key = key, .value = value, .epoch = epoch};
    TRY(storage_check(storage, ACCESS_OFFSETS, ACCESS_APPEND, job, err));
    struct arena *arena = arena_create(NULL, "offsets");
    TRY_ALLOC(arena, arena, err);
    enum status status = append_in(storage, job, task, &record, arena, result, err);
    if (status != STATUS_OK) {
        error_add_context(err, "while recording offset '%.100s' of %s/%s", key, job, task);
    }
    arena_destroy(arena);
    return status;
}

/* ---- reading ---- */

enum status offsets_last(struct storage *storage, const char *job, const char *task, struct arena *arena, enum object_result *result,
                         struct offset_record *record, struct error *err)
{
    struct text text;
    struct object_info info;
    TRY(storage_check(storage, ACCESS_OFFSETS, ACCESS_READ, job, err));
    return current_get(storage, job, task, arena, result, record, &text, &info, err);
}

enum status offsets_read(struct storage *storage, const char *job, const char *task, const char *key, struct arena *arena,
                         enum object_result *result, struct offset_record *record, struct error *err)
{
    char object_key[OBJECT_KEY_MAX + 1];
    struct text text;
    struct object_info info;
    TRY(offsets_last(storage, job, task, arena, result, record, err));
    while (*result == OBJECT_OK && strcmp(record->key, key) != 0) {
        if (record->seq <= 1) {
            *result = OBJECT_ABSENT;
            return STATUS_OK;
        }
        /* older ones may have been swept: then there are none before them either */
        TRY(seq_key(job, task, record->seq - 1, object_key, err));
        TRY(record_get(storage, object_key, arena, result, record, &text, &info, err));
    }
    return STATUS_OK;
}

enum status offsets_tasks(struct storage *storage, const char *job, struct arena *arena, const char *const **names, uint32_t *count,
                          struct error *err)
{
    struct store_names list;
    char prefix[OBJECT_KEY_MAX + 1];
    TRY(storage_check(storage, ACCESS_OFFSETS, ACCESS_READ, job, err));
    TRY(store_key(prefix, err, "jobs", job, "offsets", "", NULL));
    TRY(store_list_names(storage_objects(storage, STORE_OFFSETS), prefix, arena, &list, err));
    *names = list.names;
    *count = list.count;
    return STATUS_OK;
}
