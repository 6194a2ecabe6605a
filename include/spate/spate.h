/* spate/spate.h: Spate in a C program.
 *
 * For         opening a session, executing Flink SQL, stepping through results as Arrow batches, feeding tables from memory.
 * Ownership   What a function gives through a pointer parameter is the caller's, ended by the matching close; `const char *` results
 *             are lent until the next call on the same object.
 * Threads     A session and its results belong to one thread at a time; spate_cancel may come from any. A step runs the
 *             engine in the caller's thread (with parallelism.default 1 there is no other but those that read sources).
 * Errors      Calls return 0 for success, else a SPATE_ERROR_CLASS; spate_session_error gives code, place and text.
 * ABI         Structs that the caller fills begin with their size; unknown trailing members are ignored.
 */
#ifndef SPATE_SPATE_H
#define SPATE_SPATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spate/arrow.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SPATE_API __attribute__((visibility("default")))
#else
#define SPATE_API
#endif

typedef struct spate_session spate_session;
typedef struct spate_result spate_result;
typedef struct spate_feed spate_feed;

enum spate_error_class {
    SPATE_OK = 0,
    SPATE_ERROR_SQL,         /* the statement or an option is wrong; do not retry */
    SPATE_ERROR_DATA,        /* a record or value; the text names it */
    SPATE_ERROR_LIMIT,       /* memory or another limit */
    SPATE_ERROR_UNAVAILABLE, /* a file or peer; a retry may help */
    SPATE_ERROR_CANCELLED,
    SPATE_ERROR_INTERNAL,
};
struct spate_error {
    int error_class; /* enum spate_error_class */
    uint32_t code;   /* as in `spate errors` */
    const char *sqlstate;
    uint32_t line, column; /* in the text given to spate_execute, from 1; 0: not about a place */
    const char *text;      /* what happened, one line per layer */
    const char *remedy;    /* what to do */
};

SPATE_API const char *spate_version(void);

/* `settings`: "key=value" texts applied as SET before anything else; NULL-terminated; may be NULL. */
SPATE_API int spate_session_open(const char *const *settings, spate_session **session);
SPATE_API void spate_session_close(spate_session *session);
SPATE_API const struct spate_error *spate_session_error(const spate_session *session);

/* The name of jobs with checkpoints where 'pipeline.name' is not set; the command line gives that of the SQL file. */
SPATE_API int spate_session_name_jobs(spate_session *session, const char *name);
/* The same, from the path of the script whose statements come next: "jobs/orders.sql" names them "orders". */
SPATE_API int spate_session_name_script(spate_session *session, const char *script);

/* Lines for the person who runs the session: savepoints that were taken, restarts. Called from within calls on the session. */
typedef void (*spate_notice_function)(void *context, const char *line);
SPATE_API void spate_session_on_notice(spate_session *session, spate_notice_function notice, void *context);

/* Executes the statement that starts at *offset of sql; *offset moves past it. *result is NULL when only blanks were left. */
SPATE_API int spate_execute(spate_session *session, const char *sql, size_t length, size_t *offset, spate_result **result);
/* Parses, binds and plans it, with no side effect except those of DDL and SET on the session's catalog. Warnings: spate_result_message. */
SPATE_API int spate_check(spate_session *session, const char *sql, size_t length, size_t *offset, spate_result **result);
/* Like EXPLAIN of the statement; the result is one text. */
SPATE_API int spate_explain(spate_session *session, const char *sql, size_t length, size_t *offset, spate_result **result);

enum spate_result_kind {
    SPATE_RESULT_DONE,   /* DDL, SET, ...: finished; spate_result_message says what was done */
    SPATE_RESULT_ROWS,   /* rows that are all there (SHOW, DESCRIBE, EXPLAIN) */
    SPATE_RESULT_QUERY,  /* a SELECT: step it, take batches */
    SPATE_RESULT_INSERT, /* an INSERT or statement set: step it until it ends */
};
SPATE_API int spate_result_kind(const spate_result *result);
SPATE_API const char *spate_result_message(const spate_result *result); /* may be "" */
SPATE_API bool spate_result_is_bounded(const spate_result *result);     /* it ends by itself */
/* The next statement should wait for this one's end: unless 'table.dml-sync' says otherwise, an INSERT is awaited if it is bounded. */
SPATE_API bool spate_result_is_awaited(const spate_result *result);
SPATE_API bool spate_result_is_insert_only(const spate_result *result); /* all kinds are inserts */
SPATE_API bool spate_result_is_ordered(const spate_result *result);     /* ORDER BY: the order of rows counts */
SPATE_API int spate_result_schema(spate_result *result, struct ArrowSchema *schema);
SPATE_API uint32_t spate_result_column_count(const spate_result *result);
SPATE_API const char *spate_result_column_name(const spate_result *result, uint32_t column);
SPATE_API const char *spate_result_column_type(const spate_result *result, uint32_t column); /* SQL text: "DECIMAL(10, 2) NOT NULL" */

