/* Operators: AND, OR, comparisons (ROW by ROW), BETWEEN, LIKE, IS, and those that are functions by their own name. */
#include "sql/binder_internal.h"

#include <string.h>

static enum status make_logic(struct binder *binder, enum expression_kind kind, const struct position *at,
                              const struct expression *const *args, uint32_t count, const struct expression **result, struct error *err)
{
    bool nullable = false;
    for (uint32_t i = 0; i < count; i++) {
        nullable = nullable || args[i]->type->nullable;
    }
    if (count == 1) {
        *result = args[0];
        return STATUS_OK;
    }
    TRY_ALLOC(*result, expression_make(binder->arena, kind, nullable ? &type_boolean : &type_boolean_not_null, args, count), err);
    (void)bind_at(*result, at);
    return STATUS_OK;
}

static enum status bind_logic(struct binder *binder, struct scope *scope, const struct ast_expression *ast, enum expression_kind kind,
                              const struct expression **expression, struct error *err)
{
    const struct expression **args;
    TRY(bind_scalars(binder, scope, ast->args, ast->arg_count, &args, err));
    for (uint32_t i = 0; i < ast->arg_count; i++) {
        if (args[i]->type->kind == TYPE_NULL) {
            TRY(bind_cast(binder, &args[i], &type_boolean, err));
        }
        if (args[i]->type->kind != TYPE_BOOLEAN) {
            return bind_refuse(&ast->args[i]->at, ERROR_TYPE_MISMATCH, err, "%s takes BOOLEAN values, not %s", ast->op,
                               bind_type_text(binder, args[i]->type));
        }
    }
    return make_logic(binder, kind, &ast->at, args, ast->arg_count, expression, err);
}

static bool is_row_constructor(const struct expression *expression)
{
    return expression->kind == EXPRESSION_CALL && expression->function != NULL && strcmp(expression->function->name, "ROW") == 0;
}

/* (a, b) = (c, d) as a = c AND b = d; <> as its opposite. */
static enum status compare_rows(struct binder *binder, const char *op, const struct position *at, const struct expression *left,
                                const struct expression *right, const struct expression **result, struct error *err)
{
    const struct expression **tests;
    if (left->arg_count != right->arg_count) {
        return bind_refuse(at, ERROR_TYPE_MISMATCH, err, "a ROW of %u fields cannot be compared with one of %u", left->arg_count,
                           right->arg_count);
    }
    TRY_ALLOC(tests, arena_alloc(binder->arena, (left->arg_count + 1) * sizeof *tests), err);
    for (uint32_t i = 0; i < left->arg_count; i++) {
        TRY(bind_comparison(binder, op, at, left->args[i], right->args[i], &tests[i], err));
    }
    bool any = strcmp(op, "<>") == 0 || strcmp(op, "IS DISTINCT FROM") == 0;
    return make_logic(binder, any ? EXPRESSION_OR : EXPRESSION_AND, at, tests, left->arg_count, result, err);
}

enum status bind_comparison(struct binder *binder, const char *op, const struct position *at, const struct expression *left,
                            const struct expression *right, const struct expression **result, struct error *err)
{
    bool equality = strcmp(op, "=") == 0 || strcmp(op, "<>") == 0 || strstr(op, "DISTINCT") != NULL;
    if (equality && is_row_constructor(left) && is_row_constructor(right) && left->arg_count > 0) {
        return compare_rows(binder, op, at, left, right, result, err);
    }
    const struct expression *args[] = {left, right};
    return bind_call(binder, op, at, args, 2, result, err);
}

static enum status bind_range(struct binder *binder, const struct position *at, const struct expression *value,
                              const struct expression *low, const struct expression *high, const struct expression **result,
                              struct error *err)
{
    const struct expression *tests[2];
    TRY(bind_comparison(binder, ">=", at, value, low, &tests[0], err));
    TRY(bind_comparison(binder, "<=", at, value, high, &tests[1], err));
    return make_logic(binder, EXPRESSION_AND, at, tests, 2, result, err);
}

