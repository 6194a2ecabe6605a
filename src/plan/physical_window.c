/* Windows: table functions, and aggregates over them.
 *
 * GROUP BY window_start, window_end, ... directly over a table function is computed by slices from the function's input; anything between
 * (filters on the window, joins, earlier aggregates) leaves the windows as columns, and the aggregate is attached to those.
 */
#include <string.h>

#include "plan/physical.h"
#include "plan/physical_aggregate.h"

static enum status check_event_time(const struct relation *relation, const struct plan_node *input, const struct window_spec *window,
                                    struct error *err)
{
    if (window->processing_time || column_set_has(&input->properties.event_time, window->time_column)) {
        return STATUS_OK;
    }
    return plan_refuse(
        relation, ERROR_INVALID_WINDOW, err,
        "column '%s' is no event time here: a regular join, aggregate, Top-N or deduplication below the window lets rows of any "
        "time come late, or withdraws them; "
        "window the inputs first",
        input->schema->columns[window->time_column].name);
}

static bool is_zoned(const struct schema *schema, const struct window_spec *window)
{
    return !window->processing_time && schema->columns[window->time_column].type->kind == TYPE_TIMESTAMP_LTZ;
}

static enum status window_properties(struct planner *planner, const struct plan_node *input, const struct window_spec *window,
                                     struct plan_node *node, struct error *err)
{
    uint32_t count = input->schema->count, *map;
    TRY_ALLOC(map, arena_alloc(planner->arena, (count + 1) * sizeof *map), err);
    for (uint32_t i = 0; i < count; i++) {
        map[i] = i;
    }
    bool bounded = node->properties.bounded;
    struct properties *properties = &node->properties;
    TRY(properties_map(planner->arena, &input->properties, count, map, count + 3, properties, err));
    properties->bounded = bounded;
    if (window->kind != WINDOW_TUMBLE) {
        properties->key_count = 0;
    }
    column_set_add(&properties->event_time, count + 2);
    struct window_spec spec = *window;
    spec.zoned = is_zoned(input->schema, window);
    properties->window = (struct window_property){.present = true,
                                                  .spec = spec,
                                                  .starts = {count},
                                                  .ends = {count + 1},
                                                  .times = {count + 2},
                                                  .start_count = 1,
                                                  .end_count = 1,
                                                  .time_count = 1};
    return STATUS_OK;
}

enum status plan_window(struct planner *planner, struct relation *relation, struct plan_node **node, struct error *err)
{
    const struct window_spec *window = &relation->window;
    struct plan_node *input;
    TRY(plan_relation(planner, relation->inputs[0], &input, err));
    TRY(check_event_time(relation, input, window, err));
    if (window->kind == WINDOW_SESSION) {
        TRY(plan_distribute(planner, input, window->partition, window->partition_count, &input, err));
        TRY(plan_add(planner, PLAN_SESSION_WINDOW, &input, 1, &relation->schema, node, err));
        (*node)->session.rows = true;
        (*node)->session.base = (struct window_aggregate_spec){.input = plan_input(input),
                                                               .window = *window,
                                                               .keys = window->partition,
                                                               .key_count = window->partition_count,
                                                               .output = &relation->schema};
    } else {
        TRY(plan_add(planner, PLAN_WINDOW_COLUMNS, &input, 1, &relation->schema, node, err));
        (*node)->window_columns = (struct window_columns_spec){plan_input(input), *window, &relation->schema};
    }
    TRY(window_properties(planner, input, window, *node, err));
    if (window->kind == WINDOW_SESSION) {
        (*node)->properties.ordered = (*node)->properties.changes = false;
    }
    return STATUS_OK;
}

/* What each output column of a window aggregate is: a key, a call, or a window column. */
struct window_output {
    uint32_t *keys; /* columns of the aggregate's input */
    uint32_t key_count;
    enum window_column *window_columns;
    uint32_t window_column_count;
    uint32_t *order; /* per column of the relation: which output column of the operator */
};

