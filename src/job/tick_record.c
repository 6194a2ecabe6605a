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
    struct text_builder length = {0};
    byte_append_number(&length, job->record.length);
    enum status status = history_node_add(job->history, (struct text){length.bytes, length.length}, err);
    text_builder_close(&length);
    return status == STATUS_OK ? history_node_add(job->history, job_tick_record(job), err) : status;
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
    job_run_tick(job, now_us);
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
    job->replaying = history_node_records(job->history).length > 0;
    if (job->replaying) {
        set_output(job, OUTPUT_DROPPED);
        set_pull_mode(job, PULL_REPLAYED);
    }
    return STATUS_OK;
}

/* The next record of the history. */
static enum status replay_next(struct job *job, struct text records, struct error *err)
{
    const uint8_t *at = (const uint8_t *)records.bytes + job->replayed_bytes;
    struct byte_reader reader = byte_reader_open(at, records.length - job->replayed_bytes);
    size_t length = (size_t)byte_reader_number(&reader);
    const uint8_t *record = byte_reader_take(&reader, length);
    if (record == NULL) {
        return error_set(err, ERROR_STATE_CORRUPT, "the record of a job's ticks is broken");
    }
    job->replayed_bytes += (size_t)(reader.next - at);
    return job_replay(job, (struct text){(const char *)record, length}, err);
}

enum status job_replay_some(struct job *job, struct error *err)
{
    struct text records = history_node_records(job->history);
    int64_t started_us = job->clock->monotonic_us(job->clock);
    while (job->replayed_bytes < records.length && job->clock->monotonic_us(job->clock) - started_us < REPLAY_SLICE_US) {
        TRY(replay_next(job, records, err));
    }
    if (job->replayed_bytes == records.length) {
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
