/* Records in a database. Those that are walked through, as a window closes, are either all in memory and stay there until the walk is over, or
 * leave it and come by in pieces: so no walk needs more memory than a piece. */
#include "circuit/operators/keyed_records.h"

#include <assert.h>
#include <stdlib.h>

enum { VALUE_WEIGHT, VALUE_STATES, VALUE_COLUMNS, VALUE_PARTS = VALUE_COLUMNS }; /* among the layout's values */

static int64_t *weight_at(const struct keyed_records *records, uint32_t slot)
{
    return (int64_t *)(void *)((uint8_t *)key_table_values(records->table, 0) + (size_t)slot * records->layout->record_bytes);
}

static int64_t *parts_at(const struct keyed_records *records, uint32_t slot)
{
    return (int64_t *)(void *)((uint8_t *)weight_at(records, slot) + records->layout->parts_at);
}

static enum status record_columns(void *context, const uint32_t *slots, uint32_t count, struct batch *batch, struct error *err)
{
    const struct keyed_records *records = context;
    const struct keyed_layout *layout = records->layout;
    const struct cold_layout *kept_as = &records->kept_as->records;
    const uint32_t *values = kept_as->values;
    int64_t weights[CHUNK_ROWS];
    for (uint32_t i = 0; i < layout->key_count; i++) {
        TRY(key_table_gather(records->table, i, slots, count, &batch->columns[i], err));
    }
    for (uint32_t k = 0; k < count; k++) {
        weights[k] = *weight_at(records, slots[k]);
    }
    TRY(state_number_column(node_budget(layout->node), weights, count, &batch->columns[values[VALUE_WEIGHT]], err));
    if (kept_as->value_count > VALUE_PARTS) {
        for (uint32_t k = 0; k < count; k++) {
            weights[k] = *parts_at(records, slots[k]);
        }
        TRY(state_number_column(node_budget(layout->node), weights, count, &batch->columns[values[VALUE_PARTS]], err));
    }
    return call_set_states_column(layout->calls, (const uint8_t *)(weight_at(records, 0) + 1), layout->record_bytes, slots, count,
                                  &batch->columns[values[VALUE_STATES]], err);
}

/* Of one that is there already what comes is another part: partial results of several workers, of windows without keys, which any worker may
 * have (plan/physical_combine.c). */
static enum status load_record(const struct keyed_layout *layout, struct keyed_records *records, int64_t *record, int64_t weight,
                               struct text states, struct error *err)
{
    if (*record == 0) {
        *record = weight;
        return call_set_load(layout->calls, &records->states, record + 1, states, err);
    }
    int64_t *part;
    TRY_ALLOC(part, calloc(1, layout->record_bytes), err);
    enum status status = call_set_load(layout->calls, &records->states, part + 1, states, err);
    if (status == STATUS_OK) {
        *record += weight;
        status = call_set_merge(layout->calls, &records->states, record + 1, part + 1, 1, err);
    }
    call_set_clear(layout->calls, &records->states, part + 1);
    free(part);
    return status;
}

enum status keyed_records_load(const struct keyed_layout *layout, struct keyed_records *records, const struct batch *batch,
                               uint32_t weight_column, uint32_t states_column, uint32_t *slots, struct error *err)
{
    struct selection rows = batch_selection(batch);
    uint64_t hashes[CHUNK_ROWS];
    batch_hash(batch, layout->key_order, layout->key_count, hashes);
    TRY(key_table_find_or_insert(records->table, batch, layout->key_order, hashes, slots, err));
    uint8_t *base = key_table_values(records->table, 0);
    for (uint32_t k = 0; k < rows.count; k++) {
        uint32_t row = selection_row(&rows, k);
        int64_t *weight = (int64_t *)(void *)(base + (size_t)slots[k] * layout->record_bytes);
        TRY(load_record(layout, records, weight, snapshot_number(batch, row, weight_column), snapshot_text(batch, row, states_column),
                        err));
    }
    return STATUS_OK;
}

static enum status record_add(void *context, struct batch *batch, uint32_t *slots, struct error *err)
{
    struct keyed_records *records = context;
    const struct cold_layout *kept_as = &records->kept_as->records;
    const uint32_t *values = kept_as->values;
    TRY(keyed_records_load(records->layout, records, batch, values[VALUE_WEIGHT], values[VALUE_STATES], slots, err));
    for (uint32_t row = 0; kept_as->value_count > VALUE_PARTS && row < batch->count; row++) {
        *parts_at(records, slots[row]) = snapshot_number(batch, row, values[VALUE_PARTS]);
    }
    return STATUS_OK;
}

