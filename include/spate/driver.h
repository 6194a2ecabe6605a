/* spate/driver.h: a driver of coordination of your own, and the suite that says whether it is one.
 *
 * For         services that Spate has no driver for. The driver is a shared object spate-driver-SCHEME.so in a folder of SPATE_MODULE_PATH
 *             (or beside Spate's own modules) that exports spate_driver_describe; then URIs SCHEME:... open it. Only this header is needed.
 * Asked of it Named registers with versions. put and del are compare-and-set on the version that was read: OK says that it was done and
 *             is durable, CONFLICT that nothing was. A version never comes back for a name, also when the register was removed and made
 *             again. get sees every put that had returned before it began. list has every name that was there during the whole call, or
 *             fails. Leases are made of registers by Spate: a driver needs none.
 * Names       UTF-8, parts separated by '/', 600 bytes at most; checked before a call, as is the size of values. Two names never meet.
 * Results     enum spate_driver_result. OK, ABSENT, CONFLICT and UNKNOWN (sent, but whether it was done is not known) are answers. With the
 *             rest `message` says what happened. An error is never an absence: who cannot read says UNAVAILABLE.
 * Threads     All calls of one session from any threads at once, except close. Hints may come on any thread, not within a call of ours.
 * Changes     A later SPATE_DRIVER_ABI adds members behind these; `size` tells which a driver has.
 */
#ifndef SPATE_DRIVER_H
#define SPATE_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spate/spate.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    SPATE_DRIVER_ABI = 1,
    SPATE_DRIVER_NAME_BYTES = 601,    /* with its NUL */
    SPATE_DRIVER_VALUE_BYTES = 65536, /* the largest value */
    SPATE_DRIVER_VERSION_BYTES = 96,  /* with its NUL */
    SPATE_DRIVER_MESSAGE_BYTES = 500
};

enum spate_driver_result {
    SPATE_DRIVER_OK,
    SPATE_DRIVER_ABSENT,
    SPATE_DRIVER_CONFLICT,
    SPATE_DRIVER_UNKNOWN,
    SPATE_DRIVER_UNAVAILABLE, /* surely not done; may be tried again */
    SPATE_DRIVER_DENIED,      /* credentials or rights; the message says what to check */
    SPATE_DRIVER_FULL,
    SPATE_DRIVER_CORRUPT, /* what is there is not what was put */
    SPATE_DRIVER_REFUSED  /* a wrong URI or option */
};

typedef void (*spate_driver_name)(void *context, const char *name);
typedef void (*spate_driver_hint)(void *context);

struct spate_driver {
    uint32_t abi; /* SPATE_DRIVER_ABI */
    size_t size;  /* sizeof(struct spate_driver) */
    const char *scheme, *summary;
    /* `options`: "scheme.name=value" texts, NULL-terminated. Checks that the service answers, and the credentials. */
    int (*open)(const char *uri, const char *const *options, void **session, char *message);
    void (*close)(void *session);
    /* `value` has room for SPATE_DRIVER_VALUE_BYTES, `version` for SPATE_DRIVER_VERSION_BYTES. */
    int (*get)(void *session, const char *name, void *value, size_t *length, char *version, char *message);
    /* `expect` NULL: must be absent, else CONFLICT; otherwise CONFLICT also when nothing is there. *version: of what was written, with OK. */
    int (*put)(void *session, const char *name, const void *value, size_t length, const char *expect, char *version, char *message);
    /* ABSENT when nothing was there. */
    int (*del)(void *session, const char *name, const char *expect, char *message);
    /* Any order. */
    int (*list)(void *session, const char *prefix, spate_driver_name name, void *context, char *message);
    /* NULL: no hints. One watch a session; `hint` NULL ends it, and none comes afterwards. Late, twice, or never: all is allowed. */
    int (*watch)(void *session, const char *prefix, spate_driver_hint hint, void *context, char *message);
};
#define SPATE_DRIVER_EXPORT __attribute__((visibility("default")))
/* What the shared object exports: `SPATE_DRIVER_EXPORT const struct spate_driver *spate_driver_describe(void)`. */
typedef const struct spate_driver *(*spate_driver_describe_function)(void);

/* ---- the suite: what `spate test-driver` runs ---- */

enum spate_driver_check_outcome { SPATE_DRIVER_CHECK_PASSED, SPATE_DRIVER_CHECK_FAILED, SPATE_DRIVER_CHECK_SKIPPED };
typedef void (*spate_driver_check)(void *context, const char *id, const char *name, int outcome, const char *text);

struct spate_driver_test {
    size_t size;                /* sizeof(struct spate_driver_test), set by the caller */
    const char *const *options; /* "key=value" texts of the driver, NULL-terminated; NULL: none */
    int64_t ttl_us;             /* of leases */
    bool quick;                 /* fewer increments, names and sessions */
    bool hints;                 /* the driver must give hints */
    const char *only;           /* NULL, or ids and parts of names, separated by commas */
    const char *faults;         /* NULL, or a command, run with "cut", "heal", "errors", "drop-replies" behind it */
    const char *restart;        /* NULL, or a command that restarts the servers */
    const char *denied;         /* NULL, or "key=value" that makes the credentials wrong */
    spate_driver_check check;   /* told of each check */
    void *context;
    uint32_t passed, failed, skipped; /* the outcome */
    struct spate_error error;         /* when it did not run; its text is below */
    char error_text[1000];
};
/* Runs the suite on a URI. It forks: the process should have no other threads. A check that fails is no error, but counted. */
SPATE_API int spate_driver_test_run(const char *uri, struct spate_driver_test *test);

#ifdef __cplusplus
}
#endif
#endif
