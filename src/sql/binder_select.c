/* SELECT: FROM, WHERE, GROUP BY, HAVING, OVER, QUALIFY, the list, DISTINCT, ORDER BY, LIMIT, in the order of evaluation.
 *
 * All expressions are bound over the columns of FROM first; calls of aggregates and OVER calls stand in them as placeholders, which
 * are replaced once the AGGREGATE and OVER relations are made.
 */
#include <string.h>

#include "sql/binder_internal.h"

struct item {
    const struct expression *value;
    const char *name;
};
struct select {
    struct binder *binder;
    const struct ast_query *query;
    struct scope scope;
    struct relation *relation;
    struct aggregation aggregation;
    struct over_calls over;
    struct item *items; /* those of the list, then hidden ones of ORDER BY */
    uint32_t item_count, item_capacity, visible_count;
    struct sort_key *keys;
    const struct expression *having, *qualify;
    struct state_ttl ttl; /* what the hints say about the one table of FROM */
};

static enum status add_item(struct select *self, const struct expression *value, const char *name, struct error *err)
{
    TRY_ALLOC(self->items, arena_grow(self->binder->arena, self->items, &self->item_capacity, self->item_count + 1, sizeof *self->items),
              err);
    self->items[self->item_count++] = (struct item){.value = value, .name = name};
    return STATUS_OK;
}

/* ---- the list ---- */

static enum status expand_star(struct select *self, const struct ast_expression *star, struct error *err)
{
    const char *table = star->name.count == 0 ? NULL : star->name.parts[star->name.count - 1];
    bool found = false;
    for (uint32_t i = 0; i < self->scope.count; i++) {
        const struct scope_column *column = &self->scope.columns[i];
        bool wanted = table == NULL ? !column->merged : column->table != NULL && strcmp(column->table, table) == 0;
        if (wanted) {
            found = true;
            TRY(add_item(self, column->value, column->name, err));
        }
    }
    if (!found && table != NULL) { /* row.*: the fields of a ROW column */
        const struct expression *row;
        TRY(bind_name(self->binder, &self->scope, &star->name, &row, err));
        for (uint32_t i = 0; row->type->kind == TYPE_ROW && i < row->type->child_count; i++) {
            const struct expression *field;
            TRY(bind_field(self->binder, row, row->type->names[i], &star->at, &field, err));
            TRY(add_item(self, field, row->type->names[i], err));
            found = true;
        }
    }
    if (!found) {
        return bind_refuse(&star->at, ERROR_INVALID_QUERY, err, "there is nothing for '*' to stand for");
    }
    return STATUS_OK;
}

static enum status item_name(struct select *self, const struct ast_select_item *ast, const char **name, struct error *err)
{
    if (ast->alias != NULL) {
        *name = ast->alias;
    } else if (ast->expression->kind == AST_COLUMN || ast->expression->kind == AST_FIELD) {
        *name = ast->expression->name.parts[ast->expression->name.count - 1];
    } else {
        TRY_ALLOC(*name, arena_format(self->binder->arena, "EXPR$%u", self->item_count), err);
    }
    return STATUS_OK;
}

static enum status bind_items(struct select *self, struct error *err)
{
    self->scope.clause = "SELECT";
    for (uint32_t i = 0; i < self->query->item_count; i++) {
        const struct ast_select_item *ast = &self->query->items[i];
        if (ast->expression->kind == AST_STAR) {
            TRY(expand_star(self, ast->expression, err));
            continue;
        }
        const struct expression *value;
        const char *name;
        TRY(bind_scalar(self->binder, &self->scope, ast->expression, &value, err));
        TRY(item_name(self, ast, &name, err));
        TRY(add_item(self, value, name, err));
    }
    self->visible_count = self->item_count;
    return STATUS_OK;
}

/* ---- ORDER BY ---- */

static enum status order_item_number(struct select *self, const struct ast_expression *ast, uint32_t *column, struct error *err)
{
    int64_t number;
    TRY(bind_constant_int64(self->binder, &self->scope, ast, "a number in ORDER BY", &number, err));
    if (number < 1 || number > self->visible_count) {
        return bind_refuse(&ast->at, ERROR_INVALID_QUERY, err, "ORDER BY %lld: the query has %u columns", (long long)number,
                           self->visible_count);
    }
    *column = (uint32_t)number - 1;
    return STATUS_OK;
}

