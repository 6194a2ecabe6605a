/* data/text_parse.c: numbers, booleans and times read from text, by the rules of CAST from STRING (Flink 2.3). */
#include <string.h>

#include "data/calendar.h"
#include "data/cast.h"
#include "data/decimal.h"
#include "data/number_text.h"

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static struct text trim_blanks(struct text text)
{
    while (text.length > 0 && text.bytes[0] == ' ') {
        text.bytes++;
        text.length--;
    }
    while (text.length > 0 && text.bytes[text.length - 1] == ' ') {
        text.length--;
    }
    return text;
}

/* As Java's String.trim: everything up to the blank. */
static struct text trim_space(struct text text)
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

bool text_to_int64(struct text text, int64_t min, int64_t max, int64_t *value)
{
    text = trim_blanks(text);
    size_t at = 0, digits = 0;
    bool negative = text.length > 0 && text.bytes[0] == '-';
    if (text.length > 0 && (text.bytes[0] == '-' || text.bytes[0] == '+')) {
        at = 1;
    }
    int64_t result = 0; /* counts down: the smallest number has no positive twin */
    for (; at < text.length && is_digit(text.bytes[at]); at++, digits++) {
        if (__builtin_mul_overflow(result, INT64_C(10), &result) || __builtin_sub_overflow(result, text.bytes[at] - '0', &result)) {
            return false;
        }
    }
    if (at < text.length && text.bytes[at] == '.') {
        for (at++; at < text.length && is_digit(text.bytes[at]); at++) {
            digits++; /* a fraction is cut off */
        }
    }
    if (at < text.length || digits == 0 || (!negative && result == INT64_MIN)) {
        return false;
    }
    *value = negative ? result : -result;
    return *value >= min && *value <= max;
}

/* Digits with a point, no more than a double holds exactly: one division rounds correctly. */
static bool short_decimal(struct text text, double *value)
{
    static const double powers[16] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    size_t at = text.length > 0 && text.bytes[0] == '-';
    bool negative = at == 1, point = false;
    uint64_t digits = 0;
    uint32_t count = 0, fraction = 0;
    if (text.length - at > 16 || text.length == at) {
        return false;
    }
    for (; at < text.length; at++) {
        if (text.bytes[at] == '.' && !point) {
            point = true;
            continue;
        }
        if (!is_digit(text.bytes[at]) || ++count > 15) {
            return false;
        }
        digits = digits * 10 + (uint64_t)(text.bytes[at] - '0');
        fraction += point;
    }
    if (count == 0) {
        return false;
    }
    double magnitude = (double)digits / powers[fraction];
    *value = negative ? -magnitude : magnitude;
    return true;
}

static bool special_number(struct text text, double *value)
{
    static const struct {
        const char *name;
        double value;
    } specials[] = {
        {"NaN", __builtin_nan("")}, {"Infinity", __builtin_inf()}, {"+Infinity", __builtin_inf()}, {"-Infinity", -__builtin_inf()}};
    for (size_t i = 0; i < ARRAY_LENGTH(specials); i++) {
        if (text_equal(text, text_from(specials[i].name))) {
            *value = specials[i].value;
            return true;
        }
    }
    return false;
}

bool text_to_double(struct text text, double *value)
{
    text = trim_space(text);
    if (short_decimal(text, value) || special_number(text, value)) {
        return true;
    }
    return decimal_is_number(text) && number_text_to_double(text, value);
}

bool text_to_float(struct text text, float *value)
{
    double wide;
    text = trim_space(text);
    if (special_number(text, &wide)) {
        *value = (float)wide;
        return true;
    }
    return decimal_is_number(text) && number_text_to_float(text, value);
}

bool text_to_boolean(struct text text, bool *value)
{
    static const char *const words[] = {"true", "t", "yes", "y", "1", "false", "f", "no", "n", "0"};
    for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
        if (text_equal_ignoring_case(text, text_from(words[i]))) {
            *value = i < 5;
            return true;
        }
    }
    return false;
}

/* Digits alone, with white space around. */
static bool read_whole(const char *bytes, size_t length, int32_t *value)
{
    struct text text = trim_space((struct text){bytes, length});
    if (text.length == 0 || text.length > 9) {
        return false;
    }
    *value = 0;
    for (size_t i = 0; i < text.length; i++) {
        if (!is_digit(text.bytes[i])) {
            return false;
        }
        *value = *value * 10 + (text.bytes[i] - '0');
    }
    return true;
}

/* The text up to `byte`, which is skipped; the whole rest if there is none. */
static struct text split_at(struct text *rest, char byte, bool *found)
{
    const char *at = rest->length == 0 ? NULL : memchr(rest->bytes, byte, rest->length);
    struct text part = *rest;
    *found = at != NULL;
    if (at == NULL) {
        *rest = (struct text){rest->bytes + rest->length, 0};
    } else {
        part.length = (size_t)(at - rest->bytes);
        *rest = (struct text){at + 1, rest->length - part.length - 1};
    }
    return part;
}

