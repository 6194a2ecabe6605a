/* Groups, and the values of DISTINCT, in a database. A group is a unit; so is each (group, value) of a DISTINCT set, which may be elsewhere
 * than its group: a group of a million values need not come whole. But values are kept by their group's slot, so a group that leaves memory
 * takes along those of its values that are there.
 */
#include <stdlib.h>

#include "circuit/operators/group_aggregate_internal.h"

/* ---- groups ---- */

static enum status group_add(void *context, struct batch *batch, uint32_t *slots, struct error *err)
{
    return group_aggregate_add(context, batch, slots, err);
}

/* The values of DISTINCT that are kept by one of the slots. */
static enum status evict_values(struct group_aggregate *self, uint32_t index, const uint64_t *leaving, struct error *err)
{
    struct cold_table *cold = &self->node.cold[index];
    struct key_table *table = cold->keys;
    const int64_t *records = key_table_keys(table, 0);
    uint32_t slots[CHUNK_ROWS], count = 0;
    for (uint32_t slot = 0; slot < key_table_slots(table); slot++) {
        if (!key_table_has(table, slot) || ((leaving[records[slot] / 64] >> (records[slot] % 64)) & 1) == 0) {
            continue;
        }
        slots[count++] = slot;
        if (count == CHUNK_ROWS) {
            TRY(cold_table_evict_slots(cold, slots, count, err));
            records = key_table_keys(table, 0);
            count = 0;
        }
    }
    return cold_table_evict_slots(cold, slots, count, err);
}

static enum status group_drop(void *context, const uint32_t *slots, uint32_t count, struct error *err)
{
    struct group_aggregate *self = context;
    uint32_t distinct_count = call_set_table_count(self->calls);
    if (distinct_count > 0 && count > 0) {
        uint64_t *leaving = calloc(key_table_slots(self->table) / 64 + 1, sizeof *leaving);
        if (leaving == NULL) {
            return error_set(err, ERROR_BUDGET_SPENT, "the system has no memory to move groups to the database of state");
        }
        for (uint32_t k = 0; k < count; k++) {
            leaving[slots[k] / 64] |= (uint64_t)1 << (slots[k] % 64);
        }
        enum status status = STATUS_OK;
        for (uint32_t i = 0; i < distinct_count && status == STATUS_OK; i++) {
            status = evict_values(self, i, leaving, err);
        }
        free(leaving);
        TRY(status);
    }
    for (uint32_t k = 0; k < count; k++) {
        call_set_clear(self->calls, &self->states, record_at(self, slots[k]) + 1);
        key_table_remove(self->table, slots[k]);
        group_aggregate_note_gone(self, slots[k]);
    }
    return STATUS_OK;
}

/* While state comes back values name their groups by slot. */
static bool group_pinned(const void *context, uint32_t slot)
{
    const struct group_aggregate *self = context;
    return record_at(self, slot)->flags != 0 || (self->restored.chain_count > 0 && call_set_table_count(self->calls) > 0);
}

static const struct slab *group_heap(const void *context)
{
    return &((const struct group_aggregate *)context)->states.heap;
}

static void group_emptied(void *context)
{
    slab_close(&((struct group_aggregate *)context)->states.heap);
}

/* ---- values of DISTINCT ---- */

struct value_owner {
    struct group_aggregate *self;
    uint32_t index;
};

/* Of some values: the keys of their groups, after the columns of the state table. */
static enum status gather_groups(const struct value_owner *owner, const uint32_t *slots, uint32_t count, struct batch *batch,
                                 struct error *err)
{
    struct group_aggregate *self = owner->self;
    const struct cold_table *cold = &self->node.cold[owner->index];
    const int64_t *records = key_table_keys(cold->keys, 0);
    uint32_t groups[CHUNK_ROWS];
    for (uint32_t k = 0; k < count; k++) {
        groups[k] = (uint32_t)records[slots[k]];
    }
    for (uint32_t i = 0; i < self->spec->key_count; i++) {
        TRY(key_table_gather(self->table, i, groups, count, &batch->columns[cold->layouts[0].keys[i]], err));
    }
    return STATUS_OK;
}

static enum status value_keys(void *context, const uint32_t *slots, uint32_t count, struct batch *batch, struct error *err)
{
    const struct value_owner *owner = context;
    const struct cold_table *cold = &owner->self->node.cold[owner->index];
    for (uint32_t i = 0; i < cold->layouts[0].more_count; i++) {
        TRY(key_table_gather(cold->keys, i + 1, slots, count, &batch->columns[cold->layouts[0].more[i]], err));
    }
    return gather_groups(owner, slots, count, batch, err);
}

static enum status value_columns(void *context, const uint32_t *slots, uint32_t count, struct batch *batch, struct error *err)
{
    const struct value_owner *owner = context;
    TRY(call_states_columns(owner->self->calls, &owner->self->states, owner->index, slots, count, batch, err));
    return gather_groups(owner, slots, count, batch, err);
}

