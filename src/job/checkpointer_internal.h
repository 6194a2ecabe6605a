/* job/checkpointer_internal.h: a checkpointer inside, for the files of its implementation. */
#ifndef SPATE_JOB_CHECKPOINTER_INTERNAL_H
#define SPATE_JOB_CHECKPOINTER_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/random.h"
#include "cluster/commit_record.h"
#include "job/checkpointer.h"
#include "job/job_internal.h"
#include "job/job_state.h"
#include "job/tick_stream.h"
#include "state/saved_state.h"
#include "storage/checkpoint_extra.h"
#include "storage/job_records.h"
#include "storage/retention.h"
#include "storage/savepoints.h"

enum { RETAINED_MAX = 64, GENERATIONS_MAX = RETAINED_MAX + 2, UNCOUNTED_MAX = 64 };

/* The files of one worker since the last full one. */
struct chain {
    struct checkpoint_file files[CHAIN_FILES];
    uint32_t count;
};
/* The chains of all workers: they begin together with a full checkpoint. The texts are in the arena. */
struct generation {
    struct arena *arena;
    struct chain *chains;
    uint32_t chain_count;
    uint64_t last_number; /* of the checkpoints that name its files */
};
/* What a merge must know of a worker's operators. */
struct chain_operators {
    struct snapshot_operator *operators;
    uint32_t count;
};
enum writing {
    WRITING_IDLE,
    WRITING_COPYING, /* job_save_more, by the job's thread */
    WRITING_BUSY,    /* the thread has it */
    WRITING_DONE,
    WRITING_FAILED
};

/* One checkpoint on its way to the storage. */
struct pending {
    uint64_t number;
    bool full, ended;
    uint64_t ticks;
    uint64_t edits; /* rank applied before it */
    struct snapshot_writer **writers;
    uint32_t writer_count;
    FILE **streams; /* by writer: where it writes to; NULL: it keeps its rows */
    bool apart;     /* its files hold rows of databases, too, so that no other can add to them */
    /* databases that go into it */
    uint32_t database_count;
    const struct cold_driver *driver;
    struct cold_folder *folder; /* where job_save put them */
    uint64_t identity;
    uint64_t rows, bytes, live;
    int64_t started_us, stall_us; /* stall: the longest time that ticks waited for it */
};
/* Files of one worker's database in the storage. */
struct database_files {
    struct database_file *items;
    uint32_t count, capacity;
};
enum { FOLLOWED_CUTS = 16 };
struct followed_cut { /* of a checkpoint whose end is not known yet */
    uint64_t number;
    struct text_builder outputs; /* tick_stream.h */
};
struct checkpointer {
    struct checkpointer_spec spec;
    struct arena *arena; /* what lives as long as the checkpointer */
    char id[JOB_ID_MAX + 1];
    const char *task; /* of its checkpoints */
    char incarnation[RANDOM_NAME_BYTES];
    const char *message;
    int lock; /* -1: none */
    enum job_start start;
    /* what is restored: a checkpoint, or a savepoint */
    struct arena *found_arena;
    struct checkpoint_manifest found;
    struct checkpoint_extra found_extra;
    struct savepoint savepoint;
    bool has_found, from_savepoint;
    bool claimed; /* the savepoint was this job's, and is gone */
    /* checkpoints */
    uint64_t next_number;
    uint32_t lineage; /* drawn when the job begins from nothing or from a savepoint; in all manifests since */
    bool next_full;
    struct generation generations[GENERATIONS_MAX]; /* oldest first; the last is being extended */
    uint32_t generation_count;
    struct database_files *databases; /* by worker */
    uint32_t database_count;
    uint64_t retained[RETAINED_MAX + 1]; /* numbers, oldest first */
    uint32_t retained_count;
    /* of a task */
    struct commit_store commit;
    uint64_t uncounted[UNCOUNTED_MAX]; /* stored, but the record could not be made to name them; removed when a later one counts */
    uint32_t uncounted_count;
    bool sweeps; /* one task of a job looks after the storage */
    int64_t last_started_us, last_ended_us;
    uint64_t last_ticks;
    uint64_t edits, edits_committed; /* ranks: applied, and in a checkpoint that is stored */
    bool requested;                  /* the next checkpoint is due now */
    uint64_t failed_in_a_row;
    struct checkpoint_figures figures;
    struct chain_operators *operators; /* by worker, of the job that runs now */
    uint32_t operator_workers, max_parallelism;
    /* active: the stream that is written, or read */
    struct tick_stream stream;
    int64_t last_frame_us, heard_us;
    bool following;
    char leader[RANDOM_NAME_BYTES];   /* the incarnation that is followed */
    uint64_t base, next_stream;       /* the checkpoint whose output is no longer held; 0: the stream's file goes on */
    struct text_builder base_outputs; /* empty: those in the sink nodes, of the checkpoint that was restored */
    struct followed_cut cuts[FOLLOWED_CUTS];
    uint32_t cut_count;
    struct storage_sweeper sweeper; /* the thread's */
    /* the thread that stores */
    struct pending pending;
    pthread_t thread;
    bool has_thread, leaving;
    bool listens;          /* nobody can signal this process: the thread looks for requests */
    atomic_bool asked;     /* it has found one */
    bool tidying;          /* after a checkpoint, the thread is at the generations and what is retained: no new checkpoint */
    pthread_mutex_t mutex; /* guards writing, tidying, tidy_status, leaving */
    pthread_cond_t changed;
    enum writing writing;
    enum status status, tidy_status;
    struct error error, tidy_error;
};

