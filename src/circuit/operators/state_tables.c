#include "circuit/operators/state_tables.h"

#include <stdlib.h>
#include <string.h>

#include "state/slot_array.h"

enum status state_schema_make(struct arena *arena, const struct schema *input, const uint32_t *columns, uint32_t count,
                              const struct column *extra, uint32_t extra_count, const struct schema **schema, struct error *err)
{
    struct schema *made;
    struct column *all;
    TRY_ALLOC(made, arena_alloc(arena, sizeof *made), err);
    TRY_ALLOC(all, arena_alloc(arena, (count + extra_count + 1) * sizeof *all), err);
    for (uint32_t i = 0; i < count; i++) {
        all[i] = input->columns[columns == NULL ? i : columns[i]];
        TRY_ALLOC(all[i].type, type_with_nullable(arena, all[i].type, true), err);
    }
    for (uint32_t i = 0; i < extra_count; i++) {
        all[count + i] = extra[i];
    }
    *made = (struct schema){count + extra_count, all};
    *schema = made;
    return STATUS_OK;
}

enum status state_table_place(struct arena *arena, const struct input_spec *input, const uint32_t *columns, uint32_t count,
                              struct snapshot_table *table, struct error *err)
{
    uint32_t *places;
    table->place = input->placed;
    table->place_count = input->placed_by_count;
    TRY_ALLOC(places, arena_alloc(arena, (input->placed_by_count + 1) * sizeof *places), err);
    for (uint32_t i = 0; i < input->placed_by_count; i++) {
        uint32_t at = 0;
        while (at < count && (columns == NULL ? at : columns[at]) != input->placed_by[i]) {
            at++;
        }
        if (at == count) {
            return error_set(err, ERROR_INTERNAL, "rows are placed by column %u, which is not kept in state", input->placed_by[i]);
        }
        places[i] = at;
    }
    table->place_columns = places;
    return STATUS_OK;
}

enum status state_number_column(struct budget *budget, const int64_t *values, uint32_t count, struct vector *vector, struct error *err)
{
    TRY(vector_create(budget, &type_bigint_not_null, count, vector, err));
    memcpy(vector->values, values, count * sizeof *values);
    return STATUS_OK;
}

enum status state_written_column(const struct time_to_live *ttl, struct budget *budget, const uint32_t *entries, uint32_t count,
                                 struct vector *vector, struct error *err)
{
    if (!ttl_is_set(ttl)) {
        *vector = (struct vector){.type = &type_bigint, .physical = PHYSICAL_NULL, .count = count};
        return STATUS_OK;
    }
    TRY(vector_create(budget, &type_bigint, count, vector, err));
    for (uint32_t k = 0; k < count; k++) {
        vector_int64(vector)[k] = ttl_written_us(ttl, entries[k]);
    }
    return STATUS_OK;
}

const struct type state_bytes_type = {.kind = TYPE_VARBINARY, .precision = LENGTH_MAX};

enum status state_bytes_column(struct budget *budget, const struct text_builder *bytes, const size_t *ends, uint32_t count,
                               struct vector *vector, struct error *err)
{
    if (bytes->failed) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room for the state of an operator");
    }
    TRY(vector_create(budget, &state_bytes_type, count, vector, err));
    struct string_heap heap = {.budget = budget, .target = vector};
    size_t total = count == 0 ? 0 : ends[count - 1];
    char *copy = "";
    if (total > 0) {
        copy = string_heap_alloc(&heap, total, err);
        if (copy == NULL) {
            return err->status;
        }
        memcpy(copy, bytes->bytes, total);
    }
    for (uint32_t k = 0; k < count; k++) {
        size_t begin = k == 0 ? 0 : ends[k - 1];
        vector_strings(vector)[k] = string_view_make(copy + begin, ends[k] - begin);
    }
    return STATUS_OK;
}

/* ---- slots ---- */

struct slot_chunk {
    struct snapshot_writer *writer;
    uint32_t table, column_count;
    uint64_t base;
    state_columns *columns;
    void *owner;
    uint32_t count, removed_count;
    uint32_t slots[CHUNK_ROWS];
    uint64_t ids[CHUNK_ROWS], removed[CHUNK_ROWS];
};

static enum status chunk_flush(struct slot_chunk *chunk, struct error *err)
{
    if (chunk->count == 0) {
        return STATUS_OK;
    }
    struct batch batch = {0};
    TRY(batch_init(&batch, chunk->column_count, err));
    batch.count = chunk->count;
    enum status status = chunk->columns(chunk->owner, chunk->slots, chunk->count, &batch, err);
    if (status == STATUS_OK) {
        status = snapshot_keep(chunk->writer, chunk->table, chunk->ids, 0, &batch, err);
    }
    batch_release(&batch);
    chunk->count = 0;
    return status;
}

