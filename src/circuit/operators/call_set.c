#include "circuit/operators/call_set_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "state/cold_table.h"

static int32_t add_filter(struct call_set *set, int32_t column)
{
    if (column < 0) {
        return ALL_ROWS;
    }
    for (uint32_t i = 0; i < set->filter_count; i++) {
        if (set->filters[i].column == (uint32_t)column) {
            return (int32_t)i;
        }
    }
    set->filters[set->filter_count].column = (uint32_t)column;
    return (int32_t)set->filter_count++;
}

static bool same_args(const struct distinct_set *distinct, const struct aggregate_spec_call *call)
{
    return distinct->arg_count == call->arg_count && memcmp(distinct->args, call->args, call->arg_count * sizeof *call->args) == 0;
}

static bool has_filter(const struct distinct_set *distinct, int32_t filter)
{
    for (uint32_t i = 0; i < distinct->filter_count; i++) {
        if (distinct->filters[i] == filter) {
            return true;
        }
    }
    return false;
}

/* The DISTINCT set of a call: one with the same arguments, unless it has no place for another filter. */
static enum status add_distinct(struct call_set *set, const struct call_set_spec *spec, struct bound_call *call, struct error *err)
{
    for (uint32_t i = 0; i < set->distinct_count; i++) {
        struct distinct_set *distinct = &set->distinct[i];
        if (!same_args(distinct, call->spec) || (!has_filter(distinct, call->filter) && distinct->filter_count == FILTER_BITS)) {
            continue;
        }
        if (!has_filter(distinct, call->filter)) {
            distinct->filters[distinct->filter_count++] = call->filter;
        }
        call->distinct = (int32_t)i;
        return STATUS_OK;
    }
    struct distinct_set *distinct = &set->distinct[set->distinct_count];
    distinct->args = call->spec->args;
    distinct->arg_count = call->spec->arg_count;
    distinct->filters[distinct->filter_count++] = call->filter;
    TRY_ALLOC(distinct->key_types, arena_alloc(set->circuit->arena, (call->spec->arg_count + 1) * sizeof(struct type *)), err);
    distinct->key_types[0] = &type_bigint_not_null;
    for (uint32_t i = 0; i < call->spec->arg_count; i++) {
        distinct->key_types[i + 1] = spec->input->schema->columns[call->spec->args[i]].type;
    }
    call->distinct = (int32_t)set->distinct_count++;
    return STATUS_OK;
}

static enum status bind_call(struct call_set *set, const struct call_set_spec *spec, struct bound_call *call, struct error *err)
{
    struct arena *arena = set->circuit->arena;
    const struct aggregate_spec_call *source = call->spec;
    const struct expression **args;
    TRY_ALLOC(args, arena_alloc(arena, (source->arg_count + 1) * sizeof(struct expression *)), err);
    TRY_ALLOC(call->args, arena_alloc(arena, (source->arg_count + 1) * sizeof(struct vector *)), err);
    for (uint32_t i = 0; i < source->arg_count; i++) {
        TRY_ALLOC(args[i], expression_column(arena, source->args[i], spec->input->schema->columns[source->args[i]].type), err);
    }
    struct aggregate_binding binding = {
        .arena = arena,
        .evaluation = &set->circuit->evaluation,
        .function = source->function,
        .args = args,
        .arg_count = source->arg_count,
        .retracts = spec->input->changes,
        .ordered = spec->input->ordered,
        .distinct = source->distinct,
        .ignore_nulls = source->ignore_nulls,
        .merges = spec->merges,
    };
    TRY(source->function->bind(&binding, err));
    call->accumulator = binding.accumulator;
    call->distinct = -1;
    call->filter = add_filter(set, source->filter);
    set->mergeable = set->mergeable && call->accumulator.mergeable && !source->distinct;
    set->invertible = set->invertible && call->accumulator.invertible;
    call->offset = set->bytes;
    set->bytes += (call->accumulator.state_bytes + 7) / 8 * 8;
    return source->distinct ? add_distinct(set, spec, call, err) : STATUS_OK;
}

