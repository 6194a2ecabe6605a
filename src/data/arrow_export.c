/* Batches as Arrow arrays. Columns whose layout is Arrow's are shared; the others are converted into buffers of their own:
 * booleans into bitmaps, views into views with offsets, spans into offsets and sizes, milliseconds, wide decimals. */
#include <stdlib.h>
#include <string.h>

#include "data/arrow.h"
#include "data/vector_append.h"

enum { BUFFERS_MAX = 4, HEAPS_MAX = 64 };

struct exported {
    struct buffer *held[BUFFERS_MAX + HEAPS_MAX];
    uint32_t held_count;
    const void *buffers[BUFFERS_MAX + HEAPS_MAX];
    struct ArrowArray **children;
};

struct export
{
    struct budget *budget;
    const char *column; /* for messages */
    struct error *err;
};

static void array_release(struct ArrowArray *array)
{
    struct exported *exported = array->private_data;
    for (int64_t i = 0; i < array->n_children; i++) {
        if (array->children[i] != NULL && array->children[i]->release != NULL) {
            array->children[i]->release(array->children[i]);
        }
        free(array->children[i]);
    }
    for (uint32_t i = 0; i < exported->held_count; i++) {
        buffer_unref(exported->held[i]);
    }
    free(exported->children);
    free(exported);
    array->release = NULL;
}

static enum status no_memory(struct export *export)
{
    return error_set(export->err, ERROR_BUDGET_SPENT, "the system has no memory for an Arrow array");
}

/* A new buffer that ends with the array. */
static enum status add_buffer(struct export *export, struct ArrowArray *array, size_t bytes, void **memory)
{
    struct exported *exported = array->private_data;
    struct buffer *buffer;
    TRY(buffer_create(export->budget, bytes, &buffer, export->err));
    exported->held[exported->held_count++] = buffer;
    *memory = buffer_bytes_mutable(buffer);
    exported->buffers[array->n_buffers++] = *memory;
    return STATUS_OK;
}

/* Counted memory is shared; lent memory might not live as long as the array. */
static enum status share_buffer(struct export *export, struct ArrowArray *array, const void *bytes, struct buffer *owner, size_t size)
{
    struct exported *exported = array->private_data;
    if (bytes != NULL && owner == NULL) {
        void *copy;
        TRY(add_buffer(export, array, size, &copy));
        memcpy(copy, bytes, size);
        return STATUS_OK;
    }
    if (owner != NULL) {
        exported->held[exported->held_count++] = buffer_ref(owner);
    }
    exported->buffers[array->n_buffers++] = bytes;
    return STATUS_OK;
}

static enum status begin_array(struct export *export, struct ArrowArray *array, const struct vector *vector)
{
    struct exported *exported = calloc(1, sizeof *exported);
    *array = (struct ArrowArray){.length = vector->count, .private_data = exported};
    if (exported == NULL) {
        return no_memory(export);
    }
    array->release = array_release;
    array->buffers = exported->buffers;
    array->null_count = 0;
    for (uint32_t row = 0; vector->validity != NULL && row < vector->count; row++) {
        array->null_count += !vector_is_valid(vector, row);
    }
    if (vector->physical == PHYSICAL_NULL) {
        array->null_count = vector->count;
        return STATUS_OK;
    }
    return share_buffer(export, array, vector->validity, vector->validity_buffer, (size_t)(vector->count + 63) / 64 * 8);
}

static enum status add_children(struct export *export, struct ArrowArray *array, uint32_t count)
{
    struct exported *exported = array->private_data;
    array->children = exported->children = calloc(count + 1, sizeof *exported->children);
    if (array->children == NULL) {
        return no_memory(export);
    }
    for (uint32_t i = 0; i < count; i++) {
        array->children[i] = calloc(1, sizeof *array->children[i]);
        if (array->children[i] == NULL) {
            return no_memory(export);
        }
        array->n_children = i + 1;
    }
    return STATUS_OK;
}

static enum status export_vector(struct export *export, const struct vector *vector, const struct type *type, struct ArrowArray *array);

static enum status export_booleans(struct export *export, const struct vector *vector, struct ArrowArray *array)
{
    void *memory;
    size_t bytes = (size_t)(vector->count + 63) / 64 * 8;
    TRY(add_buffer(export, array, bytes, &memory));
    memset(memory, 0, bytes);
    for (uint32_t row = 0; row < vector->count; row++) {
        ((uint8_t *)memory)[row / 8] |= (uint8_t)(vector_bool(vector)[row] << (row % 8));
    }
    return STATUS_OK;
}

