/* spate/control.h: changing a job that runs, by its control log.
 *
 * For         tools; the command line's `ctl` is made of it. docs/control-log.md: what an edit is, its states, the verbs.
 * Place       The coordination service of the session's setting 'coordinator.uri', which the job's own session has, too; the job's record
 *             in the session's storage.
 * Once        Propose with a key: the same key with the same verb and arguments is the same edit, however often it is proposed. After
 *             an error the proposal may have been made all the same.
 * Ownership   Texts of an edit live until the next call on the control.
 * Threads     A control belongs to its session's thread.
 */
#ifndef SPATE_CONTROL_H
#define SPATE_CONTROL_H

#include "spate/spate.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spate_control spate_control;

SPATE_API int spate_control_open(spate_session *session, const char *job, spate_control **control);
SPATE_API void spate_control_close(spate_control *control); /* before its session; NULL is allowed */

struct spate_proposal {
    size_t size;                         /* sizeof(struct spate_proposal), set by the caller */
    const char *verb;                    /* "core.savepoint"; `core.` may be left out */
    const char *const *arguments;        /* "name=value" texts, NULL-terminated; may be NULL */
    const char *key;                     /* may be NULL */
    const char *actor;                   /* in whose name: "user:ann" */
    int64_t deadline_ms;                 /* 0: none */
    int64_t expect_version, expect_rank; /* negative: any */
};
/* Checks verb and arguments, then appends. *index: how the edit is known from now on. */
SPATE_API int spate_control_propose(spate_control *control, const struct spate_proposal *proposal, uint64_t *index);

struct spate_edit {
    size_t size;              /* sizeof(struct spate_edit), set by the caller */
    uint64_t index, rank;     /* rank 0: never accepted */
    const char *verb, *state; /* "proposed", "accepted", "done", "failed", "superseded", "rejected", "duplicate", "expired" */
    const char *args;         /* JSON; NULL: settled long ago */
    const char *key, *actor, *how, *code, *reason, *warning, *result; /* NULL: none; result: JSON */
    uint64_t other;       /* of a duplicate: the edit that it is; of a superseded one: what replaced it */
    uint32_t applied, of; /* tasks */
    int64_t at_ms;        /* the proposer's clock */
    bool decided, closed; /* nothing more will come: closed */
};
SPATE_API int spate_control_show(spate_control *control, uint64_t index, struct spate_edit *edit);
/* Waits until it is decided (`closed`: until it is closed). *reached false: not within the time; the edit stays. A duplicate is waited for
 * as the edit that it is. */
SPATE_API int spate_control_await(spate_control *control, uint64_t index, bool closed, int64_t timeout_ms, struct spate_edit *edit,
                                  bool *reached);
/* Edits from an index on, oldest first; those that were forgotten are left out. */
typedef void (*spate_edit_function)(void *context, const struct spate_edit *edit);
SPATE_API int spate_control_list(spate_control *control, uint64_t from, spate_edit_function edit, void *context);
/* What a verb takes; NULL: all verbs, a line each. The text lives until the session closes. */
SPATE_API int spate_control_verbs(spate_session *session, const char *verb, const char **text);

#ifdef __cplusplus
}
#endif
#endif
