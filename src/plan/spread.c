/* Which INSERTs can be run by several processes that know nothing of each other: each reads a piece of the sources, and all of them together
 * give what one would give of the whole.
 *
 * From the sources up it is followed which columns say of what piece a row is: those of PARTITIONED BY, as long as they are passed on as they
 * are. Then an operator is either one that looks at one row at a time; or it brings together rows with equal keys, and these say of what piece
 * they are, so that no other process has any of them; or it keeps the plan whole. What looks at event time does, too: a watermark is that of
 * all partitions of a table; and what reads the clock, which is another one in each process.
 */
#include <string.h>

#include "connectors/sink.h"
#include "connectors/table_options.h"
#include "functions/function.h"
#include "plan/physical.h"
#include "plan/rules.h"

enum { DESCRIPTION_MAX = 100 };

/* Of what an operator gives. */
struct piece_columns {
    uint32_t *number; /* by output column: 1 + which column of PARTITIONED BY it is; 0: none */
    uint32_t count;   /* columns that together say what piece a row is of; 0: none do */
};
struct spread {
    const struct plan *plan;
    struct piece_columns *columns; /* by node */
    const char *obstacle;          /* what keeps it whole; NULL: nothing so far */
};
typedef enum status spread_fn(struct spread *self, const struct plan_node *node, struct error *err);

static enum status keep_whole_at(struct spread *self, uint32_t line, uint32_t column, const char *name, const char *what, struct error *err)
{
    TRY_ALLOC(self->obstacle,
              line == 0 ? arena_format(self->plan->arena, "%s %s", name, what)
                        : arena_format(self->plan->arena, "%s at %u:%u %s", name, line, column, what),
              err);
    return STATUS_OK;
}

/* "Join (inner on a = b)": as EXPLAIN has it, if that is short. */
static enum status name_operator(const struct plan *plan, const struct plan_node *node, const char **name, struct error *err)
{
    struct text_builder text = {0};
    const char *op = plan_operator_name(node->operator);
    plan_node_describe(node, &text);
    bool described = text.length > 0 && text.length <= DESCRIPTION_MAX && !text.failed;
    *name = described ? arena_format(plan->arena, "%s (%s)", op, text.bytes) : op;
    text_builder_close(&text);
    TRY_ALLOC(*name, *name, err);
    return STATUS_OK;
}

static enum status keep_whole(struct spread *self, const struct plan_node *node, const char *what, struct error *err)
{
    bool source = node->operator== PLAN_SOURCE;
    const char *name = node->table;
    if (name == NULL) {
        TRY(name_operator(self->plan, node, &name, err));
    }
    return keep_whole_at(self, source ? node->read->line : 0, source ? node->read->column : 0, name, what, err);
}

/* ---- columns ---- */

static bool keys_tell_pieces(const struct piece_columns *columns, const uint32_t *keys, uint32_t key_count)
{
    for (uint32_t n = 1; n <= columns->count; n++) {
        bool found = false;
        for (uint32_t k = 0; k < key_count; k++) {
            found = found || columns->number[keys[k]] == n;
        }
        if (!found) {
            return false;
        }
    }
    return columns->count > 0;
}

/* The input's columns come first, and others behind them. */
static void pass_columns(struct spread *self, const struct plan_node *node)
{
    const struct piece_columns *from = &self->columns[node->inputs[0]->id];
    struct piece_columns *to = &self->columns[node->id];
    uint32_t count = node->inputs[0]->schema->count;
    to->count = from->count;
    for (uint32_t i = 0; i < node->schema->count && i < count; i++) {
        to->number[i] = from->number[i];
    }
}

static enum status need_keys(struct spread *self, const struct plan_node *node, const uint32_t *keys, uint32_t key_count, const char *verb,
                             struct error *err)
{
    const struct piece_columns *columns = &self->columns[node->inputs[0]->id];
    if (keys_tell_pieces(columns, keys, key_count)) {
        return STATUS_OK;
    }
    const char *what = arena_format(self->plan->arena, "%s rows of different files together%s", verb,
                                    columns->count > 0 ? ": its keys do not have all PARTITIONED BY columns" : "");
    TRY_ALLOC(what, what, err);
    return keep_whole(self, node, what, err);
}

