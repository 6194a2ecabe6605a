/* Expressions by kind: names, literals, CASE, CAST, IN, constructors. Operators and calls have files of their own. */
#include "sql/binder_internal.h"

#include <string.h>

#include "data/cast.h"

enum status bind_scalars(struct binder *binder, struct scope *scope, const struct ast_expression *const *asts, uint32_t count,
                         const struct expression ***expressions, struct error *err)
{
    TRY_ALLOC(*expressions, arena_alloc(binder->arena, (count + 1) * sizeof **expressions), err);
    for (uint32_t i = 0; i < count; i++) {
        TRY(bind_scalar(binder, scope, asts[i], &(*expressions)[i], err));
    }
    return STATUS_OK;
}

enum status bind_condition(struct binder *binder, struct scope *scope, const struct ast_expression *ast,
                           const struct expression **expression, struct error *err)
{
    TRY(bind_scalar(binder, scope, ast, expression, err));
    if ((*expression)->type->kind == TYPE_NULL) {
        return bind_cast(binder, expression, &type_boolean, err);
    }
    if ((*expression)->type->kind != TYPE_BOOLEAN) {
        return bind_refuse(&ast->at, ERROR_TYPE_MISMATCH, err, "a condition of %s must be BOOLEAN, not %s",
                           scope->clause != NULL ? scope->clause : "the query", bind_type_text(binder, (*expression)->type));
    }
    return STATUS_OK;
}

/* Gives all values (every second argument of CASE and its last, all of COALESCE) one type. */
enum status bind_case_of(struct binder *binder, const struct position *at, enum expression_kind kind, const struct expression **args,
                         uint32_t count, const struct expression **result, struct error *err)
{
    bool of_case = kind == EXPRESSION_CASE, nullable = !of_case;
    const struct type *type = NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (of_case && i % 2 == 0 && i + 1 < count) {
            continue; /* a condition */
        }
        const struct type *common = type == NULL ? args[i]->type : type_common(binder->arena, type, args[i]->type);
        if (common == NULL) {
            return bind_refuse(at, ERROR_TYPE_MISMATCH, err, "%s has values of types %s and %s, which have no common type",
                               of_case ? "CASE" : "COALESCE", bind_type_text(binder, type), bind_type_text(binder, args[i]->type));
        }
        type = common;
        nullable = of_case ? nullable || args[i]->type->nullable : nullable && args[i]->type->nullable;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!of_case || i % 2 == 1 || i + 1 == count) {
            TRY(bind_cast(binder, &args[i], type, err));
        }
    }
    TRY_ALLOC(type, type_with_nullable(binder->arena, type, nullable), err);
    TRY_ALLOC(*result, expression_make(binder->arena, kind, type, args, count), err);
    (void)bind_at(*result, at);
    return STATUS_OK;
}

static enum status bind_case(struct binder *binder, struct scope *scope, const struct ast_expression *ast,
                             const struct expression **expression, struct error *err)
{
    const struct expression **args, *operand = NULL;
    TRY_ALLOC(args, arena_alloc(binder->arena, (ast->arg_count + 1) * sizeof *args), err);
    if (ast->operand != NULL) {
        TRY(bind_scalar(binder, scope, ast->operand, &operand, err));
    }
    for (uint32_t i = 0; i < ast->arg_count; i++) {
        if (operand == NULL && i % 2 == 0) {
            TRY(bind_condition(binder, scope, ast->args[i], &args[i], err));
        } else if (i % 2 == 1) {
            TRY(bind_scalar(binder, scope, ast->args[i], &args[i], err));
        } else {
            const struct expression *value;
            TRY(bind_scalar(binder, scope, ast->args[i], &value, err));
            TRY(bind_comparison(binder, "=", &ast->args[i]->at, operand, value, &args[i], err));
        }
    }
    if (ast->else_value != NULL) {
        TRY(bind_scalar(binder, scope, ast->else_value, &args[ast->arg_count], err));
    } else {
        TRY_ALLOC(args[ast->arg_count], expression_null(binder->arena, &type_null), err);
    }
    return bind_case_of(binder, &ast->at, EXPRESSION_CASE, args, ast->arg_count + 1, expression, err);
}

