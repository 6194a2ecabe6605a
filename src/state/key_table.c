/* Index: buckets of one cache line, twelve keys each: tag bytes (compared at once), slot numbers, and a count of the keys that had to go on
 * past this bucket, so that a lookup knows where to stop and removal leaves no tombstones.
 *
 * A batch goes through the table in blocks: prefetch the buckets, find the first key with an equal tag and prefetch it, compare. Only
 * rows that this does not settle take the slow path, one at a time.
 */
#include "state/key_table_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "state/slot_array.h"

static inline uint8_t tag_of(uint64_t hash)
{
    uint8_t tag = (uint8_t)(hash >> 56);
    return tag == 0 ? 1 : tag;
}

/* The low seven bits choose the key group and so the worker: they say little here. */
static inline uint32_t home_of(const struct key_table *table, uint64_t hash)
{
    return (uint32_t)(hash >> 7) & (table->bucket_count - 1);
}

static inline uint32_t next_of(const struct key_table *table, uint32_t bucket, uint8_t tag)
{
    return (bucket + 2 * (uint32_t)tag + 1) & (table->bucket_count - 1);
}

static inline uint32_t bucket_matches(const struct bucket *bucket, uint8_t tag)
{
#ifdef __SSE2__
    __m128i tags = _mm_load_si128((const __m128i *)(const void *)bucket);
    return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(tags, _mm_set1_epi8((char)tag))) & ((1U << BUCKET_KEYS) - 1);
#else
    uint32_t matches = 0;
    for (uint32_t i = 0; i < BUCKET_KEYS; i++) {
        matches |= (uint32_t)(bucket->tags[i] == tag) << i;
    }
    return matches;
#endif
}

/* Growth: the room for all arrays is charged at once, so that they always have the same size. */
static size_t bytes_per_slot(const struct key_table *table)
{
    size_t bytes = sizeof(uint64_t);
    for (uint32_t i = 0; i < table->key_count; i++) {
        bytes += table->keys[i].width + (table->keys[i].nulls != NULL);
    }
    for (uint32_t i = 0; i < table->value_count; i++) {
        bytes += table->value_bytes[i];
    }
    return bytes;
}

static void grow_array(const struct key_table *table, void *array, uint32_t width, uint32_t capacity)
{
    void *old;
    memcpy(&old, array, sizeof old);
    if (width == 0) {
        return;
    }
    void *grown = slot_array_grow_charged(old, (size_t)table->capacity * width, (size_t)capacity * width);
    assert(grown != NULL); /* the budget is below what the system has */
    memcpy(array, &grown, sizeof grown);
}

static enum status no_room(const struct key_table *table, struct error *err)
{
    return error_set(err, ERROR_BUDGET_SPENT, "no room for more than %u keys of state in the account '%s'", table->count,
                     table->budget->name);
}

/* What more slots take. */
static size_t slots_bytes(const struct key_table *table, uint32_t capacity)
{
    return bytes_per_slot(table) * (capacity - table->capacity) + key_table_live_bytes(capacity) - key_table_live_bytes(table->capacity);
}

/* Would so much more leave less than a quarter of some account? Then tables do not double. */
static bool is_scarce(const struct budget *budget, size_t bytes)
{
    for (; budget != NULL; budget = budget->parent) {
        if (atomic_load_explicit(&budget->used_bytes, memory_order_relaxed) + bytes > budget->limit_bytes / 4 * 3) {
            return true;
        }
    }
    return false;
}

static enum status grow_slots(struct key_table *table, struct error *err)
{
    if (table->capacity >= UINT32_MAX / 2) {
        return no_room(table, err);
    }
    uint32_t capacity = table->capacity == 0 ? FIRST_SLOTS : table->capacity * 2;
    if (table->capacity >= STEP_SLOTS && is_scarce(table->budget, slots_bytes(table, capacity))) {
        capacity = table->capacity + table->capacity / 8;
    }
    if (!budget_charge(table->budget, slots_bytes(table, capacity))) {
        return no_room(table, err);
    }
    grow_array(table, &table->hashes, sizeof(uint64_t), capacity);
    for (uint32_t i = 0; i < table->key_count; i++) {
        grow_array(table, &table->keys[i].values, table->keys[i].width, capacity);
        if (table->keys[i].nulls != NULL) {
            grow_array(table, &table->keys[i].nulls, 1, capacity);
        }
    }
    for (uint32_t i = 0; i < table->value_count; i++) {
        grow_array(table, &table->values[i], table->value_bytes[i], capacity);
    }
    if (key_table_live_bytes(capacity) > key_table_live_bytes(table->capacity)) {
        table->live = slot_array_grow_charged(table->live, key_table_live_bytes(table->capacity), key_table_live_bytes(capacity));
        assert(table->live != NULL);
    }
    table->capacity = capacity;
    return STATUS_OK;
}

