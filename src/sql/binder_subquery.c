/* Subqueries in expressions: kept as EXPRESSION_SUBQUERY; rules turn them into joins. */
#include "sql/binder_internal.h"

#include <string.h>

static enum status make_subquery(struct binder *binder, enum subquery_kind kind, const struct position *at, const struct type *type,
                                 struct relation *relation, const struct expression *const *args, uint32_t count,
                                 const struct expression **result, struct error *err)
{
    struct expression *node;
    TRY_ALLOC(node, arena_alloc(binder->arena, sizeof *node), err);
    *node = (struct expression){.kind = EXPRESSION_SUBQUERY,
                                .type = type,
                                .subquery = kind,
                                .relation = relation,
                                .args = args,
                                .arg_count = count,
                                .line = at->line,
                                .column = at->column};
    *result = node;
    return STATUS_OK;
}

/* Makes the left values and the subquery's columns have the same types, pairwise. */
static enum status match_types(struct binder *binder, const struct position *at, const struct expression **args, struct relation **relation,
                               struct error *err)
{
    uint32_t count = (*relation)->schema.count;
    const struct type **types;
    TRY_ALLOC(types, arena_alloc(binder->arena, (count + 1) * sizeof *types), err);
    for (uint32_t i = 0; i < count; i++) {
        const struct type *right = (*relation)->schema.columns[i].type;
        types[i] = type_common(binder->arena, args[i]->type, right);
        if (types[i] == NULL) {
            return bind_refuse(at, ERROR_TYPE_MISMATCH, err,
                               "a value of type %s cannot be compared with the subquery's column '%s' of type %s",
                               bind_type_text(binder, args[i]->type), (*relation)->schema.columns[i].name, bind_type_text(binder, right));
        }
        TRY(bind_cast(binder, &args[i], types[i], err));
    }
    return bind_cast_columns(binder, types, relation, err);
}

static enum status bind_in(struct binder *binder, struct scope *scope, const struct ast_expression *ast, struct relation *relation,
                           bool negated, const struct expression **expression, struct error *err)
{
    const struct ast_expression *left = ast->args[0];
    const struct expression **args;
    uint32_t count = left->kind == AST_ROW ? left->arg_count : 1;
    if (left->kind == AST_ROW && !(relation->schema.count == 1 && count != 1)) {
        TRY(bind_scalars(binder, scope, left->args, count, &args, err));
    } else {
        count = 1;
        TRY(bind_scalars(binder, scope, ast->args, 1, &args, err));
    }
    if (count != relation->schema.count) {
        return bind_refuse(&ast->at, ERROR_INVALID_QUERY, err, "%u values are compared with a subquery of %u columns", count,
                           relation->schema.count);
    }
    TRY(match_types(binder, &ast->at, args, &relation, err));
    bool nullable = false;
    for (uint32_t i = 0; i < count; i++) {
        nullable = nullable || args[i]->type->nullable || relation->schema.columns[i].type->nullable;
    }
    TRY(make_subquery(binder, SUBQUERY_IN, &ast->at, nullable ? &type_boolean : &type_boolean_not_null, relation, args, count, expression,
                      err));
    return bind_not(binder, negated, &ast->at, expression, err);
}

/* = ANY is IN, <> ALL is NOT IN. */
static enum status bind_quantified(struct binder *binder, struct scope *scope, const struct ast_expression *ast, struct relation *relation,
                                   const struct expression **expression, struct error *err)
{
    if (!ast->all && strcmp(ast->op, "=") == 0) {
        return bind_in(binder, scope, ast, relation, false, expression, err);
    }
    if (ast->all && strcmp(ast->op, "<>") == 0) {
        return bind_in(binder, scope, ast, relation, true, expression, err);
    }
    return bind_refuse(&ast->at, ERROR_NOT_SUPPORTED, err, "%s %s with a subquery is not supported; compare with its MIN or MAX", ast->op,
                       ast->all ? "ALL" : "ANY");
}

enum status bind_subquery(struct binder *binder, struct scope *scope, const struct ast_expression *ast,
                          const struct expression **expression, struct error *err)
{
    struct relation *relation;
    TRY(bind_whole_query(binder, scope, ast->subquery, &relation, err));
    switch (ast->kind) {
    case AST_EXISTS:
        TRY(make_subquery(binder, SUBQUERY_EXISTS, &ast->at, &type_boolean_not_null, relation, NULL, 0, expression, err));
        return bind_not(binder, ast->negated, &ast->at, expression, err);
    case AST_IN:
        return bind_in(binder, scope, ast, relation, ast->negated, expression, err);
    case AST_QUANTIFIED:
        return bind_quantified(binder, scope, ast, relation, expression, err);
    default:
        break;
    }
    if (relation->schema.count != 1) {
        return bind_refuse(&ast->at, ERROR_INVALID_QUERY, err, "a subquery used as a value must have one column, not %u",
                           relation->schema.count);
    }
    const struct type *type;
    TRY_ALLOC(type, bind_nullable(binder, relation->schema.columns[0].type), err);
    return make_subquery(binder, SUBQUERY_SCALAR, &ast->at, type, relation, NULL, 0, expression, err);
}
