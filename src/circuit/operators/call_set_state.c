/* A record as bytes: per call, the length (uint32) and what the accumulator saves. */
#include <stdlib.h>
#include <string.h>

#include "circuit/operators/call_set_internal.h"

void call_set_save(const struct call_set *set, const void *record, struct text_builder *out)
{
    for (uint32_t i = 0; i < set->call_count; i++) {
        const struct accumulator *accumulator = &set->calls[i].accumulator;
        const uint8_t *state = (const uint8_t *)record + set->calls[i].offset;
        size_t at = out->length;
        uint32_t length = 0;
        text_append(out, (const char *)&length, sizeof length);
        accumulator_save(accumulator, state, out);
        length = (uint32_t)(out->length - at - sizeof length);
        if (!out->failed) {
            memcpy(out->bytes + at, &length, sizeof length);
        }
    }
}

/* All states are their own bytes: what a record takes; 0: some are not. */
static size_t plain_bytes(const struct call_set *set)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < set->call_count; i++) {
        if (set->calls[i].accumulator.save != NULL) {
            return 0;
        }
        bytes += sizeof(uint32_t) + set->calls[i].accumulator.state_bytes;
    }
    return bytes;
}

bool call_set_is_plain(const struct call_set *set)
{
    return plain_bytes(set) > 0;
}

static void put_plain(const struct call_set *set, const uint8_t *record, char *to)
{
    for (uint32_t i = 0; i < set->call_count; i++) {
        uint32_t length = set->calls[i].accumulator.state_bytes;
        const uint8_t *state = record + set->calls[i].offset;
        memcpy(to, &length, sizeof length);
        to += sizeof length;
        for (uint32_t at = 0; at < length; at += sizeof(uint64_t), to += sizeof(uint64_t)) { /* a multiple of 8, mostly one or two */
            memcpy(to, state + at, sizeof(uint64_t));
        }
    }
}

static enum status plain_column(const struct call_set *set, size_t bytes, const uint8_t *records, uint32_t stride, const uint32_t *slots,
                                uint32_t count, struct vector *vector, struct error *err)
{
    enum { AHEAD = 16 };
    struct string_heap heap = {.budget = set->circuit->budget, .target = vector};
    TRY(vector_create(set->circuit->budget, &state_bytes_type, count, vector, err));
    char *to = string_heap_alloc(&heap, bytes * count, err);
    if (to == NULL) {
        vector_release(vector);
        return err->status;
    }
    for (uint32_t k = 0; k < count; k++, to += bytes) {
        if (k + AHEAD < count) {
            __builtin_prefetch(records + (size_t)slots[k + AHEAD] * stride);
        }
        put_plain(set, records + (size_t)slots[k] * stride, to);
        vector_strings(vector)[k] = string_view_make(to, bytes);
    }
    return STATUS_OK;
}

enum status call_set_states_column(const struct call_set *set, const uint8_t *records, uint32_t stride, const uint32_t *slots,
                                   uint32_t count, struct vector *vector, struct error *err)
{
    size_t bytes = plain_bytes(set), ends[CHUNK_ROWS];
    struct text_builder states = {0};
    if (bytes > 0) {
        return plain_column(set, bytes, records, stride, slots, count, vector, err);
    }
    for (uint32_t k = 0; k < count; k++) {
        call_set_save(set, records + (size_t)slots[k] * stride, &states);
        ends[k] = states.length;
    }
    enum status status = state_bytes_column(set->circuit->budget, &states, ends, count, vector, err);
    text_builder_close(&states);
    return status;
}

static enum status load_corrupt(const struct bound_call *call, struct error *err)
{
    return error_set(err, ERROR_STATE_CORRUPT, "the state of %s has a length that cannot be", call->spec->function->name);
}

