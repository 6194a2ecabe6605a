/* Filters move towards the tables: through projections, joins, unions, aggregates (on keys), windows.
 *
 * A condition goes down as long as it means the same there. It stops at what is read by others too (that would compute it twice), above the
 * WATERMARK (filtered rows still move it), and, when it can fail for a row, above everything that might have removed that row. A condition
 * over both sides of an inner join becomes part of the join. An outer join whose padded rows the condition rejects becomes a stricter one.
 */
#include <string.h>

#include "plan/rules.h"

struct pushing {
    struct rewrite *rewrite;
    struct arena *arena;
    struct pointer_map parents, done;
};

static enum status push(struct pushing *self, struct relation *relation, struct conditions *above, struct relation **result,
                        struct error *err);

static struct conditions no_conditions(struct pushing *self)
{
    return (struct conditions){.arena = self->arena};
}

static enum status filter_above(struct pushing *self, struct relation *input, const struct conditions *conditions, struct relation **result,
                                struct error *err)
{
    const struct expression *condition;
    TRY(conditions_join(conditions, &condition, err));
    *result = input;
    if (condition != NULL) {
        TRY_ALLOC(*result, relation_filter(self->arena, input, condition), err);
    }
    return STATUS_OK;
}

/* The relation with new inputs (same columns), then the conditions that stayed. */
static enum status rebuild(struct pushing *self, const struct relation *relation, struct relation *const *inputs,
                           const struct conditions *stay, struct relation **result, struct error *err)
{
    struct relation *copy;
    TRY_ALLOC(copy, relation_copy(self->arena, relation), err);
    for (uint32_t i = 0; i < relation->input_count; i++) {
        copy->inputs[i] = inputs[i];
    }
    return filter_above(self, copy, stay, result, err);
}

static bool is_movable(const struct expression *condition)
{
    return expression_is_deterministic(condition) && !expression_reads_watermark(condition);
}

/* May it be evaluated for rows that something between would have removed? */
static bool is_harmless(const struct expression *condition)
{
    return is_movable(condition) && !expression_can_fail(condition);
}

static enum status push_project(struct pushing *self, struct relation *relation, const struct conditions *above, struct relation **result,
                                struct error *err)
{
    struct conditions down = no_conditions(self), stay = no_conditions(self);
    const struct expression *const *values = relation->project.expressions;
    for (uint32_t i = 0; i < above->count; i++) {
        const struct expression *condition = above->items[i];
        bool moves = is_movable(condition) && projection_can_merge(&condition, 1, values, relation->schema.count, true) &&
                     (stay.count == 0 || !expression_can_fail(condition));
        if (moves) {
            TRY_ALLOC(condition, expression_substitute(self->arena, condition, values), err);
        }
        TRY(conditions_add(moves ? &down : &stay, condition, err));
    }
    struct relation *input;
    TRY(push(self, relation->inputs[0], &down, &input, err));
    return rebuild(self, relation, &input, &stay, result, err);
}

static enum status push_filter(struct pushing *self, struct relation *relation, const struct conditions *above, struct relation **result,
                               struct error *err)
{
    struct conditions all = no_conditions(self);
    TRY(conditions_split(&all, relation->filter.condition, err));
    for (uint32_t i = 0; i < above->count; i++) {
        TRY(conditions_add(&all, above->items[i], err));
    }
    return push(self, relation->inputs[0], &all, result, err);
}

/* Conditions that only read the columns in `passing` (numbered as `map` says below) go down. */
static enum status push_columns(struct pushing *self, struct relation *relation, const struct conditions *above,
                                const struct column_set *passing, const uint32_t *map, struct relation **result, struct error *err)
{
    struct conditions down = no_conditions(self), stay = no_conditions(self);
    uint32_t count = relation->schema.count;
    for (uint32_t i = 0; i < above->count; i++) {
        const struct expression *condition = above->items[i];
        struct column_set used;
        TRY(column_set_create(self->arena, count, &used, err));
        expression_columns(condition, &used);
        bool moves = is_harmless(condition) && column_set_size(&used) > 0;
        for (uint32_t c = 0; c < count; c++) {
            moves = moves && (!column_set_has(&used, c) || column_set_has(passing, c));
        }
        if (moves && map != NULL) {
            TRY_ALLOC(condition, expression_renumber(self->arena, condition, map), err);
        }
        TRY(conditions_add(moves ? &down : &stay, condition, err));
    }
    struct relation *input;
    TRY(push(self, relation->inputs[0], &down, &input, err));
    return rebuild(self, relation, &input, &stay, result, err);
}

static enum status push_aggregate(struct pushing *self, struct relation *relation, const struct conditions *above, struct relation **result,
                                  struct error *err)
{
    const struct aggregate_relation *aggregate = &relation->aggregate;
    struct column_set passing;
    uint32_t *map;
    TRY(column_set_create(self->arena, relation->schema.count, &passing, err));
    TRY_ALLOC(map, arena_alloc(self->arena, (relation->schema.count + 1) * sizeof *map), err);
    for (uint32_t k = 0; k < aggregate->key_count; k++) {
        map[k] = aggregate->keys[k];
        bool in_all = true;
        for (uint32_t s = 0; aggregate->sets != NULL && s < aggregate->set_count; s++) {
            in_all = in_all && ((aggregate->sets[s] >> k) & 1) != 0;
        }
        if (in_all) {
            column_set_add(&passing, k);
        }
    }
    return push_columns(self, relation, above, &passing, map, result, err);
}

