/* formats/csv_scan.h: where the fields of a CSV record begin and end.
 *
 * Rules       As Jackson reads: a field is quoted if its first byte is the quote; a quote inside is doubled (or escaped); a
 *             quoted field may hold line feeds; blanks belong to unquoted fields. The escape character works in both.
 */
#ifndef SPATE_FORMATS_CSV_SCAN_H
#define SPATE_FORMATS_CSV_SCAN_H

#include "formats/csv_options.h"

struct csv_field {
    struct text raw; /* without the quotes around */
    bool quoted;
    bool coded; /* holds doubled quotes or escapes: csv_field_decode */
};
struct csv_record {
    struct csv_field *fields; /* room for field_limit */
    uint32_t field_limit;
    uint32_t field_count; /* may be more than field_limit: those past it are not kept */
    uint32_t line_feeds;  /* in it, without the one at its end */
    const char *next;     /* behind its line end */
    const char *end;      /* of its last field */
    const char *why;      /* of CSV_BROKEN */
};
enum csv_outcome {
    CSV_RECORD,
    CSV_PARTIAL, /* no line end yet */
    CSV_BROKEN,  /* no CSV; next is behind the line in which that showed */
};
enum csv_outcome csv_scan_record(const struct csv_dialect *dialect, const char *bytes, const char *end, bool last,
                                 struct csv_record *record);
/* The text of a coded field; `out` has room for raw.length bytes. */
size_t csv_field_decode(const struct csv_dialect *dialect, const struct csv_field *field, char *out);

#endif
