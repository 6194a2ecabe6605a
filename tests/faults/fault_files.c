#include "fault_files.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct fault_files *self_of(const struct file_system *files)
{
    return (struct fault_files *)(uintptr_t)files;
}

/* Is it this call's turn to fail? `kind`: the fault that the call can have of its own. */
static bool strikes(struct fault_files *self, enum fault kind)
{
    if (self->fault == FAULT_SLOW) {
        usleep(1000);
    }
    if (self->fault == FAULT_STOP) {
        errno = EIO;
        return ++self->calls >= self->at;
    }
    return self->fault == kind && kind != FAULT_NONE && ++self->calls == self->at;
}

static bool stopped(const struct fault_files *self)
{
    return self->fault == FAULT_STOP && self->calls >= self->at;
}

static struct fault_note *note(struct fault_files *self, const char *path)
{
    assert(self->note_count < FAULT_NOTES && strlen(path) < sizeof self->notes->path);
    struct fault_note *added = &self->notes[self->note_count++];
    *added = (struct fault_note){.kind = NOTE_NAME, .fd = -1};
    snprintf(added->path, sizeof added->path, "%s", path);
    return added;
}

/* Notes that a name is about to change, and keeps what it has. */
static void note_name(struct fault_files *self, const char *path)
{
    struct fault_note *added = note(self, path);
    snprintf(added->backup, sizeof added->backup, "%s/%u", self->backups, self->backup_count++);
    if (link(path, added->backup) != 0) {
        added->backup[0] = '\0';
    }
}

static void forget(struct fault_files *self, uint32_t at)
{
    struct fault_note *gone = &self->notes[at];
    if (gone->fd >= 0) {
        close(gone->fd);
    }
    if (gone->backup[0] != '\0') {
        unlink(gone->backup);
    }
    memmove(gone, gone + 1, (self->note_count - at - 1) * sizeof *gone);
    self->note_count--;
}

static int fault_open(const struct file_system *files, const char *path, int flags, mode_t mode)
{
    struct fault_files *self = self_of(files);
    struct stat status;
    if (strikes(self, FAULT_NONE)) {
        return -1;
    }
    bool new_name = (flags & O_CREAT) != 0 && stat(path, &status) != 0;
    int fd = open(path, flags, mode);
    if (fd >= 0 && new_name) {
        note(self, path);
    }
    return fd;
}

static ssize_t fault_write(const struct file_system *files, int fd, const void *bytes, size_t length)
{
    struct fault_files *self = self_of(files);
    enum fault kind = self->fault == FAULT_TORN ? FAULT_TORN : FAULT_NO_SPACE;
    if (strikes(self, kind)) {
        if (kind == FAULT_TORN) {
            return write(fd, bytes, length / 2) < 0 ? -1 : (ssize_t)length;
        }
        errno = self->fault == FAULT_NO_SPACE ? ENOSPC : EIO;
        return -1;
    }
    struct fault_note *added = note(self, "");
    added->kind = NOTE_DATA;
    added->fd = dup(fd);
    struct stat info;
    added->length = fstat(fd, &info) == 0 ? info.st_size : 0;
    return write(fd, bytes, self->fault == FAULT_SHORT_WRITES && length > 7 ? 7 : length);
}

static ssize_t fault_pread(const struct file_system *files, int fd, void *bytes, size_t length, off_t offset)
{
    if (strikes(self_of(files), FAULT_READ)) {
        errno = EIO;
        return -1;
    }
    return pread(fd, bytes, length, offset);
}

