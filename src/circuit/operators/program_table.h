/* circuit/operators/program_table.h: a state table of a program: rows of typed cells by typed keys.
 *
 * For         programs (program_node.h), a row at a time.
 * Shape       A key table whose one value is the record of a row: a bit a column that is NULL, then 8 bytes a column; texts are in a slab.
 *             Checkpoints get the rows that changed since the last, of a large table a part at a time (struct slot_cut).
 * Ownership   Zero with `schema` not set is closed. Cells of values lend their texts until the next call that changes the table.
 * Errors      As program_cells.h; NO_MEMORY: nothing has changed.
 * Threads     One task.
 */
#ifndef SPATE_CIRCUIT_OPERATORS_PROGRAM_TABLE_H
#define SPATE_CIRCUIT_OPERATORS_PROGRAM_TABLE_H

#include "base/slab.h"
#include "circuit/operators/program_cells.h"
#include "circuit/operators/state_tables.h"

struct program_table {
    const char *name;
    const struct schema *schema; /* the key's columns first */
    uint32_t key_count, value_count;
    struct circuit *circuit;
    struct key_table *table;
    struct slab texts;
    struct dirty_slots dirty;
    struct slot_cut cut;
    struct batch probe; /* one row: a key to look for */
    uint32_t *places;   /* 0, 1, 2, ... */
    struct spate_cell *cells;
};
enum status program_table_open(struct program_table *self, struct circuit *circuit, const char *name, const struct schema *schema,
                               uint32_t key_count, struct error *err);
void program_table_close(struct program_table *self);

enum status program_table_find(struct program_table *self, const struct spate_cell *key, uint32_t *slot, struct error *err); /* SLOT_NONE */
enum status program_table_put(struct program_table *self, const struct spate_cell *key, const struct spate_cell *values, uint32_t *slot,
                              struct error *err);
enum status program_table_remove(struct program_table *self, uint32_t slot, struct error *err);
void program_table_values(const struct program_table *self, uint32_t slot, struct spate_cell *values);
/* The cells of the key, lent by `columns`, which the caller releases (program_table_release_key). */
enum status program_table_key(struct program_table *self, uint32_t slot, struct vector *columns, struct spate_cell *key, struct error *err);
void program_table_release_key(const struct program_table *self, struct vector *columns);
size_t program_table_bytes(const struct program_table *self);

/* `table`: its number among the operator's. */
enum status program_table_save(struct program_table *self, struct snapshot_writer *writer, uint32_t table, struct error *err);
enum status program_table_restore(struct program_table *self, const struct snapshot_rows *rows, struct error *err);

#endif
