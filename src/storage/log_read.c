/* Hour by hour: the batches of an hour are read, what the filter lets through is sorted by time and given. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/batch_store.h"
#include "storage/document.h"
#include "storage/log_store.h"

struct log_cursor {
    struct arena *arena, *spare;
    const char **seen; /* keys of the last listing, in order */
    uint32_t seen_count;
};

/* A line with its place in the order of reading, which decides between equal times. */
struct entry {
    struct log_line line;
    uint32_t place;
};
struct log_reader {
    struct storage *storage;
    const struct log_filter *filter;
    struct arena *arena; /* of one hour */
    struct arena *keys_arena;
    const char **keys;
    uint32_t key_count, key_capacity;
    const char *to_hour; /* "2026-11-30/09" or "~": keys with a later hour end it */
    size_t prefix_length;
    struct entry *entries;
    uint32_t count, capacity;
    log_visit visit;
    void *context;
};

static enum status key_visit(void *context, const char *key, const struct object_info *info, bool *stop, struct error *err)
{
    (void)info;
    struct log_reader *self = context;
    if (strncmp(key + self->prefix_length, self->to_hour, strlen(self->to_hour)) > 0) {
        *stop = true;
        return STATUS_OK;
    }
    TRY_ALLOC(self->keys, arena_grow(self->keys_arena, self->keys, &self->key_capacity, self->key_count + 1, sizeof *self->keys), err);
    TRY_ALLOC(self->keys[self->key_count], arena_text(self->keys_arena, key, strlen(key)), err);
    self->key_count++;
    return STATUS_OK;
}

static bool fits(const struct log_filter *filter, const struct log_line *line)
{
    const char *const wanted[][2] = {{filter->task, line->task}, {filter->processor, line->processor}, {filter->event, line->event}};
    for (size_t i = 0; i < ARRAY_LENGTH(wanted); i++) {
        if (wanted[i][0] != NULL && (wanted[i][1] == NULL || strcmp(wanted[i][0], wanted[i][1]) != 0)) {
            return false;
        }
    }
    return line->at_us >= filter->from_us && (filter->to_us == 0 || line->at_us < filter->to_us) && line->level >= filter->at_least;
}

static enum status line_read(struct log_reader *self, const char *key, struct text text, struct error *err)
{
    struct document document = {.name = key, .arena = self->arena, .err = err};
    document.root = json_loadb(text.bytes, text.length, 0, NULL);
    if (document.root == NULL) {
        return error_set(err, ERROR_STORE_CORRUPT, "'%s' is corrupt: a line is not JSON", key);
    }
    const char *level = document_text(&document, document.root, "level", DOCUMENT_REQUIRED);
    struct log_line line = {.at_us = document_int(&document, document.root, "at_us", DOCUMENT_REQUIRED, 0),
                            .event = document_text(&document, document.root, "event", DOCUMENT_REQUIRED),
                            .task = document_text(&document, document.root, "task", DOCUMENT_OPTIONAL),
                            .processor = document_text(&document, document.root, "processor", DOCUMENT_OPTIONAL),
                            .fields = document_json(&document, document.root, "fields"),
                            .level = LOG_LEVEL_COUNT};
    for (uint32_t i = 0; i < LOG_LEVEL_COUNT && level != NULL; i++) {
        line.level = strcmp(level, log_level_name((enum log_level)i)) == 0 ? (enum log_level)i : line.level;
    }
    document_close(&document);
    TRY(document_status(&document));
    if (!fits(self->filter, &line)) {
        return STATUS_OK;
    }
    TRY_ALLOC(self->entries, arena_grow(self->arena, self->entries, &self->capacity, self->count + 1, sizeof *self->entries), err);
    self->entries[self->count] = (struct entry){line, self->count};
    self->count++;
    return STATUS_OK;
}

static enum status batch_read(struct log_reader *self, const char *key, struct error *err)
{
    struct text text;
    enum object_result result;
    TRY(batch_get(self->storage, STORE_LOGS, key, self->arena, &result, &text, err));
    for (size_t at = 0; result == OBJECT_OK && at < text.length;) {
        const char *end = memchr(text.bytes + at, '\n', text.length - at);
        size_t length = end == NULL ? text.length - at : (size_t)(end - text.bytes) - at;
        TRY(line_read(self, key, (struct text){text.bytes + at, length}, err));
        at += length + 1;
    }
    return STATUS_OK;
}

static int compare_entries(const void *left, const void *right)
{
    const struct entry *l = left, *r = right;
    if (l->line.at_us != r->line.at_us) {
        return l->line.at_us < r->line.at_us ? -1 : 1;
    }
    return (l->place > r->place) - (l->place < r->place);
}

