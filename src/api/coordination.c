/* Coordinators, and the calls that need no thread of theirs: registers and leases (spate/coordination.h). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "api/coordination_handle.h"
#include "api/public_error.h"
#include "base/condition.h"

enum { OPTIONS_MAX = 128 };
_Static_assert(sizeof(struct spate_register_version) == sizeof(struct cluster_version), "one is copied into the other");
_Static_assert((int)SPATE_REGISTER_BYTES_MAX == (int)CLUSTER_VALUE_MAX && (int)SPATE_HOLDER_BYTES == (int)CLUSTER_HOLDER_MAX,
               "as the drivers have it");

/* ---- what all calls share ---- */

struct error *coordination_error(void)
{
    static _Thread_local struct error last;
    return &last;
}

int coordination_finish(enum status status, struct spate_error *error)
{
    struct spate_error ignored;
    return status == STATUS_OK ? SPATE_OK : public_error_set(error == NULL ? &ignored : error, coordination_error(), status);
}

int64_t coordination_now(void)
{
    return clock_boot.monotonic_us(&clock_boot);
}

int64_t coordination_deadline(int64_t timeout_ms)
{
    int64_t now_us = coordination_now();
    return timeout_ms < 0 || timeout_ms > (INT64_MAX - now_us) / 1000 ? INT64_MAX : now_us + timeout_ms * 1000;
}

void coordination_wait(struct spate_coordinator *coordinator, int64_t until_us)
{
    if (until_us == INT64_MAX) {
        pthread_cond_wait(&coordinator->changed, &coordinator->mutex);
        return;
    }
    condition_wait_us(&coordinator->changed, &coordinator->mutex, until_us - coordination_now());
}

void coordination_sleep(int64_t until_us)
{
    struct timespec at = {.tv_sec = until_us / 1000000, .tv_nsec = until_us % 1000000 * 1000};
    clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &at, NULL);
}

enum status call_arena_open(struct call_arena *call, struct error *err)
{
    budget_init(&call->budget, NULL, "a call of coordination", BUDGET_UNLIMITED);
    TRY_ALLOC(call->arena, arena_create(&call->budget, "a call of coordination"), err);
    return STATUS_OK;
}

void call_arena_close(struct call_arena *call)
{
    if (call->arena != NULL) {
        arena_destroy(call->arena);
    }
}

enum status coordination_name_check(const char *name, struct error *err)
{
    static const char *const taken[] = {"locks/", "elections/", "latches/", "groups/", "jobs/"};
    for (size_t i = 0; i < ARRAY_LENGTH(taken); i++) {
        if (strncmp(name, taken[i], strlen(taken[i])) == 0) {
            return error_set(err, ERROR_CLUSTER_NAME,
                             "'%.200s' is not a program's to write: what is below '%s' is kept by the calls for it", name, taken[i]);
        }
    }
    return cluster_name_check(name, err);
}

enum status coordination_give(struct text bytes, void *out, size_t capacity, size_t *length, struct error *err)
{
    *length = bytes.length;
    if (bytes.length > capacity) {
        return error_set(err, ERROR_TOO_MANY, "a value of %zu bytes does not fit the %zu that were given for it", bytes.length, capacity);
    }
    if (bytes.length > 0) {
        memcpy(out, bytes.bytes, bytes.length);
    }
    return STATUS_OK;
}

/* ---- coordinators ---- */

struct split_options {
    struct cluster_option timing[OPTIONS_MAX], driver[OPTIONS_MAX];
    size_t timing_count, driver_count;
};

static enum status split(const char *const *texts, struct arena *arena, struct split_options *options, struct error *err)
{
    for (; texts != NULL && *texts != NULL; texts++) {
        const char *equals = strchr(*texts, '=');
        char *name;
        if (equals == NULL || equals == *texts) {
            return error_set(err, ERROR_INVALID_OPTION, "'%.100s' is no option: write key=value", *texts);
        }
        if (options->timing_count + options->driver_count == OPTIONS_MAX) {
            return error_set(err, ERROR_TOO_MANY, "more than %d options of a coordinator", OPTIONS_MAX);
        }
        TRY_ALLOC(name, arena_text(arena, *texts, (size_t)(equals - *texts)), err);
        bool of_timing = strncmp(name, "cluster.", strlen("cluster.")) == 0;
        struct cluster_option *next = of_timing ? &options->timing[options->timing_count++] : &options->driver[options->driver_count++];
        *next = (struct cluster_option){name, equals + 1};
    }
    return STATUS_OK;
}

/* The others are about the state of a job's tasks, which groups of a coordinator do not have. */
static enum status check_timing(const struct split_options *options, struct error *err)
{
    static const char *const foreign[] = {"warmup.timeout", "warmup.max", "standby.max-lag", "rejoin.grace"};
    for (size_t i = 0; i < options->timing_count; i++) {
        const char *name = options->timing[i].name + strlen("cluster.");
        for (size_t k = 0; k < ARRAY_LENGTH(foreign); k++) {
            if (strcmp(name, foreign[k]) == 0) {
                return error_set(err, ERROR_INVALID_OPTION, "a coordinator has no option 'cluster.%s': it is about tasks of jobs", name);
            }
        }
    }
    return STATUS_OK;
}

