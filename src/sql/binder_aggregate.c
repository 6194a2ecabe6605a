/* GROUP BY and aggregate calls. */
#include <string.h>

#include "sql/binder_internal.h"

/* ---- types ---- */

enum status bind_aggregate_type(struct binder *binder, const struct aggregate_function *function, const struct position *at,
                                const struct expression **args, uint32_t arg_count, bool distinct, bool ignore_nulls,
                                const struct type **type, struct error *err)
{
    struct aggregate_binding binding = {
        .arena = binder->arena,
        .evaluation = binder->context->evaluation,
        .function = function,
        .args = args,
        .arg_count = arg_count,
        .distinct = distinct,
        .ignore_nulls = ignore_nulls,
    };
    if (arg_count < function->min_args || arg_count > function->max_args) {
        return bind_refuse(at, ERROR_WRONG_ARGUMENTS, err, "%s takes other arguments: %s", function->name, function->syntax);
    }
    err->line = 0;
    TRY(bind_place(function->bind(&binding, err), at, err));
    *type = binding.accumulator.result;
    return STATUS_OK;
}

/* ---- calls ---- */

static enum status call_order(struct binder *binder, struct scope *scope, const struct ast_expression *ast, struct aggregate_call *call,
                              const struct expression *const **values, struct error *err)
{
    struct sort_key *keys;
    const struct expression **order;
    if (ast->within_group_count == 0) {
        return STATUS_OK;
    }
    TRY_ALLOC(keys, arena_alloc(binder->arena, ast->within_group_count * sizeof *keys), err);
    TRY_ALLOC(order, arena_alloc(binder->arena, ast->within_group_count * sizeof *order), err);
    for (uint32_t i = 0; i < ast->within_group_count; i++) {
        const struct ast_order_item *item = &ast->within_group[i];
        TRY(bind_scalar(binder, scope, item->expression, &order[i], err));
        keys[i] =
            (struct sort_key){.descending = item->descending, .nulls_first = item->nulls_given ? item->nulls_first : !item->descending};
    }
    call->order = keys;
    call->order_count = ast->within_group_count;
    *values = order;
    return STATUS_OK;
}

/* The arguments without the ON NULL clause of a JSON aggregate; what it says (or the default) is made explicit as ignore_nulls. */
static uint32_t split_on_null(const struct ast_expression *ast, bool *ignore_nulls)
{
    *ignore_nulls = ast->ignore_nulls || strcmp(ast->function, "JSON_ARRAYAGG") == 0;
    const struct ast_expression *last = ast->arg_count > 0 ? ast->args[ast->arg_count - 1] : NULL;
    if (last == NULL || last->kind != AST_NAMED_ARG || strncmp(ast->function, "JSON_", 5) != 0) {
        return ast->arg_count;
    }
    *ignore_nulls = text_equal(last->text, TEXT("ABSENT"));
    return ast->arg_count - 1;
}

static enum status bind_call_parts(struct binder *binder, struct scope *scope, const struct ast_expression *ast,
                                   const struct aggregate_function *function, struct aggregate_call *call,
                                   const struct expression *const **order, struct error *err)
{
    const struct expression **args = NULL;
    struct aggregation *aggregation = scope->aggregation;
    struct over_calls *over = scope->over;
    aggregation->inside = true;
    scope->over = NULL;
    bool ignore_nulls;
    uint32_t arg_count = split_on_null(ast, &ignore_nulls);
    if (ast->star_argument && ast->distinct) {
        return bind_refuse(&ast->at, ERROR_WRONG_ARGUMENTS, err, "%s(DISTINCT *): name the columns", function->name);
    }
    if (!ast->star_argument) {
        TRY(bind_scalars(binder, scope, ast->args, arg_count, &args, err));
    }
    *call = (struct aggregate_call){
        .function = function,
        .args = args,
        .arg_count = ast->star_argument ? 0 : arg_count,
        .distinct = ast->distinct,
        .ignore_nulls = ignore_nulls,
        .line = ast->at.line,
        .column = ast->at.column,
    };
    if (ast->filter != NULL) {
        const char *clause = scope->clause;
        scope->clause = "FILTER";
        TRY(bind_condition(binder, scope, ast->filter, &call->filter, err));
        scope->clause = clause;
    }
    TRY(call_order(binder, scope, ast, call, order, err));
    aggregation->inside = false;
    scope->over = over;
    return bind_aggregate_type(binder, function, &ast->at, args, call->arg_count, call->distinct, call->ignore_nulls, &call->type, err);
}

