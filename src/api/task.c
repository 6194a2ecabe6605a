/* include/spate/task.h: what the functions of a task may call. Errors go into the task, from where the end of the callback takes them. */
#include <string.h>
#include <unistd.h>

#include "api/program.h"
#include "api/public_error.h"
#include "api/task_async.h"
#include "data/arrow.h"
#include "spate/operations.h"

static int answer(spate_task *task, enum status status)
{
    struct spate_error public_error;
    return status == STATUS_OK ? SPATE_OK : public_error_set(&public_error, &task->error, status);
}

/* ---- starting it ---- */

enum status task_start(spate_session *session, const struct spate_task_spec *spec, spate_result **result, struct error *err)
{
    spate_result *created;
    atomic_store(&session->cancelled, false);
    atomic_store(&session->planning_cancelled, false);
    TRY(result_create(session, SPATE_RESULT_INSERT, &created, err));
    session->statement_count++;
    enum status status = program_define(created, spec, err);
    if (status == STATUS_OK) {
        status = statement_run_program(created, err);
    }
    if (status != STATUS_OK) {
        spate_result_close(created);
        return status;
    }
    *result = created;
    return STATUS_OK;
}

/* Makes the tables. Fails through the session's error. */
static int run_setup(spate_session *session, const struct spate_task_spec *spec)
{
    size_t offset = 0;
    int code = session->opened ? SPATE_OK : session_fail(session, error_set(&session->error, ERROR_MISUSE, "the session is not open"));
    for (bool more = spec->setup != NULL; more && code == SPATE_OK;) {
        spate_result *result;
        code = spate_execute(session, spec->setup, strlen(spec->setup), &offset, &result);
        more = code == SPATE_OK && result != NULL;
        if (more && result->kind != SPATE_RESULT_DONE) {
            code = session_fail(session,
                                error_set(&session->error, ERROR_MISUSE, "the setup of a task has statements like CREATE and SET only"));
        }
        if (result != NULL) {
            spate_result_close(result);
        }
    }
    return code;
}

int spate_task_run(spate_session *session, const struct spate_task_spec *spec, spate_result **result)
{
    *result = NULL;
    int code = run_setup(session, spec);
    enum status status = code == SPATE_OK ? task_start(session, spec, result, &session->error) : STATUS_OK;
    return status == STATUS_OK ? code : session_fail(session, status);
}

static enum status submit(spate_session *session, const struct spate_task_spec *spec, uint32_t flags, const char **message)
{
    spate_result *result;
    session->submits = true;
    session->replaces = (flags & SPATE_SUBMIT_REPLACE) != 0;
    enum status status = task_start(session, spec, &result, &session->error);
    session->submits = session->replaces = false;
    TRY(status);
    *message = arena_text(session->arena, result->message, strlen(result->message));
    spate_result_close(result);
    return *message != NULL ? STATUS_OK : error_set(&session->error, ERROR_BUDGET_SPENT, "no room for what is said of a job");
}

int spate_task_submit(spate_session *session, const struct spate_task_spec *spec, const char *const *settings, uint32_t flags,
                      const char **message)
{
    char folder[4096];
    int code =
        spec->setup != NULL
            ? run_setup(session, spec)
            : session_fail(session, error_set(&session->error, ERROR_MISUSE, "a task that others run brings its tables along: spec.setup"));
    if (code == SPATE_OK && getcwd(folder, sizeof folder) == NULL) {
        code = session_fail(session, error_set(&session->error, ERROR_FILE_UNREADABLE, "the working folder is not there any more"));
    }
    if (code == SPATE_OK) {
        code = spate_session_script(session, spec->setup, folder, settings);
    }
    enum status status = code == SPATE_OK ? submit(session, spec, flags, message) : STATUS_OK;
    return status == STATUS_OK ? code : session_fail(session, status);
}

/* ---- the task ---- */

