/* circuit/operators/lookup_join.c: rows pass by a table that does not change any more.
 *
 * receive      right rows are stored. Left rows wait until the right input has ended; from then on each chunk is joined as it passes, and
 *              nothing of it is kept.
 */
#include <stdlib.h>

#include "circuit/operators/join_core.h"

struct lookup_join {
    struct join join;
    struct batch *waiting;
    uint32_t waiting_count, waiting_capacity;
};

static enum status lookup_keep(struct lookup_join *self, const struct batch *batch, struct error *err)
{
    if (self->waiting_count == self->waiting_capacity) {
        uint32_t capacity = self->waiting_capacity == 0 ? 16 : self->waiting_capacity * 2;
        struct batch *waiting = realloc(self->waiting, capacity * sizeof *waiting);
        if (waiting == NULL) {
            return error_set(err, ERROR_BUDGET_SPENT, "no room for rows that wait for the table they look up");
        }
        self->waiting = waiting;
        self->waiting_capacity = capacity;
    }
    struct batch *kept = &self->waiting[self->waiting_count];
    TRY(batch_ref(batch, kept, err));
    self->waiting_count++;
    return STATUS_OK;
}

static bool lookup_is_ready(const struct node *node)
{
    return node_input_watermark(node, 1) == WATERMARK_END;
}

static enum status lookup_join_receive(struct node *node, uint32_t input, const struct batch *batch, struct error *err)
{
    struct lookup_join *self = (struct lookup_join *)node;
    if (input == 1) {
        return join_absorb(&self->join, 1, batch, err);
    }
    return lookup_is_ready(node) ? join_lookup(&self->join, batch, err) : lookup_keep(self, batch, err);
}

static enum status lookup_join_finish_tick(struct node *node, const struct tick *tick, struct error *err)
{
    struct lookup_join *self = (struct lookup_join *)node;
    TRY(join_settle(&self->join, tick, err));
    if (!lookup_is_ready(node) && !tick->end) {
        return STATUS_OK;
    }
    for (uint32_t i = 0; i < self->waiting_count; i++) {
        TRY(join_lookup(&self->join, &self->waiting[i], err));
        batch_release(&self->waiting[i]);
    }
    self->waiting_count = 0;
    node_pass_watermark(node);
    return STATUS_OK;
}

static void lookup_join_close(struct node *node)
{
    struct lookup_join *self = (struct lookup_join *)node;
    for (uint32_t i = 0; i < self->waiting_count; i++) {
        batch_release(&self->waiting[i]);
    }
    free(self->waiting);
    join_close(&self->join);
}

static const struct node_type lookup_join_type = {
    .name = "LookupJoin",
    .receive = lookup_join_receive,
    .finish_tick = lookup_join_finish_tick,
    .close = lookup_join_close,
};

enum status lookup_join_create(struct circuit *circuit, const struct lookup_join_spec *spec, struct node *left, struct node *right,
                               struct node **node, struct error *err)
{
    struct lookup_join *self;
    struct node *inputs[2] = {left, right};
    TRY_ALLOC(self, arena_alloc(circuit->arena, sizeof *self), err);
    self->join.lookup = true;
    TRY(circuit_add(circuit, &self->join.node, &lookup_join_type, "LookupJoin", inputs, 2, err));
    TRY(join_open(&self->join, circuit, &spec->join, false, err));
    *node = &self->join.node;
    return STATUS_OK;
}
