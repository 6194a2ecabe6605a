/* Filters, projections, and exchanges. */
#include <string.h>

#include "plan/physical.h"
#include "plan/rules.h"

static enum status calc_properties(struct planner *planner, const struct plan_node *input, struct plan_node *node, struct error *err)
{
    const struct expression *const *expressions = node->calc.expressions;
    uint32_t old_count = input->schema->count;
    if (expressions == NULL) {
        node->properties = input->properties;
        return STATUS_OK;
    }
    uint32_t *map;
    TRY_ALLOC(map, arena_alloc(planner->arena, (old_count + 1) * sizeof *map), err);
    memset(map, 0xff, old_count * sizeof *map);
    for (uint32_t i = node->schema->count; i-- > 0;) {
        if (expressions[i]->kind == EXPRESSION_COLUMN) {
            map[expressions[i]->index] = i;
        }
    }
    TRY(properties_map(planner->arena, &input->properties, old_count, map, node->schema->count, &node->properties, err));
    for (uint32_t i = 0; i < node->schema->count; i++) { /* a column that stands twice keeps its time in both places */
        if (expressions[i]->kind == EXPRESSION_COLUMN && column_set_has(&input->properties.event_time, expressions[i]->index)) {
            column_set_add(&node->properties.event_time, i);
        }
    }
    return STATUS_OK;
}

static bool is_identity(const struct plan_node *input, const struct expression *const *expressions, const struct schema *schema)
{
    bool same = schema->count == input->schema->count;
    for (uint32_t i = 0; same && i < schema->count; i++) {
        same = expressions[i]->kind == EXPRESSION_COLUMN && expressions[i]->index == i;
    }
    return same;
}

static enum status substitute_all(struct planner *planner, const struct expression *const *expressions, uint32_t count,
                                  const struct expression *const *values, const struct expression *const **result, struct error *err)
{
    const struct expression **list;
    TRY_ALLOC(list, arena_alloc(planner->arena, (count + 1) * sizeof *list), err);
    for (uint32_t i = 0; i < count; i++) {
        TRY_ALLOC(list[i], expression_substitute(planner->arena, expressions[i], values), err);
    }
    *result = list;
    return STATUS_OK;
}

/* Moves the new calc over the input of the calc below, when that costs nothing twice. */
static enum status calc_merge(struct planner *planner, struct plan_node **input, const struct expression **condition,
                              const struct expression *const **expressions, uint32_t count, struct error *err)
{
    const struct plan_node *below = *input;
    const struct expression *const *inner = below->calc.expressions;
    if (below->operator!= PLAN_CALC || below->shared) {
        return STATUS_OK;
    }
    if (inner != NULL) {
        if ((*condition != NULL && !projection_can_merge(condition, 1, inner, below->schema->count, true)) || *expressions == NULL ||
            !projection_can_merge(*expressions, count, inner, below->schema->count, false)) {
            return STATUS_OK;
        }
        if (*condition != NULL) {
            TRY_ALLOC(*condition, expression_substitute(planner->arena, *condition, inner), err);
        }
        TRY(substitute_all(planner, *expressions, count, inner, expressions, err));
    }
    if (below->calc.condition != NULL) {
        TRY_ALLOC(*condition, expression_and(planner->arena, below->calc.condition, *condition), err);
    }
    *input = below->inputs[0];
    return STATUS_OK;
}

enum status plan_calc(struct planner *planner, struct plan_node *input, const struct expression *condition,
                      const struct expression *const *expressions, const struct schema *schema, struct plan_node **node, struct error *err)
{
    if (condition == NULL && is_identity(input, expressions, schema) && !input->shared) {
        *node = input;
        return STATUS_OK;
    }
    TRY(calc_merge(planner, &input, &condition, &expressions, schema->count, err));
    TRY(plan_add(planner, PLAN_CALC, &input, 1, schema, node, err));
    (*node)->calc = (struct calc_spec){plan_input(input), condition, expressions, expressions != NULL ? schema->count : 0};
    return calc_properties(planner, input, *node, err);
}

enum status plan_keep(struct planner *planner, struct plan_node *input, const uint32_t *columns, uint32_t count,
                      const struct schema *schema, struct plan_node **node, struct error *err)
{
    const struct expression **expressions;
    TRY_ALLOC(expressions, arena_alloc(planner->arena, (count + 1) * sizeof *expressions), err);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t from = columns != NULL ? columns[i] : i;
        TRY_ALLOC(expressions[i], expression_column(planner->arena, from, input->schema->columns[from].type), err);
    }
    return plan_calc(planner, input, NULL, expressions, schema, node, err);
}

