/* Jobs that outlive their process: which storage, which name, what the user is told. */
#include <string.h>

#include "api/session.h"
#include "base/random.h"
#include "storage/job_definition.h"
#include "storage/job_outputs.h"

enum { TASK_INTERVAL_US = 10000000 }; /* of a job that several processes work on, and that has set none */

struct job_name {
    struct job_name *next;
    const char *name;
    uint32_t used;
};

enum status durable_storage(spate_session *session, struct error *err)
{
    if (session->storage != NULL) {
        return STATUS_OK;
    }
    const struct storage_settings storage = settings_storage(&session->settings);
    return storage_open(&storage, &session->storage, err);
}

void durable_close_session(spate_session *session)
{
    storage_close(session->storage);
    session->storage = NULL;
}

/* The session's name for jobs; the second of the name gets "-2", and so on, so that a script's INSERTs keep theirs from run to run. */
static enum status choose_name(spate_session *session, const char **name, struct error *err)
{
    const char *base = session->settings.values.job_name;
    base = base != NULL ? base : session->default_job_name != NULL ? session->default_job_name : "spate";
    struct job_name *entry = session->job_names;
    while (entry != NULL && strcmp(entry->name, base) != 0) {
        entry = entry->next;
    }
    if (entry == NULL) {
        TRY_ALLOC(entry, arena_alloc(session->arena, sizeof *entry), err);
        *entry = (struct job_name){session->job_names, base, 0};
        session->job_names = entry;
    }
    entry->used++;
    *name = entry->used == 1 ? base : arena_format(session->arena, "%s-%u", base, entry->used);
    return *name != NULL ? STATUS_OK : error_set(err, ERROR_BUDGET_SPENT, "no room for the name of a job");
}

enum status durable_name(spate_result *result, struct error *err)
{
    return result->job_name != NULL ? STATUS_OK : choose_name(result->session, &result->job_name, err);
}

int spate_session_name_jobs(spate_session *session, const char *name)
{
    char *copy = session->opened ? arena_text(session->arena, name, strlen(name)) : NULL;
    if (copy == NULL) {
        return session_fail(session, error_set(&session->error, ERROR_MISUSE, "the session is not open, or has no room"));
    }
    session->default_job_name = copy;
    return SPATE_OK;
}

/* "jobs/orders.sql" names its jobs "orders"; texts without a file ("<stdin>") name none. */
int spate_session_name_script(spate_session *session, const char *script)
{
    char name[256];
    const char *slash = strrchr(script, '/');
    const char *base = slash == NULL ? script : slash + 1;
    size_t length = strcspn(base, ".");
    if (base[0] == '<' || length == 0 || length >= sizeof name) {
        return SPATE_OK;
    }
    memcpy(name, base, length);
    name[length] = '\0';
    return spate_session_name_jobs(session, name);
}

static void name_job(const struct checkpointer *checkpointer, struct plan_context *context)
{
    struct checkpoint_names names;
    checkpointer_names(checkpointer, &names);
    context->job_id = checkpointer_job_id(checkpointer);
    context->job_task = names.task;
    context->job_lineage = names.lineage;
    context->job_saved = names.saved;
    context->job_saved_end = names.saved_end;
}

/* One for all attempts. A store of logs that refuses is no reason not to run. */
static void open_journal(spate_result *result, const char *job_id)
{
    struct random_source random;
    char incarnation[RANDOM_NAME_BYTES];
    struct error err;
    random_open(&random, 0);
    random_name(&random, incarnation);
    if (journal_open(result->session->storage, job_id, incarnation, &result->journal, &err) != STATUS_OK) {
        session_tell(result->session, "job '%s' keeps no log: %s", result->job_name, err.text);
        return;
    }
    journal_event(result->journal, LOG_INFO, "job.start", "%s", result->message[0] != '\0' ? result->message : "the job begins");
}

static void tell_wait(void *context, const char *owner)
{
    spate_result *result = context;
    session_tell(result->session, "job '%s' is run by another process%s%s; this one stands by", result->job_name,
                 owner[0] != '\0' ? ", " : "", owner);
}

