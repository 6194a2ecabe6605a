/* plan/plan.h: relations to a physical plan: rewrite, derive, plan; then a circuit per worker. The third of the three trees.
 *
 * For         SELECT, INSERT, statement sets, EXPLAIN.
 * Shape       plan_make runs the rules (plan/rules/, one file and one function each, listed in plan/rules.c), derives per
 *             operator changelog mode, unique keys, event time, order and distribution (plan/properties.h), chooses operators, shares equal
 *             subplans, and inserts exchanges when parallelism > 1. The plan is immutable; plan_build instantiates it for one worker.
 * Ownership   The statement's arena. Sources are opened by plan_make (so that wrong options fail then) and closed with plan_close.
 * Errors      What cannot be planned is refused with the reason and the column (CHANGELOG_REFUSED, NOT_SUPPORTED, INVALID_QUERY).
 */
#ifndef SPATE_PLAN_PLAN_H
#define SPATE_PLAN_PLAN_H

#include "circuit/circuit.h"
#include "circuit/operators/specs.h"
#include "circuit/result_queue.h"
#include "sql/binder.h"
#include "state/cold_registry.h"

struct plan_settings {
    uint32_t parallelism;
    uint32_t max_parallelism;
    struct pipeline_settings pipeline;
    int64_t watermark_interval_us; /* pipeline.auto-watermark-interval */
    int64_t idle_timeout_us;       /* table.exec.source.idle-timeout */
    int64_t state_ttl_us;          /* table.exec.state.ttl; 0: none */
    struct cold_settings cold;
    uint32_t piece, pieces; /* of an INSERT that is spread over processes: this one reads only this piece of its sources; pieces 0: all */
    bool until_end;         /* execution.until-end */
    bool legacy_cast, not_null_drop /* table.exec.sink.not-null-enforcer = DROP */;
};
struct plan_context {
    struct bind_context bind;
    struct budget *budget;
    const struct clock *clock;
    struct plan_settings settings;
    const char *statement_id;
    const char *job_task; /* which of its tasks this is; NULL: it runs whole */
    const char *job_id;   /* of a job that has checkpoints: the same in every attempt to run it, of no other job; NULL: it has none */
    uint32_t job_lineage; /* connectors/sink.h */
    uint64_t job_saved, job_saved_end;
    const struct storage_settings *storage; /* the session's, for sources that read what jobs keep */
};
struct plan;
/* A SELECT: rows go to `queue`. */
enum status plan_make_query(const struct plan_context *context, struct relation *relation, struct result_queue *queue, struct plan **plan,
                            struct error *err);
/* One or more INSERTs that share sources and subplans. */
enum status plan_make_inserts(const struct plan_context *context, const struct bound_insert *inserts, uint32_t count, struct plan **plan,
                              struct error *err);
/* A program between what it reads and the tables that it writes (include/spate/task.h). `spec`: as circuit/operators/specs.h says; it runs in one
 * worker. */
struct bound_program {
    struct relation **inputs;             /* spec.input_count of them */
    struct catalog_table *const *outputs; /* spec.output_count */
    struct program_spec spec;
};
enum status plan_make_program(const struct plan_context *context, const struct bound_program *program, struct plan **plan,
                              struct error *err);
struct node *plan_program_node(const struct plan *plan); /* of one that was built */
void plan_close(struct plan *plan);
/* How INSERTs can be run by several processes without exchanges between them: each is given a piece (plan_settings) of what is read, and all
 * pieces together give what the whole gives. plan_make_inserts refuses a piece of what is not spread. */
struct plan_spread {
    uint32_t pieces;    /* so many, at most; 0: it runs whole, in one process */
    const char *reason; /* for people, in the plan's arena: what each process reads; or what keeps it whole, with line:column where known */
};
enum status plan_find_spread(const struct plan *plan, struct plan_spread *spread, struct error *err);
bool plan_is_bounded(const struct plan *plan); /* all sources end */
/* Where the sinks of a job with checkpoints may leave what was never shown: the connector's name, a blank, its text (sink_type.leaves). */
enum status plan_list_leavings(const struct plan *plan, const char ***places, uint32_t *count, struct error *err);
bool plan_is_insert_only(const struct plan *plan);    /* of a query: no retraction can come */
bool plan_is_ordered(const struct plan *plan);        /* of a query: rows come in the order asked for */
bool plan_loses_by_a_crash(const struct plan *plan);  /* it keeps state, or has a sink that can write exactly once */
bool plan_has_unfenced_sink(const struct plan *plan); /* one that cannot refuse the writes of a process that has lost the job */
/* Of a plan that was built: kinds of operators whose state stays in memory also with a database for it (circuit/circuit_cold.h): "Over, WindowJoin". */
void plan_list_resident(const struct plan *plan, struct text_builder *out);
const struct schema *plan_schema(const struct plan *plan); /* of a query */
/* Nodes of worker `circuit->worker`; all workers build the same plan before the first tick. */
enum status plan_build(struct plan *plan, struct circuit *circuit, struct error *err);
/* A worker has failed: wakes all that wait in exchanges. Any thread. */
void plan_abort(struct plan *plan);
/* Physical plan after the rules: operator, what it does, and per operator changelog mode, keys, watermark, state; of INSERTs also how many
 * processes can share it. `logical`: also the
 * relation tree before and after the rules. */
void plan_explain(const struct plan *plan, bool logical, struct text_builder *out);

/* Progress and the reason for silence, from the running circuits' metrics. */
struct plan_progress {
    uint64_t rows_read, bytes_read, bytes_total, late, null_time, failed, dropped, dead_lettered;
    int64_t watermark_us; /* minimum over the tables; WATERMARK_NONE */
    const char *held_by;  /* the table that holds it back, NULL */
};
void plan_progress_read(const struct plan *plan, struct plan_progress *progress);

#endif
