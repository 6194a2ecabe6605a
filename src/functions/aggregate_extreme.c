/* MIN and MAX. Over inserts one value (numbers in place, others as stored values); over changes an ordered multiset. */
#include <math.h>
#include <string.h>

#include "data/value_codec.h"
#include "functions/aggregate_entries.h"
#include "functions/multiset.h"

struct extreme_small {
    uint64_t value, present; /* without padding: the state is saved as it is */
};
struct extreme_any {
    struct stored value;
    uint64_t present;
};
struct extreme_data {
    struct multiset_order order; /* first: multiset_state_save */
    bool maximum;
};

#define LESS_PLAIN(left, right) ((left) < (right))
#define LESS_REAL(left, right)  (isnan(right) ? !isnan(left) : (left) < (right))

#define NAME update_int8
#define T    int8_t
#define LESS LESS_PLAIN
#include "functions/aggregate_extreme.inc"
#define NAME update_bool
#define T    uint8_t
#define LESS LESS_PLAIN
#include "functions/aggregate_extreme.inc"
#define NAME update_int16
#define T    int16_t
#define LESS LESS_PLAIN
#include "functions/aggregate_extreme.inc"
#define NAME update_int32
#define T    int32_t
#define LESS LESS_PLAIN
#include "functions/aggregate_extreme.inc"
#define NAME update_int64
#define T    int64_t
#define LESS LESS_PLAIN
#include "functions/aggregate_extreme.inc"
#define NAME update_float
#define T    float
#define LESS LESS_REAL
#include "functions/aggregate_extreme.inc"
#define NAME update_double
#define T    double
#define LESS LESS_REAL
#include "functions/aggregate_extreme.inc"

typedef enum status update_fn(const struct accumulate_call *call, struct error *err);
static update_fn *const small_updates[PHYSICAL_COUNT] = {
    [PHYSICAL_BOOL] = update_bool,   [PHYSICAL_INT8] = update_int8,   [PHYSICAL_INT16] = update_int16,   [PHYSICAL_INT32] = update_int32,
    [PHYSICAL_INT64] = update_int64, [PHYSICAL_FLOAT] = update_float, [PHYSICAL_DOUBLE] = update_double,
};

static enum status small_value(const struct result_call *call, struct error *err)
{
    (void)err;
    enum physical physical = call->result->physical;
    uint32_t width = physical_bytes(physical);
    uint8_t *to = call->result->values;
    for (uint32_t k = 0; k < call->count; k++, to += width) {
        const struct extreme_small *state = (const struct extreme_small *)(const void *)result_state(call, k);
        value_copy_normal(physical, &state->value, to);
        if (state->present == 0) {
            vector_set_null(call->result, k);
        }
    }
    return STATUS_OK;
}

static enum status small_merge(const struct accumulator *accumulator, void *into, const void *from, int64_t weight, struct slab *heap,
                               struct error *err)
{
    (void)weight, (void)heap, (void)err;
    const struct extreme_data *data = accumulator->data;
    struct extreme_small *to = into;
    const struct extreme_small *other = from;
    if (other->present == 0) {
        return STATUS_OK;
    }
    int order = to->present != 0 ? value_compare_fixed(data->order.kind.physical, &other->value, &to->value) : 0;
    if (to->present == 0 || (data->maximum ? order > 0 : order < 0)) {
        *to = *other;
    }
    return STATUS_OK;
}

static bool any_replaces(const struct extreme_data *data, const struct extreme_any *state, const struct stored *value)
{
    if (state->present == 0) {
        return true;
    }
    int order = stored_compare(&data->order.kind, value, &state->value);
    return data->maximum ? order > 0 : order < 0;
}

static enum status any_take(const struct extreme_data *data, struct extreme_any *state, const struct stored *value, struct slab *heap,
                            struct error *err)
{
    if (!any_replaces(data, state, value)) {
        return STATUS_OK;
    }
    struct stored copy = *value;
    TRY(stored_own(&data->order.kind, heap, &copy, err));
    stored_free(&data->order.kind, heap, &state->value);
    *state = (struct extreme_any){copy, 1};
    return STATUS_OK;
}

static enum status any_update(const struct accumulate_call *call, struct error *err)
{
    const struct extreme_data *data = call->accumulator->data;
    struct text_builder scratch = {0};
    enum status status = STATUS_OK;
    for (uint32_t k = 0; k < call->rows.count && status == STATUS_OK; k++) {
        uint32_t row = selection_row(&call->rows, k);
        if (vector_is_valid(call->args[0], row)) {
            struct stored value = stored_borrow(&data->order.kind, call->args[0], row, &scratch);
            status = any_take(data, (struct extreme_any *)(void *)accumulate_state(call, k), &value, call->heap, err);
        }
    }
    text_builder_close(&scratch);
    return status;
}

static enum status write_chosen(const struct result_call *call,
                                const struct stored *(*choose)(const struct extreme_data *, const uint8_t *), struct error *err)
{
    const struct extreme_data *data = call->accumulator->data;
    const struct stored *values[CHUNK_ROWS];
    for (uint32_t k = 0; k < call->count; k++) {
        values[k] = choose(data, result_state(call, k));
    }
    return stored_write(&data->order.kind, call, values, err);
}

static const struct stored *any_choose(const struct extreme_data *data, const uint8_t *state)
{
    (void)data;
    const struct extreme_any *any = (const struct extreme_any *)(const void *)state;
    return any->present != 0 ? &any->value : NULL;
}

static enum status any_value(const struct result_call *call, struct error *err)
{
    return write_chosen(call, any_choose, err);
}

