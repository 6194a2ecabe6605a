/* OVER calls: aggregates and window functions over a partition's rows. */
#include <string.h>

#include "data/calendar.h"
#include "data/decimal.h"
#include "functions/program.h"
#include "sql/binder_internal.h"

/* ---- functions that need OVER ---- */

enum over_result { OVER_BIGINT, OVER_DOUBLE, OVER_ARGUMENT };
static const struct over_function {
    const char *name;
    enum over_result result;
    uint32_t min_args, max_args;
} over_functions[] = {
    {"ROW_NUMBER", OVER_BIGINT, 0, 0}, {"RANK", OVER_BIGINT, 0, 0},         {"DENSE_RANK", OVER_BIGINT, 0, 0},
    {"NTILE", OVER_BIGINT, 1, 1},      {"PERCENT_RANK", OVER_DOUBLE, 0, 0}, {"CUME_DIST", OVER_DOUBLE, 0, 0},
    {"LAG", OVER_ARGUMENT, 1, 3},      {"LEAD", OVER_ARGUMENT, 1, 3},       {"NTH_VALUE", OVER_ARGUMENT, 2, 2},
};

static const struct over_function *find_over_function(const char *name)
{
    for (size_t i = 0; i < ARRAY_LENGTH(over_functions); i++) {
        if (strcmp(over_functions[i].name, name) == 0) {
            return &over_functions[i];
        }
    }
    return NULL;
}

bool over_function_is(const char *name)
{
    return find_over_function(name) != NULL;
}

static enum status function_type(struct binder *binder, const struct ast_expression *ast, const struct over_function *function,
                                 const struct expression **args, uint32_t count, const struct type **type, struct error *err)
{
    if (count < function->min_args || count > function->max_args) {
        return bind_refuse(&ast->at, ERROR_WRONG_ARGUMENTS, err, "%s takes %u to %u arguments, not %u", function->name, function->min_args,
                           function->max_args, count);
    }
    if (function->result == OVER_BIGINT) {
        *type = &type_bigint_not_null;
    } else if (function->result == OVER_DOUBLE) {
        *type = &type_double_not_null;
    } else if (count == 3) { /* a default */
        const struct type *common = type_common(binder->arena, args[0]->type, args[2]->type);
        if (common == NULL) {
            return bind_refuse(&ast->at, ERROR_TYPE_MISMATCH, err, "the default of %s is a %s, its value a %s", function->name,
                               bind_type_text(binder, args[2]->type), bind_type_text(binder, args[0]->type));
        }
        TRY(bind_cast(binder, &args[0], common, err));
        TRY(bind_cast(binder, &args[2], common, err));
        TRY_ALLOC(*type, type_with_nullable(binder->arena, common, args[0]->type->nullable || args[2]->type->nullable), err);
    } else {
        TRY_ALLOC(*type, bind_nullable(binder, args[0]->type), err);
    }
    return STATUS_OK;
}

/* ---- the window of a call ---- */

static enum status find_named_window(const struct over_calls *over, const struct ast_window *ast, const struct ast_window **found,
                                     struct error *err)
{
    *found = ast;
    for (uint32_t hops = 0; (*found)->name != NULL; hops++) {
        const struct ast_window *next = NULL;
        for (uint32_t i = 0; i < over->window_count; i++) {
            if (strcmp(over->windows[i].name, (*found)->name) == 0) {
                next = over->windows[i].window;
            }
        }
        if (next == NULL || hops > over->window_count) {
            return bind_refuse(&ast->at, ERROR_INVALID_WINDOW, err, "there is no window '%s' in the WINDOW clause", (*found)->name);
        }
        if ((*found)->partition_count + (*found)->order_count > 0 || (*found)->has_frame) {
            return bind_refuse(&ast->at, ERROR_NOT_SUPPORTED, err, "adding to the named window '%s' is not supported", (*found)->name);
        }
        *found = next;
    }
    return STATUS_OK;
}

/* ---- distances of RANGE ---- */

