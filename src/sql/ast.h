/* sql/ast.h: the syntax tree: what was written, with positions. The first of the three trees.
 *
 * For         the parser makes it, the binder reads it, sql/unparse.h prints it as canonical SQL.
 * Ownership   The statement's arena; immutable once parsed. Names and texts are NUL-terminated and unescaped.
 * Invariants  Every node has the position of its first token (line and column from 1, offset from 0) and the offset past its
 *             last one.
 */
#ifndef SPATE_SQL_AST_H
#define SPATE_SQL_AST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

struct position {
    uint32_t line, column, offset, end; /* end: offset past the last byte */
    bool fragment;                      /* of a text that the catalog keeps (a view, a computed column), not of the statement's */
};

/* A possibly qualified name: a.b.c */
struct ast_name {
    struct position at;
    uint32_t count;
    const char *const *parts;
    const struct position *part_positions;
};

/* ---- types ---- */
struct ast_type {
    struct position at;
    const char *name;         /* upper case, canonical: "INT", "VARCHAR", "STRING", "TIMESTAMP", "TIMESTAMP_LTZ", "DECIMAL", "ARRAY",
                                 "MAP", "MULTISET", "ROW", "INTERVAL_MONTH", "INTERVAL_DAY", "RAW", or a user's type name */
    int32_t precision, scale; /* -1: not given */
    bool nullable;
    const struct ast_type *const *children;
    uint32_t child_count;
    const char *const *field_names;      /* ROW, STRUCTURED */
    const char *const *field_comments;   /* entries NULL: none */
    const char *class_name, *serializer; /* RAW('class', 'serializer'); STRUCTURED<'class', ...> */
    const char *unit_from, *unit_to;     /* INTERVAL_*: as written, e.g. "DAY", "SECOND"; unit_to may be NULL */
    struct ast_name user_name;           /* a user's type; count 0: a type of SQL's */
};

/* ---- expressions ---- */
enum ast_expression_kind {
    AST_COLUMN, /* name: col, t.col, row.field, ... resolved by the binder */
    AST_STAR,   /* name.* or * (name.count == 0) */
    AST_NULL,
    AST_BOOLEAN, /* boolean; UNKNOWN is AST_NULL */
    AST_NUMBER,  /* text as written (digits, '.', exponent) */
    AST_STRING,  /* text (unescaped; may hold NUL: use length) */
    AST_BINARY,  /* X'..': text holds the bytes */
    AST_DATE,    /* DATE '..': text */
    AST_TIME,
    AST_TIMESTAMP,
    AST_INTERVAL,   /* text, unit_from, unit_to, negative, precision (leading), scale (fraction) */
    AST_CALL,       /* name (unquoted ones upper-cased in `function`), args, distinct, filter, within_group, over, ... */
    AST_OPERATOR,   /* operator text ("+", "=", "AND", "NOT", "||", "LIKE", "NOT LIKE", "IS NULL", "BETWEEN", ...), args */
    AST_CASE,       /* operand or NULL; args: when, then, when, then, ...; else_value or NULL */
    AST_CAST,       /* args[0], type; try_cast */
    AST_IN,         /* args[0] IN (args[1..]) or subquery; negated */
    AST_EXISTS,     /* subquery */
    AST_SUBQUERY,   /* scalar subquery */
    AST_QUANTIFIED, /* args[0] operator ANY/ALL (subquery): `operator`, all */
    AST_ROW,        /* ROW(...) or (a, b) */
    AST_ARRAY,      /* ARRAY[...] */
    AST_MAP,        /* MAP[k, v, ...] */
    AST_INDEX,      /* args[0][args[1]] */
    AST_FIELD,      /* args[0].field where args[0] is not a plain name */
    AST_DEFAULT,    /* DEFAULT */
    AST_NAMED_ARG,  /* name => args[0] */
    AST_DESCRIPTOR, /* DESCRIPTOR(columns): args are AST_COLUMN */
    AST_TABLE_ARG,  /* TABLE name [PARTITION BY (..)] [ORDER BY (..)] or a subquery, as an argument of a table function */
    AST_PERIOD,     /* for OVERLAPS, CONTAINS: (start, end) */
    AST_PARAMETER,  /* ? */
    AST_MULTISET,   /* MULTISET[...]; MULTISET(query), ARRAY(query) and MAP(query) are calls with a subquery */
    AST_MODEL_ARG,  /* MODEL name, as an argument of a table function */
    AST_NEXT_VALUE, /* NEXT VALUE FOR name, CURRENT VALUE FOR name (negated) */
};

