/* spate/coordination.h: what Spate's own processes agree by, for programs that want only that: registers, leases, an election, a lock, a
 * latch, over a folder, ZooKeeper or Azure Blob Storage.
 *
 * For         any program of several processes; nothing else of Spate is needed.
 * What holds  A lease, a lock, a leadership tell who *should* act. A process that was frozen may believe for a moment that it still has
 *             one; so every grant comes with a fence, a number that grows with each grant of the name, and what a holder changes is to be
 *             refused to a lower fence than was seen there. spate_lock_update and spate_election_update do that for registers.
 *             No time of two machines is compared: a holder stops counting on a lease 'cluster.lease.margin' before anybody else can find
 *             it silent, by a clock that goes on while the machine is suspended.
 * Names       Parts separated by '/', UTF-8. Locks, elections, latches and groups have registers of their own below locks/, elections/,
 *             latches/ and groups/, and jobs have theirs below jobs/: nothing else is written there.
 * Outcomes    What a program has to expect (absent, held by another, timed out) is an enum spate_outcome; *outcome is set when a call returns 0.
 * Errors      Calls return 0 for success, else a SPATE_ERROR_CLASS; *error (NULL: not wanted) then says what. Its texts are lent until the
 *             same thread's next call here. SPATE_ERROR_UNAVAILABLE: the service does not answer; nothing was changed, and a retry may help.
 * Threads     All calls from any thread at once, except closing. Callbacks run on one thread of the coordinator, one after the other; while one
 *             runs, leases are renewed on another. What the coordinator calls may call everything here but spate_coordinator_close.
 * Ownership   Handles are closed before their coordinator. After fork(), a child opens a coordinator of its own.
 */
#ifndef SPATE_COORDINATION_H
#define SPATE_COORDINATION_H

#include "spate/spate.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spate_coordinator spate_coordinator;
typedef struct spate_lease spate_lease;
typedef struct spate_election spate_election;
typedef struct spate_lock spate_lock;
typedef struct spate_latch spate_latch;
typedef struct spate_member spate_member;

enum spate_outcome {
    SPATE_OUTCOME_DONE = 0,
    SPATE_OUTCOME_ABSENT,    /* there is no such register, latch or value */
    SPATE_OUTCOME_CONFLICT,  /* another has it, or another version is there; nothing was changed */
    SPATE_OUTCOME_TIMED_OUT, /* nothing was changed */
    SPATE_OUTCOME_OUTDATED,  /* refused: a holder with a later fence has been there, or it is known to be lost; nothing was changed */
    SPATE_OUTCOME_UNKNOWN,   /* it was sent and its answer lost: it may or may not have been done; read before doing anything else */
};

/* ---- the coordinator ---- */

/* `uri`: local:NAME (in this process), local:///folder or a path (processes of one machine, or of a shared file system with locks),
 * zookeeper://host:port,host:port/namespace, azure://account/container/prefix. `options`: "key=value" texts, NULL-terminated, may be NULL:
 * 'cluster.*' (how long things take) and those of the driver; docs/cluster.md lists them. The service must answer. */
SPATE_API int spate_coordinator_open(const char *uri, const char *const *options, spate_coordinator **coordinator,
                                     struct spate_error *error);
/* Gives back what is held. Not from a callback. NULL is allowed. */
SPATE_API void spate_coordinator_close(spate_coordinator *coordinator);
/* By what others see it as the holder of something: host, process and a random number. */
SPATE_API const char *spate_coordinator_name(const spate_coordinator *coordinator);

/* ---- registers ---- */

enum { SPATE_REGISTER_BYTES_MAX = 64 * 1024 };
struct spate_register_version {
    char token[96]; /* only equality means something */
};
/* DONE or ABSENT. *length: of the value, also when `capacity` is less; that is an error (SPATE_ERROR_LIMIT). */
SPATE_API int spate_register_get(spate_coordinator *coordinator, const char *name, void *bytes, size_t capacity, size_t *length,
                                 struct spate_register_version *version, int *outcome, struct spate_error *error);
