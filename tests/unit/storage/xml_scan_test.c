#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "storage/xml_scan.h"

static void assert_text(struct text text, const char *expected)
{
    assert_int_equal(text.length, strlen(expected));
    assert_memory_equal(text.bytes, expected, text.length);
}

static void xml_next_gives_elements_of_the_name_in_order(void **state)
{
    (void)state;
    struct text content, attributes;
    struct text rest = TEXT("<List><Blobs><BlobX>no</BlobX><Blob>1</Blob><Blob/><Blob a=\"x\">2<N>3</N></Blob></Blobs></List>");
    assert_true(xml_next(&rest, "Blob", &content, &attributes));
    assert_text(content, "1");
    assert_true(xml_next(&rest, "Blob", &content, &attributes));
    assert_text(content, "");
    assert_true(xml_next(&rest, "Blob", &content, &attributes));
    assert_text(content, "2<N>3</N>");
    assert_text(attributes, " a=\"x\"");
    assert_text(xml_find(content, "N"), "3");
    assert_false(xml_next(&rest, "Blob", &content, &attributes));
}

static void xml_next_of_a_torn_text_ends(void **state)
{
    (void)state;
    const char whole[] = "<A><B x='1'>text</B><B>more</B></A>";
    for (size_t length = 0; length < sizeof whole - 1; length++) {
        char *torn = test_malloc(length + 1); /* cmocka watches what lies behind it */
        memcpy(torn, whole, length);
        struct text rest = {torn, length}, content, attributes;
        uint32_t count = 0;
        while (xml_next(&rest, "B", &content, &attributes)) {
            count++;
        }
        assert_int_equal(count, (length >= 20) + (length >= 31));
        test_free(torn);
    }
    assert_int_equal(xml_find((struct text){NULL, 0}, "B").length, 0);
}

static void xml_append_text_replaces_entities(void **state)
{
    (void)state;
    struct text_builder out = {0};
    xml_append_text(&out, TEXT("a&amp;b&lt;&gt;&quot;&apos;&#65;&#x42;&#xe9; &unknown; &"));
    assert_string_equal(out.bytes, "a&b<>\"'AB\xc3\xa9 &unknown; &");
    text_builder_close(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(xml_next_gives_elements_of_the_name_in_order),
        cmocka_unit_test(xml_next_of_a_torn_text_ends),
        cmocka_unit_test(xml_append_text_replaces_entities),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
