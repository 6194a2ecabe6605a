/* DATE_FORMAT and FROM_UNIXTIME: times as text by a pattern.
 *
 * Rows of a stream are near each other in time: within the pattern's period (a day for 'yyyy-MM-dd', a minute for 'HH:mm') the
 * text is the same, so it is made once and its view copied. */
#include "data/calendar.h"
#include "functions/tables.h"
#include "functions/time_text.h"

enum { BUFFER_BYTES = 128 };

/* The text of the last row and the local times for which it holds. */
struct last_text {
    const struct time_pattern *pattern;
    int64_t from, until;
    struct string_view view;
};

static bool format_row(struct kernel_call *call, uint32_t row, const struct time_pattern *pattern, int64_t local_us, uint32_t nanos,
                       int32_t offset, struct last_text *last)
{
    char stack[BUFFER_BYTES];
    char *buffer = stack;
    size_t room = time_pattern_max_length(pattern);
    if (room > sizeof stack && (buffer = kernel_alloc(call, room)) == NULL) {
        return false;
    }
    size_t length = time_pattern_format(pattern, local_us, nanos, offset, buffer);
    bool copied = buffer == stack;
    if (copied && !time_text_put(call, row, buffer, length)) {
        return false;
    }
    if (!copied) {
        vector_strings(call->result)[row] = string_view_make(buffer, length);
    }
    int64_t period = time_pattern_period(pattern);
    last->pattern = pattern;
    last->view = vector_strings(call->result)[row];
    last->from = period == 0 ? 0 : floor_divide(local_us, period) * period;
    last->until = last->from + period;
    return true;
}

static void run_format(struct kernel_call *call)
{
    const struct vector *value = call->args[0];
    const struct time_zone *zone = value->type->kind == TYPE_TIMESTAMP_LTZ ? call->evaluation->zone : time_zone_utc;
    bool utc = time_zone_is_utc(zone);
    struct string_view *views = vector_strings(call->result);
    struct last_text last = {0};
    TIME_EACH_ROW(call, row)
    {
        uint32_t nanos;
        const struct time_pattern *pattern = time_text_pattern(call, 1, row);
        if (pattern == NULL) {
            continue;
        }
        int64_t us = time_instant_us(value, row, &nanos);
        int64_t local = utc ? us : time_zone_to_local(zone, us);
        if (pattern == last.pattern && local >= last.from && local < last.until) {
            views[row] = last.view;
        } else if (!format_row(call, row, pattern, local, nanos, (int32_t)((local - us) / US_PER_SECOND), &last)) {
            return;
        }
    }
}

static enum status bind_text_result(struct function_binding *binding, uint32_t pattern, kernel_fn *run, uint32_t traits, struct error *err)
{
    struct time_text_data *data;
    TRY_ALLOC(data, arena_alloc(binding->arena, sizeof *data), err);
    TRY(time_text_bind(binding, pattern, data, err));
    traits |= data->pattern == NULL ? FUNCTION_CAN_FAIL : 0;
    binding->result = &type_string; /* nullable always, as in Flink */
    binding->kernel = (struct kernel){.run = run, .traits = FUNCTION_STRICT | traits, .data = data, .free_scratch = time_text_free};
    return STATUS_OK;
}

/* A text is read as a timestamp first; what is none becomes NULL. */
static enum status bind_format(struct function_binding *binding, struct error *err)
{
    const struct type *type = binding->args[0]->type;
    if (type->kind == TYPE_NULL || type->kind == TYPE_DATE) {
        TRY_ALLOC(binding->args[0], expression_cast(binding->arena, binding->args[0], &type_timestamp3, false), err);
    } else if (type_is_text(type)) {
        const struct type *nanos;
        TRY_ALLOC(nanos, type_make(binding->arena, TYPE_TIMESTAMP, 9, 0, true), err);
        TRY_ALLOC(binding->args[0], expression_cast(binding->arena, binding->args[0], nanos, true), err);
    } else if (!type_is_timestamp(type)) {
        return function_refuse(binding, err);
    }
    return bind_text_result(binding, 1, run_format, 0, err);
}

static void run_from_seconds(struct kernel_call *call)
{
    const int64_t *values = vector_int64(call->args[0]);
    const int64_t limit = INT64_C(900000000000); /* about the year 30000 */
    const struct time_zone *zone = call->evaluation->zone;
    struct last_text last = {0};
    TIME_EACH_ROW(call, row)
    {
        const struct time_pattern *pattern = time_text_pattern(call, 1, row);
        if (pattern == NULL) {
            continue;
        }
        if (values[row] > limit || values[row] < -limit) {
            kernel_fail(call, row, ERROR_VALUE_OUT_OF_RANGE, "%lld seconds are no time of the years 1 to 9999", (long long)values[row]);
            continue;
        }
        int64_t us = values[row] * US_PER_SECOND, local = time_zone_to_local(zone, us);
        if (!format_row(call, row, pattern, local, 0, (int32_t)((local - us) / US_PER_SECOND), &last)) {
            return;
        }
    }
}

static enum status bind_from_seconds(struct function_binding *binding, struct error *err)
{
    TRY(function_coerce(binding, 0, &type_bigint, err));
    return bind_text_result(binding, 1, run_from_seconds, FUNCTION_CAN_FAIL, err);
}

static const struct function functions[] = {
    {"DATE_FORMAT", "time", "DATE_FORMAT(timestamp, format)",
     "The time as text by a pattern of Java's letters; TIMESTAMP_LTZ in the session's zone.",
     "DATE_FORMAT(TIMESTAMP '2020-02-29 12:34:56', 'yyyy/MM/dd HH:mm') = '2020/02/29 12:34'", 2, 2, bind_format},
    {"FROM_UNIXTIME", "time", "FROM_UNIXTIME(seconds)\nFROM_UNIXTIME(seconds, format)",
     "Seconds since 1970-01-01 UTC as text in the session's zone, 'yyyy-MM-dd HH:mm:ss' unless another format is given.",
     "FROM_UNIXTIME(44) = '1970-01-01 00:00:44'", 1, 2, bind_from_seconds},
};

const struct function_table time_format_functions = {functions, ARRAY_LENGTH(functions)};
