#include "cluster/driver_check.h"

#include <stdarg.h>
#include <time.h>
#include <unistd.h>

#include "base/random.h"
#include "cluster/driver_check_trial.h"

const char *trial_fail(struct trial *trial, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(trial->failure, sizeof trial->failure, format, arguments);
    va_end(arguments);
    return trial->failure;
}

const char *trial_skip(struct trial *trial, const char *why)
{
    trial->skipped = true;
    return why;
}

const char *trial_result_name(enum cluster_result result)
{
    static const char *const names[] = {"OK", "ABSENT", "CONFLICT", "UNKNOWN"};
    return (size_t)result < ARRAY_LENGTH(names) ? names[result] : "no result";
}

enum status trial_open(struct trial *trial, struct cluster_session **session, struct error *err)
{
    const struct driver_check_options *options = trial->options;
    if (trial->session_count == TRIAL_SESSIONS_MAX) {
        return error_set(err, ERROR_TOO_MANY, "a check has more than %d sessions", TRIAL_SESSIONS_MAX);
    }
    TRY(cluster_open(options->uri, options->options, options->option_count, NULL, session, err));
    trial->sessions[trial->session_count++] = *session;
    return STATUS_OK;
}

void trial_close(struct trial *trial, struct cluster_session *session, bool release_leases)
{
    for (uint32_t i = 0; i < trial->session_count; i++) {
        if (trial->sessions[i] == session) {
            trial->sessions[i] = trial->sessions[--trial->session_count];
            break;
        }
    }
    cluster_close(session, release_leases);
}

const char *trial_name(struct trial *trial, const char *format, ...)
{
    char name[2 * CLUSTER_NAME_MAX];
    int length = snprintf(name, sizeof name, "%s/", trial->prefix);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name + length, sizeof name - (size_t)length, format, arguments);
    va_end(arguments);
    return arena_text(trial->arena, name, strlen(name));
}

int64_t trial_now_us(void)
{
    return clock_system.monotonic_us(&clock_system);
}

void trial_pause_us(int64_t us)
{
    struct timespec pause = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    nanosleep(&pause, NULL);
}

bool trial_fault(struct trial *trial, const char *what)
{
    char command[4096];
    return trial->options->faults != NULL &&
           snprintf(command, sizeof command, "%s %s", trial->options->faults, what) < (int)sizeof command &&
           system(command) == 0; /* NOLINT: the caller's own command */
}

enum status trial_get(struct trial *trial, struct cluster_session *session, const char *name, enum cluster_result *result,
                      struct cluster_value *value, struct error *err)
{
    return session->driver->get(session, name, trial->arena, result, value, err);
}

enum status trial_put(struct cluster_session *session, const char *name, const char *text, const struct cluster_version *expect,
                      enum cluster_result *result, struct cluster_version *version, struct error *err)
{
    return session->driver->put(session, name, text_from(text), expect, result, version, err);
}

enum status trial_acquire(struct trial *trial, struct cluster_session *session, const char *name, const char *holder,
                          enum cluster_result *result, struct cluster_lease **lease, struct error *err)
{
    char held_by[CLUSTER_HOLDER_MAX];
    return session->driver->lease_acquire(session, name, holder, trial->options->ttl_us, result, lease, held_by, err);
}

enum status trial_acquire_waiting(struct trial *trial, struct cluster_session *session, const char *name, const char *holder,
                                  int64_t limit_us, enum cluster_result *result, struct cluster_lease **lease, struct error *err)
{
    int64_t until = trial_now_us() + limit_us;
    do {
        TRY(trial_acquire(trial, session, name, holder, result, lease, err));
        if (*result == CLUSTER_OK) {
            return STATUS_OK;
        }
        trial_pause_us(trial->options->ttl_us / 30);
    } while (trial_now_us() < until);
    return STATUS_OK;
}

/* ---- the run ---- */