static enum status order_item_value(struct select *self, const struct ast_expression *ast, uint32_t *column, struct error *err)
{
    const struct expression *value;
    TRY(bind_scalar(self->binder, &self->scope, ast, &value, err));
    for (uint32_t i = 0; i < self->item_count; i++) {
        if (self->items[i].value == value || expression_equal(self->items[i].value, value)) {
            *column = i;
            return STATUS_OK;
        }
    }
    if (self->query->distinct) {
        return bind_refuse(&ast->at, ERROR_INVALID_QUERY, err, "with SELECT DISTINCT, ORDER BY can only name what is selected");
    }
    *column = self->item_count;
    return add_item(self, value, "$order", err);
}

static enum status bind_order(struct select *self, struct error *err)
{
    const struct ast_query *query = self->query;
    struct select_alias *aliases;
    TRY_ALLOC(self->keys, arena_alloc(self->binder->arena, (query->order_count + 1) * sizeof *self->keys), err);
    TRY_ALLOC(aliases, arena_alloc(self->binder->arena, (self->visible_count + 1) * sizeof *aliases), err);
    for (uint32_t i = 0; i < self->visible_count; i++) {
        aliases[i] = (struct select_alias){.name = self->items[i].name, .value = self->items[i].value};
    }
    self->scope.clause = "ORDER BY";
    self->scope.aliases = aliases;
    self->scope.alias_count = self->visible_count;
    for (uint32_t i = 0; i < query->order_count; i++) {
        const struct ast_order_item *item = &query->order[i];
        uint32_t column;
        if (item->expression->kind == AST_NUMBER) {
            TRY(order_item_number(self, item->expression, &column, err));
        } else {
            TRY(order_item_value(self, item->expression, &column, err));
        }
        self->keys[i] = (struct sort_key){
            .column = column, .descending = item->descending, .nulls_first = item->nulls_given ? item->nulls_first : !item->descending};
    }
    self->scope.alias_count = 0;
    return STATUS_OK;
}

/* ---- the relations ---- */

static enum status add_filter(struct select *self, const struct expression *condition, struct error *err)
{
    TRY_ALLOC(self->relation, relation_make_over(self->binder->arena, RELATION_FILTER, self->relation), err);
    self->relation->filter.condition = condition;
    return STATUS_OK;
}

static enum status bind_where(struct select *self, struct error *err)
{
    const struct expression *condition;
    if (self->query->where == NULL) {
        return STATUS_OK;
    }
    self->scope.clause = "WHERE";
    TRY(bind_condition(self->binder, &self->scope, self->query->where, &condition, err));
    return add_filter(self, condition, err);
}

/* Everything that is evaluated after WHERE, over the columns of FROM. */
static enum status bind_parts(struct select *self, struct error *err)
{
    const struct ast_query *query = self->query;
    self->aggregation = (struct aggregation){.scope = &self->scope, .grouped = query->has_group_by, .ttl = self->ttl};
    TRY(bind_groups(self->binder, &self->aggregation, query, err));
    self->scope.aggregation = &self->aggregation;
    if (query->having != NULL) {
        self->scope.clause = "HAVING";
        TRY(bind_condition(self->binder, &self->scope, query->having, &self->having, err));
    }
    self->over = (struct over_calls){.windows = query->windows, .window_count = query->window_count};
    self->scope.over = &self->over;
    TRY(bind_items(self, err));
    if (query->qualify != NULL) {
        self->scope.clause = "QUALIFY";
        TRY(bind_condition(self->binder, &self->scope, query->qualify, &self->qualify, err));
    }
    return bind_order(self, err);
}

static enum status apply_aggregation(struct select *self, struct error *err)
{
    struct aggregation *aggregation = &self->aggregation;
    if (!aggregation_is_used(aggregation) && self->having == NULL) {
        return STATUS_OK;
    }
    TRY(aggregation_build(self->binder, aggregation, &self->relation, err));
    TRY(aggregation_rewrite_references(self->binder, aggregation, err));
    for (uint32_t i = 0; i < self->item_count; i++) {
        TRY(aggregation_rewrite(self->binder, aggregation, &self->items[i].value, err));
    }
    TRY(over_rewrite_arguments(self->binder, aggregation, &self->over, err));
    if (self->qualify != NULL) {
        TRY(aggregation_rewrite(self->binder, aggregation, &self->qualify, err));
    }
    if (self->having != NULL) {
        TRY(aggregation_rewrite(self->binder, aggregation, &self->having, err));
        TRY(add_filter(self, self->having, err));
    }
    return STATUS_OK;
}

