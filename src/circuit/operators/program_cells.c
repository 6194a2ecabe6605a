#include "circuit/operators/program_cells.h"

#include <stdio.h>

#include "base/utf8.h"

enum { DECIMAL_DIGITS_MAX = 18, TIME_DIGITS_MAX = 6 };

enum spate_cell_kind cell_kind_of(const struct type *type)
{
    switch (type_physical(type)) {
    case PHYSICAL_BOOL:
        return SPATE_CELL_BOOLEAN;
    case PHYSICAL_INT8:
    case PHYSICAL_INT16:
    case PHYSICAL_INT32:
    case PHYSICAL_INT64:
        return SPATE_CELL_INTEGER;
    case PHYSICAL_FLOAT:
    case PHYSICAL_DOUBLE:
        return SPATE_CELL_REAL;
    case PHYSICAL_STRING:
        return type_is_text(type) || type_is_binary(type) ? SPATE_CELL_TEXT : SPATE_CELL_OTHER;
    default:
        return SPATE_CELL_OTHER;
    }
}

struct spate_cell cell_read(const struct vector *vector, uint32_t row)
{
    struct spate_cell cell = spate_cell_null();
    if (!vector_is_valid(vector, row)) {
        return cell;
    }
    cell.kind = (int)cell_kind_of(vector->type);
    if (cell.kind == SPATE_CELL_BOOLEAN) {
        cell.integer = vector_bool(vector)[row] != 0;
    } else if (cell.kind == SPATE_CELL_INTEGER) {
        cell.integer = (int64_t)vector_get_integer(vector, row);
    } else if (cell.kind == SPATE_CELL_REAL) {
        cell.real = vector->physical == PHYSICAL_FLOAT ? (double)vector_float(vector)[row] : vector_double(vector)[row];
    } else if (cell.kind == SPATE_CELL_TEXT) {
        struct text text = vector_get_text(vector, row);
        cell.bytes = text.bytes;
        cell.length = text.length;
    }
    return cell;
}

/* ---- what a column can hold ---- */

static enum status refuse(const struct column *column, enum error_code code, const char *why, struct error *err)
{
    struct text_builder type = {0};
    type_print(column->type, &type);
    enum status status = error_set(err, code, "column '%s' is %s: %s", column->name, type.failed ? "" : type.bytes, why);
    text_builder_close(&type);
    return status;
}

static bool integer_fits(int64_t value, const struct type *type)
{
    static const int bits[PHYSICAL_COUNT] = {[PHYSICAL_INT8] = 7, [PHYSICAL_INT16] = 15, [PHYSICAL_INT32] = 31};
    int width = bits[type_physical(type)];
    int64_t limit = INT64_MAX;
    if (type->kind == TYPE_DECIMAL) {
        limit = 1;
        for (int32_t digit = 0; digit < type->precision; digit++) {
            limit *= 10;
        }
        return value < limit && value > -limit;
    }
    if (type->kind == TYPE_TIME) {
        return value >= 0 && value < 86400000;
    }
    return width == 0 || (value >= -(INT64_C(1) << width) && value < (INT64_C(1) << width));
}

static enum status text_check(const struct spate_cell *cell, const struct column *column, struct error *err)
{
    const struct type *type = column->type;
    bool is_text = type_is_text(type);
    if (cell->length > STRING_LENGTH_MAX || (cell->bytes == NULL && cell->length > 0)) {
        return refuse(column, ERROR_VALUE_OUT_OF_RANGE, "the bytes are missing, or too many", err);
    }
    if (is_text && utf8_valid_length(cell->bytes, cell->length) != cell->length) {
        return refuse(column, ERROR_VALUE_OUT_OF_RANGE, "the text is not valid UTF-8", err);
    }
    if (cell->length > (size_t)type->precision && (!is_text || utf8_count(cell->bytes, cell->length) > (size_t)type->precision)) {
        return refuse(column, ERROR_VALUE_OUT_OF_RANGE, "the value is too long", err);
    }
    return STATUS_OK;
}

