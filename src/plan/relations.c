/* Makers of relations, and walks over their expressions. */
#include "plan/relations.h"

#include <string.h>

#include "functions/aggregate.h"
#include "functions/function.h"

enum status column_set_create(struct arena *arena, uint32_t count, struct column_set *set, struct error *err)
{
    set->count = count;
    TRY_ALLOC(set->words, arena_alloc(arena, (count / 64 + 1) * sizeof *set->words), err);
    return STATUS_OK;
}

uint32_t column_set_size(const struct column_set *set)
{
    uint32_t size = 0;
    for (uint32_t i = 0; i < set->count; i++) {
        size += column_set_has(set, i);
    }
    return size;
}

enum status conditions_add(struct conditions *list, const struct expression *condition, struct error *err)
{
    if (list->count == list->capacity) {
        TRY_ALLOC(list->items, arena_grow(list->arena, list->items, &list->capacity, list->count + 1, sizeof *list->items), err);
    }
    list->items[list->count++] = condition;
    return STATUS_OK;
}

enum status conditions_split(struct conditions *list, const struct expression *condition, struct error *err)
{
    if (condition == NULL) {
        return STATUS_OK;
    }
    if (condition->kind != EXPRESSION_AND) {
        return conditions_add(list, condition, err);
    }
    for (uint32_t i = 0; i < condition->arg_count; i++) {
        TRY(conditions_split(list, condition->args[i], err));
    }
    return STATUS_OK;
}

enum status conditions_join(const struct conditions *list, const struct expression **condition, struct error *err)
{
    *condition = NULL;
    for (uint32_t i = 0; i < list->count; i++) {
        TRY_ALLOC(*condition, expression_and(list->arena, *condition, list->items[i]), err);
    }
    return STATUS_OK;
}

static bool columns_visit(const struct expression *node, void *context)
{
    struct column_set *set = context;
    if (node->kind == EXPRESSION_COLUMN && node->index < set->count) {
        column_set_add(set, node->index);
    }
    return true;
}

void expression_columns(const struct expression *expression, struct column_set *set)
{
    expression_walk(expression, columns_visit, set);
}

struct reads {
    uint32_t first, count;
    bool found;
};

static bool reads_visit(const struct expression *node, void *context)
{
    struct reads *reads = context;
    if (node->kind == EXPRESSION_COLUMN && node->index >= reads->first && node->index - reads->first < reads->count) {
        reads->found = true;
    }
    return !reads->found;
}

bool expression_reads(const struct expression *expression, uint32_t first, uint32_t count)
{
    struct reads reads = {first, count, false};
    expression_walk(expression, reads_visit, &reads);
    return reads.found;
}

uint32_t expression_size(const struct expression *expression, uint32_t limit)
{
    uint32_t size = 1;
    for (uint32_t i = 0; i < expression->arg_count && size < limit; i++) {
        size += expression_size(expression->args[i], limit - size);
    }
    return size;
}

bool expression_is_call(const struct expression *expression, const char *function)
{
    return expression->kind == EXPRESSION_CALL && strcmp(expression->function->name, function) == 0;
}

const struct expression *expression_with_args(struct arena *arena, const struct expression *expression,
                                              const struct expression *const *args)
{
    struct expression *copy = arena_copy(arena, expression, sizeof *expression);
    if (copy != NULL) {
        copy->args = args;
    }
    return copy;
}

const struct expression *expression_apply(struct expression_change *change, const struct expression *expression)
{
    const struct expression *replaced = change->change(expression, change->context, &change->failed);
    if (replaced != NULL || change->failed || expression->arg_count == 0) {
        return replaced != NULL ? replaced : expression;
    }
    const struct expression **args = NULL;
    for (uint32_t i = 0; i < expression->arg_count; i++) {
        const struct expression *arg = expression_apply(change, expression->args[i]);
        if (arg != expression->args[i] && args == NULL) {
            args = arena_copy(change->arena, expression->args, expression->arg_count * sizeof *args);
            if (args == NULL) {
                change->failed = true;
                return expression;
            }
        }
        if (args != NULL) {
            args[i] = arg;
        }
    }
    if (args == NULL) {
        return expression;
    }
    const struct expression *copy = expression_with_args(change->arena, expression, args);
    change->failed |= copy == NULL;
    return copy != NULL ? copy : expression;
}

struct renumber {
    struct arena *arena;
    int32_t delta;
    const uint32_t *map;
    const struct expression *const *values;
    bool failed;
};

static const struct expression *renumber_map(const struct expression *column, void *context)
{
    struct renumber *renumber = context;
    if (renumber->values != NULL) {
        return renumber->values[column->index];
    }
    uint32_t index = renumber->map != NULL ? renumber->map[column->index] : (uint32_t)((int32_t)column->index + renumber->delta);
    const struct expression *moved = expression_column(renumber->arena, index, column->type);
    renumber->failed |= moved == NULL;
    return moved;
}

static const struct expression *renumber_run(const struct expression *expression, struct renumber renumber)
{
    const struct expression *result = expression_replace_columns(renumber.arena, expression, renumber_map, &renumber);
    return renumber.failed ? NULL : result;
}

const struct expression *expression_shift(struct arena *arena, const struct expression *expression, int32_t delta)
{
    return delta == 0 ? expression : renumber_run(expression, (struct renumber){.arena = arena, .delta = delta});
}

const struct expression *expression_substitute(struct arena *arena, const struct expression *expression,
                                               const struct expression *const *values)
{
    return renumber_run(expression, (struct renumber){.arena = arena, .values = values});
}

const struct expression *expression_renumber(struct arena *arena, const struct expression *expression, const uint32_t *map)
{
    return renumber_run(expression, (struct renumber){.arena = arena, .map = map});
}

