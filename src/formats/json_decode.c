/* The JSON decoder: one record a line (or one message). A record is an object, an array of objects (a row each), or null
 * (no row); anything behind it in the line makes the record bad, for it may be a row; with ignore-parse-errors
 * it is dropped and counted, as Flink drops it. Records are read where they lie; those near the end of the bytes, where
 * reading ahead would pass it, from a copy. */
#include "formats/json_decoder.h"

#include <stdlib.h>
#include <string.h>

#include "formats/built_in.h"
#include "formats/json_scan.h"

/* Nothing but the line's end follows. */
static bool is_whole(struct json_reader *reader, const char *end)
{
    end = json_skip_blanks(end);
    if (*end != '\n') {
        json_fail(reader, NULL, "something follows the record in its line", end);
    }
    return *end == '\n';
}

/* [ object, ... ]: rows are appended until the batch is full. A broken array gives no row; before an element that does not convert
 * the rows stay: so the answer does not depend on where a batch ended. */
static enum json_record_end read_rows(struct json_decoder *self, const char **position, const struct decode_target *target)
{
    struct batch *batch = target->batch;
    struct json_reader *reader = &self->reader;
    const char *p = json_skip_blanks(*position + 1), *why;
    uint32_t element = 0, before = batch->count;
    if (self->resume == 0) {
        const char *end = json_skip_value(*position, &why);
        if (end == NULL) {
            json_fail(reader, NULL, why, *position);
        }
        if (end == NULL || (!reader->settings.ignore_parse_errors && !is_whole(reader, end))) {
            return JSON_RECORD_BAD;
        }
    }
    for (; *p != ']' || element > 0; element++) {
        if (element < self->resume || (*p == 'n' && memcmp(p, "null", 4) == 0)) {
            const char *start = p;
            p = json_skip_value(p, &why);
            if (p == NULL) {
                json_fail(reader, NULL, why, start);
                return JSON_RECORD_BAD;
            }
        } else if (batch->count == target->row_limit) {
            self->resume = element;
            self->returned += batch->count - before;
            return JSON_RECORD_FULL;
        } else if (*p != '{') {
            json_fail(reader, NULL, "an element of the array is no object", p);
            return JSON_RECORD_BAD;
        } else {
            p = json_read_object(reader, &reader->root, p, batch->count);
            if (p == NULL) {
                return JSON_RECORD_BAD;
            }
            batch->count++;
        }
        p = json_skip_blanks(p);
        if (*p != ',') {
            break;
        }
        p = json_skip_blanks(p + 1);
    }
    if (*p != ']') {
        json_fail(reader, NULL, "a comma or the closing bracket is missing", p);
        return JSON_RECORD_BAD;
    }
    *position = p + 1;
    return JSON_RECORD_READ;
}

static enum json_record_end read_record(struct json_decoder *self, const char **position, const struct decode_target *target)
{
    struct json_reader *reader = &self->reader;
    struct batch *batch = target->batch;
    const char *p = json_skip_blanks(*position), *why;
    if (*p == '{') {
        p = json_read_object(reader, &reader->root, p, batch->count);
        if (p == NULL) {
            return JSON_RECORD_BAD;
        }
        batch->count++;
        *position = p;
        return JSON_RECORD_READ;
    }
    *position = p;
    if (*p == '\n') {
        return JSON_RECORD_READ;
    }
    if (*p == '[') {
        return read_rows(self, position, target);
    }
    if (*p == 'n' && memcmp(p, "null", 4) == 0) {
        *position = p + 4;
        return JSON_RECORD_READ;
    }
    json_fail(reader, NULL, json_skip_value(p, &why) == NULL ? why : "the record is no object", p);
    return JSON_RECORD_BAD;
}

/* Tells the connector. OK: go on. */
static enum status report(struct json_decoder *self, struct decode_target *target, const struct decode_input *input, const char *start,
                          size_t length, uint64_t line, struct error *err)
{
    struct json_reader *reader = &self->reader;
    if (reader->status != STATUS_OK) {
        return reader->status;
    }
    if (reader->settings.ignore_parse_errors) {
        target->dropped++;
        return STATUS_OK;
    }
    struct text_builder path = {0};
    json_node_path(reader->failure.node, &path);
    struct decode_failure failure = {.code = reader->failure.code,
                                     .field = path.bytes == NULL ? "" : path.bytes,
                                     .text = reader->failure.text,
                                     .record = {start, length},
                                     .record_offset = (uint64_t)(start - input->bytes),
                                     .line = line};
    enum status status = STATUS_OK;
    if (target->fail == NULL) {
        status = error_set(err, failure.code, "field '%s': %s", failure.field, failure.text);
    } else if (!target->fail(target->owner, &failure, err)) {
        status = err->status;
    }
    text_builder_close(&path);
    return status;
}

/* A copy of the bytes that ends as json_scan.h wants it. */
static const char *copy_record(struct json_decoder *self, const char *bytes, size_t length, struct error *err)
{
    size_t need = length + 1 + JSON_SLACK;
    if (need > self->copy_capacity) {
        char *moved = realloc(self->copy, need * 2);
        if (moved == NULL) {
            (void)!error_set(err, ERROR_BUDGET_SPENT, "no room for a record of %zu bytes", length);
            return NULL;
        }
        self->copy = moved;
        self->copy_capacity = need * 2;
    }
    memcpy(self->copy, bytes, length);
    memset(self->copy + length, '\n', 1 + JSON_SLACK);
    for (char *at = self->copy; (at = memchr(at, '\n', (size_t)(self->copy + length - at))) != NULL;) {
        *at = '\r';
    }
    return self->copy;
}

