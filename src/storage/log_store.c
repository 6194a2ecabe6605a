#include "storage/log_store.h"

#include <stdlib.h>
#include <string.h>

#include "storage/batch_store.h"
#include "storage/document.h"

#define X(level, name) [LOG_##level] = name,
static const char *const level_names[] = {LOG_LEVEL_LIST(X)};
#undef X
#define HOUR_US (INT64_C(3600) * 1000000)

const char *log_level_name(enum log_level level)
{
    return level_names[level];
}

/* ---- writing ---- */

struct log_writer {
    struct storage *storage;
    struct arena *arena;
    struct batch_name name;
    uint64_t seq;
};

enum status log_writer_open(struct storage *storage, const char *job, const char *processor, const char *incarnation,
                            struct log_writer **writer, struct error *err)
{
    *writer = NULL;
    TRY(storage_check(storage, ACCESS_LOGS, ACCESS_APPEND, job, err));
    struct arena *arena = arena_create(NULL, "log writer");
    TRY_ALLOC(arena, arena, err);
    struct log_writer *self = arena_alloc(arena, sizeof *self);
    if (self != NULL) {
        self->storage = storage;
        self->arena = arena;
        self->name = (struct batch_name){.kind = STORE_LOGS,
                                         .job = arena_text(arena, job, strlen(job)),
                                         .processor = arena_text(arena, processor, strlen(processor)),
                                         .incarnation = arena_text(arena, incarnation, strlen(incarnation)),
                                         .ending = ".ndjson.zst",
                                         .by_hour = true};
    }
    if (self == NULL || self->name.job == NULL || self->name.processor == NULL || self->name.incarnation == NULL) {
        arena_destroy(arena);
        return error_set(err, ERROR_BUDGET_SPENT, "no room for a log writer");
    }
    *writer = self;
    return STATUS_OK;
}

void log_writer_close(struct log_writer *writer)
{
    if (writer != NULL) {
        arena_destroy(writer->arena);
    }
}

static enum status line_append(const struct log_line *line, const char *processor, struct text_builder *out, struct error *err)
{
    json_t *object = json_pack("{s:I, s:s, s:s, s:s, s:s*}", "at_us", (json_int_t)line->at_us, "level", level_names[line->level], "event",
                               line->event, "processor", processor, "task", line->task);
    enum status status = object == NULL ? error_set(err, ERROR_INVALID_OPTION, "a log line has to be text in UTF-8") : STATUS_OK;
    if (status == STATUS_OK && line->fields != NULL) {
        status = document_set_json(object, "fields", line->fields, err);
    }
    char *text = status == STATUS_OK ? json_dumps(object, JSON_COMPACT) : NULL;
    if (text != NULL) {
        text_append_text(out, text);
        text_append_char(out, '\n');
    }
    free(text);
    json_decref(object);
    return status;
}

enum status log_append(struct log_writer *writer, const struct log_line *lines, uint32_t count, struct error *err)
{
    struct text_builder out = {0};
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < count && status == STATUS_OK;) {
        int64_t first_us = lines[i].at_us;
        text_builder_clear(&out);
        for (; i < count && lines[i].at_us / HOUR_US == first_us / HOUR_US && status == STATUS_OK; i++) {
            status = line_append(&lines[i], writer->name.processor, &out, err);
        }
        if (status == STATUS_OK && out.failed) {
            status = error_set(err, ERROR_BUDGET_SPENT, "no room for a batch of log lines");
        }
        if (status == STATUS_OK) {
            status = batch_put(writer->storage, &writer->name, first_us, &writer->seq, out.bytes, out.length, err);
        }
    }
    text_builder_close(&out);
    return status;
}
