/* job/edits_group.h: the control log of one job in one process, read once for all tasks that run here.
 *
 * For         workers (struct task_host_config) and job/edits.h, which is what a task sees of it.
 * Shape       A thread of its own: reads the log, gives each task its next edit, and appends one acknowledgement for all tasks that have
 *             committed something new, so that a service that is slow or away holds up no tick. It rests while no task is here.
 *             Who decides is the job's leader (cluster/control/leading.h); or, for the one process of `spate run`, this thread itself,
 *             under a lease of the log's own.
 * Ended       A task whose input has ended has nothing that an edit could change: it has applied all there are and will be. Whoever knows
 *             it says so (edits_group_note_ended), and it is acknowledged here from then on, also when another process ran it.
 * Ownership   Session, prefix and texts of the spec are lent until close, which comes after edits_close of all its tasks.
 * Threads     Any.
 */
#ifndef SPATE_JOB_EDITS_GROUP_H
#define SPATE_JOB_EDITS_GROUP_H

#include "cluster/driver.h"

struct edits_group_spec {
    struct cluster_session *session;
    const char *prefix; /* of the log: "jobs/<id>" */
    const char *by;     /* who acknowledges: the process's id */
    int64_t poll_us;    /* how often the log is looked at */
    struct budget *budget;
    bool decides;   /* the job has this process only */
    bool obeys_app; /* then: edits_verbs_of_programs */
};
struct edits_group;
enum status edits_group_open(const struct edits_group_spec *spec, struct edits_group **group, struct error *err);
void edits_group_note_ended(struct edits_group *group, uint64_t task);
void edits_group_close(struct edits_group *group); /* NULL is allowed */

#endif
