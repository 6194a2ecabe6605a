/* Functions over maps. Keys, values and entries are the map's own children: only spans are copied. */
#include "data/order.h"
#include "data/vector_append.h"
#include "functions/tables.h"

static void copy_spans(struct kernel_call *call)
{
    for (uint32_t i = 0; i < call->rows.count; i++) {
        uint32_t row = selection_row(&call->rows, i);
        vector_spans(call->result)[row] = vector_spans(call->args[0])[row];
    }
}

static bool share_child(struct kernel_call *call, const struct vector *from, struct vector *to)
{
    const struct type *type = to->type;
    vector_release(to);
    if (vector_ref(from, to, kernel_error(call)) != STATUS_OK) {
        return false;
    }
    to->type = type;
    return true;
}

static void run_side(struct kernel_call *call)
{
    uint32_t side = *(const uint32_t *)call->data;
    if (share_child(call, &call->args[0]->children[side], &call->result->children[0])) {
        copy_spans(call);
    }
}

static void run_entries(struct kernel_call *call)
{
    struct vector *entries = &call->result->children[0];
    entries->count = call->args[0]->children[0].count;
    for (uint32_t side = 0; side < 2; side++) {
        if (!share_child(call, &call->args[0]->children[side], &entries->children[side])) {
            return;
        }
        entries->children[side].count = entries->count;
    }
    copy_spans(call);
}

/* Whether entry `index` of argument `arg` is overruled by a later entry with the same key. */
static bool is_overruled(const struct kernel_call *call, uint32_t row, uint32_t arg, uint32_t entry)
{
    const struct vector *keys = &call->args[arg]->children[0];
    for (uint32_t later = arg + 1; later < call->arg_count; later++) {
        struct span span = vector_spans(call->args[later])[row];
        for (uint32_t i = span.offset; i < span.offset + span.length; i++) {
            if (vector_rows_equal(keys, entry, &call->args[later]->children[0], i)) {
                return true;
            }
        }
    }
    return false;
}

static bool append_entry(struct kernel_call *call, const struct vector *keys, uint32_t key, const struct vector *values, uint32_t value)
{
    struct vector *children = call->result->children;
    struct budget *budget = call->evaluation->budget;
    return vector_append(budget, &children[0], keys, key, 1, kernel_error(call)) == STATUS_OK &&
           vector_append(budget, &children[1], values, value, 1, kernel_error(call)) == STATUS_OK;
}

static void run_union(struct kernel_call *call)
{
    for (uint32_t i = 0; i < call->rows.count; i++) {
        uint32_t row = selection_row(&call->rows, i), before = call->result->children[0].count;
        for (uint32_t arg = 0; arg < call->arg_count; arg++) {
            const struct vector *map = call->args[arg];
            struct span span = vector_spans(map)[row];
            for (uint32_t k = span.offset; k < span.offset + span.length; k++) {
                if (!is_overruled(call, row, arg, k) && !append_entry(call, &map->children[0], k, &map->children[1], k)) {
                    return;
                }
            }
        }
        vector_spans(call->result)[row] = (struct span){before, call->result->children[0].count - before};
    }
}

static bool key_comes_again(const struct vector *keys, uint32_t key, uint32_t end)
{
    for (uint32_t later = key + 1; later < end; later++) {
        if (vector_rows_equal(keys, key, keys, later)) {
            return true;
        }
    }
    return false;
}

static void run_from_arrays(struct kernel_call *call)
{
    const struct vector *keys = &call->args[0]->children[0], *values = &call->args[1]->children[0];
    for (uint32_t i = 0; i < call->rows.count; i++) {
        uint32_t row = selection_row(&call->rows, i), before = call->result->children[0].count;
        struct span key_span = vector_spans(call->args[0])[row], value_span = vector_spans(call->args[1])[row];
        if (key_span.length != value_span.length) {
            kernel_fail(call, row, ERROR_INVALID_ARGUMENT, "MAP_FROM_ARRAYS takes arrays of one length, not of %u keys and %u values",
                        key_span.length, value_span.length);
            continue;
        }
        for (uint32_t k = 0; k < key_span.length; k++) {
            if (!key_comes_again(keys, key_span.offset + k, key_span.offset + key_span.length) &&
                !append_entry(call, keys, key_span.offset + k, values, value_span.offset + k)) {
                return;
            }
        }
        vector_spans(call->result)[row] = (struct span){before, call->result->children[0].count - before};
    }
}

