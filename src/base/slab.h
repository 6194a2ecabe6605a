/* base/slab.h: memory of many sizes, freed one block at a time or all at once.
 *
 * For         variable parts of state: long keys, rows, multisets, texts.
 * Shape       Blocks are rounded up to a size class and cut from pages; a freed block goes to its class's list. Blocks beyond the
 *             largest class are allocated one by one. A page is never given back before slab_close.
 * Invariants  Memory is aligned to the slab's grain (8 or 16 bytes), not zeroed. The size given to free and resize is the size asked for.
 * Ownership   slab_close frees everything at once, whatever was not freed before.
 * Errors      NULL: the budget is spent. Nothing is changed then.
 * Threads     One at a time.
 */
#ifndef SPATE_BASE_SLAB_H
#define SPATE_BASE_SLAB_H

#include <stddef.h>
#include <stdint.h>

#include "base/budget.h"

enum { SLAB_GRAIN = 16, SLAB_CLASSES = 60, SLAB_BLOCK_MAX = 32768 };

struct slab {
    struct budget *budget;
    size_t grain;
    size_t bytes;      /* charged */
    size_t free_bytes; /* of blocks that were freed and wait for their next use */
    uint8_t *cursor, *end;
    struct slab_page *pages;
    struct slab_large *large;
    size_t page_bytes; /* of the next page */
    void *free[SLAB_CLASSES];
};
void slab_open(struct slab *slab, struct budget *budget, size_t grain);
void *slab_alloc(struct slab *slab, size_t bytes);
/* The contents up to the smaller size are kept. `old` may be NULL with old_bytes 0. */
void *slab_resize(struct slab *slab, void *old, size_t old_bytes, size_t bytes);
void slab_free(struct slab *slab, void *memory, size_t bytes); /* NULL is allowed */
void slab_close(struct slab *slab);
size_t slab_round(size_t bytes); /* what a block of this size really takes, of a slab with SLAB_GRAIN */

#endif
