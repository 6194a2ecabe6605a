/* circuit/marker_snapshot.h: a consistent snapshot of stages that run asynchronously, by markers that travel with their rows.
 *
 * For         stages that are not in step. In a process the workers are (a tick boundary is their cut), but the readers of sources run ahead
 *             of the ticks: circuit/source_ring.c is a graph of two stages, reader and worker, and takes its cut here. Stages in processes
 *             of their own, joined by logs, are the same with more stages and channels.
 * Source      K. M. Chandy, L. Lamport: Distributed Snapshots: Determining Global States of Distributed Systems, ACM TOCS 3 (1985).
 *             Beyond it: several snapshots at once, by number; snapshots that are given up; channels and stages that end.
 * Shape       Stages are joined by channels: first in, first out, nothing lost. One marker_stage per stage keeps the rules; the stage says
 *             what comes in (message, marker, end) and does what it is told (record, send, keep). No thread, no clock, no transport here.
 *
 *     at one stage, per snapshot:
 *
 *     (unknown) --begin, or its first marker: record own state, send a marker on every output--> RECORDING
 *     RECORDING --message on an input whose marker has not come: kept, the channel's state--> RECORDING
 *     RECORDING --a marker or the end on every input--> COMPLETE --settle--> (forgotten)
 *     RECORDING --abort, or an error of the stage--> ABORTED
 *     COMPLETE --abort--> (forgotten)
 *     (unknown) --abort: send a marker on every output--> ABORTED
 *     ABORTED --abort called, and a marker or the end on every input--> (forgotten)
 *
 * Begin       Whoever wants a snapshot chooses a number never used before and begins it at one stage or several, which together reach all
 *             others; a stage without live inputs (a source, one whose inputs have ended) hears of it in no other way. begin() at a stage
 *             that knows the snapshot does nothing.
 * End         The snapshot is complete when it is at every stage: then it is settled at every stage, or at any time before that aborted at
 *             every stage; not begun after that.
 *             A channel that has ended stands for its marker, and its state is what was kept of it. A stage that has ended is begun with
 *             the rest: it records the state it ended with.
 * Invariants  1. No effect without its cause: a message received before its receiver recorded was sent before its sender did.
 *             2. A channel's state is what was sent before the sender recorded and received after the receiver did, in order, each once.
 *             3. Every channel carries the marker of a snapshot exactly once, of one that is aborted too, unless it has ended before. So
 *                each snapshot ends at every stage, and nothing of it stays behind.
 * Atomic      Between record and the last send of its markers a stage sends nothing else and takes nothing in; begin() and marker() do
 *             both in one call.
 * Ownership   A marker_stage owns its table. Messages are only lent to keep().
 * Threads     All calls about a stage from that stage's thread.
 * Errors      record, keep and complete may fail: the snapshot is aborted at this stage, its markers go out all the same, and the error is
 *             given back for whoever began it, to abort it elsewhere; the stage's work is unharmed. An error of send means a broken
 *             channel. INTERNAL: a second marker of a snapshot on one channel, or anything after a channel's end. TOO_MANY.
 */
#ifndef SPATE_CIRCUIT_MARKER_SNAPSHOT_H
#define SPATE_CIRCUIT_MARKER_SNAPSHOT_H

#include "base/error.h"

enum { MARKER_SNAPSHOTS_MAX = 1024, MARKER_CHANNELS_MAX = 65536 }; /* at one stage: known at once; inputs or outputs */

enum marker_state { MARKER_UNKNOWN, MARKER_RECORDING, MARKER_COMPLETE, MARKER_ABORTED };

struct marker_stage_type { /* what a stage does; `stage` is what marker_stage_create was given */
    enum status (*record)(void *stage, uint64_t snapshot, struct error *err);
    /* Behind all that was sent there before. NULL: no outputs. */
    enum status (*send)(void *stage, uint64_t snapshot, uint32_t output, struct error *err);
    /* The message belongs to the channel's state. NULL: the stage's snapshots are complete with their first marker (at most one input). */
    enum status (*keep)(void *stage, uint64_t snapshot, uint32_t input, const void *message, struct error *err);
    /* Own state and all channels' are there. NULL: nothing to do. */
    enum status (*complete)(void *stage, uint64_t snapshot, struct error *err);
    /* What record and keep gave is not wanted. NULL: nothing to do. */
    void (*drop)(void *stage, uint64_t snapshot);
};

struct marker_stage;
enum status marker_stage_create(const struct marker_stage_type *type, void *stage, uint32_t input_count, uint32_t output_count,
                                struct marker_stage **created, struct error *err);
void marker_stage_destroy(struct marker_stage *self);

enum status marker_stage_begin(struct marker_stage *self, uint64_t snapshot, struct error *err);
/* What comes in, before the stage acts on it. */
enum status marker_stage_message(struct marker_stage *self, uint32_t input, const void *message, struct error *err);
enum status marker_stage_marker(struct marker_stage *self, uint32_t input, uint64_t snapshot, struct error *err);
enum status marker_stage_end_input(struct marker_stage *self, uint32_t input, struct error *err);
/* The snapshot is COMPLETE here, and everywhere: forgotten. */
void marker_stage_settle(struct marker_stage *self, uint64_t snapshot);
enum status marker_stage_abort(struct marker_stage *self, uint64_t snapshot, struct error *err);

enum marker_state marker_stage_state(const struct marker_stage *self, uint64_t snapshot);
uint32_t marker_stage_live_inputs(const struct marker_stage *self);
uint32_t marker_stage_known(const struct marker_stage *self); /* snapshots it has not forgotten */

#endif
