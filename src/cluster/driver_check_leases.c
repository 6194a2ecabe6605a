/* D9 to D11, D18 to D20: leases and hints between sessions of one process. */
#include "cluster/driver_check_trial.h"

enum { SLACK_US = 1000000 };

static bool live(struct trial *trial)
{
    return trial->options->ttl_us > 0;
}

/* Two sessions, and the lease in the first one's hands. */
static const char *begin(struct trial *trial, struct cluster_session *s[2], const char *name, struct cluster_lease **lease)
{
    struct error err;
    enum cluster_result result;
    struct cluster_lease *other;
    EXPECT(live(trial), "a lease needs a ttl");
    EXPECT_OK(trial_open(trial, &s[0], &err));
    EXPECT_OK(trial_open(trial, &s[1], &err));
    EXPECT_RESULT(trial_acquire(trial, s[0], name, "first#1", &result, lease, &err), CLUSTER_OK);
    EXPECT_RESULT(trial_acquire(trial, s[1], name, "second#2", &result, &other, &err), CLUSTER_CONFLICT);
    return NULL;
}
#define BEGIN(name)                                                                                                                        \
    struct error err;                                                                                                                      \
    enum cluster_result result;                                                                                                            \
    struct cluster_session *s[2];                                                                                                          \
    struct cluster_lease *lease;                                                                                                           \
    const char *begun = begin(trial, s, name, &lease);                                                                                     \
    if (begun != NULL) {                                                                                                                   \
        return begun;                                                                                                                      \
    }

static const char *check_one_holder(struct trial *trial)
{
    const char *name = trial_name(trial, "leader");
    char held_by[CLUSTER_HOLDER_MAX] = "";
    struct cluster_lease *other;
    BEGIN(name)
    int64_t ttl = trial->options->ttl_us;
    for (int64_t start = trial_now_us(); trial_now_us() < start + 5 * ttl;) {
        trial_pause_us(ttl / 6);
        EXPECT_RESULT(s[0]->driver->lease_renew(lease, &result, &err), CLUSTER_OK);
        EXPECT_RESULT(s[1]->driver->lease_acquire(s[1], name, "second#2", ttl, &result, &other, held_by, &err), CLUSTER_CONFLICT);
        EXPECT(strcmp(held_by, "first#1") == 0, "the lease is said to be held by '%s'", held_by);
    }
    EXPECT_RESULT(trial_acquire(trial, s[0], name, "first#1", &result, &other, &err), CLUSTER_CONFLICT);
    return NULL;
}

/* The holder says nothing: it is replaced, not before the ttl, and learns of it. */
static const char *check_silence(struct trial *trial)
{
    const char *name = trial_name(trial, "leader");
    struct cluster_lease *other;
    BEGIN(name)
    int64_t ttl = trial->options->ttl_us, retry = ttl / 30;
    EXPECT_RESULT(s[0]->driver->lease_renew(lease, &result, &err), CLUSTER_OK);
    int64_t silent = trial_now_us();
    EXPECT_OK(trial_acquire_waiting(trial, s[1], name, "second#2", 3 * ttl, &result, &other, &err));
    int64_t waited = trial_now_us() - silent;
    EXPECT(result == CLUSTER_OK, "a silent holder keeps the lease for three ttl");
    EXPECT(waited >= ttl - ttl / 50 && waited <= ttl + retry + SLACK_US + ttl / 2,
           "the successor came after %" PRId64 " ms; the ttl is %" PRId64 " ms", waited / 1000, ttl / 1000);
    EXPECT(other->fence > lease->fence, "the fence goes from %" PRIu64 " to %" PRIu64, lease->fence, other->fence);
    EXPECT_RESULT(s[0]->driver->lease_renew(lease, &result, &err), CLUSTER_CONFLICT);
    EXPECT_RESULT(s[0]->driver->lease_renew(lease, &result, &err), CLUSTER_CONFLICT);
    EXPECT_OK(s[0]->driver->lease_release(lease, &err)); /* must not end the other's */
    EXPECT_RESULT(s[1]->driver->lease_renew(other, &result, &err), CLUSTER_OK);
    return NULL;
}

static const char *check_release(struct trial *trial)
{
    const char *name = trial_name(trial, "leader");
    BEGIN(name)
    uint64_t fence = lease->fence;
    for (uint32_t round = 0; round < 6; round++) {
        struct cluster_session *next = s[(round + 1) % 2];
        EXPECT_OK(s[round % 2]->driver->lease_release(lease, &err));
        int64_t start = trial_now_us();
        EXPECT_OK(trial_acquire_waiting(trial, next, name, "next#3", SLACK_US, &result, &lease, &err));
        EXPECT(result == CLUSTER_OK, "nobody gets a released lease within a second");
        EXPECT(trial_now_us() - start < trial->options->ttl_us, "a released lease waits for its ttl");
        EXPECT(lease->fence > fence, "the fence goes from %" PRIu64 " to %" PRIu64, fence, lease->fence);
        fence = lease->fence;
    }
    return NULL;
}

