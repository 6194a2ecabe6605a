/* circuit/operators/history_node.h: the records of all ticks of a job, as the only state that it saves.
 *
 * For         'high-availability.policy' = 'upstream-backup' (KEEPS_HISTORY): a later process runs the ticks again and has the state.
 * Shape       A node without inputs or output; that of worker 0 is used. What is added is kept as it is, one record after the other.
 * State       "ticks": pieces of the bytes, by number.
 * Threads     Whoever holds the circuit between two ticks.
 */
#ifndef SPATE_CIRCUIT_OPERATORS_HISTORY_NODE_H
#define SPATE_CIRCUIT_OPERATORS_HISTORY_NODE_H

#include "circuit/node.h"

enum status history_node_create(struct circuit *circuit, struct node **node, struct error *err);
enum status history_node_add(struct node *node, struct text record, struct error *err);
/* All that was added and restored; lent until the next call. */
struct text history_node_records(const struct node *node);

#endif
