/* FROM: tables, views, subqueries, table functions; joins have a file of their own. */
#include <string.h>
#include <strings.h>

#include "sql/binder_internal.h"

/* ---- tables ---- */

/* The physical and metadata columns, in the order of the table, as a SCAN. */
static enum status make_scan(struct binder *binder, const struct catalog_table *table, uint32_t *positions, struct relation **relation,
                             struct error *err)
{
    uint32_t *columns, count = 0;
    TRY_ALLOC(columns, arena_alloc(binder->arena, (table->column_count + 1) * sizeof *columns), err);
    for (uint32_t i = 0; i < table->column_count; i++) {
        if (table->columns[i].kind != AST_COLUMN_COMPUTED) {
            positions[i] = count;
            columns[count++] = i;
        }
    }
    TRY_ALLOC(*relation, relation_make(binder->arena, RELATION_SCAN, NULL, 0, count), err);
    for (uint32_t i = 0; i < count; i++) {
        relation_columns(*relation)[i] = (struct column){.name = table->columns[columns[i]].name, .type = table->columns[columns[i]].type};
    }
    (*relation)->scan = (struct scan_relation){.table = table, .columns = columns, .column_count = count};
    return STATUS_OK;
}

/* All columns in the order of the definition, computed ones included. */
static enum status add_computed(struct binder *binder, const struct catalog_table *table, const uint32_t *positions,
                                struct relation **relation, struct error *err)
{
    uint32_t count = table->column_count;
    struct scope scope;
    const struct expression **values;
    const char **names;
    enum time_attribute *times;
    TRY_ALLOC(values, arena_alloc(binder->arena, (count + 1) * sizeof *values), err);
    TRY_ALLOC(names, arena_alloc(binder->arena, (count + 1) * sizeof *names), err);
    TRY_ALLOC(times, arena_alloc(binder->arena, (count + 1) * sizeof *times), err);
    TRY(scope_from_relation(binder, *relation, NULL, &scope, err));
    scope.clause = "a computed column";
    for (uint32_t i = 0; i < count; i++) {
        const struct table_column *column = &table->columns[i];
        names[i] = column->name;
        times[i] = TIME_NONE;
        if (column->kind == AST_COLUMN_COMPUTED) {
            TRY(bind_scalar(binder, &scope, column->expression, &values[i], err));
            times[i] = bind_time(values[i], *relation);
        } else {
            TRY_ALLOC(values[i], expression_column(binder->arena, positions[i], column->type), err);
        }
    }
    TRY_ALLOC(*relation, relation_make_project(binder->arena, *relation, values, names, times, count), err);
    return STATUS_OK;
}

static enum status add_watermark(struct binder *binder, const struct catalog_table *table, struct relation **relation, struct error *err)
{
    struct scope scope;
    const struct expression *candidate;
    TRY(scope_from_relation(binder, *relation, NULL, &scope, err));
    scope.clause = "the watermark";
    TRY(bind_scalar(binder, &scope, table->watermark, &candidate, err));
    TRY_ALLOC(*relation, relation_make_over(binder->arena, RELATION_WATERMARK, *relation), err);
    (*relation)->watermark.column = (uint32_t)table->watermark_column;
    (*relation)->watermark.expression = candidate;
    struct column *column = &relation_columns(*relation)[table->watermark_column];
    column->time = TIME_ROWTIME;
    if (column->type->precision > 3) {
        TRY_ALLOC(column->type, type_make(binder->arena, column->type->kind, 3, 0, column->type->nullable), err);
    }
    return STATUS_OK;
}

