/* circuit/held_errors.h: errors of rows that may still be withdrawn.
 *
 * For         operators over changing input: a value that fails (a division by a count that is zero for a moment) counts only if its row
 *             stands: it is held back, forgotten when the row is withdrawn, and raised at the end of bounded input, in an
 *             unbounded run at the end of the tick (engine.md 4).
 * Shape       A multiset of failing rows: weight per row (by all its columns), and the first message.
 */
#ifndef SPATE_CIRCUIT_HELD_ERRORS_H
#define SPATE_CIRCUIT_HELD_ERRORS_H

#include "circuit/node.h"
#include "functions/program.h"

struct held_errors;
enum status held_errors_create(struct arena *arena, struct budget *budget, struct held_errors **held, struct error *err);
void held_errors_destroy(struct held_errors *held);
/* Adds the failed rows of the batch with their weights; message from failures->first (by row). */
enum status held_errors_add(struct held_errors *held, const struct batch *batch, const struct row_failures *failures, struct error *err);
/* One row by its hash key (for groups): weight +1 holds, -1 forgets. */
enum status held_errors_add_key(struct held_errors *held, uint64_t key, int64_t weight, const struct error *error, struct error *err);
/* Call from finish_tick: raises what stands, when it must (tick->end, or each tick of an unbounded run). */
enum status held_errors_check(struct held_errors *held, const struct tick *tick, struct error *err);

#endif
