#include "cluster/timing.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cluster/driver.h"

enum { RATE_ERROR_PERCENT = 1, POLLED_TTL_MIN_S = 15, POLLED_TTL_MAX_S = 60, TEXT_BYTES = 40 };

static const char *check_duration(const void *value)
{
    return ((const struct duration *)value)->us > 0 ? NULL : "must be greater than 0";
}

#define TIME(key, member, text)                                                                                                            \
    {                                                                                                                                      \
        .name = "cluster." key, OPTION_DURATION(struct cluster_timing, member), .check = check_duration, .summary = (text)                 \
    }
static const struct option_def timing_options[] = {
    TIME("lease.ttl", lease_ttl, "Silence after which a leader or a member counts as gone."),
    TIME("heartbeat", heartbeat, "Time between heartbeats, and between renewals of the leader's lease."),
    TIME("lease.margin", lease_margin, "So long before lease.ttl ends, a process that is not confirmed stops what cannot be fenced."),
    TIME("stop.bound", stop_bound, "Longest write in flight to a sink that cannot refuse an outdated writer; its request timeout."),
    TIME("lease.retry", lease_retry, "Time between attempts to become leader."),
    TIME("poll", poll, "Time between readings of the model, whether or not the service sends hints."),
    TIME("rebalance.debounce", debounce, "A newcomer waits until no other has come for so long."),
    TIME("rebalance.debounce.max", debounce_max, "The longest that newcomers wait for others."),
    TIME("task.stop.timeout", stop_timeout, "Time that a task has to finish its tick and commit when it is taken away."),
    TIME("barrier.timeout", barrier_timeout, "A member that keeps a version from opening for so long is evicted."),
    TIME("rejoin.grace", rejoin_grace, "Tasks of a member that said it restarts are kept for it for so long."),
    TIME("warmup.timeout", warmup_timeout, "A task moves to a member without its state after so long, warm or not."),
    {.name = "cluster.standby.max-lag",
     OPTION_BYTES(struct cluster_timing, standby_max_lag),
     .summary = "A standby that is behind by no more than this counts as caught up."},
    {.name = "cluster.warmup.max",
     OPTION_INT64(struct cluster_timing, warmup_max),
     .check = option_check_positive,
     .summary = "Tasks that may warm up at other members at the same time."},
    {.name = "cluster.standby.replicas",
     OPTION_INT64(struct cluster_timing, standby_replicas),
     .check = option_check_not_negative,
     .summary = "Processes of other hosts that keep a copy of each task's newest checkpoint, to take it over sooner."},
};

/* In the order of timing_options. */
static const char *const initial[][TIMING_PROFILE_COUNT] = {
    {"3 s", "6 s", "15 s"},      {"500 ms", "1 s", "3 s"}, {"750 ms", "1500 ms", "3750 ms"},
    {"500 ms", "1 s", "3 s"},    {"500 ms", "1 s", "3 s"}, {"250 ms", "1 s", "2 s"},
    {"500 ms", "2 s", "3 s"},    {"3 s", "10 s", "15 s"},  {"20 s", "20 s", "20 s"},
    {"30 s", "30 s", "30 s"},    {"10 s", "20 s", "30 s"}, {"10 min", "10 min", "10 min"},
    {"16 mb", "16 mb", "16 mb"}, {"2", "2", "2"},          {"1", "1", "1"},
};
_Static_assert(ARRAY_LENGTH(initial) == ARRAY_LENGTH(timing_options), "a default for each option");

const struct option_def *timing_option_list(uint32_t *count)
{
    *count = ARRAY_LENGTH(timing_options);
    return timing_options;
}

const char *timing_initial(const struct option_def *option, enum timing_profile profile)
{
    return initial[option - timing_options][profile];
}

enum timing_profile timing_profile_of(const char *scheme)
{
    static const struct {
        const char *scheme;
        enum timing_profile profile;
    } profiles[] = {{"local", TIMING_LOCAL}, {"file", TIMING_LOCAL}, {"zookeeper", TIMING_PUSHED}, {"etcd", TIMING_PUSHED}};
    for (size_t i = 0; i < ARRAY_LENGTH(profiles); i++) {
        if (strcmp(profiles[i].scheme, scheme) == 0) {
            return profiles[i].profile;
        }
    }
    return TIMING_POLLED;
}

