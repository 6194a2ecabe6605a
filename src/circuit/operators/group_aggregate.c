/* circuit/operators/group_aggregate.c: GROUP BY over a changelog.
 *
 * Table       key columns -> record: weight of the group's rows, flags, the states of all calls (call_set.h).
 * Per tick    receive finds or makes the records of a chunk, computes what groups touched for the first time in this tick are worth before
 *             the change, and updates the states call by call. finish_tick computes the touched groups again and emits, a chunk of groups
 *             at a time, -1 of the old row and +1 of the new one where they differ; groups without rows are removed.
 * Early withdrawals  A row may be withdrawn before it comes: +a, -b leaves the group without a row to show, yet with something to remember, for
 *             b is still to come. A group is removed only when its rows cancel, which a sum of their hashes tells.
 * Global      Without keys there is one record from the start; its row stands also over no rows.
 * Failures    A value that does not exist (SUM out of range) makes the group's row absent, and the error is held until the group
 *             changes again (held_errors.h).
 * Time-to-live A group that is not touched for so long is forgotten, without a word (group_aggregate_ttl.c); what a tick leaves with less than no
 *             rows is then no group. What has not changed is emitted too (unless nothing ever changes: a DISTINCT of rows that only come), so that
 *             it lives on in the state of those who read it.
 * Invariant   After finish_tick no record is dirty, and downstream has the row of every group whose weight is positive.
 */
#include <stdlib.h>
#include <string.h>

#include "circuit/operators/group_aggregate_internal.h"
#include "data/cell_text.h"
#include "state/slot_array.h"

static bool record_has_row(const struct group_record *record)
{
    return record->weight > 0 || (record->flags & FLAG_PERMANENT) != 0;
}

static bool bit_at(const uint64_t *bits, uint32_t at)
{
    return ((bits[at / 64] >> (at % 64)) & 1) != 0;
}

static enum status slot_list_add(struct group_aggregate *self, struct slot_list *list, uint32_t slot, struct error *err)
{
    if (list->count == list->capacity) {
        uint32_t capacity = list->capacity == 0 ? 64 : list->capacity * 2;
        uint32_t *grown;
        TRY_ALLOC(grown,
                  slot_array_grow(node_budget(&self->node), list->slots, list->capacity * sizeof(uint32_t), capacity * sizeof(uint32_t)),
                  err);
        list->slots = grown;
        list->capacity = capacity;
    }
    list->slots[list->count++] = slot;
    return STATUS_OK;
}

/* The group's keys as text, for messages: "a = 1, b = x". */
static void describe_group(struct group_aggregate *self, uint32_t slot, struct text_builder *text)
{
    const struct group_aggregate_spec *spec = self->spec;
    struct error ignored;
    for (uint32_t i = 0; i < spec->key_count; i++) {
        struct vector key = {0};
        if (key_table_gather(self->table, i, &slot, 1, &key, &ignored) != STATUS_OK) {
            return;
        }
        text_append_format(text, "%s%s = ", i == 0 ? "" : ", ", spec->input.schema->columns[spec->keys[i]].name);
        cell_text_append(&key, 0, node_evaluation(&self->node)->zone, CELL_TEXT_HEX, text);
        vector_release(&key);
    }
}

/* A value of result row k does not exist: once per group, hold the error (or let go of it, when the old row is computed). */
static void group_value_fails(void *owner, uint32_t k, enum error_code code, const char *text)
{
    struct group_aggregate *self = owner;
    uint32_t slot = self->fail_slots[k];
    if (bit_at(self->failed, k) || self->fail_status != STATUS_OK) {
        return;
    }
    self->failed[k / 64] |= (uint64_t)1 << (k % 64);
    if (self->fail_weight > 0 && !record_has_row(record_at(self, slot))) {
        return;
    }
    struct text_builder group = {0};
    struct error error;
    if (self->fail_weight > 0) {
        describe_group(self, slot, &group);
    }
    (void)!error_set(&error, code, "%s%s%.400s", text, group.length > 0 ? ", in the group " : "", group.length > 0 ? group.bytes : "");
    text_builder_close(&group);
    self->fail_status = held_errors_add_key(self->held, key_table_hash(self->table, slot), self->fail_weight, &error, &self->fail_error);
}

