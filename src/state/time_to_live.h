/* state/time_to_live.h: when entries of state were written last, and which of them have expired.
 *
 * For         operators whose state has a time-to-live (`table.exec.state.ttl`): the slots of a key table, the entries of a join.
 * Shape       A number of 32 bits by entry: units since `base_us`, 0: never written, or forgotten. The unit is a millisecond, more where the
 *             time-to-live is longer than twelve days (an entry expires late by less than a unit). An entry has expired when `ttl_us` has
 *             passed since it was written; within a tick the time stands still, so whoever meets it finds the same.
 * Sweep       ttl_sweep looks at a part of the entries per call, and comes round. The owner removes what it gives, and calls ttl_forget.
 * Ownership   The struct owns the array. Zero is a time-to-live that is not set: ttl_is_set is false, and nothing else is called.
 * Errors      NO_MEMORY.
 * Threads     One task.
 */
#ifndef SPATE_STATE_TIME_TO_LIVE_H
#define SPATE_STATE_TIME_TO_LIVE_H

#include "base/budget.h"
#include "base/compiler.h"
#include "base/error.h"

enum { TTL_SWEEP_MIN = 1024, TTL_SPANS = 32 /* for a database: state/cold_timers.h */ };
#define TTL_NO_TIME INT64_MIN

struct time_to_live {
    struct budget *budget;
    int64_t ttl_us; /* 0: not set */
    int64_t unit_us, base_us, now_us;
    uint32_t units, now, oldest; /* of the time-to-live; the tick's time; what was written before `oldest` has expired */
    uint32_t capacity, cursor;
    uint32_t *written;
};

/* now_us: about the time of the first tick. */
void ttl_open(struct time_to_live *ttl, struct budget *budget, int64_t ttl_us, int64_t now_us);
void ttl_close(struct time_to_live *ttl);
size_t ttl_bytes(const struct time_to_live *ttl);
/* Slow part of ttl_set_now. */
void ttl_move_to(struct time_to_live *ttl, int64_t now_us);
enum status ttl_grow(struct time_to_live *ttl, uint32_t entry, struct error *err);
/* When it was written; TTL_NO_TIME: never. */
int64_t ttl_written_us(const struct time_to_live *ttl, uint32_t entry);
/* When an entry that was written has surely expired. */
int64_t ttl_expires_us(const struct time_to_live *ttl, uint32_t entry);
/* From a checkpoint; TTL_NO_TIME: it is written now. An entry that is there already keeps the later time. */
enum status ttl_restore(struct time_to_live *ttl, uint32_t entry, int64_t written_us, struct error *err);
/* The next of the entries below `count` that have expired, at most `room`. Looks at 16 times as many. */
uint32_t ttl_sweep(struct time_to_live *ttl, uint32_t count, uint32_t *expired, uint32_t room);

static inline bool ttl_is_set(const struct time_to_live *ttl)
{
    return UNLIKELY(ttl->ttl_us > 0);
}
/* The time of the tick; never goes back. */
static inline void ttl_set_now(struct time_to_live *ttl, int64_t now_us)
{
    if (now_us != ttl->now_us) {
        ttl_move_to(ttl, now_us);
    }
}
static inline bool ttl_has_expired(const struct time_to_live *ttl, uint32_t entry)
{
    return entry >= ttl->capacity || ttl->written[entry] < ttl->oldest;
}
static inline enum status ttl_write(struct time_to_live *ttl, uint32_t entry, struct error *err)
{
    if (UNLIKELY(entry >= ttl->capacity)) {
        TRY(ttl_grow(ttl, entry, err));
    }
    ttl->written[entry] = ttl->now;
    return STATUS_OK;
}
/* It counts as never written. */
static inline void ttl_forget(struct time_to_live *ttl, uint32_t entry)
{
    if (entry < ttl->capacity) {
        ttl->written[entry] = 0;
    }
}

#endif
