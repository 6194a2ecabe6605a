/* data/time_zone_rule.h: the rule of a zone for years that its file does not list (POSIX TZ, as in the footer of TZif).
 *
 * For         time_zone.c alone.
 * Shape       "CET-1CEST,M3.5.0,M10.5.0/3": names, offsets (positive is west there, east here), two dates of change.
 */
#ifndef SPATE_DATA_TIME_ZONE_RULE_H
#define SPATE_DATA_TIME_ZONE_RULE_H

#include <stdbool.h>
#include <stdint.h>

enum time_zone_date_kind { ZONE_DATE_MONTH_WEEK, ZONE_DATE_DAY_WITHOUT_LEAP, ZONE_DATE_DAY };
struct time_zone_date {
    enum time_zone_date_kind kind;
    int32_t month, week, day; /* day: of the week (0 Sunday) or of the year */
    int32_t second;           /* local, may be negative or past the day */
};
struct time_zone_rule {
    int32_t standard_offset, daylight_offset; /* seconds east of UTC */
    bool has_daylight;
    struct time_zone_date start, end; /* of daylight time */
};
struct time_zone_change {
    int64_t at; /* UTC seconds */
    int32_t offset;
};

bool time_zone_rule_parse(const char *text, struct time_zone_rule *rule);
/* Both changes of a year, in order of time. */
void time_zone_rule_year(const struct time_zone_rule *rule, int32_t year, struct time_zone_change changes[2]);

#endif
