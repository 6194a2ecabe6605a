/* D13 to D15, D17, D21: the connection, the service and the credentials fail. */
#include <dirent.h>
#include <pthread.h>

#include "cluster/driver_check_trial.h"

enum { SLACK_US = 1000000 };

static const char *needs_faults(struct trial *trial)
{
    return trial->options->faults == NULL ? trial_skip(trial, "it needs a command that makes faults") : NULL;
}
#define NEEDS_FAULTS()                                                                                                                     \
    do {                                                                                                                                   \
        const char *missing_ = needs_faults(trial);                                                                                        \
        if (missing_ != NULL) {                                                                                                            \
            return missing_;                                                                                                               \
        }                                                                                                                                  \
    } while (0)
#define FAULT(what) EXPECT(trial_fault(trial, what), "the command '%s " what "' fails", trial->options->faults)

/* A get that is asked again until it is answered. */
static enum status get_patiently(struct trial *trial, struct cluster_session *s, const char *name, int64_t limit_us,
                                 enum cluster_result *result, struct cluster_value *value, struct error *err)
{
    enum status status;
    int64_t until = trial_now_us() + limit_us;
    do {
        status = trial_get(trial, s, name, result, value, err);
    } while (status == STATUS_UNAVAILABLE && trial_now_us() < until);
    return status;
}

/* Cut for half a ttl: the lease is still its holder's, and all registers are there. */
static const char *check_short_cut(struct trial *trial)
{
    NEEDS_FAULTS();
    struct error err;
    enum cluster_result result;
    struct cluster_session *s;
    struct cluster_lease *lease;
    struct cluster_version version;
    struct cluster_value value;
    const char *name = trial_name(trial, "leader"), *other = trial_name(trial, "register");
    EXPECT_OK(trial_open(trial, &s, &err));
    EXPECT_RESULT(trial_put(s, other, "kept", NULL, &result, &version, &err), CLUSTER_OK);
    EXPECT_RESULT(trial_acquire(trial, s, name, "holder#1", &result, &lease, &err), CLUSTER_OK);
    EXPECT_RESULT(s->driver->lease_renew(lease, &result, &err), CLUSTER_OK);
    FAULT(DRIVER_CHECK_CUT);
    trial_pause_us(trial->options->ttl_us / 2);
    FAULT(DRIVER_CHECK_HEAL);
    EXPECT_OK(get_patiently(trial, s, other, trial->options->ttl_us, &result, &value, &err));
    EXPECT(result == CLUSTER_OK && text_equal(value.bytes, TEXT("kept")), "a register is lost by a cut");
    enum status status;
    int64_t until = trial_now_us() + trial->options->ttl_us;
    do {
        status = s->driver->lease_renew(lease, &result, &err);
    } while (status == STATUS_UNAVAILABLE && trial_now_us() < until);
    EXPECT(status == STATUS_OK && result == CLUSTER_OK, "the lease is lost by a cut of half its ttl: status %d, %s", (int)status,
           trial_result_name(result));
    return NULL;
}

