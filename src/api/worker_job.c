/* One job that a worker takes part in. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/worker_internal.h"
#include "cluster/commit_record.h"
#include "job/edits.h"

enum { AT_WORK = -1, ENDS_LOOK_US = 1000000 };
static const char *const verb_sets[] = {"core/1", "app/1"};

static void report(void *context, const char *text)
{
    const struct worker_job *job = context;
    worker_tell(job->worker, "%s: %s", job->name, text);
}

static void ended(void *context, int32_t code)
{
    struct worker_job *job = context;
    atomic_store(&job->code, code);
}

/* What the control log wants; and the end of a bounded job. */
static enum status control_next(void *context, const struct control_view *view, const char **record, struct error *err)
{
    const struct worker_job *job = context;
    const struct leader_control *log = leading_control(job->leading);
    return log->next(log->context, view, record, err);
}

static enum status control_turn(void *context, const struct control_view *view, struct control_effect *effect, struct error *err)
{
    const struct worker_job *job = context;
    const struct leader_control *log = leading_control(job->leading);
    TRY(log->turn(log->context, view, effect, err));
    if (atomic_load(&job->finished) && effect->state == MODEL_RUNNING) {
        effect->state = MODEL_FINISHED;
    }
    return STATUS_OK;
}

static void follow(void *context, uint64_t task, bool follow)
{
    const struct worker_job *job = context;
    if (job->standby != NULL) {
        standby_follow(job->standby, task, follow);
    }
}

static void tell_copy(void *context, uint64_t task, bool known, uint64_t lag_bytes, uint64_t seq)
{
    const struct worker_job *job = context;
    task_host_tell_copy(job->host, task, known, lag_bytes, seq);
}

/* Without a folder for copies the process still works; it only takes over more slowly. */
static void open_standby(struct worker_job *job)
{
    struct error trouble;
    const char *folder = job->worker->session->settings.values.database_folder;
    const struct standby_config config = {.storage = job->worker->session->storage,
                                          .session = job->link.coordinator,
                                          .prefix = job->link.prefix,
                                          .job_id = job->id,
                                          .parent = folder != NULL             ? folder
                                                    : getenv("TMPDIR") != NULL ? getenv("TMPDIR")
                                                                               : "/tmp",
                                          .poll_us = job->worker->timing.poll.us,
                                          .context = job,
                                          .tell = tell_copy};
    if (standby_open(&config, &job->standby, &trouble) != STATUS_OK) {
        worker_tell(job->worker, "%s: no copies of state are kept here: %s", job->name, trouble.text);
    }
}

static enum status check_edit(void *context, const struct control_verb *verb, const struct control_propose *propose, struct error *err)
{
    return edits_check(context, verb->name, propose->args, err);
}

static enum control_progress see_progress(void *context, const struct control_entry *entry, struct arena *arena, const char **result,
                                          const char **reason)
{
    struct worker_job *job = context;
    return worker_savepoint_progress(&job->savepoint, entry, arena, result, reason);
}

static enum status start_runner(struct worker_job *job, struct error *err)
{
    struct spate_worker *worker = job->worker;
    const struct runner_config config = {
        .session = job->link.coordinator,
        .prefix = job->link.prefix,
        .processor = {.id = worker->id,
                      .host = {.host = worker->host,
                               .rack = worker->rack[0] == '\0' ? NULL : worker->rack,
                               .boot = worker->boot,
                               .build = worker->build,
                               .verbs = (const char **)(uintptr_t)verb_sets,
                               .verb_count = ARRAY_LENGTH(verb_sets),
                               .pid = getpid(),
                               .weight = 1},
                      .timing = &worker->timing,
                      .budget = &worker->session->budget},
        .leader = {.timing = &worker->timing,
                   .standbys = (uint32_t)worker->timing.standby_replicas,
                   .budget = &worker->session->budget,
                   .control = &job->control},
        .tasks = task_host_tasks(job->host),
        .stores = job->link.model.stores,
    };
    TRY(runner_start(&config, &job->runner, err));
    task_host_attach(job->host, job->runner);
    return STATUS_OK;
}

static bool hears_app(const struct spate_worker *worker)
{
    return worker->program != NULL && worker->program->type->on_control != NULL;
}

static enum status join(struct worker_job *job, const struct cluster_job_facts *facts, struct error *err)
{
    TRY_ALLOC(job->arena, arena_create(&job->worker->session->budget, "a job"), err);
    job->facts = *facts;
    TRY_ALLOC(job->facts.reason, arena_text(job->arena, facts->reason, strlen(facts->reason)), err);
    TRY(cluster_job_open(job->worker->session, job->id, &job->link, err));
    job->kind = (struct task_kind){job, worker_sql_run};
    job->control = (struct leader_control){.context = job, .next = control_next, .turn = control_turn};
    const struct leading_config leading = {.verbs = hears_app(job->worker) ? edits_verbs_of_programs : edits_verbs,
                                           .sets = verb_sets,
                                           .set_count = ARRAY_LENGTH(verb_sets),
                                           .check = check_edit,
                                           .context = job,
                                           .progress = see_progress};
    const struct edits_group_spec edits = {.session = job->link.coordinator,
                                           .prefix = job->link.prefix,
                                           .by = job->worker->id,
                                           .poll_us = job->worker->timing.poll.us,
                                           .budget = &job->worker->session->budget};
    TRY(edits_group_open(&edits, &job->edits, err));
    TRY(leading_create(&leading, &job->leading, err));
    const struct task_host_config config = {.kind = &job->kind,
                                            .job_id = job->id,
                                            .prefix = job->link.prefix,
                                            .session = job->link.coordinator,
                                            .pieces = facts->pieces,
                                            .context = job,
                                            .follow = follow,
                                            .report = report,
                                            .ended = ended};
    TRY(task_host_open(&config, &job->host, err));
    open_standby(job);
    return start_runner(job, err);
}

