/* Running the steps over one chunk. */
#include "functions/program_internal.h"

#include "data/vector_append.h"

struct run {
    struct program *program;
    const struct batch *batch;
    struct row_failures *failures;
    struct error *err;
};

static struct vector *step_result(struct run *run, const struct program_step *step)
{
    struct program_register *result = &run->program->registers[step->result];
    result->view = &result->vector;
    return &result->vector;
}

static const struct vector *step_arg(const struct run *run, const struct program_step *step, uint32_t index)
{
    return run->program->registers[step->args[index]].view;
}

static enum status create_result(struct run *run, const struct program_step *step, struct vector **result)
{
    const struct type *type = run->program->registers[step->result].type;
    *result = step_result(run, step);
    vector_release(*result);
    TRY(vector_create(run->program->evaluation->budget, type, run->batch->count, *result, run->err));
    vector_clear(*result);
    return STATUS_OK;
}

/* Every row NULL; values of fixed width stay unset. */
static enum status set_all_null(struct run *run, struct vector *result)
{
    if (result->physical == PHYSICAL_NULL) {
        return STATUS_OK;
    }
    TRY(vector_need_validity(run->program->evaluation->budget, result, result->count, run->err));
    memset(result->validity, 0, (size_t)(result->count + 63) / 64 * sizeof(uint64_t));
    return STATUS_OK;
}

/* AND of the arguments' validity. One argument with NULLs lends its bitmap; several make a new one. */
static enum status and_validity(struct run *run, const struct program_step *step, struct vector *result, bool *all_null)
{
    for (uint32_t i = 0; i < step->arg_count && !*all_null; i++) {
        const struct vector *arg = step->views[i];
        bool one_row = (step->constant_args >> i & 1) != 0;
        *all_null = arg->physical == PHYSICAL_NULL || (one_row && !vector_is_valid(arg, 0));
        if (*all_null || one_row || arg->validity == NULL) {
            continue;
        }
        if (result->validity == NULL) {
            result->validity = arg->validity;
            result->validity_buffer = buffer_ref(arg->validity_buffer);
        } else if (result->validity != arg->validity) {
            TRY(vector_need_validity(run->program->evaluation->budget, result, result->count, run->err));
            for (uint32_t word = 0; word < (result->count + 63) / 64; word++) {
                result->validity[word] &= arg->validity[word];
            }
        }
    }
    return STATUS_OK;
}

/* A dense run over everything beats a selection unless few rows are selected. */
static struct selection rows_for_total(const struct run *run, struct selection rows)
{
    bool dense = rows.rows == NULL || rows.count * 4 >= run->batch->count;
    return dense ? (struct selection){NULL, run->batch->count} : rows;
}

static struct selection rows_without_nulls(struct run *run, const uint64_t *validity, struct selection rows)
{
    if (rows_all_valid(validity, rows)) {
        return rows;
    }
    uint16_t *valid = run->program->valid_rows;
    return (struct selection){valid, rows_valid(validity, rows, valid)};
}

/* Resolves the arguments of a kernel. */
static void bind_args(struct run *run, const struct program_step *step)
{
    for (uint32_t i = 0; i < step->arg_count; i++) {
        const struct program_register *arg = &run->program->registers[step->args[i]];
        step->views[i] = (step->constant_args >> i & 1) != 0 ? arg->constant : arg->view;
    }
}

static enum status run_kernel(struct run *run, struct program_step *step, struct vector *result, struct selection rows)
{
    struct error failure = {.status = STATUS_OK};
    struct program_failures failures = {run->failures, &failure, step->expression};
    struct string_heap heap = {.budget = run->program->evaluation->budget, .target = result};
    struct kernel_call call = {.args = step->views,
                               .arg_count = step->arg_count,
                               .constant_args = step->constant_args,
                               .rows = rows,
                               .result = result,
                               .data = step->kernel->data,
                               .scratch = &step->scratch,
                               .evaluation = run->program->evaluation,
                               .heap = &heap,
                               .watermarks = run->batch->watermarks,
                               .failures = &failures};
    step->kernel->run(&call);
    if (failure.status != STATUS_OK) {
        *run->err = failure;
    }
    return failure.status;
}

/* NULLs that a kernel might have set but did not: without a bitmap what follows is faster. */
static void drop_full_validity(struct vector *result, struct selection rows)
{
    if (result->validity != NULL && rows_all_valid(result->validity, rows)) {
        buffer_unref(result->validity_buffer);
        result->validity = NULL;
        result->validity_buffer = NULL;
    }
}

