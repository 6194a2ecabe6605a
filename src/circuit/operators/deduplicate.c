/* circuit/operators/deduplicate.c: the first or last row of each key, by event time or by arrival.
 *
 * Table        key -> time and ordinal of the row that wins so far, its stored row, and the stored row that was emitted.
 * receive      In a chunk a key's winner is found first, by numbers alone; only the winners of the chunk are stored.
 * Ties         Rows of one source partition by their order (last: the later wins, first: the earlier), others by their columns: the
 *              smaller wins.
 * finish_tick  Per touched key: -1 of the row that was emitted, +1 of the winner, if they differ.
 * Time-to-live A key whose winner was found so long ago is forgotten: its next row is a first one. Only a new winner is a write. A winner that is equal
 *              to the one before is emitted too, so that it lives on in the state of those who read it.
 * State        "rows": the winner of each key, which after a tick is the row that was emitted, its time and ordinal, and when it won.
 */
#include <stdlib.h>
#include <string.h>

#include "circuit/circuit_cold.h"
#include "circuit/operators/row_output.h"
#include "circuit/operators/row_state.h"
#include "circuit/operators/sorted_rows.h"

enum { PREFETCH_AHEAD = 12 };

struct dedup_state {
    int64_t time, ordinal;
    row_handle current, emitted;
    uint32_t pending; /* 1 + position among the chunk's rows that wins for now; 0: none of this chunk */
    uint32_t flags;
};
enum dedup_flags { DEDUP_TOUCHED = 1, DEDUP_SET = 2 };

struct dedup_node {
    struct node node;
    const struct deduplicate_spec *spec;
    struct key_table *table;
    struct row_store *store;
    struct row_order columns_order; /* by all columns */
    struct row_output *output;
    uint32_t *touched, touched_count, touched_capacity;
    int64_t arrived;
    struct dirty_slots dirty;
    struct slot_cut cut;     /* keys that a checkpoint is still to get */
    struct cold_table *cold; /* NULL: no database */
    struct time_to_live ttl;
    uint32_t arrivals; /* rows of this tick */
    uint64_t hashes[CHUNK_ROWS];
    uint32_t slots[CHUNK_ROWS], winners[CHUNK_ROWS];
    uint16_t selected[CHUNK_ROWS];
    row_handle handles[CHUNK_ROWS];
};

static enum status dedup_touch(struct dedup_node *self, struct dedup_state *state, uint32_t slot, struct error *err)
{
    if ((state->flags & DEDUP_TOUCHED) != 0) {
        return STATUS_OK;
    }
    if (self->touched_count == self->touched_capacity) {
        uint32_t capacity = self->touched_capacity == 0 ? CHUNK_ROWS : self->touched_capacity * 2;
        uint32_t *touched = realloc(self->touched, capacity * sizeof *touched);
        if (touched == NULL) {
            return error_set(err, ERROR_BUDGET_SPENT, "no room for the changed keys of a deduplication");
        }
        self->touched = touched;
        self->touched_capacity = capacity;
    }
    self->touched[self->touched_count++] = slot;
    state->flags |= DEDUP_TOUCHED;
    if (self->cold != NULL) {
        cold_table_touch(self->cold, slot, 0);
    }
    return self->node.circuit->incremental ? dirty_slots_mark(&self->dirty, slot, err) : STATUS_OK;
}

/* NULL times are the smallest. */
static int64_t dedup_time(const struct dedup_node *self, const struct batch *batch, uint32_t row)
{
    const struct vector *time = &batch->columns[self->spec->time_column];
    if (!vector_is_valid(time, row)) {
        return INT64_MIN;
    }
    if (time->physical == PHYSICAL_INT64) {
        return vector_int64(time)[row];
    }
    return (int64_t)vector_get_integer(time, row);
}

/* Does a row beat the state's? 1: yes, 0: no, -1: only their columns can tell. */
static int dedup_beats(const struct dedup_node *self, const struct dedup_state *state, int64_t time, int64_t ordinal)
{
    if ((state->flags & DEDUP_SET) == 0) {
        return 1;
    }
    if (time != state->time) {
        return (time > state->time) == self->spec->keep_last;
    }
    if (ordinal != state->ordinal) {
        return (ordinal > state->ordinal) == self->spec->keep_last;
    }
    return -1;
}

