/* EXTRACT and the functions named by a unit (YEAR, HOUR, ...); FLOOR and CEIL of times.
 *
 * The fields of a TIMESTAMP_LTZ are those of its local time in the session's zone; EPOCH is that of the instant. */
#include "data/calendar.h"
#include "functions/tables.h"
#include "functions/time_functions.h"

/* The hot case: a unit below a day of a TIMESTAMP in microseconds. (us % outer) / inner, floored. */
struct clock_field {
    int64_t outer, inner;
};

static void run_clock_field(struct kernel_call *call)
{
    const struct clock_field *field = call->data;
    const int64_t *values = vector_int64(call->args[call->arg_count - 1]);
    int64_t *out = vector_int64(call->result);
    for (uint32_t i = 0; i < call->rows.count; i++) {
        uint32_t row = selection_row(&call->rows, i);
        out[row] = floor_modulo(values[row], field->outer) / field->inner;
    }
}

static void run_extract(struct kernel_call *call)
{
    enum time_unit unit = *(const enum time_unit *)call->data;
    const struct vector *value = call->args[call->arg_count - 1];
    int64_t *out = vector_int64(call->result);
    TIME_EACH_ROW(call, row)
    {
        uint32_t nanos;
        int64_t us = unit == UNIT_EPOCH ? time_instant_us(value, row, &nanos) : time_local_us(value, row, call->evaluation->zone, &nanos);
        out[row] = time_extract(unit, us, nanos);
    }
}

/* A field of an interval keeps the interval's sign. */
static int64_t interval_field(enum time_unit unit, int64_t value)
{
    switch (unit) {
    case UNIT_MICROSECOND:
        return value % US_PER_SECOND;
    case UNIT_MILLISECOND:
        return value % US_PER_SECOND / US_PER_MS;
    case UNIT_SECOND:
        return value % US_PER_MINUTE / US_PER_SECOND;
    case UNIT_MINUTE:
        return value % US_PER_HOUR / US_PER_MINUTE;
    case UNIT_HOUR:
        return value % US_PER_DAY / US_PER_HOUR;
    case UNIT_EPOCH:
        return value / US_PER_SECOND;
    default:
        return value / US_PER_DAY;
    }
}

static void run_extract_interval(struct kernel_call *call)
{
    enum time_unit unit = *(const enum time_unit *)call->data;
    const struct vector *value = call->args[call->arg_count - 1];
    int64_t *out = vector_int64(call->result);
    bool months = value->type->kind == TYPE_INTERVAL_MONTH;
    TIME_EACH_ROW(call, row)
    {
        int64_t count = (int64_t)vector_get_integer(value, row);
        if (!months) {
            out[row] = interval_field(unit, count);
        } else {
            out[row] = unit == UNIT_YEAR ? count / 12 : unit == UNIT_QUARTER ? count % 12 / 3 + 1 : count % 12;
        }
    }
}

static bool interval_has(const struct type *type, enum time_unit unit)
{
    if (type->kind == TYPE_INTERVAL_MONTH) {
        return unit == UNIT_YEAR || unit == UNIT_QUARTER || unit == UNIT_MONTH;
    }
    return (unit >= UNIT_MICROSECOND && unit <= UNIT_DAY) || unit == UNIT_EPOCH;
}

static bool time_of_day_has(enum time_unit unit)
{
    return unit <= UNIT_HOUR || unit == UNIT_EPOCH;
}

static enum status bind_clock_field(struct function_binding *binding, enum time_unit unit, struct error *err)
{
    struct clock_field *field;
    TRY_ALLOC(field, arena_alloc(binding->arena, sizeof *field), err);
    *field = (struct clock_field){unit == UNIT_HOUR ? US_PER_DAY : unit == UNIT_MINUTE ? US_PER_HOUR : US_PER_MINUTE, time_unit_us(unit)};
    binding->kernel = (struct kernel){.run = run_clock_field, .traits = FUNCTION_STRICT | FUNCTION_TOTAL, .data = field};
    return STATUS_OK;
}