/* ---- operators ---- */

static bool reads_clock_visit(const struct expression *node, void *context)
{
    const struct expression **found = context;
    if (*found == NULL && node->kind == EXPRESSION_CALL && (node->kernel->traits & FUNCTION_CHANCE) == 0 &&
        (node->kernel->traits & (FUNCTION_DYNAMIC | FUNCTION_VOLATILE)) != 0) {
        *found = node;
    }
    return *found == NULL;
}

/* The clock and the watermark; what is left to chance is as good in each process. */
static enum status check_expression(struct spread *self, const struct expression *expression, struct error *err)
{
    const struct expression *found = NULL;
    expression_walk(expression, reads_clock_visit, &found);
    if (found == NULL || self->obstacle != NULL) {
        return STATUS_OK;
    }
    bool placed = !found->fragment;
    return keep_whole_at(self, placed ? found->line : 0, found->column, found->function->name, "is another value in each process", err);
}

static enum status spread_source(struct spread *self, const struct plan_node *node, struct error *err)
{
    struct source *source = node->read->spec.source;
    const struct catalog_table *table = node->read->table;
    struct piece_columns *columns = &self->columns[node->id];
    struct source_division division;
    if (source->type->divide == NULL) {
        return keep_whole(self, node, "is of a connector that is read by one process", err);
    }
    TRY(source->type->divide(source, &division, err));
    if (division.whole != NULL) {
        return keep_whole(self, node, division.whole, err);
    }
    columns->count = division.by_values ? table->partition_count : 0;
    for (uint32_t i = 0; i < node->schema->count; i++) {
        for (uint32_t n = 0; n < columns->count; n++) {
            const char *name = table->columns[table->partition_by[n]].name;
            columns->number[i] = strcmp(node->schema->columns[i].name, name) == 0 ? n + 1 : columns->number[i];
        }
    }
    return STATUS_OK;
}

static enum status spread_pass(struct spread *self, const struct plan_node *node, struct error *err)
{
    (void)err;
    if (node->input_count > 0) {
        pass_columns(self, node);
    }
    return STATUS_OK;
}

static enum status spread_watermark(struct spread *self, const struct plan_node *node, struct error *err)
{
    if (node->watermark.max_future_skew_us > 0) {
        return keep_whole(self, node, "compares event times with the clock ('scan.watermark.max-future-skew')", err);
    }
    return spread_pass(self, node, err);
}

static enum status spread_calc(struct spread *self, const struct plan_node *node, struct error *err)
{
    const struct calc_spec *calc = &node->calc;
    const struct piece_columns *from = &self->columns[node->inputs[0]->id];
    struct piece_columns *to = &self->columns[node->id];
    if (calc->condition != NULL) {
        TRY(check_expression(self, calc->condition, err));
    }
    if (calc->expressions == NULL) {
        return spread_pass(self, node, err);
    }
    to->count = from->count;
    for (uint32_t i = 0; i < calc->expression_count; i++) {
        TRY(check_expression(self, calc->expressions[i], err));
        if (calc->expressions[i]->kind == EXPRESSION_COLUMN) {
            to->number[i] = from->number[calc->expressions[i]->index];
        }
    }
    return STATUS_OK;
}

/* Pieces follow from the values alone, so equal values of different tables are in the same one; where all have them in the same columns. */
static enum status spread_union(struct spread *self, const struct plan_node *node, struct error *err)
{
    (void)err;
    struct piece_columns *to = &self->columns[node->id];
    pass_columns(self, node);
    for (uint32_t k = 1; k < node->input_count; k++) {
        const struct piece_columns *other = &self->columns[node->inputs[k]->id];
        to->count = other->count == to->count ? to->count : 0;
        for (uint32_t i = 0; i < node->schema->count; i++) {
            to->number[i] = other->number[i] == to->number[i] ? to->number[i] : 0;
        }
    }
    return STATUS_OK;
}

