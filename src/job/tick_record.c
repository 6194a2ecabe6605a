#include "job/tick_record.h"

#include "base/byte_reader.h"
#include "circuit/operators/history_node.h"
#include "job/job_internal.h"

enum { REPLAY_SLICE_US = 100000 };

static void set_pull_mode(struct job *job, enum pull_mode mode)
{
    for (uint32_t i = 0; i < job->worker_count; i++) {
        job->workers[i].circuit->pull_mode = mode;
    }
}

void job_record_ticks(struct job *job)
{
    job->records = true;
    set_pull_mode(job, PULL_RECORDED);
}

struct text job_tick_record(const struct job *job)
{
    return (struct text){job->record.bytes, job->record.length};
}

enum status job_note_tick(struct job *job, struct error *err)
{
    text_builder_clear(&job->record);
    if (!job->records) {
        return STATUS_OK;
    }
    if (!job->agreed.rows && !job->agreed.ended) {
        for (uint32_t i = 0; i < job->worker_count; i++) {
            pull_record_keep_ends(&job->workers[i].circuit->pulled);
        }
        return STATUS_OK;
    }
    byte_append_signed(&job->record, job->tick.now_us);
    for (uint32_t i = 0; i < job->worker_count; i++) {
        struct text_builder *pulled = &job->workers[i].circuit->pulled;
        text_append(&job->record, pulled->bytes, pulled->length);
        job->record.failed = job->record.failed || pulled->failed;
        text_builder_clear(pulled);
    }
    if (job->record.failed) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room for the record of a tick");
    }
    if (job->history == NULL) {
        return STATUS_OK;
    }
    return history_node_add(job->history, job_tick_record(job), err);
}

enum status job_replay(struct job *job, struct text record, struct error *err)
{
    struct byte_reader reader = byte_reader_open((const uint8_t *)record.bytes, record.length);
    int64_t now_us = byte_reader_signed(&reader);
    if (reader.failed) {
        return error_set(err, ERROR_STATE_CORRUPT, "the record of a tick is broken");
    }
    for (uint32_t i = 0; i < job->worker_count; i++) {
        struct circuit *circuit = job->workers[i].circuit;
        circuit->pull_mode = PULL_REPLAYED;
        circuit->to_pull = (struct text){(const char *)reader.next, byte_reader_left(&reader)};
    }
    job->again = true;
    job_run_tick(job, now_us);
    job->again = false;
    TRY(job_find_error(job, err));
    job->ticks_done += job->agreed.rows || job->agreed.ended;
    return STATUS_OK;
}

static void set_output(struct job *job, enum output_mode mode)
{
    for (uint32_t i = 0; i < job->worker_count; i++) {
        job->workers[i].circuit->output = mode;
    }
}

enum status job_replay_begin(struct job *job, struct error *err)
{
    if (job->history == NULL) {
        return STATUS_OK;
    }
    if (!job->history->claimed) {
        return error_set(err, ERROR_STATE_MISFIT, "the checkpoint has no record of ticks: its job had no state to make again");
    }
    job->replaying = !history_node_is_empty(job->history);
    if (job->replaying) {
        set_output(job, OUTPUT_DROPPED);
        set_pull_mode(job, PULL_REPLAYED);
    }
    return STATUS_OK;
}

enum status job_replay_some(struct job *job, struct error *err)
{
    int64_t started_us = job->clock->monotonic_us(job->clock);
    bool found = true;
    while (found && job->clock->monotonic_us(job->clock) - started_us < REPLAY_SLICE_US) {
        struct text record;
        TRY(history_node_next(job->history, &record, &found, err));
        if (found) {
            TRY(job_replay(job, record, err));
        }
    }
    if (!found) {
        job->replaying = false;
        set_output(job, OUTPUT_SHOWN);
        set_pull_mode(job, PULL_RECORDED);
    }
    return STATUS_OK;
}

bool job_is_replaying(const struct job *job)
{
    return job->replaying;
}
