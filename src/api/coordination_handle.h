/* api/coordination_handle.h: what the handles of include/spate/coordination.h are inside.
 *
 * For         api/coordination*.c only. The promises are in the public header.
 * Shape       A coordinator has two threads. The keeper (coordination_keeper.c) asks for leases that candidates want and renews what is held;
 *             the caller (coordination_election.c) tells elections what has become of them. Both look at the claims' tenures under the
 *             mutex and work without it. An acquisition of a lock is asked for by the thread that wants it.
 * Invariants  One call at a time on a claim's lease (`busy`). What a callback is told follows from the tenure at that time, so that nothing
 *             need be queued: two changes while a callback runs are told as what they come to, with `deposed` between two fences.
 * Threads     `mutex` guards the list, tenures and flags; `changed` is signalled at every change of them.
 */
#ifndef SPATE_API_COORDINATION_HANDLE_H
#define SPATE_API_COORDINATION_HANDLE_H

#include <pthread.h>

#include "base/random.h"
#include "cluster/claim.h"
#include "cluster/guarded.h"
#include "cluster/timing.h"
#include "spate/coordination.h"

struct spate_coordinator {
    struct cluster_session *session;
    struct cluster_timing timing;
    char name[CLUSTER_HOLDER_MAX];
    struct random_source random;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct kept_claim *claims; /* of elections, and of locks that were acquired */
    pthread_t keeper, caller;
    bool ending;
};

/* A claim of a lock or an election. */
struct kept_claim {
    struct spate_coordinator *owner;
    struct kept_claim *next;
    struct claim claim;
    char *lease_name;
    bool busy;
    pthread_mutex_t writes; /* one read or update of a guarded register at a time */
};
/* `folder`: "locks", ... */
enum status kept_open(struct spate_coordinator *owner, struct kept_claim *kept, enum tenure_kind kind, const char *folder, const char *name,
                      struct error *err);
void kept_free(struct kept_claim *kept); /* its strings and mutex; not listed, no lease */
void kept_list(struct kept_claim *kept);
void kept_unlist(struct spate_coordinator *owner, struct kept_claim *kept); /* under the mutex; again: nothing */
/* RELEASED at once; gives back the lease when the call on it, if any, has ended. Again: nothing. */
enum status kept_end(struct kept_claim *kept, struct error *err);
/* Under the mutex. */
enum tenure_state kept_state(const struct kept_claim *kept, uint64_t *fence);
int kept_read(struct kept_claim *kept, const char *name, void *bytes, size_t capacity, size_t *length, int *outcome,
              struct spate_error *error);
int kept_update(struct kept_claim *kept, const char *name, const void *bytes, size_t length, int *outcome, struct spate_error *error);

/* The threads' functions; the argument is the coordinator. */
void *coordination_keep(void *coordinator);
void *coordination_call(void *coordinator);
void coordination_close_claims(struct spate_coordinator *coordinator); /* coordination_election.c: what the program left open */

/* Monotonic time that counts while the machine sleeps. */
int64_t coordination_now(void);
/* Waits for a change, at most until then; the mutex is held. INT64_MAX: for ever. */
void coordination_wait(struct spate_coordinator *coordinator, int64_t until_us);
void coordination_sleep(int64_t until_us);
int64_t coordination_deadline(int64_t timeout_ms); /* negative: INT64_MAX */

/* Where a call's error is kept for its thread; and the public side of a status. */
struct error *coordination_error(void);
int coordination_finish(enum status status, struct spate_error *error);
/* Is it the program's to write? Not below locks/, jobs/, ... */
enum status coordination_name_check(const char *name, struct error *err);
enum status coordination_give(struct text bytes, void *out, size_t capacity, size_t *length, struct error *err);
/* An arena for one call. */
struct call_arena {
    struct budget budget;
    struct arena *arena;
};
enum status call_arena_open(struct call_arena *call, struct error *err);
void call_arena_close(struct call_arena *call); /* also one that did not open */

#endif
