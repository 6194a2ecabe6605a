/* circuit/operators/group_aggregate_internal.h: how GROUP BY lies in memory, for the files of its implementation. */
#ifndef SPATE_CIRCUIT_OPERATORS_GROUP_AGGREGATE_INTERNAL_H
#define SPATE_CIRCUIT_OPERATORS_GROUP_AGGREGATE_INTERNAL_H

#include "circuit/held_errors.h"
#include "circuit/operators/call_set.h"

enum { FLAG_DIRTY = 1, FLAG_PERMANENT = 2, CHUNK_WORDS = CHUNK_ROWS / 64, AHEAD = 16 };

struct group_record {
    int64_t weight;
    uint64_t flags;
};
/* Groups touched in this tick that had a row before it, and what that row was. */
struct old_chunk {
    uint32_t count;
    uint32_t *slots;
    struct vector *values;        /* per call; also holds the keys when emitted */
    uint64_t failed[CHUNK_WORDS]; /* there was no row */
};
struct slot_list {
    uint32_t *slots;
    uint32_t count, capacity;
};
struct group_aggregate {
    struct node node;
    const struct group_aggregate_spec *spec;
    struct call_set *calls;
    struct call_states states;
    struct key_table *table;
    uint32_t record_bytes;
    struct old_chunk *old;
    uint32_t old_count, old_capacity;
    struct slot_list fresh; /* touched groups that had no row */
    struct held_errors *held;
    /* checkpoints */
    uint32_t *key_order; /* 0, 1, 2, ...: the keys as columns of the state table */
    struct dirty_slots dirty;
    struct state_map restored; /* while state is restored */
    /* scratch of values that fail */
    uint64_t failed[CHUNK_WORDS];
    const uint32_t *fail_slots;
    int64_t fail_weight;
    enum status fail_status;
    struct error fail_error;
    uint64_t hashes[CHUNK_ROWS];
    uint32_t slots[CHUNK_ROWS];
};

static inline uint8_t *records_of(const struct group_aggregate *self)
{
    return key_table_values(self->table, 0);
}

static inline struct group_record *record_at(const struct group_aggregate *self, uint32_t slot)
{
    return (struct group_record *)(void *)(records_of(self) + (size_t)slot * self->record_bytes);
}
/* group_aggregate_state.c: the state tables "groups", "held" and those of DISTINCT. */
enum status group_aggregate_declare(struct group_aggregate *self, struct error *err);
enum status group_aggregate_save(struct node *node, struct snapshot_writer *writer, struct error *err);
enum status group_aggregate_restore(struct node *node, uint32_t table, const struct snapshot_rows *rows, struct error *err);
enum status group_aggregate_restored(struct node *node, struct error *err);

#endif
