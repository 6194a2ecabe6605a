/* circuit/operators/sort_node.c: ORDER BY.
 *
 * Bounded    All rows are kept; equal ones are added up whenever their number has doubled, so that a long changelog does not grow without
 *            need. At the end they are sorted (by the keys, then by source order or columns) and emitted.
 * Temporal   The first key is the event time: rows wait sorted until the watermark passes them. A row that the watermark had reached
 *            when it came is late: counted and left out.
 * State      "rows": all rows with their ordinals and weights. A later checkpoint holds the rows that came since, or again all when equal
 *            ones were added up; what was emitted in order of time dies by it.
 */
#include <stdlib.h>

#include "circuit/operators/row_output.h"
#include "circuit/operators/row_state.h"
#include "circuit/operators/sorted_rows.h"
#include "circuit/operators/time_heap.h"

enum { FIRST_ITEMS = 1024, CONSOLIDATE_ITEMS = 1 << 16 };

struct sort_node {
    struct node node;
    const struct sort_spec *spec;
    struct row_store *store;
    struct row_order order, by_columns; /* by_columns: equal rows lie together, whatever their ordinals */
    struct row_output *output;
    struct sorted_item *items;
    uint32_t count, capacity, consolidate_at;
    struct sorted_rows waiting;  /* temporal */
    struct touched_rows changed; /* temporal; else rows from `saved` on are new */
    uint32_t saved;
    row_handle handles[CHUNK_ROWS];
    uint16_t selected[CHUNK_ROWS];
};

static int compare_items(const void *left, const void *right, void *order)
{
    return row_order_compare(order, left, right);
}

/* By the keys and all columns, then the source order: of equal rows the first one stays. */
static int compare_contents(const void *left, const void *right, void *order)
{
    const struct sorted_item *first = left, *second = right;
    int by_contents = row_order_compare(order, left, right);
    return by_contents != 0 ? by_contents : (first->ordinal > second->ordinal) - (first->ordinal < second->ordinal);
}

static void sort_consolidate(struct sort_node *self)
{
    uint32_t kept = 0;
    if (self->count == 0) {
        return;
    }
    qsort_r(self->items, self->count, sizeof *self->items, compare_contents, &self->by_columns);
    for (uint32_t i = 0; i < self->count; i++) {
        struct sorted_item *item = &self->items[i];
        if (kept > 0 && row_order_compare(&self->by_columns, &self->items[kept - 1], item) == 0) {
            self->items[kept - 1].weight += item->weight;
            row_store_free(self->store, item->row);
            continue;
        }
        if (kept > 0 && self->items[kept - 1].weight == 0) {
            row_store_free(self->store, self->items[--kept].row);
        }
        self->items[kept++] = *item;
    }
    if (kept > 0 && self->items[kept - 1].weight == 0) {
        row_store_free(self->store, self->items[--kept].row);
    }
    self->count = kept;
    self->saved = 0;
    self->consolidate_at = kept * 2 > CONSOLIDATE_ITEMS ? kept * 2 : CONSOLIDATE_ITEMS;
}

static enum status sort_add(struct sort_node *self, const struct sorted_item *item, struct error *err)
{
    if (self->count == self->capacity) {
        uint32_t capacity = self->capacity == 0 ? FIRST_ITEMS : self->capacity * 2;
        size_t bytes = (size_t)(capacity - self->capacity) * sizeof *self->items;
        if (!budget_charge(node_budget(&self->node), bytes)) {
            return error_set(err, ERROR_BUDGET_SPENT, "no room to sort %u rows", self->count);
        }
        struct sorted_item *items = realloc(self->items, (size_t)capacity * sizeof *items);
        if (items == NULL) {
            budget_release(node_budget(&self->node), bytes);
            return error_set(err, ERROR_BUDGET_SPENT, "no room to sort %u rows", self->count);
        }
        self->items = items;
        self->capacity = capacity;
    }
    self->items[self->count++] = *item;
    return STATUS_OK;
}

/* Leaves out rows whose event time the watermark had reached when they came. */
static uint32_t sort_select(struct sort_node *self, const struct batch *batch)
{
    struct selection rows = batch_selection(batch);
    const struct vector *time = &batch->columns[self->spec->keys[0].column];
    uint32_t count = 0;
    for (uint32_t k = 0; k < rows.count; k++) {
        uint32_t row = selection_row(&rows, k);
        if (!vector_is_valid(time, row)) {
            self->node.metrics.null_time++;
        } else if (vector_int64(time)[row] <= batch_watermark(batch, row)) {
            self->node.metrics.late++;
        } else {
            self->selected[count++] = (uint16_t)row;
        }
    }
    return count;
}

