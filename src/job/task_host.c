#include "job/task_host.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct running {
    struct task_run run; /* first: a run is its running */
    struct running *next;
    pthread_t thread;
    char life_id[LIFE_ID_MAX + 1];
    enum task_wish wish;
    uint64_t start_request, stop_request; /* stop_request 0: nobody waits for its end */
    bool started, over, ended;
    void (*cancel)(void *context);
    void *cancel_context;
};
struct task_host {
    struct task_host_config config;
    struct runner_tasks tasks;
    struct runner *runner;
    pthread_mutex_t mutex; /* guards all that follows, and the fields of each running but `run` */
    pthread_cond_t changed;
    struct running *first;
    bool suspended, detached;
    uint64_t abandon_request; /* 0: none is asked for */
};

/* The runner's thread may be here before task_host_attach was. */
static void lock_attached(struct task_host *host)
{
    pthread_mutex_lock(&host->mutex);
    while (host->runner == NULL && !host->detached) {
        pthread_cond_wait(&host->changed, &host->mutex);
    }
}

/* With the mutex, so that what is told of a run comes before what is told of the next; runner_post does not block. */
static void post(struct task_host *host, const struct cluster_event *event)
{
    if (!host->detached) {
        runner_post(host->runner, event);
    }
}

static void post_outcome(struct task_host *host, enum step step, uint64_t request, uint64_t task, enum status status,
                         const struct error *error)
{
    struct cluster_event event = {.kind = EVENT_OUTCOME, .step = step, .request = request, .task = task, .status = status};
    char code[16] = "";
    event.result = CLUSTER_OK;
    if (status != STATUS_OK) {
        snprintf(code, sizeof code, "SPATE-%04d", (int)error->code);
        event.code = code;
        event.text = error->text;
    }
    post(host, &event);
}

static void post_kind(struct task_host *host, enum cluster_event_kind kind, uint64_t task, const struct error *error)
{
    char code[16];
    snprintf(code, sizeof code, "SPATE-%04d", (int)error->code);
    const struct cluster_event event = {.kind = kind, .task = task, .code = code, .text = error->text};
    post(host, &event);
}

/* ---- the task's thread ---- */

enum task_wish task_run_wish(struct task_run *run)
{
    const struct running *self = (const struct running *)run;
    pthread_mutex_lock(&run->host->mutex);
    enum task_wish wish = self->wish == TASK_GO_ON && run->host->suspended ? TASK_SUSPEND : self->wish;
    pthread_mutex_unlock(&run->host->mutex);
    return wish;
}

void task_run_started(struct task_run *run)
{
    struct running *self = (struct running *)run;
    pthread_mutex_lock(&run->host->mutex);
    if (!self->started && self->wish == TASK_GO_ON) {
        post_outcome(run->host, STEP_START_TASK, self->start_request, run->task, STATUS_OK, NULL);
    }
    self->started = true;
    pthread_mutex_unlock(&run->host->mutex);
}

bool task_run_may_write(struct task_run *run)
{
    struct task_host *host = run->host;
    pthread_mutex_lock(&host->mutex);
    bool may = !host->detached && ((const struct running *)run)->wish != TASK_ABANDON && runner_may_write(host->runner);
    pthread_mutex_unlock(&host->mutex);
    return may;
}

void task_run_on_abandon(struct task_run *run, void (*cancel)(void *context), void *context)
{
    struct running *self = (struct running *)run;
    pthread_mutex_lock(&run->host->mutex);
    self->cancel = cancel;
    self->cancel_context = context;
    if (cancel != NULL && self->wish == TASK_ABANDON) {
        cancel(context);
    }
    pthread_mutex_unlock(&run->host->mutex);
}

static void report_failure(struct task_host *host, const struct running *self, const struct error *error)
{
    char text[sizeof error->text + 120], task[TASK_TEXT_BYTES];
    snprintf(text, sizeof text, "task.failed task=%s epoch=%llu %s", task_text(self->run.task, task), (unsigned long long)self->run.epoch,
             error->text);
    host->config.report(host->config.context, text);
}

