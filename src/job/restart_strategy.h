/* job/restart_strategy.h: whether and when a job that failed is started again.
 *
 * For         failures that a retry can cure (STATUS_UNAVAILABLE). Flink's strategies, keys and defaults.
 * Shape       Figures only: the caller waits and starts. State begins as zeros and lives as long as the job's statement.
 */
#ifndef SPATE_JOB_RESTART_STRATEGY_H
#define SPATE_JOB_RESTART_STRATEGY_H

#include <stdbool.h>
#include <stdint.h>

enum restart_kind { RESTART_NONE, RESTART_FIXED_DELAY, RESTART_FAILURE_RATE, RESTART_EXPONENTIAL_DELAY };
enum { RESTART_FAILURES_MAX = 100 };
struct restart_settings {
    enum restart_kind kind;
    int64_t attempts, delay_us;                      /* fixed-delay */
    int64_t failures, interval_us, rate_delay_us;    /* failure-rate; failures <= RESTART_FAILURES_MAX */
    int64_t initial_us, most_us, reset_us, backoffs; /* exponential-delay */
    double multiplier, jitter;
};
struct restart_state {
    uint64_t failures;                      /* so far */
    int64_t times_us[RESTART_FAILURES_MAX]; /* of the last failures, by their number modulo the size */
    int64_t delay_us, last_us, in_a_row;    /* exponential-delay */
};
/* A failure at now_us (monotonic). random: in [0, 1), for the jitter. false: the job has failed for good. */
bool restart_strategy_next(struct restart_state *state, const struct restart_settings *settings, int64_t now_us, double random,
                           int64_t *delay_us);

#endif
