/* Conditions of joins: equal keys, bounds between event times, and the rest. */
#include <string.h>

#include "data/cast.h"
#include "functions/function.h"
#include "plan/physical.h"

/* A cast to TIMESTAMP(0) moves a time by less than a second. */
enum { CAST_MOVES_US = 1000000 };
enum side { SIDE_NONE, SIDE_LEFT, SIDE_RIGHT, SIDE_BOTH };

static enum side side_of(const struct expression *expression, uint32_t left_count, uint32_t right_count)
{
    bool left = expression_reads(expression, 0, left_count);
    bool right = expression_reads(expression, left_count, right_count);
    return left && right ? SIDE_BOTH : (left ? SIDE_LEFT : (right ? SIDE_RIGHT : SIDE_NONE));
}

/* Keys are compared and hashed by their bytes: both sides need one type. NULL: they have none in common. */
static const struct type *key_type(struct planner *planner, const struct type *left, const struct type *right)
{
    if (type_is_text(left) && type_is_text(right)) {
        return left;
    }
    if (type_is_binary(left) && type_is_binary(right)) {
        return left;
    }
    if (type_same_shape(left, right)) {
        return left;
    }
    if (type_is_timestamp(left) != type_is_timestamp(right) || (type_is_timestamp(left) && left->kind != right->kind)) {
        return NULL;
    }
    const struct type *common = type_common(planner->arena, left, right);
    return common;
}

static enum status key_cast(struct planner *planner, const struct expression *value, const struct type *type,
                            const struct expression **result, struct error *err)
{
    *result = value;
    if (type_same_shape(value->type, type) || (type_is_text(value->type) && type_is_text(type)) ||
        (type_is_binary(value->type) && type_is_binary(type))) {
        return STATUS_OK;
    }
    const struct type *wanted;
    TRY_ALLOC(wanted, type_with_nullable(planner->arena, type, value->type->nullable), err);
    TRY_ALLOC(*result, expression_cast(planner->arena, value, wanted, false), err);
    return STATUS_OK;
}

/* left = right, either way round. */
static enum status split_equality(struct planner *planner, const struct expression *condition, uint32_t left_count, uint32_t right_count,
                                  bool plain_keys, struct join_parts *parts, bool *taken, struct error *err)
{
    bool null_safe = expression_is_call(condition, "IS NOT DISTINCT FROM");
    *taken = false;
    if ((!null_safe && !expression_is_call(condition, "=")) || condition->arg_count != 2) {
        return STATUS_OK;
    }
    const struct expression *left = condition->args[0], *right = condition->args[1];
    if (side_of(left, left_count, right_count) == SIDE_RIGHT) {
        left = condition->args[1];
        right = condition->args[0];
    }
    if (side_of(left, left_count, right_count) != SIDE_LEFT || side_of(right, left_count, right_count) != SIDE_RIGHT ||
        !expression_is_deterministic(condition) || (plain_keys && right->kind != EXPRESSION_COLUMN)) {
        return STATUS_OK;
    }
    const struct type *type = key_type(planner, left->type, right->type);
    if (type == NULL || (plain_keys && !type_same_shape(type, right->type))) {
        return STATUS_OK;
    }
    TRY(key_cast(planner, left, type, &left, err));
    TRY(key_cast(planner, right, type, &right, err));
    TRY_ALLOC(right, expression_shift(planner->arena, right, -(int32_t)left_count), err);
    TRY(conditions_add(&parts->left_keys, left, err));
    TRY(conditions_add(&parts->right_keys, right, err));
    parts->null_safe[parts->key_count++] = null_safe;
    *taken = true;
    return STATUS_OK;
}

enum status join_split(struct planner *planner, const struct expression *condition, uint32_t left_count, uint32_t right_count,
                       bool plain_keys, struct join_parts *parts, struct error *err)
{
    struct conditions all = {.arena = planner->arena};
    *parts = (struct join_parts){.left_keys.arena = planner->arena, .right_keys.arena = planner->arena, .rest.arena = planner->arena};
    TRY(conditions_split(&all, condition, err));
    TRY_ALLOC(parts->null_safe, arena_alloc(planner->arena, (all.count + 1) * sizeof *parts->null_safe), err);
    for (uint32_t i = 0; i < all.count; i++) {
        bool taken;
        TRY(split_equality(planner, all.items[i], left_count, right_count, plain_keys, parts, &taken, err));
        if (!taken) {
            TRY(conditions_add(&parts->rest, all.items[i], err));
        }
    }
    return STATUS_OK;
}