static enum status run_call(struct run *run, struct program_step *step, struct selection rows)
{
    uint32_t traits = step->kernel->traits;
    struct vector *result;
    struct selection wanted = rows;
    bool all_null = false;
    TRY(create_result(run, step, &result));
    bind_args(run, step);
    if ((traits & FUNCTION_STRICT) != 0) {
        TRY(and_validity(run, step, result, &all_null));
        if (all_null) {
            return set_all_null(run, result);
        }
    }
    if ((traits & FUNCTION_TOTAL) != 0) {
        rows = rows_for_total(run, rows);
    } else if ((traits & FUNCTION_STRICT) != 0) {
        rows = rows_without_nulls(run, result->validity, rows);
    }
    bool may_set_null = (traits & FUNCTION_STRICT) == 0 || (traits & FUNCTION_NULLABLE) != 0;
    if (may_set_null) {
        TRY(vector_need_validity(run->program->evaluation->budget, result, result->count, run->err));
    }
    TRY(run_kernel(run, step, result, rows));
    if (may_set_null) {
        drop_full_validity(result, wanted);
    }
    return STATUS_OK;
}

static void cast_failed(void *owner, uint32_t row, enum error_code code, const char *text)
{
    row_failures_add(owner, row, code, text);
}

static enum status run_cast(struct run *run, struct program_step *step, struct selection rows)
{
    const struct evaluation *evaluation = run->program->evaluation;
    struct program_failures failures = {run->failures, run->err, step->expression};
    struct cast_context context = {
        .budget = evaluation->budget, .zone = evaluation->zone, .fail = cast_failed, .owner = &failures, .legacy = evaluation->legacy_cast};
    struct vector *result = step_result(run, step);
    vector_release(result);
    return cast_run(step->cast, &context, step_arg(run, step, 0), rows, result, run->err);
}

static enum status run_retype(struct run *run, struct program_step *step)
{
    struct vector *result = step_result(run, step);
    vector_release(result);
    TRY(vector_ref(step_arg(run, step, 0), result, run->err));
    result->type = step->expression->type;
    return STATUS_OK;
}

/* The child itself; where rows are NULL, their fields are too. */
static enum status run_field(struct run *run, struct program_step *step)
{
    const struct vector *row = step_arg(run, step, 0);
    struct vector *result = step_result(run, step);
    vector_release(result);
    if (row->physical == PHYSICAL_NULL) {
        *result = (struct vector){.type = step->expression->type, .physical = PHYSICAL_NULL, .count = row->count};
        return STATUS_OK;
    }
    TRY(vector_ref(&row->children[step->expression->index], result, run->err));
    if (row->validity == NULL || result->physical == PHYSICAL_NULL) {
        return STATUS_OK;
    }
    TRY(vector_need_validity(run->program->evaluation->budget, result, result->count, run->err));
    for (uint32_t word = 0; word < (result->count + 63) / 64; word++) {
        result->validity[word] &= row->validity[word];
    }
    return STATUS_OK;
}

static enum status run_copy(struct run *run, struct program_step *step, struct selection rows)
{
    const struct program_register *from = &run->program->registers[step->args[0]];
    bool one_row = from->constant != NULL;
    return vector_copy_rows(run->program->evaluation->budget, step_result(run, step), one_row ? from->constant : from->view, one_row, rows,
                            run->err);
}

/* A slot that keeps all rows of its parent is the parent's selection, dense if that is. */
static void set_slot(struct run *run, uint32_t index, struct selection parent, uint32_t count)
{
    struct program_slot *slot = &run->program->slots[index];
    slot->now = count == parent.count ? parent : (struct selection){slot->rows, count};
}

static void run_split(struct run *run, struct program_step *step, struct selection rows)
{
    const struct vector *arg = step_arg(run, step, 0);
    struct program_slot *slots = run->program->slots;
    uint16_t *kept = slots[step->kept].rows;
    uint16_t *rest = step->rest == SLOT_NONE ? NULL : slots[step->rest].rows;
    uint32_t count = step->kind == STEP_SPLIT       ? rows_split(arg, rows, kept, rest)
                     : step->kind == STEP_UNDECIDED ? rows_undecided(arg, step->is_or, rows, kept)
                                                    : rows_null(arg, rows, kept);
    set_slot(run, step->kept, rows, count);
    if (rest != NULL) {
        set_slot(run, step->rest, rows, rows.count - count);
    }
}

static enum status run_select(struct run *run, struct program_step *step, struct selection rows)
{
    uint16_t *kept = run->program->slots[step->kept].rows;
    struct selection wanted = rows;
    struct program_failures failures = {run->failures, run->err, step->expression};
    bind_args(run, step);
    for (uint32_t i = 0; i < step->arg_count; i++) {
        const struct vector *arg = step->views[i];
        bool one_row = (step->constant_args >> i & 1) != 0;
        if (arg->physical == PHYSICAL_NULL || (one_row && !vector_is_valid(arg, 0))) {
            rows = (struct selection){kept, 0};
        } else if (!one_row && arg->validity != NULL && !rows_all_valid(arg->validity, rows)) {
            rows = (struct selection){kept, rows_valid(arg->validity, rows, kept)};
        }
    }
    struct kernel_call call = {.args = step->views,
                               .arg_count = step->arg_count,
                               .constant_args = step->constant_args,
                               .rows = rows,
                               .data = step->kernel->data,
                               .scratch = &step->scratch,
                               .evaluation = run->program->evaluation,
                               .watermarks = run->batch->watermarks,
                               .failures = &failures};
    set_slot(run, step->kept, wanted, rows.count == 0 ? 0 : step->kernel->select(&call, kept));
    return STATUS_OK;
}

