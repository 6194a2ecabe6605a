/* circuit/held_output.h: what a sink was given and shall not have yet.
 *
 * For         the sink nodes of a standby (OUTPUT_HELD): all output since the last checkpoint of the process that is followed. What a newer
 *             checkpoint of it covers is dropped; what is left when it has died is the sink's.
 * Shape       Calls of a sink (connectors/sink.h), in order, and between them cuts: the numbers of checkpoints.
 * Ownership   Batches are copied.
 * Threads     One at a time.
 */
#ifndef SPATE_CIRCUIT_HELD_OUTPUT_H
#define SPATE_CIRCUIT_HELD_OUTPUT_H

#include "connectors/sink.h"

struct held_output;
enum status held_output_create(struct budget *budget, struct held_output **held, struct error *err);
void held_output_destroy(struct held_output *held); /* NULL is allowed */
enum status held_output_write(struct held_output *held, const struct batch *batch, const uint8_t *kinds, struct error *err);
enum status held_output_tick(struct held_output *held, int64_t watermark_us, struct error *err);
enum status held_output_finish(struct held_output *held, struct error *err);
enum status held_output_cut(struct held_output *held, uint64_t checkpoint, struct error *err);
/* All before the cut of this checkpoint, which is there. */
void held_output_drop(struct held_output *held, uint64_t checkpoint);
/* The rest, to the sink. */
enum status held_output_release(struct held_output *held, struct sink *sink, struct error *err);

#endif
