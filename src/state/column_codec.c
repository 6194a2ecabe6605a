#include "state/column_codec.h"

#include <string.h>

#include <zstd.h>

#include "data/value_codec.h"
#include "state/packed_integers.h"

enum { NULLS_NONE, NULLS_SOME, NULLS_ALL };
enum { BYTES_PLAIN, BYTES_PACKED, BYTES_FIELDS };
enum { COMPRESS_FROM = 512, COMPRESS_LEVEL = 1, FIELD_BYTES = 4, FIELDS_MAX = 64, BYTES_MAX = 1 << 30 };
_Static_assert(CHUNK_ROWS <= (int)PACKED_MAX, "a column is one list");

void column_coder_close(struct column_coder *coder)
{
    ZSTD_freeCCtx(coder->packer);
    ZSTD_freeDCtx(coder->unpacker);
    *coder = (struct column_coder){0};
}

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

/* ---- fixed width ---- */

#define COLLECT(ctype)                                                                                                                     \
    for (uint32_t k = 0; k < rows.count; k++) {                                                                                            \
        list[k] = (int64_t)((const ctype *)vector->values)[selection_row(&rows, k) * step];                                                \
    }

/* The values as integers; of 16 bytes the half `half` (step 2). */
static void collect(const struct vector *vector, struct selection rows, uint32_t width, uint32_t step, uint32_t half, int64_t *list)
{
    switch (width) {
    case 1:
        COLLECT(int8_t)
        break;
    case 2:
        COLLECT(int16_t)
        break;
    case 4:
        COLLECT(int32_t)
        break;
    default:
        for (uint32_t k = 0; k < rows.count; k++) {
            list[k] = ((const int64_t *)vector->values)[selection_row(&rows, k) * step + half];
        }
    }
}

/* What lies under a NULL is anything: the value before it takes no bits of its own. */
static void cover_nulls(const struct vector *vector, struct selection rows, int64_t *list)
{
    int64_t last = 0;
    for (uint32_t k = 0; k < rows.count; k++) {
        last = vector_is_valid(vector, selection_row(&rows, k)) ? list[k] : last;
        list[k] = last;
    }
}

static void encode_fixed(const struct vector *vector, struct selection rows, bool nulls, struct text_builder *out)
{
    int64_t values[CHUNK_ROWS];
    uint32_t width = physical_bytes(vector->physical), halves = width == 16 ? 2 : 1;
    for (uint32_t half = 0; half < halves; half++) {
        if (width == sizeof *values && rows.rows == NULL && !nulls) {
            packed_integers_encode(vector->values, rows.count, width, out);
            return;
        }
        collect(vector, rows, width / halves, halves, half, values);
        if (nulls) {
            cover_nulls(vector, rows, values);
        }
        packed_integers_encode(values, rows.count, width / halves, out);
    }
}

/* ---- bytes ---- */

/* Compresses bytes that were appended to `out` from `at` on, if that gains. */
static void pack_bytes(struct column_coder *coder, struct text_builder *out, size_t at)
{
    size_t length = out->length - at;
    if (out->failed || length < COMPRESS_FROM || length > UINT32_MAX) {
        return;
    }
    if (coder->packer == NULL && (coder->packer = ZSTD_createCCtx()) == NULL) {
        return;
    }
    size_t bound = ZSTD_compressBound(length);
    char *packed = text_append_room(out, bound);
    if (packed == NULL) {
        return;
    }
    size_t stored = ZSTD_compressCCtx(coder->packer, packed, bound, out->bytes + at, length, COMPRESS_LEVEL);
    if (ZSTD_isError(stored) || stored + sizeof(uint32_t) >= length) {
        out->length = at + length;
        return;
    }
    out->bytes[at - 1] = BYTES_PACKED;
    uint32_t number = (uint32_t)stored;
    memcpy(out->bytes + at, &number, sizeof number);
    memmove(out->bytes + at + sizeof number, packed, stored);
    out->length = at + sizeof number + stored;
}

/* Fields of 4 bytes, one list each: what has numbers inside packs better so, and quicker. */
static void encode_fields(const struct string_view *views, struct selection rows, uint32_t length, struct text_builder *out)
{
    int64_t values[CHUNK_ROWS];
    text_append_char(out, BYTES_FIELDS);
    for (uint32_t at = 0; at < length; at += FIELD_BYTES) {
        for (uint32_t k = 0; k < rows.count; k++) {
            int32_t field;
            memcpy(&field, string_view_bytes(&views[selection_row(&rows, k)]) + at, sizeof field);
            values[k] = field;
        }
        packed_integers_encode(values, rows.count, FIELD_BYTES, out);
    }
}

static bool has_fields(const struct type *type, const int64_t *lengths, uint32_t count)
{
    if (type->kind != TYPE_VARBINARY || lengths[0] == 0 || lengths[0] % FIELD_BYTES != 0 || lengths[0] > FIELDS_MAX * FIELD_BYTES) {
        return false;
    }
    for (uint32_t k = 1; k < count; k++) {
        if (lengths[k] != lengths[0]) {
            return false;
        }
    }
    return true;
}