/* Values of the slots' groups; `failed` tells where there is no row. */
static enum status group_values(struct group_aggregate *self, const uint32_t *slots, uint32_t count, int64_t fail_weight,
                                struct vector *values, struct error *err)
{
    memset(self->failed, 0, sizeof self->failed);
    self->fail_slots = slots;
    self->fail_weight = fail_weight;
    self->fail_status = STATUS_OK;
    TRY(call_set_values(self->calls, records_of(self) + sizeof(struct group_record), self->record_bytes, slots, count, values,
                        group_value_fails, self, err));
    if (self->fail_status != STATUS_OK) {
        *err = self->fail_error;
    }
    return self->fail_status;
}

static void old_chunk_close(struct group_aggregate *self, struct old_chunk *chunk)
{
    for (uint32_t i = 0; chunk->values != NULL && i < self->spec->call_count; i++) {
        vector_release(&chunk->values[i]);
    }
    free(chunk->values);
    free(chunk->slots);
    *chunk = (struct old_chunk){0};
}

static enum status old_chunk_add(struct group_aggregate *self, const uint32_t *slots, uint32_t count, struct error *err)
{
    if (self->old_count == self->old_capacity) {
        uint32_t capacity = self->old_capacity == 0 ? 4 : self->old_capacity * 2;
        struct old_chunk *grown;
        TRY_ALLOC(grown, slot_array_grow(node_budget(&self->node), self->old, self->old_capacity * sizeof *grown, capacity * sizeof *grown),
                  err);
        self->old = grown;
        self->old_capacity = capacity;
    }
    struct old_chunk *chunk = &self->old[self->old_count++];
    *chunk = (struct old_chunk){.count = count};
    chunk->slots = malloc(count * sizeof *chunk->slots);
    chunk->values = calloc(self->spec->call_count + 1, sizeof *chunk->values);
    if (chunk->slots == NULL || chunk->values == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "the system has no memory for the groups of a tick");
    }
    memcpy(chunk->slots, slots, count * sizeof *slots);
    TRY(group_values(self, slots, count, -1, chunk->values, err));
    memcpy(chunk->failed, self->failed, sizeof chunk->failed);
    return STATUS_OK;
}

/* For checkpoints: the group is not what the last one has, or the database. */
static enum status follow(struct group_aggregate *self, uint32_t slot, struct error *err)
{
    if (self->cold != NULL) {
        cold_table_touch(self->cold, slot, 0);
    }
    return self->node.circuit->incremental ? dirty_slots_mark(&self->dirty, slot, err) : STATUS_OK;
}

/* Marks the chunk's groups as dirty; those met for the first time in this tick are remembered with their present row. */
static enum status touch_groups(struct group_aggregate *self, uint32_t count, struct error *err)
{
    const uint32_t *slots = self->slots;
    uint32_t had_row[CHUNK_ROWS], had_row_count = 0;
    const uint8_t *records = records_of(self);
    bool followed = self->node.circuit->incremental || self->cold != NULL;
    for (uint32_t k = 0; k < count; k++) {
        if (k + AHEAD < count) {
            const uint8_t *ahead = records + (size_t)slots[k + AHEAD] * self->record_bytes;
            __builtin_prefetch(ahead, 1);
            __builtin_prefetch(ahead + self->record_bytes - 1, 1);
        }
        struct group_record *record = record_at(self, slots[k]);
        if ((record->flags & FLAG_DIRTY) != 0) {
            continue;
        }
        record->flags |= FLAG_DIRTY;
        if (followed) {
            TRY(follow(self, slots[k], err));
        }
        if (record_has_row(record)) {
            had_row[had_row_count++] = slots[k];
        } else {
            TRY(slot_list_add(self, &self->fresh, slots[k], err));
        }
    }
    return had_row_count == 0 ? STATUS_OK : old_chunk_add(self, had_row, had_row_count, err);
}

static void add_weights(struct group_aggregate *self, const struct batch *batch)
{
    struct selection rows = batch_selection(batch);
    uint8_t *records = records_of(self);
    for (uint32_t k = 0; k < rows.count; k++) {
        struct group_record *record = (struct group_record *)(void *)(records + (size_t)self->slots[k] * self->record_bytes);
        record->weight += batch_weight(batch, selection_row(&rows, k));
    }
}

