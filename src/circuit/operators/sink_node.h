/* circuit/operators/sink_node.h: the checkpoints of a sink.
 *
 * For         job/, between two ticks: see connectors/sink.h, "Commit".
 * Workers     Each worker's node prepares and commits. All states of a checkpoint, whatever the number of workers then, are restored by the
 *             node of worker 0, before the first tick.
 * Threads     The circuit's worker, or whoever holds it between two ticks.
 */
#ifndef SPATE_CIRCUIT_OPERATORS_SINK_NODE_H
#define SPATE_CIRCUIT_OPERATORS_SINK_NODE_H

#include "base/text.h"
#include "circuit/node.h"

bool sink_node_commits(const struct node *node); /* exactly once; else at least once, and the others have nothing to do */
enum status sink_node_prepare(struct node *node, uint64_t checkpoint, struct text_builder *state, struct error *err);
enum status sink_node_committed(struct node *node, uint64_t checkpoint, struct error *err);
enum status sink_node_restore(struct node *node, const char *bytes, size_t length, struct error *err);

#endif