enum status timing_read(enum timing_profile profile, const struct cluster_option *options, size_t option_count,
                        struct cluster_timing *timing, struct error *err)
{
    /* No option is a text, so nothing needs an arena. */
    for (size_t i = 0; i < ARRAY_LENGTH(timing_options); i++) {
        TRY(option_apply(&timing_options[i], initial[i][profile], timing, NULL, err));
    }
    for (size_t i = 0; i < option_count; i++) {
        const struct option_def *option;
        TRY(option_find(timing_options, ARRAY_LENGTH(timing_options), "coordination", options[i].name, &option, err));
        TRY(option_apply(option, options[i].value, timing, NULL, err));
    }
    return timing_check(profile, timing, err);
}

/* Microseconds as people write them. */
static const char *time_text(int64_t us, char text[TEXT_BYTES])
{
    if (us % 1000000 == 0) {
        snprintf(text, TEXT_BYTES, "%" PRId64 " s", us / 1000000);
    } else if (us % 1000 == 0) {
        snprintf(text, TEXT_BYTES, "%" PRId64 " ms", us / 1000);
    } else {
        snprintf(text, TEXT_BYTES, "%" PRId64 " us", us);
    }
    return text;
}

/* left <= right, else refused with both values and the rule. */
static enum status check_at_most(const char *left_name, int64_t left_us, const char *rule, int64_t right_us, struct error *err)
{
    char left[TEXT_BYTES], right[TEXT_BYTES];
    if (left_us <= right_us) {
        return STATUS_OK;
    }
    return error_set(err, ERROR_INVALID_OPTION, "'cluster.%s' is %s; it must be at most %s, which is %s", left_name,
                     time_text(left_us, left), rule, time_text(right_us, right));
}

enum status timing_check(enum timing_profile profile, const struct cluster_timing *timing, struct error *err)
{
    int64_t ttl = timing->lease_ttl.us, margin = timing->lease_margin.us, second = 1000000;
    if (profile == TIMING_POLLED) {
        TRY(check_at_most("lease.ttl", ttl, "what blob leases allow", POLLED_TTL_MAX_S * second, err));
        if (ttl < POLLED_TTL_MIN_S * second) {
            char text[TEXT_BYTES];
            return error_set(err, ERROR_INVALID_OPTION, "'cluster.lease.ttl' is %s; blob leases need at least %d s", time_text(ttl, text),
                             POLLED_TTL_MIN_S);
        }
    }
    TRY(check_at_most("heartbeat", timing->heartbeat.us, "(lease.ttl - lease.margin) / 3", (ttl - margin) / 3, err));
    int64_t needed = timing->stop_bound.us + 2 * ttl * RATE_ERROR_PERCENT / 100;
    if (margin < needed) {
        char have[TEXT_BYTES], least[TEXT_BYTES];
        return error_set(err, ERROR_INVALID_OPTION,
                         "'cluster.lease.margin' is %s; it must be at least stop.bound + 2 x %d %% of lease.ttl, which is %s",
                         time_text(margin, have), RATE_ERROR_PERCENT, time_text(needed, least));
    }
    TRY(check_at_most("lease.retry", timing->lease_retry.us, "just below lease.ttl", ttl - 1, err));
    TRY(check_at_most("poll", timing->poll.us, "lease.ttl / 4", ttl / 4, err));
    TRY(check_at_most("rebalance.debounce", timing->debounce.us, "rebalance.debounce.max", timing->debounce_max.us, err));
    int64_t stop = timing->stop_timeout.us + 2 * timing->poll.us + 2 * timing->heartbeat.us;
    if (timing->barrier_timeout.us < stop) {
        char have[TEXT_BYTES], least[TEXT_BYTES];
        return error_set(err, ERROR_INVALID_OPTION,
                         "'cluster.barrier.timeout' is %s; it must be at least task.stop.timeout + 2 poll + 2 heartbeat, which is %s",
                         time_text(timing->barrier_timeout.us, have), time_text(stop, least));
    }
    return STATUS_OK;
}
