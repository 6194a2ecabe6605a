/* cluster/timing.h: how long everything in coordination may take, as options whose values are checked against each other.
 *
 * For         the decision functions (cluster/protocol.h), drivers, `spate options`.
 * Shape       One table of options, `cluster.*`, with three columns of defaults: `local`; services that push changes (zookeeper, etcd);
 *             services that are polled (azure, s3). A user's value replaces a default; the set is checked as a whole when a process starts.
 * Why         Times of two machines are never compared. A holder stops by itself `lease.margin` before its silence can have been noticed
 *             anywhere: let it send a heartbeat at s that is confirmed later. Whoever finds it silent has seen that write, so waits at
 *             least ttl / (1 + rho) after s; the holder stops at s + (ttl - margin) / (1 - rho), and its last write to a sink that cannot
 *             refuse it ends stop.bound later. margin >= stop.bound + 2 rho ttl puts the second before the first, for clocks whose
 *             rate is wrong by at most rho = 1 %.
 * Errors      INVALID_OPTION with both values and the rule; UNKNOWN_OPTION with what is near.
 */
#ifndef SPATE_CLUSTER_TIMING_H
#define SPATE_CLUSTER_TIMING_H

#include "base/option.h"

struct cluster_timing {
    struct duration lease_ttl;    /* of the leader's lease, and of a member's register without a heartbeat */
    struct duration heartbeat;    /* and renewal of the lease */
    struct duration lease_margin; /* a holder stops by itself so long before the ttl ends */
    struct duration stop_bound;   /* of the longest write in flight to a sink that cannot refuse it */
    struct duration lease_retry, poll;
    struct duration debounce, debounce_max; /* of the admission of newcomers */
    struct duration stop_timeout, barrier_timeout, rejoin_grace;
    struct duration warmup_timeout;
    struct byte_size standby_max_lag;
    int64_t warmup_max;
    int64_t standby_replicas;
};

enum timing_profile { TIMING_LOCAL, TIMING_PUSHED, TIMING_POLLED, TIMING_PROFILE_COUNT };
/* Of a driver's scheme; one that is not known is polled, the most patient. */
enum timing_profile timing_profile_of(const char *scheme);

/* The defaults of the profile, then the pairs given ("cluster.poll", "1 s"), then the check. */
struct cluster_option;
enum status timing_read(enum timing_profile profile, const struct cluster_option *options, size_t option_count,
                        struct cluster_timing *timing, struct error *err);
enum status timing_check(enum timing_profile profile, const struct cluster_timing *timing, struct error *err);

/* For help and reference. `initial` of an entry is that of TIMING_LOCAL. */
const struct option_def *timing_option_list(uint32_t *count);
const char *timing_initial(const struct option_def *option, enum timing_profile profile);

#endif
