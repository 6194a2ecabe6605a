/* storage/file_store.h: the file driver's parts, for each other.
 *
 * Shape       <root>/<names of the key>   objects (storage/file_name.h)
 *             <root>/.spate/temp/         files that are being written; a dead writer's are removed once they are old
 *             <root>/.spate/locks         an empty file; a byte of it is a lock, a key's is chosen by its hash
 *             An object's file is its bytes and then one line of 100 bytes: size, CRC-32C, etag, and a checksum of the line. So what
 *             belongs together is replaced together, and a torn or foreign file is known as such.
 * Put         Write a file in temp, fsync; lock the key; look at the condition; rename (if absent: link) into place; fsync its folder and
 *             those above. Killed anywhere: the old object or the new one, and a file in temp.
 * Locks       The kernel's, of the open file: a process that is killed has none, one that is stopped still has it, and those who wait give
 *             up after `file.lock-timeout`. Network file systems must pass locks on (NFSv4 does).
 * Etag        128 random bits per put.
 */
#ifndef SPATE_STORAGE_FILE_STORE_H
#define SPATE_STORAGE_FILE_STORE_H

#include <limits.h>

#include "base/random.h"
#include "storage/file_name.h"
#include "storage/file_system.h"
#include "storage/object.h"

enum { FILE_ROOT_MAX = 1000, FILE_FOOTER_BYTES = 100, FILE_BLOCK_BYTES = 256 << 10 };

struct file_store {
    struct object_store base;
    const struct clock *clock;
    const struct file_system *files;
    struct random_source random;
    struct object_caps caps;
    bool read_only; /* its folder gives no more */
    int64_t lock_timeout_us;
    char root[FILE_ROOT_MAX];
};

/* The error of a failed call on a path: FULL, DENIED or UNAVAILABLE by errno. */
enum status file_store_fail(struct error *err, const char *verb, const char *path);
void file_store_path(const struct file_store *store, const char *key, char path[PATH_MAX]);

/* A body on disk, synced, not yet an object. */
struct file_staged {
    char path[PATH_MAX];
    struct object_info info;
};
enum status file_stage_write(struct file_store *store, const struct object_source *source, struct file_staged *staged, struct error *err);
void file_stage_drop(struct file_store *store, const struct file_staged *staged);
/* Removes files in temp that nobody wrote to since. Best effort. */
void file_stage_sweep(struct file_store *store, int64_t retain_us);

/* Opens an object and reads its last line. ABSENT: *fd is -1. */
enum status file_object_open(struct file_store *store, const char *path, enum object_result *result, int *fd, struct object_info *info,
                             struct error *err);

/* The driver's calls (object.h). */
enum status file_store_put(struct object_store *base, const char *key, const struct object_source *source, enum put_condition condition,
                           const char *etag, enum object_result *result, struct object_info *info, struct error *err);
enum status file_store_get(struct object_store *base, const char *key, uint64_t offset, uint64_t length, const struct object_sink *sink,
                           enum object_result *result, struct object_info *info, struct error *err);
enum status file_store_head(struct object_store *base, const char *key, enum object_result *result, struct object_info *info,
                            struct error *err);
enum status file_store_remove(struct object_store *base, const char *key, const char *etag, enum object_result *result, struct error *err);
enum status file_store_list(struct object_store *base, const char *prefix, const char *after, object_visit visit, void *context,
                            struct error *err);

extern const struct object_driver file_driver;

#endif
