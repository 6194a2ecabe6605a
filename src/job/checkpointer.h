/* job/checkpointer.h: a job whose state outlives its process.
 *
 * For         jobs with 'execution.checkpointing.interval', and those that restore a savepoint.
 * Identity    The job's name and the storage root. The first start creates the job's record; a later one finds its latest completed
 *             checkpoint and goes on from it, or hears that the job has finished.
 * Checkpoint  Between two ticks, when one is due and none is under way: all operators write what changed into memory (job_save), large
 *             tables only which rows; these follow between the next ticks, some milliseconds each time (job_save_more). Then a thread
 *             of its own compresses and stores it and commits the manifest, and the next checkpointer_step tells the sinks. The manifest
 *             is the arbiter: what it does not name has not happened.
 * Chains      Per worker a full file, then changes; after a restore or an error the next is full again. When more than half of the rows
 *             of a chain are superseded (and it has MERGE_FILES), or it has MERGE_FILES_MAX, the thread merges it into one full file,
 *             file to file, and the next changes go on top of that: rows that only come are not written again and again.
 * One owner   A lock file in the storage's folder, held as long as the process lives; and whatever the storage: a manifest's number is
 *             created once, who comes second is FENCED and stops.
 * Tasks       With spec.task it is one task of a job on several processes; the job's record must exist. There the commit record
 *             (cluster/commit_record.h) is the arbiter, not the newest manifest: a checkpoint counts once the record names it, and FENCED
 *             ends the task. Opening takes the record and goes on from the checkpoint that it names. What it does not name, a former owner
 *             left: never restored, never shown, removed. While the coordination service cannot be reached a checkpoint waits to count,
 *             and ticks go on, for 'execution.checkpointing.timeout'. The policy "active" is "passive" there: other processes stand by.
 *
 *      IDLE --due--> COPYING --all rows--> WRITING --stored--> DONE --step: sinks told--> IDLE
 *                                          WRITING --error--> FAILED --step--> IDLE, or the job fails
 *
 * Threads     All calls from the job's thread.
 * Errors      JOB_TAKEN; STORE_* when the storage fails; STATE_CORRUPT, STATE_MISFIT from restore.
 */
#ifndef SPATE_JOB_CHECKPOINTER_H
#define SPATE_JOB_CHECKPOINTER_H

#include "cluster/driver.h"
#include "cluster/task_id.h"
#include "job/job.h"
#include "job/job_lock.h"
#include "job/journal.h"
#include "storage/stores.h"

enum { CHAIN_FILES = 128, MERGE_FILES = 8, MERGE_FILES_MAX = 96, MERGE_ROWS_MIN = 1024 };

/* 'high-availability.policy'. What a checkpoint of the job holds, and what a process does that goes on from it:
 *   passive          state, places of sources, output of sinks          goes on from there
 *   none             places, output                                     shows that output, begins with what comes from now on, without state
 *   active           as passive; a process beside it follows (--standby) goes on from where the other was
 *   upstream-backup  where sources began, a record of all ticks, output runs all ticks again, without output, then goes on */
enum availability { AVAILABILITY_PASSIVE, AVAILABILITY_NONE, AVAILABILITY_UPSTREAM_BACKUP, AVAILABILITY_ACTIVE };
const char *availability_name(enum availability availability);
bool availability_replays(enum availability availability);

struct checkpoint_settings {
    int64_t interval_us; /* 0: only the final one and savepoints */
    int64_t min_pause_us, timeout_us;
    int64_t retained;         /* checkpoints that are kept */
    int64_t tolerable_failed; /* in a row */
    bool incremental;
    bool delete_at_end; /* externalized retention: DELETE_ON_CANCELLATION and NO_EXTERNALIZED_CHECKPOINTS */
    bool ignore_unclaimed;
    bool fresh;   /* forget what there is */
    bool standby; /* wait for the lock */
    enum availability availability;
    int64_t lease_us;          /* active: a process that is silent for so long has lost the job; 0: only one that has ended */
    bool savepoint_only;       /* the job runs already and leaves nothing but savepoints: looks for nothing, keeps no checkpoint */
    const char *restore_from;  /* a savepoint, when the job has no checkpoint of its own; NULL */
    bool claims;               /* it is removed when as many checkpoints as are kept, or the last one, have taken its place */
    const char *savepoint_dir; /* where savepoints go that are given no place; NULL: to the job's own */
};
enum job_start {
    START_NEW,
    START_RESUMED,
    START_FROM_SAVEPOINT,
    START_FINISHED, /* nothing is left to do */
};
/* One task of a job that several processes run. No lock: the commit record says whose the task is, and which of its checkpoints counts. */
struct checkpoint_task {
    const char *name; /* "s0.3", "all": of its checkpoints and files */
    uint64_t epoch;   /* in which its present ownership began */
    struct life life; /* of this process */
    struct cluster_session *session;
    const char *prefix; /* of the job's registers: "jobs/<id>" */
    const char *job;    /* id or name; NULL: checkpointer_spec.job */
    const char *copies; /* folder that may have local copies of its files (job/state_copies.h); NULL: none */
};
struct checkpointer_spec {
    struct storage *storage;            /* open as long as the checkpointer */
    const char *job;                    /* name */
    const struct checkpoint_task *task; /* NULL: the whole job runs in this process, and the lock says whose it is */
    struct budget *budget;
    const struct clock *clock;
    struct checkpoint_settings settings;
    const atomic_bool *cancelled;   /* a standby stops waiting */
    struct journal *const *journal; /* of the caller, told of checkpoints; may be NULL, now or later */
    struct job_lock_wait wait;      /* who is told that a standby waits */
};
struct checkpointer;
/* Takes the job. *message is a line for the user, in the checkpointer. */
enum status checkpointer_open(const struct checkpointer_spec *spec, struct checkpointer **checkpointer, enum job_start *start,
                              const char **message, struct error *err);
