/* Which processes that share a folder are alive: each holds the lock of a file of its name. And what the folder's file system can be
 * trusted with. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cluster/local.h"

enum { PRESENT_MAX = 64, NAME_BYTES = 200, FORGOTTEN_AFTER_S = 24 * 60 * 60 };

/* ---- the mount table ---- */

/* Undoes \040 and its like, in place. */
static void unescape(char *text)
{
    char *to = text;
    for (const char *at = text; *at != '\0'; to++) {
        bool octal = at[0] == '\\' && isdigit((unsigned char)at[1]) && isdigit((unsigned char)at[2]) && isdigit((unsigned char)at[3]);
        *to = octal ? (char)((at[1] - '0') * 64 + (at[2] - '0') * 8 + (at[3] - '0')) : *at;
        at += octal ? 4 : 1;
    }
    *to = '\0';
}

static bool is_below(const char *path, const char *folder)
{
    size_t length = strlen(folder);
    length -= length > 0 && folder[length - 1] == '/';
    return strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

static void judge_type(struct mount_kind *kind)
{
    static const char *const of_one_host[] = {"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "zfs", "tmpfs", "ramfs", "overlay"};
    kind->refused = strcmp(kind->type, "nfs") == 0; /* before version 4; that one is "nfs4" */
    kind->one_host = false;
    for (size_t i = 0; i < ARRAY_LENGTH(of_one_host); i++) {
        kind->one_host = kind->one_host || strcmp(kind->type, of_one_host[i]) == 0;
    }
}

void mount_kind_find(const char *mounts, const char *path, struct mount_kind *kind)
{
    size_t best = 0;
    *kind = (struct mount_kind){0};
    for (const char *line = mounts; *line != '\0'; line += strcspn(line, "\n"), line += *line == '\n') {
        char point[PATH_MAX], type[32];
        size_t length = strcspn(line, "\n");
        const char *dash = memmem(line, length, " - ", 3);
        if (dash == NULL || sscanf(line, "%*s %*s %*s %*s %4095s", point) != 1 || sscanf(dash + 3, "%31s", type) != 1) {
            continue;
        }
        unescape(point);
        if (is_below(path, point) && strlen(point) >= best) { /* a later mount on the same place covers the earlier */
            best = strlen(point);
            memcpy(kind->type, type, sizeof type);
        }
    }
    judge_type(kind);
}

static enum status find_kind(const char *root, struct mount_kind *kind, struct error *err)
{
    struct text_builder mounts = {0};
    char block[4096];
    size_t length;
    *kind = (struct mount_kind){0};
    FILE *file = fopen("/proc/self/mountinfo", "re");
    while (file != NULL && (length = fread(block, 1, sizeof block, file)) > 0) {
        text_append(&mounts, block, length);
    }
    if (file != NULL) {
        fclose(file);
    }
    if (mounts.length > 0 && !mounts.failed) {
        mount_kind_find(mounts.bytes, root, kind);
    }
    text_builder_close(&mounts);
    return kind->refused ? error_set(err, ERROR_CLUSTER_UNFIT,
                                     "'%s' is on NFS before version 4, whose locks cannot be relied on; mount it with vers=4", root)
                         : STATUS_OK;
}

/* ---- presence ---- */

struct local_presence {
    const struct file_system *files;
    pthread_mutex_t mutex; /* of what follows */
    uint32_t count;
    struct {
        char name[NAME_BYTES];
        int fd;
    } shown[PRESENT_MAX];
    bool told; /* does a lock that is free prove that its process ended? */
    char folder[PATH_MAX];
};

/* A name of a file for a holder; false: too long for one. */
static bool encode_holder(const char *holder, char name[NAME_BYTES])
{
    size_t length = 0;
    for (const char *at = holder; *at != '\0'; at++) {
        if (length + 4 > NAME_BYTES) {
            return false;
        }
        bool plain = isalnum((unsigned char)*at) || *at == '_' || *at == '-';
        length += (size_t)snprintf(name + length, 4, plain ? "%c" : "%%%02X", (unsigned char)*at);
    }
    return true;
}

static bool path_of(const struct local_presence *self, const char *name, char path[PATH_MAX])
{
    return snprintf(path, PATH_MAX, "%s/%s", self->folder, name) < PATH_MAX;
}

/* -1, or the file of a holder that is there. */
static int open_name(const struct local_presence *self, const char *name, int flags)
{
    char path[PATH_MAX];
    return path_of(self, name, path) ? self->files->open(self->files, path, O_RDWR | O_CLOEXEC | flags, 0666) : -1;
}

/* Is the file's lock free, though nobody who is alive gave it up? */
static bool has_ended(const struct local_presence *self, int fd, struct stat *status)
{
    return self->files->lock(self->files, fd, 0) == 0 && self->files->fstat(self->files, fd, status) == 0 && status->st_nlink > 0;
}

static bool sweep_one(void *context, const char *name, bool is_folder)
{
    const struct local_presence *self = context;
    struct stat status;
    char path[PATH_MAX];
    int fd = is_folder ? -1 : open_name(self, name, 0);
    if (fd >= 0) {
        if (has_ended(self, fd, &status) && status.st_mtime + FORGOTTEN_AFTER_S < time(NULL) && path_of(self, name, path)) {
            self->files->unlink(self->files, path);
        }
        self->files->close(self->files, fd);
    }
    return true;
}

enum status local_presence_open(const char *root, const struct file_system *files, struct local_presence **presence, struct error *err)
{
    struct mount_kind kind;
    struct local_presence *self;
    TRY(find_kind(root, &kind, err));
    TRY_ALLOC(self, calloc(1, sizeof *self), err);
    self->files = files;
    self->told = kind.one_host;
    snprintf(self->folder, sizeof self->folder, "%.4000s/.spate/present", root);
    if (!file_system_make_folders(files, self->folder)) {
        enum status status = error_set(err, ERROR_CLUSTER_UNAVAILABLE, "cannot create '%s': %s", self->folder, strerror(errno));
        free(self);
        return status;
    }
    pthread_mutex_init(&self->mutex, NULL);
    (void)files->list(files, self->folder, sweep_one, self);
    *presence = self;
    return STATUS_OK;
}

void local_presence_close(struct local_presence *presence)
{
    char path[PATH_MAX];
    for (uint32_t i = 0; i < presence->count; i++) {
        if (path_of(presence, presence->shown[i].name, path)) {
            presence->files->unlink(presence->files, path); /* before the lock goes: this process lives on */
        }
        presence->files->close(presence->files, presence->shown[i].fd);
    }
    pthread_mutex_destroy(&presence->mutex);
    free(presence);
}

void local_presence_show(struct local_presence *presence, const char *holder)
{
    char name[NAME_BYTES] = "";
    if (!encode_holder(holder, name)) {
        return;
    }
    pthread_mutex_lock(&presence->mutex);
    bool shown = presence->count == PRESENT_MAX;
    for (uint32_t i = 0; i < presence->count && !shown; i++) {
        shown = strcmp(presence->shown[i].name, name) == 0;
    }
    int fd = shown ? -1 : open_name(presence, name, O_CREAT);
    if (fd >= 0 && presence->files->lock(presence->files, fd, 0) == 0) {
        memcpy(presence->shown[presence->count].name, name, sizeof name);
        presence->shown[presence->count++].fd = fd;
    } else if (fd >= 0) {
        presence->files->close(presence->files, fd);
    }
    pthread_mutex_unlock(&presence->mutex);
}

enum cluster_liveness local_presence_find(struct local_presence *presence, const char *holder)
{
    char name[NAME_BYTES] = "";
    struct stat status;
    int fd = presence->told && encode_holder(holder, name) ? open_name(presence, name, 0) : -1;
    if (fd < 0) {
        return CLUSTER_MAY_LIVE;
    }
    bool ended = has_ended(presence, fd, &status);
    presence->files->close(presence->files, fd);
    return ended ? CLUSTER_GONE : CLUSTER_MAY_LIVE;
}
