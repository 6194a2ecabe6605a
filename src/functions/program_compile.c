/* From expressions to steps. Depth first; what is known under the slot or one of its parents is not computed again.
 *
 * CASE      begin result; for each condition: split its slot; the value, under `kept`, is copied; the rest goes on.
 * AND, OR   the first argument is copied; then for each next: narrow to the undecided rows, evaluate, merge. When the next
 *           one is cheap and harmless (TOTAL kernels only) both sides run over all rows and are combined: no selection.
 * COALESCE  the first argument is copied; then for each next: narrow to the NULLs, evaluate, copy.
 */
#include <string.h>

#include "functions/program_internal.h"

struct compiler {
    struct program *program;
    struct program_code *code;
    struct error *err;
};

static enum status compile(struct compiler *compiler, const struct expression *expression, uint32_t slot, uint32_t *result);

static enum status add_register(struct program *program, const struct type *type, uint32_t *index, struct error *err)
{
    struct program_register *grown;
    TRY_ALLOC(grown,
              arena_grow(program->arena, program->registers, &program->register_capacity, program->register_count + 1, sizeof *grown), err);
    program->registers = grown;
    *index = program->register_count++;
    program->registers[*index] = (struct program_register){.type = type, .column = UINT32_MAX};
    return STATUS_OK;
}

static enum status add_slot(struct program *program, uint32_t parent, uint32_t *index, struct error *err)
{
    struct program_slot *grown;
    TRY_ALLOC(grown, arena_grow(program->arena, program->slots, &program->slot_capacity, program->slot_count + 1, sizeof *grown), err);
    program->slots = grown;
    uint16_t *rows;
    TRY_ALLOC(rows, arena_alloc(program->arena, program->row_capacity * sizeof *rows), err);
    *index = program->slot_count++;
    program->slots[*index] = (struct program_slot){.parent = parent, .rows = rows};
    return STATUS_OK;
}

/* The step is filled by the caller; its arguments are copied here. */
static enum status add_step(struct compiler *compiler, struct program_step step, const uint32_t *args, uint32_t arg_count)
{
    struct program_code *code = compiler->code;
    struct arena *arena = compiler->program->arena;
    struct program_step *grown;
    TRY_ALLOC(grown, arena_grow(arena, code->steps, &code->step_capacity, code->step_count + 1, sizeof *grown), compiler->err);
    code->steps = grown;
    if (arg_count > 0) {
        TRY_ALLOC(step.args, arena_copy(arena, args, arg_count * sizeof *args), compiler->err);
        TRY_ALLOC(step.views, arena_alloc(arena, arg_count * sizeof *step.views), compiler->err);
    }
    step.arg_count = arg_count;
    code->steps[code->step_count++] = step;
    return STATUS_OK;
}

static bool slot_covers(const struct program *program, uint32_t outer, uint32_t inner)
{
    while (inner != outer && inner != SLOT_NONE) {
        inner = program->slots[inner].parent;
    }
    return inner == outer;
}

static bool find_known(const struct program *program, const struct expression *expression, uint64_t hash, uint32_t slot, uint32_t *result)
{
    for (uint32_t at = program->known_chains[hash % KNOWN_CHAINS]; at != 0; at = program->known[at - 1].next) {
        const struct program_known *known = &program->known[at - 1];
        if (known->hash == hash && slot_covers(program, known->slot, slot) && expression_equal(known->expression, expression)) {
            *result = known->result;
            return true;
        }
    }
    return false;
}

static enum status remember(struct program *program, const struct expression *expression, uint64_t hash, uint32_t slot, uint32_t result,
                            struct error *err)
{
    struct program_known *grown;
    TRY_ALLOC(grown, arena_grow(program->arena, program->known, &program->known_capacity, program->known_count + 1, sizeof *grown), err);
    program->known = grown;
    uint32_t *chain = &program->known_chains[hash % KNOWN_CHAINS];
    program->known[program->known_count++] = (struct program_known){expression, hash, slot, result, *chain};
    *chain = program->known_count;
    return STATUS_OK;
}

