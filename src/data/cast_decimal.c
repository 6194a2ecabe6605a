/* data/cast_decimal.c: casts from and to DECIMAL. Overflow gives NULL; a fraction rounds half up, toward integers it is cut.
 *
 * What cannot overflow 64 bits (an integer or a narrow decimal to a narrow decimal of no smaller integer part) is one multiplication. */
#include <math.h>

#include "data/cast_kernels.h"
#include "data/decimal.h"
#include "data/number_text.h"

static inline void put_decimal(struct cast_run *run, uint32_t row, int128_t value)
{
    if (run->result->physical == PHYSICAL_INT64) {
        vector_int64(run->result)[row] = (int64_t)value;
    } else {
        vector_int128(run->result)[row] = value;
    }
}

static int32_t digits_of(const struct type *type)
{
    switch (type->kind) {
    case TYPE_BOOLEAN:
        return 1;
    case TYPE_TINYINT:
        return 3;
    case TYPE_SMALLINT:
        return 5;
    case TYPE_INT:
        return 10;
    case TYPE_BIGINT:
        return 19;
    default:
        return type->precision;
    }
}

static int32_t scale_of(const struct type *type)
{
    return type->kind == TYPE_DECIMAL ? type->scale : 0;
}

/* From an integer, BOOLEAN or DECIMAL. */
static enum status exact_to_decimal(struct cast_run *run)
{
    int32_t from_scale = scale_of(run->cast->from), scale = run->cast->to->scale, precision = run->cast->to->precision;
    CAST_EACH_ROW(run, row)
    {
        int128_t value;
        if (!vector_is_valid(run->source, row)) {
            continue;
        }
        if (decimal_rescale(vector_get_integer(run->source, row), from_scale, scale, &value) && decimal_fits(value, precision)) {
            put_decimal(run, row, value);
        } else {
            cast_set_null(run, row);
        }
    }
    return STATUS_OK;
}

/* Unsigned arithmetic: the slots of NULL rows may hold anything. */
#define MULTIPLY(name, from_type, to_type, unsigned_type)                                                                                  \
    static enum status name(struct cast_run *run)                                                                                          \
    {                                                                                                                                      \
        const from_type *restrict values = run->source->values;                                                                            \
        to_type *restrict out = run->result->values;                                                                                       \
        unsigned_type factor = (unsigned_type)decimal_power_of_ten(run->cast->to->scale - scale_of(run->cast->from));                      \
        CAST_LOOP(run, row, out[row] = (to_type)((unsigned_type)values[row] * factor));                                                    \
        return STATUS_OK;                                                                                                                  \
    }
MULTIPLY(int32_widened, int32_t, int64_t, uint64_t)
MULTIPLY(int64_widened, int64_t, int64_t, uint64_t)
MULTIPLY(int32_widened_128, int32_t, int128_t, uint128_t)
MULTIPLY(int64_widened_128, int64_t, int128_t, uint128_t)

/* The kernel for values that surely fit, NULL if they may not. */
static cast_fn *find_widening(const struct type *from, const struct type *to)
{
    int32_t integer_digits = digits_of(from) - scale_of(from);
    if (to->scale < scale_of(from) || to->precision - to->scale < integer_digits) {
        return NULL;
    }
    bool narrow = type_physical(to) == PHYSICAL_INT64;
    switch (type_physical(from)) {
    case PHYSICAL_INT32:
        return narrow ? int32_widened : int32_widened_128;
    case PHYSICAL_INT64:
        return narrow ? int64_widened : int64_widened_128;
    default:
        return NULL;
    }
}

static enum status float_to_decimal(struct cast_run *run)
{
    bool single = run->source->physical == PHYSICAL_FLOAT;
    CAST_EACH_ROW(run, row)
    {
        if (!vector_is_valid(run->source, row)) {
            continue;
        }
        double value = single ? (double)vector_float(run->source)[row] : vector_double(run->source)[row];
        char bytes[NUMBER_TEXT_MAX];
        struct text text = {bytes, double_write_text(value, bytes)};
        int128_t unscaled;
        if (!isfinite(value)) {
            cast_reject(run, row, text);
        } else if (decimal_parse(text, run->cast->to->precision, run->cast->to->scale, &unscaled)) {
            put_decimal(run, row, unscaled);
        } else {
            cast_set_null(run, row);
        }
    }
    return STATUS_OK;
}

static inline void put_integer(struct cast_run *run, uint32_t row, int64_t value)
{
    switch (run->result->physical) {
    case PHYSICAL_INT8:
        vector_int8(run->result)[row] = (int8_t)value;
        break;
    case PHYSICAL_INT16:
        vector_int16(run->result)[row] = (int16_t)value;
        break;
    case PHYSICAL_INT32:
        vector_int32(run->result)[row] = (int32_t)value;
        break;
    default:
        vector_int64(run->result)[row] = value;
    }
}

static enum status decimal_to_integer(struct cast_run *run)
{
    int128_t divisor = decimal_power_of_ten(run->cast->from->scale);
    if (run->source->physical == PHYSICAL_INT64) {
        int64_t small = (int64_t)divisor;
        CAST_EACH_ROW(run, row)
        {
            put_integer(run, row, vector_int64(run->source)[row] / small);
        }
        return STATUS_OK;
    }
    CAST_EACH_ROW(run, row)
    {
        put_integer(run, row, (int64_t)(vector_int128(run->source)[row] / divisor));
    }
    return STATUS_OK;
}

static enum status decimal_to_approximate(struct cast_run *run)
{
    int32_t scale = run->cast->from->scale;
    bool single = run->result->physical == PHYSICAL_FLOAT;
    CAST_EACH_ROW(run, row)
    {
        if (!vector_is_valid(run->source, row)) {
            continue;
        }
        double value = decimal_to_double(vector_get_integer(run->source, row), scale);
        if (single) {
            vector_float(run->result)[row] = (float)value;
        } else {
            vector_double(run->result)[row] = value;
        }
    }
    return STATUS_OK;
}

static enum status decimal_to_boolean(struct cast_run *run)
{
    CAST_EACH_ROW(run, row)
    {
        vector_bool(run->result)[row] = vector_get_integer(run->source, row) != 0;
    }
    return STATUS_OK;
}

static cast_fn *find_from_decimal(const struct type *to)
{
    if (type_is_integer(to)) {
        return decimal_to_integer;
    }
    if (type_is_approximate(to)) {
        return decimal_to_approximate;
    }
    return to->kind == TYPE_BOOLEAN ? decimal_to_boolean : NULL;
}

cast_fn *cast_decimal_find(const struct type *from, const struct type *to)
{
    if (to->kind != TYPE_DECIMAL) {
        return from->kind == TYPE_DECIMAL ? find_from_decimal(to) : NULL;
    }
    if (type_is_approximate(from)) {
        return float_to_decimal;
    }
    if (from->kind != TYPE_BOOLEAN && !type_is_exact(from)) {
        return NULL;
    }
    cast_fn *widening = find_widening(from, to);
    return widening != NULL ? widening : exact_to_decimal;
}
