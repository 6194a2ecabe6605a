#include "api/coord_view.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/coordinator.h"
#include "cluster/control/log_register.h"
#include "cluster/value.h"
#include "state/saved_state.h"
#include "storage/body_store.h"

enum { NAME_BYTES = CLUSTER_NAME_MAX + 1 };

/* ---- the job ---- */

/* A job whose storage is not at hand is known to the coordinator by its id. */
static enum status find_by_id(struct coord_view *self, const char *job, enum status status, struct error *err)
{
    struct error ignored;
    struct cluster_value value;
    enum cluster_result result;
    char name[NAME_BYTES];
    if (strlen(job) > JOB_ID_MAX) {
        return status;
    }
    snprintf(name, sizeof name, "jobs/%s/model", job);
    enum status got = self->cluster->driver->get(self->cluster, name, self->arena, &result, &value, &ignored);
    if (got != STATUS_OK || result != CLUSTER_OK) {
        return status; /* what the storage said */
    }
    (void)err;
    self->record = (struct job_record){.name = job};
    snprintf(self->record.id, sizeof self->record.id, "%s", job);
    self->recorded = false;
    return STATUS_OK;
}

enum status coord_open(struct coord_view *self, spate_session *session, const char *job, struct arena *arena, struct error *err)
{
    const struct cluster_option *options;
    size_t count;
    *self = (struct coord_view){.session = session, .arena = arena};
    TRY(coordinator_open(session, "the job", NULL, &self->cluster, err));
    TRY(settings_timing(&session->settings, arena, &options, &count, err));
    TRY(timing_read(timing_profile_of(self->cluster->driver->scheme), options, count, &self->timing, err));
    TRY(durable_storage(session, err));
    self->recorded = true;
    enum status status = job_find(session->storage, job, arena, &self->record, err);
    status = status == STATUS_OK ? STATUS_OK : find_by_id(self, job, status, err);
    snprintf(self->prefix, sizeof self->prefix, "jobs/%s", self->record.id);
    return status;
}

static void forget_members(struct coord_view *self)
{
    for (uint32_t i = 0; i < self->member_count; i++) {
        member_unref(self->members[i].member);
    }
    self->member_count = 0;
}

void coord_close(struct coord_view *self)
{
    forget_members(self);
    model_unref(self->model);
    cluster_close(self->cluster, true);
}

/* ---- the model ---- */

/* The tasks of a large model are in the storage. */
static enum status read_body(struct coord_view *self, struct model *model, struct error *err)
{
    TRY(body_get(self->session->storage, self->record.id, model->body_sha256, self->arena, &self->model_body, err));
    return model_read_body(model, model->body_sha256, self->model_body, err);
}

static enum status parse_model(struct coord_view *self, const char *name, struct text bytes, struct error *err)
{
    struct model *model;
    TRY(value_unseal(name, bytes, &self->model_json, err));
    TRY(model_read(name, self->model_json, &self->session->budget, &model, err));
    enum status status = model->body_sha256[0] == '\0' ? STATUS_OK : read_body(self, model, err);
    if (status != STATUS_OK) {
        model_unref(model);
        return status;
    }
    self->model = model;
    return STATUS_OK;
}

enum status coord_read_model(struct coord_view *self, struct error *err)
{
    char name[NAME_BYTES];
    struct cluster_value value;
    model_unref(self->model);
    self->model = NULL;
    self->model_status = STATUS_OK;
    snprintf(name, sizeof name, "%s/model", self->prefix);
    TRY(self->cluster->driver->get(self->cluster, name, self->arena, &self->model_result, &value, err));
    if (self->model_result != CLUSTER_OK) {
        return STATUS_OK;
    }
    self->model_version = value.version;
    self->model_status = parse_model(self, name, value.bytes, err);
    if (self->model_status == STATUS_CORRUPT) {
        TRY_ALLOC(self->damage, arena_text(self->arena, err->text, strlen(err->text)), err);
        return STATUS_OK;
    }
    return self->model_status;
}

/* ---- members ---- */