static enum status bind_unit(struct function_binding *binding, enum time_unit unit, struct error *err)
{
    uint32_t last = binding->arg_count - 1;
    if (binding->args[last]->type->kind == TYPE_NULL) {
        TRY(function_coerce(binding, last, &type_timestamp3, err));
    }
    const struct type *type = binding->args[last]->type;
    bool interval = type_is_interval(type);
    if (interval ? !interval_has(type, unit) : !time_is_point(type) || (type->kind == TYPE_TIME && !time_of_day_has(unit))) {
        return function_refuse(binding, err);
    }
    binding->result = type->nullable ? &type_bigint : &type_bigint_not_null;
    bool plain = type->kind == TYPE_TIMESTAMP && type_physical(type) == PHYSICAL_INT64;
    if (plain && unit >= UNIT_SECOND && unit <= UNIT_HOUR) {
        return bind_clock_field(binding, unit, err);
    }
    enum time_unit *data;
    TRY_ALLOC(data, arena_copy(binding->arena, &unit, sizeof unit), err);
    binding->kernel =
        (struct kernel){.run = interval ? run_extract_interval : run_extract, .traits = FUNCTION_STRICT | FUNCTION_TOTAL, .data = data};
    return STATUS_OK;
}

static enum status bind_extract(struct function_binding *binding, struct error *err)
{
    enum time_unit unit;
    TRY(time_unit_bind(binding, 0, &unit, err));
    return bind_unit(binding, unit, err);
}

#define NAMED(name, unit)                                                                                                                  \
    static enum status bind_##name(struct function_binding *binding, struct error *err)                                                    \
    {                                                                                                                                      \
        return bind_unit(binding, unit, err);                                                                                              \
    }
NAMED(year, UNIT_YEAR)
NAMED(quarter, UNIT_QUARTER)
NAMED(month, UNIT_MONTH)
NAMED(week, UNIT_WEEK)
NAMED(day_of_year, UNIT_DAY_OF_YEAR)
NAMED(day_of_month, UNIT_DAY)
NAMED(day_of_week, UNIT_DAY_OF_WEEK)
NAMED(hour, UNIT_HOUR)
NAMED(minute, UNIT_MINUTE)
NAMED(second, UNIT_SECOND)
#undef NAMED

struct rounding {
    enum time_unit unit;
    bool up;
};

/* The multiple of the unit at or below (above) a local time. */
static int64_t round_us(const struct rounding *rounding, int64_t local_us, bool has_rest)
{
    int64_t floor = time_floor(rounding->unit, local_us);
    return rounding->up && (floor != local_us || has_rest) ? time_next(rounding->unit, floor) : floor;
}

static void round_date(struct kernel_call *call, const struct rounding *rounding)
{
    int32_t *out = vector_int32(call->result);
    const int32_t *values = vector_int32(call->args[0]);
    TIME_EACH_ROW(call, row)
    {
        out[row] = timestamp_days(round_us(rounding, (int64_t)((uint64_t)values[row] * (uint64_t)US_PER_DAY), false));
    }
}

static void round_time(struct kernel_call *call, const struct rounding *rounding)
{
    int32_t *out = vector_int32(call->result);
    const int32_t *values = vector_int32(call->args[0]);
    TIME_EACH_ROW(call, row)
    {
        out[row] = (int32_t)(floor_modulo(round_us(rounding, values[row] * US_PER_MS, false), US_PER_DAY) / US_PER_MS);
    }
}

/* Within a day an instant moves as far as its local time: in an hour that comes twice it stays in its own. */
static int64_t round_instant(const struct rounding *rounding, const struct time_zone *zone, int64_t us, bool has_rest)
{
    int64_t local = time_zone_to_local(zone, us);
    int64_t rounded = round_us(rounding, local, has_rest);
    return rounding->unit < UNIT_DAY ? us + (rounded - local) : time_zone_to_utc(zone, rounded);
}

