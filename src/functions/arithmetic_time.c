/* Dates, times, timestamps and intervals with + and -; intervals with * and /.
 *
 * A difference is the sum with the negated interval. Months keep the last day of the month; a TIME wraps at midnight; an
 * interval below a day added to a DATE gives a TIMESTAMP when it is a constant, else its whole days count. */
#include "functions/arithmetic.h"

#include "data/calendar.h"
#include "functions/program.h"
#include "functions/tables.h"
#include "functions/time_functions.h"

enum { MS_PER_DAY = 86400000, NS_PER_US = 1000 };

/* More days than there are when the months alone are more than all of time. */
static int64_t days_add_months(int32_t days, int32_t months)
{
    const int64_t most = DATE_DAYS_MAX / 28;
    return months > most || months < -most ? INT32_MAX : date_add_months(days, months);
}

static int64_t days_add_us(int32_t days, int64_t us)
{
    return days + floor_divide(us, US_PER_DAY);
}

static int128_t us_add_us(int64_t us, int64_t more)
{
    return (int128_t)us + more;
}

static int128_t us_add_months(int64_t us, int32_t months)
{
    int32_t days = timestamp_days(us);
    return us + ((int128_t)days_add_months(days, months) - days) * US_PER_DAY;
}

static int128_t ns_add_us(int128_t ns, int64_t us)
{
    return ns + (int128_t)us * NS_PER_US;
}

static int128_t ns_add_months(int128_t ns, int32_t months)
{
    int64_t us = (int64_t)(ns / NS_PER_US) - (ns % NS_PER_US < 0);
    return ns + (us_add_months(us, months) - us) * NS_PER_US;
}

static void fail_time(struct kernel_call *call, uint32_t row)
{
    kernel_fail(call, row, ERROR_VALUE_OUT_OF_RANGE,
                "a time plus an interval is out of range: times are within about 280,000 years of 1970");
}

/* A time of type `time` that is moved by `sum`, which cannot wrap. Any argument may be one constant. */
#define SHIFT(name, time, interval, wide, sum, limit)                                                                                      \
    static void name(struct kernel_call *call)                                                                                             \
    {                                                                                                                                      \
        const time *times = call->args[0]->values;                                                                                         \
        const interval *intervals = call->args[1]->values;                                                                                 \
        time *to = call->result->values;                                                                                                   \
        uint32_t time_mask = (call->constant_args & 1) != 0 ? 0 : UINT32_MAX;                                                              \
        uint32_t interval_mask = (call->constant_args & 2) != 0 ? 0 : UINT32_MAX;                                                          \
        TIME_EACH_ROW(call, row)                                                                                                           \
        {                                                                                                                                  \
            wide moved = sum(times[row & time_mask], intervals[row & interval_mask]);                                                      \
            if (moved > (limit) || moved < -(limit)) {                                                                                     \
                fail_time(call, row);                                                                                                      \
            } else {                                                                                                                       \
                to[row] = (time)moved;                                                                                                     \
            }                                                                                                                              \
        }                                                                                                                                  \
    }
SHIFT(date_add_us, int32_t, int64_t, int64_t, days_add_us, DATE_DAYS_MAX)
SHIFT(date_add_month, int32_t, int32_t, int64_t, days_add_months, DATE_DAYS_MAX)
SHIFT(timestamp_add_any_us, int64_t, int64_t, int128_t, us_add_us, TIME_US_MAX)
SHIFT(timestamp_add_month, int64_t, int32_t, int128_t, us_add_months, TIME_US_MAX)

/* The hot case, all rows and a constant that cannot wrap, in a loop without branches; row by row only if some row fails, or is more than 10,000 years
 * from 1970. */
