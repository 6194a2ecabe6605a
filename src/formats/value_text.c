#include "formats/value_text.h"

#include <inttypes.h>

#include "data/calendar.h"
#include "data/cell_text.h"

static uint32_t digits_of(uint128_t magnitude, char digits[40])
{
    char reversed[40];
    uint32_t count = 0;
    do {
        reversed[count++] = (char)('0' + (int)(magnitude % 10));
        magnitude /= 10;
    } while (magnitude > 0);
    for (uint32_t i = 0; i < count; i++) {
        digits[i] = reversed[count - 1 - i];
    }
    return count;
}

void decimal_append_stripped(int128_t unscaled, int32_t scale, bool plain, struct text_builder *out)
{
    if (unscaled == 0) {
        text_append_char(out, '0');
        return;
    }
    while (unscaled % 10 == 0) {
        unscaled /= 10;
        scale--;
    }
    char digits[40];
    uint128_t magnitude = unscaled < 0 ? -(uint128_t)unscaled : (uint128_t)unscaled;
    uint32_t count = digits_of(magnitude, digits);
    int32_t exponent = (int32_t)count - 1 - scale; /* of the first digit */
    if (scale >= 0 && (plain || exponent >= -6)) {
        decimal_append_text(unscaled, scale, out);
        return;
    }
    if (unscaled < 0) {
        text_append_char(out, '-');
    }
    if (plain) {
        text_append(out, digits, count);
        for (int32_t i = 0; i < -scale; i++) {
            text_append_char(out, '0');
        }
        return;
    }
    text_append(out, digits, 1);
    if (count > 1) {
        text_append_char(out, '.');
        text_append(out, digits + 1, count - 1);
    }
    text_append_format(out, "E%+d", exponent);
}

/* ".5" of 500000000; nothing of 0 */
static void append_fraction(int64_t ns, struct text_builder *out)
{
    if (ns == 0) {
        return;
    }
    int digits = 9;
    while (ns % 10 == 0) {
        ns /= 10;
        digits--;
    }
    text_append_format(out, ".%0*" PRId64, digits, ns);
}

static void append_time_of_day(int64_t ns, struct text_builder *out)
{
    int64_t seconds = ns / 1000000000;
    text_append_format(out, "%02d:%02d:%02d", (int)(seconds / 3600), (int)(seconds / 60 % 60), (int)(seconds % 60));
    append_fraction(ns % 1000000000, out);
}

void time_append_stripped(int32_t ms, struct text_builder *out)
{
    append_time_of_day((int64_t)ms * 1000000, out);
}

void timestamp_append_stripped(int128_t value, int32_t precision, char separator, bool zoned, struct text_builder *out)
{
    int128_t ns = precision > 6 ? value : value * 1000, per_day = (int128_t)US_PER_DAY * 1000;
    int128_t days = ns / per_day;
    if (ns % per_day < 0) {
        days--;
    }
    date_append_text((int32_t)days, out);
    text_append_char(out, separator);
    append_time_of_day((int64_t)(ns - days * per_day), out);
    if (zoned) {
        text_append_char(out, 'Z');
    }
}

bool plain_append_value(const struct vector *vector, uint32_t row, struct text_builder *out)
{
    switch (vector->type->kind) {
    case TYPE_BOOLEAN:
        text_append_text(out, vector_bool(vector)[row] != 0 ? "true" : "false");
        return true;
    case TYPE_TINYINT:
    case TYPE_SMALLINT:
    case TYPE_INT:
    case TYPE_BIGINT:
    case TYPE_INTERVAL_MONTH:
        text_append_format(out, "%" PRId64, (int64_t)vector_get_integer(vector, row));
        return true;
    case TYPE_INTERVAL_DAY:
        text_append_format(out, "%" PRId64, floor_divide(vector_int64(vector)[row], US_PER_MS));
        return true;
    case TYPE_FLOAT:
        float_append_text(vector_float(vector)[row], out);
        return true;
    case TYPE_DOUBLE:
        double_append_text(vector_double(vector)[row], out);
        return true;
    default:
        return false;
    }
}
