/* Wrapping arithmetic on 64 bits throughout: what wraps on its way in wraps back on its way out. */
#include "state/packed_integers.h"

#include <string.h>

enum { LANES = 8, LANE_BYTES = LANES * sizeof(uint64_t), ROOM = PACKED_MAX + LANES };
enum { FORM_PLAIN = 0, FORM_PACKED = 1, FORM_DIFFERENCES = 2, FORM_THOUSANDS = 4 };
enum { THOUSANDS_FROM_BITS = 10 };
/* x is a multiple of 1000 = 8 * 125 if x / 125 modulo 2^64 (by this inverse), rotated by 3 bits, is at most (2^64 - 1) / 1000; and then it is
 * x / 1000. */
#define INVERSE_OF_125 UINT64_C(0x1cac083126e978d5)

struct ranges {
    int64_t least, most;           /* of the values */
    int64_t least_step, most_step; /* of the differences */
};

static uint32_t bits_of(uint64_t value)
{
    return value == 0 ? 0 : 64 - (uint32_t)__builtin_clzll(value);
}

static size_t packed_bytes(uint32_t count, uint32_t bits)
{
    size_t words = ((size_t)(count + LANES - 1) / LANES * bits + 63) / 64;
    return words * LANE_BYTES;
}

static struct ranges find_ranges(const int64_t *values, uint32_t count)
{
    struct ranges ranges = {values[0], values[0], INT64_MAX, INT64_MIN};
    for (uint32_t k = 1; k < count; k++) {
        int64_t value = values[k], step = (int64_t)((uint64_t)value - (uint64_t)values[k - 1]);
        ranges.least = value < ranges.least ? value : ranges.least;
        ranges.most = value > ranges.most ? value : ranges.most;
        ranges.least_step = step < ranges.least_step ? step : ranges.least_step;
        ranges.most_step = step > ranges.most_step ? step : ranges.most_step;
    }
    if (count == 1) {
        ranges.least_step = ranges.most_step = 0;
    }
    return ranges;
}

static bool divide_by_thousand(const uint64_t *values, uint32_t count, uint64_t *quotients)
{
    for (uint32_t k = 0; k < count; k++) {
        uint64_t product = values[k] * INVERSE_OF_125;
        quotients[k] = product >> 3 | product << 61;
        if (quotients[k] > UINT64_MAX / 1000) {
            return false;
        }
    }
    return true;
}

/* values: padded to whole groups of LANES. The same shift in all lanes: the inner loops are vectors. */
static void pack(const uint64_t *values, uint32_t count, uint32_t bits, uint8_t *out)
{
    uint64_t word[LANES] = {0};
    uint32_t used = 0;
    for (uint32_t k = 0; k < count; k += LANES) {
        for (uint32_t lane = 0; lane < LANES; lane++) {
            word[lane] |= values[k + lane] << used;
        }
        used += bits;
        if (used >= 64) {
            memcpy(out, word, sizeof word);
            out += sizeof word;
            used -= 64;
            for (uint32_t lane = 0; lane < LANES; lane++) {
                word[lane] = used == 0 ? 0 : values[k + lane] >> (bits - used);
            }
        }
    }
    if (used > 0) {
        memcpy(out, word, sizeof word);
    }
}

static void unpack(const uint8_t *in, uint32_t count, uint32_t bits, uint64_t *values)
{
    uint64_t word[LANES], mask = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
    uint32_t left = 0;
    for (uint32_t k = 0; k < count; k += LANES) {
        if (left == 0) {
            memcpy(word, in, sizeof word);
            in += sizeof word;
            left = 64;
        }
        for (uint32_t lane = 0; lane < LANES; lane++) {
            values[k + lane] = word[lane] & mask;
        }
        if (bits <= left) {
            left -= bits;
            for (uint32_t lane = 0; lane < LANES && left > 0; lane++) {
                word[lane] >>= bits;
            }
            continue;
        }
        uint32_t had = left;
        memcpy(word, in, sizeof word);
        in += sizeof word;
        left = 64 - (bits - had);
        for (uint32_t lane = 0; lane < LANES; lane++) {
            values[k + lane] = (values[k + lane] | word[lane] << had) & mask;
            word[lane] = left == 0 ? 0 : word[lane] >> (bits - had);
        }
    }
}

static void put_number(struct text_builder *out, uint64_t number)
{
    text_append(out, (const char *)&number, sizeof number);
}

static void put_plain(const int64_t *values, uint32_t count, uint32_t width, struct text_builder *out)
{
    text_append_char(out, FORM_PLAIN);
    if (width == sizeof *values) {
        text_append(out, (const char *)values, (size_t)count * width);
        return;
    }
    char narrow[PACKED_MAX * 4];
    for (uint32_t k = 0; k < count; k++) {
        memcpy(narrow + (size_t)k * width, &values[k], width); /* little-endian */
    }
    text_append(out, narrow, (size_t)count * width);
}

