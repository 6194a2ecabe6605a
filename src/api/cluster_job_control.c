/* Jobs on several processes, from outside: stop, kill, restart, remove. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/cluster_job.h"
#include "api/coordinator.h"
#include "cluster/commit_record.h"
#include "cluster/member.h"
#include "cluster/timing.h"
#include "cluster/value.h"
#include "storage/checkpoints.h"
#include "storage/job_definition.h"

enum { LOOK_US = 200000, LOST_EPOCHS = 1000000 };

static int64_t now_us(void)
{
    return clock_boot.monotonic_us(&clock_boot);
}

enum status cluster_job_find(spate_session *session, const struct job_record *record, bool *shared, struct cluster_job *job,
                             struct error *err)
{
    struct cluster_job_facts facts;
    TRY(cluster_job_facts(record, session->arena, shared, &facts, err));
    return *shared ? cluster_job_open(session, record->id, job, err) : STATUS_OK;
}

static enum status refuse_absent(const struct job_record *record, struct error *err)
{
    return error_set(err, ERROR_STORE_MISSING, "the coordination service does not know job '%s': `spate job restart %s` brings it back",
                     record->name, record->name);
}

/* ---- who is there ---- */

struct presence {
    uint64_t beats; /* of all members together */
    uint32_t alive; /* registers of which it is not sure that their process has ended */
    char first[CLUSTER_NAME_MAX + 1];
};

static enum status add_member(struct cluster_job *job, const char *name, struct arena *arena, struct presence *presence, struct error *err)
{
    const struct cluster_driver *driver = job->coordinator->driver;
    enum cluster_result result;
    struct cluster_value value;
    struct text json;
    struct member *member;
    char life[LIFE_TEXT_BYTES];
    TRY(driver->get(job->coordinator, name, arena, &result, &value, err));
    if (result != CLUSTER_OK) {
        return STATUS_OK;
    }
    TRY(value_unseal(name, value.bytes, &json, err));
    TRY(member_read(name, json, &job->session->budget, &member, err));
    bool gone = driver->gone != NULL && driver->gone(job->coordinator, life_text(member->life, life)) == CLUSTER_GONE;
    presence->beats += gone ? 0 : member->beat + (member->life.incarnation >> 16);
    if (!gone && presence->alive++ == 0) {
        snprintf(presence->first, sizeof presence->first, "%s", life);
    }
    member_unref(member);
    return STATUS_OK;
}

static enum status look_in(struct cluster_job *job, struct arena *arena, struct presence *presence, struct error *err)
{
    struct cluster_names names;
    char prefix[240];
    *presence = (struct presence){0};
    snprintf(prefix, sizeof prefix, "%s/members/", job->prefix);
    TRY(job->coordinator->driver->list(job->coordinator, prefix, arena, &names, err));
    for (uint32_t i = 0; i < names.count; i++) {
        TRY(add_member(job, names.names[i], arena, presence, err));
    }
    return STATUS_OK;
}

static enum status look(struct cluster_job *job, struct presence *presence, struct error *err)
{
    struct arena *arena;
    *presence = (struct presence){0};
    TRY_ALLOC(arena, arena_create(&job->session->budget, "members"), err);
    enum status status = look_in(job, arena, presence, err);
    arena_destroy(arena);
    return status;
}

/* A member that beats within the ttl lives; one that is known to have ended need not be waited for. Registers of the dead stay. */
static enum status listen(struct cluster_job *job, int64_t ttl_us, struct presence *now, bool *silent, struct error *err)
{
    struct presence first = {0};
    int64_t until_us = now_us() + ttl_us;
    TRY(look(job, &first, err));
    for (*now = first; now->alive > 0 && now->beats == first.beats && now_us() < until_us;) {
        usleep(LOOK_US);
        TRY(look(job, now, err));
    }
    *silent = now->alive == 0 || now->beats == first.beats;
    return STATUS_OK;
}

