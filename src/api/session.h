/* api/session.h: what a spate_session and a spate_result are inside.
 *
 * For         the files of api/ only. The promises are in include/spate/spate.h.
 * Lifetime    A session owns its catalog, settings and results; a result owns its arena, plan, job and queue. Closing the session closes
 *             what is still open.
 * Threads     One at a time; spate_cancel may come from any thread: it touches `cancelled` and the running job, under `mutex`.
 */
#ifndef SPATE_API_SESSION_H
#define SPATE_API_SESSION_H

#include <pthread.h>
#include <stdatomic.h>

#include "api/settings.h"
#include "api/text_table.h"
#include "circuit/result_queue.h"
#include "job/edits.h"
#include "job/job.h"
#include "job/journal.h"
#include "job/task_host.h"
#include "spate/spate.h"
#include "sql/catalog.h"

/* What a worker's session runs (worker_sql.c): one task of one job. */
struct session_share {
    const char *job; /* name */
    struct task_run *run;
    struct edits_group *edits;   /* the job's control log in this process */
    atomic_bool *process_leaves; /* set: the worker leaves its jobs in order */
};
struct spate_session {
    struct budget budget;
    struct arena *arena; /* settings, reference texts */
    const struct clock *clock;
    struct settings settings;
    struct catalog *catalog;
    struct catalog_table *control_table; /* spate.control_log, as the last statement had it; NULL: none has named it */
    struct error error;
    struct spate_error public_error;
    struct spate_result *results; /* open ones, newest first */
    uint64_t statement_count;
    struct storage *storage; /* opened by the first job that needs it; NULL before */
    const char *default_job_name;
    const struct job_definition *script; /* what runs its jobs again; NULL: not known */
    const struct checkpoint_task *task;  /* its INSERT is run as this task of a job; NULL: jobs run whole, here */
    struct job_name *job_names;          /* those that were used, newest first */
    spate_notice_function notice;        /* NULL: nobody listens */
    void *notice_context;
    pthread_mutex_t mutex; /* guards `running` */
    struct job *running;
    atomic_bool cancelled;
    atomic_bool planning_cancelled;    /* of the statement at hand, until its job starts */
    uint32_t piece, pieces;            /* of what its INSERTs read (plan_settings), for the processes that share a job; pieces 0: all */
    bool opened;                       /* arena, settings and catalog are there */
    bool submits, replaces;            /* INSERTs are handed to workers, not run here (cluster_job.h) */
    const struct session_share *share; /* a worker's: of the script only this runs; NULL: all of it does */
};

struct spate_result {
    spate_session *session;
    spate_result *next;
    int kind; /* enum spate_result_kind */
    const char *message;
    struct arena *arena;
    struct evaluation evaluation;
    struct result_queue *queue; /* ROWS, QUERY */
    struct schema schema;
    const struct type *row_type;           /* of the schema, once asked for */
    const struct ast_statement *statement; /* in the arena, with its text */
    struct plan *plan;
    struct job *job;
    struct checkpointer *checkpointer; /* NULL: the job leaves nothing behind */
    struct program *program;           /* api/program.h: the job is a program's; NULL: of SQL */
    struct edits *edits;               /* of the job's control log; NULL: it has none, or not yet */
    struct checkpoint_pace pace;       /* as edits have it */
    bool paused;                       /* by an edit: no ticks */
    struct journal *journal;           /* of all attempts; NULL likewise, or when it cannot be written */
    const char *job_name;              /* of an INSERT; NULL: a query */
    bool stopping;                     /* spate_result_stop was called */
    bool durable;                      /* it has had a checkpointer */
    bool worked;                       /* some attempt got past its first tick */
    bool recovering;                   /* it failed, and is started again at recover_at_us */
    int64_t recover_at_us;
    struct restart_state recovery;
    bool finished; /* an earlier process has brought the job to its end */
    enum job_state state;
    int64_t ticks;     /* since the job was started or restarted */
    uint32_t attempts; /* how often the job was planned and started again: sinks tell their files apart by it */
    bool awaited;      /* INSERT: the next statement waits for its end */
    uint64_t rows_out;
    struct buffer *kinds;     /* of the batch given last */
    struct text_builder text; /* cells given by spate_result_next_text */
};

/* The budget follows taskmanager.memory.process.size; call after settings have changed. */
void session_follow_settings(spate_session *session);
/* As spate_session_open, with a share of another's memory. */
int session_open_below(const char *const *settings, struct budget *parent, spate_session **session);
/* Sets the session's error and gives its public class. */
int session_fail(spate_session *session, enum status status);
void session_tell(spate_session *session, const char *format, ...) PRINTF_LIKE(2, 3);
enum status result_create(spate_session *session, int kind, spate_result **result, struct error *err);

