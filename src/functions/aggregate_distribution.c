/* APPROX_COUNT_DISTINCT (exact here) and PERCENTILE, over a multiset of the values. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/decimal.h"
#include "functions/aggregate_entries.h"
#include "functions/multiset.h"

struct distinct_state {
    struct multiset values;
    int64_t distinct; /* values with a positive count */
};

static enum status distinct_add(struct distinct_state *state, const struct multiset_order *order, const struct stored *value,
                                int64_t weight, struct slab *heap, struct error *err)
{
    const struct multiset_entry *entry = multiset_find_value(&state->values, order, value);
    int64_t before = entry == NULL ? 0 : entry->count;
    state->distinct += (before + weight > 0) - (before > 0);
    return multiset_add(&state->values, order, value, 0, weight, heap, err);
}

static enum status distinct_update(const struct accumulate_call *call, struct error *err)
{
    const struct multiset_order *order = call->accumulator->data;
    struct text_builder scratch = {0};
    enum status status = STATUS_OK;
    for (uint32_t k = 0; k < call->rows.count && status == STATUS_OK; k++) {
        uint32_t row = selection_row(&call->rows, k);
        if (vector_is_valid(call->args[0], row)) {
            struct stored value = stored_borrow(&order->kind, call->args[0], row, &scratch);
            status = distinct_add((struct distinct_state *)(void *)accumulate_state(call, k), order, &value, accumulate_weight(call, row),
                                  call->heap, err);
        }
    }
    text_builder_close(&scratch);
    return status;
}

static enum status distinct_value(const struct result_call *call, struct error *err)
{
    (void)err;
    for (uint32_t k = 0; k < call->count; k++) {
        vector_int64(call->result)[k] = ((const struct distinct_state *)(const void *)result_state(call, k))->distinct;
    }
    return STATUS_OK;
}

static enum status distinct_merge(const struct accumulator *accumulator, void *into, const void *from, int64_t weight, struct slab *heap,
                                  struct error *err)
{
    struct multiset_cursor cursor = {0};
    const struct multiset_entry *entry;
    while ((entry = multiset_next(&((const struct distinct_state *)from)->values, &cursor)) != NULL) {
        TRY(distinct_add(into, accumulator->data, &entry->value, entry->count * weight, heap, err));
    }
    return STATUS_OK;
}

static void values_clear(const struct accumulator *accumulator, void *state, struct slab *heap)
{
    multiset_clear(state, accumulator->data, heap); /* the multiset and its order come first in state and data */
}

static enum status distinct_load(const struct accumulator *accumulator, void *state, const uint8_t *bytes, size_t length, struct slab *heap,
                                 struct error *err)
{
    struct distinct_state *distinct = state;
    struct multiset_cursor cursor = {0};
    const struct multiset_entry *entry;
    TRY(multiset_state_load(accumulator, &distinct->values, bytes, length, heap, err));
    while ((entry = multiset_next(&distinct->values, &cursor)) != NULL) {
        distinct->distinct += entry->count > 0;
    }
    return STATUS_OK;
}

static enum status distinct_bind(struct aggregate_binding *binding, struct error *err)
{
    struct multiset_order *order;
    TRY_ALLOC(order, arena_alloc(binding->arena, sizeof *order), err);
    *order = (struct multiset_order){value_kind_of(binding->args[0]->type), false};
    binding->accumulator = (struct accumulator){
        .function = binding->function,
        .result = &type_bigint_not_null,
        .state_bytes = sizeof(struct distinct_state),
        .mergeable = true,
        .invertible = true,
        .update = distinct_update,
        .value = distinct_value,
        .merge = distinct_merge,
        .clear = values_clear,
        .save = multiset_state_save, /* the multiset comes first in the state */
        .load = distinct_load,
        .data = order,
    };
    return STATUS_OK;
}

enum { FRACTIONS_MAX = 1024 };
struct percentile_data {
    struct multiset_order order; /* first: values_clear */
    struct arena *arena;
    bool array, known, weighted;
    uint32_t count;
    double *fractions; /* constants, read from the first rows that come, or from a saved state */
};

static double number_at(const struct vector *vector, uint32_t row)
{
    struct value_kind kind = value_kind_of(vector->type);
    struct stored value = stored_borrow(&kind, vector, row, NULL);
    return stored_to_double(&kind, &value);
}

static enum status fractions_check(const struct percentile_data *data, struct error *err)
{
    for (uint32_t i = 0; i < data->count; i++) {
        if (!(data->fractions[i] >= 0 && data->fractions[i] <= 1)) {
            return error_set(err, ERROR_INVALID_ARGUMENT, "the fraction %g of PERCENTILE is not between 0 and 1", data->fractions[i]);
        }
    }
    return STATUS_OK;
}