/* Columns of the input (all, or only `columns`) keep their numbers above. */
static enum status push_prefix(struct pushing *self, struct relation *relation, const struct conditions *above, const uint32_t *columns,
                               uint32_t column_count, bool all, struct relation **result, struct error *err)
{
    struct column_set passing;
    TRY(column_set_create(self->arena, relation->schema.count, &passing, err));
    for (uint32_t i = 0; i < (all ? relation->inputs[0]->schema.count : column_count); i++) {
        column_set_add(&passing, all ? i : columns[i]);
    }
    return push_columns(self, relation, above, &passing, NULL, result, err);
}

static enum status push_set(struct pushing *self, struct relation *relation, const struct conditions *above, struct relation **result,
                            struct error *err)
{
    struct conditions stay = no_conditions(self), down = no_conditions(self);
    struct relation **inputs;
    TRY_ALLOC(inputs, arena_alloc(self->arena, (relation->input_count + 1) * sizeof *inputs), err);
    for (uint32_t i = 0; i < above->count; i++) {
        TRY(conditions_add(is_harmless(above->items[i]) ? &down : &stay, above->items[i], err));
    }
    for (uint32_t i = 0; i < relation->input_count; i++) {
        struct conditions copy = no_conditions(self);
        for (uint32_t c = 0; c < down.count; c++) {
            TRY(conditions_add(&copy, down.items[c], err));
        }
        TRY(push(self, relation->inputs[i], &copy, &inputs[i], err));
    }
    return rebuild(self, relation, inputs, &stay, result, err);
}

struct join_sides {
    uint32_t left_count, right_count;
    struct conditions left, right, on, stay;
};

static bool reads_left(const struct join_sides *sides, const struct expression *condition)
{
    return expression_reads(condition, 0, sides->left_count);
}

static bool reads_right(const struct join_sides *sides, const struct expression *condition)
{
    return expression_reads(condition, sides->left_count, sides->right_count);
}

static enum join_kind stricter_kind(enum join_kind kind, const struct conditions *above, uint32_t left_count, uint32_t right_count)
{
    bool left = false, right = false; /* NULLs of this side are rejected */
    for (uint32_t i = 0; i < above->count; i++) {
        left = left || condition_rejects_null(above->items[i], 0, left_count);
        right = right || condition_rejects_null(above->items[i], left_count, right_count);
    }
    switch (kind) {
    case JOIN_LEFT:
        return right ? JOIN_INNER : kind;
    case JOIN_RIGHT:
        return left ? JOIN_INNER : kind;
    case JOIN_FULL:
        return left && right ? JOIN_INNER : (left ? JOIN_LEFT : (right ? JOIN_RIGHT : kind));
    default:
        return kind;
    }
}

/* Where a condition from above (WHERE) may go. */
static enum status place_where(struct pushing *self, const struct relation *relation, enum join_kind kind,
                               const struct expression *condition, struct join_sides *sides, struct error *err)
{
    (void)self;
    bool left = reads_left(sides, condition), right = reads_right(sides, condition);
    bool to_left = kind == JOIN_INNER || kind == JOIN_LEFT || kind == JOIN_SEMI || kind == JOIN_ANTI;
    bool to_right = (kind == JOIN_INNER || kind == JOIN_RIGHT) && !relation->join.temporal;
    if (is_harmless(condition) && left && !right && to_left) {
        return conditions_add(&sides->left, condition, err);
    }
    if (is_harmless(condition) && right && !left && to_right) {
        return conditions_add(&sides->right, condition, err);
    }
    bool key = expression_is_call(condition, "=") || expression_is_call(condition, "IS NOT DISTINCT FROM");
    bool joins =
        kind == JOIN_INNER && !relation->join.temporal && left && right && is_movable(condition) && (key || is_harmless(condition));
    return conditions_add(joins ? &sides->on : &sides->stay, condition, err);
}

/* Where a condition of the join itself (ON) may go. */
static enum status place_on(const struct relation *relation, enum join_kind kind, const struct expression *condition,
                            struct join_sides *sides, struct error *err)
{
    bool left = reads_left(sides, condition), right = reads_right(sides, condition);
    bool to_left = kind == JOIN_INNER || kind == JOIN_RIGHT || kind == JOIN_SEMI;
    bool to_right = (kind != JOIN_RIGHT && kind != JOIN_FULL) && !relation->join.null_aware && !relation->join.temporal;
    if (is_harmless(condition) && left && !right && to_left) {
        return conditions_add(&sides->left, condition, err);
    }
    if (is_harmless(condition) && right && !left && to_right) {
        return conditions_add(&sides->right, condition, err);
    }
    return conditions_add(&sides->on, condition, err);
}

