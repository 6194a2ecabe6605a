/* circuit/operators/call_set.h: the aggregate calls of one operator, over records by slot.
 *
 * For         group_aggregate, window_aggregate, session_window.
 * Shape       A record per group holds the states of all calls side by side (offsets fixed when the set is made). DISTINCT goes through one
 *             table per set of arguments: (slot, arguments) -> per filter a count (over inserts: a bit); calls with the same arguments and
 *             filter share the rows that pass. Filters are evaluated once per batch each.
 * Ownership   The set is in the arena. A call_states owns what belongs to one table of records: the slab and the DISTINCT tables;
 *             call_states_close frees all of it at once, without clearing records.
 * Threads     One task; the set holds scratch memory.
 */
#ifndef SPATE_CIRCUIT_OPERATORS_CALL_SET_H
#define SPATE_CIRCUIT_OPERATORS_CALL_SET_H

#include "circuit/operators/state_tables.h"

struct call_set;
struct cold_table;
struct call_cold { /* of a set of DISTINCT arguments whose values may be in a database */
    struct cold_table *table;
    uint32_t *columns; /* of the input: the group's keys, the arguments */
};
struct call_states {
    struct slab heap;
    struct key_table **distinct; /* one per set of DISTINCT arguments; made when first used */
    struct dirty_slots *dirty;   /* the same, when changes are followed (call_states_track); else NULL */
    struct distinct_cut *cuts;   /* the same: values that a checkpoint is still to get */
    struct record_numbers {
        bool kept;
        uint32_t *generations, capacity, last; /* by slot; never 0, except where the record is not told apart */
        uint32_t swept;
    } numbers;              /* call_set_records.c */
    struct call_cold *cold; /* the same, under a database; else NULL. Lent by who set it (records_cold.h) */
};
struct call_set_spec {
    const struct input_spec *input;
    const struct aggregate_spec_call *calls;
    uint32_t call_count;
    bool merges; /* records will be merged */
};
enum status call_set_create(struct circuit *circuit, const struct call_set_spec *spec, struct call_set **set, struct error *err);
uint32_t call_set_bytes(const struct call_set *set); /* of the states of one record */
bool call_set_mergeable(const struct call_set *set); /* all calls, and no DISTINCT */
bool call_set_invertible(const struct call_set *set);

void call_states_open(const struct call_set *set, struct budget *budget, struct call_states *states);
void call_states_close(const struct call_set *set, struct call_states *states);
size_t call_states_bytes(const struct call_set *set, const struct call_states *states);

/* Records lie at records + slot * stride; the k-th selected row of the batch goes to slots[k]. */
enum status call_set_update(struct call_set *set, struct call_states *states, const struct batch *batch, const uint32_t *slots,
                            uint8_t *records, uint32_t stride, struct error *err);
/* One vector per call, of `count` rows, for the records of the slots. fail is called for values that do not exist. */
enum status call_set_values(struct call_set *set, const uint8_t *records, uint32_t stride, const uint32_t *slots, uint32_t count,
                            struct vector *vectors, void (*fail)(void *owner, uint32_t k, enum error_code code, const char *text),
                            void *owner, struct error *err);
/* into += weight * from. */
enum status call_set_merge(struct call_set *set, struct call_states *states, void *into, const void *from, int64_t weight,
                           struct error *err);
/* Frees what a record holds in the slab. */
void call_set_clear(struct call_set *set, struct call_states *states, void *record);

/* ---- records that are forgotten (call_set_records.c) ----
 * Rows in the tables of DISTINCT cannot be found by their record. Where records may go before those rows are taken back, a record's number in
 * the tables is not only its slot, but in the upper half also its generation, which no record of the slot had before. */

/* After call_states_open. Does nothing without DISTINCT, and neither do the others then. */
void call_states_number_records(const struct call_set *set, struct call_states *states, bool kept);
enum status call_states_begin_record(struct call_states *states, uint32_t slot, struct error *err);
bool call_states_has_record(const struct call_states *states, uint32_t slot); /* begun, and not at its end */
void call_states_end_record(struct call_states *states, uint32_t slot);
/* Removes DISTINCT rows whose record is not there any more: looks at `rows` rows of each table, and comes round. */
enum status call_states_sweep(const struct call_set *set, struct call_states *states, uint32_t rows, struct error *err);
/* The column "generation" (BIGINT) of a table of records; all NULL where numbers are not kept. And back: 0 for NULL. */
enum status call_states_generation_column(const struct call_states *states, const uint32_t *slots, uint32_t count, struct vector *vector,
                                          struct error *err);
uint32_t call_states_generation(const struct vector *column, uint32_t row);
enum status call_states_restore_record(struct call_states *states, uint32_t slot, uint32_t generation, struct error *err);

/* ---- state (call_set_state.c) ---- */

/* A record's states as bytes, and back into a zeroed record. */
void call_set_save(const struct call_set *set, const void *record, struct text_builder *out);
/* Those of many records, at records + slot * stride, as a new column of BYTES. */
enum status call_set_states_column(const struct call_set *set, const uint8_t *records, uint32_t stride, const uint32_t *slots,
                                   uint32_t count, struct vector *vector, struct error *err);
bool call_set_is_plain(const struct call_set *set); /* records hold no pointers: a copy of one is as good in any thread */
enum status call_set_load(struct call_set *set, struct call_states *states, void *record, struct text bytes, struct error *err);
/* The layouts (state/snapshot.h) of a table whose column `states` is such bytes. */
enum status call_set_layouts(const struct call_set *set, uint32_t states, struct snapshot_table *table, struct error *err);
/* The DISTINCT tables of one call_states as state tables. Columns: the record's number, the arguments, the counts. They come after the
 * records. Where records of several call_states are kept (panes), `scope` tells them apart: its base is added to their slots, and their rows
 * die by its expiry. ids: slots of the table, likewise. */
struct distinct_scope {
    uint64_t base;
    int64_t expiry;
};
uint32_t call_set_table_count(const struct call_set *set);
enum status call_set_declare_tables(const struct call_set *set, bool scoped, struct snapshot_table *tables, struct error *err);
enum status call_states_track(const struct call_set *set, struct call_states *states, struct error *err);
/* What has changed is saved elsewhere. */
void call_states_forget_changes(const struct call_set *set, struct call_states *states);
enum status call_states_save(struct call_set *set, struct call_states *states, struct snapshot_writer *writer, uint32_t first_table,
                             const struct distinct_scope *scope, struct error *err);
static inline uint64_t call_set_distinct_record(const struct batch *batch, uint32_t row) /* the number of the row's record */
{
    return (uint64_t)snapshot_number(batch, row, 0);
}
/* The columns of some slots, and such rows back. records: by row, the slot of its record now; rows of SLOT_NONE are left out. slots: by row,
 * where it is in the table now, SLOT_NONE. */
enum status call_states_columns(struct call_set *set, struct call_states *states, uint32_t index, const uint32_t *slots, uint32_t count,
                                struct batch *batch, struct error *err);
enum status call_states_restore(struct call_set *set, struct call_states *states, uint32_t index, const struct batch *batch,
                                const uint32_t *records, uint32_t *slots, struct error *err);
/* The key table of a set's values, and the columns of its arguments. */
enum status call_states_values(struct call_set *set, struct call_states *states, uint32_t index, struct key_table **keys,
                               struct error *err);
const uint32_t *call_set_distinct_args(const struct call_set *set, uint32_t index, uint32_t *count);

#endif
