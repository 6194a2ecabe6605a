/* circuit/operators/unnest_node.c: each row once per element of its collection.
 *
 * The collection is computed for the chunk. Places (input row, element, ordinal) are collected up to a chunk of output; then the
 * input's columns are gathered by row and the elements appended by place. A MULTISET's element comes as often as it counts; fields of a
 * ROW element are columns (all NULL for a NULL element); a MAP gives key and value. `outer`: a row without elements comes once, with NULLs.
 */
#include "circuit/held_errors.h"
#include "circuit/operators/row_output.h"
#include "circuit/operators/specs.h"
#include "data/vector_append.h"
#include "functions/program.h"

enum { ELEMENT_NONE = -1 };

struct unnest_node {
    struct node node;
    const struct unnest_spec *spec;
    struct program *program;
    struct held_errors *held;
    const char **names;
    struct row_failures failures;
    uint32_t count, limit;
    uint16_t rows[CHUNK_ROWS];
    int64_t elements[CHUNK_ROWS]; /* ELEMENT_NONE: none */
    int64_t ordinals[CHUNK_ROWS];
};

/* The elements at the places as one column; field >= 0: that field of ROW elements. */
static enum status unnest_column(const struct unnest_node *self, const struct vector *source, int32_t field, const struct type *type,
                                 struct vector *column, struct error *err)
{
    struct budget *budget = node_budget(&self->node);
    TRY(vector_create(budget, type, 0, column, err));
    for (uint32_t k = 0; k < self->count; k++) {
        int64_t element = self->elements[k];
        bool present = element != ELEMENT_NONE && vector_is_valid(source, (uint32_t)element);
        if (present) {
            TRY(vector_append(budget, column, field < 0 ? source : &source->children[field], (uint32_t)element, 1, err));
        } else {
            TRY(vector_append_null(budget, column, err));
        }
    }
    return STATUS_OK;
}

static enum status unnest_ordinality(const struct unnest_node *self, const struct type *type, struct vector *column, struct error *err)
{
    struct budget *budget = node_budget(&self->node);
    TRY(vector_create(budget, type, self->count, column, err));
    for (uint32_t k = 0; k < self->count; k++) {
        if (column->physical == PHYSICAL_INT64) {
            vector_int64(column)[k] = self->ordinals[k];
        } else {
            vector_int32(column)[k] = (int32_t)self->ordinals[k];
        }
        if (self->elements[k] == ELEMENT_NONE) {
            TRY(vector_need_validity(budget, column, self->count, err));
            vector_set_null(column, k);
        }
    }
    return STATUS_OK;
}

static enum status unnest_element_columns(const struct unnest_node *self, const struct vector *collection, struct vector *columns,
                                          struct error *err)
{
    const struct schema *output = self->spec->output;
    uint32_t first = self->spec->input.schema->count, count = output->count - first - self->spec->with_ordinality;
    bool map = collection->type->kind == TYPE_MAP;
    const struct vector *elements = &collection->children[0];
    for (uint32_t i = 0; i < count; i++) {
        const struct vector *source = map ? &collection->children[i] : elements;
        int32_t field = !map && elements->type->kind == TYPE_ROW ? (int32_t)i : -1;
        TRY(unnest_column(self, source, field, output->columns[first + i].type, &columns[first + i], err));
    }
    if (self->spec->with_ordinality) {
        return unnest_ordinality(self, output->columns[first + count].type, &columns[first + count], err);
    }
    return STATUS_OK;
}

static enum status unnest_fill(const struct unnest_node *self, const struct batch *batch, struct batch *output, struct error *err)
{
    struct batch gathered = {0};
    enum status status = batch_init(output, self->spec->output->count, err);
    if (status == STATUS_OK) {
        status = batch_gather(node_budget(&self->node), batch, self->rows, self->count, &gathered, err);
    }
    if (status == STATUS_OK) {
        output->count = self->count;
        batch_share_rows(&gathered, output);
        output->ordered = false;
        for (uint32_t i = 0; i < gathered.column_count; i++) {
            output->columns[i] = gathered.columns[i];
            gathered.columns[i] = (struct vector){0};
        }
        status = unnest_element_columns(self, program_result(self->program, 0), output->columns, err);
    }
    batch_release(&gathered);
    return status;
}

static enum status unnest_flush(struct unnest_node *self, const struct batch *batch, struct error *err)
{
    if (self->count == 0) {
        return STATUS_OK;
    }
    struct batch output = {0};
    enum status status = unnest_fill(self, batch, &output, err);
    self->count = 0;
    if (status == STATUS_OK) {
        status = node_emit(&self->node, &output, err);
    }
    batch_release(&output);
    return status;
}

