#include "storage/file_name.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

static bool stands_for_itself(unsigned char byte, bool first)
{
    return byte < 0x80 && (isalnum(byte) || byte == '_' || byte == '-' || (byte == '.' && !first));
}

static char *encode(char *out, const char *bytes, size_t length)
{
    static const char digits[] = "0123456789ABCDEF";
    if (length == 0) {
        *out++ = '%';
    }
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        if (stands_for_itself(byte, i == 0)) {
            *out++ = (char)byte;
        } else {
            *out++ = '%';
            *out++ = digits[byte >> 4];
            *out++ = digits[byte & 15];
        }
    }
    return out;
}

/* One part of a key: the folders of its chunks, then the name of its rest. */
static char *encode_part(char *out, const char *part, size_t length)
{
    while (length >= FILE_NAME_CHUNK) {
        out = encode(out, part, FILE_NAME_CHUNK);
        memcpy(out, "++/", 3);
        out += 3;
        part += FILE_NAME_CHUNK;
        length -= FILE_NAME_CHUNK;
    }
    return encode(out, part, length);
}

void file_name_of_folder(const char *prefix, size_t length, char path[FILE_KEY_PATH_MAX])
{
    char *out = path;
    const char *end = prefix + length;
    while (prefix < end) {
        const char *slash = memchr(prefix, '/', (size_t)(end - prefix));
        assert(slash != NULL);
        out = encode_part(out, prefix, (size_t)(slash - prefix));
        *out++ = '+';
        *out++ = '/';
        prefix = slash + 1;
    }
    *out = '\0';
}

void file_name_of_key(const char *key, char path[FILE_KEY_PATH_MAX])
{
    const char *slash = strrchr(key, '/');
    size_t folder = slash == NULL ? 0 : (size_t)(slash + 1 - key);
    file_name_of_folder(key, folder, path);
    char *out = encode_part(path + strlen(path), key + folder, strlen(key) - folder);
    *out = '\0';
}

static int digit_value(char digit)
{
    return digit >= '0' && digit <= '9' ? digit - '0' : digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
}

/* The bytes that encode() made the name of; false: it did not make it. */
static bool decode(const char *name, size_t length, char *text, size_t *text_length)
{
    size_t count = 0;
    if (length == 1 && name[0] == '%') {
        *text_length = 0;
        return true;
    }
    for (size_t i = 0; i < length; count++) {
        if (count == FILE_NAME_CHUNK) {
            return false;
        }
        if (stands_for_itself((unsigned char)name[i], count == 0)) {
            text[count] = name[i++];
            continue;
        }
        int high = i + 2 < length && name[i] == '%' ? digit_value(name[i + 1]) : -1;
        int low = high < 0 ? -1 : digit_value(name[i + 2]);
        int byte = 16 * high + low;
        if (high < 0 || low < 0 || byte == 0 || byte == '/' || stands_for_itself((unsigned char)byte, count == 0)) {
            return false;
        }
        text[count] = (char)byte;
        i += 3;
    }
    *text_length = count;
    return count > 0;
}

bool file_name_decode(const char *name, bool is_folder, char text[FILE_NAME_TEXT], size_t *length)
{
    size_t bytes = strlen(name), ending = 0;
    while (ending < 2 && ending < bytes && name[bytes - 1 - ending] == '+') {
        ending++;
    }
    if ((ending > 0) != is_folder || !decode(name, bytes - ending, text, length)) {
        return false;
    }
    bool whole_chunk = *length == FILE_NAME_CHUNK;
    if (ending == 1) {
        text[(*length)++] = '/';
    }
    return whole_chunk == (ending == 2);
}