enum status call_set_load(struct call_set *set, struct call_states *states, void *record, struct text bytes, struct error *err)
{
    const uint8_t *cursor = (const uint8_t *)bytes.bytes, *end = cursor + bytes.length;
    for (uint32_t i = 0; i < set->call_count; i++) {
        const struct bound_call *call = &set->calls[i];
        uint8_t *state = (uint8_t *)record + call->offset;
        uint32_t length = 0;
        if (end - cursor < (ptrdiff_t)sizeof length) {
            return load_corrupt(call, err);
        }
        memcpy(&length, cursor, sizeof length);
        cursor += sizeof length;
        if ((size_t)(end - cursor) < length) {
            return load_corrupt(call, err);
        }
        TRY(accumulator_load(&call->accumulator, state, cursor, length, &states->heap, err));
        cursor += length;
    }
    return STATUS_OK;
}

/* ---- how the bytes are to be read ---- */

/* "SUM(DISTINCT price) FILTER cheap": for people, on one line. */
static void append_label(const struct call_set *set, const struct aggregate_spec_call *call, struct text_builder *out)
{
    const struct column *columns = set->input->schema->columns;
    size_t begin = out->length;
    text_append_format(out, "%s(%s%s", call->function->name, call->distinct ? "DISTINCT " : "", call->arg_count == 0 ? "*" : "");
    for (uint32_t i = 0; i < call->arg_count; i++) {
        text_append_format(out, "%s%s", i == 0 ? "" : ", ", columns[call->args[i]].name);
    }
    text_append_char(out, ')');
    if (call->filter >= 0) {
        text_append_format(out, " FILTER %s", columns[call->filter].name);
    }
    for (size_t i = begin; i < out->length && !out->failed; i++) {
        out->bytes[i] = (uint8_t)out->bytes[i] < ' ' ? ' ' : out->bytes[i];
    }
}

/* What aggregate_binding was told: the reader binds the function again. */
static void append_binding(const struct call_set *set, const struct aggregate_spec_call *call, struct text_builder *out)
{
    text_append_format(out, "\t%s%s%s%s%s%s\tROW<", call->function->name, set->changes ? " retracts" : "",
                       set->input->ordered ? " ordered" : "", call->distinct ? " distinct" : "", call->ignore_nulls ? " ignore-nulls" : "",
                       set->merges ? " merges" : "");
    for (uint32_t i = 0; i < call->arg_count; i++) {
        text_append_format(out, "%sa%u ", i == 0 ? "" : ", ", i + 1);
        type_print(set->input->schema->columns[call->args[i]].type, out);
    }
    text_append_text(out, ">\t");
    append_label(set, call, out);
}

enum status call_set_layouts(const struct call_set *set, uint32_t states, struct snapshot_table *table, struct error *err)
{
    struct arena *arena = set->circuit->arena;
    struct text_builder text = {0};
    const char **list;
    TRY_ALLOC(list, arena_alloc(arena, table->schema->count * sizeof *list), err);
    text_append_text(&text, "calls");
    for (uint32_t i = 0; i < set->call_count; i++) {
        append_binding(set, set->calls[i].spec, &text);
    }
    list[states] = text.failed ? NULL : arena_text(arena, text.bytes, text.length);
    text_builder_close(&text);
    table->layouts = list;
    return list[states] != NULL ? STATUS_OK : error_set(err, ERROR_BUDGET_SPENT, "no room for the layout of a state");
}

/* ---- DISTINCT ---- */

uint32_t call_set_table_count(const struct call_set *set)
{
    return set->distinct_count;
}

