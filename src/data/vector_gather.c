/* Copies of chosen rows. Widths are few, so each has its own loop; strings are views of the same heaps. */
#include "data/vector.h"

#include <stdlib.h>

struct cell16 {
    uint64_t words[2];
};

#define T          uint8_t
#define NAME(verb) verb##_1
#include "data/gather.inc"
#define T          uint16_t
#define NAME(verb) verb##_2
#include "data/gather.inc"
#define T          uint32_t
#define NAME(verb) verb##_4
#include "data/gather.inc"
#define T          uint64_t
#define NAME(verb) verb##_8
#include "data/gather.inc"
#define T          struct cell16
#define NAME(verb) verb##_16
#include "data/gather.inc"

static void gather_values(uint32_t bytes, const void *from, const uint16_t *rows, uint32_t count, void *to)
{
    switch (bytes) {
    case 1:
        gather_1(from, rows, count, to);
        return;
    case 2:
        gather_2(from, rows, count, to);
        return;
    case 4:
        gather_4(from, rows, count, to);
        return;
    case 8:
        gather_8(from, rows, count, to);
        return;
    case 16:
        gather_16(from, rows, count, to);
        return;
    default:
        return;
    }
}

static void repeat_values(uint32_t bytes, const void *from, uint32_t row, uint32_t count, void *to)
{
    switch (bytes) {
    case 1:
        repeat_1(from, row, count, to);
        return;
    case 2:
        repeat_2(from, row, count, to);
        return;
    case 4:
        repeat_4(from, row, count, to);
        return;
    case 8:
        repeat_8(from, row, count, to);
        return;
    case 16:
        repeat_16(from, row, count, to);
        return;
    default:
        return;
    }
}

/* Bits of the chosen rows; a bitmap that would be all ones is dropped. */
static enum status gather_validity(struct budget *budget, const struct vector *source, const uint16_t *rows, uint32_t count,
                                   struct vector *result, struct error *err)
{
    if (source->validity == NULL || count == 0) {
        return STATUS_OK;
    }
    TRY(vector_need_validity(budget, result, count, err));
    uint64_t all = ~(uint64_t)0;
    for (uint32_t first = 0; first < count; first += 64) {
        uint32_t bits = count - first < 64 ? count - first : 64;
        uint64_t word = bits == 64 ? 0 : ~(uint64_t)0 << bits;
        for (uint32_t i = 0; i < bits; i++) {
            uint32_t row = rows[first + i];
            word |= ((source->validity[row / 64] >> (row % 64)) & 1) << i;
        }
        result->validity[first / 64] = word;
        all &= word;
    }
    if (all == ~(uint64_t)0) {
        buffer_unref(result->validity_buffer);
        result->validity_buffer = NULL;
        result->validity = NULL;
    }
    return STATUS_OK;
}

static void share_heaps_with_empty(struct vector *vector, const struct vector *source)
{
    for (uint32_t i = 0; i < source->heap_count; i++) {
        vector->heaps[i] = buffer_ref(source->heaps[i]);
    }
    vector->heap_count = source->heap_count;
}

/* An empty result of the source's type with its own values; spans keep the source's children. */
static enum status prepare_result(struct budget *budget, const struct vector *source, uint32_t count, struct vector *result,
                                  struct error *err)
{
    *result = (struct vector){.type = source->type, .physical = source->physical, .count = count};
    size_t bytes = (size_t)count * physical_bytes(source->physical);
    if (bytes > 0) {
        TRY(buffer_create(budget, bytes, &result->values_buffer, err));
        result->values = buffer_bytes_mutable(result->values_buffer);
    }
    share_heaps_with_empty(result, source);
    if (source->child_count > 0) {
        result->children = calloc(source->child_count, sizeof *result->children);
        if (result->children == NULL) {
            return error_set(err, ERROR_BUDGET_SPENT, "the system has no memory for a column of %u fields", source->child_count);
        }
        result->child_count = source->child_count;
    }
    return STATUS_OK;
}

static enum status gather_parts(struct budget *budget, const struct vector *source, const uint16_t *rows, uint32_t count,
                                struct vector *result, struct error *err)
{
    TRY(prepare_result(budget, source, count, result, err));
    gather_values(physical_bytes(source->physical), source->values, rows, count, result->values);
    TRY(gather_validity(budget, source, rows, count, result, err));
    for (uint32_t i = 0; i < source->child_count; i++) {
        if (source->physical == PHYSICAL_ROW) {
            TRY(vector_gather(budget, &source->children[i], rows, count, &result->children[i], err));
        } else {
            TRY(vector_ref(&source->children[i], &result->children[i], err));
        }
    }
    return STATUS_OK;
}

enum status vector_gather(struct budget *budget, const struct vector *source, const uint16_t *rows, uint32_t count, struct vector *result,
                          struct error *err)
{
    enum status status = gather_parts(budget, source, rows, count, result, err);
    if (status != STATUS_OK) {
        vector_release(result);
    }
    return status;
}

static enum status repeat_parts(struct budget *budget, const struct vector *source, uint32_t row, uint32_t count, struct vector *result,
                                struct error *err)
{
    TRY(prepare_result(budget, source, count, result, err));
    repeat_values(physical_bytes(source->physical), source->values, row, count, result->values);
    if (source->physical != PHYSICAL_NULL && !vector_is_valid(source, row) && count > 0) {
        TRY(vector_need_validity(budget, result, count, err));
        memset(result->validity, 0, (size_t)(count + 63) / 64 * sizeof(uint64_t));
    }
    for (uint32_t i = 0; i < source->child_count; i++) {
        if (source->physical == PHYSICAL_ROW) {
            TRY(vector_repeat(budget, &source->children[i], row, count, &result->children[i], err));
        } else {
            TRY(vector_ref(&source->children[i], &result->children[i], err));
        }
    }
    return STATUS_OK;
}

enum status vector_repeat(struct budget *budget, const struct vector *source, uint32_t row, uint32_t count, struct vector *result,
                          struct error *err)
{
    enum status status = repeat_parts(budget, source, row, count, result, err);
    if (status != STATUS_OK) {
        vector_release(result);
    }
    return status;
}