bool text_to_date(struct text text, int32_t *days)
{
    const char *blank = text.length == 0 ? NULL : memchr(text.bytes, ' ', text.length);
    if (blank != NULL && blank > text.bytes) {
        text.length = (size_t)(blank - text.bytes); /* a time may follow */
    }
    int32_t parts[3] = {0, 1, 1};
    bool more = true;
    for (int i = 0; i < 3 && more; i++) {
        bool found = false;
        struct text part = i == 2 ? text : split_at(&text, '-', &found);
        if (!read_whole(part.bytes, part.length, &parts[i])) {
            return false;
        }
        more = found;
    }
    if (parts[0] > 9999 || parts[1] < 1 || parts[1] > 12 || parts[2] < 1 || parts[2] > date_days_in_month(parts[0], parts[1])) {
        return false;
    }
    *days = date_join(parts[0], parts[1], parts[2]);
    return true;
}

/* Up to nine digits of a fraction as nanoseconds. */
static bool read_fraction(struct text text, int32_t *nanos)
{
    if (text.length > 9) {
        return false;
    }
    *nanos = 0;
    for (size_t i = 0; i < 9; i++) {
        if (i < text.length && !is_digit(text.bytes[i])) {
            return false;
        }
        *nanos = *nanos * 10 + (i < text.length ? text.bytes[i] - '0' : 0);
    }
    return true;
}

bool text_to_time(struct text text, int32_t *ms)
{
    int32_t parts[3] = {0, 0, 0}, nanos = 0;
    bool found;
    struct text hour = split_at(&text, ':', &found);
    if (!found || !read_whole(hour.bytes, hour.length, &parts[0])) {
        return false;
    }
    struct text minute = split_at(&text, ':', &found);
    if (!read_whole(minute.bytes, minute.length, &parts[1])) {
        return false;
    }
    if (found) {
        struct text second = split_at(&text, '.', &found);
        if (!read_whole(second.bytes, second.length, &parts[2]) || !read_fraction(trim_space(text), &nanos)) {
            return false;
        }
    }
    *ms = ((parts[0] * 60 + parts[1]) * 60 + parts[2]) * 1000 + nanos / 1000000;
    return parts[0] <= 23 && parts[1] <= 59 && parts[2] <= 59;
}

/* One or two digits at the place, then `close` unless it is 0 (any end). */
static bool read_field(struct text *text, int32_t max, char close, int32_t *value)
{
    size_t digits = 0;
    *value = 0;
    while (digits < 2 && digits < text->length && is_digit(text->bytes[digits])) {
        *value = *value * 10 + (text->bytes[digits++] - '0');
    }
    if (digits == 0 || *value > max) {
        return false;
    }
    if (close != '\0') {
        if (digits >= text->length || text->bytes[digits] != close) {
            return false;
        }
        digits++;
    }
    text->bytes += digits;
    text->length -= digits;
    return true;
}

static bool read_clock(struct text text, int64_t *us, int32_t *nanos)
{
    int32_t hour, minute, second;
    if (text.bytes[0] != ' ') {
        return false;
    }
    text.bytes++;
    text.length--;
    if (!read_field(&text, 23, ':', &hour) || !read_field(&text, 59, ':', &minute) || !read_field(&text, 59, '\0', &second)) {
        return false;
    }
    *nanos = 0;
    if (text.length > 0) {
        if (text.bytes[0] != '.' || !read_fraction((struct text){text.bytes + 1, text.length - 1}, nanos)) {
            return false;
        }
    }
    *us = hour * US_PER_HOUR + minute * US_PER_MINUTE + second * US_PER_SECOND;
    return true;
}

bool text_to_timestamp(struct text text, int32_t precision, int128_t *value)
{
    static const int32_t units[10] = {1000000000, 100000000, 10000000, 1000000, 100000, 10000, 1000, 100, 10, 1};
    int32_t year, month, day, nanos = 0;
    int64_t us = 0;
    if (text.length < 8 || text.bytes[4] != '-' || !read_whole(text.bytes, 4, &year) || !is_digit(text.bytes[0]) ||
        !is_digit(text.bytes[3]) || year == 0) {
        return false;
    }
    text = (struct text){text.bytes + 5, text.length - 5};
    if (!read_field(&text, 12, '-', &month) || !read_field(&text, 31, '\0', &day) || month == 0 || day == 0) {
        return false;
    }
    if (text.length > 0 && !read_clock(text, &us, &nanos)) {
        return false;
    }
    int32_t last = date_days_in_month(year, month);
    int64_t whole = date_join(year, month, day < last ? day : last) * US_PER_DAY + us;
    nanos -= nanos % units[precision];
    *value = precision > 6 ? (int128_t)whole * 1000 + nanos : (int128_t)(whole + nanos / 1000);
    return true;
}
