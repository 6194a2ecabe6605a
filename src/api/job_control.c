/* Ending and removing jobs from outside (spate/operations.h). A job that runs is asked by way of its lock; else its record is marked, and an
 * attempt to start it again sees that (recovery.c). */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/cluster_job.h"
#include "api/session.h"
#include "connectors/sink.h"
#include "job/job_lock.h"
#include "spate/operations.h"
#include "state/saved_state.h"
#include "storage/job_definition.h"
#include "storage/job_outputs.h"

struct control {
    spate_session *session;
    struct job_record record;
    enum job_running running;
    int pid;
    bool shared; /* of several processes: `link` is open */
    struct cluster_job link;
};

static enum status control_open(struct control *self, spate_session *session, const char *job, struct error *err)
{
    *self = (struct control){.session = session};
    TRY(durable_storage(session, err));
    TRY(job_find(session->storage, job, session->arena, &self->record, err));
    self->running = job_lock_look(session->storage, self->record.id, &self->pid);
    return cluster_job_find(session, &self->record, &self->shared, &self->link, err);
}

static void control_close(struct control *self)
{
    if (self->shared) {
        cluster_job_close(&self->link);
    }
}

static int control_end(struct control *self, spate_session *session, enum status status)
{
    control_close(self);
    return status == STATUS_OK ? SPATE_OK : session_fail(session, status);
}

static enum status refuse_unseen(const struct control *self, const char *what, struct error *err)
{
    return error_set(err, ERROR_STORE_UNABLE, "whether job '%s' runs cannot be told from here: its storage is not a folder; %s",
                     self->record.name, what);
}

enum { UNSEEN_PATIENCE_MS = 60000 }; /* a process looks every 5 seconds, and when it has stored a checkpoint */

/* Asks whoever runs it. */
static enum status ask(const struct control *self, enum job_ask ask, const char *place, int64_t timeout_ms, const char **where,
                       struct error *err)
{
    bool unseen = self->running == JOB_RUNNING_UNKNOWN;
    int64_t patience_ms = unseen && timeout_ms > UNSEEN_PATIENCE_MS ? UNSEEN_PATIENCE_MS : timeout_ms;
    return job_request_send(self->session->storage, self->record.id, ask, place, patience_ms * 1000, self->session->arena, where, err);
}

/* ---- stop, kill ---- */

/* A finished job stays finished: it has a last checkpoint that says so. */
static enum status mark(const struct control *self, enum job_desired desired, struct error *err)
{
    return job_record_mark(self->session->storage, self->record.id, desired, err);
}

/* Nobody has answered. If that is because nobody runs it, this is all there is to do. */
static enum status mark_unseen(const struct control *self, enum job_desired desired, enum status status, struct error *err)
{
    struct error ignored;
    if (self->running == JOB_RUNNING_UNKNOWN && mark(self, desired, &ignored) == STATUS_OK) {
        error_add_context(err, "it may be that none runs it: the job's record says '%s' now, and nobody starts it again by itself",
                          job_desired_name(desired));
    }
    return status;
}

static enum status stop_job(struct control *self, const char *savepoint, int64_t timeout_ms, const char **where, struct error *err)
{
    spate_session *session = self->session;
    if (self->shared && savepoint != NULL) {
        return error_set(err, ERROR_NOT_SUPPORTED,
                         "job '%s' runs on several processes: take its savepoint first, with `spate ctl %s savepoint`", self->record.name,
                         self->record.name);
    }
    if (self->shared) {
        return cluster_job_stop(&self->link, &self->record, timeout_ms * 1000, err);
    }
    const char *place = savepoint == NULL || savepoint[0] == '\0' ? NULL : savepoint;
    TRY(operation_absolute_place(session->arena, place, &place, err));
    if (self->running != JOB_RUNNING_NOWHERE) {
        enum status status = ask(self, savepoint == NULL ? JOB_ASK_STOP : JOB_ASK_STOP_SAVEPOINT, place, timeout_ms, where, err);
        return status == STATUS_OK ? mark(self, DESIRED_STOPPED, err) : mark_unseen(self, DESIRED_STOPPED, status, err);
    } else if (savepoint != NULL) {
        TRY(operation_savepoint_at_rest(session, &self->record, place, where, err));
    }
    return mark(self, DESIRED_STOPPED, err);
}

int spate_job_stop(spate_session *session, const char *job, const char *savepoint, int64_t timeout_ms, const char **where)
{
    struct control self;
    *where = "";
    enum status status = control_open(&self, session, job, &session->error);
    if (status == STATUS_OK) {
        status = stop_job(&self, savepoint, timeout_ms, where, &session->error);
    }
    return control_end(&self, session, status);
}

