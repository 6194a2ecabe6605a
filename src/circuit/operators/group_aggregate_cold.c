/* Groups, and the values of DISTINCT, in a database. */
#include "circuit/operators/group_aggregate_internal.h"

static enum status group_add(void *context, struct batch *batch, uint32_t *slots, struct error *err)
{
    return group_aggregate_add(context, batch, slots, err);
}

/* While state comes back values name their groups by slot. */
static bool group_pinned(const void *context, uint32_t slot)
{
    const struct group_aggregate *self = context;
    return record_at(self, slot)->flags != 0 || (self->restored.chain_count > 0 && call_set_table_count(self->calls) > 0);
}

static int64_t group_due(const void *context, uint32_t slot)
{
    return ttl_expires_us(&((const struct group_aggregate *)context)->ttl, slot);
}

static void group_gone(void *context, uint32_t slot)
{
    group_aggregate_note_gone(context, slot);
}

/* The row that stands without input: it is there from the start, but a database that goes on has what it counted. */
static enum status fetch_permanent(struct group_aggregate *self, struct error *err)
{
    struct cold_table *cold = self->cold;
    if (self->fresh.count != 1 || cold->out == 0) {
        return STATUS_OK;
    }
    struct batch batch = {0};
    uint32_t slot = self->fresh.slots[0], none = SLOT_NONE;
    bool found = false;
    TRY(batch_init(&batch, cold->layouts[0].column_count, err));
    batch.count = 1;
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < self->spec->key_count && status == STATUS_OK; i++) {
        status = key_table_gather(self->table, i, &slot, 1, &batch.columns[i], err);
    }
    if (status == STATUS_OK) {
        status = cold_table_fetch(cold, &batch, cold->layouts[0].keys, &none, &found, err);
    }
    batch_release(&batch);
    return status == STATUS_OK && found ? group_aggregate_restored(&self->node, err) : status;
}

enum status group_aggregate_open_cold(struct node *node, struct error *err)
{
    struct group_aggregate *self = (struct group_aggregate *)node;
    const struct group_aggregate_spec *spec = self->spec;
    uint32_t distinct_count = call_set_table_count(self->calls);
    /* More than a tag can tell apart, or values that must be told from those of a forgotten group of the key: they stay in memory. */
    if (distinct_count >= UINT8_MAX || (distinct_count > 0 && self->lossy)) {
        return STATUS_OK;
    }
    struct cold_layout layout;
    TRY(node_make_cold(node, 0, NULL, err));
    TRY(node_make_layout(node, &node->tables[TABLE_GROUPS], self->key_order, spec->key_count, &layout, err));
    TRY(records_layouts_make(node, self->calls, &layout, TABLE_DISTINCT, spec->keys, &self->layouts, err));
    const struct records_cold_spec records = {
        .node = node,
        .calls = self->calls,
        .states = &self->states,
        .table = self->table,
        .layouts = &self->layouts,
        .states_at = sizeof(struct group_record),
        .record_bytes = self->record_bytes,
        .owner = {.context = self, .columns = group_aggregate_columns, .add = group_add, .pinned = group_pinned, .due = group_due},
        .gone = group_gone,
    };
    records_cold_destroy(self->records);
    self->cold = NULL;
    TRY(records_cold_create(&records, (struct text){0}, NULL, &self->records, err));
    self->cold = records_cold_table(self->records);
    if (ttl_is_set(&self->ttl)) {
        TRY(cold_table_open_timers(self->cold, 1, spec->ttl_us / TTL_SPANS, err));
    }
    return fetch_permanent(self, err);
}