/* Long texts are copied together, block by block of less than 2 GiB. */
static enum status export_strings(struct export *export, const struct vector *vector, struct ArrowArray *array)
{
    struct arrow_view {
        int32_t length;
        char prefix[4];
        int32_t buffer, offset;
    } * views;
    int64_t sizes[HEAPS_MAX] = {0}, *stored_sizes;
    void *memory;
    uint32_t heaps = 0, heap = 0;
    const struct string_view *from = vector_strings(vector);
    for (uint32_t row = 0; row < vector->count; row++) {
        uint32_t length = vector_is_valid(vector, row) && from[row].length > STRING_INLINE_BYTES ? from[row].length : 0;
        if (length > 0 && (heaps == 0 || sizes[heaps - 1] + length > INT32_MAX)) {
            if (++heaps >= HEAPS_MAX - 1) {
                return error_set(export->err, ERROR_VALUE_UNWRITABLE, "the texts of column '%s' are too long for one Arrow array",
                                 export->column);
            }
        }
        sizes[heaps == 0 ? 0 : heaps - 1] += length;
    }
    TRY(add_buffer(export, array, vector->count * sizeof *views, &memory));
    views = memory;
    char *heap_bytes[HEAPS_MAX];
    for (uint32_t i = 0; i < heaps; i++) {
        TRY(add_buffer(export, array, (size_t)sizes[i], &memory));
        heap_bytes[i] = memory;
    }
    TRY(add_buffer(export, array, (heaps + 1) * sizeof *stored_sizes, &memory));
    stored_sizes = memory;
    memcpy(stored_sizes, sizes, heaps * sizeof *sizes);
    int64_t used = 0;
    for (uint32_t row = 0; row < vector->count; row++) {
        if (!vector_is_valid(vector, row)) {
            views[row] = (struct arrow_view){0};
        } else if (from[row].length <= STRING_INLINE_BYTES) {
            memcpy(&views[row], &from[row], sizeof views[row]);
        } else {
            if (used + from[row].length > sizes[heap]) {
                heap++;
                used = 0;
            }
            memcpy(heap_bytes[heap] + used, from[row].bytes, from[row].length);
            views[row] = (struct arrow_view){.length = (int32_t)from[row].length, .buffer = (int32_t)heap, .offset = (int32_t)used};
            memcpy(views[row].prefix, from[row].prefix, 4);
            used += from[row].length;
        }
    }
    return STATUS_OK;
}

static enum status export_decimals(struct export *export, const struct vector *vector, struct ArrowArray *array)
{
    void *memory;
    TRY(add_buffer(export, array, vector->count * sizeof(int128_t), &memory));
    for (uint32_t row = 0; row < vector->count; row++) {
        ((int128_t *)memory)[row] = vector_int64(vector)[row];
    }
    return STATUS_OK;
}

static enum status export_timestamps(struct export *export, const struct vector *vector, struct ArrowArray *array)
{
    void *memory;
    TRY(add_buffer(export, array, vector->count * sizeof(int64_t), &memory));
    int64_t *to = memory;
    for (uint32_t row = 0; row < vector->count; row++) {
        int128_t value = vector_is_valid(vector, row) ? vector_get_integer(vector, row) : 0;
        if (vector->physical == PHYSICAL_INT64) {
            int64_t us = (int64_t)value;
            to[row] = us / 1000 - (us % 1000 < 0);
        } else if (value != (int64_t)value) {
            return error_set(export->err, ERROR_VALUE_UNWRITABLE,
                             "a time in column '%s' is beyond what Arrow's 64-bit nanoseconds hold (years 1677 to 2262)", export->column);
        } else {
            to[row] = (int64_t)value;
        }
    }
    return STATUS_OK;
}

static enum status export_list(struct export *export, const struct vector *vector, const struct type *type, struct ArrowArray *array)
{
    void *memory[2];
    TRY(add_buffer(export, array, vector->count * sizeof(int32_t), &memory[0]));
    TRY(add_buffer(export, array, vector->count * sizeof(int32_t), &memory[1]));
    for (uint32_t row = 0; row < vector->count; row++) {
        struct span span = vector_is_valid(vector, row) ? vector_spans(vector)[row] : (struct span){0};
        ((int32_t *)memory[0])[row] = (int32_t)span.offset;
        ((int32_t *)memory[1])[row] = (int32_t)span.length;
    }
    TRY(add_children(export, array, 1));
    return export_vector(export, &vector->children[0], type->children[0], array->children[0]);
}

