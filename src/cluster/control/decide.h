/* cluster/control/decide.h: what the leader writes next into the control log.
 *
 * For         the leader's turn (its step 9) and the simulator.
 * Shape       Pure: the same fold and the same world give the same step. One step at a time: append the record, fold the log to its end,
 *             call again, until WAIT. So each proposal is decided against all that was accepted before it, and what others append in
 *             between is seen.
 * Order       The term; then proposals in the order of the log; then superseded and finished edits are closed; then a snapshot, if due.
 * A proposal  is, in this order: the duplicate of an accepted one with the same key (or CTL_KEY_REUSED, when verb or arguments differ);
 *             expired; refused: no such verb, wrong arguments (all of them), not permitted, a process that does not know the verb, expected
 *             another version or rank, no ground; or accepted under the next rank.
 *             Keys of refused and expired edits are free again: nothing was done under them.
 * Effects     Not here. Accepted edits whose rank is above the model's `ctl_rank` wait for the leader (control_fold_after); it makes them so
 *             in the model, in order of ranks, and writes `ctl_rank` with them: a leader that dies in between leaves that to the next.
 * Ground      What the running job can act on. The table of verbs says what Spate knows; a verb that is not in the ground is refused with
 *             CTL_NO_GROUND, so nothing is ever accepted and then ignored.
 * Clocks      `wall_ms` is the leader's: against `at_ms` of a proposal for deadlines, and for retention. Nothing else hangs on it.
 */
#ifndef SPATE_CLUSTER_CONTROL_DECIDE_H
#define SPATE_CLUSTER_CONTROL_DECIDE_H

#include "cluster/control/fold.h"
#include "cluster/control/verbs.h"

struct control_member {
    const char *id;
    const char *const *sets; /* of verbs: "core/1" */
    uint32_t set_count;
};
enum control_progress { CONTROL_PENDING, CONTROL_PROGRESS_DONE, CONTROL_PROGRESS_FAILED };
struct control_ground {
    const char *const *verbs; /* names as in the table */
    uint32_t verb_count;
    void *context;
    /* NULL: nothing more to check. Refuses with an error; may make *how stricter (a setting that needs a stop of all). */
    enum status (*check)(void *context, const struct control_fold *fold, const struct control_verb *verb,
                         const struct control_propose *propose, enum control_how *how, struct error *err);
    enum status (*permit)(void *context, const char *actor, const struct control_verb *verb, struct error *err); /* NULL: all may */
    /* NULL: an edit is done when the model has it and all tasks have acknowledged. Asked then; texts live until the next call. */
    enum control_progress (*progress)(void *context, const struct control_entry *entry, const char **result, const char **reason);
};
struct control_world {
    uint64_t term; /* of this leader */
    const char *leader;
    uint64_t version, model_rank; /* of the model: its version, and the rank through which edits are in it */
    const uint64_t *tasks;        /* of the model, sorted */
    uint32_t task_count;
    const struct control_member *members; /* alive */
    uint32_t member_count;
    const struct control_ground *ground;
    const struct verb_table *verbs;
    int64_t wall_ms;
    int64_t retention_ms;    /* how long final edits and keys stay; at least CONTROL_KEYS_MS */
    uint64_t snapshot_every; /* records */
};
#define CONTROL_KEYS_MS (7 * 24 * 3600 * INT64_C(1000))
enum { CONTROL_SNAPSHOT_EVERY = 1000 };

enum control_step_kind {
    CONTROL_STEP_WAIT,     /* nothing to do until something changes */
    CONTROL_STEP_APPEND,   /* record, without an id */
    CONTROL_STEP_SNAPSHOT, /* record, without id and body: store the fold, append, cut (log_register.h) */
};
struct control_step {
    enum control_step_kind kind;
    struct control_record record; /* texts in the arena given, or lent by fold and world */
};
enum status control_decide(const struct control_fold *fold, const struct control_world *world, struct arena *arena,
                           struct control_step *step, struct error *err);

#endif
