/* A job with checkpoints obeys its control log when the session has 'coordinator.uri': between two ticks, an edit at a time, in order. */
#include "job/edits.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/program.h"
#include "api/session.h"
#include "base/cancel.h"
#include "job/tick_record.h"
#include "storage/document.h"

static bool may_obey(const spate_result *result)
{
    return result->job != NULL && result->checkpointer != NULL && !result->recovering && result->state == JOB_RUNNING &&
           !checkpointer_is_following(result->checkpointer) && !job_is_replaying(result->job);
}

/* ---- what stays in force ---- */

static int64_t *pace_member(struct checkpoint_pace *pace, enum edits_setting setting)
{
    int64_t *const members[EDITS_SETTING_COUNT] = {
        [EDITS_INTERVAL] = &pace->interval_us, [EDITS_MIN_PAUSE] = &pace->min_pause_us, [EDITS_TIMEOUT] = &pace->timeout_us};
    return members[setting];
}

static struct checkpoint_pace pace_of_session(const spate_result *result)
{
    const struct checkpoint_settings settings = settings_checkpoints(&result->session->settings);
    return (struct checkpoint_pace){settings.interval_us, settings.min_pause_us, settings.timeout_us};
}

/* Both verbs: without a value, it is as the job was started. What they say was checked before it was accepted; by a newer build, perhaps. */
static enum status change_setting(spate_result *result, const struct edit *edit, struct arena *arena, struct error *err)
{
    const char *name = edit_text(edit, "setting", arena), *value = edit_text(edit, "value", arena);
    enum edits_setting setting = name == NULL ? EDITS_SETTING_COUNT : edits_setting_find(name);
    struct checkpoint_pace started = pace_of_session(result);
    struct duration duration = {0};
    if (setting == EDITS_SETTING_COUNT) {
        return error_set(err, ERROR_CTL_NO_GROUND, "'%s' cannot change while the job runs", name == NULL ? "" : name);
    }
    if (value != NULL) {
        TRY(duration_parse(value, &duration, err));
    }
    *pace_member(&result->pace, setting) = value != NULL ? duration.us : *pace_member(&started, setting);
    checkpointer_set_pace(result->checkpointer, &result->pace);
    return STATUS_OK;
}

static enum status change_level(spate_result *result, const struct edit *edit, struct arena *arena, struct error *err)
{
    const char *name = edit_text(edit, "level", arena);
    uint32_t level = 0;
    while (name != NULL && level < LOG_LEVEL_COUNT && strcmp(log_level_name((enum log_level)level), name) != 0) {
        level++;
    }
    if (name == NULL || level == LOG_LEVEL_COUNT) {
        return error_set(err, ERROR_CTL_BAD_ARGUMENTS, "'%s' is no level of logs", name == NULL ? "" : name);
    }
    journal_set_level(result->journal, (enum log_level)level);
    return STATUS_OK;
}

/* No checkpoint has it: the log does. What this build cannot do is no reason not to run. */
static void apply_standing(spate_result *result)
{
    static const struct {
        const char *verb;
        enum status (*change)(spate_result *result, const struct edit *edit, struct arena *arena, struct error *err);
    } changes[] = {{"core.config.set", change_setting}, {"core.log.level", change_level}};
    uint32_t count;
    struct error err;
    const struct edit *standing = edits_standing(result->edits, &count);
    result->pace = pace_of_session(result);
    for (uint32_t i = 0; i < count; i++) {
        for (size_t k = 0; k < ARRAY_LENGTH(changes); k++) {
            if (strcmp(changes[k].verb, standing[i].verb) == 0 &&
                changes[k].change(result, &standing[i], result->arena, &err) != STATUS_OK) {
                session_tell(result->session, "job '%s' goes on without edit %llu: %s", result->job_name,
                             (unsigned long long)standing[i].rank, err.text);
            }
        }
    }
}

static enum status open_edits(spate_result *result, struct error *err)
{
    spate_session *session = result->session;
    struct edits_spec spec = {.uri = session->settings.values.coordinator_uri, .budget = &session->budget};
    TRY(settings_coordination(&session->settings, result->arena, &spec.options, &spec.option_count, err));
    if (session->share != NULL) {
        spec.group = session->share->edits;
        spec.task = session->share->run->task;
    }
    spec.job_id = checkpointer_job_id(result->checkpointer);
    spec.obeys_app = result->program != NULL && result->program->type.on_control != NULL;
    spec.applied = checkpointer_edits(result->checkpointer, &spec.goes_on);
    TRY(edits_open(&spec, &result->edits, err));
    checkpointer_note_edits(result->checkpointer, edits_rank(result->edits));
    apply_standing(result);
    bool stopped = edits_begin_stopped(result->edits);
    result->paused = stopped || edits_begin_paused(result->edits);
    if (result->paused) {
        session_tell(session, "job '%s' is %s, as its control log says", result->job_name, stopped ? "stopping" : "paused");
    }
    return STATUS_OK;
}

/* A paused job keeps its checkpoints and is stopped and cancelled like any other. */
static enum status rest(spate_result *result, int64_t wait_ms, struct error *err)
{
    enum { REST_MS = 20 };
    TRY(cancel_check(&result->session->cancelled, err));
    TRY(checkpointer_step(result->checkpointer, result->job, err));
    if (!checkpointer_is_copying(result->checkpointer)) {
        usleep((useconds_t)(wait_ms < REST_MS ? wait_ms : REST_MS) * 1000);
    }
    return STATUS_OK;
}

