#include "data/vector.h"

#include <assert.h>
#include <stdlib.h>

static const struct type *vector_child_type(const struct type *type, uint32_t index)
{
    return type->kind == TYPE_MULTISET && index == 1 ? &type_int_not_null : type->children[index];
}

static uint32_t vector_child_count(const struct type *type)
{
    return type->kind == TYPE_MULTISET ? 2 : type->child_count;
}

static enum status vector_create_children(struct budget *budget, struct vector *vector, uint32_t rows, struct error *err)
{
    uint32_t count = vector_child_count(vector->type);
    if (count == 0) {
        return STATUS_OK;
    }
    vector->children = calloc(count, sizeof *vector->children);
    if (vector->children == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "the system has no memory for a column of %u fields", count);
    }
    vector->child_count = count;
    for (uint32_t i = 0; i < count; i++) {
        TRY(vector_create(budget, vector_child_type(vector->type, i), rows, &vector->children[i], err));
    }
    return STATUS_OK;
}

static enum status vector_create_parts(struct budget *budget, struct vector *vector, uint32_t rows, struct error *err)
{
    size_t bytes = (size_t)rows * physical_bytes(vector->physical);
    if (bytes > 0) {
        TRY(buffer_create(budget, bytes, &vector->values_buffer, err));
        vector->values = buffer_bytes_mutable(vector->values_buffer);
    }
    switch (vector->physical) {
    case PHYSICAL_ROW:
        return vector_create_children(budget, vector, rows, err);
    case PHYSICAL_SPAN:
        return vector_create_children(budget, vector, 0, err);
    default:
        return STATUS_OK;
    }
}

enum status vector_create(struct budget *budget, const struct type *type, uint32_t rows, struct vector *vector, struct error *err)
{
    *vector = (struct vector){.type = type, .physical = type_physical(type), .count = rows};
    enum status status = vector_create_parts(budget, vector, rows, err);
    if (status != STATUS_OK) {
        vector_release(vector);
    }
    return status;
}

enum status vector_ref(const struct vector *source, struct vector *vector, struct error *err)
{
    struct vector copy = *source;
    copy.children = NULL;
    copy.child_count = 0;
    buffer_ref(copy.values_buffer);
    buffer_ref(copy.validity_buffer);
    for (uint32_t i = 0; i < copy.heap_count; i++) {
        buffer_ref(copy.heaps[i]);
    }
    *vector = copy;
    if (source->child_count == 0) {
        return STATUS_OK;
    }
    vector->children = calloc(source->child_count, sizeof *vector->children);
    if (vector->children == NULL) {
        vector_release(vector);
        return error_set(err, ERROR_BUDGET_SPENT, "the system has no memory for a column of %u fields", source->child_count);
    }
    vector->child_count = source->child_count;
    for (uint32_t i = 0; i < source->child_count; i++) {
        enum status status = vector_ref(&source->children[i], &vector->children[i], err);
        if (status != STATUS_OK) {
            vector_release(vector);
            return status;
        }
    }
    return STATUS_OK;
}

void vector_release(struct vector *vector)
{
    buffer_unref(vector->values_buffer);
    buffer_unref(vector->validity_buffer);
    for (uint32_t i = 0; i < vector->heap_count; i++) {
        buffer_unref(vector->heaps[i]);
    }
    for (uint32_t i = 0; i < vector->child_count; i++) {
        vector_release(&vector->children[i]);
    }
    free(vector->children);
    *vector = (struct vector){0};
}

enum status vector_need_validity(struct budget *budget, struct vector *vector, uint32_t rows, struct error *err)
{
    if (vector->physical == PHYSICAL_NULL) {
        return STATUS_OK;
    }
    size_t bytes = (size_t)(rows + 63) / 64 * sizeof(uint64_t);
    if (vector->validity != NULL && vector->validity_buffer != NULL && !buffer_is_shared(vector->validity_buffer) &&
        buffer_size(vector->validity_buffer) >= bytes) {
        return STATUS_OK;
    }
    struct buffer *buffer;
    TRY(buffer_create(budget, bytes, &buffer, err));
    uint64_t *words = (uint64_t *)buffer_bytes_mutable(buffer);
    memset(words, 0xff, bytes);
    if (vector->validity != NULL) {
        size_t present = (size_t)(vector->count + 63) / 64 * sizeof(uint64_t);
        memcpy(words, vector->validity, present < bytes ? present : bytes);
    }
    buffer_unref(vector->validity_buffer);
    vector->validity_buffer = buffer;
    vector->validity = words;
    return STATUS_OK;
}

