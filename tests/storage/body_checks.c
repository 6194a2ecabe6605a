#include "compliance.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static const char *round_trip(struct suite *suite, const char *key, uint64_t bytes, uint64_t seed)
{
    struct error err;
    enum object_result result;
    struct object_info put, got;
    struct pattern body = {.seed = seed, .bytes = bytes}, back = body;
    struct object_source source = pattern_source(&body);
    struct object_sink sink = pattern_sink(&back);
    EXPECT_OK(suite->store->driver->put(suite->store, key, &source, PUT_ANY, NULL, &result, &put, &err));
    EXPECT(result == OBJECT_OK && put.bytes == bytes, "put of %" PRIu64 " bytes: %d, %" PRIu64, bytes, (int)result, put.bytes);
    EXPECT_OK(suite->store->driver->get(suite->store, key, 0, UINT64_MAX, &sink, &result, &got, &err));
    EXPECT(result == OBJECT_OK && back.taken == bytes && !back.differs && got.bytes == bytes,
           "get of %" PRIu64 " bytes: %d, %" PRIu64 " bytes%s", bytes, (int)result, back.taken, back.differs ? ", others" : "");
    EXPECT(got.has_crc32c && got.crc32c == put.crc32c && strcmp(got.etag, put.etag) == 0, "get says another checksum or etag than put");
    return NULL;
}

static const char *check_sizes(struct suite *suite)
{
    static const uint64_t sizes[] = {0, 1, OBJECT_PART_BYTES - 1, OBJECT_PART_BYTES, OBJECT_PART_BYTES + 1, 2 * OBJECT_PART_BYTES};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const char *failure = round_trip(suite, suite_key(suite, "%zu", i), sizes[i], i);
        if (failure != NULL) {
            return failure;
        }
    }
    return NULL;
}

/* The most memory that the process had since the last call, in bytes. */
static uint64_t peak_memory(void)
{
    char line[256];
    uint64_t peak = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status != NULL && fgets(line, sizeof line, status) != NULL) {
        if (sscanf(line, "VmHWM: %" SCNu64, &peak) == 1) {
            break;
        }
    }
    if (status != NULL) {
        fclose(status);
    }
    int fd = open("/proc/self/clear_refs", O_WRONLY);
    if (fd >= 0) {
        peak = write(fd, "5", 1) == 1 ? peak : UINT64_MAX;
        close(fd);
    }
    return peak << 10;
}

static const char *check_big_body(struct suite *suite)
{
    enum { ALLOWED = 64 << 20 };
    peak_memory();
    uint64_t before = peak_memory();
    const char *failure = round_trip(suite, suite_key(suite, "big"), suite->big_bytes, 7);
    if (failure != NULL) {
        return failure;
    }
    uint64_t after = peak_memory();
    EXPECT(before > 0 && after < before + ALLOWED, "%" PRIu64 " MiB more for a body of %" PRIu64 " MiB", (after - before) >> 20,
           suite->big_bytes >> 20);
    struct error err;
    enum object_result result;
    EXPECT_OK(suite->store->driver->remove(suite->store, suite_key(suite, "big"), NULL, &result, &err));
    return NULL;
}

static const char *check_keys(struct suite *suite)
{
    static const char *const keys[] = {
        "a b",         "a+b",
        "100%",        "a=b&c=d",
        "%41",         "A",
        "a",           "a/b",
        "a/b/c",       "\xc3\xa9\xc3\xa8",
        "e\xcc\x81",   "\xf0\x9f\x92\xa7/\xe6\xb0\xb4",
        "a?b#c",       "a:b@c",
        "'quote\"",    "a,b;c",
        "(x)[y]{z}",   "~!$*",
        ".hidden",     "a.",
        "a..b",        "...",
        "<tag>&amp;",  "a|b^c`d",
        "back\\slash", "2026-01-02T03:04:05.678Z",
    };
    struct error err;
    enum object_result result;
    struct object_info info;
    enum { COUNT = sizeof keys / sizeof keys[0] };
    for (size_t i = 0; i < COUNT; i++) {
        if (suite_skips(suite, keys[i])) {
            continue;
        }
        EXPECT_OK(object_put_bytes(suite->store, suite_key(suite, "%s", keys[i]), keys[i], strlen(keys[i]), PUT_IF_ABSENT, NULL, &result,
                                   &info, &err));
        EXPECT(result == OBJECT_OK, "'%s' is taken already", keys[i]);
    }
    for (size_t i = 0; i < COUNT; i++) {
        char *bytes;
        size_t length;
        if (suite_skips(suite, keys[i])) {
            continue;
        }
        EXPECT_OK(object_get_bytes(suite->store, suite_key(suite, "%s", keys[i]), 1000, &result, &bytes, &length, &info, &err));
        bool equal = result == OBJECT_OK && strcmp(bytes, keys[i]) == 0;
        free(bytes);
        EXPECT(equal, "'%s' does not come back", keys[i]);
    }
    return NULL;
}

