/* print: a line per change, "+I[1, a]", on standard output or standard error. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "connectors/built_in.h"
#include "data/cell_text.h"

struct print_settings {
    const char *identifier;
    bool standard_error;
    int64_t parallelism;
};
static const struct option_def print_options[] = {
    {.name = "print-identifier", OPTION_TEXT(struct print_settings, identifier), .summary = "A word before each line."},
    {.name = "standard-error",
     OPTION_BOOL(struct print_settings, standard_error),
     .initial = "false",
     .summary = "Prints to standard error."},
    {.name = "sink.parallelism",
     OPTION_INT64(struct print_settings, parallelism),
     .initial = "1",
     .check = option_check_positive,
     .summary = "Accepted for Flink's sake; the sink runs where the job does."},
};

struct print_sink {
    struct sink base;
    FILE *file;
    const char *identifier;
    const struct time_zone *zone;
    struct text_builder line;
    uint32_t worker, worker_count;
};

static enum status print_accepts(const struct sink_context *context, const void *settings, enum sink_accepts *accepts, struct error *err)
{
    (void)context;
    (void)settings;
    (void)err;
    *accepts = SINK_RETRACTIONS;
    return STATUS_OK;
}

static enum status print_open(const struct sink_context *context, const void *settings, struct sink **sink, struct error *err)
{
    const struct print_settings *given = settings;
    struct print_sink *self;
    TRY_ALLOC(self, arena_alloc(context->arena, sizeof *self), err);
    self->base.type = &print_sink_type;
    self->file = given->standard_error ? stderr : stdout;
    self->identifier = given->identifier != NULL && given->identifier[0] != '\0' ? given->identifier : NULL;
    self->zone = context->zone;
    self->worker = context->worker;
    self->worker_count = context->worker_count;
    *sink = &self->base;
    return STATUS_OK;
}

/* Flink's prefix: "identifier:2> ", "identifier> ", "2> " or nothing. */
static void append_prefix(struct print_sink *self)
{
    struct text_builder *line = &self->line;
    if (self->identifier != NULL) {
        text_append_text(line, self->identifier);
    }
    if (self->worker_count > 1) {
        text_append_format(line, "%s%u", self->identifier != NULL ? ":" : "", self->worker + 1);
    }
    if (self->identifier != NULL || self->worker_count > 1) {
        text_append_text(line, "> ");
    }
}

static enum status print_write(struct sink *sink, const struct batch *batch, const uint8_t *kinds, struct error *err)
{
    static const char *const marks[] = {
        [ROW_INSERT] = "+I[", [ROW_UPDATE_BEFORE] = "-U[", [ROW_UPDATE_AFTER] = "+U[", [ROW_DELETE] = "-D["};
    struct print_sink *self = (struct print_sink *)sink;
    struct selection rows = batch_selection(batch);
    for (uint32_t i = 0; i < rows.count; i++) {
        uint32_t row = selection_row(&rows, i);
        int64_t weight = batch_weight(batch, row), times = weight < 0 ? -weight : weight;
        text_builder_clear(&self->line);
        append_prefix(self);
        text_append_text(&self->line, marks[kinds == NULL ? ROW_INSERT : kinds[row]]);
        for (uint32_t column = 0; column < batch->column_count; column++) {
            text_append_text(&self->line, column == 0 ? "" : ", ");
            const struct vector *vector = &batch->columns[column];
            if (vector_is_valid(vector, row)) {
                cell_text_append(vector, row, self->zone, CELL_TEXT_HEX, &self->line);
            } else {
                text_append_text(&self->line, "null");
            }
        }
        text_append_text(&self->line, "]\n");
        if (self->line.failed) {
            return error_set(err, ERROR_BUDGET_SPENT, "no room for a line of output");
        }
        for (int64_t n = 0; n < times; n++) {
            fwrite(self->line.bytes, 1, self->line.length, self->file);
        }
    }
    return STATUS_OK;
}

static enum status print_finish(struct sink *sink, struct error *err)
{
    struct print_sink *self = (struct print_sink *)sink;
    if (fflush(self->file) != 0) {
        return error_set(err, ERROR_FILE_UNWRITABLE, "cannot write to standard output: %s", strerror(errno));
    }
    return STATUS_OK;
}

static enum status print_finish_tick(struct sink *sink, int64_t watermark_us, struct error *err)
{
    (void)watermark_us;
    return print_finish(sink, err);
}

static void print_close(struct sink *sink)
{
    text_builder_close(&((struct print_sink *)sink)->line);
}

const struct sink_type print_sink_type = {
    .name = "print",
    .summary = "Prints each change on a line: +I[1, a].",
    .options = print_options,
    .option_count = ARRAY_LENGTH(print_options),
    .settings_bytes = sizeof(struct print_settings),
    .accepts = print_accepts,
    .open = print_open,
    .write = print_write,
    .finish_tick = print_finish_tick,
    .finish = print_finish,
    .close = print_close,
};
