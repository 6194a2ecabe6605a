#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "storage/file_name.h"

static void file_name_of_keys_is_as_written_down(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"a", "a"},
        {"a/b", "a+/b"},
        {"v1/jobs/orders-7k2d/job.json", "v1+/jobs+/orders-7k2d+/job.json"},
        {".spate", "%2Espate"},
        {"a+", "a%2B"},
        {"50 %=\xc3\xa9", "50%20%25%3D%C3%A9"},
        {"%", "%25"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char path[FILE_KEY_PATH_MAX];
        file_name_of_key(cases[i][0], path);
        assert_string_equal(path, cases[i][1]);
    }
}

/* Decodes a path name by name, as a listing does. */
static void assert_round_trip(const char *key)
{
    char path[FILE_KEY_PATH_MAX], again[2000] = "", text[FILE_NAME_TEXT];
    size_t length;
    file_name_of_key(key, path);
    char *save = NULL;
    for (char *name = strtok_r(path, "/", &save); name != NULL;) {
        char *next = strtok_r(NULL, "/", &save);
        assert_true(strlen(name) <= 255);
        assert_true(file_name_decode(name, next != NULL, text, &length));
        strncat(again, text, length);
        name = next;
    }
    assert_string_equal(again, key);
}

static void file_name_decode_gives_the_key_back_for_parts_of_every_length(void **state)
{
    (void)state;
    static const char *const letters[] = {"x", "\xc3\xa9", " ", "\x01"};
    for (size_t letter = 0; letter < 4; letter++) {
        for (size_t bytes = 1; bytes <= 400; bytes++) {
            char key[1000];
            size_t width = strlen(letters[letter]);
            for (size_t i = 0; i < bytes; i++) {
                key[i] = letters[letter][i % width];
            }
            snprintf(key + bytes, sizeof key - bytes, "/%.*s", (int)bytes, "end-of-the-key");
            assert_round_trip(key);
        }
    }
}

static void file_name_decode_refuses_what_it_did_not_make(void **state)
{
    (void)state;
    char text[FILE_NAME_TEXT], name[300];
    size_t length;
    static const char *const foreign[] = {".spate", "lost+found", "a b", "%2", "%4", "%41", "%2e", "%00", "%2F", "+", "\xc3\xa9", "x~"};
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++) {
        assert_false(file_name_decode(foreign[i], false, text, &length));
        assert_false(file_name_decode(foreign[i], true, text, &length));
    }
    assert_false(file_name_decode("a+", false, text, &length));
    assert_false(file_name_decode("a", true, text, &length));
    assert_false(file_name_decode("a++", true, text, &length)); /* no chunk of 80 bytes */
    memset(name, 'x', sizeof name);
    name[80] = '\0';
    assert_false(file_name_decode(name, false, text, &length));
    name[200] = '\0';
    assert_false(file_name_decode(name, false, text, &length));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_name_of_keys_is_as_written_down),
        cmocka_unit_test(file_name_decode_gives_the_key_back_for_parts_of_every_length),
        cmocka_unit_test(file_name_decode_refuses_what_it_did_not_make),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
