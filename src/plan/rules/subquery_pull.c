/* Taking conditions on outer columns out of a subquery, by moving them up. */
#include <string.h>

#include "functions/function.h"
#include "plan/rules/subqueries.h"

static bool outer_visit(const struct expression *node, void *context)
{
    bool *found = context;
    *found = *found || node->kind == EXPRESSION_OUTER;
    return !*found;
}

bool expression_has_outer(const struct expression *expression)
{
    bool found = false;
    expression_walk(expression, outer_visit, &found);
    return found;
}

static bool subquery_visit(const struct expression *node, void *context)
{
    bool *found = context;
    *found = *found || node->kind == EXPRESSION_SUBQUERY;
    return !*found;
}

bool expression_has_subquery(const struct expression *expression)
{
    bool found = false;
    expression_walk(expression, subquery_visit, &found);
    return found;
}

static void own_outer_visit(const struct expression *expression, void *context)
{
    bool *found = context;
    *found = *found || expression_has_outer(expression);
}

static bool own_has_outer(const struct relation *relation)
{
    bool found = false;
    relation_walk_expressions(relation, own_outer_visit, &found);
    return found;
}

enum status relation_has_outer(struct rewrite *rewrite, const struct relation *relation, bool *found, struct error *err)
{
    static char no, yes; /* answers */
    const char *known = pointer_map_get(&rewrite->outer, relation);
    if (known != NULL) {
        *found = known == &yes;
        return STATUS_OK;
    }
    TRY(rewrite_step(rewrite, err));
    *found = own_has_outer(relation);
    for (uint32_t i = 0; !*found && i < relation->input_count; i++) {
        TRY(relation_has_outer(rewrite, relation->inputs[i], found, err));
    }
    return pointer_map_put(&rewrite->outer, relation, *found ? &yes : &no, err);
}

static enum status conditions_renumber(struct rewrite *rewrite, struct conditions *list, const uint32_t *map, struct error *err)
{
    for (uint32_t i = 0; i < list->count; i++) {
        TRY_ALLOC(list->items[i], expression_renumber(rewrite->arena, list->items[i], map), err);
    }
    return STATUS_OK;
}

static enum status pull_filter(struct rewrite *rewrite, struct relation *query, struct pulled *pulled, bool *done, struct error *err)
{
    struct conditions all = {.arena = rewrite->arena}, own = {.arena = rewrite->arena};
    TRY(subquery_pull(rewrite, query->inputs[0], pulled, done, err));
    TRY(conditions_split(&all, query->filter.condition, err));
    for (uint32_t i = 0; *done && i < all.count; i++) {
        TRY(conditions_add(expression_has_outer(all.items[i]) ? &pulled->conditions : &own, all.items[i], err));
    }
    const struct expression *condition;
    TRY(conditions_join(&own, &condition, err));
    if (condition != NULL) {
        TRY_ALLOC(pulled->relation, relation_filter(rewrite->arena, pulled->relation, condition), err);
    }
    return STATUS_OK;
}

/* Columns that the conditions read, as further outputs of a projection; the conditions then read those. */
static enum status pull_project(struct rewrite *rewrite, struct relation *query, struct pulled *pulled, bool *done, struct error *err)
{
    if (own_has_outer(query)) {
        *done = false;
        return STATUS_OK;
    }
    TRY(subquery_pull(rewrite, query->inputs[0], pulled, done, err));
    if (!*done) {
        return STATUS_OK;
    }
    struct relation *input = pulled->relation;
    uint32_t below = input->schema.count, count = query->schema.count, *map;
    struct column_set used;
    const struct expression **expressions;
    struct column *columns;
    TRY(column_set_create(rewrite->arena, below, &used, err));
    TRY_ALLOC(map, arena_alloc(rewrite->arena, (below + 1) * sizeof *map), err);
    TRY_ALLOC(expressions, arena_alloc(rewrite->arena, (count + below + 1) * sizeof *expressions), err);
    TRY_ALLOC(columns, arena_alloc(rewrite->arena, (count + below + 1) * sizeof *columns), err);
    for (uint32_t i = 0; i < count; i++) {
        expressions[i] = query->project.expressions[i];
        columns[i] = query->schema.columns[i];
    }
    for (uint32_t i = 0; i < pulled->conditions.count; i++) {
        expression_columns(pulled->conditions.items[i], &used);
    }
    for (uint32_t i = 0; i < below; i++) {
        map[i] = i;
        if (column_set_has(&used, i)) {
            TRY_ALLOC(expressions[count], relation_column(rewrite->arena, input, i), err);
            columns[count] = input->schema.columns[i];
            map[i] = count++;
        }
    }
    TRY(conditions_renumber(rewrite, &pulled->conditions, map, err));
    TRY_ALLOC(pulled->relation, relation_project(rewrite->arena, input, count, expressions, columns), err);
    return STATUS_OK;
}

