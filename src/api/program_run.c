/* What a program's node asks for, as calls of the functions of its class; and what the program asked for, between two ticks. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/program.h"
#include "api/task_async.h"

/* ---- around a call ---- */

static void call_begins(struct spate_task *task, bool may_write)
{
    task->error = (struct error){.status = STATUS_OK};
    task->may_write = may_write;
}

static enum error_code code_of(int error_class)
{
    static const enum error_code codes[] = {
        [SPATE_ERROR_SQL] = ERROR_TASK_WRONG,      [SPATE_ERROR_DATA] = ERROR_TASK_FAILED,
        [SPATE_ERROR_LIMIT] = ERROR_TASK_LIMIT,    [SPATE_ERROR_UNAVAILABLE] = ERROR_TASK_UNAVAILABLE,
        [SPATE_ERROR_CANCELLED] = ERROR_CANCELLED, [SPATE_ERROR_INTERNAL] = ERROR_INTERNAL,
    };
    return error_class > SPATE_OK && error_class <= SPATE_ERROR_INTERNAL ? codes[error_class] : ERROR_TASK_FAILED;
}

static enum status call_ends(struct spate_task *task, int code, const char *function, struct error *err)
{
    task->may_write = false;
    if (code == SPATE_OK) {
        return STATUS_OK;
    }
    if (task->error.status == STATUS_OK) {
        (void)!error_set(&task->error, code_of(code), "it gave %d, and did not say why", code);
    }
    *err = task->error;
    error_add_context(err, "in %s of task '%s'", function, task->program->spec.name);
    return err->status;
}

