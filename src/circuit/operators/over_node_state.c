/* By time: a partition's accumulators and place; its rows that wait, which die by their time; the items that later frames read, by position.
 * Items before a partition's base are not needed any more: they are left out when they are read, and so are those of a partition that was
 * forgotten (over_node_ttl.c): a later one of the same key has positions beyond them. Any order: the sorted rows alone; what was
 * shown follows from them. */
#include <stdlib.h>
#include <string.h>

#include "circuit/operators/over_node_internal.h"

enum { ROW_ORDINAL, ROW_WEIGHT, ROW_TIME, ROW_NUMBERS, ROW_WRITTEN = ROW_TIME /* any order */ };
enum { ROWS_AT_ONCE = 64 };
enum { ITEM_ORDINAL, ITEM_TIME, ITEM_POSITION, ITEM_COPIES, ITEM_NUMBERS };
enum { PLACE_BASE, PLACE_RANK, PLACE_DENSE, PLACE_BEGIN, PLACE_END, PLACE_NEXT, PLACE_ORIGIN, PLACE_NUMBERS };
enum { PLACE_STATES = PLACE_NUMBERS, PLACE_WRITTEN, PLACE_GENERATION, PLACE_COLUMNS };

static const struct column place_columns[PLACE_COLUMNS] = {
    [PLACE_BASE] = {.name = "base", .type = &type_bigint_not_null},     [PLACE_RANK] = {.name = "rank", .type = &type_bigint_not_null},
    [PLACE_DENSE] = {.name = "dense", .type = &type_bigint_not_null},   [PLACE_BEGIN] = {.name = "begin", .type = &type_bigint_not_null},
    [PLACE_END] = {.name = "end", .type = &type_bigint_not_null},       [PLACE_NEXT] = {.name = "next", .type = &type_bigint_not_null},
    [PLACE_ORIGIN] = {.name = "origin", .type = &type_bigint_not_null}, [PLACE_STATES] = {.name = "states", .type = &type_bytes},
    [PLACE_WRITTEN] = {.name = "written", .type = &type_bigint},        [PLACE_GENERATION] = {.name = "generation", .type = &type_bigint},
};

/* ---- declarations ---- */

static enum status declare_rows(struct over_node *self, const char *name, const char *const *numbers, uint32_t count,
                                struct snapshot_table *table, struct error *err)
{
    const struct input_spec *input = &self->spec->input;
    struct arena *arena = node_arena(&self->node);
    TRY(row_state_declare(arena, input->schema, numbers, count, name, table, err));
    return state_table_place(arena, input, NULL, input->schema->count, table, err);
}

static enum status declare_by_time(struct over_node *self, struct snapshot_table *tables, struct error *err)
{
    static const char *const item_numbers[ITEM_NUMBERS] = {"ordinal", "time", "position", "copies"};
    static const char *const row_numbers[ROW_NUMBERS] = {"ordinal", "weight", "time"};
    const struct over_spec *spec = self->spec;
    struct arena *arena = node_arena(&self->node);
    struct snapshot_table *partitions = &tables[OVER_TABLE_PARTITIONS];
    *partitions = (struct snapshot_table){.name = "partitions", .expiry = -1};
    TRY(state_schema_make(arena, spec->input.schema, spec->over.partition, spec->over.partition_count, place_columns,
                          ARRAY_LENGTH(place_columns), &partitions->schema, err));
    TRY(state_table_place(arena, &spec->input, spec->over.partition, spec->over.partition_count, partitions, err));
    TRY(declare_rows(self, "waiting", row_numbers, ROW_NUMBERS, &tables[OVER_TABLE_WAITING], err));
    TRY(declare_rows(self, "items", item_numbers, ITEM_NUMBERS, &tables[OVER_TABLE_ITEMS], err));
    tables[OVER_TABLE_WAITING].expiry = (int32_t)spec->input.schema->count + ROW_TIME;
    if (self->run.calls == NULL) {
        return STATUS_OK;
    }
    TRY(call_set_layouts(self->run.calls, spec->over.partition_count + PLACE_NUMBERS, partitions, err));
    return call_set_declare_tables(self->run.calls, false, tables + OVER_TABLE_DISTINCT, err);
}

