/* The CSV encoder. A text is quoted as Jackson's writer does: when it is longer than 24 characters, or holds any character up to the
 * delimiter, the quote or the escape character. Numbers and booleans never are. */
#include <string.h>

#include "base/utf8.h"
#include "data/cell_text.h"
#include "formats/built_in.h"
#include "formats/csv_options.h"
#include "formats/text_values.h"
#include "formats/value_text.h"

enum { UNQUOTED_CHARACTERS_MAX = 24 };

struct csv_encoder {
    struct encoder base;
    struct csv_dialect dialect;
    bool scientific_decimals;
    unsigned char safe; /* characters from here on need no quotes */
    struct text_builder text;
};

static bool csv_holds(const struct type *type, bool nested)
{
    if (type->kind == TYPE_ARRAY || type->kind == TYPE_ROW) {
        for (uint32_t i = 0; i < type->child_count; i++) {
            if (!csv_holds(type->children[i], true)) {
                return false;
            }
        }
        return !nested;
    }
    return type->kind != TYPE_MAP && type->kind != TYPE_MULTISET && type->kind != TYPE_VARIANT && type->kind != TYPE_BITMAP;
}

static enum status csv_encoder_open(const struct format_context *context, const void *settings, struct encoder **encoder, struct error *err)
{
    const struct csv_settings *given = settings;
    for (uint32_t i = 0; i < context->row->child_count; i++) {
        if (!csv_holds(context->row->children[i], false)) {
            return error_set(err, ERROR_NOT_SUPPORTED, "column '%s': the format 'csv' does not write %s", context->row->names[i],
                             type_to_text(context->arena, context->row->children[i]));
        }
    }
    struct csv_encoder *self;
    TRY_ALLOC(self, arena_alloc(context->arena, sizeof *self), err);
    self->base.type = &csv_encoder_type;
    self->scientific_decimals = given->scientific_decimals;
    TRY(csv_dialect_make(given, context->arena, &self->dialect, err));
    const char special[] = {self->dialect.delimiter, self->dialect.has_quote ? self->dialect.quote : '\0',
                            self->dialect.has_escape ? self->dialect.escape : '\0', '\r'};
    for (size_t i = 0; i < sizeof special; i++) {
        unsigned char after = (unsigned char)(special[i] + 1);
        self->safe = after > self->safe ? after : self->safe;
    }
    *encoder = &self->base;
    return STATUS_OK;
}

static void csv_encoder_close(struct encoder *encoder)
{
    text_builder_close(&((struct csv_encoder *)encoder)->text);
}

static bool needs_quotes(const struct csv_encoder *self, struct text text)
{
    if (!self->dialect.has_quote) {
        return false;
    }
    if (text.length > UNQUOTED_CHARACTERS_MAX && utf8_count(text.bytes, text.length) > UNQUOTED_CHARACTERS_MAX) {
        return true;
    }
    for (size_t i = 0; i < text.length; i++) {
        if ((unsigned char)text.bytes[i] < self->safe) {
            return true;
        }
    }
    return false;
}

static void append_text(const struct csv_encoder *self, struct text text, struct text_builder *out)
{
    const struct csv_dialect *dialect = &self->dialect;
    bool quoted = needs_quotes(self, text);
    if (!quoted && !dialect->has_escape) {
        text_append(out, text.bytes, text.length);
        return;
    }
    if (quoted) {
        text_append_char(out, dialect->quote);
    }
    for (size_t i = 0; i < text.length; i++) {
        char byte = text.bytes[i];
        bool special = !quoted && (byte == dialect->delimiter || byte == '\n');
        if (dialect->has_escape && (byte == dialect->escape || special)) {
            text_append_char(out, dialect->escape);
        } else if (quoted && byte == dialect->quote) {
            text_append_char(out, dialect->quote);
        }
        text_append_char(out, byte);
    }
    if (quoted) {
        text_append_char(out, dialect->quote);
    }
}