static enum status dedup_replace(struct dedup_node *self, struct dedup_state *state, uint32_t slot, row_handle row, struct error *err)
{
    if (state->current != state->emitted) {
        row_store_free(self->store, state->current);
    }
    state->current = row;
    if (ttl_is_set(&self->ttl)) {
        TRY(ttl_write(&self->ttl, slot, err));
    }
    return dedup_touch(self, state, slot, err);
}

/* Without a source order equal times are decided by the columns: each candidate is stored and compared. */
static enum status dedup_absorb_unordered(struct dedup_node *self, const struct batch *batch, struct error *err)
{
    struct selection rows = batch_selection(batch);
    struct dedup_state *states = key_table_values(self->table, 0);
    TRY(row_store_add(self->store, batch, self->handles, err));
    for (uint32_t k = 0; k < rows.count; k++) {
        uint32_t row = selection_row(&rows, k);
        struct dedup_state *state = &states[self->slots[k]];
        int64_t time = self->spec->processing_time ? 0 : dedup_time(self, batch, row);
        int64_t ordinal = self->spec->processing_time ? self->arrived++ : 0;
        int beats = dedup_beats(self, state, time, ordinal);
        if (beats < 0) {
            beats = row_store_compare(self->store, self->columns_order.all, self->columns_order.column_count, self->handles[k],
                                      state->current) < 0;
        }
        if (!beats) {
            row_store_free(self->store, self->handles[k]);
            continue;
        }
        state->time = time;
        state->ordinal = ordinal;
        state->flags |= DEDUP_SET;
        TRY(dedup_replace(self, state, self->slots[k], self->handles[k], err));
    }
    return STATUS_OK;
}

/* Marks per key the row of the chunk that wins. */
static void dedup_find_winners(struct dedup_node *self, const struct batch *batch)
{
    struct selection rows = batch_selection(batch);
    struct dedup_state *states = key_table_values(self->table, 0);
    for (uint32_t k = 0; k < rows.count; k++) {
        if (k + PREFETCH_AHEAD < rows.count) {
            __builtin_prefetch(&states[self->slots[k + PREFETCH_AHEAD]], 1);
        }
        uint32_t row = selection_row(&rows, k);
        struct dedup_state *state = &states[self->slots[k]];
        int64_t time = self->spec->processing_time ? 0 : dedup_time(self, batch, row);
        int64_t ordinal = batch_ordinal(batch, row);
        int beats = dedup_beats(self, state, time, ordinal);
        /* The same ordinal of another partition: the later arrival. */
        if (beats == 0 || (beats < 0 && !self->spec->keep_last)) {
            continue;
        }
        state->time = time;
        state->ordinal = ordinal;
        state->flags |= DEDUP_SET;
        state->pending = k + 1;
    }
}

static enum status dedup_absorb_ordered(struct dedup_node *self, const struct batch *batch, struct error *err)
{
    struct selection rows = batch_selection(batch);
    struct dedup_state *states = key_table_values(self->table, 0);
    dedup_find_winners(self, batch);
    struct batch kept = *batch;
    kept.selected = self->selected;
    kept.selected_count = 0;
    for (uint32_t k = 0; k < rows.count; k++) {
        struct dedup_state *state = &states[self->slots[k]];
        if (state->pending == k + 1) {
            state->pending = 0;
            self->winners[kept.selected_count] = self->slots[k];
            self->selected[kept.selected_count++] = (uint16_t)selection_row(&rows, k);
        }
    }
    if (kept.selected_count == 0) {
        return STATUS_OK;
    }
    TRY(row_store_add(self->store, &kept, self->handles, err));
    for (uint32_t k = 0; k < kept.selected_count; k++) {
        TRY(dedup_replace(self, &states[self->winners[k]], self->winners[k], self->handles[k], err));
    }
    return STATUS_OK;
}

static void dedup_forget(struct dedup_node *self, struct dedup_state *state)
{
    if (state->current != 0) {
        row_store_free(self->store, state->current);
    }
    *state = (struct dedup_state){0};
}

/* Keys whose time is over begin anew. */
static void dedup_renew(struct dedup_node *self, uint32_t count)
{
    struct dedup_state *states = key_table_values(self->table, 0);
    ttl_set_now(&self->ttl, node_evaluation(&self->node)->now_us);
    for (uint32_t k = 0; k < count; k++) {
        if (ttl_has_expired(&self->ttl, self->slots[k])) {
            dedup_forget(self, &states[self->slots[k]]);
        }
    }
    self->arrivals += count;
}

