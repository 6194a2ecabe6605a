/* LISTAGG, ARRAY_AGG, COLLECT. LISTAGG's separator is a constant: it is read from the first rows that come, or from a saved state. */
#include <stdlib.h>
#include <string.h>

#include "data/value_codec.h"
#include "functions/aggregate_entries.h"
#include "functions/aggregate_list.h"

struct listagg_data {
    struct list_data list;
    enum status (*update)(const struct accumulate_call *call, struct error *err);
    enum status (*load)(const struct accumulator *accumulator, void *state, const uint8_t *bytes, size_t length, struct slab *heap,
                        struct error *err);
    void (*save)(const struct accumulator *accumulator, const void *state, struct text_builder *out);
    struct arena *arena;
    struct text separator;
    bool known;
};

static enum status listagg_know(struct listagg_data *data, struct text separator, struct error *err)
{
    TRY_ALLOC(data->separator.bytes, arena_text(data->arena, separator.bytes, separator.length), err);
    data->separator.length = separator.length;
    data->known = true;
    return STATUS_OK;
}

static enum status listagg_learn(struct listagg_data *data, const struct accumulate_call *call, struct error *err)
{
    if (data->known || call->rows.count == 0) {
        return STATUS_OK;
    }
    uint32_t row = selection_row(&call->rows, 0);
    if (!vector_is_valid(call->args[1], row)) {
        return error_set(err, ERROR_INVALID_ARGUMENT, "the separator of LISTAGG is NULL");
    }
    return listagg_know(data, vector_get_text(call->args[1], row), err);
}

static enum status listagg_update(const struct accumulate_call *call, struct error *err)
{
    struct listagg_data *data = (struct listagg_data *)(uintptr_t)call->accumulator->data;
    TRY(listagg_learn(data, call, err));
    return data->update(call, err);
}

/* 0: not known; 1 + length, then the separator. The list follows. */
static void listagg_save(const struct accumulator *accumulator, const void *state, struct text_builder *out)
{
    const struct listagg_data *data = accumulator->data;
    byte_append_number(out, data->known ? 1 + data->separator.length : 0);
    if (data->known) {
        text_append(out, data->separator.bytes, data->separator.length);
    }
    data->save(accumulator, state, out);
}

static enum status listagg_load(const struct accumulator *accumulator, void *state, const uint8_t *bytes, size_t length, struct slab *heap,
                                struct error *err)
{
    struct listagg_data *data = (struct listagg_data *)(uintptr_t)accumulator->data;
    struct byte_reader reader = byte_reader_open(bytes, length);
    uint64_t mark = byte_reader_number(&reader);
    if (mark > 0) {
        struct text separator = {(const char *)byte_reader_take(&reader, mark - 1), mark - 1};
        if (reader.failed || (data->known && !text_equal(separator, data->separator))) {
            return aggregate_corrupt(err);
        }
        if (!data->known) {
            TRY(listagg_know(data, separator, err));
        }
    }
    return reader.failed ? aggregate_corrupt(err) : data->load(accumulator, state, reader.next, byte_reader_left(&reader), heap, err);
}

static struct text encoded_text(const uint8_t *value)
{
    uint32_t length;
    memcpy(&length, value + 1, sizeof length);
    return (struct text){(const char *)value + 1 + sizeof length, length};
}

/* Joined length, and whether there is any value. */
static bool listagg_measure(const struct listagg_data *data, const void *state, size_t *length)
{
    struct list_walk walk = list_walk_open(&data->list, state);
    const uint8_t *value;
    size_t values = 0;
    *length = 0;
    while ((value = list_walk_next(&walk)) != NULL) {
        *length += encoded_text(value).length;
        values++;
    }
    *length += values > 0 ? (values - 1) * data->separator.length : 0;
    return values > 0;
}

static void listagg_join(const struct listagg_data *data, const void *state, char *to)
{
    struct list_walk walk = list_walk_open(&data->list, state);
    const uint8_t *value;
    for (bool first = true; (value = list_walk_next(&walk)) != NULL; first = false) {
        if (!first && data->separator.length > 0) {
            memcpy(to, data->separator.bytes, data->separator.length);
            to += data->separator.length;
        }
        struct text text = encoded_text(value);
        memcpy(to, text.bytes, text.length);
        to += text.length;
    }
}

