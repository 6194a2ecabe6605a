/* job/standby.h: keeps local copies of the newest checkpoints of tasks that another process runs, so that this one can take them over soon.
 *
 * For         workers: what the leader's model lists as standby or warming (FOLLOW_TASK of cluster/protocol.h).
 * Shape       A thread looks at the commit records of the tasks followed; when one names another checkpoint, the files that have no copy yet
 *             are fetched (job/state_copies.h). How much is missing goes to the leader, which prefers whoever misses least.
 * Folder      <parent>/spate-standby-<process>-<job>/<task>. Copies of a task that is not followed any more stay for KEPT_US: it may just be
 *             starting here.
 * Errors      Of storage and coordinator: tried again at the next look; the task is not warm meanwhile.
 * Threads     standby_follow: any. standby_close: one.
 */
#ifndef SPATE_JOB_STANDBY_H
#define SPATE_JOB_STANDBY_H

#include "cluster/driver.h"
#include "storage/stores.h"

struct standby_config {
    struct storage *storage;
    struct cluster_session *session;
    const char *prefix, *job_id;
    const char *parent; /* folder for local files */
    int64_t poll_us;
    void *context;
    /* known false: it is not followed any more. */
    void (*tell)(void *context, uint64_t task, bool known, uint64_t lag_bytes, uint64_t seq);
};
struct standby;
enum status standby_open(const struct standby_config *config, struct standby **standby, struct error *err);
void standby_follow(struct standby *standby, uint64_t task, bool follow);
/* Where copies of the task are, if there are any. */
enum { STANDBY_PATH_BYTES = 4096 };
void standby_folder(const struct standby *standby, uint64_t task, char path[STANDBY_PATH_BYTES]);
void standby_close(struct standby *standby); /* removes all copies; NULL is allowed */

#endif
