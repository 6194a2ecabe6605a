/* The driver local with a path: registers as objects in a folder that processes share. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/option.h"
#include "cluster/local.h"
#include "cluster/objects.h"
#include "storage/file_store.h"

struct folder_settings {
    struct duration call_timeout;
};
static const struct option_def folder_options[] = {
    {.name = "file.call-timeout",
     OPTION_DURATION(struct folder_settings, call_timeout),
     .initial = "5 s",
     .summary = "How long a call waits for another process's lock of the same register before it counts as unavailable."},
};

/* ---- hints ---- */

/* The folders of a prefix, seen by inotify: those above it for when it comes and goes, those below it for what changes. */
struct folder_watch {
    int fd;
    char root[PATH_MAX], below[FILE_KEY_PATH_MAX]; /* the folder of the prefix, below the root */
};
enum { TREE_DEPTH_MAX = 64, CHANGES = IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_ONLYDIR };

struct tree {
    const struct folder_watch *watch;
    const char *path;
    uint32_t depth;
};

static void watch_tree(const struct folder_watch *watch, const char *path, uint32_t depth);

static bool watch_entry(void *context, const char *name, bool is_folder)
{
    const struct tree *tree = context;
    char path[PATH_MAX];
    if (is_folder && name[0] != '.' && snprintf(path, sizeof path, "%s/%s", tree->path, name) < (int)sizeof path) {
        watch_tree(tree->watch, path, tree->depth + 1);
    }
    return true;
}

/* What cannot be watched is polled: nothing is reported. */
static void watch_tree(const struct folder_watch *watch, const char *path, uint32_t depth)
{
    struct tree tree = {watch, path, depth};
    if (depth < TREE_DEPTH_MAX && inotify_add_watch(watch->fd, path, CHANGES) >= 0) {
        (void)file_system_real.list(&file_system_real, path, watch_entry, &tree);
    }
}

static void watch_all(const struct folder_watch *watch)
{
    char path[PATH_MAX + FILE_KEY_PATH_MAX];
    size_t root = strlen(watch->root), length = strlen(watch->below);
    for (size_t i = 0; i < length; i++) {
        if (i == 0 || watch->below[i] == '/') {
            snprintf(path, sizeof path, "%s/%.*s", watch->root, (int)i, watch->below);
            (void)inotify_add_watch(watch->fd, path, IN_CREATE | IN_ONLYDIR);
        }
    }
    snprintf(path, sizeof path, "%s/%s", watch->root, watch->below);
    path[root + 1 + length - (length > 0 && watch->below[length - 1] == '/')] = '\0';
    watch_tree(watch, path, 0);
}

/* A folder came, or events were lost: look again which folders there are. */
static void folder_wake(void *owner, const void *events, size_t length)
{
    const char *at = events, *end = at + length;
    bool again = false;
    while (at + sizeof(struct inotify_event) <= end) {
        const struct inotify_event *event = (const struct inotify_event *)at;
        again = again || (event->mask & (IN_ISDIR | IN_Q_OVERFLOW)) != 0;
        at += sizeof *event + event->len;
    }
    if (again) {
        watch_all(owner);
    }
}

static void unwatch(struct local_session *self)
{
    local_watch_close(self->watch);
    self->watch = NULL;
    free(self->folders);
    self->folders = NULL;
}

static enum status watch_prefix(struct local_session *self, const char *prefix, cluster_hint_fn hint, void *context, struct error *err)
{
    const char *slash = strrchr(prefix, '/');
    TRY_ALLOC(self->folders, calloc(1, sizeof *self->folders), err);
    self->folders->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (self->folders->fd < 0) {
        return error_set(err, ERROR_THREAD, "no descriptor for hints: %s", strerror(errno));
    }
    snprintf(self->folders->root, sizeof self->folders->root, "%s", self->root);
    file_name_of_folder(prefix, slash == NULL ? 0 : (size_t)(slash - prefix) + 1, self->folders->below);
    watch_all(self->folders);
    return local_watch_open(self->folders->fd, folder_wake, self->folders, hint, context, &self->watch, err);
}

static enum status folder_watch(struct cluster_session *session, const char *prefix, cluster_hint_fn hint, void *context, struct error *err)
{
    struct local_session *self = (struct local_session *)session;
    pthread_mutex_lock(&self->mutex);
    unwatch(self);
    enum status status = hint == NULL ? STATUS_OK : watch_prefix(self, prefix, hint, context, err);
    pthread_mutex_unlock(&self->mutex);
    return status;
}