static enum status listagg_value(const struct result_call *call, struct error *err)
{
    const struct listagg_data *data = call->accumulator->data;
    for (uint32_t k = 0; k < call->count; k++) {
        const void *state = result_state(call, k);
        size_t length;
        struct string_view *view = &vector_strings(call->result)[k];
        *view = (struct string_view){0};
        if (!listagg_measure(data, state, &length)) {
            vector_set_null(call->result, k);
            continue;
        }
        if (length > STRING_LENGTH_MAX) {
            call->fail(call->owner, k, ERROR_TOO_MANY, "the text of LISTAGG is longer than 2 GiB");
            continue;
        }
        char inline_bytes[STRING_INLINE_BYTES];
        char *bytes = inline_bytes;
        if (length > STRING_INLINE_BYTES && (bytes = string_heap_alloc(call->strings, length, err)) == NULL) {
            return err->status;
        }
        listagg_join(data, state, bytes);
        *view = string_view_make(bytes, length);
    }
    return STATUS_OK;
}

static enum status listagg_bind(struct aggregate_binding *binding, struct error *err)
{
    for (uint32_t i = 0; i < binding->arg_count; i++) {
        if (!type_is_text(binding->args[i]->type)) {
            return aggregate_refuse(binding, i, "a text", err);
        }
    }
    struct listagg_data *data;
    TRY_ALLOC(data, arena_alloc(binding->arena, sizeof *data), err);
    TRY(list_bind(binding, &data->list, true, err));
    data->arena = binding->arena;
    data->separator = TEXT(",");
    data->known = binding->arg_count < 2;
    data->update = binding->accumulator.update;
    data->save = binding->accumulator.save;
    data->load = binding->accumulator.load;
    binding->accumulator.update = listagg_update;
    binding->accumulator.save = listagg_save;
    binding->accumulator.load = listagg_load;
    binding->accumulator.value = listagg_value;
    binding->accumulator.result = &type_string;
    return STATUS_OK;
}

struct cursor_list {
    const uint8_t **items;
    uint32_t count, capacity;
};

static bool cursor_list_add(struct cursor_list *list, const uint8_t *item)
{
    if (list->count == list->capacity) {
        uint32_t capacity = list->capacity == 0 ? 1024 : list->capacity * 2;
        const uint8_t **grown = realloc(list->items, capacity * sizeof *grown);
        if (grown == NULL) {
            return false;
        }
        list->items = grown;
        list->capacity = capacity;
    }
    list->items[list->count++] = item;
    return true;
}

static enum status array_agg_value(const struct result_call *call, struct error *err)
{
    const struct list_data *data = call->accumulator->data;
    struct cursor_list list = {0};
    for (uint32_t k = 0; k < call->count; k++) {
        struct list_walk walk = list_walk_open(data, result_state(call, k));
        const uint8_t *value;
        uint32_t offset = list.count;
        while ((value = list_walk_next(&walk)) != NULL) {
            if (!cursor_list_add(&list, value)) {
                free(list.items);
                return aggregate_no_room(err);
            }
        }
        vector_spans(call->result)[k] = (struct span){offset, list.count - offset};
        if (list.count == offset) {
            vector_set_null(call->result, k);
        }
    }
    vector_release(&call->result->children[0]);
    enum status status = value_decode_column(call->evaluation->budget, call->accumulator->result->children[0], list.items, list.count,
                                             &call->result->children[0], err);
    free(list.items);
    return status;
}

static enum status array_agg_bind(struct aggregate_binding *binding, struct error *err)
{
    struct list_data *data;
    TRY_ALLOC(data, arena_alloc(binding->arena, sizeof *data), err);
    TRY(list_bind(binding, data, binding->ignore_nulls, err));
    binding->accumulator.value = array_agg_value;
    TRY_ALLOC(binding->accumulator.result, type_array(binding->arena, binding->args[0]->type, true), err);
    return STATUS_OK;
}

/* COLLECT: the multiset itself. */
static enum status collect_update(const struct accumulate_call *call, struct error *err)
{
    return sequence_update(call, call->accumulator->data, true, err);
}

