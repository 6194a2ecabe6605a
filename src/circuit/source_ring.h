/* circuit/source_ring.h: one partition of a source, read and decoded ahead in a thread of its own.
 *
 * For         source nodes: decoding overlaps with the tick.
 * Shape       A bounded queue of batches (bytes and count). Full: the reader waits, nothing is dropped. Inline sources have no
 *             thread: take reads directly.
 * Positions   The reader runs ahead of the ticks. Behind the rows of each read it puts a marker into the ring, which carries the place where
 *             it stood (marker_snapshot.h: reader and worker are two stages, the ring their channel). source_ring_position gives that of
 *             the last marker taken; rows behind it are still in the ring, are in no cut, and are read again after a restart: nothing of
 *             the ring itself is saved.
 * Invariants  Rows and their marker are put and taken in one step, so the worker always stands at a marker: what it has taken is what the
 *             place covers, and the channel's state is empty. Readers of other partitions send nothing to this one, so any markers of
 *             theirs make one consistent cut with this, at the tick's end.
 * Threads     take by the worker; the reader's thread is the ring's own.
 * Errors      A reader's error is given by take once the rows before it are taken.
 */
#ifndef SPATE_CIRCUIT_SOURCE_RING_H
#define SPATE_CIRCUIT_SOURCE_RING_H

#include "base/wakeup.h"
#include "connectors/source.h"

struct source_ring;
struct source_ring_spec {
    struct source *source;
    uint32_t partition;
    const struct source_position *from; /* where to begin; NULL: at the source's beginning */
    struct text_builder *skipped;       /* not NULL: at what comes from now on; gets a line that says what lies between, if anything does */
    bool led;                           /* no thread yet: source_ring_take_led, until source_ring_go */
    uint32_t row_limit;
    size_t limit_bytes;
    struct wakeup *wakeup; /* signalled when rows, the end or an error come */
};
enum status source_ring_open(const struct source_ring_spec *spec, struct source_ring **ring, struct error *err);
/* 1 to `rows` rows that another reader got at this place, in `part`. Waits for them for some seconds; in vain: POSITION_LOST. */
enum status source_ring_take_led(struct source_ring *ring, struct text part, uint32_t rows, const atomic_bool *cancelled,
                                 struct batch *batch, struct error *err);
enum status source_ring_go(struct source_ring *ring, struct error *err); /* from now on it reads by itself */
struct text source_ring_part(const struct source_ring *ring); /* of the batch taken last (reader.part), lent until the next take */
/* The next batch, the caller's; READ_IDLE: none now. *caught_up: and the source itself has none. */
enum status source_ring_take(struct source_ring *ring, struct batch *batch, enum read_state *state, bool *caught_up, struct error *err);
/* At the marker taken last; for replayable sources only. The place is lent until the next take, the history is appended. */
enum status source_ring_position(struct source_ring *ring, struct text *place, struct text_builder *history, struct error *err);
void source_ring_close(struct source_ring *ring);

#endif
