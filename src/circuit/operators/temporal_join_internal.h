/* circuit/operators/temporal_join_internal.h: how a temporal join lies in memory, for the files of its implementation. */
#ifndef SPATE_CIRCUIT_OPERATORS_TEMPORAL_JOIN_INTERNAL_H
#define SPATE_CIRCUIT_OPERATORS_TEMPORAL_JOIN_INTERNAL_H

#include "circuit/circuit_cold.h"
#include "circuit/operators/time_heap.h"
#include "circuit/operators/version_list.h"
#include "functions/program.h"

enum temporal_table { TABLE_WAITING, TABLE_VERSIONS, TABLE_COUNT };

struct temporal_join {
    struct node node;
    const struct temporal_join_spec *spec;
    struct key_table *table;
    struct row_store *left;
    struct version_rows right;
    struct time_heap waiting;
    struct program *condition;
    const char **names;
    struct row_failures failures;
    uint32_t *changed; /* slots whose versions changed in this tick */
    uint32_t changed_count, changed_capacity;
    struct touched_rows arrived; /* checkpoints: left rows, keys of the right side */
    struct dirty_slots dirty;
    struct cold_table *cold; /* versions: NULL: no database */
    uint32_t count, limit;   /* rows that are due */
    int64_t times[CHUNK_ROWS];
    row_handle rows[CHUNK_ROWS], versions[CHUNK_ROWS], handles[CHUNK_ROWS];
    uint64_t hashes[CHUNK_ROWS];
    uint32_t slots[CHUNK_ROWS];
    uint16_t selected[CHUNK_ROWS], kept[CHUNK_ROWS];
};
static inline struct version_list *temporal_versions(const struct temporal_join *self)
{
    return key_table_values(self->table, 0);
}
/* temporal_join_state.c: the state tables "waiting" and "versions". */
enum { TEMPORAL_NUMBERS = 3 }; /* of a version: time, from, ended */
void temporal_numbers(const struct version *version, int64_t numbers[TEMPORAL_NUMBERS]);
enum status temporal_declare(struct temporal_join *self, struct error *err);
enum status temporal_save(struct node *node, struct snapshot_writer *writer, struct error *err);
enum status temporal_restore(struct node *node, uint32_t table, const struct snapshot_rows *rows, struct error *err);
/* Rows of "versions" back into the lists of their keys; self->slots: where these are. */
enum status temporal_add_versions(struct temporal_join *self, const struct batch *batch, struct error *err);
/* temporal_join_cold.c */
enum status temporal_open_cold(struct node *node, struct error *err);

#endif
