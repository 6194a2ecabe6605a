/* Where rows end: the caller's queue, and sinks, with what they take. */
#include <string.h>

#include "functions/function.h"
#include "plan/physical.h"
#include "plan/table_options.h"

enum status plan_output_add(struct planner *planner, struct plan_node *node, struct error *err)
{
    struct plan *plan = planner->plan;
    uint32_t count = plan->output_count;
    struct plan_node **grown;
    TRY_ALLOC(grown, arena_alloc(planner->arena, (count + 1) * sizeof *grown), err);
    if (count > 0) {
        memcpy(grown, plan->outputs, count * sizeof *grown);
    }
    grown[count] = node;
    plan->outputs = grown;
    plan->output_count++;
    return STATUS_OK;
}

enum status plan_result(struct planner *planner, struct plan_node *input, struct result_queue *queue, bool in_order, struct error *err)
{
    struct plan *plan = planner->plan;
    struct plan_node *node;
    TRY(plan_distribute(planner, input, NULL, 0, &input, err));
    TRY(plan_add(planner, PLAN_RESULT, &input, 1, input->schema, &node, err));
    node->result = (struct result_spec){.input = plan_input(input), .queue = queue, .in_order = in_order && !input->properties.changes};
    if (input->properties.changes && input->properties.key_count > 0) {
        node->result.upsert_key = input->properties.keys[0].columns;
        node->result.upsert_key_count = input->properties.keys[0].count;
    }
    plan->insert_only = !input->properties.changes;
    plan->ordered = node->result.in_order;
    return plan_output_add(planner, node, err);
}

/* NOT NULL columns of the sink that the query may give NULL for, with the enforcer set to DROP: such rows are left out. */
static enum status drop_nulls(struct planner *planner, const struct catalog_table *table, const uint32_t *columns, struct plan_node *input,
                              struct plan_node **node, struct error *err)
{
    const struct expression *condition = NULL;
    *node = input;
    if (!planner->context->settings.not_null_drop) {
        return STATUS_OK;
    }
    for (uint32_t i = 0; i < input->schema->count; i++) {
        const struct type *type = input->schema->columns[i].type;
        if (table->columns[columns[i]].type->nullable || !type->nullable) {
            continue;
        }
        const struct expression *column, *test;
        TRY_ALLOC(column, expression_column(planner->arena, i, type), err);
        TRY(function_call_named(planner->arena, planner->context->bind.evaluation, "IS NOT NULL", &column, 1, &test, err));
        TRY_ALLOC(condition, expression_and(planner->arena, condition, test), err);
    }
    return condition == NULL ? STATUS_OK : plan_calc(planner, input, condition, NULL, input->schema, node, err);
}

static enum status sink_row(struct planner *planner, const struct catalog_table *table, const uint32_t **physical,
                            struct sink_context *context, struct error *err)
{
    uint32_t *columns, *key, count = 0;
    const struct type **types;
    const char **names, **partitions;
    TRY_ALLOC(columns, arena_alloc(planner->arena, (table->column_count + 1) * sizeof *columns), err);
    TRY_ALLOC(types, arena_alloc(planner->arena, (table->column_count + 1) * sizeof *types), err);
    TRY_ALLOC(names, arena_alloc(planner->arena, (table->column_count + 1) * sizeof *names), err);
    TRY_ALLOC(partitions, arena_alloc(planner->arena, (table->partition_count + 1) * sizeof *partitions), err);
    TRY_ALLOC(key, arena_alloc(planner->arena, (table->primary_key_count + 1) * sizeof *key), err);
    for (uint32_t i = 0; i < table->column_count; i++) {
        if (table->columns[i].kind != AST_COLUMN_PHYSICAL) {
            continue;
        }
        for (uint32_t k = 0; k < table->primary_key_count; k++) {
            if (table->primary_key[k] == i) {
                key[k] = count;
            }
        }
        columns[count] = i;
        types[count] = table->columns[i].type;
        names[count++] = table->columns[i].name;
    }
    for (uint32_t i = 0; i < table->partition_count; i++) {
        partitions[i] = table->columns[table->partition_by[i]].name;
    }
    TRY_ALLOC(context->row, type_row(planner->arena, count, types, names, false), err);
    context->partition_columns = partitions;
    context->partition_count = table->partition_count;
    context->primary_key = key;
    context->primary_key_count = table->primary_key_count;
    *physical = columns;
    return STATUS_OK;
}

static const char *column_names(struct planner *planner, const struct schema *schema, const uint32_t *columns, uint32_t count)
{
    const char *text = "";
    for (uint32_t i = 0; i < count && text != NULL; i++) {
        text = arena_format(planner->arena, "%s%s%s", text, i > 0 ? ", " : "", schema->columns[columns[i]].name);
    }
    return text != NULL ? text : "";
}

