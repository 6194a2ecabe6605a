/* sql/ast_match.h: the syntax tree of MATCH_RECOGNIZE.
 *
 * For         the parser, the binder, sql/unparse.h. `struct ast_table` of kind AST_TABLE_MATCH points here; the input is its `left`.
 * Ownership   The statement's arena; immutable once parsed.
 */
#ifndef SPATE_SQL_AST_MATCH_H
#define SPATE_SQL_AST_MATCH_H

#include "sql/ast.h"

enum ast_pattern_kind {
    AST_PATTERN_VARIABLE,    /* name */
    AST_PATTERN_SEQUENCE,    /* children: one after the other */
    AST_PATTERN_ALTERNATION, /* children: one of them */
    AST_PATTERN_REPEAT,      /* children[0] minimum to maximum times */
    AST_PATTERN_EXCLUSION,   /* {- children[0] -} */
    AST_PATTERN_PERMUTE,     /* PERMUTE(children) */
    AST_PATTERN_START,       /* ^ */
    AST_PATTERN_END,         /* $ */
};
struct ast_pattern {
    enum ast_pattern_kind kind;
    struct position at;
    const char *name;
    const struct ast_pattern *const *children;
    uint32_t child_count;
    int64_t minimum, maximum; /* REPEAT; maximum -1: no limit */
    bool reluctant;           /* REPEAT: as few as possible */
};

struct ast_measure {
    const struct ast_expression *expression;
    const char *alias;
};
struct ast_define { /* variable AS condition */
    struct position at;
    const char *variable;
    const struct ast_expression *condition;
};
struct ast_subset { /* name = (a, b) */
    const char *name;
    const char *const *variables;
    uint32_t count;
};
enum ast_match_rows { AST_ROWS_DEFAULT, AST_ONE_ROW, AST_ALL_ROWS };
enum ast_match_skip { AST_SKIP_DEFAULT, AST_SKIP_TO_NEXT_ROW, AST_SKIP_PAST_LAST_ROW, AST_SKIP_TO_FIRST, AST_SKIP_TO_LAST, AST_SKIP_TO };

struct ast_match {
    struct position at;
    const struct ast_expression *const *partition;
    uint32_t partition_count;
    const struct ast_order_item *order;
    uint32_t order_count;
    const struct ast_measure *measures;
    uint32_t measure_count;
    enum ast_match_rows rows;
    enum ast_match_skip skip;
    const char *skip_variable; /* SKIP_TO_FIRST, SKIP_TO_LAST, SKIP_TO */
    const struct ast_pattern *pattern;
    bool strict_start, strict_end;       /* ^ pattern $ */
    const struct ast_expression *within; /* NULL: none */
    const struct ast_subset *subsets;
    uint32_t subset_count;
    const struct ast_define *defines;
    uint32_t define_count;
};

#endif
