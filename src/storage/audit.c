/* Layout: audit/<day>/<microseconds, 20 digits>-<random>.json, created if absent. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "storage/document.h"
#include "storage/stores_internal.h"

enum { AUDIT_FORM = 1, TAIL_LETTERS = 8 };

enum status audit_append(struct storage *storage, const struct audit_line *line, struct error *err)
{
    char key[OBJECT_KEY_MAX + 1], name[64], tail[TAIL_LETTERS + 1], day[STORE_DAY_BYTES], hour[STORE_HOUR_BYTES];
    const struct clock *clock = storage_clock(storage);
    int64_t at_us = line->at_us != 0 ? line->at_us : clock->wall_us(clock);
    struct object_info info;
    enum object_result result;
    struct text text;
    store_day(at_us, day, hour);
    storage_random_text(storage, tail, TAIL_LETTERS);
    snprintf(name, sizeof name, "%020" PRId64 "-%s.json", at_us, tail);
    TRY(store_key(key, err, "audit", day, name, NULL));
    struct arena *arena = arena_create(NULL, "audit");
    TRY_ALLOC(arena, arena, err);
    enum status status = document_write(json_pack("{s:i, s:I, s:s, s:s, s:s*, s:s, s:s}", "v", AUDIT_FORM, "at_us", (json_int_t)at_us,
                                                  "actor", line->actor == NULL ? "system:unknown" : line->actor, "action", line->action,
                                                  "job", line->job, "outcome", line->outcome, "nonce", tail),
                                        arena, &text, err);
    if (status == STATUS_OK) {
        status = store_put(storage_objects(storage, STORE_AUDIT), key, text.bytes, text.length, PUT_IF_ABSENT, NULL, &result, &info, err);
    }
    arena_destroy(arena);
    return status;
}

struct audit_reader {
    struct storage *storage;
    struct arena *arena;
    int64_t from_us, to_us;
    audit_visit visit;
    void *context;
};

static enum status line_read(struct audit_reader *self, const char *key, bool *stop, struct error *err)
{
    struct text text;
    struct document document;
    enum object_result result;
    arena_reset(self->arena);
    TRY(store_get(storage_objects(self->storage, STORE_AUDIT), key, self->arena, &result, &text, NULL, err));
    if (result != OBJECT_OK) {
        return STATUS_OK; /* swept since it was listed */
    }
    TRY(document_open(key, text, AUDIT_FORM, self->arena, &document, err));
    struct audit_line line = {.at_us = document_int(&document, document.root, "at_us", DOCUMENT_REQUIRED, 0),
                              .actor = document_text(&document, document.root, "actor", DOCUMENT_REQUIRED),
                              .action = document_text(&document, document.root, "action", DOCUMENT_REQUIRED),
                              .job = document_text(&document, document.root, "job", DOCUMENT_OPTIONAL),
                              .outcome = document_text(&document, document.root, "outcome", DOCUMENT_REQUIRED)};
    document_close(&document);
    TRY(document_status(&document));
    return line.at_us < self->from_us || line.at_us >= self->to_us ? STATUS_OK : self->visit(self->context, &line, stop, err);
}

static enum status line_visit(void *context, const char *key, const struct object_info *info, bool *stop, struct error *err)
{
    (void)info;
    return line_read(context, key, stop, err);
}

enum status audit_read(struct storage *storage, int64_t from_us, int64_t to_us, audit_visit visit, void *context, struct error *err)
{
    char prefix[OBJECT_KEY_MAX + 1], after[OBJECT_KEY_MAX + 1], day[STORE_DAY_BYTES], hour[STORE_HOUR_BYTES];
    struct object_store *store = storage_objects(storage, STORE_AUDIT);
    TRY(storage_check(storage, ACCESS_AUDIT, ACCESS_READ, NULL, err));
    struct audit_reader reader = {storage, arena_create(NULL, "audit"), from_us, to_us, visit, context};
    TRY_ALLOC(reader.arena, reader.arena, err);
    store_day(from_us < 0 ? 0 : from_us, day, hour);
    enum status status = store_key(prefix, err, "audit", "", NULL);
    if (status == STATUS_OK && (status = store_key(after, err, "audit", day, "", NULL)) == STATUS_OK) {
        status = store->driver->list(store, prefix, after, line_visit, &reader, err);
    }
    arena_destroy(reader.arena);
    return status;
}
