/* data/vector_append.h: vectors that grow, and rows copied between vectors of one type.
 *
 * For         elements of arrays and maps being built, branches of CASE, rows put together from several columns.
 * Invariants  The target has buffers of its own (nobody else refers to them); bytes of strings are shared, not copied.
 *             The source may be PHYSICAL_NULL, whatever the target is: its rows are NULLs.
 * Cost        Fixed widths and strings are block copies; nested values go element by element.
 */
#ifndef SPATE_DATA_VECTOR_APPEND_H
#define SPATE_DATA_VECTOR_APPEND_H

#include "data/vector.h"

/* Adds rows first..first+count-1 of source after the target's last row; target->count grows. Starts from vector_create with
 * 0 rows. */
enum status vector_append(struct budget *budget, struct vector *target, const struct vector *source, uint32_t first, uint32_t count,
                          struct error *err);
/* Adds one NULL. */
enum status vector_append_null(struct budget *budget, struct vector *target, struct error *err);
/* Empty views and spans in all rows, also of fields: what must hold before rows are copied into a created vector. */
void vector_clear(struct vector *vector);
/* Copies the selected rows of source to the same rows of target; with `one_row` source row 0 to all of them. */
enum status vector_copy_rows(struct budget *budget, struct vector *target, const struct vector *source, bool one_row, struct selection rows,
                             struct error *err);
/* Sets one row of a cleared target to a row of source, NULL included. */
enum status vector_set_row(struct budget *budget, struct vector *target, uint32_t row, const struct vector *source, uint32_t source_row,
                           struct error *err);

#endif
