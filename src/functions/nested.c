/* Nested values: the constructors ROW, ARRAY and MAP, element access, size; TYPEOF. */
#include <stdio.h>

#include "data/order.h"
#include "data/vector_append.h"
#include "functions/json_variant.h"
#include "functions/tables.h"

/* The fields are the arguments themselves. */
static void run_row(struct kernel_call *call)
{
    for (uint32_t i = 0; i < call->arg_count; i++) {
        struct vector *field = &call->result->children[i];
        const struct type *type = field->type;
        vector_release(field);
        if (vector_ref(call->args[i], field, kernel_error(call)) != STATUS_OK) {
            return;
        }
        field->type = type;
        field->count = call->result->count;
    }
}

static enum status bind_row(struct function_binding *binding, struct error *err)
{
    const struct type **types;
    const char **names;
    TRY_ALLOC(types, arena_alloc(binding->arena, (binding->arg_count + 1) * sizeof *types), err);
    TRY_ALLOC(names, arena_alloc(binding->arena, (binding->arg_count + 1) * sizeof *names), err);
    for (uint32_t i = 0; i < binding->arg_count; i++) {
        types[i] = binding->args[i]->type;
        TRY_ALLOC(names[i], arena_format(binding->arena, "EXPR$%u", i), err);
    }
    TRY_ALLOC(binding->result, type_row(binding->arena, binding->arg_count, types, names, false), err);
    binding->kernel = (struct kernel){.run = run_row};
    return STATUS_OK;
}

static void run_array(struct kernel_call *call)
{
    struct budget *budget = call->evaluation->budget;
    struct vector *elements = &call->result->children[0];
    for (uint32_t i = 0; i < call->rows.count; i++) {
        uint32_t row = selection_row(&call->rows, i);
        vector_spans(call->result)[row] = (struct span){elements->count, call->arg_count};
        for (uint32_t k = 0; k < call->arg_count; k++) {
            if (vector_append(budget, elements, call->args[k], row, 1, kernel_error(call)) != STATUS_OK) {
                return;
            }
        }
    }
}

static enum status bind_array(struct function_binding *binding, struct error *err)
{
    const struct type *element;
    TRY(function_coerce_common(binding, 0, 1, &element, err));
    TRY_ALLOC(binding->result, type_array(binding->arena, element, false), err);
    binding->kernel = (struct kernel){.run = run_array};
    return STATUS_OK;
}

static bool key_comes_again(const struct kernel_call *call, uint32_t key, uint32_t row)
{
    for (uint32_t later = key + 2; later < call->arg_count; later += 2) {
        if (vector_rows_equal(call->args[key], row, call->args[later], row)) {
            return true;
        }
    }
    return false;
}

/* Of equal keys the last one counts. */
static void run_map(struct kernel_call *call)
{
    struct budget *budget = call->evaluation->budget;
    struct vector *children = call->result->children;
    for (uint32_t i = 0; i < call->rows.count; i++) {
        uint32_t row = selection_row(&call->rows, i);
        struct span *span = &vector_spans(call->result)[row];
        *span = (struct span){children[0].count, 0};
        for (uint32_t k = 0; k < call->arg_count; k += 2) {
            if (key_comes_again(call, k, row)) {
                continue;
            }
            for (uint32_t side = 0; side < 2; side++) {
                if (vector_append(budget, &children[side], call->args[k + side], row, 1, kernel_error(call)) != STATUS_OK) {
                    return;
                }
            }
            span->length++;
        }
    }
}

static enum status bind_map(struct function_binding *binding, struct error *err)
{
    const struct type *key, *value;
    if (binding->arg_count % 2 != 0) {
        return function_refuse(binding, err);
    }
    TRY(function_coerce_common(binding, 0, 2, &key, err));
    TRY(function_coerce_common(binding, 1, 2, &value, err));
    TRY_ALLOC(binding->result, type_map(binding->arena, key, value, false), err);
    binding->kernel = (struct kernel){.run = run_map};
    return STATUS_OK;
}

