/* Hashes of columns. What compares equal hashes equal: integers by their low 64 bits whatever their width (wide ones fold in
 * the rest), every NaN the same, -0.0 as 0.0, maps whatever the order of their entries. */
#include "base/hash.h"
#include "data/order.h"

#include <math.h>

static inline uint64_t hash_double(double value)
{
    uint64_t bits;
    value = value == 0 ? 0.0 : value;
    memcpy(&bits, &value, sizeof bits);
    return hash_uint64(isnan(value) ? 0x7ff8000000000000u : bits);
}

static inline uint64_t hash_int128(int128_t value)
{
    uint64_t low = hash_uint64((uint64_t)value);
    int64_t high = (int64_t)(value >> 64);
    return high == (int64_t)value >> 63 ? low : hash_combine(low, (uint64_t)high);
}

/* Short strings are hashed from the view itself: no call, no load from the heap. */
static inline uint64_t hash_string(const struct string_view *view)
{
    if (view->length <= STRING_INLINE_BYTES) {
        uint64_t words[2];
        memcpy(words, view, sizeof words);
        return hash_combine(hash_uint64(words[0]), words[1]);
    }
    return hash_bytes(view->bytes, view->length);
}

static uint64_t hash_span(const struct vector *vector, uint32_t row)
{
    struct span span = vector_spans(vector)[row];
    bool ordered = vector->type->kind == TYPE_ARRAY;
    uint64_t hash = hash_uint64(span.length);
    for (uint32_t i = span.offset; i < span.offset + span.length; i++) {
        uint64_t element = vector_hash_row(&vector->children[0], i);
        if (ordered) {
            hash = hash_combine(hash, element);
        } else {
            hash += hash_combine(element, vector_hash_row(&vector->children[1], i));
        }
    }
    return hash;
}

static uint64_t hash_fields(const struct vector *vector, uint32_t row)
{
    uint64_t hash = HASH_NULL;
    for (uint32_t i = 0; i < vector->child_count; i++) {
        hash = hash_combine(hash, vector_hash_row(&vector->children[i], row));
    }
    return hash;
}

uint64_t vector_hash_row(const struct vector *vector, uint32_t row)
{
    if (!vector_is_valid(vector, row)) {
        return HASH_NULL;
    }
    switch (vector->physical) {
    case PHYSICAL_INT128:
        return hash_int128(vector_int128(vector)[row]);
    case PHYSICAL_FLOAT:
        return hash_double(vector_float(vector)[row]);
    case PHYSICAL_DOUBLE:
        return hash_double(vector_double(vector)[row]);
    case PHYSICAL_STRING:
        return hash_string(&vector_strings(vector)[row]);
    case PHYSICAL_SPAN:
        return hash_span(vector, row);
    case PHYSICAL_ROW:
        return hash_fields(vector, row);
    default:
        return hash_uint64((uint64_t)vector_get_integer(vector, row));
    }
}

#define T           uint8_t
#define HASH(value) hash_uint64(value)
#define NAME        hash_bool
#include "data/hash.inc"
#define T           int8_t
#define HASH(value) hash_uint64((uint64_t)(int64_t)(value))
#define NAME        hash_int8
#include "data/hash.inc"
#define T           int16_t
#define HASH(value) hash_uint64((uint64_t)(int64_t)(value))
#define NAME        hash_int16
#include "data/hash.inc"
#define T           int32_t
#define HASH(value) hash_uint64((uint64_t)(int64_t)(value))
#define NAME        hash_int32
#include "data/hash.inc"
#define T           int64_t
#define HASH(value) hash_uint64((uint64_t)(value))
#define NAME        hash_int64
#include "data/hash.inc"
#define T           int128_t
#define HASH(value) hash_int128(value)
#define NAME        hash_wide
#include "data/hash.inc"
#define T           float
#define HASH(value) hash_double(value)
#define NAME        hash_float
#include "data/hash.inc"
#define T           double
#define HASH(value) hash_double(value)
#define NAME        hash_doubles
#include "data/hash.inc"
#define T           struct string_view
#define HASH(value) hash_string(&(value))
#define NAME        hash_strings
#include "data/hash.inc"

typedef void hash_fn(const struct vector *vector, struct selection rows, bool first, uint64_t *hashes);
static hash_fn *const hash_table[PHYSICAL_COUNT] = {
    [PHYSICAL_BOOL] = hash_bool,   [PHYSICAL_INT8] = hash_int8,      [PHYSICAL_INT16] = hash_int16,
    [PHYSICAL_INT32] = hash_int32, [PHYSICAL_INT64] = hash_int64,    [PHYSICAL_INT128] = hash_wide,
    [PHYSICAL_FLOAT] = hash_float, [PHYSICAL_DOUBLE] = hash_doubles, [PHYSICAL_STRING] = hash_strings,
};

void vector_hash(const struct vector *vector, struct selection rows, bool first, uint64_t *hashes)
{
    hash_fn *hash = hash_table[vector->physical];
    if (hash != NULL && vector->validity == NULL) {
        hash(vector, rows, first, hashes);
        return;
    }
    for (uint32_t i = 0; i < rows.count; i++) {
        uint32_t row = selection_row(&rows, i);
        uint64_t value = vector_hash_row(vector, row);
        hashes[row] = first ? value : hash_combine(hashes[row], value);
    }
}
