/* base/buffer.h: the bytes of columns: counted, 64-byte aligned, charged to a budget.
 *
 * For         values, validity and string heaps of vectors; blocks of a source's input.
 * Invariants  Immutable once shared: buffer_bytes_mutable asserts that there is one reference.
 * Ownership   create and ref return a reference that the caller ends with unref (NULL is allowed there).
 * Threads     References may be taken and dropped in any thread. Freed memory of common sizes is kept in a small
 *             list per thread (buffer_trim gives it back).
 * Cost        A create of a common size is a pop; contents are not zeroed.
 */
#ifndef SPATE_BASE_BUFFER_H
#define SPATE_BASE_BUFFER_H

#include <stddef.h>
#include <stdint.h>

#include "base/budget.h"
#include "base/error.h"

struct buffer;
enum status buffer_create(struct budget *budget, size_t bytes, struct buffer **buffer, struct error *err);
/* Memory that someone else owns, e.g. of an Arrow array; `release` runs when the last reference ends. */
enum status buffer_wrap(const void *bytes, size_t size, void (*release)(void *owner), void *owner, struct buffer **buffer,
                        struct error *err);
struct buffer *buffer_ref(struct buffer *buffer);
void buffer_unref(struct buffer *buffer);
const uint8_t *buffer_bytes(const struct buffer *buffer);
uint8_t *buffer_bytes_mutable(struct buffer *buffer);
size_t buffer_size(const struct buffer *buffer);
bool buffer_is_shared(const struct buffer *buffer);
void buffer_trim(void); /* frees this thread's list; a thread calls it before it ends */

#endif
