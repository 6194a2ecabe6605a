/* cluster/protocol.h: what flows between the decisions of coordination and whoever carries them out: events in, actions out.
 *
 * For         the runner, which performs actions on a real driver, and the simulator, which calls exactly the same functions.
 * Shape       Two halves in each process, both pure: processor_decide (cluster/processor.h), what this process may do with tasks;
 *             leader_decide (cluster/leader.h), the bookkeeping of whoever holds the lease. No I/O, no clock, no thread: the same events
 *             at the same times give the same actions. Every event goes to both halves of a process; each picks what concerns it.
 * Order       The runner performs actions in order; those of different kinds may overlap. Each that has an outcome comes back as exactly
 *             one event of the same kind with the same request number: also after an error, within the driver's call timeout.
 *             `sent_us` of it is when it was sent, never when it was answered: what an answer proves, it proves of that time.
 * Time        Microseconds of this process's own clock, which also runs while the machine sleeps (CLOCK_BOOTTIME). A decision sets
 *             wake_us: the runner sends EVENT_TIMER then. Timers early, late or twice do no harm.
 * Hints       EVENT_HINT when something may have changed. Lost or doubled ones do no harm: everything is polled too.
 * Ownership   Models and members in events are lent for the call; a half that keeps one counts a reference. Those in actions are owned
 *             by the list until actions_clear. Texts of actions hold until then.
 * Threads     One at a time for both halves of one process.
 */
#ifndef SPATE_CLUSTER_PROTOCOL_H
#define SPATE_CLUSTER_PROTOCOL_H

#include "cluster/driver.h"
#include "cluster/member.h"
#include "cluster/model.h"
#include "cluster/timing.h"

/* What can be asked, and (OUTCOME) what comes back under the same name. */
#define STEP_LIST(X)                                                                                                                         \
    /* registers */                                                                                                                          \
    X(READ_MODEL, OUTCOME)    /* get "model"; event: model, version */                                                                       \
    X(PUT_MODEL, OUTCOME)     /* model, version (what was read). Puts its body first if it needs one */                                      \
    X(READ_MEMBERS, OUTCOME)  /* list "members/" and get each; event: members. The list failing fails the whole */                           \
    X(READ_MEMBER, OUTCOME)   /* get "members/<own id>", and whether its process has surely ended; event: member, version, gone */           \
    X(PUT_MEMBER, OUTCOME)    /* member, version, or `create`: must be absent */                                                             \
    X(DELETE_MEMBER, OUTCOME) /* version */                                                                                                  \
    /* the leader's lease, under the life's text */                                                                                          \
    X(LEASE_ACQUIRE, OUTCOME)                                                                                                                \
    X(LEASE_RENEW, OUTCOME)                                                                                                                  \
    X(LEASE_RELEASE, NO_OUTCOME)                                                                                                             \
    /* the job record, which outlives the coordinator: make term_floor and seat_high at least these; event: what they are now */             \
    X(RAISE_RECORD, OUTCOME)                                                                                                                 \
    /* Makes the commit store refuse every later effect of an evicted life: seat, life, and model (the one that evicts it: tasks whose */    \
    /* `from` it is, and their epochs). May be repeated. OK: no later commit of that life can be accepted */                                 \
    X(FENCE_SEAT, OUTCOME)                                                                                                                   \
    /* Takes the seat in the commit store for this life (InitProducerId), before the first effect and after an indefinite error */           \
    X(OPEN_SEAT, OUTCOME)                                                                                                                    \
    /* tasks */                                                                                                                              \
    X(START_TASK, OUTCOME) /* task, epoch: read the commit record, restore, run. Not OK: the task does not run */                            \
    /* Finish the tick, commit, release; the event says that the last commit is final. Cancels a start, too. Also of a task that failed: */  \
    /* its last commit may be in doubt, and another that is final ends that */                                                               \
    X(STOP_TASK, OUTCOME)                                                                                                                    \
    X(ABANDON_ALL, OUTCOME) /* end all tasks without a commit; the event says that nothing is on its way to a sink that refuses nobody */    \
    X(SUSPEND, NO_OUTCOME)  /* start no tick and no write until RESUME; what is in flight ends within stop.bound */                          \
    X(RESUME, NO_OUTCOME)                                                                                                                    \
    X(FOLLOW_TASK, NO_OUTCOME) /* keep a warm copy of its state */                                                                           \
    X(UNFOLLOW_TASK, NO_OUTCOME)                                                                                                             \
    /* the control log */                                                                                                                    \
    X(READ_CONTROL, OUTCOME) /* folds what is there, to the end; event: control, wall_ms */                                                  \
    /* text: a record. Create-if-absent at the first free index; an unknown outcome is read back. Then the log is folded through it, void */ \
    /* or not; event: control, wall_ms. A SNAPSHOT is stored and the front cut off, as control/log_register.h says */                        \
    X(APPEND_CONTROL, OUTCOME)                                                                                                               \
    /* to people */                                                                                                                          \
    X(REPORT, NO_OUTCOME) /* text: the event's dotted name, then key=value */                                                                \
    X(EXIT, NO_OUTCOME)   /* code: 0 left in order, 1 left uncleanly, 3 refused */
