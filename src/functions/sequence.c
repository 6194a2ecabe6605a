#include "functions/sequence.h"

struct sequence_order sequence_order_of(struct value_kind kind, bool ordered, bool retracts)
{
    return (struct sequence_order){{kind, ordered}, {kind, false}, ordered && retracts};
}

static enum status add_both(struct sequence *sequence, const struct sequence_order *order, const struct stored *value, int64_t ordinal,
                            int64_t weight, struct slab *heap, struct error *err)
{
    TRY(multiset_add(&sequence->items, &order->items, value, ordinal, weight, heap, err));
    return order->indexed ? multiset_add(&sequence->by_value, &order->by_value, value, ordinal, weight, heap, err) : STATUS_OK;
}

enum status sequence_add(struct sequence *sequence, const struct sequence_order *order, const struct stored *value, int64_t ordinal,
                         int64_t weight, struct slab *heap, struct error *err)
{
    if (!order->indexed) {
        return multiset_add(&sequence->items, &order->items, value, order->items.by_ordinal ? ordinal : 0, weight, heap, err);
    }
    /* First against the earliest equal value of the other sign. */
    const struct multiset_entry *entry;
    while (weight != 0 && (entry = multiset_find_value(&sequence->by_value, &order->by_value, value)) != NULL &&
           (entry->count > 0) == (weight < 0)) {
        int64_t room = -entry->count;
        int64_t part = (weight < 0 ? weight < room : weight > room) ? room : weight;
        TRY(add_both(sequence, order, value, entry->ordinal, part, heap, err));
        weight -= part;
    }
    if (weight == 0) {
        return STATUS_OK;
    }
    return add_both(sequence, order, value, weight < 0 ? INT64_MIN : ordinal, weight, heap, err);
}

enum status sequence_merge(struct sequence *into, const struct sequence *from, const struct sequence_order *order, int64_t weight,
                           struct slab *heap, struct error *err)
{
    struct multiset_cursor cursor = {0};
    const struct multiset_entry *entry;
    while ((entry = multiset_next(&from->items, &cursor)) != NULL) {
        TRY(add_both(into, order, &entry->value, entry->ordinal, entry->count * weight, heap, err));
    }
    return STATUS_OK;
}

void sequence_clear(struct sequence *sequence, const struct sequence_order *order, struct slab *heap)
{
    multiset_clear(&sequence->items, &order->items, heap);
    multiset_clear(&sequence->by_value, &order->by_value, heap);
}

enum status sequence_update(const struct accumulate_call *call, const struct sequence_order *order, bool skip_nulls, struct error *err)
{
    struct text_builder scratch = {0};
    enum status status = STATUS_OK;
    for (uint32_t k = 0; k < call->rows.count && status == STATUS_OK; k++) {
        uint32_t row = selection_row(&call->rows, k);
        if (skip_nulls && !vector_is_valid(call->args[0], row)) {
            continue;
        }
        struct stored value = stored_borrow(&order->items.kind, call->args[0], row, &scratch);
        status = sequence_add((struct sequence *)(void *)accumulate_state(call, k), order, &value, accumulate_ordinal(call, row),
                              accumulate_weight(call, row), call->heap, err);
    }
    text_builder_close(&scratch);
    return status;
}

void sequence_save(const struct sequence *sequence, const struct sequence_order *order, struct text_builder *out)
{
    multiset_save(&sequence->items, &order->items, out);
}

enum status sequence_load(struct sequence *sequence, const struct sequence_order *order, struct byte_reader *reader, struct slab *heap,
                          struct error *err)
{
    TRY(multiset_load(&sequence->items, &order->items, reader, heap, err));
    struct multiset_cursor cursor = {0};
    const struct multiset_entry *entry;
    while (order->indexed && (entry = multiset_next(&sequence->items, &cursor)) != NULL) {
        TRY(multiset_add(&sequence->by_value, &order->by_value, &entry->value, entry->ordinal, entry->count, heap, err));
    }
    return STATUS_OK;
}

void sequence_state_save(const struct accumulator *accumulator, const void *state, struct text_builder *out)
{
    sequence_save(state, accumulator->data, out);
}

enum status sequence_state_load(const struct accumulator *accumulator, void *state, const uint8_t *bytes, size_t length, struct slab *heap,
                                struct error *err)
{
    struct byte_reader reader = byte_reader_open(bytes, length);
    TRY(sequence_load(state, accumulator->data, &reader, heap, err));
    return byte_reader_ended(&reader) ? STATUS_OK : aggregate_corrupt(err);
}
