/* Subqueries become joins: EXISTS and IN at the top of a filter semi and anti joins, all others left joins with their value.
 *
 * Innermost first. A subquery's relation is rewritten before it is attached; what it reads from further out is then one level nearer.
 */
#include <string.h>

#include "plan/rules/subqueries.h"

struct decorrelation {
    struct rewrite *rewrite;
    struct pointer_map done;
};

static enum status decorrelate(struct decorrelation *self, struct relation *relation, struct relation **result, struct error *err);

struct inner {
    struct decorrelation *self;
    enum status status;
    struct error *err;
};

/* The subquery's relation, and subqueries in its left sides, first. */
static const struct expression *inner_change(const struct expression *node, void *context, bool *failed)
{
    struct inner *inner = context;
    if (node->kind != EXPRESSION_SUBQUERY) {
        return NULL;
    }
    struct expression *copy = arena_copy(inner->self->rewrite->arena, node, sizeof *node);
    if (copy != NULL) {
        inner->status = decorrelate(inner->self, node->relation, &copy->relation, inner->err);
    }
    *failed = *failed || copy == NULL || inner->status != STATUS_OK;
    return copy;
}

static enum status change_inner(const struct expression *expression, void *context, const struct expression **changed, struct error *err)
{
    struct decorrelation *self = context;
    struct inner inner = {self, STATUS_OK, err};
    struct expression_change change = {self->rewrite->arena, inner_change, &inner, false};
    *changed = expression_apply(&change, expression);
    TRY(inner.status);
    return change.failed ? error_set(err, ERROR_BUDGET_SPENT, "no room for a rewritten expression") : STATUS_OK;
}

static enum status keep_columns(struct rewrite *rewrite, struct relation *relation, uint32_t count, struct relation **result,
                                struct error *err)
{
    uint32_t *keep;
    *result = relation;
    if (relation->schema.count == count) {
        return STATUS_OK;
    }
    TRY_ALLOC(keep, arena_alloc(rewrite->arena, (count + 1) * sizeof *keep), err);
    for (uint32_t i = 0; i < count; i++) {
        keep[i] = i;
    }
    TRY_ALLOC(*result, relation_select(rewrite->arena, relation, keep, count), err);
    return STATUS_OK;
}

/* EXISTS, IN, or NOT of them. */
static const struct expression *semi_subquery(const struct expression *condition, bool *negated)
{
    *negated = false;
    while (expression_is_call(condition, "NOT")) {
        *negated = !*negated;
        condition = condition->args[0];
    }
    bool found = condition->kind == EXPRESSION_SUBQUERY && condition->subquery != SUBQUERY_SCALAR;
    for (uint32_t i = 0; found && i < condition->arg_count; i++) {
        found = !expression_has_subquery(condition->args[i]);
    }
    return found ? condition : NULL;
}

/* One conjunct that holds a subquery, over *relation, whose first columns stay. */
static enum status apply_condition(struct rewrite *rewrite, struct relation **relation, const struct expression *condition,
                                   struct error *err)
{
    bool negated;
    const struct expression *subquery = semi_subquery(condition, &negated);
    if (subquery != NULL) {
        return attach_semi(rewrite, relation, subquery, negated, err);
    }
    TRY(attach_all(rewrite, relation, condition, &condition, err));
    TRY_ALLOC(*relation, relation_filter(rewrite->arena, *relation, condition), err);
    return STATUS_OK;
}

static enum status split_subqueries(struct rewrite *rewrite, const struct expression *condition, struct conditions *plain,
                                    struct conditions *held, struct error *err)
{
    struct conditions all = {.arena = rewrite->arena};
    *plain = *held = (struct conditions){.arena = rewrite->arena};
    TRY(conditions_split(&all, condition, err));
    for (uint32_t i = 0; i < all.count; i++) {
        TRY(conditions_add(expression_has_subquery(all.items[i]) ? held : plain, all.items[i], err));
    }
    return STATUS_OK;
}

static enum status decorrelate_filter(struct rewrite *rewrite, struct relation *relation, struct relation **result, struct error *err)
{
    struct conditions plain, held;
    const struct expression *condition;
    struct relation *at = relation->inputs[0];
    TRY(split_subqueries(rewrite, relation->filter.condition, &plain, &held, err));
    TRY(conditions_join(&plain, &condition, err));
    if (condition != NULL) {
        TRY_ALLOC(at, relation_filter(rewrite->arena, at, condition), err);
    }
    for (uint32_t i = 0; i < held.count; i++) {
        TRY(apply_condition(rewrite, &at, held.items[i], err));
    }
    return keep_columns(rewrite, at, relation->schema.count, result, err);
}

