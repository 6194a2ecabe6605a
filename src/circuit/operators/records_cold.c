#include "circuit/operators/records_cold.h"

#include <stdlib.h>

struct value_owner {
    struct records_cold *records;
    uint32_t index;
};
struct records_cold {
    struct records_cold_spec spec;
    uint32_t count; /* of DISTINCT sets */
    size_t bytes;
    struct cold_table *tables; /* values, then records */
    struct value_owner *owners;
    struct call_cold *fetches;
};

struct cold_table *records_cold_table(struct records_cold *records)
{
    return &records->tables[records->count];
}

struct cold_table *records_cold_values(struct records_cold *records, uint32_t index)
{
    return &records->tables[index];
}

/* ---- records ---- */

static enum status record_columns(void *context, const uint32_t *slots, uint32_t count, struct batch *batch, struct error *err)
{
    struct records_cold *self = context;
    return self->spec.owner.columns(self->spec.owner.context, slots, count, batch, err);
}

static enum status record_add(void *context, struct batch *batch, uint32_t *slots, struct error *err)
{
    struct records_cold *self = context;
    return self->spec.owner.add(self->spec.owner.context, batch, slots, err);
}

static bool record_pinned(const void *context, uint32_t slot)
{
    const struct records_cold *self = context;
    return self->spec.owner.pinned(self->spec.owner.context, slot);
}