static const char *check_longest_key(struct suite *suite)
{
    struct error err;
    enum object_result result;
    struct object_info info;
    char key[OBJECT_KEY_MAX + 1];
    static const char *const fillers[] = {"a/", "k", "\xc3\xa9"};
    for (size_t i = 0; i < (suite->keys_are_paths ? 1 : 3); i++) {
        size_t length = (size_t)snprintf(key, sizeof key, "%s/%zu", suite->prefix, i), width = strlen(fillers[i]);
        while (length + width <= OBJECT_KEY_MAX - 1) {
            memcpy(key + length, fillers[i], width);
            length += width;
        }
        memset(key + length, 'z', OBJECT_KEY_MAX - length);
        key[OBJECT_KEY_MAX] = '\0';
        EXPECT_OK(object_put_bytes(suite->store, key, "x", 1, PUT_IF_ABSENT, NULL, &result, &info, &err));
        EXPECT(result == OBJECT_OK, "a key of 900 bytes: %d", (int)result);
        EXPECT_OK(suite->store->driver->head(suite->store, key, &result, &info, &err));
        EXPECT(result == OBJECT_OK && info.bytes == 1, "head of a key of 900 bytes: %d", (int)result);
    }
    return NULL;
}

static const char *check_ranges(struct suite *suite)
{
    static const struct {
        uint64_t offset, length, expected;
    } ranges[] = {
        {0, 1, 1},     {0, 100, 100}, {3, 4, 4}, {9999, 1, 1},      {9999, 10, 1},     {9990, UINT64_MAX, 10},
        {10000, 1, 0}, {20000, 5, 0}, {5, 0, 0}, {0, 10000, 10000}, {0, 20000, 10000},
    };
    struct error err;
    enum object_result result;
    struct object_info info;
    struct pattern body = {.seed = 3, .bytes = 10000};
    struct object_source source = pattern_source(&body);
    const char *key = suite_key(suite, "k");
    EXPECT_OK(suite->store->driver->put(suite->store, key, &source, PUT_ANY, NULL, &result, &info, &err));
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        struct pattern part = {.seed = 3, .bytes = 10000, .offset = ranges[i].offset};
        struct object_sink sink = pattern_sink(&part);
        EXPECT_OK(suite->store->driver->get(suite->store, key, ranges[i].offset, ranges[i].length, &sink, &result, &info, &err));
        EXPECT(result == OBJECT_OK && part.taken == ranges[i].expected && !part.differs && info.bytes == 10000,
               "%" PRIu64 " from %" PRIu64 ": %d, %" PRIu64 " bytes of %" PRIu64 "%s", ranges[i].length, ranges[i].offset, (int)result,
               part.taken, info.bytes, part.differs ? ", others" : "");
    }
    struct pattern none = {0};
    struct object_sink sink = pattern_sink(&none);
    EXPECT_OK(suite->store->driver->get(suite->store, suite_key(suite, "absent"), 5, 5, &sink, &result, &info, &err));
    EXPECT(result == OBJECT_ABSENT && none.taken == 0, "a range of nothing: %d", (int)result);
    return NULL;
}

static const char *expect_nothing_new(struct suite *suite, const char *key)
{
    struct error err;
    enum object_result result;
    struct object_info info;
    EXPECT_OK(suite->store->driver->head(suite->store, key, &result, &info, &err));
    EXPECT(result == OBJECT_ABSENT, "the object is there, %" PRIu64 " bytes", info.bytes);
    return NULL;
}

/* A process that ends in the middle of the body. */
static const char *check_killed_put(struct suite *suite)
{
    static const uint64_t sizes[] = {1 << 20, 3 * OBJECT_PART_BYTES};
    for (size_t i = 0; i < 2; i++) {
        const char *key = suite_key(suite, "k%zu", i);
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            struct error err;
            enum status status;
            enum object_result result;
            struct object_info info;
            struct pattern body = {.seed = 5, .bytes = sizes[i], .stop_at = sizes[i] / 2, .stop_kills = true};
            struct object_source source = pattern_source(&body);
            struct object_store *store = suite_open(suite, NULL, &status, &err);
            status = store == NULL ? STATUS_OK : store->driver->put(store, key, &source, PUT_ANY, NULL, &result, &info, &err);
            _exit(status == STATUS_OK ? 1 : 2);
        }
        int ended;
        waitpid(child, &ended, 0);
        EXPECT(WIFEXITED(ended) && WEXITSTATUS(ended) == 0, "the process did not end in the middle");
        const char *failure = expect_nothing_new(suite, key);
        failure = failure == NULL ? round_trip(suite, key, sizes[i], 6) : failure;
        if (failure != NULL) {
            return failure;
        }
    }
    return NULL;
}

