#include <assert.h>
#include <stdlib.h>

#include "state/key_table_internal.h"
#include "state/slot_array.h"

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

static enum status table_open(struct key_table *table, const struct type *const *key_types, const uint32_t *value_bytes, struct error *err)
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
    if (key_count > KEYS_MAX || value_count > KEYS_MAX) {
        return error_set(err, ERROR_TOO_MANY, "rows are kept by %u columns; the limit is %d",
                         key_count > value_count ? key_count : value_count, KEYS_MAX);
    }
    struct key_table *created;
    TRY_ALLOC(created, calloc(1, sizeof *created), err);
    created->budget = budget;
    created->key_count = key_count;
    created->value_count = value_count;
    created->free_slot = SLOT_NONE;
    slab_open(&created->heap, budget, SLAB_GRAIN);
    enum status status = table_open(created, key_types, value_bytes, err);
    if (status != STATUS_OK) {
        key_table_destroy(created);
        return status;
    }
    *table = created;
    return STATUS_OK;
}

/* All arrays by slot, and the bytes of long keys. */
static void free_slots(struct key_table *table)
{
    for (uint32_t i = 0; table->keys != NULL && i < table->key_count; i++) {
        struct key_column *column = &table->keys[i];
        slot_array_free(table->budget, column->values, (size_t)table->capacity * column->width);
        slot_array_free(table->budget, column->nulls, table->capacity);
        column->values = column->nulls = NULL;
    }
    for (uint32_t i = 0; table->values != NULL && i < table->value_count; i++) {
        slot_array_free(table->budget, table->values[i], (size_t)table->capacity * table->value_bytes[i]);
        table->values[i] = NULL;
    }
    slot_array_free(table->budget, table->hashes, table->capacity * sizeof(uint64_t));
    slot_array_free(table->budget, table->live, key_table_live_bytes(table->capacity));
    table->hashes = table->live = NULL;
    table->capacity = table->slots = 0;
    table->free_slot = SLOT_NONE;
    slab_close(&table->heap);
}

enum status key_table_release(struct key_table *table, struct error *err)
{
    assert(table->count == 0);
    free_slots(table);
    struct bucket *buckets;
    TRY_ALLOC(buckets, slot_array_grow(table->budget, NULL, 0, sizeof *buckets), err);
    slot_array_free(table->budget, table->buckets, table->bucket_count * sizeof *buckets);
    table->buckets = buckets;
    table->bucket_count = 1;
    return STATUS_OK;
}

void key_table_destroy(struct key_table *table)
{
    if (table == NULL) {
        return;
    }
    for (uint32_t i = 0; table->keys != NULL && i < table->key_count; i++) {
        slot_array_free(table->budget, table->keys[i].scratch, (size_t)CHUNK_ROWS * table->keys[i].width);
    }
    free_slots(table);
    slot_array_free(table->budget, table->buckets, table->bucket_count * sizeof(struct bucket));
    text_builder_close(&table->encoded);
    free(table->keys);
    free(table->inputs);
    free(table->value_bytes);
    free(table->values);
    free(table);
}
