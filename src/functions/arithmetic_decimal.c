/* DECIMAL arithmetic. Where result type and arguments guarantee that nothing overflows or is rounded, a plain loop over int64
 * or int128 does it (the product of DECIMAL(3,3) and BIGINT is one multiplication); else each row goes the exact, checked way. */
#include "functions/arithmetic.h"

#include "data/decimal.h"

struct operand {
    int32_t precision, scale;
};
/* Constant for a call. */
struct decimal_plan {
    enum arithmetic_operator operation;
    struct operand left, right, result;
    int64_t left_factor, right_factor; /* ADD, SUBTRACT without rounding: left * left_factor + right * right_factor */
};

/* Unsigned, so that the unset values of NULL rows may wrap. A product of two int64 is taken signed: one instruction. */
#define PLAN        ((const struct decimal_plan *)call->data)
#define L           int64_t
#define R           int64_t
#define O           int64_t
#define NAME        add_narrow
#define VALUE(a, b) ((uint64_t)(a) * (uint64_t)PLAN->left_factor + (uint64_t)(b) * (uint64_t)PLAN->right_factor)
#include "functions/binary.inc"
#define L           int64_t
#define R           int64_t
#define O           int64_t
#define NAME        multiply_narrow
#define VALUE(a, b) ((uint64_t)(a) * (uint64_t)(b))
#include "functions/binary.inc"
#define L           int64_t
#define R           int64_t
#define O           int128_t
#define NAME        add_widen
#define VALUE(a, b) ((uint128_t)(a) * (uint128_t)PLAN->left_factor + (uint128_t)(b) * (uint128_t)PLAN->right_factor)
#include "functions/binary.inc"
#define L           int64_t
#define R           int64_t
#define O           int128_t
#define NAME        multiply_widen
#define VALUE(a, b) ((int128_t)(a) * (b))
#include "functions/binary.inc"
#define L           int64_t
#define R           int128_t
#define O           int128_t
#define NAME        add_wide_right
#define VALUE(a, b) ((uint128_t)(a) * (uint128_t)PLAN->left_factor + (uint128_t)(b) * (uint128_t)PLAN->right_factor)
#include "functions/binary.inc"
#define L           int64_t
#define R           int128_t
#define O           int128_t
#define NAME        multiply_wide_right
#define VALUE(a, b) ((uint128_t)(a) * (uint128_t)(b))
#include "functions/binary.inc"
#define L           int128_t
#define R           int64_t
#define O           int128_t
#define NAME        add_wide_left
#define VALUE(a, b) ((uint128_t)(a) * (uint128_t)PLAN->left_factor + (uint128_t)(b) * (uint128_t)PLAN->right_factor)
#include "functions/binary.inc"
#define L           int128_t
#define R           int64_t
#define O           int128_t
#define NAME        multiply_wide_left
#define VALUE(a, b) ((uint128_t)(a) * (uint128_t)(b))
#include "functions/binary.inc"
#define L           int128_t
#define R           int128_t
#define O           int128_t
#define NAME        add_wide
#define VALUE(a, b) ((uint128_t)(a) * (uint128_t)PLAN->left_factor + (uint128_t)(b) * (uint128_t)PLAN->right_factor)
#include "functions/binary.inc"
#define L           int128_t
#define R           int128_t
#define O           int128_t
#define NAME        multiply_wide
#define VALUE(a, b) ((uint128_t)(a) * (uint128_t)(b))
#include "functions/binary.inc"

static uint128_t absolute(int128_t value)
{
    return value < 0 ? -(uint128_t)value : (uint128_t)value;
}

/* A number cut at the result's scale: value = whole + part * 10^-digits, both with the sign of the value. */
static bool split_at(int128_t value, int32_t scale, int32_t result_scale, int32_t digits, int128_t *whole, int128_t *part)
{
    *part = 0;
    if (scale <= result_scale) {
        return decimal_rescale(value, scale, result_scale, whole);
    }
    int128_t unit = decimal_power_of_ten(scale - result_scale);
    *whole = value / unit;
    *part = value % unit * decimal_power_of_ten(digits - (scale - result_scale));
    return true;
}

/* The exact sum, rounded half up once. */
static bool add_checked(const struct decimal_plan *plan, int128_t left, int128_t right, int128_t *sum)
{
    int32_t scale = plan->left.scale > plan->right.scale ? plan->left.scale : plan->right.scale;
    int32_t digits = scale - plan->result.scale;
    int128_t left_whole, left_part, right_whole, right_part, whole, unit = decimal_power_of_ten(digits);
    if (!split_at(left, plan->left.scale, plan->result.scale, digits, &left_whole, &left_part) ||
        !split_at(right, plan->right.scale, plan->result.scale, digits, &right_whole, &right_part) ||
        __builtin_add_overflow(left_whole, right_whole, &whole)) {
        return false;
    }
    int128_t part = left_part + right_part;
    whole += part / unit;
    part %= unit;
    if (part != 0 && whole != 0 && (part < 0) != (whole < 0)) {
        int32_t sign = whole < 0 ? -1 : 1;
        whole -= sign;
        part += sign * unit;
    }
    if (digits > 0 && absolute(part) >= (uint128_t)unit / 2) {
        whole += part < 0 ? -1 : 1;
    }
    *sum = whole;
    return true;
}

