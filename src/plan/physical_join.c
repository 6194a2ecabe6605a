/* Joins: which operator, its keys as columns, what is known of its rows.
 *
 *   FOR SYSTEM_TIME AS OF processing time     -> lookup join        AS OF event time -> temporal join
 *   equal window bounds on both sides         -> window join
 *   both event times within constant bounds   -> interval join (append-only inputs)
 *   anything else                             -> join, over keys when there are equal ones
 */
#include <string.h>

#include "plan/physical.h"
#include "plan/physical_join.h"

/* Keys become columns of their side; the condition is renumbered to the widened left side. */
static enum status side_keys(struct planner *planner, const struct conditions *keys, struct plan_node **side, const uint32_t **columns,
                             struct error *err)
{
    uint32_t *places;
    TRY_ALLOC(places, arena_alloc(planner->arena, (keys->count + 1) * sizeof *places), err);
    TRY(plan_append(planner, *side, keys->items, keys->count, places, side, err));
    *columns = places;
    return STATUS_OK;
}

static enum status widen_condition(struct planner *planner, const struct expression *condition, uint32_t left_count, uint32_t right_count,
                                   uint32_t left_extra, const struct expression **result, struct error *err)
{
    *result = condition;
    if (condition == NULL || left_extra == 0) {
        return STATUS_OK;
    }
    uint32_t *map;
    TRY_ALLOC(map, arena_alloc(planner->arena, (left_count + right_count + 1) * sizeof *map), err);
    for (uint32_t i = 0; i < left_count + right_count; i++) {
        map[i] = i < left_count ? i : i + left_extra;
    }
    TRY_ALLOC(*result, expression_renumber(planner->arena, condition, map), err);
    return STATUS_OK;
}

static enum status join_schema(struct planner *planner, const struct join_plan *join, const struct schema **schema, struct error *err)
{
    const struct relation *relation = join->relation;
    const struct schema *left = join->left->schema, *right = join->right->schema;
    enum join_kind kind = relation->join.kind;
    struct column *columns;
    struct schema *made;
    uint32_t count = left->count + (join_keeps_right(kind) ? right->count : 0);
    TRY(plan_schema_make(planner, count, &columns, &made, err));
    for (uint32_t i = 0; i < count; i++) {
        bool is_left = i < left->count;
        columns[i] = is_left ? left->columns[i] : right->columns[i - left->count];
        bool nullable = kind == JOIN_FULL || (is_left ? kind == JOIN_RIGHT : kind == JOIN_LEFT);
        if (nullable && !columns[i].type->nullable) {
            TRY_ALLOC(columns[i].type, type_with_nullable(planner->arena, columns[i].type, true), err);
        }
    }
    *schema = made;
    return STATUS_OK;
}

static bool join_is_placed(const struct join_plan *join)
{
    const struct properties *left = &join->left->properties, *right = &join->right->properties;
    if (left->distribution == DISTRIBUTION_ONE && right->distribution == DISTRIBUTION_ONE) {
        return true;
    }
    if (left->distribution != DISTRIBUTION_HASH || right->distribution != DISTRIBUTION_HASH ||
        left->distribution_columns.count != right->distribution_columns.count) {
        return false;
    }
    for (uint32_t d = 0; d < left->distribution_columns.count; d++) {
        bool found = false;
        for (uint32_t k = 0; k < join->spec.key_count; k++) {
            found = found || (join->spec.left_keys[k] == left->distribution_columns.columns[d] &&
                              join->spec.right_keys[k] == right->distribution_columns.columns[d]);
        }
        if (!found) {
            return false;
        }
    }
    return true;
}

/* At most one row of this side for any row of the other. */
static bool side_is_single(const struct join_plan *join, uint32_t side)
{
    const struct plan_node *node = side == 0 ? join->left : join->right;
    const struct window_property *window = join->windows[side];
    uint32_t bounds[2] = {window == NULL ? 0 : window->starts[0], window == NULL ? 0 : window->ends[0]};
    return properties_has_key_within(&node->properties, bounds, window == NULL ? 0 : 2);
}

/* The side that stays where it is. A row and its withdrawal must meet, also when the state is restored by another number of workers: where
 * rows are wherever their source is read, those that change go by their own hash. */
static enum status join_keep_side(struct planner *planner, struct plan_node **side, struct error *err)
{
    uint32_t count = (*side)->schema->count, *all;
    if (!(*side)->properties.changes || (*side)->properties.distribution != DISTRIBUTION_ANY) {
        return STATUS_OK;
    }
    TRY_ALLOC(all, arena_alloc(planner->arena, (count + 1) * sizeof *all), err);
    for (uint32_t i = 0; i < count; i++) {
        all[i] = i;
    }
    return plan_exchange(planner, *side, all, count, side, err);
}

