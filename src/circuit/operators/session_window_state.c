/* A row per session that is open, or closed but not emitted yet; merged ones have gone into others. A kept row says whose it is by the number
 * that the session had when it was written, so it comes after the sessions. */
#include <stdlib.h>

#include "circuit/operators/session_window_internal.h"

enum { CLOCK_FIRED, CLOCK_ORDERED, CLOCK_COLUMNS };
enum { SESSION_FIRST, SESSION_LAST, SESSION_WEIGHT, SESSION_STATE, SESSION_NUMBERS }; /* after the keys */
enum { ROW_SESSION, ROW_WEIGHT, ROW_ORDINAL, ROW_NUMBERS };                           /* after the stored columns */

static const struct column clock_columns[CLOCK_COLUMNS] = {
    [CLOCK_FIRED] = {.name = "fired", .type = &type_bigint_not_null},
    [CLOCK_ORDERED] = {.name = "ordered", .type = &type_bigint_not_null},
};
static const struct schema clock_schema = {CLOCK_COLUMNS, clock_columns};
static const struct column session_columns[SESSION_NUMBERS + 1] = {
    [SESSION_FIRST] = {.name = "first", .type = &type_bigint_not_null},
    [SESSION_LAST] = {.name = "last", .type = &type_bigint_not_null},
    [SESSION_WEIGHT] = {.name = "weight", .type = &type_bigint_not_null},
    [SESSION_STATE] = {.name = "state", .type = &type_bigint_not_null},
    [SESSION_NUMBERS] = {.name = "states", .type = &type_bytes},
};

static uint32_t key_count(const struct session_window *self)
{
    return self->spec->base.window.partition_count;
}

enum status session_window_declare(struct session_window *self, struct error *err)
{
    static const char *const row_numbers[ROW_NUMBERS] = {"session", "weight", "ordinal"};
    const struct window_aggregate_spec *spec = &self->spec->base;
    struct arena *arena = node_arena(&self->node);
    uint32_t count = self->rows == NULL ? SESSION_TABLE_ROWS : SESSION_TABLE_ROWS + 1;
    struct snapshot_table *tables;
    TRY_ALLOC(tables, arena_alloc(arena, count * sizeof *tables), err);
    tables[SESSION_TABLE_CLOCK] = (struct snapshot_table){.name = "clock", .schema = &clock_schema, .place = SNAPSHOT_EVERY, .expiry = -1};
    tables[SESSION_TABLE_SESSIONS] = (struct snapshot_table){.name = "sessions", .expiry = -1};
    TRY(state_schema_make(arena, spec->input.schema, spec->keys, key_count(self), session_columns,
                          self->rows == NULL ? SESSION_NUMBERS + 1 : SESSION_NUMBERS, &tables[SESSION_TABLE_SESSIONS].schema, err));
    TRY(state_table_place(arena, &spec->input, spec->keys, key_count(self), &tables[SESSION_TABLE_SESSIONS], err));
    if (self->rows == NULL) {
        TRY(call_set_layouts(self->calls, key_count(self) + SESSION_NUMBERS, &tables[SESSION_TABLE_SESSIONS], err));
    }
    if (self->rows != NULL) {
        TRY(row_state_declare(arena, spec->input.schema, row_numbers, ROW_NUMBERS, "rows", &tables[SESSION_TABLE_ROWS], err));
        TRY(state_table_place(arena, &spec->input, NULL, spec->input.schema->count, &tables[SESSION_TABLE_ROWS], err));
        tables[SESSION_TABLE_ROWS].after_others = true;
    }
    self->restored.budget = node_budget(&self->node);
    self->restored_fired = WATERMARK_END;
    self->sessions.followed = self->node.circuit->incremental;
    touched_rows_open(&self->changed, self->node.circuit);
    self->node.tables = tables;
    self->node.table_count = count;
    return STATUS_OK;
}

/* ---- save ---- */

