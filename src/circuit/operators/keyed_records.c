#include "circuit/operators/keyed_records.h"

#include "data/cell_text.h"
#include "data/calendar.h"

enum { AHEAD = 16 };

enum status keyed_layout_open(struct keyed_layout *layout, struct node *node, struct circuit *circuit, const struct input_spec *input,
                              const uint32_t *keys, uint32_t key_count, struct call_set *calls, uint32_t call_count, struct error *err)
{
    *layout = (struct keyed_layout){
        .node = node,
        .calls = calls,
        .keys = keys,
        .key_count = key_count,
        .call_count = call_count,
        .record_bytes = (uint32_t)sizeof(int64_t) + call_set_bytes(calls),
    };
    TRY_ALLOC(layout->key_types, arena_alloc(circuit->arena, (key_count + 1) * sizeof(struct type *)), err);
    TRY_ALLOC(layout->key_order, arena_alloc(circuit->arena, (key_count + 1) * sizeof(uint32_t)), err);
    for (uint32_t i = 0; i < key_count; i++) {
        layout->key_types[i] = input->schema->columns[keys[i]].type;
        layout->key_order[i] = i;
    }
    return STATUS_OK;
}

void keyed_layout_merge(struct keyed_layout *layout)
{
    layout->parts_at = layout->record_bytes;
    layout->record_bytes += (uint32_t)sizeof(int64_t);
}

enum status keyed_records_open(const struct keyed_layout *layout, struct keyed_records *records, struct error *err)
{
    call_states_open(layout->calls, node_budget(layout->node), &records->states);
    return key_table_create(node_budget(layout->node), layout->key_types, layout->key_count, &layout->record_bytes, 1, &records->table,
                            err);
}

enum status keyed_records_track(const struct keyed_layout *layout, struct keyed_records *records, struct error *err)
{
    records->dirty.budget = node_budget(layout->node);
    return call_states_track(layout->calls, &records->states, err);
}

void keyed_records_close(const struct keyed_layout *layout, struct keyed_records *records)
{
    if (records->table != NULL) {
        records_cold_destroy(records->cold);
        records->cold = NULL;
        key_table_destroy(records->table);
        call_states_close(layout->calls, &records->states);
        dirty_slots_close(&records->dirty);
        records->table = NULL;
    }
}

size_t keyed_records_bytes(const struct keyed_layout *layout, const struct keyed_records *records)
{
    return records->table == NULL ? 0 : key_table_bytes(records->table) + call_states_bytes(layout->calls, &records->states);
}

static int64_t *weight_at(const struct keyed_layout *layout, uint8_t *records, uint32_t slot)
{
    return (int64_t *)(void *)(records + (size_t)slot * layout->record_bytes);
}

enum status keyed_records_add(const struct keyed_layout *layout, struct keyed_records *records, const struct batch *batch,
                              const uint64_t *hashes, struct error *err)
{
    uint32_t slots[CHUNK_ROWS];
    struct selection rows = batch_selection(batch);
    if (UNLIKELY(records->cold != NULL)) {
        TRY(keyed_records_fetch(records, batch, layout->keys, hashes, err));
    }
    TRY(key_table_find_or_insert(records->table, batch, layout->keys, hashes, slots, err));
    if (UNLIKELY(records->cold != NULL)) {
        TRY(cold_table_changed(records_cold_table(records->cold), slots, rows.count, 0, err));
    }
    uint8_t *base = key_table_values(records->table, 0);
    for (uint32_t k = 0; k < rows.count; k++) {
        if (k + AHEAD < rows.count) {
            __builtin_prefetch(base + (size_t)slots[k + AHEAD] * layout->record_bytes, 1);
        }
        *weight_at(layout, base, slots[k]) += batch_weight(batch, selection_row(&rows, k));
    }
    for (uint32_t k = 0; records->dirty.budget != NULL && k < rows.count; k++) {
        TRY(dirty_slots_mark(&records->dirty, slots[k], err));
    }
    return call_set_update(layout->calls, &records->states, batch, slots, base + sizeof(int64_t), layout->record_bytes, err);
}