static void timestamp_add_us(struct kernel_call *call)
{
    const int64_t *restrict times = call->args[0]->values;
    int64_t *restrict to = call->result->values;
    int64_t interval = vector_int64(call->args[1])[0];
    bool plain =
        call->constant_args == 2 && call->rows.rows == NULL && interval < INT64_MAX - TIME_US_MAX && interval > TIME_US_MAX - INT64_MAX;
    uint64_t beyond = 0;
    uint32_t count = plain ? call->rows.count : 0;
    for (uint32_t i = 0; i < count; i++) {
        to[i] = times[i] + interval;
        beyond |= ((uint64_t)TIME_US_MAX - (uint64_t)to[i]) | ((uint64_t)TIME_US_MAX + (uint64_t)to[i]);
    }
    if (!plain || beyond >> 63 != 0) {
        timestamp_add_any_us(call);
    }
}

SHIFT(nanoseconds_add_us, int128_t, int64_t, int128_t, ns_add_us, (int128_t)TIME_US_MAX *NS_PER_US)
SHIFT(nanoseconds_add_month, int128_t, int32_t, int128_t, ns_add_months, (int128_t)TIME_US_MAX *NS_PER_US)

#define L           int32_t
#define R           int64_t
#define O           int32_t
#define NAME        time_add_us
#define VALUE(a, b) floor_modulo((a) + floor_divide(b, US_PER_MS), MS_PER_DAY)
#include "functions/binary.inc"

/* Intervals do not wrap: one that is too long is no interval. */
static void fail_interval(struct kernel_call *call, uint32_t row)
{
    kernel_fail(call, row, ERROR_VALUE_OUT_OF_RANGE, "the interval is out of range");
}

static void months_multiply(struct kernel_call *call)
{
    TIME_EACH_ROW(call, row)
    {
        if (__builtin_mul_overflow(vector_int32(call->args[0])[row], vector_int64(call->args[1])[row], &vector_int32(call->result)[row])) {
            fail_interval(call, row);
        }
    }
}

static void us_multiply(struct kernel_call *call)
{
    TIME_EACH_ROW(call, row)
    {
        if (__builtin_mul_overflow(vector_int64(call->args[0])[row], vector_int64(call->args[1])[row], &vector_int64(call->result)[row])) {
            fail_interval(call, row);
        }
    }
}

static void months_add(struct kernel_call *call)
{
    TIME_EACH_ROW(call, row)
    {
        if (__builtin_add_overflow(vector_int32(call->args[0])[row], vector_int32(call->args[1])[row], &vector_int32(call->result)[row])) {
            fail_interval(call, row);
        }
    }
}

static void us_add(struct kernel_call *call)
{
    TIME_EACH_ROW(call, row)
    {
        if (__builtin_add_overflow(vector_int64(call->args[0])[row], vector_int64(call->args[1])[row], &vector_int64(call->result)[row])) {
            fail_interval(call, row);
        }
    }
}

static void us_subtract(struct kernel_call *call)
{
    TIME_EACH_ROW(call, row)
    {
        if (__builtin_sub_overflow(vector_int64(call->args[0])[row], vector_int64(call->args[1])[row], &vector_int64(call->result)[row])) {
            fail_interval(call, row);
        }
    }
}

static enum status bind_kernel(struct function_binding *binding, kernel_fn *run, uint32_t traits, const struct type *result,
                               struct error *err)
{
    TRY_ALLOC(binding->result, type_with_nullable(binding->arena, result, function_any_nullable(binding)), err);
    binding->kernel = (struct kernel){.run = run, .traits = FUNCTION_STRICT | FUNCTION_CONSTANT_ARGS | traits};
    return STATUS_OK;
}

static enum status bind_checked(struct function_binding *binding, kernel_fn *run, const struct type *result, struct error *err)
{
    TRY_ALLOC(binding->result, type_with_nullable(binding->arena, result, function_any_nullable(binding)), err);
    binding->kernel = (struct kernel){.run = run, .traits = FUNCTION_STRICT | FUNCTION_CAN_FAIL};
    return STATUS_OK;
}

