#include "functions/stored_value.h"

#include <stdlib.h>
#include <string.h>

#include "data/decimal.h"
#include "data/value_codec.h"

enum status aggregate_no_room(struct error *err)
{
    return error_set(err, ERROR_BUDGET_SPENT, "no room for the state of an aggregate");
}

enum status aggregate_corrupt(struct error *err)
{
    return error_set(err, ERROR_STATE_CORRUPT, "the saved state of an aggregate is damaged");
}

enum status aggregate_refuse(const struct aggregate_binding *binding, uint32_t arg, const char *wanted, struct error *err)
{
    const char *type = type_to_text(binding->arena, binding->args[arg]->type);
    return error_set(err, ERROR_TYPE_MISMATCH, "%s takes %s as argument %u, not %s", binding->function->name, wanted, arg + 1,
                     type == NULL ? "this type" : type);
}

const struct type *aggregate_nullable(const struct aggregate_binding *binding, const struct type *type)
{
    return type->nullable ? type : type_with_nullable(binding->arena, type, true);
}

struct value_kind value_kind_of(const struct type *type)
{
    enum physical physical = type_physical(type);
    bool encoded = physical == PHYSICAL_SPAN || physical == PHYSICAL_ROW || physical == PHYSICAL_NULL;
    return (struct value_kind){type, physical, encoded ? 16 : physical_bytes(physical), physical == PHYSICAL_STRING, encoded};
}

struct value_kind value_kind_encoded(const struct type *type)
{
    return (struct value_kind){type, type_physical(type), 16, false, true};
}

struct stored stored_borrow(const struct value_kind *kind, const struct vector *vector, uint32_t row, struct text_builder *scratch)
{
    struct stored value = {0};
    if (kind->encoded) {
        text_builder_clear(scratch);
        value_encode(vector, row, scratch);
        value.view = string_view_make(scratch->bytes, scratch->length);
    } else if (kind->text) {
        value.view = vector_strings(vector)[row];
    } else {
        value_copy_normal(kind->physical, (const uint8_t *)vector->values + (size_t)row * kind->width, value.words);
    }
    return value;
}

static bool is_view(const struct value_kind *kind)
{
    return kind->text || kind->encoded;
}

enum status stored_own(const struct value_kind *kind, struct slab *heap, struct stored *value, struct error *err)
{
    if (!is_view(kind) || value->view.length <= STRING_INLINE_BYTES) {
        return STATUS_OK;
    }
    char *bytes = slab_alloc(heap, value->view.length);
    if (bytes == NULL) {
        return aggregate_no_room(err);
    }
    memcpy(bytes, value->view.bytes, value->view.length);
    value->view.bytes = bytes;
    return STATUS_OK;
}

void stored_free(const struct value_kind *kind, struct slab *heap, struct stored *value)
{
    if (is_view(kind) && value->view.length > STRING_INLINE_BYTES) {
        slab_free(heap, (void *)(uintptr_t)value->view.bytes, value->view.length);
    }
    *value = (struct stored){0};
}

void stored_save(const struct value_kind *kind, const struct stored *value, struct text_builder *out)
{
    if (is_view(kind)) {
        byte_append_number(out, value->view.length);
        text_append(out, string_view_bytes(&value->view), value->view.length);
    } else {
        text_append(out, (const char *)value->words, kind->width);
    }
}

bool stored_load(const struct value_kind *kind, struct byte_reader *reader, struct stored *value)
{
    *value = (struct stored){0};
    uint64_t length = is_view(kind) ? byte_reader_number(reader) : kind->width;
    const uint8_t *bytes = byte_reader_take(reader, length);
    if (bytes == NULL || (is_view(kind) && length > (kind->text ? (uint64_t)STRING_LENGTH_MAX : UINT32_MAX)) ||
        (kind->encoded && value_check(kind->type, bytes, bytes + length) != bytes + length)) {
        return false;
    }
    if (is_view(kind)) {
        value->view = string_view_make((const char *)bytes, length);
    } else {
        value_copy_normal(kind->physical, bytes, value->words);
    }
    return true;
}

int stored_compare(const struct value_kind *kind, const struct stored *left, const struct stored *right)
{
    if (kind->encoded) {
        return value_compare(kind->type, (const uint8_t *)string_view_bytes(&left->view), (const uint8_t *)string_view_bytes(&right->view));
    }
    return kind->text ? string_view_compare(&left->view, &right->view) : value_compare_fixed(kind->physical, left->words, right->words);
}

double stored_to_double(const struct value_kind *kind, const struct stored *value)
{
    struct stored copy = *value;
    struct vector one = {.type = kind->type, .physical = kind->physical, .count = 1, .values = copy.words};
    if (kind->physical == PHYSICAL_DOUBLE) {
        return *vector_double(&one);
    }
    if (kind->physical == PHYSICAL_FLOAT) {
        return (double)*vector_float(&one);
    }
    int128_t integer = vector_get_integer(&one, 0);
    return kind->type->kind == TYPE_DECIMAL ? decimal_to_double(integer, kind->type->scale) : (double)integer;
}

static enum status write_encoded(const struct value_kind *kind, const struct result_call *call, const struct stored *const *values,
                                 struct error *err)
{
    const uint8_t **cursors = malloc((call->count + 1) * sizeof *cursors);
    if (cursors == NULL) {
        return aggregate_no_room(err);
    }
    for (uint32_t k = 0; k < call->count; k++) {
        cursors[k] = values[k] == NULL ? NULL : (const uint8_t *)string_view_bytes(&values[k]->view);
    }
    vector_release(call->result);
    enum status status = value_decode_column(call->evaluation->budget, kind->type, cursors, call->count, call->result, err);
    free(cursors);
    return status;
}

static enum status write_text(const struct result_call *call, uint32_t k, const struct stored *value, struct error *err)
{
    struct string_view view = value->view;
    if (view.length > STRING_INLINE_BYTES) {
        char *bytes = string_heap_alloc(call->strings, view.length, err);
        if (bytes == NULL) {
            return err->status;
        }
        memcpy(bytes, view.bytes, view.length);
        view.bytes = bytes;
    }
    vector_strings(call->result)[k] = view;
    return STATUS_OK;
}

enum status stored_write(const struct value_kind *kind, const struct result_call *call, const struct stored *const *values,
                         struct error *err)
{
    if (kind->encoded) {
        return write_encoded(kind, call, values, err);
    }
    uint8_t *to = call->result->values;
    for (uint32_t k = 0; k < call->count; k++, to += kind->width) {
        if (values[k] == NULL) {
            vector_set_null(call->result, k);
            memset(to, 0, kind->width);
        } else if (kind->text) {
            TRY(write_text(call, k, values[k], err));
        } else {
            memcpy(to, values[k]->words, kind->width);
        }
    }
    return STATUS_OK;
}
