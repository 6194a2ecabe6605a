/* Panes in a database: each is a scope, of its four times, and is removed whole when its last window has closed. Which panes there are, and how
 * many units each has, is in a note beside them. What the entered panes add up to is there too, under a name of its own: it belongs to no
 * checkpoint, for it is added up again. */
#include <string.h>

#include "circuit/operators/window_aggregate_internal.h"
#include "data/value_codec.h"

enum { SCOPE_COLUMNS = 4 };
static const char note_name[] = "panes";

static void append_number(int64_t number, struct text_builder *out)
{
    const struct vector value = {.type = &type_bigint_not_null, .physical = PHYSICAL_INT64, .count = 1, .values = &number};
    value_encode(&value, 0, out);
}

static enum status spill_records(struct window_aggregate *self, const struct pane *pane, const struct records_layouts *layouts,
                                 const uint64_t *units, struct keyed_records *records, struct error *err)
{
    const int64_t times[SCOPE_COLUMNS] = {pane->start, pane->first_end, pane->last_end, pane->window_start};
    struct text_builder scope = {0};
    for (uint32_t i = 0; i < SCOPE_COLUMNS; i++) {
        append_number(times[i], &scope);
    }
    enum status status = scope.failed ? error_set(err, ERROR_BUDGET_SPENT, "the system has no memory for a window")
                                      : keyed_records_spill(&self->layout, layouts, (struct text){scope.bytes, scope.length}, units,
                                                            pane->last_end, records, err);
    text_builder_close(&scope);
    return status;
}

enum status window_spill_pane(struct window_aggregate *self, struct pane *pane, const uint64_t *units, struct error *err)
{
    return spill_records(self, pane, &self->layout.cold, units, &pane->records, err);
}

enum status window_spill_sum(struct window_aggregate *self, struct keyed_records *records, struct error *err)
{
    const struct pane none = {0};
    return spill_records(self, &none, &self->sum_cold, NULL, records, err);
}

/* ---- the note ---- */

static void note_panes(struct window_aggregate *self, const struct pane_list *list, uint64_t *units, struct text_builder *note)
{
    uint32_t tables = self->layout.cold.count + 1;
    for (uint32_t i = 0; i < list->count; i++) {
        const struct pane *pane = list->items[i];
        const int64_t times[SCOPE_COLUMNS] = {pane->start, pane->first_end, pane->last_end, pane->window_start};
        text_append(note, (const char *)times, sizeof times);
        for (uint32_t t = 0; t < tables; t++) {
            uint64_t stored = records_cold_values(pane->records.cold, t)->stored[0];
            text_append(note, (const char *)&stored, sizeof stored);
            units[t] += stored;
        }
    }
}

static enum status write_panes(struct window_aggregate *self, const struct pane_list *list, struct error *err)
{
    for (uint32_t i = 0; i < list->count; i++) {
        struct keyed_records *records = &list->items[i]->records;
        for (uint32_t t = 0; t <= self->layout.cold.count; t++) {
            TRY(cold_table_write(records_cold_values(records->cold, t), err));
        }
        dirty_slots_clear(&records->dirty);
        call_states_forget_changes(self->calls, &records->states);
    }
    return STATUS_OK;
}

enum status window_forget_note(struct window_aggregate *self, struct error *err)
{
    if (!self->noted) {
        return STATUS_OK;
    }
    self->noted = false;
    return cold_write_note(self->node.circuit->cold, self->node.id, note_name, (struct text){0}, err);
}

/* Rows that older files of the chain have are those of before. */
static enum status void_older_files(struct window_aggregate *self, struct snapshot_writer *writer, struct error *err)
{
    for (uint32_t table = WINDOW_TABLE_GROUPS; table < self->node.table_count && !snapshot_is_full(writer); table++) {
        TRY(snapshot_replace(writer, table, err));
    }
    return STATUS_OK;
}

enum status window_save_cold(struct window_aggregate *self, struct snapshot_writer *writer, struct error *err)
{
    struct cold_db *db = self->node.circuit->cold;
    const struct records_layouts *layouts = &self->layout.cold;
    struct text_builder note = {0};
    uint64_t units[UINT8_MAX + 1] = {0};
    TRY(void_older_files(self, writer, err));
    TRY(write_panes(self, &self->waiting, err));
    TRY(write_panes(self, &self->entered, err));
    self->noted = true;
    note_panes(self, &self->waiting, units, &note);
    note_panes(self, &self->entered, units, &note);
    enum status status = note.failed ? error_set(err, ERROR_BUDGET_SPENT, "the system has no memory for a checkpoint")
                                     : cold_write_note(db, self->node.id, note_name, (struct text){note.bytes, note.length}, err);
    for (uint32_t t = 0; t <= layouts->count && status == STATUS_OK; t++) {
        status = cold_write_count(db, t < layouts->count ? &layouts->values[t] : &layouts->records, units[t], err);
    }
    text_builder_close(&note);
    return status;
}