static enum status collect_merge(const struct accumulator *accumulator, void *into, const void *from, int64_t weight, struct slab *heap,
                                 struct error *err)
{
    return sequence_merge(into, from, accumulator->data, weight, heap, err);
}

static void collect_clear(const struct accumulator *accumulator, void *state, struct slab *heap)
{
    sequence_clear(state, accumulator->data, heap);
}

static enum status collect_counts(const struct result_call *call, uint32_t total, struct error *err)
{
    struct vector *counts = &call->result->children[1];
    vector_release(counts);
    TRY(vector_create(call->evaluation->budget, &type_int_not_null, total, counts, err));
    uint32_t at = 0;
    for (uint32_t k = 0; k < call->count; k++) {
        const struct multiset *set = &((const struct sequence *)(const void *)result_state(call, k))->items;
        struct multiset_cursor cursor = {0};
        const struct multiset_entry *entry;
        while ((entry = multiset_next(set, &cursor)) != NULL) {
            if (entry->count > 0) {
                vector_int32(counts)[at++] = (int32_t)entry->count;
            }
        }
    }
    return STATUS_OK;
}

static enum status collect_value(const struct result_call *call, struct error *err)
{
    struct cursor_list list = {0};
    for (uint32_t k = 0; k < call->count; k++) {
        const struct multiset *set = &((const struct sequence *)(const void *)result_state(call, k))->items;
        struct multiset_cursor cursor = {0};
        const struct multiset_entry *entry;
        uint32_t offset = list.count;
        while ((entry = multiset_next(set, &cursor)) != NULL) {
            if (entry->count > 0 && !cursor_list_add(&list, (const uint8_t *)string_view_bytes(&entry->value.view))) {
                free(list.items);
                return aggregate_no_room(err);
            }
        }
        vector_spans(call->result)[k] = (struct span){offset, list.count - offset};
    }
    uint32_t total = list.count;
    vector_release(&call->result->children[0]);
    enum status status = value_decode_column(call->evaluation->budget, call->accumulator->result->children[0], list.items, total,
                                             &call->result->children[0], err);
    free(list.items);
    return status != STATUS_OK ? status : collect_counts(call, total, err);
}

static enum status collect_bind(struct aggregate_binding *binding, struct error *err)
{
    struct sequence_order *order;
    TRY_ALLOC(order, arena_alloc(binding->arena, sizeof *order), err);
    *order = sequence_order_of(value_kind_encoded(binding->args[0]->type), false, true);
    binding->accumulator = (struct accumulator){
        .function = binding->function,
        .state_bytes = sizeof(struct sequence),
        .mergeable = true,
        .invertible = true,
        .update = collect_update,
        .value = collect_value,
        .merge = collect_merge,
        .clear = collect_clear,
        .save = sequence_state_save,
        .load = sequence_state_load,
        .data = order,
    };
    TRY_ALLOC(binding->accumulator.result, type_multiset(binding->arena, binding->args[0]->type, false), err);
    return STATUS_OK;
}

const struct aggregate_function aggregate_listagg = {
    .name = "LISTAGG",
    .syntax = "LISTAGG([DISTINCT] text [, separator])",
    .min_args = 1,
    .max_args = 2,
    .bind = listagg_bind,
    .summary = "The texts joined in the order of the source, by a comma or the constant separator. NULLs are skipped.",
    .example = "LISTAGG(name, '; ')",
};
const struct aggregate_function aggregate_array_agg = {
    .name = "ARRAY_AGG",
    .syntax = "ARRAY_AGG([DISTINCT] value [IGNORE NULLS])",
    .min_args = 1,
    .max_args = 1,
    .bind = array_agg_bind,
    .summary = "All values as an array, in the order of the source. NULL when there is none.",
    .example = "ARRAY_AGG(name)",
};
const struct aggregate_function aggregate_collect = {
    .name = "COLLECT",
    .syntax = "COLLECT([DISTINCT] value)",
    .min_args = 1,
    .max_args = 1,
    .bind = collect_bind,
    .summary = "All values as a multiset. NULLs are skipped.",
    .example = "COLLECT(name)",
};
