/* EXPLAIN: one operator a line, inputs indented below, with what it does and [changelog mode, keys, watermark, state]; and what can share it. */
#include "plan/physical.h"

static const char **names_of(const struct plan_node *node, const char **names, uint32_t room)
{
    if (node->schema->count > room) {
        return NULL;
    }
    for (uint32_t i = 0; i < node->schema->count; i++) {
        names[i] = node->schema->columns[i].name;
    }
    return names;
}

enum { NAMES_MAX = 256 };

static void print_columns(const struct schema *schema, const uint32_t *columns, uint32_t count, struct text_builder *out)
{
    for (uint32_t i = 0; i < count; i++) {
        text_append_format(out, "%s%s", i > 0 ? ", " : "", schema->columns[columns[i]].name);
    }
}

static void print_schema(const struct schema *schema, struct text_builder *out)
{
    for (uint32_t i = 0; i < schema->count; i++) {
        text_append_format(out, "%s%s", i > 0 ? ", " : "", schema->columns[i].name);
    }
}

static void print_order(const struct schema *schema, const struct sort_key *keys, uint32_t count, struct text_builder *out)
{
    for (uint32_t i = 0; i < count; i++) {
        text_append_format(out, "%s%s%s", i > 0 ? ", " : "", schema->columns[keys[i].column].name, keys[i].descending ? " DESC" : "");
        if (keys[i].nulls_first == keys[i].descending) {
            text_append_text(out, keys[i].nulls_first ? " NULLS FIRST" : " NULLS LAST");
        }
    }
}

static void describe_calc(const struct plan_node *node, struct text_builder *out)
{
    const char *names[NAMES_MAX], **input = names_of(node->inputs[0], names, NAMES_MAX);
    for (uint32_t i = 0; i < node->calc.expression_count; i++) {
        const struct expression *expression = node->calc.expressions[i];
        const char *name = node->schema->columns[i].name;
        text_append_text(out, i == 0 ? "select " : ", ");
        expression_print(expression, input, out);
        bool same = expression->kind == EXPRESSION_COLUMN &&
                    text_equal(text_from(name), text_from(node->inputs[0]->schema->columns[expression->index].name));
        if (!same) {
            text_append_format(out, " AS %s", name);
        }
    }
    if (node->calc.condition != NULL) {
        text_append_text(out, node->calc.expression_count > 0 ? " where " : "where ");
        expression_print(node->calc.condition, input, out);
    }
}

static void describe_calls(const struct schema *schema, const struct aggregate_spec_call *calls, uint32_t count, struct text_builder *out)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct aggregate_spec_call *call = &calls[i];
        text_append_format(out, "%s%s(%s", i > 0 ? ", " : "", call->function->name, call->distinct ? "DISTINCT " : "");
        if (call->arg_count == 0) {
            text_append_char(out, '*');
        }
        print_columns(schema, call->args, call->arg_count, out);
        text_append_char(out, ')');
        if (call->filter >= 0) {
            text_append_format(out, " FILTER %s", schema->columns[call->filter].name);
        }
    }
}

static void describe_aggregate(const struct plan_node *node, struct text_builder *out)
{
    const struct group_aggregate_spec *spec = &node->group_aggregate;
    const struct schema *schema = node->inputs[0]->schema;
    text_append_text(out, spec->key_count > 0 ? "by " : "all rows");
    print_columns(schema, spec->keys, spec->key_count, out);
    text_append_text(out, spec->call_count > 0 ? ": " : "");
    describe_calls(schema, spec->calls, spec->call_count, out);
}

static void print_duration(int64_t us, struct text_builder *out)
{
    static const struct {
        int64_t us;
        const char *name;
    } units[] = {{INT64_C(86400000000), "d"}, {INT64_C(3600000000), "h"}, {60000000, "min"}, {1000000, "s"}, {1000, "ms"}, {1, "us"}};
    for (uint32_t i = 0; i < ARRAY_LENGTH(units); i++) {
        if (us % units[i].us == 0 || i + 1 == ARRAY_LENGTH(units)) {
            text_append_format(out, "%lld %s", (long long)(us / units[i].us), units[i].name);
            return;
        }
    }
}