static enum status spread_aggregate(struct spread *self, const struct plan_node *node, struct error *err)
{
    const struct group_aggregate_spec *spec = &node->group_aggregate;
    const struct piece_columns *from = &self->columns[node->inputs[0]->id];
    struct piece_columns *to = &self->columns[node->id];
    to->count = from->count;
    for (uint32_t k = 0; k < spec->key_count; k++) {
        to->number[k] = from->number[spec->keys[k]];
    }
    return need_keys(self, node, spec->keys, spec->key_count, "brings", err);
}

/* A key that a grouping set does not have is NULL in its rows. */
static enum status spread_expand(struct spread *self, const struct plan_node *node, struct error *err)
{
    (void)err;
    const struct expand_spec *spec = &node->expand;
    struct piece_columns *to = &self->columns[node->id];
    pass_columns(self, node);
    for (uint32_t s = 0; s < spec->set_count; s++) {
        for (uint32_t k = 0; k < spec->key_count; k++) {
            bool has = ((spec->sets[s] >> k) & 1) != 0;
            to->number[spec->keys[k]] = has ? to->number[spec->keys[k]] : 0;
        }
    }
    return STATUS_OK;
}

static enum status spread_unnest(struct spread *self, const struct plan_node *node, struct error *err)
{
    pass_columns(self, node);
    return check_expression(self, node->unnest.collection, err);
}

static enum status spread_top_n(struct spread *self, const struct plan_node *node, struct error *err)
{
    pass_columns(self, node);
    return need_keys(self, node, node->top_n.partition, node->top_n.partition_count, "brings", err);
}

static enum status spread_deduplicate(struct spread *self, const struct plan_node *node, struct error *err)
{
    pass_columns(self, node);
    if (node->deduplicate.processing_time) {
        return keep_whole(self, node, "goes by processing time", err);
    }
    return need_keys(self, node, node->deduplicate.keys, node->deduplicate.key_count, "brings", err);
}

static enum status spread_over(struct spread *self, const struct plan_node *node, struct error *err)
{
    pass_columns(self, node);
    if (node->over.event_time || node->over.processing_time) {
        return keep_whole(self, node, node->over.event_time ? "waits for the watermark" : "goes by processing time", err);
    }
    return need_keys(self, node, node->over.over.partition, node->over.over.partition_count, "brings", err);
}

/* Changes of one key must come from one process, in their order. */
static enum status spread_sink(struct spread *self, const struct plan_node *node, struct error *err)
{
    const struct sink_context *context = node->sink.context;
    const char *connector = table_options_get(context->options, "connector");
    const struct sink_type *type = connector == NULL ? NULL : sink_type_find(connector);
    const char *alone = type == NULL || type->alone == NULL ? NULL : type->alone(context);
    if (alone != NULL) {
        return keep_whole(self, node, alone, err);
    }
    if (!node->inputs[0]->properties.changes || context->primary_key_count == 0) {
        return STATUS_OK;
    }
    return need_keys(self, node, context->primary_key, context->primary_key_count, "would get changes of", err);
}

static enum status spread_values(struct spread *self, const struct plan_node *node, struct error *err)
{
    return keep_whole(self, node, "are there once, not once in each process", err);
}

static enum status spread_event_time(struct spread *self, const struct plan_node *node, struct error *err)
{
    return keep_whole(self, node, "goes by the time of all rows", err);
}

static enum status spread_two_inputs(struct spread *self, const struct plan_node *node, struct error *err)
{
    return keep_whole(self, node, "brings rows of its two inputs together", err);
}

/* Do rows of both inputs that have equal keys come from the same piece? */
static bool keys_meet(const struct spread *self, const struct plan_node *node, const uint32_t *left_keys, const uint32_t *right_keys,
                      uint32_t key_count)
{
    const struct piece_columns *left = &self->columns[node->inputs[0]->id], *right = &self->columns[node->inputs[1]->id];
    for (uint32_t n = 1; n <= left->count; n++) {
        bool found = false;
        for (uint32_t k = 0; k < key_count; k++) {
            found = found || (left->number[left_keys[k]] == n && right->number[right_keys[k]] == n);
        }
        if (!found) {
            return false;
        }
    }
    return left->count > 0 && left->count == right->count;
}

