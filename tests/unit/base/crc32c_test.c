#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/crc32c.h"

static void crc32c_of_published_examples_is_right(void **state)
{
    (void)state;
    uint8_t zeros[32] = {0}, ones[32], rising[32];
    for (uint8_t i = 0; i < 32; i++) {
        ones[i] = 0xff;
        rising[i] = i;
    }
    assert_int_equal(crc32c_extend(0, "", 0), 0);
    assert_int_equal(crc32c_extend(0, "123456789", 9), 0xe3069283);
    assert_int_equal(crc32c_extend(0, zeros, 32), 0x8a9136aa); /* these three: RFC 3720, B.4 */
    assert_int_equal(crc32c_extend(0, ones, 32), 0x62a8ab43);
    assert_int_equal(crc32c_extend(0, rising, 32), 0x46dd794e);
}

static void crc32c_extend_goes_on_at_any_cut(void **state)
{
    (void)state;
    const char text[] = "whatever is written to be read again";
    for (size_t cut = 0; cut < sizeof text; cut++) {
        uint32_t crc = crc32c_extend(crc32c_extend(0, text, cut), text + cut, sizeof text - cut);
        assert_int_equal(crc, crc32c_extend(0, text, sizeof text));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crc32c_of_published_examples_is_right),
        cmocka_unit_test(crc32c_extend_goes_on_at_any_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
