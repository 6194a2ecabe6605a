/* A row per pane and group. Panes are dropped in the order of their last windows' ends: groups die by that. What the entered panes add up to is
 * added up again. A group's number is that of the pane (its place in the index) and its slot there. */
#include "circuit/operators/window_aggregate_internal.h"

enum { CLOCK_FIRED, CLOCK_LAST_END, CLOCK_ENTERED, CLOCK_COLUMNS };
enum { GROUP_START, GROUP_FIRST_END, GROUP_LAST_END, GROUP_WINDOW_START, GROUP_WEIGHT, GROUP_NUMBERS }; /* after the keys */

static const struct column clock_columns[CLOCK_COLUMNS] = {
    [CLOCK_FIRED] = {.name = "fired", .type = &type_bigint_not_null},
    [CLOCK_LAST_END] = {.name = "last-end", .type = &type_bigint_not_null},
    [CLOCK_ENTERED] = {.name = "entered", .type = &type_bigint_not_null},
};
static const struct schema clock_schema = {CLOCK_COLUMNS, clock_columns};
static const struct column group_columns[GROUP_NUMBERS + 1] = {
    [GROUP_START] = {.name = "start", .type = &type_bigint_not_null},
    [GROUP_FIRST_END] = {.name = "first-end", .type = &type_bigint_not_null},
    [GROUP_LAST_END] = {.name = "last-end", .type = &type_bigint_not_null},
    [GROUP_WINDOW_START] = {.name = "window-start", .type = &type_bigint_not_null},
    [GROUP_WEIGHT] = {.name = "weight", .type = &type_bigint_not_null},
    [GROUP_NUMBERS] = {.name = "states", .type = &type_bytes},
};

enum status window_aggregate_declare(struct window_aggregate *self, struct error *err)
{
    const struct window_aggregate_spec *spec = self->spec;
    struct arena *arena = node_arena(&self->node);
    uint32_t count = WINDOW_TABLE_DISTINCT + call_set_table_count(self->calls);
    struct snapshot_table *tables;
    TRY_ALLOC(tables, arena_alloc(arena, count * sizeof *tables), err);
    tables[WINDOW_TABLE_CLOCK] = (struct snapshot_table){.name = "clock", .schema = &clock_schema, .place = SNAPSHOT_EVERY, .expiry = -1};
    tables[WINDOW_TABLE_GROUPS] = (struct snapshot_table){.name = "groups", .expiry = (int32_t)spec->key_count + GROUP_LAST_END};
    TRY(state_schema_make(arena, spec->input.schema, spec->keys, spec->key_count, group_columns, ARRAY_LENGTH(group_columns),
                          &tables[WINDOW_TABLE_GROUPS].schema, err));
    TRY(state_table_place(arena, &spec->input, spec->keys, spec->key_count, &tables[WINDOW_TABLE_GROUPS], err));
    TRY(call_set_layouts(self->calls, spec->key_count + GROUP_NUMBERS, &tables[WINDOW_TABLE_GROUPS], err));
    TRY(call_set_declare_tables(self->calls, true, tables + WINDOW_TABLE_DISTINCT, err));
    self->restored = (struct window_restore){.numbers.budget = node_budget(&self->node), .fired = WATERMARK_END, .last_end = INT64_MIN};
    self->node.tables = tables;
    self->node.table_count = count;
    return STATUS_OK;
}

/* ---- save ---- */

struct pane_groups {
    struct window_aggregate *self;
    struct pane *pane;
};

static enum status fill_numbers(const struct pane_groups *groups, const uint32_t *slots, uint32_t count, struct vector *columns,
                                struct error *err)
{
    const struct pane *pane = groups->pane;
    const struct keyed_layout *layout = &groups->self->layout;
    const uint8_t *records = key_table_values(pane->records.table, 0);
    const int64_t constants[] = {[GROUP_START] = pane->start,
                                 [GROUP_FIRST_END] = pane->first_end,
                                 [GROUP_LAST_END] = pane->last_end,
                                 [GROUP_WINDOW_START] = pane->window_start};
    for (uint32_t i = 0; i < GROUP_NUMBERS; i++) {
        int64_t values[CHUNK_ROWS];
        for (uint32_t k = 0; k < count; k++) {
            const int64_t *weight = (const int64_t *)(const void *)(records + (size_t)slots[k] * layout->record_bytes);
            values[k] = i == GROUP_WEIGHT ? *weight : constants[i];
        }
        TRY(state_number_column(node_budget(&groups->self->node), values, count, &columns[i], err));
    }
    return STATUS_OK;
}