/* Arrow's maps have no sizes: entries are put one after the other. */
static enum status export_map(struct export *export, const struct vector *vector, const struct type *type, struct ArrowArray *array)
{
    void *memory;
    TRY(add_buffer(export, array, (vector->count + 1) * sizeof(int32_t), &memory));
    int32_t *offsets = memory;
    const struct type *fields[] = {type->children[0], type->kind == TYPE_MULTISET ? &type_int_not_null : type->children[1]};
    const struct type entries = {.kind = TYPE_ROW, .child_count = 2, .children = fields};
    struct vector packed;
    TRY(vector_create(export->budget, &entries, 0, &packed, export->err));
    enum status status = STATUS_OK;
    offsets[0] = 0;
    for (uint32_t row = 0; row < vector->count && status == STATUS_OK; row++) {
        struct span span = vector_is_valid(vector, row) ? vector_spans(vector)[row] : (struct span){0};
        for (uint32_t child = 0; child < 2 && status == STATUS_OK; child++) {
            status =
                vector_append(export->budget, &packed.children[child], &vector->children[child], span.offset, span.length, export->err);
        }
        packed.count += span.length;
        offsets[row + 1] = (int32_t)packed.count;
    }
    if (status == STATUS_OK) {
        status = add_children(export, array, 1);
    }
    if (status == STATUS_OK) {
        status = export_vector(export, &packed, &entries, array->children[0]);
    }
    vector_release(&packed);
    return status;
}

static enum status export_row(struct export *export, const struct vector *vector, const struct type *type, struct ArrowArray *array)
{
    TRY(add_children(export, array, type->child_count));
    for (uint32_t i = 0; i < type->child_count; i++) {
        TRY(export_vector(export, &vector->children[i], type->children[i], array->children[i]));
    }
    return STATUS_OK;
}

static enum status export_values(struct export *export, const struct vector *vector, const struct type *type, struct ArrowArray *array)
{
    switch (vector->physical) {
    case PHYSICAL_NULL:
        return STATUS_OK;
    case PHYSICAL_BOOL:
        return export_booleans(export, vector, array);
    case PHYSICAL_STRING:
        return export_strings(export, vector, array);
    case PHYSICAL_SPAN:
        return type->kind == TYPE_ARRAY ? export_list(export, vector, type, array) : export_map(export, vector, type, array);
    case PHYSICAL_ROW:
        return export_row(export, vector, type, array);
    default:
        break;
    }
    if (type->kind == TYPE_DECIMAL && vector->physical == PHYSICAL_INT64) {
        return export_decimals(export, vector, array);
    }
    if (type_is_timestamp(type) && (type->precision <= 3 || type->precision > 6)) {
        return export_timestamps(export, vector, array);
    }
    return share_buffer(export, array, vector->values, vector->values_buffer, (size_t)vector->count * physical_bytes(vector->physical));
}

/* A column that was not read is all NULL, but its array must look as the schema says. */
static enum status export_unread(struct export *export, const struct vector *vector, const struct type *type, struct ArrowArray *array)
{
    struct vector nulls;
    TRY(vector_create(export->budget, type, 0, &nulls, export->err));
    enum status status = vector_append(export->budget, &nulls, vector, 0, vector->count, export->err);
    if (status == STATUS_OK) {
        status = export_vector(export, &nulls, type, array);
    }
    vector_release(&nulls);
    return status;
}

static enum status export_vector(struct export *export, const struct vector *vector, const struct type *type, struct ArrowArray *array)
{
    if (vector->physical == PHYSICAL_NULL && type->kind != TYPE_NULL) {
        return export_unread(export, vector, type, array);
    }
    TRY(begin_array(export, array, vector));
    return export_values(export, vector, type, array);
}

static enum status export_columns(struct export *export, const struct batch *batch, const struct type *row_type, struct ArrowArray *array)
{
    const struct vector rows = {.type = row_type, .physical = PHYSICAL_ROW, .count = batch->count};
    TRY(begin_array(export, array, &rows));
    TRY(add_children(export, array, batch->column_count));
    for (uint32_t i = 0; i < batch->column_count; i++) {
        export->column = row_type->names[i];
        TRY(export_vector(export, &batch->columns[i], row_type->children[i], array->children[i]));
    }
    return STATUS_OK;
}

enum status arrow_export_batch(struct budget *budget, const struct batch *batch, const struct type *row_type, struct ArrowArray *array,
                               struct error *err)
{
    struct export export = {.budget = budget, .err = err};
    struct batch dense;
    *array = (struct ArrowArray){0};
    TRY(batch_ref(batch, &dense, err));
    enum status status = batch_compact(budget, &dense, err);
    if (status == STATUS_OK) {
        status = export_columns(&export, &dense, row_type, array);
    }
    if (status != STATUS_OK && array->release != NULL) {
        array->release(array);
    }
    batch_release(&dense);
    return status;
}
