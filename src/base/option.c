#include "base/option.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

const char *option_check_positive(const void *value)
{
    return *(const int64_t *)value > 0 ? NULL : "must be greater than 0";
}

const char *option_check_not_negative(const void *value)
{
    return *(const int64_t *)value >= 0 ? NULL : "must not be negative";
}

enum status option_defaults(const struct option_def *defs, size_t count, void *settings, struct arena *arena, struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (defs[i].initial != NULL) {
            TRY(option_apply(&defs[i], defs[i].initial, settings, arena, err));
        }
    }
    return STATUS_OK;
}

static bool option_matches(const struct option_def *def, const char *key)
{
    if ((def->flags & OPTION_PREFIX) == 0) {
        return strcmp(def->name, key) == 0;
    }
    size_t length = strlen(def->name) - 1; /* without the '*' */
    return strncmp(def->name, key, length) == 0 && key[length] != '\0';
}

enum { OPTION_NAMES_MAX = 256 };

enum status option_find(const struct option_def *defs, size_t count, const char *what, const char *key, const struct option_def **def,
                        struct error *err)
{
    const char *names[OPTION_NAMES_MAX] = {NULL};
    size_t name_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (option_matches(&defs[i], key)) {
            *def = &defs[i];
            return STATUS_OK;
        }
        if (name_count < OPTION_NAMES_MAX) {
            names[name_count++] = defs[i].name;
        }
    }
    const char *nearest = text_nearest(key, names, name_count);
    if (nearest != NULL) {
        return error_set(err, ERROR_UNKNOWN_OPTION, "%s has no option '%s'; did you mean '%s'?", what, key, nearest);
    }
    struct text_builder list = {0};
    for (size_t i = 0; i < name_count; i++) {
        text_append_format(&list, "%s'%s'", i == 0 ? "" : ", ", names[i]);
    }
    enum status status =
        error_set(err, ERROR_UNKNOWN_OPTION, "%s has no option '%s'; it has: %s", what, key, list.length == 0 ? "none" : list.bytes);
    text_builder_close(&list);
    return status;
}

/* The text between blanks. */
static struct text trimmed(const char *text)
{
    while (isspace((unsigned char)*text)) {
        text++;
    }
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1])) {
        length--;
    }
    return (struct text){text, length};
}

struct unit {
    const char *name;
    int64_t factor;
};

/* "<digits> <unit>", the unit of any letter case; no unit: the first of the list. */
static bool number_with_unit(const char *text, const struct unit *units, size_t unit_count, int64_t *value)
{
    struct text body = trimmed(text);
    size_t digits = 0;
    int64_t number = 0;
    for (; digits < body.length && isdigit((unsigned char)body.bytes[digits]); digits++) {
        if (__builtin_mul_overflow(number, 10, &number) || __builtin_add_overflow(number, body.bytes[digits] - '0', &number)) {
            return false;
        }
    }
    if (digits == 0) {
        return false;
    }
    size_t start = digits;
    while (start < body.length && isspace((unsigned char)body.bytes[start])) {
        start++;
    }
    struct text unit = {body.bytes + start, body.length - start};
    for (size_t i = 0; i < unit_count; i++) {
        if (unit.length == 0 || text_equal_ignoring_case(unit, text_from(units[i].name))) {
            return !__builtin_mul_overflow(number, units[i].factor, value);
        }
    }
    return false;
}

enum status duration_parse(const char *text, struct duration *duration, struct error *err)
{
    static const struct unit units[] = {
        {"ms", 1000},         {"milli", 1000},       {"millis", 1000},    {"millisecond", 1000}, {"milliseconds", 1000}, {"us", 1},
        {"\xc2\xb5s", 1},     {"micro", 1},          {"micros", 1},       {"microsecond", 1},    {"microseconds", 1},    {"s", 1000000},
        {"sec", 1000000},     {"secs", 1000000},     {"second", 1000000}, {"seconds", 1000000},  {"m", 60000000},        {"min", 60000000},
        {"minute", 60000000}, {"minutes", 60000000}, {"h", 3600000000},   {"hour", 3600000000},  {"hours", 3600000000},  {"d", 86400000000},
        {"day", 86400000000}, {"days", 86400000000},
    };
    static const char *const nanos[] = {"ns", "nano", "nanos", "nanosecond", "nanoseconds"};
    if (number_with_unit(text, units, ARRAY_LENGTH(units), &duration->us)) {
        return STATUS_OK;
    }
    for (size_t i = 0; i < ARRAY_LENGTH(nanos); i++) {
        struct unit unit = {nanos[i], 1};
        if (number_with_unit(text, &unit, 1, &duration->us)) {
            duration->us = duration->us / 1000 + (duration->us > 0 && duration->us < 1000); /* a little is not never */
            return STATUS_OK;
        }
    }
    return error_set(err, ERROR_INVALID_OPTION, "'%s' is no duration; write a number and one of ns, us, ms, s, min, h, d, like '10 s'",
                     text);
}

