/* cluster/member.h: the register of one process: that it lives, what it has adopted, and what it may still write.
 *
 * For         the protocol (cluster/protocol.h), `spate coord members`.
 * Shape       One register, "members/<id>", written only by the life that it names, by compare-and-set. `seen` + `held` is the
 *             acknowledgement of the barrier: "I have adopted `seen`, and the tasks in `held` are all that I may still write".
 *             `running`: those of `held` that have started; of no weight for safety, but people and edits wait for it.
 * Rules       `held` is published before the first effect of a task and shrinks only after its last commit is known to be final.
 * Invariants  Members of the JSON that this build does not know are kept on rewrite. `beat` grows with every write.
 * Ownership   Counted, with an arena of its own; immutable once handed on.
 * Errors      STORE_CORRUPT for what is no member; STORE_UNABLE for a form of a newer build.
 */
#ifndef SPATE_CLUSTER_MEMBER_H
#define SPATE_CLUSTER_MEMBER_H

#include "base/error.h"
#include "base/text.h"
#include "cluster/task_id.h"

enum member_state { MEMBER_ACTIVE, MEMBER_LEAVING, MEMBER_RESTARTING, MEMBER_STATE_COUNT };

struct member_local { /* what it has of a task's state */
    uint64_t task;
    uint64_t lag_bytes; /* of a standby */
    uint64_t seq;       /* of local files: the checkpoint they hold */
};
struct member_failure {
    uint64_t task;
    const char *code, *message;
    uint32_t attempts;
};
/* What does not change during a life. Texts may be NULL. */
struct member_host {
    const char *host, *rack, *boot, *address, *build;
    int64_t pid, started_ms;
    const char **verbs;
    uint32_t verb_count;
    int64_t threads, memory_bytes;
    double weight;     /* share of the load, 1 as others */
    uint32_t task_max; /* 0: no limit */
    const char *tags;  /* JSON object, or NULL */
};
struct member {
    struct arena *arena;
    struct life life;
    uint64_t nonce, beat;
    enum member_state state;
    struct member_host host;
    uint64_t seen_rev, seen_version;
    uint64_t *held, *running; /* sorted */
    struct member_local *standby, *local;
    struct member_failure *failed;
    uint32_t held_count, running_count, standby_count, local_count, failed_count;
    const char *unknown; /* JSON object of members that this build does not know, or NULL */
};

struct member *member_create(struct budget *budget, struct error *err); /* empty, count 1; NULL: no room */
struct member *member_ref(const struct member *member);
void member_unref(const struct member *member); /* NULL is allowed */
enum status member_read(const char *name, struct text json, struct budget *budget, struct member **member, struct error *err);
enum status member_write(const struct member *member, struct arena *arena, struct text *json, struct error *err);
bool member_holds(const struct member *member, uint64_t task);
bool member_runs(const struct member *member, uint64_t task);
bool member_knows(const struct member *member, const char *verb);
bool member_host_keep(const struct member_host *host, struct arena *arena, struct member_host *kept); /* false: no room */

#endif
