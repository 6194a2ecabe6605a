/* circuit/operators/source_node.h: what a source node knows of its partitions, and where they stand.
 *
 * For         the WATERMARK node above: which partitions have ended, which are idle. Checkpoints: at a tick's end the state of a partition
 *             says which of its rows were in ticks; a node that is given it before its first pull goes on with the next row.
 * Workers     Partition p is read by worker p % worker_count: states may be restored with another number of workers.
 * State       "partition/1 ended=0 place=LENGTH:... history=LENGTH:..." (connectors/position.h), with "piece=1 pieces=4" where a piece of the
 *             source is read (connectors/source.h): another piece does not go on from it. Of a values node "values/1 emitted=N".
 * Threads     The circuit's worker, or whoever holds it between two ticks.
 */
#ifndef SPATE_CIRCUIT_OPERATORS_SOURCE_NODE_H
#define SPATE_CIRCUIT_OPERATORS_SOURCE_NODE_H

#include "base/text.h"
#include "circuit/node.h"

struct partition_state {
    bool ended;
    bool caught_up;       /* everything there was has been emitted */
    int64_t last_rows_us; /* the job's clock when rows came last, or when the node was opened */
};
uint32_t source_node_partition_count(const struct node *node); /* of the source: partitions of all workers */
/* NULL: another worker reads it. */
const struct partition_state *source_node_partition(const struct node *node, uint32_t partition);
/* Appends the state of a partition of this worker. NOT_SUPPORTED: its source cannot be read again from a position. */
enum status source_node_save_partition(struct node *node, uint32_t partition, struct text_builder *out, struct error *err);
/* Before the first pull. The bytes are only lent; what does not fit the input any more fails in the first pull, by name. */
enum status source_node_restore_partition(struct node *node, uint32_t partition, const char *bytes, size_t length, struct error *err);
enum status values_node_save(const struct node *node, struct text_builder *out, struct error *err);
enum status values_node_restore(struct node *node, const char *bytes, size_t length, struct error *err);
bool source_node_is_bounded(const struct node *node);

#endif