static enum status check_silence(struct cluster_job *job, const struct job_record *record, int64_t ttl_us, struct error *err)
{
    struct presence now = {0};
    bool silent;
    TRY(listen(job, ttl_us, &now, &silent, err));
    if (silent) {
        return STATUS_OK;
    }
    return error_set(err, ERROR_JOB_TAKEN, "job '%s' is running: '%s' is alive, of %u processes; --takeover takes it away from them",
                     record->name, now.first, now.alive);
}

/* ---- stop, kill ---- */

/* How long a member is silent that has died. */
static enum status read_silence(const struct cluster_job *job, int64_t *silence_us, struct error *err)
{
    struct cluster_timing timing;
    TRY(timing_read(timing_profile_of(job->coordinator->driver->scheme), NULL, 0, &timing, err));
    *silence_us = timing.lease_ttl.us + timing.heartbeat.us;
    return STATUS_OK;
}

/* Until no process that lives is a member any more. */
static enum status await_leave(struct cluster_job *job, int64_t timeout_us, struct error *err)
{
    struct presence now = {0};
    bool silent = false;
    int64_t silence_us, until_us = now_us() + timeout_us;
    TRY(read_silence(job, &silence_us, err));
    while (!silent) {
        TRY(listen(job, silence_us, &now, &silent, err));
        if (!silent && now_us() >= until_us) {
            return error_set(err, ERROR_JOB_TAKEN,
                             "%u processes have not left the job yet, '%s' among them; they do so as soon as they can", now.alive,
                             now.first);
        }
        usleep(silent ? 0 : LOOK_US);
    }
    return STATUS_OK;
}

static enum status end_as(struct cluster_job *job, const struct job_record *record, enum model_state state, enum job_desired desired,
                          int64_t timeout_us, struct error *err)
{
    enum cluster_result result;
    enum model_state was;
    TRY(cluster_job_end(job, state, &result, &was, err));
    if (result != CLUSTER_OK) {
        return refuse_absent(record, err);
    }
    TRY(await_leave(job, timeout_us, err));
    return job_record_mark(job->session->storage, record->id, desired, err);
}

enum status cluster_job_stop(struct cluster_job *job, const struct job_record *record, int64_t timeout_us, struct error *err)
{
    return end_as(job, record, MODEL_STOPPED, DESIRED_STOPPED, timeout_us, err);
}

enum status cluster_job_kill(struct cluster_job *job, const struct job_record *record, int64_t timeout_us, struct error *err)
{
    struct cluster_job_facts facts;
    bool shared;
    TRY(cluster_job_facts(record, job->session->arena, &shared, &facts, err));
    if (facts.end != NULL && strcmp(facts.end, "finished") == 0) {
        return error_set(err, ERROR_MISUSE, "job '%s' has finished: nothing of it runs", record->name);
    }
    if (record->desired == DESIRED_KILLED) {
        return error_set(err, ERROR_MISUSE, "job '%s' is killed already; `spate job restart %s` brings it back", record->name,
                         record->name);
    }
    return end_as(job, record, MODEL_KILLED, DESIRED_KILLED, timeout_us, err);
}

/* ---- what it is doing ---- */

static enum status status_in(struct cluster_job *job, struct arena *arena, const char **status, struct error *err)
{
    static const char *const names[] = {[MODEL_PAUSED] = "PAUSED", [MODEL_STOPPING] = "STOPPING", [MODEL_STOPPED] = "STOPPED",
                                        [MODEL_FAILED] = "FAILED", [MODEL_FINISHED] = "FINISHED", [MODEL_KILLED] = "KILLED"};
    struct presence presence = {0};
    struct model *model;
    struct cluster_version version;
    enum cluster_result result;
    TRY(model_register_read(&job->model, arena, &result, &model, &version, err));
    *status = model == NULL ? "LOST" : names[model->state]; /* NULL: it runs, if anybody runs it */
    model_unref(model);
    if (*status != NULL) {
        return STATUS_OK;
    }
    TRY(look(job, &presence, err));
    *status = presence.alive > 0 ? "RUNNING" : "WAITING";
    return STATUS_OK;
}