static bool same_call(const struct aggregate_call *one, const struct aggregate_call *two)
{
    if (one->function != two->function || one->arg_count != two->arg_count || one->distinct != two->distinct ||
        one->ignore_nulls != two->ignore_nulls || one->order_count + two->order_count > 0 ||
        (one->filter == NULL) != (two->filter == NULL)) {
        return false;
    }
    for (uint32_t i = 0; i < one->arg_count; i++) {
        if (!expression_equal(one->args[i], two->args[i])) {
            return false;
        }
    }
    return one->filter == NULL || expression_equal(one->filter, two->filter);
}

enum status bind_aggregate(struct binder *binder, struct scope *scope, const struct ast_expression *ast,
                           const struct aggregate_function *function, const struct expression **expression, struct error *err)
{
    struct aggregation *aggregation = scope->aggregation;
    struct aggregate_call call;
    const struct expression *const *order = NULL;
    if (aggregation == NULL || aggregation->inside) {
        return bind_refuse(&ast->at, ERROR_INVALID_QUERY, err, "%s, an aggregate function, cannot stand in %s", function->name,
                           aggregation != NULL     ? "another aggregate function"
                           : scope->clause != NULL ? scope->clause
                                                   : "this place");
    }
    TRY(bind_call_parts(binder, scope, ast, function, &call, &order, err));
    uint32_t index = 0;
    while (index < aggregation->call_count && !same_call(&aggregation->calls[index], &call)) {
        index++;
    }
    if (index == aggregation->call_count) {
        TRY_ALLOC(aggregation->calls,
                  arena_grow(binder->arena, aggregation->calls, &aggregation->call_capacity, index + 1, sizeof *aggregation->calls), err);
        TRY_ALLOC(aggregation->order_values,
                  arena_grow(binder->arena, aggregation->order_values, &aggregation->order_capacity, index + 1,
                             sizeof *aggregation->order_values),
                  err);
        aggregation->calls[index] = call;
        aggregation->order_values[index] = order;
        aggregation->call_count++;
    }
    TRY_ALLOC(*expression, expression_column(binder->arena, PLACEHOLDER_CALL + index, aggregation->calls[index].type), err);
    (void)bind_at(*expression, &ast->at);
    return STATUS_OK;
}

bool aggregation_is_used(const struct aggregation *aggregation)
{
    return aggregation->grouped || aggregation->call_count > 0;
}

/* ---- GROUP BY ---- */

static enum status add_key(struct binder *binder, struct aggregation *self, const struct ast_expression *ast, uint32_t *key,
                           struct error *err)
{
    const struct expression *value;
    self->scope->clause = "GROUP BY";
    TRY(bind_scalar(binder, self->scope, ast, &value, err));
    for (uint32_t i = 0; i < self->key_count; i++) {
        if (expression_equal(self->keys[i], value)) {
            *key = i;
            return STATUS_OK;
        }
    }
    if (self->key_count == KEYS_MAX) {
        return bind_refuse(&ast->at, ERROR_TOO_MANY, err, "more than %d keys in GROUP BY", KEYS_MAX);
    }
    TRY_ALLOC(self->keys, arena_grow(binder->arena, self->keys, &self->key_capacity, self->key_count + 1, sizeof *self->keys), err);
    *key = self->key_count;
    self->keys[self->key_count++] = value;
    return STATUS_OK;
}