static enum status take_panes(struct window_aggregate *self, const char *bytes, size_t length, struct error *err)
{
    size_t units_bytes = (self->layout.cold.count + 1) * sizeof(uint64_t), piece = SCOPE_COLUMNS * sizeof(int64_t) + units_bytes;
    if (length % piece != 0) {
        return error_set(err, ERROR_STATE_CORRUPT, "the database of state describes the windows of operator %s in a way that cannot be",
                         self->node.id);
    }
    for (size_t at = 0; at < length; at += piece) {
        int64_t times[SCOPE_COLUMNS];
        uint64_t units[UINT8_MAX + 1];
        struct pane *pane;
        memcpy(times, bytes + at, sizeof times);
        memcpy(units, bytes + at + sizeof times, units_bytes);
        const struct window_bounds first = {times[3], times[1]};
        TRY(window_pane_find(self, times[0], &first, times[2], &pane, err));
        TRY(window_spill_pane(self, pane, units, err));
    }
    return STATUS_OK;
}

/* ---- opening ---- */

/* As "groups", and what tells of merges. */
static enum status make_sum_layout(struct window_aggregate *self, const uint32_t *keys, struct error *err)
{
    struct arena *arena = node_arena(&self->node);
    const struct schema *groups = self->node.tables[WINDOW_TABLE_GROUPS].schema;
    struct snapshot_table *table;
    struct schema *schema;
    struct column *columns;
    TRY_ALLOC(table, arena_alloc(arena, sizeof *table), err);
    TRY_ALLOC(schema, arena_alloc(arena, sizeof *schema), err);
    TRY_ALLOC(columns, arena_alloc(arena, (groups->count + 1) * sizeof *columns), err);
    memcpy(columns, groups->columns, groups->count * sizeof *columns);
    columns[groups->count] = (struct column){.name = "parts", .type = &type_bigint_not_null};
    *schema = (struct schema){groups->count + 1, columns};
    *table = (struct snapshot_table){.name = "sum", .schema = schema, .expiry = -1};
    TRY(node_make_layout(&self->node, table, keys, self->layout.key_count + SCOPE_COLUMNS, &self->sum_cold.records, err));
    self->sum_cold.records.scope_count = SCOPE_COLUMNS;
    TRY_ALLOC(self->sum_cold.records.operator_id, arena_format(arena, "%s#sum", self->node.id), err);
    return STATUS_OK;
}

/* Of the columns of "groups": the times, then the keys. */
static enum status make_layouts(struct window_aggregate *self, struct error *err)
{
    struct node *node = &self->node;
    uint32_t key_count = self->layout.key_count, *keys;
    struct cold_layout records;
    TRY_ALLOC(keys, arena_alloc(node_arena(node), (key_count + SCOPE_COLUMNS) * sizeof *keys), err);
    for (uint32_t i = 0; i < key_count + SCOPE_COLUMNS; i++) {
        keys[i] = i < SCOPE_COLUMNS ? key_count + i : i - SCOPE_COLUMNS;
    }
    TRY(node_make_layout(node, &node->tables[WINDOW_TABLE_GROUPS], keys, key_count + SCOPE_COLUMNS, &records, err));
    records.scope_count = SCOPE_COLUMNS;
    TRY(keyed_layout_spill(&self->layout, &records, WINDOW_TABLE_DISTINCT, err));
    return make_sum_layout(self, keys, err);
}

/* What a killed job has left of what panes added up to. */
static enum status remove_sum(struct window_aggregate *self, struct error *err)
{
    struct cold_db *db = self->node.circuit->cold;
    struct text_builder prefix = {0};
    cold_append_prefix(self->sum_cold.records.operator_id, &prefix);
    enum status status = prefix.failed ? error_set(err, ERROR_BUDGET_SPENT, "the system has no memory for a window")
                                       : db->driver->remove_prefix(db, (struct text){prefix.bytes, prefix.length}, err);
    text_builder_close(&prefix);
    return status;
}

enum status window_aggregate_open_cold(struct node *node, struct error *err)
{
    struct window_aggregate *self = (struct window_aggregate *)node;
    struct text_builder note = {0};
    if (call_set_table_count(self->calls) >= UINT8_MAX) { /* more than a tag can tell apart */
        return STATUS_OK;
    }
    TRY(node_make_cold(node, 0, NULL, err));
    TRY(make_layouts(self, err));
    TRY(remove_sum(self, err));
    self->spills = true;
    for (uint32_t i = 0; i < self->waiting.count; i++) { /* from another database */
        TRY(window_spill_pane(self, self->waiting.items[i], NULL, err));
    }
    enum status status = cold_read_note(node->circuit->cold, node->id, note_name, &note, err);
    if (status == STATUS_OK && note.failed) {
        status = error_set(err, ERROR_BUDGET_SPENT, "the system has no memory for windows");
    }
    self->noted = note.length > 0;
    if (status == STATUS_OK) {
        status = take_panes(self, note.bytes, note.length, err);
    }
    text_builder_close(&note);
    return status;
}
