/* GROUP BY: arguments become columns, grouping sets become rows, windows become window aggregates. */
#include "plan/physical.h"
#include "plan/physical_aggregate.h"

/* Adds keys, arguments and filters to one list of expressions, then projects to them. */
static enum status calls_make(struct planner *planner, const struct relation *relation, const struct expression **wanted, uint32_t *count,
                              struct aggregate_spec_call *calls, struct error *err)
{
    const struct aggregate_relation *aggregate = &relation->aggregate;
    for (uint32_t i = 0; i < aggregate->call_count; i++) {
        const struct aggregate_call *call = &aggregate->calls[i];
        if (call->order_count > 0) {
            return error_set_at(err, ERROR_NOT_SUPPORTED, call->line, call->column, "ORDER BY inside %s", call->function->name);
        }
        uint32_t *args;
        TRY_ALLOC(args, arena_alloc(planner->arena, (call->arg_count + 1) * sizeof *args), err);
        calls[i] = (struct aggregate_spec_call){
            .function = call->function,
            .args = args,
            .arg_count = call->arg_count,
            .distinct = call->distinct,
            .ignore_nulls = call->ignore_nulls,
            .filter = call->filter != NULL ? (int32_t)(*count + call->arg_count) : -1,
            .type = call->type,
        };
        for (uint32_t a = 0; a < call->arg_count; a++) {
            args[a] = *count;
            wanted[(*count)++] = call->args[a];
        }
        if (call->filter != NULL) {
            wanted[(*count)++] = call->filter;
        }
    }
    return STATUS_OK;
}

static uint32_t wanted_count(const struct aggregate_relation *aggregate)
{
    uint32_t count = aggregate->key_count + 8;
    for (uint32_t i = 0; i < aggregate->call_count; i++) {
        count += aggregate->calls[i].arg_count + 1;
    }
    return count;
}

static void calls_place(struct aggregate_spec_call *calls, uint32_t count, const uint32_t *places)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t *args = (uint32_t *)calls[i].args;
        for (uint32_t a = 0; a < calls[i].arg_count; a++) {
            args[a] = places[args[a]];
        }
        if (calls[i].filter >= 0) {
            calls[i].filter = (int32_t)places[calls[i].filter];
        }
    }
}

enum status aggregate_parts_make(struct planner *planner, struct relation *relation, struct plan_node *input, const uint32_t *extra,
                                 uint32_t extra_count, struct aggregate_parts *parts, struct error *err)
{
    const struct aggregate_relation *aggregate = &relation->aggregate;
    uint32_t room = wanted_count(aggregate) + extra_count, count = 0;
    const struct expression **wanted;
    struct aggregate_spec_call *calls;
    uint32_t *places, *keys;
    TRY_ALLOC(wanted, arena_alloc(planner->arena, room * sizeof *wanted), err);
    TRY_ALLOC(places, arena_alloc(planner->arena, room * sizeof *places), err);
    TRY_ALLOC(keys, arena_alloc(planner->arena, room * sizeof *keys), err);
    TRY_ALLOC(calls, arena_alloc(planner->arena, (aggregate->call_count + 1) * sizeof *calls), err);
    for (uint32_t i = 0; i < aggregate->key_count; i++) {
        TRY_ALLOC(wanted[count], expression_column(planner->arena, aggregate->keys[i], input->schema->columns[aggregate->keys[i]].type),
                  err);
        count++;
    }
    for (uint32_t i = 0; i < extra_count; i++) {
        TRY_ALLOC(wanted[count], expression_column(planner->arena, extra[i], input->schema->columns[extra[i]].type), err);
        count++;
    }
    TRY(calls_make(planner, relation, wanted, &count, calls, err));
    parts->input = input;
    if (count > 0) {
        TRY(plan_only(planner, input, wanted, count, places, &parts->input, err));
    }
    calls_place(calls, aggregate->call_count, places);
    for (uint32_t i = 0; i < aggregate->key_count; i++) {
        keys[i] = places[i];
    }
    parts->keys = keys;
    parts->key_count = aggregate->key_count;
    parts->extra = places + aggregate->key_count;
    parts->calls = calls;
    parts->call_count = aggregate->call_count;
    return STATUS_OK;
}

