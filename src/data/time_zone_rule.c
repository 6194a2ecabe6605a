/* data/time_zone_rule.c: a small reader for POSIX TZ texts, and the dates that they mean. */
#include "data/time_zone_rule.h"

#include <stddef.h>

#include "data/calendar.h"

static bool read_number(const char **at, int32_t *value)
{
    int32_t digits = 0;
    *value = 0;
    while (**at >= '0' && **at <= '9' && digits < 4) {
        *value = *value * 10 + (*(*at)++ - '0');
        digits++;
    }
    return digits > 0;
}

static bool skip_char(const char **at, char byte)
{
    if (**at != byte) {
        return false;
    }
    (*at)++;
    return true;
}

/* A name of letters, or anything between angle brackets. */
static bool skip_name(const char **at)
{
    const char *start = *at;
    if (skip_char(at, '<')) {
        while (**at != '\0' && **at != '>') {
            (*at)++;
        }
        return skip_char(at, '>');
    }
    while ((**at >= 'a' && **at <= 'z') || (**at >= 'A' && **at <= 'Z')) {
        (*at)++;
    }
    return *at > start;
}

/* [+-]h[:m[:s]] in seconds. */
static bool read_time(const char **at, int32_t *seconds)
{
    bool negative = **at == '-';
    if (**at == '-' || **at == '+') {
        (*at)++;
    }
    int32_t parts[3] = {0, 0, 0};
    for (int i = 0; i < 3; i++) {
        if (i > 0 && !skip_char(at, ':')) {
            break;
        }
        if (!read_number(at, &parts[i])) {
            return false;
        }
    }
    int32_t magnitude = parts[0] * 3600 + parts[1] * 60 + parts[2];
    *seconds = negative ? -magnitude : magnitude;
    return true;
}

static bool read_date(const char **at, struct time_zone_date *date)
{
    bool ok;
    if (skip_char(at, 'M')) {
        date->kind = ZONE_DATE_MONTH_WEEK;
        ok = read_number(at, &date->month) && skip_char(at, '.') && read_number(at, &date->week) && skip_char(at, '.') &&
             read_number(at, &date->day) && date->month >= 1 && date->month <= 12 && date->week >= 1 && date->week <= 5 && date->day <= 6;
    } else {
        date->kind = skip_char(at, 'J') ? ZONE_DATE_DAY_WITHOUT_LEAP : ZONE_DATE_DAY;
        ok = read_number(at, &date->day) && date->day <= 366;
    }
    date->second = 2 * 3600;
    return ok && (!skip_char(at, '/') || read_time(at, &date->second));
}

bool time_zone_rule_parse(const char *text, struct time_zone_rule *rule)
{
    const char *at = text;
    *rule = (struct time_zone_rule){0};
    if (!skip_name(&at) || !read_time(&at, &rule->standard_offset)) {
        return false;
    }
    rule->standard_offset = -rule->standard_offset;
    rule->has_daylight = *at != '\0';
    if (!rule->has_daylight) {
        return true;
    }
    rule->daylight_offset = rule->standard_offset + 3600;
    if (!skip_name(&at)) {
        return false;
    }
    if (*at != ',') {
        if (!read_time(&at, &rule->daylight_offset)) {
            return false;
        }
        rule->daylight_offset = -rule->daylight_offset;
    }
    return skip_char(&at, ',') && read_date(&at, &rule->start) && skip_char(&at, ',') && read_date(&at, &rule->end) && *at == '\0';
}

static int32_t date_in_year(const struct time_zone_date *date, int32_t year)
{
    int32_t first = date_join(year, 1, 1);
    if (date->kind == ZONE_DATE_DAY) {
        return first + date->day;
    }
    if (date->kind == ZONE_DATE_DAY_WITHOUT_LEAP) {
        bool leap = date_days_in_month(year, 2) == 29;
        return first + date->day - 1 + (leap && date->day >= 60);
    }
    int32_t first_of_month = date_join(year, date->month, 1);
    int32_t weekday = date_weekday(first_of_month) % 7; /* Sunday 0 */
    int32_t day = (date->day - weekday + 7) % 7 + (date->week - 1) * 7;
    while (day >= date_days_in_month(year, date->month)) {
        day -= 7; /* week 5 is the last one */
    }
    return first_of_month + day;
}

void time_zone_rule_year(const struct time_zone_rule *rule, int32_t year, struct time_zone_change changes[2])
{
    struct time_zone_change start = {(int64_t)date_in_year(&rule->start, year) * 86400 + rule->start.second - rule->standard_offset,
                                     rule->daylight_offset};
    struct time_zone_change end = {(int64_t)date_in_year(&rule->end, year) * 86400 + rule->end.second - rule->daylight_offset,
                                   rule->standard_offset};
    bool start_first = start.at <= end.at;
    changes[0] = start_first ? start : end;
    changes[1] = start_first ? end : start;
}
