/* Subqueries inside expressions: each becomes a value beside the relation's columns. */
#include <string.h>

#include "functions/aggregate.h"
#include "functions/function.h"
#include "plan/rules/subqueries.h"

/* Own columns become outer ones: the expression moves into a subquery. */
static const struct expression *outward_change(const struct expression *node, void *context, bool *failed)
{
    struct arena *arena = context;
    struct expression *copy;
    if (node->kind != EXPRESSION_COLUMN && node->kind != EXPRESSION_OUTER) {
        return NULL;
    }
    copy = arena_copy(arena, node, sizeof *node);
    *failed = *failed || copy == NULL;
    if (copy != NULL) {
        copy->depth = node->kind == EXPRESSION_COLUMN ? 1 : node->depth + 1;
        copy->kind = EXPRESSION_OUTER;
    }
    return copy;
}

static enum status count_rows(struct rewrite *rewrite, const struct expression *filter, struct aggregate_call *call, struct error *err)
{
    (void)rewrite;
    *call = (struct aggregate_call){.function = aggregate_find(TEXT("COUNT")), .filter = filter, .type = &type_bigint_not_null};
    return call->function != NULL ? STATUS_OK : error_set(err, ERROR_INTERNAL, "COUNT is not there");
}

static enum status is_positive(struct rewrite *rewrite, const struct expression *count, const struct expression **result, struct error *err)
{
    const struct expression *zero;
    TRY_ALLOC(zero, expression_int64(rewrite->arena, 0), err);
    return call_named(rewrite, ">", count, zero, result, err);
}

/* EXISTS Q as (SELECT COUNT(*) > 0 FROM Q). */
static enum status exists_query(struct rewrite *rewrite, struct relation *query, struct relation **result, struct error *err)
{
    struct arena *arena = rewrite->arena;
    struct aggregate_call *call;
    struct relation *counted;
    const struct expression **value, *count;
    struct column *column;
    TRY_ALLOC(call, arena_alloc(arena, sizeof *call), err);
    TRY_ALLOC(value, arena_alloc(arena, sizeof *value), err);
    TRY_ALLOC(column, arena_alloc(arena, sizeof *column), err);
    TRY(count_rows(rewrite, NULL, call, err));
    TRY_ALLOC(counted, relation_aggregate(arena, query, NULL, 0, call, 1), err);
    TRY_ALLOC(count, relation_column(arena, counted, 0), err);
    TRY(is_positive(rewrite, count, value, err));
    *column = (struct column){"exists", (*value)->type, TIME_NONE};
    TRY_ALLOC(*result, relation_project(arena, counted, 1, value, column), err);
    return STATUS_OK;
}

/* The comparison of each row of Q with the outer values, as a column. */
static enum status compared(struct rewrite *rewrite, const struct expression *subquery, struct relation **result, struct error *err)
{
    struct arena *arena = rewrite->arena;
    const struct expression *all = NULL, **value;
    struct column *column;
    for (uint32_t i = 0; i < subquery->arg_count; i++) {
        struct expression_change change = {arena, outward_change, arena, false};
        const struct expression *left = expression_apply(&change, subquery->args[i]), *right, *equal;
        if (change.failed) {
            return error_set(err, ERROR_BUDGET_SPENT, "no room for a rewritten expression");
        }
        TRY_ALLOC(right, relation_column(arena, subquery->relation, i), err);
        TRY(call_named(rewrite, "=", left, right, &equal, err));
        TRY_ALLOC(all, expression_and(arena, all, equal), err);
    }
    TRY_ALLOC(value, arena_alloc(arena, sizeof *value), err);
    TRY_ALLOC(column, arena_alloc(arena, sizeof *column), err);
    *value = all;
    *column = (struct column){"equal", all->type, TIME_NONE};
    TRY_ALLOC(*result, relation_project(arena, subquery->relation, 1, value, column), err);
    return STATUS_OK;
}

/* x IN Q: TRUE when some row is equal, else NULL when some might be, else FALSE. */
static enum status in_query(struct rewrite *rewrite, const struct expression *subquery, struct relation **result, struct error *err)
{
    struct arena *arena = rewrite->arena;
    struct relation *rows, *counted;
    struct aggregate_call *calls;
    const struct expression *equal, *unknown, **branches, **value;
    struct column *column;
    TRY(compared(rewrite, subquery, &rows, err));
    TRY_ALLOC(calls, arena_alloc(arena, 2 * sizeof *calls), err);
    TRY_ALLOC(branches, arena_alloc(arena, 5 * sizeof *branches), err);
    TRY_ALLOC(value, arena_alloc(arena, sizeof *value), err);
    TRY_ALLOC(column, arena_alloc(arena, sizeof *column), err);
    TRY_ALLOC(equal, relation_column(arena, rows, 0), err);
    TRY(call_named(rewrite, "IS NULL", equal, NULL, &unknown, err));
    TRY(count_rows(rewrite, equal, &calls[0], err));
    TRY(count_rows(rewrite, unknown, &calls[1], err));
    TRY_ALLOC(counted, relation_aggregate(arena, rows, NULL, 0, calls, 2), err);
    for (uint32_t i = 0; i < 2; i++) {
        const struct expression *count;
        TRY_ALLOC(count, relation_column(arena, counted, i), err);
        TRY(is_positive(rewrite, count, &branches[2 * i], err));
    }
    TRY_ALLOC(branches[1], expression_boolean(arena, true), err);
    TRY_ALLOC(branches[3], expression_null(arena, &type_boolean), err);
    TRY_ALLOC(branches[4], expression_boolean(arena, false), err);
    TRY_ALLOC(*value, expression_make(arena, EXPRESSION_CASE, &type_boolean, branches, 5), err);
    *column = (struct column){"in", &type_boolean, TIME_NONE};
    TRY_ALLOC(*result, relation_project(arena, counted, 1, value, column), err);
    return STATUS_OK;
}

struct values {
    struct rewrite *rewrite;
    struct relation **relation;
    enum status status;
    struct error *err;
};

static enum status attach_value(struct rewrite *rewrite, struct relation **relation, const struct expression *subquery,
                                const struct expression **value, struct error *err)
{
    struct relation *query = subquery->relation;
    if (subquery->subquery == SUBQUERY_EXISTS) {
        TRY(exists_query(rewrite, query, &query, err));
    } else if (subquery->subquery == SUBQUERY_IN) {
        TRY(in_query(rewrite, subquery, &query, err));
    }
    return attach_scalar(rewrite, relation, query, value, err);
}

static const struct expression *value_change(const struct expression *node, void *context, bool *failed)
{
    struct values *values = context;
    if (node->kind != EXPRESSION_SUBQUERY) {
        return NULL;
    }
    const struct expression *value = NULL;
    values->status = attach_value(values->rewrite, values->relation, node, &value, values->err);
    *failed = *failed || values->status != STATUS_OK;
    return value;
}

enum status attach_all(struct rewrite *rewrite, struct relation **relation, const struct expression *expression,
                       const struct expression **result, struct error *err)
{
    struct values values = {rewrite, relation, STATUS_OK, err};
    struct expression_change change = {rewrite->arena, value_change, &values, false};
    *result = expression_apply(&change, expression);
    TRY(values.status);
    return change.failed ? error_set(err, ERROR_BUDGET_SPENT, "no room for a rewritten expression") : STATUS_OK;
}
