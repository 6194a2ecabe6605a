/* state/cold_filter.h: which keys a database certainly does not have, without asking it.
 *
 * For         state/cold_table.h: a key that comes first costs a look into memory instead of one into the database.
 * Shape       A Bloom filter in layers: each is twice as large as the one before, and made when that is full. A layer is blocks of a cache
 *             line; a key has a few bits in one block of each layer that it was added to. Keys are hashes and are never taken out.
 * Errors      None. Without memory for the next layer keys go on into the last one, which then knows less; without any layer nothing is
 *             known, and all keys may be there.
 * Memory      About 12 bits a key, charged; at most a sixteenth of the account.
 * Ownership   Zero with `budget` set is empty; cold_filter_clear frees.
 * Threads     One task.
 */
#ifndef SPATE_STATE_COLD_FILTER_H
#define SPATE_STATE_COLD_FILTER_H

#include "base/budget.h"
#include "base/compiler.h"

#include <stdint.h>

enum { COLD_FILTER_LAYERS = 24 };

struct cold_filter_layer {
    uint64_t *words;
    uint32_t blocks;
    uint64_t count;
};
struct cold_filter {
    struct budget *budget;
    struct cold_filter_layer layers[COLD_FILTER_LAYERS];
    uint32_t layer_count;
    uint64_t count; /* keys that were added, each once as far as the filter knows */
    size_t bytes;
    bool blind; /* a key could not be added */
};
void cold_filter_add(struct cold_filter *filter, uint64_t hash);
bool cold_filter_may_have(const struct cold_filter *filter, uint64_t hash);
void cold_filter_clear(struct cold_filter *filter);

#endif
