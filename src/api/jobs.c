/* The jobs of a session: the INSERTs that run, by name. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "api/session.h"
#include "job/job_lock.h"
#include "sql/ast_other.h"

enum { LINE_BYTES = 4096 };

void spate_session_on_notice(spate_session *session, spate_notice_function notice, void *context)
{
    session->notice = notice;
    session->notice_context = context;
}

void session_tell(spate_session *session, const char *format, ...)
{
    char line[LINE_BYTES];
    if (session->notice == NULL) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    session->notice(session->notice_context, line);
}

static bool is_running(const spate_result *result)
{
    return result->job_name != NULL && (result->recovering || (result->job != NULL && result->state == JOB_RUNNING));
}

static const char *result_job_id(const spate_result *result)
{
    return result->checkpointer == NULL ? result->job_name : checkpointer_job_id(result->checkpointer);
}

/* ---- SHOW JOBS ---- */

/* Newest results come first; jobs are listed as they were started. */
static spate_result *next_job(spate_session *session, const spate_result *after)
{
    spate_result *found = NULL;
    for (spate_result *result = session->results; result != after && result != NULL; result = result->next) {
        found = is_running(result) ? result : found;
    }
    return found;
}

enum status jobs_list(spate_session *session, struct text_table *table, struct error *err)
{
    static const char *const names[] = {"job id", "job name", "status", "start time"};
    (void)err;
    text_table_open(table, table->arena, table->budget, 4, names);
    for (const spate_result *job = next_job(session, NULL); job != NULL; job = next_job(session, job)) {
        time_t seconds = (time_t)(job->evaluation.start_us / 1000000);
        struct tm parts;
        char text[40];
        gmtime_r(&seconds, &parts);
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
        text_table_add(table, result_job_id(job));
        text_table_add(table, job->job_name);
        text_table_add(table, job->recovering ? "RESTARTING" : job->stopping ? "CANCELLING" : "RUNNING");
        text_table_add(table, text);
    }
    return STATUS_OK;
}

/* ---- STOP JOB ---- */

static spate_result *find_job(spate_session *session, const char *name)
{
    for (spate_result *result = session->results; result != NULL; result = result->next) {
        if (is_running(result) && (strcmp(result->job_name, name) == 0 || strcmp(result_job_id(result), name) == 0)) {
            return result;
        }
    }
    return NULL;
}

/* As SIGTERM does for one job: what was read is processed, a last checkpoint, sinks show what there is. */
enum status job_stop_now(spate_result *job, struct error *err)
{
    int step = SPATE_STEP_WORKED;
    spate_result_stop(job);
    while (step != SPATE_STEP_ENDED) {
        TRY(result_step(job, 0, &step, err));
    }
    return STATUS_OK;
}

enum status job_stop_run(spate_session *session, const struct ast_statement *statement, const char **message, struct arena *arena,
                         struct error *err)
{
    const struct ast_command *command = statement->other;
    const char *where = NULL;
    if (command->with_drain) {
        return error_set_at(err, ERROR_NOT_SUPPORTED, command->at.line, command->at.column,
                            "STOP JOB ... WITH DRAIN is not supported: it would fire windows whose rows are still to come");
    }
    spate_result *job = find_job(session, command->text);
    if (job == NULL) {
        return error_set_at(err, ERROR_MISUSE, command->at.line, command->at.column,
                            "no job '%s' runs in this session; SHOW JOBS lists them", command->text);
    }
    if (command->with_savepoint) {
        TRY(durable_savepoint(job, NULL, &where, err));
        session_tell(session, "savepoint of job '%s': %s", job->job_name, where);
    }
    TRY(job_stop_now(job, err));
    *message = arena_format(arena, "The job '%s' has been stopped%s%s.", job->job_name, where == NULL ? "" : ", its savepoint is at ",
                            where == NULL ? "" : where);
    return STATUS_OK;
}

/* ---- what others ask for ---- */

static enum status take_savepoint(spate_result *job, const char *place, const char **where, struct error *err)
{
    enum status status = durable_savepoint(job, place, where, err);
    if (status == STATUS_OK) {
        session_tell(job->session, "savepoint of job '%s': %s", job->job_name, *where);
    } else {
        session_tell(job->session, "no savepoint of job '%s': %s", job->job_name, err->text);
    }
    return status;
}

/* At once, as if the process had died: what no checkpoint names has not happened. */
static void kill_job(spate_result *job)
{
    session_tell(job->session, "job '%s' was killed from outside", job->job_name);
    recovery_close_attempt(job);
    job->state = JOB_ENDED;
}

static enum status obey(spate_result *job, const struct job_request *request, const char **where, struct error *err)
{
    if (request->ask == JOB_ASK_SAVEPOINT || request->ask == JOB_ASK_STOP_SAVEPOINT) {
        TRY(take_savepoint(job, request->place[0] == '\0' ? NULL : request->place, where, err));
        *where = arena_text(job->arena, *where, strlen(*where)); /* it was the checkpointer's */
        TRY_ALLOC(*where, *where, err);
    }
    if (request->ask == JOB_ASK_STOP || request->ask == JOB_ASK_STOP_SAVEPOINT) {
        session_tell(job->session, "job '%s' is stopped from outside", job->job_name);
        return job_stop_now(job, err);
    }
    if (request->ask == JOB_ASK_KILL) {
        kill_job(job);
    }
    return STATUS_OK;
}

static void answer(spate_result *job, const struct job_request *request, struct arena *arena)
{
    struct error err;
    const char *where = "", *id = checkpointer_job_id(job->checkpointer);
    id = arena_text(arena, id, strlen(id));
    if (id != NULL) {
        enum status status = obey(job, request, &where, &err);
        job_request_answer(job->session->storage, id, request, where, status == STATUS_OK ? NULL : err.text);
    }
}

enum status jobs_answer(spate_result *job, struct error *err)
{
    struct arena *arena;
    struct job_request request;
    TRY_ALLOC(arena, arena_create(&job->session->budget, "requests"), err);
    if (job_request_find(job->session->storage, checkpointer_job_id(job->checkpointer), arena, &request)) {
        answer(job, &request, arena);
    }
    arena_destroy(arena);
    return STATUS_OK;
}

/* How many jobs others have asked for. */
static uint32_t answer_requests(spate_session *session, struct arena *arena)
{
    uint32_t answered = 0;
    for (spate_result *job = next_job(session, NULL); job != NULL; job = next_job(session, job)) {
        struct job_request request;
        if (job->checkpointer != NULL && !checkpointer_is_task(job->checkpointer) &&
            job_request_find(session->storage, checkpointer_job_id(job->checkpointer), arena, &request)) {
            answer(job, &request, arena);
            answered++;
        }
    }
    return answered;
}

int spate_session_savepoints(spate_session *session)
{
    struct arena *arena = arena_create(&session->budget, "requests");
    if (arena == NULL) {
        return session_fail(session, error_set(&session->error, ERROR_BUDGET_SPENT, "no room for savepoints"));
    }
    if (answer_requests(session, arena) == 0) {
        if (next_job(session, NULL) == NULL) {
            session_tell(session, "no job is running that a savepoint could be taken of");
        }
        for (spate_result *job = next_job(session, NULL); job != NULL; job = next_job(session, job)) {
            struct error err;
            const char *where;
            (void)!take_savepoint(job, NULL, &where, &err); /* it has been said */
        }
    }
    arena_destroy(arena);
    return SPATE_OK;
}