static enum status fractions_read(struct percentile_data *data, const struct vector *vector, uint32_t row, struct error *err)
{
    const struct vector *numbers = vector;
    struct span span = {row, 1};
    if (!vector_is_valid(vector, row)) {
        return error_set(err, ERROR_INVALID_ARGUMENT, "the fraction of PERCENTILE is NULL");
    }
    if (data->array) {
        span = vector_spans(vector)[row];
        numbers = &vector->children[0];
    }
    if (span.length > FRACTIONS_MAX) {
        return error_set(err, ERROR_TOO_MANY, "%u fractions of PERCENTILE; the limit is %d", span.length, FRACTIONS_MAX);
    }
    TRY_ALLOC(data->fractions, arena_alloc(data->arena, (span.length + 1) * sizeof(double)), err);
    for (uint32_t i = 0; i < span.length; i++) {
        if (!vector_is_valid(numbers, span.offset + i)) {
            return error_set(err, ERROR_INVALID_ARGUMENT, "a fraction of PERCENTILE is NULL");
        }
        data->fractions[i] = number_at(numbers, span.offset + i);
    }
    data->count = span.length;
    data->known = true;
    return fractions_check(data, err);
}

static enum status percentile_update(const struct accumulate_call *call, struct error *err)
{
    struct percentile_data *data = (struct percentile_data *)(uintptr_t)call->accumulator->data;
    const struct vector *frequency = data->weighted ? call->args[2] : NULL;
    if (!data->known && call->rows.count > 0) {
        TRY(fractions_read(data, call->args[1], selection_row(&call->rows, 0), err));
    }
    for (uint32_t k = 0; k < call->rows.count; k++) {
        uint32_t row = selection_row(&call->rows, k);
        if (!vector_is_valid(call->args[0], row) || (frequency != NULL && !vector_is_valid(frequency, row))) {
            continue;
        }
        int64_t times = frequency == NULL ? 1 : (int64_t)vector_get_integer(frequency, row);
        if (times <= 0) {
            continue;
        }
        struct stored value = stored_borrow(&data->order.kind, call->args[0], row, NULL);
        TRY(multiset_add((struct multiset *)(void *)accumulate_state(call, k), &data->order, &value, 0,
                         times * accumulate_weight(call, row), call->heap, err));
    }
    return STATUS_OK;
}

/* The value at position `at` (from 0) of the sorted values. */
static double value_at(const struct percentile_data *data, const struct multiset *set, int64_t at)
{
    struct multiset_cursor cursor = {0};
    const struct multiset_entry *entry;
    double value = 0;
    while ((entry = multiset_next(set, &cursor)) != NULL) {
        if (entry->count > 0) {
            value = stored_to_double(&data->order.kind, &entry->value);
            at -= entry->count;
            if (at < 0) {
                break;
            }
        }
    }
    return value;
}

static double percentile_of(const struct percentile_data *data, const struct multiset *set, double fraction)
{
    double place = (double)(set->total - 1) * fraction;
    double low = floor(place);
    double lower = value_at(data, set, (int64_t)low);
    if (place == low) {
        return lower;
    }
    double upper = value_at(data, set, (int64_t)low + 1);
    return lower == upper ? lower : (low + 1 - place) * lower + (place - low) * upper;
}

static enum status percentile_array_value(const struct result_call *call, struct error *err)
{
    const struct percentile_data *data = call->accumulator->data;
    struct vector *numbers = &call->result->children[0];
    vector_release(numbers);
    TRY(vector_create(call->evaluation->budget, call->accumulator->result->children[0], call->count * data->count, numbers, err));
    for (uint32_t k = 0; k < call->count; k++) {
        const struct multiset *set = (const struct multiset *)(const void *)result_state(call, k);
        vector_spans(call->result)[k] = (struct span){k * data->count, set->total > 0 ? data->count : 0};
        for (uint32_t i = 0; i < data->count; i++) {
            vector_double(numbers)[k * data->count + i] = set->total > 0 ? percentile_of(data, set, data->fractions[i]) : 0;
        }
        if (set->total <= 0) {
            vector_set_null(call->result, k);
        }
    }
    return STATUS_OK;
}

static enum status percentile_value(const struct result_call *call, struct error *err)
{
    const struct percentile_data *data = call->accumulator->data;
    if (data->array) {
        return percentile_array_value(call, err);
    }
    for (uint32_t k = 0; k < call->count; k++) {
        const struct multiset *set = (const struct multiset *)(const void *)result_state(call, k);
        vector_double(call->result)[k] = set->total > 0 ? percentile_of(data, set, data->fractions[0]) : 0;
        if (set->total <= 0) {
            vector_set_null(call->result, k);
        }
    }
    return STATUS_OK;
}

static enum status percentile_merge(const struct accumulator *accumulator, void *into, const void *from, int64_t weight, struct slab *heap,
                                    struct error *err)
{
    return multiset_merge(into, from, accumulator->data, weight, heap, err);
}

