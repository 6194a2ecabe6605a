/* circuit/result_queue.h: finished rows on their way to the caller.
 *
 * For         SELECT: the result node puts batches, the session takes them.
 * Shape       Batches in the order of ticks, each with row kinds. Bounded by nothing but the tick: the session drains it after every tick.
 * Threads     put by the worker that owns the result node, take by the session's thread: with one worker they are the same.
 */
#ifndef SPATE_CIRCUIT_RESULT_QUEUE_H
#define SPATE_CIRCUIT_RESULT_QUEUE_H

#include "data/batch.h"

struct result_queue;
enum status result_queue_create(struct result_queue **queue, struct error *err);
void result_queue_destroy(struct result_queue *queue);
/* Takes the batch (dense) and its kinds (one byte of enum row_kind a row; NULL: all inserts). On failure both stay the caller's. */
enum status result_queue_put(struct result_queue *queue, struct batch *batch, struct buffer *kinds, struct error *err);
/* false: empty. The caller owns batch and kinds then. */
bool result_queue_take(struct result_queue *queue, struct batch *batch, struct buffer **kinds);

#endif
