/* data/batch.h: a chunk of rows that flows: columns, a selection, weights.
 *
 * For         what operators receive and emit.
 * Shape       `count` physical rows in every column (1..CHUNK_ROWS; a batch of 0 rows is never sent). `selected`, when not
 *             NULL, lists the rows that are there (ascending); others do not exist. All per-row arrays (weights, watermarks,
 *             ordinals) are by physical row.
 *             weights      NULL: all +1. A row with weight -2 is two deletions.
 *             watermarks   NULL: no row of this chunk can be late. Else the table's watermark before each row (us, or
 *                          WATERMARK_NONE).
 *             ordered      the rows come from one source partition, in its order: row r has the ordinal ordinals[r], or
 *                          ordinal_base + r when ordinals is NULL. Without it rows count by their columns.
 * Ownership   A batch is lent to the receiver for the time of the call. Who keeps it calls batch_ref. All memory is in
 *             counted buffers; batch_release ends a reference. So: the operator that created a batch releases it after it
 *             emitted it, and the last one that holds a reference frees the memory.
 * Threads     One at a time; a reference may be handed to another thread.
 */
#ifndef SPATE_DATA_BATCH_H
#define SPATE_DATA_BATCH_H

#include "data/vector.h"

#define WATERMARK_NONE INT64_MIN /* no row yet: nothing is late */
#define WATERMARK_END  INT64_MAX /* the input has ended */

struct batch {
    uint32_t count, column_count;
    struct vector *columns; /* owned, malloc'ed by batch_init */
    const uint16_t *selected;
    uint32_t selected_count; /* meaningful when selected != NULL */
    const int64_t *weights, *watermarks, *ordinals;
    int64_t ordinal_base;
    bool ordered;
    uint32_t partition; /* of the source the rows come from; meaningful up to the WATERMARK node */
    struct buffer *selected_buffer, *weights_buffer, *watermarks_buffer, *ordinals_buffer;
};

/* An empty batch with room for the structs of `column_count` columns. */
enum status batch_init(struct batch *batch, uint32_t column_count, struct error *err);
/* A second reference to everything. */
enum status batch_ref(const struct batch *source, struct batch *batch, struct error *err);
void batch_release(struct batch *batch);

static inline uint32_t batch_rows(const struct batch *batch) /* rows that are there */
{
    return batch->selected != NULL ? batch->selected_count : batch->count;
}
static inline struct selection batch_selection(const struct batch *batch)
{
    return (struct selection){batch->selected, batch_rows(batch)};
}
static inline int64_t batch_weight(const struct batch *batch, uint32_t row)
{
    return batch->weights == NULL ? 1 : batch->weights[row];
}
static inline int64_t batch_watermark(const struct batch *batch, uint32_t row)
{
    return batch->watermarks == NULL ? WATERMARK_NONE : batch->watermarks[row];
}
static inline int64_t batch_ordinal(const struct batch *batch, uint32_t row)
{
    return batch->ordinals == NULL ? batch->ordinal_base + row : batch->ordinals[row];
}

/* Copies what is not columns (selection, weights, watermarks, order) by reference: for a projection. */
void batch_share_rows(const struct batch *source, struct batch *batch);
/* Buffers for per-row arrays, owned by the batch, not set: writes go through the returned pointer. */
enum status batch_need_weights(struct budget *budget, struct batch *batch, uint32_t rows, int64_t **weights, struct error *err);
enum status batch_need_ordinals(struct budget *budget, struct batch *batch, uint32_t rows, int64_t **ordinals, struct error *err);
enum status batch_need_watermarks(struct budget *budget, struct batch *batch, uint32_t rows, int64_t **watermarks, struct error *err);
enum status batch_need_selection(struct budget *budget, struct batch *batch, uint16_t **rows, struct error *err);
/* Replaces a batch with a selection by a dense one (columns gathered, per-row arrays too). No-op without a selection. */
enum status batch_compact(struct budget *budget, struct batch *batch, struct error *err);
/* Columns that have no NULL in the rows that are there lose their bitmaps: kernels are faster without. */
void batch_drop_validity(struct batch *batch);
/* The rows `rows` of source as a dense batch. */
enum status batch_gather(struct budget *budget, const struct batch *source, const uint16_t *rows, uint32_t count, struct batch *result,
                         struct error *err);

#endif
