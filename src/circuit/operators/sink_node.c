/* circuit/operators/sink_node.c: rows into a sink.
 *
 * Inserts go to the sink as they come. Changes are consolidated per tick; with an upsert key the old and the new row of a key come one
 * after the other as -U, +U. A sink that takes changes in any order and unconsolidated (blackhole) gets them at once.
 */
#include "circuit/operators/sink_node.h"

#include <assert.h>
#include <string.h>

#include "circuit/change_log.h"
#include "circuit/held_output.h"
#include "circuit/operators/specs.h"

struct kept_output { /* a state to restore */
    struct kept_output *next;
    struct text state;
};
struct sink_node {
    struct node node;
    const struct sink_spec *spec;
    struct sink *sink;
    struct change_log *log; /* NULL: inserts only, or any order */
    bool finished;
    struct kept_output *kept;
    struct held_output *held;     /* NULL until there is something */
    struct text_builder prepared; /* circuit.shows_prepared: the state of the last save */
};

/* NOT NULL columns of the table (a planned filter drops such rows when the enforcer says so). */
static enum status sink_check_nulls(const struct sink_node *self, const struct batch *batch, struct error *err)
{
    const struct type *row_type = self->spec->context->row;
    struct selection rows = batch_selection(batch);
    for (uint32_t c = 0; c < row_type->child_count; c++) {
        const struct vector *column = &batch->columns[c];
        if (row_type->children[c]->nullable || (column->validity == NULL && column->physical != PHYSICAL_NULL)) {
            continue;
        }
        for (uint32_t k = 0; k < rows.count; k++) {
            if (!vector_is_valid(column, selection_row(&rows, k))) {
                return error_set(err, ERROR_NULL_NOT_ALLOWED, "column '%s' of table '%s' is NOT NULL, but a row has NULL there",
                                 row_type->names[c], self->spec->context->table);
            }
        }
    }
    return STATUS_OK;
}

static enum status hold(struct sink_node *self, struct error *err)
{
    return self->held != NULL ? STATUS_OK : held_output_create(node_budget(&self->node), &self->held, err);
}

static enum status put(struct sink_node *self, const struct batch *batch, const uint8_t *kinds, struct error *err)
{
    if (self->node.circuit->output == OUTPUT_HELD) {
        TRY(hold(self, err));
        return held_output_write(self->held, batch, kinds, err);
    }
    return self->sink->type->write(self->sink, batch, kinds, err);
}

static enum status sink_node_write(void *owner, struct batch *batch, const uint8_t *kinds, struct error *err)
{
    struct sink_node *self = owner;
    TRY(sink_check_nulls(self, batch, err));
    return put(self, batch, kinds, err);
}

static enum status sink_node_receive(struct node *node, uint32_t input, const struct batch *batch, struct error *err)
{
    (void)input;
    struct sink_node *self = (struct sink_node *)node;
    if (node->circuit->output == OUTPUT_DROPPED) {
        return STATUS_OK;
    }
    if (self->log != NULL) {
        return change_log_add(self->log, batch, err);
    }
    uint8_t kinds[CHUNK_ROWS];
    TRY(sink_check_nulls(self, batch, err));
    memset(kinds, ROW_INSERT, batch->count);
    for (uint32_t row = 0; batch->weights != NULL && row < batch->count; row++) {
        kinds[row] = batch->weights[row] < 0 ? ROW_DELETE : ROW_INSERT;
    }
    return put(self, batch, kinds, err);
}

/* The end of a tick, of which the sink hears later. */
static enum status hold_tick(struct sink_node *self, const struct tick *tick, struct error *err)
{
    TRY(hold(self, err));
    TRY(held_output_tick(self->held, self->node.watermark, err));
    if (tick->end && !self->finished) {
        self->finished = true;
        return held_output_finish(self->held, err);
    }
    return STATUS_OK;
}

