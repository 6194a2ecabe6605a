/* Registers of a job that are damaged, mended from what else is known (spate/operations.h): the model from the job's record in the storage, as a
 * restart makes it; members and history are removed, for their writers make them anew.
 *
 * Nobody reads what is damaged, so a repaired model must be above all that anybody may have seen: terms above the record's floor, versions and
 * revisions a good deal above what members and commit records show, for some may have been written that nobody has shown yet. Every task is
 * fenced first and every known life counts as evicted: whoever worked on goes on as another life, from its last commit. */
#include <stdio.h>
#include <string.h>

#include "api/cluster_job.h"
#include "api/coord_view.h"
#include "cluster/commit_record.h"
#include "cluster/history.h"
#include "cluster/value.h"
#include "spate/operations.h"

enum {
    UNSEEN = 1000 /* versions and revisions that may have been written without being shown anywhere */,
    NAME_BYTES = CLUSTER_NAME_MAX + 1
};

struct repair {
    struct coord_view view;
    struct cluster_job job;
    struct cluster_job_facts facts;
    uint64_t term, version, rev;
    struct text_builder done; /* for people: a line each */
};

static enum status check_record(struct repair *self, struct error *err)
{
    bool shared;
    if (!self->view.recorded) {
        return error_set(err, ERROR_MISSING_OPTION,
                         "what is damaged is made again from the job's record: say where that is, --storage URI");
    }
    TRY(cluster_job_facts(&self->view.record, self->view.arena, &shared, &self->facts, err));
    return shared ? STATUS_OK
                  : error_set(err, ERROR_MISUSE, "job '%s' is one of a single process: it has no model", self->view.record.name);
}

static enum status refuse_beating(struct repair *self, struct error *err)
{
    TRY(coord_watch_members(&self->view, err));
    uint32_t beating = 0;
    const char *first = "";
    for (uint32_t i = 0; i < self->view.member_count; i++) {
        const struct coord_member *member = &self->view.members[i];
        bool beats = member->beats && !member->gone;
        first = beats && beating == 0 ? member->id : first;
        beating += beats;
    }
    return beating == 0
               ? STATUS_OK
               : error_set(err, ERROR_JOB_TAKEN,
                           "%u processes beat, '%s' among them: a repair takes their tasks from them for a moment, each goes on from its "
                           "last commit. Add --yes to do it",
                           beating, first);
}

/* ---- above all that anybody may have seen ---- */

static void raise_to(uint64_t *value, uint64_t least)
{
    *value = *value > least ? *value : least;
}

static uint64_t task_at(const struct repair *self, uint32_t index)
{
    return self->facts.pieces == 0 ? TASK_ALL : task_make(0, index);
}

static uint32_t task_count(const struct repair *self)
{
    return self->facts.pieces == 0 ? 1 : self->facts.pieces;
}

static enum status look_at_commits(struct repair *self, struct error *err)
{
    for (uint32_t i = 0; i < task_count(self); i++) {
        struct commit_record record;
        bool found;
        enum status status =
            commit_record_read(self->job.coordinator, self->job.prefix, task_at(self, i), self->view.arena, &found, &record, err);
        if (status == STATUS_CORRUPT) {
            error_add_context(err,
                              "it is not mended, for only it says which checkpoint of the task counts; put back a copy of it, or begin "
                              "another job from a savepoint");
        }
        TRY(status);
        raise_to(&self->version, found ? record.epoch : 0);
    }
    return STATUS_OK;
}

/* A history that is damaged says nothing; it is removed later. */
static void look_at_history(struct repair *self)
{
    struct history_round *rounds;
    struct error ignored;
    uint32_t count = 0;
    if (history_read(self->job.coordinator, self->job.prefix, self->view.arena, &rounds, &count, &ignored) != STATUS_OK) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        raise_to(&self->version, rounds[i].version);
        raise_to(&self->term, rounds[i].term);
    }
}

static enum status find_height(struct repair *self, struct error *err)
{
    const struct runner_stores *stores = self->job.model.stores;
    uint64_t floor = 0;
    uint32_t seat_high = 0;
    TRY(look_at_commits(self, err));
    look_at_history(self);
    for (uint32_t i = 0; i < self->view.member_count; i++) {
        const struct member *member = self->view.members[i].member;
        raise_to(&self->version, member == NULL ? 0 : member->seen_version);
        raise_to(&self->rev, member == NULL ? 0 : member->seen_rev);
    }
    self->version += UNSEEN;
    self->rev += UNSEEN;
    TRY(stores->raise_record(stores->context, &floor, &seat_high, err));
    raise_to(&self->term, floor);
    floor = ++self->term;
    return stores->raise_record(stores->context, &floor, &seat_high, err);
}

/* ---- the model ---- */

static enum status evict_all(struct repair *self, struct model *model, struct error *err)
{
    TRY_ALLOC(model->evicted, arena_alloc(model->arena, (self->view.member_count + 1) * sizeof *model->evicted), err);
    for (uint32_t i = 0; i < self->view.member_count; i++) {
        const struct member *member = self->view.members[i].member;
        if (member != NULL && !life_keep(member->life, model->arena, &model->evicted[model->evicted_count++])) {
            return error_set(err, ERROR_BUDGET_SPENT, "no room for a model");
        }
    }
    return STATUS_OK;
}

