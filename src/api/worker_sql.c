/* A task of a job that was submitted: a session of its own runs the job's script, as far as this one job is concerned; of a program it makes
 * the tables, and then the program is started. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/worker_internal.h"
#include "api/program.h"
#include "storage/config_store.h"

enum { WAIT_MS = 50, SUSPENDED_US = 10000, SETTINGS_MAX = 512 };
#define SCRIPT_HEAD "-- spate:script "

struct sql_task {
    struct worker_job *job;
    struct task_run *run;
    struct arena *arena;
    struct job_definition definition;
    char name[TASK_TEXT_BYTES], copies[STANDBY_PATH_BYTES];
    struct session_share share;
    struct checkpoint_task checkpoint;
    spate_session *session;
    spate_result *result;
};

static enum status session_status(spate_session *session, struct error *err)
{
    *err = session->error;
    return err->status;
}

static void tell(void *context, const char *line)
{
    const struct sql_task *self = context;
    worker_tell(self->job->worker, "%s: %s", self->name, line);
}

static void cancel(void *context)
{
    const struct sql_task *self = context;
    spate_cancel(self->session);
}

/* ---- the session ---- */

static enum status read_definition(struct sql_task *self, struct error *err)
{
    enum object_result result;
    TRY(job_definition_read(self->job->worker->session->storage, self->job->id, self->arena, &result, &self->definition, err));
    if (result != OBJECT_OK) {
        return error_set(err, ERROR_STORE_MISSING, "the definition of job '%s' is not in the storage", self->job->name);
    }
    return STATUS_OK;
}

static bool is_given(const struct spate_worker *worker, const char *key)
{
    for (const char *const *at = worker->settings; *at != NULL; at++) {
        if (strncmp(*at, key, strlen(key)) == 0 && (*at)[strlen(key)] == '=') {
            return true;
        }
    }
    return false;
}

/* Those that the job was submitted with, then the worker's own. */
static enum status collect_settings(struct sql_task *self, const char **settings, struct error *err)
{
    const struct job_definition *definition = &self->definition;
    uint32_t count = 0;
    for (uint32_t i = 0; i < definition->secret_count; i++) {
        if (!is_given(self->job->worker, definition->secrets[i])) {
            return error_set(err, ERROR_MISSING_OPTION, "'%s' was a secret and is not stored with job '%s': give it to the worker with -s",
                             definition->secrets[i], self->job->name);
        }
    }
    for (uint32_t i = 0; i < definition->setting_count && count < SETTINGS_MAX; i++) {
        settings[count++] = definition->settings[i];
    }
    for (const char *const *at = self->job->worker->settings; *at != NULL && count < SETTINGS_MAX; at++) {
        settings[count++] = *at;
    }
    settings[count] = NULL;
    return STATUS_OK;
}

/* Relative paths of the script mean what they meant where it was submitted. The working folder becomes one of this thread (and of those that
 * it starts), since other tasks have others. */
static enum status enter_folder(const char *folder, struct error *err)
{
    char here[4096];
    if (getcwd(here, sizeof here) != NULL && strcmp(here, folder) == 0) {
        return STATUS_OK;
    }
    if (unshare(CLONE_FS) == 0 && chdir(folder) == 0) {
        return STATUS_OK;
    }
    return error_set(err, ERROR_FILE_UNREADABLE,
                     "cannot work in '%s', where the job was submitted: %s; make that folder, or start the worker in it", folder,
                     strerror(errno));
}

static enum status open_session(struct sql_task *self, struct error *err)
{
    const char *settings[SETTINGS_MAX + 1];
    TRY(read_definition(self, err));
    TRY(collect_settings(self, settings, err));
    TRY(enter_folder(self->definition.folder, err));
    int opened = session_open_below(settings, &self->job->worker->session->budget, &self->session);
    if (self->session == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room for the session of a task");
    }
    if (opened != SPATE_OK) {
        return session_status(self->session, err);
    }
    self->session->share = &self->share;
    self->session->task = &self->checkpoint;
    self->session->piece = self->run->piece;
    self->session->pieces = self->run->pieces;
    spate_session_on_notice(self->session, tell, self);
    task_run_on_abandon(self->run, cancel, self);
    return STATUS_OK;
}

/* ---- the script ---- */