static enum status bind_between(struct binder *binder, struct scope *scope, const struct ast_expression *ast,
                                const struct expression **expression, struct error *err)
{
    const struct expression **args, *tests[2];
    TRY(bind_scalars(binder, scope, ast->args, 3, &args, err));
    TRY(bind_range(binder, &ast->at, args[0], args[1], args[2], &tests[0], err));
    *expression = tests[0];
    if (ast->symmetric) {
        TRY(bind_range(binder, &ast->at, args[0], args[2], args[1], &tests[1], err));
        TRY(make_logic(binder, EXPRESSION_OR, &ast->at, tests, 2, expression, err));
    }
    return bind_not(binder, strncmp(ast->op, "NOT ", 4) == 0, &ast->at, expression, err);
}

static enum status bind_sign(struct binder *binder, struct scope *scope, const struct ast_expression *ast,
                             const struct expression **expression, struct error *err)
{
    const struct ast_expression *operand = ast->args[0];
    bool minus = ast->op[0] == '-';
    if (minus && (operand->kind == AST_NUMBER || operand->kind == AST_INTERVAL)) {
        return bind_literal(binder, operand, true, expression, err);
    }
    TRY(bind_scalar(binder, scope, operand, expression, err));
    if (minus) {
        return bind_call(binder, "NEGATE", &ast->at, expression, 1, expression, err);
    }
    const struct type *type = (*expression)->type;
    if (!type_is_numeric(type) && !type_is_interval(type) && type->kind != TYPE_NULL) {
        return bind_refuse(&ast->at, ERROR_TYPE_MISMATCH, err, "+ takes numbers and intervals, not %s", bind_type_text(binder, type));
    }
    return STATUS_OK;
}

struct period {
    const struct expression *start, *end;
};
/* The two ends of a period operand, in order; a second value that is an interval is added to the first. */
static enum status bind_period(struct binder *binder, struct scope *scope, const struct ast_expression *ast, struct period *period,
                               struct error *err)
{
    const struct expression **args, *test;
    if ((ast->kind != AST_PERIOD && ast->kind != AST_ROW) || ast->arg_count != 2) {
        if (ast->kind == AST_PERIOD || ast->kind == AST_ROW) {
            return bind_refuse(&ast->at, ERROR_INVALID_QUERY, err, "a period has a start and an end");
        }
        TRY(bind_scalar(binder, scope, ast, &period->start, err)); /* a point in time */
        period->end = period->start;
        return STATUS_OK;
    }
    TRY(bind_scalars(binder, scope, ast->args, 2, &args, err));
    if (type_is_interval(args[1]->type)) {
        TRY(bind_call(binder, "+", &ast->at, args, 2, &args[1], err));
    }
    TRY(bind_comparison(binder, "<=", &ast->at, args[0], args[1], &test, err));
    const struct expression *least[] = {test, args[0], args[1]}, *most[] = {test, args[1], args[0]};
    TRY(bind_case_of(binder, &ast->at, EXPRESSION_CASE, least, 3, &period->start, err));
    return bind_case_of(binder, &ast->at, EXPRESSION_CASE, most, 3, &period->end, err);
}

/* op, then up to two comparisons, ANDed: which end of the left, operator, which end of the right ('s' or 'e') */
static const struct period_operator {
    const char *op;
    char left1;
    const char *compare1;
    char right1, left2;
    const char *compare2;
    char right2;
} period_operators[] = {
    {"OVERLAPS", 's', "<=", 'e', 'e', ">=", 's'}, {"CONTAINS", 's', "<=", 's', 'e', ">=", 'e'}, {"EQUALS", 's', "=", 's', 'e', "=", 'e'},
    {"PRECEDES", 'e', "<=", 's', 0, NULL, 0},     {"SUCCEEDS", 's', ">=", 'e', 0, NULL, 0},
};

