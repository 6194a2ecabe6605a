/* FIRST_VALUE and LAST_VALUE (the value that is not NULL of the first or last row), SINGLE_VALUE (of a scalar subquery: its one row).
 * Over inserts one value with its ordinal; over changes the sequence of values. Rows without an order count by value. */
#include <string.h>

#include "functions/aggregate_entries.h"
#include "functions/sequence.h"

struct first_state {
    struct stored value;
    int64_t ordinal;
    uint64_t present;
};
struct first_data {
    struct sequence_order order; /* first: sequence_state_save */
    bool last;
};

static enum status first_take(const struct first_data *data, struct first_state *state, const struct stored *value, int64_t ordinal,
                              struct slab *heap, struct error *err)
{
    const struct value_kind *kind = &data->order.items.kind;
    if (state->present != 0) {
        int order = (ordinal > state->ordinal) - (ordinal < state->ordinal);
        order = order != 0 ? order : stored_compare(kind, value, &state->value);
        if (data->last ? order <= 0 : order >= 0) {
            return STATUS_OK;
        }
    }
    struct stored copy = *value;
    TRY(stored_own(kind, heap, &copy, err));
    stored_free(kind, heap, &state->value);
    *state = (struct first_state){copy, ordinal, 1};
    return STATUS_OK;
}

static enum status first_update(const struct accumulate_call *call, struct error *err)
{
    const struct first_data *data = call->accumulator->data;
    struct text_builder scratch = {0};
    enum status status = STATUS_OK;
    for (uint32_t k = 0; k < call->rows.count && status == STATUS_OK; k++) {
        uint32_t row = selection_row(&call->rows, k);
        if (vector_is_valid(call->args[0], row)) {
            struct stored value = stored_borrow(&data->order.items.kind, call->args[0], row, &scratch);
            int64_t ordinal = data->order.items.by_ordinal ? accumulate_ordinal(call, row) : 0;
            status = first_take(data, (struct first_state *)(void *)accumulate_state(call, k), &value, ordinal, call->heap, err);
        }
    }
    text_builder_close(&scratch);
    return status;
}

static enum status first_value(const struct result_call *call, struct error *err)
{
    const struct first_data *data = call->accumulator->data;
    const struct stored *values[CHUNK_ROWS];
    for (uint32_t k = 0; k < call->count; k++) {
        const struct first_state *state = (const struct first_state *)(const void *)result_state(call, k);
        values[k] = state->present != 0 ? &state->value : NULL;
    }
    return stored_write(&data->order.items.kind, call, values, err);
}

static enum status first_merge(const struct accumulator *accumulator, void *into, const void *from, int64_t weight, struct slab *heap,
                               struct error *err)
{
    (void)weight;
    const struct first_state *other = from;
    return other->present == 0 ? STATUS_OK : first_take(accumulator->data, into, &other->value, other->ordinal, heap, err);
}

static void first_clear(const struct accumulator *accumulator, void *state, struct slab *heap)
{
    const struct first_data *data = accumulator->data;
    stored_free(&data->order.items.kind, heap, &((struct first_state *)state)->value);
}

static void first_save(const struct accumulator *accumulator, const void *state, struct text_builder *out)
{
    const struct first_data *data = accumulator->data;
    const struct first_state *first = state;
    byte_append_number(out, first->present);
    if (first->present != 0) {
        byte_append_signed(out, first->ordinal);
        stored_save(&data->order.items.kind, &first->value, out);
    }
}

static enum status first_load(const struct accumulator *accumulator, void *state, const uint8_t *bytes, size_t length, struct slab *heap,
                              struct error *err)
{
    const struct first_data *data = accumulator->data;
    struct byte_reader reader = byte_reader_open(bytes, length);
    uint64_t present = byte_reader_number(&reader);
    int64_t ordinal = present == 1 ? byte_reader_signed(&reader) : 0;
    struct stored value = {0};
    if (present > 1 || (present == 1 && !stored_load(&data->order.items.kind, &reader, &value)) || !byte_reader_ended(&reader)) {
        return aggregate_corrupt(err);
    }
    return present == 0 ? STATUS_OK : first_take(data, state, &value, ordinal, heap, err);
}

static enum status changing_update(const struct accumulate_call *call, struct error *err)
{
    return sequence_update(call, &((const struct first_data *)call->accumulator->data)->order, true, err);
}

static enum status changing_value(const struct result_call *call, struct error *err)
{
    const struct first_data *data = call->accumulator->data;
    const struct stored *values[CHUNK_ROWS];
    for (uint32_t k = 0; k < call->count; k++) {
        const struct sequence *sequence = (const struct sequence *)(const void *)result_state(call, k);
        const struct multiset_entry *entry = data->last ? multiset_last(&sequence->items) : multiset_first(&sequence->items);
        values[k] = entry == NULL ? NULL : &entry->value;
    }
    return stored_write(&data->order.items.kind, call, values, err);
}

