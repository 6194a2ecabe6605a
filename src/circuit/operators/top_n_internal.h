/* circuit/operators/top_n_internal.h: how a Top-N lies in memory, for the files of its implementation. */
#ifndef SPATE_CIRCUIT_OPERATORS_TOP_N_INTERNAL_H
#define SPATE_CIRCUIT_OPERATORS_TOP_N_INTERNAL_H

#include "circuit/circuit_cold.h"
#include "circuit/operators/row_output.h"
#include "circuit/operators/row_state.h"
#include "circuit/operators/sorted_rows.h"

struct partition {
    struct sorted_rows rows;
    int64_t total;    /* summed weights */
    uint32_t touched; /* 1 + index into the node's list */
    uint32_t best;    /* while a chunk is looked at: 1 + index into `chosen` */
};

/* A row as it is shown: `weight` copies, the first numbered `from` (all of them, for RANK and DENSE_RANK). */
struct shown_row {
    struct sorted_item item;
    int64_t from;
};
struct shown_list {
    struct shown_row *rows;
    uint32_t count, capacity;
};
struct touched_partition {
    uint32_t slot, first, count; /* its rows in `before` */
};

struct top_n {
    struct node node;
    const struct top_n_spec *spec;
    bool keeps_one;          /* one place, growing input */
    struct key_table *table; /* NULL: no partition columns, `single` is all */
    struct partition single;
    struct row_store *store;
    struct row_order order;
    struct row_output *output;
    struct shown_list before, after;
    struct touched_partition *touched;
    uint32_t touched_count, touched_capacity;
    row_handle *gone; /* freed at the end of the tick */
    uint32_t gone_count, gone_capacity;
    int64_t negatives;        /* rows withdrawn before they came, now */
    struct dirty_slots dirty; /* checkpoints: partitions and rows that changed */
    struct touched_rows changed;
    struct cold_table *cold; /* NULL: no database */
    struct time_to_live ttl; /* of partitions (top_n_ttl.c) */
    bool lossy;              /* rows may be withdrawn that are forgotten */
    uint32_t arrivals;       /* rows of this tick */
    uint64_t hashes[CHUNK_ROWS];
    uint32_t slots[CHUNK_ROWS];
    uint16_t selected[CHUNK_ROWS];
    uint32_t chosen[CHUNK_ROWS];
    int64_t prefixes[CHUNK_ROWS];
    row_handle handles[CHUNK_ROWS];
};

static inline struct partition *top_n_partition(struct top_n *self, uint32_t slot)
{
    return self->table == NULL ? &self->single : (struct partition *)key_table_values(self->table, 0) + slot;
}
/* Takes an item out of a partition; its row is freed at the end of the tick. */
enum status top_n_remove(struct top_n *self, struct partition *partition, struct sorted_place place, struct error *err);
/* top_n_ttl.c */
/* Partitions of the chunk's rows whose time is over begin anew. */
enum status top_n_renew(struct top_n *self, uint32_t count, struct error *err);
/* Takes out what was withdrawn and is not there. */
enum status top_n_drop_negatives(struct top_n *self, struct partition *partition, struct error *err);
/* Removes partitions that have expired: a part, by the rows of the tick. */
enum status top_n_sweep(struct top_n *self, struct error *err);
/* top_n_state.c: the state table "rows": the rows of all partitions, with their ordinals and weights. */
enum status top_n_declare(struct top_n *self, struct error *err);
enum status top_n_save(struct node *node, struct snapshot_writer *writer, struct error *err);
enum status top_n_restore(struct node *node, uint32_t table, const struct snapshot_rows *rows, struct error *err);
/* Rows of the table back into their partitions; self->slots: where these are. */
enum status top_n_add_rows(struct top_n *self, const struct batch *batch, struct error *err);
/* top_n_cold.c */
enum status top_n_open_cold(struct node *node, struct error *err);

#endif
