#include <stdlib.h>

#include "formats/format.h"

static enum status create_projected(struct budget *budget, const struct type *type, const struct projection *projection, uint32_t rows,
                                    struct vector *vector, struct error *err)
{
    if (projection != NULL && !projection->used) {
        *vector = (struct vector){.type = type, .physical = PHYSICAL_NULL, .count = rows};
        return STATUS_OK;
    }
    if (projection == NULL || projection->whole || type->kind != TYPE_ROW || projection->child_count == 0) {
        return vector_create(budget, type, rows, vector, err);
    }
    *vector = (struct vector){.type = type, .physical = PHYSICAL_ROW, .count = rows};
    vector->children = calloc(type->child_count, sizeof *vector->children);
    if (vector->children == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "the system has no memory for a column of %u fields", type->child_count);
    }
    vector->child_count = type->child_count;
    for (uint32_t i = 0; i < type->child_count; i++) {
        enum status status = create_projected(budget, type->children[i], &projection->children[i], rows, &vector->children[i], err);
        if (status != STATUS_OK) {
            vector_release(vector);
            return status;
        }
    }
    return STATUS_OK;
}

enum status decode_target_open(struct decode_target *target, const struct format_context *context, uint32_t row_limit, struct batch *batch,
                               struct error *err)
{
    const struct type *row = context->row;
    TRY(batch_init(batch, row->child_count, err));
    for (uint32_t i = 0; i < row->child_count; i++) {
        const struct projection *projection = context->projections == NULL ? NULL : &context->projections[i];
        enum status status = create_projected(context->budget, row->children[i], projection, row_limit, &batch->columns[i], err);
        if (status != STATUS_OK) {
            batch_release(batch);
            return status;
        }
    }
    batch->count = 0;
    target->budget = context->budget;
    target->batch = batch;
    target->row_limit = row_limit;
    return STATUS_OK;
}
