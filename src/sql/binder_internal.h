/* sql/binder_internal.h: what the binder's files share.
 *
 * For         binder_*.c only.
 * Shape       A scope says what names mean at a place of a query: the columns of its FROM, and the scopes around it. Calls of
 *             aggregates and OVER calls are collected while expressions are bound; their results stand in the expressions
 *             as placeholder columns with indices from PLACEHOLDER_* on, replaced when the relations below are made.
 * Ownership   The statement's arena.
 */
#ifndef SPATE_SQL_BINDER_INTERNAL_H
#define SPATE_SQL_BINDER_INTERNAL_H

#include "functions/aggregate.h"
#include "functions/function.h"
#include "functions/program.h"
#include "sql/binder.h"

enum { BINDER_DEPTH_MAX = 400, VIEW_DEPTH_MAX = 50, KEYS_MAX = 64, COLUMNS_MAX = 10000 };
#define PLACEHOLDER_CALL     UINT32_C(0x10000000)
#define PLACEHOLDER_WINDOW   UINT32_C(0x20000000)
#define PLACEHOLDER_GROUPING UINT32_C(0x30000000)
#define PLACEHOLDER_OVER     UINT32_C(0x40000000)
#define PLACEHOLDER_KIND     UINT32_C(0x70000000)

struct bound_cte {
    const struct ast_cte *ast;
    struct relation *relation;
    const struct bound_cte *next;
};
struct bound_view {
    const struct catalog_table *table;
    struct relation *relation;
    struct bound_view *next;
};
struct binder {
    const struct bind_context *context;
    struct arena *arena;
    const struct bound_cte *ctes; /* innermost first */
    struct bound_view *views;
    uint32_t depth, view_depth;
    struct block_hints *hints; /* of the SELECT at hand; NULL: none */
};

struct scope_column {
    const char *table; /* NULL: no qualifier reaches it */
    const char *name;
    const struct expression *value; /* over the relation of the scope; not a COLUMN for the merged column of FULL JOIN USING */
    enum time_attribute time;
    bool merged; /* one of the two sides of a USING column: only a qualifier reaches it, and it is no part of '*' */
};
struct outer_reference {
    struct expression *node;
    struct outer_reference *next;
};
struct select_alias {
    const char *name;
    const struct expression *value;
};
struct scope {
    struct scope *outer; /* one level out */
    struct scope_column *columns;
    uint32_t count;
    const char *clause;                 /* for messages: "WHERE" */
    struct aggregation *aggregation;    /* NULL: no aggregates here */
    struct over_calls *over;            /* NULL: no OVER here */
    const struct select_alias *aliases; /* seen before columns: ORDER BY */
    uint32_t alias_count;
    struct outer_reference *references; /* made by subqueries to columns of this scope */
};

/* ---- small tools ---- */
enum status bind_refuse(const struct position *at, enum error_code code, struct error *err, const char *format, ...) PRINTF_LIKE(4, 5);
/* Gives an error without a place that of `at`; returns its status. */
enum status bind_place(enum status status, const struct position *at, struct error *err);
const struct expression *bind_at(const struct expression *expression, const struct position *at);
const char *bind_type_text(struct binder *binder, const struct type *type);
const char *bind_name_text(struct binder *binder, const struct ast_name *name);
const struct type *bind_nullable(struct binder *binder, const struct type *type);
enum status bind_call(struct binder *binder, const char *name, const struct position *at, const struct expression *const *args,
                      uint32_t arg_count, const struct expression **result, struct error *err);
enum status bind_not(struct binder *binder, bool negated, const struct position *at, const struct expression **expression,
                     struct error *err);
enum status bind_cast(struct binder *binder, const struct expression **expression, const struct type *type, struct error *err);

/* Columns appended to a relation by a PROJECT, for kinds that refer to columns by index. */
struct extension {
    struct binder *binder;
    struct relation *input;
    const struct expression **added;
    uint32_t count, capacity;
};
enum status extension_column(struct extension *extension, const struct expression *expression, uint32_t *column, struct error *err);
enum status extension_finish(struct extension *extension, struct relation **relation, struct error *err);

/* ---- names ---- */
enum status scope_from_relation(struct binder *binder, const struct relation *relation, const char *table, struct scope *scope,
                                struct error *err);
enum status bind_name(struct binder *binder, struct scope *scope, const struct ast_name *name, const struct expression **result,
                      struct error *err);
enum status scope_find_local(struct binder *binder, const struct scope *scope, const char *table, const char *name,
                             const struct scope_column **column, const struct position *at, struct error *err);
enum time_attribute bind_time(const struct expression *expression, const struct relation *input);
enum status bind_field(struct binder *binder, const struct expression *row, const char *field, const struct position *at,
                       const struct expression **result, struct error *err);

