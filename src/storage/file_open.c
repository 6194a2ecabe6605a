#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/option.h"
#include "storage/file_store.h"

struct file_settings {
    struct duration lock_timeout, temp_retain;
};

static const struct option_def file_options[] = {
    {.name = "file.lock-timeout",
     OPTION_DURATION(struct file_settings, lock_timeout),
     .initial = "30 s",
     .summary = "How long a put waits for another process's put of the same object before it gives up."},
    {.name = "file.temp-retain",
     OPTION_DURATION(struct file_settings, temp_retain),
     .initial = "1 d",
     .summary = "Unfinished files of processes that were killed are removed once they are this old."},
};

static int hex_value(char digit)
{
    return digit >= '0' && digit <= '9'   ? digit - '0'
           : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
           : digit >= 'A' && digit <= 'F' ? digit - 'A' + 10
                                          : -1;
}

/* "file:///dir" (%XX decoded), "file:/dir" or a plain path, made absolute, without '/' at its end. */
static enum status read_uri(const char *uri, char root[FILE_ROOT_MAX], struct error *err)
{
    bool is_uri = strncmp(uri, "file:", 5) == 0;
    const char *path = is_uri ? uri + 5 : uri;
    size_t length = 0;
    if (is_uri && strncmp(path, "//", 2) == 0) {
        path += strncmp(path, "//localhost/", 12) == 0 ? 11 : 2;
    }
    if (path[0] == '\0' || (is_uri && path[0] != '/')) {
        return error_set(err, ERROR_STORE_URI, "'%.300s' names no folder; write file:///dir", uri);
    }
    if (path[0] != '/') {
        if (getcwd(root, FILE_ROOT_MAX / 2) == NULL) {
            return file_store_fail(err, "find", "the current folder");
        }
        length = strlen(root);
        root[length++] = '/';
    }
    for (; *path != '\0' && length < FILE_ROOT_MAX - 1; length++) {
        bool escape = is_uri && path[0] == '%' && hex_value(path[1]) >= 0 && hex_value(path[2]) >= 0 && (path[1] != '0' || path[2] != '0');
        root[length] = escape ? (char)(16 * hex_value(path[1]) + hex_value(path[2])) : *path;
        path += escape ? 3 : 1;
    }
    while (length > 0 && root[length - 1] == '/') {
        length--;
    }
    root[length] = '\0';
    return *path == '\0' ? STATUS_OK : error_set(err, ERROR_STORE_URI, "the path '%.60s...' is longer than 999 bytes", uri);
}

/* Does the file system keep a lock out of two, and refuse a second link? `path` is a new file, open as `file`. */
static bool excludes(struct file_store *store, const char *path, int file)
{
    const struct file_system *files = store->files;
    char second[PATH_MAX];
    snprintf(second, sizeof second, "%s/.spate/temp/%s-", store->root, strrchr(path, '/') + 1);
    int other = files->open(files, path, O_WRONLY | O_CLOEXEC, 0666);
    if (other < 0) {
        return false;
    }
    bool able = files->lock(files, file, 0) == 0 && files->lock(files, other, 0) != 0 && errno == EAGAIN &&
                files->link(files, path, second) == 0 && files->link(files, path, second) != 0 && errno == EEXIST;
    files->unlink(files, second);
    files->close(files, other);
    return able;
}

static bool is_refusal(int failure)
{
    return failure == EACCES || failure == EPERM || failure == EROFS;
}

static enum status probe(struct file_store *store, struct error *err)
{
    const struct file_system *files = store->files;
    char name[RANDOM_NAME_BYTES], path[PATH_MAX];
    random_name(&store->random, name);
    snprintf(path, sizeof path, "%s/.spate/temp/%s", store->root, name);
    int file = files->open(files, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    store->read_only = file < 0 && is_refusal(errno);
    if (file < 0) {
        return store->read_only ? STATUS_OK : file_store_fail(err, "create", path);
    }
    store->caps.conditional_put = excludes(store, path, file);
    files->unlink(files, path);
    files->close(files, file);
    return STATUS_OK;
}

/* A folder that may only be read is a store that may only be read. */
static enum status prepare(struct file_store *store, struct error *err)
{
    char temp[PATH_MAX];
    struct stat status;
    snprintf(temp, sizeof temp, "%s/.spate/temp", store->root);
    if (file_system_make_folders(store->files, temp)) {
        return probe(store, err);
    }
    int failure = errno;
    bool readable = store->files->stat(store->files, store->root, &status) == 0 && S_ISDIR(status.st_mode);
    errno = failure;
    store->read_only = is_refusal(failure) && readable;
    return store->read_only ? STATUS_OK : file_store_fail(err, "create", temp);
}

static enum status file_open(const char *uri, const void *settings, const struct object_environment *environment,
                             struct object_store **opened, struct error *err)
{
    const struct file_settings *options = settings;
    struct file_store *store;
    TRY_ALLOC(store, calloc(1, sizeof *store), err);
    store->base.driver = &file_driver;
    store->clock = environment->clock;
    store->files = environment->files == NULL ? &file_system_real : environment->files;
    store->lock_timeout_us = options->lock_timeout.us;
    random_open(&store->random, environment->random_seed);
    enum status status;
    TRY_GOTO(failed, status, read_uri(uri, store->root, err));
    TRY_GOTO(failed, status, prepare(store, err));
    file_stage_sweep(store, options->temp_retain.us);
    *opened = &store->base;
    return STATUS_OK;
failed:
    free(store);
    return status;
}

static struct object_caps file_caps(const struct object_store *base)
{
    return ((const struct file_store *)base)->caps;
}

static void file_close(struct object_store *base)
{
    free(base);
}

const struct object_driver file_driver = {
    .abi = OBJECT_DRIVER_ABI,
    .scheme = "file",
    .summary = "A folder, on one machine or on a disk that machines share.",
    .options = file_options,
    .option_count = ARRAY_LENGTH(file_options),
    .settings_bytes = sizeof(struct file_settings),
    .open = file_open,
    .put = file_store_put,
    .get = file_store_get,
    .head = file_store_head,
    .remove = file_store_remove,
    .list = file_store_list,
    .caps = file_caps,
    .close = file_close,
};
