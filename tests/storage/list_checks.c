#include "compliance.h"

#include <pthread.h>
#include <stdatomic.h>

struct seen {
    char *keys; /* NUL-terminated, one after the other */
    size_t length, capacity;
    uint32_t count, stop_after;
    bool unordered, undescribed;
    char last[OBJECT_KEY_MAX + 1];
};

static enum status see(void *context, const char *key, const struct object_info *info, bool *stop, struct error *err)
{
    struct seen *seen = context;
    size_t length = strlen(key) + 1;
    if (seen->length + length > seen->capacity) {
        seen->capacity = 2 * seen->capacity + 2 * length;
        seen->keys = realloc(seen->keys, seen->capacity);
    }
    memcpy(seen->keys + seen->length, key, length);
    seen->length += length;
    seen->unordered = seen->unordered || (seen->count > 0 && strcmp(seen->last, key) >= 0);
    seen->undescribed = seen->undescribed || info->etag[0] == '\0' || info->bytes != 1 || info->modified_us <= 0;
    snprintf(seen->last, sizeof seen->last, "%s", key);
    *stop = ++seen->count == seen->stop_after;
    return STATUS_OK;
}

struct filler {
    struct suite *suite;
    atomic_uint next, failed;
};

static void *fill(void *argument)
{
    struct filler *filler = argument;
    struct error err;
    enum object_result result;
    struct object_info info;
    for (uint32_t i; (i = atomic_fetch_add(&filler->next, 1)) < filler->suite->list_count;) {
        const char *key = suite_key(filler->suite, "list/%05u", i);
        if (object_put_bytes(filler->suite->store, key, "x", 1, PUT_ANY, NULL, &result, &info, &err) != STATUS_OK || result != OBJECT_OK) {
            atomic_fetch_add(&filler->failed, 1);
        }
    }
    return NULL;
}

static const char *expect_list(struct suite *suite, const char *prefix, const char *after, uint32_t count, uint32_t stop_after)
{
    struct error err;
    struct seen seen = {.stop_after = stop_after};
    EXPECT_OK(suite->store->driver->list(suite->store, prefix, after, see, &seen, &err));
    free(seen.keys);
    EXPECT(seen.count == count && !seen.unordered && !seen.undescribed, "'%s' after '%s': %u keys, not %u%s%s", prefix,
           after == NULL ? "" : after, seen.count, count, seen.unordered ? ", out of order" : "",
           seen.undescribed ? ", badly described" : "");
    return NULL;
}

static const char *check_many(struct suite *suite)
{
    struct filler filler = {.suite = suite};
    pthread_t threads[8];
    for (size_t i = 0; i < 8; i++) {
        EXPECT(pthread_create(&threads[i], NULL, fill, &filler) == 0, "no thread");
    }
    for (size_t i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
    }
    uint32_t count = suite->list_count;
    EXPECT(filler.failed == 0, "%u puts failed", filler.failed);
    const char *failure = expect_list(suite, suite_key(suite, "list/"), NULL, count, 0);
    failure = failure != NULL ? failure : expect_list(suite, suite_key(suite, "list"), NULL, count, 0);
    failure = failure != NULL ? failure : expect_list(suite, suite_key(suite, "list/0000"), NULL, 10, 0);
    failure = failure != NULL ? failure : expect_list(suite, suite_key(suite, "list/"), suite_key(suite, "list/%05u", count - 3), 2, 0);
    failure = failure != NULL ? failure : expect_list(suite, suite_key(suite, "list/"), suite_key(suite, "list/00009!"), count - 10, 0);
    failure = failure != NULL ? failure : expect_list(suite, suite_key(suite, "list/"), suite_key(suite, "zzz"), 0, 0);
    failure = failure != NULL ? failure : expect_list(suite, suite_key(suite, "list/"), NULL, 7, 7);
    return failure != NULL ? failure : expect_list(suite, suite_key(suite, "nothing/"), NULL, 0, 0);
}

static const char *check_order(struct suite *suite)
{
    static const char *const sorted[] = {"A",   "a",     "a b", "a!",      "a%", "a+",       "a-b",         "a.b",
                                         "a/b", "a/b/c", "a0",  "a<&>\"'", "b",  "\xc3\xa9", "\xe6\xb0\xb4"};
    struct error err;
    enum object_result result;
    struct object_info info;
    struct seen seen = {0};
    char expected[4000];
    size_t length = 0;
    for (size_t i = 0; i < sizeof sorted / sizeof sorted[0]; i++) {
        size_t other = i * 7 % (sizeof sorted / sizeof sorted[0]); /* put in another order than listed */
        if (!suite_skips(suite, sorted[other])) {
            const char *key = suite_key(suite, "%s", sorted[other]);
            EXPECT_OK(object_put_bytes(suite->store, key, "x", 1, PUT_ANY, NULL, &result, &info, &err));
        }
        if (!suite_skips(suite, sorted[i])) {
            length += (size_t)snprintf(expected + length, sizeof expected - length, "%s", suite_key(suite, "%s", sorted[i])) + 1;
        }
    }
    EXPECT_OK(suite->store->driver->list(suite->store, suite_key(suite, "%s", ""), NULL, see, &seen, &err));
    bool equal = seen.length == length && memcmp(seen.keys, expected, length) == 0;
    uint32_t count = seen.count;
    free(seen.keys);
    EXPECT(equal && !seen.undescribed, "%u keys, others or in another order", count);
    return NULL;
}

static enum status refuse(void *context, const char *key, const struct object_info *info, bool *stop, struct error *err)
{
    return error_set(err, ERROR_CANCELLED, "the visitor had enough");
}

static const char *check_visitor_fails(struct suite *suite)
{
    struct error err;
    enum object_result result;
    struct object_info info;
    EXPECT_OK(object_put_bytes(suite->store, suite_key(suite, "k"), "x", 1, PUT_ANY, NULL, &result, &info, &err));
    enum status status = suite->store->driver->list(suite->store, suite->prefix, NULL, refuse, NULL, &err);
    EXPECT(status == STATUS_CANCELLED, "the visitor's status is lost: %d", (int)status);
    return NULL;
}

const struct check list_checks[] = {
    {"O5 a list of thousands, by prefix and from a key on", check_many},
    {"O5 a list is in the order of keys", check_order},
    {"O5 a list ends with its visitor's error", check_visitor_fails},
    {NULL, NULL},
};
