#include "circuit/operators/top_n_internal.h"

enum status top_n_declare(struct top_n *self, struct error *err)
{
    static const char *const numbers[] = {"ordinal", "weight", row_state_written};
    const struct input_spec *input = &self->spec->input;
    struct arena *arena = node_arena(&self->node);
    struct snapshot_table *table;
    TRY_ALLOC(table, arena_alloc(arena, sizeof *table), err);
    TRY(row_state_declare(arena, input->schema, numbers, ARRAY_LENGTH(numbers), "rows", table, err));
    self->dirty.budget = node_budget(&self->node);
    touched_rows_open(&self->changed, self->node.circuit);
    self->node.tables = table;
    self->node.table_count = 1;
    return state_table_place(arena, input, NULL, input->schema->count, table, err);
}

static enum status save_partition(struct top_n *self, uint32_t slot, struct row_save *save, struct error *err)
{
    struct sorted_place place = {0};
    const struct sorted_item *item;
    if (self->table != NULL && !key_table_has(self->table, slot)) {
        return STATUS_OK;
    }
    while ((item = sorted_rows_at(&top_n_partition(self, slot)->rows, &place)) != NULL) {
        const int64_t numbers[] = {item->ordinal, item->weight, ttl_written_us(&self->ttl, slot)};
        TRY(row_save_add(save, item->row, numbers, err));
        place.at++;
    }
    return STATUS_OK;
}

static enum status save_partitions(struct top_n *self, bool all, struct row_save *save, struct error *err)
{
    uint32_t slots = self->table == NULL ? 1 : key_table_slots(self->table), count = all ? slots : self->dirty.count;
    for (uint32_t i = 0; i < count; i++) {
        TRY(save_partition(self, all ? i : self->dirty.slots[i], save, err));
    }
    return STATUS_OK;
}

enum status top_n_save(struct node *node, struct snapshot_writer *writer, struct error *err)
{
    struct top_n *self = (struct top_n *)node;
    struct row_save *save;
    if (node->in_database) {
        dirty_slots_clear(&self->dirty);
        touched_rows_close(&self->changed);
        return STATUS_OK;
    }
    bool all = snapshot_is_full(writer) || !self->changed.followed;
    TRY(row_save_begin(node, writer, 0, self->store, &self->changed, &save, err));
    enum status status = row_save_end(save, save_partitions(self, all, save, err), true, err);
    dirty_slots_clear(&self->dirty);
    return status;
}

enum status top_n_add_rows(struct top_n *self, const struct batch *batch, struct error *err)
{
    const struct top_n_spec *spec = self->spec;
    uint32_t stored = spec->input.schema->count;
    if (self->table != NULL) {
        batch_hash(batch, spec->partition, spec->partition_count, self->hashes);
        TRY(key_table_find_or_insert(self->table, batch, spec->partition, self->hashes, self->slots, err));
    }
    TRY(row_store_add(self->store, batch, self->handles, err));
    for (uint32_t row = 0; row < batch->count; row++) {
        struct partition *partition = top_n_partition(self, self->table == NULL ? 0 : self->slots[row]);
        const struct sorted_item item = {.prefix = row_order_prefix(&self->order, batch, row),
                                         .row = self->handles[row],
                                         .ordinal = snapshot_number(batch, row, stored),
                                         .weight = snapshot_number(batch, row, stored + 1)};
        TRY(state_restore_written(&self->ttl, self->slots[row], batch, row, stored + 2, err));
        partition->total += item.weight;
        self->negatives += item.weight < 0;
        struct sorted_place place = sorted_rows_seek(&partition->rows, &self->order, &item);
        TRY(sorted_rows_insert(&partition->rows, node_budget(&self->node), place, &item, err));
    }
    return STATUS_OK;
}

enum status top_n_restore(struct node *node, uint32_t table, const struct snapshot_rows *rows, struct error *err)
{
    (void)table;
    struct top_n *self = (struct top_n *)node;
    if (self->cold == NULL) {
        return top_n_add_rows(self, rows->batch, err);
    }
    /* Other rows of a partition may have come, and gone to the database. */
    batch_hash(rows->batch, self->spec->partition, self->spec->partition_count, self->hashes);
    TRY(node_fetch_keys(node, self->cold, rows->batch, self->spec->partition, self->hashes, err));
    TRY(top_n_add_rows(self, rows->batch, err));
    return cold_table_changed(self->cold, self->slots, rows->batch->count, 0, err);
}