/* Puts a key that is not there into the index; there is a free place somewhere. */
static void index_place(struct key_table *table, uint64_t hash, uint32_t slot)
{
    uint8_t tag = tag_of(hash);
    uint32_t at = home_of(table, hash);
    uint32_t open;
    while ((open = bucket_matches(&table->buckets[at], 0)) == 0) {
        table->buckets[at].passed++;
        at = next_of(table, at, tag);
    }
    uint32_t place = (uint32_t)__builtin_ctz(open);
    table->buckets[at].tags[place] = tag;
    table->buckets[at].slots[place] = slot;
}

static bool is_live(const struct key_table *table, uint32_t slot)
{
    return ((table->live[slot / 64] >> (slot % 64)) & 1) != 0;
}

static enum status grow_index(struct key_table *table, struct error *err)
{
    enum { AHEAD = 16 };
    uint32_t old_count = table->bucket_count, count = old_count * 2;
    struct bucket *buckets = slot_array_grow(table->budget, NULL, 0, (size_t)count * sizeof *buckets);
    if (buckets == NULL) {
        return no_room(table, err);
    }
    slot_array_free(table->budget, table->buckets, (size_t)old_count * sizeof *buckets);
    table->buckets = buckets;
    table->bucket_count = count;
    for (uint32_t slot = 0; slot < table->slots; slot++) {
        if (slot + AHEAD < table->slots) {
            __builtin_prefetch(&buckets[home_of(table, table->hashes[slot + AHEAD])], 1);
        }
        if (is_live(table, slot)) {
            index_place(table, table->hashes[slot], slot);
        }
    }
    return STATUS_OK;
}

static bool column_equal(const struct key_column *column, const struct key_input *input, uint32_t row, uint32_t slot)
{
    bool row_null = key_input_is_null(input, row);
    bool slot_null = column->nulls != NULL && column->nulls[slot] != 0;
    if (row_null || slot_null) {
        return row_null && slot_null;
    }
    const uint8_t *left = input->values + (size_t)row * column->width;
    const uint8_t *right = column->values + (size_t)slot * column->width;
    if (column->encoded || column->physical == PHYSICAL_STRING) {
        return string_view_equal((const struct string_view *)(const void *)left, (const struct string_view *)(const void *)right);
    }
    switch (column->width) {
    case 0:
        return true;
    case 1:
        return *left == *right;
    case 2:
        return memcmp(left, right, 2) == 0;
    case 4:
        return memcmp(left, right, 4) == 0;
    case 8:
        return memcmp(left, right, 8) == 0;
    default:
        return memcmp(left, right, 16) == 0;
    }
}

static bool equal_any(const struct key_table *table, uint32_t row, uint32_t slot)
{
    for (uint32_t i = 0; i < table->key_count; i++) {
        if (!column_equal(&table->keys[i], &table->inputs[i], row, slot)) {
            return false;
        }
    }
    return true;
}

/* The slow path: one row through its whole probe sequence. */
static uint32_t find_row(const struct key_table *table, uint32_t row, uint64_t hash)
{
    uint8_t tag = tag_of(hash);
    uint32_t at = home_of(table, hash);
    for (uint32_t probes = 0; probes < table->bucket_count; probes++) {
        const struct bucket *bucket = &table->buckets[at];
        for (uint32_t matches = bucket_matches(bucket, tag); matches != 0; matches &= matches - 1) {
            uint32_t slot = bucket->slots[__builtin_ctz(matches)];
            if (table->hashes[slot] == hash && equal_any(table, row, slot)) {
                return slot;
            }
        }
        if (bucket->passed == 0) {
            return SLOT_NONE;
        }
        at = next_of(table, at, tag);
    }
    return SLOT_NONE;
}

