#include "compliance.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

/* What the threads of two processes share. */
struct race {
    struct suite *suite;
    pthread_barrier_t start;
    atomic_uint winners[1000], failures, increments, process;
    char text[500];
    enum put_condition condition;
};
struct racer {
    struct race *race;
    struct object_store *store;
};

static void race_fail(struct race *race, const struct error *err, const char *what)
{
    if (atomic_fetch_add(&race->failures, 1) == 0) {
        snprintf(race->text, sizeof race->text, "%s: %.400s", what, err->text);
    }
}

/* All put the same key at once, round by round. */
static void *race_put(void *argument)
{
    const struct racer *racer = argument;
    struct race *race = racer->race;
    for (uint32_t round = 0; round < race->suite->rounds; round++) {
        struct error err = {.text = ""};
        enum object_result result = OBJECT_UNKNOWN;
        struct object_info info, now;
        const char *key = suite_key(race->suite, "round-%u", race->condition == PUT_IF_ABSENT ? round : 0), *etag = NULL;
        if (race->condition == PUT_IF_MATCH) {
            if (racer->store->driver->head(racer->store, key, &result, &now, &err) != STATUS_OK || result != OBJECT_OK) {
                race_fail(race, &err, "head");
            }
            etag = now.etag;
        }
        pthread_barrier_wait(&race->start);
        if (object_put_bytes(racer->store, key, "x", 1, race->condition, etag, &result, &info, &err) != STATUS_OK ||
            (result != OBJECT_OK && result != OBJECT_CONFLICT)) {
            race_fail(race, &err, "put");
        }
        atomic_fetch_add(&race->winners[round], result == OBJECT_OK);
        pthread_barrier_wait(&race->start);
    }
    return NULL;
}

static void *race_increment(void *argument)
{
    const struct racer *racer = argument;
    struct race *race = racer->race;
    pthread_barrier_wait(&race->start);
    while (race->increments < 10 * race->suite->rounds && race->failures == 0) {
        struct error err = {.text = ""};
        enum object_result result;
        struct object_info info, next;
        char *bytes, text[24];
        size_t length;
        const char *key = suite_key(race->suite, "counter");
        if (object_get_bytes(racer->store, key, 100, &result, &bytes, &length, &info, &err) != STATUS_OK || result != OBJECT_OK) {
            race_fail(race, &err, "get");
            break;
        }
        snprintf(text, sizeof text, "%ld", strtol(bytes, NULL, 10) + 1);
        free(bytes);
        if (object_put_bytes(racer->store, key, text, strlen(text), PUT_IF_MATCH, info.etag, &result, &next, &err) != STATUS_OK ||
            (result != OBJECT_OK && result != OBJECT_CONFLICT)) {
            race_fail(race, &err, "put");
        }
        atomic_fetch_add(&race->increments, result == OBJECT_OK);
    }
    return NULL;
}

/* Runs the function in 16 threads of each of 2 processes, with a store per process. */
static void race_run(struct race *race, void *(*run)(void *))
{
    pthread_barrierattr_t shared;
    pid_t children[SUITE_PROCESSES];
    pthread_barrierattr_init(&shared);
    pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&race->start, &shared, SUITE_PROCESSES * SUITE_THREADS);
    fflush(stdout);
    for (size_t process = 0; process < SUITE_PROCESSES; process++) {
        children[process] = fork();
        if (children[process] == 0) {
            alarm(600);
            struct error err;
            enum status status;
            pthread_t threads[SUITE_THREADS];
            struct racer racer = {race, suite_open(race->suite, NULL, &status, &err)};
            for (size_t i = 0; i < SUITE_THREADS; i++) {
                if (racer.store == NULL || pthread_create(&threads[i], NULL, run, &racer) != 0) {
                    _exit(1); /* the others wait at the barrier for ever: the alarm ends them */
                }
            }
            for (size_t i = 0; i < SUITE_THREADS; i++) {
                pthread_join(threads[i], NULL);
            }
            object_store_close(racer.store);
            _exit(0);
        }
    }
    for (size_t process = 0; process < SUITE_PROCESSES; process++) {
        int ended;
        waitpid(children[process], &ended, 0);
        if (!WIFEXITED(ended) || WEXITSTATUS(ended) != 0) {
            race_fail(race, &(struct error){.text = ""}, "a process failed");
        }
    }
}

static struct race *race_create(struct suite *suite, enum put_condition condition)
{
    struct race *race = mmap(NULL, sizeof *race, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    race->suite = suite;
    race->condition = condition;
    return race;
}

static const char *race_puts(struct suite *suite, enum put_condition condition)
{
    struct race *race = race_create(suite, condition);
    race_run(race, race_put);
    EXPECT(race->failures == 0, "%u failures; the first: %s", race->failures, race->text);
    for (uint32_t round = 0; round < suite->rounds; round++) {
        EXPECT(race->winners[round] == 1, "round %u has %u winners", round, race->winners[round]);
    }
    munmap(race, sizeof *race);
    return NULL;
}

static const char *check_race_absent(struct suite *suite)
{
    return race_puts(suite, PUT_IF_ABSENT);
}

static const char *check_race_match(struct suite *suite)
{
    struct error err;
    enum object_result result;
    struct object_info info;
    EXPECT_OK(object_put_bytes(suite->store, suite_key(suite, "round-0"), "x", 1, PUT_ANY, NULL, &result, &info, &err));
    return race_puts(suite, PUT_IF_MATCH);
}

static const char *check_increments(struct suite *suite)
{
    struct error err;
    enum object_result result;
    struct object_info info;
    char *bytes;
    size_t length;
    struct race *race = race_create(suite, PUT_IF_MATCH);
    EXPECT_OK(object_put_bytes(suite->store, suite_key(suite, "counter"), "0", 1, PUT_IF_ABSENT, NULL, &result, &info, &err));
    race_run(race, race_increment);
    EXPECT(race->failures == 0, "%u failures; the first: %s", race->failures, race->text);
    EXPECT_OK(object_get_bytes(suite->store, suite_key(suite, "counter"), 100, &result, &bytes, &length, &info, &err));
    uint32_t value = (uint32_t)strtoul(bytes, NULL, 10);
    free(bytes);
    EXPECT(value == race->increments && value > 0, "the counter is %u after %u increments that counted", value, race->increments);
    munmap(race, sizeof *race);
    return NULL;
}

const struct check race_checks[] = {
    {"races: put if absent, 16 threads of 2 processes: one wins", check_race_absent},
    {"races: put if match, 16 threads of 2 processes: one wins", check_race_match},
    {"races: increments are not lost", check_increments},
    {NULL, NULL},
};
