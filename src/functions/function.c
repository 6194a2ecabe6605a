#include "functions/function.h"

#include "data/cast.h"

enum status function_refuse(const struct function_binding *binding, struct error *err)
{
    struct text_builder given = {0};
    for (uint32_t i = 0; i < binding->arg_count; i++) {
        text_append_text(&given, i > 0 ? ", " : "");
        type_print(binding->args[i]->type, &given);
    }
    enum status status = error_set(err, ERROR_WRONG_ARGUMENTS, "%s does not take (%.400s); it is written %s", binding->function->name,
                                   given.bytes == NULL ? "" : given.bytes, binding->function->syntax);
    text_builder_close(&given);
    return status;
}

bool function_any_nullable(const struct function_binding *binding)
{
    for (uint32_t i = 0; i < binding->arg_count; i++) {
        if (binding->args[i]->type->nullable) {
            return true;
        }
    }
    return false;
}

/* Nothing to cut and nothing to pad; nullability and field names may differ. */
bool type_fits_unchanged(const struct type *from, const struct type *to)
{
    if (type_is_text(from) && to->kind == TYPE_VARCHAR) {
        return to->precision >= from->precision;
    }
    if (type_is_binary(from) && to->kind == TYPE_VARBINARY) {
        return to->precision >= from->precision;
    }
    if (from->child_count == 0 || from->kind != to->kind || from->child_count != to->child_count) {
        return type_same_shape(from, to);
    }
    for (uint32_t i = 0; i < from->child_count; i++) {
        if (!type_fits_unchanged(from->children[i], to->children[i])) {
            return false;
        }
    }
    return true;
}

enum status function_coerce(struct function_binding *binding, uint32_t index, const struct type *type, struct error *err)
{
    const struct expression *arg = binding->args[index];
    if (type_fits_unchanged(arg->type, type)) {
        return STATUS_OK;
    }
    if (arg->type->kind == TYPE_NULL) {
        const struct type *nullable;
        TRY_ALLOC(nullable, type_with_nullable(binding->arena, type, true), err);
        TRY_ALLOC(binding->args[index], expression_null(binding->arena, nullable), err);
        return STATUS_OK;
    }
    if (cast_find_rule(arg->type, type) != CAST_IMPLICIT) {
        return function_refuse(binding, err);
    }
    TRY_ALLOC(binding->args[index], expression_cast(binding->arena, arg, type, false), err);
    return STATUS_OK;
}

enum status function_coerce_common(struct function_binding *binding, uint32_t first, uint32_t step, const struct type **common,
                                   struct error *err)
{
    *common = binding->args[first]->type;
    for (uint32_t i = first + step; i < binding->arg_count; i += step) {
        *common = type_common(binding->arena, *common, binding->args[i]->type);
        if (*common == NULL) {
            return function_refuse(binding, err);
        }
    }
    for (uint32_t i = first; i < binding->arg_count; i += step) {
        TRY(function_convert(binding, i, *common, err));
    }
    return STATUS_OK;
}

enum status function_convert(struct function_binding *binding, uint32_t index, const struct type *type, struct error *err)
{
    const struct expression **arg = &binding->args[index];
    if ((*arg)->type->kind == TYPE_NULL && type->kind != TYPE_NULL) {
        const struct type *nullable;
        TRY_ALLOC(nullable, type_with_nullable(binding->arena, type, true), err);
        TRY_ALLOC(*arg, expression_null(binding->arena, nullable), err);
    } else if (!type_fits_unchanged((*arg)->type, type)) {
        TRY_ALLOC(*arg, expression_cast(binding->arena, *arg, type, false), err);
    }
    return STATUS_OK;
}

static enum status function_bind(struct function_binding *binding, struct error *err)
{
    const struct function *function = binding->function;
    if (binding->arg_count < function->min_args || binding->arg_count > function->max_args || function->bind == NULL) {
        return function_refuse(binding, err);
    }
    return function->bind(binding, err);
}

enum status function_call(struct arena *arena, const struct evaluation *evaluation, const struct function *function,
                          const struct expression *const *args, uint32_t arg_count, const struct expression **result, struct error *err)
{
    const struct expression **copy;
    TRY_ALLOC(copy, arena_alloc(arena, (arg_count + 1) * sizeof *copy), err);
    for (uint32_t i = 0; i < arg_count; i++) {
        copy[i] = args[i];
    }
    struct function_binding binding = {
        .arena = arena, .evaluation = evaluation, .function = function, .args = copy, .arg_count = arg_count};
    TRY(function_bind(&binding, err));
    if (binding.rewritten != NULL) {
        *result = binding.rewritten;
        return STATUS_OK;
    }
    struct expression *call;
    struct kernel *kernel;
    TRY_ALLOC(kernel, arena_copy(arena, &binding.kernel, sizeof binding.kernel), err);
    TRY_ALLOC(call, arena_alloc(arena, sizeof *call), err);
    *call = (struct expression){.kind = EXPRESSION_CALL,
                                .type = binding.result,
                                .args = binding.args,
                                .arg_count = binding.arg_count,
                                .function = function,
                                .kernel = kernel};
    *result = call;
    return STATUS_OK;
}

enum status function_call_named(struct arena *arena, const struct evaluation *evaluation, const char *name,
                                const struct expression *const *args, uint32_t arg_count, const struct expression **result,
                                struct error *err)
{
    const struct function *function = function_find(text_from(name));
    if (function == NULL) {
        return error_set(err, ERROR_UNKNOWN_FUNCTION, "there is no function %s", name);
    }
    return function_call(arena, evaluation, function, args, arg_count, result, err);
}

static bool expression_is_value(const struct expression *expression)
{
    return expression->kind == EXPRESSION_CONSTANT && vector_is_valid(expression->constant, 0);
}

bool expression_constant_text(const struct expression *expression, struct text *text)
{
    if (!expression_is_value(expression) || expression->constant->physical != PHYSICAL_STRING) {
        return false;
    }
    *text = vector_get_text(expression->constant, 0);
    return true;
}

bool expression_constant_int64(const struct expression *expression, int64_t *value)
{
    if (!expression_is_value(expression) || !type_is_integer(expression->type)) {
        return false;
    }
    *value = (int64_t)vector_get_integer(expression->constant, 0);
    return true;
}
