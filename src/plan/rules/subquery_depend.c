/* A subquery computed for all values of its outer columns at once (see subqueries.h). */
#include <string.h>

#include "functions/aggregate.h"
#include "functions/function.h"
#include "plan/rules/subqueries.h"

/* D, and for each column of X its place in D. */
struct domain {
    struct rewrite *rewrite;
    struct relation *relation;
    const uint32_t *columns;
    uint32_t count;
    uint32_t shift; /* own columns of the expression that is being changed move by this */
};

enum status call_named(struct rewrite *rewrite, const char *name, const struct expression *left, const struct expression *right,
                       const struct expression **result, struct error *err)
{
    const struct expression **args;
    TRY_ALLOC(args, arena_alloc(rewrite->arena, 2 * sizeof *args), err);
    args[0] = left;
    args[1] = right;
    return function_call_named(rewrite->arena, rewrite->evaluation, name, args, right != NULL ? 2 : 1, result, err);
}

static const struct expression *domain_change(const struct expression *node, void *context, bool *failed)
{
    const struct domain *domain = context;
    struct arena *arena = domain->rewrite->arena;
    const struct expression *result = NULL;
    if (node->kind == EXPRESSION_COLUMN) {
        result = expression_column(arena, node->index + domain->shift, node->type);
    } else if (node->kind == EXPRESSION_OUTER && node->depth == 1) {
        uint32_t at = 0;
        while (at + 1 < domain->count && domain->columns[at] != node->index) {
            at++;
        }
        result = expression_column(arena, at, node->type);
    } else if (node->kind == EXPRESSION_OUTER) {
        struct expression *nearer = arena_copy(arena, node, sizeof *node);
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

static enum status domain_expression(struct domain *domain, const struct expression *expression, const struct expression **result,
                                     struct error *err)
{
    struct expression_change change = {domain->rewrite->arena, domain_change, domain, false};
    *result = expression_apply(&change, expression);
    return change.failed ? error_set(err, ERROR_BUDGET_SPENT, "no room for a rewritten expression") : STATUS_OK;
}

static enum status domain_change_one(const struct expression *expression, void *context, const struct expression **changed,
                                     struct error *err)
{
    return domain_expression(context, expression, changed, err);
}

static enum status depend(struct domain *domain, struct relation *query, struct relation **result, struct error *err);

/* D's columns, then a schema's. */
static enum status domain_schema(const struct domain *domain, const struct schema *schema, struct schema *result, struct error *err)
{
    struct column *columns;
    TRY_ALLOC(columns, arena_alloc(domain->rewrite->arena, (domain->count + schema->count + 1) * sizeof *columns), err);
    for (uint32_t i = 0; i < domain->count + schema->count; i++) {
        columns[i] = i < domain->count ? domain->relation->schema.columns[i] : schema->columns[i - domain->count];
    }
    *result = (struct schema){domain->count + schema->count, columns};
    return STATUS_OK;
}

/* A copy over changed inputs: columns of D in front, own expressions renumbered. */
static enum status depend_copy(struct domain *domain, struct relation *query, struct relation **result, struct error *err)
{
    domain->shift = domain->count;
    struct relation *changed, *input;
    TRY(depend(domain, query->inputs[0], &input, err));
    domain->shift = domain->count;
    TRY(relation_change_expressions(domain->rewrite->arena, query, domain_change_one, domain, &changed, err));
    changed->inputs[0] = input;
    TRY(domain_schema(domain, &query->schema, &changed->schema, err));
    *result = changed;
    return STATUS_OK;
}

static enum status depend_project(struct domain *domain, struct relation *query, struct relation **result, struct error *err)
{
    struct arena *arena = domain->rewrite->arena;
    TRY(depend_copy(domain, query, result, err));
    const struct expression **expressions;
    TRY_ALLOC(expressions, arena_alloc(arena, ((*result)->schema.count + 1) * sizeof *expressions), err);
    for (uint32_t i = 0; i < (*result)->schema.count; i++) {
        if (i < domain->count) {
            TRY_ALLOC(expressions[i], relation_column(arena, domain->relation, i), err);
        } else {
            expressions[i] = (*result)->project.expressions[i - domain->count];
        }
    }
    (*result)->project.expressions = expressions;
    return STATUS_OK;
}

static enum status shifted_columns(const struct domain *domain, const uint32_t *columns, uint32_t count, bool with_domain,
                                   const uint32_t **result, struct error *err)
{
    uint32_t *list, before = with_domain ? domain->count : 0;
    TRY_ALLOC(list, arena_alloc(domain->rewrite->arena, (before + count + 1) * sizeof *list), err);
    for (uint32_t i = 0; i < before + count; i++) {
        list[i] = i < before ? i : columns[i - before] + domain->count;
    }
    *result = list;
    return STATUS_OK;
}

static enum status shifted_order(const struct domain *domain, const struct sort_key *keys, uint32_t count, const struct sort_key **result,
                                 struct error *err)
{
    struct sort_key *list;
    TRY_ALLOC(list, arena_alloc(domain->rewrite->arena, (count + 1) * sizeof *list), err);
    for (uint32_t i = 0; i < count; i++) {
        list[i] = keys[i];
        list[i].column += domain->count;
    }
    *result = list;
    return STATUS_OK;
}

/* left.d IS NOT DISTINCT FROM right.d for all columns of D, which stand first on both sides. */
static enum status domain_equality(const struct domain *domain, uint32_t right_at, struct conditions *list, struct error *err)
{
    struct arena *arena = domain->rewrite->arena;
    for (uint32_t i = 0; i < domain->count; i++) {
        const struct type *type = domain->relation->schema.columns[i].type;
        const struct expression *left, *right, *equal;
        TRY_ALLOC(left, expression_column(arena, i, type), err);
        TRY_ALLOC(right, expression_column(arena, right_at + i, type), err);
        TRY(call_named(domain->rewrite, "IS NOT DISTINCT FROM", left, right, &equal, err));
        TRY(conditions_add(list, equal, err));
    }
    return STATUS_OK;
}

enum status aggregate_or_empty(struct rewrite *rewrite, const struct aggregate_call *call, const struct expression *value,
                               const struct expression **result, struct error *err)
{
    static const struct {
        const char *name, *text; /* text NULL: zero */
    } empties[] = {
        {"COUNT", NULL}, {"APPROX_COUNT_DISTINCT", NULL}, {"REGR_COUNT", NULL}, {"JSON_ARRAYAGG", "[]"}, {"JSON_OBJECTAGG", "{}"}};
    struct arena *arena = rewrite->arena;
    *result = value;
    for (uint32_t i = 0; i < ARRAY_LENGTH(empties); i++) {
        if (strcmp(call->function->name, empties[i].name) != 0) {
            continue;
        }
        const struct expression *empty, **args;
        if (empties[i].text != NULL) {
            TRY_ALLOC(empty, expression_string(arena, text_from(empties[i].text)), err);
        } else {
            TRY_ALLOC(empty, expression_int64(arena, 0), err);
        }
        TRY_ALLOC(empty, expression_cast(arena, empty, call->type, false), err);
        TRY_ALLOC(args, arena_alloc(arena, 2 * sizeof *args), err);
        args[0] = value;
        args[1] = empty;
        TRY_ALLOC(*result, expression_make(arena, EXPRESSION_COALESCE, call->type, args, 2), err);
    }
    return STATUS_OK;
}

/* An aggregate of all rows has a row for each of D, also where no row was. */
static enum status depend_back(struct domain *domain, const struct relation *query, struct relation *grouped, struct relation **result,
                               struct error *err)
{
    struct arena *arena = domain->rewrite->arena;
    struct conditions equal = {.arena = arena};
    const struct expression *condition, **expressions;
    struct relation *join;
    struct schema schema;
    uint32_t calls = query->aggregate.call_count;
    TRY(domain_equality(domain, domain->count, &equal, err));
    TRY(conditions_join(&equal, &condition, err));
    TRY_ALLOC(join, relation_join(arena, JOIN_LEFT, domain->relation, grouped, condition), err);
    TRY_ALLOC(expressions, arena_alloc(arena, (domain->count + calls + 1) * sizeof *expressions), err);
    for (uint32_t i = 0; i < domain->count + calls; i++) {
        TRY_ALLOC(expressions[i], relation_column(arena, join, i < domain->count ? i : i + domain->count), err);
        if (i >= domain->count) {
            TRY(aggregate_or_empty(domain->rewrite, &query->aggregate.calls[i - domain->count], expressions[i], &expressions[i], err));
        }
    }
    TRY(domain_schema(domain, &query->schema, &schema, err));
    TRY_ALLOC(*result, relation_project(arena, join, schema.count, expressions, schema.columns), err);
    return STATUS_OK;
}

static enum status depend_aggregate(struct domain *domain, struct relation *query, struct relation **result, struct error *err)
{
    const struct aggregate_relation *aggregate = &query->aggregate;
    if (aggregate->window != NULL) {
        return error_set_at(err, ERROR_NOT_SUPPORTED, query->line, query->column, "a group window in a correlated subquery");
    }
    TRY(depend_copy(domain, query, result, err));
    struct aggregate_relation *changed = &(*result)->aggregate;
    TRY(shifted_columns(domain, aggregate->keys, aggregate->key_count, true, &changed->keys, err));
    changed->key_count = aggregate->key_count + domain->count;
    if (aggregate->sets != NULL) {
        uint64_t *sets, all = ((uint64_t)1 << domain->count) - 1;
        TRY_ALLOC(sets, arena_alloc(domain->rewrite->arena, aggregate->set_count * sizeof *sets), err);
        for (uint32_t i = 0; i < aggregate->set_count; i++) {
            sets[i] = (aggregate->sets[i] << domain->count) | all;
        }
        changed->sets = sets;
    }
    return aggregate->key_count == 0 && aggregate->sets == NULL ? depend_back(domain, query, *result, result, err) : STATUS_OK;
}

/* The first rows of each value of D: a rank. */
static enum status depend_limit(struct domain *domain, struct relation *query, struct relation *input, struct relation **result,
                                struct error *err)
{
    struct arena *arena = domain->rewrite->arena;
    uint32_t count = input->schema.count;
    struct relation *over;
    struct over_call *call;
    TRY_ALLOC(over, relation_new(arena, RELATION_OVER, count + 1, 1), err);
    TRY_ALLOC(call, arena_alloc(arena, sizeof *call), err);
    *call = (struct over_call){.name = "ROW_NUMBER", .type = &type_bigint_not_null};
    struct column *columns = (struct column *)over->schema.columns;
    memcpy(columns, input->schema.columns, count * sizeof *columns);
    columns[count] = (struct column){"rank", &type_bigint_not_null, TIME_NONE};
    over->inputs[0] = input;
    over->over = (struct over_relation){.preceding = FRAME_UNBOUNDED, .default_frame = true, .calls = call, .call_count = 1};
    over->over.partition_count = domain->count;
    TRY(shifted_columns(domain, NULL, 0, true, &over->over.partition, err));
    over->over.order_count = query->sort.key_count > 0 ? query->sort.key_count : 1;
    if (query->sort.key_count > 0) {
        TRY(shifted_order(domain, query->sort.keys, query->sort.key_count, &over->over.order, err));
    } else {
        struct sort_key *any;
        TRY_ALLOC(any, arena_alloc(arena, sizeof *any), err);
        *any = (struct sort_key){count - 1, false, true};
        over->over.order = any;
    }
    const struct expression *rank, *bound, *low, *high = NULL;
    TRY_ALLOC(rank, relation_column(arena, over, count), err);
    TRY_ALLOC(bound, expression_int64(arena, query->sort.offset), err);
    TRY(call_named(domain->rewrite, ">", rank, bound, &low, err));
    if (query->sort.fetch >= 0) {
        TRY_ALLOC(bound, expression_int64(arena, query->sort.offset + query->sort.fetch), err);
        TRY(call_named(domain->rewrite, "<=", rank, bound, &high, err));
    }
    TRY_ALLOC(low, expression_and(arena, low, high), err);
    TRY_ALLOC(*result, relation_filter(arena, over, low), err);
    uint32_t *keep;
    TRY_ALLOC(keep, arena_alloc(arena, (count + 1) * sizeof *keep), err);
    for (uint32_t i = 0; i < count; i++) {
        keep[i] = i;
    }
    TRY_ALLOC(*result, relation_select(arena, *result, keep, count), err);
    return STATUS_OK;
}

static enum status depend_sort(struct domain *domain, struct relation *query, struct relation **result, struct error *err)
{
    struct relation *input;
    TRY(depend(domain, query->inputs[0], &input, err));
    *result = input;
    return query->sort.fetch < 0 && query->sort.offset == 0 ? STATUS_OK : depend_limit(domain, query, input, result, err);
}

static enum status depend_over(struct domain *domain, struct relation *query, struct relation **result, struct error *err)
{
    TRY(depend_copy(domain, query, result, err));
    struct over_relation *over = &(*result)->over;
    TRY(shifted_columns(domain, query->over.partition, query->over.partition_count, true, &over->partition, err));
    over->partition_count += domain->count;
    return shifted_order(domain, query->over.order, query->over.order_count, &over->order, err);
}

static enum status depend_window(struct domain *domain, struct relation *query, struct relation **result, struct error *err)
{
    TRY(depend_copy(domain, query, result, err));
    struct window_spec *window = &(*result)->window;
    window->time_column += domain->count;
    bool session = window->kind == WINDOW_SESSION;
    TRY(shifted_columns(domain, query->window.partition, query->window.partition_count, session, &window->partition, err));
    window->partition_count += session ? domain->count : 0;
    return STATUS_OK;
}

/* Both sides depend: they meet on D too. One of D's two copies is dropped. */
static enum status depend_join(struct domain *domain, struct relation *query, struct relation **result, struct error *err)
{
    struct arena *arena = domain->rewrite->arena;
    enum join_kind kind = query->join.kind;
    uint32_t count = domain->count, left_count = query->inputs[0]->schema.count, right_count = query->inputs[1]->schema.count;
    bool right_depends;
    TRY(relation_has_outer(domain->rewrite, query->inputs[1], &right_depends, err));
    right_depends = right_depends || kind == JOIN_RIGHT || kind == JOIN_FULL;
    struct relation *left, *right, *join;
    struct conditions all = {.arena = arena};
    if (query->join.null_aware && (right_depends || query->join.temporal)) {
        return error_set_at(err, ERROR_NOT_SUPPORTED, query->line, query->column, "NOT IN over a correlated subquery inside a subquery");
    }
    if (kind == JOIN_FULL || query->join.temporal) {
        return error_set_at(err, ERROR_NOT_SUPPORTED, query->line, query->column, "a FULL or temporal join in a correlated subquery");
    }
    TRY(depend(domain, query->inputs[0], &left, err));
    if (right_depends) {
        TRY(depend(domain, query->inputs[1], &right, err));
    } else {
        TRY(relation_lower(domain->rewrite, query->inputs[1], &right, err));
    }
    if (query->join.condition != NULL) {
        const struct expression *condition, *renumbered;
        uint32_t *map, extra = right_depends ? count : 0;
        domain->shift = count;
        TRY(domain_expression(domain, query->join.condition, &condition, err));
        TRY_ALLOC(map, arena_alloc(arena, (count + left_count + right_count + 1) * sizeof *map), err);
        for (uint32_t i = 0; i < count + left_count + right_count; i++) {
            map[i] = i < count + left_count ? i : i + extra;
        }
        TRY_ALLOC(renumbered, expression_renumber(arena, condition, map), err);
        TRY(conditions_split(&all, renumbered, err));
    }
    if (right_depends) {
        TRY(domain_equality(domain, count + left_count, &all, err));
    }
    const struct expression *condition;
    TRY(conditions_join(&all, &condition, err));
    TRY_ALLOC(join, relation_join(arena, kind, left, right, condition), err);
    join->join.null_aware = query->join.null_aware;
    join->join.single = query->join.single;
    memcpy(join->join.ttl, query->join.ttl, sizeof join->join.ttl);
    *result = join;
    if (!right_depends || !join_keeps_right(kind)) {
        return STATUS_OK;
    }
    uint32_t *keep, at = 0;
    TRY_ALLOC(keep, arena_alloc(arena, (count + left_count + right_count + 1) * sizeof *keep), err);
    for (uint32_t i = 0; i < count; i++) {
        keep[at++] = kind == JOIN_RIGHT ? count + left_count + i : i;
    }
    for (uint32_t i = 0; i < left_count + right_count; i++) {
        keep[at++] = i < left_count ? count + i : 2 * count + i;
    }
    TRY_ALLOC(*result, relation_select(arena, join, keep, at), err);
    return STATUS_OK;
}

static enum status depend_set(struct domain *domain, struct relation *query, struct relation **result, struct error *err)
{
    struct relation *copy;
    TRY_ALLOC(copy, relation_copy(domain->rewrite->arena, query), err);
    for (uint32_t i = 0; i < query->input_count; i++) {
        TRY(depend(domain, query->inputs[i], &copy->inputs[i], err));
    }
    TRY(domain_schema(domain, &query->schema, &copy->schema, err));
    *result = copy;
    return STATUS_OK;
}

/* Rows that read outer columns: one projection of D per row. */
static enum status depend_values(struct domain *domain, struct relation *query, struct relation **result, struct error *err)
{
    struct arena *arena = domain->rewrite->arena;
    struct schema schema;
    struct relation *all;
    TRY(domain_schema(domain, &query->schema, &schema, err));
    TRY_ALLOC(all, relation_new(arena, RELATION_UNION, 0, query->values.row_count), err);
    all->schema = schema;
    all->set.all = true;
    for (uint32_t r = 0; r < query->values.row_count; r++) {
        const struct expression **expressions;
        TRY_ALLOC(expressions, arena_alloc(arena, (schema.count + 1) * sizeof *expressions), err);
        for (uint32_t i = 0; i < schema.count; i++) {
            if (i < domain->count) {
                TRY_ALLOC(expressions[i], relation_column(arena, domain->relation, i), err);
            } else {
                TRY(domain_expression(domain, query->values.rows[r][i - domain->count], &expressions[i], err));
            }
        }
        TRY_ALLOC(all->inputs[r], relation_project(arena, domain->relation, schema.count, expressions, schema.columns), err);
    }
    *result = query->values.row_count == 1 ? all->inputs[0] : all;
    return STATUS_OK;
}

static enum status depend(struct domain *domain, struct relation *query, struct relation **result, struct error *err)
{
    bool open;
    TRY(rewrite_step(domain->rewrite, err));
    TRY(relation_has_outer(domain->rewrite, query, &open, err));
    if (!open) {
        bool unit = query->kind == RELATION_VALUES && query->values.row_count == 1 && query->schema.count == 0;
        *result = domain->relation;
        if (!unit) {
            TRY_ALLOC(*result, relation_join(domain->rewrite->arena, JOIN_INNER, domain->relation, query, NULL), err);
        }
        return STATUS_OK;
    }
    switch (query->kind) {
    case RELATION_FILTER:
    case RELATION_LATERAL:
        return depend_copy(domain, query, result, err);
    case RELATION_PROJECT:
        return depend_project(domain, query, result, err);
    case RELATION_AGGREGATE:
        return depend_aggregate(domain, query, result, err);
    case RELATION_JOIN:
        return depend_join(domain, query, result, err);
    case RELATION_SORT:
        return depend_sort(domain, query, result, err);
    case RELATION_OVER:
        return depend_over(domain, query, result, err);
    case RELATION_WINDOW:
        return depend_window(domain, query, result, err);
    case RELATION_UNION:
    case RELATION_INTERSECT:
    case RELATION_EXCEPT:
        return depend_set(domain, query, result, err);
    case RELATION_VALUES:
        return depend_values(domain, query, result, err);
    case RELATION_SCAN:
    case RELATION_WATERMARK:
        break;
    }
    return error_set_at(err, ERROR_NOT_SUPPORTED, query->line, query->column, "a column of the outer query in this place of a subquery");
}

enum status subquery_depend(struct rewrite *rewrite, struct relation *query, struct relation *outer, const uint32_t *columns,
                            uint32_t count, struct relation **result, struct error *err)
{
    struct relation *values, *distinct;
    uint32_t *keys;
    TRY_ALLOC(values, relation_select(rewrite->arena, outer, columns, count), err);
    TRY_ALLOC(keys, arena_alloc(rewrite->arena, (count + 1) * sizeof *keys), err);
    for (uint32_t i = 0; i < count; i++) {
        keys[i] = i;
    }
    TRY_ALLOC(distinct, relation_aggregate(rewrite->arena, values, keys, count, NULL, 0), err);
    struct domain domain = {rewrite, distinct, columns, count, count};
    return depend(&domain, query, result, err);
}
