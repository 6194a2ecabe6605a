#include "base/buffer.h"

#include <assert.h>
#include <stdlib.h>

enum { ALIGNMENT = 64, SMALLEST_LOG2 = 9, LARGEST_LOG2 = 18, CLASS_COUNT = LARGEST_LOG2 - SMALLEST_LOG2 + 1, KEPT_PER_CLASS = 32 };

struct buffer {
    atomic_uint references;
    int32_t size_class; /* -1: not of a common size; -2: wrapped */
    struct budget *budget;
    uint8_t *bytes;
    size_t size, charged;
    void (*release)(void *owner);
    void *owner;
    struct buffer *next_free;
};

struct free_list {
    struct buffer *head;
    uint32_t count;
};
static _Thread_local struct free_list free_lists[CLASS_COUNT];

static int32_t size_class_of(size_t bytes)
{
    for (int32_t i = 0; i < CLASS_COUNT; i++) {
        if (bytes <= (size_t)1 << (i + SMALLEST_LOG2)) {
            return i;
        }
    }
    return -1;
}

static struct buffer *buffer_allocate(size_t bytes, int32_t size_class)
{
    if (size_class >= 0 && free_lists[size_class].head != NULL) {
        struct buffer *buffer = free_lists[size_class].head;
        free_lists[size_class].head = buffer->next_free;
        free_lists[size_class].count--;
        return buffer;
    }
    struct buffer *buffer = calloc(1, sizeof *buffer);
    if (buffer == NULL) {
        return NULL;
    }
    size_t rounded = (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    buffer->bytes = aligned_alloc(ALIGNMENT, rounded == 0 ? ALIGNMENT : rounded);
    if (buffer->bytes == NULL) {
        free(buffer);
        return NULL;
    }
    return buffer;
}

enum status buffer_create(struct budget *budget, size_t bytes, struct buffer **buffer, struct error *err)
{
    int32_t size_class = size_class_of(bytes);
    size_t charged = size_class >= 0 ? (size_t)1 << (size_class + SMALLEST_LOG2) : bytes;
    if (!budget_charge(budget, charged)) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room for a buffer of %zu bytes in the account '%s'", bytes, budget->name);
    }
    struct buffer *created = buffer_allocate(charged, size_class);
    if (created == NULL) {
        budget_release(budget, charged);
        return error_set(err, ERROR_BUDGET_SPENT, "the system has no memory for a buffer of %zu bytes", bytes);
    }
    atomic_init(&created->references, 1);
    created->size_class = size_class;
    created->budget = budget;
    created->size = bytes;
    created->charged = charged;
    *buffer = created;
    return STATUS_OK;
}

enum status buffer_wrap(const void *bytes, size_t size, void (*release)(void *owner), void *owner, struct buffer **buffer,
                        struct error *err)
{
    struct buffer *created = calloc(1, sizeof *created);
    if (created == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "the system has no memory for a buffer's header");
    }
    atomic_init(&created->references, 1);
    created->size_class = -2;
    created->bytes = (uint8_t *)(uintptr_t)bytes;
    created->size = size;
    created->release = release;
    created->owner = owner;
    *buffer = created;
    return STATUS_OK;
}

struct buffer *buffer_ref(struct buffer *buffer)
{
    if (buffer != NULL) {
        atomic_fetch_add_explicit(&buffer->references, 1, memory_order_relaxed);
    }
    return buffer;
}

static void buffer_free(struct buffer *buffer)
{
    if (buffer->size_class == -2) {
        if (buffer->release != NULL) {
            buffer->release(buffer->owner);
        }
        free(buffer);
        return;
    }
    budget_release(buffer->budget, buffer->charged);
    if (buffer->size_class >= 0 && free_lists[buffer->size_class].count < KEPT_PER_CLASS) {
        struct free_list *list = &free_lists[buffer->size_class];
        buffer->next_free = list->head;
        list->head = buffer;
        list->count++;
        return;
    }
    free(buffer->bytes);
    free(buffer);
}

void buffer_unref(struct buffer *buffer)
{
    if (buffer != NULL && atomic_fetch_sub_explicit(&buffer->references, 1, memory_order_acq_rel) == 1) {
        buffer_free(buffer);
    }
}

const uint8_t *buffer_bytes(const struct buffer *buffer)
{
    return buffer->bytes;
}

uint8_t *buffer_bytes_mutable(struct buffer *buffer)
{
    assert(!buffer_is_shared(buffer));
    return buffer->bytes;
}

size_t buffer_size(const struct buffer *buffer)
{
    return buffer->size;
}

bool buffer_is_shared(const struct buffer *buffer)
{
    return atomic_load_explicit(&buffer->references, memory_order_acquire) > 1;
}

void buffer_trim(void)
{
    for (uint32_t i = 0; i < CLASS_COUNT; i++) {
        while (free_lists[i].head != NULL) {
            struct buffer *buffer = free_lists[i].head;
            free_lists[i].head = buffer->next_free;
            free(buffer->bytes);
            free(buffer);
        }
        free_lists[i].count = 0;
    }
}
