/* cluster/local.h: the driver local: registers in this process, or in a folder that processes share. For its own parts.
 *
 * Shape       local:, local:NAME    a space of registers by name, in memory, as long as one session is open on it.
 *             local:///dir, file:///dir, a plain path    objects of storage/file_store.h in the folder (lock, fsync, rename), and
 *             <dir>/.spate/present/<holder>    a file whose lock a process has as long as it lives: what `gone` asks.
 *             Both have their leases in registers (cluster/lease_register.h), and hints: an eventfd, or inotify.
 * Presence    A session is present under every holder text that it ever gave to lease_acquire, granted or not; a session that is closed
 *             takes its files away, so only a process that ended leaves an unlocked one. Told on local file systems only: a server of files
 *             may drop the locks of a client that it cannot reach.
 * Refused     Folders on NFS before version 4: their locks are not kept by the server of the file.
 */
#ifndef SPATE_CLUSTER_LOCAL_H
#define SPATE_CLUSTER_LOCAL_H

#include <limits.h>

#include "cluster/lease_register.h"
#include "storage/file_system.h"

struct local_watch; /* local_watch.c: a thread that waits for a descriptor to become readable, and gives a hint */
/* Takes `fd`. `wake`: sees what was read from it before the hint is given; may be NULL. */
typedef void (*local_wake_fn)(void *owner, const void *events, size_t length);
enum status local_watch_open(int fd, local_wake_fn wake, void *owner, cluster_hint_fn hint, void *context, struct local_watch **watch,
                             struct error *err);
void local_watch_close(struct local_watch *watch); /* NULL is allowed; no hint comes after it */

struct local_session {
    struct cluster_session base;
    struct lease_register leases;
    struct memory_space *space; /* in memory */
    struct object_store *store; /* in a folder */
    struct local_presence *presence;
    char root[PATH_MAX];
    pthread_mutex_t mutex; /* of the watch */
    struct local_watch *watch;
    struct folder_watch *folders; /* what the watch sees, in a folder */
};
enum status local_session_create(const struct cluster_driver *driver, const struct cluster_environment *environment,
                                 struct local_session **session, struct error *err);
void local_session_free(struct local_session *session); /* after its leases */
/* The lease calls of both drivers. */
enum status local_lease_acquire(struct cluster_session *session, const char *name, const char *holder, int64_t ttl_us,
                                enum cluster_result *result, struct cluster_lease **lease, char held_by[CLUSTER_HOLDER_MAX],
                                struct error *err);

/* ---- local_presence.c ---- */

/* What the file system of a path is: of the mount table's text (/proc/self/mountinfo). */
struct mount_kind {
    bool refused;  /* its locks cannot be relied on */
    bool one_host; /* nobody else's kernel keeps its locks */
    char type[32];
};
void mount_kind_find(const char *mounts, const char *path, struct mount_kind *kind);

/* `files`: the environment's. Removes files of processes that ended long ago. */
enum status local_presence_open(const char *root, const struct file_system *files, struct local_presence **presence, struct error *err);
void local_presence_close(struct local_presence *presence);
/* Best effort: without it, others wait for the ttl. */
void local_presence_show(struct local_presence *presence, const char *holder);
enum cluster_liveness local_presence_find(struct local_presence *presence, const char *holder);

extern const struct cluster_driver local_memory_driver, local_folder_driver;

#endif
