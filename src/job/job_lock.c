#include "job/job_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/file_system.h"

/* A process that was killed holds its lock until the kernel has cleared it away: that is waited for. */
enum { LOCK_POLL_US = 20000, LOCK_PATIENCE_US = 2000000, PATH_BYTES = 4096 };

/* ---- the lock ---- */

/* The folder of a file store; NULL: another kind, where manifests alone fence. */
static const char *store_folder(const struct storage *storage)
{
    const char *uri = storage_uri(storage, STORE_JOBS);
    if (strncmp(uri, "file://", 7) == 0) {
        return uri + 7;
    }
    return strstr(uri, "://") == NULL ? uri : NULL;
}

/* The lock's file, or with a suffix a message's. An id may hold a '/'. */
static void lock_path(const struct storage *storage, const char *id, const char *suffix, char *path, size_t size)
{
    size_t length = (size_t)snprintf(path, size, "%s/locks/", store_folder(storage));
    for (; *id != '\0' && length + 4 < size; id++) {
        length += (size_t)snprintf(path + length, size - length, *id == '/' || *id == '%' ? "%%%02X" : "%c", (unsigned char)*id);
    }
    if (length < size) {
        snprintf(path + length, size - length, "%s", suffix);
    }
}

static void read_owner(int lock, char *owner, size_t size)
{
    ssize_t length = pread(lock, owner, size - 1, 0);
    owner[length > 0 ? length : 0] = '\0';
}

static enum status lock_refused(const struct job_lock_wish *wish, int lock, struct error *err)
{
    char owner[32];
    read_owner(lock, owner, sizeof owner);
    return error_set(err, ERROR_JOB_TAKEN, "job '%s' is run by another process%s%s", wish->job, owner[0] != '\0' ? ", " : "", owner);
}

static void tell_wait(const struct job_lock_wish *wish, int lock)
{
    char owner[32];
    read_owner(lock, owner, sizeof owner);
    if (wish->wait.told != NULL) {
        wish->wait.told(wish->wait.context, owner);
    }
}

static enum status write_owner(int lock, const char *path, struct error *err)
{
    char owner[32];
    int length = snprintf(owner, sizeof owner, "process %d", (int)getpid());
    if (ftruncate(lock, 0) != 0 || !file_system_write_all(&file_system_real, lock, owner, (size_t)length)) {
        return error_set(err, ERROR_STORE_UNAVAILABLE, "cannot write the lock '%s': %s", path, strerror(errno));
    }
    return STATUS_OK;
}

static enum status lock_wait(int lock, const char *path, const struct job_lock_wish *wish, struct error *err)
{
    for (int64_t waited_us = 0; flock(lock, LOCK_EX | LOCK_NB) != 0; waited_us += LOCK_POLL_US) {
        bool cancelled = wish->cancelled != NULL && atomic_load(wish->cancelled);
        if ((!wish->standby && waited_us >= LOCK_PATIENCE_US) || cancelled) {
            return lock_refused(wish, lock, err);
        }
        if (wish->standby && waited_us == 0) {
            tell_wait(wish, lock);
        }
        usleep(LOCK_POLL_US);
    }
    return write_owner(lock, path, err);
}

static enum status make_folder(const struct storage *storage, struct error *err)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/locks", store_folder(storage));
    return file_system_make_folders(&file_system_real, path)
               ? STATUS_OK
               : error_set(err, ERROR_STORE_UNAVAILABLE, "cannot make the folder '%s': %s", path, strerror(errno));
}

enum status job_lock_take(struct storage *storage, const char *id, const struct job_lock_wish *wish, int *lock, struct error *err)
{
    char path[PATH_BYTES];
    *lock = -1;
    if (store_folder(storage) == NULL) {
        return STATUS_OK;
    }
    TRY(make_folder(storage, err));
    lock_path(storage, id, "", path, sizeof path);
    int opened = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (opened < 0) {
        return error_set(err, ERROR_STORE_UNAVAILABLE, "cannot open the lock '%s': %s", path, strerror(errno));
    }
    enum status status = lock_wait(opened, path, wish, err);
    if (status != STATUS_OK) {
        close(opened);
        return status;
    }
    *lock = opened;
    return STATUS_OK;
}

bool job_lock_is_possible(const struct storage *storage)
{
    return store_folder(storage) != NULL;
}

void job_lock_name(const struct storage *storage, const char *id, char *path, size_t size)
{
    path[0] = '\0';
    if (store_folder(storage) != NULL) {
        lock_path(storage, id, "", path, size);
    }
}

