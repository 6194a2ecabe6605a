#include "state/column_codec.h"

#include <string.h>

#include "data/value_codec.h"

enum { NULLS_NONE, NULLS_SOME, NULLS_ALL };

static bool is_nested(enum physical physical)
{
    return physical == PHYSICAL_SPAN || physical == PHYSICAL_ROW;
}

static uint32_t count_nulls(const struct vector *vector, struct selection rows)
{
    uint32_t nulls = 0;
    if (vector->physical == PHYSICAL_NULL) {
        return rows.count;
    }
    for (uint32_t k = 0; vector->validity != NULL && k < rows.count; k++) {
        nulls += !vector_is_valid(vector, selection_row(&rows, k));
    }
    return nulls;
}

static void encode_validity(const struct vector *vector, struct selection rows, struct text_builder *out)
{
    uint64_t words[VALIDITY_WORDS] = {0};
    for (uint32_t k = 0; k < rows.count; k++) {
        words[k / 64] |= (uint64_t)vector_is_valid(vector, selection_row(&rows, k)) << (k % 64);
    }
    text_append(out, (const char *)words, ((size_t)rows.count + 63) / 64 * sizeof *words);
}

static void encode_fixed(const struct vector *vector, struct selection rows, struct text_builder *out)
{
    uint32_t width = physical_bytes(vector->physical);
    if (rows.rows == NULL) {
        text_append(out, vector->values, (size_t)rows.count * width);
        return;
    }
    for (uint32_t k = 0; k < rows.count; k++) {
        text_append(out, (const char *)vector->values + (size_t)rows.rows[k] * width, width);
    }
}

static void encode_strings(const struct vector *vector, struct selection rows, struct text_builder *out)
{
    const struct string_view *views = vector_strings(vector);
    for (uint32_t k = 0; k < rows.count; k++) {
        uint32_t row = selection_row(&rows, k);
        uint32_t length = vector_is_valid(vector, row) ? views[row].length : 0;
        text_append(out, (const char *)&length, sizeof length);
    }
    for (uint32_t k = 0; k < rows.count; k++) {
        uint32_t row = selection_row(&rows, k);
        if (vector_is_valid(vector, row)) {
            text_append(out, string_view_bytes(&views[row]), views[row].length);
        }
    }
}

static void encode_nested(const struct vector *vector, struct selection rows, struct text_builder *out)
{
    struct text_builder values = {0};
    for (uint32_t k = 0; k < rows.count; k++) {
        size_t before = values.length;
        value_encode(vector, selection_row(&rows, k), &values);
        uint32_t length = (uint32_t)(values.length - before);
        text_append(out, (const char *)&length, sizeof length);
    }
    text_append(out, values.bytes, values.length);
    out->failed = out->failed || values.failed;
    text_builder_close(&values);
}

void column_encode(const struct vector *vector, struct selection rows, struct text_builder *out)
{
    uint32_t nulls = count_nulls(vector, rows);
    if (nulls == rows.count && nulls > 0) {
        text_append_char(out, NULLS_ALL);
        return;
    }
    text_append_char(out, nulls == 0 ? NULLS_NONE : NULLS_SOME);
    if (is_nested(vector->physical)) {
        encode_nested(vector, rows, out); /* holds its NULLs */
        return;
    }
    if (nulls > 0) {
        encode_validity(vector, rows, out);
    }
    if (vector->physical == PHYSICAL_STRING) {
        encode_strings(vector, rows, out);
    } else {
        encode_fixed(vector, rows, out);
    }
}

/* ---- back ---- */

static enum status decode_torn(struct error *err)
{
    return error_set(err, ERROR_STATE_CORRUPT, "a column of a block of state ends too early");
}

static bool take(const uint8_t **cursor, const uint8_t *end, size_t bytes, const uint8_t **taken)
{
    if ((size_t)(end - *cursor) < bytes) {
        return false;
    }
    *taken = *cursor;
    *cursor += bytes;
    return true;
}

static enum status decode_validity(struct budget *budget, uint32_t count, const uint8_t **cursor, const uint8_t *end, struct vector *vector,
                                   struct error *err)
{
    const uint8_t *words;
    size_t bytes = ((size_t)count + 63) / 64 * sizeof(uint64_t);
    if (!take(cursor, end, bytes, &words)) {
        return decode_torn(err);
    }
    TRY(vector_need_validity(budget, vector, count, err));
    memcpy(vector->validity, words, bytes);
    return STATUS_OK;
}

