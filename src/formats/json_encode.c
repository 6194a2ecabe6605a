/* The JSON encoder: an object a row, as Flink's writer spells it. */
#include "formats/json_encoder.h"

#include <math.h>

#include "data/cell_text.h"
#include "formats/built_in.h"
#include "formats/json_text.h"
#include "formats/text_values.h"
#include "formats/value_text.h"

static enum status check_type(const struct type *type, struct arena *arena, uint32_t depth, struct error *err)
{
    if (depth > TYPE_DEPTH_MAX) {
        return error_set(err, ERROR_TOO_DEEP, "a type is nested more than %d deep", TYPE_DEPTH_MAX);
    }
    bool named = type->kind == TYPE_MAP || type->kind == TYPE_MULTISET;
    if (type->kind == TYPE_VARIANT || type->kind == TYPE_BITMAP || (named && !type_is_text(type->children[0]))) {
        return error_set(err, ERROR_NOT_SUPPORTED, "the format 'json' does not write %s", type_to_text(arena, type));
    }
    for (uint32_t i = 0; i < type->child_count; i++) {
        TRY(check_type(type->children[i], arena, depth + 1, err));
    }
    return STATUS_OK;
}

enum status json_encoder_init(struct json_encoder *self, const struct format_context *context, const struct json_settings *settings,
                              struct error *err)
{
    self->settings = *settings;
    self->row = context->row;
    return check_type(context->row, context->arena, 0, err);
}

static enum status json_encoder_open(const struct format_context *context, const void *settings, struct encoder **encoder,
                                     struct error *err)
{
    struct json_encoder *self;
    TRY_ALLOC(self, arena_alloc(context->arena, sizeof *self), err);
    self->base.type = &json_encoder_type;
    TRY(json_encoder_init(self, context, settings, err));
    *encoder = &self->base;
    return STATUS_OK;
}

static void json_encoder_close(struct encoder *encoder)
{
    (void)encoder;
}

static enum status append_value(const struct json_encoder *self, const struct vector *vector, uint32_t row, struct text_builder *out,
                                struct error *err);

static enum status append_fields(const struct json_encoder *self, const struct vector *fields, const struct type *type, uint32_t row,
                                 struct text_builder *out, struct error *err)
{
    bool first = true;
    text_append_char(out, '{');
    for (uint32_t i = 0; i < type->child_count; i++) {
        if (self->settings.ignore_null_fields && !vector_is_valid(&fields[i], row)) {
            continue;
        }
        if (!first) {
            text_append_char(out, ',');
        }
        first = false;
        json_append_string(text_from(type->names[i]), JSON_ESCAPE_ASTRAL, out);
        text_append_char(out, ':');
        TRY(append_value(self, &fields[i], row, out, err));
    }
    text_append_char(out, '}');
    return STATUS_OK;
}

static enum status append_array(const struct json_encoder *self, const struct vector *vector, uint32_t row, struct text_builder *out,
                                struct error *err)
{
    struct span span = vector_spans(vector)[row];
    text_append_char(out, '[');
    for (uint32_t i = 0; i < span.length; i++) {
        if (i > 0) {
            text_append_char(out, ',');
        }
        TRY(append_value(self, &vector->children[0], span.offset + i, out, err));
    }
    text_append_char(out, ']');
    return STATUS_OK;
}

static enum status append_map(const struct json_encoder *self, const struct vector *vector, uint32_t row, struct text_builder *out,
                              struct error *err)
{
    struct span span = vector_spans(vector)[row];
    const struct vector *keys = &vector->children[0];
    bool first = true;
    text_append_char(out, '{');
    for (uint32_t i = span.offset; i < span.offset + span.length; i++) {
        struct text key = text_from(self->settings.map_null_key_literal);
        if (vector_is_valid(keys, i)) {
            key = vector_get_text(keys, i);
        } else if (self->settings.map_null_key == JSON_MAP_NULL_KEY_DROP) {
            continue;
        } else if (self->settings.map_null_key == JSON_MAP_NULL_KEY_FAIL) {
            return error_set(err, ERROR_VALUE_UNWRITABLE,
                             "JSON cannot hold the NULL key of a map; set 'json.map-null-key.mode' to 'DROP' or 'LITERAL'");
        }
        if (!first) {
            text_append_char(out, ',');
        }
        first = false;
        json_append_string(key, JSON_ESCAPE_ASTRAL, out);
        text_append_char(out, ':');
        TRY(append_value(self, &vector->children[1], i, out, err));
    }
    text_append_char(out, '}');
    return STATUS_OK;
}

