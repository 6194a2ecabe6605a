/* A program's plan: its inputs as any query's, one node for the program, and a sink for each table that it writes. */
#include "plan/physical.h"

static enum status make_schema(struct planner *planner, const struct type *row, const struct schema **schema, struct error *err)
{
    struct column *columns;
    struct schema *made;
    TRY(plan_schema_make(planner, row->child_count, &columns, &made, err));
    for (uint32_t i = 0; i < row->child_count; i++) {
        columns[i] = (struct column){.name = row->names[i], .type = row->children[i]};
    }
    *schema = made;
    return STATUS_OK;
}

static enum status make_output(struct planner *planner, const struct bound_program *program, struct plan_node *node, uint32_t number,
                               struct error *err)
{
    struct catalog_table *table = program->outputs[number];
    const struct bound_insert insert = {.table = table, .relation = program->inputs[0]};
    struct program_output_spec spec = {.number = number, .table = table->name};
    struct plan_node *output;
    TRY(plan_table_row(planner, table, &spec.row, err));
    TRY(make_schema(planner, spec.row, &spec.schema, err));
    TRY(plan_add(planner, PLAN_PROGRAM_OUTPUT, &node, 1, spec.schema, &output, err));
    output->program_output = spec;
    TRY(properties_create(planner->arena, spec.schema->count, &output->properties, err));
    output->properties.bounded = node->properties.bounded;
    return plan_sink(planner, output, &insert, number, err);
}

static enum status make_program(struct planner *planner, const struct bound_program *program, struct error *err)
{
    static const struct schema no_columns = {0};
    struct plan_node *inputs[NODE_INPUTS_MAX], *node;
    uint32_t count = program->spec.input_count;
    struct relation **roots;
    if (count > NODE_INPUTS_MAX) {
        return error_set(err, ERROR_TOO_MANY, "a program of %u inputs; the limit is %d", count, NODE_INPUTS_MAX);
    }
    TRY_ALLOC(roots, arena_copy(planner->arena, program->inputs, count * sizeof(struct relation *)), err);
    TRY(plan_rewrite_all(planner, roots, count, false, err));
    for (uint32_t i = 0; i < count; i++) {
        TRY(plan_relation(planner, roots[i], &inputs[i], err));
    }
    TRY(plan_add(planner, PLAN_PROGRAM, inputs, count, &no_columns, &node, err));
    node->program = program->spec;
    TRY(properties_create(planner->arena, 0, &node->properties, err));
    node->properties.bounded = true;
    for (uint32_t i = 0; i < count; i++) {
        node->properties.bounded = node->properties.bounded && inputs[i]->properties.bounded;
    }
    for (uint32_t i = 0; i < program->spec.output_count; i++) {
        TRY(make_output(planner, program, node, i, err));
    }
    TRY(plan_output_add(planner, node, err)); /* it may have no tables to write */
    TRY(plan_dead_letters(planner, err));
    TRY(plan_finish(planner, err));
    return planner->context->settings.pieces == 0 ? STATUS_OK : plan_check_piece(planner->plan, err);
}

enum status plan_make_program(const struct plan_context *context, const struct bound_program *program, struct plan **plan,
                              struct error *err)
{
    struct planner planner;
    TRY(plan_start(context, plan, &planner, err));
    enum status status = make_program(&planner, program, err);
    if (status != STATUS_OK) {
        plan_close(*plan);
        *plan = NULL;
    }
    return status;
}

struct node *plan_program_node(const struct plan *plan)
{
    for (uint32_t i = 0; i < plan->node_count; i++) {
        if (plan->nodes[i]->operator== PLAN_PROGRAM) {
            return plan->nodes[i]->running[0];
        }
    }
    return NULL;
}