static enum status sink_node_finish_tick(struct node *node, const struct tick *tick, struct error *err)
{
    struct sink_node *self = (struct sink_node *)node;
    if (self->log != NULL) {
        TRY(change_log_take_kinds(self->log, self->spec->upsert_key, self->spec->upsert_key_count, sink_node_write, self, err));
    }
    node_pass_watermark(node);
    if (node->circuit->output == OUTPUT_DROPPED) {
        return STATUS_OK;
    }
    if (node->circuit->output == OUTPUT_HELD) {
        return hold_tick(self, tick, err);
    }
    TRY(self->sink->type->finish_tick(self->sink, node->watermark, err));
    if (tick->end && !self->finished) {
        self->finished = true;
        TRY(self->sink->type->finish(self->sink, err));
    }
    return STATUS_OK;
}

static enum status sink_node_stop(struct node *node, struct error *err)
{
    struct sink_node *self = (struct sink_node *)node;
    if (self->finished) {
        return STATUS_OK;
    }
    self->finished = true;
    return self->sink->type->finish(self->sink, err);
}

static void sink_node_close(struct node *node)
{
    struct sink_node *self = (struct sink_node *)node;
    change_log_destroy(self->log);
    held_output_destroy(self->held);
    text_builder_close(&self->prepared);
    if (self->sink != NULL) {
        self->sink->type->close(self->sink);
    }
}

/* ---- the state table "output": what the sink's prepare gave ---- */

static const struct column output_columns[] = {{.name = "state", .type = &type_bytes}};
static const struct schema output_schema = {ARRAY_LENGTH(output_columns), output_columns};
static const char *const output_layouts[ARRAY_LENGTH(output_columns)] = {"text"};
static const struct snapshot_table output_table = {
    .name = "output", .schema = &output_schema, .place = SNAPSHOT_ONE, .expiry = -1, .layouts = output_layouts};

static enum status sink_node_save(struct node *node, struct snapshot_writer *writer, struct error *err)
{
    struct text_builder state = {0};
    enum status status = sink_node_prepare(node, snapshot_checkpoint(writer), &state, err);
    const struct snapshot_cell cell = {.bytes = {state.bytes, state.length}};
    if (status == STATUS_OK) {
        status = snapshot_write_cells(writer, 0, 0, &cell, err);
    }
    if (node->circuit->shows_prepared) {
        struct sink_node *self = (struct sink_node *)node;
        struct text_builder before = self->prepared;
        self->prepared = state;
        state = before;
    }
    text_builder_close(&state);
    return status;
}

static enum status sink_node_take(struct node *node, uint32_t table, const struct snapshot_rows *rows, struct error *err)
{
    (void)table;
    struct sink_node *self = (struct sink_node *)node;
    struct arena *arena = node_arena(node);
    for (uint32_t row = 0; row < rows->batch->count; row++) {
        struct text state = snapshot_text(rows->batch, row, 0);
        struct kept_output *kept;
        TRY_ALLOC(kept, arena_alloc(arena, sizeof *kept), err);
        *kept = (struct kept_output){self->kept, {NULL, state.length}};
        TRY_ALLOC(kept->state.bytes, arena_text(arena, state.bytes, state.length), err);
        self->kept = kept;
    }
    return STATUS_OK;
}

/* Only now, when all files of the checkpoint have been read and found good, does the world outside see anything. */
static enum status sink_node_restored(struct node *node, struct error *err)
{
    struct sink_node *self = (struct sink_node *)node;
    if (node->circuit->output == OUTPUT_HELD) {
        return STATUS_OK; /* the process that is followed has shown it, or will */
    }
    for (; self->kept != NULL; self->kept = self->kept->next) {
        TRY(sink_node_restore(node, self->kept->state.bytes, self->kept->state.length, err));
    }
    return STATUS_OK;
}

static const struct node_type sink_node_type = {
    .name = "Sink",
    .stateless = true,
    .kept = NODE_KEPT_WITH_PLACES | NODE_KEPT_WITH_HISTORY,
    .receive = sink_node_receive,
    .finish_tick = sink_node_finish_tick,
    .close = sink_node_close,
    .stop = sink_node_stop,
    .save = sink_node_save,
    .restore = sink_node_take,
    .restored = sink_node_restored,
    .committed = sink_node_committed,
};