/* ---- expressions ---- */
enum status bind_scalar(struct binder *binder, struct scope *scope, const struct ast_expression *ast, const struct expression **expression,
                        struct error *err);
enum status bind_scalars(struct binder *binder, struct scope *scope, const struct ast_expression *const *asts, uint32_t count,
                         const struct expression ***expressions, struct error *err);
enum status bind_condition(struct binder *binder, struct scope *scope, const struct ast_expression *ast,
                           const struct expression **expression, struct error *err);
enum status bind_literal(struct binder *binder, const struct ast_expression *ast, bool negative, const struct expression **expression,
                         struct error *err);
enum status bind_constant_int64(struct binder *binder, struct scope *scope, const struct ast_expression *ast, const char *what,
                                int64_t *value, struct error *err);
enum status bind_constant_interval(struct binder *binder, struct scope *scope, const struct ast_expression *ast, const char *what,
                                   int64_t *us, struct error *err);
enum status bind_operator(struct binder *binder, struct scope *scope, const struct ast_expression *ast,
                          const struct expression **expression, struct error *err);
enum status bind_function_call(struct binder *binder, struct scope *scope, const struct ast_expression *ast,
                               const struct expression **expression, struct error *err);
/* left = right and the like, ROW constructors field by field. */
enum status bind_comparison(struct binder *binder, const char *op, const struct position *at, const struct expression *left,
                            const struct expression *right, const struct expression **result, struct error *err);
enum status bind_case_of(struct binder *binder, const struct position *at, enum expression_kind kind, const struct expression **args,
                         uint32_t count, const struct expression **result, struct error *err);
enum status bind_subquery(struct binder *binder, struct scope *scope, const struct ast_expression *ast,
                          const struct expression **expression, struct error *err);

/* ---- aggregates ---- */
struct aggregation {
    struct state_ttl ttl; /* a hint, where FROM is one table */
    struct scope *scope;
    bool grouped;                 /* there is GROUP BY */
    bool inside;                  /* arguments of an aggregate are being bound */
    struct aggregate_call *calls; /* `order` holds keys of extension columns, see order_values */
    const struct expression *const **order_values;
    uint32_t call_count, call_capacity, order_capacity;
    const struct expression **keys;
    const struct position **key_positions;
    uint32_t key_count, key_capacity, position_capacity;
    uint64_t *sets;
    uint32_t set_count, set_capacity;
    bool has_sets, uses_grouping;
    /* legacy window */
    const struct ast_expression *window_call;
    struct window_spec window;
    const struct expression *window_time;
    enum window_column *window_columns;
    uint32_t window_column_count, window_column_capacity;
};
enum status bind_aggregate(struct binder *binder, struct scope *scope, const struct ast_expression *ast,
                           const struct aggregate_function *function, const struct expression **expression, struct error *err);
enum status bind_grouping(struct binder *binder, struct scope *scope, const struct ast_expression *ast,
                          const struct expression **expression, struct error *err);
enum status bind_groups(struct binder *binder, struct aggregation *aggregation, const struct ast_query *query, struct error *err);
bool aggregation_is_used(const struct aggregation *aggregation);
/* Builds the AGGREGATE over `relation`. */
enum status aggregation_build(struct binder *binder, struct aggregation *aggregation, struct relation **relation, struct error *err);
/* An expression over the FROM columns becomes one over the AGGREGATE's; NOT_GROUPED for columns that are no keys. */
enum status aggregation_rewrite(struct binder *binder, const struct aggregation *aggregation, const struct expression **expression,
                                struct error *err);
enum status aggregation_rewrite_references(struct binder *binder, const struct aggregation *aggregation, struct error *err);
/* Types of a call of an aggregate function; args may be coerced. */
enum status bind_aggregate_type(struct binder *binder, const struct aggregate_function *function, const struct position *at,
                                const struct expression **args, uint32_t arg_count, bool distinct, bool ignore_nulls,
                                const struct type **type, struct error *err);

/* ---- legacy windows, window functions ---- */
bool legacy_window_is(const struct ast_expression *ast);
bool legacy_auxiliary_is(const struct ast_expression *ast);
enum status bind_legacy_window(struct binder *binder, struct aggregation *aggregation, const struct ast_expression *ast, struct error *err);
enum status bind_legacy_auxiliary(struct binder *binder, struct scope *scope, const struct ast_expression *ast,
                                  const struct expression **expression, struct error *err);
enum status bind_window_function(struct binder *binder, struct scope *outer, const struct ast_table *ast, struct relation **relation,
                                 struct error *err);

