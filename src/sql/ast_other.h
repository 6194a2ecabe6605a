/* sql/ast_other.h: the trees of statements of kind AST_STATEMENT_OTHER.
 *
 * For         `struct ast_statement.other` points to one of these; which one is said by `words`: ALTER ...: struct ast_alter;
 *             CREATE ...: struct ast_create_object; UPDATE, DELETE, TRUNCATE TABLE: struct ast_change; ... PLAN: struct ast_plan;
 *             REPLACE TABLE: struct ast_create_table;
 *             the rest: struct ast_command.
 * Ownership   The statement's arena; immutable once parsed.
 */
#ifndef SPATE_SQL_AST_OTHER_H
#define SPATE_SQL_AST_OTHER_H

#include "sql/ast.h"

/* ---- ALTER ---- */
enum ast_alter_kind {
    AST_ALTER_RENAME,        /* RENAME TO new_name */
    AST_ALTER_RENAME_COLUMN, /* RENAME column TO new_name */
    AST_ALTER_SET,           /* SET (options) */
    AST_ALTER_RESET,         /* RESET (keys): the options' keys */
    AST_ALTER_COMMENT,       /* COMMENT 'text' */
    AST_ALTER_ADD,           /* ADD columns, key, watermark, distribution */
    AST_ALTER_MODIFY,        /* MODIFY the same */
    AST_ALTER_ADD_PARTITION, /* ADD PARTITION (k = v): partition, options */
    AST_ALTER_DROP_COLUMNS,  /* DROP (drops) */
    AST_ALTER_DROP_PRIMARY_KEY,
    AST_ALTER_DROP_CONSTRAINT, /* column: the constraint's name */
    AST_ALTER_DROP_WATERMARK,
    AST_ALTER_DROP_DISTRIBUTION,
    AST_ALTER_DROP_PARTITION, /* partition */
    AST_ALTER_AS,             /* AS query */
    AST_ALTER_SUSPEND,
    AST_ALTER_RESUME,         /* options */
    AST_ALTER_REFRESH,        /* partition */
    AST_ALTER_FRESHNESS,      /* SET FRESHNESS = freshness */
    AST_ALTER_REFRESH_MODE,   /* SET REFRESH_MODE = refresh_mode */
    AST_ALTER_FUNCTION_CLASS, /* AS class_name [LANGUAGE language] */
};
struct ast_alter {
    enum ast_alter_kind kind;
    struct position at;
    struct ast_name name;
    bool temporary, system, if_exists, part_if_exists; /* part: IF [NOT] EXISTS of the column or partition */
    struct ast_name new_name, column;
    const struct ast_option *options; /* RESET: values NULL */
    uint32_t option_count;
    const char *comment, *class_name, *language, *refresh_mode;
    /* ADD, MODIFY */
    const struct ast_column_def *columns;
    const struct ast_column_place *places; /* one per column */
    uint32_t column_count;
    const char *const *primary_key;
    uint32_t primary_key_count;
    const char *constraint_name;
    bool primary_key_enforced_missing;
    const char *watermark_column; /* NULL: none */
    const struct ast_expression *watermark;
    struct text watermark_sql;
    struct position watermark_at;
    const struct ast_distribution *distribution; /* NULL: none */
    const struct ast_name *drops;
    uint32_t drop_count;
    const struct ast_option *partition;
    uint32_t partition_count;
    const struct ast_expression *freshness;
    const struct ast_query *query;
    struct text query_sql; /* as written */
};

/* ---- CREATE CATALOG, CONNECTION, DATABASE, FUNCTION, MATERIALIZED TABLE, MODEL ---- */
struct ast_create_object {
    struct position at;
    struct ast_name name;
    bool or_replace, or_alter, temporary, system, if_not_exists;
    const char *comment;
    const struct ast_option *options;
    uint32_t option_count;
    const char *class_name, *language; /* FUNCTION */
    const char *const *jars;           /* FUNCTION ... USING JAR */
    uint32_t jar_count;
    const struct ast_column_def *columns; /* MATERIALIZED TABLE; MODEL ... INPUT */
    uint32_t column_count;
    const char *const *primary_key; /* MATERIALIZED TABLE */
    uint32_t primary_key_count;
    const struct ast_column_def *outputs; /* MODEL ... OUTPUT */
    uint32_t output_count;
    const struct ast_distribution *distribution;
    const char *const *partition_by;
    uint32_t partition_count;
    const struct ast_expression *freshness; /* NULL: none */
    const char *refresh_mode;               /* "FULL", "CONTINUOUS"; NULL: none */
    const struct ast_query *query;
};

/* ---- UPDATE, DELETE, TRUNCATE TABLE ---- */
struct ast_assignment {
    struct ast_name column;
    const struct ast_expression *value;
};
struct ast_change {
    struct position at;
    struct ast_name table;
    const char *alias;
    const struct ast_assignment *assignments; /* UPDATE */
    uint32_t assignment_count;
    const struct ast_expression *where; /* NULL: all rows */
};

/* ---- COMPILE PLAN, COMPILE AND EXECUTE PLAN, EXECUTE PLAN ---- */
struct ast_plan {
    struct position at;
    const char *path;
    bool if_not_exists;
    const struct ast_statement *statement; /* COMPILE: an INSERT or a statement set */
};

/* ---- ADD JAR, ANALYZE TABLE, CALL, LOAD MODULE, REMOVE JAR, STOP JOB, UNLOAD MODULE ---- */
struct ast_command {
    struct position at;
    const char *text;     /* JAR: the path; JOB: the id */
    struct ast_name name; /* MODULE, TABLE */
    const struct ast_option *options;
    uint32_t option_count;
    const struct ast_expression *call; /* CALL */
    bool with_savepoint, with_drain;   /* STOP JOB */
    bool all_columns;                  /* ANALYZE TABLE */
    const char *const *columns;
    uint32_t column_count;
    const struct ast_option *partition;
    uint32_t partition_count;
};

#endif
