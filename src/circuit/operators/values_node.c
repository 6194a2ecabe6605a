/* circuit/operators/values_node.c: VALUES: constant rows, once, on worker 0.
 *
 * Each expression is evaluated to a one-row vector; the rows go through a row store, which makes columns of them whatever their type.
 */
#include <inttypes.h>

#include "circuit/operators/source_node.h"
#include "circuit/operators/source_state.h"
#include "circuit/operators/specs.h"
#include "connectors/position.h"
#include "functions/program.h"
#include "state/row_store.h"

struct values_node {
    struct node node;
    const struct values_spec *spec;
    struct row_store *store;
    row_handle *handles;
    uint32_t emitted;
};

static enum status values_store_row(struct values_node *self, uint32_t row, struct error *err)
{
    uint32_t columns = self->spec->schema->count;
    struct batch batch = {0};
    enum status status = batch_init(&batch, columns, err);
    batch.count = 1;
    for (uint32_t c = 0; c < columns && status == STATUS_OK; c++) {
        const struct vector *constant;
        status = program_evaluate_constant(node_arena(&self->node), node_evaluation(&self->node), self->spec->rows[row][c], &constant, err);
        if (status == STATUS_OK) {
            status = vector_ref(constant, &batch.columns[c], err);
        }
    }
    if (status == STATUS_OK) {
        status = row_store_add(self->store, &batch, &self->handles[row], err);
    }
    batch_release(&batch);
    return status;
}

static enum status values_emit(struct values_node *self, uint32_t count, struct error *err)
{
    struct batch batch = {0};
    enum status status = batch_init(&batch, self->spec->schema->count, err);
    batch.count = count;
    batch.ordered = true;
    batch.ordinal_base = self->emitted;
    if (status == STATUS_OK) {
        status = row_store_gather(self->store, self->handles + self->emitted, count, NULL, batch.column_count, batch.columns, err);
    }
    if (status == STATUS_OK) {
        self->emitted += count;
        status = node_emit(&self->node, &batch, err);
    }
    batch_release(&batch);
    return status;
}

static enum status values_node_pull(struct node *node, const struct tick *tick, enum pull_state *state, struct error *err)
{
    (void)tick;
    struct values_node *self = (struct values_node *)node;
    const struct pipeline_settings *settings = &node->circuit->settings;
    uint32_t total = node->circuit->worker == 0 ? self->spec->row_count : 0;
    uint64_t budget = settings->tick_rows > 0 ? (uint64_t)settings->tick_rows : UINT64_MAX;
    *state = PULL_ENDED;
    while (self->emitted < total && budget > 0) {
        uint32_t count = total - self->emitted;
        count = count > settings->chunk_rows ? settings->chunk_rows : count;
        count = count > budget ? (uint32_t)budget : count;
        TRY(values_emit(self, count, err));
        budget -= count;
        *state = PULL_ROWS;
    }
    return STATUS_OK;
}

static enum status values_node_finish_tick(struct node *node, const struct tick *tick, struct error *err)
{
    (void)tick;
    (void)err;
    struct values_node *self = (struct values_node *)node;
    if (node->circuit->worker != 0 || self->emitted == self->spec->row_count) {
        node->watermark = WATERMARK_END;
    }
    return STATUS_OK;
}

static void values_node_close(struct node *node)
{
    row_store_destroy(((struct values_node *)node)->store);
}

static const struct node_type values_node_type = {
    .kept = NODE_KEPT_WITH_PLACES,
    .name = "Values",
    .finish_tick = values_node_finish_tick,
    .close = values_node_close,
    .pull = values_node_pull,
    .save = values_state_save,
    .restore = values_state_restore,
};

enum status values_node_create(struct circuit *circuit, const struct values_spec *spec, struct node **node, struct error *err)
{
    struct values_node *self;
    const struct type **types;
    TRY_ALLOC(self, arena_alloc(circuit->arena, sizeof *self), err);
    TRY_ALLOC(types, arena_alloc(circuit->arena, (spec->schema->count + 1) * sizeof *types), err);
    TRY_ALLOC(self->handles, arena_alloc(circuit->arena, ((size_t)spec->row_count + 1) * sizeof(row_handle)), err);
    self->spec = spec;
    TRY(circuit_add(circuit, &self->node, &values_node_type, "Values", NULL, 0, err));
    self->node.tables = &values_state_table;
    self->node.table_count = 1;
    for (uint32_t c = 0; c < spec->schema->count; c++) {
        types[c] = spec->schema->columns[c].type;
    }
    TRY(row_store_create(circuit->budget, types, spec->schema->count, &self->store, err));
    row_store_omit_hashes(self->store);
    for (uint32_t r = 0; r < spec->row_count && circuit->worker == 0; r++) {
        TRY(values_store_row(self, r, err));
    }
    *node = &self->node;
    return STATUS_OK;
}

static const char state_kind[] = "values/1";

enum status values_node_save(const struct node *node, struct text_builder *out, struct error *err)
{
    text_append_text(out, state_kind);
    position_put_number(out, "emitted", ((const struct values_node *)node)->emitted);
    return out->failed ? error_set(err, ERROR_BUDGET_SPENT, "no room for the state of VALUES") : STATUS_OK;
}

enum status values_node_restore(struct node *node, const char *bytes, size_t length, struct error *err)
{
    struct values_node *self = (struct values_node *)node;
    struct text state = {bytes, length};
    int64_t emitted;
    TRY(position_check(state, state_kind, err));
    TRY(position_get_number(state, "emitted", &emitted, err));
    if (emitted > self->spec->row_count) {
        return error_set(err, ERROR_POSITION_LOST, "VALUES has %u rows now, but %" PRId64 " were read", self->spec->row_count, emitted);
    }
    self->emitted = (uint32_t)emitted;
    return STATUS_OK;
}
