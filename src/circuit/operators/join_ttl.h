/* circuit/operators/join_ttl.h: a join whose sides have a time-to-live. Internal to join_core.c.
 *
 * Entries     join_state.h says when they are written and what an expired one is.
 * Withdrawals Of a row that is forgotten: it meets what the other side has, as if the row were there (Flink does the same), and leaves
 *             nothing. Whoever reads the output is told that it is so (input_spec, `lossy`).
 */
#ifndef SPATE_CIRCUIT_OPERATORS_JOIN_TTL_H
#define SPATE_CIRCUIT_OPERATORS_JOIN_TTL_H

#include "circuit/operators/join_core.h"

void join_ttl_set_now(struct join *self);
/* Pairs of the rows of the view with what lives on the other side; self->slots and `fresh` are those of the view. */
enum status join_ttl_probe(struct join *self, uint32_t which, const struct batch *view, struct error *err);
/* Before what is touched is looked at: no counts below zero. */
void join_ttl_begin_settling(struct join *self);
/* Removes entries that have expired: a part, by the rows of the tick. */
enum status join_ttl_sweep(struct join *self, struct error *err);

#endif
