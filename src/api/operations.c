/* Jobs from outside (spate/operations.h). */
#include "spate/operations.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "api/cluster_job.h"
#include "api/session.h"
#include "job/job_lock.h"
#include "state/saved_state.h"
#include "storage/job_definition.h"

struct operation {
    spate_session *session;
    spate_result *result; /* its arena ends with it */
    struct text_table table;
};

static enum status operation_begin(struct operation *self, spate_session *session, uint32_t columns, const char *const *names,
                                   struct error *err)
{
    *self = (struct operation){.session = session};
    TRY(durable_storage(session, err));
    TRY(result_create(session, SPATE_RESULT_ROWS, &self->result, err));
    text_table_open(&self->table, self->result->arena, &session->budget, columns, names);
    return result_queue_create(&self->result->queue, err);
}

static int operation_end(struct operation *self, enum status status, spate_result **result)
{
    struct error *err = &self->session->error;
    if (status == STATUS_OK) {
        status = text_table_finish(&self->table, &self->result->schema, self->result->queue, err);
    }
    *result = status == STATUS_OK ? self->result : NULL;
    if (status != STATUS_OK) {
        spate_result_close(self->result);
    }
    return status == STATUS_OK ? SPATE_OK : session_fail(self->session, status);
}

static const char *time_text(struct arena *arena, int64_t us)
{
    time_t seconds = (time_t)(us / 1000000);
    struct tm parts;
    char text[40];
    gmtime_r(&seconds, &parts);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return arena_format(arena, "%s", text);
}

/* ---- what a job is doing ---- */

struct job_look {
    struct job_record record;
    struct saved_state state;
    bool has_state;
    int pid;
    const char *status;
};

static const char *job_status(const struct job_look *look, bool ended, enum job_running running)
{
    if (running == JOB_RUNNING_HERE) {
        return "RUNNING";
    }
    if (ended) {
        return "FINISHED";
    }
    if (look->record.desired != DESIRED_RUNNING) {
        return look->record.desired == DESIRED_KILLED ? "KILLED" : "STOPPED";
    }
    return running == JOB_RUNNING_NOWHERE ? "DEAD" : "UNKNOWN";
}

static enum status look_at(struct operation *self, const struct job_record *record, struct job_look *look, struct error *err)
{
    enum object_result result;
    *look = (struct job_look){.record = *record};
    TRY(saved_state_of_job(self->session->storage, record->id, self->result->arena, &result, &look->state, err));
    look->has_state = result == OBJECT_OK;
    bool ended = false;
    if (look->has_state) {
        TRY(saved_state_has_ended(&look->state, self->result->arena, &ended, err));
    }
    struct cluster_job_facts facts;
    bool shared;
    TRY(cluster_job_facts(record, self->result->arena, &shared, &facts, err));
    if (shared) {
        return cluster_job_status(self->session, record, &look->status, err);
    }
    enum job_running running = job_lock_look(self->session->storage, record->id, &look->pid);
    look->status = job_status(look, ended, running);
    return STATUS_OK;
}

/* ---- list ---- */

static const char *checkpoint_text(const struct saved_state *state, struct arena *arena)
{
    return state->count == 1 ? arena_format(arena, "%" PRIu64, state->manifests[0].seq) : arena_format(arena, "%u tasks", state->count);
}

/* Of the latest ones of all tasks. */
static int64_t oldest_us(const struct saved_state *state)
{
    int64_t oldest = INT64_MAX;
    for (uint32_t i = 0; i < state->count; i++) {
        oldest = state->manifests[i].created_us < oldest ? state->manifests[i].created_us : oldest;
    }
    return oldest;
}

static enum status list_one(void *context, const struct job_record *record, bool *stop, struct error *err)
{
    (void)stop;
    struct operation *self = context;
    struct arena *arena = self->result->arena;
    struct job_look look;
    TRY(look_at(self, record, &look, err));
    text_table_add(&self->table, record->name);
    text_table_add(&self->table, record->id);
    text_table_add(&self->table, look.status);
    text_table_add(&self->table, look.pid == 0 ? NULL : arena_format(arena, "%d", look.pid));
    text_table_add(&self->table, look.has_state ? checkpoint_text(&look.state, arena) : NULL);
    text_table_add(&self->table, look.has_state ? time_text(arena, oldest_us(&look.state)) : NULL);
    return STATUS_OK;
}

int spate_job_list(spate_session *session, spate_result **result)
{
    static const char *const names[] = {"name", "id", "status", "process", "checkpoint", "checkpoint_time"};
    struct operation self;
    enum status status = operation_begin(&self, session, 6, names, &session->error);
    if (status == STATUS_OK) {
        status = job_record_list(session->storage, NULL, list_one, &self, &session->error);
    }
    return operation_end(&self, status, result);
}

/* ---- show ---- */

static void add_pair(struct operation *self, const char *key, const char *value)
{
    if (value != NULL) {
        text_table_add(&self->table, key);
        text_table_add(&self->table, value);
    }
}

struct checkpoint_size {
    uint64_t bytes, rows, files;
    uint32_t workers, databases;
};

