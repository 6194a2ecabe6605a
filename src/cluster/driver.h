/* cluster/driver.h: named registers with versions, and leases: all that coordination asks of a service, and the interface of its drivers.
 *
 * For         the protocol's runner, the control log, locks and latches. A driver has no opinion about any of them.
 * Names       Below the namespace of the URI, parts separated by '/'. Any UTF-8 without empty parts, "." and "..", at most
 *             CLUSTER_NAME_MAX bytes. What a backend cannot take in a name the driver writes as %XX; two names never meet.
 * Values      At most CLUSTER_VALUE_MAX bytes, on every driver; larger bodies go to the object store by hash. Each value that cluster/
 *             writes ends in a checksum of its own (value_seal in cluster/value.h); drivers carry bytes.
 * Invariants  put and del are compare-and-set on the version that was read: OK says that it was done and is durable, CONFLICT that nothing
 *             was. A version never comes back for a name, also when the register was removed and made again. list has every name that was
 *             there during the whole call, or fails; it is never partial. get sees every put that had returned before it began (a driver
 *             whose servers lag synchronises first).
 * Results     What callers expect to happen is a result: ABSENT, CONFLICT, UNKNOWN (sent, but whether it was done is not known: read
 *             back before doing anything else). With any of them `err` is untouched. The rest are statuses with a message: UNAVAILABLE
 *             (surely not done, after the driver's own retries, within its option for that), DENIED, FULL (no space or quota; what was
 *             there is unchanged), CORRUPT, INVALID_OPTION (a name, value or ttl that is not allowed: refused before anything is sent).
 *             An error is never to be read as "absent" or "empty".
 * Leases      A lease gives liveness, no safety: a holder that was silent for the ttl may have been replaced without knowing. Who counts
 *             on it checks its own clock (cluster/timing.h); what it writes is guarded by versions. `fence` grows with every grant of the
 *             name. A lease that is not renewed for its ttl ends, also where its process lives on. Its register holds the holder's text,
 *             for people; nobody else puts there.
 * Watch       A hint that something below a prefix may have changed: it may come late, twice or never. Polling is the truth.
 * Time        Monotonic, of this process; a driver never compares times of two machines.
 * Ownership   Texts in results are the caller's struct or in the caller's arena. A session is closed by whoever opened it, its leases
 *             before it.
 * Threads     All calls of one session from any threads at once, except close. Hints come on a thread of the driver: no calls in there.
 */
#ifndef SPATE_CLUSTER_DRIVER_H
#define SPATE_CLUSTER_DRIVER_H

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"

struct file_system;
struct option_def;

enum { CLUSTER_NAME_MAX = 600, CLUSTER_VALUE_MAX = 64 << 10, CLUSTER_VERSION_MAX = 96, CLUSTER_HOLDER_MAX = 200 };

enum cluster_result { CLUSTER_OK, CLUSTER_ABSENT, CLUSTER_CONFLICT, CLUSTER_UNKNOWN };

/* Opaque: a driver's own (an ETag, a counter, a znode's version). Equal texts are equal versions; nothing else can be said of two. */
struct cluster_version {
    char token[CLUSTER_VERSION_MAX];
};
struct cluster_value {
    struct text bytes; /* in the arena given */
    struct cluster_version version;
};
struct cluster_names { /* sorted by bytes, without doubles; in the arena given */
    const char **names;
    uint32_t count;
};

struct cluster_environment {         /* what a test replaces; NULL for it: all as the system has it */
    const struct clock *clock;       /* NULL: the system's */
    const struct file_system *files; /* storage/file_system.h; NULL: the real one */
    uint64_t random_seed;            /* 0: from the system */
};
struct cluster_session {
    const struct cluster_driver *driver; /* first member of every driver's session */
};
struct cluster_lease {
    struct cluster_session *session; /* first member of every driver's lease */
    uint64_t fence;
};
enum cluster_liveness { CLUSTER_MAY_LIVE, CLUSTER_GONE /* that process has surely ended */ };