static bool is_part_of_day(const struct expression *interval)
{
    return interval->kind == EXPRESSION_CONSTANT && interval->type->kind == TYPE_INTERVAL_DAY && vector_is_valid(interval->constant, 0) &&
           vector_get_integer(interval->constant, 0) % US_PER_DAY != 0;
}

/* args: a date, time or timestamp, and an interval */
static enum status bind_shift(struct function_binding *binding, struct error *err)
{
    const struct type *time = binding->args[0]->type;
    bool months = binding->args[1]->type->kind == TYPE_INTERVAL_MONTH;
    if (time->kind == TYPE_DATE && is_part_of_day(binding->args[1])) {
        TRY_ALLOC(binding->args[0], expression_cast(binding->arena, binding->args[0], &type_timestamp6, false), err);
        time = binding->args[0]->type;
    }
    /* Not total: unset values could be beyond the calendar. And though it fails there, not CAN_FAIL: conditions like t > u - INTERVAL '1'
     * HOUR must stay what rules may move, and a time 280,000 years away is an error wherever it is met. */
    switch (time->kind) {
    case TYPE_DATE:
        return bind_kernel(binding, months ? date_add_month : date_add_us, 0, time, err);
    case TYPE_TIME:
        return months ? function_refuse(binding, err) : bind_kernel(binding, time_add_us, FUNCTION_TOTAL, time, err);
    default:
        if (type_physical(time) == PHYSICAL_INT128) {
            return bind_kernel(binding, months ? nanoseconds_add_month : nanoseconds_add_us, 0, time, err);
        }
        return bind_kernel(binding, months ? timestamp_add_month : timestamp_add_us, 0, time, err);
    }
}

/* An interval times or divided by a number: integers exactly, others through DOUBLE and back. */
static enum status bind_scale(struct function_binding *binding, enum arithmetic_operator operation, struct error *err)
{
    const struct type *interval = binding->args[0]->type, *number = binding->args[1]->type;
    if (operation == ARITHMETIC_MULTIPLY && type_is_integer(number)) {
        TRY_ALLOC(binding->args[1], expression_cast(binding->arena, binding->args[1], &type_bigint, false), err);
        return bind_checked(binding, interval->kind == TYPE_INTERVAL_MONTH ? months_multiply : us_multiply, interval, err);
    }
    if (operation == ARITHMETIC_DIVIDE && type_is_integer(number)) {
        const struct type *same = interval->kind == TYPE_INTERVAL_MONTH ? &type_int : &type_bigint;
        TRY_ALLOC(binding->args[1], expression_cast(binding->arena, binding->args[1], same, false), err);
        return bind_kernel(binding, arithmetic_kernel(ARITHMETIC_DIVIDE, type_physical(same)), FUNCTION_CAN_FAIL, interval, err);
    }
    return function_refuse(binding, err);
}

static bool is_time(const struct type *type)
{
    return type->kind == TYPE_DATE || type->kind == TYPE_TIME || type_is_timestamp(type);
}

static void swap_args(struct function_binding *binding)
{
    const struct expression *first = binding->args[0];
    binding->args[0] = binding->args[1];
    binding->args[1] = first;
}

static enum status bind_sum(struct function_binding *binding, struct error *err)
{
    const struct type *left = binding->args[0]->type, *right = binding->args[1]->type;
    if (is_time(left) && type_is_interval(right)) {
        return bind_shift(binding, err);
    }
    if (type_is_interval(left) && left->kind == right->kind) {
        return bind_checked(binding, left->kind == TYPE_INTERVAL_MONTH ? months_add : us_add, left, err);
    }
    return function_refuse(binding, err);
}

