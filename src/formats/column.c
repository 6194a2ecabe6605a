#include "formats/column.h"

#include <string.h>

enum { ELEMENTS_FIRST = 64, BLOCKS_SHARED_MAX = 4 };

void column_bind(struct column *column, struct budget *budget, struct vector *vector, uint32_t capacity)
{
    column->vector = vector;
    column->budget = budget;
    column->capacity = capacity;
    column->heap = (struct string_heap){.budget = budget, .target = vector};
}

static enum status grow_buffer(struct column *column, struct buffer **owned, size_t used, size_t bytes, uint8_t fill, void **start,
                               struct error *err)
{
    struct buffer *grown;
    TRY(buffer_create(column->budget, bytes, &grown, err));
    uint8_t *to = buffer_bytes_mutable(grown);
    if (used > 0) {
        memcpy(to, *start, used);
    }
    if (fill != 0) {
        memset(to + used, fill, bytes - used);
    }
    buffer_unref(*owned);
    *owned = grown;
    *start = to;
    return STATUS_OK;
}

static size_t validity_bytes(uint32_t rows)
{
    return (size_t)(rows / 64 + (rows % 64 != 0)) * 8;
}

enum status column_reserve(struct column *column, uint32_t rows, struct error *err)
{
    struct vector *vector = column->vector;
    if (rows <= column->capacity) {
        return STATUS_OK;
    }
    uint32_t capacity = column->capacity < ELEMENTS_FIRST ? ELEMENTS_FIRST : column->capacity;
    while (capacity < rows) {
        if (capacity > UINT32_MAX / 2) {
            return error_set(err, ERROR_TOO_MANY, "the arrays of one batch have more than %u elements", UINT32_MAX / 2);
        }
        capacity *= 2;
    }
    uint32_t width = physical_bytes(vector->physical);
    if (width > 0) {
        TRY(grow_buffer(column, &vector->values_buffer, (size_t)column->capacity * width, (size_t)capacity * width, 0, &vector->values,
                        err));
    }
    if (vector->validity != NULL) {
        void *start = vector->validity;
        TRY(grow_buffer(column, &vector->validity_buffer, validity_bytes(column->capacity), validity_bytes(capacity), 0xff, &start, err));
        vector->validity = start;
    }
    column->capacity = capacity;
    return STATUS_OK;
}

enum status column_need_validity(struct column *column, struct error *err)
{
    return vector_need_validity(column->budget, column->vector, column->capacity, err);
}

bool column_share_block(struct column *column, struct buffer *block)
{
    struct vector *vector = column->vector;
    for (uint32_t i = 0; i < vector->heap_count; i++) {
        if (vector->heaps[i] == block) {
            return true;
        }
    }
    if (vector->heap_count >= BLOCKS_SHARED_MAX) { /* the other places are for copies */
        return false;
    }
    vector->heaps[vector->heap_count++] = buffer_ref(block);
    return true;
}

enum status column_put_copy(struct column *column, uint32_t row, struct text text, struct error *err)
{
    const char *bytes = text.bytes;
    if (text.length > STRING_INLINE_BYTES) {
        column->vector->count = row; /* what attaching one more heap may have to copy */
        char *copy = string_heap_alloc(&column->heap, text.length, err);
        if (copy == NULL) {
            return err->status;
        }
        memcpy(copy, text.bytes, text.length);
        bytes = copy;
    }
    vector_strings(column->vector)[row] = string_view_make(bytes, text.length);
    return STATUS_OK;
}

void column_set_count(struct vector *vector, uint32_t count)
{
    vector->count = count;
    if (vector->physical == PHYSICAL_ROW) {
        for (uint32_t i = 0; i < vector->child_count; i++) {
            column_set_count(&vector->children[i], count);
        }
    }
}
