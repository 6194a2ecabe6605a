#include "job/edits.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/condition.h"
#include "base/option.h"
#include "job/edits_internal.h"

enum { POLL_US = 250000 };

#define VERBS                                                                                                                              \
    "core.checkpoint", "core.savepoint", "core.job.pause", "core.job.resume", "core.job.stop", "core.config.set", "core.config.unset",     \
        "core.log.level"
const char *const edits_verbs[] = {VERBS, NULL};
const char *const edits_verbs_of_programs[] = {VERBS, "app.*", NULL};

const char *edits_prefix(const char *job_id, char prefix[EDITS_PREFIX_BYTES])
{
    snprintf(prefix, EDITS_PREFIX_BYTES, "jobs/%s", job_id);
    return prefix;
}

const char *edit_text(const struct edit *edit, const char *argument, struct arena *arena)
{
    json_t *args = json_loads(edit->args, 0, NULL);
    const char *value = json_string_value(json_object_get(args, argument));
    const char *kept = value == NULL ? NULL : arena_text(arena, value, strlen(value));
    json_decref(args);
    return kept;
}

/* ---- what the leader asks before it accepts ---- */

#define X(name, text, least_us) {text, least_us},
static const struct {
    const char *name;
    int64_t least_us;
} settings[] = {EDITS_SETTING_LIST(X)};
#undef X

enum edits_setting edits_setting_find(const char *name)
{
    uint32_t found = 0;
    while (found < EDITS_SETTING_COUNT && strcmp(settings[found].name, name) != 0) {
        found++;
    }
    return (enum edits_setting)found;
}

static enum status check_drain(const char *verb, const json_t *args, struct error *err)
{
    return json_is_true(json_object_get(args, "drain"))
               ? error_set(err, ERROR_CTL_NO_GROUND, "%s: this job cannot drain its sources first", verb)
               : STATUS_OK;
}

static enum status check_setting(const char *verb, const json_t *args, struct error *err)
{
    const char *name = json_string_value(json_object_get(args, "setting")), *value = json_string_value(json_object_get(args, "value"));
    enum edits_setting setting = edits_setting_find(name);
    struct duration duration;
    if (json_object_get(args, "scope") != NULL) {
        return error_set(err, ERROR_CTL_NO_GROUND, "%s: a setting holds for the whole job: leave out \"scope\"", verb);
    }
    if (setting == EDITS_SETTING_COUNT) {
        return error_set(err, ERROR_CTL_NO_GROUND, "%s: '%.100s' cannot change while the job runs; these can: %s, %s, %s", verb, name,
                         settings[EDITS_INTERVAL].name, settings[EDITS_MIN_PAUSE].name, settings[EDITS_TIMEOUT].name);
    }
    if (value != NULL && (duration_parse(value, &duration, err) != STATUS_OK || duration.us < settings[setting].least_us)) {
        return error_set(err, ERROR_CTL_BAD_ARGUMENTS, "%s: '%.100s' is no duration for '%s'; write it like '10 s'", verb, value, name);
    }
    return STATUS_OK;
}

static enum status check_level(const char *verb, const json_t *args, struct error *err)
{
    return json_object_get(args, "module") != NULL
               ? error_set(err, ERROR_CTL_NO_GROUND, "%s: the level holds for the whole job: leave out \"module\"", verb)
               : STATUS_OK;
}

enum status edits_check(void *context, const char *verb, const char *args, struct error *err)
{
    static const struct {
        const char *verb;
        enum status (*check)(const char *verb, const json_t *args, struct error *err);
    } checks[] = {{"core.savepoint", check_drain},
                  {"core.config.set", check_setting},
                  {"core.config.unset", check_setting},
                  {"core.log.level", check_level}};
    json_t *object = json_loads(args, 0, NULL);
    enum status status = STATUS_OK;
    (void)context;
    for (size_t i = 0; i < ARRAY_LENGTH(checks); i++) {
        status = strcmp(checks[i].verb, verb) == 0 ? checks[i].check(verb, object, err) : status;
    }
    json_decref(object);
    return status;
}

/* ---- the task's side ---- */

bool edits_take(struct edits *self, struct edit *edit)
{
    pthread_mutex_lock(&self->group->mutex);
    bool taken = self->has_next;
    if (taken) {
        *edit = self->next;
        self->has_next = false;
        self->is_taken = true;
    }
    pthread_mutex_unlock(&self->group->mutex);
    return taken;
}

void edits_applied(struct edits *self, uint64_t rank, const char *result, const struct error *failure)
{
    struct reply reply = {.rank = rank, .result = result == NULL ? NULL : strdup(result), .failed = failure != NULL};
    if (failure != NULL) {
        (void)control_code_text(failure->code, reply.code);
        snprintf(reply.reason, sizeof reply.reason, "%s", failure->text);
    }
    pthread_mutex_lock(&self->group->mutex);
    self->replies[self->reply_count++] = reply;
    self->applied = rank;
    self->is_taken = false;
    pthread_cond_signal(&self->group->changed);
    pthread_mutex_unlock(&self->group->mutex);
}

