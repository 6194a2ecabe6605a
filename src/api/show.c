#include <string.h>

#include "api/session.h"
#include "api/text_table.h"
#include "functions/aggregate.h"
#include "functions/function.h"
#include "sql/binder.h"

struct show {
    spate_session *session;
    spate_result *result;
    const struct ast_statement *statement;
    struct text_table table;
};

/* SQL's LIKE, for names. */
static bool name_like(const char *name, const char *pattern, bool ignore_case)
{
    if (*pattern == '\0') {
        return *name == '\0';
    }
    if (*pattern == '%') {
        return name_like(name, pattern + 1, ignore_case) || (*name != '\0' && name_like(name + 1, pattern, ignore_case));
    }
    if (*name == '\0') {
        return false;
    }
    struct text left = {name, 1}, right = {pattern, 1};
    bool equal = *pattern == '_' || (ignore_case ? text_equal_ignoring_case(left, right) : text_equal(left, right));
    return equal && name_like(name + 1, pattern + 1, ignore_case);
}

static bool show_wants(const struct show *self, const char *name)
{
    const struct ast_show *show = &self->statement->show;
    return show->like == NULL || name_like(name, show->like, show->ignore_case) != show->negated;
}

static void show_add(struct show *self, const char *name)
{
    if (show_wants(self, name)) {
        text_table_add(&self->table, name);
    }
}

static enum status show_check_database(const struct show *self, struct error *err)
{
    const struct ast_name *name = &self->statement->show.name;
    if (name->count > 0 && strcmp(name->parts[name->count - 1], "default_database") != 0) {
        return error_set_at(err, ERROR_UNKNOWN_TABLE, self->statement->at.line, self->statement->at.column,
                            "there is no database '%s'; the session has 'default_database'", name->parts[name->count - 1]);
    }
    return STATUS_OK;
}

static enum status show_objects(struct show *self, bool tables, struct error *err)
{
    struct catalog_table **list;
    uint32_t count;
    TRY(show_check_database(self, err));
    TRY(catalog_list(self->session->catalog, self->result->arena, &list, &count, err));
    for (uint32_t i = 0; i < count; i++) {
        if (tables || list[i]->is_view) {
            show_add(self, list[i]->name);
        }
    }
    return STATUS_OK;
}

static enum status show_tables(struct show *self, struct error *err)
{
    return show_objects(self, true, err);
}

static enum status show_views(struct show *self, struct error *err)
{
    return show_objects(self, false, err);
}

static enum status show_catalogs(struct show *self, struct error *err)
{
    (void)err;
    show_add(self, "default_catalog");
    return STATUS_OK;
}

static enum status show_databases(struct show *self, struct error *err)
{
    (void)err;
    show_add(self, "default_database");
    return STATUS_OK;
}

static enum status show_functions(struct show *self, struct error *err)
{
    (void)err;
    if (self->statement->show.user) {
        return STATUS_OK;
    }
    uint32_t count;
    const struct function *const *functions = function_list(&count);
    for (uint32_t i = 0; i < count; i++) {
        show_add(self, functions[i]->name);
    }
    const struct aggregate_function *const *aggregates = aggregate_list(&count);
    for (uint32_t i = 0; i < count; i++) {
        show_add(self, aggregates[i]->name);
    }
    return STATUS_OK;
}

static enum status show_jobs(struct show *self, struct error *err)
{
    return jobs_list(self->session, &self->table, err);
}

static enum status show_find_table(const struct show *self, const struct ast_name *name, struct catalog_table **table, struct error *err)
{
    TRY(catalog_find_readable(self->session->catalog, name, table, err));
    if (*table == NULL) {
        return error_set_at(err, ERROR_UNKNOWN_TABLE, name->at.line, name->at.column, "there is no table '%s'",
                            name->parts[name->count - 1]);
    }
    return STATUS_OK;
}

static enum status show_create(struct show *self, struct error *err)
{
    const struct ast_show *show = &self->statement->show;
    struct catalog_table *table;
    TRY(show_find_table(self, &show->name, &table, err));
    if (table->is_view != (strcmp(show->what, "CREATE VIEW") == 0)) {
        return error_set_at(err, ERROR_UNKNOWN_TABLE, show->name.at.line, show->name.at.column, "'%s' is a %s: use SHOW CREATE %s",
                            table->name, table->is_view ? "view" : "table", table->is_view ? "VIEW" : "TABLE");
    }
    struct text_builder text = {0};
    enum status status = table_unparse(table, &text, err);
    if (status == STATUS_OK) {
        text_table_add(&self->table, text.bytes);
    }
    text_builder_close(&text);
    return status;
}

/* ---- columns ---- */

static bool table_has_comments(const struct catalog_table *table)
{
    for (uint32_t c = 0; c < table->column_count; c++) {
        if (table->columns[c].comment != NULL) {
            return true;
        }
    }
    return false;
}

static const char *column_key_text(const struct catalog_table *table, uint32_t column, struct arena *arena)
{
    bool in_key = false;
    struct text_builder text = {0};
    text_append_text(&text, "PRI(");
    for (uint32_t k = 0; k < table->primary_key_count; k++) {
        text_append_format(&text, "%s%s", k == 0 ? "" : ", ", table->columns[table->primary_key[k]].name);
        in_key = in_key || table->primary_key[k] == column;
    }
    text_append_text(&text, ")");
    const char *result = in_key && !text.failed ? arena_text(arena, text.bytes, text.length) : NULL;
    text_builder_close(&text);
    return result;
}

