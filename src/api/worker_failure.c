/* A record that no process can get past must not wander from one to the next. */
#include <stdio.h>
#include <string.h>

#include "api/worker_internal.h"
#include "base/growing_array.h"
#include "cluster/commit_record.h"

enum { FAILURES_MAX = 5 };

/* With the mutex; NULL: no room. */
static struct worker_failure *find(struct worker_job *job, uint64_t task)
{
    for (uint32_t i = 0; i < job->failure_count; i++) {
        if (job->failures[i].task == task) {
            return &job->failures[i];
        }
    }
    if (!growing_array_reserve(&job->failures, &job->failure_capacity, job->failure_count + 1, sizeof *job->failures)) {
        return NULL;
    }
    job->failures[job->failure_count] = (struct worker_failure){.task = task};
    return &job->failures[job->failure_count++];
}

static enum status last_commit(struct worker_job *job, uint64_t task, uint64_t *seq, struct error *err)
{
    struct arena *arena;
    struct commit_record record;
    bool found;
    TRY_ALLOC(arena, arena_create(NULL, "commit record"), err);
    enum status status = commit_record_read(job->link.coordinator, job->link.prefix, task, arena, &found, &record, err);
    *seq = status == STATUS_OK && found ? record.seq : 0;
    arena_destroy(arena);
    return status;
}

/* What people find it by: `spate job show`. */
static void end_job(struct worker_job *job, uint64_t task, const struct error *failure)
{
    struct error ignored;
    enum cluster_result result;
    enum model_state was;
    char name[TASK_TEXT_BYTES], text[sizeof failure->text + 100];
    snprintf(text, sizeof text, "task %s: %s [SPATE-%04d]", task_text(task, name), failure->text, (int)failure->code);
    worker_tell(job->worker, "%s: failed %d times at the same place, so the job has failed: %s", job->name, FAILURES_MAX, text);
    if (cluster_job_note_end(&job->link, job->id, text, &ignored) != STATUS_OK ||
        cluster_job_end(&job->link, MODEL_FAILED, &result, &was, &ignored) != STATUS_OK) {
        worker_tell(job->worker, "%s: that cannot be written now: %s", job->name, ignored.text);
    }
}

void worker_job_note_failure(struct worker_job *job, uint64_t task, const struct error *failure)
{
    struct error ignored;
    uint64_t seq = 0;
    /* What cannot be reached now may be reached later. */
    if (failure->status == STATUS_UNAVAILABLE || last_commit(job, task, &seq, &ignored) != STATUS_OK) {
        return;
    }
    pthread_mutex_lock(&job->failing);
    struct worker_failure *found = find(job, task);
    if (found != NULL) {
        found->count = found->seq == seq ? found->count + 1 : 1;
        found->seq = seq;
        if (found->count == FAILURES_MAX) {
            end_job(job, task, failure);
        }
    }
    pthread_mutex_unlock(&job->failing);
}
