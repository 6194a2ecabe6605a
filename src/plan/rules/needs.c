/* What each kind of relation reads of its inputs. */
#include "plan/rules/needs.h"

enum status needs_create(struct arena *arena, uint32_t count, struct needs *needs, struct error *err)
{
    needs->count = count;
    TRY_ALLOC(needs->columns, arena_alloc(arena, (count + 1) * sizeof *needs->columns), err);
    return STATUS_OK;
}

void need_whole(struct need *need)
{
    need->used = need->whole = true;
}

static enum status need_children(struct arena *arena, struct need *need, uint32_t count, struct error *err)
{
    if (need->children == NULL) {
        TRY_ALLOC(need->children, arena_alloc(arena, (count + 1) * sizeof *need->children), err);
        need->child_count = count;
    }
    return STATUS_OK;
}

enum status need_merge(struct arena *arena, struct need *into, const struct need *from, struct error *err)
{
    if (!from->used) {
        return STATUS_OK;
    }
    into->used = true;
    into->whole = into->whole || from->whole;
    if (into->whole || from->children == NULL) {
        return STATUS_OK;
    }
    TRY(need_children(arena, into, from->child_count, err));
    for (uint32_t i = 0; i < from->child_count; i++) {
        TRY(need_merge(arena, &into->children[i], &from->children[i], err));
    }
    return STATUS_OK;
}

struct reading {
    struct arena *arena;
    struct needs *needs;
    const struct need *need; /* of the expression's value */
    enum status status;
    struct error *err;
};

/* A path of fields down to a column: the need of the value is that of the field. */
static enum status read_path(struct reading *reading, const struct expression *expression, const struct need *need, bool *is_path)
{
    struct error *err = reading->err;
    if (expression->kind == EXPRESSION_COLUMN) {
        *is_path = true;
        return need_merge(reading->arena, &reading->needs->columns[expression->index], need, err);
    }
    if (expression->kind != EXPRESSION_FIELD || expression->args[0]->type->kind != TYPE_ROW) {
        *is_path = false;
        return STATUS_OK;
    }
    struct need row = {.used = true};
    TRY(need_children(reading->arena, &row, expression->args[0]->type->child_count, err));
    row.children[expression->index] = *need;
    return read_path(reading, expression->args[0], &row, is_path);
}

static bool read_visit(const struct expression *node, void *context)
{
    static const struct need whole = {true, true, 0, NULL};
    struct reading *reading = context;
    bool is_path = false;
    if (reading->status == STATUS_OK && (node->kind == EXPRESSION_COLUMN || node->kind == EXPRESSION_FIELD)) {
        reading->status = read_path(reading, node, &whole, &is_path);
    }
    return !is_path;
}

/* The columns an expression reads, of which `need` is needed (NULL: all). */
static enum status read_expression(struct arena *arena, const struct expression *expression, const struct need *need, struct needs *needs,
                                   struct error *err)
{
    struct reading reading = {arena, needs, need, STATUS_OK, err};
    bool is_path = false;
    if (expression == NULL) {
        return STATUS_OK;
    }
    if (need != NULL) {
        TRY(read_path(&reading, expression, need, &is_path));
    }
    if (!is_path) {
        expression_walk(expression, read_visit, &reading);
    }
    return reading.status;
}

static void read_columns(const uint32_t *columns, uint32_t count, struct needs *needs)
{
    for (uint32_t i = 0; i < count; i++) {
        need_whole(&needs->columns[columns[i]]);
    }
}

static void read_order(const struct sort_key *keys, uint32_t count, struct needs *needs)
{
    for (uint32_t i = 0; i < count; i++) {
        need_whole(&needs->columns[keys[i].column]);
    }
}

/* Columns that pass through: `shift` is where the input's begin in the output. Rows that are kept in state are kept whole. */
static enum status pass(struct arena *arena, const struct needs *own, uint32_t shift, bool stored, struct needs *needs, struct error *err)
{
    for (uint32_t i = 0; i < needs->count && shift + i < own->count; i++) {
        if (own->columns[shift + i].used && stored) {
            need_whole(&needs->columns[i]);
        } else {
            TRY(need_merge(arena, &needs->columns[i], &own->columns[shift + i], err));
        }
    }
    return STATUS_OK;
}

static enum status of_project(struct arena *arena, const struct relation *relation, const struct needs *own, struct needs *needs,
                              struct error *err)
{
    for (uint32_t i = 0; i < relation->schema.count; i++) {
        if (own->columns[i].used) {
            const struct need *need = own->columns[i].whole ? NULL : &own->columns[i];
            TRY(read_expression(arena, relation->project.expressions[i], need, needs, err));
        }
    }
    return STATUS_OK;
}

