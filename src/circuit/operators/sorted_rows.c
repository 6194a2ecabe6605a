#include "circuit/operators/sorted_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ITEMS = 2 };

/* ---- the order ---- */

enum status row_order_init(struct row_order *order, struct arena *arena, const struct row_store *store, const struct schema *schema,
                           const struct sort_key *keys, uint32_t key_count, bool ordered, struct error *err)
{
    struct sort_key *all;
    TRY_ALLOC(all, arena_alloc(arena, (schema->count + 1) * sizeof *all), err);
    for (uint32_t i = 0; i < schema->count; i++) {
        all[i] = (struct sort_key){.column = i, .nulls_first = true};
    }
    enum physical first = key_count > 0 ? type_physical(schema->columns[keys[0].column].type) : PHYSICAL_NULL;
    *order = (struct row_order){.store = store,
                                .keys = keys,
                                .key_count = key_count,
                                .ordered = ordered,
                                .exact = key_count == 1 && first >= PHYSICAL_BOOL && first <= PHYSICAL_INT64,
                                .all = all,
                                .column_count = schema->count};
    return STATUS_OK;
}

/* Monotone; equal doubles (NaN, both zeros) give equal numbers. */
static int64_t prefix_of_double(double value)
{
    int64_t bits;
    if (value != value) {
        return INT64_MAX - 1;
    }
    value = value == 0 ? 0 : value;
    memcpy(&bits, &value, sizeof bits);
    return bits < 0 ? (int64_t)((uint64_t)INT64_MIN - (uint64_t)bits) : bits;
}

static int64_t prefix_of_text(struct text text)
{
    uint8_t head[8] = {0};
    memcpy(head, text.bytes, text.length < sizeof head ? text.length : sizeof head);
    uint64_t value = 0;
    for (uint32_t i = 0; i < sizeof head; i++) {
        value = value << 8 | head[i];
    }
    return (int64_t)(value ^ (uint64_t)INT64_MIN);
}

static int64_t prefix_of_value(const struct vector *vector, uint32_t row)
{
    switch (vector->physical) {
    case PHYSICAL_INT64:
        return vector_int64(vector)[row];
    case PHYSICAL_BOOL:
    case PHYSICAL_INT8:
    case PHYSICAL_INT16:
    case PHYSICAL_INT32:
    case PHYSICAL_INT128: {
        int128_t value = vector_get_integer(vector, row);
        return value > INT64_MAX ? INT64_MAX : value < INT64_MIN ? INT64_MIN : (int64_t)value;
    }
    case PHYSICAL_FLOAT:
        return prefix_of_double(vector_float(vector)[row]);
    case PHYSICAL_DOUBLE:
        return prefix_of_double(vector_double(vector)[row]);
    case PHYSICAL_STRING:
        return prefix_of_text(vector_get_text(vector, row));
    default:
        return 0;
    }
}

int64_t row_order_prefix(const struct row_order *order, const struct batch *batch, uint32_t row)
{
    if (order->key_count == 0) {
        return 0;
    }
    const struct sort_key *key = &order->keys[0];
    const struct vector *vector = &batch->columns[key->column];
    if (!vector_is_valid(vector, row)) {
        return key->nulls_first ? INT64_MIN : INT64_MAX;
    }
    int64_t prefix = prefix_of_value(vector, row);
    return key->descending ? ~prefix : prefix;
}