static enum status declare_table(const struct call_set *set, uint32_t index, bool scoped, struct snapshot_table *table, struct error *err)
{
    const struct distinct_set *distinct = &set->distinct[index];
    struct arena *arena = set->circuit->arena;
    struct column *columns;
    struct schema *schema;
    const char **layouts;
    TRY_ALLOC(layouts, arena_alloc(arena, (distinct->arg_count + 3) * sizeof *layouts), err);
    TRY_ALLOC(columns, arena_alloc(arena, (distinct->arg_count + 3) * sizeof *columns), err);
    TRY_ALLOC(schema, arena_alloc(arena, sizeof *schema), err);
    *table = (struct snapshot_table){.schema = schema, .place = SNAPSHOT_EVERY, .expiry = -1, .after_others = true, .layouts = layouts};
    layouts[distinct->arg_count + 1] = set->changes ? "numbers" : "bits";
    TRY_ALLOC(table->name, arena_format(arena, "distinct-%u", index + 1), err);
    columns[0] = (struct column){.name = "record", .type = &type_bigint_not_null};
    for (uint32_t i = 0; i < distinct->arg_count; i++) {
        columns[i + 1].type = distinct->key_types[i + 1];
        TRY_ALLOC(columns[i + 1].name, arena_format(arena, "argument-%u", i + 1), err);
    }
    columns[distinct->arg_count + 1] = (struct column){.name = "counts", .type = &type_bytes};
    if (scoped) {
        columns[distinct->arg_count + 2] = (struct column){.name = "expiry", .type = &type_bigint_not_null};
        table->expiry = (int32_t)distinct->arg_count + 2;
    }
    *schema = (struct schema){distinct->arg_count + 2 + scoped, columns};
    return STATUS_OK;
}

enum status call_set_declare_tables(const struct call_set *set, bool scoped, struct snapshot_table *tables, struct error *err)
{
    for (uint32_t i = 0; i < set->distinct_count; i++) {
        TRY(declare_table(set, i, scoped, &tables[i], err));
    }
    return STATUS_OK;
}

enum status call_states_track(const struct call_set *set, struct call_states *states, struct error *err)
{
    if (set->distinct_count == 0) {
        return STATUS_OK;
    }
    TRY_ALLOC(states->cuts, calloc(set->distinct_count, sizeof *states->cuts), err);
    TRY_ALLOC(states->dirty, calloc(set->distinct_count, sizeof *states->dirty), err);
    for (uint32_t i = 0; i < set->distinct_count; i++) {
        states->dirty[i].budget = states->cuts[i].cut.pending.budget = states->heap.budget;
        states->cuts[i].cut.part = set->circuit->settings.chunk_rows;
    }
    return STATUS_OK;
}

void call_states_forget_changes(const struct call_set *set, struct call_states *states)
{
    for (uint32_t i = 0; i < set->distinct_count && states->dirty != NULL; i++) {
        dirty_slots_clear(&states->dirty[i]);
    }
}

static enum status scope_columns(const struct distinct_rows *rows, uint32_t count, uint32_t arg_count, struct batch *batch,
                                 struct error *err)
{
    int64_t expiries[CHUNK_ROWS], *records = vector_int64(&batch->columns[0]);
    for (uint32_t k = 0; k < count; k++) {
        records[k] = (int64_t)(rows->scope->base | (uint64_t)records[k]);
        expiries[k] = rows->scope->expiry;
    }
    return state_number_column(rows->set->circuit->budget, expiries, count, &batch->columns[arg_count + 2], err);
}

static enum status distinct_columns(void *owner, const uint32_t *slots, uint32_t count, struct batch *batch, struct error *err)
{
    const struct distinct_rows *rows = owner;
    const struct distinct_set *distinct = &rows->set->distinct[rows->index];
    uint32_t bytes = call_set_distinct_bytes(rows->set, distinct);
    for (uint32_t i = 0; i <= distinct->arg_count; i++) {
        TRY(key_table_gather(rows->table, i, slots, count, &batch->columns[i], err));
    }
    if (rows->scope != NULL) {
        TRY(scope_columns(rows, count, distinct->arg_count, batch, err));
    }
    const uint8_t *counts = key_table_values(rows->table, 0);
    struct text_builder text = {0};
    size_t ends[CHUNK_ROWS];
    for (uint32_t k = 0; k < count; k++) {
        text_append(&text, (const char *)counts + (size_t)slots[k] * bytes, bytes);
        ends[k] = text.length;
    }
    enum status status = state_bytes_column(rows->set->circuit->budget, &text, ends, count, &batch->columns[distinct->arg_count + 1], err);
    text_builder_close(&text);
    return status;
}

