#include "base/crc32c.h"

#include <nmmintrin.h>
#include <string.h>

uint32_t crc32c_extend(uint32_t crc, const void *bytes, size_t length)
{
    const uint8_t *at = bytes;
    uint64_t state = ~crc;
    for (; length >= 8; at += 8, length -= 8) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        state = _mm_crc32_u64(state, word);
    }
    uint32_t rest = (uint32_t)state;
    for (; length > 0; at++, length--) {
        rest = _mm_crc32_u8(rest, *at);
    }
    return ~rest;
}