static enum status bind_side(struct function_binding *binding, const uint32_t *side, struct error *err)
{
    const struct type *map = binding->args[0]->type;
    if (map->kind != TYPE_MAP) {
        return function_refuse(binding, err);
    }
    TRY_ALLOC(binding->result, type_array(binding->arena, map->children[*side], map->nullable), err);
    binding->kernel = (struct kernel){.run = run_side, .traits = FUNCTION_STRICT, .data = side};
    return STATUS_OK;
}

static enum status bind_keys(struct function_binding *binding, struct error *err)
{
    static const uint32_t side = 0;
    return bind_side(binding, &side, err);
}

static enum status bind_values(struct function_binding *binding, struct error *err)
{
    static const uint32_t side = 1;
    return bind_side(binding, &side, err);
}

static enum status bind_entries(struct function_binding *binding, struct error *err)
{
    static const char *const names[] = {"key", "value"};
    const struct type *map = binding->args[0]->type, *entry;
    if (map->kind != TYPE_MAP) {
        return function_refuse(binding, err);
    }
    TRY_ALLOC(entry, type_row(binding->arena, 2, map->children, names, true), err);
    TRY_ALLOC(binding->result, type_array(binding->arena, entry, map->nullable), err);
    binding->kernel = (struct kernel){.run = run_entries, .traits = FUNCTION_STRICT};
    return STATUS_OK;
}

static enum status bind_union(struct function_binding *binding, struct error *err)
{
    const struct type *common;
    bool nullable = function_any_nullable(binding);
    for (uint32_t i = 0; i < binding->arg_count; i++) {
        enum type_kind kind = binding->args[i]->type->kind;
        if (kind != TYPE_MAP && kind != TYPE_NULL) {
            return function_refuse(binding, err);
        }
    }
    TRY(function_coerce_common(binding, 0, 1, &common, err));
    if (common->kind != TYPE_MAP) {
        return function_refuse(binding, err);
    }
    TRY_ALLOC(binding->result, type_with_nullable(binding->arena, common, nullable), err);
    binding->kernel = (struct kernel){.run = run_union, .traits = FUNCTION_STRICT};
    return STATUS_OK;
}

static enum status bind_from_arrays(struct function_binding *binding, struct error *err)
{
    const struct type *keys = binding->args[0]->type, *values = binding->args[1]->type;
    if (keys->kind != TYPE_ARRAY || values->kind != TYPE_ARRAY) {
        return function_refuse(binding, err);
    }
    TRY_ALLOC(binding->result, type_map(binding->arena, keys->children[0], values->children[0], function_any_nullable(binding)), err);
    binding->kernel = (struct kernel){.run = run_from_arrays, .traits = FUNCTION_STRICT | FUNCTION_CAN_FAIL};
    return STATUS_OK;
}

static const struct function functions[] = {
    {"MAP_KEYS", "collection", "MAP_KEYS(map)", "The keys as an array.", "MAP_KEYS(MAP['a', 1]) = ARRAY['a']", 1, 1, bind_keys},
    {"MAP_VALUES", "collection", "MAP_VALUES(map)", "The values as an array, in the order of MAP_KEYS.",
     "MAP_VALUES(MAP['a', 1]) = ARRAY[1]", 1, 1, bind_values},
    {"MAP_ENTRIES", "collection", "MAP_ENTRIES(map)", "The entries as an array of rows of key and value.",
     "MAP_ENTRIES(MAP['a', 1])[1].key = 'a'", 1, 1, bind_entries},
    {"MAP_FROM_ARRAYS", "collection", "MAP_FROM_ARRAYS(keys, values)",
     "A map of two arrays of one length; of equal keys the last one counts.", "MAP_FROM_ARRAYS(ARRAY['a'], ARRAY[1])['a'] = 1", 2, 2,
     bind_from_arrays},
    {"MAP_UNION", "collection", "MAP_UNION(map, ...)", "All entries; of equal keys that of the last map counts.",
     "MAP_UNION(MAP['a', 1], MAP['a', 2])['a'] = 2", 1, UINT32_MAX, bind_union},
};
const struct function_table map_functions = {functions, ARRAY_LENGTH(functions)};