/* Without keys all rows would have to meet in one worker. Where one side is small, the other stays where it is: it must be the side that
 * decides which rows come out, so that a row that finds no match is emitted once. */
static enum status join_distribute_keyless(struct planner *planner, struct join_plan *join, struct error *err)
{
    enum join_kind kind = join->spec.kind;
    bool left_moves = kind == JOIN_INNER || kind == JOIN_RIGHT;
    bool right_moves = kind != JOIN_RIGHT && kind != JOIN_FULL;
    if (right_moves && side_is_single(join, 1) && join->left->properties.distribution != DISTRIBUTION_ONE) {
        TRY(join_keep_side(planner, &join->left, err));
        return plan_exchange_to_all(planner, join->right, &join->right, err);
    }
    if (left_moves && side_is_single(join, 0) && join->right->properties.distribution != DISTRIBUTION_ONE) {
        TRY(join_keep_side(planner, &join->right, err));
        return plan_exchange_to_all(planner, join->left, &join->left, err);
    }
    TRY(plan_distribute(planner, join->left, NULL, 0, &join->left, err));
    return plan_distribute(planner, join->right, NULL, 0, &join->right, err);
}

static enum status join_distribute(struct planner *planner, struct join_plan *join, struct error *err)
{
    if (planner->context->settings.parallelism <= 1 || (join_is_placed(join) && !join->spec.null_aware)) {
        return STATUS_OK;
    }
    if (join->spec.null_aware) { /* a NULL on the right, or any row there, decides about all left rows */
        TRY(plan_distribute(planner, join->left, NULL, 0, &join->left, err));
        return plan_distribute(planner, join->right, NULL, 0, &join->right, err);
    }
    if (join->spec.key_count == 0) {
        return join_distribute_keyless(planner, join, err);
    }
    /* Hashed by some of the keys is not enough: both sides must be hashed by the same ones. */
    const struct join_spec *spec = &join->spec;
    struct plan_node *sides[2] = {join->left, join->right};
    const uint32_t *keys[2] = {spec->left_keys, spec->right_keys};
    for (uint32_t i = 0; i < 2; i++) {
        const struct properties *properties = &sides[i]->properties;
        bool same = properties->distribution == DISTRIBUTION_HASH && properties->distribution_columns.count == spec->key_count &&
                    memcmp(properties->distribution_columns.columns, keys[i], spec->key_count * sizeof *keys[i]) == 0;
        if (!same) {
            TRY(plan_exchange(planner, sides[i], keys[i], spec->key_count, &sides[i], err));
        }
    }
    join->left = sides[0];
    join->right = sides[1];
    return STATUS_OK;
}

enum status join_prepare(struct planner *planner, struct join_plan *join, const struct expression *condition, bool plain_keys,
                         struct error *err)
{
    uint32_t left_count = join->left->schema->count, right_count = join->right->schema->count;
    struct join_parts parts;
    const struct expression *rest;
    TRY(join_split(planner, condition, left_count, right_count, plain_keys, &parts, err));
    TRY(conditions_join(&parts.rest, &rest, err));
    TRY(side_keys(planner, &parts.left_keys, &join->left, &join->spec.left_keys, err));
    TRY(side_keys(planner, &parts.right_keys, &join->right, &join->spec.right_keys, err));
    join->left_count = left_count;
    join->right_count = right_count;
    join->left_extra = join->left->schema->count - left_count;
    TRY(widen_condition(planner, rest, left_count, right_count, join->left_extra, &join->spec.condition, err));
    join->spec.key_count = parts.key_count;
    join->spec.null_safe = parts.null_safe;
    join->spec.kind = join->relation->join.kind;
    join->spec.null_aware = join->relation->join.null_aware;
    join->spec.single = join->relation->join.single;
    const struct properties *left = &join->left->properties, *right = &join->right->properties;
    join->spec.unique_left = properties_has_key_within(left, join->spec.left_keys, join->spec.key_count) && join->left_is_exact;
    join->spec.unique_right = properties_has_key_within(right, join->spec.right_keys, join->spec.key_count) && join->right_is_exact;
    if (join->spec.null_aware && (join->spec.key_count != 1 || join->spec.condition != NULL)) {
        return plan_refuse(join->relation, ERROR_NOT_SUPPORTED, err, "NOT IN over more than one column");
    }
    TRY(join_distribute(planner, join, err));
    join->spec.left = plan_input(join->left);
    join->spec.right = plan_input(join->right);
    return join_schema(planner, join, &join->spec.output, err);
}

