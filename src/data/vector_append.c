#include "data/vector_append.h"

#include <assert.h>

/* Room for `rows` values; what grows doubles. */
static enum status append_room(struct budget *budget, struct vector *target, uint32_t rows, struct error *err)
{
    size_t width = physical_bytes(target->physical);
    size_t need = (size_t)rows * width;
    if (width == 0 || (target->values_buffer != NULL && buffer_size(target->values_buffer) >= need)) {
        return STATUS_OK;
    }
    struct buffer *buffer;
    size_t doubled = target->values_buffer == NULL ? 0 : buffer_size(target->values_buffer) * 2;
    TRY(buffer_create(budget, doubled > need ? doubled : need, &buffer, err));
    void *values = buffer_bytes_mutable(buffer);
    if (target->count > 0) {
        memcpy(values, target->values, target->count * width);
    }
    buffer_unref(target->values_buffer);
    target->values_buffer = buffer;
    target->values = values;
    return STATUS_OK;
}

static bool has_nulls(const struct vector *source)
{
    return source->physical == PHYSICAL_NULL || source->validity != NULL;
}

static enum status append_validity(struct budget *budget, struct vector *target, const struct vector *source, uint32_t first,
                                   uint32_t count, struct error *err)
{
    if (target->validity == NULL && !has_nulls(source)) {
        return STATUS_OK;
    }
    uint32_t rows = target->count + count;
    bool grows = target->validity == NULL || buffer_size(target->validity_buffer) * 8 < rows;
    TRY(vector_need_validity(budget, target, grows ? rows * 2 : rows, err));
    for (uint32_t i = 0; i < count; i++) {
        if (vector_is_valid(source, first + i)) {
            vector_set_valid(target, target->count + i);
        } else {
            vector_set_null(target, target->count + i);
        }
    }
    return STATUS_OK;
}

static enum status append_elements(struct budget *budget, struct vector *target, const struct vector *source, struct span from,
                                   struct span *to, struct error *err)
{
    *to = (struct span){target->children[0].count, from.length};
    for (uint32_t child = 0; child < target->child_count && from.length > 0; child++) {
        TRY(vector_append(budget, &target->children[child], &source->children[child], from.offset, from.length, err));
    }
    return STATUS_OK;
}

static enum status append_spans(struct budget *budget, struct vector *target, const struct vector *source, uint32_t first, uint32_t count,
                                struct error *err)
{
    for (uint32_t i = 0; i < count; i++) {
        struct span from = {0}, *to = &vector_spans(target)[target->count + i];
        if (vector_is_valid(source, first + i)) {
            from = vector_spans(source)[first + i];
        }
        TRY(append_elements(budget, target, source, from, to, err));
    }
    return STATUS_OK;
}

static enum status append_fields(struct budget *budget, struct vector *target, const struct vector *source, uint32_t first, uint32_t count,
                                 struct error *err)
{
    for (uint32_t i = 0; i < target->child_count; i++) {
        const struct vector *child = source->physical == PHYSICAL_NULL ? source : &source->children[i];
        TRY(vector_append(budget, &target->children[i], child, first, count, err));
    }
    return STATUS_OK;
}

static enum status append_values(struct budget *budget, struct vector *target, const struct vector *source, uint32_t first, uint32_t count,
                                 struct error *err)
{
    size_t width = physical_bytes(target->physical);
    switch (target->physical) {
    case PHYSICAL_NULL:
        return STATUS_OK;
    case PHYSICAL_ROW:
        return append_fields(budget, target, source, first, count, err);
    case PHYSICAL_SPAN:
        return append_spans(budget, target, source, first, count, err);
    case PHYSICAL_STRING:
        TRY(vector_share_heaps(budget, target, source, err));
        break;
    default:
        break;
    }
    uint8_t *to = (uint8_t *)target->values + target->count * width;
    if (source->physical == PHYSICAL_NULL) {
        memset(to, 0, count * width);
    } else {
        assert(source->physical == target->physical);
        memcpy(to, (const uint8_t *)source->values + first * width, count * width);
    }
    return STATUS_OK;
}

enum status vector_append(struct budget *budget, struct vector *target, const struct vector *source, uint32_t first, uint32_t count,
                          struct error *err)
{
    if (count == 0) {
        return STATUS_OK;
    }
    if (count > UINT32_MAX / 2 - target->count) {
        return error_set(err, ERROR_TOO_MANY, "a column of nested values has more than %u elements", UINT32_MAX / 2);
    }
    TRY(append_room(budget, target, target->count + count, err));
    TRY(append_validity(budget, target, source, first, count, err));
    TRY(append_values(budget, target, source, first, count, err));
    target->count += count;
    return STATUS_OK;
}

enum status vector_append_null(struct budget *budget, struct vector *target, struct error *err)
{
    const struct vector null = {.type = &type_null, .physical = PHYSICAL_NULL, .count = 1};
    return vector_append(budget, target, &null, 0, 1, err);
}

