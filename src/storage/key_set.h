/* storage/key_set.h: a set of texts, for marking.
 *
 * For         the sweep and fsck. Texts are copied into the set's arena and stay there until it is destroyed.
 */
#ifndef SPATE_STORAGE_KEY_SET_H
#define SPATE_STORAGE_KEY_SET_H

#include "base/arena.h"
#include "base/error.h"

struct key_set {
    struct arena *arena;
    const char **slots;
    uint32_t count, capacity; /* a power of two */
};
enum status key_set_add(struct key_set *set, const char *text, size_t length, struct error *err);
bool key_set_has(const struct key_set *set, const char *text, size_t length);

#endif
