/* cluster/claim.h: the calls of a lease that is sought and kept (cluster/tenure.h): of a candidate in an election, of a lock.
 *
 * For         coordination for programs (api/coordination*.c).
 * Shape       A call has three steps, so that others can look at the tenure while the driver is waited for: claim_begin says what is due,
 *             claim_perform asks the driver, claim_finish tells the tenure.
 * Invariants  A time of `sent` is taken before the driver is asked. An error is never taken for a refusal: the holder is still the holder,
 *             until its own clock suspends it.
 * Ownership   Name and holder are lent. claim_end before the session's close.
 * Threads     begin, finish and the tenure under the owner's lock; perform and end without it, one at a time for a claim.
 */
#ifndef SPATE_CLUSTER_CLAIM_H
#define SPATE_CLUSTER_CLAIM_H

#include "cluster/driver.h"
#include "cluster/tenure.h"

struct claim {
    struct tenure tenure;
    struct cluster_session *session;
    const struct clock *clock;
    const char *name, *holder; /* of the lease */
    struct cluster_lease *lease;
};
struct claim_call {
    enum tenure_call call;
    enum tenure_answer answer;
    int64_t sent_us;
    enum status status; /* with NO_ANSWER: of `error` */
    struct error error;
    char held_by[CLUSTER_HOLDER_MAX]; /* of an acquisition that was refused */
};

/* Opens the claim's tenure; the rest is set by the caller. */
void claim_open(struct claim *claim, enum tenure_kind kind, const struct cluster_timing *timing);
int64_t claim_now(const struct claim *claim);
void claim_begin(const struct claim *claim, struct claim_call *call); /* call->call is WAIT: nothing is due */
void claim_perform(struct claim *claim, struct claim_call *call);
void claim_finish(struct claim *claim, const struct claim_call *call);
/* Gives the lease back, if there is one. An error only says that others will have to wait for the ttl. */
enum status claim_end(struct claim *claim, struct error *err);

#endif