enum spate_step {
    SPATE_STEP_WORKED, /* call again */
    SPATE_STEP_IDLE,   /* nothing to do for now; the call waited up to wait_ms */
    SPATE_STEP_ENDED,  /* all input has been processed */
};
/* Runs one tick. After it, take the batches until there are none. */
SPATE_API int spate_result_step(spate_result *result, int64_t wait_ms, int *step);

enum spate_row_kind { SPATE_INSERT, SPATE_UPDATE_BEFORE, SPATE_UPDATE_AFTER, SPATE_DELETE };
/* The next batch of the ticks run so far. *rows is 0 when there is none (array is then not set). kinds: one spate_row_kind a row, lent
 * until the next call; NULL: all inserts. The caller releases the array. */
SPATE_API int spate_result_next(spate_result *result, struct ArrowArray *array, const uint8_t **kinds, int64_t *rows);
/* The same rows as text: calls back once per row; each value as CAST(x AS STRING) gives it (binary x'hex'), NULL pointer for NULL. Consumes
 * the batch. */
typedef int (*spate_row_function)(void *context, int kind, uint32_t column_count, const char *const *values, const size_t *lengths);
SPATE_API int spate_result_next_text(spate_result *result, spate_row_function row, void *context, int64_t *rows);
/* Takes no more input: open windows do not fire, files are committed; step until ENDED. (SIGTERM.) */
SPATE_API void spate_result_stop(spate_result *result);
/* A savepoint of a running INSERT, between two steps. `place`: a name (kept with the job), a folder or URI; NULL: named by the time, in
 * 'execution.checkpointing.savepoint-dir' if that is set. *where (lent until the result is closed): what --from-savepoint takes. */
SPATE_API int spate_result_savepoint(spate_result *result, const char *place, const char **where);
/* What SIGUSR1 asks for: savepoints of the jobs for which `spate savepoint` asks, else of all running INSERTs. Each is told as a notice,
 * failures too: the jobs go on. */
SPATE_API int spate_session_savepoints(spate_session *session);
SPATE_API void spate_result_close(spate_result *result);

struct spate_progress {
    size_t size; /* sizeof(struct spate_progress), set by the caller */
    uint64_t rows_read, bytes_read, bytes_total /* 0: unknown */, rows_out, late, null_time, failed, dropped;
    int64_t watermark_us;   /* INT64_MIN: none yet; INT64_MAX: ended */
    const char *held_by;    /* the table that holds the watermark back; "" */
    uint64_t dead_lettered; /* of `failed`: went to a dead-letter table */
    /* Of jobs with checkpoints. A stall is how long ticks waited while the state was taken. */
    uint64_t checkpoints, checkpoint_bytes /* of the last */, checkpoints_failed;
    int64_t checkpoint_stall_us, checkpoint_longest_stall_us;
};
SPATE_API void spate_result_progress(const spate_result *result, struct spate_progress *progress);

/* Any thread: the running call on the session ends with SPATE_ERROR_CANCELLED soon. */
SPATE_API void spate_cancel(spate_session *session);
/* Any thread: a statement that is still being read and planned ends with SPATE_ERROR_CANCELLED soon; jobs that run are not touched. */
SPATE_API void spate_cancel_planning(spate_session *session);

/* A table fed by the caller, `definition` being the columns (and watermark) of a CREATE TABLE: "id BIGINT, t TIMESTAMP(3), WATERMARK FOR t
 * AS t". `partitions`: feeds that may be read by different workers; rows of one are in order. */
SPATE_API int spate_feed_open(spate_session *session, const char *table, const char *definition, uint32_t partitions, spate_feed **feed);
/* Gives a struct array whose children are the columns (types as spate_feed_schema says). Takes it. Blocks never: the queue grows until
 * stepped. */
SPATE_API int spate_feed_push(spate_feed *feed, uint32_t partition, struct ArrowArray *array);
/* May be called at any time before the end: the same (unreleased) arrays are served again by each statement that reads the table when
 * `keep` is true. */
SPATE_API int spate_feed_keep(spate_feed *feed, bool keep);
SPATE_API int spate_feed_schema(spate_feed *feed, struct ArrowSchema *schema);
SPATE_API int spate_feed_end(spate_feed *feed); /* the table is bounded: it ends after what was pushed */
SPATE_API void spate_feed_close(spate_feed *feed);

/* The reference tables of this build, as text or JSON: "functions", "connectors", "formats", "stores", "options", "errors", "metrics". `name` NULL: all. The
 * text lives until the session closes. An unknown name is SPATE_ERROR_SQL with near names. */
SPATE_API int spate_reference(spate_session *session, const char *what, const char *name, bool json, const char **text);
/* Is there a whole statement in the text (a ';' outside quotes and comments)? */
SPATE_API bool spate_is_complete(const char *sql, size_t length);

#ifdef __cplusplus
}
#endif
#endif
