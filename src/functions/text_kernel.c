#include "functions/text_kernel.h"

#include <stdlib.h>
#include <string.h>

static enum status bind_arg(struct function_binding *binding, uint32_t index, char kind, struct error *err)
{
    const struct type *type = binding->args[index]->type;
    bool null = type->kind == TYPE_NULL;
    switch (kind) {
    case 't':
        return null || type_is_text(type) ? function_coerce(binding, index, &type_string, err) : function_refuse(binding, err);
    case 'b':
        return null                                         ? function_coerce(binding, index, &type_string, err)
               : type_is_text(type) || type_is_binary(type) ? STATUS_OK
                                                            : function_refuse(binding, err);
    case 'y':
        return null || type_is_binary(type) ? function_coerce(binding, index, &type_bytes, err) : function_refuse(binding, err);
    case 'i':
        return null || type_is_integer(type) ? function_convert(binding, index, &type_bigint, err) : function_refuse(binding, err);
    case 'd':
        return null || type_is_numeric(type) ? function_convert(binding, index, &type_double, err) : function_refuse(binding, err);
    case 'o':
        return null || type->kind == TYPE_BOOLEAN ? function_convert(binding, index, &type_boolean, err) : function_refuse(binding, err);
    default:
        return STATUS_OK;
    }
}

enum status text_bind_args(struct function_binding *binding, const char *kinds, struct error *err)
{
    size_t last = strlen(kinds) - 1;
    for (uint32_t i = 0; i < binding->arg_count; i++) {
        TRY(bind_arg(binding, i, kinds[i < last ? i : last], err));
    }
    return STATUS_OK;
}

enum status text_bind(struct function_binding *binding, const char *kinds, const struct type *result, kernel_fn *run, uint32_t traits,
                      struct error *err)
{
    TRY(text_bind_args(binding, kinds, err));
    bool nullable = (traits & FUNCTION_NULLABLE) != 0 || function_any_nullable(binding);
    TRY_ALLOC(binding->result, type_with_nullable(binding->arena, result, nullable), err);
    binding->kernel = (struct kernel){.run = run, .traits = FUNCTION_STRICT | traits};
    return STATUS_OK;
}

const struct type *text_varying(struct function_binding *binding)
{
    const struct type *type = binding->args[0]->type;
    return type_is_text(type) ? type_varchar(binding->arena, type->precision, type->nullable) : &type_string;
}

bool text_put(struct kernel_call *call, uint32_t row, const char *bytes, size_t length)
{
    if (length > STRING_INLINE_BYTES) {
        char *room = kernel_alloc(call, length);
        if (room == NULL) {
            return false;
        }
        memcpy(room, bytes, length);
        bytes = room;
    }
    vector_strings(call->result)[row] = string_view_make(bytes, length);
    return true;
}

bool text_share(struct kernel_call *call, uint32_t index)
{
    return vector_share_heaps(call->evaluation->budget, call->result, call->args[index], kernel_error(call)) == STATUS_OK;
}

struct text_builder *text_scratch(struct kernel_call *call)
{
    if (*call->scratch == NULL) {
        *call->scratch = calloc(1, sizeof(struct text_builder));
    }
    if (*call->scratch == NULL) {
        (void)error_set(kernel_error(call), ERROR_BUDGET_SPENT, "no room for a text");
    } else {
        text_builder_clear(*call->scratch);
    }
    return *call->scratch;
}

void text_scratch_free(void *scratch)
{
    if (scratch != NULL) {
        text_builder_close(scratch);
        free(scratch);
    }
}

bool text_put_scratch(struct kernel_call *call, uint32_t row, struct text_builder *text)
{
    if (text->failed) {
        (void)error_set(kernel_error(call), ERROR_BUDGET_SPENT, "no room for a text");
        return false;
    }
    return text_put(call, row, text->length == 0 ? "" : text->bytes, text->length);
}

size_t text_find(struct text text, struct text part, size_t from)
{
    if (from > text.length) {
        return SIZE_MAX;
    }
    if (part.length == 0) {
        return from;
    }
    const char *found = memmem(text.bytes + from, text.length - from, part.bytes, part.length);
    return found == NULL ? SIZE_MAX : (size_t)(found - text.bytes);
}