/* DONE (*version: of what was written; NULL: not wanted), CONFLICT or UNKNOWN. `expect`: the version that is to be replaced; NULL: there must be
 * none. */
SPATE_API int spate_register_put(spate_coordinator *coordinator, const char *name, const void *bytes, size_t length,
                                 const struct spate_register_version *expect, struct spate_register_version *version, int *outcome,
                                 struct spate_error *error);
/* DONE, ABSENT, CONFLICT or UNKNOWN. */
SPATE_API int spate_register_delete(spate_coordinator *coordinator, const char *name, const struct spate_register_version *expect,
                                    int *outcome, struct spate_error *error);
/* The names that begin with `prefix`, sorted. */
typedef void (*spate_register_name)(void *context, const char *name);
SPATE_API int spate_register_list(spate_coordinator *coordinator, const char *prefix, spate_register_name name, void *context,
                                  struct spate_error *error);
/* A register that holders of a lock or an election write with their fence: its value, and the fence of the last holder there. DONE or
 * ABSENT. An earlier holder may still change it; spate_lock_read is for those who then write. */
SPATE_API int spate_register_read(spate_coordinator *coordinator, const char *name, void *bytes, size_t capacity, size_t *length,
                                  uint64_t *fence, int *outcome, struct spate_error *error);

/* ---- leases: the bare thing; locks and elections renew theirs by themselves ---- */

/* DONE, or CONFLICT: another has it; its name goes to `held_by` (NULL: not wanted), which has room for SPATE_HOLDER_BYTES. */
enum { SPATE_HOLDER_BYTES = 200 };
SPATE_API int spate_lease_acquire(spate_coordinator *coordinator, const char *name, int64_t ttl_ms, spate_lease **lease, char *held_by,
                                  int *outcome, struct spate_error *error);
SPATE_API uint64_t spate_lease_fence(const spate_lease *lease);
/* DONE: kept for another ttl from before this call. CONFLICT: it is lost, for good. One at a time for a lease. */
SPATE_API int spate_lease_renew(spate_lease *lease, int *outcome, struct spate_error *error);
/* Ends it and frees the handle, whatever is returned; an error says that others will have to wait for the ttl. NULL is allowed. */
SPATE_API int spate_lease_release(spate_lease *lease, struct spate_error *error);

/* ---- election: one leader among all candidates that run for a name ---- */

struct spate_election_callbacks {
    size_t size; /* sizeof(struct spate_election_callbacks), set by the caller; callbacks may be NULL */
    /* It leads. After `suspended` again, with the same fence, when the service has answered in time again. */
    void (*elected)(void *context, uint64_t fence);
    /* The service has not confirmed it in time: it leads no more unless `elected` comes again. Nobody else need lead yet. */
    void (*suspended)(void *context);
    /* Another leads, or may. It stays a candidate. */
    void (*deposed)(void *context);
};
/* Becomes a candidate, until it resigns. */
SPATE_API int spate_election_run(spate_coordinator *coordinator, const char *name, const struct spate_election_callbacks *callbacks,
                                 void *context, spate_election **election, struct spate_error *error);
/* Does it lead at this moment, by its own clock? *fence (NULL: not wanted) is the proof that goes with what it writes. No call to the service. */
SPATE_API bool spate_election_is_leader(spate_election *election, uint64_t *fence);
/* As spate_lock_read and spate_lock_update; OUTDATED also when it does not lead. */
SPATE_API int spate_election_read(spate_election *election, const char *name, void *bytes, size_t capacity, size_t *length, int *outcome,
                                  struct spate_error *error);
SPATE_API int spate_election_update(spate_election *election, const char *name, const void *bytes, size_t length, int *outcome,
                                    struct spate_error *error);
