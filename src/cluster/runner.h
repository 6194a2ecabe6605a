/* cluster/runner.h: carries out what processor and leader decide, on a driver; one for each job that a process takes part in.
 *
 * For         workers; `spate run` with the driver local.
 * Shape       One thread decides: events in, in the order in which they came; actions out. Calls to services block, so they are made by
 *             lanes, a thread each: the own register, the model, the leader's turn, the lease, the seat. A slow turn never holds up a heartbeat.
 * Control     The leader's lane has the control log (cluster/control/log_register.h) below the same prefix, opened when the leader first asks.
 *             The deciding thread reads its fold only between that lane's answer and the leader's next question.
 * Tasks       The job's side (struct runner_tasks) is called on the deciding thread and must not block; what it did comes back by
 *             runner_post: EVENT_OUTCOME with step, request, task and status. Before each write to a sink that cannot refuse an outdated
 *             writer it asks runner_may_write.
 * Time        CLOCK_BOOTTIME: a machine that slept must not think its lease fresh.
 * Ownership   The session, the tables of functions and their contexts are lent until runner_close has returned.
 * Errors      Of services: reported, then decided like all else; the runner goes on. It ends only as decided: runner_tasks.ended.
 * Threads     All calls from any threads, also from runner_tasks, except runner_close.
 */
#ifndef SPATE_CLUSTER_RUNNER_H
#define SPATE_CLUSTER_RUNNER_H

#include "cluster/leader.h"

struct runner_tasks {
    void *context;
    void (*start)(void *context, const struct cluster_action *action); /* lent for the call: task, epoch, seat, life, model, request */
    void (*stop)(void *context, uint64_t request, uint64_t task);
    void (*abandon_all)(void *context, uint64_t request);
    void (*suspend)(void *context, bool suspended);
    void (*follow)(void *context, uint64_t task, bool follow);
    void (*report)(void *context, const char *text); /* a dotted name, then key=value */
    void (*ended)(void *context, int32_t code);      /* 0 in order, 1 uncleanly, 3 refused; nothing follows */
};
/* The commit store and the storage of the job, blocking; called by lanes. */
struct runner_stores {
    void *context;
    enum status (*open_seat)(void *context, uint32_t seat, struct life life, struct error *err);
    enum status (*fence_seat)(void *context, uint32_t seat, struct life life, const struct model *model, struct error *err);
    /* Makes both at least what is there; gives what they are then. */
    enum status (*raise_record)(void *context, uint64_t *term_floor, uint32_t *seat_high, struct error *err);
    enum status (*put_body)(void *context, const char *sha256, struct text body, struct error *err);
    enum status (*get_body)(void *context, const char *sha256, struct arena *arena, struct text *body, struct error *err);
};
struct runner_config {
    struct cluster_session *session;
    const char *prefix; /* "jobs/orders-7k2d": before "/model", "/members/<id>", "/leader" */
    struct processor_config processor;
    struct leader_config leader;
    const struct runner_tasks *tasks;
    const struct runner_stores *stores;
};
struct runner;
enum status runner_start(const struct runner_config *config, struct runner **runner, struct error *err);
/* Texts are copied, models and members counted. */
void runner_post(struct runner *runner, const struct cluster_event *event);
bool runner_may_write(struct runner *runner);
struct runner_status {
    enum processor_state processor;
    enum leader_state leader;
    uint64_t incarnation, rev, term, version; /* of the model adopted; 0: none yet */
    enum model_state model;                   /* RUNNING when none is adopted yet */
};
void runner_read_status(struct runner *runner, struct runner_status *status);
/* Ends the threads: the register stays, so others wait for the ttl; a lease is released. For a leave in order, EVENT_LEAVE and `ended` come first. */
void runner_close(struct runner *runner); /* NULL is allowed */

#endif
