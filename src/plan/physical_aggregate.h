/* plan/physical_aggregate.h: what group and window aggregates share: arguments and keys as columns.
 *
 * For         physical_aggregate.c, physical_window.c, physical_combine.c.
 */
#ifndef SPATE_PLAN_PHYSICAL_AGGREGATE_H
#define SPATE_PLAN_PHYSICAL_AGGREGATE_H

#include "plan/physical.h"

struct aggregate_parts {
    struct plan_node *input; /* keys, extra columns, arguments and filters as columns */
    const uint32_t *keys;
    uint32_t key_count; /* of the relation; with grouping sets keys[key_count] is the grouping id */
    const uint32_t *extra;
    struct aggregate_spec_call *calls;
    uint32_t call_count;
    bool expanded;
};
/* `extra`: further columns of the input to keep (the window's). */
enum status aggregate_parts_make(struct planner *planner, struct relation *relation, struct plan_node *input, const uint32_t *extra,
                                 uint32_t extra_count, struct aggregate_parts *parts, struct error *err);
/* Rows once per grouping set; keys move to the front, the grouping id is the last column. No-op without sets. */
enum status aggregate_expand(struct planner *planner, struct relation *relation, struct aggregate_parts *parts, struct error *err);
/* From keys, grouping id, calls to the order of the relation. No-op without sets. */
enum status aggregate_reorder(struct planner *planner, struct relation *relation, const struct aggregate_parts *parts,
                              struct plan_node *input, struct plan_node **node, struct error *err);
/* Keys first: unique, and distributed as the input is. */
enum status aggregate_properties(struct planner *planner, const struct plan_node *input, const uint32_t *keys, uint32_t key_count,
                                 bool changes, struct plan_node *node, struct error *err);
/* physical_combine.c: a window aggregate without keys whose calls allow it is put into two: each worker combines its own rows of a window,
 * and `spec` becomes the aggregate over those. `output`: schema of the operator: keys, calls, window columns. Else nothing changes. */
enum status plan_combine_windows(struct planner *planner, struct window_aggregate_spec *spec, const struct schema *output,
                                 struct plan_node **input, struct error *err);

#endif