/* Types of columns that can no longer be padded stay nullable: readers were bound to that. */
static enum status join_rebuild(struct pushing *self, const struct relation *relation, enum join_kind kind, struct join_sides *sides,
                                struct relation **result, struct error *err)
{
    struct relation *copy;
    for (uint32_t i = 0; i < sides->right.count; i++) {
        TRY_ALLOC(sides->right.items[i], expression_shift(self->arena, sides->right.items[i], -(int32_t)sides->left_count), err);
    }
    TRY_ALLOC(copy, relation_copy(self->arena, relation), err);
    TRY(push(self, relation->inputs[0], &sides->left, &copy->inputs[0], err));
    TRY(push(self, relation->inputs[1], &sides->right, &copy->inputs[1], err));
    copy->join.kind = kind;
    TRY(conditions_join(&sides->on, &copy->join.condition, err));
    return filter_above(self, copy, &sides->stay, result, err);
}

static enum status push_join(struct pushing *self, struct relation *relation, const struct conditions *above, struct relation **result,
                             struct error *err)
{
    struct join_sides sides = {.left_count = relation->inputs[0]->schema.count,
                               .right_count = relation->inputs[1]->schema.count,
                               .left = no_conditions(self),
                               .right = no_conditions(self),
                               .on = no_conditions(self),
                               .stay = no_conditions(self)};
    enum join_kind kind = relation->join.kind;
    if (!relation->join.single) {
        kind = stricter_kind(kind, above, sides.left_count, sides.right_count);
    }
    struct conditions own = no_conditions(self);
    TRY(conditions_split(&own, relation->join.condition, err));
    for (uint32_t i = 0; i < own.count; i++) {
        TRY(place_on(relation, kind, own.items[i], &sides, err));
    }
    for (uint32_t i = 0; i < above->count; i++) {
        TRY(place_where(self, relation, kind, above->items[i], &sides, err));
    }
    return join_rebuild(self, relation, kind, &sides, result, err);
}

static enum status push_stop(struct pushing *self, struct relation *relation, const struct conditions *above, struct relation **result,
                             struct error *err)
{
    struct relation **inputs;
    TRY_ALLOC(inputs, arena_alloc(self->arena, (relation->input_count + 1) * sizeof *inputs), err);
    for (uint32_t i = 0; i < relation->input_count; i++) {
        struct conditions none = no_conditions(self);
        TRY(push(self, relation->inputs[i], &none, &inputs[i], err));
    }
    return rebuild(self, relation, inputs, above, result, err);
}

static enum status push_kind(struct pushing *self, struct relation *relation, struct conditions *above, struct relation **result,
                             struct error *err)
{
    switch (relation->kind) {
    case RELATION_FILTER:
        return push_filter(self, relation, above, result, err);
    case RELATION_PROJECT:
        return push_project(self, relation, above, result, err);
    case RELATION_AGGREGATE:
        return push_aggregate(self, relation, above, result, err);
    case RELATION_WINDOW: /* a session is made of its partition's rows */
        return push_prefix(self, relation, above, relation->window.partition, relation->window.partition_count,
                           relation->window.kind != WINDOW_SESSION, result, err);
    case RELATION_JOIN:
        return push_join(self, relation, above, result, err);
    case RELATION_LATERAL:
        return push_prefix(self, relation, above, NULL, 0, true, result, err);
    case RELATION_OVER:
        return push_prefix(self, relation, above, relation->over.partition, relation->over.partition_count, false, result, err);
    case RELATION_SORT:
        if (relation->sort.fetch < 0 && relation->sort.offset == 0) {
            return push_prefix(self, relation, above, NULL, 0, true, result, err);
        }
        break;
    case RELATION_UNION:
    case RELATION_INTERSECT:
    case RELATION_EXCEPT:
        return push_set(self, relation, above, result, err);
    case RELATION_SCAN:
    case RELATION_VALUES:
    case RELATION_WATERMARK:
        break;
    }
    return push_stop(self, relation, above, result, err);
}

static enum status push(struct pushing *self, struct relation *relation, struct conditions *above, struct relation **result,
                        struct error *err)
{
    TRY(rewrite_step(self->rewrite, err));
    if (!relation_is_shared(&self->parents, relation)) {
        return push_kind(self, relation, above, result, err);
    }
    struct relation *once = pointer_map_get(&self->done, relation);
    if (once == NULL) {
        struct conditions none = no_conditions(self);
        TRY(push_kind(self, relation, &none, &once, err));
        TRY(pointer_map_put(&self->done, relation, once, err));
    }
    return filter_above(self, once, above, result, err);
}

enum status rule_push_filters(struct rewrite *rewrite, struct error *err)
{
    struct pushing self = {rewrite, rewrite->arena, {.arena = rewrite->arena}, {.arena = rewrite->arena}};
    TRY(relation_count_parents(rewrite->roots, rewrite->root_count, &self.parents, err));
    for (uint32_t i = 0; i < rewrite->root_count; i++) {
        struct conditions none = no_conditions(&self);
        TRY(push(&self, rewrite->roots[i], &none, &rewrite->roots[i], err));
    }
    return STATUS_OK;
}