/* A window's start and end must both be keys; other keys stay keys. false: it is no window aggregate. */
static enum status split_keys(struct planner *planner, const struct relation *relation, const struct window_property *window,
                              struct window_output *output, bool *is_window, struct error *err)
{
    const struct aggregate_relation *aggregate = &relation->aggregate;
    uint32_t room = aggregate->key_count + 1, starts = 0, ends = 0;
    TRY_ALLOC(output->keys, arena_alloc(planner->arena, room * sizeof *output->keys), err);
    TRY_ALLOC(output->window_columns, arena_alloc(planner->arena, room * sizeof *output->window_columns), err);
    TRY_ALLOC(output->order, arena_alloc(planner->arena, (relation->schema.count + 1) * sizeof *output->order), err);
    for (uint32_t i = 0; i < aggregate->key_count; i++) {
        uint32_t key = aggregate->keys[i];
        bool start = window_property_has(window->starts, window->start_count, key);
        bool end = window_property_has(window->ends, window->end_count, key);
        bool time = aggregate->sets == NULL && window_property_has(window->times, window->time_count, key);
        starts += start;
        ends += end;
        if (start || end || time) {
            output->order[i] = output->window_column_count | 0x80000000u;
            output->window_columns[output->window_column_count++] =
                start ? WINDOW_COLUMN_START : (end ? WINDOW_COLUMN_END : WINDOW_COLUMN_ROWTIME);
        } else {
            output->order[i] = output->key_count;
            output->keys[output->key_count++] = key;
        }
    }
    *is_window = window->present && starts > 0 && ends > 0;
    return STATUS_OK;
}

static bool sets_hold_window(const struct aggregate_relation *aggregate, const struct window_property *window)
{
    for (uint32_t i = 0; i < aggregate->key_count && aggregate->sets != NULL; i++) {
        uint32_t key = aggregate->keys[i];
        if (!window_property_has(window->starts, window->start_count, key) && !window_property_has(window->ends, window->end_count, key)) {
            continue;
        }
        for (uint32_t s = 0; s < aggregate->set_count; s++) {
            if (((aggregate->sets[s] >> i) & 1) == 0) {
                return false;
            }
        }
    }
    return true;
}

static enum status window_schema(struct planner *planner, const struct relation *relation, const struct plan_node *input,
                                 const struct window_aggregate_spec *spec, struct schema **schema, struct error *err)
{
    struct column *columns;
    uint32_t count = spec->key_count + spec->call_count + spec->window_column_count, at = 0;
    TRY(plan_schema_make(planner, count, &columns, schema, err));
    for (uint32_t i = 0; i < spec->key_count; i++) {
        columns[at++] = input->schema->columns[spec->keys[i]];
    }
    for (uint32_t i = 0; i < spec->call_count; i++) {
        columns[at++] = (struct column){spec->calls[i].function->name, spec->calls[i].type, TIME_NONE};
    }
    const struct aggregate_relation *aggregate = &relation->aggregate;
    for (uint32_t w = 0; w < spec->window_column_count; w++) {
        enum window_column kind = spec->window_columns[w];
        columns[at] = (struct column){"window_end", &type_timestamp3_not_null, TIME_NONE};
        for (uint32_t i = 0; i < relation->schema.count; i++) { /* the relation knows the type */
            bool found = aggregate->window != NULL && i >= aggregate->key_count + aggregate->call_count &&
                         i - aggregate->key_count - aggregate->call_count == w;
            if (found) {
                columns[at] = relation->schema.columns[i];
            }
        }
        columns[at].time = kind == WINDOW_COLUMN_ROWTIME ? TIME_ROWTIME : TIME_NONE;
        at++;
    }
    return STATUS_OK;
}