/* Cut for two ttl: calls say UNAVAILABLE, never "absent"; afterwards the session works on, without being opened again. */
static const char *check_long_cut(struct trial *trial)
{
    NEEDS_FAULTS();
    struct error err;
    enum cluster_result result;
    struct cluster_session *s;
    struct cluster_lease *lease, *again;
    struct cluster_version version;
    struct cluster_value value;
    struct cluster_names names;
    const char *name = trial_name(trial, "leader"), *other = trial_name(trial, "register");
    EXPECT_OK(trial_open(trial, &s, &err));
    EXPECT_RESULT(trial_put(s, other, "kept", NULL, &result, &version, &err), CLUSTER_OK);
    EXPECT_RESULT(trial_acquire(trial, s, name, "holder#1", &result, &lease, &err), CLUSTER_OK);
    FAULT(DRIVER_CHECK_CUT);
    int64_t cut = trial_now_us();
    enum status get = trial_get(trial, s, other, &result, &value, &err);
    EXPECT(get == STATUS_UNAVAILABLE, "a get without a connection gives status %d, %s", (int)get, trial_result_name(result));
    enum status list = s->driver->list(s, trial_name(trial, "%s", ""), trial->arena, &names, &err);
    EXPECT(list == STATUS_UNAVAILABLE, "a list without a connection gives status %d", (int)list);
    enum status put = trial_put(s, other, "lost", &version, &result, &version, &err);
    EXPECT(put == STATUS_UNAVAILABLE || (put == STATUS_OK && result == CLUSTER_UNKNOWN), "a put without a connection gives status %d, %s",
           (int)put, trial_result_name(result));
    trial_pause_us(cut + 2 * trial->options->ttl_us - trial_now_us());
    FAULT(DRIVER_CHECK_HEAL);
    EXPECT_OK(get_patiently(trial, s, other, trial->options->ttl_us + 10 * SLACK_US, &result, &value, &err));
    EXPECT(result == CLUSTER_OK && text_equal(value.bytes, TEXT("kept")), "a register is lost by a cut");
    enum status renewed = s->driver->lease_renew(lease, &result, &err);
    EXPECT(renewed == STATUS_OK, "after the cut a renewal gives status %d: %s", (int)renewed, err.text);
    EXPECT_OK(s->driver->lease_release(lease, &err));
    EXPECT_OK(trial_acquire_waiting(trial, s, name, "holder#2", 2 * trial->options->ttl_us, &result, &again, &err));
    EXPECT(result == CLUSTER_OK, "no lease can be had after a cut");
    return NULL;
}

/* The request is done, its answer lost. */
static const char *check_lost_replies(struct trial *trial)
{
    NEEDS_FAULTS();
    struct error err;
    enum cluster_result result;
    struct cluster_session *s;
    struct cluster_version version, next;
    struct cluster_value value;
    const char *name = trial_name(trial, "register");
    uint32_t unknown = 0;
    EXPECT_OK(trial_open(trial, &s, &err));
    EXPECT_RESULT(trial_put(s, name, "nonce-0", NULL, &result, &version, &err), CLUSTER_OK);
    for (uint32_t i = 1; i <= 3; i++) {
        char text[32];
        snprintf(text, sizeof text, "nonce-%u", i);
        FAULT(DRIVER_CHECK_SILENCE);
        enum status status = trial_put(s, name, text, &version, &result, &next, &err);
        FAULT(DRIVER_CHECK_HEAL);
        bool known = status == STATUS_OK && result == CLUSTER_OK, open = status == STATUS_OK && result == CLUSTER_UNKNOWN;
        EXPECT(known || open, "a put whose answer is lost gives status %d, %s", (int)status, trial_result_name(result));
        unknown += open;
        enum cluster_result found;
        EXPECT_OK(get_patiently(trial, s, name, 10 * SLACK_US, &found, &value, &err));
        EXPECT(found == CLUSTER_OK && text_equal(value.bytes, text_from(text)),
               "after a lost answer (%s) the register holds '%.*s', not '%s'", trial_result_name(result), (int)value.bytes.length,
               value.bytes.bytes, text);
        version = value.version;
    }
    EXPECT(unknown <= 3, "%u unknown", unknown);
    return NULL;
}

static const char *check_errors(struct trial *trial)
{
    NEEDS_FAULTS();
    struct error err;
    enum cluster_result result;
    struct cluster_session *s;
    struct cluster_version version;
    struct cluster_value value;
    struct cluster_names names;
    const char *name = trial_name(trial, "register");
    EXPECT_OK(trial_open(trial, &s, &err));
    EXPECT_RESULT(trial_put(s, name, "kept", NULL, &result, &version, &err), CLUSTER_OK);
    FAULT(DRIVER_CHECK_ERRORS);
    for (int64_t until = trial_now_us() + trial->options->outage_us; trial_now_us() < until;) {
        enum status get = trial_get(trial, s, name, &result, &value, &err);
        EXPECT(get == STATUS_UNAVAILABLE, "a get that fails gives status %d, %s", (int)get, trial_result_name(result));
        EXPECT(s->driver->list(s, trial_name(trial, "%s", ""), trial->arena, &names, &err) == STATUS_UNAVAILABLE, "a list does not fail");
    }
    FAULT(DRIVER_CHECK_HEAL);
    EXPECT_OK(get_patiently(trial, s, name, 10 * SLACK_US, &result, &value, &err));
    EXPECT(result == CLUSTER_OK && text_equal(value.bytes, TEXT("kept")), "a register is lost by errors");
    return NULL;
}