/* Copies a row of the array's or map's elements, or leaves NULL. */
static bool set_element(struct kernel_call *call, uint32_t row, const struct vector *elements, uint32_t element)
{
    return vector_set_row(call->evaluation->budget, call->result, row, elements, element, kernel_error(call)) == STATUS_OK;
}

static void run_array_item(struct kernel_call *call)
{
    const struct vector *array = call->args[0];
    for (uint32_t i = 0; i < call->rows.count; i++) {
        uint32_t row = selection_row(&call->rows, i);
        struct span span = vector_spans(array)[row];
        int64_t index = vector_int64(call->args[1])[row];
        if (index < 1 || index > span.length) {
            kernel_set_null(call, row);
        } else if (!set_element(call, row, &array->children[0], span.offset + (uint32_t)index - 1)) {
            return;
        }
    }
}

static void run_map_item(struct kernel_call *call)
{
    const struct vector *map = call->args[0];
    for (uint32_t i = 0; i < call->rows.count; i++) {
        uint32_t row = selection_row(&call->rows, i);
        struct span span = vector_spans(map)[row];
        uint32_t entry = span.offset + span.length;
        for (uint32_t k = span.offset; k < span.offset + span.length && entry == span.offset + span.length; k++) {
            entry = vector_rows_equal(&map->children[0], k, call->args[1], row) ? k : entry;
        }
        if (entry == span.offset + span.length) {
            kernel_set_null(call, row);
        } else if (!set_element(call, row, &map->children[1], entry)) {
            return;
        }
    }
}

static enum status bind_array_item(struct function_binding *binding, struct error *err)
{
    int64_t index;
    if (!type_is_integer(binding->args[1]->type) && binding->args[1]->type->kind != TYPE_NULL) {
        return function_refuse(binding, err);
    }
    if (expression_constant_int64(binding->args[1], &index) && index < 1) {
        return error_set(err, ERROR_WRONG_ARGUMENTS, "elements of an array are counted from 1, not from %lld", (long long)index);
    }
    TRY(function_convert(binding, 1, &type_bigint, err));
    TRY_ALLOC(binding->result, type_with_nullable(binding->arena, binding->args[0]->type->children[0], true), err);
    binding->kernel = (struct kernel){.run = run_array_item, .traits = FUNCTION_STRICT | FUNCTION_NULLABLE};
    return STATUS_OK;
}

static enum status bind_map_item(struct function_binding *binding, struct error *err)
{
    const struct type *map = binding->args[0]->type, *key = map->children[0];
    const struct type *common = type_common(binding->arena, key, binding->args[1]->type);
    if (common == NULL) {
        return function_refuse(binding, err);
    }
    if (type_physical(common) != type_physical(key) || !type_fits_unchanged(key, common)) {
        const struct type *wider;
        TRY_ALLOC(wider, type_map(binding->arena, common, map->children[1], map->nullable), err);
        TRY(function_convert(binding, 0, wider, err));
    }
    TRY(function_convert(binding, 1, common, err));
    TRY_ALLOC(binding->result, type_with_nullable(binding->arena, map->children[1], true), err);
    binding->kernel = (struct kernel){.run = run_map_item, .traits = FUNCTION_STRICT | FUNCTION_NULLABLE};
    return STATUS_OK;
}

static enum status bind_item(struct function_binding *binding, struct error *err)
{
    switch (binding->args[0]->type->kind) {
    case TYPE_ARRAY:
        return bind_array_item(binding, err);
    case TYPE_MAP:
        return bind_map_item(binding, err);
    case TYPE_VARIANT:
        return variant_bind_item(binding, err);
    default:
        return function_refuse(binding, err);
    }
}

static void run_cardinality(struct kernel_call *call)
{
    for (uint32_t i = 0; i < call->rows.count; i++) {
        uint32_t row = selection_row(&call->rows, i);
        vector_int32(call->result)[row] = (int32_t)vector_spans(call->args[0])[row].length;
    }
}

/* Copies of an element count once each. */
static void run_multiset_cardinality(struct kernel_call *call)
{
    for (uint32_t i = 0; i < call->rows.count; i++) {
        uint32_t row = selection_row(&call->rows, i);
        struct span span = vector_spans(call->args[0])[row];
        int64_t total = 0;
        for (uint32_t k = span.offset; k < span.offset + span.length; k++) {
            total += vector_int32(&call->args[0]->children[1])[k];
        }
        vector_int32(call->result)[row] = (int32_t)total;
    }
}

