/* circuit/operators/join_node.c: regular join.
 *
 * receive      a chunk of one side is stored and meets what the other side holds (join_core.h); pairs are emitted at once. Since the join is
 *              linear in each side, the changes of a tick add up to the exact one whatever the order of the chunks.
 * finish_tick  rows of outer, semi and anti sides whose matches came or went are emitted or withdrawn.
 */
#include "circuit/operators/join_save.h"

static enum status join_node_receive(struct node *node, uint32_t input, const struct batch *batch, struct error *err)
{
    return join_absorb((struct join *)node, input, batch, err);
}

static enum status join_node_finish_tick(struct node *node, const struct tick *tick, struct error *err)
{
    TRY(join_settle((struct join *)node, tick, err));
    node_pass_watermark(node);
    return STATUS_OK;
}

static enum status join_node_save(struct node *node, struct snapshot_writer *writer, struct error *err)
{
    return join_save((struct join *)node, writer, err);
}

static enum status join_node_restore(struct node *node, uint32_t table, const struct snapshot_rows *rows, struct error *err)
{
    return join_restore((struct join *)node, table, rows, err);
}

static void join_node_close(struct node *node)
{
    join_close((struct join *)node);
}

static const struct node_type join_node_type = {
    .name = "Join",
    .receive = join_node_receive,
    .finish_tick = join_node_finish_tick,
    .count_state = join_count_state,
    .close = join_node_close,
    .save = join_node_save,
    .restore = join_node_restore,
    .restored = join_restored,
    .open_cold = join_open_cold,
    .saves_in_memory = true,
};

enum status join_node_create(struct circuit *circuit, const struct join_spec *spec, struct node *left, struct node *right,
                             struct node **node, struct error *err)
{
    struct join *self;
    struct node *inputs[2] = {left, right};
    TRY_ALLOC(self, arena_alloc(circuit->arena, sizeof *self), err);
    TRY(circuit_add(circuit, &self->node, &join_node_type, "Join", inputs, 2, err));
    self->spills = circuit->spills;
    TRY(join_open(self, circuit, spec, false, err));
    TRY(join_declare(self, NULL, err));
    *node = &self->node;
    return STATUS_OK;
}