static void forget_known(struct program *program)
{
    program->known_count = 0;
    memset(program->known_chains, 0, sizeof program->known_chains);
}

static bool is_constant_register(const struct program *program, uint32_t index)
{
    return program->registers[index].constant != NULL;
}

/* A kernel that does not know one-row arguments, or a step that is no kernel, reads a constant as a full column. */
static enum status need_full(struct program *program, uint32_t index, struct error *err)
{
    struct program_register *constant = &program->registers[index];
    if (constant->constant == NULL || constant->view != NULL) {
        return STATUS_OK;
    }
    TRY(vector_repeat(program->evaluation->budget, constant->constant, 0, program->row_capacity, &constant->vector, err));
    constant->view = &constant->vector;
    return STATUS_OK;
}

static enum status compile_args(struct compiler *compiler, const struct expression *expression, uint32_t slot, uint32_t **args)
{
    TRY_ALLOC(*args, arena_alloc(compiler->program->arena, (expression->arg_count + 1) * sizeof **args), compiler->err);
    for (uint32_t i = 0; i < expression->arg_count; i++) {
        TRY(compile(compiler, expression->args[i], slot, &(*args)[i]));
    }
    return STATUS_OK;
}

static enum status settle_constants(struct compiler *compiler, const struct expression *call, const uint32_t *args, uint64_t *one_row)
{
    struct program *program = compiler->program;
    bool takes = (call->kernel->traits & FUNCTION_CONSTANT_ARGS) != 0 && call->arg_count <= 64;
    bool all = true;
    for (uint32_t i = 0; i < call->arg_count; i++) {
        all &= is_constant_register(program, args[i]);
    }
    *one_row = 0;
    for (uint32_t i = 0; i < call->arg_count; i++) {
        if (takes && !all && is_constant_register(program, args[i])) {
            *one_row |= (uint64_t)1 << i;
        } else {
            TRY(need_full(program, args[i], compiler->err));
        }
    }
    return STATUS_OK;
}

static enum status compile_call(struct compiler *compiler, const struct expression *expression, uint32_t slot, uint32_t *result)
{
    uint32_t *args;
    struct program_step step = {.kind = STEP_CALL, .slot = slot, .expression = expression, .kernel = expression->kernel};
    const char *same_again = compiler->program->evaluation->same_again;
    if (same_again != NULL && (expression->kernel->traits & FUNCTION_CHANCE) != 0) {
        return error_set(compiler->err, ERROR_NOT_SUPPORTED, "'high-availability.policy' = '%s': %s gives another value each time",
                         same_again, expression->function->name);
    }
    TRY(compile_args(compiler, expression, slot, &args));
    TRY(settle_constants(compiler, expression, args, &step.constant_args));
    TRY(add_register(compiler->program, expression->type, result, compiler->err));
    step.result = *result;
    return add_step(compiler, step, args, expression->arg_count);
}

static enum status compile_unary(struct compiler *compiler, struct program_step step, uint32_t *result)
{
    uint32_t arg;
    TRY(compile(compiler, step.expression->args[0], step.slot, &arg));
    TRY(need_full(compiler->program, arg, compiler->err));
    TRY(add_register(compiler->program, step.expression->type, result, compiler->err));
    step.result = *result;
    return add_step(compiler, step, &arg, 1);
}

static enum status compile_cast(struct compiler *compiler, const struct expression *expression, uint32_t slot, uint32_t *result)
{
    struct program_step step = {.kind = STEP_CAST, .slot = slot, .expression = expression};
    const struct type *from = expression->args[0]->type;
    if (type_fits_unchanged(from, expression->type) && type_physical(from) == type_physical(expression->type)) {
        step.kind = STEP_RETYPE;
    } else {
        TRY(cast_create(compiler->program->arena, from, expression->type, expression->try_cast, &step.cast, compiler->err));
    }
    return compile_unary(compiler, step, result);
}

