/* JSON_ARRAYAGG and JSON_OBJECTAGG. Values are kept encoded, in order, and written as JSON when asked for. `ignore_nulls` of the call says
 * ABSENT ON NULL (the binder's default for JSON_ARRAYAGG), else NULL ON NULL (the default for JSON_OBJECTAGG). Members are sorted by name;
 * of equal names the last one stays. */
#include <stdlib.h>
#include <string.h>

#include "data/value_codec.h"
#include "functions/aggregate_entries.h"
#include "functions/aggregate_list.h"
#include "functions/json_tree.h"

static enum status put_text(const struct result_call *call, uint32_t k, const struct text_builder *text, struct error *err)
{
    char *bytes = text->bytes;
    if (text->failed) {
        return aggregate_no_room(err);
    }
    if (text->length > STRING_INLINE_BYTES) {
        bytes = string_heap_alloc(call->strings, text->length, err);
        if (bytes == NULL) {
            return err->status;
        }
        memcpy(bytes, text->bytes, text->length);
    }
    vector_strings(call->result)[k] = string_view_make(bytes, text->length);
    return STATUS_OK;
}

/* One encoded value as JSON. */
static enum status write_value(const struct result_call *call, const struct type *type, const uint8_t *value, struct text_builder *out,
                               struct error *err)
{
    struct vector one = {0};
    TRY(value_decode_column(call->evaluation->budget, type, &value, 1, &one, err));
    json_write_cell(&one, 0, call->evaluation->zone, out);
    vector_release(&one);
    return STATUS_OK;
}

static enum status array_text(const struct result_call *call, uint32_t k, struct text_builder *out, struct error *err)
{
    const struct list_data *data = call->accumulator->data;
    struct list_walk walk = list_walk_open(data, result_state(call, k));
    const uint8_t *value;
    text_builder_clear(out);
    text_append_char(out, '[');
    for (bool first = true; (value = list_walk_next(&walk)) != NULL; first = false) {
        text_append_text(out, first ? "" : ",");
        TRY(write_value(call, data->order.items.kind.type, value, out, err));
    }
    text_append_char(out, ']');
    return put_text(call, k, out, err);
}

static enum status array_value(const struct result_call *call, struct error *err)
{
    struct text_builder out = {0};
    enum status status = STATUS_OK;
    for (uint32_t k = 0; k < call->count && status == STATUS_OK; k++) {
        status = array_text(call, k, &out, err);
    }
    text_builder_close(&out);
    return status;
}

static enum status array_bind(struct aggregate_binding *binding, struct error *err)
{
    struct list_data *data;
    TRY_ALLOC(data, arena_alloc(binding->arena, sizeof *data), err);
    TRY(list_bind(binding, data, binding->ignore_nulls, err));
    binding->accumulator.value = array_value;
    binding->accumulator.result = &type_string_not_null;
    return STATUS_OK;
}

/* JSON_OBJECTAGG: a sequence of rows (key, value). */
struct object_data {
    struct sequence_order order; /* first: sequence_state_save */
    bool skip_nulls;
};
struct member {
    struct text name;
    const uint8_t *value;
    uint32_t place;
};

static enum status object_update(const struct accumulate_call *call, struct error *err)
{
    const struct object_data *data = call->accumulator->data;
    struct text_builder pair = {0};
    enum status status = STATUS_OK;
    for (uint32_t k = 0; k < call->rows.count && status == STATUS_OK; k++) {
        uint32_t row = selection_row(&call->rows, k);
        if (!vector_is_valid(call->args[0], row)) {
            status = error_set(err, ERROR_INVALID_ARGUMENT, "a key of JSON_OBJECTAGG is NULL");
            break;
        }
        if (data->skip_nulls && !vector_is_valid(call->args[1], row)) {
            continue;
        }
        text_builder_clear(&pair);
        text_append_char(&pair, 1);
        value_encode(call->args[0], row, &pair);
        value_encode(call->args[1], row, &pair);
        const struct stored value = {.view = string_view_make(pair.bytes, pair.length)};
        status = sequence_add((struct sequence *)(void *)accumulate_state(call, k), &data->order, &value, accumulate_ordinal(call, row),
                              accumulate_weight(call, row), call->heap, err);
    }
    text_builder_close(&pair);
    return status;
}

static int compare_members(const void *left, const void *right)
{
    const struct member *a = left, *b = right;
    int order = text_compare(a->name, b->name);
    return order != 0 ? order : (a->place > b->place) - (a->place < b->place);
}

static struct member read_member(const uint8_t *pair, uint32_t place)
{
    uint32_t length;
    memcpy(&length, pair + 2, sizeof length); /* after the marks of the row and of the key */
    const uint8_t *name = pair + 2 + sizeof length;
    return (struct member){{(const char *)name, length}, name + length, place};
}

