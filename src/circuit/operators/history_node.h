/* circuit/operators/history_node.h: the records of all ticks of a job, as the only state that it saves.
 *
 * For         'high-availability.policy' = 'upstream-backup' (KEEPS_HISTORY): a later process runs the ticks again and has the state.
 * Shape       A node without inputs or output; that of worker 0 is used. What is added is kept in order; only the last of it, some 256 KiB,
 *             is in memory, the rest in a temporary file on local disk ($TMPDIR, or /var/tmp), which has no name.
 * State       "ticks": pieces of the bytes, by number: lengths and records.
 * Threads     Whoever holds the circuit between two ticks.
 * Errors      STATE_DISK when the local disk is full or fails.
 */
#ifndef SPATE_CIRCUIT_OPERATORS_HISTORY_NODE_H
#define SPATE_CIRCUIT_OPERATORS_HISTORY_NODE_H

#include "circuit/node.h"

enum status history_node_create(struct circuit *circuit, struct node **node, struct error *err);
enum status history_node_add(struct node *node, struct text record, struct error *err);
/* The next of the records that were added or restored, from the first; lent until the next call. *found false: all were given. */
enum status history_node_next(struct node *node, struct text *record, bool *found, struct error *err);
bool history_node_is_empty(const struct node *node);

#endif