static enum status check_accepts(struct planner *planner, const struct plan_node *input, const struct bound_insert *insert,
                                 const struct sink_context *context, enum sink_accepts accepts, struct error *err)
{
    const char *table = insert->table->name;
    if (!input->properties.changes) {
        return STATUS_OK;
    }
    const struct plan_node *changing = input;
    while (changing->input_count > 0 && changing->inputs[0]->properties.changes) {
        changing = changing->inputs[0];
    }
    const char *reason = plan_operator_name(changing->operator);
    if (accepts == SINK_INSERTS) {
        return error_set_at(err, ERROR_CHANGELOG_REFUSED, insert->relation->line, insert->relation->column,
                            "table '%s' takes inserted rows only, but rows of this query change later (its %s updates or withdraws them)",
                            table, reason);
    }
    if (accepts == SINK_UPSERTS && context->primary_key_count == 0) {
        return error_set_at(err, ERROR_CHANGELOG_REFUSED, insert->relation->line, insert->relation->column,
                            "table '%s' needs a PRIMARY KEY to take rows that change (%s)", table, reason);
    }
    const char *connector = table_options_get(context->options, "connector");
    const struct sink_type *type = connector != NULL ? sink_type_find(connector) : NULL;
    bool conflicts = insert->on_conflict != NULL && strcmp(insert->on_conflict, "DEDUPLICATE") == 0 && type != NULL && type->any_order;
    bool keyed = context->primary_key_count == 0 || conflicts ||
                 properties_has_key_within(&input->properties, context->primary_key, context->primary_key_count);
    if (!keyed) {
        return error_set_at(
            err, ERROR_CHANGELOG_REFUSED, insert->relation->line, insert->relation->column,
            "the primary key (%s) of table '%s' is not a key of the query: changes of different rows would overwrite each other",
            column_names(planner, input->schema, context->primary_key, context->primary_key_count), table);
    }
    return STATUS_OK;
}

/* All changes of one key must be written by one worker. */
static enum status sink_distribute(struct planner *planner, const struct sink_context *context, struct plan_node *input,
                                   struct plan_node **node, struct error *err)
{
    *node = input;
    if (!input->properties.changes || context->primary_key_count == 0) {
        return STATUS_OK;
    }
    return plan_distribute(planner, input, context->primary_key, context->primary_key_count, node, err);
}

enum status plan_sink_context(struct planner *planner, const struct catalog_table *table, bool overwrite, const char *suffix,
                              const uint32_t **physical, struct sink_context **context, struct error *err)
{
    const struct plan_context *session = planner->context;
    struct sink_context *made;
    TRY_ALLOC(made, arena_alloc(planner->arena, sizeof *made), err);
    *made = (struct sink_context){
        .arena = planner->arena,
        .budget = session->budget,
        .clock = session->clock,
        .zone = session->bind.evaluation->zone,
        .table = table->name,
        .attachment = table->attachment,
        .worker_count = session->settings.parallelism,
        .overwrite = overwrite,
        .lineage = session->job_lineage,
        .saved = session->job_saved,
        .saved_end = session->job_saved_end,
        .task = session->job_task,
    };
    TRY_ALLOC(made->shared, arena_alloc(planner->arena, sizeof *made->shared), err);
    TRY_ALLOC(made->statement_id, arena_format(planner->arena, "%s-%s", session->statement_id, suffix), err);
    if (session->job_id != NULL) {
        TRY_ALLOC(made->owner, arena_format(planner->arena, "%s-%s", session->job_id, suffix), err);
    }
    TRY(sink_row(planner, table, physical, made, err));
    TRY(table_options_of(planner->arena, table, &made->options, err));
    *context = made;
    return STATUS_OK;
}

enum status plan_sink(struct planner *planner, struct plan_node *input, const struct bound_insert *insert, uint32_t number,
                      struct error *err)
{
    const struct catalog_table *table = insert->table;
    struct sink_context *context;
    const uint32_t *physical = NULL;
    const char *id;
    enum sink_accepts accepts;
    struct plan_node *node;
    TRY_ALLOC(id, arena_format(planner->arena, "%u", number), err);
    TRY(plan_sink_context(planner, table, insert->overwrite, id, &physical, &context, err));
    TRY(sink_accepts(context, &accepts, err));
    TRY(check_accepts(planner, input, insert, context, accepts, err));
    TRY(drop_nulls(planner, table, physical, input, &input, err));
    TRY(sink_distribute(planner, context, input, &input, err));
    TRY(plan_add(planner, PLAN_SINK, &input, 1, input->schema, &node, err));
    node->table = table->name;
    node->sink = (struct sink_spec){.input = plan_input(input), .context = context, .accepts = accepts};
    if (context->primary_key_count > 0 && input->properties.changes) {
        node->sink.upsert_key = context->primary_key;
        node->sink.upsert_key_count = context->primary_key_count;
    }
    return plan_output_add(planner, node, err);
}