enum status aggregate_expand(struct planner *planner, struct relation *relation, struct aggregate_parts *parts, struct error *err)
{
    const struct aggregate_relation *aggregate = &relation->aggregate;
    if (aggregate->sets == NULL) {
        return STATUS_OK;
    }
    struct plan_node *input = parts->input, *expand;
    /* A key is set to NULL outside its set, an argument is not: keys get columns of their own. */
    const uint32_t old_count = input->schema->count;
    uint32_t *columns;
    struct column *schema_columns;
    struct schema *schema;
    TRY_ALLOC(columns, arena_alloc(planner->arena, (parts->key_count + old_count + 1) * sizeof *columns), err);
    TRY(plan_schema_make(planner, parts->key_count + old_count, &schema_columns, &schema, err));
    for (uint32_t i = 0; i < parts->key_count + old_count; i++) {
        columns[i] = i < parts->key_count ? parts->keys[i] : i - parts->key_count;
        schema_columns[i] = input->schema->columns[columns[i]];
    }
    TRY(plan_keep(planner, input, columns, schema->count, schema, &input, err));
    struct column *out_columns;
    struct schema *out;
    TRY(plan_schema_make(planner, schema->count + 1, &out_columns, &out, err));
    uint32_t *keys;
    TRY_ALLOC(keys, arena_alloc(planner->arena, (parts->key_count + 1) * sizeof *keys), err);
    for (uint32_t i = 0; i < schema->count; i++) {
        out_columns[i] = schema_columns[i];
        if (i < parts->key_count) {
            TRY_ALLOC(out_columns[i].type, type_with_nullable(planner->arena, schema_columns[i].type, true), err);
            keys[i] = i;
        }
    }
    out_columns[schema->count] = (struct column){"grouping_id", &type_int_not_null, TIME_NONE};
    TRY(plan_add(planner, PLAN_EXPAND, &input, 1, out, &expand, err));
    expand->expand = (struct expand_spec){plan_input(input), keys, parts->key_count, aggregate->sets, aggregate->set_count, out};
    expand->properties.changes = input->properties.changes;
    expand->properties.ordered = input->properties.ordered;
    expand->properties.window = input->properties.window;
    keys[parts->key_count] = schema->count;
    for (uint32_t i = 0; i < parts->call_count; i++) {
        uint32_t *args = (uint32_t *)parts->calls[i].args;
        for (uint32_t a = 0; a < parts->calls[i].arg_count; a++) {
            args[a] += parts->key_count;
        }
        if (parts->calls[i].filter >= 0) {
            parts->calls[i].filter += (int32_t)parts->key_count;
        }
    }
    parts->input = expand;
    parts->keys = keys;
    parts->expanded = true;
    return STATUS_OK;
}

/* With grouping sets the id is the last key; the relation has it after the calls. */
enum status aggregate_reorder(struct planner *planner, struct relation *relation, const struct aggregate_parts *parts,
                              struct plan_node *input, struct plan_node **node, struct error *err)
{
    if (!parts->expanded) {
        *node = input;
        return STATUS_OK;
    }
    uint32_t *columns, count = relation->schema.count, at = 0;
    TRY_ALLOC(columns, arena_alloc(planner->arena, (count + 1) * sizeof *columns), err);
    for (uint32_t i = 0; i < parts->key_count; i++) {
        columns[at++] = i;
    }
    for (uint32_t i = 0; i < parts->call_count; i++) {
        columns[at++] = parts->key_count + 1 + i;
    }
    columns[at++] = parts->key_count;
    return plan_keep(planner, input, columns, count, &relation->schema, node, err);
}