static void put_packed(const uint64_t *values, uint32_t count, uint32_t bits, struct text_builder *out)
{
    size_t bytes = packed_bytes(count, bits);
    char *room = text_append_room(out, bytes);
    if (room != NULL) {
        pack(values, count, bits, (uint8_t *)room);
    }
}

void packed_integers_encode(const int64_t *values, uint32_t count, uint32_t width, struct text_builder *out)
{
    uint64_t rest[ROOM], thousands[ROOM];
    const uint64_t *packed = rest;
    struct ranges ranges = find_ranges(values, count);
    uint64_t range = (uint64_t)ranges.most - (uint64_t)ranges.least, steps = (uint64_t)ranges.most_step - (uint64_t)ranges.least_step;
    bool differences = bits_of(steps) < bits_of(range);
    uint32_t bits = differences ? bits_of(steps) : bits_of(range), form = FORM_PACKED | (differences ? FORM_DIFFERENCES : 0);
    uint64_t base = differences ? (uint64_t)ranges.least_step : (uint64_t)ranges.least;
    rest[0] = differences ? 0 : (uint64_t)values[0] - base;
    for (uint32_t k = 1; k < count; k++) {
        rest[k] = (uint64_t)values[k] - (differences ? (uint64_t)values[k - 1] : 0) - base;
    }
    memset(rest + count, 0, LANES * sizeof *rest);
    if (bits >= THOUSANDS_FROM_BITS && divide_by_thousand(rest, count + LANES, thousands)) {
        packed = thousands;
        bits = bits_of((differences ? steps : range) / 1000);
        form |= FORM_THOUSANDS;
    }
    size_t head = 1 + sizeof base + (differences ? sizeof base : 0);
    if (head + packed_bytes(count, bits) >= (size_t)count * width) {
        put_plain(values, count, width, out);
        return;
    }
    text_append_char(out, (char)form);
    text_append_char(out, (char)bits);
    put_number(out, base);
    if (differences) {
        put_number(out, (uint64_t)values[0]);
    }
    put_packed(packed, count, bits, out);
}

/* ---- back ---- */

static bool take(const uint8_t **cursor, const uint8_t *end, size_t bytes, const uint8_t **taken)
{
    if ((size_t)(end - *cursor) < bytes) {
        return false;
    }
    *taken = *cursor;
    *cursor += bytes;
    return true;
}

static int64_t extend(const uint8_t *bytes, uint32_t width)
{
    uint64_t value = 0;
    memcpy(&value, bytes, width);
    uint32_t shift = 64 - 8 * width;
    return (int64_t)(value << shift) >> shift;
}

static bool take_plain(int64_t *values, uint32_t count, uint32_t width, const uint8_t **cursor, const uint8_t *end)
{
    const uint8_t *bytes;
    if (!take(cursor, end, (size_t)count * width, &bytes)) {
        return false;
    }
    if (width == sizeof *values) {
        memcpy(values, bytes, (size_t)count * width);
        return true;
    }
    for (uint32_t k = 0; k < count; k++) {
        values[k] = extend(bytes + (size_t)k * width, width);
    }
    return true;
}

static bool take_packed(int64_t *values, uint32_t count, uint32_t form, const uint8_t **cursor, const uint8_t *end)
{
    uint64_t rest[ROOM], base, first = 0, unit = (form & FORM_THOUSANDS) != 0 ? 1000 : 1;
    const uint8_t *head, *bytes;
    bool differences = (form & FORM_DIFFERENCES) != 0;
    if (!take(cursor, end, 1 + sizeof base + (differences ? sizeof first : 0), &head) || *head > 64 ||
        !take(cursor, end, packed_bytes(count, *head), &bytes)) {
        return false;
    }
    memcpy(&base, head + 1, sizeof base);
    memset(rest, 0, sizeof rest);
    if (*head > 0) {
        unpack(bytes, count, *head, rest);
    }
    if (!differences) {
        for (uint32_t k = 0; k < count; k++) {
            values[k] = (int64_t)(rest[k] * unit + base);
        }
        return true;
    }
    memcpy(&first, head + 1 + sizeof base, sizeof first);
    values[0] = (int64_t)first;
    for (uint32_t k = 1; k < count; k++) {
        first += rest[k] * unit + base;
        values[k] = (int64_t)first;
    }
    return true;
}

bool packed_integers_decode(int64_t *values, uint32_t count, uint32_t width, const uint8_t **cursor, const uint8_t *end)
{
    const uint8_t *form;
    if (count == 0 || count > PACKED_MAX || !take(cursor, end, 1, &form)) {
        return false;
    }
    if (*form == FORM_PLAIN) {
        return take_plain(values, count, width, cursor, end);
    }
    return (*form & FORM_PACKED) != 0 && *form < 2 * FORM_THOUSANDS && take_packed(values, count, *form, cursor, end);
}