struct ast_query;
struct ast_window;
struct ast_order_item;

struct ast_expression {
    enum ast_expression_kind kind;
    struct position at;
    struct ast_name name;
    const char *function; /* AST_CALL: upper-cased last part */
    const char *op;       /* AST_OPERATOR, AST_QUANTIFIED: canonical upper-case spelling */
    struct text text;
    bool boolean, negated, negative, try_cast, distinct, all, ignore_nulls, respect_nulls, star_argument /* COUNT(*) */;
    bool symmetric;                  /* BETWEEN SYMMETRIC */
    int32_t precision, scale;        /* AST_INTERVAL; -1: not given. AST_TIME*: none */
    const char *unit_from, *unit_to; /* AST_INTERVAL; and for EXTRACT/FLOOR/TIMESTAMPADD units: an AST_COLUMN-free argument, see below */
    const struct ast_expression *const *args;
    uint32_t arg_count;
    const struct ast_expression *operand, *else_value, *filter;
    const struct ast_type *type;
    const struct ast_query *subquery;
    const struct ast_window *over;             /* AST_CALL ... OVER (...) or OVER name */
    const struct ast_order_item *within_group; /* also ORDER BY inside the call */
    uint32_t within_group_count;
    const struct ast_expression *const *partition; /* AST_TABLE_ARG */
    uint32_t partition_count;
    const struct ast_order_item *order;
    uint32_t order_count;
    uint32_t height; /* of the tree from here down: at most SQL_DEPTH_MAX */
};
/* AND and OR take two or more args (a AND b AND c is one node); every other binary operator takes two, "BETWEEN" and "NOT BETWEEN"
 * three, "LIKE ... ESCAPE" three. "-" and "+" with one arg are signs. Postfix: "IS NULL", "IS NOT TRUE", "IS JSON ARRAY", ...
 * Special syntax becomes AST_CALL with `unit_from` set where a unit is named: EXTRACT(unit FROM x) -> EXTRACT, unit, x;
 * FLOOR/CEIL(x TO unit); TIMESTAMPADD(unit, n, x); TIMESTAMPDIFF(unit, a, b). POSITION(a IN b) -> POSITION a, b;
 * SUBSTRING(s FROM a FOR b) -> SUBSTRING s, a, b; TRIM([BOTH|LEADING|TRAILING] c FROM s) -> TRIM with unit_from
 * "BOTH"/"LEADING"/"TRAILING", args s, c; OVERLAY(s PLACING r FROM a FOR b) -> OVERLAY s, r, a, b.
 * TRANSLATE(x USING charset) has unit_from "USING" and the charset as an AST_COLUMN.
 * JSON functions' clauses become AST_NAMED_ARG arguments after the ordinary ones, with the clause's words in `text`: ON_EMPTY and
 * ON_ERROR ("NULL", "ERROR", "TRUE", "FALSE", "UNKNOWN", "EMPTY ARRAY", "EMPTY OBJECT", "EMPTY", or "DEFAULT" with the value as
 * args[0]), WRAPPER ("WITHOUT", "WITH CONDITIONAL", "WITH UNCONDITIONAL"), ON_NULL ("NULL", "ABSENT"), PASSING (the variable's name,
 * value in args[0]), RETURNING (with `type`). JSON_OBJECT's ordinary arguments are key, value, key, value, ...; a value that is
 * FORMAT JSON is a call named "FORMAT JSON". FINAL x and RUNNING x (MATCH_RECOGNIZE) are calls named so. */

