#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/zookeeper.h"

/* A list under way. `name`: of the folder that is looked at, with '/' at its end. */
struct listing {
    struct zk_session *session;
    const char *prefix;
    struct arena *arena;
    struct cluster_names *names;
    uint32_t capacity;
    char name[CLUSTER_NAME_MAX + 2];
    size_t length;
};

struct children {
    char path[ZK_PATH_MAX];
    struct String_vector found;
};

static int read_children(zhandle_t *handle, struct zk_session *self, void *context)
{
    struct children *children = context;
    return zoo_get_children(handle, children->path, 0, &children->found);
}

static int sync_first(zhandle_t *handle, struct zk_session *self, void *context)
{
    return zk_sync(handle, self);
}

static enum status add_name(struct listing *self, const char *part, struct error *err)
{
    struct cluster_names *names = self->names;
    TRY_ALLOC(names->names, arena_grow(self->arena, names->names, &self->capacity, names->count + 1, sizeof *names->names), err);
    TRY_ALLOC(names->names[names->count], arena_format(self->arena, "%.*s%s", (int)self->length, self->name, part), err);
    names->count += strncmp(names->names[names->count], self->prefix, strlen(self->prefix)) == 0;
    return STATUS_OK;
}

static enum status list_folder(struct listing *self, struct error *err);

/* NOLINTNEXTLINE(misc-no-recursion): a name has at most 300 parts */
static enum status list_child(struct listing *self, const char *child, struct error *err)
{
    char part[CLUSTER_NAME_MAX + 1];
    bool is_folder;
    if (!zk_part_of_child(child, part, sizeof part, &is_folder)) {
        return STATUS_OK; /* not ours */
    }
    if (!is_folder) {
        return add_name(self, part, err);
    }
    size_t before = self->length, room = sizeof self->name - before;
    if ((size_t)snprintf(self->name + before, room, "%s/", part) >= room) {
        return STATUS_OK;
    }
    self->length = strlen(self->name);
    size_t common = strlen(self->prefix) < self->length ? strlen(self->prefix) : self->length;
    enum status status = strncmp(self->name, self->prefix, common) == 0 ? list_folder(self, err) : STATUS_OK;
    self->length = before;
    self->name[before] = '\0';
    return status;
}

/* NOLINTNEXTLINE(misc-no-recursion) */
static enum status list_folder(struct listing *self, struct error *err)
{
    struct children *children;
    int rc;
    TRY_ALLOC(children, calloc(1, sizeof *children), err);
    zk_path_of_folder(self->session, self->name, self->length, children->path);
    enum status status = zk_call(self->session, ZK_READ, read_children, children, &rc, err);
    if (status == STATUS_OK && rc != ZOK && rc != ZNONODE) {
        status = zk_fail(self->session, rc, "list", children->path, err);
    }
    for (int32_t i = 0; status == STATUS_OK && rc == ZOK && i < children->found.count; i++) {
        status = list_child(self, children->found.data[i], err);
    }
    deallocate_String_vector(&children->found);
    free(children);
    return status;
}

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

enum status zk_list(struct cluster_session *session, const char *prefix, struct arena *arena, struct cluster_names *names,
                    struct error *err)
{
    struct listing listing = {.session = (struct zk_session *)session, .prefix = prefix, .arena = arena, .names = names};
    const char *slash = strrchr(prefix, '/');
    int rc;
    *names = (struct cluster_names){0};
    listing.length = slash == NULL ? 0 : (size_t)(slash - prefix) + 1;
    if (listing.length >= sizeof listing.name) {
        return STATUS_OK; /* no name is as long */
    }
    memcpy(listing.name, prefix, listing.length);
    TRY(zk_call(listing.session, ZK_READ, sync_first, NULL, &rc, err));
    TRY(list_folder(&listing, err));
    if (names->count > 1) {
        qsort(names->names, names->count, sizeof *names->names, compare_names);
    }
    return STATUS_OK;
}
