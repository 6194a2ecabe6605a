/* Index: buckets of one cache line, twelve keys each: tag bytes (compared at once), slot numbers, and a count of the keys that had to go on
 * past this bucket, so that a lookup knows where to stop and removal leaves no tombstones.
 *
 * A batch goes through the table in blocks: prefetch the buckets, find the first key with an equal tag and prefetch it, compare. Only
 * rows that this does not settle take the slow path, one at a time.
 */
#include "state/key_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/slab.h"
#include "state/slot_array.h"
#include "data/value_codec.h"

enum { BUCKET_KEYS = 12, BUCKET_LOAD = 10, BLOCK_ROWS = 64, FIRST_SLOTS = 16, KEYS_MAX = 1024 };

struct bucket {
    uint8_t tags[BUCKET_KEYS]; /* 0: free */
    uint32_t passed;
    uint32_t slots[BUCKET_KEYS];
};
_Static_assert(sizeof(struct bucket) == 64, "a bucket is a cache line");

struct key_column {
    const struct type *type;
    enum physical physical;
    bool encoded;     /* nested: values are views of encoded bytes */
    uint32_t width;
    uint8_t *values;  /* by slot */
    uint8_t *nulls;   /* by slot; NULL: no key was NULL yet */
    uint8_t *scratch; /* normalised or encoded values of one batch; NULL: the batch's own are used */
};
/* A key column of the batch at hand, in the table's form. */
struct key_input {
    const uint8_t *values;
    const uint64_t *validity;
    bool all_null;
};
enum key_shape { SHAPE_ANY, SHAPE_INT32, SHAPE_INT64, SHAPE_TWO_INT64, SHAPE_STRING };

struct key_table {
    struct budget *budget;
    struct slab heap; /* long strings, encoded values */
    struct bucket *buckets;
    uint32_t bucket_count, count, slots, capacity, free_slot; /* bucket_count: a power of two */
    uint32_t key_count, value_count;
    enum key_shape shape;
    uint64_t *hashes; /* by slot; of a free slot: the next free one */
    uint64_t *live;   /* bits by slot */
    struct key_column *keys;
    struct key_input *inputs;
    uint32_t *value_bytes;
    uint8_t **values;
    struct text_builder encoded;
};

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

static enum key_shape shape_of(const struct key_column *keys, uint32_t count)
{
    if (count == 2 && keys[0].physical == PHYSICAL_INT64 && keys[1].physical == PHYSICAL_INT64) {
        return SHAPE_TWO_INT64;
    }
    if (count != 1) {
        return SHAPE_ANY;
    }
    return keys[0].physical == PHYSICAL_INT64    ? SHAPE_INT64
           : keys[0].physical == PHYSICAL_INT32  ? SHAPE_INT32
           : keys[0].physical == PHYSICAL_STRING ? SHAPE_STRING
                                                 : SHAPE_ANY;
}

static enum status column_open(struct key_table *table, struct key_column *column, const struct type *type, struct error *err)
{
    column->type = type;
    column->physical = type_physical(type);
    column->encoded = column->physical == PHYSICAL_SPAN || column->physical == PHYSICAL_ROW;
    column->width = column->encoded ? (uint32_t)sizeof(struct string_view) : physical_bytes(column->physical);
    if (column->encoded || column->physical == PHYSICAL_FLOAT || column->physical == PHYSICAL_DOUBLE) {
        TRY_ALLOC(column->scratch, slot_array_grow(table->budget, NULL, 0, (size_t)CHUNK_ROWS * column->width), err);
    }
    return STATUS_OK;
}

static enum status table_open(struct key_table *table, const struct type *const *key_types, const uint32_t *value_bytes,
                              struct error *err)
{
    TRY_ALLOC(table->keys, calloc(table->key_count + 1, sizeof *table->keys), err);
    TRY_ALLOC(table->inputs, calloc(table->key_count + 1, sizeof *table->inputs), err);
    TRY_ALLOC(table->value_bytes, calloc(table->value_count + 1, sizeof *table->value_bytes), err);
    TRY_ALLOC(table->values, calloc(table->value_count + 1, sizeof *table->values), err);
    for (uint32_t i = 0; i < table->key_count; i++) {
        TRY(column_open(table, &table->keys[i], key_types[i], err));
    }
    for (uint32_t i = 0; i < table->value_count; i++) {
        table->value_bytes[i] = value_bytes[i];
    }
    table->shape = shape_of(table->keys, table->key_count);
    table->bucket_count = 1;
    TRY_ALLOC(table->buckets, slot_array_grow(table->budget, NULL, 0, sizeof(struct bucket)), err);
    return STATUS_OK;
}

