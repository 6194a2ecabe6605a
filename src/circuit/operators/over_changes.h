/* circuit/operators/over_changes.h: the difference between what a partition showed and what it shows now.
 *
 * For         over_node.c, when all rows of a partition are kept.
 * Shape       New output rows are collected as handles; those that were shown before are found by hash, the others are emitted, gone ones
 *             with -1.
 * Ownership   Zero with `budget` set is empty; over_changes_release frees it. Rows belong to the store.
 */
#ifndef SPATE_CIRCUIT_OPERATORS_OVER_CHANGES_H
#define SPATE_CIRCUIT_OPERATORS_OVER_CHANGES_H

#include "circuit/operators/row_output.h"

struct over_hashed {
    uint64_t hash;
    row_handle row;
};
struct over_changes {
    struct budget *budget;
    row_handle *made; /* new output rows, in order */
    uint32_t count, capacity;
    struct over_hashed *old, *new;
    uint32_t old_capacity, new_capacity;
};
/* Room for one more than `count` things of `bytes` in a list. */
enum status over_list_room(struct budget *budget, void **list, uint32_t *capacity, uint32_t count, size_t bytes, struct error *err);
void over_list_free(struct budget *budget, void *list, uint32_t capacity, size_t bytes);
enum status over_changes_collect(struct over_changes *changes, struct row_store *store, const struct batch *batch, struct error *err);
enum status over_changes_emit(struct over_changes *changes, const struct row_store *store, const row_handle *before, uint32_t before_count,
                              struct row_output *output, struct error *err);
void over_changes_release(struct over_changes *changes);

#endif