static enum status rewrite_difference(struct function_binding *binding, struct error *err)
{
    const struct expression *sum[2] = {binding->args[0]}, *negated;
    TRY(function_call_named(binding->arena, binding->evaluation, "NEGATE", &binding->args[1], 1, &negated, err));
    TRY(program_fold(binding->arena, binding->evaluation, negated, &sum[1], err));
    if (sum[0]->type->kind != sum[1]->type->kind && !is_time(sum[0]->type)) {
        return function_refuse(binding, err);
    }
    return function_call_named(binding->arena, binding->evaluation, "+", sum, 2, &binding->rewritten, err);
}

enum status arithmetic_bind_time(struct function_binding *binding, enum arithmetic_operator operation, struct error *err)
{
    bool interval_first = type_is_interval(binding->args[0]->type);
    switch (operation) {
    case ARITHMETIC_ADD:
        if (interval_first && is_time(binding->args[1]->type)) {
            swap_args(binding);
        }
        return bind_sum(binding, err);
    case ARITHMETIC_SUBTRACT:
        if (!type_is_interval(binding->args[1]->type)) {
            return function_refuse(binding, err);
        }
        return rewrite_difference(binding, err);
    case ARITHMETIC_MULTIPLY:
        if (!interval_first && type_is_interval(binding->args[1]->type)) {
            swap_args(binding);
        }
        return type_is_interval(binding->args[0]->type) ? bind_scale(binding, operation, err) : function_refuse(binding, err);
    case ARITHMETIC_DIVIDE:
        return interval_first ? bind_scale(binding, operation, err) : function_refuse(binding, err);
    default:
        return function_refuse(binding, err);
    }
}

/* Complete months between, as an interval. */
static enum status bind_months_between(struct function_binding *binding, struct error *err)
{
    const struct expression *args[] = {NULL, binding->args[2], binding->args[1]}, *months;
    TRY_ALLOC(args[0], expression_string(binding->arena, TEXT("MONTH")), err);
    TRY(function_call_named(binding->arena, binding->evaluation, "TIMESTAMPDIFF", args, 3, &months, err));
    TRY_ALLOC(binding->rewritten, expression_cast(binding->arena, months, &type_interval_month, false), err);
    return STATUS_OK;
}

static enum status bind_time_between(struct function_binding *binding, struct error *err)
{
    const struct type *common = type_common(binding->arena, binding->args[1]->type, binding->args[2]->type), *instant;
    if (common == NULL || (common->kind != TYPE_DATE && !type_is_timestamp(common))) {
        return function_refuse(binding, err);
    }
    enum type_kind kind = common->kind == TYPE_DATE ? TYPE_TIMESTAMP : common->kind;
    TRY_ALLOC(instant, type_make(binding->arena, kind, 6, 0, true), err);
    binding->args++;
    binding->arg_count--;
    for (uint32_t i = 0; i < 2; i++) {
        TRY_ALLOC(binding->args[i], expression_cast(binding->arena, binding->args[i], instant, false), err);
    }
    return bind_checked(binding, us_subtract, &type_interval_day, err);
}

static enum status bind_datetime_minus(struct function_binding *binding, struct error *err)
{
    struct text unit;
    for (uint32_t i = 1; i < 3; i++) {
        const struct type *type = binding->args[i]->type;
        if (type->kind != TYPE_DATE && !type_is_timestamp(type)) {
            return function_refuse(binding, err);
        }
    }
    if (!expression_constant_text(binding->args[0], &unit)) {
        return function_refuse(binding, err);
    }
    bool months = text_equal(unit, TEXT("YEAR")) || text_equal(unit, TEXT("MONTH"));
    return months ? bind_months_between(binding, err) : bind_time_between(binding, err);
}

static const struct function functions[] = {
    {"DATETIME_MINUS", "time", "(time - time) unit",
     "The interval between two dates or timestamps: complete months for YEAR and MONTH, else exact.",
     "(DATE '2020-02-01' - DATE '2020-01-01') DAY = INTERVAL '31' DAY", 3, 3, bind_datetime_minus},
};
const struct function_table arithmetic_time_functions = {functions, ARRAY_LENGTH(functions)};