enum status key_table_create(struct budget *budget, const struct type *const *key_types, uint32_t key_count, const uint32_t *value_bytes,
                             uint32_t value_count, struct key_table **table, struct error *err)
{
    assert(key_count <= KEYS_MAX && value_count <= KEYS_MAX);
    struct key_table *created;
    TRY_ALLOC(created, calloc(1, sizeof *created), err);
    created->budget = budget;
    created->key_count = key_count;
    created->value_count = value_count;
    created->free_slot = SLOT_NONE;
    slab_open(&created->heap, budget);
    enum status status = table_open(created, key_types, value_bytes, err);
    if (status != STATUS_OK) {
        key_table_destroy(created);
        return status;
    }
    *table = created;
    return STATUS_OK;
}

static size_t live_bytes(uint32_t capacity)
{
    return ((size_t)capacity + 63) / 64 * sizeof(uint64_t);
}

void key_table_destroy(struct key_table *table)
{
    if (table == NULL) {
        return;
    }
    for (uint32_t i = 0; table->keys != NULL && i < table->key_count; i++) {
        struct key_column *column = &table->keys[i];
        slot_array_free(table->budget, column->values, (size_t)table->capacity * column->width);
        slot_array_free(table->budget, column->nulls, table->capacity);
        slot_array_free(table->budget, column->scratch, (size_t)CHUNK_ROWS * column->width);
    }
    for (uint32_t i = 0; table->values != NULL && i < table->value_count; i++) {
        slot_array_free(table->budget, table->values[i], (size_t)table->capacity * table->value_bytes[i]);
    }
    slot_array_free(table->budget, table->hashes, table->capacity * sizeof(uint64_t));
    slot_array_free(table->budget, table->live, live_bytes(table->capacity));
    slot_array_free(table->budget, table->buckets, table->bucket_count * sizeof(struct bucket));
    slab_close(&table->heap);
    text_builder_close(&table->encoded);
    free(table->keys);
    free(table->inputs);
    free(table->value_bytes);
    free(table->values);
    free(table);
}

/* Growth. Arrays grow one by one; `capacity` counts only when all have: an array that grew before another failed is made
 * known by growing it again from its true size, so sizes are kept equal by shrinking nothing and charging in advance. */
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

static void grow_array(struct key_table *table, void *array, uint32_t width, uint32_t capacity)
{
    void *old;
    memcpy(&old, array, sizeof old);
    if (width == 0) {
        return;
    }
    void *grown = slot_array_grow(table->budget, old, (size_t)table->capacity * width, (size_t)capacity * width);
    assert(grown != NULL); /* the room was there a moment ago */
    memcpy(array, &grown, sizeof grown);
}

static enum status no_room(const struct key_table *table, struct error *err)
{
    return error_set(err, ERROR_BUDGET_SPENT, "no room for more than %u keys of state in the account '%s'", table->count,
                     table->budget->name);
}

