/* circuit/operators/set_node.c: INTERSECT, EXCEPT, each also ALL.
 *
 * Table        rows -> how often each side has it, and how often the output shows it.
 * finish_tick  INTERSECT ALL shows min(left, right), EXCEPT ALL max(left - right, 0); without ALL at most one. The difference to what is
 *              shown is emitted. NULLs are equal.
 * Time-to-live A row that no side has touched for so long is forgotten.
 * State        "rows": a row, how often each side has it, when it was written; what the output shows follows from that.
 */
#include <stdlib.h>
#include <string.h>

#include "circuit/circuit_cold.h"
#include "circuit/operators/row_output.h"
#include "circuit/operators/state_tables.h"

struct set_counts {
    int64_t sides[2], shown;
    int64_t touched;
};

struct set_node {
    struct node node;
    const struct set_spec *spec;
    struct key_table *table;
    uint32_t *columns, column_count;
    uint32_t *touched, touched_count, touched_capacity;
    struct dirty_slots dirty;
    struct cold_table *cold; /* NULL: no database */
    struct slot_cut cut;     /* rows that a checkpoint is still to get */
    struct time_to_live ttl;
    bool lossy;        /* rows may be withdrawn that are forgotten: no count is below zero */
    uint32_t arrivals; /* rows of this tick */
    uint64_t hashes[CHUNK_ROWS];
    uint32_t slots[CHUNK_ROWS];
    int64_t weights[CHUNK_ROWS];
    uint32_t count;
};

/* For the next checkpoint. */
static enum status set_note(struct set_node *self, uint32_t slot, struct error *err)
{
    return self->node.circuit->incremental ? dirty_slots_mark(&self->dirty, slot, err) : STATUS_OK;
}

static enum status set_touch(struct set_node *self, struct set_counts *counts, uint32_t slot, struct error *err)
{
    if (counts->touched != 0) {
        return STATUS_OK;
    }
    if (self->touched_count == self->touched_capacity) {
        uint32_t capacity = self->touched_capacity == 0 ? CHUNK_ROWS : self->touched_capacity * 2;
        uint32_t *touched = realloc(self->touched, capacity * sizeof *touched);
        if (touched == NULL) {
            return error_set(err, ERROR_BUDGET_SPENT, "no room for the changed rows of a set operation");
        }
        self->touched = touched;
        self->touched_capacity = capacity;
    }
    self->touched[self->touched_count++] = slot;
    counts->touched = 1;
    return set_note(self, slot, err);
}

static enum status set_renew(struct set_node *self, uint32_t count, struct error *err)
{
    struct set_counts *counts = key_table_values(self->table, 0);
    ttl_set_now(&self->ttl, node_evaluation(&self->node)->now_us);
    for (uint32_t k = 0; k < count; k++) {
        if (ttl_has_expired(&self->ttl, self->slots[k])) {
            counts[self->slots[k]] = (struct set_counts){0};
        }
        TRY(ttl_write(&self->ttl, self->slots[k], err));
    }
    self->arrivals += count;
    return STATUS_OK;
}

static enum status set_remove(struct set_node *self, uint32_t slot, struct error *err)
{
    if (self->cold != NULL) {
        TRY(cold_table_forget(self->cold, &slot, 1, err));
    }
    TRY(slot_cut_keep(&self->cut, &slot, 1, err));
    key_table_remove(self->table, slot);
    ttl_forget(&self->ttl, slot);
    return set_note(self, slot, err);
}

static enum status set_sweep(struct set_node *self, struct error *err)
{
    uint32_t expired[CHUNK_ROWS], room = TTL_SWEEP_MIN + self->arrivals;
    bool more = self->cold != NULL;
    ttl_set_now(&self->ttl, node_evaluation(&self->node)->now_us);
    for (uint32_t taken = 0; taken < room; taken += CHUNK_ROWS) {
        uint32_t count =
            ttl_sweep(&self->ttl, key_table_slots(self->table), expired, room - taken < CHUNK_ROWS ? room - taken : CHUNK_ROWS);
        for (uint32_t i = 0; i < count; i++) {
            TRY(set_remove(self, expired[i], err));
        }
    }
    for (uint32_t taken = 0, count; more && taken < room; taken += CHUNK_ROWS) {
        TRY(cold_table_fetch_expired(self->cold, &self->ttl, expired, &count, &more, err));
        for (uint32_t i = 0; i < count; i++) {
            TRY(set_remove(self, expired[i], err));
        }
    }
    self->arrivals = 0;
    return STATUS_OK;
}

