#include "state/slot_array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGNMENT = 64, MAPPED_FROM = 1 << 20 };

static void *map_bytes(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static size_t round_up(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

/* Old memory is moved (mapped to mapped) or copied. */
void *slot_array_grow_charged(void *old, size_t old_bytes, size_t bytes)
{
    if (bytes >= MAPPED_FROM) {
        void *memory = NULL;
        if (old_bytes >= MAPPED_FROM) {
            memory = mremap(old, old_bytes, bytes, MREMAP_MAYMOVE);
            memory = memory == MAP_FAILED ? NULL : memory;
        } else if ((memory = map_bytes(bytes)) != NULL && old_bytes > 0) {
            memcpy(memory, old, old_bytes);
            free(old);
        }
        if (memory != NULL) {
            (void)madvise(memory, bytes, MADV_HUGEPAGE);
        }
        return memory;
    }
    uint8_t *memory = aligned_alloc(ALIGNMENT, round_up(bytes));
    if (memory == NULL) {
        return NULL;
    }
    if (old_bytes > 0) {
        memcpy(memory, old, old_bytes);
    }
    memset(memory + old_bytes, 0, bytes - old_bytes);
    free(old);
    return memory;
}

void *slot_array_grow(struct budget *budget, void *old, size_t old_bytes, size_t bytes)
{
    if (!budget_charge(budget, bytes - old_bytes)) {
        return NULL;
    }
    void *memory = slot_array_grow_charged(old, old_bytes, bytes);
    if (memory == NULL) {
        budget_release(budget, bytes - old_bytes);
    }
    return memory;
}

void slot_array_free(struct budget *budget, void *array, size_t bytes)
{
    if (array == NULL) {
        return;
    }
    if (bytes >= MAPPED_FROM) {
        munmap(array, bytes);
    } else {
        free(array);
    }
    budget_release(budget, bytes);
}