/* Left columns, right columns, then what was added to either side. */
static enum status join_order(struct rewrite *rewrite, const struct relation *query, struct relation *join, uint32_t left_added,
                              struct pulled *pulled, struct error *err)
{
    uint32_t left = query->inputs[0]->schema.count, total = join->schema.count, *order, *map, at = 0;
    TRY_ALLOC(order, arena_alloc(rewrite->arena, (total + 1) * sizeof *order), err);
    TRY_ALLOC(map, arena_alloc(rewrite->arena, (total + 1) * sizeof *map), err);
    for (uint32_t i = 0; i < total; i++) {
        bool added = i >= left && i < left + left_added;
        if (!added) {
            order[at++] = i;
        }
    }
    /* The right side's own columns come before its added ones, so its order is right already. */
    for (uint32_t i = 0; i < left_added; i++) {
        order[at++] = left + i;
    }
    for (uint32_t i = 0; i < total; i++) {
        map[order[i]] = i;
    }
    pulled->relation = join;
    if (left_added > 0 && total > left + left_added) {
        TRY_ALLOC(pulled->relation, relation_select(rewrite->arena, join, order, total), err);
        TRY(conditions_renumber(rewrite, &pulled->conditions, map, err));
    }
    return STATUS_OK;
}

static enum status pull_join(struct rewrite *rewrite, struct relation *query, struct pulled *pulled, bool *done, struct error *err)
{
    enum join_kind kind = query->join.kind;
    struct pulled left, right;
    bool both = kind == JOIN_INNER && !query->join.temporal;
    bool right_open;
    TRY(relation_has_outer(rewrite, query->inputs[1], &right_open, err));
    *done = both || ((kind == JOIN_LEFT || kind == JOIN_SEMI || kind == JOIN_ANTI) && !right_open && !own_has_outer(query));
    if (!*done) {
        return STATUS_OK;
    }
    TRY(subquery_pull(rewrite, query->inputs[0], &left, done, err));
    if (!*done) {
        return STATUS_OK;
    }
    TRY(subquery_pull(rewrite, query->inputs[1], &right, done, err));
    if (!*done) {
        return STATUS_OK;
    }
    uint32_t left_count = query->inputs[0]->schema.count, left_all = left.relation->schema.count, added = left_all - left_count;
    struct conditions own = {.arena = rewrite->arena}, all = {.arena = rewrite->arena};
    uint32_t right_count = query->inputs[1]->schema.count, *map;
    TRY_ALLOC(map, arena_alloc(rewrite->arena, (left_count + right_count + 1) * sizeof *map), err);
    for (uint32_t i = 0; i < left_count + right_count; i++) {
        map[i] = i < left_count ? i : i + added;
    }
    *pulled = (struct pulled){NULL, left.conditions};
    for (uint32_t i = 0; i < right.conditions.count; i++) {
        const struct expression *moved;
        TRY_ALLOC(moved, expression_shift(rewrite->arena, right.conditions.items[i], (int32_t)left_all), err);
        TRY(conditions_add(&pulled->conditions, moved, err));
    }
    TRY(conditions_split(&all, query->join.condition, err));
    for (uint32_t i = 0; i < all.count; i++) {
        const struct expression *moved;
        TRY_ALLOC(moved, expression_renumber(rewrite->arena, all.items[i], map), err);
        TRY(conditions_add(expression_has_outer(moved) ? &pulled->conditions : &own, moved, err));
    }
    struct relation *join;
    const struct expression *condition;
    TRY(conditions_join(&own, &condition, err));
    TRY_ALLOC(join, relation_join(rewrite->arena, kind, left.relation, right.relation, condition), err);
    join->join.null_aware = query->join.null_aware;
    join->join.single = query->join.single;
    memcpy(join->join.ttl, query->join.ttl, sizeof join->join.ttl);
    join->join.temporal = query->join.temporal;
    join->join.time_column = query->join.time_column;
    return join_order(rewrite, query, join, added, pulled, err);
}

/* outer = inner: the inner side, which becomes one more key. NULL: another kind of condition. */
static const struct expression *equality_key(const struct expression *condition, const struct expression **outer)
{
    if ((!expression_is_call(condition, "=") && !expression_is_call(condition, "IS NOT DISTINCT FROM")) || condition->arg_count != 2) {
        return NULL;
    }
    for (uint32_t i = 0; i < 2; i++) {
        const struct expression *inner = condition->args[i];
        *outer = condition->args[1 - i];
        if (!expression_has_outer(inner) && expression_has_outer(*outer) && !expression_reads(*outer, 0, UINT32_MAX) &&
            expression_reads(inner, 0, UINT32_MAX)) {
            return inner;
        }
    }
    return NULL;
}