#define SIGN_BIT (UINT64_C(1) << 63) /* of a double */

/* A number of units, rounded to whole ones: keys that are at most `distance` apart are so in whole units below it, those that are at least so
 * far apart (`up`) in whole units above it. */
static int64_t whole_units(int128_t distance, int128_t unit, bool up)
{
    int128_t units = distance / unit + (up && distance % unit > 0);
    return units > INT64_MAX - 1 ? INT64_MAX - 1 : (int64_t)units;
}

static enum status interval_distance(struct binder *binder, struct scope *scope, const struct ast_expression *value, int64_t unit, bool up,
                                     int64_t *distance, struct error *err)
{
    int64_t us;
    TRY(bind_constant_interval(binder, scope, value, "a bound of the frame", &us, err));
    *distance = us < 0 ? -1 : whole_units(us, unit, up);
    return STATUS_OK;
}

/* A constant number, exact or not. */
static enum status bind_constant_number(struct binder *binder, struct scope *scope, const struct ast_expression *ast,
                                        const struct vector **constant, struct error *err)
{
    const struct expression *expression;
    TRY(bind_scalar(binder, scope, ast, &expression, err));
    if (!expression_is_constant(expression) || !type_is_numeric(expression->type)) {
        return bind_refuse(&ast->at, ERROR_INVALID_WINDOW, err, "a bound of the frame must be a constant number, not %s",
                           bind_type_text(binder, expression->type));
    }
    TRY(bind_place(program_evaluate_constant(binder->arena, binder->context->evaluation, expression, constant, err), &ast->at, err));
    return vector_is_valid(*constant, 0) ? STATUS_OK
                                         : bind_refuse(&ast->at, ERROR_INVALID_WINDOW, err, "a bound of the frame must not be NULL");
}

static enum status exact_distance(struct binder *binder, struct scope *scope, const struct ast_expression *value, int32_t scale, bool up,
                                  int64_t *distance, struct error *err)
{
    const struct vector *constant;
    TRY(bind_constant_number(binder, scope, value, &constant, err));
    if (type_is_approximate(constant->type)) {
        return bind_refuse(&value->at, ERROR_INVALID_WINDOW, err,
                           "a bound of the frame must be exact, as its ORDER BY is: write 1.5, not 1.5E0");
    }
    int128_t number = vector_get_integer(constant, 0), limit = decimal_power_of_ten(18);
    int32_t given = constant->type->kind == TYPE_DECIMAL ? constant->type->scale : 0;
    if (number < 0 || number > limit * decimal_power_of_ten(given < 18 ? given : 18)) { /* as far as keys can be apart */
        *distance = number < 0 ? -1 : INT64_MAX - 1;
    } else if (given > scale) {
        *distance = whole_units(number, decimal_power_of_ten(given - scale), up);
    } else {
        *distance = whole_units(number * decimal_power_of_ten(scale - given), 1, up);
    }
    return STATUS_OK;
}

static enum status double_distance(struct binder *binder, struct scope *scope, const struct ast_expression *value, int64_t *distance,
                                   struct error *err)
{
    const struct expression *expression;
    const struct vector *constant;
    TRY(bind_constant_number(binder, scope, value, &constant, err));
    TRY(bind_scalar(binder, scope, value, &expression, err));
    TRY(bind_cast(binder, &expression, &type_double, err));
    TRY(bind_place(program_evaluate_constant(binder->arena, binder->context->evaluation, expression, &constant, err), &value->at, err));
    double number = vector_double(constant)[0];
    *distance = -1;
    if (number >= 0) {
        number = number == 0 ? 0 : number; /* not -0 */
        memcpy(distance, &number, sizeof number);
    }
    return STATUS_OK;
}