/* api/result.c: a tick of a result's job, with what belongs to it. */
enum status result_step(spate_result *result, int64_t wait_ms, int *step, struct error *err);
/* api/statement.c: executes one parsed statement; *result is registered with the session. */
struct ast_statement;
enum statement_mode { STATEMENT_EXECUTE, STATEMENT_CHECK, STATEMENT_EXPLAIN };
enum status statement_run(spate_session *session, struct arena *arena, const struct ast_statement *statement, enum statement_mode mode,
                          spate_result *result, struct error *err);
/* The job of a program (api/program.h), as an INSERT's. */
enum status statement_run_program(spate_result *result, struct error *err);
/* Plans the statement anew and starts its job; what the result has given and queued stays. parallelism 0: that of the session. */
enum status statement_start_again(spate_result *result, uint32_t parallelism, struct error *err);
/* api/durable.c: jobs that outlive their process. Opens the result's checkpointer, if it has none yet. */
enum status durable_note_outputs(spate_result *result, struct error *err); /* once it is planned, before it starts */
enum status durable_open(spate_result *result, struct plan_context *context, struct error *err);
enum status durable_storage(spate_session *session, struct error *err); /* opens session->storage */
/* The INSERT's name, chosen once. */
enum status durable_name(spate_result *result, struct error *err);
enum status durable_savepoint(spate_result *result, const char *place, const char **where, struct error *err);
void durable_close_session(spate_session *session);
/* api/recovery.c: after a failure: is the job started again? Then it waits, and recovery_step does the rest. */
bool recovery_begin(spate_result *result, enum status status, const struct error *err);
/* Ends an attempt to run the job without its end: as if the process had died. */
void recovery_close_attempt(spate_result *result);
/* A standby could not follow: it begins with the newest checkpoint. */
void recovery_follow_again(spate_result *result, const struct error *err);
enum status recovery_step(spate_result *result, int64_t wait_ms, int *step, struct error *err);
/* api/watch.c: the job's figures into its journal. */
void watch_sample(spate_result *result);
/* api/edits.c: the control log of a job that has one. Before a tick: *rests when the job is paused; else after one. */
enum status edits_before_tick(spate_result *result, int64_t wait_ms, bool *rests, struct error *err);
enum status edits_after_tick(spate_result *result, struct error *err);
/* api/feed.c: a table fed by us; in no catalog. *feed: a reference. */
struct feed;
enum status feed_table_make(spate_session *session, struct arena *arena, const char *table_name, const char *definition,
                            uint32_t partitions, struct feed **feed, struct catalog_table **made, struct error *err);
/* api/control_table.c: for catalog_set_system, the context is the session. */
enum status control_table_find(void *context, const char *name, struct catalog_table **table, struct error *err);
/* api/jobs.c: as SIGTERM does for one job. */
enum status job_stop_now(spate_result *job, struct error *err);
/* api/job_control.c: forgets a job that does not run; enum spate_remove_flags. */
enum status job_remove_now(spate_session *session, const char *job, uint32_t flags, struct error *err);
/* api/restart.c: 'debug.restart-every': takes the job's state, ends it, and goes on with a new job from the state. */
enum status result_restart(spate_result *result, struct error *err);
/* The same at the end: what sinks have kept back is shown. */
enum status result_end_restarts(spate_result *result, struct error *err);
/* api/operations.c: savepoints of jobs that do not run; a relative place means the same to another process. */
struct job_record;
enum status operation_absolute_place(struct arena *arena, const char *place, const char **absolute, struct error *err);
enum status operation_savepoint_at_rest(spate_session *session, const struct job_record *record, const char *place, const char **where,
                                        struct error *err);
/* api/jobs.c: the jobs of the session. */
enum status jobs_list(spate_session *session, struct text_table *table, struct error *err);
/* Does what was asked of the job from outside. */
enum status jobs_answer(spate_result *job, struct error *err);
enum status job_stop_run(spate_session *session, const struct ast_statement *statement, const char **message, struct arena *arena,
                         struct error *err);
/* api/show.c: SHOW and DESCRIBE. */
enum status show_run(spate_session *session, const struct ast_statement *statement, spate_result *result, struct error *err);
enum status describe_run(spate_session *session, const struct ast_statement *statement, spate_result *result, struct error *err);
/* CREATE TABLE as text that can be run again. */
enum status table_unparse(const struct catalog_table *table, struct text_builder *out, struct error *err);

#endif
