/* Members of a group (spate/coordination.h): the runner of jobs (cluster/runner.h) over tasks that are the program's.
 *
 * The runner's calls must not wait, so they become orders, which a thread of the member carries out by calling the program back; its answers
 * go to the runner as outcomes. What a fence of another system is for a job is here the fence that goes with the program's writes: registers
 * refuse lower ones by themselves, so there is nothing to do for a seat. For all else the group is told that nobody refuses it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/coordination_handle.h"
#include "base/condition.h"
#include "cluster/form.h"
#include "cluster/runner.h"
#include "cluster/value.h"

enum { PREFIX_BYTES = CLUSTER_NAME_MAX, RECORD_ATTEMPTS = 20, HOST_BYTES = 65, BOOT_BYTES = 64 };

enum order_kind { ORDER_START, ORDER_STOP, ORDER_ABANDON, ORDER_SUSPEND, ORDER_END };
struct order {
    struct order *next;
    enum order_kind kind;
    uint64_t request, task, epoch;
    int32_t code;
    bool suspended;
};
struct spate_member {
    struct spate_coordinator *coordinator;
    struct spate_member_callbacks callbacks;
    void *context;
    char prefix[PREFIX_BYTES], id[SPATE_MEMBER_ID_BYTES + 1], host[HOST_BYTES], boot[BOOT_BYTES];
    struct budget budget;
    struct runner_tasks tasks;
    struct runner_stores stores;
    struct runner *runner;
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t changed;
    struct order *first, *last;
    uint64_t fences[SPATE_GROUP_TASKS_MAX]; /* of the tasks that run here; 0: it does not */
    bool ended, ending;                     /* the runner; the thread */
    pthread_t thread;
    bool started;
    pthread_mutex_t writes; /* one read or update of a guarded register at a time */
};

/* ---- orders ---- */

static void give_order(struct spate_member *self, struct order order)
{
    struct order *copy = malloc(sizeof *copy);
    if (copy == NULL) {
        abort(); /* an order that is lost would be waited for for ever */
    }
    *copy = order;
    pthread_mutex_lock(&self->mutex);
    if (self->last == NULL) {
        self->first = copy;
    } else {
        self->last->next = copy;
    }
    self->last = copy;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->mutex);
}

static void order_start(void *context, const struct cluster_action *action)
{
    give_order(context, (struct order){.kind = ORDER_START, .request = action->request, .task = action->task, .epoch = action->epoch});
}

static void order_stop(void *context, uint64_t request, uint64_t task)
{
    give_order(context, (struct order){.kind = ORDER_STOP, .request = request, .task = task});
}

static void order_abandon(void *context, uint64_t request)
{
    give_order(context, (struct order){.kind = ORDER_ABANDON, .request = request});
}

static void order_suspend(void *context, bool suspended)
{
    give_order(context, (struct order){.kind = ORDER_SUSPEND, .suspended = suspended});
}

static void order_end(void *context, int32_t code)
{
    give_order(context, (struct order){.kind = ORDER_END, .code = code});
}

static void follow(void *context, uint64_t task, bool follow_it)
{
    (void)context, (void)task, (void)follow_it; /* groups have no standbys */
}

static void report(void *context, const char *text)
{
    (void)context, (void)text; /* a program's log is its own */
}

/* ---- carrying them out ---- */

static void answer(struct spate_member *self, enum step step, const struct order *order)
{
    runner_post(self->runner, &(struct cluster_event){.kind = EVENT_OUTCOME, .step = step, .request = order->request, .task = order->task});
}

/* The orders of one kind at the front of the queue; at most as many as there are tasks. With the mutex. */
static uint32_t take_alike(struct spate_member *self, struct order taken[SPATE_GROUP_TASKS_MAX])
{
    uint32_t count = 0;
    while (self->first != NULL && count < SPATE_GROUP_TASKS_MAX && (count == 0 || self->first->kind == taken[0].kind)) {
        struct order *order = self->first;
        taken[count++] = *order;
        self->first = order->next;
        self->last = self->first == NULL ? NULL : self->last;
        free(order);
    }
    return count;
}