static const char *check_many_leases(struct trial *trial)
{
    enum { LEASES = 20 };
    struct error err;
    enum cluster_result result;
    struct cluster_session *s;
    struct cluster_lease *leases[LEASES];
    EXPECT_OK(trial_open(trial, &s, &err));
    for (uint32_t i = 0; i < LEASES; i++) {
        EXPECT_RESULT(trial_acquire(trial, s, trial_name(trial, "locks/%u", i), "holder#1", &result, &leases[i], &err), CLUSTER_OK);
    }
    for (uint32_t i = 0; i < LEASES; i += 2) {
        EXPECT_OK(s->driver->lease_release(leases[i], &err));
    }
    for (uint32_t i = 1; i < LEASES; i += 2) {
        EXPECT_RESULT(s->driver->lease_renew(leases[i], &result, &err), CLUSTER_OK);
    }
    return NULL;
}

/* A driver may give up what falls silent, by a thread of its own: just then the holder asks, and lets go of what is lost. */
static const char *check_silent_together(struct trial *trial)
{
    enum { LEASES = 20 };
    struct error err;
    enum cluster_result result;
    struct cluster_session *s;
    struct cluster_lease *leases[LEASES], *again;
    int64_t until = trial_now_us() + trial->options->ttl_us;
    EXPECT_OK(trial_open(trial, &s, &err));
    for (uint32_t i = 0; i < LEASES; i++) {
        EXPECT_RESULT(trial_acquire(trial, s, trial_name(trial, "silent/%u", i), "holder#1", &result, &leases[i], &err), CLUSTER_OK);
    }
    while (trial_now_us() < until + trial->options->ttl_us / 15) {
        trial_pause_us(1000);
    }
    for (uint32_t i = 0; i < LEASES; i++) {
        EXPECT_OK(s->driver->lease_renew(leases[i], &result, &err));
        EXPECT(result == CLUSTER_OK || result == CLUSTER_CONFLICT, "a renewal after the ttl says %d", result);
        EXPECT_OK(s->driver->lease_release(leases[i], &err));
    }
    for (uint32_t i = 0; i < LEASES; i++) {
        EXPECT_OK(trial_acquire_waiting(trial, s, trial_name(trial, "silent/%u", i), "holder#2", SLACK_US, &result, &again, &err));
        EXPECT(result == CLUSTER_OK, "a lease that was lost and let go of is held");
    }
    return NULL;
}

/* The register of a lease tells who has it, for people. */
static const char *check_lease_value(struct trial *trial)
{
    const char *name = trial_name(trial, "leader");
    struct cluster_value value;
    BEGIN(name)
    EXPECT_RESULT(trial_get(trial, s[1], name, &result, &value, &err), CLUSTER_OK);
    EXPECT(memmem(value.bytes.bytes, value.bytes.length, "\"first#1\"", 9) != NULL, "the register of a lease holds '%.*s'",
           (int)value.bytes.length, value.bytes.bytes);
    return NULL;
}

/* Close without release: the lease ends by its ttl, not at once when somebody is only about to die. */
static const char *check_abandon(struct trial *trial)
{
    const char *name = trial_name(trial, "leader");
    struct cluster_lease *other;
    BEGIN(name)
    int64_t ttl = trial->options->ttl_us, start = trial_now_us();
    trial_close(trial, s[0], false);
    int64_t closed = trial_now_us();
    EXPECT_OK(trial_acquire_waiting(trial, s[1], name, "second#2", 3 * ttl, &result, &other, &err));
    EXPECT(result == CLUSTER_OK, "a lease that was left lasts for three ttl");
    int64_t waited = trial_now_us() - start, after = trial_now_us() - closed;
    EXPECT(after > ttl / 4 && waited <= ttl + ttl / 2 + SLACK_US,
           "the successor came %" PRId64 " ms after a close of %" PRId64 " ms; the ttl is %" PRId64 " ms", after / 1000,
           (closed - start) / 1000, ttl / 1000);
    return NULL;
}

static int64_t skewed_wall_us(const struct clock *clock)
{
    static atomic_int swing;
    return clock_system.wall_us(&clock_system) + (atomic_fetch_add(&swing, 1) % 2 == 0 ? 300 : -300) * INT64_C(1000000);
}
static int64_t true_monotonic_us(const struct clock *clock)
{
    return clock_system.monotonic_us(&clock_system);
}

