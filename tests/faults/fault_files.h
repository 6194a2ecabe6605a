/* tests/faults/fault_files.h: a file system that fails when it is told to, and that forgets at a power cut what was not synced.
 *
 * For         tests of everything above storage/file_system.h.
 * Shape       In front of the real one. `fault` names what goes wrong, at the call number `at` of the kind that it concerns (from 1).
 *             Every change of a name and every write is noted until its fsync; fault_files_power_cut takes back what was not synced.
 * Threads     One at a time.
 */
#ifndef SPATE_TESTS_FAULT_FILES_H
#define SPATE_TESTS_FAULT_FILES_H

#include "storage/file_system.h"

enum fault {
    FAULT_NONE,
    FAULT_SHORT_WRITES, /* every write takes at most 7 bytes */
    FAULT_SLOW,         /* every call takes a millisecond more */
    FAULT_NO_SPACE,     /* a write finds the disk full */
    FAULT_SYNC,         /* an fsync fails with EIO */
    FAULT_READ,         /* a read fails with EIO */
    FAULT_TORN,         /* a write says that it wrote all, but wrote half */
    FAULT_RENAME_LOST,  /* a rename or link says that it is done, but is not */
    FAULT_STOP,         /* from that call on (of any kind) all fail: the process is gone */
};
enum { FAULT_NOTES = 4096 };
struct fault_note {
    enum { NOTE_NAME, NOTE_DATA } kind;
    char path[512];   /* a name that is new, has another file, or is gone */
    char backup[512]; /* what it named before; empty: nothing */
    int fd;           /* NOTE_DATA: the file */
    off_t length;     /* NOTE_DATA: before the write */
};
struct fault_files {
    struct file_system base;
    enum fault fault;
    uint32_t at, calls;
    char backups[256]; /* a folder */
    uint32_t backup_count, note_count;
    struct fault_note *notes;
};
/* `folder`: where it keeps what a power cut brings back; on the same file system. */
void fault_files_open(struct fault_files *files, const char *folder);
void fault_files_set(struct fault_files *files, enum fault fault, uint32_t at);
void fault_files_power_cut(struct fault_files *files);
void fault_files_close(struct fault_files *files);

#endif
