/* tests/simulation/control.h: the control log in the simulated world, with the real log, fold, decisions and leader's side of it. */
#ifndef CONTROL_H
#define CONTROL_H

#include "cluster/control/fold.h"
#include "simulation.h"

/* With a process: its leader's side, who reads the log for its tasks, and somebody who proposes edits. */
bool control_start(struct world *world, uint8_t process); /* before the leader is made */
void control_begin(struct world *world, uint8_t process); /* its fibers */
void control_stop(struct world *world, uint8_t process);
void control_propose_soon(struct world *world);
const struct leader_control *control_leader(struct world *world, uint8_t process);
void control_ask(struct world *world, uint8_t process, const struct cluster_action *action);

/* A task at a tick boundary. */
struct control_place {
    bool known;           /* where it begins */
    int64_t since_us;     /* a log read before that does not say where */
    uint64_t begun, rank; /* begun: applied before its first checkpoint */
    uint64_t edits;       /* what it has applied, as a chain */
};
void control_apply(struct world *world, uint8_t process, struct control_place *place);
uint64_t control_chain(uint64_t edits, uint64_t rank, uint64_t index);

/* checks */
void control_check_write(struct world *world, const struct operation *operation);
void control_check_commit(struct world *world, uint64_t task, uint64_t begun, uint64_t rank, uint64_t edits);
bool control_settled(const struct world *world, char *why, size_t size);
void control_close(struct world *world);

#endif
