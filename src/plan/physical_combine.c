/* Aggregates without keys: all rows would go to one worker. Each worker first combines its own, and few rows go. With one worker too, and
 * where the rows are at one: the plan of a job has the same operators whatever the number of workers, so that its state goes into any. */
#include <string.h>

#include "plan/physical.h"
#include "plan/physical_aggregate.h"

/* Aggregates of aggregates: f of the workers' results is f of all rows. */
static bool calls_combine(const struct window_aggregate_spec *spec)
{
    for (uint32_t i = 0; i < spec->call_count; i++) {
        const char *name = spec->calls[i].function->name;
        if (strcmp(name, "MIN") != 0 && strcmp(name, "MAX") != 0) {
            return false;
        }
    }
    return spec->call_count > 0;
}

/* Where the output of the operator has this column of the window; false: nowhere. */
static bool find_window_column(const struct window_aggregate_spec *spec, enum window_column column, uint32_t *at)
{
    for (uint32_t i = 0; i < spec->window_column_count; i++) {
        if (spec->window_columns[i] == column) {
            *at = spec->key_count + spec->call_count + i;
            return true;
        }
    }
    return false;
}

/* Over each value once they are the same, with less to keep. */
static enum status calls_without_distinct(struct planner *planner, struct window_aggregate_spec *spec, struct error *err)
{
    struct aggregate_spec_call *calls;
    TRY_ALLOC(calls, arena_copy(planner->arena, spec->calls, spec->call_count * sizeof *calls), err);
    for (uint32_t i = 0; i < spec->call_count; i++) {
        calls[i].distinct = false;
    }
    spec->calls = calls;
    return STATUS_OK;
}

/* The calls over the columns of the combined rows: column i is the i-th call's result. */
static enum status calls_over_combined(struct planner *planner, struct window_aggregate_spec *spec, struct error *err)
{
    struct aggregate_spec_call *calls;
    TRY_ALLOC(calls, arena_copy(planner->arena, spec->calls, spec->call_count * sizeof *calls), err);
    for (uint32_t i = 0; i < spec->call_count; i++) {
        uint32_t *argument;
        TRY_ALLOC(argument, arena_copy(planner->arena, &i, sizeof i), err);
        calls[i].args = argument;
        calls[i].filter = -1;
    }
    spec->calls = calls;
    return STATUS_OK;
}

static enum status combined_schema(struct planner *planner, const struct window_aggregate_spec *spec, const struct schema *output,
                                   uint32_t start, uint32_t end, const struct schema **schema, struct error *err)
{
    struct column *columns;
    struct schema *made;
    uint32_t count = spec->call_count;
    TRY(plan_schema_make(planner, count + 2, &columns, &made, err));
    for (uint32_t i = 0; i < count; i++) {
        columns[i] = output->columns[spec->key_count + i];
    }
    columns[count] = output->columns[start];
    columns[count + 1] = output->columns[end];
    *schema = made;
    return STATUS_OK;
}

enum status plan_combine_windows(struct planner *planner, struct window_aggregate_spec *spec, const struct schema *output,
                                 struct plan_node **input, struct error *err)
{
    static const enum window_column bounds[] = {WINDOW_COLUMN_START, WINDOW_COLUMN_END};
    uint32_t start, end;
    if (spec->key_count > 0 || spec->window.processing_time || spec->window.kind == WINDOW_SESSION || (*input)->properties.changes ||
        !calls_combine(spec) || !find_window_column(spec, WINDOW_COLUMN_START, &start) ||
        !find_window_column(spec, WINDOW_COLUMN_END, &end)) {
        return STATUS_OK;
    }
    TRY(calls_without_distinct(planner, spec, err));
    struct plan_node *combined;
    const struct schema *schema;
    TRY(combined_schema(planner, spec, output, start, end, &schema, err));
    TRY(plan_add(planner, PLAN_WINDOW_AGGREGATE, input, 1, schema, &combined, err));
    combined->window_aggregate = *spec;
    combined->window_aggregate.input = plan_input(*input);
    combined->window_aggregate.output = schema;
    combined->window_aggregate.window_columns = bounds;
    combined->window_aggregate.window_column_count = ARRAY_LENGTH(bounds);
    bool bounded = combined->properties.bounded;
    TRY(properties_create(planner->arena, schema->count, &combined->properties, err));
    combined->properties.bounded = bounded;
    TRY(calls_over_combined(planner, spec, err));
    spec->attached = true;
    spec->start_column = spec->call_count;
    spec->end_column = spec->call_count + 1;
    *input = combined;
    return STATUS_OK;
}