/* The values of DISTINCT that are kept by one of the slots. */
static enum status evict_values(struct cold_table *cold, const uint64_t *leaving, struct error *err)
{
    struct key_table *table = cold->keys;
    const int64_t *records = key_table_keys(table, 0);
    uint32_t slots[CHUNK_ROWS], count = 0;
    for (uint32_t slot = 0; slot < key_table_slots(table); slot++) {
        uint32_t record = (uint32_t)records[slot];
        if (!key_table_has(table, slot) || ((leaving[record / 64] >> (record % 64)) & 1) == 0) {
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

static enum status evict_all_values(struct records_cold *self, const uint32_t *slots, uint32_t count, struct error *err)
{
    enum status status = STATUS_OK;
    uint64_t *leaving = calloc(key_table_slots(self->spec.table) / 64 + 1, sizeof *leaving);
    if (leaving == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "the system has no memory to move groups to the database of state");
    }
    for (uint32_t k = 0; k < count; k++) {
        leaving[slots[k] / 64] |= (uint64_t)1 << (slots[k] % 64);
    }
    for (uint32_t i = 0; i < self->count && status == STATUS_OK; i++) {
        status = evict_values(&self->tables[i], leaving, err);
    }
    free(leaving);
    return status;
}

static enum status record_drop(void *context, const uint32_t *slots, uint32_t count, struct error *err)
{
    struct records_cold *self = context;
    const struct records_cold_spec *spec = &self->spec;
    if (self->count > 0 && count > 0) {
        TRY(evict_all_values(self, slots, count, err));
    }
    for (uint32_t k = 0; k < count; k++) {
        uint8_t *record = (uint8_t *)key_table_values(spec->table, 0) + (size_t)slots[k] * spec->record_bytes;
        call_set_clear(spec->calls, spec->states, record + spec->states_at);
        key_table_remove(spec->table, slots[k]);
        if (spec->gone != NULL) {
            spec->gone(spec->owner.context, slots[k]);
        }
    }
    return STATUS_OK;
}

static int64_t record_due(const void *context, uint32_t slot)
{
    const struct records_cold *self = context;
    return self->spec.owner.due(self->spec.owner.context, slot);
}

static const struct slab *record_heap(const void *context)
{
    return &((const struct records_cold *)context)->spec.states->heap;
}

static void record_emptied(void *context)
{
    slab_close(&((struct records_cold *)context)->spec.states->heap);
}

/* ---- values of DISTINCT ---- */

/* Of some values: the keys of their records, after the columns of the state table. */
static enum status gather_keys(const struct value_owner *owner, const uint32_t *slots, uint32_t count, struct batch *batch,
                               struct error *err)
{
    struct records_cold *self = owner->records;
    const struct cold_table *cold = &self->tables[owner->index];
    const struct cold_layout *layout = &cold->layouts[0];
    const int64_t *records = key_table_keys(cold->keys, 0);
    uint32_t groups[CHUNK_ROWS];
    for (uint32_t k = 0; k < count; k++) {
        groups[k] = (uint32_t)records[slots[k]];
    }
    for (uint32_t i = layout->scope_count; i < layout->key_count; i++) {
        uint32_t key = i - layout->scope_count;
        TRY(key_table_gather(self->spec.table, key, groups, count, &batch->columns[layout->keys[i]], err));
    }
    return STATUS_OK;
}

static enum status value_keys(void *context, const uint32_t *slots, uint32_t count, struct batch *batch, struct error *err)
{
    const struct value_owner *owner = context;
    const struct cold_table *cold = &owner->records->tables[owner->index];
    for (uint32_t i = 0; i < cold->layouts[0].more_count; i++) {
        TRY(key_table_gather(cold->keys, i + 1, slots, count, &batch->columns[cold->layouts[0].more[i]], err));
    }
    return gather_keys(owner, slots, count, batch, err);
}

/* Of windows. */
static enum status expiry_column(const struct value_owner *owner, uint32_t count, struct batch *batch, struct error *err)
{
    const struct cold_layout *layout = &owner->records->tables[owner->index].layouts[0];
    const struct records_cold_spec *spec = &owner->records->spec;
    int64_t expiries[CHUNK_ROWS];
    if (layout->value_count < 2) {
        return STATUS_OK;
    }
    for (uint32_t k = 0; k < count; k++) {
        expiries[k] = spec->expiry;
    }
    return state_number_column(node_budget(spec->node), expiries, count, &batch->columns[layout->values[1]], err);
}

static enum status value_columns(void *context, const uint32_t *slots, uint32_t count, struct batch *batch, struct error *err)
{
    const struct value_owner *owner = context;
    const struct records_cold_spec *spec = &owner->records->spec;
    TRY(call_states_columns(spec->calls, spec->states, owner->index, slots, count, batch, err));
    TRY(expiry_column(owner, count, batch, err));
    return gather_keys(owner, slots, count, batch, err);
}

static enum status value_add(void *context, struct batch *batch, uint32_t *slots, struct error *err)
{
    const struct value_owner *owner = context;
    const struct records_cold_spec *spec = &owner->records->spec;
    const struct cold_layout *layout = &owner->records->tables[owner->index].layouts[0];
    const uint32_t *keys = layout->keys + layout->scope_count;
    uint64_t hashes[CHUNK_ROWS];
    uint32_t groups[CHUNK_ROWS];
    batch_hash(batch, keys, layout->key_count - layout->scope_count, hashes);
    key_table_find(spec->table, batch, keys, hashes, groups);
    return call_states_restore(spec->calls, spec->states, owner->index, batch, groups, slots, err);
}

static enum status value_drop(void *context, const uint32_t *slots, uint32_t count, struct error *err)
{
    (void)err;
    const struct value_owner *owner = context;
    struct key_table *table = owner->records->tables[owner->index].keys;
    for (uint32_t k = 0; k < count; k++) {
        key_table_remove(table, slots[k]);
    }
    return STATUS_OK;
}

/* ---- layouts ---- */

/* Types of the state table's columns, then of the records' keys. */
static enum status make_types(struct arena *arena, const struct schema *schema, const struct cold_layout *records,
                              struct cold_layout *layout, struct error *err)
{
    const struct type **types;
    layout->column_count = schema->count + records->key_count;
    TRY_ALLOC(types, arena_alloc(arena, (layout->column_count + 1) * sizeof *types), err);
    for (uint32_t i = 0; i < layout->column_count; i++) {
        types[i] = i < schema->count ? schema->columns[i].type : records->types[records->keys[i - schema->count]];
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

/* The state table's columns: record, arguments, counts, with a scope its expiry; then the records' keys. */
static enum status make_value_layout(struct node *node, const struct cold_layout *records, const struct snapshot_table *table,
                                     uint32_t index, uint32_t arg_count, struct cold_layout *layout, struct error *err)
{
    struct arena *arena = node_arena(node);
    uint32_t stored = table->schema->count;
    const uint32_t *numbers;
    *layout = (struct cold_layout){.operator_id = node->id,
                                   .table = table,
                                   .key_count = records->key_count,
                                   .scope_count = records->scope_count,
                                   .more_count = arg_count,
                                   .value_count = stored - arg_count - 1,
                                   .tag = (uint8_t)(index + 1)};
    TRY(make_types(arena, table->schema, records, layout, err));
    TRY(count_up(arena, layout->column_count, &numbers, err));
    layout->more = numbers + 1;
    layout->values = numbers + 1 + arg_count;
    layout->keys = numbers + stored;
    return STATUS_OK;
}

enum status records_layouts_make(struct node *node, const struct call_set *calls, const struct cold_layout *records, uint32_t first_table,
                                 const uint32_t *keys, struct records_layouts *layouts, struct error *err)
{
    struct arena *arena = node_arena(node);
    uint32_t key_count = records->key_count - records->scope_count;
    *layouts = (struct records_layouts){.records = *records, .count = call_set_table_count(calls)};
    TRY_ALLOC(layouts->values, arena_alloc(arena, (layouts->count + 1) * sizeof *layouts->values), err);
    TRY_ALLOC(layouts->columns, arena_alloc(arena, (layouts->count + 1) * sizeof *layouts->columns), err);
    for (uint32_t i = 0; i < layouts->count; i++) {
        uint32_t arg_count, *columns;
        const uint32_t *args = call_set_distinct_args(calls, i, &arg_count);
        TRY(make_value_layout(node, records, &node->tables[first_table + i], i, arg_count, &layouts->values[i], err));
        TRY_ALLOC(columns, arena_alloc(arena, (key_count + arg_count + 1) * sizeof *columns), err);
        for (uint32_t c = 0; c < key_count + arg_count; c++) {
            columns[c] = c < key_count ? keys[c] : args[c - key_count];
        }
        layouts->columns[i] = columns;
    }
    return STATUS_OK;
}

/* ---- opening ---- */

static enum status open_table(struct records_cold *self, uint32_t index, const struct cold_layout *layout, struct text scope,
                              const uint64_t *units, const struct cold_owner *owner, struct key_table *keys, struct error *err)
{
    struct cold_table *cold = &self->tables[index];
    struct cold_db *db = self->spec.node->circuit->cold;
    return scope.bytes == NULL ? cold_table_open(cold, db, layout, 1, owner, keys, err)
                               : cold_table_open_scope(cold, db, layout, scope, units == NULL ? 0 : units[index], owner, keys, err);
}

static enum status open_tables(struct records_cold *self, struct text scope, const uint64_t *units, struct error *err)
{
    const struct records_cold_spec *spec = &self->spec;
    const struct cold_owner records = {.context = self,
                                       .columns = record_columns,
                                       .add = record_add,
                                       .drop = record_drop,
                                       .pinned = record_pinned,
                                       .due = spec->owner.due == NULL ? NULL : record_due,
                                       .heap = record_heap,
                                       .emptied = record_emptied};
    for (uint32_t i = 0; i < self->count; i++) {
        self->owners[i] = (struct value_owner){self, i};
        const struct cold_owner values = {
            .context = &self->owners[i], .keys = value_keys, .columns = value_columns, .add = value_add, .drop = value_drop};
        struct key_table *keys;
        self->fetches[i] = (struct call_cold){&self->tables[i], spec->layouts->columns[i]};
        TRY(call_states_values(spec->calls, spec->states, i, &keys, err));
        TRY(open_table(self, i, &spec->layouts->values[i], scope, units, &values, keys, err));
    }
    if (self->count > 0) {
        spec->states->cold = self->fetches;
    }
    return open_table(self, self->count, &spec->layouts->records, scope, units, &records, spec->table, err);
}

enum status records_cold_create(const struct records_cold_spec *spec, struct text scope, const uint64_t *units,
                                struct records_cold **records, struct error *err)
{
    uint32_t count = spec->layouts->count;
    size_t bytes =
        sizeof **records + (count + 1) * sizeof(struct cold_table) + count * sizeof(struct value_owner) + count * sizeof(struct call_cold);
    struct budget *budget = node_budget(spec->node);
    *records = NULL;
    struct records_cold *self = budget_charge(budget, bytes) ? calloc(1, bytes) : NULL;
    if (self == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room to keep groups in the database of state");
    }
    self->spec = *spec;
    self->count = count;
    self->bytes = bytes;
    self->tables = (struct cold_table *)(void *)(self + 1);
    self->owners = (struct value_owner *)(void *)(self->tables + count + 1);
    self->fetches = (struct call_cold *)(void *)(self->owners + count);
    for (uint32_t i = 0; i <= count; i++) {
        node_add_cold(spec->node, &self->tables[i]);
    }
    *records = self;
    return open_tables(self, scope, units, err);
}

void records_cold_destroy(struct records_cold *records)
{
    if (records == NULL) {
        return;
    }
    struct budget *budget = node_budget(records->spec.node);
    for (uint32_t i = 0; i <= records->count; i++) {
        node_drop_cold(records->spec.node, &records->tables[i]);
    }
    if (records->count > 0) {
        records->spec.states->cold = NULL;
    }
    size_t bytes = records->bytes;
    free(records);
    budget_release(budget, bytes);
}
