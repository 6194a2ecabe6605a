/* Making relations, and finding the windows that columns come from. */
#include "sql/relation.h"

#include <string.h>

struct relation *relation_make(struct arena *arena, enum relation_kind kind, struct relation *const *inputs, uint32_t input_count,
                               uint32_t column_count)
{
    struct relation *relation = arena_alloc(arena, sizeof *relation);
    struct column *columns = arena_alloc(arena, (column_count + 1) * sizeof *columns);
    struct relation **list = arena_alloc(arena, (input_count + 1) * sizeof *list);
    if (relation == NULL || columns == NULL || list == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < input_count; i++) {
        list[i] = inputs[i];
    }
    *relation = (struct relation){.kind = kind,
                                  .schema = {column_count, columns},
                                  .inputs = list,
                                  .input_count = input_count,
                                  .line = input_count > 0 ? inputs[0]->line : 0,
                                  .column = input_count > 0 ? inputs[0]->column : 0};
    return relation;
}

struct relation *relation_make_over(struct arena *arena, enum relation_kind kind, struct relation *input)
{
    struct relation *relation = relation_make(arena, kind, &input, 1, 0);
    if (relation != NULL) {
        relation->schema = input->schema;
    }
    return relation;
}

struct column *relation_columns(struct relation *relation)
{
    return (struct column *)relation->schema.columns;
}

struct relation *relation_make_project(struct arena *arena, struct relation *input, const struct expression *const *expressions,
                                       const char *const *names, const enum time_attribute *times, uint32_t count)
{
    struct relation *relation = relation_make(arena, RELATION_PROJECT, &input, 1, count);
    const struct expression **copy = arena_alloc(arena, (count + 1) * sizeof *copy);
    if (relation == NULL || copy == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        copy[i] = expressions[i];
        relation_columns(relation)[i] = (struct column){names[i], expressions[i]->type, times != NULL ? times[i] : TIME_NONE};
    }
    relation->project.expressions = copy;
    return relation;
}

const char **schema_names(struct arena *arena, const struct schema *schema)
{
    const char **names = arena_alloc(arena, (schema->count + 1) * sizeof *names);
    for (uint32_t i = 0; i < schema->count && names != NULL; i++) {
        names[i] = schema->columns[i].name;
    }
    return names;
}

const char *const *relation_input_names(struct arena *arena, const struct relation *relation)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < relation->input_count; i++) {
        count += relation->inputs[i]->schema.count;
    }
    const char **names = arena_alloc(arena, (count + 1) * sizeof *names);
    if (names == NULL) {
        return NULL;
    }
    uint32_t at = 0;
    for (uint32_t i = 0; i < relation->input_count; i++) {
        for (uint32_t c = 0; c < relation->inputs[i]->schema.count; c++) {
            names[at++] = relation->inputs[i]->schema.columns[c].name;
        }
    }
    return names;
}

/* The input and its column that `column` of this relation is passed on from; NULL: it is made here. */
static const struct relation *find_origin(const struct relation *relation, uint32_t *column)
{
    switch (relation->kind) {
    case RELATION_PROJECT: {
        const struct expression *expression = relation->project.expressions[*column];
        if (expression->kind != EXPRESSION_COLUMN) {
            return NULL;
        }
        *column = expression->index;
        return relation->inputs[0];
    }
    case RELATION_AGGREGATE:
        if (*column >= relation->aggregate.key_count) {
            return NULL;
        }
        *column = relation->aggregate.keys[*column];
        return relation->inputs[0];
    case RELATION_JOIN: {
        uint32_t left = relation->inputs[0]->schema.count;
        if (*column < left) {
            return relation->inputs[0];
        }
        *column -= left;
        return relation->inputs[1];
    }
    case RELATION_FILTER:
    case RELATION_WATERMARK:
    case RELATION_SORT:
        return relation->inputs[0];
    case RELATION_WINDOW:
    case RELATION_LATERAL:
    case RELATION_OVER:
        return *column < relation->inputs[0]->schema.count ? relation->inputs[0] : NULL;
    default:
        return NULL;
    }
}

enum window_role relation_window_role(const struct relation *relation, uint32_t column, const struct relation **window)
{
    while (relation != NULL) {
        if (relation->kind == RELATION_WINDOW && column >= relation->inputs[0]->schema.count) {
            if (window != NULL) {
                *window = relation;
            }
            return WINDOW_ROLE_START + (enum window_role)(column - relation->inputs[0]->schema.count);
        }
        relation = find_origin(relation, &column);
    }
    return WINDOW_ROLE_NONE;
}