static enum status add_keys(struct binder *binder, struct aggregation *self, const struct ast_expression *ast, uint64_t *mask,
                            struct error *err)
{
    bool row = ast->kind == AST_ROW;
    for (uint32_t i = 0; i < (row ? ast->arg_count : 1); i++) {
        uint32_t key = 0;
        TRY(add_key(binder, self, row ? ast->args[i] : ast, &key, err));
        *mask |= UINT64_C(1) << key;
    }
    return STATUS_OK;
}

struct masks {
    uint64_t list[1024];
    uint32_t count;
};

static enum status add_mask(struct masks *masks, uint64_t mask, const struct position *at, struct error *err)
{
    if (masks->count == ARRAY_LENGTH(masks->list)) {
        return bind_refuse(at, ERROR_TOO_MANY, err, "more than %zu grouping sets", ARRAY_LENGTH(masks->list));
    }
    masks->list[masks->count++] = mask;
    return STATUS_OK;
}

static enum status grouping_masks(struct binder *binder, struct aggregation *self, const struct ast_grouping *ast, struct masks *masks,
                                  uint32_t depth, struct error *err);

static enum status cube_masks(const struct ast_grouping *ast, const uint64_t *parts, struct masks *masks, struct error *err)
{
    if (ast->expression_count > 10) {
        return bind_refuse(&ast->at, ERROR_TOO_MANY, err, "CUBE of more than 10 columns");
    }
    for (uint32_t choice = (1u << ast->expression_count); choice-- > 0;) {
        uint64_t mask = 0;
        for (uint32_t i = 0; i < ast->expression_count; i++) {
            mask |= (choice >> (ast->expression_count - 1 - i) & 1) != 0 ? parts[i] : 0;
        }
        TRY(add_mask(masks, mask, &ast->at, err));
    }
    return STATUS_OK;
}

static enum status rollup_masks(const struct ast_grouping *ast, const uint64_t *parts, struct masks *masks, struct error *err)
{
    for (uint32_t length = ast->expression_count + 1; length-- > 0;) {
        uint64_t mask = 0;
        for (uint32_t i = 0; i < length; i++) {
            mask |= parts[i];
        }
        TRY(add_mask(masks, mask, &ast->at, err));
    }
    return STATUS_OK;
}

static enum status grouping_masks(struct binder *binder, struct aggregation *self, const struct ast_grouping *ast, struct masks *masks,
                                  uint32_t depth, struct error *err)
{
    uint64_t parts[KEYS_MAX] = {0};
    if (depth > 20 || ast->expression_count > KEYS_MAX) {
        return bind_refuse(&ast->at, ERROR_TOO_DEEP, err, "GROUP BY nests too deeply or has too many columns");
    }
    for (uint32_t i = 0; i < ast->expression_count; i++) {
        TRY(add_keys(binder, self, ast->expressions[i], &parts[i], err));
    }
    switch (ast->kind) {
    case AST_GROUP_EMPTY:
        return add_mask(masks, 0, &ast->at, err);
    case AST_GROUP_PLAIN:
        for (uint32_t i = 1; i < ast->expression_count; i++) {
            parts[0] |= parts[i];
        }
        return add_mask(masks, parts[0], &ast->at, err);
    case AST_GROUP_CUBE:
        return cube_masks(ast, parts, masks, err);
    case AST_GROUP_ROLLUP:
        return rollup_masks(ast, parts, masks, err);
    default:
        for (uint32_t i = 0; i < ast->set_count; i++) {
            TRY(grouping_masks(binder, self, &ast->sets[i], masks, depth + 1, err));
        }
        return STATUS_OK;
    }
}

/* Several items multiply: every set of one with every set of the next. */
static enum status multiply_masks(struct masks *all, const struct masks *next, const struct position *at, struct error *err)
{
    static _Thread_local struct masks product;
    product.count = 0;
    for (uint32_t i = 0; i < all->count; i++) {
        for (uint32_t j = 0; j < next->count; j++) {
            TRY(add_mask(&product, all->list[i] | next->list[j], at, err));
        }
    }
    *all = product;
    return STATUS_OK;
}

