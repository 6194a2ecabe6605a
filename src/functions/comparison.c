/* =, <>, <, <=, >, >= and IS [NOT] DISTINCT FROM: which types compare, and how they are brought together. */
#include "functions/comparison.h"

#include "data/decimal.h"
#include "data/order.h"
#include "functions/tables.h"

static bool is_time(const struct type *type)
{
    return type->kind == TYPE_DATE || type->kind == TYPE_TIME || type_is_timestamp(type);
}

static enum status comparison_refuse(const struct function_binding *binding, struct error *err)
{
    struct text_builder types[2] = {{0}};
    for (uint32_t i = 0; i < 2; i++) {
        type_print(binding->args[i]->type, &types[i]);
    }
    enum status status = error_set(err, ERROR_TYPE_MISMATCH, "%s cannot compare %.300s with %.300s", binding->function->name,
                                   types[0].bytes, types[1].bytes);
    text_builder_close(&types[0]);
    text_builder_close(&types[1]);
    return status;
}

static enum status cast_argument(struct function_binding *binding, uint32_t index, const struct type *type, struct error *err)
{
    TRY_ALLOC(binding->args[index], expression_cast(binding->arena, binding->args[index], type, false), err);
    return STATUS_OK;
}

/* Flink compares FLOAT with DOUBLE in the type of the left side. */
static enum status coerce_numbers(struct function_binding *binding, struct error *err)
{
    const struct type *left = binding->args[0]->type, *right = binding->args[1]->type, *common;
    if (type_is_approximate(left) && type_is_approximate(right)) {
        return left->kind == right->kind ? STATUS_OK : cast_argument(binding, 1, left, err);
    }
    TRY_ALLOC(common, type_common(binding->arena, left, right), err);
    bool rounds = common->kind == TYPE_DECIMAL && (common->scale < left->scale || common->scale < right->scale);
    for (uint32_t i = 0; i < 2 && !rounds; i++) {
        TRY(cast_argument(binding, i, common, err));
    }
    return STATUS_OK;
}

/* Dates and times: the same layout needs no cast, whatever the precision. */
static enum status coerce_common(struct function_binding *binding, struct error *err)
{
    const struct type *left = binding->args[0]->type, *right = binding->args[1]->type;
    if (left->kind == right->kind && left->child_count == 0 && type_physical(left) == type_physical(right)) {
        return STATUS_OK;
    }
    const struct type *common = type_common(binding->arena, left, right);
    if (common == NULL) {
        return comparison_refuse(binding, err);
    }
    for (uint32_t i = 0; i < 2; i++) {
        TRY(cast_argument(binding, i, common, err));
    }
    return STATUS_OK;
}

enum status comparison_coerce(struct function_binding *binding, bool equality, bool distinct, struct error *err)
{
    for (uint32_t i = 0; i < 2; i++) {
        const struct type *type = binding->args[i]->type, *other = binding->args[1 - i]->type;
        if (type->kind == TYPE_NULL) {
            TRY(function_coerce(binding, i, other, err));
        } else if (type_is_text(type) && (is_time(other) || (type_is_numeric(other) && !equality && !distinct))) {
            TRY(cast_argument(binding, i, other, err));
        }
    }
    const struct type *left = binding->args[0]->type, *right = binding->args[1]->type;
    if (type_is_numeric(left) && type_is_numeric(right)) {
        return coerce_numbers(binding, err);
    }
    if ((type_is_text(left) && type_is_text(right)) || (type_is_binary(left) && type_is_binary(right))) {
        return STATUS_OK;
    }
    bool scalar = comparison_find(type_physical(left), COMPARISON_EQUAL) != NULL && left->kind != TYPE_VARIANT;
    return scalar || equality || distinct ? coerce_common(binding, err) : comparison_refuse(binding, err);
}

/* Decimals that no DECIMAL(38, s) holds both of: compared without bringing them to one scale. */
struct decimal_comparison {
    enum comparison_operator operation;
    int32_t left_scale, right_scale;
};

static int compare_scaled(int128_t left, int32_t left_scale, int128_t right, int32_t right_scale)
{
    if (left_scale > right_scale) {
        return -compare_scaled(right, right_scale, left, left_scale);
    }
    int128_t unit = decimal_power_of_ten(right_scale - left_scale), whole = right / unit, part = right % unit;
    return left != whole ? (left < whole ? -1 : 1) : (part < 0) - (part > 0);
}

