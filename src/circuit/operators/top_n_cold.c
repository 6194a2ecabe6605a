/* Partitions in a database: a partition is a unit, with all rows that are kept of it. */
#include <string.h>

#include "circuit/operators/top_n_internal.h"

/* Rows of several partitions, up to a chunk, on their way out. */
struct leaving_rows {
    struct top_n *self;
    struct cold_table *cold;
    uint32_t count;
    row_handle rows[CHUNK_ROWS];
    int64_t ordinals[CHUNK_ROWS], weights[CHUNK_ROWS];
    uint32_t slots[CHUNK_ROWS], units[CHUNK_ROWS];
};

static enum status put_rows(struct leaving_rows *leaving, struct error *err)
{
    struct top_n *self = leaving->self;
    struct budget *budget = node_budget(&self->node);
    uint32_t stored = self->spec->input.schema->count;
    struct batch batch = {0};
    if (leaving->count == 0) {
        return STATUS_OK;
    }
    TRY(batch_init(&batch, leaving->cold->layouts[0].column_count, err));
    batch.count = leaving->count;
    enum status status = row_store_gather(self->store, leaving->rows, leaving->count, NULL, stored, batch.columns, err);
    if (status == STATUS_OK) {
        status = state_number_column(budget, leaving->ordinals, leaving->count, &batch.columns[stored], err);
    }
    if (status == STATUS_OK) {
        status = state_number_column(budget, leaving->weights, leaving->count, &batch.columns[stored + 1], err);
    }
    if (status == STATUS_OK) {
        status = state_written_column(&self->ttl, budget, leaving->slots, leaving->count, &batch.columns[stored + 2], err);
    }
    if (status == STATUS_OK) {
        status = cold_table_put(leaving->cold, &batch, leaving->units, err);
    }
    batch_release(&batch);
    leaving->count = 0;
    return status;
}

static enum status partition_rows(void *context, struct cold_table *cold, const uint32_t *slots, uint32_t count, struct error *err)
{
    struct top_n *self = context;
    struct leaving_rows leaving = {.self = self, .cold = cold};
    for (uint32_t k = 0; k < count; k++) {
        struct sorted_place place = {0};
        const struct sorted_item *item;
        while ((item = sorted_rows_at(&top_n_partition(self, slots[k])->rows, &place)) != NULL) {
            if (leaving.count == CHUNK_ROWS) {
                TRY(put_rows(&leaving, err));
            }
            leaving.rows[leaving.count] = item->row;
            leaving.ordinals[leaving.count] = item->ordinal;
            leaving.weights[leaving.count] = item->weight;
            leaving.slots[leaving.count] = slots[k];
            leaving.units[leaving.count++] = k;
            place.at++;
        }
    }
    return put_rows(&leaving, err);
}

static enum status partition_add(void *context, struct batch *batch, uint32_t *slots, struct error *err)
{
    struct top_n *self = context;
    TRY(top_n_add_rows(self, batch, err));
    memcpy(slots, self->slots, batch->count * sizeof *slots);
    return STATUS_OK;
}

static enum status partition_drop(void *context, const uint32_t *slots, uint32_t count, struct error *err)
{
    (void)err;
    struct top_n *self = context;
    for (uint32_t k = 0; k < count; k++) {
        struct sorted_rows *rows = &top_n_partition(self, slots[k])->rows;
        struct sorted_place place = {0};
        const struct sorted_item *item;
        while ((item = sorted_rows_at(rows, &place)) != NULL) {
            self->negatives -= item->weight < 0;
            row_store_free(self->store, item->row);
            place.at++;
        }
        sorted_rows_release(rows, node_budget(&self->node));
        key_table_remove(self->table, slots[k]);
        ttl_forget(&self->ttl, slots[k]);
    }
    return STATUS_OK;
}

static int64_t partition_due(const void *context, uint32_t slot)
{
    return ttl_expires_us(&((const struct top_n *)context)->ttl, slot);
}

static bool partition_pinned(const void *context, uint32_t slot)
{
    const struct top_n *self = context;
    const struct partition *partitions = key_table_values(self->table, 0);
    return partitions[slot].touched != 0;
}

static const struct slab *partition_heap(const void *context)
{
    return row_store_slab(((const struct top_n *)context)->store);
}

/* Rows that went in this tick are still to be freed. */
static void partition_emptied(void *context)
{
    struct top_n *self = context;
    if (self->gone_count == 0) {
        row_store_clear(self->store);
    }
}

/* Without partition columns all is one unit, which cannot leave. */
enum status top_n_open_cold(struct node *node, struct error *err)
{
    struct top_n *self = (struct top_n *)node;
    const struct cold_owner owner = {.context = self,
                                     .rows = partition_rows,
                                     .add = partition_add,
                                     .drop = partition_drop,
                                     .pinned = partition_pinned,
                                     .due = partition_due,
                                     .heap = partition_heap,
                                     .emptied = partition_emptied};
    struct cold_layout layout;
    if (self->table == NULL) {
        return STATUS_OK;
    }
    TRY(node_make_cold(node, 1, &self->cold, err));
    TRY(node_make_layout(node, &node->tables[0], self->spec->partition, self->spec->partition_count, &layout, err));
    TRY(cold_table_open(self->cold, node->circuit->cold, &layout, 1, &owner, self->table, err));
    return ttl_is_set(&self->ttl) ? cold_table_open_timers(self->cold, 1, self->spec->ttl_us / TTL_SPANS, err) : STATUS_OK;
}
