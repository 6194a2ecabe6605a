/* OVER, and filters on ranks: Top-N and deduplication. */
#include <string.h>

#include "functions/function.h"
#include "plan/physical.h"

static bool rank_function_of(const struct relation *over, enum rank_function *function)
{
    static const struct {
        const char *name;
        enum rank_function function;
    } names[] = {{"ROW_NUMBER", RANK_ROW_NUMBER}, {"RANK", RANK_RANK}, {"DENSE_RANK", RANK_DENSE_RANK}};
    if (over->kind != RELATION_OVER || over->over.call_count != 1 || over->over.calls[0].aggregate != NULL) {
        return false;
    }
    for (uint32_t i = 0; i < ARRAY_LENGTH(names); i++) {
        if (text_equal_ignoring_case(text_from(over->over.calls[0].name), text_from(names[i].name))) {
            *function = names[i].function;
            return true;
        }
    }
    return false;
}

static const struct expression *skip_casts(const struct expression *expression)
{
    while (expression->kind == EXPRESSION_CAST && type_is_integer(expression->type) && type_is_integer(expression->args[0]->type)) {
        expression = expression->args[0];
    }
    return expression;
}

/* rank <op> constant, either way round: narrows first and last. */
static bool narrow_ranks(const struct expression *condition, uint32_t rank, int64_t *first, int64_t *last)
{
    static const struct {
        const char *name, *mirrored;
    } comparisons[] = {{"=", "="}, {"<=", ">="}, {"<", ">"}, {">=", "<="}, {">", "<"}};
    int64_t value;
    if (condition->kind != EXPRESSION_CALL || condition->arg_count != 2) {
        return false;
    }
    const struct expression *left = skip_casts(condition->args[0]), *right = skip_casts(condition->args[1]);
    bool mirrored = left->kind == EXPRESSION_CONSTANT;
    const struct expression *column = mirrored ? right : left;
    if (column->kind != EXPRESSION_COLUMN || column->index != rank || !expression_constant_int64(mirrored ? left : right, &value)) {
        return false;
    }
    for (uint32_t i = 0; i < ARRAY_LENGTH(comparisons); i++) {
        if (!expression_is_call(condition, comparisons[i].name)) {
            continue;
        }
        const char *op = mirrored ? comparisons[i].mirrored : comparisons[i].name;
        int64_t bound = value + (strcmp(op, ">") == 0 ? (value < INT64_MAX) : (strcmp(op, "<") == 0 ? -(value > INT64_MIN) : 0));
        if (op[0] != '<') {
            *first = bound > *first ? bound : *first;
        }
        if (op[0] != '>') {
            *last = bound < *last ? bound : *last;
        }
        return true;
    }
    return false;
}

static enum status over_check(const struct relation *relation, const struct plan_node *input, struct error *err)
{
    const struct over_relation *over = &relation->over;
    if (over->order_count > 0 && input->schema->columns[over->order[0].column].time == TIME_PROCTIME && over->order[0].descending &&
        input->properties.changes) {
        return plan_refuse(relation, ERROR_NOT_SUPPORTED, err, "an order by processing time over rows that change");
    }
    return STATUS_OK;
}

static enum status plan_over_input(struct planner *planner, struct relation *over, struct plan_node **input, struct error *err)
{
    TRY(plan_relation(planner, over->inputs[0], input, err));
    TRY(over_check(over, *input, err));
    return plan_distribute(planner, *input, over->over.partition, over->over.partition_count, input, err);
}

static bool has_any(const uint32_t *columns, uint32_t count, const struct over_relation *over)
{
    for (uint32_t i = 0; i < count; i++) {
        if (window_property_has(over->partition, over->partition_count, columns[i])) {
            return true;
        }
    }
    return false;
}

/* Within a window all is decided before it closes: window and window_time stay. */
static enum status rank_event_times(struct planner *planner, const struct relation *over, const struct plan_node *input,
                                    struct plan_node *node, struct error *err)
{
    struct window_property window = input->properties.window;
    bool within =
        window.present && has_any(window.starts, window.start_count, &over->over) && has_any(window.ends, window.end_count, &over->over);
    TRY(properties_end_times(planner->arena, node->schema->count, &node->properties, err));
    for (uint32_t i = 0; i < window.time_count && within; i++) {
        column_set_add(&node->properties.event_time, window.times[i]);
    }
    node->properties.window.present = within;
    return STATUS_OK;
}

