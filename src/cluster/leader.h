/* cluster/leader.h: the bookkeeping of whoever holds the lease: it writes the model, and nothing else depends on it. Pure: see
 * cluster/protocol.h.
 *
 *   FOLLOWER ──lease granted──▶ SEALING ──CAS term + 1──▶ LEADING ⟲ one turn per hint, poll or outcome
 *      ▲  tries every lease.retry   │ conflict: read again   │ lease not confirmed for ttl - margin, a higher term seen,
 *      └────────────────────────────┴────────────────────────┘ or its process is fenced or leaves (in-flight CAS can only fail)
 *
 * Sealing     Writes the model unchanged but for term, leader and rev: every earlier leader's write in flight now conflicts. The new term is
 *             one above the model's and the job record's floor, and that floor is raised first. A leader never creates a model.
 * A turn      reads the model, then the members, fences the seats that the model says are dirty, reads the control log and appends to it
 *             what it decides there, then decides (cluster/leader_turn.c) and writes the model at most once, on the version that it read. A
 *             leader may die at any point: the next repeats or completes it.
 * Without     A control log that cannot be read keeps nothing from being evicted, fenced, opened or taken over; only what it may have pinned
 * its log     or drained is not known, so no task that has an owner moves in that turn.
 * Safety      needs neither the lease nor this file: only that the model changes by compare-and-set, and rule R2 (cluster/leader_turn.c).
 * Ownership   leader_create's caller destroys it. Timing, verbs and control are the caller's and outlive it.
 * Threads     One at a time, together with its processor.
 */
#ifndef SPATE_CLUSTER_LEADER_H
#define SPATE_CLUSTER_LEADER_H

#include "cluster/processor.h"

#define LEADER_STATE_LIST(X) X(FOLLOWER, "follower") X(SEALING, "sealing") X(LEADING, "leading")
#define X(name, text)        LEADER_##name,
enum leader_state { LEADER_STATE_LIST(X) LEADER_STATE_COUNT };
#undef X

/* What the control log wants of the model in this turn: "make it so", never "do it again". Texts and arrays hold until the turn ends. */
struct control_pin {
    uint64_t task;
    const char *id;
};
struct control_effect {
    int64_t ctl_rank; /* of the last edit that this holds; the model's, when there is none */
    enum model_state state;
    bool hold;     /* what is pinned or drained is not known: tasks stay where they are */
    bool stop_all; /* begin a stop-all round, with the plan and tasks below */
    int64_t plan;
    const uint64_t *tasks; /* sorted; NULL: as they are */
    uint32_t task_count;
    const char *why;
    const struct control_pin *pins; /* core.task.move */
    const char *const *drained;     /* ids: core.processor.drain */
    const uint64_t *restarts;       /* core.task.restart: they stop, and begin where they are */
    uint32_t pin_count, drained_count, restart_count;
};
struct control_view {                /* what a leader knows in its turn; lent for the call */
    const struct control_fold *fold; /* the log through its end; NULL: none is read */
    const struct model *model;
    const struct cluster_member_view *members; /* sorted by id */
    uint32_t member_count;
    uint64_t term;
    struct life leader;
    int64_t wall_ms;
    struct arena *arena; /* of the turn */
};
struct leader_control { /* filled by cluster/control/leading.h */
    void *context;
    /* The next record for the log, as JSON in the arena; NULL: none now. After each, the log is folded to its end and this is asked again.
     * NULL as a function: no log is read. */
    enum status (*next)(void *context, const struct control_view *view, const char **record, struct error *err);
    /* `effect` comes filled with the model as it is. */
    enum status (*turn)(void *context, const struct control_view *view, struct control_effect *effect, struct error *err);
};

struct leader_config {
    const struct cluster_timing *timing;
    uint64_t random_seed; /* of nonces; 0: from the kernel */
    struct budget *budget;
    const char *const *verbs; /* that a member must know to be admitted */
    uint32_t verb_count;
    uint32_t standbys;                    /* of each task */
    const struct leader_control *control; /* NULL: there is no control log */
};
struct leader;
enum status leader_create(const struct leader_config *config, struct leader **leader, struct error *err);
void leader_destroy(struct leader *leader); /* NULL is allowed */

/* After processor_decide with the same event. */
void leader_decide(struct leader *leader, const struct processor *processor, const struct cluster_event *event, int64_t now_us,
                   struct cluster_actions *actions);

enum leader_state leader_state(const struct leader *leader);
const char *leader_state_text(enum leader_state state);
uint64_t leader_term(const struct leader *leader);
/* The longest that this leader still makes some newcomer wait because it comes and goes. */
int64_t leader_flapping_delay_us(const struct leader *leader);

#endif