/* ---- queries ---- */
struct ast_order_item {
    const struct ast_expression *expression;
    bool descending, nulls_given, nulls_first;
};

enum ast_frame_bound { AST_UNBOUNDED_PRECEDING, AST_PRECEDING, AST_CURRENT_ROW, AST_FOLLOWING, AST_UNBOUNDED_FOLLOWING };
struct ast_window { /* OVER (...) or WINDOW w AS (...) */
    struct position at;
    const char *name; /* OVER w, or the base window */
    const struct ast_expression *const *partition;
    uint32_t partition_count;
    const struct ast_order_item *order;
    uint32_t order_count;
    bool has_frame, rows; /* rows: ROWS, else RANGE */
    enum ast_frame_bound start, end;
    const struct ast_expression *start_value, *end_value;
};
struct ast_named_window {
    const char *name;
    const struct ast_window *window;
};

struct ast_hint { /* name(key = value, ...) or name(word, ...) */
    struct position at;
    const char *name;
    const char *const *keys; /* entries NULL for plain words */
    const char *const *values;
    uint32_t count;
};
struct ast_option { /* 'key' = 'value' */
    struct position at;
    const char *key, *value;
};

enum ast_table_kind {
    AST_TABLE_NAME,     /* name, hints (OPTIONS), system_time */
    AST_TABLE_SUBQUERY, /* query, lateral */
    AST_TABLE_FUNCTION, /* TABLE(f(...)) or LATERAL TABLE(f(...)): call; lateral */
    AST_TABLE_UNNEST,   /* UNNEST(expr) [WITH ORDINALITY]: call->args */
    AST_TABLE_JOIN,     /* left, right, join... */
    AST_TABLE_MATCH,    /* input MATCH_RECOGNIZE (...) */
    AST_TABLE_VALUES,   /* (VALUES ...): query */
};
enum ast_join_kind { AST_JOIN_INNER, AST_JOIN_LEFT, AST_JOIN_RIGHT, AST_JOIN_FULL, AST_JOIN_CROSS, AST_JOIN_SEMI, AST_JOIN_ANTI };
struct ast_match;   /* sql/ast_match.h */
struct ast_sample { /* TABLESAMPLE {BERNOULLI | SYSTEM} (percent) [REPEATABLE (seed)] */
    const char *method;
    const struct ast_expression *percent, *seed;
};
struct ast_table {
    enum ast_table_kind kind;
    struct position at;
    struct ast_name name;
    const char *alias;
    const char *const *column_aliases;
    uint32_t column_alias_count;
    const struct ast_query *query;
    const struct ast_expression *call;
    const struct ast_expression *system_time; /* FOR SYSTEM_TIME AS OF */
    const struct ast_hint *hints;
    uint32_t hint_count;
    bool lateral, with_ordinality, natural;
    enum ast_join_kind join;
    const struct ast_table *left, *right;
    const struct ast_expression *on;
    const char *const *using_columns;
    uint32_t using_count;
    const struct ast_match *match;
    const struct ast_sample *sample; /* TABLESAMPLE */
    uint32_t height;                 /* of the tree of joins: at most SQL_DEPTH_MAX */
};

struct ast_select_item {
    const struct ast_expression *expression;
    const char *alias;
};
enum ast_grouping_kind { AST_GROUP_PLAIN, AST_GROUP_SETS, AST_GROUP_CUBE, AST_GROUP_ROLLUP, AST_GROUP_EMPTY };
struct ast_grouping { /* one item of GROUP BY; sets hold items */
    enum ast_grouping_kind kind;
    struct position at;
    const struct ast_expression *const *expressions; /* PLAIN: one; CUBE, ROLLUP: each may be an AST_ROW */
    uint32_t expression_count;
    const struct ast_grouping *sets;
    uint32_t set_count;
};

