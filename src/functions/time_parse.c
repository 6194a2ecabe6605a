/* TO_DATE, TO_TIMESTAMP, TO_TIMESTAMP_LTZ, UNIX_TIMESTAMP, CONVERT_TZ: times read from text and numbers.
 *
 * TO_TIMESTAMP and TO_TIMESTAMP_LTZ read strictly and, where the text misses the pattern, try it as a plain timestamp. The others read
 * loosely, as Java's older formatter does. What is no time is NULL, except where said below. */
#include <math.h>

#include "data/calendar.h"
#include "data/cast.h"
#include "functions/tables.h"
#include "functions/time_text.h"

static void run_to_date(struct kernel_call *call)
{
    int32_t *out = vector_int32(call->result);
    TIME_EACH_ROW(call, row)
    {
        struct text text = vector_get_text(call->args[0], row);
        struct parsed_time time;
        bool read;
        if (call->arg_count == 1) {
            read = text_to_date(text, &out[row]);
        } else {
            const struct time_pattern *pattern = time_text_pattern(call, 1, row);
            read = pattern != NULL && time_pattern_parse(pattern, text, TIME_PATTERN_LOOSE, &time);
            out[row] = read ? timestamp_days(time.local_us) : 0;
        }
        if (!read) {
            kernel_set_null(call, row);
        }
    }
}

static bool read_strictly(const struct time_pattern *pattern, struct text text, struct parsed_time *time)
{
    int128_t us;
    if (pattern != NULL && time_pattern_parse(pattern, text, TIME_PATTERN_STRICT, time)) {
        return true;
    }
    *time = (struct parsed_time){0};
    bool read = text_to_timestamp(text, 6, &us);
    time->local_us = read ? (int64_t)us : 0;
    return read;
}

static int64_t cut_to_ms(int64_t us)
{
    return floor_divide(us, US_PER_MS) * US_PER_MS;
}

/* The pattern when the call has one; false: the row has failed. */
static bool row_pattern(struct kernel_call *call, uint32_t row, const struct time_pattern **pattern)
{
    *pattern = call->arg_count > 1 ? time_text_pattern(call, 1, row) : NULL;
    return call->arg_count == 1 || *pattern != NULL;
}

static void run_to_timestamp(struct kernel_call *call)
{
    TIME_EACH_ROW(call, row)
    {
        const struct time_pattern *pattern;
        struct parsed_time time;
        if (!row_pattern(call, row, &pattern)) {
            continue;
        }
        if (read_strictly(pattern, vector_get_text(call->args[0], row), &time)) {
            vector_int64(call->result)[row] = cut_to_ms(time.local_us);
        } else {
            kernel_set_null(call, row);
        }
    }
}

static int64_t parsed_instant(const struct parsed_time *time, const struct time_zone *zone)
{
    return time->has_offset ? time->local_us - time->offset_seconds * US_PER_SECOND : time_zone_to_utc(zone, time->local_us);
}

/* Without a pattern a text that is no timestamp fails. The zone is UTC unless given. */
static void run_text_to_instant(struct kernel_call *call)
{
    const struct time_text_data *data = call->data;
    TIME_EACH_ROW(call, row)
    {
        const struct time_pattern *pattern;
        struct parsed_time time;
        struct text text = vector_get_text(call->args[0], row);
        const struct time_zone *zone = time_text_zone(call, data->zone, 2, row);
        if (zone == NULL || !row_pattern(call, row, &pattern)) {
            continue;
        }
        if (read_strictly(pattern, text, &time)) {
            vector_int64(call->result)[row] = cut_to_ms(parsed_instant(&time, zone));
        } else if (call->arg_count == 1) {
            kernel_fail(call, row, ERROR_INVALID_ARGUMENT, "'%.*s' is no timestamp", (int)(text.length > 100 ? 100 : text.length),
                        text.bytes);
        } else {
            kernel_set_null(call, row);
        }
    }
}

/* Years 1 to 9999; others are NULL. */
static void put_instant_ms(struct kernel_call *call, uint32_t row, double exact, int64_t ms)
{
    const int64_t first = INT64_C(-62135596800000), last = INT64_C(253402300799999);
    if (exact != exact || exact < (double)first || exact > (double)last) {
        kernel_set_null(call, row);
    } else {
        vector_int64(call->result)[row] = ms * US_PER_MS;
    }
}

static void run_integer_to_instant(struct kernel_call *call)
{
    int64_t factor = *(const int64_t *)call->data;
    const int64_t *values = vector_int64(call->args[0]);
    TIME_EACH_ROW(call, row)
    {
        int64_t ms;
        if (__builtin_mul_overflow(values[row], factor, &ms)) {
            kernel_set_null(call, row);
        } else {
            put_instant_ms(call, row, (double)ms, ms);
        }
    }
}