static const char *check_failing_source(struct suite *suite)
{
    struct error err;
    enum object_result result;
    struct object_info info;
    const char *key = suite_key(suite, "k");
    for (uint64_t size = 1 << 20; size <= 3 * OBJECT_PART_BYTES; size += 2 * OBJECT_PART_BYTES) {
        struct pattern body = {.seed = 5, .bytes = size, .stop_at = size / 2};
        struct object_source source = pattern_source(&body);
        err.text[0] = '\0';
        enum status status = suite->store->driver->put(suite->store, key, &source, PUT_ANY, NULL, &result, &info, &err);
        EXPECT(status == STATUS_UNAVAILABLE && strstr(err.text, "as it should") != NULL, "status %d: %s", (int)status, err.text);
        const char *failure = expect_nothing_new(suite, key);
        if (failure != NULL) {
            return failure;
        }
    }
    return NULL;
}

static const char *check_wrong_checksum(struct suite *suite)
{
    static const uint64_t sizes[] = {0, 1000, OBJECT_PART_BYTES + 1};
    struct error err;
    enum object_result result;
    struct object_info info;
    for (size_t i = 0; i < 3; i++) {
        const char *key = suite_key(suite, "k%zu", i);
        struct pattern body = {.seed = 9, .bytes = sizes[i]};
        struct object_source source = pattern_source(&body);
        uint32_t right = pattern_crc32c(&body), wrong = right ^ 1;
        source.expected_crc32c = &wrong;
        enum status status = suite->store->driver->put(suite->store, key, &source, PUT_ANY, NULL, &result, &info, &err);
        EXPECT(status == STATUS_CORRUPT, "a wrong checksum of %" PRIu64 " bytes: status %d", sizes[i], (int)status);
        const char *failure = expect_nothing_new(suite, key);
        if (failure != NULL) {
            return failure;
        }
        source.expected_crc32c = &right;
        EXPECT_OK(suite->store->driver->put(suite->store, key, &source, PUT_ANY, NULL, &result, &info, &err));
        EXPECT(result == OBJECT_OK && info.has_crc32c && info.crc32c == right, "the right checksum: %d, %08x, not %08x", (int)result,
               info.crc32c, right);
    }
    return NULL;
}

/* A process that may write no file longer than 1 MiB: the same error as a full disk. */
static const char *check_full_disk(struct suite *suite)
{
    const char *key = suite_key(suite, "k");
    const char *failure = round_trip(suite, key, 1000, 1);
    fflush(stdout);
    pid_t child = failure == NULL ? fork() : -1;
    if (child == 0) {
        struct error err;
        enum object_result result;
        struct object_info info;
        struct pattern body = {.seed = 2, .bytes = 2 << 20};
        struct object_source source = pattern_source(&body);
        struct rlimit limit = {1 << 20, 1 << 20};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        _exit(suite->store->driver->put(suite->store, key, &source, PUT_ANY, NULL, &result, &info, &err) == STATUS_FULL ? 0 : 1);
    }
    int ended = 1;
    waitpid(child, &ended, 0);
    EXPECT(failure == NULL && ended == 0, "%s", failure == NULL ? "the status is not FULL" : failure);
    struct pattern back = {.seed = 1, .bytes = 1000};
    struct object_sink sink = pattern_sink(&back);
    struct error err;
    enum object_result result;
    struct object_info info;
    EXPECT_OK(suite->store->driver->get(suite->store, key, 0, UINT64_MAX, &sink, &result, &info, &err));
    EXPECT(back.taken == 1000 && !back.differs, "the old value is not intact");
    return NULL;
}

const struct check full_disk_checks[] = {
    {"O7 a full disk is FULL, the old value intact", check_full_disk},
    {NULL, NULL},
};
const struct check body_checks[] = {
    {"O2 sizes: 0, 1, a part and one byte around it, two parts", check_sizes},
    {"O2 a big body is streamed in constant memory", check_big_body},
    {"O3 keys of all characters", check_keys},
    {"O3 keys of 900 bytes", check_longest_key},
    {"O4 ranges", check_ranges},
    {"O6 a put that is killed half-way is not seen", check_killed_put},
    {"O6 a put whose source fails is not seen", check_failing_source},
    {"O8 a body with another checksum is refused", check_wrong_checksum},
    {NULL, NULL},
};