static enum status pane_columns(void *owner, const uint32_t *slots, uint32_t count, struct batch *batch, struct error *err)
{
    const struct pane_groups *groups = owner;
    const struct keyed_layout *layout = &groups->self->layout;
    struct key_table *table = groups->pane->records.table;
    for (uint32_t i = 0; i < layout->key_count; i++) {
        TRY(key_table_gather(table, i, slots, count, &batch->columns[i], err));
    }
    TRY(fill_numbers(groups, slots, count, &batch->columns[layout->key_count], err));
    const uint8_t *records = key_table_values(table, 0);
    return call_set_states_column(layout->calls, records + sizeof(int64_t), layout->record_bytes, slots, count,
                                  &batch->columns[layout->key_count + GROUP_NUMBERS], err);
}

static enum status save_pane(struct window_aggregate *self, struct pane *pane, struct snapshot_writer *writer, struct error *err)
{
    struct pane_groups groups = {self, pane};
    struct keyed_records *records = &pane->records;
    const struct distinct_scope scope = {(uint64_t)pane->place << 32, pane->last_end};
    struct dirty_slots *dirty = self->node.circuit->incremental ? &records->dirty : NULL;
    uint32_t column_count = self->layout.key_count + (uint32_t)ARRAY_LENGTH(group_columns);
    TRY(state_save_slots(writer, WINDOW_TABLE_GROUPS, column_count, records->table, scope.base, dirty, pane_columns, &groups, err));
    return call_states_save(self->calls, &records->states, writer, WINDOW_TABLE_DISTINCT, &scope, err);
}

static enum status save_panes(struct window_aggregate *self, const struct pane_list *list, struct snapshot_writer *writer, int64_t *first,
                              struct error *err)
{
    for (uint32_t i = 0; i < list->count; i++) {
        *first = list->items[i]->last_end < *first ? list->items[i]->last_end : *first;
        TRY(save_pane(self, list->items[i], writer, err));
    }
    return STATUS_OK;
}

enum status window_aggregate_save(struct node *node, struct snapshot_writer *writer, struct error *err)
{
    struct window_aggregate *self = (struct window_aggregate *)node;
    const struct snapshot_cell clock[CLOCK_COLUMNS] = {
        [CLOCK_FIRED].number = self->fired, [CLOCK_LAST_END].number = self->last_end, [CLOCK_ENTERED].number = self->entered.count > 0};
    int64_t first = INT64_MAX; /* end of a pane that is there */
    if (!snapshot_is_full(writer)) {
        TRY(snapshot_replace(writer, WINDOW_TABLE_CLOCK, err));
    }
    TRY(snapshot_write_cells(writer, WINDOW_TABLE_CLOCK, 0, clock, err));
    if (node->in_database) { /* groups and values */
        return window_save_cold(self, writer, err);
    }
    TRY(window_forget_note(self, err));
    TRY(save_panes(self, &self->waiting, writer, &first, err));
    TRY(save_panes(self, &self->entered, writer, &first, err));
    for (uint32_t table = WINDOW_TABLE_GROUPS; table < node->table_count && !snapshot_is_full(writer); table++) {
        TRY(snapshot_expire(writer, table, first, err));
    }
    return STATUS_OK;
}

/* ---- restore ---- */

static void restore_clock(struct window_aggregate *self, const struct batch *batch)
{
    struct window_restore *restored = &self->restored;
    for (uint32_t row = 0; row < batch->count; row++) {
        int64_t fired = snapshot_number(batch, row, CLOCK_FIRED), last_end = snapshot_number(batch, row, CLOCK_LAST_END);
        restored->fired = fired < restored->fired ? fired : restored->fired;
        if (snapshot_number(batch, row, CLOCK_ENTERED) != 0) {
            restored->entered = true;
            restored->last_end = last_end > restored->last_end ? last_end : restored->last_end;
        }
    }
}