/* host#pid#number: a session's own, so that a process's end can be told from it where the driver can. */
static void choose_name(struct spate_coordinator *self)
{
    char host[64 + 1] = "";
    (void)gethostname(host, sizeof host - 1);
    snprintf(self->name, sizeof self->name, "%s#%d#%016" PRIx64, host[0] == '\0' ? "host" : host, (int)getpid(),
             random_next(&self->random));
}

static enum status open_session(struct spate_coordinator *self, const char *uri, const char *const *texts, struct error *err)
{
    const struct cluster_environment environment = {.clock = &clock_boot};
    struct split_options options = {.timing_count = 0};
    struct call_arena call;
    enum status status;
    TRY_GOTO(done, status, call_arena_open(&call, err));
    TRY_GOTO(done, status, split(texts, call.arena, &options, err));
    TRY_GOTO(done, status, cluster_open(uri, options.driver, options.driver_count, &environment, &self->session, err));
    status = timing_read(timing_profile_of(self->session->driver->scheme), options.timing, options.timing_count, &self->timing, err);
    if (status == STATUS_OK) {
        status = check_timing(&options, err);
    }
    if (status != STATUS_OK) {
        cluster_close(self->session, true);
    }
done:
    call_arena_close(&call);
    return status;
}

static void stop_thread(struct spate_coordinator *self, pthread_t thread)
{
    pthread_mutex_lock(&self->mutex);
    self->ending = true;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->mutex);
    pthread_join(thread, NULL);
}

static enum status start_threads(struct spate_coordinator *self, struct error *err)
{
    if (pthread_create(&self->keeper, NULL, coordination_keep, self) != 0) {
        return error_set(err, ERROR_THREAD, "no thread for the leases of a coordinator");
    }
    if (pthread_create(&self->caller, NULL, coordination_call, self) != 0) {
        stop_thread(self, self->keeper);
        return error_set(err, ERROR_THREAD, "no thread for the callbacks of a coordinator");
    }
    return STATUS_OK;
}

static void free_coordinator(struct spate_coordinator *self)
{
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->mutex);
    free(self);
}

static enum status open_all(const char *uri, const char *const *options, struct spate_coordinator **coordinator, struct error *err)
{
    struct spate_coordinator *self;
    TRY_ALLOC(self, calloc(1, sizeof *self), err);
    condition_init(&self->changed);
    pthread_mutex_init(&self->mutex, NULL);
    random_open(&self->random, 0);
    choose_name(self);
    enum status status = open_session(self, uri, options, err);
    if (status == STATUS_OK && (status = start_threads(self, err)) != STATUS_OK) {
        cluster_close(self->session, true);
    }
    if (status != STATUS_OK) {
        free_coordinator(self);
        return status;
    }
    *coordinator = self;
    return STATUS_OK;
}

int spate_coordinator_open(const char *uri, const char *const *options, spate_coordinator **coordinator, struct spate_error *error)
{
    *coordinator = NULL;
    return coordination_finish(open_all(uri, options, coordinator, coordination_error()), error);
}

void spate_coordinator_close(spate_coordinator *coordinator)
{
    if (coordinator == NULL) {
        return;
    }
    coordination_close_claims(coordinator);
    stop_thread(coordinator, coordinator->keeper);
    pthread_join(coordinator->caller, NULL);
    cluster_close(coordinator->session, true);
    free_coordinator(coordinator);
}

const char *spate_coordinator_name(const spate_coordinator *coordinator)
{
    return coordinator->name;
}

/* ---- registers ---- */

static const int outcomes[] = {[CLUSTER_OK] = SPATE_OUTCOME_DONE,
                               [CLUSTER_ABSENT] = SPATE_OUTCOME_ABSENT,
                               [CLUSTER_CONFLICT] = SPATE_OUTCOME_CONFLICT,
                               [CLUSTER_UNKNOWN] = SPATE_OUTCOME_UNKNOWN};

int spate_register_get(spate_coordinator *coordinator, const char *name, void *bytes, size_t capacity, size_t *length,
                       struct spate_register_version *version, int *outcome, struct spate_error *error)
{
    struct error *err = coordination_error();
    struct cluster_session *session = coordinator->session;
    struct cluster_value value;
    enum cluster_result result;
    struct call_arena call;
    enum status status;
    *length = 0;
    TRY_GOTO(done, status, call_arena_open(&call, err));
    TRY_GOTO(done, status, session->driver->get(session, name, call.arena, &result, &value, err));
    *outcome = outcomes[result];
    if (result == CLUSTER_OK) {
        memcpy(version, &value.version, sizeof *version);
        status = coordination_give(value.bytes, bytes, capacity, length, err);
    }
done:
    call_arena_close(&call);
    return coordination_finish(status, error);
}