static uint32_t count_entries(const char *folder)
{
    uint32_t count = 0;
    DIR *entries = opendir(folder);
    while (entries != NULL && readdir(entries) != NULL) {
        count++;
    }
    if (entries != NULL) {
        closedir(entries);
    }
    return count;
}

static void ignore_hint(void *context, enum cluster_hint hint)
{
}

static const char *check_cycles(struct trial *trial)
{
    struct error err;
    enum cluster_result result;
    uint32_t handles = 0, threads = 0;
    for (uint32_t i = 0; i < trial->options->cycles; i++) {
        struct cluster_session *s;
        struct cluster_lease *lease;
        EXPECT_OK(trial_open(trial, &s, &err));
        EXPECT_OK(s->driver->watch(s, trial_name(trial, "jobs/"), ignore_hint, NULL, &err));
        EXPECT_RESULT(trial_acquire(trial, s, trial_name(trial, "leader"), "holder#1", &result, &lease, &err), CLUSTER_OK);
        trial_close(trial, s, true);
        if (i == 5) { /* what is made once is there */
            handles = count_entries("/proc/self/fd");
            threads = count_entries("/proc/self/task");
        }
    }
    if (trial->options->cycles > 6) {
        EXPECT(count_entries("/proc/self/fd") <= handles && count_entries("/proc/self/task") <= threads,
               "%u sessions later there are %u handles, not %u, and %u threads, not %u", trial->options->cycles,
               count_entries("/proc/self/fd"), handles, count_entries("/proc/self/task"), threads);
    }
    return NULL;
}

static const char *check_denied(struct trial *trial)
{
    const struct driver_check_options *options = trial->options;
    if (options->denied == NULL) {
        return trial_skip(trial, "it needs an option with wrong credentials");
    }
    struct cluster_option changed[32];
    char name[128];
    struct cluster_session *s;
    struct error err;
    size_t count = options->option_count < ARRAY_LENGTH(changed) - 1 ? options->option_count : ARRAY_LENGTH(changed) - 1;
    const char *equals = strchr(options->denied, '=');
    EXPECT(equals != NULL, "'%s' is not NAME=VALUE", options->denied);
    snprintf(name, sizeof name, "%.*s", (int)(equals - options->denied), options->denied);
    memcpy(changed, options->options, count * sizeof *changed);
    changed[count] = (struct cluster_option){name, equals + 1}; /* the last one counts */
    enum status status = cluster_open(options->uri, changed, count + 1, NULL, &s, &err);
    if (status == STATUS_OK) {
        cluster_close(s, true);
    }
    EXPECT(status == STATUS_DENIED && strstr(err.text, "check") != NULL, "wrong credentials give status %d: %s", (int)status,
           status == STATUS_OK ? "" : err.text);
    return NULL;
}

/* ---- restarts ---- */

struct restart {
    const char *command;
    atomic_bool over;
    int exit_code;
};

static void *run_restart(void *argument)
{
    struct restart *self = argument;
    self->exit_code = system(self->command); /* NOLINT: the caller's own command */
    self->over = true;
    return NULL;
}

