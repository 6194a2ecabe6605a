/* circuit/operators/calc_node.c: filter, then project, chunk by chunk.
 *
 * The filter writes a selection, the projection computes its columns for the selected rows only; what is not columns is shared with
 * the input. The output is compacted when fewer than a quarter of the rows are left, and columns whose NULLs were all left out lose their
 * bitmaps.
 * A failing row of an append-only input ends the job; of a changing input it is held back until the row is withdrawn.
 */
#include "circuit/held_errors.h"
#include "circuit/operators/specs.h"
#include "functions/program.h"

struct calc_node {
    struct node node;
    const struct calc_spec *spec;
    struct program *filter, *projection;
    struct held_errors *held;
    const char **names;
    struct row_failures failures;
};

static enum status calc_fail(struct calc_node *self, const struct batch *batch, struct error *err)
{
    if (self->held == NULL) {
        return row_failures_raise(&self->failures, batch, self->names, node_evaluation(&self->node)->zone, err);
    }
    return held_errors_add(self->held, batch, &self->failures, err);
}

static enum status calc_filter(struct calc_node *self, struct batch *rows, struct error *err)
{
    uint16_t *kept;
    struct batch filtered = *rows;
    filtered.selected_buffer = NULL;
    TRY(batch_need_selection(node_budget(&self->node), &filtered, &kept, err));
    uint32_t kept_count = 0;
    enum status status = program_filter(self->filter, rows, kept, &kept_count, &self->failures, err);
    if (status == STATUS_OK && self->failures.count > 0) {
        status = calc_fail(self, rows, err);
    }
    if (status != STATUS_OK) {
        buffer_unref(filtered.selected_buffer);
        return status;
    }
    buffer_unref(rows->selected_buffer);
    rows->selected_buffer = filtered.selected_buffer;
    rows->selected = kept;
    rows->selected_count = kept_count;
    return STATUS_OK;
}

/* Takes the failed rows out of the batch's selection. */
static enum status calc_drop_failed(struct calc_node *self, struct batch *rows, struct error *err)
{
    uint16_t *kept;
    struct batch narrowed = *rows;
    narrowed.selected_buffer = NULL;
    TRY(batch_need_selection(node_budget(&self->node), &narrowed, &kept, err));
    struct selection all = batch_selection(rows);
    uint32_t count = 0;
    for (uint32_t k = 0; k < all.count; k++) {
        uint32_t row = selection_row(&all, k);
        kept[count] = (uint16_t)row;
        count += !row_failures_has(&self->failures, row);
    }
    buffer_unref(rows->selected_buffer);
    rows->selected_buffer = narrowed.selected_buffer;
    rows->selected = kept;
    rows->selected_count = count;
    return STATUS_OK;
}

static enum status calc_project(struct calc_node *self, struct batch *rows, struct batch *output, struct error *err)
{
    TRY(program_run(self->projection, rows, &self->failures, err));
    if (self->failures.count > 0) {
        TRY(calc_fail(self, rows, err));
        TRY(calc_drop_failed(self, rows, err));
    }
    TRY(batch_init(output, self->spec->expression_count, err));
    output->count = rows->count;
    batch_share_rows(rows, output);
    for (uint32_t i = 0; i < self->spec->expression_count; i++) {
        TRY(vector_ref(program_result(self->projection, i), &output->columns[i], err));
    }
    return STATUS_OK;
}

/* Sinks and results take rows as they are: looking for bitmaps to drop would cost more than it gives. */
static bool calc_has_operator_above(const struct calc_node *self)
{
    for (uint32_t i = 0; i < self->node.output_count; i++) {
        if (self->node.outputs[i].to->output_count > 0) {
            return true;
        }
    }
    return false;
}

static enum status calc_emit(struct calc_node *self, struct batch *batch, struct error *err)
{
    if (batch->selected != NULL && batch->selected_count > 0 && batch->selected_count * 4 < batch->count) {
        TRY(batch_compact(node_budget(&self->node), batch, err));
    }
    if (calc_has_operator_above(self)) {
        batch_drop_validity(batch);
    }
    return node_emit(&self->node, batch, err);
}