static enum status any_merge(const struct accumulator *accumulator, void *into, const void *from, int64_t weight, struct slab *heap,
                             struct error *err)
{
    (void)weight;
    const struct extreme_any *other = from;
    return other->present == 0 ? STATUS_OK : any_take(accumulator->data, into, &other->value, heap, err);
}

static void any_clear(const struct accumulator *accumulator, void *state, struct slab *heap)
{
    const struct extreme_data *data = accumulator->data;
    stored_free(&data->order.kind, heap, &((struct extreme_any *)state)->value);
}

static void any_save(const struct accumulator *accumulator, const void *state, struct text_builder *out)
{
    const struct extreme_data *data = accumulator->data;
    const struct extreme_any *any = state;
    byte_append_number(out, any->present);
    if (any->present != 0) {
        stored_save(&data->order.kind, &any->value, out);
    }
}

static enum status any_load(const struct accumulator *accumulator, void *state, const uint8_t *bytes, size_t length, struct slab *heap,
                            struct error *err)
{
    const struct extreme_data *data = accumulator->data;
    struct byte_reader reader = byte_reader_open(bytes, length);
    uint64_t present = byte_reader_number(&reader);
    struct stored value = {0};
    if (present > 1 || (present == 1 && !stored_load(&data->order.kind, &reader, &value)) || !byte_reader_ended(&reader)) {
        return aggregate_corrupt(err);
    }
    return present == 0 ? STATUS_OK : any_take(data, state, &value, heap, err);
}

static enum status set_update(const struct accumulate_call *call, struct error *err)
{
    const struct extreme_data *data = call->accumulator->data;
    struct text_builder scratch = {0};
    enum status status = STATUS_OK;
    for (uint32_t k = 0; k < call->rows.count && status == STATUS_OK; k++) {
        uint32_t row = selection_row(&call->rows, k);
        if (vector_is_valid(call->args[0], row)) {
            struct stored value = stored_borrow(&data->order.kind, call->args[0], row, &scratch);
            status = multiset_add((struct multiset *)(void *)accumulate_state(call, k), &data->order, &value, 0,
                                  accumulate_weight(call, row), call->heap, err);
        }
    }
    text_builder_close(&scratch);
    return status;
}

static const struct stored *set_choose(const struct extreme_data *data, const uint8_t *state)
{
    const struct multiset *set = (const struct multiset *)(const void *)state;
    const struct multiset_entry *entry = data->maximum ? multiset_last(set) : multiset_first(set);
    return entry == NULL ? NULL : &entry->value;
}

static enum status set_value(const struct result_call *call, struct error *err)
{
    return write_chosen(call, set_choose, err);
}

static enum status set_merge(const struct accumulator *accumulator, void *into, const void *from, int64_t weight, struct slab *heap,
                             struct error *err)
{
    const struct extreme_data *data = accumulator->data;
    return multiset_merge(into, from, &data->order, weight, heap, err);
}

static void set_clear(const struct accumulator *accumulator, void *state, struct slab *heap)
{
    const struct extreme_data *data = accumulator->data;
    multiset_clear(state, &data->order, heap);
}

static enum status extreme_bind(struct aggregate_binding *binding, bool maximum, struct error *err)
{
    const struct type *type = binding->args[0]->type;
    if (type->kind == TYPE_MAP || type->kind == TYPE_MULTISET || type->kind == TYPE_VARIANT || type->kind == TYPE_BITMAP) {
        return aggregate_refuse(binding, 0, "a value that can be compared", err);
    }
    struct extreme_data *data;
    TRY_ALLOC(data, arena_alloc(binding->arena, sizeof *data), err);
    *data = (struct extreme_data){{value_kind_of(type), false}, maximum};
    struct accumulator *accumulator = &binding->accumulator;
    *accumulator =
        (struct accumulator){.function = binding->function, .result = aggregate_nullable(binding, type), .mergeable = true, .data = data};
    if (accumulator->result == NULL) {
        return aggregate_no_room(err);
    }
    if (binding->retracts) {
        accumulator->state_bytes = sizeof(struct multiset);
        accumulator->update = set_update;
        accumulator->value = set_value;
        accumulator->merge = set_merge;
        accumulator->clear = set_clear;
        accumulator->save = multiset_state_save;
        accumulator->load = multiset_state_load;
    } else if (small_updates[data->order.kind.physical] != NULL) {
        accumulator->state_bytes = sizeof(struct extreme_small);
        accumulator->update = small_updates[data->order.kind.physical];
        accumulator->value = small_value;
        accumulator->merge = small_merge;
    } else {
        accumulator->state_bytes = sizeof(struct extreme_any);
        accumulator->update = any_update;
        accumulator->value = any_value;
        accumulator->merge = any_merge;
        accumulator->clear = any_clear;
        accumulator->save = any_save;
        accumulator->load = any_load;
    }
    return STATUS_OK;
}

static enum status minimum_bind(struct aggregate_binding *binding, struct error *err)
{
    return extreme_bind(binding, false, err);
}

static enum status maximum_bind(struct aggregate_binding *binding, struct error *err)
{
    return extreme_bind(binding, true, err);
}

const struct aggregate_function aggregate_min = {
    .name = "MIN",
    .syntax = "MIN(value)",
    .min_args = 1,
    .max_args = 1,
    .bind = minimum_bind,
    .summary = "The smallest value. NULLs are skipped.",
    .example = "MIN(price)",
};
const struct aggregate_function aggregate_max = {
    .name = "MAX",
    .syntax = "MAX(value)",
    .min_args = 1,
    .max_args = 1,
    .bind = maximum_bind,
    .summary = "The largest value; NaN is above all numbers. NULLs are skipped.",
    .example = "MAX(price)",
};
