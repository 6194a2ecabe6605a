/* circuit/node.h: an operator of a running circuit.
 *
 * For         everything that runs. A node_type is a constant table, a node the instance (struct node is its first member).
 * The tick    1. Source nodes push chunks: node_emit calls receive of each consumer, depth first. A stateless node emits from
 *                receive; a stateful one absorbs and remembers what changed.
 *             2. When the sources have pushed the tick's rows, finish_tick runs once per node in topological order, so all
 *                inputs of a node have ended the tick when its own turn comes. It emits what the tick changed, then looks at
 *                its inputs' watermarks (node_input_watermark), fires timers and closed windows, emits their results,
 *                and sets its own (node->watermark).
 *             3. The tick's end: sinks have it; the next may start.
 *             With tick->end, all sources have ended and all watermarks are WATERMARK_END: nodes emit everything that was still open.
 * Watermarks  node->watermark: nothing that this node emits later has an event time <= it (rows may be late by the hidden column
 *             batch->watermarks only). It never goes back. Default (node_pass_watermark): the minimum over inputs.
 * Batches     Borrowed in receive; batch_ref to keep. 1..CHUNK_ROWS rows. A node that makes more than a chunk emits in between.
 * Changes     Weights say insert and delete; a node whose plan says append-only input may assert that weights == NULL or > 0.
 * Errors      A failing value of a changing row is held back by the node (circuit/held_errors.h).
 * State       A node that keeps anything from one tick to the next declares it as tables (state/snapshot.h) when it is made, writes them in
 *             `save` between two ticks, and takes them back in `restore` before the first: save, destroy, create, restore and go on gives
 *             the same output as going on, at any parallelism. `restored` comes once when all rows are there.
 * Threads     A node belongs to its circuit's worker.
 */
#ifndef SPATE_CIRCUIT_NODE_H
#define SPATE_CIRCUIT_NODE_H

#include "data/batch.h"
#include "functions/evaluation.h"

struct circuit;        /* circuit/circuit.h */
struct snapshot_table; /* state/snapshot.h */
struct snapshot_writer;
struct snapshot_rows;
struct node;

enum { NODE_INPUTS_MAX = 64 };

struct tick {
    uint64_t number;
    int64_t now_us; /* the job's clock, read once per tick; it runs with the monotonic clock and never goes back */
    bool end;       /* the last tick: all input has ended */
    bool bounded;   /* all sources of the job are bounded */
};

enum pull_state {
    PULL_IDLE,  /* nothing */
    PULL_ROWS,  /* rows were emitted, or a partition has just ended: the tick must be finished */
    PULL_ENDED, /* nothing, and nothing will come again */
};

struct node_metrics { /* job/job_metrics.h; written by the worker */
    uint64_t rows_in, rows_out, late, null_time;
    uint64_t state_keys, state_bytes; /* in memory */
    uint64_t state_cold_keys;         /* in the database only */
    uint64_t state_hits, state_misses,
        state_absent; /* rows whose key was in memory; keys looked for in the database, and known not to be there */
    uint64_t state_spilled, state_spilled_bytes; /* keys written there, their bytes */
};

enum node_kept {
    NODE_KEPT_WITH_PLACES = 1,
    NODE_KEPT_WITH_HISTORY = 2,
    NODE_KEPT_BESIDE_STATE = 4 /* no reason to replay */
};                             /* circuit/circuit.h, circuit_keeps */
struct node_type {
    const char *name;
    /* Keeps nothing from tick to tick but what it declares as tables. A node of any other type that has none is not in jobs with checkpoints. */
    bool stateless;
    /* Its tables are places in the input or the output, not made of rows: who saves them when the job's state is not saved. */
    uint8_t kept;
    /* NULL for nodes without inputs */
    enum status (*receive)(struct node *node, uint32_t input, const struct batch *batch, struct error *err);
    enum status (*finish_tick)(struct node *node, const struct tick *tick, struct error *err);
    /* Nodes with state: sets metrics.state_keys and state_bytes; after each tick, and when state has come back. */
    void (*count_state)(struct node *node);
    void (*close)(struct node *node); /* frees what is not in the circuit's arena */
    /* The earliest processing time (us) at which finish_tick has something to do; NULL, or INT64_MAX: none. */
    int64_t (*next_timer)(const struct node *node);
    /* Sources only: emits what there is for this tick (pipeline.tick.rows). */
    enum status (*pull)(struct node *node, const struct tick *tick, enum pull_state *state, struct error *err);
    /* Sinks, and what feeds only them: the job stops before its input has ended: make durable and show what was written. */
    enum status (*stop)(struct node *node, struct error *err);
    /* Nodes with tables. After snapshot_begin: all rows, or what has changed since the last save. */
    enum status (*save)(struct node *node, struct snapshot_writer *writer, struct error *err);
    enum status (*restore)(struct node *node, uint32_t table, const struct snapshot_rows *rows, struct error *err);
    /* All rows are there; not called when the snapshot knows none of the node's tables. NULL: nothing to do. */
    enum status (*restored)(struct node *node, struct error *err);
    /* Nodes whose keys may leave memory (circuit/circuit_cold.h): makes node->cold for the database that the circuit has now, before the
     * first row. NULL: all state stays in memory. */
    enum status (*open_cold)(struct node *node, struct error *err);
    /* While nothing of such a node is in the database `save` saves its rows as without one: it looks at node->in_database. */
    bool saves_in_memory;
    /* Sinks: the checkpoint of this number is complete, with all that was written before its save. NULL: nothing to do. */
    enum status (*committed)(struct node *node, uint64_t checkpoint, struct error *err);
};

struct node_cold; /* circuit/circuit_cold.h */
struct edge {
    struct node *to;
    uint32_t input;
};

struct node {
    const struct node_type *type;
    struct circuit *circuit;
    const char *label;    /* for EXPLAIN and errors */
    struct node **inputs; /* producers, in input order */
    uint32_t input_count;
    struct edge *outputs; /* consumers */
    uint32_t output_count;
    int64_t watermark;
    struct node_metrics metrics;
    const struct snapshot_table *tables; /* set by create; they live as long as the circuit */
    uint32_t table_count;
    uint64_t meaning, exact; /* what its state means, without and with the filters below it: set by plan_build; 0: unknown */
    uint64_t shape;          /* of the plan below and of the tables: circuit/circuit_state.c */
    bool alone;              /* no other node of the circuit has its type and shape */
    bool claimed;            /* the snapshot that was restored knows it */
    struct node_cold *cold;  /* open_cold made it; NULL: all state is in memory */
    bool in_database;        /* circuit_save, for `save`: rows of these tables are written there, and are not its concern */
    uint64_t relieved_tick;  /* 1 + number of the tick in which dropping keys was of no use */
    const char *id;          /* of a node with tables: the same in every process that runs the same SQL */
};

/* Sends a batch to all consumers. The batch stays the caller's. Empty ones (no selected row) are not sent. */
enum status node_emit(struct node *node, const struct batch *batch, struct error *err);
int64_t node_input_watermark(const struct node *node, uint32_t input);
int64_t node_min_input_watermark(const struct node *node);
/* Sets node->watermark to the minimum over inputs (never backwards). */
void node_pass_watermark(struct node *node);

/* Of the circuit, for nodes. */
struct budget *node_budget(const struct node *node);
struct arena *node_arena(const struct node *node); /* as long as the circuit */
const struct evaluation *node_evaluation(const struct node *node);

#endif
