#include <math.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "data/cell_text.h"
#include "data/number_text.h"
#include "functions/json_tree.h"

static void write_escaped(uint32_t code, struct text_builder *out)
{
    static const char names[] = "btnvfr"; /* of the codes 8 to 13; 11 has none */
    if (code == '"' || code == '\\') {
        text_append_char(out, '\\');
        text_append_char(out, (char)code);
    } else if (code >= 8 && code <= 13 && code != 11) {
        text_append_char(out, '\\');
        text_append_char(out, names[code - 8]);
    } else {
        text_append_format(out, "\\u%04X", (unsigned)code);
    }
}

void json_write_string(struct text text, struct text_builder *out)
{
    text_append_char(out, '"');
    size_t start = 0;
    for (size_t i = 0; i < text.length; i++) {
        unsigned char byte = (unsigned char)text.bytes[i];
        if (byte < ' ' || byte == '"' || byte == '\\') {
            text_append(out, text.bytes + start, i - start);
            write_escaped(byte, out);
            start = i + 1;
        }
    }
    text_append(out, text.bytes + start, text.length - start);
    text_append_char(out, '"');
}

void json_write_ascii_string(struct text text, struct text_builder *out)
{
    text_append_char(out, '"');
    for (size_t i = 0; i < text.length;) {
        uint32_t code;
        size_t used = utf8_decode(text.bytes + i, text.length - i, &code);
        i += used == 0 ? 1 : used;
        if (used == 0) {
            code = 0xFFFD;
        }
        if (code == '/') {
            text_append_text(out, "\\/");
        } else if (code >= 0x10000) {
            text_append_format(out, "\\u%04x\\u%04x", 0xD800 + ((code - 0x10000) >> 10), 0xDC00 + ((code - 0x10000) & 0x3FF));
        } else if (code >= 0x80) {
            text_append_format(out, "\\u%04x", code);
        } else if (code < ' ' || code == '"' || code == '\\') {
            write_escaped(code, out);
        } else {
            text_append_char(out, (char)code);
        }
    }
    text_append_char(out, '"');
}

/* The digits of a number without point, sign and leading zeros, and its scale. */
struct digits {
    const char *bytes; /* may hold the point */
    size_t length, count;
    int64_t scale;
    bool negative;
};

/* The exponent after its 'e', whatever follows the text. */
static int64_t read_exponent(struct text text, size_t at)
{
    bool negative = at < text.length && text.bytes[at] == '-';
    int64_t value = 0;
    for (at += at < text.length && (negative || text.bytes[at] == '+'); at < text.length && value < 1000000000; at++) {
        value = value * 10 + (text.bytes[at] - '0');
    }
    return negative ? -value : value;
}

static struct digits split_number(struct text text)
{
    struct digits digits = {.bytes = text.bytes, .negative = text.length > 0 && text.bytes[0] == '-'};
    size_t at = digits.negative || (text.length > 0 && text.bytes[0] == '+'), fraction = 0;
    bool point = false, leading = true;
    digits.bytes = text.bytes + at;
    for (; at < text.length && (text.bytes[at] | 0x20) != 'e'; at++) {
        if (text.bytes[at] == '.') {
            point = true;
            continue;
        }
        fraction += point;
        if (leading && text.bytes[at] == '0') {
            continue;
        }
        if (leading) {
            digits.bytes = text.bytes + at;
            leading = false;
        }
        digits.count++;
    }
    digits.length = (size_t)(text.bytes + at - digits.bytes);
    int64_t exponent = at < text.length ? read_exponent(text, at + 1) : 0;
    digits.scale = (int64_t)fraction - exponent;
    return digits;
}

static void append_digits(const struct digits *digits, size_t from, size_t count, struct text_builder *out)
{
    size_t seen = 0;
    for (size_t i = 0; i < digits->length && seen < from + count; i++) {
        if (digits->bytes[i] != '.' && seen++ >= from) {
            text_append_char(out, digits->bytes[i]);
        }
    }
}

