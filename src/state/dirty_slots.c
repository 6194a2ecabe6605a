#include "state/dirty_slots.h"

#include <string.h>

#include "state/slot_array.h"

static enum status grow_bits(struct dirty_slots *dirty, uint32_t slot, struct error *err)
{
    uint32_t words = dirty->word_count == 0 ? 64 : dirty->word_count;
    while (slot / 64 >= words) {
        words *= 2;
    }
    uint64_t *bits;
    TRY_ALLOC(bits, slot_array_grow(dirty->budget, dirty->bits, dirty->word_count * sizeof *bits, words * sizeof *bits), err);
    dirty->bits = bits;
    dirty->word_count = words;
    return STATUS_OK;
}

enum status dirty_slots_add(struct dirty_slots *dirty, uint32_t slot, struct error *err)
{
    if (slot / 64 >= dirty->word_count) {
        TRY(grow_bits(dirty, slot, err));
    }
    if (dirty->count == dirty->capacity) {
        uint32_t capacity = dirty->capacity == 0 ? 256 : dirty->capacity * 2;
        uint32_t *slots;
        TRY_ALLOC(slots, slot_array_grow(dirty->budget, dirty->slots, dirty->capacity * sizeof *slots, capacity * sizeof *slots), err);
        dirty->slots = slots;
        dirty->capacity = capacity;
    }
    dirty->bits[slot / 64] |= (uint64_t)1 << (slot % 64);
    dirty->slots[dirty->count++] = slot;
    return STATUS_OK;
}

enum status dirty_slots_copy(struct dirty_slots *dirty, const uint64_t *bits, uint32_t slots, struct error *err)
{
    if (slots == 0) {
        return STATUS_OK;
    }
    if ((slots - 1) / 64 >= dirty->word_count) {
        TRY(grow_bits(dirty, slots - 1, err));
    }
    memcpy(dirty->bits, bits, ((size_t)slots + 63) / 64 * sizeof *bits);
    return STATUS_OK;
}

void dirty_slots_clear(struct dirty_slots *dirty)
{
    for (uint32_t i = 0; i < dirty->count; i++) {
        dirty->bits[dirty->slots[i] / 64] = 0;
    }
    dirty->count = 0;
}

void dirty_slots_close(struct dirty_slots *dirty)
{
    if (dirty->bits != NULL) {
        slot_array_free(dirty->budget, dirty->bits, dirty->word_count * sizeof *dirty->bits);
    }
    if (dirty->slots != NULL) {
        slot_array_free(dirty->budget, dirty->slots, dirty->capacity * sizeof *dirty->slots);
    }
    *dirty = (struct dirty_slots){.budget = dirty->budget};
}
