/* cluster/model.h: the one register that decides who may do what in a job.
 *
 * For         the protocol (cluster/protocol.h), submit and restart, `spate coord`.
 * Shape       Members and tasks are sorted arrays; a task's owner is an index into the members. In JSON members are named:
 *             {"v":1, "job":"orders-7k2d", "rev":311, "term":7, "leader":"w1#5f3a", "nonce":"c0ffee17", "version":42, "state":"running",
 *              "plan":3, "ctl_rank":33, "round":{"kind":"incremental", "opened":false, "since_rev":309, "why":"w5 evicted: silent"},
 *              "members":{"w9":{"inc":"77b0","seat":2}}, "dirty_seats":{"3":"w5#1d20"}, "evicted":["w5#1d20"],
 *              "tasks":{"s1.2":{"owner":"w9","epoch":42,"open":false,"from":"w5#1d20","evicted":true}}, "body":null}
 *             Runs of tasks that are alike are one entry, "s1.0-31". When the JSON is longer than MODEL_INLINE_MAX, the tasks move into a
 *             body that is stored as an object under its SHA-256, and the register names it: "body":{"sha256":"...","size":70123}.
 * Rules       It changes only by compare-and-set. rev: +1 each write. term: +1 each time a leader takes over; never falls. version: +1 each
 *             time members, owners or the plan change: one version has one content. What opens a task changes rev only.
 *             `from` of a closed task is the life that may still hold it; it stays through any number of changes of the owner, until that
 *             life has released the task, or was evicted and fenced.
 * Invariants  A task that is open has an owner and no `from`. Seats of members and dirty seats are all different.
 *             Members of the JSON that this build does not know are kept on rewrite.
 * Ownership   A model is counted and has an arena of its own; it is immutable once it was handed on. model_copy gives one to edit.
 * Errors      STORE_CORRUPT for what is no model; STORE_UNABLE for a form of a newer build.
 * Threads     Counting: any. The rest: immutable.
 */
#ifndef SPATE_CLUSTER_MODEL_H
#define SPATE_CLUSTER_MODEL_H

#include "base/error.h"
#include "base/text.h"
#include "cluster/task_id.h"

#define MODEL_NONE UINT32_MAX
enum { MODEL_INLINE_MAX = 48 << 10, MODEL_SHA256_BYTES = 65 };

/* Of these, RUNNING, PAUSED and STOPPING have workers; they leave the others in order, KILLED at once. */
#define MODEL_STATE_LIST(X)                                                                                                                \
    X(RUNNING, "running")                                                                                                                  \
    X(PAUSED, "paused") X(STOPPING, "stopping") X(STOPPED, "stopped") X(FAILED, "failed") X(FINISHED, "finished") X(KILLED, "killed")
#define X(name, text) MODEL_##name,
enum model_state { MODEL_STATE_LIST(X) MODEL_STATE_COUNT };
#undef X
enum model_round { MODEL_INCREMENTAL, MODEL_STOP_ALL };

struct model_member {
    struct life life;
    uint32_t seat;
};
struct model_seat { /* of an evicted life that is not fenced yet */
    uint32_t seat;
    struct life life;
};
struct model_task {
    uint64_t task;
    uint64_t epoch;   /* the version in which its present ownership began */
    uint32_t owner;   /* index into members; MODEL_NONE: nobody yet */
    bool open;        /* the owner may work */
    bool evicted;     /* `from` was evicted: it cannot release, only be fenced */
    bool retired;     /* not of this plan; listed only until `from` has released it or is fenced */
    struct life from; /* who may really hold a closed task; none: nobody */
};
struct model_copyist { /* a standby, or a member that warms up for a task */
    uint64_t task;
    const char *id;
};

struct model {
    struct arena *arena;
    const char *job;
    uint64_t rev, term, version;
    struct life leader;
    uint64_t nonce;
    enum model_state state;
    int64_t plan, ctl_rank;
    bool stateful; /* tasks have state that is worth warming up */
    bool unfenced; /* some sink of the job cannot refuse an outdated writer */
    struct {
        enum model_round kind;
        bool opened; /* the group agrees on this version */
        uint64_t since_rev;
        const char *why;
    } round;
    struct model_member *members; /* sorted by id */
    struct model_seat *dirty;     /* sorted by seat */
    struct life *evicted;         /* kept while their registers still show them; never admitted again */
    struct model_task *tasks;     /* sorted by task */
    struct model_copyist *standby, *warming;
    uint32_t member_count, dirty_count, evicted_count, task_count, standby_count, warming_count;
    char body_sha256[MODEL_SHA256_BYTES]; /* of a model just read: its tasks are still to be read (model_read_body); "": complete */
    uint64_t body_bytes;
    const char *unknown; /* JSON object of members that this build does not know, or NULL */
};

struct model *model_create(struct budget *budget, struct error *err); /* empty, count 1; NULL: no room */
struct model *model_ref(const struct model *model);
void model_unref(const struct model *model); /* NULL is allowed */
/* One to edit, count 1: rev, nonce and round as they are. NULL: no room. */
struct model *model_copy(const struct model *model, struct budget *budget, struct error *err);

/* `json`: unsealed (cluster/value.h). */
enum status model_read(const char *name, struct text json, struct budget *budget, struct model **model, struct error *err);
/* The tasks, from the object that body_sha256 names; checks size and hash. Before the model is handed on. */
enum status model_read_body(struct model *model, const char *name, struct text body, struct error *err);
/* `body`: length 0 when all is in `json`; else to be put, under its hash, before the register. */
enum status model_write(const struct model *model, struct arena *arena, struct text *json, struct text *body,
                        char sha256[MODEL_SHA256_BYTES], struct error *err);

const struct model_member *model_find_member(const struct model *model, const char *id); /* NULL: none */
bool model_lists(const struct model *model, struct life life);
bool model_evicts(const struct model *model, struct life life);
const struct model_task *model_find_task(const struct model *model, uint64_t task); /* NULL: none */
/* The owner's life; none when nobody. */
struct life model_owner(const struct model *model, const struct model_task *task);
const char *model_state_text(enum model_state state);

#endif
