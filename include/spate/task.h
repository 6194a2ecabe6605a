/* spate/task.h: a job whose middle is your own code: rows of tables in, rows of tables out, state of its own in between.
 *
 * For         what SQL cannot say. Inputs and outputs are tables or views of the session, so all connectors and formats serve; checkpoints,
 *             restarts, savepoints, `spate state`, the control log and the exactly-once commit of sinks are those of SQL jobs.
 * Shape       A task reads its inputs, calls the functions of its class, and keeps what they keep:
 *
 *      init --> process, window, timer, on_control, end_of_stream (any number, in any order) --> close
 *                    \-- state, timers and output are committed together at checkpoints --> committed
 *
 *             A tick takes some rows of every input: process is called for each, then window and timer if they are due, then end_of_stream of
 *             an input that has ended. Between two ticks there may be a checkpoint: what the task has in state, timers and
 *             output comes from the same rows. After a crash a new task is made (init) with the state of the last checkpoint, and the rows
 *             since then come again; what it had written since then is never shown.
 *             So keep in state what must outlive a crash; what init makes may hold what can be made again.
 * Errors      Calls return 0 for success, else a SPATE_ERROR_CLASS (spate/spate.h). Callbacks do the same: whatever else they return ends
 *             the job, SPATE_ERROR_UNAVAILABLE as 'restart-strategy' says with a restart from the last checkpoint. A callback
 *             says why with spate_task_fail, or returns what a call of this header gave it, whose text then stands.
 * Ownership   What is given to a callback is lent for the time of the call. Handles of state and outputs live as long as the task.
 * Threads     The functions of one task are never called at the same time, and only from calls on its session (spate_result_step); in a worker
 *             each task has a thread, so what tasks share through `context` they guard.
 *             The calls below that take a task, rows, state or output are for its callbacks only.
 * ABI         Structs that the caller fills begin with their size; unknown trailing members are ignored.
 */
#ifndef SPATE_TASK_H
#define SPATE_TASK_H

#include "spate/cell.h"
#include "spate/worker.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spate_task spate_task;     /* one that runs */
typedef struct spate_rows spate_rows;     /* of one input */
typedef struct spate_state spate_state;   /* a state table of the task */
typedef struct spate_output spate_output; /* a table that it writes */

struct spate_task_timer {
    int kind;        /* enum spate_timer_kind */
    int64_t time_ms; /* that it was set for */
    const void *key;
    size_t key_length;
};
struct spate_task_edit {
    const char *verb; /* "app.reload" */
    const char *args; /* JSON */
    uint64_t rank;    /* its place among the edits of the job */
};

struct spate_task_answer {
    const void *item; /* what was given to spate_process_async */
    size_t item_length;
    const void *answer;
    size_t answer_length;
};

/* All members but process may be NULL. `self` is what init gave. */
struct spate_task_class {
    size_t size; /* sizeof(struct spate_task_class), set by the caller */
    /* Before everything else; the state is there. `context` is that of the spec. *self is `context` unless it is set. */
    int (*init)(void *context, spate_task *task, void **self);
    /* Some rows of a tick, of one input, in the order of their partition; at most 4,096. A tick may have several. */
    int (*process)(void *self, spate_task *task, const spate_rows *rows);
    /* Every window_interval_ms of the clock, on its multiples; those that fall into a time when nothing runs are left out. */
    int (*window)(void *self, spate_task *task);
    int (*timer)(void *self, spate_task *task, const struct spate_task_timer *timer);
    /* What spate_process_async has begun: in the order in which it was begun, whatever the order of answers, and in the tick of its row. */
    int (*answered)(void *self, spate_task *task, const struct spate_task_answer *answer);
    /* An edit `app.*` of the job's control log (spate/control.h): each once, in the order of ranks, between two ticks. It may change state
     * and timers, but writes no output. An error fails the edit, not the job. */
    int (*on_control)(void *self, spate_task *task, const struct spate_task_edit *edit);
    int (*end_of_stream)(void *self, spate_task *task, const char *input);
    /* A checkpoint is complete: everything up to it counts, whatever happens. `edits`: the rank through which edits are in it. */
    void (*committed)(void *self, spate_task *task, uint64_t checkpoint, uint64_t edits);
    void (*close)(void *self, spate_task *task); /* also after an error, if init had succeeded */
};

