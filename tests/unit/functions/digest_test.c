#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "functions/digest.h"

enum { TEXT_BYTES = 700 };
static uint8_t text[TEXT_BYTES];

/* Across the ends of blocks, for every kind. */
static void digest_of_parts_is_that_of_the_whole(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < TEXT_BYTES; i++) {
        text[i] = (uint8_t)(i * 31 + i / 256);
    }
    for (uint32_t kind = 0; kind < DIGEST_COUNT; kind++) {
        for (size_t length = 0; length < TEXT_BYTES; length += 13) {
            for (size_t step = 1; step < 300; step += 37) {
                uint8_t whole[DIGEST_BYTES_MAX], parts[DIGEST_BYTES_MAX];
                struct digest_state digest;
                size_t bytes = digest_compute((enum digest)kind, text, length, whole);
                digest_begin(&digest, (enum digest)kind);
                for (size_t at = 0; at < length; at += step) {
                    digest_update(&digest, text + at, length - at < step ? length - at : step);
                }
                assert_int_equal(digest_finish(&digest, parts), bytes);
                assert_memory_equal(whole, parts, bytes);
            }
        }
    }
}

/* FIPS 180-4's examples, of one and of two blocks. */
static void sha256_gives_the_published_values(void **state)
{
    (void)state;
    static const struct {
        const char *text, *digest;
    } cases[] = {
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t digest[DIGEST_BYTES_MAX];
        char hex[2 * DIGEST_BYTES_MAX + 1];
        digest_text(digest, digest_compute(DIGEST_SHA256, cases[i].text, strlen(cases[i].text), digest), hex);
        assert_string_equal(hex, cases[i].digest);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digest_of_parts_is_that_of_the_whole),
        cmocka_unit_test(sha256_gives_the_published_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