enum status over_declare(struct over_node *self, struct error *err)
{
    static const char *const row_numbers[] = {"ordinal", "weight", row_state_written};
    struct snapshot_table *tables;
    uint32_t distinct = self->run.calls == NULL ? 0 : call_set_table_count(self->run.calls);
    uint32_t count = self->streams ? OVER_TABLE_DISTINCT + distinct : OVER_TABLE_ROWS + 1;
    TRY_ALLOC(tables, arena_alloc(node_arena(&self->node), count * sizeof *tables), err);
    TRY(self->streams ? declare_by_time(self, tables, err)
                      : declare_rows(self, "rows", row_numbers, ARRAY_LENGTH(row_numbers), &tables[OVER_TABLE_ROWS], err));
    self->dirty.budget = self->restored.budget = self->restored_generations.budget = node_budget(&self->node);
    touched_rows_open(&self->changed, self->node.circuit);
    self->node.tables = tables;
    self->node.table_count = count;
    bool follows = self->streams && self->changed.followed && self->run.calls != NULL;
    return follows ? call_states_track(self->run.calls, &self->states, err) : STATUS_OK;
}

/* ---- save ---- */

static uint32_t sorted_part(struct over_node *self, const struct over_partition *partition, struct sorted_place *at, struct over_row *rows,
                            uint32_t room)
{
    const struct sorted_item *item;
    uint32_t count = 0;
    while (count < room && (item = sorted_rows_at(&partition->waiting, at)) != NULL) {
        rows[count++] = (struct over_row){item->row,
                                          {[ROW_ORDINAL] = item->ordinal,
                                           [ROW_WEIGHT] = item->weight,
                                           [ROW_TIME] = self->streams ? item->prefix : ttl_written_us(&self->ttl, partition->slot)}};
        at->at++;
    }
    return count;
}

/* Copies of one row are one row. Before they are in order items have their positions as weights. */
static uint32_t items_part(const struct over_partition *partition, struct sorted_place *at, struct over_row *rows, uint32_t room)
{
    const struct over_items *items = &partition->items;
    int64_t first = partition->origin + partition->place.base;
    uint32_t count = 0, copies;
    for (; count < room && at->at < items->count; at->at += copies) {
        const struct sorted_item *item = &items->items[at->at];
        int64_t position = partition->arrived ? item->weight : first + at->at;
        for (copies = 1; at->at + copies < items->count && items->items[at->at + copies].row == item->row; copies++) {
        }
        rows[count++] = (struct over_row){
            item->row, {[ITEM_ORDINAL] = item->ordinal, [ITEM_TIME] = item->prefix, [ITEM_POSITION] = position, [ITEM_COPIES] = copies}};
    }
    return count;
}

uint32_t over_partition_rows(struct over_node *self, uint32_t slot, uint32_t table, struct sorted_place *at, struct over_row *rows,
                             uint32_t room)
{
    const struct over_partition *partition = *over_partition_place(self, slot);
    return partition == NULL                            ? 0
           : self->streams && table == OVER_TABLE_ITEMS ? items_part(partition, at, rows, room)
                                                        : sorted_part(self, partition, at, rows, room);
}

static enum status save_sorted(struct over_node *self, uint32_t slot, struct row_save *save, struct error *err)
{
    struct sorted_place at = {0};
    struct over_row rows[ROWS_AT_ONCE];
    uint32_t count;
    while ((count = over_partition_rows(self, slot, OVER_TABLE_WAITING, &at, rows, ROWS_AT_ONCE)) > 0) {
        for (uint32_t k = 0; k < count; k++) {
            TRY(row_save_add(save, rows[k].row, rows[k].numbers, err));
        }
    }
    return STATUS_OK;
}