/* The keys of some slots as a batch, with their hashes. */
static enum status gather_keys(const struct keyed_layout *layout, const struct keyed_records *records, const uint32_t *slots,
                               uint32_t count, struct batch *keys, uint64_t *hashes, struct error *err)
{
    TRY(batch_init(keys, layout->key_count, err));
    keys->count = count;
    for (uint32_t i = 0; i < layout->key_count; i++) {
        TRY(key_table_gather(records->table, i, slots, count, &keys->columns[i], err));
    }
    for (uint32_t k = 0; k < count; k++) {
        hashes[k] = key_table_hash(records->table, slots[k]);
    }
    return STATUS_OK;
}

/* Where some keys are in `into`; they are in memory then. */
static enum status find_places(const struct keyed_layout *layout, struct keyed_records *into, const struct batch *keys,
                               const uint64_t *hashes, uint32_t *places, struct error *err)
{
    if (into->cold != NULL) {
        TRY(keyed_records_fetch(into, keys, layout->key_order, hashes, err));
    }
    TRY(key_table_find_or_insert(into->table, keys, layout->key_order, hashes, places, err));
    return into->cold == NULL ? STATUS_OK : cold_table_changed(records_cold_table(into->cold), places, keys->count, 0, err);
}

static enum status remove_records(const struct keyed_layout *layout, struct keyed_records *records, const uint32_t *slots, uint32_t count,
                                  struct error *err)
{
    uint8_t *base = key_table_values(records->table, 0);
    if (records->cold != NULL) {
        TRY(cold_table_forget(records_cold_table(records->cold), slots, count, err));
    }
    for (uint32_t k = 0; k < count; k++) {
        call_set_clear(layout->calls, &records->states, weight_at(layout, base, slots[k]) + 1);
        key_table_remove(records->table, slots[k]);
    }
    return STATUS_OK;
}

struct merge {
    const struct keyed_layout *layout;
    struct keyed_records *into;
    int64_t weight;
};

static enum status merge_slots(void *context, const struct keyed_records *from, const uint32_t *slots, uint32_t count, struct error *err)
{
    const struct merge *merge = context;
    const struct keyed_layout *layout = merge->layout;
    struct keyed_records *into = merge->into;
    struct batch keys = {0};
    uint64_t hashes[CHUNK_ROWS];
    uint32_t places[CHUNK_ROWS], gone = 0;
    enum status status = gather_keys(layout, from, slots, count, &keys, hashes, err);
    if (status == STATUS_OK) {
        status = find_places(layout, into, &keys, hashes, places, err);
    }
    batch_release(&keys);
    TRY(status);
    uint8_t *source = key_table_values(from->table, 0);
    uint8_t *target = key_table_values(into->table, 0);
    for (uint32_t k = 0; k < count; k++) {
        int64_t *to = weight_at(layout, target, places[k]);
        const int64_t *part = weight_at(layout, source, slots[k]);
        *to += *part * merge->weight;
        TRY(call_set_merge(layout->calls, &into->states, to + 1, part + 1, merge->weight, err));
        int64_t *parts = (int64_t *)(void *)((uint8_t *)to + layout->parts_at);
        *parts += merge->weight;
        places[gone] = places[k];
        gone += *parts == 0;
    }
    return gone == 0 ? STATUS_OK : remove_records(layout, into, places, gone, err);
}

enum status keyed_records_merge(const struct keyed_layout *layout, struct keyed_records *into, struct keyed_records *from, int64_t weight,
                                struct error *err)
{
    struct merge merge = {layout, into, weight};
    return keyed_records_walk(layout, from, CHUNK_ROWS, merge_slots, &merge, err);
}

int64_t window_column_time(const struct window_output *output, enum window_column column, int64_t now_us)
{
    switch (column) {
    case WINDOW_COLUMN_START:
        return output->bounds.start;
    case WINDOW_COLUMN_END:
        return output->bounds.end;
    case WINDOW_COLUMN_PROCTIME:
        return now_us;
    default:
        return window_time_closes(output->time, output->bounds.end);
    }
}

