/* Joining a subquery to the relation whose expression holds it. */
#include <string.h>

#include "functions/aggregate.h"
#include "functions/function.h"
#include "plan/rules/subqueries.h"

struct attaching {
    struct arena *arena;
    uint32_t shift;
};

static const struct expression *attach_change(const struct expression *node, void *context, bool *failed)
{
    const struct attaching *attaching = context;
    const struct expression *result = NULL;
    if (node->kind == EXPRESSION_COLUMN) {
        result = expression_column(attaching->arena, node->index + attaching->shift, node->type);
    } else if (node->kind == EXPRESSION_OUTER && node->depth == 1) {
        result = expression_column(attaching->arena, node->index, node->type);
    } else if (node->kind == EXPRESSION_OUTER) {
        struct expression *nearer = arena_copy(attaching->arena, node, sizeof *node);
        if (nearer != NULL) {
            nearer->depth--;
        }
        result = nearer;
    } else {
        return NULL;
    }
    *failed = *failed || result == NULL;
    return result;
}

enum status expression_attach(struct rewrite *rewrite, const struct expression *expression, uint32_t shift,
                              const struct expression **result, struct error *err)
{
    struct attaching attaching = {rewrite->arena, shift};
    struct expression_change change = {rewrite->arena, attach_change, &attaching, false};
    *result = expression_apply(&change, expression);
    return change.failed ? error_set(err, ERROR_BUDGET_SPENT, "no room for a rewritten expression") : STATUS_OK;
}

static enum status lower_one(const struct expression *expression, void *context, const struct expression **changed, struct error *err)
{
    return expression_attach(context, expression, 0, changed, err);
}

enum status relation_lower(struct rewrite *rewrite, struct relation *relation, struct relation **result, struct error *err)
{
    bool open;
    *result = relation;
    TRY(relation_has_outer(rewrite, relation, &open, err));
    if (!open) {
        return STATUS_OK;
    }
    struct relation *copy;
    TRY(rewrite_step(rewrite, err));
    TRY(relation_change_expressions(rewrite->arena, relation, lower_one, rewrite, &copy, err));
    for (uint32_t i = 0; i < relation->input_count; i++) {
        TRY(relation_lower(rewrite, relation->inputs[i], &copy->inputs[i], err));
    }
    *result = copy;
    return STATUS_OK;
}

struct outer_columns {
    struct column_set set;
};

static bool outer_column_visit(const struct expression *node, void *context)
{
    struct outer_columns *found = context;
    if (node->kind == EXPRESSION_OUTER && node->depth == 1 && node->index < found->set.count) {
        column_set_add(&found->set, node->index);
    }
    return true;
}

static void outer_columns_of(const struct expression *expression, void *context)
{
    expression_walk(expression, outer_column_visit, context);
}

static enum status outer_columns_below(struct rewrite *rewrite, const struct relation *relation, struct outer_columns *found,
                                       struct error *err)
{
    bool open;
    TRY(rewrite_step(rewrite, err));
    TRY(relation_has_outer(rewrite, relation, &open, err));
    if (!open) {
        return STATUS_OK;
    }
    relation_walk_expressions(relation, outer_columns_of, found);
    for (uint32_t i = 0; i < relation->input_count; i++) {
        TRY(outer_columns_below(rewrite, relation->inputs[i], found, err));
    }
    return STATUS_OK;
}

enum status subquery_outer_columns(struct rewrite *rewrite, const struct relation *query, uint32_t outer_count, uint32_t **columns,
                                   uint32_t *count, struct error *err)
{
    struct outer_columns found;
    TRY(column_set_create(rewrite->arena, outer_count, &found.set, err));
    TRY(outer_columns_below(rewrite, query, &found, err));
    *count = 0;
    TRY_ALLOC(*columns, arena_alloc(rewrite->arena, (outer_count + 1) * sizeof **columns), err);
    for (uint32_t i = 0; i < outer_count; i++) {
        if (column_set_has(&found.set, i)) {
            (*columns)[(*count)++] = i;
        }
    }
    return STATUS_OK;
}

