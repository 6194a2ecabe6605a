/* data/cell_text.c: values as text: one writer per type kind, nested types by recursion (their depth is limited by the type). */
#include "data/cell_text.h"

#include "base/utf8.h"
#include "data/calendar.h"
#include "data/number_text.h"

#define WRITER(signature, call)                                                                                                            \
    signature                                                                                                                              \
    {                                                                                                                                      \
        char bytes[NUMBER_TEXT_MAX];                                                                                                       \
        text_append(out, bytes, call);                                                                                                     \
    }
WRITER(void double_append_text(double value, struct text_builder *out), double_write_text(value, bytes))
WRITER(void float_append_text(float value, struct text_builder *out), float_write_text(value, bytes))
WRITER(void decimal_append_text(int128_t unscaled, int32_t scale, struct text_builder *out), decimal_write_text(unscaled, scale, bytes))
WRITER(void timestamp_append_text(int128_t value, int32_t precision, struct text_builder *out),
       timestamp_write_text(value, precision, bytes))
WRITER(void date_append_text(int32_t days, struct text_builder *out), date_write_text(days, bytes))
WRITER(void time_append_text(int32_t ms, int32_t precision, struct text_builder *out), time_write_text(ms, precision, bytes))
#undef WRITER

static void append_hex(struct text text, struct text_builder *out)
{
    static const char digits[] = "0123456789abcdef";
    text_append_text(out, "x'");
    for (size_t i = 0; i < text.length; i++) {
        uint8_t byte = (uint8_t)text.bytes[i];
        text_append_char(out, digits[byte >> 4]);
        text_append_char(out, digits[byte & 15]);
    }
    text_append_char(out, '\'');
}

/* How many bytes at a place that is not valid UTF-8 are replaced together: the longest beginning of a valid sequence. */
static size_t bad_bytes(const char *bytes, size_t length)
{
    uint8_t lead = (uint8_t)bytes[0];
    size_t want = lead >= 0xF0 && lead <= 0xF4 ? 4 : lead >= 0xE0 && lead <= 0xEF ? 3 : lead >= 0xC2 && lead <= 0xDF ? 2 : 1;
    uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    size_t used = 1;
    while (used < want && used < length && (uint8_t)bytes[used] >= low && (uint8_t)bytes[used] <= high) {
        low = 0x80;
        high = 0xBF;
        used++;
    }
    return used;
}

void binary_append_text(struct text text, struct text_builder *out)
{
    while (text.length > 0) {
        size_t valid = utf8_valid_length(text.bytes, text.length);
        text_append(out, text.bytes, valid);
        text.bytes += valid;
        text.length -= valid;
        if (text.length > 0) {
            size_t bad = bad_bytes(text.bytes, text.length);
            text_append_text(out, "\xEF\xBF\xBD");
            text.bytes += bad;
            text.length -= bad;
        }
    }
}

size_t cell_text_write(const struct vector *vector, uint32_t row, const struct time_zone *zone, char *out)
{
    const struct type *type = vector->type;
    switch (type->kind) {
    case TYPE_TINYINT:
    case TYPE_SMALLINT:
    case TYPE_INT:
    case TYPE_BIGINT:
        return int64_write_text((int64_t)vector_get_integer(vector, row), out);
    case TYPE_DECIMAL:
        return decimal_write_text(vector_get_integer(vector, row), type->scale, out);
    case TYPE_FLOAT:
        return float_write_text(vector_float(vector)[row], out);
    case TYPE_DOUBLE:
        return double_write_text(vector_double(vector)[row], out);
    case TYPE_DATE:
        return date_write_text(vector_int32(vector)[row], out);
    case TYPE_TIME:
        return time_write_text(vector_int32(vector)[row], type->precision, out);
    case TYPE_TIMESTAMP:
        return timestamp_write_text(vector_get_integer(vector, row), type->precision, out);
    case TYPE_TIMESTAMP_LTZ:
        return timestamp_write_text(timestamp_to_local(zone, vector_get_integer(vector, row), type->precision), type->precision, out);
    case TYPE_INTERVAL_MONTH:
        return interval_month_write_text(vector_int32(vector)[row], out);
    case TYPE_INTERVAL_DAY:
        return interval_day_write_text(vector_int64(vector)[row], out);
    default:
        return 0;
    }
}

static void append_array(const struct vector *vector, uint32_t row, const struct time_zone *zone, struct text_builder *out)
{
    struct span span = vector_spans(vector)[row];
    text_append_char(out, '[');
    for (uint32_t i = 0; i < span.length; i++) {
        if (i > 0) {
            text_append_text(out, ", ");
        }
        cell_text_append(&vector->children[0], span.offset + i, zone, CELL_TEXT_HEX, out);
    }
    text_append_char(out, ']');
}

static void append_map(const struct vector *vector, uint32_t row, const struct time_zone *zone, struct text_builder *out)
{
    struct span span = vector_spans(vector)[row];
    text_append_char(out, '{');
    for (uint32_t i = 0; i < span.length; i++) {
        if (i > 0) {
            text_append_text(out, ", ");
        }
        cell_text_append(&vector->children[0], span.offset + i, zone, CELL_TEXT_HEX, out);
        text_append_char(out, '=');
        cell_text_append(&vector->children[1], span.offset + i, zone, CELL_TEXT_HEX, out);
    }
    text_append_char(out, '}');
}

static void append_row(const struct vector *vector, uint32_t row, const struct time_zone *zone, struct text_builder *out)
{
    text_append_char(out, '(');
    for (uint32_t i = 0; i < vector->child_count; i++) {
        if (i > 0) {
            text_append_text(out, ", ");
        }
        cell_text_append(&vector->children[i], row, zone, CELL_TEXT_HEX, out);
    }
    text_append_char(out, ')');
}

void cell_text_append(const struct vector *vector, uint32_t row, const struct time_zone *zone, uint32_t flags, struct text_builder *out)
{
    char bytes[NUMBER_TEXT_MAX];
    if (!vector_is_valid(vector, row)) {
        text_append_text(out, "NULL");
        return;
    }
    switch (vector->type->kind) {
    case TYPE_BOOLEAN:
        text_append_text(out, vector_bool(vector)[row] ? "TRUE" : "FALSE");
        break;
    case TYPE_CHAR:
    case TYPE_VARCHAR:
    case TYPE_VARIANT: {
        struct text text = vector_get_text(vector, row);
        text_append(out, text.bytes, text.length);
        break;
    }
    case TYPE_BINARY:
    case TYPE_VARBINARY:
    case TYPE_BITMAP:
        if ((flags & CELL_TEXT_HEX) != 0) {
            append_hex(vector_get_text(vector, row), out);
        } else {
            binary_append_text(vector_get_text(vector, row), out);
        }
        break;
    case TYPE_ARRAY:
        append_array(vector, row, zone, out);
        break;
    case TYPE_MULTISET:
    case TYPE_MAP:
        append_map(vector, row, zone, out);
        break;
    case TYPE_ROW:
        append_row(vector, row, zone, out);
        break;
    default:
        text_append(out, bytes, cell_text_write(vector, row, zone, bytes));
    }
}