static void describe_window(const struct window_spec *window, struct text_builder *out)
{
    static const char *const kinds[] = {"TUMBLE", "HOP", "CUMULATE", "SESSION"};
    text_append_format(out, "%s(", kinds[window->kind]);
    if (window->kind == WINDOW_HOP || window->kind == WINDOW_CUMULATE) {
        print_duration(window->slide_us, out);
        text_append_text(out, ", ");
    }
    print_duration(window->size_us, out);
    if (window->offset_us != 0) {
        text_append_text(out, ", offset ");
        print_duration(window->offset_us, out);
    }
    text_append_format(out, ")%s", window->processing_time ? " of processing time" : "");
}

static void describe_window_aggregate(const struct plan_node *node, const struct window_aggregate_spec *spec, struct text_builder *out)
{
    const struct schema *schema = node->inputs[0]->schema;
    describe_window(&spec->window, out);
    if (spec->attached) {
        text_append_format(out, " of %s, %s", schema->columns[spec->start_column].name, schema->columns[spec->end_column].name);
    } else {
        text_append_format(out, " on %s", schema->columns[spec->window.time_column].name);
    }
    if (spec->key_count > 0) {
        text_append_text(out, " by ");
        print_columns(schema, spec->keys, spec->key_count, out);
    }
    text_append_text(out, spec->call_count > 0 ? ": " : "");
    describe_calls(schema, spec->calls, spec->call_count, out);
}

static void describe_join(const struct plan_node *node, const struct join_spec *spec, struct text_builder *out)
{
    static const char *const kinds[] = {"inner", "left", "right", "full", "semi", "anti"};
    const struct schema *left = node->inputs[0]->schema, *right = node->inputs[1]->schema;
    text_append_format(out, "%s%s%s", kinds[spec->kind], spec->null_aware ? " null-aware" : "", spec->single ? " single" : "");
    for (uint32_t k = 0; k < spec->key_count; k++) {
        text_append_format(out, "%s%s %s %s", k > 0 ? " and " : " on ", left->columns[spec->left_keys[k]].name,
                           spec->null_safe[k] ? "is not distinct from" : "=", right->columns[spec->right_keys[k]].name);
    }
    if (spec->condition != NULL && left->count + right->count <= NAMES_MAX) {
        const char *names[NAMES_MAX];
        names_of(node->inputs[0], names, NAMES_MAX);
        names_of(node->inputs[1], names + left->count, NAMES_MAX - left->count);
        text_append_text(out, " where ");
        expression_print(spec->condition, names, out);
    }
}

static void describe_prune(const struct plan_node *node, struct text_builder *out)
{
    for (uint32_t side = 0; side < 2; side++) {
        const struct join_prune *prune = &node->join.prune[side];
        if (prune->present) {
            text_append_format(out, ", %s rows until the %s watermark is at %s %c ", side == 0 ? "left" : "right",
                               side == 0 ? "right" : "left", node->inputs[side]->schema->columns[prune->time_column].name,
                               prune->lag_us > 0 ? '-' : '+');
            print_duration(prune->lag_us > 0 ? prune->lag_us : -prune->lag_us, out);
        }
    }
}

static void describe_interval(const struct plan_node *node, struct text_builder *out)
{
    const struct interval_join_spec *spec = &node->interval_join;
    describe_join(node, &spec->join, out);
    text_append_format(out, " within %s + [", node->inputs[1]->schema->columns[spec->right_time].name);
    print_duration(spec->low_us, out);
    text_append_text(out, ", ");
    print_duration(spec->high_us, out);
    text_append_format(out, "] of %s", node->inputs[0]->schema->columns[spec->left_time].name);
}

