#include "circuit/operators/row_output.h"

#include <string.h>

uint32_t node_chunk_rows(const struct node *node)
{
    uint32_t rows = node->circuit->settings.chunk_rows;
    return rows == 0 || rows > CHUNK_ROWS ? CHUNK_ROWS : rows;
}

enum status schema_types(struct arena *arena, const struct schema *schema, const struct type *const **types, struct error *err)
{
    const struct type **list;
    TRY_ALLOC(list, arena_alloc(arena, (schema->count + 1) * sizeof *list), err);
    for (uint32_t i = 0; i < schema->count; i++) {
        list[i] = schema->columns[i].type;
    }
    *types = list;
    return STATUS_OK;
}

enum status row_output_create(struct node *node, struct row_store *store, const struct schema *schema, bool numbered,
                              struct row_output **output, struct error *err)
{
    struct row_output *created;
    TRY_ALLOC(created, arena_alloc(node_arena(node), sizeof *created), err);
    created->node = node;
    created->store = store;
    created->schema = schema;
    created->numbered = numbered;
    created->limit = node_chunk_rows(node);
    *output = created;
    return STATUS_OK;
}

static enum status row_output_fill(struct row_output *output, struct batch *batch, struct error *err)
{
    struct budget *budget = node_budget(output->node);
    uint32_t stored = output->schema->count - output->numbered;
    TRY(row_store_gather(output->store, output->rows, output->count, NULL, stored, batch->columns, err));
    if (output->numbered) {
        struct vector *number = &batch->columns[stored];
        TRY(vector_create(budget, output->schema->columns[stored].type, output->count, number, err));
        memcpy(vector_int64(number), output->numbers, output->count * sizeof(int64_t));
    }
    for (uint32_t i = 0; i < output->schema->count; i++) {
        batch->columns[i].type = output->schema->columns[i].type;
    }
    batch->count = output->count;
    if (output->weighted) {
        int64_t *weights;
        TRY(batch_need_weights(budget, batch, output->count, &weights, err));
        memcpy(weights, output->weights, output->count * sizeof(int64_t));
    }
    return STATUS_OK;
}

enum status row_output_flush(struct row_output *output, struct error *err)
{
    if (output->count == 0) {
        return STATUS_OK;
    }
    struct batch batch;
    TRY(batch_init(&batch, output->schema->count, err));
    enum status status = row_output_fill(output, &batch, err);
    output->count = 0;
    output->weighted = false;
    if (status == STATUS_OK) {
        status = node_emit(output->node, &batch, err);
    }
    batch_release(&batch);
    return status;
}

enum status row_output_add(struct row_output *output, row_handle row, int64_t weight, int64_t number, struct error *err)
{
    uint32_t at = output->count++;
    output->rows[at] = row;
    output->weights[at] = weight;
    output->numbers[at] = number;
    output->weighted = output->weighted || weight != 1;
    return output->count < output->limit ? STATUS_OK : row_output_flush(output, err);
}