static enum status set_find(struct set_node *self, const struct batch *batch, struct error *err)
{
    batch_hash(batch, self->columns, self->column_count, self->hashes);
    if (UNLIKELY(self->cold != NULL)) {
        TRY(node_fetch_keys(&self->node, self->cold, batch, self->columns, self->hashes, err));
    }
    TRY(key_table_find_or_insert(self->table, batch, self->columns, self->hashes, self->slots, err));
    return LIKELY(self->cold == NULL) ? STATUS_OK : cold_table_changed(self->cold, self->slots, batch_rows(batch), 0, err);
}

static enum status set_node_receive(struct node *node, uint32_t input, const struct batch *batch, struct error *err)
{
    struct set_node *self = (struct set_node *)node;
    TRY(set_find(self, batch, err));
    TRY(slot_cut_keep(&self->cut, self->slots, batch_rows(batch), err));
    if (ttl_is_set(&self->ttl)) {
        TRY(set_renew(self, batch_rows(batch), err));
    }
    struct set_counts *counts = key_table_values(self->table, 0);
    struct selection rows = batch_selection(batch);
    for (uint32_t k = 0; k < rows.count; k++) {
        struct set_counts *row = &counts[self->slots[k]];
        row->sides[input] += batch_weight(batch, selection_row(&rows, k));
        TRY(set_touch(self, row, self->slots[k], err));
    }
    return STATUS_OK;
}

static int64_t set_shown(const struct set_spec *spec, const struct set_counts *counts)
{
    int64_t left = counts->sides[0], right = counts->sides[1];
    if (spec->all) {
        int64_t shown = spec->except ? left - right : left < right ? left : right;
        return shown > 0 ? shown : 0;
    }
    return left > 0 && (spec->except ? right <= 0 : right > 0);
}

static enum status set_fill(struct set_node *self, struct batch *batch, struct error *err)
{
    for (uint32_t c = 0; c < self->column_count; c++) {
        TRY(key_table_gather(self->table, c, self->slots, self->count, &batch->columns[c], err));
        batch->columns[c].type = self->spec->left.schema->columns[c].type;
    }
    batch->count = self->count;
    int64_t *weights;
    TRY(batch_need_weights(node_budget(&self->node), batch, self->count, &weights, err));
    memcpy(weights, self->weights, self->count * sizeof *weights);
    return STATUS_OK;
}

static enum status set_flush(struct set_node *self, struct error *err)
{
    struct batch batch;
    if (self->count == 0) {
        return STATUS_OK;
    }
    TRY(batch_init(&batch, self->column_count, err));
    enum status status = set_fill(self, &batch, err);
    if (status == STATUS_OK) {
        status = node_emit(&self->node, &batch, err);
    }
    batch_release(&batch);
    self->count = 0;
    return status;
}

static enum status set_emit(struct set_node *self, uint32_t slot, int64_t weight, struct error *err)
{
    self->slots[self->count] = slot;
    self->weights[self->count++] = weight;
    return self->count == node_chunk_rows(&self->node) ? set_flush(self, err) : STATUS_OK;
}

/* What has not changed goes out and comes again where there is a time-to-live, so that it lives on in the state of those who read it. */
static enum status set_show(struct set_node *self, uint32_t slot, struct set_counts *row, struct error *err)
{
    for (uint32_t side = 0; side < 2 && self->lossy; side++) {
        row->sides[side] = row->sides[side] < 0 ? 0 : row->sides[side];
    }
    int64_t shown = set_shown(self->spec, row), before = row->shown;
    row->touched = 0;
    row->shown = shown;
    if (shown != before) {
        return set_emit(self, slot, shown - before, err);
    }
    if (!ttl_is_set(&self->ttl) || shown == 0) {
        return STATUS_OK;
    }
    TRY(set_emit(self, slot, -shown, err));
    return set_emit(self, slot, shown, err);
}

