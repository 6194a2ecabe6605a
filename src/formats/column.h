/* formats/column.h: one column, or nested column, while a decoder fills it.
 *
 * For         decoders. A column writes into a vector of the target batch.
 * Shape       Top columns have room for the target's rows; the elements of arrays and maps grow (column_reserve).
 * Invariants  A slot that was set NULL must be told when a value follows (column_set_valid): a record that is given up,
 *             or a member that comes twice, leaves NULLs behind.
 * Ownership   The vector is the batch's. A column is bound again for every batch.
 */
#ifndef SPATE_FORMATS_COLUMN_H
#define SPATE_FORMATS_COLUMN_H

#include "formats/format.h"

struct column {
    struct vector *vector;
    struct budget *budget;
    uint32_t capacity;
    struct string_heap heap;
};

/* `capacity`: rows the vector has room for (0 for elements). */
void column_bind(struct column *column, struct budget *budget, struct vector *vector, uint32_t capacity);
/* Room for `rows` rows at least; what was written stays. */
enum status column_reserve(struct column *column, uint32_t rows, struct error *err);
enum status column_need_validity(struct column *column, struct error *err);
/* Strings may be views into `block` from now on, if there is a free place for it: else false, and they must be copied. */
bool column_share_block(struct column *column, struct buffer *block);
/* The rows of a vector that was filled, and of its fields; elements have counts of their own. */
void column_set_count(struct vector *vector, uint32_t count);
/* A copy of the bytes as a string. */
enum status column_put_copy(struct column *column, uint32_t row, struct text text, struct error *err);

/* A fixed-width or string slot of a NULL row gets the empty value. */
static inline void column_clear_slot(struct column *column, uint32_t row)
{
    if (column->vector->physical == PHYSICAL_STRING) {
        vector_strings(column->vector)[row] = (struct string_view){0};
    } else if (column->vector->physical == PHYSICAL_SPAN) {
        vector_spans(column->vector)[row] = (struct span){0};
    }
}
static inline enum status column_set_null(struct column *column, uint32_t row, struct error *err)
{
    if (column->vector->physical == PHYSICAL_NULL) {
        return STATUS_OK;
    }
    if (column->vector->validity == NULL) {
        TRY(column_need_validity(column, err));
    }
    vector_set_null(column->vector, row);
    column_clear_slot(column, row);
    return STATUS_OK;
}
static inline void column_set_valid(struct column *column, uint32_t row)
{
    if (column->vector->validity != NULL) {
        vector_set_valid(column->vector, row);
    }
}

#endif
