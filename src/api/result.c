#include <stdlib.h>
#include <string.h>

#include "api/program.h"
#include "api/session.h"
#include "data/arrow.h"
#include "data/cell_text.h"
#include "job/tick_record.h"
#include "storage/job_definition.h"

enum status result_create(spate_session *session, int kind, spate_result **result, struct error *err)
{
    spate_result *created = calloc(1, sizeof *created);
    if (created == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room for a result");
    }
    created->session = session;
    created->kind = kind;
    created->message = "";
    created->state = JOB_RUNNING;
    created->next = session->results;
    session->results = created;
    created->arena = arena_create(&session->budget, "statement");
    if (created->arena == NULL) {
        spate_result_close(created);
        return error_set(err, ERROR_BUDGET_SPENT, "no room for a statement");
    }
    *result = created;
    return STATUS_OK;
}

static void session_set_running(spate_session *session, struct job *job)
{
    pthread_mutex_lock(&session->mutex);
    session->running = job;
    pthread_mutex_unlock(&session->mutex);
}

/* What became of the job, and its last figures. */
static void tell_the_end(spate_result *result)
{
    static const char *const ends[] = {
        [JOB_RUNNING] = "was left running", [JOB_ENDED] = "has ended", [JOB_CANCELLED] = "was cancelled", [JOB_FAILED] = "has failed"};
    if (result->journal != NULL && result->job != NULL) {
        watch_sample(result);
        const char *end = result->state == JOB_ENDED && !job_reached_end(result->job) ? "was stopped" : ends[result->state];
        journal_event(result->journal, LOG_INFO, "job.end", "the job %s", end);
    }
}

void spate_result_close(spate_result *result)
{
    if (result == NULL) {
        return;
    }
    spate_result **link = &result->session->results;
    while (*link != result) {
        link = &(*link)->next;
    }
    *link = result->next;
    session_set_running(result->session, NULL);
    tell_the_end(result);
    edits_close(result->edits);
    checkpointer_close(result->checkpointer); /* before the job, whose memory its thread reads */
    job_destroy(result->job);
    journal_close(result->journal);
    if (result->plan != NULL) {
        plan_close(result->plan);
    }
    result_queue_destroy(result->queue);
    buffer_unref(result->kinds);
    text_builder_close(&result->text);
    arena_destroy(result->arena);
    free(result);
}

int spate_result_kind(const spate_result *result)
{
    return result->kind;
}

const char *spate_result_message(const spate_result *result)
{
    return result->message;
}

bool spate_result_is_bounded(const spate_result *result)
{
    return result->plan == NULL || plan_is_bounded(result->plan);
}

bool spate_result_is_awaited(const spate_result *result)
{
    return result->kind != SPATE_RESULT_INSERT || result->awaited;
}

bool spate_result_is_insert_only(const spate_result *result)
{
    return result->kind != SPATE_RESULT_QUERY || plan_is_insert_only(result->plan);
}

bool spate_result_is_ordered(const spate_result *result)
{
    return result->kind != SPATE_RESULT_QUERY || plan_is_ordered(result->plan);
}

uint32_t spate_result_column_count(const spate_result *result)
{
    return result->schema.count;
}

const char *spate_result_column_name(const spate_result *result, uint32_t column)
{
    return column < result->schema.count ? result->schema.columns[column].name : "";
}

const char *spate_result_column_type(const spate_result *result, uint32_t column)
{
    if (column >= result->schema.count) {
        return "";
    }
    const char *text = type_to_text(result->arena, result->schema.columns[column].type);
    return text == NULL ? "" : text;
}

