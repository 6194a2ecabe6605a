/* cluster/control/verbs.h: what the control log can ask of a running job: one table, from which checks, help and documents come.
 *
 * For         the leader's decision (decide.h), proposers that want to know at once, `spate ctl`, docs/control-log.md.
 * Shape       A verb has a full name ("core.job.pause"), a version, typed arguments, and where it cuts. The table says what Spate knows;
 *             what a job can obey as it runs is its ground (decide.h): a verb without ground is refused by name.
 * Slots       What stays in force after an edit is kept by slot: "config/KEY": the last edit of a slot stands, one that clears empties it
 *             (fold.h). A verb's slot is its subject and the values of its target arguments; an argument with several numbers makes a
 *             slot of each. Verbs without a subject happen once and leave nothing that stands.
 * Sets        A process says what verbs it knows as texts "core/1": all verbs of `core.` whose version is at most 1.
 * Errors      CTL_UNKNOWN_VERB with what is near; CTL_BAD_ARGUMENTS with all that is wrong at once.
 */
#ifndef SPATE_CLUSTER_CONTROL_VERBS_H
#define SPATE_CLUSTER_CONTROL_VERBS_H

#include <jansson.h>

#include "cluster/control/record.h"

enum verb_arg_kind {
    VERB_TEXT,   /* any, not empty */
    VERB_INT,    /* from `min` to `max` */
    VERB_INTS,   /* one or more, each from `min` to `max`, none twice */
    VERB_BOOL,   /* */
    VERB_CHOICE, /* one of `choices` */
    VERB_TASK,   /* "s1.17" or "all" */
    VERB_SHA256, /* 64 hexadecimal digits */
    VERB_JSON,   /* any value */
    VERB_OBJECT,
    VERB_ARG_KIND_COUNT,
};
struct verb_arg {
    const char *name;
    enum verb_arg_kind kind;
    bool required;
    int64_t min, max;           /* both 0: from 0 to 2^31 - 1 */
    const char *const *choices; /* NULL-terminated */
    const char *summary;
};
enum verb_flags {
    VERB_CLEARS = 1,      /* empties its slot instead of filling it */
    VERB_NEW_VERSION = 2, /* makes a new version of the model: who expects the present one loses */
    VERB_REPLACES = 4,    /* of verbs for the leader: one that still waits in the same slot is superseded */
};
struct control_verb {
    const char *name; /* "app.*": any name below app. */
    uint32_t version;
    enum control_how how;
    uint32_t flags;
    const struct verb_arg *args; /* NULL and 0: none are taken; of a "*" verb: any */
    uint32_t arg_count;
    const char *one_of[2];                        /* exactly one of these arguments; NULL: no such rule */
    const char *subject;                          /* NULL: nothing stays in force */
    const char *target[3];                        /* arguments, NULL-terminated */
    const char *undo;                             /* the verb that takes it back, or NULL */
    const char *since, *deprecated, *replaced_by; /* versions of Spate and a verb; NULL but for `since` */
    const char *summary;
};
struct verb_table {
    const struct control_verb *verbs;
    uint32_t count;
};
extern const struct verb_table control_verbs; /* of this build */

enum { CONTROL_APP_ARGS_MAX = 32 << 10 };

/* By its full name. */
enum status control_verb_find(const struct verb_table *table, const char *name, const struct control_verb **verb, struct error *err);
/* "savepoint" for "core.savepoint": as people write it. NULL: there is none. */
const struct control_verb *control_verb_find_short(const struct verb_table *table, const char *name);
/* All problems in one message. `args`: a JSON object as text. */
enum status control_verb_check(const struct control_verb *verb, const char *args, struct error *err);
/* Arguments as people write them, "name=value" each ("partitions=12,13", "drain=true"), as JSON; '-' in names is '_'. What a value is, its
 * argument says; not checked otherwise. */
enum status control_verb_arguments(const struct control_verb *verb, const char *const *pairs, uint32_t count, struct arena *arena,
                                   const char **json, struct error *err);
/* The slots that an edit concerns; its arguments were checked. */
enum status control_verb_slots(const struct control_verb *verb, const char *args, struct arena *arena, const char ***slots, uint32_t *count,
                               struct error *err);
/* Whether one of the sets ("core/1") covers the verb. */
bool control_verb_is_known(const struct control_verb *verb, const char *const *sets, uint32_t set_count);

/* Help, and the table of docs/control-log.md. */
const char *verb_arg_kind_text(enum verb_arg_kind kind);
void control_verb_describe(const struct control_verb *verb, struct text_builder *text);
void control_verbs_markdown(const struct verb_table *table, struct text_builder *text);

#endif
