#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "storage/file_store.h"

static void format_footer(const struct object_info *info, char footer[FILE_FOOTER_BYTES + 1])
{
    int length = snprintf(footer, FILE_FOOTER_BYTES + 1, "\nspate1 bytes=%016" PRIx64 " crc32c=%08x etag=%s check=", info->bytes,
                          info->crc32c, info->etag);
    snprintf(footer + length, FILE_FOOTER_BYTES + 1 - (size_t)length, "%08x\n", crc32c_extend(0, footer, (size_t)length));
}

/* Formatting what was read must give what was read. */
static bool parse_footer(const char *footer, uint64_t file_bytes, struct object_info *info)
{
    char again[FILE_FOOTER_BYTES + 1];
    int fields = sscanf(footer, "\nspate1 bytes=%16" SCNx64 " crc32c=%8x etag=%32[0-9a-f]", &info->bytes, &info->crc32c, info->etag);
    if (fields != 3 || strlen(info->etag) != RANDOM_NAME_BYTES - 1) {
        return false;
    }
    format_footer(info, again);
    info->has_crc32c = true;
    return memcmp(footer, again, FILE_FOOTER_BYTES) == 0 && info->bytes == file_bytes - FILE_FOOTER_BYTES;
}

static bool read_footer(struct file_store *store, int fd, uint64_t file_bytes, char footer[FILE_FOOTER_BYTES + 1])
{
    size_t got = 0;
    if (file_bytes < FILE_FOOTER_BYTES) {
        return false;
    }
    while (got < FILE_FOOTER_BYTES) {
        off_t offset = (off_t)(file_bytes - FILE_FOOTER_BYTES + got);
        ssize_t step = store->files->pread(store->files, fd, footer + got, FILE_FOOTER_BYTES - got, offset);
        if (step == 0) {
            errno = 0;
            return false;
        }
        if (step < 0 && errno != EINTR) {
            return false;
        }
        got += step < 0 ? 0 : (size_t)step;
    }
    footer[FILE_FOOTER_BYTES] = '\0';
    return true;
}

static int64_t file_modified_us(const struct stat *status)
{
    return (int64_t)status->st_mtim.tv_sec * 1000000 + status->st_mtim.tv_nsec / 1000;
}

static enum status describe(struct file_store *store, const char *path, int fd, struct object_info *info, struct error *err)
{
    struct stat status;
    char footer[FILE_FOOTER_BYTES + 1];
    *info = (struct object_info){0};
    if (store->files->fstat(store->files, fd, &status) != 0) {
        return file_store_fail(err, "look at", path);
    }
    info->modified_us = file_modified_us(&status);
    errno = 0;
    if (read_footer(store, fd, (uint64_t)status.st_size, footer)) {
        return parse_footer(footer, (uint64_t)status.st_size, info)
                   ? STATUS_OK
                   : error_set(err, ERROR_STORE_CORRUPT, "the last line of '%s' is damaged", path);
    }
    if (errno != 0) {
        return file_store_fail(err, "read", path);
    }
    return error_set(err, ERROR_STORE_CORRUPT, "'%s' is too short for an object", path);
}

enum status file_object_open(struct file_store *store, const char *path, enum object_result *result, int *fd, struct object_info *info,
                             struct error *err)
{
    *result = OBJECT_OK;
    *fd = store->files->open(store->files, path, O_RDONLY | O_CLOEXEC | O_NOCTTY, 0);
    if (*fd < 0) {
        *result = OBJECT_ABSENT;
        return errno == ENOENT || errno == ENOTDIR ? STATUS_OK : file_store_fail(err, "open", path);
    }
    enum status status = describe(store, path, *fd, info, err);
    if (status != STATUS_OK) {
        store->files->close(store->files, *fd);
        *fd = -1;
    }
    return status;
}

static enum status copy_body(struct file_store *store, const struct object_source *source, int fd, const char *path, char *block,
                             struct object_info *info, struct error *err)
{
    for (;;) {
        size_t length;
        TRY(source->read(source->context, info->bytes, block, FILE_BLOCK_BYTES, &length, err));
        if (length == 0) {
            break;
        }
        info->crc32c = crc32c_extend(info->crc32c, block, length);
        info->bytes += length;
        if (!file_system_write_all(store->files, fd, block, length)) {
            return file_store_fail(err, "write", path);
        }
    }
    if (info->bytes != source->bytes) {
        return error_set(err, ERROR_STORE_CORRUPT, "a body of %" PRIu64 " bytes ended after %" PRIu64, source->bytes, info->bytes);
    }
    if (source->expected_crc32c != NULL && *source->expected_crc32c != info->crc32c) {
        return error_set(err, ERROR_STORE_CORRUPT, "the body has the CRC-32C %08x; %08x was expected", info->crc32c,
                         *source->expected_crc32c);
    }
    return STATUS_OK;
}

static enum status write_file(struct file_store *store, const struct object_source *source, int fd, struct file_staged *staged,
                              struct error *err)
{
    char footer[FILE_FOOTER_BYTES + 1], *block;
    TRY_ALLOC(block, malloc(FILE_BLOCK_BYTES), err);
    enum status status = copy_body(store, source, fd, staged->path, block, &staged->info, err);
    free(block);
    TRY(status);
    format_footer(&staged->info, footer);
    if (!file_system_write_all(store->files, fd, footer, FILE_FOOTER_BYTES)) {
        return file_store_fail(err, "write", staged->path);
    }
    struct stat status_after;
    if (store->files->fsync(store->files, fd) != 0 || store->files->fstat(store->files, fd, &status_after) != 0) {
        return file_store_fail(err, "sync", staged->path);
    }
    staged->info.modified_us = file_modified_us(&status_after);
    return STATUS_OK;
}

enum status file_stage_write(struct file_store *store, const struct object_source *source, struct file_staged *staged, struct error *err)
{
    char name[RANDOM_NAME_BYTES];
    random_name(&store->random, name);
    snprintf(staged->path, sizeof staged->path, "%s/.spate/temp/%s", store->root, name);
    staged->info = (struct object_info){.has_crc32c = true};
    random_name(&store->random, staged->info.etag);
    int fd = store->files->open(store->files, staged->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) {
        return file_store_fail(err, "create", staged->path);
    }
    enum status status = write_file(store, source, fd, staged, err);
    if (store->files->close(store->files, fd) != 0 && status == STATUS_OK) { /* some file systems tell here that the disk is full */
        status = file_store_fail(err, "close", staged->path);
    }
    if (status != STATUS_OK) {
        file_stage_drop(store, staged);
    }
    return status;
}

void file_stage_drop(struct file_store *store, const struct file_staged *staged)
{
    store->files->unlink(store->files, staged->path);
}

struct sweep {
    struct file_store *store;
    int64_t oldest_us;
};

static bool sweep_file(void *context, const char *name, bool is_folder)
{
    const struct sweep *sweep = context;
    const struct file_system *files = sweep->store->files;
    char path[PATH_MAX];
    struct stat status;
    int length = snprintf(path, sizeof path, "%s/.spate/temp/%s", sweep->store->root, name);
    if (!is_folder && length < (int)sizeof path && files->stat(files, path, &status) == 0 && file_modified_us(&status) < sweep->oldest_us) {
        files->unlink(files, path);
    }
    return true;
}

void file_stage_sweep(struct file_store *store, int64_t retain_us)
{
    struct sweep sweep = {store, store->clock->wall_us(store->clock) - retain_us};
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/.spate/temp", store->root);
    store->files->list(store->files, path, sweep_file, &sweep);
}
