#include "job/edits.h"

#include <inttypes.h>
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/condition.h"
#include "cluster/control/decide.h"
#include "cluster/control/log_register.h"
#include "cluster/task_id.h"

enum { POLL_MS = 250, LEASE_US = 10000000, CLOSE_PATIENCE_MS = 5000, REPLIES_MAX = 64 };

const char *const edits_verbs[] = {"core.checkpoint", "core.savepoint", "core.job.pause", "core.job.resume", "core.job.stop", NULL};
static const char *const known_sets[] = {"core/1", "app/1"};
static const uint64_t the_task[] = {TASK_ALL};

/* What the job said of an edit, until it is closed. */
struct reply {
    uint64_t rank;
    char *result; /* JSON, or NULL */
    bool failed;
    char code[CONTROL_CODE_BYTES], reason[CONTROL_REASON_MAX];
};
struct edits {
    struct edits_spec spec;
    struct cluster_session *session;
    struct control_log *log; /* the thread's, once it runs */
    struct cluster_lease *lease;
    struct random_source random;
    struct arena *arena; /* of one pass of the thread */
    struct arena *next_arena;
    char prefix[200], life[LIFE_TEXT_BYTES];
    uint64_t term; /* 0: not the leader */
    int64_t renewed_us;
    bool paused_at_start;
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t changed;
    bool leaving, has_next, is_taken, has_trouble;
    struct edit next;
    uint64_t applied, committed, acknowledged;
    struct reply replies[REPLIES_MAX];
    uint32_t reply_count;
    struct error trouble;
};