/* Columns of a side whose rows may be missing are NULL then, whatever piece it is. */
static void join_columns(struct spread *self, const struct plan_node *node)
{
    const struct join_spec *join = &node->join;
    const struct piece_columns *left = &self->columns[node->inputs[0]->id], *right = &self->columns[node->inputs[1]->id];
    struct piece_columns *to = &self->columns[node->id];
    uint32_t left_count = node->inputs[0]->schema->count;
    bool left_stands = join->kind != JOIN_RIGHT && join->kind != JOIN_FULL;
    bool right_stands = join->kind == JOIN_INNER || join->kind == JOIN_RIGHT;
    to->count = left->count;
    for (uint32_t i = 0; i < node->schema->count; i++) {
        bool stands = i < left_count ? left_stands : right_stands;
        to->number[i] = !stands ? 0 : i < left_count ? left->number[i] : right->number[i - left_count];
    }
}

/* A row of no partner is known to be one where all of its possible partners would be. */
static enum status spread_join(struct spread *self, const struct plan_node *node, struct error *err)
{
    const struct join_spec *join = &node->join;
    if (join->prune[0].present || join->prune[1].present) {
        return spread_event_time(self, node, err);
    }
    if (join->null_aware || !keys_meet(self, node, join->left_keys, join->right_keys, join->key_count)) {
        return spread_two_inputs(self, node, err);
    }
    join_columns(self, node);
    return join->condition == NULL ? STATUS_OK : check_expression(self, join->condition, err);
}

static enum status spread_set(struct spread *self, const struct plan_node *node, struct error *err)
{
    uint32_t *all, count = node->schema->count;
    TRY_ALLOC(all, arena_alloc(self->plan->arena, (count + 1) * sizeof *all), err);
    for (uint32_t i = 0; i < count; i++) {
        all[i] = i;
    }
    pass_columns(self, node);
    return keys_meet(self, node, all, all, count) ? STATUS_OK : spread_two_inputs(self, node, err);
}

static enum status spread_all_rows(struct spread *self, const struct plan_node *node, struct error *err)
{
    return keep_whole(self, node, "looks at all rows", err);
}

/* Its state is that of its own piece: whoever writes a program knows it, and says so where it has to see all rows. */
static enum status spread_program(struct spread *self, const struct plan_node *node, struct error *err)
{
    return node->program.whole ? keep_whole(self, node, "wants to see all rows", err) : STATUS_OK;
}

static spread_fn *const spreaders[PLAN_OPERATOR_COUNT] = {
    [PLAN_SOURCE] = spread_source,
    [PLAN_DEAD_LETTERS] = spread_pass,
    [PLAN_VALUES] = spread_values,
    [PLAN_WATERMARK] = spread_watermark,
    [PLAN_CALC] = spread_calc,
    [PLAN_UNION] = spread_union,
    [PLAN_EXCHANGE] = spread_pass,
    [PLAN_GROUP_AGGREGATE] = spread_aggregate,
    [PLAN_EXPAND] = spread_expand,
    [PLAN_WINDOW_COLUMNS] = spread_event_time,
    [PLAN_WINDOW_AGGREGATE] = spread_event_time,
    [PLAN_SESSION_WINDOW] = spread_event_time,
    [PLAN_JOIN] = spread_join,
    [PLAN_INTERVAL_JOIN] = spread_two_inputs,
    [PLAN_WINDOW_JOIN] = spread_two_inputs,
    [PLAN_LOOKUP_JOIN] = spread_two_inputs,
    [PLAN_TEMPORAL_JOIN] = spread_two_inputs,
    [PLAN_TOP_N] = spread_top_n,
    [PLAN_DEDUPLICATE] = spread_deduplicate,
    [PLAN_OVER] = spread_over,
    [PLAN_SORT] = spread_all_rows,
    [PLAN_LIMIT] = spread_all_rows,
    [PLAN_SET] = spread_set,
    [PLAN_UNNEST] = spread_unnest,
    [PLAN_PROGRAM] = spread_program,
    [PLAN_PROGRAM_OUTPUT] = spread_pass,
    [PLAN_SINK] = spread_sink,
    [PLAN_RESULT] = spread_all_rows,
};

