/* circuit/operators/join_ends.h: rows of a join that are over when a watermark or the clock has passed their time.
 *
 * For         interval_join.c, window_join.c; join_save.c and join_cold.c, which move such rows.
 * Shape       Entries by time in a heap per side (struct join, `ends`). Where keys may leave memory, an entry knows its time too: items of
 *             entries that have left stay in the heap until they come up or are too many (`stale`), and count for nothing; the database
 *             tells which of its keys are due (state/cold_table.h), and these come back first.
 * Threads     One task.
 */
#ifndef SPATE_CIRCUIT_OPERATORS_JOIN_ENDS_H
#define SPATE_CIRCUIT_OPERATORS_JOIN_ENDS_H

#include "circuit/operators/join_core.h"

/* A new entry will be over when `end` is passed. */
enum status join_end_at(struct join *self, uint32_t which, uint32_t entry, int64_t end, struct error *err);
/* At the end of a tick, before join_settle: rows whose time is passed (by side) are over. last: nothing comes after this tick. */
enum status join_end_passed(struct join *self, const int64_t *passed, bool last, struct error *err);
/* The earliest time of a row, in memory or not. */
int64_t join_next_end(const struct join *self);
/* `count` entries of the side have left memory; all: none is left. */
void join_ends_left(struct join *self, uint32_t which, uint32_t count, bool all);
void join_ends_close(struct join *self);

#endif
