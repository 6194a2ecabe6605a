/* Tables that are read: the source, opened once per plan, and the watermark above it. */
#include <string.h>

#include "connectors/table_options.h"
#include "plan/physical.h"
#include "plan/table_options.h"

static enum status source_columns(struct planner *planner, const struct relation *relation, const struct source_column **columns,
                                  struct error *err)
{
    const struct scan_relation *scan = &relation->scan;
    struct source_column *list;
    TRY_ALLOC(list, arena_alloc(planner->arena, (scan->column_count + 1) * sizeof *list), err);
    for (uint32_t i = 0; i < scan->column_count; i++) {
        const struct table_column *column = &scan->table->columns[scan->columns[i]];
        const char *key = column->kind == AST_COLUMN_METADATA ? (column->metadata_key != NULL ? column->metadata_key : column->name) : NULL;
        list[i] = (struct source_column){column->name, column->type, key};
    }
    *columns = list;
    return STATUS_OK;
}

/* All of them: formats that go by position need those that nobody reads, too. */
enum status plan_table_row(struct planner *planner, const struct catalog_table *table, const struct type **row, struct error *err)
{
    const char **names;
    const struct type **types;
    uint32_t count = 0;
    TRY_ALLOC(names, arena_alloc(planner->arena, (table->column_count + 1) * sizeof *names), err);
    TRY_ALLOC(types, arena_alloc(planner->arena, (table->column_count + 1) * sizeof *types), err);
    for (uint32_t i = 0; i < table->column_count; i++) {
        if (table->columns[i].kind == AST_COLUMN_PHYSICAL) {
            names[count] = table->columns[i].name;
            types[count++] = table->columns[i].type;
        }
    }
    TRY_ALLOC(*row, type_row(planner->arena, count, types, names, false), err);
    return STATUS_OK;
}

static enum status source_partitions(struct planner *planner, const struct catalog_table *table, struct source_context *context,
                                     struct error *err)
{
    const char **names;
    const struct type **types;
    TRY_ALLOC(names, arena_alloc(planner->arena, (table->partition_count + 1) * sizeof *names), err);
    TRY_ALLOC(types, arena_alloc(planner->arena, (table->partition_count + 1) * sizeof *types), err);
    for (uint32_t i = 0; i < table->partition_count; i++) {
        names[i] = table->columns[table->partition_by[i]].name;
        types[i] = table->columns[table->partition_by[i]].type;
    }
    context->partition_columns = names;
    context->partition_types = types;
    context->partition_count = table->partition_count;
    return STATUS_OK;
}

static enum status source_remember(struct plan *plan, struct source *source, struct error *err)
{
    if (plan->source_count == plan->source_capacity) {
        struct source **grown = arena_grow(plan->arena, plan->sources, &plan->source_capacity, plan->source_count + 1, sizeof *grown);
        if (grown == NULL) {
            source_close(source);
            return error_set(err, ERROR_BUDGET_SPENT, "no room for the list of sources");
        }
        plan->sources = grown;
    }
    plan->sources[plan->source_count++] = source;
    return STATUS_OK;
}

static enum status source_start(struct planner *planner, const struct relation *relation, struct plan_source *read, struct error *err)
{
    const struct catalog_table *table = relation->scan.table;
    struct source_context *context;
    TRY_ALLOC(context, arena_alloc(planner->arena, sizeof *context), err);
    *context = (struct source_context){
        .arena = planner->arena,
        .budget = planner->context->budget,
        .clock = planner->context->clock,
        .zone = planner->context->bind.evaluation->zone,
        .table = table->name,
        .column_count = relation->scan.column_count,
        .projections = relation->scan.projections,
        .attachment = table->attachment,
        .storage = planner->context->storage,
        .counters = &read->counters,
        .piece = planner->context->settings.piece,
        .pieces = planner->context->settings.pieces,
        .until_end = planner->context->settings.until_end,
    };
    TRY(source_columns(planner, relation, &context->columns, err));
    TRY(plan_table_row(planner, table, &context->physical, err));
    TRY(source_partitions(planner, table, context, err));
    TRY(table_options_of(planner->arena, table, &context->options, err));
    TRY(plan_dead_letter(planner, relation, context->options, &read->dead_letter, err));
    context->dead_letter = read->dead_letter;
    TRY(source_open(context, &read->spec.source, err));
    return source_remember(planner->plan, read->spec.source, err);
}

