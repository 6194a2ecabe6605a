/* job/edits.h: what a running job, or a task of one, hears from its control log, and what it answers.
 *
 * For         api/: jobs whose session has 'coordinator.uri', and tasks of workers. The log itself: cluster/control/.
 * Shape       The thread of an edits_group (job/edits_group.h) reads and writes the log; so a service that is slow or away holds up no
 *             tick. Between two ticks the task takes what is accepted, one edit at a time, in the order of ranks. Edits for the leader alone
 *             are not among them.
 *
 *      task:    edits_take --> does it --> edits_applied(rank) --> checkpoint that notes edits_rank --> edits_committed(rank)
 *      thread:  read (and, alone, decide) --> hand over the next --> append the acknowledgement (only of what is committed)
 *
 * Exactly     A checkpoint notes the rank through which edits were applied before it. A job that goes on from a checkpoint applies those
 * once        above its rank again, and no others. One that begins without a checkpoint of its own begins with the first edit that is
 *             open; so does one whose checkpoint has a rank that the log has not: it is another log.
 * Standing    What stands through that rank (a pause, settings) is no edit to come, and is in no checkpoint: the task asks for it first.
 * Outages     Errors of the service after the start are kept (edits_trouble) and tried again; the job goes on without.
 * Threads     All calls from the task's thread. edits_close waits for what is committed to be acknowledged, for CLOSE_PATIENCE at most.
 */
#ifndef SPATE_JOB_EDITS_H
#define SPATE_JOB_EDITS_H

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"

struct edits_group;
struct cluster_option;
struct edits_spec {
    struct edits_group *group; /* of this process; NULL: a group of its own, for the whole job, which decides */
    uint64_t task;             /* with `group` */
    const char *uri;           /* else: of the coordination service */
    const struct cluster_option *options;
    size_t option_count;
    const char *job_id; /* else: the log is below "jobs/<id>" */
    struct budget *budget;
    bool goes_on; /* from a checkpoint of its own, with `applied` noted in it */
    uint64_t applied;
    bool obeys_app; /* app.*, too; where the group decides */
};
struct edit { /* texts live until it is applied */
    uint64_t rank, index;
    const char *verb, *args;
};
struct edits;
/* Reads the log, so that the first tick knows what stands. */
enum status edits_open(const struct edits_spec *spec, struct edits **edits, struct error *err);
void edits_close(struct edits *edits); /* NULL is allowed */
/* The next edit; false: none now. It must be applied before the next is taken. */
bool edits_take(struct edits *edits, struct edit *edit);
/* failure NULL: done. result: JSON, or NULL. */
void edits_applied(struct edits *edits, uint64_t rank, const char *result, const struct error *failure);
uint64_t edits_rank(const struct edits *edits); /* applied through */
void edits_committed(struct edits *edits, uint64_t rank);
bool edits_begin_paused(const struct edits *edits);  /* a pause stood when the log was opened */
bool edits_begin_stopped(const struct edits *edits); /* a stop that this task has committed is not done by all yet */
/* What stood then through the rank that was applied: the last edit of each slot, in the order of slots. */
const struct edit *edits_standing(const struct edits *edits, uint32_t *count);
/* A new error of the service since the last call; false: none. */
bool edits_trouble(struct edits *edits, struct error *trouble);
/* Where an argument is a text: its value in the arena; NULL: not given. */
const char *edit_text(const struct edit *edit, const char *argument, struct arena *arena);

enum { EDITS_PREFIX_BYTES = 216 }; /* an id of any length fits: prefixes that are cut would make two jobs one */
const char *edits_prefix(const char *job_id, char prefix[EDITS_PREFIX_BYTES]); /* of the registers of a job */
extern const char *const edits_verbs[];                                        /* that a job obeys; NULL-terminated */
extern const char *const edits_verbs_of_programs[];                            /* of one with a function for app.* */
/* Arguments of verbs that it obeys, but not in every form: refuses with an error. */
enum status edits_check(void *context, const char *verb, const char *args, struct error *err);
/* Of core.config.set: settings that a job can take on between two ticks, all of them durations. */
#define EDITS_SETTING_LIST(X)                                                                                                              \
    X(INTERVAL, "execution.checkpointing.interval", 1)                                                                                     \
    X(MIN_PAUSE, "execution.checkpointing.min-pause", 0)                                                                                   \
    X(TIMEOUT, "execution.checkpointing.timeout", 1)
#define X(name, text, least_us) EDITS_##name,
enum edits_setting { EDITS_SETTING_LIST(X) EDITS_SETTING_COUNT };
#undef X
enum edits_setting edits_setting_find(const char *name); /* EDITS_SETTING_COUNT: it is none of them */

#endif
