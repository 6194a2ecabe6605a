/* One download per machine: <cache>/<sha256>, made under the lock of <cache>/<sha256>.lock, seen when it is whole. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/artifacts_internal.h"
#include "storage/file_system.h"
#include "storage/stores_internal.h"

static enum status fail_file(const char *verb, const char *path, struct error *err)
{
    return error_set(err, errno == ENOSPC || errno == EDQUOT ? ERROR_STORE_FULL : ERROR_FILE_UNWRITABLE, "cannot %s '%s': %s", verb, path,
                     strerror(errno));
}

static enum status cache_folder(const struct storage *storage, char folder[PATH_MAX], struct error *err)
{
    const char *set = storage->core->cache_dir, *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length = 0;
    if (set != NULL) {
        length = snprintf(folder, PATH_MAX - 200, "%s", set);
    } else if (cache != NULL && cache[0] == '/') {
        length = snprintf(folder, PATH_MAX - 200, "%s/spate/blobs", cache);
    } else if (home != NULL && home[0] == '/') {
        length = snprintf(folder, PATH_MAX - 200, "%s/.cache/spate/blobs", home);
    } else {
        return error_set(err, ERROR_STORE_OPTION,
                         "no place for artifacts: 'storage.artifacts.cache' is not set, and neither XDG_CACHE_HOME "
                         "nor HOME names a folder");
    }
    if (length >= PATH_MAX - 200) {
        return error_set(err, ERROR_INVALID_OPTION, "the path of the artifacts' cache is too long");
    }
    return file_system_make_folders(&file_system_real, folder) ? STATUS_OK : fail_file("make", folder, err);
}

static enum status fd_write(void *context, const void *bytes, size_t length, struct error *err)
{
    const int *fd = context;
    return file_system_write_all(&file_system_real, *fd, bytes, length) ? STATUS_OK : fail_file("write", "the artifacts' cache", err);
}

static bool is_good(const char *path, const struct artifact *artifact)
{
    struct content content;
    struct error ignored;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    bool good = artifact_sum_file(fd, path, &content, &ignored) == STATUS_OK && strcmp(content.sha256, artifact->sha256) == 0;
    close(fd);
    return good;
}

static enum status download(struct storage *storage, const char *job, const struct artifact *artifact, const char *path, struct error *err)
{
    char part[PATH_MAX];
    snprintf(part, sizeof part, "%.4000s.part", path); /* ours alone: we hold the lock */
    int fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) {
        return fail_file("write", part, err);
    }
    struct object_sink sink = {fd_write, &fd};
    enum status status = artifact_read(storage, job, artifact, &sink, err);
    if (status == STATUS_OK && fsync(fd) != 0) {
        status = fail_file("write", part, err);
    }
    close(fd);
    if (status == STATUS_OK && rename(part, path) != 0) {
        status = fail_file("write", path, err);
    }
    if (status != STATUS_OK) {
        unlink(part);
    }
    return status;
}

/* The path of the blob in the cache. */
static enum status cache_get(struct storage *storage, const char *job, const struct artifact *artifact, char path[PATH_MAX],
                             struct error *err)
{
    char folder[PATH_MAX], lock_path[PATH_MAX];
    TRY(cache_folder(storage, folder, err));
    snprintf(path, PATH_MAX, "%.3800s/%.64s", folder, artifact->sha256);
    snprintf(lock_path, sizeof lock_path, "%.4000s.lock", path);
    int lock = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0644), locked;
    if (lock < 0) {
        return fail_file("write", lock_path, err);
    }
    do {
        locked = flock(lock, LOCK_EX);
    } while (locked != 0 && errno == EINTR);
    enum status status = locked != 0 ? fail_file("lock", lock_path, err) : STATUS_OK;
    if (status == STATUS_OK && !is_good(path, artifact)) {
        status = download(storage, job, artifact, path, err);
    }
    close(lock);
    return status;
}

static enum status place_file(const char *from, const char *to, struct error *err)
{
    char part[PATH_MAX], block[64 << 10];
    ssize_t got = 0;
    snprintf(part, sizeof part, "%.4000s.part", to);
    int in = open(from, O_RDONLY | O_CLOEXEC), out = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
    enum status status = in < 0 || out < 0 ? fail_file("copy to", to, err) : STATUS_OK;
    while (status == STATUS_OK && (got = read(in, block, sizeof block)) > 0) {
        status = fd_write(&out, block, (size_t)got, err);
    }
    if (status == STATUS_OK && (got < 0 || rename(part, to) != 0)) {
        status = fail_file("copy to", to, err);
    }
    if (in >= 0) {
        close(in);
    }
    if (out >= 0) {
        close(out);
    }
    return status;
}

enum status artifact_fetch(struct storage *storage, const char *job, const struct artifact *artifact, const char *local_dir,
                           struct error *err)
{
    char blob[PATH_MAX], folder[PATH_MAX], to[PATH_MAX];
    const char *slash = strrchr(artifact->name, '/');
    snprintf(folder, sizeof folder, "%.3000s%s%.800s", local_dir, artifact->target[0] == '\0' ? "" : "/", artifact->target);
    TRY(cache_get(storage, job, artifact, blob, err));
    if (!file_system_make_folders(&file_system_real, folder)) {
        return fail_file("make", folder, err);
    }
    if (artifact->kind == ARTIFACT_ZIP || artifact->kind == ARTIFACT_VENV) {
        return artifact_extract(blob, artifact->name, folder, err);
    }
    snprintf(to, sizeof to, "%.3900s/%.180s", folder, slash == NULL ? artifact->name : slash + 1);
    return place_file(blob, to, err);
}
