/* plan/physical.h: the physical plan: operators, their specs, their inputs.
 *
 * For         physical*.c make it from relations, build.c makes circuits of it, explain.c prints it.
 * Shape       A DAG of plan_nodes, listed in topological order in the plan. A node's columns are those of its relation; operators that need
 *             other ones (computed keys, arguments) have a calc before, and one after that drops what was added.
 * Ownership   The statement's arena. Sources, exchange groups and dead-letter queues are owned by the plan (plan_close).
 */
#ifndef SPATE_PLAN_PHYSICAL_H
#define SPATE_PLAN_PHYSICAL_H

#include "plan/plan.h"
#include "plan/properties.h"

/* operator, name in EXPLAIN, what it keeps */
#define PLAN_OPERATOR_LIST(X)                                                                                                              \
    X(SOURCE, "Source", NULL)                                                                                                              \
    X(DEAD_LETTERS, "DeadLetters", NULL)                                                                                                   \
    X(VALUES, "Values", NULL)                                                                                                              \
    X(WATERMARK, "Watermark", NULL)                                                                                                        \
    X(CALC, "Calc", NULL)                                                                                                                  \
    X(UNION, "Union", NULL)                                                                                                                \
    X(EXCHANGE, "Exchange", NULL)                                                                                                          \
    X(GROUP_AGGREGATE, "GroupAggregate", "one entry a group")                                                                              \
    X(EXPAND, "Expand", NULL)                                                                                                              \
    X(WINDOW_COLUMNS, "WindowTableFunction", NULL)                                                                                         \
    X(WINDOW_AGGREGATE, "WindowAggregate", "one entry a group and slice, until the watermark passes")                                      \
    X(SESSION_WINDOW, "SessionWindow", "open sessions a key")                                                                              \
    X(JOIN, "Join", "both sides")                                                                                                          \
    X(INTERVAL_JOIN, "IntervalJoin", "both sides, until the watermark passes")                                                             \
    X(WINDOW_JOIN, "WindowJoin", "both sides, until the watermark passes")                                                                 \
    X(LOOKUP_JOIN, "LookupJoin", "the right side")                                                                                         \
    X(TEMPORAL_JOIN, "TemporalJoin", "versions of the right side, waiting left rows")                                                      \
    X(TOP_N, "TopN", "rows a partition")                                                                                                   \
    X(DEDUPLICATE, "Deduplicate", "one row a key")                                                                                         \
    X(OVER, "Over", "rows a partition")                                                                                                    \
    X(SORT, "Sort", "all rows")                                                                                                            \
    X(LIMIT, "Limit", "rows up to the limit")                                                                                              \
    X(SET, "SetOperation", "counts a row")                                                                                                 \
    X(UNNEST, "Unnest", NULL)                                                                                                              \
    X(PROGRAM, "Program", "its own tables, and timers")                                                                                    \
    X(PROGRAM_OUTPUT, "ProgramOutput", NULL)                                                                                               \
    X(SINK, "Sink", NULL)                                                                                                                  \
    X(RESULT, "Result", NULL)
#define X(name, text, state) PLAN_##name,
enum plan_operator { PLAN_OPERATOR_LIST(X) PLAN_OPERATOR_COUNT };
#undef X

struct plan_source {
    struct source_spec spec;
    const struct catalog_table *table;
    uint32_t line, column; /* where the statement names it; 0: not known */
    struct source_counters counters;
    struct dead_letter *dead_letter; /* NULL: another error policy */
};

struct plan_node {
    enum plan_operator operator;
    uint32_t id;
    bool shared; /* its relation is read more than once: calcs above are not merged into it */
    struct plan_node **inputs;
    uint32_t input_count, consumers;
    bool lossy; /* a time-to-live is set here or below */
    const struct schema *schema;
    struct properties properties;
    struct node **running;    /* by worker; set by plan_build */
    const char *table;        /* SOURCE, WATERMARK, SINK */
    uint64_t meaning, exact;  /* meaning.c: of its state, and with the filters below it */
    struct plan_node *source; /* WATERMARK: the source below, for idle partitions */
    union {
        struct plan_source *read;
        struct dead_letter_spec dead_letter;
        struct values_spec values;
        struct watermark_spec watermark;
        struct calc_spec calc;
        struct exchange_spec exchange;
        struct group_aggregate_spec group_aggregate;
        struct expand_spec expand;
        struct window_columns_spec window_columns;
        struct window_aggregate_spec window_aggregate;
        struct session_window_spec session;
        struct join_spec join;
        struct interval_join_spec interval_join;
        struct window_join_spec window_join;
        struct lookup_join_spec lookup_join;
        struct temporal_join_spec temporal_join;
        struct top_n_spec top_n;
        struct deduplicate_spec deduplicate;
        struct over_spec over;
        struct sort_spec sort;
        struct limit_spec limit;
        struct set_spec set;
        struct unnest_spec unnest;
        struct program_spec program;
        struct program_output_spec program_output;
        struct sink_spec sink;
        struct result_spec result;
    };
};