static void describe_top_n(const struct plan_node *node, struct text_builder *out)
{
    static const char *const functions[] = {"ROW_NUMBER", "RANK", "DENSE_RANK"};
    const struct top_n_spec *spec = &node->top_n;
    const struct schema *schema = node->inputs[0]->schema;
    text_append_format(out, "%s ", functions[spec->function]);
    if (spec->last == INT64_MAX) {
        text_append_format(out, "from %lld", (long long)spec->first);
    } else {
        text_append_format(out, "%lld to %lld", (long long)spec->first, (long long)spec->last);
    }
    text_append_text(out, spec->partition_count > 0 ? " by " : "");
    print_columns(schema, spec->partition, spec->partition_count, out);
    text_append_text(out, " order ");
    print_order(schema, spec->order, spec->order_count, out);
}

static void describe_expression(const struct plan_node *node, const struct expression *expression, struct text_builder *out)
{
    const char *names[NAMES_MAX];
    expression_print(expression, names_of(node->inputs[0], names, NAMES_MAX), out);
}

static void describe_over_call(const struct plan_node *node, const struct over_call *call, struct text_builder *out)
{
    text_append_format(out, "%s(%s", call->aggregate != NULL ? call->aggregate->name : call->name, call->distinct ? "DISTINCT " : "");
    for (uint32_t i = 0; i < call->arg_count; i++) {
        text_append_text(out, i > 0 ? ", " : "");
        describe_expression(node, call->args[i], out);
    }
    text_append_char(out, ')');
    if (call->filter != NULL) {
        text_append_text(out, " FILTER ");
        describe_expression(node, call->filter, out);
    }
}

static void print_bound(const struct over_relation *over, int64_t bound, const char *side, struct text_builder *out)
{
    if (bound == 0) {
        text_append_text(out, "current row");
        return;
    }
    if (bound == FRAME_UNBOUNDED) {
        text_append_text(out, "unbounded");
    } else if (over->unit == FRAME_ROWS) {
        text_append_format(out, "%lld", (long long)bound);
    } else if (over->approximate) {
        double distance;
        memcpy(&distance, &bound, sizeof distance);
        text_append_format(out, "%.17g", distance);
    } else {
        print_duration(bound, out);
    }
    text_append_text(out, side);
}

static void describe_frame(const struct over_relation *over, struct text_builder *out)
{
    if (!over->default_frame) {
        text_append_text(out, over->unit == FRAME_ROWS ? " rows between " : " range between ");
        print_bound(over, over->preceding, " preceding", out);
        text_append_text(out, " and ");
        print_bound(over, over->following, " following", out);
    }
}

static void describe_over(const struct plan_node *node, struct text_builder *out)
{
    const struct over_relation *over = &node->over.over;
    const struct schema *schema = node->inputs[0]->schema;
    for (uint32_t i = 0; i < over->call_count; i++) {
        text_append_text(out, i > 0 ? ", " : "");
        describe_over_call(node, &over->calls[i], out);
    }
    text_append_text(out, over->partition_count > 0 ? " by " : "");
    print_columns(schema, over->partition, over->partition_count, out);
    text_append_text(out, over->order_count > 0 ? " order " : "");
    print_order(schema, over->order, over->order_count, out);
    describe_frame(over, out);
    text_append_text(out, node->over.event_time ? ", as the watermark passes" : "");
}

static void describe_exchange(const struct plan_node *node, struct text_builder *out)
{
    text_append_text(out, node->exchange.key_count > 0 ? "hash of " : node->exchange.to_all ? "to all" : "to one");
    print_columns(node->inputs[0]->schema, node->exchange.keys, node->exchange.key_count, out);
}

static void describe_sort(const struct plan_node *node, struct text_builder *out)
{
    text_append_text(out, "by ");
    print_order(node->inputs[0]->schema, node->sort.keys, node->sort.key_count, out);
    text_append_text(out, node->sort.temporal ? ", as the watermark passes" : "");
}

static void describe_deduplicate(const struct plan_node *node, struct text_builder *out)
{
    const struct deduplicate_spec *spec = &node->deduplicate;
    const struct schema *schema = node->inputs[0]->schema;
    text_append_format(out, "%s row by ", spec->keep_last ? "last" : "first");
    print_columns(schema, spec->keys, spec->key_count, out);
    text_append_format(out, " order %s", schema->columns[spec->time_column].name);
}