const char *spate_task_name(const spate_task *task)
{
    return task->program->spec.name;
}

const char *spate_task_id(const spate_task *task)
{
    const struct checkpoint_task *one = task->program->result->session->task;
    return one == NULL ? "all" : one->name;
}

int64_t spate_task_now_ms(const spate_task *task)
{
    return node_evaluation(task->node)->now_us / 1000;
}

int64_t spate_task_watermark_ms(const spate_task *task)
{
    int64_t us = program_node_watermark(task->node);
    return us == WATERMARK_NONE || us == WATERMARK_END ? us : us / 1000 - (us % 1000 < 0);
}

int spate_task_commit(spate_task *task)
{
    if (task->program->result->checkpointer == NULL) {
        return answer(task, error_set(&task->error, ERROR_MISUSE,
                                      "task '%s' wants to commit, but its job takes no checkpoints: SET "
                                      "'execution.checkpointing.interval'",
                                      task->program->spec.name));
    }
    task->wants_commit = true;
    return SPATE_OK;
}

int spate_task_shutdown(spate_task *task, int scope)
{
    if (scope == SPATE_SHUTDOWN_TASK) {
        task->node->circuit->ends = true;
        return SPATE_OK;
    }
    if (scope == SPATE_SHUTDOWN_PROCESS) {
        task->wants_stop = true;
        return SPATE_OK;
    }
    return answer(task, error_set(&task->error, ERROR_MISUSE, "there is no shutdown of scope %d", scope));
}

static struct text timer_key(const void *key, size_t length)
{
    return (struct text){length == 0 ? "" : key, length};
}

static enum status check_timer(spate_task *task, int kind, size_t key_length)
{
    if (kind != SPATE_TIMER_CLOCK && kind != SPATE_TIMER_WATERMARK) {
        return error_set(&task->error, ERROR_MISUSE, "there is no timer of kind %d", kind);
    }
    if (task->program->type.timer == NULL) {
        return error_set(&task->error, ERROR_MISUSE, "task '%s' sets a timer, but has no function 'timer'", task->program->spec.name);
    }
    return key_length <= STRING_LENGTH_MAX ? STATUS_OK : error_set(&task->error, ERROR_TOO_MANY, "the key of a timer is too long");
}

int spate_task_set_timer(spate_task *task, int kind, int64_t time_ms, const void *key, size_t key_length)
{
    enum status status = check_timer(task, kind, key_length);
    if (status == STATUS_OK) {
        status = program_node_set_timer(task->node, kind == SPATE_TIMER_WATERMARK, time_ms, timer_key(key, key_length), &task->error);
    }
    return answer(task, status);
}

int spate_task_cancel_timer(spate_task *task, int kind, const void *key, size_t key_length)
{
    enum status status = check_timer(task, kind, key_length);
    if (status == STATUS_OK) {
        status = program_node_cancel_timer(task->node, kind == SPATE_TIMER_WATERMARK, timer_key(key, key_length), &task->error);
    }
    return answer(task, status);
}

/* ---- rows ---- */

const char *spate_rows_input(const spate_rows *rows)
{
    return rows->input;
}

uint32_t spate_rows_count(const spate_rows *rows)
{
    return rows->count;
}

uint32_t spate_rows_column_count(const spate_rows *rows)
{
    return rows->schema->count;
}

