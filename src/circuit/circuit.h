/* circuit/circuit.h: the operators of one worker, wired, and the tick that drives them.
 *
 * For         plan/build.h makes one per worker; job/ steps them.
 * Lifetime    The circuit owns its arena and its nodes; circuit_destroy closes them in reverse order.
 * Threads     One worker each. Circuits of one job meet in exchange nodes only.
 */
#ifndef SPATE_CIRCUIT_CIRCUIT_H
#define SPATE_CIRCUIT_CIRCUIT_H

#include "circuit/node.h"

struct pipeline_settings {
    int64_t tick_rows;       /* pipeline.tick.rows: 0 adaptive, -1 all there is */
    uint32_t chunk_rows;     /* pipeline.chunk.rows */
    int64_t tick_target_us;  /* pipeline.tick.target */
    int64_t watermark_interval_us; /* pipeline.auto-watermark-interval */
    size_t ring_bytes;       /* pipeline.source.ring */
};
struct circuit {
    struct arena *arena;
    struct budget *budget;
    struct evaluation evaluation; /* this worker's copy */
    const struct clock *clock;
    struct pipeline_settings settings;
    uint32_t worker, worker_count;
    struct node **nodes; /* in topological order: the order of circuit_add */
    uint32_t node_count, node_capacity;
};

enum status circuit_create(struct budget *budget, const struct evaluation *evaluation, const struct clock *clock,
                           const struct pipeline_settings *settings, uint32_t worker, uint32_t worker_count, struct circuit **circuit,
                           struct error *err);
void circuit_destroy(struct circuit *circuit);
/* Registers a node that was just made (its struct lives in the circuit's arena) and connects its inputs, which were added before. */
enum status circuit_add(struct circuit *circuit, struct node *node, const struct node_type *type, const char *label,
                        struct node *const *inputs, uint32_t input_count, struct error *err);
/* One tick of this worker; *state tells what the sources had. Other workers must run the same tick (exchanges wait for them). */
enum tick_state {
    TICK_WORKED,  /* rows or timers */
    TICK_IDLE,    /* nothing was there; wait (circuit_wait) before the next */
    TICK_ENDED,   /* that was the last tick */
};
enum status circuit_tick(struct circuit *circuit, struct tick *tick, enum tick_state *state, struct error *err);

#endif
