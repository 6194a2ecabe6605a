#include "job/state_copies.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"

enum { BLOCK_BYTES = 1 << 16 };
#define UNFINISHED ".unfinished"

static const char *last_part(const char *key)
{
    const char *slash = strrchr(key, '/');
    return slash == NULL ? key : slash + 1;
}

static bool copy_path(const char *folder, const struct checkpoint_file *file, char path[PATH_MAX])
{
    return snprintf(path, PATH_MAX, "%s/%s", folder, last_part(file->key)) < PATH_MAX;
}

static bool has_size(const char *folder, const struct checkpoint_file *file)
{
    char path[PATH_MAX];
    struct stat found;
    return copy_path(folder, file, path) && stat(path, &found) == 0 && (uint64_t)found.st_size == file->bytes;
}

static bool is_whole(FILE *opened, const struct checkpoint_file *file)
{
    char block[BLOCK_BYTES];
    uint64_t bytes = 0;
    uint32_t crc = 0;
    for (size_t got; (got = fread(block, 1, sizeof block, opened)) > 0; bytes += got) {
        crc = crc32c_extend(crc, block, got);
    }
    return ferror(opened) == 0 && bytes == file->bytes && crc == file->crc32c;
}

static enum status stream(FILE *opened, const struct object_sink *sink, struct error *err)
{
    char block[BLOCK_BYTES];
    rewind(opened);
    for (size_t got; (got = fread(block, 1, sizeof block, opened)) > 0;) {
        TRY(sink->write(sink->context, block, got, err));
    }
    return ferror(opened) == 0 ? STATUS_OK : error_set(err, ERROR_STATE_DISK, "a local copy of state cannot be read: %s", strerror(errno));
}

bool state_copies_give(const char *folder, const struct checkpoint_file *file, const struct object_sink *sink, enum status *status,
                       struct error *err)
{
    char path[PATH_MAX];
    FILE *opened = copy_path(folder, file, path) ? fopen(path, "re") : NULL;
    if (opened == NULL) {
        return false;
    }
    bool whole = is_whole(opened, file);
    if (whole) {
        *status = stream(opened, sink, err);
    }
    fclose(opened);
    return whole;
}

/* ---- filling ---- */

uint64_t state_copies_missing(const char *folder, const struct checkpoint_manifest *manifest)
{
    uint64_t bytes = 0;
    for (uint32_t t = 0; t < manifest->table_count; t++) {
        for (uint32_t f = 0; f < manifest->tables[t].file_count; f++) {
            const struct checkpoint_file *file = &manifest->tables[t].files[f];
            bytes += has_size(folder, file) ? 0 : file->bytes;
        }
    }
    return bytes;
}

static enum status write_block(void *context, const void *bytes, size_t length, struct error *err)
{
    return fwrite(bytes, 1, length, context) == length
               ? STATUS_OK
               : error_set(err, ERROR_STATE_DISK, "a local copy of state cannot be written: %s", strerror(errno));
}

static enum status fetch(const char *folder, struct storage *storage, const struct checkpoint_file *file, struct error *err)
{
    char path[PATH_MAX], unfinished[PATH_MAX];
    if (!copy_path(folder, file, path) || snprintf(unfinished, sizeof unfinished, "%s/%s", folder, UNFINISHED) >= PATH_MAX) {
        return error_set(err, ERROR_STATE_DISK, "'%s' is too long a name for copies of state", folder);
    }
    FILE *opened = fopen(unfinished, "we");
    if (opened == NULL) {
        return error_set(err, ERROR_STATE_DISK, "cannot write '%s': %s", unfinished, strerror(errno));
    }
    const struct object_sink sink = {.write = write_block, .context = opened};
    enum status status = checkpoint_open_file(storage, file, &sink, err);
    if (fclose(opened) != 0 && status == STATUS_OK) {
        status = error_set(err, ERROR_STATE_DISK, "cannot write '%s': %s", unfinished, strerror(errno));
    }
    if (status == STATUS_OK && rename(unfinished, path) != 0) {
        status = error_set(err, ERROR_STATE_DISK, "cannot write '%s': %s", path, strerror(errno));
    }
    return status;
}

static bool names(const struct checkpoint_manifest *manifest, const char *name)
{
    for (uint32_t t = 0; t < manifest->table_count; t++) {
        for (uint32_t f = 0; f < manifest->tables[t].file_count; f++) {
            if (strcmp(last_part(manifest->tables[t].files[f].key), name) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* manifest NULL: all of them. */
static void remove_others(const char *folder, const struct checkpoint_manifest *manifest)
{
    DIR *listing = opendir(folder);
    for (const struct dirent *at; listing != NULL && (at = readdir(listing)) != NULL;) {
        char path[PATH_MAX];
        bool dots = strcmp(at->d_name, ".") == 0 || strcmp(at->d_name, "..") == 0;
        if (!dots && (manifest == NULL || !names(manifest, at->d_name)) &&
            snprintf(path, sizeof path, "%s/%s", folder, at->d_name) < PATH_MAX) {
            (void)unlink(path);
        }
    }
    if (listing != NULL) {
        closedir(listing);
    }
}

enum status state_copies_update(const char *folder, struct storage *storage, const struct checkpoint_manifest *manifest, struct error *err)
{
    if (mkdir(folder, 0700) != 0 && errno != EEXIST) {
        return error_set(err, ERROR_STATE_DISK, "cannot make the folder '%s': %s", folder, strerror(errno));
    }
    for (uint32_t t = 0; t < manifest->table_count; t++) {
        for (uint32_t f = 0; f < manifest->tables[t].file_count; f++) {
            const struct checkpoint_file *file = &manifest->tables[t].files[f];
            if (!has_size(folder, file)) {
                TRY(fetch(folder, storage, file, err));
            }
        }
    }
    remove_others(folder, manifest);
    return STATUS_OK;
}

void state_copies_remove(const char *folder)
{
    remove_others(folder, NULL);
    (void)rmdir(folder);
}
