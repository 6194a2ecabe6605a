/* circuit/operators/call_set_internal.h: how a set of aggregate calls lies in memory, for the files of its implementation. */
#ifndef SPATE_CIRCUIT_OPERATORS_CALL_SET_INTERNAL_H
#define SPATE_CIRCUIT_OPERATORS_CALL_SET_INTERNAL_H

#include "circuit/operators/call_set.h"

enum { ALL_ROWS = -1, FILTER_BITS = 64 };

/* Rows of the batch at hand, with their slots; what a filter or DISTINCT leaves. */
struct passed_rows {
    uint32_t count;
    uint16_t rows[CHUNK_ROWS];
    uint32_t slots[CHUNK_ROWS];
};
struct bound_call {
    const struct aggregate_spec_call *spec;
    struct accumulator accumulator;
    const struct vector **args;
    uint32_t offset;
    int32_t filter;   /* index of a filter, ALL_ROWS */
    int32_t distinct; /* index of a DISTINCT set, -1 */
};
struct row_filter {
    uint32_t column;
    struct passed_rows *passed;
};
struct distinct_set {
    const uint32_t *args;
    uint32_t arg_count;
    uint32_t filter_count;
    int32_t filters[FILTER_BITS]; /* index of a filter or ALL_ROWS, by place in the record of counts */
    const struct type **key_types;
};
struct call_set {
    struct circuit *circuit;
    const struct input_spec *input;
    bool changes, merges, mergeable, invertible;
    uint32_t call_count, bytes, filter_count, distinct_count;
    struct bound_call *calls;
    struct row_filter *filters;
    struct distinct_set *distinct;
    uint32_t *all_keys; /* 0, 1, 2, ... */
    /* scratch of DISTINCT */
    struct passed_rows *first; /* rows that are the first of their value */
    int64_t *first_weights;    /* by physical row */
    int64_t *slot_of_row;
    uint32_t *place_of_row;
    uint64_t *hashes;
};
struct distinct_rows { /* of a DISTINCT table, on their way to a checkpoint */
    struct call_set *set;
    struct key_table *table;
    uint32_t index;
    const struct distinct_scope *scope;
};
struct distinct_cut {
    struct slot_cut cut;
    struct distinct_rows rows;
};
/* The number of a record in the DISTINCT tables. */
static inline int64_t call_states_record(const struct call_states *states, uint32_t slot)
{
    return (int64_t)(states->numbers.kept ? (uint64_t)states->numbers.generations[slot] << 32 | slot : slot);
}
void call_states_forget_numbers(struct call_states *states);
uint32_t call_set_distinct_bytes(const struct call_set *set, const struct distinct_set *distinct); /* of a record of counts */
enum status call_set_distinct_table(struct call_set *set, struct call_states *states, uint32_t index, struct key_table **table,
                                    struct error *err);

#endif
