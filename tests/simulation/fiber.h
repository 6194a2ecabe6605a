/* tests/simulation/fiber.h: code that calls a driver and waits for its answer, run inside the simulated world.
 *
 * For         what src/ does with calls instead of events and actions: commit records, locks, latches, the control log, checkpoints.
 * Shape       A fiber has a stack of its own and belongs to a process. It is a session of coordination as well (fiber->session): each call
 *             of its driver sends a request into the world, with all the world's faults, and the fiber sleeps until the answer is there or
 *             the caller's patience has ended. Everything else goes on meanwhile.
 * Death       When its process ends, what the fiber waits for fails at once, as does all that it calls from then on: so the real code
 *             returns and frees what it has, and nothing of that reaches the world.
 * Rules       A fiber never feeds a process nor starts a fiber: it leaves events behind (process_later).
 */
#ifndef FIBER_H
#define FIBER_H

#include "cluster/lease_register.h"
#include "simulation.h"

struct fiber_clock { /* of the fiber's process */
    struct clock clock;
    const struct fiber *fiber;
};
typedef void (*fiber_run)(struct fiber *fiber, void *context);

struct fiber {
    struct cluster_session session; /* first: the session is the fiber */
    struct lease_register leases;
    bool leases_in_registers; /* or the service has leases of its own, which can be taken away */
    struct fiber_clock clock;
    struct random_source random;
    struct world *world;
    uint8_t process;
    uint32_t generation;
    enum service service; /* where its registers are */
    bool dead;
    /* fiber.c */
    fiber_run run;
    void *context; /* free'd at the end */
    struct operation *waiting;
    uint64_t wake;
    bool paused, finished;
    struct fiber_stack *stack;
};

/* The caller fills `context` (malloc'ed, or NULL) first: the fiber runs at once, to where it waits. What comes back is there until it ends. */
struct fiber *fiber_start(struct world *world, uint8_t process, enum service service, fiber_run run, void *context);
/* Of the process's present generation, at its death. */
void fibers_end(struct world *world, uint8_t process);

/* In a fiber. false: its process has ended. */
bool fiber_sleep(struct fiber *fiber, int64_t delay_us);
bool fiber_pause(struct fiber *fiber); /* until fiber_go_on; false: as fiber_sleep */
enum awaited { AWAITED_ANSWER, AWAITED_NOTHING /* the patience has ended */, AWAITED_DEATH };
/* Sends it and waits; the caller holds a reference of its own. */
enum awaited fiber_await(struct fiber *fiber, struct operation *operation);
int64_t fiber_now_us(const struct fiber *fiber); /* on the process's clock */

/* From the world's loop. */
void fiber_go_on(struct fiber *fiber); /* nothing, unless it pauses */
void fiber_answered(struct operation *operation, bool given_up);
void fiber_woken(struct world *world, const struct world_event *event);
void fibers_close(void); /* the stacks */

/* session.c: registers and leases of the world, for a fiber. */
extern const struct cluster_driver simulated_driver;
struct operation *session_request(struct fiber *fiber, enum call call, const char *name);
enum status session_unavailable(struct error *err);

#endif