static enum status changing_merge(const struct accumulator *accumulator, void *into, const void *from, int64_t weight, struct slab *heap,
                                  struct error *err)
{
    const struct first_data *data = accumulator->data;
    return sequence_merge(into, from, &data->order, weight, heap, err);
}

static void changing_clear(const struct accumulator *accumulator, void *state, struct slab *heap)
{
    const struct first_data *data = accumulator->data;
    sequence_clear(state, &data->order, heap);
}

static enum status first_or_last_bind(struct aggregate_binding *binding, bool last, struct error *err)
{
    struct first_data *data;
    TRY_ALLOC(data, arena_alloc(binding->arena, sizeof *data), err);
    *data = (struct first_data){
        .order = sequence_order_of(value_kind_of(binding->args[0]->type), binding->ordered, binding->retracts),
        .last = last,
    };
    bool changing = binding->retracts;
    binding->accumulator = (struct accumulator){
        .function = binding->function,
        .result = aggregate_nullable(binding, binding->args[0]->type),
        .state_bytes = changing ? sizeof(struct sequence) : sizeof(struct first_state),
        .mergeable = true,
        .update = changing ? changing_update : first_update,
        .value = changing ? changing_value : first_value,
        .merge = changing ? changing_merge : first_merge,
        .clear = changing ? changing_clear : first_clear,
        .save = changing ? sequence_state_save : first_save,
        .load = changing ? sequence_state_load : first_load,
        .data = data,
    };
    return binding->accumulator.result == NULL ? aggregate_no_room(err) : STATUS_OK;
}

static enum status first_bind(struct aggregate_binding *binding, struct error *err)
{
    return first_or_last_bind(binding, false, err);
}

static enum status last_bind(struct aggregate_binding *binding, struct error *err)
{
    return first_or_last_bind(binding, true, err);
}

/* SINGLE_VALUE keeps all rows by value, NULL too: the one that stands at the end need not be the one that came first. */
static enum status single_update(const struct accumulate_call *call, struct error *err)
{
    return sequence_update(call, &((const struct first_data *)call->accumulator->data)->order, false, err);
}

static enum status single_value(const struct result_call *call, struct error *err)
{
    const struct first_data *data = call->accumulator->data;
    const struct stored *values[CHUNK_ROWS];
    for (uint32_t k = 0; k < call->count; k++) {
        const struct multiset *set = &((const struct sequence *)(const void *)result_state(call, k))->items;
        const struct multiset_entry *entry = multiset_first(set);
        values[k] = entry == NULL ? NULL : &entry->value;
        if (set->total > 1) {
            call->fail(call->owner, k, ERROR_CARDINALITY, "a scalar subquery returned more than one row");
        }
    }
    return stored_write(&data->order.items.kind, call, values, err);
}

static enum status single_bind(struct aggregate_binding *binding, struct error *err)
{
    struct first_data *data;
    TRY_ALLOC(data, arena_alloc(binding->arena, sizeof *data), err);
    data->order = sequence_order_of(value_kind_encoded(binding->args[0]->type), false, true);
    binding->accumulator = (struct accumulator){
        .function = binding->function,
        .result = aggregate_nullable(binding, binding->args[0]->type),
        .state_bytes = sizeof(struct sequence),
        .mergeable = true,
        .invertible = true,
        .update = single_update,
        .value = single_value,
        .merge = changing_merge,
        .clear = changing_clear,
        .save = sequence_state_save,
        .load = sequence_state_load,
        .data = data,
    };
    return binding->accumulator.result == NULL ? aggregate_no_room(err) : STATUS_OK;
}

const struct aggregate_function aggregate_first_value = {
    .name = "FIRST_VALUE",
    .syntax = "FIRST_VALUE(value)",
    .min_args = 1,
    .max_args = 1,
    .bind = first_bind,
    .summary = "The first value that is not NULL, in the order of the source.",
    .example = "FIRST_VALUE(price)",
};
const struct aggregate_function aggregate_last_value = {
    .name = "LAST_VALUE",
    .syntax = "LAST_VALUE(value)",
    .min_args = 1,
    .max_args = 1,
    .bind = last_bind,
    .summary = "The last value that is not NULL, in the order of the source.",
    .example = "LAST_VALUE(price)",
};
const struct aggregate_function aggregate_single_value = {
    .name = "SINGLE_VALUE",
    .syntax = "SINGLE_VALUE(value)",
    .min_args = 1,
    .max_args = 1,
    .bind = single_bind,
    .summary = "The value of the only row; an error when there are more.",
    .example = "SINGLE_VALUE(price)",
};