/* Between the values of the only key; what it is counted in: struct over_relation. */
static enum status bind_range_distance(struct binder *binder, struct scope *scope, struct over_item *item,
                                       const struct ast_expression *value, bool up, int64_t *distance, struct error *err)
{
    const struct type *type = item->order[0]->type;
    if (item->order_count != 1) {
        return bind_refuse(&value->at, ERROR_INVALID_WINDOW, err, "RANGE with a distance takes one key in ORDER BY, not %u",
                           item->order_count);
    }
    if (type_is_timestamp(type)) {
        return interval_distance(binder, scope, value, 1, up, distance, err);
    }
    if (type->kind == TYPE_DATE || type->kind == TYPE_TIME) {
        return interval_distance(binder, scope, value, type->kind == TYPE_DATE ? US_PER_DAY : US_PER_MS, up, distance, err);
    }
    if (type_is_approximate(type)) {
        item->approximate = true;
        return double_distance(binder, scope, value, distance, err);
    }
    if (type_is_integer(type) || (type->kind == TYPE_DECIMAL && type_physical(type) == PHYSICAL_INT64)) {
        return exact_distance(binder, scope, value, type->kind == TYPE_DECIMAL ? type->scale : 0, up, distance, err);
    }
    return bind_refuse(
        &value->at, ERROR_NOT_SUPPORTED, err,
        "RANGE with a distance over an ORDER BY of type %s: it takes numbers (of up to 18 digits, if DECIMAL), dates and times",
        bind_type_text(binder, type));
}

static enum status frame_bound(struct binder *binder, struct scope *scope, struct over_item *item, enum ast_frame_bound bound,
                               const struct ast_expression *value, bool start, int64_t *distance, struct error *err)
{
    int64_t sign = 1;
    switch (bound) {
    case AST_CURRENT_ROW:
        *distance = 0;
        return STATUS_OK;
    case AST_UNBOUNDED_PRECEDING:
    case AST_UNBOUNDED_FOLLOWING:
        *distance = FRAME_UNBOUNDED;
        return STATUS_OK;
    case AST_PRECEDING:
        sign = start ? 1 : -1;
        break;
    case AST_FOLLOWING:
        sign = start ? -1 : 1;
        break;
    }
    if (item->unit == FRAME_RANGE) {
        TRY(bind_range_distance(binder, scope, item, value, sign < 0, distance, err));
    } else {
        TRY(bind_constant_int64(binder, scope, value, "a bound of the frame", distance, err));
    }
    if (*distance < 0) {
        return bind_refuse(&value->at, ERROR_INVALID_WINDOW, err, "a bound of a frame must not be negative");
    }
    *distance = !item->approximate || *distance == 0 ? *distance * sign : sign < 0 ? (int64_t)((uint64_t)*distance | SIGN_BIT) : *distance;
    return STATUS_OK;
}

