/* functions/time_unit.h: the units of EXTRACT, FLOOR, CEIL, TIMESTAMPADD and TIMESTAMPDIFF, on plain integers.
 *
 * Units       Times are local microseconds since 1970-01-01 00:00. Division floors: times before 1970 are right.
 */
#ifndef SPATE_FUNCTIONS_TIME_UNIT_H
#define SPATE_FUNCTIONS_TIME_UNIT_H

#include "functions/function.h"

enum time_unit {
    UNIT_NANOSECOND,
    UNIT_MICROSECOND,
    UNIT_MILLISECOND,
    UNIT_SECOND,
    UNIT_MINUTE,
    UNIT_HOUR,
    UNIT_DAY, /* the last unit of a fixed length below a week */
    UNIT_WEEK,
    UNIT_MONTH,
    UNIT_QUARTER,
    UNIT_YEAR,
    UNIT_DECADE,
    UNIT_CENTURY,
    UNIT_MILLENNIUM, /* up to here units can be counted; the others are only extracted */
    UNIT_EPOCH,
    UNIT_DAY_OF_WEEK,
    UNIT_ISO_DAY_OF_WEEK,
    UNIT_DAY_OF_YEAR,
    UNIT_ISO_YEAR,
    UNIT_COUNT
};

bool time_unit_find(struct text name, enum time_unit *unit);
/* The constant unit in argument `index`; WRONG_ARGUMENTS when it is none. */
enum status time_unit_bind(const struct function_binding *binding, uint32_t index, enum time_unit *unit, struct error *err);
int64_t time_unit_us(enum time_unit unit);     /* MICROSECOND .. WEEK; 0 for others */
int32_t time_unit_months(enum time_unit unit); /* MONTH .. MILLENNIUM; 0 for others */

/* `nanos`: what a value of nanoseconds has beyond its microseconds. */
int64_t time_extract(enum time_unit unit, int64_t local_us, uint32_t nanos);
/* The start of the unit that a time is in, and that of the next. Weeks start on Sunday. */
int64_t time_floor(enum time_unit unit, int64_t local_us);
int64_t time_next(enum time_unit unit, int64_t floor_us);
int64_t time_add_months(int64_t local_us, int64_t months);
/* Complete months from `from` to `to`; counts backward as many as forward. */
int64_t time_months_between(int64_t from, int64_t to);

/* A value of DATE, TIME, TIMESTAMP or TIMESTAMP_LTZ as local microseconds; `nanos` may be NULL. */
int64_t time_local_us(const struct vector *vector, uint32_t row, const struct time_zone *zone, uint32_t *nanos);
/* The instant of TIMESTAMP_LTZ (for others as above). */
int64_t time_instant_us(const struct vector *vector, uint32_t row, uint32_t *nanos);
/* Writes microseconds (and nanoseconds) into a TIMESTAMP row of the result. */
void time_put(struct vector *vector, uint32_t row, int64_t us, uint32_t nanos);

#endif
