/* circuit/operators/keyed_records.h: records of aggregate states by key, made and freed whole.
 *
 * For         the slices and windows of window_aggregate, the closed sessions of session_window.
 * Shape       A key table whose one value is the record: weight of the group's rows, then the states of all calls.
 * Ownership   keyed_records_close frees everything at once.
 */
#ifndef SPATE_CIRCUIT_OPERATORS_KEYED_RECORDS_H
#define SPATE_CIRCUIT_OPERATORS_KEYED_RECORDS_H

#include "circuit/operators/call_set.h"
#include "circuit/operators/window_time.h"

/* What all tables of an operator have in common. */
struct keyed_layout {
    struct node *node;
    struct call_set *calls;
    const uint32_t *keys; /* input columns */
    const struct type **key_types;
    uint32_t *key_order; /* 0, 1, 2, ...: the keys as columns of their own */
    uint32_t key_count, call_count, record_bytes;
};
struct keyed_records {
    struct key_table *table; /* NULL: empty, nothing to close */
    struct call_states states;
    struct dirty_slots dirty; /* the records that were added to, where a budget is set */
};
enum status keyed_layout_open(struct keyed_layout *layout, struct node *node, struct circuit *circuit, const struct input_spec *input,
                              const uint32_t *keys, uint32_t key_count, struct call_set *calls, uint32_t call_count, struct error *err);
enum status keyed_records_open(const struct keyed_layout *layout, struct keyed_records *records, struct error *err);
/* Of empty records: changes are followed. */
enum status keyed_records_track(const struct keyed_layout *layout, struct keyed_records *records, struct error *err);
void keyed_records_close(const struct keyed_layout *layout, struct keyed_records *records);
size_t keyed_records_bytes(const struct keyed_layout *layout, const struct keyed_records *records);
/* Adds the selected rows; hashes of the keys by physical row. */
enum status keyed_records_add(const struct keyed_layout *layout, struct keyed_records *records, const struct batch *batch,
                              const uint64_t *hashes, struct error *err);
/* into += weight * from; groups whose weight becomes zero are removed. */
enum status keyed_records_merge(const struct keyed_layout *layout, struct keyed_records *into, const struct keyed_records *from,
                                int64_t weight, struct error *err);
/* Emits one row per group of positive weight: keys, calls, then the window columns asked for. */
struct window_output {
    const struct window_time *time;
    struct window_bounds bounds;
    const enum window_column *columns;
    uint32_t column_count;
    const struct schema *schema;
};
enum status keyed_records_emit(const struct keyed_layout *layout, const struct keyed_records *records, const struct window_output *output,
                               struct error *err);
/* The time that a window column shows. */
int64_t window_column_time(const struct window_output *output, enum window_column column, int64_t now_us);

#endif
