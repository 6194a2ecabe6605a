/* ORDER BY and LIMIT. */
#include "plan/physical.h"

static bool is_temporal(const struct relation *relation, const struct plan_node *input)
{
    const struct sort_relation *sort = &relation->sort;
    uint32_t column = sort->key_count > 0 ? sort->keys[0].column : 0;
    return sort->key_count > 0 && !sort->keys[0].descending && !input->properties.changes &&
           column_set_has(&input->properties.event_time, column) && input->schema->columns[column].time == TIME_ROWTIME;
}

static enum status plan_limit(struct planner *planner, struct relation *relation, struct plan_node *input, struct plan_node **node,
                              struct error *err)
{
    TRY(plan_distribute(planner, input, NULL, 0, &input, err));
    TRY(plan_add(planner, PLAN_LIMIT, &input, 1, &relation->schema, node, err));
    (*node)->limit = (struct limit_spec){plan_input(input), relation->sort.offset, relation->sort.fetch};
    if (relation->sort.fetch >= 0 && relation->sort.fetch <= 1) {
        properties_add_key(&(*node)->properties, (struct column_list){NULL, 0});
    }
    if (input->properties.changes) {
        return properties_end_times(planner->arena, relation->schema.count, &(*node)->properties, err);
    }
    return STATUS_OK;
}

static enum status plan_top(struct planner *planner, struct relation *relation, struct plan_node *input, struct plan_node **node,
                            struct error *err)
{
    const struct sort_relation *sort = &relation->sort;
    TRY(plan_distribute(planner, input, NULL, 0, &input, err));
    TRY(plan_add(planner, PLAN_TOP_N, &input, 1, &relation->schema, node, err));
    int64_t last = sort->fetch < 0 || sort->fetch > INT64_MAX - sort->offset ? INT64_MAX : sort->offset + sort->fetch;
    (*node)->top_n = (struct top_n_spec){.input = plan_input(input),
                                         .order = sort->keys,
                                         .order_count = sort->key_count,
                                         .first = sort->offset + 1,
                                         .last = last,
                                         .output = &relation->schema};
    struct properties *properties = &(*node)->properties;
    properties->changes = true;
    properties->ordered = false;
    if (sort->fetch >= 0 && sort->fetch <= 1) {
        properties_add_key(properties, (struct column_list){NULL, 0});
    }
    return properties_end_times(planner->arena, relation->schema.count, properties, err);
}

static enum status plan_order(struct planner *planner, struct relation *relation, struct plan_node *input, bool temporal,
                              struct plan_node **node, struct error *err)
{
    TRY(plan_distribute(planner, input, NULL, 0, &input, err));
    TRY(plan_add(planner, PLAN_SORT, &input, 1, &relation->schema, node, err));
    (*node)->sort = (struct sort_spec){plan_input(input), relation->sort.keys, relation->sort.key_count, temporal, 0, -1};
    (*node)->properties.changes = false;
    (*node)->properties.ordered = false;
    return STATUS_OK;
}

enum status plan_sort(struct planner *planner, struct relation *relation, struct plan_node **node, struct error *err)
{
    const struct sort_relation *sort = &relation->sort;
    struct plan_node *input;
    TRY(plan_relation(planner, relation->inputs[0], &input, err));
    bool limited = sort->fetch >= 0 || sort->offset > 0;
    if (sort->key_count == 0) {
        return plan_limit(planner, relation, input, node, err);
    }
    if (limited) {
        TRY(plan_top(planner, relation, input, node, err));
        bool present = relation == planner->top_sort && (*node)->properties.bounded;
        return present ? plan_order(planner, relation, *node, false, node, err) : STATUS_OK;
    }
    bool temporal = is_temporal(relation, input);
    if (!temporal && !input->properties.bounded) {
        return plan_refuse(
            relation, ERROR_NOT_SUPPORTED, err,
            "ORDER BY over input that does not end, by '%s': only the ascending event time of rows that are only appended can lead; "
            "or add LIMIT",
            input->schema->columns[sort->keys[0].column].name);
    }
    return plan_order(planner, relation, input, temporal, node, err);
}
