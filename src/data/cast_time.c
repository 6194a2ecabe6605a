/* data/cast_time.c: casts among DATE, TIME, TIMESTAMP and TIMESTAMP_LTZ.
 *
 * Everything passes through a local timestamp in nanoseconds (128 bits) or, the usual case, in microseconds. Cutting digits
 * takes fraction digits away (floors), also before 1970. */
#include "data/calendar.h"
#include "data/cast_kernels.h"

static int64_t unit_us(int32_t precision)
{
    static const int64_t units[7] = {1000000, 100000, 10000, 1000, 100, 10, 1};
    return units[precision < 6 ? precision : 6];
}

/* Cuts a timestamp to a precision and brings it to that precision's unit. */
static int128_t cut_timestamp(int128_t value, int32_t from, int32_t to)
{
    if (from > 6) {
        int64_t us = (int64_t)(value / 1000) - (value % 1000 < 0);
        if (to <= 6) {
            return floor_divide(us, unit_us(to)) * unit_us(to);
        }
        int64_t unit = to == 7 ? 100 : to == 8 ? 10 : 1;
        int64_t rest = (int64_t)(value - (int128_t)us * 1000);
        return (int128_t)us * 1000 + rest - rest % unit;
    }
    if (to > 6) {
        return value * 1000;
    }
    return to < from ? (int128_t)(floor_divide((int64_t)value, unit_us(to)) * unit_us(to)) : value;
}

static inline void put_timestamp(struct cast_run *run, uint32_t row, int128_t value)
{
    if (run->result->physical == PHYSICAL_INT64) {
        vector_int64(run->result)[row] = (int64_t)value;
    } else {
        vector_int128(run->result)[row] = value;
    }
}

/* Another precision, or between local time and instant. */
static enum status timestamp_to_timestamp(struct cast_run *run)
{
    const struct type *from = run->cast->from, *to = run->cast->to;
    bool to_local = from->kind == TYPE_TIMESTAMP_LTZ && to->kind == TYPE_TIMESTAMP;
    bool to_utc = from->kind == TYPE_TIMESTAMP && to->kind == TYPE_TIMESTAMP_LTZ;
    const struct time_zone *zone = run->context->zone;
    CAST_EACH_ROW(run, row)
    {
        if (!vector_is_valid(run->source, row)) {
            continue;
        }
        int128_t value = vector_get_integer(run->source, row);
        if (to_local) {
            value = timestamp_to_local(zone, value, from->precision);
        } else if (to_utc) {
            value = timestamp_to_utc(zone, value, from->precision);
        }
        put_timestamp(run, row, cut_timestamp(value, from->precision, to->precision));
    }
    return STATUS_OK;
}

static enum status date_to_timestamp(struct cast_run *run)
{
    const struct type *to = run->cast->to;
    CAST_EACH_ROW(run, row)
    {
        if (!vector_is_valid(run->source, row)) {
            continue;
        }
        int64_t us = vector_int32(run->source)[row] * US_PER_DAY;
        if (to->kind == TYPE_TIMESTAMP_LTZ) {
            us = time_zone_to_utc(run->context->zone, us);
        }
        put_timestamp(run, row, to->precision > 6 ? (int128_t)us * 1000 : (int128_t)us);
    }
    return STATUS_OK;
}

/* A time of day is on 1970-01-01. */
static enum status time_to_timestamp(struct cast_run *run)
{
    const struct type *to = run->cast->to;
    CAST_EACH_ROW(run, row)
    {
        if (!vector_is_valid(run->source, row)) {
            continue;
        }
        int64_t us = vector_int32(run->source)[row] * US_PER_MS;
        if (to->kind == TYPE_TIMESTAMP_LTZ) {
            us = time_zone_to_utc(run->context->zone, us);
        }
        put_timestamp(run, row, cut_timestamp(us, 6, to->precision));
    }
    return STATUS_OK;
}

static int64_t local_us(const struct cast_run *run, uint32_t row)
{
    const struct type *from = run->cast->from;
    int128_t value = vector_get_integer(run->source, row);
    if (from->kind == TYPE_TIMESTAMP_LTZ) {
        value = timestamp_to_local(run->context->zone, value, from->precision);
    }
    return (int64_t)cut_timestamp(value, from->precision, 6);
}

static enum status timestamp_to_date(struct cast_run *run)
{
    CAST_EACH_ROW(run, row)
    {
        if (vector_is_valid(run->source, row)) {
            vector_int32(run->result)[row] = timestamp_days(local_us(run, row));
        }
    }
    return STATUS_OK;
}

static int32_t cut_time(int32_t ms, int32_t precision)
{
    static const int32_t units[4] = {1000, 100, 10, 1};
    return ms - ms % units[precision < 3 ? precision : 3];
}

static enum status timestamp_to_time(struct cast_run *run)
{
    int32_t precision = run->cast->to->precision;
    CAST_EACH_ROW(run, row)
    {
        if (vector_is_valid(run->source, row)) {
            int64_t of_day = floor_modulo(local_us(run, row), US_PER_DAY);
            vector_int32(run->result)[row] = cut_time((int32_t)(of_day / US_PER_MS), precision);
        }
    }
    return STATUS_OK;
}

static enum status time_to_time(struct cast_run *run)
{
    const int32_t *values = vector_int32(run->source);
    int32_t *out = vector_int32(run->result);
    int32_t precision = run->cast->to->precision;
    CAST_LOOP(run, row, out[row] = cut_time(values[row], precision));
    return STATUS_OK;
}

cast_fn *cast_time_find(const struct type *from, const struct type *to)
{
    if (type_is_timestamp(from)) {
        return type_is_timestamp(to)   ? timestamp_to_timestamp
               : to->kind == TYPE_DATE ? timestamp_to_date
               : to->kind == TYPE_TIME ? timestamp_to_time
                                       : NULL;
    }
    if (from->kind == TYPE_DATE && type_is_timestamp(to)) {
        return date_to_timestamp;
    }
    if (from->kind == TYPE_TIME) {
        return type_is_timestamp(to) ? time_to_timestamp : to->kind == TYPE_TIME ? time_to_time : NULL;
    }
    return NULL;
}