static enum status kill_job(struct control *self, int64_t timeout_ms, struct error *err)
{
    const char *ignored;
    if (self->shared) {
        return cluster_job_kill(&self->link, &self->record, timeout_ms * 1000, err);
    }
    if (self->running != JOB_RUNNING_NOWHERE) {
        enum status status = ask(self, JOB_ASK_KILL, NULL, timeout_ms, &ignored, err);
        if (status != STATUS_OK && self->pid != 0) {
            error_add_context(err, "`kill -9 %d` ends all jobs of that process; they lose nothing that a checkpoint names", self->pid);
        }
        if (status != STATUS_OK) {
            return mark_unseen(self, DESIRED_KILLED, status, err);
        }
    }
    return mark(self, DESIRED_KILLED, err);
}

int spate_job_kill(spate_session *session, const char *job, int64_t timeout_ms)
{
    struct control self;
    enum status status = control_open(&self, session, job, &session->error);
    if (status == STATUS_OK) {
        status = kill_job(&self, timeout_ms, &session->error);
    }
    return control_end(&self, session, status);
}

/* ---- remove ---- */

/* What its sinks have left that was never shown. */
static enum status discard_outputs(const struct job_outputs *outputs, struct error *err)
{
    for (uint32_t i = 0; i < outputs->count; i++) {
        char name[64];
        const char *blank = strchr(outputs->places[i], ' ');
        snprintf(name, sizeof name, "%.*s", (int)(blank == NULL ? 0 : blank - outputs->places[i]), outputs->places[i]);
        const struct sink_type *type = sink_type_find(name);
        enum status status = type == NULL || type->discard == NULL ? STATUS_OK : type->discard(blank + 1, err);
        if (status != STATUS_OK) {
            error_add_context(err, "the job is removed, but not all of what it has left in '%s'", blank + 1);
            return status;
        }
    }
    return STATUS_OK;
}

/* The lock is held meanwhile, so that nobody starts the job. */
static enum status remove_job(struct control *self, uint32_t flags, struct error *err)
{
    struct storage *storage = self->session->storage;
    const struct job_lock_wish wish = {.job = self->record.name};
    enum object_result result;
    int lock;
    if (self->running == JOB_RUNNING_UNKNOWN && (flags & SPATE_REMOVE_UNSEEN) == 0) {
        return refuse_unseen(self, "--force removes it all the same: see that its process has ended", err);
    }
    struct job_outputs outputs;
    if (self->shared) {
        TRY(cluster_job_forget(&self->link, &self->record, err));
    }
    TRY(job_lock_take(storage, self->record.id, &wish, &lock, err));
    enum status status = job_outputs_read(storage, self->record.id, self->session->arena, &outputs, err);
    if (status == STATUS_OK) {
        status = job_record_remove(storage, self->record.id, (flags & SPATE_REMOVE_SAVEPOINTS) != 0, &result, err);
    }
    if (status == STATUS_OK && result == OBJECT_CONFLICT) {
        status =
            error_set(err, ERROR_STORE_REFUSED,
                      "job '%s' has savepoints that are kept with it: --with-savepoints removes them too; `spate job show %s` lists them",
                      self->record.name, self->record.name);
    } else if (status == STATUS_OK) {
        job_lock_forget(storage, self->record.id);
        status = discard_outputs(&outputs, err);
    }
    if (lock >= 0) {
        close(lock);
    }
    return status;
}

enum status job_remove_now(spate_session *session, const char *job, uint32_t flags, struct error *err)
{
    struct control self;
    enum status status = control_open(&self, session, job, err);
    if (status == STATUS_OK) {
        status = remove_job(&self, flags, err);
    }
    control_close(&self);
    return status;
}

int spate_job_remove(spate_session *session, const char *job, uint32_t flags)
{
    enum status status = job_remove_now(session, job, flags, &session->error);
    return status == STATUS_OK ? SPATE_OK : session_fail(session, status);
}

/* ---- restart of a job on several processes ---- */

static enum status restart_job(spate_session *session, const char *job, uint32_t flags, int *shared, struct error *err)
{
    struct job_record record;
    struct cluster_job_facts facts;
    struct cluster_job link;
    bool is_shared;
    TRY(durable_storage(session, err));
    TRY(job_find(session->storage, job, session->arena, &record, err));
    TRY(cluster_job_facts(&record, session->arena, &is_shared, &facts, err));
    *shared = is_shared;
    if (!is_shared) {
        return STATUS_OK;
    }
    TRY(cluster_job_open(session, record.id, &link, err));
    enum status status = cluster_job_restart(&link, &record, &facts, (flags & SPATE_RESTART_TAKEOVER) != 0, err);
    cluster_job_close(&link);
    return status;
}

int spate_job_restart(spate_session *session, const char *job, uint32_t flags, int *shared)
{
    *shared = 0;
    enum status status = restart_job(session, job, flags, shared, &session->error);
    return status == STATUS_OK ? SPATE_OK : session_fail(session, status);
}