static void start_all(struct spate_member *self, const struct order *orders, uint32_t count)
{
    struct spate_grant grants[SPATE_GROUP_TASKS_MAX];
    pthread_mutex_lock(&self->mutex);
    for (uint32_t i = 0; i < count; i++) {
        grants[i] = (struct spate_grant){task_partition(orders[i].task), orders[i].epoch};
        self->fences[grants[i].task] = grants[i].fence;
    }
    pthread_mutex_unlock(&self->mutex);
    if (self->callbacks.on_model != NULL) {
        self->callbacks.on_model(self->context, grants, count);
    }
    for (uint32_t i = 0; i < count; i++) {
        answer(self, STEP_START_TASK, &orders[i]);
    }
}

/* Tasks that run here, of those that are to be stopped; they do not any more. */
static uint32_t forget(struct spate_member *self, const struct order *orders, uint32_t count, uint32_t tasks[SPATE_GROUP_TASKS_MAX])
{
    uint32_t forgotten = 0;
    pthread_mutex_lock(&self->mutex);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t task = task_partition(orders[i].task);
        if (self->fences[task] != 0) {
            tasks[forgotten++] = task;
        }
    }
    pthread_mutex_unlock(&self->mutex);
    return forgotten;
}

/* A task may still write while the program stops it: it is this member's until it has answered. */
static void stop_all(struct spate_member *self, const struct order *orders, uint32_t count)
{
    uint32_t tasks[SPATE_GROUP_TASKS_MAX];
    uint32_t running = forget(self, orders, count, tasks);
    if (running > 0 && self->callbacks.on_model_expired != NULL) {
        self->callbacks.on_model_expired(self->context, tasks, running);
    }
    pthread_mutex_lock(&self->mutex);
    for (uint32_t i = 0; i < running; i++) {
        self->fences[tasks[i]] = 0;
    }
    pthread_mutex_unlock(&self->mutex);
    for (uint32_t i = 0; i < count; i++) {
        answer(self, STEP_STOP_TASK, &orders[i]);
    }
}

static void abandon(struct spate_member *self, const struct order *order)
{
    bool running = false;
    pthread_mutex_lock(&self->mutex);
    for (uint32_t i = 0; i < SPATE_GROUP_TASKS_MAX; i++) {
        running |= self->fences[i] != 0;
        self->fences[i] = 0;
    }
    pthread_mutex_unlock(&self->mutex);
    if (running && self->callbacks.on_fenced != NULL) {
        self->callbacks.on_fenced(self->context);
    }
    answer(self, STEP_ABANDON_ALL, order);
}

static void end(struct spate_member *self, const struct order *order)
{
    static const int ends[] = {SPATE_MEMBER_LEFT, SPATE_MEMBER_UNCLEAN, SPATE_MEMBER_UNCLEAN, SPATE_MEMBER_REFUSED};
    int how = order->code >= 0 && order->code < (int32_t)ARRAY_LENGTH(ends) ? ends[order->code] : SPATE_MEMBER_UNCLEAN;
    pthread_mutex_lock(&self->mutex);
    memset(self->fences, 0, sizeof self->fences);
    pthread_mutex_unlock(&self->mutex);
    if (self->callbacks.on_stopped != NULL) {
        self->callbacks.on_stopped(self->context, how);
    }
    pthread_mutex_lock(&self->mutex);
    self->ended = true;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->mutex);
}

static void carry_out(struct spate_member *self, const struct order *orders, uint32_t count)
{
    switch (orders[0].kind) {
    case ORDER_START:
        start_all(self, orders, count);
        break;
    case ORDER_STOP:
        stop_all(self, orders, count);
        break;
    case ORDER_ABANDON:
        for (uint32_t i = 0; i < count; i++) {
            abandon(self, &orders[i]);
        }
        break;
    case ORDER_SUSPEND:
        if (self->callbacks.on_suspended != NULL) {
            self->callbacks.on_suspended(self->context, orders[count - 1].suspended);
        }
        break;
    case ORDER_END:
        end(self, &orders[0]);
    }
}

static void *carry_out_orders(void *member)
{
    struct spate_member *self = member;
    struct order taken[SPATE_GROUP_TASKS_MAX];
    pthread_mutex_lock(&self->mutex);
    while (!self->ending) {
        uint32_t count = take_alike(self, taken);
        if (count == 0) {
            pthread_cond_wait(&self->changed, &self->mutex);
            continue;
        }
        pthread_mutex_unlock(&self->mutex);
        carry_out(self, taken, count);
        pthread_mutex_lock(&self->mutex);
    }
    pthread_mutex_unlock(&self->mutex);
    return NULL;
}

