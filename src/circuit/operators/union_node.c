/* circuit/operators/union_node.c: UNION ALL: what comes on any input goes on. */
#include "circuit/operators/specs.h"

static enum status union_node_receive(struct node *node, uint32_t input, const struct batch *batch, struct error *err)
{
    (void)input;
    return node_emit(node, batch, err);
}

static enum status union_node_finish_tick(struct node *node, const struct tick *tick, struct error *err)
{
    (void)tick;
    (void)err;
    node_pass_watermark(node);
    return STATUS_OK;
}

static const struct node_type union_node_type = {
    .name = "Union",
    .stateless = true,
    .receive = union_node_receive,
    .finish_tick = union_node_finish_tick,
};

enum status union_node_create(struct circuit *circuit, struct node *const *inputs, uint32_t input_count, struct node **node,
                              struct error *err)
{
    TRY_ALLOC(*node, arena_alloc(circuit->arena, sizeof **node), err);
    return circuit_add(circuit, *node, &union_node_type, "Union", inputs, input_count, err);
}
