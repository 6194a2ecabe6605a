/* The driver local without a path: registers in a sorted array of this process. */
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cluster/local.h"

struct memory_register {
    char *name, *bytes;
    size_t length;
    uint64_t version;
};
struct memory_watcher {
    struct local_session *session;
    struct memory_watcher *next;
    int bell; /* eventfd, the watch's */
    char prefix[];
};
struct memory_space {
    struct memory_space *next;
    uint32_t sessions;
    pthread_mutex_t mutex;             /* of what follows */
    struct memory_register *registers; /* by name */
    uint32_t count, capacity;
    struct memory_watcher *watchers;
    char name[];
};

static pthread_mutex_t spaces_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct memory_space *spaces;
static atomic_uint_fast64_t last_version; /* of all spaces: a version never comes back */

static struct memory_space *space_join(const char *name)
{
    pthread_mutex_lock(&spaces_mutex);
    struct memory_space *space = spaces;
    while (space != NULL && strcmp(space->name, name) != 0) {
        space = space->next;
    }
    if (space == NULL && (space = calloc(1, sizeof *space + strlen(name) + 1)) != NULL) {
        memcpy(space->name, name, strlen(name) + 1);
        pthread_mutex_init(&space->mutex, NULL);
        space->next = spaces;
        spaces = space;
    }
    if (space != NULL) {
        space->sessions++;
    }
    pthread_mutex_unlock(&spaces_mutex);
    return space;
}

static void space_free(struct memory_space *space)
{
    for (uint32_t i = 0; i < space->count; i++) {
        free(space->registers[i].name);
        free(space->registers[i].bytes);
    }
    free(space->registers);
    pthread_mutex_destroy(&space->mutex);
    free(space);
}

static void space_leave(struct memory_space *space)
{
    pthread_mutex_lock(&spaces_mutex);
    bool last = --space->sessions == 0;
    for (struct memory_space **at = &spaces; last && *at != NULL; at = &(*at)->next) {
        if (*at == space) {
            *at = space->next;
            break;
        }
    }
    pthread_mutex_unlock(&spaces_mutex);
    if (last) {
        space_free(space);
    }
}

/* Where the name is, or belongs. */
static uint32_t place_of(const struct memory_space *space, const char *name, bool *there)
{
    uint32_t low = 0, high = space->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = strcmp(space->registers[middle].name, name);
        if (order == 0) {
            *there = true;
            return middle;
        }
        *(order < 0 ? &low : &high) = order < 0 ? middle + 1 : middle;
    }
    *there = false;
    return low;
}

static void ring(const struct memory_space *space, const char *name)
{
    for (const struct memory_watcher *at = space->watchers; at != NULL; at = at->next) {
        if (strncmp(name, at->prefix, strlen(at->prefix)) == 0) {
            (void)eventfd_write(at->bell, 1); /* a bell that is full rings already */
        }
    }
}

static void set_version(struct cluster_version *version, uint64_t number)
{
    snprintf(version->token, sizeof version->token, "%" PRIu64, number);
}

static bool is_version(const struct cluster_version *version, uint64_t number)
{
    struct cluster_version other;
    set_version(&other, number);
    return strcmp(version->token, other.token) == 0;
}

static enum status memory_get(struct cluster_session *session, const char *name, struct arena *arena, enum cluster_result *result,
                              struct cluster_value *value, struct error *err)
{
    struct memory_space *space = ((struct local_session *)session)->space;
    bool there;
    TRY(cluster_name_check(name, err));
    pthread_mutex_lock(&space->mutex);
    uint32_t place = place_of(space, name, &there);
    char *bytes = NULL;
    if (there) {
        const struct memory_register *found = &space->registers[place];
        bytes = arena_text(arena, found->bytes, found->length);
        value->bytes = (struct text){bytes, found->length};
        set_version(&value->version, found->version);
    }
    pthread_mutex_unlock(&space->mutex);
    *result = there ? CLUSTER_OK : CLUSTER_ABSENT;
    return there && bytes == NULL ? error_set(err, ERROR_BUDGET_SPENT, "no room for the register '%s'", name) : STATUS_OK;
}