/* Q without its outer columns, and the condition that joins it to X (over X's columns, then its own). `first`: where Q's columns begin
 * in the new relation. */
struct attached {
    struct relation *relation;
    struct conditions conditions;
    uint32_t first;
};

static enum status attach_conditions(struct rewrite *rewrite, const struct conditions *from, uint32_t shift, struct conditions *to,
                                     struct error *err)
{
    for (uint32_t i = 0; i < from->count; i++) {
        const struct expression *condition;
        TRY(expression_attach(rewrite, from->items[i], shift, &condition, err));
        TRY(conditions_add(to, condition, err));
    }
    return STATUS_OK;
}

static enum status attach_domain(struct rewrite *rewrite, struct relation *outer, struct relation *query, struct attached *attached,
                                 struct error *err)
{
    uint32_t *columns, count, shift = outer->schema.count;
    TRY(subquery_outer_columns(rewrite, query, shift, &columns, &count, err));
    if (count == 0) {
        return relation_lower(rewrite, query, &attached->relation, err);
    }
    TRY(subquery_depend(rewrite, query, outer, columns, count, &attached->relation, err));
    attached->first = count;
    for (uint32_t i = 0; i < count; i++) {
        const struct expression *left, *right, *equal;
        TRY_ALLOC(left, relation_column(rewrite->arena, outer, columns[i]), err);
        TRY_ALLOC(right, expression_column(rewrite->arena, shift + i, left->type), err);
        TRY(call_named(rewrite, "IS NOT DISTINCT FROM", left, right, &equal, err));
        TRY(conditions_add(&attached->conditions, equal, err));
    }
    return STATUS_OK;
}

static enum status attach(struct rewrite *rewrite, struct relation *outer, struct relation *query, struct attached *attached,
                          struct error *err)
{
    struct pulled pulled;
    bool done;
    *attached = (struct attached){.conditions.arena = rewrite->arena};
    TRY(subquery_pull(rewrite, query, &pulled, &done, err));
    if (!done) {
        return attach_domain(rewrite, outer, query, attached, err);
    }
    TRY(attach_conditions(rewrite, &pulled.conditions, outer->schema.count, &attached->conditions, err));
    return relation_lower(rewrite, pulled.relation, &attached->relation, err);
}

static bool is_global(const struct relation *relation)
{
    return relation->kind == RELATION_AGGREGATE && relation->aggregate.key_count == 0 && relation->aggregate.sets == NULL &&
           relation->aggregate.window == NULL;
}

static const struct relation *below_projections(const struct relation *relation)
{
    while (relation->kind == RELATION_PROJECT) {
        relation = relation->inputs[0];
    }
    return relation;
}

static bool is_one_row(const struct relation *relation)
{
    relation = below_projections(relation);
    return is_global(relation) || (relation->kind == RELATION_VALUES && relation->values.row_count == 1);
}

static bool is_one_row_at_most(const struct relation *relation)
{
    while (relation->kind == RELATION_PROJECT || relation->kind == RELATION_FILTER) {
        relation = relation->inputs[0];
    }
    return is_one_row(relation) || (relation->kind == RELATION_SORT && relation->sort.fetch >= 0 && relation->sort.fetch <= 1);
}

static bool is_unit(const struct relation *relation)
{
    return relation->kind == RELATION_VALUES && relation->values.row_count == 1 && relation->schema.count == 0;
}

/* (SELECT f(SUM(x)) FROM i WHERE i.k = o.k): the aggregate by i.k, joined on it; over a padded row the projections give their value over no
 * rows. *done false: not of this form. */
