/* data/cast_number.c: casts among BOOLEAN, integers, FLOAT and DOUBLE: one loop per pair, made by macros.
 *
 * Integers wrap. Floats become INT and BIGINT saturating (NaN is 0), TINYINT and SMALLINT by way of INT. */
#include "data/calendar.h"
#include "data/cast_kernels.h"

static inline int64_t saturate64(double value)
{
    if (value >= 9223372036854775808.0) {
        return INT64_MAX;
    }
    if (value <= -9223372036854775808.0) {
        return INT64_MIN;
    }
    return value == value ? (int64_t)value : 0;
}

static inline int32_t saturate32(double value)
{
    if (value >= 2147483647.0) {
        return INT32_MAX;
    }
    if (value <= -2147483648.0) {
        return INT32_MIN;
    }
    return value == value ? (int32_t)value : 0;
}

#define INT_TO_BOOL(v) ((uint8_t)((v) != 0))
#define KERNEL(name, from_type, to_type, convert)                                                                                          \
    static enum status name(struct cast_run *run)                                                                                          \
    {                                                                                                                                      \
        const from_type *restrict values = run->source->values;                                                                            \
        to_type *restrict out = run->result->values;                                                                                       \
        CAST_LOOP(run, row, out[row] = (to_type)convert(values[row]));                                                                     \
        return STATUS_OK;                                                                                                                  \
    }
#define SAME(v) (v)
#define FROM_INTEGER(from, from_type)                                                                                                      \
    KERNEL(from##_to_boolean, from_type, uint8_t, INT_TO_BOOL)                                                                             \
    KERNEL(from##_to_int8, from_type, int8_t, SAME)                                                                                        \
    KERNEL(from##_to_int16, from_type, int16_t, SAME)                                                                                      \
    KERNEL(from##_to_int32, from_type, int32_t, SAME)                                                                                      \
    KERNEL(from##_to_int64, from_type, int64_t, SAME)                                                                                      \
    KERNEL(from##_to_float, from_type, float, SAME)                                                                                        \
    KERNEL(from##_to_double, from_type, double, SAME)
#define FROM_FLOAT(from, from_type)                                                                                                        \
    KERNEL(from##_to_boolean, from_type, uint8_t, INT_TO_BOOL)                                                                             \
    KERNEL(from##_to_int8, from_type, int8_t, saturate32)                                                                                  \
    KERNEL(from##_to_int16, from_type, int16_t, saturate32)                                                                                \
    KERNEL(from##_to_int32, from_type, int32_t, saturate32)                                                                                \
    KERNEL(from##_to_int64, from_type, int64_t, saturate64)                                                                                \
    KERNEL(from##_to_float, from_type, float, SAME)                                                                                        \
    KERNEL(from##_to_double, from_type, double, SAME)

FROM_INTEGER(boolean, uint8_t)
FROM_INTEGER(int8, int8_t)
FROM_INTEGER(int16, int16_t)
FROM_INTEGER(int32, int32_t)
FROM_INTEGER(int64, int64_t)
FROM_FLOAT(float, float)
FROM_FLOAT(double, double)

#define ROW_OF(physical, from)                                                                                                             \
    [physical] = {[PHYSICAL_BOOL] = from##_to_boolean, [PHYSICAL_INT8] = from##_to_int8,   [PHYSICAL_INT16] = from##_to_int16,             \
                  [PHYSICAL_INT32] = from##_to_int32,  [PHYSICAL_INT64] = from##_to_int64, [PHYSICAL_FLOAT] = from##_to_float,             \
                  [PHYSICAL_DOUBLE] = from##_to_double}
static cast_fn *const kernels[PHYSICAL_COUNT][PHYSICAL_COUNT] = {
    ROW_OF(PHYSICAL_BOOL, boolean), ROW_OF(PHYSICAL_INT8, int8),   ROW_OF(PHYSICAL_INT16, int16),   ROW_OF(PHYSICAL_INT32, int32),
    ROW_OF(PHYSICAL_INT64, int64),  ROW_OF(PHYSICAL_FLOAT, float), ROW_OF(PHYSICAL_DOUBLE, double),
};

/* INTERVAL DAY TO SECOND counts as milliseconds where it meets integers. */
static enum status interval_to_integer(struct cast_run *run)
{
    const int64_t *values = vector_int64(run->source);
    CAST_EACH_ROW(run, row)
    {
        int64_t ms = values[row] / US_PER_MS;
        switch (run->result->physical) {
        case PHYSICAL_INT8:
            vector_int8(run->result)[row] = (int8_t)ms;
            break;
        case PHYSICAL_INT16:
            vector_int16(run->result)[row] = (int16_t)ms;
            break;
        case PHYSICAL_INT32:
            vector_int32(run->result)[row] = (int32_t)ms;
            break;
        default:
            vector_int64(run->result)[row] = ms;
        }
    }
    return STATUS_OK;
}

static enum status integer_to_interval(struct cast_run *run)
{
    CAST_EACH_ROW(run, row)
    {
        uint64_t ms = (uint64_t)vector_get_integer(run->source, row);
        vector_int64(run->result)[row] = (int64_t)(ms * (uint64_t)US_PER_MS);
    }
    return STATUS_OK;
}

static bool is_plain(const struct type *type)
{
    return type->kind == TYPE_BOOLEAN || type_is_integer(type) || type_is_approximate(type) || type->kind == TYPE_INTERVAL_MONTH;
}

cast_fn *cast_number_find(const struct type *from, const struct type *to)
{
    if (from->kind == TYPE_INTERVAL_DAY && type_is_integer(to)) {
        return interval_to_integer;
    }
    if (to->kind == TYPE_INTERVAL_DAY && type_is_integer(from)) {
        return integer_to_interval;
    }
    return is_plain(from) && is_plain(to) ? kernels[type_physical(from)][type_physical(to)] : NULL;
}
