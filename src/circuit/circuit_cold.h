/* circuit/circuit_cold.h: state larger than memory: when operators write rows to the database of their circuit and drop them.
 *
 * For         circuit.c and circuit_state.c, at the edges of ticks, and operators that keep their keys in cold tables (state/cold_table.h).
 * Shape       An operator that can do so has open_cold in its node_type: it makes the tables of node->cold, those first whose rows refer to rows
 *             of others; tables of windows come and go (node_add_cold, node_drop_cold). What such an operator keeps is the key tables, of which the database may hold a part; the rest of its state, and all
 *             state of other operators, stays in memory and in the files of checkpoints.
 * Memory      From three quarters of an account on a table that is about to grow gives up a quarter of its keys instead. From seven eighths
 *             on the largest operator gives up all, with the memory, and so on until there is room. Within a tick what the tick has touched
 *             stays.
 * Checkpoints An operator of which nothing was ever dropped is saved as without a database: changes, into the chain's next file. From the first
 *             key that was dropped on all its rows belong to the database, until none is left there.
 * Threads     The circuit's worker.
 */
#ifndef SPATE_CIRCUIT_CIRCUIT_COLD_H
#define SPATE_CIRCUIT_CIRCUIT_COLD_H

#include "circuit/circuit.h"
#include "state/cold_table.h"

struct node_cold {
    struct cold_table *first, *last;
    struct cold_scratch *scratch;
    struct cold_counters gone; /* of tables that were dropped */
    uint32_t made_count;
    struct cold_table *made;
};
static inline struct cold_table *node_first_cold(const struct node *node)
{
    return node->cold == NULL ? NULL : node->cold->first;
}
/* For an operator's open_cold: `count` closed tables of node->cold, the same ones whenever it is called; 0: it will add some. The operator
 * opens them; they are closed with the circuit. */
enum status node_make_cold(struct node *node, uint32_t count, struct cold_table **tables, struct error *err);
/* A table of the operator's own, zero, and last in the list. It is closed when it is dropped, or with the circuit; dropping it again does
 * nothing. */
void node_add_cold(struct node *node, struct cold_table *cold);
void node_drop_cold(struct node *node, struct cold_table *cold);
/* The layout of a state table whose units are named by some of its columns: the others are the value. In the arena. */
enum status node_make_layout(struct node *node, const struct snapshot_table *table, const uint32_t *keys, uint32_t key_count,
                             struct cold_layout *layout, struct error *err);
/* Before a chunk is absorbed: its keys come back into the key table. hashes: of the batch's columns `keys`; they are so again afterwards,
 * though the owner's `add` may use the memory. */
enum status node_fetch_keys(struct node *node, struct cold_table *cold, const struct batch *batch, const uint32_t *keys, uint64_t *hashes,
                            struct error *err);
void node_close_cold(struct node *node);

/* Takes up circuit->cold, if it has not been. */
enum status circuit_take_cold(struct circuit *circuit, struct error *err);
/* What the operator has done with its database since it was made. */
struct cold_counters node_cold_counters(const struct node *node);
void node_count_cold(struct node *node); /* sets the figures of its database */
/* Between ticks, and before the operator absorbs a chunk. */
enum status circuit_relieve(struct circuit *circuit, struct error *err);
enum status node_relieve_memory(struct node *node, struct error *err);
/* Must a checkpoint have the operator's rows in the database? Some are there already, or there is no room for a copy of them, which is what
 * the files of a chain are made from. */
bool node_belongs_in_database(const struct node *node);
/* What circuit_save does of an operator whose rows are there, besides its save. */
enum status node_save_cold(struct node *node, struct snapshot_writer *writer, struct error *err);

static inline enum status node_relieve(struct node *node, struct error *err)
{
    const struct budget *budget = node->circuit->budget;
    size_t used = atomic_load_explicit(&budget->used_bytes, memory_order_relaxed);
    return LIKELY(used <= budget->limit_bytes / 4 * 3) ? STATUS_OK : node_relieve_memory(node, err);
}

#endif
