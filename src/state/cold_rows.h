/* state/cold_rows.h: rows of state tables as keys and values of a database.
 *
 * For         state/cold_table.h, which writes and fetches them, and cold_export, which reads all of them.
 * Shape       A unit is what one key of an operator has in one of its tables: one row, or several. Its key in the database is: the operator
 *             (8 bytes, a hash of its id), the key's columns, the table's tag (a byte), then columns that tell several units of a key apart
 *             (values of DISTINCT). So all units of a key lie side by side, the table of tag 0 first. Its value: the other columns, row
 *             after row. Columns are encoded by data/value_codec.h: equal keys have equal bytes, and none begins another.
 *             Under eight zero bytes a database says what it holds: per table the operator's id, the columns, the count of its units.
 * Batches     In the layout's form: the columns of the state table, then those that only name units.
 * Errors      STATE_CORRUPT where bytes cannot be what they should; NO_MEMORY; those of the driver.
 * Threads     One task.
 */
#ifndef SPATE_STATE_COLD_ROWS_H
#define SPATE_STATE_COLD_ROWS_H

#include "state/cold_db.h"
#include "state/snapshot.h"

enum { COLD_PREFIX_BYTES = 8 };

struct cold_layout {
    const char *operator_id;
    const struct snapshot_table *table;
    const struct type *const *types; /* of all columns of a batch */
    uint32_t column_count;
    const uint32_t *keys, *more, *values; /* columns: of the key, what tells its units apart, the rest */
    uint32_t key_count, more_count, value_count;
    uint32_t scope_count; /* the first of the keys, which all units of one cold table share: it knows their bytes (the scope) */
    int32_t record;       /* the column that refers to the key's row in the table of tag 0: its id, when all is read; -1: none */
    uint8_t tag;
};

void cold_append_prefix(const char *operator_id, struct text_builder *out);
/* columns: those of `batch` that hold the layout's keys behind the scope, then its `more`. */
void cold_append_key(const struct cold_layout *layout, struct text scope, const struct batch *batch, const uint32_t *columns, uint32_t row,
                     struct text_builder *out);
/* Is a key, of whatever table of the layout's operator, of this layout's table? */
enum status cold_key_is_of(const struct cold_layout *layout, struct text key, bool *is, struct error *err);
void cold_append_value(const struct cold_layout *layout, const struct batch *batch, uint32_t row, struct text_builder *out);

/* Units back into batches, each as soon as it is full. */
struct cold_rows {
    const struct cold_layout *layout;
    struct budget *budget;
    /* ids: by row, the `record` of its unit. */
    enum status (*take)(void *context, const struct cold_layout *layout, struct batch *batch, const int64_t *records, struct error *err);
    void *context;
    struct text_builder bytes; /* of the units at hand */
    uint32_t count;
    size_t key_at[CHUNK_ROWS], value_at[CHUNK_ROWS]; /* by row, in `bytes` */
    int64_t records[CHUNK_ROWS];
    const uint8_t *cursors[CHUNK_ROWS];
};
enum status cold_rows_add(struct cold_rows *rows, struct text key, struct text value, int64_t record, struct error *err);
enum status cold_rows_flush(struct cold_rows *rows, struct error *err);
void cold_rows_close(struct cold_rows *rows); /* without a flush */

/* What an operator notes in the database beside its units, of which an export knows nothing: bytes under a name that is no operator's id.
 * bytes: appended to; without a note, nothing. */
enum status cold_read_note(struct cold_db *db, const char *operator_id, const char *name, struct text_builder *bytes, struct error *err);
enum status cold_write_note(struct cold_db *db, const char *operator_id, const char *name, struct text bytes, struct error *err);

/* What a database holds of one table: read and written as a whole. */
enum status cold_read_count(struct cold_db *db, const struct cold_layout *layout, uint64_t *units, struct error *err);
enum status cold_write_count(struct cold_db *db, const struct cold_layout *layout, uint64_t units, struct error *err);

/* All rows of all operators of the database, or of one (operator_id NULL: all), into a writer of full files. For restores where the database
 * cannot be opened as it is, and for savepoints. Rows of `record` columns come after the row that they refer to. */
enum status cold_export(struct cold_db *db, const char *operator_id, struct snapshot_writer *writer, struct budget *budget,
                        struct error *err);

#endif
