/* base/clock.h: time, injectable.
 *
 * For         everything that asks what time it is: PROCTIME(), timeouts, intervals. A test passes a clock of its own.
 * Units       Microseconds. Wall time is since 1970-01-01 UTC; monotonic time has no fixed origin.
 * Suspend     The monotonic time of clock_system stands still while the machine is suspended; that of clock_boot goes on: for whoever must not
 *             think that what it held before is still fresh.
 * Threads     Any.
 */
#ifndef SPATE_BASE_CLOCK_H
#define SPATE_BASE_CLOCK_H

#include <stdint.h>

struct clock {
    int64_t (*wall_us)(const struct clock *clock);
    int64_t (*monotonic_us)(const struct clock *clock);
};
extern const struct clock clock_system, clock_boot;

#endif