static enum status bind_cast_call(struct binder *binder, struct scope *scope, const struct ast_expression *ast,
                                  const struct expression **expression, struct error *err)
{
    const struct expression *value;
    const struct type *type;
    TRY(bind_scalar(binder, scope, ast->args[0], &value, err));
    TRY(bind_type(binder->arena, ast->type, &type, err));
    bool nullable = value->type->nullable || ast->try_cast;
    TRY_ALLOC(type, type_with_nullable(binder->arena, type, nullable), err);
    if (value->type->kind == TYPE_NULL) {
        TRY_ALLOC(*expression, expression_null(binder->arena, type), err);
    } else if (cast_find_rule(value->type, type) == CAST_NEVER) {
        return bind_refuse(&ast->at, ERROR_TYPE_MISMATCH, err, "a value of type %s cannot be cast to %s",
                           bind_type_text(binder, value->type), bind_type_text(binder, type));
    } else if (type_equal(value->type, type) && !type_is_timestamp(type)) { /* a CAST of a time attribute takes that away */
        *expression = value;
    } else {
        TRY_ALLOC(*expression, expression_make(binder->arena, EXPRESSION_CAST, type, &value, 1), err);
        ((struct expression *)*expression)->try_cast = ast->try_cast;
    }
    (void)bind_at(*expression, &ast->at);
    return STATUS_OK;
}

static enum status bind_in_list(struct binder *binder, struct scope *scope, const struct ast_expression *ast,
                                const struct expression **expression, struct error *err)
{
    const struct expression **args, **tests;
    uint32_t count = ast->arg_count - 1;
    TRY(bind_scalars(binder, scope, ast->args, ast->arg_count, &args, err));
    TRY_ALLOC(tests, arena_alloc(binder->arena, (count + 1) * sizeof *tests), err);
    bool nullable = false;
    for (uint32_t i = 0; i < count; i++) {
        const char *op = ast->kind == AST_QUANTIFIED ? ast->op : "=";
        TRY(bind_comparison(binder, op, &ast->args[i + 1]->at, args[0], args[i + 1], &tests[i], err));
        nullable = nullable || tests[i]->type->nullable;
    }
    *expression = tests[0];
    if (count > 1) {
        enum expression_kind kind = ast->kind == AST_QUANTIFIED && ast->all ? EXPRESSION_AND : EXPRESSION_OR;
        TRY_ALLOC(*expression, expression_make(binder->arena, kind, nullable ? &type_boolean : &type_boolean_not_null, tests, count), err);
        (void)bind_at(*expression, &ast->at);
    }
    return bind_not(binder, ast->negated, &ast->at, expression, err);
}

/* Named arguments (JSON clauses) become three plain ones: the name, its text, its value or a NULL of its type. */
static enum status bind_named_argument(struct binder *binder, struct scope *scope, const struct ast_expression *ast,
                                       const struct expression **args, struct error *err)
{
    TRY_ALLOC(args[0], expression_string(binder->arena, text_from(ast->name.parts[0])), err);
    TRY_ALLOC(args[1], expression_string(binder->arena, ast->text), err);
    if (ast->arg_count > 0) {
        return bind_scalar(binder, scope, ast->args[0], &args[2], err);
    }
    const struct type *type = &type_null;
    if (ast->type != NULL) {
        TRY(bind_type(binder->arena, ast->type, &type, err));
        TRY_ALLOC(type, bind_nullable(binder, type), err);
    }
    TRY_ALLOC(args[2], expression_null(binder->arena, type), err);
    return STATUS_OK;
}

/* The arguments of a function, with the unit and the mode of special syntax where functions expect them. */
static enum status bind_arguments(struct binder *binder, struct scope *scope, const struct ast_expression *ast,
                                  const struct expression ***args, uint32_t *count, struct error *err)
{
    const struct expression **list;
    uint32_t at = 0;
    TRY_ALLOC(list, arena_alloc(binder->arena, (3 * ast->arg_count + 4) * sizeof *list), err);
    bool trim = strcmp(ast->function, "TRIM") == 0;
    bool unit_last = strcmp(ast->function, "FLOOR") == 0 || strcmp(ast->function, "CEIL") == 0 || strcmp(ast->function, "CEILING") == 0;
    if (ast->unit_from != NULL && !unit_last) {
        TRY_ALLOC(list[at++], expression_string(binder->arena, text_from(ast->unit_from)), err);
    }
    for (uint32_t i = 0; i < ast->arg_count; i++) {
        if (ast->args[i]->kind == AST_NAMED_ARG) {
            TRY(bind_named_argument(binder, scope, ast->args[i], list + at, err));
            at += 3;
        } else {
            TRY(bind_scalar(binder, scope, ast->args[i], &list[at++], err));
        }
    }
    if (ast->unit_from != NULL && unit_last) {
        TRY_ALLOC(list[at++], expression_string(binder->arena, text_from(ast->unit_from)), err);
    }
    if (trim && ast->unit_from != NULL && ast->arg_count == 2) { /* s, c -> c, s */
        const struct expression *text = list[1];
        list[1] = list[2];
        list[2] = text;
    } else if (trim && ast->arg_count == 1) { /* TRIM(s), TRIM(LEADING FROM s) */
        list[2] = list[at - 1];
        TRY_ALLOC(list[0], expression_string(binder->arena, text_from(ast->unit_from != NULL ? ast->unit_from : "BOTH")), err);
        TRY_ALLOC(list[1], expression_string(binder->arena, TEXT(" ")), err);
        at = 3;
    }
    *args = list;
    *count = at;
    return STATUS_OK;
}

