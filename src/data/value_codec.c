#include "data/value_codec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void value_copy_normal(enum physical physical, const void *from, void *to)
{
    if (physical == PHYSICAL_DOUBLE) {
        double value;
        memcpy(&value, from, sizeof value);
        value = isnan(value) ? (double)NAN : value == 0 ? 0.0 : value;
        memcpy(to, &value, sizeof value);
    } else if (physical == PHYSICAL_FLOAT) {
        float value;
        memcpy(&value, from, sizeof value);
        value = isnan(value) ? NAN : value == 0 ? 0.0F : value;
        memcpy(to, &value, sizeof value);
    } else {
        memcpy(to, from, physical_bytes(physical));
    }
}

#define COMPARE(ctype)                                                                                                                     \
    do {                                                                                                                                   \
        ctype left_value, right_value;                                                                                                     \
        memcpy(&left_value, left, sizeof(ctype));                                                                                          \
        memcpy(&right_value, right, sizeof(ctype));                                                                                        \
        return (left_value > right_value) - (left_value < right_value);                                                                    \
    } while (0)

static int compare_doubles(double left, double right)
{
    if (isnan(left) || isnan(right)) {
        return (isnan(left) != 0) - (isnan(right) != 0);
    }
    return (left > right) - (left < right);
}

int value_compare_fixed(enum physical physical, const void *left, const void *right)
{
    switch (physical) {
    case PHYSICAL_BOOL:
        COMPARE(uint8_t);
    case PHYSICAL_INT8:
        COMPARE(int8_t);
    case PHYSICAL_INT16:
        COMPARE(int16_t);
    case PHYSICAL_INT32:
        COMPARE(int32_t);
    case PHYSICAL_INT64:
        COMPARE(int64_t);
    case PHYSICAL_INT128:
        COMPARE(int128_t);
    case PHYSICAL_FLOAT: {
        float values[2];
        memcpy(&values[0], left, sizeof(float));
        memcpy(&values[1], right, sizeof(float));
        return compare_doubles((double)values[0], (double)values[1]);
    }
    case PHYSICAL_DOUBLE: {
        double values[2];
        memcpy(&values[0], left, sizeof(double));
        memcpy(&values[1], right, sizeof(double));
        return compare_doubles(values[0], values[1]);
    }
    default:
        return 0;
    }
}

static void append_uint32(struct text_builder *out, uint32_t value)
{
    text_append(out, (const char *)&value, sizeof value);
}

static uint32_t read_uint32(const uint8_t **bytes)
{
    uint32_t value;
    memcpy(&value, *bytes, sizeof value);
    *bytes += sizeof value;
    return value;
}

static bool is_sorted_kind(const struct type *type)
{
    return type->kind == TYPE_MAP || type->kind == TYPE_MULTISET;
}

/* Entries of maps and multisets by key: an insertion sort, they are few. */
static void sort_entries(const struct vector *keys, uint32_t offset, uint32_t *order, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = i;
        while (at > 0 && vector_compare_rows(keys, offset + i, keys, order[at - 1]) < 0) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = offset + i;
    }
}

static void encode_span(const struct vector *vector, struct span span, struct text_builder *out)
{
    append_uint32(out, span.length);
    if (!is_sorted_kind(vector->type)) {
        for (uint32_t i = 0; i < span.length; i++) {
            value_encode(&vector->children[0], span.offset + i, out);
        }
        return;
    }
    uint32_t *order = malloc((span.length + 1) * sizeof *order);
    if (order == NULL) {
        out->failed = true;
        return;
    }
    sort_entries(&vector->children[0], span.offset, order, span.length);
    for (uint32_t i = 0; i < span.length; i++) {
        value_encode(&vector->children[0], order[i], out);
        value_encode(&vector->children[1], order[i], out);
    }
    free(order);
}

void value_encode(const struct vector *vector, uint32_t row, struct text_builder *out)
{
    bool valid = vector_is_valid(vector, row);
    text_append_char(out, valid ? 1 : 0);
    if (!valid) {
        return;
    }
    switch (vector->physical) {
    case PHYSICAL_STRING: {
        struct text text = vector_get_text(vector, row);
        append_uint32(out, (uint32_t)text.length);
        text_append(out, text.bytes, text.length);
        break;
    }
    case PHYSICAL_SPAN:
        encode_span(vector, vector_spans(vector)[row], out);
        break;
    case PHYSICAL_ROW:
        for (uint32_t i = 0; i < vector->child_count; i++) {
            value_encode(&vector->children[i], row, out);
        }
        break;
    default: {
        uint8_t bytes[16];
        uint32_t width = physical_bytes(vector->physical);
        value_copy_normal(vector->physical, (const uint8_t *)vector->values + (size_t)row * width, bytes);
        text_append(out, (const char *)bytes, width);
    }
    }
}

/* The type of the second part of an entry. */
static const struct type *entry_type(const struct type *type)
{
    return type->kind == TYPE_MAP ? type->children[1] : &type_int_not_null;
}

