/* circuit/operators/row_state.h: stored rows as rows of a state table.
 *
 * For         the save and restore of operators that keep rows in a row store: Top-N, sorts, OVER, sessions, temporal joins.
 * Shape       The columns of a table are those of the store, then numbers (BIGINT NOT NULL). The id of a row is its handle: that is its
 *             own as long as it is stored. Where checkpoints hold changes only the operator marks the rows that came, changed or
 *             went; a handle that was given to another row in the meantime is just a row that changed.
 * Ownership   Zero is a touched_rows that follows nothing. A save is closed by row_save_end, whatever happened before.
 * Threads     One task.
 */
#ifndef SPATE_CIRCUIT_OPERATORS_ROW_STATE_H
#define SPATE_CIRCUIT_OPERATORS_ROW_STATE_H

#include "circuit/operators/state_tables.h"
#include "state/id_set.h"
#include "state/row_store.h"

enum { ROW_STATE_NUMBERS = 4 };

/* The name of a number that may be missing (BIGINT, TTL_NO_TIME: NULL): when the row was written (state/time_to_live.h). Compared as a
 * pointer. */
#define row_state_written ((const char *)row_state_written_name)
extern const char row_state_written_name[];
/* The table's schema: the stored columns, then numbers of these names. */
enum status row_state_declare(struct arena *arena, const struct schema *stored, const char *const *numbers, uint32_t count,
                              const char *name, struct snapshot_table *table, struct error *err);

struct touched_rows {
    bool followed;
    struct id_set ids;
};
void touched_rows_open(struct touched_rows *touched, const struct circuit *circuit); /* follows if the circuit asks for it */
static inline enum status touched_rows_mark(struct touched_rows *touched, row_handle row, struct error *err)
{
    return LIKELY(!touched->followed) ? STATUS_OK : id_set_add(&touched->ids, row, err);
}
void touched_rows_close(struct touched_rows *touched);

struct row_save;
/* The table as a whole, or the rows that were touched. touched NULL: all that is added, the caller knows what is missing. */
enum status row_save_begin(struct node *node, struct snapshot_writer *writer, uint32_t table, const struct row_store *store,
                           struct touched_rows *touched, struct row_save **save, struct error *err);
/* Every row that is there; those that were not touched are passed over. */
enum status row_save_add(struct row_save *save, row_handle row, const int64_t *numbers, struct error *err);
/* removes: touched rows that were not there are gone (false: they die by the table's expiry). Nothing is touched after that. */
enum status row_save_end(struct row_save *save, enum status status, bool removes, struct error *err);

#endif
