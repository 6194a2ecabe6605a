/* circuit/operators/sort_node.c: ORDER BY.
 *
 * Bounded    All rows are kept; equal ones are added up whenever their number has doubled, so that a long changelog does not grow without
 *            need. At the end they are sorted (by the keys, then by source order or columns) and emitted.
 * Temporal   The first key is the event time: rows wait sorted until the watermark passes them. A row that the watermark had reached
 *            when it came is late: counted and left out.
 */
#include <stdlib.h>

#include "circuit/operators/row_output.h"
#include "circuit/operators/sorted_rows.h"
#include "circuit/operators/specs.h"

enum { FIRST_ITEMS = 1024, CONSOLIDATE_ITEMS = 1 << 16 };

struct sort_node {
    struct node node;
    const struct sort_spec *spec;
    struct row_store *store;
    struct row_order order, by_columns; /* by_columns: equal rows lie together, whatever their ordinals */
    struct row_output *output;
    struct sorted_item *items;
    uint32_t count, capacity, consolidate_at;
    struct sorted_rows waiting; /* temporal */
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
        int64_t weight = self->items[i].weight;
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

static enum status sort_finish_tick(struct node *node, const struct tick *tick, struct error *err)
{
    struct sort_node *self = (struct sort_node *)node;
    if (self->spec->temporal) {
        TRY(sort_emit_passed(self, node_min_input_watermark(node), err));
    } else if (tick->end) {
        TRY(sort_emit_all(self, err));
    }
    node->metrics.state_bytes = row_store_bytes(self->store) + self->capacity * sizeof *self->items;
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
}

static const struct node_type sort_node_type = {
    .name = "Sort",
    .receive = sort_receive,
    .finish_tick = sort_finish_tick,
    .close = sort_close,
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
    *node = &self->node;
    return STATUS_OK;
}
