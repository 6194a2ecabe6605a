#include "functions/time_unit.h"

#include "data/calendar.h"

static const struct {
    const char *name;
    int64_t us;
    int32_t months;
} units[UNIT_COUNT] = {
    [UNIT_NANOSECOND] = {"NANOSECOND", 0, 0},
    [UNIT_MICROSECOND] = {"MICROSECOND", 1, 0},
    [UNIT_MILLISECOND] = {"MILLISECOND", US_PER_MS, 0},
    [UNIT_SECOND] = {"SECOND", US_PER_SECOND, 0},
    [UNIT_MINUTE] = {"MINUTE", US_PER_MINUTE, 0},
    [UNIT_HOUR] = {"HOUR", US_PER_HOUR, 0},
    [UNIT_DAY] = {"DAY", US_PER_DAY, 0},
    [UNIT_WEEK] = {"WEEK", 7 * US_PER_DAY, 0},
    [UNIT_MONTH] = {"MONTH", 0, 1},
    [UNIT_QUARTER] = {"QUARTER", 0, 3},
    [UNIT_YEAR] = {"YEAR", 0, 12},
    [UNIT_DECADE] = {"DECADE", 0, 120},
    [UNIT_CENTURY] = {"CENTURY", 0, 1200},
    [UNIT_MILLENNIUM] = {"MILLENNIUM", 0, 12000},
    [UNIT_EPOCH] = {"EPOCH", 0, 0},
    [UNIT_DAY_OF_WEEK] = {"DOW", 0, 0},
    [UNIT_ISO_DAY_OF_WEEK] = {"ISODOW", 0, 0},
    [UNIT_DAY_OF_YEAR] = {"DOY", 0, 0},
    [UNIT_ISO_YEAR] = {"ISOYEAR", 0, 0},
};

bool time_unit_find(struct text name, enum time_unit *unit)
{
    struct text prefix = TEXT("SQL_TSI_");
    if (name.length > prefix.length && text_equal_ignoring_case((struct text){name.bytes, prefix.length}, prefix)) {
        name = (struct text){name.bytes + prefix.length, name.length - prefix.length};
    }
    for (uint32_t i = 0; i < UNIT_COUNT; i++) {
        if (text_equal_ignoring_case(name, text_from(units[i].name))) {
            *unit = (enum time_unit)i;
            return true;
        }
    }
    return false;
}

enum status time_unit_bind(const struct function_binding *binding, uint32_t index, enum time_unit *unit, struct error *err)
{
    struct text name;
    if (!expression_constant_text(binding->args[index], &name)) {
        return function_refuse(binding, err);
    }
    if (!time_unit_find(name, unit)) {
        return error_set(err, ERROR_WRONG_ARGUMENTS, "%s knows no unit '%.*s'; write one such as YEAR, MONTH, DAY, HOUR or SECOND",
                         binding->function->name, (int)(name.length > 60 ? 60 : name.length), name.bytes);
    }
    return STATUS_OK;
}

int64_t time_unit_us(enum time_unit unit)
{
    return units[unit].us;
}

int32_t time_unit_months(enum time_unit unit)
{
    return units[unit].months;
}

static int64_t extract_from_date(enum time_unit unit, int32_t days)
{
    struct date_parts parts = date_split(days);
    int32_t iso_year;
    switch (unit) {
    case UNIT_DAY:
        return parts.day;
    case UNIT_WEEK:
        return date_iso_week(days, &iso_year);
    case UNIT_ISO_YEAR:
        date_iso_week(days, &iso_year);
        return iso_year;
    case UNIT_MONTH:
        return parts.month;
    case UNIT_QUARTER:
        return (parts.month + 2) / 3;
    case UNIT_YEAR:
        return parts.year;
    case UNIT_DECADE:
        return floor_divide(parts.year, 10);
    case UNIT_CENTURY:
        return floor_divide(parts.year - 1, 100) + 1;
    case UNIT_MILLENNIUM:
        return floor_divide(parts.year - 1, 1000) + 1;
    case UNIT_DAY_OF_WEEK:
        return date_weekday(days) % 7 + 1;
    case UNIT_ISO_DAY_OF_WEEK:
        return date_weekday(days);
    default:
        return date_day_of_year(days);
    }
}

