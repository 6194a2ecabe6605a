/* circuit/operators/time_heap.h: things by the time at which something is to be done with them.
 *
 * For         rows that expire, rows that wait for the watermark.
 * Shape       A binary heap; rows mostly come in order of time, so a push is one comparison.
 * Ownership   Zero is empty. time_heap_release frees it.
 */
#ifndef SPATE_CIRCUIT_OPERATORS_TIME_HEAP_H
#define SPATE_CIRCUIT_OPERATORS_TIME_HEAP_H

#include <stdint.h>

#include "base/budget.h"
#include "base/error.h"

struct timed {
    int64_t time;
    uint64_t item;
};
struct time_heap {
    struct timed *items;
    uint32_t count, capacity;
};
enum status time_heap_push(struct time_heap *heap, struct budget *budget, int64_t time, uint64_t item, struct error *err);
/* Takes the earliest item if its time is not after `until`; false: there is none. */
bool time_heap_pop(struct time_heap *heap, int64_t until, struct timed *popped);
/* Drops the items that are not wanted. */
void time_heap_keep(struct time_heap *heap, bool (*wants)(const void *context, const struct timed *item), const void *context);
void time_heap_release(struct time_heap *heap, struct budget *budget);
/* INT64_MIN and INT64_MAX are kept, sums stay between them. */
int64_t time_add(int64_t time, int64_t span);

#endif
