/* cluster/control/leading.h: what a leader makes of the control log: which record comes next, and what the model should be.
 *
 * For         the leader of a job on several processes (struct leader_control of cluster/leader.h); the simulator.
 * Shape       Pure, as the leader is: the log comes in as a fold, records go out as texts; what they mean for the model is an effect.
 *             leading_control gives the two functions, over control_decide (decide.h).
 * Effects     "Make it so": computed anew in each turn from what stands, so a leader that dies leaves nothing half done.
 *               core.task.move      pins the task for as long as that processor is a member; a move that failed pins nothing (fold.h).
 *               core.task.restart   once: in the write of the model that brings `ctl_rank` past it.
 *               core.processor.drain, core.capacity.set   processors that get no tasks: those drained, and those beyond the bound (which
 *                                   keeps whoever has the most). If that were all of them, none is: the job goes on.
 *               core.job.pause, .resume, .stop, .cancel   the model's state. A job that stops is STOPPING until every task has committed
 *                                   and acknowledged it, then STOPPED; one that is cancelled is KILLED as soon as the edit is closed; for
 *                                   good, until it is restarted.
 *             All ranks are in the model as soon as it is written: what tasks do themselves (each, marked) waits only for their acks.
 * Done        An edit of the leader's is done when the members say so: a task has moved when its new owner holds it. It has failed when
 *             that owner cannot start it, or is gone; the leader places it anew then.
 * Ground      The verbs above; and those that the job's tasks obey, which the caller names.
 * Ownership   leading_create's caller destroys it. Its config is lent.
 * Threads     One at a time, together with its leader.
 */
#ifndef SPATE_CLUSTER_CONTROL_LEADING_H
#define SPATE_CLUSTER_CONTROL_LEADING_H

#include "cluster/control/decide.h"
#include "cluster/leader.h"

struct leading_config {
    uint64_t random_seed;     /* of ids; 0: from the kernel */
    uint64_t snapshot_every;  /* records; 0: CONTROL_SNAPSHOT_EVERY */
    const char *const *verbs; /* that tasks obey, as in the table; NULL-terminated */
    const char *const *sets;  /* of verbs that a member knows which says nothing of verbs */
    uint32_t set_count;
    void *context;
    /* Of proposals that tasks would obey, NULL: nothing more to check. Refuses with an error; see struct control_ground. */
    enum status (*check)(void *context, const struct control_verb *verb, const struct control_propose *propose, struct error *err);
    /* NULL: all may. */
    enum status (*permit)(void *context, const char *actor, const struct control_verb *verb, struct error *err);
    /* What is left to do when all tasks have done theirs, NULL: nothing. Not here, but by somebody who is asked to; texts in the arena. */
    enum control_progress (*progress)(void *context, const struct control_entry *entry, struct arena *arena, const char **result,
                                      const char **reason);
};
struct leading;
enum status leading_create(const struct leading_config *config, struct leading **leading, struct error *err);
void leading_destroy(struct leading *leading); /* NULL is allowed */
const struct leader_control *leading_control(const struct leading *leading);

#endif
