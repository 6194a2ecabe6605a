/* functions/evaluation.h: what expressions know of their surroundings.
 *
 * Ownership   The session (or a test) owns it and keeps it for the life of programs made with it.
 * Threads     Read-only while programs run, except `now_us`, set between ticks by the thread that runs the tick; with
 *             several workers each has its own copy.
 */
#ifndef SPATE_FUNCTIONS_EVALUATION_H
#define SPATE_FUNCTIONS_EVALUATION_H

#include "base/clock.h"
#include "data/time_zone.h"

struct evaluation {
    struct budget *budget;
    const struct time_zone *zone; /* table.local-time-zone */
    int64_t now_us;               /* the job's clock, read once per tick: PROCTIME(), CURRENT_TIMESTAMP, ... */
    int64_t start_us;             /* when the statement began */
    bool legacy_cast;             /* table.exec.legacy-cast-behaviour */
    bool sum_overflow_wraps;      /* table.exec.sum-overflow = wrap */
    const char *same_again; /* the high-availability policy that runs ticks again, so that nothing may be left to chance; NULL: none */
};

#endif