static void add_size(const struct checkpoint_manifest *manifest, struct checkpoint_size *size)
{
    uint32_t workers = checkpoint_chain_count(manifest);
    size->workers += workers;
    size->databases += manifest->table_count - workers;
    for (uint32_t t = 0; t < manifest->table_count; t++) {
        size->files += manifest->tables[t].file_count;
        for (uint32_t f = 0; f < manifest->tables[t].file_count; f++) {
            size->bytes += manifest->tables[t].files[f].bytes;
            size->rows += manifest->tables[t].files[f].rows;
        }
    }
}

static void show_checkpoint(struct operation *self, const struct saved_state *state)
{
    struct arena *arena = self->result->arena;
    struct checkpoint_size size = {0};
    for (uint32_t i = 0; i < state->count; i++) {
        const struct checkpoint_manifest *manifest = &state->manifests[i];
        add_size(manifest, &size);
        if (state->count > 1) {
            add_pair(self, arena_format(arena, "checkpoint of %s", manifest->task),
                     arena_format(arena, "%" PRIu64 ", %s", manifest->seq, time_text(arena, manifest->created_us)));
        }
    }
    if (state->count == 1) {
        add_pair(self, "checkpoint", arena_format(arena, "%" PRIu64, state->manifests[0].seq));
        add_pair(self, "checkpoint time", time_text(arena, state->manifests[0].created_us));
    }
    add_pair(self, "checkpoint workers", arena_format(arena, "%u", size.workers));
    add_pair(self, "checkpoint files", arena_format(arena, "%" PRIu64, size.files));
    add_pair(self, "checkpoint bytes", arena_format(arena, "%" PRIu64, size.bytes));
    add_pair(self, "checkpoint rows",
             arena_format(arena, "%" PRIu64 ", with those of later changes%s", size.rows,
                          size.databases == 0 ? "" : ", without those in databases"));
}

static enum status show_definition(struct operation *self, const char *id, struct error *err)
{
    struct job_definition definition;
    enum object_result result;
    TRY(job_definition_read(self->session->storage, id, self->result->arena, &result, &definition, err));
    if (result != OBJECT_OK) {
        return STATUS_OK;
    }
    add_pair(self, "folder", definition.folder);
    for (uint32_t i = 0; i < definition.setting_count; i++) {
        add_pair(self, "setting", definition.settings[i]);
    }
    add_pair(self, "sql", definition.sql);
    return STATUS_OK;
}

static enum status show_savepoints(struct operation *self, const char *id, struct error *err)
{
    const char *const *names;
    uint32_t count;
    TRY(savepoint_list(self->session->storage, id, self->result->arena, &names, &count, err));
    for (uint32_t i = 0; i < count; i++) {
        const char *where;
        TRY(savepoint_where(self->session->storage, id, names[i], self->result->arena, &where, err));
        add_pair(self, "savepoint", where);
    }
    return STATUS_OK;
}

/* Of a job on several processes. */
static enum status show_shared(struct operation *self, const struct job_record *record, struct error *err)
{
    struct cluster_job_facts facts;
    bool shared;
    TRY(cluster_job_facts(record, self->result->arena, &shared, &facts, err));
    if (shared) {
        add_pair(self, "tasks", arena_format(self->result->arena, "%u: %s", facts.pieces == 0 ? 1 : facts.pieces, facts.reason));
        add_pair(self, "failure", facts.end == NULL || strcmp(facts.end, "finished") == 0 ? NULL : facts.end);
    }
    return STATUS_OK;
}

static enum status show_job(struct operation *self, const char *job, struct error *err)
{
    struct arena *arena = self->result->arena;
    struct job_record record;
    struct job_look look;
    TRY(job_find(self->session->storage, job, arena, &record, err));
    TRY(look_at(self, &record, &look, err));
    add_pair(self, "name", record.name);
    add_pair(self, "id", record.id);
    add_pair(self, "status", look.status);
    add_pair(self, "process", look.pid == 0 ? NULL : arena_format(arena, "%d", look.pid));
    add_pair(self, "created", time_text(arena, record.created_us));
    TRY(show_shared(self, &record, err));
    if (look.has_state) {
        show_checkpoint(self, &look.state);
    }
    TRY(show_savepoints(self, record.id, err));
    return show_definition(self, record.id, err);
}

int spate_job_show(spate_session *session, const char *job, spate_result **result)
{
    static const char *const names[] = {"key", "value"};
    struct operation self;
    enum status status = operation_begin(&self, session, 2, names, &session->error);
    if (status == STATUS_OK) {
        status = show_job(&self, job, &session->error);
    }
    return operation_end(&self, status, result);
}

/* ---- run again ---- */

