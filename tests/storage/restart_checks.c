#include "compliance.h"

#include <pthread.h>
#include <stdatomic.h>

struct restart {
    const struct suite *suite;
    atomic_bool over;
    int exit_code;
};

static void *run_command(void *argument)
{
    struct restart *restart = argument;
    restart->exit_code = system(restart->suite->during);
    restart->over = true;
    return NULL;
}

/* One increment of the counter, by what is there. *counted: 1 done, 0 not; -1: not known. */
static enum status increment(struct suite *suite, const char *key, int *counted, struct error *err)
{
    enum object_result result;
    struct object_info info, next;
    char *bytes, text[24];
    size_t length;
    TRY(object_get_bytes(suite->store, key, 100, &result, &bytes, &length, &info, err));
    if (result != OBJECT_OK) {
        return error_set(err, ERROR_INTERNAL, "the counter is gone");
    }
    snprintf(text, sizeof text, "%ld", strtol(bytes, NULL, 10) + 1);
    free(bytes);
    TRY(object_put_bytes(suite->store, key, text, strlen(text), PUT_IF_MATCH, info.etag, &result, &next, err));
    *counted = result == OBJECT_OK ? 1 : result == OBJECT_UNKNOWN ? -1 : 0;
    return STATUS_OK;
}

/* The server is killed and comes back while a counter is incremented: requests wait for it, and no increment is lost or doubled. */
static const char *check_restart(struct suite *suite)
{
    struct error err;
    enum object_result result;
    struct object_info info;
    struct restart restart = {.suite = suite};
    pthread_t thread;
    const char *key = suite_key(suite, "counter");
    long done = 0, unknown = 0, conflicts = 0;
    EXPECT_OK(object_put_bytes(suite->store, key, "0", 1, PUT_IF_ABSENT, NULL, &result, &info, &err));
    EXPECT(pthread_create(&thread, NULL, run_command, &restart) == 0, "no thread");
    for (int after = 0; after < 20; after += restart.over) {
        int counted = 0;
        EXPECT_OK(increment(suite, key, &counted, &err));
        done += counted == 1;
        unknown += counted == -1;
        conflicts += counted == 0;
    }
    pthread_join(thread, NULL);
    EXPECT(restart.exit_code == 0, "the command ends with %d", restart.exit_code);
    char *bytes;
    size_t length;
    EXPECT_OK(object_get_bytes(suite->store, key, 100, &result, &bytes, &length, &info, &err));
    long value = strtol(bytes, NULL, 10);
    free(bytes);
    EXPECT(conflicts == 0 && done >= 20 && value >= done && value <= done + unknown,
           "the counter is %ld after %ld increments, %ld unknown ones, %ld conflicts of a single writer", value, done, unknown, conflicts);
    return NULL;
}

const struct check restart_checks[] = {
    {"the server is killed and comes back: requests wait, nothing is lost or doubled", check_restart},
    {NULL, NULL},
};
