/* What can be known of an expression without running it: equality, hash, constancy, failure. */
#include "base/hash.h"
#include "data/order.h"
#include "functions/function.h"

static bool expression_has_trait(const struct expression *expression, uint32_t traits)
{
    return expression->kind == EXPRESSION_CALL && (expression->kernel->traits & traits) != 0;
}

static bool expression_same_node(const struct expression *left, const struct expression *right)
{
    if (left->kind != right->kind || left->arg_count != right->arg_count || !type_equal(left->type, right->type)) {
        return false;
    }
    switch (left->kind) {
    case EXPRESSION_COLUMN:
    case EXPRESSION_FIELD:
        return left->index == right->index;
    case EXPRESSION_OUTER:
        return left->index == right->index && left->depth == right->depth;
    case EXPRESSION_CONSTANT:
        return vector_rows_equal(left->constant, 0, right->constant, 0) &&
               (!type_is_approximate(left->type) ||
                memcmp(left->constant->values, right->constant->values, physical_bytes(left->constant->physical)) == 0);
    case EXPRESSION_CALL:
        return left->function == right->function && left->kernel->run == right->kernel->run &&
               (left->kernel->traits & FUNCTION_VOLATILE) == 0;
    case EXPRESSION_CAST:
        return left->try_cast == right->try_cast;
    case EXPRESSION_SUBQUERY:
        return left == right;
    default:
        return true;
    }
}

bool expression_equal(const struct expression *left, const struct expression *right)
{
    if (!expression_same_node(left, right)) {
        return false;
    }
    for (uint32_t i = 0; i < left->arg_count; i++) {
        if (!expression_equal(left->args[i], right->args[i])) {
            return false;
        }
    }
    return true;
}

uint64_t expression_hash(const struct expression *expression)
{
    uint64_t hash = hash_uint64((uint64_t)expression->kind << 32 | expression->index);
    if (expression->kind == EXPRESSION_CONSTANT) {
        hash = hash_combine(hash, vector_hash_row(expression->constant, 0));
    } else if (expression->kind == EXPRESSION_CALL) {
        hash = hash_combine(hash, (uint64_t)(uintptr_t)expression->function);
    }
    for (uint32_t i = 0; i < expression->arg_count; i++) {
        hash = hash_combine(hash, expression_hash(expression->args[i]));
    }
    return hash;
}

static bool expression_all(const struct expression *expression, bool (*holds)(const struct expression *node))
{
    if (!holds(expression)) {
        return false;
    }
    for (uint32_t i = 0; i < expression->arg_count; i++) {
        if (!expression_all(expression->args[i], holds)) {
            return false;
        }
    }
    return true;
}

static bool node_is_deterministic(const struct expression *node)
{
    return !expression_has_trait(node, FUNCTION_VOLATILE | FUNCTION_DYNAMIC);
}

static bool node_is_constant(const struct expression *node)
{
    return node->kind != EXPRESSION_COLUMN && node->kind != EXPRESSION_OUTER && node->kind != EXPRESSION_SUBQUERY &&
           node_is_deterministic(node);
}

/* Between numbers a cast wraps, saturates or gives NULL; to text everything has a text. */
static bool cast_is_safe(const struct type *from, const struct type *to)
{
    if (from->kind == to->kind && from->child_count == 0) {
        return true;
    }
    bool from_number = type_is_numeric(from) || from->kind == TYPE_BOOLEAN;
    bool to_number = type_is_numeric(to) || to->kind == TYPE_BOOLEAN;
    bool from_time = from->kind == TYPE_DATE || type_is_timestamp(from);
    bool to_time = to->kind == TYPE_DATE || type_is_timestamp(to);
    return (from_number && to_number) || (from_time && to_time) || (type_is_text(to) && from->kind != TYPE_VARIANT);
}

static bool node_is_safe(const struct expression *node)
{
    switch (node->kind) {
    case EXPRESSION_CALL:
        return !expression_has_trait(node, FUNCTION_CAN_FAIL);
    case EXPRESSION_CAST:
        return node->try_cast || cast_is_safe(node->args[0]->type, node->type);
    case EXPRESSION_SUBQUERY:
        return node->subquery != SUBQUERY_SCALAR;
    default:
        return true;
    }
}

bool expression_is_constant(const struct expression *expression)
{
    return expression_all(expression, node_is_constant);
}

bool expression_is_deterministic(const struct expression *expression)
{
    return expression_all(expression, node_is_deterministic);
}

bool expression_can_fail(const struct expression *expression)
{
    return !expression_all(expression, node_is_safe);
}