/* Ends the candidacy; another can lead at once. If it led, `deposed` is called. An error says that others will have to wait for the ttl. */
SPATE_API int spate_election_resign(spate_election *election, struct spate_error *error);
/* Resigns and frees the handle; no callback comes after it (from within one: after that one). NULL is allowed. */
SPATE_API void spate_election_close(spate_election *election);

/* ---- lock: not re-entrant, not fair; renewed until it is released ---- */

/* DONE: *lock is held. TIMED_OUT: another held it all the time; nothing is left behind. When the service does not answer until the time is over,
 * that is the error. `timeout_ms` 0: one try; negative: for ever. */
SPATE_API int spate_lock_acquire(spate_coordinator *coordinator, const char *name, int64_t timeout_ms, spate_lock **lock, int *outcome,
                                 struct spate_error *error);
SPATE_API uint64_t spate_lock_fence(const spate_lock *lock);

enum spate_lock_state {
    SPATE_LOCK_HELD,
    SPATE_LOCK_SUSPENDED, /* not confirmed in time: do nothing that is not fenced; it may be HELD again */
    SPATE_LOCK_LOST,      /* for good: another has it, or had */
    SPATE_LOCK_RELEASED,
};
/* The state by our own clock; no call to the service. */
SPATE_API int spate_lock_state(spate_lock *lock);
/* Waits until the state is another than `seen`, at most so long (negative: for ever); returns the state. */
SPATE_API int spate_lock_await(spate_lock *lock, int seen, int64_t timeout_ms);
/* The value of a register as no earlier holder of the lock can change it any more. DONE, ABSENT or OUTDATED. */
SPATE_API int spate_lock_read(spate_lock *lock, const char *name, void *bytes, size_t capacity, size_t *length, int *outcome,
                              struct spate_error *error);
/* Writes a register unless a later holder has read or written it. At most 44 KiB (text: a little less than 64 KiB). DONE, OUTDATED, or UNKNOWN:
 * an answer was lost, and a later holder was there before it could be looked up. A register belongs to one lock. */
SPATE_API int spate_lock_update(spate_lock *lock, const char *name, const void *bytes, size_t length, int *outcome,
                                struct spate_error *error);
/* Another can have it at once. An error says that others will have to wait for the ttl. The handle stays, RELEASED. */
SPATE_API int spate_lock_release(spate_lock *lock, struct spate_error *error);
/* Releases and frees it. NULL is allowed. */
SPATE_API void spate_lock_close(spate_lock *lock);

/* ---- latch: a gate that opens for ever once `count` participants have counted down ---- */

/* Makes it, or finds it with its count (another count is an error). It survives every process. `count`: 1 to 256. */
SPATE_API int spate_latch_open(spate_coordinator *coordinator, const char *name, uint32_t count, spate_latch **latch,
                               struct spate_error *error);
/* DONE or ABSENT (it was removed). A participant counts once, however often it says so, also after a restart. */
SPATE_API int spate_latch_count_down(spate_latch *latch, const char *participant, int *outcome, struct spate_error *error);
/* DONE: it is open. TIMED_OUT; ABSENT. *missing (NULL: not wanted): participants that have not counted down. */
SPATE_API int spate_latch_await(spate_latch *latch, int64_t timeout_ms, uint32_t *missing, int *outcome, struct spate_error *error);
/* Removes what is stored: who opens the name again begins anew. */
SPATE_API int spate_latch_remove(spate_coordinator *coordinator, const char *name, struct spate_error *error);
SPATE_API void spate_latch_close(spate_latch *latch);

/* ---- membership: the processes of a group share out tasks 0 .. n-1, each of which is at one of them at a time ---- */

/* One of the members, the leader, keeps who has what in a register; it takes tasks from members that fall silent, and spreads them evenly over
 * those that are there. Only tasks that move stop; a task moves when its former member has let go of it, or has surely stopped. */
