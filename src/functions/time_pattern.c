/* A pattern is a list of parts: a letter with its count, or literal text. Formatting and parsing walk the list. */
#include "functions/time_pattern.h"

#include <string.h>

#include "data/calendar.h"
#include "data/number_text.h"

struct part {
    char letter; /* 0: literal */
    uint8_t count;
    bool numeric_follows; /* the next part is a number: this one has exactly `count` digits when parsed */
    struct text text;
};
struct time_pattern {
    uint32_t count;
    int64_t period;
    size_t max_length;
    const struct part *parts;
};

static const char letters[] = "yuMLdDEQqaGHkKhmsSnXxZ";

static const char *const month_names[12] = {"January", "February", "March",     "April",   "May",      "June",
                                            "July",    "August",   "September", "October", "November", "December"};
static const char *const day_names[7] = {"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"};
static const char *const quarter_names[4] = {"1st quarter", "2nd quarter", "3rd quarter", "4th quarter"};

static bool is_letter(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

static bool part_is_number(const struct part *part)
{
    if (part->letter == 'M' || part->letter == 'L' || part->letter == 'Q' || part->letter == 'q') {
        return part->count <= 2;
    }
    return part->letter != 0 && strchr("EaGXxZ", part->letter) == NULL;
}

/* The shortest stretch of time that a letter tells apart. */
static int64_t letter_period(char letter)
{
    switch (letter) {
    case 'H':
    case 'k':
    case 'K':
    case 'h':
    case 'a':
        return US_PER_HOUR;
    case 'm':
        return US_PER_MINUTE;
    case 's':
        return US_PER_SECOND;
    case 'S':
    case 'n':
    case 'X':
    case 'x':
    case 'Z':
        return 0;
    default:
        return US_PER_DAY;
    }
}

/* A quoted text from its opening quote on; doubled quotes inside stand for one. Returns the bytes used, 0 when it does not end. */
static size_t read_quoted(struct text text, size_t at, char *copy, size_t *copied)
{
    size_t start = at++;
    *copied = 0;
    if (at < text.length && text.bytes[at] == '\'') {
        copy[(*copied)++] = '\'';
        return 2;
    }
    for (; at < text.length; at++) {
        if (text.bytes[at] != '\'') {
            copy[(*copied)++] = text.bytes[at];
        } else if (at + 1 < text.length && text.bytes[at + 1] == '\'') {
            copy[(*copied)++] = text.bytes[at++];
        } else {
            return at + 1 - start;
        }
    }
    return 0;
}

static enum status read_part(struct arena *arena, struct text text, size_t *at, struct part *part, struct error *err)
{
    char byte = text.bytes[*at];
    *part = (struct part){0};
    if (byte == '\'') {
        char *copy;
        TRY_ALLOC(copy, arena_alloc(arena, text.length), err);
        size_t copied, used = read_quoted(text, *at, copy, &copied);
        if (used == 0) {
            return error_set(err, ERROR_INVALID_ARGUMENT, "the quote in the time format '%.*s' does not end", (int)text.length, text.bytes);
        }
        part->text = (struct text){copy, copied};
        *at += used;
        return STATUS_OK;
    }
    if (!is_letter(byte)) {
        TRY_ALLOC(part->text.bytes, arena_text(arena, &text.bytes[*at], 1), err);
        part->text.length = 1;
        ++*at;
        return STATUS_OK;
    }
    if (strchr(letters, byte) == NULL) {
        return error_set(err, ERROR_INVALID_ARGUMENT, "the letter '%c' in the time format '%.*s' is not supported; the letters are %s",
                         byte, (int)(text.length > 100 ? 100 : text.length), text.bytes, letters);
    }
    size_t end = *at;
    while (end < text.length && text.bytes[end] == byte && end - *at < 19) {
        end++;
    }
    part->letter = byte;
    part->count = (uint8_t)(end - *at);
    *at = end;
    return STATUS_OK;
}

enum status time_pattern_compile(struct arena *arena, struct text text, const struct time_pattern **result, struct error *err)
{
    struct time_pattern *pattern;
    struct part *parts;
    TRY_ALLOC(pattern, arena_alloc(arena, sizeof *pattern), err);
    TRY_ALLOC(parts, arena_alloc(arena, (text.length + 1) * sizeof *parts), err);
    pattern->parts = parts;
    pattern->period = US_PER_DAY;
    for (size_t at = 0; at < text.length;) {
        struct part *part = &parts[pattern->count++];
        TRY(read_part(arena, text, &at, part, err));
        pattern->max_length += part->letter == 0 ? part->text.length : (size_t)part->count + 20;
        if (part->letter != 0) {
            int64_t period = letter_period(part->letter);
            pattern->period = period < pattern->period ? period : pattern->period;
        }
    }
    for (uint32_t i = 0; i + 1 < pattern->count; i++) {
        parts[i].numeric_follows = part_is_number(&parts[i]) && part_is_number(&parts[i + 1]);
    }
    *result = pattern;
    return STATUS_OK;
}

int64_t time_pattern_period(const struct time_pattern *pattern)
{
    return pattern->period;
}

size_t time_pattern_max_length(const struct time_pattern *pattern)
{
    return pattern->max_length;
}

static size_t put_text(const char *text, size_t length, char *out)
{
    memcpy(out, text, length);
    return length;
}

static size_t put_number(int64_t value, uint32_t width, char *out)
{
    char digits[24];
    size_t length = int64_write_text(value < 0 ? -value : value, digits), used = 0;
    if (value < 0) {
        out[used++] = '-';
    }
    for (size_t i = length; i < width; i++) {
        out[used++] = '0';
    }
    return used + put_text(digits, length, out + used);
}

static size_t put_name(const char *name, uint32_t count, char *out)
{
    size_t length = strlen(name);
    return put_text(name, count == 5 ? 1 : count == 4 ? length : 3, out);
}

static size_t put_offset(const struct part *part, int32_t seconds, char *out)
{
    uint32_t magnitude = (uint32_t)(seconds < 0 ? -seconds : seconds);
    if (part->letter == 'X' && seconds == 0) {
        *out = 'Z';
        return 1;
    }
    out[0] = seconds < 0 ? '-' : '+';
    digits_write(magnitude / 3600, 2, out + 1);
    if (part->letter != 'Z' && part->count == 1 && magnitude % 3600 == 0) {
        return 3;
    }
    bool colon = part->letter != 'Z' && part->count >= 3;
    out[3] = ':';
    digits_write(magnitude / 60 % 60, 2, out + 3 + colon);
    return 5 + (size_t)colon;
}

struct moment {
    struct date_parts date;
    int32_t days;
    uint32_t hour, minute, second, nanos;
    int32_t offset_seconds;
};

static size_t put_fraction(uint32_t nanos, uint32_t count, char *out)
{
    char digits[9];
    digits_write(nanos, 9, digits);
    for (uint32_t i = 0; i < count; i++) {
        out[i] = i < 9 ? digits[i] : '0';
    }
    return count;
}

static size_t put_quarter(const struct part *part, int32_t quarter, char *out)
{
    if (part->count <= 2) {
        return put_number(quarter, part->count, out);
    }
    if (part->count == 3) {
        out[0] = 'Q';
        out[1] = (char)('0' + quarter);
        return 2;
    }
    return put_text(quarter_names[quarter - 1], strlen(quarter_names[0]), out);
}

static size_t put_part(const struct part *part, const struct moment *moment, char *out)
{
    switch (part->letter) {
    case 'y':
    case 'u':
        return part->count == 2 ? put_number(floor_modulo(moment->date.year, 100), 2, out)
                                : put_number(moment->date.year, part->count, out);
    case 'M':
    case 'L':
        return part->count <= 2 ? put_number(moment->date.month, part->count, out)
                                : put_name(month_names[moment->date.month - 1], part->count, out);
    case 'd':
        return put_number(moment->date.day, part->count, out);
    case 'D':
        return put_number(date_day_of_year(moment->days), part->count, out);
    case 'E':
        return put_name(day_names[date_weekday(moment->days) - 1], part->count, out);
    case 'Q':
    case 'q':
        return put_quarter(part, (moment->date.month + 2) / 3, out);
    case 'a':
        return put_text(moment->hour < 12 ? "AM" : "PM", 2, out);
    case 'G':
        return put_text(moment->date.year > 0 ? "AD" : "BC", 2, out);
    case 'H':
        return put_number(moment->hour, part->count, out);
    case 'k':
        return put_number(moment->hour == 0 ? 24 : moment->hour, part->count, out);
    case 'K':
        return put_number(moment->hour % 12, part->count, out);
    case 'h':
        return put_number(moment->hour % 12 == 0 ? 12 : moment->hour % 12, part->count, out);
    case 'm':
        return put_number(moment->minute, part->count, out);
    case 's':
        return put_number(moment->second, part->count, out);
    case 'S':
        return put_fraction(moment->nanos, part->count, out);
    case 'n':
        return put_number(moment->nanos, part->count, out);
    case '\0':
        return put_text(part->text.bytes, part->text.length, out);
    default:
        return put_offset(part, moment->offset_seconds, out);
    }
}

size_t time_pattern_format(const struct time_pattern *pattern, int64_t local_us, uint32_t nanos, int32_t offset_seconds, char *out)
{
    struct moment moment = {.days = timestamp_days(local_us), .offset_seconds = offset_seconds};
    uint64_t of_day = (uint64_t)(local_us - moment.days * US_PER_DAY);
    uint32_t second = (uint32_t)(of_day / (uint64_t)US_PER_SECOND);
    moment.date = date_split(moment.days);
    moment.hour = second / 3600;
    moment.minute = second / 60 % 60;
    moment.second = second % 60;
    moment.nanos = (uint32_t)(of_day % (uint64_t)US_PER_SECOND) * 1000 + nanos;
    size_t length = 0;
    for (uint32_t i = 0; i < pattern->count; i++) {
        length += put_part(&pattern->parts[i], &moment, out + length);
    }
    return length;
}

/* What has been read; -1 where nothing was. */
struct fields {
    int32_t year, month, day, day_of_year, hour, clock_hour, half, minute, second, nanos;
    bool has_offset;
    int32_t offset_seconds;
};

static bool read_digits(struct text *text, uint32_t min, uint32_t max, int32_t *value)
{
    uint32_t digits = 0;
    int64_t number = 0;
    while (digits < max && digits < text->length && text->bytes[digits] >= '0' && text->bytes[digits] <= '9') {
        number = number * 10 + (text->bytes[digits++] - '0');
    }
    if (digits < min) {
        return false;
    }
    *value = (int32_t)number;
    text->bytes += digits;
    text->length -= digits;
    return true;
}

static bool read_number(const struct part *part, struct text *text, enum time_pattern_mode mode, int32_t *value)
{
    uint32_t count = part->count > 9 ? 9 : part->count;
    if (mode == TIME_PATTERN_LOOSE) {
        while (text->length > 0 && text->bytes[0] == ' ') {
            text->bytes++;
            text->length--;
        }
        return part->numeric_follows ? read_digits(text, 1, count, value) : read_digits(text, 1, 9, value);
    }
    if (count == 1) {
        return read_digits(text, 1, part->numeric_follows ? 1 : 9, value);
    }
    return read_digits(text, count, count, value);
}

/* A name from the list, whole or its first three letters; the longer wins. */
static bool read_name(struct text *text, const char *const *names, uint32_t count, int32_t *index)
{
    for (int whole = 1; whole >= 0; whole--) {
        for (uint32_t i = 0; i < count; i++) {
            struct text name = {names[i], whole ? strlen(names[i]) : 3};
            if (text->length >= name.length && text_equal_ignoring_case((struct text){text->bytes, name.length}, name)) {
                *index = (int32_t)i;
                text->bytes += name.length;
                text->length -= name.length;
                return true;
            }
        }
    }
    return false;
}

static bool read_offset(struct text *text, struct fields *fields)
{
    fields->has_offset = true;
    if (text->length > 0 && text->bytes[0] == 'Z') {
        text->bytes++;
        text->length--;
        return true;
    }
    if (text->length == 0 || (text->bytes[0] != '+' && text->bytes[0] != '-')) {
        return false;
    }
    bool negative = text->bytes[0] == '-';
    int32_t hours, minutes = 0;
    text->bytes++;
    text->length--;
    if (!read_digits(text, 2, 2, &hours)) {
        return false;
    }
    struct text rest = *text;
    if (rest.length > 0 && rest.bytes[0] == ':') {
        rest.bytes++;
        rest.length--;
    }
    if (read_digits(&rest, 2, 2, &minutes)) {
        *text = rest;
    }
    int32_t magnitude = hours * 3600 + minutes * 60;
    fields->offset_seconds = negative ? -magnitude : magnitude;
    return hours <= 18 && minutes <= 59;
}

static bool read_fraction(const struct part *part, struct text *text, enum time_pattern_mode mode, int32_t *nanos)
{
    size_t before = text->length;
    bool loose = mode == TIME_PATTERN_LOOSE;
    if (!read_digits(text, loose ? 1 : part->count, loose ? 9 : part->count, nanos)) {
        return false;
    }
    for (size_t digits = before - text->length; digits < 9; digits++) {
        *nanos *= 10;
    }
    return true;
}

static bool read_literal(struct text literal, struct text *text)
{
    if (text->length < literal.length || memcmp(text->bytes, literal.bytes, literal.length) != 0) {
        return false;
    }
    text->bytes += literal.length;
    text->length -= literal.length;
    return true;
}

static bool read_year(const struct part *part, struct text *text, enum time_pattern_mode mode, int32_t *year)
{
    if (!read_number(part, text, mode, year)) {
        return false;
    }
    if (part->count == 2) { /* of 2000 to 2099 */
        *year += *year < 100 ? 2000 : 0;
    }
    return *year <= 9999;
}

static bool read_part_value(const struct part *part, struct text *text, enum time_pattern_mode mode, struct fields *fields)
{
    static const char *const halves[] = {"AM", "PM"};
    int32_t ignored;
    switch (part->letter) {
    case '\0':
        return read_literal(part->text, text);
    case 'y':
    case 'u':
        return read_year(part, text, mode, &fields->year);
    case 'M':
    case 'L':
        if (part->count <= 2) {
            return read_number(part, text, mode, &fields->month);
        }
        if (!read_name(text, month_names, 12, &fields->month)) {
            return false;
        }
        fields->month++;
        return true;
    case 'd':
        return read_number(part, text, mode, &fields->day);
    case 'D':
        return read_number(part, text, mode, &fields->day_of_year);
    case 'E':
        return read_name(text, day_names, 7, &ignored);
    case 'a':
        for (int32_t i = 0; i < 2; i++) {
            if (text->length >= 2 && text_equal_ignoring_case((struct text){text->bytes, 2}, text_from(halves[i]))) {
                fields->half = i;
                *text = (struct text){text->bytes + 2, text->length - 2};
                return true;
            }
        }
        return false;
    case 'H':
    case 'k':
        return read_number(part, text, mode, &fields->hour) && fields->hour <= (part->letter == 'H' ? 23 : 24);
    case 'K':
    case 'h':
        return read_number(part, text, mode, &fields->clock_hour);
    case 'm':
        return read_number(part, text, mode, &fields->minute);
    case 's':
        return read_number(part, text, mode, &fields->second);
    case 'S':
        return read_fraction(part, text, mode, &fields->nanos);
    case 'X':
    case 'x':
    case 'Z':
        return read_offset(text, fields);
    default:
        return read_number(part, text, mode, &ignored);
    }
}

static bool resolve_date(const struct fields *fields, enum time_pattern_mode mode, int32_t *days)
{
    int32_t year = fields->year < 0 ? 1970 : fields->year;
    if (fields->day_of_year >= 0 && fields->month < 0) {
        *days = date_join(year, 1, 1) + fields->day_of_year - 1;
        return fields->day_of_year >= 1 && date_split(*days).year == year;
    }
    int32_t month = fields->month < 0 ? 1 : fields->month, day = fields->day < 0 ? 1 : fields->day;
    if (month < 1 || month > 12 || day < 1 || day > 31) {
        return false;
    }
    int32_t last = date_days_in_month(year, month);
    if (day > last && mode == TIME_PATTERN_LOOSE) {
        return false;
    }
    *days = date_join(year, month, day < last ? day : last);
    return true;
}

static bool resolve(const struct fields *fields, enum time_pattern_mode mode, struct parsed_time *time)
{
    int32_t days, hour = fields->hour < 0 ? 0 : fields->hour % 24;
    int32_t minute = fields->minute < 0 ? 0 : fields->minute, second = fields->second < 0 ? 0 : fields->second;
    if (fields->hour < 0 && fields->clock_hour >= 0) {
        hour = fields->clock_hour % 12 + (fields->half == 1 ? 12 : 0);
    }
    if (!resolve_date(fields, mode, &days) || fields->clock_hour > 12 || minute > 59 || second > 59) {
        return false;
    }
    int32_t nanos = fields->nanos < 0 ? 0 : fields->nanos;
    time->local_us = days * US_PER_DAY + hour * US_PER_HOUR + minute * US_PER_MINUTE + second * US_PER_SECOND + nanos / 1000;
    time->nanos = (uint32_t)nanos % 1000;
    time->has_offset = fields->has_offset;
    time->offset_seconds = fields->offset_seconds;
    return true;
}

bool time_pattern_parse(const struct time_pattern *pattern, struct text text, enum time_pattern_mode mode, struct parsed_time *time)
{
    struct fields fields = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, false, 0};
    for (uint32_t i = 0; i < pattern->count; i++) {
        if (!read_part_value(&pattern->parts[i], &text, mode, &fields)) {
            return false;
        }
    }
    if (mode == TIME_PATTERN_STRICT && text.length > 0) {
        return false;
    }
    return resolve(&fields, mode, time);
}