static bool describe_windows_and_joins(const struct plan_node *node, struct text_builder *out)
{
    switch (node->operator) {
    case PLAN_WINDOW_COLUMNS:
        describe_window(&node->window_columns.window, out);
        return true;
    case PLAN_WINDOW_AGGREGATE:
        describe_window_aggregate(node, &node->window_aggregate, out);
        return true;
    case PLAN_SESSION_WINDOW:
        describe_window_aggregate(node, &node->session.base, out);
        return true;
    case PLAN_JOIN:
        describe_join(node, &node->join, out);
        describe_prune(node, out);
        return true;
    case PLAN_INTERVAL_JOIN:
        describe_interval(node, out);
        return true;
    case PLAN_WINDOW_JOIN:
        describe_join(node, &node->window_join.join, out);
        return true;
    case PLAN_LOOKUP_JOIN:
        describe_join(node, &node->lookup_join.join, out);
        return true;
    case PLAN_TEMPORAL_JOIN:
        describe_join(node, &node->temporal_join.join, out);
        text_append_format(out, " as of %s", node->inputs[0]->schema->columns[node->temporal_join.left_time].name);
        return true;
    default:
        return false;
    }
}

static bool describe_ordered(const struct plan_node *node, struct text_builder *out)
{
    switch (node->operator) {
    case PLAN_TOP_N:
        describe_top_n(node, out);
        return true;
    case PLAN_DEDUPLICATE:
        describe_deduplicate(node, out);
        return true;
    case PLAN_OVER:
        describe_over(node, out);
        return true;
    case PLAN_SORT:
        describe_sort(node, out);
        return true;
    case PLAN_LIMIT:
        text_append_format(out, "%lld, offset %lld", (long long)node->limit.fetch, (long long)node->limit.offset);
        return true;
    default:
        return false;
    }
}

void plan_node_describe(const struct plan_node *node, struct text_builder *out)
{
    if (describe_windows_and_joins(node, out) || describe_ordered(node, out)) {
        return;
    }
    switch (node->operator) {
    case PLAN_SOURCE:
    case PLAN_SINK:
        text_append_format(out, "%s: ", node->table);
        print_schema(node->schema, out);
        break;
    case PLAN_DEAD_LETTERS:
        text_append_format(out, "of %s", node->dead_letter.readers);
        break;
    case PLAN_VALUES:
        text_append_format(out, "%u rows", node->values.row_count);
        break;
    case PLAN_WATERMARK:
        text_append_format(out, "%s AS ", node->schema->columns[node->watermark.time_column].name);
        describe_expression(node, node->watermark.candidate, out);
        break;
    case PLAN_CALC:
        describe_calc(node, out);
        break;
    case PLAN_EXCHANGE:
        describe_exchange(node, out);
        break;
    case PLAN_GROUP_AGGREGATE:
        describe_aggregate(node, out);
        break;
    case PLAN_EXPAND:
        text_append_format(out, "%u grouping sets", node->expand.set_count);
        break;
    case PLAN_SET:
        text_append_format(out, "%s%s", node->set.except ? "EXCEPT" : "INTERSECT", node->set.all ? " ALL" : "");
        break;
    case PLAN_UNNEST:
        describe_expression(node, node->unnest.collection, out);
        break;
    case PLAN_PROGRAM:
        text_append_text(out, node->program.name);
        break;
    case PLAN_PROGRAM_OUTPUT:
        text_append_text(out, node->program_output.table);
        break;
    case PLAN_RESULT:
        print_schema(node->schema, out);
        break;
    default:
        break;
    }
}

static void print_ttl(int64_t ttl_us, const char *of, struct text_builder *out)
{
    if (ttl_us > 0) {
        text_append_format(out, ", ttl %s", of);
        print_duration(ttl_us, out);
    }
}