/* One increment of the counter by what is there; *done and *unknown count. */
static enum status increment(struct trial *trial, struct cluster_session *s, const char *name, uint32_t *done, uint32_t *unknown,
                             struct error *err)
{
    enum cluster_result result;
    struct cluster_value value;
    struct cluster_version version;
    char text[24];
    TRY(trial_get(trial, s, name, &result, &value, err));
    if (result != CLUSTER_OK) {
        return error_set(err, ERROR_INTERNAL, "the counter is gone: %s", trial_result_name(result));
    }
    snprintf(text, sizeof text, "%lu", strtoul(value.bytes.bytes, NULL, 10) + 1);
    TRY(trial_put(s, name, text, &value.version, &result, &version, err));
    *done += result == CLUSTER_OK;
    *unknown += result == CLUSTER_UNKNOWN;
    return STATUS_OK;
}

struct restart_result {
    uint32_t done, unknown;
    int64_t longest_us; /* without an increment that counted */
};

static const char *increment_during(struct trial *trial, struct cluster_session *s, const char *name, const struct restart *restart,
                                    struct restart_result *counted)
{
    int64_t last_us = trial_now_us();
    for (uint32_t after = 0; after < 20;) {
        struct error err;
        uint32_t before = counted->done;
        enum status status = increment(trial, s, name, &counted->done, &counted->unknown, &err);
        EXPECT(status == STATUS_OK || status == STATUS_UNAVAILABLE, "status %d: %s", (int)status, err.text);
        int64_t now_us = trial_now_us();
        if (counted->done > before) {
            counted->longest_us = now_us - last_us > counted->longest_us ? now_us - last_us : counted->longest_us;
            last_us = now_us;
            after += restart->over;
        }
        EXPECT(now_us - last_us < 120 * SLACK_US, "no increment in two minutes: %s", err.text);
        trial_pause_us(2000);
    }
    return NULL;
}

static const char *check_restarts(struct trial *trial)
{
    if (trial->options->restart == NULL) {
        return trial_skip(trial, "it needs a command that restarts the servers");
    }
    struct error err;
    enum cluster_result result;
    struct cluster_session *s;
    struct cluster_version version;
    struct cluster_value value;
    struct restart restart = {.command = trial->options->restart};
    struct restart_result counted = {0};
    pthread_t thread;
    const char *name = trial_name(trial, "counter");
    EXPECT_OK(trial_open(trial, &s, &err));
    EXPECT_RESULT(trial_put(s, name, "0", NULL, &result, &version, &err), CLUSTER_OK);
    EXPECT(pthread_create(&thread, NULL, run_restart, &restart) == 0, "no thread");
    const char *failure = increment_during(trial, s, name, &restart, &counted);
    pthread_join(thread, NULL);
    if (failure != NULL) {
        return failure;
    }
    EXPECT(restart.exit_code == 0, "the command ends with %d", restart.exit_code);
    EXPECT_OK(get_patiently(trial, s, name, 10 * SLACK_US, &result, &value, &err));
    EXPECT(result == CLUSTER_OK, "the counter is gone");
    uint32_t last = (uint32_t)strtoul(value.bytes.bytes, NULL, 10);
    EXPECT(last >= counted.done && last <= counted.done + counted.unknown, "the counter is %u after %u increments and %u unknown ones",
           last, counted.done, counted.unknown);
    EXPECT(trial->options->gap_us == 0 || counted.longest_us < trial->options->gap_us,
           "%" PRId64 " ms went by without an increment; %" PRId64 " are allowed", counted.longest_us / 1000,
           trial->options->gap_us / 1000);
    return NULL;
}

const struct check driver_fault_checks[] = {
    {"D13", "the connection is cut for half a ttl: the lease is kept, nothing is lost", check_short_cut},
    {"D13", "the connection is cut for two ttl: UNAVAILABLE, then it goes on without being opened again", check_long_cut},
    {"D14", "an answer is lost: OK or UNKNOWN, and reading back decides", check_lost_replies},
    {"D15", "every request fails for a while: UNAVAILABLE, then it goes on", check_errors},
    {"D15", "sessions come and go: no thread and no handle is left behind", check_cycles},
    {"D17", "wrong credentials are denied when the session is opened", check_denied},
    {"D21", "the servers are restarted one by one: nothing is lost or doubled", check_restarts},
    {NULL, NULL, NULL},
};
