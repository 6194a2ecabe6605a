#include "functions/multiset.h"

#include <string.h>

enum { BLOCK_ENTRIES = 64, FIRST_ENTRIES = 2, FIRST_BLOCKS = 4 };

static int compare(const struct multiset_order *order, const struct multiset_entry *entry, const struct stored *value, int64_t ordinal)
{
    int by_ordinal = (entry->ordinal > ordinal) - (entry->ordinal < ordinal);
    if (order->by_ordinal && by_ordinal != 0) {
        return by_ordinal;
    }
    int by_value = stored_compare(&order->kind, &entry->value, value);
    return by_value != 0 ? by_value : by_ordinal;
}

/* The last block whose first entry is not above the place looked for (or the first block). */
static uint32_t find_block(const struct multiset *set, const struct multiset_order *order, const struct stored *value, int64_t ordinal)
{
    uint32_t low = 0, high = set->block_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (compare(order, &set->blocks[middle]->entries[0], value, ordinal) <= 0) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

static uint32_t find_position(const struct multiset_block *block, const struct multiset_order *order, const struct stored *value,
                              int64_t ordinal)
{
    uint32_t low = 0, high = block->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (compare(order, &block->entries[middle], value, ordinal) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static size_t block_bytes(uint32_t capacity)
{
    return sizeof(struct multiset_block) + capacity * sizeof(struct multiset_entry);
}

static struct multiset_block *block_make(struct slab *heap, uint32_t capacity)
{
    struct multiset_block *block = slab_alloc(heap, block_bytes(capacity));
    if (block != NULL) {
        block->count = 0;
        block->capacity = capacity;
    }
    return block;
}

static bool directory_insert(struct multiset *set, uint32_t at, struct multiset_block *block, struct slab *heap)
{
    if (set->block_count == set->block_capacity) {
        uint32_t capacity = set->block_capacity == 0 ? 1 : set->block_capacity < FIRST_BLOCKS ? FIRST_BLOCKS : set->block_capacity * 2;
        struct multiset_block **blocks = slab_resize(heap, set->blocks, set->block_capacity * sizeof(struct multiset_block *),
                                                     capacity * sizeof(struct multiset_block *));
        if (blocks == NULL) {
            return false;
        }
        set->blocks = blocks;
        set->block_capacity = capacity;
    }
    memmove(&set->blocks[at + 1], &set->blocks[at], (set->block_count - at) * sizeof(struct multiset_block *));
    set->blocks[at] = block;
    set->block_count++;
    return true;
}

/* Makes room in a full block: a larger one while it is small, else its upper half becomes a block of its own. */
static bool block_make_room(struct multiset *set, uint32_t at, struct slab *heap)
{
    struct multiset_block *block = set->blocks[at];
    if (block->capacity < BLOCK_ENTRIES) {
        uint32_t capacity = block->capacity * 2;
        struct multiset_block *larger = slab_resize(heap, block, block_bytes(block->capacity), block_bytes(capacity));
        if (larger != NULL) {
            larger->capacity = capacity;
            set->blocks[at] = larger;
        }
        return larger != NULL;
    }
    struct multiset_block *upper = block_make(heap, BLOCK_ENTRIES);
    if (upper == NULL || !directory_insert(set, at + 1, upper, heap)) {
        slab_free(heap, upper, block_bytes(BLOCK_ENTRIES));
        return false;
    }
    uint32_t half = block->count / 2;
    upper->count = block->count - half;
    memcpy(upper->entries, &block->entries[half], upper->count * sizeof(struct multiset_entry));
    block->count = half;
    return true;
}

static void remove_entry(struct multiset *set, const struct multiset_order *order, uint32_t at, uint32_t position, struct slab *heap)
{
    struct multiset_block *block = set->blocks[at];
    stored_free(&order->kind, heap, &block->entries[position].value);
    block->count--;
    memmove(&block->entries[position], &block->entries[position + 1], (block->count - position) * sizeof(struct multiset_entry));
    if (block->count > 0) {
        return;
    }
    slab_free(heap, block, block_bytes(block->capacity));
    set->block_count--;
    memmove(&set->blocks[at], &set->blocks[at + 1], (set->block_count - at) * sizeof(struct multiset_block *));
    if (set->block_count == 0) {
        slab_free(heap, set->blocks, set->block_capacity * sizeof(struct multiset_block *));
        set->blocks = NULL;
        set->block_capacity = 0;
    }
}

static enum status insert_entry(struct multiset *set, const struct multiset_order *order, uint32_t at, const struct multiset_entry *entry,
                                struct slab *heap, struct error *err)
{
    if (set->block_count == 0) {
        struct multiset_block *block = block_make(heap, FIRST_ENTRIES);
        if (block == NULL || !directory_insert(set, 0, block, heap)) {
            slab_free(heap, block, block_bytes(FIRST_ENTRIES));
            return aggregate_no_room(err);
        }
    }
    if (set->blocks[at]->count == set->blocks[at]->capacity) {
        if (!block_make_room(set, at, heap)) {
            return aggregate_no_room(err);
        }
        at = find_block(set, order, &entry->value, entry->ordinal);
    }
    struct multiset_block *block = set->blocks[at];
    uint32_t position = find_position(block, order, &entry->value, entry->ordinal);
    struct multiset_entry copy = *entry;
    TRY(stored_own(&order->kind, heap, &copy.value, err));
    memmove(&block->entries[position + 1], &block->entries[position], (block->count - position) * sizeof copy);
    block->entries[position] = copy;
    block->count++;
    return STATUS_OK;
}

enum status multiset_add(struct multiset *set, const struct multiset_order *order, const struct stored *value, int64_t ordinal,
                         int64_t count, struct slab *heap, struct error *err)
{
    uint32_t at = 0;
    if (set->block_count > 0) {
        at = find_block(set, order, value, ordinal);
        struct multiset_block *block = set->blocks[at];
        uint32_t position = find_position(block, order, value, ordinal);
        if (position < block->count && compare(order, &block->entries[position], value, ordinal) == 0) {
            block->entries[position].count += count;
            set->total += count;
            if (block->entries[position].count == 0) {
                remove_entry(set, order, at, position, heap);
            }
            return STATUS_OK;
        }
    }
    struct multiset_entry entry = {.value = *value, .ordinal = ordinal, .count = count};
    TRY(insert_entry(set, order, at, &entry, heap, err));
    set->total += count;
    return STATUS_OK;
}

const struct multiset_entry *multiset_find_value(const struct multiset *set, const struct multiset_order *order, const struct stored *value)
{
    if (set->block_count == 0) {
        return NULL;
    }
    uint32_t at = find_block(set, order, value, INT64_MIN);
    uint32_t position = find_position(set->blocks[at], order, value, INT64_MIN);
    if (position == set->blocks[at]->count) {
        if (++at == set->block_count) {
            return NULL;
        }
        position = 0;
    }
    const struct multiset_entry *entry = &set->blocks[at]->entries[position];
    return stored_compare(&order->kind, &entry->value, value) == 0 ? entry : NULL;
}

const struct multiset_entry *multiset_next(const struct multiset *set, struct multiset_cursor *cursor)
{
    while (cursor->block < set->block_count) {
        const struct multiset_block *block = set->blocks[cursor->block];
        if (cursor->position < block->count) {
            return &block->entries[cursor->position++];
        }
        *cursor = (struct multiset_cursor){cursor->block + 1, 0};
    }
    return NULL;
}

const struct multiset_entry *multiset_first(const struct multiset *set)
{
    struct multiset_cursor cursor = {0};
    const struct multiset_entry *entry;
    while ((entry = multiset_next(set, &cursor)) != NULL && entry->count < 0) {
    }
    return entry;
}

const struct multiset_entry *multiset_last(const struct multiset *set)
{
    for (uint32_t at = set->block_count; at-- > 0;) {
        const struct multiset_block *block = set->blocks[at];
        for (uint32_t position = block->count; position-- > 0;) {
            if (block->entries[position].count > 0) {
                return &block->entries[position];
            }
        }
    }
    return NULL;
}

enum status multiset_merge(struct multiset *into, const struct multiset *from, const struct multiset_order *order, int64_t weight,
                           struct slab *heap, struct error *err)
{
    struct multiset_cursor cursor = {0};
    const struct multiset_entry *entry;
    while ((entry = multiset_next(from, &cursor)) != NULL) {
        TRY(multiset_add(into, order, &entry->value, entry->ordinal, entry->count * weight, heap, err));
    }
    return STATUS_OK;
}

void multiset_clear(struct multiset *set, const struct multiset_order *order, struct slab *heap)
{
    for (uint32_t at = 0; at < set->block_count; at++) {
        struct multiset_block *block = set->blocks[at];
        for (uint32_t i = 0; i < block->count; i++) {
            stored_free(&order->kind, heap, &block->entries[i].value);
        }
        slab_free(heap, block, block_bytes(block->capacity));
    }
    slab_free(heap, set->blocks, set->block_capacity * sizeof(struct multiset_block *));
    *set = (struct multiset){0};
}

/* ---- as bytes ---- */

void multiset_save(const struct multiset *set, const struct multiset_order *order, struct text_builder *out)
{
    uint64_t entries = 0, before = 0;
    for (uint32_t at = 0; at < set->block_count; at++) {
        entries += set->blocks[at]->count;
    }
    byte_append_number(out, entries);
    struct multiset_cursor cursor = {0};
    const struct multiset_entry *entry;
    while ((entry = multiset_next(set, &cursor)) != NULL) {
        stored_save(&order->kind, &entry->value, out);
        if (order->by_ordinal) { /* the distance from the one before: ordinals are large, their distances small */
            byte_append_signed(out, (int64_t)((uint64_t)entry->ordinal - before));
            before = (uint64_t)entry->ordinal;
        }
        byte_append_signed(out, entry->count);
    }
}

/* Room for one more entry at the end: what is loaded comes in order and fills its blocks. */
static struct multiset_block *block_at_end(struct multiset *set, struct slab *heap)
{
    struct multiset_block *last = set->block_count == 0 ? NULL : set->blocks[set->block_count - 1];
    if (last != NULL && last->count < last->capacity) {
        return last;
    }
    if (last != NULL && last->capacity < BLOCK_ENTRIES) {
        return block_make_room(set, set->block_count - 1, heap) ? set->blocks[set->block_count - 1] : NULL;
    }
    uint32_t capacity = last == NULL ? FIRST_ENTRIES : BLOCK_ENTRIES;
    struct multiset_block *block = block_make(heap, capacity);
    if (block != NULL && !directory_insert(set, set->block_count, block, heap)) {
        slab_free(heap, block, block_bytes(capacity));
        return NULL;
    }
    return block;
}

static enum status append_entry(struct multiset *set, const struct multiset_order *order, struct multiset_entry *entry, struct slab *heap,
                                struct error *err)
{
    TRY(stored_own(&order->kind, heap, &entry->value, err));
    struct multiset_block *block = block_at_end(set, heap);
    if (block == NULL) {
        stored_free(&order->kind, heap, &entry->value);
        return aggregate_no_room(err);
    }
    block->entries[block->count++] = *entry;
    set->total += entry->count;
    return STATUS_OK;
}

enum status multiset_load(struct multiset *set, const struct multiset_order *order, struct byte_reader *reader, struct slab *heap,
                          struct error *err)
{
    static const int64_t count_limit = INT64_MAX / 4; /* so that what comes later does not overflow */
    uint64_t before = 0;
    for (uint64_t left = byte_reader_number(reader); left > 0; left--) {
        struct multiset_entry entry = {0};
        bool found = stored_load(&order->kind, reader, &entry.value);
        before += order->by_ordinal ? (uint64_t)byte_reader_signed(reader) : 0;
        entry.ordinal = (int64_t)before;
        entry.count = byte_reader_signed(reader);
        if (!found || reader->failed || entry.count == 0 || entry.count > count_limit || entry.count < -count_limit) {
            return aggregate_corrupt(err);
        }
        if (set->block_count > 0) {
            const struct multiset_block *last = set->blocks[set->block_count - 1];
            if (compare(order, &last->entries[last->count - 1], &entry.value, entry.ordinal) >= 0) {
                return aggregate_corrupt(err);
            }
        }
        TRY(append_entry(set, order, &entry, heap, err));
        if (set->total > count_limit || set->total < -count_limit) {
            return aggregate_corrupt(err);
        }
    }
    return reader->failed ? aggregate_corrupt(err) : STATUS_OK;
}

void multiset_state_save(const struct accumulator *accumulator, const void *state, struct text_builder *out)
{
    multiset_save(state, accumulator->data, out);
}

enum status multiset_state_load(const struct accumulator *accumulator, void *state, const uint8_t *bytes, size_t length, struct slab *heap,
                                struct error *err)
{
    struct byte_reader reader = byte_reader_open(bytes, length);
    TRY(multiset_load(state, accumulator->data, &reader, heap, err));
    return byte_reader_ended(&reader) ? STATUS_OK : aggregate_corrupt(err);
}