enum ast_query_kind { AST_SELECT, AST_VALUES, AST_SET_OPERATION };
enum ast_set_operation { AST_UNION, AST_INTERSECT, AST_EXCEPT };
struct ast_cte {
    const char *name;
    struct position at;
    const char *const *columns;
    uint32_t column_count;
    const struct ast_query *query;
};
struct ast_query {
    enum ast_query_kind kind;
    struct position at;
    /* WITH */
    const struct ast_cte *ctes;
    uint32_t cte_count;
    /* SELECT */
    bool distinct;
    const struct ast_hint *hints;
    uint32_t hint_count;
    const struct ast_select_item *items;
    uint32_t item_count;
    const struct ast_table *from; /* NULL: no FROM. "a, b" is a CROSS join */
    const struct ast_expression *where, *having, *qualify;
    bool has_group_by;
    const struct ast_grouping *groups;
    uint32_t group_count;
    const struct ast_named_window *windows;
    uint32_t window_count;
    /* VALUES: rows[r] is an AST_ROW or a single expression */
    const struct ast_expression *const *rows;
    uint32_t row_count;
    /* set operation */
    enum ast_set_operation operation;
    bool all;
    const struct ast_query *left, *right;
    /* of the whole */
    const struct ast_order_item *order;
    uint32_t order_count;
    uint32_t height;                             /* of the tree of set operations: at most SQL_DEPTH_MAX */
    const struct ast_expression *offset, *fetch; /* LIMIT n, FETCH FIRST n; NULL: none */
};

/* ---- statements ---- */
/* kind, words as written, acts: ACT this version runs it; else it is refused by name when bound */
#define AST_STATEMENT_LIST(X)                                                                                                              \
    X(QUERY, "SELECT")                                                                                                                     \
    X(INSERT, "INSERT")                                                                                                                    \
    X(STATEMENT_SET, "EXECUTE STATEMENT SET")                                                                                              \
    X(EXPLAIN, "EXPLAIN")                                                                                                                  \
    X(CREATE_TABLE, "CREATE TABLE")                                                                                                        \
    X(CREATE_VIEW, "CREATE VIEW")                                                                                                          \
    X(DROP, "DROP")                                                                                                                        \
    X(SHOW, "SHOW")                                                                                                                        \
    X(DESCRIBE, "DESCRIBE")                                                                                                                \
    X(USE, "USE")                                                                                                                          \
    X(SET, "SET")                                                                                                                          \
    X(RESET, "RESET")                                                                                                                      \
    X(OTHER, "")
#define X(name, words) AST_STATEMENT_##name,
enum ast_statement_kind { AST_STATEMENT_LIST(X) AST_STATEMENT_COUNT };
#undef X