struct session_chunk {
    struct session_window *self;
    struct snapshot_writer *writer;
    uint32_t count, removed_count;
    uint32_t numbers[CHUNK_ROWS];
    uint64_t ids[CHUNK_ROWS], removed[CHUNK_ROWS];
};

static enum status states_column(struct session_window *self, const uint32_t *numbers, uint32_t count, struct vector *column,
                                 struct error *err)
{
    size_t ends[CHUNK_ROWS];
    struct text_builder states = {0};
    for (uint32_t k = 0; k < count; k++) {
        call_set_save(self->calls, session_extra(self, numbers[k]), &states);
        ends[k] = states.length;
    }
    enum status status = state_bytes_column(node_budget(&self->node), &states, ends, count, column, err);
    text_builder_close(&states);
    return status;
}

static int64_t number_of(const struct session *session, uint32_t column)
{
    return column == SESSION_FIRST    ? session->first
           : column == SESSION_LAST   ? session->last
           : column == SESSION_WEIGHT ? session->weight
                                      : session->state;
}

enum status session_window_columns(struct session_window *self, const uint32_t *numbers, uint32_t count, struct batch *batch,
                                   struct error *err)
{
    uint32_t keys = key_count(self), slots[CHUNK_ROWS];
    int64_t values[CHUNK_ROWS];
    for (uint32_t k = 0; k < count; k++) {
        slots[k] = session_at(&self->sessions, numbers[k])->key;
    }
    for (uint32_t i = 0; i < keys; i++) {
        TRY(key_table_gather(self->sessions.keys, i, slots, count, &batch->columns[i], err));
    }
    for (uint32_t i = 0; i < SESSION_NUMBERS; i++) {
        for (uint32_t k = 0; k < count; k++) {
            values[k] = number_of(session_at(&self->sessions, numbers[k]), i);
        }
        TRY(state_number_column(node_budget(&self->node), values, count, &batch->columns[keys + i], err));
    }
    return self->rows != NULL ? STATUS_OK : states_column(self, numbers, count, &batch->columns[keys + SESSION_NUMBERS], err);
}

static enum status chunk_flush(struct session_chunk *chunk, struct error *err)
{
    struct batch batch = {0};
    if (chunk->count == 0) {
        return STATUS_OK;
    }
    TRY(batch_init(&batch, chunk->self->node.tables[SESSION_TABLE_SESSIONS].schema->count, err));
    batch.count = chunk->count;
    enum status status = session_window_columns(chunk->self, chunk->numbers, chunk->count, &batch, err);
    if (status == STATUS_OK) {
        status = snapshot_keep(chunk->writer, SESSION_TABLE_SESSIONS, chunk->ids, 0, &batch, err);
    }
    batch_release(&batch);
    chunk->count = 0;
    return status;
}

static enum status chunk_add(struct session_chunk *chunk, uint32_t number, struct error *err)
{
    const struct session *session = session_at(&chunk->self->sessions, number);
    if (!session_is_there(session)) {
        return STATUS_OK;
    }
    chunk->ids[chunk->count] = chunk->numbers[chunk->count] = number;
    chunk->count++;
    return chunk->count == CHUNK_ROWS ? chunk_flush(chunk, err) : STATUS_OK;
}

static enum status chunk_remove(struct session_chunk *chunk, uint32_t number, struct error *err)
{
    if (session_is_there(session_at(&chunk->self->sessions, number))) {
        return STATUS_OK;
    }
    chunk->removed[chunk->removed_count++] = number;
    if (chunk->removed_count < CHUNK_ROWS) {
        return STATUS_OK;
    }
    chunk->removed_count = 0;
    return snapshot_remove(chunk->writer, SESSION_TABLE_SESSIONS, chunk->removed, CHUNK_ROWS, err);
}