static enum status dedup_remove(struct dedup_node *self, const uint32_t *slots, uint32_t count, struct error *err)
{
    struct dedup_state *states = key_table_values(self->table, 0);
    if (self->cold != NULL) {
        TRY(cold_table_forget(self->cold, slots, count, err));
    }
    TRY(slot_cut_keep(&self->cut, slots, count, err));
    for (uint32_t i = 0; i < count; i++) {
        dedup_forget(self, &states[slots[i]]);
        key_table_remove(self->table, slots[i]);
        ttl_forget(&self->ttl, slots[i]);
        if (self->node.circuit->incremental) {
            TRY(dirty_slots_mark(&self->dirty, slots[i], err));
        }
    }
    return STATUS_OK;
}

static enum status dedup_sweep(struct dedup_node *self, struct error *err)
{
    uint32_t expired[CHUNK_ROWS], room = TTL_SWEEP_MIN + self->arrivals;
    bool more = self->cold != NULL;
    ttl_set_now(&self->ttl, node_evaluation(&self->node)->now_us);
    for (uint32_t taken = 0; taken < room; taken += CHUNK_ROWS) {
        uint32_t count =
            ttl_sweep(&self->ttl, key_table_slots(self->table), expired, room - taken < CHUNK_ROWS ? room - taken : CHUNK_ROWS);
        TRY(dedup_remove(self, expired, count, err));
    }
    for (uint32_t taken = 0, count; more && taken < room; taken += CHUNK_ROWS) {
        TRY(cold_table_fetch_expired(self->cold, &self->ttl, expired, &count, &more, err));
        TRY(dedup_remove(self, expired, count, err));
    }
    self->arrivals = 0;
    return STATUS_OK;
}

static enum status dedup_receive(struct node *node, uint32_t input, const struct batch *batch, struct error *err)
{
    (void)input;
    struct dedup_node *self = (struct dedup_node *)node;
    batch_hash(batch, self->spec->keys, self->spec->key_count, self->hashes);
    if (UNLIKELY(self->cold != NULL)) {
        TRY(node_fetch_keys(node, self->cold, batch, self->spec->keys, self->hashes, err));
    }
    TRY(key_table_find_or_insert(self->table, batch, self->spec->keys, self->hashes, self->slots, err));
    if (UNLIKELY(self->cold != NULL)) {
        TRY(cold_table_reserve(self->cold, err));
    }
    TRY(slot_cut_keep(&self->cut, self->slots, batch_rows(batch), err));
    if (ttl_is_set(&self->ttl)) {
        dedup_renew(self, batch_rows(batch));
    }
    return batch->ordered ? dedup_absorb_ordered(self, batch, err) : dedup_absorb_unordered(self, batch, err);
}

static void dedup_count_state(struct node *node)
{
    const struct dedup_node *self = (const struct dedup_node *)node;
    node->metrics.state_keys = key_table_count(self->table);
    node->metrics.state_bytes = key_table_bytes(self->table) + row_store_bytes(self->store) + ttl_bytes(&self->ttl);
}

static enum status dedup_finish_tick(struct node *node, const struct tick *tick, struct error *err)
{
    (void)tick;
    struct dedup_node *self = (struct dedup_node *)node;
    struct dedup_state *states = key_table_values(self->table, 0);
    for (uint32_t i = 0; i < self->touched_count; i++) {
        struct dedup_state *state = &states[self->touched[i]];
        bool same = state->emitted != 0 && !ttl_is_set(&self->ttl) && row_store_equal(self->store, state->emitted, state->current);
        if (!same && state->emitted != 0) {
            TRY(row_output_add(self->output, state->emitted, -1, 1, err));
        }
        if (!same) {
            TRY(row_output_add(self->output, state->current, 1, 1, err));
        }
    }
    TRY(row_output_flush(self->output, err));
    for (uint32_t i = 0; i < self->touched_count; i++) {
        struct dedup_state *state = &states[self->touched[i]];
        if (state->emitted != 0 && state->emitted != state->current) {
            row_store_free(self->store, state->emitted);
        }
        state->emitted = state->current;
        state->flags &= ~(uint32_t)DEDUP_TOUCHED;
    }
    self->touched_count = 0;
    if (ttl_is_set(&self->ttl)) {
        TRY(dedup_sweep(self, err));
    }
    node_pass_watermark(node);
    return STATUS_OK;
}

