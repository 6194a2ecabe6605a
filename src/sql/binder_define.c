/* CREATE TABLE as a catalog entry; views are in binder_view.c.
 *
 * An entry lives in an arena of its own: expressions and queries are parsed again from their text into it, since the statement's tree dies
 * with the statement.
 */
#include <string.h>

#include "sql/binder_internal.h"
#include "sql/parser.h"
#include "sql/unparse.h"

/* A table being put together. */
struct definition {
    struct binder *binder;
    struct arena *arena; /* the table's */
    const struct ast_create_table *ast;
    struct catalog_table *table;
    struct table_column *columns;
    uint32_t column_count, column_capacity;
    uint32_t inherited_count; /* the first ones, of the table that this one is LIKE */
    struct table_option *options;
    uint32_t option_count, option_capacity;
};
enum like_option {
    LIKE_ALL,
    LIKE_CONSTRAINTS,
    LIKE_DISTRIBUTION,
    LIKE_GENERATED,
    LIKE_METADATA,
    LIKE_OPTIONS,
    LIKE_PARTITIONS,
    LIKE_WATERMARKS
};

static enum status copy_text(struct arena *arena, const char *text, const char **copy, struct error *err)
{
    *copy = NULL;
    if (text != NULL) {
        TRY_ALLOC(*copy, arena_text(arena, text, strlen(text)), err);
    }
    return STATUS_OK;
}

/* A tree of the arena's own, and its canonical text. */
static enum status reparse(struct arena *arena, struct text sql, struct text *copy, const struct ast_expression **expression,
                           struct error *err)
{
    char *text;
    TRY_ALLOC(text, text_to_arena(arena, sql), err);
    TRY(sql_parse_expression(arena, (struct text){text, sql.length}, expression, err));
    return unparse_expression_text(arena, *expression, copy, err);
}

