#include "formats/json_scan.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "formats/json_text.h"

static int32_t hex_digit(char byte)
{
    if (byte >= '0' && byte <= '9') {
        return byte - '0';
    }
    char lower = (char)(byte | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* Four hex digits; -1 if they are not. */
static int32_t hex_four(const char *p)
{
    int32_t value = 0;
    for (int32_t i = 0; i < 4; i++) {
        int32_t digit = hex_digit(p[i]);
        if (digit < 0) {
            return -1;
        }
        value = value << 4 | digit;
    }
    return value;
}

const char *json_scan_string_slow(const char *start, const char *p, bool high, struct json_string *string, const char **why)
{
    bool escaped = false;
    for (;; p++) {
        unsigned char byte = (unsigned char)*p;
        if (byte == '"') {
            break;
        }
        if (byte < 0x20) {
            *why = byte == '\n' ? "the string is not closed" : "a control character stands in a string";
            return NULL;
        }
        high |= byte >= 0x80;
        if (byte == '\\') {
            escaped = true;
            p++;
            if (*p == 'u' ? hex_four(p + 1) < 0 : *p == '\0' || strchr("\"\\/bfnrt", *p) == NULL) {
                *why = "a backslash is followed by no known escape";
                return NULL;
            }
        }
    }
    *string = (struct json_string){{start, (size_t)(p - start)}, escaped};
    if (high && utf8_valid_length(start, string->raw.length) != string->raw.length) {
        *why = "a string is not valid UTF-8";
        return NULL;
    }
    return p + 1;
}

/* One \u escape, or two that make a surrogate pair; bytes of input used, 0: a lone surrogate. */
static size_t unescape_unicode(const char *p, const char *end, char *out, size_t *written)
{
    uint32_t unit = (uint32_t)hex_four(p + 2);
    size_t used = 6;
    if (unit >= 0xdc00 && unit < 0xe000) {
        return 0;
    }
    if (unit >= 0xd800 && unit < 0xdc00) {
        if (end - p < 12 || p[6] != '\\' || p[7] != 'u') {
            return 0;
        }
        uint32_t low = (uint32_t)hex_four(p + 8);
        if (low < 0xdc00 || low >= 0xe000) {
            return 0;
        }
        unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
        used = 12;
    }
    char encoded[4];
    size_t count = utf8_encode(unit, encoded);
    memcpy(out + *written, encoded, count);
    *written += count;
    return used;
}

bool json_unescape(struct text raw, char *out, size_t *length)
{
    const char *p = raw.bytes, *end = raw.bytes + raw.length;
    size_t written = 0;
    while (p < end) {
        if (*p != '\\') {
            out[written++] = *p++;
            continue;
        }
        if (p[1] == 'u') {
            size_t used = unescape_unicode(p, end, out, &written);
            if (used == 0) {
                return false;
            }
            p += used;
            continue;
        }
        static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
        const char *found = strchr(from, p[1]);
        out[written++] = found == NULL ? p[1] : to[found - from];
        p += 2;
    }
    *length = written;
    return true;
}

static inline bool is_digit(char byte)
{
    return (unsigned char)(byte - '0') < 10;
}

const char *json_scan_number(const char *p, const char **why)
{
    p += *p == '-';
    if (!is_digit(*p) || (*p == '0' && is_digit(p[1]))) {
        *why = is_digit(*p) ? "a number begins with a needless 0" : "a value cannot begin like this";
        return NULL;
    }
    while (is_digit(*p)) {
        p++;
    }
    if (*p == '.') {
        p++;
        if (!is_digit(*p)) {
            *why = "a number's fraction has no digits";
            return NULL;
        }
        while (is_digit(*p)) {
            p++;
        }
    }
    if ((*p | 0x20) == 'e') {
        p++;
        p += *p == '-' || *p == '+';
        if (!is_digit(*p)) {
            *why = "a number's exponent has no digits";
            return NULL;
        }
        while (is_digit(*p)) {
            p++;
        }
    }
    return p;
}

static const char *skip_scalar(const char *p, const char **why)
{
    struct json_string ignored;
    switch (*p) {
    case '"':
        return json_scan_string(p + 1, &ignored, why);
    case 't':
        if (memcmp(p, "true", 4) == 0) {
            return p + 4;
        }
        break;
    case 'f':
        if (memcmp(p, "false", 5) == 0) {
            return p + 5;
        }
        break;
    case 'n':
        if (memcmp(p, "null", 4) == 0) {
            return p + 4;
        }
        break;
    default:
        return json_scan_number(p, why);
    }
    *why = "a word is neither true, false nor null";
    return NULL;
}

/* A name and its colon; p is at the quote. */
static const char *skip_name(const char *p, const char **why)
{
    struct json_string ignored;
    if (*p != '"') {
        *why = "a member's name must begin with a quote";
        return NULL;
    }
    p = json_scan_string(p + 1, &ignored, why);
    if (p == NULL) {
        return NULL;
    }
    p = json_skip_blanks(p);
    if (*p != ':') {
        *why = "a colon must follow a member's name";
        return NULL;
    }
    return json_skip_blanks(p + 1);
}

struct nesting {
    uint64_t is_object[(JSON_DEPTH_MAX + 63) / 64];
    uint32_t depth;
};

static bool nesting_in_object(const struct nesting *nesting)
{
    uint32_t top = nesting->depth - 1;
    return ((nesting->is_object[top / 64] >> (top % 64)) & 1) != 0;
}

/* Enters the container at p. The answer is at its first value, or at its end bracket. */
static const char *nesting_enter(struct nesting *nesting, const char *p, const char **why)
{
    if (nesting->depth == JSON_DEPTH_MAX) {
        *why = "values are nested more than 1000 deep";
        return NULL;
    }
    uint32_t top = nesting->depth++;
    uint64_t bit = (uint64_t)1 << (top % 64);
    if (*p == '{') {
        nesting->is_object[top / 64] |= bit;
        p = json_skip_blanks(p + 1);
        return *p == '}' ? p : skip_name(p, why);
    }
    nesting->is_object[top / 64] &= ~bit;
    return json_skip_blanks(p + 1);
}

/* After a value: ends containers until there is a next value (answer: there) or none is open (answer: after the last). */
static const char *nesting_leave(struct nesting *nesting, const char *p, const char **why)
{
    while (nesting->depth > 0) {
        bool in_object = nesting_in_object(nesting);
        p = json_skip_blanks(p);
        if (*p == ',') {
            p = json_skip_blanks(p + 1);
            return in_object ? skip_name(p, why) : p;
        }
        if (*p != (in_object ? '}' : ']')) {
            *why = "a comma or the closing bracket is missing";
            return NULL;
        }
        p++;
        nesting->depth--;
    }
    return p;
}

const char *json_skip_value(const char *p, const char **why)
{
    if (*p != '{' && *p != '[') {
        return skip_scalar(p, why);
    }
    struct nesting nesting;
    nesting.depth = 0;
    do {
        if (*p == '{' || *p == '[') {
            p = nesting_enter(&nesting, p, why);
            if (p == NULL) {
                return NULL;
            }
            if (*p != (nesting_in_object(&nesting) ? '}' : ']')) {
                continue;
            }
        } else {
            p = skip_scalar(p, why);
        }
        p = p == NULL ? NULL : nesting_leave(&nesting, p, why);
    } while (p != NULL && nesting.depth > 0);
    return p;
}

static const char *append_compact_string(const char *p, struct text_builder *out)
{
    struct json_string string;
    const char *why;
    p = json_scan_string(p + 1, &string, &why);
    if (p == NULL) {
        return NULL;
    }
    char *plain = string.escaped ? malloc(string.raw.length) : NULL;
    size_t length;
    if (plain != NULL && json_unescape(string.raw, plain, &length)) {
        json_append_string((struct text){plain, length}, JSON_ESCAPE_MINIMAL, out);
    } else {
        text_append_char(out, '"');
        text_append(out, string.raw.bytes, string.raw.length);
        text_append_char(out, '"');
    }
    free(plain);
    return p;
}

void json_append_compact(struct text value, struct text_builder *out)
{
    const char *p = value.bytes, *end = value.bytes + value.length;
    while (p != NULL && p < end) {
        if (*p == '"') {
            p = append_compact_string(p, out);
        } else {
            if (*p != ' ' && *p != '\t' && *p != '\r') {
                text_append_char(out, *p);
            }
            p++;
        }
    }
}