const uint8_t *value_skip(const struct type *type, const uint8_t *bytes)
{
    if (*bytes++ == 0) {
        return bytes;
    }
    enum physical physical = type_physical(type);
    if (physical == PHYSICAL_STRING) {
        uint32_t length = read_uint32(&bytes);
        return bytes + length;
    }
    if (physical == PHYSICAL_ROW) {
        for (uint32_t i = 0; i < type->child_count; i++) {
            bytes = value_skip(type->children[i], bytes);
        }
        return bytes;
    }
    if (physical == PHYSICAL_SPAN) {
        uint32_t count = read_uint32(&bytes);
        for (uint32_t i = 0; i < count; i++) {
            bytes = value_skip(type->children[0], bytes);
            bytes = is_sorted_kind(type) ? value_skip(entry_type(type), bytes) : bytes;
        }
        return bytes;
    }
    return bytes + physical_bytes(physical);
}

/* A span's count needs no limit of its own: each element takes a byte at least. */
static const uint8_t *check_span(const struct type *type, const uint8_t *bytes, const uint8_t *end, uint32_t count)
{
    for (uint32_t i = 0; i < count && bytes != NULL; i++) {
        bytes = value_check(type->children[0], bytes, end);
        bytes = bytes != NULL && is_sorted_kind(type) ? value_check(entry_type(type), bytes, end) : bytes;
    }
    return bytes;
}

const uint8_t *value_check(const struct type *type, const uint8_t *bytes, const uint8_t *end)
{
    enum physical physical = type_physical(type);
    if (bytes == end || *bytes > 1 || (*bytes == 1 && physical == PHYSICAL_NULL)) {
        return NULL;
    }
    if (*bytes++ == 0) {
        return bytes;
    }
    if (physical == PHYSICAL_ROW) {
        for (uint32_t i = 0; i < type->child_count && bytes != NULL; i++) {
            bytes = value_check(type->children[i], bytes, end);
        }
        return bytes;
    }
    bool counted = physical == PHYSICAL_STRING || physical == PHYSICAL_SPAN;
    size_t width = counted ? sizeof(uint32_t) : physical_bytes(physical);
    if ((size_t)(end - bytes) < width) {
        return NULL;
    }
    if (!counted) {
        return bytes + width;
    }
    uint32_t count = read_uint32(&bytes);
    if (physical == PHYSICAL_SPAN) {
        return check_span(type, bytes, end, count);
    }
    return count > STRING_LENGTH_MAX || count > (size_t)(end - bytes) ? NULL : bytes + count;
}

static int compare_texts(const uint8_t *left, const uint8_t *right)
{
    uint32_t left_length = read_uint32(&left), right_length = read_uint32(&right);
    int order = memcmp(left, right, left_length < right_length ? left_length : right_length);
    return order != 0 ? (order > 0) - (order < 0) : (left_length > right_length) - (left_length < right_length);
}

static int compare_spans(const struct type *type, const uint8_t *left, const uint8_t *right)
{
    uint32_t left_count = read_uint32(&left), right_count = read_uint32(&right);
    uint32_t parts = is_sorted_kind(type) ? 2 : 1;
    for (uint32_t i = 0; i < left_count * parts && i < right_count * parts; i++) {
        const struct type *part = i % parts == 0 ? type->children[0] : entry_type(type);
        int order = value_compare(part, left, right);
        if (order != 0) {
            return order;
        }
        left = value_skip(part, left);
        right = value_skip(part, right);
    }
    return (left_count > right_count) - (left_count < right_count);
}

int value_compare(const struct type *type, const uint8_t *left, const uint8_t *right)
{
    if (*left == 0 || *right == 0) {
        return (*left != 0) - (*right != 0);
    }
    left++;
    right++;
    enum physical physical = type_physical(type);
    if (physical == PHYSICAL_STRING) {
        return compare_texts(left, right);
    }
    if (physical == PHYSICAL_SPAN) {
        return compare_spans(type, left, right);
    }
    if (physical != PHYSICAL_ROW) {
        return value_compare_fixed(physical, left, right);
    }
    for (uint32_t i = 0; i < type->child_count; i++) {
        int order = value_compare(type->children[i], left, right);
        if (order != 0) {
            return order;
        }
        left = value_skip(type->children[i], left);
        right = value_skip(type->children[i], right);
    }
    return 0;
}

static enum status decode_texts(struct budget *budget, const uint8_t **cursors, uint32_t count, struct vector *vector, struct error *err)
{
    size_t total = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (vector_is_valid(vector, i)) {
            const uint8_t *bytes = cursors[i];
            uint32_t length = read_uint32(&bytes);
            total += length > STRING_INLINE_BYTES ? length : 0;
        }
    }
    char *heap = NULL;
    if (total > 0) {
        TRY(buffer_create(budget, total, &vector->heaps[0], err));
        vector->heap_count = 1;
        heap = (char *)buffer_bytes_mutable(vector->heaps[0]);
    }
    for (uint32_t i = 0; i < count; i++) {
        struct string_view *view = &vector_strings(vector)[i];
        *view = (struct string_view){0};
        if (!vector_is_valid(vector, i)) {
            continue;
        }
        uint32_t length = read_uint32(&cursors[i]);
        const char *bytes = (const char *)cursors[i];
        if (length > STRING_INLINE_BYTES) {
            memcpy(heap, bytes, length);
            bytes = heap;
            heap += length;
        }
        *view = string_view_make(bytes, length);
        cursors[i] += length;
    }
    return STATUS_OK;
}

