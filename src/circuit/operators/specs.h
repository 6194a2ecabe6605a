/* circuit/operators/specs.h: what each operator is told by the planner, and how it is made.
 *
 * For         plan/build.c. One struct per operator; the file <name>.c beside this one holds the operator, its head the
 *             algorithm. Each create function adds one node to the circuit (inputs added before) and returns it.
 * Ownership   Specs and all they point to live as long as the circuit (the statement's arena).
 * Conventions Keys, columns: indices into the input's columns. `changes`: the input may retract (weights < 0). `ordered`:
 *             rows of the input have a source order (batch->ordered). `ttl_us`: the time-to-live of entries that are not written, 0: none.
 */
#ifndef SPATE_CIRCUIT_OPERATORS_SPECS_H
#define SPATE_CIRCUIT_OPERATORS_SPECS_H

#include "circuit/circuit.h"
#include "connectors/sink.h"
#include "connectors/source.h"
#include "functions/aggregate.h"
#include "sql/relation.h"

struct input_spec {
    const struct schema *schema; /* names for messages, types */
    bool changes, ordered;
    enum snapshot_place placed; /* which worker has a row: also where a row of state goes when it is restored */
    const uint32_t *placed_by;  /* SNAPSHOT_HASH: columns */
    uint32_t placed_by_count;
    bool everywhere; /* SNAPSHOT_EVERY: each worker has all rows, not just its own */
    bool lossy;      /* state below has a time-to-live: rows may be withdrawn that never came */
};

/* source_node.c: reads partitions of a source ahead in threads; emits in the order of partitions and rows. On worker w it reads
 * partitions p with p % worker_count == w (a source opened once per job, shared). No partition: ends at once, watermark END. */
struct source_spec {
    struct source *source;
    const struct schema *schema;
    bool carry_watermarks; /* always fill batch->watermarks downstream of the WATERMARK (CURRENT_WATERMARK is used) */
};
enum status source_node_create(struct circuit *circuit, const struct source_spec *spec, struct node **node, struct error *err);

/* dead_letter_node.c: what the queue of a dead-letter table holds, at the end of each tick, on worker 0. Added after the sources, so that
 * it is closed before them. */
struct dead_letter_spec {
    struct dead_letter *queue;
    const struct type *row; /* of the table */
    const char *readers;    /* "a, b": the tables whose records go there, for EXPLAIN */
};
enum status dead_letter_node_create(struct circuit *circuit, const struct dead_letter_spec *spec, struct node **node, struct error *err);

/* values_node.c: constant rows, once, on worker 0. */
struct values_spec {
    const struct schema *schema;
    const struct expression *const *const *rows;
    uint32_t row_count;
};
enum status values_node_create(struct circuit *circuit, const struct values_spec *spec, struct node **node, struct error *err);

/* watermark_node.c: follows the event time of each partition, fills the hidden column, sets the watermark. */
struct watermark_spec {
    struct input_spec input;
    struct node *source; /* the source node below, for idle partitions */
    uint32_t time_column;
    const struct expression *candidate;
    int64_t interval_us;             /* 0: on-event */
    int64_t idle_timeout_us;         /* 0: none */
    int64_t max_future_skew_us;      /* 0: none */
    bool skew_fails;                 /* the error policy is fail; else such rows are dropped and counted */
    struct dead_letter *dead_letter; /* and put there, without payload; NULL: another policy */
    const char *table;
    struct source_counters *counters;
    bool always_hidden; /* someone downstream reads the watermark before each row, late or not */
};
enum status watermark_node_create(struct circuit *circuit, const struct watermark_spec *spec, struct node *input, struct node **node,
                                  struct error *err);

/* calc_node.c: filter, then project, in one pass. */
struct calc_spec {
    struct input_spec input;
    const struct expression *condition;          /* NULL: all rows */
    const struct expression *const *expressions; /* NULL: the input's columns */
    uint32_t expression_count;
};
enum status calc_node_create(struct circuit *circuit, const struct calc_spec *spec, struct node *input, struct node **node,
                             struct error *err);

/* union_node.c: all inputs, as they come. */
enum status union_node_create(struct circuit *circuit, struct node *const *inputs, uint32_t input_count, struct node **node,
                              struct error *err);

/* exchange_node.c: rows to the worker that owns their key (hash % key groups -> worker). key_count 0: all to worker 0, or to every worker. One
 * exchange_group per exchange of the job is shared by its replicas. Carries weights, watermarks, ordinals (materialised when `ordered`). */
