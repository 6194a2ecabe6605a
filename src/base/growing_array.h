/* base/growing_array.h: room in an array that grows one element at a time.
 *
 * For         arrays of a process's own bookkeeping: malloc'ed, of no budget.
 * Ownership   The array is the caller's, to be freed with free; NULL with capacity 0 is one without room.
 */
#ifndef SPATE_BASE_GROWING_ARRAY_H
#define SPATE_BASE_GROWING_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `array`: the address of the pointer. At least `need` elements of `bytes` have room afterwards; what was there stays. false: the system has no
 * memory, and nothing has changed. */
bool growing_array_reserve(void *array, uint32_t *capacity, uint32_t need, size_t bytes);

#endif