static enum status group_schema(struct planner *planner, const struct aggregate_parts *parts, struct schema **schema, struct error *err)
{
    uint32_t keys = parts->key_count + parts->expanded;
    struct column *columns;
    TRY(plan_schema_make(planner, keys + parts->call_count, &columns, schema, err));
    for (uint32_t i = 0; i < keys; i++) {
        columns[i] = parts->input->schema->columns[parts->keys[i]];
        columns[i].time = TIME_NONE;
    }
    for (uint32_t i = 0; i < parts->call_count; i++) {
        columns[keys + i] = (struct column){parts->calls[i].function->name, parts->calls[i].type, TIME_NONE};
    }
    return STATUS_OK;
}

static bool has_empty_set(const struct aggregate_relation *aggregate)
{
    for (uint32_t i = 0; aggregate->sets != NULL && i < aggregate->set_count; i++) {
        if (aggregate->sets[i] == 0) {
            return true;
        }
    }
    return false;
}

enum status plan_aggregate(struct planner *planner, struct relation *relation, struct plan_node **node, struct error *err)
{
    TRY(plan_window_aggregate(planner, relation, node, err));
    if (*node != NULL) {
        return STATUS_OK;
    }
    struct plan_node *input, *group;
    struct aggregate_parts parts = {0};
    struct schema *schema;
    TRY(plan_relation(planner, relation->inputs[0], &input, err));
    TRY(aggregate_parts_make(planner, relation, input, NULL, 0, &parts, err));
    TRY(aggregate_expand(planner, relation, &parts, err));
    uint32_t key_count = parts.key_count + parts.expanded;
    TRY(plan_distribute(planner, parts.input, parts.keys, key_count, &input, err));
    TRY(group_schema(planner, &parts, &schema, err));
    TRY(plan_add(planner, PLAN_GROUP_AGGREGATE, &input, 1, schema, &group, err));
    group->group_aggregate =
        (struct group_aggregate_spec){.input = plan_input(input),
                                      .keys = parts.keys,
                                      .key_count = key_count,
                                      .calls = parts.calls,
                                      .call_count = parts.call_count,
                                      .ttl_us = key_count == 0 ? 0 : plan_ttl(planner, &relation->aggregate.ttl, group),
                                      .emit_empty_row = key_count == 0 || has_empty_set(&relation->aggregate)};
    TRY(aggregate_properties(planner, input, parts.keys, key_count, parts.call_count > 0 || input->properties.changes, group, err));
    return aggregate_reorder(planner, relation, &parts, group, node, err);
}

enum status aggregate_properties(struct planner *planner, const struct plan_node *input, const uint32_t *keys, uint32_t key_count,
                                 bool changes, struct plan_node *node, struct error *err)
{
    bool bounded = node->properties.bounded;
    TRY(properties_create(planner->arena, node->schema->count, &node->properties, err));
    struct properties *properties = &node->properties;
    uint32_t *own, *placed;
    TRY_ALLOC(own, arena_alloc(planner->arena, (key_count + 1) * sizeof *own), err);
    TRY_ALLOC(placed, arena_alloc(planner->arena, (key_count + 1) * sizeof *placed), err);
    for (uint32_t i = 0; i < key_count; i++) {
        own[i] = i;
    }
    properties->changes = changes;
    properties->bounded = bounded;
    properties_add_key(properties, (struct column_list){own, key_count});
    const struct properties *below = &input->properties;
    properties->distribution = below->distribution;
    for (uint32_t d = 0; d < below->distribution_columns.count; d++) {
        uint32_t at = 0;
        while (at < key_count && keys[at] != below->distribution_columns.columns[d]) {
            at++;
        }
        if (at == key_count) {
            properties->distribution = DISTRIBUTION_ANY;
            return STATUS_OK;
        }
        placed[d] = at;
    }
    properties->distribution_columns = (struct column_list){placed, below->distribution_columns.count};
    return STATUS_OK;
}