struct emit_failure {
    const struct window_output *output;
    bool failed;
    uint32_t row;
    enum error_code code;
    const char *text;
};

static void value_fails(void *owner, uint32_t k, enum error_code code, const char *text)
{
    struct emit_failure *failure = owner;
    if (!failure->failed) {
        failure->failed = true;
        failure->row = k;
        failure->code = code;
        failure->text = text;
    }
}

/* A closed window does not change any more: what fails in it fails for good. */
static enum status raise_failure(const struct keyed_layout *layout, const struct emit_failure *failure, const struct batch *batch,
                                 struct error *err)
{
    struct text_builder text = {0};
    timestamp_append_text(failure->output->bounds.start, 3, &text);
    for (uint32_t i = 0; i < layout->key_count; i++) {
        text_append_text(&text, i == 0 ? ", group " : ", ");
        cell_text_append(&batch->columns[i], failure->row, node_evaluation(layout->node)->zone, CELL_TEXT_HEX, &text);
    }
    enum status status =
        error_set(err, failure->code, "%s, in the window that begins at %.600s", failure->text, text.bytes == NULL ? "" : text.bytes);
    text_builder_close(&text);
    return status;
}

static enum status emit_slots(const struct keyed_layout *layout, const struct keyed_records *records, const struct window_output *output,
                              const uint32_t *slots, uint32_t count, struct error *err)
{
    struct batch batch = {0};
    struct budget *budget = node_budget(layout->node);
    struct emit_failure failure = {.output = output};
    const uint8_t *base = (const uint8_t *)key_table_values(records->table, 0) + sizeof(int64_t);
    uint32_t fixed = layout->key_count + layout->call_count;
    enum status status = batch_init(&batch, fixed + output->column_count, err);
    batch.count = count;
    for (uint32_t i = 0; i < layout->key_count && status == STATUS_OK; i++) {
        status = key_table_gather(records->table, i, slots, count, &batch.columns[i], err);
    }
    if (status == STATUS_OK) {
        status = call_set_values(layout->calls, base, layout->record_bytes, slots, count, &batch.columns[layout->key_count], value_fails,
                                 &failure, err);
    }
    if (status == STATUS_OK && failure.failed) {
        status = raise_failure(layout, &failure, &batch, err);
    }
    for (uint32_t i = 0; i < output->column_count && status == STATUS_OK; i++) {
        int64_t time = window_column_time(output, output->columns[i], node_evaluation(layout->node)->now_us);
        status = window_time_vector(budget, output->schema->columns[fixed + i].type, time, count, &batch.columns[fixed + i], err);
    }
    if (status == STATUS_OK) {
        status = node_emit(layout->node, &batch, err);
    }
    batch_release(&batch);
    return status;
}

struct emission {
    const struct keyed_layout *layout;
    const struct window_output *output;
};

static enum status emit_standing(void *context, const struct keyed_records *records, const uint32_t *slots, uint32_t count,
                                 struct error *err)
{
    const struct emission *emission = context;
    uint8_t *base = key_table_values(records->table, 0);
    uint32_t standing[CHUNK_ROWS], kept = 0;
    for (uint32_t k = 0; k < count; k++) {
        standing[kept] = slots[k];
        kept += *weight_at(emission->layout, base, slots[k]) > 0;
    }
    return kept == 0 ? STATUS_OK : emit_slots(emission->layout, records, emission->output, standing, kept, err);
}

enum status keyed_records_emit(const struct keyed_layout *layout, struct keyed_records *records, const struct window_output *output,
                               struct error *err)
{
    struct emission emission = {layout, output};
    uint32_t limit = layout->node->circuit->settings.chunk_rows;
    limit = limit == 0 || limit > CHUNK_ROWS ? CHUNK_ROWS : limit;
    return keyed_records_walk(layout, records, limit, emit_standing, &emission, err);
}