/* A state table. `columns` as in CREATE TABLE, those of the key first: "word STRING, total BIGINT, PRIMARY KEY (word) NOT ENFORCED".
 * Types: those of spate/cell.h. */
struct spate_task_table {
    const char *name, *columns;
};

struct spate_task_spec {
    size_t size;                         /* sizeof(struct spate_task_spec), set by the caller */
    const char *name;                    /* of the job */
    const struct spate_task_class *type; /* copied */
    void *context;                       /* for init */
    const char *setup;          /* statements that make the tables: CREATE, SET. NULL: the session has them; not when it is submitted */
    const char *const *inputs;  /* tables or views, NULL-terminated; at least one */
    const char *const *outputs; /* tables, NULL-terminated; NULL: none */
    const struct spate_task_table *tables;
    uint32_t table_count;
    int64_t window_interval_ms; /* 0: window is not called */
    uint32_t async_limit;       /* answers that are waited for at once; 0: 100 */
    int64_t async_timeout_ms;   /* how long for each; 0: 60 s */
    int whole;                  /* 1: one task has to see all rows, also of a job on several processes */
};
/* Starts the job in this process. *result is like that of an INSERT: step it (spate_result_step) until it ends. With
 * 'execution.checkpointing.interval' it leaves checkpoints, and goes on from the last one when it is started again. */
SPATE_API int spate_task_run(spate_session *session, const struct spate_task_spec *spec, spate_result **result);

/* ---- several processes ---- */

/* Hands the job to workers of the same program instead of running it: its tables, `settings` ("key=value", NULL-terminated; as those that the
 * session was opened with) and inputs are written into the storage ('storage.uri') and the coordination service ('coordinator.uri').
 * It has as many tasks as its input has parts, as a SQL job would have; each is a task of its own, with state of its own, and reads
 * its share of them: rows that belong together must be in one part (docs/task-api.md). flags: enum spate_submit_flags (spate/operations.h).
 * *message: for people; lives as long as the session. */
SPATE_API int spate_task_submit(spate_session *session, const struct spate_task_spec *spec, const char *const *settings, uint32_t flags,
                                const char **message);
/* A worker (spate/worker.h) that runs tasks of this job: each in a thread of its own, in which the functions of its class are called. `setup`
 * is that of the job as it was submitted. The spec and what it points to live longer than the worker. */
SPATE_API int spate_task_worker_open(const char *const *settings, const struct spate_worker_options *options,
                                     const struct spate_task_spec *spec, spate_worker **worker, struct spate_error *error);

/* ---- in callbacks ---- */

