/* FLOOR and CEIL: of times by unit (time_extract.c), of numbers here. A DECIMAL keeps its precision and loses its scale. */
#include <math.h>

#include "data/decimal.h"
#include "functions/tables.h"
#include "functions/time_functions.h"

static void put_decimal(struct vector *vector, uint32_t row, int128_t value)
{
    if (vector->physical == PHYSICAL_INT64) {
        vector_int64(vector)[row] = (int64_t)value;
    } else {
        vector_int128(vector)[row] = value;
    }
}

static void round_decimal(struct kernel_call *call, bool up)
{
    const struct vector *value = call->args[0];
    int128_t unit = decimal_power_of_ten(value->type->scale);
    TIME_EACH_ROW(call, row)
    {
        int128_t unscaled = vector_get_integer(value, row), quotient = unscaled / unit, rest = unscaled % unit;
        put_decimal(call->result, row, up ? quotient + (rest > 0) : quotient - (rest < 0));
    }
}

#define ROUND_FLOATS(name, type, function)                                                                                                 \
    static void name(struct kernel_call *call)                                                                                             \
    {                                                                                                                                      \
        const type *values = call->args[0]->values;                                                                                        \
        type *out = call->result->values;                                                                                                  \
        TIME_EACH_ROW(call, row)                                                                                                           \
        {                                                                                                                                  \
            out[row] = function(values[row]);                                                                                              \
        }                                                                                                                                  \
    }
ROUND_FLOATS(floor_double, double, floor)
ROUND_FLOATS(ceil_double, double, ceil)
ROUND_FLOATS(floor_float, float, floorf)
ROUND_FLOATS(ceil_float, float, ceilf)

static void floor_decimal(struct kernel_call *call)
{
    round_decimal(call, false);
}

static void ceil_decimal(struct kernel_call *call)
{
    round_decimal(call, true);
}

static enum status bind_number(struct function_binding *binding, bool up, struct error *err)
{
    if (binding->args[0]->type->kind == TYPE_NULL) {
        TRY(function_coerce(binding, 0, &type_double, err));
    }
    const struct type *type = binding->args[0]->type;
    if (type_is_integer(type)) {
        binding->rewritten = binding->args[0];
        return STATUS_OK;
    }
    kernel_fn *run;
    binding->result = type;
    if (type->kind == TYPE_DECIMAL) {
        TRY_ALLOC(binding->result, type_decimal(binding->arena, type->precision, 0, type->nullable), err);
        run = up ? ceil_decimal : floor_decimal;
    } else if (type->kind == TYPE_DOUBLE) {
        run = up ? ceil_double : floor_double;
    } else if (type->kind == TYPE_FLOAT) {
        run = up ? ceil_float : floor_float;
    } else {
        return function_refuse(binding, err);
    }
    binding->kernel = (struct kernel){.run = run, .traits = FUNCTION_STRICT | FUNCTION_TOTAL};
    return STATUS_OK;
}

static enum status bind_floor(struct function_binding *binding, struct error *err)
{
    return binding->arg_count == 2 ? time_bind_floor(binding, err) : bind_number(binding, false, err);
}

static enum status bind_ceil(struct function_binding *binding, struct error *err)
{
    return binding->arg_count == 2 ? time_bind_ceil(binding, err) : bind_number(binding, true, err);
}

static const struct function functions[] = {
    {"FLOOR", "math", "FLOOR(number)\nFLOOR(time TO unit)",
     "The largest whole number not above a number, or the start of the unit that a time is in; weeks start on Sunday.",
     "FLOOR(DATE '2020-02-29' TO MONTH) = DATE '2020-02-01'", 1, 2, bind_floor},
    {"CEIL", "math", "CEIL(number)\nCEIL(time TO unit)",
     "The smallest whole number not below a number, or the time itself if a unit starts there, else the start of the next one.",
     "CEIL(1.2) = 2", 1, 2, bind_ceil},
    {"CEILING", "math", "CEILING(number)\nCEILING(time TO unit)", "The same as CEIL.", "CEILING(1.2) = 2", 1, 2, bind_ceil},
};

const struct function_table floor_functions = {functions, ARRAY_LENGTH(functions)};
