#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "connectors/datagen/datagen.h"
#include "data/calendar.h"
#include "data/decimal.h"

static uint64_t rotate(uint64_t value, int bits)
{
    return (value << bits) | (value >> (64 - bits));
}

void datagen_random_seed(struct datagen_random *random, uint64_t seed) /* splitmix64 */
{
    for (int i = 0; i < 4; i++) {
        uint64_t mixed = (seed += 0x9e3779b97f4a7c15u);
        mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
        mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
        random->state[i] = mixed ^ (mixed >> 31);
    }
}

uint64_t datagen_random_next(struct datagen_random *random) /* xoshiro256** */
{
    uint64_t *s = random->state, result = rotate(s[1] * 5, 7) * 9, shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotate(s[3], 45);
    return result;
}

double datagen_random_fraction(struct datagen_random *random)
{
    return (double)(datagen_random_next(random) >> 11) * 0x1p-53;
}

/* Uniform in [min, max]. */
static int64_t random_between(struct datagen_random *random, int64_t min, int64_t max)
{
    uint64_t span = (uint64_t)max - (uint64_t)min + 1;
    uint64_t value = datagen_random_next(random);
    if (span != 0) {
        value = (uint64_t)(((uint128_t)value * span) >> 64);
    }
    return (int64_t)((uint64_t)min + value);
}

void datagen_field_bind(struct datagen_field *field, struct budget *budget, struct vector *vector, uint32_t rows)
{
    column_bind(&field->column, budget, vector, rows);
    field->used = vector->physical != PHYSICAL_NULL;
    field->element_count = 0;
    for (uint32_t i = 0; i < field->child_count && field->used; i++) {
        datagen_field_bind(&field->children[i], budget, &vector->children[i], field->type->kind == TYPE_ROW ? rows : 0);
    }
}

void datagen_field_finish(struct datagen_field *field, uint32_t rows)
{
    column_set_count(field->column.vector, rows);
    for (uint32_t i = 0; i < field->child_count && field->used; i++) {
        datagen_field_finish(&field->children[i], field->type->kind == TYPE_ROW ? rows : field->element_count);
    }
}

static enum status fill_bytes(struct datagen_field *field, struct datagen_random *random, uint32_t row, struct error *err)
{
    static const char hex[] = "0123456789abcdef";
    struct column *column = &field->column;
    size_t length = (size_t)(field->var_len && field->length > 0 ? random_between(random, 1, field->length) : field->length);
    char inline_room[STRING_INLINE_BYTES], *to = inline_room;
    if (length > STRING_INLINE_BYTES) {
        column->vector->count = row;
        to = string_heap_alloc(&column->heap, length, err);
        if (to == NULL) {
            return err->status;
        }
    }
    bool is_text = type_is_text(field->type);
    for (size_t i = 0; i < length; i += 16) {
        uint64_t bits = datagen_random_next(random);
        for (size_t j = i; j < length && j < i + 16; j++, bits >>= 4) {
            to[j] = is_text ? hex[bits & 15] : (char)(bits & 0xff);
        }
    }
    vector_strings(column->vector)[row] = string_view_make(to, length);
    return STATUS_OK;
}

static void put_integer(struct vector *vector, uint32_t row, int64_t value)
{
    switch (vector->physical) {
    case PHYSICAL_INT8:
        vector_int8(vector)[row] = (int8_t)value;
        break;
    case PHYSICAL_INT16:
        vector_int16(vector)[row] = (int16_t)value;
        break;
    case PHYSICAL_INT32:
        vector_int32(vector)[row] = (int32_t)value;
        break;
    case PHYSICAL_INT128:
        vector_int128(vector)[row] = value;
        break;
    default:
        vector_int64(vector)[row] = value;
        break;
    }
}

static void fill_decimal(struct datagen_field *field, struct datagen_random *random, uint32_t row)
{
    struct vector *vector = field->column.vector;
    double step = pow(10, field->type->scale), limit = pow(10, field->type->precision - field->type->scale);
    double min = field->has_min ? field->min : 0, max = field->has_max ? field->max : limit;
    int128_t value = (int128_t)((min + datagen_random_fraction(random) * (max - min)) * step);
    int128_t largest = decimal_power_of_ten(field->type->precision) - 1;
    value = value > largest ? largest : value < -largest ? -largest : value;
    if (vector->physical == PHYSICAL_INT128) {
        vector_int128(vector)[row] = value;
    } else {
        vector_int64(vector)[row] = (int64_t)value;
    }
}

static void fill_floating(struct datagen_field *field, struct datagen_random *random, uint32_t row)
{
    struct vector *vector = field->column.vector;
    double largest = field->type->kind == TYPE_FLOAT ? 3.4028234663852886e38 : 1.7976931348623157e308;
    double min = field->has_min ? field->min : -largest, max = field->has_max ? field->max : largest,
           share = datagen_random_fraction(random);
    double value = min * (1 - share) + max * share;
    if (field->type->kind == TYPE_FLOAT) {
        vector_float(vector)[row] = (float)value;
    } else {
        vector_double(vector)[row] = value;
    }
}