/* The first row behind `from` that is of another pane, or of one of another number: all that comes from a database has one number. */
static uint32_t pane_end(const struct window_aggregate *self, const struct snapshot_rows *rows, uint32_t from)
{
    static const uint32_t times[] = {GROUP_START, GROUP_FIRST_END, GROUP_LAST_END, GROUP_WINDOW_START};
    uint32_t end = from;
    bool same = true;
    while (same && ++end < rows->batch->count) {
        same = rows->ids[end] >> 32 == rows->ids[from] >> 32;
        for (uint32_t i = 0; i < ARRAY_LENGTH(times) && same; i++) {
            uint32_t column = self->layout.key_count + times[i];
            same = snapshot_number(rows->batch, end, column) == snapshot_number(rows->batch, from, column);
        }
    }
    return end;
}

/* The numbers of records that had this one of their pane; `add`: made if there are none. NULL: there are none. */
static enum status numbers_of(struct window_aggregate *self, uint32_t chain, uint64_t pane, bool add, struct restored_numbers **numbers,
                              struct error *err)
{
    struct window_restore *restored = &self->restored;
    struct budget *budget = node_budget(&self->node);
    uint32_t index = state_map_get(&restored->numbers, chain, pane);
    *numbers = NULL;
    if (index == SLOT_NONE && add) {
        struct restored_numbers *grown;
        TRY_ALLOC(grown, arena_grow(node_arena(&self->node), restored->panes, &restored->capacity, restored->count + 1, sizeof *grown),
                  err);
        restored->panes = grown;
        index = restored->count++;
        grown[index] = (struct restored_numbers){{.budget = budget}, {.budget = budget}};
        TRY(state_map_set(&restored->numbers, chain, pane, index, err));
    }
    *numbers = index == SLOT_NONE ? NULL : &restored->panes[index];
    return STATUS_OK;
}

void window_forget_numbers(struct window_aggregate *self)
{
    struct window_restore *restored = &self->restored;
    for (uint32_t i = 0; i < restored->count; i++) {
        state_map_close(&restored->panes[i].places);
        state_map_close(&restored->panes[i].slots);
    }
    restored->count = 0;
    state_map_close(&restored->numbers);
    self->layout.pinned = false;
}

/* For the rows of DISTINCT: what they call the records, which stay where they are until all is there. */
static enum status note_numbers(struct window_aggregate *self, const struct snapshot_rows *rows, uint32_t from, uint32_t count,
                                const struct pane *pane, const uint32_t *slots, struct error *err)
{
    struct restored_numbers *numbers;
    self->layout.pinned = true;
    TRY(numbers_of(self, rows->chain, rows->ids[from] >> 32, true, &numbers, err));
    for (uint32_t k = 0; k < count; k++) {
        TRY(state_map_set(&numbers->places, 0, (uint32_t)rows->ids[from + k], pane->place, err));
        TRY(state_map_set(&numbers->slots, 0, (uint32_t)rows->ids[from + k], slots[k], err));
    }
    return STATUS_OK;
}

static enum status restore_pane(struct window_aggregate *self, const struct snapshot_rows *rows, uint32_t from, uint32_t count,
                                struct error *err)
{
    const struct batch *batch = rows->batch;
    uint32_t numbers = self->layout.key_count, slots[CHUNK_ROWS];
    struct pane *pane;
    const struct window_bounds first = {snapshot_number(batch, from, numbers + GROUP_WINDOW_START),
                                        snapshot_number(batch, from, numbers + GROUP_FIRST_END)};
    TRY(window_pane_find(self, snapshot_number(batch, from, numbers + GROUP_START), &first,
                         snapshot_number(batch, from, numbers + GROUP_LAST_END), &pane, err));
    struct batch part = *batch;
    for (uint32_t k = 0; k < count; k++) {
        self->rows[k] = (uint16_t)(from + k);
    }
    part.selected = self->rows;
    part.selected_count = count;
    if (self->spills && self->layout.key_count == 0) { /* another worker's part may have come, and gone to the database */
        batch_hash(&part, self->layout.key_order, 0, self->hashes);
        TRY(keyed_records_fetch(&pane->records, &part, self->layout.key_order, self->hashes, err));
    }
    TRY(keyed_records_load(&self->layout, &pane->records, &part, numbers + GROUP_WEIGHT, numbers + GROUP_NUMBERS, slots, err));
    if (self->spills) {
        TRY(cold_table_changed(records_cold_table(pane->records.cold), slots, count, 0, err));
    }
    return call_set_table_count(self->calls) == 0 ? STATUS_OK : note_numbers(self, rows, from, count, pane, slots, err);
}