/* Before the first tick; with START_NEW nothing but the job's preparation. */
enum status checkpointer_restore(struct checkpointer *self, struct job *job, struct error *err);
/* restore found the checkpoint damaged (err says where): the next older one is taken instead, for a job made anew, and *message says so.
 * Nothing was shown by sinks yet. *found false: there is none, err stands. */
enum status checkpointer_fall_back(struct checkpointer *self, const struct error *damage, bool *found, const char **message,
                                   struct error *err);
/* After each tick. */
enum status checkpointer_step(struct checkpointer *self, struct job *job, struct error *err);
/* Rows are still to be copied: the job does not wait for input, but steps. */
bool checkpointer_is_copying(struct checkpointer *self);
/* The job has ended or stops: a last checkpoint, waited for, and the sinks told. ended: it will not be run again. */
enum status checkpointer_finish(struct checkpointer *self, struct job *job, bool ended, struct error *err);
/* A savepoint of the state now; `place` as in storage/savepoints.h, NULL: one named by the time. Waits for it. *where: its place, as
 * --from-savepoint takes it from anywhere; in the checkpointer. */
enum status checkpointer_savepoint(struct checkpointer *self, struct job *job, const char *place, const char **where, struct error *err);
const char *checkpointer_job_id(const struct checkpointer *self);
/* For the names of what sinks write: see connectors/sink.h. */
struct checkpoint_names {
    const char *task; /* NULL: the job runs whole */
    uint32_t lineage;
    uint64_t saved, saved_end;
};
void checkpointer_names(const struct checkpointer *self, struct checkpoint_names *names);
bool checkpointer_is_task(const struct checkpointer *self);
/* Before the job is destroyed: a checkpoint that is being stored is read from the job's memory. NULL is allowed. */
/* The standby of an active job, instead of job_step and checkpointer_step, until it has taken over. An error: it cannot follow. */
bool checkpointer_is_following(const struct checkpointer *self);
enum follow_outcome { FOLLOW_GOES_ON, FOLLOW_TOOK_OVER /* with a first checkpoint */, FOLLOW_FINISHED /* the job has ended */ };
enum status checkpointer_follow(struct checkpointer *self, struct job *job, int64_t wait_us, enum follow_outcome *outcome,
                                struct error *err);
/* Where storage is no folder: has somebody asked for something, since the last call? Then job_request_find finds it. */
bool checkpointer_is_asked(struct checkpointer *self);
/* Other times than those of the spec, from now on. */
struct checkpoint_pace {
    int64_t interval_us, min_pause_us, timeout_us;
};
void checkpointer_set_pace(struct checkpointer *self, const struct checkpoint_pace *pace);
/* The next checkpoint is due as soon as none is under way, also when nothing has changed. */
void checkpointer_request(struct checkpointer *self);
/* Notes in all checkpoints from now on through which rank of the control log edits are applied (job/edits.h). */
void checkpointer_note_edits(struct checkpointer *self, uint64_t rank);
/* The rank in the newest stored checkpoint, at first in the one that the job goes on from; *own false: it goes on from none of its own. */
uint64_t checkpointer_edits(const struct checkpointer *self, bool *own);
void checkpointer_close(struct checkpointer *self);

struct checkpoint_figures {
    uint64_t completed, failed, last_number, last_bytes, last_rows;
    int64_t last_stall_us, longest_stall_us; /* the longest time that ticks waited at once */
    int64_t last_duration_us;
};
void checkpointer_figures(const struct checkpointer *self, struct checkpoint_figures *figures);

#endif
