/* cluster/processor.h: what one process may do with the tasks of a job. Pure: see cluster/protocol.h.
 *
 *              register taken         listed in the model         a task opened for it
 *    NEW ───────────────────▶ JOINING ────────────────▶ IDLE ────────────────────────▶ RUNNING
 *     │ id alive elsewhere        ▲                       ▲  ◀──── last task released ───  │ ▲
 *     ▼                           │ new incarnation       │                     ┌──────────┘ │ heartbeat confirmed, then
 *   REFUSED (exit 3)           FENCED ◀─────┬─────────────┼──────── SUSPENDED ◀─┘────────────┘ the model read: still listed
 *                                 ▲         │ commit refused, not listed,   no heartbeat confirmed
 *                                 └─────────┘ register absent or another's  for ttl - margin
 *    any ── EVENT_LEAVE ──▶ LEAVING: stop tasks ▶ last commit ▶ held = [] ▶ delete the register ▶ LEFT (exit 0)
 *
 * Join        Creates members/<id>. A register of another life is watched: one that beats makes this process REFUSED; one that is still
 *             for ttl, or whose process surely ended, is taken over by compare-and-set.
 * Work        A task starts only when the adopted model says that this life owns it and it is open, `held` with it is confirmed, and the
 *             seat was opened and the model read after that. `held` shrinks only after STOP_TASK's outcome.
 * Why the     A heartbeat or a seat that was confirmed late says nothing of what happened before the answer came: the process may have been
 * model is    evicted and its seat fenced meanwhile. A read of the model sent after the answer that still lists this life proves that an
 * read again  eviction, and so the fence, comes later than what was confirmed.
 * Suspended   Only tasks with a sink that cannot refuse them (model.unfenced) stop; all others go on. Nobody exits because of an outage.
 * Fenced      Everything is abandoned without a commit, then a new incarnation joins.
 * Ownership   processor_create's caller destroys it. Timing is the caller's and outlives it.
 * Threads     One at a time.
 */
#ifndef SPATE_CLUSTER_PROCESSOR_H
#define SPATE_CLUSTER_PROCESSOR_H

#include "cluster/protocol.h"

#define PROCESSOR_STATE_LIST(X)                                                                                                            \
    X(NEW, "new")                                                                                                                          \
    X(JOINING, "joining")                                                                                                                  \
    X(IDLE, "idle")                                                                                                                        \
    X(RUNNING, "running") X(SUSPENDED, "suspended") X(FENCED, "fenced") X(LEAVING, "leaving") X(REFUSED, "refused") X(LEFT, "left")
#define X(name, text) PROCESSOR_##name,
enum processor_state { PROCESSOR_STATE_LIST(X) PROCESSOR_STATE_COUNT };
#undef X

struct processor_config {
    const char *id;
    struct member_host host;
    const struct cluster_timing *timing;
    uint64_t random_seed; /* 0: from the kernel */
    struct budget *budget;
};
struct processor;
enum status processor_create(const struct processor_config *config, struct processor **processor, struct error *err);
void processor_destroy(struct processor *processor); /* NULL is allowed */

/* The first event of a process is EVENT_TIMER. */
void processor_decide(struct processor *processor, const struct cluster_event *event, int64_t now_us, struct cluster_actions *actions);

enum processor_state processor_state(const struct processor *processor);
const char *processor_state_text(enum processor_state state);
struct life processor_life(const struct processor *processor);
const struct model *processor_model(const struct processor *processor); /* adopted; NULL: none. Lent until the next decision */
/* Whether the leader half may try for the lease: the register is this life's. */
bool processor_may_lead(const struct processor *processor);
/* Asked right before each write to a sink that cannot refuse an outdated writer: a process that was frozen finds out by its own clock, before
 * any event tells it. */
bool processor_may_write(const struct processor *processor, int64_t now_us);

#endif
