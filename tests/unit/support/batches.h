/* tests/unit/support/batches.h: small batches for unit tests, and a random source with a printed seed. */
#ifndef SPATE_TESTS_SUPPORT_BATCHES_H
#define SPATE_TESTS_SUPPORT_BATCHES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "data/order.h"

#define NULL_VALUE INT64_MIN /* in arrays of test values: a NULL */

static inline void require(enum status status, const struct error *err)
{
    if (status != STATUS_OK) {
        fail_msg("status %d: %s", (int)status, err->text);
    }
}
static inline uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}
/* A column of the type from integers; strings are "s<number>", padded to a length that depends on the number. */
static inline void fill_column(struct budget *budget, const struct type *type, const int64_t *values, uint32_t count, struct vector *vector)
{
    struct error err;
    struct string_heap heap = {.budget = budget, .target = vector};
    require(vector_create(budget, type, count, vector, &err), &err);
    for (uint32_t i = 0; i < count; i++) {
        if (values[i] == NULL_VALUE) {
            if (vector->validity == NULL) {
                require(vector_need_validity(budget, vector, count, &err), &err);
            }
            vector_set_null(vector, i);
        }
        int64_t value = values[i] == NULL_VALUE ? 0 : values[i];
        switch (vector->physical) {
        case PHYSICAL_BOOL:
            vector_bool(vector)[i] = value != 0;
            break;
        case PHYSICAL_INT8:
            vector_int8(vector)[i] = (int8_t)value;
            break;
        case PHYSICAL_INT16:
            vector_int16(vector)[i] = (int16_t)value;
            break;
        case PHYSICAL_INT32:
            vector_int32(vector)[i] = (int32_t)value;
            break;
        case PHYSICAL_INT64:
            vector_int64(vector)[i] = value;
            break;
        case PHYSICAL_INT128:
            vector_int128(vector)[i] = value;
            break;
        case PHYSICAL_FLOAT:
            vector_float(vector)[i] = (float)value;
            break;
        case PHYSICAL_DOUBLE:
            vector_double(vector)[i] = (double)value;
            break;
        case PHYSICAL_STRING: {
            char text[64];
            int length = snprintf(text, sizeof text, "s%lld%s", (long long)value, value % 3 == 0 ? " a longer text of its own" : "");
            vector_strings(vector)[i] = (struct string_view){0};
            if (values[i] != NULL_VALUE) {
                char *bytes = string_heap_alloc(&heap, (size_t)length, &err);
                memcpy(bytes, text, (size_t)length);
                vector_strings(vector)[i] = string_view_make(bytes, (size_t)length);
            }
            break;
        }
        default:
            break;
        }
    }
}
/* columns[c][row] */
static inline void fill_batch(struct budget *budget, const struct type *const *types, const int64_t *const *columns, uint32_t column_count,
                              uint32_t rows, struct batch *batch)
{
    struct error err;
    require(batch_init(batch, column_count, &err), &err);
    batch->count = rows;
    for (uint32_t c = 0; c < column_count; c++) {
        fill_column(budget, types[c], columns[c], rows, &batch->columns[c]);
    }
}

#endif