/* ---- what a group keeps beside its model ---- */

static enum status open_seat(void *context, uint32_t seat, struct life life, struct error *err)
{
    (void)context, (void)seat, (void)life, (void)err;
    return STATUS_OK;
}

static enum status fence_seat(void *context, uint32_t seat, struct life life, const struct model *model, struct error *err)
{
    (void)context, (void)seat, (void)life, (void)model, (void)err;
    return STATUS_OK;
}

static enum status swap_record(struct spate_member *self, struct arena *arena, uint64_t *term_floor, uint32_t *seat_high, bool *done,
                               struct error *err)
{
    struct cluster_session *session = self->coordinator->session;
    char name[PREFIX_BYTES + 10];
    enum cluster_result result, put;
    struct cluster_value value;
    struct cluster_version version;
    struct document document;
    struct text json, sealed;
    uint64_t term = 0, seats = 0;
    snprintf(name, sizeof name, "%s/record", self->prefix);
    TRY(session->driver->get(session, name, arena, &result, &value, err));
    if (result == CLUSTER_OK) {
        TRY(value_unseal(name, value.bytes, &json, err));
        TRY(document_open(name, json, FORM_VERSION, arena, &document, err));
        term = form_count(&document, document.root, "term_floor");
        seats = form_count(&document, document.root, "seat_high");
        enum status status = document_status(&document);
        document_close(&document);
        TRY(status);
    }
    *term_floor = *term_floor > term ? *term_floor : term;
    *seat_high = *seat_high > seats ? *seat_high : (uint32_t)seats;
    json_t *root =
        json_pack("{s:i, s:I, s:I}", "v", FORM_VERSION, "term_floor", (json_int_t)*term_floor, "seat_high", (json_int_t)*seat_high);
    TRY(document_write(root, arena, &json, err));
    TRY(value_seal(json, arena, &sealed, err));
    TRY(session->driver->put(session, name, sealed, result == CLUSTER_OK ? &value.version : NULL, &put, &version, err));
    *done = put == CLUSTER_OK; /* UNKNOWN: read again, and raised again */
    return STATUS_OK;
}

static enum status raise_record(void *context, uint64_t *term_floor, uint32_t *seat_high, struct error *err)
{
    struct spate_member *self = context;
    struct call_arena call;
    bool done = false;
    enum status status = call_arena_open(&call, err);
    for (uint32_t i = 0; i < RECORD_ATTEMPTS && status == STATUS_OK && !done; i++) {
        status = swap_record(self, call.arena, term_floor, seat_high, &done, err);
    }
    call_arena_close(&call);
    TRY(status);
    return done ? STATUS_OK : error_set(err, ERROR_CLUSTER_UNAVAILABLE, "the record of %s changes too fast", self->prefix);
}

/* A group's tasks are few enough for the register of its model. */
static enum status put_body(void *context, const char *sha256, struct text body, struct error *err)
{
    const struct spate_member *self = context;
    (void)sha256;
    return error_set(err, ERROR_TOO_MANY, "the members and tasks of %s need %zu bytes: more than a register holds", self->prefix,
                     body.length);
}

static enum status get_body(void *context, const char *sha256, struct arena *arena, struct text *body, struct error *err)
{
    const struct spate_member *self = context;
    (void)arena, (void)body;
    return error_set(err, ERROR_STORE_CORRUPT, "the model of %s has its tasks elsewhere (%s): it is no group's", self->prefix, sha256);
}

/* ---- the model ---- */

static enum status read_model(struct spate_coordinator *coordinator, const char *prefix, struct arena *arena, struct budget *budget,
                              enum cluster_result *result, struct model **model, struct error *err)
{
    struct cluster_session *session = coordinator->session;
    struct cluster_value value;
    struct text json;
    char name[PREFIX_BYTES + 10];
    snprintf(name, sizeof name, "%s/model", prefix);
    TRY(session->driver->get(session, name, arena, result, &value, err));
    if (*result != CLUSTER_OK) {
        return STATUS_OK;
    }
    TRY(value_unseal(name, value.bytes, &json, err));
    return model_read(name, json, budget, model, err);
}