/* What the end of a run is to coordination. A refused commit concerns the whole process. With the mutex. */
static void tell_end(struct task_host *host, const struct running *self, enum status status, const struct error *error)
{
    if (self->wish == TASK_ABANDON && self->stop_request == 0) {
        return;
    }
    if (status == STATUS_FENCED) {
        post_kind(host, EVENT_COMMIT_REFUSED, self->run.task, error);
    }
    if (self->stop_request != 0) {
        post_outcome(host, STEP_STOP_TASK, self->stop_request, self->run.task, STATUS_OK, NULL);
    } else if (!self->started) { /* OK: it had ended before; it runs, with nothing to do */
        post_outcome(host, STEP_START_TASK, self->start_request, self->run.task, status, error);
    } else if (status != STATUS_OK && status != STATUS_FENCED) {
        post_kind(host, EVENT_TASK_FAILED, self->run.task, error);
    }
}

/* Once the last run is over. With the mutex. */
static void tell_abandoned(struct task_host *host)
{
    bool over = host->abandon_request != 0;
    for (const struct running *at = host->first; at != NULL; at = at->next) {
        over = over && at->over;
    }
    if (over) {
        post_outcome(host, STEP_ABANDON_ALL, host->abandon_request, 0, STATUS_OK, NULL);
        host->abandon_request = 0;
    }
}

static void *task_main(void *context)
{
    struct running *self = context;
    struct task_host *host = self->run.host;
    const struct task_kind *kind = host->config.kind;
    struct error error = {.text = ""};
    bool ended = false;
    lock_attached(host);
    pthread_mutex_unlock(&host->mutex);
    enum status status = kind->run(kind->context, &self->run, &ended, &error);
    if (status != STATUS_OK && task_run_wish(&self->run) != TASK_ABANDON) {
        report_failure(host, self, &error);
    }
    pthread_mutex_lock(&host->mutex);
    tell_end(host, self, status, &error);
    self->ended = status == STATUS_OK && ended;
    self->started = self->started || self->ended;
    self->over = true;
    tell_abandoned(host);
    pthread_cond_broadcast(&host->changed);
    pthread_mutex_unlock(&host->mutex);
    return NULL;
}

/* ---- what the runner asks for: on its deciding thread ---- */

static void running_free(struct running *self)
{
    pthread_join(self->thread, NULL);
    free(self);
}

/* Takes runs out of the list that are over: those of the task, or all; they are joined without the mutex. */
static void reap(struct task_host *host, bool all, uint64_t task)
{
    struct running *done = NULL;
    pthread_mutex_lock(&host->mutex);
    for (struct running **at = &host->first; *at != NULL;) {
        struct running *self = *at;
        if (self->over && (all || self->run.task == task)) {
            *at = self->next;
            self->next = done;
            done = self;
        } else {
            at = &self->next;
        }
    }
    pthread_mutex_unlock(&host->mutex);
    while (done != NULL) {
        struct running *next = done->next;
        running_free(done);
        done = next;
    }
}

static struct running *make_run(struct task_host *host, const struct cluster_action *action)
{
    struct running *self = calloc(1, sizeof *self);
    if (self == NULL) {
        return NULL;
    }
    snprintf(self->life_id, sizeof self->life_id, "%s", action->life.id);
    self->start_request = action->request;
    self->run = (struct task_run){.job_id = host->config.job_id,
                                  .task = action->task,
                                  .epoch = action->epoch,
                                  .life = {self->life_id, action->life.incarnation},
                                  .pieces = action->task == TASK_ALL ? 0 : host->config.pieces,
                                  .session = host->config.session,
                                  .prefix = host->config.prefix,
                                  .host = host};
    self->run.piece = action->task == TASK_ALL ? 0 : task_partition(action->task);
    return self;
}

static void start(void *context, const struct cluster_action *action)
{
    struct task_host *host = context;
    struct error error;
    reap(host, false, action->task);
    struct running *self = make_run(host, action);
    lock_attached(host);
    if (self != NULL) {
        self->next = host->first;
        host->first = self;
        if (pthread_create(&self->thread, NULL, task_main, self) != 0) {
            host->first = self->next;
            free(self);
            self = NULL;
        }
    }
    if (self == NULL) {
        enum status status = error_set(&error, ERROR_THREAD, "no thread for a task");
        post_outcome(host, STEP_START_TASK, action->request, action->task, status, &error);
    }
    pthread_mutex_unlock(&host->mutex);
}

/* The run of a task that is not over; NULL: none. With the mutex. */
static struct running *find(struct task_host *host, uint64_t task)
{
    struct running *at = host->first;
    while (at != NULL && (at->run.task != task || at->over)) {
        at = at->next;
    }
    return at;
}

