/* From relations to operators: the dispatch, and the nodes that all kinds are made of. */
#include "plan/physical.h"

#include <stdarg.h>
#include <stdio.h>

static const struct {
    const char *name, *state;
} operators[PLAN_OPERATOR_COUNT] = {
#define X(name, text, state) [PLAN_##name] = {text, state},
    PLAN_OPERATOR_LIST(X)
#undef X
};

const char *plan_operator_name(enum plan_operator op)
{
    return operators[op].name;
}

const char *plan_operator_state(enum plan_operator op)
{
    return operators[op].state;
}

static plan_relation_fn *const planners[] = {
    [RELATION_SCAN] = plan_scan,       [RELATION_VALUES] = plan_values,       [RELATION_FILTER] = plan_filter,
    [RELATION_PROJECT] = plan_project, [RELATION_WATERMARK] = plan_watermark, [RELATION_AGGREGATE] = plan_aggregate,
    [RELATION_WINDOW] = plan_window,   [RELATION_JOIN] = plan_join,           [RELATION_LATERAL] = plan_lateral,
    [RELATION_OVER] = plan_over,       [RELATION_SORT] = plan_sort,           [RELATION_UNION] = plan_union,
    [RELATION_INTERSECT] = plan_set,   [RELATION_EXCEPT] = plan_set,
};

enum status plan_relation(struct planner *planner, struct relation *relation, struct plan_node **node, struct error *err)
{
    *node = pointer_map_get(&planner->memo, relation);
    if (*node != NULL) {
        return STATUS_OK;
    }
    TRY(cancel_check(planner->context->bind.cancelled, err));
    TRY(planners[relation->kind](planner, relation, node, err));
    if (relation_is_shared(&planner->parents, relation)) {
        (*node)->shared = true;
    }
    return pointer_map_put(&planner->memo, relation, *node, err);
}

enum status plan_refuse(const struct relation *relation, enum error_code code, struct error *err, const char *format, ...)
{
    char text[600];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return error_set_at(err, code, relation->line, relation->column, "%s", text);
}

/* Properties start as those of the first input when the columns stay, else empty; bounded only if all inputs are. */
enum status plan_add(struct planner *planner, enum plan_operator op, struct plan_node *const *inputs, uint32_t input_count,
                     const struct schema *schema, struct plan_node **node, struct error *err)
{
    struct plan *plan = planner->plan;
    struct plan_node *added;
    TRY_ALLOC(added, arena_alloc(planner->arena, sizeof *added), err);
    TRY_ALLOC(added->inputs, arena_alloc(planner->arena, (input_count + 1) * sizeof *added->inputs), err);
    added->operator= op;
    added->schema = schema;
    added->input_count = input_count;
    for (uint32_t i = 0; i < input_count; i++) {
        added->inputs[i] = inputs[i];
    }
    if (input_count > 0 && schema->count == inputs[0]->schema->count) {
        added->properties = inputs[0]->properties;
    } else {
        TRY(properties_create(planner->arena, schema->count, &added->properties, err));
    }
    added->properties.bounded = true;
    for (uint32_t i = 0; i < input_count; i++) {
        added->properties.bounded = added->properties.bounded && inputs[i]->properties.bounded;
        added->lossy = added->lossy || inputs[i]->lossy;
    }
    if (plan->node_count == plan->node_capacity) {
        TRY_ALLOC(plan->nodes, arena_grow(planner->arena, plan->nodes, &plan->node_capacity, plan->node_count + 1, sizeof *plan->nodes),
                  err);
    }
    added->id = plan->node_count;
    plan->nodes[plan->node_count++] = added;
    *node = added;
    return STATUS_OK;
}

struct input_spec plan_input(const struct plan_node *node)
{
    static const enum snapshot_place places[] = {[DISTRIBUTION_ANY] = SNAPSHOT_EVERY,
                                                 [DISTRIBUTION_ONE] = SNAPSHOT_ONE,
                                                 [DISTRIBUTION_HASH] = SNAPSHOT_HASH,
                                                 [DISTRIBUTION_ALL] = SNAPSHOT_EVERY};
    const struct properties *properties = &node->properties;
    return (struct input_spec){node->schema,
                               properties->changes,
                               properties->ordered,
                               places[properties->distribution],
                               properties->distribution_columns.columns,
                               properties->distribution_columns.count,
                               properties->distribution == DISTRIBUTION_ALL,
                               node->lossy};
}