enum status worker_job_join(struct spate_worker *worker, const struct job_record *record, const struct cluster_job_facts *facts,
                            struct worker_job **job, struct error *err)
{
    struct worker_job *self;
    TRY_ALLOC(self, calloc(1, sizeof *self), err);
    self->worker = worker;
    worker_savepoint_open(&self->savepoint, self);
    atomic_init(&self->code, AT_WORK);
    pthread_mutex_init(&self->failing, NULL);
    snprintf(self->id, sizeof self->id, "%s", record->id);
    snprintf(self->name, sizeof self->name, "%s", record->name);
    enum status status = join(self, facts, err);
    if (status != STATUS_OK) {
        worker_job_close(self);
        return status;
    }
    *job = self;
    return STATUS_OK;
}

void worker_job_close(struct worker_job *job)
{
    if (job->host != NULL) {
        task_host_detach(job->host);
    }
    runner_close(job->runner);
    standby_close(job->standby); /* it tells the host */
    task_host_close(job->host);
    edits_group_close(job->edits);
    leading_destroy(job->leading);
    worker_savepoint_close(&job->savepoint);
    cluster_job_close(&job->link);
    if (job->arena != NULL) {
        arena_destroy(job->arena);
    }
    pthread_mutex_destroy(&job->failing);
    free(job->failures);
    free(job);
}

void worker_job_leave(struct worker_job *job)
{
    if (!job->leaves) {
        job->leaves = true;
        runner_post(job->runner, &(struct cluster_event){.kind = EVENT_LEAVE});
    }
}

/* Of a bounded job, by whoever leads it: tasks end one after the other, so it is enough to look at the first that has not. */
static enum status look_for_the_end(struct worker_job *job, struct error *err)
{
    int64_t now_us = clock_boot.monotonic_us(&clock_boot);
    uint32_t tasks = job->facts.pieces == 0 ? 1 : job->facts.pieces;
    if (!job->facts.bounded || atomic_load(&job->finished) || now_us - job->ends_looked_us < ENDS_LOOK_US) {
        return STATUS_OK;
    }
    job->ends_looked_us = now_us;
    struct arena *arena;
    enum status status = STATUS_OK;
    bool at_end = true;
    TRY_ALLOC(arena, arena_create(&job->worker->session->budget, "commit records"), err);
    while (at_end && status == STATUS_OK && job->ends_seen < tasks) {
        struct commit_record record;
        bool found;
        uint64_t task = job->facts.pieces == 0 ? TASK_ALL : task_make(0, job->ends_seen);
        arena_reset(arena);
        status = commit_record_read(job->link.coordinator, job->link.prefix, task, arena, &found, &record, err);
        at_end = status == STATUS_OK && found && record.ended;
        job->ends_seen += at_end;
        if (at_end) {
            edits_group_note_ended(job->edits, task);
        }
    }
    arena_destroy(arena);
    atomic_store(&job->finished, status == STATUS_OK && job->ends_seen == tasks);
    return status;
}

/* In the record, so that nobody asks the coordination service for it again and again. Before this process leaves: whoever starts the job again
 * waits for that. */
static enum status note_end(struct worker_job *job, enum model_state state, struct error *err)
{
    if (job->leaves) {
        return STATUS_OK;
    }
    if (state == MODEL_FINISHED) {
        return cluster_job_note_end(&job->link, job->id, "finished", err);
    }
    return state == MODEL_STOPPED ? job_record_mark(job->worker->session->storage, job->id, DESIRED_STOPPED, err) : STATUS_OK;
}

enum status worker_job_step(struct worker_job *job, bool *over, struct error *err)
{
    struct runner_status status;
    runner_read_status(job->runner, &status);
    *over = atomic_load(&job->code) != AT_WORK;
    if (*over) {
        return STATUS_OK;
    }
    if (status.model == MODEL_KILLED && !job->killed) {
        job->killed = true;
        worker_tell(job->worker, "%s: killed", job->name);
        task_host_kill(job->host);
    }
    if (status.model == MODEL_STOPPED || status.model == MODEL_FAILED || status.model == MODEL_FINISHED || job->killed) {
        TRY(note_end(job, status.model, err));
        worker_job_leave(job);
        return STATUS_OK;
    }
    return status.leader == LEADER_LEADING ? look_for_the_end(job, err) : STATUS_OK;
}
