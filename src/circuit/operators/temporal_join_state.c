/* Left rows die by their time, which the watermark passes. Of the right side the lists of keys that changed are walked. */
#include "circuit/operators/temporal_join_internal.h"

enum status temporal_declare(struct temporal_join *self, struct error *err)
{
    static const char *const waiting[] = {"time"}, *const versions[TEMPORAL_NUMBERS] = {"time", "from", "ended"};
    const struct join_spec *spec = &self->spec->join;
    struct arena *arena = node_arena(&self->node);
    struct snapshot_table *tables;
    TRY_ALLOC(tables, arena_alloc(arena, TABLE_COUNT * sizeof *tables), err);
    TRY(row_state_declare(arena, spec->left.schema, waiting, 1, "waiting", &tables[TABLE_WAITING], err));
    TRY(row_state_declare(arena, spec->right.schema, versions, TEMPORAL_NUMBERS, "versions", &tables[TABLE_VERSIONS], err));
    tables[TABLE_WAITING].expiry = (int32_t)spec->left.schema->count;
    TRY(state_table_place(arena, &spec->left, NULL, spec->left.schema->count, &tables[TABLE_WAITING], err));
    TRY(state_table_place(arena, &spec->right, NULL, spec->right.schema->count, &tables[TABLE_VERSIONS], err));
    self->dirty.budget = node_budget(&self->node);
    touched_rows_open(&self->arrived, self->node.circuit);
    touched_rows_open(&self->right.touched, self->node.circuit);
    self->node.tables = tables;
    self->node.table_count = TABLE_COUNT;
    return STATUS_OK;
}

void temporal_numbers(const struct version *version, int64_t numbers[TEMPORAL_NUMBERS])
{
    numbers[0] = version->time;
    numbers[1] = version->from;
    numbers[2] = version->state;
}

static enum status save_waiting(struct temporal_join *self, struct row_save *save, struct error *err)
{
    for (uint32_t i = 0; i < self->waiting.count; i++) {
        TRY(row_save_add(save, self->waiting.items[i].item, &self->waiting.items[i].time, err));
    }
    return STATUS_OK;
}

static enum status save_versions(struct temporal_join *self, bool all, struct row_save *save, struct error *err)
{
    uint32_t count = all ? key_table_slots(self->table) : self->dirty.count;
    for (uint32_t i = 0; i < count; i++) {
        const struct version_list *list = &temporal_versions(self)[all ? i : self->dirty.slots[i]];
        for (uint32_t v = 0; v < list->count; v++) {
            int64_t numbers[TEMPORAL_NUMBERS];
            temporal_numbers(&list->items[v], numbers);
            TRY(row_save_add(save, list->items[v].row, numbers, err));
        }
    }
    return STATUS_OK;
}

enum status temporal_save(struct node *node, struct snapshot_writer *writer, struct error *err)
{
    struct temporal_join *self = (struct temporal_join *)node;
    struct row_save *save;
    bool all = snapshot_is_full(writer) || !self->arrived.followed;
    TRY(row_save_begin(node, writer, TABLE_WAITING, self->left, &self->arrived, &save, err));
    TRY(row_save_end(save, save_waiting(self, save, err), false, err));
    TRY(snapshot_expire(writer, TABLE_WAITING, time_add(node->watermark, 1), err));
    if (node->in_database) { /* all versions */
        dirty_slots_clear(&self->dirty);
        touched_rows_close(&self->right.touched);
        return STATUS_OK;
    }
    TRY(row_save_begin(node, writer, TABLE_VERSIONS, self->right.store, &self->right.touched, &save, err));
    TRY(row_save_end(save, save_versions(self, all, save, err), true, err));
    dirty_slots_clear(&self->dirty);
    return STATUS_OK;
}

static enum status restore_waiting(struct temporal_join *self, const struct batch *batch, struct error *err)
{
    TRY(row_store_add(self->left, batch, self->handles, err));
    for (uint32_t row = 0; row < batch->count; row++) {
        int64_t time = snapshot_number(batch, row, self->spec->join.left.schema->count);
        TRY(time_heap_push(&self->waiting, node_budget(&self->node), time, self->handles[row], err));
    }
    return STATUS_OK;
}

enum status temporal_add_versions(struct temporal_join *self, const struct batch *batch, struct error *err)
{
    const struct join_spec *spec = &self->spec->join;
    uint32_t stored = spec->right.schema->count;
    batch_hash(batch, spec->right_keys, spec->key_count, self->hashes);
    TRY(key_table_find_or_insert(self->table, batch, spec->right_keys, self->hashes, self->slots, err));
    TRY(row_store_add(self->right.store, batch, self->handles, err));
    for (uint32_t row = 0; row < batch->count; row++) {
        const struct version version = {.time = snapshot_number(batch, row, stored),
                                        .from = snapshot_number(batch, row, stored + 1),
                                        .row = self->handles[row],
                                        .state = (enum version_state)snapshot_number(batch, row, stored + 2)};
        TRY(version_list_restore(&temporal_versions(self)[self->slots[row]], &self->right, &version, err));
    }
    return STATUS_OK;
}

/* Other versions of a key may have come, and gone to the database. */
static enum status restore_versions(struct temporal_join *self, const struct batch *batch, struct error *err)
{
    const struct join_spec *spec = &self->spec->join;
    if (self->cold == NULL) {
        return temporal_add_versions(self, batch, err);
    }
    batch_hash(batch, spec->right_keys, spec->key_count, self->hashes);
    TRY(node_fetch_keys(&self->node, self->cold, batch, spec->right_keys, self->hashes, err));
    TRY(temporal_add_versions(self, batch, err));
    return cold_table_changed(self->cold, self->slots, batch->count, 0, err);
}

enum status temporal_restore(struct node *node, uint32_t table, const struct snapshot_rows *rows, struct error *err)
{
    struct temporal_join *self = (struct temporal_join *)node;
    return table == TABLE_WAITING ? restore_waiting(self, rows->batch, err) : restore_versions(self, rows->batch, err);
}