static enum status fill_model(struct model *model, uint32_t task_count, struct error *err)
{
    model->rev = model->version = 1;
    model->unfenced = true;
    model->round.why = "the group was made";
    TRY_ALLOC(model->tasks, arena_alloc(model->arena, task_count * sizeof *model->tasks), err);
    for (uint32_t i = 0; i < task_count; i++) {
        model->tasks[i] = (struct model_task){.task = task_make(0, i), .epoch = 1, .owner = MODEL_NONE};
    }
    model->task_count = task_count;
    return STATUS_OK;
}

/* Of several that make the group at once one does; the others find it. */
static enum status make_model(struct spate_member *self, const char *group, uint32_t task_count, struct arena *arena, struct error *err)
{
    struct cluster_session *session = self->coordinator->session;
    char name[PREFIX_BYTES + 10], sha256[MODEL_SHA256_BYTES];
    struct text json, body, value;
    enum cluster_result result;
    struct cluster_version version;
    struct model *model = model_create(&self->budget, err);
    if (model == NULL) {
        return err->status;
    }
    model->job = group;
    enum status status = fill_model(model, task_count, err);
    if (status == STATUS_OK) {
        status = model_write(model, arena, &json, &body, sha256, err);
    }
    model_unref(model);
    TRY(status);
    TRY(value_seal(json, arena, &value, err));
    snprintf(name, sizeof name, "%s/model", self->prefix);
    return session->driver->put(session, name, value, NULL, &result, &version, err);
}

static enum status find_model(struct spate_member *self, const char *group, uint32_t task_count, struct error *err)
{
    struct call_arena call;
    struct model *model = NULL;
    enum cluster_result result;
    enum status status;
    TRY_GOTO(done, status, call_arena_open(&call, err));
    TRY_GOTO(done, status, read_model(self->coordinator, self->prefix, call.arena, &self->budget, &result, &model, err));
    if (result == CLUSTER_ABSENT) {
        TRY_GOTO(done, status, make_model(self, group, task_count, call.arena, err));
        TRY_GOTO(done, status, read_model(self->coordinator, self->prefix, call.arena, &self->budget, &result, &model, err));
    }
    if (model == NULL) {
        status = error_set(err, ERROR_CLUSTER_UNAVAILABLE, "the group '%s' could not be made: try again", group);
    } else if (model->task_count != task_count) {
        status = error_set(err, ERROR_CLUSTER_NAME, "the group '%s' is there with %u tasks, not %u", group, model->task_count, task_count);
    }
done:
    model_unref(model);
    call_arena_close(&call);
    return status;
}

/* ---- joining ---- */

static enum status check(const char *group, const char *id, uint32_t task_count, struct error *err)
{
    if (task_count == 0 || task_count > SPATE_GROUP_TASKS_MAX) {
        return error_set(err, ERROR_TOO_MANY, "a group has 1 to %d tasks, not %u", SPATE_GROUP_TASKS_MAX, task_count);
    }
    if (id[0] == '\0' || strlen(id) > SPATE_MEMBER_ID_BYTES || strpbrk(id, "#/ ") != NULL) {
        return error_set(err, ERROR_CLUSTER_NAME, "a member's id has 1 to %d bytes, none of '#', '/' or blank: not '%.100s'",
                         SPATE_MEMBER_ID_BYTES, id);
    }
    if (strlen(group) + sizeof "groups//members/" + SPATE_MEMBER_ID_BYTES > CLUSTER_NAME_MAX) {
        return error_set(err, ERROR_CLUSTER_NAME, "the name of a group is too long: '%.100s'...", group);
    }
    return cluster_name_check(group, err);
}

static void read_boot(char boot[BOOT_BYTES])
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file != NULL) {
        (void)!fgets(boot, BOOT_BYTES, file);
        fclose(file);
        boot[strcspn(boot, "\n")] = '\0';
    }
}

static enum status start(struct spate_member *self, spate_member **member, struct error *err)
{
    self->tasks = (struct runner_tasks){self, order_start, order_stop, order_abandon, order_suspend, follow, report, order_end};
    self->stores = (struct runner_stores){self, open_seat, fence_seat, raise_record, put_body, get_body};
    const struct cluster_timing *timing = &self->coordinator->timing;
    struct runner_config config = {
        .session = self->coordinator->session,
        .prefix = self->prefix,
        .processor = {.id = self->id,
                      .host = {.host = self->host, .boot = self->boot, .build = spate_version(), .pid = getpid(), .weight = 1},
                      .timing = timing,
                      .budget = &self->budget},
        .leader = {.timing = timing, .budget = &self->budget},
        .tasks = &self->tasks,
        .stores = &self->stores};
    *member = self; /* before a callback can want it */
    TRY(runner_start(&config, &self->runner, err));
    self->started = pthread_create(&self->thread, NULL, carry_out_orders, self) == 0;
    return self->started ? STATUS_OK : error_set(err, ERROR_THREAD, "no thread for a member");
}