static enum status decorrelate_project(struct rewrite *rewrite, struct relation *relation, struct relation **result, struct error *err)
{
    const struct expression **expressions;
    struct relation *at = relation->inputs[0];
    uint32_t count = relation->schema.count;
    TRY_ALLOC(expressions, arena_alloc(rewrite->arena, (count + 1) * sizeof *expressions), err);
    for (uint32_t i = 0; i < count; i++) {
        TRY(attach_all(rewrite, &at, relation->project.expressions[i], &expressions[i], err));
    }
    TRY_ALLOC(*result, relation_project(rewrite->arena, at, count, expressions, relation->schema.columns), err);
    return STATUS_OK;
}

/* ON with subqueries: an inner join is a filter over all pairs; of an outer one the condition may be about its inner side alone. */
static enum status decorrelate_join(struct rewrite *rewrite, struct relation *relation, struct relation **result, struct error *err)
{
    struct conditions plain, held;
    struct relation *copy;
    uint32_t left = relation->inputs[0]->schema.count, right = relation->inputs[1]->schema.count;
    enum join_kind kind = relation->join.kind;
    TRY(split_subqueries(rewrite, relation->join.condition, &plain, &held, err));
    TRY_ALLOC(copy, relation_copy(rewrite->arena, relation), err);
    TRY(conditions_join(&plain, &copy->join.condition, err));
    *result = copy;
    for (uint32_t i = 0; i < held.count; i++) {
        if (kind == JOIN_INNER && !relation->join.temporal) {
            TRY(apply_condition(rewrite, result, held.items[i], err));
            continue;
        }
        if (kind != JOIN_LEFT || expression_reads(held.items[i], 0, left)) {
            return error_set_at(err, ERROR_NOT_SUPPORTED, held.items[i]->line, held.items[i]->column,
                                "a subquery in the ON condition of an outer join, over columns of the side that is kept");
        }
        const struct expression *own;
        TRY_ALLOC(own, expression_shift(rewrite->arena, held.items[i], -(int32_t)left), err);
        TRY(apply_condition(rewrite, &copy->inputs[1], own, err));
        TRY(keep_columns(rewrite, copy->inputs[1], right, &copy->inputs[1], err));
    }
    return keep_columns(rewrite, *result, relation->schema.count, result, err);
}

static void has_subquery_visit(const struct expression *expression, void *context)
{
    bool *found = context;
    *found = *found || expression_has_subquery(expression);
}

/* Arguments of calls that hold subqueries become columns first. */
struct arguments {
    struct rewrite *rewrite;
    struct relation *input;
};

static enum status argument_change(const struct expression *expression, void *context, const struct expression **changed, struct error *err)
{
    struct arguments *arguments = context;
    return attach_all(arguments->rewrite, &arguments->input, expression, changed, err);
}

static enum status decorrelate_aggregate(struct rewrite *rewrite, struct relation *relation, struct relation **result, struct error *err)
{
    struct arguments arguments = {rewrite, relation->inputs[0]};
    TRY(relation_change_expressions(rewrite->arena, relation, argument_change, &arguments, result, err));
    (*result)->inputs[0] = arguments.input;
    return STATUS_OK;
}

static enum status decorrelate_own(struct rewrite *rewrite, struct relation *relation, struct relation **result, struct error *err)
{
    bool found = false;
    relation_walk_expressions(relation, has_subquery_visit, &found);
    *result = relation;
    if (!found) {
        return STATUS_OK;
    }
    switch (relation->kind) {
    case RELATION_FILTER:
        return decorrelate_filter(rewrite, relation, result, err);
    case RELATION_PROJECT:
        return decorrelate_project(rewrite, relation, result, err);
    case RELATION_JOIN:
        return decorrelate_join(rewrite, relation, result, err);
    case RELATION_AGGREGATE:
        return decorrelate_aggregate(rewrite, relation, result, err);
    default:
        return error_set_at(err, ERROR_NOT_SUPPORTED, relation->line, relation->column, "a subquery in this place");
    }
}

static enum status decorrelate(struct decorrelation *self, struct relation *relation, struct relation **result, struct error *err)
{
    *result = pointer_map_get(&self->done, relation);
    if (*result != NULL) {
        return STATUS_OK;
    }
    struct relation *copy;
    TRY(rewrite_step(self->rewrite, err));
    TRY(relation_change_expressions(self->rewrite->arena, relation, change_inner, self, &copy, err));
    for (uint32_t i = 0; i < relation->input_count; i++) {
        TRY(decorrelate(self, relation->inputs[i], &copy->inputs[i], err));
    }
    if (copy->kind == RELATION_JOIN && copy->join.lateral) {
        copy->join.lateral = false;
        TRY(attach_lateral(self->rewrite, copy, &copy, err));
    }
    TRY(decorrelate_own(self->rewrite, copy, result, err));
    return pointer_map_put(&self->done, relation, *result, err);
}

enum status rule_decorrelate(struct rewrite *rewrite, struct error *err)
{
    struct decorrelation self = {rewrite, {.arena = rewrite->arena}};
    for (uint32_t i = 0; i < rewrite->root_count; i++) {
        TRY(decorrelate(&self, rewrite->roots[i], &rewrite->roots[i], err));
    }
    return STATUS_OK;
}
