/* state/slot_array.h: arrays by slot that grow in place.
 *
 * For         the columns of keyed tables: keys, hashes, values.
 * Shape       64-byte aligned; new bytes are zero. From a megabyte on the memory is mapped (growth moves pages, not bytes) and asks for
 *             huge pages.
 * Ownership   The caller keeps pointer and size; slot_array_free with the same size.
 * Errors      NULL: the budget is spent; the old array is as before.
 */
#ifndef SPATE_STATE_SLOT_ARRAY_H
#define SPATE_STATE_SLOT_ARRAY_H

#include <stddef.h>

#include "base/budget.h"

/* bytes > old_bytes. */
void *slot_array_grow(struct budget *budget, void *old, size_t old_bytes, size_t bytes);
/* The same for a caller that has charged `bytes - old_bytes` itself; NULL only when the system has no memory. */
void *slot_array_grow_charged(void *old, size_t old_bytes, size_t bytes);
void slot_array_free(struct budget *budget, void *array, size_t bytes);

#endif
