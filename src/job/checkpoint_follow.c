/* The standby of a job: it began with the newest checkpoint of the process that runs the job, runs each tick that this one has run (the same
 * rows, at the same time), and holds its output back. What a checkpoint of the other covers, it drops; when the other has gone, the rest
 * is its own, and it goes on. It never shows what the other may have shown: the newest manifest decides, as for every process. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/byte_reader.h"
#include "circuit/operators/sink_node.h"
#include "job/checkpointer_internal.h"
#include "job/job_lock.h"
#include "job/tick_record.h"

enum { POLL_US = 1000, SLICE_MIN_US = 2000 };

static int64_t now_us(const struct checkpointer *self)
{
    return self->spec.clock->monotonic_us(self->spec.clock);
}

bool checkpointer_is_following(const struct checkpointer *self)
{
    return self->following;
}

/* ---- begin ---- */

static enum status note_newest(void *context, uint64_t number, bool *stop, struct error *err)
{
    (void)err;
    *(uint64_t *)context = number;
    *stop = true;
    return STATUS_OK;
}

static enum status find_newest(const struct checkpointer *self, uint64_t *number, struct error *err)
{
    *number = 0;
    return checkpoint_list(self->spec.storage, self->id, self->task, note_newest, number, err);
}

enum status checkpoint_follow_find(struct checkpointer *self, struct error *err)
{
    job_lock_name(self->spec.storage, self->id, self->stream.path, sizeof self->stream.path);
    for (;;) {
        uint64_t newest;
        TRY(job_lock_try(self->spec.storage, self->id, &self->lock, err));
        if (self->lock >= 0) {
            return STATUS_OK;
        }
        TRY(find_newest(self, &newest, err));
        if (newest > 0 && tick_stream_open(&self->stream, newest)) {
            self->following = true;
            return STATUS_OK;
        }
        if (self->spec.cancelled != NULL && atomic_load(self->spec.cancelled)) {
            return error_set(err, ERROR_CANCELLED, "the standby of job '%s' was cancelled", self->spec.job);
        }
        usleep(20 * POLL_US);
    }
}

static void set_output(struct job *job, enum output_mode mode)
{
    for (uint32_t i = 0; i < job->worker_count; i++) {
        job->workers[i].circuit->output = mode;
    }
}

void checkpoint_follow_prepare(struct checkpointer *self, struct job *job)
{
    if (self->following) {
        set_output(job, OUTPUT_HELD);
        self->base = self->found.seq;
        self->heard_us = now_us(self);
    }
}

/* ---- frames ---- */

static enum status for_each_sink(struct job *job, enum status (*call)(struct node *node, uint64_t number, struct error *err),
                                 uint64_t number, struct error *err)
{
    for (uint32_t w = 0; w < job->worker_count; w++) {
        const struct circuit *circuit = job->workers[w].circuit;
        for (uint32_t i = 0; i < circuit->node_count; i++) {
            if (sink_node_is(circuit->nodes[i])) {
                TRY(call(circuit->nodes[i], number, err));
            }
        }
    }
    return STATUS_OK;
}

static enum status take_cut(struct checkpointer *self, struct job *job, struct text bytes, struct error *err)
{
    struct byte_reader reader = byte_reader_open((const uint8_t *)bytes.bytes, bytes.length);
    uint64_t number = byte_reader_number(&reader);
    TRY(for_each_sink(job, sink_node_hold_cut, number, err));
    if (self->cut_count == FOLLOWED_CUTS) { /* the oldest failed, or their ends were not told */
        text_builder_close(&self->cuts[0].outputs);
        memmove(self->cuts, self->cuts + 1, (FOLLOWED_CUTS - 1) * sizeof *self->cuts);
        self->cut_count--;
    }
    struct followed_cut *cut = &self->cuts[self->cut_count++];
    *cut = (struct followed_cut){.number = number};
    text_append(&cut->outputs, (const char *)reader.next, byte_reader_left(&reader));
    self->next_stream = number;
    return STATUS_OK;
}

static enum status drop_held(struct node *node, uint64_t number, struct error *err)
{
    (void)err;
    sink_node_drop_held(node, number);
    return STATUS_OK;
}

