/* data/cast_text.c: casts from text, to text, and between text and bytes.
 *
 * Texts that are only cut stay views into the source's heap; other texts of up to 12 bytes need no heap at all. */
#include "base/utf8.h"
#include "data/calendar.h"
#include "data/cast_kernels.h"
#include "data/cell_text.h"
#include "data/decimal.h"
#include "data/number_text.h"

/* For each non-NULL text: convert it into `result` by an expression that says whether it could, or reject the row. */
#define FROM_TEXT(name, declaration, convert, store)                                                                                       \
    static enum status name(struct cast_run *run)                                                                                          \
    {                                                                                                                                      \
        CAST_EACH_ROW(run, row)                                                                                                            \
        {                                                                                                                                  \
            if (!vector_is_valid(run->source, row)) {                                                                                      \
                continue;                                                                                                                  \
            }                                                                                                                              \
            struct text text = vector_get_text(run->source, row);                                                                          \
            declaration;                                                                                                                   \
            if (convert) {                                                                                                                 \
                store;                                                                                                                     \
            } else {                                                                                                                       \
                cast_reject(run, row, text);                                                                                               \
            }                                                                                                                              \
        }                                                                                                                                  \
        return STATUS_OK;                                                                                                                  \
    }

FROM_TEXT(text_to_int8_rows, int64_t value, text_to_int64(text, INT8_MIN, INT8_MAX, &value), vector_int8(run->result)[row] = (int8_t)value)
FROM_TEXT(text_to_int16_rows, int64_t value, text_to_int64(text, INT16_MIN, INT16_MAX, &value),
          vector_int16(run->result)[row] = (int16_t)value)
FROM_TEXT(text_to_int32_rows, int64_t value, text_to_int64(text, INT32_MIN, INT32_MAX, &value),
          vector_int32(run->result)[row] = (int32_t)value)
FROM_TEXT(text_to_int64_rows, int64_t value, text_to_int64(text, INT64_MIN, INT64_MAX, &value), vector_int64(run->result)[row] = value)
FROM_TEXT(text_to_double_rows, double value, text_to_double(text, &value), vector_double(run->result)[row] = value)
FROM_TEXT(text_to_float_rows, float value, text_to_float(text, &value), vector_float(run->result)[row] = value)
FROM_TEXT(text_to_boolean_rows, bool value, text_to_boolean(text, &value), vector_bool(run->result)[row] = value)
FROM_TEXT(text_to_date_rows, int32_t value, text_to_date(text, &value), vector_int32(run->result)[row] = value)

static int32_t cut_time(int32_t ms, int32_t precision)
{
    static const int32_t units[4] = {1000, 100, 10, 1};
    return ms - ms % units[precision < 3 ? precision : 3];
}
FROM_TEXT(text_to_time_rows, int32_t value, text_to_time(text, &value),
          vector_int32(run->result)[row] = cut_time(value, run->cast->to->precision))

static void put_wide(struct cast_run *run, uint32_t row, int128_t value)
{
    if (run->result->physical == PHYSICAL_INT64) {
        vector_int64(run->result)[row] = (int64_t)value;
    } else {
        vector_int128(run->result)[row] = value;
    }
}

static int128_t to_instant(const struct cast_run *run, int128_t local)
{
    const struct type *to = run->cast->to;
    return to->kind == TYPE_TIMESTAMP_LTZ ? timestamp_to_utc(run->context->zone, local, to->precision) : local;
}
FROM_TEXT(text_to_timestamp_rows, int128_t value, text_to_timestamp(text, run->cast->to->precision, &value),
          put_wide(run, row, to_instant(run, value)))

static void put_decimal_text(struct cast_run *run, uint32_t row, struct text text)
{
    int128_t value;
    if (decimal_parse(text, run->cast->to->precision, run->cast->to->scale, &value)) {
        put_wide(run, row, value);
    } else {
        cast_set_null(run, row); /* too large for the type */
    }
}
FROM_TEXT(text_to_decimal_rows, (void)0, decimal_is_number(text), put_decimal_text(run, row, text))

/* Cuts by characters (views stay), or pads to CHAR(n). */
static enum status text_to_text(struct cast_run *run)
{
    size_t wanted = (size_t)cast_length(run);
    bool pads = run->cast->to->kind == TYPE_CHAR;
    TRY(vector_share_heaps(run->context->budget, run->result, run->source, run->err));
    CAST_EACH_ROW(run, row)
    {
        if (!vector_is_valid(run->source, row)) {
            continue;
        }
        struct text text = vector_get_text(run->source, row);
        if (pads && utf8_count(text.bytes, text.length) < wanted) {
            cast_put_text(run, row, text.bytes, text.length);
            continue;
        }
        size_t length = text.length > wanted ? utf8_prefix(text.bytes, text.length, wanted) : text.length;
        vector_strings(run->result)[row] = string_view_make(text.bytes, length);
    }
    return STATUS_OK;
}