static void run_double_to_instant(struct kernel_call *call)
{
    int64_t factor = *(const int64_t *)call->data;
    const double *values = vector_double(call->args[0]);
    TIME_EACH_ROW(call, row)
    {
        double whole = trunc(values[row]) * (double)factor;
        put_instant_ms(call, row, whole, whole > -1e17 && whole < 1e17 ? (int64_t)whole : 0);
    }
}

static void run_unix_now(struct kernel_call *call)
{
    int64_t now = floor_divide(call->evaluation->now_us, US_PER_SECOND);
    TIME_EACH_ROW(call, row)
    {
        vector_int64(call->result)[row] = now;
    }
}

/* What is no time is the smallest BIGINT, as in Flink. */
static void run_unix_timestamp(struct kernel_call *call)
{
    TIME_EACH_ROW(call, row)
    {
        const struct time_pattern *pattern = time_text_pattern(call, 1, row);
        struct parsed_time time;
        int64_t *out = &vector_int64(call->result)[row];
        if (pattern == NULL) {
            continue;
        }
        if (!time_pattern_parse(pattern, vector_get_text(call->args[0], row), TIME_PATTERN_LOOSE, &time)) {
            *out = INT64_MIN;
        } else if (time.has_offset) {
            *out = floor_divide(parsed_instant(&time, time_zone_utc), US_PER_SECOND);
        } else {
            *out = floor_divide(time_to_later_instant(call->evaluation->zone, time.local_us), US_PER_SECOND);
        }
    }
}

static void run_convert_zone(struct kernel_call *call)
{
    const struct time_text_data *data = call->data;
    TIME_EACH_ROW(call, row)
    {
        const struct time_zone *from = time_text_zone(call, data->zone, 1, row), *to = time_text_zone(call, data->other_zone, 2, row);
        struct parsed_time time;
        char bytes[64];
        if (from == NULL || to == NULL) {
            continue;
        }
        if (!time_pattern_parse(data->pattern, vector_get_text(call->args[0], row), TIME_PATTERN_LOOSE, &time)) {
            kernel_set_null(call, row);
            continue;
        }
        int64_t instant = time_to_later_instant(from, time.local_us);
        char *buffer =
            time_pattern_max_length(data->pattern) > sizeof bytes ? kernel_alloc(call, time_pattern_max_length(data->pattern)) : bytes;
        if (buffer == NULL) {
            return;
        }
        size_t length = time_pattern_format(data->pattern, time_zone_to_local(to, instant), 0, 0, buffer);
        if (!time_text_put(call, row, buffer, length)) {
            return;
        }
    }
}

/* A text argument, a pattern in the next if there is one. */
static enum status bind_text(struct function_binding *binding, const struct type *result, kernel_fn *run, uint32_t traits,
                             struct time_text_data **data, struct error *err)
{
    TRY_ALLOC(*data, arena_alloc(binding->arena, sizeof **data), err);
    TRY(function_coerce(binding, 0, &type_string, err));
    TRY(time_text_bind(binding, 1, *data, err));
    traits |= (*data)->pattern == NULL ? FUNCTION_CAN_FAIL : 0;
    binding->result = result;
    binding->kernel = (struct kernel){.run = run, .traits = FUNCTION_STRICT | traits, .data = *data, .free_scratch = time_text_free};
    return STATUS_OK;
}

static enum status bind_to_date(struct function_binding *binding, struct error *err)
{
    struct time_text_data *data;
    return bind_text(binding, &type_date, run_to_date, FUNCTION_NULLABLE, &data, err);
}

static enum status bind_to_timestamp(struct function_binding *binding, struct error *err)
{
    struct time_text_data *data;
    return bind_text(binding, &type_timestamp3, run_to_timestamp, FUNCTION_NULLABLE, &data, err);
}

static enum status bind_unix_timestamp(struct function_binding *binding, struct error *err)
{
    struct time_text_data *data;
    if (binding->arg_count == 0) {
        binding->result = &type_bigint_not_null;
        binding->kernel = (struct kernel){.run = run_unix_now, .traits = FUNCTION_STRICT | FUNCTION_TOTAL | FUNCTION_DYNAMIC};
        return STATUS_OK;
    }
    bool nullable = function_any_nullable(binding);
    return bind_text(binding, nullable ? &type_bigint : &type_bigint_not_null, run_unix_timestamp, 0, &data, err);
}

