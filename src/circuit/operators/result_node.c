/* circuit/operators/result_node.c: rows to the session's caller.
 *
 * Inserts go to the queue as they come. Changes are consolidated per tick and get their kinds; in_order keeps the order in which rows came
 * (ORDER BY), for inserts with weights above one each row is repeated.
 */
#include <string.h>

#include "circuit/change_log.h"
#include "circuit/operators/specs.h"
#include "circuit/result_queue.h"

struct result_node {
    struct node node;
    const struct result_spec *spec;
    struct change_log *log; /* NULL: inserts only, or in order */
};

static enum status result_put(void *owner, struct batch *batch, const uint8_t *kinds, struct error *err)
{
    struct result_node *self = owner;
    struct batch queued = {0};
    struct buffer *kinds_buffer = NULL;
    TRY(batch_ref(batch, &queued, err));
    enum status status = STATUS_OK;
    if (kinds != NULL) {
        status = buffer_create(node_budget(&self->node), queued.count, &kinds_buffer, err);
        if (status == STATUS_OK) {
            memcpy(buffer_bytes_mutable(kinds_buffer), kinds, queued.count);
        }
    }
    if (status == STATUS_OK) {
        status = result_queue_put(self->spec->queue, &queued, kinds_buffer, err);
    }
    if (status != STATUS_OK) {
        batch_release(&queued);
        buffer_unref(kinds_buffer);
    }
    return status;
}

/* Rows of weight n, n times, in chunks. */
static enum status result_put_repeated(struct result_node *self, const struct batch *batch, struct error *err)
{
    uint16_t rows[CHUNK_ROWS];
    uint32_t count = 0;
    struct selection selection = batch_selection(batch);
    for (uint32_t k = 0; k <= selection.count; k++) {
        uint32_t row = k < selection.count ? selection_row(&selection, k) : 0;
        int64_t times = k < selection.count ? batch_weight(batch, row) : 0;
        for (int64_t n = 0; n < times || (k == selection.count && count > 0); n++) {
            if (k < selection.count) {
                rows[count++] = (uint16_t)row;
            }
            if (count == CHUNK_ROWS || k == selection.count) {
                struct batch repeated = {0};
                TRY(batch_gather(node_budget(&self->node), batch, rows, count, &repeated, err));
                enum status status = result_put(self, &repeated, NULL, err);
                batch_release(&repeated);
                TRY(status);
                count = 0;
            }
        }
    }
    return STATUS_OK;
}

static enum status result_node_receive(struct node *node, uint32_t input, const struct batch *batch, struct error *err)
{
    (void)input;
    struct result_node *self = (struct result_node *)node;
    if (self->log != NULL) {
        return change_log_add(self->log, batch, err);
    }
    if (batch->weights != NULL) {
        return result_put_repeated(self, batch, err);
    }
    struct batch dense = {0};
    TRY(batch_ref(batch, &dense, err));
    enum status status = batch_compact(node_budget(node), &dense, err);
    if (status == STATUS_OK) {
        status = result_put(self, &dense, NULL, err);
    }
    batch_release(&dense);
    return status;
}

static enum status result_node_finish_tick(struct node *node, const struct tick *tick, struct error *err)
{
    (void)tick;
    struct result_node *self = (struct result_node *)node;
    if (self->log != NULL) {
        TRY(change_log_take_kinds(self->log, self->spec->upsert_key, self->spec->upsert_key_count, result_put, self, err));
    }
    node_pass_watermark(node);
    return STATUS_OK;
}

static void result_node_close(struct node *node)
{
    change_log_destroy(((struct result_node *)node)->log);
}

static const struct node_type result_node_type = {
    .name = "Result",
    .receive = result_node_receive,
    .finish_tick = result_node_finish_tick,
    .close = result_node_close,
};

enum status result_node_create(struct circuit *circuit, const struct result_spec *spec, struct node *input, struct node **node,
                               struct error *err)
{
    struct result_node *self;
    const struct schema *schema = spec->input.schema;
    const struct type **types;
    TRY_ALLOC(self, arena_alloc(circuit->arena, sizeof *self), err);
    TRY_ALLOC(types, arena_alloc(circuit->arena, (schema->count + 1) * sizeof *types), err);
    self->spec = spec;
    for (uint32_t c = 0; c < schema->count; c++) {
        types[c] = schema->columns[c].type;
    }
    TRY(circuit_add(circuit, &self->node, &result_node_type, "Result", &input, 1, err));
    if (spec->input.changes && !spec->in_order) {
        TRY(change_log_create(circuit->budget, types, schema->count, &self->log, err));
    }
    *node = &self->node;
    return STATUS_OK;
}
