/* The table "groups": keys, weight of the group's rows, the states of all calls; of changing input what tells whether the rows cancel; with a time-to-live, when the group was written last, and by
 * which number it is known to the tables of DISTINCT (call_set.h), where rows of groups that are forgotten may still be. */
#include <string.h>

#include "circuit/operators/group_aggregate_internal.h"

enum { GROUP_WEIGHT, GROUP_STATES, GROUP_RESIDUE, GROUP_WRITTEN, GROUP_GENERATION, GROUP_COLUMNS };

enum status group_aggregate_declare(struct group_aggregate *self, struct error *err)
{
    static const struct column extra[GROUP_COLUMNS] = {[GROUP_WEIGHT] = {.name = "weight", .type = &type_bigint_not_null},
                                                       [GROUP_STATES] = {.name = "states", .type = &type_bytes},
                                                       [GROUP_RESIDUE] = {.name = "residue", .type = &type_bigint},
                                                       [GROUP_WRITTEN] = {.name = "written", .type = &type_bigint},
                                                       [GROUP_GENERATION] = {.name = "generation", .type = &type_bigint}};
    const struct group_aggregate_spec *spec = self->spec;
    struct arena *arena = node_arena(&self->node);
    uint32_t count = TABLE_DISTINCT + call_set_table_count(self->calls);
    struct snapshot_table *tables;
    TRY_ALLOC(tables, arena_alloc(arena, count * sizeof *tables), err);
    tables[TABLE_GROUPS] = (struct snapshot_table){.name = "groups", .expiry = -1};
    TRY(state_schema_make(arena, spec->input.schema, spec->keys, spec->key_count, extra, ARRAY_LENGTH(extra), &tables[TABLE_GROUPS].schema,
                          err));
    TRY(state_table_place(arena, &spec->input, spec->keys, spec->key_count, &tables[TABLE_GROUPS], err));
    TRY(call_set_layouts(self->calls, spec->key_count + GROUP_STATES, &tables[TABLE_GROUPS], err));
    tables[TABLE_HELD] = held_errors_table;
    TRY(call_set_declare_tables(self->calls, false, tables + TABLE_DISTINCT, err));
    TRY_ALLOC(self->key_order, arena_alloc(arena, (spec->key_count + 1) * sizeof *self->key_order), err);
    for (uint32_t i = 0; i < spec->key_count; i++) {
        self->key_order[i] = i;
    }
    self->node.tables = tables;
    self->node.table_count = count;
    return self->node.circuit->incremental ? call_states_track(self->calls, &self->states, err) : STATUS_OK;
}

/* Columns that come from the records alone: of `records`, which may be copies. */
static enum status residue_column(const struct group_aggregate *self, const uint8_t *records, const uint32_t *slots, uint32_t count,
                                  struct vector *vector, struct error *err)
{
    if (self->residue_at == 0) {
        *vector = (struct vector){.type = &type_bigint, .physical = PHYSICAL_NULL, .count = count};
        return STATUS_OK;
    }
    TRY(vector_create(node_budget(&self->node), &type_bigint, count, vector, err));
    for (uint32_t k = 0; k < count; k++) {
        memcpy(&vector_int64(vector)[k], records + (size_t)slots[k] * self->record_bytes + self->residue_at, sizeof(int64_t));
    }
    return STATUS_OK;
}

static enum status record_columns(const struct group_aggregate *self, const uint8_t *records, const uint32_t *slots, uint32_t count,
                                  struct vector *columns, struct error *err)
{
    int64_t weights[CHUNK_ROWS];
    TRY(call_set_states_column(self->calls, records + sizeof(struct group_record), self->record_bytes, slots, count, &columns[GROUP_STATES],
                               err));
    for (uint32_t k = 0; k < count; k++) {
        weights[k] = ((const struct group_record *)(const void *)(records + (size_t)slots[k] * self->record_bytes))->weight;
    }
    TRY(state_number_column(node_budget(&self->node), weights, count, &columns[GROUP_WEIGHT], err));
    return residue_column(self, records, slots, count, &columns[GROUP_RESIDUE], err);
}

static enum status other_columns(void *owner, const uint32_t *slots, uint32_t count, struct batch *batch, struct error *err)
{
    struct group_aggregate *self = owner;
    struct vector *columns = batch->columns + self->spec->key_count;
    for (uint32_t i = 0; i < self->spec->key_count; i++) {
        TRY(key_table_gather(self->table, i, slots, count, &batch->columns[i], err));
    }
    TRY(state_written_column(&self->ttl, node_budget(&self->node), slots, count, &columns[GROUP_WRITTEN], err));
    return call_states_generation_column(&self->states, slots, count, &columns[GROUP_GENERATION], err);
}

enum status group_aggregate_columns(void *owner, const uint32_t *slots, uint32_t count, struct batch *batch, struct error *err)
{
    const struct group_aggregate *self = owner;
    TRY(other_columns(owner, slots, count, batch, err));
    return record_columns(self, records_of(self), slots, count, batch->columns + self->spec->key_count, err);
}

/* In the thread that stores: nothing of the operator is read that changes. */
static enum status fill_columns(void *owner, const void *records, uint32_t count, struct batch *batch, struct error *err)
{
    const struct group_aggregate *self = owner;
    uint32_t slots[CHUNK_ROWS];
    for (uint32_t k = 0; k < count; k++) {
        slots[k] = k;
    }
    return record_columns(self, records, slots, count, batch->columns + self->spec->key_count, err);
}