static enum status compile_copy(struct compiler *compiler, const struct expression *expression, uint32_t slot, uint32_t result)
{
    uint32_t value;
    TRY(compile(compiler, expression, slot, &value));
    return add_step(compiler, (struct program_step){.kind = STEP_COPY, .slot = slot, .result = result}, &value, 1);
}

static enum status begin_result(struct compiler *compiler, const struct expression *expression, uint32_t slot, uint32_t *result)
{
    TRY(add_register(compiler->program, expression->type, result, compiler->err));
    return add_step(compiler, (struct program_step){.kind = STEP_BEGIN, .slot = slot, .result = *result}, NULL, 0);
}

static enum status compile_case(struct compiler *compiler, const struct expression *expression, uint32_t slot, uint32_t *result)
{
    TRY(begin_result(compiler, expression, slot, result));
    uint32_t rest = slot;
    for (uint32_t i = 0; i + 1 < expression->arg_count; i += 2) {
        struct program_step split = {.kind = STEP_SPLIT, .slot = rest};
        uint32_t condition;
        TRY(compile(compiler, expression->args[i], rest, &condition));
        TRY(need_full(compiler->program, condition, compiler->err));
        TRY(add_slot(compiler->program, rest, &split.kept, compiler->err));
        TRY(add_slot(compiler->program, rest, &split.rest, compiler->err));
        TRY(add_step(compiler, split, &condition, 1));
        TRY(compile_copy(compiler, expression->args[i + 1], split.kept, *result));
        rest = split.rest;
    }
    return compile_copy(compiler, expression->args[expression->arg_count - 1], rest, *result);
}

static enum status compile_coalesce(struct compiler *compiler, const struct expression *expression, uint32_t slot, uint32_t *result)
{
    TRY(begin_result(compiler, expression, slot, result));
    TRY(compile_copy(compiler, expression->args[0], slot, *result));
    for (uint32_t i = 1; i < expression->arg_count; i++) {
        struct program_step split = {.kind = STEP_NULLS, .slot = slot, .rest = SLOT_NONE};
        TRY(add_slot(compiler->program, slot, &split.kept, compiler->err));
        TRY(add_step(compiler, split, result, 1));
        TRY(compile_copy(compiler, expression->args[i], split.kept, *result));
        slot = split.kept;
    }
    return STATUS_OK;
}

enum { CHEAP_NODES = 12 };

/* Only kernels that may run over any row, and few of them. */
static bool is_cheap(const struct expression *expression, uint32_t *nodes)
{
    if (++*nodes > CHEAP_NODES) {
        return false;
    }
    if (expression->kind == EXPRESSION_CALL) {
        if ((expression->kernel->traits & FUNCTION_TOTAL) == 0) {
            return false;
        }
    } else if (expression->kind != EXPRESSION_COLUMN && expression->kind != EXPRESSION_CONSTANT && expression->kind != EXPRESSION_AND &&
               expression->kind != EXPRESSION_OR) {
        return false;
    }
    for (uint32_t i = 0; i < expression->arg_count; i++) {
        if (!is_cheap(expression->args[i], nodes)) {
            return false;
        }
    }
    return true;
}

static enum status compile_combine(struct compiler *compiler, const struct expression *expression, uint32_t next_index, uint32_t slot,
                                   uint32_t *result)
{
    uint32_t pair[2] = {*result};
    TRY(compile(compiler, expression->args[next_index], slot, &pair[1]));
    TRY(need_full(compiler->program, pair[0], compiler->err));
    TRY(need_full(compiler->program, pair[1], compiler->err));
    TRY(add_register(compiler->program, expression->type, result, compiler->err));
    struct program_step step = {.kind = STEP_COMBINE, .slot = slot, .result = *result, .is_or = expression->kind == EXPRESSION_OR};
    return add_step(compiler, step, pair, 2);
}

