#include "../support/batches.h"

#include <stdlib.h>

#include "state/packed_integers.h"

enum { LISTS = 4000 };

static void check(const int64_t *values, uint32_t count, uint32_t width)
{
    struct text_builder out = {0};
    static int64_t back[PACKED_MAX];
    packed_integers_encode(values, count, width, &out);
    assert_false(out.failed);
    assert_true(out.length <= (size_t)count * width + 1); /* never more than plain */
    uint8_t *exact = malloc(out.length);                  /* so that a sanitizer sees what is read behind it */
    memcpy(exact, out.bytes, out.length);
    const uint8_t *cursor = exact;
    assert_true(packed_integers_decode(back, count, width, &cursor, exact + out.length));
    assert_ptr_equal(cursor, exact + out.length);
    assert_memory_equal(back, values, count * sizeof *values);
    for (size_t cut = 0; cut < out.length; cut += 1 + out.length / 7) { /* a list that is cut off is none */
        cursor = exact;
        assert_false(packed_integers_decode(back, count, width, &cursor, exact + cut));
    }
    free(exact);
    text_builder_close(&out);
}

/* A list of one of many kinds: any bits, narrow around a base, rising, in thousands, with extremes. */
static void make(uint64_t *seed, int64_t *values, uint32_t count, uint32_t width)
{
    uint32_t kind = (uint32_t)(next_random(seed) % 6), bits = (uint32_t)(next_random(seed) % 65), shift = 64 - 8 * width;
    uint64_t base = next_random(seed) << 33 ^ next_random(seed), at = base;
    for (uint32_t k = 0; k < count; k++) {
        uint64_t random = next_random(seed) << 40 ^ next_random(seed) << 20 ^ next_random(seed);
        random = bits == 0 ? 0 : random >> (64 - bits);
        at += random;
        uint64_t value = kind == 0   ? random
                         : kind == 1 ? base + random
                         : kind == 2 ? at
                         : kind == 3 ? random * 1000
                         : kind == 4 ? base + (at - base) * 1000
                                     : (random % 3 == 0   ? (uint64_t)INT64_MIN
                                        : random % 3 == 1 ? (uint64_t)INT64_MAX
                                                          : random);
        values[k] = (int64_t)(value << shift) >> shift;
    }
}

static void test_random_lists(void **state)
{
    (void)state;
    static const uint32_t widths[] = {1, 2, 4, 8};
    static int64_t values[PACKED_MAX];
    for (uint64_t list = 1; list <= LISTS; list++) {
        uint64_t seed = list;
        next_random(&seed);
        uint32_t width = widths[next_random(&seed) % 4];
        uint32_t count = list % 10 == 0 ? PACKED_MAX : 1 + (uint32_t)(next_random(&seed) % 300);
        make(&seed, values, count, width);
        check(values, count, width);
    }
}

static size_t packed_length(const int64_t *values, uint32_t count)
{
    struct text_builder out = {0};
    packed_integers_encode(values, count, sizeof *values, &out);
    size_t length = out.length;
    text_builder_close(&out);
    return length;
}

/* What state is made of takes little: ids one after the other, a constant, times in milliseconds. */
static void test_sizes(void **state)
{
    (void)state;
    static int64_t ids[PACKED_MAX], ones[PACKED_MAX], times[PACKED_MAX];
    for (uint32_t k = 0; k < PACKED_MAX; k++) {
        ids[k] = 1000000 + k;
        ones[k] = 1;
        times[k] = INT64_C(1700000000000000) + (int64_t)(k / 3) * 1000;
    }
    assert_true(packed_length(ids, PACKED_MAX) < 32);
    assert_true(packed_length(ones, PACKED_MAX) < 32);
    assert_true(packed_length(times, PACKED_MAX) < PACKED_MAX / 8 + 64);
}

static void test_run(void **state)
{
    (void)state;
    int64_t back[3];
    struct text_builder out = {0};
    packed_integers_encode_run(UINT64_MAX, &out);
    for (uint32_t count = 1; count <= 3; count++) {
        const uint8_t *cursor = (const uint8_t *)out.bytes;
        assert_true(packed_integers_decode(back, count, sizeof *back, &cursor, cursor + out.length));
        assert_int_equal(back[count - 1], (int64_t)count - 2);
    }
    text_builder_close(&out);
}

/* Any bytes: decoded or refused, within bounds. */
static void test_random_bytes(void **state)
{
    (void)state;
    static int64_t values[PACKED_MAX];
    uint64_t seed = 7;
    for (uint32_t round = 0; round < 20000; round++) {
        size_t length = next_random(&seed) % 200;
        uint8_t *bytes = malloc(length + 1);
        for (size_t i = 0; i < length; i++) {
            bytes[i] = (uint8_t)(i == 0 ? next_random(&seed) % 9 : next_random(&seed));
        }
        const uint8_t *cursor = bytes;
        if (packed_integers_decode(values, 1 + (uint32_t)(next_random(&seed) % 64), 8, &cursor, bytes + length)) {
            assert_true(cursor <= bytes + length);
        }
        free(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_lists),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_run),
        cmocka_unit_test(test_random_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