static void dedup_close(struct node *node)
{
    struct dedup_node *self = (struct dedup_node *)node;
    key_table_destroy(self->table);
    row_store_destroy(self->store);
    free(self->touched);
    dirty_slots_close(&self->dirty);
    slot_cut_close(&self->cut);
    ttl_close(&self->ttl);
}

/* ---- state ---- */

static enum status dedup_declare(struct dedup_node *self, struct error *err)
{
    static const char *const numbers[] = {"time", "ordinal", row_state_written};
    struct arena *arena = node_arena(&self->node);
    struct snapshot_table *table;
    TRY_ALLOC(table, arena_alloc(arena, sizeof *table), err);
    TRY(row_state_declare(arena, self->spec->input.schema, numbers, ARRAY_LENGTH(numbers), "rows", table, err));
    self->dirty.budget = self->cut.pending.budget = node_budget(&self->node);
    self->cut.part = self->node.circuit->settings.chunk_rows;
    self->node.tables = table;
    self->node.table_count = 1;
    return state_table_place(arena, &self->spec->input, NULL, self->spec->input.schema->count, table, err);
}

static enum status dedup_columns(void *owner, const uint32_t *slots, uint32_t count, struct batch *batch, struct error *err)
{
    struct dedup_node *self = owner;
    const struct dedup_state *states = key_table_values(self->table, 0);
    uint32_t stored = self->spec->input.schema->count;
    row_handle rows[CHUNK_ROWS];
    int64_t times[CHUNK_ROWS], ordinals[CHUNK_ROWS];
    for (uint32_t k = 0; k < count; k++) {
        rows[k] = states[slots[k]].current;
        times[k] = states[slots[k]].time;
        ordinals[k] = states[slots[k]].ordinal;
    }
    TRY(row_store_gather(self->store, rows, count, NULL, stored, batch->columns, err));
    TRY(state_number_column(node_budget(&self->node), times, count, &batch->columns[stored], err));
    TRY(state_number_column(node_budget(&self->node), ordinals, count, &batch->columns[stored + 1], err));
    return state_written_column(&self->ttl, node_budget(&self->node), slots, count, &batch->columns[stored + 2], err);
}

static enum status dedup_save(struct node *node, struct snapshot_writer *writer, struct error *err)
{
    struct dedup_node *self = (struct dedup_node *)node;
    struct dirty_slots *dirty = node->circuit->incremental ? &self->dirty : NULL;
    if (node->in_database) {
        dirty_slots_clear(&self->dirty);
        return STATUS_OK;
    }
    return slot_cut_save(&self->cut, writer, 0, self->spec->input.schema->count + 3, self->table, dirty, dedup_columns, self, NULL, err);
}

static enum status dedup_restore(struct node *node, uint32_t table, const struct snapshot_rows *rows, struct error *err)
{
    (void)table;
    struct dedup_node *self = (struct dedup_node *)node;
    const struct batch *batch = rows->batch;
    uint32_t stored = self->spec->input.schema->count;
    batch_hash(batch, self->spec->keys, self->spec->key_count, self->hashes);
    TRY(key_table_find_or_insert(self->table, batch, self->spec->keys, self->hashes, self->slots, err));
    TRY(row_store_add(self->store, batch, self->handles, err));
    struct dedup_state *states = key_table_values(self->table, 0);
    for (uint32_t row = 0; row < batch->count; row++) {
        int64_t ordinal = snapshot_number(batch, row, stored + 1);
        states[self->slots[row]] = (struct dedup_state){.time = snapshot_number(batch, row, stored),
                                                        .ordinal = ordinal,
                                                        .current = self->handles[row],
                                                        .emitted = self->handles[row],
                                                        .flags = DEDUP_SET};
        TRY(state_restore_written(&self->ttl, self->slots[row], batch, row, stored + 2, err));
        /* Arrivals are compared within a key: later ones only have to count higher. */
        self->arrived = ordinal >= self->arrived ? ordinal + 1 : self->arrived;
    }
    return STATUS_OK;
}

static enum status dedup_take_back(struct node *node, uint32_t table, const struct snapshot_rows *rows, struct error *err)
{
    struct dedup_node *self = (struct dedup_node *)node;
    TRY(dedup_restore(node, table, rows, err));
    return self->cold == NULL ? STATUS_OK : cold_table_changed(self->cold, self->slots, rows->batch->count, 0, err);
}