enum status bind_groups(struct binder *binder, struct aggregation *aggregation, const struct ast_query *query, struct error *err)
{
    static _Thread_local struct masks all, next;
    all = (struct masks){.count = 1};
    for (uint32_t i = 0; i < query->group_count; i++) {
        const struct ast_grouping *group = &query->groups[i];
        if (group->kind == AST_GROUP_PLAIN && group->expression_count == 1 && legacy_window_is(group->expressions[0])) {
            TRY(bind_legacy_window(binder, aggregation, group->expressions[0], err));
            continue;
        }
        next.count = 0;
        aggregation->has_sets = aggregation->has_sets || (group->kind != AST_GROUP_PLAIN && group->kind != AST_GROUP_EMPTY);
        TRY(grouping_masks(binder, aggregation, group, &next, 0, err));
        struct masks one = next;
        TRY(multiply_masks(&all, &one, &group->at, err));
    }
    if (aggregation->has_sets) {
        TRY_ALLOC(aggregation->sets, arena_copy(binder->arena, all.list, all.count * sizeof all.list[0]), err);
        aggregation->set_count = all.count;
    }
    return STATUS_OK;
}

/* ---- GROUPING ---- */

/* Bit `position` of the grouping id, as BIGINT times `times`. */
static enum status grouping_bit(struct binder *binder, const struct position *at, const struct expression *id, uint32_t position,
                                int64_t times, const struct expression **bit, struct error *err)
{
    const struct expression *args[2] = {id};
    TRY_ALLOC(args[1], expression_int64(binder->arena, INT64_C(1) << position), err);
    TRY(bind_call(binder, "/", at, args, 2, bit, err));
    args[0] = *bit;
    TRY_ALLOC(args[1], expression_int64(binder->arena, 2), err);
    TRY(bind_call(binder, "%", at, args, 2, bit, err));
    args[0] = *bit;
    TRY_ALLOC(args[1], expression_int64(binder->arena, times), err);
    return bind_call(binder, "*", at, args, 2, bit, err);
}

enum status bind_grouping(struct binder *binder, struct scope *scope, const struct ast_expression *ast,
                          const struct expression **expression, struct error *err)
{
    struct aggregation *self = scope->aggregation;
    const struct expression *id, *sum = NULL;
    if (self == NULL || !self->grouped || self->inside) {
        return bind_refuse(&ast->at, ERROR_INVALID_QUERY, err, "%s needs GROUP BY", ast->function);
    }
    self->uses_grouping = self->has_sets;
    TRY_ALLOC(id, expression_column(binder->arena, PLACEHOLDER_GROUPING, &type_int_not_null), err);
    TRY(bind_cast(binder, &id, &type_bigint_not_null, err));
    for (uint32_t i = 0; i < ast->arg_count; i++) {
        const struct expression *key, *bit;
        uint32_t found = 0;
        TRY(bind_scalar(binder, scope, ast->args[i], &key, err));
        while (found < self->key_count && !expression_equal(self->keys[found], key)) {
            found++;
        }
        if (found == self->key_count) {
            return bind_refuse(&ast->args[i]->at, ERROR_NOT_GROUPED, err, "the argument of %s is not in GROUP BY", ast->function);
        }
        if (!self->has_sets) {
            continue;
        }
        TRY(grouping_bit(binder, &ast->at, id, self->key_count - 1 - found, INT64_C(1) << (ast->arg_count - 1 - i), &bit, err));
        if (sum != NULL) {
            const struct expression *args[2] = {sum, bit};
            TRY(bind_call(binder, "+", &ast->at, args, 2, &bit, err));
        }
        sum = bit;
    }
    if (sum == NULL) {
        TRY_ALLOC(sum, expression_int64(binder->arena, 0), err);
    }
    *expression = sum;
    return STATUS_OK;
}

/* ---- building ---- */

static enum status build_calls(struct binder *binder, struct aggregation *self, struct extension *extension, struct error *err)
{
    (void)binder;
    for (uint32_t i = 0; i < self->call_count; i++) {
        struct sort_key *order = (struct sort_key *)self->calls[i].order;
        for (uint32_t k = 0; k < self->calls[i].order_count; k++) {
            TRY(extension_column(extension, self->order_values[i][k], &order[k].column, err));
        }
    }
    return STATUS_OK;
}