static enum status put(struct cluster_session *session, const char *name, struct text value, const struct spate_register_version *expect,
                       struct spate_register_version *version, int *outcome, struct error *err)
{
    struct cluster_version expected, written = {.token = ""};
    enum cluster_result result;
    TRY(coordination_name_check(name, err));
    if (expect != NULL) {
        memcpy(&expected, expect, sizeof expected);
    }
    TRY(session->driver->put(session, name, value, expect == NULL ? NULL : &expected, &result, &written, err));
    *outcome = outcomes[result];
    if (version != NULL && result == CLUSTER_OK) {
        memcpy(version, &written, sizeof *version);
    }
    return STATUS_OK;
}

int spate_register_put(spate_coordinator *coordinator, const char *name, const void *bytes, size_t length,
                       const struct spate_register_version *expect, struct spate_register_version *version, int *outcome,
                       struct spate_error *error)
{
    struct text value = {bytes, length};
    return coordination_finish(put(coordinator->session, name, value, expect, version, outcome, coordination_error()), error);
}

int spate_register_delete(spate_coordinator *coordinator, const char *name, const struct spate_register_version *expect, int *outcome,
                          struct spate_error *error)
{
    struct error *err = coordination_error();
    struct cluster_version expected;
    enum cluster_result result;
    memcpy(&expected, expect, sizeof expected);
    enum status status = coordination_name_check(name, err);
    if (status == STATUS_OK) {
        status = coordinator->session->driver->del(coordinator->session, name, &expected, &result, err);
    }
    if (status == STATUS_OK) {
        *outcome = outcomes[result];
    }
    return coordination_finish(status, error);
}

int spate_register_list(spate_coordinator *coordinator, const char *prefix, spate_register_name name, void *context,
                        struct spate_error *error)
{
    struct error *err = coordination_error();
    struct cluster_names names = {.count = 0};
    struct call_arena call;
    enum status status = call_arena_open(&call, err);
    if (status == STATUS_OK) {
        status = coordinator->session->driver->list(coordinator->session, prefix, call.arena, &names, err);
    }
    for (uint32_t i = 0; status == STATUS_OK && i < names.count; i++) {
        name(context, names.names[i]);
    }
    call_arena_close(&call);
    return coordination_finish(status, error);
}

int spate_register_read(spate_coordinator *coordinator, const char *name, void *bytes, size_t capacity, size_t *length, uint64_t *fence,
                        int *outcome, struct spate_error *error)
{
    struct error *err = coordination_error();
    const struct guarded guarded = {coordinator->session, &coordinator->random, name};
    struct guarded_value value;
    enum guarded_result result;
    struct call_arena call;
    enum status status;
    *length = 0;
    TRY_GOTO(done, status, call_arena_open(&call, err));
    TRY_GOTO(done, status, guarded_look(&guarded, call.arena, &result, &value, err));
    *outcome = result == GUARDED_OK ? SPATE_OUTCOME_DONE : SPATE_OUTCOME_ABSENT;
    *fence = value.fence;
    status = coordination_give(value.bytes, bytes, capacity, length, err);
done:
    call_arena_close(&call);
    return coordination_finish(status, error);
}

/* ---- leases: a spate_lease is the driver's ---- */

int spate_lease_acquire(spate_coordinator *coordinator, const char *name, int64_t ttl_ms, spate_lease **lease, char *held_by, int *outcome,
                        struct spate_error *error)
{
    struct error *err = coordination_error();
    struct cluster_session *session = coordinator->session;
    struct cluster_lease *granted = NULL;
    enum cluster_result result;
    char holder[CLUSTER_HOLDER_MAX] = "";
    int64_t ttl_us = ttl_ms < 0 || ttl_ms > INT64_MAX / 1000 ? 0 : ttl_ms * 1000; /* 0 is refused */
    *lease = NULL;
    enum status status = coordination_name_check(name, err);
    if (status == STATUS_OK) {
        status = session->driver->lease_acquire(session, name, coordinator->name, ttl_us, &result, &granted, holder, err);
    }
    if (status == STATUS_OK) {
        *outcome = outcomes[result];
        *lease = result == CLUSTER_OK ? (spate_lease *)granted : NULL;
        if (held_by != NULL) {
            memcpy(held_by, holder, sizeof holder);
        }
    }
    return coordination_finish(status, error);
}

uint64_t spate_lease_fence(const spate_lease *lease)
{
    return ((const struct cluster_lease *)lease)->fence;
}

int spate_lease_renew(spate_lease *lease, int *outcome, struct spate_error *error)
{
    struct cluster_lease *held = (struct cluster_lease *)lease;
    enum cluster_result result;
    enum status status = held->session->driver->lease_renew(held, &result, coordination_error());
    if (status == STATUS_OK) {
        *outcome = outcomes[result];
    }
    return coordination_finish(status, error);
}

int spate_lease_release(spate_lease *lease, struct spate_error *error)
{
    struct cluster_lease *held = (struct cluster_lease *)lease;
    return coordination_finish(held == NULL ? STATUS_OK : held->session->driver->lease_release(held, coordination_error()), error);
}
