/* state/id_set.h: a set of 64-bit numbers.
 *
 * For         which rows of a chain of files were seen (snapshot reader); which ids an operator has touched since the last checkpoint.
 * Shape       Open addressing, a power of two of cells, at most half full; zero is kept aside.
 * Ownership   Zero is empty; id_set_close frees.
 * Errors      NO_MEMORY.
 */
#ifndef SPATE_STATE_ID_SET_H
#define SPATE_STATE_ID_SET_H

#include "base/budget.h"
#include "base/error.h"

struct id_set {
    struct budget *budget;
    uint64_t *cells;
    uint32_t count, capacity;
    bool has_zero;
};
enum status id_set_add(struct id_set *set, uint64_t id, struct error *err);
bool id_set_has(const struct id_set *set, uint64_t id);
void id_set_close(struct id_set *set);

#endif