/* checkpoint_store.c: the thread, and what it does with `pending`. */
enum status checkpoint_thread_start(struct checkpointer *self, struct error *err);
void checkpoint_thread_stop(struct checkpointer *self);
void checkpoint_generation_close(struct generation *generation);
/* checkpoint_prune.c: after a checkpoint was stored. */
enum status checkpoint_prune(struct checkpointer *self, struct error *err);
/* checkpoint_merge.c: after a checkpoint was stored, when its chains are long; an error leaves them as they are. */
enum status checkpoint_note_operators(struct checkpointer *self, struct job *job, struct error *err);
bool checkpoint_wants_merge(const struct checkpointer *self);
enum status checkpoint_merge(struct checkpointer *self, struct error *err);
enum status checkpoint_generation_open(struct checkpointer *self, uint32_t chain_count, struct error *err);
/* Temporary files. */
snapshot_put checkpoint_put_temporary;
enum status checkpoint_read_temporary(void *context, uint64_t offset, void *buffer, size_t capacity, size_t *length, struct error *err);
/* checkpoint_databases.c: those of the checkpoint that was found are in the storage; the job did not take them as they are: their names mean
 * nothing any more. */
enum status checkpoint_adopt_databases(struct checkpointer *self, struct error *err);
void checkpoint_disown_databases(struct checkpointer *self);
/* tables: of the manifest, one per database of `pending`. */
enum status checkpoint_store_databases(struct checkpointer *self, struct checkpoint_writer *writer, struct arena *arena,
                                       struct checkpoint_table *tables, struct error *err);
void checkpoint_settle_databases(struct checkpointer *self, bool stored);
/* Removes files that no checkpoint since `oldest` names. */
void checkpoint_drop_databases(struct checkpointer *self, uint64_t oldest);
void checkpoint_drop_folder(struct checkpointer *self);
void checkpoint_close_databases(struct checkpointer *self);
/* checkpoint_find.c */
enum status checkpoint_find(struct checkpointer *self, struct error *err);
/* self->found is what the job goes on from. */
enum status checkpoint_take_found(struct checkpointer *self, struct error *err);
enum status checkpoint_find_savepoint(struct checkpointer *self, struct error *err);
enum status checkpoint_check_policy(struct checkpointer *self, struct error *err);
uint32_t checkpoint_new_lineage(const struct checkpointer *self);

/* checkpoint_task.c: by the commit record. */
enum status checkpoint_task_find(struct checkpointer *self, struct error *err);
/* The one that the record names is damaged: an older one that counted, if there is one. */
enum status checkpoint_task_go_back(struct checkpointer *self, bool *found, struct error *err);
/* The thread: `pending` is stored; it counts when this returns OK. */
enum status checkpoint_task_count(struct checkpointer *self, struct error *err);
enum status checkpoint_task_prune(struct checkpointer *self, struct error *err);

const char *availability_kept_as(enum availability availability); /* policies whose checkpoints hold the same have one name */
/* The checkpoint that another process has made is the newest now. */
enum status checkpoint_adopt(struct checkpointer *self, uint64_t number, bool *ended, struct error *err);
/* checkpointer.c: one now, waited for. */
enum status checkpoint_take(struct checkpointer *self, struct job *job, struct error *err);

/* checkpoint_lead.c: what a standby reads; nothing where the policy is another. */
void checkpoint_lead_prepare(struct checkpointer *self, struct job *job);
enum status checkpoint_lead_begin(struct checkpointer *self, struct job *job, struct error *err);
enum status checkpoint_lead_tick(struct checkpointer *self, struct job *job, struct error *err);
enum status checkpoint_lead_cut(struct checkpointer *self, struct job *job, uint64_t number, struct error *err);
enum status checkpoint_lead_done(struct checkpointer *self, uint64_t number, struct error *err);
void checkpoint_lead_end(struct checkpointer *self); /* the job has ended: nobody will follow */
/* checkpoint_follow.c. find: takes the lock, or finds a checkpoint to follow from (self->following). */
enum status checkpoint_follow_find(struct checkpointer *self, struct error *err);
void checkpoint_follow_prepare(struct checkpointer *self, struct job *job);
void checkpoint_follow_close(struct checkpointer *self);

#endif