static enum status save_sessions(struct session_chunk *chunk, struct error *err)
{
    struct session_list *sessions = &chunk->self->sessions;
    bool all = snapshot_is_full(chunk->writer) || !sessions->followed;
    if (all && !snapshot_is_full(chunk->writer)) {
        TRY(snapshot_replace(chunk->writer, SESSION_TABLE_SESSIONS, err));
    }
    for (uint32_t i = 0; i < (all ? sessions->count : sessions->dirty.count); i++) {
        TRY(chunk_add(chunk, all ? i : sessions->dirty.slots[i], err));
    }
    for (uint32_t i = 0; !all && i < sessions->dirty.count; i++) {
        TRY(chunk_remove(chunk, sessions->dirty.slots[i], err));
    }
    TRY(snapshot_remove(chunk->writer, SESSION_TABLE_SESSIONS, chunk->removed, chunk->removed_count, err));
    return chunk_flush(chunk, err);
}

static enum status save_kept(struct session_window *self, uint32_t number, struct row_save *save, struct error *err)
{
    const struct kept_rows *kept = session_kept(self, number);
    if (!session_is_there(session_at(&self->sessions, number))) {
        return STATUS_OK;
    }
    for (uint32_t i = 0; i < kept->count; i++) {
        const int64_t numbers[ROW_NUMBERS] = {
            [ROW_SESSION] = number, [ROW_WEIGHT] = kept->items[i].weight, [ROW_ORDINAL] = kept->items[i].ordinal};
        TRY(row_save_add(save, kept->items[i].row, numbers, err));
    }
    return STATUS_OK;
}

static enum status save_all_kept(struct session_window *self, bool all, struct row_save *save, struct error *err)
{
    const struct session_list *sessions = &self->sessions;
    for (uint32_t i = 0; i < (all ? sessions->count : sessions->dirty.count); i++) {
        TRY(save_kept(self, all ? i : sessions->dirty.slots[i], save, err));
    }
    return STATUS_OK;
}

static enum status save_rows(struct session_window *self, struct snapshot_writer *writer, struct error *err)
{
    struct row_save *save;
    bool all = snapshot_is_full(writer) || !self->sessions.followed;
    TRY(row_save_begin(&self->node, writer, SESSION_TABLE_ROWS, self->rows, &self->changed, &save, err));
    return row_save_end(save, save_all_kept(self, all, save, err), true, err);
}

enum status session_window_save(struct node *node, struct snapshot_writer *writer, struct error *err)
{
    struct session_window *self = (struct session_window *)node;
    const struct snapshot_cell clock[CLOCK_COLUMNS] = {[CLOCK_FIRED].number = self->fired, [CLOCK_ORDERED].number = self->ordered};
    if (!snapshot_is_full(writer)) {
        TRY(snapshot_replace(writer, SESSION_TABLE_CLOCK, err));
    }
    TRY(snapshot_write_cells(writer, SESSION_TABLE_CLOCK, 0, clock, err));
    if (node->in_database) { /* sessions */
        dirty_slots_clear(&self->sessions.dirty);
        return STATUS_OK;
    }
    struct session_chunk *chunk = malloc(sizeof *chunk);
    if (chunk == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "the system has no memory for a checkpoint");
    }
    chunk->self = self;
    chunk->writer = writer;
    chunk->count = chunk->removed_count = 0;
    enum status status = save_sessions(chunk, err);
    free(chunk);
    if (status == STATUS_OK && self->rows != NULL) {
        status = save_rows(self, writer, err);
    }
    dirty_slots_clear(&self->sessions.dirty);
    return status;
}

/* ---- restore ---- */

static void restore_clock(struct session_window *self, const struct batch *batch)
{
    for (uint32_t row = 0; row < batch->count; row++) {
        int64_t fired = snapshot_number(batch, row, CLOCK_FIRED);
        self->restored_fired = fired < self->restored_fired ? fired : self->restored_fired;
        self->ordered = self->ordered || snapshot_number(batch, row, CLOCK_ORDERED) != 0;
    }
}