static void run_decimal(struct kernel_call *call)
{
    static const uint8_t holds[COMPARISON_COUNT][3] = {{0, 1, 0}, {1, 0, 1}, {1, 0, 0}, {1, 1, 0}, {0, 0, 1}, {0, 1, 1}};
    const struct decimal_comparison *comparison = call->data;
    for (uint32_t i = 0; i < call->rows.count; i++) {
        uint32_t row = selection_row(&call->rows, i);
        int order = compare_scaled(vector_get_integer(call->args[0], row), comparison->left_scale, vector_get_integer(call->args[1], row),
                                   comparison->right_scale);
        vector_bool(call->result)[row] = holds[comparison->operation][order + 1];
    }
}

static enum status bind_decimal(struct function_binding *binding, enum comparison_operator operation, struct error *err)
{
    struct decimal_comparison *comparison;
    TRY_ALLOC(comparison, arena_alloc(binding->arena, sizeof *comparison), err);
    *comparison = (struct decimal_comparison){operation, binding->args[0]->type->scale, binding->args[1]->type->scale};
    binding->kernel = (struct kernel){.run = run_decimal, .traits = FUNCTION_STRICT, .data = comparison};
    return STATUS_OK;
}

/* Numbers that coerce_numbers left as they are because a common type would round. */
static bool is_mixed_decimal(const struct function_binding *binding)
{
    const struct type *left = binding->args[0]->type, *right = binding->args[1]->type;
    return type_is_exact(left) && type_is_exact(right) && !type_equal_ignoring_nullable(left, right);
}

/* Arrays, maps and rows that are one value each: NULL elements are equal to NULL elements. */
static void run_equal_nested(struct kernel_call *call)
{
    bool negated = *(const bool *)call->data;
    uint8_t *to = vector_bool(call->result);
    for (uint32_t i = 0; i < call->rows.count; i++) {
        uint32_t row = selection_row(&call->rows, i);
        to[row] = vector_rows_equal(call->args[0], row, call->args[1], row) != negated;
    }
}

static enum status call_on(struct function_binding *binding, const char *name, const struct expression *const *args, uint32_t count,
                           const struct expression **result, struct error *err)
{
    return function_call_named(binding->arena, binding->evaluation, name, args, count, result, err);
}

static bool is_row_constructor(const struct expression *expression)
{
    return expression->kind == EXPRESSION_CALL && text_equal(text_from(expression->function->name), TEXT("ROW"));
}

/* ROW(a, b) = ROW(c, d) is a = c AND b = d, so a NULL field makes it NULL. */
static enum status rewrite_rows(struct function_binding *binding, bool negated, struct error *err)
{
    const struct expression *left = binding->args[0], *right = binding->args[1], *all = NULL;
    if (left->arg_count != right->arg_count) {
        return comparison_refuse(binding, err);
    }
    for (uint32_t i = 0; i < left->arg_count; i++) {
        const struct expression *pair[] = {left->args[i], right->args[i]}, *equal;
        TRY(call_on(binding, "=", pair, 2, &equal, err));
        TRY_ALLOC(all, expression_and(binding->arena, all, equal), err);
    }
    if (negated) {
        return call_on(binding, "NOT", &all, 1, &binding->rewritten, err);
    }
    binding->rewritten = all;
    return STATUS_OK;
}

static enum status bind_comparison(struct function_binding *binding, enum comparison_operator operation, struct error *err)
{
    static const bool negations[] = {false, true};
    bool equality = operation <= COMPARISON_NOT_EQUAL;
    if (equality && is_row_constructor(binding->args[0]) && is_row_constructor(binding->args[1]) && binding->args[0]->arg_count > 0) {
        return rewrite_rows(binding, operation == COMPARISON_NOT_EQUAL, err);
    }
    TRY(comparison_coerce(binding, equality, false, err));
    enum physical physical = type_physical(binding->args[0]->type);
    binding->result = function_any_nullable(binding) ? &type_boolean : &type_boolean_not_null;
    if (physical == PHYSICAL_NULL) {
        TRY_ALLOC(binding->rewritten, expression_null(binding->arena, &type_boolean), err);
        return STATUS_OK;
    }
    if (is_mixed_decimal(binding)) {
        return bind_decimal(binding, operation, err);
    }
    const struct comparison *comparison = comparison_find(physical, operation);
    if (comparison == NULL && !equality) {
        return function_refuse(binding, err);
    }
    if (comparison == NULL) {
        binding->kernel =
            (struct kernel){.run = run_equal_nested, .traits = FUNCTION_STRICT, .data = &negations[operation == COMPARISON_NOT_EQUAL]};
        return STATUS_OK;
    }
    uint32_t total = physical == PHYSICAL_STRING ? 0 : FUNCTION_TOTAL;
    binding->kernel =
        (struct kernel){.run = comparison->run, .select = comparison->select, .traits = FUNCTION_STRICT | FUNCTION_CONSTANT_ARGS | total};
    return STATUS_OK;
}

#define BIND(name, operation)                                                                                                              \
    static enum status bind_##name(struct function_binding *binding, struct error *err)                                                    \
    {                                                                                                                                      \
        return bind_comparison(binding, operation, err);                                                                                   \
    }
