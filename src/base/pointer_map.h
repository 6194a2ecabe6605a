/* base/pointer_map.h: from objects, by their address, to anything.
 *
 * For         walks over graphs: what was met before, how often, what it became.
 * Ownership   The arena's; a map with an arena and nothing else is empty.
 * Errors      NO_MEMORY.
 */
#ifndef SPATE_BASE_POINTER_MAP_H
#define SPATE_BASE_POINTER_MAP_H

#include "base/arena.h"
#include "base/error.h"

struct pointer_map {
    struct arena *arena;
    const void **keys;
    void **values;
    uint32_t count, capacity;
};
void *pointer_map_get(const struct pointer_map *map, const void *key); /* NULL: absent */
enum status pointer_map_put(struct pointer_map *map, const void *key, void *value, struct error *err);

#endif
