/* A plain list of tables: catalogs are small, and looked up once per statement. A temporary table hides a permanent one of the
 * same name because it is searched first. */
#include "sql/catalog.h"

#include <stdlib.h>
#include <string.h>

static const char *const catalog_name = "default_catalog";
static const char *const database_name = "default_database";
static const char *const system_database = "spate";

struct catalog {
    struct budget *budget;
    struct arena *arena; /* the list */
    struct catalog_table **tables;
    uint32_t count, capacity;
    catalog_system find_system; /* NULL: there are no tables about Spate */
    void *system_context;
};

struct catalog_table *catalog_table_ref(struct catalog_table *table)
{
    table->references++;
    return table;
}

void catalog_table_unref(struct catalog_table *table)
{
    if (table == NULL || --table->references > 0) {
        return;
    }
    arena_destroy(table->arena);
}

struct catalog *catalog_create(struct budget *budget)
{
    struct arena *arena = arena_create(budget, "catalog");
    if (arena == NULL) {
        return NULL;
    }
    struct catalog *catalog = arena_alloc(arena, sizeof *catalog);
    if (catalog == NULL) {
        arena_destroy(arena);
        return NULL;
    }
    catalog->budget = budget;
    catalog->arena = arena;
    return catalog;
}

void catalog_destroy(struct catalog *catalog)
{
    if (catalog == NULL) {
        return;
    }
    for (uint32_t i = 0; i < catalog->count; i++) {
        catalog_table_unref(catalog->tables[i]);
    }
    arena_destroy(catalog->arena);
}

/* The position of a table, or -1. */
static int64_t find_position(const struct catalog *catalog, const char *name, bool temporary)
{
    for (uint32_t i = 0; i < catalog->count; i++) {
        if (catalog->tables[i]->temporary == temporary && strcmp(catalog->tables[i]->name, name) == 0) {
            return i;
        }
    }
    return -1;
}

enum status catalog_add(struct catalog *catalog, struct catalog_table *table, bool if_not_exists, bool or_replace, struct error *err)
{
    int64_t position = find_position(catalog, table->name, table->temporary);
    if (position >= 0 && or_replace) {
        catalog_table_unref(catalog->tables[position]);
        catalog->tables[position] = table;
        return STATUS_OK;
    }
    if (position >= 0 && if_not_exists) {
        catalog_table_unref(table);
        return STATUS_OK;
    }
    if (position >= 0) {
        return error_set(err, ERROR_ALREADY_EXISTS, "%s '%s' exists already", catalog->tables[position]->is_view ? "view" : "table",
                         table->name);
    }
    struct catalog_table **tables =
        arena_grow(catalog->arena, catalog->tables, &catalog->capacity, catalog->count + 1, sizeof *catalog->tables);
    if (tables == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room for table '%s'", table->name);
    }
    catalog->tables = tables;
    tables[catalog->count++] = table;
    return STATUS_OK;
}

/* The table's own name; NULL when the catalog or database parts are others. */
static const char *last_part(const struct ast_name *name)
{
    if (name->count == 0 || name->count > 3) {
        return NULL;
    }
    if (name->count >= 2 && strcmp(name->parts[name->count - 2], database_name) != 0) {
        return NULL;
    }
    if (name->count == 3 && strcmp(name->parts[0], catalog_name) != 0) {
        return NULL;
    }
    return name->parts[name->count - 1];
}

struct catalog_table *catalog_find(const struct catalog *catalog, const struct ast_name *name)
{
    const char *table_name = last_part(name);
    if (table_name == NULL) {
        return NULL;
    }
    int64_t position = find_position(catalog, table_name, true);
    if (position < 0) {
        position = find_position(catalog, table_name, false);
    }
    return position < 0 ? NULL : catalog->tables[position];
}

void catalog_set_system(struct catalog *catalog, catalog_system find, void *context)
{
    catalog->find_system = find;
    catalog->system_context = context;
}

