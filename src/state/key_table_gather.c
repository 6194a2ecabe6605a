#include <stdlib.h>
#include <string.h>

#include "data/value_codec.h"
#include "state/key_table_internal.h"

static void gather_fixed(const struct key_column *column, const uint32_t *slots, uint32_t count, struct vector *result)
{
    enum { AHEAD = 16 };
    for (uint32_t k = 0; k < count; k++) {
        if (k + AHEAD < count) {
            __builtin_prefetch(column->values + (size_t)slots[k + AHEAD] * column->width);
        }
        const uint8_t *from = column->values + (size_t)slots[k] * column->width;
        switch (column->width) {
        case 8:
            memcpy((uint8_t *)result->values + (size_t)k * 8, from, 8);
            break;
        case 4:
            memcpy((uint8_t *)result->values + (size_t)k * 4, from, 4);
            break;
        default:
            memcpy((uint8_t *)result->values + (size_t)k * column->width, from, column->width);
        }
    }
}

static enum status gather_texts(struct key_table *table, const struct key_column *column, const uint32_t *slots, uint32_t count,
                                struct vector *result, struct error *err)
{
    const struct string_view *views = (const struct string_view *)(const void *)column->values;
    size_t total = 0;
    for (uint32_t k = 0; k < count; k++) {
        struct string_view view = views[slots[k]];
        vector_strings(result)[k] = view;
        total += view.length > STRING_INLINE_BYTES ? view.length : 0;
    }
    if (total == 0) {
        return STATUS_OK;
    }
    TRY(buffer_create(table->budget, total, &result->heaps[0], err));
    result->heap_count = 1;
    char *heap = (char *)buffer_bytes_mutable(result->heaps[0]);
    for (uint32_t k = 0; k < count; k++) {
        struct string_view *view = &vector_strings(result)[k];
        if (view->length > STRING_INLINE_BYTES) {
            memcpy(heap, view->bytes, view->length);
            view->bytes = heap;
            heap += view->length;
        }
    }
    return STATUS_OK;
}

static enum status gather_encoded(struct key_table *table, const struct key_column *column, const uint32_t *slots, uint32_t count,
                                  struct vector *result, struct error *err)
{
    const uint8_t **cursors;
    TRY_ALLOC(cursors, malloc((count + 1) * sizeof *cursors), err);
    for (uint32_t k = 0; k < count; k++) {
        const struct string_view *view = (const struct string_view *)(const void *)column->values + slots[k];
        cursors[k] = view->length == 0 ? NULL : (const uint8_t *)string_view_bytes(view);
    }
    enum status status = value_decode_column(table->budget, column->type, cursors, count, result, err);
    free(cursors);
    return status;
}

static enum status gather_plain(struct key_table *table, const struct key_column *column, const uint32_t *slots, uint32_t count,
                                struct vector *result, struct error *err)
{
    if (column->physical == PHYSICAL_STRING) {
        TRY(gather_texts(table, column, slots, count, result, err));
    } else if (column->width > 0) {
        gather_fixed(column, slots, count, result);
    }
    if (column->nulls == NULL) {
        return STATUS_OK;
    }
    TRY(vector_need_validity(table->budget, result, count, err));
    for (uint32_t k = 0; k < count; k++) {
        if (column->nulls[slots[k]] != 0) {
            vector_set_null(result, k);
        }
    }
    return STATUS_OK;
}

enum status key_table_gather(struct key_table *table, uint32_t key, const uint32_t *slots, uint32_t count, struct vector *result,
                             struct error *err)
{
    const struct key_column *column = &table->keys[key];
    if (column->encoded) {
        return gather_encoded(table, column, slots, count, result, err);
    }
    TRY(vector_create(table->budget, column->type, count, result, err));
    enum status status = gather_plain(table, column, slots, count, result, err);
    if (status != STATUS_OK) {
        vector_release(result);
    }
    return status;
}
