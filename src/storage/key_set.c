#include "storage/key_set.h"

#include <string.h>

#include "base/hash.h"

enum { FIRST_CAPACITY = 1024 };

/* The slot of the text, or the empty one where it would go. */
static uint32_t find_slot(const char *const *slots, uint32_t capacity, const char *text, size_t length)
{
    uint32_t at = (uint32_t)hash_bytes(text, length) & (capacity - 1);
    while (slots[at] != NULL && (strncmp(slots[at], text, length) != 0 || slots[at][length] != '\0')) {
        at = (at + 1) & (capacity - 1);
    }
    return at;
}

static enum status grow(struct key_set *set, struct error *err)
{
    uint32_t capacity = set->capacity == 0 ? FIRST_CAPACITY : set->capacity * 2;
    const char **slots;
    TRY_ALLOC(slots, arena_alloc(set->arena, capacity * sizeof *slots), err);
    for (uint32_t i = 0; i < set->capacity; i++) {
        if (set->slots[i] != NULL) {
            slots[find_slot(slots, capacity, set->slots[i], strlen(set->slots[i]))] = set->slots[i];
        }
    }
    set->slots = slots;
    set->capacity = capacity;
    return STATUS_OK;
}

enum status key_set_add(struct key_set *set, const char *text, size_t length, struct error *err)
{
    if ((set->count + 1) * 2 > set->capacity) {
        TRY(grow(set, err));
    }
    uint32_t at = find_slot(set->slots, set->capacity, text, length);
    if (set->slots[at] == NULL) {
        TRY_ALLOC(set->slots[at], arena_text(set->arena, text, length), err);
        set->count++;
    }
    return STATUS_OK;
}

bool key_set_has(const struct key_set *set, const char *text, size_t length)
{
    return set->capacity > 0 && set->slots[find_slot(set->slots, set->capacity, text, length)] != NULL;
}