/* Adds the operator; output columns: keys, calls, window columns. */
static enum status window_node(struct planner *planner, const struct relation *relation, struct window_aggregate_spec *spec,
                               struct plan_node *input, const struct schema *schema, struct plan_node **node, struct error *err)
{
    uint32_t distribution = spec->window.kind == WINDOW_SESSION && !spec->attached ? spec->window.partition_count : spec->key_count;
    bool session = spec->window.kind == WINDOW_SESSION && !spec->attached;
    TRY(plan_combine_windows(planner, spec, schema, &input, err));
    TRY(plan_distribute(planner, input, spec->keys, distribution, &input, err));
    spec->input = plan_input(input);
    spec->output = schema;
    TRY(plan_add(planner, session ? PLAN_SESSION_WINDOW : PLAN_WINDOW_AGGREGATE, &input, 1, schema, node, err));
    if (session) {
        (*node)->session = (struct session_window_spec){*spec, false};
    } else {
        (*node)->window_aggregate = *spec;
    }
    TRY(aggregate_properties(planner, input, spec->keys, spec->key_count, false, *node, err));
    struct properties *properties = &(*node)->properties;
    struct window_property *window = &properties->window;
    *window = (struct window_property){.present = true, .spec = spec->window};
    uint32_t first = spec->key_count + spec->call_count;
    for (uint32_t i = 0; i < spec->window_column_count; i++) {
        enum window_column kind = spec->window_columns[i];
        uint32_t column = first + i;
        if (kind == WINDOW_COLUMN_START && window->start_count < WINDOW_COLUMNS_MAX) {
            window->starts[window->start_count++] = column;
        } else if (kind == WINDOW_COLUMN_END && window->end_count < WINDOW_COLUMNS_MAX) {
            window->ends[window->end_count++] = column;
        } else if (kind == WINDOW_COLUMN_ROWTIME) {
            column_set_add(&properties->event_time, column);
            if (window->time_count < WINDOW_COLUMNS_MAX) {
                window->times[window->time_count++] = column;
            }
        }
    }
    window->present = window->start_count > 0 && window->end_count > 0;
    properties->key_count = 0;
    uint32_t *key;
    TRY_ALLOC(key, arena_alloc(planner->arena, (spec->key_count + 2) * sizeof *key), err);
    for (uint32_t i = 0; i < spec->key_count; i++) {
        key[i] = i;
    }
    if (window->present) {
        key[spec->key_count] = window->starts[0];
        key[spec->key_count + 1] = window->ends[0];
        properties_add_key(properties, (struct column_list){key, spec->key_count + 2});
    }
    (void)relation;
    return STATUS_OK;
}

/* GROUP BY TUMBLE(...): the columns are in the relation's order already. */
static enum status plan_legacy(struct planner *planner, struct relation *relation, struct plan_node **node, struct error *err)
{
    const struct aggregate_relation *aggregate = &relation->aggregate;
    struct plan_node *input;
    struct aggregate_parts parts = {0};
    if (aggregate->sets != NULL) {
        return plan_refuse(relation, ERROR_NOT_SUPPORTED, err, "GROUPING SETS together with a group window function");
    }
    TRY(plan_relation(planner, relation->inputs[0], &input, err));
    TRY(check_event_time(relation, input, aggregate->window, err));
    TRY(aggregate_parts_make(planner, relation, input, &aggregate->window->time_column, 1, &parts, err));
    struct window_aggregate_spec spec = {.window = *aggregate->window,
                                         .keys = parts.keys,
                                         .key_count = parts.key_count,
                                         .calls = parts.calls,
                                         .call_count = parts.call_count,
                                         .window_columns = aggregate->window_columns,
                                         .window_column_count = aggregate->window_column_count};
    spec.window.time_column = parts.extra[0];
    spec.window.zoned = is_zoned(parts.input->schema, &spec.window);
    spec.window.partition = parts.keys;
    spec.window.partition_count = parts.key_count;
    struct schema *schema;
    TRY(window_schema(planner, relation, parts.input, &spec, &schema, err));
    return window_node(planner, relation, &spec, parts.input, schema, node, err);
}

/* Operator output to relation order. */
static enum status place_output(struct planner *planner, struct relation *relation, const struct window_aggregate_spec *spec,
                                const struct window_output *output, bool expanded, struct plan_node *window, struct plan_node **node,
                                struct error *err)
{
    const struct aggregate_relation *aggregate = &relation->aggregate;
    for (uint32_t i = 0; i < aggregate->key_count; i++) {
        if (output->order[i] & 0x80000000u) {
            output->order[i] = spec->key_count + spec->call_count + (output->order[i] & 0x7fffffffu);
        }
    }
    for (uint32_t i = 0; i < aggregate->call_count; i++) {
        output->order[aggregate->key_count + i] = spec->key_count + i;
    }
    if (expanded) {
        output->order[aggregate->key_count + aggregate->call_count] = spec->key_count - 1;
    }
    return plan_keep(planner, window, output->order, relation->schema.count, &relation->schema, node, err);
}

static enum status window_types(struct planner *planner, const struct relation *relation, const struct window_output *output,
                                uint32_t first, struct schema *schema, struct error *err)
{
    (void)planner;
    (void)err;
    struct column *columns = (struct column *)schema->columns;
    for (uint32_t i = 0; i < relation->aggregate.key_count; i++) {
        if (output->order[i] & 0x80000000u) {
            columns[first + (output->order[i] & 0x7fffffffu)] = relation->schema.columns[i];
        }
    }
    return STATUS_OK;
}