/* Text to bytes, bytes to bytes: cut by bytes (views stay), BINARY(n) pads with zero bytes. */
static enum status bytes_to_binary(struct cast_run *run)
{
    size_t wanted = (size_t)cast_length(run);
    bool pads = run->cast->to->kind == TYPE_BINARY;
    TRY(vector_share_heaps(run->context->budget, run->result, run->source, run->err));
    CAST_EACH_ROW(run, row)
    {
        if (!vector_is_valid(run->source, row)) {
            continue;
        }
        struct text text = vector_get_text(run->source, row);
        size_t length = text.length > wanted ? wanted : text.length;
        if (!pads || length == wanted) {
            vector_strings(run->result)[row] = string_view_make(text.bytes, length);
            continue;
        }
        char *copy = string_heap_alloc(&run->heap, wanted, run->err);
        if (copy == NULL) {
            return run->err->status;
        }
        memcpy(copy, text.bytes, length);
        memset(copy + length, 0, wanted - length);
        vector_strings(run->result)[row] = string_view_make(copy, wanted);
    }
    return STATUS_OK;
}

/* Through a builder: booleans, bytes, nested values, JSON. */
static enum status any_to_text(struct cast_run *run)
{
    struct text_builder text = {0};
    CAST_EACH_ROW(run, row)
    {
        if (!vector_is_valid(run->source, row) || run->status != STATUS_OK) {
            continue;
        }
        text_builder_clear(&text);
        cell_text_append(run->source, row, run->context->zone, 0, &text);
        cast_put_text(run, row, text.bytes == NULL ? "" : text.bytes, text.length);
    }
    if (text.failed) {
        run->status = error_set(run->err, ERROR_BUDGET_SPENT, "the system has no memory for a text");
    }
    text_builder_close(&text);
    return run->status;
}

static enum status boolean_to_text(struct cast_run *run)
{
    static const char *const words[2][2] = {{"FALSE", "TRUE"}, {"false", "true"}};
    CAST_EACH_ROW(run, row)
    {
        if (vector_is_valid(run->source, row)) {
            bool value = vector_bool(run->source)[row] != 0;
            cast_put_text(run, row, words[run->context->legacy][value], value ? 4 : 5);
        }
    }
    return STATUS_OK;
}

/* Numbers, times, intervals: their text fits a small buffer. */
static enum status scalar_to_text(struct cast_run *run)
{
    bool exact_length = run->cast->to->kind == TYPE_VARCHAR && cast_length(run) >= NUMBER_TEXT_MAX;
    struct string_view *views = vector_strings(run->result);
    CAST_EACH_ROW(run, row)
    {
        if (!vector_is_valid(run->source, row)) {
            continue;
        }
        char bytes[NUMBER_TEXT_MAX];
        size_t length = cell_text_write(run->source, row, run->context->zone, bytes);
        if (exact_length && length <= STRING_INLINE_BYTES) {
            views[row] = string_view_make(bytes, length);
        } else {
            cast_put_text(run, row, bytes, length);
        }
    }
    return STATUS_OK;
}

static cast_fn *find_to_text(const struct type *from)
{
    if (type_is_text(from)) {
        return text_to_text;
    }
    if (from->kind == TYPE_BOOLEAN) {
        return boolean_to_text;
    }
    bool nested = from->child_count > 0 || type_is_binary(from) || from->kind == TYPE_VARIANT || from->kind == TYPE_BITMAP;
    return nested ? any_to_text : scalar_to_text;
}

static cast_fn *find_from_text(const struct type *to)
{
    static cast_fn *const kernels[TYPE_KIND_COUNT] = {
        [TYPE_BOOLEAN] = text_to_boolean_rows, [TYPE_TINYINT] = text_to_int8_rows,        [TYPE_SMALLINT] = text_to_int16_rows,
        [TYPE_INT] = text_to_int32_rows,       [TYPE_BIGINT] = text_to_int64_rows,        [TYPE_DECIMAL] = text_to_decimal_rows,
        [TYPE_FLOAT] = text_to_float_rows,     [TYPE_DOUBLE] = text_to_double_rows,       [TYPE_DATE] = text_to_date_rows,
        [TYPE_TIME] = text_to_time_rows,       [TYPE_TIMESTAMP] = text_to_timestamp_rows, [TYPE_TIMESTAMP_LTZ] = text_to_timestamp_rows,
        [TYPE_BINARY] = bytes_to_binary,       [TYPE_VARBINARY] = bytes_to_binary,
    };
    return kernels[to->kind];
}

cast_fn *cast_text_find(const struct type *from, const struct type *to)
{
    if (type_is_text(to)) {
        return find_to_text(from);
    }
    if (type_is_text(from)) {
        return find_from_text(to);
    }
    return type_is_binary(from) && type_is_binary(to) ? bytes_to_binary : NULL;
}
