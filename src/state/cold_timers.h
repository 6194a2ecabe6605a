/* state/cold_timers.h: keys that left memory, by the time at which they are wanted back.
 *
 * For         state/cold_table.h: sessions that close, rows that a watermark makes due, keys that expire.
 * Shape       In the database, beside the operator's units: the time (big-endian, so that keys lie in its order), then the key's columns. Memory has
 *             only the spans of time, `width_us` each, in which there are some. A key may be there several times, or be gone: whoever takes it
 *             back sees what there is to do.
 * Note        Which spans there are goes into the database with cold_timers_save, for a database that goes on with a checkpoint.
 * Errors      NO_MEMORY, STATE_CORRUPT, those of the driver.
 * Threads     One task.
 */
#ifndef SPATE_STATE_COLD_TIMERS_H
#define SPATE_STATE_COLD_TIMERS_H

#include "state/cold_rows.h"

enum { COLD_TIMERS_ID_MAX = 256 };

struct cold_timers {
    struct budget *budget;
    struct cold_db *db;
    const struct cold_layout *layout; /* whose keys */
    char id[COLD_TIMERS_ID_MAX], note[16];
    int64_t width_us, next_us; /* next: nothing is there before it */
    int64_t *spans;            /* ascending: their first times */
    uint32_t count, capacity;
};
/* Zero is closed. */
enum status cold_timers_open(struct cold_timers *timers, struct budget *budget, struct cold_db *db, const struct cold_layout *layout,
                             int64_t width_us, struct error *err);
void cold_timers_close(struct cold_timers *timers);
/* Row k of the batch, of up to CHUNK_ROWS, at times[k]; INT64_MAX: never. columns: the layout's keys. */
enum status cold_timers_add(struct cold_timers *timers, const struct batch *batch, const uint32_t *columns, const int64_t *times,
                            struct error *err);
/* Keys whose time is not after `until`, the earliest first, at most CHUNK_ROWS: a new batch of the layout's keys, in that order. */
enum status cold_timers_take(struct cold_timers *timers, int64_t until, struct batch *keys, struct error *err);
enum status cold_timers_save(struct cold_timers *timers, struct error *err);

#endif