int spate_task_fail(spate_task *task, int error_class, const char *format, ...)
{
    char text[sizeof task->error.text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    (void)!error_set(&task->error, code_of(error_class), "%s", text);
    return error_class == SPATE_OK ? SPATE_ERROR_DATA : error_class;
}

/* ---- the node's calls ---- */

static enum status host_open(void *context, struct node *node, struct error *err)
{
    struct spate_task *task = context;
    const struct program *program = task->program;
    *task = (struct spate_task){.program = task->program, .states = task->states, .outputs = task->outputs, .node = node};
    memset(task->states, 0, program->spec.table_count * sizeof *task->states);
    memset(task->outputs, 0, program->spec.output_count * sizeof *task->outputs);
    task->self = program->context;
    if (program->type.init == NULL) {
        return STATUS_OK;
    }
    call_begins(task, false);
    return call_ends(task, program->type.init(program->context, task, &task->self), "init", err);
}

static void host_close(void *context)
{
    struct spate_task *task = context;
    if (task->program->type.close != NULL) {
        call_begins(task, false);
        task->program->type.close(task->self, task);
    }
    task->node = NULL;
    async_queue_destroy(task->async);
    task->async = NULL;
}

static enum status give_answer(struct spate_task *task, const struct async_entry *entry, struct error *err)
{
    const struct spate_task_answer answer = {entry->item, entry->item_length, entry->answer, entry->answer_length};
    call_begins(task, true);
    if (entry->error_class != SPATE_OK) {
        (void)spate_task_fail(task, entry->error_class, "%s", entry->why == NULL ? "no memory for an answer" : entry->why);
        return call_ends(task, entry->error_class, "the answer to a row", err);
    }
    return call_ends(task, task->program->type.answered(task->self, task, &answer), "answered", err);
}

/* All that the tick has begun, in order. */
static enum status host_settle(void *context, struct error *err)
{
    struct spate_task *task = context;
    bool found = task->async != NULL;
    while (found) {
        struct async_entry entry = {0};
        enum status status = async_queue_take(task->async, &task->program->result->session->cancelled, &entry, &found, err);
        if (status != STATUS_OK) {
            error_add_context(err, "in task '%s'", task->program->spec.name);
            return status;
        }
        if (found) {
            status = give_answer(task, &entry, err);
        }
        if (status != STATUS_OK) {
            async_entry_name(&entry, err);
        }
        async_entry_close(&entry);
        TRY(status);
    }
    return STATUS_OK;
}

static enum status give_rows(struct spate_task *task, struct error *err)
{
    struct spate_rows *rows = &task->rows;
    const struct batch *batch = rows->batch;
    call_begins(task, true);
    task->processes = true;
    enum status status = call_ends(task, task->program->type.process(task->self, task, rows), "process", err);
    task->processes = false;
    if (status != STATUS_OK && batch->ordered) {
        error_add_context(err, "given rows %lld to %lld of a partition of '%s'", (long long)batch_ordinal(batch, 0),
                          (long long)batch_ordinal(batch, batch->count - 1), rows->input);
    } else if (status != STATUS_OK) {
        error_add_context(err, "given %u rows of '%s'", rows->count, rows->input);
    }
    return status;
}

/* Rows with weights: each as often as it comes or goes, a chunk at a time. */
static enum status give_changes(struct spate_task *task, struct error *err)
{
    struct spate_rows *rows = &task->rows;
    const struct batch *batch = rows->batch;
    rows->places = rows->repeated;
    rows->count = 0;
    for (uint32_t row = 0; row < batch->count; row++) {
        int64_t weight = batch_weight(batch, row);
        for (int64_t left = weight < 0 ? -weight : weight; left > 0; left--) {
            rows->repeated[rows->count] = (uint16_t)row;
            rows->kinds[rows->count++] = weight < 0 ? SPATE_DELETE : SPATE_INSERT;
            if (rows->count == CHUNK_ROWS) {
                TRY(give_rows(task, err));
                rows->count = 0;
            }
        }
    }
    return rows->count == 0 ? STATUS_OK : give_rows(task, err);
}

static enum status host_rows(void *context, uint32_t input, const struct batch *batch, struct error *err)
{
    struct spate_task *task = context;
    const struct program *program = task->program;
    struct spate_rows *rows = &task->rows;
    rows->input = program->spec.input_names[input];
    rows->schema = program->input_schemas[input];
    rows->row = program->input_rows[input];
    rows->batch = batch;
    if (batch->weights != NULL) {
        return give_changes(task, err);
    }
    rows->places = NULL;
    rows->count = batch->count;
    memset(rows->kinds, SPATE_INSERT, batch->count);
    return give_rows(task, err);
}

static enum status host_window(void *context, struct error *err)
{
    struct spate_task *task = context;
    call_begins(task, true);
    return call_ends(task, task->program->type.window(task->self, task), "window", err);
}

static enum status host_timer(void *context, bool watermark, int64_t time_ms, struct text key, struct error *err)
{
    struct spate_task *task = context;
    const struct spate_task_timer timer = {
        .kind = watermark ? SPATE_TIMER_WATERMARK : SPATE_TIMER_CLOCK, .time_ms = time_ms, .key = key.bytes, .key_length = key.length};
    if (task->program->type.timer == NULL) {
        return STATUS_OK;
    }
    call_begins(task, true);
    return call_ends(task, task->program->type.timer(task->self, task, &timer), "timer", err);
}

static enum status host_ended(void *context, uint32_t input, struct error *err)
{
    struct spate_task *task = context;
    const char *name = task->program->spec.input_names[input];
    if (task->program->type.end_of_stream == NULL) {
        return STATUS_OK;
    }
    call_begins(task, true);
    enum status status = call_ends(task, task->program->type.end_of_stream(task->self, task, name), "end_of_stream", err);
    if (status != STATUS_OK) {
        error_add_context(err, "at the end of '%s'", name);
    }
    return status;
}

static void host_committed(void *context, uint64_t checkpoint)
{
    struct spate_task *task = context;
    const struct checkpointer *checkpointer = task->program->result->checkpointer;
    bool own;
    if (task->program->type.committed != NULL) {
        call_begins(task, false);
        task->program->type.committed(task->self, task, checkpoint, checkpointer == NULL ? 0 : checkpointer_edits(checkpointer, &own));
    }
}

const struct program_host program_host = {
    .open = host_open,
    .rows = host_rows,
    .settle = host_settle,
    .window = host_window,
    .timer = host_timer,
    .ended = host_ended,
    .committed = host_committed,
    .close = host_close,
};

/* ---- between two ticks ---- */

void program_after_tick(struct program *program)
{
    spate_result *result = program->result;
    struct spate_task *task = &program->task;
    if (task->wants_commit && result->checkpointer != NULL) {
        checkpointer_request(result->checkpointer);
    }
    if (task->wants_stop && result->session->share != NULL) {
        atomic_store(result->session->share->process_leaves, true);
    } else if (task->wants_stop) {
        spate_result_stop(result);
    }
    task->wants_commit = task->wants_stop = false;
}

enum status program_obey(struct program *program, const char *verb, const char *args, uint64_t rank, struct error *err)
{
    struct spate_task *task = &program->task;
    const struct spate_task_edit edit = {.verb = verb, .args = args, .rank = rank};
    if (program->type.on_control == NULL) {
        return error_set(err, ERROR_CTL_NO_GROUND, "%s: task '%s' has no function 'on_control'", verb, program->spec.name);
    }
    TRY(program_node_open(plan_program_node(program->result->plan), err)); /* a job that is paused from the start has had no tick */
    call_begins(task, false);
    return call_ends(task, program->type.on_control(task->self, task, &edit), "on_control", err);
}
