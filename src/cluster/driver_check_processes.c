/* D12: the holder is killed, or stopped and continued. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cluster/driver_check_trial.h"

enum { SLACK_US = 1000000 };

/* What the holder's process tells. */
struct holder {
    atomic_uint state; /* HOLDER_... */
    atomic_uint renewals, lost, lies;
    atomic_ullong fence;
};
enum { HOLDER_STARTS, HOLDER_HOLDS, HOLDER_FAILED, HOLDER_ENDS };

/* Renews as long as the lease is its own, and says when it is not. */
static void hold(const struct driver_check_options *options, const char *name, struct holder *shared)
{
    struct cluster_session *s;
    struct cluster_lease *lease;
    char held_by[CLUSTER_HOLDER_MAX];
    enum cluster_result result;
    struct error err;
    if (cluster_open(options->uri, options->options, options->option_count, NULL, &s, &err) != STATUS_OK ||
        s->driver->lease_acquire(s, name, "holder#1", options->ttl_us, &result, &lease, held_by, &err) != STATUS_OK ||
        result != CLUSTER_OK) {
        shared->state = HOLDER_FAILED;
        return;
    }
    shared->fence = lease->fence;
    shared->state = HOLDER_HOLDS;
    while (shared->state == HOLDER_HOLDS) {
        bool known = s->driver->lease_renew(lease, &result, &err) == STATUS_OK;
        shared->renewals += known && result == CLUSTER_OK;
        shared->lies += known && result == CLUSTER_OK && shared->lost > 0;
        shared->lost += known && result == CLUSTER_CONFLICT;
        trial_pause_us(options->ttl_us / 20);
    }
    cluster_close(s, true);
}

static pid_t start_holder(struct trial *trial, const char *name, struct holder *shared)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(600);
        hold(trial->options, name, shared);
        _exit(0);
    }
    for (int64_t until = trial_now_us() + 60 * SLACK_US; child > 0 && shared->state == HOLDER_STARTS && trial_now_us() < until;) {
        trial_pause_us(2000);
    }
    return child;
}

static void end_holder(pid_t child, struct holder *shared)
{
    shared->state = HOLDER_ENDS;
    kill(child, SIGCONT);
    for (uint32_t i = 0; i < 500 && waitpid(child, NULL, WNOHANG) == 0; i++) {
        trial_pause_us(10000);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static const char *after_kill(struct trial *trial, const char *name, pid_t child, struct holder *shared)
{
    struct error err;
    enum cluster_result result;
    struct cluster_session *s;
    struct cluster_lease *lease, *other;
    EXPECT(shared->state == HOLDER_HOLDS, "the holder's process does not get the lease");
    EXPECT_OK(trial_open(trial, &s, &err));
    EXPECT_RESULT(trial_acquire(trial, s, name, "second#2", &result, &other, &err), CLUSTER_CONFLICT);
    EXPECT(s->driver->gone == NULL || s->driver->gone(s, "holder#1") == CLUSTER_MAY_LIVE, "a living process is said to be gone");
    int64_t killed = trial_now_us();
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    EXPECT_OK(trial_acquire_waiting(trial, s, name, "second#2", 3 * trial->options->ttl_us, &result, &lease, &err));
    int64_t waited = trial_now_us() - killed;
    int64_t bound = trial->options->ttl_us + trial->options->ttl_us / 2 + SLACK_US;
    bool tells = s->driver->gone != NULL && s->driver->gone(s, "holder#1") == CLUSTER_GONE;
    bound = tells ? SLACK_US : bound;
    EXPECT(result == CLUSTER_OK && waited <= bound, "the successor of a killed holder came after %" PRId64 " ms", waited / 1000);
    EXPECT(lease->fence > shared->fence, "the fence does not grow");
    return NULL;
}

static const char *after_stop(struct trial *trial, const char *name, pid_t child, struct holder *shared)
{
    struct error err;
    enum cluster_result result;
    struct cluster_session *s;
    struct cluster_lease *lease;
    int64_t ttl = trial->options->ttl_us;
    EXPECT(shared->state == HOLDER_HOLDS, "the holder's process does not get the lease");
    EXPECT_OK(trial_open(trial, &s, &err));
    trial_pause_us(ttl / 2);
    kill(child, SIGSTOP);
    int64_t stopped = trial_now_us();
    EXPECT_OK(trial_acquire_waiting(trial, s, name, "second#2", 3 * ttl, &result, &lease, &err));
    EXPECT(result == CLUSTER_OK, "a stopped holder keeps the lease for three ttl");
    EXPECT(trial_now_us() - stopped >= ttl / 2, "a stopped holder loses the lease after %" PRId64 " ms", (trial_now_us() - stopped) / 1000);
    EXPECT(s->driver->gone == NULL || s->driver->gone(s, "holder#1") == CLUSTER_MAY_LIVE, "a stopped process is said to be gone");
    while (trial_now_us() < stopped + 2 * ttl) {
        trial_pause_us(ttl / 10);
        EXPECT_RESULT(s->driver->lease_renew(lease, &result, &err), CLUSTER_OK);
    }
    uint32_t renewals = shared->renewals;
    kill(child, SIGCONT);
    for (int64_t until = trial_now_us() + 2 * ttl + 5 * SLACK_US; shared->lost < 2 && trial_now_us() < until; trial_pause_us(ttl / 20)) {
        EXPECT_RESULT(s->driver->lease_renew(lease, &result, &err), CLUSTER_OK);
    }
    EXPECT(shared->lost >= 2, "a holder that was stopped for two ttl never learns that its lease is lost");
    EXPECT(shared->renewals <= renewals + 1 && shared->lies == 0, "a holder that was stopped for two ttl could renew %u times",
           shared->renewals - renewals); /* one: of a call that was under way */
    return NULL;
}

static const char *with_holder(struct trial *trial,
                               const char *(*run)(struct trial *trial, const char *name, pid_t child, struct holder *shared))
{
    if (trial->one_process) {
        return trial_skip(trial, "this driver is of one process");
    }
    const char *name = trial_name(trial, "leader");
    struct holder *shared = trial_shared(sizeof *shared);
    EXPECT(shared != NULL, "no memory");
    pid_t child = start_holder(trial, name, shared);
    const char *failure = child > 0 ? run(trial, name, child, shared) : trial_fail(trial, "no process");
    if (child > 0 && kill(child, 0) == 0) {
        end_holder(child, shared);
    }
    trial_unshare(shared, sizeof *shared);
    return failure;
}

static const char *check_killed(struct trial *trial)
{
    return with_holder(trial, after_kill);
}

static const char *check_stopped(struct trial *trial)
{
    return with_holder(trial, after_stop);
}

const struct check driver_process_checks[] = {
    {"D12", "a holder that is killed is replaced within the ttl, at once where the driver can tell", check_killed},
    {"D12", "a holder that was stopped for two ttl learns that it lost before it does anything", check_stopped},
    {NULL, NULL, NULL},
};