/* Sets the spans and gives each child the cursors of its elements: a pass over the entries of all rows. */
static enum status decode_spans(struct budget *budget, const uint8_t **cursors, uint32_t count, struct vector *vector, struct error *err)
{
    const struct type *type = vector->type;
    uint32_t parts = is_sorted_kind(type) ? 2 : 1;
    uint32_t total = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct span *span = &vector_spans(vector)[i];
        *span = (struct span){total, 0};
        if (vector_is_valid(vector, i)) {
            span->length = read_uint32(&cursors[i]);
            total += span->length;
        }
    }
    const uint8_t **entries = malloc(((size_t)total * parts + 1) * sizeof *entries);
    if (entries == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "the system has no memory for the elements of a nested value");
    }
    for (uint32_t i = 0; i < count; i++) {
        struct span span = vector_spans(vector)[i];
        for (uint32_t e = 0; e < span.length; e++) {
            for (uint32_t part = 0; part < parts; part++) {
                entries[(size_t)part * total + span.offset + e] = cursors[i];
                cursors[i] = value_skip(part == 0 ? type->children[0] : entry_type(type), cursors[i]);
            }
        }
    }
    enum status status = STATUS_OK;
    for (uint32_t part = 0; part < parts && status == STATUS_OK; part++) {
        vector_release(&vector->children[part]);
        status = value_decode_column(budget, part == 0 ? type->children[0] : entry_type(type), entries + (size_t)part * total, total,
                                     &vector->children[part], err);
    }
    free(entries);
    return status;
}

/* Fields of rows that are NULL have no bytes: their cursors are NULL while the fields are read. */
static enum status decode_rows(struct budget *budget, const uint8_t **cursors, uint32_t count, struct vector *vector, struct error *err)
{
    const uint8_t **fields = malloc((count + 1) * sizeof *fields);
    if (fields == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "the system has no memory for the fields of a nested value");
    }
    for (uint32_t i = 0; i < count; i++) {
        fields[i] = vector_is_valid(vector, i) ? cursors[i] : NULL;
    }
    enum status status = STATUS_OK;
    for (uint32_t child = 0; child < vector->child_count && status == STATUS_OK; child++) {
        vector_release(&vector->children[child]);
        status = value_decode_column(budget, vector->type->children[child], fields, count, &vector->children[child], err);
    }
    for (uint32_t i = 0; i < count; i++) {
        cursors[i] = fields[i] != NULL ? fields[i] : cursors[i];
    }
    free(fields);
    return status;
}

static enum status decode_validity(struct budget *budget, const uint8_t **cursors, uint32_t count, struct vector *vector, struct error *err)
{
    for (uint32_t i = 0; i < count; i++) {
        bool valid = cursors[i] != NULL && *cursors[i] != 0;
        cursors[i] += cursors[i] != NULL;
        if (!valid && vector->physical != PHYSICAL_NULL) {
            if (vector->validity == NULL) {
                TRY(vector_need_validity(budget, vector, count, err));
            }
            vector_set_null(vector, i);
        }
    }
    return STATUS_OK;
}

static void decode_fixed(const uint8_t **cursors, uint32_t count, struct vector *vector)
{
    uint32_t width = physical_bytes(vector->physical);
    uint8_t *values = vector->values;
    for (uint32_t i = 0; i < count; i++) {
        if (vector_is_valid(vector, i)) {
            memcpy(values + (size_t)i * width, cursors[i], width);
            cursors[i] += width;
        } else if (width > 0) {
            memset(values + (size_t)i * width, 0, width);
        }
    }
}

enum status value_decode_column(struct budget *budget, const struct type *type, const uint8_t **cursors, uint32_t count,
                                struct vector *vector, struct error *err)
{
    TRY(vector_create(budget, type, count, vector, err));
    enum status status = decode_validity(budget, cursors, count, vector, err);
    if (status == STATUS_OK) {
        switch (vector->physical) {
        case PHYSICAL_STRING:
            status = decode_texts(budget, cursors, count, vector, err);
            break;
        case PHYSICAL_SPAN:
            status = decode_spans(budget, cursors, count, vector, err);
            break;
        case PHYSICAL_ROW:
            status = decode_rows(budget, cursors, count, vector, err);
            break;
        default:
            decode_fixed(cursors, count, vector);
        }
    }
    if (status != STATUS_OK) {
        vector_release(vector);
    }
    return status;
}