static enum status rank_properties(struct planner *planner, const struct relation *over, const struct plan_node *input, bool one,
                                   bool changes, struct plan_node *node, struct error *err)
{
    uint32_t count = input->schema->count, *map, *key;
    bool bounded = node->properties.bounded;
    TRY_ALLOC(map, arena_alloc(planner->arena, (count + 1) * sizeof *map), err);
    TRY_ALLOC(key, arena_alloc(planner->arena, (over->over.partition_count + 1) * sizeof *key), err);
    for (uint32_t i = 0; i < count; i++) {
        map[i] = i;
    }
    struct properties *properties = &node->properties;
    TRY(properties_map(planner->arena, &input->properties, count, map, node->schema->count, properties, err));
    properties->bounded = bounded;
    properties->changes = changes;
    properties->ordered = false;
    if (changes) {
        TRY(rank_event_times(planner, over, input, node, err));
    }
    memcpy(key, over->over.partition, over->over.partition_count * sizeof *key);
    if (one) {
        properties_add_key(properties, (struct column_list){key, over->over.partition_count});
    } else if (node->schema->count > count && over->over.call_count == 1 && over->over.calls[0].aggregate == NULL) {
        key[over->over.partition_count] = count;
    }
    return STATUS_OK;
}

/* One time attribute orders rows that are only appended: one row a key is enough. */
static bool is_deduplication(const struct over_relation *over, const struct plan_node *input, enum rank_function function, int64_t first,
                             int64_t last)
{
    if (function != RANK_ROW_NUMBER || first > 1 || last != 1 || over->order_count != 1 || input->properties.changes) {
        return false;
    }
    uint32_t column = over->order[0].column;
    return input->schema->columns[column].time == TIME_PROCTIME ||
           (column_set_has(&input->properties.event_time, column) && over->order[0].nulls_first != over->order[0].descending);
}

static enum status rank_schema(struct planner *planner, const struct relation *over, bool rank_column, const struct schema **schema,
                               struct error *err)
{
    struct schema *made;
    TRY_ALLOC(made, arena_copy(planner->arena, &over->schema, sizeof *made), err);
    made->count -= !rank_column;
    *schema = made;
    return STATUS_OK;
}

static enum status plan_ranks(struct planner *planner, struct relation *over, enum rank_function function, int64_t first, int64_t last,
                              bool rank_column, struct plan_node **node, struct error *err)
{
    const struct over_relation *spec = &over->over;
    const struct schema *schema = NULL;
    struct plan_node *input;
    TRY(plan_over_input(planner, over, &input, err));
    TRY(rank_schema(planner, over, rank_column, &schema, err));
    bool proctime = spec->order_count > 0 && input->schema->columns[spec->order[0].column].time == TIME_PROCTIME;
    bool one = function == RANK_ROW_NUMBER && first <= 1 && last == 1;
    if (is_deduplication(spec, input, function, first, last)) {
        TRY(plan_add(planner, PLAN_DEDUPLICATE, &input, 1, schema, node, err));
        (*node)->deduplicate = (struct deduplicate_spec){
            plan_input(input), spec->partition, spec->partition_count,         spec->order[0].column, spec->order[0].descending, proctime,
            rank_column,       schema,          plan_ttl(planner, NULL, *node)};
        return rank_properties(planner, over, input, one, !proctime || spec->order[0].descending, *node, err);
    }
    TRY(plan_add(planner, PLAN_TOP_N, &input, 1, schema, node, err));
    (*node)->top_n = (struct top_n_spec){plan_input(input),
                                         function,
                                         spec->partition,
                                         spec->partition_count,
                                         spec->order,
                                         spec->order_count,
                                         first < 1 ? 1 : first,
                                         last < 0 ? 0 : last,
                                         rank_column,
                                         schema,
                                         spec->partition_count == 0 ? 0 : plan_ttl(planner, NULL, *node)};
    return rank_properties(planner, over, input, one, true, *node, err);
}

