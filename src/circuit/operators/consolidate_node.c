/* circuit/operators/consolidate_node.c: sums weights per identical row within a tick; emits what is left at its end, deletions first. */
#include "circuit/change_log.h"
#include "circuit/operators/specs.h"

struct consolidate_node {
    struct node node;
    struct change_log *log;
};

static enum status consolidate_node_receive(struct node *node, uint32_t input, const struct batch *batch, struct error *err)
{
    (void)input;
    return change_log_add(((struct consolidate_node *)node)->log, batch, err);
}

static enum status consolidate_put(void *owner, struct batch *batch, const uint8_t *kinds, struct error *err)
{
    (void)kinds;
    return node_emit(owner, batch, err);
}

static enum status consolidate_node_finish_tick(struct node *node, const struct tick *tick, struct error *err)
{
    (void)tick;
    TRY(change_log_take_weights(((struct consolidate_node *)node)->log, consolidate_put, node, err));
    node_pass_watermark(node);
    return STATUS_OK;
}

static void consolidate_node_close(struct node *node)
{
    change_log_destroy(((struct consolidate_node *)node)->log);
}

static const struct node_type consolidate_node_type = {
    .name = "Consolidate",
    .receive = consolidate_node_receive,
    .finish_tick = consolidate_node_finish_tick,
    .close = consolidate_node_close,
};

enum status consolidate_node_create(struct circuit *circuit, const struct input_spec *spec, struct node *input, struct node **node,
                                    struct error *err)
{
    struct consolidate_node *self;
    const struct type **types;
    TRY_ALLOC(self, arena_alloc(circuit->arena, sizeof *self), err);
    TRY_ALLOC(types, arena_alloc(circuit->arena, (spec->schema->count + 1) * sizeof *types), err);
    for (uint32_t c = 0; c < spec->schema->count; c++) {
        types[c] = spec->schema->columns[c].type;
    }
    TRY(circuit_add(circuit, &self->node, &consolidate_node_type, "Consolidate", &input, 1, err));
    TRY(change_log_create(circuit->budget, types, spec->schema->count, &self->log, err));
    *node = &self->node;
    return STATUS_OK;
}