/* Items that are not in the checkpoint before. */
static enum status save_items(struct over_node *self, uint32_t slot, struct row_save *save, struct error *err)
{
    struct over_partition *partition = *over_partition_place(self, slot);
    struct sorted_place at = {0};
    struct over_row rows[ROWS_AT_ONCE];
    uint32_t count;
    while ((count = items_part(partition, &at, rows, ROWS_AT_ONCE)) > 0) {
        for (uint32_t k = 0; k < count; k++) {
            if (rows[k].numbers[ITEM_POSITION] - partition->origin >= partition->saved) {
                TRY(row_save_add(save, rows[k].row, rows[k].numbers, err));
            }
        }
    }
    partition->saved = partition->place.base + partition->items.count;
    return STATUS_OK;
}

typedef enum status save_partition(struct over_node *self, uint32_t slot, struct row_save *save, struct error *err);
static enum status save_each(struct over_node *self, bool all, save_partition *each, struct row_save *save, struct error *err)
{
    uint32_t slots = self->table == NULL ? 1 : key_table_slots(self->table), count = all ? slots : self->dirty.count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t slot = all ? i : self->dirty.slots[i];
        bool there = self->table == NULL ? self->single != NULL : key_table_has(self->table, slot);
        if (there) {
            if (all) {
                (*over_partition_place(self, slot))->saved = 0;
            }
            TRY(each(self, slot, save, err));
        }
    }
    return STATUS_OK;
}

enum status over_place_columns(void *owner, const uint32_t *slots, uint32_t count, struct batch *batch, struct error *err)
{
    struct over_node *self = owner;
    uint32_t keys = self->spec->over.partition_count;
    struct budget *budget = node_budget(&self->node);
    int64_t values[PLACE_NUMBERS][CHUNK_ROWS];
    size_t ends[CHUNK_ROWS];
    struct text_builder states = {0};
    for (uint32_t k = 0; k < count; k++) {
        const struct over_partition *partition = *over_partition_place(self, slots[k]);
        const struct over_place *place = &partition->place;
        values[PLACE_BASE][k] = place->base;
        values[PLACE_RANK][k] = place->rank;
        values[PLACE_DENSE][k] = place->dense;
        values[PLACE_BEGIN][k] = place->begin;
        values[PLACE_END][k] = place->end;
        values[PLACE_NEXT][k] = place->next;
        values[PLACE_ORIGIN][k] = partition->origin;
        if (self->run.calls != NULL) {
            call_set_save(self->run.calls, partition->record, &states);
        }
        ends[k] = states.length;
    }
    enum status status = state_bytes_column(budget, &states, ends, count, &batch->columns[keys + PLACE_STATES], err);
    text_builder_close(&states);
    for (uint32_t i = 0; i < PLACE_NUMBERS && status == STATUS_OK; i++) {
        status = state_number_column(budget, values[i], count, &batch->columns[keys + i], err);
    }
    if (status == STATUS_OK) {
        status = state_written_column(&self->ttl, budget, slots, count, &batch->columns[keys + PLACE_WRITTEN], err);
    }
    if (status == STATUS_OK) {
        status = call_states_generation_column(&self->states, slots, count, &batch->columns[keys + PLACE_GENERATION], err);
    }
    for (uint32_t i = 0; i < keys && status == STATUS_OK; i++) {
        status = key_table_gather(self->table, i, slots, count, &batch->columns[i], err);
    }
    return status;
}

static enum status save_rows(struct over_node *self, struct snapshot_writer *writer, uint32_t table, bool removes, bool all,
                             struct error *err)
{
    struct row_save *save;
    TRY(row_save_begin(&self->node, writer, table, self->store, &self->changed, &save, err));
    return row_save_end(save, save_each(self, all, save_sorted, save, err), removes, err);
}