static void encode_strings(struct column_coder *coder, const struct vector *vector, struct selection rows, struct text_builder *out)
{
    const struct string_view *views = vector_strings(vector);
    int64_t lengths[CHUNK_ROWS];
    for (uint32_t k = 0; k < rows.count; k++) {
        uint32_t row = selection_row(&rows, k);
        lengths[k] = vector_is_valid(vector, row) ? (int64_t)views[row].length : 0;
    }
    packed_integers_encode(lengths, rows.count, sizeof(uint32_t), out);
    if (has_fields(vector->type, lengths, rows.count)) {
        encode_fields(views, rows, (uint32_t)lengths[0], out);
        return;
    }
    text_append_char(out, BYTES_PLAIN);
    size_t at = out->length;
    for (uint32_t k = 0; k < rows.count; k++) {
        text_append(out, string_view_bytes(&views[selection_row(&rows, k)]), (size_t)lengths[k]);
    }
    pack_bytes(coder, out, at);
}

static void encode_nested(struct column_coder *coder, const struct vector *vector, struct selection rows, struct text_builder *out)
{
    struct text_builder values = {0};
    int64_t lengths[CHUNK_ROWS];
    for (uint32_t k = 0; k < rows.count; k++) {
        size_t before = values.length;
        value_encode(vector, selection_row(&rows, k), &values);
        lengths[k] = (int64_t)(values.length - before);
    }
    packed_integers_encode(lengths, rows.count, sizeof(uint32_t), out);
    text_append_char(out, BYTES_PLAIN);
    size_t at = out->length;
    text_append(out, values.bytes, values.length);
    out->failed = out->failed || values.failed;
    text_builder_close(&values);
    pack_bytes(coder, out, at);
}

void column_encode(struct column_coder *coder, const struct vector *vector, struct selection rows, struct text_builder *out)
{
    uint32_t nulls = count_nulls(vector, rows);
    if (nulls == rows.count && nulls > 0) {
        text_append_char(out, NULLS_ALL);
        return;
    }
    text_append_char(out, nulls == 0 ? NULLS_NONE : NULLS_SOME);
    if (is_nested(vector->physical)) {
        encode_nested(coder, vector, rows, out); /* holds its NULLs */
        return;
    }
    if (nulls > 0) {
        encode_validity(vector, rows, out);
    }
    if (vector->physical == PHYSICAL_STRING) {
        encode_strings(coder, vector, rows, out);
    } else {
        encode_fixed(vector, rows, nulls > 0, out);
    }
}

/* ---- back ---- */

static enum status decode_torn(struct error *err)
{
    return error_set(err, ERROR_STATE_CORRUPT, "a column of a block of state is not as it was written");
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

static bool decode_lengths(uint32_t count, const uint8_t **cursor, const uint8_t *end, int64_t *lengths, size_t *total)
{
    *total = 0;
    if (!packed_integers_decode(lengths, count, sizeof(uint32_t), cursor, end)) {
        return false;
    }
    for (uint32_t k = 0; k < count; k++) {
        lengths[k] = (int64_t)(uint32_t)lengths[k];
        *total += (size_t)lengths[k];
    }
    return *total <= BYTES_MAX;
}

static bool decode_fields(uint32_t count, size_t total, const uint8_t **cursor, const uint8_t *end, uint8_t *bytes)
{
    int64_t values[CHUNK_ROWS];
    size_t length = total / count;
    if (length * count != total || length % FIELD_BYTES != 0) {
        return false;
    }
    for (size_t at = 0; at < length; at += FIELD_BYTES) {
        if (!packed_integers_decode(values, count, FIELD_BYTES, cursor, end)) {
            return false;
        }
        for (uint32_t k = 0; k < count; k++) {
            memcpy(bytes + k * length + at, &values[k], FIELD_BYTES);
        }
    }
    return true;
}

static bool unpack_bytes(struct column_coder *coder, size_t total, const uint8_t **cursor, const uint8_t *end, uint8_t *bytes)
{
    const uint8_t *number, *stored;
    uint32_t length;
    if (!take(cursor, end, sizeof length, &number)) {
        return false;
    }
    memcpy(&length, number, sizeof length);
    if (coder->unpacker == NULL) {
        coder->unpacker = ZSTD_createDCtx();
    }
    return take(cursor, end, length, &stored) && coder->unpacker != NULL &&
           ZSTD_decompressDCtx(coder->unpacker, bytes, total, stored, length) == total;
}

/* `total` bytes, to where there is room for them. */
static bool decode_bytes(struct column_coder *coder, uint32_t count, size_t total, const uint8_t **cursor, const uint8_t *end,
                         uint8_t *bytes)
{
    const uint8_t *form, *plain;
    if (!take(cursor, end, 1, &form)) {
        return false;
    }
    switch (*form) {
    case BYTES_PLAIN:
        if (!take(cursor, end, total, &plain)) {
            return false;
        }
        if (total > 0) {
            memcpy(bytes, plain, total);
        }
        return true;
    case BYTES_PACKED:
        return unpack_bytes(coder, total, cursor, end, bytes);
    case BYTES_FIELDS:
        return decode_fields(count, total, cursor, end, bytes);
    default:
        return false;
    }
}

static enum status decode_strings(struct column_coder *coder, struct budget *budget, uint32_t count, const uint8_t **cursor,
                                  const uint8_t *end, struct vector *vector, struct error *err)
{
    int64_t lengths[CHUNK_ROWS];
    size_t total;
    struct string_heap heap = {.budget = budget, .target = vector};
    char *copy = NULL;
    if (!decode_lengths(count, cursor, end, lengths, &total)) {
        return decode_torn(err);
    }
    if (total > 0 && (copy = string_heap_alloc(&heap, total, err)) == NULL) {
        return err->status;
    }
    if (!decode_bytes(coder, count, total, cursor, end, (uint8_t *)copy)) {
        return decode_torn(err);
    }
    for (uint32_t k = 0; k < count; k++) {
        vector_strings(vector)[k] = string_view_make(copy, (size_t)lengths[k]);
        copy += lengths[k];
    }
    return STATUS_OK;
}

static enum status decode_nested_bytes(struct column_coder *coder, struct budget *budget, const struct type *type, uint32_t count,
                                       const uint8_t **cursor, const uint8_t *end, const int64_t *lengths, struct text_builder *bytes,
                                       size_t total, struct vector *vector, struct error *err)
{
    const uint8_t *cursors[CHUNK_ROWS];
    uint8_t *at = (uint8_t *)text_append_room(bytes, total);
    if (at == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "the system has no memory to read a checkpoint");
    }
    if (!decode_bytes(coder, count, total, cursor, end, at)) {
        return decode_torn(err);
    }
    for (uint32_t k = 0; k < count; k++) {
        if (lengths[k] == 0) {
            return decode_torn(err);
        }
        cursors[k] = at;
        at += lengths[k];
    }
    return value_decode_column(budget, type, cursors, count, vector, err);
}

