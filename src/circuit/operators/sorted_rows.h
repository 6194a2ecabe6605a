/* circuit/operators/sorted_rows.h: stored rows in a total order, with weights.
 *
 * For         Top-N, LIMIT, OVER, temporal sort.
 * Shape       Blocks of up to SORTED_BLOCK_ITEMS items, each block sorted, the blocks in order: a binary search over blocks, one within,
 *             and a move of half a block per insert. An item carries the first sort key as a number (prefix), so most comparisons do
 *             not touch the row.
 * Order       The sort keys; then, where rows have a source order, its ordinal; then all columns. Items that are equal by that are
 *             the same row.
 * Ownership   A sorted_rows that is zero is empty; it owns its blocks, not the rows (they are freed by whoever removes the item).
 * Threads     One task.
 */
#ifndef SPATE_CIRCUIT_OPERATORS_SORTED_ROWS_H
#define SPATE_CIRCUIT_OPERATORS_SORTED_ROWS_H

#include "sql/relation.h"
#include "state/row_store.h"

enum { SORTED_BLOCK_ITEMS = 128 };

struct sorted_item {
    int64_t prefix;
    row_handle row;
    int64_t ordinal;
    int64_t weight;
};

struct row_order {
    const struct row_store *store;
    const struct sort_key *keys;
    uint32_t key_count;
    bool ordered;
    bool exact; /* one key, and the prefix says all, except at its two ends */
    const struct sort_key *all;
    uint32_t column_count;
};
enum status row_order_init(struct row_order *order, struct arena *arena, const struct row_store *store, const struct schema *schema,
                           const struct sort_key *keys, uint32_t key_count, bool ordered, struct error *err);
/* The prefix of a row of a batch whose columns are those of the store. */
int64_t row_order_prefix(const struct row_order *order, const struct batch *batch, uint32_t row);
/* The FLOAT or DOUBLE that a prefix of the first key was made of; NaN for NaN. Not for NULL. */
double row_order_double(int64_t prefix, const struct sort_key *key);
int row_order_compare_keys(const struct row_order *order, const struct sorted_item *left, const struct sorted_item *right);
int row_order_compare(const struct row_order *order, const struct sorted_item *left, const struct sorted_item *right);

struct sorted_block {
    uint32_t count, capacity;
    struct sorted_item items[];
};
struct sorted_rows {
    struct sorted_block **blocks;
    uint32_t block_count, block_capacity;
};
struct sorted_place {
    uint32_t block, at;
};

/* The first item that is not below `item`, or the end. */
struct sorted_place sorted_rows_seek(const struct sorted_rows *rows, const struct row_order *order, const struct sorted_item *item);
/* NULL at the end. *place is made to point at it (it may stand at the end of a block). */
static inline struct sorted_item *sorted_rows_at(const struct sorted_rows *rows, struct sorted_place *place)
{
    while (place->block < rows->block_count && place->at >= rows->blocks[place->block]->count) {
        place->block++;
        place->at = 0;
    }
    return place->block < rows->block_count ? &rows->blocks[place->block]->items[place->at] : NULL;
}
static inline struct sorted_item *sorted_rows_last(const struct sorted_rows *rows)
{
    if (rows->block_count == 0) {
        return NULL;
    }
    struct sorted_block *block = rows->blocks[rows->block_count - 1];
    return &block->items[block->count - 1];
}
enum status sorted_rows_insert(struct sorted_rows *rows, struct budget *budget, struct sorted_place place, const struct sorted_item *item,
                               struct error *err);
void sorted_rows_remove(struct sorted_rows *rows, struct budget *budget, struct sorted_place place);
void sorted_rows_release(struct sorted_rows *rows, struct budget *budget); /* the blocks; leaves it empty */

#endif