static enum status apply_over(struct select *self, struct error *err)
{
    TRY(over_build(self->binder, &self->over, &self->relation, err));
    for (uint32_t i = 0; i < self->item_count; i++) {
        TRY(over_rewrite(self->binder, &self->over, &self->items[i].value, err));
    }
    if (self->qualify != NULL) {
        TRY(over_rewrite(self->binder, &self->over, &self->qualify, err));
        TRY(add_filter(self, self->qualify, err));
    }
    return STATUS_OK;
}

static enum status add_project(struct select *self, uint32_t count, struct error *err)
{
    const struct expression **values;
    const char **names;
    enum time_attribute *times;
    TRY(bind_place(bind_check_columns(count, err), &self->query->at, err));
    TRY_ALLOC(values, arena_alloc(self->binder->arena, (count + 1) * sizeof *values), err);
    TRY_ALLOC(names, arena_alloc(self->binder->arena, (count + 1) * sizeof *names), err);
    TRY_ALLOC(times, arena_alloc(self->binder->arena, (count + 1) * sizeof *times), err);
    for (uint32_t i = 0; i < count; i++) {
        values[i] = self->items[i].value;
        names[i] = self->items[i].name;
        times[i] = bind_time(values[i], self->relation);
    }
    TRY_ALLOC(self->relation, relation_make_project(self->binder->arena, self->relation, values, names, times, count), err);
    return STATUS_OK;
}

static enum status apply_order(struct select *self, struct error *err)
{
    const struct ast_query *query = self->query;
    struct sort_relation sort = {.keys = self->keys, .key_count = query->order_count};
    if (query->order_count == 0 && query->offset == NULL && query->fetch == NULL) {
        return STATUS_OK;
    }
    TRY(bind_limits(self->binder, query, &sort, err));
    TRY_ALLOC(self->relation, relation_make_over(self->binder->arena, RELATION_SORT, self->relation), err);
    self->relation->sort = sort;
    if (self->item_count == self->visible_count) {
        return STATUS_OK;
    }
    for (uint32_t i = 0; i < self->visible_count; i++) { /* drops the hidden columns */
        TRY_ALLOC(self->items[i].value, expression_column(self->binder->arena, i, self->relation->schema.columns[i].type), err);
    }
    return add_project(self, self->visible_count, err);
}

/* FROM, with the hints of this SELECT; those within have their own. */
static enum status bind_select_from(struct select *self, struct scope *outer, struct from *from, struct error *err)
{
    struct binder *binder = self->binder;
    const struct ast_query *query = self->query;
    struct block_hints *enclosing = binder->hints, *own;
    TRY(bind_block_hints(binder, query, &own, err));
    binder->hints = own;
    if (query->from == NULL) {
        *from = (struct from){0};
        TRY(bind_one_row(binder, &from->relation, err));
    } else {
        TRY(bind_from(binder, outer, query->from, from, err));
        self->ttl = bind_table_ttl(binder, query->from);
    }
    binder->hints = enclosing;
    return bind_check_hinted(own, err);
}

enum status bind_select(struct binder *binder, struct scope *outer, const struct ast_query *query, struct relation **relation,
                        struct error *err)
{
    struct select self = {.binder = binder, .query = query};
    struct from from;
    TRY(bind_select_from(&self, outer, &from, err));
    self.relation = from.relation;
    self.scope = (struct scope){.outer = outer, .columns = from.columns, .count = from.count};
    TRY(bind_where(&self, err));
    self.scope.references = NULL; /* those of WHERE mean the columns of FROM for good */
    TRY(bind_parts(&self, err));
    TRY(apply_aggregation(&self, err));
    TRY(apply_over(&self, err));
    TRY(add_project(&self, self.item_count, err));
    if (query->distinct) {
        TRY(bind_distinct(binder, &self.relation, err));
        self.relation->aggregate.ttl = aggregation_is_used(&self.aggregation) ? (struct state_ttl){0} : self.ttl;
    }
    TRY(apply_order(&self, err));
    TRY(bind_unique_names(binder, self.relation, err));
    *relation = self.relation;
    return STATUS_OK;
}
