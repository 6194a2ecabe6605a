/* storage/file_system.h: the calls to the file system that must not go wrong unseen, behind a table that a test replaces.
 *
 * For         the file driver, the part files of the filesystem sink, the job's lock: whatever is written to survive.
 * Shape       One function per system call, with its arguments, results and errno. file_system_real is the kernel's. A test puts a table in
 *             front that cuts writes short, fails fsync, runs out of space, tears, loses a rename, or is slow (tests/faults).
 * Threads     Any.
 */
#ifndef SPATE_STORAGE_FILE_SYSTEM_H
#define SPATE_STORAGE_FILE_SYSTEM_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/error.h"

struct file_system {
    int (*open)(const struct file_system *files, const char *path, int flags, mode_t mode);
    ssize_t (*write)(const struct file_system *files, int fd, const void *bytes, size_t length);
    ssize_t (*pread)(const struct file_system *files, int fd, void *bytes, size_t length, off_t offset);
    int (*fsync)(const struct file_system *files, int fd);
    int (*ftruncate)(const struct file_system *files, int fd, off_t length);
    int (*close)(const struct file_system *files, int fd);
    int (*rename)(const struct file_system *files, const char *from, const char *to);
    int (*link)(const struct file_system *files, const char *from, const char *to);
    int (*unlink)(const struct file_system *files, const char *path);
    int (*mkdir)(const struct file_system *files, const char *path, mode_t mode);
    int (*rmdir)(const struct file_system *files, const char *path);
    int (*stat)(const struct file_system *files, const char *path, struct stat *status);
    int (*fstat)(const struct file_system *files, int fd, struct stat *status);
    /* An exclusive lock on one byte of the file that the descriptor's close, or its process's death, ends: -1 and EAGAIN when another
     * descriptor has it, of this process or another. Never waits. */
    int (*lock)(const struct file_system *files, int fd, off_t byte);
    /* Names in a folder, in any order, without "." and "..". visit returns false to end it. -1: errno says why. */
    int (*list)(const struct file_system *files, const char *path, bool (*visit)(void *context, const char *name, bool is_folder),
                void *context);
};
extern const struct file_system file_system_real;

/* Writes all of it, whatever the pieces; false: errno says why. */
bool file_system_write_all(const struct file_system *files, int fd, const void *bytes, size_t length);
/* fsync of a folder, so that renames in it survive. A file system that cannot sync folders at all counts as done. */
bool file_system_sync_folder(const struct file_system *files, const char *path);
/* The same of the folder that holds the path. */
bool file_system_sync_parent(const struct file_system *files, const char *path);
/* mkdir -p, each new folder synced in its parent; false: errno says why. */
bool file_system_make_folders(const struct file_system *files, const char *path);

#endif
