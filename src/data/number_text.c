/* data/number_text.c: integers and times by their digits, doubles by search.
 *
 * A double prints the fewest digits (two at least) that read back as the same double, and of those the ones nearest to it. Few
 * decimals of ordinary size: m / 10^k is rounded once when m < 10^15, so the first k that gives the value back is the answer.
 * Else: a normal double's 15 digits read back iff it has a text of at most 15 digits; then 16 and 17 are tried. */
#include "data/number_text.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/calendar.h"

size_t uint64_write_text(uint64_t value, char *out)
{
    char reversed[20];
    size_t length = 0;
    do {
        reversed[length++] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    for (size_t i = 0; i < length; i++) {
        out[i] = reversed[length - 1 - i];
    }
    return length;
}

size_t int64_write_text(int64_t value, char *out)
{
    if (value >= 0) {
        return uint64_write_text((uint64_t)value, out);
    }
    *out = '-';
    return 1 + uint64_write_text(-(uint64_t)value, out + 1);
}

void digits_write(uint32_t value, uint32_t digits, char *out)
{
    while (digits > 0) {
        out[--digits] = (char)('0' + value % 10);
        value /= 10;
    }
}

size_t decimal_write_text(int128_t unscaled, int32_t scale, char *out)
{
    const uint64_t block = UINT64_C(1000000000000000000);
    uint128_t magnitude = unscaled < 0 ? -(uint128_t)unscaled : (uint128_t)unscaled;
    char reversed[NUMBER_TEXT_MAX];
    size_t digits = 0;
    while (magnitude != 0) {
        uint64_t low = (uint64_t)(magnitude >> 64 == 0 && (uint64_t)magnitude < block ? magnitude : magnitude % block);
        magnitude = (uint128_t)(magnitude >> 64 == 0 && (uint64_t)magnitude < block ? 0 : magnitude / block);
        for (int i = 0; i < 18 && (low != 0 || magnitude != 0); i++) {
            reversed[digits++] = (char)('0' + low % 10);
            low /= 10;
        }
    }
    while (digits <= (size_t)scale) { /* one digit before the point at least */
        reversed[digits++] = '0';
    }
    size_t length = 0;
    if (unscaled < 0) {
        out[length++] = '-';
    }
    while (digits > 0) {
        if (digits == (size_t)scale) {
            out[length++] = '.';
        }
        out[length++] = reversed[--digits];
    }
    return length;
}

static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;
static locale_t c_locale;

static void c_locale_create(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* strtod wants a NUL and the C locale; a text longer than the stack buffer is copied to the heap. */
static bool text_to_number(struct text text, bool single, double *value)
{
    char stack[128];
    pthread_once(&c_locale_once, c_locale_create);
    char *copy = text.length < sizeof stack ? stack : malloc(text.length + 1);
    if (copy == NULL) {
        return false;
    }
    memcpy(copy, text.bytes, text.length);
    copy[text.length] = '\0';
    char *end = copy;
    *value = single ? (double)strtof_l(copy, &end, c_locale) : strtod_l(copy, &end, c_locale);
    bool whole = text.length > 0 && (size_t)(end - copy) == text.length;
    if (copy != stack) {
        free(copy);
    }
    return whole;
}

bool number_text_to_double(struct text text, double *value)
{
    return text_to_number(text, false, value);
}

bool number_text_to_float(struct text text, float *value)
{
    double wide;
    bool whole = text_to_number(text, true, &wide);
    *value = (float)wide;
    return whole;
}

/* The shortest digits of a positive finite number: d.ddd * 10^exponent. */
struct shortest {
    char digits[24];
    uint32_t count;
    int32_t exponent;
};

/* Reads what %e wrote, whatever the locale's point is. */
static void shortest_read(const char *text, struct shortest *shortest)
{
    shortest->count = 0;
    for (; *text != 'e'; text++) {
        if (*text >= '0' && *text <= '9') {
            shortest->digits[shortest->count++] = *text;
        }
    }
    shortest->exponent = (int32_t)strtol(text + 1, NULL, 10);
}

static double shortest_value(const struct shortest *shortest, bool single)
{
    char text[48];
    size_t length = shortest->count;
    memcpy(text, shortest->digits, length);
    text[length++] = 'e';
    length += int64_write_text(shortest->exponent - (int32_t)shortest->count + 1, text + length);
    double value = 0;
    text_to_number((struct text){text, length}, single, &value);
    return value;
}

/* One unit more in the last digit; false when that would carry past the first. */
static bool shortest_step_up(struct shortest *shortest)
{
    uint32_t at = shortest->count;
    while (at > 0 && shortest->digits[at - 1] == '9') {
        shortest->digits[--at] = '0';
    }
    if (at == 0) {
        return false;
    }
    shortest->digits[at - 1]++;
    return true;
}

static bool shortest_try(double value, uint32_t digits, bool single, struct shortest *shortest)
{
    char text[48];
    snprintf(text, sizeof text, "%.*e", (int)digits - 1, value);
    shortest_read(text, shortest);
    if (shortest_value(shortest, single) == value) {
        return true;
    }
    int exponent;
    /* Below a power of two the neighbours are nearer than above it: the next text up may still read back. */
    return frexp(value, &exponent) == 0.5 && shortest_step_up(shortest) && shortest_value(shortest, single) == value;
}

static void shortest_find(double value, bool single, struct shortest *shortest)
{
    bool normal = value >= (single ? (double)FLT_MIN : DBL_MIN);
    uint32_t most = single ? 9 : 17;
    uint32_t digits = normal ? (single ? FLT_DIG : DBL_DIG) : 2;
    while (digits < most && !shortest_try(value, digits, single, shortest)) {
        digits++;
    }
    if (digits == most) {
        shortest_try(value, digits, single, shortest);
    }
    while (shortest->count > 1 && shortest->digits[shortest->count - 1] == '0') {
        shortest->count--;
    }
}

static size_t shortest_write(const struct shortest *shortest, char *out)
{
    const char *digits = shortest->digits;
    int32_t count = (int32_t)shortest->count, exponent = shortest->exponent;
    bool plain = exponent >= -3 && exponent < 7;
    int32_t before = plain ? exponent + 1 : 1; /* digits before the point; 0 or less: zeros after it */
    size_t length = 0;
    if (before <= 0) {
        out[length++] = '0';
    }
    for (int32_t i = 0; i < before; i++) {
        out[length++] = i < count ? digits[i] : '0';
    }
    out[length++] = '.';
    for (int32_t i = before; i < 0; i++) {
        out[length++] = '0';
    }
    for (int32_t i = before > 0 ? before : 0; i < count; i++) {
        out[length++] = digits[i];
    }
    if (out[length - 1] == '.') {
        out[length++] = '0';
    }
    if (!plain) {
        out[length++] = 'E';
        length += int64_write_text(exponent, out + length);
    }
    return length;
}

/* A few decimals of ordinary size; false when the search is needed. */
static bool write_short_decimal(double value, bool single, char *out, size_t *length)
{
    static const double powers[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8};
    const double limit = single ? 1e6 : 1e15;
    if (!(value >= 1e-3 && value < 1e7)) {
        return false;
    }
    for (int32_t scale = 1; scale <= 8; scale++) {
        double scaled = nearbyint(value * powers[scale]);
        if (scaled >= limit) {
            return false;
        }
        double back = scaled / powers[scale];
        if (single ? (double)(float)back == value : back == value) {
            *length = decimal_write_text((int64_t)scaled, scale, out);
            return true;
        }
    }
    return false;
}

static size_t number_write_text(double value, bool single, char *out)
{
    size_t length = 0;
    if (isnan(value)) {
        memcpy(out, "NaN", 3);
        return 3;
    }
    if (signbit(value)) {
        out[length++] = '-';
        value = -value;
    }
    if (isinf(value)) {
        memcpy(out + length, "Infinity", 8);
        return length + 8;
    }
    if (value == 0) {
        memcpy(out + length, "0.0", 3);
        return length + 3;
    }
    size_t written;
    if (write_short_decimal(value, single, out + length, &written)) {
        return length + written;
    }
    struct shortest shortest;
    shortest_find(value, single, &shortest);
    return length + shortest_write(&shortest, out + length);
}

size_t double_write_text(double value, char *out)
{
    return number_write_text(value, false, out);
}

size_t float_write_text(float value, char *out)
{
    return number_write_text((double)value, true, out);
}

size_t date_write_text(int32_t days, char *out)
{
    struct date_parts parts = date_split(days);
    size_t length = 0;
    if (parts.year < 0) {
        out[length++] = '-';
        parts.year = -parts.year;
    }
    if (parts.year > 9999) {
        length += int64_write_text(parts.year, out + length);
    } else {
        digits_write((uint32_t)parts.year, 4, out + length);
        length += 4;
    }
    out[length++] = '-';
    digits_write((uint32_t)parts.month, 2, out + length);
    out[length + 2] = '-';
    digits_write((uint32_t)parts.day, 2, out + length + 3);
    return length + 5;
}

/* HH:mm:ss of a second of the day. */
static size_t clock_write(uint32_t second, char *out)
{
    digits_write(second / 3600, 2, out);
    out[2] = ':';
    digits_write(second / 60 % 60, 2, out + 3);
    out[5] = ':';
    digits_write(second % 60, 2, out + 6);
    return 8;
}

size_t time_write_text(int32_t ms, int32_t precision, char *out)
{
    size_t length = clock_write((uint32_t)ms / 1000, out);
    uint32_t fraction = (uint32_t)ms % 1000;
    if (precision > 0) {
        out[length++] = '.';
        do {
            out[length++] = (char)('0' + fraction / 100);
            fraction = fraction % 100 * 10;
        } while (fraction != 0 && --precision > 0);
    }
    return length;
}

size_t timestamp_write_text(int128_t value, int32_t precision, char *out)
{
    static const uint32_t powers[10] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000};
    int64_t us;
    uint32_t nanos_of_us = 0;
    if (precision > 6) {
        us = (int64_t)(value / 1000);
        int32_t rest = (int32_t)(value % 1000);
        us -= rest < 0;
        nanos_of_us = (uint32_t)(rest < 0 ? rest + 1000 : rest);
    } else {
        us = (int64_t)value;
    }
    int32_t days = timestamp_days(us);
    int64_t of_day = us - days * US_PER_DAY;
    size_t length = date_write_text(days, out);
    out[length++] = ' ';
    length += clock_write((uint32_t)(of_day / US_PER_SECOND), out + length);
    if (precision > 0) {
        uint32_t nanos = (uint32_t)(of_day % US_PER_SECOND) * 1000 + nanos_of_us;
        out[length++] = '.';
        digits_write(nanos / powers[9 - precision], (uint32_t)precision, out + length);
        length += (size_t)precision;
    }
    return length;
}

size_t interval_month_write_text(int32_t months, char *out)
{
    uint32_t magnitude = months < 0 ? -(uint32_t)months : (uint32_t)months;
    out[0] = months < 0 ? '-' : '+';
    size_t length = 1 + uint64_write_text(magnitude / 12, out + 1);
    out[length] = '-';
    digits_write(magnitude % 12, 2, out + length + 1);
    return length + 3;
}

size_t interval_day_write_text(int64_t us, char *out)
{
    uint64_t ms = (us < 0 ? -(uint64_t)us : (uint64_t)us) / 1000;
    out[0] = us < 0 ? '-' : '+';
    size_t length = 1 + uint64_write_text(ms / 86400000, out + 1);
    out[length++] = ' ';
    length += clock_write((uint32_t)(ms % 86400000 / 1000), out + length);
    out[length] = '.';
    digits_write((uint32_t)(ms % 1000), 3, out + length + 1);
    return length + 4;
}
