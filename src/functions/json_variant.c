/* PARSE_JSON, TRY_PARSE_JSON, and access to the parts of a VARIANT. */
#include "functions/json_variant.h"

#include <stdlib.h>

#include "functions/json_tree.h"
#include "functions/tables.h"
#include "functions/time_functions.h"

struct scratch {
    struct arena *arena;
    struct text_builder text;
};

static bool scratch_open(struct kernel_call *call, struct scratch *scratch)
{
    *scratch = (struct scratch){.arena = arena_create(call->evaluation->budget, "JSON texts")};
    if (scratch->arena == NULL && call->rows.count > 0) {
        kernel_fail(call, selection_row(&call->rows, 0), ERROR_BUDGET_SPENT, "no room to read JSON");
    }
    return scratch->arena != NULL;
}

static void scratch_close(struct scratch *scratch)
{
    arena_destroy(scratch->arena);
    text_builder_close(&scratch->text);
}

static void put_value(struct kernel_call *call, uint32_t row, struct scratch *scratch, const struct json_value *value)
{
    text_builder_clear(&scratch->text);
    json_write(value, &scratch->text);
    size_t length = scratch->text.length;
    const char *bytes = scratch->text.bytes;
    if (length > STRING_INLINE_BYTES) {
        char *copy = kernel_alloc(call, length);
        if (copy == NULL) {
            return;
        }
        bytes = memcpy(copy, bytes, length);
    }
    vector_strings(call->result)[row] = string_view_make(bytes, length);
}

static void run_parse(struct kernel_call *call)
{
    bool lenient = *(const bool *)call->data;
    struct scratch scratch;
    if (!scratch_open(call, &scratch)) {
        return;
    }
    TIME_EACH_ROW(call, row)
    {
        struct text text = vector_get_text(call->args[0], row);
        arena_reset(scratch.arena);
        const struct json_value *value = json_parse(scratch.arena, text);
        if (value != NULL) {
            put_value(call, row, &scratch, value);
        } else if (lenient) {
            kernel_set_null(call, row);
        } else {
            kernel_fail(call, row, ERROR_INVALID_ARGUMENT, "'%.*s' is no JSON", (int)(text.length > 100 ? 100 : text.length), text.bytes);
        }
    }
    scratch_close(&scratch);
}

static enum status bind_parse_as(struct function_binding *binding, const bool *lenient, struct error *err)
{
    TRY(function_coerce(binding, 0, &type_string, err));
    bool nullable = *lenient || function_any_nullable(binding);
    TRY_ALLOC(binding->result, type_make(binding->arena, TYPE_VARIANT, 0, 0, nullable), err);
    binding->kernel =
        (struct kernel){.run = run_parse, .traits = FUNCTION_STRICT | (*lenient ? FUNCTION_NULLABLE : FUNCTION_CAN_FAIL), .data = lenient};
    return STATUS_OK;
}

static enum status bind_parse(struct function_binding *binding, struct error *err)
{
    static const bool lenient = false;
    return bind_parse_as(binding, &lenient, err);
}

static enum status bind_try_parse(struct function_binding *binding, struct error *err)
{
    static const bool lenient = true;
    return bind_parse_as(binding, &lenient, err);
}

static const struct json_value *find_part(const struct json_value *whole, const struct vector *key, uint32_t row)
{
    const struct json_value *found = NULL;
    if (key->physical == PHYSICAL_STRING) {
        struct text name = vector_get_text(key, row);
        for (const struct json_value *at = whole->kind == JSON_OBJECT ? whole->first : NULL; at != NULL; at = at->next) {
            found = text_equal(at->name, name) ? at : found;
        }
        return found;
    }
    int64_t index = vector_int64(key)[row];
    if (whole->kind == JSON_ARRAY && index >= 1 && index <= whole->count) {
        for (found = whole->first; index > 1; index--) {
            found = found->next;
        }
    }
    return found;
}

static void run_item(struct kernel_call *call)
{
    struct scratch scratch;
    if (!scratch_open(call, &scratch)) {
        return;
    }
    TIME_EACH_ROW(call, row)
    {
        arena_reset(scratch.arena);
        const struct json_value *whole = json_parse(scratch.arena, vector_get_text(call->args[0], row));
        const struct json_value *part = whole == NULL ? NULL : find_part(whole, call->args[1], row);
        if (part == NULL) {
            kernel_set_null(call, row);
        } else {
            put_value(call, row, &scratch, part);
        }
    }
    scratch_close(&scratch);
}

enum status variant_bind_item(struct function_binding *binding, struct error *err)
{
    TRY(function_coerce(binding, 1, type_is_text(binding->args[1]->type) ? &type_string : &type_bigint, err));
    TRY_ALLOC(binding->result, type_make(binding->arena, TYPE_VARIANT, 0, 0, true), err);
    binding->kernel = (struct kernel){.run = run_item, .traits = FUNCTION_STRICT | FUNCTION_NULLABLE};
    return STATUS_OK;
}

static const struct function functions[] = {
    {"PARSE_JSON", "JSON", "PARSE_JSON(text)", "The VARIANT of a JSON text; fails when it is no JSON.", "PARSE_JSON('{\"a\":1}')", 1, 1,
     bind_parse},
    {"TRY_PARSE_JSON", "JSON", "TRY_PARSE_JSON(text)", "The VARIANT of a JSON text; NULL when it is no JSON.", "TRY_PARSE_JSON('{')", 1, 1,
     bind_try_parse},
};

const struct function_table json_variant_functions = {functions, ARRAY_LENGTH(functions)};
