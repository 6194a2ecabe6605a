/* sql/relation.h: a bound query: relational algebra, typed and resolved. The middle one of the three trees.
 *
 * For         what the binder makes from the syntax tree, rules in plan/ rewrite, and plan/ turns into a circuit.
 * Shape       A tree (a DAG where a view or a CTE is read twice: the same pointer). Each relation has a schema; columns are
 *             referred to by index. The output columns of each kind are stated at its entry below.
 * Correlation Inside the relation of an EXPRESSION_SUBQUERY a column of an enclosing query is EXPRESSION_OUTER. depth 1: a column of
 *             the input of the relation whose expression holds the subquery (of a join's condition: left then right columns);
 *             depth 2: of the one that encloses that, and so on. The right input of a join with `lateral` is one level deeper in
 *             the same way: depth 1 there is a column of the join's left input. Rules remove both.
 * Ownership   The statement's arena. Nodes are made once; rules make new ones.
 */
#ifndef SPATE_SQL_RELATION_H
#define SPATE_SQL_RELATION_H

#include "data/order.h"
#include "data/projection.h"
#include "functions/expression.h"

struct catalog_table;
struct aggregate_function;

enum time_attribute { TIME_NONE, TIME_ROWTIME, TIME_PROCTIME };

struct column {
    const char *name;
    const struct type *type;
    enum time_attribute time; /* ROWTIME: carries the event time that the watermark is about */
};
struct schema {
    uint32_t count;
    const struct column *columns;
};

enum relation_kind {
    RELATION_SCAN,      /* table; output: `schema` (physical and metadata columns in `scan.columns`, then nothing) */
    RELATION_VALUES,    /* rows of constant expressions */
    RELATION_FILTER,    /* condition over the input; output: the input's columns */
    RELATION_PROJECT,   /* expressions; output: one column each */
    RELATION_WATERMARK, /* event time column and watermark expression of a table; output: the input's columns, `column` ROWTIME */
    RELATION_AGGREGATE, /* output: the group keys, then the aggregate calls, then (legacy window) window columns */
    RELATION_WINDOW,    /* a windowing table function; output: the input's columns, window_start, window_end, window_time */
    RELATION_JOIN,      /* output: left columns, right columns (left only for SEMI, ANTI) */
    RELATION_LATERAL,   /* left, and a table function of each left row (UNNEST); output: left columns, function columns */
    RELATION_OVER,      /* output: the input's columns, then one per call */
    RELATION_SORT,      /* keys, offset, fetch (each optional); output: the input's columns */
    RELATION_UNION,     /* ALL: inputs concatenated; other set operations are rewritten by the binder to aggregates/joins */
    RELATION_INTERSECT, /* two inputs, all or distinct */
    RELATION_EXCEPT,
};

struct scan_relation {
    const struct catalog_table *table;
    const uint32_t *columns; /* indices into the table's columns (physical and metadata ones), in output order: pruning shortens it */
    uint32_t column_count;
    const struct projection *projections; /* per column: which nested fields are read; NULL: all whole */
};

struct aggregate_call {
    const struct aggregate_function *function;
    const struct expression *const *args; /* over the input's columns */
    uint32_t arg_count;
    bool distinct, ignore_nulls;
    const struct expression *filter; /* NULL: none */
    const struct sort_key *order;    /* WITHIN GROUP / ORDER BY inside the call; NULL: none */
    uint32_t order_count;
    const struct type *type;
    uint32_t line, column;
};

enum window_kind { WINDOW_TUMBLE, WINDOW_HOP, WINDOW_CUMULATE, WINDOW_SESSION };
struct window_spec {
    enum window_kind kind;
    uint32_t time_column; /* of the input */
    bool processing_time;
    bool zoned;                           /* set by the planner: the time column is a TIMESTAMP_LTZ, windows are local times of instants */
    int64_t size_us, slide_us, offset_us; /* SESSION: size_us is the gap; CUMULATE: slide_us is the step */
    const uint32_t *partition;            /* SESSION ... PARTITION BY */
    uint32_t partition_count;
};
/* Legacy GROUP BY TUMBLE(...): auxiliary columns after the aggregate calls. */
enum window_column { WINDOW_COLUMN_START, WINDOW_COLUMN_END, WINDOW_COLUMN_ROWTIME, WINDOW_COLUMN_PROCTIME };

/* How long state is kept that is not written, as the hint STATE_TTL says. */
struct state_ttl {
    bool given; /* false: as table.exec.state.ttl says */
    int64_t us; /* 0: for ever */
};

struct aggregate_relation {
    const uint32_t *keys; /* input columns */
    uint32_t key_count;
    const struct aggregate_call *calls;
    uint32_t call_count;
    /* GROUPING SETS: per set, which keys are in it (bit i: keys[i]); NULL: one set with all. Keys not in a set are NULL.
     * With sets the output has one more column after the calls: INT grouping id (bit k-1-i set: keys[i] NOT in the set). */
    const uint64_t *sets;
    uint32_t set_count;
    const struct window_spec *window; /* legacy group window; NULL: none */
    const enum window_column *window_columns;
    uint32_t window_column_count;
    struct state_ttl ttl;
};

