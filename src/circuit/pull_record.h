/* circuit/pull_record.h: what the sources gave in a tick, so that the tick can be run again: by a later process, or by one beside it.
 *
 * For         high availability (job/tick_record.h). Circuits of the same plan that are given the same rows in the same ticks, with the same time,
 *             do the same: also with several partitions, idle ones, and the clock's functions.
 * Shape       A record is a sequence of entries, one for each thing that a source node took from a partition.
 * Errors      pull_record_next tells a record that is broken from one that has ended: bytes are left in it.
 */
#ifndef SPATE_CIRCUIT_PULL_RECORD_H
#define SPATE_CIRCUIT_PULL_RECORD_H

#include "base/text.h"

enum pull_mode {
    PULL_FREE,     /* sources give what there is */
    PULL_RECORDED, /* and what they gave is appended to circuit.pulled */
    PULL_REPLAYED, /* sources give what circuit.to_pull says */
};
enum pull_event { PULL_GAVE_ROWS, PULL_GAVE_NOTHING, PULL_CAUGHT_UP, PULL_AT_END, PULL_EVENT_COUNT };
struct pull_entry {
    uint32_t source; /* which of the circuit's source nodes */
    uint32_t partition;
    enum pull_event event;
    uint32_t rows;
    struct text part; /* GAVE_ROWS: connectors/source.h, lead(); lent by the record */
};
void pull_record_put(struct text_builder *record, const struct pull_entry *entry);
/* Leaves of a record what stays true when its tick did not come about: partitions that ended. */
void pull_record_keep_ends(struct text_builder *record);
/* Takes an entry off the front; false: there is none, or it is broken. */
bool pull_record_next(struct text *rest, struct pull_entry *entry);

#endif