enum status catalog_find_readable(const struct catalog *catalog, const struct ast_name *name, struct catalog_table **table,
                                  struct error *err)
{
    bool is_ours = name->count == 2 || (name->count == 3 && strcmp(name->parts[0], catalog_name) == 0);
    if (is_ours && catalog->find_system != NULL && strcmp(name->parts[name->count - 2], system_database) == 0) {
        return catalog->find_system(catalog->system_context, name->parts[name->count - 1], table, err);
    }
    *table = catalog_find(catalog, name);
    return STATUS_OK;
}

/* Sets the error for a name that is not there, with the nearest one that is. */
static enum status refuse_unknown(const struct catalog *catalog, const struct ast_name *name, const char *what, bool is_view,
                                  struct error *err)
{
    const char *names[64];
    size_t count = 0;
    for (uint32_t i = 0; i < catalog->count && count < ARRAY_LENGTH(names); i++) {
        if (catalog->tables[i]->is_view == is_view) {
            names[count++] = catalog->tables[i]->name;
        }
    }
    const char *written = name->parts[name->count - 1];
    const char *nearest = text_nearest(written, names, count);
    return error_set_at(err, ERROR_UNKNOWN_TABLE, name->at.line, name->at.column, "there is no %s '%s'%s%s%s", what, written,
                        nearest != NULL ? "; did you mean '" : "", nearest != NULL ? nearest : "", nearest != NULL ? "'?" : "");
}

enum status catalog_drop(struct catalog *catalog, const struct ast_name *name, bool is_view, bool temporary, bool if_exists,
                         struct error *err)
{
    const char *what = is_view ? (temporary ? "temporary view" : "view") : (temporary ? "temporary table" : "table");
    const char *table_name = last_part(name);
    int64_t position = table_name == NULL ? -1 : find_position(catalog, table_name, temporary);
    if (position < 0 && !temporary && table_name != NULL) {
        int64_t hiding = find_position(catalog, table_name, true);
        if (hiding >= 0 && catalog->tables[hiding]->is_view == is_view) {
            return error_set_at(err, ERROR_UNKNOWN_TABLE, name->at.line, name->at.column, "'%s' is a temporary %s: write DROP TEMPORARY %s",
                                table_name, is_view ? "view" : "table", is_view ? "VIEW" : "TABLE");
        }
    }
    if (position < 0) {
        return if_exists ? STATUS_OK : refuse_unknown(catalog, name, what, is_view, err);
    }
    struct catalog_table *table = catalog->tables[position];
    if (table->is_view != is_view) {
        return error_set_at(err, ERROR_UNKNOWN_TABLE, name->at.line, name->at.column, "'%s' is a %s, not a %s: write DROP %s", table_name,
                            table->is_view ? "view" : "table", is_view ? "view" : "table", table->is_view ? "VIEW" : "TABLE");
    }
    memmove(catalog->tables + position, catalog->tables + position + 1, (catalog->count - (size_t)position - 1) * sizeof *catalog->tables);
    catalog->count--;
    catalog_table_unref(table);
    return STATUS_OK;
}

static int compare_tables(const void *left, const void *right)
{
    const struct catalog_table *const *l = left, *const *r = right;
    int order = strcmp((*l)->name, (*r)->name);
    return order != 0 ? order : (int)(*r)->temporary - (int)(*l)->temporary;
}

enum status catalog_list(const struct catalog *catalog, struct arena *arena, struct catalog_table ***tables, uint32_t *count,
                         struct error *err)
{
    struct catalog_table **list;
    TRY_ALLOC(list, arena_alloc(arena, (catalog->count + 1) * sizeof *list), err);
    if (catalog->count > 0) {
        memcpy(list, catalog->tables, catalog->count * sizeof *list);
        qsort(list, catalog->count, sizeof *list, compare_tables);
    }
    uint32_t kept = 0; /* a hidden table is listed once */
    for (uint32_t i = 0; i < catalog->count; i++) {
        if (kept == 0 || strcmp(list[kept - 1]->name, list[i]->name) != 0) {
            list[kept++] = list[i];
        }
    }
    *tables = list;
    *count = kept;
    return STATUS_OK;
}
