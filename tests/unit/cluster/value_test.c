#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "../support/arena.h"
#include "cluster/driver.h"
#include "cluster/value.h"

static void value_unseal_gives_what_was_sealed(void **state)
{
    (void)state;
    struct text value, json;
    assert_int_equal(value_seal(TEXT("{\"v\":1}"), arena, &value, &err), STATUS_OK);
    assert_int_equal(value_unseal("model", value, &json, &err), STATUS_OK);
    assert_true(text_equal(json, TEXT("{\"v\":1}")));
}

static void value_unseal_refuses_every_flipped_bit_and_cut(void **state)
{
    (void)state;
    struct text value, json;
    char copy[64];
    assert_int_equal(value_seal(TEXT("{\"v\":1,\"rev\":7}"), arena, &value, &err), STATUS_OK);
    assert_true(value.length < sizeof copy);
    for (size_t bit = 0; bit < value.length * 8; bit++) {
        memcpy(copy, value.bytes, value.length);
        copy[bit / 8] = (char)(copy[bit / 8] ^ (1 << bit % 8));
        assert_int_equal(value_unseal("model", (struct text){copy, value.length}, &json, &err), STATUS_CORRUPT);
    }
    for (size_t length = 0; length < value.length; length++) {
        assert_int_equal(value_unseal("model", (struct text){value.bytes, length}, &json, &err), STATUS_CORRUPT);
    }
    assert_non_null(strstr(err.text, "'model'"));
    memset(copy, 0, sizeof copy);
    assert_int_equal(value_unseal("model", (struct text){copy, sizeof copy}, &json, &err), STATUS_CORRUPT);
}

static void value_seal_refuses_what_a_register_cannot_hold(void **state)
{
    (void)state;
    struct text value;
    char *large = calloc(1, CLUSTER_VALUE_MAX);
    assert_non_null(large);
    memset(large, 'x', CLUSTER_VALUE_MAX);
    assert_int_equal(value_seal((struct text){large, CLUSTER_VALUE_MAX - 16}, arena, &value, &err), STATUS_OK);
    assert_int_equal(value.length, CLUSTER_VALUE_MAX);
    assert_int_equal(value_seal((struct text){large, CLUSTER_VALUE_MAX - 15}, arena, &value, &err), STATUS_LIMIT);
    free(large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(value_unseal_gives_what_was_sealed),
        cmocka_unit_test(value_unseal_refuses_every_flipped_bit_and_cut),
        cmocka_unit_test(value_seal_refuses_what_a_register_cannot_hold),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
