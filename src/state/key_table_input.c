#include <assert.h>

#include "data/value_codec.h"
#include "state/key_table_internal.h"

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
        *view = string_view_make(encoded->bytes + start, length); /* the builder may still move: see key_table_prepare */
        start += length;
    }
}

void key_table_prepare(const struct key_table *table, const struct batch *batch, const uint32_t *keys)
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
