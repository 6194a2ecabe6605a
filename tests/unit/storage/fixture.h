/* A storage over a store in memory, with a clock that stands still until it is moved. */
#ifndef SPATE_TESTS_STORAGE_FIXTURE_H
#define SPATE_TESTS_STORAGE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "memory_store.h"
#include "storage/stores.h"

struct test_clock {
    struct clock base;
    _Atomic int64_t now_us; /* a test may set it from another thread */
};
struct fixture {
    struct test_clock clock;
    struct memory_store *memory, *other; /* other: what URIs that are not "mem://root" lead to */
    struct object_environment environment;
    struct storage *storage;
    struct arena *arena;
    struct error err;
};

static int64_t test_clock_now(const struct clock *clock)
{
    return ((const struct test_clock *)clock)->now_us;
}

static enum status fixture_open_store(void *context, const char *uri, struct object_store **store, struct error *err)
{
    (void)err;
    struct fixture *fixture = context;
    *store = memory_store_objects(strcmp(uri, "mem://root") == 0 ? fixture->memory : fixture->other);
    return STATUS_OK;
}

#define DAY_US (INT64_C(86400) * 1000000)

static void fixture_open(struct fixture *fixture, const struct object_option *more, size_t count)
{
    struct object_option options[20] = {{"storage.uri", "mem://root"}};
    memset(fixture, 0, sizeof *fixture);
    fixture->clock = (struct test_clock){{test_clock_now, test_clock_now}, 20000 * DAY_US};
    fixture->memory = memory_store_create(&fixture->clock.base);
    fixture->other = memory_store_create(&fixture->clock.base);
    fixture->environment = (struct object_environment){.clock = &fixture->clock.base, .random_seed = 7};
    for (size_t i = 0; i < count; i++) {
        options[1 + i] = more[i];
    }
    struct storage_settings settings = {options, count + 1, &fixture->environment, fixture_open_store, fixture};
    fixture->arena = arena_create(NULL, "test");
    if (storage_open(&settings, &fixture->storage, &fixture->err) != STATUS_OK) {
        fail_msg("%s", fixture->err.text);
    }
}

static void fixture_close(struct fixture *fixture)
{
    storage_close(fixture->storage);
    memory_store_destroy(fixture->memory);
    memory_store_destroy(fixture->other);
    arena_destroy(fixture->arena);
}

#define REQUIRE(call, fixture)                                                                                                             \
    do {                                                                                                                                   \
        if ((call) != STATUS_OK) {                                                                                                         \
            fail_msg("%s:%d: %s", __FILE__, __LINE__, (fixture)->err.text);                                                                \
        }                                                                                                                                  \
    } while (0)
#define REQUIRE_ERROR(call, expected_code, part, fixture)                                                                                  \
    do {                                                                                                                                   \
        assert_int_not_equal((call), STATUS_OK);                                                                                           \
        assert_int_equal((fixture)->err.code, expected_code);                                                                              \
        if (strstr((fixture)->err.text, part) == NULL) {                                                                                   \
            fail_msg("%s:%d: '%s' is not in: %s", __FILE__, __LINE__, part, (fixture)->err.text);                                          \
        }                                                                                                                                  \
    } while (0)

#endif
