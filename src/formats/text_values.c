#include "formats/text_values.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "data/calendar.h"
#include "data/cast.h"

static bool is_digit(char byte)
{
    return (unsigned char)(byte - '0') < 10;
}

static bool two_digits(const char *bytes, int32_t max, int32_t *value)
{
    if (!is_digit(bytes[0]) || !is_digit(bytes[1])) {
        return false;
    }
    *value = (bytes[0] - '0') * 10 + (bytes[1] - '0');
    return *value <= max;
}

bool text_parse_date(struct text text, int32_t *days)
{
    int32_t high, low, month, day;
    if (text.length != 10 || !two_digits(text.bytes, 99, &high) || !two_digits(text.bytes + 2, 99, &low) || text.bytes[4] != '-' ||
        !two_digits(text.bytes + 5, 12, &month) || text.bytes[7] != '-' || !two_digits(text.bytes + 8, 31, &day)) {
        return false;
    }
    int32_t year = high * 100 + low;
    if (month == 0 || day == 0 || day > date_days_in_month(year, month)) {
        return false;
    }
    *days = date_join(year, month, day);
    return true;
}

bool text_parse_date_short(struct text text, int32_t *days)
{
    char full[10] = "0000-00-00";
    if (text.length < 8 || text.length > 10 || text.bytes[4] != '-') {
        return text_parse_date(text, days);
    }
    memcpy(full, text.bytes, 5);
    const char *rest = text.bytes + 5, *end = text.bytes + text.length;
    const char *dash = memchr(rest, '-', (size_t)(end - rest));
    if (dash == NULL || dash == rest || dash - rest > 2 || end - dash < 2 || end - dash > 3) {
        return false;
    }
    memcpy(full + 7 - (dash - rest), rest, (size_t)(dash - rest));
    memcpy(full + 10 - (end - dash - 1), dash + 1, (size_t)(end - dash - 1));
    return text_parse_date((struct text){full, sizeof full}, days);
}

/* The time of day in nanoseconds; all of the text. */
static bool time_of_day(const char *bytes, size_t length, enum time_form form, int64_t *ns)
{
    int32_t hour, minute, second = 0;
    if (length < 5 || !two_digits(bytes, 23, &hour) || bytes[2] != ':' || !two_digits(bytes + 3, 59, &minute)) {
        return false;
    }
    if (length < 8) {
        if (length != 5 || form != TIME_FORM_ISO) {
            return false;
        }
    } else if (bytes[5] != ':' || !two_digits(bytes + 6, 59, &second)) {
        return false;
    }
    int64_t fraction = 0;
    if (length > 8) {
        if (bytes[8] != '.' || length > 18 || length == 9) {
            return false;
        }
        for (size_t i = 9; i < 18; i++) {
            if (i < length && !is_digit(bytes[i])) {
                return false;
            }
            fraction = fraction * 10 + (i < length ? bytes[i] - '0' : 0);
        }
    }
    *ns = ((int64_t)hour * 3600 + minute * 60 + second) * 1000000000 + fraction;
    return true;
}

bool text_parse_time(struct text text, enum time_form form, int32_t *ms)
{
    int64_t ns;
    if (!time_of_day(text.bytes, text.length, form, &ns)) {
        return false;
    }
    *ms = (int32_t)(ns / 1000000);
    return true;
}

bool text_parse_timestamp(struct text text, enum time_form form, bool zoned, int32_t precision, struct day_cache *cache, int128_t *value)
{
    static const int64_t powers[] = {1000000000, 100000000, 10000000, 1000000, 100000, 10000, 1000, 100, 10, 1};
    if (zoned) {
        if (text.length == 0 || text.bytes[text.length - 1] != 'Z') {
            return false;
        }
        text.length--;
    }
    if (text.length < 16 || text.bytes[10] != (form == TIME_FORM_ISO ? 'T' : ' ')) {
        return false;
    }
    if (memcmp(text.bytes, cache->text, 10) != 0) {
        int32_t days;
        if (!text_parse_date((struct text){text.bytes, 10}, &days)) {
            return false;
        }
        memcpy(cache->text, text.bytes, 10);
        cache->days = days;
    }
    int64_t ns;
    if (!time_of_day(text.bytes + 11, text.length - 11, form, &ns)) {
        return false;
    }
    if (precision < 9) {
        ns -= ns % powers[precision];
    }
    *value = precision > 6 ? (int128_t)cache->days * (US_PER_DAY * 1000) + ns : (int128_t)cache->days * US_PER_DAY + ns / 1000;
    return true;
}