static enum status unnest_add(struct unnest_node *self, const struct batch *batch, uint32_t row, int64_t element, int64_t ordinal,
                              struct error *err)
{
    self->rows[self->count] = (uint16_t)row;
    self->elements[self->count] = element;
    self->ordinals[self->count++] = ordinal;
    return self->count < self->limit ? STATUS_OK : unnest_flush(self, batch, err);
}

static enum status unnest_row(struct unnest_node *self, const struct batch *batch, const struct vector *collection, uint32_t row,
                              struct error *err)
{
    struct span span = {0};
    int64_t ordinal = 0;
    if (vector_is_valid(collection, row)) {
        span = vector_spans(collection)[row];
    }
    for (uint32_t at = span.offset; at < span.offset + span.length; at++) {
        int32_t copies = collection->type->kind == TYPE_MULTISET ? vector_int32(&collection->children[1])[at] : 1;
        for (int32_t copy = 0; copy < copies; copy++) {
            TRY(unnest_add(self, batch, row, at, ++ordinal, err));
        }
    }
    return ordinal == 0 && self->spec->outer ? unnest_add(self, batch, row, ELEMENT_NONE, 0, err) : STATUS_OK;
}

static enum status unnest_fail(struct unnest_node *self, const struct batch *batch, struct error *err)
{
    if (self->held == NULL) {
        return row_failures_raise(&self->failures, batch, self->names, node_evaluation(&self->node)->zone, err);
    }
    return held_errors_add(self->held, batch, &self->failures, err);
}

static enum status unnest_receive(struct node *node, uint32_t input, const struct batch *batch, struct error *err)
{
    (void)input;
    struct unnest_node *self = (struct unnest_node *)node;
    struct selection rows = batch_selection(batch);
    TRY(program_run(self->program, batch, &self->failures, err));
    if (self->failures.count > 0) {
        TRY(unnest_fail(self, batch, err));
    }
    const struct vector *collection = program_result(self->program, 0);
    for (uint32_t k = 0; k < rows.count; k++) {
        uint32_t row = selection_row(&rows, k);
        if (self->failures.count == 0 || !row_failures_has(&self->failures, row)) {
            TRY(unnest_row(self, batch, collection, row, err));
        }
    }
    return unnest_flush(self, batch, err);
}

static enum status unnest_finish_tick(struct node *node, const struct tick *tick, struct error *err)
{
    struct unnest_node *self = (struct unnest_node *)node;
    if (self->held != NULL) {
        TRY(held_errors_check(self->held, tick, err));
    }
    node_pass_watermark(node);
    return STATUS_OK;
}

static void unnest_close(struct node *node)
{
    struct unnest_node *self = (struct unnest_node *)node;
    program_destroy(self->program);
    held_errors_destroy(self->held);
}

static enum status unnest_save(struct node *node, struct snapshot_writer *writer, struct error *err)
{
    return held_errors_save(((struct unnest_node *)node)->held, writer, 0, err);
}

static enum status unnest_restore(struct node *node, uint32_t table, const struct snapshot_rows *rows, struct error *err)
{
    (void)table;
    return held_errors_restore(((struct unnest_node *)node)->held, rows, err);
}

static const struct node_type unnest_type = {
    .name = "Unnest",
    .stateless = true,
    .receive = unnest_receive,
    .finish_tick = unnest_finish_tick,
    .close = unnest_close,
    .save = unnest_save,
    .restore = unnest_restore,
};

enum status unnest_node_create(struct circuit *circuit, const struct unnest_spec *spec, struct node *input, struct node **node,
                               struct error *err)
{
    struct unnest_node *self;
    struct arena *arena = circuit->arena;
    TRY_ALLOC(self, arena_alloc(arena, sizeof *self), err);
    self->spec = spec;
    TRY_ALLOC(self->names, schema_names(arena, spec->input.schema), err);
    TRY(circuit_add(circuit, &self->node, &unnest_type, "Unnest", &input, 1, err));
    self->limit = node_chunk_rows(&self->node);
    TRY(program_create(arena, &circuit->evaluation, &spec->collection, 1, &self->program, err));
    if (spec->input.changes) {
        TRY(held_errors_create(circuit, &self->held, err));
        self->node.tables = &held_errors_table;
        self->node.table_count = 1;
    }
    *node = &self->node;
    return STATUS_OK;
}