static bool constant_interval(const struct expression *expression, int64_t *value)
{
    if (expression->kind != EXPRESSION_CONSTANT || expression->type->kind != TYPE_INTERVAL_DAY ||
        !vector_is_valid(expression->constant, 0)) {
        return false;
    }
    *value = vector_int64(expression->constant)[0];
    return *value > -(INT64_MAX / 4) && *value < INT64_MAX / 4;
}

bool time_is_linear(const struct expression *expression, struct linear_time *time)
{
    int64_t interval;
    if (expression->kind == EXPRESSION_COLUMN) {
        time->column = expression->index;
        return type_is_timestamp(expression->type);
    }
    if (expression->kind == EXPRESSION_CAST && type_is_timestamp(expression->type) &&
        expression->type->kind == expression->args[0]->type->kind) {
        time->cast = true;
        return time_is_linear(expression->args[0], time);
    }
    bool plus = expression_is_call(expression, "+");
    if ((!plus && !expression_is_call(expression, "-")) || expression->arg_count != 2) {
        return false;
    }
    const struct expression *base = expression->args[0], *delta = expression->args[1];
    if (plus && base->kind == EXPRESSION_CONSTANT) {
        base = expression->args[1];
        delta = expression->args[0];
    }
    if (!constant_interval(delta, &interval) || !time_is_linear(base, time)) {
        return false;
    }
    time->offset += plus ? interval : -interval;
    return time->offset > -(INT64_MAX / 4) && time->offset < INT64_MAX / 4;
}

static void bound_add(struct time_bounds *bounds, bool upper, int64_t value)
{
    if (upper) {
        bounds->high = bounds->high_set && bounds->high < value ? bounds->high : value;
        bounds->high_set = true;
    } else {
        bounds->low = bounds->low_set && bounds->low > value ? bounds->low : value;
        bounds->low_set = true;
    }
}

/* left + a <op> right + b  =>  left - right <op> b - a */
static void bound_read(const struct plan_node *left, const struct plan_node *right, const struct expression *condition,
                       struct time_bounds *bounds)
{
    uint32_t left_count = left->schema->count;
    struct linear_time one = {0}, other = {0};
    if (condition->kind != EXPRESSION_CALL || condition->arg_count != 2 || !time_is_linear(condition->args[0], &one) ||
        !time_is_linear(condition->args[1], &other)) {
        return;
    }
    const char *op = condition->function->name;
    bool mirrored = one.column >= left_count;
    struct linear_time l = mirrored ? other : one, r = mirrored ? one : other;
    if (l.column >= left_count || r.column < left_count) {
        return;
    }
    r.column -= left_count;
    bool plain = left->schema->columns[l.column].time == TIME_ROWTIME && right->schema->columns[r.column].time == TIME_ROWTIME &&
                 column_set_has(&left->properties.event_time, l.column) && column_set_has(&right->properties.event_time, r.column);
    if (!plain || ((bounds->low_set || bounds->high_set) && (bounds->left_time != l.column || bounds->right_time != r.column))) {
        return;
    }
    int64_t difference = r.offset - l.offset, slack = l.cast || r.cast ? CAST_MOVES_US : 0;
    bool equal = strcmp(op, "=") == 0, less = op[0] == '<' && op[1] != '>', greater = op[0] == '>';
    if (!equal && !less && !greater) {
        return;
    }
    bounds->left_time = l.column;
    bounds->right_time = r.column;
    if (equal || less != mirrored) {
        bound_add(bounds, true, difference + slack);
    }
    if (equal || greater != mirrored) {
        bound_add(bounds, false, difference - slack);
    }
}

static void bounds_visit(const struct plan_node *left, const struct plan_node *right, const struct expression *condition,
                         struct time_bounds *bounds)
{
    if (condition->kind != EXPRESSION_AND) {
        bound_read(left, right, condition, bounds);
        return;
    }
    for (uint32_t i = 0; i < condition->arg_count; i++) {
        bounds_visit(left, right, condition->args[i], bounds);
    }
}

bool join_time_bounds(const struct plan_node *left, const struct plan_node *right, const struct expression *condition,
                      struct time_bounds *bounds)
{
    *bounds = (struct time_bounds){0};
    if (condition != NULL) {
        bounds_visit(left, right, condition, bounds);
    }
    return bounds->low_set && bounds->high_set;
}
