/* cluster/control/record.h: the records of the control log, in memory and as JSON.
 *
 * For         the fold, the leader's decisions, the log in registers; `spate ctl`.
 * Shape       One record, one JSON object: "v", "kind", "id" and the members of its kind. The place of a record in the log (its index,
 *             from 1) is not in it. Who proposes edits writes PROPOSE; leaders write TERM, DECIDE, CLOSE and SNAPSHOT; processors ACK.
 * Identity    `id` is drawn by the writer: 26 digits, sorted by time of drawing. After an unknown outcome it tells whether what is read
 *             back is one's own. It orders nothing: the order of records in the log is the only order there is.
 * Arguments   `args` is a JSON object in one spelling (members sorted, no blanks), so equal arguments are equal texts. What a snapshot has
 *             settled keeps only their SHA-256.
 * Times       `at_ms` is the writer's wall clock (milliseconds since 1970): for people, for deadlines and retention. Never for order.
 * Invariants  Members that this build does not know are kept (`unknown`) and written again.
 * Ownership   All texts and arrays are in the arena given.
 * Errors      STORE_CORRUPT: no record; STORE_UNABLE: a form of a newer build; CTL_TOO_LARGE: past a limit below.
 */
#ifndef SPATE_CLUSTER_CONTROL_RECORD_H
#define SPATE_CLUSTER_CONTROL_RECORD_H

#include <stdbool.h>

#include "base/error.h"
#include "base/random.h"
#include "base/text.h"

enum {
    CONTROL_ID_BYTES = 27, /* with the NUL */
    CONTROL_KEY_MAX = 200,
    CONTROL_VERB_MAX = 100,
    CONTROL_ACTOR_MAX = 200,
    CONTROL_REASON_MAX = 1000,
    CONTROL_ARGS_MAX = 48 << 10,
    CONTROL_RECORD_MAX = (64 << 10) - 32, /* of JSON: what a register holds beside its checksum */
    CONTROL_SHA256_BYTES = 65,
};

#define CONTROL_KIND_LIST(X)                                                                                                               \
    X(PROPOSE, "propose") X(TERM, "term") X(DECIDE, "decide") X(ACK, "ack") X(CLOSE, "close") X(SNAPSHOT, "snapshot")
#define X(name, text) CONTROL_##name,
enum control_kind { CONTROL_KIND_LIST(X) CONTROL_KIND_COUNT };
#undef X

/* Where an edit cuts. */
#define CONTROL_HOW_LIST(X)                                                                                                                \
    X(LEADER, "leader")     /* bookkeeping of the leader only */                                                                           \
    X(EACH, "each")         /* each task at its next tick */                                                                               \
    X(MARKED, "marked")     /* one consistent cut of the whole job: the rank goes through the exchanges as a marker */                     \
    X(STOP_ALL, "stop-all") /* all tasks stop, and start together with it */
#define X(name, text) CONTROL_HOW_##name,
enum control_how { CONTROL_HOW_LIST(X) CONTROL_HOW_COUNT };
#undef X

#define CONTROL_VERDICT_LIST(X) X(ACCEPT, "accept") X(REJECT, "reject") X(DUPLICATE, "duplicate") X(EXPIRE, "expire")
#define X(name, text)           CONTROL_##name,
enum control_verdict { CONTROL_VERDICT_LIST(X) CONTROL_VERDICT_COUNT };
#undef X

#define CONTROL_OUTCOME_LIST(X) X(DONE, "done") X(FAILED, "failed") X(SUPERSEDED, "superseded")
#define X(name, text)           CONTROL_OUTCOME_##name,
enum control_outcome { CONTROL_OUTCOME_LIST(X) CONTROL_OUTCOME_COUNT };
#undef X

struct control_propose {
    const char *key; /* NULL: none; the same key again means the same edit */
    const char *verb;
    const char *args; /* NULL: settled, see args_sha256 */
    char args_sha256[CONTROL_SHA256_BYTES];
    bool expects_version, expects_rank; /* refused when the model's version, the last rank, is another by then */
    uint64_t expect_version, expect_rank;
    int64_t deadline_ms; /* 0: none; from at_ms until it is accepted */
    const char *actor;
};
struct control_term {
    const char *leader;
};
struct control_decide {
    uint64_t ref; /* the index of what is decided */
    enum control_verdict verdict;
    uint64_t rank; /* of ACCEPT */
    enum control_how how;
    uint32_t of; /* tasks of `version`: who has to acknowledge */
    uint64_t version;
    uint64_t duplicate_of;       /* an index */
    const char *code, *reason;   /* of REJECT and EXPIRE */
    const char *warning;         /* of ACCEPT, or NULL */
    const char **sets, **clears; /* slots of what stands (fold.h) that the edit fills or empties; a slot is "subject/target" */
    uint32_t set_count, clear_count;
};
struct control_failure {
    uint64_t rank, task;
    const char *code, *reason;
};
struct control_ack { /* cumulative: those tasks have applied all ranks through `through`, in a commit that is final */
    const char *by;
    uint64_t through;
    uint64_t *tasks; /* sorted */
    uint32_t task_count;
    struct control_failure *failed;
    uint32_t failed_count;
};
struct control_close {
    uint64_t ref;
    enum control_outcome outcome;
    uint32_t applied, failed;
    uint64_t by;        /* SUPERSEDED: the index of what replaced it */
    const char *result; /* JSON, or NULL: the location of a savepoint */
    const char *reason; /* of FAILED, or NULL */
};
struct control_snapshot {
    uint64_t through, rank; /* the fold of the records through that index */
    uint64_t forget;        /* entries up to that index leave the fold, and their records may go */
    uint64_t settled;       /* ranks up to this are in every task's commit: final entries keep the hash of their arguments only */
    char sha256[CONTROL_SHA256_BYTES];
    uint64_t bytes;
};

struct control_record {
    enum control_kind kind;
    char id[CONTROL_ID_BYTES];
    int64_t at_ms;
    uint64_t term; /* of a leader's records */
    union {
        struct control_propose propose;
        struct control_term term_of;
        struct control_decide decide;
        struct control_ack ack;
        struct control_close close;
        struct control_snapshot snapshot;
    };
    const char *unknown; /* JSON object of members that this build does not know, or NULL */
};

void control_id_make(struct random_source *random, int64_t wall_ms, char id[CONTROL_ID_BYTES]);
/* Any JSON object in the one spelling, and its hash. INVALID: CTL_BAD_ARGUMENTS. */
enum status control_args_make(const char *json, struct arena *arena, const char **args, char sha256[CONTROL_SHA256_BYTES],
                              struct error *err);
/* Past a limit of the head of this file, no verb, no actor: refused before anything is written. Other kinds are ours: asserted. */
enum status control_propose_check(const struct control_propose *propose, struct error *err);

/* `name` is for messages. Not sealed (cluster/value.h). */
enum status control_record_read(const char *name, struct text json, struct arena *arena, struct control_record *record, struct error *err);
enum status control_record_write(const struct control_record *record, struct arena *arena, struct text *json, struct error *err);

const char *control_kind_text(enum control_kind kind);
const char *control_how_text(enum control_how how);
const char *control_verdict_text(enum control_verdict verdict);
const char *control_outcome_text(enum control_outcome outcome);
/* "CTL-KEY-REUSED" for codes of the log, "SPATE-1042" for others. */
enum { CONTROL_CODE_BYTES = 60 };
const char *control_code_text(enum error_code code, char text[CONTROL_CODE_BYTES]);

#endif