int64_t plan_ttl(const struct planner *planner, const struct state_ttl *hint, struct plan_node *node)
{
    int64_t ttl_us = hint != NULL && hint->given ? hint->us : planner->context->settings.state_ttl_us;
    node->lossy = node->lossy || ttl_us > 0;
    return ttl_us;
}

enum status plan_schema_make(struct planner *planner, uint32_t count, struct column **columns, struct schema **schema, struct error *err)
{
    TRY_ALLOC(*columns, arena_alloc(planner->arena, (count + 1) * sizeof **columns), err);
    TRY_ALLOC(*schema, arena_alloc(planner->arena, sizeof **schema), err);
    (*schema)->count = count;
    (*schema)->columns = *columns;
    return STATUS_OK;
}

enum status plan_values(struct planner *planner, struct relation *relation, struct plan_node **node, struct error *err)
{
    TRY(plan_add(planner, PLAN_VALUES, NULL, 0, &relation->schema, node, err));
    (*node)->values = (struct values_spec){&relation->schema, relation->values.rows, relation->values.row_count};
    struct properties *properties = &(*node)->properties;
    properties->ordered = true;
    properties->distribution = DISTRIBUTION_ONE;
    for (uint32_t i = 0; i < relation->schema.count; i++) {
        column_set_add(&properties->event_time, i);
    }
    if (relation->values.row_count <= 1) {
        properties_add_key(properties, (struct column_list){NULL, 0});
    }
    return STATUS_OK;
}

enum status plan_filter(struct planner *planner, struct relation *relation, struct plan_node **node, struct error *err)
{
    TRY(plan_ranked_filter(planner, relation, NULL, node, err));
    if (*node != NULL) {
        return STATUS_OK;
    }
    struct plan_node *input;
    TRY(plan_relation(planner, relation->inputs[0], &input, err));
    return plan_calc(planner, input, relation->filter.condition, NULL, &relation->schema, node, err);
}

enum status plan_project(struct planner *planner, struct relation *relation, struct plan_node **node, struct error *err)
{
    struct relation *below = relation->inputs[0];
    struct plan_node *input = NULL;
    if (below->kind == RELATION_FILTER && !relation_is_shared(&planner->parents, below)) {
        struct column_set used;
        TRY(column_set_create(planner->arena, below->schema.count, &used, err));
        for (uint32_t i = 0; i < relation->schema.count; i++) {
            expression_columns(relation->project.expressions[i], &used);
        }
        TRY(plan_ranked_filter(planner, below, &used, &input, err));
    }
    if (input == NULL) {
        TRY(plan_relation(planner, below, &input, err));
    }
    return plan_calc(planner, input, NULL, relation->project.expressions, &relation->schema, node, err);
}

enum status plan_lateral(struct planner *planner, struct relation *relation, struct plan_node **node, struct error *err)
{
    if (!text_equal_ignoring_case(text_from(relation->lateral.function), TEXT("UNNEST"))) {
        return plan_refuse(relation, ERROR_NOT_SUPPORTED, err, "the table function %s is not supported in FROM",
                           relation->lateral.function);
    }
    struct plan_node *input;
    TRY(plan_relation(planner, relation->inputs[0], &input, err));
    TRY(plan_add(planner, PLAN_UNNEST, &input, 1, &relation->schema, node, err));
    (*node)->unnest = (struct unnest_spec){plan_input(input), relation->lateral.args[0], relation->lateral.outer,
                                           relation->lateral.with_ordinality, &relation->schema};
    uint32_t count = input->schema->count;
    uint32_t *map;
    TRY_ALLOC(map, arena_alloc(planner->arena, (count + 1) * sizeof *map), err);
    for (uint32_t i = 0; i < count; i++) {
        map[i] = i;
    }
    TRY(properties_map(planner->arena, &input->properties, count, map, relation->schema.count, &(*node)->properties, err));
    (*node)->properties.key_count = 0;
    (*node)->properties.ordered = false;
    return STATUS_OK;
}

