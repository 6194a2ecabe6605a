/* ALTER TABLE and ALTER VIEW.
 *
 * The entry is turned back into the tree of its CREATE statement, that tree is changed, and the changed one is bound as a new entry
 * under the same checks; the old entry stays untouched until the new one takes its place.
 */
#include <string.h>

#include "sql/binder_internal.h"
#include "sql/parser.h"

struct alteration {
    struct arena *arena; /* the statement's */
    const struct catalog_table *table;
    const struct ast_alter *ast;
    struct ast_create_table create;
    struct ast_column_def *columns;
    uint32_t capacity;
    const char **key;
    struct ast_option *options;
};

static struct position no_position(const struct alteration *self)
{
    return self->ast->name.at;
}

static enum status column_back(struct alteration *self, const struct table_column *column, struct error *err)
{
    struct ast_column_def *def = &self->columns[self->create.column_count++];
    *def = (struct ast_column_def){.kind = column->kind,
                                   .at = no_position(self),
                                   .name = column->name,
                                   .comment = column->comment,
                                   .metadata_key = column->metadata_key,
                                   .is_virtual = column->is_virtual,
                                   .expression = column->expression,
                                   .expression_sql = column->expression_sql};
    if (column->kind == AST_COLUMN_COMPUTED) {
        return STATUS_OK;
    }
    const char *type;
    TRY_ALLOC(type, type_to_text(self->arena, column->type), err);
    return sql_parse_type(self->arena, text_from(type), &def->type, err);
}

static enum status names_back(struct alteration *self, const uint32_t *columns, uint32_t count, const char ***names, struct error *err)
{
    TRY_ALLOC(*names, arena_alloc(self->arena, (count + 1) * sizeof **names), err);
    for (uint32_t i = 0; i < count; i++) {
        (*names)[i] = self->table->columns[columns[i]].name;
    }
    return STATUS_OK;
}

static enum status table_back(struct alteration *self, struct error *err)
{
    const struct catalog_table *table = self->table;
    const char **partitions;
    self->capacity = table->column_count + self->ast->column_count + 1;
    TRY_ALLOC(self->columns, arena_alloc(self->arena, self->capacity * sizeof *self->columns), err);
    for (uint32_t i = 0; i < table->column_count; i++) {
        TRY(column_back(self, &table->columns[i], err));
    }
    TRY(names_back(self, table->primary_key, table->primary_key_count, &self->key, err));
    TRY(names_back(self, table->partition_by, table->partition_count, &partitions, err));
    uint32_t options = table->option_count + self->ast->option_count + 1;
    TRY_ALLOC(self->options, arena_alloc(self->arena, options * sizeof *self->options), err);
    for (uint32_t i = 0; i < table->option_count; i++) {
        self->options[i] = (struct ast_option){.at = no_position(self), .key = table->options[i].key, .value = table->options[i].value};
    }
    self->create.option_count = table->option_count;
    self->create.name = self->ast->name;
    self->create.temporary = table->temporary;
    self->create.comment = table->comment;
    self->create.buckets = -1;
    self->create.primary_key = self->key;
    self->create.primary_key_count = table->primary_key_count;
    self->create.partition_by = partitions;
    self->create.partition_count = table->partition_count;
    if (table->watermark_column >= 0) {
        self->create.watermark_column = table->columns[table->watermark_column].name;
        self->create.watermark = table->watermark;
        self->create.watermark_sql = table->watermark_sql;
        self->create.watermark_at = no_position(self);
    }
    return STATUS_OK;
}