static enum status make_scratch(struct call_set *set, struct error *err)
{
    struct arena *arena = set->circuit->arena;
    for (uint32_t i = 0; i < set->filter_count; i++) {
        TRY_ALLOC(set->filters[i].passed, arena_alloc(arena, sizeof(struct passed_rows)), err);
    }
    uint32_t most = 1;
    for (uint32_t i = 0; i < set->distinct_count; i++) {
        most = set->distinct[i].arg_count + 1 > most ? set->distinct[i].arg_count + 1 : most;
    }
    TRY_ALLOC(set->all_keys, arena_alloc(arena, most * sizeof(uint32_t)), err);
    for (uint32_t i = 0; i < most; i++) {
        set->all_keys[i] = i;
    }
    if (set->distinct_count > 0) {
        TRY_ALLOC(set->first, arena_alloc(arena, sizeof *set->first), err);
        TRY_ALLOC(set->first_weights, arena_alloc(arena, CHUNK_ROWS * sizeof(int64_t)), err);
        TRY_ALLOC(set->slot_of_row, arena_alloc(arena, CHUNK_ROWS * sizeof(int64_t)), err);
        TRY_ALLOC(set->place_of_row, arena_alloc(arena, CHUNK_ROWS * sizeof(uint32_t)), err);
        TRY_ALLOC(set->hashes, arena_alloc(arena, CHUNK_ROWS * sizeof(uint64_t)), err);
    }
    return STATUS_OK;
}

enum status call_set_create(struct circuit *circuit, const struct call_set_spec *spec, struct call_set **set, struct error *err)
{
    struct arena *arena = circuit->arena;
    struct call_set *created;
    TRY_ALLOC(created, arena_alloc(arena, sizeof *created), err);
    created->circuit = circuit;
    created->input = spec->input;
    created->merges = spec->merges;
    created->changes = spec->input->changes;
    created->mergeable = created->invertible = true;
    created->call_count = spec->call_count;
    TRY_ALLOC(created->calls, arena_alloc(arena, (spec->call_count + 1) * sizeof *created->calls), err);
    TRY_ALLOC(created->filters, arena_alloc(arena, (spec->call_count + 1) * sizeof *created->filters), err);
    TRY_ALLOC(created->distinct, arena_alloc(arena, (spec->call_count + 1) * sizeof *created->distinct), err);
    for (uint32_t i = 0; i < spec->call_count; i++) {
        created->calls[i].spec = &spec->calls[i];
        TRY(bind_call(created, spec, &created->calls[i], err));
    }
    TRY(make_scratch(created, err));
    *set = created;
    return STATUS_OK;
}

uint32_t call_set_bytes(const struct call_set *set)
{
    return set->bytes;
}

bool call_set_mergeable(const struct call_set *set)
{
    return set->mergeable;
}

bool call_set_invertible(const struct call_set *set)
{
    return set->invertible && set->mergeable;
}

void call_states_open(const struct call_set *set, struct budget *budget, struct call_states *states)
{
    (void)set;
    *states = (struct call_states){0};
    slab_open(&states->heap, budget, SLAB_GRAIN);
}

void call_states_close(const struct call_set *set, struct call_states *states)
{
    for (uint32_t i = 0; states->distinct != NULL && i < set->distinct_count; i++) {
        key_table_destroy(states->distinct[i]);
    }
    for (uint32_t i = 0; states->dirty != NULL && i < set->distinct_count; i++) {
        dirty_slots_close(&states->dirty[i]);
        slot_cut_close(&states->cuts[i].cut);
    }
    free(states->distinct);
    free(states->dirty);
    free(states->cuts);
    states->distinct = NULL;
    states->dirty = NULL;
    states->cuts = NULL;
    call_states_forget_numbers(states);
    slab_close(&states->heap);
}

