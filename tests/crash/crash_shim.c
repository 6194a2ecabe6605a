/* A library that is loaded before the C library (LD_PRELOAD) and makes one system call on files go wrong, or ends the process there.
 *
 * CRASH_FAULT  KIND:CALL:N, e.g. kill:rename:3. CALL is one of `calls` below, or any; the N-th is hit, counted from 1 over all threads.
 *              kill     SIGKILL right after the call          before   SIGKILL instead of the call
 *              short    a write takes half of its bytes       torn     the same, then SIGKILL
 *              full     this write and the next four: ENOSPC  fail     the call fails with EIO
 *              lost     a rename, link or unlink says that it was done, but was not; SIGKILL at the next fsync: no power failure could lose
 *                       it later
 *              power    SIGKILL instead of the call, and all files lose what was written since their last fsync
 *              slow     this and all later calls of the kind take 3 ms more
 * CRASH_COUNT  A file: at the end of the process, how many calls of each kind there were.
 *
 * Only regular files count, so that what is printed does not matter.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum call { CALL_WRITE, CALL_FSYNC, CALL_FTRUNCATE, CALL_RENAME, CALL_LINK, CALL_UNLINK, CALL_MKDIR, CALL_ANY, CALL_COUNT };
static const char *const calls[CALL_COUNT] = {"write", "fsync", "ftruncate", "rename", "link", "unlink", "mkdir", "any"};
enum fault { FAULT_NONE, FAULT_KILL, FAULT_BEFORE, FAULT_SHORT, FAULT_TORN, FAULT_FULL, FAULT_FAIL, FAULT_LOST, FAULT_POWER, FAULT_SLOW };
static const char *const faults[] = {"none", "kill", "before", "short", "torn", "full", "fail", "lost", "power", "slow"};

static struct {
    enum fault fault;
    enum call call;
    long at;
    atomic_long counts[CALL_COUNT];
    atomic_bool lost;
} shim;

static void die(void)
{
    kill(getpid(), SIGKILL);
    for (;;) {
        pause();
    }
}

/* ---- what a power failure loses ---- */

enum { UNSYNCED_MAX = 1024 };
struct unsynced {
    dev_t device;
    ino_t inode;
    int fd; /* ours */
    off_t length;
};
static struct unsynced unsynced[UNSYNCED_MAX];
static size_t unsynced_count;
static pthread_mutex_t unsynced_mutex = PTHREAD_MUTEX_INITIALIZER;

static size_t unsynced_find(const struct stat *info)
{
    size_t i = 0;
    while (i < unsynced_count && (unsynced[i].device != info->st_dev || unsynced[i].inode != info->st_ino)) {
        i++;
    }
    return i;
}

static void unsynced_note(int fd)
{
    struct stat info;
    if (shim.fault != FAULT_POWER || fstat(fd, &info) != 0) {
        return;
    }
    pthread_mutex_lock(&unsynced_mutex);
    if (unsynced_find(&info) == unsynced_count && unsynced_count < UNSYNCED_MAX) {
        unsynced[unsynced_count++] = (struct unsynced){info.st_dev, info.st_ino, fcntl(fd, F_DUPFD_CLOEXEC, 3), info.st_size};
    }
    pthread_mutex_unlock(&unsynced_mutex);
}

static void unsynced_forget(int fd)
{
    struct stat info;
    if (shim.fault != FAULT_POWER || fstat(fd, &info) != 0) {
        return;
    }
    pthread_mutex_lock(&unsynced_mutex);
    size_t at = unsynced_find(&info);
    if (at < unsynced_count) {
        close(unsynced[at].fd);
        unsynced[at] = unsynced[--unsynced_count];
    }
    pthread_mutex_unlock(&unsynced_mutex);
}

static void lose_power(void)
{
    pthread_mutex_lock(&unsynced_mutex);
    for (size_t i = 0; i < unsynced_count; i++) {
        syscall(SYS_ftruncate, unsynced[i].fd, unsynced[i].length);
    }
    die();
}

/* ---- the calls ---- */

static size_t find(const char *const *names, size_t count, const char *text, size_t length)
{
    size_t i = 0;
    while (i < count && (strlen(names[i]) != length || memcmp(names[i], text, length) != 0)) {
        i++;
    }
    return i;
}

__attribute__((constructor)) static void shim_open(void)
{
    const char *text = getenv("CRASH_FAULT");
    const char *call = text == NULL ? NULL : strchr(text, ':');
    const char *at = call == NULL ? NULL : strchr(call + 1, ':');
    if (at == NULL) {
        return;
    }
    size_t fault = find(faults, sizeof faults / sizeof *faults, text, (size_t)(call - text));
    size_t found = find(calls, CALL_COUNT, call + 1, (size_t)(at - call - 1));
    if (fault == sizeof faults / sizeof *faults || found == CALL_COUNT) {
        fprintf(stderr, "CRASH_FAULT is not understood: %s\n", text);
        abort();
    }
    shim.fault = (enum fault)fault;
    shim.call = (enum call)found;
    shim.at = strtol(at + 1, NULL, 10);
}

