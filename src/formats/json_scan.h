/* formats/json_scan.h: the lexical level of the JSON decoder.
 *
 * For         json_decode.c: strings, numbers and whole values, checked to the last byte.
 * Invariants  The text ends with a line feed inside the readable bytes, and JSON_SLACK more bytes may be read after it.
 *             A line feed is neither blank nor part of a value here: it ends the record (framed records have theirs
 *             replaced by carriage returns, which mean the same to JSON). So no function passes the end.
 * Errors      NULL: the text is no JSON; *why says so in a few words.
 */
#ifndef SPATE_FORMATS_JSON_SCAN_H
#define SPATE_FORMATS_JSON_SCAN_H

#include <emmintrin.h>

#include "base/text.h"

enum { JSON_SLACK = 64, JSON_DEPTH_MAX = 1000 };

static inline const char *json_skip_blanks(const char *p)
{
    while (*p == ' ' || *p == '\t' || *p == '\r') {
        p++;
    }
    return p;
}

struct json_string {
    struct text raw; /* between the quotes */
    bool escaped;    /* holds backslashes */
};

/* `p` is after the opening quote; the answer after the closing one. Escapes are checked (json_unescape cannot fail
 * but for lone surrogates), bytes are valid UTF-8. */
const char *json_scan_string_slow(const char *start, const char *p, bool high, struct json_string *string, const char **why);
static inline const char *json_scan_string(const char *start, struct json_string *string, const char **why)
{
    const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\'), control = _mm_set1_epi8(0x1f);
    uint32_t high = 0;
    for (const char *p = start;; p += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i stops = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash)),
                                     _mm_cmpeq_epi8(_mm_min_epu8(bytes, control), bytes));
        uint32_t found = (uint32_t)_mm_movemask_epi8(stops);
        uint32_t not_ascii = (uint32_t)_mm_movemask_epi8(bytes);
        if (found == 0) {
            high |= not_ascii;
            continue;
        }
        uint32_t at = (uint32_t)__builtin_ctz(found);
        high |= not_ascii & ((1u << at) - 1);
        p += at;
        if (LIKELY(*p == '"' && high == 0)) {
            *string = (struct json_string){{start, (size_t)(p - start)}, false};
            return p + 1;
        }
        return json_scan_string_slow(start, p, high != 0, string, why);
    }
}

/* Writes the text without escapes; `out` has room for raw.length bytes. False: a surrogate without its other half. */
bool json_unescape(struct text raw, char *out, size_t *length);

/* The end of a number that begins at p, by JSON's grammar. */
const char *json_scan_number(const char *p, const char **why);
/* The end of any value that begins at p. */
const char *json_skip_value(const char *p, const char **why);
/* Appends the value without the blanks between its tokens, escapes made minimal. The value was checked before. */
void json_append_compact(struct text value, struct text_builder *out);

#endif