/* Without the rank column a NULL stands in its place, so that columns keep their numbers. */
static enum status fill_rank(struct planner *planner, struct relation *filter, struct plan_node *ranks, struct plan_node **node,
                             struct error *err)
{
    const struct expression **expressions;
    uint32_t count = filter->schema.count;
    TRY_ALLOC(expressions, arena_alloc(planner->arena, (count + 1) * sizeof *expressions), err);
    for (uint32_t i = 0; i < count; i++) {
        if (i + 1 < count) {
            TRY_ALLOC(expressions[i], expression_column(planner->arena, i, filter->schema.columns[i].type), err);
        } else {
            const struct type *type;
            TRY_ALLOC(type, type_with_nullable(planner->arena, filter->schema.columns[i].type, true), err);
            TRY_ALLOC(expressions[i], expression_null(planner->arena, type), err);
        }
    }
    return plan_calc(planner, ranks, NULL, expressions, &filter->schema, node, err);
}

enum status plan_ranked_filter(struct planner *planner, struct relation *filter, const struct column_set *used, struct plan_node **node,
                               struct error *err)
{
    struct relation *over = filter->inputs[0];
    enum rank_function function;
    *node = NULL;
    if (!rank_function_of(over, &function) || relation_is_shared(&planner->parents, over) || over->over.order_count == 0) {
        return STATUS_OK;
    }
    struct conditions all = {.arena = planner->arena}, rest = {.arena = planner->arena};
    uint32_t rank = filter->schema.count - 1;
    int64_t first = 1, last = INT64_MAX;
    bool bounded = false, rank_used = used == NULL || column_set_has(used, rank);
    TRY(conditions_split(&all, filter->filter.condition, err));
    for (uint32_t i = 0; i < all.count; i++) {
        if (narrow_ranks(all.items[i], rank, &first, &last)) {
            bounded = true;
            continue;
        }
        rank_used = rank_used || expression_reads(all.items[i], rank, 1);
        TRY(conditions_add(&rest, all.items[i], err));
    }
    if (!bounded) {
        return STATUS_OK;
    }
    struct plan_node *ranks;
    const struct expression *condition;
    TRY(plan_ranks(planner, over, function, first, last, rank_used, &ranks, err));
    if (!rank_used) {
        TRY(fill_rank(planner, filter, ranks, &ranks, err));
    }
    TRY(conditions_join(&rest, &condition, err));
    *node = ranks;
    return condition == NULL ? STATUS_OK : plan_calc(planner, ranks, condition, NULL, &filter->schema, node, err);
}

bool relation_is_version_view(const struct relation *relation, struct relation **over)
{
    enum rank_function function;
    while (relation->kind == RELATION_PROJECT) {
        relation = relation->inputs[0];
    }
    if (relation->kind != RELATION_FILTER || !rank_function_of(relation->inputs[0], &function) || function != RANK_ROW_NUMBER) {
        return false;
    }
    int64_t first = 1, last = INT64_MAX;
    *over = relation->inputs[0];
    const struct over_relation *spec = &(*over)->over;
    return narrow_ranks(relation->filter.condition, relation->schema.count - 1, &first, &last) && first == 1 && last == 1 &&
           spec->order_count == 1 && spec->order[0].descending &&
           (*over)->inputs[0]->schema.columns[spec->order[0].column].time == TIME_ROWTIME;
}

static bool looks_ahead(const struct over_relation *over)
{
    static const char *const names[] = {"LEAD", "NTILE", "PERCENT_RANK", "CUME_DIST"};
    if (over->following != 0) {
        return true;
    }
    for (uint32_t i = 0; i < over->call_count; i++) {
        for (uint32_t n = 0; over->calls[i].aggregate == NULL && n < ARRAY_LENGTH(names); n++) {
            if (text_equal_ignoring_case(text_from(over->calls[i].name), text_from(names[n]))) {
                return true;
            }
        }
    }
    return false;
}