/* For each row of a block the slot of the first key whose tag is equal, SLOT_NONE if there is none. */
static void find_candidates(const struct key_table *table, struct selection rows, uint32_t from, uint32_t to, const uint64_t *hashes,
                            uint32_t *slots)
{
    for (uint32_t k = from; k < to; k++) {
        __builtin_prefetch(&table->buckets[home_of(table, hashes[selection_row(&rows, k)])]);
    }
    const uint8_t *first = table->key_count > 0 ? table->keys[0].values : NULL;
    uint32_t width = table->key_count > 0 ? table->keys[0].width : 0;
    for (uint32_t k = from; k < to; k++) {
        uint64_t hash = hashes[selection_row(&rows, k)];
        const struct bucket *bucket = &table->buckets[home_of(table, hash)];
        uint32_t matches = bucket_matches(bucket, tag_of(hash));
        slots[k] = matches == 0 ? SLOT_NONE : bucket->slots[__builtin_ctz(matches)];
        __builtin_prefetch(first + (matches == 0 ? 0 : (size_t)slots[k] * width));
    }
}

#define EQUAL(row, slot) (int32_keys[slot] == ((const int32_t *)(const void *)table->inputs[0].values)[row])
#define NAME             verify_int32
#define SETUP            const int32_t *int32_keys = (const int32_t *)(const void *)table->keys[0].values
#include "state/key_verify.inc"

#define EQUAL(row, slot) (keys[slot] == rows_keys[row])
#define NAME             verify_int64
#define SETUP                                                                                                                              \
    const int64_t *keys = (const int64_t *)(const void *)table->keys[0].values;                                                            \
    const int64_t *rows_keys = (const int64_t *)(const void *)table->inputs[0].values
#include "state/key_verify.inc"

#define EQUAL(row, slot) ((keys[slot] ^ rows_keys[row]) == 0 && (keys2[slot] ^ rows_keys2[row]) == 0)
#define NAME             verify_two_int64
#define SETUP                                                                                                                              \
    const int64_t *keys = (const int64_t *)(const void *)table->keys[0].values;                                                            \
    const int64_t *keys2 = (const int64_t *)(const void *)table->keys[1].values;                                                           \
    const int64_t *rows_keys = (const int64_t *)(const void *)table->inputs[0].values;                                                     \
    const int64_t *rows_keys2 = (const int64_t *)(const void *)table->inputs[1].values
#include "state/key_verify.inc"

#define EQUAL(row, slot) string_view_equal(&keys[slot], &rows_keys[row])
#define NAME             verify_string
#define SETUP                                                                                                                              \
    const struct string_view *keys = (const struct string_view *)(const void *)table->keys[0].values;                                      \
    const struct string_view *rows_keys = (const struct string_view *)(const void *)table->inputs[0].values
#include "state/key_verify.inc"

#define EQUAL(row, slot) equal_any(table, row, slot)
#define NAME             verify_any
#define SETUP
#include "state/key_verify.inc"

typedef void verify_fn(const struct key_table *table, struct selection rows, uint32_t from, uint32_t to, uint32_t *slots);

/* The typed comparisons know no NULL. */
static verify_fn *choose_verify(const struct key_table *table)
{
    static verify_fn *const by_shape[] = {
        [SHAPE_ANY] = verify_any,       [SHAPE_INT32] = verify_int32, [SHAPE_INT64] = verify_int64, [SHAPE_TWO_INT64] = verify_two_int64,
        [SHAPE_STRING] = verify_string,
    };
    for (uint32_t i = 0; i < table->key_count; i++) {
        if (table->inputs[i].validity != NULL || table->inputs[i].all_null || table->keys[i].nulls != NULL) {
            return verify_any;
        }
    }
    return by_shape[table->shape];
}