static const struct type *result_row_type(spate_result *result, struct error *err)
{
    if (result->row_type != NULL) {
        return result->row_type;
    }
    uint32_t count = result->schema.count;
    const struct type **types = arena_alloc(result->arena, (count + 1) * sizeof *types);
    const char **names = arena_alloc(result->arena, (count + 1) * sizeof *names);
    const struct type *row = NULL;
    if (types != NULL && names != NULL) {
        for (uint32_t c = 0; c < count; c++) {
            types[c] = result->schema.columns[c].type;
            names[c] = result->schema.columns[c].name;
        }
        row = type_row(result->arena, count, types, names, false);
    }
    result->row_type = row;
    if (row == NULL) {
        (void)error_set(err, ERROR_BUDGET_SPENT, "no room for the result's schema");
    }
    return row;
}

int spate_result_schema(spate_result *result, struct ArrowSchema *schema)
{
    struct error *err = &result->session->error;
    const struct type *row = result_row_type(result, err);
    enum status status = row == NULL ? err->status : arrow_export_schema(row, schema, err);
    return status == STATUS_OK ? SPATE_OK : session_fail(result->session, status);
}

/* After a tick of a job with checkpoints. A job that was stopped has ended without the end of its input: it goes on when it is run again. */
static enum status result_checkpoint(spate_result *result, struct error *err)
{
    if (result->state == JOB_RUNNING && job_is_replaying(result->job)) {
        return STATUS_OK;
    }
    if (result->state == JOB_RUNNING) {
        return checkpointer_step(result->checkpointer, result->job, err);
    }
    if (result->state != JOB_ENDED) {
        return STATUS_OK;
    }
    bool ended = job_reached_end(result->job);
    TRY(checkpointer_finish(result->checkpointer, result->job, ended, err));
    return ended || checkpointer_is_task(result->checkpointer)
               ? STATUS_OK
               : job_record_mark(result->session->storage, checkpointer_job_id(result->checkpointer), DESIRED_PAUSED,
                                 err); /* a stopped one would expire */
}

static void tell_notices(const spate_result *result)
{
    struct text_builder notices = {0};
    job_take_notices(result->job, &notices);
    for (const char *line = notices.bytes; notices.length > 0 && *line != '\0';) {
        size_t length = strcspn(line, "\n");
        session_tell(result->session, "job '%s': %.*s", result->job_name, (int)length, line);
        line += length + (line[length] == '\n');
    }
    text_builder_close(&notices);
}

static enum status follow_step(spate_result *result, int64_t wait_ms, int *step, struct error *err)
{
    static const char *const told[] = {
        [FOLLOW_TOOK_OVER] = "the standby goes on in the place of the process that has gone", [FOLLOW_FINISHED] = "has finished"};
    enum follow_outcome outcome = FOLLOW_GOES_ON;
    if (result->stopping) {
        result->state = JOB_ENDED;
        return STATUS_OK;
    }
    *step = SPATE_STEP_IDLE;
    enum status status = checkpointer_follow(result->checkpointer, result->job, wait_ms * 1000, &outcome, err);
    if (status != STATUS_OK && checkpointer_is_following(result->checkpointer) && err->code != ERROR_INVALID_OPTION &&
        !atomic_load(&result->session->cancelled)) {
        recovery_follow_again(result, err);
        return STATUS_OK;
    }
    TRY(status);
    if (outcome != FOLLOW_GOES_ON) {
        session_tell(result->session, "job '%s': %s", result->job_name, told[outcome]);
        journal_event(result->journal, LOG_INFO, "job.start", "%s", told[outcome]);
    }
    if (outcome == FOLLOW_FINISHED) {
        result->state = JOB_ENDED;
        *step = SPATE_STEP_ENDED;
    } else if (outcome == FOLLOW_TOOK_OVER) {
        *step = SPATE_STEP_WORKED;
    }
    return STATUS_OK;
}

/* What fails while it runs has the place of its expression, or else that of the statement. */
static enum status place_failure(const spate_result *result, enum status status, struct error *err)
{
    if (err->line == 0 && result->statement != NULL) {
        err->line = result->statement->at.line;
        err->column = result->statement->at.column;
    }
    return status;
}

