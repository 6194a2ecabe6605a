#include "functions/aggregate_list.h"

#include <string.h>

#include "data/value_codec.h"

static enum status appended_add(struct list_appended *list, const char *bytes, size_t length, int64_t count, struct slab *heap,
                                struct error *err)
{
    uint64_t need = list->length + length * (uint64_t)count;
    if (need > list->capacity) {
        uint64_t capacity = need < 32 ? 32 : need + need / 2;
        uint8_t *grown = slab_resize(heap, list->bytes, list->capacity, capacity);
        if (grown == NULL) {
            return aggregate_no_room(err);
        }
        list->bytes = grown;
        list->capacity = capacity;
    }
    for (int64_t i = 0; i < count; i++) {
        memcpy(list->bytes + list->length, bytes, length);
        list->length += length;
    }
    list->count += count;
    return STATUS_OK;
}

static enum status appended_update(const struct accumulate_call *call, struct error *err)
{
    const struct list_data *data = call->accumulator->data;
    struct text_builder scratch = {0};
    enum status status = STATUS_OK;
    for (uint32_t k = 0; k < call->rows.count && status == STATUS_OK; k++) {
        uint32_t row = selection_row(&call->rows, k);
        if (data->skip_nulls && !vector_is_valid(call->args[0], row)) {
            continue;
        }
        text_builder_clear(&scratch);
        value_encode(call->args[0], row, &scratch);
        status = appended_add((struct list_appended *)(void *)accumulate_state(call, k), scratch.bytes, scratch.length,
                              accumulate_weight(call, row), call->heap, err);
    }
    text_builder_close(&scratch);
    return status;
}

static void appended_clear(const struct accumulator *accumulator, void *state, struct slab *heap)
{
    (void)accumulator;
    struct list_appended *list = state;
    slab_free(heap, list->bytes, list->capacity);
    *list = (struct list_appended){0};
}

static enum status sequence_list_update(const struct accumulate_call *call, struct error *err)
{
    const struct list_data *data = call->accumulator->data;
    return sequence_update(call, &data->order, data->skip_nulls, err);
}

static enum status sequence_list_merge(const struct accumulator *accumulator, void *into, const void *from, int64_t weight,
                                       struct slab *heap, struct error *err)
{
    const struct list_data *data = accumulator->data;
    return sequence_merge(into, from, &data->order, weight, heap, err);
}

static void sequence_list_clear(const struct accumulator *accumulator, void *state, struct slab *heap)
{
    const struct list_data *data = accumulator->data;
    sequence_clear(state, &data->order, heap);
}

static void appended_save(const struct accumulator *accumulator, const void *state, struct text_builder *out)
{
    (void)accumulator;
    const struct list_appended *list = state;
    byte_append_number(out, (uint64_t)list->count);
    text_append(out, (const char *)list->bytes, list->length);
}

static enum status appended_load(const struct accumulator *accumulator, void *state, const uint8_t *bytes, size_t length, struct slab *heap,
                                 struct error *err)
{
    const struct list_data *data = accumulator->data;
    struct list_appended *list = state;
    struct byte_reader reader = byte_reader_open(bytes, length);
    uint64_t count = byte_reader_number(&reader);
    const uint8_t *values = reader.next, *next = values;
    for (uint64_t i = 0; i < count && next != NULL; i++) {
        bool skipped = data->skip_nulls && next != reader.end && *next == 0;
        next = skipped ? NULL : value_check(data->order.items.kind.type, next, reader.end);
    }
    if (reader.failed || next != reader.end) {
        return aggregate_corrupt(err);
    }
    if (count > 0) {
        TRY(appended_add(list, (const char *)values, (size_t)(next - values), 1, heap, err));
    }
    list->count = (int64_t)count;
    return STATUS_OK;
}

static enum status sequence_list_load(const struct accumulator *accumulator, void *state, const uint8_t *bytes, size_t length,
                                      struct slab *heap, struct error *err)
{
    const struct list_data *data = accumulator->data;
    const struct sequence *sequence = state;
    struct multiset_cursor cursor = {0};
    const struct multiset_entry *entry;
    TRY(sequence_state_load(accumulator, state, bytes, length, heap, err));
    while (data->skip_nulls && (entry = multiset_next(&sequence->items, &cursor)) != NULL) {
        if (*string_view_bytes(&entry->value.view) == 0) {
            return aggregate_corrupt(err); /* readers of the list take every value for one that is not NULL */
        }
    }
    return STATUS_OK;
}

enum status list_bind(struct aggregate_binding *binding, struct list_data *data, bool skip_nulls, struct error *err)
{
    (void)err;
    bool appends = binding->ordered && !binding->retracts && !binding->merges;
    *data = (struct list_data){
        .order = sequence_order_of(value_kind_encoded(binding->args[0]->type), binding->ordered, binding->retracts),
        .appends = appends,
        .skip_nulls = skip_nulls,
    };
    binding->accumulator = (struct accumulator){
        .function = binding->function,
        .state_bytes = appends ? sizeof(struct list_appended) : sizeof(struct sequence),
        .mergeable = !appends,
        .update = appends ? appended_update : sequence_list_update,
        .merge = appends ? NULL : sequence_list_merge,
        .clear = appends ? appended_clear : sequence_list_clear,
        .save = appends ? appended_save : sequence_state_save,
        .load = appends ? appended_load : sequence_list_load,
        .data = data,
    };
    return STATUS_OK;
}

struct list_walk list_walk_open(const struct list_data *data, const void *state)
{
    if (data->appends) {
        const struct list_appended *list = state;
        return (struct list_walk){.data = data, .next = list->bytes, .left = list->count};
    }
    return (struct list_walk){.data = data, .set = &((const struct sequence *)state)->items};
}

const uint8_t *list_walk_next(struct list_walk *walk)
{
    if (walk->data->appends) {
        if (walk->left == 0) {
            return NULL;
        }
        walk->left--;
        const uint8_t *value = walk->next;
        walk->next = value_skip(walk->data->order.items.kind.type, value);
        return value;
    }
    while (walk->left <= 0) {
        const struct multiset_entry *entry = multiset_next(walk->set, &walk->cursor);
        if (entry == NULL) {
            return NULL;
        }
        walk->left = entry->count;
        walk->entry = (const uint8_t *)string_view_bytes(&entry->value.view);
    }
    walk->left--;
    return walk->entry;
}
