/* data/time_zone.h: time zones: between instants and local times.
 *
 * For         TIMESTAMP_LTZ, windows over it, date functions in the session's zone.
 * Shape       A zone is 'UTC', an offset ('+01:00', 'GMT+8', 'UTC-3') or a name of the system's tz database, read once
 *             and kept; past its last transition the POSIX rule in its footer holds.
 * Units       Microseconds. Local time is an int64 as if it were UTC.
 * Rules       Local times in a gap move forward by the gap; in an overlap the earlier instant is taken (as Java).
 * Threads     Any; a zone is immutable.
 */
#ifndef SPATE_DATA_TIME_ZONE_H
#define SPATE_DATA_TIME_ZONE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/error.h"

struct time_zone;
extern const struct time_zone *const time_zone_utc;
enum status time_zone_find(struct arena *arena, const char *name, const struct time_zone **zone, struct error *err);
bool time_zone_is_utc(const struct time_zone *zone);
int64_t time_zone_to_local(const struct time_zone *zone, int64_t utc_us);
int64_t time_zone_to_utc(const struct time_zone *zone, int64_t local_us);
int32_t time_zone_offset_seconds(const struct time_zone *zone, int64_t utc_us);
/* The same for values of TIMESTAMP(precision): microseconds, above precision 6 nanoseconds. */
int128_t timestamp_to_local(const struct time_zone *zone, int128_t utc, int32_t precision);
int128_t timestamp_to_utc(const struct time_zone *zone, int128_t local, int32_t precision);

#endif