/* The connection as the driver sees it; a hint like all others. EXPIRED: leases and what was bound to the session are lost. */
enum cluster_hint { CLUSTER_CHANGED, CLUSTER_CONNECTED, CLUSTER_DISCONNECTED, CLUSTER_EXPIRED };
typedef void (*cluster_hint_fn)(void *context, enum cluster_hint hint);

struct cluster_driver {
    uint32_t abi; /* CLUSTER_DRIVER_ABI */
    const char *scheme, *summary;
    const struct option_def *options; /* beside the URI: "zookeeper.session-timeout", ... */
    size_t option_count, settings_bytes;
    /* Checks that the service answers, and the credentials. */
    enum status (*open)(const char *uri, const void *settings, const struct cluster_environment *environment,
                        struct cluster_session **session, struct error *err);
    /* release false: leases are left to end by themselves, as at a process's death. */
    void (*close)(struct cluster_session *session, bool release_leases);

    enum status (*get)(struct cluster_session *session, const char *name, struct arena *arena, enum cluster_result *result,
                       struct cluster_value *value, struct error *err);
    /* expect NULL: must be absent. *version: of what was written, with OK. */
    enum status (*put)(struct cluster_session *session, const char *name, struct text value, const struct cluster_version *expect,
                       enum cluster_result *result, struct cluster_version *version, struct error *err);
    /* ABSENT when there was nothing; CONFLICT when another version is there. `expect` is never NULL. */
    enum status (*del)(struct cluster_session *session, const char *name, const struct cluster_version *expect, enum cluster_result *result,
                       struct error *err);
    enum status (*list)(struct cluster_session *session, const char *prefix, struct arena *arena, struct cluster_names *names,
                        struct error *err);
    /* One watch a session; NULL ends it. Drivers without hints take it and never call (docs say which). */
    enum status (*watch)(struct cluster_session *session, const char *prefix, cluster_hint_fn hint, void *context, struct error *err);

    /* OK: granted. CONFLICT: another has it, its holder text is in held_by. A holder that asks again under its own text is another, too. */
    enum status (*lease_acquire)(struct cluster_session *session, const char *name, const char *holder, int64_t ttl_us,
                                 enum cluster_result *result, struct cluster_lease **lease, char held_by[CLUSTER_HOLDER_MAX],
                                 struct error *err);
    /* OK: kept for another ttl from before this call. CONFLICT: it is lost, whoever has it now. */
    enum status (*lease_renew)(struct cluster_lease *lease, enum cluster_result *result, struct error *err);
    /* Ends the lease and frees it, whatever happens; an error only says that others will have to wait for the ttl. */
    enum status (*lease_release)(struct cluster_lease *lease, struct error *err);
    /* NULL where the driver cannot know. `member`: a holder's text, as its process once gave it to lease_acquire, granted or not. */
    enum cluster_liveness (*gone)(struct cluster_session *session, const char *member);
};
enum { CLUSTER_DRIVER_ABI = 1 };

/* ---- cluster/registry.c: opens by the URI's scheme ---- */

/* local: (in this process), local:///dir and file:///dir (processes that share a folder), zookeeper://h:2181,h2:2181/ns,
 * azure://account/container/prefix. Drivers that are not built in come from a loadable module; a missing one is an error that names the
 * package. Any other scheme is a user's (include/spate/driver.h). Options that no driver knows are refused with a suggestion. */
struct cluster_option {
    const char *name, *value;
};
enum status cluster_open(const char *uri, const struct cluster_option *options, size_t option_count,
                         const struct cluster_environment *environment, struct cluster_session **session, struct error *err);
void cluster_close(struct cluster_session *session, bool release_leases); /* NULL is allowed */
bool cluster_option_is_known(const char *name); /* to the driver of its scheme, if that is here: "zookeeper.auth" */
const struct cluster_driver *const *cluster_driver_list(uint32_t *count); /* lent until the thread's next call */
/* Refuses what the head of this file does not allow. */
enum status cluster_name_check(const char *name, struct error *err);
enum status cluster_put_check(const char *name, struct text value, struct error *err); /* of the name, too */
enum status cluster_lease_check(const char *name, const char *holder, int64_t ttl_us, struct error *err);

#endif
