#include "circuit/operators/time_heap.h"

#include <stdlib.h>

enum { FIRST_ITEMS = 64 };

int64_t time_add(int64_t time, int64_t span)
{
    int64_t sum;
    if (time == INT64_MIN || time == INT64_MAX) {
        return time;
    }
    if (__builtin_add_overflow(time, span, &sum)) {
        return span < 0 ? INT64_MIN : INT64_MAX;
    }
    return sum;
}

static enum status time_heap_grow(struct time_heap *heap, struct budget *budget, struct error *err)
{
    uint32_t capacity = heap->capacity == 0 ? FIRST_ITEMS : heap->capacity * 2;
    size_t bytes = (size_t)(capacity - heap->capacity) * sizeof *heap->items;
    if (!budget_charge(budget, bytes)) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room for the times of %u rows", heap->count);
    }
    struct timed *items = realloc(heap->items, (size_t)capacity * sizeof *items);
    if (items == NULL) {
        budget_release(budget, bytes);
        return error_set(err, ERROR_BUDGET_SPENT, "no room for the times of %u rows", heap->count);
    }
    heap->items = items;
    heap->capacity = capacity;
    return STATUS_OK;
}

/* Equal times by item: what came first goes first. */
static bool timed_before(const struct timed *left, const struct timed *right)
{
    return left->time != right->time ? left->time < right->time : left->item < right->item;
}

/* Where there is room. */
static void heap_insert(struct time_heap *heap, struct timed added)
{
    uint32_t at = heap->count++;
    while (at > 0 && timed_before(&added, &heap->items[(at - 1) / 2])) {
        heap->items[at] = heap->items[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap->items[at] = added;
}

enum status time_heap_push(struct time_heap *heap, struct budget *budget, int64_t time, uint64_t item, struct error *err)
{
    if (heap->count == heap->capacity) {
        TRY(time_heap_grow(heap, budget, err));
    }
    heap_insert(heap, (struct timed){.time = time, .item = item});
    return STATUS_OK;
}

void time_heap_keep(struct time_heap *heap, bool (*wants)(const void *context, const struct timed *item), const void *context)
{
    uint32_t count = heap->count;
    heap->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct timed item = heap->items[i]; /* what is kept lies before it */
        if (wants(context, &item)) {
            heap_insert(heap, item);
        }
    }
}

bool time_heap_pop(struct time_heap *heap, int64_t until, struct timed *popped)
{
    if (heap->count == 0 || heap->items[0].time > until) {
        return false;
    }
    *popped = heap->items[0];
    struct timed moved = heap->items[--heap->count];
    uint32_t at = 0;
    for (uint32_t child = 1; child < heap->count; child = 2 * at + 1) {
        child += child + 1 < heap->count && timed_before(&heap->items[child + 1], &heap->items[child]);
        if (!timed_before(&heap->items[child], &moved)) {
            break;
        }
        heap->items[at] = heap->items[child];
        at = child;
    }
    heap->items[at] = moved;
    return true;
}

void time_heap_release(struct time_heap *heap, struct budget *budget)
{
    budget_release(budget, (size_t)heap->capacity * sizeof *heap->items);
    free(heap->items);
    *heap = (struct time_heap){0};
}
