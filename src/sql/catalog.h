/* sql/catalog.h: what names mean: tables and views of a session.
 *
 * For         the binder, SHOW, DESCRIBE, CREATE, DROP.
 * Shape       One catalog `default_catalog` with one database `default_database`; temporary objects shadow permanent ones. Beside it the
 *             database `spate`: tables about Spate itself, found by a function of the api; they can only be read.
 *             A table keeps its definition and its options as texts; connectors are resolved by name when a statement is
 *             planned.
 * Ownership   The catalog owns its tables (each in an arena of its own, freed at drop once no statement uses it:
 *             catalog_table_ref / unref).
 * Threads     That of the session.
 */
#ifndef SPATE_SQL_CATALOG_H
#define SPATE_SQL_CATALOG_H

#include "sql/ast.h"
#include "sql/relation.h"

struct table_column {
    enum ast_column_kind kind;
    const char *name, *comment;
    const struct type *type;
    struct text expression_sql;              /* COMPUTED: canonical (sql/unparse.h), printed by SHOW CREATE */
    const struct ast_expression *expression; /* COMPUTED: over the table's other columns */
    const char *metadata_key;
    bool is_virtual;
};
struct table_option {
    const char *key, *value;
};
struct catalog_table {
    struct arena *arena;
    uint32_t references;
    const char *name, *comment;
    bool temporary, is_view;
    /* tables */
    const struct table_column *columns;
    uint32_t column_count;
    int32_t watermark_column; /* index into columns; -1: none */
    const struct ast_expression *watermark;
    struct text watermark_sql;
    const uint32_t *primary_key; /* indices into columns */
    uint32_t primary_key_count;
    const uint32_t *partition_by;
    uint32_t partition_count;
    const struct table_option *options;
    uint32_t option_count;
    void *attachment; /* api: a table fed by the caller; NULL otherwise */
    /* views: bound again at each use; columns give names (and types as first bound) */
    const struct ast_query *query;
    struct text query_sql;
};

struct catalog;
struct catalog *catalog_create(struct budget *budget); /* NULL: no room */
void catalog_destroy(struct catalog *catalog);
/* Takes the table on success. ALREADY_EXISTS unless if_not_exists (then *table is destroyed and status OK). */
enum status catalog_add(struct catalog *catalog, struct catalog_table *table, bool if_not_exists, bool or_replace, struct error *err);
enum status catalog_drop(struct catalog *catalog, const struct ast_name *name, bool is_view, bool temporary, bool if_exists,
                         struct error *err);
/* NULL if absent. A name of 1 to 3 parts; the catalog and database parts must be the session's. */
struct catalog_table *catalog_find(const struct catalog *catalog, const struct ast_name *name);
/* As catalog_find, and tables of the database `spate`; *table NULL: absent. A table is held by what found it until the next call. */
typedef enum status (*catalog_system)(void *context, const char *name, struct catalog_table **table, struct error *err);
void catalog_set_system(struct catalog *catalog, catalog_system find, void *context);
enum status catalog_find_readable(const struct catalog *catalog, const struct ast_name *name, struct catalog_table **table,
                                  struct error *err);
struct catalog_table *catalog_table_ref(struct catalog_table *table); /* created with one reference: that of its maker */
void catalog_table_unref(struct catalog_table *table);
/* Sorted by name; the array lives in `arena`. */
enum status catalog_list(const struct catalog *catalog, struct arena *arena, struct catalog_table ***tables, uint32_t *count,
                         struct error *err);

#endif