static void fill_time(struct datagen_field *field, struct datagen_random *random, int64_t now_us, uint32_t row)
{
    static const int64_t steps[] = {1000000, 100000, 10000, 1000, 100, 10, 1};
    struct vector *vector = field->column.vector;
    int64_t us = now_us - (field->max_past_us > 0 ? random_between(random, 0, field->max_past_us) : 0);
    switch (field->type->kind) {
    case TYPE_DATE:
        vector_int32(vector)[row] = timestamp_days(us);
        break;
    case TYPE_TIME:
        vector_int32(vector)[row] = (int32_t)(floor_modulo(us, US_PER_DAY) / US_PER_MS);
        break;
    default:
        if (vector->physical == PHYSICAL_INT128) {
            vector_int128(vector)[row] = (int128_t)us * 1000;
        } else {
            vector_int64(vector)[row] = us - floor_modulo(us, steps[field->type->precision]);
        }
        break;
    }
}

static enum status fill_sequence(struct datagen_field *field, int64_t number, uint32_t row, struct error *err)
{
    struct vector *vector = field->column.vector;
    int64_t value = field->start + number;
    char text[24];
    switch (field->type->kind) {
    case TYPE_FLOAT:
        vector_float(vector)[row] = (float)value;
        return STATUS_OK;
    case TYPE_DOUBLE:
        vector_double(vector)[row] = (double)value;
        return STATUS_OK;
    case TYPE_DECIMAL:
        if (vector->physical == PHYSICAL_INT128) {
            vector_int128(vector)[row] = value * decimal_power_of_ten(field->type->scale);
        } else {
            vector_int64(vector)[row] = (int64_t)(value * decimal_power_of_ten(field->type->scale));
        }
        return STATUS_OK;
    case TYPE_CHAR:
    case TYPE_VARCHAR:
        return column_put_copy(&field->column, row, (struct text){text, (size_t)snprintf(text, sizeof text, "%" PRId64, value)}, err);
    default:
        put_integer(vector, row, value);
        return STATUS_OK;
    }
}

static enum status reserve_elements(struct datagen_field *field, uint32_t rows, struct error *err)
{
    TRY(column_reserve(&field->column, rows, err));
    for (uint32_t i = 0; i < field->child_count && field->type->kind == TYPE_ROW; i++) {
        TRY(reserve_elements(&field->children[i], rows, err));
    }
    return STATUS_OK;
}

static enum status fill_elements(struct datagen_field *field, struct datagen_random *random, int64_t number, int64_t now_us, uint32_t row,
                                 struct error *err)
{
    uint32_t first = field->element_count;
    for (int64_t n = 0; n < field->length; n++) {
        for (uint32_t i = 0; i < field->child_count; i++) {
            TRY(reserve_elements(&field->children[i], field->element_count + 1, err));
            TRY(datagen_field_fill(&field->children[i], random, number, now_us, field->element_count, err));
        }
        field->element_count++;
    }
    vector_spans(field->column.vector)[row] = (struct span){first, field->element_count - first};
    return STATUS_OK;
}

static enum status fill_null(struct datagen_field *field, uint32_t row, struct error *err)
{
    TRY(column_set_null(&field->column, row, err));
    for (uint32_t i = 0; i < field->child_count && field->type->kind == TYPE_ROW; i++) {
        TRY(fill_null(&field->children[i], row, err));
    }
    return STATUS_OK;
}

enum status datagen_field_fill(struct datagen_field *field, struct datagen_random *random, int64_t number, int64_t now_us, uint32_t row,
                               struct error *err)
{
    if (!field->used) {
        return STATUS_OK;
    }
    if (field->null_rate > 0 && datagen_random_fraction(random) < field->null_rate) {
        return fill_null(field, row, err);
    }
    if (field->sequence) {
        return fill_sequence(field, number, row, err);
    }
    switch (field->type->kind) {
    case TYPE_BOOLEAN:
        vector_bool(field->column.vector)[row] = datagen_random_next(random) >> 63;
        return STATUS_OK;
    case TYPE_CHAR:
    case TYPE_VARCHAR:
    case TYPE_BINARY:
    case TYPE_VARBINARY:
        return fill_bytes(field, random, row, err);
    case TYPE_DECIMAL:
        fill_decimal(field, random, row);
        return STATUS_OK;
    case TYPE_FLOAT:
    case TYPE_DOUBLE:
        fill_floating(field, random, row);
        return STATUS_OK;
    case TYPE_DATE:
    case TYPE_TIME:
    case TYPE_TIMESTAMP:
    case TYPE_TIMESTAMP_LTZ:
        fill_time(field, random, now_us, row);
        return STATUS_OK;
    case TYPE_INTERVAL_MONTH:
        put_integer(field->column.vector, row, random_between(random, 0, 120000));
        return STATUS_OK;
    case TYPE_INTERVAL_DAY:
        put_integer(field->column.vector, row, random_between(random, 0, 10000 * US_PER_DAY));
        return STATUS_OK;
    case TYPE_ARRAY:
    case TYPE_MAP:
    case TYPE_MULTISET:
        return fill_elements(field, random, number, now_us, row, err);
    case TYPE_ROW:
        for (uint32_t i = 0; i < field->child_count; i++) {
            TRY(datagen_field_fill(&field->children[i], random, number, now_us, row, err));
        }
        return STATUS_OK;
    default:
        put_integer(field->column.vector, row, random_between(random, field->min_integer, field->max_integer));
        return STATUS_OK;
    }
}
