/* The current time, the same for all rows of a tick, and the watermark. */
#include "data/batch.h"
#include "data/calendar.h"
#include "functions/tables.h"
#include "functions/time_functions.h"

static int64_t now_ms_us(const struct kernel_call *call)
{
    return floor_divide(call->evaluation->now_us, US_PER_MS) * US_PER_MS;
}

static void run_now(struct kernel_call *call)
{
    int64_t now = now_ms_us(call);
    TIME_EACH_ROW(call, row)
    {
        vector_int64(call->result)[row] = now;
    }
}

static void run_local_now(struct kernel_call *call)
{
    int64_t now = time_zone_to_local(call->evaluation->zone, now_ms_us(call));
    TIME_EACH_ROW(call, row)
    {
        vector_int64(call->result)[row] = now;
    }
}

static void run_date(struct kernel_call *call)
{
    int32_t today = timestamp_days(time_zone_to_local(call->evaluation->zone, call->evaluation->now_us));
    TIME_EACH_ROW(call, row)
    {
        vector_int32(call->result)[row] = today;
    }
}

static void run_time(struct kernel_call *call)
{
    int64_t local = time_zone_to_local(call->evaluation->zone, call->evaluation->now_us);
    int32_t second = (int32_t)(floor_modulo(local, US_PER_DAY) / US_PER_SECOND);
    TIME_EACH_ROW(call, row)
    {
        vector_int32(call->result)[row] = second * 1000;
    }
}

static enum status bind_now_as(struct function_binding *binding, enum type_kind kind, int32_t precision, kernel_fn *run, struct error *err)
{
    TRY_ALLOC(binding->result, type_make(binding->arena, kind, precision, 0, false), err);
    binding->kernel = (struct kernel){.run = run, .traits = FUNCTION_STRICT | FUNCTION_TOTAL | FUNCTION_DYNAMIC};
    return STATUS_OK;
}

static enum status bind_now(struct function_binding *binding, struct error *err)
{
    return bind_now_as(binding, TYPE_TIMESTAMP_LTZ, 3, run_now, err);
}

static enum status bind_local_timestamp(struct function_binding *binding, struct error *err)
{
    return bind_now_as(binding, TYPE_TIMESTAMP, 3, run_local_now, err);
}

static enum status bind_date(struct function_binding *binding, struct error *err)
{
    return bind_now_as(binding, TYPE_DATE, 0, run_date, err);
}

static enum status bind_time(struct function_binding *binding, struct error *err)
{
    return bind_now_as(binding, TYPE_TIME, 0, run_time, err);
}

static void run_watermark(struct kernel_call *call)
{
    TIME_EACH_ROW(call, row)
    {
        int64_t watermark = call->watermarks == NULL ? WATERMARK_NONE : call->watermarks[row];
        if (watermark == WATERMARK_NONE) {
            kernel_set_null(call, row);
        } else {
            vector_int64(call->result)[row] = floor_divide(watermark, US_PER_MS) * US_PER_MS;
        }
    }
}

static enum status bind_watermark(struct function_binding *binding, struct error *err)
{
    if (!type_is_timestamp(binding->args[0]->type)) {
        return function_refuse(binding, err);
    }
    TRY_ALLOC(binding->result, type_make(binding->arena, binding->args[0]->type->kind, 3, 0, true), err);
    binding->kernel = (struct kernel){.run = run_watermark, .traits = FUNCTION_VOLATILE | FUNCTION_NULLABLE};
    return STATUS_OK;
}

static const struct function functions[] = {
    {"NOW", "time", "NOW()", "The current time as TIMESTAMP_LTZ(3).", NULL, 0, 0, bind_now},
    {"CURRENT_TIMESTAMP", "time", "CURRENT_TIMESTAMP", "The current time as TIMESTAMP_LTZ(3).", NULL, 0, 0, bind_now},
    {"CURRENT_ROW_TIMESTAMP", "time", "CURRENT_ROW_TIMESTAMP()", "The current time as TIMESTAMP_LTZ(3).", NULL, 0, 0, bind_now},
    {"PROCTIME", "time", "PROCTIME()", "The time at which a row is processed, as a processing-time attribute.", NULL, 0, 0, bind_now},
    {"LOCALTIMESTAMP", "time", "LOCALTIMESTAMP", "The current local time as TIMESTAMP(3).", NULL, 0, 0, bind_local_timestamp},
    {"CURRENT_DATE", "time", "CURRENT_DATE", "The current local date.", NULL, 0, 0, bind_date},
    {"CURRENT_TIME", "time", "CURRENT_TIME", "The current local time of day.", NULL, 0, 0, bind_time},
    {"LOCALTIME", "time", "LOCALTIME", "The current local time of day.", NULL, 0, 0, bind_time},
    {"CURRENT_WATERMARK", "time", "CURRENT_WATERMARK(rowtime)", "The watermark before this row; NULL when there is none yet.", NULL, 1, 1,
     bind_watermark},
};

const struct function_table time_now_functions = {functions, ARRAY_LENGTH(functions)};