static enum status chunk_add(struct slot_chunk *chunk, uint32_t slot, struct error *err)
{
    chunk->slots[chunk->count] = slot;
    chunk->ids[chunk->count++] = chunk->base | slot;
    return chunk->count == CHUNK_ROWS ? chunk_flush(chunk, err) : STATUS_OK;
}

static bool has_slot(const struct key_table *keys, uint32_t slot)
{
    return keys == NULL || key_table_has(keys, slot);
}

static enum status save_all(struct slot_chunk *chunk, const struct key_table *keys, struct error *err)
{
    uint32_t count = keys == NULL ? 1 : key_table_slots(keys);
    for (uint32_t slot = 0; slot < count; slot++) {
        if (has_slot(keys, slot)) {
            TRY(chunk_add(chunk, slot, err));
        }
    }
    return chunk_flush(chunk, err);
}

static enum status save_changes(struct slot_chunk *chunk, const struct key_table *keys, const struct dirty_slots *dirty, struct error *err)
{
    for (uint32_t i = 0; i < dirty->count; i++) {
        uint32_t slot = dirty->slots[i];
        if (has_slot(keys, slot)) {
            TRY(chunk_add(chunk, slot, err));
            continue;
        }
        chunk->removed[chunk->removed_count++] = chunk->base | slot;
        if (chunk->removed_count == CHUNK_ROWS) {
            TRY(snapshot_remove(chunk->writer, chunk->table, chunk->removed, chunk->removed_count, err));
            chunk->removed_count = 0;
        }
    }
    TRY(snapshot_remove(chunk->writer, chunk->table, chunk->removed, chunk->removed_count, err));
    return chunk_flush(chunk, err);
}

enum status state_save_slots(struct snapshot_writer *writer, uint32_t table, uint32_t column_count, const struct key_table *keys,
                             uint64_t base, struct dirty_slots *dirty, state_columns *columns, void *owner, struct error *err)
{
    struct slot_chunk *chunk = malloc(sizeof *chunk);
    if (chunk == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "the system has no memory for a checkpoint");
    }
    *chunk = (struct slot_chunk){
        .writer = writer, .table = table, .column_count = column_count, .base = base, .columns = columns, .owner = owner};
    enum status status = STATUS_OK;
    snapshot_note_live(writer, keys == NULL ? 1 : key_table_count(keys));
    if (dirty == NULL && !snapshot_is_full(writer)) {
        status = snapshot_replace(writer, table, err);
    }
    if (status == STATUS_OK) {
        status = dirty == NULL || snapshot_is_full(writer) ? save_all(chunk, keys, err) : save_changes(chunk, keys, dirty, err);
    }
    if (dirty != NULL) {
        dirty_slots_clear(dirty);
    }
    free(chunk);
    return status;
}

/* ---- ids of old and slots of now ---- */

enum status state_map_set(struct state_map *map, uint32_t chain, uint64_t id, uint32_t slot, struct error *err)
{
    if (chain >= map->chain_count) {
        struct state_chain *grown;
        TRY_ALLOC(grown, slot_array_grow(map->budget, map->chains, map->chain_count * sizeof *grown, (chain + 1) * sizeof *grown), err);
        map->chains = grown;
        map->chain_count = chain + 1;
    }
    struct state_chain *slots = &map->chains[chain];
    if (id >= UINT32_MAX) {
        return error_set(err, ERROR_STATE_CORRUPT, "a row of state has an id that cannot be");
    }
    if (id >= slots->count) {
        uint32_t count = slots->count == 0 ? 1024 : slots->count;
        while (id >= count) {
            count = count > UINT32_MAX / 2 ? UINT32_MAX : count * 2;
        }
        uint32_t *grown;
        TRY_ALLOC(grown, slot_array_grow(map->budget, slots->slots, slots->count * sizeof *grown, (size_t)count * sizeof *grown), err);
        slots->slots = grown;
        slots->count = count;
    }
    slots->slots[id] = slot + 1;
    return STATUS_OK;
}

uint32_t state_map_get(const struct state_map *map, uint32_t chain, uint64_t id)
{
    if (chain >= map->chain_count || id >= map->chains[chain].count) {
        return SLOT_NONE;
    }
    return map->chains[chain].slots[id] - 1;
}

void state_map_close(struct state_map *map)
{
    for (uint32_t i = 0; i < map->chain_count; i++) {
        if (map->chains[i].slots != NULL) {
            slot_array_free(map->budget, map->chains[i].slots, map->chains[i].count * sizeof(uint32_t));
        }
    }
    if (map->chains != NULL) {
        slot_array_free(map->budget, map->chains, map->chain_count * sizeof *map->chains);
    }
    *map = (struct state_map){.budget = map->budget};
}
