/* circuit/operators/row_output.h: stored rows on their way out, a chunk at a time.
 *
 * For         operators that keep rows in a row store and emit some of them, with weights: Top-N, deduplication, sort, limit.
 * Shape       Rows are collected as handles; a full chunk, or row_output_flush, gathers and emits them. The output's columns are
 *             the stored ones, then (numbered) one BIGINT.
 * Invariants  A handle stays stored until the flush that follows its add.
 * Threads     One at a time.
 */
#ifndef SPATE_CIRCUIT_OPERATORS_ROW_OUTPUT_H
#define SPATE_CIRCUIT_OPERATORS_ROW_OUTPUT_H

#include "circuit/circuit.h"
#include "sql/relation.h"
#include "state/row_store.h"

struct row_output {
    struct node *node;
    struct row_store *store;
    const struct schema *schema;
    bool numbered;
    uint32_t count, limit;
    bool weighted;
    row_handle rows[CHUNK_ROWS];
    int64_t weights[CHUNK_ROWS], numbers[CHUNK_ROWS];
};

/* Rows per chunk that the job asks for. */
uint32_t node_chunk_rows(const struct node *node);
/* The types of a schema's columns, in the arena. */
enum status schema_types(struct arena *arena, const struct schema *schema, const struct type *const **types, struct error *err);

enum status row_output_create(struct node *node, struct row_store *store, const struct schema *schema, bool numbered,
                              struct row_output **output, struct error *err);
enum status row_output_add(struct row_output *output, row_handle row, int64_t weight, int64_t number, struct error *err);
enum status row_output_flush(struct row_output *output, struct error *err);

#endif