size_t call_states_bytes(const struct call_set *set, const struct call_states *states)
{
    size_t bytes = states->heap.bytes;
    for (uint32_t i = 0; states->distinct != NULL && i < set->distinct_count; i++) {
        bytes += states->distinct[i] == NULL ? 0 : key_table_bytes(states->distinct[i]);
    }
    return bytes;
}

static bool filter_is_true(const struct vector *filter, uint32_t row)
{
    return vector_is_valid(filter, row) && vector_bool(filter)[row] != 0;
}

static void run_filters(struct call_set *set, const struct batch *batch, const uint32_t *slots)
{
    struct selection rows = batch_selection(batch);
    for (uint32_t i = 0; i < set->filter_count; i++) {
        const struct vector *filter = &batch->columns[set->filters[i].column];
        struct passed_rows *passed = set->filters[i].passed;
        uint32_t count = 0;
        for (uint32_t k = 0; k < rows.count; k++) {
            uint32_t row = selection_row(&rows, k);
            passed->rows[count] = (uint16_t)row;
            passed->slots[count] = slots[k];
            count += filter_is_true(filter, row);
        }
        passed->count = count;
    }
}

/* What one call is updated with. */
struct update_rows {
    struct selection rows;
    const uint32_t *slots;
    const int64_t *weights;
};

static struct update_rows filtered_rows(const struct call_set *set, int32_t filter, const struct batch *batch, const uint32_t *slots)
{
    if (filter == ALL_ROWS) {
        return (struct update_rows){batch_selection(batch), slots, batch->weights};
    }
    const struct passed_rows *passed = set->filters[filter].passed;
    return (struct update_rows){{passed->rows, passed->count}, passed->slots, batch->weights};
}

static enum status update_call(struct bound_call *call, struct call_states *states, const struct batch *batch, struct update_rows rows,
                               uint8_t *records, uint32_t stride, struct error *err)
{
    if (rows.rows.count == 0) {
        return STATUS_OK;
    }
    for (uint32_t i = 0; i < call->spec->arg_count; i++) {
        call->args[i] = &batch->columns[call->spec->args[i]];
    }
    const struct accumulate_call update = {
        .accumulator = &call->accumulator,
        .states = records + call->offset,
        .stride = stride,
        .slots = rows.slots,
        .rows = rows.rows,
        .args = call->args,
        .weights = rows.weights,
        .batch = batch,
        .heap = &states->heap,
    };
    return call->accumulator.update(&update, err);
}

uint32_t call_set_distinct_bytes(const struct call_set *set, const struct distinct_set *distinct)
{
    return set->changes ? distinct->filter_count * (uint32_t)sizeof(int64_t) : (uint32_t)sizeof(uint64_t);
}

enum status call_set_distinct_table(struct call_set *set, struct call_states *states, uint32_t index, struct key_table **table,
                                    struct error *err)
{
    if (states->distinct == NULL) {
        TRY_ALLOC(states->distinct, calloc(set->distinct_count, sizeof(struct key_table *)), err);
    }
    if (states->distinct[index] == NULL) {
        const struct distinct_set *distinct = &set->distinct[index];
        uint32_t bytes = call_set_distinct_bytes(set, distinct);
        TRY(key_table_create(states->heap.budget, distinct->key_types, distinct->arg_count + 1, &bytes, 1, &states->distinct[index], err));
    }
    *table = states->distinct[index];
    return STATUS_OK;
}

/* Rows that pass at least one filter of the set, as the selection `selected`. */
static uint32_t distinct_selection(struct call_set *set, const struct distinct_set *distinct, const struct batch *batch, uint16_t *selected)
{
    struct selection rows = batch_selection(batch);
    if (has_filter(distinct, ALL_ROWS)) {
        for (uint32_t k = 0; k < rows.count; k++) {
            selected[k] = (uint16_t)selection_row(&rows, k);
        }
        return rows.count;
    }
    uint32_t count = 0;
    for (uint32_t k = 0; k < rows.count; k++) {
        uint32_t row = selection_row(&rows, k);
        bool any = false;
        for (uint32_t f = 0; f < distinct->filter_count && !any; f++) {
            any = filter_is_true(&batch->columns[set->filters[distinct->filters[f]].column], row);
        }
        selected[count] = (uint16_t)row;
        count += any;
    }
    return count;
}

