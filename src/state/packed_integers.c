/* Wrapping arithmetic on 64 bits throughout: what wraps on its way in wraps back on its way out. The loops are compiled twice, the second
 * time for processors with vectors of 64-bit minima and products. */
#include "state/packed_integers.h"

#include <string.h>

enum { LANES = 8, LANE_BYTES = LANES * sizeof(uint64_t), ROOM = PACKED_MAX + LANES };
enum { FORM_PLAIN = 0, FORM_PACKED = 1, FORM_DIFFERENCES = 2, FORM_THOUSANDS = 4 };
enum { THOUSANDS_FROM_BITS = 10, CHECK_AT_ONCE = 64 };
#define INLINE static inline __attribute__((always_inline))
#define WIDE   __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw")))
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

INLINE struct ranges find_ranges(const int64_t *values, uint32_t count)
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

/* count: a multiple of LANES. */
INLINE bool divide_by_thousand(const uint64_t *values, uint32_t count, uint64_t *quotients)
{
    for (uint32_t from = 0; from < count; from += CHECK_AT_ONCE) {
        uint32_t to = from + CHECK_AT_ONCE < count ? from + CHECK_AT_ONCE : count;
        uint64_t largest = 0;
        for (uint32_t k = from; k < to; k++) {
            uint64_t product = values[k] * INVERSE_OF_125;
            quotients[k] = product >> 3 | product << 61;
            largest = quotients[k] > largest ? quotients[k] : largest;
        }
        if (largest > UINT64_MAX / 1000) {
            return false;
        }
    }
    return true;
}

/* values: padded to whole groups of LANES. The same shift in all lanes: the inner loops are vectors. */
INLINE void pack(const uint64_t *values, uint32_t count, uint32_t bits, uint8_t *out)
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

INLINE void unpack(const uint8_t *in, uint32_t count, uint32_t bits, uint64_t *values)
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

/* What is found out about a list, and its numbers. */
struct packing {
    uint32_t form, bits;
    uint64_t base;
    uint64_t rest[ROOM], thousands[ROOM];
};

static bool all_equal(const int64_t *values, uint32_t count)
{
    return values[count - 1] == values[0] && memcmp(values, values + 1, (count - 1) * sizeof *values) == 0;
}

INLINE void choose_packing(const int64_t *values, uint32_t count, struct packing *packing)
{
    if (all_equal(values, count)) {
        packing->form = FORM_PACKED;
        packing->bits = 0;
        packing->base = (uint64_t)values[0];
        return;
    }
    struct ranges ranges = find_ranges(values, count);
    uint64_t range = (uint64_t)ranges.most - (uint64_t)ranges.least, steps = (uint64_t)ranges.most_step - (uint64_t)ranges.least_step;
    bool differences = bits_of(steps) < bits_of(range);
    uint64_t *rest = packing->rest, base = differences ? (uint64_t)ranges.least_step : (uint64_t)ranges.least;
    packing->form = FORM_PACKED | (differences ? FORM_DIFFERENCES : 0);
    packing->bits = differences ? bits_of(steps) : bits_of(range);
    packing->base = base;
    if (packing->bits == 0) {
        return;
    }
    if (differences) {
        rest[0] = 0;
        for (uint32_t k = 1; k < count; k++) {
            rest[k] = (uint64_t)values[k] - (uint64_t)values[k - 1] - base;
        }
    } else {
        for (uint32_t k = 0; k < count; k++) {
            rest[k] = (uint64_t)values[k] - base;
        }
    }
    memset(rest + count, 0, LANES * sizeof *rest);
    uint32_t whole = (count + LANES - 1) / LANES * LANES;
    if (packing->bits >= THOUSANDS_FROM_BITS && divide_by_thousand(rest, whole, packing->thousands)) {
        packing->bits = bits_of((differences ? steps : range) / 1000);
        packing->form |= FORM_THOUSANDS;
    }
}

INLINE void pack_list(const struct packing *packing, uint32_t count, uint8_t *out)
{
    pack((packing->form & FORM_THOUSANDS) != 0 ? packing->thousands : packing->rest, count, packing->bits, out);
}

struct kernels {
    void (*choose)(const int64_t *values, uint32_t count, struct packing *packing);
    void (*pack)(const struct packing *packing, uint32_t count, uint8_t *out);
    void (*unpack)(const uint8_t *in, uint32_t count, uint32_t bits, uint64_t *values);
};

static void choose_plainly(const int64_t *values, uint32_t count, struct packing *packing)
{
    choose_packing(values, count, packing);
}
static void pack_plainly(const struct packing *packing, uint32_t count, uint8_t *out)
{
    pack_list(packing, count, out);
}
static void unpack_plainly(const uint8_t *in, uint32_t count, uint32_t bits, uint64_t *values)
{
    unpack(in, count, bits, values);
}
WIDE static void choose_widely(const int64_t *values, uint32_t count, struct packing *packing)
{
    choose_packing(values, count, packing);
}
WIDE static void pack_widely(const struct packing *packing, uint32_t count, uint8_t *out)
{
    pack_list(packing, count, out);
}
WIDE static void unpack_widely(const uint8_t *in, uint32_t count, uint32_t bits, uint64_t *values)
{
    unpack(in, count, bits, values);
}

static const struct kernels *kernels(void)
{
    static const struct kernels plain = {choose_plainly, pack_plainly, unpack_plainly}, wide = {choose_widely, pack_widely, unpack_widely};
    return __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") ? &wide : &plain;
}

void packed_integers_encode_run(uint64_t first, struct text_builder *out)
{
    text_append_char(out, FORM_PACKED | FORM_DIFFERENCES);
    text_append_char(out, 0);
    put_number(out, 1);
    put_number(out, first);
}

void packed_integers_encode(const int64_t *values, uint32_t count, uint32_t width, struct text_builder *out)
{
    struct packing packing;
    kernels()->choose(values, count, &packing);
    bool differences = (packing.form & FORM_DIFFERENCES) != 0;
    size_t bytes = packed_bytes(count, packing.bits), head = 1 + sizeof packing.base + (differences ? sizeof packing.base : 0);
    if (head + bytes >= (size_t)count * width) {
        put_plain(values, count, width, out);
        return;
    }
    text_append_char(out, (char)packing.form);
    text_append_char(out, (char)packing.bits);
    put_number(out, packing.base);
    if (differences) {
        put_number(out, (uint64_t)values[0]);
    }
    char *room = bytes == 0 ? NULL : text_append_room(out, bytes);
    if (room != NULL) {
        kernels()->pack(&packing, count, (uint8_t *)room);
    }
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
    if (*head > 0) {
        kernels()->unpack(bytes, count, *head, rest);
    } else {
        memset(rest, 0, count * sizeof *rest);
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