/* The number that the bits are of. */
static double distance_of(int64_t bits)
{
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

static bool frame_is_empty(const struct over_item *item)
{
    if (item->preceding == FRAME_UNBOUNDED || item->following == FRAME_UNBOUNDED) {
        return false;
    }
    return item->approximate ? -distance_of(item->preceding) > distance_of(item->following) : -item->preceding > item->following;
}

static enum status bind_frame(struct binder *binder, struct scope *scope, const struct ast_window *ast, struct over_item *item,
                              struct error *err)
{
    if (!ast->has_frame) {
        item->default_frame = true;
        item->unit = FRAME_RANGE;
        item->preceding = FRAME_UNBOUNDED;
        item->following = item->order_count == 0 ? FRAME_UNBOUNDED : 0;
        return STATUS_OK;
    }
    item->unit = ast->rows ? FRAME_ROWS : FRAME_RANGE;
    if (item->order_count == 0) {
        return bind_refuse(&ast->at, ERROR_INVALID_WINDOW, err, "a frame of rows needs ORDER BY in its OVER");
    }
    if (ast->start == AST_UNBOUNDED_FOLLOWING || ast->end == AST_UNBOUNDED_PRECEDING) {
        return bind_refuse(&ast->at, ERROR_INVALID_WINDOW, err, "the frame ends before it begins");
    }
    TRY(frame_bound(binder, scope, item, ast->start, ast->start_value, true, &item->preceding, err));
    TRY(frame_bound(binder, scope, item, ast->end, ast->end_value, false, &item->following, err));
    if (frame_is_empty(item)) {
        return bind_refuse(&ast->at, ERROR_INVALID_WINDOW, err, "the frame ends before it begins");
    }
    return STATUS_OK;
}

static enum status bind_window(struct binder *binder, struct scope *scope, const struct ast_window *ast, struct over_item *item,
                               struct error *err)
{
    TRY(bind_scalars(binder, scope, ast->partition, ast->partition_count, &item->partition, err));
    item->partition_count = ast->partition_count;
    item->order_count = ast->order_count;
    TRY_ALLOC(item->order, arena_alloc(binder->arena, (ast->order_count + 1) * sizeof *item->order), err);
    TRY_ALLOC(item->order_keys, arena_alloc(binder->arena, (ast->order_count + 1) * sizeof *item->order_keys), err);
    for (uint32_t i = 0; i < ast->order_count; i++) {
        const struct ast_order_item *order = &ast->order[i];
        TRY(bind_scalar(binder, scope, order->expression, &item->order[i], err));
        item->order_keys[i] =
            (struct sort_key){.descending = order->descending, .nulls_first = order->nulls_given ? order->nulls_first : !order->descending};
    }
    return bind_frame(binder, scope, ast, item, err);
}

/* ---- calls ---- */

static enum status bind_over_function(struct binder *binder, struct scope *scope, const struct ast_expression *ast, struct over_item *item,
                                      struct error *err)
{
    const struct expression **args = NULL;
    struct over_call *call = &item->call;
    const struct over_function *function = find_over_function(ast->function);
    if (ast->within_group_count > 0) {
        return bind_refuse(&ast->at, ERROR_NOT_SUPPORTED, err, "ORDER BY inside %s is not supported", ast->function);
    }
    if (function != NULL && (ast->ignore_nulls || ast->filter != NULL)) {
        return bind_refuse(&ast->at, ERROR_NOT_SUPPORTED, err, "%s with %s is not supported", ast->ignore_nulls ? "IGNORE NULLS" : "FILTER",
                           ast->function);
    }
    if (!ast->star_argument) {
        TRY(bind_scalars(binder, scope, ast->args, ast->arg_count, &args, err));
        call->arg_count = ast->arg_count;
    }
    call->args = args;
    call->name = ast->function;
    call->distinct = ast->distinct;
    call->ignore_nulls = ast->ignore_nulls;
    call->line = ast->at.line;
    call->column = ast->at.column;
    if (ast->filter != NULL) {
        TRY(bind_condition(binder, scope, ast->filter, &call->filter, err));
    }
    if (function != NULL) {
        if (item->order_count == 0 && function->result != OVER_ARGUMENT && strcmp(function->name, "ROW_NUMBER") != 0) {
            return bind_refuse(&ast->at, ERROR_INVALID_WINDOW, err, "%s needs ORDER BY in its OVER", function->name);
        }
        return function_type(binder, ast, function, args, call->arg_count, &call->type, err);
    }
    call->aggregate = aggregate_find(text_from(ast->function));
    if (call->aggregate == NULL) {
        return bind_refuse(&ast->at, ERROR_UNKNOWN_FUNCTION, err, "%s is no aggregate or window function, so it takes no OVER",
                           ast->function);
    }
    return bind_aggregate_type(binder, call->aggregate, &ast->at, args, call->arg_count, call->distinct, call->ignore_nulls, &call->type,
                               err);
}

enum status bind_over(struct binder *binder, struct scope *scope, const struct ast_expression *ast, const struct expression **expression,
                      struct error *err)
{
    struct over_calls *over = scope->over;
    const struct ast_window *window;
    struct over_item item = {0};
    if (ast->over == NULL) {
        return bind_refuse(&ast->at, ERROR_INVALID_QUERY, err, "%s needs OVER (...)", ast->function);
    }
    if (over == NULL || over->inside) {
        return bind_refuse(&ast->at, ERROR_INVALID_QUERY, err, "%s OVER (...) cannot stand in %s", ast->function,
                           over != NULL            ? "another OVER call"
                           : scope->clause != NULL ? scope->clause
                                                   : "this place");
    }
    TRY(find_named_window(over, ast->over, &window, err));
    over->inside = true;
    TRY(bind_window(binder, scope, window, &item, err));
    TRY(bind_over_function(binder, scope, ast, &item, err));
    over->inside = false;
    TRY_ALLOC(over->items, arena_grow(binder->arena, over->items, &over->capacity, over->count + 1, sizeof *over->items), err);
    TRY_ALLOC(*expression, expression_column(binder->arena, PLACEHOLDER_OVER + over->count, item.call.type), err);
    (void)bind_at(*expression, &ast->at);
    over->items[over->count++] = item;
    return STATUS_OK;
}

/* ---- building ---- */

enum status over_rewrite_arguments(struct binder *binder, const struct aggregation *aggregation, struct over_calls *over, struct error *err)
{
    for (uint32_t i = 0; i < over->count; i++) {
        struct over_item *item = &over->items[i];
        const struct expression **args = (const struct expression **)item->call.args;
        for (uint32_t a = 0; a < item->call.arg_count; a++) {
            TRY(aggregation_rewrite(binder, aggregation, &args[a], err));
        }
        for (uint32_t p = 0; p < item->partition_count; p++) {
            TRY(aggregation_rewrite(binder, aggregation, &item->partition[p], err));
        }
        for (uint32_t o = 0; o < item->order_count; o++) {
            TRY(aggregation_rewrite(binder, aggregation, &item->order[o], err));
        }
        if (item->call.filter != NULL) {
            TRY(aggregation_rewrite(binder, aggregation, &item->call.filter, err));
        }
    }
    return STATUS_OK;
}

static bool same_expressions(const struct expression *const *one, const struct expression *const *two, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!expression_equal(one[i], two[i])) {
            return false;
        }
    }
    return true;
}