static enum status plan_attached(struct planner *planner, struct relation *relation, struct plan_node *input, struct window_output *output,
                                 struct plan_node **node, struct error *err)
{
    const struct window_property *window = &input->properties.window;
    struct aggregate_parts parts = {0};
    uint32_t extra[2] = {window->starts[0], window->ends[0]};
    TRY(aggregate_parts_make(planner, relation, input, extra, 2, &parts, err));
    uint32_t start = parts.extra[0], end = parts.extra[1];
    TRY(aggregate_expand(planner, relation, &parts, err));
    uint32_t *keys, count = 0;
    TRY_ALLOC(keys, arena_alloc(planner->arena, (parts.key_count + 2) * sizeof *keys), err);
    for (uint32_t i = 0; i < parts.key_count; i++) {
        if (!(output->order[i] & 0x80000000u)) {
            keys[count++] = parts.keys[i];
        }
    }
    if (parts.expanded) {
        keys[count++] = parts.keys[parts.key_count];
        start += parts.key_count;
        end += parts.key_count;
    }
    struct window_aggregate_spec spec = {.window = window->spec,
                                         .attached = true,
                                         .start_column = start,
                                         .end_column = end,
                                         .keys = keys,
                                         .key_count = count,
                                         .calls = parts.calls,
                                         .call_count = parts.call_count,
                                         .window_columns = output->window_columns,
                                         .window_column_count = output->window_column_count};
    struct schema *schema;
    struct plan_node *aggregate;
    TRY(window_schema(planner, relation, parts.input, &spec, &schema, err));
    TRY(window_types(planner, relation, output, count + parts.call_count, schema, err));
    TRY(window_node(planner, relation, &spec, parts.input, schema, &aggregate, err));
    return place_output(planner, relation, &spec, output, parts.expanded, aggregate, node, err);
}

/* AGGREGATE over [PROJECT over] WINDOW where only keys read the window's columns: the aggregate over the function's input, with the
 * window's time as a last column; NULL when it is not so. */
static enum status direct_relation(struct planner *planner, struct relation *relation, struct relation **direct, struct relation **window,
                                   struct window_property *property, struct error *err)
{
    struct relation *below = relation->inputs[0];
    struct relation *project = below->kind == RELATION_PROJECT ? below : NULL;
    *direct = NULL;
    *window = project != NULL ? project->inputs[0] : below;
    if ((*window)->kind != RELATION_WINDOW || relation->aggregate.sets != NULL) {
        return STATUS_OK;
    }
    struct relation *base = (*window)->inputs[0];
    uint32_t base_count = base->schema.count, count = below->schema.count;
    const struct expression **expressions;
    struct column *columns;
    TRY_ALLOC(expressions, arena_alloc(planner->arena, (count + 2) * sizeof *expressions), err);
    TRY_ALLOC(columns, arena_alloc(planner->arena, (count + 2) * sizeof *columns), err);
    *property = (struct window_property){.present = true, .spec = (*window)->window};
    for (uint32_t i = 0; i < count; i++) {
        const struct expression *expression;
        if (project != NULL) {
            expression = project->project.expressions[i];
        } else {
            TRY_ALLOC(expression, relation_column(planner->arena, below, i), err);
        }
        columns[i] = below->schema.columns[i];
        expressions[i] = expression;
        if (!expression_reads(expression, base_count, 3)) {
            continue;
        }
        if (expression->kind != EXPRESSION_COLUMN) {
            return STATUS_OK;
        }
        uint32_t which = expression->index - base_count;
        uint32_t *list = which == 0 ? property->starts : (which == 1 ? property->ends : property->times);
        uint32_t *used = which == 0 ? &property->start_count : (which == 1 ? &property->end_count : &property->time_count);
        if (*used == WINDOW_COLUMNS_MAX) {
            return STATUS_OK;
        }
        list[(*used)++] = i;
        TRY_ALLOC(expressions[i], expression_null(planner->arena, columns[i].type), err);
    }
    TRY_ALLOC(expressions[count], relation_column(planner->arena, base, (*window)->window.time_column), err);
    columns[count] = base->schema.columns[(*window)->window.time_column];
    struct relation *replaced;
    TRY_ALLOC(replaced, relation_project(planner->arena, base, count + 1, expressions, columns), err);
    TRY_ALLOC(*direct, relation_copy(planner->arena, relation), err);
    (*direct)->inputs[0] = replaced;
    return STATUS_OK;
}

/* Do arguments or filters of the calls read one of the window's columns? */
struct reads_window {
    const struct window_property *window;
    bool found;
};