static enum status compile_undecided(struct compiler *compiler, const struct expression *expression, uint32_t first, uint32_t slot,
                                     uint32_t *result)
{
    bool is_or = expression->kind == EXPRESSION_OR;
    uint32_t left = *result;
    TRY(need_full(compiler->program, left, compiler->err));
    TRY(begin_result(compiler, expression, slot, result));
    TRY(add_step(compiler, (struct program_step){.kind = STEP_COPY, .slot = slot, .result = *result}, &left, 1));
    for (uint32_t i = first; i < expression->arg_count; i++) {
        struct program_step split = {.kind = STEP_UNDECIDED, .slot = slot, .rest = SLOT_NONE, .is_or = is_or};
        TRY(add_slot(compiler->program, slot, &split.kept, compiler->err));
        TRY(add_step(compiler, split, result, 1));
        slot = split.kept;
        uint32_t next;
        TRY(compile(compiler, expression->args[i], slot, &next));
        TRY(need_full(compiler->program, next, compiler->err));
        TRY(add_step(compiler, (struct program_step){.kind = STEP_MERGE, .slot = slot, .result = *result, .is_or = is_or}, &next, 1));
    }
    return STATUS_OK;
}

static enum status compile_junction(struct compiler *compiler, const struct expression *expression, uint32_t slot, uint32_t *result)
{
    uint32_t i = 1;
    TRY(compile(compiler, expression->args[0], slot, result));
    for (uint32_t nodes = 0; i < expression->arg_count && is_cheap(expression->args[i], &nodes); nodes = 0) {
        TRY(compile_combine(compiler, expression, i, slot, result));
        i++;
    }
    return i < expression->arg_count ? compile_undecided(compiler, expression, i, slot, result) : STATUS_OK;
}

static enum status compile_column(struct compiler *compiler, const struct expression *expression, uint32_t *result)
{
    TRY(add_register(compiler->program, expression->type, result, compiler->err));
    compiler->program->registers[*result].column = expression->index;
    return STATUS_OK;
}

static enum status compile_constant(struct compiler *compiler, const struct expression *expression, uint32_t *result)
{
    TRY(add_register(compiler->program, expression->type, result, compiler->err));
    compiler->program->registers[*result].constant = expression->constant;
    return STATUS_OK;
}

static enum status compile_node(struct compiler *compiler, const struct expression *expression, uint32_t slot, uint32_t *result)
{
    switch (expression->kind) {
    case EXPRESSION_COLUMN:
        return compile_column(compiler, expression, result);
    case EXPRESSION_CONSTANT:
        return compile_constant(compiler, expression, result);
    case EXPRESSION_CALL:
        return compile_call(compiler, expression, slot, result);
    case EXPRESSION_CAST:
        return compile_cast(compiler, expression, slot, result);
    case EXPRESSION_FIELD:
        return compile_unary(compiler, (struct program_step){.kind = STEP_FIELD, .slot = slot, .expression = expression}, result);
    case EXPRESSION_CASE:
        return compile_case(compiler, expression, slot, result);
    case EXPRESSION_AND:
    case EXPRESSION_OR:
        return compile_junction(compiler, expression, slot, result);
    case EXPRESSION_COALESCE:
        return compile_coalesce(compiler, expression, slot, result);
    default:
        return error_set_at(compiler->err, ERROR_NOT_SUPPORTED, expression->line, expression->column,
                            "a subquery or outer column is not supported at this place");
    }
}

static enum status compile(struct compiler *compiler, const struct expression *expression, uint32_t slot, uint32_t *result)
{
    struct program *program = compiler->program;
    bool anywhere = expression->kind == EXPRESSION_COLUMN || expression->kind == EXPRESSION_CONSTANT;
    uint32_t known_slot = anywhere ? 0 : slot;
    uint64_t hash = expression_hash(expression);
    if (find_known(program, expression, hash, known_slot, result)) {
        return STATUS_OK;
    }
    TRY(compile_node(compiler, expression, slot, result));
    return remember(program, expression, hash, known_slot, *result, compiler->err);
}