static const char *column_extras_text(const struct table_column *column, struct arena *arena)
{
    if (column->kind == AST_COLUMN_COMPUTED) {
        return arena_format(arena, "AS %.*s", (int)column->expression_sql.length, column->expression_sql.bytes);
    }
    if (column->kind != AST_COLUMN_METADATA) {
        return NULL;
    }
    const char *from = column->metadata_key == NULL ? "" : arena_format(arena, " FROM '%s'", column->metadata_key);
    return arena_format(arena, "METADATA%s%s", from, column->is_virtual ? " VIRTUAL" : "");
}

static enum status describe_column(struct show *self, const struct catalog_table *table, uint32_t c, enum time_attribute time,
                                   bool comments, struct error *err)
{
    struct arena *arena = self->result->arena;
    const struct table_column *column = &table->columns[c];
    const struct type *nullable = type_with_nullable(arena, column->type, true);
    const char *type = nullable == NULL ? NULL : type_to_text(arena, nullable);
    if (type == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room for a column's description");
    }
    static const char *const suffixes[] = {[TIME_NONE] = "", [TIME_ROWTIME] = " *ROWTIME*", [TIME_PROCTIME] = " *PROCTIME*"};
    text_table_add(&self->table, column->name);
    text_table_add(&self->table, arena_format(arena, "%s%s", type, suffixes[time]));
    text_table_add(&self->table, column->type->nullable ? "TRUE" : "FALSE");
    text_table_add(&self->table, column_key_text(table, c, arena));
    text_table_add(&self->table, column_extras_text(column, arena));
    bool watermark = !table->is_view && table->watermark_column == (int32_t)c;
    text_table_add(&self->table, watermark ? text_to_arena(arena, table->watermark_sql) : NULL);
    if (comments) {
        text_table_add(&self->table, column->comment);
    }
    return STATUS_OK;
}

static enum status describe_columns(struct show *self, const struct ast_name *name, struct error *err)
{
    static const char *const names[] = {"name", "type", "null", "key", "extras", "watermark", "comment"};
    struct catalog_table *table;
    TRY(show_find_table(self, name, &table, err));
    struct relation *relation;
    struct bind_context context = {
        .arena = self->result->arena, .catalog = self->session->catalog, .evaluation = &self->result->evaluation};
    if (table->is_view) {
        TRY(bind_query(&context, table->query, &relation, err));
    } else {
        TRY(bind_table_scan(&context, table, &relation, err));
    }
    bool comments = table_has_comments(table);
    text_table_open(&self->table, self->result->arena, &self->session->budget, comments ? 7 : 6, names);
    for (uint32_t c = 0; c < table->column_count; c++) {
        if (show_wants(self, table->columns[c].name)) {
            TRY(describe_column(self, table, c, relation->schema.columns[c].time, comments, err));
        }
    }
    return STATUS_OK;
}

static enum status show_columns(struct show *self, struct error *err)
{
    return describe_columns(self, &self->statement->show.name, err);
}

/* ---- the table of SHOW ---- */

static const struct {
    const char *what, *column;
    enum status (*run)(struct show *self, struct error *err);
} shows[] = {
    {"TABLES", "table name", show_tables},
    {"VIEWS", "view name", show_views},
    {"CATALOGS", "catalog name", show_catalogs},
    {"DATABASES", "database name", show_databases},
    {"CURRENT CATALOG", "current catalog name", show_catalogs},
    {"CURRENT DATABASE", "current database name", show_databases},
    {"FUNCTIONS", "function name", show_functions},
    {"JOBS", "job id", show_jobs},
    {"CREATE TABLE", "result", show_create},
    {"CREATE VIEW", "result", show_create},
    {"COLUMNS", "name", show_columns},
};

static enum status show_finish(struct show *self, struct error *err)
{
    self->result->kind = SPATE_RESULT_ROWS;
    return text_table_finish(&self->table, &self->result->schema, self->result->queue, err);
}

enum status show_run(spate_session *session, const struct ast_statement *statement, spate_result *result, struct error *err)
{
    struct show self = {.session = session, .result = result, .statement = statement};
    TRY(result_queue_create(&result->queue, err));
    for (uint32_t i = 0; i < ARRAY_LENGTH(shows); i++) {
        if (strcmp(shows[i].what, statement->show.what) == 0) {
            text_table_open(&self.table, result->arena, &session->budget, 1, &shows[i].column);
            TRY(shows[i].run(&self, err));
            return show_finish(&self, err);
        }
    }
    return error_set_at(err, ERROR_NOT_SUPPORTED, statement->at.line, statement->at.column, "SHOW %s is not supported",
                        statement->show.what);
}

enum status describe_run(spate_session *session, const struct ast_statement *statement, spate_result *result, struct error *err)
{
    struct show self = {.session = session, .result = result, .statement = statement};
    if (strcmp(statement->describe.what, "TABLE") != 0) {
        return error_set_at(err, ERROR_NOT_SUPPORTED, statement->at.line, statement->at.column, "DESCRIBE %s is not supported",
                            statement->describe.what);
    }
    TRY(result_queue_create(&result->queue, err));
    TRY(describe_columns(&self, &statement->describe.name, err));
    return show_finish(&self, err);
}