static void add_residues(struct group_aggregate *self, const struct batch *batch)
{
    struct selection rows = batch_selection(batch);
    batch_hash(batch, self->residue_columns, self->residue_column_count, self->hashes);
    for (uint32_t k = 0; k < rows.count; k++) {
        uint32_t row = selection_row(&rows, k);
        *residue_of(self, record_at(self, self->slots[k])) += (uint64_t)batch_weight(batch, row) * self->hashes[row];
    }
}

static bool group_is_gone(const struct group_aggregate *self, struct group_record *record)
{
    return record->weight == 0 && (record->flags & FLAG_PERMANENT) == 0 && (self->residue_at == 0 || *residue_of(self, record) == 0);
}

static enum status group_aggregate_receive(struct node *node, uint32_t input, const struct batch *batch, struct error *err)
{
    (void)input;
    struct group_aggregate *self = (struct group_aggregate *)node;
    batch_hash(batch, self->spec->keys, self->spec->key_count, self->hashes);
    if (UNLIKELY(self->cold != NULL)) {
        TRY(node_fetch_keys(node, self->cold, batch, self->spec->keys, self->hashes, err));
    }
    TRY(key_table_find_or_insert(self->table, batch, self->spec->keys, self->hashes, self->slots, err));
    if (UNLIKELY(self->cold != NULL)) {
        TRY(cold_table_reserve(self->cold, err));
    }
    TRY(slot_cut_keep(&self->cut, self->slots, batch_rows(batch), err));
    if (UNLIKELY(self->lossy)) {
        TRY(group_aggregate_renew(self, batch_rows(batch), err));
    }
    TRY(touch_groups(self, batch_rows(batch), err));
    add_weights(self, batch);
    if (self->residue_at > 0) {
        add_residues(self, batch);
    }
    return call_set_update(self->calls, &self->states, batch, self->slots, records_of(self) + sizeof(struct group_record),
                           self->record_bytes, err);
}

/* One emitted batch: the keys, then values, of the selected rows. */
static enum status emit_rows(struct group_aggregate *self, const struct vector *keys, const struct vector *values, uint32_t count,
                             const uint16_t *selected, uint32_t selected_count, int64_t weight, struct error *err)
{
    if (selected_count == 0) {
        return STATUS_OK;
    }
    struct budget *budget = node_budget(&self->node);
    struct batch batch = {0};
    uint32_t key_count = self->spec->key_count;
    TRY(batch_init(&batch, key_count + self->spec->call_count, err));
    batch.count = count;
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < batch.column_count && status == STATUS_OK; i++) {
        status = vector_ref(i < key_count ? &keys[i] : &values[i - key_count], &batch.columns[i], err);
    }
    if (status == STATUS_OK && weight != 1) {
        int64_t *weights;
        status = batch_need_weights(budget, &batch, count, &weights, err);
        for (uint32_t k = 0; status == STATUS_OK && k < count; k++) {
            weights[k] = weight;
        }
    }
    if (status == STATUS_OK && selected_count < count) {
        uint16_t *rows;
        status = batch_need_selection(budget, &batch, &rows, err);
        if (status == STATUS_OK) {
            memcpy(rows, selected, selected_count * sizeof *selected);
            batch.selected = rows;
            batch.selected_count = selected_count;
        }
    }
    if (status == STATUS_OK) {
        status = node_emit(&self->node, &batch, err);
    }
    batch_release(&batch);
    return status;
}

/* Sets the bit of every row whose values differ. */
static void find_changes(const struct vector *old, const struct vector *new, uint32_t count, uint64_t *changed)
{
    if (old->physical == PHYSICAL_INT64 && old->validity == NULL && new->validity == NULL) {
        const int64_t *left = vector_int64(old), *right = vector_int64(new);
        for (uint32_t k = 0; k < count; k++) {
            changed[k / 64] |= (uint64_t)(left[k] != right[k]) << (k % 64);
        }
        return;
    }
    for (uint32_t k = 0; k < count; k++) {
        if (!bit_at(changed, k) && !vector_rows_equal(old, k, new, k)) {
            changed[k / 64] |= (uint64_t)1 << (k % 64);
        }
    }
}

