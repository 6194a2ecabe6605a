#include "base/slab.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The largest pages are as large as the kernel's huge pages, and come as those: one fault instead of 512. */
enum { STEP = 8, LINEAR_MAX = 256, LINEAR_CLASSES = LINEAR_MAX / STEP, FIRST_PAGE = 4096, LARGEST_PAGE = 1 << 21 };

struct slab_page {
    struct slab_page *next;
    size_t bytes;
};
struct slab_large {
    struct slab_large *next, *previous;
    size_t bytes, padding; /* keeps what follows 16-byte aligned */
};

/* Steps of 8 up to 256, of which a coarser slab uses every other, then four steps to each power of two. */
static uint32_t class_of(size_t grain, size_t bytes)
{
    if (bytes <= LINEAR_MAX) {
        return bytes == 0 ? (uint32_t)(grain / STEP) - 1 : (uint32_t)(((bytes + grain - 1) & ~(grain - 1)) / STEP) - 1;
    }
    uint32_t log = 63 - (uint32_t)__builtin_clzll(bytes - 1); /* 2^log < bytes <= 2^(log+1) */
    return LINEAR_CLASSES + (log - 8) * 4 + (uint32_t)(((bytes - 1) >> (log - 2)) & 3);
}

static size_t class_bytes(uint32_t size_class)
{
    if (size_class < LINEAR_CLASSES) {
        return (size_t)(size_class + 1) * STEP;
    }
    uint32_t step = size_class - LINEAR_CLASSES;
    return ((size_t)1 << (8 + step / 4)) + ((size_t)(step % 4 + 1) << (6 + step / 4));
}

size_t slab_round(size_t bytes)
{
    return bytes > SLAB_BLOCK_MAX ? bytes : class_bytes(class_of(SLAB_GRAIN, bytes));
}

void slab_open(struct slab *slab, struct budget *budget, size_t grain)
{
    *slab = (struct slab){.budget = budget, .grain = grain, .page_bytes = FIRST_PAGE};
}

static void *map_page(void)
{
    void *memory = mmap(NULL, LARGEST_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return NULL;
    }
    (void)madvise(memory, LARGEST_PAGE, MADV_HUGEPAGE);
    return memory;
}

static void *charged_malloc(struct slab *slab, size_t bytes)
{
    if (!budget_charge(slab->budget, bytes)) {
        return NULL;
    }
    void *memory = bytes == LARGEST_PAGE ? map_page() : malloc(bytes);
    if (memory == NULL) {
        budget_release(slab->budget, bytes);
        return NULL;
    }
    slab->bytes += bytes;
    return memory;
}

static void charged_free(struct slab *slab, void *memory, size_t bytes)
{
    if (bytes == LARGEST_PAGE) {
        munmap(memory, bytes);
    } else {
        free(memory);
    }
    slab->bytes -= bytes;
    budget_release(slab->budget, bytes);
}

static void *large_alloc(struct slab *slab, size_t bytes)
{
    struct slab_large *large = charged_malloc(slab, bytes + sizeof *large);
    if (large == NULL) {
        return NULL;
    }
    *large = (struct slab_large){.next = slab->large, .bytes = bytes + sizeof *large};
    if (slab->large != NULL) {
        slab->large->previous = large;
    }
    slab->large = large;
    return large + 1;
}

static void large_free(struct slab *slab, void *memory)
{
    struct slab_large *large = (struct slab_large *)memory - 1;
    if (large->previous != NULL) {           /* NOLINT(clang-analyzer-unix.Malloc): a block is in the list until it is freed here */
        large->previous->next = large->next; /* NOLINT(clang-analyzer-unix.Malloc) */
    } else {
        slab->large = large->next;
    }
    if (large->next != NULL) {
        large->next->previous = large->previous;
    }
    charged_free(slab, large, large->bytes);
}

static bool slab_add_page(struct slab *slab, size_t need)
{
    size_t bytes = slab->page_bytes;
    while (bytes < need + sizeof(struct slab_page)) {
        bytes *= 2;
    }
    struct slab_page *page = charged_malloc(slab, bytes);
    if (page == NULL) {
        return false;
    }
    *page = (struct slab_page){.next = slab->pages, .bytes = bytes};
    slab->pages = page;
    slab->cursor = (uint8_t *)(page + 1);
    slab->end = (uint8_t *)page + bytes;
    slab->page_bytes = bytes < LARGEST_PAGE ? bytes * 2 : LARGEST_PAGE;
    return true;
}

void *slab_alloc(struct slab *slab, size_t bytes)
{
    if (bytes > SLAB_BLOCK_MAX) {
        return large_alloc(slab, bytes);
    }
    uint32_t size_class = class_of(slab->grain, bytes);
    void *block = slab->free[size_class];
    if (block != NULL) {
        memcpy(&slab->free[size_class], block, sizeof(void *));
        slab->free_bytes -= class_bytes(size_class);
        return block;
    }
    size_t rounded = class_bytes(size_class);
    if ((size_t)(slab->end - slab->cursor) < rounded && !slab_add_page(slab, rounded)) {
        return NULL;
    }
    block = slab->cursor;
    slab->cursor += rounded;
    return block;
}

void slab_free(struct slab *slab, void *memory, size_t bytes)
{
    if (memory == NULL) {
        return;
    }
    if (bytes > SLAB_BLOCK_MAX) {
        large_free(slab, memory);
        return;
    }
    uint32_t size_class = class_of(slab->grain, bytes);
    memcpy(memory, &slab->free[size_class], sizeof(void *));
    slab->free[size_class] = memory;
    slab->free_bytes += class_bytes(size_class);
}

void *slab_resize(struct slab *slab, void *old, size_t old_bytes, size_t bytes)
{
    if (old != NULL && bytes <= SLAB_BLOCK_MAX && old_bytes <= SLAB_BLOCK_MAX &&
        class_of(slab->grain, old_bytes) == class_of(slab->grain, bytes)) {
        return old;
    }
    void *block = slab_alloc(slab, bytes);
    if (block != NULL && old != NULL) {
        memcpy(block, old, old_bytes < bytes ? old_bytes : bytes);
        slab_free(slab, old, old_bytes);
    }
    return block;
}

void slab_close(struct slab *slab)
{
    while (slab->large != NULL) {
        large_free(slab, slab->large + 1);
    }
    while (slab->pages != NULL) {
        struct slab_page *page = slab->pages;
        slab->pages = page->next;
        charged_free(slab, page, page->bytes);
    }
    assert(slab->bytes == 0);
    slab_open(slab, slab->budget, slab->grain);
}
