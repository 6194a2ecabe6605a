#include "storage/file_store.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/crc32c.h"
#include "base/hash.h"

enum status file_store_fail(struct error *err, const char *verb, const char *path)
{
    int failure = errno;
    switch (failure) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return error_set(err, ERROR_STORE_FULL, "cannot %s '%s': %s", verb, path, strerror(failure));
    case EACCES:
    case EPERM:
    case EROFS:
        return error_set(err, ERROR_STORE_DENIED, "cannot %s '%s': %s", verb, path, strerror(failure));
    default:
        return error_set(err, ERROR_STORE_UNAVAILABLE, "cannot %s '%s': %s", verb, path, strerror(failure));
    }
}

void file_store_path(const struct file_store *store, const char *key, char path[PATH_MAX])
{
    char below[FILE_KEY_PATH_MAX];
    file_name_of_key(key, below);
    snprintf(path, PATH_MAX, "%s/%s", store->root, below);
}

static void wait_us(int64_t us)
{
    struct timespec pause = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    nanosleep(&pause, NULL);
}

enum { LOCK_COUNT = 1 << 20, LOCK_WAIT_MAX_US = 4000 };

/* *fd holds the key's lock until it is closed. */
static enum status lock_key(struct file_store *store, const char *key, int *fd, struct error *err)
{
    char path[PATH_MAX];
    off_t byte = (off_t)(hash_bytes(key, strlen(key)) % LOCK_COUNT);
    int64_t give_up = store->clock->monotonic_us(store->clock) + store->lock_timeout_us;
    snprintf(path, sizeof path, "%s/.spate/locks", store->root);
    *fd = store->files->open(store->files, path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (*fd < 0) {
        return file_store_fail(err, "open", path);
    }
    for (int64_t bound = 20; store->files->lock(store->files, *fd, byte) != 0; bound = bound < LOCK_WAIT_MAX_US ? 2 * bound : bound) {
        if (errno != EAGAIN && errno != EINTR) {
            (void)file_store_fail(err, "lock", path);
            store->files->close(store->files, *fd);
            return err->status;
        }
        if (store->clock->monotonic_us(store->clock) >= give_up) {
            store->files->close(store->files, *fd);
            return error_set(err, ERROR_STORE_UNAVAILABLE, "another process has held the lock of '%s' in '%s' for too long; is it stopped?",
                             key, store->root);
        }
        wait_us(bound / 2 + (int64_t)(random_next(&store->random) % (uint64_t)bound));
    }
    return STATUS_OK;
}

/* Does what is there now meet the condition? */
static enum status check_condition(struct file_store *store, const char *path, enum put_condition condition, const char *etag,
                                   enum object_result *result, struct error *err)
{
    struct object_info info;
    int fd;
    *result = OBJECT_OK;
    if (condition == PUT_ANY) {
        return STATUS_OK;
    }
    enum status status = file_object_open(store, path, result, &fd, &info, err);
    if (fd >= 0) {
        store->files->close(store->files, fd);
    }
    bool present = status != STATUS_OK || *result == OBJECT_OK; /* a damaged one is one */
    if (condition == PUT_IF_ABSENT) {
        *result = present ? OBJECT_CONFLICT : OBJECT_OK;
        return STATUS_OK;
    }
    TRY(status);
    *result = present && strcmp(info.etag, etag) == 0 ? OBJECT_OK : OBJECT_CONFLICT;
    return STATUS_OK;
}

/* Makes the names on the way to the file durable, whoever made them: its folder and those above it, up to the root. */
static bool sync_way(struct file_store *store, const char *path)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    while (strlen(folder) > strlen(store->root)) {
        *strrchr(folder, '/') = '\0';
        if (!file_system_sync_folder(store->files, folder[0] == '\0' ? "/" : folder) && errno != ENOENT) {
            return false;
        }
    }
    return true;
}

enum { MOVE_ATTEMPTS = 100 };

/* Renames or links the staged file to its place; folders may come and go meanwhile, as other objects are put and removed. */
static enum status move_to_place(struct file_store *store, const char *from, const char *to, enum put_condition condition,
                                 enum object_result *result, struct error *err)
{
    const struct file_system *files = store->files;
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", to);
    *strrchr(folder, '/') = '\0';
    for (uint32_t attempt = 0;; attempt++) {
        int failed = condition == PUT_IF_ABSENT ? files->link(files, from, to) : files->rename(files, from, to);
        if (failed == 0) {
            return STATUS_OK;
        }
        if (errno == EEXIST && condition == PUT_IF_ABSENT) {
            *result = OBJECT_CONFLICT;
            return STATUS_OK;
        }
        if (errno != ENOENT || attempt == MOVE_ATTEMPTS || (!file_system_make_folders(files, folder) && errno != ENOENT)) {
            return file_store_fail(err, "create", to);
        }
    }
}

static enum status place(struct file_store *store, const char *key, const char *path, const struct file_staged *staged,
                         enum put_condition condition, const char *etag, enum object_result *result, struct error *err)
{
    int lock;
    TRY(lock_key(store, key, &lock, err));
    enum status status = check_condition(store, path, condition, etag, result, err);
    if (status == STATUS_OK && *result == OBJECT_OK) {
        status = move_to_place(store, staged->path, path, condition, result, err);
        if (status == STATUS_OK && *result == OBJECT_OK && !sync_way(store, path)) {
            *result = OBJECT_UNKNOWN; /* seen by all, but a crash of the machine may undo it */
        }
    }
    store->files->close(store->files, lock);
    return status;
}

