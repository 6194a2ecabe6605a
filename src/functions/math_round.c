/* ABS, SIGN, ROUND, TRUNCATE: the argument's type stays; ROUND and TRUNCATE of DECIMAL change precision and scale.
 *
 * Floating numbers are rounded on their shortest text, so that 1.005 becomes 1.01: that is the number people see. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/cell_text.h"
#include "data/decimal.h"
#include "functions/tables.h"
#include "functions/text_kernel.h"

/* Writes an integer or decimal of any width; too large ones wrap to the type, as integer arithmetic does. */
static void put_integer(struct vector *result, uint32_t row, int128_t value)
{
    switch (result->physical) {
    case PHYSICAL_INT8:
        vector_int8(result)[row] = (int8_t)(uint8_t)value;
        break;
    case PHYSICAL_INT16:
        vector_int16(result)[row] = (int16_t)(uint16_t)value;
        break;
    case PHYSICAL_INT32:
        vector_int32(result)[row] = (int32_t)(uint32_t)value;
        break;
    case PHYSICAL_INT64:
        vector_int64(result)[row] = (int64_t)(uint64_t)value;
        break;
    default:
        vector_int128(result)[row] = value;
    }
}

static double get_double(const struct vector *vector, uint32_t row)
{
    return vector->physical == PHYSICAL_FLOAT ? vector_float(vector)[row] : vector_double(vector)[row];
}

static void put_double(struct vector *result, uint32_t row, double value)
{
    if (result->physical == PHYSICAL_FLOAT) {
        vector_float(result)[row] = (float)value;
    } else {
        vector_double(result)[row] = value;
    }
}

static void run_abs(struct kernel_call *call)
{
    const struct vector *value = call->args[0];
    bool floating = type_is_approximate(value->type);
    EACH_ROW(call, row)
    {
        if (floating) {
            put_double(call->result, row, fabs(get_double(value, row)));
        } else {
            int128_t integer = vector_get_integer(value, row);
            put_integer(call->result, row, integer < 0 ? -integer : integer);
        }
    }
}

static void run_sign(struct kernel_call *call)
{
    const struct vector *value = call->args[0];
    bool floating = type_is_approximate(value->type);
    int128_t unit = value->type->kind == TYPE_DECIMAL ? decimal_power_of_ten(value->type->scale) : 1;
    EACH_ROW(call, row)
    {
        if (floating) {
            double number = get_double(value, row);
            put_double(call->result, row, number > 0 ? 1 : number < 0 ? -1 : number);
        } else {
            int128_t integer = vector_get_integer(value, row);
            put_integer(call->result, row, integer > 0 ? unit : integer < 0 ? -unit : 0);
        }
    }
}

/* ---- rounding ---- */

/* To a multiple of 10^digits, half away from zero or cut. */
static int128_t round_integer(int128_t value, int64_t digits, bool cut)
{
    if (digits <= 0) {
        return value;
    }
    if (digits > DECIMAL_PRECISION_MAX) {
        return 0;
    }
    int128_t unit = decimal_power_of_ten((int32_t)digits), rest = value % unit, down = value - rest;
    int128_t size = rest < 0 ? -rest : rest;
    return cut || size < unit - size ? down : down + (value < 0 ? -unit : unit);
}

/* The digits of a printed number and its magnitude: 0.DIGITS * 10^exponent. */
static uint32_t read_digits(const char *text, char *digits, int32_t *exponent)
{
    uint32_t count = 0;
    bool point = false;
    *exponent = 0;
    for (; *text != '\0' && *text != 'E'; text++) {
        if (*text == '.') {
            point = true;
        } else if (*text >= '0' && *text <= '9') {
            bool leading = count == 0 && *text == '0';
            *exponent += leading ? (point ? -1 : 0) : (point ? 0 : 1);
            if (!leading && count < 40) {
                digits[count++] = *text;
            }
        }
    }
    *exponent += *text == 'E' ? atoi(text + 1) : 0;
    return count;
}

static double round_text(struct text_builder *text, double value, int64_t places, bool cut)
{
    char digits[48] = "";
    int32_t exponent;
    uint32_t count = read_digits(text->bytes, digits, &exponent);
    int64_t kept = exponent + places;
    if (count == 0 || kept < 0) {
        return 0.0;
    }
    if (kept >= count) {
        return value;
    }
    bool up = !cut && digits[kept] >= '5';
    uint32_t end = (uint32_t)kept;
    for (; up && end > 0 && digits[end - 1] == '9'; end--) {
        continue;
    }
    if (up && end > 0) {
        digits[end - 1]++;
    } else if (up) {
        digits[end++] = '1';
        exponent++;
    }
    digits[end] = '\0';
    text_builder_clear(text);
    text_append_format(text, "%s0.%s0E%d", value < 0 ? "-" : "", digits, exponent);
    double rounded = text->failed ? value : strtod(text->bytes, NULL);
    return rounded == 0 ? 0.0 : rounded;
}

