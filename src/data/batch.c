#include "data/batch.h"

#include <stdlib.h>
#include <string.h>

enum status batch_init(struct batch *batch, uint32_t column_count, struct error *err)
{
    *batch = (struct batch){.column_count = column_count};
    if (column_count > 0) {
        batch->columns = calloc(column_count, sizeof *batch->columns);
        if (batch->columns == NULL) {
            batch->column_count = 0;
            return error_set(err, ERROR_BUDGET_SPENT, "the system has no memory for a batch of %u columns", column_count);
        }
    }
    return STATUS_OK;
}

static void batch_release_rows(struct batch *batch)
{
    buffer_unref(batch->selected_buffer);
    buffer_unref(batch->weights_buffer);
    buffer_unref(batch->watermarks_buffer);
    buffer_unref(batch->ordinals_buffer);
}

void batch_release(struct batch *batch)
{
    batch_release_rows(batch);
    for (uint32_t i = 0; i < batch->column_count; i++) {
        vector_release(&batch->columns[i]);
    }
    free(batch->columns);
    *batch = (struct batch){0};
}

void batch_share_rows(const struct batch *source, struct batch *batch)
{
    struct batch shared = *source;
    buffer_ref(shared.selected_buffer);
    buffer_ref(shared.weights_buffer);
    buffer_ref(shared.watermarks_buffer);
    buffer_ref(shared.ordinals_buffer);
    batch_release_rows(batch);
    shared.columns = batch->columns;
    shared.column_count = batch->column_count;
    *batch = shared;
}

enum status batch_ref(const struct batch *source, struct batch *batch, struct error *err)
{
    TRY(batch_init(batch, source->column_count, err));
    batch_share_rows(source, batch);
    for (uint32_t i = 0; i < source->column_count; i++) {
        enum status status = vector_ref(&source->columns[i], &batch->columns[i], err);
        if (status != STATUS_OK) {
            batch_release(batch);
            return status;
        }
    }
    return STATUS_OK;
}

/* Replaces one of the batch's buffers by a new one. */
static enum status batch_need(struct budget *budget, struct buffer **slot, size_t bytes, void **memory, struct error *err)
{
    struct buffer *buffer;
    TRY(buffer_create(budget, bytes, &buffer, err));
    buffer_unref(*slot);
    *slot = buffer;
    *memory = buffer_bytes_mutable(buffer);
    return STATUS_OK;
}

enum status batch_need_weights(struct budget *budget, struct batch *batch, uint32_t rows, int64_t **weights, struct error *err)
{
    void *memory;
    TRY(batch_need(budget, &batch->weights_buffer, rows * sizeof **weights, &memory, err));
    batch->weights = *weights = memory;
    return STATUS_OK;
}

enum status batch_need_ordinals(struct budget *budget, struct batch *batch, uint32_t rows, int64_t **ordinals, struct error *err)
{
    void *memory;
    TRY(batch_need(budget, &batch->ordinals_buffer, rows * sizeof **ordinals, &memory, err));
    batch->ordinals = *ordinals = memory;
    return STATUS_OK;
}

enum status batch_need_watermarks(struct budget *budget, struct batch *batch, uint32_t rows, int64_t **watermarks, struct error *err)
{
    void *memory;
    TRY(batch_need(budget, &batch->watermarks_buffer, rows * sizeof **watermarks, &memory, err));
    batch->watermarks = *watermarks = memory;
    return STATUS_OK;
}

enum status batch_need_selection(struct budget *budget, struct batch *batch, uint16_t **rows, struct error *err)
{
    void *memory;
    TRY(batch_need(budget, &batch->selected_buffer, CHUNK_ROWS * sizeof **rows, &memory, err));
    batch->selected = *rows = memory;
    return STATUS_OK;
}

static void gather_int64(const int64_t *from, const uint16_t *rows, uint32_t count, int64_t *to)
{
    for (uint32_t i = 0; i < count; i++) {
        to[i] = from[rows[i]];
    }
}

