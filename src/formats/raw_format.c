/* The raw format: the bytes of a record (in files: of a line) are the value of the table's only column. */
#include <iconv.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "formats/built_in.h"
#include "formats/column.h"
#include "formats/text_values.h"

struct raw_settings {
    const char *charset;
    int32_t endianness;
};
static const char *const endiannesses[] = {"big-endian", "little-endian", NULL};
static const struct option_def raw_options[] = {
    {.name = "charset", OPTION_TEXT(struct raw_settings, charset), .initial = "UTF-8", .summary = "The charset of texts."},
    {.name = "endianness",
     OPTION_CHOICE(struct raw_settings, endianness, endiannesses),
     .initial = "big-endian",
     .summary = "The byte order of numbers."},
};

struct raw_format {
    union {
        struct decoder decoder;
        struct encoder encoder;
    };
    const struct type *type;
    bool little_endian, used;
    iconv_t converter; /* (iconv_t)-1: UTF-8 */
    struct column column;
    struct text_builder text;
};

static bool raw_holds(const struct type *type)
{
    return type_is_text(type) || type_is_binary(type) || type_is_integer(type) || type_is_approximate(type) || type->kind == TYPE_BOOLEAN;
}

static enum status raw_open(const struct format_context *context, const struct raw_settings *settings, bool decoding,
                            struct raw_format **format, struct error *err)
{
    const struct type *row = context->row;
    if (row->child_count != 1) {
        return error_set(err, ERROR_INVALID_DEFINITION, "the format 'raw' has exactly one column, the table has %u", row->child_count);
    }
    if (!raw_holds(row->children[0])) {
        return error_set(err, ERROR_NOT_SUPPORTED, "the format 'raw' does not hold %s", type_to_text(context->arena, row->children[0]));
    }
    struct raw_format *self;
    TRY_ALLOC(self, arena_alloc(context->arena, sizeof *self), err);
    self->type = row->children[0];
    self->little_endian = settings->endianness == 1;
    self->used = context->projections == NULL || context->projections[0].used;
    self->converter = (iconv_t)-1;
    if (type_is_text(self->type) && strcasecmp(settings->charset, "UTF-8") != 0) {
        self->converter = decoding ? iconv_open("UTF-8", settings->charset) : iconv_open(settings->charset, "UTF-8");
        if (self->converter == (iconv_t)-1) {
            return error_set(err, ERROR_INVALID_OPTION, "option 'raw.charset': this system knows no charset '%s'", settings->charset);
        }
    }
    *format = self;
    return STATUS_OK;
}

static void raw_close(struct raw_format *self)
{
    if (self->converter != (iconv_t)-1) {
        iconv_close(self->converter);
    }
    text_builder_close(&self->text);
}

/* Appends the text in the other charset. */
static bool raw_transcode(struct raw_format *self, struct text text, struct text_builder *out)
{
    char *from = (char *)(uintptr_t)text.bytes, room[4096];
    size_t left = text.length;
    iconv(self->converter, NULL, NULL, NULL, NULL);
    while (left > 0) {
        char *to = room;
        size_t space = sizeof room, before = left;
        size_t done = iconv(self->converter, &from, &left, &to, &space);
        text_append(out, room, (size_t)(to - room));
        if (done == (size_t)-1 && left == before && to == room) {
            return false;
        }
    }
    return !out->failed;
}

static enum status raw_decoder_open(const struct format_context *context, const void *settings, struct decoder **decoder, struct error *err)
{
    struct raw_format *self;
    TRY(raw_open(context, settings, true, &self, err));
    self->decoder.type = &raw_decoder_type;
    *decoder = &self->decoder;
    return STATUS_OK;
}

static uint32_t raw_width(const struct type *type)
{
    return type_is_text(type) || type_is_binary(type) ? 0 : physical_bytes(type_physical(type));
}

static const char *raw_put(struct raw_format *self, struct text text, uint32_t row, struct buffer *block, struct error *err)
{
    struct vector *vector = self->column.vector;
    uint32_t width = raw_width(self->type);
    if (width > 0) {
        if (text.length != width) {
            return "the record has not the bytes of the column's type";
        }
        char *value = (char *)vector->values + (size_t)row * width;
        for (uint32_t i = 0; i < width; i++) {
            value[i] = text.bytes[self->little_endian ? i : width - 1 - i];
        }
        if (self->type->kind == TYPE_BOOLEAN) {
            *value = *value != 0;
        }
        return NULL;
    }
    if (self->converter != (iconv_t)-1) {
        text_builder_clear(&self->text);
        if (!raw_transcode(self, text, &self->text)) {
            return "the record is no text of the charset";
        }
        text = (struct text){self->text.bytes, self->text.length};
        block = NULL;
    } else if (type_is_text(self->type) && utf8_valid_length(text.bytes, text.length) != text.length) {
        return "the record is not valid UTF-8";
    }
    if (text.length > STRING_INLINE_BYTES && (block == NULL || !column_share_block(&self->column, block))) {
        return column_put_copy(&self->column, row, text, err) == STATUS_OK ? NULL : "";
    }
    vector_strings(vector)[row] = string_view_make(text.bytes, text.length);
    return NULL;
}

