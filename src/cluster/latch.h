/* cluster/latch.h: a gate that opens for ever once so many participants have counted down.
 *
 * For         coordination for programs.
 * States
 *                 open(count)              count_down by a participant that had not yet:
 *     ABSENT ────────────────▶ CLOSED(n = 0 .. count - 1) ───▶ CLOSED(n + 1), or when n + 1 = count ───▶ OPEN
 *       ▲                          │                                                                     │ count_down changes
 *       └────────── remove ────────┴─────────────────────────────────────────────────────────────────────┘ nothing any more
 *
 * Form        {"v", "count", "arrived": [participants]} (cluster/value.h). A register: so it survives every process.
 * Invariants  A participant counts once, whatever it crashes in between and however often it says so: its name is in the register. Each
 *             change is a CAS of one more name; an answer that was lost is answered by trying again.
 * Errors      INVALID_OPTION: a count of 0 or above LATCH_COUNT_MAX, a name that no holder could have (cluster/driver.h), and a latch that is
 *             there already with another count.
 * Threads     Any.
 */
#ifndef SPATE_CLUSTER_LATCH_H
#define SPATE_CLUSTER_LATCH_H

#include "cluster/driver.h"

enum { LATCH_COUNT_MAX = 256 };
struct latch {
    struct cluster_session *session;
    const char *name; /* of the register */
};
struct latch_state {
    bool absent;
    uint32_t count, arrived;
};
bool latch_is_open(const struct latch_state *state);

/* Makes it, or finds it as it is. */
enum status latch_open(const struct latch *latch, uint32_t count, struct latch_state *state, struct error *err);
enum status latch_count_down(const struct latch *latch, const char *participant, struct latch_state *state, struct error *err);
enum status latch_look(const struct latch *latch, struct latch_state *state, struct error *err);
enum status latch_remove(const struct latch *latch, struct error *err);

#endif