/* Makes room for a name at its place. */
static struct memory_register *insert(struct memory_space *space, uint32_t place, const char *name)
{
    if (space->count == space->capacity) {
        uint32_t capacity = space->capacity == 0 ? 16 : 2 * space->capacity;
        struct memory_register *grown = realloc(space->registers, capacity * sizeof *grown);
        if (grown == NULL) {
            return NULL;
        }
        space->registers = grown;
        space->capacity = capacity;
    }
    char *copy = strdup(name);
    if (copy == NULL) {
        return NULL;
    }
    struct memory_register *at = &space->registers[place];
    memmove(at + 1, at, (space->count - place) * sizeof *at);
    space->count++;
    *at = (struct memory_register){.name = copy};
    return at;
}

static enum status put_locked(struct memory_space *space, const char *name, char *bytes, size_t length,
                              const struct cluster_version *expect, enum cluster_result *result, struct cluster_version *version,
                              struct error *err)
{
    bool there;
    uint32_t place = place_of(space, name, &there);
    struct memory_register *at = there ? &space->registers[place] : NULL;
    if (there ? expect == NULL || !is_version(expect, at->version) : expect != NULL) {
        free(bytes);
        *result = CLUSTER_CONFLICT;
        return STATUS_OK;
    }
    if (at == NULL && (at = insert(space, place, name)) == NULL) {
        free(bytes);
        return error_set(err, ERROR_BUDGET_SPENT, "no room for the register '%s'", name);
    }
    free(at->bytes);
    at->bytes = bytes;
    at->length = length;
    at->version = atomic_fetch_add(&last_version, 1) + 1;
    set_version(version, at->version);
    *result = CLUSTER_OK;
    ring(space, name);
    return STATUS_OK;
}

static enum status memory_put(struct cluster_session *session, const char *name, struct text value, const struct cluster_version *expect,
                              enum cluster_result *result, struct cluster_version *version, struct error *err)
{
    struct memory_space *space = ((struct local_session *)session)->space;
    char *bytes;
    TRY(cluster_put_check(name, value, err));
    TRY_ALLOC(bytes, malloc(value.length + 1), err);
    memcpy(bytes, value.length == 0 ? "" : value.bytes, value.length);
    pthread_mutex_lock(&space->mutex);
    enum status status = put_locked(space, name, bytes, value.length, expect, result, version, err);
    pthread_mutex_unlock(&space->mutex);
    return status;
}

static enum status memory_del(struct cluster_session *session, const char *name, const struct cluster_version *expect,
                              enum cluster_result *result, struct error *err)
{
    struct memory_space *space = ((struct local_session *)session)->space;
    bool there;
    TRY(cluster_name_check(name, err));
    pthread_mutex_lock(&space->mutex);
    uint32_t place = place_of(space, name, &there);
    struct memory_register *at = there ? &space->registers[place] : NULL;
    *result = !there ? CLUSTER_ABSENT : is_version(expect, at->version) ? CLUSTER_OK : CLUSTER_CONFLICT;
    if (*result == CLUSTER_OK) {
        free(at->name);
        free(at->bytes);
        memmove(at, at + 1, (space->count - place - 1) * sizeof *at);
        space->count--;
        ring(space, name);
    }
    pthread_mutex_unlock(&space->mutex);
    return STATUS_OK;
}