void key_table_find(const struct key_table *table, const struct batch *batch, const uint32_t *keys, const uint64_t *hashes, uint32_t *slots)
{
    struct selection rows = batch_selection(batch);
    key_table_prepare(table, batch, keys);
    verify_fn *verify = choose_verify(table);
    for (uint32_t from = 0; from < rows.count; from += BLOCK_ROWS) {
        uint32_t to = from + BLOCK_ROWS < rows.count ? from + BLOCK_ROWS : rows.count;
        find_candidates(table, rows, from, to, hashes, slots);
        verify(table, rows, from, to, slots);
        for (uint32_t k = from; k < to; k++) {
            if (slots[k] == SLOT_NONE) {
                uint32_t row = selection_row(&rows, k);
                slots[k] = find_row(table, row, hashes[row]);
            }
        }
    }
}

static enum status store_text(struct key_table *table, struct key_column *column, const uint8_t *value, uint32_t slot, struct error *err)
{
    const struct string_view *from = (const struct string_view *)(const void *)value;
    struct string_view *to = (struct string_view *)(void *)(column->values + (size_t)slot * sizeof *to);
    if (from->length <= STRING_INLINE_BYTES) {
        *to = *from;
        return STATUS_OK;
    }
    char *bytes = slab_alloc(&table->heap, from->length);
    if (bytes == NULL) {
        return no_room(table, err);
    }
    memcpy(bytes, from->bytes, from->length);
    *to = string_view_make(bytes, from->length);
    return STATUS_OK;
}

static void drop_text(struct key_table *table, struct key_column *column, uint32_t slot)
{
    struct string_view *view = (struct string_view *)(void *)(column->values + (size_t)slot * sizeof *view);
    if (view->length > STRING_INLINE_BYTES) {
        slab_free(&table->heap, (void *)(uintptr_t)view->bytes, view->length);
    }
    *view = (struct string_view){0};
}

static enum status store_key(struct key_table *table, uint32_t index, uint32_t row, uint32_t slot, struct error *err)
{
    struct key_column *column = &table->keys[index];
    const struct key_input *input = &table->inputs[index];
    bool is_null = key_input_is_null(input, row);
    if (is_null && column->nulls == NULL) {
        column->nulls = slot_array_grow(table->budget, NULL, 0, table->capacity);
        if (column->nulls == NULL) {
            return no_room(table, err);
        }
    }
    if (column->nulls != NULL) {
        column->nulls[slot] = is_null;
    }
    uint8_t *to = column->values + (size_t)slot * column->width;
    if (is_null) {
        if (column->width > 0) {
            memset(to, 0, column->width);
        }
        return STATUS_OK;
    }
    const uint8_t *from = input->values + (size_t)row * column->width;
    if (key_column_is_text(column)) {
        return store_text(table, column, from, slot, err);
    }
    memcpy(to, from, column->width);
    return STATUS_OK;
}

static enum status take_slot(struct key_table *table, uint32_t *slot, struct error *err)
{
    if (table->free_slot != SLOT_NONE) {
        *slot = table->free_slot;
        return STATUS_OK;
    }
    if (table->slots == table->capacity) {
        TRY(grow_slots(table, err));
    }
    *slot = table->slots;
    return STATUS_OK;
}

static enum status insert_row(struct key_table *table, uint32_t row, uint64_t hash, uint32_t *result, struct error *err)
{
    uint32_t slot;
    TRY(take_slot(table, &slot, err));
    if (table->count >= table->bucket_count * BUCKET_LOAD) {
        TRY(grow_index(table, err));
    }
    for (uint32_t i = 0; i < table->key_count; i++) {
        enum status status = store_key(table, i, row, slot, err);
        for (uint32_t undo = 0; status != STATUS_OK && undo < i; undo++) {
            if (key_column_is_text(&table->keys[undo])) {
                drop_text(table, &table->keys[undo], slot);
            }
        }
        TRY(status);
    }
    if (slot == table->free_slot) {
        table->free_slot = (uint32_t)table->hashes[slot];
    } else {
        table->slots++;
    }
    for (uint32_t i = 0; i < table->value_count; i++) {
        memset(table->values[i] + (size_t)slot * table->value_bytes[i], 0, table->value_bytes[i]);
    }
    table->hashes[slot] = hash;
    table->live[slot / 64] |= (uint64_t)1 << (slot % 64);
    index_place(table, hash, slot);
    table->count++;
    *result = slot;
    return STATUS_OK;
}