/* Keys of a join: where the other side has at most one row per row, keys of this side stay keys. */
static enum status join_keys(struct planner *planner, const struct join_plan *join, struct properties *properties, struct error *err)
{
    const struct join_spec *spec = &join->spec;
    const struct properties *left = &join->left->properties, *right = &join->right->properties;
    bool left_once = properties_has_key_within(right, spec->right_keys, spec->key_count);
    bool right_once = properties_has_key_within(left, spec->left_keys, spec->key_count);
    uint32_t offset = join->left->schema->count;
    if (!join_keeps_right(spec->kind) || (left_once && (spec->kind == JOIN_INNER || spec->kind == JOIN_LEFT))) {
        for (uint32_t k = 0; k < left->key_count; k++) {
            properties_add_key(properties, left->keys[k]);
        }
    }
    for (uint32_t k = 0; k < right->key_count && join_keeps_right(spec->kind); k++) {
        uint32_t *moved, count = right->keys[k].count;
        bool alone = right_once && (spec->kind == JOIN_INNER || spec->kind == JOIN_RIGHT);
        for (uint32_t l = 0; l < (alone ? 1 : left->key_count); l++) {
            uint32_t before = alone ? 0 : left->keys[l].count;
            TRY_ALLOC(moved, arena_alloc(planner->arena, (before + count + 1) * sizeof *moved), err);
            for (uint32_t i = 0; i < before + count; i++) {
                moved[i] = i < before ? left->keys[l].columns[i] : right->keys[k].columns[i - before] + offset;
            }
            if (alone || spec->kind != JOIN_FULL) {
                properties_add_key(properties, (struct column_list){moved, before + count});
            }
        }
    }
    return STATUS_OK;
}

/* Where the right's rows are: the left is everywhere. */
static enum status join_distribution_of_right(struct planner *planner, const struct join_plan *join, struct properties *properties,
                                              struct error *err)
{
    const struct properties *right = &join->right->properties;
    uint32_t *moved;
    TRY_ALLOC(moved, arena_alloc(planner->arena, (right->distribution_columns.count + 1) * sizeof *moved), err);
    for (uint32_t i = 0; i < right->distribution_columns.count; i++) {
        moved[i] = right->distribution_columns.columns[i] + join->left->schema->count;
    }
    properties->distribution = right->distribution;
    properties->distribution_columns = (struct column_list){moved, right->distribution_columns.count};
    return STATUS_OK;
}

static enum status join_distribution(struct planner *planner, const struct join_plan *join, struct properties *properties,
                                     struct error *err)
{
    const struct join_spec *spec = &join->spec;
    const struct properties *left = &join->left->properties;
    if (left->distribution == DISTRIBUTION_ALL) {
        return join_distribution_of_right(planner, join, properties, err);
    }
    if (left->distribution == DISTRIBUTION_ONE) {
        properties->distribution = DISTRIBUTION_ONE;
    } else if (left->distribution == DISTRIBUTION_HASH && spec->kind != JOIN_RIGHT && spec->kind != JOIN_FULL) {
        properties->distribution = DISTRIBUTION_HASH;
        properties->distribution_columns = left->distribution_columns;
    }
    return STATUS_OK;
}

static void join_event_times(const struct join_plan *join, bool left, bool right, struct properties *properties)
{
    for (uint32_t i = 0; left && i < join->left->schema->count; i++) {
        if (column_set_has(&join->left->properties.event_time, i)) {
            column_set_add(&properties->event_time, i);
        }
    }
    for (uint32_t i = 0; right && join_keeps_right(join->spec.kind) && i < join->right->schema->count; i++) {
        if (column_set_has(&join->right->properties.event_time, i)) {
            column_set_add(&properties->event_time, i + join->left->schema->count);
        }
    }
}

enum status join_add(struct planner *planner, const struct join_plan *join, enum plan_operator op, bool left_times, bool right_times,
                     struct plan_node **node, struct error *err)
{
    struct plan_node *inputs[2] = {join->left, join->right};
    TRY(plan_add(planner, op, inputs, 2, join->spec.output, node, err));
    struct properties *properties = &(*node)->properties;
    bool bounded = properties->bounded;
    TRY(properties_create(planner->arena, join->spec.output->count, properties, err));
    properties->bounded = bounded;
    TRY(join_distribution(planner, join, properties, err));
    join_event_times(join, left_times, right_times, properties);
    return join_keys(planner, join, properties, err);
}