static void run_round(struct kernel_call *call)
{
    const struct rounding *rounding = call->data;
    const struct vector *value = call->args[0];
    if (value->type->kind == TYPE_DATE) {
        round_date(call, rounding);
        return;
    }
    if (value->type->kind == TYPE_TIME) {
        round_time(call, rounding);
        return;
    }
    bool local = value->type->kind == TYPE_TIMESTAMP;
    TIME_EACH_ROW(call, row)
    {
        uint32_t nanos;
        int64_t us = time_instant_us(value, row, &nanos);
        us = local ? round_us(rounding, us, nanos > 0) : round_instant(rounding, call->evaluation->zone, us, nanos > 0);
        time_put(call->result, row, us, rounding->unit == UNIT_NANOSECOND ? nanos : 0);
    }
}

static enum status bind_round(struct function_binding *binding, bool up, struct error *err)
{
    struct rounding *rounding;
    const struct type *type = binding->args[0]->type;
    TRY_ALLOC(rounding, arena_alloc(binding->arena, sizeof *rounding), err);
    TRY(time_unit_bind(binding, 1, &rounding->unit, err));
    rounding->up = up && rounding->unit != UNIT_NANOSECOND;
    bool fits = type->kind == TYPE_DATE   ? rounding->unit >= UNIT_DAY
                : type->kind == TYPE_TIME ? rounding->unit < UNIT_DAY
                                          : type_is_timestamp(type);
    if (!fits || rounding->unit > UNIT_MILLENNIUM) {
        return function_refuse(binding, err);
    }
    binding->result = type;
    binding->kernel = (struct kernel){.run = run_round, .traits = FUNCTION_STRICT | FUNCTION_TOTAL, .data = rounding};
    return STATUS_OK;
}

enum status time_bind_floor(struct function_binding *binding, struct error *err)
{
    return bind_round(binding, false, err);
}

enum status time_bind_ceil(struct function_binding *binding, struct error *err)
{
    return bind_round(binding, true, err);
}

static const struct function functions[] = {
    {"EXTRACT", "time", "EXTRACT(unit FROM time)",
     "A field of a date, time, timestamp or interval, as BIGINT; weeks are those of ISO 8601.", "EXTRACT(DAY FROM DATE '2020-02-29') = 29",
     2, 2, bind_extract},
    {"YEAR", "time", "YEAR(date)", "The year.", "YEAR(DATE '2020-02-29') = 2020", 1, 1, bind_year},
    {"QUARTER", "time", "QUARTER(date)", "The quarter of the year, 1 to 4.", "QUARTER(DATE '2020-02-29') = 1", 1, 1, bind_quarter},
    {"MONTH", "time", "MONTH(date)", "The month, 1 to 12.", "MONTH(DATE '2020-02-29') = 2", 1, 1, bind_month},
    {"WEEK", "time", "WEEK(date)", "The week of ISO 8601, 1 to 53.", "WEEK(DATE '2020-02-29') = 9", 1, 1, bind_week},
    {"DAYOFYEAR", "time", "DAYOFYEAR(date)", "The day of the year, 1 to 366.", "DAYOFYEAR(DATE '2020-02-29') = 60", 1, 1, bind_day_of_year},
    {"DAYOFMONTH", "time", "DAYOFMONTH(date)", "The day of the month, 1 to 31.", "DAYOFMONTH(DATE '2020-02-29') = 29", 1, 1,
     bind_day_of_month},
    {"DAYOFWEEK", "time", "DAYOFWEEK(date)", "The day of the week, Sunday is 1.", "DAYOFWEEK(DATE '2020-02-29') = 7", 1, 1,
     bind_day_of_week},
    {"HOUR", "time", "HOUR(time)", "The hour, 0 to 23.", "HOUR(TIME '12:34:56') = 12", 1, 1, bind_hour},
    {"MINUTE", "time", "MINUTE(time)", "The minute, 0 to 59.", "MINUTE(TIME '12:34:56') = 34", 1, 1, bind_minute},
    {"SECOND", "time", "SECOND(time)", "The second, 0 to 59.", "SECOND(TIME '12:34:56') = 56", 1, 1, bind_second},
};

const struct function_table time_extract_functions = {functions, ARRAY_LENGTH(functions)};