enum status byte_size_parse(const char *text, struct byte_size *size, struct error *err)
{
    static const struct unit units[] = {
        {"b", 1},
        {"bytes", 1},
        {"k", 1 << 10},
        {"kb", 1 << 10},
        {"kibibytes", 1 << 10},
        {"m", 1 << 20},
        {"mb", 1 << 20},
        {"mebibytes", 1 << 20},
        {"g", 1 << 30},
        {"gb", 1 << 30},
        {"gibibytes", 1 << 30},
        {"t", INT64_C(1) << 40},
        {"tb", INT64_C(1) << 40},
        {"tebibytes", INT64_C(1) << 40},
    };
    int64_t bytes;
    if (!number_with_unit(text, units, ARRAY_LENGTH(units), &bytes)) {
        return error_set(err, ERROR_INVALID_OPTION, "'%s' is no size; write a number and one of b, kb, mb, gb, tb, like '64 mb'", text);
    }
    size->bytes = (uint64_t)bytes;
    return STATUS_OK;
}

static enum status parse_bool(const struct option_def *def, const char *value, bool *result, struct error *err)
{
    struct text text = trimmed(value);
    bool is_true = text_equal_ignoring_case(text, TEXT("true"));
    if (!is_true && !text_equal_ignoring_case(text, TEXT("false"))) {
        return error_set(err, ERROR_INVALID_OPTION, "option '%s' is 'true' or 'false', not '%s'", def->name, value);
    }
    *result = is_true;
    return STATUS_OK;
}

static enum status parse_int64(const struct option_def *def, const char *value, int64_t *result, struct error *err)
{
    struct text text = trimmed(value);
    char *end;
    errno = 0;
    long long parsed = strtoll(text.bytes, &end, 10);
    if (errno != 0 || text.length == 0 || end != text.bytes + text.length) {
        return error_set(err, ERROR_INVALID_OPTION, "option '%s' is a whole number, not '%s'", def->name, value);
    }
    *result = parsed;
    return STATUS_OK;
}

static enum status parse_double(const struct option_def *def, const char *value, double *result, struct error *err)
{
    struct text text = trimmed(value);
    char *end;
    double parsed = strtod(text.bytes, &end);
    if (text.length == 0 || end != text.bytes + text.length || parsed != parsed) {
        return error_set(err, ERROR_INVALID_OPTION, "option '%s' is a number, not '%s'", def->name, value);
    }
    *result = parsed;
    return STATUS_OK;
}

static enum status parse_choice(const struct option_def *def, const char *value, int32_t *result, struct error *err)
{
    struct text text = trimmed(value);
    for (int32_t i = 0; def->choices[i] != NULL; i++) {
        if (text_equal_ignoring_case(text, text_from(def->choices[i]))) {
            *result = i;
            return STATUS_OK;
        }
    }
    struct text_builder list = {0};
    for (int32_t i = 0; def->choices[i] != NULL; i++) {
        text_append_format(&list, "%s'%s'", i == 0 ? "" : ", ", def->choices[i]);
    }
    enum status status =
        error_set(err, ERROR_INVALID_OPTION, "option '%s' is one of %s, not '%s'", def->name, list.failed ? "a list" : list.bytes, value);
    text_builder_close(&list);
    return status;
}

static enum status parse_value(const struct option_def *def, const char *value, void *member, struct arena *arena, struct error *err)
{
    switch (def->kind) {
    case OPTION_KIND_BOOL:
        return parse_bool(def, value, member, err);
    case OPTION_KIND_INT64:
        return parse_int64(def, value, member, err);
    case OPTION_KIND_DOUBLE:
        return parse_double(def, value, member, err);
    case OPTION_KIND_TEXT:
        TRY_ALLOC(*(const char **)member, arena_text(arena, value, strlen(value)), err);
        return STATUS_OK;
    case OPTION_KIND_DURATION:
        return duration_parse(value, member, err);
    case OPTION_KIND_BYTES:
        return byte_size_parse(value, member, err);
    case OPTION_KIND_CHOICE:
        return parse_choice(def, value, member, err);
    }
    return error_set(err, ERROR_INTERNAL, "option '%s' has no kind", def->name);
}

bool option_is_among(const struct option_def *defs, size_t count, const char *key)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(defs[i].name, key) == 0) {
            return true;
        }
    }
    return false;
}

enum status option_apply(const struct option_def *def, const char *value, void *settings, struct arena *arena, struct error *err)
{
    void *member = (char *)settings + def->offset;
    enum status status = parse_value(def, value, member, arena, err);
    if (status != STATUS_OK) {
        if (def->kind == OPTION_KIND_DURATION || def->kind == OPTION_KIND_BYTES) {
            error_add_context(err, "in option '%s'", def->name);
        }
        return status;
    }
    const char *reason = def->check == NULL ? NULL : def->check(member);
    if (reason != NULL) {
        return error_set(err, ERROR_INVALID_OPTION, "option '%s' = '%s': %s", def->name, value, reason);
    }
    return STATUS_OK;
}