enum status bind_scan(struct binder *binder, const struct catalog_table *table, struct relation **relation, struct error *err)
{
    uint32_t *positions;
    bool computed = false;
    TRY_ALLOC(positions, arena_alloc(binder->arena, (table->column_count + 1) * sizeof *positions), err);
    for (uint32_t i = 0; i < table->column_count; i++) {
        computed = computed || table->columns[i].kind == AST_COLUMN_COMPUTED;
    }
    TRY(make_scan(binder, table, positions, relation, err));
    if (computed) {
        TRY(add_computed(binder, table, positions, relation, err));
    }
    return table->watermark_column >= 0 ? add_watermark(binder, table, relation, err) : STATUS_OK;
}

enum status bind_table_scan(const struct bind_context *context, const struct catalog_table *table, struct relation **relation,
                            struct error *err)
{
    struct binder binder;
    TRY(bind_binder(context, &binder));
    return bind_scan(&binder, table, relation, err);
}

/* ---- views ---- */

/* The view's query under the names of its columns. */
static enum status name_view_columns(struct binder *binder, const struct catalog_table *view, struct relation **relation, struct error *err)
{
    uint32_t count = view->column_count;
    const struct expression **values;
    const char **names;
    enum time_attribute *times;
    if ((*relation)->schema.count != count) {
        return error_set(err, ERROR_INVALID_QUERY, "the view '%s' was made with %u columns, its query now has %u", view->name, count,
                         (*relation)->schema.count);
    }
    TRY_ALLOC(values, arena_alloc(binder->arena, (count + 1) * sizeof *values), err);
    TRY_ALLOC(names, arena_alloc(binder->arena, (count + 1) * sizeof *names), err);
    TRY_ALLOC(times, arena_alloc(binder->arena, (count + 1) * sizeof *times), err);
    for (uint32_t i = 0; i < count; i++) {
        TRY_ALLOC(values[i], expression_column(binder->arena, i, (*relation)->schema.columns[i].type), err);
        names[i] = view->columns[i].name;
        times[i] = (*relation)->schema.columns[i].time;
    }
    TRY_ALLOC(*relation, relation_make_project(binder->arena, *relation, values, names, times, count), err);
    return STATUS_OK;
}

static enum status bind_view(struct binder *binder, const struct catalog_table *view, struct relation **relation, struct error *err)
{
    for (const struct bound_view *bound = binder->views; bound != NULL; bound = bound->next) {
        if (bound->table == view) {
            *relation = bound->relation;
            return STATUS_OK;
        }
    }
    if (++binder->view_depth > VIEW_DEPTH_MAX) {
        return error_set(err, ERROR_TOO_DEEP, "views over views nest more than %d levels, at '%s'", VIEW_DEPTH_MAX, view->name);
    }
    const struct bound_cte *ctes = binder->ctes;
    struct bound_view *bound;
    TRY_ALLOC(bound, arena_alloc(binder->arena, sizeof *bound), err);
    binder->ctes = NULL; /* a view does not see the names of the query that reads it */
    enum status status = bind_whole_query(binder, NULL, view->query, relation, err);
    if (status != STATUS_OK) {
        error_add_context(err, "in the view '%s', line %u column %u of its query", view->name, err->line, err->column);
        err->line = 0;
        return status;
    }
    binder->ctes = ctes;
    binder->view_depth--;
    TRY(name_view_columns(binder, view, relation, err));
    *bound = (struct bound_view){.table = view, .relation = *relation, .next = binder->views};
    binder->views = bound;
    return STATUS_OK;
}

/* ---- hints of a table ---- */

/* A copy of the table's entry with options of an OPTIONS hint set. */
static enum status override_options(struct binder *binder, const struct ast_hint *hint, const struct catalog_table **table,
                                    struct error *err)
{
    struct catalog_table *copy;
    struct table_option *options;
    uint32_t count = (*table)->option_count;
    TRY_ALLOC(copy, arena_copy(binder->arena, *table, sizeof *copy), err);
    TRY_ALLOC(options, arena_alloc(binder->arena, (count + hint->count + 1) * sizeof *options), err);
    if (count > 0) {
        memcpy(options, (*table)->options, count * sizeof *options);
    }
    for (uint32_t i = 0; i < hint->count; i++) {
        if (hint->keys[i] == NULL) {
            return bind_refuse(&hint->at, ERROR_INVALID_QUERY, err, "OPTIONS takes 'key' = 'value'");
        }
        uint32_t at = 0;
        while (at < count && strcmp(options[at].key, hint->keys[i]) != 0) {
            at++;
        }
        count += at == count;
        options[at] = (struct table_option){.key = hint->keys[i], .value = hint->values[i]};
    }
    copy->options = options;
    copy->option_count = count;
    *table = copy;
    return STATUS_OK;
}