static enum status bind_period_operator(struct binder *binder, struct scope *scope, const struct ast_expression *ast,
                                        const struct period_operator *op, const struct expression **expression, struct error *err)
{
    struct period left, right;
    const struct expression *tests[2];
    TRY(bind_period(binder, scope, ast->args[0], &left, err));
    TRY(bind_period(binder, scope, ast->args[1], &right, err));
    TRY(bind_comparison(binder, op->compare1, &ast->at, op->left1 == 's' ? left.start : left.end,
                        op->right1 == 's' ? right.start : right.end, &tests[0], err));
    *expression = tests[0];
    if (op->compare2 == NULL) {
        return STATUS_OK;
    }
    TRY(bind_comparison(binder, op->compare2, &ast->at, op->left2 == 's' ? left.start : left.end,
                        op->right2 == 's' ? right.start : right.end, &tests[1], err));
    return make_logic(binder, EXPRESSION_AND, &ast->at, tests, 2, expression, err);
}

/* An operator that is a function: by its own name, or as the opposite of another ("NOT LIKE", "IS NOT JSON VALUE"). */
static enum status bind_named_operator(struct binder *binder, const struct ast_expression *ast, const struct expression **args,
                                       const struct expression **expression, struct error *err)
{
    const char *name = ast->op;
    bool negated = false;
    if (strcmp(name, "IS UNKNOWN") == 0 || strcmp(name, "IS NOT UNKNOWN") == 0) {
        name = strlen(name) > 10 ? "IS NOT NULL" : "IS NULL";
    } else if (strncmp(name, "NOT ", 4) == 0) {
        negated = true;
        name += 4;
    } else if (strncmp(name, "IS NOT ", 7) == 0 && function_find(text_from(name)) == NULL) {
        negated = true;
        TRY_ALLOC(name, arena_format(binder->arena, "IS %s", name + 7), err);
    }
    if (strncmp(name, "IS JSON", 7) == 0 && function_find(text_from(name)) == NULL) {
        name = "IS JSON";
    }
    if (function_find(text_from(name)) == NULL) {
        return bind_refuse(&ast->at, ERROR_NOT_SUPPORTED, err, "operator %s is not supported", ast->op);
    }
    TRY(bind_call(binder, name, &ast->at, args, ast->arg_count, expression, err));
    return bind_not(binder, negated, &ast->at, expression, err);
}

enum status bind_operator(struct binder *binder, struct scope *scope, const struct ast_expression *ast,
                          const struct expression **expression, struct error *err)
{
    const char *op = ast->op;
    if (strcmp(op, "AND") == 0 || strcmp(op, "OR") == 0) {
        return bind_logic(binder, scope, ast, op[0] == 'A' ? EXPRESSION_AND : EXPRESSION_OR, expression, err);
    }
    if (strstr(op, "BETWEEN") != NULL) {
        return bind_between(binder, scope, ast, expression, err);
    }
    if (ast->arg_count == 1 && (strcmp(op, "-") == 0 || strcmp(op, "+") == 0 || strcmp(op, "NEGATE") == 0)) {
        return bind_sign(binder, scope, ast, expression, err);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(period_operators); i++) {
        if (strcmp(op, period_operators[i].op) == 0) {
            return bind_period_operator(binder, scope, ast, &period_operators[i], expression, err);
        }
    }
    const struct expression **args;
    TRY(bind_scalars(binder, scope, ast->args, ast->arg_count, &args, err));
    static const char *const comparisons[] = {"=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"};
    for (size_t i = 0; i < ARRAY_LENGTH(comparisons); i++) {
        if (strcmp(op, comparisons[i]) == 0) {
            return bind_comparison(binder, op, &ast->at, args[0], args[1], expression, err);
        }
    }
    return bind_named_operator(binder, ast, args, expression, err);
}