static enum status of_aggregate(struct arena *arena, const struct relation *relation, const struct needs *own, struct needs *needs,
                                struct error *err)
{
    const struct aggregate_relation *aggregate = &relation->aggregate;
    read_columns(aggregate->keys, aggregate->key_count, needs);
    for (uint32_t i = 0; i < aggregate->call_count; i++) {
        const struct aggregate_call *call = &aggregate->calls[i];
        if (!own->columns[aggregate->key_count + i].used && !(aggregate->key_count == 0 && i == 0)) {
            continue;
        }
        for (uint32_t a = 0; a < call->arg_count; a++) {
            TRY(read_expression(arena, call->args[a], NULL, needs, err));
        }
        TRY(read_expression(arena, call->filter, NULL, needs, err));
        read_order(call->order, call->order_count, needs);
    }
    if (aggregate->window != NULL) {
        need_whole(&needs->columns[aggregate->window->time_column]);
        read_columns(aggregate->window->partition, aggregate->window->partition_count, needs);
    }
    return STATUS_OK;
}

static enum status of_over(struct arena *arena, const struct relation *relation, const struct needs *own, struct needs *needs,
                           struct error *err)
{
    const struct over_relation *over = &relation->over;
    uint32_t first = relation->schema.count - over->call_count;
    read_columns(over->partition, over->partition_count, needs);
    read_order(over->order, over->order_count, needs);
    for (uint32_t i = 0; i < over->call_count; i++) {
        for (uint32_t a = 0; own->columns[first + i].used && a < over->calls[i].arg_count; a++) {
            TRY(read_expression(arena, over->calls[i].args[a], NULL, needs, err));
        }
        if (own->columns[first + i].used) {
            TRY(read_expression(arena, over->calls[i].filter, NULL, needs, err));
        }
    }
    return pass(arena, own, 0, true, needs, err);
}

static enum status of_join(struct arena *arena, const struct relation *relation, const struct needs *own, uint32_t input,
                           struct needs *needs, struct error *err)
{
    uint32_t left = relation->inputs[0]->schema.count, right = relation->inputs[1]->schema.count;
    struct needs both;
    TRY(needs_create(arena, left + right, &both, err));
    TRY(read_expression(arena, relation->join.condition, NULL, &both, err));
    for (uint32_t i = 0; i < needs->count; i++) {
        if (both.columns[input == 0 ? i : left + i].used) {
            need_whole(&needs->columns[i]);
        }
    }
    if (relation->join.temporal && input == 0) {
        need_whole(&needs->columns[relation->join.time_column]);
    }
    for (uint32_t i = 0; relation->join.temporal && input == 1 && i < right; i++) {
        if (relation->inputs[1]->schema.columns[i].time == TIME_ROWTIME) {
            need_whole(&needs->columns[i]);
        }
    }
    return input == 0 || join_keeps_right(relation->join.kind) ? pass(arena, own, input == 0 ? 0 : left, true, needs, err) : STATUS_OK;
}

enum status needs_of_input(struct arena *arena, const struct relation *relation, const struct needs *own, uint32_t input,
                           struct needs *needs, struct error *err)
{
    TRY(needs_create(arena, relation->inputs[input]->schema.count, needs, err));
    switch (relation->kind) {
    case RELATION_FILTER:
        TRY(read_expression(arena, relation->filter.condition, NULL, needs, err));
        return pass(arena, own, 0, false, needs, err);
    case RELATION_PROJECT:
        return of_project(arena, relation, own, needs, err);
    case RELATION_WATERMARK:
        need_whole(&needs->columns[relation->watermark.column]);
        TRY(read_expression(arena, relation->watermark.expression, NULL, needs, err));
        return pass(arena, own, 0, false, needs, err);
    case RELATION_AGGREGATE:
        return of_aggregate(arena, relation, own, needs, err);
    case RELATION_WINDOW:
        need_whole(&needs->columns[relation->window.time_column]);
        read_columns(relation->window.partition, relation->window.partition_count, needs);
        return pass(arena, own, 0, relation->window.kind == WINDOW_SESSION, needs, err);
    case RELATION_JOIN:
        return of_join(arena, relation, own, input, needs, err);
    case RELATION_LATERAL:
        for (uint32_t i = 0; i < relation->lateral.arg_count; i++) {
            TRY(read_expression(arena, relation->lateral.args[i], NULL, needs, err));
        }
        return pass(arena, own, 0, true, needs, err);
    case RELATION_OVER:
        return of_over(arena, relation, own, needs, err);
    case RELATION_SORT:
        read_order(relation->sort.keys, relation->sort.key_count, needs);
        return pass(arena, own, 0, true, needs, err);
    case RELATION_UNION:
        return pass(arena, own, 0, true, needs, err);
    case RELATION_INTERSECT:
    case RELATION_EXCEPT:
        for (uint32_t i = 0; i < needs->count; i++) {
            need_whole(&needs->columns[i]);
        }
        return STATUS_OK;
    case RELATION_SCAN:
    case RELATION_VALUES:
        break;
    }
    return STATUS_OK;
}