uint64_t edits_rank(const struct edits *self)
{
    return self->applied; /* only this thread writes it */
}

void edits_committed(struct edits *self, uint64_t rank)
{
    pthread_mutex_lock(&self->group->mutex);
    if (rank > self->committed) {
        self->committed = rank;
        pthread_cond_signal(&self->group->changed);
    }
    pthread_mutex_unlock(&self->group->mutex);
}

bool edits_begin_paused(const struct edits *self)
{
    return self->paused_at_start;
}

bool edits_begin_stopped(const struct edits *self)
{
    return self->stopped_at_start;
}

const struct edit *edits_standing(const struct edits *self, uint32_t *count)
{
    *count = self->standing_count;
    return self->standing;
}

bool edits_trouble(struct edits *self, struct error *trouble)
{
    struct edits_group *group = self->group;
    pthread_mutex_lock(&group->mutex);
    bool is_new = self->trouble_seen < group->trouble_count && group->trouble.text[0] != '\0';
    *trouble = group->trouble;
    self->trouble_seen = group->trouble_count;
    pthread_mutex_unlock(&group->mutex);
    return is_new;
}

/* ---- open, close ---- */

/* Waits for the thread's first look at the log. */
static enum status join_group(struct edits *self, struct error *err)
{
    struct edits_group *group = self->group;
    pthread_mutex_lock(&group->mutex);
    self->trouble_seen = group->trouble_count;
    self->next_of_group = group->first;
    group->first = self;
    pthread_cond_signal(&group->changed);
    while (self->phase == EDITS_NEW) {
        pthread_cond_wait(&group->settled, &group->mutex);
    }
    enum status status = self->phase == EDITS_READY ? STATUS_OK : self->failure.status;
    *err = status == STATUS_OK ? *err : self->failure;
    pthread_mutex_unlock(&group->mutex);
    return status;
}

static void leave_group(struct edits *self)
{
    struct edits_group *group = self->group;
    int64_t until_us = clock_system.monotonic_us(&clock_system) + CLOSE_PATIENCE_MS * INT64_C(1000), left_us = 1;
    pthread_mutex_lock(&group->mutex);
    self->leaving = true;
    pthread_cond_signal(&group->changed);
    while (self->phase == EDITS_READY && self->acknowledged < self->committed && left_us > 0) {
        left_us = until_us - clock_system.monotonic_us(&clock_system);
        if (left_us > 0) {
            condition_wait_us(&group->settled, &group->mutex, left_us);
        }
    }
    struct edits **place = &group->first;
    while (*place != NULL && *place != self) {
        place = &(*place)->next_of_group;
    }
    if (*place != NULL) {
        *place = self->next_of_group;
    }
    pthread_mutex_unlock(&group->mutex);
}

/* The whole job, in this process alone. */
static enum status open_own_group(struct edits *self, struct error *err)
{
    (void)edits_prefix(self->spec.job_id, self->prefix);
    self->spec.task = TASK_ALL;
    TRY(cluster_open(self->spec.uri, self->spec.options, self->spec.option_count, NULL, &self->session, err));
    const struct edits_group_spec group = {.session = self->session,
                                           .obeys_app = self->spec.obeys_app,
                                           .prefix = self->prefix,
                                           .by = "run",
                                           .poll_us = POLL_US,
                                           .budget = self->spec.budget,
                                           .decides = true};
    return edits_group_open(&group, &self->group, err);
}

static enum status begin(struct edits *self, struct error *err)
{
    TRY_ALLOC(self->begin_arena, arena_create(self->spec.budget, "what stands in a control log"), err);
    TRY_ALLOC(self->next_arena, arena_create(self->spec.budget, "edit"), err);
    if (self->group == NULL) {
        TRY(open_own_group(self, err));
    }
    return join_group(self, err);
}

enum status edits_open(const struct edits_spec *spec, struct edits **edits, struct error *err)
{
    struct edits *self = calloc(1, sizeof *self);
    if (self == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room for the control log of a job");
    }
    self->spec = *spec;
    self->group = spec->group;
    enum status status = begin(self, err);
    if (status != STATUS_OK) {
        error_add_context(err, "while opening the control log of the job at '%s' ('coordinator.uri')",
                          spec->group == NULL ? spec->uri : spec->group->spec.prefix);
        edits_close(self);
        return status;
    }
    *edits = self;
    return STATUS_OK;
}

void edits_close(struct edits *self)
{
    if (self == NULL) {
        return;
    }
    if (self->group != NULL) {
        leave_group(self);
    }
    if (self->session != NULL) {
        edits_group_close(self->group);
        cluster_close(self->session, true);
    }
    for (uint32_t i = 0; i < self->reply_count; i++) {
        free(self->replies[i].result);
    }
    arena_destroy(self->begin_arena);
    arena_destroy(self->next_arena);
    free(self);
}
