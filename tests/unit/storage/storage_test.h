/* tests/unit/storage/storage_test.h: what tests of stores share: a folder that goes away, and short calls that must succeed. */
#ifndef SPATE_TESTS_STORAGE_TEST_H
#define SPATE_TESTS_STORAGE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "storage/object.h"

static char test_folder[64];

static inline int make_test_folder(void **state)
{
    (void)state;
    snprintf(test_folder, sizeof test_folder, "/tmp/spate-storage-XXXXXX");
    return mkdtemp(test_folder) == NULL ? -1 : 0;
}
static inline int remove_test_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", test_folder);
    return system(command);
}
static inline void require(enum status status, const struct error *err)
{
    if (status != STATUS_OK) {
        fail_msg("status %d: %s", (int)status, err->text);
    }
}
static inline struct object_store *open_store(const char *uri, const struct object_environment *environment)
{
    struct error err;
    struct object_store *store = NULL;
    require(object_store_open(uri, NULL, 0, environment, &store, &err), &err);
    return store;
}
static inline enum object_result put_if(struct object_store *store, const char *key, const char *text, enum put_condition condition,
                                        const char *etag, struct object_info *info)
{
    struct error err;
    enum object_result result;
    require(object_put_bytes(store, key, text, strlen(text), condition, etag, &result, info, &err), &err);
    return result;
}
static inline void put(struct object_store *store, const char *key, const char *text)
{
    struct object_info info;
    assert_int_equal(put_if(store, key, text, PUT_ANY, NULL, &info), OBJECT_OK);
}
/* The text of an object, to be freed; NULL: absent. */
static inline char *text_of(struct object_store *store, const char *key)
{
    struct error err;
    enum object_result result;
    struct object_info info;
    char *bytes;
    size_t length;
    require(object_get_bytes(store, key, 1 << 20, &result, &bytes, &length, &info, &err), &err);
    assert_true(result == OBJECT_OK || result == OBJECT_ABSENT);
    return bytes;
}
static inline void assert_object(struct object_store *store, const char *key, const char *expected)
{
    char *text = text_of(store, key);
    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
}
static inline enum status append_key(void *context, const char *key, const struct object_info *info, bool *stop, struct error *err)
{
    (void)info, (void)stop, (void)err;
    char *keys = context;
    strcat(strcat(keys, key), " ");
    return STATUS_OK;
}
/* The listed keys, each followed by a blank. */
static inline void assert_list(struct object_store *store, const char *prefix, const char *after, const char *expected)
{
    struct error err;
    static char keys[1 << 16];
    keys[0] = '\0';
    require(store->driver->list(store, prefix, after, append_key, keys, &err), &err);
    assert_string_equal(keys, expected);
}

#endif