enum status call_states_columns(struct call_set *set, struct call_states *states, uint32_t index, const uint32_t *slots, uint32_t count,
                                struct batch *batch, struct error *err)
{
    struct distinct_rows rows = {set, NULL, index, NULL};
    TRY(call_set_distinct_table(set, states, index, &rows.table, err));
    return distinct_columns(&rows, slots, count, batch, err);
}

enum status call_states_save(struct call_set *set, struct call_states *states, struct snapshot_writer *writer, uint32_t first_table,
                             const struct distinct_scope *scope, struct error *err)
{
    uint64_t base = scope == NULL ? 0 : scope->base;
    for (uint32_t i = 0; i < set->distinct_count; i++) {
        struct distinct_rows rows = {set, NULL, i, scope};
        struct dirty_slots *dirty = states->dirty == NULL ? NULL : &states->dirty[i];
        uint32_t column_count = set->distinct[i].arg_count + 2 + (scope != NULL);
        TRY(call_set_distinct_table(set, states, i, &rows.table, err));
        if (scope == NULL && dirty != NULL) {
            states->cuts[i].rows = rows;
            TRY(slot_cut_save(&states->cuts[i].cut, writer, first_table + i, column_count, rows.table, dirty, distinct_columns,
                              &states->cuts[i].rows, NULL, err));
        } else {
            TRY(state_save_slots(writer, first_table + i, column_count, rows.table, base, dirty, distinct_columns, &rows, err));
        }
    }
    return STATUS_OK;
}

enum status call_states_restore(struct call_set *set, struct call_states *states, uint32_t index, const struct batch *batch,
                                const uint32_t *records, uint32_t *slots, struct error *err)
{
    const struct distinct_set *distinct = &set->distinct[index];
    uint32_t bytes = call_set_distinct_bytes(set, distinct), count = 0, places[CHUNK_ROWS];
    uint16_t selected[CHUNK_ROWS];
    struct key_table *table;
    TRY(call_set_distinct_table(set, states, index, &table, err));
    int64_t *numbers = vector_int64(&batch->columns[0]);
    for (uint32_t row = 0; row < batch->count; row++) {
        slots[row] = SLOT_NONE;
        if (records[row] != SLOT_NONE) {
            numbers[row] = call_states_record(states, records[row]); /* the rows were read for this call alone */
            selected[count++] = (uint16_t)row;
        }
    }
    struct batch keyed = *batch;
    keyed.column_count = distinct->arg_count + 1;
    keyed.selected = selected;
    keyed.selected_count = count;
    batch_hash(&keyed, set->all_keys, keyed.column_count, set->hashes);
    TRY(key_table_find_or_insert(table, &keyed, set->all_keys, set->hashes, places, err));
    uint8_t *counts = key_table_values(table, 0);
    for (uint32_t k = 0; k < count; k++) {
        struct text text = snapshot_text(batch, selected[k], distinct->arg_count + 1);
        if (text.length != bytes) {
            return error_set(err, ERROR_STATE_CORRUPT, "the counts of a DISTINCT value have a length that cannot be");
        }
        memcpy(counts + (size_t)places[k] * bytes, text.bytes, bytes);
        slots[selected[k]] = places[k];
    }
    return STATUS_OK;
}

enum status call_states_values(struct call_set *set, struct call_states *states, uint32_t index, struct key_table **keys, struct error *err)
{
    return call_set_distinct_table(set, states, index, keys, err);
}

const uint32_t *call_set_distinct_args(const struct call_set *set, uint32_t index, uint32_t *count)
{
    *count = set->distinct[index].arg_count;
    return set->distinct[index].args;
}