#define X(name, outcome) STEP_##name,
enum step { STEP_LIST(X) STEP_COUNT };
#undef X
const char *step_text(enum step step);

struct cluster_action {
    enum step step;
    uint64_t request; /* comes back with the event */
    const struct model *model;
    const struct member *member;
    struct cluster_version version;
    bool create;
    uint64_t task, epoch;
    uint32_t seat;
    struct life life;
    uint64_t term_floor;
    uint32_t seat_high;
    int32_t code;
    const char *text;
};
struct cluster_actions {
    struct arena *arena;
    struct cluster_action *list;
    uint32_t count, capacity;
    bool failed;     /* no room: the process cannot go on; the runner abandons all and exits */
    int64_t wake_us; /* INT64_MAX: no timer needed */
};
/* NULL: no room, and `failed` is set. */
struct cluster_action *actions_add(struct cluster_actions *actions, enum step step);
void actions_report(struct cluster_actions *actions, const char *format, ...) PRINTF_LIKE(2, 3);
void actions_wake(struct cluster_actions *actions, int64_t at_us); /* the earliest counts */
void actions_clear(struct cluster_actions *actions);               /* ends references; the arena is the caller's to reset */

enum cluster_event_kind {
    EVENT_OUTCOME, /* of `step` */
    EVENT_TIMER,
    EVENT_HINT,
    EVENT_COMMIT_REFUSED, /* the commit store says that this life, or its epoch of a task, is outdated */
    EVENT_SEAT_LOST,      /* an indefinite error of the commit store: the seat must be opened again before the next effect */
    EVENT_TASK_FAILED,    /* a running task ended by itself, and no commit of it is in flight: task, code, text */
    EVENT_LOCAL_STATE,    /* standby lag or local files of a task changed: task, lag_bytes or seq; `known` false: gone */
    EVENT_LEAVE,          /* SIGTERM: leave for good */
    EVENT_RESTART,        /* leave, and come back under the same id soon */
};
struct control_fold;         /* cluster/control/fold.h */
struct cluster_member_view { /* of one register below "members/" */
    const char *id;
    enum status status;          /* OK, or why it could not be read; CORRUPT is not absent */
    const struct member *member; /* NULL unless OK */
    struct cluster_version version;
    bool gone; /* that process has surely ended */
};
struct cluster_event {
    enum cluster_event_kind kind;
    enum step step;
    uint64_t request;
    enum status status; /* OK: `result` says what happened. UNAVAILABLE: surely not done. Others: see driver.h */
    enum cluster_result result;
    int64_t sent_us;
    const struct model *model;
    const struct member *member;
    struct cluster_version version;
    const struct cluster_member_view *members; /* sorted by id */
    uint32_t member_count;
    bool gone;
    uint64_t task;
    uint64_t term_floor;
    uint32_t seat_high;
    bool known;
    bool standby; /* EVENT_LOCAL_STATE: of a standby, not of files */
    uint64_t lag_bytes, seq;
    const char *code, *text;            /* of a failure; lease_acquire: the holder */
    const struct control_fold *control; /* lent until the same process asks for something of the control log again */
    int64_t wall_ms;                    /* of this process, when the log had been read */
};

#endif
