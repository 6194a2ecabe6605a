#include "functions/expression.h"

#include "base/utf8.h"
#include "functions/function.h"

static const struct expression *expression_allocate(struct arena *arena, struct expression value)
{
    return arena_copy(arena, &value, sizeof value);
}

const struct expression *expression_column(struct arena *arena, uint32_t index, const struct type *type)
{
    return expression_allocate(arena, (struct expression){.kind = EXPRESSION_COLUMN, .type = type, .index = index});
}

const struct expression *expression_constant(struct arena *arena, const struct vector *one_row)
{
    return expression_allocate(arena, (struct expression){.kind = EXPRESSION_CONSTANT, .type = one_row->type, .constant = one_row});
}

/* One row in the arena: what vector_release would end is lent here. */
static const struct expression *constant_make(struct arena *arena, const struct type *type, const void *value, size_t bytes)
{
    void *copy = arena_copy(arena, value, bytes);
    struct vector vector = {.type = type, .physical = type_physical(type), .count = 1, .values = copy};
    const struct vector *stored = arena_copy(arena, &vector, sizeof vector);
    return copy == NULL || stored == NULL ? NULL : expression_constant(arena, stored);
}

/* A NULL of a nested type has empty children, so that kernels may look into it. */
static bool null_make(struct arena *arena, const struct type *type, struct vector *vector)
{
    *vector = (struct vector){.type = type, .physical = type_physical(type), .count = 1};
    if (vector->physical == PHYSICAL_NULL) {
        return true;
    }
    vector->values = arena_alloc(arena, 16);
    vector->validity = arena_alloc(arena, sizeof *vector->validity);
    uint32_t children = type->kind == TYPE_MULTISET ? 2 : type->child_count;
    vector->children = arena_alloc(arena, (children + 1) * sizeof *vector->children);
    if (vector->values == NULL || vector->validity == NULL || vector->children == NULL) {
        return false;
    }
    vector->child_count = children;
    for (uint32_t i = 0; i < children; i++) {
        const struct type *child = type->kind == TYPE_MULTISET && i == 1 ? &type_int_not_null : type->children[i];
        if (!null_make(arena, child, &vector->children[i])) {
            return false;
        }
    }
    return true;
}

const struct expression *expression_null(struct arena *arena, const struct type *type)
{
    struct vector *vector = arena_alloc(arena, sizeof *vector);
    return type == NULL || vector == NULL || !null_make(arena, type, vector) ? NULL : expression_constant(arena, vector);
}

const struct expression *expression_boolean(struct arena *arena, bool value)
{
    uint8_t byte = value;
    return constant_make(arena, &type_boolean_not_null, &byte, sizeof byte);
}

const struct expression *expression_int32(struct arena *arena, int32_t value)
{
    return constant_make(arena, &type_int_not_null, &value, sizeof value);
}

const struct expression *expression_int64(struct arena *arena, int64_t value)
{
    return constant_make(arena, &type_bigint_not_null, &value, sizeof value);
}

const struct expression *expression_string(struct arena *arena, struct text text)
{
    const char *bytes = arena_text(arena, text.bytes, text.length);
    const struct type *type = type_make(arena, TYPE_CHAR, (int32_t)utf8_count(text.bytes, text.length), 0, false);
    if (bytes == NULL || type == NULL) {
        return NULL;
    }
    struct string_view view = string_view_make(bytes, text.length);
    return constant_make(arena, type, &view, sizeof view);
}

const struct expression *expression_make(struct arena *arena, enum expression_kind kind, const struct type *type,
                                         const struct expression *const *args, uint32_t arg_count)
{
    const struct expression **copy = arena_copy(arena, args, arg_count * sizeof *args);
    if (type == NULL || (copy == NULL && arg_count > 0)) {
        return NULL;
    }
    return expression_allocate(arena, (struct expression){.kind = kind, .type = type, .args = copy, .arg_count = arg_count});
}

const struct expression *expression_cast(struct arena *arena, const struct expression *value, const struct type *type, bool try_cast)
{
    if (value == NULL || type_equal_ignoring_nullable(value->type, type)) {
        return value;
    }
    const struct type *result = type_with_nullable(arena, type, try_cast || value->type->nullable);
    const struct expression **args = arena_copy(arena, &value, sizeof value);
    if (result == NULL || args == NULL) {
        return NULL;
    }
    return expression_allocate(arena, (struct expression){.kind = EXPRESSION_CAST,
                                                          .type = result,
                                                          .args = args,
                                                          .arg_count = 1,
                                                          .try_cast = try_cast,
                                                          .line = value->line,
                                                          .column = value->column});
}

const struct expression *expression_and(struct arena *arena, const struct expression *left, const struct expression *right)
{
    if (left == NULL || right == NULL) {
        return left == NULL ? right : left;
    }
    const struct expression *both[] = {left, right};
    const struct type *type = left->type->nullable || right->type->nullable ? &type_boolean : &type_boolean_not_null;
    return expression_make(arena, EXPRESSION_AND, type, both, 2);
}

void expression_walk(const struct expression *expression, bool (*visit)(const struct expression *node, void *context), void *context)
{
    if (visit(expression, context)) {
        for (uint32_t i = 0; i < expression->arg_count; i++) {
            expression_walk(expression->args[i], visit, context);
        }
    }
}

/* A copy with other arguments; the node itself when none changed. */
static const struct expression *expression_with_args(struct arena *arena, const struct expression *expression,
                                                     const struct expression **args)
{
    struct expression copy = *expression;
    copy.args = args;
    return expression_allocate(arena, copy);
}

const struct expression *expression_replace_columns(struct arena *arena, const struct expression *expression,
                                                    const struct expression *(*map)(const struct expression *column, void *context),
                                                    void *context)
{
    if (expression->kind == EXPRESSION_COLUMN) {
        const struct expression *other = map(expression, context);
        return other == NULL ? expression : other;
    }
    if (expression->arg_count == 0) {
        return expression;
    }
    const struct expression **args = arena_alloc(arena, expression->arg_count * sizeof *args);
    if (args == NULL) {
        return NULL;
    }
    bool changed = false;
    for (uint32_t i = 0; i < expression->arg_count; i++) {
        args[i] = expression_replace_columns(arena, expression->args[i], map, context);
        if (args[i] == NULL) {
            return NULL;
        }
        changed |= args[i] != expression->args[i];
    }
    return changed ? expression_with_args(arena, expression, args) : expression;
}
