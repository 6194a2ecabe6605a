/* plan/physical_join.h: a join while it is planned.
 *
 * For         physical_join.c, physical_join_prune.c, physical_temporal.c.
 */
#ifndef SPATE_PLAN_PHYSICAL_JOIN_H
#define SPATE_PLAN_PHYSICAL_JOIN_H

#include "plan/physical.h"

struct join_plan {
    struct relation *relation;
    struct plan_node *left, *right; /* after join_prepare: with computed keys appended, distributed */
    uint32_t left_count, right_count, left_extra;
    bool left_is_exact, right_is_exact;       /* unique keys come from operators, not from a declaration */
    const struct window_property *windows[2]; /* of a window join: equal bounds are keys, too; else NULL */
    struct join_spec spec;
};
enum status join_prepare(struct planner *planner, struct join_plan *join, const struct expression *condition, bool plain_keys,
                         struct error *err);
enum status join_add(struct planner *planner, const struct join_plan *join, enum plan_operator op, bool left_times, bool right_times,
                     struct plan_node **node, struct error *err);
/* physical_join_prune.c: of a regular join that is prepared: sets spec.prune. */
enum status join_find_prune(struct planner *planner, struct join_plan *join, struct error *err);
/* Event-time FOR SYSTEM_TIME AS OF; columns added for keys are still there. */
enum status plan_temporal(struct planner *planner, struct join_plan *join, struct plan_node **node, struct error *err);

#endif
