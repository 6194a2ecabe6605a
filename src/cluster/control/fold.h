/* cluster/control/fold.h: what a control log means: the state of every edit, and what stands.
 *
 * For         the leader's decisions (decide.h), processors that apply edits, `spate ctl`.
 * Shape       Records are folded one by one in the order of the log; nothing else goes in: no clock, no table of verbs, no model. So every
 *             reader of the same records has the same fold, whatever build it is; the JSON of two equal folds is equal.
 *
 *      PROPOSED --accept--> ACCEPTED --close--> DONE | FAILED (some task could not; where it was applied it stays) | SUPERSEDED
 *          +------------------------------> REJECTED | DUPLICATE (of another edit: its state is that one's) | EXPIRED
 *
 * Void        A DECIDE, CLOSE or SNAPSHOT counts only if its term is the highest that the log has announced before it. So a leader that was
 *             replaced cannot decide anything, however late its records come. One that refers to what is not there, or not in the state
 *             before the arrow, or accepts out of order, is void as well: the fold is total.
 * Ranks       Accepted edits have ranks 1, 2, 3...; tasks apply them in that order. A task's acknowledgement is cumulative and never falls.
 * Standing    Slots (verbs.h) and the accepted edit that holds each now: settings, partitions, bounds, pause. A DECIDE names the slots. An
 *             edit of the leader's that failed leaves its slot empty.
 * Snapshots   The fold as JSON, and the records behind it, give the same fold as all records. A SNAPSHOT record says what every reader may
 *             then forget: final entries up to an index, and the arguments of final entries that every task has committed.
 * Ownership   A fold has an arena of its own; control_fold_copy gives one without what was forgotten. Results are lent until the next record.
 * Errors      BUDGET_SPENT; the fold is to be thrown away then.
 * Threads     One at a time.
 */
#ifndef SPATE_CLUSTER_CONTROL_FOLD_H
#define SPATE_CLUSTER_CONTROL_FOLD_H

#include "cluster/control/record.h"

#define TO(name) (1u << CONTROL_STATE_##name)
#define CONTROL_STATE_LIST(X)                                                                                                              \
    X(PROPOSED, "proposed", TO(ACCEPTED) | TO(REJECTED) | TO(DUPLICATE) | TO(EXPIRED))                                                     \
    X(ACCEPTED, "accepted", TO(DONE) | TO(FAILED) | TO(SUPERSEDED))                                                                        \
    X(DONE, "done", 0)                                                                                                                     \
    X(FAILED, "failed", 0)                                                                                                                 \
    X(SUPERSEDED, "superseded", 0)                                                                                                         \
    X(REJECTED, "rejected", 0)                                                                                                             \
    X(DUPLICATE, "duplicate", 0)                                                                                                           \
    X(EXPIRED, "expired", 0)
#define X(name, text, next) CONTROL_STATE_##name,
enum control_state { CONTROL_STATE_LIST(X) CONTROL_STATE_COUNT };
#undef X

struct control_entry { /* an edit */
    uint64_t index;    /* of its proposal in the log: how people name it */
    char id[CONTROL_ID_BYTES];
    int64_t at_ms, decided_ms; /* wall clocks of the proposer and of the leader */
    struct control_propose propose;
    enum control_state state;
    uint64_t rank; /* 0: never accepted */
    enum control_how how;
    uint32_t of, applied; /* applied: tasks, once it is closed */
    uint64_t version, duplicate_of, superseded_by;
    const char *code, *reason, *warning;
    const char *result; /* JSON, or NULL */
    const char **sets;  /* the slots that it fills; none once it is settled */
    uint32_t set_count;
    struct control_failure *failures; /* one a task */
    uint32_t failure_count, failure_capacity;
};
struct control_acked {
    uint64_t task, through;
};
struct control_standing {
    const char *slot;
    uint64_t index, rank;
    const char *verb, *args;
};
struct control_fold {
    struct budget *budget;
    struct arena *arena;
    uint64_t through; /* index of the last record folded */
    uint64_t term;
    const char *leader;                            /* of that term; NULL: none yet */
    uint64_t rank;                                 /* of the last accepted edit */
    uint64_t last_accepted;                        /* its index */
    uint64_t snapshot_through, forgotten, settled; /* of the last snapshot record that counted */
    struct control_entry *entries;                 /* sorted by index; ranks grow with it */
    struct control_acked *acked;                   /* sorted by task */
    struct control_standing *standing;             /* sorted by slot */
    uint32_t entry_count, entry_capacity, acked_count, acked_capacity, standing_count, standing_capacity;
    uint32_t open_from; /* entries before that place are final */
};

struct control_fold *control_fold_create(struct budget *budget, struct error *err); /* of no records; NULL: no room */
void control_fold_destroy(struct control_fold *fold);                               /* NULL is allowed */
struct control_fold *control_fold_copy(const struct control_fold *fold, struct error *err);
/* The record at fold->through + 1; *counted false: it was void. */
enum status control_fold_record(struct control_fold *fold, uint64_t index, const struct control_record *record, bool *counted,
                                struct error *err);

enum status control_fold_write(const struct control_fold *fold, struct arena *arena, struct text *json, struct error *err);
enum status control_fold_read(const char *name, struct text json, struct budget *budget, struct control_fold **fold, struct error *err);

const char *control_state_text(enum control_state state);
bool control_state_is_final(enum control_state state);
const struct control_entry *control_fold_find(const struct control_fold *fold, uint64_t index); /* NULL: none, or forgotten */
/* The accepted edit with the lowest rank above `rank` that was not superseded: what is to be applied next. NULL: none. */
const struct control_entry *control_fold_after(const struct control_fold *fold, uint64_t rank);
/* The rank through which a task has acknowledged; 0: none. */
uint64_t control_fold_acked(const struct control_fold *fold, uint64_t task);
/* Tasks that have applied it: k of entry->of. */
uint32_t control_fold_applied(const struct control_fold *fold, const struct control_entry *entry);
const struct control_standing *control_fold_standing(const struct control_fold *fold, const char *slot); /* NULL: nothing stands */

#endif
