/* data/calendar.h: dates and times of the proleptic Gregorian calendar, as plain integers.
 *
 * Units       Days since 1970-01-01, microseconds since 1970-01-01 00:00. Division floors, so times before 1970 are right.
 */
#ifndef SPATE_DATA_CALENDAR_H
#define SPATE_DATA_CALENDAR_H

#include <stdbool.h>
#include <stdint.h>

#define US_PER_MS     INT64_C(1000)
#define US_PER_SECOND INT64_C(1000000)
#define US_PER_MINUTE (60 * US_PER_SECOND)
#define US_PER_HOUR   (60 * US_PER_MINUTE)
#define US_PER_DAY    (24 * US_PER_HOUR)

/* What computes a time gives none that is further from 1970: about 280,000 years. Microseconds in 64 bits reach further, so there is room
 * for what rounds a time, shifts it by a zone or puts it into a window. */
#define DATE_DAYS_MAX INT64_C(102200000)
#define TIME_US_MAX   (DATE_DAYS_MAX * US_PER_DAY)

struct date_parts {
    int32_t year, month, day; /* month 1..12, day 1..31 */
};
struct date_parts date_split(int32_t days);
int32_t date_join(int32_t year, int32_t month, int32_t day); /* fields need not be normalised for month */
int32_t date_days_in_month(int32_t year, int32_t month);
int32_t date_add_months(int32_t days, int32_t months); /* keeps the last day of the month */
int32_t date_weekday(int32_t days);                    /* ISO: Monday 1 .. Sunday 7 */
int32_t date_iso_week(int32_t days, int32_t *iso_year);
int32_t date_day_of_year(int32_t days);

static inline int64_t floor_divide(int64_t value, int64_t by)
{
    int64_t quotient = value / by;
    return quotient - (value % by != 0 && (value < 0) != (by < 0));
}
static inline int64_t floor_modulo(int64_t value, int64_t by)
{
    return value - floor_divide(value, by) * by;
}
static inline int32_t timestamp_days(int64_t us)
{
    return (int32_t)floor_divide(us, US_PER_DAY);
}

#endif