__attribute__((destructor)) static void shim_close(void)
{
    const char *path = getenv("CRASH_COUNT");
    FILE *file = path == NULL ? NULL : fopen(path, "w");
    for (int i = 0; i < CALL_COUNT && file != NULL; i++) {
        fprintf(file, "%s %ld\n", calls[i], atomic_load(&shim.counts[i]));
    }
    if (file != NULL) {
        fclose(file);
    }
}

/* What happens to this call. */
static enum fault shim_meet(enum call call)
{
    long count = atomic_fetch_add(&shim.counts[call], 1) + 1, any = atomic_fetch_add(&shim.counts[CALL_ANY], 1) + 1;
    long number = shim.call == CALL_ANY ? any : count;
    if (call == CALL_FSYNC && atomic_load(&shim.lost)) {
        die();
    }
    if (shim.call != call && shim.call != CALL_ANY) {
        return FAULT_NONE;
    }
    long last = shim.fault == FAULT_SLOW ? number : shim.fault == FAULT_FULL ? shim.at + 4 : shim.at;
    enum fault fault = number >= shim.at && number <= last ? shim.fault : FAULT_NONE;
    if (fault == FAULT_BEFORE) {
        die();
    }
    if (fault == FAULT_POWER) {
        lose_power();
    }
    if (fault == FAULT_SLOW) {
        usleep(3000);
    }
    return fault;
}

/* After the call, or instead of it. */
static long shim_leave(enum fault fault, long result)
{
    int saved = errno;
    if (fault == FAULT_KILL || fault == FAULT_TORN) {
        die();
    }
    errno = saved;
    return result;
}

static int shim_refuse(int code)
{
    errno = code;
    return -1;
}

static bool is_file(int fd)
{
    struct stat info;
    int saved = errno;
    bool yes = fd > 2 && fstat(fd, &info) == 0 && (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode));
    errno = saved;
    return yes;
}

static size_t shim_length(enum fault fault, size_t length)
{
    return (fault == FAULT_SHORT || fault == FAULT_TORN) && length > 1 ? length / 2 : length;
}

ssize_t write(int fd, const void *bytes, size_t length)
{
    enum fault fault = is_file(fd) ? shim_meet(CALL_WRITE) : FAULT_NONE;
    if (fault == FAULT_FULL || fault == FAULT_FAIL) {
        return shim_refuse(fault == FAULT_FULL ? ENOSPC : EIO);
    }
    unsynced_note(fd);
    return shim_leave(fault, syscall(SYS_write, fd, bytes, shim_length(fault, length)));
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset)
{
    enum fault fault = is_file(fd) ? shim_meet(CALL_WRITE) : FAULT_NONE;
    if (fault == FAULT_FULL || fault == FAULT_FAIL) {
        return shim_refuse(fault == FAULT_FULL ? ENOSPC : EIO);
    }
    unsynced_note(fd);
    return shim_leave(fault, syscall(SYS_pwrite64, fd, bytes, shim_length(fault, length), offset));
}

static long synced(int fd, long number)
{
    long result = syscall(number, fd);
    if (result == 0) {
        unsynced_forget(fd);
    }
    return result;
}

#define SHIM(call, declaration, perform)                                                                                                   \
    int declaration                                                                                                                        \
    {                                                                                                                                      \
        enum fault fault = shim_meet(call);                                                                                                \
        if (fault == FAULT_FAIL || fault == FAULT_FULL) {                                                                                  \
            return shim_refuse(fault == FAULT_FULL ? ENOSPC : EIO);                                                                        \
        }                                                                                                                                  \
        if (fault == FAULT_LOST) {                                                                                                         \
            atomic_store(&shim.lost, true);                                                                                                \
            return 0;                                                                                                                      \
        }                                                                                                                                  \
        return (int)shim_leave(fault, perform);                                                                                            \
    }

SHIM(CALL_FSYNC, fsync(int fd), synced(fd, SYS_fsync))
SHIM(CALL_FSYNC, fdatasync(int fd), synced(fd, SYS_fdatasync))
SHIM(CALL_FTRUNCATE, ftruncate(int fd, off_t length), syscall(SYS_ftruncate, fd, length))
SHIM(CALL_RENAME, rename(const char *from, const char *to), syscall(SYS_rename, from, to))
SHIM(CALL_LINK, link(const char *from, const char *to), syscall(SYS_link, from, to))
SHIM(CALL_UNLINK, unlink(const char *path), syscall(SYS_unlink, path))
SHIM(CALL_MKDIR, mkdir(const char *path, mode_t mode), syscall(SYS_mkdir, path, mode))
