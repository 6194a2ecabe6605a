/* state/dirty_slots.h: which slots were touched since the last checkpoint.
 *
 * For         operators whose checkpoints hold changes only.
 * Shape       A bit a slot, and the list of those that are set, in order of first touch.
 * Ownership   Zero with `budget` set is empty; dirty_slots_close frees.
 * Errors      NO_MEMORY.
 */
#ifndef SPATE_STATE_DIRTY_SLOTS_H
#define SPATE_STATE_DIRTY_SLOTS_H

#include "base/budget.h"
#include "base/error.h"

struct dirty_slots {
    struct budget *budget;
    uint64_t *bits;
    uint32_t *slots;
    uint32_t word_count, count, capacity;
};
enum status dirty_slots_add(struct dirty_slots *dirty, uint32_t slot, struct error *err); /* one that is not in it */
/* Bits only, without the list, as they are in `bits` up to slot `slots`; of an empty one. */
enum status dirty_slots_copy(struct dirty_slots *dirty, const uint64_t *bits, uint32_t slots, struct error *err);
void dirty_slots_clear(struct dirty_slots *dirty);
void dirty_slots_close(struct dirty_slots *dirty);

static inline bool dirty_slots_has(const struct dirty_slots *dirty, uint32_t slot)
{
    return slot / 64 < dirty->word_count && ((dirty->bits[slot / 64] >> (slot % 64)) & 1) != 0;
}
static inline void dirty_slots_unmark(struct dirty_slots *dirty, uint32_t slot) /* one that is in it; it stays in the list */
{
    dirty->bits[slot / 64] &= ~((uint64_t)1 << (slot % 64));
}
static inline enum status dirty_slots_mark(struct dirty_slots *dirty, uint32_t slot, struct error *err)
{
    return dirty_slots_has(dirty, slot) ? STATUS_OK : dirty_slots_add(dirty, slot, err);
}

#endif