/* The value's text, before quoting. False: it is of a kind that is never quoted. */
static bool append_value(const struct csv_encoder *self, const struct vector *vector, uint32_t row, struct text_builder *out)
{
    const struct type *type = vector->type;
    switch (type->kind) {
    case TYPE_CHAR:
    case TYPE_VARCHAR: {
        struct text text = vector_get_text(vector, row);
        text_append(out, text.bytes, text.length);
        return true;
    }
    case TYPE_BINARY:
    case TYPE_VARBINARY:
        text_append_base64(out, vector_get_text(vector, row));
        return true;
    case TYPE_DATE:
        date_append_text(vector_int32(vector)[row], out);
        return true;
    case TYPE_TIME:
        time_append_stripped(vector_int32(vector)[row], out);
        return true;
    case TYPE_TIMESTAMP:
    case TYPE_TIMESTAMP_LTZ:
        timestamp_append_stripped(vector_get_integer(vector, row), type->precision, ' ', type->kind == TYPE_TIMESTAMP_LTZ, out);
        return true;
    case TYPE_DECIMAL:
        decimal_append_stripped(vector_get_integer(vector, row), type->scale, !self->scientific_decimals, out);
        return false;
    default:
        plain_append_value(vector, row, out);
        return false;
    }
}

static void append_part(const struct csv_encoder *self, const struct vector *vector, uint32_t row, bool first, struct text_builder *out)
{
    const struct csv_dialect *dialect = &self->dialect;
    if (!first) {
        text_append(out, dialect->array_delimiter.bytes, dialect->array_delimiter.length);
    }
    if (vector_is_valid(vector, row)) {
        append_value(self, vector, row, out);
    } else if (dialect->has_null) {
        text_append(out, dialect->null_literal.bytes, dialect->null_literal.length);
    }
}

static void append_field(struct csv_encoder *self, const struct vector *vector, uint32_t row, struct text_builder *out)
{
    const struct csv_dialect *dialect = &self->dialect;
    if (!vector_is_valid(vector, row)) {
        if (dialect->has_null) {
            text_append(out, dialect->null_literal.bytes, dialect->null_literal.length);
        }
        return;
    }
    text_builder_clear(&self->text);
    bool is_text = true;
    if (vector->type->kind == TYPE_ARRAY) {
        struct span span = vector_spans(vector)[row];
        for (uint32_t i = 0; i < span.length; i++) {
            append_part(self, &vector->children[0], span.offset + i, i == 0, &self->text);
        }
    } else if (vector->type->kind == TYPE_ROW) {
        for (uint32_t i = 0; i < vector->child_count; i++) {
            append_part(self, &vector->children[i], row, i == 0, &self->text);
        }
    } else {
        is_text = append_value(self, vector, row, &self->text);
    }
    struct text text = {self->text.bytes, self->text.length};
    if (is_text) {
        append_text(self, text, out);
    } else {
        text_append(out, text.bytes, text.length);
    }
}

static enum status csv_encode(struct encoder *encoder, const struct batch *batch, uint32_t row, enum row_kind kind,
                              struct text_builder *out, struct error *err)
{
    (void)kind;
    struct csv_encoder *self = (struct csv_encoder *)encoder;
    for (uint32_t i = 0; i < batch->column_count; i++) {
        if (i > 0) {
            text_append_char(out, self->dialect.delimiter);
        }
        append_field(self, &batch->columns[i], row, out);
    }
    return out->failed || self->text.failed ? error_set(err, ERROR_BUDGET_SPENT, "no room for a record") : STATUS_OK;
}

const struct encoder_type csv_encoder_type = {
    .name = "csv",
    .summary = "Comma-separated fields, a record a line.",
    .options = csv_options,
    .option_count = CSV_OPTION_COUNT,
    .settings_bytes = sizeof(struct csv_settings),
    .open = csv_encoder_open,
    .encode = csv_encode,
    .close = csv_encoder_close,
};