static enum status batch_gather_rows(struct budget *budget, const struct batch *source, const uint16_t *rows, uint32_t count,
                                     struct batch *result, struct error *err)
{
    int64_t *values;
    if (source->weights != NULL) {
        TRY(batch_need_weights(budget, result, count, &values, err));
        gather_int64(source->weights, rows, count, values);
    }
    if (source->watermarks != NULL) {
        TRY(batch_need_watermarks(budget, result, count, &values, err));
        gather_int64(source->watermarks, rows, count, values);
    }
    if (!source->ordered) {
        return STATUS_OK;
    }
    TRY(batch_need_ordinals(budget, result, count, &values, err));
    for (uint32_t i = 0; i < count; i++) {
        values[i] = batch_ordinal(source, rows[i]);
    }
    return STATUS_OK;
}

static enum status batch_gather_parts(struct budget *budget, const struct batch *source, const uint16_t *rows, uint32_t count,
                                      struct batch *result, struct error *err)
{
    result->count = count;
    result->ordered = source->ordered;
    result->ordinal_base = source->ordinal_base;
    result->partition = source->partition;
    TRY(batch_gather_rows(budget, source, rows, count, result, err));
    for (uint32_t i = 0; i < source->column_count; i++) {
        TRY(vector_gather(budget, &source->columns[i], rows, count, &result->columns[i], err));
    }
    return STATUS_OK;
}

enum status batch_gather(struct budget *budget, const struct batch *source, const uint16_t *rows, uint32_t count, struct batch *result,
                         struct error *err)
{
    TRY(batch_init(result, source->column_count, err));
    enum status status = batch_gather_parts(budget, source, rows, count, result, err);
    if (status != STATUS_OK) {
        batch_release(result);
    }
    return status;
}

enum status batch_compact(struct budget *budget, struct batch *batch, struct error *err)
{
    if (batch->selected == NULL) {
        return STATUS_OK;
    }
    struct batch dense;
    TRY(batch_gather(budget, batch, batch->selected, batch->selected_count, &dense, err));
    batch_release(batch);
    *batch = dense;
    return STATUS_OK;
}

/* Bits of the rows that are there. */
static void batch_mark_rows(const struct batch *batch, uint64_t *mask)
{
    uint32_t words = (batch->count + 63) / 64;
    if (batch->selected == NULL) {
        memset(mask, 0xff, words * sizeof *mask);
        mask[words - 1] >>= words * 64 - batch->count;
        return;
    }
    memset(mask, 0, words * sizeof *mask);
    for (uint32_t k = 0; k < batch->selected_count;) {
        uint32_t word = batch->selected[k] / 64;
        uint64_t bits = 0; /* not in memory row by row: each would wait for the one before */
        for (; k < batch->selected_count && batch->selected[k] / 64 == word; k++) {
            bits |= (uint64_t)1 << (batch->selected[k] % 64);
        }
        mask[word] = bits;
    }
}

static bool validity_covers(const uint64_t *validity, const uint64_t *mask, uint32_t words)
{
    uint64_t missing = 0;
    for (uint32_t i = 0; i < words; i++) {
        missing |= mask[i] & ~validity[i];
    }
    return missing == 0;
}

void batch_drop_validity(struct batch *batch)
{
    uint64_t mask[CHUNK_ROWS / 64];
    bool marked = false;
    for (uint32_t i = 0; i < batch->column_count; i++) {
        struct vector *column = &batch->columns[i];
        if (column->validity == NULL || column->physical == PHYSICAL_NULL) {
            continue;
        }
        if (!marked) {
            batch_mark_rows(batch, mask);
            marked = true;
        }
        if (validity_covers(column->validity, mask, (batch->count + 63) / 64)) {
            buffer_unref(column->validity_buffer);
            column->validity_buffer = NULL;
            column->validity = NULL;
        }
    }
}
