#include "state/cold_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"
#include "storage/file_system.h"

#define FOLDER_BEGIN "spate-state-"
#define LOCK_END     ".lock"

struct cold_folder {
    atomic_uint users;
    int lock;
    char path[COLD_PATH_MAX - 64]; /* its lock's has LOCK_END behind it */
};

static enum status fail(struct error *err, const char *what, const char *path)
{
    return error_set(err, ERROR_STATE_DISK, "cannot %s '%s': %s", what, path, strerror(errno));
}

/* ---- removing ---- */

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *at)
{
    (void)status;
    (void)kind;
    (void)at;
    (void)!remove(path); /* what stays is tried again by the next job in this place */
    return 0;
}

void cold_remove_tree(const char *path)
{
    enum { DESCRIPTORS = 8 };
    (void)!nftw(path, remove_entry, DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
}

/* ---- locks ---- */

/* The lock's file, held; -1: another has it, or it went away in between. */
static int lock_file(const char *path, int flags)
{
    struct stat here, there;
    int lock = file_system_real.open(&file_system_real, path, O_RDWR | O_CLOEXEC | flags, 0600);
    if (lock < 0) {
        return -1;
    }
    if (file_system_real.lock(&file_system_real, lock, 0) != 0 || fstat(lock, &here) != 0 || stat(path, &there) != 0 ||
        here.st_ino != there.st_ino) {
        close(lock);
        return -1;
    }
    return lock;
}

struct listing {
    const char *where;
    uint32_t own_length; /* of the name that is not to be touched */
    const char *own;
};

/* The folder goes before its lock: without the lock nobody would find it. */
static bool remove_if_orphan(void *context, const char *name, bool is_folder)
{
    const struct listing *listing = context;
    size_t length = strlen(name), end = strlen(LOCK_END);
    char path[COLD_PATH_MAX];
    if (is_folder || strncmp(name, FOLDER_BEGIN, strlen(FOLDER_BEGIN)) != 0 || length < end || strcmp(name + length - end, LOCK_END) != 0 ||
        snprintf(path, sizeof path, "%s/%s", listing->where, name) >= (int)sizeof path || strcmp(path, listing->own) == 0) {
        return true;
    }
    int lock = lock_file(path, 0);
    if (lock >= 0) {
        path[strlen(path) - end] = '\0';
        cold_remove_tree(path);
        path[strlen(path)] = LOCK_END[0];
        (void)!unlink(path);
        close(lock);
    }
    return true;
}

/* ---- the folder ---- */

static enum status make_in(struct cold_folder *self, const char *where, struct error *err)
{
    enum { ATTEMPTS = 8 };
    struct random_source random;
    char name[RANDOM_NAME_BYTES], lock_path[COLD_PATH_MAX];
    random_open(&random, 0);
    errno = 0;
    for (uint32_t attempt = 0; attempt < ATTEMPTS && self->lock < 0; attempt++) {
        random_name(&random, name);
        if (snprintf(self->path, sizeof self->path, "%s/" FOLDER_BEGIN "%.16s", where, name) >= (int)sizeof self->path) {
            errno = ENAMETOOLONG;
            break;
        }
        snprintf(lock_path, sizeof lock_path, "%s" LOCK_END, self->path);
        self->lock = lock_file(lock_path, O_CREAT | O_EXCL);
    }
    if (self->lock < 0) {
        return fail(err, "make a folder for state in", where);
    }
    if (mkdir(self->path, 0700) != 0) {
        return fail(err, "make the folder", self->path);
    }
    (void)!file_system_real.list(&file_system_real, where, remove_if_orphan, &(struct listing){.where = where, .own = lock_path});
    return STATUS_OK;
}

static const char *default_place(void)
{
    const char *temporary = secure_getenv("TMPDIR");
    return temporary != NULL && temporary[0] != '\0' ? temporary : "/var/tmp";
}

enum status cold_folder_open(const char *where, struct cold_folder **folder, struct error *err)
{
    where = where != NULL ? where : default_place();
    if (!file_system_make_folders(&file_system_real, where)) {
        return fail(err, "make the folder for state", where);
    }
    struct cold_folder *self = calloc(1, sizeof *self);
    if (self == NULL) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room for a folder of state");
    }
    atomic_init(&self->users, 1);
    self->lock = -1;
    enum status status = make_in(self, where, err);
    if (status != STATUS_OK) {
        cold_folder_close(self);
        return status;
    }
    *folder = self;
    return STATUS_OK;
}

struct cold_folder *cold_folder_share(struct cold_folder *folder)
{
    atomic_fetch_add(&folder->users, 1);
    return folder;
}

void cold_folder_close(struct cold_folder *folder)
{
    if (folder == NULL || atomic_fetch_sub(&folder->users, 1) > 1) {
        return;
    }
    if (folder->lock >= 0) {
        char lock_path[COLD_PATH_MAX];
        cold_remove_tree(folder->path);
        snprintf(lock_path, sizeof lock_path, "%s" LOCK_END, folder->path);
        (void)!unlink(lock_path);
        close(folder->lock);
    }
    free(folder);
}

void cold_folder_path(const struct cold_folder *folder, uint32_t worker, uint64_t number, char path[COLD_PATH_MAX])
{
    if (number == 0) {
        snprintf(path, COLD_PATH_MAX, "%s/%u", folder->path, worker);
    } else {
        snprintf(path, COLD_PATH_MAX, "%s/%u.%llu", folder->path, worker, (unsigned long long)number);
    }
}

static enum status temporary_in(const char *folder, const char *name, FILE **file, struct error *err)
{
    char path[COLD_PATH_MAX];
    snprintf(path, sizeof path, "%s/%s-XXXXXX", folder, name);
    int opened = mkostemp(path, O_CLOEXEC);
    *file = opened < 0 ? NULL : fdopen(opened, "w+");
    if (*file == NULL) {
        return fail(err, "make the file", path);
    }
    (void)!unlink(path);
    return STATUS_OK;
}

enum status cold_folder_temporary(const struct cold_folder *folder, FILE **file, struct error *err)
{
    return temporary_in(folder->path, "rows", file, err);
}

enum status cold_temporary(FILE **file, struct error *err)
{
    return temporary_in(default_place(), "spate", file, err);
}