static enum status entries_give(struct log_reader *self, bool *stop, struct error *err)
{
    if (self->count > 0) {
        qsort(self->entries, self->count, sizeof *self->entries, compare_entries);
    }
    for (uint32_t i = 0; i < self->count && !*stop; i++) {
        TRY(self->visit(self->context, &self->entries[i].line, stop, err));
    }
    self->entries = NULL;
    self->count = self->capacity = 0;
    arena_reset(self->arena);
    return STATUS_OK;
}

/* "2026-11-30/09/": the same day and hour. */
enum { HOUR_TEXT = STORE_DAY_BYTES + STORE_HOUR_BYTES };

static enum status keys_read(struct log_reader *self, struct log_cursor *cursor, struct error *err)
{
    bool stop = false;
    uint32_t seen = 0;
    for (uint32_t i = 0; i < self->key_count && !stop; i++) {
        const char *key = self->keys[i];
        bool hour_ends = i > 0 && strncmp(key + self->prefix_length, self->keys[i - 1] + self->prefix_length, HOUR_TEXT) != 0;
        if (hour_ends && cursor == NULL) {
            TRY(entries_give(self, &stop, err));
        }
        while (cursor != NULL && seen < cursor->seen_count && strcmp(cursor->seen[seen], key) < 0) {
            seen++;
        }
        bool known = cursor != NULL && seen < cursor->seen_count && strcmp(cursor->seen[seen], key) == 0;
        if (!known && !stop) {
            TRY(batch_read(self, key, err));
        }
    }
    return stop ? STATUS_OK : entries_give(self, &stop, err);
}

static enum status keys_list(struct log_reader *self, const char *job, char to_hour[32], struct error *err)
{
    char prefix[OBJECT_KEY_MAX + 1], after[OBJECT_KEY_MAX + 1], day[STORE_DAY_BYTES], hour[STORE_HOUR_BYTES];
    struct object_store *store = storage_objects(self->storage, STORE_LOGS);
    TRY(store_key(prefix, err, "jobs", job, "logs", "", NULL));
    store_day(self->filter->from_us, day, hour);
    TRY(store_key(after, err, "jobs", job, "logs", day, hour, "", NULL));
    if (self->filter->to_us == 0) {
        strcpy(to_hour, "~");
    } else {
        store_day(self->filter->to_us, day, hour);
        snprintf(to_hour, 32, "%s/%s", day, hour);
    }
    self->to_hour = to_hour;
    self->prefix_length = strlen(prefix);
    return store->driver->list(store, prefix, after, key_visit, self, err);
}

static enum status read_with(struct storage *storage, const char *job, const struct log_filter *filter, struct log_cursor *cursor,
                             struct arena *keys_arena, struct log_reader *self, struct error *err)
{
    char to_hour[32];
    TRY(storage_check(storage, ACCESS_LOGS, ACCESS_READ, job, err));
    self->storage = storage;
    self->filter = filter;
    self->keys_arena = keys_arena;
    TRY_ALLOC(self->arena, arena_create(NULL, "log lines"), err);
    enum status status = keys_list(self, job, to_hour, err);
    if (status == STATUS_OK) {
        status = keys_read(self, cursor, err);
    }
    arena_destroy(self->arena);
    return status;
}

enum status log_read(struct storage *storage, const char *job, const struct log_filter *filter, log_visit visit, void *context,
                     struct error *err)
{
    struct log_reader reader = {.visit = visit, .context = context};
    struct arena *arena = arena_create(NULL, "log batches");
    TRY_ALLOC(arena, arena, err);
    enum status status = read_with(storage, job, filter, NULL, arena, &reader, err);
    arena_destroy(arena);
    return status;
}

/* ---- following ---- */

enum status log_cursor_open(struct log_cursor **cursor, struct error *err)
{
    TRY_ALLOC(*cursor, calloc(1, sizeof **cursor), err);
    (*cursor)->arena = arena_create(NULL, "log cursor");
    (*cursor)->spare = arena_create(NULL, "log cursor");
    if ((*cursor)->arena == NULL || (*cursor)->spare == NULL) {
        log_cursor_close(*cursor);
        *cursor = NULL;
        return error_set(err, ERROR_BUDGET_SPENT, "no room for a log cursor");
    }
    return STATUS_OK;
}

void log_cursor_close(struct log_cursor *cursor)
{
    if (cursor != NULL) {
        arena_destroy(cursor->arena);
        arena_destroy(cursor->spare);
        free(cursor);
    }
}

/* The new listing replaces what was seen once all of it was given: after an error the same lines come again. */
enum status log_follow(struct storage *storage, const char *job, const struct log_filter *filter, struct log_cursor *cursor,
                       log_visit visit, void *context, struct error *err)
{
    struct log_reader reader = {.visit = visit, .context = context};
    arena_reset(cursor->spare);
    TRY(read_with(storage, job, filter, cursor, cursor->spare, &reader, err));
    struct arena *old = cursor->arena;
    cursor->arena = cursor->spare;
    cursor->spare = old;
    cursor->seen = reader.keys;
    cursor->seen_count = reader.key_count;
    return STATUS_OK;
}
