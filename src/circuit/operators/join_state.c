/* circuit/operators/join_state.c: entries, their lists, and the index of rows that may be withdrawn. */
#include "circuit/operators/join_state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { INDEX_FIRST_CELLS = 1024, LIST_FIRST_ITEMS = 64, PREFETCH_AHEAD = 16 };

static enum status paged_need(struct paged *paged, uint32_t element, struct error *err)
{
    uint32_t page = element / ENTRY_PAGE_ROWS;
    if (page < paged->page_count) {
        return STATUS_OK;
    }
    if (page >= paged->page_capacity) {
        uint32_t capacity = paged->page_capacity == 0 ? 16 : paged->page_capacity * 2;
        uint8_t **pages = realloc(paged->pages, capacity * sizeof *pages);
        if (pages == NULL) {
            return error_set(err, ERROR_BUDGET_SPENT, "no room for the rows of a join");
        }
        paged->pages = pages;
        paged->page_capacity = capacity;
    }
    size_t bytes = (size_t)ENTRY_PAGE_ROWS * paged->element_bytes;
    if (!budget_charge(paged->budget, bytes)) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room for the rows of a join");
    }
    uint8_t *memory = malloc(bytes);
    if (memory == NULL) {
        budget_release(paged->budget, bytes);
        return error_set(err, ERROR_BUDGET_SPENT, "no room for the rows of a join");
    }
    paged->pages[paged->page_count++] = memory;
    return STATUS_OK;
}

static void paged_close(struct paged *paged)
{
    for (uint32_t i = 0; i < paged->page_count; i++) {
        free(paged->pages[i]);
        budget_release(paged->budget, (size_t)ENTRY_PAGE_ROWS * paged->element_bytes);
    }
    free(paged->pages);
    *paged = (struct paged){.budget = paged->budget, .element_bytes = paged->element_bytes};
}

static enum status uint32_list_add(struct uint32_list *list, uint32_t item, struct error *err)
{
    if (list->count == list->capacity) {
        uint32_t capacity = list->capacity == 0 ? LIST_FIRST_ITEMS : list->capacity * 2;
        uint32_t *items = realloc(list->items, capacity * sizeof *items);
        if (items == NULL) {
            return error_set(err, ERROR_BUDGET_SPENT, "no room for the changed rows of a join");
        }
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = item;
    return STATUS_OK;
}

/* ---- the index of rows ---- */

static uint32_t index_hash(const struct join_side *side, row_handle row)
{
    return (uint32_t)(row_store_hash(side->rows, row) >> 16);
}

static void index_put(uint64_t *cells, uint32_t capacity, uint64_t cell)
{
    uint32_t at = (uint32_t)(cell >> 32) & (capacity - 1);
    while (cells[at] != 0) {
        at = (at + 1) & (capacity - 1);
    }
    cells[at] = cell;
}

static enum status index_grow(struct entry_index *index, struct error *err)
{
    uint32_t capacity = index->capacity == 0 ? INDEX_FIRST_CELLS : index->capacity * 2;
    if (!budget_charge(index->budget, capacity * sizeof(uint64_t))) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room for the index of a join's rows");
    }
    uint64_t *cells = calloc(capacity, sizeof *cells);
    if (cells == NULL) {
        budget_release(index->budget, capacity * sizeof(uint64_t));
        return error_set(err, ERROR_BUDGET_SPENT, "no room for the index of a join's rows");
    }
    for (uint32_t i = 0; i < index->capacity; i++) {
        if (index->cells[i] != 0) {
            index_put(cells, capacity, index->cells[i]);
        }
    }
    free(index->cells);
    budget_release(index->budget, index->capacity * sizeof(uint64_t));
    index->cells = cells;
    index->capacity = capacity;
    return STATUS_OK;
}

static uint32_t index_find(const struct join_side *side, row_handle row)
{
    const struct entry_index *index = &side->index;
    uint32_t hash = index_hash(side, row);
    if (index->capacity == 0) {
        return 0;
    }
    for (uint32_t at = hash & (index->capacity - 1); index->cells[at] != 0; at = (at + 1) & (index->capacity - 1)) {
        uint32_t entry = (uint32_t)index->cells[at];
        if ((uint32_t)(index->cells[at] >> 32) == hash && row_store_equal(side->rows, row, join_entry_at(side, entry)->row)) {
            return entry;
        }
    }
    return 0;
}

static enum status index_add(struct join_side *side, uint32_t entry, struct error *err)
{
    struct entry_index *index = &side->index;
    if (index->used * 2 >= index->capacity) {
        TRY(index_grow(index, err));
    }
    index_put(index->cells, index->capacity, (uint64_t)index_hash(side, join_entry_at(side, entry)->row) << 32 | entry);
    index->used++;
    return STATUS_OK;
}

