/* job/job_state.h: the state of a whole job: out of its circuits and back into them, between two ticks.
 *
 * For         checkpoints (job/checkpointer.h), savepoints, restarts at another parallelism.
 * Shape       A job's state is one chain of files per worker that wrote it (state/snapshot.h). Any number of chains goes into any number of
 *             workers.
 * Threads     The job's caller, between job_create or a job_step and the next.
 * Errors      STATE_CORRUPT, STATE_MISFIT name file and operator.
 */
#ifndef SPATE_JOB_JOB_STATE_H
#define SPATE_JOB_JOB_STATE_H

#include "job/job.h"
#include "state/snapshot.h"
#include "storage/object.h"

/* One writer per worker, in writers[worker]; the caller destroys them, also after an error. */
enum status job_save(struct job *job, bool full, uint64_t checkpoint, struct snapshot_writer **writers, struct error *err);
/* The checkpoint is complete: sinks show what it holds. */
enum status job_committed(struct job *job, uint64_t checkpoint, struct error *err);

struct job_chain {
    const char *const *files; /* names for messages, from the oldest to the newest */
    uint32_t file_count;
};
struct job_image { /* a state to restore */
    const struct job_chain *chains;
    uint32_t chain_count;
    /* Streams a file's bytes into the sink. Several files may be read at once. */
    enum status (*read)(void *context, uint32_t chain, uint32_t file, const struct object_sink *sink, struct error *err);
    void *context;
    bool ignore_unclaimed;
};
/* Before the first tick. */
enum status job_restore(struct job *job, const struct job_image *image, struct error *err);

#endif