static bool round_double(struct kernel_call *call, uint32_t row, int64_t places, bool cut)
{
    double value = get_double(call->args[0], row);
    if (!isfinite(value)) {
        put_double(call->result, row, value);
        return true;
    }
    struct text_builder *text = text_scratch(call);
    if (text == NULL) {
        return false;
    }
    if (call->args[0]->physical == PHYSICAL_FLOAT) {
        float_append_text((float)value, text);
    } else {
        double_append_text(value, text);
    }
    if (!text->failed) {
        put_double(call->result, row, round_text(text, value, places, cut));
    }
    return true;
}

static void run_rounding(struct kernel_call *call, bool cut)
{
    const struct type *from = call->args[0]->type, *to = call->result->type;
    int32_t from_scale = from->kind == TYPE_DECIMAL ? from->scale : 0, to_scale = to->kind == TYPE_DECIMAL ? to->scale : 0;
    EACH_ROW(call, row)
    {
        int64_t places = call->arg_count > 1 ? integer_arg(call, 1, row) : 0;
        places = places > 1000 ? 1000 : places < -1000 ? -1000 : places;
        if (type_is_approximate(from)) {
            if (!round_double(call, row, places, cut)) {
                return;
            }
            continue;
        }
        int128_t value = round_integer(vector_get_integer(call->args[0], row), from_scale - places, cut), scaled;
        if (from_scale > to_scale) {
            value /= decimal_power_of_ten(from_scale - to_scale);
        }
        scaled = value;
        if (to->kind == TYPE_DECIMAL && !decimal_fits(scaled, to->precision)) {
            kernel_set_null(call, row);
        } else {
            put_integer(call->result, row, scaled);
        }
    }
}
static void run_round(struct kernel_call *call)
{
    run_rounding(call, false);
}
static void run_truncate(struct kernel_call *call)
{
    run_rounding(call, true);
}

/* ---- binding ---- */

static enum status bind_same_type(struct function_binding *binding, kernel_fn *run, struct error *err)
{
    if (binding->args[0]->type->kind == TYPE_NULL) {
        TRY(function_convert(binding, 0, &type_double, err));
    }
    if (!type_is_numeric(binding->args[0]->type)) {
        return function_refuse(binding, err);
    }
    binding->result = binding->args[0]->type;
    binding->kernel = (struct kernel){.run = run, .traits = FUNCTION_STRICT};
    return STATUS_OK;
}
static enum status bind_abs(struct function_binding *binding, struct error *err)
{
    return bind_same_type(binding, run_abs, err);
}
static enum status bind_sign(struct function_binding *binding, struct error *err)
{
    return bind_same_type(binding, run_sign, err);
}

/* A DECIMAL(p, s) rounded to fewer than s places is DECIMAL(1 + p - s + places, places), to none or negative ones DECIMAL(1 + p - s, 0). */
static enum status rounded_type(struct function_binding *binding, const struct type **result, struct error *err)
{
    const struct type *type = binding->args[0]->type;
    int64_t places = 0;
    *result = type;
    if (type->kind != TYPE_DECIMAL || (binding->arg_count > 1 && !expression_constant_int64(binding->args[1], &places)) ||
        places >= type->scale) {
        return STATUS_OK;
    }
    places = places < 0 ? 0 : places;
    int32_t precision = 1 + type->precision - type->scale + (int32_t)places;
    precision = precision > DECIMAL_PRECISION_MAX ? DECIMAL_PRECISION_MAX : precision;
    TRY_ALLOC(*result, type_decimal(binding->arena, precision, (int32_t)places, type->nullable), err);
    return STATUS_OK;
}

static enum status bind_rounding(struct function_binding *binding, kernel_fn *run, struct error *err)
{
    const struct type *type;
    TRY(bind_same_type(binding, run, err));
    TRY(rounded_type(binding, &type, err));
    bool decimal = type->kind == TYPE_DECIMAL;
    TRY(text_bind(binding, "*i", type, run, decimal ? FUNCTION_NULLABLE : 0, err));
    TRY_ALLOC(binding->result, type_with_nullable(binding->arena, type, function_any_nullable(binding)), err);
    binding->kernel.free_scratch = text_scratch_free;
    return STATUS_OK;
}
static enum status bind_round(struct function_binding *binding, struct error *err)
{
    return bind_rounding(binding, run_round, err);
}
static enum status bind_truncate(struct function_binding *binding, struct error *err)
{
    return bind_rounding(binding, run_truncate, err);
}

static const struct function functions[] = {
    {"ABS", "math", "ABS(number)", "The number without its sign; the most negative integer wraps to itself.", "ABS(-5) = 5", 1, 1,
     bind_abs},
    {"SIGN", "math", "SIGN(number)", "1, 0 or -1 in the number's type.", "SIGN(-5) = -1", 1, 1, bind_sign},
    {"ROUND", "math", "ROUND(number)\nROUND(number, places)", "Rounded half away from zero; negative places round before the point.",
     "ROUND(1.005, 2) = 1.01", 1, 2, bind_round},
    {"TRUNCATE", "math", "TRUNCATE(number)\nTRUNCATE(number, places)", "Cut after so many places.", "TRUNCATE(42.324, 2) = 42.32", 1, 2,
     bind_truncate},
};

const struct function_table math_round_functions = {functions, ARRAY_LENGTH(functions)};