static enum status join(struct spate_coordinator *coordinator, const char *group, const char *id, uint32_t task_count,
                        const struct spate_member_callbacks *callbacks, void *context, spate_member **member, struct error *err)
{
    struct spate_member *self;
    TRY(check(group, id, task_count, err));
    TRY_ALLOC(self, calloc(1, sizeof *self), err);
    self->coordinator = coordinator;
    self->context = context;
    if (callbacks != NULL) {
        memcpy(&self->callbacks, callbacks, callbacks->size < sizeof *callbacks ? callbacks->size : sizeof *callbacks);
    }
    snprintf(self->prefix, sizeof self->prefix, "groups/%s", group);
    snprintf(self->id, sizeof self->id, "%s", id);
    (void)gethostname(self->host, sizeof self->host - 1);
    read_boot(self->boot);
    budget_init(&self->budget, NULL, "a member of a group", BUDGET_UNLIMITED);
    pthread_mutex_init(&self->mutex, NULL);
    pthread_mutex_init(&self->writes, NULL);
    condition_init(&self->changed);
    enum status status = find_model(self, group, task_count, err);
    if (status == STATUS_OK) {
        status = start(self, member, err);
    }
    if (status != STATUS_OK) {
        *member = NULL;
        spate_member_close(self);
    }
    return status;
}

int spate_member_join(spate_coordinator *coordinator, const char *group, const char *id, uint32_t task_count,
                      const struct spate_member_callbacks *callbacks, void *context, spate_member **member, struct spate_error *error)
{
    *member = NULL;
    return coordination_finish(join(coordinator, group, id, task_count, callbacks, context, member, coordination_error()), error);
}

/* ---- being a member ---- */

/* 0: it does not run here. */
static uint64_t fence_of(struct spate_member *member, uint32_t task)
{
    pthread_mutex_lock(&member->mutex);
    uint64_t fence = task < SPATE_GROUP_TASKS_MAX ? member->fences[task] : 0;
    pthread_mutex_unlock(&member->mutex);
    return fence;
}

bool spate_member_may_write(spate_member *member, uint32_t task, uint64_t *fence)
{
    uint64_t granted = fence_of(member, task);
    bool may = granted != 0 && runner_may_write(member->runner);
    if (may && fence != NULL) {
        *fence = granted;
    }
    return may;
}

static int outcome_of(enum guarded_result result)
{
    static const int outcomes[] = {[GUARDED_OK] = SPATE_OUTCOME_DONE,
                                   [GUARDED_ABSENT] = SPATE_OUTCOME_ABSENT,
                                   [GUARDED_OUTDATED] = SPATE_OUTCOME_OUTDATED,
                                   [GUARDED_UNKNOWN] = SPATE_OUTCOME_UNKNOWN};
    return outcomes[result];
}

int spate_member_read(spate_member *member, uint32_t task, const char *name, void *bytes, size_t capacity, size_t *length, int *outcome,
                      struct spate_error *error)
{
    struct error *err = coordination_error();
    const struct guarded guarded = {member->coordinator->session, &member->coordinator->random, name};
    struct guarded_value value;
    enum guarded_result result = GUARDED_OUTDATED;
    struct call_arena call;
    enum status status;
    uint64_t fence = fence_of(member, task); /* also while it is suspended: the register refuses by itself */
    *length = 0;
    TRY_GOTO(done, status, call_arena_open(&call, err));
    TRY_GOTO(done, status, coordination_name_check(name, err));
    if (fence != 0) {
        pthread_mutex_lock(&member->writes);
        status = guarded_read(&guarded, fence, call.arena, &result, &value, err);
        pthread_mutex_unlock(&member->writes);
    }
    if (status == STATUS_OK && result == GUARDED_OK) {
        status = coordination_give(value.bytes, bytes, capacity, length, err);
    }
done:
    call_arena_close(&call);
    *outcome = outcome_of(result);
    return coordination_finish(status, error);
}