static int64_t find_column(const struct alteration *self, const char *name)
{
    for (uint32_t i = 0; i < self->create.column_count; i++) {
        if (strcmp(self->columns[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

static enum status require_column(const struct alteration *self, const struct ast_name *name, uint32_t *column, struct error *err)
{
    int64_t found = name->count == 1 ? find_column(self, name->parts[0]) : -1;
    if (found < 0) {
        return bind_refuse(&name->at, ERROR_UNKNOWN_COLUMN, err, "the table '%s' has no column '%s'", self->table->name,
                           name->parts[name->count - 1]);
    }
    *column = (uint32_t)found;
    return STATUS_OK;
}

static void remove_column(struct alteration *self, uint32_t column)
{
    memmove(self->columns + column, self->columns + column + 1, (self->create.column_count - column - 1) * sizeof *self->columns);
    self->create.column_count--;
}

/* At its place; without one at `otherwise`. */
static enum status insert_column(struct alteration *self, uint32_t which, uint32_t otherwise, struct error *err)
{
    const struct ast_column_place *place = &self->ast->places[which];
    uint32_t at = place->first ? 0 : otherwise;
    if (place->after.count > 0) {
        TRY(require_column(self, &place->after, &at, err));
        at++;
    }
    memmove(self->columns + at + 1, self->columns + at, (self->create.column_count - at) * sizeof *self->columns);
    self->columns[at] = self->ast->columns[which];
    self->columns[at].primary_key = false;
    self->create.column_count++;
    return STATUS_OK;
}

static enum status change_columns(struct alteration *self, bool modify, struct error *err)
{
    for (uint32_t i = 0; i < self->ast->column_count; i++) {
        const struct ast_column_def *def = &self->ast->columns[i];
        int64_t found = find_column(self, def->name);
        uint32_t otherwise = self->create.column_count;
        if (modify != (found >= 0)) {
            return bind_refuse(&def->at, modify ? ERROR_UNKNOWN_COLUMN : ERROR_INVALID_DEFINITION, err, "the table '%s' has %s column '%s'",
                               self->table->name, modify ? "no" : "already a", def->name);
        }
        if (modify) {
            otherwise = (uint32_t)found;
            remove_column(self, otherwise);
        }
        TRY(insert_column(self, i, otherwise, err));
    }
    return STATUS_OK;
}

static enum status change_key(struct alteration *self, bool modify, struct error *err)
{
    const struct ast_alter *ast = self->ast;
    if (ast->primary_key_count == 0) {
        return STATUS_OK;
    }
    if (modify != (self->create.primary_key_count > 0)) {
        return bind_refuse(&ast->at, ERROR_INVALID_DEFINITION, err, "the table '%s' has %s primary key", self->table->name,
                           modify ? "no" : "already a");
    }
    for (uint32_t i = 0; i < ast->primary_key_count; i++) {
        int64_t column = find_column(self, ast->primary_key[i]);
        if (column >= 0 && self->columns[column].type != NULL && self->columns[column].type->nullable) {
            return bind_refuse(&ast->at, ERROR_INVALID_DEFINITION, err, "column '%s' of the PRIMARY KEY may be NULL", ast->primary_key[i]);
        }
    }
    self->create.primary_key = ast->primary_key;
    self->create.primary_key_count = ast->primary_key_count;
    self->create.primary_key_enforced_missing = ast->primary_key_enforced_missing;
    return STATUS_OK;
}

static enum status change_watermark(struct alteration *self, bool modify, struct error *err)
{
    const struct ast_alter *ast = self->ast;
    if (ast->watermark_column == NULL) {
        return STATUS_OK;
    }
    if (modify != (self->create.watermark_column != NULL)) {
        return bind_refuse(&ast->watermark_at, ERROR_INVALID_DEFINITION, err, "the table '%s' has %s watermark", self->table->name,
                           modify ? "no" : "already a");
    }
    self->create.watermark_column = ast->watermark_column;
    self->create.watermark = ast->watermark;
    self->create.watermark_sql = ast->watermark_sql;
    self->create.watermark_at = ast->watermark_at;
    return STATUS_OK;
}

static enum status change_schema(struct alteration *self, struct error *err)
{
    bool modify = self->ast->kind == AST_ALTER_MODIFY;
    if (self->ast->distribution != NULL) {
        return bind_refuse(&self->ast->at, ERROR_NOT_SUPPORTED, err, "ALTER TABLE for DISTRIBUTION is not supported");
    }
    TRY(change_columns(self, modify, err));
    TRY(change_key(self, modify, err));
    return change_watermark(self, modify, err);
}

static enum status drop_columns(struct alteration *self, struct error *err)
{
    for (uint32_t i = 0; i < self->ast->drop_count; i++) {
        uint32_t column;
        TRY(require_column(self, &self->ast->drops[i], &column, err));
        remove_column(self, column);
    }
    return STATUS_OK;
}

static enum status rename_column(struct alteration *self, struct error *err)
{
    const char *name = self->ast->new_name.parts[0];
    uint32_t column;
    TRY(require_column(self, &self->ast->column, &column, err));
    for (uint32_t i = 0; i < self->create.primary_key_count; i++) {
        self->key[i] = strcmp(self->key[i], self->columns[column].name) == 0 ? name : self->key[i];
    }
    self->columns[column].name = name;
    return STATUS_OK;
}

static enum status change_options(struct alteration *self, struct error *err)
{
    (void)err;
    for (uint32_t i = 0; i < self->ast->option_count; i++) {
        const struct ast_option *option = &self->ast->options[i];
        uint32_t at = 0;
        while (at < self->create.option_count && strcmp(self->options[at].key, option->key) != 0) {
            at++;
        }
        if (option->value != NULL) {
            self->options[at] = *option;
            self->create.option_count += at == self->create.option_count;
        } else if (at < self->create.option_count) {
            self->options[at] = self->options[--self->create.option_count];
        }
    }
    return STATUS_OK;
}

static enum status drop_key(struct alteration *self, struct error *err)
{
    if (self->create.primary_key_count == 0) {
        return bind_refuse(&self->ast->at, ERROR_INVALID_DEFINITION, err, "the table '%s' has no primary key", self->table->name);
    }
    self->create.primary_key_count = 0;
    return STATUS_OK;
}

static enum status drop_watermark(struct alteration *self, struct error *err)
{
    if (self->create.watermark_column == NULL) {
        return bind_refuse(&self->ast->at, ERROR_INVALID_DEFINITION, err, "the table '%s' has no watermark", self->table->name);
    }
    self->create.watermark_column = NULL;
    return STATUS_OK;
}

static enum status rename_table(struct alteration *self, struct error *err)
{
    (void)err;
    self->create.name = self->ast->new_name;
    return STATUS_OK;
}

static enum status apply(struct alteration *self, struct error *err)
{
    static enum status (*const kinds[])(struct alteration * self, struct error * err) = {
        [AST_ALTER_RENAME] = rename_table,       [AST_ALTER_RENAME_COLUMN] = rename_column, [AST_ALTER_SET] = change_options,
        [AST_ALTER_RESET] = change_options,      [AST_ALTER_ADD] = change_schema,           [AST_ALTER_MODIFY] = change_schema,
        [AST_ALTER_DROP_COLUMNS] = drop_columns, [AST_ALTER_DROP_PRIMARY_KEY] = drop_key,   [AST_ALTER_DROP_WATERMARK] = drop_watermark,
    };
    if (self->ast->kind >= ARRAY_LENGTH(kinds) || kinds[self->ast->kind] == NULL) {
        return bind_refuse(&self->ast->at, ERROR_NOT_SUPPORTED, err, "this form of ALTER TABLE is not supported");
    }
    TRY(kinds[self->ast->kind](self, err));
    self->create.columns = self->columns;
    self->create.options = self->options;
    return STATUS_OK;
}

enum status bind_alter_table(const struct bind_context *context, struct budget *budget, const struct catalog_table *table,
                             const struct ast_alter *ast, struct catalog_table **changed, struct error *err)
{
    struct alteration self = {.arena = context->arena, .table = table, .ast = ast};
    if (table->attachment != NULL) {
        return bind_refuse(&ast->name.at, ERROR_NOT_SUPPORTED, err, "the table '%s' is fed by the caller and cannot be altered",
                           table->name);
    }
    TRY(table_back(&self, err));
    TRY(apply(&self, err));
    return bind_create_table(context, budget, &self.create, changed, err);
}

enum status bind_alter_view(const struct bind_context *context, struct budget *budget, const struct catalog_table *table,
                            const struct ast_alter *ast, struct catalog_table **changed, struct error *err)
{
    bool rename = ast->kind == AST_ALTER_RENAME;
    const char **names;
    TRY_ALLOC(names, arena_alloc(context->arena, (table->column_count + 1) * sizeof *names), err);
    for (uint32_t i = 0; i < table->column_count; i++) {
        names[i] = table->columns[i].name;
    }
    if (!rename && ast->kind != AST_ALTER_AS) {
        return bind_refuse(&ast->at, ERROR_NOT_SUPPORTED, err, "this form of ALTER VIEW is not supported");
    }
    struct ast_create_view create = {
        .name = rename ? ast->new_name : ast->name,
        .temporary = table->temporary,
        .comment = table->comment,
        .columns = rename ? names : NULL,
        .column_count = rename ? table->column_count : 0,
        .query = rename ? table->query : ast->query,
        .query_sql = rename ? table->query_sql : ast->query_sql,
    };
    return bind_create_view(context, budget, &create, changed, err);
}
