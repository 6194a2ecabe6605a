/* sql/binder.h: syntax trees to relations: names resolved, types given, functions chosen.
 *
 * For         queries, the queries inside INSERT and CREATE VIEW, computed columns and watermarks.
 * Rules       Flink's result types (precision, scale, nullability) and implicit casts. Nothing is folded or moved here.
 * Errors      With line, column, and a near name where there is one. What is parsed but not supported is refused here, by name.
 * Ownership   Results live in the given arena.
 */
#ifndef SPATE_SQL_BINDER_H
#define SPATE_SQL_BINDER_H

#include "base/cancel.h"
#include "functions/evaluation.h"
#include "sql/ast_other.h"
#include "sql/catalog.h"

struct bind_context {
    struct arena *arena;
    const struct catalog *catalog;
    const struct evaluation *evaluation;
    const atomic_bool *cancelled; /* NULL: nobody can ask binding and planning to stop */
};
enum status bind_query(const struct bind_context *context, const struct ast_query *query, struct relation **relation, struct error *err);
/* A type as written. */
enum status bind_type(struct arena *arena, const struct ast_type *ast, const struct type **type, struct error *err);
/* An expression over the given columns (no subqueries, no aggregates): computed columns, watermarks, partition values. */
enum status bind_expression(const struct bind_context *context, const struct ast_expression *ast, const struct schema *input,
                            const struct expression **expression, struct error *err);
/* The definition of CREATE TABLE / VIEW as a catalog entry (in an arena of its own), LIKE and AS SELECT included. */
enum status bind_create_table(const struct bind_context *context, struct budget *budget, const struct ast_create_table *ast,
                              struct catalog_table **table, struct error *err);
enum status bind_create_view(const struct bind_context *context, struct budget *budget, const struct ast_create_view *ast,
                             struct catalog_table **table, struct error *err);

/* INSERT: the query's relation, cast and completed to the sink's physical columns (in their order). */
struct bound_insert {
    struct catalog_table *table;
    struct relation *relation;
    bool overwrite;
    const char *on_conflict; /* ON CONFLICT DO: "ERROR", "NOTHING", "DEDUPLICATE"; NULL: not given */
};
enum status bind_insert(const struct bind_context *context, const struct ast_insert *ast, struct bound_insert *insert, struct error *err);
/* The reading of a table: SCAN, computed columns, WATERMARK; the schema is that of the table's columns. */
enum status bind_table_scan(const struct bind_context *context, const struct catalog_table *table, struct relation **relation,
                            struct error *err);

/* The table or view as ALTER leaves it, as a new entry to take the place of `table` (under another name when renamed). */
enum status bind_alter_table(const struct bind_context *context, struct budget *budget, const struct catalog_table *table,
                             const struct ast_alter *ast, struct catalog_table **changed, struct error *err);
enum status bind_alter_view(const struct bind_context *context, struct budget *budget, const struct catalog_table *table,
                            const struct ast_alter *ast, struct catalog_table **changed, struct error *err);

#endif