static void print_ttls(const struct plan_node *node, struct text_builder *out)
{
    switch (node->operator) {
    case PLAN_GROUP_AGGREGATE:
        print_ttl(node->group_aggregate.ttl_us, "", out);
        break;
    case PLAN_JOIN:
        if (node->join.ttl_us[0] == node->join.ttl_us[1]) {
            print_ttl(node->join.ttl_us[0], "", out);
            break;
        }
        print_ttl(node->join.ttl_us[0], "left ", out);
        print_ttl(node->join.ttl_us[1], "right ", out);
        break;
    case PLAN_TOP_N:
        print_ttl(node->top_n.ttl_us, "", out);
        break;
    case PLAN_DEDUPLICATE:
        print_ttl(node->deduplicate.ttl_us, "", out);
        break;
    case PLAN_OVER:
        print_ttl(node->over.ttl_us, "", out);
        break;
    case PLAN_SET:
        print_ttl(node->set.ttl_us, "", out);
        break;
    default:
        break;
    }
}

static void print_properties(const struct plan_node *node, struct text_builder *out)
{
    const struct properties *properties = &node->properties;
    bool keyed = properties->key_count > 0;
    text_append_text(out, properties->changes ? (keyed ? "[upsert" : "[changelog") : "[append-only");
    if (keyed && properties->keys[0].count > 0) {
        text_append_text(out, ", key ");
        print_columns(node->schema, properties->keys[0].columns, properties->keys[0].count, out);
    } else if (keyed) {
        text_append_text(out, ", one row");
    }
    for (uint32_t i = 0; i < node->schema->count; i++) {
        if (column_set_has(&properties->event_time, i) && node->schema->columns[i].time == TIME_ROWTIME) {
            text_append_format(out, ", watermark on %s", node->schema->columns[i].name);
        }
    }
    if (plan_operator_state(node->operator) != NULL) {
        text_append_format(out, ", state: %s", plan_operator_state(node->operator));
        print_ttls(node, out);
    }
    text_append_text(out, properties->bounded ? "]" : ", unbounded]");
}

/* A node read more than once is printed where it is met first. */
static void print_node(const struct plan_node *node, uint32_t depth, uint64_t *printed, struct text_builder *out)
{
    bool again = ((printed[node->id / 64] >> (node->id % 64)) & 1) != 0;
    text_append_format(out, "%*s%s", (int)(depth * 2), "", plan_operator_name(node->operator));
    if (node->consumers > 1) {
        text_append_format(out, " #%u%s", node->id, again ? " (shared, above)" : "");
    }
    if (again) {
        text_append_char(out, '\n');
        return;
    }
    printed[node->id / 64] |= (uint64_t)1 << (node->id % 64);
    text_append_char(out, ' ');
    plan_node_describe(node, out);
    text_append_char(out, ' ');
    print_properties(node, out);
    text_append_char(out, '\n');
    for (uint32_t i = 0; i < node->input_count; i++) {
        print_node(node->inputs[i], depth + 1, printed, out);
    }
}

/* Of INSERTs; a query has its rows in the process that asks. */
static void print_processes(const struct plan *plan, struct text_builder *out)
{
    struct plan_spread spread;
    struct error err;
    if (plan->schema != NULL) {
        return;
    }
    if (plan_find_spread(plan, &spread, &err) != STATUS_OK) {
        out->failed = true;
    } else if (spread.pieces == 0) {
        text_append_format(out, "Processes: one task: %s\n", spread.reason);
    } else {
        text_append_format(out, "Processes: %u task%s: %s\n", spread.pieces, spread.pieces == 1 ? "" : "s", spread.reason);
    }
}

void plan_explain(const struct plan *plan, bool logical, struct text_builder *out)
{
    uint64_t *printed = arena_alloc(plan->arena, (plan->node_count / 64 + 1) * sizeof *printed);
    if (printed == NULL) {
        out->failed = true;
        return;
    }
    if (logical) {
        text_append_format(out, "== Bound ==\n%s\n== Rewritten ==\n%s\n== Operators ==\n", plan->before, plan->after);
    }
    for (uint32_t i = 0; i < plan->output_count; i++) {
        print_node(plan->outputs[i], 0, printed, out);
    }
    print_processes(plan, out);
}