/* Drops the columns that were added for keys. */
static enum status join_keep(struct planner *planner, const struct join_plan *join, struct plan_node *input, struct plan_node **node,
                             struct error *err)
{
    const struct schema *schema = &join->relation->schema;
    uint32_t *columns;
    if (input->schema->count == schema->count) {
        *node = input;
        return STATUS_OK;
    }
    TRY_ALLOC(columns, arena_alloc(planner->arena, (schema->count + 1) * sizeof *columns), err);
    for (uint32_t i = 0; i < schema->count; i++) {
        columns[i] = i < join->left_count ? i : i + join->left_extra;
    }
    return plan_keep(planner, input, columns, schema->count, schema, node, err);
}

/* A side whose rows go when the watermark proves them dead needs no time-to-live, unless a hint sets one. */
static void join_set_ttls(const struct planner *planner, struct plan_node *node, const struct state_ttl hints[2])
{
    for (uint32_t side = 0; side < 2; side++) {
        struct join_prune *prune = &node->join.prune[side];
        prune->present = prune->present && (!hints[side].given || hints[side].us == 0);
        node->join.ttl_us[side] = prune->present ? 0 : plan_ttl(planner, &hints[side], node);
    }
}

static enum status plan_regular(struct planner *planner, struct join_plan *join, struct plan_node **node, struct error *err)
{
    enum join_kind kind = join->relation->join.kind;
    TRY(join_prepare(planner, join, join->relation->join.condition, false, err));
    TRY(join_find_prune(planner, join, err));
    TRY(join_add(planner, join, PLAN_JOIN, false, false, node, err));
    (*node)->join = join->spec;
    join_set_ttls(planner, *node, join->relation->join.ttl);
    bool inserts = kind == JOIN_INNER || (kind == JOIN_SEMI);
    (*node)->properties.changes = !inserts || join->left->properties.changes || join->right->properties.changes;
    return join_keep(planner, join, *node, node, err);
}

static enum status plan_interval(struct planner *planner, struct join_plan *join, const struct time_bounds *bounds, struct plan_node **node,
                                 struct error *err)
{
    TRY(join_prepare(planner, join, join->relation->join.condition, false, err));
    TRY(join_add(planner, join, PLAN_INTERVAL_JOIN, true, true, node, err));
    (*node)->interval_join =
        (struct interval_join_spec){join->spec, bounds->left_time, bounds->right_time, bounds->low, bounds->high, false};
    return join_keep(planner, join, *node, node, err);
}

static bool is_window_equality(const struct plan_node *left, const struct plan_node *right, const struct expression *condition, bool *start,
                               bool *end)
{
    const struct window_property *l = &left->properties.window, *r = &right->properties.window;
    uint32_t left_count = left->schema->count;
    if (!expression_is_call(condition, "=") || condition->args[0]->kind != EXPRESSION_COLUMN ||
        condition->args[1]->kind != EXPRESSION_COLUMN) {
        return false;
    }
    uint32_t a = condition->args[0]->index, b = condition->args[1]->index;
    uint32_t low = a < b ? a : b, high = a < b ? b : a;
    if (low >= left_count || high < left_count) {
        return false;
    }
    bool is_start =
        window_property_has(l->starts, l->start_count, low) && window_property_has(r->starts, r->start_count, high - left_count);
    bool is_end = window_property_has(l->ends, l->end_count, low) && window_property_has(r->ends, r->end_count, high - left_count);
    *start = *start || is_start;
    *end = *end || is_end;
    return is_start || is_end;
}

/* The window's bounds are equal on both sides, and of the same kind of window. `rest`: what the condition says beyond. */
static enum status window_rest(struct planner *planner, const struct join_plan *join, const struct expression **rest, bool *found,
                               struct error *err)
{
    const struct properties *left = &join->left->properties, *right = &join->right->properties;
    struct conditions all = {.arena = planner->arena}, others = {.arena = planner->arena};
    bool start = false, end = false;
    *found = left->window.present && right->window.present && !left->changes && !right->changes &&
             left->window.spec.processing_time == right->window.spec.processing_time && !join->relation->join.null_aware &&
             !join->relation->join.single;
    if (!*found) {
        return STATUS_OK;
    }
    TRY(conditions_split(&all, join->relation->join.condition, err));
    for (uint32_t i = 0; i < all.count; i++) {
        if (!is_window_equality(join->left, join->right, all.items[i], &start, &end)) {
            TRY(conditions_add(&others, all.items[i], err));
        }
    }
    *found = start && end;
    return conditions_join(&others, rest, err);
}