static void set_count_state(struct node *node)
{
    const struct set_node *self = (const struct set_node *)node;
    node->metrics.state_keys = key_table_count(self->table);
    node->metrics.state_bytes = key_table_bytes(self->table) + ttl_bytes(&self->ttl);
}

static enum status set_node_finish_tick(struct node *node, const struct tick *tick, struct error *err)
{
    (void)tick;
    struct set_node *self = (struct set_node *)node;
    struct set_counts *counts = key_table_values(self->table, 0);
    for (uint32_t i = 0; i < self->touched_count; i++) {
        TRY(set_show(self, self->touched[i], &counts[self->touched[i]], err));
    }
    TRY(set_flush(self, err));
    for (uint32_t i = 0; i < self->touched_count; i++) {
        const struct set_counts *row = &counts[self->touched[i]];
        if (row->sides[0] == 0 && row->sides[1] == 0) {
            TRY(set_remove(self, self->touched[i], err));
        }
    }
    self->touched_count = 0;
    if (ttl_is_set(&self->ttl)) {
        TRY(set_sweep(self, err));
    }
    node_pass_watermark(node);
    return STATUS_OK;
}

static void set_node_close(struct node *node)
{
    struct set_node *self = (struct set_node *)node;
    key_table_destroy(self->table);
    free(self->touched);
    dirty_slots_close(&self->dirty);
    slot_cut_close(&self->cut);
    ttl_close(&self->ttl);
}

/* ---- state ---- */

static enum status set_declare(struct set_node *self, struct error *err)
{
    static const struct column sides[] = {{.name = "left", .type = &type_bigint_not_null},
                                          {.name = "right", .type = &type_bigint_not_null},
                                          {.name = "written", .type = &type_bigint}};
    struct arena *arena = node_arena(&self->node);
    const struct input_spec *input = &self->spec->left;
    struct snapshot_table *table;
    TRY_ALLOC(table, arena_alloc(arena, sizeof *table), err);
    *table = (struct snapshot_table){.name = "rows", .expiry = -1};
    TRY(state_schema_make(arena, input->schema, NULL, self->column_count, sides, ARRAY_LENGTH(sides), &table->schema, err));
    self->dirty.budget = self->cut.pending.budget = node_budget(&self->node);
    self->cut.part = self->node.circuit->settings.chunk_rows;
    self->node.tables = table;
    self->node.table_count = 1;
    return state_table_place(arena, input, NULL, self->column_count, table, err);
}

static enum status set_columns(void *owner, const uint32_t *slots, uint32_t count, struct batch *batch, struct error *err)
{
    struct set_node *self = owner;
    const struct set_counts *counts = key_table_values(self->table, 0);
    int64_t sides[2][CHUNK_ROWS];
    for (uint32_t c = 0; c < self->column_count; c++) {
        TRY(key_table_gather(self->table, c, slots, count, &batch->columns[c], err));
    }
    for (uint32_t side = 0; side < 2; side++) {
        for (uint32_t k = 0; k < count; k++) {
            sides[side][k] = counts[slots[k]].sides[side];
        }
        TRY(state_number_column(node_budget(&self->node), sides[side], count, &batch->columns[self->column_count + side], err));
    }
    return state_written_column(&self->ttl, node_budget(&self->node), slots, count, &batch->columns[self->column_count + 2], err);
}

static enum status set_save(struct node *node, struct snapshot_writer *writer, struct error *err)
{
    struct set_node *self = (struct set_node *)node;
    struct dirty_slots *dirty = node->circuit->incremental ? &self->dirty : NULL;
    if (node->in_database) {
        dirty_slots_clear(&self->dirty);
        return STATUS_OK;
    }
    return slot_cut_save(&self->cut, writer, 0, self->column_count + 3, self->table, dirty, set_columns, self, NULL, err);
}

/* Rows of the table, whose slots are known, back into memory. */
static enum status set_add_rows(struct set_node *self, const struct batch *batch, struct error *err)
{
    struct set_counts *counts = key_table_values(self->table, 0);
    for (uint32_t row = 0; row < batch->count; row++) {
        struct set_counts *made = &counts[self->slots[row]];
        made->sides[0] = snapshot_number(batch, row, self->column_count);
        made->sides[1] = snapshot_number(batch, row, self->column_count + 1);
        made->shown = set_shown(self->spec, made);
        TRY(state_restore_written(&self->ttl, self->slots[row], batch, row, self->column_count + 2, err));
    }
    return STATUS_OK;
}

