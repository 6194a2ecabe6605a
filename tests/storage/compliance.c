/* One suite for every driver of objects (storage/object.h): usage in main(). The last line is "N passed, N failed". */
#include "compliance.h"

#include <stdarg.h>

#include "base/crc32c.h"
#include "base/hash.h"
#include "base/random.h"

const char *suite_fail(struct suite *suite, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(suite->failure, sizeof suite->failure, format, arguments);
    va_end(arguments);
    return suite->failure;
}

struct object_store *suite_open(const struct suite *suite, const struct object_environment *environment, enum status *status,
                                struct error *err)
{
    struct object_store *store = NULL;
    *status = object_store_open(suite->uri, suite->options, suite->option_count, environment, &store, err);
    return *status == STATUS_OK ? store : NULL;
}

const char *suite_key(const struct suite *suite, const char *format, ...)
{
    static _Thread_local char keys[8][OBJECT_KEY_MAX + 100];
    static _Thread_local uint32_t next;
    char *key = keys[next++ % 8];
    int length = snprintf(key, sizeof keys[0], "%s/", suite->prefix);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(key + length, sizeof keys[0] - (size_t)length, format, arguments);
    va_end(arguments);
    return key;
}

bool suite_skips(const struct suite *suite, const char *key)
{
    return suite->keys_are_paths && (strcmp(key, "a") == 0 || strcmp(key, "a/b") == 0);
}

static void pattern_fill(const struct pattern *pattern, uint64_t offset, uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i < length;) {
        uint64_t word = hash_uint64((offset + i) / 8 + pattern->seed);
        size_t from = (offset + i) % 8, count = 8 - from < length - i ? 8 - from : length - i;
        memcpy(bytes + i, (const uint8_t *)&word + from, count);
        i += count;
    }
}

static enum status pattern_read(void *context, uint64_t offset, void *buffer, size_t capacity, size_t *length, struct error *err)
{
    const struct pattern *self = context;
    if (self->stop_at > 0 && offset + capacity > self->stop_at) {
        if (self->stop_kills) {
            _exit(0);
        }
        return error_set(err, ERROR_FILE_UNREADABLE, "the source fails, as it should");
    }
    uint64_t left = offset < self->bytes ? self->bytes - offset : 0;
    *length = left < capacity ? (size_t)left : capacity;
    pattern_fill(self, offset, buffer, *length);
    return STATUS_OK;
}

static enum status pattern_write(void *context, const void *bytes, size_t length, struct error *err)
{
    struct pattern *self = context;
    uint8_t expected[4096];
    for (size_t at = 0; at < length;) {
        size_t count = length - at < sizeof expected ? length - at : sizeof expected;
        pattern_fill(self, self->offset + self->taken, expected, count);
        self->differs = self->differs || memcmp(expected, (const uint8_t *)bytes + at, count) != 0;
        self->taken += count;
        at += count;
    }
    return STATUS_OK;
}

struct object_source pattern_source(struct pattern *pattern)
{
    return (struct object_source){.bytes = pattern->bytes, .read = pattern_read, .context = pattern};
}

struct object_sink pattern_sink(struct pattern *pattern)
{
    return (struct object_sink){.write = pattern_write, .context = pattern};
}

uint32_t pattern_crc32c(const struct pattern *pattern)
{
    uint8_t bytes[4096];
    uint32_t crc = 0;
    for (uint64_t offset = 0; offset < pattern->bytes; offset += sizeof bytes) {
        uint64_t left = pattern->bytes - offset;
        size_t count = left < sizeof bytes ? (size_t)left : sizeof bytes;
        pattern_fill(pattern, offset, bytes, count);
        crc = crc32c_extend(crc, bytes, count);
    }
    return crc;
}

static uint32_t passed, failed;

static void run_checks(struct suite *suite, const struct check *checks, const char *only)
{
    for (; checks->name != NULL; checks++) {
        if (only != NULL && strstr(checks->name, only) == NULL) {
            continue;
        }
        struct random_source random;
        random_open(&random, 0);
        snprintf(suite->prefix, sizeof suite->prefix, "check-%08x", (uint32_t)random_next(&random));
        const char *failure = checks->run(suite);
        printf("%s %s%s%s\n", failure == NULL ? "ok  " : "FAIL", checks->name, failure == NULL ? "" : ": ", failure == NULL ? "" : failure);
        fflush(stdout);
        *(failure == NULL ? &passed : &failed) += 1;
    }
}

/* URI, then NAME=VALUE options of the store and --big=BYTES, --list=COUNT, --rounds=COUNT, --keys=paths, --during=COMMAND that restarts the
 * server, --faults=FILE of the proxy (which are checks of their own), --only=PART-OF-A-NAME. */
static const char *read_arguments(struct suite *suite, int count, char **arguments)
{
    const char *only = NULL;
    suite->uri = arguments[1];
    for (int i = 2; i < count; i++) {
        char *value = strchr(arguments[i], '=');
        if (value == NULL || suite->option_count == SUITE_OPTIONS_MAX) {
            fprintf(stderr, "compliance: '%s' is not NAME=VALUE, or one too many\n", arguments[i]);
            exit(2);
        }
        *value++ = '\0';
        if (strcmp(arguments[i], "--big") == 0) {
            suite->big_bytes = strtoull(value, NULL, 10);
        } else if (strcmp(arguments[i], "--list") == 0) {
            suite->list_count = (uint32_t)strtoul(value, NULL, 10);
        } else if (strcmp(arguments[i], "--rounds") == 0) {
            suite->rounds = (uint32_t)strtoul(value, NULL, 10);
        } else if (strcmp(arguments[i], "--keys") == 0) {
            suite->keys_are_paths = strcmp(value, "paths") == 0;
        } else if (strcmp(arguments[i], "--during") == 0) {
            suite->during = value;
        } else if (strcmp(arguments[i], "--faults") == 0) {
            suite->faults = value;
        } else if (strcmp(arguments[i], "--only") == 0) {
            only = value;
        } else {
            suite->options[suite->option_count++] = (struct object_option){arguments[i], value};
        }
    }
    return only;
}

int main(int argument_count, char **arguments)
{
    static struct suite suite = {.big_bytes = UINT64_C(1) << 30, .list_count = 5000, .rounds = 20};
    struct error err;
    enum status status;
    if (argument_count < 2) {
        fprintf(
            stderr,
            "usage: storage_compliance URI [NAME=VALUE]... [--big=BYTES] [--list=COUNT] [--rounds=COUNT] [--keys=paths] [--only=PART]\n");
        return 2;
    }
    const char *only = read_arguments(&suite, argument_count, arguments);
    alarm(1200);
    if ((suite.store = suite_open(&suite, NULL, &status, &err)) == NULL) {
        printf("FAIL open: %s\n0 passed, 1 failed\n", err.text);
        return 1;
    }
    if (suite.faults != NULL || suite.during != NULL) {
        run_checks(&suite, suite.faults != NULL ? fault_checks : restart_checks, only);
        goto done;
    }
    run_checks(&suite, conditional_checks, only);
    run_checks(&suite, body_checks, only);
    if (strcmp(suite.store->driver->scheme, "file") == 0) { /* the limits of servers: tests/storage/run, through its proxy */
        run_checks(&suite, full_disk_checks, only);
    }
    run_checks(&suite, list_checks, only);
    run_checks(&suite, race_checks, only);
done:
    object_store_close(suite.store);
    printf("%u passed, %u failed\n", passed, failed);
    return failed == 0 ? 0 : 1;
}
