/* The expressions that a relation holds: one list of where they are, for walks and for changes. */
#include "plan/relations.h"

struct changing {
    struct arena *arena;
    relation_change_fn *change;
    void *context;
    struct error *err;
};

static enum status change_one(struct changing *changing, const struct expression **place)
{
    return *place == NULL ? STATUS_OK : changing->change(*place, changing->context, place, changing->err);
}

static enum status change_list(struct changing *changing, const struct expression *const **list, uint32_t count)
{
    struct error *err = changing->err;
    if (count == 0) {
        return STATUS_OK;
    }
    const struct expression **copy;
    TRY_ALLOC(copy, arena_copy(changing->arena, *list, count * sizeof *copy), err);
    for (uint32_t i = 0; i < count; i++) {
        TRY(change_one(changing, &copy[i]));
    }
    *list = copy;
    return STATUS_OK;
}

static enum status change_aggregate(struct changing *changing, struct aggregate_relation *aggregate)
{
    struct error *err = changing->err;
    if (aggregate->call_count == 0) {
        return STATUS_OK;
    }
    struct aggregate_call *calls;
    TRY_ALLOC(calls, arena_copy(changing->arena, aggregate->calls, aggregate->call_count * sizeof *calls), err);
    for (uint32_t i = 0; i < aggregate->call_count; i++) {
        TRY(change_list(changing, &calls[i].args, calls[i].arg_count));
        TRY(change_one(changing, &calls[i].filter));
    }
    aggregate->calls = calls;
    return STATUS_OK;
}

static enum status change_over(struct changing *changing, struct over_relation *over)
{
    struct error *err = changing->err;
    struct over_call *calls;
    TRY_ALLOC(calls, arena_copy(changing->arena, over->calls, over->call_count * sizeof *calls), err);
    for (uint32_t i = 0; i < over->call_count; i++) {
        TRY(change_list(changing, &calls[i].args, calls[i].arg_count));
        TRY(change_one(changing, &calls[i].filter));
    }
    over->calls = calls;
    return STATUS_OK;
}

static enum status change_values(struct changing *changing, struct relation *relation)
{
    struct error *err = changing->err;
    uint32_t count = relation->values.row_count;
    if (count == 0) {
        return STATUS_OK;
    }
    const struct expression *const **rows;
    TRY_ALLOC(rows, arena_copy(changing->arena, relation->values.rows, count * sizeof *rows), err);
    for (uint32_t r = 0; r < count; r++) {
        TRY(change_list(changing, &rows[r], relation->schema.count));
    }
    relation->values.rows = rows;
    return STATUS_OK;
}

static enum status change_own(struct changing *changing, struct relation *relation)
{
    switch (relation->kind) {
    case RELATION_VALUES:
        return change_values(changing, relation);
    case RELATION_FILTER:
        return change_one(changing, &relation->filter.condition);
    case RELATION_PROJECT:
        return change_list(changing, &relation->project.expressions, relation->schema.count);
    case RELATION_WATERMARK:
        return change_one(changing, &relation->watermark.expression);
    case RELATION_AGGREGATE:
        return change_aggregate(changing, &relation->aggregate);
    case RELATION_JOIN:
        return change_one(changing, &relation->join.condition);
    case RELATION_LATERAL:
        return change_list(changing, &relation->lateral.args, relation->lateral.arg_count);
    case RELATION_OVER:
        return change_over(changing, &relation->over);
    case RELATION_SCAN:
    case RELATION_WINDOW:
    case RELATION_SORT:
    case RELATION_UNION:
    case RELATION_INTERSECT:
    case RELATION_EXCEPT:
        break;
    }
    return STATUS_OK;
}

enum status relation_change_expressions(struct arena *arena, struct relation *relation, relation_change_fn *change, void *context,
                                        struct relation **changed, struct error *err)
{
    struct changing changing = {arena, change, context, err};
    struct relation *copy;
    TRY_ALLOC(copy, relation_copy(arena, relation), err);
    TRY(change_own(&changing, copy));
    *changed = copy;
    return STATUS_OK;
}

struct walking {
    void (*visit)(const struct expression *expression, void *context);
    void *context;
};

static void walk_list(const struct walking *walking, const struct expression *const *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        walking->visit(list[i], walking->context);
    }
}

static void walk_optional(const struct walking *walking, const struct expression *expression)
{
    if (expression != NULL) {
        walking->visit(expression, walking->context);
    }
}

static void walk_calls(const struct walking *walking, const struct relation *relation)
{
    if (relation->kind == RELATION_AGGREGATE) {
        for (uint32_t i = 0; i < relation->aggregate.call_count; i++) {
            const struct aggregate_call *call = &relation->aggregate.calls[i];
            walk_list(walking, call->args, call->arg_count);
            walk_optional(walking, call->filter);
        }
        return;
    }
    for (uint32_t i = 0; i < relation->over.call_count; i++) {
        const struct over_call *call = &relation->over.calls[i];
        walk_list(walking, call->args, call->arg_count);
        walk_optional(walking, call->filter);
    }
}

void relation_walk_expressions(const struct relation *relation, void (*visit)(const struct expression *expression, void *context),
                               void *context)
{
    struct walking walking = {visit, context};
    switch (relation->kind) {
    case RELATION_VALUES:
        for (uint32_t r = 0; r < relation->values.row_count; r++) {
            walk_list(&walking, relation->values.rows[r], relation->schema.count);
        }
        break;
    case RELATION_FILTER:
        walk_optional(&walking, relation->filter.condition);
        break;
    case RELATION_PROJECT:
        walk_list(&walking, relation->project.expressions, relation->schema.count);
        break;
    case RELATION_WATERMARK:
        walk_optional(&walking, relation->watermark.expression);
        break;
    case RELATION_JOIN:
        walk_optional(&walking, relation->join.condition);
        break;
    case RELATION_LATERAL:
        walk_list(&walking, relation->lateral.args, relation->lateral.arg_count);
        break;
    case RELATION_AGGREGATE:
    case RELATION_OVER:
        walk_calls(&walking, relation);
        break;
    case RELATION_SCAN:
    case RELATION_WINDOW:
    case RELATION_SORT:
    case RELATION_UNION:
    case RELATION_INTERSECT:
    case RELATION_EXCEPT:
        break;
    }
}