/* Values that are in the database come back into the table. */
static enum status distinct_fetch(struct call_set *set, const struct call_cold *cold, struct key_table *table, const struct batch *batch,
                                  const struct batch *keyed, struct error *err)
{
    uint32_t places[CHUNK_ROWS];
    bool added = false;
    if (cold->table->out == 0) {
        cold->table->counters.hits += keyed->selected_count;
        return STATUS_OK;
    }
    key_table_find(table, keyed, set->all_keys, set->hashes, places);
    struct batch rows = *batch;
    rows.selected = keyed->selected;
    rows.selected_count = keyed->selected_count;
    TRY(cold_table_fetch(cold->table, &rows, cold->columns, places, &added, err));
    if (added) {
        batch_hash(keyed, set->all_keys, keyed->column_count, set->hashes);
    }
    return STATUS_OK;
}

/* The values will not be what the last checkpoint has, or the database. */
static enum status distinct_follow(struct call_states *states, uint32_t index, const uint32_t *places, uint32_t count, struct error *err)
{
    if (states->cold != NULL) {
        TRY(cold_table_changed(states->cold[index].table, places, count, 0, err));
    }
    if (states->dirty == NULL) {
        return STATUS_OK;
    }
    TRY(slot_cut_keep(&states->cuts[index].cut, places, count, err));
    for (uint32_t k = 0; k < count; k++) {
        TRY(dirty_slots_mark(&states->dirty[index], places[k], err));
    }
    return STATUS_OK;
}

/* Finds the (slot, arguments) of the selected rows; place_of_row gets each one's slot in the table. */
static enum status distinct_find(struct call_set *set, struct call_states *states, uint32_t index, struct key_table *table,
                                 const struct batch *batch, const uint16_t *selected, uint32_t count, struct error *err)
{
    const struct distinct_set *distinct = &set->distinct[index];
    struct vector columns[16];
    struct vector *all = distinct->arg_count < ARRAY_LENGTH(columns) ? columns : malloc((distinct->arg_count + 1) * sizeof *all);
    if (all == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "the system has no memory for %u arguments of DISTINCT", distinct->arg_count);
    }
    all[0] = (struct vector){.type = &type_bigint_not_null, .physical = PHYSICAL_INT64, .count = batch->count, .values = set->slot_of_row};
    for (uint32_t i = 0; i < distinct->arg_count; i++) {
        all[i + 1] = batch->columns[distinct->args[i]];
    }
    struct batch keyed = {
        .count = batch->count, .column_count = distinct->arg_count + 1, .columns = all, .selected = selected, .selected_count = count};
    uint32_t places[CHUNK_ROWS];
    batch_hash(&keyed, set->all_keys, keyed.column_count, set->hashes);
    enum status status = states->cold == NULL ? STATUS_OK : distinct_fetch(set, &states->cold[index], table, batch, &keyed, err);
    if (status == STATUS_OK) {
        status = key_table_find_or_insert(table, &keyed, set->all_keys, set->hashes, places, err);
    }
    for (uint32_t k = 0; status == STATUS_OK && k < count; k++) {
        set->place_of_row[selected[k]] = places[k];
    }
    if (status == STATUS_OK && (states->dirty != NULL || states->cold != NULL)) {
        status = distinct_follow(states, index, places, count, err);
    }
    if (all != columns) {
        free(all);
    }
    return status;
}