BIND(equal, COMPARISON_EQUAL)
BIND(not_equal, COMPARISON_NOT_EQUAL)
BIND(less, COMPARISON_LESS)
BIND(less_or_equal, COMPARISON_LESS_OR_EQUAL)
BIND(greater, COMPARISON_GREATER)
BIND(greater_or_equal, COMPARISON_GREATER_OR_EQUAL)
#undef BIND

static void run_distinct(struct kernel_call *call)
{
    bool negated = *(const bool *)call->data;
    uint8_t *to = vector_bool(call->result);
    uint32_t left_mask = (call->constant_args & 1) != 0 ? 0 : UINT32_MAX;
    uint32_t right_mask = (call->constant_args & 2) != 0 ? 0 : UINT32_MAX;
    for (uint32_t i = 0; i < call->rows.count; i++) {
        uint32_t row = selection_row(&call->rows, i);
        to[row] = vector_rows_equal(call->args[0], row & left_mask, call->args[1], row & right_mask) == negated;
    }
}

/* (a = b) IS TRUE OR (a IS NULL AND b IS NULL), or NOT of it. */
static enum status rewrite_distinct(struct function_binding *binding, bool negated, struct error *err)
{
    const struct expression *equal, *nulls[2], *sides[2];
    TRY(call_on(binding, "=", binding->args, 2, &equal, err));
    TRY(call_on(binding, "IS TRUE", &equal, 1, &sides[0], err));
    for (uint32_t i = 0; i < 2; i++) {
        TRY(call_on(binding, "IS NULL", &binding->args[i], 1, &nulls[i], err));
    }
    TRY_ALLOC(sides[1], expression_and(binding->arena, nulls[0], nulls[1]), err);
    TRY_ALLOC(binding->rewritten, expression_make(binding->arena, EXPRESSION_OR, &type_boolean_not_null, sides, 2), err);
    const struct expression *same = binding->rewritten;
    return negated ? STATUS_OK : call_on(binding, "NOT", &same, 1, &binding->rewritten, err);
}

static enum status bind_distinctness(struct function_binding *binding, const bool *negated, struct error *err)
{
    TRY(comparison_coerce(binding, true, true, err));
    if (is_mixed_decimal(binding)) {
        return rewrite_distinct(binding, *negated, err);
    }
    binding->result = &type_boolean_not_null;
    binding->kernel = (struct kernel){.run = run_distinct, .traits = FUNCTION_CONSTANT_ARGS, .data = negated};
    return STATUS_OK;
}

static enum status bind_distinct(struct function_binding *binding, struct error *err)
{
    static const bool negated = false;
    return bind_distinctness(binding, &negated, err);
}

static enum status bind_not_distinct(struct function_binding *binding, struct error *err)
{
    static const bool negated = true;
    return bind_distinctness(binding, &negated, err);
}

static const struct function functions[] = {
    {"=", "comparison", "value = value", "TRUE if both are equal; NULL if one is NULL. NaN equals NaN, 0.0 equals -0.0.",
     "(1 = 1.0) = TRUE", 2, 2, bind_equal},
    {"<>", "comparison", "value <> value", "TRUE if both differ; NULL if one is NULL.", "(1 <> 2) = TRUE", 2, 2, bind_not_equal},
    {"<", "comparison", "value < value", "TRUE if the left is smaller; NULL if one is NULL. FALSE with a NaN. Strings by code point.",
     "('a' < 'b') = TRUE", 2, 2, bind_less},
    {"<=", "comparison", "value <= value", "TRUE if the left is not larger; NULL if one is NULL. FALSE with a NaN.", "(1 <= 1) = TRUE", 2,
     2, bind_less_or_equal},
    {">", "comparison", "value > value", "TRUE if the left is larger; NULL if one is NULL. FALSE with a NaN.", "(2 > 1) = TRUE", 2, 2,
     bind_greater},
    {">=", "comparison", "value >= value", "TRUE if the left is not smaller; NULL if one is NULL. FALSE with a NaN.", "(1 >= 1) = TRUE", 2,
     2, bind_greater_or_equal},
    {"IS DISTINCT FROM", "comparison", "value IS DISTINCT FROM value", "As <>, but NULL is a value like others; never NULL.",
     "1 IS DISTINCT FROM 2", 2, 2, bind_distinct},
    {"IS NOT DISTINCT FROM", "comparison", "value IS NOT DISTINCT FROM value", "As =, but NULL equals NULL; never NULL.",
     "NULL IS NOT DISTINCT FROM NULL", 2, 2, bind_not_distinct},
};
const struct function_table comparison_functions = {functions, ARRAY_LENGTH(functions)};
