/* data/time_zone.c: a zone is a sorted list of changes of its offset.
 *
 * The list comes from a TZif file (RFC 8536). Its footer's rule for later years is written out for 400 years: after that the
 * Gregorian calendar repeats day for day, so a later time is looked up some cycles earlier.
 * A local time belongs to the last change with change + max(offset before, offset after) <= local: that takes the earlier instant
 * in an overlap and moves a time in a gap forward. */
#include "data/time_zone.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "data/calendar.h"
#include "data/time_zone_rule.h"

enum { ZONE_FILE_MAX = 1 << 20, RULE_YEARS = 402 };
#define SECONDS_PER_CYCLE (INT64_C(146097) * 86400)

struct time_zone {
    const char *name;
    bool utc;
    bool repeats;         /* after `cycle_start` everything repeats each cycle */
    int64_t cycle_start;  /* seconds */
    int32_t first_offset; /* before the first change */
    uint32_t count;
    const int64_t *changes; /* UTC seconds, ascending */
    const int32_t *offsets; /* from each change on */
};

static const struct time_zone utc_zone = {.name = "UTC", .utc = true};
const struct time_zone *const time_zone_utc = &utc_zone;

bool time_zone_is_utc(const struct time_zone *zone)
{
    return zone->utc;
}

/* Digits of a number of one or two places; false when there are none. */
static bool read_two(const char **at, int32_t *value)
{
    if (**at < '0' || **at > '9') {
        return false;
    }
    *value = *(*at)++ - '0';
    if (**at >= '0' && **at <= '9') {
        *value = *value * 10 + (*(*at)++ - '0');
    }
    return true;
}

/* +h, +hh, +hh:mm, +hhmm, +hh:mm:ss, to the end of the text. */
static bool read_offset(const char *at, int32_t *seconds)
{
    int32_t parts[3] = {0, 0, 0};
    bool negative = *at == '-';
    if (*at != '-' && *at != '+') {
        return false;
    }
    at++;
    for (int i = 0; i < 3 && (i == 0 || *at != '\0'); i++) {
        if (i > 0 && *at == ':') {
            at++;
        }
        if (!read_two(&at, &parts[i])) {
            return false;
        }
    }
    if (*at != '\0' || parts[0] > 18 || parts[1] > 59 || parts[2] > 59) {
        return false;
    }
    int32_t magnitude = parts[0] * 3600 + parts[1] * 60 + parts[2];
    *seconds = negative ? -magnitude : magnitude;
    return magnitude <= 18 * 3600;
}

static bool read_fixed(const char *name, int32_t *seconds)
{
    static const char *const prefixes[] = {"UTC", "GMT", "UT"};
    *seconds = 0;
    if (strcmp(name, "Z") == 0) {
        return true;
    }
    for (size_t i = 0; i < ARRAY_LENGTH(prefixes); i++) {
        size_t length = strlen(prefixes[i]);
        if (strncmp(name, prefixes[i], length) == 0 && (name[length] == '\0' || read_offset(name + length, seconds))) {
            return true;
        }
    }
    return read_offset(name, seconds);
}

/* A path below the database: letters, digits, '_', '-', '+', and '/' between names. */
static bool name_is_safe(const char *name)
{
    if (name[0] == '\0' || name[0] == '/' || strlen(name) > 100) {
        return false;
    }
    for (const char *at = name; *at != '\0'; at++) {
        bool letter = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9');
        if (!letter && strchr("_-+/", *at) == NULL) {
            return false;
        }
    }
    return true;
}

static uint32_t read_be32(const uint8_t *at)
{
    return ((uint32_t)at[0] << 24) | ((uint32_t)at[1] << 16) | ((uint32_t)at[2] << 8) | at[3];
}

static int64_t read_be64(const uint8_t *at)
{
    return (int64_t)(((uint64_t)read_be32(at) << 32) | read_be32(at + 4));
}

/* The counts in the header of a block of a TZif file, and where its arrays begin. */
struct zone_block {
    uint32_t changes, types;
    const uint8_t *times, *indexes, *type_info, *end;
};