enum status result_step(spate_result *result, int64_t wait_ms, int *step, struct error *err)
{
    spate_session *session = result->session;
    *step = SPATE_STEP_ENDED;
    if (result->recovering) {
        return recovery_step(result, wait_ms, step, err);
    }
    if (result->job == NULL || result->state == JOB_ENDED) {
        return STATUS_OK;
    }
    if (result->checkpointer != NULL && checkpointer_is_following(result->checkpointer) && !atomic_load(&session->cancelled)) {
        return follow_step(result, wait_ms, step, err);
    }
    session_set_running(session, result->job);
    if (atomic_load(&session->cancelled)) {
        job_cancel(result->job);
    }
    int64_t every = result->checkpointer == NULL ? session->settings.values.restart_every : 0;
    bool hurries = result->checkpointer != NULL && checkpointer_is_copying(result->checkpointer);
    enum status status = job_step(result->job, hurries ? 0 : wait_ms * 1000, &result->state, err);
    tell_notices(result);
    if (status == STATUS_OK && result->program != NULL) {
        program_after_tick(result->program);
    }
    if (status == STATUS_OK && result->checkpointer != NULL) {
        status = result_checkpoint(result, err);
    }
    if (journal_wants_figures(result->journal)) {
        watch_sample(result);
    }
    session_set_running(session, NULL);
    if (status != STATUS_OK && recovery_begin(result, status, err)) {
        *step = SPATE_STEP_IDLE;
        return STATUS_OK;
    }
    if (status != STATUS_OK) {
        journal_event(result->journal, LOG_ERROR, "job.fail", "%s", err->text);
        return place_failure(result, status, err);
    }
    if (result->state == JOB_CANCELLED) {
        return error_set(err, ERROR_CANCELLED, "the statement was cancelled");
    }
    if (result->state == JOB_RUNNING) {
        *step = job_is_idle(result->job) ? SPATE_STEP_IDLE : SPATE_STEP_WORKED;
        result->ticks += *step == SPATE_STEP_WORKED;
        return every > 0 && result->ticks >= every ? result_restart(result, err) : STATUS_OK;
    }
    if (every > 0) {
        return result_end_restarts(result, err);
    }
    return STATUS_OK;
}

int spate_result_step(spate_result *result, int64_t wait_ms, int *step)
{
    bool rests = false;
    enum status status = edits_before_tick(result, wait_ms, &rests, &result->session->error);
    *step = SPATE_STEP_IDLE;
    if (status == STATUS_OK && !rests) {
        status = result_step(result, wait_ms, step, &result->session->error);
    }
    if (status == STATUS_OK && result->edits != NULL) {
        status = edits_after_tick(result, &result->session->error);
        *step = result->state == JOB_RUNNING ? *step : SPATE_STEP_ENDED;
    }
    if (status == STATUS_OK && result->checkpointer != NULL && checkpointer_is_asked(result->checkpointer)) {
        status = jobs_answer(result, &result->session->error);
        *step = result->state == JOB_RUNNING ? *step : SPATE_STEP_ENDED;
    }
    return status == STATUS_OK ? SPATE_OK : session_fail(result->session, status);
}

int spate_result_next(spate_result *result, struct ArrowArray *array, const uint8_t **kinds, int64_t *rows)
{
    struct error *err = &result->session->error;
    struct batch batch = {0};
    *rows = 0;
    buffer_unref(result->kinds);
    result->kinds = NULL;
    if (result->queue == NULL || !result_queue_take(result->queue, &batch, &result->kinds)) {
        return SPATE_OK;
    }
    const struct type *row = result_row_type(result, err);
    enum status status = row == NULL ? err->status : arrow_export_batch(&result->session->budget, &batch, row, array, err);
    if (status == STATUS_OK) {
        *rows = batch.count;
        *kinds = result->kinds == NULL ? NULL : buffer_bytes(result->kinds);
        result->rows_out += batch.count;
    }
    batch_release(&batch);
    return status == STATUS_OK ? SPATE_OK : session_fail(result->session, status);
}

