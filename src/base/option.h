/* base/option.h: options declared once.
 *
 * For         connectors, formats and settings: parsing, checks, the refusal of unknown keys with "did you mean", help and
 *             reference all come from a table of option_def.
 * Shape       A settings struct, and a table whose entries name members of it. option_apply parses one text into its
 *             member; option_defaults sets every member from `initial`.
 * Units       Durations are microseconds (struct duration), sizes bytes. Texts are NUL-terminated, in the arena.
 * Errors      UNKNOWN_OPTION, INVALID_OPTION, MISSING_OPTION; the text lists what is valid.
 */
#ifndef SPATE_BASE_OPTION_H
#define SPATE_BASE_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

struct duration {
    int64_t us;
};
struct byte_size {
    uint64_t bytes;
};

enum option_kind {
    OPTION_KIND_BOOL,
    OPTION_KIND_INT64,
    OPTION_KIND_DOUBLE,
    OPTION_KIND_TEXT,
    OPTION_KIND_DURATION,
    OPTION_KIND_BYTES,
    OPTION_KIND_CHOICE, /* an int32_t: the index into `choices` */
};

enum option_flags {
    OPTION_REQUIRED = 1,
    OPTION_SECRET = 2,
    OPTION_PREFIX = 4, /* the name ends in '.*': any key below it belongs here; the text member gets the last one's value */
};

struct option_def {
    const char *name; /* the key users write, spelled as in Flink */
    enum option_kind kind;
    size_t offset;              /* of the member in the settings struct */
    const char *initial;        /* default, as users would write it; NULL: none (zero bytes) */
    const char *summary;        /* one sentence */
    const char *const *choices; /* OPTION_KIND_CHOICE: NULL-terminated */
    /* NULL, or refuses a parsed value: returns a reason, NULL when it is fine */
    const char *(*check)(const void *value);
    uint32_t flags;
};
#define OPTION_MEMBER(type, owner, member) _Generic(((owner *)0)->member, type : offsetof(owner, member))
#define OPTION_BOOL(owner, member)         .kind = OPTION_KIND_BOOL, .offset = OPTION_MEMBER(bool, owner, member)
#define OPTION_INT64(owner, member)        .kind = OPTION_KIND_INT64, .offset = OPTION_MEMBER(int64_t, owner, member)
#define OPTION_DOUBLE(owner, member)       .kind = OPTION_KIND_DOUBLE, .offset = OPTION_MEMBER(double, owner, member)
#define OPTION_TEXT(owner, member)         .kind = OPTION_KIND_TEXT, .offset = OPTION_MEMBER(const char *, owner, member)
#define OPTION_DURATION(owner, member)     .kind = OPTION_KIND_DURATION, .offset = OPTION_MEMBER(struct duration, owner, member)
#define OPTION_BYTES(owner, member)        .kind = OPTION_KIND_BYTES, .offset = OPTION_MEMBER(struct byte_size, owner, member)
#define OPTION_CHOICE(owner, member, list) .kind = OPTION_KIND_CHOICE, .offset = OPTION_MEMBER(int32_t, owner, member), .choices = (list)

const char *option_check_positive(const void *value);     /* int64_t > 0 */
const char *option_check_not_negative(const void *value); /* int64_t >= 0 */

enum status option_defaults(const struct option_def *defs, size_t count, void *settings, struct arena *arena, struct error *err);
/* Finds a definition by key, "did you mean" in the error otherwise; `what` names the owner ("connector 'datagen'"). */
enum status option_find(const struct option_def *defs, size_t count, const char *what, const char *key, const struct option_def **def,
                        struct error *err);
bool option_is_among(const struct option_def *defs, size_t count, const char *key); /* by this very name */
enum status option_apply(const struct option_def *def, const char *value, void *settings, struct arena *arena, struct error *err);
enum status duration_parse(const char *text, struct duration *duration, struct error *err); /* Flink's: '10 s', '200ms' */
enum status byte_size_parse(const char *text, struct byte_size *size, struct error *err);   /* Flink's: '64 mb' */

#endif