/* left * 10^digits modulo right, digit by digit: no product is needed. */
static int128_t modulo_scaled(int128_t left, int32_t digits, int128_t right)
{
    uint128_t divisor = absolute(right), rest = absolute(left) % divisor;
    for (int32_t i = 0; i < digits; i++) {
        uint128_t twice = rest * 2 % divisor, four = twice * 2 % divisor, eight = four * 2 % divisor;
        rest = (eight + twice) % divisor;
    }
    return left < 0 ? -(int128_t)rest : (int128_t)rest;
}

static bool modulo_checked(const struct decimal_plan *plan, int128_t left, int128_t right, int128_t *rest)
{
    int32_t up = plan->result.scale - plan->left.scale;
    int128_t divisor;
    if (!decimal_rescale(right, plan->right.scale, plan->result.scale, &divisor)) {
        *rest = left; /* the divisor is above any dividend, which has all the fraction already */
        return true;
    }
    *rest = modulo_scaled(left, up, divisor);
    return true;
}

/* Small enough numbers are scaled and divided in 128 bits. */
static bool divide_checked(const struct decimal_plan *plan, int128_t left, int128_t right, int128_t *quotient)
{
    int32_t up = plan->result.scale - plan->left.scale + plan->right.scale;
    if (up < 0 || plan->left.precision + up > DECIMAL_PRECISION_MAX) {
        return decimal_divide(left, plan->left.scale, right, plan->right.scale, plan->result.scale, quotient);
    }
    int128_t scaled = left * decimal_power_of_ten(up);
    if (scaled == (int64_t)scaled && right == (int64_t)right && (right != -1 || scaled != INT64_MIN)) {
        int64_t whole = (int64_t)scaled / (int64_t)right, rest = (int64_t)scaled % (int64_t)right;
        *quotient = (int128_t)whole + (absolute(rest) * 2 >= absolute(right) ? ((scaled < 0) != (right < 0) ? -1 : 1) : 0);
        return true;
    }
    int128_t whole = scaled / right, rest = scaled - whole * right;
    *quotient = whole + (absolute(rest) >= absolute(right) - absolute(rest) ? ((scaled < 0) != (right < 0) ? -1 : 1) : 0);
    return true;
}

static bool compute_checked(const struct decimal_plan *plan, int128_t left, int128_t right, int128_t *result)
{
    switch (plan->operation) {
    case ARITHMETIC_ADD:
        return add_checked(plan, left, right, result);
    case ARITHMETIC_SUBTRACT:
        return add_checked(plan, left, -right, result);
    case ARITHMETIC_MULTIPLY:
        return decimal_multiply(left, plan->left.scale, right, plan->right.scale, plan->result.scale, result);
    case ARITHMETIC_DIVIDE:
        return divide_checked(plan, left, right, result);
    default:
        return modulo_checked(plan, left, right, result);
    }
}

static inline int128_t load(const struct vector *vector, uint32_t row)
{
    return vector->physical == PHYSICAL_INT64 ? (int128_t)vector_int64(vector)[row] : vector_int128(vector)[row];
}

static void run_checked(struct kernel_call *call)
{
    const struct decimal_plan *plan = call->data;
    uint32_t left_mask = (call->constant_args & 1) != 0 ? 0 : UINT32_MAX;
    uint32_t right_mask = (call->constant_args & 2) != 0 ? 0 : UINT32_MAX;
    for (uint32_t i = 0; i < call->rows.count; i++) {
        uint32_t row = selection_row(&call->rows, i);
        int128_t left = load(call->args[0], row & left_mask), right = load(call->args[1], row & right_mask), result = 0;
        if (right == 0 && plan->operation >= ARITHMETIC_DIVIDE) {
            kernel_fail(call, row, ERROR_DIVISION_BY_ZERO, "division by zero");
            continue;
        }
        if (!compute_checked(plan, left, right, &result) || !decimal_fits(result, plan->result.precision)) {
            kernel_set_null(call, row);
            continue;
        }
        if (call->result->physical == PHYSICAL_INT64) {
            vector_int64(call->result)[row] = (int64_t)result;
        } else {
            vector_int128(call->result)[row] = result;
        }
    }
}

static struct operand operand_of(const struct type *type)
{
    static const uint8_t digits[] = {[TYPE_TINYINT] = 3, [TYPE_SMALLINT] = 5, [TYPE_INT] = 10, [TYPE_BIGINT] = 19};
    return type->kind == TYPE_DECIMAL ? (struct operand){type->precision, type->scale} : (struct operand){digits[type->kind], 0};
}

static int32_t larger(int32_t left, int32_t right)
{
    return left > right ? left : right;
}

static int32_t smaller(int32_t left, int32_t right)
{
    return left < right ? left : right;
}