static void union_properties(struct plan_node *node)
{
    struct properties *properties = &node->properties;
    properties->ordered = false;
    properties->key_count = 0;
    properties->distribution = DISTRIBUTION_ANY;
    for (uint32_t i = 1; i < node->input_count; i++) {
        const struct properties *other = &node->inputs[i]->properties;
        properties->changes = properties->changes || other->changes;
        properties->window.present = false;
    }
}

static enum status union_event_time(struct planner *planner, struct plan_node *node, struct error *err)
{
    struct column_set both;
    TRY(column_set_create(planner->arena, node->schema->count, &both, err));
    for (uint32_t c = 0; c < node->schema->count; c++) {
        bool all = true;
        for (uint32_t i = 0; i < node->input_count; i++) {
            all = all && column_set_has(&node->inputs[i]->properties.event_time, c);
        }
        if (all) {
            column_set_add(&both, c);
        }
    }
    node->properties.event_time = both;
    return STATUS_OK;
}

enum status plan_union(struct planner *planner, struct relation *relation, struct plan_node **node, struct error *err)
{
    struct plan_node *inputs[NODE_INPUTS_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < relation->input_count; i++) {
        if (count == NODE_INPUTS_MAX) {
            struct plan_node *first;
            TRY(plan_add(planner, PLAN_UNION, inputs, count, &relation->schema, &first, err));
            union_properties(first);
            TRY(union_event_time(planner, first, err));
            inputs[0] = first;
            count = 1;
        }
        TRY(plan_relation(planner, relation->inputs[i], &inputs[count++], err));
    }
    TRY(plan_add(planner, PLAN_UNION, inputs, count, &relation->schema, node, err));
    struct window_property window = inputs[0]->properties.window;
    union_properties(*node);
    bool same = true;
    for (uint32_t i = 0; i < count; i++) {
        const struct window_property *other = &inputs[i]->properties.window;
        same = same && other->present && other->starts[0] == window.starts[0] && other->ends[0] == window.ends[0] &&
               other->spec.kind == window.spec.kind && other->spec.size_us == window.spec.size_us &&
               other->spec.slide_us == window.spec.slide_us && other->spec.offset_us == window.spec.offset_us;
    }
    if (same) {
        window.start_count = window.end_count = 1;
        window.time_count = 0;
        (*node)->properties.window = window;
    }
    return union_event_time(planner, *node, err);
}

enum status plan_set(struct planner *planner, struct relation *relation, struct plan_node **node, struct error *err)
{
    struct plan_node *inputs[2];
    uint32_t count = relation->schema.count, *all;
    TRY_ALLOC(all, arena_alloc(planner->arena, (count + 1) * sizeof *all), err);
    for (uint32_t i = 0; i < count; i++) {
        all[i] = i;
    }
    for (uint32_t i = 0; i < 2; i++) {
        TRY(plan_relation(planner, relation->inputs[i], &inputs[i], err));
    }
    bool placed = planner->context->settings.parallelism <= 1 ||
                  (inputs[0]->properties.distribution == DISTRIBUTION_ONE && inputs[1]->properties.distribution == DISTRIBUTION_ONE);
    for (uint32_t i = 0; i < 2 && !placed; i++) {
        TRY(plan_exchange(planner, inputs[i], all, count, &inputs[i], err));
    }
    TRY(plan_add(planner, PLAN_SET, inputs, 2, &relation->schema, node, err));
    (*node)->set = (struct set_spec){plan_input(inputs[0]), plan_input(inputs[1]), relation->kind == RELATION_EXCEPT, relation->set.all,
                                     plan_ttl(planner, NULL, *node)};
    struct properties *properties = &(*node)->properties;
    properties->changes = true;
    properties->ordered = false;
    properties->window.present = false;
    properties->key_count = 0;
    TRY(column_set_create(planner->arena, count, &properties->event_time, err));
    if (!relation->set.all) {
        properties_add_key(properties, (struct column_list){all, count});
    }
    return STATUS_OK;
}