static enum status grow_slots(struct key_table *table, struct error *err)
{
    if (table->capacity >= UINT32_MAX / 2) {
        return no_room(table, err);
    }
    uint32_t capacity = table->capacity == 0 ? FIRST_SLOTS : table->capacity * 2;
    size_t extra = bytes_per_slot(table) * (capacity - table->capacity) + live_bytes(capacity);
    if (!budget_charge(table->budget, extra)) {
        return no_room(table, err);
    }
    budget_release(table->budget, extra);
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
    if (live_bytes(capacity) > live_bytes(table->capacity)) {
        table->live = slot_array_grow(table->budget, table->live, live_bytes(table->capacity), live_bytes(capacity));
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

/* Keys of the batch in the table's form. */
static void prepare_floats(struct key_column *column, const struct vector *vector, struct selection rows)
{
    for (uint32_t k = 0; k < rows.count; k++) {
        size_t at = (size_t)selection_row(&rows, k) * column->width;
        value_copy_normal(column->physical, (const uint8_t *)vector->values + at, column->scratch + at);
    }
}

static void prepare_encoded(struct text_builder *encoded, struct key_column *column, const struct vector *vector, struct selection rows)
{
    struct string_view *views = (struct string_view *)(void *)column->scratch;
    size_t first = encoded->length;
    for (uint32_t k = 0; k < rows.count; k++) {
        uint32_t row = selection_row(&rows, k);
        size_t start = encoded->length;
        if (vector_is_valid(vector, row)) {
            value_encode(vector, row, encoded);
        }
        views[row].length = (uint32_t)(encoded->length - start);
    }
    assert(!encoded->failed);
    size_t start = first;
    for (uint32_t k = 0; k < rows.count; k++) {
        struct string_view *view = &views[selection_row(&rows, k)];
        size_t length = view->length;
        *view = string_view_make(encoded->bytes + start, length); /* the builder may still move: see prepare_inputs */
        start += length;
    }
}

static void prepare_inputs(const struct key_table *table, const struct batch *batch, const uint32_t *keys)
{
    struct selection rows = batch_selection(batch);
    struct text_builder *encoded = (struct text_builder *)(uintptr_t)&table->encoded;
    const char *before = NULL;
    text_builder_clear(encoded);
    /* Again from the start when the bytes moved under earlier columns' views; they have room enough the second time. */
    do {
        before = encoded->bytes;
        text_builder_clear(encoded);
        for (uint32_t i = 0; i < table->key_count; i++) {
            struct key_column *column = &table->keys[i];
            const struct vector *vector = &batch->columns[keys[i]];
            bool all_null = vector->physical == PHYSICAL_NULL;
            assert(all_null || vector->physical == column->physical);
            if (column->encoded && !all_null) {
                prepare_encoded(encoded, column, vector, rows);
            } else if (column->scratch != NULL && !all_null) {
                prepare_floats(column, vector, rows);
            }
            table->inputs[i] = (struct key_input){
                .values = column->scratch != NULL ? column->scratch : vector->values,
                .validity = vector->validity,
                .all_null = all_null,
            };
        }
    } while (encoded->bytes != before);
}

static inline bool input_is_null(const struct key_input *input, uint32_t row)
{
    return input->all_null || (input->validity != NULL && ((input->validity[row / 64] >> (row % 64)) & 1) == 0);
}

static bool column_equal(const struct key_column *column, const struct key_input *input, uint32_t row, uint32_t slot)
{
    bool row_null = input_is_null(input, row);
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
    case 0: return true;
    case 1: return *left == *right;
    case 2: return memcmp(left, right, 2) == 0;
    case 4: return memcmp(left, right, 4) == 0;
    case 8: return memcmp(left, right, 8) == 0;
    default: return memcmp(left, right, 16) == 0;
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
#define NAME verify_int32
#define SETUP const int32_t *int32_keys = (const int32_t *)(const void *)table->keys[0].values
#include "state/key_verify.inc"

#define EQUAL(row, slot) (keys[slot] == rows_keys[row])
#define NAME verify_int64
#define SETUP                                                                      \
    const int64_t *keys = (const int64_t *)(const void *)table->keys[0].values;    \
    const int64_t *rows_keys = (const int64_t *)(const void *)table->inputs[0].values
#include "state/key_verify.inc"

#define EQUAL(row, slot) ((keys[slot] ^ rows_keys[row]) == 0 && (keys2[slot] ^ rows_keys2[row]) == 0)
#define NAME verify_two_int64
#define SETUP                                                                      \
    const int64_t *keys = (const int64_t *)(const void *)table->keys[0].values;    \
    const int64_t *keys2 = (const int64_t *)(const void *)table->keys[1].values;   \
    const int64_t *rows_keys = (const int64_t *)(const void *)table->inputs[0].values; \
    const int64_t *rows_keys2 = (const int64_t *)(const void *)table->inputs[1].values
#include "state/key_verify.inc"

#define EQUAL(row, slot) string_view_equal(&keys[slot], &rows_keys[row])
#define NAME verify_string
#define SETUP                                                                                    \
    const struct string_view *keys = (const struct string_view *)(const void *)table->keys[0].values; \
    const struct string_view *rows_keys = (const struct string_view *)(const void *)table->inputs[0].values
#include "state/key_verify.inc"

#define EQUAL(row, slot) equal_any(table, row, slot)
#define NAME verify_any
#define SETUP
#include "state/key_verify.inc"

typedef void verify_fn(const struct key_table *table, struct selection rows, uint32_t from, uint32_t to, uint32_t *slots);

/* The typed comparisons know no NULL. */
static verify_fn *choose_verify(const struct key_table *table)
{
    static verify_fn *const by_shape[] = {
        [SHAPE_ANY] = verify_any,         [SHAPE_INT32] = verify_int32,     [SHAPE_INT64] = verify_int64,
        [SHAPE_TWO_INT64] = verify_two_int64, [SHAPE_STRING] = verify_string,
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
    prepare_inputs(table, batch, keys);
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

static bool is_text(const struct key_column *column)
{
    return column->encoded || column->physical == PHYSICAL_STRING;
}

static enum status store_key(struct key_table *table, uint32_t index, uint32_t row, uint32_t slot, struct error *err)
{
    struct key_column *column = &table->keys[index];
    const struct key_input *input = &table->inputs[index];
    bool is_null = input_is_null(input, row);
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
    if (is_text(column)) {
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
            if (is_text(&table->keys[undo])) {
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
    prepare_inputs(table, batch, keys);
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
        if (is_text(&table->keys[i])) {
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

bool key_table_has(const struct key_table *table, uint32_t slot)
{
    return slot < table->slots && is_live(table, slot);
}

size_t key_table_bytes(const struct key_table *table)
{
    return bytes_per_slot(table) * table->capacity + (size_t)table->bucket_count * sizeof(struct bucket) + table->heap.bytes;
}

static void gather_fixed(const struct key_column *column, const uint32_t *slots, uint32_t count, struct vector *result)
{
    enum { AHEAD = 16 };
    for (uint32_t k = 0; k < count; k++) {
        if (k + AHEAD < count) {
            __builtin_prefetch(column->values + (size_t)slots[k + AHEAD] * column->width);
        }
        const uint8_t *from = column->values + (size_t)slots[k] * column->width;
        switch (column->width) {
        case 8: memcpy((uint8_t *)result->values + (size_t)k * 8, from, 8); break;
        case 4: memcpy((uint8_t *)result->values + (size_t)k * 4, from, 4); break;
        default: memcpy((uint8_t *)result->values + (size_t)k * column->width, from, column->width);
        }
    }
}

static enum status gather_texts(struct key_table *table, const struct key_column *column, const uint32_t *slots, uint32_t count,
                                struct vector *result, struct error *err)
{
    const struct string_view *views = (const struct string_view *)(const void *)column->values;
    size_t total = 0;
    for (uint32_t k = 0; k < count; k++) {
        struct string_view view = views[slots[k]];
        vector_strings(result)[k] = view;
        total += view.length > STRING_INLINE_BYTES ? view.length : 0;
    }
    if (total == 0) {
        return STATUS_OK;
    }
    TRY(buffer_create(table->budget, total, &result->heaps[0], err));
    result->heap_count = 1;
    char *heap = (char *)buffer_bytes_mutable(result->heaps[0]);
    for (uint32_t k = 0; k < count; k++) {
        struct string_view *view = &vector_strings(result)[k];
        if (view->length > STRING_INLINE_BYTES) {
            memcpy(heap, view->bytes, view->length);
            view->bytes = heap;
            heap += view->length;
        }
    }
    return STATUS_OK;
}

static enum status gather_encoded(struct key_table *table, const struct key_column *column, const uint32_t *slots, uint32_t count,
                                  struct vector *result, struct error *err)
{
    const uint8_t **cursors;
    TRY_ALLOC(cursors, malloc((count + 1) * sizeof *cursors), err);
    for (uint32_t k = 0; k < count; k++) {
        const struct string_view *view = (const struct string_view *)(const void *)column->values + slots[k];
        cursors[k] = view->length == 0 ? NULL : (const uint8_t *)string_view_bytes(view);
    }
    enum status status = value_decode_column(table->budget, column->type, cursors, count, result, err);
    free(cursors);
    return status;
}

static enum status gather_plain(struct key_table *table, const struct key_column *column, const uint32_t *slots, uint32_t count,
                                struct vector *result, struct error *err)
{
    if (column->physical == PHYSICAL_STRING) {
        TRY(gather_texts(table, column, slots, count, result, err));
    } else if (column->width > 0) {
        gather_fixed(column, slots, count, result);
    }
    if (column->nulls == NULL) {
        return STATUS_OK;
    }
    TRY(vector_need_validity(table->budget, result, count, err));
    for (uint32_t k = 0; k < count; k++) {
        if (column->nulls[slots[k]] != 0) {
            vector_set_null(result, k);
        }
    }
    return STATUS_OK;
}

enum status key_table_gather(struct key_table *table, uint32_t key, const uint32_t *slots, uint32_t count, struct vector *result,
                             struct error *err)
{
    const struct key_column *column = &table->keys[key];
    if (column->encoded) {
        return gather_encoded(table, column, slots, count, result, err);
    }
    TRY(vector_create(table->budget, column->type, count, result, err));
    enum status status = gather_plain(table, column, slots, count, result, err);
    if (status != STATUS_OK) {
        vector_release(result);
    }
    return status;
}
