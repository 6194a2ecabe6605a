/* circuit/operators/program_timers.h: when a program wants to be called, by key.
 *
 * For         programs (program_node.h): one for the clock, one for the watermark.
 * Shape       A state table key -> time, and a heap over its slots. A timer that was moved or cancelled leaves an entry in the heap that
 *             fits no row any more; it is passed over, and swept when there are many.
 * Order       By time; of one time as it comes.
 * Threads     One task.
 */
#ifndef SPATE_CIRCUIT_OPERATORS_PROGRAM_TIMERS_H
#define SPATE_CIRCUIT_OPERATORS_PROGRAM_TIMERS_H

#include "circuit/operators/program_table.h"
#include "circuit/operators/time_heap.h"

struct program_timers {
    struct program_table table;
    struct time_heap heap;
};
extern const struct schema program_timers_schema; /* key BYTES, time BIGINT: one column of key */

enum status program_timers_open(struct program_timers *self, struct circuit *circuit, const char *name, struct error *err);
void program_timers_close(struct program_timers *self);
enum status program_timers_set(struct program_timers *self, struct text key, int64_t time, struct error *err);
enum status program_timers_cancel(struct program_timers *self, struct text key, struct error *err);
int64_t program_timers_next(struct program_timers *self); /* INT64_MAX: none */
/* Takes the earliest that is not after `until`; its key goes into the text, which is the caller's. */
enum status program_timers_take(struct program_timers *self, int64_t until, struct text_builder *key, int64_t *time, bool *found,
                                struct error *err);
enum status program_timers_restored(struct program_timers *self, struct error *err); /* all rows are there */

#endif