void vector_clear(struct vector *vector)
{
    if (vector->physical == PHYSICAL_STRING || vector->physical == PHYSICAL_SPAN) {
        if (vector->count > 0) {
            memset(vector->values, 0, (size_t)vector->count * physical_bytes(vector->physical));
        }
    } else if (vector->physical == PHYSICAL_ROW) {
        for (uint32_t i = 0; i < vector->child_count; i++) {
            vector_clear(&vector->children[i]);
        }
    }
}

static enum status copy_validity(struct budget *budget, struct vector *target, const struct vector *source, bool one_row,
                                 struct selection rows, struct error *err)
{
    if (target->validity == NULL && !has_nulls(source)) {
        return STATUS_OK;
    }
    TRY(vector_need_validity(budget, target, target->count, err));
    for (uint32_t i = 0; i < rows.count; i++) {
        uint32_t row = selection_row(&rows, i);
        if (vector_is_valid(source, one_row ? 0 : row)) {
            vector_set_valid(target, row);
        } else {
            vector_set_null(target, row);
        }
    }
    return STATUS_OK;
}

static enum status copy_spans(struct budget *budget, struct vector *target, const struct vector *source, bool one_row,
                              struct selection rows, struct error *err)
{
    for (uint32_t i = 0; i < rows.count; i++) {
        uint32_t row = selection_row(&rows, i), from = one_row ? 0 : row;
        struct span *to = &vector_spans(target)[row];
        if (!vector_is_valid(source, from)) {
            *to = (struct span){0};
        } else if (one_row && i > 0) {
            *to = vector_spans(target)[selection_row(&rows, 0)];
        } else {
            TRY(append_elements(budget, target, source, vector_spans(source)[from], to, err));
        }
    }
    return STATUS_OK;
}

#define COPY(ctype)                                                                                                                        \
    for (uint32_t i = 0; i < rows.count; i++) {                                                                                            \
        uint32_t row = selection_row(&rows, i);                                                                                            \
        ((ctype *)to)[row] = ((const ctype *)from)[row & mask];                                                                            \
    }

/* `mask` 0 repeats the source's first row. */
static void copy_fixed(uint32_t width, const void *from, uint32_t mask, struct selection rows, void *to)
{
    switch (width) {
    case 1:
        COPY(uint8_t)
        return;
    case 2:
        COPY(uint16_t)
        return;
    case 4:
        COPY(uint32_t)
        return;
    case 8:
        COPY(uint64_t)
        return;
    default:
        COPY(uint128_t)
        return;
    }
}
#undef COPY

enum status vector_copy_rows(struct budget *budget, struct vector *target, const struct vector *source, bool one_row, struct selection rows,
                             struct error *err)
{
    if (rows.count == 0 || target->physical == PHYSICAL_NULL) {
        return STATUS_OK;
    }
    TRY(copy_validity(budget, target, source, one_row, rows, err));
    if (source->physical == PHYSICAL_NULL) {
        return STATUS_OK;
    }
    assert(source->physical == target->physical);
    switch (target->physical) {
    case PHYSICAL_SPAN:
        return copy_spans(budget, target, source, one_row, rows, err);
    case PHYSICAL_ROW:
        for (uint32_t i = 0; i < target->child_count; i++) {
            TRY(vector_copy_rows(budget, &target->children[i], &source->children[i], one_row, rows, err));
        }
        return STATUS_OK;
    case PHYSICAL_STRING:
        TRY(vector_share_heaps(budget, target, source, err));
        break;
    default:
        break;
    }
    copy_fixed(physical_bytes(target->physical), source->values, one_row ? 0 : UINT32_MAX, rows, target->values);
    return STATUS_OK;
}

enum status vector_set_row(struct budget *budget, struct vector *target, uint32_t row, const struct vector *source, uint32_t source_row,
                           struct error *err)
{
    if (!vector_is_valid(source, source_row)) {
        TRY(vector_need_validity(budget, target, target->count, err));
        if (target->physical != PHYSICAL_NULL) {
            vector_set_null(target, row);
        }
        return STATUS_OK;
    }
    size_t width = physical_bytes(target->physical);
    switch (target->physical) {
    case PHYSICAL_SPAN:
        return append_elements(budget, target, source, vector_spans(source)[source_row], &vector_spans(target)[row], err);
    case PHYSICAL_ROW:
        for (uint32_t i = 0; i < target->child_count; i++) {
            TRY(vector_set_row(budget, &target->children[i], row, &source->children[i], source_row, err));
        }
        return STATUS_OK;
    case PHYSICAL_STRING:
        TRY(vector_share_heaps(budget, target, source, err));
        break;
    default:
        break;
    }
    memcpy((uint8_t *)target->values + row * width, (const uint8_t *)source->values + source_row * width, width);
    return STATUS_OK;
}