enum status job_lock_try(struct storage *storage, const char *id, int *lock, struct error *err)
{
    char path[PATH_BYTES];
    *lock = -1;
    if (store_folder(storage) == NULL) {
        return error_set(err, ERROR_NOT_SUPPORTED,
                         "'high-availability.policy' = 'active' needs storage in a folder, where jobs have locks");
    }
    TRY(make_folder(storage, err));
    lock_path(storage, id, "", path, sizeof path);
    int opened = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (opened < 0) {
        return error_set(err, ERROR_STORE_UNAVAILABLE, "cannot open the lock '%s': %s", path, strerror(errno));
    }
    if (flock(opened, LOCK_EX | LOCK_NB) != 0 || job_lock_was_broken(storage, id, opened)) {
        close(opened);
        return STATUS_OK;
    }
    *lock = opened;
    return write_owner(opened, path, err);
}

bool job_lock_was_broken(struct storage *storage, const char *id, int lock)
{
    char path[PATH_BYTES];
    struct stat mine, there;
    lock_path(storage, id, "", path, sizeof path);
    return fstat(lock, &mine) == 0 && stat(path, &there) == 0 && (mine.st_ino != there.st_ino || mine.st_dev != there.st_dev);
}

/* A new file in the place of the other's, locked before it is there. */
enum status job_lock_break(struct storage *storage, const char *id, int *lock, struct error *err)
{
    char path[PATH_BYTES], beside[PATH_BYTES + 16];
    lock_path(storage, id, "", path, sizeof path);
    snprintf(beside, sizeof beside, "%s.%d", path, (int)getpid());
    int opened = open(beside, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    enum status status = opened < 0 || flock(opened, LOCK_EX | LOCK_NB) != 0
                             ? error_set(err, ERROR_STORE_UNAVAILABLE, "cannot make the lock '%s': %s", beside, strerror(errno))
                             : write_owner(opened, beside, err);
    if (status == STATUS_OK && rename(beside, path) != 0) {
        status = error_set(err, ERROR_STORE_UNAVAILABLE, "cannot rename the lock '%s': %s", beside, strerror(errno));
    }
    if (status != STATUS_OK && opened >= 0) {
        unlink(beside);
        close(opened);
        return status;
    }
    *lock = opened;
    return status;
}

enum job_running job_lock_look(struct storage *storage, const char *id, int *pid)
{
    const char *folder = store_folder(storage);
    char path[PATH_BYTES], owner[32];
    *pid = 0;
    if (folder == NULL) {
        return JOB_RUNNING_UNKNOWN;
    }
    lock_path(storage, id, "", path, sizeof path);
    int lock = open(path, O_RDONLY | O_CLOEXEC);
    if (lock < 0) {
        return errno == ENOENT ? JOB_RUNNING_NOWHERE : JOB_RUNNING_UNKNOWN;
    }
    bool held = flock(lock, LOCK_SH | LOCK_NB) != 0;
    if (held) {
        read_owner(lock, owner, sizeof owner);
        *pid = strncmp(owner, "process ", 8) == 0 ? (int)strtol(owner + 8, NULL, 10) : 0;
    }
    close(lock);
    return held ? JOB_RUNNING_HERE : JOB_RUNNING_NOWHERE;
}

/* ---- nothing is left ---- */

struct forgotten {
    const char *folder, *prefix;
};

static bool forget_stream(void *context, const char *name, bool is_folder)
{
    const struct forgotten *forgotten = context;
    char path[PATH_BYTES];
    if (!is_folder && strncmp(name, forgotten->prefix, strlen(forgotten->prefix)) == 0) {
        snprintf(path, sizeof path, "%s/%s", forgotten->folder, name);
        unlink(path);
    }
    return true;
}

/* What standbys read (tick_stream.h). */
static void forget_streams(struct storage *storage, const char *id)
{
    char folder[PATH_BYTES], prefix[PATH_BYTES];
    if (store_folder(storage) != NULL) {
        snprintf(folder, sizeof folder, "%s/locks", store_folder(storage));
        lock_path(storage, id, ".ticks.", prefix, sizeof prefix);
        struct forgotten forgotten = {folder, strrchr(prefix, '/') + 1};
        (void)!file_system_real.list(&file_system_real, folder, forget_stream, &forgotten);
    }
}

void job_lock_forget(struct storage *storage, const char *id)
{
    static const char *const suffixes[] = {".request", ".reply", ""};
    char path[PATH_BYTES];
    forget_streams(storage, id);
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0] && store_folder(storage) != NULL; i++) {
        lock_path(storage, id, suffixes[i], path, sizeof path);
        unlink(path);
    }
}