static const char *check_wall_clock(struct trial *trial)
{
    static const struct clock swinging = {skewed_wall_us, true_monotonic_us};
    const struct cluster_environment environment = {.clock = &swinging};
    const struct driver_check_options *options = trial->options;
    const char *name = trial_name(trial, "leader");
    struct cluster_lease *skewed, *other;
    BEGIN(name)
    EXPECT_OK(s[0]->driver->lease_release(lease, &err));
    trial_close(trial, s[0], true);
    EXPECT_OK(cluster_open(options->uri, options->options, options->option_count, &environment, &s[0], &err));
    trial->sessions[trial->session_count++] = s[0];
    EXPECT_RESULT(trial_acquire(trial, s[0], name, "skewed#1", &result, &skewed, &err), CLUSTER_OK);
    for (int64_t start = trial_now_us(); trial_now_us() < start + 2 * options->ttl_us; trial_pause_us(options->ttl_us / 6)) {
        EXPECT_RESULT(s[0]->driver->lease_renew(skewed, &result, &err), CLUSTER_OK);
        EXPECT_RESULT(trial_acquire(trial, s[1], name, "second#2", &result, &other, &err), CLUSTER_CONFLICT);
    }
    return NULL;
}

/* ---- hints ---- */

static void count_hint(void *context, enum cluster_hint hint)
{
    atomic_fetch_add((atomic_uint *)context, hint == CLUSTER_CHANGED);
}

static bool hint_comes(const atomic_uint *hints, uint32_t before)
{
    for (int64_t until = trial_now_us() + 5 * SLACK_US; *hints == before && trial_now_us() < until;) {
        trial_pause_us(2000);
    }
    return *hints != before;
}

static const char *check_hints(struct trial *trial)
{
    static const char *const changes[] = {"jobs/x/model", "jobs/x/members/w1", "jobs/x/members/w2", "jobs/x/ctl/00000000000000000001"};
    struct error err;
    enum cluster_result result;
    struct cluster_session *watcher, *writer;
    struct cluster_version version;
    atomic_uint hints = 0;
    EXPECT_OK(trial_open(trial, &watcher, &err));
    EXPECT_OK(trial_open(trial, &writer, &err));
    EXPECT_OK(watcher->driver->watch(watcher, trial_name(trial, "jobs/x/"), count_hint, &hints, &err));
    for (uint32_t i = 0; i < ARRAY_LENGTH(changes) && trial->options->hints; i++) {
        trial_pause_us(SLACK_US / 4); /* hints of what went before are over */
        uint32_t before = hints;
        EXPECT_RESULT(trial_put(writer, trial_name(trial, "%s", changes[i]), "x", NULL, &result, &version, &err), CLUSTER_OK);
        EXPECT(hint_comes(&hints, before), "no hint of '%s' in five seconds", changes[i]);
    }
    EXPECT_OK(watcher->driver->watch(watcher, "", NULL, NULL, &err));
    uint32_t before = hints;
    EXPECT_RESULT(trial_put(writer, trial_name(trial, "jobs/x/model-2"), "x", NULL, &result, &version, &err), CLUSTER_OK);
    struct cluster_names names; /* polling finds what no hint told of */
    EXPECT_OK(watcher->driver->list(watcher, trial_name(trial, "jobs/x/"), trial->arena, &names, &err));
    EXPECT(names.count == 1 + (trial->options->hints ? ARRAY_LENGTH(changes) : 0), "polling finds %u registers", names.count);
    trial_pause_us(SLACK_US / 4);
    EXPECT(hints == before, "a hint came after the watch had ended");
    return NULL;
}

const struct check driver_lease_checks[] = {
    {"D9", "a lease has one holder, and renewal keeps it for five ttl", check_one_holder},
    {"D9", "a silent holder is replaced, not before the ttl (D10: and its renewal says lost)", check_silence},
    {"D9", "many leases of one session are released and renewed one by one", check_many_leases},
    {"D10", "leases that fell silent together are lost, and let go of, one by one", check_silent_together},
    {"D9", "the register of a lease says who holds it", check_lease_value},
    {"D11", "a released lease goes to the next at once, with a higher fence", check_release},
    {"D18", "a wall clock that jumps by five minutes changes nothing", check_wall_clock},
    {"D19", "hints come where the driver has them; without them polling finds the change", check_hints},
    {"D20", "a session closed without release: its lease ends by the ttl", check_abandon},
    {NULL, NULL, NULL},
};
