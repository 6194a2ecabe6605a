/* circuit/operators/source_state.h: the state tables of what gives rows: source_node.c, values_node.c. */
#ifndef SPATE_CIRCUIT_OPERATORS_SOURCE_STATE_H
#define SPATE_CIRCUIT_OPERATORS_SOURCE_STATE_H

#include "circuit/node.h"
#include "state/snapshot.h"

extern const struct snapshot_table source_state_table, values_state_table;
enum status source_node_save(struct node *node, struct snapshot_writer *writer, struct error *err);
enum status source_node_restore(struct node *node, uint32_t table, const struct snapshot_rows *rows, struct error *err);
enum status values_state_save(struct node *node, struct snapshot_writer *writer, struct error *err);
enum status values_state_restore(struct node *node, uint32_t table, const struct snapshot_rows *rows, struct error *err);

#endif