struct text text_trim(struct text text)
{
    while (text.length > 0 && (unsigned char)text.bytes[0] <= ' ') {
        text.bytes++;
        text.length--;
    }
    while (text.length > 0 && (unsigned char)text.bytes[text.length - 1] <= ' ') {
        text.length--;
    }
    return text;
}

bool text_parse_integer(struct text text, int64_t min, int64_t max, int64_t *value)
{
    text = text_trim(text);
    size_t i = text.length > 0 && (text.bytes[0] == '-' || text.bytes[0] == '+');
    bool negative = i == 1 && text.bytes[0] == '-';
    if (i == text.length) {
        return false;
    }
    int64_t number = 0; /* negative: its range is the larger one */
    for (; i < text.length; i++) {
        if (!is_digit(text.bytes[i]) || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_sub_overflow(number, text.bytes[i] - '0', &number)) {
            return false;
        }
    }
    if (!negative && number == INT64_MIN) {
        return false;
    }
    number = negative ? number : -number;
    if (number < min || number > max) {
        return false;
    }
    *value = number;
    return true;
}

struct decimal_text {
    bool negative;
    struct text whole, fraction;
    int64_t exponent; /* saturated at a million */
};

static size_t digits_from(struct text text, size_t start)
{
    size_t i = start;
    while (i < text.length && is_digit(text.bytes[i])) {
        i++;
    }
    return i - start;
}

static bool split_decimal(struct text text, struct decimal_text *parts)
{
    *parts = (struct decimal_text){0};
    size_t i = text.length > 0 && (text.bytes[0] == '-' || text.bytes[0] == '+');
    parts->negative = i == 1 && text.bytes[0] == '-';
    parts->whole = (struct text){text.bytes + i, digits_from(text, i)};
    i += parts->whole.length;
    if (i < text.length && text.bytes[i] == '.') {
        i++;
        parts->fraction = (struct text){text.bytes + i, digits_from(text, i)};
        i += parts->fraction.length;
    }
    if (parts->whole.length + parts->fraction.length == 0) {
        return false;
    }
    if (i < text.length && (text.bytes[i] == 'e' || text.bytes[i] == 'E')) {
        i++;
        bool minus = i < text.length && text.bytes[i] == '-';
        i += i < text.length && (text.bytes[i] == '-' || text.bytes[i] == '+');
        size_t digits = digits_from(text, i);
        if (digits == 0) {
            return false;
        }
        for (size_t end = i + digits; i < end; i++) {
            parts->exponent = parts->exponent > 100000 ? 1000000 : parts->exponent * 10 + (text.bytes[i] - '0');
        }
        parts->exponent = minus ? -parts->exponent : parts->exponent;
    }
    return i == text.length;
}

bool text_is_decimal(struct text text)
{
    struct decimal_text parts;
    return split_decimal(text, &parts);
}

bool text_truncate_decimal(struct text text, int64_t min, int64_t max, int64_t *value)
{
    struct decimal_text parts;
    if (!split_decimal(text, &parts)) {
        return false;
    }
    int64_t number = 0;
    int64_t end = (int64_t)parts.whole.length + parts.exponent; /* digits before the point */
    int64_t present = (int64_t)(parts.whole.length + parts.fraction.length);
    for (int64_t i = 0; i < end; i++) {
        char digit = '0';
        if (i < (int64_t)parts.whole.length) {
            digit = parts.whole.bytes[i];
        } else if (i < present) {
            digit = parts.fraction.bytes[i - (int64_t)parts.whole.length];
        } else if (number == 0) {
            break;
        }
        if (__builtin_mul_overflow(number, 10, &number) || __builtin_sub_overflow(number, digit - '0', &number)) {
            return false;
        }
    }
    if (!parts.negative && number == INT64_MIN) {
        return false;
    }
    number = parts.negative ? number : -number;
    if (number < min || number > max) {
        return false;
    }
    *value = number;
    return true;
}

