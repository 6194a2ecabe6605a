/* circuit/operators/join_probe.h: pairs and lone rows of a join on their way out. Internal to join_core.c. */
#ifndef SPATE_CIRCUIT_OPERATORS_JOIN_PROBE_H
#define SPATE_CIRCUIT_OPERATORS_JOIN_PROBE_H

#include "circuit/operators/join_core.h"

/* A candidate: row of the chunk (own: its entry if it is new, else 0) with an entry of the other side. */
static inline enum status join_pair_add(struct join *self, uint32_t side, const struct batch *batch, uint32_t row, uint32_t own,
                                        uint32_t other, struct error *err);
/* Checks the condition, counts matches, emits. */
enum status join_pairs_flush(struct join *self, uint32_t side, const struct batch *batch, struct error *err);
/* The rows self->unkeyed of the batch, padded: nothing will ever match them. */
enum status join_emit_unkeyed(struct join *self, uint32_t side, const struct batch *batch, uint32_t count, struct error *err);
/* A stored row by itself (padded, if the join emits pairs). */
enum status join_lone_add(struct join *self, uint32_t side, row_handle row, int64_t weight, struct error *err);
enum status join_lone_flush(struct join *self, uint32_t side, struct error *err);

static inline enum status join_pair_add(struct join *self, uint32_t side, const struct batch *batch, uint32_t row, uint32_t own,
                                        uint32_t other, struct error *err)
{
    struct join_pairs *pairs = &self->pairs;
    uint32_t at = pairs->count++;
    pairs->rows[at] = (uint16_t)row;
    pairs->own[at] = own;
    pairs->other[at] = other;
    return pairs->count < pairs->limit ? STATUS_OK : join_pairs_flush(self, side, batch, err);
}

#endif