/* 0: not known; 1 + number of fractions, then they. The values follow. */
static void percentile_save(const struct accumulator *accumulator, const void *state, struct text_builder *out)
{
    const struct percentile_data *data = accumulator->data;
    byte_append_number(out, data->known ? 1 + (uint64_t)data->count : 0);
    if (data->known) {
        text_append(out, (const char *)data->fractions, data->count * sizeof(double));
    }
    multiset_save(state, &data->order, out);
}

static enum status fractions_load(struct percentile_data *data, struct byte_reader *reader, struct error *err)
{
    uint64_t mark = byte_reader_number(reader);
    if (mark == 0) {
        return reader->failed ? aggregate_corrupt(err) : STATUS_OK;
    }
    size_t bytes = (size_t)(mark - 1) * sizeof(double);
    const uint8_t *fractions = mark - 1 > FRACTIONS_MAX ? NULL : byte_reader_take(reader, bytes);
    if (fractions == NULL || (!data->array && mark != 2)) {
        return aggregate_corrupt(err);
    }
    if (data->known) {
        bool same = data->count == mark - 1 && memcmp(data->fractions, fractions, bytes) == 0;
        return same ? STATUS_OK : aggregate_corrupt(err);
    }
    TRY_ALLOC(data->fractions, arena_alloc(data->arena, bytes + sizeof(double)), err);
    memcpy(data->fractions, fractions, bytes);
    data->count = (uint32_t)(mark - 1);
    data->known = fractions_check(data, err) == STATUS_OK;
    return data->known ? STATUS_OK : aggregate_corrupt(err);
}

static enum status percentile_load(const struct accumulator *accumulator, void *state, const uint8_t *bytes, size_t length,
                                   struct slab *heap, struct error *err)
{
    struct percentile_data *data = (struct percentile_data *)(uintptr_t)accumulator->data;
    struct byte_reader reader = byte_reader_open(bytes, length);
    TRY(fractions_load(data, &reader, err));
    TRY(multiset_load(state, &data->order, &reader, heap, err));
    bool whole = byte_reader_ended(&reader) && (data->known || ((const struct multiset *)state)->block_count == 0);
    return whole ? STATUS_OK : aggregate_corrupt(err);
}

static enum status percentile_check_types(const struct aggregate_binding *binding, bool *array, struct error *err)
{
    const struct type *fraction = binding->args[1]->type;
    *array = fraction->kind == TYPE_ARRAY;
    if (!type_is_numeric(binding->args[0]->type)) {
        return aggregate_refuse(binding, 0, "a number", err);
    }
    if (!type_is_numeric(*array ? fraction->children[0] : fraction)) {
        return aggregate_refuse(binding, 1, "a number between 0 and 1 or an array of them", err);
    }
    if (binding->arg_count > 2 && !type_is_integer(binding->args[2]->type)) {
        return aggregate_refuse(binding, 2, "an integer", err);
    }
    return STATUS_OK;
}

static enum status percentile_bind(struct aggregate_binding *binding, struct error *err)
{
    struct percentile_data *data;
    TRY_ALLOC(data, arena_alloc(binding->arena, sizeof *data), err);
    data->arena = binding->arena;
    data->weighted = binding->arg_count > 2;
    data->order = (struct multiset_order){value_kind_of(binding->args[0]->type), false};
    TRY(percentile_check_types(binding, &data->array, err));
    if (binding->args[1]->kind == EXPRESSION_CONSTANT) {
        TRY(fractions_read(data, binding->args[1]->constant, 0, err));
    }
    binding->accumulator = (struct accumulator){
        .function = binding->function,
        .result = &type_double,
        .state_bytes = sizeof(struct multiset),
        .mergeable = true,
        .invertible = true,
        .update = percentile_update,
        .value = percentile_value,
        .merge = percentile_merge,
        .clear = values_clear,
        .save = percentile_save,
        .load = percentile_load,
        .data = data,
    };
    if (data->array) {
        TRY_ALLOC(binding->accumulator.result, type_array(binding->arena, &type_double, true), err);
    }
    return STATUS_OK;
}

const struct aggregate_function aggregate_approx_count_distinct = {
    .name = "APPROX_COUNT_DISTINCT",
    .syntax = "APPROX_COUNT_DISTINCT(value)",
    .min_args = 1,
    .max_args = 1,
    .bind = distinct_bind,
    .summary = "The number of different values that are not NULL; exact.",
    .example = "APPROX_COUNT_DISTINCT(user_id)",
};
const struct aggregate_function aggregate_percentile = {
    .name = "PERCENTILE",
    .syntax = "PERCENTILE(number, fraction [, frequency])",
    .min_args = 2,
    .max_args = 3,
    .bind = percentile_bind,
    .summary = "The value below which the fraction of the values lies, interpolated; for an array of fractions an array.",
    .example = "PERCENTILE(price, 0.5)",
};