static bool double_exactly(struct text text, double *value)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    struct decimal_text parts;
    if (!split_decimal(text, &parts) || parts.whole.length + parts.fraction.length > 18) {
        return false;
    }
    uint64_t mantissa = 0;
    for (size_t i = 0; i < parts.whole.length; i++) {
        mantissa = mantissa * 10 + (uint64_t)(parts.whole.bytes[i] - '0');
    }
    for (size_t i = 0; i < parts.fraction.length; i++) {
        mantissa = mantissa * 10 + (uint64_t)(parts.fraction.bytes[i] - '0');
    }
    int64_t exponent = parts.exponent - (int64_t)parts.fraction.length;
    if (mantissa > (UINT64_C(1) << 53) || exponent < -22 || exponent > 22) {
        return false;
    }
    /* Both factors are exact, so one operation rounds once: the nearest double. */
    double magnitude = exponent < 0 ? (double)mantissa / powers[-exponent] : (double)mantissa * powers[exponent];
    *value = parts.negative ? -magnitude : magnitude;
    return true;
}

bool text_parse_double(struct text text, double *value)
{
    text = text_trim(text);
    return double_exactly(text, value) || text_to_double(text, value);
}

static int32_t base64_value(char byte)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *found = byte == '\0' ? NULL : strchr(alphabet, byte);
    return found == NULL ? -1 : (int32_t)(found - alphabet);
}

bool text_decode_base64(struct text text, char *out, size_t *length)
{
    if (text.length % 4 != 0) {
        return false;
    }
    size_t written = 0;
    for (size_t i = 0; i < text.length; i += 4) {
        bool last = i + 4 == text.length;
        int32_t padding = last && text.bytes[i + 3] == '=' ? (text.bytes[i + 2] == '=' ? 2 : 1) : 0;
        uint32_t bits = 0;
        for (int32_t j = 0; j < 4; j++) {
            int32_t value = j >= 4 - padding ? 0 : base64_value(text.bytes[i + (size_t)j]);
            if (value < 0) {
                return false;
            }
            bits = bits << 6 | (uint32_t)value;
        }
        for (int32_t j = 0; j < 3 - padding; j++) {
            out[written++] = (char)(bits >> (16 - 8 * j));
        }
    }
    *length = written;
    return true;
}

void text_append_base64(struct text_builder *out, struct text bytes)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < bytes.length; i += 3) {
        size_t rest = bytes.length - i;
        uint32_t bits = (uint32_t)(unsigned char)bytes.bytes[i] << 16;
        bits |= rest > 1 ? (uint32_t)(unsigned char)bytes.bytes[i + 1] << 8 : 0;
        bits |= rest > 2 ? (unsigned char)bytes.bytes[i + 2] : 0;
        char four[4] = {alphabet[bits >> 18], alphabet[bits >> 12 & 63], rest > 1 ? alphabet[bits >> 6 & 63] : '=',
                        rest > 2 ? alphabet[bits & 63] : '='};
        text_append(out, four, 4);
    }
}

const char *text_excerpt(struct text text, char out[TEXT_EXCERPT_BYTES])
{
    size_t written = 0, i = 0;
    while (i < text.length && written < TEXT_EXCERPT_BYTES - 8) {
        uint32_t code_point;
        size_t used = utf8_decode(text.bytes + i, text.length - i, &code_point);
        if (used > 0 && code_point >= ' ') {
            memcpy(out + written, text.bytes + i, used);
            written += used;
        } else {
            out[written++] = '?';
        }
        i += used > 0 ? used : 1;
    }
    memcpy(out + written, i < text.length ? "..." : "", i < text.length ? 4 : 1);
    return out;
}