static void read_member(struct coord_view *self, const char *name, struct coord_member *member)
{
    const struct cluster_driver *driver = self->cluster->driver;
    struct error err;
    struct cluster_value value;
    enum cluster_result result;
    struct text json;
    struct member *read;
    char life[LIFE_TEXT_BYTES];
    member->status = driver->get(self->cluster, name, self->arena, &result, &value, &err);
    if (member->status == STATUS_OK && result != CLUSTER_OK) {
        member->id = NULL; /* it has left since the list */
        return;
    }
    member->version = value.version;
    if (member->status == STATUS_OK) {
        member->status = value_unseal(name, value.bytes, &json, &err);
    }
    if (member->status == STATUS_OK) {
        member->status = member_read(name, json, &self->session->budget, &read, &err);
    }
    if (member->status != STATUS_OK) {
        member->damage = arena_text(self->arena, err.text, strlen(err.text));
        return;
    }
    member->member = read;
    member->gone = driver->gone != NULL && driver->gone(self->cluster, life_text(read->life, life)) == CLUSTER_GONE;
}

enum status coord_read_members(struct coord_view *self, struct error *err)
{
    char prefix[NAME_BYTES];
    struct cluster_names names;
    snprintf(prefix, sizeof prefix, "%s/members/", self->prefix);
    TRY(self->cluster->driver->list(self->cluster, prefix, self->arena, &names, err));
    forget_members(self);
    TRY_ALLOC(self->members, arena_alloc(self->arena, (names.count + 1) * sizeof *self->members), err);
    for (uint32_t i = 0; i < names.count; i++) {
        struct coord_member *member = &self->members[self->member_count];
        *member = (struct coord_member){.id = names.names[i] + strlen(prefix)};
        read_member(self, names.names[i], member);
        self->member_count += member->id != NULL;
    }
    return STATUS_OK;
}

/* A look at them again: whose register has another version has beaten. */
static enum status look_again(struct coord_view *self, int64_t since_us, bool *all, struct error *err)
{
    const struct coord_member *before = self->members;
    uint32_t before_count = self->member_count;
    struct coord_member *kept;
    TRY_ALLOC(kept, arena_copy(self->arena, before, before_count * sizeof *before + 1), err);
    TRY(coord_read_members(self, err));
    *all = true;
    for (uint32_t i = 0; i < self->member_count; i++) {
        struct coord_member *now = &self->members[i];
        now->beats = true; /* one that has come meanwhile */
        for (uint32_t k = 0; k < before_count; k++) {
            if (strcmp(kept[k].id, now->id) == 0) {
                now->beats = kept[k].beats || strcmp(kept[k].version.token, now->version.token) != 0;
            }
        }
        now->quiet_us = now->beats ? 0 : clock_boot.monotonic_us(&clock_boot) - since_us;
        *all = *all && (now->beats || now->gone);
    }
    return STATUS_OK;
}

enum status coord_watch_members(struct coord_view *self, struct error *err)
{
    int64_t since_us = clock_boot.monotonic_us(&clock_boot);
    int64_t until_us = since_us + 2 * self->timing.heartbeat.us + self->timing.poll.us;
    bool all = self->member_count == 0;
    while (!all && clock_boot.monotonic_us(&clock_boot) < until_us) {
        usleep((useconds_t)(self->timing.heartbeat.us / 4));
        TRY(look_again(self, since_us, &all, err));
    }
    return STATUS_OK;
}

const struct coord_member *coord_find_member(const struct coord_view *self, struct life life)
{
    for (uint32_t i = 0; i < self->member_count; i++) {
        if (self->members[i].member != NULL && life_equal(self->members[i].member->life, life)) {
            return &self->members[i];
        }
    }
    return NULL;
}

/* ---- the control log ---- */

int64_t coord_open_edits(const struct coord_view *self)
{
    struct random_source random;
    struct control_log *log;
    struct error ignored;
    int64_t open = -1;
    random_open(&random, 0);
    if (control_log_open(self->cluster, self->prefix, &self->session->budget, NULL, &random, &log, &ignored) != STATUS_OK) {
        return open;
    }
    if (control_log_read(log, &ignored) == STATUS_OK) {
        const struct control_fold *fold = control_log_fold(log);
        open = 0;
        for (uint32_t i = 0; i < fold->entry_count; i++) {
            open += !control_state_is_final(fold->entries[i].state);
        }
    }
    control_log_close(log);
    return open;
}
