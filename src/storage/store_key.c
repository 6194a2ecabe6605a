/* Keys of typed stores: "v1/" and encoded parts. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "storage/stores_internal.h"

static bool is_plain(unsigned char byte, bool first)
{
    bool letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9');
    return letter || byte == '_' || byte == '-' || (byte == '.' && !first); /* a leading '.' would make "." and hidden files */
}

/* Bytes written, or 0 when there is no room. */
static size_t part_encode(const char *part, char *out, size_t capacity)
{
    size_t used = 0;
    for (const char *at = part; *at != '\0'; at++) {
        if (used + 4 > capacity) {
            return 0;
        }
        if (is_plain((unsigned char)*at, at == part)) {
            out[used++] = *at;
        } else {
            used += (size_t)snprintf(out + used, 4, "%%%02X", (unsigned char)*at);
        }
    }
    return used;
}

enum status store_key(char key[OBJECT_KEY_MAX + 1], struct error *err, ...)
{
    size_t used = STORAGE_PREFIX_BYTES - 1;
    va_list parts;
    va_start(parts, err);
    memcpy(key, "v1", used);
    for (const char *part = va_arg(parts, const char *); part != NULL; part = va_arg(parts, const char *)) {
        size_t encoded = 0;
        if (used + 1 < OBJECT_KEY_MAX) {
            key[used++] = '/';
            encoded = part_encode(part, key + used, OBJECT_KEY_MAX - used);
        }
        if (encoded == 0 && (part[0] != '\0' || used + 1 >= OBJECT_KEY_MAX)) {
            va_end(parts);
            return error_set(err, ERROR_STORE_KEY, "the name '%.100s' is too long to be kept", part);
        }
        used += encoded;
    }
    va_end(parts);
    key[used] = '\0';
    return STATUS_OK;
}

static int hex_digit(char byte)
{
    static const char digits[] = "0123456789ABCDEF";
    const char *found = byte == '\0' ? NULL : strchr(digits, byte);
    return found == NULL ? -1 : (int)(found - digits);
}

bool store_name_decode(const char *bytes, size_t length, char *name, size_t capacity)
{
    size_t used = 0;
    for (size_t i = 0; i < length; i++) {
        if (used + 1 >= capacity) {
            return false;
        }
        if (bytes[i] != '%') {
            name[used++] = bytes[i];
            continue;
        }
        int high = i + 2 < length ? hex_digit(bytes[i + 1]) : -1, low = high < 0 ? -1 : hex_digit(bytes[i + 2]);
        if (low < 0) {
            return false;
        }
        name[used++] = (char)(high << 4 | low);
        i += 2;
    }
    name[used] = '\0';
    return used > 0;
}

void store_day(int64_t at_us, char day[STORE_DAY_BYTES], char hour[STORE_HOUR_BYTES])
{
    time_t seconds = (time_t)(at_us / 1000000 - (at_us % 1000000 < 0));
    struct tm utc;
    gmtime_r(&seconds, &utc);
    strftime(day, STORE_DAY_BYTES, "%Y-%m-%d", &utc);
    strftime(hour, STORE_HOUR_BYTES, "%H", &utc);
}
