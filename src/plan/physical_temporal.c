/* FOR SYSTEM_TIME AS OF an event time: the right side as versions of its keys. */
#include "plan/physical_join.h"

/* The right side's versions: of a deduplication view the rows it chooses from, each a version of its key. */
static enum status versions(struct planner *planner, struct relation *relation, struct relation **result, struct relation **over,
                            struct error *err)
{
    if (relation->kind == RELATION_PROJECT) {
        struct relation *below, *copy;
        TRY(versions(planner, relation->inputs[0], &below, over, err));
        TRY_ALLOC(copy, relation_copy(planner->arena, relation), err);
        copy->inputs[0] = below;
        *result = copy;
        return STATUS_OK;
    }
    struct relation *base = (*over)->inputs[0];
    uint32_t count = relation->schema.count;
    const struct expression **expressions, *one;
    TRY_ALLOC(expressions, arena_alloc(planner->arena, (count + 1) * sizeof *expressions), err);
    TRY_ALLOC(one, expression_int64(planner->arena, 1), err);
    for (uint32_t i = 0; i < count; i++) {
        expressions[i] = one;
        if (i + 1 < count) {
            TRY_ALLOC(expressions[i], relation_column(planner->arena, base, i), err);
        }
    }
    TRY_ALLOC(*result, relation_project(planner->arena, base, count, expressions, relation->schema.columns), err);
    return STATUS_OK;
}

/* The columns of the result that are columns of the deduplication's partition. */
static enum status version_key(struct planner *planner, const struct relation *view, const struct relation *over, struct column_list *key,
                               struct error *err)
{
    uint32_t *columns, count = over->over.partition_count;
    TRY_ALLOC(columns, arena_alloc(planner->arena, (count + 1) * sizeof *columns), err);
    key->columns = columns;
    key->count = count;
    for (uint32_t k = 0; k < count; k++) {
        columns[k] = COLUMN_NONE;
        for (uint32_t i = 0; i < view->schema.count; i++) {
            const struct relation *at = view;
            uint32_t column = i;
            while (at->kind == RELATION_PROJECT && column != COLUMN_NONE) {
                const struct expression *expression = at->project.expressions[column];
                column = expression->kind == EXPRESSION_COLUMN ? expression->index : COLUMN_NONE;
                at = at->inputs[0];
            }
            if (column == over->over.partition[k]) {
                columns[k] = i;
            }
        }
    }
    return STATUS_OK;
}

static uint32_t time_column_of(const struct plan_node *node)
{
    for (uint32_t i = 0; i < node->schema->count; i++) {
        if (node->schema->columns[i].time == TIME_ROWTIME && column_set_has(&node->properties.event_time, i)) {
            return i;
        }
    }
    return COLUMN_NONE;
}

/* Whether a withdrawal and a row are an update is seen from the watermark before each (circuit/operators/version_list.h). */
static void carry_watermarks(struct plan_node *node)
{
    if (node->operator== PLAN_WATERMARK) {
        node->watermark.always_hidden = true;
    }
    for (uint32_t i = 0; i < node->input_count; i++) {
        carry_watermarks(node->inputs[i]);
    }
}

enum status plan_temporal(struct planner *planner, struct join_plan *join, struct plan_node **node, struct error *err)
{
    struct relation *relation = join->relation, *right = relation->inputs[1], *over = NULL;
    struct column_list view_key = {NULL, 0};
    enum join_kind kind = relation->join.kind;
    if (kind != JOIN_INNER && kind != JOIN_LEFT) {
        return plan_refuse(relation, ERROR_NOT_SUPPORTED, err, "FOR SYSTEM_TIME AS OF in a RIGHT or FULL join");
    }
    bool view = relation_is_version_view(right, &over);
    if (view) {
        TRY(version_key(planner, right, over, &view_key, err));
        TRY(versions(planner, right, &right, &over, err));
    }
    TRY(plan_relation(planner, right, &join->right, err));
    if (join->right->properties.changes) {
        carry_watermarks(join->right);
    }
    uint32_t right_time = time_column_of(join->right);
    if (right_time == COLUMN_NONE) {
        return plan_refuse(relation, ERROR_NOT_SUPPORTED, err,
                           "FOR SYSTEM_TIME AS OF an event time over a table without an event time of its own");
    }
    if (!column_set_has(&join->left->properties.event_time, relation->join.time_column) || join->left->properties.changes) {
        return plan_refuse(relation, ERROR_NOT_SUPPORTED, err, "FOR SYSTEM_TIME AS OF '%s': %s",
                           join->left->schema->columns[relation->join.time_column].name,
                           join->left->properties.changes ? "the left side's rows change" : "it is no event time");
    }
    struct properties keys = join->right->properties;
    TRY(join_prepare(planner, join, relation->join.condition, true, err));
    if (view) {
        keys.key_count = 0;
        properties_add_key(&keys, view_key);
    }
    if (join->spec.key_count == 0 || !properties_has_key_within(&keys, join->spec.right_keys, join->spec.key_count)) {
        return plan_refuse(relation, ERROR_INVALID_QUERY, err,
                           "FOR SYSTEM_TIME AS OF an event time needs the right table's primary key in the join condition, by equality");
    }
    TRY(join_add(planner, join, PLAN_TEMPORAL_JOIN, true, false, node, err));
    (*node)->temporal_join = (struct temporal_join_spec){join->spec, relation->join.time_column, right_time};
    (*node)->properties.changes = false;
    return STATUS_OK;
}