static enum status scan_keys(struct planner *planner, const struct relation *relation, struct properties *properties, struct error *err)
{
    const struct catalog_table *table = relation->scan.table;
    uint32_t *key, found = 0;
    TRY_ALLOC(key, arena_alloc(planner->arena, (table->primary_key_count + 1) * sizeof *key), err);
    for (uint32_t k = 0; k < table->primary_key_count; k++) {
        for (uint32_t i = 0; i < relation->scan.column_count; i++) {
            if (relation->scan.columns[i] == table->primary_key[k]) {
                key[found++] = i;
                break;
            }
        }
    }
    if (found > 0 && found == table->primary_key_count) {
        properties_add_key(properties, (struct column_list){key, found});
    }
    return STATUS_OK;
}

enum status plan_scan(struct planner *planner, struct relation *relation, struct plan_node **node, struct error *err)
{
    TRY(plan_add(planner, PLAN_SOURCE, NULL, 0, &relation->schema, node, err));
    struct plan_source *read;
    TRY_ALLOC(read, arena_alloc(planner->arena, sizeof *read), err);
    read->table = relation->scan.table;
    read->line = relation->line;
    read->column = relation->column;
    read->spec.schema = &relation->schema;
    read->spec.carry_watermarks = planner->watermarks_read;
    TRY(source_start(planner, relation, read, err));
    (*node)->read = read;
    (*node)->table = read->table->name;
    struct properties *properties = &(*node)->properties;
    properties->changes = read->spec.source->changes;
    properties->bounded = read->spec.source->bounded;
    properties->ordered = true;
    return scan_keys(planner, relation, properties, err);
}

static struct plan_node *find_source(struct plan_node *node)
{
    while (node->input_count == 1) {
        node = node->inputs[0];
    }
    return node->operator== PLAN_SOURCE ? node : NULL;
}

enum status plan_watermark(struct planner *planner, struct relation *relation, struct plan_node **node, struct error *err)
{
    struct plan_node *input;
    TRY(plan_relation(planner, relation->inputs[0], &input, err));
    struct plan_node *source = find_source(input);
    if (source == NULL) {
        return plan_refuse(relation, ERROR_NOT_SUPPORTED, err, "a watermark over something that is not one table");
    }
    TRY(plan_add(planner, PLAN_WATERMARK, &input, 1, &relation->schema, node, err));
    struct common_source_settings settings;
    TRY(table_source_settings(planner->arena, source->read->table, &settings, err));
    const struct plan_settings *session = &planner->context->settings;
    (*node)->source = source;
    (*node)->table = source->table;
    (*node)->watermark = (struct watermark_spec){
        .input = plan_input(input),
        .time_column = relation->watermark.column,
        .candidate = relation->watermark.expression,
        .interval_us = settings.emit_strategy == 1 ? 0 : session->watermark_interval_us,
        .idle_timeout_us = settings.idle_timeout.us > 0 ? settings.idle_timeout.us : session->idle_timeout_us,
        .max_future_skew_us = settings.max_future_skew.us,
        .skew_fails = settings.error_policy == ERROR_POLICY_FAIL,
        .dead_letter = source->read->dead_letter,
        .table = source->table,
        .counters = &source->read->counters,
        .always_hidden = planner->watermarks_read,
    };
    struct properties *properties = &(*node)->properties;
    TRY(column_set_create(planner->arena, relation->schema.count, &properties->event_time, err));
    column_set_add(&properties->event_time, relation->watermark.column);
    return STATUS_OK;
}