/* Lengths of `count` texts and their bytes. */
static enum status decode_lengths(uint32_t count, const uint8_t **cursor, const uint8_t *end, const uint8_t **lengths,
                                  const uint8_t **bytes, size_t *total, struct error *err)
{
    if (!take(cursor, end, (size_t)count * sizeof(uint32_t), lengths)) {
        return decode_torn(err);
    }
    *total = 0;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t length;
        memcpy(&length, *lengths + (size_t)k * sizeof length, sizeof length);
        *total += length;
    }
    return take(cursor, end, *total, bytes) ? STATUS_OK : decode_torn(err);
}

static enum status decode_strings(struct budget *budget, uint32_t count, const uint8_t **cursor, const uint8_t *end, struct vector *vector,
                                  struct error *err)
{
    const uint8_t *lengths, *bytes;
    size_t total;
    TRY(decode_lengths(count, cursor, end, &lengths, &bytes, &total, err));
    struct string_heap heap = {.budget = budget, .target = vector};
    char *copy = NULL;
    if (total > 0 && (copy = string_heap_alloc(&heap, total, err)) == NULL) {
        return err->status;
    }
    if (total > 0) {
        memcpy(copy, bytes, total);
    }
    for (uint32_t k = 0; k < count; k++) {
        uint32_t length;
        memcpy(&length, lengths + (size_t)k * sizeof length, sizeof length);
        vector_strings(vector)[k] = string_view_make(copy, length);
        copy += length;
    }
    return STATUS_OK;
}

static enum status decode_nested(struct budget *budget, const struct type *type, uint32_t count, const uint8_t **cursor, const uint8_t *end,
                                 struct vector *vector, struct error *err)
{
    const uint8_t *lengths, *bytes, *cursors[CHUNK_ROWS];
    size_t total;
    TRY(decode_lengths(count, cursor, end, &lengths, &bytes, &total, err));
    for (uint32_t k = 0; k < count; k++) {
        uint32_t length;
        memcpy(&length, lengths + (size_t)k * sizeof length, sizeof length);
        if (length == 0) {
            return decode_torn(err);
        }
        cursors[k] = bytes;
        bytes += length;
    }
    return value_decode_column(budget, type, cursors, count, vector, err);
}

static enum status decode_all_null(struct budget *budget, const struct type *type, uint32_t count, struct vector *vector, struct error *err)
{
    if (is_nested(type_physical(type))) {
        const uint8_t *cursors[CHUNK_ROWS] = {NULL};
        return value_decode_column(budget, type, cursors, count, vector, err);
    }
    TRY(vector_create(budget, type, count, vector, err));
    if (vector->physical == PHYSICAL_NULL) {
        return STATUS_OK;
    }
    TRY(vector_need_validity(budget, vector, count, err));
    memset(vector->validity, 0, ((size_t)count + 63) / 64 * sizeof(uint64_t));
    if (vector->physical == PHYSICAL_STRING) {
        memset(vector->values, 0, count * sizeof(struct string_view));
    }
    return STATUS_OK;
}

static enum status decode_values(struct budget *budget, const struct type *type, bool nulls, uint32_t count, const uint8_t **cursor,
                                 const uint8_t *end, struct vector *vector, struct error *err)
{
    TRY(vector_create(budget, type, count, vector, err));
    if (nulls) {
        TRY(decode_validity(budget, count, cursor, end, vector, err));
    }
    if (vector->physical == PHYSICAL_STRING) {
        return decode_strings(budget, count, cursor, end, vector, err);
    }
    const uint8_t *values;
    size_t bytes = (size_t)count * physical_bytes(vector->physical);
    if (!take(cursor, end, bytes, &values)) {
        return decode_torn(err);
    }
    memcpy(vector->values, values, bytes);
    return STATUS_OK;
}

enum status column_decode(struct budget *budget, const struct type *type, uint32_t count, const uint8_t **cursor, const uint8_t *end,
                          struct vector *vector, struct error *err)
{
    const uint8_t *form;
    if (count > CHUNK_ROWS || !take(cursor, end, 1, &form) || *form > NULLS_ALL) {
        return decode_torn(err);
    }
    if (*form == NULLS_ALL) {
        return decode_all_null(budget, type, count, vector, err);
    }
    enum status status = is_nested(type_physical(type)) ? decode_nested(budget, type, count, cursor, end, vector, err)
                                                        : decode_values(budget, type, *form == NULLS_SOME, count, cursor, end, vector, err);
    if (status != STATUS_OK) {
        vector_release(vector);
    }
    return status;
}
