/* formats/csv_options.h: the options of the csv format, shared by its decoder and encoder.
 *
 * For         one table in WITH (...): a table is read and written under the same options.
 */
#ifndef SPATE_FORMATS_CSV_OPTIONS_H
#define SPATE_FORMATS_CSV_OPTIONS_H

#include "formats/format.h"

struct csv_settings {
    const char *field_delimiter, *quote_character, *escape_character, *null_literal, *array_element_delimiter;
    bool disable_quote_character, allow_comments, ignore_parse_errors, scientific_decimals;
};
enum { CSV_OPTION_COUNT = 9 };
extern const struct option_def csv_options[CSV_OPTION_COUNT];

/* The settings as characters. */
struct csv_dialect {
    char delimiter;
    char quote, escape; /* meaningful if has_... */
    bool has_quote, has_escape, has_null;
    struct text null_literal, array_delimiter;
};
enum status csv_dialect_make(const struct csv_settings *settings, struct arena *arena, struct csv_dialect *dialect, struct error *err);

#endif
