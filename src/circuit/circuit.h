/* circuit/circuit.h: the operators of one worker, wired, and the tick that drives them.
 *
 * For         plan/build.h makes one per worker; job/ steps them.
 * Lifetime    The circuit owns its arena and its nodes; circuit_destroy closes them in reverse order.
 * Threads     One worker each. Circuits of one job meet in exchange nodes only.
 */
#ifndef SPATE_CIRCUIT_CIRCUIT_H
#define SPATE_CIRCUIT_CIRCUIT_H

#include <stdatomic.h>

#include "base/wakeup.h"
#include "circuit/node.h"
#include "circuit/pull_record.h"
#include "state/snapshot.h"

struct held_meeting; /* circuit/held_errors.h */
struct cold_db;      /* state/cold_db.h */

/* What a checkpoint holds of the circuit: 'high-availability.policy'. */
enum circuit_keeps {
    KEEPS_STATE,   /* everything */
    KEEPS_PLACES,  /* where sources are, and what sinks have committed */
    KEEPS_HISTORY, /* where sources began, the record of all ticks, what sinks have committed: state is made again from the input */
};
enum output_mode {
    OUTPUT_SHOWN,
    OUTPUT_HELD,    /* sinks get nothing yet (circuit/held_output.h): that of a standby */
    OUTPUT_DROPPED, /* sinks get nothing: ticks whose output they had in another life */
};
struct pipeline_settings {
    int64_t tick_rows;             /* pipeline.tick.rows: 0 adaptive, -1 all there is */
    uint32_t chunk_rows;           /* pipeline.chunk.rows */
    int64_t tick_target_us;        /* pipeline.tick.target */
    int64_t watermark_interval_us; /* pipeline.auto-watermark-interval */
    size_t ring_bytes;             /* pipeline.source.ring */
    uint32_t max_parallelism;      /* pipeline.max-parallelism */
    bool checkpointed;             /* results are shown by `committed` (circuit/node.h), not by the end of input */
    bool incremental;              /* checkpoints hold changes: nodes keep lists of what they touch */
    enum circuit_keeps keeps;
};
struct circuit {
    struct arena *arena;
    struct budget *budget;
    struct evaluation evaluation; /* this worker's copy */
    const struct clock *clock;
    struct pipeline_settings settings;
    uint32_t worker, worker_count;
    struct held_meeting *held_meeting; /* set before nodes are made; shared by the circuits of a job, NULL when there is but one */
    uint32_t held_count;               /* held_errors made */
    bool checkpointed, incremental;    /* as in the settings */
    enum circuit_keeps keeps;          /* as in the settings, but KEEPS_STATE where there is no other state than places */
    enum pull_mode pull_mode;
    struct text_builder pulled; /* RECORDED: since the job cleared it: in the tick that runs, and what ended in pulls that were no ticks */
    struct text to_pull;        /* REPLAYED: in the tick that runs; lent */
    uint32_t source_count;      /* source nodes made */
    enum output_mode output;
    bool shows_prepared;         /* sink nodes keep what they prepared last: sink_node_prepared */
    struct text_builder notices; /* lines for the user; whoever tells them clears it */
    /* State larger than memory, set by job/. Until the first tick a restore may put another database in the place of the first, so
     * operators look here when they need it. NULL: all state is in tables. */
    bool spills;                       /* set before nodes are made: there will be a database */
    struct cold_db *cold, *cold_taken; /* cold_taken: the operators have it */
    bool cold_evict_all;               /* debug.spill-all: after each tick nothing stays in tables that can be in the database */
    /* circuit_save: the database goes into the checkpoint: what changed of operators that have rows there is written to it, not to the
     * writer, full or not. False: all rows go to the writer, which is full, and what the database does not have yet stays noted as such. */
    bool cold_checkpoint;
    bool cold_in_use;             /* what circuit_save has saved is in the database, too */
    bool ends;                    /* a program wants no more: the next tick takes nothing from sources, and is the last */
    const atomic_bool *cancelled; /* set by any thread: pull comes back soon */
    struct wakeup *wakeup;        /* signalled when a source has rows; the job waits on it */
    uint64_t tick_number;         /* of the tick that runs */
    uint64_t tick_budget_rows;    /* adaptive: rows a source may take in this tick */
    struct node **nodes;          /* in topological order: the order of circuit_add */
    uint32_t node_count, node_capacity;
};

enum status circuit_create(struct budget *budget, const struct evaluation *evaluation, const struct clock *clock,
                           const struct pipeline_settings *settings, struct wakeup *wakeup, uint32_t worker, uint32_t worker_count,
                           struct circuit **circuit, struct error *err);
void circuit_destroy(struct circuit *circuit);
/* Registers a node that was just made (its struct lives in the circuit's arena) and connects its inputs, which were added before. */
enum status circuit_add(struct circuit *circuit, struct node *node, const struct node_type *type, const char *label,
                        struct node *const *inputs, uint32_t input_count, struct error *err);
/* A tick is two steps, so that several workers can agree between them on whether there is work and whether it is the last.
 * circuit_pull: sources emit the tick's rows. circuit_finish: finish_tick of every node. Other workers run the same tick
 * (exchanges wait for them). */
enum status circuit_pull(struct circuit *circuit, const struct tick *tick, enum pull_state *state, struct error *err);
enum status circuit_finish(struct circuit *circuit, const struct tick *tick, struct error *err);
enum status circuit_stop(struct circuit *circuit, struct error *err); /* stop() of every sink */
int64_t circuit_next_timer(const struct circuit *circuit);            /* INT64_MAX: none */

/* State, between two ticks (circuit_state.c). */
enum status circuit_name_nodes(struct circuit *circuit, struct error *err); /* once, when all nodes are there */
enum status circuit_committed(struct circuit *circuit, uint64_t checkpoint, struct error *err);
enum status circuit_save(struct circuit *circuit, struct snapshot_writer *writer, struct error *err);
bool circuit_keeps_node(const struct circuit *circuit, const struct node *node); /* a checkpoint has its tables */
/* It has tables that are made of rows: state that can only be kept, or made again. */
bool circuit_has_state(const struct circuit *circuit);
/* Whom the rows of a snapshot go to; then circuit_restored. */
struct snapshot_target circuit_restore_target(struct circuit *circuit, bool ignore_unclaimed);
enum status circuit_restored(struct circuit *circuit, struct error *err);

uint32_t circuit_worker_of(uint64_t hash, uint32_t worker_count, uint32_t max_parallelism);

#endif