struct exchange_group;
enum status exchange_group_create(uint32_t worker_count, struct exchange_group **group, struct error *err);
void exchange_group_destroy(struct exchange_group *group);
void exchange_group_abort(struct exchange_group *group); /* wakes all; further calls fail with CANCELLED */
struct exchange_spec {
    struct input_spec input;
    const uint32_t *keys;
    uint32_t key_count;
    bool to_all; /* every worker gets every row */
    struct exchange_group *group;
};
enum status exchange_node_create(struct circuit *circuit, const struct exchange_spec *spec, struct node *input, struct node **node,
                                 struct error *err);

/* group_aggregate.c. Output: keys, then one column per call. A call's args and filter are columns of the input (the planner
 * projects them before). global (no keys): one row always, also over no rows (worker 0 owns it). With `sets` the planner
 * expands rows before (expand_node) and the grouping id is one of the keys. */
struct aggregate_spec_call {
    const struct aggregate_function *function;
    const uint32_t *args; /* input columns */
    uint32_t arg_count;
    bool distinct, ignore_nulls;
    int32_t filter; /* input column (BOOLEAN), -1: none */
    const struct type *type;
};
struct group_aggregate_spec {
    struct input_spec input;
    const uint32_t *keys;
    uint32_t key_count;
    const struct aggregate_spec_call *calls;
    uint32_t call_count;
    int64_t ttl_us;
    bool emit_empty_row;    /* this worker owns the row that stands without input: of no keys, or of the empty grouping set */
    bool empty_row_by_hash; /* it owns it only if the row's key comes to it by its hash (below an exchange) */
};
enum status group_aggregate_create(struct circuit *circuit, const struct group_aggregate_spec *spec, struct node *input, struct node **node,
                                   struct error *err);

/* expand_node.c: GROUPING SETS: each row once per set, keys outside the set NULL, grouping id appended. */
struct expand_spec {
    struct input_spec input;
    const uint32_t *keys;
    uint32_t key_count;
    const uint64_t *sets;
    uint32_t set_count;
    const struct schema *output; /* input columns (keys nullable), grouping id INT */
};
enum status expand_node_create(struct circuit *circuit, const struct expand_spec *spec, struct node *input, struct node **node,
                               struct error *err);

/* window_columns.c: TUMBLE, HOP, CUMULATE table functions without an aggregate: each row once per window, with window_start,
 * window_end (TIMESTAMP of the time column's kind and precision, local for LTZ) and window_time. A NULL time: no window. */
struct window_columns_spec {
    struct input_spec input;
    struct window_spec window;
    const struct schema *output;
};
enum status window_columns_create(struct circuit *circuit, const struct window_columns_spec *spec, struct node *input, struct node **node,
                                  struct error *err);

/* window_aggregate.c: TUMBLE, HOP, CUMULATE by slices, fired by the watermark (or the clock). Output: keys, calls, then the
 * window columns asked for, in order. Emits inserts only. Late rows (batch watermark reached the window's last ms) are counted, kept out.
 * Input rows with weights (changes) are allowed: a window that is still open adds and subtracts.
 * attached: the input already has window_start/window_end columns (a window TVF below a join, filter, ...): the window of a row is that of
 * its columns `start_column`, `end_column`; they are then not part of keys. */
struct window_aggregate_spec {
    struct input_spec input;
    struct window_spec window;
    bool attached;
    uint32_t start_column, end_column;
    const uint32_t *keys;
    uint32_t key_count;
    const struct aggregate_spec_call *calls;
    uint32_t call_count;
    const enum window_column *window_columns; /* START, END, ROWTIME (end - 1 ms), PROCTIME */
    uint32_t window_column_count;
    const struct schema *output;
};
enum status window_aggregate_create(struct circuit *circuit, const struct window_aggregate_spec *spec, struct node *input,
                                    struct node **node, struct error *err);

/* session_window.c: SESSION, as aggregate (calls) or as table function (no calls, keeps rows: `rows`). The first window.partition_count of
 * base.keys delimit the sessions (window.partition itself is not read); further keys group the rows of a session. */
struct session_window_spec {
    struct window_aggregate_spec base; /* window.kind == WINDOW_SESSION; keys: the session's partition first */
    bool rows;                         /* table function: output is the input's columns, window_start, window_end, window_time */
};
enum status session_window_create(struct circuit *circuit, const struct session_window_spec *spec, struct node *input, struct node **node,
                                  struct error *err);

/* Rows of a side that nothing can meet any more: those whose time is at or below the other side's watermark + lag_us (a NULL time meets
 * nothing). The side only grows and owes nothing for rows without a partner; see plan/physical_join_prune.c for the proof. */
