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
    struct slot_records records; /* fill NULL: none */
    uint32_t count, removed_count;
    uint32_t slots[CHUNK_ROWS];
    uint64_t ids[CHUNK_ROWS], removed[CHUNK_ROWS];
};

static void copy_records(const struct slot_records *records, const uint32_t *slots, uint32_t count, uint8_t *to)
{
    enum { AHEAD = 24, LINE = 64 };
    const uint8_t *from = key_table_values((struct key_table *)(uintptr_t)records->table, 0);
    size_t bytes = records->record_bytes;
    for (uint32_t k = 0; k < count; k++, to += bytes) {
        if (k + AHEAD < count) {
            const uint8_t *ahead = from + slots[k + AHEAD] * bytes;
            for (size_t at = 0; at < bytes + LINE - 1; at += LINE) {
                __builtin_prefetch(ahead + at);
            }
        }
        const uint8_t *record = from + slots[k] * bytes;
        for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) { /* a multiple of 8 */
            memcpy(to + at, record + at, sizeof(uint64_t));
        }
    }
}

static enum status chunk_keep(struct slot_chunk *chunk, struct batch *batch, struct error *err)
{
    const struct slot_records *records = &chunk->records;
    if (records->fill == NULL) {
        return snapshot_keep(chunk->writer, chunk->table, chunk->ids, 0, batch, err);
    }
    void *to;
    const struct snapshot_raw raw = {records->fill, chunk->owner, (size_t)chunk->count * records->record_bytes};
    TRY(snapshot_keep_raw(chunk->writer, chunk->table, chunk->ids, batch, &raw, &to, err));
    copy_records(records, chunk->slots, chunk->count, to);
    return STATUS_OK;
}

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
        status = chunk_keep(chunk, &batch, err);
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

static struct slot_chunk *new_chunk(const struct slot_chunk *what, struct error *err)
{
    struct slot_chunk *chunk = malloc(sizeof *chunk);
    if (chunk == NULL) {
        (void)!error_set(err, ERROR_BUDGET_SPENT, "the system has no memory for a checkpoint");
        return NULL;
    }
    *chunk = *what;
    return chunk;
}

