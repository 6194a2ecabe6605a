/* cluster/commit_record.h: which checkpoint of a task counts, and whose the next one may be.
 *
 * For         job/checkpointer.h (the owner of a task), the leader's fence (job/cluster_stores.h), restart of a job, `spate`.
 * Form        Register <prefix>/commit/<task> (cluster/value.h):
 *             {"v":1, "task":"s0.3", "epoch":42, "life":"w2#9f1c", "generation":5, "nonce":"...", "begun":true, "seq":50000000017,
 *              "kept":[50000000016], "ctl_rank":33, "ended":false}
 * Shape
 *                  take                  put: seq, +1 or more                 fence(epoch)                   take by the next owner
 *        absent ─────────▶ owner's, seq 0 ─────────▶ owner's, seq 17 ─────────▶ nobody's, seq 17 ─────────▶ its, generation + 1, seq 17
 *          └── fence ▶ not begun ── take ──▶
 *
 * Commit      A checkpoint counts from the moment at which the register names it, and not before, whatever else of it is stored. So whoever
 *             takes the record goes on from `seq`, and what any other owner has stored and prepared beyond it has not happened.
 * Fencing     A change is a compare-and-set on what this owner took or put last. Once another has taken the record, or a leader has raised
 *             its epoch, everything of the former owner is refused, however late it comes: FENCED. An owner with a lower epoch than the
 *             record's, or another life than the record's of the same epoch, cannot take it.
 * Generation  +1 each time the record is taken, also by the same life. Checkpoints of a generation have numbers of their own,
 *             generation * COMMIT_SPAN + 1 and up: numbers grow from owner to owner, and no two owners ever store the same.
 * Not begun   A record that only a fence has made, or none: the coordination service has lost it, or the job has never run. Then the
 *             newest checkpoint that is in the storage counts (`listed`). Numbers of later owners are higher, and who took the record
 *             removed what had not counted then, so that no one has shown anything beyond that one.
 * Kept        Older checkpoints that counted and are still there: one of them may be gone back to, and be put, when `seq` is damaged.
 * UNKNOWN     Answers that were lost are read back: all nonces of an owner begin alike and then count. While that fails the store is
 *             doubtful: the last put may yet be done. The next call finds out.
 * Errors      FENCED (JOB_TAKEN); CORRUPT: the register is damaged; it is not overwritten, and can be tried again once it is repaired;
 *             UNAVAILABLE: nothing was done, unless commit_record_is_doubtful. The register gone under its owner: FENCED.
 * Ownership   prefix, life and session are lent as long as the store is used. A record read has its texts in the arena given; one that
 *             was taken, the store's.
 * Threads     A store: one at a time. fence and read: any.
 */
#ifndef SPATE_CLUSTER_COMMIT_RECORD_H
#define SPATE_CLUSTER_COMMIT_RECORD_H

#include "base/random.h"
#include "cluster/driver.h"
#include "cluster/task_id.h"

#define COMMIT_SPAN UINT64_C(10000000000) /* a checkpoint each millisecond for 115 days */
enum { COMMIT_KEPT_MAX = 64 };

struct commit_record {
    uint64_t task, epoch;
    struct life life; /* none: fenced, nobody has taken it since */
    uint64_t generation;
    bool begun;                     /* somebody has taken it; else seq says nothing */
    uint64_t seq;                   /* 0: none yet */
    uint64_t kept[COMMIT_KEPT_MAX]; /* ascending, below seq */
    uint32_t kept_count;
    uint64_t ctl_rank; /* of seq: through which edits of the control log are in it */
    bool ended;        /* seq is the last: all input was read */
};
struct commit_store {
    struct cluster_session *session;
    const char *prefix; /* "jobs/<id>" */
    uint64_t task, epoch;
    struct life life;
    /* inside */
    struct commit_record record; /* as it was taken or put last */
    struct cluster_version version;
    char nonce[RANDOM_NAME_BYTES]; /* all of this owner's begin with it */
    uint64_t serial;               /* of the last put */
    bool stale;                    /* version may not be the register's any more */
    const char *unknown;           /* JSON object of members of the form that this build does not know, or NULL */
    struct arena *arena;           /* of `unknown` */
};

enum status commit_store_open(struct commit_store *store, struct cluster_session *session, const char *prefix, uint64_t task,
                              uint64_t epoch, struct life life, struct error *err);
void commit_store_close(struct commit_store *store);
/* The owner, once, before it reads any checkpoint. `listed`: the newest number in the storage, read before; 0: none. */
enum status commit_record_take(struct commit_store *store, uint64_t listed, struct commit_record *record, struct error *err);
/* The commit: seq, kept, ctl_rank and ended of `next` (the rest is not read). After an error it may be tried again. */
enum status commit_record_put(struct commit_store *store, const struct commit_record *next, struct error *err);
/* The last put failed, and it is not known whether it was done all the same. */
bool commit_record_is_doubtful(const struct commit_store *store);
/* The leader: no commit of a lower epoch is accepted any more. Makes the record when there is none. Done before: nothing happens. */
enum status commit_record_fence(struct cluster_session *session, const char *prefix, uint64_t task, uint64_t epoch, struct error *err);
enum status commit_record_read(struct cluster_session *session, const char *prefix, uint64_t task, struct arena *arena, bool *found,
                               struct commit_record *record, struct error *err);

static inline uint64_t commit_first_number(uint64_t generation)
{
    return generation * COMMIT_SPAN + 1;
}

#endif
