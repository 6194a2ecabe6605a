/* state/row_log_gather.c: rows of a log as columns. */
#include <stdlib.h>
#include <string.h>

#include "data/value_codec.h"
#include "state/row_log.h"

enum { PREFETCH_AHEAD = 16 };

static inline uint32_t chunk_of(uint64_t number)
{
    return (uint32_t)(number - 1) / LOG_CHUNK_ROWS;
}
static inline uint32_t row_of(uint64_t number)
{
    return (uint32_t)(number - 1) % LOG_CHUNK_ROWS;
}
static inline const uint8_t *value_at(const struct log_column *column, uint64_t number, uint32_t width)
{
    return column->values[chunk_of(number)] + (size_t)row_of(number) * width;
}

static enum status gather_validity(const struct row_log *log, const struct log_column *column, const uint64_t *numbers, uint32_t count,
                                   struct vector *vector, struct error *err)
{
    if (vector->physical == PHYSICAL_NULL) {
        return STATUS_OK;
    }
    for (uint32_t k = 0; k < count; k++) {
        if (numbers[k] != 0) {
            const uint64_t *validity = column->validity[chunk_of(numbers[k])];
            uint32_t row = row_of(numbers[k]);
            if (validity == NULL || ((validity[row / 64] >> (row % 64)) & 1) != 0) {
                continue;
            }
        }
        if (vector->validity == NULL) {
            TRY(vector_need_validity(log->budget, vector, count, err));
        }
        vector_set_null(vector, k);
    }
    return STATUS_OK;
}

static inline void gather_width(const struct log_column *column, const uint64_t *numbers, uint32_t count, uint32_t width, uint8_t *to)
{
    for (uint32_t k = 0; k < count; k++, to += width) {
        if (k + PREFETCH_AHEAD < count && numbers[k + PREFETCH_AHEAD] != 0) {
            __builtin_prefetch(value_at(column, numbers[k + PREFETCH_AHEAD], width));
        }
        if (numbers[k] == 0) {
            memset(to, 0, width);
        } else {
            memcpy(to, value_at(column, numbers[k], width), width);
        }
    }
}

/* Calls with constants, so that each becomes a loop of plain moves. */
static void gather_fixed(const struct log_column *column, const uint64_t *numbers, uint32_t count, uint8_t *to)
{
    switch (column->width) {
    case 4:
        gather_width(column, numbers, count, 4, to);
        break;
    case 8:
        gather_width(column, numbers, count, 8, to);
        break;
    case 16:
        gather_width(column, numbers, count, 16, to);
        break;
    default:
        gather_width(column, numbers, count, column->width, to);
    }
}

static size_t long_bytes(const struct string_view *views, uint32_t count)
{
    size_t total = 0;
    for (uint32_t k = 0; k < count; k++) {
        total += views[k].length > STRING_INLINE_BYTES ? views[k].length : 0;
    }
    return total;
}

/* Long strings: views into the log if its rows stay, else copies. */
static enum status gather_texts(const struct row_log *log, const struct log_column *column, const uint64_t *numbers, uint32_t count,
                                struct vector *vector, struct error *err)
{
    struct string_view *views = vector_strings(vector);
    gather_width(column, numbers, count, sizeof *views, vector->values);
    size_t total = long_bytes(views, count);
    if (total == 0) {
        return STATUS_OK;
    }
    if (log->time_column == ROW_LOG_NO_TIME) {
        vector->heaps[0] = buffer_ref(log->root);
        vector->heap_count = 1;
        return STATUS_OK;
    }
    TRY(buffer_create(log->budget, total, &vector->heaps[0], err));
    vector->heap_count = 1;
    char *heap = (char *)buffer_bytes_mutable(vector->heaps[0]);
    for (uint32_t k = 0; k < count; k++) {
        if (views[k].length > STRING_INLINE_BYTES) {
            memcpy(heap, views[k].bytes, views[k].length);
            views[k].bytes = heap;
            heap += views[k].length;
        }
    }
    return STATUS_OK;
}

static enum status gather_encoded(const struct row_log *log, const struct log_column *column, const uint64_t *numbers, uint32_t count,
                                  struct vector *vector, struct error *err)
{
    const uint8_t **cursors;
    TRY_ALLOC(cursors, malloc((count + 1) * sizeof *cursors), err);
    for (uint32_t k = 0; k < count; k++) {
        cursors[k] = NULL;
        if (numbers[k] != 0) {
            const struct string_view *view = (const struct string_view *)(const void *)value_at(column, numbers[k], sizeof *view);
            cursors[k] = view->length == 0 ? NULL : (const uint8_t *)string_view_bytes(view);
        }
    }
    enum status status = value_decode_column(log->budget, column->type, cursors, count, vector, err);
    free(cursors);
    return status;
}

static enum status gather_column(const struct row_log *log, const struct log_column *column, const uint64_t *numbers, uint32_t count,
                                 struct vector *vector, struct error *err)
{
    if (column->encoded) {
        return gather_encoded(log, column, numbers, count, vector, err);
    }
    TRY(vector_create(log->budget, column->type, count, vector, err));
    enum status status = gather_validity(log, column, numbers, count, vector, err);
    if (status == STATUS_OK && column->text) {
        status = gather_texts(log, column, numbers, count, vector, err);
    } else if (status == STATUS_OK && column->width > 0) {
        gather_fixed(column, numbers, count, vector->values);
    }
    if (status != STATUS_OK) {
        vector_release(vector);
    }
    return status;
}

enum status row_log_gather(const struct row_log *log, const uint64_t *numbers, uint32_t count, const uint32_t *columns,
                           uint32_t column_count, struct vector *vectors, struct error *err)
{
    for (uint32_t i = 0; i < column_count; i++) {
        uint32_t column = columns == NULL ? i : columns[i];
        enum status status = gather_column(log, &log->columns[column], numbers, count, &vectors[i], err);
        for (uint32_t undo = 0; status != STATUS_OK && undo < i; undo++) {
            vector_release(&vectors[undo]);
        }
        TRY(status);
    }
    return STATUS_OK;
}

/* ---- lent ---- */

bool row_log_can_lend(const struct row_log *log)
{
    for (uint32_t i = 0; i < log->column_count; i++) {
        if (log->columns[i].encoded) {
            return false;
        }
    }
    return log->time_column == ROW_LOG_NO_TIME;
}

/* Bitmaps are copied: a word may have bits of rows that are still to come. */
static enum status lend_validity(const struct row_log *log, const uint64_t *validity, uint32_t from, struct vector *vector,
                                 struct error *err)
{
    TRY(vector_need_validity(log->budget, vector, vector->count, err));
    for (uint32_t k = 0; k < vector->count; k++) {
        uint32_t row = from + k;
        if (((validity[row / 64] >> (row % 64)) & 1) == 0) {
            vector_set_null(vector, k);
        }
    }
    return STATUS_OK;
}

enum status row_log_lend(const struct row_log *log, uint32_t chunk, uint32_t from, uint32_t to, struct vector *columns, struct error *err)
{
    for (uint32_t i = 0; i < log->column_count; i++) {
        const struct log_column *column = &log->columns[i];
        columns[i] = (struct vector){.type = column->type,
                                     .physical = column->physical,
                                     .count = to - from,
                                     .values = column->values[chunk] + (size_t)from * column->width};
        if (column->validity[chunk] != NULL) {
            TRY(lend_validity(log, column->validity[chunk], from, &columns[i], err));
        }
    }
    return STATUS_OK;
}