/* The rows of DISTINCT whose records are of one pane. */
static enum status add_values(struct window_aggregate *self, uint32_t index, const struct batch *batch, struct pane *pane,
                              const uint32_t *records, struct error *err)
{
    uint32_t slots[CHUNK_ROWS];
    TRY(call_states_restore(self->calls, &pane->records.states, index, batch, records, slots, err));
    return self->spills ? cold_table_changed(records_cold_values(pane->records.cold, index), slots, batch->count, 0, err) : STATUS_OK;
}

/* Where the records of rows of DISTINCT are; SLOT_NONE: not here. */
static enum status find_records(struct window_aggregate *self, const struct snapshot_rows *rows, uint32_t *places, uint32_t *slots,
                                struct error *err)
{
    for (uint32_t row = 0; row < rows->batch->count; row++) {
        uint64_t record = call_set_distinct_record(rows->batch, row);
        struct restored_numbers *numbers;
        TRY(numbers_of(self, rows->chain, record >> 32, false, &numbers, err));
        places[row] = numbers == NULL ? SLOT_NONE : state_map_get(&numbers->places, 0, (uint32_t)record);
        slots[row] = numbers == NULL ? SLOT_NONE : state_map_get(&numbers->slots, 0, (uint32_t)record);
    }
    return STATUS_OK;
}

static enum status restore_distinct(struct window_aggregate *self, uint32_t index, const struct snapshot_rows *rows, struct error *err)
{
    uint32_t count = rows->batch->count, places[CHUNK_ROWS], slots[CHUNK_ROWS], records[CHUNK_ROWS];
    struct pane **panes = key_table_values(self->index, 0);
    TRY(find_records(self, rows, places, slots, err));
    for (uint32_t from = 0; from < count; from++) {
        uint32_t place = places[from];
        if (place == SLOT_NONE) {
            continue;
        }
        for (uint32_t row = 0; row < count; row++) {
            bool here = places[row] == place;
            records[row] = here ? slots[row] : SLOT_NONE;
            places[row] = here ? SLOT_NONE : places[row];
        }
        TRY(add_values(self, index, rows->batch, panes[place], records, err));
    }
    return STATUS_OK;
}

enum status window_aggregate_restore(struct node *node, uint32_t table, const struct snapshot_rows *rows, struct error *err)
{
    struct window_aggregate *self = (struct window_aggregate *)node;
    if (table == WINDOW_TABLE_CLOCK) {
        restore_clock(self, rows->batch);
        return STATUS_OK;
    }
    if (!state_is_own(node->circuit, &self->spec->input, rows)) {
        return STATUS_OK;
    }
    if (table >= WINDOW_TABLE_DISTINCT) {
        return restore_distinct(self, table - WINDOW_TABLE_DISTINCT, rows, err);
    }
    for (uint32_t from = 0, end; from < rows->batch->count; from = end) {
        end = pane_end(self, rows, from);
        TRY(restore_pane(self, rows, from, end - from, err));
    }
    return STATUS_OK;
}

/* Panes that counted in a window that has closed are the entered ones again. */
enum status window_aggregate_restored(struct node *node, struct error *err)
{
    struct window_aggregate *self = (struct window_aggregate *)node;
    struct window_restore *restored = &self->restored;
    uint32_t next = 0;
    window_forget_numbers(self);
    self->fired = restored->fired;
    if (restored->entered) {
        self->last_end = restored->last_end;
        window_sort_waiting(self);
        enum status status = window_enter_panes(self, self->last_end, &next, err);
        window_drop_first(self, next);
        TRY(status);
    }
    window_set_next_close(self);
    return STATUS_OK;
}