/* ---- OVER ---- */
struct over_item {
    struct over_call call;
    const struct expression **partition;
    const struct expression **order; /* values; `order_keys` says how */
    struct sort_key *order_keys;
    uint32_t partition_count, order_count;
    bool approximate; /* as in over_relation */
    enum frame_unit unit;
    int64_t preceding, following;
    bool default_frame;
    uint32_t output; /* the column that holds the result, once built */
};
struct over_calls {
    struct over_item *items;
    uint32_t count, capacity;
    const struct ast_named_window *windows; /* WINDOW w AS (...) */
    uint32_t window_count;
    bool inside;
};
enum status bind_over(struct binder *binder, struct scope *scope, const struct ast_expression *ast, const struct expression **expression,
                      struct error *err);
bool over_function_is(const char *name); /* ROW_NUMBER and the like: only with OVER */
enum status over_rewrite_arguments(struct binder *binder, const struct aggregation *aggregation, struct over_calls *over,
                                   struct error *err);
enum status over_build(struct binder *binder, struct over_calls *over, struct relation **relation, struct error *err);
enum status over_rewrite(struct binder *binder, const struct over_calls *over, const struct expression **expression, struct error *err);

/* ---- queries ---- */
/* `outer`: the scope that correlated names of the query mean; NULL: none. */
enum status bind_whole_query(struct binder *binder, struct scope *outer, const struct ast_query *query, struct relation **relation,
                             struct error *err);
enum status bind_select(struct binder *binder, struct scope *outer, const struct ast_query *query, struct relation **relation,
                        struct error *err);
enum status bind_values(struct binder *binder, struct scope *outer, const struct ast_query *query, struct relation **relation,
                        struct error *err);
enum status bind_set_operation(struct binder *binder, struct scope *outer, const struct ast_query *query, struct relation **relation,
                               struct error *err);
enum status bind_distinct(struct binder *binder, struct relation **relation, struct error *err);
/* ORDER BY over a relation's own columns, OFFSET, FETCH. */
enum status bind_output_order(struct binder *binder, const struct ast_query *query, struct relation **relation, struct error *err);
enum status bind_limits(struct binder *binder, const struct ast_query *query, struct sort_relation *sort, struct error *err);
/* Casts the columns to the types (by a PROJECT where one differs). */
enum status bind_cast_columns(struct binder *binder, const struct type *const *types, struct relation **relation, struct error *err);
enum status bind_one_row(struct binder *binder, struct relation **relation, struct error *err);
/* A SELECT or a join has so many columns. Views that take all columns of others twice double them at each level. */
enum status bind_check_columns(uint64_t count, struct error *err);
enum status bind_unique_names(struct binder *binder, struct relation *relation, struct error *err);

/* ---- FROM ---- */
struct from {
    struct relation *relation;
    struct scope_column *columns;
    uint32_t count;
};
enum status bind_from(struct binder *binder, struct scope *outer, const struct ast_table *ast, struct from *from, struct error *err);
enum status bind_join(struct binder *binder, struct scope *outer, const struct ast_table *ast, struct from *from, struct error *err);
enum status bind_lateral_function(struct binder *binder, struct scope *scope, struct from *left, const struct ast_table *ast,
                                  bool outer_join, struct from *from, struct error *err);
enum status from_name_columns(struct binder *binder, const struct ast_table *ast, struct from *from, struct error *err);
enum status bind_named_table(struct binder *binder, const struct ast_name *name, const struct ast_hint *hints, uint32_t hint_count,
                             struct relation **relation, struct error *err);
/* Keeps the table until the statement ends, also if it is dropped meanwhile. */
enum status bind_hold_table(struct binder *binder, struct catalog_table *table, struct error *err);
enum status bind_scan(struct binder *binder, const struct catalog_table *table, struct relation **relation, struct error *err);

/* ---- hints (binder_hints.c) ---- */
struct block_hints;
/* Refuses names that are no hints; STATE_TTL where it is not `of_select`. */
enum status bind_check_hints(const struct ast_hint *hints, uint32_t count, bool of_select, struct error *err);
/* STATE_TTL of a SELECT: NULL, there is none. */
enum status bind_block_hints(struct binder *binder, const struct ast_query *query, struct block_hints **hints, struct error *err);
/* A table of the FROM of the SELECT at hand. */
void bind_note_table(struct binder *binder, const struct ast_table *table);
/* What the hints say about an input that is this table; of a join they say nothing. */
struct state_ttl bind_table_ttl(const struct binder *binder, const struct ast_table *table);
/* Refuses names that no table had. */
enum status bind_check_hinted(const struct block_hints *hints, struct error *err);

/* ---- definitions ---- */
enum status bind_binder(const struct bind_context *context, struct binder *binder);
/* An entry of the catalog in an arena of its own, with its name and comment. */
enum status bind_table_open(struct budget *budget, const struct ast_name *name, bool temporary, const char *comment,
                            struct catalog_table **table, struct error *err);

#endif