struct relation *relation_new(struct arena *arena, enum relation_kind kind, uint32_t column_count, uint32_t input_count)
{
    struct relation *relation = arena_alloc(arena, sizeof *relation);
    if (relation == NULL) {
        return NULL;
    }
    relation->kind = kind;
    relation->schema.count = column_count;
    relation->schema.columns = arena_alloc(arena, (column_count + 1) * sizeof(struct column));
    relation->input_count = input_count;
    relation->inputs = arena_alloc(arena, (input_count + 1) * sizeof *relation->inputs);
    return relation->schema.columns == NULL || relation->inputs == NULL ? NULL : relation;
}

struct relation *relation_copy(struct arena *arena, const struct relation *relation)
{
    struct relation *copy = arena_copy(arena, relation, sizeof *relation);
    if (copy == NULL || relation->input_count == 0) {
        return copy;
    }
    copy->inputs = arena_copy(arena, relation->inputs, relation->input_count * sizeof *relation->inputs);
    return copy->inputs == NULL ? NULL : copy;
}

struct relation *relation_filter(struct arena *arena, struct relation *input, const struct expression *condition)
{
    struct relation *filter = relation_new(arena, RELATION_FILTER, 0, 1);
    if (filter != NULL) {
        filter->schema = input->schema;
        filter->inputs[0] = input;
        filter->filter.condition = condition;
    }
    return filter;
}

struct relation *relation_project(struct arena *arena, struct relation *input, uint32_t count, const struct expression *const *expressions,
                                  const struct column *columns)
{
    struct relation *project = relation_new(arena, RELATION_PROJECT, count, 1);
    if (project != NULL) {
        project->inputs[0] = input;
        project->project.expressions = expressions;
        project->schema.columns = columns;
        project->line = input->line;
        project->column = input->column;
    }
    return project;
}

struct relation *relation_select(struct arena *arena, struct relation *input, const uint32_t *columns, uint32_t count)
{
    const struct expression **expressions = arena_alloc(arena, (count + 1) * sizeof *expressions);
    struct column *schema = arena_alloc(arena, (count + 1) * sizeof *schema);
    if (expressions == NULL || schema == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        schema[i] = input->schema.columns[columns[i]];
        expressions[i] = expression_column(arena, columns[i], schema[i].type);
        if (expressions[i] == NULL) {
            return NULL;
        }
    }
    return relation_project(arena, input, count, expressions, schema);
}

bool join_keeps_right(enum join_kind kind)
{
    return kind != JOIN_SEMI && kind != JOIN_ANTI;
}

static bool copy_column(struct arena *arena, const struct column *from, bool nullable, struct column *to)
{
    *to = *from;
    if (nullable && !from->type->nullable) {
        to->type = type_with_nullable(arena, from->type, true);
    }
    return to->type != NULL;
}

struct relation *relation_join(struct arena *arena, enum join_kind kind, struct relation *left, struct relation *right,
                               const struct expression *condition)
{
    uint32_t right_count = join_keeps_right(kind) ? right->schema.count : 0;
    struct relation *join = relation_new(arena, RELATION_JOIN, left->schema.count + right_count, 2);
    if (join == NULL) {
        return NULL;
    }
    join->inputs[0] = left;
    join->inputs[1] = right;
    join->join.kind = kind;
    join->join.condition = condition;
    join->line = left->line;
    join->column = left->column;
    struct column *columns = (struct column *)join->schema.columns;
    for (uint32_t i = 0; i < join->schema.count; i++) {
        bool is_left = i < left->schema.count;
        bool nullable = kind == JOIN_FULL || (is_left ? kind == JOIN_RIGHT : kind == JOIN_LEFT);
        const struct column *from = is_left ? &left->schema.columns[i] : &right->schema.columns[i - left->schema.count];
        if (!copy_column(arena, from, nullable, &columns[i])) {
            return NULL;
        }
    }
    return join;
}

struct relation *relation_aggregate(struct arena *arena, struct relation *input, const uint32_t *keys, uint32_t key_count,
                                    const struct aggregate_call *calls, uint32_t call_count)
{
    struct relation *aggregate = relation_new(arena, RELATION_AGGREGATE, key_count + call_count, 1);
    if (aggregate == NULL) {
        return NULL;
    }
    struct column *columns = (struct column *)aggregate->schema.columns;
    for (uint32_t i = 0; i < key_count; i++) {
        columns[i] = input->schema.columns[keys[i]];
    }
    for (uint32_t i = 0; i < call_count; i++) {
        columns[key_count + i] = (struct column){calls[i].function->name, calls[i].type, TIME_NONE};
    }
    aggregate->inputs[0] = input;
    aggregate->aggregate = (struct aggregate_relation){.keys = keys, .key_count = key_count, .calls = calls, .call_count = call_count};
    aggregate->line = input->line;
    aggregate->column = input->column;
    return aggregate;
}

const struct expression *relation_column(struct arena *arena, const struct relation *relation, uint32_t index)
{
    return expression_column(arena, index, relation->schema.columns[index].type);
}

static enum status count_parents(struct relation *relation, struct pointer_map *parents, struct error *err)
{
    uintptr_t count = (uintptr_t)pointer_map_get(parents, relation);
    TRY(pointer_map_put(parents, relation, (void *)(count + 1), err));
    for (uint32_t i = 0; count == 0 && i < relation->input_count; i++) {
        TRY(count_parents(relation->inputs[i], parents, err));
    }
    return STATUS_OK;
}

enum status relation_count_parents(struct relation *const *roots, uint32_t count, struct pointer_map *parents, struct error *err)
{
    for (uint32_t i = 0; i < count; i++) {
        TRY(count_parents(roots[i], parents, err));
    }
    return STATUS_OK;
}