static enum status attach_keyed_aggregate(struct rewrite *rewrite, struct relation **relation, struct relation *query,
                                          const struct expression **value, bool *done, struct error *err)
{
    const struct relation *global = below_projections(query);
    struct arena *arena = rewrite->arena;
    struct relation *outer = *relation;
    *done = false;
    if (!is_global(global)) {
        return STATUS_OK;
    }
    uint32_t calls = global->aggregate.call_count;
    struct pulled pulled;
    TRY(subquery_pull_aggregate(rewrite, (struct relation *)global, true, &pulled, done, err));
    *done = *done && pulled.conditions.count > 0;
    if (!*done) {
        return STATUS_OK;
    }
    struct conditions conditions = {.arena = arena};
    const struct expression *condition;
    uint32_t shift = outer->schema.count;
    TRY(attach_conditions(rewrite, &pulled.conditions, shift, &conditions, err));
    TRY(conditions_join(&conditions, &condition, err));
    struct relation *right;
    TRY(relation_lower(rewrite, pulled.relation, &right, err));
    TRY_ALLOC(*relation, relation_join(arena, JOIN_LEFT, outer, right, condition), err);
    const struct expression **values;
    TRY_ALLOC(values, arena_alloc(arena, (calls + 1) * sizeof *values), err);
    for (uint32_t i = 0; i < calls; i++) {
        TRY_ALLOC(values[i], relation_column(arena, *relation, shift + i), err);
        TRY(aggregate_or_empty(rewrite, &global->aggregate.calls[i], values[i], &values[i], err));
    }
    /* The projections above the aggregate, innermost first. */
    const struct relation *chain[32];
    uint32_t depth = 0;
    for (const struct relation *at = query; at->kind == RELATION_PROJECT; at = at->inputs[0]) {
        chain[depth++] = at;
    }
    while (depth > 0) {
        const struct relation *project = chain[--depth];
        const struct expression **next;
        TRY_ALLOC(next, arena_alloc(arena, (project->schema.count + 1) * sizeof *next), err);
        for (uint32_t i = 0; i < project->schema.count; i++) {
            TRY_ALLOC(next[i], expression_substitute(arena, project->project.expressions[i], values), err);
            TRY(expression_attach(rewrite, next[i], 0, &next[i], err));
        }
        values = next;
    }
    *value = values[0];
    return STATUS_OK;
}

static bool chain_is_short(const struct relation *query)
{
    uint32_t depth = 0;
    for (; query->kind == RELATION_PROJECT; query = query->inputs[0]) {
        depth++;
    }
    return depth < 32;
}

enum status attach_scalar(struct rewrite *rewrite, struct relation **relation, struct relation *query, const struct expression **value,
                          struct error *err)
{
    struct relation *outer = *relation;
    struct attached attached;
    const struct expression *condition;
    bool done = false;
    if (query->schema.count != 1) {
        return error_set_at(err, ERROR_INVALID_QUERY, query->line, query->column,
                            "a subquery used as a value must have one column, this one has %u", query->schema.count);
    }
    bool open;
    TRY(relation_has_outer(rewrite, query, &open, err));
    if (open && chain_is_short(query)) {
        TRY(attach_keyed_aggregate(rewrite, relation, query, value, &done, err));
    }
    if (done) {
        return STATUS_OK;
    }
    TRY(attach(rewrite, outer, query, &attached, err));
    TRY(conditions_join(&attached.conditions, &condition, err));
    bool inner = condition == NULL && is_one_row(query);
    if (inner && is_unit(outer)) {
        *relation = attached.relation;
    } else {
        TRY_ALLOC(*relation, relation_join(rewrite->arena, inner ? JOIN_INNER : JOIN_LEFT, outer, attached.relation, condition), err);
        (*relation)->join.single = !inner && !is_one_row_at_most(query);
    }
    TRY_ALLOC(*value, relation_column(rewrite->arena, *relation, outer->schema.count + attached.first), err);
    return STATUS_OK;
}

