/* circuit/operators/group_aggregate_internal.h: how GROUP BY lies in memory, for the files of its implementation. */
#ifndef SPATE_CIRCUIT_OPERATORS_GROUP_AGGREGATE_INTERNAL_H
#define SPATE_CIRCUIT_OPERATORS_GROUP_AGGREGATE_INTERNAL_H

#include "circuit/circuit_cold.h"
#include "circuit/held_errors.h"
#include "circuit/operators/call_set.h"
#include "circuit/operators/records_cold.h"

enum { TABLE_GROUPS, TABLE_HELD, TABLE_DISTINCT };
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
    /* Of changing input: the sum of weight times hash of what the calls read, at this place of each record: 0 when the group's rows cancel,
     * and not only their weights. 0: not kept. */
    uint32_t residue_at;
    uint32_t *residue_columns, residue_column_count;
    struct old_chunk *old;
    uint32_t old_count, old_capacity;
    struct slot_list fresh; /* touched groups that had no row */
    struct held_errors *held;
    /* time-to-live (group_aggregate_ttl.c) */
    struct time_to_live ttl;
    bool lossy;   /* rows may be withdrawn whose groups are forgotten */
    bool repeats; /* what has not changed is emitted as well */
    /* checkpoints */
    uint32_t *key_order; /* 0, 1, 2, ...: the keys as columns of the state table */
    struct dirty_slots dirty;
    struct slot_cut cut;                             /* groups that a checkpoint is still to get */
    struct state_map restored, restored_generations; /* while state is restored */
    struct cold_table *cold;                         /* the groups; NULL: no database */
    struct records_cold *records;                    /* whose it is, with the values of DISTINCT */
    struct records_layouts layouts;
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
static inline uint64_t *residue_of(const struct group_aggregate *self, struct group_record *record)
{
    return (uint64_t *)(void *)((uint8_t *)record + self->residue_at);
}
/* group_aggregate_ttl.c */
void group_aggregate_open_ttl(struct group_aggregate *self);
void group_aggregate_close_ttl(struct group_aggregate *self);
/* Of input that forgets, or with a time-to-live: the groups of the chunk are written now; those that are new, or had expired, begin. */
enum status group_aggregate_renew(struct group_aggregate *self, uint32_t count, struct error *err);
/* The group of the slot is gone. */
void group_aggregate_note_gone(struct group_aggregate *self, uint32_t slot);
/* Removes groups that have expired, and values of DISTINCT of groups that are gone: as many as a tick with so many touched groups may take. */
enum status group_aggregate_sweep(struct group_aggregate *self, uint32_t touched, struct error *err);
/* A group from a checkpoint. generation: what it had, 0: none. */
enum status group_aggregate_restore_generation(struct group_aggregate *self, uint32_t slot, uint32_t generation, struct error *err);
/* group_aggregate_state.c: the state tables "groups", "held" and those of DISTINCT. */
enum status group_aggregate_declare(struct group_aggregate *self, struct error *err);
enum status group_aggregate_save(struct node *node, struct snapshot_writer *writer, struct error *err);
enum status group_aggregate_restore(struct node *node, uint32_t table, const struct snapshot_rows *rows, struct error *err);
enum status group_aggregate_restored(struct node *node, struct error *err);
/* The columns of "groups" for some slots, and such rows back into memory. */
enum status group_aggregate_columns(void *owner, const uint32_t *slots, uint32_t count, struct batch *batch, struct error *err);
enum status group_aggregate_add(struct group_aggregate *self, const struct batch *batch, uint32_t *slots, struct error *err);

/* group_aggregate_cold.c */
enum status group_aggregate_open_cold(struct node *node, struct error *err);

#endif
