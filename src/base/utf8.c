#include "base/utf8.h"

#include <string.h>

size_t utf8_decode(const char *bytes, size_t length, uint32_t *code_point)
{
    const uint8_t *p = (const uint8_t *)bytes;
    if (length == 0) {
        return 0;
    }
    if (p[0] < 0x80) {
        *code_point = p[0];
        return 1;
    }
    size_t need = p[0] >= 0xF0 ? 4 : p[0] >= 0xE0 ? 3 : 2;
    if (p[0] < 0xC2 || p[0] > 0xF4 || need > length) {
        return 0;
    }
    uint32_t value = p[0] & (0x7Fu >> need);
    for (size_t i = 1; i < need; i++) {
        if ((p[i] & 0xC0) != 0x80) {
            return 0;
        }
        value = value << 6 | (p[i] & 0x3Fu);
    }
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    if (value < smallest[need] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) {
        return 0;
    }
    *code_point = value;
    return need;
}

size_t utf8_valid_length(const char *bytes, size_t length)
{
    size_t at = 0;
    while (at < length) {
        uint64_t eight;
        while (at + 8 <= length && (memcpy(&eight, bytes + at, 8), (eight & 0x8080808080808080u) == 0)) {
            at += 8;
        }
        if (at == length) {
            break;
        }
        uint32_t code_point;
        size_t used = utf8_decode(bytes + at, length - at, &code_point);
        if (used == 0) {
            return at;
        }
        at += used;
    }
    return at;
}

size_t utf8_count(const char *bytes, size_t length)
{
    size_t count = 0;
    for (size_t i = 0; i < length; i++) {
        count += ((uint8_t)bytes[i] & 0xC0) != 0x80;
    }
    return count;
}

size_t utf8_prefix(const char *bytes, size_t length, size_t characters)
{
    size_t at = 0;
    for (; at < length; at++) {
        if (((uint8_t)bytes[at] & 0xC0) != 0x80 && characters-- == 0) {
            break;
        }
    }
    return at;
}

size_t utf8_encode(uint32_t code_point, char out[4])
{
    if (code_point < 0x80) {
        out[0] = (char)code_point;
        return 1;
    }
    if (code_point > 0x10FFFF || (code_point >= 0xD800 && code_point <= 0xDFFF)) {
        return 0;
    }
    size_t need = code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
    for (size_t i = need - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (code_point & 0x3F));
        code_point >>= 6;
    }
    static const uint8_t lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
    out[0] = (char)(lead[need] | code_point);
    return need;
}
