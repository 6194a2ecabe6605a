/* cluster/driver_check_trial.h: what the checks of cluster/driver_check.h share.
 *
 * Shape       A check returns NULL when the driver does what cluster/driver.h promises, else a text that says what it did; SKIP is a text,
 *             too. EXPECT returns from the check: sessions that it had open end with the suite's (trial_open keeps them).
 */
#ifndef SPATE_CLUSTER_DRIVER_CHECK_TRIAL_H
#define SPATE_CLUSTER_DRIVER_CHECK_TRIAL_H

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "cluster/driver_check.h"

enum { TRIAL_SESSIONS_MAX = 8, TRIAL_PROCESSES = 2, TRIAL_THREADS = 16 };

struct trial {
    const struct driver_check_options *options;
    const struct cluster_driver *driver;
    bool one_process; /* a driver of this process alone */
    struct budget budget;
    struct arena *arena; /* of one check */
    struct cluster_session *sessions[TRIAL_SESSIONS_MAX];
    uint32_t session_count;
    char prefix[64];
    bool skipped;
    char failure[2048];
};
struct check {
    const char *id, *name;
    const char *(*run)(struct trial *trial);
};
extern const struct check driver_register_checks[], driver_name_checks[], driver_race_checks[], driver_lease_checks[],
    driver_process_checks[], driver_fault_checks[];

const char *trial_fail(struct trial *trial, const char *format, ...) PRINTF_LIKE(2, 3);
const char *trial_skip(struct trial *trial, const char *why);
#define EXPECT(condition, ...)                                                                                                             \
    do {                                                                                                                                   \
        if (!(condition)) {                                                                                                                \
            return trial_fail(trial, __VA_ARGS__);                                                                                         \
        }                                                                                                                                  \
    } while (0)
#define EXPECT_OK(call)                                                                                                                    \
    do {                                                                                                                                   \
        enum status expect_ = (call);                                                                                                      \
        EXPECT(expect_ == STATUS_OK, "line %d: status %d: %s", __LINE__, (int)expect_, err.text);                                          \
    } while (0)
#define EXPECT_RESULT(call, expected)                                                                                                      \
    do {                                                                                                                                   \
        EXPECT_OK(call);                                                                                                                   \
        EXPECT(result == (expected), "line %d: the result is %s, not %s", __LINE__, trial_result_name(result),                             \
               trial_result_name(expected));                                                                                               \
    } while (0)
const char *trial_result_name(enum cluster_result result);

/* A session of the check, closed after it. */
enum status trial_open(struct trial *trial, struct cluster_session **session, struct error *err);
void trial_close(struct trial *trial, struct cluster_session *session, bool release_leases);
/* A name below the check's prefix, in its arena. */
const char *trial_name(struct trial *trial, const char *format, ...) PRINTF_LIKE(2, 3);
int64_t trial_now_us(void);
void trial_pause_us(int64_t us);
/* The command of the faults; false: there is none, or it failed. */
bool trial_fault(struct trial *trial, const char *what);

/* The driver's calls, shorter. */
enum status trial_get(struct trial *trial, struct cluster_session *session, const char *name, enum cluster_result *result,
                      struct cluster_value *value, struct error *err);
enum status trial_put(struct cluster_session *session, const char *name, const char *text, const struct cluster_version *expect,
                      enum cluster_result *result, struct cluster_version *version, struct error *err);
enum status trial_acquire(struct trial *trial, struct cluster_session *session, const char *name, const char *holder,
                          enum cluster_result *result, struct cluster_lease **lease, struct error *err);
/* Asks for the lease until it is granted, at most for `limit_us`; the holder before is in held_by. */
enum status trial_acquire_waiting(struct trial *trial, struct cluster_session *session, const char *name, const char *holder,
                                  int64_t limit_us, enum cluster_result *result, struct cluster_lease **lease, struct error *err);

/* Runs the function in `processes` processes (threads, for a driver of one process) of `threads` threads each; `shared` is memory that they
 * all see (trial_shared). Each process has a session of its own. False: one of them failed. */
struct team_member {
    struct trial *trial;
    struct cluster_session *session;
    void *shared;
    uint32_t number; /* of all */
};
typedef bool (*team_fn)(struct team_member *member);
bool trial_team(struct trial *trial, uint32_t processes, uint32_t threads, team_fn run, void *shared);
void *trial_shared(size_t bytes); /* zeroed; munmap is trial_unshare */
void trial_unshare(void *shared, size_t bytes);

#endif
