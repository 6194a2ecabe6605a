#include "base/arena.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 16 * 1024, ALIGNMENT = 16 };

struct block {
    struct block *next;
    size_t size, used; /* of the bytes after this header */
    _Alignas(ALIGNMENT) unsigned char bytes[];
};

struct cleanup {
    struct cleanup *next;
    void (*run)(void *owned);
    void *owned;
};

struct arena {
    struct budget *budget;
    const char *name;
    struct block *newest, *first;
    struct cleanup *cleanups;
    size_t used_bytes;
};

static struct block *block_create(struct budget *budget, size_t size)
{
    if (!budget_charge(budget, sizeof(struct block) + size)) {
        return NULL;
    }
    struct block *block = calloc(1, sizeof(struct block) + size);
    if (block == NULL) {
        budget_release(budget, sizeof(struct block) + size);
        return NULL;
    }
    block->size = size;
    return block;
}

static void block_destroy(struct budget *budget, struct block *block)
{
    budget_release(budget, sizeof(struct block) + block->size);
    free(block);
}

struct arena *arena_create(struct budget *budget, const char *name)
{
    struct arena *arena = calloc(1, sizeof *arena);
    if (arena == NULL) {
        return NULL;
    }
    arena->budget = budget;
    arena->name = name;
    return arena;
}

void *arena_alloc(struct arena *arena, size_t bytes)
{
    if (bytes > SIZE_MAX / 2) {
        return NULL;
    }
    bytes = (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    struct block *block = arena->newest;
    if (block == NULL || block->size - block->used < bytes) {
        block = block_create(arena->budget, bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES);
        if (block == NULL) {
            return NULL;
        }
        block->next = arena->newest;
        arena->newest = block;
        if (arena->first == NULL) {
            arena->first = block;
        }
    }
    void *result = block->bytes + block->used;
    block->used += bytes;
    arena->used_bytes += bytes;
    return result;
}

void *arena_copy(struct arena *arena, const void *bytes, size_t size)
{
    void *copy = arena_alloc(arena, size);
    if (copy != NULL && size > 0) {
        memcpy(copy, bytes, size);
    }
    return copy;
}

char *arena_text(struct arena *arena, const char *bytes, size_t length)
{
    char *copy = arena_alloc(arena, length + 1);
    if (copy != NULL && length > 0) {
        memcpy(copy, bytes, length);
    }
    return copy;
}

char *arena_format(struct arena *arena, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    char *text = length < 0 ? NULL : arena_alloc(arena, (size_t)length + 1);
    if (text != NULL) {
        vsnprintf(text, (size_t)length + 1, format, again);
    }
    va_end(again);
    va_end(arguments);
    return text;
}

void *arena_grow(struct arena *arena, void *array, uint32_t *capacity, uint32_t need, size_t element_bytes)
{
    if (need <= *capacity) {
        return array;
    }
    uint32_t larger = *capacity < 8 ? 8 : *capacity * 2;
    if (larger < need) {
        larger = need;
    }
    void *copy = arena_alloc(arena, larger * element_bytes);
    if (copy != NULL) {
        if (*capacity > 0) {
            memcpy(copy, array, *capacity * element_bytes);
        }
        *capacity = larger;
    }
    return copy;
}

bool arena_on_reset(struct arena *arena, void (*run)(void *owned), void *owned)
{
    struct cleanup *cleanup = arena_alloc(arena, sizeof *cleanup);
    if (cleanup == NULL) {
        return false;
    }
    *cleanup = (struct cleanup){.next = arena->cleanups, .run = run, .owned = owned};
    arena->cleanups = cleanup;
    return true;
}

static void arena_run_cleanups(struct arena *arena)
{
    while (arena->cleanups != NULL) {
        struct cleanup *cleanup = arena->cleanups;
        arena->cleanups = cleanup->next;
        cleanup->run(cleanup->owned);
    }
}

void arena_reset(struct arena *arena)
{
    arena_run_cleanups(arena);
    while (arena->newest != arena->first) {
        struct block *next = arena->newest->next;
        block_destroy(arena->budget, arena->newest);
        arena->newest = next;
    }
    if (arena->first != NULL) {
        memset(arena->first->bytes, 0, arena->first->used);
        arena->first->used = 0;
    }
    arena->used_bytes = 0;
}

void arena_destroy(struct arena *arena)
{
    if (arena == NULL) {
        return;
    }
    arena_run_cleanups(arena);
    while (arena->newest != NULL) {
        struct block *next = arena->newest->next;
        block_destroy(arena->budget, arena->newest);
        arena->newest = next;
    }
    free(arena);
}
