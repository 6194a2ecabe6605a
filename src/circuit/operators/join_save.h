/* circuit/operators/join_save.h: the state tables of a join.
 *
 * For         join_node.c, interval_join.c, window_join.c, lookup_join.c.
 * Shape       Tables "left" and "right": the kept columns of the side's rows, those keys that are not among them, the weight; of a tracked
 *             side `matches` and `shown` (what a row has met may be gone by now, so they are not found again); where rows expire the time
 *             at which that happens, else when the row was written last (with a time-to-live). The id of a row is its entry. "totals": what NOT IN knows of the right. "held": held back errors.
 *             Of a side that every worker has as a whole worker 0 saves the rows, and every worker restores them.
 * Changes     A log saves the rows that came since; a row store the entries in `dirty`. Rows that the watermark ends are not listed: they die
 *             by the table's bound.
 * Threads     One task.
 */
#ifndef SPATE_CIRCUIT_OPERATORS_JOIN_SAVE_H
#define SPATE_CIRCUIT_OPERATORS_JOIN_SAVE_H

#include "circuit/operators/join_core.h"
#include "state/snapshot.h"

/* After join_open: the tables of the node. more: a table that the operator saves and restores itself, the last one; NULL: none. */
enum status join_declare(struct join *self, const struct snapshot_table *more, struct error *err);
enum status join_save(struct join *self, struct snapshot_writer *writer, struct error *err);
enum status join_restore(struct join *self, uint32_t table, const struct snapshot_rows *rows, struct error *err);
/* Rows of a side for a database, and back: all that some slots have, into the units of cold->part; self->slots: where they are. */
enum status join_save_slots(struct join *self, struct cold_table *cold, const uint32_t *slots, uint32_t count, struct error *err);
enum status join_add_rows(struct join *self, uint32_t which, const struct batch *batch, struct error *err);
enum status join_restored(struct node *node, struct error *err); /* a struct join begins there */

#endif