/* Rows of the filter at place f that are the first of their value (weight +1) or take back the last one (-1). */
static void distinct_pass(struct call_set *set, struct key_table *table, struct update_rows rows, uint32_t filter_count, uint32_t f)
{
    struct passed_rows *first = set->first;
    uint32_t count = 0;
    if (!set->changes) {
        uint64_t *bits = key_table_values(table, 0);
        for (uint32_t k = 0; k < rows.rows.count; k++) {
            uint32_t row = selection_row(&rows.rows, k);
            uint64_t *seen = &bits[set->place_of_row[row]];
            first->rows[count] = (uint16_t)row;
            first->slots[count] = rows.slots[k];
            count += ((*seen >> f) & 1) == 0;
            *seen |= (uint64_t)1 << f;
        }
        first->count = count;
        return;
    }
    int64_t *counts = key_table_values(table, 0);
    for (uint32_t k = 0; k < rows.rows.count; k++) {
        uint32_t row = selection_row(&rows.rows, k);
        int64_t *present = &counts[(size_t)set->place_of_row[row] * filter_count + f];
        int64_t before = *present;
        *present += rows.weights == NULL ? 1 : rows.weights[row];
        first->rows[count] = (uint16_t)row;
        first->slots[count] = rows.slots[k];
        set->first_weights[row] = (*present > 0) - (before > 0);
        count += set->first_weights[row] != 0;
    }
    first->count = count;
}

static bool is_zero(const int64_t *counts, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (counts[i] != 0) {
            return false;
        }
    }
    return true;
}

/* Values whose counts are all zero are gone. */
static enum status distinct_forget(struct call_set *set, struct cold_table *cold, struct key_table *table, const struct batch *batch,
                                   const uint16_t *selected, uint32_t count, uint32_t filter_count, struct error *err)
{
    if (!set->changes || batch->weights == NULL) {
        return STATUS_OK;
    }
    uint32_t gone[CHUNK_ROWS], gone_count = 0;
    const int64_t *counts = key_table_values(table, 0);
    for (uint32_t k = 0; k < count; k++) {
        uint32_t place = set->place_of_row[selected[k]];
        gone[gone_count] = place;
        gone_count += is_zero(&counts[(size_t)place * filter_count], filter_count);
    }
    if (cold != NULL) {
        TRY(cold_table_forget(cold, gone, gone_count, err));
    }
    for (uint32_t k = 0; k < gone_count; k++) {
        if (key_table_has(table, gone[k])) { /* several rows may have had the value */
            key_table_remove(table, gone[k]);
        }
    }
    return STATUS_OK;
}

static enum status update_distinct(struct call_set *set, struct call_states *states, uint32_t index, const struct batch *batch,
                                   const uint32_t *slots, uint8_t *records, uint32_t stride, struct error *err)
{
    struct distinct_set *distinct = &set->distinct[index];
    struct selection rows = batch_selection(batch);
    uint16_t selected[CHUNK_ROWS];
    struct key_table *table = NULL;
    TRY(call_set_distinct_table(set, states, index, &table, err));
    for (uint32_t k = 0; k < rows.count; k++) {
        set->slot_of_row[selection_row(&rows, k)] = slots[k];
    }
    for (uint32_t k = 0; k < rows.count && states->numbers.kept; k++) {
        set->slot_of_row[selection_row(&rows, k)] = call_states_record(states, slots[k]);
    }
    uint32_t count = distinct_selection(set, distinct, batch, selected);
    if (count == 0) {
        return STATUS_OK;
    }
    TRY(distinct_find(set, states, index, table, batch, selected, count, err));
    for (uint32_t f = 0; f < distinct->filter_count; f++) {
        distinct_pass(set, table, filtered_rows(set, distinct->filters[f], batch, slots), distinct->filter_count, f);
        struct update_rows first = {{set->first->rows, set->first->count}, set->first->slots, set->changes ? set->first_weights : NULL};
        for (uint32_t i = 0; i < set->call_count; i++) {
            struct bound_call *call = &set->calls[i];
            if (call->distinct == (int32_t)index && call->filter == distinct->filters[f]) {
                TRY(update_call(call, states, batch, first, records, stride, err));
            }
        }
    }
    struct cold_table *cold = states->cold == NULL ? NULL : states->cold[index].table;
    return distinct_forget(set, cold, table, batch, selected, count, distinct->filter_count, err);
}