enum status state_save_slots(struct snapshot_writer *writer, uint32_t table, uint32_t column_count, const struct key_table *keys,
                             uint64_t base, struct dirty_slots *dirty, state_columns *columns, void *owner, struct error *err)
{
    struct slot_chunk *chunk = new_chunk(
        &(struct slot_chunk){
            .writer = writer, .table = table, .column_count = column_count, .base = base, .columns = columns, .owner = owner},
        err);
    if (chunk == NULL) {
        return err->status;
    }
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

/* ---- slots, later ---- */

static void cut_end(struct slot_cut *cut)
{
    free(cut->chunk);
    cut->chunk = NULL;
    cut->writer = NULL;
    cut->pending.count = 0;
}

static void cut_drop(struct snapshot_deferred *deferred)
{
    struct slot_cut *cut = (struct slot_cut *)deferred;
    if (cut->all) {
        memset(cut->pending.bits, 0, cut->pending.word_count * sizeof *cut->pending.bits);
    } else {
        dirty_slots_clear(&cut->pending);
    }
    cut_end(cut);
}

static enum status cut_flush(struct slot_cut *cut, struct error *err)
{
    snapshot_resume(cut->writer, cut->first_table);
    return chunk_flush(cut->chunk, err);
}

static void cut_add(struct slot_cut *cut, uint32_t slot)
{
    struct slot_chunk *chunk = cut->chunk;
    dirty_slots_unmark(&cut->pending, slot);
    chunk->slots[chunk->count] = slot;
    chunk->ids[chunk->count++] = slot;
}

enum status slot_cut_keep_now(struct slot_cut *cut, const uint32_t *slots, uint32_t count, struct error *err)
{
    for (uint32_t k = 0; k < count; k++) {
        if (dirty_slots_has(&cut->pending, slots[k])) {
            cut_add(cut, slots[k]);
        }
    }
    return cut_flush(cut, err);
}

/* False: there are no more. */
static bool add_by_bits(struct slot_cut *cut, uint32_t part)
{
    const struct dirty_slots *pending = &cut->pending;
    for (; cut->next < pending->word_count; cut->next++) {
        for (uint64_t word = pending->bits[cut->next]; word != 0; word &= word - 1) {
            if (cut->chunk->count == part) {
                return true;
            }
            cut_add(cut, cut->next * 64 + (uint32_t)__builtin_ctzll(word));
        }
    }
    return false;
}

static bool add_listed(struct slot_cut *cut, uint32_t part)
{
    const struct dirty_slots *pending = &cut->pending;
    for (; cut->next < pending->count && cut->chunk->count < part; cut->next++) {
        if (dirty_slots_has(pending, pending->slots[cut->next])) {
            cut_add(cut, pending->slots[cut->next]);
        }
    }
    return cut->next < pending->count;
}

static enum status cut_take(struct snapshot_deferred *deferred, bool *more, struct error *err)
{
    struct slot_cut *cut = (struct slot_cut *)deferred;
    uint32_t part = cut->part == 0 || cut->part > CHUNK_ROWS ? CHUNK_ROWS : cut->part;
    *more = cut->all ? add_by_bits(cut, part) : add_listed(cut, part);
    TRY(cut_flush(cut, err));
    if (!*more) {
        cut_end(cut);
    }
    return STATUS_OK;
}

/* Takes the list over. What is not there any more has no row, and its slot may get another key. */
static enum status cut_changes(struct slot_cut *cut, struct dirty_slots *dirty, struct error *err)
{
    struct slot_chunk *chunk = cut->chunk;
    struct dirty_slots empty = cut->pending;
    cut->pending = *dirty;
    *dirty = empty;
    for (uint32_t i = 0; i < cut->pending.count; i++) {
        uint32_t slot = cut->pending.slots[i];
        if (key_table_has(cut->keys, slot)) {
            continue;
        }
        dirty_slots_unmark(&cut->pending, slot);
        chunk->removed[chunk->removed_count++] = slot;
        if (chunk->removed_count == CHUNK_ROWS) {
            TRY(snapshot_remove(chunk->writer, chunk->table, chunk->removed, chunk->removed_count, err));
            chunk->removed_count = 0;
        }
    }
    return snapshot_remove(chunk->writer, chunk->table, chunk->removed, chunk->removed_count, err);
}

static enum status cut_begin(struct slot_cut *cut, struct dirty_slots *dirty, struct error *err)
{
    if (!cut->all) {
        return cut_changes(cut, dirty, err);
    }
    if (dirty != NULL) {
        dirty_slots_clear(dirty);
    }
    return dirty_slots_copy(&cut->pending, key_table_live(cut->keys), key_table_slots(cut->keys), err);
}

enum status slot_cut_save(struct slot_cut *cut, struct snapshot_writer *writer, uint32_t table, uint32_t column_count,
                          const struct key_table *keys, struct dirty_slots *dirty, state_columns *columns, void *owner,
                          const struct slot_records *records, struct error *err)
{
    if (!snapshot_defers(writer)) {
        return state_save_slots(writer, table, column_count, keys, 0, dirty, columns, owner, err);
    }
    snapshot_note_live(writer, key_table_count(keys));
    if (dirty == NULL && !snapshot_is_full(writer)) {
        TRY(snapshot_replace(writer, table, err));
    }
    cut->chunk = new_chunk(&(struct slot_chunk){.writer = writer,
                                                .table = table,
                                                .column_count = column_count,
                                                .columns = columns,
                                                .owner = owner,
                                                .records = records == NULL ? (struct slot_records){0} : *records},
                           err);
    if (cut->chunk == NULL) {
        return err->status;
    }
    cut->deferred = (struct snapshot_deferred){.take = cut_take, .drop = cut_drop};
    cut->writer = writer;
    cut->keys = keys;
    cut->all = dirty == NULL || snapshot_is_full(writer);
    cut->next = 0;
    snapshot_defer(writer, &cut->deferred, &cut->first_table);
    return cut_begin(cut, dirty, err);
}

void slot_cut_close(struct slot_cut *cut)
{
    free(cut->chunk);
    dirty_slots_close(&cut->pending);
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
