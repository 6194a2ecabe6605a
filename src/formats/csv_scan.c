#include "formats/csv_scan.h"

#include <emmintrin.h>
#include <string.h>

/* The first of two bytes (or a third) in [p, end). */
static inline const char *find_any(const char *p, const char *end, char first, char second, char third)
{
    const __m128i one = _mm_set1_epi8(first), two = _mm_set1_epi8(second), three = _mm_set1_epi8(third);
    for (; end - p >= 16; p += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i hits = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, one), _mm_cmpeq_epi8(bytes, two)), _mm_cmpeq_epi8(bytes, three));
        uint32_t found = (uint32_t)_mm_movemask_epi8(hits);
        if (found != 0) {
            return p + __builtin_ctz(found);
        }
    }
    while (p < end && *p != first && *p != second && *p != third) {
        p++;
    }
    return p;
}

static enum csv_outcome broken(struct csv_record *record, const char *p, const char *end, const char *why)
{
    const char *line_end = p >= end ? NULL : memchr(p, '\n', (size_t)(end - p));
    record->why = why;
    record->end = line_end == NULL ? end : line_end;
    record->next = line_end == NULL ? end : line_end + 1;
    return CSV_BROKEN;
}

/* p is after the opening quote; *after behind the field, at a delimiter, line feed or the end. */
static enum csv_outcome scan_quoted(const struct csv_dialect *dialect, const char *p, const char *end, bool last, struct csv_record *record,
                                    struct csv_field *field, const char **after)
{
    char escape = dialect->has_escape ? dialect->escape : dialect->quote;
    *field = (struct csv_field){.raw = {p, 0}, .quoted = true};
    for (;;) {
        p = find_any(p, end, dialect->quote, escape, '\n');
        if (end - p < 2 && (p == end || !last)) { /* a quote at the very end may be the first of two */
            return last ? broken(record, field->raw.bytes, end, "a quoted field is not closed") : CSV_PARTIAL;
        }
        if (*p == '\n') {
            record->line_feeds++;
            p++;
        } else if (*p == dialect->quote && (end - p < 2 || p[1] != dialect->quote)) {
            break;
        } else {
            field->coded = true;
            p += end - p < 2 ? 1 : 2;
        }
    }
    field->raw.length = (size_t)(p - field->raw.bytes);
    p++;
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\r') && *p != dialect->delimiter) {
        p++;
    }
    if (p == end ? !last : *p != dialect->delimiter && *p != '\n') {
        return p == end ? CSV_PARTIAL : broken(record, p, end, "text follows the closing quote of a field");
    }
    *after = p;
    return CSV_RECORD;
}

static enum csv_outcome scan_plain(const struct csv_dialect *dialect, const char *p, const char *end, bool last, struct csv_field *field,
                                   const char **after)
{
    char escape = dialect->has_escape ? dialect->escape : '\n';
    *field = (struct csv_field){.raw = {p, 0}};
    while ((p = find_any(p, end, dialect->delimiter, '\n', escape)) < end && dialect->has_escape && *p == escape) {
        field->coded = true;
        p += end - p < 2 ? 1 : 2;
    }
    if (p == end && !last) {
        return CSV_PARTIAL;
    }
    field->raw.length = (size_t)(p - field->raw.bytes);
    if ((p == end || *p == '\n') && field->raw.length > 0 && p[-1] == '\r') {
        field->raw.length--;
    }
    *after = p;
    return CSV_RECORD;
}

enum csv_outcome csv_scan_record(const struct csv_dialect *dialect, const char *bytes, const char *end, bool last,
                                 struct csv_record *record)
{
    const char *p = bytes;
    record->field_count = 0;
    record->line_feeds = 0;
    for (;;) {
        struct csv_field spare;
        struct csv_field *field = record->field_count < record->field_limit ? &record->fields[record->field_count] : &spare;
        bool quoted = dialect->has_quote && p < end && *p == dialect->quote;
        enum csv_outcome outcome =
            quoted ? scan_quoted(dialect, p + 1, end, last, record, field, &p) : scan_plain(dialect, p, end, last, field, &p);
        if (outcome == CSV_BROKEN && !last && record->next == end && end > bytes && end[-1] != '\n') {
            return CSV_PARTIAL;
        }
        if (outcome != CSV_RECORD) {
            return outcome;
        }
        record->field_count++;
        if (p == end || *p == '\n') {
            record->end = p;
            record->next = p == end ? end : p + 1;
            return CSV_RECORD;
        }
        p++;
    }
}

size_t csv_field_decode(const struct csv_dialect *dialect, const struct csv_field *field, char *out)
{
    const char *p = field->raw.bytes, *end = p + field->raw.length;
    char *to = out;
    while (p < end) {
        if (dialect->has_escape && *p == dialect->escape && end - p > 1) {
            static const char from[] = "ntr0", into[] = "\n\t\r";
            const char *found = p[1] == '\0' ? NULL : strchr(from, p[1]);
            *to++ = found == NULL ? p[1] : into[found - from];
            p += 2;
        } else {
            p += field->quoted && *p == dialect->quote && end - p > 1; /* the first of two */
            *to++ = *p++;
        }
    }
    return (size_t)(to - out);
}