static enum status sort_put(struct sort_node *self, const struct sorted_item *item, struct error *err)
{
    if (!self->spec->temporal) {
        return sort_add(self, item, err);
    }
    struct sorted_place place = sorted_rows_seek(&self->waiting, &self->order, item);
    TRY(touched_rows_mark(&self->changed, item->row, err));
    return sorted_rows_insert(&self->waiting, node_budget(&self->node), place, item, err);
}

static enum status sort_receive(struct node *node, uint32_t input, const struct batch *batch, struct error *err)
{
    (void)input;
    struct sort_node *self = (struct sort_node *)node;
    struct batch kept = *batch;
    if (self->spec->temporal) {
        kept.selected = self->selected;
        kept.selected_count = sort_select(self, batch);
    }
    struct selection rows = batch_selection(&kept);
    if (rows.count == 0) {
        return STATUS_OK;
    }
    TRY(row_store_add(self->store, &kept, self->handles, err));
    for (uint32_t k = 0; k < rows.count; k++) {
        uint32_t row = selection_row(&rows, k);
        struct sorted_item item = {.prefix = row_order_prefix(&self->order, batch, row),
                                   .row = self->handles[k],
                                   .ordinal = batch->ordered ? batch_ordinal(batch, row) : 0,
                                   .weight = batch_weight(batch, row)};
        TRY(sort_put(self, &item, err));
    }
    if (self->spec->input.changes && self->count >= self->consolidate_at) {
        sort_consolidate(self);
    }
    return STATUS_OK;
}

static enum status sort_emit_all(struct sort_node *self, struct error *err)
{
    if (self->spec->input.changes) {
        sort_consolidate(self);
    }
    if (self->count == 0) {
        return STATUS_OK;
    }
    qsort_r(self->items, self->count, sizeof *self->items, compare_items, &self->order);
    int64_t skip = self->spec->offset, left = self->spec->fetch < 0 ? INT64_MAX : self->spec->fetch;
    for (uint32_t i = 0; i < self->count && left > 0; i++) {
        int64_t weight = self->items[i].weight > 0 ? self->items[i].weight : 0; /* what was withdrawn and never came is no row */
        int64_t skipped = weight < skip ? weight : skip;
        skip -= skipped;
        weight -= skipped;
        weight = weight < left ? weight : left;
        left -= weight;
        if (weight > 0) {
            TRY(row_output_add(self->output, self->items[i].row, weight, 0, err));
        }
    }
    return row_output_flush(self->output, err);
}

static int64_t sort_item_time(const struct sorted_item *item)
{
    return item->prefix;
}

/* Emits what the watermark has passed; rows are freed once they are out. */
static enum status sort_emit_passed(struct sort_node *self, int64_t watermark, struct error *err)
{
    uint32_t emitted = 0;
    struct sorted_place place = {0};
    struct sorted_item *item;
    while ((item = sorted_rows_at(&self->waiting, &place)) != NULL && sort_item_time(item) <= watermark) {
        self->handles[emitted++] = item->row;
        TRY(row_output_add(self->output, item->row, item->weight, 0, err));
        sorted_rows_remove(&self->waiting, node_budget(&self->node), place);
        place = (struct sorted_place){0};
        if (emitted == CHUNK_ROWS || self->output->count == 0) {
            TRY(row_output_flush(self->output, err));
            for (uint32_t i = 0; i < emitted; i++) {
                row_store_free(self->store, self->handles[i]);
            }
            emitted = 0;
        }
    }
    TRY(row_output_flush(self->output, err));
    for (uint32_t i = 0; i < emitted; i++) {
        row_store_free(self->store, self->handles[i]);
    }
    return STATUS_OK;
}

static void sort_count_state(struct node *node)
{
    const struct sort_node *self = (const struct sort_node *)node;
    node->metrics.state_bytes = row_store_bytes(self->store) + self->capacity * sizeof *self->items;
}

static enum status sort_finish_tick(struct node *node, const struct tick *tick, struct error *err)
{
    struct sort_node *self = (struct sort_node *)node;
    if (self->spec->temporal) {
        TRY(sort_emit_passed(self, node_min_input_watermark(node), err));
    } else if (tick->end) {
        TRY(sort_emit_all(self, err));
    }
    node_pass_watermark(node);
    return STATUS_OK;
}

static void sort_close(struct node *node)
{
    struct sort_node *self = (struct sort_node *)node;
    sorted_rows_release(&self->waiting, node_budget(node));
    budget_release(node_budget(node), (size_t)self->capacity * sizeof *self->items);
    free(self->items);
    row_store_destroy(self->store);
    touched_rows_close(&self->changed);
}

/* ---- state ---- */

