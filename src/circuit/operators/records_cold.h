/* circuit/operators/records_cold.h: records of aggregate states by key, and the values of their DISTINCT sets, in a database.
 *
 * For         group_aggregate, and the windows of window_aggregate, of which each has records of its own (a scope: state/cold_table.h).
 * Shape       A record is a unit; so is each (record, value) of a DISTINCT set, which may be elsewhere than its record: a group of a million
 *             values need not come whole. But values are kept by their record's slot, so a record that leaves memory takes along those of its
 *             values that are there.
 * Ownership   records_cold_create allocates, charged to the node's budget; destroy frees, and takes the tables off the node's list. Layouts are
 *             in the circuit's arena.
 * Threads     One task.
 */
#ifndef SPATE_CIRCUIT_OPERATORS_RECORDS_COLD_H
#define SPATE_CIRCUIT_OPERATORS_RECORDS_COLD_H

#include "circuit/circuit_cold.h"
#include "circuit/operators/call_set.h"

struct records_layouts {
    struct cold_layout records, *values; /* values: by DISTINCT set */
    uint32_t **columns;                  /* of the input, by DISTINCT set: the records' keys, the arguments */
    uint32_t count;                      /* of DISTINCT sets */
};
/* records: as node_make_layout has it, perhaps with a scope. first_table: that of the first DISTINCT set among node->tables. keys: columns of
 * the input, the key without the scope. */
enum status records_layouts_make(struct node *node, const struct call_set *calls, const struct cold_layout *records, uint32_t first_table,
                                 const uint32_t *keys, struct records_layouts *layouts, struct error *err);

struct records_cold_spec {
    struct node *node;
    struct call_set *calls;
    struct call_states *states;
    struct key_table *table;
    const struct records_layouts *layouts;
    uint32_t states_at, record_bytes; /* where the call states begin in the table's value */
    /* columns, add, pinned, perhaps due for records, with their context */
    struct cold_owner owner;
    void (*gone)(void *context, uint32_t slot); /* NULL: nobody asks */
    int64_t expiry;                             /* of DISTINCT rows, where their table has one */
};
struct records_cold;
/* scope.bytes NULL: none. units: with a scope, what the database has: of each DISTINCT set, then records; NULL: nothing. */
enum status records_cold_create(const struct records_cold_spec *spec, struct text scope, const uint64_t *units,
                                struct records_cold **records, struct error *err);
void records_cold_destroy(struct records_cold *records); /* NULL is allowed */
struct cold_table *records_cold_table(struct records_cold *records);
struct cold_table *records_cold_values(struct records_cold *records, uint32_t index);

#endif
