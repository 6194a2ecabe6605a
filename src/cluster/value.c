#include "cluster/value.h"

#include <stdio.h>
#include <string.h>

#include "base/crc32c.h"
#include "cluster/driver.h"

static const struct text mark = {"\ncrc32c:", 8};
enum { DIGITS = 8 };

enum status value_seal(struct text json, struct arena *arena, struct text *value, struct error *err)
{
    size_t length = json.length + mark.length + DIGITS;
    if (length > CLUSTER_VALUE_MAX) {
        return error_set(err, ERROR_TOO_MANY, "a register would hold %zu bytes; it can hold %d", length, CLUSTER_VALUE_MAX);
    }
    char *bytes;
    TRY_ALLOC(bytes, arena_alloc(arena, length + 1), err);
    memcpy(bytes, json.bytes, json.length);
    memcpy(bytes + json.length, mark.bytes, mark.length);
    snprintf(bytes + json.length + mark.length, DIGITS + 1, "%08x", crc32c_extend(0, json.bytes, json.length));
    *value = (struct text){bytes, length};
    return STATUS_OK;
}

enum status value_unseal(const char *name, struct text value, struct text *json, struct error *err)
{
    size_t tail = mark.length + DIGITS;
    char digits[DIGITS + 1] = "";
    if (value.length < tail || memcmp(value.bytes + value.length - tail, mark.bytes, mark.length) != 0) {
        return error_set(err, ERROR_STORE_CORRUPT,
                         "the register '%s' (%zu bytes) does not end in a checksum: it is cut, zeroed or not ours", name, value.length);
    }
    *json = (struct text){value.bytes, value.length - tail};
    snprintf(digits, sizeof digits, "%08x", crc32c_extend(0, json->bytes, json->length));
    if (memcmp(digits, value.bytes + value.length - DIGITS, DIGITS) != 0) {
        return error_set(err, ERROR_STORE_CORRUPT, "the register '%s': the checksum of its %zu bytes is %s, not %.*s", name, json->length,
                         digits, DIGITS, value.bytes + value.length - DIGITS);
    }
    return STATUS_OK;
}