enum ast_column_kind { AST_COLUMN_PHYSICAL, AST_COLUMN_COMPUTED, AST_COLUMN_METADATA };
struct ast_column_def {
    enum ast_column_kind kind;
    struct position at;
    const char *name, *comment;
    const struct ast_type *type;             /* NULL for COMPUTED, and for CREATE TABLE (cols) AS SELECT */
    const struct ast_expression *expression; /* COMPUTED */
    struct text expression_sql;              /* as written */
    const char *metadata_key;                /* METADATA FROM 'key'; NULL: the column's name */
    bool is_virtual, primary_key;
};
struct ast_distribution { /* DISTRIBUTED [BY [HASH | RANGE] (columns)] [INTO n BUCKETS] */
    const char *kind;     /* NULL: not given */
    const char *const *columns;
    uint32_t column_count;
    int64_t buckets; /* -1: not given */
};
struct ast_column_place { /* ALTER TABLE ADD: FIRST, AFTER column; neither: at the end */
    bool first;
    struct ast_name after; /* count 0: none */
};
enum ast_like_option { AST_LIKE_DEFAULT, AST_LIKE_INCLUDING, AST_LIKE_EXCLUDING, AST_LIKE_OVERWRITING };
struct ast_create_table {
    struct ast_name name;
    bool temporary, if_not_exists, or_replace;
    const struct ast_column_def *columns;
    uint32_t column_count;
    const char *watermark_column; /* NULL: none; dotted for nested */
    const struct ast_expression *watermark;
    struct text watermark_sql;
    struct position watermark_at;
    const char *const *primary_key;
    uint32_t primary_key_count;
    const char *constraint_name;       /* CONSTRAINT name PRIMARY KEY; NULL: none */
    bool primary_key_enforced_missing; /* PRIMARY KEY without NOT ENFORCED */
    const char *const *partition_by;
    uint32_t partition_count;
    const char *const *distributed_by; /* DISTRIBUTED BY (...) INTO n BUCKETS */
    uint32_t distributed_count;
    const char *distribution; /* "HASH", "RANGE"; NULL: not given */
    int64_t buckets;          /* -1: not given */
    const char *comment;
    const struct ast_option *options;
    uint32_t option_count;
    bool has_like;
    struct ast_name like;
    /* ALL, CONSTRAINTS, DISTRIBUTION, GENERATED, METADATA, OPTIONS, PARTITIONS, WATERMARKS */
    enum ast_like_option like_options[8];
    const struct ast_query *as_query;
};
struct ast_create_view {
    struct ast_name name;
    bool temporary, if_not_exists, or_replace;
    const char *const *columns;
    const char *const *column_comments; /* entries NULL: none */
    uint32_t column_count;
    const char *comment;
    const struct ast_query *query;
    struct text query_sql; /* as written */
};
struct ast_insert {
    struct ast_name table;
    bool overwrite;
    const struct ast_option *partition; /* PARTITION (k = v): value as SQL literal text in partition_values */
    const struct ast_expression *const *partition_values;
    uint32_t partition_count;
    const struct ast_name *columns;
    uint32_t column_count;
    const struct ast_hint *hints;
    uint32_t hint_count;
    const struct ast_query *query;
    const char *on_conflict; /* ON CONFLICT DO: "ERROR", "NOTHING", "DEDUPLICATE"; NULL: not given */
};
struct ast_statement;
struct ast_drop {
    const char *what; /* "TABLE", "VIEW", "DATABASE", "CATALOG", "FUNCTION", ... */
    struct ast_name name;
    bool temporary, system, if_exists, cascade;
};
struct ast_show {
    const char *what;     /* "TABLES", "VIEWS", "COLUMNS", "FUNCTIONS", "CREATE TABLE", "CREATE VIEW", "DATABASES", "CATALOGS", "CURRENT
                             DATABASE", "JOBS", ... */
    struct ast_name name; /* FROM/IN x, or the object */
    bool full, negated, ignore_case /* ILIKE */, extended, user;
    const char *like;                   /* NULL: none */
    const struct ast_option *partition; /* PARTITIONS t PARTITION (k = v): values as SQL */
    uint32_t partition_count;
};
struct ast_statement {
    enum ast_statement_kind kind;
    struct position at;
    const char *words; /* OTHER: the statement's name, e.g. "CREATE MODEL", for the refusal */
    union {
        const struct ast_query *query;
        struct ast_insert insert;
        struct {
            const struct ast_statement *const *inserts;
            uint32_t count;
        } set;
        struct {
            const struct ast_statement *statement;
            bool changelog_mode, estimated_cost, execution_plan, plan_advice;
        } explain;
        struct ast_create_table create_table;
        struct ast_create_view create_view;
        struct ast_drop drop;
        struct ast_show show;
        struct {
            struct ast_name name;
            bool extended;
            const char *what;
        } describe; /* what: "TABLE", "CATALOG", "FUNCTION", ... */
        struct {
            const char *what;
            struct ast_name name;
        } use; /* "CATALOG", "DATABASE", "MODULES" */
        struct {
            const char *key, *value;
        } setting;         /* SET: key NULL lists all; RESET: key NULL resets all */
        const void *other; /* the typed tree of sql/ast_other.h, by `words` */
    };
};

#endif
