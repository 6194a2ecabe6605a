#include "storage/file_system.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int real_open(const struct file_system *files, const char *path, int flags, mode_t mode)
{
    return open(path, flags, mode);
}

static ssize_t real_write(const struct file_system *files, int fd, const void *bytes, size_t length)
{
    return write(fd, bytes, length);
}

static ssize_t real_pread(const struct file_system *files, int fd, void *bytes, size_t length, off_t offset)
{
    return pread(fd, bytes, length, offset);
}

static int real_fsync(const struct file_system *files, int fd)
{
    return fsync(fd);
}

static int real_ftruncate(const struct file_system *files, int fd, off_t length)
{
    return ftruncate(fd, length);
}

static int real_close(const struct file_system *files, int fd)
{
    return close(fd);
}

static int real_rename(const struct file_system *files, const char *from, const char *to)
{
    return rename(from, to);
}

static int real_link(const struct file_system *files, const char *from, const char *to)
{
    return link(from, to);
}

static int real_unlink(const struct file_system *files, const char *path)
{
    return unlink(path);
}

static int real_mkdir(const struct file_system *files, const char *path, mode_t mode)
{
    return mkdir(path, mode);
}

static int real_rmdir(const struct file_system *files, const char *path)
{
    return rmdir(path);
}

static int real_stat(const struct file_system *files, const char *path, struct stat *status)
{
    return stat(path, status);
}

static int real_fstat(const struct file_system *files, int fd, struct stat *status)
{
    return fstat(fd, status);
}

/* Locks of open file descriptions: threads that open the file themselves exclude each other too, and the kernel ends them with it. */
static int real_lock(const struct file_system *files, int fd, off_t byte)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    int result = fcntl(fd, F_OFD_SETLK, &lock);
    if (result != 0 && errno == EACCES) {
        errno = EAGAIN;
    }
    return result;
}

static bool entry_is_folder(DIR *folder, const struct dirent *entry)
{
    struct stat status;
    if (entry->d_type != DT_UNKNOWN) {
        return entry->d_type == DT_DIR;
    }
    return fstatat(dirfd(folder), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode);
}

static int real_list(const struct file_system *files, const char *path, bool (*visit)(void *context, const char *name, bool is_folder),
                     void *context)
{
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return -1;
    }
    const struct dirent *entry;
    bool more = true;
    errno = 0;
    while (more && (entry = readdir(folder)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            more = visit(context, entry->d_name, entry_is_folder(folder, entry));
        }
        errno = 0; /* readdir's NULL is the end, or an error that only errno tells */
    }
    int failure = errno;
    closedir(folder);
    errno = failure;
    return failure == 0 ? 0 : -1;
}

const struct file_system file_system_real = {
    .open = real_open,
    .write = real_write,
    .pread = real_pread,
    .fsync = real_fsync,
    .ftruncate = real_ftruncate,
    .close = real_close,
    .rename = real_rename,
    .link = real_link,
    .unlink = real_unlink,
    .mkdir = real_mkdir,
    .rmdir = real_rmdir,
    .stat = real_stat,
    .fstat = real_fstat,
    .lock = real_lock,
    .list = real_list,
};

bool file_system_write_all(const struct file_system *files, int fd, const void *bytes, size_t length)
{
    const char *at = bytes;
    while (length > 0) {
        ssize_t written = files->write(files, fd, at, length);
        if (written == 0 || (written < 0 && errno != EINTR)) {
            errno = written == 0 ? ENOSPC : errno;
            return false;
        }
        size_t step = written < 0 ? 0 : (size_t)written;
        at += step;
        length -= step;
    }
    return true;
}

bool file_system_sync_folder(const struct file_system *files, const char *path)
{
    int fd = files->open(files, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0) {
        return false;
    }
    bool synced = files->fsync(files, fd) == 0 || errno == EINVAL || errno == ENOTSUP;
    int failure = errno;
    files->close(files, fd);
    errno = failure;
    return synced;
}

/* The folder that holds the path, "." and "/" included. */
static bool parent_of(const char *path, char *parent, size_t capacity)
{
    const char *slash = strrchr(path, '/');
    size_t length = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
    if (length >= capacity) {
        errno = ENAMETOOLONG;
        return false;
    }
    snprintf(parent, capacity, "%.*s", slash == NULL ? 1 : (int)length, slash == NULL ? "." : path);
    return true;
}

bool file_system_sync_parent(const struct file_system *files, const char *path)
{
    char parent[PATH_MAX];
    return parent_of(path, parent, sizeof parent) && file_system_sync_folder(files, parent);
}

/* Another process may make it too, or it may be on a file system that refuses before it looks. */
static bool make_folder(const struct file_system *files, const char *path)
{
    struct stat status;
    if (files->mkdir(files, path, 0777) == 0) {
        return file_system_sync_parent(files, path);
    }
    int failure = errno;
    if (files->stat(files, path, &status) == 0) {
        errno = ENOTDIR;
        return S_ISDIR(status.st_mode);
    }
    errno = failure;
    return false;
}

bool file_system_make_folders(const struct file_system *files, const char *path)
{
    char prefix[PATH_MAX];
    size_t length = strlen(path);
    if (length >= sizeof prefix) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(prefix, path, length + 1);
    for (size_t i = 1; i <= length; i++) {
        if (path[i] == '/' || path[i] == '\0') {
            prefix[i] = '\0';
            if (prefix[i - 1] != '/' && !make_folder(files, prefix)) {
                return false;
            }
            prefix[i] = path[i];
        }
    }
    return true;
}
