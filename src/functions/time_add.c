/* TIMESTAMPADD and TIMESTAMPDIFF.
 *
 * Units up to a week have a fixed length (of an instant, for TIMESTAMP_LTZ); months and longer ones follow the local calendar. */
#include "data/calendar.h"
#include "functions/tables.h"
#include "functions/time_functions.h"

enum { MONTHS_MAX = 12 * 600000 };

static bool add_any(enum time_unit unit, int64_t count, int64_t *us)
{
    int64_t months, distance, midnight;
    if (time_unit_months(unit) == 0) {
        return !__builtin_mul_overflow(count, time_unit_us(unit), &distance) && !__builtin_add_overflow(*us, distance, us);
    }
    if (__builtin_mul_overflow(count, time_unit_months(unit), &months) || months > MONTHS_MAX || months < -MONTHS_MAX) {
        return false;
    }
    int32_t days = timestamp_days(*us);
    return !__builtin_mul_overflow((int64_t)date_add_months(days, (int32_t)months), US_PER_DAY, &midnight) &&
           !__builtin_add_overflow(midnight, *us - days * US_PER_DAY, us);
}

/* false: it is no time. */
static bool add_units(enum time_unit unit, int64_t count, int64_t *us)
{
    return add_any(unit, count, us) && *us <= TIME_US_MAX && *us >= -TIME_US_MAX;
}

static void put_result(struct kernel_call *call, uint32_t row, int64_t us, uint32_t nanos)
{
    switch (call->result->type->kind) {
    case TYPE_DATE:
        vector_int32(call->result)[row] = timestamp_days(us);
        break;
    case TYPE_TIME:
        vector_int32(call->result)[row] = (int32_t)(floor_modulo(us, US_PER_DAY) / US_PER_MS);
        break;
    default:
        time_put(call->result, row, us, nanos);
    }
}

static void run_add(struct kernel_call *call)
{
    enum time_unit unit = *(const enum time_unit *)call->data;
    const int64_t *counts = vector_int64(call->args[1]);
    const struct vector *value = call->args[2];
    bool local = value->type->kind == TYPE_TIMESTAMP_LTZ && time_unit_months(unit) > 0;
    TIME_EACH_ROW(call, row)
    {
        uint32_t nanos;
        int64_t us = time_instant_us(value, row, &nanos);
        if (local) {
            us = time_zone_to_local(call->evaluation->zone, us);
        }
        if (!add_units(unit, counts[row], &us)) {
            kernel_fail(call, row, ERROR_VALUE_OUT_OF_RANGE, "the time that is %lld units later is out of range", (long long)counts[row]);
            continue;
        }
        if (local) {
            us = time_zone_to_utc(call->evaluation->zone, us);
        }
        put_result(call, row, us, nanos);
    }
}

/* DATE stays DATE by days and more, else becomes TIMESTAMP(6); a fraction unit needs room for its digits. */
static enum status add_result(struct function_binding *binding, enum time_unit unit, const struct type *type, bool nullable,
                              struct error *err)
{
    enum type_kind kind = type->kind;
    int32_t precision = type->precision;
    if (kind == TYPE_DATE && unit < UNIT_DAY) {
        kind = TYPE_TIMESTAMP;
        precision = 6;
    }
    int32_t needed = unit == UNIT_MICROSECOND ? 6 : unit == UNIT_MILLISECOND ? 3 : 0;
    if (kind != TYPE_DATE && precision < needed) {
        precision = needed;
    }
    TRY_ALLOC(binding->result, type_make(binding->arena, kind, precision, 0, nullable), err);
    return STATUS_OK;
}

static enum status bind_add(struct function_binding *binding, struct error *err)
{
    enum time_unit unit;
    TRY(time_unit_bind(binding, 0, &unit, err));
    const struct type *type = binding->args[2]->type;
    if (!time_is_point(type) || unit > UNIT_MILLENNIUM || unit == UNIT_NANOSECOND ||
        !(type_is_integer(binding->args[1]->type) || binding->args[1]->type->kind == TYPE_NULL)) {
        return function_refuse(binding, err);
    }
    bool nullable = type->nullable || binding->args[1]->type->nullable;
    TRY(function_coerce(binding, 1, &type_bigint, err));
    TRY(add_result(binding, unit, type, nullable, err));
    enum time_unit *data;
    TRY_ALLOC(data, arena_copy(binding->arena, &unit, sizeof unit), err);
    binding->kernel = (struct kernel){.run = run_add, .traits = FUNCTION_STRICT | FUNCTION_CAN_FAIL, .data = data};
    return STATUS_OK;
}

static int64_t difference(enum time_unit unit, int64_t from, int64_t to)
{
    if (time_unit_months(unit) > 0) {
        return time_months_between(from, to) / time_unit_months(unit);
    }
    return (int64_t)(((int128_t)to - from) / time_unit_us(unit));
}

static void run_difference(struct kernel_call *call)
{
    enum time_unit unit = *(const enum time_unit *)call->data;
    const struct vector *from = call->args[1], *to = call->args[2];
    int32_t *out = vector_int32(call->result);
    bool instants = from->type->kind == TYPE_TIMESTAMP_LTZ && to->type->kind == TYPE_TIMESTAMP_LTZ && time_unit_months(unit) == 0;
    const struct time_zone *zone = instants ? time_zone_utc : call->evaluation->zone;
    TIME_EACH_ROW(call, row)
    {
        out[row] = (int32_t)difference(unit, time_local_us(from, row, zone, NULL), time_local_us(to, row, zone, NULL));
    }
}

static enum status bind_difference(struct function_binding *binding, struct error *err)
{
    enum time_unit unit;
    TRY(time_unit_bind(binding, 0, &unit, err));
    for (uint32_t i = 1; i < 3; i++) {
        if (binding->args[i]->type->kind == TYPE_NULL) {
            TRY(function_coerce(binding, i, &type_timestamp3, err));
        }
        if (!time_is_point(binding->args[i]->type)) {
            return function_refuse(binding, err);
        }
    }
    if (unit > UNIT_MILLENNIUM || unit == UNIT_NANOSECOND) {
        return function_refuse(binding, err);
    }
    enum time_unit *data;
    TRY_ALLOC(data, arena_copy(binding->arena, &unit, sizeof unit), err);
    binding->result = function_any_nullable(binding) ? &type_int : &type_int_not_null;
    binding->kernel = (struct kernel){.run = run_difference, .traits = FUNCTION_STRICT | FUNCTION_TOTAL, .data = data};
    return STATUS_OK;
}

static const struct function functions[] = {
    {"TIMESTAMPADD", "time", "TIMESTAMPADD(unit, count, time)", "The time that many units later; months keep the last day of the month.",
     "TIMESTAMPADD(MONTH, 1, DATE '2020-01-31') = DATE '2020-02-29'", 3, 3, bind_add},
    {"TIMESTAMPDIFF", "time", "TIMESTAMPDIFF(unit, from, to)", "The complete units from one time to another, as INT.",
     "TIMESTAMPDIFF(DAY, DATE '2020-02-28', DATE '2020-03-01') = 2", 3, 3, bind_difference},
};

const struct function_table time_add_functions = {functions, ARRAY_LENGTH(functions)};
