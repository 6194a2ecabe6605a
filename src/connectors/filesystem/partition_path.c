#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "connectors/filesystem/filesystem.h"
#include "data/cast.h"
#include "data/decimal.h"

static int32_t hex_digit(char byte)
{
    const char *digits = "0123456789ABCDEF", *found = byte == '\0' ? NULL : strchr(digits, byte >= 'a' ? byte - 32 : byte);
    return found == NULL ? -1 : (int32_t)(found - digits);
}

static void unescape_value(char *value)
{
    char *to = value;
    for (const char *p = value; *p != '\0';) {
        if (p[0] == '%' && hex_digit(p[1]) >= 0 && hex_digit(p[2]) >= 0) {
            *to++ = (char)(hex_digit(p[1]) * 16 + hex_digit(p[2]));
            p += 3;
        } else {
            *to++ = *p++;
        }
    }
    *to = '\0';
}

bool partition_path_value(const char *root, const char *path, const char *key, char **value)
{
    size_t key_length = strlen(key);
    const char *part = path + strlen(root);
    while (*part == '/') {
        part++;
        const char *end = strchr(part, '/');
        if (end == NULL) {
            return false;
        }
        if (strncmp(part, key, key_length) == 0 && part[key_length] == '=') {
            part += key_length + 1;
            *value = strndup(part, (size_t)(end - part));
            if (*value != NULL) {
                unescape_value(*value);
            }
            return *value != NULL;
        }
        part = end;
    }
    return false;
}

void partition_path_append(struct text_builder *out, const char *key, struct text value)
{
    static const char special[] = "\"#%'*/:=?\\{[]^\x7f";
    text_append_format(out, "%s=", key);
    for (size_t i = 0; i < value.length; i++) {
        unsigned char byte = (unsigned char)value.bytes[i];
        if (byte < 0x20 || strchr(special, byte) != NULL) {
            text_append_format(out, "%%%02X", byte);
        } else {
            text_append_char(out, (char)byte);
        }
    }
}

static bool put_wide(struct vector *vector, bool fits, int128_t value)
{
    if (vector->physical == PHYSICAL_INT128) {
        vector_int128(vector)[0] = value;
    } else {
        vector_int64(vector)[0] = (int64_t)value;
    }
    return fits;
}

static bool put_integer(struct vector *vector, struct text text)
{
    int64_t value;
    bool small = vector->physical == PHYSICAL_INT8, medium = vector->physical == PHYSICAL_INT16, large = vector->physical == PHYSICAL_INT64;
    int64_t max = small ? INT8_MAX : medium ? INT16_MAX : large ? INT64_MAX : INT32_MAX;
    if (!text_to_int64(text, -max - 1, max, &value)) {
        return false;
    }
    switch (vector->physical) {
    case PHYSICAL_INT8:
        vector_int8(vector)[0] = (int8_t)value;
        return true;
    case PHYSICAL_INT16:
        vector_int16(vector)[0] = (int16_t)value;
        return true;
    case PHYSICAL_INT32:
        vector_int32(vector)[0] = (int32_t)value;
        return true;
    default:
        vector_int64(vector)[0] = value;
        return true;
    }
}

static bool put_value(struct vector *vector, struct text text)
{
    const struct type *type = vector->type;
    int128_t wide = 0;
    double floating;
    bool boolean, fits;
    switch (type->kind) {
    case TYPE_BOOLEAN:
        fits = text_to_boolean(text, &boolean);
        vector_bool(vector)[0] = fits && boolean;
        return fits;
    case TYPE_FLOAT:
    case TYPE_DOUBLE:
        if (!text_to_double(text, &floating)) {
            return false;
        }
        if (type->kind == TYPE_FLOAT) {
            vector_float(vector)[0] = (float)floating;
        } else {
            vector_double(vector)[0] = floating;
        }
        return true;
    case TYPE_DECIMAL:
        return put_wide(vector, decimal_parse(text, type->precision, type->scale, &wide), wide);
    case TYPE_DATE:
        return text_to_date(text, vector_int32(vector));
    case TYPE_TIME:
        return text_to_time(text, vector_int32(vector));
    case TYPE_TIMESTAMP:
    case TYPE_TIMESTAMP_LTZ:
        fits = text_to_timestamp(text, type->precision, &wide);
        return put_wide(vector, fits, wide);
    default:
        return type_is_integer(type) && put_integer(vector, text);
    }
}

enum status partition_value_vector(struct budget *budget, const struct type *type, const char *key, const char *text, struct vector *vector,
                                   struct error *err)
{
    TRY(vector_create(budget, type, 1, vector, err));
    enum status status = STATUS_OK;
    if (text == NULL) {
        status = vector_need_validity(budget, vector, 1, err);
        if (status == STATUS_OK) {
            vector_set_null(vector, 0);
            memset(vector->values, 0, physical_bytes(vector->physical));
        }
    } else if (type_is_text(type)) {
        struct string_heap heap = {.budget = budget, .target = vector};
        size_t length = strlen(text);
        char *copy = string_heap_alloc(&heap, length, err);
        if (copy == NULL) {
            status = err->status;
        } else if (utf8_valid_length(text, length) != length) {
            status = error_set(err, ERROR_RECORD_UNREADABLE, "the folder of the partition column '%s' is not valid UTF-8", key);
        } else {
            memcpy(copy, text, length);
            vector_strings(vector)[0] = string_view_make(copy, length);
        }
    } else if (!put_value(vector, text_from(text))) {
        status = error_set(err, ERROR_RECORD_UNREADABLE, "the folder '%s=%s' is no value of the partition column's type", key, text);
    }
    if (status != STATUS_OK) {
        vector_release(vector);
    }
    return status;
}