enum status cluster_job_status(spate_session *session, const struct job_record *record, const char **status, struct error *err)
{
    static const char *const desired[DESIRED_COUNT] = {
        [DESIRED_RUNNING] = "SUBMITTED", [DESIRED_PAUSED] = "SUBMITTED", [DESIRED_STOPPED] = "STOPPED", [DESIRED_KILLED] = "KILLED"};
    struct cluster_job job;
    struct arena *arena;
    *status = desired[record->desired];
    if (session->settings.values.coordinator_uri == NULL) {
        return STATUS_OK;
    }
    TRY(cluster_job_open(session, record->id, &job, err));
    arena = arena_create(&session->budget, "a job's status");
    enum status outcome =
        arena == NULL ? error_set(err, ERROR_BUDGET_SPENT, "no room for a job's status") : status_in(&job, arena, status, err);
    if (arena != NULL) {
        arena_destroy(arena);
    }
    cluster_job_close(&job);
    if (outcome == STATUS_CORRUPT || outcome == STATUS_UNAVAILABLE) { /* the others are still to be listed */
        *status = outcome == STATUS_CORRUPT ? "DAMAGED" : "UNKNOWN";
        return STATUS_OK;
    }
    return outcome;
}

/* ---- restart ---- */

struct restarting {
    struct cluster_job *job;
    const struct cluster_job_facts *facts;
    uint64_t term, epoch;
};

static enum status highest_epoch(const struct restarting *self, struct arena *arena, uint64_t *epoch, struct error *err)
{
    uint32_t tasks = self->facts->pieces == 0 ? 1 : self->facts->pieces;
    for (uint32_t i = 0; i < tasks; i++) {
        struct commit_record record;
        bool found;
        uint64_t task = self->facts->pieces == 0 ? TASK_ALL : task_make(0, i);
        TRY(commit_record_read(self->job->coordinator, self->job->prefix, task, arena, &found, &record, err));
        *epoch = found && record.epoch > *epoch ? record.epoch : *epoch;
    }
    return STATUS_OK;
}

/* The coordination service has lost its epochs, not the storage: former holders that live on have them in what they store. Between two
 * checkpoints of a task it never changes hands so often. */
static enum status epoch_above_stored(const struct restarting *self, const char *id, struct arena *arena, uint64_t *epoch,
                                      struct error *err)
{
    static const struct checkpoint_choice newest = {.verify = false, .may_fall_back = true};
    uint32_t tasks = self->facts->pieces == 0 ? 1 : self->facts->pieces;
    for (uint32_t i = 0; i < tasks; i++) {
        struct checkpoint_manifest manifest;
        enum object_result result;
        const char *skipped;
        char name[TASK_TEXT_BYTES];
        task_text(self->facts->pieces == 0 ? TASK_ALL : task_make(0, i), name);
        enum status status =
            checkpoint_find_valid(self->job->session->storage, id, name, &newest, arena, &result, &manifest, &skipped, err);
        if (status != STATUS_OK && status != STATUS_CORRUPT) { /* damaged ones: whoever restores them says so */
            return status;
        }
        if (status == STATUS_OK && result == OBJECT_OK && manifest.epoch > *epoch) {
            *epoch = manifest.epoch;
        }
    }
    *epoch = (*epoch / LOST_EPOCHS + 1) * LOST_EPOCHS;
    return STATUS_OK;
}

static enum status fence_all(const struct restarting *self, struct error *err)
{
    uint32_t tasks = self->facts->pieces == 0 ? 1 : self->facts->pieces;
    for (uint32_t i = 0; i < tasks; i++) {
        uint64_t task = self->facts->pieces == 0 ? TASK_ALL : task_make(0, i);
        TRY(commit_record_fence(self->job->coordinator, self->job->prefix, task, self->epoch, err));
    }
    return STATUS_OK;
}

