#include "api/cluster_job.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/coordinator.h"
#include "job/cluster_stores.h"
#include "spate/operations.h"
#include "storage/document.h"
#include "storage/job_definition.h"

enum { CHANGES_TRIED = 10, LOOK_US = 100000 };

/* ---- what the record says ---- */

const char *cluster_job_place(spate_session *session)
{
    const char *uri = session->settings.values.coordinator_uri;
    char here[4096];
    if (uri == NULL || strchr(uri, ':') != NULL || uri[0] == '/' || getcwd(here, sizeof here) == NULL) {
        return uri;
    }
    const char *place = arena_format(session->arena, "%s/%s", here, uri);
    return place != NULL ? place : uri;
}

enum status cluster_job_facts(const struct job_record *record, struct arena *arena, bool *shared, struct cluster_job_facts *facts,
                              struct error *err)
{
    json_t *extra = record->extra == NULL ? NULL : json_loads(record->extra, 0, NULL);
    const json_t *cluster = json_object_get(extra, "cluster");
    const char *reason = json_string_value(json_object_get(cluster, "reason"));
    *shared = cluster != NULL;
    *facts = (struct cluster_job_facts){.pieces = (uint32_t)json_integer_value(json_object_get(cluster, "pieces")),
                                        .bounded = json_is_true(json_object_get(cluster, "bounded")),
                                        .unfenced = json_is_true(json_object_get(cluster, "unfenced")),
                                        .program = json_is_true(json_object_get(cluster, "program"))};
    const char *end = json_string_value(json_object_get(cluster, "end"));
    facts->reason = arena_format(arena, "%s", reason == NULL ? "" : reason);
    const char *coordinator = json_string_value(json_object_get(cluster, "coordinator"));
    facts->end = end == NULL ? NULL : arena_format(arena, "%s", end);
    facts->coordinator = coordinator == NULL ? NULL : arena_format(arena, "%s", coordinator);
    json_decref(extra);
    return facts->reason != NULL && (end == NULL || facts->end != NULL) ? STATUS_OK
                                                                        : error_set(err, ERROR_BUDGET_SPENT, "no room for a job's record");
}

static enum status facts_text(const struct job_record *record, const struct cluster_job_facts *facts, struct arena *arena,
                              const char **extra, struct error *err)
{
    struct text text;
    json_t *root = record->extra == NULL ? json_object() : json_loads(record->extra, 0, NULL);
    root = root == NULL ? json_object() : root;
    json_t *cluster = json_pack("{sIsbsbsbss}", "pieces", (json_int_t)facts->pieces, "bounded", facts->bounded, "unfenced", facts->unfenced,
                                "program", facts->program, "reason", facts->reason);
    if (facts->coordinator != NULL) {
        json_object_set_new(cluster, "coordinator", json_string(facts->coordinator));
    }
    if (facts->end != NULL) {
        json_object_set_new(cluster, "end", json_string(facts->end));
    }
    json_object_set_new(root, "cluster", cluster);
    TRY(document_write(root, arena, &text, err));
    *extra = text.bytes;
    return STATUS_OK;
}

static enum status write_facts(struct storage *storage, const char *id, const struct cluster_job_facts *facts, struct arena *arena,
                               struct error *err)
{
    for (uint32_t i = 0; i < CHANGES_TRIED; i++) {
        struct job_record record;
        enum object_result result;
        TRY(job_record_read(storage, id, arena, &result, &record, err));
        if (result != OBJECT_OK) {
            return error_set(err, ERROR_STORE_MISSING, "the record of job %s is not there", id);
        }
        TRY(facts_text(&record, facts, arena, &record.extra, err));
        TRY(job_record_write(storage, &record, arena, &result, err));
        if (result == OBJECT_OK) {
            return STATUS_OK;
        }
    }
    return error_set(err, ERROR_STORE_UNAVAILABLE, "the record of job %s changes too fast to be written", id);
}

enum status cluster_job_note_end(struct cluster_job *job, const char *id, const char *end, struct error *err)
{
    struct arena *arena;
    struct job_record record;
    struct cluster_job_facts facts;
    enum object_result result;
    bool shared;
    TRY_ALLOC(arena, arena_create(NULL, "job record"), err);
    enum status status = job_record_read(job->session->storage, id, arena, &result, &record, err);
    if (status == STATUS_OK && result == OBJECT_OK) {
        status = cluster_job_facts(&record, arena, &shared, &facts, err);
    }
    if (status == STATUS_OK && result == OBJECT_OK) {
        facts.end = end;
        facts.coordinator = end == NULL ? cluster_job_place(job->session) : facts.coordinator;
        status = write_facts(job->session->storage, id, &facts, arena, err);
    }
    arena_destroy(arena);
    return status;
}

/* ---- one job's registers ---- */