struct place {
    const char *start, *next; /* of the record and behind its line end */
    size_t length;
    const char *readable; /* where it is read: start, or the copy */
};

/* `quick_end`: the last line feed with enough bytes behind it. False: no whole record is left (or no room: err). */
static bool next_record(struct json_decoder *self, struct decode_input *input, const char *p, const char *quick_end, struct place *place,
                        struct error *err)
{
    const char *end = input->bytes + input->length;
    *place = (struct place){.start = p, .readable = p};
    if (quick_end != NULL && p <= quick_end) {
        return true;
    }
    if (p == end && !input->framed) {
        return false;
    }
    const char *line_end = input->framed ? NULL : memchr(p, '\n', (size_t)(end - p));
    if (line_end == NULL && !input->framed && !input->last) {
        return false;
    }
    place->length = (size_t)((line_end == NULL ? end : line_end) - p);
    place->next = line_end == NULL ? end : line_end + 1;
    place->readable = copy_record(self, p, place->length, err);
    return place->readable != NULL;
}

static void end_line(struct place *place, const char *after)
{
    if (place->next == NULL) { /* read in place: a line feed follows */
        const char *line_end = *after == '\n' ? after : rawmemchr(after, '\n');
        place->length = (size_t)(line_end - place->start);
        place->next = line_end + 1;
    }
}

static enum status decode_records(struct json_decoder *self, struct decode_input *input, struct decode_target *target, struct error *err)
{
    struct batch *batch = target->batch;
    const char *p = input->bytes;
    const char *quick_end = input->framed || input->length <= JSON_SLACK ? NULL : memrchr(p, '\n', input->length - JSON_SLACK);
    struct place place;
    bool in_place = true;
    for (uint64_t line = 0; batch->count < target->row_limit; line++) {
        err->status = STATUS_OK;
        if (!next_record(self, input, p, quick_end, &place, err)) {
            return err->status;
        }
        if (in_place && place.readable != place.start) {
            json_reader_set_block(&self->reader, NULL);
            in_place = false;
        }
        const char *after = place.readable;
        uint32_t before = batch->count;
        enum json_record_end end = self->read(self, &after, target);
        if (end == JSON_RECORD_READ && *after != '\n' && !is_whole(&self->reader, after)) {
            bool stays = self->reader.settings.ignore_parse_errors;
            batch->count = stays ? batch->count : before;
            target->dropped += stays;
            end = stays ? JSON_RECORD_READ : JSON_RECORD_BAD;
        }
        if (end == JSON_RECORD_FULL) {
            input->returned = self->returned;
            target->row_limit = batch->count; /* also when a row would have room, but not the whole record */
            return STATUS_OK;
        }
        end_line(&place, end == JSON_RECORD_BAD ? place.readable : after);
        self->resume = self->returned = 0;
        if (end == JSON_RECORD_BAD) {
            TRY(report(self, target, input, place.start, place.length, line, err));
        }
        p = place.next;
        input->consumed = (size_t)(p - input->bytes);
        input->lines = line + 1;
        if (input->framed) {
            break;
        }
    }
    return STATUS_OK;
}

enum status json_decode(struct decoder *decoder, struct decode_input *input, struct decode_target *target, struct error *err)
{
    struct json_decoder *self = (struct json_decoder *)decoder;
    struct json_reader *reader = &self->reader;
    if (target->batch != self->bound || target->batch->count == 0 || target->batch->count != self->bound_count) {
        json_reader_bind(reader, target);
        self->bound = target->batch;
    }
    reader->status = STATUS_OK;
    reader->err = err;
    input->consumed = 0;
    input->lines = 0;
    input->returned = 0;
    json_reader_set_block(reader, input->block);
    enum status status = decode_records(self, input, target, err);
    json_reader_finish(reader, target->batch);
    self->bound_count = target->batch->count;
    return status;
}

enum status json_decoder_init(struct json_decoder *self, const struct format_context *context, const struct json_settings *settings,
                              json_read_fn *read, struct error *err)
{
    self->reader.settings = *settings;
    self->read = read;
    return json_reader_open(&self->reader, context, err);
}

void json_decoder_close(struct decoder *decoder)
{
    struct json_decoder *self = (struct json_decoder *)decoder;
    json_reader_close(&self->reader);
    free(self->copy);
}

static enum status json_decoder_open(const struct format_context *context, const void *settings, struct decoder **decoder,
                                     struct error *err)
{
    const struct json_settings *given = settings;
    if (given->fail_on_missing_field && given->ignore_parse_errors) {
        return error_set(err, ERROR_INVALID_OPTION, "json.fail-on-missing-field and json.ignore-parse-errors exclude each other");
    }
    struct json_decoder *self;
    TRY_ALLOC(self, arena_alloc(context->arena, sizeof *self), err);
    self->base.type = &json_decoder_type;
    TRY(json_decoder_init(self, context, given, read_record, err));
    *decoder = &self->base;
    return STATUS_OK;
}

const struct decoder_type json_decoder_type = {
    .name = "json",
    .summary = "One JSON object a line or message.",
    .options = json_options,
    .option_count = JSON_OPTION_COUNT,
    .settings_bytes = sizeof(struct json_settings),
    .open = json_decoder_open,
    .decode = json_decode,
    .close = json_decoder_close,
};
