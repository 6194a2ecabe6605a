/* api/program.h: a program that runs as a job of a session, between the node that runs it and the functions of its class.
 *
 * For         include/spate/task.h: program.c defines and starts it, program_run.c calls it, task.c is what it may call.
 * Shape       A program belongs to a result. In each attempt to run the job there is one task: from the node's first call (init) to its end
 *             (close).
 * Ownership   All is in the result's arena; what the caller's spec pointed to is copied.
 * Threads     That of the session.
 */
#ifndef SPATE_API_PROGRAM_H
#define SPATE_API_PROGRAM_H

#include "api/session.h"
#include "circuit/operators/program_node.h"
#include "spate/task.h"

struct spate_state {
    spate_task *task;
    const char *name; /* NULL: nobody has asked for it yet */
    struct program_table *table;
    struct vector *columns; /* of a key, in spate_state_each */
    struct spate_cell *key, *values;
    bool listing;
};
struct spate_output {
    spate_task *task;
    const char *name;
    struct node *node;
};
struct spate_rows {
    const char *input;
    const struct schema *schema;
    const struct type *row;
    const struct batch *batch;     /* dense */
    const uint16_t *places;        /* rows of the batch; NULL: all */
    uint8_t kinds[CHUNK_ROWS];     /* enum spate_row_kind */
    uint16_t repeated[CHUNK_ROWS]; /* what places points to */
    uint32_t count;
};
/* One attempt to run it. */
struct spate_task {
    struct program *program;
    struct node *node; /* NULL: none runs */
    void *self;
    struct error error; /* of the callback that runs: of a call of the program's, or its own words */
    bool may_write;     /* output */
    bool wants_commit, wants_stop;
    bool processes;             /* process is being called */
    struct async_queue *async;  /* api/task_async.h; NULL: nothing was begun yet */
    struct spate_state *states; /* by table */
    struct spate_output *outputs;
    struct spate_rows rows;
};
struct program {
    spate_result *result;
    struct spate_task_class type;
    void *context;
    uint32_t async_limit;
    int64_t async_timeout_us;
    struct program_host host;
    struct program_spec spec;       /* but inputs' schemas */
    const char *const *definitions; /* of tables, by number: columns */
    const char *const *output_names;
    const struct schema **input_schemas; /* as bound last */
    const struct type **input_rows;
    struct spate_task task;
};

/* task.c: the job of a program; the session has its tables. */
enum status task_start(spate_session *session, const struct spate_task_spec *spec, spate_result **result, struct error *err);

/* program.c */
enum status program_check(const struct spate_task_spec *spec, struct error *err); /* what can be seen without a session */
enum status program_define(spate_result *result, const struct spate_task_spec *spec, struct error *err);
/* For one attempt. */
enum status program_bind(struct program *program, const struct bind_context *context, struct bound_program *bound, struct error *err);

/* program_run.c: the functions of the host. */
extern const struct program_host program_host;
/* After a tick: what the program has asked for. */
void program_after_tick(struct program *program);
enum status program_obey(struct program *program, const char *verb, const char *args, uint64_t rank, struct error *err);

#endif