/* A table that records which cannot be read go to. */
struct letter_route {
    const struct catalog_table *table;
    struct sink_context *sink;
    struct dead_letter *queue;
    const char *readers; /* names of the tables that they come from */
};

struct plan {
    const struct plan_context *context;
    struct plan_context context_copy;
    struct arena *arena;
    struct plan_node **nodes; /* topological; after planning only those that reach an output */
    uint32_t node_count, node_capacity;
    struct plan_node **outputs;
    uint32_t output_count;
    bool bounded, insert_only, ordered;
    const struct schema *schema; /* of a query */
    struct exchange_group **groups;
    uint32_t group_count, group_capacity;
    struct source **sources;
    uint32_t source_count, source_capacity;
    struct letter_route *routes;
    uint32_t route_count, route_capacity;
    const char *before, *after; /* relation trees before and after the rules */
};

struct table_options; /* connectors/table_options.h */
struct planner {
    struct plan *plan;
    struct arena *arena;
    const struct plan_context *context;
    struct pointer_map memo;         /* relations to plan nodes */
    struct pointer_map parents;      /* how often a relation is read */
    const struct relation *top_sort; /* of a query: its order is that of the result; NULL: none */
    bool watermarks_read;            /* CURRENT_WATERMARK is used somewhere */
};

const char *plan_operator_name(enum plan_operator op);
const char *plan_operator_state(enum plan_operator op);

/* plan.c: the steps of making a plan, around what is made of its roots. */
enum status plan_start(const struct plan_context *context, struct plan **plan, struct planner *planner, struct error *err);
enum status plan_rewrite_all(struct planner *planner, struct relation **roots, uint32_t count, bool keeps_order, struct error *err);
/* Drops nodes that were merged into others, and gives the rest a place per worker. */
enum status plan_finish(struct planner *planner, struct error *err);

/* physical.c */
enum status plan_relation(struct planner *planner, struct relation *relation, struct plan_node **node, struct error *err);
enum status plan_add(struct planner *planner, enum plan_operator op, struct plan_node *const *inputs, uint32_t input_count,
                     const struct schema *schema, struct plan_node **node, struct error *err);
struct input_spec plan_input(const struct plan_node *node);
/* The time-to-live of a node's state: of the hint (NULL: there can be none), else the session's. */
int64_t plan_ttl(const struct planner *planner, const struct state_ttl *hint, struct plan_node *node);
/* Filter and projection over a node; merged into it when it is a calc that nobody else reads. expressions NULL: the input's columns. */
enum status plan_calc(struct planner *planner, struct plan_node *input, const struct expression *condition,
                      const struct expression *const *expressions, const struct schema *schema, struct plan_node **node, struct error *err);
/* The first `count` columns, or the given ones. */
enum status plan_keep(struct planner *planner, struct plan_node *input, const uint32_t *columns, uint32_t count,
                      const struct schema *schema, struct plan_node **node, struct error *err);
/* Appends expressions to the columns of a node, reusing columns that are already there: places[i] is that of expressions[i]. */
enum status plan_append(struct planner *planner, struct plan_node *input, const struct expression *const *expressions, uint32_t count,
                        uint32_t *places, struct plan_node **node, struct error *err);
/* Only these expressions, each once; places as above. */
enum status plan_only(struct planner *planner, struct plan_node *input, const struct expression *const *expressions, uint32_t count,
                      uint32_t *places, struct plan_node **node, struct error *err);
/* Rows to the worker that owns the key (key_count 0: worker 0), unless they are there already. */
enum status plan_distribute(struct planner *planner, struct plan_node *input, const uint32_t *keys, uint32_t key_count,
                            struct plan_node **node, struct error *err);
/* Are they there already, or is there one worker only? */
bool plan_is_placed(const struct planner *planner, const struct plan_node *input, const uint32_t *keys, uint32_t key_count);
/* plan_distribute wherever the rows are; parallelism > 1. */
enum status plan_exchange(struct planner *planner, struct plan_node *input, const uint32_t *keys, uint32_t key_count,
                          struct plan_node **node, struct error *err);
