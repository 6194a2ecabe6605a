/* Constant expressions, evaluated by the kernels that would run. */
#include "functions/program_internal.h"

/* Rows first..first+count-1 of a vector, with all they point to, in the arena. */
static enum status copy_to_arena(struct arena *arena, const struct vector *source, uint32_t first, uint32_t count, struct vector *copy,
                                 struct error *err)
{
    *copy = (struct vector){.type = source->type, .physical = source->physical, .count = count, .child_count = source->child_count};
    size_t width = physical_bytes(source->physical);
    if (width > 0) {
        TRY_ALLOC(copy->values, arena_alloc(arena, (count + 1) * width), err);
        if (count > 0) {
            memcpy(copy->values, (const uint8_t *)source->values + first * width, count * width);
        }
    }
    if (source->validity != NULL) {
        TRY_ALLOC(copy->validity, arena_alloc(arena, (size_t)(count / 64 + 1) * sizeof *copy->validity), err);
        for (uint32_t i = 0; i < count; i++) {
            copy->validity[i / 64] |= (uint64_t)vector_is_valid(source, first + i) << (i % 64);
        }
    }
    for (uint32_t i = 0; source->physical == PHYSICAL_STRING && i < count; i++) {
        struct string_view *view = &vector_strings(copy)[i];
        if (vector_is_valid(copy, i) && view->length > STRING_INLINE_BYTES) {
            TRY_ALLOC(view->bytes, arena_text(arena, view->bytes, view->length), err);
        }
    }
    if (source->child_count == 0) {
        return STATUS_OK;
    }
    TRY_ALLOC(copy->children, arena_alloc(arena, source->child_count * sizeof *copy->children), err);
    for (uint32_t i = 0; i < source->child_count; i++) {
        /* Spans keep their offsets: the whole children come along. */
        bool row = source->physical == PHYSICAL_ROW;
        TRY(copy_to_arena(arena, &source->children[i], row ? first : 0, row ? count : source->children[i].count, &copy->children[i], err));
    }
    return STATUS_OK;
}

static enum status evaluate(struct arena *arena, struct program *program, const struct type *type, const struct vector **constant,
                            struct row_failures *failures, struct error *err)
{
    struct batch batch = {.count = 1};
    TRY(program_run(program, &batch, failures, err));
    if (failures->count > 0) {
        return STATUS_OK;
    }
    struct vector *copy;
    TRY_ALLOC(copy, arena_alloc(arena, sizeof *copy), err);
    TRY(copy_to_arena(arena, program_result(program, 0), 0, 1, copy, err));
    copy->type = type;
    *constant = copy;
    return STATUS_OK;
}

static enum status evaluate_constant(struct arena *arena, const struct evaluation *evaluation, const struct expression *expression,
                                     const struct vector **constant, struct row_failures *failures, struct error *err)
{
    struct arena *scratch;
    TRY_ALLOC(scratch, arena_create(evaluation->budget, "constant"), err);
    struct program *program = NULL;
    enum status status = program_create_sized(scratch, evaluation, &expression, 1, 1, &program, err);
    if (status == STATUS_OK) {
        status = evaluate(arena, program, expression->type, constant, failures, err);
        program_destroy(program);
    }
    arena_destroy(scratch);
    return status;
}

enum status program_evaluate_constant(struct arena *arena, const struct evaluation *evaluation, const struct expression *expression,
                                      const struct vector **constant, struct error *err)
{
    struct row_failures failures;
    if (expression->kind == EXPRESSION_CONSTANT) {
        *constant = expression->constant;
        return STATUS_OK;
    }
    TRY(evaluate_constant(arena, evaluation, expression, constant, &failures, err));
    if (failures.count > 0) {
        *err = failures.first;
        return err->status;
    }
    return STATUS_OK;
}

static enum status fold_args(struct arena *arena, const struct evaluation *evaluation, const struct expression *expression,
                             const struct expression **folded, struct error *err)
{
    const struct expression **args;
    bool changed = false;
    TRY_ALLOC(args, arena_alloc(arena, expression->arg_count * sizeof *args), err);
    for (uint32_t i = 0; i < expression->arg_count; i++) {
        TRY(program_fold(arena, evaluation, expression->args[i], &args[i], err));
        changed |= args[i] != expression->args[i];
    }
    if (changed) {
        struct expression copy = *expression;
        copy.args = args;
        TRY_ALLOC(*folded, arena_copy(arena, &copy, sizeof copy), err);
    }
    return STATUS_OK;
}

enum status program_fold(struct arena *arena, const struct evaluation *evaluation, const struct expression *expression,
                         const struct expression **folded, struct error *err)
{
    *folded = expression;
    if (expression->arg_count == 0 && expression->kind != EXPRESSION_CALL) {
        return STATUS_OK;
    }
    if (expression_is_constant(expression)) {
        struct row_failures failures;
        const struct vector *constant;
        TRY(evaluate_constant(arena, evaluation, expression, &constant, &failures, err));
        if (failures.count == 0) {
            TRY_ALLOC(*folded, expression_constant(arena, constant), err);
            return STATUS_OK;
        }
    }
    return expression->arg_count == 0 ? STATUS_OK : fold_args(arena, evaluation, expression, folded, err);
}