/* "why" in the words of printf. Gives back the class: `return spate_task_fail(task, SPATE_ERROR_DATA, "no word in '%s'", line);`. */
SPATE_API int spate_task_fail(spate_task *task, int error_class, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;
SPATE_API const char *spate_task_name(const spate_task *task); /* of the job */
SPATE_API const char *spate_task_id(const spate_task *task);   /* "all"; of several "s0.3": the same for ever, wherever it runs */
SPATE_API int64_t spate_task_now_ms(const spate_task *task);   /* the job's clock at the tick's begin; it never goes back */
SPATE_API int64_t
spate_task_watermark_ms(const spate_task *task); /* of all inputs, after the tick before; INT64_MIN: none; INT64_MAX: all have ended */
/* A checkpoint follows this tick. SPATE_ERROR_SQL: the job takes none. */
SPATE_API int spate_task_commit(spate_task *task);
enum spate_shutdown {
    SPATE_SHUTDOWN_TASK,    /* the task has done all that it ever will: as if its input had ended, without end_of_stream */
    SPATE_SHUTDOWN_PROCESS, /* this process, with all its tasks, stops working for the job after this tick, as with spate_result_stop: it goes on when it is run again */
};
SPATE_API int spate_task_shutdown(spate_task *task, int scope);

/* Rows. `row` from 0, `column` from 0 in the order of the input's columns. */
SPATE_API const char *spate_rows_input(const spate_rows *rows);
SPATE_API uint32_t spate_rows_count(const spate_rows *rows);
SPATE_API uint32_t spate_rows_column_count(const spate_rows *rows);
SPATE_API int spate_rows_column(const spate_rows *rows, const char *name); /* -1: there is none */
SPATE_API spate_cell spate_rows_cell(const spate_rows *rows, uint32_t row, uint32_t column);
SPATE_API int spate_rows_kind(const spate_rows *rows, uint32_t row); /* SPATE_INSERT, SPATE_DELETE (an update is both) */
/* All rows as a struct array without copying values; the caller releases array and schema. schema may be NULL. */
SPATE_API int spate_rows_arrow(spate_task *task, const spate_rows *rows, struct ArrowArray *array, struct ArrowSchema *schema);

/* For what takes long (a call of a service): notes that an answer to this row will come, and `answered` is called with it. In process only. Waits while
 * as many are without an answer as may be; the tick waits for all, so a checkpoint has none of them half done, and after a crash they are
 * asked again. The item is copied. No answer in time fails the task (SPATE_ERROR_UNAVAILABLE), with the place of its row. */
typedef struct spate_completion {
    uint64_t task, number;
} spate_completion;
SPATE_API int spate_process_async(spate_task *task, const spate_rows *rows, uint32_t row, const void *item, size_t item_length,
                                  spate_completion *completion);
/* Any thread, at any time: the first of these calls for a completion counts; later ones, and those after the task's end, do nothing. */
SPATE_API void spate_completion_answer(spate_completion completion, const void *answer, size_t length); /* copied */
SPATE_API void spate_completion_fail(spate_completion completion, int error_class, const char *why);    /* the task fails */

/* Outputs. NULL: there is none of the name; the error is set, so that SPATE_ERROR_SQL may be returned. */
SPATE_API spate_output *spate_task_output(spate_task *task, const char *table);
/* A row: a cell for each stored column of the table. */
SPATE_API int spate_output_row(spate_output *output, const spate_cell *cells, uint32_t count);
/* Rows as a struct array of these columns; takes the array, also after an error. The schema stays the caller's. */
SPATE_API int spate_output_arrow(spate_output *output, const struct ArrowSchema *schema, struct ArrowArray *array);

/* State. A key has the cells of the key's columns, `values` those of the others. */
SPATE_API spate_state *spate_task_state(spate_task *task, const char *table); /* NULL as above */
/* Texts in `values` are lent until the next call on the table. values may be NULL. */
SPATE_API int spate_state_get(spate_state *state, const spate_cell *key, spate_cell *values, bool *found);
SPATE_API int spate_state_put(spate_state *state, const spate_cell *key, const spate_cell *values);
SPATE_API int spate_state_remove(spate_state *state, const spate_cell *key); /* nothing happens where there is none */
SPATE_API uint64_t spate_state_count(const spate_state *state);
/* All rows, in no particular order, until `row` gives something else than 0, which is then given back. It may remove the row at hand, and
 * change values; it adds no keys. */
typedef int (*spate_state_function)(void *context, const spate_cell *key, const spate_cell *values);
SPATE_API int spate_state_each(spate_state *state, spate_state_function row, void *context);

/* Timers are state, too. A key has one timer of each kind: to set it again moves it. One that is due already is called in the same tick,
 * after what sets it. */
enum spate_timer_kind {
    SPATE_TIMER_CLOCK,     /* time_ms of the clock. When the job has ended, those that wait are not called */
    SPATE_TIMER_WATERMARK, /* when the watermark of all inputs reaches time_ms; all that wait are called when they have ended */
};
SPATE_API int spate_task_set_timer(spate_task *task, int kind, int64_t time_ms, const void *key, size_t key_length);
SPATE_API int spate_task_cancel_timer(spate_task *task, int kind, const void *key, size_t key_length);

#ifdef __cplusplus
}
#endif
#endif
