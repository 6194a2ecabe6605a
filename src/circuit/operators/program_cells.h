/* circuit/operators/program_cells.h: values of vectors as cells (spate/cell.h), and back.
 *
 * For         programs (program_node.h): what they read, write and keep a value at a time.
 * Errors      TYPE_MISMATCH: a cell of another kind than the column's; VALUE_OUT_OF_RANGE; NULL_NOT_ALLOWED. All name the column.
 * Threads     Any.
 */
#ifndef SPATE_CIRCUIT_OPERATORS_PROGRAM_CELLS_H
#define SPATE_CIRCUIT_OPERATORS_PROGRAM_CELLS_H

#include "data/vector.h"
#include "spate/cell.h"
#include "sql/relation.h"

/* The kind that values of the type have; SPATE_CELL_OTHER: none. */
enum spate_cell_kind cell_kind_of(const struct type *type);
/* Texts are lent by the vector. */
struct spate_cell cell_read(const struct vector *vector, uint32_t row);
/* Can the column hold the cell? */
enum status cell_check(const struct spate_cell *cell, const struct column *column, struct error *err);
/* A cell that was checked into a row of a created vector of `rows` rows. heap NULL: long texts are lent by the cell. */
enum status cell_write(const struct spate_cell *cell, struct budget *budget, uint32_t rows, struct string_heap *heap, struct vector *vector,
                       uint32_t row, struct error *err);

#endif
