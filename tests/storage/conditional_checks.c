#include "compliance.h"

static enum status put_text(struct suite *suite, const char *key, const char *text, enum put_condition condition, const char *etag,
                            enum object_result *result, struct object_info *info, struct error *err)
{
    return object_put_bytes(suite->store, key, text, strlen(text), condition, etag, result, info, err);
}

static const char *expect_text(struct suite *suite, const char *key, const char *text)
{
    struct error err;
    enum object_result result;
    struct object_info info;
    char *bytes;
    size_t length;
    EXPECT_OK(object_get_bytes(suite->store, key, 1 << 20, &result, &bytes, &length, &info, &err));
    bool equal = text == NULL ? result == OBJECT_ABSENT : result == OBJECT_OK && strcmp(bytes, text) == 0;
    free(bytes);
    EXPECT(equal, "'%s' is not %s", key, text == NULL ? "absent" : text);
    return NULL;
}
#define EXPECT_TEXT(key, text)                                                                                                             \
    do {                                                                                                                                   \
        if (expect_text(suite, key, text) != NULL) {                                                                                       \
            return suite->failure;                                                                                                         \
        }                                                                                                                                  \
    } while (0)

static const char *check_caps(struct suite *suite)
{
    EXPECT(suite->store->driver->caps(suite->store).conditional_put, "the store says that it cannot put on a condition");
    return NULL;
}

static const char *check_put_if_absent(struct suite *suite)
{
    struct error err;
    enum object_result result;
    struct object_info info, other;
    const char *key = suite_key(suite, "k");
    EXPECT_OK(put_text(suite, key, "1", PUT_IF_ABSENT, NULL, &result, &info, &err));
    EXPECT(result == OBJECT_OK && info.etag[0] != '\0' && info.bytes == 1, "the first put: %d, '%s'", (int)result, info.etag);
    EXPECT_OK(put_text(suite, key, "2", PUT_IF_ABSENT, NULL, &result, &other, &err));
    EXPECT(result == OBJECT_CONFLICT, "the second put: %d", (int)result);
    EXPECT_TEXT(key, "1");
    return NULL;
}

static const char *check_put_if_match(struct suite *suite)
{
    struct error err;
    enum object_result result;
    struct object_info first, second, other;
    const char *key = suite_key(suite, "k");
    EXPECT_OK(put_text(suite, key, "same", PUT_ANY, NULL, &result, &first, &err));
    EXPECT_OK(put_text(suite, key, "same", PUT_IF_MATCH, first.etag, &result, &second, &err));
    EXPECT(result == OBJECT_OK, "with the etag of now: %d", (int)result);
    EXPECT(strcmp(first.etag, second.etag) != 0, "the same etag %s for a second put of the same bytes", first.etag);
    EXPECT_OK(put_text(suite, key, "stale", PUT_IF_MATCH, first.etag, &result, &other, &err));
    EXPECT(result == OBJECT_CONFLICT, "with a stale etag: %d", (int)result);
    EXPECT_TEXT(key, "same");
    EXPECT_OK(put_text(suite, suite_key(suite, "absent"), "x", PUT_IF_MATCH, first.etag, &result, &other, &err));
    EXPECT(result == OBJECT_CONFLICT, "where nothing is: %d", (int)result);
    EXPECT_TEXT(suite_key(suite, "absent"), NULL);
    return NULL;
}

static const char *check_put_any(struct suite *suite)
{
    struct error err;
    enum object_result result;
    struct object_info first, second, head;
    const char *key = suite_key(suite, "k");
    EXPECT_OK(put_text(suite, key, "1", PUT_ANY, NULL, &result, &first, &err));
    EXPECT_OK(put_text(suite, key, "22", PUT_ANY, NULL, &result, &second, &err));
    EXPECT(result == OBJECT_OK && strcmp(first.etag, second.etag) != 0, "over another: %d", (int)result);
    EXPECT_TEXT(key, "22");
    EXPECT_OK(suite->store->driver->head(suite->store, key, &result, &head, &err));
    EXPECT(result == OBJECT_OK && head.bytes == 2 && strcmp(head.etag, second.etag) == 0, "head: %" PRIu64 " bytes, '%s', put said '%s'",
           head.bytes, head.etag, second.etag);
    EXPECT(head.has_crc32c && second.has_crc32c && head.crc32c == second.crc32c, "head has no or another checksum");
    EXPECT_OK(suite->store->driver->head(suite->store, suite_key(suite, "absent"), &result, &head, &err));
    EXPECT(result == OBJECT_ABSENT, "head of nothing: %d", (int)result);
    EXPECT_TEXT(suite_key(suite, "absent"), NULL);
    return NULL;
}