enum status group_aggregate_save(struct node *node, struct snapshot_writer *writer, struct error *err)
{
    struct group_aggregate *self = (struct group_aggregate *)node;
    if (node->in_database) { /* groups and values */
        dirty_slots_clear(&self->dirty);
        call_states_forget_changes(self->calls, &self->states);
        return held_errors_save(self->held, writer, TABLE_HELD, err);
    }
    struct dirty_slots *dirty = node->circuit->incremental ? &self->dirty : NULL;
    const struct slot_records records = {self->table, self->record_bytes, fill_columns};
    bool raw = call_set_is_plain(self->calls) && snapshot_defers(writer);
    TRY(slot_cut_save(&self->cut, writer, TABLE_GROUPS, self->spec->key_count + GROUP_COLUMNS, self->table, dirty,
                      raw ? other_columns : group_aggregate_columns, self, raw ? &records : NULL, err));
    TRY(held_errors_save(self->held, writer, TABLE_HELD, err));
    return call_states_save(self->calls, &self->states, writer, TABLE_DISTINCT, NULL, err);
}

static enum status add_group(struct group_aggregate *self, const struct batch *batch, uint32_t row, uint32_t slot, struct error *err)
{
    uint32_t first = self->spec->key_count;
    struct group_record *record = record_at(self, slot);
    record->weight = snapshot_number(batch, row, first + GROUP_WEIGHT);
    TRY(call_set_load(self->calls, &self->states, record + 1, snapshot_text(batch, row, first + GROUP_STATES), err));
    if (self->residue_at > 0 && vector_is_valid(&batch->columns[first + GROUP_RESIDUE], row)) {
        *residue_of(self, record) = (uint64_t)snapshot_number(batch, row, first + GROUP_RESIDUE);
    }
    return state_restore_written(&self->ttl, slot, batch, row, first + GROUP_WRITTEN, err);
}

enum status group_aggregate_add(struct group_aggregate *self, const struct batch *batch, uint32_t *slots, struct error *err)
{
    uint64_t hashes[CHUNK_ROWS];
    batch_hash(batch, self->key_order, self->spec->key_count, hashes);
    TRY(key_table_find_or_insert(self->table, batch, self->key_order, hashes, slots, err));
    for (uint32_t row = 0; row < batch->count; row++) {
        TRY(add_group(self, batch, row, slots[row], err));
    }
    return STATUS_OK;
}

/* What rows of DISTINCT call the group by. */
static enum status restore_record(struct group_aggregate *self, const struct snapshot_rows *rows, uint32_t row, struct error *err)
{
    uint32_t slot = self->slots[row];
    uint32_t generation = call_states_generation(&rows->batch->columns[self->spec->key_count + GROUP_GENERATION], row);
    TRY(group_aggregate_restore_generation(self, slot, generation, err));
    if (call_set_table_count(self->calls) == 0) { /* nobody asks which group a row was */
        return STATUS_OK;
    }
    TRY(state_map_set(&self->restored_generations, rows->chain, rows->ids[row], generation, err));
    return state_map_set(&self->restored, rows->chain, rows->ids[row], slot, err);
}

static enum status restore_groups(struct group_aggregate *self, const struct snapshot_rows *rows, struct error *err)
{
    TRY(group_aggregate_add(self, rows->batch, self->slots, err));
    for (uint32_t row = 0; call_set_table_count(self->calls) > 0 && row < rows->batch->count; row++) {
        TRY(restore_record(self, rows, row, err));
    }
    return self->cold == NULL ? STATUS_OK : cold_table_changed(self->cold, self->slots, rows->batch->count, 0, err);
}

static enum status restore_distinct(struct group_aggregate *self, uint32_t index, const struct snapshot_rows *rows, struct error *err)
{
    for (uint32_t row = 0; row < rows->batch->count; row++) {
        uint64_t record = call_set_distinct_record(rows->batch, row), id = record & UINT32_MAX;
        bool forgotten = state_map_get(&self->restored_generations, rows->chain, id) != record >> 32;
        self->slots[row] = forgotten ? SLOT_NONE : state_map_get(&self->restored, rows->chain, id);
    }
    uint32_t places[CHUNK_ROWS];
    TRY(call_states_restore(self->calls, &self->states, index, rows->batch, self->slots, places, err));
    return self->cold == NULL ? STATUS_OK
                              : cold_table_changed(records_cold_values(self->records, index), places, rows->batch->count, 0, err);
}

enum status group_aggregate_restore(struct node *node, uint32_t table, const struct snapshot_rows *rows, struct error *err)
{
    struct group_aggregate *self = (struct group_aggregate *)node;
    if (table == TABLE_HELD) {
        return held_errors_restore(self->held, rows, err);
    }
    return table == TABLE_GROUPS ? restore_groups(self, rows, err) : restore_distinct(self, table - TABLE_DISTINCT, rows, err);
}

/* The row that stands without input has been shown before: it is neither fresh nor touched. */
enum status group_aggregate_restored(struct node *node, struct error *err)
{
    (void)err;
    struct group_aggregate *self = (struct group_aggregate *)node;
    state_map_close(&self->restored);
    state_map_close(&self->restored_generations);
    for (uint32_t i = 0; i < self->fresh.count; i++) {
        record_at(self, self->fresh.slots[i])->flags &= ~(uint64_t)FLAG_DIRTY;
    }
    self->fresh.count = 0;
    return STATUS_OK;
}