enum status cluster_job_open_on(spate_session *session, struct cluster_session *coordinator, const char *id, struct cluster_job *job,
                                struct error *err)
{
    const struct runner_stores *bodies;
    *job = (struct cluster_job){.session = session, .coordinator = coordinator, .lent = true};
    TRY(cluster_stores_open(session->storage, coordinator, id, &job->stores, &bodies, err));
    random_open(&job->random, 0);
    edits_prefix(id, job->prefix);
    job->model = (struct model_register){coordinator, job->prefix, bodies, &session->budget, &job->random};
    return STATUS_OK;
}

enum status cluster_job_open(spate_session *session, const char *id, struct cluster_job *job, struct error *err)
{
    static const struct cluster_environment environment = {.clock = &clock_boot};
    struct cluster_session *coordinator;
    *job = (struct cluster_job){.session = session};
    TRY(coordinator_open(session, "a job on several processes", &environment, &coordinator, err));
    enum status status = cluster_job_open_on(session, coordinator, id, job, err);
    job->lent = false;
    if (status != STATUS_OK) {
        cluster_job_close(job);
    }
    return status;
}

void cluster_job_close(struct cluster_job *job)
{
    cluster_stores_close(job->stores);
    if (!job->lent) {
        cluster_close(job->coordinator, true);
    }
    job->stores = NULL;
    job->coordinator = NULL;
}

/* ---- the end ---- */

struct ending {
    enum model_state state, was;
};

static enum status set_state(void *context, struct model *model, bool *done, struct error *err)
{
    (void)err;
    struct ending *ending = context;
    ending->was = model->state;
    *done = model->state == ending->state || model->state == MODEL_FINISHED; /* that is for good */
    model->state = ending->state;
    return STATUS_OK;
}

enum status cluster_job_end(struct cluster_job *job, enum model_state state, enum cluster_result *result, enum model_state *was,
                            struct error *err)
{
    struct ending ending = {.state = state};
    TRY(model_register_change(&job->model, set_state, &ending, result, err));
    *was = ending.was;
    return STATUS_OK;
}

/* ---- submit ---- */

static enum status plan_facts(const spate_result *result, struct cluster_job_facts *facts, struct error *err)
{
    struct plan_spread spread;
    TRY(plan_find_spread(result->plan, &spread, err));
    *facts = (struct cluster_job_facts){.pieces = spread.pieces,
                                        .bounded = plan_is_bounded(result->plan) || result->program != NULL,
                                        .unfenced = plan_has_unfenced_sink(result->plan),
                                        .program = result->program != NULL,
                                        .reason = spread.reason,
                                        .coordinator = cluster_job_place(result->session)};
    return STATUS_OK;
}

/* The job's record; *found: it was there. */
static enum status take_record(const spate_result *result, const struct cluster_job_facts *facts, struct job_record *record, bool *found,
                               struct error *err)
{
    struct storage *storage = result->session->storage;
    enum object_result outcome;
    char id[JOB_ID_MAX + 1];
    TRY(job_record_find(storage, result->job_name, &outcome, id, err));
    *found = outcome == OBJECT_OK;
    if (!*found) {
        *record = (struct job_record){.name = result->job_name, .desired = DESIRED_RUNNING};
        TRY(facts_text(record, facts, result->arena, &record->extra, err));
        TRY(job_record_create(storage, record, result->arena, &outcome, err));
        *found = outcome == OBJECT_CONFLICT;
        memcpy(id, record->id, sizeof id);
    }
    TRY(job_record_read(storage, id, result->arena, &outcome, record, err));
    return outcome == OBJECT_OK ? STATUS_OK : error_set(err, ERROR_STORE_MISSING, "the record of job '%s' is not there", result->job_name);
}

static bool is_at_rest(enum model_state state)
{
    return state == MODEL_STOPPED || state == MODEL_KILLED || state == MODEL_FAILED || state == MODEL_FINISHED;
}

static enum status refuse_taken(const spate_result *result, const char *what, struct error *err)
{
    return error_set(err, ERROR_ALREADY_EXISTS,
                     "job '%s' %s; `spate job submit --replace` forgets that one with its state, another 'pipeline.name' keeps both",
                     result->job_name, what);
}

/* A record that was there: of a job that has ended and has the same tasks, it goes on. */
static enum status check_found(const spate_result *result, const struct cluster_job *job, const struct job_record *record,
                               const struct cluster_job_facts *facts, struct error *err)
{
    struct cluster_job_facts before;
    struct model *model;
    struct cluster_version version;
    enum cluster_result found;
    bool shared;
    TRY(cluster_job_facts(record, result->arena, &shared, &before, err));
    TRY(model_register_read(&job->model, result->arena, &found, &model, &version, err));
    bool rests = model == NULL || is_at_rest(model->state), finished = model != NULL && model->state == MODEL_FINISHED;
    model_unref(model);
    if (!shared) {
        return refuse_taken(result, "is there already, as a job of one process (spate run)", err);
    }
    if (!rests) {
        return refuse_taken(result, "is submitted already", err);
    }
    if (finished) {
        return refuse_taken(result, "has finished", err);
    }
    return before.pieces == facts->pieces ? STATUS_OK : refuse_taken(result, "has ended with the state of another number of tasks", err);
}