static bool block_read(const uint8_t *bytes, size_t length, uint32_t time_bytes, struct zone_block *block)
{
    enum { HEADER = 44 };
    if (length < HEADER || memcmp(bytes, "TZif", 4) != 0) {
        return false;
    }
    uint32_t utc_count = read_be32(bytes + 20), standard_count = read_be32(bytes + 24), leap_count = read_be32(bytes + 28);
    block->changes = read_be32(bytes + 32);
    block->types = read_be32(bytes + 36);
    uint32_t name_bytes = read_be32(bytes + 40);
    uint64_t size = (uint64_t)block->changes * (time_bytes + 1) + (uint64_t)block->types * 6 + name_bytes +
                    (uint64_t)leap_count * (time_bytes + 4) + utc_count + standard_count;
    if (block->types == 0 || size > length - HEADER) {
        return false;
    }
    block->times = bytes + HEADER;
    block->indexes = block->times + (size_t)block->changes * time_bytes;
    block->type_info = block->indexes + block->changes;
    block->end = block->times + size;
    return true;
}

struct zone_change_list {
    int64_t *changes;
    int32_t *offsets;
    uint32_t count, capacity;
};

static void list_add(struct zone_change_list *list, int64_t at, int32_t offset)
{
    bool later = list->count == 0 || at > list->changes[list->count - 1];
    if (later && list->count < list->capacity) {
        list->changes[list->count] = at;
        list->offsets[list->count++] = offset;
    }
}

/* Writes the rule out from the year of the last change on. */
static void list_extend(struct zone_change_list *list, const struct time_zone_rule *rule, int32_t first_offset)
{
    int64_t last = list->count > 0 ? list->changes[list->count - 1] : 0;
    int32_t offset = list->count > 0 ? list->offsets[list->count - 1] : first_offset;
    int32_t year = date_split((int32_t)floor_divide(last, 86400)).year;
    for (int32_t i = 0; i <= RULE_YEARS; i++) {
        struct time_zone_change pair[2];
        time_zone_rule_year(rule, year + i, pair);
        for (int k = 0; k < 2; k++) {
            if (pair[k].offset != offset) {
                list_add(list, pair[k].at, pair[k].offset);
                offset = pair[k].at > last ? pair[k].offset : offset;
            }
        }
    }
}

static bool read_footer(const uint8_t *bytes, const uint8_t *end, struct time_zone_rule *rule)
{
    char text[128];
    if (bytes >= end || *bytes != '\n') {
        return false;
    }
    const uint8_t *close = memchr(bytes + 1, '\n', (size_t)(end - bytes - 1));
    size_t length = close == NULL ? 0 : (size_t)(close - bytes - 1);
    if (length == 0 || length >= sizeof text) {
        return false;
    }
    memcpy(text, bytes + 1, length);
    text[length] = '\0';
    return time_zone_rule_parse(text, rule);
}

static bool list_fill(struct zone_change_list *list, const struct zone_block *block)
{
    for (uint32_t i = 0; i < block->changes; i++) {
        if (block->indexes[i] >= block->types) {
            return false;
        }
        list_add(list, read_be64(block->times + (size_t)i * 8), (int32_t)read_be32(block->type_info + (size_t)block->indexes[i] * 6));
    }
    return true;
}

static enum status zone_read(struct arena *arena, const uint8_t *bytes, size_t length, struct time_zone *zone, struct error *err)
{
    struct zone_block old, block;
    if (!block_read(bytes, length, 4, &old) || bytes[4] < '2' || !block_read(old.end, (size_t)(bytes + length - old.end), 8, &block)) {
        return error_set(err, ERROR_FILE_UNREADABLE, "the time zone file of '%s' is damaged", zone->name);
    }
    struct time_zone_rule rule;
    bool ruled = read_footer(block.end, bytes + length, &rule);
    struct zone_change_list list = {.capacity = block.changes + 2 * (RULE_YEARS + 1)};
    TRY_ALLOC(list.changes, arena_alloc(arena, list.capacity * sizeof *list.changes), err);
    TRY_ALLOC(list.offsets, arena_alloc(arena, list.capacity * sizeof *list.offsets), err);
    zone->first_offset = (int32_t)read_be32(block.type_info);
    if (!list_fill(&list, &block)) {
        return error_set(err, ERROR_FILE_UNREADABLE, "the time zone file of '%s' is damaged", zone->name);
    }
    if (ruled && rule.has_daylight) {
        list_extend(&list, &rule, zone->first_offset);
        zone->repeats = true;
        zone->cycle_start = list.changes[list.count - 1] - SECONDS_PER_CYCLE;
    }
    zone->changes = list.changes;
    zone->offsets = list.offsets;
    zone->count = list.count;
    return STATUS_OK;
}

