#include "base/pointer_map.h"

static uint32_t pointer_slot(const struct pointer_map *map, const void *key)
{
    uint64_t hash = ((uintptr_t)key >> 4) * UINT64_C(0x9E3779B97F4A7C15);
    uint32_t slot = (uint32_t)(hash >> 32) & (map->capacity - 1);
    while (map->keys[slot] != NULL && map->keys[slot] != key) {
        slot = (slot + 1) & (map->capacity - 1);
    }
    return slot;
}

void *pointer_map_get(const struct pointer_map *map, const void *key)
{
    return map->capacity == 0 ? NULL : map->values[pointer_slot(map, key)];
}

static enum status pointer_map_grow(struct pointer_map *map, struct error *err)
{
    struct pointer_map old = *map;
    map->capacity = old.capacity == 0 ? 64 : old.capacity * 2;
    TRY_ALLOC(map->keys, arena_alloc(map->arena, map->capacity * sizeof *map->keys), err);
    TRY_ALLOC(map->values, arena_alloc(map->arena, map->capacity * sizeof *map->values), err);
    for (uint32_t i = 0; i < old.capacity; i++) {
        if (old.keys[i] != NULL) {
            uint32_t slot = pointer_slot(map, old.keys[i]);
            map->keys[slot] = old.keys[i];
            map->values[slot] = old.values[i];
        }
    }
    return STATUS_OK;
}

enum status pointer_map_put(struct pointer_map *map, const void *key, void *value, struct error *err)
{
    if ((map->count + 1) * 2 > map->capacity) {
        TRY(pointer_map_grow(map, err));
    }
    uint32_t slot = pointer_slot(map, key);
    map->count += map->keys[slot] == NULL;
    map->keys[slot] = key;
    map->values[slot] = value;
    return STATUS_OK;
}