static enum status fill(struct repair *self, struct model *model, struct error *err)
{
    const struct job_record *record = &self->view.record;
    TRY_ALLOC(model->job, arena_text(model->arena, record->id, strlen(record->id)), err);
    model->rev = self->rev;
    model->version = self->version;
    model->term = self->term;
    model->plan = 1;
    model->unfenced = self->facts.unfenced;
    model->round.why = "repaired";
    model->state = record->desired == DESIRED_KILLED    ? MODEL_KILLED
                   : record->desired == DESIRED_STOPPED ? MODEL_STOPPED
                   : record->desired == DESIRED_PAUSED  ? MODEL_PAUSED
                                                        : MODEL_RUNNING;
    TRY(evict_all(self, model, err));
    return cluster_job_fill_tasks(model, self->facts.pieces, err);
}

static enum status put_model(struct repair *self, struct error *err)
{
    enum cluster_result result = CLUSTER_CONFLICT;
    struct model *model = model_create(&self->view.session->budget, err);
    if (model == NULL) {
        return err->status;
    }
    enum status status = fill(self, model, err);
    if (status == STATUS_OK) {
        status = model_register_put(&self->job.model, self->view.arena, model, &self->view.model_version, &result, err);
    }
    model_unref(model);
    TRY(status);
    return result == CLUSTER_OK ? STATUS_OK
                                : error_set(err, ERROR_CLUSTER_UNAVAILABLE, "somebody else has written the model meanwhile: look again");
}

static enum status mend_model(struct repair *self, bool anyway, struct error *err)
{
    if (!anyway) {
        TRY(refuse_beating(self, err));
    }
    TRY(find_height(self, err));
    for (uint32_t i = 0; i < task_count(self); i++) {
        TRY(commit_record_fence(self->job.coordinator, self->job.prefix, task_at(self, i), self->version, err));
    }
    TRY(put_model(self, err));
    text_append_format(
        &self->done,
        "%s/model was damaged and is made again: %u tasks, term %llu, version %llu; every task was fenced and goes on from its last "
        "commit\n",
        self->view.prefix, task_count(self), (unsigned long long)self->term, (unsigned long long)self->version);
    return STATUS_OK;
}

/* ---- the rest ---- */

/* Exactly what was read; whoever writes it makes it anew. */
static enum status remove_register(struct repair *self, const char *name, const struct cluster_version *version, const char *what,
                                   struct error *err)
{
    const struct cluster_driver *driver = self->view.cluster->driver;
    enum cluster_result result;
    TRY(driver->del(self->view.cluster, name, version, &result, err));
    if (result == CLUSTER_OK) {
        text_append_format(&self->done, "%s was damaged and is removed: %s\n", name, what);
    }
    return STATUS_OK;
}

static enum status mend_members(struct repair *self, struct error *err)
{
    char name[NAME_BYTES];
    for (uint32_t i = 0; i < self->view.member_count; i++) {
        const struct coord_member *member = &self->view.members[i];
        if (member->status == STATUS_CORRUPT) {
            snprintf(name, sizeof name, "%s/members/%s", self->view.prefix, member->id);
            TRY(remove_register(self, name, &member->version, "its process joins again as another life", err));
        }
    }
    return STATUS_OK;
}

static enum status mend_history(struct repair *self, struct error *err)
{
    struct history_round *rounds;
    struct cluster_value value;
    enum cluster_result result;
    char name[NAME_BYTES];
    uint32_t count;
    enum status status = history_read(self->view.cluster, self->view.prefix, self->view.arena, &rounds, &count, err);
    if (status != STATUS_CORRUPT) {
        return status;
    }
    snprintf(name, sizeof name, "%s/history", self->view.prefix);
    TRY(self->view.cluster->driver->get(self->view.cluster, name, self->view.arena, &result, &value, err));
    return result == CLUSTER_OK ? remove_register(self, name, &value.version, "the leader begins another", err) : STATUS_OK;
}

static enum status mend(struct repair *self, bool anyway, struct error *err)
{
    TRY(coord_read_model(&self->view, err));
    TRY(coord_read_members(&self->view, err));
    if (self->view.model_result == CLUSTER_ABSENT) {
        return error_set(err, ERROR_STORE_MISSING, "there is no model of job '%s' that could be mended: `spate job restart` makes one",
                         self->view.record.name);
    }
    if (self->view.damage != NULL) {
        TRY(mend_model(self, anyway, err));
    }
    TRY(mend_members(self, err));
    TRY(mend_history(self, err));
    return look_at_commits(self, err);
}

static enum status repair(struct repair *self, spate_session *session, const char *job, bool anyway, struct arena *arena, struct error *err)
{
    TRY(coord_open(&self->view, session, job, arena, err));
    TRY(check_record(self, err));
    TRY(cluster_job_open(session, self->view.record.id, &self->job, err));
    enum status status = mend(self, anyway, err);
    cluster_job_close(&self->job);
    return status;
}

int spate_coord_repair(spate_session *session, const char *job, uint32_t flags, const char **done)
{
    struct error *err = &session->error;
    struct repair self = {.term = 0};
    struct arena *arena = arena_create(&session->budget, "a repair");
    enum status status = arena == NULL ? error_set(err, ERROR_BUDGET_SPENT, "no room for a repair")
                                       : repair(&self, session, job, (flags & SPATE_REPAIR_ANYWAY) != 0, arena, err);
    const char *text = self.done.length == 0 ? "nothing is damaged\n" : self.done.bytes;
    *done = status == STATUS_OK ? arena_text(session->arena, text, strlen(text)) : "";
    if (status == STATUS_OK && (self.done.failed || *done == NULL)) {
        status = error_set(err, ERROR_BUDGET_SPENT, "no room for what was mended");
    }
    text_builder_close(&self.done);
    struct error kept = *err;
    coord_close(&self.view);
    *err = kept;
    if (arena != NULL) {
        arena_destroy(arena);
    }
    return status == STATUS_OK ? SPATE_OK : session_fail(session, status);
}