static enum status sort_declare(struct sort_node *self, struct error *err)
{
    static const char *const numbers[] = {"ordinal", "weight", "time"};
    const struct input_spec *input = &self->spec->input;
    struct arena *arena = node_arena(&self->node);
    struct snapshot_table *table;
    TRY_ALLOC(table, arena_alloc(arena, sizeof *table), err);
    TRY(row_state_declare(arena, input->schema, numbers, self->spec->temporal ? 3 : 2, "rows", table, err));
    table->expiry = self->spec->temporal ? (int32_t)input->schema->count + 2 : -1;
    touched_rows_open(&self->changed, self->node.circuit);
    self->node.tables = table;
    self->node.table_count = 1;
    return state_table_place(arena, input, NULL, input->schema->count, table, err);
}

static enum status sort_save_item(const struct sorted_item *item, struct row_save *save, struct error *err)
{
    const int64_t numbers[] = {item->ordinal, item->weight, sort_item_time(item)};
    return row_save_add(save, item->row, numbers, err);
}

static enum status sort_save_waiting(struct sort_node *self, struct row_save *save, struct error *err)
{
    struct sorted_place place = {0};
    const struct sorted_item *item;
    while ((item = sorted_rows_at(&self->waiting, &place)) != NULL) {
        TRY(sort_save_item(item, save, err));
        place.at++;
    }
    return STATUS_OK;
}

static enum status sort_save_items(struct sort_node *self, uint32_t from, struct row_save *save, struct error *err)
{
    for (uint32_t i = from; i < self->count; i++) {
        TRY(sort_save_item(&self->items[i], save, err));
    }
    return STATUS_OK;
}

static enum status sort_save(struct node *node, struct snapshot_writer *writer, struct error *err)
{
    struct sort_node *self = (struct sort_node *)node;
    struct row_save *save;
    if (self->spec->temporal) {
        TRY(row_save_begin(node, writer, 0, self->store, &self->changed, &save, err));
        TRY(row_save_end(save, sort_save_waiting(self, save, err), false, err));
        return snapshot_expire(writer, 0, time_add(node->watermark, 1), err);
    }
    uint32_t from = snapshot_is_full(writer) || !node->circuit->incremental ? 0 : self->saved;
    if (from == 0 && !snapshot_is_full(writer)) {
        TRY(snapshot_replace(writer, 0, err));
    }
    TRY(row_save_begin(node, writer, 0, self->store, NULL, &save, err));
    TRY(row_save_end(save, sort_save_items(self, from, save, err), false, err));
    self->saved = self->count;
    return STATUS_OK;
}

static enum status sort_restore(struct node *node, uint32_t table, const struct snapshot_rows *rows, struct error *err)
{
    (void)table;
    struct sort_node *self = (struct sort_node *)node;
    const struct batch *batch = rows->batch;
    uint32_t stored = self->spec->input.schema->count;
    TRY(row_store_add(self->store, batch, self->handles, err));
    for (uint32_t row = 0; row < batch->count; row++) {
        const struct sorted_item item = {.prefix = row_order_prefix(&self->order, batch, row),
                                         .row = self->handles[row],
                                         .ordinal = snapshot_number(batch, row, stored),
                                         .weight = snapshot_number(batch, row, stored + 1)};
        TRY(sort_put(self, &item, err));
    }
    return STATUS_OK;
}

static const struct node_type sort_node_type = {
    .name = "Sort",
    .receive = sort_receive,
    .finish_tick = sort_finish_tick,
    .count_state = sort_count_state,
    .close = sort_close,
    .save = sort_save,
    .restore = sort_restore,
};

enum status sort_node_create(struct circuit *circuit, const struct sort_spec *spec, struct node *input, struct node **node,
                             struct error *err)
{
    struct sort_node *self;
    TRY_ALLOC(self, arena_alloc(circuit->arena, sizeof *self), err);
    self->spec = spec;
    self->consolidate_at = CONSOLIDATE_ITEMS;
    TRY(circuit_add(circuit, &self->node, &sort_node_type, "Sort", &input, 1, err));
    const struct type *const *types;
    TRY(schema_types(circuit->arena, spec->input.schema, &types, err));
    TRY(row_store_create(circuit->budget, types, spec->input.schema->count, &self->store, err));
    row_store_omit_hashes(self->store);
    TRY(row_order_init(&self->order, circuit->arena, self->store, spec->input.schema, spec->keys, spec->key_count, spec->input.ordered,
                       err));
    self->by_columns = self->order;
    self->by_columns.ordered = false;
    TRY(row_output_create(&self->node, self->store, spec->input.schema, false, &self->output, err));
    TRY(sort_declare(self, err));
    *node = &self->node;
    return STATUS_OK;
}
