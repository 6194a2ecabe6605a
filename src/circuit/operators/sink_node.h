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

/* A standby (OUTPUT_HELD): what the followed process has committed is dropped; when that has died, the rest is the sink's. */
bool sink_node_is(const struct node *node);
struct text sink_node_prepared(const struct node *node); /* with circuit.shows_prepared: by the last save; lent */
enum status sink_node_hold_cut(struct node *node, uint64_t checkpoint, struct error *err);
void sink_node_drop_held(struct node *node, uint64_t checkpoint);
enum status sink_node_show_base(struct node *node, struct error *err); /* what the restored checkpoint covers */
enum status sink_node_release(struct node *node, struct error *err);   /* then: OUTPUT_SHOWN again */

#endif