int spate_member_update(spate_member *member, uint32_t task, const char *name, const void *bytes, size_t length, int *outcome,
                        struct spate_error *error)
{
    struct error *err = coordination_error();
    const struct guarded guarded = {member->coordinator->session, &member->coordinator->random, name};
    enum guarded_result result = GUARDED_OUTDATED;
    uint64_t fence = fence_of(member, task);
    enum status status = coordination_name_check(name, err);
    if (status == STATUS_OK && fence != 0) {
        pthread_mutex_lock(&member->writes);
        status = guarded_update(&guarded, fence, (struct text){bytes, length}, &result, err);
        pthread_mutex_unlock(&member->writes);
    }
    *outcome = outcome_of(result);
    return coordination_finish(status, error);
}

/* ---- leaving ---- */

int spate_member_leave(spate_member *member, int64_t timeout_ms, int *outcome, struct spate_error *error)
{
    int64_t until_us = coordination_deadline(timeout_ms);
    runner_post(member->runner, &(struct cluster_event){.kind = EVENT_LEAVE});
    pthread_mutex_lock(&member->mutex);
    while (!member->ended && coordination_now() < until_us) {
        if (until_us == INT64_MAX) {
            pthread_cond_wait(&member->changed, &member->mutex);
        } else {
            condition_wait_us(&member->changed, &member->mutex, until_us - coordination_now());
        }
    }
    *outcome = member->ended ? SPATE_OUTCOME_DONE : SPATE_OUTCOME_TIMED_OUT;
    pthread_mutex_unlock(&member->mutex);
    return coordination_finish(STATUS_OK, error);
}

void spate_member_close(spate_member *member)
{
    if (member == NULL) {
        return;
    }
    pthread_mutex_lock(&member->mutex);
    member->ending = true;
    pthread_cond_broadcast(&member->changed);
    pthread_mutex_unlock(&member->mutex);
    if (member->started) {
        pthread_join(member->thread, NULL);
    }
    runner_close(member->runner);
    while (member->first != NULL) {
        struct order *order = member->first;
        member->first = order->next;
        free(order);
    }
    pthread_cond_destroy(&member->changed);
    pthread_mutex_destroy(&member->mutex);
    pthread_mutex_destroy(&member->writes);
    free(member);
}

/* ---- looking ---- */

static void visit_all(const struct model *model, spate_member_visit visit, void *context)
{
    uint32_t tasks[SPATE_GROUP_TASKS_MAX];
    for (uint32_t i = 0; i < model->member_count; i++) {
        struct spate_member_info info = {.size = sizeof info,
                                         .id = model->members[i].life.id,
                                         .tasks = tasks,
                                         .version = model->version,
                                         .leads = life_equal(model->members[i].life, model->leader)};
        for (uint32_t k = 0; k < model->task_count && info.task_count < SPATE_GROUP_TASKS_MAX; k++) {
            if (model->tasks[k].open && model->tasks[k].owner == i) {
                tasks[info.task_count++] = task_partition(model->tasks[k].task);
            }
        }
        visit(context, &info);
    }
}

static enum status list(struct spate_coordinator *coordinator, const char *group, spate_member_visit visit, void *context, int *outcome,
                        struct error *err)
{
    char prefix[PREFIX_BYTES];
    struct call_arena call;
    struct model *model = NULL;
    enum cluster_result result;
    enum status status;
    TRY(check(group, "-", 1, err));
    snprintf(prefix, sizeof prefix, "groups/%s", group);
    TRY_GOTO(done, status, call_arena_open(&call, err));
    TRY_GOTO(done, status, read_model(coordinator, prefix, call.arena, &call.budget, &result, &model, err));
    *outcome = result == CLUSTER_OK ? SPATE_OUTCOME_DONE : SPATE_OUTCOME_ABSENT;
    if (model != NULL) {
        visit_all(model, visit, context);
        model_unref(model);
    }
done:
    call_arena_close(&call);
    return status;
}

int spate_member_list(spate_coordinator *coordinator, const char *group, spate_member_visit visit, void *context, int *outcome,
                      struct spate_error *error)
{
    return coordination_finish(list(coordinator, group, visit, context, outcome, coordination_error()), error);
}