enum join_kind { JOIN_INNER, JOIN_LEFT, JOIN_RIGHT, JOIN_FULL, JOIN_SEMI, JOIN_ANTI };
struct join_relation {
    enum join_kind kind;
    const struct expression *condition; /* over left then right columns; NULL: TRUE */
    bool null_aware;                    /* ANTI from NOT IN: a NULL on either side decides (see plan/rules) */
    bool temporal;                      /* FOR SYSTEM_TIME AS OF: right is a versioned or lookup table */
    uint32_t time_column;               /* temporal: the left column named in AS OF */
    bool lateral;            /* INNER, LEFT: the right input reads columns of the left one (EXPRESSION_OUTER); removed by rules */
    bool single;             /* LEFT from a scalar subquery: more than one match of a left row is an error (CARDINALITY) */
    struct state_ttl ttl[2]; /* of the left, the right */
};

enum frame_unit { FRAME_ROWS, FRAME_RANGE };
struct over_call {
    const struct aggregate_function *aggregate; /* NULL: a window function by name: ROW_NUMBER, RANK, DENSE_RANK, LAG, LEAD, NTILE, ... */
    const char *name;
    const struct expression *const *args;
    uint32_t arg_count;
    bool distinct, ignore_nulls;
    const struct expression *filter;
    const struct type *type;
    uint32_t line, column;
};
#define FRAME_UNBOUNDED INT64_MAX
struct over_relation {
    const uint32_t *partition;
    uint32_t partition_count;
    const struct sort_key *order;
    uint32_t order_count;
    enum frame_unit unit;
    /* Rows; of RANGE what lies between two keys, in the unit in which they are stored (us, days, the last digit of a DECIMAL), or, with
     * `approximate`, the bits of a double. FRAME_UNBOUNDED; 0: current row. Negative: on the other side of it. */
    int64_t preceding, following;
    bool approximate;
    bool default_frame;
    const struct over_call *calls;
    uint32_t call_count;
};

struct sort_relation {
    const struct sort_key *keys;
    uint32_t key_count;
    int64_t offset; /* 0 */
    int64_t fetch;  /* -1: no limit */
};

struct relation {
    enum relation_kind kind;
    struct schema schema;
    struct relation **inputs;
    uint32_t input_count;
    union {
        struct scan_relation scan;
        struct {
            const struct expression *const *const *rows;
            uint32_t row_count;
        } values; /* rows[r][c] */
        struct {
            const struct expression *condition;
        } filter;
        struct {
            const struct expression *const *expressions;
        } project; /* schema.count of them */
        struct {
            uint32_t column;
            const struct expression *expression;
        } watermark; /* expression: the candidate, over the input */
        struct aggregate_relation aggregate;
        struct window_spec window;
        struct join_relation join;
        struct {
            const char *function;
            const struct expression *const *args;
            uint32_t arg_count;
            bool outer, with_ordinality;
        } lateral;
        struct over_relation over;
        struct sort_relation sort;
        struct {
            bool all;
        } set;
    };
    uint32_t line, column;
};

/* A node over `inputs` with a schema of `column_count` columns to be filled in; NULL: no room. */
struct relation *relation_make(struct arena *arena, enum relation_kind kind, struct relation *const *inputs, uint32_t input_count,
                               uint32_t column_count);
/* The same with the first input's schema (FILTER, SORT, ...). */
struct relation *relation_make_over(struct arena *arena, enum relation_kind kind, struct relation *input);
/* A PROJECT; names[i], times[i] (NULL: none is one). */
struct relation *relation_make_project(struct arena *arena, struct relation *input, const struct expression *const *expressions,
                                       const char *const *names, const enum time_attribute *times, uint32_t count);
/* The mutable columns of a node under construction. */
struct column *relation_columns(struct relation *relation);
/* The names of a schema's columns, for messages; NULL: no room. */
const char **schema_names(struct arena *arena, const struct schema *schema);
/* The names of the columns that expressions of this relation see (its inputs'), for expression_print; NULL: no room. */
const char *const *relation_input_names(struct arena *arena, const struct relation *relation);

/* What a column is of a windowing table function below: kept by projections, filters, joins, grouping by it. */
enum window_role { WINDOW_ROLE_NONE, WINDOW_ROLE_START, WINDOW_ROLE_END, WINDOW_ROLE_TIME };
enum window_role relation_window_role(const struct relation *relation, uint32_t column, const struct relation **window);

/* Indented text, one relation a line, for EXPLAIN and tests. */
void relations_print(struct relation *const *relations, uint32_t count, struct text_builder *out);

#endif