static enum status bind_cardinality(struct function_binding *binding, struct error *err)
{
    enum type_kind kind = binding->args[0]->type->kind;
    if (kind != TYPE_ARRAY && kind != TYPE_MAP && kind != TYPE_MULTISET) {
        return function_refuse(binding, err);
    }
    binding->result = function_any_nullable(binding) ? &type_int : &type_int_not_null;
    binding->kernel = (struct kernel){.run = kind == TYPE_MULTISET ? run_multiset_cardinality : run_cardinality, .traits = FUNCTION_STRICT};
    return STATUS_OK;
}

static void run_element(struct kernel_call *call)
{
    const struct vector *array = call->args[0];
    for (uint32_t i = 0; i < call->rows.count; i++) {
        uint32_t row = selection_row(&call->rows, i);
        struct span span = vector_spans(array)[row];
        if (span.length > 1) {
            kernel_fail(call, row, ERROR_INVALID_ARGUMENT, "ELEMENT takes an array of one element, not of %u", span.length);
        } else if (span.length == 0) {
            kernel_set_null(call, row);
        } else if (!set_element(call, row, &array->children[0], span.offset)) {
            return;
        }
    }
}

static enum status bind_element(struct function_binding *binding, struct error *err)
{
    const struct type *type = binding->args[0]->type;
    if (type->kind != TYPE_ARRAY && type->kind != TYPE_MULTISET) {
        return function_refuse(binding, err);
    }
    TRY_ALLOC(binding->result, type_with_nullable(binding->arena, type->children[0], true), err);
    binding->kernel = (struct kernel){.run = run_element, .traits = FUNCTION_STRICT | FUNCTION_NULLABLE | FUNCTION_CAN_FAIL};
    return STATUS_OK;
}

static enum status bind_typeof(struct function_binding *binding, struct error *err)
{
    const char *text;
    const struct expression *constant;
    if (binding->arg_count == 2 && binding->args[1]->type->kind != TYPE_BOOLEAN) {
        return function_refuse(binding, err);
    }
    TRY_ALLOC(text, type_to_text(binding->arena, binding->args[0]->type), err);
    TRY_ALLOC(constant, expression_string(binding->arena, text_from(text)), err);
    TRY_ALLOC(binding->rewritten, expression_cast(binding->arena, constant, &type_string_not_null, false), err);
    return STATUS_OK;
}

static const struct function functions[] = {
    {"ROW", "collection", "ROW(value, ...)", "A row of the values; its fields have no names of their own.", "ROW(1, 'a')", 0, UINT32_MAX,
     bind_row},
    {"ARRAY", "collection", "ARRAY[value, ...]", "An array of the values, brought to one type.", "ARRAY[1, 2, 3]", 1, UINT32_MAX,
     bind_array},
    {"MAP", "collection", "MAP[key, value, ...]", "A map; of equal keys the last one counts.", "MAP['a', 1, 'b', 2]", 2, UINT32_MAX,
     bind_map},
    {"ITEM", "collection", "array[index]\nmap[key]\nvariant[index or name]",
     "The element at the index, counted from 1, or the value of the key; NULL when there is none.", "ARRAY[5, 6][2] = 6", 2, 2, bind_item},
    {"CARDINALITY", "collection", "CARDINALITY(array)\nCARDINALITY(map)", "The number of elements or entries.",
     "CARDINALITY(ARRAY[5, 6]) = 2", 1, 1, bind_cardinality},
    {"ELEMENT", "collection", "ELEMENT(array)", "The only element of an array; NULL when it is empty, an error when there are more.",
     "ELEMENT(ARRAY[5]) = 5", 1, 1, bind_element},
    {"TYPEOF", "type", "TYPEOF(value)\nTYPEOF(value, force_serializable)", "The type of the value as text.", "TYPEOF(1) = 'INT NOT NULL'",
     1, 2, bind_typeof},
};
const struct function_table nested_functions = {functions, ARRAY_LENGTH(functions)};
