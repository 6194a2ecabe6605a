/* circuit/operators/limit_node.c: LIMIT without ORDER BY: the first rows that come.
 *
 * Over input that only grows a counter decides. Where rows may be withdrawn it is a Top-N without keys: rows by their source order.
 * State        "counts": how many rows were skipped and taken.
 */
#include "circuit/operators/specs.h"

struct limit_node {
    struct node node;
    const struct limit_spec *spec;
    int64_t skip, left;
};

/* How many of `weight` copies of the next row go out. */
static int64_t limit_take(struct limit_node *self, int64_t weight)
{
    int64_t skipped = weight < self->skip ? weight : self->skip;
    self->skip -= skipped;
    weight -= skipped;
    weight = weight < self->left ? weight : self->left;
    self->left -= weight;
    return weight;
}

static enum status limit_fill(struct limit_node *self, const struct batch *batch, struct batch *output, struct error *err)
{
    struct selection rows = batch_selection(batch);
    struct budget *budget = node_budget(&self->node);
    int64_t *weights = NULL;
    uint16_t *selected;
    uint32_t count = 0;
    if (batch->weights != NULL) {
        TRY(batch_need_weights(budget, output, batch->count, &weights, err));
    }
    TRY(batch_need_selection(budget, output, &selected, err));
    for (uint32_t k = 0; k < rows.count && self->left > 0; k++) {
        uint32_t row = selection_row(&rows, k);
        int64_t taken = limit_take(self, batch_weight(batch, row));
        if (taken > 0) {
            selected[count++] = (uint16_t)row;
            if (weights != NULL) {
                weights[row] = taken;
            }
        }
    }
    output->selected_count = count;
    return STATUS_OK;
}

static enum status limit_receive(struct node *node, uint32_t input, const struct batch *batch, struct error *err)
{
    (void)input;
    struct limit_node *self = (struct limit_node *)node;
    struct batch output;
    if (self->left == 0) {
        return STATUS_OK;
    }
    TRY(batch_ref(batch, &output, err));
    enum status status = limit_fill(self, batch, &output, err);
    if (status == STATUS_OK) {
        status = node_emit(node, &output, err);
    }
    batch_release(&output);
    return status;
}

static enum status limit_finish_tick(struct node *node, const struct tick *tick, struct error *err)
{
    (void)tick;
    (void)err;
    node_pass_watermark(node);
    return STATUS_OK;
}

static int64_t limit_fetch(const struct limit_spec *spec)
{
    return spec->fetch < 0 ? INT64_MAX : spec->fetch;
}

static enum status limit_save(struct node *node, struct snapshot_writer *writer, struct error *err)
{
    const struct limit_node *self = (const struct limit_node *)node;
    const struct snapshot_cell cells[] = {{.number = self->spec->offset - self->skip}, {.number = limit_fetch(self->spec) - self->left}};
    if (!snapshot_is_full(writer)) {
        TRY(snapshot_replace(writer, 0, err));
    }
    return snapshot_write_cells(writer, 0, 0, cells, err);
}

/* Workers that got no rows have counts too: zeros. */
static enum status limit_restore(struct node *node, uint32_t table, const struct snapshot_rows *rows, struct error *err)
{
    (void)table, (void)err;
    struct limit_node *self = (struct limit_node *)node;
    for (uint32_t row = 0; row < rows->batch->count; row++) {
        int64_t skip = self->spec->offset - snapshot_number(rows->batch, row, 0);
        int64_t left = limit_fetch(self->spec) - snapshot_number(rows->batch, row, 1);
        self->skip = skip < 0 ? 0 : skip < self->skip ? skip : self->skip;
        self->left = left < 0 ? 0 : left < self->left ? left : self->left;
    }
    return STATUS_OK;
}

static const struct node_type limit_node_type = {
    .name = "Limit",
    .receive = limit_receive,
    .finish_tick = limit_finish_tick,
    .save = limit_save,
    .restore = limit_restore,
};

static const struct column limit_columns[] = {{.name = "skipped", .type = &type_bigint_not_null},
                                              {.name = "taken", .type = &type_bigint_not_null}};
static const struct schema limit_schema = {ARRAY_LENGTH(limit_columns), limit_columns};
static const struct snapshot_table limit_table = {.name = "counts", .schema = &limit_schema, .place = SNAPSHOT_ONE, .expiry = -1};

static enum status limit_create_changing(struct circuit *circuit, const struct limit_spec *spec, struct node *input, struct node **node,
                                         struct error *err)
{
    struct top_n_spec *top;
    TRY_ALLOC(top, arena_alloc(circuit->arena, sizeof *top), err);
    top->input = spec->input;
    top->function = RANK_ROW_NUMBER;
    top->first = spec->offset + 1;
    top->last = spec->fetch < 0 ? INT64_MAX : spec->offset + spec->fetch;
    top->output = spec->input.schema;
    return top_n_create(circuit, top, input, node, err);
}

enum status limit_node_create(struct circuit *circuit, const struct limit_spec *spec, struct node *input, struct node **node,
                              struct error *err)
{
    struct limit_node *self;
    if (spec->input.changes) {
        return limit_create_changing(circuit, spec, input, node, err);
    }
    TRY_ALLOC(self, arena_alloc(circuit->arena, sizeof *self), err);
    self->spec = spec;
    self->skip = spec->offset;
    self->left = limit_fetch(spec);
    TRY(circuit_add(circuit, &self->node, &limit_node_type, "Limit", &input, 1, err));
    self->node.tables = &limit_table;
    self->node.table_count = 1;
    *node = &self->node;
    return STATUS_OK;
}
