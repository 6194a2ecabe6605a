/* Which jobs can have which high-availability policy: what cannot be guaranteed is refused when the job starts. */
#include "plan/availability.h"

#include "connectors/sink.h"
#include "plan/physical.h"
#include "plan/table_options.h"

static enum status refused(const char *policy, const char *table, const char *reason, struct error *err)
{
    return error_set(err, ERROR_NOT_SUPPORTED, "'high-availability.policy' = '%s': table '%s' %s", policy, table, reason);
}

/* The same rows, when it is read again. */
static enum status check_again(const char *policy, const struct plan_source *read, struct error *err)
{
    const struct source *source = read->spec.source;
    if (source->type->position == NULL) {
        return refused(policy, read->table->name, "cannot be read again from a place, so no other process can have its rows", err);
    }
    if (source->other_again != NULL) {
        return error_set(err, ERROR_NOT_SUPPORTED,
                         "'high-availability.policy' = '%s': table '%s' has other values when it is read again (%s)", policy,
                         read->table->name, source->other_again);
    }
    return read->dead_letter == NULL ? STATUS_OK : refused(policy, read->table->name, "has dead letters, which come when they come", err);
}

static enum status check_present(const char *policy, const struct plan_source *read, struct error *err)
{
    const struct source *source = read->spec.source;
    return !source->bounded || source->type->present == NULL
               ? STATUS_OK
               : refused(policy, read->table->name,
                         "is bounded: nothing comes after a failure; follow it ('source.monitor-interval'), or take another policy", err);
}

/* What it has given cannot be told from what it would give again. */
static enum status check_sink(const char *policy, const struct plan_node *node, struct error *err)
{
    const char *connector = table_options_get(node->sink.context->options, "connector");
    const struct sink_type *type = connector == NULL ? NULL : sink_type_find(connector);
    return type == NULL || type->commit != NULL || type->keeps_nothing
               ? STATUS_OK
               : refused(policy, node->table, "shows rows at once and would show some twice; write to files, or take another policy", err);
}

enum status plan_check_availability(const struct plan *plan, const char *policy, bool replays, struct error *err)
{
    for (uint32_t i = 0; i < plan->node_count; i++) {
        const struct plan_node *node = plan->nodes[i];
        if (node->operator== PLAN_SOURCE) {
            TRY(replays ? check_again(policy, node->read, err) : check_present(policy, node->read, err));
        } else if (node->operator== PLAN_PROGRAM && replays) {
            return error_set(
                err, ERROR_NOT_SUPPORTED,
                "'high-availability.policy' = '%s' runs ticks again, and nobody knows whether the program '%s' does the same then", policy,
                node->program.name);
        } else if (node->operator== PLAN_SINK && replays) {
            TRY(check_sink(policy, node, err));
        }
    }
    return STATUS_OK;
}
