/* Conditions that NULLs cannot pass: what lets an outer join become an inner one. */
#include "functions/function.h"
#include "plan/rules.h"

struct side {
    uint32_t first, count;
};

static bool is_null_constant(const struct expression *expression)
{
    return expression->kind == EXPRESSION_CONSTANT && !vector_is_valid(expression->constant, 0);
}

/* Surely NULL when all columns of the side are. */
static bool becomes_null(const struct expression *expression, const struct side *side)
{
    bool any = false, all = expression->arg_count > 0;
    for (uint32_t i = 0; i < expression->arg_count; i++) {
        bool one = becomes_null(expression->args[i], side);
        any = any || one;
        all = all && one;
    }
    switch (expression->kind) {
    case EXPRESSION_COLUMN:
        return expression->index >= side->first && expression->index - side->first < side->count;
    case EXPRESSION_CONSTANT:
        return is_null_constant(expression);
    case EXPRESSION_CALL:
        return any && (expression->kernel->traits & FUNCTION_STRICT) != 0;
    case EXPRESSION_CAST:
    case EXPRESSION_FIELD:
        return any;
    case EXPRESSION_AND:
    case EXPRESSION_OR:
    case EXPRESSION_COALESCE:
        return all;
    case EXPRESSION_CASE:
    case EXPRESSION_OUTER:
    case EXPRESSION_SUBQUERY:
        break;
    }
    return false;
}

static bool never_true(const struct expression *condition, const struct side *side)
{
    if (becomes_null(condition, side)) {
        return true;
    }
    bool any = false, all = condition->arg_count > 0;
    if (condition->kind == EXPRESSION_AND || condition->kind == EXPRESSION_OR) {
        for (uint32_t i = 0; i < condition->arg_count; i++) {
            bool one = never_true(condition->args[i], side);
            any = any || one;
            all = all && one;
        }
        return condition->kind == EXPRESSION_AND ? any : all;
    }
    if (expression_is_call(condition, "IS NOT NULL")) {
        return becomes_null(condition->args[0], side);
    }
    return expression_is_call(condition, "IS TRUE") && never_true(condition->args[0], side);
}

bool condition_rejects_null(const struct expression *condition, uint32_t first, uint32_t count)
{
    struct side side = {first, count};
    return never_true(condition, &side);
}