/* The unit of a number: seconds (0) or milliseconds (3). */
static enum status bind_number_to_instant(struct function_binding *binding, struct error *err)
{
    int64_t precision = 3, *factor;
    if (binding->arg_count > 2 || (binding->arg_count == 2 && !expression_constant_int64(binding->args[1], &precision))) {
        return function_refuse(binding, err);
    }
    if (precision != 0 && precision != 3) {
        return error_set(err, ERROR_WRONG_ARGUMENTS, "TO_TIMESTAMP_LTZ takes the precision 0 (seconds) or 3 (milliseconds), not %lld",
                         (long long)precision);
    }
    TRY_ALLOC(factor, arena_alloc(binding->arena, sizeof *factor), err);
    *factor = precision == 0 ? 1000 : 1;
    bool whole = type_is_integer(binding->args[0]->type) || binding->args[0]->type->kind == TYPE_NULL;
    TRY(function_coerce(binding, 0, whole ? &type_bigint : &type_double, err));
    binding->result = &type_timestamp_ltz3;
    binding->kernel = (struct kernel){
        .run = whole ? run_integer_to_instant : run_double_to_instant, .traits = FUNCTION_STRICT | FUNCTION_NULLABLE, .data = factor};
    return STATUS_OK;
}

static enum status bind_to_instant(struct function_binding *binding, struct error *err)
{
    struct time_text_data *data;
    const struct type *type = binding->args[0]->type;
    if (type_is_numeric(type) || (type->kind == TYPE_NULL && binding->arg_count < 3)) {
        return bind_number_to_instant(binding, err);
    }
    uint32_t fails = binding->arg_count == 1 ? FUNCTION_CAN_FAIL : 0;
    TRY(bind_text(binding, &type_timestamp_ltz3, run_text_to_instant, FUNCTION_NULLABLE | fails, &data, err));
    data->zone = time_zone_utc;
    if (binding->arg_count == 3) {
        TRY(time_zone_bind(binding, 2, &data->zone, err));
        binding->kernel.traits |= data->zone == NULL ? FUNCTION_CAN_FAIL : 0;
    }
    return STATUS_OK;
}

static enum status bind_convert_zone(struct function_binding *binding, struct error *err)
{
    struct time_text_data *data;
    TRY_ALLOC(data, arena_alloc(binding->arena, sizeof *data), err);
    TRY(function_coerce(binding, 0, &type_string, err));
    TRY(time_text_bind(binding, UINT32_MAX, data, err));
    TRY(time_zone_bind(binding, 1, &data->zone, err));
    TRY(time_zone_bind(binding, 2, &data->other_zone, err));
    uint32_t fails = data->zone == NULL || data->other_zone == NULL ? FUNCTION_CAN_FAIL : 0;
    binding->result = &type_string;
    binding->kernel = (struct kernel){
        .run = run_convert_zone, .traits = FUNCTION_STRICT | FUNCTION_NULLABLE | fails, .data = data, .free_scratch = time_text_free};
    return STATUS_OK;
}

static const struct function functions[] = {
    {"TO_DATE", "time", "TO_DATE(text)\nTO_DATE(text, format)", "The date of a text; NULL when it is none.",
     "TO_DATE('29.02.2020', 'dd.MM.yyyy') = DATE '2020-02-29'", 1, 2, bind_to_date},
    {"TO_TIMESTAMP", "time", "TO_TIMESTAMP(text)\nTO_TIMESTAMP(text, format)", "The TIMESTAMP(3) of a text; NULL when it is none.",
     "TO_TIMESTAMP('2020-02-29 12:34:56') = TIMESTAMP '2020-02-29 12:34:56'", 1, 2, bind_to_timestamp},
    {"TO_TIMESTAMP_LTZ", "time",
     "TO_TIMESTAMP_LTZ(number)\nTO_TIMESTAMP_LTZ(number, precision)\nTO_TIMESTAMP_LTZ(text)\nTO_TIMESTAMP_LTZ(text, "
     "format)\nTO_TIMESTAMP_LTZ(text, format, zone)",
     "The instant of a number of milliseconds (precision 3) or seconds (precision 0) since 1970, or of a text in UTC or the given zone.",
     "TO_TIMESTAMP_LTZ(100, 0)", 1, 3, bind_to_instant},
    {"UNIX_TIMESTAMP", "time", "UNIX_TIMESTAMP()\nUNIX_TIMESTAMP(text)\nUNIX_TIMESTAMP(text, format)",
     "Seconds since 1970-01-01 UTC, of now or of a text in the session's zone; the smallest BIGINT when it is no time.",
     "UNIX_TIMESTAMP('1970-01-01 00:01:00') = 60", 0, 2, bind_unix_timestamp},
    {"CONVERT_TZ", "time", "CONVERT_TZ(text, from, to)", "A local time 'yyyy-MM-dd HH:mm:ss' of one zone as the local time of another.",
     "CONVERT_TZ('1970-01-01 00:00:00', 'UTC', 'America/Los_Angeles') = '1969-12-31 16:00:00'", 3, 3, bind_convert_zone},
};

const struct function_table time_parse_functions = {functions, ARRAY_LENGTH(functions)};