struct emission {
    struct vector *keys, *values; /* one allocation: keys, then new values */
    uint16_t gone[CHUNK_ROWS], come[CHUNK_ROWS];
    uint32_t gone_count, come_count;
};

/* Which rows go and which come; chunk NULL: no group had a row. */
static void choose_rows(struct group_aggregate *self, const struct old_chunk *chunk, const uint32_t *slots, uint32_t count,
                        struct emission *emission)
{
    uint64_t changed[CHUNK_WORDS];
    memset(changed, self->repeats ? 0xff : 0, sizeof changed);
    for (uint32_t i = 0; chunk != NULL && i < self->spec->call_count; i++) {
        find_changes(&chunk->values[i], &emission->values[i], count, changed);
    }
    emission->gone_count = emission->come_count = 0;
    for (uint32_t k = 0; k < count; k++) {
        bool had = chunk != NULL && !bit_at(chunk->failed, k);
        bool has = record_has_row(record_at(self, slots[k])) && !bit_at(self->failed, k);
        bool same = had && has && !bit_at(changed, k);
        emission->gone[emission->gone_count] = (uint16_t)k;
        emission->gone_count += had && !same;
        emission->come[emission->come_count] = (uint16_t)k;
        emission->come_count += has && !same;
    }
}

static enum status emit_groups(struct group_aggregate *self, const struct old_chunk *chunk, const uint32_t *slots, uint32_t count,
                               struct error *err)
{
    const struct group_aggregate_spec *spec = self->spec;
    struct emission emission;
    emission.keys = calloc(spec->key_count + spec->call_count + 1, sizeof *emission.keys);
    if (emission.keys == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "the system has no memory for the output of an aggregate");
    }
    emission.values = emission.keys + spec->key_count;
    enum status status = group_values(self, slots, count, 1, emission.values, err);
    if (status == STATUS_OK) {
        choose_rows(self, chunk, slots, count, &emission);
    }
    if (status == STATUS_OK && emission.gone_count + emission.come_count > 0) {
        for (uint32_t i = 0; i < spec->key_count && status == STATUS_OK; i++) {
            status = key_table_gather(self->table, i, slots, count, &emission.keys[i], err);
        }
        if (status == STATUS_OK && chunk != NULL) {
            status = emit_rows(self, emission.keys, chunk->values, count, emission.gone, emission.gone_count, -1, err);
        }
        if (status == STATUS_OK) {
            status = emit_rows(self, emission.keys, emission.values, count, emission.come, emission.come_count, 1, err);
        }
    }
    for (uint32_t i = 0; i < spec->key_count + spec->call_count; i++) {
        vector_release(&emission.keys[i]);
    }
    free(emission.keys);
    return status;
}

/* The groups' tick is over: clean, or gone. */
static enum status settle_groups(struct group_aggregate *self, const uint32_t *slots, uint32_t count, struct error *err)
{
    uint32_t gone[CHUNK_ROWS], gone_count = 0;
    for (uint32_t k = 0; k < count && UNLIKELY(self->lossy); k++) {
        struct group_record *record = record_at(self, slots[k]);
        record->weight = record->weight < 0 ? 0 : record->weight;
    }
    for (uint32_t k = 0; k < count; k++) {
        struct group_record *record = record_at(self, slots[k]);
        record->flags &= ~(uint64_t)FLAG_DIRTY;
        if (group_is_gone(self, record)) {
            gone[gone_count++] = slots[k];
        }
    }
    if (self->cold != NULL) {
        TRY(cold_table_forget(self->cold, gone, gone_count, err));
    }
    for (uint32_t k = 0; k < gone_count; k++) {
        call_set_clear(self->calls, &self->states, record_at(self, gone[k]) + 1);
        key_table_remove(self->table, gone[k]);
        group_aggregate_note_gone(self, gone[k]);
    }
    return STATUS_OK;
}

