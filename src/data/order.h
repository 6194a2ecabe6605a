/* data/order.h: one equality, one order, one hash for all.
 *
 * For         grouping, joins, state keys, DISTINCT, sort, MIN/MAX, Top-N, consolidation.
 * Rules       Equality: NULL equals NULL, NaN equals NaN, -0.0 equals 0.0; a join excludes NULL keys by itself. Order: NULL
 *             is the smallest; NaN is above all numbers; -0.0 equals 0.0; strings by bytes; arrays and rows by their
 *             elements, shorter first; maps compare equal whatever the order of their entries. Hash agrees with equality.
 * Invariants  The columns compared have the same physical kind.
 */
#ifndef SPATE_DATA_ORDER_H
#define SPATE_DATA_ORDER_H

#include "data/batch.h"

/* -1, 0, 1 */
int vector_compare_rows(const struct vector *left, uint32_t left_row, const struct vector *right, uint32_t right_row);
bool vector_rows_equal(const struct vector *left, uint32_t left_row, const struct vector *right, uint32_t right_row);
uint64_t vector_hash_row(const struct vector *vector, uint32_t row);
/* hashes[row] for each selected row: set (first) or combined with what is there. */
void vector_hash(const struct vector *vector, struct selection rows, bool first, uint64_t *hashes);
/* Hash of the key columns `keys` of each selected row, at hashes[row]. No key columns: all rows the same. */
void batch_hash(const struct batch *batch, const uint32_t *keys, uint32_t key_count, uint64_t *hashes);

struct sort_key {
    uint32_t column;
    bool descending, nulls_first; /* Flink's default: nulls_first == !descending */
};
/* Compares by sort keys; 0 if equal by all of them. */
int sort_keys_compare(const struct sort_key *keys, uint32_t count, const struct vector *left, uint32_t left_row, const struct vector *right,
                      uint32_t right_row);

#endif
