/* IF, NULLIF, IFNULL, NVL, COALESCE: rewritten to the lazy kinds CASE and COALESCE. GREATEST and LEAST. */
#include "data/order.h"
#include "functions/tables.h"

static enum status bind_if(struct function_binding *binding, struct error *err)
{
    const struct type *common;
    bool nullable = function_any_nullable(binding);
    TRY(function_coerce(binding, 0, &type_boolean, err));
    TRY(function_coerce_common(binding, 1, 1, &common, err));
    TRY_ALLOC(common, type_with_nullable(binding->arena, common, nullable), err);
    TRY_ALLOC(binding->rewritten, expression_make(binding->arena, EXPRESSION_CASE, common, binding->args, 3), err);
    return STATUS_OK;
}

static enum status bind_nullif(struct function_binding *binding, struct error *err)
{
    const struct expression *value = binding->args[0], *branches[3];
    const struct type *type;
    TRY_ALLOC(type, type_with_nullable(binding->arena, value->type, true), err);
    TRY(function_call_named(binding->arena, binding->evaluation, "=", binding->args, 2, &branches[0], err));
    TRY_ALLOC(branches[1], expression_null(binding->arena, type), err);
    branches[2] = value;
    TRY_ALLOC(binding->rewritten, expression_make(binding->arena, EXPRESSION_CASE, type, branches, 3), err);
    return STATUS_OK;
}

static enum status bind_coalesce(struct function_binding *binding, struct error *err)
{
    const struct type *common;
    bool nullable = true;
    for (uint32_t i = 0; i < binding->arg_count; i++) {
        nullable &= binding->args[i]->type->nullable;
    }
    TRY(function_coerce_common(binding, 0, 1, &common, err));
    TRY_ALLOC(common, type_with_nullable(binding->arena, common, nullable), err);
    if (binding->arg_count == 1) {
        binding->rewritten = binding->args[0];
        return STATUS_OK;
    }
    TRY_ALLOC(binding->rewritten, expression_make(binding->arena, EXPRESSION_COALESCE, common, binding->args, binding->arg_count), err);
    return STATUS_OK;
}

/* `sign` 1: the largest; -1: the smallest. */
static void run_extreme(struct kernel_call *call)
{
    int sign = *(const int *)call->data;
    size_t width = physical_bytes(call->result->physical);
    for (uint32_t i = 0; call->result->physical == PHYSICAL_STRING && i < call->arg_count; i++) {
        if (vector_share_heaps(call->evaluation->budget, call->result, call->args[i], kernel_error(call)) != STATUS_OK) {
            return;
        }
    }
    for (uint32_t i = 0; i < call->rows.count; i++) {
        uint32_t row = selection_row(&call->rows, i);
        const struct vector *best = call->args[0];
        for (uint32_t k = 1; k < call->arg_count; k++) {
            if (vector_compare_rows(call->args[k], row, best, row) * sign > 0) {
                best = call->args[k];
            }
        }
        memcpy((uint8_t *)call->result->values + row * width, (const uint8_t *)best->values + row * width, width);
    }
}

static enum status bind_extreme(struct function_binding *binding, const int *sign, struct error *err)
{
    const struct type *common;
    bool nullable = function_any_nullable(binding);
    TRY(function_coerce_common(binding, 0, 1, &common, err));
    if (physical_bytes(type_physical(common)) == 0 || type_physical(common) == PHYSICAL_SPAN) {
        return function_refuse(binding, err);
    }
    TRY_ALLOC(binding->result, type_with_nullable(binding->arena, common, nullable), err);
    binding->kernel = (struct kernel){.run = run_extreme, .traits = FUNCTION_STRICT, .data = sign};
    return STATUS_OK;
}

static enum status bind_greatest(struct function_binding *binding, struct error *err)
{
    static const int sign = 1;
    return bind_extreme(binding, &sign, err);
}

static enum status bind_least(struct function_binding *binding, struct error *err)
{
    static const int sign = -1;
    return bind_extreme(binding, &sign, err);
}

static const struct function functions[] = {
    {"IF", "conditional", "IF(condition, then, else)",
     "The second argument where the condition is TRUE, else the third; only that one is evaluated.", "IF(1 < 2, 'yes', 'no') = 'yes'", 3, 3,
     bind_if},
    {"NULLIF", "conditional", "NULLIF(value, other)", "NULL where both are equal, else the value.", "NULLIF(1, 2) = 1", 2, 2, bind_nullif},
    {"IFNULL", "conditional", "IFNULL(value, replacement)", "The value, or the replacement where it is NULL.", "IFNULL(NULL, 1) = 1", 2, 2,
     bind_coalesce},
    {"NVL", "conditional", "NVL(value, replacement)", "The same as IFNULL.", "NVL(NULL, 1) = 1", 2, 2, bind_coalesce},
    {"COALESCE", "conditional", "COALESCE(value, ...)", "The first argument that is not NULL; later ones are not evaluated.",
     "COALESCE(NULL, 2, 3) = 2", 1, UINT32_MAX, bind_coalesce},
    {"GREATEST", "conditional", "GREATEST(value, ...)", "The largest argument; NULL if one is NULL.", "GREATEST(1, 3, 2) = 3", 1,
     UINT32_MAX, bind_greatest},
    {"LEAST", "conditional", "LEAST(value, ...)", "The smallest argument; NULL if one is NULL.", "LEAST(1, 3, 2) = 1", 1, UINT32_MAX,
     bind_least},
    {"CASE", "conditional", "CASE WHEN condition THEN value ... ELSE value END\nCASE value WHEN value THEN value ... ELSE value END",
     "The value of the first condition that is TRUE; ELSE (NULL if left out) when there is none. Only the chosen value is evaluated.",
     "CASE WHEN 1 < 2 THEN 'a' ELSE 'b' END = 'a'", 1, UINT32_MAX, NULL},
};
const struct function_table conditional_functions = {functions, ARRAY_LENGTH(functions)};
