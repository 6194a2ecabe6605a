/* D1, D2: many writers of one register. */
#include "cluster/driver_check_trial.h"

enum { ROUNDS_MAX = 1000, WRITERS = 4 /* of each process */ };

struct race {
    atomic_uint arrived[ROUNDS_MAX], winners[ROUNDS_MAX], done, failures;
    uint32_t racers;
    char failure[500];
};

static bool race_fail(struct race *race, const char *what, enum cluster_result result, const struct error *err)
{
    if (atomic_fetch_add(&race->failures, 1) == 0) {
        snprintf(race->failure, sizeof race->failure, "%s: %s %.400s", what, trial_result_name(result), err->text);
    }
    return true; /* the caller of the team looks at the failures */
}

/* All go at once; who waits for one that failed gives up. */
static void meet(struct race *race, uint32_t round)
{
    atomic_fetch_add(&race->arrived[round], 1);
    while (race->arrived[round] < race->racers && race->failures == 0) {
        trial_pause_us(200);
    }
}

static bool race_create(struct team_member *member)
{
    struct race *race = member->shared;
    for (uint32_t round = 0; round < member->trial->options->rounds && round < ROUNDS_MAX; round++) {
        struct error err = {.text = ""};
        enum cluster_result result = CLUSTER_UNKNOWN;
        struct cluster_version version;
        char name[CLUSTER_NAME_MAX];
        snprintf(name, sizeof name, "%s/round-%u", member->trial->prefix, round);
        meet(race, round);
        if (trial_put(member->session, name, "mine", NULL, &result, &version, &err) != STATUS_OK ||
            (result != CLUSTER_OK && result != CLUSTER_CONFLICT)) {
            return race_fail(race, "put", result, &err);
        }
        atomic_fetch_add(&race->winners[round], result == CLUSTER_OK);
    }
    return true;
}

static const char *check_create(struct trial *trial)
{
    uint32_t rounds = trial->options->rounds < ROUNDS_MAX ? trial->options->rounds : ROUNDS_MAX;
    struct race *race = trial_shared(sizeof *race);
    EXPECT(race != NULL, "no memory");
    race->racers = TRIAL_PROCESSES * TRIAL_THREADS;
    bool fine = trial_team(trial, TRIAL_PROCESSES, TRIAL_THREADS, race_create, race);
    const char *failure = !fine                ? trial_fail(trial, "a process failed")
                          : race->failures > 0 ? trial_fail(trial, "%u failures; the first: %s", race->failures, race->failure)
                                               : NULL;
    for (uint32_t round = 0; round < rounds && failure == NULL; round++) {
        failure = race->winners[round] == 1 ? NULL : trial_fail(trial, "round %u has %u winners", round, race->winners[round]);
    }
    trial_unshare(race, sizeof *race);
    return failure;
}

static bool race_increment(struct team_member *member)
{
    struct race *race = member->shared;
    struct cluster_session *s = member->session;
    struct budget budget;
    char name[CLUSTER_NAME_MAX], text[24];
    budget_init(&budget, NULL, "a race", BUDGET_UNLIMITED);
    struct arena *arena = arena_create(&budget, "a race");
    snprintf(name, sizeof name, "%s/counter", member->trial->prefix);
    while (race->done < member->trial->options->increments && race->failures == 0) {
        struct error err = {.text = ""};
        enum cluster_result result = CLUSTER_UNKNOWN;
        struct cluster_value value;
        struct cluster_version version;
        arena_reset(arena);
        if (s->driver->get(s, name, arena, &result, &value, &err) != STATUS_OK || result != CLUSTER_OK) {
            race_fail(race, "get", result, &err);
            break;
        }
        snprintf(text, sizeof text, "%ld", strtol(value.bytes.bytes, NULL, 10) + 1);
        if (trial_put(s, name, text, &value.version, &result, &version, &err) != STATUS_OK ||
            (result != CLUSTER_OK && result != CLUSTER_CONFLICT)) {
            race_fail(race, "put", result, &err);
        }
        atomic_fetch_add(&race->done, result == CLUSTER_OK);
    }
    arena_destroy(arena);
    return true;
}

static const char *count_increments(struct trial *trial, const struct race *race)
{
    struct error err;
    enum cluster_result result;
    struct cluster_session *s;
    struct cluster_value value;
    EXPECT(race->failures == 0, "%u failures; the first: %s", race->failures, race->failure);
    EXPECT_OK(trial_open(trial, &s, &err));
    EXPECT_RESULT(trial_get(trial, s, trial_name(trial, "counter"), &result, &value, &err), CLUSTER_OK);
    uint32_t counted = (uint32_t)strtoul(value.bytes.bytes, NULL, 10);
    EXPECT(counted == race->done, "the counter is %u after %u puts that were OK", counted, race->done);
    return NULL;
}

static const char *check_increments(struct trial *trial)
{
    struct error err;
    enum cluster_result result;
    struct cluster_session *s;
    struct cluster_version version;
    EXPECT_OK(trial_open(trial, &s, &err));
    EXPECT_RESULT(trial_put(s, trial_name(trial, "counter"), "0", NULL, &result, &version, &err), CLUSTER_OK);
    if (!trial->one_process) {
        trial_close(trial, s, true);
    }
    struct race *race = trial_shared(sizeof *race);
    EXPECT(race != NULL, "no memory");
    bool fine = trial_team(trial, TRIAL_PROCESSES, WRITERS, race_increment, race);
    const char *failure = fine ? count_increments(trial, race) : trial_fail(trial, "a process failed");
    trial_unshare(race, sizeof *race);
    return failure;
}

const struct check driver_race_checks[] = {
    {"D1", "put if absent by 16 threads of 2 processes: one is OK, the rest conflict", check_create},
    {"D2", "increments by 8 writers: the last value is the number of puts that were OK", check_increments},
    {NULL, NULL, NULL},
};