static enum status set_restore(struct node *node, uint32_t table, const struct snapshot_rows *rows, struct error *err)
{
    (void)table;
    struct set_node *self = (struct set_node *)node;
    TRY(set_find(self, rows->batch, err));
    return set_add_rows(self, rows->batch, err);
}

/* ---- a database: each row is a unit ---- */

static enum status row_add(void *context, struct batch *batch, uint32_t *slots, struct error *err)
{
    struct set_node *self = context;
    batch_hash(batch, self->columns, self->column_count, self->hashes);
    TRY(key_table_find_or_insert(self->table, batch, self->columns, self->hashes, self->slots, err));
    memcpy(slots, self->slots, batch->count * sizeof *slots);
    return set_add_rows(self, batch, err);
}

static enum status row_drop(void *context, const uint32_t *slots, uint32_t count, struct error *err)
{
    (void)err;
    struct set_node *self = context;
    for (uint32_t k = 0; k < count; k++) {
        key_table_remove(self->table, slots[k]);
        ttl_forget(&self->ttl, slots[k]);
    }
    return STATUS_OK;
}

static bool row_pinned(const void *context, uint32_t slot)
{
    const struct set_node *self = context;
    const struct set_counts *counts = key_table_values(self->table, 0);
    return counts[slot].touched != 0;
}

static int64_t row_due(const void *context, uint32_t slot)
{
    return ttl_expires_us(&((const struct set_node *)context)->ttl, slot);
}

static enum status set_open_cold(struct node *node, struct error *err)
{
    struct set_node *self = (struct set_node *)node;
    const struct cold_owner owner = {
        .context = self, .columns = set_columns, .add = row_add, .drop = row_drop, .pinned = row_pinned, .due = row_due};
    struct cold_layout layout;
    TRY(node_make_cold(node, 1, &self->cold, err));
    TRY(node_make_layout(node, &node->tables[0], self->columns, self->column_count, &layout, err));
    TRY(cold_table_open(self->cold, node->circuit->cold, &layout, 1, &owner, self->table, err));
    return ttl_is_set(&self->ttl) ? cold_table_open_timers(self->cold, 1, self->spec->ttl_us / TTL_SPANS, err) : STATUS_OK;
}

static const struct node_type set_node_type = {
    .name = "SetOperation",
    .receive = set_node_receive,
    .finish_tick = set_node_finish_tick,
    .count_state = set_count_state,
    .close = set_node_close,
    .save = set_save,
    .restore = set_restore,
    .open_cold = set_open_cold,
    .saves_in_memory = true,
};

enum status set_node_create(struct circuit *circuit, const struct set_spec *spec, struct node *left, struct node *right, struct node **node,
                            struct error *err)
{
    struct set_node *self;
    struct node *inputs[2] = {left, right};
    TRY_ALLOC(self, arena_alloc(circuit->arena, sizeof *self), err);
    self->spec = spec;
    self->column_count = spec->left.schema->count;
    TRY(circuit_add(circuit, &self->node, &set_node_type, spec->except ? "Except" : "Intersect", inputs, 2, err));
    TRY_ALLOC(self->columns, arena_alloc(circuit->arena, (self->column_count + 1) * sizeof(uint32_t)), err);
    for (uint32_t i = 0; i < self->column_count; i++) {
        self->columns[i] = i;
    }
    const struct type *const *types;
    uint32_t value_bytes = sizeof(struct set_counts);
    TRY(schema_types(circuit->arena, spec->left.schema, &types, err));
    TRY(key_table_create(circuit->budget, types, self->column_count, &value_bytes, 1, &self->table, err));
    ttl_open(&self->ttl, circuit->budget, spec->ttl_us, circuit->evaluation.now_us);
    self->lossy = spec->ttl_us > 0 || spec->left.lossy || spec->right.lossy;
    TRY(set_declare(self, err));
    *node = &self->node;
    return STATUS_OK;
}