/* The checkpoint is complete: what it covers is the other's. false: its cut is not known. */
static bool settle_cut(struct checkpointer *self, struct job *job, uint64_t number)
{
    struct error ignored;
    uint32_t at = 0;
    while (at < self->cut_count && self->cuts[at].number != number) {
        at++;
    }
    if (at == self->cut_count) {
        return false;
    }
    (void)!for_each_sink(job, drop_held, number, &ignored);
    text_builder_close(&self->base_outputs);
    self->base_outputs = self->cuts[at].outputs;
    self->base = number;
    for (uint32_t i = 0; i < at; i++) {
        text_builder_close(&self->cuts[i].outputs);
    }
    self->cut_count -= at + 1;
    memmove(self->cuts, self->cuts + at + 1, self->cut_count * sizeof *self->cuts);
    return true;
}

/* A file of another life of the process does not go on where this standby stands. */
static enum status take_begin(struct checkpointer *self, const struct job *job, struct text bytes, struct error *err)
{
    unsigned workers = 0;
    char text[96] = "", leader[RANDOM_NAME_BYTES] = "";
    memcpy(text, bytes.bytes, bytes.length < sizeof text - 1 ? bytes.length : sizeof text - 1);
    const char *named = strstr(text, "incarnation=");
    if (sscanf(text, "workers=%u", &workers) != 1 || named == NULL) {
        return error_set(err, ERROR_STATE_CORRUPT, "the record of the job's ticks is broken");
    }
    snprintf(leader, sizeof leader, "%s", named + strlen("incarnation="));
    if (workers != job->worker_count) {
        return error_set(err, ERROR_INVALID_OPTION,
                         "the process that runs job '%s' has 'parallelism.default' = %u; its standby must have the same", self->spec.job,
                         workers);
    }
    if (self->leader[0] != '\0' && strcmp(self->leader, leader) != 0) {
        return error_set(err, ERROR_STATE_MISFIT, "the job is run by another process now");
    }
    memcpy(self->leader, leader, sizeof self->leader);
    return STATUS_OK;
}

static enum status take_frame(struct checkpointer *self, struct job *job, enum frame_kind kind, struct text bytes, struct error *err)
{
    struct byte_reader reader = byte_reader_open((const uint8_t *)bytes.bytes, bytes.length);
    switch (kind) {
    case FRAME_BEGIN:
        return take_begin(self, job, bytes, err);
    case FRAME_TICK:
        return job_replay(job, bytes, err);
    case FRAME_CUT:
        return take_cut(self, job, bytes, err);
    case FRAME_DONE:
        (void)settle_cut(self, job, byte_reader_number(&reader));
        return STATUS_OK;
    case FRAME_BEAT:
        return STATUS_OK;
    }
    return error_set(err, ERROR_STATE_CORRUPT, "the record of the job's ticks is broken");
}

/* All frames there are, or those of so long. */
static enum status take_frames(struct checkpointer *self, struct job *job, int64_t until_us, bool *any, struct error *err)
{
    enum frame_kind kind;
    struct text bytes;
    *any = false;
    for (bool more = true; more && now_us(self) < until_us;) {
        more = false;
        if (self->next_stream > 0 && tick_stream_open(&self->stream, self->next_stream)) {
            self->next_stream = 0;
        }
        if (self->next_stream == 0 && tick_stream_read(&self->stream, &kind, &bytes)) {
            TRY(take_frame(self, job, kind, bytes, err));
            *any = more = true;
            self->heard_us = now_us(self);
        }
    }
    return STATUS_OK;
}

/* ---- in the other's place ---- */

static struct node *nth_sink(const struct circuit *circuit, uint32_t number)
{
    for (uint32_t i = 0; i < circuit->node_count; i++) {
        if (sink_node_is(circuit->nodes[i]) && number-- == 0) {
            return circuit->nodes[i];
        }
    }
    return NULL;
}