enum status attach_lateral(struct rewrite *rewrite, struct relation *join, struct relation **result, struct error *err)
{
    struct relation *outer = join->inputs[0], *query = join->inputs[1], *made;
    struct attached attached;
    const struct expression *condition;
    uint32_t left = outer->schema.count, right = query->schema.count, *map;
    TRY(attach(rewrite, outer, query, &attached, err));
    TRY_ALLOC(map, arena_alloc(rewrite->arena, (left + right + 1) * sizeof *map), err);
    for (uint32_t i = 0; i < left + right; i++) {
        map[i] = i < left ? i : i + attached.first;
    }
    if (join->join.condition != NULL) {
        TRY_ALLOC(condition, expression_renumber(rewrite->arena, join->join.condition, map), err);
        TRY(conditions_split(&attached.conditions, condition, err));
    }
    TRY(conditions_join(&attached.conditions, &condition, err));
    if (is_unit(outer) && join->join.kind == JOIN_INNER && condition == NULL) {
        made = attached.relation;
    } else {
        TRY_ALLOC(made, relation_join(rewrite->arena, join->join.kind, outer, attached.relation, condition), err);
        memcpy(made->join.ttl, join->join.ttl, sizeof made->join.ttl);
    }
    TRY_ALLOC(*result, relation_select(rewrite->arena, made, map, left + right), err);
    return STATUS_OK;
}

/* EXISTS does not look at columns, nor at which of equal rows. */
static struct relation *existence(struct relation *query)
{
    for (;;) {
        bool distinct = query->kind == RELATION_AGGREGATE && query->aggregate.key_count > 0 && query->aggregate.sets == NULL &&
                        query->aggregate.window == NULL;
        bool limited = query->kind == RELATION_SORT && query->sort.fetch != 0 && query->sort.offset == 0;
        if (query->kind != RELATION_PROJECT && !distinct && !limited) {
            return query;
        }
        query = query->inputs[0];
    }
}

static enum status attach_exists(struct rewrite *rewrite, struct relation **relation, struct relation *query, bool negated,
                                 struct error *err)
{
    struct attached attached;
    const struct expression *condition;
    TRY(attach(rewrite, *relation, existence(query), &attached, err));
    TRY(conditions_join(&attached.conditions, &condition, err));
    TRY_ALLOC(*relation, relation_join(rewrite->arena, negated ? JOIN_ANTI : JOIN_SEMI, *relation, attached.relation, condition), err);
    return STATUS_OK;
}

/* x = y for all columns. `shift`: where the subquery's columns begin. */
static enum status equalities(struct rewrite *rewrite, const struct expression *subquery, uint32_t shift, const struct expression **result,
                              struct error *err)
{
    *result = NULL;
    for (uint32_t i = 0; i < subquery->arg_count; i++) {
        const struct expression *right, *equal;
        TRY_ALLOC(right, expression_column(rewrite->arena, shift + i, subquery->relation->schema.columns[i].type), err);
        TRY(call_named(rewrite, "=", subquery->args[i], right, &equal, err));
        TRY_ALLOC(*result, expression_and(rewrite->arena, *result, equal), err);
    }
    return STATUS_OK;
}

static enum status attach_in(struct rewrite *rewrite, struct relation **relation, const struct expression *subquery, bool negated,
                             struct error *err)
{
    struct attached attached;
    const struct expression *equal, *condition;
    uint32_t left = (*relation)->schema.count;
    TRY(attach(rewrite, *relation, subquery->relation, &attached, err));
    TRY(equalities(rewrite, subquery, left + attached.first, &equal, err));
    bool aware = negated && attached.conditions.count == 0 && subquery->arg_count == 1;
    bool nullable = aware && (subquery->args[0]->type->nullable || subquery->relation->schema.columns[0].type->nullable);
    if (negated && !aware) { /* a row that might be equal keeps the left row out */
        TRY(call_named(rewrite, "IS NOT FALSE", equal, NULL, &equal, err));
    }
    TRY(conditions_split(&attached.conditions, equal, err));
    TRY(conditions_join(&attached.conditions, &condition, err));
    TRY_ALLOC(*relation, relation_join(rewrite->arena, negated ? JOIN_ANTI : JOIN_SEMI, *relation, attached.relation, condition), err);
    (*relation)->join.null_aware = nullable;
    return STATUS_OK;
}

enum status attach_semi(struct rewrite *rewrite, struct relation **relation, const struct expression *subquery, bool negated,
                        struct error *err)
{
    if (subquery->subquery == SUBQUERY_EXISTS) {
        return attach_exists(rewrite, relation, subquery->relation, negated, err);
    }
    return attach_in(rewrite, relation, subquery, negated, err);
}
