#include "state/seen_ids.h"

#include "state/slot_array.h"

enum { PAGE_BYTES = 1 << (SEEN_PAGE_LOG2 - 3), FIRST_PAGES = 16 };

static enum status need_page(struct seen_ids *seen, uint32_t page, struct error *err)
{
    struct budget *budget = seen->sparse.budget;
    if (page >= seen->page_count) {
        uint32_t count = seen->page_count == 0 ? FIRST_PAGES : seen->page_count;
        while (page >= count) {
            count *= 2;
        }
        uint64_t **grown;
        TRY_ALLOC(grown, slot_array_grow(budget, seen->pages, seen->page_count * sizeof(uint64_t *), count * sizeof(uint64_t *)), err);
        seen->pages = grown;
        seen->page_count = count;
    }
    if (seen->pages[page] == NULL) {
        TRY_ALLOC(seen->pages[page], slot_array_grow(budget, NULL, 0, PAGE_BYTES), err);
    }
    return STATUS_OK;
}

enum status seen_ids_add(struct seen_ids *seen, uint64_t id, struct error *err)
{
    if (id > UINT32_MAX) {
        return id_set_add(&seen->sparse, id, err);
    }
    uint32_t page = (uint32_t)(id >> SEEN_PAGE_LOG2), bit = (uint32_t)id & ((1u << SEEN_PAGE_LOG2) - 1);
    if (page >= seen->page_count || seen->pages[page] == NULL) {
        TRY(need_page(seen, page, err));
    }
    seen->pages[page][bit / 64] |= (uint64_t)1 << (bit % 64);
    return STATUS_OK;
}

void seen_ids_close(struct seen_ids *seen)
{
    struct budget *budget = seen->sparse.budget;
    for (uint32_t page = 0; page < seen->page_count; page++) {
        if (seen->pages[page] != NULL) {
            slot_array_free(budget, seen->pages[page], PAGE_BYTES);
        }
    }
    if (seen->pages != NULL) {
        slot_array_free(budget, seen->pages, seen->page_count * sizeof(uint64_t *));
    }
    id_set_close(&seen->sparse);
    *seen = (struct seen_ids){.sparse.budget = budget};
}
