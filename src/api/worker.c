/* The process of a worker (spate/worker.h). */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/coordinator.h"
#include "api/program.h"
#include "api/public_error.h"
#include "api/worker_internal.h"

enum { LOOK_US = 1000000, AGAIN_US = 10000000, STEP_US = 20000, LINE_BYTES = 2048 };

void worker_tell(struct spate_worker *worker, const char *format, ...)
{
    char line[LINE_BYTES];
    if (worker->options.notice == NULL) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    pthread_mutex_lock(&worker->telling);
    worker->options.notice(worker->options.notice_context, line);
    pthread_mutex_unlock(&worker->telling);
}

/* What stays wrong is told once in a while. */
static void tell_trouble(struct spate_worker *worker, const char *what, const struct error *trouble)
{
    int64_t now_us = clock_boot.monotonic_us(&clock_boot);
    if (strcmp(worker->trouble, trouble->text) != 0 || now_us - worker->trouble_us > AGAIN_US) {
        snprintf(worker->trouble, sizeof worker->trouble, "%s", trouble->text);
        worker->trouble_us = now_us;
        worker_tell(worker, "%s: %s", what, trouble->text);
    }
}

/* ---- opening ---- */

static enum status connect(struct spate_worker *self, struct error *err)
{
    static const struct cluster_environment environment = {.clock = &clock_boot};
    return self->looking != NULL ? STATUS_OK : coordinator_open(self->session, "what a worker works on", &environment, &self->looking, err);
}

/* Tasks work in folders of their own: a relative place must mean the same to all of them. */
static enum status keep_setting(struct spate_worker *self, const char *setting, const char **kept, struct error *err)
{
    static const char *const places[] = {"storage.uri=", "coordinator.uri=", "execution.checkpointing.dir="};
    char here[4096];
    const char *value = setting;
    for (size_t i = 0; i < ARRAY_LENGTH(places); i++) {
        value = strncmp(setting, places[i], strlen(places[i])) == 0 ? setting + strlen(places[i]) : value;
    }
    bool relative = value != setting && value[0] != '/' && value[0] != '\0' && strchr(value, ':') == NULL;
    if (relative && getcwd(here, sizeof here) == NULL) {
        return error_set(err, ERROR_FILE_UNREADABLE, "the working folder cannot be named: write '%s' as an absolute path", value);
    }
    *kept = arena_format(self->arena, "%.*s%s%s%s", (int)(value == setting ? 0 : value - setting), setting, relative ? here : "",
                         relative ? "/" : "", value);
    return *kept != NULL ? STATUS_OK : error_set(err, ERROR_BUDGET_SPENT, "no room for settings");
}

/* For the sessions of tasks. */
static enum status keep_settings(struct spate_worker *self, const char *const *settings, struct error *err)
{
    uint32_t count = 0;
    while (settings != NULL && settings[count] != NULL) {
        count++;
    }
    TRY_ALLOC(self->settings, arena_alloc(self->arena, (count + 1) * sizeof *self->settings), err);
    for (uint32_t i = 0; i < count; i++) {
        TRY(keep_setting(self, settings[i], &self->settings[i], err));
    }
    self->settings[count] = NULL;
    return STATUS_OK;
}

static void read_line(const char *path, char *line, size_t size)
{
    FILE *file = fopen(path, "re");
    if (file != NULL) {
        (void)!fgets(line, (int)size, file);
        fclose(file);
        line[strcspn(line, "\n")] = '\0';
    }
}

static enum status name_process(struct spate_worker *self, struct error *err)
{
    if (self->options.host != NULL) {
        snprintf(self->host, sizeof self->host, "%s", self->options.host);
    } else {
        (void)gethostname(self->host, sizeof self->host - 1);
    }
    snprintf(self->rack, sizeof self->rack, "%s", self->options.rack == NULL ? "" : self->options.rack);
    read_line("/proc/sys/kernel/random/boot_id", self->boot, sizeof self->boot);
    snprintf(self->build, sizeof self->build, "%s", spate_version());
    const char *id = self->options.id;
    int length = id != NULL ? snprintf(self->id, sizeof self->id, "%s", id)
                            : snprintf(self->id, sizeof self->id, "%.80s-%d", self->host[0] == '\0' ? "worker" : self->host, (int)getpid());
    if (length <= 0 || length >= (int)sizeof self->id || strpbrk(self->id, "#/ ") != NULL) {
        return error_set(err, ERROR_INVALID_OPTION, "a worker's id has 1 to %d bytes, none of '#', '/' or blank: not '%.100s'", LIFE_ID_MAX,
                         id == NULL ? self->id : id);
    }
    for (const char *at = self->id; *at != '\0'; at++) {
        if ((unsigned char)*at < ' ' || *at == 0x7f) {
            return error_set(err, ERROR_INVALID_OPTION, "a worker's id has no control characters");
        }
    }
    return cluster_name_check(self->id, err);
}

static const char *scheme_of(const char *uri, char scheme[40])
{
    snprintf(scheme, 40, "%.*s", (int)strcspn(uri, ":"), uri);
    return strchr(uri, ':') == NULL ? "local" : scheme;
}

