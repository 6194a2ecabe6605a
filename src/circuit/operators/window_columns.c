/* circuit/operators/window_columns.c: TUMBLE, HOP, CUMULATE as table functions: each row once per window it belongs to, with window_start,
 * window_end, window_time. Nothing is late here. A row without a time belongs to no window and is counted.
 *
 * The rows of a chunk are listed as often as they have windows; a full list is gathered and emitted. With TUMBLE and no missing time
 * the input's columns are shared instead.
 */
#include "circuit/operators/window_time.h"
#include "data/calendar.h"

struct window_columns {
    struct node node;
    const struct window_columns_spec *spec;
    struct window_time time;
    uint32_t count;
    uint16_t rows[CHUNK_ROWS];
    struct window_bounds bounds[CHUNK_ROWS];
};

static void put_time(struct vector *vector, uint32_t row, int64_t us)
{
    if (vector->physical == PHYSICAL_INT128) {
        vector_int128(vector)[row] = (int128_t)us * 1000;
    } else {
        vector_int64(vector)[row] = us;
    }
}

/* Takes over the columns of `rows` (released here) and adds the three window columns from `bounds`, by physical row. */
static enum status emit_with_windows(struct window_columns *self, struct batch *rows, const struct window_bounds *bounds, struct error *err)
{
    const struct schema *schema = self->spec->output;
    struct budget *budget = node_budget(&self->node);
    struct batch output = {0};
    uint32_t input_count = rows->column_count;
    enum status status = batch_init(&output, schema->count, err);
    output.count = rows->count;
    batch_share_rows(rows, &output);
    for (uint32_t i = 0; i < input_count && status == STATUS_OK; i++) {
        status = vector_ref(&rows->columns[i], &output.columns[i], err);
    }
    for (uint32_t i = input_count; i < schema->count && status == STATUS_OK; i++) {
        status = vector_create(budget, schema->columns[i].type, rows->count, &output.columns[i], err);
    }
    if (status == STATUS_OK) {
        struct selection selected = batch_selection(rows);
        for (uint32_t k = 0; k < selected.count; k++) {
            uint32_t row = selection_row(&selected, k);
            put_time(&output.columns[input_count], row, bounds[row].start);
            put_time(&output.columns[input_count + 1], row, bounds[row].end);
            put_time(&output.columns[input_count + 2], row, window_time_closes(&self->time, bounds[row].end));
        }
        status = node_emit(&self->node, &output, err);
    }
    batch_release(&output);
    batch_release(rows);
    return status;
}

static enum status flush_rows(struct window_columns *self, const struct batch *batch, struct error *err)
{
    if (self->count == 0) {
        return STATUS_OK;
    }
    struct batch rows = {0};
    TRY(batch_gather(node_budget(&self->node), batch, self->rows, self->count, &rows, err));
    self->count = 0;
    return emit_with_windows(self, &rows, self->bounds, err);
}

static bool row_time(struct window_columns *self, const struct batch *batch, uint32_t row, int64_t *local)
{
    if (self->time.spec.processing_time) {
        *local = window_time_to_local(&self->time, node_evaluation(&self->node)->now_us);
        return true;
    }
    const struct vector *times = &batch->columns[self->time.spec.time_column];
    if (!vector_is_valid(times, row)) {
        self->node.metrics.null_time++;
        return false;
    }
    *local = window_time_to_local(&self->time, window_time_of_row(times, row));
    return true;
}

static enum status share_tumbling(struct window_columns *self, const struct batch *batch, struct error *err)
{
    struct selection selected = batch_selection(batch);
    for (uint32_t k = 0; k < selected.count; k++) {
        uint32_t row = selection_row(&selected, k);
        int64_t local = 0;
        (void)row_time(self, batch, row, &local);
        int64_t start = window_time_slice(&self->time, local);
        self->bounds[row] = (struct window_bounds){start, start + self->time.spec.size_us};
    }
    struct batch rows = {0};
    TRY(batch_ref(batch, &rows, err));
    return emit_with_windows(self, &rows, self->bounds, err);
}

static enum status add_row(struct window_columns *self, const struct batch *batch, uint32_t row, int64_t local, struct error *err)
{
    const struct window_spec *spec = &self->time.spec;
    struct window_bounds first, last;
    if (!window_time_windows(&self->time, window_time_slice(&self->time, local), &first, &last)) {
        return STATUS_OK;
    }
    for (int64_t end = first.end; end <= last.end; end += spec->slide_us) {
        if (self->count == CHUNK_ROWS) {
            TRY(flush_rows(self, batch, err));
        }
        self->rows[self->count] = (uint16_t)row;
        self->bounds[self->count++] = (struct window_bounds){spec->kind == WINDOW_CUMULATE ? first.start : end - spec->size_us, end};
        if (spec->kind == WINDOW_TUMBLE) {
            break;
        }
    }
    return STATUS_OK;
}

static enum status window_columns_receive(struct node *node, uint32_t input, const struct batch *batch, struct error *err)
{
    (void)input;
    struct window_columns *self = (struct window_columns *)node;
    bool has_nulls = !self->time.spec.processing_time && batch->columns[self->time.spec.time_column].validity != NULL;
    if (self->time.spec.kind == WINDOW_TUMBLE && !has_nulls) {
        return share_tumbling(self, batch, err);
    }
    struct selection selected = batch_selection(batch);
    for (uint32_t k = 0; k < selected.count; k++) {
        uint32_t row = selection_row(&selected, k);
        int64_t local;
        if (row_time(self, batch, row, &local)) {
            TRY(add_row(self, batch, row, local, err));
        }
    }
    return flush_rows(self, batch, err);
}

static enum status window_columns_finish_tick(struct node *node, const struct tick *tick, struct error *err)
{
    (void)tick, (void)err;
    node_pass_watermark(node);
    return STATUS_OK;
}

static const struct node_type window_columns_type = {
    .name = "WindowColumns", .stateless = true, .receive = window_columns_receive, .finish_tick = window_columns_finish_tick};

enum status window_columns_create(struct circuit *circuit, const struct window_columns_spec *spec, struct node *input, struct node **node,
                                  struct error *err)
{
    struct window_columns *self;
    TRY_ALLOC(self, arena_alloc(circuit->arena, sizeof *self), err);
    self->spec = spec;
    const struct type *type = spec->window.processing_time ? NULL : spec->input.schema->columns[spec->window.time_column].type;
    window_time_open(&self->time, &spec->window, type, circuit->evaluation.zone);
    TRY(circuit_add(circuit, &self->node, &window_columns_type, "WindowColumns", &input, 1, err));
    *node = &self->node;
    return STATUS_OK;
}