static enum status decode_nested(struct column_coder *coder, struct budget *budget, const struct type *type, uint32_t count,
                                 const uint8_t **cursor, const uint8_t *end, struct vector *vector, struct error *err)
{
    int64_t lengths[CHUNK_ROWS];
    size_t total;
    struct text_builder bytes = {0};
    if (!decode_lengths(count, cursor, end, lengths, &total)) {
        return decode_torn(err);
    }
    enum status status = decode_nested_bytes(coder, budget, type, count, cursor, end, lengths, &bytes, total, vector, err);
    text_builder_close(&bytes);
    return status;
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

static bool decode_fixed(uint32_t count, const uint8_t **cursor, const uint8_t *end, struct vector *vector)
{
    int64_t list[CHUNK_ROWS];
    uint32_t width = physical_bytes(vector->physical), halves = width == 16 ? 2 : 1, part = width / halves;
    if (width == sizeof *list) {
        return packed_integers_decode(vector->values, count, width, cursor, end);
    }
    for (uint32_t half = 0; half < halves; half++) {
        if (!packed_integers_decode(list, count, part, cursor, end)) {
            return false;
        }
        for (uint32_t k = 0; k < count; k++) { /* little-endian */
            memcpy((uint8_t *)vector->values + (size_t)k * width + (size_t)half * part, &list[k], part);
        }
    }
    return true;
}

static enum status decode_values(struct column_coder *coder, struct budget *budget, const struct type *type, bool nulls, uint32_t count,
                                 const uint8_t **cursor, const uint8_t *end, struct vector *vector, struct error *err)
{
    TRY(vector_create(budget, type, count, vector, err));
    if (nulls) {
        TRY(decode_validity(budget, count, cursor, end, vector, err));
    }
    if (vector->physical == PHYSICAL_STRING) {
        return decode_strings(coder, budget, count, cursor, end, vector, err);
    }
    return decode_fixed(count, cursor, end, vector) ? STATUS_OK : decode_torn(err);
}

enum status column_decode(struct column_coder *coder, struct budget *budget, const struct type *type, uint32_t count,
                          const uint8_t **cursor, const uint8_t *end, struct vector *vector, struct error *err)
{
    const uint8_t *form;
    if (count == 0 || count > CHUNK_ROWS || !take(cursor, end, 1, &form) || *form > NULLS_ALL) {
        return decode_torn(err);
    }
    if (*form == NULLS_ALL) {
        return decode_all_null(budget, type, count, vector, err);
    }
    enum status status = is_nested(type_physical(type))
                             ? decode_nested(coder, budget, type, count, cursor, end, vector, err)
                             : decode_values(coder, budget, type, *form == NULLS_SOME, count, cursor, end, vector, err);
    if (status != STATUS_OK) {
        vector_release(vector);
    }
    return status;
}