static enum status plan_list(struct planner *planner, struct plan_node *input, uint32_t kept, const struct expression *const *expressions,
                             uint32_t count, uint32_t *places, struct plan_node **node, struct error *err)
{
    const struct expression **all;
    struct column *columns;
    struct schema *schema;
    TRY_ALLOC(all, arena_alloc(planner->arena, (kept + count + 1) * sizeof *all), err);
    TRY(plan_schema_make(planner, kept + count, &columns, &schema, err));
    for (uint32_t i = 0; i < kept; i++) {
        columns[i] = input->schema->columns[i];
        TRY_ALLOC(all[i], expression_column(planner->arena, i, columns[i].type), err);
    }
    uint32_t used = kept;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = 0;
        while (at < used && !expression_equal(all[at], expressions[i])) {
            at++;
        }
        if (at == used) {
            const struct expression *expression = expressions[i];
            bool plain = expression->kind == EXPRESSION_COLUMN;
            all[used] = expression;
            columns[used++] = plain ? input->schema->columns[expression->index]
                                    : (struct column){arena_format(planner->arena, "$%u", at), expression->type, TIME_NONE};
        }
        places[i] = at;
    }
    schema->count = used;
    if (used == kept && kept > 0) {
        *node = input;
        return STATUS_OK;
    }
    return plan_calc(planner, input, NULL, all, schema, node, err);
}

enum status plan_append(struct planner *planner, struct plan_node *input, const struct expression *const *expressions, uint32_t count,
                        uint32_t *places, struct plan_node **node, struct error *err)
{
    return plan_list(planner, input, input->schema->count, expressions, count, places, node, err);
}

enum status plan_only(struct planner *planner, struct plan_node *input, const struct expression *const *expressions, uint32_t count,
                      uint32_t *places, struct plan_node **node, struct error *err)
{
    return plan_list(planner, input, 0, expressions, count, places, node, err);
}

static bool is_placed(const struct plan_node *input, const uint32_t *keys, uint32_t key_count)
{
    const struct properties *properties = &input->properties;
    if (properties->distribution != DISTRIBUTION_HASH || key_count == 0) {
        return properties->distribution == DISTRIBUTION_ONE;
    }
    for (uint32_t i = 0; i < properties->distribution_columns.count; i++) {
        if (!window_property_has(keys, key_count, properties->distribution_columns.columns[i])) {
            return false;
        }
    }
    return true;
}

bool plan_is_placed(const struct planner *planner, const struct plan_node *input, const uint32_t *keys, uint32_t key_count)
{
    return planner->context->settings.parallelism <= 1 || is_placed(input, keys, key_count);
}

static enum status group_add(struct plan *plan, struct exchange_group **group, struct error *err)
{
    if (plan->group_count == plan->group_capacity) {
        TRY_ALLOC(plan->groups, arena_grow(plan->arena, plan->groups, &plan->group_capacity, plan->group_count + 1, sizeof *plan->groups),
                  err);
    }
    TRY(exchange_group_create(plan->context->settings.parallelism, group, err));
    plan->groups[plan->group_count++] = *group;
    return STATUS_OK;
}

enum status plan_distribute(struct planner *planner, struct plan_node *input, const uint32_t *keys, uint32_t key_count,
                            struct plan_node **node, struct error *err)
{
    *node = input;
    if (plan_is_placed(planner, input, keys, key_count)) {
        return STATUS_OK;
    }
    return plan_exchange(planner, input, keys, key_count, node, err);
}

enum status plan_exchange(struct planner *planner, struct plan_node *input, const uint32_t *keys, uint32_t key_count,
                          struct plan_node **node, struct error *err)
{
    TRY(plan_add(planner, PLAN_EXCHANGE, &input, 1, input->schema, node, err));
    struct exchange_group *group;
    TRY(group_add(planner->plan, &group, err));
    (*node)->exchange = (struct exchange_spec){.input = plan_input(input), .keys = keys, .key_count = key_count, .group = group};
    (*node)->properties.distribution = key_count > 0 ? DISTRIBUTION_HASH : DISTRIBUTION_ONE;
    (*node)->properties.distribution_columns = (struct column_list){keys, key_count};
    return STATUS_OK;
}

enum status plan_exchange_to_all(struct planner *planner, struct plan_node *input, struct plan_node **node, struct error *err)
{
    TRY(plan_exchange(planner, input, NULL, 0, node, err));
    (*node)->exchange.to_all = true;
    (*node)->properties.distribution = DISTRIBUTION_ALL;
    return STATUS_OK;
}
