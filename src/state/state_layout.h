/* state/state_layout.h: what bytes in a file of state mean, for whoever looks at them without the job.
 *
 * For         saved_tables.h. Operators write BYTES into some columns of their tables (accumulators, places in sources); the file says beside
 *             the column's type how they are to be read, and here they become typed columns. A restore does not look at layouts.
 * Layouts     text      UTF-8, or nearly: other bytes are shown as \xNN. One STRING.
 *             numbers   int64 each. One ARRAY<BIGINT>.
 *             bits      an int64. One BIGINT.
 *             calls     per aggregate call a length (uint32) and what its accumulator saves. One column a call. Then, per call and each after
 *                       a TAB: the function with what aggregate_binding was told (retracts, ordered, distinct, ignore-nulls, merges); the
 *                       types of its arguments as a ROW; a name for people. The function is bound again, loads the bytes and gives its value.
 *             Unknown layouts and functions leave the column as it is.
 * Ownership   The arena's. Vectors are the caller's.
 * Errors      STATE_CORRUPT when the bytes are not of the layout.
 */
#ifndef SPATE_STATE_STATE_LAYOUT_H
#define SPATE_STATE_STATE_LAYOUT_H

#include "data/batch.h"
#include "functions/evaluation.h"
#include "sql/relation.h"

struct state_layout;
/* *layout NULL: the bytes stay bytes. `name` is the column's, for layouts of one column. */
enum status state_layout_open(struct arena *arena, struct budget *budget, struct text text, const char *name, struct state_layout **layout,
                              struct error *err);
const struct schema *state_layout_schema(const struct state_layout *layout);
/* The columns of the schema for the rows of `bytes`; a failing call leaves none. */
enum status state_layout_read(struct state_layout *layout, const struct vector *bytes, uint32_t rows, struct vector *columns,
                              struct error *err);

#endif