enum status session_window_add(struct session_window *self, const struct batch *batch, uint32_t *slots, uint32_t *numbers_now,
                               struct error *err)
{
    uint32_t numbers = key_count(self), order[CHUNK_ROWS];
    uint64_t hashes[CHUNK_ROWS];
    for (uint32_t i = 0; i < numbers; i++) {
        order[i] = i;
    }
    batch_hash(batch, order, numbers, hashes);
    TRY(key_table_find_or_insert(self->sessions.keys, batch, order, hashes, slots, err));
    for (uint32_t row = 0; row < batch->count; row++) {
        const struct session saved = {.first = snapshot_number(batch, row, numbers + SESSION_FIRST),
                                      .last = snapshot_number(batch, row, numbers + SESSION_LAST),
                                      .weight = snapshot_number(batch, row, numbers + SESSION_WEIGHT),
                                      .older = SESSION_NONE,
                                      .newer = SESSION_NONE,
                                      .key = slots[row],
                                      .state = (uint32_t)snapshot_number(batch, row, numbers + SESSION_STATE) & SESSION_MERGED};
        uint32_t number;
        TRY(session_list_restore(&self->sessions, &saved, &number, err));
        if (numbers_now != NULL) {
            numbers_now[row] = number;
        }
        if (self->rows == NULL) {
            struct text states = snapshot_text(batch, row, numbers + SESSION_NUMBERS);
            TRY(call_set_load(self->calls, &self->states, session_extra(self, number), states, err));
        }
    }
    return STATUS_OK;
}

static enum status restore_sessions(struct session_window *self, const struct snapshot_rows *rows, struct error *err)
{
    if (self->cold != NULL) { /* other sessions of a key may have come, and gone to the database */
        const uint32_t *keys = self->cold->layouts[0].keys;
        batch_hash(rows->batch, keys, key_count(self), self->hashes);
        TRY(node_fetch_keys(&self->node, self->cold, rows->batch, keys, self->hashes, err));
    }
    TRY(session_window_add(self, rows->batch, self->slots, self->numbers, err));
    for (uint32_t row = 0; self->rows != NULL && row < rows->batch->count; row++) {
        TRY(state_map_set(&self->restored, rows->chain, rows->ids[row], self->numbers[row], err));
    }
    return self->cold == NULL ? STATUS_OK : cold_table_changed(self->cold, self->slots, rows->batch->count, 0, err);
}

static enum status restore_rows(struct session_window *self, const struct snapshot_rows *rows, struct error *err)
{
    const struct batch *batch = rows->batch;
    uint32_t stored = self->spec->base.input.schema->count;
    row_handle handles[CHUNK_ROWS];
    TRY(row_store_add(self->rows, batch, handles, err));
    for (uint32_t row = 0; row < batch->count; row++) {
        uint64_t session = (uint64_t)snapshot_number(batch, row, stored + ROW_SESSION);
        uint32_t number = state_map_get(&self->restored, rows->chain, session);
        if (number == SLOT_NONE) {
            return error_set(err, ERROR_STATE_CORRUPT, "a row of state belongs to a session that is not there");
        }
        const struct kept_row kept = {.row = handles[row],
                                      .weight = snapshot_number(batch, row, stored + ROW_WEIGHT),
                                      .ordinal = snapshot_number(batch, row, stored + ROW_ORDINAL)};
        TRY(session_append_row(self, number, &kept, err));
    }
    return STATUS_OK;
}

enum status session_window_restore(struct node *node, uint32_t table, const struct snapshot_rows *rows, struct error *err)
{
    struct session_window *self = (struct session_window *)node;
    if (table == SESSION_TABLE_CLOCK) {
        restore_clock(self, rows->batch);
        return STATUS_OK;
    }
    return table == SESSION_TABLE_SESSIONS ? restore_sessions(self, rows, err) : restore_rows(self, rows, err);
}

enum status session_window_restored(struct node *node, struct error *err)
{
    (void)err;
    struct session_window *self = (struct session_window *)node;
    state_map_close(&self->restored);
    self->fired = self->restored_fired;
    return STATUS_OK;
}
