/* One worker's circuit from the plan: a node of the circuit for each of the plan, in order. */
#include "plan/physical.h"

struct build {
    struct plan *plan;
    struct circuit *circuit;
};

static struct node *input_of(const struct build *build, const struct plan_node *node, uint32_t input)
{
    return node->inputs[input]->running[build->circuit->worker];
}

static enum status build_aggregate(const struct build *build, const struct plan_node *node, struct node **made, struct error *err)
{
    struct group_aggregate_spec *spec;
    TRY_ALLOC(spec, arena_copy(build->circuit->arena, &node->group_aggregate, sizeof *spec), err);
    spec->empty_row_by_hash = spec->key_count > 0 && node->inputs[0]->operator== PLAN_EXCHANGE;
    spec->emit_empty_row = spec->emit_empty_row && (spec->empty_row_by_hash || build->circuit->worker == 0);
    return group_aggregate_create(build->circuit, spec, input_of(build, node, 0), made, err);
}

static enum status build_watermark(const struct build *build, const struct plan_node *node, struct node **made, struct error *err)
{
    struct watermark_spec *spec;
    TRY_ALLOC(spec, arena_copy(build->circuit->arena, &node->watermark, sizeof *spec), err);
    spec->source = node->source->running[build->circuit->worker];
    return watermark_node_create(build->circuit, spec, input_of(build, node, 0), made, err);
}

static void gather_inputs(const struct build *build, const struct plan_node *node, struct node *inputs[NODE_INPUTS_MAX])
{
    for (uint32_t i = 0; i < node->input_count && i < NODE_INPUTS_MAX; i++) {
        inputs[i] = input_of(build, node, i);
    }
}

static enum status build_union(const struct build *build, const struct plan_node *node, struct node **made, struct error *err)
{
    struct node *inputs[NODE_INPUTS_MAX];
    gather_inputs(build, node, inputs);
    return union_node_create(build->circuit, inputs, node->input_count, made, err);
}

static enum status build_program(const struct build *build, const struct plan_node *node, struct node **made, struct error *err)
{
    struct node *inputs[NODE_INPUTS_MAX];
    gather_inputs(build, node, inputs);
    return program_node_create(build->circuit, &node->program, inputs, made, err);
}

static enum status build_sink(const struct build *build, const struct plan_node *node, struct node **made, struct error *err)
{
    TRY(sink_node_create(build->circuit, &node->sink, input_of(build, node, 0), made, err));
    (*made)->label = node->table;
    return STATUS_OK;
}

static enum status build_one(const struct build *build, struct plan_node *node, struct node **made, struct error *err)
{
    struct circuit *circuit = build->circuit;
    struct node *first = node->input_count > 0 ? input_of(build, node, 0) : NULL;
    struct node *second = node->input_count > 1 ? input_of(build, node, 1) : NULL;
    switch (node->operator) {
    case PLAN_SOURCE:
        TRY(source_node_create(circuit, &node->read->spec, made, err));
        (*made)->label = node->table; /* its state is found by it */
        return STATUS_OK;
    case PLAN_DEAD_LETTERS:
        return dead_letter_node_create(circuit, &node->dead_letter, made, err);
    case PLAN_VALUES:
        return values_node_create(circuit, &node->values, made, err);
    case PLAN_WATERMARK:
        return build_watermark(build, node, made, err);
    case PLAN_CALC:
        return calc_node_create(circuit, &node->calc, first, made, err);
    case PLAN_UNION:
        return build_union(build, node, made, err);
    case PLAN_EXCHANGE:
        return exchange_node_create(circuit, &node->exchange, first, made, err);
    case PLAN_GROUP_AGGREGATE:
        return build_aggregate(build, node, made, err);
    case PLAN_EXPAND:
        return expand_node_create(circuit, &node->expand, first, made, err);
    case PLAN_WINDOW_COLUMNS:
        return window_columns_create(circuit, &node->window_columns, first, made, err);
    case PLAN_WINDOW_AGGREGATE:
        return window_aggregate_create(circuit, &node->window_aggregate, first, made, err);
    case PLAN_SESSION_WINDOW:
        return session_window_create(circuit, &node->session, first, made, err);
    case PLAN_JOIN:
        return join_node_create(circuit, &node->join, first, second, made, err);
    case PLAN_INTERVAL_JOIN:
        return interval_join_create(circuit, &node->interval_join, first, second, made, err);
    case PLAN_WINDOW_JOIN:
        return window_join_create(circuit, &node->window_join, first, second, made, err);
    case PLAN_LOOKUP_JOIN:
        return lookup_join_create(circuit, &node->lookup_join, first, second, made, err);
    case PLAN_TEMPORAL_JOIN:
        return temporal_join_create(circuit, &node->temporal_join, first, second, made, err);
    case PLAN_TOP_N:
        return top_n_create(circuit, &node->top_n, first, made, err);
    case PLAN_DEDUPLICATE:
        return deduplicate_create(circuit, &node->deduplicate, first, made, err);
    case PLAN_OVER:
        return over_node_create(circuit, &node->over, first, made, err);
    case PLAN_SORT:
        return sort_node_create(circuit, &node->sort, first, made, err);
    case PLAN_LIMIT:
        return limit_node_create(circuit, &node->limit, first, made, err);
    case PLAN_SET:
        return set_node_create(circuit, &node->set, first, second, made, err);
    case PLAN_UNNEST:
        return unnest_node_create(circuit, &node->unnest, first, made, err);
    case PLAN_PROGRAM:
        return build_program(build, node, made, err);
    case PLAN_PROGRAM_OUTPUT:
        return program_output_create(circuit, &node->program_output, first, made, err);
    case PLAN_SINK:
        return build_sink(build, node, made, err);
    case PLAN_RESULT:
        return result_node_create(circuit, &node->result, first, made, err);
    case PLAN_OPERATOR_COUNT:
        break;
    }
    return error_set(err, ERROR_INTERNAL, "an operator without a maker: %d", (int)node->operator);
}

enum status plan_build(struct plan *plan, struct circuit *circuit, struct error *err)
{
    struct build build = {plan, circuit};
    for (uint32_t i = 0; i < plan->node_count; i++) {
        struct plan_node *node = plan->nodes[i];
        struct node **made = &node->running[circuit->worker];
        TRY(build_one(&build, node, made, err));
        (*made)->meaning = node->meaning;
        (*made)->exact = node->exact;
    }
    return STATUS_OK;
}
