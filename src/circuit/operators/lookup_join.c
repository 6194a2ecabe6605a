/* circuit/operators/lookup_join.c: rows pass by a table that does not change any more.
 *
 * receive      right rows are stored. Left rows wait until the right input has ended; from then on each chunk is joined as it passes, and
 *              nothing of it is kept.
 * State        the tables of the join, of which "left" stays empty, and "waiting".
 */
#include <stdlib.h>
#include <string.h>

#include "circuit/operators/join_save.h"
#include "circuit/operators/state_tables.h"

struct lookup_join {
    struct join join;
    struct batch *waiting;
    uint32_t waiting_count, waiting_capacity;
};

/* Room for one more batch. */
static enum status lookup_grow(struct lookup_join *self, struct error *err)
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
    return STATUS_OK;
}

static enum status lookup_keep(struct lookup_join *self, const struct batch *batch, struct error *err)
{
    TRY(lookup_grow(self, err));
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

/* ---- state ---- */

enum { WAITING_WEIGHT, WAITING_WATERMARK, WAITING_ORDINAL, WAITING_NUMBERS }; /* after the columns of the left */

static enum status lookup_declare(struct lookup_join *self, struct error *err)
{
    static const struct column numbers[WAITING_NUMBERS] = {[WAITING_WEIGHT] = {.name = "weight", .type = &type_bigint_not_null},
                                                           [WAITING_WATERMARK] = {.name = "watermark", .type = &type_bigint_not_null},
                                                           [WAITING_ORDINAL] = {.name = "ordinal", .type = &type_bigint_not_null}};
    const struct input_spec *left = &self->join.spec->left;
    struct arena *arena = node_arena(&self->join.node);
    struct snapshot_table waiting = {.name = "waiting", .expiry = -1};
    TRY(state_schema_make(arena, left->schema, NULL, left->schema->count, numbers, WAITING_NUMBERS, &waiting.schema, err));
    TRY(state_table_place(arena, left, NULL, left->schema->count, &waiting, err));
    return join_declare(&self->join, &waiting, err);
}

static enum status ref_columns(const struct batch *from, uint32_t count, struct batch *to, struct error *err)
{
    for (uint32_t i = 0; i < count; i++) {
        TRY(vector_ref(&from->columns[i], &to->columns[i], err));
    }
    return STATUS_OK;
}

static enum status waiting_numbers(struct lookup_join *self, const struct batch *batch, struct vector *columns, struct error *err)
{
    int64_t values[WAITING_NUMBERS][CHUNK_ROWS];
    for (uint32_t row = 0; row < batch->count; row++) {
        values[WAITING_WEIGHT][row] = batch_weight(batch, row);
        values[WAITING_WATERMARK][row] = batch->watermarks != NULL ? batch->watermarks[row] : WATERMARK_NONE;
        values[WAITING_ORDINAL][row] = batch->ordered ? batch_ordinal(batch, row) : 0;
    }
    for (uint32_t i = 0; i < WAITING_NUMBERS; i++) {
        TRY(state_number_column(node_budget(&self->join.node), values[i], batch->count, &columns[i], err));
    }
    return STATUS_OK;
}

static enum status save_batch(struct lookup_join *self, struct snapshot_writer *writer, const struct batch *batch, uint64_t *next,
                              struct error *err)
{
    uint64_t ids[CHUNK_ROWS];
    uint32_t count = self->join.left_columns;
    struct batch saved = {0};
    TRY(batch_init(&saved, count + WAITING_NUMBERS, err));
    for (uint32_t k = 0; k < batch_rows(batch); k++) {
        ids[k] = (*next)++;
    }
    saved.count = batch->count;
    saved.selected = batch->selected;
    saved.selected_count = batch->selected_count;
    enum status status = ref_columns(batch, count, &saved, err);
    if (status == STATUS_OK) {
        status = waiting_numbers(self, batch, saved.columns + count, err);
    }
    if (status == STATUS_OK) {
        status = snapshot_write(writer, self->join.node.table_count - 1, ids, &saved, err);
    }
    batch_release(&saved);
    return status;
}

static enum status lookup_join_save(struct node *node, struct snapshot_writer *writer, struct error *err)
{
    struct lookup_join *self = (struct lookup_join *)node;
    uint64_t next = 0;
    TRY(join_save(&self->join, writer, err));
    if (!snapshot_is_full(writer)) {
        TRY(snapshot_replace(writer, node->table_count - 1, err));
    }
    bool saved_elsewhere = self->join.spec->left.everywhere && node->circuit->worker > 0;
    for (uint32_t i = 0; i < self->waiting_count && !saved_elsewhere; i++) {
        TRY(save_batch(self, writer, &self->waiting[i], &next, err));
    }
    return STATUS_OK;
}

static enum status set_numbers(struct lookup_join *self, const struct batch *saved, struct batch *batch, struct error *err)
{
    struct budget *budget = node_budget(&self->join.node);
    uint32_t first = self->join.left_columns, count = batch->count;
    const struct vector *numbers = &saved->columns[first];
    int64_t *values;
    TRY(batch_need_weights(budget, batch, count, &values, err));
    memcpy(values, vector_int64(&numbers[WAITING_WEIGHT]), count * sizeof *values);
    TRY(batch_need_watermarks(budget, batch, count, &values, err));
    memcpy(values, vector_int64(&numbers[WAITING_WATERMARK]), count * sizeof *values);
    if (self->join.spec->left.ordered) {
        TRY(batch_need_ordinals(budget, batch, count, &values, err));
        memcpy(values, vector_int64(&numbers[WAITING_ORDINAL]), count * sizeof *values);
        batch->ordered = true;
    }
    return STATUS_OK;
}

static enum status restore_waiting(struct lookup_join *self, const struct snapshot_rows *rows, struct error *err)
{
    const struct input_spec *left = &self->join.spec->left;
    struct batch batch = {0};
    if (!left->everywhere && !state_is_own(self->join.node.circuit, left, rows)) {
        return STATUS_OK;
    }
    TRY(lookup_grow(self, err));
    TRY(batch_init(&batch, left->schema->count, err));
    batch.count = rows->batch->count;
    enum status status = ref_columns(rows->batch, batch.column_count, &batch, err);
    if (status == STATUS_OK) {
        status = set_numbers(self, rows->batch, &batch, err);
    }
    if (status != STATUS_OK) {
        batch_release(&batch);
        return status;
    }
    self->waiting[self->waiting_count++] = batch;
    return STATUS_OK;
}

static enum status lookup_join_restore(struct node *node, uint32_t table, const struct snapshot_rows *rows, struct error *err)
{
    struct lookup_join *self = (struct lookup_join *)node;
    return table == node->table_count - 1 ? restore_waiting(self, rows, err) : join_restore(&self->join, table, rows, err);
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
    .count_state = join_count_state,
    .close = lookup_join_close,
    .save = lookup_join_save,
    .restore = lookup_join_restore,
    .restored = join_restored,
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
    TRY(lookup_declare(self, err));
    *node = &self->join.node;
    return STATUS_OK;
}