static const struct check *const all_checks[] = {driver_register_checks, driver_name_checks,    driver_race_checks,
                                                 driver_lease_checks,    driver_process_checks, driver_fault_checks};

static bool is_wanted(const char *only, const struct check *check)
{
    char title[256];
    if (only == NULL) {
        return true;
    }
    snprintf(title, sizeof title, "%s %s", check->id, check->name);
    for (const char *at = only; *at != '\0'; at += strcspn(at, ","), at += *at == ',') {
        char word[128];
        snprintf(word, sizeof word, "%.*s", (int)strcspn(at, ","), at);
        bool is_id = strcspn(word, "0123456789") == 1 && word[0] == 'D';
        if (is_id ? strcmp(check->id, word) == 0 : strstr(title, word) != NULL) {
            return true;
        }
    }
    return false;
}

/* What a check leaves behind is removed, as far as the driver can at the moment. */
static void clean_up(struct trial *trial)
{
    struct cluster_session *session;
    struct cluster_names names;
    struct error ignored;
    enum cluster_result result;
    while (trial->session_count > 0) {
        trial_close(trial, trial->sessions[0], true);
    }
    const char *prefix = arena_format(trial->arena, "%s/", trial->prefix);
    if (trial->one_process || prefix == NULL || trial_open(trial, &session, &ignored) != STATUS_OK) {
        return;
    }
    if (session->driver->list(session, prefix, trial->arena, &names, &ignored) == STATUS_OK) {
        for (uint32_t i = 0; i < names.count; i++) {
            struct cluster_value value;
            if (trial_get(trial, session, names.names[i], &result, &value, &ignored) == STATUS_OK && result == CLUSTER_OK) {
                (void)session->driver->del(session, names.names[i], &value.version, &result, &ignored);
            }
        }
    }
    trial_close(trial, session, true);
}

static void run_check(struct trial *trial, const struct check *check, struct driver_check_report *report)
{
    struct random_source random;
    random_open(&random, 0);
    snprintf(trial->prefix, sizeof trial->prefix, "check-%s-%08x", check->id, (uint32_t)random_next(&random));
    trial->skipped = false;
    const char *failure = check->run(trial);
    enum driver_check_outcome outcome = failure == NULL ? DRIVER_CHECK_PASSED : trial->skipped ? DRIVER_CHECK_SKIPPED : DRIVER_CHECK_FAILED;
    *(outcome == DRIVER_CHECK_PASSED ? &report->passed : outcome == DRIVER_CHECK_FAILED ? &report->failed : &report->skipped) += 1;
    trial->options->report(trial->options->context, check->id, check->name, outcome, failure == NULL ? "" : failure);
    clean_up(trial);
    arena_reset(trial->arena);
}

static enum status probe(struct trial *trial, struct error *err)
{
    struct cluster_session *session;
    TRY(trial_open(trial, &session, err));
    trial->driver = session->driver;
    trial->one_process = strcmp(session->driver->scheme, "local") == 0;
    trial_close(trial, session, true);
    return STATUS_OK;
}

enum status driver_check_run(const struct driver_check_options *options, struct driver_check_report *report, struct error *err)
{
    struct trial trial = {.options = options};
    *report = (struct driver_check_report){0};
    TRY(probe(&trial, err));
    budget_init(&trial.budget, NULL, "checks of a driver", BUDGET_UNLIMITED);
    TRY_ALLOC(trial.arena, arena_create(&trial.budget, "checks of a driver"), err);
    for (size_t list = 0; list < ARRAY_LENGTH(all_checks); list++) {
        for (const struct check *check = all_checks[list]; check->id != NULL; check++) {
            if (is_wanted(options->only, check)) {
                run_check(&trial, check, report);
            }
        }
    }
    arena_destroy(trial.arena);
    return report->passed + report->failed + report->skipped > 0
               ? STATUS_OK
               : error_set(err, ERROR_INVALID_OPTION, "there is no check like '%.200s'; their ids are D1 to D21", options->only);
}