int spate_session_script(spate_session *session, const char *sql, const char *folder, const char *const *settings)
{
    struct job_definition *script = session->opened ? arena_alloc(session->arena, sizeof *script) : NULL;
    uint32_t count = 0;
    while (settings != NULL && settings[count] != NULL) {
        count++;
    }
    const char **copies = script == NULL ? NULL : arena_alloc(session->arena, (count + 1) * sizeof *copies);
    if (copies == NULL) {
        return session_fail(session, error_set(&session->error, ERROR_MISUSE, "the session is not open, or has no room"));
    }
    *script = (struct job_definition){.sql = arena_text(session->arena, sql, strlen(sql)),
                                      .folder = arena_text(session->arena, folder, strlen(folder)),
                                      .settings = copies,
                                      .setting_count = count};
    for (uint32_t i = 0; i < count; i++) {
        copies[i] = arena_text(session->arena, settings[i], strlen(settings[i]));
    }
    session->script = script->sql != NULL && script->folder != NULL ? script : NULL;
    return SPATE_OK;
}

static enum status find_script(spate_session *session, const char *job, struct spate_job_script *script, struct error *err)
{
    struct job_record record;
    struct job_definition definition;
    enum object_result result;
    int pid;
    TRY(durable_storage(session, err));
    TRY(job_find(session->storage, job, session->arena, &record, err));
    if (job_lock_look(session->storage, record.id, &pid) == JOB_RUNNING_HERE) {
        return error_set(err, ERROR_JOB_TAKEN, "job '%s' is running: process %d", record.name, pid);
    }
    TRY(job_definition_read(session->storage, record.id, session->arena, &result, &definition, err));
    if (result != OBJECT_OK) {
        return error_set(err, ERROR_STORE_MISSING, "job '%s' was started by a program that did not store its SQL: start that again",
                         record.name);
    }
    const struct spate_job_script full = {.size = script->size,
                                          .name = record.name,
                                          .sql = definition.sql,
                                          .folder = definition.folder,
                                          .settings = definition.settings,
                                          .setting_count = definition.setting_count,
                                          .missing = definition.secrets,
                                          .missing_count = definition.secret_count};
    memcpy(script, &full, script->size < sizeof full ? script->size : sizeof full);
    return STATUS_OK;
}

int spate_job_script(spate_session *session, const char *job, struct spate_job_script *script)
{
    enum status status = find_script(session, job, script, &session->error);
    return status == STATUS_OK ? SPATE_OK : session_fail(session, status);
}

/* ---- savepoints ---- */

/* A relative path means the same to another process. */
enum status operation_absolute_place(struct arena *arena, const char *place, const char **absolute, struct error *err)
{
    char folder[4096];
    *absolute = place;
    if (place == NULL || strchr(place, '/') == NULL || strchr(place, ':') != NULL || place[0] == '/') {
        return STATUS_OK;
    }
    if (getcwd(folder, sizeof folder) == NULL) {
        return error_set(err, ERROR_FILE_UNREADABLE, "the working folder cannot be named: write '%s' as an absolute path", place);
    }
    TRY_ALLOC(*absolute, arena_format(arena, "%s/%s", folder, place), err);
    return STATUS_OK;
}

/* Of the latest checkpoint of a job that does not run. */
enum status operation_savepoint_at_rest(spate_session *session, const struct job_record *record, const char *place, const char **where,
                                        struct error *err)
{
    struct saved_state state;
    enum object_result result;
    struct cluster_job_facts facts;
    bool shared;
    TRY(cluster_job_facts(record, session->arena, &shared, &facts, err));
    if (shared) { /* which checkpoints count, the commit records say */
        return error_set(err, ERROR_CTL_NO_GROUND,
                         "job '%s' is run by workers: `spate ctl %s savepoint --name NAME --wait` takes its savepoints", record->name,
                         record->name);
    }
    TRY(saved_state_of_job(session->storage, record->id, session->arena, &result, &state, err));
    if (result != OBJECT_OK) {
        return error_set(err, ERROR_STORE_MISSING, "job '%s' does not run and has no checkpoint yet", record->name);
    }
    if (place == NULL) {
        TRY_ALLOC(place, arena_format(session->arena, "checkpoint-%" PRIu64, state.manifests[0].seq), err);
    }
    TRY(savepoint_create(session->storage, record->id, place, state.manifests, state.count, &result, err));
    if (result != OBJECT_OK) {
        return error_set(err, ERROR_ALREADY_EXISTS, "there is a savepoint at '%s' already", place);
    }
    return savepoint_where(session->storage, record->id, place, session->arena, where, err);
}

static enum status job_savepoint(spate_session *session, const char *job, const char *place, int64_t timeout_ms, const char **where,
                                 struct error *err)
{
    struct job_record record;
    int pid;
    TRY(durable_storage(session, err));
    TRY(job_find(session->storage, job, session->arena, &record, err));
    TRY(operation_absolute_place(session->arena, place, &place, err));
    return job_lock_look(session->storage, record.id, &pid) == JOB_RUNNING_HERE
               ? job_request_send(session->storage, record.id, JOB_ASK_SAVEPOINT, place, timeout_ms * 1000, session->arena, where, err)
               : operation_savepoint_at_rest(session, &record, place, where, err);
}

int spate_job_savepoint(spate_session *session, const char *job, const char *place, int64_t timeout_ms, const char **where)
{
    enum status status = job_savepoint(session, job, place, timeout_ms, where, &session->error);
    return status == STATUS_OK ? SPATE_OK : session_fail(session, status);
}