static enum status value_add(void *context, struct batch *batch, uint32_t *slots, struct error *err)
{
    const struct value_owner *owner = context;
    struct group_aggregate *self = owner->self;
    const struct cold_table *cold = &self->node.cold[owner->index];
    uint64_t hashes[CHUNK_ROWS];
    uint32_t groups[CHUNK_ROWS];
    batch_hash(batch, cold->layouts[0].keys, cold->layouts[0].key_count, hashes);
    key_table_find(self->table, batch, cold->layouts[0].keys, hashes, groups);
    return call_states_restore(self->calls, &self->states, owner->index, batch, groups, slots, err);
}

static enum status value_drop(void *context, const uint32_t *slots, uint32_t count, struct error *err)
{
    (void)err;
    const struct value_owner *owner = context;
    struct key_table *table = owner->self->node.cold[owner->index].keys;
    for (uint32_t k = 0; k < count; k++) {
        key_table_remove(table, slots[k]);
    }
    return STATUS_OK;
}

/* ---- opening ---- */

static enum status make_types(struct arena *arena, const struct schema *schema, const struct schema *more, uint32_t more_count,
                              struct cold_layout *layout, struct error *err)
{
    const struct type **types;
    layout->column_count = schema->count + more_count;
    TRY_ALLOC(types, arena_alloc(arena, (layout->column_count + 1) * sizeof *types), err);
    for (uint32_t i = 0; i < layout->column_count; i++) {
        types[i] = i < schema->count ? schema->columns[i].type : more->columns[i - schema->count].type;
    }
    layout->types = types;
    return STATUS_OK;
}

/* 0, 1, 2, ... */
static enum status count_up(struct arena *arena, uint32_t count, const uint32_t **numbers, struct error *err)
{
    uint32_t *made;
    TRY_ALLOC(made, arena_alloc(arena, (count + 1) * sizeof *made), err);
    for (uint32_t i = 0; i < count; i++) {
        made[i] = i;
    }
    *numbers = made;
    return STATUS_OK;
}

static enum status open_groups(struct group_aggregate *self, struct cold_table *cold, struct error *err)
{
    const struct cold_owner owner = {.context = self,
                                     .columns = group_aggregate_columns,
                                     .add = group_add,
                                     .drop = group_drop,
                                     .pinned = group_pinned,
                                     .heap = group_heap,
                                     .emptied = group_emptied};
    struct cold_layout layout;
    TRY(node_make_layout(&self->node, &self->node.tables[TABLE_GROUPS], self->key_order, self->spec->key_count, &layout, err));
    return cold_table_open(cold, self->node.circuit->cold, &layout, 1, &owner, self->table, err);
}

/* The state table's columns: record, arguments, counts; then the group's keys. */
static enum status open_values(struct group_aggregate *self, uint32_t index, struct cold_table *cold, struct error *err)
{
    static const struct cold_owner owner = {.keys = value_keys, .columns = value_columns, .add = value_add, .drop = value_drop};
    const struct snapshot_table *table = &self->node.tables[TABLE_DISTINCT + index];
    uint32_t key_count = self->spec->key_count, stored = table->schema->count;
    struct arena *arena = node_arena(&self->node);
    struct cold_layout layout = {.operator_id = self->node.id,
                                 .table = table,
                                 .key_count = key_count,
                                 .more_count = stored - 2,
                                 .value_count = 1,
                                 .tag = (uint8_t)(index + 1)};
    struct value_owner *values;
    const uint32_t *numbers;
    struct key_table *keys;
    uint32_t *columns;
    TRY(make_types(arena, table->schema, self->node.tables[TABLE_GROUPS].schema, key_count, &layout, err));
    TRY(count_up(arena, stored + key_count, &numbers, err));
    layout.more = numbers + 1;
    layout.values = numbers + stored - 1;
    layout.keys = numbers + stored;
    TRY_ALLOC(values, arena_alloc(arena, sizeof *values), err);
    *values = (struct value_owner){self, index};
    struct cold_owner own = owner;
    own.context = values;
    TRY_ALLOC(columns, arena_alloc(arena, (key_count + stored) * sizeof *columns), err);
    for (uint32_t i = 0; i < key_count; i++) {
        columns[i] = self->spec->keys[i];
    }
    TRY(call_states_spill(self->calls, &self->states, index, cold, columns, key_count, &keys, err));
    return cold_table_open(cold, self->node.circuit->cold, &layout, 1, &own, keys, err);
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
    uint32_t distinct_count = call_set_table_count(self->calls);
    struct cold_table *tables;
    /* More than a tag can tell apart, or values that must be told from those of a forgotten group of the key: they stay in memory. */
    if (distinct_count >= UINT8_MAX || (distinct_count > 0 && ttl_is_set(&self->ttl))) {
        return STATUS_OK;
    }
    TRY(node_make_cold(node, distinct_count + 1, &tables, err));
    for (uint32_t i = 0; i < distinct_count; i++) {
        TRY(open_values(self, i, &tables[i], err));
    }
    self->cold = &tables[distinct_count];
    TRY(open_groups(self, self->cold, err));
    return fetch_permanent(self, err);
}
