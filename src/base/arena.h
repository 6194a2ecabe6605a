/* base/arena.h: memory that is freed all at once.
 *
 * For         what lives exactly as long as a session, a statement, a plan or a tick.
 *             Column data is in counted buffers (base/buffer.h), state in tables (state/).
 * Lifetime    The scope that creates an arena destroys it.
 * Invariants  A block never moves: pointers hold until reset or destroy. Memory is zeroed, aligned for any type.
 * Errors      Past the budget arena_alloc returns NULL (use TRY_ALLOC). Nothing else can fail.
 * Threads     One at a time.
 * Cost        An allocation is an add and a compare; reset keeps the first block.
 */
#ifndef SPATE_BASE_ARENA_H
#define SPATE_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

#include "base/budget.h"
#include "base/compiler.h"

struct arena;
struct arena *arena_create(struct budget *budget, const char *name); /* NULL: the budget is spent */
void *arena_alloc(struct arena *arena, size_t bytes);
void *arena_copy(struct arena *arena, const void *bytes, size_t size);
char *arena_text(struct arena *arena, const char *bytes, size_t length); /* copies, adds a NUL */
char *arena_format(struct arena *arena, const char *format, ...) PRINTF_LIKE(2, 3);
/* Grows an array kept in the arena to hold at least `need` elements; the old one is copied. NULL: no room. */
void *arena_grow(struct arena *arena, void *array, uint32_t *capacity, uint32_t need, size_t element_bytes);
/* Runs at reset and destroy, newest first: closes files, drops references. false: no room. */
bool arena_on_reset(struct arena *arena, void (*run)(void *owned), void *owned);
void arena_reset(struct arena *arena);
void arena_destroy(struct arena *arena);

#endif