static int find_column(const struct definition *self, const char *name)
{
    for (uint32_t i = 0; i < self->column_count; i++) {
        if (strcmp(self->columns[i].name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static enum status require_column(const struct definition *self, const char *name, const char *what, const struct position *at,
                                  uint32_t *column, struct error *err)
{
    int found = find_column(self, name);
    if (found < 0) {
        return bind_refuse(at, ERROR_UNKNOWN_COLUMN, err, "%s names a column '%s' that the table does not have", what, name);
    }
    *column = (uint32_t)found;
    return STATUS_OK;
}

static enum status add_column(struct definition *self, const struct table_column *column, const struct position *at, struct error *err)
{
    if (find_column(self, column->name) >= 0) {
        return bind_refuse(at, ERROR_INVALID_DEFINITION, err, "column '%s' is defined twice", column->name);
    }
    TRY_ALLOC(self->columns, arena_grow(self->arena, self->columns, &self->column_capacity, self->column_count + 1, sizeof *self->columns),
              err);
    self->columns[self->column_count++] = *column;
    return STATUS_OK;
}

static enum status set_option(struct definition *self, const char *key, const char *value, bool replace, const struct position *at,
                              struct error *err)
{
    struct table_option option;
    TRY(copy_text(self->arena, key, &option.key, err));
    TRY(copy_text(self->arena, value, &option.value, err));
    for (uint32_t i = 0; i < self->option_count; i++) {
        if (strcmp(self->options[i].key, key) == 0) {
            if (!replace) {
                return bind_refuse(at, ERROR_INVALID_DEFINITION, err, "option '%s' is given twice", key);
            }
            self->options[i] = option;
            return STATUS_OK;
        }
    }
    TRY_ALLOC(self->options, arena_grow(self->arena, self->options, &self->option_capacity, self->option_count + 1, sizeof *self->options),
              err);
    self->options[self->option_count++] = option;
    return STATUS_OK;
}

/* ---- columns ---- */

static enum status define_plain_column(struct definition *self, const struct ast_column_def *def, struct error *err)
{
    struct table_column column = {.kind = def->kind, .is_virtual = def->is_virtual};
    TRY(copy_text(self->arena, def->name, &column.name, err));
    TRY(copy_text(self->arena, def->comment, &column.comment, err));
    TRY(copy_text(self->arena, def->metadata_key, &column.metadata_key, err));
    if (def->kind == AST_COLUMN_COMPUTED) {
        TRY(reparse(self->arena, def->expression_sql, &column.expression_sql, &column.expression, err));
    } else if (def->type == NULL) {
        return bind_refuse(&def->at, ERROR_INVALID_DEFINITION, err, "column '%s' has no type", def->name);
    } else {
        TRY(bind_type(self->arena, def->type, &column.type, err));
    }
    return add_column(self, &column, &def->at, err);
}

/* Columns that an expression of the table may read, by name. */
static enum status visible_schema(struct definition *self, struct schema *schema, struct error *err)
{
    struct column *columns;
    TRY_ALLOC(columns, arena_alloc(self->binder->arena, (self->column_count + 1) * sizeof *columns), err);
    uint32_t count = 0;
    for (uint32_t i = 0; i < self->column_count; i++) {
        if (self->columns[i].type != NULL) {
            columns[count++] = (struct column){.name = self->columns[i].name, .type = self->columns[i].type};
        }
    }
    *schema = (struct schema){.count = count, .columns = columns};
    return STATUS_OK;
}

/* Types of computed columns: each may read physical and metadata columns, as in Flink. */
static enum status type_computed_columns(struct definition *self, struct error *err)
{
    struct schema schema;
    TRY(visible_schema(self, &schema, err));
    for (uint32_t i = 0; i < self->column_count; i++) {
        struct table_column *column = &self->columns[i];
        const struct expression *expression;
        if (column->kind != AST_COLUMN_COMPUTED || column->type != NULL) {
            continue;
        }
        enum status status = bind_expression(self->binder->context, column->expression, &schema, &expression, err);
        if (status != STATUS_OK) {
            error_add_context(err, "in the computed column '%s'", column->name);
            return status;
        }
        TRY_ALLOC(column->type, type_copy(self->arena, expression->type), err);
    }
    return STATUS_OK;
}

/* ---- LIKE ---- */

static enum ast_like_option like_choice(const struct ast_create_table *ast, enum like_option which)
{
    static const enum ast_like_option defaults[] = {
        [LIKE_CONSTRAINTS] = AST_LIKE_INCLUDING, [LIKE_DISTRIBUTION] = AST_LIKE_INCLUDING, [LIKE_GENERATED] = AST_LIKE_INCLUDING,
        [LIKE_METADATA] = AST_LIKE_INCLUDING,    [LIKE_OPTIONS] = AST_LIKE_OVERWRITING,    [LIKE_PARTITIONS] = AST_LIKE_INCLUDING,
        [LIKE_WATERMARKS] = AST_LIKE_INCLUDING,
    };
    if (ast->like_options[which] != AST_LIKE_DEFAULT) {
        return ast->like_options[which];
    }
    return ast->like_options[LIKE_ALL] != AST_LIKE_DEFAULT ? ast->like_options[LIKE_ALL] : defaults[which];
}

static enum status like_columns(struct definition *self, const struct catalog_table *base, struct error *err)
{
    for (uint32_t i = 0; i < base->column_count; i++) {
        struct table_column column = base->columns[i];
        bool excluded = (column.kind == AST_COLUMN_COMPUTED && like_choice(self->ast, LIKE_GENERATED) == AST_LIKE_EXCLUDING) ||
                        (column.kind == AST_COLUMN_METADATA && like_choice(self->ast, LIKE_METADATA) == AST_LIKE_EXCLUDING);
        if (excluded) {
            continue;
        }
        TRY(copy_text(self->arena, column.name, &column.name, err));
        TRY(copy_text(self->arena, column.comment, &column.comment, err));
        TRY(copy_text(self->arena, column.metadata_key, &column.metadata_key, err));
        TRY_ALLOC(column.type, type_copy(self->arena, column.type), err);
        if (column.kind == AST_COLUMN_COMPUTED) {
            TRY(reparse(self->arena, column.expression_sql, &column.expression_sql, &column.expression, err));
        }
        TRY(add_column(self, &column, &self->ast->like.at, err));
    }
    return STATUS_OK;
}

static enum status like_lists(struct definition *self, const struct catalog_table *base, struct error *err)
{
    struct catalog_table *table = self->table;
    uint32_t *keys;
    if (base->primary_key_count > 0 && like_choice(self->ast, LIKE_CONSTRAINTS) != AST_LIKE_EXCLUDING) {
        TRY_ALLOC(keys, arena_alloc(self->arena, base->primary_key_count * sizeof *keys), err);
        for (uint32_t i = 0; i < base->primary_key_count; i++) {
            TRY(require_column(self, base->columns[base->primary_key[i]].name, "the key", &self->ast->like.at, &keys[i], err));
        }
        table->primary_key = keys;
        table->primary_key_count = base->primary_key_count;
    }
    if (base->partition_count > 0 && like_choice(self->ast, LIKE_PARTITIONS) != AST_LIKE_EXCLUDING) {
        TRY_ALLOC(keys, arena_alloc(self->arena, base->partition_count * sizeof *keys), err);
        for (uint32_t i = 0; i < base->partition_count; i++) {
            TRY(require_column(self, base->columns[base->partition_by[i]].name, "PARTITIONED BY", &self->ast->like.at, &keys[i], err));
        }
        table->partition_by = keys;
        table->partition_count = base->partition_count;
    }
    return STATUS_OK;
}

static enum status like_watermark(struct definition *self, const struct catalog_table *base, struct error *err)
{
    if (base->watermark_column < 0 || like_choice(self->ast, LIKE_WATERMARKS) == AST_LIKE_EXCLUDING) {
        return STATUS_OK;
    }
    uint32_t column;
    TRY(require_column(self, base->columns[base->watermark_column].name, "the watermark", &self->ast->like.at, &column, err));
    self->table->watermark_column = (int32_t)column;
    return reparse(self->arena, base->watermark_sql, &self->table->watermark_sql, &self->table->watermark, err);
}

static enum status define_like(struct definition *self, struct error *err)
{
    const struct ast_create_table *ast = self->ast;
    const struct catalog_table *base = catalog_find(self->binder->context->catalog, &ast->like);
    if (base == NULL || base->is_view) {
        return bind_refuse(&ast->like.at, ERROR_UNKNOWN_TABLE, err, "there is no table '%s' to be LIKE",
                           bind_name_text(self->binder, &ast->like));
    }
    TRY(like_columns(self, base, err));
    TRY(like_lists(self, base, err));
    TRY(like_watermark(self, base, err));
    for (uint32_t i = 0; i < base->option_count && like_choice(ast, LIKE_OPTIONS) != AST_LIKE_EXCLUDING; i++) {
        TRY(set_option(self, base->options[i].key, base->options[i].value, true, &ast->like.at, err));
    }
    return STATUS_OK;
}

/* ---- constraints ---- */

static enum status define_primary_key(struct definition *self, struct error *err)
{
    const struct ast_create_table *ast = self->ast;
    uint32_t inline_keys = 0;
    for (uint32_t i = 0; i < ast->column_count; i++) {
        inline_keys += ast->columns[i].primary_key;
    }
    uint32_t count = ast->primary_key_count > 0 ? ast->primary_key_count : inline_keys;
    if (count == 0) {
        return STATUS_OK;
    }
    if (ast->primary_key_enforced_missing) {
        return bind_refuse(&ast->name.at, ERROR_INVALID_DEFINITION, err, "a PRIMARY KEY must be NOT ENFORCED: Spate does not own the data");
    }
    uint32_t *keys, next = 0;
    TRY_ALLOC(keys, arena_alloc(self->arena, count * sizeof *keys), err);
    for (uint32_t i = 0; i < ast->primary_key_count; i++) {
        TRY(require_column(self, ast->primary_key[i], "PRIMARY KEY", &ast->name.at, &keys[next++], err));
    }
    for (uint32_t i = 0; i < ast->column_count && ast->primary_key_count == 0; i++) {
        if (ast->columns[i].primary_key) {
            TRY(require_column(self, ast->columns[i].name, "PRIMARY KEY", &ast->columns[i].at, &keys[next++], err));
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        struct table_column *column = &self->columns[keys[i]];
        if (column->kind != AST_COLUMN_PHYSICAL) {
            return bind_refuse(&ast->name.at, ERROR_INVALID_DEFINITION, err, "column '%s' of the PRIMARY KEY is not a physical column",
                               column->name);
        }
        if (keys[i] < self->inherited_count && column->type->nullable) {
            return bind_refuse(&ast->name.at, ERROR_INVALID_DEFINITION, err, "column '%s' of the PRIMARY KEY may be NULL", column->name);
        }
        TRY_ALLOC(column->type, type_with_nullable(self->arena, column->type, false), err);
    }
    self->table->primary_key = keys;
    self->table->primary_key_count = count;
    return STATUS_OK;
}

static enum status define_partitions(struct definition *self, struct error *err)
{
    const struct ast_create_table *ast = self->ast;
    if (ast->partition_count == 0) {
        return STATUS_OK;
    }
    uint32_t *keys;
    TRY_ALLOC(keys, arena_alloc(self->arena, ast->partition_count * sizeof *keys), err);
    for (uint32_t i = 0; i < ast->partition_count; i++) {
        TRY(require_column(self, ast->partition_by[i], "PARTITIONED BY", &ast->name.at, &keys[i], err));
    }
    self->table->partition_by = keys;
    self->table->partition_count = ast->partition_count;
    return STATUS_OK;
}

static enum status define_watermark(struct definition *self, struct error *err)
{
    const struct ast_create_table *ast = self->ast;
    if (ast->watermark_column == NULL) {
        return STATUS_OK;
    }
    uint32_t column;
    struct schema schema;
    const struct expression *candidate;
    TRY(require_column(self, ast->watermark_column, "WATERMARK", &ast->watermark_at, &column, err));
    const struct type *type = self->columns[column].type;
    if (!type_is_timestamp(type) || type->precision > 3) {
        return bind_refuse(&ast->watermark_at, ERROR_INVALID_DEFINITION, err,
                           "the event time column '%s' must be TIMESTAMP(0..3) or TIMESTAMP_LTZ(0..3), not %s", self->columns[column].name,
                           bind_type_text(self->binder, type));
    }
    TRY(reparse(self->arena, ast->watermark_sql, &self->table->watermark_sql, &self->table->watermark, err));
    TRY(visible_schema(self, &schema, err));
    enum status status = bind_expression(self->binder->context, self->table->watermark, &schema, &candidate, err);
    if (status != STATUS_OK) {
        error_add_context(err, "in the watermark of '%s'", self->columns[column].name);
        return status;
    }
    if (candidate->type->kind != type->kind) {
        return bind_refuse(&ast->watermark_at, ERROR_INVALID_DEFINITION, err, "the watermark is a %s, its column '%s' a %s",
                           bind_type_text(self->binder, candidate->type), self->columns[column].name, bind_type_text(self->binder, type));
    }
    self->table->watermark_column = (int32_t)column;
    return STATUS_OK;
}

/* ---- AS SELECT ---- */

static const struct ast_column_def *find_written(const struct definition *self, const char *name)
{
    for (uint32_t i = 0; i < self->ast->column_count; i++) {
        if (strcmp(self->ast->columns[i].name, name) == 0) {
            return &self->ast->columns[i];
        }
    }
    return NULL;
}

/* A column of the query, with the type that was written for it, if any. */
static enum status define_query_column(struct definition *self, const struct column *source, struct error *err)
{
    const struct ast_column_def *written = find_written(self, source->name);
    const struct position *at = written != NULL ? &written->at : &self->ast->as_query->at;
    struct table_column column = {.kind = AST_COLUMN_PHYSICAL};
    if (written != NULL && written->kind != AST_COLUMN_PHYSICAL) {
        return bind_refuse(at, ERROR_INVALID_DEFINITION, err, "column '%s' of the query cannot be computed or metadata too", source->name);
    }
    TRY(copy_text(self->arena, source->name, &column.name, err));
    if (written != NULL && written->type != NULL) {
        TRY(copy_text(self->arena, written->comment, &column.comment, err));
        TRY(bind_type(self->arena, written->type, &column.type, err));
    } else if (source->type->kind == TYPE_NULL) {
        return bind_refuse(at, ERROR_INVALID_DEFINITION, err, "column '%s' is NULL and has no type: CAST it", source->name);
    } else {
        TRY_ALLOC(column.type, type_copy(self->arena, source->type), err);
    }
    return add_column(self, &column, at, err);
}

static const struct column *find_in_query(const struct relation *query, const char *name)
{
    for (uint32_t i = 0; i < query->schema.count; i++) {
        if (strcmp(query->schema.columns[i].name, name) == 0) {
            return &query->schema.columns[i];
        }
    }
    return NULL;
}

/* CREATE TABLE t (b, a) AS SELECT a, b: names alone say the order, and name all columns. */
static enum status define_in_written_order(struct definition *self, const struct relation *query, struct error *err)
{
    const struct ast_create_table *ast = self->ast;
    if (ast->column_count != query->schema.count) {
        return bind_refuse(&ast->columns[0].at, ERROR_INVALID_DEFINITION, err, "%u columns are named without a type, the query has %u",
                           ast->column_count, query->schema.count);
    }
    for (uint32_t i = 0; i < ast->column_count; i++) {
        const struct column *source = find_in_query(query, ast->columns[i].name);
        if (source == NULL) {
            return bind_refuse(&ast->columns[i].at, ERROR_INVALID_DEFINITION, err, "the query has no column '%s'", ast->columns[i].name);
        }
        TRY(define_query_column(self, source, err));
    }
    return STATUS_OK;
}

/* As in Flink: columns that only the definition has come first; those of the query keep its order. */
static enum status define_from_query(struct definition *self, struct error *err)
{
    struct relation *query;
    bool typed = self->ast->column_count == 0;
    TRY(bind_whole_query(self->binder, NULL, self->ast->as_query, &query, err));
    for (uint32_t i = 0; i < self->ast->column_count; i++) {
        typed = typed || self->ast->columns[i].type != NULL || self->ast->columns[i].kind != AST_COLUMN_PHYSICAL;
    }
    if (!typed) {
        return define_in_written_order(self, query, err);
    }
    for (uint32_t i = 0; i < self->ast->column_count; i++) {
        if (find_in_query(query, self->ast->columns[i].name) == NULL) {
            TRY(define_plain_column(self, &self->ast->columns[i], err));
        }
    }
    for (uint32_t i = 0; i < query->schema.count; i++) {
        TRY(define_query_column(self, &query->schema.columns[i], err));
    }
    return STATUS_OK;
}

/* ---- the whole ---- */

enum status bind_table_open(struct budget *budget, const struct ast_name *name, bool temporary, const char *comment,
                            struct catalog_table **table, struct error *err)
{
    struct arena *arena;
    TRY_ALLOC(arena, arena_create(budget, "table"), err);
    *table = arena_alloc(arena, sizeof **table);
    if (*table == NULL) {
        arena_destroy(arena);
        return error_set(err, ERROR_BUDGET_SPENT, "no room for a table");
    }
    **table = (struct catalog_table){.arena = arena, .references = 1, .temporary = temporary, .watermark_column = -1};
    enum status status = copy_text(arena, name->parts[name->count - 1], &(*table)->name, err);
    if (status == STATUS_OK) {
        status = copy_text(arena, comment, &(*table)->comment, err);
    }
    if (status != STATUS_OK) {
        arena_destroy(arena);
        *table = NULL;
    }
    return status;
}

static enum status define_table(struct definition *self, struct error *err)
{
    const struct ast_create_table *ast = self->ast;
    if (ast->has_like) {
        TRY(define_like(self, err));
        self->inherited_count = self->column_count;
    }
    for (uint32_t i = 0; i < ast->column_count && ast->as_query == NULL; i++) {
        TRY(define_plain_column(self, &ast->columns[i], err));
    }
    if (ast->as_query != NULL) {
        TRY(define_from_query(self, err));
    }
    TRY(type_computed_columns(self, err));
    TRY(define_primary_key(self, err));
    TRY(define_partitions(self, err));
    TRY(define_watermark(self, err));
    uint32_t inherited = self->option_count;
    for (uint32_t i = 0; i < ast->option_count; i++) {
        TRY(set_option(self, ast->options[i].key, ast->options[i].value, inherited > 0, &ast->options[i].at, err));
    }
    self->table->columns = self->columns;
    self->table->column_count = self->column_count;
    self->table->options = self->options;
    self->table->option_count = self->option_count;
    return STATUS_OK;
}

enum status bind_create_table(const struct bind_context *context, struct budget *budget, const struct ast_create_table *ast,
                              struct catalog_table **table, struct error *err)
{
    struct binder binder;
    TRY(bind_binder(context, &binder));
    TRY(bind_table_open(budget, &ast->name, ast->temporary, ast->comment, table, err));
    struct definition self = {.binder = &binder, .arena = (*table)->arena, .ast = ast, .table = *table};
    enum status status = define_table(&self, err);
    if (status != STATUS_OK) {
        catalog_table_unref(*table);
        *table = NULL;
    }
    return status;
}
