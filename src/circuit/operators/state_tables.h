/* circuit/operators/state_tables.h: what operators need to declare, write and take back their state tables.
 *
 * For         the save and restore of operators (circuit/node.h, state/snapshot.h).
 * Shape       A table whose rows are slots of a key table: state_save_slots walks all of them or those that changed, and asks the owner for
 *             the columns of a chunk. The id of a row is its slot, below `base` where several tables share a state table.
 * Ownership   Schemas and place columns are in the arena. Columns made here are vectors that the caller's batch releases.
 * Threads     One task.
 */
#ifndef SPATE_CIRCUIT_OPERATORS_STATE_TABLES_H
#define SPATE_CIRCUIT_OPERATORS_STATE_TABLES_H

#include "circuit/operators/specs.h"
#include "state/dirty_slots.h"
#include "state/key_table.h"
#include "state/snapshot.h"
#include "state/time_to_live.h"

/* A schema of input columns, with their names, then `extra` ones. */
enum status state_schema_make(struct arena *arena, const struct schema *input, const uint32_t *columns, uint32_t count,
                              const struct column *extra, uint32_t extra_count, const struct schema **schema, struct error *err);
/* Sets where rows go: the table's column i is the input's columns[i], and these hold all that the input is placed by. */
enum status state_table_place(struct arena *arena, const struct input_spec *input, const uint32_t *columns, uint32_t count,
                              struct snapshot_table *table, struct error *err);

/* Where an input's rows may be on any worker (SNAPSHOT_EVERY) all of them see its state: is this part the worker's own? */
static inline bool state_is_own(const struct circuit *circuit, const struct input_spec *input, const struct snapshot_rows *rows)
{
    return input->placed != SNAPSHOT_EVERY || rows->chain % circuit->worker_count == circuit->worker;
}

/* New vectors. */
enum status state_number_column(struct budget *budget, const int64_t *values, uint32_t count, struct vector *vector, struct error *err);
/* When entries were written last, for a table's column "written" (BIGINT); all NULL without a time-to-live. */
enum status state_written_column(const struct time_to_live *ttl, struct budget *budget, const uint32_t *entries, uint32_t count,
                                 struct vector *vector, struct error *err);
/* And back: the time of a restored row. */
static inline enum status state_restore_written(struct time_to_live *ttl, uint32_t entry, const struct batch *batch, uint32_t row,
                                                uint32_t column, struct error *err)
{
    const struct vector *written = &batch->columns[column];
    if (!ttl_is_set(ttl)) {
        return STATUS_OK;
    }
    return ttl_restore(ttl, entry, vector_is_valid(written, row) ? vector_int64(written)[row] : TTL_NO_TIME, err);
}
extern const struct type state_bytes_type; /* BYTES NOT NULL */
/* Of that type: value k ends at ends[k] of `bytes`, where the next begins. */
enum status state_bytes_column(struct budget *budget, const struct text_builder *bytes, const size_t *ends, uint32_t count,
                               struct vector *vector, struct error *err);

/* Fills the columns of an initialised batch with the rows of `count` slots. */
typedef enum status state_columns(void *owner, const uint32_t *slots, uint32_t count, struct batch *batch, struct error *err);
/* dirty NULL: changes are not followed, the table is always written whole. keys NULL: there is one slot, 0. */
enum status state_save_slots(struct snapshot_writer *writer, uint32_t table, uint32_t column_count, const struct key_table *keys,
                             uint64_t base, struct dirty_slots *dirty, state_columns *columns, void *owner, struct error *err);

/* The same of a table that may be large (records NULL: `columns` makes all columns), with ids that are slots: where the writer defers, the rows are handed over in parts after the save.
 * Whoever changes or removes a slot calls slot_cut_keep before. Zero with pending.budget set is at rest; slot_cut_close frees. */
struct slot_cut {
    struct snapshot_deferred deferred;
    struct snapshot_writer *writer; /* NULL: at rest */
    uint32_t first_table;
    const struct key_table *keys;
    struct slot_chunk *chunk;
    struct dirty_slots pending; /* the bits of those that are still to be handed over; all: without the list */
    bool all;
    uint32_t next; /* in the list; all: word of bits */
    uint32_t part; /* rows that are handed over at once: pipeline.chunk.rows */
};
/* Of some columns only: record_bytes of each slot are copied as they are, `fill` makes the columns of them later, in another thread
 * (snapshot_keep_raw). `columns` then makes the others. */
struct slot_records {
    const struct key_table *table; /* value 0 is copied */
    uint32_t record_bytes;
    enum status (*fill)(void *owner, const void *records, uint32_t count, struct batch *batch, struct error *err);
};
enum status slot_cut_save(struct slot_cut *cut, struct snapshot_writer *writer, uint32_t table, uint32_t column_count,
                          const struct key_table *keys, struct dirty_slots *dirty, state_columns *columns, void *owner,
                          const struct slot_records *records, struct error *err);
void slot_cut_close(struct slot_cut *cut);
enum status slot_cut_keep_now(struct slot_cut *cut, const uint32_t *slots, uint32_t count, struct error *err);
static inline enum status slot_cut_keep(struct slot_cut *cut, const uint32_t *slots, uint32_t count, struct error *err) /* <= CHUNK_ROWS */
{
    return LIKELY(cut->writer == NULL) ? STATUS_OK : slot_cut_keep_now(cut, slots, count, err);
}

/* During a restore: the slot that a row of a chain has now, by the id that it had. */
struct state_map {
    struct budget *budget;
    struct state_chain {
        uint32_t *slots; /* slot + 1 by id; 0: not here */
        uint32_t count;
    } * chains;
    uint32_t chain_count;
};
enum status state_map_set(struct state_map *map, uint32_t chain, uint64_t id, uint32_t slot, struct error *err);
uint32_t state_map_get(const struct state_map *map, uint32_t chain, uint64_t id); /* SLOT_NONE: not here */
void state_map_close(struct state_map *map);

#endif