/* Slow path of one block; `fresh` marks the rows that made a key, to take them back if a later one finds no room. */
static enum status settle_block(struct key_table *table, struct selection rows, uint32_t from, uint32_t to, const uint64_t *hashes,
                                uint32_t *slots, uint64_t *fresh, struct error *err)
{
    for (uint32_t k = from; k < to; k++) {
        if (slots[k] != SLOT_NONE) {
            continue;
        }
        uint32_t row = selection_row(&rows, k);
        slots[k] = find_row(table, row, hashes[row]);
        if (slots[k] == SLOT_NONE) {
            TRY(insert_row(table, row, hashes[row], &slots[k], err));
            fresh[k / 64] |= (uint64_t)1 << (k % 64);
        }
    }
    return STATUS_OK;
}

enum status key_table_find_or_insert(struct key_table *table, const struct batch *batch, const uint32_t *keys, const uint64_t *hashes,
                                     uint32_t *slots, struct error *err)
{
    struct selection rows = batch_selection(batch);
    uint64_t fresh[VALIDITY_WORDS] = {0};
    key_table_prepare(table, batch, keys);
    for (uint32_t from = 0; from < rows.count; from += BLOCK_ROWS) {
        uint32_t to = from + BLOCK_ROWS < rows.count ? from + BLOCK_ROWS : rows.count;
        find_candidates(table, rows, from, to, hashes, slots);
        choose_verify(table)(table, rows, from, to, slots);
        enum status status = settle_block(table, rows, from, to, hashes, slots, fresh, err);
        for (uint32_t k = 0; status != STATUS_OK && k < to; k++) {
            if ((fresh[k / 64] >> (k % 64)) & 1) {
                key_table_remove(table, slots[k]);
            }
        }
        TRY(status);
    }
    return STATUS_OK;
}

const void *key_table_keys(const struct key_table *table, uint32_t key)
{
    return table->keys[key].values;
}

void *key_table_values(const struct key_table *table, uint32_t value)
{
    assert(value < table->value_count);
    return table->values[value];
}

uint64_t key_table_hash(const struct key_table *table, uint32_t slot)
{
    return table->hashes[slot];
}

static void index_remove(struct key_table *table, uint64_t hash, uint32_t slot)
{
    uint8_t tag = tag_of(hash);
    uint32_t at = home_of(table, hash);
    for (;;) {
        struct bucket *bucket = &table->buckets[at];
        for (uint32_t matches = bucket_matches(bucket, tag); matches != 0; matches &= matches - 1) {
            uint32_t place = (uint32_t)__builtin_ctz(matches);
            if (bucket->slots[place] == slot) {
                bucket->tags[place] = 0;
                return;
            }
        }
        assert(bucket->passed > 0);
        bucket->passed--;
        at = next_of(table, at, tag);
    }
}

void key_table_remove(struct key_table *table, uint32_t slot)
{
    assert(key_table_has(table, slot));
    index_remove(table, table->hashes[slot], slot);
    for (uint32_t i = 0; i < table->key_count; i++) {
        if (key_column_is_text(&table->keys[i])) {
            drop_text(table, &table->keys[i], slot);
        }
    }
    table->live[slot / 64] &= ~((uint64_t)1 << (slot % 64));
    table->hashes[slot] = table->free_slot;
    table->free_slot = slot;
    table->count--;
}

uint32_t key_table_count(const struct key_table *table)
{
    return table->count;
}

uint32_t key_table_slots(const struct key_table *table)
{
    return table->slots;
}

const uint64_t *key_table_live(const struct key_table *table)
{
    return table->live;
}

bool key_table_has(const struct key_table *table, uint32_t slot)
{
    return slot < table->slots && is_live(table, slot);
}

uint32_t key_table_room(const struct key_table *table)
{
    uint32_t indexed = table->bucket_count * BUCKET_LOAD;
    return table->capacity < indexed ? table->capacity - table->count : indexed - table->count;
}

size_t key_table_free_bytes(const struct key_table *table)
{
    return bytes_per_slot(table) * (table->capacity - table->count) + table->heap.free_bytes;
}

size_t key_table_bytes(const struct key_table *table)
{
    return bytes_per_slot(table) * table->capacity + (size_t)table->bucket_count * sizeof(struct bucket) + table->heap.bytes;
}