static enum status raw_report(struct decode_target *target, const char *why, struct text record, uint64_t offset, uint64_t line,
                              struct error *err)
{
    if (why[0] == '\0') {
        return err->status;
    }
    struct decode_failure failure = {
        .code = ERROR_RECORD_UNREADABLE, .field = "", .text = why, .record = record, .record_offset = offset, .line = line};
    if (target->fail == NULL) {
        return error_set(err, failure.code, "%s", why);
    }
    return target->fail(target->owner, &failure, err) ? STATUS_OK : err->status;
}

static enum status raw_decode(struct decoder *decoder, struct decode_input *input, struct decode_target *target, struct error *err)
{
    struct raw_format *self = (struct raw_format *)decoder;
    struct batch *batch = target->batch;
    column_bind(&self->column, target->budget, &batch->columns[0], target->row_limit);
    const char *p = input->bytes, *end = p + input->length;
    input->consumed = 0;
    input->lines = 0;
    enum status status = STATUS_OK;
    for (uint64_t line = 0; status == STATUS_OK && batch->count < target->row_limit && (p < end || (input->framed && line == 0)); line++) {
        const char *line_end = input->framed ? NULL : memchr(p, '\n', (size_t)(end - p));
        if (line_end == NULL && !input->framed && !input->last) {
            break;
        }
        struct text record = {p, (size_t)((line_end == NULL ? end : line_end) - p)};
        record.length -= !input->framed && record.length > 0 && p[record.length - 1] == '\r';
        const char *why = self->used ? raw_put(self, record, batch->count, input->block, err) : NULL;
        if (why == NULL) {
            batch->count++;
        } else {
            status = raw_report(target, why, record, (uint64_t)(p - input->bytes), line, err);
        }
        p = line_end == NULL ? end : line_end + 1;
        input->consumed = (size_t)(p - input->bytes);
        input->lines = line + 1;
    }
    column_set_count(&batch->columns[0], batch->count);
    return status;
}

static void raw_decoder_close(struct decoder *decoder)
{
    raw_close((struct raw_format *)decoder);
}

static enum status raw_encoder_open(const struct format_context *context, const void *settings, struct encoder **encoder, struct error *err)
{
    struct raw_format *self;
    TRY(raw_open(context, settings, false, &self, err));
    self->encoder.type = &raw_encoder_type;
    *encoder = &self->encoder;
    return STATUS_OK;
}

static enum status raw_encode(struct encoder *encoder, const struct batch *batch, uint32_t row, enum row_kind kind,
                              struct text_builder *out, struct error *err)
{
    (void)kind;
    struct raw_format *self = (struct raw_format *)encoder;
    const struct vector *vector = &batch->columns[0];
    if (!vector_is_valid(vector, row)) {
        return STATUS_OK;
    }
    uint32_t width = raw_width(self->type);
    if (width == 0) {
        struct text text = vector_get_text(vector, row);
        if (self->converter == (iconv_t)-1) {
            text_append(out, text.bytes, text.length);
        } else if (!raw_transcode(self, text, out)) {
            char excerpt[TEXT_EXCERPT_BYTES];
            return error_set(err, ERROR_VALUE_UNWRITABLE, "the charset of the format 'raw' cannot hold '%s'", text_excerpt(text, excerpt));
        }
        return STATUS_OK;
    }
    const char *value = (const char *)vector->values + (size_t)row * width;
    for (uint32_t i = 0; i < width; i++) {
        text_append_char(out, value[self->little_endian ? i : width - 1 - i]);
    }
    return STATUS_OK;
}

static void raw_encoder_close(struct encoder *encoder)
{
    raw_close((struct raw_format *)encoder);
}

const struct decoder_type raw_decoder_type = {
    .name = "raw",
    .summary = "The bytes of a line or message as the only column.",
    .options = raw_options,
    .option_count = ARRAY_LENGTH(raw_options),
    .settings_bytes = sizeof(struct raw_settings),
    .takes_all_bytes = true,
    .open = raw_decoder_open,
    .decode = raw_decode,
    .close = raw_decoder_close,
};
const struct encoder_type raw_encoder_type = {
    .name = "raw",
    .summary = "The only column's bytes.",
    .options = raw_options,
    .option_count = ARRAY_LENGTH(raw_options),
    .settings_bytes = sizeof(struct raw_settings),
    .open = raw_encoder_open,
    .encode = raw_encode,
    .close = raw_encoder_close,
};