static enum status memory_list(struct cluster_session *session, const char *prefix, struct arena *arena, struct cluster_names *names,
                               struct error *err)
{
    struct memory_space *space = ((struct local_session *)session)->space;
    enum status status = STATUS_OK;
    bool there;
    uint32_t capacity = 0;
    *names = (struct cluster_names){0};
    pthread_mutex_lock(&space->mutex);
    for (uint32_t i = place_of(space, prefix, &there); i < space->count && status == STATUS_OK; i++) {
        const char *name = space->registers[i].name;
        if (strncmp(name, prefix, strlen(prefix)) != 0) {
            break;
        }
        names->names = arena_grow(arena, names->names, &capacity, names->count + 1, sizeof *names->names);
        const char *copy = names->names == NULL ? NULL : arena_text(arena, name, strlen(name));
        if (copy == NULL) {
            status = error_set(err, ERROR_BUDGET_SPENT, "no room for a list of registers");
        } else {
            names->names[names->count++] = copy;
        }
    }
    pthread_mutex_unlock(&space->mutex);
    return status;
}

static void unwatch(struct local_session *self)
{
    struct memory_space *space = self->space;
    struct memory_watcher *found = NULL;
    pthread_mutex_lock(&space->mutex);
    for (struct memory_watcher **at = &space->watchers; *at != NULL; at = &(*at)->next) {
        if ((*at)->session == self) {
            found = *at;
            *at = found->next;
            break;
        }
    }
    pthread_mutex_unlock(&space->mutex);
    free(found);
    local_watch_close(self->watch);
    self->watch = NULL;
}

static enum status watch_prefix(struct local_session *self, const char *prefix, cluster_hint_fn hint, void *context, struct error *err)
{
    struct memory_space *space = self->space;
    struct memory_watcher *made;
    TRY_ALLOC(made, calloc(1, sizeof *made + strlen(prefix) + 1), err);
    memcpy(made->prefix, prefix, strlen(prefix) + 1);
    made->session = self;
    made->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    enum status status = made->bell < 0 ? error_set(err, ERROR_THREAD, "no descriptor for hints: %s", strerror(errno))
                                        : local_watch_open(made->bell, NULL, NULL, hint, context, &self->watch, err);
    if (status != STATUS_OK) {
        free(made);
        return status;
    }
    pthread_mutex_lock(&space->mutex);
    made->next = space->watchers;
    space->watchers = made;
    pthread_mutex_unlock(&space->mutex);
    return STATUS_OK;
}

static enum status memory_watch(struct cluster_session *session, const char *prefix, cluster_hint_fn hint, void *context, struct error *err)
{
    struct local_session *self = (struct local_session *)session;
    pthread_mutex_lock(&self->mutex);
    unwatch(self);
    enum status status = hint == NULL ? STATUS_OK : watch_prefix(self, prefix, hint, context, err);
    pthread_mutex_unlock(&self->mutex);
    return status;
}

static enum status memory_open(const char *uri, const void *settings, const struct cluster_environment *environment,
                               struct cluster_session **opened, struct error *err)
{
    struct local_session *self;
    TRY(local_session_create(&local_memory_driver, environment, &self, err));
    self->space = space_join(strchr(uri, ':') + 1);
    if (self->space == NULL) {
        local_session_free(self);
        return error_set(err, ERROR_BUDGET_SPENT, "no room for registers");
    }
    *opened = &self->base;
    return STATUS_OK;
}

static void memory_close(struct cluster_session *session, bool release_leases)
{
    struct local_session *self = (struct local_session *)session;
    lease_register_close(&self->leases, release_leases);
    unwatch(self);
    space_leave(self->space);
    local_session_free(self);
}

const struct cluster_driver local_memory_driver = {
    .abi = CLUSTER_DRIVER_ABI,
    .scheme = "local",
    .summary = "In this process, for its own threads: local: or local:NAME.",
    .open = memory_open,
    .close = memory_close,
    .get = memory_get,
    .put = memory_put,
    .del = memory_del,
    .list = memory_list,
    .watch = memory_watch,
    .lease_acquire = local_lease_acquire,
    .lease_renew = lease_register_renew,
    .lease_release = lease_register_release,
};