static enum status save_by_time(struct over_node *self, struct snapshot_writer *writer, bool all, struct error *err)
{
    struct row_save *save;
    struct dirty_slots *dirty = self->changed.followed ? &self->dirty : NULL;
    uint32_t columns = self->spec->over.partition_count + PLACE_COLUMNS;
    TRY(save_rows(self, writer, OVER_TABLE_WAITING, false, all, err));
    TRY(snapshot_expire(writer, OVER_TABLE_WAITING, time_add(self->node.watermark, 1), err));
    if (!self->changed.followed && !snapshot_is_full(writer)) {
        TRY(snapshot_replace(writer, OVER_TABLE_ITEMS, err));
    }
    TRY(row_save_begin(&self->node, writer, OVER_TABLE_ITEMS, self->store, NULL, &save, err));
    TRY(row_save_end(save, save_each(self, all, save_items, save, err), false, err));
    if (self->table != NULL || self->single != NULL) { /* last: it forgets what is dirty */
        TRY(state_save_slots(writer, OVER_TABLE_PARTITIONS, columns, self->table, 0, dirty, over_place_columns, self, err));
    }
    return self->run.calls == NULL ? STATUS_OK : call_states_save(self->run.calls, &self->states, writer, OVER_TABLE_DISTINCT, NULL, err);
}

enum status over_save(struct node *node, struct snapshot_writer *writer, struct error *err)
{
    struct over_node *self = (struct over_node *)node;
    bool all = snapshot_is_full(writer) || !self->changed.followed;
    if (node->in_database) { /* partitions */
        touched_rows_close(&self->changed);
        dirty_slots_clear(&self->dirty);
        return STATUS_OK;
    }
    TRY(self->streams ? save_by_time(self, writer, all, err) : save_rows(self, writer, OVER_TABLE_ROWS, true, all, err));
    dirty_slots_clear(&self->dirty);
    return STATUS_OK;
}

/* ---- restore ---- */

static enum status find_partitions(struct over_node *self, const struct batch *batch, const uint32_t *keys, struct error *err)
{
    if (self->table == NULL) {
        memset(self->slots, 0, batch->count * sizeof *self->slots);
        return STATUS_OK;
    }
    batch_hash(batch, keys, self->spec->over.partition_count, self->hashes);
    return key_table_find_or_insert(self->table, batch, keys, self->hashes, self->slots, err);
}

/* What rows of DISTINCT call the partition by. */
static enum status restore_record(struct over_node *self, const struct snapshot_rows *rows, uint32_t row, struct error *err)
{
    const struct batch *batch = rows->batch;
    uint32_t first = self->spec->over.partition_count, slot = self->slots[row];
    uint32_t generation = call_states_generation(&batch->columns[first + PLACE_GENERATION], row);
    TRY(state_map_set(&self->restored, rows->chain, rows->ids[row], slot, err));
    TRY(state_map_set(&self->restored_generations, rows->chain, rows->ids[row], generation, err));
    if (generation != 0) {
        TRY(call_states_restore_record(&self->states, slot, generation, err));
    }
    return STATUS_OK;
}

static enum status add_place(struct over_node *self, const struct batch *batch, uint32_t row, struct error *err)
{
    struct over_partition *partition;
    uint32_t count = self->spec->over.partition_count;
    TRY(over_partition_at(self, self->slots[row], &partition, err));
    partition->place = (struct over_place){.base = snapshot_number(batch, row, count + PLACE_BASE),
                                           .rank = snapshot_number(batch, row, count + PLACE_RANK),
                                           .dense = snapshot_number(batch, row, count + PLACE_DENSE),
                                           .begin = (uint32_t)snapshot_number(batch, row, count + PLACE_BEGIN),
                                           .end = (uint32_t)snapshot_number(batch, row, count + PLACE_END),
                                           .next = (uint32_t)snapshot_number(batch, row, count + PLACE_NEXT)};
    partition->origin = snapshot_number(batch, row, count + PLACE_ORIGIN);
    partition->restored = true;
    TRY(state_restore_written(&self->ttl, partition->slot, batch, row, count + PLACE_WRITTEN, err));
    return self->run.calls == NULL
               ? STATUS_OK
               : call_set_load(self->run.calls, &self->states, partition->record, snapshot_text(batch, row, count + PLACE_STATES), err);
}

static enum status add_places(struct over_node *self, const struct batch *batch, struct error *err)
{
    uint32_t keys[CHUNK_ROWS];
    for (uint32_t i = 0; i < self->spec->over.partition_count; i++) {
        keys[i] = i;
    }
    TRY(find_partitions(self, batch, keys, err));
    for (uint32_t row = 0; row < batch->count; row++) {
        TRY(add_place(self, batch, row, err));
    }
    return STATUS_OK;
}