static void window_of_join(const struct join_plan *join, struct properties *properties)
{
    enum join_kind kind = join->spec.kind;
    const struct window_property *left = &join->left->properties.window, *right = &join->right->properties.window;
    uint32_t offset = join->left->schema->count;
    if (kind == JOIN_FULL) {
        return;
    }
    struct window_property *window = &properties->window;
    *window = kind == JOIN_RIGHT ? *right : *left;
    if (kind == JOIN_RIGHT) {
        for (uint32_t i = 0; i < WINDOW_COLUMNS_MAX; i++) {
            window->starts[i] += offset;
            window->ends[i] += offset;
            window->times[i] += offset;
        }
    } else if (kind == JOIN_INNER) {
        for (uint32_t i = 0; i < right->start_count && window->start_count < WINDOW_COLUMNS_MAX; i++) {
            window->starts[window->start_count++] = right->starts[i] + offset;
        }
        for (uint32_t i = 0; i < right->end_count && window->end_count < WINDOW_COLUMNS_MAX; i++) {
            window->ends[window->end_count++] = right->ends[i] + offset;
        }
        for (uint32_t i = 0; i < right->time_count && window->time_count < WINDOW_COLUMNS_MAX; i++) {
            window->times[window->time_count++] = right->times[i] + offset;
        }
    }
}

static enum status plan_windowed(struct planner *planner, struct join_plan *join, const struct expression *rest, struct plan_node **node,
                                 struct error *err)
{
    struct window_property left = join->left->properties.window, right = join->right->properties.window;
    join->windows[0] = &left;
    join->windows[1] = &right;
    TRY(join_prepare(planner, join, rest, false, err));
    TRY(join_add(planner, join, PLAN_WINDOW_JOIN, true, true, node, err));
    (*node)->window_join = (struct window_join_spec){join->spec, left.starts[0], left.ends[0], right.starts[0], right.ends[0]};
    struct properties *properties = &(*node)->properties;
    window_of_join(join, properties);
    properties->key_count = 0;
    return join_keep(planner, join, *node, node, err);
}

static enum status plan_lookup(struct planner *planner, struct join_plan *join, struct plan_node **node, struct error *err)
{
    const struct relation *relation = join->relation;
    enum join_kind kind = relation->join.kind;
    if (!join->right->properties.bounded) {
        return plan_refuse(relation, ERROR_NOT_SUPPORTED, err,
                           "FOR SYSTEM_TIME AS OF processing time over a table that does not end; use the event time, or a bounded table");
    }
    if (kind != JOIN_INNER && kind != JOIN_LEFT) {
        return plan_refuse(relation, ERROR_NOT_SUPPORTED, err, "FOR SYSTEM_TIME AS OF in a RIGHT or FULL join");
    }
    TRY(join_prepare(planner, join, relation->join.condition, false, err));
    TRY(join_add(planner, join, PLAN_LOOKUP_JOIN, true, false, node, err));
    (*node)->lookup_join.join = join->spec;
    (*node)->properties.changes = join->left->properties.changes;
    return join_keep(planner, join, *node, node, err);
}

enum status plan_join(struct planner *planner, struct relation *relation, struct plan_node **node, struct error *err)
{
    struct join_plan join = {.relation = relation};
    TRY(plan_relation(planner, relation->inputs[0], &join.left, err));
    if (relation->join.temporal && relation->inputs[0]->schema.columns[relation->join.time_column].time != TIME_PROCTIME) {
        TRY(plan_temporal(planner, &join, node, err));
        return join_keep(planner, &join, *node, node, err);
    }
    TRY(plan_relation(planner, relation->inputs[1], &join.right, err));
    if (relation->join.temporal) {
        return plan_lookup(planner, &join, node, err);
    }
    const struct expression *rest;
    bool windowed;
    TRY(window_rest(planner, &join, &rest, &windowed, err));
    if (windowed) {
        return plan_windowed(planner, &join, rest, node, err);
    }
    struct time_bounds bounds;
    bool appended =
        !join.left->properties.changes && !join.right->properties.changes && !relation->join.null_aware && !relation->join.single;
    if (appended && join_time_bounds(join.left, join.right, relation->join.condition, &bounds)) {
        return plan_interval(planner, &join, &bounds, node, err);
    }
    return plan_regular(planner, &join, node, err);
}