/* Later cells of the same run move back, so that no gap cuts them off. */
static void index_remove(struct join_side *side, uint32_t entry)
{
    struct entry_index *index = &side->index;
    uint32_t mask = index->capacity - 1;
    uint32_t at = index_hash(side, join_entry_at(side, entry)->row) & mask;
    while ((uint32_t)index->cells[at] != entry) {
        at = (at + 1) & mask;
    }
    index->used--;
    for (uint32_t next = (at + 1) & mask; index->cells[next] != 0; next = (next + 1) & mask) {
        uint32_t home = (uint32_t)(index->cells[next] >> 32) & mask;
        if (((next - home) & mask) >= ((next - at) & mask)) {
            index->cells[at] = index->cells[next];
            at = next;
        }
    }
    index->cells[at] = 0;
}

/* ---- open and close ---- */

static bool keys_are_plain(const struct type *const *types, const uint32_t *keys, uint32_t key_count)
{
    for (uint32_t k = 0; k < key_count; k++) {
        enum physical physical = type_physical(types[keys[k]]);
        if (physical == PHYSICAL_SPAN || physical == PHYSICAL_ROW) {
            return false;
        }
    }
    return key_count > 0;
}

static enum status join_side_open_log(struct join_side *side, struct budget *budget, const struct type *const *types, const uint32_t *keys,
                                      uint32_t key_count, struct error *err)
{
    side->may_wait = side->waits = keys_are_plain(types, keys, key_count);
    side->dropped_to = INT64_MIN;
    if (!side->may_wait) { /* lists are made as rows come, and stay */
        side->prune = NULL;
        key_count = 0;
    }
    uint32_t time = side->prune == NULL ? ROW_LOG_NO_TIME : side->time_position;
    return row_log_create(budget, types, side->kept_count, keys, key_count, time, &side->log, err);
}

enum status join_side_open(struct join_side *side, struct budget *budget, struct arena *arena, bool expires, const uint32_t *key_positions,
                           uint32_t key_count, struct error *err)
{
    const struct type **types;
    TRY_ALLOC(types, arena_alloc(arena, (side->kept_count + 1) * sizeof *types), err);
    for (uint32_t i = 0; i < side->kept_count; i++) {
        types[i] = side->input->schema->columns[side->kept[i]].type;
    }
    side->entries = (struct paged){.budget = budget, .element_bytes = sizeof(struct join_entry)};
    side->extras = (struct paged){.budget = budget, .element_bytes = sizeof(struct join_extra)};
    side->ends = (struct paged){.budget = budget, .element_bytes = expires && side->spills ? sizeof(int64_t) : 0};
    side->index.budget = budget;
    side->dirty.budget = budget;
    if (join_side_is_log(side, expires)) {
        return join_side_open_log(side, budget, types, key_positions, key_count, err);
    }
    TRY(row_store_create(budget, types, side->kept_count, &side->rows, err));
    if (!side->indexed) {
        row_store_omit_hashes(side->rows);
    }
    return STATUS_OK;
}

enum status join_state_open(struct join_state *state, struct arena *arena, const struct type *const *key_types, struct error *err)
{
    (void)arena;
    if (state->key_count == 0) {
        return STATUS_OK;
    }
    uint32_t value_bytes = sizeof state->single_heads;
    return key_table_create(state->budget, key_types, state->key_count, &value_bytes, 1, &state->keys, err);
}

static void join_side_close(struct join_side *side)
{
    row_store_destroy(side->rows);
    row_log_destroy(side->log);
    paged_close(&side->entries);
    paged_close(&side->extras);
    paged_close(&side->ends);
    if (side->index.capacity > 0) {
        budget_release(side->index.budget, side->index.capacity * sizeof(uint64_t));
    }
    free(side->index.cells);
    free(side->touched.items);
    dirty_slots_close(&side->dirty);
    ttl_close(&side->ttl);
}

void join_state_close(struct join_state *state)
{
    join_side_close(&state->sides[0]);
    join_side_close(&state->sides[1]);
    key_table_destroy(state->keys);
}

void join_side_clear(struct join_side *side)
{
    row_store_clear(side->rows);
    paged_close(&side->entries);
    paged_close(&side->extras);
    paged_close(&side->ends);
    side->entry_count = side->free_entry = 0;
    free(side->index.cells);
    budget_release(side->index.budget, side->index.capacity * sizeof(uint64_t));
    side->index = (struct entry_index){.budget = side->index.budget};
}

static size_t join_side_bytes(const struct join_side *side)
{
    if (side->log != NULL) {
        return row_log_bytes(side->log);
    }
    size_t per_row = sizeof(struct join_entry) + sizeof(struct join_extra) + side->ends.element_bytes;
    return row_store_bytes(side->rows) + (size_t)side->entries.page_count * ENTRY_PAGE_ROWS * per_row +
           side->index.capacity * sizeof(uint64_t) + ttl_bytes(&side->ttl);
}

size_t join_state_bytes(const struct join_state *state)
{
    size_t keys = state->keys == NULL ? 0 : key_table_bytes(state->keys);
    return keys + join_side_bytes(&state->sides[0]) + join_side_bytes(&state->sides[1]);
}

/* ---- entries ---- */