static bool record_pinned(const void *context, uint32_t slot)
{
    (void)slot;
    const struct keyed_records *records = context;
    return records->pinned || records->layout->pinned;
}

enum status keyed_layout_spill(struct keyed_layout *layout, const struct cold_layout *records, uint32_t first_table, struct error *err)
{
    assert(records->value_count >= VALUE_COLUMNS);
    return records_layouts_make(layout->node, layout->calls, records, first_table, layout->keys, &layout->cold, err);
}

enum status keyed_records_spill(const struct keyed_layout *layout, const struct records_layouts *cold, struct text scope,
                                const uint64_t *units, int64_t expiry, struct keyed_records *records, struct error *err)
{
    records_cold_destroy(records->cold);
    records->cold = NULL;
    records->layout = layout;
    records->kept_as = cold;
    const struct records_cold_spec spec = {
        .node = layout->node,
        .calls = layout->calls,
        .states = &records->states,
        .table = records->table,
        .layouts = cold,
        .states_at = sizeof(int64_t),
        .record_bytes = layout->record_bytes,
        .owner = {.context = records, .columns = record_columns, .add = record_add, .pinned = record_pinned},
        .expiry = expiry,
    };
    return records_cold_create(&spec, scope, units, &records->cold, err);
}

enum status keyed_records_fetch(const struct keyed_records *records, const struct batch *batch, const uint32_t *keys,
                                const uint64_t *hashes, struct error *err)
{
    bool added;
    TRY(node_relieve(records->layout->node, err));
    return cold_table_fetch_keys(records_cold_table(records->cold), batch, keys, hashes, &added, err);
}

enum status keyed_records_forget(struct keyed_records *records, struct error *err)
{
    if (records->cold == NULL) {
        return STATUS_OK;
    }
    uint64_t stored = records_cold_table(records->cold)->stored[0];
    for (uint32_t i = 0; i < records->layout->cold.count; i++) {
        stored += records_cold_values(records->cold, i)->stored[0];
    }
    return stored == 0 ? STATUS_OK : cold_table_remove_scope(records_cold_table(records->cold), err);
}

/* ---- walks ---- */

/* The next slots that are in use, from *slot on. */
static uint32_t next_slots(const struct key_table *table, uint32_t *slot, uint32_t limit, uint32_t *slots)
{
    uint32_t count = 0, end = key_table_slots(table);
    while (*slot < end && count < limit) {
        slots[count] = *slot;
        count += key_table_has(table, *slot);
        (*slot)++;
    }
    return count;
}

static enum status walk_memory(const struct keyed_records *records, uint32_t limit, keyed_visit *visit, void *context, struct error *err)
{
    uint32_t slots[CHUNK_ROWS], count, at = 0;
    while ((count = next_slots(records->table, &at, limit, slots)) > 0) {
        TRY(visit(context, records, slots, count, err));
    }
    return STATUS_OK;
}

struct cold_pieces {
    const struct keyed_layout *layout;
    const struct records_layouts *kept_as;
    uint32_t limit;
    keyed_visit *visit;
    void *context;
};

static enum status walk_piece(void *context, struct batch *batch, struct error *err)
{
    const struct cold_pieces *pieces = context;
    const struct keyed_layout *layout = pieces->layout;
    struct keyed_records piece = {0};
    uint32_t slots[CHUNK_ROWS];
    enum status status = keyed_records_open(layout, &piece, err);
    piece.layout = layout;
    piece.kept_as = pieces->kept_as;
    if (status == STATUS_OK) {
        status = record_add(&piece, batch, slots, err);
    }
    if (status == STATUS_OK) {
        status = walk_memory(&piece, pieces->limit, pieces->visit, pieces->context, err);
    }
    keyed_records_close(layout, &piece);
    return status;
}

enum status keyed_records_walk(const struct keyed_layout *layout, struct keyed_records *records, uint32_t limit, keyed_visit *visit,
                               void *context, struct error *err)
{
    struct cold_table *cold = records->cold == NULL ? NULL : records_cold_table(records->cold);
    if (cold == NULL || cold->out == 0) {
        records->pinned = true;
        enum status status = walk_memory(records, limit, visit, context, err);
        records->pinned = false;
        return status;
    }
    struct cold_pieces pieces = {layout, records->kept_as, limit, visit, context};
    uint32_t evicted, count = key_table_count(records->table);
    TRY(cold_table_evict(cold, count, true, &evicted, err));
    return cold_table_scan(cold, walk_piece, &pieces, err);
}
