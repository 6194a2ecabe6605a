#include "job/job_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/random.h"
#include "storage/file_system.h"

/* A process that was killed holds its lock until the kernel has cleared it away: that is waited for. */
enum { LOCK_POLL_US = 20000, LOCK_PATIENCE_US = 2000000, PATH_BYTES = 4096, REQUEST_BYTES = 8192 };

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

/* ---- requests ---- */

/* Whole or not at all: written beside, then renamed. */
static bool message_write(const char *path, const char *text)
{
    char beside[PATH_BYTES + 16];
    snprintf(beside, sizeof beside, "%s.%d", path, (int)getpid());
    FILE *file = fopen(beside, "we");
    if (file == NULL) {
        return false;
    }
    bool written = fputs(text, file) >= 0;
    written = fclose(file) == 0 && written;
    if (!written || rename(beside, path) != 0) {
        unlink(beside);
        return false;
    }
    return true;
}

/* The lines of a message in the arena; false: there is none. */
static bool message_read(const char *path, struct arena *arena, const char **lines, uint32_t count)
{
    char text[REQUEST_BYTES];
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = '\0';
    char *at = text;
    for (uint32_t i = 0; i < count; i++) {
        size_t line = i + 1 < count ? strcspn(at, "\n") : strlen(at);
        lines[i] = arena_text(arena, at, line);
        if (lines[i] == NULL) {
            return false;
        }
        at += line + (at[line] == '\n');
    }
    return true;
}

static bool find_reply(struct storage *storage, const char *id, const char *token, struct arena *arena, const char **lines)
{
    char path[PATH_BYTES];
    lock_path(storage, id, ".reply", path, sizeof path);
    return message_read(path, arena, lines, 3) && strcmp(lines[0], token) == 0;
}

#define X(ask, name) name,
static const char *const asks[JOB_ASK_COUNT] = {JOB_ASK_LIST(X)};
#undef X

struct asked {
    struct storage *storage;
    const char *id, *token, *what;
    int64_t until_us;
};

static bool is_late(const struct asked *asked)
{
    const struct clock *clock = storage_clock(asked->storage);
    return clock->monotonic_us(clock) > asked->until_us;
}

static enum status wait_for_reply(const struct asked *asked, struct arena *arena, const char **where, struct error *err)
{
    const char *lines[3];
    int pid;
    while (!find_reply(asked->storage, asked->id, asked->token, arena, lines)) {
        if (job_lock_look(asked->storage, asked->id, &pid) != JOB_RUNNING_HERE &&
            !find_reply(asked->storage, asked->id, asked->token, arena, lines)) {
            return error_set(err, ERROR_STORE_UNAVAILABLE, "the process that runs job %s ended before it had answered (%s)", asked->id,
                             asked->what);
        }
        if (is_late(asked)) {
            return error_set(err, ERROR_STORE_UNAVAILABLE, "process %d, which runs job %s, did not answer in time (%s)", pid, asked->id,
                             asked->what);
        }
        usleep(LOCK_POLL_US);
    }
    if (strcmp(lines[1], "ok") != 0) {
        return error_set(err, ERROR_STORE_UNAVAILABLE, "the process that runs job %s could not do it (%s): %s", asked->id, asked->what,
                         lines[2]);
    }
    *where = lines[2];
    return STATUS_OK;
}

static enum status wait_for_end(const struct asked *asked, struct error *err)
{
    int pid;
    while (job_lock_look(asked->storage, asked->id, &pid) == JOB_RUNNING_HERE) {
        if (is_late(asked)) {
            return error_set(err, ERROR_STORE_UNAVAILABLE, "process %d has ended job %s, but not let go of it in time", pid, asked->id);
        }
        usleep(LOCK_POLL_US);
    }
    return STATUS_OK;
}

static enum status write_request(const struct asked *asked, const char *place, const char *path, struct error *err)
{
    char text[REQUEST_BYTES];
    int length = snprintf(text, sizeof text, "%s\n%s\n%s", asked->token, asked->what, place == NULL ? "" : place);
    return length < (int)sizeof text && message_write(path, text)
               ? STATUS_OK
               : error_set(err, ERROR_STORE_UNAVAILABLE, "cannot write '%s': %s", path, strerror(errno));
}

enum status job_request_send(struct storage *storage, const char *id, enum job_ask ask, const char *place, int64_t timeout_us,
                             struct arena *arena, const char **where, struct error *err)
{
    char path[PATH_BYTES], reply[PATH_BYTES], token[RANDOM_NAME_BYTES];
    const struct clock *clock = storage_clock(storage);
    int pid;
    if (job_lock_look(storage, id, &pid) != JOB_RUNNING_HERE || pid <= 0) {
        return error_set(err, ERROR_STORE_UNAVAILABLE, "no process that runs job %s can be asked", id);
    }
    struct random_source random;
    random_open(&random, 0);
    random_name(&random, token);
    const struct asked asked = {storage, id, token, asks[ask], clock->monotonic_us(clock) + timeout_us};
    lock_path(storage, id, ".request", path, sizeof path);
    lock_path(storage, id, ".reply", reply, sizeof reply);
    TRY(write_request(&asked, place, path, err));
    enum status status = kill(pid, SIGUSR1) == 0
                             ? wait_for_reply(&asked, arena, where, err)
                             : error_set(err, ERROR_STORE_UNAVAILABLE, "process %d, which runs job %s, cannot be asked from here: %s", pid,
                                         id, strerror(errno));
    unlink(path);
    unlink(reply);
    return status != STATUS_OK || ask == JOB_ASK_SAVEPOINT ? status : wait_for_end(&asked, err);
}

bool job_request_find(struct storage *storage, const char *id, struct arena *arena, struct job_request *request)
{
    char path[PATH_BYTES];
    const char *lines[3];
    if (store_folder(storage) == NULL) {
        return false;
    }
    lock_path(storage, id, ".request", path, sizeof path);
    if (!message_read(path, arena, lines, 3)) {
        return false;
    }
    for (uint32_t ask = 0; ask < JOB_ASK_COUNT; ask++) {
        if (strcmp(asks[ask], lines[1]) == 0) {
            *request = (struct job_request){(enum job_ask)ask, lines[0], lines[2]};
            return true;
        }
    }
    return false;
}

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

void job_request_answer(struct storage *storage, const char *id, const struct job_request *request, const char *where, const char *failure)
{
    char path[PATH_BYTES], text[REQUEST_BYTES];
    lock_path(storage, id, ".request", path, sizeof path);
    unlink(path);
    lock_path(storage, id, ".reply", path, sizeof path);
    snprintf(text, sizeof text, "%s\n%s\n%s", request->token, failure == NULL ? "ok" : "error", failure == NULL ? where : failure);
    (void)message_write(path, text);
}