static enum status write_members(const struct result_call *call, struct member *members, uint32_t count, struct text_builder *out,
                                 struct error *err)
{
    const struct object_data *data = call->accumulator->data;
    bool first = true;
    qsort(members, count, sizeof *members, compare_members);
    for (uint32_t i = 0; i < count; i++) {
        if (i + 1 < count && text_equal(members[i].name, members[i + 1].name)) {
            continue;
        }
        text_append_text(out, first ? "" : ",");
        json_write_string(members[i].name, out);
        text_append_char(out, ':');
        TRY(write_value(call, data->order.items.kind.type->children[1], members[i].value, out, err));
        first = false;
    }
    return STATUS_OK;
}

static enum status object_text(const struct result_call *call, uint32_t k, struct text_builder *out, struct error *err)
{
    const struct multiset *set = &((const struct sequence *)(const void *)result_state(call, k))->items;
    struct multiset_cursor cursor = {0};
    const struct multiset_entry *entry;
    uint32_t count = 0, total = 0;
    while (multiset_next(set, &cursor) != NULL) {
        total++;
    }
    struct member *members = malloc((total + 1) * sizeof *members);
    if (members == NULL) {
        return aggregate_no_room(err);
    }
    cursor = (struct multiset_cursor){0};
    while ((entry = multiset_next(set, &cursor)) != NULL) {
        if (entry->count > 0) {
            members[count] = read_member((const uint8_t *)string_view_bytes(&entry->value.view), count);
            count++;
        }
    }
    text_builder_clear(out);
    text_append_char(out, '{');
    enum status status = count == 0 ? STATUS_OK : write_members(call, members, count, out, err);
    text_append_char(out, '}');
    free(members);
    return status == STATUS_OK ? put_text(call, k, out, err) : status;
}

static enum status object_value(const struct result_call *call, struct error *err)
{
    struct text_builder out = {0};
    enum status status = STATUS_OK;
    for (uint32_t k = 0; k < call->count && status == STATUS_OK; k++) {
        status = object_text(call, k, &out, err);
    }
    text_builder_close(&out);
    return status;
}

static enum status object_merge(const struct accumulator *accumulator, void *into, const void *from, int64_t weight, struct slab *heap,
                                struct error *err)
{
    const struct object_data *data = accumulator->data;
    return sequence_merge(into, from, &data->order, weight, heap, err);
}

static void object_clear(const struct accumulator *accumulator, void *state, struct slab *heap)
{
    const struct object_data *data = accumulator->data;
    sequence_clear(state, &data->order, heap);
}

static enum status object_load(const struct accumulator *accumulator, void *state, const uint8_t *bytes, size_t length, struct slab *heap,
                               struct error *err)
{
    const struct sequence *sequence = state;
    struct multiset_cursor cursor = {0};
    const struct multiset_entry *entry;
    TRY(sequence_state_load(accumulator, state, bytes, length, heap, err));
    while ((entry = multiset_next(&sequence->items, &cursor)) != NULL) {
        const char *pair = string_view_bytes(&entry->value.view);
        if (pair[0] == 0 || pair[1] == 0) {
            return aggregate_corrupt(err); /* read_member takes the row and its key for values that are not NULL */
        }
    }
    return STATUS_OK;
}

static enum status object_bind(struct aggregate_binding *binding, struct error *err)
{
    static const char *const names[] = {"key", "value"};
    struct object_data *data;
    const struct type *pair;
    if (!type_is_text(binding->args[0]->type)) {
        return aggregate_refuse(binding, 0, "a text", err);
    }
    TRY_ALLOC(data, arena_alloc(binding->arena, sizeof *data), err);
    TRY_ALLOC(pair, type_row(binding->arena, 2, (const struct type *const[]){binding->args[0]->type, binding->args[1]->type}, names, false),
              err);
    data->order = sequence_order_of(value_kind_encoded(pair), binding->ordered, binding->retracts);
    data->skip_nulls = binding->ignore_nulls;
    binding->accumulator = (struct accumulator){
        .function = binding->function,
        .result = &type_string_not_null,
        .state_bytes = sizeof(struct sequence),
        .mergeable = true,
        .update = object_update,
        .value = object_value,
        .merge = object_merge,
        .clear = object_clear,
        .save = sequence_state_save,
        .load = object_load,
        .data = data,
    };
    return STATUS_OK;
}

const struct aggregate_function aggregate_json_arrayagg = {
    .name = "JSON_ARRAYAGG",
    .syntax = "JSON_ARRAYAGG(value [{ NULL | ABSENT } ON NULL])",
    .min_args = 1,
    .max_args = 1,
    .bind = array_bind,
    .summary = "All values as a JSON array, in the order of the source; NULLs are left out unless NULL ON NULL.",
    .example = "JSON_ARRAYAGG(name)",
};
const struct aggregate_function aggregate_json_objectagg = {
    .name = "JSON_OBJECTAGG",
    .syntax = "JSON_OBJECTAGG([KEY] name VALUE value [{ NULL | ABSENT } ON NULL])",
    .min_args = 2,
    .max_args = 2,
    .bind = object_bind,
    .summary = "A JSON object of names and values; a NULL value is null unless ABSENT ON NULL.",
    .example = "JSON_OBJECTAGG(KEY name VALUE price)",
};