static enum status open_worker(struct spate_worker *self, const char *const *settings, struct error *err)
{
    const struct cluster_option *timing;
    size_t count;
    char scheme[40];
    TRY(keep_settings(self, settings, err));
    if (spate_session_open(self->settings, &self->session) != SPATE_OK) {
        if (self->session == NULL) {
            return error_set(err, ERROR_BUDGET_SPENT, "no room for a worker");
        }
        *err = self->session->error;
        return err->status;
    }
    TRY(name_process(self, err));
    TRY(durable_storage(self->session, err));
    const char *uri = self->session->settings.values.coordinator_uri;
    TRY(settings_timing(&self->session->settings, self->arena, &timing, &count, err));
    if (uri != NULL) {
        TRY(timing_read(timing_profile_of(scheme_of(uri, scheme)), timing, count, &self->timing, err));
    }
    if (uri != NULL && strncmp(uri, "local:", 6) == 0 && strchr(uri, '/') == NULL) {
        return error_set(err, ERROR_CLUSTER_UNFIT,
                         "'%s' is in this process alone: a worker needs a service that others reach, such as a folder", uri);
    }
    worker_tell(self, "%s: waits for jobs '%s' of %s, coordinated by %s", self->id, self->options.jobs == NULL ? "*" : self->options.jobs,
                storage_uri(self->session->storage, STORE_JOBS), uri == NULL ? "nobody" : uri);
    enum status status = connect(self, err);
    if (status == STATUS_UNAVAILABLE && !self->options.once) {
        tell_trouble(self, "the coordination service cannot be reached, and is tried again", err);
        return STATUS_OK;
    }
    return status;
}

static int open_for(const char *const *settings, const struct spate_worker_options *options, const struct spate_task_spec *program,
                    spate_worker **worker, struct spate_error *error)
{
    static _Thread_local struct error err;
    *worker = NULL;
    struct spate_worker *self = calloc(1, sizeof *self);
    struct arena *arena = arena_create(NULL, "worker");
    if (self == NULL || arena == NULL) {
        free(self);
        return public_error_set(error, &err, error_set(&err, ERROR_BUDGET_SPENT, "no room for a worker"));
    }
    self->arena = arena;
    self->program = program;
    memcpy(&self->options, options, options->size < sizeof self->options ? options->size : sizeof self->options);
    pthread_mutex_init(&self->telling, NULL);
    enum status status = program == NULL ? STATUS_OK : program_check(program, &err);
    if (status == STATUS_OK) {
        status = open_worker(self, settings, &err);
    }
    if (status != STATUS_OK) {
        spate_worker_close(self);
        return public_error_set(error, &err, status);
    }
    *worker = self;
    return SPATE_OK;
}

int spate_worker_open(const char *const *settings, const struct spate_worker_options *options, spate_worker **worker,
                      struct spate_error *error)
{
    return open_for(settings, options, NULL, worker, error);
}

int spate_task_worker_open(const char *const *settings, const struct spate_worker_options *options, const struct spate_task_spec *spec,
                           spate_worker **worker, struct spate_error *error)
{
    return open_for(settings, options, spec, worker, error);
}

void spate_worker_close(spate_worker *worker)
{
    if (worker == NULL) {
        return;
    }
    while (worker->jobs != NULL) {
        struct worker_job *next = worker->jobs->next;
        worker_job_close(worker->jobs);
        worker->jobs = next;
    }
    cluster_close(worker->looking, true);
    spate_session_close(worker->session);
    arena_destroy(worker->arena);
    pthread_mutex_destroy(&worker->telling);
    free(worker);
}

void spate_worker_leave(spate_worker *worker)
{
    atomic_store(&worker->leaving, true);
}

/* ---- jobs that come ---- */

static bool has_joined(const struct spate_worker *worker, const char *id)
{
    const struct worker_job *job = worker->jobs;
    while (job != NULL && strcmp(job->id, id) != 0) {
        job = job->next;
    }
    return job != NULL;
}

/* Whether the coordinator has it, and it is to be worked on. */
static enum status is_at_work(struct spate_worker *worker, const struct job_record *record, bool *at_work, struct error *err)
{
    struct cluster_job link;
    struct arena *arena;
    struct model *model = NULL;
    struct cluster_version version;
    enum cluster_result result;
    *at_work = false;
    TRY(cluster_job_open_on(worker->session, worker->looking, record->id, &link, err));
    arena = arena_create(&worker->session->budget, "a job");
    enum status status = arena == NULL ? error_set(err, ERROR_BUDGET_SPENT, "no room for a job")
                                       : model_register_read(&link.model, arena, &result, &model, &version, err);
    *at_work = model != NULL && (model->state == MODEL_RUNNING || model->state == MODEL_PAUSED || model->state == MODEL_STOPPING);
    model_unref(model);
    if (arena != NULL) {
        arena_destroy(arena);
    }
    cluster_job_close(&link);
    return status;
}

