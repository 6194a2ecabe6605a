#include "job/cluster_stores.h"

#include <stdio.h>
#include <stdlib.h>

#include "cluster/commit_record.h"
#include "storage/body_store.h"
#include "storage/job_records.h"

enum { CHANGES_TRIED = 20 };

struct cluster_stores {
    struct runner_stores functions;
    struct storage *storage;
    struct cluster_session *session;
    char id[JOB_ID_MAX + 1], prefix[JOB_ID_MAX + 8];
};

static enum status open_seat(void *context, uint32_t seat, struct life life, struct error *err)
{
    (void)context;
    (void)seat;
    (void)life;
    (void)err;
    return STATUS_OK;
}

static enum status fence_seat(void *context, uint32_t seat, struct life life, const struct model *model, struct error *err)
{
    const struct cluster_stores *self = context;
    (void)seat;
    for (uint32_t i = 0; i < model->task_count; i++) {
        const struct model_task *task = &model->tasks[i];
        if (life_equal(task->from, life)) {
            TRY(commit_record_fence(self->session, self->prefix, task->task, task->epoch, err));
        }
    }
    return STATUS_OK;
}

static enum status raise_once(const struct cluster_stores *self, struct arena *arena, uint64_t *term_floor, uint32_t *seat_high, bool *done,
                              struct error *err)
{
    struct job_record record;
    enum object_result result;
    TRY(job_record_read(self->storage, self->id, arena, &result, &record, err));
    if (result != OBJECT_OK) {
        return error_set(err, ERROR_STORE_MISSING, "the record of job %s is not there", self->id);
    }
    *done = record.term_floor >= (int64_t)*term_floor && record.seat_high >= (int64_t)*seat_high;
    record.term_floor = record.term_floor > (int64_t)*term_floor ? record.term_floor : (int64_t)*term_floor;
    record.seat_high = record.seat_high > (int64_t)*seat_high ? record.seat_high : (int64_t)*seat_high;
    if (!*done) {
        TRY(job_record_write(self->storage, &record, arena, &result, err));
        *done = result == OBJECT_OK;
    }
    if (*done) {
        *term_floor = (uint64_t)record.term_floor;
        *seat_high = (uint32_t)record.seat_high;
    }
    return STATUS_OK;
}

static enum status raise_record(void *context, uint64_t *term_floor, uint32_t *seat_high, struct error *err)
{
    const struct cluster_stores *self = context;
    struct arena *arena;
    enum status status = STATUS_OK;
    bool done = false;
    TRY_ALLOC(arena, arena_create(NULL, "job record"), err);
    for (uint32_t i = 0; i < CHANGES_TRIED && status == STATUS_OK && !done; i++) {
        arena_reset(arena);
        status = raise_once(self, arena, term_floor, seat_high, &done, err);
    }
    arena_destroy(arena);
    return status != STATUS_OK || done
               ? status
               : error_set(err, ERROR_STORE_UNAVAILABLE, "the record of job %s changes too fast to be written", self->id);
}

static enum status put_body(void *context, const char *sha256, struct text body, struct error *err)
{
    const struct cluster_stores *self = context;
    return body_put(self->storage, self->id, sha256, body, err);
}

static enum status get_body(void *context, const char *sha256, struct arena *arena, struct text *body, struct error *err)
{
    const struct cluster_stores *self = context;
    return body_get(self->storage, self->id, sha256, arena, body, err);
}

enum status cluster_stores_open(struct storage *storage, struct cluster_session *session, const char *job_id,
                                struct cluster_stores **stores, const struct runner_stores **functions, struct error *err)
{
    struct cluster_stores *self;
    TRY_ALLOC(self, calloc(1, sizeof *self), err);
    *self = (struct cluster_stores){.storage = storage,
                                    .session = session,
                                    .functions = {.context = self,
                                                  .open_seat = open_seat,
                                                  .fence_seat = fence_seat,
                                                  .raise_record = raise_record,
                                                  .put_body = put_body,
                                                  .get_body = get_body}};
    snprintf(self->id, sizeof self->id, "%s", job_id);
    snprintf(self->prefix, sizeof self->prefix, "jobs/%s", job_id);
    *stores = self;
    *functions = &self->functions;
    return STATUS_OK;
}

void cluster_stores_close(struct cluster_stores *stores)
{
    free(stores);
}
