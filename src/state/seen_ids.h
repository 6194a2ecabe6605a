/* state/seen_ids.h: which rows of a chain of files were seen, for its reader.
 *
 * Shape       Numbers below 2^32, which are slots and entries and lie close together, have a bit each, in pages; the others (addresses of
 *             stored rows, slots of panes) are in a set.
 * Ownership   Zero with `sparse.budget` set is empty; seen_ids_close frees.
 * Errors      NO_MEMORY.
 */
#ifndef SPATE_STATE_SEEN_IDS_H
#define SPATE_STATE_SEEN_IDS_H

#include "state/id_set.h"

enum { SEEN_PAGE_LOG2 = 15 };

struct seen_ids {
    struct id_set sparse;
    uint64_t **pages; /* by id >> SEEN_PAGE_LOG2; NULL: none of them */
    uint32_t page_count;
};
enum status seen_ids_add(struct seen_ids *seen, uint64_t id, struct error *err);
void seen_ids_close(struct seen_ids *seen);

static inline bool seen_ids_is_empty(const struct seen_ids *seen)
{
    return seen->page_count == 0 && seen->sparse.count == 0 && !seen->sparse.has_zero;
}
static inline bool seen_ids_has(const struct seen_ids *seen, uint64_t id)
{
    if (id > UINT32_MAX) {
        return id_set_has(&seen->sparse, id);
    }
    uint64_t page = id >> SEEN_PAGE_LOG2, bit = id & (((uint64_t)1 << SEEN_PAGE_LOG2) - 1);
    return page < seen->page_count && seen->pages[page] != NULL && ((seen->pages[page][bit / 64] >> (bit % 64)) & 1) != 0;
}

#endif