static enum status check_change(struct file_store *store, const char *key, struct error *err)
{
    TRY(object_key_check(key, err));
    return store->read_only ? error_set(err, ERROR_STORE_DENIED, "the folder '%s' may only be read", store->root) : STATUS_OK;
}

enum status file_store_put(struct object_store *base, const char *key, const struct object_source *source, enum put_condition condition,
                           const char *etag, enum object_result *result, struct object_info *info, struct error *err)
{
    struct file_store *store = (struct file_store *)base;
    char path[PATH_MAX];
    struct file_staged staged;
    assert((condition == PUT_IF_MATCH) == (etag != NULL));
    TRY(check_change(store, key, err));
    file_store_path(store, key, path);
    TRY(check_condition(store, path, condition, etag, result, err)); /* a hopeless put need not write its body */
    if (*result != OBJECT_OK) {
        return STATUS_OK;
    }
    TRY(file_stage_write(store, source, &staged, err));
    enum status status = place(store, key, path, &staged, condition, etag, result, err);
    file_stage_drop(store, &staged);
    *info = staged.info;
    return status;
}

static enum status copy_range(struct file_store *store, const char *path, int fd, uint64_t offset, uint64_t length,
                              const struct object_sink *sink, uint32_t *crc, struct error *err)
{
    char *block;
    enum status status = STATUS_OK;
    TRY_ALLOC(block, malloc(FILE_BLOCK_BYTES), err);
    while (length > 0 && status == STATUS_OK) {
        size_t want = length < FILE_BLOCK_BYTES ? (size_t)length : FILE_BLOCK_BYTES;
        ssize_t got = store->files->pread(store->files, fd, block, want, (off_t)offset);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            status = got < 0 ? file_store_fail(err, "read", path) : error_set(err, ERROR_STORE_CORRUPT, "'%s' became shorter", path);
            break;
        }
        *crc = crc32c_extend(*crc, block, (size_t)got);
        status = sink->write(sink->context, block, (size_t)got, err);
        offset += (uint64_t)got;
        length -= (uint64_t)got;
    }
    free(block);
    return status;
}

enum status file_store_get(struct object_store *base, const char *key, uint64_t offset, uint64_t length, const struct object_sink *sink,
                           enum object_result *result, struct object_info *info, struct error *err)
{
    struct file_store *store = (struct file_store *)base;
    char path[PATH_MAX];
    int fd;
    uint32_t crc = 0;
    TRY(object_key_check(key, err));
    file_store_path(store, key, path);
    TRY(file_object_open(store, path, result, &fd, info, err));
    if (*result != OBJECT_OK) {
        return STATUS_OK;
    }
    uint64_t left = offset >= info->bytes ? 0 : info->bytes - offset;
    uint64_t wanted = left < length ? left : length;
    enum status status = copy_range(store, path, fd, offset, wanted, sink, &crc, err);
    store->files->close(store->files, fd);
    if (status == STATUS_OK && wanted == info->bytes && crc != info->crc32c) {
        return error_set(err, ERROR_STORE_CORRUPT, "'%s' has the CRC-32C %08x; %08x was written", path, crc, info->crc32c);
    }
    return status;
}

enum status file_store_head(struct object_store *base, const char *key, enum object_result *result, struct object_info *info,
                            struct error *err)
{
    struct file_store *store = (struct file_store *)base;
    char path[PATH_MAX];
    int fd;
    TRY(object_key_check(key, err));
    file_store_path(store, key, path);
    TRY(file_object_open(store, path, result, &fd, info, err));
    if (fd >= 0) {
        store->files->close(store->files, fd);
    }
    return STATUS_OK;
}

/* Folders that became empty go too, up to the root. */
static void remove_folders(struct file_store *store, const char *path)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    do {
        *strrchr(folder, '/') = '\0';
    } while (strlen(folder) > strlen(store->root) && store->files->rmdir(store->files, folder) == 0);
}

static enum status remove_locked(struct file_store *store, const char *path, const char *etag, enum object_result *result,
                                 struct error *err)
{
    TRY(check_condition(store, path, etag == NULL ? PUT_ANY : PUT_IF_MATCH, etag, result, err));
    if (*result != OBJECT_OK) {
        struct stat status;
        *result = store->files->stat(store->files, path, &status) == 0 ? OBJECT_CONFLICT : OBJECT_ABSENT;
        return STATUS_OK;
    }
    if (store->files->unlink(store->files, path) != 0) {
        *result = OBJECT_ABSENT;
        return errno == ENOENT || errno == ENOTDIR ? STATUS_OK : file_store_fail(err, "remove", path);
    }
    if (!sync_way(store, path)) {
        *result = OBJECT_UNKNOWN;
        return STATUS_OK;
    }
    remove_folders(store, path);
    return STATUS_OK;
}

enum status file_store_remove(struct object_store *base, const char *key, const char *etag, enum object_result *result, struct error *err)
{
    struct file_store *store = (struct file_store *)base;
    char path[PATH_MAX];
    int lock;
    TRY(check_change(store, key, err));
    file_store_path(store, key, path);
    TRY(lock_key(store, key, &lock, err));
    enum status status = remove_locked(store, path, etag, result, err);
    store->files->close(store->files, lock);
    return status;
}
