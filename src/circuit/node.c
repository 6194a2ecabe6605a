#include "circuit/node.h"

#include <assert.h>

#include "circuit/circuit.h"

enum status node_emit(struct node *node, const struct batch *batch, struct error *err)
{
    uint32_t rows = batch_rows(batch);
    if (rows == 0) {
        return STATUS_OK;
    }
    assert(batch->count <= CHUNK_ROWS);
    node->metrics.rows_out += rows;
    for (uint32_t i = 0; i < node->output_count; i++) {
        struct edge edge = node->outputs[i];
        edge.to->metrics.rows_in += rows;
        TRY(edge.to->type->receive(edge.to, edge.input, batch, err));
    }
    return STATUS_OK;
}

int64_t node_input_watermark(const struct node *node, uint32_t input)
{
    return node->inputs[input]->watermark;
}

int64_t node_min_input_watermark(const struct node *node)
{
    int64_t minimum = WATERMARK_END;
    for (uint32_t i = 0; i < node->input_count; i++) {
        int64_t watermark = node->inputs[i]->watermark;
        minimum = watermark < minimum ? watermark : minimum;
    }
    return minimum;
}

void node_pass_watermark(struct node *node)
{
    int64_t minimum = node_min_input_watermark(node);
    if (minimum > node->watermark) {
        node->watermark = minimum;
    }
}

struct budget *node_budget(const struct node *node)
{
    return node->circuit->budget;
}

struct arena *node_arena(const struct node *node)
{
    return node->circuit->arena;
}

const struct evaluation *node_evaluation(const struct node *node)
{
    return &node->circuit->evaluation;
}