static bool same_over(const struct over_item *one, const struct over_item *two)
{
    if (one->partition_count != two->partition_count || one->order_count != two->order_count || one->unit != two->unit ||
        one->preceding != two->preceding || one->following != two->following || one->approximate != two->approximate ||
        one->default_frame != two->default_frame) {
        return false;
    }
    for (uint32_t i = 0; i < one->order_count; i++) {
        if (one->order_keys[i].descending != two->order_keys[i].descending ||
            one->order_keys[i].nulls_first != two->order_keys[i].nulls_first) {
            return false;
        }
    }
    return same_expressions(one->partition, two->partition, one->partition_count) &&
           same_expressions(one->order, two->order, one->order_count);
}

/* Arguments become columns of the extended input, constants stay. */
static enum status place_call(struct extension *extension, struct over_call *call, struct error *err)
{
    struct arena *arena = extension->binder->arena;
    const struct expression **args;
    TRY_ALLOC(args, arena_alloc(arena, (call->arg_count + 1) * sizeof *args), err);
    for (uint32_t i = 0; i < call->arg_count; i++) {
        uint32_t column;
        args[i] = call->args[i];
        if (args[i]->kind != EXPRESSION_CONSTANT) {
            TRY(extension_column(extension, call->args[i], &column, err));
            TRY_ALLOC(args[i], expression_column(arena, column, call->args[i]->type), err);
        }
    }
    call->args = args;
    if (call->filter != NULL) {
        uint32_t column;
        TRY(extension_column(extension, call->filter, &column, err));
        TRY_ALLOC(call->filter, expression_column(arena, column, call->filter->type), err);
    }
    return STATUS_OK;
}