enum status call_set_update(struct call_set *set, struct call_states *states, const struct batch *batch, const uint32_t *slots,
                            uint8_t *records, uint32_t stride, struct error *err)
{
    run_filters(set, batch, slots);
    for (uint32_t i = 0; i < set->call_count; i++) {
        struct bound_call *call = &set->calls[i];
        if (call->distinct < 0) {
            TRY(update_call(call, states, batch, filtered_rows(set, call->filter, batch, slots), records, stride, err));
        }
    }
    for (uint32_t i = 0; i < set->distinct_count; i++) {
        TRY(update_distinct(set, states, i, batch, slots, records, stride, err));
    }
    return STATUS_OK;
}

static enum status call_value(const struct call_set *set, const struct bound_call *call, const uint8_t *records, uint32_t stride,
                              const uint32_t *slots, uint32_t count, struct vector *vector,
                              void (*fail)(void *owner, uint32_t k, enum error_code code, const char *text), void *owner, struct error *err)
{
    struct budget *budget = set->circuit->budget;
    struct string_heap strings = {.budget = budget, .target = vector};
    TRY(vector_create(budget, call->accumulator.result, count, vector, err));
    if (call->accumulator.result->nullable) {
        TRY(vector_need_validity(budget, vector, count, err));
    }
    if (vector->physical == PHYSICAL_STRING) {
        memset(vector->values, 0, count * sizeof(struct string_view)); /* a heap that is full looks at all views */
    }
    const struct result_call result = {
        .accumulator = &call->accumulator,
        .states = records + call->offset,
        .stride = stride,
        .slots = slots,
        .count = count,
        .result = vector,
        .strings = &strings,
        .evaluation = &set->circuit->evaluation,
        .fail = fail,
        .owner = owner,
    };
    enum status status = call->accumulator.value(&result, err);
    vector->type = call->spec->type != NULL ? call->spec->type : vector->type;
    return status;
}

enum status call_set_values(struct call_set *set, const uint8_t *records, uint32_t stride, const uint32_t *slots, uint32_t count,
                            struct vector *vectors, void (*fail)(void *owner, uint32_t k, enum error_code code, const char *text),
                            void *owner, struct error *err)
{
    for (uint32_t k = 0; k < count; k++) {
        const uint8_t *record = records + (size_t)slots[k] * stride;
        __builtin_prefetch(record);
        __builtin_prefetch(record + stride - 1);
    }
    for (uint32_t i = 0; i < set->call_count; i++) {
        enum status status = call_value(set, &set->calls[i], records, stride, slots, count, &vectors[i], fail, owner, err);
        if (status != STATUS_OK) {
            for (uint32_t undo = 0; undo <= i; undo++) {
                vector_release(&vectors[undo]);
            }
            return status;
        }
    }
    return STATUS_OK;
}

enum status call_set_merge(struct call_set *set, struct call_states *states, void *into, const void *from, int64_t weight,
                           struct error *err)
{
    for (uint32_t i = 0; i < set->call_count; i++) {
        const struct bound_call *call = &set->calls[i];
        TRY(call->accumulator.merge(&call->accumulator, (uint8_t *)into + call->offset, (const uint8_t *)from + call->offset, weight,
                                    &states->heap, err));
    }
    return STATUS_OK;
}

void call_set_clear(struct call_set *set, struct call_states *states, void *record)
{
    for (uint32_t i = 0; i < set->call_count; i++) {
        const struct accumulator *accumulator = &set->calls[i].accumulator;
        if (accumulator->clear != NULL) {
            accumulator->clear(accumulator, (uint8_t *)record + set->calls[i].offset, &states->heap);
        }
    }
}