static enum status run_combine(struct run *run, struct program_step *step, struct selection rows)
{
    struct budget *budget = run->program->evaluation->budget;
    if (step->kind == STEP_MERGE) {
        struct vector *result = step_result(run, step);
        return rows_combine(budget, result, step_arg(run, step, 0), step->is_or, rows, result, run->err);
    }
    struct vector *result;
    TRY(create_result(run, step, &result));
    return rows_combine(budget, step_arg(run, step, 0), step_arg(run, step, 1), step->is_or, rows_for_total(run, rows), result, run->err);
}

/* A step without rows is skipped; what it would split is empty too. */
static void skip_step(struct run *run, const struct program_step *step, struct selection none)
{
    if (step->kind >= STEP_SPLIT) {
        run->program->slots[step->kept].now = none;
        if (step->rest != SLOT_NONE) {
            run->program->slots[step->rest].now = none;
        }
    }
}

static enum status run_step(struct run *run, struct program_step *step)
{
    struct selection rows = run->program->slots[step->slot].now;
    struct vector *created;
    if (rows.count == 0 && step->slot != 0) {
        skip_step(run, step, (struct selection){run->program->slots[step->slot].rows, 0});
        return STATUS_OK;
    }
    switch (step->kind) {
    case STEP_SPLIT:
    case STEP_UNDECIDED:
    case STEP_NULLS:
        run_split(run, step, rows);
        return STATUS_OK;
    case STEP_SELECT:
        return run_select(run, step, rows);
    case STEP_CALL:
        return run_call(run, step, rows);
    case STEP_CAST:
        return run_cast(run, step, rows);
    case STEP_RETYPE:
        return run_retype(run, step);
    case STEP_FIELD:
        return run_field(run, step);
    case STEP_BEGIN:
        return create_result(run, step, &created);
    case STEP_COPY:
        return run_copy(run, step, rows);
    default:
        return run_combine(run, step, rows);
    }
}

static enum status run_steps(struct run *run, struct program_code *code)
{
    struct program *program = run->program;
    run->failures->count = 0;
    program->slots[0].now = batch_selection(run->batch);
    for (uint32_t i = 0; i < program->register_count; i++) {
        struct program_register *input = &program->registers[i];
        if (input->column != UINT32_MAX) {
            input->view = &run->batch->columns[input->column];
        }
    }
    for (uint32_t i = 0; i < code->step_count; i++) {
        TRY(run_step(run, &code->steps[i]));
    }
    return STATUS_OK;
}

/* Columns and constants that are results are given out as references of this chunk's size. */
static enum status settle_outputs(struct run *run)
{
    struct program *program = run->program;
    for (uint32_t i = 0; i < program->output_count; i++) {
        struct program_register *output = &program->registers[program->outputs[i]];
        if (output->column != UINT32_MAX) {
            vector_release(&output->vector);
            TRY(vector_ref(&run->batch->columns[output->column], &output->vector, run->err));
            output->view = &output->vector;
        } else if (output->constant != NULL) {
            output->vector.count = run->batch->count;
        }
    }
    return STATUS_OK;
}

enum status program_run(struct program *program, const struct batch *batch, struct row_failures *failures, struct error *err)
{
    struct run run = {program, batch, failures, err};
    if (!program->has_code) {
        TRY(program_compile_values(program, err));
    }
    TRY(run_steps(&run, &program->code));
    return settle_outputs(&run);
}

const struct vector *program_result(const struct program *program, uint32_t index)
{
    return program->registers[program->outputs[index]].view;
}

enum status program_filter(struct program *program, const struct batch *batch, uint16_t *kept, uint32_t *kept_count,
                           struct row_failures *failures, struct error *err)
{
    struct run run = {program, batch, failures, err};
    if (!program->has_filter) {
        TRY(program_compile_filter(program, err));
    }
    TRY(run_steps(&run, &program->filter));
    struct selection rows = program->slots[program->filter_slot].now;
    uint32_t count = 0;
    for (uint32_t i = 0; i < rows.count; i++) {
        uint32_t row = selection_row(&rows, i);
        kept[count] = (uint16_t)row;
        count += failures->count == 0 || !row_failures_has(failures, row);
    }
    *kept_count = count;
    return STATUS_OK;
}

static void code_destroy(struct program_code *code)
{
    for (uint32_t i = 0; i < code->step_count; i++) {
        struct program_step *step = &code->steps[i];
        if (step->kernel != NULL && step->kernel->free_scratch != NULL && step->scratch != NULL) {
            step->kernel->free_scratch(step->scratch);
        }
        step->scratch = NULL;
    }
}

void program_destroy(struct program *program)
{
    if (program == NULL) {
        return;
    }
    code_destroy(&program->code);
    code_destroy(&program->filter);
    for (uint32_t i = 0; i < program->register_count; i++) {
        vector_release(&program->registers[i].vector);
    }
}