static enum status key_column(struct binder *binder, const struct aggregation *self, const struct relation *input, uint32_t i,
                              uint32_t source, struct column *column, struct error *err)
{
    const struct relation *window;
    *column = input->schema.columns[source];
    if (relation_window_role(input, source, &window) == WINDOW_ROLE_NONE && column->time == TIME_ROWTIME) {
        column->time = TIME_NONE;
    }
    bool in_all = true;
    for (uint32_t s = 0; s < self->set_count; s++) {
        in_all = in_all && (self->sets[s] >> i & 1) != 0;
    }
    if (!in_all) {
        TRY_ALLOC(column->type, bind_nullable(binder, column->type), err);
        column->time = TIME_NONE;
    }
    return STATUS_OK;
}

enum status aggregation_build(struct binder *binder, struct aggregation *self, struct relation **relation, struct error *err)
{
    struct extension extension = {.binder = binder, .input = *relation};
    struct relation *input, *made;
    uint32_t *keys;
    TRY_ALLOC(keys, arena_alloc(binder->arena, (self->key_count + 1) * sizeof *keys), err);
    for (uint32_t i = 0; i < self->key_count; i++) {
        TRY(extension_column(&extension, self->keys[i], &keys[i], err));
    }
    if (self->window_time != NULL) {
        TRY(extension_column(&extension, self->window_time, &self->window.time_column, err));
    }
    TRY(build_calls(binder, self, &extension, err));
    TRY(extension_finish(&extension, &input, err));
    uint32_t grouping = self->has_sets ? 1 : 0;
    uint32_t count = self->key_count + self->call_count + grouping + self->window_column_count;
    TRY_ALLOC(made, relation_make(binder->arena, RELATION_AGGREGATE, &input, 1, count), err);
    struct column *columns = relation_columns(made);
    for (uint32_t i = 0; i < self->key_count; i++) {
        TRY(key_column(binder, self, input, i, keys[i], &columns[i], err));
    }
    for (uint32_t i = 0; i < self->call_count; i++) {
        columns[self->key_count + i].type = self->calls[i].type;
        TRY_ALLOC(columns[self->key_count + i].name, arena_format(binder->arena, "EXPR$%u", self->key_count + i), err);
    }
    if (grouping > 0) {
        columns[self->key_count + self->call_count] = (struct column){.name = "$grouping", .type = &type_int_not_null};
    }
    made->aggregate = (struct aggregate_relation){.keys = keys,
                                                  .key_count = self->key_count,
                                                  .calls = self->calls,
                                                  .call_count = self->call_count,
                                                  .sets = self->sets,
                                                  .set_count = self->set_count,
                                                  .ttl = self->ttl,
                                                  .window = self->window_time != NULL ? &self->window : NULL,
                                                  .window_columns = self->window_columns,
                                                  .window_column_count = self->window_column_count};
    if (self->window_time != NULL) {
        struct window_spec *window;
        TRY_ALLOC(window, arena_copy(binder->arena, &self->window, sizeof *window), err);
        made->aggregate.window = window;
    }
    static const char *const names[] = {"w$start", "w$end", "w$rowtime", "w$proctime"};
    const struct type *time = self->window_time == NULL ? NULL : self->window_time->type;
    for (uint32_t i = 0; i < self->window_column_count; i++) {
        enum window_column which = self->window_columns[i];
        bool local = which == WINDOW_COLUMN_START || which == WINDOW_COLUMN_END;
        enum time_attribute attribute = which == WINDOW_COLUMN_ROWTIME ? TIME_ROWTIME : TIME_PROCTIME;
        columns[self->key_count + self->call_count + grouping + i] =
            (struct column){.name = names[which], .time = local ? TIME_NONE : attribute};
        struct column *column = &columns[self->key_count + self->call_count + grouping + i];
        column->type = local                              ? &type_timestamp3_not_null
                       : time->kind == TYPE_TIMESTAMP_LTZ ? &type_timestamp_ltz3_not_null
                                                          : &type_timestamp3_not_null;
    }
    *relation = made;
    return STATUS_OK;
}