/* The input with the inner sides as columns at its end; conditions over the aggregate's output, where those keys begin at `first`. */
static enum status keys_of_conditions(struct rewrite *rewrite, struct pulled *pulled, uint32_t first, struct relation **input,
                                      struct error *err)
{
    uint32_t below = pulled->relation->schema.count, count = pulled->conditions.count;
    const struct expression **expressions;
    struct column *columns;
    TRY_ALLOC(expressions, arena_alloc(rewrite->arena, (below + count + 1) * sizeof *expressions), err);
    TRY_ALLOC(columns, arena_alloc(rewrite->arena, (below + count + 1) * sizeof *columns), err);
    for (uint32_t i = 0; i < below; i++) {
        columns[i] = pulled->relation->schema.columns[i];
        TRY_ALLOC(expressions[i], relation_column(rewrite->arena, pulled->relation, i), err);
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct expression *condition = pulled->conditions.items[i], *outer, *key, **args;
        const struct expression *inner = equality_key(condition, &outer);
        expressions[below + i] = inner;
        columns[below + i] = (struct column){"key", inner->type, TIME_NONE};
        TRY_ALLOC(key, expression_column(rewrite->arena, first + i, inner->type), err);
        TRY_ALLOC(args, arena_alloc(rewrite->arena, 2 * sizeof *args), err);
        args[0] = condition->args[0] == inner ? key : outer;
        args[1] = condition->args[0] == inner ? outer : key;
        TRY_ALLOC(pulled->conditions.items[i], expression_with_args(rewrite->arena, condition, args), err);
    }
    TRY_ALLOC(*input, relation_project(rewrite->arena, pulled->relation, below + count, expressions, columns), err);
    return STATUS_OK;
}

enum status subquery_pull_aggregate(struct rewrite *rewrite, struct relation *query, bool joined_back, struct pulled *pulled, bool *done,
                                    struct error *err)
{
    const struct aggregate_relation *aggregate = &query->aggregate;
    const struct expression *outer;
    *done = !own_has_outer(query) && aggregate->sets == NULL && aggregate->window == NULL;
    if (!*done) {
        return STATUS_OK;
    }
    TRY(subquery_pull(rewrite, query->inputs[0], pulled, done, err));
    uint32_t count = pulled->conditions.count, keys = aggregate->key_count, calls = aggregate->call_count;
    *done = *done && (count == 0 || keys > 0 || joined_back);
    for (uint32_t i = 0; *done && i < count; i++) {
        *done = equality_key(pulled->conditions.items[i], &outer) != NULL;
    }
    if (!*done) {
        return STATUS_OK;
    }
    struct relation *input, *grouped;
    uint32_t below = pulled->relation->schema.count, *columns, *order;
    TRY(keys_of_conditions(rewrite, pulled, keys + calls, &input, err));
    TRY_ALLOC(columns, arena_alloc(rewrite->arena, (keys + count + 1) * sizeof *columns), err);
    TRY_ALLOC(order, arena_alloc(rewrite->arena, (keys + count + calls + 1) * sizeof *order), err);
    for (uint32_t i = 0; i < keys + count; i++) {
        columns[i] = i < keys ? aggregate->keys[i] : below + i - keys;
    }
    for (uint32_t i = 0; i < keys + count + calls; i++) {
        order[i] = i < keys ? i : (i < keys + calls ? i + count : i - calls);
    }
    TRY_ALLOC(grouped, relation_aggregate(rewrite->arena, input, columns, keys + count, aggregate->calls, calls), err);
    TRY_ALLOC(pulled->relation, relation_select(rewrite->arena, grouped, order, keys + count + calls), err);
    return STATUS_OK;
}

enum status subquery_pull(struct rewrite *rewrite, struct relation *query, struct pulled *pulled, bool *done, struct error *err)
{
    *pulled = (struct pulled){query, {.arena = rewrite->arena}};
    *done = true;
    bool open;
    TRY(rewrite_step(rewrite, err));
    TRY(relation_has_outer(rewrite, query, &open, err));
    if (!open) {
        return STATUS_OK;
    }
    switch (query->kind) {
    case RELATION_FILTER:
        return pull_filter(rewrite, query, pulled, done, err);
    case RELATION_PROJECT:
        return pull_project(rewrite, query, pulled, done, err);
    case RELATION_JOIN:
        return pull_join(rewrite, query, pulled, done, err);
    case RELATION_AGGREGATE:
        return subquery_pull_aggregate(rewrite, query, false, pulled, done, err);
    case RELATION_SORT:
        if (query->sort.fetch < 0 && query->sort.offset == 0) {
            return subquery_pull(rewrite, query->inputs[0], pulled, done, err);
        }
        break;
    default:
        break;
    }
    *done = false;
    return STATUS_OK;
}