/* Calls back with the cells of one row. */
static int result_give_row(spate_result *result, const struct batch *batch, uint32_t row, int kind, spate_row_function give, void *context,
                           const char **values, size_t *lengths)
{
    struct text_builder *text = &result->text;
    text_builder_clear(text);
    for (uint32_t c = 0; c < batch->column_count; c++) {
        size_t start = text->length;
        values[c] = NULL;
        lengths[c] = 0;
        if (vector_is_valid(&batch->columns[c], row)) {
            cell_text_append(&batch->columns[c], row, result->evaluation.zone, CELL_TEXT_HEX, text);
            lengths[c] = text->length - start;
            values[c] = ""; /* set below, when the builder no longer moves */
            text_append_char(text, '\0');
        }
    }
    size_t at = 0;
    for (uint32_t c = 0; c < batch->column_count; c++) {
        if (values[c] != NULL) {
            values[c] = text->bytes + at;
            at += lengths[c] + 1;
        }
    }
    return give(context, kind, batch->column_count, values, lengths);
}

static enum status result_give(spate_result *result, const struct batch *batch, const uint8_t *kinds, spate_row_function give,
                               void *context, struct error *err)
{
    const char **values = calloc(batch->column_count + 1, sizeof *values);
    size_t *lengths = calloc(batch->column_count + 1, sizeof *lengths);
    int stop = values == NULL || lengths == NULL;
    for (uint32_t r = 0; r < batch->count && !stop; r++) {
        stop = result_give_row(result, batch, r, kinds == NULL ? SPATE_INSERT : kinds[r], give, context, values, lengths);
    }
    bool failed = values == NULL || lengths == NULL || result->text.failed;
    free(values);
    free(lengths);
    return failed ? error_set(err, ERROR_BUDGET_SPENT, "no room for a row's text") : STATUS_OK;
}

int spate_result_next_text(spate_result *result, spate_row_function row, void *context, int64_t *rows)
{
    struct batch batch = {0};
    struct buffer *kinds = NULL;
    *rows = 0;
    if (result->queue == NULL || !result_queue_take(result->queue, &batch, &kinds)) {
        return SPATE_OK;
    }
    enum status status = result_give(result, &batch, kinds == NULL ? NULL : buffer_bytes(kinds), row, context, &result->session->error);
    *rows = batch.count;
    result->rows_out += batch.count;
    batch_release(&batch);
    buffer_unref(kinds);
    return status == STATUS_OK ? SPATE_OK : session_fail(result->session, status);
}

void spate_result_stop(spate_result *result)
{
    result->stopping = true;
    if (result->job != NULL) {
        job_finish_sources(result->job);
    }
}

void spate_result_progress(const spate_result *result, struct spate_progress *progress)
{
    struct plan_progress read = {.watermark_us = WATERMARK_NONE};
    if (result->plan != NULL) {
        plan_progress_read(result->plan, &read);
    }
    struct checkpoint_figures checkpoints = {0};
    if (result->checkpointer != NULL) {
        checkpointer_figures(result->checkpointer, &checkpoints);
    }
    struct spate_progress full = {
        .size = progress->size,
        .rows_read = read.rows_read,
        .bytes_read = read.bytes_read,
        .bytes_total = read.bytes_total,
        .rows_out = result->rows_out,
        .late = read.late,
        .null_time = read.null_time,
        .failed = read.failed,
        .dropped = read.dropped,
        .watermark_us = read.watermark_us,
        .held_by = read.held_by == NULL ? "" : read.held_by,
        .dead_lettered = read.dead_lettered,
        .checkpoints = checkpoints.completed,
        .checkpoint_bytes = checkpoints.last_bytes,
        .checkpoints_failed = checkpoints.failed,
        .checkpoint_stall_us = checkpoints.last_stall_us,
        .checkpoint_longest_stall_us = checkpoints.longest_stall_us,
    };
    memcpy(progress, &full, progress->size < sizeof full ? progress->size : sizeof full);
}