double row_order_double(int64_t prefix, const struct sort_key *key)
{
    prefix = key->descending ? ~prefix : prefix;
    if (prefix >= INT64_MAX - 1) {
        return NAN;
    }
    int64_t bits = prefix < 0 ? (int64_t)((uint64_t)INT64_MIN - (uint64_t)prefix) : prefix;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

int row_order_compare_keys(const struct row_order *order, const struct sorted_item *left, const struct sorted_item *right)
{
    if (left->prefix != right->prefix) {
        return left->prefix < right->prefix ? -1 : 1;
    }
    if (order->key_count == 0 || (order->exact && left->prefix != INT64_MIN && left->prefix != INT64_MAX)) {
        return 0;
    }
    return row_store_compare(order->store, order->keys, order->key_count, left->row, right->row);
}

int row_order_compare(const struct row_order *order, const struct sorted_item *left, const struct sorted_item *right)
{
    if (left->row == right->row) {
        return 0;
    }
    int by_keys = row_order_compare_keys(order, left, right);
    if (by_keys != 0) {
        return by_keys;
    }
    if (order->ordered && left->ordinal != right->ordinal) {
        return left->ordinal < right->ordinal ? -1 : 1;
    }
    return row_store_compare(order->store, order->all, order->column_count, left->row, right->row);
}

/* ---- the blocks ---- */

static size_t block_bytes(uint32_t capacity)
{
    return sizeof(struct sorted_block) + capacity * sizeof(struct sorted_item);
}

static struct sorted_block *block_resize(struct sorted_block *block, struct budget *budget, uint32_t capacity)
{
    uint32_t before = block == NULL ? 0 : block->capacity;
    if (!budget_charge(budget, block_bytes(capacity))) {
        return NULL;
    }
    struct sorted_block *resized = realloc(block, block_bytes(capacity));
    if (resized == NULL) {
        budget_release(budget, block_bytes(capacity));
        return NULL;
    }
    if (block == NULL) {
        resized->count = 0;
    } else {
        budget_release(budget, block_bytes(before));
    }
    resized->capacity = capacity;
    return resized;
}

static enum status rows_add_block(struct sorted_rows *rows, struct budget *budget, uint32_t at, uint32_t capacity, struct error *err)
{
    if (rows->block_count == rows->block_capacity) {
        uint32_t grown = rows->block_capacity == 0 ? 1 : rows->block_capacity * 2;
        struct sorted_block **blocks = realloc(rows->blocks, grown * sizeof *blocks);
        if (blocks == NULL) {
            return error_set(err, ERROR_BUDGET_SPENT, "no room for sorted rows");
        }
        rows->blocks = blocks;
        rows->block_capacity = grown;
    }
    struct sorted_block *block;
    TRY_ALLOC(block, block_resize(NULL, budget, capacity), err);
    memmove(&rows->blocks[at + 1], &rows->blocks[at], (rows->block_count - at) * sizeof *rows->blocks);
    rows->blocks[at] = block;
    rows->block_count++;
    return STATUS_OK;
}

/* The number of blocks whose last item is below `item`. */
static uint32_t rows_seek_block(const struct sorted_rows *rows, const struct row_order *order, const struct sorted_item *item)
{
    uint32_t low = 0, high = rows->block_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct sorted_block *block = rows->blocks[middle];
        if (row_order_compare(order, &block->items[block->count - 1], item) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

struct sorted_place sorted_rows_seek(const struct sorted_rows *rows, const struct row_order *order, const struct sorted_item *item)
{
    uint32_t found = rows_seek_block(rows, order, item);
    if (found == rows->block_count) {
        return (struct sorted_place){.block = found, .at = 0};
    }
    const struct sorted_block *block = rows->blocks[found];
    uint32_t low = 0, high = block->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (row_order_compare(order, &block->items[middle], item) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return (struct sorted_place){.block = found, .at = low};
}

/* Makes room for one more item in the place's block: grows it, or splits it in two. */
static enum status rows_make_room(struct sorted_rows *rows, struct budget *budget, struct sorted_place *place, struct error *err)
{
    struct sorted_block *block = rows->blocks[place->block];
    if (block->count < block->capacity) {
        return STATUS_OK;
    }
    if (block->capacity < SORTED_BLOCK_ITEMS) {
        struct sorted_block *grown;
        TRY_ALLOC(grown, block_resize(block, budget, block->capacity * 2), err);
        rows->blocks[place->block] = grown;
        return STATUS_OK;
    }
    TRY(rows_add_block(rows, budget, place->block + 1, SORTED_BLOCK_ITEMS, err));
    struct sorted_block *upper = rows->blocks[place->block + 1];
    /* Rows that come in order fill their blocks; others are split in the middle. */
    uint32_t kept = place->at == block->count && place->block + 2 == rows->block_count ? block->count - 1 : block->count / 2;
    upper->count = block->count - kept;
    memcpy(upper->items, &block->items[kept], upper->count * sizeof *upper->items);
    block->count = kept;
    if (place->at > kept) {
        place->block++;
        place->at -= kept;
    }
    return STATUS_OK;
}

enum status sorted_rows_insert(struct sorted_rows *rows, struct budget *budget, struct sorted_place place, const struct sorted_item *item,
                               struct error *err)
{
    if (rows->block_count == 0) {
        TRY(rows_add_block(rows, budget, 0, FIRST_ITEMS, err));
        place = (struct sorted_place){0};
    } else if (place.block == rows->block_count) {
        place.block--;
        place.at = rows->blocks[place.block]->count;
    }
    TRY(rows_make_room(rows, budget, &place, err));
    struct sorted_block *block = rows->blocks[place.block];
    memmove(&block->items[place.at + 1], &block->items[place.at], (block->count - place.at) * sizeof *item);
    block->items[place.at] = *item;
    block->count++;
    return STATUS_OK;
}

void sorted_rows_remove(struct sorted_rows *rows, struct budget *budget, struct sorted_place place)
{
    struct sorted_block *block = rows->blocks[place.block];
    block->count--;
    memmove(&block->items[place.at], &block->items[place.at + 1], (block->count - place.at) * sizeof *block->items);
    if (block->count > 0) {
        return;
    }
    budget_release(budget, block_bytes(block->capacity));
    free(block);
    rows->block_count--;
    memmove(&rows->blocks[place.block], &rows->blocks[place.block + 1], (rows->block_count - place.block) * sizeof *rows->blocks);
}

void sorted_rows_release(struct sorted_rows *rows, struct budget *budget)
{
    for (uint32_t i = 0; i < rows->block_count; i++) {
        budget_release(budget, block_bytes(rows->blocks[i]->capacity));
        free(rows->blocks[i]);
    }
    free(rows->blocks);
    *rows = (struct sorted_rows){0};
}