/* Arguments and filters that are neither columns nor constants become columns, which are dropped after. */
static enum status over_arguments(struct planner *planner, struct plan_node *input, struct over_relation *over, struct plan_node **node,
                                  struct error *err)
{
    struct conditions wanted = {.arena = planner->arena};
    struct over_call *calls;
    TRY_ALLOC(calls, arena_copy(planner->arena, over->calls, over->call_count * sizeof *calls), err);
    for (uint32_t i = 0; i < over->call_count; i++) {
        for (uint32_t a = 0; a < calls[i].arg_count; a++) {
            TRY(conditions_add(&wanted, calls[i].args[a], err));
        }
        if (calls[i].filter != NULL) {
            TRY(conditions_add(&wanted, calls[i].filter, err));
        }
    }
    uint32_t count = 0, *places;
    const struct expression **computed;
    TRY_ALLOC(places, arena_alloc(planner->arena, (wanted.count + 1) * sizeof *places), err);
    TRY_ALLOC(computed, arena_alloc(planner->arena, (wanted.count + 1) * sizeof *computed), err);
    for (uint32_t i = 0; i < wanted.count; i++) {
        if (wanted.items[i]->kind != EXPRESSION_CONSTANT) {
            computed[count++] = wanted.items[i];
        }
    }
    TRY(plan_append(planner, input, computed, count, places, node, err));
    uint32_t at = 0;
    for (uint32_t i = 0; i < over->call_count; i++) {
        const struct expression **args;
        TRY_ALLOC(args, arena_alloc(planner->arena, (calls[i].arg_count + 1) * sizeof *args), err);
        for (uint32_t a = 0; a < calls[i].arg_count; a++) {
            args[a] = calls[i].args[a];
            if (args[a]->kind != EXPRESSION_CONSTANT) {
                TRY_ALLOC(args[a], expression_column(planner->arena, places[at++], args[a]->type), err);
            }
        }
        calls[i].args = args;
        if (calls[i].filter != NULL && calls[i].filter->kind != EXPRESSION_CONSTANT) {
            TRY_ALLOC(calls[i].filter, expression_column(planner->arena, places[at++], calls[i].filter->type), err);
        }
    }
    over->calls = calls;
    return STATUS_OK;
}

static enum status over_schema(struct planner *planner, const struct relation *relation, const struct plan_node *input,
                               struct schema **schema, struct error *err)
{
    struct column *columns;
    uint32_t calls = relation->over.call_count;
    TRY(plan_schema_make(planner, input->schema->count + calls, &columns, schema, err));
    for (uint32_t i = 0; i < input->schema->count; i++) {
        columns[i] = input->schema->columns[i];
    }
    for (uint32_t i = 0; i < calls; i++) {
        columns[input->schema->count + i] = relation->schema.columns[relation->schema.count - calls + i];
    }
    return STATUS_OK;
}

static enum status over_keep(struct planner *planner, struct relation *relation, struct plan_node *over, struct plan_node **node,
                             struct error *err)
{
    uint32_t count = relation->schema.count, calls = relation->over.call_count, extra = over->schema->count - count, *columns;
    if (extra == 0) {
        *node = over;
        return STATUS_OK;
    }
    TRY_ALLOC(columns, arena_alloc(planner->arena, (count + 1) * sizeof *columns), err);
    for (uint32_t i = 0; i < count; i++) {
        columns[i] = i < count - calls ? i : i + extra;
    }
    return plan_keep(planner, over, columns, count, &relation->schema, node, err);
}

enum status plan_over(struct planner *planner, struct relation *relation, struct plan_node **node, struct error *err)
{
    struct over_relation spec = relation->over;
    struct plan_node *input, *over;
    struct schema *schema;
    TRY(plan_relation(planner, relation->inputs[0], &input, err));
    TRY(over_check(relation, input, err));
    TRY(over_arguments(planner, input, &spec, &input, err));
    TRY(plan_distribute(planner, input, spec.partition, spec.partition_count, &input, err));
    TRY(over_schema(planner, relation, input, &schema, err));
    bool ordered = spec.order_count == 1 && !spec.order[0].descending && !input->properties.changes && !looks_ahead(&spec);
    bool proctime = ordered && input->schema->columns[spec.order[0].column].time == TIME_PROCTIME;
    bool event_time = ordered && column_set_has(&input->properties.event_time, spec.order[0].column) &&
                      input->schema->columns[spec.order[0].column].time == TIME_ROWTIME;
    bool by_range = (event_time || proctime) && spec.unit == FRAME_RANGE && spec.preceding != FRAME_UNBOUNDED;
    bool ages = spec.partition_count > 0 && !by_range;
    TRY(plan_add(planner, PLAN_OVER, &input, 1, schema, &over, err));
    over->over = (struct over_spec){plan_input(input), spec, event_time, proctime, schema, ages ? plan_ttl(planner, NULL, over) : 0};
    TRY(rank_properties(planner, relation, input, false, !event_time && !proctime, over, err));
    return over_keep(planner, relation, over, node, err);
}