enum status sink_node_create(struct circuit *circuit, const struct sink_spec *spec, struct node *input, struct node **node,
                             struct error *err)
{
    struct sink_node *self;
    struct sink_context *context;
    const struct schema *schema = spec->input.schema;
    const struct type **types;
    TRY_ALLOC(self, arena_alloc(circuit->arena, sizeof *self), err);
    TRY_ALLOC(types, arena_alloc(circuit->arena, (schema->count + 1) * sizeof *types), err);
    TRY_ALLOC(context, arena_copy(circuit->arena, spec->context, sizeof *context), err);
    context->worker = circuit->worker;
    context->worker_count = circuit->worker_count;
    self->spec = spec;
    for (uint32_t c = 0; c < schema->count; c++) {
        types[c] = schema->columns[c].type;
    }
    TRY(circuit_add(circuit, &self->node, &sink_node_type, "Sink", &input, 1, err));
    TRY(sink_open(context, &self->sink, err));
    if (self->sink->type->commit != NULL && context->owner != NULL) {
        self->node.tables = &output_table;
        self->node.table_count = 1;
    }
    if (spec->input.changes && !self->sink->type->any_order) {
        TRY(change_log_create(circuit->budget, types, schema->count, &self->log, err));
    }
    *node = &self->node;
    return STATUS_OK;
}

bool sink_node_commits(const struct node *node)
{
    return ((const struct sink_node *)node)->sink->type->commit != NULL;
}

/* What was being done, once, for the three calls. */
static enum status with_context(const struct sink_node *self, const char *doing, enum status status, struct error *err)
{
    if (status != STATUS_OK) {
        error_add_context(err, "while %s the output of table '%s'", doing, self->spec->context->table);
    }
    return status;
}

enum status sink_node_prepare(struct node *node, uint64_t checkpoint, struct text_builder *state, struct error *err)
{
    const struct sink_node *self = (const struct sink_node *)node;
    const struct sink_commit *commit = self->sink->type->commit;
    return commit == NULL ? STATUS_OK : with_context(self, "saving", commit->prepare(self->sink, checkpoint, state, err), err);
}

enum status sink_node_committed(struct node *node, uint64_t checkpoint, struct error *err)
{
    const struct sink_node *self = (const struct sink_node *)node;
    const struct sink_commit *commit = self->sink->type->commit;
    return commit == NULL ? STATUS_OK : with_context(self, "committing", commit->committed(self->sink, checkpoint, err), err);
}

enum status sink_node_restore(struct node *node, const char *bytes, size_t length, struct error *err)
{
    const struct sink_node *self = (const struct sink_node *)node;
    const struct sink_commit *commit = self->sink->type->commit;
    assert(node->circuit->worker == 0);
    if (commit == NULL) {
        return length == 0 ? STATUS_OK
                           : error_set(err, ERROR_OUTPUT_LOST, "the saved state is of another sink than the table '%s' has now",
                                       self->spec->context->table);
    }
    return with_context(self, "restoring", commit->restore(self->sink, (struct text){bytes, length}, err), err);
}

/* ---- a standby ---- */

bool sink_node_is(const struct node *node)
{
    return node->type == &sink_node_type;
}

struct text sink_node_prepared(const struct node *node)
{
    const struct sink_node *self = (const struct sink_node *)node;
    return (struct text){self->prepared.bytes, self->prepared.length};
}

enum status sink_node_hold_cut(struct node *node, uint64_t checkpoint, struct error *err)
{
    struct sink_node *self = (struct sink_node *)node;
    TRY(hold(self, err));
    return held_output_cut(self->held, checkpoint, err);
}

void sink_node_drop_held(struct node *node, uint64_t checkpoint)
{
    struct sink_node *self = (struct sink_node *)node;
    self->kept = NULL; /* of an older one */
    if (self->held != NULL) {
        held_output_drop(self->held, checkpoint);
    }
}

enum status sink_node_show_base(struct node *node, struct error *err)
{
    return sink_node_restored(node, err);
}

enum status sink_node_release(struct node *node, struct error *err)
{
    struct sink_node *self = (struct sink_node *)node;
    return self->held == NULL ? STATUS_OK : with_context(self, "taking over", held_output_release(self->held, self->sink, err), err);
}