static enum status zone_load(struct arena *arena, struct time_zone *zone, struct error *err)
{
    char path[160];
    snprintf(path, sizeof path, "/usr/share/zoneinfo/%s", zone->name);
    FILE *file = name_is_safe(zone->name) ? fopen(path, "rb") : NULL;
    if (file == NULL) {
        return error_set(err, ERROR_INVALID_OPTION, "there is no time zone '%s'; write a name such as 'Europe/Berlin', 'UTC' or '+01:00'",
                         zone->name);
    }
    uint8_t *bytes = arena_alloc(arena, ZONE_FILE_MAX);
    enum status status;
    if (bytes == NULL) {
        status = error_set(err, ERROR_BUDGET_SPENT, "no room for the time zone '%s'", zone->name);
    } else {
        status = zone_read(arena, bytes, fread(bytes, 1, ZONE_FILE_MAX, file), zone, err);
    }
    fclose(file);
    return status;
}

enum status time_zone_find(struct arena *arena, const char *name, const struct time_zone **result, struct error *err)
{
    int32_t offset;
    struct time_zone *zone;
    bool fixed = read_fixed(name, &offset);
    if (fixed && offset == 0 && strcmp(name, "UTC") == 0) {
        *result = time_zone_utc;
        return STATUS_OK;
    }
    TRY_ALLOC(zone, arena_alloc(arena, sizeof *zone), err);
    TRY_ALLOC(zone->name, arena_text(arena, name, strlen(name)), err);
    if (fixed) {
        zone->first_offset = offset;
        zone->utc = offset == 0;
    } else {
        TRY(zone_load(arena, zone, err));
    }
    *result = zone;
    return STATUS_OK;
}

/* Moves a time of a later cycle back into the list; returns how far. */
static int64_t cycle_shift(const struct time_zone *zone, int64_t second)
{
    if (!zone->repeats || second < zone->cycle_start + SECONDS_PER_CYCLE) {
        return 0;
    }
    return (second - zone->cycle_start) / SECONDS_PER_CYCLE * SECONDS_PER_CYCLE;
}

static int32_t zone_offset_at(const struct time_zone *zone, uint32_t changes_before)
{
    return changes_before == 0 ? zone->first_offset : zone->offsets[changes_before - 1];
}

/* When the clock shows that a change has happened for sure. */
static int64_t local_change(const struct time_zone *zone, uint32_t index)
{
    int32_t before = zone_offset_at(zone, index), after = zone->offsets[index];
    return zone->changes[index] + (before > after ? before : after);
}

int32_t time_zone_offset_seconds(const struct time_zone *zone, int64_t utc_us)
{
    if (zone->count == 0) {
        return zone->first_offset;
    }
    int64_t second = floor_divide(utc_us, US_PER_SECOND);
    second -= cycle_shift(zone, second);
    uint32_t low = 0, high = zone->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (zone->changes[middle] <= second) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return zone_offset_at(zone, low);
}

int64_t time_zone_to_local(const struct time_zone *zone, int64_t utc_us)
{
    return utc_us + time_zone_offset_seconds(zone, utc_us) * US_PER_SECOND;
}

int64_t time_zone_to_utc(const struct time_zone *zone, int64_t local_us)
{
    int64_t second = floor_divide(local_us, US_PER_SECOND);
    second -= cycle_shift(zone, second - 86400); /* a day of slack: local times run ahead by less */
    uint32_t low = 0, high = zone->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (local_change(zone, middle) <= second) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return local_us - zone_offset_at(zone, low) * US_PER_SECOND;
}

static int64_t whole_us(int128_t value, int32_t precision)
{
    if (precision <= 6) {
        return (int64_t)value;
    }
    return (int64_t)(value / 1000) - (value % 1000 < 0);
}

static int128_t shifted(int128_t value, int64_t by_us, int32_t precision)
{
    return value + (precision <= 6 ? (int128_t)by_us : (int128_t)by_us * 1000);
}

int128_t timestamp_to_local(const struct time_zone *zone, int128_t utc, int32_t precision)
{
    int64_t us = whole_us(utc, precision);
    return shifted(utc, time_zone_to_local(zone, us) - us, precision);
}

int128_t timestamp_to_utc(const struct time_zone *zone, int128_t local, int32_t precision)
{
    int64_t us = whole_us(local, precision);
    return shifted(local, time_zone_to_utc(zone, us) - us, precision);
}
