/* circuit/operators/over_run.h: the calls of an OVER, computed along the sorted rows of a partition.
 *
 * For         over_node.c.
 * Shape       The rows of a partition are an array of items in order. Frames only move forward: items enter the accumulators (call_set.h)
 *             at their end and leave at their begin with weight -1. Window functions are numbers by position, or the row whose value is
 *             shown. Results are collected a chunk at a time and handed to `emit`.
 * Invariants  Handles stay stored until the flush that follows.
 * Ownership   over_run_close frees what is not in the arena.
 * Threads     One task.
 */
#ifndef SPATE_CIRCUIT_OPERATORS_OVER_RUN_H
#define SPATE_CIRCUIT_OPERATORS_OVER_RUN_H

#include "circuit/operators/call_set.h"
#include "circuit/operators/row_output.h"
#include "circuit/operators/sorted_rows.h"

struct over_items {
    struct sorted_item *items;
    uint32_t count, capacity;
};
enum status over_items_add(struct over_items *list, struct budget *budget, const struct sorted_item *item, struct error *err);
/* Gives back memory that so few items do not need. */
void over_items_trim(struct over_items *list, struct budget *budget);
void over_items_release(struct over_items *list, struct budget *budget);

/* How far a partition has come. */
struct over_place {
    int64_t base;        /* rows before the first item */
    int64_t rank, dense; /* of the last row that was passed */
    uint32_t begin, end; /* items in the accumulators */
    uint32_t next;       /* the first item without a result */
};
struct over_bound;
struct over_cursor { /* items as a batch of arguments */
    struct batch batch;
    uint32_t first, count;
};
struct over_run {
    struct node *node;
    const struct over_spec *spec;
    struct row_store *store;
    const struct row_order *order;
    struct call_set *calls; /* NULL: no aggregates */
    struct over_bound *bounds;
    uint32_t aggregate_count, lookback;
    bool keeps_all;   /* a function may show any row of the frame */
    bool looks_ahead; /* a result may depend on rows behind its own */
    bool by_peers;    /* a result depends on all rows of equal keys */
    /* arguments: columns of the store or constants */
    struct schema arguments;
    const struct vector **constants;
    uint32_t *gathered, gathered_count;
    struct vector *gather_vectors;
    struct over_cursor entering, leaving;
    struct vector *values; /* of the aggregates for the frame at hand */
    bool values_fresh;
    bool failed; /* an aggregate has no value; first_failure says why */
    struct error first_failure;
    enum status (*emit)(struct node *node, const struct batch *batch, struct error *err);
    uint32_t count, limit;
    row_handle rows[CHUNK_ROWS];
    uint16_t identity[CHUNK_ROWS];
    uint32_t slots[CHUNK_ROWS];
    int64_t minus[CHUNK_ROWS];
};
enum status over_run_open(struct over_run *run, struct node *node, const struct over_spec *spec, struct row_store *store,
                          const struct row_order *order,
                          enum status (*emit)(struct node *node, const struct batch *batch, struct error *err), struct error *err);
void over_run_close(struct over_run *run);
uint32_t over_run_bytes(const struct over_run *run); /* of a partition's record */

struct over_target { /* a partition's accumulators */
    uint8_t *record;
    uint32_t slot;
    struct call_states *states;
};
/* Sets a place so that results begin with item `next`: no accumulators, ranks counted. */
void over_run_start(const struct over_run *run, const struct over_items *items, uint32_t next, struct over_place *place);
/* Results of all items from place->next on. */
enum status over_run_pass(struct over_run *run, const struct over_items *items, struct over_place *place, const struct over_target *target,
                          struct error *err);
enum status over_run_flush(struct over_run *run, struct error *err);

#endif
