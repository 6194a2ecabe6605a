/* CREATE VIEW as a catalog entry: the query's text, parsed again into the entry's own arena, and the names of its columns. */
#include <string.h>

#include "sql/binder_internal.h"
#include "sql/parser.h"
#include "sql/unparse.h"

static enum status define_view(struct binder *binder, const struct ast_create_view *ast, struct catalog_table *table, struct error *err)
{
    struct relation *relation;
    struct table_column *columns;
    char *text;
    TRY(bind_whole_query(binder, NULL, ast->query, &relation, err));
    if (ast->column_count > 0 && ast->column_count != relation->schema.count) {
        return bind_refuse(&ast->name.at, ERROR_INVALID_DEFINITION, err, "the view names %u columns, its query has %u", ast->column_count,
                           relation->schema.count);
    }
    TRY_ALLOC(columns, arena_alloc(table->arena, (relation->schema.count + 1) * sizeof *columns), err);
    for (uint32_t i = 0; i < relation->schema.count; i++) {
        const char *name = ast->column_count > 0 ? ast->columns[i] : relation->schema.columns[i].name;
        columns[i].kind = AST_COLUMN_PHYSICAL;
        TRY_ALLOC(columns[i].name, arena_text(table->arena, name, strlen(name)), err);
        TRY_ALLOC(columns[i].type, type_copy(table->arena, relation->schema.columns[i].type), err);
    }
    TRY_ALLOC(text, text_to_arena(table->arena, ast->query_sql), err);
    table->columns = columns;
    table->column_count = relation->schema.count;
    TRY(sql_parse_query(table->arena, (struct text){text, ast->query_sql.length}, &table->query, err));
    return unparse_query_text(table->arena, table->query, &table->query_sql, err);
}

enum status bind_create_view(const struct bind_context *context, struct budget *budget, const struct ast_create_view *ast,
                             struct catalog_table **table, struct error *err)
{
    struct binder binder;
    TRY(bind_binder(context, &binder));
    TRY(bind_table_open(budget, &ast->name, ast->temporary, ast->comment, table, err));
    (*table)->is_view = true;
    enum status status = define_view(&binder, ast, *table, err);
    if (status != STATUS_OK) {
        catalog_table_unref(*table);
        *table = NULL;
    }
    return status;
}