int spate_rows_column(const spate_rows *rows, const char *name)
{
    for (uint32_t i = 0; i < rows->schema->count; i++) {
        if (strcmp(rows->schema->columns[i].name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static uint32_t place_of(const spate_rows *rows, uint32_t row)
{
    return rows->places == NULL ? row : rows->places[row];
}

spate_cell spate_rows_cell(const spate_rows *rows, uint32_t row, uint32_t column)
{
    return row < rows->count && column < rows->schema->count ? cell_read(&rows->batch->columns[column], place_of(rows, row))
                                                             : spate_cell_null();
}

int spate_rows_kind(const spate_rows *rows, uint32_t row)
{
    return row < rows->count ? rows->kinds[row] : SPATE_INSERT;
}

static enum status export_rows(spate_task *task, const spate_rows *rows, struct ArrowArray *array)
{
    struct budget *budget = node_budget(task->node);
    struct batch gathered;
    if (rows->places == NULL) {
        return arrow_export_batch(budget, rows->batch, rows->row, array, &task->error);
    }
    TRY(batch_gather(budget, rows->batch, rows->places, rows->count, &gathered, &task->error));
    enum status status = arrow_export_batch(budget, &gathered, rows->row, array, &task->error);
    batch_release(&gathered);
    return status;
}

int spate_rows_arrow(spate_task *task, const spate_rows *rows, struct ArrowArray *array, struct ArrowSchema *schema)
{
    enum status status = export_rows(task, rows, array);
    if (status == STATUS_OK && schema != NULL) {
        status = arrow_export_schema(rows->row, schema, &task->error);
        if (status != STATUS_OK) {
            array->release(array);
        }
    }
    return answer(task, status);
}

static enum status begin_async(spate_task *task, const spate_rows *rows, uint32_t row, const void *item, size_t length,
                               spate_completion *completion)
{
    const struct program *program = task->program;
    if (!task->processes || program->type.answered == NULL || row >= rows->count) {
        return error_set(&task->error, ERROR_MISUSE,
                         "an answer is waited for in process, for one of its rows, and by a class with 'answered'");
    }
    if (task->async == NULL) {
        TRY(async_queue_create(program->async_limit, program->async_timeout_us, &task->async, &task->error));
    }
    int64_t ordinal = rows->batch->ordered ? batch_ordinal(rows->batch, place_of(rows, row)) : -1;
    return async_queue_begin(task->async, rows->input, ordinal, item, length, &program->result->session->cancelled, completion,
                             &task->error);
}

int spate_process_async(spate_task *task, const spate_rows *rows, uint32_t row, const void *item, size_t item_length,
                        spate_completion *completion)
{
    return answer(task, begin_async(task, rows, row, item, item_length, completion));
}

/* ---- outputs ---- */

spate_output *spate_task_output(spate_task *task, const char *table)
{
    const struct program *program = task->program;
    for (uint32_t i = 0; i < program->spec.output_count; i++) {
        if (strcmp(program->output_names[i], table) == 0) {
            task->outputs[i] = (struct spate_output){task, program->output_names[i], program_node_output(task->node, i)};
            return &task->outputs[i];
        }
    }
    (void)!error_set(&task->error, ERROR_MISUSE, "task '%s' has no output '%s'", program->spec.name, table);
    return NULL;
}

static enum status may_write(const spate_output *output)
{
    return output->task->may_write
               ? STATUS_OK
               : error_set(&output->task->error, ERROR_MISUSE,
                           "rows for '%s' are written in process, answered, window, timer and end_of_stream only", output->name);
}

int spate_output_row(spate_output *output, const spate_cell *cells, uint32_t count)
{
    enum status status = may_write(output);
    if (status == STATUS_OK) {
        status = program_output_row(output->node, cells, count, &output->task->error);
    }
    return answer(output->task, status);
}

int spate_output_arrow(spate_output *output, const struct ArrowSchema *schema, struct ArrowArray *array)
{
    enum status status = may_write(output);
    if (status != STATUS_OK) {
        array->release(array);
        return answer(output->task, status);
    }
    return answer(output->task, program_output_arrow(output->node, schema, array, &output->task->error));
}

/* ---- state ---- */

static enum status open_state(spate_task *task, uint32_t number)
{
    struct spate_state *state = &task->states[number];
    struct arena *arena = node_arena(task->node);
    struct program_table *table = program_node_table(task->node, number);
    if (state->table != NULL) {
        return STATUS_OK;
    }
    *state = (struct spate_state){.task = task, .name = task->program->spec.tables[number].name};
    TRY_ALLOC(state->columns, arena_alloc(arena, (table->key_count + 1) * sizeof *state->columns), &task->error);
    TRY_ALLOC(state->key, arena_alloc(arena, (table->key_count + 1) * sizeof *state->key), &task->error);
    TRY_ALLOC(state->values, arena_alloc(arena, (table->value_count + 1) * sizeof *state->values), &task->error);
    state->table = table;
    return STATUS_OK;
}

spate_state *spate_task_state(spate_task *task, const char *table)
{
    const struct program *program = task->program;
    for (uint32_t i = 0; i < program->spec.table_count; i++) {
        if (strcmp(program->spec.tables[i].name, table) == 0) {
            return open_state(task, i) == STATUS_OK ? &task->states[i] : NULL;
        }
    }
    (void)!error_set(&task->error, ERROR_MISUSE, "task '%s' has no state table '%s'", program->spec.name, table);
    return NULL;
}

static int state_answer(const spate_state *state, enum status status)
{
    if (status != STATUS_OK) {
        error_add_context(&state->task->error, "in state table '%s'", state->name);
    }
    return answer(state->task, status);
}

int spate_state_get(spate_state *state, const spate_cell *key, spate_cell *values, bool *found)
{
    uint32_t slot;
    enum status status = program_table_find(state->table, key, &slot, &state->task->error);
    *found = status == STATUS_OK && slot != SLOT_NONE;
    if (*found && values != NULL) {
        program_table_values(state->table, slot, values);
    }
    return state_answer(state, status);
}

/* While rows are listed their slots stay as they are. */
static enum status check_listing(spate_state *state, const spate_cell *key)
{
    uint32_t slot;
    if (!state->listing) {
        return STATUS_OK;
    }
    TRY(program_table_find(state->table, key, &slot, &state->task->error));
    return slot != SLOT_NONE ? STATUS_OK
                             : error_set(&state->task->error, ERROR_MISUSE, "a key is added while the rows of the table are listed");
}

int spate_state_put(spate_state *state, const spate_cell *key, const spate_cell *values)
{
    uint32_t slot;
    enum status status = check_listing(state, key);
    if (status == STATUS_OK) {
        status = program_table_put(state->table, key, values, &slot, &state->task->error);
    }
    return state_answer(state, status);
}

int spate_state_remove(spate_state *state, const spate_cell *key)
{
    uint32_t slot;
    enum status status = program_table_find(state->table, key, &slot, &state->task->error);
    if (status == STATUS_OK && slot != SLOT_NONE) {
        status = program_table_remove(state->table, slot, &state->task->error);
    }
    return state_answer(state, status);
}

uint64_t spate_state_count(const spate_state *state)
{
    return key_table_count(state->table->table);
}

static enum status list_one(spate_state *state, uint32_t slot, spate_state_function row, void *context, int *code)
{
    struct program_table *table = state->table;
    enum status status = program_table_key(table, slot, state->columns, state->key, &state->task->error);
    if (status == STATUS_OK) {
        program_table_values(table, slot, state->values);
        *code = row(context, state->key, state->values);
    }
    program_table_release_key(table, state->columns);
    return status;
}

int spate_state_each(spate_state *state, spate_state_function row, void *context)
{
    const struct key_table *keys = state->table->table;
    enum status status = STATUS_OK;
    int code = 0;
    if (state->listing) {
        return state_answer(state, error_set(&state->task->error, ERROR_MISUSE, "the rows of the table are being listed"));
    }
    state->listing = true;
    for (uint32_t slot = 0; slot < key_table_slots(keys) && status == STATUS_OK && code == 0; slot++) {
        if (key_table_has(keys, slot)) {
            status = list_one(state, slot, row, context, &code);
        }
    }
    state->listing = false;
    return status == STATUS_OK ? code : state_answer(state, status);
}
