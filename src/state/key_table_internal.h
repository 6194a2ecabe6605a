/* state/key_table_internal.h: how a key table lies in memory, for the files of its implementation. */
#ifndef SPATE_STATE_KEY_TABLE_INTERNAL_H
#define SPATE_STATE_KEY_TABLE_INTERNAL_H

#include "base/slab.h"
#include "state/key_table.h"

enum { BUCKET_KEYS = 12, BUCKET_LOAD = 10, BLOCK_ROWS = 64, FIRST_SLOTS = 16, STEP_SLOTS = 4096, KEYS_MAX = 1024 };

struct bucket {
    uint8_t tags[BUCKET_KEYS]; /* 0: free */
    uint32_t passed;
    uint32_t slots[BUCKET_KEYS];
};
_Static_assert(sizeof(struct bucket) == 64, "a bucket is a cache line");

struct key_column {
    const struct type *type;
    enum physical physical;
    bool encoded; /* nested: values are views of encoded bytes */
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

static inline bool key_column_is_text(const struct key_column *column) /* values are views */
{
    return column->encoded || column->physical == PHYSICAL_STRING;
}
static inline bool key_input_is_null(const struct key_input *input, uint32_t row)
{
    return input->all_null || (input->validity != NULL && ((input->validity[row / 64] >> (row % 64)) & 1) == 0);
}
static inline size_t key_table_live_bytes(uint32_t capacity)
{
    return ((size_t)capacity + 63) / 64 * sizeof(uint64_t);
}
/* Sets table->inputs from the key columns of a batch. */
void key_table_prepare(const struct key_table *table, const struct batch *batch, const uint32_t *keys);

#endif