struct join_prune {
    bool present;
    uint32_t time_column;
    int64_t lag_us;
};

/* join_node.c: regular join. Keys: equal columns of both sides (= excludes NULL; `null_safe` per key: IS NOT DISTINCT FROM).
 * condition: what is left, over left then right columns. Output as relation.h says. unique_*: the side has at most one row per join key
 * (emission and layout may rely on it; not required). */
struct join_spec {
    struct input_spec left, right;
    enum join_kind kind;
    const uint32_t *left_keys, *right_keys;
    const bool *null_safe;
    uint32_t key_count;
    const struct expression *condition;
    bool null_aware; /* NOT IN: single key; see sql/relation.h */
    bool single;     /* more than one match of a left row: CARDINALITY, held back while it may change */
    bool unique_left, unique_right;
    struct join_prune prune[2]; /* left, right */
    int64_t ttl_us[2];
    const struct schema *output;
    const bool *read; /* by output column: someone reads it; others come as NULL and are not kept for it. NULL: all are read */
};
enum status join_node_create(struct circuit *circuit, const struct join_spec *spec, struct node *left, struct node *right,
                             struct node **node, struct error *err);

/* interval_join.c: left.time between right.time - lower .. (us): right.time + low_us <= left.time <= right.time + high_us. Keys and
 * condition as above (condition holds everything, also the bounds, so any rounding is decided there). INNER, LEFT, RIGHT, FULL, SEMI, ANTI.
 * Append-only inputs. Rows are freed by the watermark; unmatched outer rows are emitted then. Late rows still join what is there. */
struct interval_join_spec {
    struct join_spec join;
    uint32_t left_time, right_time;
    int64_t low_us, high_us; /* INT64_MIN / INT64_MAX: unbounded */
    bool processing_time;
};
enum status interval_join_create(struct circuit *circuit, const struct interval_join_spec *spec, struct node *left, struct node *right,
                                 struct node **node, struct error *err);

/* window_join.c: both inputs carry window_start, window_end of closed windows or of window table functions: joins per window once the
 * watermark closes it, then frees it. join.keys hold the other equal columns (window columns excluded). */
struct window_join_spec {
    struct join_spec join;
    uint32_t left_start, left_end, right_start, right_end;
};
enum status window_join_create(struct circuit *circuit, const struct window_join_spec *spec, struct node *left, struct node *right,
                               struct node **node, struct error *err);

/* lookup_join.c: left rows join what a bounded right side (fully read at the start of the job: its rows come on input 1 before any left row
 * is passed on; left rows wait until it has ended) holds, once, as they pass. INNER, LEFT. */
struct lookup_join_spec {
    struct join_spec join;
};
enum status lookup_join_create(struct circuit *circuit, const struct lookup_join_spec *spec, struct node *left, struct node *right,
                               struct node **node, struct error *err);

/* temporal_join.c: event-time FOR SYSTEM_TIME AS OF: left rows (append-only) wait for the watermark and join the version valid at their
 * time. The right side is keyed by join.right_keys (its primary key or the partition of a deduplication view), changes carry right_time. */
struct temporal_join_spec {
    struct join_spec join;
    uint32_t left_time, right_time;
};
enum status temporal_join_create(struct circuit *circuit, const struct temporal_join_spec *spec, struct node *left, struct node *right,
                                 struct node **node, struct error *err);

/* top_n.c: ROW_NUMBER/RANK/DENSE_RANK() OVER (PARTITION BY partition ORDER BY order) between first and last. rank_column: append the
 * number as BIGINT. Ties: source order when `ordered`, else the rows' columns. */
enum rank_function { RANK_ROW_NUMBER, RANK_RANK, RANK_DENSE_RANK };
struct top_n_spec {
    struct input_spec input;
    enum rank_function function;
    const uint32_t *partition;
    uint32_t partition_count;
    const struct sort_key *order;
    uint32_t order_count;
    int64_t first, last; /* 1-based; last INT64_MAX: no limit */
    bool rank_column;
    const struct schema *output;
    int64_t ttl_us;
};
enum status top_n_create(struct circuit *circuit, const struct top_n_spec *spec, struct node *input, struct node **node, struct error *err);

/* deduplicate.c: append-only input, first or last row per key by the time column (or by arrival for processing time). */
struct deduplicate_spec {
    struct input_spec input;
    const uint32_t *keys;
    uint32_t key_count;
    uint32_t time_column;
    bool keep_last, processing_time;
    bool rank_column; /* append the constant 1 as BIGINT */
    const struct schema *output;
    int64_t ttl_us;
};
enum status deduplicate_create(struct circuit *circuit, const struct deduplicate_spec *spec, struct node *input, struct node **node,
                               struct error *err);

