/* cluster/assignment.h: which member should own which task. Pure and deterministic; ties are broken by order, that is by name.
 *
 * For         the leader's turn (cluster/leader_turn.c).
 * Goals       In this order: (1) constraints: a task goes where it is pinned, a drained member gets none, nobody more than its task_max;
 *             (2) loads are even: each member's is the floor or the ceiling of its share by weight; (3) fewest moves; (4) what moves goes to
 *             a standby that is caught up, then to local files, then to the host where it was; (5) standbys are never on their task's host
 *             and, where racks are known, not in its rack.
 * Warming     Where tasks have state, a task with a living owner moves to a member without a caught-up copy only after it has warmed up
 *             there: `owner` stays, `warming` says where it will go; at most warmup_max at a time. Orphans and pinned tasks move at once.
 * Limits      What exceeds the capacity of all members stays without an owner. Cost: tasks + members + copies; standbys: tasks x members.
 * Ownership   The result is in the arena given. Input is borrowed.
 */
#ifndef SPATE_CLUSTER_ASSIGNMENT_H
#define SPATE_CLUSTER_ASSIGNMENT_H

#include "base/error.h"
#include "base/arena.h"

#define ASSIGNMENT_NONE UINT32_MAX

struct assignment_member {   /* sorted by id */
    const char *host, *rack; /* NULL: not known */
    double weight;           /* > 0 */
    uint32_t task_max;       /* 0: no limit */
    bool drained;
};
struct assignment_task { /* sorted */
    uint32_t owner;      /* index of a member, or ASSIGNMENT_NONE: an orphan */
    uint32_t pinned;     /* where an edit wants it, or ASSIGNMENT_NONE */
    uint32_t warming;    /* where it warms up now, or ASSIGNMENT_NONE */
    bool warmed;         /* long enough: it may move now */
    const char *host;    /* where it was, for an orphan; NULL: not known */
};
enum assignment_quality { ASSIGNMENT_STANDBY /* caught up */, ASSIGNMENT_LOCAL, ASSIGNMENT_QUALITY_COUNT };
struct assignment_copy {
    uint32_t task, member;
    enum assignment_quality quality;
};
struct assignment_input {
    const struct assignment_member *members;
    const struct assignment_task *tasks;
    const struct assignment_copy *copies;   /* in any order */
    const struct assignment_copy *standbys; /* those there are, sorted by task; quality is not read */
    uint32_t member_count, task_count, copy_count, standby_count;
    bool stateful;
    uint32_t warmup_max;
    uint32_t standbys_wanted; /* of each task */
};
struct assignment {
    uint32_t *owner;                  /* by task; ASSIGNMENT_NONE: nobody has room */
    uint32_t *warming;                /* by task; ASSIGNMENT_NONE: it stays */
    struct assignment_copy *standbys; /* sorted by task, member */
    uint32_t standby_count;
};
enum status assignment_plan(const struct assignment_input *input, struct arena *arena, struct assignment *assignment, struct error *err);

#endif
