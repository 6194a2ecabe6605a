/* circuit/change_log.h: the net changes of a tick.
 *
 * For         consolidation before sinks and before the caller.
 * Shape       add sums weights per identical row; take gives what is left, in order of first touch, and forgets it. With an upsert
 *             key the old and the new row of a key come one after the other (-U, +U); what is only deleted comes before (-D).
 * Ownership   Batches given to `put` are lent and dense: one row per change, its weight +1 or -1.
 * Threads     One worker.
 */
#ifndef SPATE_CIRCUIT_CHANGE_LOG_H
#define SPATE_CIRCUIT_CHANGE_LOG_H

#include "data/batch.h"

struct change_log;
enum status change_log_create(struct budget *budget, const struct type *const *types, uint32_t column_count, struct change_log **log,
                              struct error *err);
void change_log_destroy(struct change_log *log);
enum status change_log_add(struct change_log *log, const struct batch *batch, struct error *err);

typedef enum status change_put_fn(void *owner, struct batch *batch, const uint8_t *kinds, struct error *err);
/* One row per change with its kind; upsert_key_count 0: no key, only +I and -D. */
enum status change_log_take_kinds(struct change_log *log, const uint32_t *upsert_key, uint32_t upsert_key_count, change_put_fn *put,
                                  void *owner, struct error *err);

#endif