enum status program_compile_values(struct program *program, struct error *err)
{
    struct compiler compiler = {program, &program->code, err};
    forget_known(program);
    for (uint32_t i = 0; i < program->output_count; i++) {
        TRY(compile(&compiler, program->expressions[i], 0, &program->outputs[i]));
        TRY(need_full(program, program->outputs[i], err));
    }
    program->has_code = true;
    return STATUS_OK;
}

/* One condition of a filter: rows that are TRUE go on. NULL and FALSE are alike here. */
static enum status compile_condition(struct compiler *compiler, const struct expression *condition, uint32_t slot, uint32_t *kept)
{
    struct program *program = compiler->program;
    struct program_step step = {.kind = STEP_SPLIT, .slot = slot, .rest = SLOT_NONE, .expression = condition};
    uint32_t *args, arg_count = 1, value;
    if (condition->kind == EXPRESSION_CALL && condition->kernel->select != NULL) {
        step.kind = STEP_SELECT;
        step.kernel = condition->kernel;
        arg_count = condition->arg_count;
        TRY(compile_args(compiler, condition, slot, &args));
        TRY(settle_constants(compiler, condition, args, &step.constant_args));
    } else {
        TRY(compile(compiler, condition, slot, &value));
        TRY(need_full(program, value, compiler->err));
        args = &value;
    }
    TRY(add_slot(program, slot, &step.kept, compiler->err));
    *kept = step.kept;
    return add_step(compiler, step, args, arg_count);
}

static enum status compile_conditions(struct compiler *compiler, const struct expression *condition, uint32_t slot, uint32_t *kept)
{
    if (condition->kind != EXPRESSION_AND) {
        return compile_condition(compiler, condition, slot, kept);
    }
    *kept = slot;
    for (uint32_t i = 0; i < condition->arg_count; i++) {
        TRY(compile_conditions(compiler, condition->args[i], *kept, kept));
    }
    return STATUS_OK;
}

enum status program_compile_filter(struct program *program, struct error *err)
{
    struct compiler compiler = {program, &program->filter, err};
    forget_known(program);
    TRY(compile_conditions(&compiler, program->expressions[0], 0, &program->filter_slot));
    program->has_filter = true;
    return STATUS_OK;
}

enum status program_create_sized(struct arena *arena, const struct evaluation *evaluation, const struct expression *const *expressions,
                                 uint32_t count, uint32_t row_capacity, struct program **result, struct error *err)
{
    struct program *program;
    TRY_ALLOC(program, arena_alloc(arena, sizeof *program), err);
    *program = (struct program){.arena = arena, .evaluation = evaluation, .output_count = count, .row_capacity = row_capacity};
    TRY_ALLOC(program->expressions, arena_alloc(arena, (count + 1) * sizeof *program->expressions), err);
    TRY_ALLOC(program->outputs, arena_alloc(arena, (count + 1) * sizeof *program->outputs), err);
    TRY_ALLOC(program->valid_rows, arena_alloc(arena, row_capacity * sizeof *program->valid_rows), err);
    for (uint32_t i = 0; i < count; i++) {
        program->expressions[i] = expressions[i];
    }
    uint32_t slot;
    enum status status = add_slot(program, SLOT_NONE, &slot, err);
    bool condition = count == 1 && expressions[0]->type->kind == TYPE_BOOLEAN;
    if (status == STATUS_OK) {
        status = condition ? program_compile_filter(program, err) : program_compile_values(program, err);
    }
    if (status != STATUS_OK) {
        program_destroy(program);
        return status;
    }
    *result = program;
    return STATUS_OK;
}

enum status program_create(struct arena *arena, const struct evaluation *evaluation, const struct expression *const *expressions,
                           uint32_t count, struct program **program, struct error *err)
{
    return program_create_sized(arena, evaluation, expressions, count, CHUNK_ROWS, program, err);
}