static enum status find_obstacle(const struct plan *plan, const char **obstacle, struct error *err)
{
    struct spread self = {.plan = plan};
    TRY_ALLOC(self.columns, arena_alloc(plan->arena, (plan->node_count + 1) * sizeof *self.columns), err);
    for (uint32_t i = 0; i < plan->node_count && self.obstacle == NULL; i++) {
        const struct plan_node *node = plan->nodes[i];
        TRY_ALLOC(self.columns[i].number, arena_alloc(plan->arena, (node->schema->count + 1) * sizeof(uint32_t)), err);
        TRY(spreaders[node->operator](&self, node, err));
    }
    *obstacle = self.obstacle;
    return STATUS_OK;
}

/* ---- how many ---- */

struct parts {
    uint32_t count; /* of the table that has the most */
    bool grows;
    struct text_builder tables; /* "the files of orders, those of returns" */
};

static enum status add_table(struct parts *parts, const struct plan_node *node, struct error *err)
{
    struct source *source = node->read->spec.source;
    struct source_division division;
    TRY(source->type->divide(source, &division, err));
    parts->count = division.count > parts->count ? division.count : parts->count;
    parts->grows = parts->grows || division.grows;
    text_append_format(&parts->tables, "%s%s of %s", parts->tables.length > 0 ? ", " : "", division.parts, node->table);
    if (division.by_values) {
        const struct catalog_table *table = node->read->table;
        for (uint32_t i = 0; i < table->partition_count; i++) {
            text_append_format(&parts->tables, "%s%s", i == 0 ? " by " : ", ", table->columns[table->partition_by[i]].name);
        }
    }
    return parts->tables.failed ? error_set(err, ERROR_BUDGET_SPENT, "no room for a list of tables") : STATUS_OK;
}

static enum status count_pieces(const struct plan *plan, struct plan_spread *spread, struct parts *parts, struct error *err)
{
    const struct plan_settings *settings = &plan->context->settings;
    for (uint32_t i = 0; i < plan->node_count; i++) {
        if (plan->nodes[i]->operator== PLAN_SOURCE) {
            TRY(add_table(parts, plan->nodes[i], err));
        }
    }
    uint32_t most = settings->parallelism > 1 ? settings->parallelism : settings->max_parallelism;
    spread->pieces = parts->count < most ? parts->count : most;
    if (parts->grows) {
        spread->pieces = settings->parallelism > 1 ? settings->parallelism : 0;
    }
    const char *before = spread->pieces > 1    ? "each reads its share of the "
                         : spread->pieces == 1 ? "it reads the "
                         : parts->grows        ? "more "
                                               : "there are no ";
    const char *after = spread->pieces > 0 ? "" : parts->grows ? " may come: 'parallelism.default' says how many tasks there are" : " now";
    TRY_ALLOC(spread->reason, arena_format(plan->arena, "%s%s%s", before, parts->tables.bytes, after), err);
    return STATUS_OK;
}

enum status plan_find_spread(const struct plan *plan, struct plan_spread *spread, struct error *err)
{
    struct parts parts = {0};
    *spread = (struct plan_spread){0};
    TRY(find_obstacle(plan, &spread->reason, err));
    if (spread->reason != NULL) {
        return STATUS_OK;
    }
    enum status status = count_pieces(plan, spread, &parts, err);
    text_builder_close(&parts.tables);
    return status;
}

enum status plan_check_piece(const struct plan *plan, struct error *err)
{
    const char *obstacle;
    TRY(find_obstacle(plan, &obstacle, err));
    return obstacle == NULL
               ? STATUS_OK
               : error_set(err, ERROR_NOT_SUPPORTED, "the statement was to be shared by %u tasks, but it runs whole, in one: %s",
                           plan->context->settings.pieces, obstacle);
}
