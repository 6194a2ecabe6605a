#include "connectors/position.h"

#include <inttypes.h>
#include <string.h>

enum { EXCERPT_BYTES = 60 };

void position_put_number(struct text_builder *out, const char *key, int64_t value)
{
    text_append_format(out, " %s=%" PRId64, key, value);
}

void position_put_bits(struct text_builder *out, const char *key, uint64_t bits)
{
    text_append_format(out, " %s=%016" PRIx64, key, bits);
}

void position_put_text(struct text_builder *out, const char *key, struct text value)
{
    text_append_format(out, " %s=%zu:", key, value.length);
    text_append(out, value.bytes, value.length);
}

static enum status refuse(struct text place, const char *what, const char *key, struct error *err)
{
    int length = place.length < EXCERPT_BYTES ? (int)place.length : EXCERPT_BYTES;
    return error_set(err, ERROR_POSITION_LOST, "the saved position '%.*s' %s '%s'", length, place.bytes, what, key);
}

enum status position_check(struct text place, const char *kind, struct error *err)
{
    size_t length = strlen(kind);
    bool same = place.length >= length && memcmp(place.bytes, kind, length) == 0 && (place.length == length || place.bytes[length] == ' ');
    return same ? STATUS_OK : refuse(place, "is none of", kind, err);
}

/* A decimal number at the front of the text, which is cut by it. */
static bool take_number(struct text *rest, uint64_t *number)
{
    size_t digits = 0;
    *number = 0;
    while (digits < rest->length && digits < 19 && rest->bytes[digits] >= '0' && rest->bytes[digits] <= '9') {
        *number = *number * 10 + (uint64_t)(rest->bytes[digits++] - '0');
    }
    *rest = (struct text){rest->bytes + digits, rest->length - digits};
    return digits > 0 && *number <= INT64_MAX;
}

/* A value with a length is without it. */
bool position_next(struct text *rest, struct text *key, struct text *value)
{
    const char *equals = rest->length == 0 || rest->bytes[0] != ' ' ? NULL : memchr(rest->bytes, '=', rest->length);
    if (equals == NULL) {
        return false;
    }
    *key = (struct text){rest->bytes + 1, (size_t)(equals - rest->bytes) - 1};
    struct text from = {equals + 1, rest->length - (size_t)(equals + 1 - rest->bytes)}, after = from;
    uint64_t length;
    if (take_number(&after, &length) && after.length > 0 && after.bytes[0] == ':') {
        if (length > after.length - 1) {
            return false;
        }
        *value = (struct text){after.bytes + 1, length};
    } else {
        const char *blank = memchr(from.bytes, ' ', from.length);
        *value = (struct text){from.bytes, blank == NULL ? from.length : (size_t)(blank - from.bytes)};
    }
    const char *end = value->bytes + value->length;
    *rest = (struct text){end, (size_t)(rest->bytes + rest->length - end)};
    return true;
}

struct text position_entries(struct text place)
{
    const char *blank = place.length == 0 ? NULL : memchr(place.bytes, ' ', place.length);
    return (struct text){blank, blank == NULL ? 0 : place.length - (size_t)(blank - place.bytes)};
}

static bool find(struct text place, const char *key, struct text *value)
{
    struct text name, rest = position_entries(place);
    while (position_next(&rest, &name, value)) {
        if (text_equal(name, text_from(key))) {
            return true;
        }
    }
    return false;
}

bool position_has(struct text place, const char *key)
{
    struct text value;
    return find(place, key, &value);
}

enum status position_get_text(struct text place, const char *key, struct text *value, struct error *err)
{
    return find(place, key, value) ? STATUS_OK : refuse(place, "has no", key, err);
}

enum status position_get_number(struct text place, const char *key, int64_t *value, struct error *err)
{
    struct text text;
    uint64_t number;
    TRY(position_get_text(place, key, &text, err));
    if (!take_number(&text, &number) || text.length > 0) {
        return refuse(place, "has no number", key, err);
    }
    *value = (int64_t)number;
    return STATUS_OK;
}

enum status position_get_bits(struct text place, const char *key, uint64_t *bits, struct error *err)
{
    static const char digits[] = "0123456789abcdef";
    struct text text;
    TRY(position_get_text(place, key, &text, err));
    *bits = 0;
    for (size_t i = 0; i < text.length; i++) {
        const char *digit = memchr(digits, text.bytes[i], 16);
        if (digit == NULL || text.length != 16) {
            return refuse(place, "has no 64 bits", key, err);
        }
        *bits = *bits << 4 | (uint64_t)(digit - digits);
    }
    return text.length == 16 ? STATUS_OK : refuse(place, "has no 64 bits", key, err);
}
