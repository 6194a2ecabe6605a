/* Which rows of a regular join will meet nothing any more.
 *
 * A window aggregate of event time emits each window once, when the watermark reaches its last millisecond, and only inserts; a row that is
 * late for its window is left out. So with W its watermark, every row that it still sends has window_end - 1 ms > W: its window columns are
 * above W + shift (final_shift). Filters, projections of the plain column and exchanges pass rows on in the same tick and keep W.
 * If the join's condition demands  window column <= t + c  of a time t of the other side, then a row there with t + c <= W + shift has
 * met all it will ever meet: lag = shift - c.
 *
 * The row may be dropped if its side only grows (else its withdrawal would find nothing) and owes nothing for rows without a partner,
 * that is INNER, and the inner side of LEFT and RIGHT. Nor may the condition fail for some pair: a pair that is not looked at would hide that.
 */
#include <string.h>

#include "functions/function.h"
#include "plan/physical.h"
#include "plan/physical_join.h"

static bool window_shift(const struct window_aggregate_spec *spec, uint32_t output, int64_t *shift)
{
    uint32_t first = spec->key_count + spec->call_count;
    if (spec->window.processing_time || spec->window.zoned || output < first || spec->window.kind == WINDOW_SESSION) {
        return false;
    }
    static const int64_t millisecond_us = 1000;
    switch (spec->window_columns[output - first]) {
    case WINDOW_COLUMN_END:
        *shift = millisecond_us;
        return true;
    case WINDOW_COLUMN_START: /* of CUMULATE the longest window */
        *shift = millisecond_us - spec->window.size_us;
        return true;
    case WINDOW_COLUMN_ROWTIME:
        *shift = 0;
        return true;
    default:
        return false;
    }
}

/* Is the column, in all rows that the node still sends, above its watermark + *shift? */
static bool final_shift(const struct plan_node *node, uint32_t column, int64_t *shift)
{
    while (node->operator== PLAN_CALC || node->operator== PLAN_EXCHANGE) {
        if (node->operator== PLAN_CALC && node->calc.expressions != NULL) {
            const struct expression *expression = node->calc.expressions[column];
            if (expression->kind != EXPRESSION_COLUMN) {
                return false;
            }
            column = expression->index;
        }
        node = node->inputs[0];
    }
    return node->operator== PLAN_WINDOW_AGGREGATE && window_shift(&node->window_aggregate, column, shift);
}

/* `side`: the one whose rows may be dropped. */
static void read_condition(struct join_plan *join, uint32_t side, const struct expression *condition)
{
    struct linear_time times[2] = {{0}, {0}};
    if (condition->kind != EXPRESSION_CALL || condition->arg_count != 2 || !time_is_linear(condition->args[0], &times[0]) ||
        !time_is_linear(condition->args[1], &times[1]) || times[0].cast || times[1].cast) {
        return;
    }
    bool mirrored = (times[0].column < join->left_count) != (side == 0); /* the first argument is of the other side */
    struct linear_time own = times[mirrored], other = times[!mirrored];
    if ((own.column < join->left_count) == (other.column < join->left_count)) {
        return;
    }
    const char *op = condition->function->name;
    bool bounds = strcmp(op, "=") == 0 || (mirrored ? op[0] == '<' && op[1] != '>' : op[0] == '>');
    struct linear_time *of_right = side == 0 ? &other : &own;
    of_right->column -= join->left_count;
    const struct plan_node *from = side == 0 ? join->left : join->right, *against = side == 0 ? join->right : join->left;
    int64_t shift;
    if (!bounds || type_physical(from->schema->columns[own.column].type) != PHYSICAL_INT64 || !final_shift(against, other.column, &shift)) {
        return;
    }
    int64_t lag = shift - (own.offset - other.offset);
    struct join_prune *prune = &join->spec.prune[side];
    if (!prune->present || (prune->time_column == own.column && prune->lag_us < lag)) {
        *prune = (struct join_prune){true, own.column, lag};
    }
}

/* Rows are given up by chunks that are found by their keys (circuit/operators/join_log.h). */
static bool keys_are_plain(const struct join_plan *join)
{
    for (uint32_t k = 0; k < join->spec.key_count; k++) {
        enum physical physical = type_physical(join->left->schema->columns[join->spec.left_keys[k]].type);
        if (physical == PHYSICAL_SPAN || physical == PHYSICAL_ROW) {
            return false;
        }
    }
    return join->spec.key_count > 0;
}

enum status join_find_prune(struct planner *planner, struct join_plan *join, struct error *err)
{
    const struct join_spec *spec = &join->spec;
    struct conditions all = {.arena = planner->arena};
    if (join->relation->join.condition == NULL || expression_can_fail(join->relation->join.condition) || !keys_are_plain(join)) {
        return STATUS_OK;
    }
    TRY(conditions_split(&all, join->relation->join.condition, err));
    for (uint32_t side = 0; side < 2; side++) {
        const struct properties *own = &(side == 0 ? join->left : join->right)->properties;
        const struct properties *other = &(side == 0 ? join->right : join->left)->properties;
        bool owes_nothing = spec->kind == JOIN_INNER || spec->kind == (side == 0 ? JOIN_RIGHT : JOIN_LEFT);
        for (uint32_t i = 0; i < all.count && owes_nothing && !own->changes && !other->changes; i++) {
            read_condition(join, side, all.items[i]);
        }
    }
    return STATUS_OK;
}