/* Statements up to the job's own INSERT. */
static enum status run_statements(struct sql_task *self, const char *sql, size_t length, struct error *err)
{
    size_t offset = 0;
    for (bool more = true; more && self->result == NULL;) {
        spate_result *result = NULL;
        if (spate_execute(self->session, sql, length, &offset, &result) != SPATE_OK) {
            return session_status(self->session, err);
        }
        more = result != NULL;
        if (result != NULL && result->kind == SPATE_RESULT_INSERT) {
            self->result = result;
        } else {
            spate_result_close(result);
        }
    }
    return STATUS_OK;
}

/* Each script of the text names its jobs. */
static enum status run_scripts(struct sql_task *self, struct error *err)
{
    const char *sql;
    TRY(secret_resolve(self->definition.sql, self->arena, &sql, err));
    for (const char *at = sql; *at != '\0' && self->result == NULL;) {
        const char *next = strstr(at + 1, "\n" SCRIPT_HEAD);
        size_t length = next == NULL ? strlen(at) : (size_t)(next + 1 - at);
        if (strncmp(at, SCRIPT_HEAD, strlen(SCRIPT_HEAD)) == 0) {
            char *name = arena_text(self->arena, at + strlen(SCRIPT_HEAD), strcspn(at + strlen(SCRIPT_HEAD), "\n"));
            if (name == NULL || spate_session_name_script(self->session, name) != SPATE_OK) {
                return error_set(err, ERROR_BUDGET_SPENT, "no room for the name of a script");
            }
        }
        TRY(run_statements(self, at, length, err));
        at += length;
    }
    const struct spate_task_spec *program = self->job->worker->program;
    if (program != NULL && task_start(self->session, program, &self->result, err) != STATUS_OK) {
        return err->status;
    }
    return self->result != NULL
               ? STATUS_OK
               : error_set(err, ERROR_STATE_MISFIT, "the script of job '%s' has no INSERT of that name any more", self->job->name);
}

/* ---- ticks ---- */

static enum status step(struct sql_task *self, bool *ended, struct error *err)
{
    int outcome;
    if (spate_result_step(self->result, WAIT_MS, &outcome) != SPATE_OK) {
        return session_status(self->session, err);
    }
    *ended = outcome == SPATE_STEP_ENDED;
    return STATUS_OK;
}

static enum status tick(struct sql_task *self, bool *ended, struct error *err)
{
    for (bool stopped = false;;) {
        bool over = false;
        enum task_wish wish = task_run_wish(self->run);
        if (wish == TASK_ABANDON) {
            return STATUS_OK;
        }
        if (wish == TASK_SUSPEND) {
            usleep(SUSPENDED_US);
            continue;
        }
        if (wish == TASK_STOP && !stopped) {
            spate_result_stop(self->result);
            stopped = true;
        }
        TRY(step(self, &over, err));
        if (over) {
            *ended = self->result->finished || (self->result->job != NULL && job_reached_end(self->result->job));
            return STATUS_OK;
        }
    }
}

static enum status run_task(struct sql_task *self, bool *ended, struct error *err)
{
    TRY(open_session(self, err));
    TRY(run_scripts(self, err));
    task_run_started(self->run);
    return tick(self, ended, err);
}

enum status worker_sql_run(void *context, struct task_run *run, bool *ended, struct error *err)
{
    struct sql_task self = {.job = context, .run = run};
    task_text(run->task, self.name);
    self.share =
        (struct session_share){.job = self.job->name, .run = run, .edits = self.job->edits, .process_leaves = &self.job->worker->leaving};
    self.checkpoint = (struct checkpoint_task){
        .name = self.name, .epoch = run->epoch, .life = run->life, .session = run->session, .prefix = run->prefix, .job = run->job_id};
    TRY_ALLOC(self.arena, arena_create(NULL, "task"), err);
    enum status status = run_task(&self, ended, err);
    if (*ended) {
        edits_group_note_ended(self.job->edits, run->task);
    }
    if (status != STATUS_OK && status != STATUS_FENCED && task_run_wish(run) == TASK_GO_ON) {
        worker_job_note_failure(self.job, run->task, err);
    }
    task_run_on_abandon(run, NULL, NULL);
    spate_session_close(self.session);
    arena_destroy(self.arena);
    return status;
}