enum status cluster_job_fill_tasks(struct model *model, uint32_t pieces, struct error *err)
{
    uint32_t count = pieces == 0 ? 1 : pieces;
    TRY_ALLOC(model->tasks, arena_alloc(model->arena, count * sizeof *model->tasks), err);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t task = pieces == 0 ? TASK_ALL : task_make(0, i);
        model->tasks[i] = (struct model_task){.task = task, .epoch = model->version, .owner = MODEL_NONE};
    }
    model->task_count = count;
    return STATUS_OK;
}

enum status cluster_job_create_model(const struct cluster_job *job, const struct job_record *record, const struct cluster_job_facts *facts,
                                     uint64_t version, struct arena *arena, enum cluster_result *result, struct error *err)
{
    struct model *model = model_create(&job->session->budget, err);
    if (model == NULL) {
        return err->status;
    }
    model->job = arena_text(model->arena, record->id, strlen(record->id));
    model->rev = version; /* above all that processes have seen which outlived a coordinator that has lost it */
    model->version = version;
    model->term = (uint64_t)record->term_floor;
    model->plan = 1;
    model->unfenced = facts->unfenced;
    model->round.why = "submitted";
    enum status status = cluster_job_fill_tasks(model, facts->pieces, err);
    if (status == STATUS_OK) {
        status = model_register_put(&job->model, arena, model, NULL, result, err);
    }
    model_unref(model);
    return status;
}

static enum status submit_to(const spate_result *result, struct cluster_job *job, const struct job_record *record, bool found,
                             struct cluster_job_facts *facts, struct error *err)
{
    spate_session *session = result->session;
    enum cluster_result outcome = CLUSTER_CONFLICT;
    if (found) {
        TRY(check_found(result, job, record, facts, err));
    }
    TRY(write_facts(session->storage, record->id, facts, result->arena, err));
    TRY(job_definition_write(session->storage, record->id, session->script, err));
    if (found) { /* whoever had a part in it is fenced first, also when the coordinator has lost all that it knew of it */
        return cluster_job_restart(job, record, facts, false, err);
    }
    TRY(cluster_job_create_model(job, record, facts, 1, result->arena, &outcome, err));
    return outcome == CLUSTER_OK ? STATUS_OK : refuse_taken(result, "is being submitted by somebody else", err);
}

/* The job that has the name is ended and forgotten. */
static enum status replace(const spate_result *result, const struct job_record *record, struct error *err)
{
    enum { PATIENCE_US = 60000000 };
    spate_session *session = result->session;
    struct cluster_job job;
    struct error ignored;
    bool shared;
    TRY(cluster_job_find(session, record, &shared, &job, err));
    if (shared) {
        /* One that the coordinator does not know, or that is killed already, has nobody to be told. */
        (void)!cluster_job_kill(&job, record, PATIENCE_US, &ignored);
        cluster_job_close(&job);
    }
    return job_remove_now(session, record->id, SPATE_REMOVE_SAVEPOINTS | SPATE_REMOVE_UNSEEN, err);
}

enum status cluster_job_submit(spate_result *result, const char **message, struct error *err)
{
    spate_session *session = result->session;
    struct cluster_job_facts facts;
    struct cluster_job job;
    struct job_record record;
    bool found;
    const char *uri = session->settings.values.coordinator_uri;
    if (uri != NULL && strncmp(uri, "local:", 6) == 0 && strchr(uri, '/') == NULL) {
        return error_set(err, ERROR_CLUSTER_UNFIT, "'%s' is in this process alone: a job is submitted to a service that workers reach",
                         uri);
    }
    TRY(plan_facts(result, &facts, err));
    TRY(durable_storage(session, err));
    if (session->script == NULL) {
        return error_set(err, ERROR_MISUSE, "a session that submits jobs must know its script (spate_session_script)");
    }
    TRY(take_record(result, &facts, &record, &found, err));
    if (found && session->replaces) {
        TRY(replace(result, &record, err));
        TRY(take_record(result, &facts, &record, &found, err));
    }
    TRY(cluster_job_open(session, record.id, &job, err));
    enum status status = submit_to(result, &job, &record, found, &facts, err);
    cluster_job_close(&job);
    TRY(status);
    uint32_t tasks = facts.pieces == 0 ? 1 : facts.pieces;
    TRY_ALLOC(*message,
              arena_format(result->arena, "job '%s' is submitted as %s: %u task%s (%s)", result->job_name, record.id, tasks,
                           tasks == 1 ? "" : "s", facts.reason),
              err);
    return STATUS_OK;
}

int spate_session_submit(spate_session *session, uint32_t flags)
{
    session->submits = true;
    session->replaces = (flags & SPATE_SUBMIT_REPLACE) != 0;
    return SPATE_OK;
}
