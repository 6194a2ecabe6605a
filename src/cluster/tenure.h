/* cluster/tenure.h: a lease that is sought and kept: who may count on it, by our own clock. Pure: no calls, no clock of its own.
 *
 * For         claims (cluster/claim.h): elections and locks.
 * States
 *                    granted                 no renewal confirmed for ttl - margin
 *     SEEKING ─────────────────────▶ HELD ───────────────────────────────────────▶ SUSPENDED
 *      ▲  │ refused, or no answer:   │  ◀──────── a renewal is confirmed ──────────   │
 *      │  │ again after `retry`      │                                               │
 *      │  ▼                          └── renewal refused ──▶ LOST ◀── renewal refused ┘
 *      └─ SEEKING                                             │
 *      ▲                                                      │ a candidate stands again
 *      └──────────────────────────────────────────────────────┘
 *     any ── resigned, released ──▶ RELEASED
 *
 * Invariants  HELD at `now` only if a grant or renewal was confirmed that was *sent* after now - (ttl - margin): others count the silence
 *             from later than that, so they wait longer (cluster/timing.h tells why the margin is enough). SUSPENDED is never stored: it
 *             follows from the time at which one asks, so that a process that was frozen is suspended before it does anything else.
 *             A suspended holder keeps its fence and may be confirmed again: nobody else was granted the lease between.
 *             The fence of a later grant is greater.
 * Threads     One at a time.
 */
#ifndef SPATE_CLUSTER_TENURE_H
#define SPATE_CLUSTER_TENURE_H

#include <stdbool.h>
#include <stdint.h>

struct cluster_timing;

enum tenure_state { TENURE_SEEKING, TENURE_HELD, TENURE_SUSPENDED, TENURE_LOST, TENURE_RELEASED };
enum tenure_kind { TENURE_ONCE /* a lock */, TENURE_AGAIN /* a candidate: after a loss it seeks again */ };

struct tenure {
    enum tenure_kind kind;
    enum tenure_state state; /* never SUSPENDED */
    int64_t ttl_us, margin_us, renew_us, retry_us;
    uint64_t fence;       /* of the present or last grant; 0: none yet */
    int64_t confirmed_us; /* when the last confirmed call was sent */
    int64_t due_us;       /* of the next call */
};
void tenure_open(struct tenure *tenure, enum tenure_kind kind, const struct cluster_timing *timing, int64_t now_us);

enum tenure_state tenure_state_at(const struct tenure *tenure, int64_t now_us);
/* Until when it is held if nothing more is heard. */
int64_t tenure_held_until(const struct tenure *tenure);

enum tenure_call { TENURE_WAIT, TENURE_ACQUIRE, TENURE_RENEW };
enum tenure_call tenure_due(const struct tenure *tenure, int64_t now_us); /* WAIT: not before due_us, or never */
enum tenure_answer { TENURE_YES, TENURE_NO, TENURE_NO_ANSWER /* an error: whether it was done is not known */ };
/* What came back of a call that was sent at `sent_us`. `fence`: of a grant. */
void tenure_answered(struct tenure *tenure, enum tenure_call call, enum tenure_answer answer, uint64_t fence, int64_t sent_us,
                     int64_t now_us);
void tenure_release(struct tenure *tenure);

#endif