static enum status refuse_function(const struct ast_expression *ast, struct error *err)
{
    uint32_t count = 0, aggregate_count = 0, total = 0;
    const struct function *const *functions = function_list(&count);
    const struct aggregate_function *const *aggregates = aggregate_list(&aggregate_count);
    const char *names[1000];
    for (uint32_t i = 0; i < count && total < ARRAY_LENGTH(names); i++) {
        names[total++] = functions[i]->name;
    }
    for (uint32_t i = 0; i < aggregate_count && total < ARRAY_LENGTH(names); i++) {
        names[total++] = aggregates[i]->name;
    }
    const char *nearest = text_nearest(ast->function, names, total);
    return bind_refuse(&ast->at, ERROR_UNKNOWN_FUNCTION, err, "there is no function %s%s%s%s", ast->function,
                       nearest != NULL ? "; did you mean " : "", nearest != NULL ? nearest : "", nearest != NULL ? "?" : "");
}

static enum status bind_coalesce(struct binder *binder, struct scope *scope, const struct ast_expression *ast,
                                 const struct expression **expression, struct error *err)
{
    const struct expression **args;
    if (ast->arg_count == 0) {
        return bind_refuse(&ast->at, ERROR_WRONG_ARGUMENTS, err, "COALESCE needs at least one argument");
    }
    TRY(bind_scalars(binder, scope, ast->args, ast->arg_count, &args, err));
    if (ast->arg_count == 1) {
        *expression = args[0];
        return STATUS_OK;
    }
    return bind_case_of(binder, &ast->at, EXPRESSION_COALESCE, args, ast->arg_count, expression, err);
}

static enum status check_plain_call(const struct ast_expression *ast, struct error *err)
{
    const char *clause = ast->over != NULL             ? "OVER"
                         : ast->filter != NULL         ? "FILTER"
                         : ast->within_group_count > 0 ? "ORDER BY"
                         : ast->distinct               ? "DISTINCT"
                         : ast->star_argument          ? "*"
                         : ast->ignore_nulls           ? "IGNORE NULLS"
                                                       : NULL;
    if (clause != NULL) {
        return bind_refuse(&ast->at, ERROR_WRONG_ARGUMENTS, err, "%s takes no %s: it is not an aggregate function", ast->function, clause);
    }
    return STATUS_OK;
}

enum status bind_function_call(struct binder *binder, struct scope *scope, const struct ast_expression *ast,
                               const struct expression **expression, struct error *err)
{
    if (ast->over != NULL || over_function_is(ast->function)) {
        return bind_over(binder, scope, ast, expression, err);
    }
    if (legacy_auxiliary_is(ast)) {
        return bind_legacy_auxiliary(binder, scope, ast, expression, err);
    }
    if (strcmp(ast->function, "GROUPING") == 0 || strcmp(ast->function, "GROUPING_ID") == 0 || strcmp(ast->function, "GROUP_ID") == 0) {
        return bind_grouping(binder, scope, ast, expression, err);
    }
    const struct aggregate_function *aggregate = aggregate_find(text_from(ast->function));
    if (aggregate != NULL) {
        return bind_aggregate(binder, scope, ast, aggregate, expression, err);
    }
    TRY(check_plain_call(ast, err));
    if (strcmp(ast->function, "COALESCE") == 0) {
        return bind_coalesce(binder, scope, ast, expression, err);
    }
    const struct function *function = function_find(text_from(ast->function));
    if (function == NULL || function->bind == NULL) {
        return refuse_function(ast, err);
    }
    const struct expression **args = NULL;
    uint32_t count = 0;
    TRY(bind_arguments(binder, scope, ast, &args, &count, err));
    err->line = 0;
    TRY(bind_place(function_call(binder->arena, binder->context->evaluation, function, args, count, expression, err), &ast->at, err));
    (void)bind_at(*expression, &ast->at);
    return STATUS_OK;
}

