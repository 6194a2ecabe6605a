/* data/calendar.c: the Gregorian calendar counts from 1 March, so that the leap day is the last of its year.
 *
 * A date is 400-year eras of 146,097 days, then years, then months of 153 days in groups of five. */
#include "data/calendar.h"

enum { DAYS_PER_ERA = 146097, YEARS_PER_ERA = 400, EPOCH_SHIFT = 719468 }; /* 0000-03-01 is EPOCH_SHIFT days before 1970 */

struct date_parts date_split(int32_t days)
{
    int64_t shifted = (int64_t)days + EPOCH_SHIFT;
    int64_t era = floor_divide(shifted, DAYS_PER_ERA);
    uint32_t day_of_era = (uint32_t)(shifted - era * DAYS_PER_ERA);
    uint32_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    uint32_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    uint32_t month_from_march = (5 * day_of_year + 2) / 153;
    struct date_parts parts;
    parts.day = (int32_t)(day_of_year - (153 * month_from_march + 2) / 5 + 1);
    parts.month = (int32_t)(month_from_march < 10 ? month_from_march + 3 : month_from_march - 9);
    parts.year = (int32_t)(era * YEARS_PER_ERA + year_of_era + (parts.month <= 2));
    return parts;
}

int32_t date_join(int32_t year, int32_t month, int32_t day)
{
    int64_t month_index = (int64_t)month - 1;
    int64_t whole_year = year + floor_divide(month_index, 12);
    int64_t month_from_march = floor_modulo(month_index - 2, 12);
    if (month_from_march >= 10) {
        whole_year--;
    }
    int64_t era = floor_divide(whole_year, YEARS_PER_ERA);
    int64_t year_of_era = whole_year - era * YEARS_PER_ERA;
    int64_t day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return (int32_t)(era * DAYS_PER_ERA + day_of_era - EPOCH_SHIFT);
}

static bool year_is_leap(int32_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

int32_t date_days_in_month(int32_t year, int32_t month)
{
    static const int8_t lengths[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return lengths[month - 1] + (month == 2 && year_is_leap(year));
}

int32_t date_add_months(int32_t days, int32_t months)
{
    struct date_parts parts = date_split(days);
    int64_t index = (int64_t)parts.year * 12 + parts.month - 1 + months;
    int32_t year = (int32_t)floor_divide(index, 12);
    int32_t month = (int32_t)floor_modulo(index, 12) + 1;
    int32_t last = date_days_in_month(year, month);
    return date_join(year, month, parts.day < last ? parts.day : last);
}

int32_t date_weekday(int32_t days)
{
    return (int32_t)floor_modulo((int64_t)days + 3, 7) + 1; /* 1970-01-01 was a Thursday */
}

int32_t date_iso_week(int32_t days, int32_t *iso_year)
{
    int32_t thursday = days - date_weekday(days) + 4; /* a week belongs to the year of its Thursday */
    *iso_year = date_split(thursday).year;
    return (thursday - date_join(*iso_year, 1, 1)) / 7 + 1;
}

int32_t date_day_of_year(int32_t days)
{
    return days - date_join(date_split(days).year, 1, 1) + 1;
}
