/* Arrow arrays as batches. Values of fixed width are copied a chunk at a time (converted where units differ); texts stay where
 * they are: views point into the array, which the batches keep alive through one counted buffer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "data/arrow.h"

/* How one array lies: all that is needed of a schema, kept because the caller may release his at once. */
struct layout {
    char format[8];
    uint32_t child_count;
    struct layout *children;
};

struct arrow_import {
    const struct type *type;
    struct layout layout;
    struct ArrowArray array;
    struct buffer *owner; /* its last reference releases the array */
    int64_t next;
};

struct import {
    struct arrow_import *source;
    struct budget *budget;
    const char *column;
    struct error *err;
};

static bool format_is(const struct ArrowSchema *schema, const char *formats)
{
    size_t length = strlen(schema->format);
    for (const char *at = formats; at != NULL; at = strchr(at, ' ')) {
        at += *at == ' ';
        size_t width = strcspn(at, " ");
        if (width == length && memcmp(at, schema->format, length) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_time_format(const struct ArrowSchema *schema)
{
    return strncmp(schema->format, "ts", 2) == 0 && strchr("smun", schema->format[2]) != NULL && schema->format[3] == ':';
}

static bool is_decimal_format(const struct ArrowSchema *schema, const struct type *type)
{
    int precision, scale;
    return sscanf(schema->format, "d:%d,%d", &precision, &scale) == 2 && strchr(strchr(schema->format, ',') + 1, ',') == NULL &&
           scale == type->scale && precision <= type->precision;
}

static bool format_fits(const struct type *type, const struct ArrowSchema *schema)
{
    static const char *const formats[TYPE_KIND_COUNT] = {
        [TYPE_NULL] = "n",         [TYPE_BOOLEAN] = "b",        [TYPE_TINYINT] = "c",     [TYPE_SMALLINT] = "s",
        [TYPE_INT] = "i",          [TYPE_BIGINT] = "l",         [TYPE_FLOAT] = "f",       [TYPE_DOUBLE] = "g",
        [TYPE_CHAR] = "u U vu",    [TYPE_VARCHAR] = "u U vu",   [TYPE_BINARY] = "z Z vz", [TYPE_VARBINARY] = "z Z vz",
        [TYPE_DATE] = "tdD",       [TYPE_TIME] = "ttm",         [TYPE_ARRAY] = "+l +vl",  [TYPE_INTERVAL_MONTH] = "tiM",
        [TYPE_MULTISET] = "+m",    [TYPE_INTERVAL_DAY] = "tDu", [TYPE_MAP] = "+m",        [TYPE_ROW] = "+s",
        [TYPE_VARIANT] = "z Z vz", [TYPE_BITMAP] = "z Z vz",
    };
    if (schema->dictionary != NULL) {
        return false;
    }
    if (type->kind == TYPE_DECIMAL) {
        return is_decimal_format(schema, type);
    }
    return type_is_timestamp(type) ? is_time_format(schema) : format_is(schema, formats[type->kind]);
}

static enum status check_schema(const struct type *type, const struct ArrowSchema *schema, const char *name, struct error *err)
{
    if (!format_fits(type, schema)) {
        struct text_builder text = {0};
        type_print(type, &text);
        enum status status = error_set(err, ERROR_TYPE_MISMATCH, "column '%s' is %s, which an Arrow array of format '%s' cannot feed", name,
                                       text.bytes, schema->format);
        text_builder_close(&text);
        return status;
    }
    if (type->kind == TYPE_MAP || type->kind == TYPE_MULTISET) {
        const struct ArrowSchema *entries = schema->children[0];
        TRY(check_schema(type->children[0], entries->children[0], name, err));
        return check_schema(type->kind == TYPE_MAP ? type->children[1] : &type_int_not_null, entries->children[1], name, err);
    }
    if (schema->n_children != (int64_t)type->child_count) {
        return error_set(err, ERROR_TYPE_MISMATCH, "'%s' has %u fields, the Arrow array has %lld", name, type->child_count,
                         (long long)schema->n_children);
    }
    for (uint32_t i = 0; i < type->child_count; i++) {
        TRY(check_schema(type->children[i], schema->children[i], type->names != NULL ? type->names[i] : name, err));
    }
    return STATUS_OK;
}

static enum status import_vector(struct import *import, const struct type *type, const struct layout *layout,
                                 const struct ArrowArray *array, int64_t first, uint32_t count, struct vector *vector);

static enum status import_validity(struct import *import, const struct ArrowArray *array, int64_t first, uint32_t count,
                                   struct vector *vector)
{
    const uint8_t *bits = array->n_buffers > 0 ? array->buffers[0] : NULL;
    if (bits == NULL || array->null_count == 0 || vector->physical == PHYSICAL_NULL) {
        return STATUS_OK;
    }
    TRY(vector_need_validity(import->budget, vector, count, import->err));
    for (uint32_t row = 0; row < count; row++) {
        int64_t bit = array->offset + first + row;
        if (((bits[bit / 8] >> (bit % 8)) & 1) == 0) {
            vector_set_null(vector, row);
        }
    }
    return STATUS_OK;
}

static void import_booleans(const uint8_t *bits, int64_t first, struct vector *vector)
{
    for (uint32_t row = 0; row < vector->count; row++) {
        vector_bool(vector)[row] = (bits[(first + row) / 8] >> ((first + row) % 8)) & 1;
    }
}

/* Seconds to nanoseconds, into microseconds or (above precision 6) nanoseconds; a fraction that does not fit is cut downwards. */
static void import_timestamps(const int64_t *from, char unit, struct vector *vector)
{
    bool wide = vector->physical == PHYSICAL_INT128;
    int64_t per_second = unit == 's' ? 1 : unit == 'm' ? 1000 : unit == 'u' ? 1000000 : 1000000000;
    int64_t wanted = wide ? 1000000000 : 1000000;
    for (uint32_t row = 0; row < vector->count; row++) {
        int128_t value = from[row];
        if (per_second <= wanted) {
            value *= wanted / per_second;
        } else {
            int64_t by = per_second / wanted;
            value = value / by - (value % by < 0);
        }
        if (wide) {
            vector_int128(vector)[row] = value;
        } else {
            vector_int64(vector)[row] = (int64_t)value;
        }
    }
}

static void import_decimals(const char *from, struct vector *vector)
{
    for (uint32_t row = 0; row < vector->count; row++) {
        int128_t value;
        memcpy(&value, from + row * sizeof value, sizeof value);
        if (vector->physical == PHYSICAL_INT64) {
            vector_int64(vector)[row] = (int64_t)value;
        } else {
            vector_int128(vector)[row] = value;
        }
    }
}

/* The text of a row in any of Arrow's layouts: offsets of 32 or 64 bits, or views. */
static struct text arrow_text(const struct layout *layout, const struct ArrowArray *array, int64_t row)
{
    if (layout->format[0] != 'v') {
        bool large = layout->format[0] == 'U' || layout->format[0] == 'Z';
        const int32_t *small_offsets = array->buffers[1];
        const int64_t *large_offsets = array->buffers[1];
        int64_t begin = large ? large_offsets[row] : small_offsets[row], end = large ? large_offsets[row + 1] : small_offsets[row + 1];
        return (struct text){(const char *)array->buffers[2] + begin, (size_t)(end - begin)};
    }
    const char *view = (const char *)array->buffers[1] + row * 16;
    int32_t parts[4];
    memcpy(parts, view, sizeof parts);
    if (parts[0] <= STRING_INLINE_BYTES) {
        return (struct text){view + 4, (size_t)parts[0]};
    }
    return (struct text){(const char *)array->buffers[2 + parts[2]] + parts[3], (size_t)parts[0]};
}

static enum status import_strings(struct import *import, const struct layout *layout, const struct ArrowArray *array, int64_t first,
                                  struct vector *vector)
{
    bool is_text = type_is_text(vector->type);
    TRY(vector_attach_heap(vector, buffer_ref(import->source->owner), import->err));
    for (uint32_t row = 0; row < vector->count; row++) {
        struct text text = {"", 0};
        if (vector_is_valid(vector, row)) {
            text = arrow_text(layout, array, first + row);
        }
        if (is_text && utf8_valid_length(text.bytes, text.length) != text.length) {
            return error_set(import->err, ERROR_RECORD_UNREADABLE, "a text of column '%s' is not UTF-8", import->column);
        }
        vector_strings(vector)[row] = string_view_make(text.bytes, text.length);
    }
    return STATUS_OK;
}

static struct span arrow_span(const struct layout *layout, const struct ArrowArray *array, int64_t row)
{
    const int32_t *offsets = array->buffers[1], *sizes = strcmp(layout->format, "+vl") == 0 ? array->buffers[2] : NULL;
    int32_t length = sizes != NULL ? sizes[row] : offsets[row + 1] - offsets[row];
    return (struct span){(uint32_t)offsets[row], (uint32_t)length};
}

static enum status import_spans(struct import *import, const struct layout *layout, const struct ArrowArray *array, int64_t first,
                                struct vector *vector)
{
    uint32_t low = UINT32_MAX, high = 0;
    for (uint32_t row = 0; row < vector->count; row++) {
        struct span span = vector_is_valid(vector, row) ? arrow_span(layout, array, first + row) : (struct span){0};
        vector_spans(vector)[row] = span;
        if (span.length > 0) {
            low = span.offset < low ? span.offset : low;
            high = span.offset + span.length > high ? span.offset + span.length : high;
        }
    }
    uint32_t count = high > low ? high - low : 0;
    for (uint32_t row = 0; row < vector->count; row++) {
        struct span *span = &vector_spans(vector)[row];
        span->offset = span->length > 0 ? span->offset - low : 0;
    }
    const struct layout *child_layout = &layout->children[0];
    const struct ArrowArray *child = array->children[0];
    int64_t begin = count > 0 ? low : 0;
    for (uint32_t i = 0; i < vector->child_count; i++) {
        struct vector *to = &vector->children[i];
        const struct type *type = to->type;
        bool list = vector->type->kind == TYPE_ARRAY;
        vector_release(to);
        TRY(import_vector(import, type, list ? child_layout : &child_layout->children[i], list ? child : child->children[i],
                          list ? begin : begin + child->offset, count, to));
    }
    return STATUS_OK;
}

static enum status import_fields(struct import *import, const struct layout *layout, const struct ArrowArray *array, int64_t first,
                                 struct vector *vector)
{
    for (uint32_t i = 0; i < vector->child_count; i++) {
        const struct type *type = vector->children[i].type;
        vector_release(&vector->children[i]);
        TRY(import_vector(import, type, &layout->children[i], array->children[i], first, vector->count, &vector->children[i]));
    }
    return STATUS_OK;
}

static enum status import_values(struct import *import, const struct layout *layout, const struct ArrowArray *array, int64_t first,
                                 struct vector *vector)
{
    first += array->offset;
    switch (vector->physical) {
    case PHYSICAL_NULL:
        return STATUS_OK;
    case PHYSICAL_STRING:
        return import_strings(import, layout, array, first, vector);
    case PHYSICAL_SPAN:
        return import_spans(import, layout, array, first, vector);
    case PHYSICAL_ROW:
        return import_fields(import, layout, array, first, vector);
    case PHYSICAL_BOOL:
        import_booleans(array->buffers[1], first, vector);
        return STATUS_OK;
    default:
        break;
    }
    if (vector->count == 0) {
        return STATUS_OK;
    }
    if (vector->type->kind == TYPE_DECIMAL) {
        import_decimals((const char *)array->buffers[1] + first * (int64_t)sizeof(int128_t), vector);
    } else if (type_is_timestamp(vector->type)) {
        import_timestamps((const int64_t *)array->buffers[1] + first, layout->format[2], vector);
    } else {
        size_t width = physical_bytes(vector->physical);
        memcpy(vector->values, (const char *)array->buffers[1] + first * (int64_t)width, vector->count * width);
    }
    return STATUS_OK;
}

static enum status import_vector(struct import *import, const struct type *type, const struct layout *layout,
                                 const struct ArrowArray *array, int64_t first, uint32_t count, struct vector *vector)
{
    TRY(vector_create(import->budget, type, count, vector, import->err));
    TRY(import_validity(import, array, first, count, vector));
    return import_values(import, layout, array, first, vector);
}

static void import_release(void *owner)
{
    struct ArrowArray *array = owner;
    if (array->release != NULL) {
        array->release(array);
    }
    free(array);
}

static void layout_free(struct layout *layout)
{
    for (uint32_t i = 0; i < layout->child_count; i++) {
        layout_free(&layout->children[i]);
    }
    free(layout->children);
}

static bool layout_copy(const struct ArrowSchema *schema, struct layout *layout)
{
    snprintf(layout->format, sizeof layout->format, "%s", schema->format);
    layout->children = calloc((size_t)schema->n_children + 1, sizeof *layout->children);
    if (layout->children == NULL) {
        return false;
    }
    layout->child_count = (uint32_t)schema->n_children;
    for (uint32_t i = 0; i < layout->child_count; i++) {
        if (!layout_copy(schema->children[i], &layout->children[i])) {
            return false;
        }
    }
    return true;
}

enum status arrow_import_open(const struct type *row_type, const struct ArrowSchema *schema, struct ArrowArray *array,
                              struct arrow_import **result, struct error *err)
{
    TRY(check_schema(row_type, schema, "the row", err));
    struct arrow_import *import = calloc(1, sizeof *import);
    struct ArrowArray *taken = malloc(sizeof *taken);
    bool copied = import != NULL && taken != NULL && layout_copy(schema, &import->layout);
    if (!copied || buffer_wrap(NULL, 0, import_release, taken, &import->owner, err) != STATUS_OK) {
        if (import != NULL) {
            layout_free(&import->layout);
        }
        free(import);
        free(taken);
        return error_set(err, ERROR_BUDGET_SPENT, "the system has no memory to import an Arrow array");
    }
    *taken = *array;
    array->release = NULL;
    import->type = row_type;
    import->array = *taken;
    *result = import;
    return STATUS_OK;
}

enum status arrow_import_next(struct arrow_import *source, struct budget *budget, uint32_t rows, struct batch *batch, struct error *err)
{
    struct import import = {.source = source, .budget = budget, .err = err};
    int64_t left = source->array.length - source->next;
    uint32_t count = left < (int64_t)rows ? (uint32_t)left : rows;
    TRY(batch_init(batch, source->type->child_count, err));
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < batch->column_count && count > 0 && status == STATUS_OK; i++) {
        import.column = source->type->names[i];
        status = import_vector(&import, source->type->children[i], &source->layout.children[i], source->array.children[i],
                               source->next + source->array.offset, count, &batch->columns[i]);
    }
    if (status != STATUS_OK) {
        batch_release(batch);
        return status;
    }
    batch->count = count;
    source->next += count;
    return STATUS_OK;
}

void arrow_import_close(struct arrow_import *import)
{
    if (import != NULL) {
        buffer_unref(import->owner);
        layout_free(&import->layout);
        free(import);
    }
}