static enum status add_sorted(struct over_node *self, const struct batch *batch, struct error *err)
{
    uint32_t stored = self->spec->input.schema->count;
    TRY(find_partitions(self, batch, self->spec->over.partition, err));
    TRY(row_store_add(self->store, batch, self->handles, err));
    for (uint32_t row = 0; row < batch->count; row++) {
        struct over_partition *partition;
        TRY(over_partition_at(self, self->slots[row], &partition, err));
        const struct sorted_item item = {.prefix = row_order_prefix(&self->order, batch, row),
                                         .row = self->handles[row],
                                         .ordinal = snapshot_number(batch, row, stored + ROW_ORDINAL),
                                         .weight = snapshot_number(batch, row, stored + ROW_WEIGHT)};
        if (!self->streams) {
            TRY(state_restore_written(&self->ttl, self->slots[row], batch, row, stored + ROW_WRITTEN, err));
        }
        TRY(over_put_sorted(self, partition, &item, err));
    }
    return STATUS_OK;
}

/* Until all are there the weight of an item is its position. */
static enum status add_items(struct over_node *self, const struct batch *batch, struct error *err)
{
    uint32_t stored = self->spec->input.schema->count;
    TRY(find_partitions(self, batch, self->spec->over.partition, err));
    TRY(row_store_add(self->store, batch, self->handles, err));
    for (uint32_t row = 0; row < batch->count; row++) {
        struct over_partition *partition;
        TRY(over_partition_at(self, self->slots[row], &partition, err));
        struct sorted_item item = {.prefix = snapshot_number(batch, row, stored + ITEM_TIME),
                                   .row = self->handles[row],
                                   .ordinal = snapshot_number(batch, row, stored + ITEM_ORDINAL)};
        int64_t position = snapshot_number(batch, row, stored + ITEM_POSITION);
        int64_t end = position + snapshot_number(batch, row, stored + ITEM_COPIES);
        if (end <= position) {
            return error_set(err, ERROR_STATE_CORRUPT, "a row of OVER has a number of copies that cannot be");
        }
        for (item.weight = position; item.weight < end; item.weight++) {
            TRY(over_items_add(&partition->items, node_budget(&self->node), &item, err));
        }
    }
    return STATUS_OK;
}

/* They will be put in order when all are there. */
static enum status note_arrived(struct over_node *self, uint32_t count, struct error *err)
{
    for (uint32_t k = 0; k < count; k++) {
        struct over_partition *partition = *over_partition_place(self, self->slots[k]);
        if (partition == NULL || partition->arrived) {
            continue;
        }
        TRY(over_list_room(node_budget(&self->node), (void **)&self->arrived, &self->arrived_capacity, self->arrived_count,
                           sizeof *self->arrived, err));
        self->arrived[self->arrived_count++] = partition->slot;
        partition->arrived = true;
    }
    return STATUS_OK;
}

enum status over_add_rows(struct over_node *self, uint32_t table, const struct batch *batch, struct error *err)
{
    TRY(!self->streams || table == OVER_TABLE_WAITING ? add_sorted(self, batch, err)
        : table == OVER_TABLE_ITEMS                   ? add_items(self, batch, err)
                                                      : add_places(self, batch, err));
    return note_arrived(self, batch->count, err);
}

static enum status restore_values(struct over_node *self, uint32_t index, const struct snapshot_rows *rows, struct error *err)
{
    uint32_t places[CHUNK_ROWS];
    for (uint32_t row = 0; row < rows->batch->count; row++) {
        uint64_t record = call_set_distinct_record(rows->batch, row), id = record & UINT32_MAX;
        bool forgotten = state_map_get(&self->restored_generations, rows->chain, id) != record >> 32;
        self->slots[row] = forgotten ? SLOT_NONE : state_map_get(&self->restored, rows->chain, id);
    }
    return call_states_restore(self->run.calls, &self->states, index, rows->batch, self->slots, places, err);
}

