/* cluster/runner_internal.h: the parts of a runner, shared by its files.
 *
 * For         runner.c (queue, deciding, lanes), runner_calls.c (what a lane does for an action).
 * Threads     `mutex` guards the queues, the flags and the halves. A lane's arena and caches are its own.
 */
#ifndef SPATE_CLUSTER_RUNNER_INTERNAL_H
#define SPATE_CLUSTER_RUNNER_INTERNAL_H

#include <pthread.h>

#include "base/random.h"
#include "cluster/control/log_register.h"
#include "cluster/history.h"
#include "cluster/runner.h"

enum lane_kind { LANE_MEMBER, LANE_MODEL, LANE_LEADER, LANE_LEASE, LANE_SEAT, LANE_COUNT };

struct posted { /* an event that waits */
    struct posted *next;
    struct cluster_event event;
    struct cluster_member_view *members; /* owned, with what they count */
    char *text, *code;
};
struct errand { /* an action that waits in a lane */
    struct errand *next;
    struct cluster_action action; /* its references are the errand's */
    char life_id[LIFE_ID_MAX];
    char *text; /* owned, or NULL */
};
struct cached_member {
    char id[LIFE_ID_MAX];
    struct cluster_version version;
    const struct member *member;
};
struct lane {
    struct runner *runner;
    enum lane_kind kind;
    pthread_t thread;
    bool started;
    pthread_cond_t condition;
    struct errand *first, *last;
    struct arena *arena;
    struct cluster_version version; /* of `model`, the last that was read here */
    const struct model *model;
    struct cached_member *members;
    uint32_t member_count, member_capacity;
    struct cluster_lease *lease;
    struct history_book history; /* of the lane that writes the model */
    struct random_source random; /* of the log's records */
    struct control_log *log;     /* NULL: not opened yet */
};
struct runner {
    struct runner_config config;
    const struct cluster_driver *driver;
    char *prefix;
    struct processor *processor;
    struct leader *leader;
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    pthread_t thread;
    bool started, stopping, ended;
    struct posted *first, *last;
    struct lane lanes[LANE_COUNT];
    struct arena *arena; /* of actions */
};

int64_t runner_now_us(void);
/* Makes the call and posts its outcome. */
void runner_call(struct lane *lane, const struct errand *errand);
void runner_calls_close(struct lane *lane);
/* Takes the members and what they count. */
void runner_post_taking(struct runner *runner, const struct cluster_event *event, struct cluster_member_view *members);

#endif