/* ---- registers ---- */

static enum status folder_get(struct cluster_session *session, const char *name, struct arena *arena, enum cluster_result *result,
                              struct cluster_value *value, struct error *err)
{
    return cluster_objects_get(((struct local_session *)session)->store, name, arena, result, value, err);
}

static enum status folder_put(struct cluster_session *session, const char *name, struct text value, const struct cluster_version *expect,
                              enum cluster_result *result, struct cluster_version *version, struct error *err)
{
    return cluster_objects_put(((struct local_session *)session)->store, name, value, expect, result, version, err);
}

static enum status folder_del(struct cluster_session *session, const char *name, const struct cluster_version *expect,
                              enum cluster_result *result, struct error *err)
{
    return cluster_objects_del(((struct local_session *)session)->store, name, expect, result, err);
}

static enum status folder_list(struct cluster_session *session, const char *prefix, struct arena *arena, struct cluster_names *names,
                               struct error *err)
{
    return cluster_objects_list(((struct local_session *)session)->store, prefix, arena, names, err);
}

static enum cluster_liveness folder_gone(struct cluster_session *session, const char *member)
{
    return local_presence_find(((struct local_session *)session)->presence, member);
}

/* ---- open ---- */

static enum status open_store(struct local_session *self, const char *uri, const struct folder_settings *settings,
                              const struct cluster_environment *environment, struct error *err)
{
    char timeout[32], store_uri[PATH_MAX];
    struct object_option options[] = {{"file.lock-timeout", timeout}};
    struct object_environment below = {environment->clock, environment->files, environment->random_seed};
    bool is_local = strncmp(uri, "local:", 6) == 0;
    snprintf(timeout, sizeof timeout, "%" PRId64 " ms", settings->call_timeout.us / 1000);
    if (snprintf(store_uri, sizeof store_uri, "%s%s", is_local ? "file:" : "", is_local ? uri + 6 : uri) >= (int)sizeof store_uri) {
        return error_set(err, ERROR_CLUSTER_URI, "the path '%.60s...' is too long", uri);
    }
    TRY(object_store_open(store_uri, options, ARRAY_LENGTH(options), &below, &self->store, err));
    const struct file_store *files = (const struct file_store *)self->store;
    if (files->read_only) {
        return error_set(err, ERROR_CLUSTER_DENIED, "the folder '%s' may only be read", files->root);
    }
    if (!files->caps.conditional_put) {
        return error_set(err, ERROR_CLUSTER_UNFIT, "the file system of '%s' keeps no locks, or links a name twice", files->root);
    }
    return realpath(files->root, self->root) != NULL
               ? STATUS_OK
               : error_set(err, ERROR_CLUSTER_UNAVAILABLE, "cannot find '%s': %s", files->root, strerror(errno));
}

static void folder_close(struct cluster_session *session, bool release_leases)
{
    struct local_session *self = (struct local_session *)session;
    unwatch(self);
    lease_register_close(&self->leases, release_leases);
    if (self->presence != NULL) {
        local_presence_close(self->presence);
    }
    object_store_close(self->store);
    local_session_free(self);
}

static enum status folder_open(const char *uri, const void *settings, const struct cluster_environment *environment,
                               struct cluster_session **opened, struct error *err)
{
    const struct file_system *files = environment->files == NULL ? &file_system_real : environment->files;
    struct local_session *self;
    enum status status;
    TRY(local_session_create(&local_folder_driver, environment, &self, err));
    TRY_GOTO(failed, status, open_store(self, uri, settings, environment, err));
    TRY_GOTO(failed, status, local_presence_open(self->root, files, &self->presence, err));
    *opened = &self->base;
    return STATUS_OK;
failed:
    folder_close(&self->base, false);
    return status;
}

const struct cluster_driver local_folder_driver = {
    .abi = CLUSTER_DRIVER_ABI,
    .scheme = "file",
    .summary = "A folder that processes share: local:///dir, file:///dir, or a path.",
    .options = folder_options,
    .option_count = ARRAY_LENGTH(folder_options),
    .settings_bytes = sizeof(struct folder_settings),
    .open = folder_open,
    .close = folder_close,
    .get = folder_get,
    .put = folder_put,
    .del = folder_del,
    .list = folder_list,
    .watch = folder_watch,
    .lease_acquire = local_lease_acquire,
    .lease_renew = lease_register_renew,
    .lease_release = lease_register_release,
    .gone = folder_gone,
};
