/* cluster/control/leading_internal.h: the parts of a log's leader, shared by its files.
 *
 * For         leading.c (records), leading_check.c (what a proposal meets, when it is done), leading_effect.c (what the model should be).
 * Ownership   A turn is on the stack of one call; what it makes is in the arena of the leader's turn.
 */
#ifndef SPATE_CLUSTER_CONTROL_LEADING_INTERNAL_H
#define SPATE_CLUSTER_CONTROL_LEADING_INTERNAL_H

#include "base/random.h"
#include "cluster/control/leading.h"

enum { LEADING_VERBS_MAX = 64 };
struct leading {
    struct leading_config config;
    struct leader_control control;
    struct random_source random;
    const char *verbs[LEADING_VERBS_MAX]; /* all that have ground */
    uint32_t verb_count;
};
struct leading_turn {
    struct leading *leading;
    const struct control_view *view;
};

/* Of an edit: its arguments, to be ended by json_decref. */
json_t *leading_args(const char *args);
const char *leading_text(const json_t *args, const char *name); /* NULL: not given */
uint64_t leading_task(const json_t *args);                      /* "task" */

/* leading_effect.c. By index of a member of the model: whether it shall have no task. */
enum status leading_find_drained(const struct control_view *view, bool **drained, struct error *err);
enum status leading_effect(void *context, const struct control_view *view, struct control_effect *effect, struct error *err);

/* leading_check.c */
extern const char *const leading_verbs[]; /* NULL-terminated */
enum status leading_check(void *context, const struct control_fold *fold, const struct control_verb *verb,
                          const struct control_propose *propose, enum control_how *how, struct error *err);
enum control_progress leading_progress(void *context, const struct control_entry *entry, const char **result, const char **reason);
/* The register of a member of the model, of that life; NULL: it cannot be read, or is another's. */
const struct member *leading_member(const struct control_view *view, struct life life);
const struct member_failure *leading_failure(const struct member *member, uint64_t task); /* NULL: none */

#endif
