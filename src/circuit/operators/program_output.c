/* circuit/operators/program_output.c: one output of a program: rows become batches, and go on when there is a chunk of them, or the tick
 * ends. */
#include "circuit/operators/program_node.h"
#include "data/arrow.h"

struct program_output {
    struct node node;
    const struct program_output_spec *spec;
    struct batch building; /* columns NULL: none */
    struct string_heap *heaps;
    uint32_t count, limit;
};

static enum status begin(struct program_output *self, struct error *err)
{
    const struct schema *schema = self->spec->schema;
    TRY(batch_init(&self->building, schema->count, err));
    for (uint32_t i = 0; i < schema->count; i++) {
        TRY(vector_create(node_budget(&self->node), schema->columns[i].type, self->limit, &self->building.columns[i], err));
        self->heaps[i] = (struct string_heap){.budget = node_budget(&self->node), .target = &self->building.columns[i]};
    }
    return STATUS_OK;
}

static enum status flush(struct program_output *self, struct error *err)
{
    if (self->count == 0) {
        return STATUS_OK;
    }
    struct batch batch = self->building;
    self->building = (struct batch){0};
    batch.count = self->count;
    self->count = 0;
    for (uint32_t i = 0; i < batch.column_count; i++) {
        batch.columns[i].count = batch.count;
    }
    enum status status = node_emit(&self->node, &batch, err);
    batch_release(&batch);
    return status;
}

static enum status check_row(const struct program_output *self, const struct spate_cell *cells, uint32_t count, struct error *err)
{
    const struct schema *schema = self->spec->schema;
    enum status status = STATUS_OK;
    if (count != schema->count) {
        status = error_set(err, ERROR_WRONG_ARGUMENTS, "the row has %u cells, the table %u columns", count, schema->count);
    }
    for (uint32_t i = 0; i < schema->count && status == STATUS_OK; i++) {
        status = cell_check(&cells[i], &schema->columns[i], err);
    }
    if (status != STATUS_OK) {
        error_add_context(err, "in a row for table '%s'", self->node.label);
    }
    return status;
}

enum status program_output_row(struct node *output, const struct spate_cell *cells, uint32_t count, struct error *err)
{
    struct program_output *self = (struct program_output *)output;
    TRY(check_row(self, cells, count, err));
    if (self->building.columns == NULL) {
        TRY(begin(self, err));
    }
    for (uint32_t i = 0; i < count; i++) {
        TRY(cell_write(&cells[i], node_budget(output), self->limit, &self->heaps[i], &self->building.columns[i], self->count, err));
    }
    self->count++;
    return self->count == self->limit ? flush(self, err) : STATUS_OK;
}

static enum status emit_arrays(struct program_output *self, struct arrow_import *import, struct error *err)
{
    for (;;) {
        struct batch batch = {0};
        TRY(arrow_import_next(import, node_budget(&self->node), self->limit, &batch, err));
        uint32_t count = batch.count;
        enum status status = count == 0 ? STATUS_OK : node_emit(&self->node, &batch, err);
        batch_release(&batch);
        if (status != STATUS_OK || count == 0) {
            return status;
        }
    }
}

enum status program_output_arrow(struct node *output, const struct ArrowSchema *schema, struct ArrowArray *array, struct error *err)
{
    struct program_output *self = (struct program_output *)output;
    struct arrow_import *import = NULL;
    enum status status = flush(self, err);
    if (status == STATUS_OK) {
        status = arrow_import_open(self->spec->row, schema, array, &import, err);
    }
    if (array->release != NULL) { /* it was not taken */
        array->release(array);
    }
    if (import != NULL) {
        status = emit_arrays(self, import, err);
        arrow_import_close(import);
    }
    if (status != STATUS_OK) {
        error_add_context(err, "in rows for table '%s'", output->label);
    }
    return status;
}

static enum status output_receive(struct node *node, uint32_t input, const struct batch *batch, struct error *err)
{
    (void)node, (void)input, (void)batch;
    return error_set(err, ERROR_INTERNAL, "an output of a program got rows that are for no output");
}

static enum status output_finish_tick(struct node *node, const struct tick *tick, struct error *err)
{
    (void)tick;
    TRY(flush((struct program_output *)node, err));
    node_pass_watermark(node);
    return STATUS_OK;
}

static void output_close(struct node *node)
{
    batch_release(&((struct program_output *)node)->building);
}

static const struct node_type program_output_type = {
    .name = "ProgramOutput",
    .stateless = true,
    .receive = output_receive,
    .finish_tick = output_finish_tick,
    .close = output_close,
};

enum status program_output_create(struct circuit *circuit, const struct program_output_spec *spec, struct node *program, struct node **node,
                                  struct error *err)
{
    struct program_output *self;
    TRY_ALLOC(self, arena_alloc(circuit->arena, sizeof *self), err);
    self->spec = spec;
    self->limit = circuit->settings.chunk_rows;
    TRY_ALLOC(self->heaps, arena_alloc(circuit->arena, (spec->schema->count + 1) * sizeof *self->heaps), err);
    TRY(circuit_add(circuit, &self->node, &program_output_type, spec->table, &program, 1, err));
    program_node_connect(program, spec->number, &self->node);
    *node = &self->node;
    return STATUS_OK;
}
