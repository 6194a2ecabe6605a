/* functions/expression.h: a bound scalar expression: typed, resolved, immutable.
 *
 * For         what the binder makes, the rules rewrite, and programs run.
 * Shape       A tree (a DAG where subtrees are shared). Columns are indices into the input's columns: for a join, the left
 *             side's columns come first. Nodes are never changed in place: rewrites make new nodes.
 * Ownership   Everything lives in the statement's arena.
 * Invariants  `type` is the exact result type. Arguments of a CALL already have the types its kernel wants.
 */
#ifndef SPATE_FUNCTIONS_EXPRESSION_H
#define SPATE_FUNCTIONS_EXPRESSION_H

#include "data/vector.h"

struct function;
struct kernel;
struct relation; /* sql/relation.h: only carried here */

enum expression_kind {
    EXPRESSION_COLUMN,   /* index */
    EXPRESSION_OUTER,    /* a column of an enclosing query: depth >= 1 levels out, index; removed by decorrelation */
    EXPRESSION_CONSTANT, /* constant: one row */
    EXPRESSION_CALL,     /* function, kernel, args */
    EXPRESSION_CAST,     /* args[0] to type; try_cast */
    EXPRESSION_CASE,     /* args: condition, value, condition, value, ..., else; lazy */
    EXPRESSION_AND,      /* args, two or more; lazy: a row decided by one is not evaluated by the next */
    EXPRESSION_OR,
    EXPRESSION_COALESCE, /* args; lazy: the next one only for rows still NULL */
    EXPRESSION_FIELD,    /* field `index` of the ROW args[0]; NULL of a NULL row */
    EXPRESSION_SUBQUERY, /* subquery; removed by rules */
};

enum subquery_kind {
    SUBQUERY_SCALAR, /* its one column of its one row; NULL when there is none, an error when more */
    SUBQUERY_EXISTS,
    SUBQUERY_IN, /* args (left sides) compared with its columns; three-valued */
};

struct expression {
    enum expression_kind kind;
    const struct type *type;
    uint32_t index, depth;
    uint32_t arg_count;
    const struct expression *const *args;
    const struct vector *constant;
    const struct function *function;
    const struct kernel *kernel;
    bool try_cast;
    enum subquery_kind subquery;
    struct relation *relation;
    uint32_t line, column; /* where it stands in the SQL text; 0: made by a rule */
    bool fragment;         /* the text is one that the catalog keeps, not the statement's */
};

/* Makers: NULL when the arena has no room. */
const struct expression *expression_column(struct arena *arena, uint32_t index, const struct type *type);
const struct expression *expression_constant(struct arena *arena, const struct vector *one_row);
const struct expression *expression_null(struct arena *arena, const struct type *type);
const struct expression *expression_boolean(struct arena *arena, bool value);
const struct expression *expression_int32(struct arena *arena, int32_t value);
const struct expression *expression_int64(struct arena *arena, int64_t value);
const struct expression *expression_string(struct arena *arena, struct text text); /* CHAR(n) NOT NULL */
const struct expression *expression_make(struct arena *arena, enum expression_kind kind, const struct type *type,
                                         const struct expression *const *args, uint32_t arg_count);
/* A CAST to `type`, or the expression itself when it already has it (nullability aside). */
const struct expression *expression_cast(struct arena *arena, const struct expression *value, const struct type *type, bool try_cast);
/* AND of two conditions, either may be NULL (then the other). */
const struct expression *expression_and(struct arena *arena, const struct expression *left, const struct expression *right);

bool expression_equal(const struct expression *left, const struct expression *right); /* structurally; volatile calls never */
uint64_t expression_hash(const struct expression *expression);
bool expression_is_constant(const struct expression *expression); /* no column, no volatile or dynamic call */
bool expression_is_deterministic(const struct expression *expression);
bool expression_can_fail(const struct expression *expression); /* for some row, at run time */
/* Calls `visit` for each node, parents first; false from it skips the children. */
void expression_walk(const struct expression *expression, bool (*visit)(const struct expression *node, void *context), void *context);
/* A copy with every COLUMN replaced by what `map` returns for it (NULL: keep). */
const struct expression *expression_replace_columns(struct arena *arena, const struct expression *expression,
                                                    const struct expression *(*map)(const struct expression *column, void *context),
                                                    void *context);
/* SQL-like text, columns by `names` (NULL: $0, $1, ...). For EXPLAIN and errors. */
void expression_print(const struct expression *expression, const char *const *names, struct text_builder *out);

#endif
