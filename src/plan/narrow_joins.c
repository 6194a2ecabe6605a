/* Joins learn which of their columns the calc above them reads, so that the others are neither stored nor fetched: the key of the other
 * side, a time that only the condition compares. */
#include "plan/physical.h"
#include "plan/relations.h"

/* NULL: no join, or one with a state of its own. */
static struct join_spec *spec_of(struct plan_node *node)
{
    switch (node->operator) {
    case PLAN_JOIN:
        return &node->join;
    case PLAN_INTERVAL_JOIN:
        return &node->interval_join.join;
    case PLAN_WINDOW_JOIN:
        return &node->window_join.join;
    case PLAN_LOOKUP_JOIN:
        return &node->lookup_join.join;
    default:
        return NULL;
    }
}

static enum status narrow_join(struct planner *planner, const struct calc_spec *calc, struct join_spec *join, struct error *err)
{
    uint32_t count = join->output->count;
    struct column_set set;
    bool *read;
    TRY(column_set_create(planner->arena, count, &set, err));
    TRY_ALLOC(read, arena_alloc(planner->arena, count + 1), err);
    for (uint32_t i = 0; i < calc->expression_count; i++) {
        expression_columns(calc->expressions[i], &set);
    }
    if (calc->condition != NULL) {
        expression_columns(calc->condition, &set);
    }
    for (uint32_t i = 0; i < count; i++) {
        read[i] = column_set_has(&set, i);
    }
    join->read = read;
    return STATUS_OK;
}

enum status plan_narrow_joins(struct planner *planner, struct error *err)
{
    for (uint32_t i = 0; i < planner->plan->node_count; i++) {
        const struct plan_node *node = planner->plan->nodes[i];
        if (node->operator!= PLAN_CALC || node->calc.expressions == NULL) {
            continue;
        }
        struct plan_node *input = node->inputs[0];
        struct join_spec *join = spec_of(input);
        if (join != NULL && input->consumers == 1) {
            TRY(narrow_join(planner, &node->calc, join, err));
        }
    }
    return STATUS_OK;
}