/* What the last checkpoint of the other covers is shown, once, whether it had come to that or not. */
static enum status show_base(struct checkpointer *self, struct job *job, struct error *err)
{
    const struct circuit *first = job->workers[0].circuit;
    struct byte_reader reader = byte_reader_open((const uint8_t *)self->base_outputs.bytes, self->base_outputs.length);
    for (uint32_t k = 0; self->base_outputs.length == 0 && nth_sink(first, k) != NULL; k++) {
        TRY(sink_node_show_base(nth_sink(first, k), err));
    }
    for (uint32_t w = 0; w < job->worker_count && byte_reader_left(&reader) > 0; w++) {
        for (uint32_t k = 0; nth_sink(first, k) != NULL; k++) {
            size_t length = (size_t)byte_reader_number(&reader);
            const char *state = (const char *)byte_reader_take(&reader, length);
            if (state != NULL && length > 0) {
                TRY(sink_node_restore(nth_sink(first, k), state, length, err));
            }
        }
    }
    return reader.failed ? error_set(err, ERROR_STATE_CORRUPT, "the record of a checkpoint's output is broken") : STATUS_OK;
}

static enum status release(struct node *node, uint64_t number, struct error *err)
{
    (void)number;
    return sink_node_release(node, err);
}

static enum status own(struct checkpointer *self, struct job *job, struct error *err)
{
    set_output(job, OUTPUT_SHOWN);
    TRY(show_base(self, job, err));
    TRY(for_each_sink(job, release, 0, err));
    job->state = job->agreed.ended ? JOB_ENDED : JOB_RUNNING;
    self->following = false;
    self->next_full = true;
    tick_stream_close(&self->stream);
    tick_stream_remove(&self->stream, self->base); /* a standby of this process begins with its first checkpoint */
    checkpoint_lead_prepare(self, job);
    return STATUS_OK;
}

static enum status take_over(struct checkpointer *self, struct job *job, enum follow_outcome *outcome, struct error *err)
{
    uint64_t newest;
    bool any;
    TRY(take_frames(self, job, INT64_MAX, &any, err));
    TRY(find_newest(self, &newest, err));
    bool ended;
    TRY(checkpoint_adopt(self, newest, &ended, err));
    bool known = newest == self->base || (strcmp(self->found.incarnation, self->leader) == 0 && settle_cut(self, job, newest));
    if (!known && !ended) {
        return error_set(err, ERROR_STATE_MISFIT, "checkpoint %llu is not in the record of its ticks", (unsigned long long)newest);
    }
    if (ended) {
        *outcome = FOLLOW_FINISHED;
        return STATUS_OK;
    }
    *outcome = FOLLOW_TOOK_OVER;
    TRY(own(self, job, err));
    return job->state == JOB_ENDED ? STATUS_OK : checkpoint_take(self, job, err);
}

/* The other's lock is free, or the other has been silent for too long. */
static enum status try_lock(struct checkpointer *self, struct error *err)
{
    int64_t lease_us = self->spec.settings.lease_us;
    TRY(job_lock_try(self->spec.storage, self->id, &self->lock, err));
    if (self->lock >= 0 || lease_us == 0 || now_us(self) - self->heard_us < lease_us) {
        return STATUS_OK;
    }
    return job_lock_break(self->spec.storage, self->id, &self->lock, err);
}

enum status checkpointer_follow(struct checkpointer *self, struct job *job, int64_t wait_us, enum follow_outcome *outcome,
                                struct error *err)
{
    int64_t until_us = now_us(self) + (wait_us > SLICE_MIN_US ? wait_us : SLICE_MIN_US);
    *outcome = FOLLOW_GOES_ON;
    do {
        bool any;
        TRY(take_frames(self, job, until_us, &any, err));
        TRY(try_lock(self, err));
        if (self->lock >= 0) {
            return take_over(self, job, outcome, err);
        }
        if (!any) {
            usleep(POLL_US);
        }
    } while (now_us(self) < until_us);
    return STATUS_OK;
}

void checkpoint_follow_close(struct checkpointer *self)
{
    for (uint32_t i = 0; i < self->cut_count; i++) {
        text_builder_close(&self->cuts[i].outputs);
    }
    text_builder_close(&self->base_outputs);
}