enum { SPATE_GROUP_TASKS_MAX = 128, SPATE_MEMBER_ID_BYTES = 40 };

struct spate_grant {
    uint32_t task;
    uint64_t fence; /* grows each time the task comes to a member: goes with what is written for it */
};
enum spate_member_end {
    SPATE_MEMBER_LEFT,    /* in order */
    SPATE_MEMBER_UNCLEAN, /* it could not let go of its tasks in order: others take over when it is known to have stopped */
    SPATE_MEMBER_REFUSED, /* another process that lives has its id */
};
/* Called on a thread of the member, one after the other; any may be NULL. They may call everything here but spate_member_close. */
struct spate_member_callbacks {
    size_t size; /* sizeof(struct spate_member_callbacks), set by the caller */
    /* What was agreed is over for these tasks: when this returns, they have stopped, and another member can have them. */
    void (*on_model_expired)(void *context, const uint32_t *tasks, uint32_t count);
    /* Agreed: these tasks are this member's now. */
    void (*on_model)(void *context, const struct spate_grant *grants, uint32_t count);
    /* It was taken for dead: all its tasks are lost, and may run elsewhere as soon as this has returned. It joins again by itself. */
    void (*on_fenced)(void *context);
    /* The service has not confirmed it in time (true), or has again (false): between the two nothing may be written that nobody can refuse. */
    void (*on_suspended)(void *context, bool suspended);
    /* Nothing comes after it; `how`: enum spate_member_end. */
    void (*on_stopped)(void *context, int how);
};
/* Becomes a member of the group, which is made with so many tasks if there is none (another number is an error). `id`: what the member is called,
 * also after a restart; at most 40 bytes without '#', '/' and blanks. The coordinator's options cluster.rebalance.*, cluster.task.stop.timeout,
 * cluster.barrier.timeout are about members. A process that has several members opens a coordinator for each. */
SPATE_API int spate_member_join(spate_coordinator *coordinator, const char *group, const char *id, uint32_t task_count,
                                const struct spate_member_callbacks *callbacks, void *context, spate_member **member,
                                struct spate_error *error);
/* Is the task this member's at this moment, by its own clock? *fence (NULL: not wanted) is the proof. No call to the service. */
SPATE_API bool spate_member_may_write(spate_member *member, uint32_t task, uint64_t *fence);
/* As spate_lock_read and spate_lock_update, with the task's fence: a register belongs to one task. OUTDATED also when the task is not this
 * member's. */
SPATE_API int spate_member_read(spate_member *member, uint32_t task, const char *name, void *bytes, size_t capacity, size_t *length,
                                int *outcome, struct spate_error *error);
SPATE_API int spate_member_update(spate_member *member, uint32_t task, const char *name, const void *bytes, size_t length, int *outcome,
                                  struct spate_error *error);
/* Lets go of its tasks, one after the other, and leaves. DONE: it has ended (on_stopped says how); TIMED_OUT: not yet. Not from a callback. */
SPATE_API int spate_member_leave(spate_member *member, int64_t timeout_ms, int *outcome, struct spate_error *error);
/* Frees it. Without a leave before, others wait until it is known to have stopped. Its coordinator is closed later. NULL is allowed. */
SPATE_API void spate_member_close(spate_member *member);

struct spate_member_info {
    size_t size; /* of this struct, as the library has it */
    const char *id;
    const uint32_t *tasks; /* that are open at it */
    uint32_t task_count;
    uint64_t version; /* of the group: grows each time that members or owners change */
    bool leads;
};
/* The members of a group, sorted by id, as the leader has them. DONE or ABSENT: there is no such group. */
typedef void (*spate_member_visit)(void *context, const struct spate_member_info *member);
SPATE_API int spate_member_list(spate_coordinator *coordinator, const char *group, spate_member_visit visit, void *context, int *outcome,
                                struct spate_error *error);

#ifdef __cplusplus
}
#endif
#endif
