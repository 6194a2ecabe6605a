/* cluster/leader_internal.h: the parts of a leader, shared by its files.
 *
 * For         leader.c (lease, sealing, the course of a turn), leader_members.c (who is silent, who may come), leader_turn.c (the decision),
 *             leader_assign.c (owners and standbys).
 * Memory      What a leader remembers beside the model (since when a member is silent, who came and went how often, for whom tasks are
 *             kept) only ever delays: a new leader begins without it.
 */
#ifndef SPATE_CLUSTER_LEADER_INTERNAL_H
#define SPATE_CLUSTER_LEADER_INTERNAL_H

#include "base/growing_array.h"
#include "base/random.h"
#include "cluster/leader.h"

enum turn_phase { TURN_NONE, TURN_MODEL, TURN_MEMBERS, TURN_FENCE, TURN_CONTROL, TURN_RECORD, TURN_WRITE };
enum { CONTROL_RECORDS_MAX = 64 /* of one turn: more wait for the next, so that a long log holds up no eviction for long */ };

struct silence { /* of a register below members/ */
    char id[LIFE_ID_MAX];
    uint64_t incarnation;
    struct cluster_version version;
    int64_t since_us;            /* when its last change had been read */
    int64_t sent_us;             /* of the last good read */
    const struct member *member; /* as last read */
};
struct flapping { /* evictions of an id */
    char id[LIFE_ID_MAX];
    uint64_t incarnation; /* the last: a write that fails and is made again counts once */
    uint32_t count;
    int64_t last_us;
};
struct reservation { /* a task that waits for a member which said that it restarts */
    uint64_t task;
    char id[LIFE_ID_MAX];
    int64_t until_us;
};
struct warmth {
    uint64_t task;
    char id[LIFE_ID_MAX];
    int64_t since_us;
};
struct fence {
    struct model_seat seat; /* its id is lent by `base` */
    uint64_t request;
    bool done, good;
};
struct fenced_life { /* fenced by this leader; its proof of having stopped may still be missing */
    uint32_t seat;
    uint64_t incarnation;
    int64_t ended_us; /* when it was first seen to have ended; 0: not yet */
};

struct leader {
    struct leader_config config;
    const struct cluster_timing *timing;
    struct random_source random;
    enum leader_state state;
    uint64_t requests; /* odd numbers */
    struct life life;  /* under which it has the lease; the processor's */
    bool stopped;      /* the process leaves */

    bool holding; /* the lease */
    uint64_t lease_request;
    int64_t lease_due_us, lease_confirmed_us;

    uint64_t term, term_floor, rev_seen;
    uint32_t seat_high;
    uint64_t nonce; /* of the last write */

    enum turn_phase phase;
    uint64_t turn_request;
    int64_t turn_due_us;
    bool again;               /* something may have changed since this turn began */
    struct arena *arena;      /* of the turn */
    const struct model *base; /* what the turn read */
    struct cluster_version base_version;
    int64_t base_sent_us, members_sent_us;
    struct cluster_member_view *members;
    uint32_t member_count;
    struct fence *fences;
    uint32_t fence_count;
    const struct control_fold *control; /* NULL: not read in this turn */
    int64_t wall_ms;
    uint32_t records; /* appended in this turn */
    struct model *draft;
    uint32_t wanted_seat_high;

    uint64_t version_seen;
    int64_t version_since_us;
    uint64_t pending_hash; /* of the set of newcomers */
    int64_t pending_since_us, pending_changed_us;

    struct silence *silences;
    struct flapping *flappings;
    struct reservation *reservations;
    struct warmth *warmths;
    struct fenced_life *fenced;
    uint32_t silence_count, silence_capacity, flapping_count, flapping_capacity, reservation_count, reservation_capacity, warmth_count,
        warmth_capacity, fenced_count, fenced_capacity;
};

/* A turn's decision in the making. */
struct turn {
    struct leader *leader;
    struct model *draft;
    int64_t now_us;
    struct cluster_actions *actions;
    struct control_effect effect;
    bool changed; /* to be written */
    bool bumped;  /* the draft has a new version */
    bool failed;  /* no room */
};

/* leader_turn.c: makes self->draft from base and what was read, NULL: nothing is to be written. */
void leader_turn(struct leader *self, int64_t now_us, struct cluster_actions *actions);
/* The draft gets a new version, once; `why` is for people. */
void turn_bump(struct turn *turn, const char *format, ...) PRINTF_LIKE(2, 3);
/* What the leader knows now. */
struct control_view leader_control_view(const struct leader *self);
/* Closes the task and gives it to a member (MODEL_NONE: to nobody yet). Who may hold it stays known. */
void turn_move(struct turn *turn, struct model_task *task, uint32_t owner);

/* leader_members.c */
enum verdict { VERDICT_ALIVE, VERDICT_LEFT /* in order: nothing to fence */, VERDICT_DEAD };
void members_note(struct leader *self, const struct cluster_event *event, int64_t now_us);
enum verdict members_judge(const struct leader *self, struct life life, const char **why);
const struct cluster_member_view *members_view(const struct leader *self, const char *id); /* NULL: it has no register */
const struct member *members_last(const struct leader *self, struct life life);            /* as last read, NULL: not known */
bool members_released(const struct leader *self, const struct model_task *task);
/* Nothing of this evicted life can write any more, also not to a sink that refuses nobody. */
bool members_stopped(struct leader *self, struct life life, int64_t now_us);
void members_note_eviction(struct leader *self, struct life life, int64_t now_us);
void turn_admit(struct turn *turn);
int64_t members_flapping_delay_us(const struct leader *self, const char *id, int64_t now_us);

/* leader_assign.c */
void turn_assign(struct turn *turn);
void leader_reserve(struct turn *turn, const char *id, uint64_t task);
bool leader_has_reserved(const struct leader *self, const char *id);
void leader_end_reservations(struct leader *self, const char *id, int64_t now_us); /* of the id, and those that are over */

#endif