/* Other rows of a partition may have come, and gone to the database. */
static enum status restore_spilled(struct over_node *self, uint32_t table, const struct batch *batch, struct error *err)
{
    const struct cold_layout *layout = &self->cold->layouts[self->streams ? table : 0];
    batch_hash(batch, layout->keys, layout->key_count, self->hashes);
    TRY(over_fetch(self, batch, layout->keys, err));
    TRY(over_add_rows(self, table, batch, err));
    return cold_table_changed(self->cold, self->slots, batch->count, self->streams ? table : 0, err);
}

enum status over_restore(struct node *node, uint32_t table, const struct snapshot_rows *rows, struct error *err)
{
    struct over_node *self = (struct over_node *)node;
    if (self->streams && table >= OVER_TABLE_DISTINCT) {
        return restore_values(self, table - OVER_TABLE_DISTINCT, rows, err);
    }
    self->restoring = true;
    if (self->cold != NULL) {
        return restore_spilled(self, table, rows->batch, err);
    }
    TRY(over_add_rows(self, table, rows->batch, err));
    for (uint32_t row = 0; self->streams && table == OVER_TABLE_PARTITIONS && row < rows->batch->count; row++) {
        TRY(restore_record(self, rows, row, err));
    }
    return STATUS_OK;
}

static int compare_positions(const void *left, const void *right)
{
    int64_t l = ((const struct sorted_item *)left)->weight, r = ((const struct sorted_item *)right)->weight;
    return (l > r) - (l < r);
}

/* Sorts the items by position and leaves out those before the base; of a partition that is forgotten, all. */
static enum status settle_items(struct over_node *self, struct over_partition *partition, struct error *err)
{
    struct over_items *items = &partition->items;
    uint32_t dropped = 0;
    int64_t base = partition->restored ? partition->origin + partition->place.base : INT64_MAX;
    if (items->count > 0) {
        qsort(items->items, items->count, sizeof *items->items, compare_positions);
    }
    while (dropped < items->count && items->items[dropped].weight < base) {
        bool last_copy = dropped + 1 == items->count || items->items[dropped + 1].row != items->items[dropped].row;
        if (last_copy) {
            row_store_free(self->store, items->items[dropped].row);
        }
        dropped++;
    }
    items->count -= dropped;
    if (items->count > 0) {
        memmove(items->items, items->items + dropped, items->count * sizeof *items->items);
    }
    for (uint32_t i = 0; i < items->count; i++) {
        if (items->items[i].weight != base + i) {
            return error_set(err, ERROR_STATE_CORRUPT, "a partition of OVER misses a row");
        }
        items->items[i].weight = 1;
    }
    if (partition->place.next != items->count || partition->place.end > items->count || partition->place.begin > partition->place.end) {
        return error_set(err, ERROR_STATE_CORRUPT, "the rows of a partition of OVER do not fit its place");
    }
    return STATUS_OK;
}

/* All that was there of it was rows of one that is forgotten. */
static enum status drop_unknown(struct over_node *self, struct over_partition *partition, struct error *err)
{
    uint32_t slot = partition->slot;
    if (partition->restored || self->table == NULL) {
        return STATUS_OK;
    }
    if (self->cold != NULL) {
        TRY(cold_table_forget(self->cold, &slot, 1, err));
    }
    *over_partition_place(self, slot) = NULL;
    over_partition_free(self, partition);
    key_table_remove(self->table, slot);
    return STATUS_OK;
}

enum status over_settle_arrived(struct over_node *self, struct over_partition *partition, struct error *err)
{
    partition->arrived = false;
    if (!self->streams) {
        return over_show_again(self, partition, err);
    }
    TRY(settle_items(self, partition, err));
    TRY(over_note_idle(self, partition, err));
    return drop_unknown(self, partition, err);
}

enum status over_restored(struct node *node, struct error *err)
{
    struct over_node *self = (struct over_node *)node;
    state_map_close(&self->restored);
    state_map_close(&self->restored_generations);
    self->restoring = false;
    return over_settle_fetched(self, err);
}
