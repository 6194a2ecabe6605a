/* functions/aggregate_list.h: accumulators that keep all values of a group in order.
 *
 * For         LISTAGG, ARRAY_AGG, JSON_ARRAYAGG.
 * Shape       Over ordered inserts the encoded values one after the other; else a sequence. list_walk reads both.
 */
#ifndef SPATE_FUNCTIONS_AGGREGATE_LIST_H
#define SPATE_FUNCTIONS_AGGREGATE_LIST_H

#include "functions/sequence.h"

struct list_appended {
    uint8_t *bytes;
    uint64_t length, capacity;
    int64_t count;
};
struct list_data {
    struct sequence_order order; /* of encoded values; first: sequence_state_save */
    bool appends, skip_nulls;
};
/* Sets state_bytes, update, merge, clear, save, load and data (which must begin with a list_data); value and result are the caller's. */
enum status list_bind(struct aggregate_binding *binding, struct list_data *data, bool skip_nulls, struct error *err);
struct list_walk {
    const struct list_data *data;
    const uint8_t *next; /* appended */
    int64_t left;        /* values left; of the present entry when a sequence */
    const struct multiset *set;
    struct multiset_cursor cursor;
    const uint8_t *entry;
};
struct list_walk list_walk_open(const struct list_data *data, const void *state);
/* The next encoded value; NULL at the end. */
const uint8_t *list_walk_next(struct list_walk *walk);

#endif