static enum status join_entry_new(struct join_side *side, uint32_t *entry, struct error *err)
{
    if (side->free_entry != 0) {
        *entry = side->free_entry;
        side->free_entry = join_entry_at(side, *entry)->next;
        return STATUS_OK;
    }
    if (side->entry_count == UINT32_MAX - 1) {
        return error_set(err, ERROR_TOO_MANY, "a side of a join holds %u rows; it cannot hold more", side->entry_count);
    }
    uint32_t next = side->entry_count + 1;
    TRY(paged_need(&side->entries, next, err));
    TRY(paged_need(&side->extras, next, err));
    if (side->ends.element_bytes > 0) {
        TRY(paged_need(&side->ends, next, err));
    }
    side->entry_count = next;
    *entry = next;
    return STATUS_OK;
}

static enum status join_entry_insert(struct join_state *state, uint32_t which, uint32_t slot, row_handle row, int64_t weight,
                                     uint32_t *created, struct error *err)
{
    struct join_side *side = &state->sides[which];
    uint32_t entry = 0;
    TRY(join_entry_new(side, &entry, err));
    uint32_t *head = &join_heads(state, slot)[which];
    *join_entry_at(side, entry) = (struct join_entry){.row = row, .next = *head};
    *join_extra_at(side, entry) = (struct join_extra){.weight = weight, .slot = slot};
    if (*head != 0) {
        join_extra_at(side, *head)->previous = entry;
    }
    *head = entry;
    *created = entry;
    return side->indexed ? index_add(side, entry, err) : STATUS_OK;
}

/* An entry that has expired is met by its row again: nothing of before is left. What it counts for in `violations` is settled later. */
static void join_entry_renew(struct join_extra *extra)
{
    extra->weight = extra->matches = extra->shown = 0;
}

static enum status join_entry_write(struct join_side *side, uint32_t entry, bool fresh, const struct vector *written, uint32_t row,
                                    struct error *err)
{
    if (written == NULL) {
        return ttl_write(&side->ttl, entry, err);
    }
    if (fresh) {
        ttl_forget(&side->ttl, entry);
    }
    return ttl_restore(&side->ttl, entry, vector_is_valid(written, row) ? vector_int64(written)[row] : TTL_NO_TIME, err);
}

enum status join_side_add(struct join_state *state, uint32_t which, const struct batch *batch, const uint32_t *slots,
                          const struct vector *written, uint32_t *entries, uint8_t *fresh, struct error *err)
{
    struct join_side *side = &state->sides[which];
    struct selection rows = batch_selection(batch);
    row_handle handles[CHUNK_ROWS];
    bool ages = ttl_is_set(&side->ttl);
    TRY(row_store_add(side->rows, batch, handles, err));
    for (uint32_t k = 0; k < rows.count; k++) {
        uint32_t row = selection_row(&rows, k);
        if (k + PREFETCH_AHEAD < rows.count) {
            __builtin_prefetch(&join_heads(state, slots[k + PREFETCH_AHEAD])[which], 1);
        }
        uint32_t found = side->indexed ? index_find(side, handles[k]) : 0;
        fresh[k] = found == 0;
        if (found == 0) {
            TRY(join_entry_insert(state, which, slots[k], handles[k], batch_weight(batch, row), &entries[k], err));
        } else {
            row_store_free(side->rows, handles[k]);
            if (ages && ttl_has_expired(&side->ttl, found)) {
                join_entry_renew(join_extra_at(side, found));
                fresh[k] = true;
            }
            join_extra_at(side, found)->weight += batch_weight(batch, row);
            entries[k] = found;
        }
        if (ages) {
            TRY(join_entry_write(side, entries[k], fresh[k], written, row, err));
        }
        if (side->indexed || side->tracked) {
            TRY(join_side_touch(side, entries[k], err));
        } else if (side->follows) {
            TRY(dirty_slots_mark(&side->dirty, entries[k], err));
        }
    }
    return STATUS_OK;
}

enum status join_side_touch(struct join_side *side, uint32_t entry, struct error *err)
{
    struct join_extra *extra = join_extra_at(side, entry);
    if ((extra->flags & ENTRY_TOUCHED) != 0) {
        return STATUS_OK;
    }
    TRY(uint32_list_add(&side->touched, entry, err));
    extra->flags |= ENTRY_TOUCHED;
    return STATUS_OK;
}

void join_side_remove(struct join_state *state, uint32_t which, uint32_t entry)
{
    struct join_side *side = &state->sides[which];
    assert(side->log == NULL);
    struct join_entry *gone = join_entry_at(side, entry);
    struct join_extra *extra = join_extra_at(side, entry);
    if (side->indexed) {
        index_remove(side, entry);
    }
    uint32_t *heads = join_heads(state, extra->slot);
    if (extra->previous != 0) {
        join_entry_at(side, extra->previous)->next = gone->next;
    } else {
        heads[which] = gone->next;
    }
    if (gone->next != 0) {
        join_extra_at(side, gone->next)->previous = extra->previous;
    }
    if (heads[0] == 0 && heads[1] == 0 && state->keys != NULL) {
        key_table_remove(state->keys, extra->slot);
    }
    row_store_free(side->rows, gone->row);
    ttl_forget(&side->ttl, entry);
    extra->flags = ENTRY_FREE;
    gone->next = side->free_entry;
    side->free_entry = entry;
}