/* over_node.c: OVER aggregates and window functions. `event_time`: ordered by the rowtime, append-only input, emitted as the watermark
 * passes, rows late by the hidden column counted and dropped. Otherwise (q6: changing input, or order by any column): all rows per
 * partition are kept, ordered; at the end of the tick partitions that changed are computed again from the first change on and the
 * difference is emitted. */
struct over_spec {
    struct input_spec input;
    struct over_relation over; /* calls' args are EXPRESSION_COLUMN or constants */
    bool event_time, processing_time;
    const struct schema *output;
    int64_t ttl_us;
};
enum status over_node_create(struct circuit *circuit, const struct over_spec *spec, struct node *input, struct node **node,
                             struct error *err);

/* sort_node.c: ORDER BY over bounded input: emits all rows in order at the end (one worker). With a limit the planner uses top_n
 * with no partition, followed by this for the order of presentation. temporal: append-only, first key the rowtime ascending: emits as the
 * watermark passes. */
struct sort_spec {
    struct input_spec input;
    const struct sort_key *keys;
    uint32_t key_count;
    bool temporal;
    int64_t offset, fetch; /* fetch -1: all; at the end only */
};
enum status sort_node_create(struct circuit *circuit, const struct sort_spec *spec, struct node *input, struct node **node,
                             struct error *err);

/* limit_node.c: LIMIT without ORDER BY: rows in source order (first come), keeps exactly offset..offset+fetch rows also when rows are
 * withdrawn. */
struct limit_spec {
    struct input_spec input;
    int64_t offset, fetch;
};
enum status limit_node_create(struct circuit *circuit, const struct limit_spec *spec, struct node *input, struct node **node,
                              struct error *err);

/* set_node.c: INTERSECT [ALL], EXCEPT [ALL] of two inputs: per row the counts of both sides. */
struct set_spec {
    struct input_spec left, right;
    bool except, all;
    int64_t ttl_us;
};
enum status set_node_create(struct circuit *circuit, const struct set_spec *spec, struct node *left, struct node *right, struct node **node,
                            struct error *err);

/* unnest_node.c: LATERAL / CROSS JOIN UNNEST(collection): each row once per element. Output: input columns, then element columns. */
struct unnest_spec {
    struct input_spec input;
    const struct expression *collection; /* ARRAY, MULTISET or MAP */
    bool outer, with_ordinality;
    const struct schema *output;
};
enum status unnest_node_create(struct circuit *circuit, const struct unnest_spec *spec, struct node *input, struct node **node,
                               struct error *err);

/* program_node.c, program_output.c: a program's own code, and the tables that it writes (circuit/operators/program_node.h). Row types of outputs
 * are those of the tables. */
struct program_host;
struct program_table_spec {
    const char *name;
    const struct schema *schema; /* the key's columns first */
    uint32_t key_count;
};
struct program_spec {
    const char *name;
    const char *const *input_names;
    uint32_t input_count, output_count;
    const struct program_table_spec *tables;
    uint32_t table_count;
    int64_t window_us; /* 0: none */
    bool whole;        /* one task has to see all rows */
    const struct program_host *host;
};
enum status program_node_create(struct circuit *circuit, const struct program_spec *spec, struct node *const *inputs, struct node **node,
                                struct error *err);
struct program_output_spec {
    uint32_t number;
    const char *table;
    const struct schema *schema;
    const struct type *row; /* the same as a ROW */
};
enum status program_output_create(struct circuit *circuit, const struct program_output_spec *spec, struct node *program, struct node **node,
                                  struct error *err);

/* sink_node.c: into a sink of connectors/, consolidated, kinds set: with upsert_key updates become -U, +U of one key. */
struct sink_spec {
    struct input_spec input;
    const struct sink_context *context;
    enum sink_accepts accepts;
    const uint32_t *upsert_key;
    uint32_t upsert_key_count;
};
enum status sink_node_create(struct circuit *circuit, const struct sink_spec *spec, struct node *input, struct node **node,
                             struct error *err);

/* result_node.c: to the caller of the session: a queue of batches per tick, kinds set, consolidated unless `in_order` (sorted results keep
 * their order). */
struct result_queue;
struct result_spec {
    struct input_spec input;
    struct result_queue *queue; /* circuit/result_queue.h */
    const uint32_t *upsert_key;
    uint32_t upsert_key_count;
    bool in_order;
};
enum status result_node_create(struct circuit *circuit, const struct result_spec *spec, struct node *input, struct node **node,
                               struct error *err);

#endif