static enum status emit_old(struct group_aggregate *self, struct error *err)
{
    for (uint32_t i = 0; i < self->old_count; i++) {
        struct old_chunk *chunk = &self->old[i];
        TRY(emit_groups(self, chunk, chunk->slots, chunk->count, err));
        TRY(settle_groups(self, chunk->slots, chunk->count, err));
        old_chunk_close(self, chunk);
    }
    self->old_count = 0;
    return STATUS_OK;
}

static enum status emit_fresh(struct group_aggregate *self, struct error *err)
{
    uint32_t chunk_rows = self->node.circuit->settings.chunk_rows;
    chunk_rows = chunk_rows == 0 || chunk_rows > CHUNK_ROWS ? CHUNK_ROWS : chunk_rows;
    for (uint32_t from = 0; from < self->fresh.count; from += chunk_rows) {
        uint32_t count = self->fresh.count - from < chunk_rows ? self->fresh.count - from : chunk_rows;
        TRY(emit_groups(self, NULL, self->fresh.slots + from, count, err));
        TRY(settle_groups(self, self->fresh.slots + from, count, err));
    }
    self->fresh.count = 0;
    return STATUS_OK;
}

static void group_aggregate_count_state(struct node *node)
{
    const struct group_aggregate *self = (const struct group_aggregate *)node;
    node->metrics.state_keys = key_table_count(self->table);
    node->metrics.state_bytes = key_table_bytes(self->table) + call_states_bytes(self->calls, &self->states) + ttl_bytes(&self->ttl);
}

static enum status group_aggregate_finish_tick(struct node *node, const struct tick *tick, struct error *err)
{
    struct group_aggregate *self = (struct group_aggregate *)node;
    uint32_t touched = self->fresh.count + self->old_count * CHUNK_ROWS;
    TRY(emit_old(self, err));
    TRY(emit_fresh(self, err));
    if (self->lossy) {
        TRY(group_aggregate_sweep(self, touched, err));
    }
    TRY(held_errors_check(self->held, tick, err));
    node_pass_watermark(node);
    return STATUS_OK;
}

static void group_aggregate_close(struct node *node)
{
    struct group_aggregate *self = (struct group_aggregate *)node;
    for (uint32_t i = 0; i < self->old_count; i++) {
        old_chunk_close(self, &self->old[i]);
    }
    struct budget *budget = node_budget(node);
    slot_array_free(budget, self->old, self->old_capacity * sizeof *self->old);
    slot_array_free(budget, self->fresh.slots, self->fresh.capacity * sizeof(uint32_t));
    records_cold_destroy(self->records);
    call_states_close(self->calls, &self->states);
    key_table_destroy(self->table);
    held_errors_destroy(self->held);
    dirty_slots_close(&self->dirty);
    slot_cut_close(&self->cut);
    state_map_close(&self->restored);
    state_map_close(&self->restored_generations);
    group_aggregate_close_ttl(self);
}

static const struct node_type group_aggregate_type = {
    .name = "GroupAggregate",
    .receive = group_aggregate_receive,
    .finish_tick = group_aggregate_finish_tick,
    .count_state = group_aggregate_count_state,
    .close = group_aggregate_close,
    .save = group_aggregate_save,
    .restore = group_aggregate_restore,
    .restored = group_aggregate_restored,
    .open_cold = group_aggregate_open_cold,
    .saves_in_memory = true,
};

