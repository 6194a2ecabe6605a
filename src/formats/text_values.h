/* formats/text_values.h: texts of json and csv fields into values.
 *
 * For         what the formats spell by rules of their own (Java's strict ISO forms), not by those of CAST.
 * Units       Days and microseconds (nanoseconds above precision 6) since 1970-01-01; milliseconds of the day.
 * Errors      false: the text is no such value. Nothing is written then.
 * Cost        A day is parsed once and kept in a day_cache: times of a stream share their dates.
 */
#ifndef SPATE_FORMATS_TEXT_VALUES_H
#define SPATE_FORMATS_TEXT_VALUES_H

#include "base/text.h"

struct day_cache {
    char text[10]; /* "YYYY-MM-DD"; zero at first */
    int32_t days;
};

enum time_form {
    TIME_FORM_SQL, /* YYYY-MM-DD hh:mm:ss[.fffffffff] */
    TIME_FORM_ISO, /* YYYY-MM-DDThh:mm[:ss[.fffffffff]] */
};

bool text_parse_date(struct text text, int32_t *days);       /* YYYY-MM-DD, strictly */
bool text_parse_date_short(struct text text, int32_t *days); /* also YYYY-M-D */
/* hh:mm:ss[.f]; ISO also hh:mm. Digits past milliseconds are cut. */
bool text_parse_time(struct text text, enum time_form form, int32_t *ms);
/* `zoned`: the text must end in Z. Digits past the precision are cut. */
bool text_parse_timestamp(struct text text, enum time_form form, bool zoned, int32_t precision, struct day_cache *cache, int128_t *value);

/* Java's parseInt and parseLong of trimmed text: sign, digits. */
bool text_parse_integer(struct text text, int64_t min, int64_t max, int64_t *value);
/* A number in JSON's or Java's decimal spelling, without blanks: [+-]digits[.digits][e[+-]digits]. */
bool text_is_decimal(struct text text);
/* The same cut to a whole number; false: no number, or outside the range. */
bool text_truncate_decimal(struct text text, int64_t min, int64_t max, int64_t *value);
bool text_parse_double(struct text text, double *value); /* blanks around are trimmed */
struct text text_trim(struct text text);                 /* what Java's trim() cuts: all up to the blank */

/* The first bytes, fit to be printed in a message: control characters and broken UTF-8 replaced. */
enum { TEXT_EXCERPT_BYTES = 64 };
const char *text_excerpt(struct text text, char out[TEXT_EXCERPT_BYTES]);

/* Base 64 with padding. `out` has room for length / 4 * 3 bytes. */
bool text_decode_base64(struct text text, char *out, size_t *length);
void text_append_base64(struct text_builder *out, struct text bytes);

#endif