static enum status bind_row(struct binder *binder, struct scope *scope, const struct ast_expression *ast,
                            const struct expression **expression, struct error *err)
{
    static const char *const calls[] = {"ROW", "ARRAY", "MAP"};
    const struct expression **args;
    TRY(bind_scalars(binder, scope, ast->args, ast->arg_count, &args, err));
    return bind_call(binder, calls[ast->kind - AST_ROW], &ast->at, args, ast->arg_count, expression, err);
}

static enum status bind_index(struct binder *binder, struct scope *scope, const struct ast_expression *ast,
                              const struct expression **expression, struct error *err)
{
    const struct expression **args;
    TRY(bind_scalars(binder, scope, ast->args, 2, &args, err));
    if (args[0]->type->kind == TYPE_ROW && ast->args[1]->kind == AST_STRING) {
        char *field;
        TRY_ALLOC(field, text_to_arena(binder->arena, ast->args[1]->text), err);
        return bind_field(binder, args[0], field, &ast->args[1]->at, expression, err);
    }
    return bind_call(binder, "ITEM", &ast->at, args, 2, expression, err);
}

static enum status refuse_kind(const struct ast_expression *ast, struct error *err)
{
    switch (ast->kind) {
    case AST_STAR:
        return bind_refuse(&ast->at, ERROR_INVALID_QUERY, err, "'*' can only stand alone in a SELECT list, or in COUNT(*)");
    case AST_DEFAULT:
        return bind_refuse(&ast->at, ERROR_NOT_SUPPORTED, err, "DEFAULT is not supported here");
    case AST_NAMED_ARG:
        return bind_refuse(&ast->at, ERROR_WRONG_ARGUMENTS, err, "named argument '%s' is not supported here", ast->name.parts[0]);
    case AST_DESCRIPTOR:
        return bind_refuse(&ast->at, ERROR_WRONG_ARGUMENTS, err, "DESCRIPTOR is an argument of table functions only");
    case AST_TABLE_ARG:
        return bind_refuse(&ast->at, ERROR_WRONG_ARGUMENTS, err, "TABLE is an argument of table functions only");
    case AST_PERIOD:
        return bind_refuse(&ast->at, ERROR_INVALID_QUERY, err, "a period is only an operand of OVERLAPS and its like");
    default:
        return bind_refuse(&ast->at, ERROR_NOT_SUPPORTED, err, "this kind of expression is not supported");
    }
}

static enum status bind_by_kind(struct binder *binder, struct scope *scope, const struct ast_expression *ast,
                                const struct expression **expression, struct error *err)
{
    switch (ast->kind) {
    case AST_COLUMN:
        return bind_name(binder, scope, &ast->name, expression, err);
    case AST_NULL:
    case AST_BOOLEAN:
    case AST_NUMBER:
    case AST_STRING:
    case AST_BINARY:
    case AST_DATE:
    case AST_TIME:
    case AST_TIMESTAMP:
    case AST_INTERVAL:
        return bind_literal(binder, ast, false, expression, err);
    case AST_CALL:
        return bind_function_call(binder, scope, ast, expression, err);
    case AST_OPERATOR:
        return bind_operator(binder, scope, ast, expression, err);
    case AST_CASE:
        return bind_case(binder, scope, ast, expression, err);
    case AST_CAST:
        return bind_cast_call(binder, scope, ast, expression, err);
    case AST_IN:
    case AST_QUANTIFIED:
        return ast->subquery == NULL ? bind_in_list(binder, scope, ast, expression, err)
                                     : bind_subquery(binder, scope, ast, expression, err);
    case AST_EXISTS:
    case AST_SUBQUERY:
        return bind_subquery(binder, scope, ast, expression, err);
    case AST_ROW:
    case AST_ARRAY:
    case AST_MAP:
        return bind_row(binder, scope, ast, expression, err);
    case AST_INDEX:
        return bind_index(binder, scope, ast, expression, err);
    case AST_FIELD:
        TRY(bind_scalar(binder, scope, ast->args[0], expression, err));
        return bind_field(binder, *expression, ast->name.parts[0], &ast->name.at, expression, err);
    default:
        return refuse_kind(ast, err);
    }
}

enum status bind_scalar(struct binder *binder, struct scope *scope, const struct ast_expression *ast, const struct expression **expression,
                        struct error *err)
{
    TRY(cancel_check(binder->context->cancelled, err));
    if (++binder->depth > BINDER_DEPTH_MAX) {
        return bind_refuse(&ast->at, ERROR_TOO_DEEP, err, "the query nests more than %d levels", BINDER_DEPTH_MAX);
    }
    TRY(bind_by_kind(binder, scope, ast, expression, err));
    binder->depth--;
    return STATUS_OK;
}
