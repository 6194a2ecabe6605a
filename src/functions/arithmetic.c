/* +, -, *, /, % and unary minus: which types they take and give. */
#include "functions/arithmetic.h"

#include "functions/tables.h"

static enum status cast_to_kind(struct function_binding *binding, uint32_t index, enum type_kind kind, struct error *err)
{
    const struct expression *arg = binding->args[index];
    if (arg->type->kind == kind) {
        return STATUS_OK;
    }
    const struct type *type;
    TRY_ALLOC(type, type_make(binding->arena, kind, 0, 0, arg->type->nullable), err);
    TRY_ALLOC(binding->args[index], expression_cast(binding->arena, arg, type, false), err);
    return STATUS_OK;
}

static bool is_nonzero_constant(const struct expression *expression)
{
    int64_t value;
    return expression_constant_int64(expression, &value) && value != 0;
}

/* The remainder has the type of the divisor: it is computed in the wider one and fits the narrower. */
static enum status narrow_remainder(struct function_binding *binding, enum type_kind kind, struct error *err)
{
    struct expression *call;
    struct kernel *kernel;
    const struct type *type;
    TRY_ALLOC(kernel, arena_copy(binding->arena, &binding->kernel, sizeof *kernel), err);
    TRY_ALLOC(call, arena_alloc(binding->arena, sizeof *call), err);
    TRY_ALLOC(type, type_make(binding->arena, kind, 0, 0, binding->result->nullable), err);
    *call = (struct expression){.kind = EXPRESSION_CALL,
                                .type = binding->result,
                                .args = binding->args,
                                .arg_count = 2,
                                .function = binding->function,
                                .kernel = kernel};
    TRY_ALLOC(binding->rewritten, expression_cast(binding->arena, call, type, false), err);
    return STATUS_OK;
}

static enum status bind_plain(struct function_binding *binding, enum arithmetic_operator operation, enum type_kind kind, struct error *err)
{
    bool nullable = function_any_nullable(binding);
    enum type_kind divisor = binding->args[1]->type->kind;
    for (uint32_t i = 0; i < 2; i++) {
        TRY(cast_to_kind(binding, i, kind, err));
    }
    TRY_ALLOC(binding->result, type_make(binding->arena, kind, 0, 0, nullable), err);
    bool divides = type_is_integer(binding->result) && operation >= ARITHMETIC_DIVIDE;
    uint32_t traits = divides && !is_nonzero_constant(binding->args[1]) ? FUNCTION_CAN_FAIL : FUNCTION_TOTAL;
    binding->kernel = (struct kernel){.run = arithmetic_kernel(operation, type_physical(binding->result)),
                                      .traits = FUNCTION_STRICT | FUNCTION_CONSTANT_ARGS | traits};
    if (binding->kernel.run == NULL) {
        return function_refuse(binding, err);
    }
    return operation == ARITHMETIC_MODULO && divisor != kind ? narrow_remainder(binding, divisor, err) : STATUS_OK;
}

static enum type_kind wider(enum type_kind left, enum type_kind right)
{
    return left > right ? left : right;
}

static enum status bind_numbers(struct function_binding *binding, enum arithmetic_operator operation, struct error *err)
{
    const struct type *left = binding->args[0]->type, *right = binding->args[1]->type;
    if (type_is_integer(left) && type_is_integer(right)) {
        return bind_plain(binding, operation, wider(left->kind, right->kind), err);
    }
    if (type_is_exact(left) && type_is_exact(right)) {
        return arithmetic_bind_decimal(binding, operation, err);
    }
    if (operation == ARITHMETIC_MODULO) {
        return function_refuse(binding, err);
    }
    if (left->kind == TYPE_DECIMAL || right->kind == TYPE_DECIMAL) {
        return bind_plain(binding, operation, TYPE_DOUBLE, err);
    }
    return bind_plain(binding, operation, type_is_approximate(left) ? left->kind : right->kind, err);
}

static enum status bind_arithmetic(struct function_binding *binding, enum arithmetic_operator operation, struct error *err)
{
    for (uint32_t i = 0; i < 2; i++) {
        const struct type *other = binding->args[1 - i]->type;
        if (binding->args[i]->type->kind == TYPE_NULL) {
            const struct type *type = type_is_numeric(other) || type_is_interval(other) ? other : &type_int;
            TRY(function_coerce(binding, i, type, err));
        }
    }
    if (type_is_numeric(binding->args[0]->type) && type_is_numeric(binding->args[1]->type)) {
        return bind_numbers(binding, operation, err);
    }
    return arithmetic_bind_time(binding, operation, err);
}

#define BIND(name, operation)                                                                                                              \
    static enum status bind_##name(struct function_binding *binding, struct error *err)                                                    \
    {                                                                                                                                      \
        return bind_arithmetic(binding, operation, err);                                                                                   \
    }
BIND(add, ARITHMETIC_ADD)
BIND(subtract, ARITHMETIC_SUBTRACT)
BIND(multiply, ARITHMETIC_MULTIPLY)
BIND(divide, ARITHMETIC_DIVIDE)
BIND(modulo, ARITHMETIC_MODULO)
#undef BIND

static enum status bind_negate(struct function_binding *binding, struct error *err)
{
    const struct type *type = binding->args[0]->type;
    if (type->kind == TYPE_NULL) {
        TRY(function_coerce(binding, 0, &type_int, err));
        type = binding->args[0]->type;
    }
    if (!type_is_numeric(type) && !type_is_interval(type)) {
        return function_refuse(binding, err);
    }
    binding->result = type;
    binding->kernel = (struct kernel){.run = arithmetic_negate_kernel(type_physical(type)), .traits = FUNCTION_STRICT | FUNCTION_TOTAL};
    return STATUS_OK;
}

static const struct function functions[] = {
    {"+", "arithmetic", "number + number\ntime + interval\ninterval + interval",
     "The sum. Integers keep the wider type and wrap; a DECIMAL that does not fit is NULL.", "1 + 2 = 3", 2, 2, bind_add},
    {"-", "arithmetic", "number - number\ntime - interval\ninterval - interval", "The difference; see + for types.", "3 - 2 = 1", 2, 2,
     bind_subtract},
    {"*", "arithmetic", "number * number\ninterval * number", "The product; see + for types.", "2 * 3 = 6", 2, 2, bind_multiply},
    {"/", "arithmetic", "number / number\ninterval / number",
     "The quotient; of integers cut towards zero. Division of exact numbers by zero is an error.", "7 / 2 = 3", 2, 2, bind_divide},
    {"%", "arithmetic", "number % number", "The remainder of exact numbers, with the sign of the dividend and the type of the divisor.",
     "-7 % 3 = -1", 2, 2, bind_modulo},
    {"MOD", "arithmetic", "MOD(number, number)", "The same as %.", "MOD(7, 3) = 1", 2, 2, bind_modulo},
    {"NEGATE", "arithmetic", "- number\n- interval", "The number with the other sign; the most negative integer wraps to itself.",
     "-(2) = 0 - 2", 1, 1, bind_negate},
};
const struct function_table arithmetic_functions = {functions, ARRAY_LENGTH(functions)};