/* Flink's precision and scale; past 38 digits the fraction gives way, down to six digits. */
static struct operand result_operand(enum arithmetic_operator operation, struct operand a, struct operand b, bool *capped)
{
    struct operand exact;
    switch (operation) {
    case ARITHMETIC_MULTIPLY:
        exact = (struct operand){a.precision + b.precision + 1, a.scale + b.scale};
        break;
    case ARITHMETIC_DIVIDE:
        exact.scale = larger(6, a.scale + b.precision + 1);
        exact.precision = a.precision - a.scale + b.scale + exact.scale;
        break;
    case ARITHMETIC_MODULO:
        exact.scale = larger(a.scale, b.scale);
        exact.precision = smaller(a.precision - a.scale, b.precision - b.scale) + exact.scale;
        break;
    default:
        exact.scale = larger(a.scale, b.scale);
        exact.precision = larger(a.precision - a.scale, b.precision - b.scale) + exact.scale + 1;
    }
    *capped = exact.precision > DECIMAL_PRECISION_MAX;
    if (*capped) {
        int32_t whole = exact.precision - exact.scale;
        exact.scale = larger(DECIMAL_PRECISION_MAX - whole, smaller(exact.scale, 6));
        exact.precision = DECIMAL_PRECISION_MAX;
    }
    exact.precision = larger(exact.precision, larger(exact.scale, 1));
    return exact;
}

enum { FACTOR_DIGITS_MAX = 18 };

/* The plain loop for a call, NULL when rows must be checked. */
static kernel_fn *find_plain(struct decimal_plan *plan, bool capped, enum physical left, enum physical right, enum physical result)
{
    static kernel_fn *const add[2][2] = {{add_widen, add_wide_right}, {add_wide_left, add_wide}};
    static kernel_fn *const multiply[2][2] = {{multiply_widen, multiply_wide_right}, {multiply_wide_left, multiply_wide}};
    bool left_wide = left == PHYSICAL_INT128, right_wide = right == PHYSICAL_INT128;
    if (capped || plan->operation >= ARITHMETIC_DIVIDE) {
        return NULL;
    }
    if (plan->operation == ARITHMETIC_MULTIPLY) {
        return result == PHYSICAL_INT64 ? multiply_narrow : multiply[left_wide][right_wide];
    }
    int32_t left_up = plan->result.scale - plan->left.scale, right_up = plan->result.scale - plan->right.scale;
    if (left_up > FACTOR_DIGITS_MAX || right_up > FACTOR_DIGITS_MAX) {
        return NULL;
    }
    plan->left_factor = (int64_t)decimal_power_of_ten(left_up);
    plan->right_factor = (int64_t)decimal_power_of_ten(right_up) * (plan->operation == ARITHMETIC_SUBTRACT ? -1 : 1);
    return result == PHYSICAL_INT64 ? add_narrow : add[left_wide][right_wide];
}

/* Integers are decimals of scale 0; only BIGINT has the layout. */
static enum status widen_integer(struct function_binding *binding, uint32_t index, struct error *err)
{
    const struct expression *arg = binding->args[index];
    if (arg->type->kind != TYPE_DECIMAL && arg->type->kind != TYPE_BIGINT) {
        TRY_ALLOC(binding->args[index], expression_cast(binding->arena, arg, &type_bigint, false), err);
    }
    return STATUS_OK;
}

static bool is_nonzero_constant(const struct expression *expression)
{
    return expression->kind == EXPRESSION_CONSTANT && vector_is_valid(expression->constant, 0) &&
           vector_get_integer(expression->constant, 0) != 0;
}

enum status arithmetic_bind_decimal(struct function_binding *binding, enum arithmetic_operator operation, struct error *err)
{
    struct decimal_plan *plan;
    bool capped, nullable = function_any_nullable(binding);
    TRY_ALLOC(plan, arena_alloc(binding->arena, sizeof *plan), err);
    plan->operation = operation;
    plan->left = operand_of(binding->args[0]->type);
    plan->right = operand_of(binding->args[1]->type);
    plan->result = result_operand(operation, plan->left, plan->right, &capped);
    bool divides_safely = operation < ARITHMETIC_DIVIDE || is_nonzero_constant(binding->args[1]);
    TRY(widen_integer(binding, 0, err));
    TRY(widen_integer(binding, 1, err));
    TRY_ALLOC(binding->result, type_decimal(binding->arena, plan->result.precision, plan->result.scale, nullable), err);
    kernel_fn *plain = find_plain(plan, capped, type_physical(binding->args[0]->type), type_physical(binding->args[1]->type),
                                  type_physical(binding->result));
    uint32_t traits = plain != NULL ? FUNCTION_TOTAL : FUNCTION_NULLABLE | (divides_safely ? 0 : FUNCTION_CAN_FAIL);
    binding->kernel = (struct kernel){
        .run = plain != NULL ? plain : run_checked, .data = plan, .traits = FUNCTION_STRICT | FUNCTION_CONSTANT_ARGS | traits};
    return STATUS_OK;
}
