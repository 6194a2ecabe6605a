/* functions/time_pattern.h: the patterns of DATE_FORMAT, TO_TIMESTAMP and their like (Java's letters), compiled once.
 *
 * Letters     y u year, M L month (MMM, MMMM: names), d day, D day of the year, E weekday, Q q quarter, a AM/PM, G era, H k K h hour,
 *             m minute, s second, S fraction, n nanosecond, X x Z offset; '' and 'text' are literal, as is all that is no letter.
 * Ownership   A pattern lives in the arena it was compiled in; immutable.
 */
#ifndef SPATE_FUNCTIONS_TIME_PATTERN_H
#define SPATE_FUNCTIONS_TIME_PATTERN_H

#include "base/arena.h"
#include "base/error.h"
#include "base/text.h"

struct time_pattern;
enum status time_pattern_compile(struct arena *arena, struct text text, const struct time_pattern **pattern, struct error *err);
/* The texts of two times are the same within a period of this many microseconds (0: never) that starts at a multiple of it. */
int64_t time_pattern_period(const struct time_pattern *pattern);
size_t time_pattern_max_length(const struct time_pattern *pattern);
/* Writes at most time_pattern_max_length bytes; returns the length. */
size_t time_pattern_format(const struct time_pattern *pattern, int64_t local_us, uint32_t nanos, int32_t offset_seconds, char *out);

struct parsed_time {
    int64_t local_us; /* from 1970-01-01 where the pattern has no date */
    uint32_t nanos;
    bool has_offset;
    int32_t offset_seconds;
};
/* How strictly a text must fit: STRICT: exact widths and the whole text (a day past the month's end is its last day); LOOSE:
 * numbers of any width where nothing numeric follows, and the rest of the text is ignored. */
enum time_pattern_mode { TIME_PATTERN_STRICT, TIME_PATTERN_LOOSE };
bool time_pattern_parse(const struct time_pattern *pattern, struct text text, enum time_pattern_mode mode, struct parsed_time *time);

#endif
