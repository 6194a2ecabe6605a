#include "state/id_set.h"

#include "base/hash.h"
#include "state/slot_array.h"

static uint32_t place_of(const struct id_set *set, uint64_t id)
{
    uint32_t at = (uint32_t)hash_uint64(id) & (set->capacity - 1);
    while (set->cells[at] != 0 && set->cells[at] != id) {
        at = (at + 1) & (set->capacity - 1);
    }
    return at;
}

static enum status grow(struct id_set *set, struct error *err)
{
    struct id_set larger = {.budget = set->budget, .capacity = set->capacity == 0 ? 64 : set->capacity * 2};
    TRY_ALLOC(larger.cells, slot_array_grow(set->budget, NULL, 0, larger.capacity * sizeof(uint64_t)), err);
    for (uint32_t i = 0; i < set->capacity; i++) {
        if (set->cells[i] != 0) {
            larger.cells[place_of(&larger, set->cells[i])] = set->cells[i];
        }
    }
    slot_array_free(set->budget, set->cells, set->capacity * sizeof(uint64_t));
    set->cells = larger.cells;
    set->capacity = larger.capacity;
    return STATUS_OK;
}

enum status id_set_add(struct id_set *set, uint64_t id, struct error *err)
{
    if (id == 0) {
        set->has_zero = true;
        return STATUS_OK;
    }
    if (set->count * 2 >= set->capacity) {
        TRY(grow(set, err));
    }
    uint32_t at = place_of(set, id);
    set->count += set->cells[at] == 0;
    set->cells[at] = id;
    return STATUS_OK;
}

bool id_set_has(const struct id_set *set, uint64_t id)
{
    if (id == 0) {
        return set->has_zero;
    }
    return set->capacity > 0 && set->cells[place_of(set, id)] == id;
}

void id_set_close(struct id_set *set)
{
    if (set->cells != NULL) {
        slot_array_free(set->budget, set->cells, set->capacity * sizeof(uint64_t));
    }
    *set = (struct id_set){.budget = set->budget};
}
