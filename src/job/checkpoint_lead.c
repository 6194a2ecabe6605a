/* A process whose job has a standby, or may get one: it writes its ticks and cuts into a stream (tick_stream.h). */
#include <stdio.h>
#include <string.h>

#include "base/byte_reader.h"
#include "circuit/operators/sink_node.h"
#include "job/checkpointer_internal.h"
#include "job/job_lock.h"
#include "job/tick_record.h"

enum { STREAM_FILES_KEPT = 1000 }; /* a standby that starts from a checkpoint has to find what came after it */

static int64_t now_us(const struct checkpointer *self)
{
    return self->spec.clock->monotonic_us(self->spec.clock);
}

static enum status put_frame(struct checkpointer *self, enum frame_kind kind, struct text bytes, struct error *err)
{
    if (self->stream.descriptor < 0) {
        return STATUS_OK;
    }
    self->last_frame_us = now_us(self);
    return tick_stream_write(&self->stream, kind, bytes, err);
}

static enum status put_number(struct checkpointer *self, enum frame_kind kind, uint64_t number, struct error *err)
{
    struct text_builder bytes = {0};
    byte_append_number(&bytes, number);
    enum status status = put_frame(self, kind, (struct text){bytes.bytes, bytes.length}, err);
    text_builder_close(&bytes);
    return status;
}

void checkpoint_lead_prepare(struct checkpointer *self, struct job *job)
{
    if (self->spec.settings.availability == AVAILABILITY_ACTIVE) {
        job_lock_name(self->spec.storage, self->id, self->stream.path, sizeof self->stream.path);
        job_record_ticks(job);
        for (uint32_t i = 0; i < job->worker_count; i++) {
            job->workers[i].circuit->shows_prepared = true;
        }
    }
}

static enum status create(const struct checkpointer *self, const struct job *job, uint64_t number, struct tick_stream *stream,
                          struct error *err)
{
    char begin[96];
    int length = snprintf(begin, sizeof begin, "workers=%u incarnation=%s", job->worker_count, self->incarnation);
    return tick_stream_create(stream, number, (struct text){begin, (size_t)length}, err);
}

enum status checkpoint_lead_begin(struct checkpointer *self, struct job *job, struct error *err)
{
    if (self->spec.settings.availability != AVAILABILITY_ACTIVE) {
        return STATUS_OK;
    }
    uint64_t number = self->has_found && !self->from_savepoint ? self->found.seq : 0;
    return create(self, job, number, &self->stream, err);
}

enum status checkpoint_lead_tick(struct checkpointer *self, struct job *job, struct error *err)
{
    if (self->stream.descriptor < 0) {
        return STATUS_OK;
    }
    if (job->record.length > 0) {
        TRY(put_frame(self, FRAME_TICK, job_tick_record(job), err));
        text_builder_clear(&job->record);
    }
    int64_t lease_us = self->spec.settings.lease_us;
    return lease_us > 0 && now_us(self) - self->last_frame_us > lease_us / 4 ? put_frame(self, FRAME_BEAT, TEXT(""), err) : STATUS_OK;
}

static void put_outputs(const struct circuit *circuit, struct text_builder *bytes)
{
    for (uint32_t i = 0; i < circuit->node_count; i++) {
        if (sink_node_is(circuit->nodes[i])) {
            struct text state = sink_node_prepared(circuit->nodes[i]);
            byte_append_number(bytes, state.length);
            text_append(bytes, state.bytes, state.length);
        }
    }
}

enum status checkpoint_lead_cut(struct checkpointer *self, struct job *job, uint64_t number, struct error *err)
{
    struct text_builder bytes = {0};
    if (self->spec.settings.availability != AVAILABILITY_ACTIVE) {
        return STATUS_OK;
    }
    struct tick_stream next = self->stream; /* there before the cut says so */
    next.descriptor = -1;
    next.bytes = (struct text_builder){0};
    TRY(create(self, job, number, &next, err));
    byte_append_number(&bytes, number);
    for (uint32_t i = 0; i < job->worker_count; i++) {
        put_outputs(job->workers[i].circuit, &bytes);
    }
    enum status status = bytes.failed ? error_set(err, ERROR_BUDGET_SPENT, "no room for the record of a checkpoint")
                                      : put_frame(self, FRAME_CUT, (struct text){bytes.bytes, bytes.length}, err);
    text_builder_close(&bytes);
    tick_stream_close(&self->stream);
    self->stream = next;
    self->last_frame_us = now_us(self);
    if (number > STREAM_FILES_KEPT) {
        tick_stream_remove(&self->stream, number - STREAM_FILES_KEPT);
    }
    return status;
}

enum status checkpoint_lead_done(struct checkpointer *self, uint64_t number, struct error *err)
{
    return put_number(self, FRAME_DONE, number, err);
}

void checkpoint_lead_end(struct checkpointer *self)
{
    if (self->stream.descriptor < 0) {
        return;
    }
    for (uint64_t i = 0; i <= STREAM_FILES_KEPT && i <= self->stream.number; i++) {
        tick_stream_remove(&self->stream, self->stream.number - i);
    }
    tick_stream_close(&self->stream);
}
