/* base/byte_reader.h: numbers and pieces in bytes that nobody vouches for.
 *
 * For         what is read back from files: the states of aggregates.
 * Shape       A number is 7 bits a byte, the lowest first, the top bit set but in the last; signed ones fold the sign into the lowest bit.
 * Errors      A reader that finds too few bytes, or a number of more than 64 bits, remembers it (`failed`) and gives zeros: check before
 *             what was read is used as a length or trusted.
 */
#ifndef SPATE_BASE_BYTE_READER_H
#define SPATE_BASE_BYTE_READER_H

#include "base/text.h"

struct byte_reader {
    const uint8_t *next, *end;
    bool failed;
};

static inline struct byte_reader byte_reader_open(const uint8_t *bytes, size_t length)
{
    return (struct byte_reader){bytes, length == 0 ? bytes : bytes + length, false};
}
static inline size_t byte_reader_left(const struct byte_reader *reader)
{
    return (size_t)(reader->end - reader->next);
}
/* True when all bytes were read and none was missing. */
static inline bool byte_reader_ended(const struct byte_reader *reader)
{
    return !reader->failed && reader->next == reader->end;
}
/* The next `length` bytes, lent; NULL: there are fewer. */
static inline const uint8_t *byte_reader_take(struct byte_reader *reader, size_t length)
{
    if (reader->failed || length > byte_reader_left(reader)) {
        reader->failed = true;
        return NULL;
    }
    const uint8_t *taken = reader->next;
    reader->next = length == 0 ? taken : taken + length;
    return taken;
}
static inline uint64_t byte_reader_number(struct byte_reader *reader)
{
    uint64_t number = 0;
    for (uint32_t shift = 0; shift < 64; shift += 7) {
        const uint8_t *byte = byte_reader_take(reader, 1);
        if (byte == NULL || (shift == 63 && *byte > 1)) {
            break;
        }
        number |= (uint64_t)(*byte & 0x7F) << shift;
        if (*byte < 0x80) {
            return number;
        }
    }
    reader->failed = true;
    return 0;
}
static inline int64_t byte_reader_signed(struct byte_reader *reader)
{
    uint64_t folded = byte_reader_number(reader);
    return (int64_t)((folded >> 1) ^ (0 - (folded & 1)));
}

static inline void byte_append_number(struct text_builder *out, uint64_t number)
{
    char bytes[10];
    size_t length = 0;
    for (; number >= 0x80; number >>= 7) {
        bytes[length++] = (char)(number | 0x80);
    }
    bytes[length++] = (char)number;
    text_append(out, bytes, length);
}
static inline void byte_append_signed(struct text_builder *out, int64_t number)
{
    byte_append_number(out, ((uint64_t)number << 1) ^ (number < 0 ? UINT64_MAX : 0));
}

#endif