/* BigDecimal.toString: plain unless the scale is negative or the value is below 1E-6. */
void json_write_number(struct text text, struct text_builder *out)
{
    if (text.length == 0 || (memchr(text.bytes, '.', text.length) == NULL && memchr(text.bytes, 'e', text.length) == NULL &&
                             memchr(text.bytes, 'E', text.length) == NULL)) {
        text_append(out, text.bytes, text.length);
        return;
    }
    struct digits digits = split_number(text);
    struct digits zero = {.bytes = "0", .length = 1, .count = 1, .scale = digits.scale};
    if (digits.count == 0) {
        digits = zero;
    }
    if (digits.negative) {
        text_append_char(out, '-');
    }
    int64_t count = (int64_t)digits.count, adjusted = count - 1 - digits.scale;
    if (digits.scale < 0 || adjusted < -6) {
        append_digits(&digits, 0, 1, out);
        if (count > 1) {
            text_append_char(out, '.');
            append_digits(&digits, 1, digits.count - 1, out);
        }
        if (adjusted != 0) {
            text_append_format(out, "E%+lld", (long long)adjusted);
        }
        return;
    }
    int64_t before = count - digits.scale;
    if (before <= 0) {
        text_append_text(out, "0.");
        for (int64_t i = before; i < 0; i++) {
            text_append_char(out, '0');
        }
        append_digits(&digits, 0, digits.count, out);
        return;
    }
    append_digits(&digits, 0, (size_t)before, out);
    if (digits.scale > 0) {
        text_append_char(out, '.');
        append_digits(&digits, (size_t)before, (size_t)digits.scale, out);
    }
}

struct named {
    struct text name;
    uint32_t position;
    const struct json_value *value;
};

static int compare_named(const void *left, const void *right)
{
    const struct named *a = left, *b = right;
    int order = text_compare(a->name, b->name);
    return order != 0 ? order : a->position < b->position ? -1 : 1;
}

static void write_members(const struct json_value *object, struct text_builder *out)
{
    struct named *members = malloc((object->count + 1) * sizeof *members);
    if (members == NULL) {
        out->failed = true;
        return;
    }
    uint32_t count = 0;
    for (const struct json_value *member = object->first; member != NULL; member = member->next) {
        members[count] = (struct named){member->name, count, member};
        count++;
    }
    qsort(members, count, sizeof *members, compare_named);
    const char *separator = "";
    for (uint32_t i = 0; i < count; i++) {
        if (i + 1 < count && text_equal(members[i].name, members[i + 1].name)) {
            continue; /* the last one of a name counts */
        }
        text_append_text(out, separator);
        json_write_string(members[i].name, out);
        text_append_char(out, ':');
        json_write(members[i].value, out);
        separator = ",";
    }
    free(members);
}

void json_write_scalar(const struct json_value *value, struct text_builder *out)
{
    switch (value->kind) {
    case JSON_STRING:
        text_append(out, value->text.bytes, value->text.length);
        break;
    case JSON_NUMBER:
        json_write_number(value->text, out);
        break;
    default:
        text_append_text(out, value->kind == JSON_TRUE ? "true" : value->kind == JSON_FALSE ? "false" : "null");
    }
}

void json_write(const struct json_value *value, struct text_builder *out)
{
    switch (value->kind) {
    case JSON_OBJECT:
        text_append_char(out, '{');
        write_members(value, out);
        text_append_char(out, '}');
        break;
    case JSON_ARRAY:
        text_append_char(out, '[');
        for (const struct json_value *item = value->first; item != NULL; item = item->next) {
            json_write(item, out);
            if (item->next != NULL) {
                text_append_char(out, ',');
            }
        }
        text_append_char(out, ']');
        break;
    case JSON_STRING:
        json_write_string(value->text, out);
        break;
    default:
        json_write_scalar(value, out);
    }
}

static void write_base64(struct text text, struct text_builder *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    text_append_char(out, '"');
    for (size_t i = 0; i < text.length; i += 3) {
        size_t left = text.length - i;
        uint32_t bits = (uint32_t)(uint8_t)text.bytes[i] << 16 | (left > 1 ? (uint32_t)(uint8_t)text.bytes[i + 1] << 8 : 0) |
                        (left > 2 ? (uint32_t)(uint8_t)text.bytes[i + 2] : 0);
        text_append_char(out, digits[bits >> 18]);
        text_append_char(out, digits[(bits >> 12) & 63]);
        text_append_char(out, left > 1 ? digits[(bits >> 6) & 63] : '=');
        text_append_char(out, left > 2 ? digits[bits & 63] : '=');
    }
    text_append_char(out, '"');
}

static void write_double(double value, struct text_builder *out)
{
    char bytes[NUMBER_TEXT_MAX];
    size_t length = double_write_text(value, bytes);
    if (isfinite(value)) {
        json_write_number((struct text){bytes, length}, out);
    } else {
        json_write_string((struct text){bytes, length}, out);
    }
}

/* Times as ISO 8601: a T between date and time, Z after an instant. */
static void write_time(const struct vector *vector, uint32_t row, struct text_builder *out)
{
    char bytes[NUMBER_TEXT_MAX];
    size_t length = cell_text_write(vector, row, time_zone_utc, bytes);
    if (type_is_timestamp(vector->type)) {
        char *blank = memchr(bytes, ' ', length);
        *blank = 'T';
        if (vector->type->kind == TYPE_TIMESTAMP_LTZ) {
            bytes[length++] = 'Z';
        }
    }
    json_write_string((struct text){bytes, length}, out);
}