/* The group that has a row without any input: of no keys, or the empty grouping set: keys NULL, all bits of the grouping id set. */
static enum status add_permanent_group(struct group_aggregate *self, struct error *err)
{
    const struct group_aggregate_spec *spec = self->spec;
    struct budget *budget = node_budget(&self->node);
    struct batch batch = {0};
    TRY(batch_init(&batch, spec->input.schema->count, err));
    batch.count = 1;
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < spec->key_count && status == STATUS_OK; i++) {
        struct vector *key = &batch.columns[spec->keys[i]];
        const struct type *type = spec->input.schema->columns[spec->keys[i]].type;
        status = vector_create(budget, type, 1, key, err);
        if (status != STATUS_OK) {
            break;
        }
        if (i + 1 == spec->key_count && key->physical == PHYSICAL_INT32) {
            vector_int32(key)[0] = (int32_t)(((uint32_t)1 << (spec->key_count - 1)) - 1);
            continue;
        }
        memset(key->values, 0, physical_bytes(key->physical));
        status = vector_need_validity(budget, key, 1, err);
        if (status == STATUS_OK && key->physical != PHYSICAL_NULL) {
            vector_set_null(key, 0);
        }
    }
    bool owns = status == STATUS_OK;
    if (owns) {
        const struct circuit *circuit = self->node.circuit;
        batch_hash(&batch, spec->keys, spec->key_count, self->hashes);
        owns = !spec->empty_row_by_hash ||
               circuit_worker_of(self->hashes[0], circuit->worker_count, circuit->settings.max_parallelism) == circuit->worker;
    }
    if (owns) {
        status = key_table_find_or_insert(self->table, &batch, spec->keys, self->hashes, self->slots, err);
    }
    if (owns && status == STATUS_OK) {
        record_at(self, self->slots[0])->flags = FLAG_PERMANENT | FLAG_DIRTY;
        status = slot_list_add(self, &self->fresh, self->slots[0], err);
    }
    batch_release(&batch);
    return status;
}

/* Rows of lossy input are withdrawn from groups that have begun anew without them: nothing cancels there. */
static enum status open_residues(struct group_aggregate *self, struct arena *arena, struct error *err)
{
    const struct group_aggregate_spec *spec = self->spec;
    uint32_t room = spec->call_count;
    for (uint32_t i = 0; i < spec->call_count; i++) {
        room += spec->calls[i].arg_count;
    }
    TRY_ALLOC(self->residue_columns, arena_alloc(arena, (room + 1) * sizeof *self->residue_columns), err);
    for (uint32_t i = 0; i < spec->call_count; i++) {
        for (uint32_t a = 0; a < spec->calls[i].arg_count; a++) {
            self->residue_columns[self->residue_column_count++] = spec->calls[i].args[a];
        }
        if (spec->calls[i].filter >= 0) {
            self->residue_columns[self->residue_column_count++] = (uint32_t)spec->calls[i].filter;
        }
    }
    if (spec->input.changes && !self->lossy && self->residue_column_count > 0) {
        self->residue_at = self->record_bytes;
        self->record_bytes += sizeof(uint64_t);
    }
    return STATUS_OK;
}

enum status group_aggregate_create(struct circuit *circuit, const struct group_aggregate_spec *spec, struct node *input, struct node **node,
                                   struct error *err)
{
    struct group_aggregate *self;
    const struct type **types;
    TRY_ALLOC(self, arena_alloc(circuit->arena, sizeof *self), err);
    TRY_ALLOC(types, arena_alloc(circuit->arena, (spec->key_count + 1) * sizeof *types), err);
    for (uint32_t i = 0; i < spec->key_count; i++) {
        types[i] = spec->input.schema->columns[spec->keys[i]].type;
    }
    self->spec = spec;
    self->cut.pending.budget = self->dirty.budget = self->restored.budget = self->restored_generations.budget = circuit->budget;
    self->cut.part = circuit->settings.chunk_rows;
    const struct call_set_spec calls = {.input = &spec->input, .calls = spec->calls, .call_count = spec->call_count};
    TRY(call_set_create(circuit, &calls, &self->calls, err));
    call_states_open(self->calls, circuit->budget, &self->states);
    self->record_bytes = (uint32_t)sizeof(struct group_record) + call_set_bytes(self->calls);
    self->lossy = spec->ttl_us > 0 || spec->input.lossy;
    TRY(open_residues(self, circuit->arena, err));
    TRY(key_table_create(circuit->budget, types, spec->key_count, &self->record_bytes, 1, &self->table, err));
    enum status status = held_errors_create(circuit, &self->held, err);
    if (status == STATUS_OK) {
        status = circuit_add(circuit, &self->node, &group_aggregate_type, "GroupAggregate", &input, 1, err);
    }
    if (status != STATUS_OK) {
        key_table_destroy(self->table);
        held_errors_destroy(self->held);
        return status;
    }
    group_aggregate_open_ttl(self);
    TRY(group_aggregate_declare(self, err));
    if (spec->emit_empty_row) {
        TRY(add_permanent_group(self, err));
    }
    *node = &self->node;
    return STATUS_OK;
}
