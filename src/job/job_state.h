/* job/job_state.h: the state of a whole job: out of its circuits and back into them, between two ticks.
 *
 * For         checkpoints (job/checkpointer.h), savepoints, restarts at another parallelism.
 * Shape       A job's state is one chain of files per worker that wrote it (state/snapshot.h), and one database per worker that had one.
 *             Any number of them goes into any number of workers: a database as it is if the job is the same, else its rows as those of a
 *             chain.
 * Threads     The job's caller, between job_create or a job_step and the next.
 * Errors      STATE_CORRUPT, STATE_MISFIT name file and operator.
 */
#ifndef SPATE_JOB_JOB_STATE_H
#define SPATE_JOB_JOB_STATE_H

#include "job/job.h"
#include "state/cold_files.h"
#include "state/snapshot.h"
#include "storage/object.h"

struct job_saving {
    uint64_t checkpoint; /* its number */
    bool full;           /* all rows, not only what has changed */
    /* Rows that a database holds are not written, full or not: the database is. Else everything is, in full. */
    bool databases;
    /* Into put_contexts[worker], as it comes; NULL: the writers keep what they get. */
    snapshot_put *put;
    void *const *put_contexts;
    bool defers; /* job_save_more hands over the rest. Not with put, nor where there are databases */
};
/* One writer per worker, in writers[worker]; the caller destroys them, also after an error. *databases: links to the files of each worker's
 * are in the job's folder, under the checkpoint's number; not while no operator has rows there. */
enum status job_save(struct job *job, const struct job_saving *saving, struct snapshot_writer **writers, bool *databases,
                     struct error *err);
/* A part of what was put off, between two later ticks: what can be handed over until then (the job's clock, monotonic), and at least something.
 * *more: there is still something. */
enum status job_save_more(struct job *job, struct snapshot_writer **writers, int64_t until_us, bool *more, struct error *err);
const struct cold_driver *job_database_driver(const struct job *job); /* NULL: all state is in memory */
/* Where the job's databases are; what is in it may be read as long as the caller has it. */
struct cold_folder *job_share_folder(struct job *job);
/* Of all operators that keep rows in databases, and of how these are dealt to workers: a job of the same number can take the databases as
 * they are. */
uint64_t job_database_identity(const struct job *job);
/* The checkpoint is complete: sinks show what it holds. */
enum status job_committed(struct job *job, uint64_t checkpoint, struct error *err);

struct job_chain {
    const char *const *files; /* names for messages, from the oldest to the newest */
    uint32_t file_count;
};
struct job_image { /* a state to restore */
    const struct job_chain *chains;
    uint32_t chain_count;
    /* Streams a file's bytes into the sink. */
    enum status (*read)(void *context, uint32_t chain, uint32_t file, const struct object_sink *sink, struct error *err);
    void *context;
    bool ignore_unclaimed;
    const struct cold_source *databases; /* what the chains leave out */
    uint32_t database_count;
    uint64_t database_identity; /* of the job that wrote them */
};
/* Before the first tick. *adopted: the job's databases are copies of the image's. */
enum status job_restore(struct job *job, const struct job_image *image, bool *adopted, struct error *err);

#endif
