#include "circuit/operators/call_set_internal.h"
#include "state/slot_array.h"

void call_states_number_records(const struct call_set *set, struct call_states *states, bool kept)
{
    states->numbers.kept = kept && set->distinct_count > 0;
}

void call_states_forget_numbers(struct call_states *states)
{
    struct record_numbers *numbers = &states->numbers;
    slot_array_free(states->heap.budget, numbers->generations, (size_t)numbers->capacity * sizeof *numbers->generations);
    *numbers = (struct record_numbers){0};
}

static enum status set_generation(struct call_states *states, uint32_t slot, uint32_t generation, struct error *err)
{
    struct record_numbers *numbers = &states->numbers;
    if (slot >= numbers->capacity) {
        uint32_t *grown, capacity = slot < CHUNK_ROWS ? CHUNK_ROWS : slot > UINT32_MAX / 2 ? UINT32_MAX : slot * 2;
        TRY_ALLOC(grown,
                  slot_array_grow(states->heap.budget, numbers->generations, (size_t)numbers->capacity * sizeof *grown,
                                  (size_t)capacity * sizeof *grown),
                  err);
        numbers->generations = grown;
        numbers->capacity = capacity;
    }
    numbers->generations[slot] = generation;
    return STATUS_OK;
}

enum status call_states_begin_record(struct call_states *states, uint32_t slot, struct error *err)
{
    struct record_numbers *numbers = &states->numbers;
    if (!numbers->kept) {
        return STATUS_OK;
    }
    numbers->last += numbers->last == UINT32_MAX ? 2 : 1;
    return set_generation(states, slot, numbers->last, err);
}

bool call_states_has_record(const struct call_states *states, uint32_t slot)
{
    const struct record_numbers *numbers = &states->numbers;
    return !numbers->kept || (slot < numbers->capacity && numbers->generations[slot] != 0);
}

void call_states_end_record(struct call_states *states, uint32_t slot)
{
    if (slot < states->numbers.capacity) {
        states->numbers.generations[slot] = 0;
    }
}

enum status call_states_restore_record(struct call_states *states, uint32_t slot, uint32_t generation, struct error *err)
{
    struct record_numbers *numbers = &states->numbers;
    if (!numbers->kept) {
        return STATUS_OK;
    }
    numbers->last = generation > numbers->last ? generation : numbers->last;
    return set_generation(states, slot, generation, err);
}

static enum status sweep_table(struct call_states *states, uint32_t index, uint32_t rows, struct error *err)
{
    struct key_table *table = states->distinct[index];
    uint32_t slots = key_table_slots(table);
    const int64_t *records = key_table_keys(table, 0);
    for (uint32_t i = 0; i < rows && i < slots; i++) {
        uint32_t slot = (states->numbers.swept + i) % slots;
        if (!key_table_has(table, slot) || records[slot] == call_states_record(states, (uint32_t)records[slot])) {
            continue;
        }
        if (states->dirty != NULL) {
            TRY(slot_cut_keep(&states->cuts[index].cut, &slot, 1, err));
        }
        key_table_remove(table, slot);
        if (states->dirty != NULL) {
            TRY(dirty_slots_mark(&states->dirty[index], slot, err));
        }
    }
    return STATUS_OK;
}

enum status call_states_sweep(const struct call_set *set, struct call_states *states, uint32_t rows, struct error *err)
{
    for (uint32_t i = 0; i < set->distinct_count && states->numbers.kept && states->distinct != NULL; i++) {
        if (states->distinct[i] != NULL) {
            TRY(sweep_table(states, i, rows, err));
        }
    }
    states->numbers.swept += rows;
    return STATUS_OK;
}

enum status call_states_generation_column(const struct call_states *states, const uint32_t *slots, uint32_t count, struct vector *vector,
                                          struct error *err)
{
    const struct record_numbers *numbers = &states->numbers;
    if (!numbers->kept) {
        *vector = (struct vector){.type = &type_bigint, .physical = PHYSICAL_NULL, .count = count};
        return STATUS_OK;
    }
    TRY(vector_create(states->heap.budget, &type_bigint, count, vector, err));
    for (uint32_t k = 0; k < count; k++) {
        vector_int64(vector)[k] = slots[k] < numbers->capacity ? numbers->generations[slots[k]] : 0;
    }
    return STATUS_OK;
}

uint32_t call_states_generation(const struct vector *column, uint32_t row)
{
    return vector_is_valid(column, row) ? (uint32_t)vector_int64(column)[row] : 0;
}
