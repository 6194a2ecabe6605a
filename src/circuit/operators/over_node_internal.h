/* circuit/operators/over_node_internal.h: how OVER lies in memory, for the files of its implementation. */
#ifndef SPATE_CIRCUIT_OPERATORS_OVER_NODE_INTERNAL_H
#define SPATE_CIRCUIT_OPERATORS_OVER_NODE_INTERNAL_H

#include "circuit/held_errors.h"
#include "circuit/operators/over_changes.h"
#include "circuit/operators/over_run.h"
#include "circuit/operators/row_state.h"
#include "circuit/operators/time_heap.h"

struct over_partition {
    struct sorted_rows waiting; /* any order: all rows */
    struct over_items items;    /* what is being passed, what stays for later frames; any order: what is shown */
    row_handle *shown;          /* any order: the output row of each item */
    struct over_place place;
    uint32_t slot;
    bool touched, held, restored;
    int64_t saved;  /* items before this position are in the last checkpoint */
    int64_t origin; /* in the checkpoint positions begin here: beyond those of partitions that are forgotten */
    uint64_t record[];
};

struct over_node {
    struct node node;
    const struct over_spec *spec;
    bool streams;
    struct key_table *table; /* NULL: no partition columns */
    struct over_partition *single;
    struct row_store *store, *results;
    struct row_order order;
    struct row_output *output;
    struct call_states states;
    struct held_errors *held;
    struct time_heap due;
    struct over_changes changes;
    struct over_items all;
    struct over_partition **touched;
    uint32_t touched_count, touched_capacity;
    row_handle *gone, *old_results;
    uint32_t gone_count, gone_capacity, old_count, old_capacity;
    struct dirty_slots dirty; /* checkpoints: partitions, and their sorted rows */
    struct touched_rows changed;
    struct state_map restored, restored_generations; /* while state is restored: partitions by the slots that they had */
    struct time_to_live ttl;                         /* of partitions (over_node_ttl.c) */
    bool lossy;                                      /* rows may be withdrawn that are forgotten */
    uint32_t arrivals;                               /* rows of this tick */
    int64_t next_origin;
    uint64_t hashes[CHUNK_ROWS];
    uint32_t slots[CHUNK_ROWS];
    row_handle handles[CHUNK_ROWS];
    uint16_t selected[CHUNK_ROWS];
    struct over_run run;
};

/* The partition of a slot; NULL: there is none yet. */
static inline struct over_partition **over_partition_place(struct over_node *self, uint32_t slot)
{
    return self->table == NULL ? &self->single : &((struct over_partition **)key_table_values(self->table, 0))[slot];
}
enum status over_partition_at(struct over_node *self, uint32_t slot, struct over_partition **partition, struct error *err);
/* Adds to a partition's sorted rows; by time: sees to it that it comes up when its first row is due. */
enum status over_put_sorted(struct over_node *self, struct over_partition *partition, const struct sorted_item *item, struct error *err);
/* Any order: computes what the partition shows, emits nothing. */
enum status over_show_again(struct over_node *self, struct over_partition *partition, struct error *err);

void over_partition_free(struct over_node *self, struct over_partition *partition);
enum status over_drop_row(struct over_node *self, row_handle row, struct error *err); /* at the end of the tick */

/* over_node_ttl.c */
/* Partitions of the chunk's rows whose time is over begin anew. */
enum status over_renew(struct over_node *self, uint32_t count, struct error *err);
/* Any order: takes out what was withdrawn and is not there. */
enum status over_drop_negatives(struct over_node *self, struct over_partition *partition, struct error *err);
/* The partition is gone, or there is a new one. */
void over_note_gone(struct over_node *self, uint32_t slot);
/* Removes partitions that have expired: a part, by the rows of the tick. */
enum status over_sweep(struct over_node *self, struct error *err);

/* over_node_state.c. By time: the state tables "partitions", "waiting", "items" and those of DISTINCT; any order: "rows". */
enum status over_declare(struct over_node *self, struct error *err);
enum status over_save(struct node *node, struct snapshot_writer *writer, struct error *err);
enum status over_restore(struct node *node, uint32_t table, const struct snapshot_rows *rows, struct error *err);
enum status over_restored(struct node *node, struct error *err);

#endif