/* All former holders are fenced: nobody is waited for. */
static enum status begin_anew(void *context, struct model *model, bool *done, struct error *err)
{
    const struct restarting *self = context;
    (void)done;
    model->state = MODEL_RUNNING;
    model->version = self->epoch > model->version ? self->epoch : model->version + 1;
    model->term = self->term > model->term ? self->term : model->term + 1;
    model->leader = (struct life){0};
    model->unfenced = self->facts->unfenced;
    model->round.kind = MODEL_INCREMENTAL;
    model->round.opened = false;
    model->round.since_rev = model->rev;
    model->round.why = "restarted";
    model->member_count = model->dirty_count = model->standby_count = model->warming_count = 0;
    return cluster_job_fill_tasks(model, self->facts->pieces, err);
}

static enum status raise(struct restarting *self, const char *id, struct arena *arena, struct error *err)
{
    const struct runner_stores *stores = self->job->model.stores;
    struct model *model;
    struct cluster_version version;
    enum cluster_result result;
    uint32_t seat_high = 0;
    uint64_t floor = 0;
    TRY(model_register_read(&self->job->model, arena, &result, &model, &version, err));
    uint64_t term = model == NULL ? 0 : model->term;
    bool lost = model == NULL;
    self->epoch = lost ? 0 : model->version;
    model_unref(model);
    TRY(stores->raise_record(stores->context, &floor, &seat_high, err));
    self->term = (floor > term ? floor : term) + 1;
    floor = self->term;
    TRY(stores->raise_record(stores->context, &floor, &seat_high, err));
    TRY(highest_epoch(self, arena, &self->epoch, err));
    if (lost) {
        TRY(epoch_above_stored(self, id, arena, &self->epoch, err));
    }
    self->epoch++;
    return STATUS_OK;
}

static enum status check_alive(struct cluster_job *job, const struct job_record *record, struct error *err)
{
    struct cluster_timing timing;
    TRY(timing_read(timing_profile_of(job->coordinator->driver->scheme), NULL, 0, &timing, err));
    return check_silence(job, record, timing.lease_ttl.us + timing.heartbeat.us, err);
}

/* The job was submitted to another service, or the same by another name. Whoever works on it there is fenced there. */
static enum status end_elsewhere(const struct cluster_job *elsewhere, const struct job_record *record,
                                 const struct cluster_job_facts *facts, bool takes_over, struct error *err)
{
    struct cluster_job job = *elsewhere;
    struct restarting self = {.job = &job, .facts = facts};
    enum cluster_result result;
    enum model_state was;
    struct arena *arena;
    if (!takes_over) {
        TRY(check_alive(&job, record, err));
    }
    TRY_ALLOC(arena, arena_create(&job.session->budget, "elsewhere"), err);
    enum status status = highest_epoch(&self, arena, &self.epoch, err);
    arena_destroy(arena);
    TRY(status);
    self.epoch += LOST_EPOCHS;
    TRY(cluster_job_end(&job, MODEL_KILLED, &result, &was, err));
    return fence_all(&self, err);
}

static enum status fence_elsewhere(struct cluster_job *job, const struct job_record *record, const struct cluster_job_facts *facts,
                                   bool takes_over, struct error *err)
{
    struct cluster_session *coordinator;
    struct cluster_job elsewhere;
    struct cluster_job_facts before;
    struct error why;
    bool shared;
    TRY(cluster_job_facts(record, job->session->arena, &shared, &before, err));
    facts = &before; /* as the record has it, not as it shall be */
    if (facts->coordinator == NULL || strcmp(facts->coordinator, cluster_job_place(job->session)) == 0) {
        return STATUS_OK;
    }
    if (coordinator_open_at(job->session, facts->coordinator, NULL, &coordinator, &why) != STATUS_OK) {
        return takes_over
                   ? STATUS_OK
                   : error_set(err, ERROR_JOB_TAKEN,
                               "job '%s' is coordinated by '%s', which cannot be reached: whoever works on it there cannot be fenced. "
                               "Once none does, --takeover begins it here: %.300s",
                               record->name, facts->coordinator, why.text);
    }
    enum status status = cluster_job_open_on(job->session, coordinator, record->id, &elsewhere, err);
    if (status == STATUS_OK) {
        elsewhere.model.prefix = elsewhere.prefix;
        status = end_elsewhere(&elsewhere, record, facts, takes_over, err);
        cluster_job_close(&elsewhere);
    }
    cluster_close(coordinator, true);
    return status;
}

