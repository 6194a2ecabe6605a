/* circuit/operators/over_node_internal.h: how OVER lies in memory, for the files of its implementation. */
#ifndef SPATE_CIRCUIT_OPERATORS_OVER_NODE_INTERNAL_H
#define SPATE_CIRCUIT_OPERATORS_OVER_NODE_INTERNAL_H

#include "circuit/circuit_cold.h"
#include "circuit/held_errors.h"
#include "circuit/operators/over_changes.h"
#include "circuit/operators/over_run.h"
#include "circuit/operators/row_state.h"
#include "circuit/operators/time_heap.h"

struct over_partition {
    struct sorted_rows waiting; /* any order: all rows */
    struct over_items items;    /* what is being passed, what stays for later frames; any order: what is shown */
    row_handle *shown;          /* any order: the output row of each item */
    uint32_t shown_capacity;
    struct over_place place;
    uint32_t slot;
    bool touched, held, restored;
    bool arrived;    /* from the database or a checkpoint: its items are still to be put in order */
    int64_t idle_at; /* by time: when it is looked at again because it may be of no use by then; INT64_MAX: not */
    int64_t saved;   /* items before this position are in the last checkpoint */
    int64_t origin;  /* in the checkpoint positions begin here: beyond those of partitions that are forgotten */
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
    bool ends;               /* by time: a partition is of no use once its last row is not in the frame of any that is still to come */
    struct cold_table *cold; /* NULL: no database */
    uint32_t *arrived;       /* slots of partitions with `arrived` */
    uint32_t arrived_count, arrived_capacity;
    bool restoring;
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

/* Parts of a partition that have changed, for checkpoints and the database. */
enum { OVER_PART_PLACE, OVER_PART_WAITING, OVER_PART_ITEMS, OVER_PARTS, OVER_PART_ROWS = 0 /* any order */ };
enum status over_dirty(struct over_node *self, const struct over_partition *partition, bool waiting, bool items, struct error *err);
/* When a partition in which nothing waits may be of no use; INT64_MAX: it always is. */
int64_t over_idle_due(const struct over_node *self, const struct over_partition *partition);
/* By time: sees to it that the partition is looked at when it may be of no use. */
enum status over_note_idle(struct over_node *self, struct over_partition *partition, struct error *err);
void over_partition_free(struct over_node *self, struct over_partition *partition);
enum status over_drop_row(struct over_node *self, row_handle row, struct error *err); /* at the end of the tick */

/* over_node_any_order.c */
/* Computes a changed partition again and emits what differs; one without rows goes. */
enum status over_settle(struct over_node *self, struct over_partition *partition, struct error *err);
/* Computes what the partition shows, emits nothing. */
enum status over_show_again(struct over_node *self, struct over_partition *partition, struct error *err);

/* over_node_ttl.c */
/* Partitions of the chunk's rows whose time is over begin anew. */
enum status over_renew(struct over_node *self, uint32_t count, struct error *err);
/* Any order: takes out what was withdrawn and is not there. */
enum status over_drop_negatives(struct over_node *self, struct over_partition *partition, struct error *err);
/* The partition is gone, or there is a new one. */
void over_note_gone(struct over_node *self, uint32_t slot);
/* Removes partitions that have expired, and values of DISTINCT whose partition is gone: a part, by the rows of the tick. */
enum status over_sweep(struct over_node *self, struct error *err);

/* The partition is of no use: it and its key. */
enum status over_end_partition(struct over_node *self, struct over_partition *partition, struct error *err);
/* Frees the rows of a partition, and it, but not its key. */
void over_free_all(struct over_node *self, struct over_partition *partition);
/* Of partitions that came from the database because their time has come those that have expired are removed. */
enum status over_sweep_slots(struct over_node *self, const uint32_t *slots, uint32_t count, struct error *err);

/* over_node_state.c. By time: the state tables "partitions", "waiting", "items" and those of DISTINCT; any order: "rows". */
enum status over_declare(struct over_node *self, struct error *err);
enum status over_save(struct node *node, struct snapshot_writer *writer, struct error *err);
enum status over_restore(struct node *node, uint32_t table, const struct snapshot_rows *rows, struct error *err);
enum status over_restored(struct node *node, struct error *err);
enum { OVER_TABLE_PARTITIONS, OVER_TABLE_WAITING, OVER_TABLE_ITEMS, OVER_TABLE_DISTINCT, OVER_TABLE_ROWS = 0 /* any order */ };
enum { OVER_ROW_NUMBERS = 4 };
/* Rows of a table back into memory; self->slots: where their partitions are. */
enum status over_add_rows(struct over_node *self, uint32_t table, const struct batch *batch, struct error *err);
/* Puts the items of a partition that arrived in order; any order: computes what it shows. */
enum status over_settle_arrived(struct over_node *self, struct over_partition *partition, struct error *err);
/* What the table has of a partition, row after row. Returns the number of rows, at most `room`, from *at on, which is moved. */
struct over_row {
    row_handle row;
    int64_t numbers[OVER_ROW_NUMBERS];
};
uint32_t over_partition_rows(struct over_node *self, uint32_t slot, uint32_t table, struct sorted_place *at, struct over_row *rows,
                             uint32_t room);
enum status over_place_columns(void *owner, const uint32_t *slots, uint32_t count, struct batch *batch, struct error *err);

/* over_node_cold.c */
enum status over_open_cold(struct node *node, struct error *err);
/* The partitions of the chosen rows come back. */
enum status over_fetch(struct over_node *self, const struct batch *batch, const uint32_t *keys, struct error *err);
/* Those that have come back are put in order. */
enum status over_settle_fetched(struct over_node *self, struct error *err);

#endif