int64_t time_extract(enum time_unit unit, int64_t local_us, uint32_t nanos)
{
    switch (unit) {
    case UNIT_NANOSECOND:
        return floor_modulo(local_us, US_PER_SECOND) * 1000 + nanos;
    case UNIT_MICROSECOND:
        return floor_modulo(local_us, US_PER_SECOND);
    case UNIT_MILLISECOND:
        return floor_modulo(local_us, US_PER_SECOND) / US_PER_MS;
    case UNIT_SECOND:
        return floor_modulo(local_us, US_PER_MINUTE) / US_PER_SECOND;
    case UNIT_MINUTE:
        return floor_modulo(local_us, US_PER_HOUR) / US_PER_MINUTE;
    case UNIT_HOUR:
        return floor_modulo(local_us, US_PER_DAY) / US_PER_HOUR;
    case UNIT_EPOCH:
        return floor_divide(local_us, US_PER_SECOND);
    default:
        return extract_from_date(unit, timestamp_days(local_us));
    }
}

/* The first month of the unit that a month is in; both count from year 0. */
static int64_t floor_months(enum time_unit unit, int64_t month)
{
    int32_t length = units[unit].months;
    int64_t origin = unit == UNIT_CENTURY || unit == UNIT_MILLENNIUM ? 12 : 0; /* those begin in year 1 */
    return floor_divide(month - origin, length) * length + origin;
}

static int64_t month_start_us(int64_t month)
{
    return date_join((int32_t)floor_divide(month, 12), (int32_t)floor_modulo(month, 12) + 1, 1) * US_PER_DAY;
}

int64_t time_floor(enum time_unit unit, int64_t local_us)
{
    if (unit == UNIT_WEEK) {
        int64_t days = floor_divide(local_us, US_PER_DAY);
        return (days - floor_modulo(days + 4, 7)) * US_PER_DAY; /* 1970-01-01 was four days after a Sunday */
    }
    if (units[unit].us > 0) {
        return floor_divide(local_us, units[unit].us) * units[unit].us;
    }
    if (units[unit].months > 0) {
        struct date_parts parts = date_split(timestamp_days(local_us));
        return month_start_us(floor_months(unit, (int64_t)parts.year * 12 + parts.month - 1));
    }
    return local_us;
}

int64_t time_next(enum time_unit unit, int64_t floor_us)
{
    if (units[unit].months > 0) {
        return time_add_months(floor_us, units[unit].months);
    }
    return floor_us + units[unit].us;
}

int64_t time_add_months(int64_t local_us, int64_t months)
{
    int32_t days = timestamp_days(local_us);
    return date_add_months(days, (int32_t)months) * US_PER_DAY + (local_us - days * US_PER_DAY);
}

int64_t time_months_between(int64_t from, int64_t to)
{
    if (from > to) {
        return -time_months_between(to, from);
    }
    struct date_parts first = date_split(timestamp_days(from)), last = date_split(timestamp_days(to));
    int64_t months = ((int64_t)last.year - first.year) * 12 + last.month - first.month;
    return months - (time_add_months(from, months) > to);
}

int64_t time_instant_us(const struct vector *vector, uint32_t row, uint32_t *nanos)
{
    if (nanos != NULL) {
        *nanos = 0;
    }
    switch (vector->type->kind) {
    case TYPE_DATE:
        return (int64_t)((uint64_t)vector_int32(vector)[row] * (uint64_t)US_PER_DAY); /* a NULL row may hold anything */
    case TYPE_TIME:
        return vector_int32(vector)[row] * US_PER_MS;
    default:
        break;
    }
    if (vector->physical == PHYSICAL_INT64) {
        return vector_int64(vector)[row];
    }
    int128_t value = vector_int128(vector)[row];
    int64_t us = (int64_t)(value / 1000) - (value % 1000 < 0);
    if (nanos != NULL) {
        *nanos = (uint32_t)(value - (int128_t)us * 1000);
    }
    return us;
}

int64_t time_local_us(const struct vector *vector, uint32_t row, const struct time_zone *zone, uint32_t *nanos)
{
    int64_t us = time_instant_us(vector, row, nanos);
    return vector->type->kind == TYPE_TIMESTAMP_LTZ ? time_zone_to_local(zone, us) : us;
}

void time_put(struct vector *vector, uint32_t row, int64_t us, uint32_t nanos)
{
    if (vector->physical == PHYSICAL_INT64) {
        vector_int64(vector)[row] = us;
    } else {
        vector_int128(vector)[row] = (int128_t)us * 1000 + nanos;
    }
}