static enum status restart(struct restarting *self, const struct job_record *record, struct arena *arena, struct error *err)
{
    enum cluster_result result;
    TRY(raise(self, record->id, arena, err));
    TRY(fence_all(self, err));
    TRY(model_register_change(&self->job->model, begin_anew, self, &result, err));
    if (result != CLUSTER_OK) { /* the coordinator has lost it */
        struct job_record raised = *record;
        raised.term_floor = (int64_t)self->term;
        TRY(cluster_job_create_model(self->job, &raised, self->facts, self->epoch, arena, &result, err));
    }
    TRY(cluster_job_note_end(self->job, record->id, NULL, err)); /* and where it is coordinated now */
    return job_record_mark(self->job->session->storage, record->id, DESIRED_RUNNING, err);
}

enum status cluster_job_restart(struct cluster_job *job, const struct job_record *record, const struct cluster_job_facts *facts,
                                bool takes_over, struct error *err)
{
    struct restarting self = {.job = job, .facts = facts};
    struct arena *arena;
    TRY(fence_elsewhere(job, record, facts, takes_over, err));
    if (!takes_over) {
        TRY(check_alive(job, record, err));
    }
    TRY_ALLOC(arena, arena_create(&job->session->budget, "restart"), err);
    enum status status = restart(&self, record, arena, err);
    arena_destroy(arena);
    return status;
}

/* ---- remove ---- */

static enum status remove_register(struct cluster_job *job, const char *name, struct arena *arena, struct error *err)
{
    const struct cluster_driver *driver = job->coordinator->driver;
    enum cluster_result result;
    struct cluster_value value;
    TRY(driver->get(job->coordinator, name, arena, &result, &value, err));
    return result == CLUSTER_OK ? driver->del(job->coordinator, name, &value.version, &result, err) : STATUS_OK;
}

static enum status remove_registers(struct cluster_job *job, struct arena *arena, struct error *err)
{
    struct cluster_names names;
    char prefix[240];
    snprintf(prefix, sizeof prefix, "%s/", job->prefix);
    TRY(job->coordinator->driver->list(job->coordinator, prefix, arena, &names, err));
    for (uint32_t i = 0; i < names.count; i++) {
        TRY(remove_register(job, names.names[i], arena, err));
    }
    return STATUS_OK;
}

/* The model goes to its end state first: a worker that comes meanwhile leaves again. */
enum status cluster_job_forget(struct cluster_job *job, const struct job_record *record, struct error *err)
{
    enum cluster_result result;
    enum model_state was;
    struct presence presence = {0};
    struct arena *arena;
    int64_t silence_us;
    bool silent;
    TRY(read_silence(job, &silence_us, err));
    TRY(listen(job, silence_us, &presence, &silent, err));
    if (!silent) {
        return error_set(err, ERROR_JOB_TAKEN, "job '%s' has %u processes, '%s' among them: stop or kill it first", record->name,
                         presence.alive, presence.first);
    }
    TRY(cluster_job_end(job, MODEL_KILLED, &result, &was, err));
    TRY_ALLOC(arena, arena_create(&job->session->budget, "registers"), err);
    enum status status = remove_registers(job, arena, err);
    arena_destroy(arena);
    return status;
}