const char *edits_prefix(const char *job_id, char prefix[200])
{
    snprintf(prefix, 200, "jobs/%s", job_id);
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

/* ---- the leader's part ---- */

/* The lease is lost, or not sure: another may lead. What this process still writes under its term counts only if none does. */
static void give_up_lead(struct edits *self)
{
    struct error ignored;
    if (self->lease != NULL) {
        (void)!self->session->driver->lease_release(self->lease, &ignored);
    }
    self->lease = NULL;
    self->term = 0;
}

static enum status keep_lead(struct edits *self, struct error *err)
{
    const struct cluster_driver *driver = self->session->driver;
    char name[240], held_by[CLUSTER_HOLDER_MAX];
    enum cluster_result result;
    int64_t now_us = clock_system.monotonic_us(&clock_system);
    if (self->lease != NULL) {
        if (now_us - self->renewed_us < LEASE_US / 4) {
            return STATUS_OK;
        }
        TRY(driver->lease_renew(self->lease, &result, err));
        self->renewed_us = now_us;
        if (result == CLUSTER_CONFLICT) {
            give_up_lead(self);
        }
        return STATUS_OK;
    }
    self->renewed_us = now_us;
    snprintf(name, sizeof name, "%s/ctl-leader", self->prefix);
    TRY(driver->lease_acquire(self->session, name, self->life, LEASE_US, &result, &self->lease, held_by, err));
    if (result != CLUSTER_OK) {
        self->lease = NULL;
        return STATUS_OK;
    }
    uint64_t last = control_log_fold(self->log)->term;
    self->term = self->lease->fence > last ? self->lease->fence : last + 1;
    return STATUS_OK;
}

static const struct reply *find_reply(const struct edits *self, uint64_t rank)
{
    for (uint32_t i = 0; i < self->reply_count; i++) {
        if (self->replies[i].rank == rank) {
            return &self->replies[i];
        }
    }
    return NULL;
}

static enum control_progress progress_of(void *context, const struct control_entry *entry, const char **result, const char **reason)
{
    struct edits *self = context;
    pthread_mutex_lock(&self->mutex);
    const struct reply *reply = find_reply(self, entry->rank);
    *result = reply == NULL || reply->result == NULL ? NULL : arena_text(self->arena, reply->result, strlen(reply->result));
    *reason = reply == NULL || !reply->failed ? NULL : arena_text(self->arena, reply->reason, strlen(reply->reason));
    pthread_mutex_unlock(&self->mutex);
    return CONTROL_PROGRESS_DONE;
}

/* Arguments of verbs that we obey, but not in every form. */
static enum status check_edit(void *context, const struct control_fold *fold, const struct control_verb *verb,
                              const struct control_propose *propose, enum control_how *how, struct error *err)
{
    json_t *args = json_loads(propose->args, 0, NULL);
    bool drains = json_is_true(json_object_get(args, "drain"));
    json_decref(args);
    return drains ? error_set(err, ERROR_CTL_NO_GROUND, "%s: this job cannot drain its sources first", verb->name) : STATUS_OK;
}

/* Decides and closes until there is nothing to do. */
static enum status lead(struct edits *self, struct error *err)
{
    uint32_t verb_count = 0;
    while (edits_verbs[verb_count] != NULL) {
        verb_count++;
    }
    const struct control_ground ground = {
        .verbs = edits_verbs, .verb_count = verb_count, .context = self, .check = check_edit, .progress = progress_of};
    const struct control_member member = {self->life, known_sets, ARRAY_LENGTH(known_sets)};
    struct control_step step = {.kind = CONTROL_STEP_APPEND};
    while (self->term != 0 && step.kind != CONTROL_STEP_WAIT) {
        const struct control_fold *fold = control_log_fold(self->log);
        const struct control_world world = {.term = self->term,
                                            .leader = self->life,
                                            .version = self->term,
                                            .model_rank = fold->rank,
                                            .tasks = the_task,
                                            .task_count = 1,
                                            .members = &member,
                                            .member_count = 1,
                                            .ground = &ground,
                                            .verbs = &control_verbs,
                                            .wall_ms = clock_system.wall_us(&clock_system) / 1000,
                                            .snapshot_every = CONTROL_SNAPSHOT_EVERY};
        bool counted = true;
        uint64_t index;
        TRY(control_decide(fold, &world, self->arena, &step, err));
        if (step.kind == CONTROL_STEP_APPEND) {
            TRY(control_log_append(self->log, &step.record, &index, &counted, err));
        } else if (step.kind == CONTROL_STEP_SNAPSHOT) {
            TRY(control_log_snapshot(self->log, &step.record, &counted, err));
            counted = true; /* others have appended meanwhile, or a newer leader is there: its term ends this below */
        }
        if (!counted || control_log_fold(self->log)->term > self->term) {
            give_up_lead(self);
        }
    }
    return STATUS_OK;
}

/* ---- the processor's part ---- */

/* One acknowledgement for all that has been committed and not been said yet. */
static enum status acknowledge(struct edits *self, struct error *err)
{
    struct control_failure failed[REPLIES_MAX];
    struct control_record record = {.kind = CONTROL_ACK};
    pthread_mutex_lock(&self->mutex);
    uint64_t through = self->committed;
    bool is_new = through > self->acknowledged;
    for (uint32_t i = 0; is_new && i < self->reply_count; i++) {
        struct reply *reply = &self->replies[i];
        if (reply->failed && reply->rank <= through && reply->rank > self->acknowledged) {
            failed[record.ack.failed_count++] =
                (struct control_failure){reply->rank, TASK_ALL, arena_text(self->arena, reply->code, strlen(reply->code)),
                                         arena_text(self->arena, reply->reason, strlen(reply->reason))};
        }
    }
    pthread_mutex_unlock(&self->mutex);
    uint64_t task = TASK_ALL, index;
    bool counted;
    if (!is_new) {
        return STATUS_OK;
    }
    record.ack.by = self->life;
    record.ack.through = through;
    record.ack.tasks = &task;
    record.ack.task_count = 1;
    record.ack.failed = failed;
    TRY(control_log_append(self->log, &record, &index, &counted, err));
    pthread_mutex_lock(&self->mutex);
    self->acknowledged = through;
    pthread_mutex_unlock(&self->mutex);
    return STATUS_OK;
}

/* Replies to what is closed are not needed any more. */
static void forget_replies(struct edits *self)
{
    uint32_t kept = 0;
    pthread_mutex_lock(&self->mutex);
    for (uint32_t i = 0; i < self->reply_count; i++) {
        const struct control_entry *entry = control_fold_after(control_log_fold(self->log), self->replies[i].rank - 1);
        bool closed = entry == NULL || entry->rank != self->replies[i].rank || control_state_is_final(entry->state);
        if (closed) {
            free(self->replies[i].result);
        } else {
            self->replies[kept++] = self->replies[i];
        }
    }
    self->reply_count = kept;
    pthread_mutex_unlock(&self->mutex);
}

static enum status hand_over(struct edits *self, struct error *err)
{
    pthread_mutex_lock(&self->mutex);
    bool is_free = !self->has_next && !self->is_taken && self->reply_count < REPLIES_MAX;
    uint64_t applied = self->applied;
    pthread_mutex_unlock(&self->mutex);
    const struct control_entry *entry = is_free ? control_fold_after(control_log_fold(self->log), applied) : NULL;
    if (entry == NULL) {
        return STATUS_OK;
    }
    if (entry->propose.args == NULL) {
        return error_set(err, ERROR_STORE_CORRUPT, "edit %" PRIu64 " of the control log is settled, but this job has not applied it",
                         entry->rank);
    }
    arena_reset(self->next_arena);
    struct edit next = {.rank = entry->rank, .index = entry->index};
    TRY_ALLOC(next.verb, arena_text(self->next_arena, entry->propose.verb, strlen(entry->propose.verb)), err);
    TRY_ALLOC(next.args, arena_text(self->next_arena, entry->propose.args, strlen(entry->propose.args)), err);
    pthread_mutex_lock(&self->mutex);
    self->next = next;
    self->has_next = true;
    pthread_mutex_unlock(&self->mutex);
    return STATUS_OK;
}

/* ---- the thread ---- */

static enum status one_pass(struct edits *self, struct error *err)
{
    arena_reset(self->arena);
    TRY(control_log_read(self->log, err));
    TRY(acknowledge(self, err));
    TRY(keep_lead(self, err));
    TRY(lead(self, err));
    forget_replies(self);
    return hand_over(self, err);
}

static void note_trouble(struct edits *self, const struct error *trouble)
{
    pthread_mutex_lock(&self->mutex);
    if (strcmp(self->trouble.text, trouble->text) != 0) { /* the same again is no news */
        self->has_trouble = true;
        self->trouble = *trouble;
    }
    pthread_mutex_unlock(&self->mutex);
}

static void *run_thread(void *context)
{
    struct edits *self = context;
    int64_t give_up_us = 0;
    for (bool ends = false; !ends;) {
        struct error err = {0};
        bool good = one_pass(self, &err) == STATUS_OK;
        if (!good) {
            note_trouble(self, &err);
        }
        int64_t now_us = clock_system.monotonic_us(&clock_system);
        pthread_mutex_lock(&self->mutex);
        if (good && !self->has_trouble) {
            self->trouble.text[0] = '\0'; /* an outage that comes later is another */
        }
        if (self->leaving) {
            give_up_us = give_up_us == 0 ? now_us + CLOSE_PATIENCE_MS * 1000 : give_up_us;
            ends = (good && self->acknowledged >= self->committed) || now_us > give_up_us;
        }
        if (!ends) {
            condition_wait_us(&self->changed, &self->mutex, (self->leaving ? POLL_MS / 5 : POLL_MS) * INT64_C(1000));
        }
        pthread_mutex_unlock(&self->mutex);
    }
    return NULL;
}

/* ---- the job's side ---- */

bool edits_take(struct edits *self, struct edit *edit)
{
    pthread_mutex_lock(&self->mutex);
    bool taken = self->has_next;
    if (taken) {
        *edit = self->next;
        self->has_next = false;
        self->is_taken = true;
    }
    pthread_mutex_unlock(&self->mutex);
    return taken;
}

void edits_applied(struct edits *self, uint64_t rank, const char *result, const struct error *failure)
{
    struct reply reply = {.rank = rank, .result = result == NULL ? NULL : strdup(result), .failed = failure != NULL};
    if (failure != NULL) {
        (void)control_code_text(failure->code, reply.code);
        snprintf(reply.reason, sizeof reply.reason, "%s", failure->text);
    }
    pthread_mutex_lock(&self->mutex);
    self->replies[self->reply_count++] = reply;
    self->applied = rank;
    self->is_taken = false;
    pthread_cond_signal(&self->changed);
    pthread_mutex_unlock(&self->mutex);
}

uint64_t edits_rank(const struct edits *self)
{
    return self->applied; /* only this thread writes it */
}

void edits_committed(struct edits *self, uint64_t rank)
{
    pthread_mutex_lock(&self->mutex);
    if (rank > self->committed) {
        self->committed = rank;
        pthread_cond_signal(&self->changed);
    }
    pthread_mutex_unlock(&self->mutex);
}

bool edits_begin_paused(const struct edits *self)
{
    return self->paused_at_start;
}

bool edits_trouble(struct edits *self, struct error *trouble)
{
    pthread_mutex_lock(&self->mutex);
    bool is_new = self->has_trouble;
    *trouble = self->trouble;
    self->has_trouble = false;
    pthread_mutex_unlock(&self->mutex);
    return is_new;
}

/* ---- open, close ---- */

/* The rank before the first edit that is still to be done. */
static uint64_t first_open_rank(const struct control_fold *fold)
{
    for (uint32_t i = 0; i < fold->entry_count; i++) {
        if (fold->entries[i].state == CONTROL_STATE_ACCEPTED) {
            return fold->entries[i].rank - 1;
        }
    }
    return fold->rank;
}

static enum status begin(struct edits *self, struct error *err)
{
    TRY(cluster_open(self->spec.uri, NULL, 0, NULL, &self->session, err));
    TRY(control_log_open(self->session, self->prefix, self->spec.budget, NULL, &self->random, &self->log, err));
    TRY(control_log_read(self->log, err));
    const struct control_fold *fold = control_log_fold(self->log);
    self->applied = self->spec.goes_on ? self->spec.applied : first_open_rank(fold);
    self->committed = self->applied;
    self->acknowledged = control_fold_acked(fold, TASK_ALL);
    const struct control_standing *pause = control_fold_standing(fold, "pause");
    self->paused_at_start = pause != NULL && pause->rank <= self->applied;
    if (pthread_create(&self->thread, NULL, run_thread, self) != 0) {
        return error_set(err, ERROR_THREAD, "no thread for the control log");
    }
    self->has_thread = true;
    return STATUS_OK;
}

enum status edits_open(const struct edits_spec *spec, struct edits **edits, struct error *err)
{
    struct edits *self = calloc(1, sizeof *self);
    if (self == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room for the control log of a job");
    }
    self->spec = *spec;
    pthread_mutex_init(&self->mutex, NULL);
    condition_init(&self->changed);
    random_open(&self->random, 0);
    (void)edits_prefix(spec->job_id, self->prefix);
    (void)life_text((struct life){"run", random_next(&self->random)}, self->life);
    self->arena = arena_create(spec->budget, "control log");
    self->next_arena = arena_create(spec->budget, "edit");
    enum status status = self->arena == NULL || self->next_arena == NULL
                             ? error_set(err, ERROR_BUDGET_SPENT, "no room for the control log of a job")
                             : begin(self, err);
    if (status != STATUS_OK) {
        error_add_context(err, "while opening the control log of the job at '%s' ('coordinator.uri')", spec->uri);
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
    if (self->has_thread) {
        pthread_mutex_lock(&self->mutex);
        self->leaving = true;
        pthread_cond_signal(&self->changed);
        pthread_mutex_unlock(&self->mutex);
        pthread_join(self->thread, NULL);
    }
    give_up_lead(self);
    control_log_close(self->log);
    cluster_close(self->session, true);
    for (uint32_t i = 0; i < self->reply_count; i++) {
        free(self->replies[i].result);
    }
    arena_destroy(self->arena);
    arena_destroy(self->next_arena);
    pthread_mutex_destroy(&self->mutex);
    pthread_cond_destroy(&self->changed);
    free(self);
}