static enum status apply_table_hints(struct binder *binder, const struct ast_hint *hints, uint32_t count,
                                     const struct catalog_table **table, struct error *err)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcasecmp(hints[i].name, "OPTIONS") != 0) {
            TRY(bind_check_hints(&hints[i], 1, false, err));
        } else if ((*table)->is_view) {
            return bind_refuse(&hints[i].at, ERROR_INVALID_QUERY, err, "OPTIONS cannot be set for the view '%s'", (*table)->name);
        } else {
            TRY(override_options(binder, &hints[i], table, err));
        }
    }
    return STATUS_OK;
}

/* ---- names ---- */

static enum status refuse_table(struct binder *binder, const struct ast_name *name, struct error *err)
{
    struct catalog_table **tables;
    const char *names[256];
    uint32_t count, total = 0;
    TRY(catalog_list(binder->context->catalog, binder->arena, &tables, &count, err));
    for (const struct bound_cte *cte = binder->ctes; cte != NULL && total < ARRAY_LENGTH(names); cte = cte->next) {
        names[total++] = cte->ast->name;
    }
    for (uint32_t i = 0; i < count && total < ARRAY_LENGTH(names); i++) {
        names[total++] = tables[i]->name;
    }
    const char *nearest = text_nearest(name->parts[name->count - 1], names, total);
    return bind_refuse(&name->at, ERROR_UNKNOWN_TABLE, err, "there is no table '%s'%s%s%s", bind_name_text(binder, name),
                       nearest != NULL ? "; did you mean '" : "", nearest != NULL ? nearest : "", nearest != NULL ? "'?" : "");
}

static void release_table(void *table)
{
    catalog_table_unref(table);
}

enum status bind_hold_table(struct binder *binder, struct catalog_table *table, struct error *err)
{
    if (!arena_on_reset(binder->arena, release_table, catalog_table_ref(table))) {
        catalog_table_unref(table);
        return error_set(err, ERROR_BUDGET_SPENT, "no room for table '%s'", table->name);
    }
    return STATUS_OK;
}

/* For what is refused when the table is opened. A view's query is another text. */
static void place_scan(const struct binder *binder, struct relation *relation, const struct position *at)
{
    while (relation->kind != RELATION_SCAN) {
        relation = relation->inputs[0];
    }
    if (binder->view_depth == 0) {
        relation->line = at->line;
        relation->column = at->column;
    }
}

enum status bind_named_table(struct binder *binder, const struct ast_name *name, const struct ast_hint *hints, uint32_t hint_count,
                             struct relation **relation, struct error *err)
{
    for (const struct bound_cte *cte = binder->ctes; cte != NULL && name->count == 1; cte = cte->next) {
        if (strcmp(cte->ast->name, name->parts[0]) == 0) {
            *relation = cte->relation;
            return STATUS_OK;
        }
    }
    struct catalog_table *found;
    TRY(catalog_find_readable(binder->context->catalog, name, &found, err));
    if (found == NULL) {
        return refuse_table(binder, name, err);
    }
    TRY(bind_hold_table(binder, found, err));
    const struct catalog_table *table = found;
    TRY(apply_table_hints(binder, hints, hint_count, &table, err));
    if (table->is_view) {
        return bind_view(binder, table, relation, err);
    }
    TRY(bind_scan(binder, table, relation, err));
    place_scan(binder, *relation, &name->at);
    return STATUS_OK;
}