/* A worker of a program has no code but its own, one of SQL none of any program. */
static bool is_ours(const struct spate_worker *worker, const struct job_record *record, const struct cluster_job_facts *facts)
{
    return worker->program == NULL ? !facts->program : facts->program && strcmp(worker->program->name, record->name) == 0;
}

static enum status look_at(struct spate_worker *worker, const struct job_record *record, struct error *err)
{
    struct cluster_job_facts facts;
    struct worker_job *job;
    struct arena *arena;
    bool shared = false, at_work = false;
    if (record->desired == DESIRED_KILLED || record->desired == DESIRED_STOPPED || has_joined(worker, record->id)) {
        return STATUS_OK;
    }
    TRY_ALLOC(arena, arena_create(&worker->session->budget, "a job's record"), err);
    enum status status = cluster_job_facts(record, arena, &shared, &facts, err);
    if (status == STATUS_OK && shared && facts.end == NULL && is_ours(worker, record, &facts)) {
        status = is_at_work(worker, record, &at_work, err);
    }
    if (status == STATUS_OK && at_work) {
        status = worker_job_join(worker, record, &facts, &job, err);
    }
    arena_destroy(arena);
    if (status == STATUS_OK && at_work) {
        job->next = worker->jobs;
        worker->jobs = job;
        worker->joined = true;
        worker_tell(worker, "%s: %s takes part (%s)", job->name, worker->id, job->id);
    }
    return status;
}

/* A job that cannot be looked at now is looked at again later; the others are not held up. */
static enum status visit(void *context, const struct job_record *record, bool *stop, struct error *err)
{
    struct spate_worker *worker = context;
    struct error trouble;
    (void)err;
    *stop = atomic_load(&worker->leaving);
    if (!*stop && look_at(worker, record, &trouble) != STATUS_OK) {
        tell_trouble(worker, record->name, &trouble);
    }
    return STATUS_OK;
}

static void look_for_jobs(struct spate_worker *worker)
{
    struct error trouble;
    int64_t now_us = clock_boot.monotonic_us(&clock_boot);
    int64_t pause_us = worker->timing.heartbeat.us > LOOK_US ? worker->timing.heartbeat.us : LOOK_US;
    if (atomic_load(&worker->leaving) || (worker->looked_us != 0 && now_us - worker->looked_us < pause_us)) {
        return;
    }
    if (connect(worker, &trouble) != STATUS_OK) {
        tell_trouble(worker, "the coordination service cannot be reached, and is tried again", &trouble);
    } else if (job_record_list(worker->session->storage, worker->options.jobs, visit, worker, &trouble) != STATUS_OK) {
        tell_trouble(worker, "the storage cannot be looked at now", &trouble);
    }
    worker->looked_us = clock_boot.monotonic_us(&clock_boot);
}

/* ---- steps ---- */

static const int outcomes[] = {SPATE_WORKER_LEFT, SPATE_WORKER_UNCLEAN, SPATE_WORKER_UNCLEAN, SPATE_WORKER_REFUSED};

/* Takes the job out of the list. */
static void take_leave(struct spate_worker *worker, struct worker_job **place)
{
    struct worker_job *job = *place;
    int code = atomic_load(&job->code);
    int outcome = code > 0 && code < (int)(sizeof outcomes / sizeof outcomes[0]) ? outcomes[code] : SPATE_WORKER_LEFT;
    worker->outcome = outcome > worker->outcome ? outcome : worker->outcome;
    if (outcome == SPATE_WORKER_REFUSED) { /* in its other jobs, too, it would be taken for the other */
        spate_worker_leave(worker);
    }
    *place = job->next;
    worker_tell(worker, "%s: %s", job->name, outcome == SPATE_WORKER_REFUSED ? "another living process has this id" : "left");
    worker_job_close(job);
}

static void step_jobs(struct spate_worker *worker)
{
    for (struct worker_job **place = &worker->jobs; *place != NULL;) {
        struct worker_job *job = *place;
        struct error trouble;
        bool over = false;
        if (atomic_load(&worker->leaving)) {
            worker_job_leave(job);
        }
        if (worker_job_step(job, &over, &trouble) != STATUS_OK) {
            worker_tell(worker, "%s: %s", job->name, trouble.text);
        }
        if (over) {
            take_leave(worker, place);
        } else {
            place = &job->next;
        }
    }
}

int spate_worker_step(spate_worker *worker, int64_t wait_ms, int *state, struct spate_error *error)
{
    int64_t until_us = clock_boot.monotonic_us(&clock_boot) + wait_ms * 1000;
    (void)error;
    do {
        look_for_jobs(worker);
        step_jobs(worker);
        bool ends = atomic_load(&worker->leaving) || (worker->options.until_ended && worker->joined);
        if (ends && worker->jobs == NULL) {
            *state = worker->outcome == SPATE_WORKER_AT_WORK ? SPATE_WORKER_LEFT : worker->outcome;
            return SPATE_OK;
        }
        usleep(STEP_US);
    } while (clock_boot.monotonic_us(&clock_boot) < until_us);
    *state = SPATE_WORKER_AT_WORK;
    return SPATE_OK;
}