static enum status calc_node_receive(struct node *node, uint32_t input, const struct batch *batch, struct error *err)
{
    (void)input;
    struct calc_node *self = (struct calc_node *)node;
    struct batch rows = {0}, output = {0};
    enum status status = batch_ref(batch, &rows, err);
    if (status == STATUS_OK && self->filter != NULL) {
        status = calc_filter(self, &rows, err);
    }
    if (status == STATUS_OK && batch_rows(&rows) > 0) {
        if (self->projection == NULL) {
            status = calc_emit(self, &rows, err);
        } else {
            status = calc_project(self, &rows, &output, err);
            if (status == STATUS_OK) {
                status = calc_emit(self, &output, err);
            }
        }
    }
    batch_release(&output);
    batch_release(&rows);
    return status;
}

static enum status calc_node_finish_tick(struct node *node, const struct tick *tick, struct error *err)
{
    struct calc_node *self = (struct calc_node *)node;
    if (self->held != NULL) {
        TRY(held_errors_check(self->held, tick, err));
    }
    node_pass_watermark(node);
    return STATUS_OK;
}

static void calc_node_close(struct node *node)
{
    struct calc_node *self = (struct calc_node *)node;
    program_destroy(self->filter);
    program_destroy(self->projection);
    held_errors_destroy(self->held);
}

static enum status calc_node_save(struct node *node, struct snapshot_writer *writer, struct error *err)
{
    return held_errors_save(((struct calc_node *)node)->held, writer, 0, err);
}

static enum status calc_node_restore(struct node *node, uint32_t table, const struct snapshot_rows *rows, struct error *err)
{
    (void)table;
    return held_errors_restore(((struct calc_node *)node)->held, rows, err);
}

static const struct node_type calc_node_type = {
    .name = "Calc",
    .stateless = true,
    .receive = calc_node_receive,
    .finish_tick = calc_node_finish_tick,
    .close = calc_node_close,
    .save = calc_node_save,
    .restore = calc_node_restore,
};

static bool mark_read(const struct expression *expression, void *context)
{
    if (expression->kind == EXPRESSION_COLUMN) {
        ((bool *)context)[expression->index] = true;
    }
    return true;
}

/* A join below may leave out what is not read here: such columns have no place in a message. */
static enum status calc_name_columns(struct calc_node *self, struct arena *arena, struct error *err)
{
    const struct calc_spec *spec = self->spec;
    bool *read;
    TRY_ALLOC(self->names, schema_names(arena, spec->input.schema), err);
    TRY_ALLOC(read, arena_alloc(arena, spec->input.schema->count + 1), err);
    if (spec->condition != NULL) {
        expression_walk(spec->condition, mark_read, read);
    }
    for (uint32_t i = 0; i < spec->expression_count; i++) {
        expression_walk(spec->expressions[i], mark_read, read);
    }
    for (uint32_t i = 0; i < spec->input.schema->count && spec->expressions != NULL; i++) {
        self->names[i] = read[i] ? self->names[i] : NULL;
    }
    return STATUS_OK;
}

enum status calc_node_create(struct circuit *circuit, const struct calc_spec *spec, struct node *input, struct node **node,
                             struct error *err)
{
    struct calc_node *self;
    struct arena *arena = circuit->arena;
    TRY_ALLOC(self, arena_alloc(arena, sizeof *self), err);
    self->spec = spec;
    TRY(calc_name_columns(self, arena, err));
    TRY(circuit_add(circuit, &self->node, &calc_node_type, "Calc", &input, 1, err));
    if (spec->condition != NULL) {
        TRY(program_create(arena, &circuit->evaluation, &spec->condition, 1, &self->filter, err));
    }
    if (spec->expressions != NULL) {
        TRY(program_create(arena, &circuit->evaluation, spec->expressions, spec->expression_count, &self->projection, err));
    }
    if (spec->input.changes) {
        TRY(held_errors_create(circuit, &self->held, err));
        self->node.tables = &held_errors_table;
        self->node.table_count = 1;
    }
    *node = &self->node;
    return STATUS_OK;
}
