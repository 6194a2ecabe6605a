/* Constant folding: constant subtrees are computed once, TRUE conditions vanish. */
#include "functions/program.h"
#include "plan/rules.h"

static enum status fold_one(const struct expression *expression, void *context, const struct expression **changed, struct error *err)
{
    const struct rewrite *rewrite = context;
    return program_fold(rewrite->arena, rewrite->evaluation, expression, changed, err);
}

static bool is_true(const struct expression *condition)
{
    return condition != NULL && condition->kind == EXPRESSION_CONSTANT && vector_is_valid(condition->constant, 0) &&
           vector_bool(condition->constant)[0];
}

static enum status fold_relation(struct rewrite *rewrite, struct relation *relation, void *context, struct relation **changed,
                                 struct error *err)
{
    (void)context;
    TRY(relation_change_expressions(rewrite->arena, relation, fold_one, rewrite, changed, err));
    if (relation->kind == RELATION_FILTER && is_true((*changed)->filter.condition)) {
        *changed = relation->inputs[0];
    }
    if (relation->kind == RELATION_JOIN && is_true((*changed)->join.condition)) {
        (*changed)->join.condition = NULL;
    }
    return STATUS_OK;
}

enum status rule_fold(struct rewrite *rewrite, struct error *err)
{
    return rewrite_bottom_up(rewrite, fold_relation, NULL, err);
}