static const char *check_remove(struct suite *suite)
{
    struct error err;
    enum object_result result;
    struct object_info first, second;
    const struct object_driver *driver = suite->store->driver;
    const char *key = suite_key(suite, "k");
    EXPECT_OK(put_text(suite, key, "1", PUT_ANY, NULL, &result, &first, &err));
    EXPECT_OK(put_text(suite, key, "1", PUT_ANY, NULL, &result, &second, &err));
    EXPECT_OK(driver->remove(suite->store, key, first.etag, &result, &err));
    EXPECT(result == OBJECT_CONFLICT, "with a stale etag: %d", (int)result);
    EXPECT_TEXT(key, "1");
    EXPECT_OK(driver->remove(suite->store, key, second.etag, &result, &err));
    EXPECT(result == OBJECT_OK, "with the etag of now: %d", (int)result);
    EXPECT_TEXT(key, NULL);
    EXPECT_OK(driver->remove(suite->store, key, second.etag, &result, &err));
    EXPECT(result == OBJECT_ABSENT, "again, with the etag: %d", (int)result);
    EXPECT_OK(driver->remove(suite->store, key, NULL, &result, &err));
    EXPECT(result == OBJECT_ABSENT, "again, without: %d", (int)result);
    EXPECT_OK(put_text(suite, key, "1", PUT_IF_ABSENT, NULL, &result, &first, &err));
    EXPECT(result == OBJECT_OK && strcmp(first.etag, second.etag) != 0, "made anew it has the old etag %s", first.etag);
    EXPECT_OK(driver->remove(suite->store, key, NULL, &result, &err));
    EXPECT(result == OBJECT_OK, "without an etag: %d", (int)result);
    return NULL;
}

static const char *check_keys_refused(struct suite *suite)
{
    static const char *const wrong[] = {"", "/a", "a/", "a//b", ".", "a/../b", "\xff"};
    struct error err;
    enum object_result result;
    struct object_info info;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        EXPECT(put_text(suite, wrong[i], "x", PUT_ANY, NULL, &result, &info, &err) == STATUS_INVALID_OPTION, "put takes the key '%s'",
               wrong[i]);
        EXPECT(suite->store->driver->head(suite->store, wrong[i], &result, &info, &err) == STATUS_INVALID_OPTION, "head takes the key '%s'",
               wrong[i]);
        EXPECT(suite->store->driver->remove(suite->store, wrong[i], NULL, &result, &err) == STATUS_INVALID_OPTION,
               "remove takes the key '%s'", wrong[i]);
    }
    return NULL;
}

/* The conditions of a body that goes in parts. */
static const char *check_conditions_of_parts(struct suite *suite)
{
    struct error err;
    enum object_result result;
    struct object_info first, second, other;
    struct pattern body = {.seed = 1, .bytes = OBJECT_PART_BYTES + 5};
    struct object_source source = pattern_source(&body);
    const char *key = suite_key(suite, "k");
    EXPECT_OK(suite->store->driver->put(suite->store, key, &source, PUT_IF_ABSENT, NULL, &result, &first, &err));
    EXPECT(result == OBJECT_OK, "if absent, where nothing is: %d", (int)result);
    EXPECT_OK(suite->store->driver->put(suite->store, key, &source, PUT_IF_ABSENT, NULL, &result, &other, &err));
    EXPECT(result == OBJECT_CONFLICT, "if absent, again: %d", (int)result);
    EXPECT_OK(suite->store->driver->put(suite->store, key, &source, PUT_IF_MATCH, first.etag, &result, &second, &err));
    EXPECT(result == OBJECT_OK && strcmp(first.etag, second.etag) != 0, "if match: %d, etags %s, %s", (int)result, first.etag, second.etag);
    EXPECT_OK(suite->store->driver->put(suite->store, key, &source, PUT_IF_MATCH, first.etag, &result, &other, &err));
    EXPECT(result == OBJECT_CONFLICT, "if match, stale: %d", (int)result);
    EXPECT_OK(suite->store->driver->head(suite->store, key, &result, &other, &err));
    EXPECT(strcmp(other.etag, second.etag) == 0, "head says %s, put said %s", other.etag, second.etag);
    return NULL;
}

const struct check conditional_checks[] = {
    {"O1 the store can put on a condition", check_caps},
    {"O1 put if absent", check_put_if_absent},
    {"O1 put if match", check_put_if_match},
    {"O1 put over whatever is there; head", check_put_any},
    {"O1 remove, with an etag and without", check_remove},
    {"O1 conditions of a body in parts", check_conditions_of_parts},
    {"O1 keys that are none are refused", check_keys_refused},
    {NULL, NULL},
};
