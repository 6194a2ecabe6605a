/* circuit/operators/source_node.h: what a source node knows of its partitions.
 *
 * For         the WATERMARK node above: which partitions have ended, which are idle.
 * Threads     The circuit's worker.
 */
#ifndef SPATE_CIRCUIT_OPERATORS_SOURCE_NODE_H
#define SPATE_CIRCUIT_OPERATORS_SOURCE_NODE_H

#include "circuit/node.h"

struct partition_state {
    bool ended;
    bool caught_up;       /* everything there was has been emitted */
    int64_t last_rows_us; /* the job's clock when rows came last, or when the node was opened */
};
uint32_t source_node_partition_count(const struct node *node); /* of the source: partitions of all workers */
/* NULL: another worker reads it. */
const struct partition_state *source_node_partition(const struct node *node, uint32_t partition);
bool source_node_is_bounded(const struct node *node);

#endif