enum status cell_check(const struct spate_cell *cell, const struct column *column, struct error *err)
{
    static const char *const kinds[] = {"a NULL", "a BOOLEAN cell", "an INTEGER cell", "a REAL cell", "a TEXT cell", "an OTHER cell"};
    enum spate_cell_kind wanted = cell_kind_of(column->type);
    char why[64];
    if (cell->kind == SPATE_CELL_NULL) {
        return column->type->nullable ? STATUS_OK : refuse(column, ERROR_NULL_NOT_ALLOWED, "it was given a NULL", err);
    }
    if (cell->kind != (int)wanted || wanted == SPATE_CELL_OTHER) {
        bool known = cell->kind > SPATE_CELL_NULL && cell->kind <= SPATE_CELL_OTHER;
        snprintf(why, sizeof why, "it was given %s", known ? kinds[cell->kind] : "a cell of no kind");
        return refuse(column, ERROR_TYPE_MISMATCH, why, err);
    }
    if (wanted == SPATE_CELL_INTEGER && !integer_fits(cell->integer, column->type)) {
        snprintf(why, sizeof why, "%lld is out of its range", (long long)cell->integer);
        return refuse(column, ERROR_VALUE_OUT_OF_RANGE, why, err);
    }
    return wanted == SPATE_CELL_TEXT ? text_check(cell, column, err) : STATUS_OK;
}

/* ---- into a vector ---- */

static enum status write_text(const struct spate_cell *cell, struct string_heap *heap, struct vector *vector, uint32_t row,
                              struct error *err)
{
    const char *bytes = cell->bytes;
    if (heap != NULL && cell->length > STRING_INLINE_BYTES) {
        char *copy = string_heap_alloc(heap, cell->length, err);
        if (copy == NULL) {
            return err->status;
        }
        memcpy(copy, cell->bytes, cell->length);
        bytes = copy;
    }
    vector_strings(vector)[row] = string_view_make(bytes, cell->length);
    return STATUS_OK;
}

static void write_integer(int64_t value, struct vector *vector, uint32_t row)
{
    switch (vector->physical) {
    case PHYSICAL_BOOL:
        vector_bool(vector)[row] = value != 0;
        break;
    case PHYSICAL_INT8:
        vector_int8(vector)[row] = (int8_t)value;
        break;
    case PHYSICAL_INT16:
        vector_int16(vector)[row] = (int16_t)value;
        break;
    case PHYSICAL_INT32:
        vector_int32(vector)[row] = (int32_t)value;
        break;
    default:
        vector_int64(vector)[row] = value;
        break;
    }
}

static enum status write_null(struct budget *budget, uint32_t rows, struct vector *vector, uint32_t row, struct error *err)
{
    if (vector->validity == NULL) {
        TRY(vector_need_validity(budget, vector, rows, err));
    }
    vector_set_null(vector, row);
    if (vector->physical == PHYSICAL_STRING) {
        vector_strings(vector)[row] = (struct string_view){0};
    }
    return STATUS_OK;
}

enum status cell_write(const struct spate_cell *cell, struct budget *budget, uint32_t rows, struct string_heap *heap, struct vector *vector,
                       uint32_t row, struct error *err)
{
    if (cell->kind == SPATE_CELL_NULL) {
        return write_null(budget, rows, vector, row, err);
    }
    if (vector->validity != NULL) {
        vector_set_valid(vector, row);
    }
    if (cell->kind == SPATE_CELL_TEXT) {
        return write_text(cell, heap, vector, row, err);
    }
    if (vector->physical == PHYSICAL_FLOAT) {
        vector_float(vector)[row] = (float)cell->real;
    } else if (vector->physical == PHYSICAL_DOUBLE) {
        vector_double(vector)[row] = cell->real;
    } else {
        write_integer(cell->integer, vector, row);
    }
    return STATUS_OK;
}