/* ---- FROM ---- */

/* Scope columns of a relation under a table's name. */
static enum status from_relation(struct binder *binder, struct relation *relation, const char *table, struct from *from, struct error *err)
{
    struct scope scope;
    TRY(scope_from_relation(binder, relation, table, &scope, err));
    *from = (struct from){.relation = relation, .columns = scope.columns, .count = scope.count};
    return STATUS_OK;
}

enum status from_name_columns(struct binder *binder, const struct ast_table *ast, struct from *from, struct error *err)
{
    (void)binder;
    (void)err;
    if (ast->column_alias_count > 0 && ast->column_alias_count != from->count) {
        return bind_refuse(&ast->at, ERROR_INVALID_QUERY, err, "'%s' names %u columns, but there are %u", ast->alias,
                           ast->column_alias_count, from->count);
    }
    for (uint32_t i = 0; i < from->count; i++) {
        if (ast->alias != NULL) {
            from->columns[i].table = ast->alias;
        }
        if (ast->column_alias_count > 0) {
            from->columns[i].name = ast->column_aliases[i];
        }
    }
    return STATUS_OK;
}

static enum status refuse_table_kind(const struct ast_table *ast, const char *what, struct error *err)
{
    return bind_refuse(&ast->at, ERROR_NOT_SUPPORTED, err, "%s is not supported", what);
}

static enum status bind_function_table(struct binder *binder, struct scope *outer, const struct ast_table *ast, struct from *from,
                                       struct error *err)
{
    struct relation *relation;
    TRY(bind_window_function(binder, outer, ast, &relation, err));
    return from_relation(binder, relation, ast->alias, from, err);
}

/* UNNEST(...) that is the first of FROM: over one row. */
static enum status bind_lone_unnest(struct binder *binder, struct scope *outer, const struct ast_table *ast, struct from *from,
                                    struct error *err)
{
    struct from one = {0}, joined;
    struct scope scope = {.outer = outer, .clause = "UNNEST"};
    TRY(bind_one_row(binder, &one.relation, err));
    TRY(from_relation(binder, one.relation, NULL, &one, err));
    TRY(bind_lateral_function(binder, &scope, &one, ast, false, &joined, err));
    joined.columns++; /* the row it stands on is not seen */
    joined.count--;
    *from = joined;
    return STATUS_OK;
}

enum status bind_from(struct binder *binder, struct scope *outer, const struct ast_table *ast, struct from *from, struct error *err)
{
    struct relation *relation;
    if (ast->sample != NULL) {
        return refuse_table_kind(ast, "TABLESAMPLE", err);
    }
    bind_note_table(binder, ast);
    switch (ast->kind) {
    case AST_TABLE_NAME:
        if (ast->system_time != NULL) {
            return bind_refuse(&ast->at, ERROR_INVALID_QUERY, err, "FOR SYSTEM_TIME AS OF is for the right side of a JOIN");
        }
        TRY(bind_named_table(binder, &ast->name, ast->hints, ast->hint_count, &relation, err));
        TRY(from_relation(binder, relation, ast->name.parts[ast->name.count - 1], from, err));
        break;
    case AST_TABLE_SUBQUERY:
    case AST_TABLE_VALUES:
        TRY(bind_whole_query(binder, outer, ast->query, &relation, err));
        TRY(from_relation(binder, relation, NULL, from, err));
        break;
    case AST_TABLE_FUNCTION:
        TRY(bind_function_table(binder, outer, ast, from, err));
        break;
    case AST_TABLE_UNNEST:
        return bind_lone_unnest(binder, outer, ast, from, err);
    case AST_TABLE_JOIN:
        return bind_join(binder, outer, ast, from, err);
    default:
        return refuse_table_kind(ast, "MATCH_RECOGNIZE", err);
    }
    return from_name_columns(binder, ast, from, err);
}
