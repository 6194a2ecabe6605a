/* INSERT: the query's columns, cast and completed to those of the table. */
#include <string.h>

#include "data/cast.h"
#include "sql/binder_internal.h"

struct insertion {
    struct binder *binder;
    const struct ast_insert *ast;
    const struct catalog_table *table;
    struct relation *query;
    uint32_t *targets; /* table columns that the query's columns go to, in order */
    uint32_t target_count;
    const struct expression **partition_values; /* by table column; NULL: not given */
};

static int find_table_column(const struct catalog_table *table, const char *name)
{
    for (uint32_t i = 0; i < table->column_count; i++) {
        if (strcmp(table->columns[i].name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static enum status refuse_column(const struct insertion *self, const char *name, const struct position *at, struct error *err)
{
    const char *names[1024];
    uint32_t count = 0;
    for (uint32_t i = 0; i < self->table->column_count && count < ARRAY_LENGTH(names); i++) {
        names[count++] = self->table->columns[i].name;
    }
    const char *nearest = text_nearest(name, names, count);
    return bind_refuse(at, ERROR_UNKNOWN_COLUMN, err, "table '%s' has no column '%s'%s%s%s", self->table->name, name,
                       nearest != NULL ? "; did you mean '" : "", nearest != NULL ? nearest : "", nearest != NULL ? "'?" : "");
}

static enum status bind_partition_values(struct insertion *self, struct error *err)
{
    struct scope scope = {.clause = "PARTITION"};
    TRY_ALLOC(self->partition_values, arena_alloc(self->binder->arena, (self->table->column_count + 1) * sizeof(void *)), err);
    for (uint32_t i = 0; i < self->ast->partition_count; i++) {
        const struct ast_option *option = &self->ast->partition[i];
        int column = find_table_column(self->table, option->key);
        if (column < 0) {
            return refuse_column(self, option->key, &option->at, err);
        }
        TRY(bind_scalar(self->binder, &scope, self->ast->partition_values[i], &self->partition_values[column], err));
    }
    return STATUS_OK;
}

static enum status choose_targets(struct insertion *self, struct error *err)
{
    const struct catalog_table *table = self->table;
    TRY_ALLOC(self->targets, arena_alloc(self->binder->arena, (table->column_count + self->ast->column_count + 1) * sizeof *self->targets),
              err);
    for (uint32_t i = 0; i < self->ast->column_count; i++) {
        const struct ast_name *name = &self->ast->columns[i];
        int column = find_table_column(table, name->parts[name->count - 1]);
        if (column < 0) {
            return refuse_column(self, name->parts[name->count - 1], &name->at, err);
        }
        if (table->columns[column].kind != AST_COLUMN_PHYSICAL) {
            return bind_refuse(&name->at, ERROR_INVALID_QUERY, err, "column '%s' is not stored, so it cannot be written", name->parts[0]);
        }
        for (uint32_t t = 0; t < self->target_count; t++) {
            if (self->targets[t] == (uint32_t)column) {
                return bind_refuse(&name->at, ERROR_INVALID_QUERY, err, "column '%s' is named twice", name->parts[0]);
            }
        }
        self->targets[self->target_count++] = (uint32_t)column;
    }
    for (uint32_t i = 0; i < table->column_count && self->ast->column_count == 0; i++) {
        if (table->columns[i].kind == AST_COLUMN_PHYSICAL && self->partition_values[i] == NULL) {
            self->targets[self->target_count++] = i;
        }
    }
    if (self->query->schema.count != self->target_count) {
        return bind_refuse(&self->ast->query->at, ERROR_INVALID_QUERY, err, "the query has %u columns, table '%s' takes %u",
                           self->query->schema.count, table->name, self->target_count);
    }
    return STATUS_OK;
}

/* The value for a table column. */
static enum status target_value(struct insertion *self, uint32_t column, const struct expression **value, struct error *err)
{
    const struct table_column *target = &self->table->columns[column];
    *value = self->partition_values[column];
    for (uint32_t i = 0; i < self->target_count && *value == NULL; i++) {
        if (self->targets[i] == column) {
            TRY_ALLOC(*value, expression_column(self->binder->arena, i, self->query->schema.columns[i].type), err);
        }
    }
    if (*value == NULL) {
        if (!target->type->nullable) {
            return bind_refuse(&self->ast->table.at, ERROR_INVALID_QUERY, err, "column '%s' is NOT NULL and gets no value", target->name);
        }
        TRY_ALLOC(*value, expression_null(self->binder->arena, target->type), err);
        return STATUS_OK;
    }
    const struct type *from = (*value)->type;
    if (from->kind != TYPE_NULL && cast_find_rule(from, target->type) != CAST_IMPLICIT &&
        !(type_is_numeric(from) && type_is_numeric(target->type)) && !type_same_shape(from, target->type)) {
        return bind_refuse(&self->ast->query->at, ERROR_TYPE_MISMATCH, err, "column '%s' of table '%s' is a %s, the query gives a %s",
                           target->name, self->table->name, bind_type_text(self->binder, target->type), bind_type_text(self->binder, from));
    }
    return bind_cast(self->binder, value, target->type, err);
}

static enum status complete_columns(struct insertion *self, struct relation **relation, struct error *err)
{
    uint32_t count = 0;
    const struct expression **values;
    const char **names;
    enum time_attribute *times;
    TRY_ALLOC(values, arena_alloc(self->binder->arena, (self->table->column_count + 1) * sizeof *values), err);
    TRY_ALLOC(names, arena_alloc(self->binder->arena, (self->table->column_count + 1) * sizeof *names), err);
    TRY_ALLOC(times, arena_alloc(self->binder->arena, (self->table->column_count + 1) * sizeof *times), err);
    for (uint32_t i = 0; i < self->table->column_count; i++) {
        if (self->table->columns[i].kind == AST_COLUMN_PHYSICAL) {
            TRY(target_value(self, i, &values[count], err));
            times[count] = bind_time(values[count], self->query);
            names[count++] = self->table->columns[i].name;
        }
    }
    TRY_ALLOC(*relation, relation_make_project(self->binder->arena, self->query, values, names, times, count), err);
    return STATUS_OK;
}

enum status bind_insert(const struct bind_context *context, const struct ast_insert *ast, struct bound_insert *insert, struct error *err)
{
    struct binder binder;
    TRY(bind_binder(context, &binder));
    struct catalog_table *table = catalog_find(context->catalog, &ast->table);
    if (table == NULL) {
        struct relation *ignored;
        TRY(bind_named_table(&binder, &ast->table, NULL, 0, &ignored, err)); /* its refusal names near tables */
        return bind_refuse(&ast->table.at, ERROR_INVALID_QUERY, err, "'%s' is a table about Spate itself: it can only be read",
                           ast->table.parts[ast->table.count - 1]);
    }
    if (table->is_view) {
        return bind_refuse(&ast->table.at, ERROR_INVALID_QUERY, err, "'%s' is a view: INSERT needs a table", table->name);
    }
    TRY(bind_hold_table(&binder, table, err));
    struct insertion self = {.binder = &binder, .ast = ast, .table = table};
    TRY(bind_check_hints(ast->hints, ast->hint_count, false, err));
    TRY(bind_partition_values(&self, err));
    TRY(bind_whole_query(&binder, NULL, ast->query, &self.query, err));
    TRY(choose_targets(&self, err));
    *insert = (struct bound_insert){.table = table, .overwrite = ast->overwrite, .on_conflict = ast->on_conflict};
    return complete_columns(&self, &insert->relation, err);
}