/* Every row to every worker. */
enum status plan_exchange_to_all(struct planner *planner, struct plan_node *input, struct plan_node **node, struct error *err);
enum status plan_schema_make(struct planner *planner, uint32_t count, struct column **columns, struct schema **schema, struct error *err);
/* Is this place in the SQL text unbounded input that cannot be sorted, ...: sets the error. */
enum status plan_refuse(const struct relation *relation, enum error_code code, struct error *err, const char *format, ...)
    PRINTF_LIKE(4, 5);

/* One per kind of relation. */
typedef enum status plan_relation_fn(struct planner *planner, struct relation *relation, struct plan_node **node, struct error *err);
plan_relation_fn plan_scan, plan_watermark, plan_values, plan_filter, plan_project, plan_aggregate, plan_window, plan_join, plan_lateral,
    plan_over, plan_sort, plan_union, plan_set;

/* physical_rank.c: FILTER over OVER, when the filter bounds its only ranking function. *node stays NULL when it is none. */
enum status plan_ranked_filter(struct planner *planner, struct relation *filter, const struct column_set *used, struct plan_node **node,
                               struct error *err);
/* The OVER of a deduplication that keeps the last row by event time: its input is a table of versions. */
bool relation_is_version_view(const struct relation *relation, struct relation **over);

/* physical_window.c: GROUP BY window_start, window_end, ...; *node stays NULL when it is no window aggregate. */
enum status plan_window_aggregate(struct planner *planner, struct relation *relation, struct plan_node **node, struct error *err);

/* physical_join_keys.c */
struct join_parts {
    struct conditions left_keys, right_keys; /* over the columns of their own side */
    bool *null_safe;
    uint32_t key_count;
    struct conditions rest; /* over left then right columns */
};
enum status join_split(struct planner *planner, const struct expression *condition, uint32_t left_count, uint32_t right_count,
                       bool plain_keys, struct join_parts *parts, struct error *err);
struct linear_time {
    uint32_t column;
    int64_t offset; /* us */
    bool cast;      /* precision was changed: rounding may move it */
};
/* A TIMESTAMP column, plus or minus constant intervals; *time is zero before. */
bool time_is_linear(const struct expression *expression, struct linear_time *time);
struct time_bounds {
    bool low_set, high_set;
    int64_t low, high; /* right.time + low <= left.time <= right.time + high */
    uint32_t left_time, right_time;
};
/* Bounds between an event time of each side; false: there are not both. */
bool join_time_bounds(const struct plan_node *left, const struct plan_node *right, const struct expression *condition,
                      struct time_bounds *bounds);

/* output.c */
enum status plan_result(struct planner *planner, struct plan_node *input, struct result_queue *queue, bool in_order, struct error *err);
enum status plan_sink(struct planner *planner, struct plan_node *input, const struct bound_insert *insert, uint32_t number,
                      struct error *err);

/* A table's stored columns as a ROW. */
enum status plan_table_row(struct planner *planner, const struct catalog_table *table, const struct type **row, struct error *err);
/* `suffix`: names the sink within the statement. */
enum status plan_sink_context(struct planner *planner, const struct catalog_table *table, bool overwrite, const char *suffix,
                              const uint32_t **physical, struct sink_context **context, struct error *err);
enum status plan_output_add(struct planner *planner, struct plan_node *node, struct error *err);

/* dead_letters.c */
/* The queue for the records of a table with the policy 'dead-letter' that cannot be read; *queue NULL: it has another policy. Refuses a
 * dead-letter table that is none. */
enum status plan_dead_letter(struct planner *planner, const struct relation *scan, const struct table_options *options,
                             struct dead_letter **queue, struct error *err);
/* The queues' nodes and sinks: after all sources. */
enum status plan_dead_letters(struct planner *planner, struct error *err);
enum status plan_check_overwrites(struct planner *planner, const struct bound_insert *inserts, uint32_t count, struct error *err);

/* narrow_joins.c: once the nodes that are used, and by how many, are known. */
enum status plan_narrow_joins(struct planner *planner, struct error *err);

/* meaning.c: sets it in all nodes, after the last change to the plan. */
enum status plan_mark_meaning(struct planner *planner, struct error *err);

/* spread.c */
/* Of INSERTs that are planned for one piece: refuses those that run whole. */
enum status plan_check_piece(const struct plan *plan, struct error *err);

/* explain.c */
void plan_node_describe(const struct plan_node *node, struct text_builder *out);

#endif