static bool same_file(int left, int right)
{
    struct stat a, b;
    return fstat(left, &a) == 0 && fstat(right, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Is the name in the folder that is open? */
static bool is_in(const char *path, int folder)
{
    char parent[512];
    struct stat a, b;
    snprintf(parent, sizeof parent, "%s", path);
    char *slash = strrchr(parent, '/');
    if (slash != NULL) {
        *slash = '\0';
    }
    return slash != NULL && stat(parent, &a) == 0 && fstat(folder, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static int fault_fsync(const struct file_system *files, int fd)
{
    struct fault_files *self = self_of(files);
    if (strikes(self, FAULT_SYNC)) {
        errno = EIO;
        return -1;
    }
    for (uint32_t i = self->note_count; i > 0; i--) {
        const struct fault_note *at = &self->notes[i - 1];
        if (at->kind == NOTE_DATA ? same_file(at->fd, fd) : is_in(at->path, fd)) {
            forget(self, i - 1);
        }
    }
    return fsync(fd);
}

static int fault_ftruncate(const struct file_system *files, int fd, off_t length)
{
    return strikes(self_of(files), FAULT_NONE) ? -1 : ftruncate(fd, length);
}

static int fault_close(const struct file_system *files, int fd)
{
    strikes(self_of(files), FAULT_NONE);
    return close(fd);
}

static int move(const struct file_system *files, const char *from, const char *to, int (*call)(const char *, const char *))
{
    struct fault_files *self = self_of(files);
    if (strikes(self, FAULT_RENAME_LOST)) {
        return self->fault == FAULT_RENAME_LOST ? 0 : -1;
    }
    note_name(self, to);
    if (call == rename) {
        note_name(self, from);
    }
    return call(from, to);
}

static int fault_rename(const struct file_system *files, const char *from, const char *to)
{
    return move(files, from, to, rename);
}

static int fault_link(const struct file_system *files, const char *from, const char *to)
{
    struct stat status;
    if (stat(to, &status) == 0 && !stopped(self_of(files))) {
        errno = EEXIST;
        return -1;
    }
    return move(files, from, to, link);
}

static int fault_unlink(const struct file_system *files, const char *path)
{
    struct fault_files *self = self_of(files);
    if (strikes(self, FAULT_NONE)) {
        return -1;
    }
    note_name(self, path);
    return unlink(path);
}

static int fault_mkdir(const struct file_system *files, const char *path, mode_t mode)
{
    if (strikes(self_of(files), FAULT_NONE)) {
        return -1;
    }
    int result = mkdir(path, mode);
    int failure = errno;
    if (result == 0) {
        note(self_of(files), path);
    }
    errno = failure;
    return result;
}

static int fault_rmdir(const struct file_system *files, const char *path)
{
    return strikes(self_of(files), FAULT_NONE) ? -1 : rmdir(path);
}

static int fault_stat(const struct file_system *files, const char *path, struct stat *status)
{
    return strikes(self_of(files), FAULT_NONE) ? -1 : stat(path, status);
}

static int fault_fstat(const struct file_system *files, int fd, struct stat *status)
{
    return strikes(self_of(files), FAULT_NONE) ? -1 : fstat(fd, status);
}

static int fault_lock(const struct file_system *files, int fd, off_t byte)
{
    return strikes(self_of(files), FAULT_NONE) ? -1 : file_system_real.lock(&file_system_real, fd, byte);
}

static int fault_list(const struct file_system *files, const char *path, bool (*visit)(void *context, const char *name, bool is_folder),
                      void *context)
{
    return strikes(self_of(files), FAULT_NONE) ? -1 : file_system_real.list(&file_system_real, path, visit, context);
}

void fault_files_open(struct fault_files *files, const char *folder)
{
    *files = (struct fault_files){
        .base =
            {
                .open = fault_open,
                .write = fault_write,
                .pread = fault_pread,
                .fsync = fault_fsync,
                .ftruncate = fault_ftruncate,
                .close = fault_close,
                .rename = fault_rename,
                .link = fault_link,
                .unlink = fault_unlink,
                .mkdir = fault_mkdir,
                .rmdir = fault_rmdir,
                .stat = fault_stat,
                .fstat = fault_fstat,
                .lock = fault_lock,
                .list = fault_list,
            },
        .notes = calloc(FAULT_NOTES, sizeof(struct fault_note)),
    };
    assert(files->notes != NULL);
    snprintf(files->backups, sizeof files->backups, "%s", folder);
}

void fault_files_set(struct fault_files *files, enum fault fault, uint32_t at)
{
    files->fault = fault;
    files->at = at;
    files->calls = 0;
}

static void remove_tree(const char *path)
{
    char command[600];
    snprintf(command, sizeof command, "rm -rf -- '%s'", path);
    if (system(command) != 0) {
        abort();
    }
}

void fault_files_power_cut(struct fault_files *files)
{
    while (files->note_count > 0) {
        struct fault_note *last = &files->notes[files->note_count - 1];
        if (last->kind == NOTE_DATA) {
            if (ftruncate(last->fd, last->length) != 0) {
                abort();
            }
        } else {
            remove_tree(last->path);
            if (last->backup[0] != '\0' && link(last->backup, last->path) != 0 && errno != ENOENT) {
                abort();
            }
        }
        forget(files, files->note_count - 1);
    }
}

void fault_files_close(struct fault_files *files)
{
    while (files->note_count > 0) {
        forget(files, files->note_count - 1);
    }
    free(files->notes);
}
