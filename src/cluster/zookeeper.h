/* cluster/zookeeper.h: the driver zookeeper, over libzookeeper_mt: a module. For its own parts.
 *
 * Shape       zookeeper://host:2181,host2:2181/namespace; below the namespace (made when it is missing; "spate" without one) a register is a
 *             znode. A part of a name is encoded (letters, digits, '_', '-' and '.' but in front stand for themselves, all else is %XX); a
 *             part that holds further parts ends with '+', so a register "a" and a register "a/b" do not know of each other.
 * Versions    "czxid.version": a znode's version counts from 0 again when it is made again, its czxid does not. ZooKeeper compares only the
 *             version, so each change looks first at the czxid, and whoever deletes a register also changes the folder's version, which
 *             each put checks in the same transaction: between look and put nobody can have made the register anew.
 * Reads       `sync` goes before each get and list: a server that lags catches up first.
 * Leases      Ephemeral znodes, their czxid the fence; the session's timeout must be the ttl. The client's own thread keeps the session
 *             alive, also when the process hangs: so a lease that was not renewed for its ttl is given up by the driver itself. To renew is
 *             to write: a server cut off from the others cannot say that a lease still stands.
 * Registers of members are not ephemeral: were all members cut from ZooKeeper for a while, none of their registers may vanish for it.
 * Session     Disconnected is a hint. Expired: the leases are lost; the next call opens another session.
 * Threads     The client's two, and one of the session for hints and for leases that fell silent. Nothing is called in a callback.
 */
#ifndef SPATE_CLUSTER_ZOOKEEPER_H
#define SPATE_CLUSTER_ZOOKEEPER_H

#include <pthread.h>
#define THREADED
#include <zookeeper/zookeeper.h>

#include "base/random.h"
#include "base/text.h"
#include "cluster/lease_register.h"

enum { ZK_PATH_MAX = 4096, ZK_NAMESPACE_MAX = 300 };

struct zk_session {
    struct cluster_session base;
    const struct clock *clock;
    struct random_source random;
    char *hosts, *auth; /* auth NULL: none */
    char root[ZK_NAMESPACE_MAX];
    int64_t call_timeout_us;
    int timeout_ms; /* of a session, as asked for */
    const struct ACL_vector *acl;

    pthread_mutex_t mutex; /* of what follows */
    pthread_cond_t changed;
    zhandle_t *handle; /* NULL: being replaced */
    int state;         /* ZOO_..._STATE */
    uint32_t users;    /* calls that have the handle */
    uint64_t generation;
    bool replacing;
    int64_t expired_us; /* when the session was said to be over */

    pthread_t service;
    bool stop, touched, armed_anew, telling; /* touched: a watch fired */
    uint32_t pending;                        /* hints to give, a bit each */
    cluster_hint_fn hint;
    void *hint_context;
    char watched[ZK_PATH_MAX]; /* the folder */

    struct zk_lease *leases;
};

/* ---- zookeeper_session.c ---- */

enum status zk_connect(struct zk_session *self, struct error *err); /* the first time: waits until a server answers */
/* Ends the client. `abandon`: without telling the servers, so that the session ends by its timeout. */
void zk_disconnect(struct zk_session *self, bool abandon);

typedef int (*zk_request)(zhandle_t *handle, struct zk_session *self, void *context);
enum zk_kind {
    ZK_READ,   /* sent again until it is answered */
    ZK_CHANGE, /* sent again only if it was surely not done */
};
/* OK: *rc is what the service said; of a change it may be ZCONNECTIONLOSS: not known whether it was done. */
enum status zk_call(struct zk_session *self, enum zk_kind kind, zk_request request, void *context, int *rc, struct error *err);
/* A request that the client took just when its session ended is never answered. When the session is over and such a call still waits after the
 * call's time, its client is closed, which ends the call. On the service thread, with the mutex held. */
void zk_rescue(struct zk_session *self);
/* For what no caller expects. */
enum status zk_fail(const struct zk_session *self, int rc, const char *what, const char *path, struct error *err);
/* Waits until this client's server has what was committed before. As a part of a zk_request. */
int zk_sync(zhandle_t *handle, const struct zk_session *self);

/* ---- zookeeper_path.c ---- */

/* The znode of a name. */
void zk_path_of_name(const struct zk_session *self, const char *name, char path[ZK_PATH_MAX]);
/* The znode of the folder that the first `length` bytes of a prefix name (0, or they end with '/'). */
void zk_path_of_folder(const struct zk_session *self, const char *prefix, size_t length, char path[ZK_PATH_MAX]);
/* The part that a child's name stands for; false: none of ours. *is_folder: it holds further parts. */
bool zk_part_of_child(const char *child, char *part, size_t capacity, bool *is_folder);
void zk_parent_of(const char *path, char parent[ZK_PATH_MAX]);
/* Makes the folders above a path; as a part of a zk_request. */
int zk_make_parents(zhandle_t *handle, const struct zk_session *self, const char *path);

/* ---- zookeeper_registers.c ---- */

void zk_version_of(const struct Stat *stat, struct cluster_version *version);
enum status zk_get(struct cluster_session *session, const char *name, struct arena *arena, enum cluster_result *result,
                   struct cluster_value *value, struct error *err);
enum status zk_put(struct cluster_session *session, const char *name, struct text value, const struct cluster_version *expect,
                   enum cluster_result *result, struct cluster_version *version, struct error *err);
enum status zk_del(struct cluster_session *session, const char *name, const struct cluster_version *expect, enum cluster_result *result,
                   struct error *err);
/* A znode with its Stat: for leases. *rc: ZOK or ZNONODE. */
struct zk_read {
    const char *path;
    char *bytes; /* CLUSTER_VALUE_MAX + 1 of them */
    int length;
    struct Stat stat;
};
enum status zk_read_node(struct zk_session *self, struct zk_read *read, int *rc, struct error *err);
/* ---- zookeeper_list.c ---- */
enum status zk_list(struct cluster_session *session, const char *prefix, struct arena *arena, struct cluster_names *names,
                    struct error *err);

/* ---- zookeeper_lease.c ---- */

enum status zk_lease_acquire(struct cluster_session *session, const char *name, const char *holder, int64_t ttl_us,
                             enum cluster_result *result, struct cluster_lease **lease, char held_by[CLUSTER_HOLDER_MAX],
                             struct error *err);
enum status zk_lease_renew(struct cluster_lease *lease, enum cluster_result *result, struct error *err);
enum status zk_lease_release(struct cluster_lease *lease, struct error *err);
/* Releases all, or only forgets them. */
void zk_leases_close(struct zk_session *self, bool release);
/* Gives up those that were silent for their ttl; on the service thread. */
void zk_leases_expire(struct zk_session *self);
/* How often that must be looked at; INT64_MAX: there is none. With the mutex held. */
int64_t zk_leases_pause_us(const struct zk_session *self);

/* ---- zookeeper_watch.c ---- */

enum status zk_service_start(struct zk_session *self, struct error *err);
void zk_service_stop(struct zk_session *self);
enum status zk_watch(struct cluster_session *session, const char *prefix, cluster_hint_fn hint, void *context, struct error *err);
/* A hint to give; with the mutex held. */
void zk_hint(struct zk_session *self, enum cluster_hint hint);

#endif