int128_t vector_get_integer(const struct vector *vector, uint32_t row)
{
    switch (vector->physical) {
    case PHYSICAL_BOOL:
        return vector_bool(vector)[row];
    case PHYSICAL_INT8:
        return vector_int8(vector)[row];
    case PHYSICAL_INT16:
        return vector_int16(vector)[row];
    case PHYSICAL_INT32:
        return vector_int32(vector)[row];
    case PHYSICAL_INT64:
        return vector_int64(vector)[row];
    case PHYSICAL_INT128:
        return vector_int128(vector)[row];
    default:
        assert(!"an integer column");
        return 0;
    }
}

static bool vector_has_heap(const struct vector *vector, const struct buffer *heap)
{
    for (uint32_t i = 0; i < vector->heap_count; i++) {
        if (vector->heaps[i] == heap) {
            return true;
        }
    }
    return false;
}

/* Copies what the views point to into one heap, and forgets the old ones. */
static enum status vector_own_bytes(struct budget *budget, struct vector *vector, struct error *err)
{
    struct string_view *views = vector_strings(vector);
    size_t bytes = 0;
    for (uint32_t i = 0; i < vector->count; i++) {
        bytes += views[i].length > STRING_INLINE_BYTES ? views[i].length : 0;
    }
    struct buffer *heap = NULL;
    if (bytes > 0) {
        TRY(buffer_create(budget, bytes, &heap, err));
        char *next = (char *)buffer_bytes_mutable(heap);
        for (uint32_t i = 0; i < vector->count; i++) {
            if (views[i].length > STRING_INLINE_BYTES) {
                memcpy(next, views[i].bytes, views[i].length);
                views[i].bytes = next;
                next += views[i].length;
            }
        }
    }
    for (uint32_t i = 0; i < vector->heap_count; i++) {
        buffer_unref(vector->heaps[i]);
    }
    vector->heaps[0] = heap;
    vector->heap_count = heap != NULL;
    return STATUS_OK;
}

/* Two buffers kept alive as one, for when the list of heaps is full. */
struct heap_pair {
    struct buffer *first, *second;
};

static void heap_pair_release(void *owner)
{
    struct heap_pair *pair = owner;
    buffer_unref(pair->first);
    buffer_unref(pair->second);
    free(pair);
}

enum status vector_attach_heap(struct vector *vector, struct buffer *heap, struct error *err)
{
    if (vector->heap_count < VECTOR_HEAPS_MAX) {
        vector->heaps[vector->heap_count++] = heap;
        return STATUS_OK;
    }
    struct buffer **last = &vector->heaps[VECTOR_HEAPS_MAX - 1];
    struct heap_pair *pair = malloc(sizeof *pair);
    struct buffer *both;
    if (pair == NULL || buffer_wrap(NULL, 0, heap_pair_release, pair, &both, err) != STATUS_OK) {
        free(pair);
        buffer_unref(heap);
        return error_set(err, ERROR_BUDGET_SPENT, "the system has no memory for a list of string heaps");
    }
    *pair = (struct heap_pair){*last, heap};
    *last = both;
    return STATUS_OK;
}

enum status vector_share_heaps(struct budget *budget, struct vector *vector, const struct vector *source, struct error *err)
{
    uint32_t missing = 0;
    for (uint32_t i = 0; i < source->heap_count; i++) {
        missing += !vector_has_heap(vector, source->heaps[i]);
    }
    if (vector->heap_count + missing > VECTOR_HEAPS_MAX) {
        TRY(vector_own_bytes(budget, vector, err));
    }
    for (uint32_t i = 0; i < source->heap_count; i++) {
        if (!vector_has_heap(vector, source->heaps[i])) {
            TRY(vector_attach_heap(vector, buffer_ref(source->heaps[i]), err));
        }
    }
    return STATUS_OK;
}

/* Blocks grow fourfold, so that a vector has few. */
enum { HEAP_FIRST_BYTES = 16 * 1024, HEAP_LARGEST_BYTES = 64 * 1024 * 1024 };

char *string_heap_alloc(struct string_heap *heap, size_t length, struct error *err)
{
    if (length > STRING_LENGTH_MAX) {
        (void)!error_set(err, ERROR_TOO_MANY, "a string of %zu bytes is longer than %d", length, STRING_LENGTH_MAX);
        return NULL;
    }
    if (heap->current == NULL || buffer_size(heap->current) - heap->used < length) {
        size_t bytes = heap->current == NULL ? HEAP_FIRST_BYTES : buffer_size(heap->current) * 4;
        bytes = bytes > HEAP_LARGEST_BYTES ? HEAP_LARGEST_BYTES : bytes;
        bytes = bytes < length ? length : bytes;
        struct buffer *block;
        if (buffer_create(heap->budget, bytes, &block, err) != STATUS_OK || vector_attach_heap(heap->target, block, err) != STATUS_OK) {
            return NULL;
        }
        heap->current = block;
        heap->used = 0;
    }
    char *bytes = (char *)(uintptr_t)buffer_bytes(heap->current) + heap->used;
    heap->used += length;
    return bytes;
}