static void append_decimal(const struct json_encoder *self, const struct vector *vector, uint32_t row, struct text_builder *out)
{
    int128_t unscaled = vector_get_integer(vector, row);
    if (self->settings.decimal_as_plain_number) {
        decimal_append_text(unscaled, vector->type->scale, out);
    } else {
        decimal_append_stripped(unscaled, vector->type->scale, false, out);
    }
}

static void append_time(const struct json_encoder *self, const struct vector *vector, uint32_t row, struct text_builder *out)
{
    const struct type *type = vector->type;
    text_append_char(out, '"');
    if (type->kind == TYPE_DATE) {
        date_append_text(vector_int32(vector)[row], out);
    } else if (type->kind == TYPE_TIME) {
        time_append_stripped(vector_int32(vector)[row], out);
    } else {
        timestamp_append_stripped(vector_get_integer(vector, row), type->precision,
                                  self->settings.timestamp_form == TIME_FORM_ISO ? 'T' : ' ', type->kind == TYPE_TIMESTAMP_LTZ, out);
    }
    text_append_char(out, '"');
}

static void append_floating(const struct vector *vector, uint32_t row, struct text_builder *out)
{
    double value = vector->type->kind == TYPE_FLOAT ? (double)vector_float(vector)[row] : vector_double(vector)[row];
    const char *quote = isfinite(value) ? "" : "\"";
    text_append_text(out, quote);
    plain_append_value(vector, row, out);
    text_append_text(out, quote);
}

static enum status append_value(const struct json_encoder *self, const struct vector *vector, uint32_t row, struct text_builder *out,
                                struct error *err)
{
    if (!vector_is_valid(vector, row)) {
        text_append_text(out, "null");
        return STATUS_OK;
    }
    switch (vector->type->kind) {
    case TYPE_CHAR:
    case TYPE_VARCHAR:
        json_append_string(vector_get_text(vector, row), JSON_ESCAPE_ASTRAL, out);
        return STATUS_OK;
    case TYPE_BINARY:
    case TYPE_VARBINARY:
        text_append_char(out, '"');
        text_append_base64(out, vector_get_text(vector, row));
        text_append_char(out, '"');
        return STATUS_OK;
    case TYPE_FLOAT:
    case TYPE_DOUBLE:
        append_floating(vector, row, out);
        return STATUS_OK;
    case TYPE_DECIMAL:
        append_decimal(self, vector, row, out);
        return STATUS_OK;
    case TYPE_DATE:
    case TYPE_TIME:
    case TYPE_TIMESTAMP:
    case TYPE_TIMESTAMP_LTZ:
        append_time(self, vector, row, out);
        return STATUS_OK;
    case TYPE_ARRAY:
        return append_array(self, vector, row, out, err);
    case TYPE_MAP:
    case TYPE_MULTISET:
        return append_map(self, vector, row, out, err);
    case TYPE_ROW:
        return append_fields(self, vector->children, vector->type, row, out, err);
    default:
        plain_append_value(vector, row, out);
        return STATUS_OK;
    }
}

enum status json_append_row(const struct json_encoder *self, const struct batch *batch, uint32_t row, struct text_builder *out,
                            struct error *err)
{
    TRY(append_fields(self, batch->columns, self->row, row, out, err));
    return out->failed ? error_set(err, ERROR_BUDGET_SPENT, "no room for a record") : STATUS_OK;
}

static enum status json_encode(struct encoder *encoder, const struct batch *batch, uint32_t row, enum row_kind kind,
                               struct text_builder *out, struct error *err)
{
    (void)kind;
    return json_append_row((const struct json_encoder *)encoder, batch, row, out, err);
}

const struct encoder_type json_encoder_type = {
    .name = "json",
    .summary = "One JSON object a line or message.",
    .options = json_options,
    .option_count = JSON_OPTION_COUNT,
    .settings_bytes = sizeof(struct json_settings),
    .open = json_encoder_open,
    .encode = json_encode,
    .close = json_encoder_close,
};
