/* circuit/operators/keyed_records.h: records of aggregate states by key, made and freed whole.
 *
 * For         the slices and windows of window_aggregate, the closed sessions of session_window.
 * Shape       A key table whose one value is the record: weight of the group's rows, then the states of all calls; of records that are merged, by
 *             how many others they were added up, less those taken away: a weight of 0 does not tell, for rows may be withdrawn before they come.
 * Database    With keyed_layout_spill and keyed_records_spill records may be in a database (keyed_records_cold.c): what follows then sees to it that
 *             they are in memory when they are needed, or come by in pieces. Whoever changes them says so to their cold tables.
 * Ownership   keyed_records_close frees everything at once.
 */
#ifndef SPATE_CIRCUIT_OPERATORS_KEYED_RECORDS_H
#define SPATE_CIRCUIT_OPERATORS_KEYED_RECORDS_H

#include "circuit/operators/records_cold.h"
#include "circuit/operators/window_time.h"

/* What all tables of an operator have in common. */
struct keyed_layout {
    struct node *node;
    struct call_set *calls;
    const uint32_t *keys; /* input columns */
    const struct type **key_types;
    uint32_t *key_order; /* 0, 1, 2, ...: the keys as columns of their own */
    uint32_t key_count, call_count, record_bytes;
    uint32_t parts_at;           /* in a record; 0: not merged */
    struct records_layouts cold; /* keyed_layout_spill */
    bool pinned;                 /* nothing leaves memory now */
};
struct keyed_records {
    struct key_table *table; /* NULL: empty, nothing to close */
    struct call_states states;
    struct dirty_slots dirty;          /* the records that were added to, where a budget is set */
    struct records_cold *cold;         /* NULL: all are in memory */
    const struct keyed_layout *layout; /* under a database; then records may not move */
    const struct records_layouts *kept_as;
    bool pinned;
};
enum status keyed_layout_open(struct keyed_layout *layout, struct node *node, struct circuit *circuit, const struct input_spec *input,
                              const uint32_t *keys, uint32_t key_count, struct call_set *calls, uint32_t call_count, struct error *err);
void keyed_layout_merge(struct keyed_layout *layout); /* records will be merged */
enum status keyed_records_open(const struct keyed_layout *layout, struct keyed_records *records, struct error *err);
/* Of empty records: changes are followed. */
enum status keyed_records_track(const struct keyed_layout *layout, struct keyed_records *records, struct error *err);
void keyed_records_close(const struct keyed_layout *layout, struct keyed_records *records);
size_t keyed_records_bytes(const struct keyed_layout *layout, const struct keyed_records *records);
/* Adds the selected rows; hashes of the keys by physical row. */
enum status keyed_records_add(const struct keyed_layout *layout, struct keyed_records *records, const struct batch *batch,
                              const uint64_t *hashes, struct error *err);
/* into += weight * from, weight 1 or -1; groups of which nothing is left are removed. */
enum status keyed_records_merge(const struct keyed_layout *layout, struct keyed_records *into, struct keyed_records *from, int64_t weight,
                                struct error *err);
/* Emits one row per group of positive weight: keys, calls, then the window columns asked for. */
struct window_output {
    const struct window_time *time;
    struct window_bounds bounds;
    const enum window_column *columns;
    uint32_t column_count;
    const struct schema *schema;
};
enum status keyed_records_emit(const struct keyed_layout *layout, struct keyed_records *records, const struct window_output *output,
                               struct error *err);
/* The time that a window column shows. */
int64_t window_column_time(const struct window_output *output, enum window_column column, int64_t now_us);

/* ---- in a database ---- */

/* records: the layout of the state table of records; its first columns are the keys, and its values weight and states, perhaps what tells of
 * merges. */
enum status keyed_layout_spill(struct keyed_layout *layout, const struct cold_layout *records, uint32_t first_table, struct error *err);
/* Of open records. cold: the layout's, or one like it of another operator_id. Else as records_cold_create. */
enum status keyed_records_spill(const struct keyed_layout *layout, const struct records_layouts *cold, struct text scope,
                                const uint64_t *units, int64_t expiry, struct keyed_records *records, struct error *err);
/* Records of these keys come back into memory. */
enum status keyed_records_fetch(const struct keyed_records *records, const struct batch *batch, const uint32_t *keys,
                                const uint64_t *hashes, struct error *err);
/* What the database has of them is removed there; they will be closed. */
enum status keyed_records_forget(struct keyed_records *records, struct error *err);
/* Rows of a state table into records; one that is there already is merged with (mergeable calls). slots: of the selected rows. */
enum status keyed_records_load(const struct keyed_layout *layout, struct keyed_records *records, const struct batch *batch,
                               uint32_t weight_column, uint32_t states_column, uint32_t *slots, struct error *err);
/* All records, at most `limit` at a time: slots of `records`, which may be others that are gone when visit returns. */
typedef enum status keyed_visit(void *context, const struct keyed_records *records, const uint32_t *slots, uint32_t count,
                                struct error *err);
enum status keyed_records_walk(const struct keyed_layout *layout, struct keyed_records *records, uint32_t limit, keyed_visit *visit,
                               void *context, struct error *err);

#endif