static void stop(void *context, uint64_t request, uint64_t task)
{
    struct task_host *host = context;
    lock_attached(host);
    struct running *self = find(host, task);
    if (self != NULL) {
        self->wish = self->wish == TASK_ABANDON ? TASK_ABANDON : TASK_STOP;
        self->stop_request = request;
    } else {
        post_outcome(host, STEP_STOP_TASK, request, task, STATUS_OK, NULL);
    }
    pthread_mutex_unlock(&host->mutex);
    reap(host, false, task);
}

/* With the mutex. */
static void abandon(struct task_host *host)
{
    for (struct running *at = host->first; at != NULL; at = at->next) {
        at->wish = TASK_ABANDON;
        if (!at->over && at->cancel != NULL) {
            at->cancel(at->cancel_context);
        }
    }
}

static void abandon_all(void *context, uint64_t request)
{
    struct task_host *host = context;
    lock_attached(host);
    abandon(host);
    host->suspended = false;
    host->abandon_request = request;
    tell_abandoned(host);
    pthread_mutex_unlock(&host->mutex);
}

static void suspend(void *context, bool suspended)
{
    struct task_host *host = context;
    pthread_mutex_lock(&host->mutex);
    host->suspended = suspended;
    pthread_mutex_unlock(&host->mutex);
}

static void follow(void *context, uint64_t task, bool follow)
{
    struct task_host *host = context;
    if (host->config.follow != NULL) {
        host->config.follow(host->config.context, task, follow);
    }
}

static void report(void *context, const char *text)
{
    struct task_host *host = context;
    host->config.report(host->config.context, text);
}

static void ended(void *context, int32_t code)
{
    struct task_host *host = context;
    host->config.ended(host->config.context, code);
}

/* ---- the host ---- */

enum status task_host_open(const struct task_host_config *config, struct task_host **host, struct error *err)
{
    struct task_host *self;
    TRY_ALLOC(self, calloc(1, sizeof *self), err);
    *self = (struct task_host){.config = *config,
                               .tasks = {.context = self,
                                         .start = start,
                                         .stop = stop,
                                         .abandon_all = abandon_all,
                                         .suspend = suspend,
                                         .follow = follow,
                                         .report = report,
                                         .ended = ended}};
    pthread_mutex_init(&self->mutex, NULL);
    pthread_cond_init(&self->changed, NULL);
    *host = self;
    return STATUS_OK;
}

const struct runner_tasks *task_host_tasks(struct task_host *host)
{
    return &host->tasks;
}

void task_host_attach(struct task_host *host, struct runner *runner)
{
    pthread_mutex_lock(&host->mutex);
    host->runner = runner;
    pthread_cond_broadcast(&host->changed);
    pthread_mutex_unlock(&host->mutex);
}

void task_host_tell_copy(struct task_host *host, uint64_t task, bool known, uint64_t lag_bytes, uint64_t seq)
{
    const struct cluster_event event = {
        .kind = EVENT_LOCAL_STATE, .task = task, .standby = true, .known = known, .lag_bytes = lag_bytes, .seq = seq};
    pthread_mutex_lock(&host->mutex);
    if (host->runner != NULL) {
        post(host, &event);
    }
    pthread_mutex_unlock(&host->mutex);
}

void task_host_kill(struct task_host *host)
{
    pthread_mutex_lock(&host->mutex);
    abandon(host);
    pthread_mutex_unlock(&host->mutex);
}

void task_host_detach(struct task_host *host)
{
    pthread_mutex_lock(&host->mutex);
    host->detached = true;
    abandon(host);
    pthread_cond_broadcast(&host->changed);
    pthread_mutex_unlock(&host->mutex);
}

void task_host_figures(struct task_host *host, struct task_figures *figures)
{
    *figures = (struct task_figures){0};
    pthread_mutex_lock(&host->mutex);
    for (const struct running *at = host->first; at != NULL; at = at->next) {
        figures->ended += at->over && at->ended;
        figures->running += !at->over && at->started;
        figures->starting += !at->over && !at->started;
    }
    pthread_mutex_unlock(&host->mutex);
}

void task_host_close(struct task_host *host)
{
    if (host == NULL) {
        return;
    }
    pthread_mutex_lock(&host->mutex);
    abandon(host);
    for (const struct running *at = host->first; at != NULL;) {
        if (at->over) {
            at = at->next;
        } else {
            pthread_cond_wait(&host->changed, &host->mutex);
            at = host->first;
        }
    }
    pthread_mutex_unlock(&host->mutex);
    reap(host, true, 0);
    pthread_cond_destroy(&host->changed);
    pthread_mutex_destroy(&host->mutex);
    free(host);
}