/* ---- rewriting over the aggregate's columns ---- */

static uint32_t placeholder_column(const struct aggregation *self, uint32_t index)
{
    uint32_t at = index & ~PLACEHOLDER_KIND;
    switch (index & PLACEHOLDER_KIND) {
    case PLACEHOLDER_CALL:
        return self->key_count + at;
    case PLACEHOLDER_GROUPING:
        return self->key_count + self->call_count;
    default:
        return self->key_count + self->call_count + (self->has_sets ? 1 : 0) + at;
    }
}

static const struct type *key_type(struct binder *binder, const struct aggregation *self, uint32_t key)
{
    for (uint32_t s = 0; s < self->set_count; s++) {
        if ((self->sets[s] >> key & 1) == 0) {
            return bind_nullable(binder, self->keys[key]->type);
        }
    }
    return self->keys[key]->type;
}

static enum status rewrite_column(struct binder *binder, const struct aggregation *self, const struct expression *column,
                                  const struct expression **result, struct error *err)
{
    uint32_t kind = column->index & PLACEHOLDER_KIND;
    if (kind == PLACEHOLDER_OVER) {
        *result = column;
        return STATUS_OK;
    }
    if (kind != 0) {
        TRY_ALLOC(*result, expression_column(binder->arena, placeholder_column(self, column->index), column->type), err);
        return STATUS_OK;
    }
    const char *name = "?";
    for (uint32_t i = 0; i < self->scope->count; i++) {
        const struct expression *value = self->scope->columns[i].value;
        if (value->kind == EXPRESSION_COLUMN && value->index == column->index) {
            name = self->scope->columns[i].name;
        }
    }
    const struct position at = {.line = column->line, .column = column->column, .fragment = column->fragment};
    return bind_refuse(&at, ERROR_NOT_GROUPED, err, "column '%s' is neither in GROUP BY nor inside an aggregate function", name);
}

enum status aggregation_rewrite(struct binder *binder, const struct aggregation *self, const struct expression **expression,
                                struct error *err)
{
    const struct expression *node = *expression;
    for (uint32_t i = 0; i < self->key_count; i++) {
        if (node->kind != EXPRESSION_CONSTANT && expression_equal(self->keys[i], node)) {
            const struct position at = {.line = node->line, .column = node->column, .fragment = node->fragment};
            TRY_ALLOC(*expression, expression_column(binder->arena, i, key_type(binder, self, i)), err);
            (void)bind_at(*expression, &at);
            return STATUS_OK;
        }
    }
    if (node->kind == EXPRESSION_COLUMN) {
        return rewrite_column(binder, self, node, expression, err);
    }
    if (node->arg_count == 0) {
        return STATUS_OK;
    }
    struct expression *copy;
    const struct expression **args;
    TRY_ALLOC(copy, arena_copy(binder->arena, node, sizeof *copy), err);
    TRY_ALLOC(args, arena_copy(binder->arena, node->args, node->arg_count * sizeof *args), err);
    for (uint32_t i = 0; i < node->arg_count; i++) {
        TRY(aggregation_rewrite(binder, self, &args[i], err));
    }
    copy->args = args;
    *expression = copy;
    return STATUS_OK;
}

enum status aggregation_rewrite_references(struct binder *binder, const struct aggregation *self, struct error *err)
{
    for (const struct outer_reference *reference = self->scope->references; reference != NULL; reference = reference->next) {
        struct expression *node = reference->node;
        const struct expression *column;
        TRY_ALLOC(column, expression_column(binder->arena, node->index, node->type), err);
        const struct position at = {.line = node->line, .column = node->column, .fragment = node->fragment};
        (void)bind_at(column, &at);
        TRY(aggregation_rewrite(binder, self, &column, err));
        node->index = column->index;
        node->type = column->type;
    }
    return STATUS_OK;
}