static enum status place_window(struct extension *extension, const struct over_item *item, struct over_relation *over, struct error *err)
{
    struct arena *arena = extension->binder->arena;
    uint32_t *partition;
    struct sort_key *order;
    TRY_ALLOC(partition, arena_alloc(arena, (item->partition_count + 1) * sizeof *partition), err);
    TRY_ALLOC(order, arena_alloc(arena, (item->order_count + 1) * sizeof *order), err);
    for (uint32_t i = 0; i < item->partition_count; i++) {
        TRY(extension_column(extension, item->partition[i], &partition[i], err));
    }
    for (uint32_t i = 0; i < item->order_count; i++) {
        order[i] = item->order_keys[i];
        TRY(extension_column(extension, item->order[i], &order[i].column, err));
    }
    *over = (struct over_relation){.partition = partition,
                                   .partition_count = item->partition_count,
                                   .order = order,
                                   .order_count = item->order_count,
                                   .unit = item->unit,
                                   .preceding = item->preceding,
                                   .following = item->following,
                                   .approximate = item->approximate,
                                   .default_frame = item->default_frame};
    return STATUS_OK;
}

/* One OVER relation for the item `first` and all later ones of the same window. */
static enum status build_one(struct binder *binder, struct over_calls *over, uint32_t first, struct relation **relation, struct error *err)
{
    struct extension extension = {.binder = binder, .input = *relation};
    struct relation *input, *made;
    struct over_relation spec;
    struct over_call *calls;
    uint32_t count = 0;
    TRY_ALLOC(calls, arena_alloc(binder->arena, over->count * sizeof *calls), err);
    TRY(place_window(&extension, &over->items[first], &spec, err));
    for (uint32_t i = first; i < over->count; i++) {
        if (over->items[i].output == 0 && same_over(&over->items[first], &over->items[i])) {
            calls[count] = over->items[i].call;
            TRY(place_call(&extension, &calls[count], err));
            over->items[i].output = ++count; /* corrected below, when the number of columns is known */
        }
    }
    TRY(extension_finish(&extension, &input, err));
    uint32_t base = input->schema.count;
    TRY_ALLOC(made, relation_make(binder->arena, RELATION_OVER, &input, 1, base + count), err);
    memcpy(relation_columns(made), input->schema.columns, base * sizeof(struct column));
    for (uint32_t i = 0; i < count; i++) {
        relation_columns(made)[base + i].type = calls[i].type;
        TRY_ALLOC(relation_columns(made)[base + i].name, arena_format(binder->arena, "w$%u", base + i), err);
    }
    for (uint32_t i = first; i < over->count; i++) {
        if (over->items[i].output > 0 && over->items[i].output <= count && same_over(&over->items[first], &over->items[i])) {
            over->items[i].output += base - 1;
        }
    }
    spec.calls = calls;
    spec.call_count = count;
    made->over = spec;
    *relation = made;
    return STATUS_OK;
}

enum status over_build(struct binder *binder, struct over_calls *over, struct relation **relation, struct error *err)
{
    for (uint32_t i = 0; i < over->count; i++) {
        if (over->items[i].output == 0) {
            TRY(build_one(binder, over, i, relation, err));
        }
    }
    return STATUS_OK;
}

struct over_replace {
    struct binder *binder;
    const struct over_calls *over;
    bool failed;
};

static const struct expression *replace_over(const struct expression *column, void *context)
{
    struct over_replace *replace = context;
    if ((column->index & PLACEHOLDER_KIND) != PLACEHOLDER_OVER) {
        return column;
    }
    const struct expression *value =
        expression_column(replace->binder->arena, replace->over->items[column->index & ~PLACEHOLDER_KIND].output, column->type);
    replace->failed = replace->failed || value == NULL;
    return value;
}

enum status over_rewrite(struct binder *binder, const struct over_calls *over, const struct expression **expression, struct error *err)
{
    struct over_replace replace = {.binder = binder, .over = over};
    if (over->count == 0) {
        return STATUS_OK;
    }
    TRY_ALLOC(*expression, expression_replace_columns(binder->arena, *expression, replace_over, &replace), err);
    return replace.failed ? error_set(err, ERROR_BUDGET_SPENT, "no room for an OVER call") : STATUS_OK;
}