static void reads_window_visit(const struct expression *expression, void *context)
{
    struct reads_window *reads = context;
    const struct window_property *window = reads->window;
    for (uint32_t i = 0; i < WINDOW_COLUMNS_MAX; i++) {
        reads->found = reads->found || (i < window->start_count && expression_reads(expression, window->starts[i], 1)) ||
                       (i < window->end_count && expression_reads(expression, window->ends[i], 1)) ||
                       (i < window->time_count && expression_reads(expression, window->times[i], 1));
    }
}

/* The session's partition must be grouped by; its keys come first. */
static bool session_keys_first(const struct relation *direct, const struct window_spec *window, struct window_output *output)
{
    const struct relation *project = direct->inputs[0];
    for (uint32_t p = 0; p < window->partition_count; p++) {
        uint32_t at = p;
        while (at < output->key_count) {
            const struct expression *key = project->project.expressions[output->keys[at]];
            if (key->kind == EXPRESSION_COLUMN && key->index == window->partition[p]) {
                break;
            }
            at++;
        }
        if (at == output->key_count) {
            return false;
        }
        uint32_t moved = output->keys[at];
        output->keys[at] = output->keys[p];
        output->keys[p] = moved;
        for (uint32_t i = 0; i < direct->aggregate.key_count; i++) { /* the places follow */
            if (output->order[i] == at || output->order[i] == p) {
                output->order[i] = output->order[i] == at ? p : at;
            }
        }
    }
    return true;
}

static enum status plan_direct(struct planner *planner, struct relation *relation, struct plan_node **node, struct error *err)
{
    struct relation *direct, *window;
    struct window_property property;
    struct window_output output = {0};
    bool is_window;
    TRY(direct_relation(planner, relation, &direct, &window, &property, err));
    if (direct == NULL) {
        return STATUS_OK;
    }
    TRY(split_keys(planner, relation, &property, &output, &is_window, err));
    struct reads_window reads = {&property, false};
    relation_walk_expressions(relation, reads_window_visit, &reads);
    if (!is_window || reads.found || (window->window.kind == WINDOW_SESSION && !session_keys_first(direct, &window->window, &output))) {
        return STATUS_OK;
    }
    struct plan_node *input, *base;
    TRY(plan_relation(planner, window->inputs[0], &base, err));
    TRY(check_event_time(window, base, &window->window, err));
    TRY(plan_relation(planner, direct->inputs[0], &input, err));
    struct aggregate_parts parts = {0};
    struct relation keyed = *direct;
    keyed.aggregate.keys = output.keys;
    keyed.aggregate.key_count = output.key_count;
    uint32_t time_column = input->schema->count - 1;
    TRY(aggregate_parts_make(planner, &keyed, input, &time_column, 1, &parts, err));
    struct window_aggregate_spec spec = {.window = window->window,
                                         .keys = parts.keys,
                                         .key_count = parts.key_count,
                                         .calls = parts.calls,
                                         .call_count = parts.call_count,
                                         .window_columns = output.window_columns,
                                         .window_column_count = output.window_column_count};
    spec.window.time_column = parts.extra[0];
    spec.window.zoned = is_zoned(parts.input->schema, &spec.window);
    spec.window.partition = parts.keys;
    struct schema *schema;
    struct plan_node *aggregate;
    TRY(window_schema(planner, relation, parts.input, &spec, &schema, err));
    TRY(window_types(planner, relation, &output, parts.key_count + parts.call_count, schema, err));
    TRY(window_node(planner, relation, &spec, parts.input, schema, &aggregate, err));
    return place_output(planner, relation, &spec, &output, false, aggregate, node, err);
}

enum status plan_window_aggregate(struct planner *planner, struct relation *relation, struct plan_node **node, struct error *err)
{
    if (relation->aggregate.window != NULL) {
        return plan_legacy(planner, relation, node, err);
    }
    TRY(plan_direct(planner, relation, node, err));
    if (*node != NULL) {
        return STATUS_OK;
    }
    struct plan_node *input;
    struct window_output output = {0};
    bool is_window;
    TRY(plan_relation(planner, relation->inputs[0], &input, err));
    const struct window_property *window = &input->properties.window;
    TRY(split_keys(planner, relation, window, &output, &is_window, err));
    if (!is_window || !sets_hold_window(&relation->aggregate, window)) {
        return STATUS_OK;
    }
    return plan_attached(planner, relation, input, &output, node, err);
}