enum status durable_open(spate_result *result, struct plan_context *context, struct error *err)
{
    if (result->checkpointer != NULL) {
        name_job(result->checkpointer, context);
        return STATUS_OK;
    }
    spate_session *session = result->session;
    enum job_start start;
    TRY(durable_storage(session, err));
    TRY(durable_name(result, err));
    struct checkpointer_spec spec = {.storage = session->storage,
                                     .job = result->job_name,
                                     .task = session->task,
                                     .budget = &session->budget,
                                     .clock = session->clock,
                                     .settings = settings_checkpoints(&session->settings),
                                     .cancelled = &session->cancelled};
    spec.settings.fresh = spec.settings.fresh && !result->durable; /* once, not at each restart */
    if (session->share != NULL && spec.settings.interval_us == 0) {
        spec.settings.interval_us = TASK_INTERVAL_US;
    }
    spec.journal = &result->journal;
    spec.wait = (struct job_lock_wait){tell_wait, result};
    TRY(checkpointer_open(&spec, &result->checkpointer, &start, &result->message, err));
    result->durable = true;
    name_job(result->checkpointer, context);
    if (result->journal == NULL) {
        open_journal(result, checkpointer_job_id(result->checkpointer));
    }
    result->finished = start == START_FINISHED;
    if (checkpointer_is_following(result->checkpointer) || checkpointer_is_task(result->checkpointer)) {
        return STATUS_OK; /* the job's record is the other's, or was written when it was submitted */
    }
    return session->script == NULL ? job_record_mark(session->storage, context->job_id, DESIRED_RUNNING, err)
                                   : job_definition_write(session->storage, context->job_id, session->script, err);
}

enum status durable_note_outputs(spate_result *result, struct error *err)
{
    struct job_outputs outputs;
    if (result->checkpointer == NULL || checkpointer_is_following(result->checkpointer)) {
        return STATUS_OK;
    }
    TRY(plan_list_leavings(result->plan, &outputs.places, &outputs.count, err));
    return job_outputs_add(result->session->storage, checkpointer_job_id(result->checkpointer), &outputs, err);
}

/* ---- savepoints ---- */

/* A job without checkpoints: its record and lock are taken for the time of the savepoint. Its sinks show what they write themselves. */
static enum status savepoint_only(spate_result *result, const char *place, const char **where, struct error *err)
{
    spate_session *session = result->session;
    struct checkpointer *checkpointer;
    enum job_start start;
    const char *message;
    TRY(durable_storage(session, err));
    struct checkpointer_spec spec = {.storage = session->storage,
                                     .job = result->job_name,
                                     .budget = &session->budget,
                                     .clock = session->clock,
                                     .settings = settings_checkpoints(&session->settings),
                                     .cancelled = &session->cancelled};
    spec.settings.savepoint_only = true;
    TRY(checkpointer_open(&spec, &checkpointer, &start, &message, err));
    enum status status = checkpointer_savepoint(checkpointer, result->job, place, where, err);
    if (status == STATUS_OK) {
        *where = arena_text(result->arena, *where, strlen(*where));
        status = *where != NULL ? STATUS_OK : error_set(err, ERROR_BUDGET_SPENT, "no room for the place of a savepoint");
    }
    checkpointer_close(checkpointer);
    return status;
}

enum status durable_savepoint(spate_result *result, const char *place, const char **where, struct error *err)
{
    if (result->job == NULL || result->job_name == NULL || result->state != JOB_RUNNING) {
        return error_set(err, ERROR_MISUSE, "a savepoint is of an INSERT that runs");
    }
    enum status status = result->checkpointer == NULL ? savepoint_only(result, place, where, err)
                                                      : checkpointer_savepoint(result->checkpointer, result->job, place, where, err);
    if (status != STATUS_OK) {
        error_add_context(err, "while taking a savepoint of job '%s'", result->job_name);
    }
    return status;
}

int spate_result_savepoint(spate_result *result, const char *place, const char **where)
{
    enum status status = durable_savepoint(result, place, where, &result->session->error);
    return status == STATUS_OK ? SPATE_OK : session_fail(result->session, status);
}