enum status edits_before_tick(spate_result *result, int64_t wait_ms, bool *rests, struct error *err)
{
    if (result->session->settings.values.coordinator_uri == NULL || !may_obey(result)) {
        return STATUS_OK;
    }
    if (result->edits == NULL) {
        TRY(open_edits(result, err));
    }
    *rests = result->paused && !result->stopping;
    return *rests ? rest(result, wait_ms, err) : STATUS_OK;
}

/* ---- verbs ---- */

struct obeying {
    spate_result *result;
    const struct edit *edit;
    struct arena *arena;
    const char *answer; /* JSON, or NULL */
    bool stops;
};

static enum status take_checkpoint(struct obeying *self, struct error *err)
{
    return STATUS_OK; /* every edit is followed by one, which acknowledges it */
}

static enum status savepoint_at(struct obeying *self, const char *place, struct error *err)
{
    const char *where;
    struct text json;
    TRY(durable_savepoint(self->result, place, &where, err));
    session_tell(self->result->session, "savepoint of job '%s': %s", self->result->job_name, where);
    TRY(document_write(json_pack("{ss}", "location", where), self->arena, &json, err));
    self->answer = json.bytes;
    return STATUS_OK;
}

/* Of a task that shares its job: the leader's process puts those of all tasks together, once they are there (api/worker_savepoint.c). */
static bool is_shared(const struct obeying *self)
{
    return self->result->session->share != NULL;
}

static enum status take_savepoint(struct obeying *self, struct error *err)
{
    return is_shared(self) ? STATUS_OK : savepoint_at(self, edit_text(self->edit, "name", self->arena), err);
}

static enum status pause_job(struct obeying *self, struct error *err)
{
    self->result->paused = true;
    return STATUS_OK;
}

static enum status resume_job(struct obeying *self, struct error *err)
{
    self->result->paused = false;
    return STATUS_OK;
}

static enum status stop_job(struct obeying *self, struct error *err)
{
    const char *savepoint = edit_text(self->edit, "savepoint", self->arena);
    if (is_shared(self)) {
        self->result->paused = true; /* until its worker leaves the job, which it does when every task has committed this */
        return STATUS_OK;
    }
    if (savepoint != NULL) {
        TRY(savepoint_at(self, savepoint, err));
    }
    self->stops = true;
    return STATUS_OK;
}

static enum status set_config(struct obeying *self, struct error *err)
{
    return change_setting(self->result, self->edit, self->arena, err);
}

static enum status set_level(struct obeying *self, struct error *err)
{
    return change_level(self->result, self->edit, self->arena, err);
}

static const struct {
    const char *verb;
    enum status (*obey)(struct obeying *self, struct error *err);
} verbs[] = {
    {"core.checkpoint", take_checkpoint}, {"core.savepoint", take_savepoint}, {"core.job.pause", pause_job},
    {"core.job.resume", resume_job},      {"core.job.stop", stop_job},        {"core.config.set", set_config},
    {"core.config.unset", set_config},    {"core.log.level", set_level},
};

/* Verbs that are not here were refused when they were decided: they are not in edits_verbs. */
static enum status obey(struct obeying *self, struct error *err)
{
    struct program *program = self->result->program;
    if (program != NULL && strncmp(self->edit->verb, "app.", 4) == 0) {
        return program_obey(program, self->edit->verb, self->edit->args, self->edit->rank, err);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(verbs); i++) {
        if (strcmp(verbs[i].verb, self->edit->verb) == 0) {
            return verbs[i].obey(self, err);
        }
    }
    return error_set(err, ERROR_CTL_NO_GROUND, "%s: this build has nothing that could act on it", self->edit->verb);
}

/* Whether the checkpoint is there, or the job goes on without it, the rank is in the next one. */
static enum status apply(spate_result *result, const struct edit *edit, struct arena *arena, struct error *err)
{
    struct obeying self = {.result = result, .edit = edit, .arena = arena};
    struct error failure = {0};
    enum status status = obey(&self, &failure);
    if (status == STATUS_FENCED) { /* nobody's edit: the job is another's */
        *err = failure;
        return status;
    }
    journal_event(result->journal, status == STATUS_OK ? LOG_INFO : LOG_WARN, "edit.apply", "edit %llu (#%llu) %s: %s",
                  (unsigned long long)edit->rank, (unsigned long long)edit->index, edit->verb, status == STATUS_OK ? "done" : failure.text);
    edits_applied(result->edits, edit->rank, self.answer, status == STATUS_OK ? NULL : &failure);
    checkpointer_note_edits(result->checkpointer, edits_rank(result->edits));
    if (self.stops) {
        session_tell(result->session, "job '%s' is stopped by its control log", result->job_name);
        return job_stop_now(result, err);
    }
    checkpointer_request(result->checkpointer);
    return STATUS_OK;
}

enum status edits_after_tick(spate_result *result, struct error *err)
{
    struct edit edit;
    struct error trouble;
    bool own;
    enum status status = STATUS_OK;
    if (edits_trouble(result->edits, &trouble)) {
        journal_event(result->journal, LOG_WARN, "control.trouble", "%s", trouble.text);
        session_tell(result->session, "job '%s': the control log cannot be reached: %s", result->job_name, trouble.text);
    }
    if (may_obey(result) && edits_take(result->edits, &edit)) {
        struct arena *arena;
        TRY_ALLOC(arena, arena_create(&result->session->budget, "edit"), err);
        status = apply(result, &edit, arena, err);
        arena_destroy(arena);
    }
    if (result->checkpointer != NULL && result->edits != NULL) {
        edits_committed(result->edits, checkpointer_edits(result->checkpointer, &own));
    }
    return status;
}