/* ---- the database ---- */

static enum status dedup_add(void *context, struct batch *batch, uint32_t *slots, struct error *err)
{
    struct dedup_node *self = context;
    const struct snapshot_rows rows = {.batch = batch};
    TRY(dedup_restore(&self->node, 0, &rows, err));
    memcpy(slots, self->slots, batch->count * sizeof *slots);
    return STATUS_OK;
}

static enum status dedup_drop(void *context, const uint32_t *slots, uint32_t count, struct error *err)
{
    (void)err;
    struct dedup_node *self = context;
    const struct dedup_state *states = key_table_values(self->table, 0);
    for (uint32_t k = 0; k < count; k++) {
        row_store_free(self->store, states[slots[k]].current);
        key_table_remove(self->table, slots[k]);
        ttl_forget(&self->ttl, slots[k]);
    }
    return STATUS_OK;
}

static bool dedup_pinned(const void *context, uint32_t slot)
{
    const struct dedup_node *self = context;
    const struct dedup_state *states = key_table_values(self->table, 0);
    return (states[slot].flags & DEDUP_TOUCHED) != 0;
}

static int64_t dedup_due(const void *context, uint32_t slot)
{
    return ttl_expires_us(&((const struct dedup_node *)context)->ttl, slot);
}

static const struct slab *dedup_heap(const void *context)
{
    return row_store_slab(((const struct dedup_node *)context)->store);
}

static void dedup_emptied(void *context)
{
    row_store_clear(((struct dedup_node *)context)->store);
}

static enum status dedup_open_cold(struct node *node, struct error *err)
{
    struct dedup_node *self = (struct dedup_node *)node;
    const struct cold_owner owner = {.context = self,
                                     .columns = dedup_columns,
                                     .add = dedup_add,
                                     .drop = dedup_drop,
                                     .pinned = dedup_pinned,
                                     .due = dedup_due,
                                     .heap = dedup_heap,
                                     .emptied = dedup_emptied};
    struct cold_layout layout;
    TRY(node_make_cold(node, 1, &self->cold, err));
    TRY(node_make_layout(node, &node->tables[0], self->spec->keys, self->spec->key_count, &layout, err));
    TRY(cold_table_open(self->cold, node->circuit->cold, &layout, 1, &owner, self->table, err));
    return ttl_is_set(&self->ttl) ? cold_table_open_timers(self->cold, 1, self->spec->ttl_us / TTL_SPANS, err) : STATUS_OK;
}

static const struct node_type dedup_node_type = {
    .name = "Deduplicate",
    .receive = dedup_receive,
    .finish_tick = dedup_finish_tick,
    .count_state = dedup_count_state,
    .close = dedup_close,
    .save = dedup_save,
    .restore = dedup_take_back,
    .open_cold = dedup_open_cold,
    .saves_in_memory = true,
};

enum status deduplicate_create(struct circuit *circuit, const struct deduplicate_spec *spec, struct node *input, struct node **node,
                               struct error *err)
{
    struct dedup_node *self;
    TRY_ALLOC(self, arena_alloc(circuit->arena, sizeof *self), err);
    self->spec = spec;
    TRY(circuit_add(circuit, &self->node, &dedup_node_type, "Deduplicate", &input, 1, err));
    const struct type *const *types;
    const struct type **key_types;
    TRY(schema_types(circuit->arena, spec->input.schema, &types, err));
    TRY_ALLOC(key_types, arena_alloc(circuit->arena, (spec->key_count + 1) * sizeof *key_types), err);
    for (uint32_t i = 0; i < spec->key_count; i++) {
        key_types[i] = types[spec->keys[i]];
    }
    uint32_t value_bytes = sizeof(struct dedup_state);
    TRY(key_table_create(circuit->budget, key_types, spec->key_count, &value_bytes, 1, &self->table, err));
    TRY(row_store_create(circuit->budget, types, spec->input.schema->count, &self->store, err));
    row_store_omit_hashes(self->store);
    TRY(row_order_init(&self->columns_order, circuit->arena, self->store, spec->input.schema, NULL, 0, false, err));
    TRY(row_output_create(&self->node, self->store, spec->output, spec->rank_column, &self->output, err));
    ttl_open(&self->ttl, circuit->budget, spec->ttl_us, circuit->evaluation.now_us);
    TRY(dedup_declare(self, err));
    *node = &self->node;
    return STATUS_OK;
}
