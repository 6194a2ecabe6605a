/* cluster/driver_check.h: the suite that every driver of coordination passes (D1 to D21), over nothing but cluster/driver.h.
 *
 * For         our own drivers (tests/cluster), and `spate test-driver URI` for others'.
 * Shape       A check has an id and a name, opens its own sessions and works below a prefix of its own, which it leaves empty where it can.
 *             Second processes are forked while no session is open; drivers of one process get threads instead. Faults are made by a
 *             command that the caller gives: it is run as "COMMAND cut", "COMMAND heal", and so on; checks that need it are skipped
 *             without.
 * Ownership   Texts in the options are the caller's, for the time of the run.
 * Threads     One run at a time in a process, from a process without other threads (it forks).
 */
#ifndef SPATE_CLUSTER_DRIVER_CHECK_H
#define SPATE_CLUSTER_DRIVER_CHECK_H

#include "cluster/driver.h"

enum driver_check_outcome { DRIVER_CHECK_PASSED, DRIVER_CHECK_FAILED, DRIVER_CHECK_SKIPPED };

struct driver_check_options {
    const char *uri;
    const struct cluster_option *options;
    size_t option_count;
    int64_t ttl_us;      /* of leases */
    uint32_t increments; /* D2: 10,000 */
    uint32_t rounds;     /* D1: of each race */
    uint32_t names;      /* D6: 1,500 */
    uint32_t cycles;     /* D15: sessions opened and closed */
    bool hints;          /* the driver gives hints: D19 waits for them */
    const char *faults;  /* NULL, or a command: see below */
    const char *restart; /* NULL, or a command that restarts the servers, one by one (D21) */
    int64_t outage_us;   /* D15: how long every request fails: 20 s */
    int64_t gap_us;      /* D21: the longest time without an answer; 0: any */
    const char *denied;  /* NULL, or an option NAME=VALUE that makes the credentials wrong (D17) */
    const char *only;    /* NULL, or ids and parts of names, separated by commas */
    /* `text`: what went wrong, or why it was skipped; "" when it passed. */
    void (*report)(void *context, const char *id, const char *name, enum driver_check_outcome outcome, const char *text);
    void *context;
};
/* What `faults` is called with: the connection is cut, or as it should be; answers to the next change are lost; every request fails. */
#define DRIVER_CHECK_CUT     "cut"
#define DRIVER_CHECK_HEAL    "heal"
#define DRIVER_CHECK_SILENCE "drop-replies"
#define DRIVER_CHECK_ERRORS  "errors"

struct driver_check_report {
    uint32_t passed, failed, skipped;
};
/* An error only when the first session cannot be opened, or there are no such checks. */
enum status driver_check_run(const struct driver_check_options *options, struct driver_check_report *report, struct error *err);

#endif