/* Fields of a ROW in the order of their names. */
static void write_row(const struct vector *vector, uint32_t row, const struct time_zone *zone, struct text_builder *out)
{
    struct named *fields = malloc((vector->child_count + 1) * sizeof *fields);
    if (fields == NULL) {
        out->failed = true;
        return;
    }
    for (uint32_t i = 0; i < vector->child_count; i++) {
        fields[i] = (struct named){text_from(vector->type->names == NULL ? "" : vector->type->names[i]), i, NULL};
    }
    qsort(fields, vector->child_count, sizeof *fields, compare_named);
    text_append_char(out, '{');
    for (uint32_t i = 0; i < vector->child_count; i++) {
        text_append_text(out, i > 0 ? "," : "");
        json_write_string(fields[i].name, out);
        text_append_char(out, ':');
        json_write_cell(&vector->children[fields[i].position], row, zone, out);
    }
    text_append_char(out, '}');
    free(fields);
}

static void write_entries(const struct vector *vector, uint32_t row, const struct time_zone *zone, struct text_builder *out)
{
    struct span span = vector_spans(vector)[row];
    struct named *entries = malloc((span.length + 1) * sizeof *entries);
    struct text_builder names = {0};
    if (entries == NULL) {
        out->failed = true;
        return;
    }
    size_t *ends = malloc((span.length + 1) * sizeof *ends);
    for (uint32_t i = 0; i < span.length && ends != NULL; i++) {
        cell_text_append(&vector->children[0], span.offset + i, zone, 0, &names);
        ends[i] = names.length;
    }
    out->failed |= names.failed || ends == NULL;
    for (uint32_t i = 0; i < span.length && !out->failed; i++) {
        size_t start = i == 0 ? 0 : ends[i - 1];
        entries[i] = (struct named){{names.bytes + start, ends[i] - start}, span.offset + i, NULL};
    }
    text_append_char(out, '{');
    if (!out->failed) {
        qsort(entries, span.length, sizeof *entries, compare_named);
    }
    for (uint32_t i = 0; i < span.length && !out->failed; i++) {
        text_append_text(out, i > 0 ? "," : "");
        json_write_string(entries[i].name, out);
        text_append_char(out, ':');
        json_write_cell(&vector->children[1], entries[i].position, zone, out);
    }
    text_append_char(out, '}');
    free(ends);
    free(entries);
    text_builder_close(&names);
}

static void write_array(const struct vector *vector, uint32_t row, const struct time_zone *zone, struct text_builder *out)
{
    struct span span = vector_spans(vector)[row];
    text_append_char(out, '[');
    for (uint32_t i = 0; i < span.length; i++) {
        text_append_text(out, i > 0 ? "," : "");
        json_write_cell(&vector->children[0], span.offset + i, zone, out);
    }
    text_append_char(out, ']');
}

void json_write_cell(const struct vector *vector, uint32_t row, const struct time_zone *zone, struct text_builder *out)
{
    char bytes[NUMBER_TEXT_MAX];
    if (!vector_is_valid(vector, row)) {
        text_append_text(out, "null");
        return;
    }
    switch (vector->type->kind) {
    case TYPE_BOOLEAN:
        text_append_text(out, vector_bool(vector)[row] ? "true" : "false");
        break;
    case TYPE_CHAR:
    case TYPE_VARCHAR:
        json_write_string(vector_get_text(vector, row), out);
        break;
    case TYPE_BINARY:
    case TYPE_VARBINARY:
    case TYPE_BITMAP:
        write_base64(vector_get_text(vector, row), out);
        break;
    case TYPE_VARIANT:
        text_append(out, vector_get_text(vector, row).bytes, vector_get_text(vector, row).length);
        break;
    case TYPE_FLOAT:
        write_double((double)vector_float(vector)[row], out);
        break;
    case TYPE_DOUBLE:
        write_double(vector_double(vector)[row], out);
        break;
    case TYPE_DECIMAL:
        json_write_number((struct text){bytes, cell_text_write(vector, row, zone, bytes)}, out);
        break;
    case TYPE_ARRAY:
        write_array(vector, row, zone, out);
        break;
    case TYPE_MAP:
    case TYPE_MULTISET:
        write_entries(vector, row, zone, out);
        break;
    case TYPE_ROW:
        write_row(vector, row, zone, out);
        break;
    case TYPE_TINYINT:
    case TYPE_SMALLINT:
    case TYPE_INT:
    case TYPE_BIGINT:
        text_append(out, bytes, cell_text_write(vector, row, zone, bytes));
        break;
    default:
        write_time(vector, row, out);
    }
}
